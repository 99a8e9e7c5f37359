//! One connection with blocking calls, for what is done before and between measurements.

use super::{
    login::{Login, LoginError, Step},
    target::Endpoint,
    wire::{Part, Reply, ServerError, put_command},
};
use crate::mysql::{
    constants::command,
    packet::{Cursor, ReadError, Reader, Writer},
    stream::Stream,
};
use std::{fmt, io, time::Duration};

/// A reply of the server may have packets of this size.
const PACKET_MAX: usize = 1 << 24;
/// A login that takes longer is given up. Statements may take as long as they like.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(60);

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

/// A row of a result, as text; `None` for NULL.
pub type Row = Vec<Option<String>>;

/// A connection that has logged in.
pub struct Control {
    stream: Stream,
    reader: Reader,
    writer: Writer,
    /// What both sides can do.
    capabilities: u32,
    /// What the server says it is.
    pub version: String,
}

impl Control {
    /// Connects and logs in.
    pub fn connect(endpoint: &Endpoint) -> Result<Control, Error> {
        let stream = endpoint
            .address
            .connect()
            .map_err(|error| Error::Broken(format!("{}: {error}", endpoint.address)))?;
        stream.set_read_timeout(Some(LOGIN_TIMEOUT))?;
        let mut control = Control {
            stream,
            reader: Reader::new(),
            writer: Writer::new(),
            capabilities: 0,
            version: String::new(),
        };
        control.log_in(endpoint)?;
        control.stream.set_read_timeout(None)?;
        Ok(control)
    }

    fn log_in(&mut self, endpoint: &Endpoint) -> Result<(), Error> {
        let mut login = Login::default();
        loop {
            let sequence = self.reader.sequence;
            self.reader.next(&mut &self.stream, PACKET_MAX)?;
            let packet = (sequence, self.reader.payload());
            let private = self.stream.is_private();
            match login.packet(packet, &endpoint.account, private, &mut self.writer)? {
                Step::Answer => {
                    self.writer.flush(&mut &self.stream)?;
                    self.reader.sequence = self.writer.sequence;
                }
                Step::Wait => {}
                Step::In => break,
            }
        }
        self.capabilities = login.capabilities;
        self.version = login.version;
        Ok(())
    }

    /// Executes a statement; the rows of its result.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        self.exchange(sql, |payload| rows.push(row(payload)))?;
        Ok(rows)
    }

    /// Executes a statement without a result; how many rows it affected.
    pub fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        self.exchange(sql, |_| ())?;
        let mut ok = Cursor(self.reader.payload());
        ok.take(1);
        Ok(ok.lenenc().unwrap_or(0))
    }

    /// Sends a statement and receives its reply, whose last packet stays in the reader.
    fn exchange(&mut self, sql: &str, mut each: impl FnMut(&[u8])) -> Result<(), Error> {
        put_command(&mut self.writer, command::QUERY, sql.as_bytes());
        self.writer.flush(&mut &self.stream)?;
        self.reader.sequence = 1;
        let mut reply = Reply::to_query(self.capabilities);
        loop {
            self.reader.next(&mut &self.stream, PACKET_MAX)?;
            let payload = self.reader.payload();
            let part = reply
                .packet(payload)
                .map_err(|_| Error::Broken("the server's reply is malformed".into()))?;
            match part {
                Part::More => {}
                Part::Row => each(payload),
                Part::Last(Ok(_)) => return Ok(()),
                Part::Last(Err(error)) => return Err(Error::Server(error)),
            }
        }
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
}

/// Takes a row of the text protocol apart.
fn row(payload: &[u8]) -> Row {
    let mut cursor = Cursor(payload);
    let mut columns = Vec::new();
    while let Some(first) = cursor.0.first() {
        if *first == 0xfb {
            cursor.take(1);
            columns.push(None);
        } else {
            let text = cursor.string().unwrap_or_default();
            columns.push(Some(String::from_utf8_lossy(text).into_owned()));
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_text_and_nulls() {
        let found = row(b"\x01a\xfb\x00\x02bc");
        let text = |t: &str| Some(t.to_owned());
        assert_eq!(found, [text("a"), None, text(""), text("bc")]);
        // A length beyond the end: nothing is read that is not there, and it ends.
        assert_eq!(row(b"\x05ab").len(), 3);
    }
}
