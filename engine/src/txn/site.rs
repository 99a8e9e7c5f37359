//! What trees are made of in bulk, and where: the rows of a table as they are in a snapshot, and the Base.

use super::{TxnError, waiting::Lent};
use crate::{
    env::{TemporaryError, TemporaryFile},
    store::base::{BaseItem, BaseRange, BaseSnapshot, BaseWrite},
    types::{Table, TreeId},
};

/// Memory for one tree's sorted chunk, in bytes; tests have several chunks.
pub(super) const CHUNK_BYTES: usize = if cfg!(test) { 512 } else { 64 << 20 };

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
    /// Makes a temporary file.
    fn temporary_file(&self) -> Result<TemporaryFile, TemporaryError>;
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
