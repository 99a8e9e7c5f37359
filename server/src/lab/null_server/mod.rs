//! A server that answers without doing anything: the upper bound of what a benchmark's client,
//! the network and the protocol leave for a database.
//!
//! It lets everybody in. A SELECT gets one row with one column of 120 bytes, as sysbench's point
//! select does; everything else gets OK. Statements can be text or prepared. One thread per
//! connection, blocking reads, one write per reply: what Cohort does.
//!
//! `cohort lab null-server --port PORT [--datadir DIRECTORY]`, on loopback, a process of its own. With
//! a directory a statement that changes something, and COMMIT, get their OK when a record is durable
//! in a log there: see [`durable`].

mod durable;

use clap::Args;
use cohort_process::companion::accompany;
use durable::Commits;
use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::PathBuf,
    sync::Arc,
    thread,
};

const DEPRECATE_EOF: u32 = 1 << 24;
/// LONG_PASSWORD, FOUND_ROWS, LONG_FLAG, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS,
/// SECURE_CONNECTION, the multi-statement flags, PLUGIN_AUTH and DEPRECATE_EOF.
const CAPABILITIES: u32 = 0x0000_0001
    | 0x0000_0002
    | 0x0000_0004
    | 0x0000_0008
    | 0x0000_0200
    | 0x0000_2000
    | 0x0000_8000
    | 0x000f_0000
    | DEPRECATE_EOF;
const AUTOCOMMIT: u16 = 2;
const ROW_BYTES: u8 = 120;
/// Of a connection's thread.
const STACK: usize = 64 << 10;

/// `cohort lab null-server`, which other experiments start as the target `limit`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Where to listen, on loopback
    #[arg(long, default_value_t = 3399)]
    port: u16,
    /// Where its log is; without it nothing is durable
    #[arg(long, value_name = "PATH")]
    datadir: Option<PathBuf>,
    /// Run in a session of its own, and end with the process that started this one
    #[arg(long, hide = true)]
    companion: bool,
}

/// Serves until the process ends.
///
/// # Errors
/// It cannot listen, or the log cannot be opened.
pub fn run(options: &Options) -> Result<(), String> {
    let served = || -> io::Result<()> {
        if options.companion {
            accompany().map_err(io::Error::from)?;
        }
        let commits = options.datadir.as_deref().map(Commits::open).transpose()?;
        let commits = commits.map(Arc::new);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        for stream in listener.incoming() {
            let stream = stream?;
            stream.set_nodelay(true)?;
            let commits = commits.clone();
            thread::Builder::new().stack_size(STACK).spawn(move || {
                // A client that hangs up is how every connection ends.
                let _ = serve(stream, commits.as_deref());
            })?;
        }
        Ok(())
    };
    served().map_err(|error| format!("the null server: {error}"))
}

/// What a statement is to this server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Select,
    Begin,
    Change,
    Commit,
    Other,
}

impl Kind {
    fn of(sql: &[u8]) -> Kind {
        const WORDS: [(&str, Kind); 7] = [
            ("select", Kind::Select),
            ("begin", Kind::Begin),
            ("start transaction", Kind::Begin),
            ("commit", Kind::Commit),
            ("insert", Kind::Change),
            ("update", Kind::Change),
            ("delete", Kind::Change),
        ];
        let begins = |word: &str| {
            let begin = sql.get(..word.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()))
        };
        let found = WORDS.iter().find(|(word, _)| begins(word));
        found.map_or(Kind::Other, |(_, kind)| *kind)
    }
}

/// Replies to COM_QUERY and COM_STMT_EXECUTE, made once per connection.
struct Replies {
    ok: Arc<[u8]>,
    text_row: Vec<u8>,
    binary_row: Vec<u8>,
}

fn serve(stream: TcpStream, commits: Option<&Commits>) -> io::Result<()> {
    let shared = Arc::new(stream);
    let mut stream = &*shared;
    stream.write_all(&packet(0, &greeting()))?;
    let mut packets = Packets::default();
    let capabilities = {
        let response = packets.next(stream)?;
        let bytes = response.first_chunk().ok_or(io::ErrorKind::InvalidData)?;
        u32::from_le_bytes(*bytes)
    };
    stream.write_all(&packet(2, &ok(0)))?;
    let eof = capabilities & DEPRECATE_EOF == 0;
    let replies = Replies {
        ok: packet(1, &ok(0)).into(),
        text_row: result(eof, false),
        binary_row: result(eof, true),
    };
    let mut kinds = Vec::new();
    let mut in_transaction = false;
    loop {
        let command = packets.next(stream)?;
        let (&code, rest) = command.split_first().ok_or(io::ErrorKind::InvalidData)?;
        let (kind, row) = match code {
            0x01 => return Ok(()),
            0x03 => (Kind::of(rest), &replies.text_row),
            0x16 => {
                let kind = Kind::of(rest);
                kinds.push(kind);
                let parameters = rest.iter().filter(|b| **b == b'?').count() as u16;
                let id = kinds.len() as u32;
                let select = kind == Kind::Select;
                stream.write_all(&prepared(id, parameters, select, eof))?;
                continue;
            }
            0x17 => {
                let id = rest.first_chunk().map_or(0, |b| u32::from_le_bytes(*b)) as usize;
                let kind = kinds.get(id.wrapping_sub(1));
                (kind.copied().unwrap_or(Kind::Other), &replies.binary_row)
            }
            0x18 | 0x19 => continue, // long data and close have no reply
            _ => (Kind::Other, &replies.text_row),
        };
        // A transaction is one record, at its COMMIT.
        let durable = kind == Kind::Commit || kind == Kind::Change && !in_transaction;
        in_transaction = kind == Kind::Begin || in_transaction && kind != Kind::Commit;
        match (kind, commits) {
            (Kind::Select, _) => stream.write_all(row)?,
            (_, Some(commits)) if durable => commits.reply(&shared, &replies.ok)?,
            _ => stream.write_all(&replies.ok)?,
        }
    }
}

/// Reads packets, whole ones of at most 16 MiB.
#[derive(Default)]
struct Packets {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Packets {
    fn next(&mut self, stream: &TcpStream) -> io::Result<&[u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        self.fill(stream, 4)?;
        let header = &self.buffer[self.start..self.start + 4];
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        self.fill(stream, 4 + length)?;
        let from = self.start + 4;
        self.start = from + length;
        Ok(&self.buffer[from..self.start])
    }

    fn fill(&mut self, mut stream: &TcpStream, wanted: usize) -> io::Result<()> {
        if self.buffer.len() < self.start + wanted {
            self.buffer.resize((self.start + wanted).max(16 << 10), 0);
        }
        while self.end - self.start < wanted {
            match stream.read(&mut self.buffer[self.end..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => self.end += n,
            }
        }
        Ok(())
    }
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    let mut out = vec![length[0], length[1], length[2], sequence];
    out.extend_from_slice(payload);
    out
}

fn greeting() -> Vec<u8> {
    let capabilities = CAPABILITIES.to_le_bytes();
    let mut out = b"\x0a9.7.0-null\0\x01\0\0\0abcdefgh\0".to_vec();
    out.extend_from_slice(&capabilities[..2]);
    out.push(255);
    out.extend_from_slice(&AUTOCOMMIT.to_le_bytes());
    out.extend_from_slice(&capabilities[2..]);
    out.push(21);
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    out
}

/// An OK packet, or with 0xfe before it, the end of rows.
fn ok(header: u8) -> Vec<u8> {
    let mut out = vec![header, 0, 0];
    out.extend_from_slice(&AUTOCOMMIT.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out
}

fn eof_packet() -> Vec<u8> {
    let mut out = vec![0xfe, 0, 0];
    out.extend_from_slice(&AUTOCOMMIT.to_le_bytes());
    out
}

/// The definition of `c CHAR(120)`, with the names sysbench's table has.
fn column() -> Vec<u8> {
    let mut out = Vec::new();
    for name in ["def", "sbtest", "sbtest1", "sbtest1", "c", "c"] {
        out.push(name.len() as u8);
        out.extend_from_slice(name.as_bytes());
    }
    out.extend_from_slice(&[0x0c, 255, 0, 0xe0, 1, 0, 0, 0xfe, 1, 0, 0, 0, 0]);
    out
}

fn parameter() -> Vec<u8> {
    let mut out = b"\x03def\0\0\0\x01?\0".to_vec();
    out.extend_from_slice(&[0x0c, 63, 0, 0, 0, 0, 0, 0xfd, 0x80, 0, 0, 0, 0]);
    out
}

/// One row of `c`.
fn result(eof: bool, binary: bool) -> Vec<u8> {
    let mut row = if binary { vec![0, 0] } else { Vec::new() };
    row.push(ROW_BYTES);
    row.extend((0..ROW_BYTES).map(|i| if i % 12 == 11 { b'-' } else { b'0' + i % 10 }));
    let mut payloads = vec![vec![1], column()];
    if eof {
        payloads.push(eof_packet());
    }
    payloads.push(row);
    payloads.push(if eof { eof_packet() } else { ok(0xfe) });
    numbered(&payloads)
}

fn prepared(id: u32, parameters: u16, select: bool, eof: bool) -> Vec<u8> {
    let mut first = vec![0];
    first.extend_from_slice(&id.to_le_bytes());
    first.extend_from_slice(&[u8::from(select), 0]);
    first.extend_from_slice(&parameters.to_le_bytes());
    first.extend_from_slice(&[0, 0, 0]);
    let mut payloads = vec![first];
    payloads.extend((0..parameters).map(|_| parameter()));
    if eof && parameters > 0 {
        payloads.push(eof_packet());
    }
    if select {
        payloads.push(column());
        if eof {
            payloads.push(eof_packet());
        }
    }
    numbered(&payloads)
}

/// The packets of one reply to a command.
fn numbered(payloads: &[Vec<u8>]) -> Vec<u8> {
    let sequence = 1u8..=u8::MAX;
    payloads
        .iter()
        .zip(sequence)
        .flat_map(|(payload, n)| packet(n, payload))
        .collect()
}
