//! The TABLE_MAP event: the types of a table's columns as its rows events encode them, and what
//! tools want to know beyond that (binlog_row_metadata=FULL).

use super::{begin, finish, kind, lenenc};
use crate::types::{Column, ColumnType, IndexPart, Table};

/// MySQL's numbers of the column types in the binlog, with their metadata bytes.
fn column_type(column: &Column, metadata: &mut Vec<u8>) -> u8 {
    match column.ty {
        ColumnType::TinyInt => 1,
        ColumnType::SmallInt => 2,
        ColumnType::Int => 3,
        ColumnType::Float => {
            metadata.push(4);
            4
        }
        ColumnType::Double => {
            metadata.push(8);
            5
        }
        ColumnType::BigInt => 8,
        ColumnType::MediumInt => 9,
        ColumnType::Date => 10,
        ColumnType::Year => 13,
        ColumnType::VarChar(_) => {
            let bytes = column.max_bytes();
            metadata.extend_from_slice(&u16::try_from(bytes).unwrap_or(u16::MAX).to_le_bytes());
            15
        }
        ColumnType::Timestamp(digits) => {
            metadata.push(digits);
            17
        }
        ColumnType::DateTime(digits) => {
            metadata.push(digits);
            18
        }
        ColumnType::Time(digits) => {
            metadata.push(digits);
            19
        }
        ColumnType::Decimal { precision, scale } => {
            metadata.extend_from_slice(&[precision, scale]);
            246
        }
        ColumnType::Text(length_bytes) => {
            metadata.push(length_bytes);
            252
        }
        ColumnType::Char(_) => {
            // Two bits of the length hide, inverted, in the byte of the type.
            let bytes = column.max_bytes();
            let high = ((bytes & 0x300) >> 4) as u8;
            metadata.extend_from_slice(&[254 ^ high, (bytes & 0xff) as u8]);
            254
        }
    }
}

fn is_number(ty: ColumnType) -> bool {
    use ColumnType as T;
    matches!(
        ty,
        T::TinyInt | T::SmallInt | T::MediumInt | T::Int | T::BigInt | T::Year
    ) || matches!(ty, T::Float | T::Double | T::Decimal { .. })
}

/// Appends one bit per item, the first in the most significant bit.
fn bits_from_high(out: &mut Vec<u8>, bits: impl Iterator<Item = bool>) {
    for (i, bit) in bits.enumerate() {
        if i % 8 == 0 {
            out.push(0);
        }
        if let Some(last) = out.last_mut().filter(|_| bit) {
            *last |= 0x80 >> (i % 8);
        }
    }
}

/// Appends a field of optional metadata, if it has contents.
fn optional(out: &mut Vec<u8>, kind: u8, contents: &[u8]) {
    if !contents.is_empty() {
        out.push(kind);
        lenenc(out, contents.len() as u64);
        out.extend_from_slice(contents);
    }
}

/// The collations of the string columns: one and its exceptions, or one after another, whichever
/// is shorter.
fn collations(out: &mut Vec<u8>, table: &Table) {
    let strings = || table.columns.iter().filter(|c| c.ty.is_string());
    let Some(default) = strings()
        .map(|c| c.collation)
        .max_by_key(|&collation| strings().filter(|c| c.collation == collation).count())
    else {
        return;
    };
    let (mut exceptions, mut list) = (Vec::new(), Vec::new());
    lenenc(&mut exceptions, u64::from(default.id()));
    for (i, column) in strings().enumerate() {
        let id = u64::from(column.collation.id());
        lenenc(&mut list, id);
        if column.collation != default {
            lenenc(&mut exceptions, i as u64);
            lenenc(&mut exceptions, id);
        }
    }
    if exceptions.len() <= list.len() {
        optional(out, 2, &exceptions);
    } else {
        optional(out, 3, &list);
    }
}

fn primary_key(out: &mut Vec<u8>, parts: &[IndexPart]) {
    let mut contents = Vec::new();
    let with_prefixes = parts.iter().any(|part| part.prefix.is_some());
    for part in parts {
        lenenc(&mut contents, u64::from(part.column));
        if with_prefixes {
            lenenc(&mut contents, u64::from(part.prefix.unwrap_or(0)));
        }
    }
    optional(out, if with_prefixes { 9 } else { 8 }, &contents);
}

/// Appends the TABLE_MAP event of a table, which each statement that changes rows begins with.
pub(in crate::log) fn table_map(out: &mut Vec<u8>, table: &Table) {
    let event = table.map.get_or_compute(|| {
        let mut event = Vec::new();
        encode(&mut event, table);
        event
    });
    out.extend_from_slice(event);
}

fn encode(out: &mut Vec<u8>, table: &Table) {
    let start = begin(out, kind::TABLE_MAP, 0);
    out.extend_from_slice(&u64::from(table.id).to_le_bytes()[..6]);
    out.extend_from_slice(&1_u16.to_le_bytes()); // TM_BIT_LEN_EXACT_F
    for name in [&table.database, &table.name] {
        lenenc(out, name.len() as u64);
        out.extend_from_slice(name.as_bytes());
        out.push(0);
    }
    lenenc(out, table.columns.len() as u64);
    let mut metadata = Vec::with_capacity(2 * table.columns.len());
    for column in &table.columns {
        let number = column_type(column, &mut metadata);
        out.push(number);
    }
    lenenc(out, metadata.len() as u64);
    out.extend_from_slice(&metadata);
    for eight in table.columns.chunks(8) {
        let bits = eight.iter().enumerate();
        out.push(bits.fold(0, |byte, (i, c)| byte | u8::from(c.nullable) << i));
    }

    let mut contents = Vec::new();
    let numbers = table.columns.iter().filter(|c| is_number(c.ty));
    bits_from_high(
        &mut contents,
        numbers.map(|c| c.unsigned || c.ty == ColumnType::Year),
    );
    optional(out, 1, &contents);
    collations(out, table);
    contents.clear();
    for column in &table.columns {
        lenenc(&mut contents, column.name.len() as u64);
        contents.extend_from_slice(column.name.as_bytes());
    }
    optional(out, 4, &contents);
    if let Some(primary) = &table.primary {
        primary_key(out, &primary.parts);
    }
    contents.clear();
    bits_from_high(&mut contents, table.columns.iter().map(|_| true));
    optional(out, 12, &contents); // all columns are visible
    finish(out, start);
}
