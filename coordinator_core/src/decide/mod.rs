//! What to do next about a global transaction: a pure function.
//!
//! `decide(transaction, event)` changes the transaction and returns what is to be done: calls to
//! make, whether to save, when to look again. It knows no clock, no network and no chance: time
//! and random numbers come with the event. The driver performs the actions; what they come to
//! are the next events.
//!
//! Each pattern is one function from the state to the [`Next`] step. What all patterns share is
//! here: replies, retries, and calls that are under way.
//!
//! 1. A branch whose success is known is never called again; one whose success is not known is
//!    called until it is (branches are idempotent by contract).
//! 2. A status changes only from `prepared` to `submitted`, `aborting` or an end, from `submitted`
//!    to `aborting` or an end, and from `aborting` to an end.
//! 3. Nothing is undone while a call that it would undo is under way: its reply, or its timeout,
//!    comes first.
//! 4. The turn to `aborting` is saved before the first compensation is called: a restart must not
//!    go forward again.
//! 5. Only the action of a saga may fail for good. Whatever else refuses is called again.
//! 6. A call that came to nothing is saved with its count before its retry: limits hold across
//!    restarts. So is an answer that is passed on, before anybody gets it.
//! 7. What its client left undecided is undone only after it was saved as aborting and read again:
//!    branches can be registered until then.
//! 8. Nothing is begun for a dead letter, or for what is paused; no deadline counts a pause.
//! 9. What was read back from rows that may know less than happened is undone as if all had been
//!    called. Rows of what was let go in order know all, and stay so: from then on a saga's success
//!    is saved before what it allows.
//! 10. A call that had no turn is no call: it is put off as if it had failed, and counts for no limit.

mod by_client;
mod by_hand;
mod clock;
mod custom;
mod message;
mod patterns;
mod refused;
mod results;
mod saga;
mod two_phase;
mod waiting;
mod workflow;

#[cfg(test)]
mod tests;

pub use by_client::{Outcome, Wish};
pub use by_hand::Operation;
pub use custom::Derived;
pub use patterns::{Branches, PatternRules, Question};
pub use refused::{Progress, Trouble};
pub use results::RESULTS_BYTES_MAX;
pub use waiting::Waiting;

use crate::model::{
    Branch, BranchStatus, Cause, CopyOnWrite, Global, Micros, Note, Reply, SECOND, Seconds, Status,
    shortened_reason,
};
use custom::custom;
use std::collections::BTreeSet;

/// However often somebody wants to be called again, it is not more often, unless the server's own
/// interval is shorter.
const RETRY_INTERVAL_MIN: Micros = SECOND / 10;

/// What holds for transactions that do not say otherwise. Times are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What is not decided after so long is looked into.
    pub timeout_to_fail: Micros,
    /// Before the first retry; it doubles with each that comes to nothing.
    pub retry_interval: Micros,
    /// Retries are never further apart.
    pub retry_interval_max: Micros,
    /// So many calls of one branch that come to nothing make a dead letter; 0: none does.
    pub dead_letter_after: u64,
    /// So do calls of one branch that have failed without an answer for so long; 0: never.
    pub dead_letter_age: Micros,
    /// From so many on each makes an alert; 0: none does.
    pub alert_after: u64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            timeout_to_fail: 35 * SECOND,
            retry_interval: 10 * SECOND,
            retry_interval_max: 300 * SECOND,
            dead_letter_after: 0,
            dead_letter_age: 7 * 86_400 * SECOND,
            alert_after: 0,
        }
    }
}

/// A global transaction that is being driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// What it is.
    pub global: CopyOnWrite<Global>,
    /// Its branches, in the order they were registered.
    pub branches: Vec<CopyOnWrite<Branch>>,
    /// Branches whose calls are under way, by position.
    pub calling: BTreeSet<usize>,
    /// The client is being asked.
    pub asking: bool,
    /// No call can have been made that does not follow from what is known here.
    pub knows_all: bool,
    /// Unusual things that happened, and are in no row yet.
    pub notes: Vec<Note>,
    /// What its `custom_data` says.
    custom: Derived,
    /// What whoever makes its calls has read in its steps.
    pub settings: Derived,
    /// What it has made of the answers that are passed on; nothing, after another one has come.
    pub results: Derived,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Time has passed, or the transaction was just taken up.
    Look,
    /// A branch's call came to this.
    Reply(usize, Reply),
    /// So did the question to the client (`query_prepared`).
    Answer(Reply),
}

/// When it happened, under which rules, and a number that nobody could foresee.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time.
    pub now: Micros,
    /// For the jitter of retries.
    pub random: u64,
    /// The server's.
    pub rules: Rules,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Save the transaction as it is now, durably, before what follows.
    Save,
    /// Save it, and read it again: until now its client may have registered branches.
    Refresh,
    /// Call a branch.
    Call(usize),
    /// Ask the client what became of it.
    Ask,
    /// Nothing more before then, unless a reply comes.
    Wait(Micros),
    /// Tell somebody that calls of this branch (`None`: questions to the client) come to nothing,
    /// the last of them for this reason, or that they are given up.
    Alert(Option<usize>, String),
    /// It has ended.
    End,
}

/// A pattern's next step.
enum Next {
    /// A new status, and why.
    Become(Status, String),
    /// These branches, in any order. Empty: those under way must come first.
    Call(Vec<usize>),
    /// The client must be asked.
    Ask,
    /// Nothing before then.
    Wait(Micros),
}

impl Transaction {
    /// One that nobody drives yet.
    #[must_use]
    pub fn new(global: Global, branches: Vec<Branch>) -> Transaction {
        Transaction {
            global: CopyOnWrite::new(global),
            branches: branches.into_iter().map(CopyOnWrite::new).collect(),
            calling: BTreeSet::new(),
            asking: false,
            knows_all: true,
            notes: Vec::new(),
            custom: Derived::default(),
            settings: Derived::default(),
            results: Derived::default(),
        }
    }

    /// One as its rows have it. Whoever drove it before may have known more.
    #[must_use]
    pub fn read_back(global: Global, branches: Vec<Branch>) -> Transaction {
        let knows_all = global.is_exact;
        Transaction {
            knows_all,
            ..Transaction::new(global, branches)
        }
    }

    /// Its rows will know all that is known here, and from now on always do.
    pub fn settle(&mut self) {
        if self.knows_all && !self.global.is_exact {
            self.global.is_exact = true;
        }
    }

    /// Whether its `custom_data` is what its pattern wants there; why not.
    pub fn check(&self) -> Result<(), String> {
        let check = self.global.pattern.rules().check;
        check(self).map_err(|why| format!("custom_data: {why}"))
    }

    /// Takes events in and says what to do.
    pub fn decide(
        &mut self,
        events: impl IntoIterator<Item = Event>,
        moment: Moment,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        for event in events {
            match event {
                Event::Look => {}
                Event::Reply(branch, reply) => {
                    actions.extend(self.reply(branch, reply, moment));
                }
                Event::Answer(answer) => {
                    let alert = self.answer(answer, moment);
                    actions.push(Action::Save);
                    actions.extend(alert);
                }
            }
        }
        // One save is enough: what is saved is the transaction as all this leaves it.
        let mut has_saved = false;
        actions
            .retain(|action| *action != Action::Save || !std::mem::replace(&mut has_saved, true));
        self.proceed(moment, &mut actions);
        actions
    }

    /// Takes over from `other`, the same transaction, what it knows of its branches and this does
    /// not: successes are not always saved at once. Nobody else has driven it since.
    pub fn remember(&mut self, other: Transaction) {
        self.knows_all |= other.knows_all;
        self.learn(other);
    }

    /// The same, if somebody else may have driven it.
    pub fn learn(&mut self, other: Transaction) {
        for (branch, other) in self.branches.iter_mut().zip(other.branches) {
            if branch.status == BranchStatus::Prepared && other.attempts > branch.attempts {
                *branch = other;
            }
        }
        self.results = Derived::default();
    }

    fn proceed(&mut self, moment: Moment, actions: &mut Vec<Action>) {
        let now = moment.now;
        let save = |actions: &mut Vec<Action>| {
            if actions.is_empty() {
                actions.push(Action::Save);
            }
        };
        loop {
            if self.global.status.is_final() {
                self.settle();
                save(actions);
                actions.push(Action::End);
                return;
            }
            if self.global.dead_since.is_some() || self.global.paused_since.is_some() {
                self.global.next_run = Micros::MAX;
                return actions.push(Action::Wait(Micros::MAX));
            }
            let next = self.global.pattern.rules().next;
            match next(self, moment) {
                Next::Become(Status::Aborting, reason)
                    if self.global.status == Status::Prepared =>
                {
                    self.turn(Cause::Coordinator, Status::Aborting, reason, now);
                    return actions.push(Action::Refresh);
                }
                Next::Become(status, reason) => {
                    self.turn(Cause::Coordinator, status, reason, now);
                    save(actions);
                }
                Next::Ask if self.asking => return,
                Next::Ask if self.global.next_run > now => {
                    return actions.push(Action::Wait(self.global.next_run));
                }
                Next::Ask => {
                    self.asking = true;
                    return actions.push(Action::Ask);
                }
                Next::Wait(until) => {
                    self.global.next_run = until;
                    return actions.push(Action::Wait(until));
                }
                Next::Call(wanted) => return self.call(&wanted, now, actions),
            }
        }
    }

    /// Calls those of the branches whose time has come.
    fn call(&mut self, wanted: &[usize], now: Micros, actions: &mut Vec<Action>) {
        let mut next = None;
        for &place in wanted {
            let Some(branch) = self.branches.get(place) else {
                continue;
            };
            if self.calling.contains(&place) {
                continue;
            }
            if branch.not_before > now {
                let earlier = next.map_or(branch.not_before, |n: Micros| n.min(branch.not_before));
                next = Some(earlier);
                continue;
            }
            self.calling.insert(place);
            actions.push(Action::Call(place));
        }
        let is_forward = self.global.status == Status::Submitted;
        if self.global.pattern.rules().times_out_forward && is_forward {
            let deadline = self.deadline(Micros::MAX);
            next = Some(next.map_or(deadline, |next: Micros| next.min(deadline)));
        }
        let next = next.filter(|&next| next < Micros::MAX);
        actions.extend(next.map(Action::Wait));
        if !self.calling.is_empty() {
            // Whoever finds it after a crash, or is handed it, goes on with these at once.
            self.global.next_run = self.global.next_run.min(now);
        } else if let Some(next) = next {
            self.global.next_run = next;
        }
    }

    /// Gives it another status. What goes well is known by its times; all else is noted.
    fn turn(&mut self, cause: Cause, status: Status, reason: String, now: Micros) {
        let from = self.global.status;
        let is_undone = status == Status::Aborting
            || status == Status::Failed && from != Status::Aborting
            || cause == Cause::Answer;
        if is_undone && cause != Cause::Operator {
            self.note(cause, from, status, &reason, now);
        }
        let global = &mut self.global;
        if from == Status::Prepared && status == Status::Submitted {
            global.submitted = Some(now);
        }
        global.status = status;
        global.next_run = now;
        if !reason.is_empty() && global.rollback_reason.is_empty() {
            global.rollback_reason = shortened_reason(&reason);
        }
        match status {
            Status::Succeed => global.finished = Some(now),
            Status::Failed => global.rolled_back = Some(now),
            // No action is called any more.
            Status::Aborting => self.settle(),
            _ => {}
        }
    }

    fn note(&mut self, cause: Cause, from: Status, to: Status, reason: &str, time: Micros) {
        let reason = reason.to_owned();
        self.notes.push(Note {
            time,
            cause,
            from,
            to,
            reason,
        });
    }

    /// Takes a reply in, and says what must be done at once.
    fn reply(&mut self, place: usize, reply: Reply, moment: Moment) -> Vec<Action> {
        self.calling.remove(&place);
        let may_fail = self.global.pattern.rules().may_fail;
        let passes_on = self.global.options.pass_results;
        // It may allow the next action.
        let stays_exact = self.global.is_exact && self.global.status == Status::Submitted;
        let retries = self.retries(moment.rules);
        let reply = self.within_room(place, reply);
        let Some(branch) = self.branches.get_mut(place) else {
            return Vec::new();
        };
        if reply == Reply::Unsent {
            branch.interval = retries.after_none(branch.interval);
            let pause = jittered(branch.interval, moment.random);
            branch.not_before = moment.now.saturating_add(pause);
            return Vec::new();
        }
        branch.attempts += 1;
        let is_action = may_fail.is_some_and(|op| branch.op == op);
        match reply {
            Reply::Success(answer) => {
                branch.status = BranchStatus::Succeed;
                branch.ended = Some(moment.now);
                branch.last_error.clear();
                branch.failing_since = None;
                if passes_on && is_action {
                    branch.answer = answer;
                    self.results = Derived::default();
                } else if !(stays_exact && is_action) {
                    return Vec::new();
                }
            }
            Reply::Failure(why) if is_action => {
                branch.status = BranchStatus::Failed;
                branch.ended = Some(moment.now);
                branch.last_error = why;
            }
            Reply::Ongoing => {
                branch.failing_since = None;
                branch.interval = retries.first;
                branch.not_before = moment.now.saturating_add(retries.first);
            }
            Reply::Failure(why) | Reply::Error(why) => {
                branch.interval = retries.after(branch.interval);
                let pause = jittered(branch.interval, moment.random);
                branch.not_before = moment.now.saturating_add(pause);
                branch.last_error.clone_from(&why);
                branch.errors += 1;
                if is_action {
                    self.global.retry_count += 1;
                }
                let since = *branch.failing_since.get_or_insert(moment.now);
                let failing = Failing {
                    errors: branch.errors,
                    since,
                };
                let alert = self.came_to_nothing(Some(place), why, failing, moment);
                return [Action::Save].into_iter().chain(alert).collect();
            }
            Reply::Unsent => {}
        }
        vec![Action::Save]
    }

    /// Takes the client's answer in, and says whom to tell.
    fn answer(&mut self, answer: Reply, moment: Moment) -> Option<Action> {
        self.asking = false;
        let mut alert = None;
        let retries = self.retries(moment.rules);
        if !matches!(answer, Reply::Error(_) | Reply::Unsent) {
            self.global.failing_since = None;
        }
        let interval = match answer {
            Reply::Success(_) | Reply::Failure(_) => {
                let answered = self.global.pattern.rules().answered;
                if let Some((status, reason)) = answered(&self.global, &answer) {
                    self.turn(Cause::Answer, status, reason, moment.now);
                    return None;
                }
                retries.first
            }
            Reply::Ongoing => retries.first,
            Reply::Unsent => retries.after_none(self.global.query_interval),
            Reply::Error(why) => {
                self.global.retry_count += 1;
                let failing = Failing {
                    errors: self.global.retry_count,
                    since: *self.global.failing_since.get_or_insert(moment.now),
                };
                alert = self.came_to_nothing(None, why, failing, moment);
                retries.after(self.global.query_interval)
            }
        };
        self.global.query_interval = interval;
        let pause = jittered(interval, moment.random);
        self.global.next_run = moment.now.saturating_add(pause);
        alert
    }

    /// Takes in that so many calls have come to nothing: whether it is given up, and somebody told.
    fn came_to_nothing(
        &mut self,
        whose: Option<usize>,
        why: String,
        failing: Failing,
        moment: Moment,
    ) -> Option<Action> {
        let has_reached = |limit| limit > 0 && failing.errors >= limit;
        let age = moment.now.saturating_sub(failing.since);
        let is_old = moment.rules.dead_letter_age > 0 && age >= moment.rules.dead_letter_age;
        let is_dead = is_old || has_reached(moment.rules.dead_letter_after);
        if is_dead {
            self.give_up(&why, moment.now);
        }
        let is_alarming = is_dead || has_reached(moment.rules.alert_after);
        is_alarming.then_some(Action::Alert(whose, why))
    }

    /// Makes it a dead letter.
    fn give_up(&mut self, why: &str, now: Micros) {
        self.global.dead_since = Some(now);
        let status = self.global.status;
        self.note(Cause::DeadLetter, status, status, why, now);
    }

    /// Why it has become a dead letter, if that is not saved yet.
    pub(crate) fn why_given_up(&self) -> Option<&str> {
        let mut notes = self.notes.iter().rev();
        let note = notes.find(|note| note.cause == Cause::DeadLetter);
        note.map(|note| note.reason.as_str())
    }

    /// Between a call that came to nothing and the first retry.
    #[must_use]
    pub fn first_retry(&self, rules: Rules) -> Micros {
        self.retries(rules).first
    }

    fn retries(&self, rules: Rules) -> Retries {
        Retries::of(rules, self.global.options.retry_interval)
    }

    /// When an undecided transaction is looked into, and a saga undone.
    fn deadline(&self, default: Micros) -> Micros {
        let timeout = self.global.options.timeout_to_fail.or(default);
        let begun = self.global.created.saturating_add(self.global.paused_us);
        begun.saturating_add(timeout)
    }

    /// Positions of the branches of this operation, in order.
    fn of_op(&self, op: &str) -> Vec<usize> {
        let all = self.branches.iter().enumerate();
        let wanted = all.filter(|(_, branch)| branch.op == op);
        wanted.map(|(place, _)| place).collect()
    }

    fn has_succeeded(&self, place: usize) -> bool {
        let branch = self.branches.get(place);
        branch.is_some_and(|branch| branch.status == BranchStatus::Succeed)
    }
}

/// Calls that fail without an answer.
#[derive(Clone, Copy)]
struct Failing {
    /// So many did.
    errors: u64,
    /// The first of them then.
    since: Micros,
}

/// How far retries are apart.
#[derive(Clone, Copy)]
struct Retries {
    first: Micros,
    /// Unless the transaction says otherwise.
    usual: Micros,
    last: Micros,
}

impl Retries {
    /// Those of a transaction that wants so much time before the first.
    fn of(rules: Rules, wanted: Seconds) -> Retries {
        let last = rules.retry_interval_max;
        let first = wanted.or(rules.retry_interval);
        let first = first.max(RETRY_INTERVAL_MIN.min(rules.retry_interval));
        Retries {
            first: first.min(last),
            usual: rules.retry_interval.min(last),
            last,
        }
    }
    /// The interval after this one.
    fn after(self, interval: Micros) -> Micros {
        interval.saturating_mul(2).clamp(self.first, self.last)
    }
    /// The same after a call that was not made. There are many of these: none comes back soon.
    fn after_none(self, interval: Micros) -> Micros {
        self.after(interval).max(self.usual)
    }
}

/// An interval between three and five quarters, so that those who failed together do not come
/// back together.
fn jittered(interval: Micros, random: u64) -> Micros {
    let half = interval / 2;
    interval - interval / 4 + random.checked_rem(half).unwrap_or(0)
}

/// What rollback_reason says after a timeout.
fn timed_out(timeout: Micros) -> String {
    format!("Timeout after {} seconds", Seconds(timeout))
}
