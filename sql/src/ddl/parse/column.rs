//! The parser of column definitions.

use super::options::charset_clause;
use crate::{
    collations::NamedCharset,
    command::{Cursor, Parsed},
    ddl::syntax::{
        CharsetSyntax, ColumnSyntax, Constraint, DefaultSyntax, KeyKind, KeySyntax, PartSyntax,
        TypeSyntax,
    },
    error::SqlError,
    lexer::{self, Kind},
};
use cohort_engine::types::{ColumnType, Generated, Value};

/// A column and the constraints that its clauses ask for.
pub(super) fn column(c: &mut Cursor) -> Parsed<(ColumnSyntax, Vec<Constraint>)> {
    let name = c.name()?;
    let mut column = ColumnSyntax {
        name,
        ty: TypeSyntax::Complete(ColumnType::Int),
        members: Vec::new(),
        real_digits: None,
        unsigned: false,
        zerofill: false,
        display_width: None,
        bool: false,
        year_width: false,
        nullable: None,
        default: None,
        generated: None,
        auto_increment: false,
        on_update: None,
        bytes: false,
        binary: false,
        charset: CharsetSyntax::default(),
        comment: String::new(),
        visible: true,
    };
    let mut keys = Vec::new();
    if c.eat("SERIAL") {
        column.ty = TypeSyntax::Complete(ColumnType::BigInt);
        column.unsigned = true;
        serial(&mut column, &mut keys);
    } else {
        data_type(c, &mut column)?;
        generated(c, &mut column)?;
    }
    while attribute(c, &mut column, &mut keys)? {}
    Ok((column, keys))
}

/// `[COLLATE …] [GENERATED ALWAYS] AS (expression) [VIRTUAL | STORED]`, if it is here.
fn generated(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<()> {
    if c.is("COLLATE") {
        charset_clause(c, &mut column.charset)?;
    }
    let words = c.eat_all(&["GENERATED", "ALWAYS"]);
    if !c.eat("AS") {
        return if words { Err(c.error()) } else { Ok(()) };
    }
    c.expect_symbol("(")?;
    let expression = c.take_expression(&[])?;
    c.expect_symbol(")")?;
    column.generated = Some(Generated {
        expression,
        stored: c.eat_any(&["VIRTUAL", "STORED"]) == Some(1),
    });
    Ok(())
}

fn serial(column: &mut ColumnSyntax, keys: &mut Vec<Constraint>) {
    column.nullable = Some(false);
    column.auto_increment = true;
    add_key(column, KeyKind::Unique, keys);
}

/// The key that a column's own clause asks for; asking twice makes one.
fn add_key(column: &ColumnSyntax, kind: KeyKind, keys: &mut Vec<Constraint>) {
    let same = |other: &Constraint| matches!(other, Constraint::Key(key) if key.kind == kind);
    if keys.iter().any(same) {
        return;
    }
    let part = PartSyntax {
        column: column.name.clone(),
        expression: None,
        prefix: None,
        desc: false,
    };
    keys.push(Constraint::Key(KeySyntax {
        kind,
        name: None,
        parts: vec![part],
        comment: String::new(),
        visible: true,
        using: None,
        generated: false,
    }));
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
    let known = json_type(c, column)
        || integer_type(c, column)?
        || bit_type(c, column)?
        || real_type(c, column)?
        || time_type(c, column)?
        || text_type(c, column)?
        || string_type(c, column)?
        || member_type(c, column)?;
    if known {
        return Ok(());
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
fn sign(c: &mut Cursor, column: &mut ColumnSyntax) {
    loop {
        if c.eat("UNSIGNED") {
            column.unsigned = true;
        } else if c.eat("ZEROFILL") {
            column.zerofill = true;
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
    if c.eat_any(&["BOOL", "BOOLEAN"]).is_some() {
        column.ty = TypeSyntax::Complete(ColumnType::TinyInt);
        column.display_width = Some(1);
        column.bool = true;
        return Ok(true);
    }
    let Some(&(_, ty)) = TYPES.iter().find(|(word, _)| c.eat(word)) else {
        return Ok(false);
    };
    column.ty = TypeSyntax::Complete(ty);
    let width = width(c)?;
    if ty == ColumnType::Year {
        if width.is_some_and(|width| width != 4) {
            return Err(SqlError::invalid_year_width());
        }
        column.year_width = width.is_some();
        return Ok(true);
    }
    if let Some(width) = width {
        let width = u8::try_from(width);
        let too_big = |_| SqlError::display_width_too_big(&column.name, 255);
        column.display_width = Some(width.map_err(too_big)?);
    }
    sign(c, column);
    Ok(true)
}

/// `JSON`
fn json_type(c: &mut Cursor, column: &mut ColumnSyntax) -> bool {
    let is_json = c.eat("JSON");
    if is_json {
        column.ty = TypeSyntax::Complete(ColumnType::Json);
    }
    is_json
}

/// `BIT`, `BIT(n)`
fn bit_type(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<bool> {
    const BITS_MAX: u8 = 64;
    if !c.eat("BIT") {
        return Ok(false);
    }
    let bits = width(c)?.unwrap_or(1);
    let bits = u8::try_from(bits).ok().filter(|&bits| bits <= BITS_MAX);
    let Some(bits) = bits else {
        return Err(SqlError::display_width_too_big(&column.name, BITS_MAX));
    };
    if bits == 0 {
        return Err(SqlError::invalid_size(&column.name));
    }
    column.ty = TypeSyntax::Complete(ColumnType::Bit(bits));
    Ok(true)
}

fn real_type(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<bool> {
    let ty = if c.eat_any(&["DECIMAL", "NUMERIC", "DEC", "FIXED"]).is_some() {
        let (mut precision, mut scale) = (10, 0);
        if c.eat_symbol("(") {
            precision = c.unsigned()?;
            if c.eat_symbol(",") {
                scale = c.unsigned()?;
            }
            c.expect_symbol(")")?;
        }
        decimal(&column.name, precision, scale)?
    } else if c.eat_any(&["FLOAT", "FLOAT4"]).is_some() {
        float(c, column)?
    } else if c.mode().real_as_float && c.eat("REAL") {
        real(c, column, ColumnType::Float)?
    } else if c.eat_any(&["DOUBLE", "REAL", "FLOAT8"]).is_some() {
        c.eat("PRECISION");
        real(c, column, ColumnType::Double)?
    } else {
        return Ok(false);
    };
    column.ty = TypeSyntax::Complete(ty);
    sign(c, column);
    Ok(true)
}

/// A floating point type, perhaps with `(M,D)` after it.
fn real(c: &mut Cursor, column: &mut ColumnSyntax, ty: ColumnType) -> Parsed<ColumnType> {
    if c.eat_symbol("(") {
        let digits = c.unsigned()?;
        if !c.is_symbol(",") {
            return Err(c.error());
        }
        real_digits(c, column, digits)?;
    }
    Ok(ty)
}

/// `,D)` behind M.
fn real_digits(c: &mut Cursor, column: &mut ColumnSyntax, digits: u64) -> Parsed<()> {
    const SCALE_MAX: u8 = 30;
    let name = &column.name;
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
    column.real_digits = Some((digits, small));
    Ok(())
}

fn float(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<ColumnType> {
    if !c.eat_symbol("(") {
        return Ok(ColumnType::Float);
    }
    let precision = c.unsigned()?;
    if c.is_symbol(",") {
        real_digits(c, column, precision)?;
        return Ok(ColumnType::Float);
    }
    c.expect_symbol(")")?;
    match precision {
        0..=24 => Ok(ColumnType::Float),
        25..=53 => Ok(ColumnType::Double),
        _ => Err(SqlError::wrong_column_specifier(&column.name)),
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

fn time_type(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<bool> {
    if c.eat("DATE") {
        column.ty = TypeSyntax::Complete(ColumnType::Date);
        return Ok(true);
    }
    let Some(which) = c.eat_any(&["DATETIME", "TIMESTAMP", "TIME"]) else {
        return Ok(false);
    };
    let digits = width(c)?.unwrap_or(0);
    let small = u8::try_from(digits).ok().filter(|digits| *digits <= 6);
    let digits = small.ok_or_else(|| SqlError::precision_too_big(digits, &column.name, 6))?;
    column.ty = TypeSyntax::Complete(match which {
        0 => ColumnType::DateTime(digits),
        1 => ColumnType::Timestamp(digits),
        _ => ColumnType::Time(digits),
    });
    Ok(true)
}

fn text_type(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<bool> {
    const SIZED: [(&str, u8, bool); 6] = [
        ("TINYTEXT", 1, false),
        ("MEDIUMTEXT", 3, false),
        ("LONGTEXT", 4, false),
        ("TINYBLOB", 1, true),
        ("MEDIUMBLOB", 3, true),
        ("LONGBLOB", 4, true),
    ];
    if let Some(which) = c.eat_any(&["TEXT", "BLOB"]) {
        column.bytes = which == 1;
        column.ty = match width(c)? {
            None | Some(0) => TypeSyntax::Complete(ColumnType::Text(2)),
            Some(length) => TypeSyntax::TextFor(length),
        };
    } else if let Some(&(_, width, bytes)) = SIZED.iter().find(|(word, ..)| c.eat(word)) {
        column.bytes = bytes;
        column.ty = TypeSyntax::Complete(ColumnType::Text(width));
    } else if c.eat("LONG") {
        column.bytes = c.eat("VARBINARY");
        if !column.bytes {
            let _ = c.eat("VARCHAR") || c.eat_all(&["CHAR", "VARYING"]);
        }
        column.ty = TypeSyntax::Complete(ColumnType::Text(3));
    } else {
        return Ok(false);
    }
    string_attributes(c, column)?;
    Ok(true)
}

fn string_type(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<bool> {
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
        column.charset.charset = Some(NamedCharset::NATIONAL);
    }
    column.bytes = matches!(which, 2 | 7);
    let length = width(c)?;
    column.ty = TypeSyntax::Complete(if varying {
        let Some(length) = length else {
            return Err(c.error());
        };
        ColumnType::VarChar(u32::try_from(length).unwrap_or(u32::MAX))
    } else {
        let length = u16::try_from(length.unwrap_or(1)).ok();
        match length.filter(|&length| length <= 255) {
            Some(length) => ColumnType::Char(length),
            None => return Err(SqlError::column_too_long(&column.name, 255)),
        }
    });
    string_attributes(c, column)?;
    Ok(true)
}

/// `ENUM('a', 'b')`, `SET('a', 'b')`
fn member_type(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<bool> {
    column.ty = match c.eat_any(&["ENUM", "SET"]) {
        None => return Ok(false),
        Some(0) => TypeSyntax::Enum,
        Some(_) => TypeSyntax::Set,
    };
    c.expect_symbol("(")?;
    loop {
        // Spaces at the end do not count.
        let member = c.string()?;
        column
            .members
            .push(member.trim_end_matches(' ').to_string());
        if !c.eat_symbol(",") {
            break;
        }
    }
    c.expect_symbol(")")?;
    string_attributes(c, column)?;
    Ok(true)
}

/// BINARY, BYTE and CHARACTER SET behind a string type.
fn string_attributes(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<()> {
    if column.bytes {
        return Ok(());
    }
    if c.eat("BYTE") {
        column.bytes = true;
        return Ok(());
    }
    loop {
        if c.eat("BINARY") {
            column.binary = true;
        } else if c.is("COLLATE") || !charset_clause(c, &mut column.charset)? {
            // COLLATE is looked at with the other clauses; others do not begin with CHARACTER.
            if c.eat_any(&["CHARACTER", "CHAR"]).is_some() {
                return Err(c.error());
            }
            return Ok(());
        }
    }
}

/// One clause behind the type, if one is here.
fn attribute(
    c: &mut Cursor,
    column: &mut ColumnSyntax,
    keys: &mut Vec<Constraint>,
) -> Parsed<bool> {
    if c.eat_all(&["NOT", "NULL"]) {
        column.nullable = Some(false);
    } else if c.eat("NULL") {
        column.nullable = Some(true);
    } else if c.eat("DEFAULT") {
        column.default = Some(default_value(c)?);
    } else if c.eat_all(&["ON", "UPDATE"]) {
        column.on_update = Some(now(c)?.ok_or_else(|| c.error())?);
    } else if c.eat("AUTO_INCREMENT") {
        column.auto_increment = true;
    } else if c.eat_all(&["SERIAL", "DEFAULT", "VALUE"]) {
        serial(column, keys);
    } else if c.eat("UNIQUE") {
        c.eat("KEY");
        add_key(column, KeyKind::Unique, keys);
    } else if c.is("REFERENCES") {
        let key = super::key::references(c, vec![column.name.clone()])?;
        keys.push(Constraint::ForeignKey(key));
    } else if c.is("CHECK") || c.is("CONSTRAINT") {
        keys.push(check(c, column)?);
    } else if c.eat_all(&["PRIMARY", "KEY"]) || c.eat("KEY") {
        add_key(column, KeyKind::Primary, keys);
    } else if c.eat("COMMENT") {
        column.comment = c.string()?;
    } else if c.eat("COLUMN_FORMAT") || c.eat("STORAGE") {
        if c.eat_any(&["DEFAULT", "FIXED", "DYNAMIC", "DISK", "MEMORY"])
            .is_none()
        {
            return Err(c.error());
        }
    } else if c.is("COLLATE") {
        if column.charset.collation.is_some() {
            return Err(c.error());
        }
        charset_clause(c, &mut column.charset)?;
    } else if let Some(which) = c.eat_any(&["VISIBLE", "INVISIBLE"]) {
        column.visible = which == 0;
    } else {
        return match unsupported_attribute(c) {
            Some(what) => Err(SqlError::not_supported(what)),
            None => Ok(false),
        };
    }
    Ok(true)
}

/// `[CONSTRAINT [name]] CHECK (condition)` of a column.
fn check(c: &mut Cursor, column: &ColumnSyntax) -> Parsed<Constraint> {
    let mut name = None;
    if c.eat("CONSTRAINT") && !c.is("CHECK") {
        name = Some(c.name()?);
    }
    c.expect("CHECK")?;
    super::key::check(c, name, Some(&column.name)).map(Constraint::Check)
}

fn unsupported_attribute(c: &Cursor) -> Option<&'static str> {
    const CLAUSES: [(&str, &str); 2] = [
        ("SRID", "spatial columns"),
        ("ENGINE_ATTRIBUTE", "ENGINE_ATTRIBUTE"),
    ];
    let found = CLAUSES.iter().find(|(word, _)| c.is(word));
    found.map(|(_, what)| *what)
}

/// CURRENT_TIMESTAMP, NOW() and the like, if it is here: how many digits.
fn now(c: &mut Cursor) -> Parsed<Option<u8>> {
    let function = c.eat("NOW");
    let names = ["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"];
    if !function && c.eat_any(&names).is_none() {
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

/// What follows DEFAULT.
pub(super) fn default_value(c: &mut Cursor) -> Parsed<DefaultSyntax> {
    if let Some(digits) = now(c)? {
        return Ok(DefaultSyntax::Now(digits));
    }
    if c.eat("NULL") {
        return Ok(DefaultSyntax::Null);
    }
    if c.eat_symbol("(") {
        let text = c.take_expression(&[])?;
        c.expect_symbol(")")?;
        return Ok(DefaultSyntax::Expression(text));
    }
    for (word, value) in [("TRUE", 1), ("FALSE", 0)] {
        if c.eat(word) {
            return Ok(DefaultSyntax::Value(Value::Int(value)));
        }
    }
    if c.peek_at(1).kind == Kind::String {
        // A character set in front of a string: _utf8mb4'x'.
        c.eat_any(&["_UTF8MB4", "_UTF8MB3", "_UTF8", "_BINARY"]);
    }
    if c.is_string() {
        return Ok(DefaultSyntax::Value(Value::Bytes(c.string()?.into_bytes())));
    }
    let token = c.peek();
    if matches!(token.kind, Kind::Hex | Kind::Bit) {
        let bytes = lexer::bits(token.kind, c.text(token));
        let bytes = bytes.ok_or_else(|| c.error())?;
        c.next();
        return Ok(DefaultSyntax::Bits(bytes));
    }
    number(c).map(DefaultSyntax::Value)
}

fn number(c: &mut Cursor) -> Parsed<Value> {
    let negative = c.eat_symbol("-");
    if !negative {
        c.eat_symbol("+");
    }
    let token = c.peek();
    let text = c.text(token);
    let value = match token.kind {
        Kind::Integer | Kind::Decimal | Kind::Float => lexer::number(token.kind, text),
        _ => None,
    };
    let value = value.ok_or_else(|| c.error())?;
    c.next();
    if !negative {
        return Ok(value);
    }
    Ok(match value {
        Value::Int(n) => n.checked_neg().map_or(Value::Int(n), Value::Int),
        Value::UInt(n) => Value::Decimal(Box::new(-bigdecimal::BigDecimal::from(n))),
        Value::Decimal(n) => Value::Decimal(Box::new(-*n)),
        Value::Double(n) => Value::Double(-n),
        other => other,
    })
}
