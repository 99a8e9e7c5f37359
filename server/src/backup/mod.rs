//! `cohort backup`, `cohort verify` and `cohort restore`.
//!
//! A backup is a directory, or one file that is the same directory as a tar archive:
//!
//! | File | What |
//! |---|---|
//! | `base.000001` and following | the base, in parts (`store/dump.rs` in the engine says what is in them) |
//! | `binlog.000017` and following | the log from where a recovery on that base begins |
//! | `mysqld-auto.cnf` | what SET PERSIST keeps, if there is anything |
//! | `backup.json` | written last: length and CRC32 of each file, and what it is a backup of |
//!
//! | file | what is inside |
//! |---|---|
//! | `manifest` | `backup.json` |
//! | `tar` | the archive, to the byte |
//! | `connect` | the way to the server |
//! | `moment` | points in time on the command line |
//! | `archive` | a directory of a backup, which grows |
//! | `take`, `source` | writing and reading backups |
//! | `verify`, `restore`, `logs` | reading all of it; making a data directory; the logs from after it |

mod archive;
pub mod connect;
mod logs;
mod manifest;
pub mod moment;
mod restore;
mod source;
mod take;
mod tar;
mod verify;

pub use restore::{Restore, run as restore};
pub use take::{BackUp, run as back_up};
pub use verify::{Verify, run as verify};

use crate::progress::size;
use cohort_process::progress;
use std::time::{Duration, Instant};

/// How often progress is told.
const PROGRESS: Duration = Duration::from_secs(2);

/// Tells how far long work is.
struct Teller {
    what: &'static str,
    bytes: u64,
    told: Instant,
}

impl Teller {
    fn new(what: &'static str) -> Teller {
        Teller {
            what,
            bytes: 0,
            told: Instant::now(),
        }
    }
    fn more(&mut self, bytes: usize) {
        self.reached(self.bytes + bytes as u64);
    }
    fn reached(&mut self, bytes: u64) {
        self.bytes = bytes;
        if self.told.elapsed() > PROGRESS {
            self.told = Instant::now();
            progress!("{}: {}", self.what, size(bytes));
        }
    }
}
