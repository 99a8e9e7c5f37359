//! All status values: what sessions counted, and what the engine tells about itself.

use super::error_log;
use crate::{
    state::{Encryption, Group, Instance, Pool, State, Tls},
    status::{COUNTERS, Counter},
    variables::default_number,
};
use cohort_engine::{log::SemiSyncStatus, txn::EngineStats};

/// SHOW GLOBAL STATUS: names and values, by name.
#[must_use]
pub fn global(session: &State) -> Vec<(String, String)> {
    status(session, session.instance.status())
}

/// SHOW SESSION STATUS: the session's counters, and the server's where it has none of its own.
#[must_use]
pub fn session(session: &State) -> Vec<(String, String)> {
    let counted = |counter| session.counters().get(counter);
    let mut pairs = status(session, numbers(&session.instance, counted));
    let own = compression(session).map(|(name, value)| (name.to_owned(), value));
    pairs.extend(own);
    pairs.sort();
    pairs
}

impl Instance {
    /// The numbers of SHOW GLOBAL STATUS.
    #[must_use]
    pub fn status(&self) -> Vec<(&'static str, u64)> {
        let sum = self.sessions.sum();
        numbers(self, |counter| {
            sum.get(counter as usize).copied().unwrap_or(0)
        })
    }
}

fn status(session: &State, values: Vec<(&'static str, u64)>) -> Vec<(String, String)> {
    let instance = &session.instance;
    let mut pairs: Vec<(String, String)> = values
        .into_iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    let texts = instance.tls().map_or_else(Vec::new, Tls::status);
    let texts = texts.into_iter().chain(encryption(session));
    let texts = texts.chain(semi_sync(session));
    pairs.extend(texts.map(|(name, value)| (name.to_string(), value)));
    pairs.sort();
    pairs
}

fn numbers(instance: &Instance, counted: impl Fn(Counter) -> u64) -> Vec<(&'static str, u64)> {
    let mut values: Vec<(&str, u64)> = COUNTERS
        .iter()
        .map(|(counter, name)| (*name, counted(*counter)))
        .collect();
    let (now, opened, most) = instance.sessions.counts();
    let uptime = instance
        .env()
        .wall_micros()
        .saturating_sub(instance.started_micros)
        / 1_000_000;
    let active = instance.sessions.list();
    let running = active
        .iter()
        .filter(|entry| entry.activity.lock().statement.is_some())
        .count();
    let groups = instance.pool().map_or_else(Vec::new, Pool::groups);
    let threads = |count: fn(&Group) -> u64| groups.iter().map(count).sum();
    values.extend([
        ("Connections", opened),
        ("Max_used_connections", most),
        ("Prepared_stmt_count", instance.prepared()),
        ("Queries", counted(Counter::Questions)),
        ("Threadpool_idle_threads", threads(|group| group.standby)),
        ("Threadpool_lent", threads(|group| group.lent)),
        ("Threadpool_running", threads(|group| group.active)),
        ("Threadpool_threads", threads(|group| group.threads)),
        ("Threadpool_waiting", threads(|group| group.queued)),
        ("Threadpool_yields", threads(|group| group.yields)),
        ("Threads_cached", threads(|group| group.standby)),
        ("Threads_connected", now),
        ("Threads_created", threads(|group| group.created)),
        ("Threads_running", running as u64),
        ("Uptime", uptime),
        ("Uptime_since_flush_status", uptime),
        ("Open_tables", 0),
        ("Innodb_page_size", default_number("innodb_page_size")),
    ]);
    values.extend(instance.door.status());
    values.extend(error_log::status());
    let stats = instance.engine.stats();
    engine(&stats, &mut values);
    waits_for_replicas(&stats.semi_sync, &mut values);
    values
}

/// The session's own TLS, also in SHOW GLOBAL STATUS, as in MySQL.
fn encryption(session: &State) -> [(&'static str, String); 4] {
    let told = |tell: fn(&Encryption) -> &str| {
        let encryption = session.encryption.as_ref();
        encryption.map_or_else(String::new, |encryption| tell(encryption).to_owned())
    };
    [
        ("Ssl_cipher", told(|tls| tls.cipher)),
        ("Ssl_cipher_list", told(|tls| tls.ciphers)),
        ("Ssl_version", told(|tls| tls.version)),
        ("Tls_sni_server_name", told(|tls| &tls.server_name)),
    ]
}

/// How the session's connection is compressed; not in SHOW GLOBAL STATUS.
fn compression(session: &State) -> [(&'static str, String); 3] {
    let (name, level) = match session.compression {
        Some(compression) => (compression.algorithm.name(), compression.level),
        None => ("", 0),
    };
    let on = if name.is_empty() { "OFF" } else { "ON" };
    [
        ("Compression", on.to_owned()),
        ("Compression_algorithm", name.to_owned()),
        ("Compression_level", level.to_string()),
    ]
}

/// How commits wait for replicas. What MySQL does not count any more is 0.
fn waits_for_replicas(status: &SemiSyncStatus, values: &mut Vec<(&'static str, u64)>) {
    let waited = status.waited_us;
    let average = waited.checked_div(status.acknowledged).unwrap_or(0);
    values.extend([
        ("Rpl_semi_sync_source_clients", status.clients),
        ("Rpl_semi_sync_source_net_avg_wait_time", 0),
        ("Rpl_semi_sync_source_net_wait_time", 0),
        ("Rpl_semi_sync_source_net_waits", status.answers),
        ("Rpl_semi_sync_source_no_times", status.given_up),
        ("Rpl_semi_sync_source_no_tx", status.unacknowledged),
        ("Rpl_semi_sync_source_timefunc_failures", 0),
        ("Rpl_semi_sync_source_tx_avg_wait_time", average),
        ("Rpl_semi_sync_source_tx_wait_time", waited),
        ("Rpl_semi_sync_source_tx_waits", status.acknowledged),
        ("Rpl_semi_sync_source_wait_pos_backtraverse", 0),
        ("Rpl_semi_sync_source_wait_sessions", status.waiting),
        ("Rpl_semi_sync_source_yes_tx", status.acknowledged),
    ]);
}

/// Whether this server waits for replicas, and whether it is one that another waits for.
fn semi_sync(session: &State) -> [(&'static str, String); 2] {
    let told = |on| if on { "ON" } else { "OFF" }.to_owned();
    let instance = &session.instance;
    let replica = instance.replication().ok();
    let replica = replica.and_then(|replication| replication.status());
    [
        (
            "Rpl_semi_sync_source_status",
            told(instance.engine.log().semi_sync().on),
        ),
        (
            "Rpl_semi_sync_replica_status",
            told(replica.is_some_and(|status| status.answers)),
        ),
    ]
}

/// What the engine tells: MySQL's names where they exist, Cohort's own for the rest.
fn engine(stats: &EngineStats, values: &mut Vec<(&'static str, u64)>) {
    let (log, locks) = (&stats.log, &stats.locks);
    let changed = stats.rows_changed.max(1);
    let average = locks.time_us.checked_div(locks.waits).unwrap_or(0);
    values.extend([
        ("Binlog_cache_disk_use", 0),
        (
            "Cohort_broken_invariants",
            cohort_engine::invariant::count(),
        ),
        (
            "Cohort_bytes_read_per_changed_row",
            stats.checkpoint_read_bytes / changed,
        ),
        (
            "Cohort_bytes_written_per_changed_row",
            (stats.base_writes.1 + log.bytes) / changed,
        ),
        ("Cohort_checkpoint_bytes_read", stats.checkpoint_read_bytes),
        ("Cohort_checkpoint_keys_done", stats.checkpoint_keys_done),
        ("Cohort_checkpoint_keys_total", stats.checkpoint_keys_total),
        ("Cohort_checkpoints", stats.checkpoints),
        ("Cohort_commits_delayed", stats.delayed_commits),
        ("Cohort_commits_delayed_us", stats.delay_us),
        ("Cohort_delta_bytes", stats.delta_bytes),
        ("Cohort_delta_limit", stats.delta_limit),
        ("Cohort_delta_sealed_bytes", stats.sealed_bytes),
        ("Cohort_delta_versions", stats.delta_versions),
        ("Cohort_log_bytes", log.bytes),
        ("Cohort_log_commits", log.commits),
        ("Cohort_log_fsyncs", log.fsyncs),
        ("Cohort_log_group_commits_max", log.group_commits_max),
        ("Cohort_log_groups", log.groups),
        ("Cohort_oldest_snapshot", stats.oldest_snapshot),
        ("Cohort_rows_changed", stats.rows_changed),
        ("Cohort_visible", stats.visible),
        ("Innodb_data_read", stats.base_reads.1),
        ("Innodb_data_reads", stats.base_reads.0),
        ("Innodb_data_writes", stats.base_writes.0),
        ("Innodb_data_written", stats.base_writes.1),
        ("Innodb_deadlocks", locks.deadlocks),
        ("Innodb_row_lock_current_waits", locks.current_waits),
        ("Innodb_row_lock_time", locks.time_us / 1000),
        ("Innodb_row_lock_time_avg", average / 1000),
        ("Innodb_row_lock_time_max", locks.time_us_max / 1000),
        ("Innodb_row_lock_timeouts", locks.timeouts),
        ("Innodb_row_lock_waits", locks.waits),
    ]);
}
