//! What a transaction waits for, as people want to know it: what would be decided now.

use super::{Micros, Moment, Next, Transaction};
use crate::model::{Branch, CopyOnWrite};

/// What an unfinished transaction waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The success of these branches, by position.
    Branches(Vec<usize>),
    /// The answer of its client, which is asked what became of it.
    Question,
    /// Its client, or a time: nothing is done before then.
    Time(Micros),
    /// Nothing: it has ended, or its status is about to change.
    Nothing,
}

impl Transaction {
    /// What it waits for.
    #[must_use]
    pub fn waits_for(&self, moment: Moment) -> Waiting {
        if self.global.status.is_final() {
            return Waiting::Nothing;
        }
        let next = self.global.pattern.rules().next;
        match next(self, moment) {
            Next::Call(places) => Waiting::Branches(places),
            Next::Ask => Waiting::Question,
            Next::Wait(until) => Waiting::Time(until),
            Next::Become(..) => Waiting::Nothing,
        }
    }

    /// When a branch is called next.
    #[must_use]
    pub fn next_call(&self, branch: &CopyOnWrite<Branch>) -> Micros {
        match branch.not_before {
            0 => self.global.next_run,
            not_before => not_before,
        }
    }
}
