//! What a scheduler tells about itself.

use super::{Class, RUNNING, Scheduler, queues::Why};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How often what was decided.
#[derive(Debug, Default)]
pub(super) struct Counters {
    grants: [AtomicU64; 4],
    pub yields: AtomicU64,
    /// Slots that were lent to helpers.
    pub lent: AtomicU64,
}

impl Counters {
    pub fn count(&self, why: Why) {
        self.grants[why as usize].fetch_add(1, Relaxed);
    }
    fn of(&self, why: Why) -> u64 {
        self.grants[why as usize].load(Relaxed)
    }
}

/// One who waits for a slot.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// Its connection.
    pub session: u64,
    /// In which queue.
    pub class: Class,
    /// For how long, in microseconds.
    pub micros: u64,
}

/// A scheduler at one moment, and what it has done so far.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Slots; 0 for no scheduler.
    pub size: u64,
    /// Slots taken.
    pub running: u64,
    /// Those who wait for one.
    pub waiting: u64,
    /// Threads for connections.
    pub threads: u64,
    /// Those among them without work.
    pub idle: u64,
    /// Threads ever made.
    pub created: u64,
    /// Turns of who came back from a wait.
    pub returned: u64,
    /// Turns of the high queue.
    pub high: u64,
    /// Turns of low work that had waited for the kick-up time.
    pub kicked_up: u64,
    /// Other turns of the low queue.
    pub low: u64,
    /// Times that a long statement let others go first.
    pub yields: u64,
    /// Slots that were lent to threads that helped statements.
    pub lent: u64,
}

impl Scheduler {
    /// The scheduler now.
    pub fn report(&self) -> Report {
        let word = self.word.load(Relaxed);
        let (threads, idle, created) = self.workers.counts();
        Report {
            size: self.size.load(Relaxed) as u64,
            running: word & RUNNING,
            waiting: word >> 32,
            threads: threads as u64,
            idle: idle as u64,
            created,
            returned: self.counters.of(Why::Returned),
            high: self.counters.of(Why::High),
            kicked_up: self.counters.of(Why::KickedUp),
            low: self.counters.of(Why::Low),
            yields: self.counters.yields.load(Relaxed),
            lent: self.counters.lent.load(Relaxed),
        }
    }

    /// Who waits for a slot, in the order of the queues.
    pub fn queued(&self) -> Vec<Queued> {
        let now = self.now();
        let queues = self.queues.lock();
        let queued = queues.list().map(|(class, since, waiter)| Queued {
            session: waiter.session,
            class,
            micros: now.saturating_sub(since),
        });
        queued.collect()
    }
}
