//! Transactions per second beside syncs per second.
//!
//! A commit is durable when a sync of a file has ended. If each commit needed one, the disk's syncs
//! per second would be the most transactions per second. Servers do better, because many commits
//! share a sync, and worse, because some sync several files for each. Here the disk is measured
//! first, then what servers do: how many syncs of which files, how long these take, and how many
//! transactions share them.

mod report;

use super::{
    commits::{
        Load,
        rounds::{self, Common},
    },
    report::{Keeper, Output, Sample, sync_times},
    slow_disk::SlowDisk,
};
use clap::Args;

/// `cohort lab fsync`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// Clients
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Inserts of each
    #[arg(long, default_value_t = 1000)]
    inserts: u32,
    #[command(flatten)]
    output: Output,
}

/// What `--help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  cohort lab fsync
  cohort lab fsync --target cohort --target limit \\
      --target mysql=mysql://root@127.0.0.1:3306?pid=$(pidof mysqld) --trace --html fsync.html
      side by side with a running MySQL, and counted by strace, too
  cohort lab fsync --target cohort --target limit --fsync-delay 1ms
      as if this machine's disk were slower
Servers sync where their data is; the disk that is measured first is that of TMPDIR, where the own
server keeps its data.";

/// Syncs that tell what the disk is like.
const SYNCS: usize = 500;

/// Measures, prints tables, and writes the files.
pub fn run(options: &Options) -> Result<(), String> {
    Keeper::report(&options.output, |keeper| measure_all(options, keeper))
}

/// Measures, and has the report keep what is found.
pub fn measure_all(options: &Options, keeper: &mut Keeper) -> Result<(), String> {
    let disk = options.common.disk()?;
    let directory = disk
        .as_ref()
        .map_or_else(std::env::temp_dir, SlowDisk::place);
    let measure = |grows| {
        let times = sync_times(&directory, SYNCS, grows);
        let times = times.map_err(|error| format!("{}: {error}", directory.display()))?;
        Ok::<_, String>(Sample::of(
            times.iter().map(|time| time.as_secs_f64() * 1e6),
        ))
    };
    let syncs = (measure(false)?, measure(true)?);
    let load = Load {
        clients: options.clients,
        each: options.inserts,
        has_key: true,
    };
    rounds::run(
        &options.common,
        &[load],
        report::NAME,
        disk.as_ref(),
        |results| keeper.keep(report::section(options, load, &syncs, results)?),
    )
}
