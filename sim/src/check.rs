//! What must hold of an engine that was just opened.

use crate::{
    access::{self, Failure, checked_rows},
    model::{Model, Own, State, TableModel, Written},
    schema::{self, DATABASES},
    shape::{self, Field, SHAPES, Shape},
};
use cohort_engine::{
    Seq,
    env::fake::Noise,
    txn::{Engine, Isolation, LockMode, OnConflict, Read, SchemaChange, TxnError},
    types::Xid,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

fn wrong<T>(what: String) -> Result<T, Failure> {
    Err(Failure::Wrong(what))
}

/// Finds the state that the engine has; it must be one that may be, with all commits up to `known`.
pub fn recovered(engine: &Engine, model: &Model, known: Seq) -> Result<State, Failure> {
    let seq = engine.log().visible();
    if seq < known {
        return wrong(format!(
            "the last commit is {seq}, but {known} was acknowledged"
        ));
    }
    let mut reasons = Vec::new();
    for state in model.candidates(seq) {
        match compare(engine, state) {
            Ok(state) => return Ok(state),
            Err(Failure::Wrong(reason)) => reasons.push(reason),
            Err(told) => return Err(told),
        }
    }
    let last = model.latest().seq;
    wrong(format!(
        "at commit {seq} (known {known}, last {last}): {reasons:?}"
    ))
}

/// Compares everything; returns the state with the definitions that the engine has.
pub fn compare(engine: &Engine, state: &State) -> Result<State, Failure> {
    let dictionary = engine.dictionary();
    let databases: BTreeSet<&str> = dictionary.databases().map(|db| db.name.as_str()).collect();
    if !databases.iter().eq(&state.databases) {
        let expected = &state.databases;
        return wrong(format!("databases {databases:?}, expected {expected:?}"));
    }
    let records = dictionary.records(&[]);
    let records: BTreeMap<Vec<u8>, Vec<u8>> = records
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect();
    if records != state.records {
        let expected = &state.records;
        return wrong(format!("records {records:02x?}, expected {expected:02x?}"));
    }
    let there = |database: &&str| dictionary.tables(database).count();
    let count: usize = databases.iter().map(there).sum();
    if count != state.tables.len() {
        let expected = state.tables.len();
        return wrong(format!("{count} tables, expected {expected}"));
    }
    let mut found = state.clone();
    found.tables = BTreeMap::new();
    for table in state.tables.values() {
        found.put(compare_table(engine, table)?);
    }
    let prepared: Vec<Xid> = engine.prepared().into_iter().map(|info| info.xid).collect();
    if !prepared.iter().eq(state.prepared.keys()) {
        let expected: Vec<&Xid> = state.prepared.keys().collect();
        return wrong(format!("{prepared:?} are prepared, expected {expected:?}"));
    }
    Ok(found)
}

fn compare_table(engine: &Engine, table: &TableModel) -> Result<TableModel, Failure> {
    let expected = &table.definition;
    let (database, name) = (&expected.database, &expected.name);
    let dictionary = engine.dictionary();
    let Some(definition) = dictionary.table(database, name) else {
        return wrong(format!("table {database}.{name} is gone"));
    };
    let numbers = |table: &cohort_engine::types::Table| {
        let indexes = table.indexes.iter();
        let trees: Vec<_> = indexes
            .map(|index| (index.name.clone(), index.tree))
            .collect();
        let known = table.columns.iter().map(|column| column.histogram.clone());
        (table.id, table.rows, trees, known.collect::<Vec<_>>())
    };
    let (has, wants) = (numbers(definition), numbers(expected));
    if !table.guessed && has != wants {
        return wrong(format!("{database}.{name} is {has:?}, expected {wants:?}"));
    }
    let rows = checked_rows(engine, definition)?;
    let wants: Vec<&shape::Row> = table.rows.values().map(|version| &version.row).collect();
    let mut wants: Vec<shape::Row> = wants.into_iter().cloned().collect();
    wants.sort();
    if rows != wants {
        return wrong(format!(
            "{database}.{name} has {rows:?}, expected {wants:?}"
        ));
    }
    let next = engine.auto_increment_peek(definition).cast_signed();
    if table.shape.counts() && next <= table.counted {
        let counted = table.counted;
        return wrong(format!(
            "{database}.{name} counts on at {next}, {counted} was used"
        ));
    }
    Ok(TableModel {
        definition: Arc::clone(definition),
        guessed: false,
        ..table.clone()
    })
}

/// An engine that goes on after a crash, and what it must have.
pub struct Probe<'e> {
    pub engine: &'e Engine,
    pub model: Model,
    pub noise: &'e mut Noise,
}

impl Probe<'_> {
    fn state(&self) -> &State {
        self.model.latest()
    }
    fn commit(&mut self, change: impl FnOnce(&mut State)) -> Result<(), Failure> {
        self.model.place(change);
        let (expected, visible) = (self.state().seq, self.engine.log().visible());
        if expected != visible {
            return wrong(format!("commit {expected} was made, {visible} is visible"));
        }
        Ok(())
    }
    /// New tables of all shapes have no rows, and numbers that nothing ever had.
    pub fn new_tables(&mut self) -> Result<(), Failure> {
        let database = DATABASES[0];
        if !self.state().databases.contains(database) {
            schema::change(self.engine, 81, schema::put_database(database))?;
            self.commit(|state| {
                state.databases.insert(database.to_owned());
            })?;
        }
        for shape in (0..SHAPES).map(Shape) {
            let name = format!("new{}", shape.0);
            if self.state().named(database, &name).is_none() {
                self.new_table(shape, &name)?;
            }
        }
        Ok(())
    }
    fn new_table(&mut self, shape: Shape, name: &str) -> Result<(), Failure> {
        let table = shape.table(self.engine, DATABASES[0], name);
        if table.id <= self.state().ids {
            let (id, ids) = (table.id, self.state().ids);
            return wrong(format!("number {id} is given again, {ids} was used"));
        }
        schema::change(self.engine, 81, SchemaChange::CreateTable(table.clone()))?;
        let dictionary = self.engine.dictionary();
        let Some(definition) = dictionary.table(DATABASES[0], name).cloned() else {
            return wrong(format!("{name} was created and is not there"));
        };
        let rows = checked_rows(self.engine, &definition)?;
        if !rows.is_empty() {
            return wrong(format!("{name} is new and has {rows:?}"));
        }
        self.commit(|state| {
            state.put(TableModel {
                shape,
                definition: Arc::clone(&definition),
                guessed: false,
                rows: BTreeMap::new(),
                counted: 0,
            });
        })?;
        let row = schema::first_row(shape, self.noise);
        let ident = shape.ident(&row);
        let owner = access::owner(82);
        let options = access::options(Isolation::RepeatableRead);
        let mut txn = self.engine.begin(&owner, options);
        let used = access::use_table(&mut txn, &definition, true)?;
        let image = shape::image(&used, &row);
        txn.insert(&used, &image, LockMode::Shared)?;
        if let (true, Some(Field::Int(id))) = (shape.counts(), ident.first()) {
            self.engine
                .auto_increment_at_least(&used, id.cast_unsigned());
        }
        txn.commit("d0")?;
        let written = Written {
            row: Some(row),
            inserted: true,
        };
        let own = Own::from([((used.id, ident), written)]);
        self.commit(|state| state.write(&own))
    }
    /// What prepared transactions have changed is locked; ends one of them.
    pub fn prepared(&mut self) -> Result<(), Failure> {
        let prepared: Vec<_> = self.state().prepared.clone().into_iter().collect();
        for (xid, own) in &prepared {
            self.locked(xid, own)?;
        }
        let place = self.noise.below(prepared.len() as u64) as usize;
        let Some((xid, own)) = prepared.get(place) else {
            return Ok(());
        };
        if self.engine.claim_xid(xid).is_some() {
            return wrong(format!("{xid} is prepared, and was claimed again"));
        }
        let commit = self.noise.one_in(2);
        let owner = access::owner(83);
        if !self.engine.end_prepared(&owner, xid, commit, "d0", 0)? {
            return wrong(format!("{xid} is prepared, and cannot be ended"));
        }
        self.commit(|state| {
            state.prepared.remove(xid);
            if commit {
                state.write(own);
            }
        })?;
        let tables: BTreeSet<_> = own.keys().map(|(table, _)| *table).collect();
        for id in tables {
            if let Some(table) = self.state().tables.get(&id) {
                compare_table(self.engine, table)?;
            }
        }
        Ok(())
    }
    fn locked(&self, xid: &Xid, own: &Own) -> Result<(), Failure> {
        for (id, ident) in own.keys() {
            let Some(table) = self.state().tables.get(id) else {
                return wrong(format!("{xid} has changed a table that is gone"));
            };
            let like = table.shape.row(ident, &mut Noise::new(0));
            let owner = access::owner(84);
            let options = access::options(Isolation::ReadCommitted);
            let mut txn = self.engine.begin(&owner, options);
            let used = access::use_table(&mut txn, &table.definition, true)?;
            let Some(key) = shape::row_key(&used, &like) else {
                continue;
            };
            let read = Read::Locking(LockMode::Exclusive, OnConflict::Fail);
            match txn.get(used.rows, &key, read, &mut Vec::new()) {
                Err(TxnError::Nowait) => {}
                Ok(_) => return wrong(format!("{xid} has lost its lock of {ident:?}")),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
