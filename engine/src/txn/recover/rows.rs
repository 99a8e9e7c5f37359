//! Rows as the log has them: what they put into their table's trees, and under which keys.

use crate::{
    Seq,
    env::processors,
    log::{Change, Replayed, RowsKind},
    store::{Put, TreeKey},
    txn::{
        TxnError,
        beside::{self, Beside, HIDDEN, ROW_NUMBERS},
        dictionary::Dictionary,
        entry::malformed,
        row_change::RowChange,
        table_state::TableState,
    },
    types::{IdMap, Table, TableId, TreeId, Value, row},
};
use std::{
    collections::hash_map,
    sync::{Arc, atomic::Ordering},
};

/// What transactions put, decoded from their row images but not yet in a delta.
pub(super) struct Rows {
    /// Shares of the keys, one for each processor; in each the order is that of the log.
    pub(super) shares: Vec<Vec<Put>>,
    /// Memory it takes, about.
    pub(super) bytes: usize,
    /// The tables met, by number.
    tables: IdMap<Replaying>,
}

impl Rows {
    pub(super) fn new() -> Rows {
        Rows {
            shares: (0..processors()).map(|_| Vec::new()).collect(),
            bytes: 0,
            tables: IdMap::default(),
        }
    }
    /// Decodes a transaction of nothing but rows; `Ok(false)`: it is another one.
    pub(super) fn decode_all(
        &mut self,
        dictionary: &Dictionary,
        transaction: &Replayed<'_>,
    ) -> Result<bool, TxnError> {
        let mut besides = IdMap::default();
        if !transaction.only_rows {
            let mut changes = transaction.changes();
            if transaction.xa().is_some() || !changes.all(|change| is_of_rows(&change)) {
                return Ok(false);
            }
            besides = beside::of_events(transaction.events());
        }
        for change in transaction.changes() {
            if let Change::Rows {
                table,
                kind,
                images,
            } = change
            {
                let besides = &mut besides;
                self.decode(dictionary, transaction.seq, table, kind, images, besides)?;
            }
        }
        Ok(true)
    }
    /// Decodes the changes of one event.
    pub(super) fn decode(
        &mut self,
        dictionary: &Dictionary,
        seq: Seq,
        table: u64,
        kind: RowsKind,
        mut images: &[u8],
        besides: &mut IdMap<Beside<'_>>,
    ) -> Result<(), TxnError> {
        let id = TableId::try_from(table).unwrap_or(TableId::MAX);
        let table = match self.tables.entry(id) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => {
                let Some((table, state)) = dictionary.entry(id) else {
                    return Err(TxnError::Corrupt(format!("rows of an unknown table {id}")));
                };
                entry.insert(Replaying::new(table, state))
            }
        };
        let beside = besides.entry(id).or_default();
        let (shares, bytes) = (&mut self.shares, &mut self.bytes);
        let mut put = |tree: TreeId, key: &[u8], value: Option<&[u8]>| {
            let put = Put {
                key: TreeKey::new(tree, key),
                seq,
                value: value.map(Arc::from),
            };
            *bytes += put.bytes();
            let share = share_of(key, shares.len());
            if let Some(share) = shares.get_mut(share) {
                share.push(put);
            }
        };
        while !images.is_empty() {
            let change = RowChange::take(&table.table, kind, &mut images, beside)?;
            table.decode(change.borrowed(), beside, &mut put)?;
        }
        Ok(())
    }
    /// Tells the tables' states what was counted; the rows will be in the delta of this
    /// generation.
    pub(super) fn count(&mut self, generation: u64) {
        for (_, table) in self.tables.drain() {
            let state = table.state;
            state.count_rows(generation, table.rows);
            let above = table.auto_increment_next;
            state.auto_increment.fetch_max(above, Ordering::Relaxed);
            state.next_row.fetch_max(table.row_next, Ordering::Relaxed);
        }
    }
    /// Adds what later transactions put.
    pub(super) fn append(&mut self, later: Rows) {
        for (share, mut later) in self.shares.iter_mut().zip(later.shares) {
            share.append(&mut later);
        }
        self.bytes += later.bytes;
    }
}

fn is_of_rows(change: &Change<'_>) -> bool {
    match change {
        Change::Rows { .. } => true,
        Change::Internal { key, .. } => {
            matches!(key.first(), Some(&(ROW_NUMBERS | HIDDEN)))
        }
        Change::Query { .. } => false,
    }
}

/// Which share a key belongs to. Keys differ most at their ends.
fn share_of(key: &[u8], shares: usize) -> usize {
    let end = key.len().saturating_sub(8);
    let mixed = key.get(end..).unwrap_or_default().iter();
    mixed.fold(0_usize, |sum, byte| {
        sum.wrapping_mul(31) + usize::from(*byte)
    }) % shares.max(1)
}

/// A table whose rows are decoded.
pub(super) struct Replaying {
    table: Arc<Table>,
    state: Arc<TableState>,
    auto_increment: Option<u16>,
    /// Room for a decoded row.
    row: Vec<Value>,
    /// So many rows more (or less) there are.
    rows: i64,
    /// What follows the highest value of the column of AUTO_INCREMENT, and row number.
    auto_increment_next: u64,
    row_next: u64,
}

impl Replaying {
    pub fn new(table: &Arc<Table>, state: &Arc<TableState>) -> Replaying {
        let column = table
            .columns
            .iter()
            .position(|column| column.auto_increment);
        Replaying {
            table: Arc::clone(table),
            state: Arc::clone(state),
            auto_increment: column.and_then(|column| u16::try_from(column).ok()),
            row: vec![Value::Null; table.columns.len()],
            rows: 0,
            auto_increment_next: 0,
            row_next: 0,
        }
    }
    /// What a change of one row puts into the trees.
    fn decode(
        &mut self,
        change: RowChange<&[u8]>,
        beside: &mut Beside<'_>,
        put: &mut impl FnMut(TreeId, &[u8], Option<&[u8]>),
    ) -> Result<(), TxnError> {
        let number = beside.take_number(&self.table);
        let change = change.keyed(&self.table, number)?;
        if let Some(number) = number {
            self.row_next = self.row_next.max(number.saturating_add(1));
        }
        if let Some(row) = change.after() {
            let next = self.auto_increment_after(row.image)?;
            self.auto_increment_next = self.auto_increment_next.max(next);
        }
        change.put_row(&self.table, change.image(), &mut *put);
        for index in &self.table.indexes {
            if let Some(entry) = change.entries(&self.table, index)? {
                entry.put(&mut *put);
            }
        }
        for text in change.texts(&self.table)? {
            text.put(&mut *put);
        }
        self.rows += match change {
            RowChange::Insert(_) => 1,
            RowChange::Update(..) => 0,
            RowChange::Delete(_) => -1,
        };
        Ok(())
    }
    /// What AUTO_INCREMENT may give after the row with this image; 0: anything.
    pub fn auto_increment_after(&mut self, image: &[u8]) -> Result<u64, TxnError> {
        let Some(column) = self.auto_increment else {
            return Ok(0);
        };
        row::decode_some(&self.table, image, &[column], &mut self.row)
            .map_err(|_| malformed(&self.table))?;
        let used = match self.row.get(usize::from(column)) {
            Some(Value::Int(value)) => u64::try_from(*value).unwrap_or(0),
            Some(Value::UInt(value)) => *value,
            Some(Value::Double(value)) if *value >= 0.0 => *value as u64,
            Some(Value::Float(value)) if *value >= 0.0 => *value as u64,
            _ => 0,
        };
        Ok(used.saturating_add(1))
    }
}
