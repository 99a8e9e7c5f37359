//! What servers do in a second: sysbench's workloads and some others, beside each other.
//!
//! Each workload is measured in rounds, each round on every server in turn; medians count, and ratios
//! are those of the same round. Measured once on the way are how fast the table is filled and its index
//! made, how much memory it takes to have read all of it, and how fast the own server recovers what it
//! had done when it was killed.

mod cases;
mod recovery;
mod report;
mod tables;

use super::{
    generator::{Fleet, Plan},
    interrupt,
    report::{Described, Keeper, Output},
    rounds::{Rounds, announce},
    server::{Limit, Server, memory},
    target::{Target, check_names},
};
use crate::progress::Progress;
use cases::{CASES, Case};
use clap::Args;
use recovery::Recovery;
use serde::Serialize;
use std::{collections::HashSet, path::PathBuf, thread, time::Duration};

/// `cohort lab workloads`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// What to measure: `cohort` (this program's own server), `limit` (a server that does next to
    /// nothing), or NAME=mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE][?socket=PATH][&pid=N]; may
    /// be given several times. With pid, its processor time is counted and its memory looked at
    #[arg(long = "target", value_name = "TARGET", default_value = "cohort")]
    targets: Vec<Target>,
    /// Workloads; the number at the end of a name is that of its clients
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = Case::named,
          default_values = CASES.iter().map(|case| case.name))]
    workloads: Vec<&'static Case>,
    #[command(flatten)]
    rounds: Rounds,
    /// Seconds of rest after what has changed rows
    #[arg(long, default_value_t = 2.0)]
    rest: f64,
    /// Rows of the table sbtest1, which is made afresh
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// How often the table is made, which is measured, too
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    loads: u32,
    /// Seconds of changes that the own server recovers after it was killed; 0 leaves that out
    #[arg(long, default_value_t = 20.0)]
    recovery: f64,
    /// Threads of the load generator
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Where the own server keeps its data; it stays for the next run. Without it, a temporary
    /// directory
    #[arg(long, value_name = "PATH")]
    datadir: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// What `--help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  cohort lab workloads
      all of them on the own server: about 15 minutes
  cohort lab workloads --workloads insert_64,hot_row_64 --rounds 5 --seconds 5
  cohort lab workloads --target cohort --target limit \\
      --target mysql=mysql://root@127.0.0.1:3306?pid=$(pidof mysqld) --html workloads.html
      side by side with a running MySQL, by turns, and with what no server can reach";

/// Connections that log in at the same time.
const LOGINS: usize = 64;
/// Reads all there is.
const READ_ALL: &str = "SELECT COUNT(*), SUM(k), MAX(c), MAX(pad) FROM sbtest1";

/// One measurement.
#[derive(Clone, Debug, Serialize)]
struct Measurement {
    target: String,
    workload: &'static str,
    round: usize,
    /// Events (sysbench: transactions) in a second.
    events_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// Processor time of the server for an event, in microseconds, if its process is known.
    server_us: Option<f64>,
}

/// How a server took the table in.
#[derive(Clone, Debug, Default, Serialize)]
struct Loaded {
    target: String,
    /// Rows in a second, by loads.
    rows_per_s: Vec<f64>,
    /// Rows of which the index was made in a second, by loads.
    index_rows_per_s: Vec<f64>,
    /// Resident memory when all rows have been read.
    memory_bytes: Option<u64>,
}

/// All that was found.
#[derive(Clone, Debug, Default, Serialize)]
struct Results {
    #[serde(skip)]
    servers: Vec<Described>,
    measurements: Vec<Measurement>,
    loaded: Vec<Loaded>,
    recovery: Option<Recovery>,
    gaps: Vec<String>,
}

/// Measures, prints tables, and writes the files.
pub fn run(options: &Options) -> Result<(), String> {
    Keeper::report(&options.output, |keeper| measure_all(options, keeper))
}

/// Measures, and has the report keep what is found.
pub fn measure_all(options: &Options, keeper: &mut Keeper) -> Result<(), String> {
    check_names(&options.targets)?;
    if !(options.rounds.are_possible() && options.rest >= 0.0 && options.recovery >= 0.0) {
        return Err(
            "--seconds is more than 0; --warmup, --rest and --recovery are not less".into(),
        );
    }
    let most = options.workloads.iter().map(|case| case.clients).max();
    let mut servers = Vec::new();
    for target in &options.targets {
        let (most, directory) = (most.unwrap_or(0), options.datadir.as_deref());
        servers.push(Server::reach(
            target,
            most,
            directory,
            Limit::Durable(None),
        )?);
    }
    let mut results = Results {
        servers: servers.iter_mut().map(Server::described).collect(),
        ..Results::default()
    };
    load(options, &mut servers, &mut results)?;
    keeper.keep(report::section(options, &results)?)?;
    let visits = |server: &Server| {
        options
            .workloads
            .iter()
            .filter(|case| case.runs_on(server))
            .count()
    };
    let count = servers.iter().map(visits).sum::<usize>() * options.rounds.rounds;
    announce(report::NAME, count, options.rounds.estimate(count));
    let mut number = 0;
    for case in &options.workloads {
        let mut failed = HashSet::new();
        make(case, options.rows, &mut servers, &mut failed, &mut results)?;
        for round in 1..=options.rounds.rounds {
            for server in servers.iter_mut().filter(|server| case.runs_on(server)) {
                interrupt::check()?;
                number += 1;
                if failed.contains(&server.name) {
                    continue;
                }
                let label = format!(
                    "{number}/{count}: {}, {}, round {round}",
                    server.name, case.name
                );
                match measure(options, server, case, round, &label) {
                    Ok(measured) => results.measurements.push(measured),
                    Err(error) => {
                        interrupt::check()?;
                        results.gaps.push(format!("{label}: {error}"));
                        failed.insert(server.name.clone());
                    }
                }
                keeper.keep(report::section(options, &results)?)?;
            }
        }
        remove(case, &mut servers);
    }
    let has_own = options.targets.contains(&Target::Own);
    // Its processor time and its disk are wanted by the one that recovers.
    drop(servers);
    if has_own && options.recovery > 0.0 {
        let recovery = recovery::measure(options.rows, options.recovery, options.threads)?;
        results.recovery = Some(recovery);
        keeper.keep(report::section(options, &results)?)?;
    }
    Ok(())
}

impl Case {
    fn runs_on(&self, server: &Server) -> bool {
        self.has_limit || !server.is_null()
    }
}

/// Fills the table on each server in turn, and reads all of it.
fn load(options: &Options, servers: &mut [Server], results: &mut Results) -> Result<(), String> {
    let with_rows = servers.iter().filter(|server| !server.is_null());
    results.loaded = with_rows
        .map(|server| Loaded {
            target: server.name.clone(),
            ..Loaded::default()
        })
        .collect();
    for _ in 0..options.loads {
        let servers = servers.iter_mut().filter(|server| !server.is_null());
        for (server, loaded) in servers.zip(&mut results.loaded) {
            interrupt::check()?;
            let made = server.load_afresh(options.rows)?;
            let rate = |time: Duration| f64::from(options.rows) / time.as_secs_f64();
            loaded.rows_per_s.push(rate(made.rows));
            loaded.index_rows_per_s.push(rate(made.index));
        }
    }
    let servers = servers.iter_mut().filter(|server| !server.is_null());
    for (server, loaded) in servers.zip(&mut results.loaded) {
        let read = server.control().query(READ_ALL);
        read.map_err(|error| format!("{}: reading all rows: {error}", server.name))?;
        loaded.memory_bytes = server.pid.and_then(memory);
    }
    Ok(())
}

/// Makes the tables that a workload needs besides; who cannot have them is left out.
fn make(
    case: &Case,
    rows: u32,
    servers: &mut [Server],
    failed: &mut HashSet<String>,
    results: &mut Results,
) -> Result<(), String> {
    let Some(extra) = case.extra else {
        return Ok(());
    };
    for server in servers.iter_mut().filter(|server| !server.is_null()) {
        interrupt::check()?;
        let name = server.name.clone();
        let _progress = Progress::new(format!("{name}: tables for {}", case.name), 1);
        if let Err(error) = extra.make(server.control(), rows) {
            results
                .gaps
                .push(format!("{name}: {} needs tables: {error}", case.name));
            failed.insert(name);
        }
    }
    Ok(())
}

/// Removes them.
fn remove(case: &Case, servers: &mut [Server]) {
    let Some(extra) = case.extra else {
        return;
    };
    for server in servers.iter_mut().filter(|server| !server.is_null()) {
        // A server that has gone is told of by what is measured next.
        let _ = extra.remove(server.control());
    }
}

fn measure(
    options: &Options,
    server: &Server,
    case: &'static Case,
    round: usize,
    label: &str,
) -> Result<Measurement, String> {
    let workload = case.workload;
    let connecting = Progress::new(format!("{label}: connecting"), case.clients as u64);
    let (endpoint, opened) = (&server.endpoint, connecting.done());
    let mut fleet = Fleet::open(endpoint, case.clients, options.threads, LOGINS, opened)?;
    drop(connecting);
    if !case.is_text {
        fleet.prepare(workload)?;
    }
    let plan = Plan {
        workload,
        rows: options.rows,
        rate: None,
        warmup: options.rounds.warmup(),
        time: options.rounds.time(),
        each: None,
    };
    let running = Progress::timed(label.to_owned(), plan.warmup + plan.time);
    let before = server.cpu();
    let tally = fleet.run(plan)?;
    let cpu = server
        .cpu()
        .zip(before)
        .map(|(after, before)| after - before);
    fleet.settle(workload)?;
    drop(running);
    if case.writes && !server.is_null() {
        thread::sleep(Duration::from_secs_f64(options.rest));
    }
    // The server's time is taken over the warm-up too.
    let share = plan.time.as_secs_f64() / (plan.time + plan.warmup).as_secs_f64();
    let per_event = |cpu: Duration| cpu.as_secs_f64() * share * 1e6 / tally.events as f64;
    Ok(Measurement {
        target: server.name.clone(),
        workload: case.name,
        round,
        events_per_s: tally.events_per_s,
        p50_ms: tally.percentile_ms(50.0),
        p99_ms: tally.percentile_ms(99.0),
        server_us: cpu.filter(|_| tally.events > 0).map(per_event),
    })
}
