//! The Base: all rows as of one Seq, in one file of redb, a copy-on-write B-tree.
//!
//! Everything redb is in this file, so that it can be exchanged. Each tree is a redb table named
//! `t` and the tree's number in decimal, so that dropping it frees its pages; `meta` holds what
//! the engine must know before it has read anything else. Commits are durable, in two phases and
//! with the allocator's state saved, so that opening after a crash takes no scan of the file.

use super::StoreError;
use crate::types::{IdMap, TreeId};
use parking_lot::RwLock;
use redb::{
    AccessGuard, Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, StorageBackend, Table, TableDefinition, TableError, TableHandle,
    WriteTransaction,
};
use std::{fmt::Display, ops::Bound, sync::Arc};

type Definition<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;
type TreeReader = ReadOnlyTable<&'static [u8], &'static [u8]>;

const META: Definition<'static> = TableDefinition::new("meta");

fn failed(error: impl Display) -> StoreError {
    StoreError(format!("the base file failed: {error}"))
}

fn tree_name(tree: TreeId) -> String {
    format!("t{tree}")
}

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// The file.
pub struct Base {
    database: Arc<Database>,
}

impl Base {
    /// Opens the file behind `backend`, or begins a new one if it is empty. `cache_bytes` bounds
    /// the memory for its pages.
    pub fn open(backend: impl StorageBackend, cache_bytes: usize) -> Result<Base, StoreError> {
        let database = Database::builder()
            .set_cache_size(cache_bytes)
            .create_with_backend(backend)
            .map_err(|error| {
                StoreError(format!(
                    "cannot open the base file: {error}; if the disk is in order, restore the \
                     data directory from a backup"
                ))
            })?;
        Ok(Base {
            database: Arc::new(database),
        })
    }
    /// Everything as of the last commit; later commits do not change it.
    pub fn snapshot(&self) -> Result<BaseSnapshot, StoreError> {
        let transaction = self.database.begin_read().map_err(failed)?;
        Ok(BaseSnapshot {
            transaction,
            trees: RwLock::default(),
            _database: Arc::clone(&self.database),
        })
    }
    /// Begins a change; only one at a time (a second one waits).
    pub fn write(&self) -> Result<BaseWrite, StoreError> {
        let mut transaction = self.database.begin_write().map_err(failed)?;
        transaction.set_quick_repair(true);
        Ok(BaseWrite { transaction })
    }
}

/// The Base as of one commit.
pub struct BaseSnapshot {
    transaction: ReadTransaction,
    trees: RwLock<IdMap<Option<Arc<TreeReader>>>>,
    /// redb reads no more once its database is dropped.
    _database: Arc<Database>,
}

impl BaseSnapshot {
    fn tree(&self, tree: TreeId) -> Result<Option<Arc<TreeReader>>, StoreError> {
        if let Some(reader) = self.trees.read().get(&tree) {
            return Ok(reader.clone());
        }
        let name = tree_name(tree);
        let reader = match self.transaction.open_table(Definition::new(&name)) {
            Ok(reader) => Some(Arc::new(reader)),
            Err(TableError::TableDoesNotExist(_)) => None,
            Err(error) => return Err(failed(error)),
        };
        self.trees.write().insert(tree, reader.clone());
        Ok(reader)
    }
    /// Gives the value of a key to `found`; `None` if there is none.
    pub fn get<R>(
        &self,
        tree: TreeId,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let Some(reader) = self.tree(tree)? else {
            return Ok(None);
        };
        let value = reader.get(key).map_err(failed)?;
        Ok(value.map(|value| found(value.value())))
    }
    /// The entries of `low..high` (`None`: to the end), to be taken from either end.
    pub fn range(
        &self,
        tree: TreeId,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> Result<BaseRange, StoreError> {
        let high = high.map_or(Bound::Unbounded, Bound::Excluded);
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(low), high);
        let empty = matches!(high, Bound::Excluded(high) if high <= low);
        let range = match self.tree(tree)? {
            Some(reader) if !empty => Some(reader.range::<&[u8]>(bounds).map_err(failed)?),
            _ => None,
        };
        Ok(BaseRange { range })
    }
    /// How many entries a tree has.
    pub fn tree_len(&self, tree: TreeId) -> Result<u64, StoreError> {
        match self.tree(tree)? {
            Some(reader) => reader.len().map_err(failed),
            None => Ok(0),
        }
    }
    /// All trees there are.
    pub fn trees(&self) -> Result<Vec<TreeId>, StoreError> {
        let tables = self.transaction.list_tables().map_err(failed)?;
        Ok(tables
            .filter_map(|table| table.name().strip_prefix('t')?.parse().ok())
            .collect())
    }
    /// All of `meta`.
    pub fn meta(&self) -> Result<Vec<Pair>, StoreError> {
        let table = match self.transaction.open_table(META) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let range = table.range::<&[u8]>(..).map_err(failed)?;
        range
            .map(|entry| {
                let (key, value) = entry.map_err(failed)?;
                Ok((key.value().to_vec(), value.value().to_vec()))
            })
            .collect()
    }
}

/// A part of a tree, in key order.
pub struct BaseRange {
    range: Option<redb::Range<'static, &'static [u8], &'static [u8]>>,
}

/// An entry of the Base, read in place.
pub struct BaseItem {
    key: AccessGuard<'static, &'static [u8]>,
    value: AccessGuard<'static, &'static [u8]>,
}

impl BaseItem {
    /// Its key.
    pub fn key(&self) -> &[u8] {
        self.key.value()
    }
    /// Its value.
    pub fn value(&self) -> &[u8] {
        self.value.value()
    }
}

impl BaseRange {
    /// The next entry from the front or, if `reverse`, from the back.
    pub fn next(&mut self, reverse: bool) -> Result<Option<BaseItem>, StoreError> {
        let Some(range) = &mut self.range else {
            return Ok(None);
        };
        let entry = if reverse {
            range.next_back()
        } else {
            range.next()
        };
        match entry {
            None => Ok(None),
            Some(Ok((key, value))) => Ok(Some(BaseItem { key, value })),
            Some(Err(error)) => Err(failed(error)),
        }
    }
}

/// A change of the Base, all or nothing. Dropping it without `commit` leaves everything as it was.
pub struct BaseWrite {
    transaction: WriteTransaction,
}

/// A tree being written.
pub struct TreeWriter<'a>(Table<'a, &'static [u8], &'static [u8]>);

impl BaseWrite {
    /// Opens a tree for writing; it comes into being if need be.
    pub fn tree(&self, tree: TreeId) -> Result<TreeWriter<'_>, StoreError> {
        let name = tree_name(tree);
        let table = self
            .transaction
            .open_table(Definition::new(&name))
            .map_err(failed)?;
        Ok(TreeWriter(table))
    }
    /// `meta`, for writing.
    pub fn meta(&self) -> Result<TreeWriter<'_>, StoreError> {
        Ok(TreeWriter(
            self.transaction.open_table(META).map_err(failed)?,
        ))
    }
    /// Removes a tree, if it exists, and frees its pages.
    pub fn drop_tree(&self, tree: TreeId) -> Result<(), StoreError> {
        let name = tree_name(tree);
        self.transaction
            .delete_table(Definition::new(&name))
            .map_err(failed)?;
        Ok(())
    }
    /// Makes it durable.
    pub fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit().map_err(failed)
    }
}

impl TreeWriter<'_> {
    /// Puts an entry, replacing one with the same key.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.0.insert(key, value).map_err(failed)?;
        Ok(())
    }
    /// Puts entries in the order of their keys, all above those in the tree. `parts` are an
    /// entry's key and its value.
    pub fn append<E>(
        &mut self,
        entries: impl Iterator<Item = E>,
        parts: impl Fn(&E) -> (&[u8], &[u8]),
    ) -> Result<(), StoreError> {
        let mut end = self
            .0
            .upper_bound_mut(Bound::<&[u8]>::Unbounded)
            .map_err(failed)?;
        for entry in entries {
            let (key, value) = parts(&entry);
            end.insert_before(key, value).map_err(failed)?;
        }
        end.close().map_err(failed)
    }
    /// The last key.
    pub fn last_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let last = self.0.last().map_err(failed)?;
        Ok(last.map(|(last, _)| last.value().to_vec()))
    }
    /// Whether all keys are below `key`.
    pub fn is_below(&self, key: &[u8]) -> Result<bool, StoreError> {
        let last = self.last_key()?;
        Ok(last.is_none_or(|last| last.as_slice() < key))
    }
    /// Removes an entry, if it exists.
    pub fn remove(&mut self, key: &[u8]) -> Result<(), StoreError> {
        self.0.remove(key).map_err(failed)?;
        Ok(())
    }
    /// The first key at or after `low`, if it begins with `prefix`.
    pub fn has_prefix(&self, prefix: &[u8]) -> Result<bool, StoreError> {
        let mut range = self.0.range::<&[u8]>(prefix..).map_err(failed)?;
        match range.next() {
            None => Ok(false),
            Some(entry) => {
                let (key, _) = entry.map_err(failed)?;
                Ok(key.value().starts_with(prefix))
            }
        }
    }
    /// All keys, for removing what is no longer wanted; for small tables only.
    pub fn keys(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        let range = self.0.range::<&[u8]>(..).map_err(failed)?;
        range
            .map(|entry| Ok(entry.map_err(failed)?.0.value().to_vec()))
            .collect()
    }
}
