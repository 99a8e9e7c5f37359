//! The row and range locks that a transaction has.

use super::{
    chunks::Chunks,
    descriptor::Descriptor,
    lock::{row::Name, rows, tree::TreeLocks},
};
use crate::invariant::{Broken, broken};
use smallvec::SmallVec;
use std::sync::Arc;

/// The row and range locks of a transaction.
#[derive(Default)]
pub(super) struct HeldLocks {
    pub held: Chunks<HeldLock>,
    /// The lock tables it used, each once.
    pub trees: SmallVec<[LockTree; 4]>,
    /// How many range locks it has.
    ranges: usize,
    /// Memory of the row locks in the lock tables, in bytes, and of names that are too long to be in
    /// `held` itself.
    elsewhere: usize,
    /// So many of `held` are kept to the end. Those after them are of the row that is being looked
    /// at, whose lock may yet be given back.
    pub kept: usize,
}

impl HeldLocks {
    /// All it has now it keeps.
    pub fn keep(&mut self) {
        self.kept = self.held.len();
    }
    /// About how much memory its locks take.
    pub fn bytes(&self) -> usize {
        self.held.len() * size_of::<HeldLock>() + self.ranges * RANGE_BYTES + self.elsewhere
    }
    /// Notes a lock; `tree` is the position of its lock table.
    pub fn push(&mut self, tree: usize, name: &[u8]) {
        let name = Name::from(name);
        self.elsewhere += elsewhere(&name);
        let tree = u32::try_from(tree).unwrap_or(u32::MAX);
        self.held.push(HeldLock { tree, name });
    }
    /// One of the locks was given back.
    pub fn forget(&mut self, name: &Name) {
        self.elsewhere -= elsewhere(name);
    }
    /// Gives back the row locks in lock tables where nobody else has any.
    pub fn release_whole(&mut self, who: &Arc<Descriptor>) {
        let released = self
            .trees
            .iter()
            .map(|known| known.locks.release_whole(who));
        let released: SmallVec<[bool; 4]> = released.collect();
        let is_left = |lock: &HeldLock| released.get(lock.tree as usize) != Some(&true);
        self.held.retain(is_left);
    }
    /// It has so many range locks more, or less.
    pub fn count_ranges(&mut self, more: isize) {
        self.ranges = self.ranges.saturating_add_signed(more);
    }
    /// The lock table that a lock is in.
    pub fn table(&self, lock: &HeldLock) -> Result<&TreeLocks, Broken> {
        self.tree(lock.tree as usize).map(|known| &*known.locks)
    }
    /// The lock table at a position.
    pub fn tree(&self, place: usize) -> Result<&LockTree, Broken> {
        let known = self.trees.get(place);
        known.ok_or_else(|| broken("the lock table of every lock is noted"))
    }
}

/// What a row lock takes in its lock table, and its name if that is too long to be in its place: it is
/// there twice.
fn elsewhere(name: &Name) -> usize {
    let twice = if name.spilled() { 2 * name.len() } else { 0 };
    rows::bytes(name) + twice
}

/// What a range lock takes, about.
const RANGE_BYTES: usize = 2 * size_of::<Name>() * 3 / 2;

/// A lock table that a transaction uses.
pub(super) struct LockTree {
    pub locks: Arc<TreeLocks>,
    /// It has range locks there.
    pub ranges: bool,
}

/// A lock of a row, an entry or a place.
pub(super) struct HeldLock {
    /// Position in `HeldLocks::trees`.
    pub tree: u32,
    pub name: Name,
}
