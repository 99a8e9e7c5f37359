//! Inserting, updating and deleting rows, with their index entries.

use super::{
    LockMode, OnConflict, TxnError,
    entry::{Entry, hidden_key, hidden_number, primary_key},
    row_change::{EntryChange, Row, RowChange, TextChange},
    temporary::{TemporaryTable, check_room},
    transaction::Txn,
};
use crate::{invariant::broken, store::TreeKey, types::Table};
use std::{
    borrow::Cow,
    sync::{Arc, atomic::Ordering},
};

impl Txn {
    fn may_write(&self, table: &Table) -> Result<(), TxnError> {
        if self.options.read_only && !table.is_temporary() {
            return Err(TxnError::ReadOnly);
        }
        Ok(())
    }
    fn check_size(&self) -> Result<(), TxnError> {
        let limit = self.engine.max_transaction_bytes.load(Ordering::Relaxed);
        if self.writes.bytes(self.late.len()) as u64 > limit {
            return Err(TxnError::TooLarge);
        }
        self.note_changes();
        Ok(())
    }
    /// Inserts a row. On a duplicate nothing was written, and what stands in the way is locked in
    /// the mode `duplicates`: S keeps it there, X is for who goes on to change it, which is then
    /// looked up with `find_duplicate`.
    pub fn insert(
        &mut self,
        table: &Arc<Table>,
        image: &[u8],
        duplicates: LockMode,
    ) -> Result<(), TxnError> {
        self.may_write(table)?;
        let (used, table) = self.used(table)?;
        let key = match primary_key(&table, image)? {
            Some(key) => key,
            None => hidden_key(self.next_row_number(used)?),
        };
        let change = RowChange::Insert(Row::new(key, image));
        self.change_row(used, &table, &change, duplicates)
    }
    /// The hidden number of the next new row.
    fn next_row_number(&self, used: usize) -> Result<u64, TxnError> {
        let used = self.tables.get(used);
        let used = used.ok_or_else(|| broken("a table that is written is in use"))?;
        Ok(used.state.next_row.fetch_add(1, Ordering::Relaxed))
    }
    /// The key of the row that stands in the way of inserting `image`, locked X: for REPLACE and
    /// ON DUPLICATE KEY UPDATE.
    pub fn find_duplicate(
        &mut self,
        table: &Arc<Table>,
        image: &[u8],
        index: &str,
    ) -> Result<Option<Vec<u8>>, TxnError> {
        let mut value = Vec::new();
        if index == "PRIMARY" {
            let key = primary_key(table, image)?;
            let key = key.ok_or_else(|| broken("a duplicate is in an index of the table"))?;
            let row = TreeKey::new(table.rows, &key);
            self.lock(table.rows, &key, LockMode::Exclusive, OnConflict::Wait)?;
            return Ok(self.get_newest(&row, &mut value)?.then_some(key));
        }
        let index = table.indexes.iter().find(|other| other.name == index);
        let index = index.ok_or_else(|| broken("a duplicate is in an index of the table"))?;
        for entry in Entry::derive(table, index, image, &[])? {
            self.lock_entry(index, &entry)?;
            // Of several values only some may be there already.
            let Some(key) = self.unique_owner(table, index, entry.name())? else {
                continue;
            };
            self.lock(table.rows, &key, LockMode::Exclusive, OnConflict::Wait)?;
            let row = TreeKey::new(table.rows, &key);
            return Ok(self.get_newest(&row, &mut value)?.then_some(key));
        }
        Ok(None)
    }
    /// Replaces the row `before` (locked X by the caller's read) with `after`; the primary key
    /// may change. For a table without primary key `key` is the row's hidden key as scanned.
    pub fn update(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        before: &[u8],
        after: &[u8],
    ) -> Result<(), TxnError> {
        self.may_write(table)?;
        let (used, table) = self.used(table)?;
        let new_key = primary_key(&table, after)?;
        let new_key = new_key.map_or(Cow::Borrowed(key), Cow::Owned);
        let change = RowChange::Update(Row::new(key, before), Row::new(new_key, after));
        self.change_row(used, &table, &change, LockMode::Shared)
    }
    /// Deletes the row `before` (locked X by the caller's read).
    pub fn delete(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        before: &[u8],
    ) -> Result<(), TxnError> {
        self.may_write(table)?;
        let (used, table) = self.used(table)?;
        let change = RowChange::Delete(Row::new(key, before));
        self.change_row(used, &table, &change, LockMode::Shared)
    }
    /// Makes a change that was made before, and whose row number is known.
    pub(super) fn change_again(
        &mut self,
        table: &Table,
        change: &RowChange<Row<'_>>,
    ) -> Result<(), TxnError> {
        let (used, table) = self.used(table)?;
        self.change_row(used, &table, change, LockMode::Shared)
    }
    /// Makes a change of the table at a position, or nothing of it.
    fn change_row(
        &mut self,
        used: usize,
        table: &Table,
        change: &RowChange<Row<'_>>,
        duplicates: LockMode,
    ) -> Result<(), TxnError> {
        self.look_at_late(table, change)?;
        if let Some(row) = change.before() {
            self.lock(table.rows, &row.key, LockMode::Exclusive, OnConflict::Wait)?;
        }
        let claimed = self.claiming(duplicates, |txn| {
            txn.claim_change(table, change, duplicates)
        });
        if claimed.is_err() && change.before().is_none() {
            self.note_unlogged();
        }
        let entries = claimed?;
        let texts = change.texts(table)?;
        if let Some(row) = change.before() {
            self.note_newer(table, &row.key, Some(row.image))?;
        }
        if table.primary.is_some()
            && let Some(row) = change.arrives()
        {
            self.note_newer(table, &row.key, None)?;
        }
        if let Some(temporary) = self.temporary(table.rows).map(Arc::clone) {
            return self.put_temporary(&temporary, change, &entries);
        }
        let number = change.before().or(change.after());
        let number = number.map_or(0, |row| hidden_number(table, &row.key));
        let image: Option<Arc<[u8]>> = change.image().map(Arc::from);
        self.writes.change(used, change, image.clone(), number);
        let mut overlay = self.descriptor.overlay.lock();
        let writes = &mut self.writes;
        change.put_row(table, image, |tree, key, image| {
            writes.put(&mut overlay, TreeKey::new(tree, key), image);
        });
        let mut put = |tree, key: &[u8], value: Option<&[u8]>| {
            writes.put(&mut overlay, TreeKey::new(tree, key), value.map(Arc::from));
        };
        for entries in &entries {
            match self.late.has(entries.tree) {
                true => self.late.keep(entries),
                false => entries.put(&mut put),
            }
        }
        texts.iter().for_each(|text| text.put(&mut put));
        drop(overlay);
        self.writes.words += texts.iter().map(TextChange::bytes).sum::<usize>();
        self.check_size()
    }
    /// Makes a change of a temporary table.
    fn put_temporary(
        &mut self,
        temporary: &TemporaryTable,
        change: &RowChange<Row<'_>>,
        entries: &[EntryChange],
    ) -> Result<(), TxnError> {
        let writes = &mut self.writes;
        let mut put = |tree, key: &[u8], value: Option<&[u8]>| {
            let key = TreeKey::new(tree, key);
            writes.put_temporary(temporary, key, value.map(Arc::from));
        };
        change.put_row(&temporary.table, change.image(), &mut put);
        entries.iter().for_each(|entry| entry.put(&mut put));
        let limit = &self.engine.max_temporary_bytes;
        check_room(temporary, limit.load(Ordering::Relaxed))?;
        self.check_size()
    }
}
