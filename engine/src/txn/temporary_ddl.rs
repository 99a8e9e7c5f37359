//! Making, changing and dropping temporary tables.

use super::{
    Isolation, LockMode, TxnError, TxnOptions,
    auto_increment::Numbers,
    dictionary::Dictionary,
    engine::Engine,
    owner::Owner,
    site::{Copying, RowConversion},
    temporary::TemporaryTable,
    transaction::Txn,
};
use crate::types::{FIRST_TEMPORARY, Table, TableId};
use std::sync::{Arc, atomic::Ordering};

impl Engine {
    /// A number for a temporary table or one of its trees.
    pub fn new_temporary_id(&self) -> u32 {
        let count = &self.inner.next_temporary_id;
        // Half of all numbers: by the time they come again, the tables that had them are gone.
        count.fetch_add(1, Ordering::Relaxed) % (u32::MAX - 1 - FIRST_TEMPORARY) + FIRST_TEMPORARY
    }
    /// CREATE TEMPORARY TABLE; its numbers are from `new_temporary_id`.
    pub fn create_temporary(&self, owner: &Owner, table: Table) {
        let mut own = owner.temporary.lock();
        let table = TemporaryTable::new(table, &self.inner.unlisted, &own.bytes);
        own.put(None, Some(table));
    }
    /// Begins to make a temporary table that is filled before its name is known.
    pub fn begin_temporary(&self, owner: &Owner, table: Table) -> Arc<Table> {
        let mut own = owner.temporary.lock();
        let table = TemporaryTable::new(table, &self.inner.unlisted, &own.bytes);
        own.coming = Some(Arc::clone(&table));
        Arc::clone(&table.table)
    }
    /// The table that was begun is filled (`keep`), or there is none.
    pub fn end_temporary(&self, owner: &Owner, keep: bool) {
        let mut own = owner.temporary.lock();
        let table = own.coming.take();
        own.put(None, table.filter(|_| keep));
    }
    /// DROP TEMPORARY TABLE. A transaction that has used it keeps its rows until it ends.
    pub fn drop_temporary(&self, owner: &Owner, id: TableId) {
        owner.temporary.lock().put(Some(id), None);
    }
    /// At the end of a session, and where it begins anew.
    pub fn drop_all_temporary(&self, owner: &Owner) {
        owner.temporary.lock().clear();
    }
    /// TRUNCATE: `new` has the same definition as the table `old`, and new numbers.
    pub fn truncate_temporary(&self, owner: &Owner, old: TableId, new: Table) {
        let mut own = owner.temporary.lock();
        let table = TemporaryTable::new(new, &self.inner.unlisted, &own.bytes);
        own.put(Some(old), Some(table));
    }
    /// ALTER TABLE: `new` has new numbers, and the rows of `old` go there as `convert` makes them.
    /// Nothing has happened if that fails. The session has no transaction.
    pub fn rebuild_temporary(
        &self,
        owner: &Arc<Owner>,
        old: &Table,
        new: Table,
        convert: &mut RowConversion<'_>,
        numbers: &Numbers,
    ) -> Result<(), TxnError> {
        let before = owner.temporary.lock().table(old.id).map(Arc::clone);
        let before = before.ok_or(TxnError::TableChanged)?;
        let bytes = Arc::clone(&owner.temporary.lock().bytes);
        let after = TemporaryTable::new(new, &self.inner.unlisted, &bytes);
        let options = TxnOptions {
            isolation: Isolation::ReadCommitted,
            read_only: false,
            lock_wait_ms: 0,
            table_lock_wait_ms: 0,
        };
        let mut txn = self.begin(owner, options);
        txn.use_temporary(&after, true);
        self.copy_rows(&mut txn, &before, &after, convert)?;
        txn.commit_placed("")?;
        let next = numbers.next((&before.table, before.state()), &after.table);
        let counter = &after.state().auto_increment;
        counter.fetch_max(next, Ordering::Relaxed);
        owner.temporary.lock().put(Some(old.id), Some(after));
        Ok(())
    }
    fn copy_rows(
        &self,
        txn: &mut Txn,
        before: &TemporaryTable,
        after: &TemporaryTable,
        convert: &mut RowConversion<'_>,
    ) -> Result<(), TxnError> {
        let rows = before.with_rows(|rows| {
            let rows = rows
                .iter()
                .filter(|(key, _)| key.tree() == before.table.rows);
            let images = rows.filter_map(|(_, image)| image.clone());
            images.collect::<Vec<_>>()
        });
        let mut image = Vec::new();
        for row in rows {
            image.clear();
            convert(Copying::New, &row, &mut image).map_err(TxnError::Conversion)?;
            txn.insert(&after.table, &image, LockMode::Shared)?;
            txn.check_killed()?;
        }
        Ok(())
    }
    /// Whether a session has temporary tables.
    #[must_use]
    pub fn has_temporary(&self, owner: &Owner) -> bool {
        !owner.temporary.lock().is_empty()
    }
    /// The temporary table of a name.
    #[must_use]
    pub fn temporary_table(&self, owner: &Owner, database: &str, name: &str) -> Option<Arc<Table>> {
        let own = owner.temporary.lock();
        own.named(database, name).map(|own| Arc::clone(&own.table))
    }
    /// The version of the dictionary as a session sees it, without holding on to it.
    #[must_use]
    pub fn session_dictionary_version(&self, owner: &Owner) -> u64 {
        match self.has_temporary(owner) {
            true => self.session_dictionary(owner).version(),
            false => self.dictionary_version(),
        }
    }
    /// The dictionary as a session sees it: with its temporary tables, which hide others of their
    /// names.
    pub fn session_dictionary(&self, owner: &Owner) -> Arc<Dictionary> {
        let listed = self.dictionary();
        let mut own = owner.temporary.lock();
        let dictionary = own.dictionary(&listed, &self.inner.dictionary_versions);
        dictionary.unwrap_or(listed)
    }
}
