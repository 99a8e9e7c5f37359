//! What a `?` is taken for where it stands beside numbers.
//!
//! A statement is prepared before its parameters have values. So a `?` in a place of numbers is
//! taken for one like those beside it: an integer beside an integer, a DECIMAL with all digits that
//! there can be beside a DECIMAL (see `resolve::taken`). What is bound to it later becomes such a
//! number: a driver may send all numbers as texts, and as floating point `'0.01'` beside a DECIMAL
//! would cost digits. A value that does not fit (2.5 for an integer, or a floating point number for
//! a DECIMAL) has the statement prepared anew, and then the values decide: see `session::bound`.

use super::{EvalContext, ExprType, convert};
use crate::{error::SqlError, lexer::ValueKind};
use cohort_engine::types::{ColumnType, Decimal, Value};

/// The number that a parameter is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A BIGINT.
    Integer {
        /// Without a sign.
        unsigned: bool,
    },
    /// A DECIMAL of any digits.
    Decimal,
    /// A DOUBLE.
    Double,
    /// A number of rows, which is looked at when it is counted: LIMIT.
    Count,
}

impl Taken {
    /// What a parameter beside something of this type is taken for; `None`: for no number.
    #[must_use]
    pub fn beside(ty: &ExprType) -> Option<Taken> {
        Some(match ty.ty? {
            ColumnType::Year => return None,
            ColumnType::Bit(_) => Taken::Integer { unsigned: true },
            of if of.is_integer() => Taken::Integer {
                unsigned: ty.unsigned,
            },
            ColumnType::Decimal { .. } => Taken::Decimal,
            ColumnType::Double | ColumnType::Float => Taken::Double,
            _ => return None,
        })
    }

    /// What one is taken for that had a value of this kind when its statement was prepared.
    #[must_use]
    pub fn of_kind(kind: ValueKind) -> Option<Taken> {
        Some(match kind {
            ValueKind::Int => Taken::Integer { unsigned: false },
            ValueKind::UInt => Taken::Integer { unsigned: true },
            ValueKind::Decimal(_) => Taken::Decimal,
            ValueKind::Double => Taken::Double,
            ValueKind::Null
            | ValueKind::Text
            | ValueKind::LongText
            | ValueKind::Date
            | ValueKind::Time
            | ValueKind::DateTime => return None,
        })
    }

    /// The type of such a parameter.
    #[must_use]
    pub fn ty(self) -> ExprType {
        match self {
            Taken::Integer { unsigned } => ExprType::bigint(unsigned),
            Taken::Count => ExprType::bigint(true),
            Taken::Decimal => ExprType::decimal(65, 30),
            Taken::Double => ExprType::double(),
        }
        .or_null()
    }

    /// What a value becomes that is bound, if it does not stay as it is: a text that is a number
    /// becomes the integer, the decimal or the floating point number that it is, the first of these
    /// that can be.
    #[must_use]
    pub fn bind(self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Taken::Count, _) => None,
            (_, Value::Bytes(text)) => self.of_text(text),
            (Taken::Decimal, Value::Int(n)) => Some(Value::Decimal(Decimal::from(*n))),
            (Taken::Decimal, Value::UInt(n)) => Some(Value::Decimal(Decimal::from(*n))),
            (Taken::Double, Value::Int(n)) => Some(Value::Double(*n as f64)),
            (Taken::Double, Value::UInt(n)) => Some(Value::Double(*n as f64)),
            (Taken::Double, Value::Decimal(n)) => Some(Value::Double(n.to_f64())),
            _ => None,
        }
    }

    fn of_text(self, text: &[u8]) -> Option<Value> {
        let exact = convert::text_to_decimal(text);
        if exact.garbage {
            return None;
        }
        if let Taken::Integer { unsigned } = self
            && let Some(n) = whole(text)
        {
            // As in MySQL, a negative integer is a decimal.
            return Some(match (unsigned, i64::try_from(n)) {
                (true, _) => Value::UInt(n),
                (false, Ok(n)) => Value::Int(n),
                (false, Err(_)) => Value::Decimal(exact.number),
            });
        }
        if self != Taken::Double && !exact.overflow {
            return Some(Value::Decimal(exact.number));
        }
        let (x, garbage) = convert::text_prefix_f64(text);
        match self {
            _ if x.is_finite() && !garbage => Some(Value::Double(x)),
            // The largest number that there is.
            Taken::Integer { .. } => Some(Value::Decimal(exact.number)),
            Taken::Decimal | Taken::Double | Taken::Count => None,
        }
    }

    /// Whether a bound value can be computed with as this: otherwise the statement is to be
    /// prepared anew. Texts that are no number can; they are told when they are read.
    #[must_use]
    pub fn takes(self, bound: &Value) -> bool {
        match (self, bound) {
            (Taken::Count, _) | (_, Value::Null | Value::Bytes(_)) => true,
            (Taken::Integer { unsigned }, Value::Int(_)) => !unsigned,
            (Taken::Integer { unsigned }, Value::UInt(_)) => unsigned,
            (Taken::Decimal, Value::Decimal(_)) => true,
            (Taken::Double, Value::Double(_) | Value::Float(_)) => true,
            _ => false,
        }
    }
}

/// The digits of a text that is nothing but them, but for spaces around and a plus in front.
fn whole(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.trim_matches(' ');
    let digits = text.strip_prefix('+').unwrap_or(text);
    match digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => digits.parse().ok(),
        false => (text.strip_prefix('-')?.bytes().all(|byte| byte == b'0') && text.len() > 1)
            .then_some(0),
    }
}

/// A text that is bound to what is taken for a number of this type, and is none: the number that it
/// begins with, and a warning.
pub(super) fn number_of(
    text: &[u8],
    ty: &ExprType,
    context: &mut EvalContext<'_>,
) -> Option<Value> {
    let told = |kind: &str, context: &mut EvalContext<'_>| {
        let lost = SqlError::truncated_wrong_value(kind, convert::shown(text));
        context.warnings.warn(lost);
    };
    Some(match Taken::beside(ty)? {
        Taken::Integer { .. } => {
            told("INTEGER", context);
            convert::conform(
                convert::integer_prefix(text).number.into_value(),
                ty,
                context,
            )
        }
        Taken::Decimal => {
            told("DECIMAL", context);
            Value::Decimal(convert::text_to_decimal(text).number)
        }
        Taken::Count => return None,
        Taken::Double => {
            // As in MySQL, one of spaces only is told for the other two.
            if !text.trim_ascii().is_empty() {
                told("DOUBLE", context);
            }
            Value::Double(convert::text_prefix_f64(text).0)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_the_numbers_that_they_are() {
        let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let decimal = |digits: &str| Value::Decimal(digits.parse().expect("a number"));
        let signed = Taken::Integer { unsigned: false };
        let unsigned = Taken::Integer { unsigned: true };
        let cases = [
            (signed, "7", Value::Int(7)),
            (signed, " +7 ", Value::Int(7)),
            (signed, "-0", Value::Int(0)),
            (signed, "-5", decimal("-5")),
            (
                signed,
                "18446744073709551615",
                decimal("18446744073709551615"),
            ),
            (unsigned, "18446744073709551615", Value::UInt(u64::MAX)),
            (unsigned, "-5", decimal("-5")),
            (signed, "2.5", decimal("2.5")),
            (signed, "1e3", decimal("1000")),
            (Taken::Decimal, "7", decimal("7")),
            (Taken::Double, "7", Value::Double(7.0)),
            (Taken::Double, "1e300", Value::Double(1e300)),
            (signed, "", text("")),
            (signed, "-", text("-")),
            (signed, "7x", text("7x")),
            (Taken::Decimal, "x", text("x")),
            (Taken::Double, "1e400", text("1e400")),
        ];
        for (taken, given, expected) in cases {
            let given = text(given);
            let bound = taken.bind(&given).unwrap_or_else(|| given.clone());
            assert_eq!(bound, expected, "{taken:?} {given:?}");
        }
    }
}
