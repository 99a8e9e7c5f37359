//! The log: the write-ahead log and the MySQL binary log in one.

mod batch;
mod commit;
mod event;
mod files;
mod group;
mod keeper;
mod read;
mod recover;
mod replay;
mod seal;
#[cfg(test)]
mod tests;
mod writer;

pub use batch::{Batch, RowsKind};
pub use commit::{Log, LogError, Options, Status, Ticket, canonical_name};

use crate::Seq;
use serde::{Deserialize, Serialize};

/// A place in the log: a file by its number and a byte in it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position {
    /// The number in the file's name; 0: before the first file.
    pub file: u64,
    /// Byte offset in the file.
    pub offset: u64,
}

/// One file of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// Its number.
    pub number: u64,
    /// Its length in bytes, without what is only preallocated.
    pub size: u64,
    /// The last commit before it.
    pub after: Seq,
    /// When it was begun, in seconds since 1970.
    pub created: u64,
}

impl FileInfo {
    /// Its name, as SHOW BINARY LOGS shows it.
    #[must_use]
    pub fn name(&self) -> String {
        file_name(self.number)
    }
}

/// The name of the file with this number.
#[must_use]
pub fn file_name(number: u64) -> String {
    format!("binlog.{number:06}")
}

/// One event as SHOW BINLOG EVENTS lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventInfo {
    /// Where it begins.
    pub position: u64,
    /// Its type's name.
    pub event_type: &'static str,
    /// The server it comes from.
    pub server_id: u32,
    /// Where it ends.
    pub end: u64,
    /// What is in it, in MySQL's words.
    pub info: String,
}

/// Why the log could not be opened; the text says where, what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError(pub String);

/// How far recovery is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes read so far.
    pub bytes: u64,
    /// Bytes there are to read, about.
    pub bytes_total: u64,
    /// The last commit replayed.
    pub seq: Seq,
}

/// A whole transaction, read back from the log.
pub struct Replayed<'a> {
    /// Its number.
    pub seq: Seq,
    /// When it was committed, in microseconds since 1970.
    pub committed_micros: u64,
    /// Where it begins; a recovery can begin here that needs this commit and later ones.
    pub position: Position,
    /// Its events; all were found whole.
    events: &'a [u8],
}

impl<'a> Replayed<'a> {
    /// What it did, in order.
    pub fn changes(&self) -> impl Iterator<Item = Change<'a>> + use<'a> {
        replay::Changes::new(self.events)
    }
}

/// A part of a replayed transaction. Borrows the buffer it was read into.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// Row changes of one table.
    Rows {
        /// `Table::id`.
        table: u64,
        /// What was done to them.
        kind: RowsKind,
        /// Row images, one after another (`types::row::length` tells where each ends); for
        /// updates the image before and the one after, in turn.
        images: &'a [u8],
    },
    /// An internal record, put or (`None`) deleted.
    Internal {
        /// Its key.
        key: &'a [u8],
        /// Its value.
        value: Option<&'a [u8]>,
    },
    /// A DDL statement.
    Query {
        /// The session's default database.
        database: &'a [u8],
        /// The statement.
        text: &'a [u8],
    },
}
