//! A transaction on its way into the log: its events, encoded but for what only its place in the
//! log decides.

use crate::types::Table;

/// What a rows event did to its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsKind {
    /// WRITE_ROWS: the images after.
    Write,
    /// UPDATE_ROWS: the image before and the one after of each row.
    Update,
    /// DELETE_ROWS: the images before.
    Delete,
}

/// A transaction's events. Either row changes, or one DDL statement; both with internal records.
pub struct Batch {}

impl Batch {
    /// An empty transaction of a session with this default database and connection id.
    #[must_use]
    pub fn new(database: &str, session: u32) -> Batch {
        let _ = (database, session);
        unimplemented!()
    }
    /// Records one inserted row.
    pub fn insert(&mut self, table: &Table, after: &[u8]) {
        let _ = (table, after);
        unimplemented!()
    }
    /// Records one updated row.
    pub fn update(&mut self, table: &Table, before: &[u8], after: &[u8]) {
        let _ = (table, before, after);
        unimplemented!()
    }
    /// Records one deleted row.
    pub fn delete(&mut self, table: &Table, before: &[u8]) {
        let _ = (table, before);
        unimplemented!()
    }
    /// Marks the end of a statement: its last rows event says so, and the next row change begins
    /// with a table map of its own.
    pub fn end_statement(&mut self) {
        unimplemented!()
    }
    /// Records a DDL statement; such a batch takes no row changes.
    pub fn query(&mut self, text: &str) {
        let _ = text;
        unimplemented!()
    }
    /// Records an internal record: put, or (`None`) deleted.
    pub fn internal(&mut self, key: &[u8], value: Option<&[u8]>) {
        let _ = (key, value);
        unimplemented!()
    }
    /// How many bytes it will take in the log, about.
    #[must_use]
    pub fn size(&self) -> usize {
        unimplemented!()
    }
}
