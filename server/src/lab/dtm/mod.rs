//! Experiment 2: what a coordinator of global transactions costs.
//!
//! The benchmark that DTM published, made again: clients call a business service, which moves
//! money from one user to another in two steps, each a local transaction in a database; either
//! under the coordinator, as a saga whose result is waited for, or by calling the steps itself.
//! Then the coordinator alone, with steps that do nothing. Rounds go through all of it in turn;
//! medians count. At the end the money is counted.
//!
//! Rows that the own server writes are merged into its base later, by checkpoints. So that each
//! column pays for its own rows, and for all of them, what is measured is one cycle: from the end
//! of a checkpoint to the end of the next, under load all the time. A checkpoint before the warm-up
//! takes away what the column before has left.

mod alone;
pub mod backlog;
mod bank;
mod column;
mod http;
mod hub;
pub mod limit;
mod load;
mod report;
mod service;

use super::{
    control::Control,
    interrupt,
    own::Own,
    report::{Keeper, Output},
    rounds::{Rounds, announce},
    server::cpu,
    target::{Endpoint, Target},
};
use crate::progress::Progress;
use alone::Alone;
use clap::Args;
use column::{COLUMNS, Column, Work};
use limit::Running;
use load::{Measured, Time, Worker};
use serde::Serialize;
use service::{By, Coordinators, Service};
use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// `cohort lab dtm`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The business database: `cohort` (this program's own server) or
    /// NAME=mysql://USER[:PASSWORD]@HOST[:PORT][?pid=N]; may be given several times. The schemas
    /// dtm_busi and dtm_barrier are made anew there. With pid, its processor time is counted
    #[arg(long = "target", value_name = "TARGET", default_value = "cohort")]
    targets: Vec<Target>,
    /// A coordinator that runs: http://HOST:PORT[?pid=N]. Without it, the own server coordinates
    #[arg(long, value_name = "URL")]
    coordinator: Option<Coordinator>,
    /// Columns: none, 0-sql, 2-sql, 2-sql-barrier, none-10, 10-sql, 10-sql-barrier (transfers);
    /// empty, http (the coordinator alone). With -limit after all but the first and fifth: under a
    /// null coordinator, which does no more than HTTP and two durable records need
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = Column::named,
          default_values = COLUMNS.iter().filter(|column| column.by() != By::Limit)
              .map(|column| column.name))]
    columns: Vec<&'static Column>,
    /// Accounts
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(2..))]
    users: u32,
    /// Clients that make transfers
    #[arg(long, default_value_t = 20)]
    clients: usize,
    /// Numbers of clients of the coordinator alone
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "N,…",
        default_value = "1,20,64,256"
    )]
    alone: Vec<usize>,
    #[command(flatten)]
    rounds: Rounds,
    /// Where the own server keeps its data; it stays. Without it, a temporary directory
    #[arg(long, value_name = "PATH")]
    datadir: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// What `--help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  cohort lab dtm
      the own server coordinates, and holds the business data too
  cohort lab dtm --target mariadb=mysql://sb@127.0.0.1:3310 --target cohort --json out.json
      business data in MariaDB and in Cohort, by turns
  cohort lab dtm --columns none,2-sql --users 1000 --rounds 1 --seconds 3
  cohort lab dtm --columns empty,http --alone 1,64,1024
      the coordinator alone
  cohort lab dtm --columns none,2-sql,2-sql-limit,http,http-limit --alone 64
      beside the null coordinator
  cohort lab dtm --coordinator http://127.0.0.1:36789 --target mariadb=mysql://sb@127.0.0.1:3310
      any coordinator that speaks DTM's protocol";

/// Where a coordinator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Coordinator {
    address: SocketAddr,
    pid: Option<u32>,
}

impl FromStr for Coordinator {
    type Err = String;

    fn from_str(text: &str) -> Result<Coordinator, String> {
        const FORM: &str = "http://HOST:PORT[?pid=N] is expected";
        let rest = text.strip_prefix("http://").ok_or(FORM)?;
        let (host, query) = rest.split_once('?').unwrap_or((rest, ""));
        let pid = query.strip_prefix("pid=").map(str::parse).transpose();
        let mut found = host
            .trim_end_matches('/')
            .to_socket_addrs()
            .map_err(|error| format!("{host}: {error}"))?;
        Ok(Coordinator {
            address: found.next().ok_or(FORM)?,
            pid: pid.map_err(|_| FORM)?,
        })
    }
}

/// One measurement.
#[derive(Clone, Debug, Serialize)]
struct Measurement {
    /// The business database; empty for the coordinator alone.
    target: String,
    column: &'static str,
    clients: usize,
    round: usize,
    /// Global transactions per second.
    global_tps: f64,
    /// Local transactions per second in the business database.
    db_tps: f64,
    /// Statements per second there, counted, without BEGIN and COMMIT.
    statements_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// Processor time for a global transaction, in microseconds: of this process, which is the
    /// clients and the business service; of the coordinator; and of the business database, if it
    /// is another process.
    lab_us: f64,
    coordinator_us: Option<f64>,
    database_us: Option<f64>,
}

/// All that was found.
#[derive(Clone, Debug, Default, Serialize)]
struct Results {
    /// Each measurement is a cycle of the own server's checkpoints.
    is_cycles: bool,
    /// Names and versions of the business databases, in their order.
    targets: Vec<(String, String)>,
    users: u32,
    seconds: f64,
    measurements: Vec<Measurement>,
    /// What was checked at the end.
    checked: Vec<String>,
}

/// A business database and the service that uses it.
struct Business {
    name: String,
    control: Control,
    pid: Option<u32>,
    service: Arc<Service>,
}

/// Measures, prints tables, and writes the files.
pub fn run(options: &Options) -> Result<(), String> {
    Keeper::report(&options.output, |keeper| measure_all(options, keeper))
}

/// Measures, and has the report keep what is found.
pub fn measure_all(options: &Options, keeper: &mut Keeper) -> Result<(), String> {
    if !options.rounds.are_possible() || options.alone.contains(&0) {
        return Err("--seconds and --alone are more than 0, --warmup is not less".into());
    }
    let (own, real) = start(options)?;
    let is_limited = options
        .columns
        .iter()
        .any(|column| column.by() == By::Limit);
    let limit = is_limited.then(Running::start).transpose()?;
    let coordinators = Coordinators {
        real: real.address,
        limit: limit.as_ref().map(|limit| limit.address),
    };
    let coordinator = |by| match (by, &limit) {
        (By::Limit, Some(limit)) => Coordinator {
            address: limit.address,
            pid: Some(limit.pid()),
        },
        _ => real,
    };
    let mut all = Vec::new();
    for target in &options.targets {
        all.push(reach(target, own.as_ref(), coordinators, options.users)?);
    }
    let checkpoints = Checkpoints::of(own.as_ref())?;
    let mut results = Results {
        is_cycles: own.is_some(),
        targets: all
            .iter()
            .map(|business| (business.name.clone(), business.control.version.clone()))
            .collect(),
        users: options.users,
        seconds: options.rounds.seconds,
        measurements: Vec::new(),
        checked: Vec::new(),
    };
    let visits = visits(options, all.len());
    let estimate = options.rounds.estimate(visits.len());
    announce(report::NAME, visits.len(), estimate);
    for (number, visit) in visits {
        interrupt::check()?;
        let by = coordinator(visit.0.by());
        let found = measure(options, &all[number], by, &checkpoints, visit)?;
        results.measurements.push(found);
        keeper.keep(report::section(options, &results)?)?;
    }
    for business in &mut all {
        bank::check(&mut business.control, options.users)
            .map_err(|error| format!("{}: {error}", business.name))?;
        let name = &business.name;
        results
            .checked
            .push(format!("{name}: money conserved, no transfer half done"));
    }
    keeper.keep(report::section(options, &results)?)
}

/// A measurement: its column, how many clients, the round.
type Visit = (&'static Column, usize, usize);

/// All measurements, each with the number of its business database.
fn visits(options: &Options, businesses: usize) -> Vec<(usize, Visit)> {
    let mut visits = Vec::new();
    for round in 1..=options.rounds.rounds {
        for number in 0..businesses {
            for column in &options.columns {
                // The coordinator alone has nothing to do with the business database.
                let counts: &[usize] = match column.work {
                    Work::Transfer(_) => &[options.clients],
                    Work::Alone { .. } if number == 0 => &options.alone,
                    Work::Alone { .. } => &[],
                };
                visits.extend(counts.iter().map(|n| (number, (*column, *n, round))));
            }
        }
    }
    visits
}

/// Starts the own server if it is needed, and says where the coordinator is.
fn start(options: &Options) -> Result<(Option<Own>, Coordinator), String> {
    if let Some(coordinator) = options.coordinator {
        let needed = options.targets.contains(&Target::Own);
        let start = || Own::start(options.clients, options.datadir.as_deref());
        return Ok((needed.then(start).transpose()?, coordinator));
    }
    // Connections of the business service: the clients' own, and the coordinator's to it.
    let connections = 10 * options.clients;
    let (own, address) = Own::start_coordinating(connections, options.datadir.as_deref())?;
    let coordinator = Coordinator {
        address,
        pid: Some(own.pid()),
    };
    Ok((Some(own), coordinator))
}

fn reach(
    target: &Target,
    own: Option<&Own>,
    coordinators: Coordinators,
    users: u32,
) -> Result<Business, String> {
    let (endpoint, pid): (Endpoint, _) = match (target, own) {
        (Target::Running { endpoint, pid, .. }, _) => (endpoint.clone(), *pid),
        (Target::Own, Some(own)) => (own.endpoint.clone(), Some(own.pid())),
        (Target::Own, None) => return Err("the own server does not run".into()),
        (Target::Limit, _) => {
            return Err(
                "limit has no rows, so no business data: the columns with -limit show the \
                        least that a coordinator takes"
                    .into(),
            );
        }
    };
    let mut endpoint = endpoint;
    // Names are written out; the database of the URL need not be there.
    endpoint.account.database.clear();
    let name = target.name().to_owned();
    let failed = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    let mut control = endpoint.connect().map_err(|error| failed(&error))?;
    bank::ensure(&mut control, &name, users).map_err(|error| failed(&error))?;
    let run = SystemTime::now().duration_since(UNIX_EPOCH);
    let run = run.map_or(0, |since| since.as_micros() as u64);
    let service = Service::start(coordinators, endpoint, users, run);
    let service = service.map_err(|error| failed(&error))?;
    Ok(Business {
        name,
        control,
        pid,
        service,
    })
}

/// The way to the own server's checkpoints, if there is one.
struct Checkpoints(Option<Mutex<Control>>);

impl Checkpoints {
    fn of(own: Option<&Own>) -> Result<Checkpoints, String> {
        let connect = |own: &Own| own.endpoint.connect().map(Mutex::new);
        let control = own.map(connect).transpose();
        control
            .map(Checkpoints)
            .map_err(|error| format!("the own server: {error}"))
    }
    /// Writes one, and waits for it.
    fn write(&self) -> Result<(), String> {
        let Some(control) = &self.0 else {
            return Ok(());
        };
        let mut control = control.lock().unwrap_or_else(PoisonError::into_inner);
        let written = control.execute("FLUSH ENGINE LOGS");
        written.map_or_else(|e| Err(format!("a checkpoint: {e}")), |_| Ok(()))
    }
}

/// Counters at one moment.
struct Snapshot {
    transactions: u64,
    statements: u64,
    lab: Option<Duration>,
    coordinator: Option<Duration>,
    database: Option<Duration>,
}

fn measure(
    options: &Options,
    business: &Business,
    coordinator: Coordinator,
    checkpoints: &Checkpoints,
    (column, clients, round): Visit,
) -> Result<Measurement, String> {
    let target = match column.work {
        Work::Transfer(_) => business.name.as_str(),
        Work::Alone { .. } => "",
    };
    let label = format!(
        "round {round}: {target} {}, {clients} clients",
        column.title
    );
    let time = Time {
        warmup: options.rounds.warmup(),
        measured: options.rounds.time(),
    };
    let service = &business.service;
    let database = business.pid.filter(|pid| Some(*pid) != coordinator.pid);
    let snapshot = || Snapshot {
        transactions: service.counts.transactions.load(Ordering::Relaxed),
        statements: service.counts.statements.load(Ordering::Relaxed),
        lab: cpu(std::process::id()),
        coordinator: coordinator.pid.and_then(cpu),
        database: database.and_then(cpu),
    };
    let running = Progress::timed(label.clone(), time.warmup + time.measured);
    let workers = workers(service, coordinator, column.work, clients)
        .map_err(|error| format!("{label}: {error}"))?;
    let settle = || checkpoints.write();
    let measured = settle().and_then(|()| load::run(workers, time, settle, snapshot));
    let measured = measured.map_err(|e| format!("{label}: {e}"))?;
    drop(running);
    Ok(Measurement::new(target, column, clients, round, &measured))
}

/// The load of a column.
fn workers(
    service: &Service,
    coordinator: Coordinator,
    work: Work,
    clients: usize,
) -> std::io::Result<Vec<Worker<'_>>> {
    let manner = match work {
        Work::Transfer(manner) => manner,
        Work::Alone { http, .. } => {
            let alone = Alone::new(service, coordinator.address, http)?;
            return Ok(vec![alone.worker(clients)]);
        }
    };
    let client = || {
        let (mut connection, target) = (None, manner.target());
        load::client(move || service::post(&mut connection, service.address, &target, "{}"))
    };
    Ok((0..clients).map(|_| client()).collect())
}

impl Measurement {
    fn new(
        target: &str,
        column: &'static Column,
        clients: usize,
        round: usize,
        measured: &Measured<Snapshot>,
    ) -> Measurement {
        let Measured {
            latency_us,
            elapsed,
            before,
            after,
        } = measured;
        let per_second = |count: u64| count as f64 / elapsed.as_secs_f64();
        let ms = |quantile: f64| latency_us.value_at_quantile(quantile) as f64 / 1e3;
        let each = |of: fn(&Snapshot) -> Option<Duration>| {
            let used = of(after)?.saturating_sub(of(before)?);
            Some(used.as_secs_f64() * 1e6 / latency_us.len().max(1) as f64)
        };
        Measurement {
            target: target.to_owned(),
            column: column.name,
            clients,
            round,
            global_tps: per_second(latency_us.len()),
            db_tps: per_second(after.transactions - before.transactions),
            statements_per_s: per_second(after.statements - before.statements),
            p50_ms: ms(0.5),
            p99_ms: ms(0.99),
            lab_us: each(|snapshot| snapshot.lab).unwrap_or(f64::NAN),
            coordinator_us: each(|snapshot| snapshot.coordinator),
            database_us: each(|snapshot| snapshot.database),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinators_have_urls() {
        let found: Coordinator = "http://127.0.0.1:36789?pid=7".parse().unwrap();
        assert_eq!((found.address.port(), found.pid), (36_789, Some(7)));
        assert!("http://127.0.0.1:36789/".parse::<Coordinator>().is_ok());
        for text in [
            "127.0.0.1:1",
            "http://127.0.0.1",
            "http://127.0.0.1:1?pid=x",
        ] {
            assert!(text.parse::<Coordinator>().is_err(), "{text}");
        }
    }
}
