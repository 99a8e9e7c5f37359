//! The keys of rows and of their entries in indexes.

use super::TxnError;
use crate::types::{Index, Table, key};
use smallvec::SmallVec;

/// An entry of one row in one index.
pub(super) struct Entry {
    /// Its key: the index's parts, then the row's key.
    pub key: Vec<u8>,
    /// How many bytes the parts take.
    pub parts: usize,
    /// Whether entries with the same parts are refused.
    pub unique: bool,
}

/// The entries of one row in one index, ascending: one, or, in a multi-valued index, any number.
pub(super) type Entries = SmallVec<[Entry; 1]>;

impl Entry {
    /// Derives all that a row has in an index from its image.
    pub fn derive(
        table: &Table,
        index: &Index,
        image: &[u8],
        row_key: &[u8],
    ) -> Result<Entries, TxnError> {
        let found = key::entries_of_row(table, index, image).map_err(|_| malformed(table))?;
        let entry = |key::EntryParts { mut key, has_null }| {
            let parts = key.len();
            key.extend_from_slice(row_key);
            Entry {
                key,
                parts,
                unique: index.unique && !has_null,
            }
        };
        Ok(found.into_iter().map(entry).collect())
    }
    /// What its lock is named.
    pub fn name(&self) -> &[u8] {
        let length = if self.unique {
            self.parts
        } else {
            self.key.len()
        };
        self.key.get(..length).unwrap_or_default()
    }
}

pub(super) fn malformed(table: &Table) -> TxnError {
    TxnError::Corrupt(format!("a row that does not fit table {}", table.name))
}

/// The key of a row with this image; `None`: the table has no primary key.
pub(super) fn primary_key(table: &Table, image: &[u8]) -> Result<Option<Vec<u8>>, TxnError> {
    let Some(primary) = &table.primary else {
        return Ok(None);
    };
    let mut key = Vec::with_capacity(16);
    key::encode_index(table, primary, image, &mut key).map_err(|_| malformed(table))?;
    Ok(Some(key))
}

/// The hidden key of a row of a table without primary key.
pub(super) fn hidden_key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// The number in a hidden key; 0 if the table has a primary key.
pub(super) fn hidden_number(table: &Table, key: &[u8]) -> u64 {
    match (&table.primary, <[u8; 8]>::try_from(key)) {
        (None, Ok(bytes)) => u64::from_be_bytes(bytes),
        _ => 0,
    }
}

/// The first key after all that begin with `prefix`; `None`: there is none.
pub(super) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut next = prefix.get(..=last)?.to_vec();
    *next.last_mut()? += 1;
    Some(next)
}

/// Where the key of the row begins in an index entry's key.
pub(super) fn row_key_start(table: &Table, index: &Index, entry: &[u8]) -> Result<usize, TxnError> {
    key::parts_length(table, index, index.parts.len(), entry)
        .ok()
        .filter(|start| *start <= entry.len())
        .ok_or_else(|| damaged_entry(table, index))
}

pub(super) fn damaged_entry(table: &Table, index: &Index) -> TxnError {
    let (index, table) = (&index.name, &table.name);
    TxnError::Corrupt(format!("a damaged entry in index {index} of table {table}"))
}

/// Whether one of the parts of a unique index's key is NULL: then it is not unique.
pub(super) fn has_null(table: &Table, index: &Index, parts: &[u8]) -> bool {
    let mut start = 0;
    for (position, part) in index.parts.iter().enumerate() {
        let nullable = table
            .columns
            .get(usize::from(part.column))
            .is_none_or(|c| c.key_column().nullable);
        let marker = if part.desc { 0xff } else { 0 };
        if nullable && parts.get(start).is_none_or(|byte| *byte == marker) {
            return true;
        }
        match key::parts_length(table, index, position + 1, parts) {
            Ok(end) => start = end,
            Err(_) => return true,
        }
    }
    false
}
