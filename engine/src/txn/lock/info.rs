//! What others are told of locks.

use super::{
    super::{LockMode, descriptor::Descriptor, table_state::TableState},
    table_lock::TableLock,
};
use crate::types::{TableId, TreeId};
use std::{sync::atomic::Ordering, time::Duration};

/// What a lock is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// A row or an index entry.
    Row {
        /// S or X.
        mode: LockMode,
        /// Its name.
        key: Vec<u8>,
    },
    /// The keys from `low` to `high` (exclusive; `None`: the end), against inserts.
    Range {
        /// First key.
        low: Vec<u8>,
        /// First key after it.
        high: Option<Vec<u8>>,
    },
    /// An insert that waits for range locks.
    Insert {
        /// Where.
        key: Vec<u8>,
    },
}

/// One lock or request, for those who look at the lock table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockInfo {
    /// The connection.
    pub session: u64,
    /// The transaction.
    pub transaction: u64,
    /// In which tree.
    pub tree: TreeId,
    /// On what.
    pub kind: LockKind,
    /// Held, or waited for.
    pub granted: bool,
}

impl LockInfo {
    pub(super) fn new(who: &Descriptor, tree: TreeId, kind: LockKind, granted: bool) -> LockInfo {
        LockInfo {
            session: who.session,
            transaction: who.id.load(Ordering::Relaxed),
            tree,
            kind,
            granted,
        }
    }
}

/// What a metadata lock is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataObject {
    /// A table.
    Table(TableId),
    /// All that is written: FLUSH TABLES WITH READ LOCK, and what it keeps out.
    Writes,
    /// All definitions: LOCK INSTANCE FOR BACKUP, and what it keeps out.
    Definitions,
}

impl MetadataObject {
    pub(in super::super) fn of(state: &TableState) -> MetadataObject {
        match state.id {
            TableState::READ_LOCK => MetadataObject::Writes,
            TableState::BACKUP_LOCK => MetadataObject::Definitions,
            table => MetadataObject::Table(table),
        }
    }
}

/// One metadata lock or request, for those who look at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataLockInfo {
    /// The connection.
    pub session: u64,
    /// On what.
    pub object: MetadataObject,
    /// How.
    pub mode: TableLock,
    /// By a statement that changes definitions.
    pub by_ddl: bool,
    /// Held, or waited for.
    pub granted: bool,
}

/// A wait, for those who look at the lock table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// The connection that waits.
    pub session: u64,
    /// Those it waits for: who holds the lock, then who stands before it in the queue.
    pub blockers: Vec<u64>,
    /// What kind of lock it is.
    pub scope: LockScope,
    /// For how long it has waited.
    pub waited: Duration,
}

/// What kind of lock somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockScope {
    /// Of a row or a range.
    Row,
    /// A table's metadata lock.
    Table,
    /// FLUSH TABLES WITH READ LOCK.
    Read,
    /// LOCK INSTANCE FOR BACKUP.
    Backup,
}

/// One transaction in a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockParty {
    /// The connection.
    pub session: u64,
    /// The transaction.
    pub transaction: u64,
    /// Its statement.
    pub statement: String,
    /// What it waited for.
    pub waits_for: String,
    /// Whether it was rolled back.
    pub victim: bool,
}

/// A deadlock that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockReport {
    /// When, in microseconds since 1970.
    pub at_us: u64,
    /// Each waits for the next, the last for the first.
    pub parties: Vec<DeadlockParty>,
}

/// Counters of row lock waits, as MySQL's Innodb_row_lock_ status variables have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockStats {
    /// Waits that began.
    pub waits: u64,
    /// Waits in progress.
    pub current_waits: u64,
    /// Time waited, in microseconds.
    pub time_us: u64,
    /// The longest wait, in microseconds.
    pub time_us_max: u64,
    /// Deadlocks found.
    pub deadlocks: u64,
    /// Waits that ended by timeout.
    pub timeouts: u64,
}
