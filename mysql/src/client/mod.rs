//! A client with blocking calls.
//!
//! | file | what is inside |
//! |---|---|
//! | `backup` | the files of a backup |
//! | `login` | the answers to the server's greeting and to what it asks after it |
//! | `tls` | encryption, and whom to trust |
//! | `url` | names and passwords in URLs |
//! | `wire` | requests in bytes, and what replies are made of |

pub mod backup;
pub mod follow;
pub mod login;
pub mod tls;
pub mod url;
pub mod wire;

use super::{
    constants::command,
    packet::{Cursor, ReadError, Reader, Writer},
    parameters,
    stream::Stream,
};
use cohort_engine::types::Value;
use login::{Account, Login, LoginError, Secrecy, Step};
use std::{fmt, io, net::TcpStream, time::Duration};
use tls::Tls;
use wire::{Outcome, Parameter, Part, Reply, ServerError, put_command, put_execute};

/// No server sends longer packets.
const PACKET_MAX: usize = 1 << 30;

/// Why a server could not be talked to.
#[derive(Debug, PartialEq, Eq)]
pub enum Error {
    /// It answered with an error.
    Server(ServerError),
    /// There was no (whole) answer.
    Broken(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Server(error) => error.fmt(f),
            Error::Broken(text) => f.write_str(text),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Broken(error.to_string())
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Error {
        Error::Broken(match error {
            ReadError::Closed => "the server has closed the connection".into(),
            ReadError::Pending => "the server does not answer in time".into(),
            other => format!("the server does not answer as it should: {other:?}"),
        })
    }
}

impl From<LoginError> for Error {
    fn from(error: LoginError) -> Error {
        match error {
            LoginError::Refused(error) => Error::Server(error),
            LoginError::Unsupported(text) => Error::Broken(text),
        }
    }
}

fn malformed() -> Error {
    Error::Broken("the server's reply is malformed".into())
}

/// A row of a result, as text; `None` for NULL.
pub type Row = Vec<Option<String>>;

/// A row as text, each value with the name of its column.
pub type Record = Vec<(String, Option<String>)>;

/// What became of a statement without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// How many rows it changed.
    pub affected: u64,
    /// How many warnings SHOW WARNINGS has of it.
    pub warnings: u16,
}

/// What decoding a value needs to know of its column.
#[derive(Clone, Copy, Debug)]
struct Column {
    ty: u8,
    is_unsigned: bool,
}

/// A connection that has logged in.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    reader: Reader,
    writer: Writer,
    /// What both sides can do.
    capabilities: u32,
    /// What the server says it is.
    pub version: String,
}

impl Client {
    /// Logs in. `extra` are capabilities to ask for besides the usual ones.
    pub fn log_in(stream: Stream, account: &Account, extra: u32) -> Result<Client, Error> {
        let secrecy = Secrecy::of(&stream, account);
        let mut client = Client::over(stream);
        client.enter(Login::asking_for(extra), account, secrecy)?;
        Ok(client)
    }

    /// The same over TLS with this host: nothing that says who logs in leaves without it.
    pub fn log_in_securely(
        stream: TcpStream,
        (tls, host): (&Tls, &str),
        account: &Account,
        extra: u32,
    ) -> Result<Client, Error> {
        let mut client = Client::over(Stream::from(stream));
        let mut login = Login::asking_for(extra);
        let sequence = client.reader.sequence;
        client.reader.next(&mut &client.stream, PACKET_MAX)?;
        let greeting = (sequence, client.reader.payload());
        login.ask_for_tls(greeting, account, &mut client.writer)?;
        client.send()?;
        tls.secure(&client.stream, host).map_err(Error::Broken)?;
        login.secured(account, &mut client.writer);
        client.send()?;
        client.enter(login, account, Secrecy::Private)?;
        Ok(client)
    }

    fn over(stream: Stream) -> Client {
        Client {
            stream,
            reader: Reader::new(),
            writer: Writer::new(),
            capabilities: 0,
            version: String::new(),
        }
    }

    /// Carries a login out to its end.
    fn enter(
        &mut self,
        mut login: Login,
        account: &Account,
        secrecy: Secrecy,
    ) -> Result<(), Error> {
        loop {
            let sequence = self.reader.sequence;
            self.reader.next(&mut &self.stream, PACKET_MAX)?;
            let packet = (sequence, self.reader.payload());
            match login.packet(packet, account, secrecy, &mut self.writer)? {
                Step::Answer => self.send()?,
                Step::Wait => {}
                Step::In => break,
            }
        }
        self.capabilities = login.capabilities;
        self.version = login.version;
        Ok(())
    }

    /// Sends what is written.
    fn send(&mut self) -> io::Result<()> {
        self.writer.flush(&mut &self.stream)?;
        self.reader.sequence = self.writer.sequence;
        Ok(())
    }

    /// How long an answer may take; `None`: for ever. After one that took longer the connection
    /// is of no use.
    pub fn set_answer_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(timeout)?;
        self.stream.set_write_timeout(timeout)
    }

    /// The first column of a result's first row.
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, Error> {
        Ok(self
            .query(sql)?
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next().flatten()))
    }

    /// A global variable; `None` if the server does not have it.
    pub fn variable(&mut self, name: &str) -> Result<Option<String>, Error> {
        let rows = self.query(&format!("SHOW GLOBAL VARIABLES LIKE '{name}'"))?;
        let row = rows.into_iter().find(|row| row.len() == 2);
        Ok(row.and_then(|mut row| row.pop().flatten()))
    }

    /// Executes a statement; the rows of its result.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        self.each_row(sql, |values| {
            rows.push(text_row(values));
            Ok(())
        })?;
        Ok(rows)
    }

    /// Executes a statement; its first row, each value with the name of its column.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn record(&mut self, sql: &str) -> Result<Option<Record>, Error> {
        put_command(&mut self.writer, command::QUERY, sql.as_bytes());
        let (mut names, mut first) = (Vec::new(), None);
        let outcome = self.exchange(Reply::to_query(self.capabilities), |part, payload| {
            match part {
                Part::Column => names.push(column_name(payload).ok_or_else(malformed)?),
                Part::Row if first.is_none() => first = Some(text_row(TextRow(Cursor(payload)))),
                _ => {}
            }
            Ok(())
        })?;
        outcome.map_err(Error::Server)?;
        Ok(first.map(|row| names.into_iter().zip(row).collect()))
    }

    /// Executes a statement, and hands out each row as it arrives, in bytes. If `each` fails, the
    /// connection is of no further use.
    ///
    /// # Errors
    /// The server's, the connection's, or the one of `each`.
    pub fn each_row(
        &mut self,
        sql: &str,
        mut each: impl FnMut(TextRow<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        put_command(&mut self.writer, command::QUERY, sql.as_bytes());
        let outcome = self.exchange(Reply::to_query(self.capabilities), |part, payload| {
            if part == Part::Row {
                each(TextRow(Cursor(payload)))?;
            }
            Ok(())
        })?;
        outcome.map(|_| ()).map_err(Error::Server)
    }

    /// Executes a statement without a result; how many rows it affected.
    pub fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        self.send_statement(sql.as_bytes())?;
        Ok(self.done()?.affected)
    }

    /// Sends a statement without a result, and does not wait: [`Client::done`] must come next.
    ///
    /// # Errors
    /// The connection's.
    pub fn send_statement(&mut self, sql: &[u8]) -> Result<(), Error> {
        put_command(&mut self.writer, command::QUERY, sql);
        Ok(self.send()?)
    }

    /// Waits for what became of the statement that was sent.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn done(&mut self) -> Result<Done, Error> {
        let outcome = self.receive(Reply::to_query(self.capabilities), |_, _| Ok(()))?;
        outcome.map_err(Error::Server)?;
        Ok(self.ok())
    }

    /// Prepares a statement; its number.
    pub fn prepare(&mut self, sql: &str) -> Result<u32, Error> {
        put_command(&mut self.writer, command::STMT_PREPARE, sql.as_bytes());
        let outcome = self.exchange(Reply::to_prepare(self.capabilities), |_, _| Ok(()))?;
        outcome.map_err(Error::Server)
    }

    /// Executes a prepared statement; its rows, or how many it affected.
    pub fn run(
        &mut self,
        statement: u32,
        values: &[Value],
    ) -> Result<(Vec<Vec<Value>>, u64), Error> {
        let parameters = values.iter().map(parameter).collect::<Option<Vec<_>>>();
        let parameters = parameters.ok_or_else(|| Error::Broken("an unknown type".into()))?;
        put_execute(&mut self.writer, statement, &parameters);
        let (mut columns, mut rows) = (Vec::new(), Vec::new());
        let outcome = self.exchange(Reply::to_query(self.capabilities), |part, payload| {
            match part {
                Part::Column => columns.push(column(payload).ok_or_else(malformed)?),
                Part::Row => rows.push(binary_row(payload, &columns).ok_or_else(malformed)?),
                _ => {}
            }
            Ok(())
        })?;
        outcome.map_err(Error::Server)?;
        let affected = if columns.is_empty() {
            self.ok().affected
        } else {
            0
        };
        Ok((rows, affected))
    }

    /// What the OK packet says that is in the reader.
    fn ok(&self) -> Done {
        let mut ok = Cursor(self.reader.payload());
        ok.take(1);
        let affected = ok.lenenc().unwrap_or(0);
        ok.lenenc(); // the last AUTO_INCREMENT value
        ok.u16(); // status
        let warnings = ok.u16().unwrap_or(0);
        Done { affected, warnings }
    }

    /// Sends what is written and receives the reply, whose last packet stays in the reader.
    fn exchange(
        &mut self,
        reply: Reply,
        each: impl FnMut(Part, &[u8]) -> Result<(), Error>,
    ) -> Result<Outcome, Error> {
        self.send()?;
        self.receive(reply, each)
    }

    /// Receives a reply, whose last packet stays in the reader.
    fn receive(
        &mut self,
        mut reply: Reply,
        mut each: impl FnMut(Part, &[u8]) -> Result<(), Error>,
    ) -> Result<Outcome, Error> {
        loop {
            self.reader.next(&mut &self.stream, PACKET_MAX)?;
            let payload = self.reader.payload();
            match reply.packet(payload).map_err(|_| malformed())? {
                Part::Last(outcome) => return Ok(outcome),
                part => each(part, payload)?,
            }
        }
    }
}

/// A value as it is sent; `None`: nothing here sends such ones.
fn parameter(value: &Value) -> Option<Parameter<'_>> {
    Some(match value {
        Value::Null => Parameter::Null,
        Value::Int(n) => Parameter::Signed(*n),
        Value::UInt(n) => Parameter::Long(*n),
        Value::DateTime(moment) => Parameter::Moment(*moment),
        Value::Bytes(bytes) => Parameter::Text(bytes),
        _ => return None,
    })
}

/// Takes a column's definition apart.
fn column(payload: &[u8]) -> Option<Column> {
    /// The bit of its flags that says UNSIGNED.
    const UNSIGNED: u16 = 32;
    let mut cursor = Cursor(payload);
    for _ in 0..6 {
        cursor.string()?; // catalog, database, table, its original name, name, its original name
    }
    cursor.lenenc()?;
    cursor.take(6)?; // collation, length
    let ty = cursor.u8()?;
    let is_unsigned = cursor.u16()? & UNSIGNED != 0;
    Some(Column { ty, is_unsigned })
}

/// The name in a column's definition.
fn column_name(payload: &[u8]) -> Option<String> {
    let mut cursor = Cursor(payload);
    for _ in 0..4 {
        cursor.string()?; // catalog, database, table, its original name
    }
    Some(String::from_utf8_lossy(cursor.string()?).into_owned())
}

fn text_row(values: TextRow<'_>) -> Row {
    let text = |value: Option<&[u8]>| value.map(|v| String::from_utf8_lossy(v).into_owned());
    values.map(text).collect()
}

/// Takes a row of the binary protocol apart.
fn binary_row(payload: &[u8], columns: &[Column]) -> Option<Vec<Value>> {
    let mut cursor = Cursor(payload);
    cursor.take(1)?;
    let nulls = cursor.take((columns.len() + 9) / 8)?;
    let value = |(i, column): (usize, &Column)| {
        if nulls[(i + 2) / 8] >> ((i + 2) % 8) & 1 == 1 {
            return Some(Value::Null);
        }
        parameters::value(&mut cursor, column.ty, column.is_unsigned)
    };
    columns.iter().enumerate().map(value).collect()
}

/// A row of the text protocol; yields its values, `None` for NULL.
#[derive(Clone, Debug)]
pub struct TextRow<'a>(Cursor<'a>);

impl<'a> Iterator for TextRow<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Option<&'a [u8]>> {
        let first = *self.0.0.first()?;
        if first == 0xfb {
            self.0.take(1);
            return Some(None);
        }
        let value = self.0.string();
        if value.is_none() {
            self.0.rest(); // a length beyond the end: nothing that follows can be read
        }
        value.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_text_and_nulls() {
        let row = |payload| TextRow(Cursor(payload)).collect::<Vec<_>>();
        let found = row(b"\x01a\xfb\x00\x02bc");
        assert_eq!(found, [Some(&b"a"[..]), None, Some(b""), Some(b"bc")]);
        // A length beyond the end: nothing is read that is not there, and it ends.
        assert!(row(b"\x05ab").is_empty());
    }

    #[test]
    fn binary_rows_have_the_types_of_their_columns() {
        use super::super::constants::column;
        let of = |ty, is_unsigned| Column { ty, is_unsigned };
        let columns = [
            of(column::LONGLONG, true),
            of(column::VAR_STRING, false),
            of(column::DATETIME, false),
            of(column::LONGLONG, false),
        ];
        let mut payload = vec![0, 0b10000];
        payload.extend_from_slice(&u64::MAX.to_le_bytes());
        payload.extend_from_slice(b"\x02ab");
        payload.extend_from_slice(&(-1i64).to_le_bytes());
        let row = binary_row(&payload, &columns);
        let text = Value::Bytes(b"ab".to_vec());
        let wanted = vec![Value::UInt(u64::MAX), text, Value::Null, Value::Int(-1)];
        assert_eq!(row, Some(wanted));
        for length in 0..payload.len() {
            assert_eq!(binary_row(&payload[..length], &columns), None, "{length}");
        }
    }

    #[test]
    fn definitions_of_our_own_server_are_read() {
        use super::super::reply::{Dialect, put_columns};
        let text = |text: &str| text.to_owned();
        let meta = cohort_sql::ColumnMeta {
            database: text("d"),
            table: text("t"),
            original_table: text("t"),
            name: text("n"),
            original_name: text(""),
            ty: Some(cohort_engine::types::ColumnType::BigInt),
            unsigned: true,
            not_null: true,
            collation: cohort_engine::types::Collation::Binary,
            length: 20,
            decimals: 0,
            flags: 0,
        };
        let mut writer = Writer::new();
        let dialect = Dialect {
            capabilities: wire::CAPABILITIES,
            results: None,
        };
        put_columns(&mut writer, dialect, &[meta], 0);
        let (_, payload) = wire::Frames(&writer.buffer).next().unwrap();
        assert_eq!(column_name(payload).as_deref(), Some("n"));
        let column = column(payload).unwrap();
        assert_eq!(column.ty, super::super::constants::column::LONGLONG);
        assert!(column.is_unsigned);
    }
}
