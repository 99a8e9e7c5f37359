//! Who wants to be told of the end of a transaction, and was not yet.
//!
//! A row comes with the commit that ends a transaction whose submission asked for it, and has all
//! that is to be told: the transaction itself may be removed before. It goes when it was taken; one
//! that is given up stays as long as its transaction.

use super::{
    super::{
        decide::Transaction,
        model::{Cause, Global, Micros, Note, Status},
        when::time,
    },
    connection::Connection,
    rows::{Row, insert_notes, moment, read_each, text},
};
use cohort_engine::types::Value;
use cohort_sql::SqlError;
use serde_json::json;

/// `next_try_us` of what is given up.
const NEVER: u64 = u64::MAX;

/// An end that is to be told.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Its number.
    pub id: u64,
    /// When it is to be told.
    pub due: Micros,
    /// The transaction.
    pub gid: String,
    /// Who wants to know.
    pub url: String,
    /// What is told, JSON.
    pub body: String,
    /// Since when.
    pub since: Micros,
    /// Tries so far.
    pub tries: u64,
}

/// What is known of an end that was not told yet.
#[derive(Clone, Debug)]
pub struct Untold {
    /// Who wants to know.
    pub url: String,
    /// Tries so far.
    pub tries: u64,
    /// Why the last one failed.
    pub last_error: String,
    /// When the next one is due; `None`: it is given up.
    pub next_try: Option<Micros>,
}

/// What is told of a transaction: of each end the same in every try.
fn message(global: &Global, now: Micros) -> String {
    let end = global.finished.or(global.rolled_back).unwrap_or(now);
    let message = json!({
        "gid": global.gid,
        "trans_type": global.pattern.name(),
        "status": global.status.name(),
        "rollback_reason": global.rollback_reason,
        "create_time": time(global.created),
        "end_time": time(end),
    });
    message.to_string()
}

/// Notes that an end is to be told, if the transaction asked for that.
pub(super) fn insert(
    connection: &mut dyn Connection,
    global: &Global,
    now: Micros,
) -> Result<(), SqlError> {
    const INSERT: &str = "INSERT INTO end_webhooks (gid, url, body, tries, last_error, \
         next_try_us, create_time) VALUES (?, ?, ?, 0, '', ?, ?)";
    let url = &global.options.end_webhook;
    if url.is_empty() {
        return Ok(());
    }
    let body = message(global, now);
    let values = [
        text(&global.gid),
        text(url),
        text(&body),
        Value::UInt(now),
        moment(now),
    ];
    connection.run(INSERT, &values).map(drop)
}

/// Ends that are to be told between these times, in their order after this one, by time and number.
pub(super) fn due(
    connection: &mut dyn Connection,
    until: Micros,
    after: (Micros, u64),
    limit: u64,
) -> Result<Vec<Pending>, SqlError> {
    const DUE: &str = "SELECT id, next_try_us, gid, url, body, create_time, tries FROM end_webhooks \
         WHERE next_try_us BETWEEN ? AND ? AND (next_try_us > ? OR id > ?) \
         ORDER BY next_try_us, id LIMIT ?";
    let one = |row: &mut Row| {
        Ok(Pending {
            id: row.number()?,
            due: row.number()?,
            gid: row.text()?,
            url: row.text()?,
            body: row.text()?,
            since: row.moment()?,
            tries: row.number()?,
        })
    };
    let values = [
        Value::UInt(after.0),
        Value::UInt(until.min(NEVER - 1)),
        Value::UInt(after.0),
        Value::UInt(after.1),
        Value::UInt(limit),
    ];
    read_each(connection.run(DUE, &values)?, one)
}

/// It was taken.
pub(super) fn taken(
    connection: &mut dyn Connection,
    pending: &Pending,
    now: Micros,
) -> Result<(), SqlError> {
    const DELETE: &str = "DELETE FROM end_webhooks WHERE id = ?";
    if connection.run(DELETE, &[Value::UInt(pending.id)])?.affected == 0 {
        return Ok(());
    }
    let why = format!("{} was told, try {}", pending.url, pending.tries + 1);
    note(connection, &pending.gid, &why, now)
}

/// It was not taken, for this reason. It is tried again then; `None`: not at all.
pub(super) fn not_taken(
    connection: &mut dyn Connection,
    pending: &Pending,
    why: &str,
    next_try: Option<Micros>,
    now: Micros,
) -> Result<(), SqlError> {
    const LATER: &str = "UPDATE end_webhooks SET tries = tries + 1, last_error = ?, \
         next_try_us = ? WHERE id = ?";
    const FORGET: &str = "DELETE FROM end_webhooks WHERE id = ?";
    let id = Value::UInt(pending.id);
    let values = [
        text(why),
        Value::UInt(next_try.unwrap_or(NEVER)),
        id.clone(),
    ];
    connection.run(LATER, &values)?;
    if next_try.is_some() {
        return Ok(());
    }
    if status(connection, &pending.gid)?.is_none() {
        // There is nobody left who would remove it.
        return connection.run(FORGET, &[id]).map(drop);
    }
    let why = format!("{} is not told any more: {why}", pending.url);
    note(connection, &pending.gid, &why, now)
}

fn status(connection: &mut dyn Connection, gid: &str) -> Result<Option<Status>, SqlError> {
    const STATUS: &str = "SELECT status FROM global_transactions WHERE gid = ?";
    let row = connection.run(STATUS, &[text(gid)])?.rows.pop();
    row.map(|row| Row::of(row).status()).transpose()
}

/// Notes for a transaction, if it is there still, what came of telling its end.
fn note(
    connection: &mut dyn Connection,
    gid: &str,
    why: &str,
    time: Micros,
) -> Result<(), SqlError> {
    let Some(status) = status(connection, gid)? else {
        return Ok(());
    };
    let note = Note {
        time,
        cause: Cause::Webhook,
        from: status,
        to: status,
        reason: why.to_owned(),
    };
    insert_notes(connection, gid, &[note])
}

/// Ends of a transaction that were not told yet.
pub(super) fn untold(connection: &mut dyn Connection, gid: &str) -> Result<Vec<Untold>, SqlError> {
    const UNTOLD: &str = "SELECT url, tries, last_error, next_try_us FROM end_webhooks \
         WHERE gid = ? ORDER BY id";
    let one = |row: &mut Row| {
        Ok(Untold {
            url: row.text()?,
            tries: row.number()?,
            last_error: row.text()?,
            next_try: Some(row.number()?).filter(|&next| next != NEVER),
        })
    };
    read_each(connection.run(UNTOLD, &[text(gid)])?, one)
}

/// Removes what was given up of a transaction that is removed.
pub(super) fn remove(connection: &mut dyn Connection, gid: &str) -> Result<(), SqlError> {
    const DELETE: &str = "DELETE FROM end_webhooks WHERE gid = ? AND next_try_us = ?";
    connection
        .run(DELETE, &[text(gid), Value::UInt(NEVER)])
        .map(drop)
}

/// Whether this change is an end.
pub(super) fn is_end(before: Status, after: &Transaction) -> bool {
    after.global.status.is_final() && !before.is_final()
}
