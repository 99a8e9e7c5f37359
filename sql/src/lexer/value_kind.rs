//! What is known of a parameter's value when a statement is compiled.
//!
//! A plan is compiled for the kinds of its parameters, which the types of its expressions follow
//! from: `COALESCE(?, 1)` is a text or a number. So whoever keeps a plan keeps it under the kinds,
//! as `mark` writes them, and values of other kinds get another plan.

use cohort_engine::types::Value;

/// Characters of a text that is not a long one: as many as a VARCHAR can have.
pub const TEXT_LENGTH_MAX: u32 = 65_535 / 4;

/// The kind of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// NULL, or nothing is known yet.
    Null,
    /// A signed integer.
    Int,
    /// One that is too large for that, or was sent as unsigned.
    UInt,
    /// A floating point number.
    Double,
    /// A decimal with so many digits after the point.
    Decimal(u8),
    /// A string of at most `TEXT_LENGTH_MAX` bytes.
    Text,
    /// A longer one.
    LongText,
    /// A DATE.
    Date,
    /// A TIME.
    Time,
    /// A DATETIME.
    DateTime,
}

impl ValueKind {
    /// The kind of a value.
    #[must_use]
    pub fn of(value: &Value) -> ValueKind {
        match value {
            Value::Null => ValueKind::Null,
            Value::Int(_) => ValueKind::Int,
            Value::UInt(_) => ValueKind::UInt,
            Value::Float(_) | Value::Double(_) => ValueKind::Double,
            Value::Decimal(number) => ValueKind::Decimal(number.scale().clamp(0, 30) as u8),
            Value::Bytes(text) if text.len() <= TEXT_LENGTH_MAX as usize => ValueKind::Text,
            Value::Bytes(_) => ValueKind::LongText,
            Value::Member(member) => ValueKind::of(&member.text),
            // Variables and parameters hold its text.
            Value::Json(_) => ValueKind::LongText,
            Value::Date(_) => ValueKind::Date,
            Value::Time(_) => ValueKind::Time,
            Value::DateTime(_) => ValueKind::DateTime,
        }
    }
    /// Appends what tells it from other kinds.
    pub fn mark(self, key: &mut Vec<u8>) {
        let letter = match self {
            ValueKind::Null => b'n',
            ValueKind::Int => b'i',
            ValueKind::UInt => b'u',
            ValueKind::Double => b'f',
            ValueKind::Decimal(_) => b'd',
            ValueKind::Text => b's',
            ValueKind::LongText => b'l',
            ValueKind::Date => b'D',
            ValueKind::Time => b'T',
            ValueKind::DateTime => b'M',
        };
        key.push(letter);
        if let ValueKind::Decimal(scale) = self {
            key.push(b'0' + scale);
        }
    }
    /// Whether a plan for this kind serves a value of kind `other`, too.
    #[must_use]
    pub fn takes(self, other: ValueKind) -> bool {
        self == other || other == ValueKind::Null
    }
}
