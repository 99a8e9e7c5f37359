//! SHOW of the log's files and events.

use super::{LONG, NUMBER, Shown, TEXT};
use crate::{
    catalog::{number, text},
    error::SqlError,
    privileges::needed,
    state::{Replica, State},
};
use cohort_engine::{
    log::{EventInfo, FileInfo, file_name},
    types::{ColumnType, Value},
};

pub(super) fn allowed(session: &State) -> Result<(), SqlError> {
    session.need(needed::LOG_READERS)
}

pub(super) fn files(session: &State) -> Result<Shown, SqlError> {
    allowed(session)?;
    let row = |file: FileInfo| vec![text(file.name()), number(file.size), text("No")];
    let rows = session
        .instance
        .engine
        .log()
        .files()
        .into_iter()
        .map(row)
        .collect();
    let columns = [
        ("Log_name", TEXT),
        ("File_size", NUMBER),
        ("Encrypted", ColumnType::VarChar(3)),
    ];
    Ok(Shown::new(&columns, rows))
}

pub(super) fn status(session: &State) -> Result<Shown, SqlError> {
    allowed(session)?;
    let end = session.instance.engine.log().end();
    let row = vec![
        text(file_name(end.file)),
        number(end.offset),
        text(""),
        text(""),
        text(session.executed_gtids()),
    ];
    let columns = [
        ("File", TEXT),
        ("Position", NUMBER),
        ("Binlog_Do_DB", TEXT),
        ("Binlog_Ignore_DB", TEXT),
        ("Executed_Gtid_Set", ColumnType::VarChar(255)),
    ];
    Ok(Shown::new(&columns, vec![row]))
}

pub(super) fn events(
    session: &State,
    file: Option<&str>,
    position: u64,
    offset: u64,
    limit: u64,
) -> Result<Shown, SqlError> {
    allowed(session)?;
    let log = session.instance.engine.log();
    let file = match file {
        Some(name) => name.to_string(),
        None => log
            .files()
            .first()
            .map_or_else(|| file_name(1), FileInfo::name),
    };
    let wanted = usize::try_from(offset.saturating_add(limit)).unwrap_or(usize::MAX);
    let refused = |why: &str| SqlError::command_failed("SHOW BINLOG EVENTS", why);
    let events = log
        .events(&file, position, wanted)
        .map_err(|error| refused(&error.to_string()))?;
    let Some(events) = events else {
        return Err(refused("Could not find target log"));
    };
    let row = |event: EventInfo| -> Vec<Value> {
        vec![
            text(&file),
            number(event.position),
            text(event.event_type),
            number(event.server_id.into()),
            number(event.end),
            text(event.info),
        ]
    };
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let rows = events.into_iter().skip(skip).map(row).collect();
    let columns = [
        ("Log_name", TEXT),
        ("Pos", NUMBER),
        ("Event_type", TEXT),
        ("Server_id", NUMBER),
        ("End_log_pos", NUMBER),
        ("Info", LONG),
    ];
    Ok(Shown::new(&columns, rows))
}

pub(super) fn replicas(session: &State) -> Result<Shown, SqlError> {
    session.need(needed::REPLICATION_SLAVE)?;
    let source = session.instance.globals.values().number("server_id");
    let row = |replica: Replica| {
        vec![
            number(replica.server_id.into()),
            text(replica.host),
            number(replica.port.into()),
            number(source),
            text(replica.uuid),
        ]
    };
    let rows = session.instance.replicas.list().into_iter().map(row);
    let columns = [
        ("Server_Id", NUMBER),
        ("Host", TEXT),
        ("Port", NUMBER),
        ("Source_Id", NUMBER),
        ("Replica_UUID", TEXT),
    ];
    Ok(Shown::new(&columns, rows.collect()))
}
