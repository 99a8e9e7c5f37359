//! A bound on what a statement may keep in memory for sorting, grouping and hashing. Sorting,
//! grouping, DISTINCT and the rows of computed tables go to temporary files before they reach it.

use super::{ExecContext, Stop};
use crate::error::SqlError;
use cohort_engine::types::Value;

/// Bytes that one sort, hash table or materialised subquery may take.
const BYTES_MAX: usize = 512 << 20;

/// What the rows of a computed table, or of one that is looked up by hash, may take in memory before they go
/// to a temporary file: they are read more than once, and so may take more than what is sorted. All threads of
/// a statement have them in common.
pub(super) fn of_table(context: &ExecContext) -> usize {
    times(context.table_bytes)
}

/// What groups may take, of each thread: several threads have many groups in common, and who has no room for
/// all reads alone.
pub(super) fn of_groups(context: &ExecContext) -> usize {
    context.table_bytes
}

/// What the values that aggregates have seen may take, of each thread.
pub(super) fn of_values(context: &ExecContext) -> usize {
    times(context.memory_bytes)
}

fn times(bytes: usize) -> usize {
    const TIMES: usize = 16;
    bytes.saturating_mul(TIMES).min(BYTES_MAX / 2)
}

/// What the keys of a hash table may take in memory before they go to a temporary file: they are looked up
/// in any order, which is what memory is best for.
pub(super) fn of_keys(context: &ExecContext) -> usize {
    of_table(context) / 2 * 3
}

/// What is kept so far.
#[derive(Debug, Default)]
pub(super) struct Memory {
    bytes: usize,
}

impl Memory {
    /// Accounts for some bytes; 1038 if they are too many.
    pub fn take(&mut self, bytes: usize) -> Result<(), Stop> {
        self.bytes += bytes;
        if self.bytes > BYTES_MAX {
            return Err(SqlError::out_of_sort_memory().into());
        }
        Ok(())
    }
    /// Accounts for some bytes, of what goes elsewhere before they are too many.
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
    }
    /// How many bytes that is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
    /// Whether there is more than so many bytes.
    pub fn is_beyond(&self, bytes: usize) -> bool {
        self.bytes > bytes
    }
    /// Accounts for a row.
    pub fn take_row(&mut self, row: &[Value]) -> Result<(), Stop> {
        self.take(size(row))
    }
    /// Some bytes are given back.
    pub fn give(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// About how many bytes a row takes.
pub(crate) fn size(row: &[Value]) -> usize {
    let beside: usize = row
        .iter()
        .map(|value| match value {
            Value::Bytes(bytes) => bytes.capacity() + 16,
            Value::Json(json) => json.bytes().len() + 32,
            // Shared with the definition, or of a few members.
            Value::Member(_) => 16,
            Value::Null
            | Value::Int(_)
            | Value::UInt(_)
            | Value::Float(_)
            | Value::Double(_)
            // One of more than 128 bits is rare.
            | Value::Decimal(_)
            | Value::Date(_)
            | Value::Time(_)
            | Value::DateTime(_) => 0,
        })
        .sum();
    size_of_val(row) + 48 + beside
}
