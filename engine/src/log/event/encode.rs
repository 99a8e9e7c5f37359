//! Writing events, but for what only their place decides (time, server, position, checksum).

use super::{CHECKSUM, HEADER, SUPPRESS_USE, kind, offset};
use crate::log::{Reading, reading::UTF8MB4_0900_AI_CI};

/// Begins an event at the end of `out`; returns where.
pub(in crate::log) fn begin(out: &mut Vec<u8>, kind: u8, flags: u16) -> usize {
    let start = out.len();
    let mut header = [0; HEADER];
    header[offset::TYPE] = kind;
    header[offset::FLAGS..].copy_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&header);
    start
}

/// Ends the event that began at `start`: leaves room for its checksum and notes its size.
pub(in crate::log) fn finish(out: &mut Vec<u8>, start: usize) {
    out.extend_from_slice(&[0; CHECKSUM]);
    let size = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    if let Some(field) = out.get_mut(start + offset::SIZE..start + offset::SIZE + 4) {
        field.copy_from_slice(&size.to_le_bytes());
    }
}

/// Appends a length-encoded integer.
pub(in crate::log) fn lenenc(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=250 => out.push(bytes[0]),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a QUERY event: BEGIN or one of XA. By its `sql_mode` the rows that follow are checked.
pub(in crate::log) fn query_event(
    out: &mut Vec<u8>,
    session: u32,
    database: &str,
    (text, sql_mode): (&str, u64),
) {
    let reading = Reading {
        sql_mode,
        ..Reading::PLAIN
    };
    query(out, session, database, (text, &reading), None, SUPPRESS_USE);
}

/// Appends the QUERY event of a statement that makes a table, in a transaction that goes on with
/// its rows.
pub(in crate::log) fn creating_event(
    out: &mut Vec<u8>,
    session: u32,
    database: &str,
    text: (&str, &Reading),
) {
    query(out, session, database, text, None, 0);
}

/// Appends the QUERY event of a DDL statement, of a session with these `flags2`. Its commit number
/// will have to be put at the returned offset.
pub(in crate::log) fn ddl_event(
    out: &mut Vec<u8>,
    session: u32,
    database: &str,
    text: (&str, &Reading),
    flags2: u32,
) -> Option<usize> {
    query(out, session, database, text, Some(flags2), 0)
}

fn query(
    out: &mut Vec<u8>,
    session: u32,
    database: &str,
    (text, reading): (&str, &Reading),
    ddl_flags: Option<u32>,
    event_flags: u16,
) -> Option<usize> {
    let ddl = ddl_flags.is_some();
    let start = begin(out, kind::QUERY, event_flags);
    out.extend_from_slice(&session.to_le_bytes());
    out.extend_from_slice(&[0; 4]); // execution time in seconds
    out.push(u8::try_from(database.len()).unwrap_or(0));
    out.extend_from_slice(&[0; 2]); // error code
    let variables_length = out.len();
    out.extend_from_slice(&[0; 2]);
    let variables = out.len();
    out.push(0); // Q_FLAGS2: none, all checks are on
    out.extend_from_slice(&ddl_flags.unwrap_or(0).to_le_bytes());
    out.push(1); // Q_SQL_MODE
    out.extend_from_slice(&reading.sql_mode.to_le_bytes());
    out.extend_from_slice(b"\x06\x03std"); // Q_CATALOG_NZ
    if let Some((increment, offset)) = reading.auto_increment {
        out.push(3); // Q_AUTO_INCREMENT
        out.extend_from_slice(&increment.to_le_bytes());
        out.extend_from_slice(&offset.to_le_bytes());
    }
    out.push(4); // Q_CHARSET: client, connection, server
    for collation in [reading.client(), reading.connection, reading.server] {
        out.extend_from_slice(&collation.to_le_bytes());
    }
    if let Some(name) = &reading.time_zone
        && let Ok(length) = u8::try_from(name.len())
    {
        out.extend_from_slice(&[5, length]); // Q_TIME_ZONE
        out.extend_from_slice(name.as_bytes());
    }
    if let Some(began) = reading.began {
        let (seconds, micros) = ((began / 1_000_000) as u32, began % 1_000_000);
        if let Some(field) = out.get_mut(start..start + 4) {
            field.copy_from_slice(&seconds.to_le_bytes());
        }
        out.push(13); // Q_MICROSECONDS
        out.extend_from_slice(&micros.to_le_bytes()[..3]);
    }
    let mut number_at = None;
    if ddl {
        out.push(17); // Q_DDL_LOGGED_WITH_XID
        number_at = Some(out.len());
        out.extend_from_slice(&[0; 8]);
    }
    out.push(18); // Q_DEFAULT_COLLATION_FOR_UTF8MB4
    out.extend_from_slice(&UTF8MB4_0900_AI_CI.to_le_bytes());
    if ddl {
        out.extend_from_slice(&[19, 0]); // Q_SQL_REQUIRE_PRIMARY_KEY: off
        out.extend_from_slice(&[20, 0]); // Q_DEFAULT_TABLE_ENCRYPTION: off
    }
    let length = (out.len() - variables) as u16;
    if let Some(field) = out.get_mut(variables_length..variables) {
        field.copy_from_slice(&length.to_le_bytes());
    }
    if u8::try_from(database.len()).is_ok() {
        out.extend_from_slice(database.as_bytes());
    }
    out.push(0);
    out.extend_from_slice(text.as_bytes());
    finish(out, start);
    number_at
}

/// A ROTATE event: the log goes on in the file `next`.
pub(in crate::log) fn rotate(next: &str) -> Vec<u8> {
    rotate_to(next, super::MAGIC.len() as u64, 0)
}

/// The same that is in no file: it tells a follower which file the next events are of, and where
/// they begin.
pub(in crate::log) fn artificial_rotate(file: &str, position: u64) -> Vec<u8> {
    rotate_to(file, position, super::ARTIFICIAL)
}

fn rotate_to(file: &str, position: u64, flags: u16) -> Vec<u8> {
    let mut out = Vec::new();
    begin(&mut out, kind::ROTATE, flags);
    out.extend_from_slice(&position.to_le_bytes());
    out.extend_from_slice(file.as_bytes());
    finish(&mut out, 0);
    out
}

/// A HEARTBEAT event: nothing has happened; how far the follower has come in the file. The second
/// version has room for positions behind 4 GiB.
pub(in crate::log) fn heartbeat(file: &str, position: u64, second_version: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if second_version {
        begin(&mut out, kind::HEARTBEAT_V2, 0);
        let mut at = Vec::new();
        lenenc(&mut at, position);
        for (field, value) in [(1, file.as_bytes()), (2, &at)] {
            out.push(field);
            lenenc(&mut out, value.len() as u64);
            out.extend_from_slice(value);
        }
        out.push(0);
    } else {
        begin(&mut out, kind::HEARTBEAT, 0);
        out.extend_from_slice(file.as_bytes());
    }
    finish(&mut out, 0);
    out
}

/// A STOP event: the server was shut down.
pub(in crate::log) fn stop() -> Vec<u8> {
    let mut out = Vec::new();
    begin(&mut out, kind::STOP, 0);
    finish(&mut out, 0);
    out
}
