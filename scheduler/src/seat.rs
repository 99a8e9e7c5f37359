//! A session at the scheduler: gives its slot back around every wait, and tells what it waits
//! for.

use super::{Class, Scheduler, waits::Wait};
use cohort_engine::txn::{Lent, WaitFor, Waiting};
use parking_lot::Mutex;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

/// One session's place.
pub struct Seat {
    scheduler: Arc<Scheduler>,
    session: u64,
    /// What it waits for, and since when.
    wait: Mutex<Option<(WaitFor, Instant)>>,
    /// It takes no slots: an administrator's.
    free: bool,
}

impl Seat {
    /// The seat of the session with this number. With `free` it never queues.
    pub fn new(scheduler: &Arc<Scheduler>, session: u64, free: bool) -> Arc<Seat> {
        Arc::new(Seat {
            scheduler: Arc::clone(scheduler),
            session,
            wait: Mutex::new(None),
            free,
        })
    }
}

impl Waiting for Seat {
    fn pause(&self, what: WaitFor) {
        *self.wait.lock() = Some((what, Instant::now()));
        self.scheduler.release();
    }
    fn resume(&self, what: WaitFor) {
        if let Some((what, since)) = self.wait.lock().take() {
            self.scheduler.waits.note(Wait::from(what), since.elapsed());
        }
        if what != WaitFor::Log && !self.free {
            self.scheduler.acquire_again(self.session);
        }
    }
    fn offer(&self, holds_locks: bool) {
        let class = if holds_locks { Class::High } else { Class::Low };
        self.scheduler.offer(self.session, class);
    }
    fn lend(&self) -> Option<Box<dyn Lent>> {
        let slot = self.scheduler.lend();
        slot.then(|| Box::new(LentSlot(Arc::clone(&self.scheduler))) as Box<dyn Lent>)
    }
    fn waits_for(&self) -> Option<WaitFor> {
        self.wait.lock().map(|(what, _)| what)
    }
}

/// A slot that is lent to who helps a statement.
struct LentSlot(Arc<Scheduler>);

impl Lent for LentSlot {
    /// Somebody waits for a slot, or more run than there are processors.
    fn is_wanted(&self) -> bool {
        self.0.word.load(Ordering::Relaxed) > self.0.to_lend()
    }
}

impl Drop for LentSlot {
    fn drop(&mut self) {
        self.0.give_back();
    }
}
