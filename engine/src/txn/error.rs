//! Why a transaction's operation failed, or an engine does not start.

use crate::{
    env::TemporaryError, invariant::Broken, log::LogError, store::StoreError, types::Gtid,
};
use std::fmt;

/// Why a transaction's operation failed, by what the caller must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnError {
    /// Roll the whole transaction back (already done): 1213.
    Deadlock,
    /// Roll the statement back: 1205. `holder` is the statement that holds the lock.
    LockWaitTimeout {
        /// Text of the statement of the lock's holder, shortened.
        holder: String,
    },
    /// Its locks take more memory than they may; the whole transaction was rolled back: 1206.
    LockTableFull,
    /// NOWAIT met a lock: 3572.
    Nowait,
    /// 1062, with the name of the index and the position of the row's values in the error text.
    DuplicateKey {
        /// The index, `PRIMARY` or its name.
        index: String,
    },
    /// 1452: a foreign key that is added has a row without parent.
    ForeignKey {
        /// The foreign key.
        name: String,
    },
    /// The write set is larger than max_binlog_cache_size: 1197.
    TooLarge,
    /// The session's temporary tables take more than cohort_max_temporary_bytes: 1114.
    TableFull {
        /// The table that something was written to.
        table: String,
    },
    /// A read-only transaction wrote: 1792.
    ReadOnly,
    /// The table was changed since the snapshot: 1412.
    TableChanged,
    /// The session has the read lock (FLUSH TABLES WITH READ LOCK) and wants to write: 1223.
    ReadLocked,
    /// KILL: 1317 (query) or 1053 (connection).
    Killed,
    /// The log or the store failed; no more writes until a restart.
    Storage(String),
    /// The disk is full. What was to be written is not; once there is room, writing goes on.
    Full(String),
    /// A temporary file could not be made, written or read: 1026.
    Temporary {
        /// Its path.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// The disk returned other bytes than were written: what the statement reads is lost there,
    /// and nothing else.
    Damaged {
        /// What was read, like `table d.t`, if it is known.
        table: Option<String>,
        /// The file, the byte in it, and what is wrong there.
        place: String,
    },
    /// There is a transaction of that name already (gtid_next).
    Executed(Gtid),
    /// A stored row that does not fit its table.
    Corrupt(String),
    /// A rebuild's row conversion refused a row, with its own words.
    Conversion(String),
    /// A mistake in the server: 1815.
    Broken(Broken),
}

impl fmt::Display for TxnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TxnError::Deadlock => f.write_str("a deadlock was found"),
            TxnError::LockWaitTimeout { .. } => f.write_str("the wait for a lock took too long"),
            TxnError::LockTableFull => {
                f.write_str("the locks take more than cohort_max_lock_bytes")
            }
            TxnError::Nowait => f.write_str("a lock is held by another transaction"),
            TxnError::DuplicateKey { index } => write!(f, "a duplicate in index {index}"),
            TxnError::ForeignKey { name } => {
                write!(f, "a row without parent for the foreign key {name}")
            }
            TxnError::TooLarge => {
                f.write_str("the transaction is larger than max_binlog_cache_size")
            }
            TxnError::TableFull { table } => write!(
                f,
                "{table}: the temporary tables take more than cohort_max_temporary_bytes"
            ),
            TxnError::ReadOnly => f.write_str("the transaction is read-only"),
            TxnError::TableChanged => f.write_str("the table has changed meanwhile"),
            TxnError::ReadLocked => f.write_str("the session has the global read lock"),
            TxnError::Killed => f.write_str("the session or its statement was killed"),
            TxnError::Storage(why)
            | TxnError::Full(why)
            | TxnError::Corrupt(why)
            | TxnError::Conversion(why) => f.write_str(why),
            TxnError::Temporary { file, why } => write!(f, "temporary file {file}: {why}"),
            TxnError::Broken(broken) => broken.fmt(f),
            TxnError::Executed(gtid) => LogError::Executed(*gtid).fmt(f),
            TxnError::Damaged { table: None, place } => write!(f, "damaged: {place}"),
            TxnError::Damaged {
                table: Some(table),
                place,
            } => write!(f, "{table} is damaged: {place}"),
        }
    }
}

impl std::error::Error for TxnError {}

impl From<Broken> for TxnError {
    fn from(broken: Broken) -> TxnError {
        TxnError::Broken(broken)
    }
}

impl From<StoreError> for TxnError {
    fn from(error: StoreError) -> TxnError {
        match error {
            StoreError::Damaged { table, place } => TxnError::Damaged { table, place },
            StoreError::Full(text) => TxnError::Full(text),
            StoreError::Io(text) => TxnError::Storage(text),
        }
    }
}

impl From<TemporaryError> for TxnError {
    fn from(error: TemporaryError) -> TxnError {
        TxnError::Temporary {
            file: error.path.display().to_string(),
            why: error.error.to_string(),
        }
    }
}

impl From<LogError> for TxnError {
    fn from(error: LogError) -> TxnError {
        match error {
            LogError::Failed(text) => TxnError::Storage(text),
            LogError::Full(text) => TxnError::Full(text),
            LogError::Executed(gtid) => TxnError::Executed(gtid),
        }
    }
}

/// Why the engine does not start; the text says where, what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError(pub String);

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OpenError {}
