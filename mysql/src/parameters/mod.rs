//! What COM_STMT_EXECUTE carries: the binary protocol, inwards.
//!
//! ```text
//! u32 statement  u8 cursor flags  u32 iterations (1)
//! if the statement has parameters:
//!   bitmap of NULLs, one bit a parameter, least significant first
//!   u8 types follow?  then for each parameter u8 type, u8 flags (0x80: unsigned)
//!   the values that are neither NULL nor were sent as long data
//! ```
//!
//! The types are remembered from one execution to the next.

use super::{constants::column, packet::Cursor};
use cohort_engine::types::{Date, DateTime, Decimal, Time, Value};
use std::str::FromStr;

/// The bit of a parameter's flags that says UNSIGNED.
pub(super) const UNSIGNED: u8 = 0x80;

/// What the connection keeps of a prepared statement.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    /// How many `?` it has.
    pub parameters: u16,
    /// Type and flags of each, as bound last.
    types: Vec<(u8, u8)>,
    /// Parameters that were sent in pieces.
    long: Vec<(u16, Vec<u8>)>,
    /// The long data was more than it may be.
    too_long: bool,
}

/// The parameters could not be decoded.
#[derive(Debug, PartialEq, Eq)]
pub enum BadParameters {
    /// The packet does not have the form above (1210, or 1835 for the newer servers).
    Malformed,
    /// A long parameter exceeds max_allowed_packet.
    TooLong,
}

impl Statement {
    /// A statement with so many parameters.
    #[must_use]
    pub fn new(parameters: u16) -> Statement {
        Statement {
            parameters,
            ..Statement::default()
        }
    }

    /// COM_STMT_SEND_LONG_DATA: one more piece of a parameter. It has no reply: what is wrong
    /// with it is told at the next execution.
    pub fn add_long_data(&mut self, parameter: u16, piece: &[u8], max: usize) {
        if parameter >= self.parameters {
            return;
        }
        let total: usize = self.long.iter().map(|(_, data)| data.len()).sum();
        if total + piece.len() > max {
            self.too_long = true;
            return;
        }
        match self.long.iter_mut().find(|(p, _)| *p == parameter) {
            Some((_, data)) => data.extend_from_slice(piece),
            None => self.long.push((parameter, piece.to_vec())),
        }
    }

    /// COM_STMT_RESET, and the end of an execution: forgets long data.
    pub fn forget_long_data(&mut self) {
        self.long.clear();
        self.too_long = false;
    }

    /// Decodes what follows the statement's number, into `values`.
    pub fn decode(&mut self, payload: &[u8], values: &mut Vec<Value>) -> Result<(), BadParameters> {
        values.clear();
        if self.too_long {
            return Err(BadParameters::TooLong);
        }
        self.decode_all(Cursor(payload), values)
            .ok_or(BadParameters::Malformed)
    }

    fn decode_all(&mut self, mut cursor: Cursor<'_>, values: &mut Vec<Value>) -> Option<()> {
        cursor.take(5)?; // cursors are not supported: the flag asks, we need not obey
        if self.parameters == 0 {
            return Some(());
        }
        let count = usize::from(self.parameters);
        let nulls = cursor.take(count.div_ceil(8))?;
        if cursor.u8()? == 1 {
            let types = cursor.take(2 * count)?;
            self.types.clear();
            self.types
                .extend(types.chunks_exact(2).map(|t| (t[0], t[1])));
        }
        if self.types.len() != count {
            return None;
        }
        for (i, &(ty, flags)) in self.types.iter().enumerate() {
            let long = self.long.iter_mut().find(|(p, _)| usize::from(*p) == i);
            values.push(if let Some((_, data)) = long {
                Value::Bytes(std::mem::take(data))
            } else if nulls[i / 8] >> (i % 8) & 1 == 1 {
                Value::Null
            } else {
                value(&mut cursor, ty, flags & UNSIGNED != 0)?
            });
        }
        Some(())
    }
}

/// A value of this type; `None` if it is not whole, or the type is none.
pub(super) fn value(cursor: &mut Cursor<'_>, ty: u8, unsigned: bool) -> Option<Value> {
    Some(match ty {
        column::NULL => Value::Null,
        column::TINY => int(cursor.u8()?.into(), 8, unsigned),
        column::SHORT | column::YEAR => int(cursor.u16()?.into(), 16, unsigned),
        column::LONG | column::INT24 => int(cursor.u32()?.into(), 32, unsigned),
        column::LONGLONG => int(cursor.u64()?, 64, unsigned),
        column::FLOAT => Value::Float(f32::from_bits(cursor.u32()?)),
        column::DOUBLE => Value::Double(f64::from_bits(cursor.u64()?)),
        column::DECIMAL | column::NEWDECIMAL => decimal(cursor.string()?),
        column::DATE => match datetime(cursor)? {
            DateTime { date, micros: 0 } => Value::Date(date),
            moment => Value::DateTime(moment),
        },
        column::DATETIME | column::TIMESTAMP => Value::DateTime(datetime(cursor)?),
        column::TIME => Value::Time(time(cursor)?),
        column::VARCHAR | column::BIT | column::JSON..=column::STRING => {
            Value::Bytes(cursor.string()?.to_vec())
        }
        _ => return None,
    })
}

/// The low `bits` of `n` as a signed or unsigned number.
fn int(n: u64, bits: u32, unsigned: bool) -> Value {
    if unsigned {
        return Value::UInt(n);
    }
    let shift = 64 - bits;
    Value::Int((n << shift).cast_signed() >> shift)
}

/// The longest text that is taken for a number: longer ones, or ones with a huge exponent, stay
/// text, whose conversion the session bounds.
const DECIMAL_TEXT_MAX: usize = 100;

fn decimal(text: &[u8]) -> Value {
    let plain = text.len() <= DECIMAL_TEXT_MAX
        && text
            .iter()
            .all(|b| b.is_ascii_digit() || b"+-.".contains(b));
    let number = std::str::from_utf8(text).ok().filter(|_| plain);
    number
        .and_then(|t| Decimal::from_str(t).ok())
        .map_or_else(|| Value::Bytes(text.to_vec()), Value::Decimal)
}

/// A length (0, 4, 7 or 11), then year, month, day, hour, minute, second, microseconds, as far as
/// the length goes. What is out of range counts as zero, as MySQL has it.
fn datetime(cursor: &mut Cursor<'_>) -> Option<DateTime> {
    let length = usize::from(cursor.u8()?);
    let mut cursor = Cursor(cursor.take(length)?);
    if length == 0 {
        return Some(DateTime::default());
    }
    let date = Date {
        year: cursor.u16()?,
        month: cursor.u8()?,
        day: cursor.u8()?,
    };
    let micros = if length > 4 {
        clock(&mut cursor, length > 7)?
    } else {
        Some(0)
    };
    let in_range = date.year <= 9999 && date.month <= 12 && date.day <= 31;
    Some(match micros {
        Some(micros) if in_range => DateTime { date, micros },
        _ => DateTime::default(),
    })
}

/// A length (0, 8 or 12), then sign, days, hour, minute, second, microseconds.
fn time(cursor: &mut Cursor<'_>) -> Option<Time> {
    let length = usize::from(cursor.u8()?);
    let mut cursor = Cursor(cursor.take(length)?);
    if length == 0 {
        return Some(Time::default());
    }
    let negative = cursor.u8()? != 0;
    let days = cursor.u32()?;
    let Some(clock) = clock(&mut cursor, length > 8)? else {
        return Some(Time::default());
    };
    let micros = u64::from(days).saturating_mul(86_400_000_000);
    let max = cohort_engine::types::temporal::TIME_MAX;
    let micros = i64::try_from(micros.saturating_add(clock)).map_or(max, |m| m.min(max));
    Some(Time {
        micros: if negative { -micros } else { micros },
    })
}

/// Hour, minute, second and perhaps microseconds: `Some(None)` if one is out of range.
#[allow(clippy::option_option)]
fn clock(cursor: &mut Cursor<'_>, fraction: bool) -> Option<Option<u64>> {
    let (hour, minute, second) = (cursor.u8()?, cursor.u8()?, cursor.u8()?);
    let micros = if fraction { cursor.u32()? } else { 0 };
    let in_range = hour < 24 && minute < 60 && second < 60 && micros < 1_000_000;
    let seconds = u64::from(hour) * 3600 + u64::from(minute) * 60 + u64::from(second);
    Some(in_range.then_some(seconds * 1_000_000 + u64::from(micros)))
}

#[cfg(test)]
mod tests;
