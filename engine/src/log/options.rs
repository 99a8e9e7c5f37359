//! How the log is opened, and how it says that it failed.

use crate::types::{Gtid, gtid::NUMBER_MAX};
use std::fmt;

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
    /// How many bytes of zeros are kept ahead of the last group.
    pub preallocate: u64,
    /// For simulation: no thread is started. Whoever waits for the log does its work, and
    /// [`super::Log::step`] does what nobody waits for, so that the same calls give the same
    /// writes.
    pub inline: bool,
}

impl Options {
    /// MySQL's defaults.
    #[must_use]
    pub fn new(server_version: &str, server_uuid: [u8; 16]) -> Options {
        Options {
            server_version: server_version.to_owned(),
            server_id: 1,
            server_uuid,
            sync_binlog: 1,
            max_binlog_size: 1 << 30,
            expire_logs_seconds: 30 * 24 * 3600,
            preallocate: 16 << 20,
            inline: false,
        }
    }
}

/// The log could not do what was asked; the text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// The log cannot go on, or only this request failed.
    Failed(String),
    /// The disk is full: nothing more is committed until there is room again.
    Full(String),
    /// There is a transaction of that name already, or there cannot be one.
    Executed(Gtid),
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Failed(text) | LogError::Full(text) => f.write_str(text),
            LogError::Executed(gtid) if (1..=NUMBER_MAX).contains(&gtid.number) => {
                write!(f, "transaction {gtid} was executed before")
            }
            LogError::Executed(gtid) => {
                write!(
                    f,
                    "there cannot be a transaction {gtid}: its number is none"
                )
            }
        }
    }
}

impl std::error::Error for LogError {}
