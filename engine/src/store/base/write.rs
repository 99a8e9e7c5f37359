//! Changes of the Base.

use super::{
    current::Current,
    layers::{LAYERS, Layer, Layers},
    opened::{Definition, META, Opened, PAGE, named, reading, tree_name},
    snapshot::BaseSnapshot,
};
use crate::{
    store::{
        StoreError,
        file::{Writing, writing},
    },
    types::TreeId,
};
use redb::{Durability, ReadableTable, Table, WriteTransaction};
use std::{
    cell::{Cell, RefCell},
    fmt::Display,
    ops::Bound,
    sync::Arc,
};

/// A change ends in parts that make about so many of its pages: a part of the memory for pages that
/// leaves those of the part before in redb's half of it, and some room.
const PART_OF_CACHE: usize = 8;

/// A change of the Base, all or nothing. Dropping it without `commit` leaves everything as it was.
pub struct BaseWrite<'b> {
    /// None once it is over.
    transaction: Option<WriteTransaction>,
    current: &'b Current,
    opened: Arc<Opened>,
    /// As they are in it.
    layers: RefCell<Layers>,
    /// Bytes of the pages that it made since its last part ended, about, and at most.
    changed: Cell<usize>,
    has_parts: bool,
    _writing: Writing,
}

/// A tree being written.
pub struct TreeWriter<'a> {
    pub(super) table: Table<'a, &'static [u8], &'static [u8]>,
    pub(super) tree: Option<TreeId>,
    pub(super) write: &'a BaseWrite<'a>,
    /// What it has of the tree below.
    below: Option<Box<Below<'a>>>,
}

impl<'b> BaseWrite<'b> {
    /// Begins one of the file as it is open, which must be ready for it.
    pub(super) fn new(current: &'b Current) -> Result<BaseWrite<'b>, StoreError> {
        let mut write = BaseWrite {
            transaction: None,
            current,
            opened: current.opened.load_full(),
            layers: RefCell::default(),
            changed: Cell::new(0),
            has_parts: false,
            _writing: writing(),
        };
        write.begin()?;
        *write.layers.borrow_mut() = BaseSnapshot::of(&write.opened)?.layers;
        Ok(write)
    }
}

impl BaseWrite<'_> {
    /// Calls redb to change something. After an error, its own or the file's, nothing of this
    /// change comes to be.
    pub(super) fn call<T, E: Display>(
        &self,
        tree: Option<TreeId>,
        call: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, StoreError> {
        self.check(tree, reading(call))
    }
    fn check<T>(
        &self,
        tree: Option<TreeId>,
        result: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let failure = if self.opened.file.is_closed() {
            self.opened.file.failure()
        } else {
            None
        };
        let error = match (failure, result) {
            (None, Ok(value)) => return Ok(value),
            (Some(failure), _) => failure,
            (None, Err(error)) => error,
        };
        self.current.failed(&self.opened);
        Err(named(&self.opened.names, tree, error))
    }
    /// Counts the page that an entry of so many bytes goes to.
    pub(super) fn makes(&self, bytes: usize) {
        self.changed.set(self.changed.get() + bytes.max(PAGE));
    }
    fn begin(&mut self) -> Result<(), StoreError> {
        let transaction = self.call(None, || self.opened.database().begin_write())?;
        self.transaction = Some(transaction);
        self.changed.set(0);
        Ok(())
    }
    /// Whether it has made as many pages as a part should have.
    pub(in crate::store) fn is_full(&self) -> bool {
        self.changed.get() > self.opened.cache_bytes / PART_OF_CACHE
    }
    /// Ends a part of it, if it has become large.
    pub(in crate::store) fn settle(&mut self) -> Result<(), StoreError> {
        if !self.is_full() {
            return Ok(());
        }
        if !self.has_parts {
            let mut before = self.current.before.write();
            *before = Some(Arc::new(BaseSnapshot::of(&self.opened)?));
            self.has_parts = true;
        }
        let transaction = self.transaction.take();
        let mut transaction = transaction.expect("a change that goes on has its transaction");
        self.call(None, || {
            let part = transaction.set_durability(Durability::None);
            part.map_err(|error| error.to_string())?;
            transaction.commit().map_err(|error| error.to_string())
        })?;
        self.begin()
    }
    fn transaction(&self) -> &WriteTransaction {
        let transaction = self.transaction.as_ref();
        transaction.expect("a change has its transaction until it is committed or dropped")
    }
    /// Opens a tree for writing; it comes into being if need be.
    pub fn tree(&self, tree: TreeId) -> Result<TreeWriter<'_>, StoreError> {
        let mut writer = self.stored_tree(tree)?;
        writer.below = self.below(tree)?;
        Ok(writer)
    }
    /// What a tree itself has.
    pub(super) fn stored_tree(&self, tree: TreeId) -> Result<TreeWriter<'_>, StoreError> {
        let name = tree_name(tree);
        self.open(Some(tree), Definition::new(&name))
    }
    /// `meta`, for writing.
    pub fn meta(&self) -> Result<TreeWriter<'_>, StoreError> {
        self.open(None, META)
    }
    pub(super) fn layer(&self, tree: TreeId) -> Option<Arc<Layer>> {
        self.layers.borrow().get(&tree).cloned()
    }
    fn below(&self, tree: TreeId) -> Result<Option<Box<Below<'_>>>, StoreError> {
        let Some(layer) = self.layer(tree) else {
            return Ok(None);
        };
        let mut below = Below {
            tree: self.tree(layer.below)?,
            layer,
        };
        below.is_part_of(tree);
        Ok(Some(Box::new(below)))
    }
    pub(super) fn put_layer(&self, tree: TreeId, layer: Layer) -> Result<(), StoreError> {
        let json = serde_json::to_vec(&layer);
        let json = json.map_err(|error| StoreError::Io(format!("a layer: {error}")))?;
        self.open(None, LAYERS)?.put(&tree.to_be_bytes(), &json)?;
        self.layers.borrow_mut().insert(tree, Arc::new(layer));
        Ok(())
    }
    pub(super) fn remove_layer(&self, tree: TreeId) -> Result<Option<Arc<Layer>>, StoreError> {
        let layer = self.layers.borrow_mut().remove(&tree);
        if layer.is_some() {
            self.open(None, LAYERS)?.remove(&tree.to_be_bytes())?;
        }
        Ok(layer)
    }
    fn open(
        &self,
        tree: Option<TreeId>,
        definition: Definition<'_>,
    ) -> Result<TreeWriter<'_>, StoreError> {
        let table = self.call(tree, || self.transaction().open_table(definition))?;
        Ok(TreeWriter {
            table,
            tree,
            write: self,
            below: None,
        })
    }
    /// Removes a tree, if it exists, with those that have rows of it, and frees their pages.
    pub fn drop_tree(&self, tree: TreeId) -> Result<(), StoreError> {
        if let Some(layer) = self.remove_layer(tree)? {
            self.drop_tree(layer.below)?;
        }
        let name = tree_name(tree);
        self.call(Some(tree), || {
            self.transaction().delete_table(Definition::new(&name))
        })?;
        Ok(())
    }
    /// Makes it durable. After an error the Base has what it had before.
    pub fn commit(mut self) -> Result<(), StoreError> {
        let transaction = self.transaction.take();
        let mut transaction = transaction.expect("a change is committed once");
        transaction.set_quick_repair(true);
        self.call(None, || transaction.commit())?;
        if self.has_parts {
            *self.current.before.write() = None;
            self.has_parts = false;
        }
        Ok(())
    }
}

impl Drop for BaseWrite<'_> {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            // An error of this is one of the file, or makes it one.
            let _ = self.call(None, || transaction.abort());
        }
        if self.has_parts {
            // They are gone only when the file is opened anew.
            self.current.failed(&self.opened);
        }
    }
}

impl TreeWriter<'_> {
    /// Gives the value of a key to `found`; `None` if there is none.
    pub fn get<R>(
        &self,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let table = &self.table;
        if let Some(value) = self.write.call(self.tree, || table.get(key))? {
            return Ok(Some(found(value.value())));
        }
        match &self.below {
            Some(below) => Ok(below.get(key)?.map(|value| found(&value))),
            None => Ok(None),
        }
    }
    /// Puts an entry, replacing one with the same key.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if let Some(below) = &mut self.below {
            below.remove(key)?;
        }
        self.write.makes(key.len() + value.len());
        let table = &mut self.table;
        self.write
            .call(self.tree, || table.insert(key, value).map(|_| ()))
    }
    /// Puts entries in the order of their keys, all above those in the tree. `parts` are an
    /// entry's key and its value.
    pub fn append<E>(
        &mut self,
        entries: impl Iterator<Item = E>,
        parts: impl Fn(&E) -> (&[u8], &[u8]),
    ) -> Result<(), StoreError> {
        let table = &mut self.table;
        let changed = &self.write.changed;
        self.write.call(self.tree, || {
            let failed = |error: &dyn Display| error.to_string();
            let end = table.upper_bound_mut(Bound::<&[u8]>::Unbounded);
            let mut end = end.map_err(|error| failed(&error))?;
            for entry in entries {
                let (key, value) = parts(&entry);
                let bytes = key.len() + value.len();
                changed.set(changed.get() + bytes);
                let put = end.insert_before(key, value);
                put.map_err(|error| failed(&error))?;
            }
            end.close().map_err(|error| failed(&error))
        })
    }
    /// The last key.
    pub fn last_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let last = self.write.call(self.tree, || {
            let last = self.table.last()?;
            Ok::<_, redb::StorageError>(last.map(|(last, _)| last.value().to_vec()))
        })?;
        match &self.below {
            Some(below) => Ok(last.max(below.last_key()?)),
            None => Ok(last),
        }
    }
    /// Whether all keys are below `key`.
    pub fn is_below(&self, key: &[u8]) -> Result<bool, StoreError> {
        let last = self.last_key()?;
        Ok(last.is_none_or(|last| last.as_slice() < key))
    }
    /// Removes an entry, if it exists.
    pub fn remove(&mut self, key: &[u8]) -> Result<(), StoreError> {
        if let Some(below) = &mut self.below {
            below.remove(key)?;
        }
        self.write.makes(key.len());
        let table = &mut self.table;
        self.write.call(self.tree, || table.remove(key).map(|_| ()))
    }
    /// The first key at or after `low`, if it begins with `prefix`.
    pub fn has_prefix(&self, prefix: &[u8]) -> Result<bool, StoreError> {
        let has = self.has_prefix_from(prefix, prefix)?;
        match &self.below {
            Some(below) if !has => below.has_prefix(prefix),
            _ => Ok(has),
        }
    }
    /// Whether the tree itself has a key at or after `low` that begins with `prefix`.
    fn has_prefix_from(&self, low: &[u8], prefix: &[u8]) -> Result<bool, StoreError> {
        self.write.call(self.tree, || {
            let mut range = self.table.range::<&[u8]>(low..)?;
            let first = range.next().transpose()?;
            let is_inside = first.is_some_and(|(key, _)| key.value().starts_with(prefix));
            Ok::<_, redb::StorageError>(is_inside)
        })
    }
    /// All keys, for removing what is no longer wanted; for small tables only.
    pub fn keys(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        self.write.call(self.tree, || {
            let range = self.table.range::<&[u8]>(..)?;
            let keys: Result<_, redb::StorageError> =
                range.map(|entry| Ok(entry?.0.value().to_vec())).collect();
            keys
        })
    }
}

/// What a tree being written has of the one below.
struct Below<'a> {
    layer: Arc<Layer>,
    tree: TreeWriter<'a>,
}

impl Below<'_> {
    /// Errors name this tree.
    fn is_part_of(&mut self, tree: TreeId) {
        self.tree.tree = Some(tree);
        if let Some(below) = &mut self.tree.below {
            below.is_part_of(tree);
        }
    }
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        if self.layer.is_moved(key) {
            return Ok(None);
        }
        let value = self.tree.get(key, |value| self.layer.reshaped(value))?;
        value.transpose()
    }
    pub fn remove(&mut self, key: &[u8]) -> Result<(), StoreError> {
        match self.layer.is_moved(key) {
            true => Ok(()),
            false => self.tree.remove(key),
        }
    }
    pub fn last_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let last = self.tree.last_key()?;
        Ok(last.filter(|last| !self.layer.is_moved(last)))
    }
    pub fn has_prefix(&self, prefix: &[u8]) -> Result<bool, StoreError> {
        let has = self
            .tree
            .has_prefix_from(self.layer.left_from(prefix), prefix)?;
        match &self.tree.below {
            Some(below) if !has => below.has_prefix(prefix),
            _ => Ok(has),
        }
    }
}
