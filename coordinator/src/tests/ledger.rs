//! The participant's database, in memory: accounts, and the barrier as the protocol describes it.
//! It survives every crash of the coordinator.

use super::participant::{Answer, Visit};
use std::collections::{BTreeMap, HashMap};

/// Accounts and barriers.
#[derive(Default)]
pub struct Ledger {
    pub accounts: BTreeMap<String, i64>,
    /// By transaction, branch and operation: the operation that put it there.
    barriers: HashMap<(String, String, String), String>,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is made.
    Done,
    /// There was nothing to undo, and never will be.
    Empty,
    /// It was made before, or undone before it could be.
    Skipped,
}

impl Ledger {
    /// Changes an account under the barrier: once, and not after its undoing.
    pub fn change(&mut self, visit: &Visit, account: &str, amount: i64) -> Change {
        let (gid, branch, op) = (visit.of("gid"), visit.of("branch_id"), visit.of("op"));
        let origin = match op {
            "cancel" => "try",
            "compensate" | "rollback" => "action",
            _ => "",
        };
        let origin_was_missing = !origin.is_empty() && self.put(gid, branch, origin, op);
        let is_new = self.put(gid, branch, op, op);
        match (is_new, origin_was_missing) {
            (false, _) => Change::Skipped,
            (true, true) => Change::Empty,
            (true, false) => {
                *self.accounts.entry(account.to_owned()).or_default() += amount;
                Change::Done
            }
        }
    }

    /// A call of a bank's branch: 10 goes out of one account with the first, and into the other
    /// with the second. A message has one branch, and its client takes the 10 out itself.
    pub fn transfer(&mut self, visit: &Visit) -> Change {
        let is_message = visit.of("trans_type") == "msg";
        let (account, amount) = match (visit.of("op"), visit.of("branch_id")) {
            ("msg", _) => ("from", -10),
            (_, "01") if !is_message => ("from", -10),
            _ => ("to", 10),
        };
        let amount = match visit.of("op") {
            "action" | "try" | "msg" => amount,
            "compensate" | "cancel" => -amount,
            _ => 0,
        };
        self.change(visit, account, amount)
    }

    /// The barrier's insert-ignore: whether it was not there.
    pub fn put(&mut self, gid: &str, branch: &str, op: &str, reason: &str) -> bool {
        let key = (gid.to_owned(), branch.to_owned(), op.to_owned());
        let is_new = !self.barriers.contains_key(&key);
        self.barriers
            .entry(key)
            .or_insert_with(|| reason.to_owned());
        is_new
    }

    /// QueryPrepared: whether the client's own transaction was committed; from now on it never is.
    pub fn query_prepared(&mut self, gid: &str) -> Answer {
        self.put(gid, "00", "msg", "rollback");
        let key = (gid.to_owned(), "00".to_owned(), "msg".to_owned());
        match self.barriers.get(&key).map(String::as_str) {
            Some("rollback") => Answer::Status(409, "FAILURE".into()),
            _ => Answer::ok(),
        }
    }
}
