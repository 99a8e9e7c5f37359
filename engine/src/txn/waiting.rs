//! How sessions wait: whom they tell, and where they sleep.

use parking_lot::{Condvar, Mutex};
use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Called by the engine around every wait, so that a scheduler can take the session's slot back.
pub trait Waiting: Send + Sync {
    /// The session is about to wait for `what`.
    fn pause(&self, what: WaitFor);
    /// The wait is over.
    fn resume(&self, what: WaitFor);
    /// A safe point of a statement that may take long: others may go first now. Called every few
    /// hundred rows; `holds_locks` tells whether others may wait for this session.
    fn offer(&self, _holds_locks: bool) {}
    /// A slot that nobody needs just now, for another thread that helps this session's statement.
    /// `None`: there is none.
    fn lend(&self) -> Option<Box<dyn Lent>> {
        None
    }
    /// What the session waits for now.
    fn waits_for(&self) -> Option<WaitFor> {
        None
    }
}

/// A slot that is lent; dropped, it is given back.
pub trait Lent: Send {
    /// Whether somebody needs it. Asked every few milliseconds; it should be given back soon then.
    fn is_wanted(&self) -> bool;
}

/// What a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitFor {
    /// A row, range or metadata lock.
    Lock,
    /// The log's fsync.
    Log,
    /// Room in the delta (back-pressure).
    Store,
    /// The client, to take its result.
    Client,
    /// SLEEP().
    Sleep,
    /// A lock that GET_LOCK() takes.
    UserLock,
    /// The end of another transaction, when there are as many as there may be.
    Transactions,
}

/// A waiter that nobody has to be told about: for tests, tools and the engine's own sessions.
pub struct Unattended;

impl Waiting for Unattended {
    fn pause(&self, _: WaitFor) {}
    fn resume(&self, _: WaitFor) {}
}

/// Where a session sleeps.
#[derive(Default)]
pub(super) struct Parker {
    killed: AtomicBool,
    /// How long it has slept for locks, in nanoseconds.
    locks_ns: AtomicU64,
    /// How much of that it has slept for locks of tables.
    tables_ns: AtomicU64,
    /// How long it has queued for slots before statements, in nanoseconds.
    queued_ns: AtomicU64,
    mutex: Mutex<()>,
    condition: Condvar,
}

impl Parker {
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }
    /// It has slept so long for a lock, of a row or of a table.
    pub fn note_lock(&self, slept: Duration, is_row: bool) {
        let ns = u64::try_from(slept.as_nanos()).unwrap_or(u64::MAX);
        self.locks_ns.fetch_add(ns, Ordering::Relaxed);
        if !is_row {
            self.tables_ns.fetch_add(ns, Ordering::Relaxed);
        }
    }
    /// How long it has slept for locks of tables, in nanoseconds.
    pub fn tables_ns(&self) -> u64 {
        self.tables_ns.load(Ordering::Relaxed)
    }
    /// It has queued so long.
    pub fn note_queued(&self, queued: Duration) {
        let ns = u64::try_from(queued.as_nanos()).unwrap_or(u64::MAX);
        self.queued_ns.fetch_add(ns, Ordering::Relaxed);
    }
    /// How long it has queued, in nanoseconds.
    pub fn queued_ns(&self) -> u64 {
        self.queued_ns.load(Ordering::Relaxed)
    }
    /// How long it has slept for locks, in nanoseconds.
    pub fn locks_ns(&self) -> u64 {
        self.locks_ns.load(Ordering::Relaxed)
    }
    /// KILL: wakes the sleeper; what it waits for next ends at once, too.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::SeqCst);
        self.wake();
    }
    /// Forgets a KILL.
    pub fn clear_kill(&self) {
        self.killed.store(false, Ordering::SeqCst);
    }
    /// Sleeps until `ended` has an answer, at most until `deadline`.
    pub fn sleep<T>(
        &self,
        deadline: Option<Instant>,
        ended: impl Fn() -> Option<T>,
    ) -> Result<T, Interrupted> {
        let mut guard = self.mutex.lock();
        loop {
            if let Some(ended) = ended() {
                return Ok(ended);
            }
            if self.killed.load(Ordering::SeqCst) {
                return Err(Interrupted::Killed);
            }
            match deadline {
                None => self.condition.wait(&mut guard),
                Some(deadline) => {
                    let timeout = self.condition.wait_until(&mut guard, deadline);
                    if timeout.timed_out() {
                        return ended().ok_or(Interrupted::Timeout);
                    }
                }
            }
        }
    }
    /// Has the sleeper look again.
    pub fn wake(&self) {
        // Taking the mutex closes the gap between the sleeper's last look and its sleep.
        drop(self.mutex.lock());
        self.condition.notify_all();
    }
}

/// Why a sleep ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupted {
    /// The time is over.
    Timeout,
    /// KILL.
    Killed,
}
