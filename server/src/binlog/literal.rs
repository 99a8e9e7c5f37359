//! Values as SQL literals that make the very same value again, for a session with
//! `time_zone = '+00:00'` whose client speaks utf8mb4.

use cohort_engine::types::{
    Column, ColumnType, Value,
    json::{Node, Scalar},
};
use cohort_sql::text;
use std::fmt::Write;

/// Digits of a second that say all.
const MICROSECONDS: u8 = 6;

/// The literal of a column's value. `as_bytes`: its text is in a character set that is not known.
/// An error says which value has none.
pub fn literal(column: &Column, value: &Value, as_bytes: bool) -> Result<String, String> {
    Ok(match value {
        Value::Null => "NULL".to_owned(),
        Value::UInt(bits) if matches!(column.ty, ColumnType::Bit(_)) => format!("b'{bits:b}'"),
        // As doubles: a FLOAT is one exactly, and compares with nothing else.
        Value::Float(number) => format!("{:e}", f64::from(*number)),
        Value::Double(number) => format!("{number:e}"),
        Value::Bytes(bytes) if as_bytes || column.is_binary() => hexadecimal(bytes),
        Value::Bytes(bytes) => string(bytes),
        Value::Member(member) if member.number == 0 || member.bytes().is_empty() => {
            member.number.to_string()
        }
        Value::Member(member) => string(member.bytes()),
        Value::Json(document) => json(&document.root())
            .map_err(|what| format!("column {}: {what} in a JSON document", column.name))?,
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => plain(value, 0),
        Value::Date(_) => format!("'{}'", plain(value, 0)),
        Value::Time(_) | Value::DateTime(_) => {
            let digits = match column.ty {
                ColumnType::Time(digits)
                | ColumnType::DateTime(digits)
                | ColumnType::Timestamp(digits) => digits,
                _ => MICROSECONDS,
            };
            format!("'{}'", plain(value, digits))
        }
    })
}

/// What a client sees of a value.
pub fn plain(value: &Value, digits: u8) -> String {
    let mut out = Vec::new();
    text::put(value, digits, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(3 + 2 * bytes.len());
    out.push_str("X'");
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02X}");
    }
    out.push('\'');
    out
}

/// A text: in quotes where it can be read, else by its bytes.
fn string(bytes: &[u8]) -> String {
    let is_plain = |c: char| !c.is_control() || c == '\n' || c == '\t';
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(is_plain) => {
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
        }
        _ => format!("_utf8mb4 {}", hexadecimal(bytes)),
    }
}

/// A document: as text if the text makes the same document, or by functions.
fn json(node: &Node<'_>) -> Result<String, String> {
    if is_its_text(node) {
        let mut out = Vec::new();
        text::json::print(node, &mut out);
        return Ok(format!("CAST({} AS JSON)", string(&out)));
    }
    let built = built(node)?;
    Ok(match node {
        Node::Scalar(_) => format!("JSON_EXTRACT(JSON_ARRAY({built}), '$[0]')"),
        Node::Array(_) | Node::Object(_) => built,
    })
}

/// Whether parsing its text makes the same document, types of numbers included.
fn is_its_text(node: &Node<'_>) -> bool {
    match node {
        Node::Array(array) => array.iter().all(|element| is_its_text(&element)),
        Node::Object(object) => object.iter().all(|(_, value)| is_its_text(&value)),
        Node::Scalar(scalar) => match scalar {
            Scalar::Null | Scalar::Bool(_) | Scalar::Int(_) | Scalar::Text(_) => true,
            Scalar::UInt(number) => i64::try_from(*number).is_err(),
            Scalar::Double(number) => {
                let mut out = Vec::new();
                text::json::print(node, &mut out);
                let text = String::from_utf8_lossy(&out);
                text.contains(['.', 'e']) && text.parse() == Ok(*number)
            }
            Scalar::Decimal(_)
            | Scalar::Date(_)
            | Scalar::Time(_)
            | Scalar::DateTime(_)
            | Scalar::Timestamp(_)
            | Scalar::Opaque(..) => false,
        },
    }
}

fn built(node: &Node<'_>) -> Result<String, String> {
    let list = |parts: Result<Vec<String>, String>| parts.map(|parts| parts.join(", "));
    Ok(match node {
        Node::Array(array) => {
            let elements = array.iter().map(|element| built(&element));
            format!("JSON_ARRAY({})", list(elements.collect())?)
        }
        Node::Object(object) => {
            let pairs = object
                .iter()
                .map(|(key, value)| Ok(format!("{}, {}", string(key.as_bytes()), built(&value)?)));
            format!("JSON_OBJECT({})", list(pairs.collect())?)
        }
        Node::Scalar(scalar) => match scalar {
            Scalar::Null => "NULL".to_owned(),
            Scalar::Bool(truth) => truth.to_string(),
            Scalar::Int(number) => number.to_string(),
            Scalar::UInt(number) => format!("CAST({number} AS UNSIGNED)"),
            Scalar::Double(number) => format!("{number:e}"),
            Scalar::Text(text) => string(text.as_bytes()),
            Scalar::Decimal(number) => plain(&Value::Decimal(number.clone()), 0),
            Scalar::Date(date) => format!("CAST('{}' AS DATE)", plain(&Value::Date(*date), 0)),
            Scalar::Time(time) => {
                let text = plain(&Value::Time(*time), MICROSECONDS);
                format!("CAST('{text}' AS TIME(6))")
            }
            Scalar::DateTime(moment) => {
                let text = plain(&Value::DateTime(*moment), MICROSECONDS);
                format!("CAST('{text}' AS DATETIME(6))")
            }
            // Nothing but a column of that type makes one.
            Scalar::Timestamp(_) => return Err("a TIMESTAMP in a JSON document".to_owned()),
            Scalar::Opaque(kind, _) => return Err(format!("a value of type {kind}")),
        },
    })
}
