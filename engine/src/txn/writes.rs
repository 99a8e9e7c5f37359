//! A transaction's write set: what it changed, not yet committed.

use super::{
    TxnError,
    beside::Besides,
    chunks::Chunks,
    row_change::{Row, RowChange},
    temporary::TemporaryTable,
};
use crate::{
    log::{Batch, RowsKind},
    store::{Overlay, TreeKey},
    types::{Table, TableId, TreeId},
};
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// One row change, for the log.
struct Change {
    kind: RowsKind,
    /// Position in the transaction's list of tables.
    table: u32,
    /// Where the row as it was stands in `WriteSet::before`.
    before: Range<usize>,
    /// The row as it is now, which the overlay has too.
    after: Option<Arc<[u8]>>,
    /// The hidden row number, for tables without a primary key; else 0.
    row_number: u64,
    /// Counts the statements of the transaction.
    statement: u32,
}

/// What a key was in the overlay before a change: nothing, or this.
struct Undo {
    key: TreeKey,
    before: Option<Option<Arc<[u8]>>>,
}

/// Changes, in two forms: an overlay over the store by key, rows and index entries, so that the
/// transaction reads what it wrote (it is in the descriptor, where others can see it); and the row
/// changes in order, for the log.
#[derive(Default)]
pub(super) struct WriteSet {
    undo: Chunks<Undo>,
    changes: Chunks<Change>,
    /// The rows as they were, one behind the other.
    before: Vec<u8>,
    /// How long all rows are as they are now, in bytes.
    after_bytes: usize,
    statement: u32,
    /// What the words of FULLTEXT indexes take, in bytes.
    pub words: usize,
    /// What foreign keys demand is among the changes, or was not wanted.
    pub foreign_keys_done: bool,
}

/// A mark in a transaction's changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Savepoint {
    undo: usize,
    changes: usize,
    before: usize,
    after_bytes: usize,
    words: usize,
    /// How many locks the transaction had.
    pub(super) locks: usize,
    /// How many tables it used.
    pub(super) tables: usize,
    /// It had neither tables nor a snapshot.
    pub(super) is_first: bool,
}

/// What a change of the write set takes beyond its bytes, about: its key twice, here and in the
/// overlay, and the nodes of their trees. Measured: a row of 12 bytes that is updated together with
/// an entry of an index, three changes, takes 1,000 bytes.
const CHANGE_BYTES: usize = 300;

/// The internal record of a DDL that built trees straight into the Base: this byte; the value is the
/// build's number and, if rows were converted, what the statement took for now, in microseconds since
/// 1970, 8 bytes little endian each; then [`NUMBERED`] if hidden row numbers stayed as they were; then
/// [`SETTINGS`] and what the values depend on besides, as SET takes it, if there is anything. If the rows
/// only have another shape, the number is followed by [`RESHAPED`] and JSON of the `Reshape`.
pub(super) const BUILD: u8 = b'b';
/// See [`BUILD`].
pub(super) const RESHAPED: &[u8; 8] = b"reshaped";
/// See [`BUILD`].
pub(super) const NUMBERED: u8 = b'n';
/// See [`BUILD`].
pub(super) const SETTINGS: u8 = b's';

fn length(image: Option<&Arc<[u8]>>) -> usize {
    image.map_or(0, |image| image.len())
}

impl WriteSet {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
    /// How many rows were changed.
    pub fn len(&self) -> usize {
        self.changes.len()
    }
    /// Memory it takes, about, in bytes, when so many entries have come that are yet to come.
    pub fn bytes(&self, late: usize) -> usize {
        self.image_bytes() * 2 + self.words + (self.undo.len() + late) * CHANGE_BYTES
    }
    /// How long all images are, before and after, in bytes.
    fn image_bytes(&self) -> usize {
        self.before.len() + self.after_bytes
    }
    /// The next changes belong to another statement.
    pub fn start_statement(&mut self) {
        self.statement = self.statement.wrapping_add(1);
    }
    /// Puts or (`None`) deletes a key.
    pub fn put(&mut self, overlay: &mut Overlay, key: TreeKey, value: Option<Arc<[u8]>>) {
        let before = overlay.insert(key.clone(), value);
        self.undo.push(Undo { key, before });
    }
    /// The same in a temporary table.
    pub fn put_temporary(
        &mut self,
        table: &TemporaryTable,
        key: TreeKey,
        value: Option<Arc<[u8]>>,
    ) {
        let before = table.put(key.clone(), value);
        self.undo.push(Undo {
            key,
            before: before.map(Some),
        });
    }
    /// Nothing will be undone: what it changed is committed.
    pub fn settle(&mut self) {
        *self = WriteSet::default();
    }
    /// Whether something can be undone.
    pub fn can_undo(&self) -> bool {
        !self.undo.is_empty()
    }
    /// Notes a row change for the log; `after` is the row as it is now.
    pub fn change(
        &mut self,
        table: usize,
        change: &RowChange<Row<'_>>,
        after: Option<Arc<[u8]>>,
        row_number: u64,
    ) {
        let start = self.before.len();
        let before = change.before().map_or(&[][..], |row| row.image);
        self.before.extend_from_slice(before);
        self.after_bytes += length(after.as_ref());
        self.changes.push(Change {
            kind: change.kind(),
            table: u32::try_from(table).unwrap_or(u32::MAX),
            before: start..self.before.len(),
            after,
            row_number,
            statement: self.statement,
        });
    }
    /// A mark here, in a transaction with so many locks and tables; `is_first`: see `Savepoint`.
    pub fn savepoint(&self, locks: usize, tables: usize, is_first: bool) -> Savepoint {
        Savepoint {
            locks,
            tables,
            is_first,
            undo: self.undo.len(),
            changes: self.changes.len(),
            before: self.before.len(),
            after_bytes: self.after_bytes,
            words: self.words,
        }
    }
    /// Undoes everything since the mark. `temporary` finds the temporary table of a tree.
    pub fn rollback_to<'t>(
        &mut self,
        overlay: &mut Overlay,
        temporary: impl Fn(TreeId) -> Option<&'t TemporaryTable>,
        mark: &Savepoint,
    ) {
        while self.undo.len() > mark.undo {
            let Some(undo) = self.undo.pop() else { break };
            match (temporary(undo.key.tree()), undo.before) {
                (Some(table), before) => {
                    table.put(undo.key, before.flatten());
                }
                (None, Some(value)) => {
                    overlay.insert(undo.key, value);
                }
                (None, None) => {
                    overlay.remove(&undo.key);
                }
            }
        }
        self.changes.truncate(mark.changes);
        self.before.truncate(mark.before);
        self.after_bytes = mark.after_bytes;
        self.words = mark.words;
    }
    /// The rows added less those deleted, by position in the list of tables.
    pub fn row_counts(&self, tables: usize) -> Vec<i64> {
        let mut counts = vec![0; tables];
        for change in self.changes.iter() {
            let count = match change.kind {
                RowsKind::Write => 1,
                RowsKind::Update => 0,
                RowsKind::Delete => -1,
            };
            if let Some(total) = counts.get_mut(change.table as usize) {
                *total += count;
            }
        }
        counts
    }
    /// Writes it as log events.
    pub fn encode<'a>(
        &self,
        batch: &mut Batch,
        table_at: impl Fn(usize) -> Option<&'a Table>,
    ) -> Result<(), TxnError> {
        if self.foreign_keys_done {
            batch.foreign_keys_done();
        }
        batch.reserve(self.image_bytes());
        let mut statement = None;
        let mut besides: BTreeMap<TableId, Besides> = BTreeMap::new();
        for change in self.changes.iter() {
            if statement.is_some_and(|statement| statement != change.statement) {
                batch.end_statement();
            }
            statement = Some(change.statement);
            let Some(table) = table_at(change.table as usize) else {
                return Err(TxnError::Corrupt("a change of an unknown table".to_owned()));
            };
            let beside = besides.entry(table.id).or_default();
            beside.number(change.row_number);
            let before = self.before.get(change.before.clone());
            let before = &beside.cut(table, before.unwrap_or_default())?;
            let after = &beside.cut(table, change.after.as_deref().unwrap_or_default())?;
            match change.kind {
                RowsKind::Write => batch.insert(table, after),
                RowsKind::Update => batch.update(table, before, after),
                RowsKind::Delete => batch.delete(table, before),
            }
        }
        for (table, beside) in besides {
            beside.record(table, batch);
        }
        Ok(())
    }
}

/// The internal record of the next AUTO_INCREMENT value of a table, 8 bytes little endian, logged
/// when values were taken that no row has: this byte and the table's number, 4 bytes big endian.
pub(super) const COUNTER: u8 = b'c';

/// The key of the record of a table's next AUTO_INCREMENT value.
pub(super) fn counter_key(table: u32) -> [u8; 5] {
    let [a, b, c, d] = table.to_be_bytes();
    [COUNTER, a, b, c, d]
}
