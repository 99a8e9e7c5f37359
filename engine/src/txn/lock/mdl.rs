//! Metadata locks: shared by the transactions that use a table, exclusive for DDL.
//!
//! The shared one is on every statement's path, so it is a counter; who holds it is known by the
//! descriptors, which are only asked when a DDL waits. A DDL that waits bars new users, so that
//! it cannot starve.

use super::super::{descriptor::Descriptor, owner::Waiter};
use parking_lot::Mutex;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Set while a DDL holds the lock or waits for it.
const BARRED: u64 = 1 << 63;

/// The metadata lock of one table.
#[derive(Default)]
pub(in super::super) struct MetadataLock {
    /// Number of shared holders, and `BARRED`.
    word: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The DDL that holds it or is next.
    exclusive: Option<Arc<Descriptor>>,
    /// The first waits for the shared holders to go, others for `exclusive` to end.
    waiters: Vec<Arc<Waiter>>,
}

impl MetadataLock {
    /// Takes it shared; false: barred.
    pub fn try_shared(&self) -> bool {
        if self.word.fetch_add(1, Ordering::AcqRel) & BARRED == 0 {
            return true;
        }
        self.release_shared();
        false
    }
    /// As `try_shared`, or queues for another try.
    pub fn shared_or_wait(&self, who: &Arc<Descriptor>) -> Result<(), Arc<Waiter>> {
        let mut state = self.state.lock();
        if state.exclusive.is_none() {
            // Nobody can bar it meanwhile: that takes the mutex.
            self.word.fetch_add(1, Ordering::AcqRel);
            return Ok(());
        }
        let waiter = Waiter::new(who);
        state.waiters.push(Arc::clone(&waiter));
        Err(waiter)
    }
    /// Gives back a shared lock.
    pub fn release_shared(&self) {
        let before = self.word.fetch_sub(1, Ordering::AcqRel);
        if before == BARRED | 1 {
            self.wake_all();
        }
    }
    /// Takes it exclusive, or bars new users and queues for another try.
    pub fn exclusive_or_wait(&self, who: &Arc<Descriptor>) -> Result<(), Arc<Waiter>> {
        let mut state = self.state.lock();
        let mine = match &state.exclusive {
            None => {
                state.exclusive = Some(Arc::clone(who));
                self.word.fetch_or(BARRED, Ordering::AcqRel);
                true
            }
            Some(other) => Arc::ptr_eq(other, who),
        };
        if mine && self.word.load(Ordering::Acquire) == BARRED {
            return Ok(());
        }
        let waiter = Waiter::new(who);
        state.waiters.push(Arc::clone(&waiter));
        // The last holder may have gone between the look and the queueing; it takes the mutex
        // to wake, so it has not looked for waiters yet.
        Err(waiter)
    }
    /// Gives back the exclusive lock, or gives up waiting for it.
    pub fn release_exclusive(&self, who: &Arc<Descriptor>) {
        {
            let mut state = self.state.lock();
            if !state
                .exclusive
                .as_ref()
                .is_some_and(|holder| Arc::ptr_eq(holder, who))
            {
                return;
            }
            state.exclusive = None;
            self.word.fetch_and(!BARRED, Ordering::AcqRel);
        }
        self.wake_all();
    }
    /// Takes back a waiter that gave up.
    pub fn cancel(&self, waiter: &Arc<Waiter>) {
        self.state
            .lock()
            .waiters
            .retain(|other| !Arc::ptr_eq(other, waiter));
    }
    fn wake_all(&self) {
        let waiters = std::mem::take(&mut self.state.lock().waiters);
        for waiter in waiters {
            waiter.retry();
        }
    }
    /// The DDL that holds it or waits for its shared holders to go.
    pub fn exclusive(&self) -> Option<Arc<Descriptor>> {
        self.state.lock().exclusive.clone()
    }
}
