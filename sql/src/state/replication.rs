//! What statements can see and change of the replication from another server. The server provides
//! it; an instance without a server has none.

use crate::{
    error::SqlError,
    replication::{FilterEntry, FilterRule, ReplicationFilter, Until},
};
use cohort_engine::types::Gtid;

/// A transaction of the source on its way. Moments are in microseconds since 1970, 0 if they are not
/// known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transit {
    /// Its name; `None`: it has none.
    pub gtid: Option<Gtid>,
    /// When it was committed first.
    pub original: u64,
    /// When it was committed at the source.
    pub immediate: u64,
    /// When it began to be received, or applied.
    pub begun: u64,
    /// When it was.
    pub ended: u64,
    /// How often it was begun again.
    pub retries: u64,
}

/// How a replica is.
#[derive(Clone, Debug, Default)]
pub struct ReplicaStatus {
    /// What the thread that receives does, in MySQL's words; empty if there is none.
    pub state: String,
    /// The source's address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// As whom it logs in.
    pub user: String,
    /// Seconds between attempts to connect, and how many are made.
    pub retry: (u64, u64),
    /// Up to where events have come.
    pub received: (String, u64),
    /// Up to where they are applied.
    pub applied: (String, u64),
    /// It is connected to the source.
    pub receives: Option<bool>,
    /// It applies events.
    pub applies: bool,
    /// The number and text of the error that keeps it from receiving.
    pub receive_error: Option<(u16, String)>,
    /// The same of applying.
    pub apply_error: Option<(u16, String)>,
    /// How many seconds after the source it is; `None`: it does not apply.
    pub behind_seconds: Option<u64>,
    /// The source's server_id and server_uuid.
    pub source: (u32, String),
    /// SOURCE_DELAY, in seconds.
    pub delay_seconds: u64,
    /// How many seconds of it are left.
    pub delay_left: Option<u64>,
    /// Whether transactions are asked for by GTID.
    pub auto_position: bool,
    /// GTIDs received.
    pub retrieved: String,
    /// Whether it speaks TLS, the file of authorities, whether the name is verified.
    pub tls: (bool, String, bool),
    /// GET_SOURCE_PUBLIC_KEY.
    pub get_public_key: bool,
    /// It says what it has (semi-synchronous replication).
    pub answers: bool,
    /// SOURCE_HEARTBEAT_PERIOD, in milliseconds.
    pub heartbeat_ms: u64,
    /// How many signs of life there were without an event, and when the last one was.
    pub heartbeats: (u64, u64),
    /// When that error was, in microseconds since 1970.
    pub receive_error_at: u64,
    /// When that one was.
    pub apply_error_at: u64,
    /// What was received last.
    pub queued: Option<Transit>,
    /// What is being received.
    pub queueing: Option<Transit>,
    /// What was applied last.
    pub applied_last: Option<Transit>,
    /// What is being applied.
    pub applying: Option<Transit>,
    /// How often transactions were begun again.
    pub retries: u64,
    /// What of the source is made here.
    pub filter: ReplicationFilter,
    /// How far it goes.
    pub until: Option<Until>,
    /// Bytes of events that wait to be applied.
    pub waiting_bytes: u64,
}

/// A replica of another server.
pub trait Replication: Send + Sync {
    /// CHANGE REPLICATION SOURCE TO: options without `SOURCE_`, and their values.
    fn change(&self, options: &[(String, String)]) -> Result<(), SqlError>;
    /// CHANGE REPLICATION FILTER.
    fn filter(&self, rules: &[(FilterRule, Vec<FilterEntry>)]) -> Result<(), SqlError>;
    /// START REPLICA: false if it runs already.
    fn start(&self, until: Option<&Until>) -> Result<bool, SqlError>;
    /// STOP REPLICA: false if it has stopped already.
    fn stop(&self) -> Result<bool, SqlError>;
    /// RESET REPLICA.
    fn reset(&self, all: bool) -> Result<(), SqlError>;
    /// SHOW REPLICA STATUS; `None`: it is no replica.
    fn status(&self) -> Option<ReplicaStatus>;
}
