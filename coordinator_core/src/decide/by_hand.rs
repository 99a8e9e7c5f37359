//! What operators do to a transaction by hand.

use super::{BranchStatus, Micros, Status, Transaction};

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
            Operation::Retry => {}
            Operation::Skip { branch_id, op } => self.skip(branch_id, op, now)?,
            Operation::Force(Status::Prepared) => {
                return Err("a transaction cannot be forced to prepared".into());
            }
            Operation::Force(wanted) => self.turn(*wanted, format!("by hand: {why}"), now),
        }
        self.revive(now);
        Ok(())
    }

    /// All that waits is due, and limits count from the beginning.
    fn revive(&mut self, now: Micros) {
        self.global.dead_since = None;
        self.global.retry_count = 0;
        self.global.next_run = now;
        for branch in &mut self.branches {
            branch.errors = 0;
            branch.interval = 0;
            branch.not_before = branch.not_before.min(now);
        }
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
        self.turn(Status::Aborting, format!("by hand: {why}"), now);
        Ok(())
    }
}
