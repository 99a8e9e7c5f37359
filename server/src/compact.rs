//! `cohort compact`: gives the free space in a data directory back to the disk.

use crate::check::expect_data;
use cohort_engine::{env::Env, txn};
use cohort_process::{notice, progress};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

/// What `cohort compact` is told.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Compact {
    /// The data directory; no server may be using it
    directory: PathBuf,
}

const EXAMPLES: &str = "\
The space of deleted rows, and of old versions that a long transaction has kept, is used again, but
the file of tables, cohort.base, does not become shorter by itself. This writes what is in it to a
new file, for which there must be room, and exchanges the two at the end. Stopped before that, it
leaves everything as it was.

Example:
  cohort compact ./data";

/// How often progress is told.
const PROGRESS: Duration = Duration::from_secs(2);

/// Compacts the directory; what is wrong as text.
pub fn run(compact: &Compact) -> Result<(), String> {
    let directory = &compact.directory;
    expect_data(directory)?;
    let env = Env::real();
    env.on_notice(|notice, line| notice!(notice, "{line}"));
    let mut told = Instant::now();
    let done = txn::compact(&env, directory, &mut |trees, of| {
        if told.elapsed() > PROGRESS {
            told = Instant::now();
            progress!("{trees} of {of} tables and indexes");
        }
    });
    let done = done.map_err(|error| {
        format!("{error}; the directory is as it was: cohort check says whether it is damaged")
    })?;
    println!(
        "{}: {} bytes were {}",
        directory.join("cohort.base").display(),
        done.after,
        done.before
    );
    Ok(())
}
