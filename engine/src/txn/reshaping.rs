//! Changes of a definition after which rows only have another shape: a column is added, dropped or moved.
//!
//! Nothing is copied while anybody waits. Under the exclusive metadata lock a new tree is put over that of the
//! rows (see the Base's `layers`), durably, and then the new definition is logged. It takes a checkpoint,
//! which has the old tree hold all of the rows; most of it is made before the lock is taken.
//!
//! Afterwards, when the Base has the new definition, the checkpoint thread moves the rows up, step by step, while
//! there is time. A crash between the two commits leaves a tree over another one that no table owns: it is taken off when the engine opens.

use super::{
    TxnError,
    descriptor::Descriptor,
    dictionary::Dictionary,
    engine::{Engine, Inner},
    entry::malformed,
    meta,
    writes::RESHAPED,
};
use crate::{
    env::Notice,
    store::{
        StoreError,
        base::{BaseSnapshot, BaseWrite},
    },
    types::{Table, TreeId, row::Reshape},
};
use parking_lot::MutexGuard;
use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// So many bytes of rows are moved up at a time at most: checkpoints wait so long. In a small cache fewer, so that
/// their pages stay in it.
const STEP_BYTES: usize = if cfg!(test) { 64 } else { 1 << 20 };
const CACHE_PER_STEP: usize = 16;

/// So many checkpoints at most come before the lock.
const ROUNDS_MAX: u32 = 8;
/// A checkpoint that took no longer had little to do.
const LITTLE_NS: u64 = 10_000_000;

/// A tree that was put over that of a table's rows. Unless the definition that owns it is logged, it is taken off
/// again.
pub(super) struct Over<'a> {
    inner: &'a Inner,
    /// The new tree.
    tree: TreeId,
    /// The one that it is over.
    below: TreeId,
    /// The build's number.
    number: u64,
    /// What the log has of it.
    reshape: Vec<u8>,
    kept: bool,
}

impl<'a> Over<'a> {
    /// Puts the tree of the new definition over that of the old one, when nobody uses the table.
    pub fn put(
        inner: &'a Inner,
        (old, new): (&Table, &Table),
        reshape: &Reshape,
    ) -> Result<Over<'a>, TxnError> {
        assert_ne!(
            old.rows, new.rows,
            "rows of another shape have a tree of their own"
        );
        inner.checkpoint_now()?;
        let number =
            inner.change_base(&mut |write| Ok(write.put_over(new.rows, old.rows, reshape)?))?;
        let over = Over {
            inner,
            tree: new.rows,
            below: old.rows,
            number,
            reshape: serde_json::to_vec(reshape).map_err(|_| malformed(old))?,
            kept: false,
        };
        let _one_at_a_time = inner.checkpointer.exclusive.lock();
        inner.publish_base(None)?;
        Ok(over)
    }
    /// What the log has of it: see `BUILD`.
    pub fn record(&self) -> Vec<u8> {
        let number = self.number.to_le_bytes();
        [&number[..], RESHAPED, &self.reshape].concat()
    }
    /// The definition is logged, or may be. Returns the tree that it is over.
    pub fn keep(mut self) -> TreeId {
        self.kept = true;
        self.below
    }
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // If it stays, nobody reads it, and the next start takes it off.
            let tree = self.tree;
            let _ = self
                .inner
                .change_base(&mut |write| Ok(write.take_off(tree)?));
        }
    }
}

impl Engine {
    /// How many older shapes rows of a table have that are not moved up yet.
    #[must_use]
    pub fn shapes(&self, table: &Table) -> usize {
        let layered = self.inner.views.load().base.layered();
        let below = |tree: &TreeId| {
            let layer = layered.iter().find(|(upper, _)| upper == tree);
            layer.map(|(_, below)| *below)
        };
        std::iter::successors(below(&table.rows), below).count()
    }
}

impl Inner {
    /// Has checkpoints take what was committed, one after the other: each has what came during the one before,
    /// so that what the last one has, while all others wait, is little.
    pub(super) fn come_up_with_writers(&self, descriptor: &Descriptor) -> Result<(), TxnError> {
        for _ in 0..ROUNDS_MAX {
            let begun = self.env.monotonic_nanos();
            self.checkpoint_now()?;
            if descriptor.is_killed() {
                return Err(TxnError::Killed);
            }
            if self.env.monotonic_nanos().saturating_sub(begun) < LITTLE_NS {
                break;
            }
        }
        Ok(())
    }
    /// Makes one durable change of the Base, which counts as a build. Returns its number.
    pub(super) fn change_base(
        &self,
        change: &mut dyn FnMut(&mut BaseWrite<'_>) -> Result<(), TxnError>,
    ) -> Result<u64, TxnError> {
        let _one_at_a_time = self.checkpointer.exclusive.lock();
        self.mend_base()?;
        let mut write = self.base.write()?;
        // Each commit has a number of its own: with an older one the Base lacks something.
        let number = self.builds.load(Ordering::Relaxed) + 1;
        meta::write_builds(&write, number)?;
        change(&mut write)?;
        write.commit()?;
        self.builds.store(number, Ordering::Relaxed);
        Ok(number)
    }
    /// Moves some rows up that have an older shape. Returns how long to rest before the next step, if there
    /// is one: not at all if nobody commits, else as long as this one took.
    pub(super) fn move_rows_up(&self) -> Option<Duration> {
        let table = self.next_to_reshape()?;
        let (begun, seen) = (self.env.monotonic_nanos(), self.log.visible());
        let one_at_a_time = self.checkpointer.exclusive.lock();
        let moved = self.move_some_up(&table);
        if moved.is_err() {
            // At once, as others read: from a file whose change failed redb reads what it has in memory only.
            let _ = self.mend_base();
        }
        // Whoever waits for it comes first.
        MutexGuard::unlock_fair(one_at_a_time);
        if let Err(error) = moved {
            // What is read is right as it is. Trying again would cost those who read more than it gives back.
            self.checkpointer.left.lock().insert(table.rows);
            let (database, name) = table.full_name();
            let text = format!(
                "rows of {database}.{name} keep the shape they had before the table was altered, and take more \
                 space, until the next start: {error}"
            );
            self.env.notice(Notice::SpaceNotReturned, &text);
        }
        let took = self.env.monotonic_nanos().saturating_sub(begun);
        let alone = self.log.visible() == seen;
        Some(Duration::from_nanos(if alone { 0 } else { took }))
    }
    /// A table of which rows have an older shape, and may be moved up.
    fn next_to_reshape(&self) -> Option<Arc<Table>> {
        let layered = self.views.load().base.layered();
        if layered.is_empty() {
            return None;
        }
        // Whatever is lost of the log, no start comes back to a definition that the rows below belong to.
        let applied = self.checkpointer.applied.load(Ordering::Relaxed);
        let left = self.checkpointer.left.lock();
        let dictionary = self.definitions.load_full();
        let is_due = |table: &Table| {
            let is_over = layered.iter().any(|(tree, _)| *tree == table.rows);
            is_over && table.since <= applied && !left.contains(&table.rows)
        };
        let mut tables = dictionary.entries().map(|(table, _)| table);
        tables.find(|table| is_due(table)).cloned()
    }
    /// For who holds the Base's lock.
    fn move_some_up(&self, table: &Table) -> Result<(), TxnError> {
        self.mend_base()?;
        let fitting = self.options.base_cache_bytes / CACHE_PER_STEP;
        // A page that cannot be read is an error here, and costs nobody else anything.
        let next = self.base.snapshot()?;
        let Some(moving) = next.next_to_move(table.rows, STEP_BYTES.min(fitting))? else {
            return Ok(());
        };
        let write = self.base.write()?;
        write.move_up(table.rows, &moving)?;
        write.commit()?;
        self.publish_base(None)
    }
}

/// The trees that a copy of the Base needs. A tree that is over others is copied with what it has of them, so those below are
/// left out; but not if the definition that owns it is only in the log: a restore may end before it.
pub(super) fn copied_trees(
    base: &BaseSnapshot,
    dictionary: &Dictionary,
) -> Result<Vec<TreeId>, StoreError> {
    let mut trees = base.trees()?;
    let below = with_below(&base.layered(), dictionary.trees().collect());
    let owned: HashSet<TreeId> = dictionary.trees().collect();
    trees.retain(|tree| owned.contains(tree) || !below.contains(tree));
    Ok(trees)
}

/// Some trees, and all that are below them.
pub(super) fn with_below(
    layered: &[(TreeId, TreeId)],
    mut trees: HashSet<TreeId>,
) -> HashSet<TreeId> {
    // A tree below another one can be over a third.
    for _ in layered {
        let below = layered.iter().filter(|(tree, _)| trees.contains(tree));
        let below: Vec<TreeId> = below.map(|(_, below)| *below).collect();
        trees.extend(below);
    }
    trees
}
