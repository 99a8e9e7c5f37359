//! The data dictionary: databases, tables, and the internal records that `sql` keeps.
//!
//! A schema change is a list of records, put or deleted. The same records, in the same bytes, are
//! what a DDL writes to the log beside its statement, what recovery replays, and what the Base
//! keeps in its `meta` tree:
//!
//! | key | value |
//! |---|---|
//! | `d` name | JSON of [`Database`] |
//! | `t` table number, 4 bytes big endian | JSON of [`Table`]; `since` 0 means the commit that carries the record |
//! | `v` database, a zero byte, name | JSON of [`View`] |
//! | `r` key | an internal record of `sql`, as it is |

use super::{TxnError, table_state::TableState};
use crate::{
    Seq,
    store::TextTree,
    types::{IdMap, Table, TableId, TreeId, View, schema::Database},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::{Arc, atomic::Ordering},
};

/// A record as it is logged: put, or (`None`) deleted.
pub(super) type Record = (Vec<u8>, Option<Vec<u8>>);

const DATABASE: u8 = b'd';
const TABLE: u8 = b't';
const VIEW: u8 = b'v';
const RECORD: u8 = b'r';

#[derive(Clone)]
struct Entry {
    table: Arc<Table>,
    state: Arc<TableState>,
}

#[derive(Clone)]
struct DatabaseEntry {
    database: Database,
    tables: BTreeMap<String, Arc<Table>>,
    views: BTreeMap<String, Arc<View>>,
}

/// All databases, tables and internal records, as of one Seq. Immutable; a DDL makes a new one.
#[derive(Clone, Default)]
pub struct Dictionary {
    version: u64,
    databases: BTreeMap<String, Arc<DatabaseEntry>>,
    by_id: IdMap<Entry>,
    records: BTreeMap<Vec<u8>, Vec<u8>>,
    /// By database and name of a parent, which may not be there: the tables whose foreign keys
    /// refer to it.
    children: BTreeMap<(String, String), BTreeSet<TableId>>,
    /// Tables whose records were applied before their Seq was known.
    unstamped: Vec<TableId>,
    /// The highest number that a table or tree ever had: those of dropped ones, too.
    last_id: u32,
}

impl Dictionary {
    /// A number that grows with every change: cached plans are valid for one version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }
    /// All databases, by name.
    pub fn databases(&self) -> impl Iterator<Item = &Database> {
        self.databases.values().map(|entry| &entry.database)
    }
    /// A database by its name (case-sensitive, as MySQL on Linux).
    #[must_use]
    pub fn database(&self, name: &str) -> Option<&Database> {
        self.databases.get(name).map(|entry| &entry.database)
    }
    /// The tables of a database, by name.
    pub fn tables(&self, database: &str) -> impl Iterator<Item = &Arc<Table>> {
        let entry = self.databases.get(database);
        entry.into_iter().flat_map(|entry| entry.tables.values())
    }
    /// A table by its name (case-sensitive, as MySQL on Linux).
    #[must_use]
    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        self.databases.get(database)?.tables.get(name)
    }
    /// The views of a database, by name.
    pub fn views(&self, database: &str) -> impl Iterator<Item = &Arc<View>> {
        let entry = self.databases.get(database);
        entry.into_iter().flat_map(|entry| entry.views.values())
    }
    /// A view by its name, which no table of its database has.
    #[must_use]
    pub fn view(&self, database: &str, name: &str) -> Option<&Arc<View>> {
        self.databases.get(database)?.views.get(name)
    }
    /// Whether a table or a view has the name.
    #[must_use]
    pub fn has(&self, database: &str, name: &str) -> bool {
        self.table(database, name).is_some() || self.view(database, name).is_some()
    }
    /// The tables with foreign keys that refer to a table of this name, oldest first; itself among
    /// them, if one of its own does.
    pub fn children(&self, database: &str, name: &str) -> impl Iterator<Item = &Arc<Table>> {
        let ids = match self.children.is_empty() {
            true => None,
            false => self.children.get(&(database.to_owned(), name.to_owned())),
        };
        let ids = ids.into_iter().flatten();
        ids.filter_map(|id| self.table_by_id(*id))
    }
    /// A table by its number.
    #[must_use]
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<Table>> {
        self.by_id.get(&id).map(|entry| &entry.table)
    }
    /// An internal record.
    #[must_use]
    pub fn record(&self, key: &[u8]) -> Option<&[u8]> {
        self.records.get(key).map(Vec::as_slice)
    }
    /// All internal records whose keys begin so.
    pub fn records(&self, prefix: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
        let bounds = (Bound::Included(prefix), Bound::Unbounded);
        self.records
            .range::<[u8], _>(bounds)
            .take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    /// A table's definition and state.
    pub(super) fn entry(&self, id: TableId) -> Option<(&Arc<Table>, &Arc<TableState>)> {
        self.by_id
            .get(&id)
            .map(|entry| (&entry.table, &entry.state))
    }
    /// All tables' states.
    pub(super) fn states(&self) -> impl Iterator<Item = &Arc<TableState>> {
        self.by_id.values().map(|entry| &entry.state)
    }
    /// All tables, each with its state.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&Arc<Table>, &Arc<TableState>)> {
        self.by_id
            .values()
            .map(|entry| (&entry.table, &entry.state))
    }
    /// All trees that tables own.
    pub(super) fn trees(&self) -> impl Iterator<Item = TreeId> {
        self.by_id
            .values()
            .flat_map(|entry| table_trees(&entry.table))
    }
    /// The trees of FULLTEXT indexes.
    pub(super) fn text_trees(&self) -> IdMap<TextTree> {
        let mut trees = IdMap::default();
        for Entry { table, .. } in self.by_id.values() {
            for text in &table.fulltext {
                let tree = TextTree {
                    table: Arc::clone(table),
                    text: text.clone(),
                };
                trees.insert(text.index.tree, tree);
            }
        }
        trees
    }
    /// What a tree is called in errors: `table d.t`, or `index i of table d.t`.
    pub(super) fn name_of(&self, tree: TreeId) -> Option<String> {
        self.by_id.values().find_map(|Entry { table, .. }| {
            let of_table = format!("table {}.{}", table.database, table.name);
            if table.rows == tree {
                return Some(of_table);
            }
            let texts = table.fulltext.iter().map(|text| &text.index);
            let mut indexes = table.indexes.iter().chain(texts);
            let index = indexes.find(|index| index.tree == tree)?;
            Some(format!("index {} of {of_table}", index.name))
        })
    }
    /// A number above all that tables and trees ever had as far as it knows: a dropped tree's rows
    /// may still be in the delta or in the log.
    pub(super) fn next_id(&self) -> u32 {
        self.last_id + 1
    }
    /// Applies a record of the commit `seq` (0: not known yet, see `stamp`).
    pub(super) fn apply(
        &mut self,
        key: &[u8],
        value: Option<&[u8]>,
        seq: Seq,
    ) -> Result<(), TxnError> {
        self.version += 1;
        match key.split_first() {
            Some((&DATABASE, name)) => self.apply_database(name, value),
            Some((&TABLE, id)) => self.apply_table(id, value, seq),
            Some((&VIEW, key)) => self.apply_view(key, value),
            Some((&RECORD, key)) => {
                match value {
                    Some(value) => self.records.insert(key.to_vec(), value.to_vec()),
                    None => self.records.remove(key),
                };
                Ok(())
            }
            _ => Err(TxnError::Corrupt(format!(
                "an unknown dictionary record {key:02x?}"
            ))),
        }
    }
    fn apply_database(&mut self, name: &[u8], value: Option<&[u8]>) -> Result<(), TxnError> {
        let name = String::from_utf8_lossy(name).into_owned();
        match value {
            None => {
                self.databases.remove(&name);
            }
            Some(value) => {
                let database: Database = parse(value)?;
                match self.databases.get_mut(&name) {
                    Some(entry) => Arc::make_mut(entry).database = database,
                    None => {
                        let entry = DatabaseEntry {
                            database,
                            tables: BTreeMap::new(),
                            views: BTreeMap::new(),
                        };
                        self.databases.insert(name, Arc::new(entry));
                    }
                }
            }
        }
        Ok(())
    }
    fn apply_view(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), TxnError> {
        let key = String::from_utf8_lossy(key);
        let Some((database, name)) = key.split_once('\0') else {
            return Err(TxnError::Corrupt("a view record without name".to_owned()));
        };
        let Some(entry) = self.databases.get_mut(database) else {
            return Err(TxnError::Corrupt(format!("view {name} is in no database")));
        };
        let views = &mut Arc::make_mut(entry).views;
        match value {
            Some(value) => views.insert(name.to_owned(), Arc::new(parse(value)?)),
            None => views.remove(name),
        };
        Ok(())
    }
    fn apply_table(&mut self, id: &[u8], value: Option<&[u8]>, seq: Seq) -> Result<(), TxnError> {
        let id = <[u8; 4]>::try_from(id)
            .map(TableId::from_be_bytes)
            .map_err(|_| TxnError::Corrupt("a table record without number".to_owned()))?;
        let old = self.by_id.remove(&id);
        if let Some(old) = &old {
            self.forget_parents(&old.table);
        }
        if let Some(old) = &old
            && let Some(entry) = self.databases.get_mut(&old.table.database)
            && entry
                .tables
                .get(&old.table.name)
                .is_some_and(|table| table.id == id)
        {
            Arc::make_mut(entry).tables.remove(&old.table.name);
        }
        let Some(value) = value else {
            return Ok(());
        };
        let mut table: Table = parse(value)?;
        if table.stamp(seq) && seq == 0 {
            self.unstamped.push(id);
        }
        self.last_id = table_trees(&table).fold(self.last_id.max(id), u32::max);
        let state = old.map_or_else(|| TableState::new(id), |old| old.state);
        state
            .auto_increment
            .fetch_max(table.auto_increment_min, Ordering::Relaxed);
        let table = Arc::new(table);
        let Some(entry) = self.databases.get_mut(&table.database) else {
            return Err(TxnError::Corrupt(format!(
                "table {} is in no database",
                table.name
            )));
        };
        let tables = &mut Arc::make_mut(entry).tables;
        tables.insert(table.name.clone(), Arc::clone(&table));
        for key in &table.foreign_keys {
            let parent = (key.parent_database.clone(), key.parent.clone());
            self.children.entry(parent).or_default().insert(id);
        }
        self.by_id.insert(id, Entry { table, state });
        Ok(())
    }
    /// A table that goes, or changes, is nobody's child any more.
    fn forget_parents(&mut self, child: &Table) {
        for key in &child.foreign_keys {
            let parent = (key.parent_database.clone(), key.parent.clone());
            if let Some(children) = self.children.get_mut(&parent) {
                children.remove(&child.id);
                if children.is_empty() {
                    self.children.remove(&parent);
                }
            }
        }
    }
    /// Sets `since` of the tables whose records were applied before their Seq was known.
    pub(super) fn stamp(&mut self, seq: Seq) {
        for id in std::mem::take(&mut self.unstamped) {
            let Some(entry) = self.by_id.get_mut(&id) else {
                // It went in the same change.
                continue;
            };
            let mut table = Table::clone(&entry.table);
            table.stamp(seq);
            entry.table = Arc::new(table);
            if let Some(database) = self.databases.get_mut(&entry.table.database) {
                let name = entry.table.name.clone();
                let tables = &mut Arc::make_mut(database).tables;
                tables.insert(name, Arc::clone(&entry.table));
            }
        }
    }
    /// Gives a table the state that it had before it was listed.
    pub(super) fn set_state(&mut self, id: TableId, state: &Arc<TableState>) {
        if let Some(entry) = self.by_id.get_mut(&id) {
            entry.state = Arc::clone(state);
        }
    }
    /// The same with temporary tables, which hide those of their names.
    pub(super) fn with_temporary<'t>(
        &self,
        tables: impl Iterator<Item = (&'t Arc<Table>, &'t Arc<TableState>)>,
        version: u64,
    ) -> Dictionary {
        let mut own = self.clone();
        own.version = version;
        for (table, state) in tables {
            if let Some(entry) = own.databases.get_mut(&table.database) {
                let tables = &mut Arc::make_mut(entry).tables;
                tables.insert(table.name.clone(), Arc::clone(table));
            }
            let entry = Entry {
                table: Arc::clone(table),
                state: Arc::clone(state),
            };
            own.by_id.insert(table.id, entry);
        }
        own
    }
    /// Everything as records, for the Base.
    pub(super) fn to_records(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let databases = self.databases().map(put_database);
        let tables = self.by_id.values().map(|entry| put_table(&entry.table));
        let records = self
            .records
            .iter()
            .map(|(key, value)| (record_key(key), Some(value.clone())));
        let views = self
            .databases
            .values()
            .flat_map(|entry| entry.views.values());
        let views = views.map(|view| put_view(view));
        databases
            .chain(tables)
            .chain(views)
            .chain(records)
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(value: &'a [u8]) -> Result<T, TxnError> {
    serde_json::from_slice(value)
        .map_err(|error| TxnError::Corrupt(format!("a damaged dictionary record: {error}")))
}

fn json<T: serde::Serialize>(value: &T) -> Vec<u8> {
    // Definitions have no maps with keys that JSON lacks, so this cannot fail.
    serde_json::to_vec(value).unwrap_or_default()
}

fn keyed(kind: u8, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + key.len());
    bytes.push(kind);
    bytes.extend_from_slice(key);
    bytes
}

/// Whether this key of the log or of `meta` is the dictionary's.
pub(super) fn is_dictionary_key(key: &[u8]) -> bool {
    matches!(key.first(), Some(&DATABASE | &TABLE | &VIEW | &RECORD))
}

/// The trees a table owns.
pub(super) fn table_trees(table: &Table) -> impl Iterator<Item = TreeId> {
    let texts = table.fulltext.iter().map(|text| &text.index);
    let indexes = table.indexes.iter().chain(texts);
    std::iter::once(table.rows).chain(indexes.map(|index| index.tree))
}

/// The record that creates or changes a database.
pub(super) fn put_database(database: &Database) -> Record {
    (
        keyed(DATABASE, database.name.as_bytes()),
        Some(json(database)),
    )
}

/// The record that drops a database.
pub(super) fn drop_database(name: &str) -> Record {
    (keyed(DATABASE, name.as_bytes()), None)
}

/// The record that creates or changes a table.
pub(super) fn put_table(table: &Table) -> Record {
    (keyed(TABLE, &table.id.to_be_bytes()), Some(json(table)))
}

/// The record that drops a table.
pub(super) fn drop_table(id: TableId) -> Record {
    (keyed(TABLE, &id.to_be_bytes()), None)
}

fn view_key(database: &str, name: &str) -> Vec<u8> {
    keyed(VIEW, [database, name].join("\0").as_bytes())
}

/// The record that creates or changes a view.
pub(super) fn put_view(view: &View) -> Record {
    (view_key(&view.database, &view.name), Some(json(view)))
}

/// The record that drops a view.
pub(super) fn drop_view(view: &View) -> Record {
    (view_key(&view.database, &view.name), None)
}

/// The key of an internal record of `sql`.
pub(super) fn record_key(key: &[u8]) -> Vec<u8> {
    keyed(RECORD, key)
}
