//! What a session keeps of its statements: sums for each kind, and the last ones.

use super::{
    commits::{Commit, Commits},
    digests::{Digest, short},
    ended::{Counts, Ended},
    histogram::Histogram,
    log_files::QueryLogs,
    query_logs::Who,
};
use cohort_engine::txn::CommitTimes;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// A session has sums of so many kinds; then it hands them on, and begins anew.
const KINDS_MAX: usize = 8;
/// So many of its last statements are kept (performance_schema_events_statements_history_size).
pub const HISTORY: usize = 10;

/// Sums over statements of one kind. Times are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// How many there were.
    pub count: u64,
    /// How long they took together.
    pub sum_ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// How long they waited for locks.
    pub locks_ns: u64,
    /// How many failed.
    pub errors: u64,
    /// Conditions they have left.
    pub warnings: u64,
    /// Rows they changed.
    pub rows_affected: u64,
    /// Rows of their results.
    pub rows_sent: u64,
    /// Rows they looked at.
    pub rows_examined: u64,
    /// How many looked for rows without an index.
    pub without_index: u64,
    /// Their part of the sessions' counters.
    pub counts: Counts,
    /// How long they took, one by one.
    pub times: Histogram,
    /// When the first one began, in microseconds since 1970.
    pub first_us: u64,
    /// When the last one began.
    pub last_us: u64,
    /// One of them: its text, when it began, and how long it took.
    pub sample: Option<(Arc<str>, u64, u64)>,
}

impl Stats {
    fn count(&mut self, ended: &Ended) {
        let took = ended.took_ns;
        self.min_ns = if self.count == 0 {
            took
        } else {
            self.min_ns.min(took)
        };
        self.count += 1;
        self.sum_ns += took;
        self.locks_ns += ended.locks_ns;
        self.errors += u64::from(ended.error.is_some());
        self.warnings += ended.warnings;
        self.rows_affected += ended.rows_affected;
        self.rows_sent += ended.rows_sent;
        self.rows_examined += ended.rows_examined;
        self.without_index += u64::from(ended.counts.without_index());
        self.counts.add(&ended.counts);
        self.times.count(took);
        if self.first_us == 0 {
            self.first_us = ended.begun_us;
        }
        self.last_us = ended.begun_us;
        // The sample is the one that took longest, as in MySQL.
        if took >= self.max_ns || self.sample.is_none() {
            self.sample = Some((short(&ended.text), ended.begun_us, took));
        }
        self.max_ns = self.max_ns.max(took);
    }
    /// Adds those of another session.
    pub fn add(&mut self, other: &Stats) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.locks_ns += other.locks_ns;
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.rows_affected += other.rows_affected;
        self.rows_sent += other.rows_sent;
        self.rows_examined += other.rows_examined;
        self.without_index += other.without_index;
        self.counts.add(&other.counts);
        self.times.add(&other.times);
        self.first_us = self.first_us.min(other.first_us);
        self.last_us = self.last_us.max(other.last_us);
        if other.max_ns > self.max_ns {
            self.sample.clone_from(&other.sample);
        }
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// A kind of statements, as a session knows it: to count who refers to it touches nothing that
/// other sessions share.
#[derive(Debug)]
pub struct Kind(pub Arc<Digest>);

/// Sums by command: `select`.
pub type Commands = BTreeMap<&'static str, Stats>;

/// Adds those of somebody else.
pub fn add_commands(all: &mut Commands, more: &Commands) {
    for (command, stats) in more {
        all.entry(command).or_default().add(stats);
    }
}

/// Forgets how long statements took one by one.
pub fn reset_times(commands: &mut Commands) {
    for stats in commands.values_mut() {
        stats.times = Histogram::default();
    }
}

/// What a session keeps of its statements.
#[derive(Default)]
pub struct Recent {
    /// Sums by kind; those that it met last come first.
    sums: Vec<(Arc<Kind>, Stats)>,
    /// Sums by command of what was handed on.
    handed: Commands,
    /// The last statements, the latest at the end, with their numbers and kinds.
    last: VecDeque<(u64, Arc<Kind>, Ended)>,
    /// What it has committed lately.
    commits: Commits,
    /// How many there have been.
    count: u64,
    /// How many were slow since the session has counted them.
    slow: u64,
}

impl Recent {
    /// What the session calls a kind.
    pub fn kind(&mut self, digest: &Arc<Digest>) -> Arc<Kind> {
        let known = |(kind, _): &(Arc<Kind>, Stats)| Arc::ptr_eq(&kind.0, digest);
        if let Some(at) = self.sums.iter().position(known) {
            // A session repeats itself: what it meets often is soon near the front.
            self.sums.swap(at, at / 2);
            if let Some((kind, _)) = self.sums.get(at / 2) {
                return Arc::clone(kind);
            }
        }
        let kind = Arc::new(Kind(Arc::clone(digest)));
        self.add(&kind, Stats::default());
        kind
    }
    fn add(&mut self, kind: &Arc<Kind>, stats: Stats) {
        if self.sums.len() >= KINDS_MAX {
            self.hand_on();
        }
        self.sums.push((Arc::clone(kind), stats));
    }
    /// A statement of this kind has ended.
    pub fn note(&mut self, kind: &Arc<Kind>, mut ended: Ended) {
        // What found no room is of many commands.
        if !kind.0.text.is_empty() {
            kind.0.command.get_or_init(|| ended.command);
        }
        let known = |(known, _): &&mut (Arc<Kind>, Stats)| Arc::ptr_eq(known, kind);
        match self.sums.iter_mut().find(known) {
            Some((_, stats)) => stats.count(&ended),
            None => {
                // Its sums were handed on since it began.
                let mut stats = Stats::default();
                stats.count(&ended);
                self.add(kind, stats);
            }
        }
        self.count += 1;
        if self.last.len() >= HISTORY {
            self.last.pop_front();
        }
        ended.text = short(&ended.text);
        self.last.push_back((self.count, Arc::clone(kind), ended));
    }
    /// A transaction was committed, by a statement of this kind and text.
    pub fn note_commit(&mut self, commit: Commit, kind: &Arc<Kind>, text: &Arc<str>) {
        self.commits.note(commit, kind, text);
    }
    /// What it has committed in the last minute.
    #[must_use]
    pub fn commits(&self) -> &Commits {
        &self.commits
    }
    /// The same, which is somebody else's now.
    pub fn take_commits(&mut self) -> Commits {
        std::mem::take(&mut self.commits)
    }
    /// The sums become everybody's: there are too many, or the session ends.
    pub fn hand_on(&mut self) {
        for (kind, stats) in self.sums.drain(..) {
            kind.0.sums.lock().add(&stats);
            let command = self.handed.entry(kind.0.command());
            command.or_default().add(&stats);
        }
    }
    /// All of its sums, by command.
    #[must_use]
    pub fn commands(&self) -> Commands {
        let mut commands = self.handed.clone();
        for (kind, stats) in &self.sums {
            commands.entry(kind.0.command()).or_default().add(stats);
        }
        commands
    }
    /// The sums that are not handed on.
    #[must_use]
    pub fn sums(&self) -> &[(Arc<Kind>, Stats)] {
        &self.sums
    }
    /// TRUNCATE TABLE of the sums by kind: those by command stay.
    pub fn reset_sums(&mut self) {
        for (kind, stats) in self.sums.drain(..) {
            let command = self.handed.entry(kind.0.command());
            command.or_default().add(&stats);
        }
    }
    /// The sums by command, which are somebody else's now; those by kind are everybody's.
    pub fn take_commands(&mut self) -> Commands {
        self.hand_on();
        std::mem::take(&mut self.handed)
    }
    /// Forgets how long statements took one by one, but not by kind.
    pub fn reset_times(&mut self) {
        self.hand_on();
        reset_times(&mut self.handed);
    }
    /// The last statements with their numbers and kinds, the latest at the end.
    pub fn history(&self) -> impl DoubleEndedIterator<Item = &(u64, Arc<Kind>, Ended)> {
        self.last.iter()
    }
    /// TRUNCATE TABLE of the history.
    pub fn reset_history(&mut self) {
        self.last.clear();
    }
    /// How many statements were slow since this was asked.
    pub fn take_slow(&mut self) -> u64 {
        std::mem::take(&mut self.slow)
    }
    /// How many statements there have been.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// A statement that has ended, on its way to those who keep it. A reply that waits for the log
/// takes it along, since that wait is a part of what the statement took.
pub struct Note {
    pub(crate) ended: Ended,
    /// None: performance_schema is off, and only logs want to know.
    pub(crate) kind: Option<Arc<Kind>>,
    pub(crate) recent: Arc<Mutex<Recent>>,
    /// Who ran it, if it may have to be written to the slow log.
    pub(crate) slow: Option<Slow>,
    /// The transaction that it has committed.
    pub(crate) commit: Option<Commit>,
}

/// When a statement is slow, and whose it is.
pub struct Slow {
    /// Counting who refers to it is everybody's: only those who may have to write to it do.
    pub(crate) logs: Arc<QueryLogs>,
    pub(crate) who: Arc<Who>,
    /// long_query_time, in nanoseconds.
    pub(crate) least_ns: u64,
    /// min_examined_row_limit.
    pub(crate) examined_min: u64,
    /// KILL CONNECTION has ended it.
    pub(crate) killed: bool,
    /// It is one that log_slow_admin_statements is about.
    pub(crate) is_admin: bool,
}

impl Note {
    /// It has brought the session's counters from there to where they are.
    pub(crate) fn count(&mut self, before: &Counts, now: &Counts) {
        self.ended.counts = now.since(before);
        self.ended.rows_examined = self.ended.counts.examined();
    }
    /// Its commit is durable, after another wait of so many nanoseconds; or it is not, and there is
    /// none.
    pub fn commit_known(&mut self, times: Option<CommitTimes>, waited_ns: u64) {
        match (times, &mut self.commit) {
            (Some(times), Some(commit)) => commit.is_durable(times, Some(waited_ns)),
            (Some(_), None) => {}
            (None, commit) => *commit = None,
        }
    }
    /// The statement is over, after another wait of so many nanoseconds for the log.
    pub fn finish(mut self, waited_ns: u64) {
        self.ended.took_ns += waited_ns;
        if let Some(slow) = &self.slow {
            let is_slow = self.ended.took_ns >= slow.least_ns;
            let without_index = slow.logs.wants_unindexed() && self.ended.counts.without_index();
            let is_left_out = slow.is_admin && !slow.logs.wants_admin();
            let is_wanted = (is_slow || without_index) && !is_left_out;
            if is_wanted
                && self.ended.rows_examined >= slow.examined_min
                && slow
                    .logs
                    .slow(&slow.who, &self.ended, without_index, slow.killed)
            {
                self.recent.lock().slow += 1;
            }
        }
        let Some(kind) = self.kind else {
            return;
        };
        let mut recent = self.recent.lock();
        if let Some(commit) = self.commit {
            recent.note_commit(commit, &kind, &self.ended.text);
        }
        recent.note(&kind, self.ended);
    }
}
