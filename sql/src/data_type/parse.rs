//! The parser of data types.

use super::{DataType, TypeSyntax, charset_clause};
use crate::{
    collations::NamedCharset,
    command::{Cursor, Parsed},
    error::SqlError,
};
use cohort_engine::types::ColumnType;

/// `(n)`, if it is here.
fn width(c: &mut Cursor) -> Parsed<Option<u64>> {
    if !c.eat_symbol("(") {
        return Ok(None);
    }
    let width = c.unsigned()?;
    c.expect_symbol(")")?;
    Ok(Some(width))
}

/// Reads the type of the column of this name.
pub fn data_type(c: &mut Cursor, name: &str) -> Parsed<DataType> {
    let to = &mut DataType::default();
    let known = json_type(c, to)
        || integer_type(c, name, to)?
        || bit_type(c, name, to)?
        || real_type(c, name, to)?
        || time_type(c, name, to)?
        || text_type(c, to)?
        || string_type(c, name, to)?
        || member_type(c, to)?;
    if known {
        return Ok(std::mem::take(to));
    }
    const UNSUPPORTED: [&str; 9] = [
        "GEOMETRY",
        "POINT",
        "LINESTRING",
        "POLYGON",
        "MULTIPOINT",
        "MULTILINESTRING",
        "MULTIPOLYGON",
        "GEOMETRYCOLLECTION",
        "VECTOR",
    ];
    match UNSUPPORTED.iter().find(|word| c.is(word)) {
        Some(word) => Err(SqlError::not_supported(format_args!("type {word}"))),
        None => Err(c.error()),
    }
}

/// `[SIGNED | UNSIGNED] [ZEROFILL]`
fn sign(c: &mut Cursor, to: &mut DataType) {
    loop {
        if c.eat("UNSIGNED") {
            to.unsigned = true;
        } else if c.eat("ZEROFILL") {
            to.zerofill = true;
        } else if !c.eat("SIGNED") {
            return;
        }
    }
}

fn integer_type(c: &mut Cursor, name: &str, to: &mut DataType) -> Parsed<bool> {
    const TYPES: [(&str, ColumnType); 13] = [
        ("TINYINT", ColumnType::TinyInt),
        ("INT1", ColumnType::TinyInt),
        ("SMALLINT", ColumnType::SmallInt),
        ("INT2", ColumnType::SmallInt),
        ("MEDIUMINT", ColumnType::MediumInt),
        ("INT3", ColumnType::MediumInt),
        ("MIDDLEINT", ColumnType::MediumInt),
        ("INTEGER", ColumnType::Int),
        ("INT", ColumnType::Int),
        ("INT4", ColumnType::Int),
        ("BIGINT", ColumnType::BigInt),
        ("INT8", ColumnType::BigInt),
        ("YEAR", ColumnType::Year),
    ];
    if c.eat_any(&["BOOL", "BOOLEAN"]).is_some() {
        to.ty = TypeSyntax::Complete(ColumnType::TinyInt);
        to.display_width = Some(1);
        to.bool = true;
        return Ok(true);
    }
    let Some(&(_, ty)) = TYPES.iter().find(|(word, _)| c.eat(word)) else {
        return Ok(false);
    };
    to.ty = TypeSyntax::Complete(ty);
    let width = width(c)?;
    if ty == ColumnType::Year {
        if width.is_some_and(|width| width != 4) {
            return Err(SqlError::invalid_year_width());
        }
        to.year_width = width.is_some();
        return Ok(true);
    }
    if let Some(width) = width {
        let width = u8::try_from(width);
        let too_big = |_| SqlError::display_width_too_big(name, 255);
        to.display_width = Some(width.map_err(too_big)?);
    }
    sign(c, to);
    Ok(true)
}

/// `JSON`
fn json_type(c: &mut Cursor, to: &mut DataType) -> bool {
    let is_json = c.eat("JSON");
    if is_json {
        to.ty = TypeSyntax::Complete(ColumnType::Json);
    }
    is_json
}

/// `BIT`, `BIT(n)`
fn bit_type(c: &mut Cursor, name: &str, to: &mut DataType) -> Parsed<bool> {
    const BITS_MAX: u8 = 64;
    if !c.eat("BIT") {
        return Ok(false);
    }
    let bits = width(c)?.unwrap_or(1);
    let bits = u8::try_from(bits).ok().filter(|&bits| bits <= BITS_MAX);
    let Some(bits) = bits else {
        return Err(SqlError::display_width_too_big(name, BITS_MAX));
    };
    if bits == 0 {
        return Err(SqlError::invalid_size(name));
    }
    to.ty = TypeSyntax::Complete(ColumnType::Bit(bits));
    Ok(true)
}

fn real_type(c: &mut Cursor, name: &str, to: &mut DataType) -> Parsed<bool> {
    let ty = if c.eat_any(&["DECIMAL", "NUMERIC", "DEC", "FIXED"]).is_some() {
        let (mut precision, mut scale) = (10, 0);
        if c.eat_symbol("(") {
            precision = c.unsigned()?;
            if c.eat_symbol(",") {
                scale = c.unsigned()?;
            }
            c.expect_symbol(")")?;
        }
        decimal(name, precision, scale)?
    } else if c.eat_any(&["FLOAT", "FLOAT4"]).is_some() {
        float(c, name, to)?
    } else if c.mode().real_as_float && c.eat("REAL") {
        real(c, name, to, ColumnType::Float)?
    } else if c.eat_any(&["DOUBLE", "REAL", "FLOAT8"]).is_some() {
        c.eat("PRECISION");
        real(c, name, to, ColumnType::Double)?
    } else {
        return Ok(false);
    };
    to.ty = TypeSyntax::Complete(ty);
    sign(c, to);
    Ok(true)
}

/// A floating point type, perhaps with `(M,D)` after it.
fn real(c: &mut Cursor, name: &str, to: &mut DataType, ty: ColumnType) -> Parsed<ColumnType> {
    if c.eat_symbol("(") {
        let digits = c.unsigned()?;
        if !c.is_symbol(",") {
            return Err(c.error());
        }
        real_digits(c, name, to, digits)?;
    }
    Ok(ty)
}

/// `,D)` behind M.
fn real_digits(c: &mut Cursor, name: &str, to: &mut DataType, digits: u64) -> Parsed<()> {
    const SCALE_MAX: u8 = 30;
    c.expect_symbol(",")?;
    let scale = c.unsigned()?;
    c.expect_symbol(")")?;
    let small = u8::try_from(scale).ok().filter(|&small| small <= SCALE_MAX);
    let Some(small) = small else {
        return Err(SqlError::scale_too_big(scale, name, SCALE_MAX));
    };
    if digits < scale {
        return Err(SqlError::precision_below_scale(name));
    }
    let digits = u8::try_from(digits).ok().filter(|&digits| digits > 0);
    let Some(digits) = digits else {
        return Err(SqlError::display_width_too_big(name, u8::MAX));
    };
    to.real_digits = Some((digits, small));
    Ok(())
}

fn float(c: &mut Cursor, name: &str, to: &mut DataType) -> Parsed<ColumnType> {
    if !c.eat_symbol("(") {
        return Ok(ColumnType::Float);
    }
    let precision = c.unsigned()?;
    if c.is_symbol(",") {
        real_digits(c, name, to, precision)?;
        return Ok(ColumnType::Float);
    }
    c.expect_symbol(")")?;
    match precision {
        0..=24 => Ok(ColumnType::Float),
        25..=53 => Ok(ColumnType::Double),
        _ => Err(SqlError::wrong_column_specifier(name)),
    }
}

fn decimal(name: &str, precision: u64, scale: u64) -> Parsed<ColumnType> {
    const PRECISION_MAX: u8 = 65;
    const SCALE_MAX: u8 = 30;
    let too_big = |_| SqlError::scale_too_big(scale, name, SCALE_MAX);
    let small_scale = u8::try_from(scale).map_err(too_big)?;
    if small_scale > SCALE_MAX {
        return Err(SqlError::scale_too_big(scale, name, SCALE_MAX));
    }
    let small = u8::try_from(precision).ok();
    let Some(small) = small.filter(|&small| small <= PRECISION_MAX) else {
        return Err(SqlError::precision_too_big(precision, name, PRECISION_MAX));
    };
    // DECIMAL(0) means the default.
    let precision = if small == 0 && scale == 0 { 10 } else { small };
    if small_scale > precision {
        return Err(SqlError::precision_below_scale(name));
    }
    Ok(ColumnType::Decimal {
        precision,
        scale: small_scale,
    })
}

fn time_type(c: &mut Cursor, name: &str, to: &mut DataType) -> Parsed<bool> {
    if c.eat("DATE") {
        to.ty = TypeSyntax::Complete(ColumnType::Date);
        return Ok(true);
    }
    let Some(which) = c.eat_any(&["DATETIME", "TIMESTAMP", "TIME"]) else {
        return Ok(false);
    };
    let digits = width(c)?.unwrap_or(0);
    let small = u8::try_from(digits).ok().filter(|digits| *digits <= 6);
    let digits = small.ok_or_else(|| SqlError::precision_too_big(digits, name, 6))?;
    to.ty = TypeSyntax::Complete(match which {
        0 => ColumnType::DateTime(digits),
        1 => ColumnType::Timestamp(digits),
        _ => ColumnType::Time(digits),
    });
    Ok(true)
}

fn text_type(c: &mut Cursor, to: &mut DataType) -> Parsed<bool> {
    const SIZED: [(&str, u8, bool); 6] = [
        ("TINYTEXT", 1, false),
        ("MEDIUMTEXT", 3, false),
        ("LONGTEXT", 4, false),
        ("TINYBLOB", 1, true),
        ("MEDIUMBLOB", 3, true),
        ("LONGBLOB", 4, true),
    ];
    if let Some(which) = c.eat_any(&["TEXT", "BLOB"]) {
        to.bytes = which == 1;
        to.ty = match width(c)? {
            None | Some(0) => TypeSyntax::Complete(ColumnType::Text(2)),
            Some(length) => TypeSyntax::TextFor(length),
        };
    } else if let Some(&(_, width, bytes)) = SIZED.iter().find(|(word, ..)| c.eat(word)) {
        to.bytes = bytes;
        to.ty = TypeSyntax::Complete(ColumnType::Text(width));
    } else if c.eat("LONG") {
        to.bytes = c.eat("VARBINARY");
        if !to.bytes {
            let _ = c.eat("VARCHAR") || c.eat_all(&["CHAR", "VARYING"]);
        }
        to.ty = TypeSyntax::Complete(ColumnType::Text(3));
    } else {
        return Ok(false);
    }
    string_attributes(c, to)?;
    Ok(true)
}

fn string_type(c: &mut Cursor, name: &str, to: &mut DataType) -> Parsed<bool> {
    let national = c.eat("NATIONAL");
    const NAMES: [&str; 8] = [
        "VARCHAR",
        "NVARCHAR",
        "VARBINARY",
        "VARCHARACTER",
        "CHAR",
        "NCHAR",
        "CHARACTER",
        "BINARY",
    ];
    let Some(which) = c.eat_any(&NAMES) else {
        return if national { Err(c.error()) } else { Ok(false) };
    };
    let varying = match which {
        0..=3 => true,
        5 => c.eat("VARYING") || c.eat("VARCHAR"),
        4 | 6 => c.eat("VARYING"),
        _ => false,
    };
    if national || which == 1 || which == 5 {
        to.charset.charset = Some(NamedCharset::NATIONAL);
    }
    to.bytes = matches!(which, 2 | 7);
    let length = width(c)?;
    to.ty = TypeSyntax::Complete(if varying {
        let Some(length) = length else {
            return Err(c.error());
        };
        ColumnType::VarChar(u32::try_from(length).unwrap_or(u32::MAX))
    } else {
        let length = u16::try_from(length.unwrap_or(1)).ok();
        match length.filter(|&length| length <= 255) {
            Some(length) => ColumnType::Char(length),
            None => return Err(SqlError::column_too_long(name, 255)),
        }
    });
    string_attributes(c, to)?;
    Ok(true)
}

/// `ENUM('a', 'b')`, `SET('a', 'b')`
fn member_type(c: &mut Cursor, to: &mut DataType) -> Parsed<bool> {
    to.ty = match c.eat_any(&["ENUM", "SET"]) {
        None => return Ok(false),
        Some(0) => TypeSyntax::Enum,
        Some(_) => TypeSyntax::Set,
    };
    c.expect_symbol("(")?;
    loop {
        // Spaces at the end do not count.
        let member = c.string()?;
        to.members.push(member.trim_end_matches(' ').to_string());
        if !c.eat_symbol(",") {
            break;
        }
    }
    c.expect_symbol(")")?;
    string_attributes(c, to)?;
    Ok(true)
}

/// BINARY, BYTE, ASCII, UNICODE and CHARACTER SET behind a string type.
fn string_attributes(c: &mut Cursor, to: &mut DataType) -> Parsed<()> {
    if to.bytes {
        return Ok(());
    }
    if c.eat("BYTE") {
        to.bytes = true;
        return Ok(());
    }
    loop {
        if c.eat("BINARY") {
            to.binary = true;
        } else if let Some(which) = c.eat_any(&["ASCII", "UNICODE"]) {
            let (word, name) = [("ASCII", "latin1"), ("UNICODE", "ucs2")][which];
            to.charset.set_charset(NamedCharset::find(name)?)?;
            to.charset.word = Some(word);
        } else if c.is("COLLATE") || !charset_clause(c, &mut to.charset)? {
            // COLLATE is looked at with the other clauses; others do not begin with CHARACTER.
            if c.eat_any(&["CHARACTER", "CHAR"]).is_some() {
                return Err(c.error());
            }
            return Ok(());
        }
    }
}
