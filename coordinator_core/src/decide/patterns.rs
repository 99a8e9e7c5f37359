//! What sets the patterns apart: all of it is here, as data, and in the function of each pattern
//! that says what is next.

use super::{Moment, Next, Reply, Status, Transaction, message, saga, two_phase, workflow};
use crate::model::{Global, Pattern};

/// A pattern, as everything else asks about it.
pub struct PatternRules {
    /// The operations of a step, in the order of their branches.
    pub ops: &'static [&'static str],
    /// Where branches come from.
    pub branches: Branches,
    /// Its first request may be the submit; else it must have been prepared.
    pub begins_with_submit: bool,
    /// What a client's abort makes of one that is prepared; `None`: clients do not abort.
    pub aborted: Option<Status>,
    /// In which status operators may have it undone.
    pub compensable: &'static [Status],
    /// The operation that may fail for good; every other one is called until it succeeds.
    pub may_fail: Option<&'static str>,
    /// What its actions answer may be passed on to later ones.
    pub passes_results: bool,
    /// Calls of branches without a body are POST all the same.
    pub posts_nothing: bool,
    /// How a client is asked what became of it.
    pub question: Question,
    /// Who waits for its end is told "not yet" until then, never "failed".
    pub waits_with_ongoing: bool,
    /// Whether it can be as it says; why not.
    pub(super) check: fn(&Transaction) -> Result<(), String>,
    /// What is next.
    pub(super) next: fn(&Transaction, Moment) -> Next,
    /// It must be looked at when its time is over, whatever is under way.
    pub(super) times_out_forward: bool,
    /// What the client's answer decides about one that is prepared.
    pub(super) answered: fn(&Global, &Reply) -> Option<(Status, String)>,
}

/// Where a pattern's branches come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branches {
    /// The submission has them all.
    Submitted {
        /// A step may name a topic instead of an address: everybody who wants its messages.
        topics: bool,
    },
    /// Its client registers them, each operation with an address of its own.
    Registered,
    /// Its client registers them, with one address for all operations.
    RegisteredWithUrl,
    /// Its client has called them, and tells what they came to.
    Told,
}

/// How a client is asked what became of its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether its own transaction was committed.
    Commit,
    /// To run its workflow again, of which it gets name and data.
    Run,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Pattern; 5] = [
        Pattern::Saga,
        Pattern::Tcc,
        Pattern::Xa,
        Pattern::Message,
        Pattern::Workflow,
    ];

    /// What sets it apart.
    #[must_use]
    pub fn rules(self) -> &'static PatternRules {
        match self {
            Pattern::Saga => &SAGA,
            Pattern::Tcc => &TCC,
            Pattern::Xa => &XA,
            Pattern::Message => &MESSAGE,
            Pattern::Workflow => &WORKFLOW,
        }
    }
}

fn anything(_: &Transaction) -> Result<(), String> {
    Ok(())
}

fn undecided(_: &Global, _: &Reply) -> Option<(Status, String)> {
    None
}

static SAGA: PatternRules = PatternRules {
    ops: &["compensate", "action"],
    branches: Branches::Submitted { topics: false },
    begins_with_submit: true,
    aborted: None,
    compensable: &[
        Status::Prepared,
        Status::Submitted,
        Status::Succeed,
        Status::Failed,
    ],
    may_fail: Some("action"),
    passes_results: true,
    posts_nothing: false,
    question: Question::Commit,
    waits_with_ongoing: false,
    check: saga::check,
    next: saga::next,
    times_out_forward: true,
    answered: undecided,
};

static TCC: PatternRules = PatternRules {
    ops: &["cancel", "confirm"],
    branches: Branches::Registered,
    begins_with_submit: false,
    aborted: Some(Status::Aborting),
    compensable: &[Status::Prepared],
    may_fail: None,
    passes_results: false,
    posts_nothing: false,
    question: Question::Commit,
    waits_with_ongoing: true,
    check: anything,
    next: two_phase::next_of_tcc,
    times_out_forward: false,
    answered: undecided,
};

static XA: PatternRules = PatternRules {
    ops: &["rollback", "commit"],
    branches: Branches::RegisteredWithUrl,
    posts_nothing: true,
    next: two_phase::next_of_xa,
    ..TCC
};

static MESSAGE: PatternRules = PatternRules {
    ops: &["action"],
    branches: Branches::Submitted { topics: true },
    begins_with_submit: true,
    aborted: Some(Status::Failed),
    compensable: &[],
    may_fail: None,
    passes_results: false,
    posts_nothing: false,
    question: Question::Commit,
    waits_with_ongoing: false,
    check: message::check,
    next: message::next,
    times_out_forward: false,
    answered: message::answered,
};

static WORKFLOW: PatternRules = PatternRules {
    ops: &[],
    branches: Branches::Told,
    begins_with_submit: false,
    aborted: None,
    compensable: &[],
    may_fail: None,
    passes_results: false,
    posts_nothing: false,
    question: Question::Run,
    waits_with_ongoing: false,
    check: anything,
    next: workflow::next,
    times_out_forward: false,
    answered: undecided,
};
