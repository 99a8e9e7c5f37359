//! Transactions: snapshots, locks, write sets, and the commit that ties log and store together.
//!
//! | file | what is inside |
//! |---|---|
//! | `engine`, `error` | the open database; why an operation of it failed |
//! | `transaction`, `read`, `write` | a transaction: its snapshot and its end; reading; writing |
//! | `held` | the row and range locks of a transaction |
//! | `depends` | what a session has met that is not durable yet |
//! | `own` | own changes in plain scans of indexes |
//! | `claim` | the places of new rows: locks, duplicates |
//! | `writes` | the write set: overlay, undo, changes for the log |
//! | `commit` | the commit pipeline and back-pressure |
//! | `prepared` | XA: transactions between their two phases |
//! | `lock` | row, range and metadata locks, deadlocks |
//! | `descriptor` | what others may know of a transaction; snapshots and the pruner's horizon |
//! | `owner` | sessions and how they wait |
//! | `table_locks` | LOCK TABLES and the like |
//! | `dictionary`, `ddl`, `build` | the data dictionary, its changes, bulk builds |
//! | `check` | CHECK TABLE |
//! | `dirty` | uncommitted changes, for READ UNCOMMITTED |
//! | `checkpoint`, `meta`, `recover` | from memory to the Base, and back at a start |
//! | `stats` | what it tells about itself |

mod build;
mod check;
mod checkpoint;
mod claim;
mod commit;
mod ddl;
mod depends;
mod descriptor;
mod dictionary;
mod dirty;
mod engine;
mod error;
mod held;
mod lock;
mod meta;
mod own;
mod owner;
mod prepared;
mod read;
mod recover;
mod stats;
mod table_locks;
#[cfg(test)]
mod tests;
mod transaction;
mod write;
mod writes;

pub use crate::store::Batch;
pub use check::TableReport;
pub use commit::Placed;
pub use ddl::{DdlStatement, RowConversion, SchemaChange};
pub use dictionary::Dictionary;
pub use engine::{Engine, EngineOptions, Step};
pub use error::TxnError;
pub use lock::{DeadlockParty, DeadlockReport, LockInfo, LockKind, LockScope, LockStats, LockWait};
pub use owner::{Owner, Unattended, WaitFor, Waiting};
pub use prepared::{PreparedInfo, XidClaim};
pub use read::{KeyRange, Scan};
pub use recover::OpenError;
pub use stats::{EngineStats, TransactionInfo};
pub use table_locks::TableLocks;
pub use transaction::Txn;
pub use writes::Savepoint;

/// What a transaction's plain reads see, and what its locking reads protect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED: prevents dirty writes only. Plain reads see the newest committed version,
    /// or another transaction's uncommitted one. The reply waits until the committed versions it
    /// met are durable. For uncommitted ones it cannot: what it tells of them may never come to be,
    /// after a ROLLBACK as after a crash.
    ReadUncommitted,
    /// READ COMMITTED: a snapshot per statement, no range locks.
    ReadCommitted,
    /// REPEATABLE READ: a snapshot per transaction; locking reads take range locks.
    RepeatableRead,
    /// SERIALIZABLE: as REPEATABLE READ, and plain reads lock unless autocommit.
    Serializable,
}

/// The strength of a row lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// S: FOR SHARE.
    Shared,
    /// X: FOR UPDATE, UPDATE, DELETE.
    Exclusive,
}

/// What to do when a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Wait, at most the transaction's lock wait time.
    Wait,
    /// NOWAIT: fail with `TxnError::Nowait`.
    Fail,
    /// SKIP LOCKED: leave the row out.
    Skip,
}

/// How a read treats concurrent transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// From the snapshot, without locks.
    Plain,
    /// The newest committed version, without locks: to be locked and read again.
    Newest,
    /// The newest version, locked.
    Locking(LockMode, OnConflict),
}

/// How a transaction begins.
#[derive(Clone, Copy, Debug)]
pub struct TxnOptions {
    /// Its isolation level.
    pub isolation: Isolation,
    /// Writes are refused with `ReadOnly`.
    pub read_only: bool,
    /// innodb_lock_wait_timeout, in milliseconds.
    pub lock_wait_ms: u64,
    /// lock_wait_timeout, for metadata locks, in milliseconds.
    pub table_lock_wait_ms: u64,
}
