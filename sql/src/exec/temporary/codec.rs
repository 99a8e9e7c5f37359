//! Rows as bytes, for temporary files and for rows in memory that shall take little: nobody else ever
//! reads them.
//!
//! A value is a byte that tells its kind and then its contents, numbers little endian, strings with
//! their length (u32) before them.

use bigdecimal::num_bigint::BigInt;
use cohort_engine::types::{
    Decimal, Json, Member, Value,
    temporal::{Date, DateTime, Time},
};
use std::sync::Arc;

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const DOUBLE: u8 = 4;
const DECIMAL: u8 = 5;
const BYTES: u8 = 6;
const DATE: u8 = 7;
const TIME: u8 = 8;
const DATETIME: u8 = 9;
const MEMBER: u8 = 10;
const JSON: u8 = 11;

/// Appends a row.
pub(in crate::exec) fn encode(row: &[Value], out: &mut Vec<u8>) {
    for value in row {
        match value {
            Value::Null => out.push(NULL),
            Value::Int(n) => put(INT, &n.to_le_bytes(), out),
            Value::UInt(n) => put(UINT, &n.to_le_bytes(), out),
            Value::Float(x) => put(FLOAT, &x.to_le_bytes(), out),
            Value::Double(x) => put(DOUBLE, &x.to_le_bytes(), out),
            Value::Decimal(number) => {
                let (digits, scale) = number.to_digits();
                put(DECIMAL, &scale.to_le_bytes(), out);
                put_bytes(&digits.to_signed_bytes_le(), out);
            }
            Value::Bytes(bytes) => {
                out.push(BYTES);
                put_bytes(bytes, out);
            }
            Value::Date(date) => {
                out.push(DATE);
                put_date(*date, out);
            }
            Value::Time(time) => put(TIME, &time.micros.to_le_bytes(), out),
            Value::DateTime(at) => {
                out.push(DATETIME);
                put_date(at.date, out);
                out.extend_from_slice(&at.micros.to_le_bytes());
            }
            Value::Member(member) => {
                put(MEMBER, &member.number.to_le_bytes(), out);
                put_bytes(member.bytes(), out);
            }
            Value::Json(json) => {
                out.push(JSON);
                put_bytes(json.bytes(), out);
            }
        }
    }
}

fn put(kind: u8, contents: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(contents);
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    // A value is at most as long as a packet: 1 GiB.
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_date(date: Date, out: &mut Vec<u8>) {
    out.extend_from_slice(&date.year.to_le_bytes());
    out.extend_from_slice(&[date.month, date.day]);
}

/// Reads a row; `None`: these are not the bytes that `encode` made.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<Value>> {
    let mut row = Vec::new();
    decode_into(bytes, &mut row).map(|()| row)
}

/// The same, in place of what is in `row`.
pub(in crate::exec) fn decode_into(mut bytes: &[u8], row: &mut Vec<Value>) -> Option<()> {
    row.clear();
    while let Some((kind, rest)) = bytes.split_first() {
        bytes = rest;
        row.push(match *kind {
            NULL => Value::Null,
            INT => Value::Int(i64::from_le_bytes(take(&mut bytes)?)),
            UINT => Value::UInt(u64::from_le_bytes(take(&mut bytes)?)),
            FLOAT => Value::Float(f32::from_le_bytes(take(&mut bytes)?)),
            DOUBLE => Value::Double(f64::from_le_bytes(take(&mut bytes)?)),
            DECIMAL => {
                let scale = i64::from_le_bytes(take(&mut bytes)?);
                let digits = BigInt::from_signed_bytes_le(take_bytes(&mut bytes)?);
                Value::Decimal(Decimal::new(digits, scale))
            }
            BYTES => Value::Bytes(take_bytes(&mut bytes)?.to_vec()),
            DATE => Value::Date(take_date(&mut bytes)?),
            TIME => Value::Time(Time {
                micros: i64::from_le_bytes(take(&mut bytes)?),
            }),
            DATETIME => Value::DateTime(DateTime {
                date: take_date(&mut bytes)?,
                micros: u64::from_le_bytes(take(&mut bytes)?),
            }),
            MEMBER => {
                let number = u64::from_le_bytes(take(&mut bytes)?);
                let text = Value::Bytes(take_bytes(&mut bytes)?.to_vec());
                Value::Member(Arc::new(Member { number, text }))
            }
            JSON => Value::Json(Json::from_bytes(take_bytes(&mut bytes)?)?),
            _ => return None,
        });
    }
    Some(())
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

fn take_bytes<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = u32::from_le_bytes(take(bytes)?);
    let (taken, rest) = bytes.split_at_checked(length as usize)?;
    *bytes = rest;
    Some(taken)
}

fn take_date(bytes: &mut &[u8]) -> Option<Date> {
    let year = u16::from_le_bytes(take(bytes)?);
    let [month, day] = take(bytes)?;
    Some(Date { year, month, day })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_engine::types::json::Scalar;
    use std::str::FromStr;

    #[test]
    fn rows_come_back() {
        let date = Date {
            year: 2024,
            month: 2,
            day: 29,
        };
        let decimal = |text| Value::Decimal(Decimal::from_str(text).unwrap());
        let row = vec![
            Value::Null,
            Value::Int(i64::MIN),
            Value::UInt(u64::MAX),
            Value::Float(-0.5),
            Value::Double(1e300),
            decimal("-12345678901234567890123456789.000"),
            decimal("0.00"),
            Value::Bytes(Vec::new()),
            Value::Bytes(b"\0\xFFtext".to_vec()),
            Value::Date(date),
            Value::Time(Time { micros: -1 }),
            Value::DateTime(DateTime {
                date,
                micros: 86_399_999_999,
            }),
            Value::Member(Arc::new(Member {
                number: 5,
                text: Value::Bytes(b"a,c".to_vec()),
            })),
            Value::Json(Json::scalar(&Scalar::text("x"))),
        ];
        let mut bytes = Vec::new();
        encode(&row, &mut bytes);
        let back = decode(&bytes).unwrap();
        assert_eq!(format!("{back:?}"), format!("{row:?}"));
        for end in 0..bytes.len() {
            // Whatever was cut off, it is noticed or leaves fewer values, and nothing panics.
            assert!(decode(&bytes[..end]).is_none_or(|row| row.len() < back.len()));
        }
    }
}
