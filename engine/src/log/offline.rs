//! Reading files of the log without a server: Cohort's, and those of MySQL with CRC32 checksums and
//! GTID events (also of anonymous transactions).

use super::{
    event::{
        self, Event, FileHeaderFlaw, GtidEvent, HEADER, IN_USE, MAGIC, Mapped, RowsKind,
        XaStatement, kind, offset,
    },
    read::Reader,
};
use crate::{
    env::{Env, File, Mode},
    types::{
        Value,
        row::{self, hidden},
    },
};
use std::{collections::HashMap, path::Path, sync::Arc};

/// A file of the log.
pub struct LogFile {
    reader: Reader<File>,
    length: u64,
    in_use: bool,
    name: String,
}

/// A transaction of a file.
pub struct LoggedTransaction<'a> {
    /// Where in the file it begins.
    pub position: u64,
    /// Its GTID; `None`: it is anonymous.
    pub gtid: Option<String>,
    /// When it was committed, in microseconds since 1970.
    pub committed_micros: u64,
    /// The last one of its file that it came after, by number.
    pub last_committed: u64,
    /// Its number in the file, from 1.
    pub sequence_number: u64,
    events: &'a [u8],
}

/// A part of a transaction.
pub enum LoggedPart<'a> {
    /// A statement, and its default database; but for BEGIN and XA START, END.
    Statement(&'a [u8], &'a [u8]),
    /// Rows of a table.
    Rows(LoggedRows<'a>),
    /// It is prepared (XA), and this is its xid, as text.
    Prepared(String),
    /// Something that is not read, and what it is.
    Unread(String),
}

/// What became of rows of one table.
pub struct LoggedRows<'a> {
    /// The table.
    pub table: Arc<Mapped>,
    /// What was done.
    pub kind: RowsKind,
    images: &'a [u8],
}

/// One row before and after.
pub type LoggedRow = (Option<Vec<Value>>, Option<Vec<Value>>);

impl LogFile {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, or is no binary log with checksums; the text says so.
    pub fn open(env: &Env, path: &Path) -> Result<LogFile, String> {
        let name = path.display().to_string();
        let failed = |why: &dyn std::fmt::Display| format!("{name}: {why}");
        let file = env
            .open(path, Mode::Existing)
            .map_err(|error| failed(&error))?;
        let length = file.len().map_err(|error| failed(&error))?;
        let mut start = [0; MAGIC.len() + HEADER];
        let got = file
            .read_at(&mut start, 0)
            .map_err(|error| failed(&error))?;
        if got < start.len() || !start.starts_with(&MAGIC) {
            return Err(failed(&"this is no binary log"));
        }
        let in_use = start[MAGIC.len() + offset::FLAGS] & IN_USE as u8 != 0;
        let mut file = LogFile {
            reader: Reader::new(file, MAGIC.len() as u64, length),
            length,
            in_use,
            name,
        };
        match file.reader.event() {
            Ok(Ok(event)) if event.kind == kind::FORMAT_DESCRIPTION => Ok(file),
            Ok(_) => Err(file.failed(&"it has no checksums (binlog_checksum=CRC32)")),
            Err(error) => Err(file.failed(&error)),
        }
    }

    fn failed(&self, why: &dyn std::fmt::Display) -> String {
        format!("{}: {why}", self.name)
    }

    /// The next transaction; `None`: the file ends.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged; where, and why.
    pub fn next_transaction(&mut self) -> Result<Option<LoggedTransaction<'_>>, String> {
        let (position, gtid, is_anonymous) = loop {
            let position = self.reader.position();
            if position >= self.length {
                return Ok(None);
            }
            let event = self.reader.event();
            let event = match event.map_err(|error| format!("{}: {error}", self.name))? {
                Ok(event) => event,
                // It is still written to, or its server was killed.
                Err(_) if self.in_use => return Ok(None),
                Err(flaw) => {
                    let why = format!("damaged at position {position}: {flaw:?}");
                    return Err(self.failed(&why));
                }
            };
            match event.kind {
                kind::GTID | kind::ANONYMOUS_GTID => {
                    let is_anonymous = event.kind == kind::ANONYMOUS_GTID;
                    let gtid = GtidEvent::decode(event.body);
                    let gtid = gtid.filter(|gtid| gtid.length >= event.size as u64);
                    let gtid = gtid.ok_or_else(|| {
                        format!("{}: position {position}: an unknown GTID event", self.name)
                    })?;
                    break (position, gtid, is_anonymous);
                }
                kind::FORMAT_DESCRIPTION
                | kind::PREVIOUS_GTIDS
                | kind::ROTATE
                | kind::STOP
                | kind::IGNORABLE => {}
                other => {
                    let why = format!(
                        "position {position}: an event of type {other}, which is not read here, \
                         stands between transactions"
                    );
                    return Err(self.failed(&why));
                }
            }
            let size = event.size;
            self.reader.skip(size);
        };
        if gtid.length > self.length - position {
            return match self.in_use {
                true => Ok(None),
                false => Err(self.failed(&format!("the transaction at {position} is cut off"))),
            };
        }
        let length = usize::try_from(gtid.length).unwrap_or(usize::MAX);
        let name = &self.name;
        let read = self.reader.bytes(length);
        read.map_err(|error| format!("{name}: {error}"))?;
        let events = self.reader.take(length);
        check(events, position).map_err(|at| format!("{name}: damaged at position {at}"))?;
        Ok(Some(LoggedTransaction {
            position,
            gtid: (!is_anonymous && !gtid.is_unlisted).then(|| gtid.gtid.to_string()),
            committed_micros: gtid.committed_micros,
            last_committed: gtid.last_committed,
            sequence_number: gtid.sequence_number,
            events,
        }))
    }
}

/// Whether these are whole events; where not.
fn check(mut events: &[u8], mut position: u64) -> Result<(), u64> {
    while !events.is_empty() {
        let event = Event::parse(events, position).map_err(|_| position)?;
        events = events.get(event.size..).unwrap_or_default();
        position += event.size as u64;
    }
    Ok(())
}

impl<'a> LoggedTransaction<'a> {
    /// How many bytes it has.
    #[must_use]
    pub fn length(&self) -> usize {
        self.events.len()
    }

    /// What it did, in order.
    ///
    /// # Errors
    /// Its events do not fit together; the text says how.
    pub fn parts(&self) -> Result<Vec<LoggedPart<'a>>, String> {
        let mut tables = HashMap::new();
        let mut parts = Vec::new();
        let mut events = self.events;
        while let Some((event, rest)) = Event::split_first(events) {
            events = rest;
            match event.kind {
                kind::TABLE_MAP => match Mapped::decode(event.body) {
                    Ok((id, table)) => {
                        tables.insert(id, Ok(Arc::new(table)));
                    }
                    Err(why) => {
                        let id = table_id(event.body);
                        tables.insert(id, Err(why));
                    }
                },
                kind::WRITE_ROWS | kind::UPDATE_ROWS | kind::DELETE_ROWS => {
                    parts.push(rows(&event, &tables)?);
                }
                kind::QUERY => {
                    let query = event::query(event.body);
                    let (database, text) = query.ok_or("a statement that is damaged")?;
                    match event::xa_statement(text) {
                        Some(XaStatement::Start(_) | XaStatement::End) => {}
                        _ if text == b"BEGIN" || text == b"COMMIT" => {}
                        Some(XaStatement::Commit(_) | XaStatement::Rollback(_)) | None => {
                            parts.push(LoggedPart::Statement(database, text));
                        }
                    }
                }
                kind::XA_PREPARE => {
                    let xid = event::prepared_xid(event.body);
                    parts.extend(xid.map(|xid| LoggedPart::Prepared(xid.to_string())));
                }
                kind::GTID
                | kind::ANONYMOUS_GTID
                | kind::XID
                | kind::IGNORABLE
                | kind::ROWS_QUERY => {}
                kind::PARTIAL_UPDATE_ROWS => {
                    parts.push(LoggedPart::Unread(
                        "updates with parts of JSON documents".into(),
                    ));
                }
                kind::TRANSACTION_PAYLOAD => {
                    parts.push(LoggedPart::Unread("a compressed transaction".into()));
                }
                other => parts.push(LoggedPart::Unread(format!("an event of type {other}"))),
            }
        }
        Ok(parts)
    }
}

fn table_id(body: &[u8]) -> u64 {
    event::Cursor(body).integer(6).unwrap_or(u64::MAX)
}

fn rows<'a>(
    event: &Event<'a>,
    tables: &HashMap<u64, Result<Arc<Mapped>, String>>,
) -> Result<LoggedPart<'a>, String> {
    let Some((id, kind, images)) = event::rows(event) else {
        let table = match tables.get(&table_id(event.body)) {
            Some(Ok(mapped)) => format!("{}.{}", mapped.table.database, mapped.table.name),
            _ => "a table".to_owned(),
        };
        let why = format!("rows of {table} that are not whole (binlog_row_image is not FULL)");
        return Ok(LoggedPart::Unread(why));
    };
    match tables.get(&id) {
        Some(Ok(table)) => Ok(LoggedPart::Rows(LoggedRows {
            table: Arc::clone(table),
            kind,
            images,
        })),
        Some(Err(why)) => Ok(LoggedPart::Unread(format!("rows of a table: {why}"))),
        None => Err("rows of a table that was not told".to_owned()),
    }
}

impl LoggedRows<'_> {
    /// How many bytes their images have.
    #[must_use]
    pub fn length(&self) -> usize {
        self.images.len()
    }

    /// The rows, one after another.
    pub fn rows(&self) -> impl Iterator<Item = Result<LoggedRow, String>> + '_ {
        let mut images = self.images;
        std::iter::from_fn(move || {
            if images.is_empty() {
                return None;
            }
            let row = self.take(&mut images);
            if row.is_err() {
                images = &[];
            }
            Some(row)
        })
    }

    fn take(&self, images: &mut &[u8]) -> Result<LoggedRow, String> {
        let mut image = || {
            let table = &self.table.table;
            let length = hidden::length(table, images);
            let (own, rest) = length
                .ok()
                .and_then(|length| images.split_at_checked(length))
                .ok_or_else(|| self.misfit())?;
            *images = rest;
            row::decode(table, own).map_err(|_| self.misfit())
        };
        Ok(match self.kind {
            RowsKind::Write => (None, Some(image()?)),
            RowsKind::Update => (Some(image()?), Some(image()?)),
            RowsKind::Delete => (Some(image()?), None),
        })
    }

    fn misfit(&self) -> String {
        let table = &self.table.table;
        format!("a row does not fit {}.{}", table.database, table.name)
    }
}

/// How a file's beginning can be wrong, for its readers.
impl std::fmt::Display for FileHeaderFlaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FileHeaderFlaw::Missing | FileHeaderFlaw::Short(_) => {
                f.write_str("its header is not whole")
            }
            FileHeaderFlaw::Foreign(why) => write!(f, "its header is none of Cohort's: {why}"),
        }
    }
}
