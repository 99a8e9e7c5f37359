//! What happened to a transaction: calls, and what operators did. And its end: the removal of
//! transactions that ended long ago.

use super::{
    super::{
        decide::Transaction,
        model::{Cause, Micros, Note, Timing},
        plan,
    },
    connection::Connection,
    rows::{self, NO_TIME, Row, moment, moment_or_null, text},
    webhooks::{self, Untold},
};
use cohort_coordinator_core::outside::{Attempt, By, Saved};
use cohort_engine::types::Value;
use cohort_sql::SqlError;

/// What an operator did.
#[derive(Clone, Debug)]
pub struct Operated {
    /// When.
    pub time: Micros,
    /// Who.
    pub operator: String,
    /// retry, skip, force, compensate.
    pub operation: String,
    /// Of which branch, if it was one.
    pub branch_id: String,
    /// Its operation.
    pub op: String,
    /// The status before.
    pub from: String,
    /// And after.
    pub to: String,
    /// Why.
    pub reason: String,
}

/// Writes what an operator changed, and that it was he.
pub(super) fn operate(
    connection: &mut dyn Connection,
    before: &Transaction,
    after: &Transaction,
    operated: &Operated,
    now: Micros,
) -> Result<Saved, SqlError> {
    // What has ended is nobody's; all else is the operator's coordinator's meanwhile.
    let by = match before.global.status.is_final() {
        true => By::Operator,
        false => By::Driver,
    };
    if rows::save(connection, by, before, after, &[], now)? == Saved::TooLate {
        return Ok(Saved::TooLate);
    }
    write_pause(connection, before, after)?;
    insert(connection, &after.global.gid, operated)?;
    Ok(Saved::Yes)
}

/// Writes that an operator pauses it, beside whoever drives it, and that it was he. Too late: it has
/// ended, or is paused.
pub(super) fn pause(
    connection: &mut dyn Connection,
    gid: &str,
    since: Micros,
    operated: &Operated,
) -> Result<Saved, SqlError> {
    const PAUSE: &str = "UPDATE global_transactions \
         SET pause_time = ?, next_run_us = ? WHERE gid = ? \
         AND pause_time IS NULL AND status NOT IN ('succeed', 'failed')";
    let values = [moment(since), Value::UInt(NO_TIME), text(gid)];
    if connection.run(PAUSE, &values)?.affected == 0 {
        return Ok(Saved::TooLate);
    }
    insert(connection, gid, operated)?;
    Ok(Saved::Yes)
}

/// Writes what an operator did.
fn insert(connection: &mut dyn Connection, gid: &str, operated: &Operated) -> Result<(), SqlError> {
    const INSERT: &str = "INSERT INTO operations (gid, time, operator, operation, \
         branch_id, op, status_before, status_after, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let values = [
        text(gid),
        moment(operated.time),
        text(&operated.operator),
        text(&operated.operation),
        text(&operated.branch_id),
        text(&operated.op),
        text(&operated.from),
        text(&operated.to),
        text(&operated.reason),
    ];
    connection.run(INSERT, &values).map(drop)
}

/// The number of the last thing an operator did; 0: nothing.
pub(super) fn by_hand(connection: &mut dyn Connection, gid: &str) -> Result<u64, SqlError> {
    const LAST: &str = "SELECT id FROM operations WHERE gid = ? ORDER BY id DESC LIMIT 1";
    let last = rows::number(connection.run(LAST, &[text(gid)])?)?;
    Ok(last.unwrap_or(0))
}

fn succeeded(call: plan::Call) -> Attempt {
    Attempt {
        timing: call.timing(),
        branch_id: call.branch_id,
        op: call.op,
        result: "success".into(),
        error: String::new(),
    }
}

/// By time; no two calls are the same in all of that.
fn order(attempt: &Attempt) -> (Micros, &str, &str) {
    (attempt.timing.started, &attempt.branch_id, &attempt.op)
}

/// Writes since when it is paused, which nobody else writes: whatever a driver or a client writes
/// at the same time, a pause stays.
fn write_pause(
    connection: &mut dyn Connection,
    before: &Transaction,
    after: &Transaction,
) -> Result<(), SqlError> {
    const PAUSE: &str =
        "UPDATE global_transactions SET pause_time = ?, paused_us = ? WHERE gid = ?";
    let pause = |of: &Transaction| (of.global.paused_since, of.global.paused_us);
    if pause(before) == pause(after) {
        return Ok(());
    }
    let (since, us) = pause(after);
    let values = [
        moment_or_null(since),
        Value::UInt(us),
        text(&after.global.gid),
    ];
    connection.run(PAUSE, &values).map(drop)
}

/// What is kept of a transaction besides its rows and its branches'; the oldest first.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The last calls.
    pub attempts: Vec<Attempt>,
    /// All that operators did.
    pub operations: Vec<Operated>,
    /// All else that was unusual.
    pub notes: Vec<Note>,
    /// Ends that whoever wants to know was not told yet.
    pub untold: Vec<Untold>,
}

/// What is kept of it, with so many calls at most.
pub(super) fn history(
    connection: &mut dyn Connection,
    gid: &str,
    limit: u64,
) -> Result<History, SqlError> {
    const ATTEMPTS: &str = "SELECT branch_id, op, started, duration_us, result, error \
         FROM attempts WHERE gid = ? ORDER BY started DESC LIMIT ?";
    const ONLY_CALLS: &str = "SELECT branch_id, op, called_time, duration_us, 'success', '' \
         FROM branches WHERE gid = ? AND called_time IS NOT NULL \
         ORDER BY called_time DESC LIMIT ?";
    const CALLS: &str = "SELECT calls FROM global_transactions WHERE gid = ?";
    const OPERATIONS: &str = "SELECT time, operator, operation, branch_id, op, status_before, \
         status_after, reason FROM operations WHERE gid = ? ORDER BY id";
    const NOTES: &str = "SELECT time, cause, status_before, status_after, reason \
         FROM changes WHERE gid = ? ORDER BY id";
    let attempt = |row: &mut Row| {
        Ok(Attempt {
            branch_id: row.text()?,
            op: row.text()?,
            timing: Timing {
                started: row.moment()?,
                duration_us: row.number()?,
            },
            result: row.text()?.into(),
            error: row.text()?,
        })
    };
    let operated = |row: &mut Row| {
        Ok(Operated {
            time: row.moment()?,
            operator: row.text()?,
            operation: row.text()?,
            branch_id: row.text()?,
            op: row.text()?,
            from: row.text()?,
            to: row.text()?,
            reason: row.text()?,
        })
    };
    let mut attempts: Vec<Attempt> = Vec::new();
    for statement in [ATTEMPTS, ONLY_CALLS] {
        let found = connection.run(statement, &[text(gid), Value::UInt(limit)])?;
        attempts.extend(rows::read_each::<_, Vec<_>>(found, attempt)?);
    }
    if let Some(row) = connection.run(CALLS, &[text(gid)])?.rows.pop()
        && let Some(calls) = Row::of(row).text_or_null()?
    {
        let calls = plan::read_calls(&calls).ok_or_else(|| rows::corrupt("calls"))?;
        attempts.extend(calls.into_iter().map(succeeded));
    }
    attempts.sort_by(|a, b| order(a).cmp(&order(b)));
    // A branch that the transaction's row told of has got a row of its own since then.
    attempts.dedup_by(|a, b| order(a) == order(b));
    let older = attempts
        .len()
        .saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    attempts.drain(..older);
    let operations = connection.run(OPERATIONS, &[text(gid)])?;
    let notes = connection.run(NOTES, &[text(gid)])?;
    Ok(History {
        attempts,
        operations: rows::read_each(operations, operated)?,
        notes: rows::read_each(notes, read_note)?,
        untold: webhooks::untold(connection, gid)?,
    })
}

fn read_note(row: &mut Row) -> Result<Note, SqlError> {
    Ok(Note {
        time: row.moment()?,
        cause: Cause::parse(&row.text()?).ok_or_else(|| rows::corrupt("a cause"))?,
        from: row.status()?,
        to: row.status()?,
        reason: row.text()?,
    })
}

/// A page of transactions that were made known before `until`, by their numbers from `after` on.
/// Returns the last number, if there may be more, and the names of those that ended before
/// `until`, which is before `now`.
pub(super) fn ended(
    connection: &mut dyn Connection,
    after: u64,
    (until, now): (Micros, Micros),
    limit: u64,
) -> Result<(Option<u64>, Vec<String>), SqlError> {
    const PAGE: &str = "SELECT id, gid, status, create_time, update_time \
         FROM global_transactions WHERE id > ? ORDER BY id LIMIT ?";
    let page = connection.run(PAGE, &[Value::UInt(after), Value::UInt(limit)])?;
    let is_full = page.rows.len() as u64 == limit;
    let (mut last, mut names) = (None, Vec::new());
    for row in page.rows {
        let mut row = Row::of(row);
        let (id, gid, status) = (row.number()?, row.text()?, row.status()?);
        let created = row.moment()?;
        // Those that follow were made known later, unless the clock was ahead for a while.
        if (until..=now).contains(&created) {
            return Ok((None, names));
        }
        last = Some(id);
        if status.is_final() && row.moment()? < until {
            names.push(gid);
        }
    }
    Ok((last.filter(|_| is_full), names))
}

/// Removes transactions that have ended, with all that belongs to them.
pub(super) fn remove(connection: &mut dyn Connection, gids: &[String]) -> Result<(), SqlError> {
    const GLOBAL: &str = "DELETE FROM global_transactions WHERE gid = ? \
         AND status IN ('succeed', 'failed')";
    const PARTS: [&str; 4] = [
        "DELETE FROM branches WHERE gid = ?",
        "DELETE FROM attempts WHERE gid = ?",
        "DELETE FROM operations WHERE gid = ?",
        "DELETE FROM changes WHERE gid = ?",
    ];
    for gid in gids {
        // An operator may have brought it back to life.
        if connection.run(GLOBAL, &[text(gid)])?.affected > 0 {
            for part in PARTS {
                connection.run(part, &[text(gid)])?;
            }
            webhooks::remove(connection, gid)?;
        }
    }
    Ok(())
}
