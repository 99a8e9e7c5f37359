//! Ordered keys: byte strings that compare as the values they were made of.
//!
//! The key of a row is its primary key's columns; the key of an index entry is the index's
//! columns followed by the key of its row. Each part describes its own end.

use super::{
    row::Malformed,
    schema::{Column, Index, IndexPart, Table},
    value::Value,
};

/// Appends one part: a NULL marker, then the value in ordered form (descending parts inverted).
/// `value` is of the column's type.
pub fn encode_part(column: &Column, part: IndexPart, value: &Value, key: &mut Vec<u8>) {
    let _ = (column, part, value, key);
    unimplemented!()
}

/// Appends the parts of `index` of the row with this image. Returns whether any part is NULL.
pub fn encode_index(
    table: &Table,
    index: &Index,
    image: &[u8],
    key: &mut Vec<u8>,
) -> Result<bool, Malformed> {
    let _ = (table, index, image, key);
    unimplemented!()
}

/// How many bytes the first `parts` parts of an index key take: what follows the last part of an
/// entry is the key of its row.
pub fn parts_length(
    table: &Table,
    index: &Index,
    parts: usize,
    key: &[u8],
) -> Result<usize, Malformed> {
    let _ = (table, index, parts, key);
    unimplemented!()
}

/// The value of one part, where the key holds it whole (numbers, dates; not collated strings).
pub fn decode_part(column: &Column, part: IndexPart, key: &[u8]) -> Option<Value> {
    let _ = (column, part, key);
    unimplemented!()
}
