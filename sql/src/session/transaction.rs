//! The session's transaction: when one begins, how it goes on after an error, when it ends.
//!
//! A transaction of the client (BEGIN, or any statement on tables while autocommit is off) is
//! `open` from the statement that begins it; the engine's transaction is begun only when a
//! statement needs it. A statement on its own (autocommit) has an engine transaction for itself.
//!
//! 1. `engine` is some only inside a statement or while `open` is some.
//! 2. Characteristics are fixed when the transaction opens, not when it first reads.
//! 3. After a deadlock, and after an error of the log, nothing is open: the engine has rolled
//!    back. After every other error the statement's changes are undone and the transaction stays.

use super::Session;
use crate::{
    command::{Completion, SetScope, isolation_name},
    error::SqlError,
    privileges::needed,
    state::ReadOnly,
    status::Counter,
    variables::{self, Variable},
};
use std::sync::{Arc, atomic::Ordering};

use cohort_engine::{
    txn::{Isolation, Placed, Savepoint, Txn, TxnOptions},
    types::Value,
};

/// What a transaction is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Characteristics {
    pub isolation: Isolation,
    pub read_only: bool,
}

/// What became of temporary tables in a transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TemporaryChanges {
    /// Some were made.
    pub made: bool,
    /// Some were dropped.
    pub dropped: bool,
}

/// The transaction of a session.
#[derive(Default)]
pub(super) struct Transaction {
    /// The client's transaction, if one is open.
    pub open: Option<Characteristics>,
    /// The engine's transaction, if one was needed.
    pub engine: Option<Txn>,
    /// SET TRANSACTION: only for the next one.
    pub next: (Option<Isolation>, Option<bool>),
    /// XA: the session's distributed transaction; then `open` is some.
    pub branch: Option<super::xa::Branch>,
    /// It passed the gate, which counts it until it ends.
    counted: bool,
    /// What ROLLBACK will not undo.
    pub temporary: TemporaryChanges,
    /// SAVEPOINTs in the order they were made.
    pub savepoints: Vec<(String, Savepoint)>,
}

impl Session {
    /// What the next transaction is like; SET TRANSACTION's wishes are used up.
    pub(super) fn characteristics(&mut self) -> Characteristics {
        let (isolation, read_only) = std::mem::take(&mut self.transaction.next);
        let settings = self.state.settings();
        Characteristics {
            isolation: isolation.unwrap_or(settings.isolation),
            read_only: read_only.unwrap_or(settings.read_only),
        }
    }

    /// Opens a transaction, when there are not too many: thread_pool_max_transactions_limit.
    /// `explicit` if the client said so.
    fn open(&mut self, characteristics: Characteristics, explicit: bool) -> Result<(), SqlError> {
        let gate = &self.state.instance.gate;
        self.transaction.counted = gate.enter(&self.state.owner)?;
        self.trail.open(explicit);
        self.transaction.open = Some(characteristics);
        self.state.in_transaction = true;
        Ok(())
    }

    /// Whether others may wait for locks that it holds.
    #[must_use]
    pub fn holds_locks(&self) -> bool {
        let transaction = self.transaction.engine.as_ref();
        transaction.is_some_and(Txn::holds_locks)
            || self.locked.is_some()
            || self.state.user_locks_held.load(Ordering::Relaxed) > 0
    }

    /// START TRANSACTION.
    pub(super) fn begin(
        &mut self,
        read_only: Option<bool>,
        snapshot: bool,
    ) -> Result<(), SqlError> {
        self.commit()?;
        self.locked.tables = None;
        if read_only == Some(false) {
            self.check_server_writable()?;
        }
        let mut characteristics = self.characteristics();
        characteristics.read_only = read_only.unwrap_or(characteristics.read_only);
        self.open(characteristics, true)?;
        if snapshot && characteristics.isolation != Isolation::RepeatableRead {
            self.state.warnings.warn(SqlError::snapshot_ignored());
        } else if snapshot {
            let mut txn = self.begin_engine(characteristics);
            txn.take_snapshot();
            self.transaction.engine = Some(txn);
        }
        Ok(())
    }

    /// A transaction of the engine with these characteristics.
    pub(super) fn begin_engine(&self, characteristics: Characteristics) -> Txn {
        let options = TxnOptions {
            isolation: characteristics.isolation,
            read_only: characteristics.read_only,
            lock_wait_ms: self.state.settings().row_lock_wait_ms,
            table_lock_wait_ms: self.state.settings().table_lock_wait_ms,
        };
        let (engine, owner) = (&self.state.instance.engine, &self.state.owner);
        match self.measured.begun_us() {
            0 => engine.begin(owner, options),
            now_us => engine.begin_at(owner, options, now_us),
        }
    }

    /// What a statement on tables runs in: the open transaction, one that it opens because
    /// autocommit is off, or one of its own (then `true`).
    pub(super) fn enter(&mut self) -> Result<(Characteristics, bool), SqlError> {
        if let Some(open) = self.transaction.open {
            return Ok((open, false));
        }
        let characteristics = self.characteristics();
        if self.state.settings().autocommit {
            return Ok((characteristics, true));
        }
        self.open(characteristics, false)?;
        Ok((characteristics, false))
    }

    /// Commits what is open, because something else begins; nothing happens if nothing is.
    pub(super) fn commit(&mut self) -> Result<(), SqlError> {
        self.commit_last()?;
        self.settle()
    }

    /// COMMIT, with nothing to do after it but to reply.
    pub(super) fn commit_last(&mut self) -> Result<(), SqlError> {
        self.outside_xa()?;
        let engine = self.transaction.engine.take();
        self.forget();
        match engine {
            Some(txn) => self.commit_engine(txn),
            None => Ok(()),
        }
    }

    /// Commits a transaction of the engine. Unless the caller sees to it (`leave_commits`), it
    /// is durable then.
    pub(super) fn commit_engine(&mut self, txn: Txn) -> Result<(), SqlError> {
        if txn.has_changes()
            && let Err(error) = self.check_server_writable()
        {
            txn.rollback();
            return Err(error);
        }
        self.state.counters().count(Counter::HandlerCommit);
        if let Some(txn) = self.commit_created(txn)? {
            self.placed = txn.commit_placed(&self.state.database)?;
        }
        if self.leaves_commits {
            return Ok(());
        }
        self.settle()
    }

    /// Waits for what is committed and not known to be durable.
    pub(super) fn settle(&mut self) -> Result<(), SqlError> {
        if let Some(placed) = self.placed.take() {
            let (_, times) = placed.wait_timed(&self.state.owner)?;
            self.measured.settled(times);
        }
        Ok(())
    }

    /// Waits until all that the session has met is durable. What it has committed is later than
    /// that, so a reply that waits for this commit waits for both.
    pub(super) fn settle_reads(&mut self) -> Result<(), SqlError> {
        if self.placed.is_none() {
            let engine = &self.state.instance.engine;
            engine.wait_for_reads(&self.state.owner)?;
        }
        Ok(())
    }

    /// From now on a statement that ends with a commit returns when this has its place in the
    /// log: the caller must not pass the reply on before `take_placed` is durable.
    pub fn leave_commits(&mut self) {
        self.leaves_commits = true;
    }

    /// What the last statement has committed and left to its caller.
    pub fn take_placed(&mut self) -> Option<Placed> {
        self.placed.take()
    }

    /// Gives up what is open.
    pub(super) fn rollback(&mut self) {
        if let Some(txn) = self.transaction.engine.take() {
            self.state.counters().count(Counter::HandlerRollback);
            txn.rollback();
        }
        self.applying.creation = None;
        self.forget();
    }

    pub(super) fn forget(&mut self) {
        self.conclude();
        self.transaction.open = None;
        self.transaction.branch = None;
        self.transaction.temporary = TemporaryChanges::default();
        self.transaction.savepoints.clear();
        self.state.in_transaction = false;
        if std::mem::take(&mut self.transaction.counted) {
            self.state.instance.gate.leave();
        }
    }

    /// COMMIT or ROLLBACK with what follows it.
    pub(super) fn complete(
        &mut self,
        commit: bool,
        completion: Completion,
    ) -> Result<(), SqlError> {
        self.outside_xa()?;
        let ended = self.transaction.open;
        self.trail.ask();
        if commit {
            // A transaction that has a GTID is logged even if it has changed nothing.
            if self.transaction.engine.is_none() && self.commits_gtid() {
                let characteristics = self.characteristics();
                self.transaction.engine = Some(self.begin_engine(characteristics));
            }
            self.commit_last()?;
        } else {
            self.warn_of_temporary();
            self.rollback();
        }
        let by_default = self.state.settings().completion_type;
        let release = completion
            .release
            .unwrap_or(by_default == 2 && completion.chain.is_none());
        let chain = completion
            .chain
            .unwrap_or(by_default == 1 && completion.release.is_none());
        if chain {
            let characteristics = ended.unwrap_or_else(|| self.characteristics());
            self.open(characteristics, false)?;
        } else {
            // SET TRANSACTION is for the next transaction, and an empty one was one, too.
            self.transaction.next = (None, None);
        }
        if release {
            self.released = true;
        }
        Ok(())
    }

    /// What a statement on no tables runs in: it opens nothing.
    pub(super) fn peek(&mut self) -> (Characteristics, bool) {
        match self.transaction.open {
            Some(open) => (open, false),
            None => {
                let settings = self.state.settings();
                let (isolation, read_only) = (settings.isolation, settings.read_only);
                (
                    Characteristics {
                        isolation,
                        read_only,
                    },
                    true,
                )
            }
        }
    }

    /// What becomes of the engine's transaction after a statement that is not committed now. A
    /// statement that failed has undone its changes already.
    pub(super) fn leave(&mut self, txn: Txn, alone: bool, error: Option<&SqlError>) {
        if alone {
            txn.rollback();
            return;
        }
        if error.is_some_and(SqlError::ended_transaction) {
            drop(txn);
            match (&mut self.transaction.branch, error) {
                (Some(branch), Some(error)) => branch.roll_back(error),
                _ => self.forget(),
            }
            return;
        }
        self.transaction.engine = Some(txn);
    }

    /// 1290 for changes, if the server is read-only for this session.
    pub(super) fn check_server_writable(&self) -> Result<(), SqlError> {
        let state = &self.state;
        let option = match state.instance.read_only() {
            ReadOnly::Users if !state.rights.has_any(needed::CONNECTION_ADMIN) => "--read-only",
            ReadOnly::All => "--super-read-only",
            ReadOnly::No | ReadOnly::Users => return Ok(()),
        };
        if state.internal {
            return Ok(());
        }
        Err(SqlError::option_prevents(option))
    }

    /// Sets a global variable. Before the server becomes read-only, the commits that are under way
    /// come to their end.
    pub(super) fn set_global(&mut self, variable: &Variable, value: Value) -> Result<(), SqlError> {
        let instance = Arc::clone(&self.state.instance);
        if let Some((other, value)) = super::set::paired(variable.name, &value) {
            instance.set_global(&variables::find(other)?, value)?;
        }
        if variable.name == "partial_revokes" {
            // Nobody makes the first partial revoke meanwhile.
            let _alone = self.alone_with_accounts(&instance)?;
            return instance.set_global(variable, value);
        }
        if !matches!(variable.name, "read_only" | "super_read_only") {
            return instance.set_global(variable, value);
        }
        if self.transaction.open.is_some() || self.locked.tables.is_some() {
            return Err(SqlError::lock_or_active_transaction());
        }
        let held = match &self.locked.all {
            None if value != Value::Int(0) => Some(self.lock_all()?),
            _ => None,
        };
        let set = instance.set_global(variable, value);
        drop(held);
        set
    }

    /// 1792 for what changes the server's state, with nothing open, where transactions are
    /// read-only. SET TRANSACTION's wishes were for the transaction that it is itself.
    pub(super) fn check_writable(&mut self) -> Result<(), SqlError> {
        self.transaction.next = (None, None);
        if self.state.settings().read_only {
            return Err(SqlError::read_only_transaction());
        }
        Ok(())
    }

    /// 1751 and 1752: what a rollback does not undo.
    fn warn_of_temporary(&mut self) {
        let TemporaryChanges { made, dropped } = self.transaction.temporary;
        if made {
            self.state.warnings.warn(SqlError::temporary_stay());
        }
        if dropped {
            self.state.warnings.warn(SqlError::temporary_are_gone());
        }
    }

    /// SAVEPOINT. Without an open transaction it has no effect, as each statement is its own.
    pub(super) fn savepoint(&mut self, name: String) -> Result<(), SqlError> {
        self.state.counters().count(Counter::HandlerSavepoint);
        let (characteristics, alone) = self.enter()?;
        if alone {
            return Ok(());
        }
        let engine = self.transaction.engine.take();
        let txn = engine.unwrap_or_else(|| self.begin_engine(characteristics));
        let mark = txn.savepoint();
        self.transaction.engine = Some(txn);
        self.transaction
            .savepoints
            .retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        self.transaction.savepoints.push((name, mark));
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize, SqlError> {
        let mut savepoints = self.transaction.savepoints.iter();
        let found = savepoints.position(|(known, _)| known.eq_ignore_ascii_case(name));
        found.ok_or_else(|| SqlError::does_not_exist("SAVEPOINT", name))
    }

    /// ROLLBACK TO SAVEPOINT: it stays, those after it go.
    pub(super) fn rollback_to(&mut self, name: &str) -> Result<(), SqlError> {
        let position = self.find_savepoint(name)?;
        self.state
            .counters()
            .count(Counter::HandlerSavepointRollback);
        self.transaction.savepoints.truncate(position + 1);
        self.warn_of_temporary();
        let mark = self.transaction.savepoints.last().map(|(_, mark)| *mark);
        if let (Some(txn), Some(mark)) = (self.transaction.engine.as_mut(), mark) {
            txn.rollback_to(&mark);
            txn.release_after_undoing(&mark);
        }
        Ok(())
    }

    /// RELEASE SAVEPOINT: it and those after it go, their changes stay.
    pub(super) fn release_savepoint(&mut self, name: &str) -> Result<(), SqlError> {
        let position = self.find_savepoint(name)?;
        self.transaction.savepoints.truncate(position);
        Ok(())
    }

    /// SET TRANSACTION.
    pub(super) fn set_transaction(
        &mut self,
        scope: SetScope,
        isolation: Option<Isolation>,
        read_only: Option<bool>,
    ) -> Result<(), SqlError> {
        if scope == SetScope::Next {
            if self.transaction.open.is_some() {
                return Err(SqlError::transaction_in_progress());
            }
            let (next_isolation, next_read_only) = &mut self.transaction.next;
            *next_isolation = isolation.or(*next_isolation);
            *next_read_only = read_only.or(*next_read_only);
            return Ok(());
        }
        if let Some(level) = isolation {
            let name = Value::Bytes(isolation_name(level).into());
            self.set_variable(scope, "transaction_isolation", &name)?;
        }
        if let Some(read_only) = read_only {
            let value = Value::Int(i64::from(read_only));
            self.set_variable(scope, "transaction_read_only", &value)?;
        }
        Ok(())
    }
}
