//! Index entries of a statement that inserts very many rows: they come when it ends, in order.
//!
//! Rows are inserted in the order of their primary key, as a rule, and so in no order of any other
//! index. In a map of millions each new entry then goes to a place that no cache has. That is done
//! twice, in the map of locks and in the transaction's own changes, and was two fifths of what a LOAD
//! DATA cost. Sorted, an entry comes next to the one before it.
//!
//! So a statement may say that it reads none of its own entries ([`Txn::delay_entries`]). Those of
//! indexes that are not unique are then kept, but for the first rows', whose maps are small enough for
//! the caches. They come sorted when the statement ends ([`Txn::settle_entries`]), when there are very
//! many, and when others want them.
//!
//! Others do: who locks a range of such an index waits for the X locks of others' entries in it, and
//! those of kept entries are not taken yet. So he says that he wants them, and waits a moment: they
//! come with the next row, and no more are kept, for that table has other users. If that row is long in
//! coming he locks the range all the same, and entries that come into it wait for him (see
//! `lock::keepers`). READ UNCOMMITTED finds kept entries when they have come.
//!
//! **Example.** A LOAD DATA of a million rows with an index on a random number. The first 4,096 entries
//! come one by one. The others, 48 bytes each, are kept, sorted in 0.2 s, and then come in 0.4 s,
//! where they had taken 1.9 s one by one.

use super::{
    OnConflict, TxnError,
    late::Delay,
    row_change::{Row, RowChange},
    transaction::Txn,
};
use crate::{store::TreeKey, types::Table};
use smallvec::SmallVec;
use std::sync::Arc;

/// So many entries are kept at most. Their sorting cannot be interrupted, and takes 0.2 s.
const KEPT_MAX: usize = 1 << 20;

/// So many entries are locked before they come.
const TOGETHER: usize = 256;

impl Txn {
    /// Lets the entries of rows that the statement inserts come when it ends, but for the first `rows`.
    /// It must read none of them itself, set no savepoint meanwhile, and end with `settle_entries` or
    /// `rollback_to`.
    pub fn delay_entries(&mut self, rows: usize) {
        if matches!(self.late.delay, Delay::Off) {
            self.late.delay = Delay::After(rows);
        }
    }
    /// Puts all entries in that are yet to come; no more come late.
    ///
    /// # Errors
    ///
    /// Those of waiting for locks: ranges in which they come may be locked.
    pub fn settle_entries(&mut self) -> Result<(), TxnError> {
        self.late.delay = Delay::Off;
        if self.late.trees.is_empty() {
            return Ok(());
        }
        let mut entries = std::mem::take(&mut self.late.entries);
        entries.sort_unstable();
        let settled = self.put_entries(&mut entries);
        self.drop_late();
        settled
    }
    fn put_entries(&mut self, entries: &mut Vec<TreeKey>) -> Result<(), TxnError> {
        let value: Arc<[u8]> = Arc::from([]);
        let mut entries = entries.drain(..).peekable();
        let mut locked = SmallVec::<[TreeKey; TOGETHER]>::new();
        while entries.peek().is_some() {
            for entry in entries.by_ref().take(TOGETHER) {
                let key = entry.key();
                self.lock_insert(entry.tree(), key, key, OnConflict::Wait)?;
                locked.push(entry);
            }
            let mut overlay = self.descriptor.overlay.lock();
            for entry in locked.drain(..) {
                let value = Some(Arc::clone(&value));
                self.writes.put(&mut overlay, entry, value);
            }
        }
        Ok(())
    }
    /// Forgets the entries that are yet to come, and tells those who wait for them; no more come late.
    pub(super) fn drop_late(&mut self) {
        self.late.delay = Delay::Off;
        self.late.entries.clear();
        for locks in self.late.trees.drain(..) {
            locks.release_entries(&self.descriptor);
        }
    }
    /// To be called before a change: whether its entries may come late, and what is due first.
    pub(super) fn look_at_late(
        &mut self,
        table: &Table,
        change: &RowChange<Row<'_>>,
    ) -> Result<(), TxnError> {
        match (&self.late.delay, change) {
            (Delay::Off, _) => Ok(()),
            (_, RowChange::Update(..) | RowChange::Delete(_)) => self.settle_entries(),
            (Delay::After(0), RowChange::Insert(_)) => {
                self.begin_delay(table);
                Ok(())
            }
            (Delay::After(rows), RowChange::Insert(_)) => {
                self.late.delay = Delay::After(rows - 1);
                Ok(())
            }
            (Delay::On, RowChange::Insert(_)) => {
                if self.late.are_awaited() {
                    return self.settle_entries();
                }
                if self.late.len() >= KEPT_MAX {
                    self.settle_entries()?;
                    self.begin_delay(table);
                }
                Ok(())
            }
        }
    }
    /// Says that it keeps the entries of all indexes that are not unique. One where others have range
    /// locks keeps its entries' order of coming.
    fn begin_delay(&mut self, table: &Table) {
        self.late.delay = Delay::Off;
        if table.is_temporary() {
            return;
        }
        for index in table.indexes.iter().filter(|index| !index.unique) {
            let locks = self.engine.locks.tree(index.tree);
            if locks.keep_entries(&self.descriptor) {
                self.late.trees.push(locks);
                self.late.delay = Delay::On;
            }
        }
    }
}
