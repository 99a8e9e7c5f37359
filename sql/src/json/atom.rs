//! SQL values as JSON, and the other way round.

use crate::text::json::unquoted;
use cohort_engine::types::{
    ColumnType, Json, Value,
    json::{Node, OPAQUE_BIT, Scalar},
};
use std::borrow::Cow;

/// A value of a type as a scalar: a text is one, not what is written in it. Of a string, `bytes`
/// says whether it is a binary one.
#[must_use]
pub fn atom(value: &Value, ty: Option<ColumnType>, bytes: bool) -> Scalar<'_> {
    match value {
        Value::Null => Scalar::Null,
        Value::Int(n) => Scalar::Int(*n),
        Value::UInt(n) => match ty {
            Some(ColumnType::Bit(bits)) => {
                let unused = 8 - usize::from(bits.div_ceil(8)).min(8);
                let bits = n.to_be_bytes().get(unused..).unwrap_or_default().to_vec();
                Scalar::Opaque(OPAQUE_BIT, Cow::Owned(bits))
            }
            _ => Scalar::UInt(*n),
        },
        Value::Float(x) => Scalar::Double((*x).into()),
        Value::Double(x) => Scalar::Double(*x),
        Value::Decimal(number) => Scalar::Decimal(number.clone()),
        Value::Bytes(contents) if bytes => Scalar::Opaque(type_number(ty), contents.into()),
        Value::Bytes(text) => Scalar::Text(String::from_utf8_lossy(text)),
        Value::Member(member) => Scalar::Text(String::from_utf8_lossy(member.bytes())),
        Value::Date(date) => Scalar::Date(*date),
        Value::Time(time) => Scalar::Time(*time),
        Value::DateTime(moment) => match ty {
            Some(ColumnType::Timestamp(_)) => Scalar::Timestamp(*moment),
            _ => Scalar::DateTime(*moment),
        },
        Value::Json(json) => match json.root() {
            Node::Scalar(scalar) => scalar.into_owned(),
            // Nobody asks: documents are taken as they are.
            Node::Array(_) | Node::Object(_) => Scalar::Null,
        },
    }
}

/// MySQL's number of a type of binary strings.
fn type_number(ty: Option<ColumnType>) -> u8 {
    match ty {
        Some(ColumnType::Char(_)) => 254,
        Some(ColumnType::Text(1)) => 249,
        Some(ColumnType::Text(2)) => 252,
        Some(ColumnType::Text(3)) => 250,
        Some(ColumnType::Text(_)) => 251,
        _ => 15,
    }
}

/// The SQL value that a document is which is no array and no object; of null, `Value::Null`.
#[must_use]
pub fn plain(json: &Json) -> Option<Value> {
    let Node::Scalar(scalar) = json.root() else {
        return None;
    };
    Some(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(truth) => Value::Int(truth.into()),
        Scalar::Int(n) => Value::Int(n),
        Scalar::UInt(n) => Value::UInt(n),
        Scalar::Double(x) => Value::Double(x),
        Scalar::Decimal(number) => Value::Decimal(number),
        Scalar::Date(date) => Value::Date(date),
        Scalar::Time(time) => Value::Time(time),
        Scalar::DateTime(moment) | Scalar::Timestamp(moment) => Value::DateTime(moment),
        scalar @ (Scalar::Text(_) | Scalar::Opaque(..)) => {
            let mut text = Vec::new();
            unquoted(&scalar, &mut text);
            Value::Bytes(text)
        }
    })
}
