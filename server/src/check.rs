//! `cohort check`: reads a whole data directory, without a server and without changing anything.
//!
//! The directory is opened as a start would open it, recovery included, but over an environment
//! that keeps in memory what would be written. Then every table is read and compared with its
//! indexes, from the disk.

use crate::serve;
use cohort_engine::{
    env::Env,
    txn::{Engine, EngineOptions, Owner, Unattended},
};
use cohort_process::{notice, progress};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// What `cohort check` is told.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// The data directory; no server may be using it
    directory: PathBuf,
}

const EXAMPLES: &str = "\
Reads everything in a data directory: the binary logs that recovery needs, and every page of every
table and index. Nothing is changed. Exits with 0 if all is sound, with 1 otherwise.

Examples:
  cohort check ./data
  cohort check /backup/cohort-2026-11-22";

/// How often progress is told.
const PROGRESS: Duration = Duration::from_secs(2);

/// Checks the directory; what is wrong as text.
pub fn run(check: &Check) -> Result<(), String> {
    let directory = &check.directory;
    expect_data(directory)?;
    let env = Env::real().read_only();
    env.on_notice(|notice, line| notice!(notice, "{line}"));
    let engine = serve::open_engine(&env, EngineOptions::default(), directory)?;
    let dictionary = engine.dictionary();
    let tables = dictionary
        .databases()
        .flat_map(|database| dictionary.tables(&database.name));
    let tables: Vec<_> = tables.cloned().collect();
    let owner = Owner::new(0, Arc::new(Unattended));
    let (mut rows, mut damaged) = (0, 0);
    let mut told = Instant::now();
    for (number, table) in tables.iter().enumerate() {
        let name = format!("{}.{}", table.database, table.name);
        let mut pause = || {
            if told.elapsed() > PROGRESS {
                told = Instant::now();
                progress!("table {} of {}: {name}", number + 1, tables.len());
            }
        };
        let report = engine
            .check_table(&owner, table, 0, &mut pause)
            .map_err(|error| format!("{name}: {error}"))?;
        rows += report.rows;
        damaged += usize::from(!report.problems.is_empty());
        for problem in &report.problems {
            println!("{name}: {problem}");
        }
    }
    let last = engine.log().visible();
    abandon(engine);
    println!(
        "{}: {} tables, {rows} rows, commits up to {last}",
        directory.display(),
        tables.len()
    );
    if damaged > 0 {
        return Err(format!(
            "{damaged} tables are damaged: restore the data directory from a backup, or dump what \
             can be read, drop these tables, and load them from a dump"
        ));
    }
    println!("everything is sound");
    Ok(())
}

/// Refuses what is no data directory.
pub(crate) fn expect_data(directory: &Path) -> Result<(), String> {
    let is_one = directory.join("cohort.base").exists() || directory.join("binlog.index").exists();
    if is_one {
        return Ok(());
    }
    Err(format!(
        "{} is not a data directory: it has no cohort.base",
        directory.display()
    ))
}

/// Nothing is to be written at its end, not even to memory.
fn abandon(engine: Engine) {
    std::mem::forget(engine);
}
