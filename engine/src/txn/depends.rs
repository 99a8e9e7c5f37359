//! What a session has met that is not durable yet.
//!
//! Locks go when a commit has its place in the log, before the fsync. So a locking read can meet a
//! version that a crash may still take away, and nothing that depends on it may leave the server
//! before it is durable: not its rows, not an error about it, not a variable that was set from it.
//! The session remembers the newest such version, across the end of its transaction however that
//! came, until a reply has waited for it (`Engine::wait_for_reads`).
//!
//! An example. T1 sets `qty` from 0 to 5 and commits as Seq 8; 7 is durable. T2 runs
//! `UPDATE … SET qty = qty - 1`, meets 5 of Seq 8, and `last` becomes 8. Its reply says "one row
//! matched, one changed". The same is true of the 0 that everybody can see, so T2 sets the read
//! aside: `last` becomes 0, and the reply leaves at once. `SELECT qty` in T2 then returns its own 4,
//! which was made of 5: the read set aside counts again, `certain` becomes 8, and this reply waits.

use crate::Seq;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What one session depends on. Only the thread that executes the session uses it: the atomics
/// are there because sessions move between threads, not to order anything.
#[derive(Default)]
pub(super) struct Depends {
    /// Replies have to wait for it.
    certain: AtomicU64,
    /// The same of the last locking read alone, which an UPDATE may still set aside.
    last: AtomicU64,
}

impl Depends {
    /// Notes that a read met the version `seq`, when `visible` was the newest durable one.
    #[inline]
    pub fn note(&self, seq: Seq, visible: Seq) {
        let last = self.last.load(Relaxed);
        if last != 0 {
            self.add(last);
        }
        let newer = if seq > visible { seq } else { 0 };
        if newer != last {
            self.last.store(newer, Relaxed);
        }
    }
    /// Replies have to wait for `seq`.
    pub fn add(&self, seq: Seq) {
        if seq > self.certain.load(Relaxed) {
            self.certain.store(seq, Relaxed);
        }
    }
    /// Sets the last read aside; returns what it met.
    pub fn set_aside(&self) -> Seq {
        let last = self.last.load(Relaxed);
        self.last.store(0, Relaxed);
        last
    }
    /// What the last read met, 0 if it was durable then.
    pub fn last(&self) -> Seq {
        self.last.load(Relaxed)
    }
    /// What a reply has to wait for.
    #[inline]
    pub fn newest(&self) -> Seq {
        self.certain.load(Relaxed).max(self.last.load(Relaxed))
    }
    /// Forgets all of it.
    pub fn forget(&self) {
        self.certain.store(0, Relaxed);
        self.last.store(0, Relaxed);
    }
}
