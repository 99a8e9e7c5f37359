//! One statement: what was known when it began, and what it took.

use crate::{
    error::SqlError,
    status::{Counter, Counters},
};
use std::sync::Arc;

/// The counters of a session whose growth during a statement is the statement's.
pub const COUNTED: [Counter; 19] = [
    Counter::BytesReceived,
    Counter::BytesSent,
    Counter::HandlerReadFirst,
    Counter::HandlerReadLast,
    Counter::HandlerReadKey,
    Counter::HandlerReadNext,
    Counter::HandlerReadPrev,
    Counter::HandlerReadRndNext,
    Counter::SortMergePasses,
    Counter::SortRange,
    Counter::SortRows,
    Counter::SortScan,
    Counter::CreatedTmpDiskTables,
    Counter::CreatedTmpTables,
    Counter::SelectFullJoin,
    Counter::SelectRange,
    Counter::SelectScan,
    Counter::RowsExamined,
    Counter::ScansUnindexed,
];

/// A number for each of [`COUNTED`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; COUNTED.len()]);

impl Counts {
    /// Those of a session now.
    #[must_use]
    pub fn of(counters: &Counters) -> Counts {
        Counts(std::array::from_fn(|at| counters.get(COUNTED[at])))
    }
    /// How much they have grown since.
    #[must_use]
    pub fn since(&self, before: &Counts) -> Counts {
        Counts(std::array::from_fn(|at| {
            self.0[at].wrapping_sub(before.0[at])
        }))
    }
    /// The number of one of them; 0 for a counter that is not among them.
    #[must_use]
    pub fn get(&self, counter: Counter) -> u64 {
        let at = COUNTED.iter().position(|known| *known == counter);
        at.and_then(|at| self.0.get(at)).copied().unwrap_or(0)
    }
    /// Rows that were looked at.
    #[must_use]
    pub fn examined(&self) -> u64 {
        const AT: usize = place_of(Counter::RowsExamined);
        self.0[AT]
    }
    /// Adds another statement's.
    pub fn add(&mut self, other: &Counts) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum = sum.wrapping_add(more);
        }
    }
    /// Whether rows were looked for without an index.
    #[must_use]
    pub fn without_index(&self) -> bool {
        const AT: usize = place_of(Counter::ScansUnindexed);
        self.0[AT] > 0
    }
}

/// Where a counter is among those that are counted; what each statement asks for is not looked for.
const fn place_of(counter: Counter) -> usize {
    let mut at = 0;
    while COUNTED[at] as usize != counter as usize {
        at += 1;
    }
    at
}

/// A statement that runs: what is known when it begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Running {
    /// The time of day, in microseconds since 1970.
    pub begun_us: u64,
    /// The clock for measuring, in nanoseconds.
    pub clock_ns: u64,
    /// For how long the session had waited for locks, in nanoseconds.
    pub locks_ns: u64,
    /// How much of that were metadata locks.
    pub tables_ns: u64,
    /// The session's counters.
    pub counts: Counts,
}

/// A statement that has ended.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Its text, without passwords.
    pub text: Arc<str>,
    /// The default database; empty for none.
    pub database: Arc<str>,
    /// What kind of statement it was, as Com_ counters name it: `select`, `commit`.
    pub command: &'static str,
    /// When it began, in microseconds since 1970.
    pub begun_us: u64,
    /// What TIMESTAMP was, in seconds since 1970.
    pub timestamp: i64,
    /// How long it took, in nanoseconds.
    pub took_ns: u64,
    /// How much of that it waited for locks.
    pub locks_ns: u64,
    /// The error that ended it.
    pub error: Option<SqlError>,
    /// How many conditions it has left.
    pub warnings: u64,
    /// Rows of its result.
    pub rows_sent: u64,
    /// Rows that it looked at.
    pub rows_examined: u64,
    /// Rows that it changed.
    pub rows_affected: u64,
    /// Its part of the session's counters.
    pub counts: Counts,
    /// LAST_INSERT_ID() and the id that it has generated or set, for mysql.slow_log.
    pub last_insert_id: u64,
    /// SET INSERT_ID, for mysql.slow_log.
    pub insert_id: u64,
}

impl Ended {
    /// One that has not ended: what is known of it now.
    #[must_use]
    pub fn running(text: Arc<str>, database: Arc<str>, begun_us: u64, now_us: u64) -> Ended {
        Ended {
            text,
            database,
            command: "abstract",
            begun_us,
            took_ns: now_us.saturating_sub(begun_us).saturating_mul(1000),
            ..Ended::default()
        }
    }
    /// When it ended, in microseconds since 1970.
    #[must_use]
    pub fn ended_us(&self) -> u64 {
        self.begun_us + self.took_ns / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_its_part_of_the_counters() {
        let counters = Counters::default();
        counters.add(Counter::SortRows, 5);
        let before = Counts::of(&counters);
        let grown = || Counts::of(&counters).since(&before);
        counters.add(Counter::SortRows, 2);
        counters.count(Counter::ScansUnindexed);
        assert_eq!(grown().get(Counter::SortRows), 2);
        assert!(grown().without_index());
        counters.add(Counter::RowsExamined, 4);
        assert_eq!(grown().examined(), 4);
        assert_eq!(grown().get(Counter::Questions), 0);
    }
}
