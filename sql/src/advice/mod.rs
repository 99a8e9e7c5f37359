//! The adviser: what clients do with transactions that costs them, or makes others wait.
//!
//! The commonest waste is not known to those who pay for it: a connector that turns autocommit
//! off, or a framework that puts a transaction around everything, so that each lookup by key
//! takes two or three round trips instead of one. Counted are:
//!
//! * transactions that were one plain SELECT, with the round trips that BEGIN and COMMIT took;
//! * time that transactions were open while the client did nothing;
//! * time that others waited for row locks, by the statement that held them.
//!
//! What a statement costs for it: inside an open transaction, one reading of the clock and a
//! counter of the session's own. Only when a transaction ends that is worth a word is anything
//! shared touched: one atomic addition, as long as the session repeats itself (a [`Wasted`] is
//! remembered by the session), else a lookup under a mutex.
//!
//! Memory is bounded: beyond [`ENTRIES_MAX`] pairs of user and statement the rest is counted
//! together, under no statement, as performance_schema does.

use crate::{digest, lexer::Mode};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// So many different entries of each kind are kept.
pub const ENTRIES_MAX: usize = 1000;
/// A transaction whose client did nothing for less is no offender.
pub const IDLE_US_MIN: u64 = 1_000_000;

/// Whom an entry is about: the user, and the digest's text of the statement; none for all who
/// found no room.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// `user@host`.
    pub who: Arc<str>,
    /// The statement, without its values.
    pub statement: Arc<str>,
}

/// How a transaction of one SELECT came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Opened {
    /// By BEGIN or START TRANSACTION.
    Explicitly,
    /// Because autocommit was off, or by AND CHAIN.
    ByItself,
}

/// Transactions that were one plain SELECT.
#[derive(Debug, Default)]
pub struct Wasted {
    /// How many.
    pub transactions: AtomicU64,
    /// How many round trips they took besides the SELECT.
    pub round_trips: AtomicU64,
}

impl Wasted {
    /// Counts one more.
    pub fn count(&self, round_trips: u64) {
        self.transactions.fetch_add(1, Ordering::Relaxed);
        self.round_trips.fetch_add(round_trips, Ordering::Relaxed);
    }
}

/// Counts, and times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How often.
    pub count: u64,
    /// How long together.
    pub sum_us: u64,
    /// How long at most.
    pub max_us: u64,
}

impl Times {
    fn add(&mut self, us: u64) {
        self.count += 1;
        self.sum_us = self.sum_us.saturating_add(us);
        self.max_us = self.max_us.max(us);
    }
}

/// A map of bounded size; what finds no room goes to the entry of nobody.
#[derive(Debug)]
struct Bounded<K, V>(FxHashMap<K, V>);

impl<K, V> Default for Bounded<K, V> {
    fn default() -> Bounded<K, V> {
        Bounded(FxHashMap::default())
    }
}

impl<K: std::hash::Hash + Eq, V: Default> Bounded<K, V> {
    fn entry(&mut self, key: K, overflow: impl FnOnce() -> K) -> &mut V {
        let known = self.0.len() < ENTRIES_MAX || self.0.contains_key(&key);
        self.0
            .entry(if known { key } else { overflow() })
            .or_default()
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub struct Advice {
    wasted: Mutex<Bounded<(Subject, Opened), Arc<Wasted>>>,
    idle: Mutex<Bounded<Subject, Times>>,
    blocking: Mutex<Bounded<Subject, Times>>,
}

impl Subject {
    /// A statement of a user.
    #[must_use]
    pub fn new(who: &Arc<str>, sql: &str, mode: Mode) -> Subject {
        Subject {
            who: Arc::clone(who),
            statement: digest::text(sql.as_bytes(), mode).into(),
        }
    }
    fn nobody() -> Subject {
        Subject {
            who: "".into(),
            statement: "".into(),
        }
    }
}

impl Advice {
    /// Where to count transactions of this one SELECT.
    pub fn wasted(&self, subject: Subject, opened: Opened) -> Arc<Wasted> {
        let mut wasted = self.wasted.lock();
        Arc::clone(wasted.entry((subject, opened), || (Subject::nobody(), opened)))
    }
    /// Counts a transaction that was open for so long while its client did nothing, after this
    /// statement.
    pub fn idle(&self, subject: Subject, us: u64) {
        self.idle.lock().entry(subject, Subject::nobody).add(us);
    }
    /// Counts a wait for locks of the transaction whose last statement was this.
    pub fn blocking(&self, subject: Subject, waited: Duration) {
        let us = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX);
        self.blocking.lock().entry(subject, Subject::nobody).add(us);
    }
    /// All there is to say, the worst first within each kind.
    #[must_use]
    pub fn list(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for ((subject, opened), wasted) in &self.wasted.lock().0 {
            findings.push(Finding {
                subject: subject.clone(),
                what: What::OneSelect {
                    opened: *opened,
                    transactions: wasted.transactions.load(Ordering::Relaxed),
                    round_trips: wasted.round_trips.load(Ordering::Relaxed),
                },
            });
        }
        let times = |map: &Mutex<Bounded<Subject, Times>>, what: fn(Times) -> What| {
            let map = map.lock();
            let finding = |(subject, times): (&Subject, &Times)| Finding {
                subject: subject.clone(),
                what: what(*times),
            };
            map.0.iter().map(finding).collect::<Vec<_>>()
        };
        findings.extend(times(&self.idle, What::Idle));
        findings.extend(times(&self.blocking, What::Blocking));
        findings.sort_by(|a, b| {
            a.what
                .order()
                .cmp(&b.what.order())
                .then(a.subject.cmp(&b.subject))
        });
        findings
    }
}

/// One thing to say.
#[derive(Clone, Debug)]
pub struct Finding {
    /// About whom.
    pub subject: Subject,
    /// What.
    pub what: What,
}

/// What there is to say of somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Transactions that were one plain SELECT.
    OneSelect {
        /// How they began.
        opened: Opened,
        /// How many.
        transactions: u64,
        /// What they took besides the SELECT.
        round_trips: u64,
    },
    /// Transactions that were open while the client did nothing.
    Idle(Times),
    /// Others waited for its row locks.
    Blocking(Times),
}

impl What {
    /// A name for the kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            What::OneSelect { .. } => "single select",
            What::Idle(_) => "idle in transaction",
            What::Blocking(_) => "makes others wait",
        }
    }
    /// By kind, then the worst first.
    fn order(&self) -> (u8, std::cmp::Reverse<u64>) {
        let (kind, weight) = match self {
            What::OneSelect { round_trips, .. } => (0, *round_trips),
            What::Idle(times) => (1, times.sum_us),
            What::Blocking(times) => (2, times.sum_us),
        };
        (kind, std::cmp::Reverse(weight))
    }
    /// What the user should know and could do.
    #[must_use]
    pub fn sentence(&self, who: &str) -> String {
        let who = if who.is_empty() {
            "Others, too many to list,"
        } else {
            who
        };
        let seconds = |us: u64| format!("{}.{:03} s", us / 1_000_000, us / 1000 % 1000);
        match self {
            What::OneSelect {
                opened: Opened::Explicitly,
                transactions,
                round_trips,
            } => format!(
                "{who} put a transaction around this one SELECT {}: round trips more than for the \
                 SELECT alone, which sees the same: {round_trips}.",
                often(*transactions)
            ),
            What::OneSelect {
                opened: Opened::ByItself,
                transactions,
                round_trips,
            } => format!(
                "{who} ran this one SELECT {} with autocommit off and ended a transaction after \
                 it: round trips that autocommit = 1 saves: {round_trips}.",
                often(*transactions)
            ),
            What::Idle(times) => format!(
                "{who} left a transaction open after this statement while doing nothing {}, {} \
                 together and {} at most: old row versions and locks are kept meanwhile.",
                often(times.count),
                seconds(times.sum_us),
                seconds(times.max_us)
            ),
            What::Blocking(times) => format!(
                "{who} made others wait for row locks {}, {} together and {} at most, \
                 while this was its last statement: commit sooner after it.",
                often(times.count),
                seconds(times.sum_us),
                seconds(times.max_us)
            ),
        }
    }
}

/// How often, in words.
fn often(times: u64) -> String {
    match times {
        1 => "once".into(),
        2 => "twice".into(),
        _ => format!("{times} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(sql: &str) -> Subject {
        Subject::new(&"me@here".into(), sql, Mode::default())
    }

    #[test]
    fn the_worst_first_and_alike_together() {
        let advice = Advice::default();
        for n in [1, 2] {
            let sql = format!("SELECT a FROM t WHERE id = {n}");
            advice.wasted(subject(&sql), Opened::Explicitly).count(2);
        }
        let worse = advice.wasted(subject("SELECT b FROM t"), Opened::ByItself);
        (0..5).for_each(|_| worse.count(1));
        advice.idle(subject("SELECT 1"), 3_500_000);
        advice.blocking(subject("UPDATE t SET a = 1"), Duration::from_millis(20));
        let kinds: Vec<_> = advice.list().iter().map(|f| f.what.kind()).collect();
        assert_eq!(
            kinds,
            [
                "single select",
                "single select",
                "idle in transaction",
                "makes others wait"
            ]
        );
        let list = advice.list();
        assert_eq!(&*list[0].subject.statement, "SELECT `b` FROM `t`");
        let What::OneSelect {
            transactions,
            round_trips,
            ..
        } = list[1].what
        else {
            panic!("{list:?}");
        };
        assert_eq!((transactions, round_trips), (2, 4));
        assert!(list[2].what.sentence("me").contains("3.500 s"), "{list:?}");
    }

    #[test]
    fn memory_is_bounded() {
        let advice = Advice::default();
        for i in 0..2 * ENTRIES_MAX {
            advice.idle(subject(&format!("SELECT a{i} FROM t")), IDLE_US_MIN);
        }
        let list = advice.list();
        assert_eq!(list.len(), ENTRIES_MAX + 1);
        let rest = list.iter().find(|f| f.subject.who.is_empty()).unwrap();
        let What::Idle(times) = rest.what else {
            panic!()
        };
        assert_eq!(times.count, ENTRIES_MAX as u64);
        assert_eq!(list[0].subject, rest.subject, "together they are the worst");
    }
}
