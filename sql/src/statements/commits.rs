//! Where the time of transactions went that were committed in the last minute.
//!
//! A session adds up what its statements took since the transaction began; the commit knows when it was
//! encoded and placed, and the log's thread when the group was taken, written and synced. So a point
//! select costs a few additions for it, a commit two readings of the clock, and a group two. Each
//! session keeps its own sums, in slots of ten seconds; who asks adds the sessions up.

use super::{
    digests::{Digest, short},
    recent::Kind,
};
use cohort_engine::txn::CommitTimes;
use std::{collections::VecDeque, sync::Arc};

/// How long a slot is, in microseconds, and how many are kept: a minute, and what of it has begun.
const SLOT_US: u64 = 10_000_000;
const SLOTS: usize = 7;
/// A session tells so many kinds apart in a slot; others are counted together.
const KINDS_MAX: usize = 8;
/// So many of the slowest commits of a slot are kept.
const SLOWEST: usize = 3;

/// What time goes to, in the order in which it passes.
pub const PHASES: [&str; 9] = [
    "client",
    "queue",
    "execution",
    "row_locks",
    "metadata_locks",
    "encoding",
    "group",
    "fsync",
    "reply",
];

/// The time of each of [`PHASES`], in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases(pub [u64; PHASES.len()]);

impl Phases {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
    /// Adds another transaction's.
    pub fn add(&mut self, other: &Phases) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_add(more);
        }
    }
}

/// What one statement took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// When it began and ended, by the clock for measuring, in nanoseconds.
    pub begun_ns: u64,
    /// The same.
    pub ended_ns: u64,
    /// How long it had queued for a slot before.
    pub queued_ns: u64,
    /// How long it waited for locks.
    pub locks_ns: u64,
    /// How much of that were metadata locks.
    pub tables_ns: u64,
}

/// A transaction that is open: what its statements took until now.
#[derive(Clone, Debug, Default)]
pub struct Under {
    /// When it began, in microseconds since 1970; 0: none has.
    begun_us: u64,
    first_ns: u64,
    statements: u64,
    took_ns: u64,
    queued_ns: u64,
    locks_ns: u64,
    tables_ns: u64,
    /// The kind and the text of the last statement that has changed rows.
    changed: Option<(Arc<Kind>, Arc<str>)>,
}

impl Under {
    /// A statement has ended.
    pub fn add(&mut self, begun_us: u64, span: &Span) {
        if self.statements == 0 {
            self.begun_us = begun_us;
            self.first_ns = span.begun_ns;
        }
        self.statements += 1;
        self.took_ns += span.ended_ns.saturating_sub(span.begun_ns);
        self.queued_ns += span.queued_ns;
        self.locks_ns += span.locks_ns;
        self.tables_ns += span.tables_ns;
    }
    /// It is of this kind, and has changed rows.
    pub fn changes(&mut self, kind: &Arc<Kind>, text: &Arc<str>) {
        self.changed = Some((Arc::clone(kind), Arc::clone(text)));
    }
    /// The statement that commits it has changed rows itself.
    pub fn speaks_for_itself(&mut self) {
        self.changed = None;
    }
    /// Nothing is open any more.
    pub fn forget(&mut self) {
        if self.statements > 0 {
            *self = Under::default();
        }
    }
    /// It was committed, by the statement that has just ended. `is_known`: that the commit is durable
    /// was waited for within that statement.
    pub fn committed(&mut self, span: &Span, times: CommitTimes, is_known: bool) -> Commit {
        let under = std::mem::take(self);
        // Before its first statement is nobody's time; between statements it is the client's.
        let whole = span.ended_ns.saturating_sub(under.first_ns);
        let between = whole.saturating_sub(under.took_ns);
        let client = between.saturating_sub(under.queued_ns);
        let encoding = times.placed_ns.saturating_sub(times.begun_ns);
        let rows = under.locks_ns.saturating_sub(under.tables_ns);
        let mut execution = under
            .took_ns
            .saturating_sub(under.locks_ns)
            .saturating_sub(encoding);
        if is_known {
            let waited = times.group.durable_ns.saturating_sub(times.placed_ns);
            execution = execution.saturating_sub(waited);
        }
        let phases = Phases([
            client,
            under.queued_ns,
            execution,
            rows,
            under.tables_ns,
            encoding,
            0,
            0,
            0,
        ]);
        let mut commit = Commit {
            changed: under.changed,
            begun_us: under.begun_us,
            statements: under.statements,
            phases,
            ended_ns: span.ended_ns,
            placed_ns: times.placed_ns,
        };
        if is_known {
            commit.is_durable(times, None);
        }
        commit
    }
}

/// A transaction that was committed.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The kind and the text of its last statement that has changed rows; none: those of the statement
    /// that has committed it.
    changed: Option<(Arc<Kind>, Arc<str>)>,
    /// When it began, in microseconds since 1970.
    pub begun_us: u64,
    /// How many statements it had.
    pub statements: u64,
    /// Where its time went.
    pub phases: Phases,
    ended_ns: u64,
    placed_ns: u64,
}

impl Commit {
    /// What happened to its group is known; `waited_ns`: after its statement had ended its reply has
    /// waited so long.
    pub fn is_durable(&mut self, times: CommitTimes, waited_ns: Option<u64>) {
        let group = times.group;
        let [.., in_group, fsync, reply] = &mut self.phases.0;
        *in_group = group.taken_ns.saturating_sub(self.placed_ns);
        *fsync = group.durable_ns.saturating_sub(group.taken_ns);
        if let Some(waited_ns) = waited_ns {
            *reply = (self.ended_ns + waited_ns).saturating_sub(group.durable_ns);
        }
    }
}

/// Commits of one kind.
#[derive(Clone, Debug)]
pub struct OfKind {
    /// Which kind; none: those that found no room.
    pub kind: Option<Arc<Kind>>,
    /// How many.
    pub count: u64,
    /// Where their time went.
    pub phases: Phases,
    /// How long the longest took, in nanoseconds.
    pub max_ns: u64,
}

/// One of the slowest.
#[derive(Clone, Debug)]
pub struct Slow {
    /// Of which kind it is.
    pub kind: Arc<Kind>,
    /// That statement's text.
    pub text: Arc<str>,
    /// The transaction.
    pub commit: Commit,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    number: u64,
    kinds: Vec<OfKind>,
    slowest: Vec<Slow>,
}

/// The commits of the last minute: of a session, or of those that have ended.
#[derive(Clone, Debug, Default)]
pub struct Commits(VecDeque<Slot>);

impl Commits {
    /// One more, by a statement of this kind and text.
    pub fn note(&mut self, mut commit: Commit, kind: &Arc<Kind>, text: &Arc<str>) {
        let changed = commit.changed.take();
        let (kind, text) = changed
            .as_ref()
            .map_or((kind, text), |(kind, text)| (kind, text));
        let total = commit.phases.total();
        let number = (commit.begun_us + total / 1000) / SLOT_US;
        let slot = self.slot(number);
        slot.count(Some(kind), 1, &commit.phases, total);
        let least = slot
            .slowest
            .last()
            .map_or(0, |last| last.commit.phases.total());
        if slot.slowest.len() < SLOWEST || total > least {
            slot.keep(Slow {
                kind: Arc::clone(kind),
                text: short(text),
                commit,
            });
        }
    }
    fn slot(&mut self, number: u64) -> &mut Slot {
        let is_new = self.0.back().is_none_or(|last| last.number < number);
        if is_new {
            self.forget_before(number);
            self.0.push_back(Slot {
                number,
                ..Slot::default()
            });
        }
        // The wall clock may have been set back: that counts for now.
        let last = self.0.len() - 1;
        &mut self.0[last]
    }
    fn forget_before(&mut self, number: u64) {
        let first = number.saturating_sub(SLOTS as u64 - 1);
        while self.0.front().is_some_and(|slot| slot.number < first) {
            self.0.pop_front();
        }
    }
    /// Adds those of a session that ends.
    pub fn absorb(&mut self, other: Commits) {
        for slot in other.0 {
            let own = self.slot(slot.number);
            for of_kind in slot.kinds {
                let OfKind {
                    kind,
                    count,
                    phases,
                    max_ns,
                } = of_kind;
                own.count(kind.as_ref(), count, &phases, max_ns);
            }
            for slow in slot.slowest {
                own.keep(slow);
            }
        }
    }
    /// The kinds in the last minute.
    pub fn kinds(&self, now_us: u64) -> impl Iterator<Item = &OfKind> {
        self.lately(now_us).flat_map(|slot| &slot.kinds)
    }
    /// Its slowest ones, in no order.
    pub fn slowest(&self, now_us: u64) -> impl Iterator<Item = &Slow> {
        self.lately(now_us).flat_map(|slot| &slot.slowest)
    }
    fn lately(&self, now_us: u64) -> impl Iterator<Item = &Slot> {
        let first = (now_us / SLOT_US).saturating_sub(SLOTS as u64 - 1);
        self.0.iter().filter(move |slot| slot.number >= first)
    }
}

impl Slot {
    fn count(&mut self, kind: Option<&Arc<Kind>>, count: u64, phases: &Phases, max_ns: u64) {
        let digest = |kind: &Arc<Kind>| -> *const Digest { Arc::as_ptr(&kind.0) };
        let wanted = kind.map(digest);
        let known = |of: &&mut OfKind| of.kind.as_ref().map(digest) == wanted;
        if let Some(of) = self.kinds.iter_mut().find(known) {
            of.count += count;
            of.phases.add(phases);
            of.max_ns = of.max_ns.max(max_ns);
            return;
        }
        if kind.is_some() && self.kinds.len() >= KINDS_MAX {
            return self.count(None, count, phases, max_ns);
        }
        self.kinds.push(OfKind {
            kind: kind.cloned(),
            count,
            phases: *phases,
            max_ns,
        });
    }
    /// Keeps it among the slowest, if it is one.
    fn keep(&mut self, slow: Slow) {
        let total = slow.commit.phases.total();
        let slower = |other: &Slow| other.commit.phases.total() >= total;
        let at = self.slowest.partition_point(slower);
        self.slowest.insert(at, slow);
        self.slowest.truncate(SLOWEST);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::digests::Digests, *};
    use crate::lexer::Mode;
    use cohort_engine::log::GroupTimes;

    /// A kind of its own.
    fn kind(text: &str) -> Arc<Kind> {
        let digests = Digests::default();
        let digest = digests.find(&Arc::from(""), text.as_bytes(), Mode::default());
        Arc::new(Kind(digest))
    }

    /// A transaction of an UPDATE and a COMMIT.
    fn one(update: &Arc<Kind>) -> Commit {
        let mut under = Under::default();
        let first = Span {
            begun_ns: 1_000,
            ended_ns: 1_500,
            queued_ns: 40,
            locks_ns: 300,
            tables_ns: 100,
        };
        under.add(7, &first);
        under.changes(update, &Arc::from("UPDATE t SET a = 1"));
        let last = Span {
            begun_ns: 2_000,
            ended_ns: 2_100,
            queued_ns: 60,
            ..Span::default()
        };
        under.add(9, &last);
        let times = CommitTimes {
            begun_ns: 2_010,
            placed_ns: 2_090,
            group: GroupTimes::default(),
        };
        let mut commit = under.committed(&last, times, false);
        let group = GroupTimes {
            taken_ns: 2_200,
            written_ns: 2_250,
            durable_ns: 2_900,
        };
        commit.is_durable(CommitTimes { group, ..times }, Some(850));
        commit
    }

    #[test]
    fn a_transactions_time_has_its_places() {
        let update = kind("UPDATE");
        let commit = one(&update);
        // From the first statement to the second 500 passed, 100 of them in queues.
        let wanted = [400, 100, 220, 200, 100, 80, 110, 700, 50];
        assert_eq!(commit.phases, Phases(wanted));
        assert_eq!((commit.begun_us, commit.statements), (7, 2));
        // It counts for the UPDATE, and not for the COMMIT.
        let mut commits = Commits::default();
        commits.note(commit, &kind("COMMIT"), &Arc::from("COMMIT"));
        let slow = commits.slowest(7).next().unwrap();
        assert!(Arc::ptr_eq(&slow.kind, &update) && &*slow.text == "UPDATE t SET a = 1");
        assert!(
            commits
                .kinds(7)
                .all(|of| Arc::ptr_eq(of.kind.as_ref().unwrap(), &update))
        );
    }

    #[test]
    fn what_is_known_at_the_end_is_counted_once() {
        let mut under = Under::default();
        let span = Span {
            begun_ns: 100,
            ended_ns: 1_000,
            ..Span::default()
        };
        under.add(1, &span);
        let times = CommitTimes {
            begun_ns: 150,
            placed_ns: 200,
            group: GroupTimes {
                taken_ns: 300,
                written_ns: 350,
                durable_ns: 900,
            },
        };
        let commit = under.committed(&span, times, true);
        assert_eq!(commit.phases, Phases([0, 0, 150, 0, 0, 50, 100, 600, 0]));
        assert_eq!(commit.phases.total(), 900);
    }

    #[test]
    fn a_minute_is_kept_and_no_more() {
        let update = kind("UPDATE");
        let mut commits = Commits::default();
        for second in 0..200 {
            let mut commit = one(&update);
            commit.begun_us = second * 1_000_000;
            commits.note(commit, &update, &Arc::from("UPDATE"));
        }
        let count = |now: u64| commits.kinds(now).map(|of| of.count).sum::<u64>();
        assert_eq!(count(199_000_000), 70);
        assert_eq!(count(229_000_000), 40);
        assert_eq!(count(400_000_000), 0);
        assert_eq!(commits.slowest(199_000_000).count(), 7 * SLOWEST);
    }

    #[test]
    fn kinds_that_find_no_room_are_counted_together() {
        let mut commits = Commits::default();
        let kinds: Vec<_> = (0..KINDS_MAX + 3).map(|n| kind(&n.to_string())).collect();
        for kind in &kinds {
            commits.note(one(kind), kind, &Arc::from(""));
        }
        assert_eq!(commits.kinds(0).count(), KINDS_MAX + 1);
        let others = commits.kinds(0).find(|of| of.kind.is_none());
        assert_eq!(others.map(|of| of.count), Some(3));
        let mut all = Commits::default();
        all.absorb(commits);
        assert_eq!(all.kinds(0).map(|of| of.count).sum::<u64>(), 11);
        assert_eq!(all.slowest(0).count(), SLOWEST);
    }
}
