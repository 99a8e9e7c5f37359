//! What a transaction around every SELECT costs.
//!
//! Connectors like to put a transaction around everything, and who pays for it does not know. Here
//! single rows are looked up by primary key: without a transaction, in one that BEGIN opens, in one
//! that autocommit=0 opens, and in one that is READ ONLY. Counted are lookups, round trips, and what
//! the server counts of transactions. Where the server is Cohort, `sys.transaction_advice` is asked
//! what it says of each.
//!
//! Every mode has connections of its own, so that none has what another one has set. Rounds go
//! through all servers and modes in turn; medians count, and ratios are those of the same round.

mod report;
mod slow_log;

use super::{
    generator::{Fleet, Plan, Tally},
    interrupt,
    report::{Described, Keeper, Output},
    rounds::{Rounds, announce},
    server::{Limit, Server},
    target::{Target, check_names},
    workload::{
        Statement::{Begin, BeginReadOnly, Commit, PointSelect},
        Workload,
    },
};
use crate::progress::Progress;
use clap::Args;
use serde::Serialize;
use std::{collections::BTreeMap, path::PathBuf};

/// `cohort lab tx-modes`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// What to measure: `cohort` (this program's own server), `limit` (a server that does next to
    /// nothing), or NAME=mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE][?socket=PATH][&pid=N]; may
    /// be given several times
    #[arg(long = "target", value_name = "TARGET", default_value = "cohort")]
    targets: Vec<Target>,
    /// Numbers of clients
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N,…",
        default_value = "1,3,16,64,256"
    )]
    clients: Vec<usize>,
    #[command(flatten)]
    rounds: Rounds,
    /// Rows of the table sbtest1, which is made if it is not there or has another size
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// Threads of the load generator
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Also turns the slow log of running targets on for a moment, into the table mysql.slow_log, and
    /// shows what each mode leaves there; the own server's is shown in any case
    #[arg(long)]
    slow_log: bool,
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
  cohort lab tx-modes
      all of it on the own server: about 12 minutes
  cohort lab tx-modes --clients 3 --seconds 60
      as it was measured first
  cohort lab tx-modes --target cohort --target limit --target mysql=mysql://root@127.0.0.1:3306 \\
      --html tx-modes.html
      side by side with a running MySQL, by turns, and with what no server can reach";

/// A way to look a row up.
struct Mode {
    /// Its name in tables.
    name: &'static str,
    /// What each connection says first.
    first: Option<&'static str>,
    workload: Workload,
}

const NONE: &str = "no transaction";
const BEGUN: &str = "BEGIN, COMMIT";
const IMPLICIT: &str = "autocommit=0, COMMIT";
const READ_ONLY: &str = "READ ONLY, COMMIT";

/// The four ways.
static MODES: [Mode; 4] = [
    Mode {
        name: NONE,
        first: None,
        workload: Workload {
            name: "select",
            statements: &[PointSelect],
        },
    },
    Mode {
        name: BEGUN,
        first: None,
        workload: Workload {
            name: "select_begin",
            statements: &[Begin, PointSelect, Commit],
        },
    },
    Mode {
        name: IMPLICIT,
        first: Some("SET autocommit = 0"),
        workload: Workload {
            name: "select_implicit",
            statements: &[PointSelect, Commit],
        },
    },
    Mode {
        name: READ_ONLY,
        first: None,
        workload: Workload {
            name: "select_read_only",
            statements: &[BeginReadOnly, PointSelect, Commit],
        },
    },
];

/// Connections that log in at the same time.
const LOGINS: usize = 64;
/// What the server counts, in this order.
const COUNTERS: [&str; 3] = ["Com_select", "Com_begin", "Com_commit"];
/// What the adviser has found of transactions that were one SELECT.
const ADVICE: &str = "SELECT COALESCE(SUM(occurrences), 0) FROM sys.transaction_advice WHERE kind = \
                      'single select'";
/// The same in words, the worst last.
const ADVICE_TEXT: &str = "SELECT advice FROM sys.transaction_advice WHERE kind = 'single select' \
                           ORDER BY occurrences";

/// One measurement.
#[derive(Clone, Debug, Serialize)]
struct Measurement {
    target: String,
    mode: &'static str,
    clients: usize,
    round: usize,
    lookups_per_s: f64,
    /// Statements that a client waited for.
    round_trips_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// What the server has counted: SELECTs, BEGINs, COMMITs; with those of the warm-up.
    counted: Option<[u64; 3]>,
    /// Transactions of one SELECT that the adviser has counted; of Cohort.
    advised: Option<u64>,
}

/// All that was found.
#[derive(Clone, Debug, Default, Serialize)]
struct Results {
    #[serde(skip)]
    servers: Vec<Described>,
    measurements: Vec<Measurement>,
    /// Lines of the slow log, by server and mode.
    slow_log: Vec<(String, &'static str, Vec<String>)>,
    /// What the adviser says, by server.
    advice: Vec<(String, String)>,
    gaps: Vec<String>,
}

/// Measures, prints tables, and writes the files.
pub fn run(options: &Options) -> Result<(), String> {
    Keeper::report(&options.output, |keeper| measure_all(options, keeper))
}

/// Measures, and has the report keep what is found.
pub fn measure_all(options: &Options, keeper: &mut Keeper) -> Result<(), String> {
    check_names(&options.targets)?;
    if !options.rounds.are_possible() || options.clients.contains(&0) {
        return Err("--seconds and --clients are more than 0, --warmup is not less".into());
    }
    let most = options.clients.iter().copied().max().unwrap_or(0);
    let mut servers = Vec::new();
    for target in &options.targets {
        let directory = options.datadir.as_deref();
        let mut server = Server::reach(target, most, directory, Limit::WithoutLog)?;
        server.load(options.rows)?;
        servers.push(server);
    }
    let mut results = Results {
        servers: servers.iter_mut().map(Server::described).collect(),
        ..Results::default()
    };
    let per_server = MODES.len() * options.clients.len() * options.rounds.rounds;
    let count = per_server * servers.len();
    announce(report::NAME, count, options.rounds.estimate(count));
    let mut number = 0;
    for &clients in &options.clients {
        for round in 1..=options.rounds.rounds {
            for server in &mut servers {
                for mode in &MODES {
                    interrupt::check()?;
                    number += 1;
                    let label = format!(
                        "{number}/{count}: {}, {}, {clients} clients, round {round}",
                        server.name, mode.name
                    );
                    match measure(options, server, mode, (clients, round), &label) {
                        Ok(measured) => results.measurements.push(measured),
                        Err(error) => {
                            interrupt::check()?;
                            results.gaps.push(format!("{label}: {error}"));
                        }
                    }
                    keeper.keep(report::section(options, &results)?)?;
                }
            }
        }
    }
    for server in &mut servers {
        look(options, server, &mut results);
    }
    keeper.keep(report::section(options, &results)?)
}

fn measure(
    options: &Options,
    server: &mut Server,
    mode: &'static Mode,
    (clients, round): (usize, usize),
    label: &str,
) -> Result<Measurement, String> {
    let connecting = Progress::new(format!("{label}: connecting"), clients as u64);
    let opened = connecting.done();
    let mut fleet = Fleet::open(&server.endpoint, clients, options.threads, LOGINS, opened)?;
    drop(connecting);
    if let Some(first) = mode.first {
        fleet.say(first)?;
    }
    fleet.prepare(&mode.workload)?;
    let plan = Plan {
        workload: &mode.workload,
        rows: options.rows,
        rate: None,
        warmup: options.rounds.warmup(),
        time: options.rounds.time(),
        each: None,
    };
    let before = counted(server, true)?;
    let running = Progress::timed(label.to_owned(), plan.warmup + plan.time);
    let tally = fleet.run(plan)?;
    fleet.settle(&mode.workload)?;
    drop(running);
    let after = counted(server, false)?;
    Ok(Measurement::new(
        &server.name,
        mode,
        (clients, round),
        &tally,
        (before, after),
    ))
}

/// Counters at one moment: the server's, and the adviser's.
type Counted = (BTreeMap<String, u64>, Option<u64>);

/// The server's counters. What the adviser has found is asked with a SELECT, which they count, so that it
/// comes before the first ones and after the last ones.
fn counted(server: &mut Server, is_first: bool) -> Result<Counted, String> {
    if is_first {
        let advised = advised(server)?;
        return Ok((server.status(&COUNTERS)?, advised));
    }
    Ok((server.status(&COUNTERS)?, advised(server)?))
}

/// Transactions of one SELECT that the adviser has counted; of Cohort.
fn advised(server: &mut Server) -> Result<Option<u64>, String> {
    if !server.is_cohort() {
        return Ok(None);
    }
    let sum = server.control().value(ADVICE);
    let sum = sum.map_err(|error| error.to_string())?;
    Ok(sum.and_then(|sum| sum.parse().ok()))
}

impl Measurement {
    fn new(
        target: &str,
        mode: &Mode,
        (clients, round): (usize, usize),
        tally: &Tally,
        (before, after): (Counted, Counted),
    ) -> Measurement {
        let more = |name: &str| Some(after.0.get(name)?.saturating_sub(*before.0.get(name)?));
        let [selects, begins, commits] = COUNTERS.map(more);
        let counted = selects.zip(begins).zip(commits);
        Measurement {
            target: target.to_owned(),
            mode: mode.name,
            clients,
            round,
            lookups_per_s: tally.events_per_s,
            round_trips_per_s: tally.statements_per_s,
            p50_ms: tally.percentile_ms(50.0),
            p99_ms: tally.percentile_ms(99.0),
            counted: counted.map(|((selects, begins), commits)| [selects, begins, commits]),
            advised: after.1.zip(before.1).map(|(after, before)| after - before),
        }
    }
}

/// What a server tells of the modes by itself, after all measurements.
fn look(options: &Options, server: &mut Server, results: &mut Results) {
    if server.is_cohort()
        && let Ok(rows) = server.control().query(ADVICE_TEXT)
        && let Some(advice) = rows
            .into_iter()
            .last()
            .and_then(|row| row.into_iter().next()?)
    {
        results.advice.push((server.name.clone(), advice));
    }
    if server.is_null() || !(options.slow_log || server.is_own()) {
        return;
    }
    for mode in &MODES {
        match slow_log::lines(server, mode) {
            Ok(lines) => results
                .slow_log
                .push((server.name.clone(), mode.name, lines)),
            Err(error) => {
                let name = &server.name;
                results.gaps.push(format!(
                    "{name}: the slow log of \"{}\": {error}",
                    mode.name
                ));
            }
        }
    }
}
