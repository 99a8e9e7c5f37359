//! Row images in the log, which are without the columns that are hidden: as MySQL writes them.
//!
//! A table has such columns, its last ones, if it has indexes on expressions. The store keeps whole
//! images. The log has two parts of each: the image of the columns that have names, in a rows event,
//! and that of the hidden ones, in an internal record.

use super::{Malformed, is_null, split_columns};
use crate::types::schema::{Column, Table};
use std::borrow::Cow;

/// How many bytes the image at the start of `bytes` has in a rows event, which holds one after
/// another.
pub fn length(table: &Table, bytes: &[u8]) -> Result<usize, Malformed> {
    length_of(table.named_columns(), bytes)
}

fn length_of(columns: &[Column], bytes: &[u8]) -> Result<usize, Malformed> {
    let (nulls, mut reader) = split_columns(columns, bytes)?;
    for (position, column) in columns.iter().enumerate() {
        if !is_null(nulls, position) {
            reader.skip(column)?;
        }
    }
    Ok(bytes.len() - reader.bytes.len())
}

/// What a rows event has of an image; the rest is added to `hidden`.
pub fn cut<'i>(
    table: &Table,
    image: &'i [u8],
    hidden: &mut Vec<u8>,
) -> Result<Cow<'i, [u8]>, Malformed> {
    let (named, behind) = (table.named_columns().len(), table.hidden_columns().len());
    if behind == 0 {
        return Ok(Cow::Borrowed(image));
    }
    let (nulls, mut reader) = split_columns(&table.columns, image)?;
    let values = reader.bytes;
    for (position, column) in table.named_columns().iter().enumerate() {
        if !is_null(nulls, position) {
            reader.skip(column)?;
        }
    }
    let (values, rest) = values.split_at(values.len() - reader.bytes.len());
    let mut logged = bitmap(named, |position| is_null(nulls, position));
    logged.extend_from_slice(values);
    hidden.extend(bitmap(behind, |position| is_null(nulls, named + position)));
    hidden.extend_from_slice(rest);
    Ok(Cow::Owned(logged))
}

/// The whole image of which `logged` is what a rows event has. The rest is taken off the front of
/// `hidden`.
pub fn joined<'i>(
    table: &Table,
    logged: &'i [u8],
    hidden: &mut &[u8],
) -> Result<Cow<'i, [u8]>, Malformed> {
    let (named, behind) = (table.named_columns(), table.hidden_columns());
    if behind.is_empty() {
        return Ok(Cow::Borrowed(logged));
    }
    let length = length_of(behind, hidden)?;
    let (own, rest) = hidden.split_at_checked(length).ok_or(Malformed)?;
    *hidden = rest;
    let (nulls, values) = split_columns(named, logged)?;
    let (further_nulls, further) = split_columns(behind, own)?;
    let mut image = bitmap(table.columns.len(), |position| {
        match position.checked_sub(named.len()) {
            None => is_null(nulls, position),
            Some(position) => is_null(further_nulls, position),
        }
    });
    image.extend_from_slice(values.bytes);
    image.extend_from_slice(further.bytes);
    Ok(Cow::Owned(image))
}

/// The bitmap of so many columns.
pub(super) fn bitmap(columns: usize, is_null: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut bits = vec![0; columns.div_ceil(8)];
    for position in (0..columns).filter(|position| is_null(*position)) {
        if let Some(byte) = bits.get_mut(position / 8) {
            *byte |= 1 << (position % 8);
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{
        key::tests::table,
        row::{decode, encode},
        schema::{ColumnType, Visibility},
        value::Value,
    };

    /// Whole images are cut and joined again, whatever is NULL and wherever the bitmaps end.
    #[test]
    fn round_trip() {
        for named in 1..10_usize {
            for behind in 0..10_usize {
                let column = |position: usize| {
                    let mut column = Column::new(&format!("c{position}"), ColumnType::VarChar(9));
                    if position >= named {
                        column.visibility = Visibility::Hidden;
                    }
                    column
                };
                let table = table((0..named + behind).map(column).collect());
                let value = |position: usize, seed: usize| match (position + seed) % 3 {
                    0 => Value::Null,
                    _ => Value::Bytes(vec![b'a'; position]),
                };
                let (mut images, mut hidden, mut logged) = (Vec::new(), Vec::new(), Vec::new());
                for seed in 0..3 {
                    let row: Vec<Value> = (0..named + behind).map(|p| value(p, seed)).collect();
                    let mut image = Vec::new();
                    encode(&table, &row, &mut image);
                    logged.extend_from_slice(&cut(&table, &image, &mut hidden).unwrap());
                    images.push((image, row));
                }
                let (mut logged, mut hidden) = (logged.as_slice(), hidden.as_slice());
                for (image, row) in images {
                    let (own, rest) = logged.split_at(length(&table, logged).unwrap());
                    logged = rest;
                    let whole = joined(&table, own, &mut hidden).unwrap();
                    assert_eq!(*whole, *image);
                    assert_eq!(decode(&table, &whole).unwrap(), row);
                }
                assert!(logged.is_empty() && hidden.is_empty());
                if behind > 0 {
                    assert!(joined(&table, &[0xff, 0xff], &mut &[][..]).is_err());
                }
            }
        }
    }
}
