//! Global transactions and their branches, as the coordinator thinks of them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Microseconds since 1970.
pub type Micros = u64;

/// One second in microseconds.
pub const SECOND: Micros = 1_000_000;

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

/// The options of a global transaction, with the protocol's names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// The submitter waits for the end.
    #[serde(skip_serializing_if = "is_default")]
    pub wait_result: bool,
    /// After so many seconds it is undone; 0: the pattern's default.
    #[serde(skip_serializing_if = "is_default")]
    pub timeout_to_fail: u64,
    /// Seconds one call of a branch may take; 0: the server's default.
    #[serde(skip_serializing_if = "is_default")]
    pub request_timeout: u64,
    /// Seconds before the first retry; 0: the server's default.
    #[serde(skip_serializing_if = "is_default")]
    pub retry_interval: u64,
    /// Headers of every call of a branch.
    #[serde(skip_serializing_if = "is_default")]
    pub branch_headers: BTreeMap<String, String>,
    /// Steps do not wait for one another.
    #[serde(skip_serializing_if = "is_default")]
    pub concurrent: bool,
    /// So many failed calls of actions make a saga be undone; 0: no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub retry_limit: u64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A global transaction without its branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
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
    /// Why it is undone.
    pub rollback_reason: String,
    /// What a workflow returned, base64.
    pub result: String,
    /// Its options.
    pub options: Options,
    /// Failed calls of actions so far.
    pub retry_count: u64,
    /// The current interval between retries of the question to the client, in microseconds.
    pub query_interval: Micros,
    /// Not before then is there anything to do.
    pub next_run: Micros,
    /// When it was made known.
    pub created: Micros,
    /// When it succeeded.
    pub finished: Option<Micros>,
    /// When it was undone.
    pub rolled_back: Option<Micros>,
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
    /// Why the last call did not succeed.
    pub last_error: String,
    /// Not to be called before.
    pub not_before: Micros,
    /// The current interval between retries, in microseconds; 0: not retried yet.
    pub interval: Micros,
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
            last_error: String::new(),
            not_before: 0,
            interval: 0,
        }
    }
}

/// What a service answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is done.
    Success,
    /// It will never be done: the business says no, in these words.
    Failure(String),
    /// Ask again later.
    Ongoing,
    /// Nobody knows: call again.
    Error(String),
}
