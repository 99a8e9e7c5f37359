//! The client's side of the protocol: what a reply is made of, and how requests are written.
//!
//! The server's side reads with blocking calls, a packet at a time ([`crate::packet`]). A
//! load generator holds thousands of connections on one thread, so here bytes are pushed: a
//! [`Frames`] cuts what has arrived into packets, and a [`Reply`] counts them until the reply is
//! whole. Neither keeps a buffer, so a silent connection costs no memory.

use crate::{
    constants::{capability, column, command},
    packet::{Cursor, Writer, put_string},
    parameters::UNSIGNED,
    reply::put_binary_datetime,
};
use cohort_engine::types::DateTime;
use std::fmt;

/// What a client of ours offers; a server may take less.
pub const CAPABILITIES: u32 = 1 // LONG_PASSWORD
    | capability::LONG_FLAG
    | capability::CONNECT_WITH_DB
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::PLUGIN_AUTH
    | capability::PLUGIN_AUTH_LENENC_CLIENT_DATA
    | capability::DEPRECATE_EOF;

const HEADER: usize = 4;
const OK: u8 = 0x00;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// An OK or EOF packet at the end of rows is shorter than a row that begins with 0xfe can be.
const END_MAX: usize = 0xff_ffff;
/// The older EOF packet.
const EOF_MAX: usize = 9;

/// Cuts bytes into packets.
#[derive(Debug)]
pub struct Frames<'a>(pub &'a [u8]);

impl<'a> Iterator for Frames<'a> {
    /// The sequence number and the payload.
    type Item = (u8, &'a [u8]);

    /// The next whole packet; what is left of a torn one stays in the first field.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let [a, b, c, sequence] = *self.0.first_chunk::<HEADER>()?;
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        let payload = self.0.get(HEADER..HEADER + length)?;
        self.0 = &self.0[HEADER + length..];
        Some((sequence, payload))
    }
}

/// An error that the server sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// MySQL's number.
    pub code: u16,
    /// Its text.
    pub message: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.code, self.message)
    }
}

impl ServerError {
    /// Takes an ERR packet apart, from behind its first byte.
    #[must_use]
    pub fn parse(payload: &[u8]) -> ServerError {
        let mut cursor = Cursor(payload);
        let code = cursor.u16().unwrap_or(0);
        let text = cursor.rest();
        // The SQLSTATE is left out before the handshake.
        let text = match text {
            [b'#', _, _, _, _, _, text @ ..] => text,
            text => text,
        };
        ServerError {
            code,
            message: String::from_utf8_lossy(text).into_owned(),
        }
    }
}

/// How a command ended: the number of a prepared statement (else 0), or the server's error.
pub type Outcome = Result<u32, ServerError>;

/// What a packet was in its reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// One of several that need no attention.
    More,
    /// The definition of a result's column.
    Column,
    /// A row of a result.
    Row,
    /// The last one.
    Last(Outcome),
}

/// Where in a reply we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// The first packet of the reply to a query or an execution.
    Result,
    /// The first packet of the reply to a preparation.
    Prepared,
    /// So many packets of definitions, then rows.
    Columns(u64),
    /// So many packets that describe the prepared statement of this number.
    Definitions { left: u32, id: u32 },
    /// Rows and the packet that ends them.
    Rows,
}

/// A reply under way.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    expect: Expect,
    /// Whether packets of the older kind separate definitions from rows.
    eofs: bool,
}

/// Bytes that are no reply to what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl Reply {
    /// The reply to a query or an execution.
    #[must_use]
    pub fn to_query(capabilities: u32) -> Reply {
        Reply {
            expect: Expect::Result,
            eofs: capabilities & capability::DEPRECATE_EOF == 0,
        }
    }

    /// The reply to a preparation.
    #[must_use]
    pub fn to_prepare(capabilities: u32) -> Reply {
        Reply {
            expect: Expect::Prepared,
            ..Reply::to_query(capabilities)
        }
    }

    /// Takes the next packet, whose pieces are joined.
    pub fn packet(&mut self, payload: &[u8]) -> Result<Part, Malformed> {
        let first = *payload.first().ok_or(Malformed)?;
        match self.expect {
            Expect::Columns(left) => {
                self.expect = if left > 1 {
                    Expect::Columns(left - 1)
                } else {
                    Expect::Rows
                };
                let is_eof = self.eofs && left == 1;
                Ok(if is_eof { Part::More } else { Part::Column })
            }
            Expect::Definitions { left, id } if left > 1 => {
                self.expect = Expect::Definitions { left: left - 1, id };
                Ok(Part::More)
            }
            Expect::Definitions { id, .. } => Ok(Part::Last(Ok(id))),
            _ if first == ERROR => Ok(Part::Last(Err(ServerError::parse(&payload[1..])))),
            Expect::Rows => {
                let end_max = if self.eofs { EOF_MAX } else { END_MAX };
                let ends = first == END && payload.len() < end_max;
                Ok(if ends { Part::Last(Ok(0)) } else { Part::Row })
            }
            Expect::Result if first == OK => Ok(Part::Last(Ok(0))),
            Expect::Result => {
                let columns = Cursor(payload).lenenc().ok_or(Malformed)?;
                self.expect = Expect::Columns(columns + u64::from(self.eofs));
                Ok(Part::More)
            }
            Expect::Prepared => self.prepared(payload).ok_or(Malformed),
        }
    }

    fn prepared(&mut self, payload: &[u8]) -> Option<Part> {
        let mut cursor = Cursor(payload);
        cursor.u8().filter(|first| *first == OK)?;
        let id = cursor.u32()?;
        let packets = |definitions: u16| {
            let eof = self.eofs && definitions > 0;
            u32::from(definitions) + u32::from(eof)
        };
        let left = packets(cursor.u16()?) + packets(cursor.u16()?);
        if left == 0 {
            return Some(Part::Last(Ok(id)));
        }
        self.expect = Expect::Definitions { left, id };
        Some(Part::More)
    }
}

/// Writes a command of a code and an argument, as the first packet of an exchange.
pub fn put_command(out: &mut Writer, code: u8, argument: &[u8]) {
    out.sequence = 0;
    out.begin();
    out.buffer.push(code);
    out.buffer.extend_from_slice(argument);
    out.end();
}

/// A parameter of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// NULL.
    Null,
    /// INT UNSIGNED.
    Int(u32),
    /// BIGINT.
    Signed(i64),
    /// BIGINT UNSIGNED.
    Long(u64),
    /// DATETIME.
    Moment(DateTime),
    /// CHAR.
    Text(&'a [u8]),
}

impl Parameter<'_> {
    /// Its type on the wire, and the flag that says UNSIGNED.
    fn kind(&self) -> [u8; 2] {
        match self {
            Parameter::Null => [column::NULL, 0],
            Parameter::Int(_) => [column::LONG, UNSIGNED],
            Parameter::Signed(_) => [column::LONGLONG, 0],
            Parameter::Long(_) => [column::LONGLONG, UNSIGNED],
            Parameter::Moment(_) => [column::DATETIME, 0],
            Parameter::Text(_) => [column::STRING, 0],
        }
    }
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Parameter::Null => {}
            Parameter::Int(n) => out.extend_from_slice(&n.to_le_bytes()),
            Parameter::Signed(n) => out.extend_from_slice(&n.to_le_bytes()),
            Parameter::Long(n) => out.extend_from_slice(&n.to_le_bytes()),
            Parameter::Moment(m) => put_binary_datetime(out, m.date, Some(m.parts())),
            Parameter::Text(text) => put_string(out, text),
        }
    }
}

/// Writes COM_STMT_EXECUTE, its parameters with their types.
pub fn put_execute(out: &mut Writer, id: u32, parameters: &[Parameter<'_>]) {
    out.sequence = 0;
    out.begin();
    out.buffer.push(command::STMT_EXECUTE);
    out.buffer.extend_from_slice(&id.to_le_bytes());
    out.buffer.extend_from_slice(&[0, 1, 0, 0, 0]); // no cursor, one iteration
    if !parameters.is_empty() {
        for eight in parameters.chunks(8) {
            let bits = eight.iter().rev();
            let nulls = bits.fold(0, |bits, p| bits << 1 | u8::from(*p == Parameter::Null));
            out.buffer.push(nulls);
        }
        out.buffer.push(1); // the types follow
        for parameter in parameters {
            out.buffer.extend_from_slice(&parameter.kind());
        }
        for parameter in parameters {
            parameter.put(&mut out.buffer);
        }
    }
    out.end();
}

#[cfg(test)]
mod tests;
