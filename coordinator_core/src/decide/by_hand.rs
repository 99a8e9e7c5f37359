//! What operators do to a transaction by hand.

use super::{BranchStatus, Cause, Micros, Status, Transaction};

/// What an operator wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Calls again now what waits to be called; a dead letter is one no more.
    Retry,
    /// A branch counts as done without being called.
    Skip {
        /// Its step.
        branch_id: String,
        /// Its operation.
        op: String,
    },
    /// Another status, without regard to what that leaves half done.
    Force(Status),
    /// Undoes it: a saga even if it has ended.
    Compensate,
    /// Nothing is begun for it, and no deadline comes nearer, until it is resumed.
    Pause,
    /// It goes on.
    Resume,
}

impl Operation {
    /// Its name in requests and in the history.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Retry => "retry",
            Operation::Skip { .. } => "skip",
            Operation::Force(_) => "force",
            Operation::Compensate => "compensate",
            Operation::Pause => "pause",
            Operation::Resume => "resume",
        }
    }
}

impl Transaction {
    /// Does what an operator wants; why it cannot be done. Nobody may drive the transaction
    /// meanwhile.
    pub fn operate(&mut self, operation: &Operation, why: &str, now: Micros) -> Result<(), String> {
        let status = self.global.status;
        let ended = || format!("it has ended: {}", status.name());
        match operation {
            Operation::Compensate => self.compensate(why, now)?,
            _ if status.is_final() => return Err(ended()),
            Operation::Pause => return self.pause(now),
            Operation::Resume => return self.resume(now),
            Operation::Retry if self.global.paused_since.is_some() => {
                return Err("it is paused: resume it".into());
            }
            Operation::Retry => {}
            Operation::Skip { branch_id, op } => self.skip(branch_id, op, now)?,
            Operation::Force(Status::Prepared) => {
                return Err("a transaction cannot be forced to prepared".into());
            }
            Operation::Force(wanted) => {
                self.turn(Cause::Operator, *wanted, format!("by hand: {why}"), now);
            }
        }
        self.revive(now);
        Ok(())
    }

    /// All that waits is due, and limits count from the beginning.
    fn revive(&mut self, now: Micros) {
        self.global.dead_since = None;
        self.global.failing_since = None;
        self.global.retry_count = 0;
        self.global.next_run = now;
        for branch in &mut self.branches {
            branch.errors = 0;
            branch.failing_since = None;
            branch.interval = 0;
            branch.not_before = branch.not_before.min(now);
        }
    }

    fn pause(&mut self, now: Micros) -> Result<(), String> {
        if self.global.paused_since.is_some() {
            return Err("it is paused already".into());
        }
        self.global.paused_since = Some(now);
        self.global.next_run = Micros::MAX;
        Ok(())
    }

    /// What was counted when it was paused is counted on from there.
    fn resume(&mut self, now: Micros) -> Result<(), String> {
        let since = self.global.paused_since.take();
        let since = since.ok_or("it is not paused")?;
        let paused = now.saturating_sub(since);
        self.global.paused_us = self.global.paused_us.saturating_add(paused);
        let later = |time: &mut Option<Micros>| {
            *time = time.map(|time| time.saturating_add(paused));
        };
        later(&mut self.global.failing_since);
        for branch in &mut self.branches {
            if branch.failing_since.is_some() {
                later(&mut branch.failing_since);
            }
        }
        self.global.next_run = now;
        Ok(())
    }

    fn skip(&mut self, branch_id: &str, op: &str, now: Micros) -> Result<(), String> {
        let mut branches = self.branches.iter_mut();
        let branch = branches
            .find(|branch| branch.branch_id == branch_id && branch.op == op)
            .ok_or_else(|| format!("it has no branch {branch_id} {op}"))?;
        if branch.status != BranchStatus::Prepared {
            let status = branch.status.name();
            return Err(format!("branch {branch_id} {op} is {status} already"));
        }
        branch.status = BranchStatus::Succeed;
        branch.ended = Some(now);
        Ok(())
    }

    fn compensate(&mut self, why: &str, now: Micros) -> Result<(), String> {
        let (pattern, status) = (self.global.pattern, self.global.status);
        let possible = pattern.rules().compensable.contains(&status);
        if !possible {
            return Err(format!(
                "a {} that is {} cannot be compensated",
                pattern.name(),
                status.name()
            ));
        }
        self.global.finished = None;
        self.global.rolled_back = None;
        if status.is_final() {
            // A pause ended with it.
            self.global.paused_since = None;
        }
        let why = format!("by hand: {why}");
        self.turn(Cause::Operator, Status::Aborting, why, now);
        Ok(())
    }
}
