//! What connections cost that do nothing, and how a newcomer fares beside many that do much.
//!
//! Memory is the server's resident memory (`/proc/PID/status`), told apart by what the
//! connections do: nothing since they logged in, or a statement each at the same time. Then all
//! of them update rows in a closed loop, and newcomers log in one after another, at the usual
//! port and at the admin port.

use super::{
    generator::{Fleet, Plan, histogram},
    report,
    server::{Limit, Server, memory},
    target::{Address, Endpoint, Target},
    workload::Workload,
};
use crate::progress::Progress;
use clap::Args;
use hdrhistogram::Histogram;
use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// `cohort lab connections`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// What to measure, as for `lab thread-pool`; memory needs pid, unless it is the own server
    #[arg(long = "target", value_name = "TARGET", default_value = "cohort")]
    targets: Vec<Target>,
    /// How many connections
    #[arg(long, default_value_t = 4096)]
    connections: usize,
    /// Seconds of load while newcomers log in
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Rows of the table sbtest1
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// Threads of the load generator
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Where the own server keeps its data
    #[arg(long, value_name = "PATH")]
    datadir: Option<PathBuf>,
}

/// How long connections are left alone before their memory counts.
const SILENCE: Duration = Duration::from_secs(3);
/// How often the server is given so long to come to rest after loading.
const SETTLE_TRIES: usize = 10;
/// Between two newcomers.
const PAUSE: Duration = Duration::from_millis(5);
/// Connections that log in at the same time.
const LOGINS: usize = 64;

/// Measures and prints.
pub fn run(options: &Options) -> Result<(), String> {
    let head = [
        "server",
        "KiB a silent connection",
        "KiB a talking one",
        "login p50/p99/max ms, nothing to do",
        "login p50/p99/max ms, all busy",
        "admin port, all busy",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    for target in &options.targets {
        let directory = options.datadir.as_deref();
        let mut server =
            Server::reach(target, options.connections, directory, Limit::Durable(None))?;
        server.load(options.rows)?;
        let row = measure(options, &server);
        rows.push(row.map_err(|error| format!("{}: {error}", server.name))?);
    }
    print!("{}", report::aligned(&rows));
    Ok(())
}

fn measure(options: &Options, server: &Server) -> Result<Vec<String>, String> {
    let count = options.connections;
    let idle = probe(
        &server.endpoint,
        Duration::from_secs(1),
        &AtomicBool::new(false),
    );
    let before = settled(server);
    let mut fleet = {
        let connecting = Progress::new(format!("{}: connecting", server.name), count as u64);
        Fleet::open(
            &server.endpoint,
            count,
            options.threads,
            LOGINS,
            connecting.done(),
        )?
    };
    thread::sleep(SILENCE);
    let each = |now: Option<u64>| {
        let more = now? as f64 - before? as f64;
        Some(more / 1024.0 / count as f64)
    };
    let silent = each(server.memory());
    let plan = Plan {
        workload: Workload::named("oltp_update_non_index")?,
        rows: options.rows,
        rate: None,
        warmup: Duration::from_secs(2),
        time: Duration::from_secs_f64(options.seconds),
        each: None,
    };
    let admin = server.admin();
    let _running = Progress::timed(
        format!("{}: all busy", server.name),
        plan.warmup + plan.time,
    );
    let ended = AtomicBool::new(false);
    let (busy, by_admin, talking) = thread::scope(|scope| {
        let newcomers = scope.spawn(|| probe(&server.endpoint, plan.time, &ended));
        let admins = admin.map(|admin| {
            let ended = &ended;
            scope.spawn(move || probe(&admin, plan.time, ended))
        });
        let talking = scope.spawn(|| peak(server, &ended));
        let run = fleet.prepare(plan.workload).and_then(|()| fleet.run(plan));
        ended.store(true, Ordering::Relaxed);
        let busy = newcomers.join().ok().flatten();
        let by_admin = admins.and_then(|admins| admins.join().ok().flatten());
        run.map(|_| (busy, by_admin, talking.join().ok().flatten()))
    })?;
    let kib = |kib: Option<f64>| kib.map_or("-".to_owned(), report::number);
    Ok(vec![
        server.name.clone(),
        kib(silent),
        kib(each(talking)),
        latencies(idle.as_ref()),
        latencies(busy.as_ref()),
        latencies(by_admin.as_ref()),
    ])
}

/// Logs in again and again, for so long; how many microseconds each took. Nothing if one failed.
fn probe(endpoint: &Endpoint, time: Duration, ended: &AtomicBool) -> Option<Histogram<u64>> {
    let mut histogram = histogram();
    let begun = Instant::now();
    while begun.elapsed() < time && !ended.load(Ordering::Relaxed) {
        let start = Instant::now();
        if let Err(error) = endpoint.connect() {
            eprintln!("logging in: {error}");
            return None;
        }
        let us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        histogram.saturating_record(us);
        thread::sleep(PAUSE);
    }
    Some(histogram)
}

fn latencies(histogram: Option<&Histogram<u64>>) -> String {
    let Some(histogram) = histogram.filter(|histogram| !histogram.is_empty()) else {
        return "-".into();
    };
    let ms = |quantile: f64| report::number(histogram.value_at_quantile(quantile) as f64 / 1000.0);
    format!("{} / {} / {}", ms(0.5), ms(0.99), ms(1.0))
}

/// The server's memory when it has ended what loading has left it to do.
fn settled(server: &Server) -> Option<u64> {
    let mut before = server.memory()?;
    for _ in 0..SETTLE_TRIES {
        thread::sleep(SILENCE);
        let now = server.memory()?;
        if now.abs_diff(before) < before / 200 {
            return Some(now);
        }
        before = now;
    }
    Some(before)
}

/// The most memory the server has until the load has ended.
fn peak(server: &Server, ended: &AtomicBool) -> Option<u64> {
    let mut most = None;
    while !ended.load(Ordering::Relaxed) {
        most = most.max(server.memory());
        thread::sleep(Duration::from_millis(100));
    }
    most
}

impl Server {
    /// Where the admin port is, if there is one.
    fn admin(&self) -> Option<Endpoint> {
        let port = self.admin_port?;
        match self.endpoint.address {
            Address::Tcp(mut address) => {
                address.set_port(port);
                Some(Endpoint {
                    address: Address::Tcp(address),
                    account: self.endpoint.account.clone(),
                })
            }
            Address::Unix(_) => None,
        }
    }

    /// Bytes of resident memory, if the process is known.
    fn memory(&self) -> Option<u64> {
        memory(self.pid?)
    }
}
