//! gtid_next, gtid_purged and sql_log_bin: transactions that have their GTIDs from elsewhere, or
//! none.
//!
//! A client that repeats the log of another server (mysqlbinlog, a replica) says before each
//! transaction which GTID it has. From then until its end the session owns that GTID. If there is
//! such a transaction already, its statements do nothing. Afterwards gtid_next must be set again.

use super::{Compiled, Session, Statement};
use crate::{
    command::Command, error::SqlError, expr::functions::gtid, output::Output, plan::Body,
    privileges::needed, state::GtidNext,
};
use cohort_engine::{
    log::Origin,
    txn::WaitFor,
    types::{Gtid, GtidSet, Value},
};
use std::time::Duration;

/// gtid_purged takes no more at once: each file of the log begins with all of them.
const RANGES_MAX: usize = 100_000;
/// original_commit_timestamp, if nobody has set it.
const NO_TIME: u64 = 1 << 55;
/// original_server_version, if nobody has set it.
const NO_VERSION: u64 = 999_999;

impl Session {
    /// SET gtid_next. 1774 if it is none, 1766 in a transaction, 1790 while another one is owned.
    pub(super) fn set_gtid_next(&mut self, value: &str) -> Result<(), SqlError> {
        self.state.need(needed::SET_GTID)?;
        if self.transaction.open.is_some() {
            return Err(SqlError::variable_in_transaction("gtid_next"));
        }
        let next = match value.to_ascii_uppercase().as_str() {
            "AUTOMATIC" => None,
            "ANONYMOUS" => return Err(SqlError::anonymous_with_gtid_mode()),
            _ => Some(parse(value)?),
        };
        if let Some(owned) = self.state.gtid.owned() {
            // As after any statement that fails outside a transaction, it is owned no more.
            self.give_gtid_back(GtidNext::Used(owned));
            return Err(SqlError::gtid_owned(owned));
        }
        self.state.gtid = GtidNext::Automatic;
        if let Some(gtid) = next {
            self.own_gtid(gtid)?;
        }
        Ok(())
    }

    /// Waits until no other session owns it.
    pub(super) fn own_gtid(&mut self, gtid: Gtid) -> Result<(), SqlError> {
        const NAP: Duration = Duration::from_millis(10);
        let (state, owner) = (&self.state, &self.state.owner);
        let taken = || state.instance.gtid_owners.take(gtid, state.id);
        if !taken() {
            owner.waiting.pause(WaitFor::Sleep);
            while !taken() && !owner.is_killed() {
                std::thread::sleep(NAP);
            }
            owner.waiting.resume(WaitFor::Sleep);
            if !taken() {
                return Err(SqlError::query_interrupted());
            }
        }
        let executed = self.state.instance.engine.log().has(gtid);
        if executed {
            self.state.instance.gtid_owners.give_back(gtid);
        }
        self.state.gtid = GtidNext::Given { gtid, executed };
        self.tell_origin();
        Ok(())
    }

    /// Tells the engine where the next transaction comes from.
    pub(super) fn tell_origin(&self) {
        let Some(gtid) = self.state.gtid.owned() else {
            return;
        };
        let values = self.state.variables.values();
        let number = |name, none| match values.named(name) {
            Value::UInt(number) if *number != none => Some(*number),
            _ => None,
        };
        let version = number("original_server_version", NO_VERSION);
        self.state.owner.set_origin(Some(Origin {
            gtid,
            committed_micros: number("original_commit_timestamp", NO_TIME),
            immediate_micros: None,
            version: version.and_then(|version| u32::try_from(version).ok()),
        }));
    }

    /// The session owns no GTID any more.
    pub(super) fn give_gtid_back(&mut self, then: GtidNext) {
        if let Some(gtid) = self.state.gtid.owned() {
            self.state.owner.set_origin(None);
            self.state.instance.gtid_owners.give_back(gtid);
        }
        self.state.gtid = then;
    }

    /// Runs a statement while gtid_next is set.
    pub(super) fn run_with_gtid(
        &mut self,
        statement: &Statement,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let is_free = is_free(&statement.what);
        let (gtid, executed) = match self.state.gtid {
            GtidNext::Automatic => return self.run_here(statement, params, out),
            GtidNext::Used(_) if is_free => return self.run_here(statement, params, out),
            GtidNext::Used(gtid) => {
                self.clear_warnings();
                return Err(SqlError::gtid_used(gtid));
            }
            GtidNext::Given { gtid, executed } => (gtid, executed),
        };
        if commits_implicitly(&statement.what) && self.transaction.open.is_some() {
            self.clear_warnings();
            return Err(SqlError::implicit_commit_with_gtid());
        }
        let result = match executed && !is_free {
            true => {
                self.clear_warnings();
                self.done(0, String::new(), out)
            }
            false => self.run_here(statement, params, out),
        };
        if self.state.gtid.is_automatic() {
            return result;
        }
        // It has found nothing to do, and that is its transaction.
        let alone = commits_implicitly(&statement.what)
            && !is_free
            && result.is_ok()
            && self.transaction.open.is_none();
        let result = match alone && self.state.owner.has_origin() {
            true => result.and(self.commit_nothing()),
            false => result,
        };
        let ends = matches!(
            statement.what,
            Compiled::Command(Command::Commit(_) | Command::Rollback(_))
        );
        let failed = result.is_err() && !is_free && self.transaction.open.is_none();
        let placed = !executed && !self.state.owner.has_origin();
        if ends || failed || placed {
            self.give_gtid_back(GtidNext::Used(gtid));
        }
        result
    }

    /// Commits a transaction that has changed nothing, but has a GTID.
    pub(super) fn commit_nothing(&mut self) -> Result<(), SqlError> {
        let characteristics = self.characteristics();
        let txn = self.begin_engine(characteristics);
        self.commit_engine(txn)
    }

    /// Whether COMMIT has to log a transaction even if it has changed nothing.
    pub(super) fn commits_gtid(&self) -> bool {
        self.state.gtid.owned().is_some()
    }

    /// SET sql_log_bin.
    pub(super) fn check_sql_log_bin(&mut self, on: bool) -> Result<(), SqlError> {
        if self.transaction.open.is_some() {
            return Err(SqlError::log_bin_in_transaction());
        }
        self.state.need(needed::SESSION_VARIABLES)?;
        self.state.owner.set_unlisted(!on);
        Ok(())
    }

    /// SET GLOBAL gtid_purged: the transactions of a dump that was restored. They count as
    /// executed, durably. `+…` adds some.
    pub(super) fn set_gtid_purged(&mut self, text: &str) -> Result<(), SqlError> {
        let text = text.trim();
        let added = text.strip_prefix('+');
        let wrong = |_| SqlError::wrong_value_for_variable("gtid_purged", text);
        let wanted = gtid::parse(added.unwrap_or(text)).map_err(wrong)?;
        let engine = &self.state.instance.engine;
        let log = engine.log();
        let unreadable = |error| SqlError::internal(format!("{error:?}"));
        let purged = log.purged().map_err(unreadable)?;
        let mut new = wanted.clone();
        if added.is_none() {
            if !wanted.contains_all(&purged) {
                let why = "the new value must be a superset of the old value";
                return Err(SqlError::gtid_purged_unchanged(why));
            }
            new.remove_all(&purged);
        }
        if overlap(&new, &log.executed()) {
            let why = "the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED";
            return Err(SqlError::gtid_purged_unchanged(why));
        }
        if new.is_empty() {
            return Ok(());
        }
        if new.ranges().count() > RANGES_MAX {
            let why = format!("it has more than {RANGES_MAX} ranges");
            return Err(SqlError::gtid_purged_unchanged(why));
        }
        Ok(engine.add_gtids(&new)?)
    }
}

fn overlap(one: &GtidSet, other: &GtidSet) -> bool {
    let mut rest = one.clone();
    rest.remove_all(other);
    rest != *one
}

fn parse(text: &str) -> Result<Gtid, SqlError> {
    if text.matches(':').count() == 2 {
        return Err(SqlError::not_supported("tagged GTIDs"));
    }
    Gtid::parse(text).ok_or_else(|| SqlError::malformed_gtid(text))
}

/// Whether it may run whatever gtid_next is.
fn is_free(what: &Compiled) -> bool {
    match what {
        Compiled::Command(command) => matches!(
            command,
            Command::Begin { .. }
                | Command::Commit(_)
                | Command::Rollback(_)
                | Command::Set(_)
                | Command::SetTransaction { .. }
                | Command::Show(..)
                | Command::Empty
        ),
        Compiled::Query(query) => query.is(|body| matches!(body, Body::Select(_))),
        Compiled::Schema(_) | Compiled::Creation(_) => false,
    }
}

fn commits_implicitly(what: &Compiled) -> bool {
    match what {
        Compiled::Command(Command::Begin { .. }) => true,
        Compiled::Command(command) => command.facts().commits_implicitly,
        // It goes on in the transaction that BEGIN has begun.
        Compiled::Query(_) | Compiled::Creation(_) => false,
        Compiled::Schema(change) => !change.is_of_temporary(),
    }
}
