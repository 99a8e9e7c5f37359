//! The files of a backup, from the server.

use super::{Client, Error, PACKET_MAX, malformed, wire::ServerError};
use crate::backup::{Message, Request};
use cohort_engine::txn::backup::{Backup, FileEnd};
use cohort_sql::session::BackupKind;

/// Who takes the files.
pub trait Files {
    /// A file begins, from this byte on; `length`: how long it will be, if that is known.
    ///
    /// # Errors
    /// It cannot be taken.
    fn begin(&mut self, name: &str, from: u64, length: Option<u64>) -> Result<(), String>;
    /// More of it.
    ///
    /// # Errors
    /// They cannot be taken.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), String>;
    /// It ends.
    ///
    /// # Errors
    /// It is not what was sent, or cannot be kept.
    fn end(&mut self, end: FileEnd) -> Result<(), String>;
}

impl Client {
    /// Has the server send a backup's files.
    ///
    /// # Errors
    /// The server, the connection or `files` have failed.
    pub fn back_up(&mut self, kind: BackupKind, files: &mut dyn Files) -> Result<Backup, Error> {
        self.writer.sequence = 0;
        self.writer.begin();
        self.writer
            .buffer
            .extend_from_slice(&Request(kind).encode());
        self.writer.end();
        self.send()?;
        let mut done = None;
        loop {
            self.reader.next(&mut &self.stream, PACKET_MAX)?;
            let payload = self.reader.payload();
            match payload.split_first() {
                Some((0xff, rest)) => return Err(Error::Server(ServerError::parse(rest))),
                Some((0xfe, _)) => return done.ok_or_else(malformed),
                _ => {}
            }
            let taken = match Message::decode(payload).ok_or_else(malformed)? {
                Message::Begin(name, from, length) => files.begin(name, from, length),
                Message::Bytes(bytes) => files.bytes(bytes),
                Message::End(end) => files.end(end),
                Message::Done(backup) => {
                    done = Some(backup);
                    Ok(())
                }
            };
            taken.map_err(Error::Broken)?;
        }
    }
}
