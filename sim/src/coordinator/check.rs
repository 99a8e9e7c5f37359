//! What must hold in the end.

use super::{plan::GID, run::Run};
use cohort_coordinator_core::{
    decide::Branches,
    model::{Pattern, Status},
};

impl Run<'_> {
    /// What is wrong, if anything.
    pub fn check(&mut self) -> Result<(), String> {
        self.figures.count("runs");
        let world = self.world();
        let Some(found) = world.tables.load(GID) else {
            return match self.has_submitted || self.has_aborted {
                true => Err("what was acknowledged is not there".to_owned()),
                false => Ok(()),
            };
        };
        let status = found.global.status;
        if !status.is_final() {
            return Err(format!("it has not ended: {}", world.tables.shown(GID)));
        }
        let is_success = status == Status::Succeed;
        let services = &world.services;
        let ids = found
            .branches
            .iter()
            .map(|branch| branch.branch_id.as_str());
        for id in ids {
            let has = |op: &str| services.has(GID, id, op);
            let was_called = |op: &str| services.was_called(GID, id, op);
            let why = match (self.plan.pattern, is_success) {
                (Pattern::Saga, true) if !has("action") => "its action was not done",
                (Pattern::Saga, true) if was_called("compensate") => "it was compensated",
                (Pattern::Saga, false) if has("action") != has("compensate") => {
                    "its action stays, or was undone without having been done"
                }
                (Pattern::Saga, false) if was_called("action") && !was_called("compensate") => {
                    "it may have been done, and was not compensated"
                }
                (Pattern::Message, true) if !has("action") => "it was not delivered",
                (Pattern::Message, false) if was_called("action") => "it was delivered",
                (Pattern::Tcc, true) if !has("confirm") => "it was not confirmed",
                (Pattern::Tcc, true) if was_called("cancel") => "it was cancelled",
                (Pattern::Tcc, false) if has("try") != has("cancel") => "it was not cancelled",
                (Pattern::Tcc, false) if was_called("confirm") => "it was confirmed",
                (Pattern::Xa, true) if !has("commit") => "it was not committed",
                (Pattern::Xa, true) if was_called("rollback") => "it was rolled back",
                (Pattern::Xa, false) if has("try") != has("rollback") => "it was not rolled back",
                (Pattern::Xa, false) if was_called("commit") => "it was committed",
                _ => continue,
            };
            return Err(format!("{} branch {id}: {why}", status.name()));
        }
        let registers = matches!(
            self.plan.pattern.rules().branches,
            Branches::Registered | Branches::RegisteredWithUrl
        );
        let count = found.branches.len() / self.plan.pattern.rules().ops.len().max(1);
        if registers && count < self.registered.len() {
            return Err("a branch that was registered is not there".to_owned());
        }
        let was_committed = services.has(GID, "00", "msg");
        let wrong = match self.plan.pattern {
            Pattern::Message if self.plan.has_commit() => was_committed != is_success,
            Pattern::Workflow => self.has_submitted && is_success != self.plan.succeeds,
            Pattern::Saga => false,
            _ => self.has_submitted && !is_success || self.has_aborted && is_success,
        };
        if wrong {
            return Err(format!(
                "it is {}, against what its client was told",
                status.name()
            ));
        }
        Ok(())
    }
}
