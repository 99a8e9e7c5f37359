//! Tests of the engine as a whole, on the fake disk.

mod backup;
mod bank;
mod basics;
mod crash;
mod damage;
mod inline;
mod locks;
mod online;
mod order;
mod prepared;
mod row_change;
mod schema;
mod search;
mod statistics;

use super::*;
use crate::{
    env::{Env, fake::Disk},
    types::{
        Collation, Column, ColumnType, Index, IndexPart, Table, Value, key, row, schema::Database,
    },
};
use std::{path::Path, sync::Arc};

pub(super) const DIR: &str = "/data";

/// Options that make checkpoints come when a test asks, or when `delta_bytes` is full.
pub(super) fn options() -> EngineOptions {
    EngineOptions {
        quiet_checkpoint_ms: u64::MAX,
        base_cache_bytes: 1 << 20,
        log_preallocate_bytes: 32 << 10,
        ..EngineOptions::default()
    }
}

pub(super) fn try_open(env: &Env, options: EngineOptions) -> Result<Engine, OpenError> {
    Engine::open(env, Path::new(DIR), options, &mut |_| {})
}

pub(super) fn open(env: &Env) -> Engine {
    try_open(env, options()).expect("the engine opens")
}

pub(super) fn disk() -> Disk {
    Disk::new(1)
}

pub(super) fn owner(session: u64) -> Arc<Owner> {
    Owner::new(session, Arc::new(Unattended))
}

pub(super) fn begin(engine: &Engine, isolation: Isolation) -> Txn {
    let options = TxnOptions {
        isolation,
        read_only: false,
        lock_wait_ms: 10_000,
        table_lock_wait_ms: 60_000,
    };
    engine.begin(&owner(1), options)
}

fn part(column: u16) -> IndexPart {
    IndexPart {
        column,
        prefix: None,
        desc: false,
        trimmed: false,
    }
}

pub(super) fn index(engine: &Engine, name: &str, column: u16, unique: bool) -> Index {
    Index {
        tree: engine.new_id(),
        name: name.to_owned(),
        unique,
        parts: vec![part(column)],
        comment: String::new(),
        visible: true,
        using_btree: false,
        generated: false,
    }
}

/// `t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, u INT, KEY a (a), UNIQUE u (u))`, or without
/// primary key.
pub(super) fn table(engine: &Engine, name: &str, primary: bool) -> Table {
    let mut id = Column::new("id", ColumnType::Int);
    id.nullable = false;
    id.auto_increment = primary;
    let rows = engine.new_id();
    let primary = primary.then(|| Index {
        tree: rows,
        ..index(engine, "PRIMARY", 0, true)
    });
    Table {
        id: engine.new_id(),
        database: "test".to_owned(),
        name: name.to_owned(),
        columns: vec![
            id,
            Column::new("a", ColumnType::Int),
            Column::new("u", ColumnType::Int),
        ],
        rows,
        primary,
        indexes: vec![index(engine, "u", 2, true), index(engine, "a", 1, false)],
        since: 0,
        built: Vec::new(),
        collation: Collation::Utf8mb40900AiCi,
        comment: String::new(),
        auto_increment_min: 0,
        map: Default::default(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        fulltext: Vec::new(),
        created: 0,
        options: String::new(),
    }
}

pub(super) fn change(engine: &Engine, change: SchemaChange<'_>) -> Result<crate::Seq, TxnError> {
    let statement = DdlStatement {
        database: "test".to_owned(),
        text: "DDL".to_owned(),
        reading: crate::log::Reading::default(),
        foreign_key_checks: true,
        threads: 1,
    };
    engine.change_schema(
        &owner(99),
        change,
        &super::Related::default(),
        &statement,
        10_000,
        None,
    )
}

/// The database `test` with the table `t`.
pub(super) fn create(engine: &Engine) -> Arc<Table> {
    let database = Database {
        name: "test".to_owned(),
        collation: Collation::Utf8mb40900AiCi,
    };
    change(engine, SchemaChange::PutDatabase(database)).expect("create database");
    create_table(engine, "t", true)
}

pub(super) fn create_table(engine: &Engine, name: &str, primary: bool) -> Arc<Table> {
    let table = table(engine, name, primary);
    change(engine, SchemaChange::CreateTable(table)).expect("create table");
    find(engine, name)
}

pub(super) fn find(engine: &Engine, name: &str) -> Arc<Table> {
    let dictionary = engine.dictionary();
    Arc::clone(dictionary.table("test", name).expect("the table exists"))
}

/// A row; `None` is NULL.
pub(super) type Row = (i64, Option<i64>, Option<i64>);

pub(super) fn image(table: &Table, (id, a, u): Row) -> Vec<u8> {
    let value = |value: Option<i64>| value.map_or(Value::Null, Value::Int);
    let mut image = Vec::new();
    row::encode(table, &[Value::Int(id), value(a), value(u)], &mut image);
    image
}

pub(super) fn row_of(table: &Table, image: &[u8]) -> Row {
    let values = row::decode(table, image).expect("a whole image");
    let int = |place: usize| match values.get(place) {
        Some(Value::Int(value)) => Some(*value),
        _ => None,
    };
    (int(0).unwrap_or(0), int(1), int(2))
}

/// The key of the column's value as the first part of its index (0: the primary key).
pub(super) fn key_of(table: &Table, column: u16, value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let definition = &table.columns[usize::from(column)];
    key::encode_part(definition, part(column), &Value::Int(value), &mut bytes);
    bytes
}

pub(super) fn use_table(txn: &mut Txn, table: &Arc<Table>) -> Result<Arc<Table>, TxnError> {
    Ok(txn.use_table(table, true)?.expect("the table is there"))
}

pub(super) fn insert(txn: &mut Txn, table: &Arc<Table>, row: Row) -> Result<(), TxnError> {
    let table = use_table(txn, table)?;
    txn.insert(&table, &image(&table, row), LockMode::Shared)
}

pub(super) fn get(
    txn: &mut Txn,
    table: &Arc<Table>,
    id: i64,
    read: Read,
) -> Result<Option<Row>, TxnError> {
    let table = use_table(txn, table)?;
    let mut value = Vec::new();
    let found = txn.get(table.rows, &key_of(&table, 0, id), read, &mut value)?;
    Ok(found.then(|| row_of(&table, &value)))
}

pub(super) const FOR_UPDATE: Read = Read::Locking(LockMode::Exclusive, OnConflict::Wait);

pub(super) fn update(
    txn: &mut Txn,
    table: &Arc<Table>,
    id: i64,
    row: Row,
) -> Result<bool, TxnError> {
    let Some(before) = get(txn, table, id, FOR_UPDATE)? else {
        return Ok(false);
    };
    let key = key_of(table, 0, id);
    txn.update(table, &key, &image(table, before), &image(table, row))?;
    Ok(true)
}

pub(super) fn delete(txn: &mut Txn, table: &Arc<Table>, id: i64) -> Result<bool, TxnError> {
    let Some(before) = get(txn, table, id, FOR_UPDATE)? else {
        return Ok(false);
    };
    txn.delete(table, &key_of(table, 0, id), &image(table, before))?;
    Ok(true)
}

/// All rows, through the primary key, with the keys they have there.
pub(super) fn keyed_rows(engine: &Engine, table: &Arc<Table>) -> Vec<(Vec<u8>, Row)> {
    let mut txn = begin(engine, Isolation::RepeatableRead);
    let table = use_table(&mut txn, table).expect("use");
    let range = KeyRange {
        low: Vec::new(),
        high: None,
    };
    let mut scan = txn.scan(table.rows, range, false, Read::Plain);
    let mut rows = Vec::new();
    let mut batch = Batch::default();
    loop {
        scan.next(&mut txn, &mut batch, 3).expect("scan");
        if batch.is_empty() {
            return rows;
        }
        for place in 0..batch.len() {
            let (key, value) = batch.get(place);
            rows.push((key.to_vec(), row_of(&table, value)));
        }
    }
}

pub(super) fn all_rows(engine: &Engine, table: &Arc<Table>) -> Vec<Row> {
    keyed_rows(engine, table)
        .into_iter()
        .map(|(_, row)| row)
        .collect()
}

/// Checks that every index has exactly the entries of the table's rows.
pub(super) fn check_indexes(engine: &Engine, table: &Arc<Table>) {
    let rows = keyed_rows(engine, table);
    for index in &table.indexes {
        let mut expected: Vec<Vec<u8>> = rows
            .iter()
            .flat_map(|(key, row)| {
                let image = image(table, *row);
                let entries = super::entry::Entry::derive(table, index, &image, key);
                entries.expect("entries").into_iter().map(|entry| entry.key)
            })
            .collect();
        expected.sort();
        let mut txn = begin(engine, Isolation::ReadCommitted);
        use_table(&mut txn, table).expect("use");
        let range = KeyRange {
            low: Vec::new(),
            high: None,
        };
        let mut scan = txn.scan(index.tree, range, true, Read::Plain);
        let mut found = Vec::new();
        let mut batch = Batch::default();
        loop {
            scan.next(&mut txn, &mut batch, 100).expect("scan");
            if batch.is_empty() {
                break;
            }
            found.extend((0..batch.len()).map(|place| batch.get(place).0.to_vec()));
        }
        found.reverse();
        assert_eq!(found, expected, "index {}", index.name);
    }
}
