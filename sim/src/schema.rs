//! Schema changes: few names, so that they are dropped and made again all the time.

use crate::{
    access,
    model::{State, TableModel},
    shape::{Field, Shape},
    world::World,
};
use cohort_engine::{
    txn::{DdlStatement, Dictionary, Engine, Numbers, Others, Related, SchemaChange, TxnError},
    types::{
        Collation, Column, ColumnType, Table, TableId, Value,
        row::{Reshape, Source},
        schema::Database,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::AtomicU64},
};

/// The names of databases.
pub const DATABASES: [&str; 2] = ["d0", "d1"];
/// The names of tables.
const TABLES: [&str; 3] = ["t0", "t1", "t2"];

/// A change of the model: what the engine's change comes to.
type Change = Box<dyn FnOnce(&mut State, Option<&Dictionary>)>;

/// Performs a change.
pub fn change(engine: &Engine, session: u64, change: SchemaChange<'_>) -> Result<u64, TxnError> {
    let statement = DdlStatement {
        database: DATABASES[0].to_owned(),
        text: "a schema change".to_owned(),
        reading: cohort_engine::log::Reading::default(),
        foreign_key_checks: true,
        threads: 1,
    };
    engine.change_schema(
        &access::owner(session),
        change,
        &Related::default(),
        &statement,
        0,
        None,
    )
}

/// CREATE DATABASE.
pub fn put_database(name: &str) -> SchemaChange<'static> {
    SchemaChange::PutDatabase(Database {
        name: name.to_owned(),
        collation: Collation::Utf8mb40900AiCi,
    })
}

/// A table that is new, with a definition that the dictionary has or, if that is not to be had,
/// one like it.
fn new_table(shape: Shape, like: &Table, known: Option<&Dictionary>) -> TableModel {
    let found = known.and_then(|known| known.table(&like.database, &like.name));
    TableModel {
        shape,
        definition: found.map_or_else(|| Arc::new(like.clone()), Arc::clone),
        guessed: found.is_none(),
        rows: BTreeMap::new(),
        counted: 0,
    }
}

fn replace(state: &mut State, old: TableId, table: TableModel) {
    state.tables.remove(&old);
    state.put(table);
}

/// A table has another definition and the same rows.
fn redefined(state: &mut State, known: Option<&Dictionary>, after: Table) {
    let Some(table) = state.tables.get(&after.id) else {
        return;
    };
    let mut table = TableModel::clone(table);
    let found = known.and_then(|known| known.table_by_id(after.id));
    table.definition = found.map_or_else(|| Arc::new(after), Arc::clone);
    state.put(table);
}

impl World {
    /// Any change; it may be one that is refused.
    pub fn change_schema(&mut self) -> Result<(), String> {
        if self.noise.one_in(10) {
            return self.put_record();
        }
        let database = DATABASES[self.noise.below(8) as usize / 7];
        let name = TABLES[self.noise.below(TABLES.len() as u64) as usize];
        let latest = self.model.latest();
        let table = latest.named(database, name).cloned();
        let Some(table) = table else {
            return self.create(database, name);
        };
        match self.noise.below(14) {
            0..4 => self.drop_table(&table),
            4..6 => self.truncate(&table),
            6 => self.rename(&table),
            7 => self.describe(&table),
            8 => self.alter(&table),
            9 => self.rebuild(&table),
            10 => self.drop_database(database),
            11 | 12 => self.reshape(&table),
            _ => self.create(database, name),
        }
    }
    fn perform(
        &mut self,
        what: &'static str,
        ddl: SchemaChange,
        change: Change,
    ) -> Result<(), String> {
        let result = self::change(&self.engine, 80, ddl);
        self.say(|| format!("{what}: {result:?}"));
        let result = result.and_then(|seq| {
            let expected = self.model.latest().seq + 1;
            if seq != expected && self.model.doubtful.is_empty() {
                return Err(TxnError::Corrupt(format!(
                    "commit {seq} instead of {expected}"
                )));
            }
            Ok(())
        });
        let before = self.model.latest().ids;
        let old: BTreeSet<TableId> = self.model.latest().tables.keys().copied().collect();
        let known = result.is_ok().then(|| self.engine.dictionary());
        self.committed(what, result, |state| change(state, known.as_deref()))?;
        let latest = self.model.latest();
        let fresh = latest.tables.keys().filter(|id| !old.contains(id));
        for id in fresh {
            if *id <= before {
                return Err(format!("{what}: number {id} is not new, {before} was used"));
            }
        }
        Ok(())
    }
    fn put_record(&mut self) -> Result<(), String> {
        let key = format!("key {}", self.noise.below(4)).into_bytes();
        let value = (!self.noise.one_in(3)).then(|| self.noise.next_u64().to_le_bytes().to_vec());
        let ddl = SchemaChange::Records(vec![(key.clone(), value.clone())]);
        self.perform(
            "record",
            ddl,
            Box::new(move |state, _| {
                match value {
                    Some(value) => state.records.insert(key, value),
                    None => state.records.remove(&key),
                };
            }),
        )
    }
    fn create(&mut self, database: &str, name: &str) -> Result<(), String> {
        let latest = self.model.latest();
        if !latest.databases.contains(database) {
            let name = database.to_owned();
            let ddl = put_database(database);
            return self.perform(
                "create database",
                ddl,
                Box::new(move |state, _| {
                    state.databases.insert(name);
                }),
            );
        }
        let exists = latest.named(database, name).is_some();
        let shape = Shape::any(&mut self.noise);
        let table = shape.table(&self.engine, database, name);
        let like = table.clone();
        if exists {
            let result = change(&self.engine, 80, SchemaChange::CreateTable(table));
            return match result {
                Ok(_) => Err(format!("{name} was created twice")),
                Err(error) => self.tolerate("create again", &error),
            };
        }
        let ddl = SchemaChange::CreateTable(table);
        self.perform(
            "create table",
            ddl,
            Box::new(move |state, known| {
                let mut table = new_table(shape, &like, known);
                table.guessed = false;
                state.put(table);
            }),
        )
    }
    fn drop_table(&mut self, table: &TableModel) -> Result<(), String> {
        let id = table.definition.id;
        let ddl = SchemaChange::DropTables(vec![id]);
        self.perform(
            "drop table",
            ddl,
            Box::new(move |state, _| {
                state.tables.remove(&id);
            }),
        )
    }
    fn truncate(&mut self, table: &TableModel) -> Result<(), String> {
        let old = Arc::clone(&table.definition);
        let shape = table.shape;
        let ddl = SchemaChange::Truncate(old.id);
        self.perform(
            "truncate table",
            ddl,
            Box::new(move |state, known| {
                replace(state, old.id, new_table(shape, &old, known));
            }),
        )
    }
    fn rename(&mut self, table: &TableModel) -> Result<(), String> {
        let database = DATABASES[self.noise.below(2) as usize].to_owned();
        let name = TABLES[self.noise.below(TABLES.len() as u64) as usize].to_owned();
        let latest = self.model.latest();
        let there = latest.named(&database, &name);
        let id = table.definition.id;
        let free = there.is_none() || there.is_some_and(|there| there.definition.id == id);
        let may = latest.databases.contains(&database) && free;
        let renames = vec![(id, database.clone(), name.clone())];
        let ddl = SchemaChange::Rename(renames);
        if !may {
            return match change(&self.engine, 80, ddl) {
                Ok(_) => Err(format!("renamed to {database}.{name}, which is not free")),
                Err(error) => self.tolerate("rename", &error),
            };
        }
        self.perform(
            "rename table",
            ddl,
            Box::new(move |state, known| {
                let Some(mut table) = state.tables.get(&id).map(|table| TableModel::clone(table))
                else {
                    return;
                };
                let mut definition = Table::clone(&table.definition);
                definition.database = database;
                definition.name = name;
                let found = known.and_then(|known| known.table_by_id(id));
                table.definition = found.map_or_else(|| Arc::new(definition), Arc::clone);
                state.put(table);
            }),
        )
    }
    /// What is known of a column changes, and its table stays what it is.
    fn describe(&mut self, table: &TableModel) -> Result<(), String> {
        let old = Arc::clone(&table.definition);
        let mut new = Table::clone(&old);
        let known = self.noise.below(4);
        if let Some(column) = new.columns.first_mut() {
            column.histogram = (known > 0).then(|| known.to_string().into());
        }
        let after = new.clone();
        let ddl = SchemaChange::Describe { old, new };
        self.perform(
            "describe",
            ddl,
            Box::new(move |state, known| redefined(state, known, after)),
        )
    }
    /// An index more, or one less.
    fn alter(&mut self, table: &TableModel) -> Result<(), String> {
        let old = Arc::clone(&table.definition);
        let mut new = Table::clone(&old);
        let more = new.indexes.iter().position(|index| index.name == "more");
        match more {
            Some(place) => drop(new.indexes.remove(place)),
            None => new
                .indexes
                .push(table.shape.more_index(&self.engine, "more")),
        }
        let after = new.clone();
        let ddl = SchemaChange::AlterInPlace {
            old,
            new,
            others: Others::default(),
        };
        let what = if more.is_some() {
            "drop index"
        } else {
            "create index"
        };
        self.perform(
            what,
            ddl,
            Box::new(move |state, known| redefined(state, known, after)),
        )
    }
    /// A column more, with a value for the rows there are, or one less of those.
    fn reshape(&mut self, table: &TableModel) -> Result<(), String> {
        let old = Arc::clone(&table.definition);
        if old.columns.iter().any(Column::is_hidden) {
            return Ok(());
        }
        let mut new = Table::clone(&old);
        new.rows = self.engine.new_id();
        if let Some(primary) = &mut new.primary {
            primary.tree = new.rows;
        }
        let value = self.noise.below(100) as i64;
        let is_more = |column: &Column| column.name.starts_with("more");
        let less = new.columns.last().is_some_and(is_more) && self.noise.one_in(2);
        if less {
            new.columns.pop();
        } else {
            let name = format!("more{}", new.columns.len());
            new.columns.push(Column::new(&name, ColumnType::BigInt));
        }
        let sources = (0..new.columns.len()).map(|place| match place < old.columns.len() {
            true => Source::Column(place),
            false => Source::Value(Value::Int(value)),
        });
        let sources: Vec<Source> = sources.collect();
        let reshape = Reshape::new(&old.columns, &new.columns, &sources);
        let Some(reshape) = reshape else {
            return Err("columns that stay do not stay".to_owned());
        };
        let after = new.clone();
        let ddl = SchemaChange::Reshape { old, new, reshape };
        self.perform(
            if less { "drop column" } else { "add column" },
            ddl,
            Box::new(move |state, known| {
                let id = after.id;
                redefined(state, known, after);
                let Some(table) = state.tables.get(&id) else {
                    return;
                };
                let mut table = TableModel::clone(table);
                for version in table.rows.values_mut() {
                    match less {
                        true => drop(version.row.pop()),
                        false => version.row.push(Field::Int(value)),
                    }
                }
                state.put(table);
            }),
        )
    }
    /// All rows anew.
    fn rebuild(&mut self, table: &TableModel) -> Result<(), String> {
        let old = Arc::clone(&table.definition);
        let mut new = table.shape.table(&self.engine, &old.database, &old.name);
        new.columns.clone_from(&old.columns);
        let like = new.clone();
        let used = table.counted.cast_unsigned();
        let old_id = old.id;
        let ddl = SchemaChange::Rebuild {
            old,
            new,
            convert: Box::new(|_, before, after| {
                after.extend_from_slice(before);
                Ok(())
            }),
            numbers: Numbers {
                used: Arc::new(AtomicU64::new(used)),
                restart: false,
            },
            now_micros: 0,
            settings: String::new(),
            others: Others::default(),
        };
        self.perform(
            "rebuild table",
            ddl,
            Box::new(move |state, known| {
                let Some(old) = state.tables.get(&old_id).cloned() else {
                    return;
                };
                let mut table = new_table(old.shape, &like, known);
                table.guessed = false;
                table.counted = old.counted;
                table.rows = old.rows.clone();
                let seq = state.seq;
                for version in table.rows.values_mut() {
                    version.seq = seq;
                }
                replace(state, old_id, table);
            }),
        )
    }
    fn drop_database(&mut self, name: &str) -> Result<(), String> {
        let name = name.to_owned();
        let ddl = SchemaChange::DropDatabase(name.clone());
        self.perform(
            "drop database",
            ddl,
            Box::new(move |state, _| {
                state.databases.remove(&name);
                state
                    .tables
                    .retain(|_, table| table.definition.database != name);
            }),
        )
    }
}

/// A row of a new table.
pub fn first_row(shape: Shape, noise: &mut cohort_engine::env::fake::Noise) -> Vec<Field> {
    let ident = shape.any_ident(noise);
    shape.row(&ident, noise)
}
