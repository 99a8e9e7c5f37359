//! How long sessions waited, and for what: a histogram for each class of waits.

use cohort_engine::txn::WaitFor;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A slot, in the high queue or before it.
    QueueHigh,
    /// A slot, in the low queue.
    QueueLow,
    /// A row, range or metadata lock.
    Lock,
    /// The log's fsync.
    Log,
    /// The client: its next statement, or that it takes its result.
    Client,
    /// Room in the store.
    Store,
    /// SLEEP().
    Sleep,
    /// GET_LOCK().
    UserLock,
    /// The end of other transactions, at thread_pool_max_transactions_limit.
    Transactions,
}

/// All classes with their names.
pub const CLASSES: [(Wait, &str); 9] = [
    (Wait::QueueHigh, "QUEUE_HIGH"),
    (Wait::QueueLow, "QUEUE_LOW"),
    (Wait::Lock, "LOCK"),
    (Wait::Log, "LOG"),
    (Wait::Client, "CLIENT"),
    (Wait::Store, "STORE"),
    (Wait::Sleep, "SLEEP"),
    (Wait::UserLock, "USER_LOCK"),
    (Wait::Transactions, "TRANSACTIONS"),
];

impl From<WaitFor> for Wait {
    fn from(what: WaitFor) -> Wait {
        match what {
            WaitFor::Lock => Wait::Lock,
            WaitFor::Log => Wait::Log,
            WaitFor::Store => Wait::Store,
            WaitFor::Client => Wait::Client,
            WaitFor::Sleep => Wait::Sleep,
            WaitFor::UserLock => Wait::UserLock,
            WaitFor::Transactions => Wait::Transactions,
        }
    }
}

/// Bucket n counts waits of less than 2ⁿ microseconds, and the last one all longer ones.
pub const BUCKETS: usize = 28;

/// The waits of one class.
#[derive(Debug)]
pub struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_micros: AtomicU64,
    max_micros: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
            sum_micros: AtomicU64::new(0),
            max_micros: AtomicU64::new(0),
        }
    }
}

/// A duration in whole microseconds.
pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Histogram {
    fn note(&self, waited: Duration) {
        let micros = micros(waited);
        let bucket = (u64::BITS - micros.leading_zeros()) as usize;
        self.buckets[bucket.min(BUCKETS - 1)].fetch_add(1, Relaxed);
        self.sum_micros.fetch_add(micros, Relaxed);
        if micros > self.max_micros.load(Relaxed) {
            self.max_micros.fetch_max(micros, Relaxed);
        }
    }
    /// How many waits fell into each bucket.
    pub fn buckets(&self) -> [u64; BUCKETS] {
        self.buckets.each_ref().map(|bucket| bucket.load(Relaxed))
    }
    /// All waits together, in microseconds.
    pub fn sum_micros(&self) -> u64 {
        self.sum_micros.load(Relaxed)
    }
    /// The longest, in microseconds.
    pub fn max_micros(&self) -> u64 {
        self.max_micros.load(Relaxed)
    }
}

/// The waits of all classes.
#[derive(Debug, Default)]
pub struct Waits([Histogram; CLASSES.len()]);

impl Waits {
    /// Counts a wait that is over.
    pub fn note(&self, what: Wait, waited: Duration) {
        self.0[what as usize].note(waited);
    }
    /// The waits of a class.
    pub fn of(&self, what: Wait) -> &Histogram {
        &self.0[what as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_fall_into_buckets_of_powers_of_two() {
        let waits = Waits::default();
        for micros in [0, 1, 2, 3, 4, u64::MAX >> 12] {
            waits.note(Wait::Lock, Duration::from_micros(micros));
        }
        let buckets = waits.of(Wait::Lock).buckets();
        assert_eq!(buckets[..4], [1, 1, 2, 1]);
        assert_eq!(buckets[BUCKETS - 1], 1);
        assert_eq!(waits.of(Wait::Lock).max_micros(), u64::MAX >> 12);
        assert!(
            CLASSES
                .iter()
                .zip(0..)
                .all(|((wait, _), n)| *wait as usize == n)
        );
    }
}
