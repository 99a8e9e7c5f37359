//! The services, with DTM's barrier: an operation that is called twice has its effect once, one
//! that undoes what was never done has none, and what comes after its own undoing is refused.

use std::collections::{BTreeMap, BTreeSet};

/// What a service was asked and how it went: a transaction's branch, and the operation.
pub type Key = (String, String, String);

/// All services.
#[derive(Default)]
pub struct Services {
    barrier: BTreeSet<Key>,
    /// Operations that had their effect.
    effects: BTreeSet<Key>,
    /// How often each was called.
    calls: BTreeMap<Key, u64>,
}

/// What an operation undoes, and what it needs to have been done.
pub fn counterpart(op: &str) -> Option<&'static str> {
    match op {
        "compensate" => Some("action"),
        "cancel" | "rollback" => Some("try"),
        _ => None,
    }
}

impl Services {
    fn key(gid: &str, branch: &str, op: &str) -> Key {
        (gid.to_owned(), branch.to_owned(), op.to_owned())
    }

    /// Executes an operation behind the barrier; false: the business says no, and nothing is done.
    pub fn execute(&mut self, gid: &str, branch: &str, op: &str, says_yes: bool) -> bool {
        let key = Services::key(gid, branch, op);
        *self.calls.entry(key.clone()).or_default() += 1;
        if self.barrier.contains(&key) {
            return true;
        }
        if !says_yes {
            return false;
        }
        // What was not done before it was undone never will be.
        let undone = counterpart(op).map(|undone| Services::key(gid, branch, undone));
        let was_done = undone.is_none_or(|undone| !self.barrier.insert(undone));
        self.barrier.insert(key.clone());
        if was_done {
            self.effects.insert(key);
        }
        true
    }

    /// A message's client commits its own transaction, unless it was asked before: then it cannot.
    pub fn commit(&mut self, gid: &str) -> bool {
        let key = Services::key(gid, "00", "msg");
        let is_first = self.barrier.insert(key.clone());
        if is_first {
            self.effects.insert(key);
        }
        is_first
    }
    /// A message's client is asked whether its own transaction was committed; if not, it never
    /// will be.
    pub fn was_committed(&mut self, gid: &str) -> bool {
        let key = Services::key(gid, "00", "msg");
        let is_new = self.barrier.insert(key.clone());
        !is_new && self.effects.contains(&key)
    }

    /// Whether an operation had its effect.
    pub fn has(&self, gid: &str, branch: &str, op: &str) -> bool {
        self.effects.contains(&Services::key(gid, branch, op))
    }
    /// Whether an operation was called.
    pub fn was_called(&self, gid: &str, branch: &str, op: &str) -> bool {
        self.calls.contains_key(&Services::key(gid, branch, op))
    }
}
