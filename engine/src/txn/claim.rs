//! The places of new rows and index entries: what is locked there, and what stands there already.
//!
//! A place is locked X before it is looked at. If something stands there, an insert has only read
//! it: all it needs until its transaction ends is that it stays, which is a lock S. So two
//! transactions that meet the same duplicate do not wait for each other, and neither does one that
//! meets what another has read.
//!
//! What comes to nothing gives its places back, as nobody has seen anything there: an insert that
//! met a duplicate in its third index, a statement that failed, ROLLBACK TO a savepoint. (MySQL
//! has no lock there but the row, which is gone.)

use super::{
    LockMode, OnConflict, TxnError,
    entry::{Entry, row_key_start, successor},
    row_change::{EntryChange, Row, RowChange},
    transaction::Txn,
};
use crate::{
    Seq,
    store::{Batch, Cursor, Overlay, TreeKey, Window},
    types::{Index, Table, TreeId},
};

impl Txn {
    /// Claims places. After a duplicate none of them is kept, unless the caller goes on because of
    /// it: that the places before it were free has decided which row it changes.
    pub(super) fn claiming<T>(
        &mut self,
        duplicates: LockMode,
        claim: impl FnOnce(&mut Txn) -> Result<T, TxnError>,
    ) -> Result<T, TxnError> {
        let before = self.locks_held();
        let claimed = claim(self);
        if let (Err(TxnError::DuplicateKey { .. }), LockMode::Shared) = (&claimed, duplicates) {
            self.release_vacant(before);
        }
        claimed
    }
    /// Locks the place of a new row, which must be free.
    fn claim_row(
        &mut self,
        table: &Table,
        key: &[u8],
        duplicates: LockMode,
    ) -> Result<(), TxnError> {
        let row = TreeKey::new(table.rows, key);
        let mut value = Vec::new();
        let is_taken = |txn: &mut Txn| txn.get_newest(&row, &mut value);
        if self.claim(table.rows, key, key, duplicates, is_taken)? {
            return Err(TxnError::DuplicateKey {
                index: "PRIMARY".to_owned(),
            });
        }
        Ok(())
    }
    /// Locks the places that a row and its index entries leave or come to; where something unique
    /// comes to must be free. Returns what is to be changed in indexes.
    pub(super) fn claim_change(
        &mut self,
        table: &Table,
        change: &RowChange<Row<'_>>,
        duplicates: LockMode,
    ) -> Result<Vec<EntryChange>, TxnError> {
        if let Some(row) = change.arrives() {
            if table.primary.is_some() {
                self.claim_row(table, &row.key, duplicates)?;
            } else {
                self.lock_insert(table.rows, &row.key, &row.key, OnConflict::Wait)?;
            }
        }
        let replaced = change.before().map(|row| &*row.key);
        let mut entries = Vec::new();
        for index in &table.indexes {
            let Some(entry) = change.entries(table, index)? else {
                continue;
            };
            if self.late.has(index.tree) {
                entries.push(entry);
                continue;
            }
            for gone in &entry.gone {
                self.lock_gone(index, gone)?;
            }
            for come in &entry.come {
                self.claim_entry(table, index, come, replaced, duplicates)?;
            }
            entries.push(entry);
        }
        Ok(entries)
    }
    /// Others may not take a unique value before its removal is committed.
    fn lock_gone(&mut self, index: &Index, entry: &Entry) -> Result<(), TxnError> {
        if entry.unique {
            self.lock_entry(index, entry)?;
        }
        Ok(())
    }
    /// Locks the place of an index entry.
    pub(super) fn lock_entry(&mut self, index: &Index, entry: &Entry) -> Result<(), TxnError> {
        let (mode, conflict) = (LockMode::Exclusive, OnConflict::Wait);
        self.lock(index.tree, entry.name(), mode, conflict)?;
        Ok(())
    }
    /// Locks the place of an entry; in a unique index it must be free but for `replaced`, the key
    /// of the row that gives way.
    fn claim_entry(
        &mut self,
        table: &Table,
        index: &Index,
        entry: &Entry,
        replaced: Option<&[u8]>,
        duplicates: LockMode,
    ) -> Result<(), TxnError> {
        let is_taken = |txn: &mut Txn| {
            if !entry.unique {
                return Ok(false);
            }
            let owner = txn.unique_owner(table, index, entry.name())?;
            Ok(owner.is_some_and(|owner| replaced != Some(owner.as_slice())))
        };
        if self.claim(index.tree, entry.name(), &entry.key, duplicates, is_taken)? {
            return Err(TxnError::DuplicateKey {
                index: index.name.clone(),
            });
        }
        Ok(())
    }
    /// Locks `name` X for an entry at `position`. True: it is taken, and locked in the mode
    /// `duplicates`.
    fn claim(
        &mut self,
        tree: TreeId,
        name: &[u8],
        position: &[u8],
        duplicates: LockMode,
        mut is_taken: impl FnMut(&mut Txn) -> Result<bool, TxnError>,
    ) -> Result<bool, TxnError> {
        let before = self.locks_held();
        if !self.lock_insert(tree, name, position, OnConflict::Skip)? {
            // Others may only have read what stands there, or lock a range around it.
            if duplicates == LockMode::Shared
                && self.lock(tree, name, LockMode::Shared, OnConflict::Skip)?
            {
                if is_taken(self)? {
                    return Ok(true);
                }
                self.release_since(before);
            }
            self.lock_insert(tree, name, position, OnConflict::Wait)?;
        }
        let taken = is_taken(self)?;
        if taken && duplicates == LockMode::Shared {
            self.downgrade_since(before);
        }
        Ok(taken)
    }
    /// The key of the row that has these values in a unique index, as of now.
    pub(super) fn unique_owner(
        &mut self,
        table: &Table,
        index: &Index,
        parts: &[u8],
    ) -> Result<Option<Vec<u8>>, TxnError> {
        let window = Window::new(index.tree, parts, successor(parts).as_deref(), false);
        self.note_own_in(&window);
        let view = self.engine.views.load_full();
        let mut batch = Batch::default();
        let mut cursor = Cursor::new(view, Seq::MAX, window);
        let newest =
            self.with_overlay(index.tree, |overlay| cursor.next(overlay, &mut batch, 1))?;
        self.note_read(newest);
        if batch.is_empty() {
            return Ok(None);
        }
        let (key, _) = batch.get(0);
        let start = row_key_start(table, index, key)?;
        Ok(Some(key.get(start..).unwrap_or_default().to_vec()))
    }
    /// Whether nothing stands, or is about to stand or to go, at the place that a lock is named
    /// after. (What cannot be read is not vacant.)
    pub(super) fn is_vacant(&self, tree: TreeId, name: &[u8]) -> bool {
        let window = Window::new(tree, name, successor(name).as_deref(), false);
        let is_own = self.with_overlay(tree, |own| {
            let mut inside = own.range::<TreeKey, _>(&window.low..&window.high);
            inside.next().is_some()
        });
        if is_own {
            return false;
        }
        let mut found = Batch::default();
        let mut cursor = Cursor::new(self.engine.views.load_full(), Seq::MAX, window);
        let read = cursor.next(&Overlay::new(), &mut found, 1);
        read.is_ok() && found.is_empty()
    }
}
