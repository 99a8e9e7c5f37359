//! The log: the write-ahead log and the MySQL binary log in one.
//!
//! # What makes it hard
//!
//! A commit must not be acknowledged before it is durable, and an fsync takes as long as a
//! hundred commits. So commits travel in groups: while one group is being synced the next one
//! fills. Everything that is not the write and the sync of a group (new files, zeros, the index,
//! purging) must happen elsewhere, and still leave files that recovery understands after a crash
//! at any moment, and that MySQL's tools understand at all times.
//!
//! # Invariants
//!
//! 1. Seqs are consecutive in the log, without gaps, over all files: log order is commit order.
//! 2. A transaction is in one file, a group too; each group is one write and one fdatasync
//!    (large members are written from their own buffers).
//! 3. `visible` ≤ `durable` (with sync_binlog=1) ≤ placed. A group becomes visible when it and all
//!    before it are durable, applied and, with semi-synchronous replication, acknowledged by
//!    replicas; then its members are woken.
//! 4. A file's header says the last commit before it, and is written when that is durable.
//! 5. A file is named in the index, durably, before its first commit; a name leaves the index,
//!    durably, before its file is removed.
//! 6. A GTID event's last_committed is the last commit of its file that was durable when its
//!    group was begun. (With sync_binlog=1 that is the last one of the group before: MySQL's
//!    commit-order clock.) Recovery tells a torn tail from damage by it. A commit that has met
//!    another one of its group says that one's number instead, for replicas that apply
//!    transactions side by side, and has a flag by which recovery knows.
//! 7. The first failed sync is the last, and so is a failed write: it is not known what is on the
//!    disk, and a second fsync that succeeds would not tell. But a write that failed for want of
//!    space is tried again, in the same place, until there is some: nothing was synced since.
//! 8. A file in use is longer, durably, than the end of any group before this is written: a file
//!    that is shorter was cut.
//!
//! # How a commit goes
//!
//! The committer encodes its events ([`Batch`]) and completes them but for what depends on its
//! place; in the critical section (`shared::Section`) it takes its Seq and puts its bytes at the
//! end of the open group (`group`). The log thread (`writer`) takes the group, fills in positions,
//! clocks and checksums (`seal`), writes and syncs it, publishes it, and takes the next one; when
//! there is none it sleeps, and only then a committer wakes it. All members of a group wait on one
//! futex, but those who want to be told instead (`tell`), which the log thread does itself. The
//! keeper thread (`keeper`) fills the file with zeros ahead of the writer, prepares the next file
//! and finishes the last one. `recover` reads it all back.
//!
//! # What was tried and rejected
//!
//! Measured with 300-byte records on two cores (commits/s with 1 / 16 / 64 clients): a leader that
//! writes for its followers 11k / 67k / 173k, this log thread 11k / 106k / 253k, the same without
//! zeros ahead 7k / 84k / 186k. Waking two members of a group, who wake two each, instead of all at
//! once: a fifth or less of the throughput when the machine is busy, as each link of the chain
//! waits for a processor. posix_fallocate instead of zeros: no gain, as the first write of each
//! block still changes the file system's tables. Recycled files: a reader would see old events.

mod admin;
mod batch;
mod block;
mod change;
mod commit;
mod copy;
mod cut;
mod event;
mod executed;
mod files;
mod follow;
mod group;
pub mod incoming;
mod keeper;
mod membership;
mod offline;
mod options;
mod read;
mod reading;
mod recent;
mod recover;
mod replay;
mod seal;
mod semi_sync;
mod shared;
mod statement;
mod tell;
#[cfg(test)]
mod tests;
mod times;
mod writer;

pub use admin::canonical_name;
pub use batch::{Batch, Origin};
pub use block::Events;
pub use change::{Change, Replayed, Xa, changes};
pub use commit::{Log, LogStep, Ticket};
pub use copy::{Copied, CopiedCommit, LogCopy};
pub use cut::{Begins, CutError, Files as CutFiles, Remains, Target, begins, cut};
pub use event::Mapped;
pub use event::RowsKind;
pub use executed::Kept;
pub use files::file_number;
pub use follow::{FollowError, Follower, Start, Step};
pub use membership::{Groups, Membership};
pub use offline::{LogFile, LoggedPart, LoggedRow, LoggedRows, LoggedTransaction};
pub use options::{LogError, Options};
pub use reading::Reading;
pub use replay::{InOrder, Replay, ReplayError};
pub use semi_sync::{SemiSyncSettings, SemiSyncStatus};
pub use shared::Status;
pub use statement::{LoggedStatement, statement};
pub use times::GroupTimes;

use crate::{Seq, types::ServerUuid};
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

/// What the base knows of the log: where it goes on.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Where reading begins; the default is the beginning of the first file.
    pub position: Position,
    /// The base has all commits up to this one: those before `position` are not after it.
    pub applied: Seq,
    /// The server that wrote the file of `position`, by which another log is told.
    pub source: Option<ServerUuid>,
    /// The GTIDs of the commits up to `applied`; `None`: those of `source`, from 1 on.
    pub kept: Option<Kept>,
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
