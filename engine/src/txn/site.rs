//! What trees are made of in bulk, and where: the rows of a table as they are in a snapshot, and the Base.

use super::{TxnError, waiting::Lent};
use crate::{
    env::TemporaryFiles,
    store::base::{BaseItem, BaseRange, BaseSnapshot, BaseWrite},
    types::{Table, TreeId},
};

/// Memory for the chunks of a build that are being sorted, in bytes; tests have several chunks.
const CHUNKS_BYTES: usize = if cfg!(test) { 512 } else { 64 << 20 };

/// So much of it one chunk has, if there are so many: one for each tree and thread.
pub(super) fn chunk_bytes(chunks: usize) -> usize {
    // With less there are too many of them to be merged.
    const LEAST: usize = if cfg!(test) { 64 } else { 1 << 20 };
    (CHUNKS_BYTES / chunks.max(1)).max(LEAST)
}

/// Converts an old row image to a new one, or says why it cannot, as an opaque error for the
/// caller of `change_schema` to carry through `TxnError::Conversion`.
pub type RowConversion<'a> =
    dyn FnMut(Copying, &[u8], &mut Vec<u8>) -> Result<(), String> + Send + 'a;

/// Which row is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// One that is copied: it counts, and what is lost of it is told.
    New,
    /// One that was copied before, as it was or as it is now.
    Again,
}

/// How often KILL is looked for, in rows.
pub(super) const KILL_CHECK: u64 = if cfg!(test) { 16 } else { 1024 };

/// The Base that is built into.
pub(super) trait Site {
    /// Makes one durable change of it, which counts as a build.
    fn change(
        &self,
        change: &mut dyn FnMut(&mut BaseWrite<'_>) -> Result<(), TxnError>,
    ) -> Result<(), TxnError>;
    /// Where temporary files are made.
    fn temporary_files(&self) -> TemporaryFiles;
    /// Slots that nobody needs, each for a thread that helps.
    fn helpers(&self) -> Vec<Box<dyn Lent>>;
    /// Told that the rows are read, and so many sorted entries are to be written.
    fn merges(&self, entries: u64);
    /// Told that so many rows or entries are done. An error ends the building.
    fn check(&self, done: u64) -> Result<(), TxnError>;
}

/// The rows of a table, in order, from the Base.
pub(super) struct Rows<'a> {
    pub(super) site: &'a dyn Site,
    pub(super) snapshot: &'a BaseSnapshot,
    pub(super) tree: TreeId,
    range: BaseRange,
    item: Option<BaseItem>,
    count: u64,
}

impl<'a> Rows<'a> {
    /// All of a table's.
    pub fn of(
        table: &Table,
        snapshot: &'a BaseSnapshot,
        site: &'a dyn Site,
    ) -> Result<Rows<'a>, TxnError> {
        Ok(Rows {
            site,
            snapshot,
            tree: table.rows,
            range: snapshot.range(table.rows, &[], None)?,
            item: None,
            count: 0,
        })
    }
    /// The next one.
    pub fn next(&mut self) -> Result<Option<&BaseItem>, TxnError> {
        self.count += 1;
        if self.count.is_multiple_of(KILL_CHECK) {
            self.site.check(KILL_CHECK)?;
        }
        self.item = self.range.next(false)?;
        Ok(self.item.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_chunks_together_have_the_memory_of_one() {
        for chunks in 1..=8 {
            assert!(chunk_bytes(chunks) * chunks <= CHUNKS_BYTES);
        }
        assert!(chunk_bytes(0) > 0 && chunk_bytes(usize::MAX) > 0);
    }
}
