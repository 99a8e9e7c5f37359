//! The error of a row whose key another row has.

use crate::{error::SqlError, expr::text};
use cohort_engine::types::{Collation, Column, ColumnType, Index, Table, Value};

/// A byte of a BIT or of a binary string as errors show it.
fn put_visible(byte: u8, out: &mut Vec<u8>) {
    if (0x20..0x7F).contains(&byte) {
        out.push(byte);
    } else {
        out.extend_from_slice(format!("\\x{byte:02X}").as_bytes());
    }
}

/// 1062 with the values of the key.
pub(crate) fn duplicate_error(table: &Table, name: &str, row: &[Value]) -> SqlError {
    let entry = duplicate_entry(table, name, row);
    SqlError::duplicate_entry(entry, format_args!("{}.{name}", table.name))
}

/// The values of a row's key, as 1062 shows them: so many characters of them.
const DUPLICATE_MAX: usize = 64;

fn duplicate_entry(table: &Table, name: &str, row: &[Value]) -> String {
    let mut indexes = table.primary.iter().chain(&table.indexes);
    let index = indexes.find(|index| index.name == name);
    let entry = index.map_or_else(String::new, |index| key_text(table, index, row));
    entry.chars().take(DUPLICATE_MAX).collect()
}

/// The values of a row's key, as errors show them.
pub(super) fn key_text(table: &Table, index: &Index, row: &[Value]) -> String {
    let mut entry = Vec::new();
    for (i, part) in index.parts.iter().enumerate() {
        if i > 0 {
            entry.push(b'-');
        }
        let column = table.columns.get(usize::from(part.column));
        let decimals = match column.map(|c| c.ty) {
            Some(ColumnType::Time(d) | ColumnType::DateTime(d) | ColumnType::Timestamp(d)) => d,
            _ => 31,
        };
        let is_bit = matches!(column.map(|c| c.ty), Some(ColumnType::Bit(_)));
        match row.get(usize::from(part.column)) {
            None | Some(Value::Null) => entry.extend_from_slice(b"NULL"),
            Some(Value::Bytes(bytes)) => {
                let length = match (part.prefix, column) {
                    (Some(chars), Some(column)) => {
                        column.collation.char_offset(bytes, usize::from(chars))
                    }
                    _ => bytes.len(),
                };
                let mut bytes = bytes.get(..length).unwrap_or(bytes);
                match column {
                    Some(column) if column.collation == Collation::Binary => {
                        // A BINARY column's value is filled up with zeros.
                        while let (ColumnType::Char(_), [rest @ .., 0]) = (column.ty, bytes)
                            && !rest.is_empty()
                        {
                            bytes = rest;
                        }
                        bytes.iter().for_each(|byte| put_visible(*byte, &mut entry));
                    }
                    _ => entry.extend_from_slice(bytes),
                }
            }
            Some(Value::UInt(bits)) if is_bit => {
                let bytes = column.map_or(1, Column::value_bytes) as usize;
                for byte in bits.to_be_bytes().iter().skip(8 - bytes.min(8)) {
                    put_visible(*byte, &mut entry);
                }
            }
            Some(value) => text(value, decimals, &mut entry),
        }
    }
    String::from_utf8_lossy(&entry).into_owned()
}
