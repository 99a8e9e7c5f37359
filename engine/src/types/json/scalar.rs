//! Values that have no parts: their bytes.

use super::kind;
use crate::types::{
    decimal,
    temporal::{Date, DateTime, SECOND, Time},
    value::Decimal,
};
use std::borrow::Cow;

/// A value without parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// null
    Null,
    /// true, false
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number that came without a sign.
    UInt(u64),
    /// A floating point number.
    Double(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// A DECIMAL.
    Decimal(Decimal),
    /// A DATE.
    Date(Date),
    /// A TIME.
    Time(Time),
    /// A DATETIME.
    DateTime(DateTime),
    /// A TIMESTAMP, as the session saw it whose value it is.
    Timestamp(DateTime),
    /// Bytes, with the number of their type in MySQL's protocol.
    Opaque(u8, Cow<'a, [u8]>),
}

/// The kinds of scalars, in the order in which they are sorted, beside arrays and objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScalarKind {
    /// null
    Null,
    /// Numbers of all types.
    Number,
    /// Texts.
    Text,
    /// true and false.
    Bool,
    /// Dates.
    Date,
    /// Times.
    Time,
    /// Dates with times.
    DateTime,
    /// Bytes of types that have no other kind.
    Opaque,
    /// Bits.
    Bit,
    /// Binary strings.
    Blob,
}

/// MySQL's numbers of types, as values of other types than JSON's are marked with.
const DECIMAL: u8 = 246;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const TIMESTAMP: u8 = 7;
/// The number of the type BIT.
pub const OPAQUE_BIT: u8 = 16;

impl<'a> Scalar<'a> {
    /// A text.
    #[must_use]
    pub fn text(text: &'a str) -> Scalar<'a> {
        Scalar::Text(Cow::Borrowed(text))
    }

    /// The same with its own memory.
    #[must_use]
    pub fn into_owned(self) -> Scalar<'static> {
        match self {
            Scalar::Null => Scalar::Null,
            Scalar::Bool(truth) => Scalar::Bool(truth),
            Scalar::Int(n) => Scalar::Int(n),
            Scalar::UInt(n) => Scalar::UInt(n),
            Scalar::Double(x) => Scalar::Double(x),
            Scalar::Text(text) => Scalar::Text(Cow::Owned(text.into_owned())),
            Scalar::Decimal(number) => Scalar::Decimal(number),
            Scalar::Date(date) => Scalar::Date(date),
            Scalar::Time(time) => Scalar::Time(time),
            Scalar::DateTime(moment) => Scalar::DateTime(moment),
            Scalar::Timestamp(moment) => Scalar::Timestamp(moment),
            Scalar::Opaque(ty, bytes) => Scalar::Opaque(ty, Cow::Owned(bytes.into_owned())),
        }
    }

    /// What it is compared as.
    #[must_use]
    pub fn kind(&self) -> ScalarKind {
        match self {
            Scalar::Null => ScalarKind::Null,
            Scalar::Bool(_) => ScalarKind::Bool,
            Scalar::Int(_) | Scalar::UInt(_) | Scalar::Double(_) | Scalar::Decimal(_) => {
                ScalarKind::Number
            }
            Scalar::Text(_) => ScalarKind::Text,
            Scalar::Date(_) => ScalarKind::Date,
            Scalar::Time(_) => ScalarKind::Time,
            Scalar::DateTime(_) | Scalar::Timestamp(_) => ScalarKind::DateTime,
            Scalar::Opaque(OPAQUE_BIT, _) => ScalarKind::Bit,
            // VARCHAR, the BLOBs, VAR_STRING and STRING
            Scalar::Opaque(15 | 249..=254, _) => ScalarKind::Blob,
            Scalar::Opaque(..) => ScalarKind::Opaque,
        }
    }

    /// Appends its bytes; the byte of its type.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> u8 {
        match self {
            Scalar::Null => literal(0, out),
            Scalar::Bool(truth) => literal(if *truth { 1 } else { 2 }, out),
            Scalar::Int(n) => write_int(*n, out),
            Scalar::UInt(n) => write_uint(*n, out),
            Scalar::Double(x) => {
                out.extend_from_slice(&x.to_le_bytes());
                kind::DOUBLE
            }
            Scalar::Text(text) => {
                put_length(text.len(), out);
                out.extend_from_slice(text.as_bytes());
                kind::TEXT
            }
            Scalar::Decimal(number) => {
                let (precision, scale) = digits(number);
                let mut bytes = vec![precision, scale];
                decimal::encode(number, precision, scale, &mut bytes);
                opaque(DECIMAL, &bytes, out)
            }
            Scalar::Date(date) => opaque(DATE, &pack(*date, 0).to_le_bytes(), out),
            Scalar::Time(time) => opaque(TIME, &pack_time(*time).to_le_bytes(), out),
            Scalar::DateTime(moment) | Scalar::Timestamp(moment) => {
                let packed = pack(moment.date, moment.micros);
                let ty = match self {
                    Scalar::Timestamp(_) => TIMESTAMP,
                    _ => DATETIME,
                };
                opaque(ty, &packed.to_le_bytes(), out)
            }
            Scalar::Opaque(ty, bytes) => opaque(*ty, bytes, out),
        }
    }

    /// The one of a type that begins `bytes`, and how many of them it takes; `None` if it is none.
    pub(super) fn read(ty: u8, bytes: &'a [u8]) -> Option<(Scalar<'a>, usize)> {
        Some(match ty {
            kind::LITERAL => match bytes.first()? {
                0 => (Scalar::Null, 1),
                1 => (Scalar::Bool(true), 1),
                2 => (Scalar::Bool(false), 1),
                _ => return None,
            },
            kind::INT16 => (Scalar::Int(i16::from_le_bytes(array(bytes)?).into()), 2),
            kind::UINT16 => (Scalar::UInt(u16::from_le_bytes(array(bytes)?).into()), 2),
            kind::INT32 => (Scalar::Int(i32::from_le_bytes(array(bytes)?).into()), 4),
            kind::UINT32 => (Scalar::UInt(u32::from_le_bytes(array(bytes)?).into()), 4),
            kind::INT64 => (Scalar::Int(i64::from_le_bytes(array(bytes)?)), 8),
            kind::UINT64 => (Scalar::UInt(u64::from_le_bytes(array(bytes)?)), 8),
            kind::DOUBLE => (Scalar::Double(f64::from_le_bytes(array(bytes)?)), 8),
            kind::TEXT => {
                let (length, start) = length(bytes)?;
                let text = bytes.get(start..start.checked_add(length)?)?;
                let text = std::str::from_utf8(text).ok()?;
                (Scalar::text(text), start + length)
            }
            kind::OPAQUE => {
                let (ty, rest) = bytes.split_first()?;
                let (length, start) = length(rest)?;
                let value = rest.get(start..start.checked_add(length)?)?;
                (read_opaque(*ty, value)?, 1 + start + length)
            }
            _ => return None,
        })
    }
}

/// Whether values of a type stand in their entry itself.
pub(super) fn is_inlined(ty: u8, large: bool) -> bool {
    match ty {
        kind::LITERAL | kind::INT16 | kind::UINT16 => true,
        kind::INT32 | kind::UINT32 => large,
        _ => false,
    }
}

fn array<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.first_chunk().copied()
}

fn literal(byte: u8, out: &mut Vec<u8>) -> u8 {
    out.push(byte);
    kind::LITERAL
}

fn write_int(n: i64, out: &mut Vec<u8>) -> u8 {
    if let Ok(n) = i16::try_from(n) {
        out.extend_from_slice(&n.to_le_bytes());
        kind::INT16
    } else if let Ok(n) = i32::try_from(n) {
        out.extend_from_slice(&n.to_le_bytes());
        kind::INT32
    } else {
        out.extend_from_slice(&n.to_le_bytes());
        kind::INT64
    }
}

fn write_uint(n: u64, out: &mut Vec<u8>) -> u8 {
    if let Ok(n) = u16::try_from(n) {
        out.extend_from_slice(&n.to_le_bytes());
        kind::UINT16
    } else if let Ok(n) = u32::try_from(n) {
        out.extend_from_slice(&n.to_le_bytes());
        kind::UINT32
    } else {
        out.extend_from_slice(&n.to_le_bytes());
        kind::UINT64
    }
}

fn opaque(ty: u8, bytes: &[u8], out: &mut Vec<u8>) -> u8 {
    out.push(ty);
    put_length(bytes.len(), out);
    out.extend_from_slice(bytes);
    kind::OPAQUE
}

/// Appends a length: 7 bits in a byte.
fn put_length(mut length: usize, out: &mut Vec<u8>) {
    while length > 0x7f {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// The length at the start of some bytes, and how many bytes it takes.
fn length(bytes: &[u8]) -> Option<(usize, usize)> {
    /// What takes more is beyond 32 bits.
    const BYTES_MAX: usize = 5;
    let mut length = 0_u64;
    for (i, byte) in bytes.iter().take(BYTES_MAX).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(length).ok()?, i + 1));
        }
    }
    None
}

/// The precision and the scale of a decimal, which has at most 65 digits.
fn digits(number: &Decimal) -> (u8, u8) {
    let scale = number.scale().clamp(0, 30) as u8;
    let all = u8::try_from(number.with_scale(scale.into()).digits()).unwrap_or(65);
    (all.max(scale).clamp(1, 65), scale)
}

fn read_opaque(ty: u8, value: &[u8]) -> Option<Scalar<'_>> {
    let packed = || value.try_into().ok().map(i64::from_le_bytes);
    Some(match ty {
        DECIMAL => {
            let [precision, scale, digits @ ..] = value else {
                return None;
            };
            let fits = (1..=65).contains(precision) && *scale <= 30 && scale <= precision;
            if !fits || digits.len() != decimal::length(*precision, *scale) {
                return None;
            }
            Scalar::Decimal(decimal::decode(digits, *precision, *scale)?)
        }
        DATE => Scalar::Date(unpack(packed()?)?.date),
        TIME => Scalar::Time(unpack_time(packed()?)?),
        DATETIME => Scalar::DateTime(unpack(packed()?)?),
        TIMESTAMP => Scalar::Timestamp(unpack(packed()?)?),
        ty => Scalar::Opaque(ty, Cow::Borrowed(value)),
    })
}

// A date and a time in 64 bits: 17 bits (year * 13 + month), 5 of the day, 5 of the hour (of a
// TIME 10), 6 each of the minute and second, 24 of the microseconds.

fn clock(micros: u64) -> u64 {
    const SECONDS: u64 = SECOND as u64;
    let seconds = micros / SECONDS;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    ((hour << 12 | minute << 6 | second) << 24) | (micros % SECONDS)
}

fn unpack_clock(packed: u64) -> Option<u64> {
    const SECONDS: u64 = SECOND as u64;
    let (micros, packed) = (packed & 0xff_ffff, packed >> 24);
    let (hour, minute, second) = (packed >> 12, packed >> 6 & 63, packed & 63);
    let fits = micros < SECONDS && minute < 60 && second < 60 && hour < 839;
    fits.then_some(((hour * 60 + minute) * 60 + second) * SECONDS + micros)
}

fn pack(date: Date, micros: u64) -> i64 {
    let months = u64::from(date.year) * 13 + u64::from(date.month);
    let days = months << 5 | u64::from(date.day);
    (days << 41 | clock(micros)).cast_signed()
}

fn unpack(packed: i64) -> Option<DateTime> {
    let packed = packed.cast_unsigned();
    let days = packed >> 41;
    let months = days >> 5;
    let date = Date {
        year: u16::try_from(months / 13)
            .ok()
            .filter(|year| *year <= 9999)?,
        month: (months % 13) as u8,
        day: (days & 31) as u8,
    };
    let micros = unpack_clock(packed & ((1 << 41) - 1))?;
    let is_time_of_day = micros < 24 * 3600 * SECOND as u64;
    is_time_of_day.then_some(DateTime { date, micros })
}

fn pack_time(time: Time) -> i64 {
    let packed = clock(time.micros.unsigned_abs()).cast_signed();
    if time.micros < 0 { -packed } else { packed }
}

fn unpack_time(packed: i64) -> Option<Time> {
    let micros = unpack_clock(packed.unsigned_abs())?.cast_signed();
    let micros = if packed < 0 { -micros } else { micros };
    Some(Time { micros })
}
