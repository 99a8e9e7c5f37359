//! A load, and then twice the load with twice the clients: what group commit saves.
//!
//! Without groups twice the commits would take twice the syncs. With them the second load takes a
//! little longer, and its commits share the syncs that there are. Counted are groups, by the server
//! and in the binary log, and calls by file.
//!
//! The table has no primary key: so MySQL, which otherwise writes to its log which transactions
//! changed the same rows, writes there which were committed together.

mod report;

use super::{
    commits::{
        Load,
        rounds::{self, Common},
    },
    report::{Keeper, Output},
};
use clap::Args;

/// `cohort lab group-commit`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// Clients of the first load; the second one has twice as many
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Inserts of each client, in both loads
    #[arg(long, default_value_t = 2000)]
    inserts: u32,
    #[command(flatten)]
    output: Output,
}

/// What `--help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  cohort lab group-commit
  cohort lab group-commit --target cohort --target limit \\
      --target mysql=mysql://root@127.0.0.1:3306?pid=$(pidof mysqld) --trace --html groups.html
      side by side with a running MySQL, and counted by strace, too";

/// Measures, prints tables, and writes the files.
pub fn run(options: &Options) -> Result<(), String> {
    Keeper::report(&options.output, |keeper| measure_all(options, keeper))
}

/// Measures, and has the report keep what is found.
pub fn measure_all(options: &Options, keeper: &mut Keeper) -> Result<(), String> {
    let once = Load {
        clients: options.clients,
        each: options.inserts,
        has_key: false,
    };
    let twice = Load {
        clients: 2 * options.clients,
        ..once
    };
    let disk = options.common.disk()?;
    rounds::run(
        &options.common,
        &[once, twice],
        report::NAME,
        disk.as_ref(),
        |results| keeper.keep(report::section(options, (once, twice), results)?),
    )
}
