//! XA: a transaction whose two phases a transaction manager drives.
//!
//! ```text
//!            START           END            PREPARE
//! (none) ----------> ACTIVE -----> IDLE --------------> (none; prepared, anybody may end it)
//!                      ^   START    |  COMMIT ONE PHASE, ROLLBACK
//!                      +--RESUME----+--------------> (none)
//! ```
//!
//! From START to PREPARE the transaction is its session's, and is lost with it. PREPARE leaves it
//! to the engine (MySQL's xa_detach_on_prepare): the session is free for the next one.
//!
//! A deadlock rolls the engine's transaction back while the state is ACTIVE. What follows is
//! refused, END says why and leaves ROLLBACK ONLY, and only ROLLBACK is left.

use super::Session;
use crate::{command::Xa, error::SqlError, output::Output, show};
use cohort_engine::{txn::XidClaim, types::Xid};

/// Between START and PREPARE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    Idle,
    RollbackOnly,
}

/// The distributed transaction of a session.
pub(super) struct Branch {
    claim: XidClaim,
    state: State,
    /// The error that has rolled it back.
    rolled_back: Option<SqlError>,
}

impl Branch {
    fn state_name(&self) -> &'static str {
        match self.state {
            State::Active => "ACTIVE",
            State::Idle => "IDLE",
            State::RollbackOnly => "ROLLBACK ONLY",
        }
    }
    /// The transaction was rolled back in the engine.
    pub fn roll_back(&mut self, error: &SqlError) {
        self.rolled_back = Some(error.clone());
    }
    /// Tells that it was rolled back; from then on only ROLLBACK is left.
    fn check_rolled_back(&mut self) -> Result<(), SqlError> {
        let Some(error) = &self.rolled_back else {
            return Ok(());
        };
        self.state = State::RollbackOnly;
        Err(match error.code {
            SqlError::LOCK_WAIT_TIMEOUT => SqlError::xa_timeout(),
            SqlError::DEADLOCK => SqlError::xa_deadlock(),
            _ => SqlError::xa_rolled_back(),
        })
    }
}

impl Session {
    /// XA. Errors and RECOVER may tell of transactions that were prepared, or ended, but not
    /// durably yet.
    pub(super) fn xa(&mut self, command: &Xa, out: &mut dyn Output) -> Result<(), SqlError> {
        let result = self.xa_command(command, out);
        if result.is_err() || matches!(command, Xa::Recover { .. }) {
            let state = &self.state;
            state.instance.engine.depend_on_all(&state.owner);
        }
        result
    }

    fn xa_command(&mut self, command: &Xa, out: &mut dyn Output) -> Result<(), SqlError> {
        match command {
            Xa::Start { xid, resume } => self.xa_start(xid, *resume)?,
            Xa::End(xid) => self.xa_end(xid)?,
            Xa::Prepare(xid) => self.xa_prepare(xid)?,
            Xa::Commit { xid, one_phase } => self.xa_finish(xid, true, *one_phase)?,
            Xa::Rollback(xid) => self.xa_finish(xid, false, false)?,
            Xa::Recover { convert } => {
                let shown = show::prepared(&self.state, *convert)?;
                return self.send(&shown, true, out);
            }
            Xa::Invalid { .. } => return Err(SqlError::xa_invalid()),
        }
        self.done(0, String::new(), out)
    }

    /// 1399 while the session is in a distributed transaction: for statements that would end it.
    pub(super) fn outside_xa(&self) -> Result<(), SqlError> {
        match &self.transaction.branch {
            None => Ok(()),
            Some(branch) => Err(SqlError::xa_wrong_state(branch.state_name())),
        }
    }

    /// 1399 if the session's distributed transaction takes no more work.
    pub(super) fn xa_takes_work(&mut self) -> Result<(), SqlError> {
        let Some(branch) = &mut self.transaction.branch else {
            return Ok(());
        };
        branch.check_rolled_back()?;
        match branch.state {
            State::Active => Ok(()),
            _ => Err(SqlError::xa_wrong_state(branch.state_name())),
        }
    }

    fn xa_start(&mut self, xid: &Xid, resume: bool) -> Result<(), SqlError> {
        if let Some(branch) = &mut self.transaction.branch
            && branch.state == State::Idle
            && resume
        {
            if branch.claim.xid() != xid {
                return Err(SqlError::xa_unknown());
            }
            branch.state = State::Active;
            return Ok(());
        }
        if resume {
            return Err(SqlError::xa_invalid());
        }
        self.outside_xa()?;
        if self.transaction.open.is_some() || self.locked.tables.is_some() {
            return Err(SqlError::xa_outside());
        }
        let claim = self.state.instance.engine.claim_xid(xid);
        let claim = claim.ok_or_else(SqlError::xa_duplicate)?;
        self.begin(None, false)?;
        self.transaction.branch = Some(Branch {
            claim,
            state: State::Active,
            rolled_back: None,
        });
        Ok(())
    }

    /// The session's distributed transaction, which must be in this state and of this name.
    fn branch(&mut self, state: State, xid: &Xid) -> Result<&mut Branch, SqlError> {
        let Some(branch) = &mut self.transaction.branch else {
            return Err(SqlError::xa_wrong_state("NON-EXISTING"));
        };
        if branch.state != state {
            return Err(SqlError::xa_wrong_state(branch.state_name()));
        }
        if branch.claim.xid() != xid {
            return Err(SqlError::xa_unknown());
        }
        Ok(branch)
    }

    fn xa_end(&mut self, xid: &Xid) -> Result<(), SqlError> {
        if let Some(branch) = &mut self.transaction.branch {
            branch.check_rolled_back()?;
        }
        self.branch(State::Active, xid)?.state = State::Idle;
        Ok(())
    }

    fn xa_prepare(&mut self, xid: &Xid) -> Result<(), SqlError> {
        self.branch(State::Idle, xid)?;
        let Some(branch) = self.transaction.branch.take() else {
            return Ok(());
        };
        let characteristics = self.transaction.open;
        let engine = self.transaction.engine.take();
        // Whatever becomes of it, it is this session's no more.
        self.forget();
        let txn = match (engine, characteristics) {
            (Some(txn), _) => txn,
            (None, Some(characteristics)) => self.begin_engine(characteristics),
            (None, None) => return Err(SqlError::xa_failed()),
        };
        let state = &self.state;
        txn.prepare(&branch.claim, &state.user_at_host, &state.database)?;
        Ok(())
    }

    /// COMMIT and ROLLBACK: of the session's transaction, or of one that is prepared.
    fn xa_finish(&mut self, xid: &Xid, commit: bool, one_phase: bool) -> Result<(), SqlError> {
        let Some(branch) = &mut self.transaction.branch else {
            if self.transaction.open.is_some() {
                return Err(SqlError::xa_wrong_state("NON-EXISTING"));
            }
            let state = &self.state;
            let engine = &state.instance.engine;
            let wait_ms = state.settings().table_lock_wait_ms;
            return match engine.end_prepared(&state.owner, xid, commit, &state.database, wait_ms)? {
                true => Ok(()),
                false => Err(SqlError::xa_unknown()),
            };
        };
        if branch.claim.xid() != xid {
            return Err(SqlError::xa_wrong_state(branch.state_name()));
        }
        if commit && let Err(error) = branch.check_rolled_back() {
            self.rollback();
            return Err(error);
        }
        let allowed = match branch.state {
            State::Active => false,
            State::Idle => one_phase || !commit,
            State::RollbackOnly => !commit,
        };
        if !allowed {
            return Err(SqlError::xa_wrong_state(branch.state_name()));
        }
        self.transaction.branch = None;
        if commit {
            self.commit()
        } else {
            self.rollback();
            Ok(())
        }
    }
}
