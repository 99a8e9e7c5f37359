//! Transactions: snapshots, locks, write sets, and the commit that ties log and store together.
//!
//! | file | what is inside |
//! |---|---|
//! | `engine`, `error` | the open database; why an operation of it failed |
//! | `transaction`, `used` | a transaction: its tables and its end |
//! | `snapshot`, `read`, `own` | what plain reads see; reading; own changes in plain scans of indexes |
//! | `entry`, `row_change`, `write` | the keys of rows and index entries; what changes of rows do to trees; writing |
//! | `claim` | the places of new rows: locks, duplicates |
//! | `late`, `delay` | index entries that are yet to come; that they come when their statement ends |
//! | `writes` | the write set: overlay, undo, changes for the log |
//! | `commit`, `placed`, `times` | the commit pipeline and back-pressure; a commit on its way, and its time |
//! | `prepared`, `prepared_list` | XA: transactions between their two phases; the list of them |
//! | `lock` | row, range and metadata locks, deadlocks |
//! | `held`, `locking` | the row and range locks of a transaction; taking and releasing them |
//! | `table_locks` | LOCK TABLES and the like |
//! | `descriptor` | what others may know of a transaction; snapshots and the pruner's horizon |
//! | `owner`, `waiting`, `waiter` | sessions; how they wait; waits for locks |
//! | `depends`, `replies` | what a session has met that is not durable yet; replies wait for it |
//! | `dictionary`, `ddl` | the data dictionary, its changes |
//! | `site`, `build` | what trees are made of in bulk, and where; making them |
//! | `gather`, `runs` | entries from many rows by several threads; sorting more than fits into memory |
//! | `building`, `progress` | making them beside writers; how far that is |
//! | `creation` | a table that is made together with its rows |
//! | `temporary`, `temporary_ddl` | tables of one session; making and changing them |
//! | `table_state`, `auto_increment` | what is known of a table beside its definition; its next values |
//! | `check`, `compact` | CHECK TABLE; giving the Base's free space back to the disk |
//! | `backup`, `restore` | a copy of all that is there, for elsewhere; a data directory made of one |
//! | `dirty` | uncommitted changes, for READ UNCOMMITTED |
//! | `checkpoint`, `checkpointer`, `meta`, `recover` | from memory to the Base, and back at a start |
//! | `statistics` | what indexes are like, and rows from all over a table, for the planner |
//! | `parts` | what several threads read of one statement at the same time |
//! | `stats` | what it tells about itself |
//!
//! The files import one another without circles: a type that many need stands in a file of its
//! own, and its methods may stand in files above it.

mod auto_increment;
pub mod backup;
mod beside;
mod build;
mod building;
mod check;
mod checkpoint;
mod checkpointer;
mod chunks;
mod claim;
mod commit;
mod compact;
mod creation;
mod ddl;
mod definitions;
mod delay;
mod depends;
mod descriptor;
mod dictionary;
mod dirty;
mod engine;
mod entry;
mod error;
mod gather;
mod held;
mod late;
mod lock;
mod locking;
mod meta;
mod own;
mod owner;
mod parts;
mod placed;
mod prepared;
mod prepared_list;
mod progress;
mod read;
mod recover;
mod replies;
mod reshaping;
pub mod restore;
mod row_change;
mod runs;
mod search;
mod site;
mod snapshot;
mod statistics;
mod stats;
mod table_locks;
mod table_state;
mod temporary;
mod temporary_ddl;
#[cfg(test)]
mod tests;
mod times;
mod transaction;
mod used;
mod waiter;
mod waiting;
mod write;
mod writes;

pub use crate::store::{Batch, KeyRange, Numbering, Postings, Term};
pub use auto_increment::{Numbers, Spacing};
pub use check::TableReport;
pub use compact::{Compacted, compact};
pub use creation::Creation;
pub use ddl::{DdlStatement, Others, Related, SchemaChange, concerned_children};
pub use dictionary::Dictionary;
pub use engine::{Engine, EngineOptions, Step};
pub use error::{OpenError, TxnError};
pub use lock::{
    DeadlockParty, DeadlockReport, LockInfo, LockKind, LockScope, LockStats, LockWait,
    MetadataLockInfo, MetadataObject, table_lock::TableLock,
};
pub use owner::Owner;
pub use placed::Placed;
pub use prepared::{PreparedInfo, XidClaim};
pub use progress::{BuildProgress, Stage};
pub use read::Scan;
pub use search::Found;
pub use site::{Copying, RowConversion};
pub use stats::{EngineStats, TransactionInfo};
pub use table_locks::TableLocks;
pub use table_state::IndexStatistics;
pub use times::CommitTimes;
pub use transaction::Txn;
pub use waiting::{Lent, Unattended, WaitFor, Waiting};
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
