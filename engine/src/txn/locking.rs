//! Taking row and range locks, waiting for them, giving them back.

use super::{
    LockMode, OnConflict, TxnError,
    held::{HeldLock, HeldLocks, LockTree},
    lock::{
        Target,
        row::Name,
        tree::{Attempt, TreeLocks},
    },
    transaction::Txn,
    waiter::{Waiter, Woken, deadline},
};
use crate::{
    invariant::broken,
    store::TreeKey,
    types::{TreeId, is_temporary},
};
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

impl Txn {
    /// Sleeps; a deadlock ends the whole transaction.
    pub(super) fn wait(
        &mut self,
        waiter: &Arc<Waiter>,
        target: Target,
        deadline: Option<Instant>,
    ) -> Result<Woken, TxnError> {
        let result = self.engine.locks.wait(waiter, target, deadline);
        if matches!(result, Err(TxnError::Deadlock)) {
            self.abandon();
        }
        result
    }
    fn lock_tree(&mut self, tree: TreeId) -> usize {
        let found = self
            .locks
            .trees
            .iter()
            .position(|known| known.locks.tree == tree);
        found.unwrap_or_else(|| {
            let locks = self.engine.locks.tree(tree);
            self.locks.trees.push(LockTree {
                locks,
                ranges: false,
            });
            self.locks.trees.len() - 1
        })
    }
    /// Locks a row by name, unless nobody else can come there. Returns false if others hold it and it is to be skipped.
    pub(super) fn lock(
        &mut self,
        tree: TreeId,
        name: &[u8],
        mode: LockMode,
        conflict: OnConflict,
    ) -> Result<bool, TxnError> {
        if is_temporary(tree) {
            return Ok(true);
        }
        self.descriptor.identify(|| self.engine.locks.now_us());
        let place = self.lock_tree(tree);
        let known = self.locks.tree(place)?;
        let wait = conflict == OnConflict::Wait;
        match known.locks.lock(&self.descriptor, name, mode, wait) {
            Attempt::Held | Attempt::HeldInRange => return Ok(true),
            Attempt::Granted => {}
            Attempt::Refused if conflict == OnConflict::Fail => return Err(TxnError::Nowait),
            Attempt::Refused => return Ok(false),
            Attempt::Queued(waiter) => {
                let target = Target::Row(Arc::clone(&known.locks), name.into());
                let deadline = deadline(self.options.lock_wait_ms);
                self.wait(&waiter, target, deadline)?;
            }
        }
        self.hold(place, name)?;
        Ok(true)
    }
    /// Notes a lock that was granted.
    fn hold(&mut self, tree: usize, name: &[u8]) -> Result<(), TxnError> {
        self.descriptor.count_lock();
        self.locks.push(tree, name);
        self.check_locks()
    }
    /// A transaction whose locks take more memory than they may is rolled back, which gives the
    /// memory back.
    fn check_locks(&mut self) -> Result<(), TxnError> {
        let limit = self.engine.max_lock_bytes.load(Ordering::Relaxed);
        if self.locks.bytes() as u64 <= limit {
            return Ok(());
        }
        self.abandon();
        Err(TxnError::LockTableFull)
    }
    /// Locks `name` X for inserting at `position`, waiting for others' range locks there. False:
    /// it would have to wait, and `conflict` is not to.
    pub(super) fn lock_insert(
        &mut self,
        tree: TreeId,
        name: &[u8],
        position: &[u8],
        conflict: OnConflict,
    ) -> Result<bool, TxnError> {
        if is_temporary(tree) {
            return Ok(true);
        }
        self.descriptor.identify(|| self.engine.locks.now_us());
        let place = self.lock_tree(tree);
        let mut owned = false;
        let mut until = None;
        loop {
            let known = self.locks.tree(place)?;
            let wait = conflict == OnConflict::Wait;
            let locks = &known.locks;
            match locks.lock_insert(&self.descriptor, name, position, owned, wait) {
                Attempt::Held => return Ok(true),
                Attempt::HeldInRange => {
                    let position = TreeKey::new(tree, position);
                    if self.with_overlay(tree, |own| own.contains_key(&position)) {
                        return Ok(true);
                    }
                    owned = true;
                }
                Attempt::Refused => return Ok(false),
                Attempt::Granted => {
                    self.hold(place, name)?;
                    return Ok(true);
                }
                Attempt::Queued(waiter) => {
                    let target = Target::Row(Arc::clone(&known.locks), name.into());
                    let until = *until.get_or_insert_with(|| deadline(self.options.lock_wait_ms));
                    if self.wait(&waiter, target, until)? == Woken::Granted {
                        self.hold(place, name)?;
                        owned = true;
                    }
                }
            }
        }
    }
    /// Locks the range `low..high` against inserts, after waiting for pending ones. `conflict`
    /// says what to do about those.
    pub(super) fn lock_range(
        &mut self,
        tree: TreeId,
        low: &[u8],
        high: Option<&[u8]>,
        conflict: OnConflict,
    ) -> Result<(), TxnError> {
        /// So often a range locker lets others insert before it bars them.
        const PATIENCE: usize = 3;
        if is_temporary(tree) {
            return Ok(());
        }
        self.descriptor.identify(|| self.engine.locks.now_us());
        self.descriptor.count_lock();
        let place = self.lock_tree(tree);
        let known = self.locks.trees.get_mut(place);
        let known = known.ok_or_else(|| broken("the lock table of every lock is noted"))?;
        known.ranges = true;
        let locks = Arc::clone(&known.locks);
        self.await_entries(&locks, conflict)?;
        for round in 0.. {
            if conflict == OnConflict::Skip {
                let more = locks.seize_range(&self.descriptor, low, high);
                self.locks.count_ranges(more);
                break;
            }
            if round == PATIENCE {
                locks.bar_range(&self.descriptor, low, high);
            }
            match locks.lock_range(&self.descriptor, low, high) {
                Ok(more) => {
                    self.locks.count_ranges(more);
                    break;
                }
                Err(pending) => self.wait_for(tree, &pending, conflict)?,
            }
        }
        self.check_locks()
    }
    /// Waits a moment for entries of an index that others keep for later.
    fn await_entries(
        &mut self,
        locks: &Arc<TreeLocks>,
        conflict: OnConflict,
    ) -> Result<(), TxnError> {
        let patience = match conflict {
            OnConflict::Wait => self.engine.locks.patience(),
            OnConflict::Fail | OnConflict::Skip => Duration::ZERO,
        };
        if let Some((waiter, until)) = locks.await_entries(&self.descriptor, patience) {
            self.descriptor.identify(|| self.engine.locks.now_us());
            let until = [Some(until), deadline(self.options.lock_wait_ms)];
            let until = until.into_iter().flatten().min();
            self.wait(&waiter, Target::Entries(Arc::clone(locks)), until)?;
        }
        Ok(())
    }
    /// Waits until the insert that holds the lock `name` is over: having held it for a moment is
    /// proof.
    pub(super) fn wait_for(
        &mut self,
        tree: TreeId,
        name: &[u8],
        conflict: OnConflict,
    ) -> Result<(), TxnError> {
        let before = self.locks.held.len();
        self.lock(tree, name, LockMode::Shared, conflict)?;
        if self.locks.held.len() > before {
            self.release_last();
        }
        Ok(())
    }
    /// Whether others hold row locks X in a range.
    pub(super) fn has_pending(
        &mut self,
        tree: TreeId,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> Result<bool, TxnError> {
        if is_temporary(tree) {
            return Ok(false);
        }
        let place = self.lock_tree(tree);
        let known = self.locks.tree(place)?;
        Ok(known.locks.has_foreign(&self.descriptor, low, high))
    }
    /// The names of the row locks X that others hold in a range, after a moment's wait for entries that they
    /// keep for later.
    pub(super) fn pending_inserts(
        &mut self,
        tree: TreeId,
        low: &[u8],
        high: Option<&[u8]>,
        conflict: OnConflict,
    ) -> Result<Vec<Name>, TxnError> {
        if is_temporary(tree) {
            return Ok(Vec::new());
        }
        let place = self.lock_tree(tree);
        let locks = Arc::clone(&self.locks.tree(place)?.locks);
        self.await_entries(&locks, conflict)?;
        Ok(locks.foreign(&self.descriptor, low, high))
    }
    /// Gives back a lock that is not among those it has any more.
    fn give_back(&mut self, lock: &HeldLock) {
        self.locks.forget(&lock.name);
        if let Ok(locks) = self.locks.table(lock) {
            locks.release(&self.descriptor, &lock.name);
        }
    }
    fn release_last(&mut self) {
        if let Some(lock) = self.locks.held.pop() {
            self.give_back(&lock);
        }
    }
    /// How many locks it has: those taken later come after them.
    pub(super) fn locks_held(&self) -> usize {
        self.locks.held.len()
    }
    /// Gives back the locks taken after the first `kept`.
    pub(super) fn release_since(&mut self, kept: usize) {
        while self.locks.held.len() > kept {
            self.release_last();
        }
    }
    /// Gives back those that were taken after the first `from`, up to `to` of them.
    pub(super) fn release_between(&mut self, from: usize, to: usize) {
        let mut later = Vec::new();
        while self.locks.held.len() > to {
            later.extend(self.locks.held.pop());
        }
        self.release_since(from);
        for lock in later.into_iter().rev() {
            self.locks.held.push(lock);
        }
    }
    /// Makes the locks taken after the first `kept` shared.
    pub(super) fn downgrade_since(&mut self, kept: usize) {
        for lock in (kept..).map_while(|at| self.locks.held.get(at)) {
            if let Ok(locks) = self.locks.table(lock) {
                locks.downgrade(&self.descriptor, &lock.name);
            }
        }
    }
    /// Gives back those of the locks taken after the first `kept` where nothing is.
    pub(super) fn release_vacant(&mut self, kept: usize) {
        let mut place = kept;
        while let Some(lock) = self.locks.held.get(place) {
            let Ok(locks) = self.locks.table(lock) else {
                return;
            };
            if self.is_vacant(locks.tree, &lock.name) {
                locks.release(&self.descriptor, &lock.name);
                if let Some(gone) = self.locks.held.swap_remove(place) {
                    self.locks.forget(&gone.name);
                }
            } else {
                place += 1;
            }
        }
    }
    /// Says that the statement's conditions want the row it is looking at: no later row that is
    /// refused takes its lock away, even if that is the same row again, on the other side of a
    /// join.
    pub fn keep_locks(&mut self) {
        self.locks.keep();
    }
    /// Gives back the lock of the row that a locking read returned, when the statement's
    /// condition did not want it: only done under READ COMMITTED and below, and only if it was
    /// taken since `keep_locks`, for this row and nothing else.
    pub fn unlock_row(&mut self, tree: TreeId, key: &[u8]) {
        if !self.reads_committed() {
            return;
        }
        let mut new = self.locks.kept..self.locks.held.len();
        let place = new.rfind(|place| {
            let mine = |locks: &TreeLocks| locks.tree == tree;
            let lock = self.locks.held.get(*place);
            lock.is_some_and(|lock| {
                lock.name.as_slice() == key && self.locks.table(lock).is_ok_and(mine)
            })
        });
        if let Some(lock) = place.and_then(|place| self.locks.held.swap_remove(place)) {
            self.give_back(&lock);
        }
    }
    pub(super) fn release_locks(&mut self) {
        /// So many locks go at once: others wait for the table's mutex meanwhile.
        const CHUNK: usize = 512;
        if self.locks.held.len() > CHUNK {
            self.locks.release_whole(&self.descriptor);
        }
        let pieces = self.locks.held.slices().flat_map(|held| held.chunks(CHUNK));
        let of_one_table = pieces.flat_map(|held| held.chunk_by(|a, b| a.tree == b.tree));
        for held in of_one_table {
            let names = held.iter().map(|lock| lock.name.as_slice());
            if let Some(Ok(locks)) = held.first().map(|lock| self.locks.table(lock)) {
                locks.release_all(&self.descriptor, names, false);
            }
        }
        for known in self.locks.trees.iter().filter(|known| known.ranges) {
            known
                .locks
                .release_all(&self.descriptor, std::iter::empty(), true);
        }
        self.locks = HeldLocks::default();
    }
}
