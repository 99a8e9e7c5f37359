//! The server's port for Prometheus: what `GET /metrics` of `--metrics-port` tells.
//!
//! Nearly all of it is what `SHOW GLOBAL STATUS` tells, under names that say the unit. Labels are from
//! short lists: no client can make them many.

mod numbers;

use crate::{config::Settings, connections, lab};
use cohort_coordinator::{Exposition, Kind, MetricsPort, Running};
use cohort_engine::env::Spreading;
use cohort_process::{Notice, notice};
use cohort_sql::{Group, Instance, Pool, ReplicaStatus, WaitClass};
use numbers::{BY_NAME, COUNTED, GAUGED};
use rustix::{
    process::{Resource, getrlimit},
    time::{ClockId, clock_gettime},
};
use std::{
    fs,
    net::TcpListener,
    sync::{Arc, Weak},
};

/// Starts it, if there is a port for it. `coordinator`: if one runs.
pub fn start(
    settings: &Settings,
    instance: &Arc<Instance>,
    coordinator: Option<&Running>,
) -> Result<Option<MetricsPort>, String> {
    let Some(port) = settings.metrics_port else {
        return match &settings.metrics_address {
            None => Ok(None),
            Some(_) => Err("metrics-address: give metrics-port, too".into()),
        };
    };
    let address = settings.metrics_address.as_deref().unwrap_or("127.0.0.1");
    let listener = TcpListener::bind((address, port))
        .map_err(|error| format!("metrics-port {port} on {address}: {error}"))?;
    let local = listener.local_addr().map_err(|e| e.to_string())?;
    let token = settings.metrics_token.clone();
    if token.is_none() && !connections::is_loopback(local.ip()) {
        return Err(format!(
            "refusing to tell metrics on {local} without a token: give --metrics-token, or \
             COHORT_METRICS_TOKEN, which no list of processes shows"
        ));
    }
    let weak = Arc::downgrade(instance);
    let coordinator = coordinator.map(Running::metrics);
    let tell = move |out: &mut Exposition| {
        tell(&weak, out);
        if let Some(tell) = &coordinator {
            tell(out);
        }
    };
    let running = MetricsPort::start(listener, token, Arc::new(tell))?;
    notice!(
        Notice::MetricsReady,
        "metrics for Prometheus: http://{local}/metrics"
    );
    Ok(Some(running))
}

fn tell(instance: &Weak<Instance>, out: &mut Exposition) {
    // At the very end there is none any more.
    let Some(instance) = instance.upgrade() else {
        return;
    };
    let info = ("cohort_info", Kind::Gauge);
    out.family(info.0, info.1, "What runs; always 1.");
    out.value(info.0, &[("version", &instance.version)], 1);
    let status = instance.status();
    tell_numbers(&status, out);
    tell_by_name(&status, out);
    let log = instance.engine.stats().log;
    tell_log(&log.fsync_us, &log.group_sizes, out);
    if let Some(pool) = instance.pool() {
        tell_pool(pool, out);
    }
    if let Some(replica) = instance.replication().ok().and_then(|r| r.status()) {
        tell_replica(&replica, out);
    }
    tell_limits(&instance, out);
    tell_process(instance.started_micros, out);
}

fn tell_numbers(status: &[(&'static str, u64)], out: &mut Exposition) {
    for (kind, numbers) in [(Kind::Counter, COUNTED), (Kind::Gauge, GAUGED)] {
        for (known_as, name, units, help) in numbers {
            let found = status.iter().find(|(known, _)| known == known_as);
            let value = found.map_or(0, |(_, value)| *value);
            match units {
                1 => out.single((name, kind), help, value),
                _ => out.single((name, kind), help, value as f64 / f64::from(*units)),
            }
        }
    }
}

fn tell_by_name(status: &[(&'static str, u64)], out: &mut Exposition) {
    for (beginning, name, label, help) in BY_NAME {
        out.family(name, Kind::Counter, help);
        for (known, value) in status {
            if let Some(end) = known.strip_prefix(beginning) {
                out.value(name, &[(label, end)], value);
            }
        }
    }
}

/// The first `buckets`; what is larger is in one more. `bound` makes one of a bucket's end.
fn tell_spread(
    out: &mut Exposition,
    (name, labels): (&str, &[(&str, &str)]),
    buckets: usize,
    spread: &Spreading,
    bound: impl Fn(u64) -> f64,
    sum: f64,
) {
    let (few, more) = spread.buckets.split_at(buckets.min(spread.buckets.len()));
    let counts = few.iter().copied().chain([more.iter().sum()]);
    let bounds = (0..few.len()).map(|bucket| bound(1 << bucket));
    out.histogram(name, labels, bounds, counts, sum);
}

/// A number of microseconds in seconds.
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

fn tell_log(fsync_us: &Spreading, group_sizes: &Spreading, out: &mut Exposition) {
    // Up to two seconds, and up to 4,095 commits.
    let name = "cohort_log_fsync_duration_seconds";
    out.family(name, Kind::Histogram, "How long syncs of the log took.");
    tell_spread(
        out,
        (name, &[]),
        22,
        fsync_us,
        seconds,
        seconds(fsync_us.sum),
    );
    let name = "cohort_log_group_commits";
    out.family(name, Kind::Histogram, "How many commits groups had.");
    let most = |end: u64| (end - 1) as f64;
    tell_spread(
        out,
        (name, &[]),
        13,
        group_sizes,
        most,
        group_sizes.sum as f64,
    );
}

/// The names of the pool's groups.
const GROUPS: [&str; 2] = ["statements", "logins"];

/// A number of a group.
type Count = fn(&Group) -> u64;

/// What is told of each group.
const OF_GROUP: [(&str, Kind, Count, &str); 9] = [
    (
        "cohort_scheduler_slots",
        Kind::Gauge,
        |g| g.slots,
        "Statements that may execute at once; 0 for no limit.",
    ),
    (
        "cohort_scheduler_slots_taken",
        Kind::Gauge,
        |g| g.active,
        "Slots that are taken.",
    ),
    (
        "cohort_scheduler_queued",
        Kind::Gauge,
        |g| g.queued,
        "Who waits for a slot.",
    ),
    (
        "cohort_scheduler_connections",
        Kind::Gauge,
        |g| g.connections,
        "Connections.",
    ),
    (
        "cohort_scheduler_threads",
        Kind::Gauge,
        |g| g.threads,
        "Threads.",
    ),
    (
        "cohort_scheduler_idle_threads",
        Kind::Gauge,
        |g| g.standby,
        "Threads without work.",
    ),
    (
        "cohort_scheduler_threads_created_total",
        Kind::Counter,
        |g| g.created,
        "Threads made.",
    ),
    (
        "cohort_scheduler_lent_total",
        Kind::Counter,
        |g| g.lent,
        "Slots that were lent to threads that helped statements which read much.",
    ),
    (
        "cohort_scheduler_yields_total",
        Kind::Counter,
        |g| g.yields,
        "Times that a long statement let others go first.",
    ),
];

/// The queues that turns come from.
const QUEUES: [(&str, Count); 4] = [
    ("returned", |group| group.returned),
    ("high", |group| group.high),
    ("kicked_up", |group| group.kicked_up),
    ("low", |group| group.low),
];

fn tell_pool(pool: &dyn Pool, out: &mut Exposition) {
    let groups = pool.groups();
    let groups = || GROUPS.into_iter().zip(&groups);
    for (name, kind, count, help) in OF_GROUP {
        out.family(name, kind, help);
        for (label, group) in groups() {
            out.value(name, &[("group", label)], count(group));
        }
    }
    let name = "cohort_scheduler_turns_total";
    out.family(
        name,
        Kind::Counter,
        "Slots given, by the queue they were waited for in.",
    );
    for (label, group) in groups() {
        for (queue, count) in QUEUES {
            out.value(name, &[("group", label), ("queue", queue)], count(group));
        }
    }
    let name = "cohort_wait_duration_seconds";
    out.family(
        name,
        Kind::Histogram,
        "How long sessions waited, and for what.",
    );
    for WaitClass { name: what, micros } in pool.waits() {
        let what = what.to_ascii_lowercase();
        let labels = [("wait", what.as_str())];
        tell_spread(
            out,
            (name, &labels),
            24,
            &micros,
            seconds,
            seconds(micros.sum),
        );
    }
}

fn tell_replica(replica: &ReplicaStatus, out: &mut Exposition) {
    let gauge = |name| (name, Kind::Gauge);
    let is = |yes: bool| u8::from(yes);
    let receives = is(replica.receives == Some(true));
    out.single(
        gauge("cohort_replica_receiving"),
        "1: it is connected to its source.",
        receives,
    );
    out.single(
        gauge("cohort_replica_applying"),
        "1: it applies the source's log.",
        is(replica.applies),
    );
    let name = "cohort_replica_behind_seconds";
    out.family(
        name,
        Kind::Gauge,
        "How much later than the source it is; not there while it does not apply.",
    );
    if let Some(behind) = replica.behind_seconds {
        out.value(name, &[], behind);
    }
    let waiting = gauge("cohort_replica_waiting_bytes");
    out.single(
        waiting,
        "Events that wait to be applied.",
        replica.waiting_bytes,
    );
    let retries = ("cohort_replica_retries_total", Kind::Counter);
    out.single(
        retries,
        "Transactions of the source that were begun again.",
        replica.retries,
    );
}

/// What the values above have as their limits.
fn tell_limits(instance: &Instance, out: &mut Exposition) {
    let values = instance.globals.values();
    let limits = [
        (
            "max_connections",
            "cohort_connections_limit",
            "Connections that may be at once.",
        ),
        (
            "innodb_buffer_pool_size",
            "cohort_buffer_pool_limit_bytes",
            "Memory for pages of the store.",
        ),
    ];
    for (variable, name, help) in limits {
        out.single((name, Kind::Gauge), help, values.number(variable));
    }
}

/// Under the names that programs in other languages have for it.
fn tell_process(started_micros: u64, out: &mut Exposition) {
    let gauge = |name| (name, Kind::Gauge);
    let start = gauge("process_start_time_seconds");
    out.single(
        start,
        "When it began, in seconds since 1970.",
        seconds(started_micros),
    );
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let cpu = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
    let name = ("process_cpu_seconds_total", Kind::Counter);
    out.single(name, "Time of processors that it has used.", cpu);
    if let Some(bytes) = lab::memory(std::process::id()) {
        let name = gauge("process_resident_memory_bytes");
        out.single(name, "Memory that it has.", bytes);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        // One is the directory itself.
        let files = files.count().saturating_sub(1);
        out.single(
            gauge("process_open_fds"),
            "Files and connections that are open.",
            files,
        );
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        out.single(gauge("process_max_fds"), "How many may be.", most);
    }
}
