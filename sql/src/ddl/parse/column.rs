//! The parser of column definitions.

use crate::{
    command::{Cursor, Parsed},
    data_type::{DataType, charset_clause, data_type},
    ddl::syntax::{ColumnSyntax, Constraint, DefaultSyntax, KeyKind, KeySyntax, PartSyntax},
    error::SqlError,
    lexer::{self, Kind},
};
use cohort_engine::types::{Decimal, Generated, Value};

/// A column and the constraints that its clauses ask for.
pub(super) fn column(c: &mut Cursor) -> Parsed<(ColumnSyntax, Vec<Constraint>)> {
    let name = c.name()?;
    let mut column = ColumnSyntax {
        name,
        data_type: DataType::default(),
        nullable: None,
        default: None,
        generated: None,
        auto_increment: false,
        on_update: None,
        comment: String::new(),
        visible: true,
    };
    let mut keys = Vec::new();
    if c.eat("SERIAL") {
        column.data_type = DataType::serial();
        serial(&mut column, &mut keys);
    } else {
        column.data_type = data_type(c, &column.name)?;
        generated(c, &mut column)?;
    }
    while attribute(c, &mut column, &mut keys)? {}
    Ok((column, keys))
}

/// `[COLLATE …] [GENERATED ALWAYS] AS (expression) [VIRTUAL | STORED]`, if it is here.
fn generated(c: &mut Cursor, column: &mut ColumnSyntax) -> Parsed<()> {
    if c.is("COLLATE") {
        charset_clause(c, &mut column.data_type.charset)?;
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
        array: None,
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
        parser: None,
        generated: false,
    }));
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
        if column.data_type.charset.collation.is_some() {
            return Err(c.error());
        }
        charset_clause(c, &mut column.data_type.charset)?;
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
        Value::UInt(n) => Value::Decimal(-Decimal::from(n)),
        Value::Decimal(n) => Value::Decimal(-n),
        Value::Double(n) => Value::Double(-n),
        other => other,
    })
}
