//! SHOW of sessions, warnings and the engine.

use super::{LONG, NUMBER, Shown, TEXT};
use crate::{
    catalog::{self, number, text},
    error::SqlError,
    privileges::needed,
    state::State,
    warnings::{Condition, Level},
};
use cohort_engine::types::{ColumnType, DateTime, Value};
use std::fmt::Write;

pub(super) fn process_list(session: &State, full: bool) -> Shown {
    let rows = catalog::processes(session, (!full).then_some(100));
    let columns = [
        ("Id", NUMBER),
        ("User", ColumnType::VarChar(32)),
        ("Host", ColumnType::VarChar(261)),
        ("db", TEXT),
        ("Command", ColumnType::VarChar(16)),
        ("Time", ColumnType::Int),
        ("State", TEXT),
        ("Info", LONG),
    ];
    Shown::new(&columns, rows)
}

pub(super) fn warnings(session: &State, errors: bool, offset: u64, limit: u64) -> Shown {
    let wanted = |condition: &&Condition| !errors || condition.level == Level::Error;
    let all = session.warnings.list().iter().filter(wanted);
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let take = usize::try_from(limit).unwrap_or(usize::MAX);
    let row = |condition: &Condition| {
        vec![
            text(condition.level.name()),
            number(condition.error.code.into()),
            text(&condition.error.message),
        ]
    };
    let rows = all.skip(skip).take(take).map(row).collect();
    let columns = [
        ("Level", ColumnType::VarChar(7)),
        ("Code", NUMBER),
        ("Message", ColumnType::VarChar(512)),
    ];
    Shown::new(&columns, rows)
}

pub(super) fn count_warnings(session: &State, errors: bool) -> Shown {
    let (name, count) = if errors {
        ("@@session.error_count", session.warnings.error_count())
    } else {
        ("@@session.warning_count", session.warnings.count())
    };
    Shown::new(&[(name, NUMBER)], vec![vec![number(count)]])
}

/// A time of day in UTC, in InnoDB's form.
fn time(micros: u64) -> String {
    let moment = i64::try_from(micros)
        .ok()
        .and_then(DateTime::from_unix_micros);
    let mut out = Vec::new();
    crate::text::put_datetime(moment.unwrap_or_default(), 0, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// SHOW ENGINE INNODB STATUS: deadlocks, transactions, lock waits, log and store.
pub(super) fn engine_status(session: &State) -> Result<Shown, SqlError> {
    session.need(needed::PROCESS)?;
    let engine = &session.instance.engine;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = report(session, engine, &mut out);
    let columns = [("Type", TEXT), ("Name", TEXT), ("Status", LONG)];
    let row: Vec<Value> = vec![text("InnoDB"), text(""), text(out)];
    Ok(Shown::new(&columns, vec![row]))
}

fn report(
    session: &State,
    engine: &cohort_engine::txn::Engine,
    out: &mut String,
) -> std::fmt::Result {
    let stats = engine.stats();
    writeln!(
        out,
        "\n{} UTC COHORT STATUS",
        time(session.instance.env().wall_micros())
    )?;
    writeln!(
        out,
        "------------------------\nLATEST DETECTED DEADLOCKS\n------------------------"
    )?;
    for deadlock in engine.deadlocks() {
        writeln!(out, "{} UTC", time(deadlock.at_us))?;
        for party in deadlock.parties {
            writeln!(
                out,
                "*** TRANSACTION {}, connection {}{}\n{}\nWAITING FOR {}",
                party.transaction,
                party.session,
                if party.victim { ", ROLLED BACK" } else { "" },
                party.statement,
                party.waits_for
            )?;
        }
    }
    writeln!(out, "------------\nTRANSACTIONS\n------------")?;
    let waits = engine.lock_waits();
    for info in engine.transactions() {
        writeln!(
            out,
            "---TRANSACTION {}, connection {}, {} changes{}\n{}",
            info.transaction,
            info.session,
            info.changes,
            info.snapshot
                .map_or(String::new(), |seq| format!(", snapshot {seq}")),
            info.statement
        )?;
        for wait in waits.iter().filter(|wait| wait.session == info.session) {
            writeln!(out, "------- WAITS FOR CONNECTIONS {:?}", wait.blockers)?;
        }
    }
    writeln!(out, "---\nLOG\n---")?;
    let log = stats.log;
    writeln!(
        out,
        "Visible commit {}\n{} commits in {} groups, {} bytes, {} fsyncs",
        stats.visible, log.commits, log.groups, log.bytes, log.fsyncs
    )?;
    writeln!(out, "-----\nSTORE\n-----")?;
    writeln!(
        out,
        "Delta {} bytes, {} versions; sealed {} bytes\n{} checkpoints, keys merged {} of {}\n\
         Oldest snapshot {}",
        stats.delta_bytes,
        stats.delta_versions,
        stats.sealed_bytes,
        stats.checkpoints,
        stats.checkpoint_keys_done,
        stats.checkpoint_keys_total,
        stats.oldest_snapshot
    )?;
    writeln!(out, "----------------------------\nEND OF COHORT STATUS")
}
