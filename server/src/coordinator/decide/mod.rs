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

mod message;
mod saga;
mod two_phase;
mod workflow;

#[cfg(test)]
mod tests;

use super::model::{Branch, BranchStatus, Global, Micros, Pattern, Reply, SECOND, Status};
use std::collections::BTreeSet;

/// A message, a TCC or an XA transaction that is not decided after so many seconds is looked into.
pub const TIMEOUT_SECONDS: u64 = 35;
/// Seconds before the first retry.
pub const RETRY_SECONDS: u64 = 10;
/// Retries are never further apart.
pub const RETRY_MAX: Micros = 300 * SECOND;

/// A global transaction that is being driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// What it is.
    pub global: Global,
    /// Its branches, in the order they were registered.
    pub branches: Vec<Branch>,
    /// Branches whose calls are under way, by position.
    pub calling: BTreeSet<usize>,
    /// The client is being asked.
    pub asking: bool,
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

/// When it happened, and a number that nobody could foresee.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time.
    pub now: Micros,
    /// For the jitter of retries.
    pub random: u64,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Save the transaction as it is now, durably, before what follows.
    Save,
    /// Call a branch.
    Call(usize),
    /// Ask the client what became of it.
    Ask,
    /// Nothing more before then, unless a reply comes.
    Wait(Micros),
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
            global,
            branches,
            calling: BTreeSet::new(),
            asking: false,
        }
    }

    /// Takes an event in and says what to do.
    pub fn decide(&mut self, event: Event, moment: Moment) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Look => {}
            Event::Reply(branch, reply) => self.reply(branch, reply, moment),
            Event::Answer(answer) => {
                if self.answer(answer, moment) {
                    actions.push(Action::Save);
                }
            }
        }
        self.proceed(moment.now, &mut actions);
        actions
    }

    /// Takes a late reply in, without doing anything about it: for one that came while somebody
    /// else has changed the transaction.
    pub fn note_reply(&mut self, branch: usize, reply: Reply, moment: Moment) {
        self.reply(branch, reply, moment);
    }

    fn proceed(&mut self, now: Micros, actions: &mut Vec<Action>) {
        loop {
            if self.global.status.is_final() {
                if actions.last() != Some(&Action::Save) {
                    actions.push(Action::Save);
                }
                actions.push(Action::End);
                return;
            }
            let next = match self.global.pattern {
                Pattern::Saga => saga::next(self, now),
                Pattern::Tcc => two_phase::next(self, now, &two_phase::TCC),
                Pattern::Xa => two_phase::next(self, now, &two_phase::XA),
                Pattern::Message => message::next(self, now),
                Pattern::Workflow => workflow::next(self, now),
            };
            match next {
                Next::Become(status, reason) => {
                    self.turn(status, reason, now);
                    if !status.is_final() {
                        actions.push(Action::Save);
                    }
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
        // A saga must be looked at when its time is over, whatever is under way.
        let seconds = self.global.options.timeout_to_fail;
        if seconds > 0 && self.global.pattern == Pattern::Saga && self.is_forward() {
            let deadline = self.deadline(seconds);
            next = Some(next.map_or(deadline, |next: Micros| next.min(deadline)));
        }
        if let Some(next) = next {
            self.global.next_run = next;
            actions.push(Action::Wait(next));
        }
    }

    fn is_forward(&self) -> bool {
        self.global.status == Status::Submitted
    }

    fn turn(&mut self, status: Status, reason: String, now: Micros) {
        let global = &mut self.global;
        global.status = status;
        global.next_run = now;
        if !reason.is_empty() && global.rollback_reason.is_empty() {
            global.rollback_reason = reason;
        }
        match status {
            Status::Succeed => global.finished = Some(now),
            Status::Failed => global.rolled_back = Some(now),
            _ => {}
        }
    }

    fn reply(&mut self, place: usize, reply: Reply, moment: Moment) {
        self.calling.remove(&place);
        let may_fail = self.global.pattern == Pattern::Saga;
        let first = self.retry_interval();
        let Some(branch) = self.branches.get_mut(place) else {
            return;
        };
        branch.attempts += 1;
        let is_action = may_fail && branch.op == "action";
        match reply {
            Reply::Success => {
                branch.status = BranchStatus::Succeed;
                branch.ended = Some(moment.now);
                branch.last_error.clear();
            }
            Reply::Failure(why) if is_action => {
                branch.status = BranchStatus::Failed;
                branch.ended = Some(moment.now);
                branch.last_error = why;
            }
            Reply::Ongoing => {
                branch.interval = first;
                branch.not_before = moment.now + first;
            }
            Reply::Failure(why) | Reply::Error(why) => {
                branch.interval = later(branch.interval, first);
                branch.not_before = moment.now + jittered(branch.interval, moment.random);
                branch.last_error = why;
                if is_action {
                    self.global.retry_count += 1;
                }
            }
        }
    }

    /// Takes the client's answer in; true: it has changed the status.
    fn answer(&mut self, answer: Reply, moment: Moment) -> bool {
        self.asking = false;
        let first = self.retry_interval();
        let interval = match answer {
            Reply::Success | Reply::Failure(_) => {
                let decided = match self.global.pattern {
                    Pattern::Message => message::answered(&self.global, &answer),
                    _ => None,
                };
                if let Some((status, reason)) = decided {
                    self.turn(status, reason, moment.now);
                    return true;
                }
                first
            }
            Reply::Ongoing => first,
            Reply::Error(_) => later(self.global.query_interval, first),
        };
        self.global.query_interval = interval;
        self.global.next_run = moment.now + jittered(interval, moment.random);
        false
    }

    fn retry_interval(&self) -> Micros {
        match self.global.options.retry_interval {
            0 => RETRY_SECONDS * SECOND,
            seconds => seconds.saturating_mul(SECOND).min(RETRY_MAX),
        }
    }

    /// When an undecided transaction is looked into.
    fn deadline(&self, default_seconds: u64) -> Micros {
        let seconds = match self.global.options.timeout_to_fail {
            0 => default_seconds,
            seconds => seconds,
        };
        let timeout = seconds.saturating_mul(SECOND);
        self.global.created.saturating_add(timeout)
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

/// The interval after this one.
fn later(interval: Micros, first: Micros) -> Micros {
    match interval {
        0 => first,
        interval => interval
            .saturating_mul(2)
            .clamp(first, RETRY_MAX.max(first)),
    }
}

/// An interval between three and five quarters, so that those who failed together do not come
/// back together.
fn jittered(interval: Micros, random: u64) -> Micros {
    let half = interval / 2;
    interval - interval / 4 + random.checked_rem(half).unwrap_or(0)
}

/// What rollback_reason says after a timeout.
fn timed_out(seconds: u64) -> String {
    format!("Timeout after {seconds} seconds")
}
