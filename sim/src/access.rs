//! Reading the engine: tables and indexes as a whole.

use crate::shape::{self, Row};
use cohort_engine::{
    txn::{Batch, Engine, Isolation, KeyRange, Owner, Read, Txn, TxnError, TxnOptions, Unattended},
    types::{Table, TreeId},
};
use std::{collections::BTreeMap, sync::Arc};

/// Why an access did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The engine said so.
    Told(TxnError),
    /// The engine is wrong.
    Wrong(String),
}

impl From<TxnError> for Failure {
    fn from(error: TxnError) -> Failure {
        Failure::Told(error)
    }
}

impl From<String> for Failure {
    fn from(wrong: String) -> Failure {
        Failure::Wrong(wrong)
    }
}

/// A session of its own.
pub fn owner(session: u64) -> Arc<Owner> {
    Owner::new(session, Arc::new(Unattended))
}

/// Transactions here never wait for each other: there is nobody to end the wait.
pub fn options(isolation: Isolation) -> TxnOptions {
    TxnOptions {
        isolation,
        read_only: false,
        lock_wait_ms: 0,
        table_lock_wait_ms: 0,
    }
}

/// Begins to use a table; `None`: it is not there any more.
pub fn use_table(txn: &mut Txn, table: &Arc<Table>, write: bool) -> Result<Arc<Table>, TxnError> {
    txn.use_table(table, write)?.ok_or(TxnError::TableChanged)
}

/// Gives all entries of a tree to `each`.
fn whole_tree(
    txn: &mut Txn,
    tree: TreeId,
    reverse: bool,
    read: Read,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let range = KeyRange {
        low: Vec::new(),
        high: None,
    };
    let mut scan = txn.scan(tree, range, reverse, read);
    let mut batch = Batch::default();
    loop {
        scan.next(txn, &mut batch, 7)?;
        if batch.is_empty() {
            return Ok(());
        }
        for place in 0..batch.len() {
            let (key, value) = batch.get(place);
            each(key, value)?;
        }
    }
}

/// The row of a table in use that has this key.
pub fn row(txn: &mut Txn, table: &Table, key: &[u8], read: Read) -> Result<Option<Row>, Failure> {
    let mut value = Vec::new();
    let found = txn.get(table.rows, key, read, &mut value)?;
    let row = found.then(|| shape::row_of(table, &value));
    Ok(row.transpose()?)
}

/// All rows of a table in use, by their keys.
pub fn keyed_rows(
    txn: &mut Txn,
    table: &Table,
    read: Read,
) -> Result<BTreeMap<Vec<u8>, Row>, Failure> {
    let mut rows = BTreeMap::new();
    whole_tree(txn, table.rows, false, read, |key, value| {
        let row = shape::row_of(table, value)?;
        if rows.insert(key.to_vec(), row).is_some() {
            return Err(Failure::Wrong(format!("{} has a key twice", table.name)));
        }
        Ok(())
    })?;
    Ok(rows)
}

/// Compares every index of a table in use with its rows, as plain reads show both.
pub fn check_indexes(
    txn: &mut Txn,
    table: &Table,
    rows: &BTreeMap<Vec<u8>, Row>,
) -> Result<(), Failure> {
    for index in &table.indexes {
        let mut found = Vec::new();
        let reverse = index.tree % 2 == 0;
        whole_tree(txn, index.tree, reverse, Read::Plain, |key, _| {
            found.push(key.to_vec());
            Ok(())
        })?;
        if reverse {
            found.reverse();
        }
        let expected = shape::entries(table, index, rows);
        if found != expected {
            return Err(Failure::Wrong(format!(
                "index {} of {} has {} entries {found:02x?}, the rows are {rows:?}",
                index.name,
                table.name,
                found.len()
            )));
        }
    }
    Ok(())
}

/// All rows of a table, with every index compared with them.
pub fn checked_rows(engine: &Engine, table: &Arc<Table>) -> Result<Vec<Row>, Failure> {
    let mut txn = engine.begin(&owner(90), options(Isolation::RepeatableRead));
    let table = use_table(&mut txn, table, false)?;
    let rows = keyed_rows(&mut txn, &table, Read::Plain)?;
    check_indexes(&mut txn, &table, &rows)?;
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort();
    Ok(rows)
}
