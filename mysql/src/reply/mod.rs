//! Results, outwards: column definitions, text and binary rows, OK, EOF and error packets, all
//! encoded straight into the connection's write buffer.

use super::{
    connection::late::Late,
    constants::{capability, column},
    packet::{Reader, Writer, put_lenenc, put_string},
    stream::{Prompt, Stream},
};
use cohort_engine::{
    txn::{Owner, WaitFor},
    types::{Charset, Collation, ColumnType, Date, Time, Value},
};
use cohort_sql::{
    ColumnMeta, Done, Output, SqlError,
    text::{self, TextForm},
};
use std::{
    borrow::Cow,
    io,
    time::{Duration, Instant},
};

/// So much is collected before it is sent in the middle of a result.
const FLUSH: usize = 32 * 1024;
/// How often a thread whose client takes nothing looks whether its statement was killed.
const NAP: Duration = Duration::from_millis(100);
/// The number of the collation `binary`, which numbers and dates have too.
const BINARY_COLLATION: u16 = 63;
const NULL_TEXT: u8 = 0xfb;
const EOF: u8 = 0xfe;

mod flag {
    pub const NOT_NULL: u16 = 1;
    pub const BLOB: u16 = 16;
    pub const UNSIGNED: u16 = 32;
    pub const BINARY: u16 = 128;
}

/// How replies are encoded for one client.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The capabilities both sides have.
    pub capabilities: u32,
    /// In which the client gets texts: none for each in its own.
    pub results: Option<Collation>,
}

impl Dialect {
    /// A name in the bytes the client gets.
    fn text(self, text: &str) -> Cow<'_, [u8]> {
        match self.results {
            Some(results) if !results.charset().is_as_stored() => {
                results.charset().encode(text.as_bytes())
            }
            _ => Cow::Borrowed(text.as_bytes()),
        }
    }
    /// The same for a client that gets texts in this collation.
    #[must_use]
    pub fn with_results(self, results: Option<Collation>) -> Dialect {
        Dialect { results, ..self }
    }
    fn deprecates_eof(self) -> bool {
        self.capabilities & capability::DEPRECATE_EOF != 0
    }
}

/// What encoding a value needs to know of its column.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    ty: u8,
    shown: TextForm,
    /// Texts are to be converted to this character set.
    convert: Option<Charset>,
}

impl Kind {
    fn of(meta: &ColumnMeta, dialect: Dialect) -> Kind {
        let own = match meta.ty {
            // Clients are told that documents are bytes, but they are text.
            Some(ColumnType::Json) => Charset::Utf8mb4,
            _ => meta.collation.charset(),
        };
        let wanted = dialect.results.map_or(own, Collation::charset);
        let is_alike = wanted.is_as_stored() && wanted.includes(own);
        let ty = wire_type(meta);
        Kind {
            ty,
            shown: TextForm::of(meta),
            convert: (own != Charset::Binary && !is_alike).then_some(wanted),
        }
    }
}

/// The type of a column on the wire. Long strings that are not from a table tell their size.
fn wire_type(meta: &ColumnMeta) -> u8 {
    let computed = meta.original_name.is_empty();
    match meta.ty {
        None => column::NULL,
        Some(ColumnType::TinyInt) => column::TINY,
        Some(ColumnType::SmallInt) => column::SHORT,
        Some(ColumnType::MediumInt) => column::INT24,
        Some(ColumnType::Int) => column::LONG,
        Some(ColumnType::BigInt) => column::LONGLONG,
        Some(ColumnType::Float) => column::FLOAT,
        Some(ColumnType::Double) => column::DOUBLE,
        Some(ColumnType::Decimal { .. }) => column::NEWDECIMAL,
        Some(ColumnType::Char(_) | ColumnType::Enum(_) | ColumnType::Set(_)) => column::STRING,
        Some(ColumnType::VarChar(_)) => column::VAR_STRING,
        Some(ColumnType::Text(3)) if computed => column::MEDIUM_BLOB,
        Some(ColumnType::Text(4)) if computed => column::LONG_BLOB,
        Some(ColumnType::Text(_)) => column::BLOB,
        Some(ColumnType::Date) => column::DATE,
        Some(ColumnType::Time(_)) => column::TIME,
        Some(ColumnType::DateTime(_)) => column::DATETIME,
        Some(ColumnType::Timestamp(_)) => column::TIMESTAMP,
        Some(ColumnType::Year) => column::YEAR,
        Some(ColumnType::Bit(_)) => column::BIT,
        Some(ColumnType::Json) => column::JSON,
    }
}

/// Appends an OK packet.
pub fn put_ok(writer: &mut Writer, done: &Done) {
    put_ok_like(writer, 0, done);
}

fn put_ok_like(writer: &mut Writer, header: u8, done: &Done) {
    writer.begin();
    let out = &mut writer.buffer;
    out.push(header);
    put_lenenc(out, done.affected_rows);
    put_lenenc(out, done.last_insert_id);
    out.extend_from_slice(&done.status.to_le_bytes());
    out.extend_from_slice(&done.warnings.to_le_bytes());
    if !done.info.is_empty() {
        put_string(out, done.info.as_bytes());
    }
    writer.end();
}

/// Appends what ends a list of rows.
pub fn put_end_of_rows(writer: &mut Writer, dialect: Dialect, done: &Done) {
    if dialect.deprecates_eof() {
        put_ok_like(writer, EOF, done);
    } else {
        put_eof(writer, done.status, done.warnings);
    }
}

fn put_eof(writer: &mut Writer, status: u16, warnings: u16) {
    writer.begin();
    writer.buffer.push(EOF);
    writer.buffer.extend_from_slice(&warnings.to_le_bytes());
    writer.buffer.extend_from_slice(&status.to_le_bytes());
    writer.end();
}

/// Appends an error packet.
pub fn put_error(writer: &mut Writer, error: &SqlError) {
    writer.begin();
    writer.buffer.push(0xff);
    writer.buffer.extend_from_slice(&error.code.to_le_bytes());
    writer.buffer.push(b'#');
    writer.buffer.extend_from_slice(&error.state);
    writer.buffer.extend_from_slice(error.message.as_bytes());
    writer.end();
}

/// Appends the definitions of columns, and the EOF that older clients expect after them.
pub fn put_columns(writer: &mut Writer, dialect: Dialect, columns: &[ColumnMeta], status: u16) {
    for meta in columns {
        put_column(writer, dialect, meta);
    }
    if !dialect.deprecates_eof() && !columns.is_empty() {
        put_eof(writer, status, 0);
    }
}

fn put_column(writer: &mut Writer, dialect: Dialect, meta: &ColumnMeta) {
    let mut flags = meta.flags;
    if meta.not_null {
        flags |= flag::NOT_NULL;
    }
    if meta.unsigned {
        flags |= flag::UNSIGNED;
    }
    let collation = match dialect.results {
        Some(results) if !meta.collation.is_binary() => results,
        _ => meta.collation,
    };
    let length = match dialect.results {
        // A TEXT column as it is: so many bytes.
        None if flags & flag::BLOB != 0 && meta.length != u32::MAX => {
            meta.length / collation.max_char_bytes()
        }
        _ => length_in(collation, meta),
    };
    writer.begin();
    let out = &mut writer.buffer;
    put_string(out, b"def");
    put_string(out, meta.database.as_bytes());
    put_string(out, meta.table.as_bytes());
    put_string(out, meta.original_table.as_bytes());
    put_string(out, &dialect.text(&meta.name));
    put_string(out, meta.original_name.as_bytes());
    put_definition(
        out,
        collation.id(),
        length,
        wire_type(meta),
        flags,
        meta.decimals,
    );
    writer.end();
}

/// The length of a column whose texts the client gets in a collation.
fn length_in(collation: Collation, meta: &ColumnMeta) -> u32 {
    if meta.length == u32::MAX {
        return meta.length;
    }
    let characters = meta.length / meta.collation.max_char_bytes();
    characters.saturating_mul(collation.max_char_bytes())
}

fn put_definition(
    out: &mut Vec<u8>,
    collation: u16,
    length: u32,
    ty: u8,
    flags: u16,
    decimals: u8,
) {
    out.push(0x0c); // the length of what follows
    out.extend_from_slice(&collation.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.push(ty);
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&[decimals, 0, 0]);
}

/// Appends the definitions of a statement's parameters: all we can say is that each is one.
pub fn put_parameters(writer: &mut Writer, dialect: Dialect, count: u16, status: u16) {
    for _ in 0..count {
        writer.begin();
        for part in ["def", "", "", "", "?", ""] {
            put_string(&mut writer.buffer, part.as_bytes());
        }
        let ty = column::VAR_STRING;
        put_definition(&mut writer.buffer, BINARY_COLLATION, 0, ty, flag::BINARY, 0);
        writer.end();
    }
    if !dialect.deprecates_eof() && count > 0 {
        put_eof(writer, status, 0);
    }
}

/// The `Output` of one command: encodes what the session reports.
pub struct Reply<'a> {
    /// Where the packets go.
    pub writer: &'a mut Writer,
    /// Where they are sent when they become many.
    pub stream: &'a Stream,
    /// Where the client's packets come from that belong to the command: those of a file.
    pub reader: &'a mut Reader,
    /// The longest that one of them may be, in bytes.
    pub packet_max: usize,
    /// How long the client may send nothing of a file: net_read_timeout.
    pub read_patience: Duration,
    /// The reply before this one.
    pub late: Option<&'a Late>,
    /// Whose rows they are: gives its slot back meanwhile, and may be killed.
    pub owner: &'a Owner,
    /// How long the client may take nothing: net_write_timeout.
    pub patience: Duration,
    /// How they are encoded.
    pub dialect: Dialect,
    /// The columns of the result under way; kept by the connection, to save the allocation.
    pub kinds: &'a mut Vec<Kind>,
    /// Binary rows, for prepared statements.
    pub binary: bool,
    /// The status flags at the beginning.
    pub status: u16,
    /// Between `columns` and `end`.
    pub in_rows: bool,
    /// The client could not be written to: nothing more can be.
    pub broken: bool,
}

impl Output for Reply<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.kinds.clear();
        self.kinds
            .extend(columns.iter().map(|meta| Kind::of(meta, self.dialect)));
        self.in_rows = true;
        self.writer.begin();
        put_lenenc(&mut self.writer.buffer, columns.len() as u64);
        self.writer.end();
        put_columns(self.writer, self.dialect, columns, self.status);
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.writer.begin();
        let out = &mut self.writer.buffer;
        if self.binary {
            put_binary_row(out, self.kinds, row)?;
        } else {
            for (kind, value) in self.kinds.iter().zip(row) {
                put_text_value(out, *kind, value);
            }
        }
        self.writer.end();
        self.flush_if_long()
    }

    fn end(&mut self, done: &Done) -> io::Result<()> {
        if std::mem::take(&mut self.in_rows) {
            put_end_of_rows(self.writer, self.dialect, done);
        } else {
            put_ok(self.writer, done);
        }
        self.flush_if_long()
    }

    fn ask_for_file(&mut self, name: &str) -> io::Result<()> {
        self.ask(name)
    }

    fn take_piece(&mut self) -> io::Result<&[u8]> {
        self.receive(true)
    }

    fn skip_file(&mut self) -> io::Result<()> {
        while !self.broken && !self.receive(false)?.is_empty() {}
        Ok(())
    }
}

impl Reply<'_> {
    fn flush_if_long(&mut self) -> io::Result<()> {
        match self.writer.buffer.len() < FLUSH {
            true => Ok(()),
            false => self.flush(),
        }
    }

    /// Sends what there is.
    fn flush(&mut self) -> io::Result<()> {
        if let Some(late) = self.late
            && !late.has_gone()
        {
            self.owner.waiting.pause(WaitFor::Client);
            late.wait();
            self.owner.waiting.resume(WaitFor::Client);
        }
        let mut result = self.writer.flush_promptly(&mut Prompt(self.stream));
        if let Ok(false) = result {
            // A slow client must not hold the right to execute.
            self.owner.waiting.pause(WaitFor::Client);
            result = self.flush_slowly().map(|()| true);
            self.owner.waiting.resume(WaitFor::Client);
        }
        let killed = |error: &io::Error| error.kind() == io::ErrorKind::Interrupted;
        self.broken |= result.as_ref().is_err_and(|error| !killed(error));
        result.map(|_| ())
    }

    /// Sends what is there as the client takes it. `Interrupted` when the statement is killed: the
    /// packets that are left are still to be sent then, before the error.
    fn flush_slowly(&mut self) -> io::Result<()> {
        let (owner, stream, patience) = (self.owner, self.stream, self.patience);
        let (mut before, mut since) = (0, Instant::now());
        self.writer.flush_while(&mut Prompt(stream), |sent| {
            if owner.is_killed() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if sent > before {
                (before, since) = (sent, Instant::now());
            } else if since.elapsed() >= patience {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stream.wait_writable(NAP)
        })
    }
}

fn put_text_value(out: &mut Vec<u8>, kind: Kind, value: &Value) {
    match value {
        Value::Null => out.push(NULL_TEXT),
        Value::Bytes(bytes) => match kind.convert {
            Some(charset) => put_string(out, &charset.encode(bytes)),
            None => put_string(out, bytes),
        },
        Value::Member(_) | Value::Json(_) if kind.convert.is_some() => {
            let mut text = Vec::new();
            text::put(value, kind.shown, &mut text);
            put_text_value(out, kind, &Value::Bytes(text));
        }
        _ => {
            let at = out.len();
            out.push(0);
            text::put(value, kind.shown, out);
            set_length(out, at);
        }
    }
}

/// Sets the length, left open at `at`, of the string that follows it.
fn set_length(out: &mut Vec<u8>, at: usize) {
    let length = out.len() - at - 1;
    if length <= 250 {
        out[at] = length as u8;
    } else {
        let string = out.split_off(at + 1);
        out.truncate(at);
        put_string(out, &string);
    }
}

/// Appends a row of the binary protocol: a zero, a bitmap of NULLs that begins at its third bit,
/// and the values.
fn put_binary_row(out: &mut Vec<u8>, kinds: &[Kind], row: &[Value]) -> io::Result<()> {
    out.push(0);
    let bitmap = out.len();
    out.resize(bitmap + (kinds.len() + 9) / 8, 0);
    for (i, (kind, value)) in kinds.iter().zip(row).enumerate() {
        if value.is_null() {
            out[bitmap + (i + 2) / 8] |= 1 << ((i + 2) % 8);
        } else {
            put_binary_value(out, *kind, value).ok_or_else(|| {
                io::Error::other(format!("{value:?} in a column of wire type {}", kind.ty))
            })?;
        }
    }
    Ok(())
}

/// `None` if the value is not of the column's type: a bug, which must not become a wrong answer.
fn put_binary_value(out: &mut Vec<u8>, kind: Kind, value: &Value) -> Option<()> {
    let integer = || match value {
        Value::Int(n) => Some(n.cast_unsigned()),
        Value::UInt(n) => Some(*n),
        _ => None,
    };
    match kind.ty {
        column::TINY => out.push(integer()? as u8),
        column::SHORT | column::YEAR => out.extend_from_slice(&(integer()? as u16).to_le_bytes()),
        column::LONG | column::INT24 => out.extend_from_slice(&(integer()? as u32).to_le_bytes()),
        column::LONGLONG => out.extend_from_slice(&integer()?.to_le_bytes()),
        column::FLOAT => out.extend_from_slice(&float(value)?.to_le_bytes()),
        column::DOUBLE => out.extend_from_slice(&double(value)?.to_le_bytes()),
        column::DATE | column::DATETIME | column::TIMESTAMP => match value {
            Value::Date(date) => put_binary_datetime(out, *date, None),
            Value::DateTime(m) => put_binary_datetime(out, m.date, Some(m.parts())),
            _ => return None,
        },
        column::TIME => match value {
            Value::Time(time) => put_binary_time(out, *time),
            _ => return None,
        },
        _ => put_text_value(out, kind, value),
    }
    Some(())
}

fn float(value: &Value) -> Option<f32> {
    match value {
        Value::Float(x) => Some(*x),
        Value::Double(x) => Some(*x as f32),
        _ => None,
    }
}

fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Float(x) => Some(f64::from(*x)),
        Value::Double(x) => Some(*x),
        _ => None,
    }
}

/// Length 0, 4, 7 or 11, by what is not zero.
pub(super) fn put_binary_datetime(
    out: &mut Vec<u8>,
    date: Date,
    clock: Option<(u32, u8, u8, u32)>,
) {
    let (hours, minutes, seconds, micros) = clock.unwrap_or_default();
    let no_clock = (hours, minutes, seconds) == (0, 0, 0);
    let length = match (date == Date::default(), no_clock, micros) {
        (true, true, 0) => 0,
        (_, true, 0) => 4,
        (_, _, 0) => 7,
        _ => 11,
    };
    out.push(length);
    if length >= 4 {
        out.extend_from_slice(&date.year.to_le_bytes());
        out.extend_from_slice(&[date.month, date.day]);
    }
    if length >= 7 {
        out.extend_from_slice(&[hours as u8, minutes, seconds]);
    }
    if length >= 11 {
        out.extend_from_slice(&micros.to_le_bytes());
    }
}

/// Length 0, 8 or 12: sign, days, hours, minutes, seconds and perhaps microseconds.
fn put_binary_time(out: &mut Vec<u8>, time: Time) {
    let (hours, minutes, seconds, micros) = time.parts();
    let length = match (time.micros, micros) {
        (0, _) => 0,
        (_, 0) => 8,
        _ => 12,
    };
    out.push(length);
    if length >= 8 {
        out.push(u8::from(time.micros < 0));
        out.extend_from_slice(&(hours / 24).to_le_bytes());
        out.extend_from_slice(&[(hours % 24) as u8, minutes, seconds]);
    }
    if length >= 12 {
        out.extend_from_slice(&micros.to_le_bytes());
    }
}

mod file;
#[cfg(test)]
mod tests;
