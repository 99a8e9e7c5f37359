//! The values that expressions compute and rows hold.

use super::{
    json::Json,
    temporal::{Date, DateTime, Time},
};
use std::sync::Arc;

pub use super::decimal::Decimal;

/// One SQL value. What charset and collation a string has is known by the expression or column
/// it comes from, not by the value: `Bytes` holds both text (UTF-8) and binary strings.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// SQL NULL.
    #[default]
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// FLOAT: kept apart from `Double`, because it is printed with fewer digits.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL; the scale is part of the value.
    Decimal(Decimal),
    /// A text or binary string.
    Bytes(Vec<u8>),
    /// DATE.
    Date(Date),
    /// TIME: a signed duration of up to 838:59:59.999999.
    Time(Time),
    /// DATETIME or TIMESTAMP (a TIMESTAMP is in UTC when stored, in the session's time zone
    /// when an expression sees it).
    DateTime(DateTime),
    /// A value of an ENUM or SET column: a number and a text.
    Member(Arc<Member>),
    /// A JSON document.
    Json(Json),
}

impl Value {
    /// Whether this is SQL NULL.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

/// A value of an ENUM or SET column.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The number that rows and indexes hold, and that it is sorted by.
    pub number: u64,
    /// Its text, as a string.
    pub text: Value,
}

impl Member {
    /// The number where one is wanted of it: it has a sign, whatever a SET of 64 members means.
    #[must_use]
    pub fn signed(&self) -> i64 {
        self.number.cast_signed()
    }
    /// The bytes of its text.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.text {
            Value::Bytes(text) => text,
            _ => &[],
        }
    }
}
