//! The transactional engine of Cohort: one log, group commit, versions, locks.
//!
//! Synchronous; no SQL, no network, no async runtime. Imports point downwards only:
//! `txn` → {`log`, `store`} → `types` → `env`; `log` and `store` never import each other.

pub mod env;
pub mod invariant;
pub mod log;
pub mod store;
pub mod txn;
pub mod types;

/// The number of a commit: log order, commit order and version order are the same number.
/// The first commit of a data directory is 1; 0 is the state before it.
pub type Seq = u64;
