//! How long sessions waited, and for what: a histogram for each class of waits.

use cohort_engine::{env::Spread, txn::WaitFor};
use std::time::Duration;

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

/// A duration in whole microseconds.
pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The waits of all classes, in microseconds.
#[derive(Debug, Default)]
pub struct Waits([Spread; CLASSES.len()]);

impl Waits {
    /// Counts a wait that is over.
    pub fn note(&self, what: Wait, waited: Duration) {
        self.0[what as usize].note(micros(waited));
    }
    /// The waits of a class.
    pub fn of(&self, what: Wait) -> &Spread {
        &self.0[what as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_own_waits() {
        let waits = Waits::default();
        waits.note(Wait::Lock, Duration::from_micros(3));
        assert_eq!(waits.of(Wait::Lock).now().sum, 3);
        assert_eq!(waits.of(Wait::Log).now().count(), 0);
        assert!(
            CLASSES
                .iter()
                .zip(0..)
                .all(|((wait, _), n)| *wait as usize == n)
        );
    }
}
