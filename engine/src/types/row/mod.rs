//! The row image: one byte form for rows in the store, in write sets and in the binlog.
//!
//! It is the image of a binlog rows event (v2): a bitmap of NULLs, one bit per column, least
//! significant first, then each non-NULL column in its binlog form:
//!
//! ```text
//! TINYINT … BIGINT       1, 2, 3, 4, 8 bytes, little-endian
//! FLOAT, DOUBLE          IEEE 754, little-endian
//! DECIMAL                see `decimal`
//! CHAR, BINARY           length in 1 byte (2 if the column can hold over 255), then the bytes
//!                        without trailing spaces (zero bytes for BINARY)
//! VARCHAR, VARBINARY     length in 1 byte (2 if the column can hold over 255), then the bytes
//! TEXT, BLOB             length in 1–4 bytes, by the type, then the bytes
//!                        (texts are in the character set of their column)
//! DATE                   3 bytes little-endian: year << 9 | month << 5 | day
//! TIME, DATETIME, TIMESTAMP   see `temporal`
//! YEAR                   1 byte: year - 1900, or 0
//! BIT                    its bits, big-endian, in as few bytes as hold them
//! ENUM                   the member's number, from 1, in 1 byte, or 2 if there are over 255
//! JSON                   length in 4 bytes, then the bytes: see `json`
//! SET                    a bit for each member, the first the least, in 1–4 or 8 bytes
//! ```

pub mod hidden;
mod kind;
pub mod partial;
mod reshape;

pub use kind::column_type;
pub use reshape::{Reshape, Source};

use super::{
    decimal,
    fulltext::WordsBuilder,
    json::{Json, Scalar},
    schema::{Column, ColumnType, FullText, Table},
    temporal::{
        Date, DateTime, Time, fraction_bytes, pack_datetime, pack_time, pack_timestamp,
        unpack_datetime, unpack_time, unpack_timestamp,
    },
    value::{Decimal, Value},
};
use smallvec::SmallVec;
use std::borrow::Cow;

/// An image that does not fit its table: damage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed;

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a row image does not fit its table")
    }
}

impl std::error::Error for Malformed {}

/// Writes the image of `values`, which are already of the columns' types (see `sql`'s
/// assignment conversion), to the end of `image`.
pub fn encode(table: &Table, values: &[Value], image: &mut Vec<u8>) {
    encode_columns(&table.columns, values, image);
}

fn encode_columns(columns: &[Column], values: &[Value], image: &mut Vec<u8>) {
    let bitmap = image.len();
    image.reserve(columns.len() + values.iter().map(room).sum::<usize>());
    image.resize(bitmap + columns.len().div_ceil(8), 0);
    for (position, column) in columns.iter().enumerate() {
        match values.get(position) {
            None | Some(Value::Null) => image[bitmap + position / 8] |= 1 << (position % 8),
            Some(value) => encode_value(column, value, image),
        }
    }
}

/// About as many bytes as a value takes, so that an image seldom grows while it is written.
fn room(value: &Value) -> usize {
    match value {
        Value::Bytes(bytes) => 2 + bytes.len(),
        Value::Json(json) => 4 + json.bytes().len(),
        _ => 8,
    }
}

/// Appends the binlog form of one value that is not NULL.
fn encode_value(column: &Column, value: &Value, image: &mut Vec<u8>) {
    match column.ty {
        ColumnType::TinyInt => image.push(integer(value) as u8),
        ColumnType::SmallInt => image.extend_from_slice(&integer(value).to_le_bytes()[..2]),
        ColumnType::MediumInt => image.extend_from_slice(&integer(value).to_le_bytes()[..3]),
        ColumnType::Int => image.extend_from_slice(&integer(value).to_le_bytes()[..4]),
        ColumnType::BigInt => image.extend_from_slice(&integer(value).to_le_bytes()),
        ColumnType::Float => image.extend_from_slice(&float(value).to_le_bytes()),
        ColumnType::Double => image.extend_from_slice(&double(value).to_le_bytes()),
        ColumnType::Decimal { precision, scale } => match value {
            Value::Decimal(number) => decimal::encode(number, precision, scale, image),
            other => decimal::encode(&Decimal::from(integer(other)), precision, scale, image),
        },
        ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_) => {
            let bytes = stored_bytes(column, value);
            let width = length_bytes(column);
            image.extend_from_slice(&(bytes.len() as u32).to_le_bytes()[..width]);
            image.extend_from_slice(&bytes);
        }
        ColumnType::Date => {
            let date = date_of(value);
            let packed =
                u32::from(date.year) << 9 | u32::from(date.month) << 5 | u32::from(date.day);
            image.extend_from_slice(&packed.to_le_bytes()[..3]);
        }
        ColumnType::Time(fsp) => pack_time(time_of(value), fsp, image),
        ColumnType::DateTime(fsp) => pack_datetime(datetime_of(value), fsp, image),
        ColumnType::Timestamp(fsp) => pack_timestamp(datetime_of(value), fsp, image),
        ColumnType::Year => image.push(year_byte(value)),
        ColumnType::Json => {
            let null = Json::scalar(&Scalar::Null);
            let json = match value {
                Value::Json(json) => json,
                _ => &null,
            };
            image.extend_from_slice(&(json.bytes().len() as u32).to_le_bytes());
            image.extend_from_slice(json.bytes());
        }
        ColumnType::Bit(bits) => {
            let unused = 8 - bit_bytes(bits);
            image.extend_from_slice(&integer(value).to_be_bytes()[unused..]);
        }
        ColumnType::Enum(width) | ColumnType::Set(width) => {
            image.extend_from_slice(&number(value).to_le_bytes()[..usize::from(width.min(8))]);
        }
    }
}

// Values of another type than the column's do not come here: assignment converts. Should one,
// it is stored as zero rather than taken for a reason to panic.

pub(super) fn integer(value: &Value) -> i64 {
    match *value {
        Value::Int(n) => n,
        Value::UInt(n) => n.cast_signed(),
        _ => 0,
    }
}

/// How many bytes so many bits take.
pub(super) fn bit_bytes(bits: u8) -> usize {
    usize::from(bits.div_ceil(8).min(8))
}

/// The number of a value of an ENUM or SET.
pub(super) fn number(value: &Value) -> u64 {
    match value {
        Value::Member(member) => member.number,
        _ => 0,
    }
}

pub(super) fn float(value: &Value) -> f32 {
    match *value {
        Value::Float(x) => x,
        _ => double(value) as f32,
    }
}

pub(super) fn double(value: &Value) -> f64 {
    match *value {
        Value::Double(x) => x,
        Value::Float(x) => f64::from(x),
        _ => integer(value) as f64,
    }
}

pub(super) fn date_of(value: &Value) -> Date {
    match *value {
        Value::Date(date) => date,
        Value::DateTime(moment) => moment.date,
        _ => Date::default(),
    }
}

pub(super) fn datetime_of(value: &Value) -> DateTime {
    match *value {
        Value::DateTime(moment) => moment,
        Value::Date(date) => date.at_midnight(),
        _ => DateTime::default(),
    }
}

pub(super) fn time_of(value: &Value) -> Time {
    match *value {
        Value::Time(time) => time,
        _ => Time::default(),
    }
}

pub(super) fn year_byte(value: &Value) -> u8 {
    u8::try_from(integer(value) - 1900).unwrap_or(0)
}

/// The bytes as stored: in the column's character set, CHAR without trailing spaces, BINARY
/// without trailing zero bytes, and nothing longer than the length prefix can say.
fn stored_bytes<'v>(column: &Column, value: &'v Value) -> Cow<'v, [u8]> {
    let Value::Bytes(bytes) = value else {
        return Cow::Borrowed(&[]);
    };
    let text = without_padding(column, bytes);
    let charset = column.collation.charset();
    let encoded = if charset.is_as_stored() {
        Cow::Borrowed(text)
    } else {
        charset.encode(text)
    };
    let most = column.max_bytes() as usize;
    match encoded {
        Cow::Owned(mut bytes) => {
            bytes.truncate(most);
            Cow::Owned(bytes)
        }
        Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(..most).unwrap_or(bytes)),
    }
}

fn without_padding<'v>(column: &Column, mut bytes: &'v [u8]) -> &'v [u8] {
    if let ColumnType::Char(_) = column.ty {
        let padding = if column.is_binary() { 0 } else { b' ' };
        while let [head @ .., last] = bytes
            && *last == padding
        {
            bytes = head;
        }
    }
    bytes
}

/// How many bytes the length prefix of a string column has.
fn length_bytes(column: &Column) -> usize {
    match column.ty {
        ColumnType::Text(width) => usize::from(width.clamp(1, 4)),
        ColumnType::Json => 4,
        _ => 1 + usize::from(column.max_bytes() > 255),
    }
}

/// The number that the bytes of a BIT are; `None` if it has more bits.
pub(super) fn bits_of(bits: u8, bytes: &[u8]) -> Option<u64> {
    let bytes = bytes.iter();
    let number = bytes.fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    (bits >= 64 || number >> bits == 0).then_some(number)
}

/// The number that some bytes are, the least one first.
fn little_endian(bytes: &[u8]) -> u64 {
    let digits = bytes.iter().rev();
    digits.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// What follows in an image that is being read.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.bytes.split_at_checked(length).ok_or(Malformed)?;
        self.bytes = rest;
        Ok(head)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.bytes.split_first_chunk().ok_or(Malformed)?;
        self.bytes = rest;
        Ok(*head)
    }
    /// The bytes of a string column, after its length prefix.
    fn string(&mut self, column: &Column) -> Result<&'a [u8], Malformed> {
        self.prefixed(length_bytes(column))
    }
    /// What follows a length in so many bytes.
    fn prefixed(&mut self, length_bytes: usize) -> Result<&'a [u8], Malformed> {
        let length = little_endian(self.take(length_bytes)?);
        self.take(usize::try_from(length).map_err(|_| Malformed)?)
    }
    fn skip(&mut self, column: &Column) -> Result<(), Malformed> {
        match fixed_length(column.ty) {
            Some(length) => self.take(length)?,
            None => self.string(column)?,
        };
        Ok(())
    }
    fn value(&mut self, column: &Column, into: &mut Value) -> Result<(), Malformed> {
        let number = |signed: i64, unsigned: u64| {
            if column.unsigned {
                Value::UInt(unsigned)
            } else {
                Value::Int(signed)
            }
        };
        *into = match column.ty {
            ColumnType::TinyInt => {
                let [byte] = self.array()?;
                number(byte.cast_signed().into(), byte.into())
            }
            ColumnType::SmallInt => {
                let n = u16::from_le_bytes(self.array()?);
                number(n.cast_signed().into(), n.into())
            }
            ColumnType::MediumInt => {
                let [a, b, c] = self.array()?;
                let high = u32::from_le_bytes([0, a, b, c]);
                number((high.cast_signed() >> 8).into(), (high >> 8).into())
            }
            ColumnType::Int => {
                let n = u32::from_le_bytes(self.array()?);
                number(n.cast_signed().into(), n.into())
            }
            ColumnType::BigInt => {
                let n = u64::from_le_bytes(self.array()?);
                number(n.cast_signed(), n)
            }
            ColumnType::Float => Value::Float(f32::from_le_bytes(self.array()?)),
            ColumnType::Double => Value::Double(f64::from_le_bytes(self.array()?)),
            ColumnType::Decimal { precision, scale } => {
                let bytes = self.take(decimal::length(precision, scale))?;
                let number = decimal::decode(bytes, precision, scale).ok_or(Malformed)?;
                Value::Decimal(number)
            }
            ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_) => {
                let bytes = self.string(column)?;
                return string_value(column, bytes, into);
            }
            ColumnType::Date => {
                let [a, b, c] = self.array()?;
                let packed = u32::from_le_bytes([a, b, c, 0]);
                let date = Date {
                    year: (packed >> 9) as u16,
                    month: (packed >> 5 & 15) as u8,
                    day: (packed & 31) as u8,
                };
                if date.year > 9999 || date.month > 12 {
                    return Err(Malformed);
                }
                Value::Date(date)
            }
            ColumnType::Time(fsp) => {
                let bytes = self.take(3 + fraction_bytes(fsp))?;
                Value::Time(unpack_time(bytes, fsp).ok_or(Malformed)?)
            }
            ColumnType::DateTime(fsp) => {
                let bytes = self.take(5 + fraction_bytes(fsp))?;
                Value::DateTime(unpack_datetime(bytes, fsp).ok_or(Malformed)?)
            }
            ColumnType::Timestamp(fsp) => {
                let bytes = self.take(4 + fraction_bytes(fsp))?;
                Value::DateTime(unpack_timestamp(bytes, fsp).ok_or(Malformed)?)
            }
            ColumnType::Year => {
                let [byte] = self.array()?;
                Value::UInt(year_of(byte))
            }
            ColumnType::Json => {
                let bytes = self.string(column)?;
                if let Value::Json(document) = into {
                    document.set_of_row(bytes);
                    return Ok(());
                }
                Value::Json(Json::of_row(bytes))
            }
            ColumnType::Bit(bits) => {
                let bytes = self.take(bit_bytes(bits))?;
                Value::UInt(bits_of(bits, bytes).ok_or(Malformed)?)
            }
            ColumnType::Enum(width) | ColumnType::Set(width) => {
                let bytes = self.take(usize::from(width))?;
                let number = little_endian(bytes);
                column.member(number).ok_or(Malformed)?
            }
        };
        Ok(())
    }
}

pub(super) fn year_of(byte: u8) -> u64 {
    if byte == 0 { 0 } else { 1900 + u64::from(byte) }
}

/// Puts a string into `into`, reusing the memory of the string that is there.
fn string_value(column: &Column, bytes: &[u8], into: &mut Value) -> Result<(), Malformed> {
    if bytes.len() > column.max_bytes() as usize {
        return Err(Malformed);
    }
    let bytes = column.collation.charset().decode(bytes);
    match &mut *into {
        Value::Bytes(buffer) => {
            buffer.clear();
            buffer.extend_from_slice(&bytes);
        }
        other => *other = Value::Bytes(bytes.into_owned()),
    }
    if let (ColumnType::Char(length), true, Value::Bytes(buffer)) =
        (column.ty, column.is_binary(), into)
    {
        buffer.resize(usize::from(length), 0);
    }
    Ok(())
}

/// The bytes of a value of the type, unless each value has its own length.
fn fixed_length(ty: ColumnType) -> Option<usize> {
    Some(match ty {
        ColumnType::TinyInt | ColumnType::Year => 1,
        ColumnType::SmallInt => 2,
        ColumnType::MediumInt | ColumnType::Date => 3,
        ColumnType::Int | ColumnType::Float => 4,
        ColumnType::BigInt | ColumnType::Double => 8,
        ColumnType::Decimal { precision, scale } => decimal::length(precision, scale),
        ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_) | ColumnType::Json => {
            return None;
        }
        ColumnType::Time(fsp) => 3 + fraction_bytes(fsp),
        ColumnType::DateTime(fsp) => 5 + fraction_bytes(fsp),
        ColumnType::Timestamp(fsp) => 4 + fraction_bytes(fsp),
        ColumnType::Enum(width) | ColumnType::Set(width) => usize::from(width),
        ColumnType::Bit(bits) => bit_bytes(bits),
    })
}

/// Splits an image into its bitmap of NULLs and what follows.
fn split<'a>(table: &Table, image: &'a [u8]) -> Result<(&'a [u8], Reader<'a>), Malformed> {
    split_columns(&table.columns, image)
}

fn split_columns<'a>(
    columns: &[Column],
    image: &'a [u8],
) -> Result<(&'a [u8], Reader<'a>), Malformed> {
    split_counted(columns.len(), image)
}

/// The same of an image of so many columns.
fn split_counted(columns: usize, image: &[u8]) -> Result<(&[u8], Reader<'_>), Malformed> {
    let (nulls, bytes) = image
        .split_at_checked(columns.div_ceil(8))
        .ok_or(Malformed)?;
    Ok((nulls, Reader { bytes }))
}

fn is_null(nulls: &[u8], position: usize) -> bool {
    nulls
        .get(position / 8)
        .is_some_and(|byte| byte >> (position % 8) & 1 == 1)
}

/// Reads all columns of an image.
pub fn decode(table: &Table, image: &[u8]) -> Result<Vec<Value>, Malformed> {
    let (nulls, mut reader) = split(table, image)?;
    let mut row = vec![Value::Null; table.columns.len()];
    for (position, (column, value)) in table.columns.iter().zip(&mut row).enumerate() {
        if !is_null(nulls, position) {
            reader.value(column, value)?;
        }
    }
    if reader.bytes.is_empty() {
        Ok(row)
    } else {
        Err(Malformed)
    }
}

/// Whether an image is one of this table in all its parts, for CHECK TABLE: documents are not looked
/// at when they are only read.
#[must_use]
pub fn is_sound(table: &Table, image: &[u8]) -> bool {
    let is_whole = |value: &Value| match value {
        Value::Json(document) => document.is_whole(),
        _ => true,
    };
    decode(table, image).is_ok_and(|row| row.iter().all(is_whole))
}

/// Reads the columns at the positions `wanted` (ascending) into `row[position]`, leaving the
/// others alone; the cheap way when a query needs few columns. Strings reuse the memory of what
/// was in the row before.
pub fn decode_some(
    table: &Table,
    image: &[u8],
    wanted: &[u16],
    row: &mut [Value],
) -> Result<(), Malformed> {
    let (nulls, mut reader) = split(table, image)?;
    let mut columns = table.columns.iter().enumerate();
    for &position in wanted {
        let position = usize::from(position);
        let into = row.get_mut(position).ok_or(Malformed)?;
        loop {
            let (at, column) = columns.next().ok_or(Malformed)?;
            if at < position {
                if !is_null(nulls, at) {
                    reader.skip(column)?;
                }
            } else {
                if is_null(nulls, at) {
                    *into = Value::Null;
                } else {
                    reader.value(column, into)?;
                }
                break;
            }
        }
    }
    Ok(())
}

/// The texts that a FULLTEXT index is on, of the row with this image; those that are NULL are left out.
pub fn texts(table: &Table, text: &FullText, image: &[u8]) -> Result<Vec<Vec<u8>>, Malformed> {
    let mut columns: Vec<u16> = text.index.parts.iter().map(|part| part.column).collect();
    columns.sort_unstable();
    let mut row = vec![Value::Null; table.columns.len()];
    decode_some(table, image, &columns, &mut row)?;
    let values = columns
        .iter()
        .map(|column| std::mem::take(&mut row[usize::from(*column)]));
    let texts = values.filter_map(|value| match value {
        Value::Bytes(text) => Some(Ok(text)),
        Value::Null => None,
        _ => Some(Err(Malformed)),
    });
    texts.collect()
}

/// The words that a FULLTEXT index has of the row with this image, and how often the row has each.
pub fn words(
    table: &Table,
    text: &FullText,
    image: &[u8],
    builder: &mut WordsBuilder,
) -> Result<(), Malformed> {
    let texts = texts(table, text, image)?;
    text.tokenizer(table).words(&texts, builder);
    Ok(())
}

/// The bytes of the values at `positions` in an image, without their length prefixes; `None` for
/// NULL. For making keys without decoding rows.
pub fn raw_values<'a>(
    table: &Table,
    image: &'a [u8],
    positions: impl Iterator<Item = u16> + Clone,
) -> Result<SmallVec<[Option<&'a [u8]>; 4]>, Malformed> {
    let (nulls, mut reader) = split(table, image)?;
    let mut raw: SmallVec<[Option<&[u8]>; 4]> = positions.clone().map(|_| None).collect();
    let last = positions
        .clone()
        .max()
        .map_or(0, |last| usize::from(last) + 1);
    if last > table.columns.len() {
        return Err(Malformed);
    }
    for (position, column) in table.columns[..last].iter().enumerate() {
        if is_null(nulls, position) {
            continue;
        }
        let bytes = match fixed_length(column.ty) {
            Some(length) => reader.take(length)?,
            None => reader.string(column)?,
        };
        for (wanted, into) in positions.clone().zip(&mut raw) {
            if usize::from(wanted) == position {
                *into = Some(bytes);
            }
        }
    }
    Ok(raw)
}

/// The value whose binlog form (without a string's length prefix) is `bytes`.
pub(super) fn raw_value(column: &Column, bytes: &[u8]) -> Result<Value, Malformed> {
    let mut value = Value::Null;
    if column.ty == ColumnType::Json {
        value = Value::Json(Json::of_row(bytes));
    } else if fixed_length(column.ty).is_some() {
        Reader { bytes }.value(column, &mut value)?;
    } else {
        string_value(column, bytes, &mut value)?;
    }
    Ok(value)
}

#[cfg(test)]
mod tests;
