//! Index entries that are yet to come: see `delay`.

use super::{lock::tree::TreeLocks, row_change::EntryChange};
use crate::{store::TreeKey, types::TreeId};
use smallvec::SmallVec;
use std::sync::Arc;

/// Whether a statement has its entries come late.
#[derive(Default)]
pub(super) enum Delay {
    /// It does not, or no more.
    #[default]
    Off,
    /// It does after so many more rows.
    After(usize),
    /// It does.
    On,
}

/// The entries of a statement that are yet to come.
#[derive(Default)]
pub(super) struct LateEntries {
    pub delay: Delay,
    /// Those that are kept.
    pub entries: Vec<TreeKey>,
    /// The indexes they are of, which know that the transaction keeps some.
    pub trees: SmallVec<[Arc<TreeLocks>; 2]>,
}

impl LateEntries {
    /// How many are kept.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether entries of this index are kept.
    pub fn has(&self, tree: TreeId) -> bool {
        self.trees.iter().any(|locks| locks.tree == tree)
    }
    /// Keeps the entries that have come to an index.
    pub fn keep(&mut self, entries: &EntryChange) {
        let keys = entries.come.iter();
        let keys = keys.map(|entry| TreeKey::new(entries.tree, &entry.key));
        self.entries.extend(keys);
    }
    /// Whether somebody waits for them.
    pub fn are_awaited(&self) -> bool {
        self.trees.iter().any(|locks| locks.awaits_entries())
    }
}
