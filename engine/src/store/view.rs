//! The layers of the store at one moment.

use super::{Delta, StoreError, TreeKey, base::BaseSnapshot};
use crate::{Seq, types::TreeId};
use std::{collections::HashSet, sync::Arc};

/// The layers: see the module's essay.
#[derive(Clone)]
pub struct View {
    /// Where commits push.
    pub active: Arc<Delta>,
    /// What a checkpoint is merging.
    pub sealed: Option<Arc<Delta>>,
    /// The rest.
    pub base: Arc<BaseSnapshot>,
}

impl View {
    /// Reads one key as of `at` (`Seq::MAX`: the newest version). The value replaces the contents
    /// of `value`. Returns whether there is one, and the Seq of the version or deletion that
    /// said so (0: it is from the Base).
    pub fn get(
        &self,
        key: &TreeKey,
        at: Seq,
        value: &mut Vec<u8>,
    ) -> Result<(bool, Seq), StoreError> {
        if let Some(found) = self.get_recent(key, at, value) {
            return Ok(found);
        }
        let found = self.base.get(key.tree(), key.key(), |bytes| {
            value.extend_from_slice(bytes);
        })?;
        Ok((found.is_some(), 0))
    }
    /// The same of a version that is not in the Base, if there is one; else `value` is empty.
    pub fn get_recent(&self, key: &TreeKey, at: Seq, value: &mut Vec<u8>) -> Option<(bool, Seq)> {
        value.clear();
        let mut deltas = std::iter::once(&self.active).chain(&self.sealed);
        deltas.find_map(|delta| {
            delta.read(key.bytes(), at, |seq, version| {
                value.extend_from_slice(version.unwrap_or_default());
                (version.is_some(), seq)
            })
        })
    }
    /// Gives to `each` what the keys of a tree have as of `at` that were changed since the Base, in no
    /// order; of deleted ones `None`. Returns the newest Seq met, or 0.
    pub fn each_changed<E>(
        &self,
        tree: TreeId,
        at: Seq,
        mut each: impl FnMut(&[u8], Option<&[u8]>) -> Result<(), E>,
    ) -> Result<Seq, E> {
        let (low, high) = (TreeKey::new(tree, &[]), TreeKey::end_of(tree));
        let mut hidden = HashSet::new();
        let mut newest = 0;
        for delta in std::iter::once(&self.active).chain(&self.sealed) {
            for item in delta.iter(low.bytes(), high.bytes(), false, at) {
                let key = item.key();
                if hidden.contains(key) {
                    continue;
                }
                newest = newest.max(item.seq);
                each(key.key(), item.value.as_deref())?;
                if self.sealed.is_some() {
                    hidden.insert(key.clone());
                }
            }
        }
        Ok(newest)
    }
    /// Whether both name the same layers.
    #[must_use]
    pub fn same(&self, other: &View) -> bool {
        Arc::ptr_eq(&self.active, &other.active) && Arc::ptr_eq(&self.base, &other.base)
    }
}
