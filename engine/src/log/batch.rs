//! A transaction on its way into the log: its events, encoded but for what only its place in the
//! log decides.
//!
//! ```text
//! row changes:  GTID, QUERY "BEGIN", (TABLE_MAP, rows events…)…, IGNORABLE?, XID
//! DDL:          GTID, IGNORABLE?, QUERY text
//! table + rows: GTID, QUERY "BEGIN", QUERY text, IGNORABLE, (TABLE_MAP, rows events…)…,
//!               IGNORABLE?, XID
//! prepared:     GTID, QUERY "XA START xid", (TABLE_MAP, rows events…)…, IGNORABLE?,
//!               QUERY "XA END xid", XA_PREPARE
//! its outcome:  GTID, IGNORABLE?, QUERY "XA COMMIT xid" or "XA ROLLBACK xid"
//! ```
//!
//! The rows events of one statement on one table share a table map; the last of them says that
//! the statement ends. A statement that changes several tables becomes several such runs: a
//! reader then never needs to know more than one table at a time.

use super::{
    LogError, Reading,
    event::{
        self, FLAGS2_NO_FOREIGN_KEY_CHECKS, HEADER, NO_FOREIGN_KEY_CHECKS, NUMBERED_APART,
        ORIGINAL_FOLLOWS, ORIGINAL_VERSION_FOLLOWS, RowsKind, SIZE_MAX, STATEMENT_END, UNLISTED,
        begin, finish, kind, lenenc, offset,
    },
    executed::Name,
};
use crate::{
    Seq,
    types::{Gtid, Table, TableId, Xid},
};
use std::sync::Arc;

/// Rows events are closed when they have so many bytes of rows (MySQL: binlog_row_event_max_size).
const ROWS_MAX: usize = 8192;
/// Room for a GTID event before the others: its length depends on theirs.
const GTID_MAX: usize = event::offset::COMMITTED + 2 * 7 + 9 + 2 * 4 + event::CHECKSUM;
/// The form of our own event's body.
pub(super) const RECORDS_VERSION: u8 = 1;

/// Where a transaction was committed first, if not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its name.
    pub gtid: Gtid,
    /// When, in microseconds since 1970; `None`: it is not known.
    pub committed_micros: Option<u64>,
    /// The same at the server that this one has it from.
    pub immediate_micros: Option<u64>,
    /// The version of that server, e.g. 90700; `None`: it is not known.
    pub version: Option<u32>,
}

/// What is done just before a transaction becomes visible.
pub(super) type JustBefore = Box<dyn FnOnce() + Send>;

/// The rows event that takes further rows.
struct OpenRows {
    table: TableId,
    kind: RowsKind,
    event: usize,
    rows: usize,
}

/// What a batch is.
enum Form {
    Rows,
    /// The same, behind the statement that makes their table.
    Created,
    Ddl(String, Reading),
    Prepared(Xid),
    /// The statement that ends a prepared transaction.
    Outcome(String),
}

/// A transaction's events: row changes, one DDL statement, row changes that are only prepared, or
/// what became of those; with internal records.
pub struct Batch {
    /// `GTID_MAX` bytes, then whole events, then perhaps one open rows event.
    bytes: Vec<u8>,
    open: Option<OpenRows>,
    records: Vec<u8>,
    database: Box<str>,
    session: u32,
    form: Form,
    /// Whoever applies it need not look at foreign keys: see `foreign_keys_done`.
    foreign_keys_done: bool,
    /// See `follows`.
    after: Seq,
    /// See `comes_from`.
    origin: Option<Origin>,
    /// See `comes_to`.
    source: Option<Arc<str>>,
    /// See `unlist`.
    unlisted: bool,
    /// See `checked_by`.
    sql_mode: u64,
    /// See `just_before_visible`.
    just_before: Option<JustBefore>,
    /// Nothing can be added any more.
    closed: bool,
    /// Size of the largest event.
    largest: usize,
    /// Where the GTID event begins, and where the number goes besides; known when completed.
    start: usize,
    number_at: Option<usize>,
}

impl Batch {
    /// An empty transaction of a session with this default database and connection id.
    #[must_use]
    pub fn new(database: &str, session: u32) -> Batch {
        let mut bytes = Vec::with_capacity(1024);
        bytes.resize(GTID_MAX, 0);
        Batch {
            bytes,
            open: None,
            records: Vec::new(),
            database: database.into(),
            session,
            form: Form::Rows,
            foreign_keys_done: false,
            after: 0,
            origin: None,
            source: None,
            unlisted: false,
            sql_mode: Reading::PLAIN.sql_mode,
            just_before: None,
            closed: false,
            largest: 0,
            start: 0,
            number_at: None,
        }
    }

    /// As `new`, for changes that are prepared only (XA PREPARE).
    #[must_use]
    pub fn prepared(database: &str, session: u32, xid: &Xid) -> Batch {
        Batch {
            form: Form::Prepared(xid.clone()),
            ..Batch::new(database, session)
        }
    }

    /// What becomes of a prepared transaction: XA COMMIT or XA ROLLBACK.
    #[must_use]
    pub fn outcome(database: &str, session: u32, xid: &Xid, commit: bool) -> Batch {
        let verb = if commit { "COMMIT" } else { "ROLLBACK" };
        Batch {
            form: Form::Outcome(format!("XA {verb} {xid}")),
            ..Batch::new(database, session)
        }
    }

    /// Says that the transaction was committed elsewhere first.
    pub fn comes_from(&mut self, origin: Origin) {
        self.origin = Some(origin);
    }

    /// Says that with it all is applied of another server's log up to this position.
    pub fn comes_to(&mut self, position: &Arc<str>) {
        self.source = Some(Arc::clone(position));
    }

    pub(super) fn source(&self) -> Option<&Arc<str>> {
        self.source.as_ref()
    }

    /// Says that it is nobody else's business: it gets no GTID, and followers do not see it.
    pub fn unlist(&mut self) {
        self.unlisted = true;
    }
    /// Its rows were checked by this sql_mode, in MySQL's bits: a CHECK may be true by one and an error
    /// by another.
    pub fn checked_by(&mut self, sql_mode: u64) {
        self.sql_mode = sql_mode;
    }

    /// Which GTID it is to have.
    pub(super) fn name(&self) -> Name {
        match (self.unlisted, &self.origin) {
            (true, _) => Name::None,
            (false, Some(origin)) => Name::Given(origin.gtid),
            (false, None) => Name::Next,
        }
    }

    /// Says that whoever applies these events must not look at foreign keys: what they demand
    /// stands among the changes, or the session had turned them off.
    pub fn foreign_keys_done(&mut self) {
        self.foreign_keys_done = true;
    }

    /// Says that it has met the changes of this commit, and of none after it: whoever applies
    /// transactions side by side must not begin with this one before that one is done. (Locks go
    /// before the fsync, so that both may be in one group.)
    pub fn follows(&mut self, seq: Seq) {
        self.after = self.after.max(seq);
    }

    /// Has something done once, just before the transaction becomes visible, and not at all if it
    /// never does. It must be short and not block: the next group waits. Who saw what it did and
    /// wants to see the transaction too calls `Log::wait_published`.
    pub fn just_before_visible(&mut self, act: impl FnOnce() + Send + 'static) {
        self.just_before = Some(Box::new(act));
    }

    /// What was asked for with `just_before_visible`.
    pub(super) fn take_just_before(&mut self) -> Option<JustBefore> {
        self.just_before.take()
    }

    /// Makes room for rows of so many bytes.
    pub fn reserve(&mut self, bytes: usize) {
        // A tenth of it for what is around them.
        self.bytes.reserve(bytes + bytes / 10);
    }

    /// Records one inserted row. Images are those of the log: see `types::row::hidden`.
    pub fn insert(&mut self, table: &Table, after: &[u8]) {
        self.rows(table, RowsKind::Write, &[after]);
    }

    /// Records one updated row.
    pub fn update(&mut self, table: &Table, before: &[u8], after: &[u8]) {
        self.rows(table, RowsKind::Update, &[before, after]);
    }

    /// Records one deleted row.
    pub fn delete(&mut self, table: &Table, before: &[u8]) {
        self.rows(table, RowsKind::Delete, &[before]);
    }

    fn rows(&mut self, table: &Table, kind: RowsKind, images: &[&[u8]]) {
        let added: usize = images.iter().map(|image| image.len()).sum();
        match &self.open {
            Some(open) if open.table == table.id => {
                let size = self.bytes.len() - open.rows;
                if open.kind != kind || size > 0 && size + added > ROWS_MAX {
                    self.close_rows(0);
                    self.open_rows(table, kind);
                }
            }
            _ => {
                self.end_statement();
                self.open();
                event::table_map(&mut self.bytes, table);
                self.open_rows(table, kind);
            }
        }
        for image in images {
            self.bytes.extend_from_slice(image);
        }
    }

    /// Puts the statement that begins row changes, unless it is there.
    fn open(&mut self) {
        if self.bytes.len() > GTID_MAX {
            return;
        }
        match &self.form {
            Form::Rows | Form::Created => self.statement("BEGIN"),
            Form::Prepared(xid) => self.statement(&format!("XA START {xid}")),
            Form::Ddl(..) | Form::Outcome(_) => {}
        }
    }

    fn statement(&mut self, text: &str) {
        let text = (text, self.sql_mode);
        event::query_event(&mut self.bytes, self.session, &self.database, text);
    }

    fn open_rows(&mut self, table: &Table, kind: RowsKind) {
        let out = &mut self.bytes;
        let event = begin(out, kind.event_type(), 0);
        out.extend_from_slice(&u64::from(table.id).to_le_bytes()[..6]);
        out.extend_from_slice(&0_u16.to_le_bytes()); // flags, see close_rows
        out.extend_from_slice(&2_u16.to_le_bytes()); // no extra data
        let columns = table.named_columns().len();
        lenenc(out, columns as u64);
        let images = if kind == RowsKind::Update { 2 } else { 1 };
        out.resize(out.len() + images * columns.div_ceil(8), 0xff);
        let rows = out.len();
        self.open = Some(OpenRows {
            table: table.id,
            kind,
            event,
            rows,
        });
    }

    fn close_rows(&mut self, flags: u16) {
        if let Some(open) = self.open.take() {
            let unchecked = if self.foreign_keys_done {
                NO_FOREIGN_KEY_CHECKS
            } else {
                0
            };
            let flags = flags | unchecked;
            let at = open.event + HEADER + 6;
            if let Some(field) = self.bytes.get_mut(at..at + 2) {
                field.copy_from_slice(&flags.to_le_bytes());
            }
            finish(&mut self.bytes, open.event);
            self.largest = self.largest.max(self.bytes.len() - open.event);
        }
    }

    /// Marks the end of a statement: its last rows event says so, and the next row change begins
    /// with a table map of its own.
    pub fn end_statement(&mut self) {
        self.close_rows(STATEMENT_END);
    }

    /// Records a DDL statement; such a batch takes no row changes.
    pub fn query(&mut self, text: &str, reading: &Reading) {
        debug_assert!(self.bytes.len() == GTID_MAX);
        self.form = Form::Ddl(text.to_owned(), reading.clone());
    }

    /// Records the statement that makes a table in `database`, whose rows follow: MySQL's CREATE
    /// TABLE … START TRANSACTION. The internal records so far, which tell what the table is, come
    /// before its rows, so that a replay knows it.
    pub fn creates(&mut self, database: &str, text: &str, reading: &Reading) {
        debug_assert!(self.bytes.len() == GTID_MAX);
        self.form = Form::Created;
        self.open();
        event::creating_event(&mut self.bytes, self.session, database, (text, reading));
        self.put_records();
    }

    /// Puts the internal records there are.
    fn put_records(&mut self) {
        if self.records.is_empty() {
            return;
        }
        let out = &mut self.bytes;
        let start = begin(out, kind::IGNORABLE, event::IGNORABLE);
        out.push(RECORDS_VERSION);
        out.extend_from_slice(&self.records);
        finish(out, start);
        self.largest = self.largest.max(out.len() - start);
        self.records.clear();
    }

    /// Records an internal record: put, or (`None`) deleted.
    pub fn internal(&mut self, key: &[u8], value: Option<&[u8]>) {
        lenenc(&mut self.records, key.len() as u64);
        self.records.extend_from_slice(key);
        self.records.push(u8::from(value.is_some()));
        let value = value.unwrap_or_default();
        lenenc(&mut self.records, value.len() as u64);
        self.records.extend_from_slice(value);
    }

    /// How many bytes it will take in the log, about.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len() + self.records.len()
    }

    /// Ends the transaction's events; nothing can be added any more.
    pub fn close(&mut self) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        self.end_statement();
        self.open();
        self.put_records();
        let out = &mut self.bytes;
        let start = out.len();
        let (session, database) = (self.session, &self.database);
        match &self.form {
            Form::Rows | Form::Created => {
                begin(out, kind::XID, 0);
                self.number_at = Some(out.len());
                out.extend_from_slice(&[0; 8]);
                finish(out, start);
            }
            Form::Ddl(text, reading) => {
                let flags = if self.foreign_keys_done {
                    FLAGS2_NO_FOREIGN_KEY_CHECKS
                } else {
                    0
                };
                self.number_at = event::ddl_event(out, session, database, (text, reading), flags);
            }
            Form::Prepared(xid) => {
                let end = format!("XA END {xid}");
                event::query_event(out, session, database, (&end, self.sql_mode));
                event::xa_prepare(out, xid);
            }
            Form::Outcome(text) => {
                event::query_event(out, session, database, (text, self.sql_mode));
            }
        }
        self.largest = self.largest.max(self.bytes.len() - start);
    }

    /// The events of a closed batch but for the first, the GTID.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.bytes.get(GTID_MAX..).unwrap_or_default()
    }

    /// Ends the transaction: all but its number and place is known now.
    pub(super) fn complete(&mut self, now: u64) -> Result<(), LogError> {
        self.close();
        if self.largest > SIZE_MAX {
            return Err(LogError::Failed(format!(
                "an event of {} bytes is more than the binary log can hold ({SIZE_MAX})",
                self.largest
            )));
        }
        self.put_gtid(now);
        Ok(())
    }

    fn put_gtid(&mut self, now: u64) {
        let mut gtid = Vec::with_capacity(GTID_MAX);
        begin(&mut gtid, kind::GTID, 0);
        // 1: the transaction may hold statements.
        let statement = matches!(self.form, Form::Ddl(..) | Form::Created | Form::Outcome(_));
        gtid.push(u8::from(statement));
        gtid.extend_from_slice(&[0; 16 + 8]); // source and number
        gtid.push(2); // a logical clock follows, for which `seal` has to know this:
        let after = match self.form {
            // It follows all before it, and all others follow it.
            Form::Ddl(..) | Form::Created => Seq::MAX,
            // It follows all before it, among which is what was prepared.
            Form::Outcome(_) => Seq::MAX - 1,
            Form::Rows | Form::Prepared(_) => self.after,
        };
        gtid.extend_from_slice(&after.to_le_bytes());
        gtid.extend_from_slice(&[0; 8]);
        let first = self.origin.and_then(|origin| origin.committed_micros);
        let first = first.filter(|first| *first != now && *first < ORIGINAL_FOLLOWS);
        let flag = first.map_or(0, |_| ORIGINAL_FOLLOWS);
        for micros in std::iter::once(now | flag).chain(first) {
            gtid.extend_from_slice(&micros.to_le_bytes()[..7]);
        }
        let version = self.origin.and_then(|origin| origin.version);
        let version = version.filter(|version| *version != SERVER_VERSION_NUMBER);
        let versions = 4 * (1 + usize::from(version.is_some()));
        // The length counts this event, too, and with it itself.
        let others = self.bytes.len() - GTID_MAX + gtid.len() + versions + event::CHECKSUM;
        let others = others as u64;
        let own = match others {
            0..=249 => 1,
            250..=0xfffc => 3,
            0xfffd..=0xff_fffb => 4,
            _ => 9,
        };
        lenenc(&mut gtid, others + own);
        let flag = version.map_or(0, |_| ORIGINAL_VERSION_FOLLOWS);
        for version in std::iter::once(SERVER_VERSION_NUMBER | flag).chain(version) {
            gtid.extend_from_slice(&version.to_le_bytes());
        }
        finish(&mut gtid, 0);
        self.start = GTID_MAX - gtid.len();
        if let Some(field) = self.bytes.get_mut(self.start..GTID_MAX) {
            field.copy_from_slice(&gtid);
        }
    }

    /// Puts the commit's number and name where they belong. `apart`: the name is not the server's
    /// own with that number.
    pub(super) fn number(&mut self, seq: Seq, gtid: Option<Gtid>, apart: bool) {
        if let Some(flags) = self.bytes.get_mut(self.start + offset::GTID_FLAGS) {
            *flags |= if apart { NUMBERED_APART } else { 0 };
            *flags |= if gtid.is_none() { UNLISTED } else { 0 };
        }
        // Readers of files want a name that no other has.
        let gtid = gtid.unwrap_or(Gtid {
            source: [0; 16],
            number: seq,
        });
        let source = self.start + offset::GTID_SOURCE;
        if let Some(field) = self.bytes.get_mut(source..source + 16) {
            field.copy_from_slice(&gtid.source);
        }
        let gno = (self.start + offset::GNO, gtid.number);
        let number = self.number_at.map(|at| (at, seq));
        for (at, number) in std::iter::once(gno).chain(number) {
            if let Some(field) = self.bytes.get_mut(at..at + 8) {
                field.copy_from_slice(&number.to_le_bytes());
            }
        }
    }

    /// The events of a completed batch.
    pub(super) fn events(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// The same, to be sealed in place.
    pub(super) fn events_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.start..).unwrap_or_default()
    }
}

/// immediate_server_version of the GTID events: the MySQL version whose dialect the DDL
/// statements in the log are in.
const SERVER_VERSION_NUMBER: u32 = 90_700;
