//! The transactions that keep entries of an index for later (see `delay`), and those that would have them
//! there before they lock a range.
//!
//! That is a courtesy, and no lock: a range may be locked whatever entries are kept, and they wait for it
//! when they come. But they are of rows that were there first, and come with the next row. So whoever
//! locks a range waits a moment for them; not for longer, for the next row may be long in coming, or
//! wait for who waits here. A deadlock is no matter for a wait that ends by itself.

use super::super::{descriptor::Descriptor, waiter::Waiter};
use smallvec::SmallVec;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Those of one index.
#[derive(Default)]
pub(super) struct Keepers {
    keepers: SmallVec<[Arc<Descriptor>; 1]>,
    /// Since when the entries are wanted of those who keep some.
    wanted: Option<Instant>,
    waiters: Vec<Arc<Waiter>>,
}

impl Keepers {
    /// Whether a transaction is one of them.
    pub fn has(&self, who: &Arc<Descriptor>) -> bool {
        self.keepers.iter().any(|keeper| Arc::ptr_eq(keeper, who))
    }
    /// The others.
    pub fn others<'k>(
        &'k self,
        who: &'k Arc<Descriptor>,
    ) -> impl Iterator<Item = &'k Arc<Descriptor>> {
        self.keepers
            .iter()
            .filter(move |keeper| !Arc::ptr_eq(keeper, who))
    }
    /// Adds one; false if entries are wanted, and it is to keep none.
    pub fn add(&mut self, who: &Arc<Descriptor>) -> bool {
        let may = self.wanted.is_none();
        if may {
            self.keepers.push(Arc::clone(who));
        }
        may
    }
    /// Whether somebody wants their entries.
    pub fn are_awaited(&self) -> bool {
        self.wanted.is_some()
    }
    /// Says that a transaction wants the entries of the others. To be waited on, until then; `None`: it
    /// need not wait, or not any longer than others have already, which is `patience`.
    pub fn await_entries(
        &mut self,
        who: &Arc<Descriptor>,
        patience: Duration,
    ) -> Option<(Arc<Waiter>, Instant)> {
        self.others(who).next()?;
        let until = *self.wanted.get_or_insert_with(Instant::now) + patience;
        if until <= Instant::now() {
            return None;
        }
        let waiter = Waiter::new(who);
        self.waiters.push(Arc::clone(&waiter));
        Some((waiter, until))
    }
    /// A wait is over.
    pub fn forget(&mut self, waiter: &Arc<Waiter>) {
        self.waiters.retain(|other| !Arc::ptr_eq(other, waiter));
    }
    /// The entries of a transaction are there, or will not come.
    pub fn remove(&mut self, who: &Arc<Descriptor>) {
        self.keepers.retain(|keeper| !Arc::ptr_eq(keeper, who));
        if self.keepers.is_empty() {
            self.wanted = None;
        }
        let mut waiters = std::mem::take(&mut self.waiters);
        waiters.retain(|waiter| {
            let waits = self.others(&waiter.descriptor).next().is_some();
            if !waits {
                waiter.retry();
            }
            waits
        });
        self.waiters = waiters;
    }
}
