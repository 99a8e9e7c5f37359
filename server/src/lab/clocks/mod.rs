//! What `performance_schema` costs: what a server measures of statements and commits, and keeps.
//!
//! Two of the program's own servers have the same table, one with it and one without. The difference is
//! a few parts in a hundred, and what a machine does from one second to the next is more than that. So
//! both have the same load at the same time, each with clients of its own: whatever else the machine
//! does hits both. What is compared is the server's processor time for an event: each gets as much of
//! the machine as it can, so events in a second tell less. Each round's ratio counts.

mod report;

use super::{
    generator::{Fleet, Plan},
    interrupt,
    report::{Described, Keeper, Output},
    rounds::{Rounds, announce},
    server::Server,
    workload::Workload,
};
use crate::progress::Progress;
use clap::Args;
use serde::Serialize;
use std::{thread, time::Duration};

/// `cohort lab clocks`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of clients
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N,…",
        default_value = "16,64"
    )]
    clients: Vec<usize>,
    /// Rounds; medians count
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Seconds of a round
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Seconds of load, before the first round of a workload, that do not count
    #[arg(long, default_value_t = 1.0)]
    warmup: f64,
    /// Rows of the table sbtest1
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// Threads of the load generator for each server
    #[arg(long, default_value_t = 2)]
    threads: usize,
    #[command(flatten)]
    output: Output,
}

/// What `--help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  cohort lab clocks
      all of it: about 5 minutes
  cohort lab clocks --clients 16 --rounds 5 --html clocks.html
      one minute, as a page";

/// Connections that log in at the same time.
const LOGINS: usize = 64;
/// What is measured: reads, commits that are statements, and commits of transactions.
const WORKLOADS: [&str; 3] = [
    "oltp_point_select",
    "oltp_update_non_index",
    "oltp_update_non_index_trx",
];
/// The servers.
const WITH: &str = "with";
const WITHOUT: &str = "without";

/// What a server did in a round.
#[derive(Clone, Debug, Serialize)]
struct Measurement {
    server: &'static str,
    workload: &'static str,
    clients: usize,
    round: usize,
    events: u64,
    seconds: f64,
    /// Processor time of the server, in seconds.
    server_s: f64,
}

impl Measurement {
    fn events_per_s(&self) -> f64 {
        self.events as f64 / self.seconds
    }
    /// Processor time of the server for an event, in microseconds.
    fn server_us(&self) -> f64 {
        self.server_s * 1e6 / self.events as f64
    }
}

/// All that was found.
#[derive(Clone, Debug, Default, Serialize)]
struct Results {
    #[serde(skip)]
    servers: Vec<Described>,
    measurements: Vec<Measurement>,
    gaps: Vec<String>,
}

/// A server, and the clients that it has.
struct Side {
    name: &'static str,
    server: Server,
}

/// Measures, prints tables, and writes the files.
pub fn run(options: &Options) -> Result<(), String> {
    Keeper::report(&options.output, |keeper| measure_all(options, keeper))
}

/// Measures, and has the report keep what is found.
pub fn measure_all(options: &Options, keeper: &mut Keeper) -> Result<(), String> {
    let rounds = Rounds::new(options.rounds, options.seconds, options.warmup);
    if !rounds.are_possible() || options.clients.contains(&0) || options.clients.is_empty() {
        return Err("--seconds and --clients are more than 0, --warmup is not less".into());
    }
    let most = options.clients.iter().copied().max().unwrap_or(0);
    let start = |name: &'static str, schema: &str| -> Result<Side, String> {
        let flags = [
            "--coordinator=off".to_owned(),
            "--console=off".to_owned(),
            format!("--performance-schema={schema}"),
        ];
        let mut server = Server::start_own(name, &flags, most)?;
        server.load(options.rows)?;
        Ok(Side { name, server })
    };
    let mut sides = [start(WITH, "on")?, start(WITHOUT, "off")?];
    let mut results = Results {
        servers: sides.iter_mut().map(|s| s.server.described()).collect(),
        ..Results::default()
    };
    let count = WORKLOADS.len() * options.clients.len() * options.rounds;
    announce(
        report::NAME,
        count,
        rounds.time() * u32::try_from(count).unwrap_or(u32::MAX),
    );
    for &clients in &options.clients {
        for name in WORKLOADS {
            interrupt::check()?;
            let workload = Workload::named(name)?;
            let label = format!("{name}, {clients} clients");
            let measured = measure(options, &rounds, &sides, (workload, clients), &label);
            match measured {
                Ok(measured) => results.measurements.extend(measured),
                Err(error) => {
                    interrupt::check()?;
                    results.gaps.push(format!("{label}: {error}"));
                }
            }
            keeper.keep(report::section(options, &results)?)?;
        }
    }
    Ok(())
}

/// All rounds of a workload.
fn measure(
    options: &Options,
    rounds: &Rounds,
    sides: &[Side; 2],
    (workload, clients): (&'static Workload, usize),
    label: &str,
) -> Result<Vec<Measurement>, String> {
    let connecting = Progress::new(format!("{label}: connecting"), 2 * clients as u64);
    let open = |side: &Side| {
        let endpoint = &side.server.endpoint;
        Fleet::open(
            endpoint,
            clients,
            options.threads,
            LOGINS,
            connecting.done(),
        )
    };
    let mut fleets = [open(&sides[0])?, open(&sides[1])?];
    drop(connecting);
    let run = |fleet: &mut Fleet, side: &Side, time: Duration| -> Result<_, String> {
        let cpu = || side.server.cpu().ok_or("its processor time is not known");
        fleet.prepare(workload)?;
        let before = cpu()?;
        let tally = fleet.run(Plan {
            workload,
            rows: options.rows,
            rate: None,
            warmup: Duration::ZERO,
            time,
            each: None,
        })?;
        let used = cpu()? - before;
        fleet.settle(workload)?;
        Ok((tally, used))
    };
    let mut both_run = |time: Duration| -> Result<[_; 2], String> {
        let [first, second] = &mut fleets;
        let (first, second) = thread::scope(|scope| {
            let first = scope.spawn(|| run(first, &sides[0], time));
            let second = run(second, &sides[1], time);
            (first.join().expect("a measurement does not panic"), second)
        });
        Ok([first?, second?])
    };
    both_run(rounds.warmup())?;
    let mut measured = Vec::new();
    for round in 1..=options.rounds {
        interrupt::check()?;
        let text = format!("{label}, round {round} of {}", options.rounds);
        let _running = Progress::timed(text, rounds.time());
        for (side, (tally, used)) in sides.iter().zip(both_run(rounds.time())?) {
            if tally.events == 0 {
                return Err(format!("round {round}: no event ended {} it", side.name));
            }
            measured.push(Measurement {
                server: side.name,
                workload: workload.name,
                clients,
                round,
                events: tally.events,
                seconds: tally.elapsed.as_secs_f64(),
                server_s: used.as_secs_f64(),
            });
        }
    }
    Ok(measured)
}
