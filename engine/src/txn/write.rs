//! Inserting, updating and deleting rows, with their index entries.

use super::{
    LockMode, OnConflict, TxnError,
    entry::{Entry, hidden_key, hidden_number, malformed, primary_key},
    transaction::Txn,
};
use crate::{
    invariant::broken,
    log::RowsKind,
    store::TreeKey,
    types::{Index, Table, key},
};
use std::sync::{Arc, atomic::Ordering};

impl Txn {
    fn may_write(&self) -> Result<(), TxnError> {
        if self.options.read_only {
            return Err(TxnError::ReadOnly);
        }
        Ok(())
    }
    fn check_size(&self) -> Result<(), TxnError> {
        let limit = self.engine.max_transaction_bytes.load(Ordering::Relaxed);
        if self.writes.bytes() as u64 > limit {
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
        self.insert_as(table, image, duplicates, None)
    }
    /// As `insert`; a table without primary key gives the row this hidden number, if there is one.
    pub(super) fn insert_as(
        &mut self,
        table: &Arc<Table>,
        image: &[u8],
        duplicates: LockMode,
        number: Option<u64>,
    ) -> Result<(), TxnError> {
        self.may_write()?;
        let (used, table) = self.used(table)?;
        let table = &table;
        let claimed = self.claiming(duplicates, |txn| {
            let key = match primary_key(table, image)? {
                Some(key) => {
                    txn.claim_row(table, &key, duplicates)?;
                    key
                }
                None => {
                    let key = hidden_key(txn.row_number(used, number)?);
                    txn.lock_insert(table.rows, &key, &key, OnConflict::Wait)?;
                    key
                }
            };
            let entries = txn.claim_entries(table, image, &key, duplicates)?;
            Ok((key, entries))
        });
        if claimed.is_err() {
            self.note_unlogged();
        }
        let (key, entries) = claimed?;
        if table.primary.is_some() {
            self.note_newer(table, &key, None)?;
        }
        let number = hidden_number(table, &key);
        self.writes
            .change(RowsKind::Write, used, &[], image, number);
        self.put_row(table, &key, Some(image));
        self.put_entries(table, entries, Some(&[]));
        self.check_size()
    }
    /// The hidden number of a new row: the next one, or `given`.
    fn row_number(&self, used: usize, given: Option<u64>) -> Result<u64, TxnError> {
        let used = self.tables.get(used);
        let used = used.ok_or_else(|| broken("a table that is written is in use"))?;
        let next = &used.state.next_row;
        Ok(match given {
            None => next.fetch_add(1, Ordering::Relaxed),
            Some(number) => {
                next.fetch_max(number.saturating_add(1), Ordering::Relaxed);
                number
            }
        })
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
        let entry = Entry::derive(table, index, image, &[])?;
        self.lock(
            index.tree,
            entry.name(),
            LockMode::Exclusive,
            OnConflict::Wait,
        )?;
        let Some(key) = self.unique_owner(table, index, entry.name())? else {
            return Ok(None);
        };
        self.lock(table.rows, &key, LockMode::Exclusive, OnConflict::Wait)?;
        let row = TreeKey::new(table.rows, &key);
        Ok(self.get_newest(&row, &mut value)?.then_some(key))
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
        self.may_write()?;
        let (used, table) = self.used(table)?;
        let table = &table;
        self.lock(table.rows, key, LockMode::Exclusive, OnConflict::Wait)?;
        let new_key = primary_key(table, after)?.unwrap_or_else(|| key.to_vec());
        let moved = new_key != key;
        let mut gone = Vec::new();
        let mut come = Vec::new();
        self.claiming(LockMode::Shared, |txn| {
            if moved {
                txn.claim_row(table, &new_key, LockMode::Shared)?;
            }
            for index in &table.indexes {
                let is_same = key::same_columns(table, index, before, after);
                if !moved && is_same.map_err(|_| malformed(table))? {
                    continue;
                }
                let old = Entry::derive(table, index, before, key)?;
                let new = Entry::derive(table, index, after, &new_key)?;
                if old.key == new.key {
                    continue;
                }
                txn.lock_gone(index, &old)?;
                txn.claim_entry(table, index, &new, Some(key), LockMode::Shared)?;
                gone.push((index.tree, old));
                come.push((index.tree, new));
            }
            Ok(())
        })?;
        self.note_newer(table, key, Some(before))?;
        if moved {
            self.note_newer(table, &new_key, None)?;
        }
        let number = hidden_number(table, key);
        self.writes
            .change(RowsKind::Update, used, before, after, number);
        if moved {
            self.put_row(table, key, None);
        }
        self.put_row(table, &new_key, Some(after));
        for (tree, entry) in gone {
            self.put(TreeKey::new(tree, &entry.key), None);
        }
        for (tree, entry) in come {
            self.put(TreeKey::new(tree, &entry.key), Some(Arc::from([])));
        }
        self.check_size()
    }
    /// Deletes the row `before` (locked X by the caller's read).
    pub fn delete(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        before: &[u8],
    ) -> Result<(), TxnError> {
        self.may_write()?;
        let (used, table) = self.used(table)?;
        let table = &table;
        self.lock(table.rows, key, LockMode::Exclusive, OnConflict::Wait)?;
        let mut entries = Vec::with_capacity(table.indexes.len());
        for index in &table.indexes {
            let entry = Entry::derive(table, index, before, key)?;
            self.lock_gone(index, &entry)?;
            entries.push(entry);
        }
        self.note_newer(table, key, Some(before))?;
        let number = hidden_number(table, key);
        self.writes
            .change(RowsKind::Delete, used, before, &[], number);
        self.put_row(table, key, None);
        self.put_entries(table, entries, None);
        self.check_size()
    }
    /// Others may not take a unique value before its removal is committed.
    fn lock_gone(&mut self, index: &Index, entry: &Entry) -> Result<(), TxnError> {
        if entry.unique {
            self.lock(
                index.tree,
                entry.name(),
                LockMode::Exclusive,
                OnConflict::Wait,
            )?;
        }
        Ok(())
    }
    fn put_row(&mut self, table: &Table, key: &[u8], image: Option<&[u8]>) {
        self.put(TreeKey::new(table.rows, key), image.map(Arc::from));
    }
    fn put_entries(&mut self, table: &Table, entries: Vec<Entry>, value: Option<&[u8]>) {
        for (index, entry) in table.indexes.iter().zip(entries) {
            self.put(TreeKey::new(index.tree, &entry.key), value.map(Arc::from));
        }
    }
}
