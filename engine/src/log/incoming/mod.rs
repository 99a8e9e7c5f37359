//! Events of other servers' binary logs: MySQL from 5.7 on, and MariaDB.
//!
//! The bytes may be anything: what they cannot be is an answer, never a panic, and never more
//! memory than their length. Cohort's own recovery reads stricter (`read`): it wants each event
//! exactly as Cohort writes it.
//!
//! Formats: MySQL's libbinlogevents, MariaDB's "Replication protocol" pages; compared with the
//! files of MySQL 9.7 and MariaDB 10.11.

mod payload;
mod query;
mod rows;
mod table_map;

pub use payload::unpack;
pub use query::{Query, SessionValue};
pub use rows::Rows;
pub use table_map::TableMap;

use super::{
    Origin, RowsKind,
    event::{
        CHECKSUM, Cursor, HEADER, ORIGINAL_FOLLOWS, ORIGINAL_VERSION_FOLLOWS, SIZE_MAX, checksum,
    },
};
use crate::types::{Gtid, Xid, gtid::NUMBER_MAX};
use std::fmt;

/// Why bytes are no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// They are fewer than the event says, or more.
    Size,
    /// The checksum is not that of the bytes.
    Checksum,
    /// The fields of an event of this name do not fit it.
    Fields(&'static str),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Size => f.write_str("an event has another size than it says"),
            Flaw::Checksum => f.write_str("the checksum of an event is wrong"),
            Flaw::Fields(name) => write!(f, "the fields of a {name} event do not fit it"),
        }
    }
}

impl std::error::Error for Flaw {}

/// An event with its header.
#[derive(Clone, Debug)]
pub struct Incoming<'a> {
    /// When it was written, in seconds since 1970.
    pub timestamp: u32,
    /// The server that wrote it.
    pub server_id: u32,
    /// Where it ends in its file, modulo 2^32; 0 if it is in none.
    pub end: u32,
    /// Its size in bytes, with header and checksum.
    pub size: usize,
    /// What it is.
    pub what: What<'a>,
}

/// What an event says.
#[derive(Clone, Debug)]
pub enum What<'a> {
    /// FORMAT_DESCRIPTION: whose events follow, and whether they have checksums.
    Format {
        /// The server's version.
        version: String,
        /// They have.
        checksums: bool,
    },
    /// ROTATE: the log goes on there.
    Rotate {
        /// The file.
        file: String,
        /// The place in it.
        position: u64,
    },
    /// GTID: a transaction begins.
    Gtid(Origin),
    /// ANONYMOUS_GTID: the same, without a name.
    Anonymous,
    /// GTID_TAGGED: the same, with a tag.
    Tagged,
    /// GTID of MariaDB: a transaction begins.
    MariaGtid {
        /// The domain of its GTID.
        domain: u32,
        /// The number of its GTID. The server stands in the header.
        number: u64,
        /// It is one statement, which no COMMIT follows.
        standalone: bool,
        /// It is prepared only, under this name (XA START).
        prepares: Option<Xid>,
    },
    /// QUERY: a statement.
    Query(Query<'a>),
    /// TABLE_MAP: which table the rows are of.
    TableMap(TableMap),
    /// WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS.
    Rows(Rows<'a>),
    /// XID: the transaction is committed.
    Xid,
    /// XA_PREPARE: the transaction is prepared, or committed in one phase.
    XaPrepare {
        /// Its name.
        xid: Xid,
        /// It is committed.
        one_phase: bool,
    },
    /// TRANSACTION_PAYLOAD: the transaction's other events, compressed; see `unpack`.
    Payload(&'a [u8]),
    /// HEARTBEAT: nothing has happened.
    Heartbeat,
    /// STOP: the server was shut down.
    Stop,
    /// Nothing that matters to who applies it.
    Nothing,
    /// What cannot be applied: the name or number of the type.
    Unknown(String),
}

/// Event types that Cohort does not write itself.
pub(in crate::log) mod kind {
    pub(super) use crate::log::event::kind::*;
    pub(super) const INTVAR: u8 = 5;
    pub(super) const RAND: u8 = 13;
    pub(super) const USER_VAR: u8 = 14;
    pub(super) const BEGIN_LOAD_QUERY: u8 = 17;
    pub(super) const EXECUTE_LOAD_QUERY: u8 = 18;
    pub(super) const WRITE_ROWS_V1: u8 = 23;
    pub(super) const UPDATE_ROWS_V1: u8 = 24;
    pub(super) const DELETE_ROWS_V1: u8 = 25;
    pub(super) const ROWS_QUERY: u8 = 29;
    pub(super) const ANONYMOUS_GTID: u8 = 34;
    pub(super) const TRANSACTION_CONTEXT: u8 = 36;
    pub(super) const VIEW_CHANGE: u8 = 37;
    pub(super) const PARTIAL_UPDATE_ROWS: u8 = 39;
    pub(super) const TRANSACTION_PAYLOAD: u8 = 40;
    pub(super) const GTID_TAGGED: u8 = 42;
    pub(super) const MARIA_ANNOTATE_ROWS: u8 = 160;
    pub(super) const MARIA_BINLOG_CHECKPOINT: u8 = 161;
    pub(in crate::log) const MARIA_GTID: u8 = 162;
    pub(super) const MARIA_GTID_LIST: u8 = 163;
    pub(super) const MARIA_START_ENCRYPTION: u8 = 164;
}

impl<'a> Incoming<'a> {
    /// Reads an event. `checksums`: it has one, if it is of those that may.
    ///
    /// # Errors
    /// The bytes are none.
    pub fn parse(bytes: &'a [u8], checksums: bool) -> Result<Incoming<'a>, Flaw> {
        let header = header(bytes).ok_or(Flaw::Size)?;
        let Header {
            timestamp,
            kind,
            server_id,
            size,
            end,
            flags,
        } = header;
        if size != bytes.len() {
            return Err(Flaw::Size);
        }
        // A format description has room for a checksum in any case.
        let is_format = kind == kind::FORMAT_DESCRIPTION;
        let room = if checksums || is_format { CHECKSUM } else { 0 };
        let summed = size
            .checked_sub(room)
            .and_then(|at| bytes.split_at_checked(at));
        let (summed, sum) = summed.ok_or(Flaw::Size)?;
        let mut body = summed.get(HEADER..).ok_or(Flaw::Size)?;
        let mut sums = checksums;
        if is_format {
            let (algorithm, rest) = body.split_last().ok_or(Flaw::Size)?;
            sums = *algorithm == 1;
            body = rest;
        }
        if sums && room > 0 && checksum(summed).to_le_bytes() != *sum {
            return Err(Flaw::Checksum);
        }
        let what = what(kind, flags, body, sums)?;
        Ok(Incoming {
            timestamp,
            server_id,
            end,
            size,
            what,
        })
    }

    /// Cuts the first event off the front of bytes that are events, one after another.
    ///
    /// # Errors
    /// They are none.
    pub fn split_first(bytes: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Flaw> {
        let header = header(bytes).ok_or(Flaw::Size)?;
        bytes.split_at_checked(header.size).ok_or(Flaw::Size)
    }
}

struct Header {
    timestamp: u32,
    kind: u8,
    server_id: u32,
    size: usize,
    end: u32,
    flags: u16,
}

fn header(bytes: &[u8]) -> Option<Header> {
    let mut cursor = Cursor(bytes);
    let header = Header {
        timestamp: cursor.integer(4)? as u32,
        kind: cursor.u8()?,
        server_id: cursor.integer(4)? as u32,
        size: cursor.integer(4)? as usize,
        end: cursor.integer(4)? as u32,
        flags: cursor.u16()?,
    };
    (HEADER..=SIZE_MAX).contains(&header.size).then_some(header)
}

fn what(kind: u8, flags: u16, body: &[u8], sums: bool) -> Result<What<'_>, Flaw> {
    let named = |name, what: Option<_>| what.ok_or(Flaw::Fields(name));
    Ok(match kind {
        kind::FORMAT_DESCRIPTION => named("format description", format(body, sums))?,
        kind::ROTATE => named("rotate", rotate(body))?,
        kind::GTID => named("GTID", gtid(body))?,
        kind::ANONYMOUS_GTID => What::Anonymous,
        kind::GTID_TAGGED => What::Tagged,
        kind::MARIA_GTID => named("GTID", maria_gtid(body))?,
        kind::QUERY => named("query", Query::parse(body).map(What::Query))?,
        kind::TABLE_MAP => named("table map", TableMap::parse(body).map(What::TableMap))?,
        kind::WRITE_ROWS | kind::WRITE_ROWS_V1 => {
            let rows = Rows::parse(RowsKind::Write, kind == kind::WRITE_ROWS, body);
            named("write rows", rows.map(What::Rows))?
        }
        kind::UPDATE_ROWS | kind::UPDATE_ROWS_V1 => {
            let rows = Rows::parse(RowsKind::Update, kind == kind::UPDATE_ROWS, body);
            named("update rows", rows.map(What::Rows))?
        }
        kind::PARTIAL_UPDATE_ROWS => {
            let rows = Rows::parse(RowsKind::Update, true, body);
            let partial = |rows| {
                What::Rows(Rows {
                    partial: true,
                    ..rows
                })
            };
            named("update rows", rows.map(partial))?
        }
        kind::DELETE_ROWS | kind::DELETE_ROWS_V1 => {
            let rows = Rows::parse(RowsKind::Delete, kind == kind::DELETE_ROWS, body);
            named("delete rows", rows.map(What::Rows))?
        }
        kind::XID => What::Xid,
        kind::XA_PREPARE => named("XA prepare", xa_prepare(body))?,
        kind::TRANSACTION_PAYLOAD => What::Payload(body),
        kind::HEARTBEAT | kind::HEARTBEAT_V2 => What::Heartbeat,
        kind::STOP => What::Stop,
        kind::IGNORABLE
        | kind::ROWS_QUERY
        | kind::PREVIOUS_GTIDS
        | kind::MARIA_ANNOTATE_ROWS
        | kind::MARIA_BINLOG_CHECKPOINT
        | kind::MARIA_GTID_LIST => What::Nothing,
        kind::INTVAR => What::Unknown("Intvar".into()),
        kind::RAND => What::Unknown("RAND".into()),
        kind::USER_VAR => What::Unknown("User var".into()),
        kind::BEGIN_LOAD_QUERY => What::Unknown("Begin_load_query".into()),
        kind::EXECUTE_LOAD_QUERY => What::Unknown("Execute_load_query".into()),
        kind::MARIA_START_ENCRYPTION => What::Unknown("Start_encryption".into()),
        kind::TRANSACTION_CONTEXT | kind::VIEW_CHANGE => What::Nothing,
        // Its writer says that nothing is lost by passing it over.
        _ if flags & super::event::IGNORABLE != 0 => What::Nothing,
        other => What::Unknown(format!("type {other}")),
    })
}

fn format(body: &[u8], checksums: bool) -> Option<What<'static>> {
    let mut cursor = Cursor(body);
    let binlog_version = cursor.u16()?;
    let version = cursor.take(50)?.split(|byte| *byte == 0).next()?;
    let version = String::from_utf8_lossy(version).into_owned();
    (binlog_version == 4).then_some(What::Format { version, checksums })
}

fn rotate(body: &[u8]) -> Option<What<'static>> {
    let mut cursor = Cursor(body);
    let position = cursor.u64()?;
    let file = String::from_utf8(cursor.0.to_vec()).ok()?;
    Some(What::Rotate { file, position })
}

fn gtid(body: &[u8]) -> Option<What<'static>> {
    let mut cursor = Cursor(body);
    cursor.u8()?;
    let source = cursor.take(16)?.try_into().ok()?;
    let number = cursor.u64()?;
    if !(1..=NUMBER_MAX).contains(&number) {
        return None;
    }
    let mut origin = Origin {
        gtid: Gtid { source, number },
        committed_micros: None,
        immediate_micros: None,
        version: None,
    };
    // What follows came with MySQL 8.0.1 and later.
    let mut more = || -> Option<()> {
        cursor.take(1 + 8 + 8)?;
        let committed = cursor.integer(7)?;
        origin.committed_micros = Some(committed & !ORIGINAL_FOLLOWS);
        origin.immediate_micros = origin.committed_micros;
        if committed & ORIGINAL_FOLLOWS != 0 {
            origin.committed_micros = Some(cursor.integer(7)?);
        }
        cursor.lenenc()?;
        let version = cursor.integer(4)? as u32;
        origin.version = Some(version);
        if version & ORIGINAL_VERSION_FOLLOWS != 0 {
            origin.version = Some(cursor.integer(4)? as u32);
        }
        Some(())
    };
    more();
    Some(What::Gtid(origin))
}

fn maria_gtid(body: &[u8]) -> Option<What<'static>> {
    const STANDALONE: u8 = 1;
    const IN_GROUP: u8 = 2;
    const PREPARES: u8 = 64;
    const COMPLETES: u8 = 128;
    let mut cursor = Cursor(body);
    let number = cursor.u64()?;
    let domain = cursor.integer(4)? as u32;
    let flags = cursor.u8()?;
    if flags & IN_GROUP != 0 {
        cursor.u64()?;
    }
    let mut prepares = None;
    if flags & PREPARES != 0 {
        let format = cursor.integer(4)? as u32;
        let (gtrid, bqual) = (usize::from(cursor.u8()?), usize::from(cursor.u8()?));
        let gtrid = cursor.take(gtrid)?;
        prepares = Some(Xid::new(format, gtrid, cursor.take(bqual)?)?);
    }
    Some(What::MariaGtid {
        domain,
        number,
        // XA COMMIT and XA ROLLBACK are statements by themselves.
        standalone: flags & (STANDALONE | COMPLETES) != 0,
        prepares,
    })
}

fn xa_prepare(body: &[u8]) -> Option<What<'static>> {
    let mut cursor = Cursor(body);
    let one_phase = cursor.u8()? != 0;
    let format = cursor.integer(4)? as u32;
    let gtrid = cursor.integer(4)? as usize;
    let bqual = cursor.integer(4)? as usize;
    let gtrid = cursor.take(gtrid)?;
    let xid = Xid::new(format, gtrid, cursor.take(bqual)?)?;
    Some(What::XaPrepare { xid, one_phase })
}
