//! Ordered keys: byte strings that compare as the values they were made of.
//!
//! The key of a row is its primary key's columns; the key of an index entry is the index's
//! columns followed by the key of its row. Each part describes its own end. A row has an entry in an
//! index, and in a multi-valued one as many as an array of its has values: see `array`.
//!
//! ```text
//! part        if the column is nullable: 00 for NULL (nothing follows), 01 for a value; then
//! integers    their width, big-endian, sign bit flipped if signed
//! FLOAT…      IEEE 754, big-endian; negative ones inverted, others with the sign bit set
//! DECIMAL     as in rows (see `decimal`)
//! BINARY(n)   its n bytes
//! strings     the collation's sort key, terminated (see `collation/sort_key.rs`)
//! DATE        3 bytes, big-endian: year << 9 | month << 5 | day
//! TIME…       as in rows (see `temporal`)
//! YEAR        as in rows
//! BIT         as in rows
//! ENUM, SET   their number, big-endian
//! descending  all bytes of the part inverted
//! ```

mod array;

pub use array::{EntryParts, element_value, entries_of_row};

use super::{
    collation::{Beginnings, trim_spaces},
    decimal,
    row::{self, Malformed},
    schema::{Column, ColumnType, Index, IndexPart, Table},
    temporal::{
        Date, fraction_bytes, pack_datetime, pack_time, pack_timestamp, unpack_datetime,
        unpack_time, unpack_timestamp,
    },
    value::{Decimal, Value},
};

const NULL: u8 = 0;
const NOT_NULL: u8 = 1;

/// Appends one part: a NULL marker, then the value in ordered form (descending parts inverted).
/// `value` is of the column's type.
pub fn encode_part(column: &Column, part: IndexPart, value: &Value, key: &mut Vec<u8>) {
    let start = key.len();
    if value.is_null() {
        key.push(NULL);
    } else {
        mark_value(column, key);
        match (column.ty, value) {
            (ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_), value) => {
                let bytes = if let Value::Bytes(bytes) = value {
                    bytes.as_slice()
                } else {
                    &[]
                };
                push_string(column, part, bytes, key);
            }
            _ => push_fixed(column, value, key),
        }
    }
    invert(part, key, start);
}

fn mark_value(column: &Column, key: &mut Vec<u8>) {
    if column.nullable {
        key.push(NOT_NULL);
    }
}

fn invert(part: IndexPart, key: &mut [u8], start: usize) {
    if part.desc {
        for byte in &mut key[start..] {
            *byte = !*byte;
        }
    }
}

/// Appends the beginning that the parts of all strings beginning with `text` share (ascending
/// string columns; for LIKE 'text%').
pub fn encode_prefix(column: &Column, part: IndexPart, text: &[u8], key: &mut Vec<u8>) {
    let start = key.len();
    mark_value(column, key);
    let text = indexed(column, part, text);
    if fixed_string(column, part).is_some() {
        key.extend_from_slice(text);
    } else {
        column.collation.sort_key_prefix(text, key);
    }
    invert(part, key, start);
}

/// What the parts begin with of strings that are equal to `text` or, if `going_on`, begin with it,
/// where a part has only their first characters. `None`: that is the part of `text`.
#[must_use]
pub fn beginnings(
    column: &Column,
    part: IndexPart,
    text: &[u8],
    going_on: bool,
) -> Option<Beginnings> {
    let characters = part.prefix?.into();
    let mut found = column.collation.beginnings(text, characters, going_on)?;
    for key in found.shorter.iter_mut().chain([&mut found.longest]) {
        let mut marked = Vec::with_capacity(key.len() + 1);
        mark_value(column, &mut marked);
        marked.append(key);
        invert(part, &mut marked, 0);
        *key = marked;
    }
    Some(found)
}

/// The beginning of a string that an index part covers.
fn indexed<'t>(column: &Column, part: IndexPart, text: &'t [u8]) -> &'t [u8] {
    match part.prefix {
        Some(count) => {
            let cut = &text[..column.collation.char_offset(text, usize::from(count))];
            match ends_without_spaces(column, part) {
                true => trim_spaces(cut),
                false => cut,
            }
        }
        None => text,
    }
}

/// Whether spaces at the end of the characters that a part covers are left out, where they count in
/// the collation. Then parts are not in the order of the strings: in that, a tab is before a space.
#[must_use]
pub fn ends_without_spaces(column: &Column, part: IndexPart) -> bool {
    let is_char = matches!(column.ty, ColumnType::Char(_));
    part.trimmed && is_char && !column.is_binary() && !column.collation.pads()
}

/// The length of a part of a BINARY(n) column.
fn fixed_string(column: &Column, part: IndexPart) -> Option<usize> {
    match column.ty {
        ColumnType::Char(length) if column.is_binary() => Some(usize::from(
            part.prefix.map_or(length, |prefix| prefix.min(length)),
        )),
        _ => None,
    }
}

fn push_string(column: &Column, part: IndexPart, text: &[u8], key: &mut Vec<u8>) {
    let text = indexed(column, part, text);
    if let Some(length) = fixed_string(column, part) {
        let end = key.len() + length;
        key.extend_from_slice(&text[..text.len().min(length)]);
        key.resize(end, 0);
    } else {
        column.collation.sort_key(text, key);
    }
}

fn push_fixed(column: &Column, value: &Value, key: &mut Vec<u8>) {
    match column.ty {
        ColumnType::TinyInt
        | ColumnType::SmallInt
        | ColumnType::MediumInt
        | ColumnType::Int
        | ColumnType::BigInt => {
            let width = column.ty.integer_bytes() as usize;
            let at = key.len();
            key.extend_from_slice(&row::integer(value).to_be_bytes()[8 - width..]);
            if !column.unsigned {
                key[at] ^= 0x80;
            }
        }
        ColumnType::Float => {
            // -0.0 equals 0.0, so it has the same key.
            let bits = (row::float(value) + 0.0).to_bits();
            let ordered = if bits >> 31 == 1 {
                !bits
            } else {
                bits | 1 << 31
            };
            key.extend_from_slice(&ordered.to_be_bytes());
        }
        ColumnType::Double => {
            let bits = (row::double(value) + 0.0).to_bits();
            let ordered = if bits >> 63 == 1 {
                !bits
            } else {
                bits | 1 << 63
            };
            key.extend_from_slice(&ordered.to_be_bytes());
        }
        ColumnType::Decimal { precision, scale } => match value {
            Value::Decimal(number) => decimal::encode(number, precision, scale, key),
            other => decimal::encode(&Decimal::from(row::integer(other)), precision, scale, key),
        },
        ColumnType::Date => {
            let date = row::date_of(value);
            let packed =
                u32::from(date.year) << 9 | u32::from(date.month) << 5 | u32::from(date.day);
            key.extend_from_slice(&packed.to_be_bytes()[1..]);
        }
        ColumnType::Time(fsp) => pack_time(row::time_of(value), fsp, key),
        ColumnType::DateTime(fsp) => pack_datetime(row::datetime_of(value), fsp, key),
        ColumnType::Timestamp(fsp) => pack_timestamp(row::datetime_of(value), fsp, key),
        ColumnType::Year => key.push(row::year_byte(value)),
        ColumnType::Bit(bits) => {
            let unused = 8 - row::bit_bytes(bits);
            key.extend_from_slice(&row::integer(value).to_be_bytes()[unused..]);
        }
        ColumnType::Enum(width) | ColumnType::Set(width) => {
            let unused = 8_usize.saturating_sub(width.into());
            key.extend_from_slice(&row::number(value).to_be_bytes()[unused..]);
        }
        // Handled by `push_string`; no key has a JSON.
        ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_) | ColumnType::Json => {}
    }
}

/// Appends the parts of `index`, which is not multi-valued, of the row with this image. Returns
/// whether any part is NULL.
pub fn encode_index(
    table: &Table,
    index: &Index,
    image: &[u8],
    key: &mut Vec<u8>,
) -> Result<bool, Malformed> {
    let positions = index.parts.iter().map(|part| part.column);
    let raw = row::raw_values(table, image, positions)?;
    let mut any_null = false;
    for (&part, bytes) in index.parts.iter().zip(&raw) {
        let column = &table.columns[usize::from(part.column)];
        match bytes {
            None => {
                any_null = true;
                encode_part(column, part, &Value::Null, key);
            }
            Some(bytes) => encode_raw(column, bytes, (column, part), key)?,
        }
    }
    Ok(any_null)
}

/// Appends the part of a value that a row image has in the column `from`.
fn encode_raw(
    from: &Column,
    bytes: &[u8],
    (to, part): (&Column, IndexPart),
    key: &mut Vec<u8>,
) -> Result<(), Malformed> {
    if !to.ty.is_string() {
        encode_part(to, part, &row::raw_value(from, bytes)?, key);
        return Ok(());
    }
    let start = key.len();
    mark_value(to, key);
    let text = from.collation.charset().decode(bytes);
    push_string(to, part, &text, key);
    invert(part, key, start);
    Ok(())
}

/// The first parts of a key of `index`, a part for each of `columns`: the values that a row of
/// another table, `from`, has in these. Columns of strings may be of other lengths, else types are
/// the same. `None`: one of the values is NULL.
pub fn encode_reference(
    (from, columns): (&Table, &[u16]),
    image: &[u8],
    (to, index): (&Table, &Index),
) -> Result<Option<Vec<u8>>, Malformed> {
    let raw = row::raw_values(from, image, columns.iter().copied())?;
    let mut key = Vec::with_capacity(16);
    for ((part, column), bytes) in index.parts.iter().zip(columns).zip(&raw) {
        let Some(bytes) = bytes else { return Ok(None) };
        let source = from.columns.get(usize::from(*column)).ok_or(Malformed)?;
        let target = to.columns.get(usize::from(part.column)).ok_or(Malformed)?;
        encode_raw(source, bytes, (target, *part), &mut key)?;
    }
    Ok(Some(key))
}

/// Whether rows with these images have the same bytes in the columns of `index`, and so the same
/// key.
pub fn same_columns(
    table: &Table,
    index: &Index,
    image: &[u8],
    other: &[u8],
) -> Result<bool, Malformed> {
    let positions = index.parts.iter().map(|part| part.column);
    let raw = row::raw_values(table, image, positions.clone())?;
    Ok(raw == row::raw_values(table, other, positions)?)
}

/// How many bytes the first `parts` parts of an index key take: behind the parts of the index come those of
/// the row's key.
pub fn parts_length(
    table: &Table,
    index: &Index,
    parts: usize,
    key: &[u8],
) -> Result<usize, Malformed> {
    let mut rest = key;
    for part in table.entry_parts(index).take(parts) {
        let column = table
            .columns
            .get(usize::from(part.column))
            .ok_or(Malformed)?;
        let length = part_length(column.key_column(), *part, rest).ok_or(Malformed)?;
        rest = rest.get(length..).ok_or(Malformed)?;
    }
    Ok(key.len() - rest.len())
}

/// The length of the part at the start of `key`.
#[must_use]
pub fn part_length(column: &Column, part: IndexPart, key: &[u8]) -> Option<usize> {
    let mask = mask(part);
    let marker = usize::from(column.nullable);
    if column.nullable && key.first()? ^ mask == NULL {
        return Some(1);
    }
    let value = key.get(marker..)?;
    let length = match column.ty {
        ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_) => {
            match fixed_string(column, part) {
                Some(length) => length,
                None => column.collation.sort_key_length(value, part.desc)?,
            }
        }
        ColumnType::Float => 4,
        ColumnType::Double => 8,
        ColumnType::Decimal { precision, scale } => decimal::length(precision, scale),
        ColumnType::Date => 3,
        ColumnType::Time(fsp) => 3 + fraction_bytes(fsp),
        ColumnType::DateTime(fsp) => 5 + fraction_bytes(fsp),
        ColumnType::Timestamp(fsp) => 4 + fraction_bytes(fsp),
        ColumnType::Year => 1,
        ColumnType::Enum(width) | ColumnType::Set(width) => width.into(),
        ColumnType::Bit(bits) => row::bit_bytes(bits),
        // No key has one.
        ColumnType::Json => 0,
        ColumnType::TinyInt
        | ColumnType::SmallInt
        | ColumnType::MediumInt
        | ColumnType::Int
        | ColumnType::BigInt => column.ty.integer_bytes() as usize,
    };
    (value.len() >= length).then_some(marker + length)
}

fn mask(part: IndexPart) -> u8 {
    if part.desc { 0xFF } else { 0 }
}

/// Whether `decode_part` gives the values of this part: whether a query that needs only index
/// columns can do without the row.
#[must_use]
pub fn is_decodable(column: &Column, part: IndexPart) -> bool {
    if column.ty.is_string() {
        part.prefix.is_none()
            && matches!(
                column.collation,
                super::Collation::Binary | super::Collation::Utf8mb40900Bin
            )
    } else {
        true
    }
}

/// The value of the part at the start of `key`, where the key holds it whole (see
/// `is_decodable`).
#[must_use]
pub fn decode_part(column: &Column, part: IndexPart, key: &[u8]) -> Option<Value> {
    let length = part_length(column, part, key)?;
    let bytes = key.get(..length)?;
    if column.nullable && bytes.first()? ^ mask(part) == NULL {
        return Some(Value::Null);
    }
    let bytes = &bytes[usize::from(column.nullable)..];
    if column.ty.is_string() {
        if !is_decodable(column, part) {
            return None;
        }
        return Some(Value::Bytes(match fixed_string(column, part) {
            Some(_) => bytes.iter().map(|byte| byte ^ mask(part)).collect(),
            None => column.collation.sort_key_text(bytes, part.desc)?,
        }));
    }
    if part.desc {
        let upright: smallvec::SmallVec<[u8; 32]> = bytes.iter().map(|byte| !byte).collect();
        decode_fixed(column, &upright)
    } else {
        decode_fixed(column, bytes)
    }
}

fn decode_fixed(column: &Column, bytes: &[u8]) -> Option<Value> {
    let number = || {
        bytes
            .iter()
            .fold(0_u64, |n, &byte| n << 8 | u64::from(byte))
    };
    Some(match column.ty {
        ColumnType::Float => {
            let ordered = number() as u32;
            let bits = if ordered >> 31 == 1 {
                ordered & !(1 << 31)
            } else {
                !ordered
            };
            Value::Float(f32::from_bits(bits))
        }
        ColumnType::Double => {
            let ordered = number();
            let bits = if ordered >> 63 == 1 {
                ordered & !(1 << 63)
            } else {
                !ordered
            };
            Value::Double(f64::from_bits(bits))
        }
        ColumnType::Decimal { precision, scale } => {
            Value::Decimal(decimal::decode(bytes, precision, scale)?)
        }
        ColumnType::Date => {
            let packed = number();
            Value::Date(Date {
                year: (packed >> 9) as u16,
                month: (packed >> 5 & 15) as u8,
                day: (packed & 31) as u8,
            })
        }
        ColumnType::Time(fsp) => Value::Time(unpack_time(bytes, fsp)?),
        ColumnType::DateTime(fsp) => Value::DateTime(unpack_datetime(bytes, fsp)?),
        ColumnType::Timestamp(fsp) => Value::DateTime(unpack_timestamp(bytes, fsp)?),
        ColumnType::Year => Value::UInt(row::year_of(*bytes.first()?)),
        ColumnType::Enum(_) | ColumnType::Set(_) => column.member(number())?,
        ColumnType::Bit(bits) => Value::UInt(row::bits_of(bits, bytes)?),
        ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_) | ColumnType::Json => {
            return None;
        }
        ColumnType::TinyInt
        | ColumnType::SmallInt
        | ColumnType::MediumInt
        | ColumnType::Int
        | ColumnType::BigInt
            if column.unsigned =>
        {
            Value::UInt(number())
        }
        ColumnType::TinyInt
        | ColumnType::SmallInt
        | ColumnType::MediumInt
        | ColumnType::Int
        | ColumnType::BigInt => {
            let unused = 64 - 8 * column.ty.integer_bytes();
            // The flipped sign bit back in its place, then the sign extended.
            let high = number() << unused ^ 1 << 63;
            Value::Int(high.cast_signed() >> unused)
        }
    })
}

#[cfg(test)]
pub(crate) mod tests;
