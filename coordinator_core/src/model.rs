//! Global transactions and their branches, as the coordinator thinks of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{
    collections::BTreeMap,
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
};

/// Microseconds since 1970.
pub type Micros = u64;

/// One second in microseconds.
pub const SECOND: Micros = 1_000_000;

/// So far apart clocks may be, and are as good as the same.
pub const CLOCKS_APART: Micros = SECOND;

/// A time that the protocol tells in seconds. Fractions are allowed, down to microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub Micros);

impl Seconds {
    /// In microseconds; `default`, if it is 0.
    #[must_use]
    pub fn or(self, default: Micros) -> Micros {
        if self.0 == 0 { default } else { self.0 }
    }
    /// Of a number of seconds; what is below 0 is 0.
    #[must_use]
    pub fn from_number(seconds: f64) -> Seconds {
        // As the cast does it: NaN is 0, and what is too large is the largest.
        Seconds((seconds * SECOND as f64).round() as Micros)
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 as f64 / SECOND as f64)
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(SECOND) {
            return serializer.serialize_u64(self.0 / SECOND);
        }
        serializer.serialize_f64(self.0 as f64 / SECOND as f64)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Seconds, D::Error> {
        f64::deserialize(deserializer).map(Seconds::from_number)
    }
}

/// As much of a text as is kept of why a transaction is undone: it is in each list.
#[must_use]
pub fn shortened_reason(reason: &str) -> String {
    const CHARACTERS_MAX: usize = 4_096;
    reason.chars().take(CHARACTERS_MAX).collect()
}

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }
        impl $name {
            /// Its name in the protocol and in the tables.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
            /// The one of this name.
            #[must_use]
            pub fn parse(name: &str) -> Option<$name> {
                match name { $($text => Some($name::$variant),)* _ => None }
            }
        }
    };
}

names! {
    /// What kind of global transaction it is.
    Pattern {
        /// Steps, each with a compensation.
        Saga "saga",
        /// Try, confirm, cancel.
        Tcc "tcc",
        /// Branches that are XA transactions.
        Xa "xa",
        /// The two-phase message.
        Message "msg",
        /// Code in the client, whose progress is kept here.
        Workflow "workflow",
    }
}

names! {
    /// Where a global transaction is.
    Status {
        /// Known, and not decided.
        Prepared "prepared",
        /// To be carried out.
        Submitted "submitted",
        /// To be undone.
        Aborting "aborting",
        /// Carried out.
        Succeed "succeed",
        /// Undone.
        Failed "failed",
    }
}

impl Status {
    /// Whether nothing more will happen.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Status::Succeed | Status::Failed)
    }
}

names! {
    /// Where a branch is.
    BranchStatus {
        /// Not done, as far as is known.
        Prepared "prepared",
        /// Done.
        Succeed "succeed",
        /// Refused for good.
        Failed "failed",
    }
}

/// A value that many share until one of them changes it: whoever does has a copy of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOnWrite<T>(Arc<T>);

impl<T> CopyOnWrite<T> {
    /// Nobody else has it yet.
    pub fn new(value: T) -> CopyOnWrite<T> {
        CopyOnWrite(Arc::new(value))
    }
}

impl<T> Deref for CopyOnWrite<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for CopyOnWrite<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

/// The options of a global transaction, with the protocol's names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// The submitter waits for the end.
    #[serde(skip_serializing_if = "is_default")]
    pub wait_result: bool,
    /// After so long it is undone; 0: the pattern's default.
    #[serde(skip_serializing_if = "is_default")]
    pub timeout_to_fail: Seconds,
    /// How long one call of a branch may take; 0: the server's default.
    #[serde(skip_serializing_if = "is_default")]
    pub request_timeout: Seconds,
    /// Before the first retry; 0: the server's default.
    #[serde(skip_serializing_if = "is_default")]
    pub retry_interval: Seconds,
    /// Headers of every call of a branch.
    #[serde(skip_serializing_if = "is_default")]
    pub branch_headers: BTreeMap<String, String>,
    /// Steps do not wait for one another.
    #[serde(skip_serializing_if = "is_default")]
    pub concurrent: bool,
    /// More failed calls of actions make a saga be undone; 0: no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub retry_limit: u64,
    /// What a saga's actions answer is sent to all that are called after them.
    #[serde(skip_serializing_if = "is_default")]
    pub pass_results: bool,
    /// Who is told of its end.
    #[serde(skip_serializing_if = "is_default")]
    pub end_webhook: String,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A global transaction without its branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its number in the order of their arrival; 0: it is in no table yet.
    pub id: u64,
    /// Its name.
    pub gid: String,
    /// Its kind.
    pub pattern: Pattern,
    /// Where it is.
    pub status: Status,
    /// Whom to ask what became of a message or a workflow.
    pub query_prepared: String,
    /// `http`, `grpc` or empty.
    pub protocol: String,
    /// The pattern's own settings, JSON.
    pub custom_data: String,
    /// The steps as submitted, JSON.
    pub steps: String,
    /// What is sent to them, if the two say all about the branches; see `plan`. Else empty.
    pub payloads: String,
    /// Why it is undone.
    pub rollback_reason: String,
    /// What a workflow returned, base64.
    pub result: String,
    /// Its options.
    pub options: Options,
    /// Failed calls of actions so far, or failed questions to the client.
    pub retry_count: u64,
    /// The current interval between retries of the question to the client, in microseconds.
    pub query_interval: Micros,
    /// Not before then is there anything to do.
    pub next_run: Micros,
    /// When it was made known.
    pub created: Micros,
    /// When it was submitted, if it was made known before.
    pub submitted: Option<Micros>,
    /// When it was last written.
    pub updated: Micros,
    /// When it succeeded.
    pub finished: Option<Micros>,
    /// When it was undone.
    pub rolled_back: Option<Micros>,
    /// Since when it is a dead letter: given up until somebody takes care of it by hand.
    pub dead_since: Option<Micros>,
    /// Since when questions to its client fail without an answer.
    pub failing_since: Option<Micros>,
    /// Since when nothing is begun for it, by an operator's wish.
    pub paused_since: Option<Micros>,
    /// So long it was paused before, which no deadline counts.
    pub paused_us: Micros,
    /// Its rows know of every success that allows another call, before that is made.
    pub is_exact: bool,
}

impl Global {
    /// One that is just made known: nobody has said anything about it but this.
    #[must_use]
    pub fn new(gid: &str, pattern: Pattern, status: Status, now: Micros) -> Global {
        Global {
            id: 0,
            gid: gid.to_owned(),
            pattern,
            status,
            query_prepared: String::new(),
            protocol: String::new(),
            custom_data: String::new(),
            steps: String::new(),
            payloads: String::new(),
            rollback_reason: String::new(),
            result: String::new(),
            options: Options::default(),
            retry_count: 0,
            query_interval: 0,
            next_run: now,
            created: now,
            updated: now,
            finished: None,
            rolled_back: None,
            dead_since: None,
            submitted: None,
            failing_since: None,
            paused_since: None,
            paused_us: 0,
            is_exact: false,
        }
    }
    /// By how much whoever wrote it last was ahead of a clock that shows this; 0: not noticeably.
    #[must_use]
    pub fn is_ahead_by(&self, now: Micros) -> Micros {
        let ahead = self.updated.max(self.created).saturating_sub(now);
        if ahead > CLOCKS_APART { ahead } else { 0 }
    }
    /// Whether its steps and payloads say all about its branches; see `plan`.
    #[must_use]
    pub fn is_planned(&self) -> bool {
        !self.payloads.is_empty()
    }
}

/// One call to be made in another service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// `01`, `0101`, `01-02`: the step.
    pub branch_id: String,
    /// `action`, `compensate`, `confirm`, `cancel`, `commit`, `rollback`, or a workflow's own.
    pub op: String,
    /// Where to call.
    pub url: String,
    /// What to send.
    pub body: Vec<u8>,
    /// Where it is.
    pub status: BranchStatus,
    /// When it succeeded or failed.
    pub ended: Option<Micros>,
    /// Calls so far.
    pub attempts: u64,
    /// Calls that came to nothing, since somebody last asked for a retry by hand.
    pub errors: u64,
    /// Since when its calls fail without an answer.
    pub failing_since: Option<Micros>,
    /// Why the last call did not succeed.
    pub last_error: String,
    /// Not to be called before.
    pub not_before: Micros,
    /// The current interval between retries, in microseconds; 0: not retried yet.
    pub interval: Micros,
    /// What it answered, if that is passed on ([`Options::pass_results`]).
    pub answer: String,
    /// The call, if there was one only and it succeeded. All others are rows of their own.
    pub only_call: Option<Timing>,
}

/// When a call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// When it began.
    pub started: Micros,
    /// How long it took, in microseconds.
    pub duration_us: u64,
}

impl Branch {
    /// A branch that nothing was done about.
    #[must_use]
    pub fn new(branch_id: &str, op: &str, url: &str, body: Vec<u8>) -> Branch {
        Branch {
            branch_id: branch_id.to_owned(),
            op: op.to_owned(),
            url: url.to_owned(),
            body,
            status: BranchStatus::Prepared,
            ended: None,
            attempts: 0,
            errors: 0,
            failing_since: None,
            last_error: String::new(),
            not_before: 0,
            interval: 0,
            answer: String::new(),
            only_call: None,
        }
    }
    /// Whether nothing has happened to it since it was made.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        self.status == BranchStatus::Prepared
            && (self.attempts, self.errors) == (0, 0)
            && (self.not_before, self.interval) == (0, 0)
    }
    /// Its only call and its end, if nothing else happened to it than that this call succeeded.
    #[must_use]
    pub fn only_success(&self) -> Option<(Timing, Micros)> {
        let is_all = self.status == BranchStatus::Succeed
            && (self.attempts, self.errors) == (1, 0)
            && (self.not_before, self.interval) == (0, 0)
            && self.last_error.is_empty()
            && self.answer.is_empty();
        self.only_call.zip(self.ended).filter(|_| is_all)
    }
}

names! {
    /// What made a transaction change otherwise than by going well.
    Cause {
        /// A refusal, a limit or a timeout.
        Coordinator "coordinator",
        /// What the client answered when it was asked.
        Answer "query_prepared",
        /// A client's submit.
        Submit "submit",
        /// A client's abort.
        Abort "abort",
        /// A client's forceStop.
        Stop "forceStop",
        /// Too many calls, or for too long, failed without an answer.
        DeadLetter "dead letter",
        /// An operator, which has a record of its own.
        Operator "operator",
        /// Whoever wants to know of the end was told, or could not be.
        Webhook "end_webhook",
    }
}

/// Something unusual that happened to a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When.
    pub time: Micros,
    /// What made it happen.
    pub cause: Cause,
    /// The status before.
    pub from: Status,
    /// And after.
    pub to: Status,
    /// Why.
    pub reason: String,
}

/// What a service answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is done, with this answer.
    Success(String),
    /// It will never be done: the business says no, in these words.
    Failure(String),
    /// Ask again later.
    Ongoing,
    /// Nobody knows: call again.
    Error(String),
    /// It was not called: too many others of its host's are called, or wait for that.
    Unsent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_be_fractions() {
        for (text, micros, shown) in [
            ("3", 3_000_000, "3"),
            ("0.05", 50_000, "0.05"),
            ("1.5", 1_500_000, "1.5"),
            ("-1", 0, "0"),
            ("1e300", u64::MAX, "18446744073709.55"),
        ] {
            let seconds: Seconds = serde_json::from_str(text).expect(text);
            assert_eq!(seconds, Seconds(micros), "{text}");
            assert_eq!(seconds.to_string(), shown);
        }
        assert_eq!(serde_json::to_string(&Seconds(2_000_000)).unwrap(), "2");
        assert_eq!(serde_json::to_string(&Seconds(2_500_000)).unwrap(), "2.5");
    }
}
