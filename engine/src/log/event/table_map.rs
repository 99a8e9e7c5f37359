//! The TABLE_MAP event: the types of a table's columns as its rows events encode them, and what
//! tools want to know beyond that (binlog_row_metadata=FULL).

use super::{begin, finish, kind, lenenc};
use crate::types::{ColumnType, IndexPart, Table, row::column_type};

pub(super) fn is_number(ty: ColumnType) -> bool {
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

/// The collations of some columns: one and its exceptions (the first kind of field), or one after
/// another (the second), whichever is shorter.
fn collations(out: &mut Vec<u8>, table: &Table, kinds: [u8; 2], of: fn(ColumnType) -> bool) {
    let strings = || table.named_columns().iter().filter(|c| of(c.ty));
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
        optional(out, kinds[0], &exceptions);
    } else {
        optional(out, kinds[1], &list);
    }
}

/// The members of the columns of one type: how many, then each.
fn members(out: &mut Vec<u8>, table: &Table, kind: u8, of: fn(ColumnType) -> bool) {
    let mut contents = Vec::new();
    for column in table.named_columns().iter().filter(|c| of(c.ty)) {
        let texts = column.members.texts();
        lenenc(&mut contents, texts.len() as u64);
        for text in texts {
            let text = column.collation.charset().encode(text.as_bytes());
            lenenc(&mut contents, text.len() as u64);
            contents.extend_from_slice(&text);
        }
    }
    optional(out, kind, &contents);
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
    let columns = table.named_columns();
    let start = begin(out, kind::TABLE_MAP, 0);
    out.extend_from_slice(&u64::from(table.id).to_le_bytes()[..6]);
    out.extend_from_slice(&1_u16.to_le_bytes()); // TM_BIT_LEN_EXACT_F
    for name in [&table.database, &table.name] {
        lenenc(out, name.len() as u64);
        out.extend_from_slice(name.as_bytes());
        out.push(0);
    }
    lenenc(out, columns.len() as u64);
    let mut metadata = Vec::with_capacity(2 * columns.len());
    for column in columns {
        let number = column_type(column, &mut metadata);
        out.push(number);
    }
    lenenc(out, metadata.len() as u64);
    out.extend_from_slice(&metadata);
    for eight in columns.chunks(8) {
        let bits = eight.iter().enumerate();
        out.push(bits.fold(0, |byte, (i, c)| byte | u8::from(c.nullable) << i));
    }

    let mut contents = Vec::new();
    let numbers = columns.iter().filter(|c| is_number(c.ty));
    bits_from_high(
        &mut contents,
        numbers.map(|c| c.unsigned || c.ty == ColumnType::Year),
    );
    optional(out, 1, &contents);
    collations(out, table, [2, 3], ColumnType::is_string);
    contents.clear();
    for column in columns {
        lenenc(&mut contents, column.name.len() as u64);
        contents.extend_from_slice(column.name.as_bytes());
    }
    optional(out, 4, &contents);
    collations(out, table, [10, 11], ColumnType::has_members);
    members(out, table, 5, |ty| matches!(ty, ColumnType::Set(_)));
    members(out, table, 6, |ty| matches!(ty, ColumnType::Enum(_)));
    if let Some(primary) = &table.primary {
        primary_key(out, &primary.parts);
    }
    contents.clear();
    let visible = columns.iter().map(|c| c.visibility.is_visible());
    bits_from_high(&mut contents, visible);
    optional(out, 12, &contents);
    finish(out, start);
}
