//! What a session keeps of its statements: sums for each kind, and the last ones.

use super::{
    commits::{Commit, Commits},
    digests::{Digest, SAMPLE_MAX, short},
    ended::{Counts, Ended},
    histogram::Histogram,
    log_files::QueryLogs,
    query_logs::Who,
};
use crate::status::Counters;
use cohort_engine::txn::CommitTimes;
use parking_lot::{Mutex, MutexGuard};
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
    last: VecDeque<(u64, Arc<Kind>, Box<Ended>)>,
    /// What it has committed lately.
    commits: Commits,
    /// How many there have been.
    count: u64,
    /// How many were slow since the session has counted them.
    slow: u64,
    /// A note that came back late and is not added up.
    late: Option<Late>,
    /// One that is, for the next statement.
    free: Option<Box<Note>>,
}

impl Recent {
    /// What the session calls a kind.
    pub fn kind(&mut self, digest: &Arc<Digest>) -> Arc<Kind> {
        let known = |(kind, _): &(Arc<Kind>, Stats)| Arc::ptr_eq(&kind.0, digest);
        if let Some(at) = self.sums.iter().position(known) {
            // A session repeats itself: what it meets often is soon near the front.
            let nearer = at / 2;
            if nearer < at {
                self.sums.swap(at, nearer);
            }
            return Arc::clone(&self.sums[nearer].0);
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
    /// A statement of this kind has ended. What is left in its place is no statement: it has only the
    /// room for the next one.
    fn note(&mut self, kind: Arc<Kind>, ended: &mut Box<Ended>) {
        // What found no room is of many commands.
        if !kind.0.text.is_empty() {
            kind.0.command.get_or_init(|| ended.command);
        }
        let known = |(known, _): &&mut (Arc<Kind>, Stats)| Arc::ptr_eq(known, &kind);
        match self.sums.iter_mut().find(known) {
            Some((_, stats)) => stats.count(ended),
            None => {
                // Its sums were handed on since it began.
                let mut stats = Stats::default();
                stats.count(ended);
                self.add(&kind, stats);
            }
        }
        self.count += 1;
        if ended.text.len() > SAMPLE_MAX {
            ended.text = short(&ended.text);
        }
        let oldest = match self.last.len() {
            HISTORY.. => self.last.pop_front(),
            _ => None,
        };
        let room = oldest.map_or_else(Box::default, |(.., ended)| ended);
        let ended = std::mem::replace(ended, room);
        self.last.push_back((self.count, kind, ended));
    }
    /// A statement is over.
    fn keep(&mut self, note: &mut Note) {
        let Some(kind) = note.kind.take() else {
            return;
        };
        if let Some(commit) = note.commit.take() {
            self.commits.note(commit, &kind, &note.ended.text);
        }
        self.note(kind, &mut note.ended);
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
    pub fn history(&self) -> impl DoubleEndedIterator<Item = &(u64, Arc<Kind>, Box<Ended>)> {
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
    /// A note that came back late, for another statement.
    pub(crate) fn take_free(&mut self) -> Option<Box<Note>> {
        self.free.take()
    }
    /// How many statements there have been.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// A statement that has ended, on its way to those who keep it.
///
/// Some 500 bytes are known of a statement. They are written once, where they stay: a session uses
/// its note again for the next statement, and the oldest statement of its history gives its room.
#[derive(Default)]
pub struct Note {
    pub(crate) ended: Box<Ended>,
    /// None: performance_schema is off, and only logs want to know.
    pub(crate) kind: Option<Arc<Kind>>,
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
    pub(crate) fn count(&mut self, before: &Counts, now: &Counters) {
        let ended = &mut self.ended;
        ended.counts = Counts::of(now).since(before);
        ended.rows_examined = ended.counts.examined();
    }
    /// Its commit is durable, after another wait of so many nanoseconds; or it is not, and there is
    /// none.
    pub(crate) fn commit_known(&mut self, times: Option<CommitTimes>, waited_ns: u64) {
        match (times, &mut self.commit) {
            (Some(times), Some(commit)) => commit.is_durable(times, Some(waited_ns)),
            (Some(_), None) => {}
            (None, commit) => *commit = None,
        }
    }
    /// The reply has waited so many nanoseconds for the log.
    fn has_waited(&mut self, times: Option<CommitTimes>, waited_ns: u64) {
        self.commit_known(times, waited_ns);
        self.ended.took_ns += waited_ns;
    }
    /// The statement is over. The note is free for another one.
    pub(crate) fn finish(&mut self, kept: &Kept) {
        let is_slow = self.log_if_slow();
        let mut recent = kept.lock();
        recent.slow += u64::from(is_slow);
        recent.keep(self);
    }
    /// Writes the statement to the slow log if it belongs there, and tells that.
    fn log_if_slow(&mut self) -> bool {
        let Some(slow) = self.slow.take() else {
            return false;
        };
        let ended = &self.ended;
        let is_slow = ended.took_ns >= slow.least_ns;
        let without_index = slow.logs.wants_unindexed() && ended.counts.without_index();
        let is_left_out = slow.is_admin && !slow.logs.wants_admin();
        (is_slow || without_index)
            && !is_left_out
            && ended.rows_examined >= slow.examined_min
            && slow.logs.slow(&slow.who, ended, without_index, slow.killed)
    }
}

/// A note whose statement's reply waits for the log: that wait is a part of what the statement took.
pub struct LateNote {
    note: Box<Note>,
    kept: Arc<Kept>,
    /// The statement may have to be written to the slow log.
    may_be_slow: bool,
}

impl LateNote {
    pub(crate) fn new(note: Box<Note>, kept: &Arc<Kept>) -> LateNote {
        LateNote {
            may_be_slow: note.slow.is_some(),
            note,
            kept: Arc::clone(kept),
        }
    }
    /// The statement is over, after another wait of so many nanoseconds. Its commit is durable, or it
    /// is not (`None`).
    ///
    /// The log's thread calls this, for all commits of a group. What a session keeps is in another
    /// processor's cache: whoever reads it next, mostly the session itself, adds the statement up.
    pub fn finish(mut self, times: Option<CommitTimes>, waited_ns: u64) {
        if self.may_be_slow {
            // The slow log has it at once.
            self.note.has_waited(times, waited_ns);
            self.note.finish(&self.kept);
            return;
        }
        self.kept.lock().late = Some(Late {
            note: self.note,
            times,
            waited_ns,
        });
    }
}

/// A note that came back late.
struct Late {
    note: Box<Note>,
    times: Option<CommitTimes>,
    waited_ns: u64,
}

/// What a session keeps of its statements, for whoever reads it.
#[derive(Default)]
pub struct Kept(Mutex<Recent>);

impl Kept {
    /// All of it: what came late is added up first.
    pub fn lock(&self) -> MutexGuard<'_, Recent> {
        let mut recent = self.0.lock();
        if let Some(late) = recent.late.take() {
            let mut note = late.note;
            note.has_waited(late.times, late.waited_ns);
            recent.keep(&mut note);
            recent.free = Some(note);
        }
        recent
    }
}
