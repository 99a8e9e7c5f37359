//! What becomes of a transaction when its tables refuse what was to be written, and would refuse it
//! again: a column is too small, a table is full, a right is missing.
//!
//! 1. What its calls came to is written in parts, so only what is refused by itself is lost.
//! 2. A branch whose own answer is refused has failed without an answer. It says why, waits, and is
//!    called again as others are that fail, up to a dead letter. But no service failed: no retry limit
//!    counts it.
//! 3. Whatever else is refused, be it that a branch failed, is the trouble of the transaction as a
//!    whole. Nothing is begun for it for its retry interval, then for twice that, and so on; and it is a
//!    dead letter after as many refusals, or as long a time, as a branch would be. This is in memory,
//!    and in the transaction's own row as far as the tables take that; a save that is taken ends it.
//! 4. A dead letter is one, and is told, even if its row does not take that: nothing is called for it
//!    any more, and only that its row says so is tried again.

use super::{
    Action, Branch, Cause, CopyOnWrite, Derived, Failing, Micros, Moment, Reply, Retries, Seconds,
    Status, Transaction, jittered,
};
use std::collections::BTreeSet;

/// A transaction that the tables refuse to write.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// So often.
    errors: u64,
    /// The first time then.
    since: Micros,
    /// The current interval between tries.
    interval: Micros,
    /// Not to be tried before.
    pub until: Micros,
    /// What it is as its row says. `None`: it could never be read.
    pub status: Option<Status>,
    /// How far it had come then. `None`: that could never be read.
    pub progress: Option<Progress>,
    /// What they say.
    pub why: String,
    /// It is a dead letter, and its row does not say so yet.
    pub is_dead: bool,
}

/// How far a transaction has come, as its rows say. That somebody else waits with it, too, is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Another one of the same name is another transaction.
    created: Micros,
    /// The last change by hand.
    by_hand: u64,
    /// Calls of its branches, and questions to its client, that are known.
    calls: u64,
}

impl Trouble {
    /// One more refusal, after those that are known.
    fn after(known: Option<&Trouble>, why: &str, retries: Retries, moment: Moment) -> Trouble {
        let interval = retries.after(known.map_or(0, |known| known.interval));
        Trouble {
            errors: known.map_or(0, |known| known.errors) + 1,
            since: known.map_or(moment.now, |known| known.since),
            interval,
            until: moment.now.saturating_add(jittered(interval, moment.random)),
            status: known.and_then(|known| known.status),
            progress: known.and_then(|known| known.progress),
            why: why.to_owned(),
            is_dead: known.is_some_and(|known| known.is_dead),
        }
    }
    /// Whether nothing is to be begun for it yet. A clock that was set back since makes it wait no
    /// longer.
    pub(crate) fn is_early(&self, now: Micros) -> bool {
        let wait = self.until.saturating_sub(now);
        wait > 0 && wait <= self.interval.saturating_mul(2)
    }
    /// One more refusal of a transaction that cannot be read: its row is as it was, as far as is known.
    pub(crate) fn of_unread(known: Option<&Trouble>, why: &str, moment: Moment) -> Trouble {
        let retries = Retries::of(moment.rules, Seconds::default());
        Trouble::after(known, why, retries, moment)
    }
}

impl Transaction {
    /// As its rows are, with nothing under way.
    pub(crate) fn at_rest(&self) -> Transaction {
        Transaction {
            calling: BTreeSet::new(),
            asking: false,
            notes: Vec::new(),
            results: Derived::default(),
            ..self.clone()
        }
    }

    /// How far it has come, if this was the last change by hand.
    pub(crate) fn progress(&self, by_hand: u64) -> Progress {
        let calls = self.branches.iter().map(|branch| branch.attempts);
        Progress {
            created: self.global.created,
            by_hand,
            calls: calls.sum::<u64>() + self.global.retry_count,
        }
    }

    /// The branches that were called since it was as this one is.
    pub(crate) fn called(&self, known: &Transaction) -> Vec<usize> {
        let pairs = self.branches.iter().zip(&known.branches).enumerate();
        let called = pairs.filter(|(_, (then, now))| now.attempts > then.attempts);
        called.map(|(place, _)| place).collect()
    }

    /// Takes over what calls of this branch came to.
    pub(crate) fn take_over(&mut self, place: usize, known: &CopyOnWrite<Branch>) {
        let may_fail = self.global.pattern.rules().may_fail;
        if let Some(branch) = self.branches.get_mut(place) {
            if may_fail.is_some_and(|op| branch.op == op) {
                self.global.retry_count += known.errors.saturating_sub(branch.errors);
            }
            *branch = known.clone();
            self.results = Derived::default();
        }
    }

    /// Takes in that the tables refuse what calls of this branch came to, and says whom to tell.
    pub(crate) fn refused(
        &mut self,
        place: usize,
        known: &Branch,
        why: &str,
        moment: Moment,
    ) -> Vec<Action> {
        let retry_count = self.global.retry_count;
        let actions = self.reply(place, Reply::Error(why.to_owned()), moment);
        self.global.retry_count = retry_count;
        if let Some(branch) = self.branches.get_mut(place) {
            branch.attempts = known.attempts;
        }
        // Others may have been called that follow from what is lost.
        self.knows_all &= self.global.is_exact;
        // Other branches need not wait.
        self.global.next_run = moment.now;
        actions
    }

    /// Takes in that the tables refuse what has become of it as a whole, and says whom to tell.
    /// With `is_dead` this is that it is a dead letter, of which somebody was told.
    pub(crate) fn troubled(
        &mut self,
        known: Option<&Trouble>,
        (why, is_dead): (&str, bool),
        moment: Moment,
    ) -> (Trouble, Option<Action>) {
        let mut trouble = Trouble::after(known, why, self.retries(moment.rules), moment);
        let status = self.global.status;
        trouble.status = Some(status);
        let mut alert = None;
        if self.global.dead_since.is_some() {
            // Its row says so already, and somebody was told.
        } else if trouble.is_dead || is_dead {
            self.give_up(why, moment.now);
        } else {
            let failing = Failing {
                errors: trouble.errors,
                since: trouble.since,
            };
            alert = self.came_to_nothing(None, why.to_owned(), failing, moment);
        }
        trouble.is_dead = self.global.dead_since.is_some();
        if known.is_none() && !trouble.is_dead {
            self.note(Cause::Coordinator, status, status, why, moment.now);
        }
        self.global.next_run = match trouble.is_dead {
            true => Micros::MAX,
            false => trouble.until,
        };
        (trouble, alert)
    }
}
