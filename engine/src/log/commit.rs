//! Group commit.

use super::{Batch, EventInfo, FileInfo, OpenError, Position, Progress, Replayed};
use crate::{Seq, env::Env};
use std::path::Path;

/// How the log is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// As the format description event tells it, e.g. `9.7.0-cohort-0.1.0`.
    pub server_version: String,
    /// server_id.
    pub server_id: u32,
    /// server_uuid: the source of the GTIDs.
    pub server_uuid: [u8; 16],
    /// sync_binlog: 1: every group; 0: when the system likes; N: every Nth group.
    pub sync_binlog: u64,
    /// max_binlog_size in bytes: the next group after it goes to a new file.
    pub max_binlog_size: u64,
    /// binlog_expire_logs_seconds; 0: never.
    pub expire_logs_seconds: u64,
}

/// The log cannot go on (or could not do what was asked); the text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogError(pub String);

/// A commit's place in the log.
pub struct Ticket {}

impl Ticket {
    /// Its number.
    #[must_use]
    pub fn seq(&self) -> Seq {
        unimplemented!()
    }
    /// Says that the commit's changes are where readers find them. Must be called once for every
    /// ticket, soon: no later commit becomes visible before.
    pub fn applied(&mut self) {
        unimplemented!()
    }
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Status {
    /// Transactions written.
    pub commits: u64,
    /// Groups written: each one write and (with sync_binlog=1) one fdatasync.
    pub groups: u64,
    /// The most commits in one group.
    pub group_commits_max: u64,
    /// Bytes written by groups.
    pub bytes: u64,
    /// fdatasyncs made by groups.
    pub fsyncs: u64,
}

/// The open log.
pub struct Log {}

impl Log {
    /// Opens the log in `dir`, calls `replay` for every whole transaction after `applied`,
    /// reading from `from`, cuts a torn tail and begins a new file.
    pub fn open(
        env: &Env,
        dir: &Path,
        options: Options,
        from: Position,
        applied: Seq,
        replay: &mut dyn FnMut(Replayed<'_>) -> Result<(), String>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Log, OpenError> {
        let _ = (env, dir, options, from, applied, replay, progress);
        unimplemented!()
    }
    /// Gives a transaction its number and its place. `placed` runs inside the short critical
    /// section: whatever it does happens in the order of the numbers.
    pub fn commit<R>(
        &self,
        batch: Batch,
        placed: impl FnOnce(Seq) -> R,
    ) -> Result<(Ticket, R), LogError> {
        let _ = (batch, placed);
        unimplemented!()
    }
    /// Waits until the commit, and all before it, are durable and applied: visible.
    pub fn wait(&self, ticket: Ticket) -> Result<(), LogError> {
        let _ = ticket;
        unimplemented!()
    }
    /// The newest commit that readers may see.
    #[must_use]
    pub fn visible(&self) -> Seq {
        unimplemented!()
    }
    /// Waits until `seq` is visible.
    pub fn wait_visible(&self, seq: Seq) -> Result<(), LogError> {
        let _ = seq;
        unimplemented!()
    }
    /// Makes everything up to `seq` durable even if sync_binlog is not 1; to be called before a
    /// checkpoint with these commits is made durable.
    pub fn wait_durable(&self, seq: Seq) -> Result<(), LogError> {
        let _ = seq;
        unimplemented!()
    }
    /// The newest durable commit.
    #[must_use]
    pub fn durable(&self) -> Seq {
        unimplemented!()
    }
    /// Runs `f` with the newest commit's number while no commit can take its place.
    pub fn exclusive<R>(&self, f: impl FnOnce(Seq) -> R) -> R {
        let _ = f;
        unimplemented!()
    }
    /// Where a recovery can begin that needs only commits after `durable()` as of now.
    #[must_use]
    pub fn position(&self) -> Position {
        unimplemented!()
    }
    /// The end of the last written group: SHOW BINARY LOG STATUS.
    #[must_use]
    pub fn end(&self) -> Position {
        unimplemented!()
    }
    /// Files from this position on are not purged.
    pub fn set_recovery_floor(&self, floor: Position) {
        let _ = floor;
        unimplemented!()
    }
    /// FLUSH BINARY LOGS: begins a new file.
    pub fn rotate(&self) -> Result<(), LogError> {
        unimplemented!()
    }
    /// PURGE BINARY LOGS TO: removes the files before the named one, as far as recovery can do
    /// without them. Returns how many were removed; `None` if there is no such file.
    pub fn purge_to(&self, name: &str) -> Result<Option<usize>, LogError> {
        let _ = name;
        unimplemented!()
    }
    /// PURGE BINARY LOGS BEFORE: removes files whose last event is older (seconds since 1970).
    pub fn purge_before(&self, seconds: u64) -> Result<usize, LogError> {
        let _ = seconds;
        unimplemented!()
    }
    /// The files, oldest first.
    #[must_use]
    pub fn files(&self) -> Vec<FileInfo> {
        unimplemented!()
    }
    /// Events of a file (`None`: no such file), from a position on, at most `limit`.
    pub fn events(
        &self,
        name: &str,
        from: u64,
        limit: usize,
    ) -> Result<Option<Vec<EventInfo>>, LogError> {
        let _ = (name, from, limit);
        unimplemented!()
    }
    /// Changes sync_binlog.
    pub fn set_sync_binlog(&self, value: u64) {
        let _ = value;
        unimplemented!()
    }
    /// Changes max_binlog_size.
    pub fn set_max_binlog_size(&self, bytes: u64) {
        let _ = bytes;
        unimplemented!()
    }
    /// Changes binlog_expire_logs_seconds.
    pub fn set_expire_logs_seconds(&self, seconds: u64) {
        let _ = seconds;
        unimplemented!()
    }
    /// The counters.
    #[must_use]
    pub fn status(&self) -> Status {
        unimplemented!()
    }
    /// Writes what is placed, marks the file as closed (STOP) and ends the log's threads.
    /// Dropping does the same, without telling errors.
    pub fn close(self) -> Result<(), LogError> {
        unimplemented!()
    }
}
