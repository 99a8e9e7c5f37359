//! The parser of column definitions.

use super::syntax::{ColumnSyntax, KeyKind, KeySyntax, PartSyntax};
use crate::{
    command::{Cursor, Parsed},
    error::SqlError,
    lexer::Kind,
    variables,
};
use cohort_engine::types::{Collation, ColumnType, schema::DefaultValue};

/// A column and the keys that its clauses ask for.
pub(super) fn column(c: &mut Cursor) -> Parsed<(ColumnSyntax, Vec<KeySyntax>)> {
    let name = c.name()?;
    let mut column = ColumnSyntax {
        name,
        ty: ColumnType::Int,
        unsigned: false,
        zerofill: false,
        display_width: None,
        nullable: None,
        default: None,
        auto_increment: false,
        on_update: None,
        collation: None,
        comment: String::new(),
        utf8mb3: false,
        default_fsp: 0,
    };
    let mut keys = Vec::new();
    if c.eat("SERIAL") {
        column.ty = ColumnType::BigInt;
        column.unsigned = true;
        column.nullable = Some(false);
        column.auto_increment = true;
        keys.push(own_key(&column, KeyKind::Unique));
    } else {
        data_type(c, &mut column)?;
    }
    while attribute(c, &mut column, &mut keys)? {}
    Ok((column, keys))
}

fn own_key(column: &ColumnSyntax, kind: KeyKind) -> KeySyntax {
    let part = PartSyntax {
        column: column.name.clone(),
        prefix: None,
        desc: false,
    };
    KeySyntax {
        kind,
        name: None,
        parts: vec![part],
        comment: String::new(),
        visible: true,
    }
}

/// `(n)`, if it is here.
fn width(c: &mut Cursor) -> Parsed<Option<u64>> {
    if !c.eat_symbol("(") {
        return Ok(None);
    }
    let width = c.unsigned()?;
    c.expect_symbol(")")?;
    Ok(Some(width))
}

fn data_type(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<()> {
    if integer_type(c, column)? || real_type(c, column)? || time_type(c, column)? {
        return Ok(());
    }
    if string_type(c, column)? {
        return Ok(());
    }
    const UNSUPPORTED: [&str; 13] = [
        "BIT",
        "ENUM",
        "SET",
        "JSON",
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
fn sign(c: &mut Cursor, column: &mut ColumnSyntax) {
    loop {
        if c.eat("UNSIGNED") {
            column.unsigned = true;
        } else if c.eat("ZEROFILL") {
            column.zerofill = true;
            column.unsigned = true;
        } else if !c.eat("SIGNED") {
            return;
        }
    }
}

fn integer_type(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<bool> {
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
    if c.eat("BOOL") || c.eat("BOOLEAN") {
        column.ty = ColumnType::TinyInt;
        column.display_width = Some(1);
        return Ok(true);
    }
    let Some(&(_, ty)) = TYPES.iter().find(|(word, _)| c.eat(word)) else {
        return Ok(false);
    };
    column.ty = ty;
    if let Some(width) = width(c)? {
        let Some(width) = u8::try_from(width).ok() else {
            return Err(SqlError::display_width_too_big(&column.name, 255));
        };
        if ty == ColumnType::Year {
            if width != 4 {
                return Err(SqlError::not_supported("YEAR other than YEAR(4)"));
            }
        } else {
            column.display_width = Some(width);
        }
    }
    if ty != ColumnType::Year {
        sign(c, column);
    }
    Ok(true)
}

fn real_type(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<bool> {
    if c.eat_any(&["DECIMAL", "NUMERIC", "DEC", "FIXED"]).is_some() {
        let (mut precision, mut scale) = (10, 0);
        if c.eat_symbol("(") {
            precision = c.unsigned()?;
            if c.eat_symbol(",") {
                scale = c.unsigned()?;
            }
            c.expect_symbol(")")?;
        }
        column.ty = decimal(&column.name, precision, scale)?;
    } else if c.eat_any(&["FLOAT", "FLOAT4"]).is_some() {
        column.ty = ColumnType::Float;
        if c.eat_symbol("(") {
            let precision = c.unsigned()?;
            if c.is_symbol(",") {
                return Err(SqlError::not_supported("FLOAT(M,D)"));
            }
            c.expect_symbol(")")?;
            column.ty = match precision {
                0..=24 => ColumnType::Float,
                25..=53 => ColumnType::Double,
                _ => return Err(SqlError::wrong_column_specifier(&column.name)),
            };
        }
    } else if c.eat_any(&["DOUBLE", "REAL", "FLOAT8"]).is_some() {
        c.eat("PRECISION");
        column.ty = ColumnType::Double;
        if c.is_symbol("(") {
            return Err(SqlError::not_supported("DOUBLE(M,D)"));
        }
    } else {
        return Ok(false);
    }
    sign(c, column);
    Ok(true)
}

fn decimal(name: &str, precision: u64, scale: u64) -> Parsed<ColumnType> {
    if scale > 30 {
        return Err(SqlError::scale_too_big(scale, name, 30));
    }
    if precision > 65 {
        return Err(SqlError::precision_too_big(precision, name, 65));
    }
    let precision = if precision == 0 { 10 } else { precision };
    if scale > precision {
        return Err(SqlError::precision_below_scale(name));
    }
    let small = |n: u64| u8::try_from(n).unwrap_or(0);
    Ok(ColumnType::Decimal {
        precision: small(precision),
        scale: small(scale),
    })
}

fn time_type(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<bool> {
    if c.eat("DATE") {
        column.ty = ColumnType::Date;
        return Ok(true);
    }
    let Some(which) = c.eat_any(&["DATETIME", "TIMESTAMP", "TIME"]) else {
        return Ok(false);
    };
    let digits = width(c)?.unwrap_or(0);
    let digits = u8::try_from(digits)
        .ok()
        .filter(|digits| *digits <= 6)
        .ok_or_else(|| SqlError::precision_too_big(digits, &column.name, 6))?;
    column.ty = match which {
        0 => ColumnType::DateTime(digits),
        1 => ColumnType::Timestamp(digits),
        _ => ColumnType::Time(digits),
    };
    Ok(true)
}

/// How many length bytes a TEXT or BLOB needs for so many bytes.
fn length_bytes(bytes: u64) -> u8 {
    match bytes {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        _ => 4,
    }
}

fn string_type(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<bool> {
    c.eat("NATIONAL");
    if c.eat_all(&["LONG", "VARBINARY"]) || c.eat_all(&["LONG", "VARCHAR"]) || c.eat("LONG") {
        return Err(SqlError::not_supported("type LONG"));
    }
    if let Some(which) = c.eat_any(&["BLOB", "TEXT"]) {
        let characters = width(c)?;
        let bytes = characters.map(|n| if which == 0 { n } else { n.saturating_mul(4) });
        column.ty = ColumnType::Text(bytes.map_or(2, length_bytes));
        binary_or_charset(c, column, which == 0)?;
        return Ok(true);
    }
    const SIZED: [(&str, u8, bool); 6] = [
        ("TINYTEXT", 1, false),
        ("MEDIUMTEXT", 3, false),
        ("LONGTEXT", 4, false),
        ("TINYBLOB", 1, true),
        ("MEDIUMBLOB", 3, true),
        ("LONGBLOB", 4, true),
    ];
    if let Some(&(_, bytes, binary)) = SIZED.iter().find(|(word, ..)| c.eat(word)) {
        column.ty = ColumnType::Text(bytes);
        binary_or_charset(c, column, binary)?;
        return Ok(true);
    }
    let Some(which) = c.eat_any(&[
        "VARCHAR",
        "NVARCHAR",
        "VARBINARY",
        "VARCHARACTER",
        "CHAR",
        "NCHAR",
        "CHARACTER",
        "BINARY",
    ]) else {
        return Ok(false);
    };
    let varying = which < 4 || matches!(which, 4..=6) && c.eat("VARYING");
    let binary = matches!(which, 2 | 7);
    let length = width(c)?;
    if varying {
        let Some(length) = length else {
            return Err(c.error());
        };
        let max = if binary { 65_535 } else { 16_383 };
        if length > max {
            return Err(SqlError::column_too_long(&column.name, max));
        }
        column.ty = ColumnType::VarChar(u32::try_from(length).unwrap_or(0));
    } else {
        let length = length.unwrap_or(1);
        if length > 255 {
            return Err(SqlError::column_too_long(&column.name, 255));
        }
        column.ty = ColumnType::Char(u16::try_from(length).unwrap_or(0));
    }
    binary_or_charset(c, column, binary)?;
    Ok(true)
}

/// The collation of a binary type, or the clauses that follow a text type.
fn binary_or_charset(c: &mut Cursor, column: &mut ColumnSyntax, binary: bool) -> Parsed<()> {
    if binary {
        column.collation = Some(Collation::Binary);
        return Ok(());
    }
    let mut wants_binary = false;
    loop {
        if c.eat("BINARY") {
            wants_binary = true;
        } else if c.is("CHARACTER") || c.is("CHARSET") {
            set_collation(c, column)?;
        } else {
            break;
        }
    }
    if wants_binary
        && column
            .collation
            .is_none_or(|collation| !collation.is_binary())
    {
        column.collation = Some(Collation::Utf8mb4Bin);
    }
    Ok(())
}

fn set_collation(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<bool> {
    let Some((collation, utf8mb3)) = collation_clause(c)? else {
        return Ok(false);
    };
    column.collation = Some(collation);
    column.utf8mb3 |= utf8mb3;
    Ok(true)
}

/// `CHARACTER SET [=] name` or `COLLATE [=] name`, if it is here; and whether it is utf8mb3,
/// which is kept as utf8mb4.
pub(super) fn collation_clause(c: &mut Cursor) -> Parsed<Option<(Collation, bool)>> {
    if c.eat_all(&["CHARACTER", "SET"]) || c.eat("CHARSET") {
        c.eat_symbol("=");
        let name = c.name_or_string()?;
        if name.eq_ignore_ascii_case("DEFAULT") {
            return Ok(Some((Collation::Utf8mb40900AiCi, false)));
        }
        return match variables::character_set(&name)? {
            "utf8mb4" => Ok(Some((Collation::Utf8mb40900AiCi, false))),
            "utf8mb3" => Ok(Some((Collation::Utf8mb40900AiCi, true))),
            "binary" => Ok(Some((Collation::Binary, false))),
            other => Err(SqlError::not_supported(format_args!(
                "character set {other}"
            ))),
        };
    }
    if c.eat("COLLATE") {
        c.eat_symbol("=");
        let name = c.name_or_string()?;
        return find_collation(&name).map(Some);
    }
    Ok(None)
}

fn find_collation(name: &str) -> Parsed<(Collation, bool)> {
    if let Some(collation) = Collation::from_name(name) {
        return Ok((collation, false));
    }
    let charset = name.split('_').next().unwrap_or(name);
    match variables::character_set(charset) {
        Err(error) if error.code == 1115 => Err(SqlError::unknown_collation(name)),
        _ => Err(SqlError::not_supported(format_args!("collation {name}"))),
    }
}

/// One clause behind the type, if one is here.
fn attribute(c: &mut Cursor, column: &mut ColumnSyntax, keys: &mut Vec<KeySyntax>) -> Parsed<bool> {
    if c.eat_all(&["NOT", "NULL"]) {
        column.nullable = Some(false);
    } else if c.eat("NULL") {
        column.nullable = Some(true);
    } else if c.eat("DEFAULT") {
        let (value, digits) = default_value(c)?;
        column.default = Some(value);
        column.default_fsp = digits;
    } else if c.eat_all(&["ON", "UPDATE"]) {
        column.on_update = Some(now(c)?.ok_or_else(|| c.error())?);
    } else if c.eat("AUTO_INCREMENT") {
        column.auto_increment = true;
    } else if c.eat_all(&["SERIAL", "DEFAULT", "VALUE"]) {
        column.auto_increment = true;
        column.nullable = Some(false);
        keys.push(own_key(column, KeyKind::Unique));
    } else if c.eat("UNIQUE") {
        c.eat("KEY");
        keys.push(own_key(column, KeyKind::Unique));
    } else if c.eat_all(&["PRIMARY", "KEY"]) || c.eat("KEY") {
        keys.push(own_key(column, KeyKind::Primary));
    } else if c.eat("COMMENT") {
        column.comment = c.string()?;
    } else if c.eat_any(&["COLUMN_FORMAT", "STORAGE"]).is_some() {
        c.any_name()?;
    } else if c.eat("VISIBLE") {
    } else if c.is("INVISIBLE") {
        return Err(SqlError::not_supported("INVISIBLE columns"));
    } else if c.is("GENERATED") || c.is("AS") {
        return Err(SqlError::not_supported("generated columns"));
    } else if c.is("REFERENCES") {
        return Err(SqlError::not_supported("FOREIGN KEY"));
    } else if c.is("CHECK") || c.is("CONSTRAINT") {
        return Err(SqlError::not_supported("CHECK constraints"));
    } else {
        return set_collation(c, column);
    }
    Ok(true)
}

/// CURRENT_TIMESTAMP, NOW() and the like, if it is here: how many digits.
fn now(c: &mut Cursor) -> Parsed<Option<u8>> {
    let function = c.eat("NOW");
    if !function
        && c.eat_any(&["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"])
            .is_none()
    {
        return Ok(None);
    }
    let mut digits = 0;
    if function || c.is_symbol("(") {
        c.expect_symbol("(")?;
        if !c.is_symbol(")") {
            digits = c.unsigned()?;
        }
        c.expect_symbol(")")?;
    }
    Ok(Some(u8::try_from(digits).unwrap_or(u8::MAX)))
}

/// What follows DEFAULT, and the digits of CURRENT_TIMESTAMP(n).
pub(super) fn default_value(c: &mut Cursor) -> Parsed<(DefaultValue, u8)> {
    if let Some(digits) = now(c)? {
        return Ok((DefaultValue::CurrentTimestamp, digits));
    }
    if c.eat("NULL") {
        return Ok((DefaultValue::Null, 0));
    }
    if c.eat_symbol("(") {
        let text = c.take_expression(&[])?;
        c.expect_symbol(")")?;
        return Ok((DefaultValue::Expression(text), 0));
    }
    for (word, value) in [("TRUE", "1"), ("FALSE", "0")] {
        if c.eat(word) {
            return Ok((DefaultValue::Literal(value.into()), 0));
        }
    }
    if matches!(c.peek_at(1).kind, Kind::String) {
        // A type or a character set in front of a string: DATE '2020-01-01', _utf8mb4'x'.
        let _ = c.eat_any(&["DATE", "TIME", "TIMESTAMP", "_utf8mb4", "_utf8", "_binary"]);
    }
    if c.is_string() {
        return Ok((DefaultValue::Literal(c.string()?), 0));
    }
    let negative = c.eat_symbol("-");
    if !negative {
        c.eat_symbol("+");
    }
    let token = c.peek();
    let text = String::from_utf8_lossy(c.text(token)).into_owned();
    let text = match token.kind {
        Kind::Integer | Kind::Decimal | Kind::Float => text,
        Kind::Hex | Kind::Bit if !negative => {
            return Err(SqlError::not_supported("hexadecimal and bit defaults"));
        }
        _ => return Err(c.error()),
    };
    c.next();
    Ok((
        DefaultValue::Literal(if negative { format!("-{text}") } else { text }),
        0,
    ))
}
