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
    if let Some(why) = O::refusal(error) {
        let (leases, moment) = (outside.leases(), outside.moment());
        let known = leases.trouble(gid);
        leases.set_trouble(gid, Trouble::of_unread(known.as_ref(), &why, moment));
    }
}

impl<O: Outside> Task<'_, O> {
    /// The trouble for which nothing is to be begun for it yet. If its status has changed, there is
    /// something new to do, which the tables may take.
    pub(super) fn put_off_by(&self) -> Option<Trouble> {
        let global = &self.transaction.global;
        let known = self.outside.leases().trouble(&global.gid)?;
        let is_same = known.status.is_none_or(|status| status == global.status);
        let is_early = known.is_early(self.outside.moment().now);
        (is_same && (is_early || known.is_dead)).then_some(known)
    }

    /// Gives back what is not to be driven yet, or is a dead letter, if the tables take that.
    pub(super) async fn stay_put_off(&mut self, known: Trouble) -> Result<(), O::Error> {
        if !known.is_early(self.outside.moment().now) {
            return self.wait_as_a_whole(&known.why, known.is_dead).await;
        }
        match self.outside.is_shared() {
            true => {
                // Others take it up no sooner, unless they are asked to.
                self.transaction.global.next_run = known.until;
                let written = self.write(By::Leaver).await;
                self.remember(known).await;
                taken_or_refused::<O>(written)
            }
            false => Ok(()),
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
        let mut untold = std::mem::take(&mut self.untold);
        let called = self.transaction.called(&known);
        if called.is_empty() {
            return match known.why_given_up() {
                Some(why) => self.is_dead(why, untold).await,
                None => self.trouble(error, &why).await,
            };
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
                // What is refused is told as such.
                untold.retain(
                    |alert| !matches!(alert, Action::Alert(Some(whose), _) if *whose == place),
                );
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
        if self.transaction.global.dead_since.is_none()
            && let Some(why) = known.why_given_up()
        {
            return self.is_dead(why, untold).await;
        }
        self.tell(untold);
        Ok(After::GoesOn)
    }

    /// It is a dead letter for this reason, and that is what the tables have refused.
    async fn is_dead(&mut self, why: &str, alerts: Vec<Action>) -> Result<After, O::Error> {
        let written = self.wait_as_a_whole(why, true).await;
        self.tell(alerts);
        written.map(|()| After::Waits)
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
        let written = self.wait_as_a_whole(why, false).await;
        let global = &self.transaction.global;
        // Of a dead letter its alert tells.
        if global.dead_since.is_none() {
            self.outside.not_driven(&global.gid, error);
        }
        written.map(|()| After::Waits)
    }

    /// Has it wait as a whole, or be a dead letter, and its row say so if the tables take that.
    async fn wait_as_a_whole(&mut self, why: &str, is_dead: bool) -> Result<(), O::Error> {
        let (leases, moment) = (self.outside.leases(), self.outside.moment());
        self.transaction = self.saved.at_rest();
        self.attempts.clear();
        let gid = self.transaction.global.gid.clone();
        let known = leases.trouble(&gid);
        let (trouble, alert) = self
            .transaction
            .troubled(known.as_ref(), (why, is_dead), moment);
        self.tell(alert);
        let is_dead = trouble.is_dead;
        leases.set_trouble(&gid, trouble.clone());
        let written = self.write(By::Leaver).await;
        match written {
            Ok(Saved::Yes) if is_dead => leases.end_trouble(&gid),
            _ => self.remember(trouble).await,
        }
        taken_or_refused::<O>(written)
    }

    /// Keeps the trouble until it is tried again, or somebody else gets further with it.
    async fn remember(&self, mut trouble: Trouble) {
        let gid = &self.saved.global.gid;
        let by_hand = self.outside.by_hand(gid).await.ok();
        let progress = by_hand.map(|by_hand| self.saved.progress(by_hand));
        trouble.progress = progress.or(trouble.progress);
        self.outside.leases().set_trouble(gid, trouble);
    }

    fn tell(&self, alerts: impl IntoIterator<Item = Action>) {
        for alert in alerts {
            if let Action::Alert(whose, why) = alert {
                self.outside.alert(&self.transaction, whose, why);
            }
        }
    }
}

/// That the tables do not take it is no failure here.
fn taken_or_refused<O: Outside>(written: Result<Saved, O::Error>) -> Result<(), O::Error> {
    match written {
        Err(error) if O::refusal(&error).is_none() => Err(error),
        _ => Ok(()),
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
