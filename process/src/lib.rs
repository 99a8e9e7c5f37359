//! The process that the server runs in: the macros that write to its error log, its limits, and its threads;
//! and whose process it ends with.

pub mod companion;
pub mod limits;
pub mod notice;
pub mod service;

pub use cohort_engine::env::Notice;
#[doc(hidden)]
pub use cohort_sql::error_log::{plain as write_progress, write as write_notice};
