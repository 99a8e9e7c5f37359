//! What a task does when the tables refuse a save: as `decide/refused` says.

use super::{Action, By, Outside, Saved, Task};
use crate::{
    decide::Trouble,
    model::{Branch, Timing},
    outside::Attempt,
};

/// How it goes on after the tables have refused a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// At once.
    GoesOn,
    /// When it is read again: somebody else was faster.
    IsChanged,
    /// Later: they refuse the transaction as a whole.
    Waits,
}

/// Leaves a transaction alone for a while that the tables refuse even to hand out.
pub(super) fn put_off<O: Outside>(outside: &O, gid: &str, error: &O::Error) {
    if O::refusal(error).is_some() {
        let (leases, moment) = (outside.leases(), outside.moment());
        leases.set_trouble(gid, Trouble::of_unread(leases.trouble(gid), moment));
    }
}

impl<O: Outside> Task<'_, O> {
    /// Whether nothing is to be begun for it yet. If its status has changed, there is something new
    /// to do, which the tables may take.
    pub(super) fn is_put_off(&self) -> bool {
        let global = &self.transaction.global;
        let leases = self.outside.leases();
        let is_same = |known: Trouble| known.status.is_none_or(|status| status == global.status);
        leases.is_put_off(&global.gid, self.outside.moment().now)
            && leases.trouble(&global.gid).is_some_and(is_same)
    }

    /// Gives back what is not to be driven yet, if the tables take that.
    pub(super) async fn stay_put_off(&mut self) -> Result<(), O::Error> {
        let gid = self.transaction.global.gid.clone();
        let trouble = self.outside.leases().trouble(&gid);
        let left = match self.outside.is_shared() {
            true => self.save(By::Leaver).await.map(drop),
            false => Ok(()),
        };
        if let Some(trouble) = trouble {
            self.outside.leases().set_trouble(&gid, trouble);
        }
        match left {
            Err(error) if O::refusal(&error).is_none() => Err(error),
            _ => Ok(()),
        }
    }

    /// The tables failed.
    pub(super) async fn refused(&mut self, error: O::Error) -> Result<After, O::Error> {
        let Some(why) = O::refusal(&error) else {
            return Err(error);
        };
        let saved = self.saved.at_rest();
        let known = std::mem::replace(&mut self.transaction, saved);
        let attempts = std::mem::take(&mut self.attempts);
        let called = self.transaction.called(&known);
        if called.is_empty() {
            return self.trouble(error, &why).await;
        }
        // All but what is refused is found with few saves if that is little.
        let mut groups = vec![called];
        while let Some(mut group) = groups.pop() {
            let branches = || group.iter().map(|&place| &known.branches[place]);
            let is_told = |attempt: &&Attempt| branches().any(|branch| is_of(attempt, branch));
            self.attempts = attempts.iter().filter(is_told).cloned().collect();
            for &place in &group {
                self.transaction.take_over(place, &known.branches[place]);
            }
            let refusal = match self.save(By::Driver).await {
                Ok(Saved::Yes) => continue,
                Ok(Saved::TooLate) => {
                    (self.transaction, self.attempts) = (known, attempts);
                    return Ok(After::IsChanged);
                }
                Err(refusal) => refusal,
            };
            self.transaction = self.saved.at_rest();
            if let [place] = *group {
                let branch = &known.branches[place];
                let after = self.refused_answer(place, branch, refusal).await?;
                if after != After::GoesOn {
                    return Ok(after);
                }
            } else if O::refusal(&refusal).is_none() {
                return Err(refusal);
            } else {
                let second = group.split_off(group.len() / 2);
                groups.extend([second, group]);
            }
        }
        Ok(After::GoesOn)
    }

    /// The tables refuse what calls of this branch came to.
    async fn refused_answer(
        &mut self,
        place: usize,
        known: &Branch,
        error: O::Error,
    ) -> Result<After, O::Error> {
        let Some(why) = O::refusal(&error) else {
            return Err(error);
        };
        let moment = self.outside.moment();
        let alerts = self.transaction.refused(place, known, &why, moment);
        // Its row does not say any more that this was the only one.
        let only = known.only_call.map(|timing| success(known, timing));
        self.attempts.extend(only);
        match self.save(By::Driver).await {
            Ok(Saved::Yes) => {
                self.tell(alerts);
                Ok(After::GoesOn)
            }
            Ok(Saved::TooLate) => Ok(After::IsChanged),
            Err(error) => self.trouble(error, &why).await,
        }
    }

    /// The tables refuse the transaction as a whole, whatever it is that they refuse.
    async fn trouble(&mut self, error: O::Error, why: &str) -> Result<After, O::Error> {
        if O::refusal(&error).is_none() {
            return Err(error);
        }
        let leases = self.outside.leases();
        self.transaction = self.saved.at_rest();
        self.attempts.clear();
        let gid = self.transaction.global.gid.clone();
        let known = leases.trouble(&gid);
        let (trouble, alert) = self.transaction.troubled(known, why, self.outside.moment());
        self.tell(alert);
        let written = self.save(By::Leaver).await;
        leases.set_trouble(&gid, trouble);
        // Of a dead letter its alert tells.
        if self.transaction.global.dead_since.is_none() {
            self.outside.not_driven(&gid, error);
        }
        match written {
            Err(error) if O::refusal(&error).is_none() => Err(error),
            _ => Ok(After::Waits),
        }
    }

    fn tell(&self, alerts: impl IntoIterator<Item = Action>) {
        for alert in alerts {
            if let Action::Alert(whose, why) = alert {
                self.outside.alert(&self.transaction, whose, why);
            }
        }
    }
}

fn is_of(attempt: &Attempt, branch: &Branch) -> bool {
    (&attempt.branch_id, &attempt.op) == (&branch.branch_id, &branch.op)
}

/// The record of a branch's only call.
fn success(branch: &Branch, timing: Timing) -> Attempt {
    Attempt {
        branch_id: branch.branch_id.clone(),
        op: branch.op.clone(),
        timing,
        result: "success".into(),
        error: String::new(),
    }
}
