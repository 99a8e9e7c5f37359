//! The row image: one byte form for rows in the store, in write sets and in the binlog.
//!
//! It is the image of a binlog rows event (v2): a bitmap of NULLs, one bit per column, least
//! significant first, then each non-NULL column in its binlog form.

use super::{schema::Table, value::Value};

/// Writes the image of `values`, which are already of the columns' types (see `sql`'s
/// assignment conversion), to the end of `image`.
pub fn encode(table: &Table, values: &[Value], image: &mut Vec<u8>) {
    let _ = (table, values, image);
    unimplemented!()
}

/// Reads all columns of an image.
pub fn decode(table: &Table, image: &[u8]) -> Result<Vec<Value>, Malformed> {
    let _ = (table, image);
    unimplemented!()
}

/// Reads the columns at the positions `wanted` (ascending) into `row[position]`, leaving the
/// others alone; the cheap way when a query needs few columns.
pub fn decode_some(
    table: &Table,
    image: &[u8],
    wanted: &[u16],
    row: &mut [Value],
) -> Result<(), Malformed> {
    let _ = (table, image, wanted, row);
    unimplemented!()
}

/// How many bytes the image at the start of `bytes` has (a rows event holds one after another).
pub fn length(table: &Table, bytes: &[u8]) -> Result<usize, Malformed> {
    let _ = (table, bytes);
    unimplemented!()
}

/// An image that does not fit its table: damage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed;
