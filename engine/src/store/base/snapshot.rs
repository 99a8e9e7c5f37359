//! The Base as of one commit.

use super::{
    layers::{self, Layer, Layers},
    opened::{Definition, META, Opened, Pair, TreeReader, pairs, reading, tree_name},
    range::{BaseRange, StoredRange},
};
use crate::{
    store::StoreError,
    types::{IdMap, TreeId},
};
use parking_lot::RwLock;
use redb::{
    AccessGuard, ReadTransaction, ReadableDatabase, ReadableTableMetadata, TableError, TableHandle,
};
use std::{collections::BTreeSet, fmt::Display, ops::Bound, sync::Arc};

/// The Base as of one commit.
pub struct BaseSnapshot {
    // Dropped before what it reads.
    transaction: ReadTransaction,
    pub(super) layers: Layers,
    trees: RwLock<IdMap<Option<Arc<TreeReader>>>>,
    pub(super) opened: Arc<Opened>,
    /// That of the file as it is open, which keeps the pages that this one reads from the disk.
    pub(super) kept: Option<Arc<BaseSnapshot>>,
}

impl BaseSnapshot {
    /// Of the file as it is open.
    pub(super) fn of(opened: &Arc<Opened>) -> Result<BaseSnapshot, StoreError> {
        let transaction = reading(|| opened.database().begin_read())?;
        Ok(BaseSnapshot {
            layers: layers::read(&transaction)?,
            transaction,
            trees: RwLock::default(),
            opened: Arc::clone(opened),
            kept: None,
        })
    }
    /// Whether it cannot be read any more: a change failed, the file was opened anew, and there was no
    /// waiting for this snapshot any longer.
    pub fn is_lost(&self) -> bool {
        self.opened.is_lost()
    }
    /// Reads from the file. An error in a tree says in which one.
    fn read<T, E: Display>(
        &self,
        tree: Option<TreeId>,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, StoreError> {
        self.opened.read(tree, read)
    }
    fn tree(&self, tree: TreeId) -> Result<Option<Arc<TreeReader>>, StoreError> {
        if let Some(reader) = self.trees.read().get(&tree) {
            return Ok(reader.clone());
        }
        let name = tree_name(tree);
        let reader = self.read(Some(tree), || {
            match self.transaction.open_table(Definition::new(&name)) {
                Ok(reader) => Ok(Some(Arc::new(reader))),
                Err(TableError::TableDoesNotExist(_)) => Ok(None),
                Err(error) => Err(error),
            }
        })?;
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
        if let Some(value) = self.stored(tree, key)? {
            return Ok(Some(found(value.value())));
        }
        match self.layer(tree) {
            Some(layer) => Ok(self.get_below(layer, key)?.map(|value| found(&value))),
            None => Ok(None),
        }
    }
    /// What the tree itself has.
    fn stored(
        &self,
        tree: TreeId,
        key: &[u8],
    ) -> Result<Option<AccessGuard<'static, &'static [u8]>>, StoreError> {
        match self.tree(tree)? {
            Some(reader) => self.read(Some(self.shown(tree)), || reader.get(key)),
            None => Ok(None),
        }
    }
    /// What the trees below it have.
    fn get_below(&self, layer: &Layer, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        if layer.is_moved(key) {
            return Ok(None);
        }
        if let Some(value) = self.stored(layer.below, key)? {
            return layer.reshaped(value.value()).map(Some);
        }
        let Some(lower) = self.layer(layer.below) else {
            return Ok(None);
        };
        let value = self.get_below(lower, key)?;
        value.map(|value| layer.reshaped(&value)).transpose()
    }
    pub(super) fn layer(&self, tree: TreeId) -> Option<&Arc<Layer>> {
        // Hardly ever is there one.
        match self.layers.is_empty() {
            true => None,
            false => self.layers.get(&tree),
        }
    }
    /// Which tree an error names: that of the table, which may be over the one that is read.
    fn shown(&self, tree: TreeId) -> TreeId {
        let over = |tree: &TreeId| {
            let layer = self.layers.iter().find(|(_, layer)| layer.below == *tree);
            layer.map(|(upper, _)| *upper)
        };
        std::iter::successors(Some(tree), over)
            .last()
            .unwrap_or(tree)
    }
    /// The trees whose rows are partly in others, and which those are.
    #[must_use]
    pub fn layered(&self) -> Vec<(TreeId, TreeId)> {
        let layers = self.layers.iter();
        layers.map(|(tree, layer)| (*tree, layer.below)).collect()
    }
    /// The entries of `low..high` (`None`: to the end), to be taken from either end.
    pub fn range(
        &self,
        tree: TreeId,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> Result<BaseRange, StoreError> {
        let stored = self.stored_range(tree, low, high)?;
        let below = match self.layer(tree) {
            Some(layer) if high.is_none_or(|high| low < high) => {
                let low = layer.left_from(low);
                Some((self.range(layer.below, low, high)?, layer))
            }
            _ => None,
        };
        Ok(BaseRange::new(stored, below))
    }
    /// The same of what the tree itself has.
    pub(super) fn stored_range(
        &self,
        tree: TreeId,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> Result<StoredRange, StoreError> {
        let upper = high.map_or(Bound::Unbounded, Bound::Excluded);
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(low), upper);
        let empty = high.is_some_and(|high| high <= low);
        let range = match self.tree(tree)? {
            Some(reader) if !empty => {
                Some(self.read(Some(self.shown(tree)), || reader.range::<&[u8]>(bounds))?)
            }
            _ => None,
        };
        Ok(StoredRange::new(range, self.shown(tree), &self.opened))
    }
    /// Memory for the pages of the file, in bytes.
    pub(in crate::store) fn memory_bytes(&self) -> usize {
        self.opened.cache_bytes
    }
    /// Whether all pages of the file fit into the memory for them.
    pub(in crate::store) fn fits_memory(&self) -> bool {
        self.opened.file.length() <= self.memory_bytes() as u64
    }
    /// How many entries a tree has.
    pub fn tree_len(&self, tree: TreeId) -> Result<u64, StoreError> {
        let stored = match self.tree(tree)? {
            Some(reader) => self.read(Some(tree), || reader.len())?,
            None => 0,
        };
        match self.layer(tree) {
            Some(layer) => Ok(stored + self.tree_len(layer.below)?.saturating_sub(layer.moved)),
            None => Ok(stored),
        }
    }
    /// All trees there are.
    pub fn trees(&self) -> Result<Vec<TreeId>, StoreError> {
        let tables = self.read(None, || self.transaction.list_tables())?;
        let stored = tables.filter_map(|table| table.name().strip_prefix('t')?.parse().ok());
        let mut trees: BTreeSet<TreeId> = stored.collect();
        trees.extend(self.layers.keys());
        Ok(trees.into_iter().collect())
    }
    /// All of `meta`.
    pub fn meta(&self) -> Result<Vec<Pair>, StoreError> {
        self.read(None, || pairs(&self.transaction, META))
    }
}
