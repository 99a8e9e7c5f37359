//! What is known of statements that have ended: how often each kind of them ran and what it took
//! (performance_schema), the last ones of each session, and the logs of slow ones and of all.
//!
//! ```text
//! begin_statement ── Running: the time, and the session's counters
//!        │
//! end_statement ──── Ended: what it took, and what came of it
//!        │            (a reply that waits for the log takes it along: see `LateNote`)
//!        ├── Recent       of the session: sums by digest, the last ones, what was committed lately
//!        └── QueryLogs    the slow log
//! ```
//!
//! A session writes to what is its own, so that nothing is shared on the way of a statement; who
//! reads performance_schema adds the sessions up.

mod audit;
mod commits;
mod digests;
mod ended;
mod errors;
mod histogram;
mod log_files;
mod query_logs;
mod recent;
mod table_io;

pub use audit::{Audit, CLASSES, Class, Event};
pub use commits::{Commit, Commits, OfKind, PHASES, Phases, Slow as SlowCommit, Span, Under};
pub use digests::{Digest, Digests};
pub use ended::{COUNTED, Counts, Ended, Running};
pub use errors::{Errors, Raised};
pub use histogram::{Histogram, bucket_bounds};
pub use log_files::{LogKind, QueryLogs};
pub use query_logs::{Who, literal};
pub use recent::{
    Commands, Kept, Kind, LateNote, Note, Recent, Slow, Stats, add_commands, reset_times,
};
pub use table_io::{RowCounts, TableIo, Used};
