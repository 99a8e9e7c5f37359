//! Experiment 3: what thousands of connections do to a server, and how its thread pool copes.
//!
//! Row updates as autocommit and in transactions, sysbench's OLTP_RW, and point selects, from 16
//! connections to 16,384. Rounds go through all servers and modes in turn, so that all see the
//! same weather; medians count.

mod report;

use super::{
    generator::{Fleet, Plan, Tally},
    interrupt,
    report::{Described, Keeper, Output},
    rounds::{Rounds, announce},
    server::{Limit, MODES, Mode, Server},
    target::{Target, check_names},
    workload::Workload,
};
use crate::progress::Progress;
use clap::Args;
use serde::Serialize;
use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    sync::atomic::Ordering,
    time::Duration,
};

/// `cohort lab thread-pool`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// What to measure: `cohort` (this program's own server, started on a data directory of its
    /// own), `limit` (a server that does next to nothing), or
    /// NAME=mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE][?socket=PATH][&pid=N]; may be given
    /// several times. With pid, the server's processor time is counted
    #[arg(long = "target", value_name = "TARGET", default_value = "cohort")]
    targets: Vec<Target>,
    /// Numbers of connections
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N,…",
        default_value = "16,64,256,1024,4096,8192,16384"
    )]
    connections: Vec<usize>,
    /// Workloads, under sysbench's names; _trx is a transaction around the same
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = Workload::named,
          default_values = WORKLOADS)]
    workloads: Vec<&'static Workload>,
    /// Values of thread_pool_high_prio_mode, and off (thread_pool_size = 0); a server without
    /// the variable is measured as it is
    #[arg(long, value_delimiter = ',', value_name = "MODE,…",
          default_values_t = MODES)]
    modes: Vec<Mode>,
    #[command(flatten)]
    rounds: Rounds,
    /// Open loop: so many events per second begin, whatever the server does, and latency counts
    /// from when each was due. Without it, each client begins the next event when the last ended
    #[arg(long, value_name = "EVENTS/S")]
    rate: Option<f64>,
    /// Rows of the table sbtest1, which is made if it is not there or has another size
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// Threads of the load generator
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Connections that log in at the same time, at most
    #[arg(long, default_value_t = 64)]
    logins: usize,
    /// Where the own server keeps its data; it stays for the next run. Without it, a temporary
    /// directory
    #[arg(long, value_name = "PATH")]
    datadir: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// What is measured if nothing else is asked for.
const WORKLOADS: [&str; 4] = [
    "oltp_point_select",
    "oltp_update_non_index",
    "oltp_update_non_index_trx",
    "oltp_read_write",
];

/// What `--help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  cohort lab thread-pool
      all of it on the own server, in each mode: about two hours
  cohort lab thread-pool --connections 64,4096 --rounds 1 --seconds 5 --modes transactions,off
  cohort lab thread-pool --target cohort --target mysql=mysql://root@127.0.0.1:3306 --json out.json
      side by side with a running MySQL, by turns
  cohort lab thread-pool --workloads oltp_point_select --connections 64 --rate 10000
      open loop: latencies at a given load
  cohort lab thread-pool --target cohort --target limit
      beside a server that does next to nothing: what the generator itself costs
The server under test should run in a session of its own (setsid), as the own server does: some
kernels share processors between sessions.";

/// One measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// The server's name.
    pub target: String,
    /// How it scheduled.
    pub mode: String,
    /// The workload's name.
    pub workload: &'static str,
    /// Clients.
    pub connections: usize,
    /// The round, from 1.
    pub round: usize,
    /// Events (sysbench: transactions) per second.
    pub tps: f64,
    /// Statements per second.
    pub qps: f64,
    /// Latency of an event in milliseconds.
    pub p50_ms: f64,
    /// As above.
    pub p95_ms: f64,
    /// As above.
    pub p99_ms: f64,
    /// As above.
    pub max_ms: f64,
    /// Age of the oldest event that had not ended at the end.
    pub oldest_ms: f64,
    /// How often events began again, by error.
    pub retries: BTreeMap<u16, u64>,
    /// Processor time of the generator for a statement, in microseconds.
    pub generator_us: f64,
    /// Processor time of the server for a statement, in microseconds, if its process is known.
    pub server_us: Option<f64>,
}

/// What could not be measured.
#[derive(Clone, Debug, Serialize)]
pub struct Gap {
    /// The server's name.
    pub target: String,
    /// How it scheduled.
    pub mode: String,
    /// Clients.
    pub connections: usize,
    /// Why.
    pub error: String,
}

/// All that was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Results {
    /// What was measured.
    #[serde(skip)]
    pub servers: Vec<Described>,
    /// Events per second, in open loop.
    pub rate: Option<f64>,
    /// Seconds of one measurement.
    pub seconds: f64,
    /// Every measurement.
    pub measurements: Vec<Measurement>,
    /// What could not be measured.
    pub gaps: Vec<Gap>,
}

/// Measures, prints a table, and writes the files.
pub fn run(options: &Options) -> Result<(), String> {
    Keeper::report(&options.output, |keeper| measure_all(options, keeper))
}

/// Measures, and has the report keep what is found.
pub fn measure_all(options: &Options, keeper: &mut Keeper) -> Result<(), String> {
    options.check()?;
    let most = options.connections.iter().copied().max().unwrap_or(0);
    let mut servers = Vec::new();
    for target in &options.targets {
        let directory = options.datadir.as_deref();
        let mut server = Server::reach(target, most, directory, Limit::Durable(None))?;
        server.load(options.rows)?;
        servers.push(server);
    }
    let variants = variants(&mut servers, &options.modes);
    let mut results = Results {
        servers: servers.iter_mut().map(Server::described).collect(),
        rate: options.rate,
        seconds: options.rounds.seconds,
        ..Results::default()
    };
    let visits = visits(options, &variants);
    let count = visits.len() * options.workloads.len();
    announce(report::NAME, count, options.rounds.estimate(count));
    let mut failed = HashSet::new();
    for (n, visit) in visits.iter().enumerate() {
        let server = &mut servers[visit.server];
        if failed.contains(&(visit.server, visit.mode.to_string(), visit.connections)) {
            continue;
        }
        let label = format!(
            "{}/{}: {} {}, {} connections, round {}",
            n + 1,
            visits.len(),
            server.name,
            visit.mode,
            visit.connections,
            visit.round
        );
        interrupt::check()?;
        if let Err(error) = measure(options, visit, server, &label, &mut results) {
            interrupt::check()?;
            eprintln!("{label}: {error}");
            failed.insert((visit.server, visit.mode.to_string(), visit.connections));
            results.gaps.push(Gap {
                target: server.name.clone(),
                mode: visit.mode.to_string(),
                connections: visit.connections,
                error,
            });
        }
        keeper.keep(report::section(options, &results)?)?;
    }
    Ok(())
}

impl Options {
    fn check(&self) -> Result<(), String> {
        check_names(&self.targets)?;
        if self.connections.contains(&0) {
            return Err("--connections: at least 1".into());
        }
        if !(self.rounds.are_possible() && self.rate.is_none_or(|r| r > 0.0)) {
            return Err("--seconds and --rate are more than 0, --warmup is not less".into());
        }
        Ok(())
    }
}

/// One visit to a server: its connections are opened once, and all workloads run on them.
struct Visit {
    server: usize,
    mode: Mode,
    connections: usize,
    round: usize,
}

/// Which servers have which modes.
fn variants(servers: &mut [Server], modes: &[Mode]) -> Vec<(usize, Mode)> {
    let mut variants = Vec::new();
    for (i, server) in servers.iter_mut().enumerate() {
        let found = server.modes(modes);
        if found == [Mode::AsFound] && !server.is_null() {
            eprintln!(
                "{} ({}) has no thread_pool_high_prio_mode: measured as it is",
                server.name, server.version
            );
        }
        variants.extend(found.into_iter().map(|mode| (i, mode)));
    }
    variants
}

fn visits(options: &Options, variants: &[(usize, Mode)]) -> Vec<Visit> {
    let mut visits = Vec::new();
    for &connections in &options.connections {
        for round in 1..=options.rounds.rounds {
            visits.extend(variants.iter().map(|&(server, mode)| Visit {
                server,
                mode,
                connections,
                round,
            }));
        }
    }
    visits
}

/// Runs all workloads of one visit.
fn measure(
    options: &Options,
    visit: &Visit,
    server: &mut Server,
    label: &str,
    results: &mut Results,
) -> Result<(), String> {
    server.switch(visit.mode)?;
    let mut fleet = {
        let connecting = Progress::new(format!("{label}: connecting"), visit.connections as u64);
        let (endpoint, opened) = (&server.endpoint, connecting.done());
        Fleet::open(
            endpoint,
            visit.connections,
            options.threads,
            options.logins,
            opened,
        )
        .map_err(|error| {
            let opened = opened.load(Ordering::Relaxed);
            format!("after {opened} connections: {error}")
        })?
    };
    for workload in &options.workloads {
        let plan = Plan {
            workload,
            rows: options.rows,
            rate: options.rate,
            warmup: options.rounds.warmup(),
            time: options.rounds.time(),
            each: None,
        };
        let running = Progress::timed(
            format!("{label}: {}", workload.name),
            plan.warmup + plan.time,
        );
        let failed = |error| format!("{}: {error}", workload.name);
        fleet.prepare(workload).map_err(failed)?;
        let before = server.cpu();
        let tally = fleet.run(plan).map_err(failed)?;
        let cpu = server
            .cpu()
            .zip(before)
            .map(|(after, before)| after - before);
        fleet.settle(workload).map_err(failed)?;
        drop(running);
        results.measurements.push(Measurement::new(
            visit,
            &server.name,
            workload,
            &tally,
            cpu,
            plan,
        ));
    }
    Ok(())
}

impl Measurement {
    fn new(
        visit: &Visit,
        target: &str,
        workload: &Workload,
        tally: &Tally,
        server_cpu: Option<Duration>,
        plan: Plan,
    ) -> Measurement {
        // The server's time is taken over the warm-up too.
        let share = plan.time.as_secs_f64() / (plan.time + plan.warmup).as_secs_f64();
        let per_statement =
            |cpu: Duration| cpu.as_secs_f64() * share * 1e6 / tally.statements.max(1) as f64;
        Measurement {
            target: target.to_owned(),
            mode: visit.mode.to_string(),
            workload: workload.name,
            connections: visit.connections,
            round: visit.round,
            tps: tally.events_per_s,
            qps: tally.statements_per_s,
            p50_ms: tally.percentile_ms(50.0),
            p95_ms: tally.percentile_ms(95.0),
            p99_ms: tally.percentile_ms(99.0),
            max_ms: tally.percentile_ms(100.0),
            oldest_ms: tally.oldest.as_secs_f64() * 1e3,
            retries: tally.retries.clone(),
            generator_us: tally.cpu_us_per_statement(),
            server_us: server_cpu.map(per_statement),
        }
    }
}
