//! A table that is made together with its rows: CREATE TABLE … SELECT.
//!
//! The table is in no dictionary while its rows are written, by a transaction like any other. Its
//! commit is that of the schema change, too: one place in the log for the definition and the rows.
//! So there is all of it, or nothing.

use super::{
    TxnError,
    ddl::{Barred, DdlStatement, Related, SchemaChange},
    engine::Engine,
    lock::table_lock::TableLock,
    owner::Owner,
    temporary::UnlistedState,
    transaction::Txn,
    used::Used,
};
use crate::{Seq, log::Batch, types::Table};
use std::sync::Arc;

/// A table that is being made, and the metadata locks of that.
pub struct Creation {
    table: Arc<Table>,
    unlisted: UnlistedState,
    barred: Barred,
    related: Related,
    statement: DdlStatement,
}

impl Creation {
    /// The table.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }
}

impl Engine {
    /// Begins to make a table; its numbers are from `Engine::new_id`. `statement` makes it as it
    /// is, and is logged before its rows.
    pub fn begin_creation(
        &self,
        owner: &Arc<Owner>,
        table: Table,
        related: Related,
        statement: DdlStatement,
        lock_wait_ms: u64,
    ) -> Result<Creation, TxnError> {
        let change = SchemaChange::CreateTable(table.clone());
        let what = (&change, &related);
        let mode = TableLock::Exclusive;
        let barred = self
            .inner
            .bar(owner, what, mode, &statement, lock_wait_ms)?;
        Ok(Creation {
            unlisted: self.inner.unlisted.add(&table),
            table: Arc::new(table),
            barred,
            related,
            statement,
        })
    }
}

impl Txn {
    /// Lets it write the rows of a table that is being made.
    pub fn use_created(&mut self, creation: &Creation) {
        let state = Arc::clone(&creation.unlisted.state);
        self.push_used(Used {
            table: Arc::clone(&creation.table),
            state,
            writes: true,
            temporary: None,
        });
    }
    /// Makes the table and its rows durable. Nothing else may have been changed. Fails with
    /// `TableChanged` if the dictionary is not any more what the table was made for.
    pub fn commit_creation(mut self, creation: &Creation) -> Result<Seq, TxnError> {
        let inner = Arc::clone(&self.engine);
        inner.make_room(&self.owner)?;
        let _one_at_a_time = inner.ddl.lock();
        let table = &creation.table;
        let change = SchemaChange::CreateTable(Table::clone(table));
        let placed = (&creation.barred, &creation.related);
        let (records, mut after) = inner.prepare_change(placed, change)?;
        after.set_state(table.id, &creation.unlisted.state);
        let database = &creation.statement.database;
        let mut batch = self.owner.batch(|session| Batch::new(database, session));
        for (key, value) in &records.records {
            batch.internal(key, value.as_deref());
        }
        let statement = &creation.statement;
        batch.creates(&table.database, &statement.text, &statement.reading);
        self.encode(&mut batch)?;
        self.log_counters(&mut batch);
        let counts = self.writes.row_counts(self.tables.len());
        let counts = self.tables.iter().zip(counts);
        let changes = std::mem::take(&mut *self.descriptor.overlay.lock());
        let definitions = Arc::clone(&inner.definitions);
        batch.just_before_visible(move || definitions.publish());
        let ticket = inner.place(batch, changes, counts, |seq| {
            inner.definitions.place(after, seq);
        })?;
        let seq = inner.wait_for_log(&self.owner, ticket)?;
        self.writes.settle();
        self.give_up();
        Ok(seq)
    }
}
