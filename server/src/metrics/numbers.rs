//! Which numbers of SHOW GLOBAL STATUS are told, and under which names.

/// A number of SHOW GLOBAL STATUS: its name, the name here, how many of its units make one here, and
/// what it means.
pub(super) type Number = (&'static str, &'static str, u32, &'static str);

pub(super) const COUNTED: &[Number] = &[
    (
        "Connections",
        "cohort_connections_total",
        1,
        "Connections that came.",
    ),
    (
        "Aborted_clients",
        "cohort_aborted_clients_total",
        1,
        "Connections that ended without saying so.",
    ),
    (
        "Aborted_connects",
        "cohort_aborted_connects_total",
        1,
        "Clients that were not let in, or went before they were.",
    ),
    (
        "Connection_control_delay_generated",
        "cohort_logins_delayed_total",
        1,
        "Logins that were held back after wrong ones.",
    ),
    (
        "Bytes_received",
        "cohort_received_bytes_total",
        1,
        "Bytes that clients have sent.",
    ),
    (
        "Bytes_sent",
        "cohort_sent_bytes_total",
        1,
        "Bytes that clients were sent.",
    ),
    (
        "Questions",
        "cohort_statements_total",
        1,
        "Statements that clients have sent.",
    ),
    (
        "Slow_queries",
        "cohort_slow_statements_total",
        1,
        "Statements that took longer than long_query_time.",
    ),
    (
        "Cohort_rows_changed",
        "cohort_rows_changed_total",
        1,
        "Rows that were inserted, updated or deleted.",
    ),
    (
        "Innodb_data_read",
        "cohort_store_read_bytes_total",
        1,
        "Bytes read from the store's file.",
    ),
    (
        "Innodb_data_written",
        "cohort_store_written_bytes_total",
        1,
        "Bytes written to the store's file.",
    ),
    (
        "Cohort_checkpoint_bytes_read",
        "cohort_checkpoint_read_bytes_total",
        1,
        "Bytes that checkpoints had to read to change their pages.",
    ),
    (
        "Cohort_rows_examined",
        "cohort_rows_examined_total",
        1,
        "Rows that conditions were looked at for.",
    ),
    (
        "Cohort_scans_unindexed",
        "cohort_full_scans_total",
        1,
        "Tables that were read whole.",
    ),
    (
        "Created_tmp_tables",
        "cohort_temporary_tables_total",
        1,
        "Temporary tables made to compute results.",
    ),
    (
        "Created_tmp_disk_tables",
        "cohort_temporary_disk_tables_total",
        1,
        "Those of them that went on in files.",
    ),
    (
        "Cohort_plan_cache_hits",
        "cohort_plan_cache_hits_total",
        1,
        "Statements whose plan was there already.",
    ),
    (
        "Cohort_plan_cache_misses",
        "cohort_plan_cache_misses_total",
        1,
        "Statements that had to be planned.",
    ),
    (
        "Cohort_log_commits",
        "cohort_log_commits_total",
        1,
        "Transactions written to the log.",
    ),
    (
        "Cohort_log_groups",
        "cohort_log_groups_total",
        1,
        "Groups of commits written to the log.",
    ),
    (
        "Cohort_log_fsyncs",
        "cohort_log_fsyncs_total",
        1,
        "Syncs of the log.",
    ),
    (
        "Cohort_log_bytes",
        "cohort_log_written_bytes_total",
        1,
        "Bytes written to the log.",
    ),
    (
        "Cohort_checkpoints",
        "cohort_checkpoints_total",
        1,
        "Checkpoints that are done.",
    ),
    (
        "Cohort_commits_delayed",
        "cohort_commits_delayed_total",
        1,
        "Commits that were slowed, as a checkpoint could not keep up.",
    ),
    (
        "Cohort_commits_delayed_us",
        "cohort_commits_delayed_seconds_total",
        1_000_000,
        "By how much they were slowed.",
    ),
    (
        "Innodb_row_lock_waits",
        "cohort_row_lock_waits_total",
        1,
        "Waits for row locks that began.",
    ),
    (
        "Innodb_row_lock_time",
        "cohort_row_lock_wait_seconds_total",
        1_000,
        "Time waited for row locks.",
    ),
    (
        "Innodb_row_lock_timeouts",
        "cohort_row_lock_timeouts_total",
        1,
        "Waits that ended with error 1205.",
    ),
    (
        "Innodb_deadlocks",
        "cohort_deadlocks_total",
        1,
        "Deadlocks, each ended with error 1213 of one transaction.",
    ),
    (
        "Rpl_semi_sync_source_yes_tx",
        "cohort_semi_sync_acknowledged_total",
        1,
        "Commits that replicas have acknowledged.",
    ),
    (
        "Rpl_semi_sync_source_no_tx",
        "cohort_semi_sync_unacknowledged_total",
        1,
        "Commits that no replica has acknowledged.",
    ),
    (
        "Cohort_broken_invariants",
        "cohort_broken_invariants_total",
        1,
        "Mistakes of the server's own; the log says what.",
    ),
];

pub(super) const GAUGED: &[Number] = &[
    (
        "Uptime",
        "cohort_uptime_seconds",
        1,
        "Time since the start.",
    ),
    (
        "Threads_connected",
        "cohort_connections",
        1,
        "Connections now.",
    ),
    (
        "Max_used_connections",
        "cohort_connections_most",
        1,
        "The most connections at once since the start.",
    ),
    (
        "Threads_running",
        "cohort_statements_running",
        1,
        "Connections that execute a statement now.",
    ),
    (
        "Prepared_stmt_count",
        "cohort_prepared_statements",
        1,
        "Prepared statements that there are.",
    ),
    (
        "Cohort_log_group_commits_max",
        "cohort_log_group_commits_most",
        1,
        "The most commits that one group had.",
    ),
    (
        "Cohort_visible",
        "cohort_newest_commit",
        1,
        "The number of the newest commit that others can see.",
    ),
    (
        "Cohort_oldest_snapshot",
        "cohort_oldest_snapshot_commit",
        1,
        "The oldest commit that a transaction still looks at.",
    ),
    (
        "Cohort_delta_bytes",
        "cohort_delta_bytes",
        1,
        "Memory of changes that no checkpoint has taken yet.",
    ),
    (
        "Cohort_delta_versions",
        "cohort_delta_versions",
        1,
        "Versions of rows in it.",
    ),
    (
        "Cohort_delta_sealed_bytes",
        "cohort_delta_sealed_bytes",
        1,
        "Memory of changes that the running checkpoint merges.",
    ),
    (
        "Cohort_checkpoint_keys_done",
        "cohort_checkpoint_keys_done",
        1,
        "Keys that the running checkpoint, or the last one, has merged.",
    ),
    (
        "Cohort_checkpoint_keys_total",
        "cohort_checkpoint_keys",
        1,
        "Keys that it has to merge, about.",
    ),
    (
        "Innodb_row_lock_current_waits",
        "cohort_row_lock_waiting",
        1,
        "Statements that wait for a row lock now.",
    ),
    (
        "Rpl_semi_sync_source_clients",
        "cohort_semi_sync_replicas",
        1,
        "Replicas that acknowledge.",
    ),
    (
        "Rpl_semi_sync_source_wait_sessions",
        "cohort_semi_sync_waiting",
        1,
        "Commits that wait for replicas now.",
    ),
];

/// Counters that differ in the ends of their names: there they begin so, and here it is a label.
pub(super) const BY_NAME: [(&str, &str, &str, &str); 3] = [
    (
        "Com_",
        "cohort_commands_total",
        "command",
        "Statements by their kind.",
    ),
    (
        "Handler_",
        "cohort_row_operations_total",
        "operation",
        "What was done with rows, and commits.",
    ),
    (
        "Connection_errors_",
        "cohort_connection_errors_total",
        "error",
        "Connections that were not made.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_engine::{
        env::fake::Disk,
        txn::{Engine, EngineOptions},
    };
    use cohort_sql::Instance;
    use std::{path::Path, sync::Arc};

    #[test]
    fn what_is_told_is_in_show_status() {
        let (env, options) = (Disk::new(1).env(), EngineOptions::default());
        let engine = Engine::open(&env, Path::new("/data"), options, &mut |_| {});
        let status = Instance::new(Arc::new(engine.unwrap())).status();
        for (known_as, name, ..) in COUNTED.iter().chain(GAUGED) {
            assert!(
                status.iter().any(|(known, _)| known == known_as),
                "{name}: there is no {known_as}"
            );
        }
        for (beginning, name, ..) in BY_NAME {
            let known = status.iter().filter(|(n, _)| n.starts_with(beginning));
            assert!(known.count() > 3, "{name}");
        }
    }
}
