//! The views of the schema `sys`: what people ask performance_schema, with MySQL's names and columns.
//!
//! Each is a query over information_schema and performance_schema. Two views come of one text: in
//! `statement_analysis` times and sizes are for people, in `x$statement_analysis` they are numbers.

use crate::state::State;
use cohort_engine::{
    txn::Dictionary,
    types::{Collation, Table, View, ViewAlgorithm, ViewQuery},
};
use std::sync::{Arc, LazyLock, OnceLock};

/// The schema.
pub(super) const SYS: &str = "sys";

/// The name, the columns and the query of a view. `@T(…)` is a time in picoseconds, `@B(…)` a size in
/// bytes, `@S(…)` a statement; `@X{…}` is only in the view with numbers.
type Entry = (&'static str, &'static str, &'static str);

const MARKS: [&str; 3] = ["@T(", "@B(", "@S("];

/// Those that are for people only.
const PLAIN: &[Entry] = &[
    (
        "metrics",
        "Variable_name, Variable_value, Type, Enabled",
        "SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE, 'Global Status', 'YES' \
         FROM performance_schema.global_status \
         UNION ALL SELECT 'NOW()', NOW(3), 'System Time', 'YES'",
    ),
    (
        "schema_auto_increment_columns",
        "table_schema, table_name, column_name, data_type, column_type, is_signed, is_unsigned, \
         max_value, auto_increment, auto_increment_ratio",
        "SELECT s.*, t.AUTO_INCREMENT, t.AUTO_INCREMENT / s.max_value FROM \
         (SELECT TABLE_SCHEMA AS ts, TABLE_NAME AS tn, COLUMN_NAME AS cn, DATA_TYPE AS dt, \
         COLUMN_TYPE AS ct, LOCATE('unsigned', COLUMN_TYPE) = 0 AS is_signed, \
         LOCATE('unsigned', COLUMN_TYPE) > 0 AS is_unsigned, \
         (CASE DATA_TYPE WHEN 'tinyint' THEN 255 WHEN 'smallint' THEN 65535 \
         WHEN 'mediumint' THEN 16777215 WHEN 'int' THEN 4294967295 \
         WHEN 'bigint' THEN 18446744073709551615 END >> IF(LOCATE('unsigned', COLUMN_TYPE) > 0, 0, 1)) \
         AS max_value FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') \
         AND EXTRA = 'auto_increment') AS s JOIN information_schema.TABLES AS t \
         ON t.TABLE_SCHEMA = s.ts AND t.TABLE_NAME = s.tn \
         ORDER BY t.AUTO_INCREMENT / s.max_value DESC",
    ),
    (
        "schema_object_overview",
        "db, object_type, count",
        "SELECT TABLE_SCHEMA, TABLE_TYPE, COUNT(*) FROM information_schema.TABLES \
         GROUP BY TABLE_SCHEMA, TABLE_TYPE UNION ALL \
         SELECT TABLE_SCHEMA, CONCAT('INDEX (', INDEX_TYPE, ')'), COUNT(*) \
         FROM information_schema.STATISTICS GROUP BY TABLE_SCHEMA, INDEX_TYPE ORDER BY 1, 2",
    ),
    (
        "schema_redundant_indexes",
        "table_schema, table_name, redundant_index_name, redundant_index_columns, \
         redundant_index_non_unique, dominant_index_name, dominant_index_columns, \
         dominant_index_non_unique, subpart_exists, sql_drop_index",
        "WITH flattened AS (SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, MAX(NON_UNIQUE) AS non_unique, \
         MAX(IF(SUB_PART IS NULL, 0, 1)) AS subpart_exists, \
         GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX) AS index_columns \
         FROM information_schema.STATISTICS WHERE INDEX_TYPE = 'BTREE' \
         AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') \
         GROUP BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME) \
         SELECT r.TABLE_SCHEMA, r.TABLE_NAME, r.INDEX_NAME, r.index_columns, r.non_unique, \
         d.INDEX_NAME, d.index_columns, d.non_unique, \
         IF(r.subpart_exists OR d.subpart_exists, 1, 0), \
         CONCAT('ALTER TABLE `', r.TABLE_SCHEMA, '`.`', r.TABLE_NAME, '` DROP INDEX `', r.INDEX_NAME, '`') \
         FROM flattened AS r JOIN flattened AS d \
         ON r.TABLE_SCHEMA = d.TABLE_SCHEMA AND r.TABLE_NAME = d.TABLE_NAME \
         WHERE r.INDEX_NAME <> d.INDEX_NAME AND \
         ((r.index_columns = d.index_columns AND (r.non_unique > d.non_unique OR \
         (r.non_unique = d.non_unique AND IF(r.INDEX_NAME = 'PRIMARY', '', r.INDEX_NAME) > \
         IF(d.INDEX_NAME = 'PRIMARY', '', d.INDEX_NAME)))) OR \
         (LOCATE(CONCAT(r.index_columns, ','), d.index_columns) = 1 AND r.non_unique = 1) OR \
         (LOCATE(CONCAT(d.index_columns, ','), r.index_columns) = 1 AND d.non_unique = 0))",
    ),
    (
        "schema_unused_indexes",
        "object_schema, object_name, index_name",
        "SELECT t.OBJECT_SCHEMA, t.OBJECT_NAME, t.INDEX_NAME \
         FROM performance_schema.table_io_waits_summary_by_index_usage AS t \
         JOIN information_schema.STATISTICS AS s ON t.OBJECT_SCHEMA = s.TABLE_SCHEMA \
         AND t.OBJECT_NAME = s.TABLE_NAME AND t.INDEX_NAME = s.INDEX_NAME \
         WHERE t.INDEX_NAME IS NOT NULL AND t.COUNT_STAR = 0 AND t.OBJECT_SCHEMA <> 'mysql' \
         AND t.INDEX_NAME <> 'PRIMARY' AND s.NON_UNIQUE = 1 AND s.SEQ_IN_INDEX = 1 \
         ORDER BY t.OBJECT_SCHEMA, t.OBJECT_NAME",
    ),
    (
        "version",
        "sys_version, mysql_version",
        "SELECT '2.1.3', VERSION()",
    ),
];

/// Those that there are twice.
const TWICE: &[Entry] = &[
    (
        "cohort_commit_times",
        "query, db, commits, total_latency, avg_latency, max_latency, client, queue, execution, row_locks, \
         metadata_locks, encoding, group_wait, fsync, reply, digest",
        "SELECT @S(DIGEST_TEXT), SCHEMA_NAME, COUNT_STAR, @T(SUM_TIMER_WAIT), \
         @T(SUM_TIMER_WAIT / COUNT_STAR), @T(MAX_TIMER_WAIT), @T(SUM_CLIENT), @T(SUM_QUEUE), \
         @T(SUM_EXECUTION), @T(SUM_ROW_LOCKS), @T(SUM_METADATA_LOCKS), @T(SUM_ENCODING), @T(SUM_GROUP_WAIT), \
         @T(SUM_FSYNC), @T(SUM_REPLY), DIGEST FROM performance_schema.cohort_commits_by_digest \
         ORDER BY SUM_TIMER_WAIT DESC",
    ),
    (
        "host_summary",
        "host, statements, statement_latency, statement_avg_latency, table_scans, file_ios, \
         file_io_latency, current_connections, total_connections, unique_users, current_memory, \
         total_memory_allocated",
        "SELECT a.HOST, s.total, @T(s.latency), @T(s.latency / s.total), s.scans, 0, @T(0), \
         SUM(a.CURRENT_CONNECTIONS), SUM(a.TOTAL_CONNECTIONS), COUNT(DISTINCT a.USER), @B(0), @B(0) \
         FROM performance_schema.accounts AS a JOIN (SELECT HOST, SUM(COUNT_STAR) AS total, \
         SUM(SUM_TIMER_WAIT) AS latency, SUM(SUM_NO_INDEX_USED) AS scans \
         FROM performance_schema.events_statements_summary_by_host_by_event_name GROUP BY HOST) AS s \
         ON a.HOST = s.HOST GROUP BY a.HOST, s.total, s.latency, s.scans",
    ),
    (
        "host_summary_by_statement_latency",
        "host, total, total_latency, max_latency, lock_latency, cpu_latency, rows_sent, rows_examined, \
         rows_affected, full_scans",
        "SELECT HOST, SUM(COUNT_STAR), @T(SUM(SUM_TIMER_WAIT)), @T(MAX(MAX_TIMER_WAIT)), \
         @T(SUM(SUM_LOCK_TIME)), @T(SUM(SUM_CPU_TIME)), SUM(SUM_ROWS_SENT), SUM(SUM_ROWS_EXAMINED), \
         SUM(SUM_ROWS_AFFECTED), SUM(SUM_NO_INDEX_USED) \
         FROM performance_schema.events_statements_summary_by_host_by_event_name \
         GROUP BY HOST ORDER BY SUM(SUM_TIMER_WAIT) DESC",
    ),
    (
        "host_summary_by_statement_type",
        "host, statement, total, total_latency, max_latency, lock_latency, cpu_latency, rows_sent, \
         rows_examined, rows_affected, full_scans",
        "SELECT HOST, SUBSTRING_INDEX(EVENT_NAME, '/', -1), COUNT_STAR, @T(SUM_TIMER_WAIT), \
         @T(MAX_TIMER_WAIT), @T(SUM_LOCK_TIME), @T(SUM_CPU_TIME), SUM_ROWS_SENT, SUM_ROWS_EXAMINED, \
         SUM_ROWS_AFFECTED, SUM_NO_INDEX_USED \
         FROM performance_schema.events_statements_summary_by_host_by_event_name \
         WHERE SUM_TIMER_WAIT <> 0 ORDER BY HOST, SUM_TIMER_WAIT DESC",
    ),
    (
        "innodb_lock_waits",
        "wait_started, wait_age, wait_age_secs, locked_table, locked_table_schema, locked_table_name, \
         locked_table_partition, locked_table_subpartition, locked_index, locked_type, waiting_trx_id, \
         waiting_trx_started, waiting_trx_age, waiting_trx_rows_locked, waiting_trx_rows_modified, \
         waiting_pid, waiting_query, waiting_lock_id, waiting_lock_mode, blocking_trx_id, blocking_pid, \
         blocking_query, blocking_lock_id, blocking_lock_mode, blocking_trx_started, blocking_trx_age, \
         blocking_trx_rows_locked, blocking_trx_rows_modified, sql_kill_blocking_query, \
         sql_kill_blocking_connection",
        "SELECT r.trx_wait_started, TIMEDIFF(NOW(), r.trx_wait_started), \
         TIMESTAMPDIFF(SECOND, r.trx_wait_started, NOW()), \
         CONCAT('`', rl.OBJECT_SCHEMA, '`.`', rl.OBJECT_NAME, '`'), rl.OBJECT_SCHEMA, rl.OBJECT_NAME, \
         rl.PARTITION_NAME, rl.SUBPARTITION_NAME, rl.INDEX_NAME, rl.LOCK_TYPE, r.trx_id, r.trx_started, \
         TIMEDIFF(NOW(), r.trx_started), r.trx_rows_locked, r.trx_rows_modified, r.trx_mysql_thread_id, \
         r.trx_query, rl.ENGINE_LOCK_ID, rl.LOCK_MODE, b.trx_id, b.trx_mysql_thread_id, b.trx_query, \
         bl.ENGINE_LOCK_ID, bl.LOCK_MODE, b.trx_started, TIMEDIFF(NOW(), b.trx_started), \
         b.trx_rows_locked, b.trx_rows_modified, CONCAT('KILL QUERY ', b.trx_mysql_thread_id), \
         CONCAT('KILL ', b.trx_mysql_thread_id) \
         FROM performance_schema.data_lock_waits AS w \
         JOIN information_schema.INNODB_TRX AS b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID \
         JOIN information_schema.INNODB_TRX AS r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID \
         JOIN performance_schema.data_locks AS bl ON bl.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID \
         JOIN performance_schema.data_locks AS rl ON rl.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID \
         ORDER BY r.trx_wait_started",
    ),
    (
        "io_global_by_file_by_bytes",
        "file, count_read, total_read, avg_read, count_write, total_written, avg_write, total, write_pct",
        "SELECT FILE_NAME, COUNT_READ, @B(SUM_NUMBER_OF_BYTES_READ), \
         @B(IFNULL(SUM_NUMBER_OF_BYTES_READ / NULLIF(COUNT_READ, 0), 0)), COUNT_WRITE, \
         @B(SUM_NUMBER_OF_BYTES_WRITE), @B(IFNULL(SUM_NUMBER_OF_BYTES_WRITE / NULLIF(COUNT_WRITE, 0), 0)), \
         @B(SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE), \
         IFNULL(ROUND(100 - SUM_NUMBER_OF_BYTES_READ / \
         NULLIF(SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE, 0) * 100, 2), 0.00) \
         FROM performance_schema.file_summary_by_instance \
         ORDER BY SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE DESC",
    ),
    (
        "io_global_by_file_by_latency",
        "file, total, total_latency, count_read, read_latency, count_write, write_latency, count_misc, \
         misc_latency",
        "SELECT FILE_NAME, COUNT_STAR, @T(SUM_TIMER_WAIT), COUNT_READ, @T(SUM_TIMER_READ), COUNT_WRITE, \
         @T(SUM_TIMER_WRITE), COUNT_MISC, @T(SUM_TIMER_MISC) \
         FROM performance_schema.file_summary_by_instance ORDER BY SUM_TIMER_WAIT DESC",
    ),
    (
        "processlist",
        PROCESS_COLUMNS,
        "SELECT t.THREAD_ID, t.PROCESSLIST_ID, CONCAT(t.PROCESSLIST_USER, '@', t.PROCESSLIST_HOST), \
         t.PROCESSLIST_DB, t.PROCESSLIST_COMMAND, t.PROCESSLIST_STATE, t.PROCESSLIST_TIME, \
         @S(t.PROCESSLIST_INFO), t.EXECUTION_ENGINE, IF(e.END_EVENT_ID IS NULL, @T(e.TIMER_WAIT), NULL), NULL, \
         @T(e.LOCK_TIME), @T(e.CPU_TIME), e.ROWS_EXAMINED, e.ROWS_SENT, e.ROWS_AFFECTED, \
         e.CREATED_TMP_TABLES, e.CREATED_TMP_DISK_TABLES, IF(e.NO_INDEX_USED > 0, 'YES', 'NO'), \
         IF(e.END_EVENT_ID IS NOT NULL, @S(e.SQL_TEXT), NULL), \
         IF(e.END_EVENT_ID IS NOT NULL, @T(e.TIMER_WAIT), NULL), @B(t.TOTAL_MEMORY), NULL, NULL, NULL, \
         NULL, NULL, NULL, p.ATTR_VALUE, n.ATTR_VALUE \
         FROM performance_schema.threads AS t \
         LEFT JOIN performance_schema.events_statements_current AS e ON e.THREAD_ID = t.THREAD_ID \
         LEFT JOIN performance_schema.session_connect_attrs AS p \
         ON p.PROCESSLIST_ID = t.PROCESSLIST_ID AND p.ATTR_NAME = '_pid' \
         LEFT JOIN performance_schema.session_connect_attrs AS n \
         ON n.PROCESSLIST_ID = t.PROCESSLIST_ID AND n.ATTR_NAME = 'program_name' \
         ORDER BY t.PROCESSLIST_TIME DESC",
    ),
    (
        "schema_index_statistics",
        "table_schema, table_name, index_name, rows_selected, select_latency, rows_inserted, \
         insert_latency, rows_updated, update_latency, rows_deleted, delete_latency",
        "SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, COUNT_FETCH, @T(SUM_TIMER_FETCH), COUNT_INSERT, \
         @T(SUM_TIMER_INSERT), COUNT_UPDATE, @T(SUM_TIMER_UPDATE), COUNT_DELETE, @T(SUM_TIMER_DELETE) \
         FROM performance_schema.table_io_waits_summary_by_index_usage \
         WHERE INDEX_NAME IS NOT NULL ORDER BY COUNT_STAR DESC",
    ),
    (
        "schema_table_lock_waits",
        "object_schema, object_name, waiting_thread_id, waiting_pid, waiting_account, waiting_lock_type, \
         waiting_lock_duration, waiting_query, waiting_query_secs, waiting_query_rows_affected, \
         waiting_query_rows_examined, blocking_thread_id, blocking_pid, blocking_account, \
         blocking_lock_type, blocking_lock_duration, sql_kill_blocking_query, sql_kill_blocking_connection",
        "SELECT g.OBJECT_SCHEMA, g.OBJECT_NAME, pt.THREAD_ID, pt.PROCESSLIST_ID, \
         CONCAT(pt.PROCESSLIST_USER, '@', pt.PROCESSLIST_HOST), p.LOCK_TYPE, p.LOCK_DURATION, \
         @S(pt.PROCESSLIST_INFO), pt.PROCESSLIST_TIME, e.ROWS_AFFECTED, e.ROWS_EXAMINED, gt.THREAD_ID, \
         gt.PROCESSLIST_ID, CONCAT(gt.PROCESSLIST_USER, '@', gt.PROCESSLIST_HOST), g.LOCK_TYPE, \
         g.LOCK_DURATION, CONCAT('KILL QUERY ', gt.PROCESSLIST_ID), CONCAT('KILL ', gt.PROCESSLIST_ID) \
         FROM performance_schema.metadata_locks AS g \
         JOIN performance_schema.metadata_locks AS p ON p.OBJECT_TYPE = g.OBJECT_TYPE \
         AND p.OBJECT_SCHEMA = g.OBJECT_SCHEMA AND p.OBJECT_NAME = g.OBJECT_NAME \
         AND p.LOCK_STATUS = 'PENDING' AND p.OWNER_THREAD_ID <> g.OWNER_THREAD_ID \
         JOIN performance_schema.threads AS gt ON gt.THREAD_ID = g.OWNER_THREAD_ID \
         JOIN performance_schema.threads AS pt ON pt.THREAD_ID = p.OWNER_THREAD_ID \
         LEFT JOIN performance_schema.events_statements_current AS e ON e.THREAD_ID = p.OWNER_THREAD_ID \
         WHERE g.OBJECT_TYPE = 'TABLE' AND g.LOCK_STATUS = 'GRANTED'",
    ),
    (
        "schema_table_statistics",
        "table_schema, table_name, total_latency, rows_fetched, fetch_latency, rows_inserted, \
         insert_latency, rows_updated, update_latency, rows_deleted, delete_latency, io_read_requests, \
         io_read, io_read_latency, io_write_requests, io_write, io_write_latency, io_misc_requests, \
         io_misc_latency",
        "SELECT OBJECT_SCHEMA, OBJECT_NAME, @T(SUM_TIMER_WAIT), COUNT_FETCH, @T(SUM_TIMER_FETCH), \
         COUNT_INSERT, @T(SUM_TIMER_INSERT), COUNT_UPDATE, @T(SUM_TIMER_UPDATE), COUNT_DELETE, \
         @T(SUM_TIMER_DELETE), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
         FROM performance_schema.table_io_waits_summary_by_table ORDER BY COUNT_STAR DESC",
    ),
    (
        "schema_tables_with_full_table_scans",
        "object_schema, object_name, rows_full_scanned, latency",
        "SELECT OBJECT_SCHEMA, OBJECT_NAME, COUNT_READ, @T(SUM_TIMER_WAIT) \
         FROM performance_schema.table_io_waits_summary_by_index_usage \
         WHERE INDEX_NAME IS NULL AND COUNT_READ > 0 ORDER BY COUNT_READ DESC",
    ),
    (
        "session",
        PROCESS_COLUMNS,
        "SELECT * FROM sys.processlist WHERE conn_id IS NOT NULL AND command <> 'Daemon'",
    ),
    (
        "statement_analysis",
        "query, db, full_scan, exec_count, @X{exec_secondary_count, }err_count, warn_count, total_latency, \
         max_latency, avg_latency, lock_latency, cpu_latency, rows_sent, rows_sent_avg, rows_examined, \
         rows_examined_avg, rows_affected, rows_affected_avg, tmp_tables, tmp_disk_tables, rows_sorted, \
         sort_merge_passes, max_controlled_memory, max_total_memory, digest, first_seen, last_seen",
        "SELECT @S(DIGEST_TEXT), SCHEMA_NAME, IF(SUM_NO_INDEX_USED > 0, '*', ''), COUNT_STAR, \
         @X{COUNT_SECONDARY, }SUM_ERRORS, SUM_WARNINGS, @T(SUM_TIMER_WAIT), @T(MAX_TIMER_WAIT), \
         @T(AVG_TIMER_WAIT), @T(SUM_LOCK_TIME), \
         @T(SUM_CPU_TIME), SUM_ROWS_SENT, ROUND(SUM_ROWS_SENT / COUNT_STAR), SUM_ROWS_EXAMINED, \
         ROUND(SUM_ROWS_EXAMINED / COUNT_STAR), SUM_ROWS_AFFECTED, \
         ROUND(SUM_ROWS_AFFECTED / COUNT_STAR), SUM_CREATED_TMP_TABLES, SUM_CREATED_TMP_DISK_TABLES, \
         SUM_SORT_ROWS, SUM_SORT_MERGE_PASSES, @B(MAX_CONTROLLED_MEMORY), @B(MAX_TOTAL_MEMORY), DIGEST, \
         FIRST_SEEN, LAST_SEEN FROM performance_schema.events_statements_summary_by_digest \
         ORDER BY SUM_TIMER_WAIT DESC",
    ),
    (
        "statements_with_errors_or_warnings",
        "query, db, exec_count, errors, error_pct, warnings, warning_pct, first_seen, last_seen, digest",
        "SELECT @S(DIGEST_TEXT), SCHEMA_NAME, COUNT_STAR, SUM_ERRORS, SUM_ERRORS / COUNT_STAR * 100, \
         SUM_WARNINGS, SUM_WARNINGS / COUNT_STAR * 100, FIRST_SEEN, LAST_SEEN, DIGEST \
         FROM performance_schema.events_statements_summary_by_digest \
         WHERE SUM_ERRORS > 0 OR SUM_WARNINGS > 0 ORDER BY SUM_ERRORS DESC, SUM_WARNINGS DESC",
    ),
    (
        "statements_with_full_table_scans",
        "query, db, exec_count, total_latency, no_index_used_count, no_good_index_used_count, \
         no_index_used_pct, rows_sent, rows_examined, rows_sent_avg, rows_examined_avg, first_seen, \
         last_seen, digest",
        "SELECT @S(DIGEST_TEXT), SCHEMA_NAME, COUNT_STAR, @T(SUM_TIMER_WAIT), SUM_NO_INDEX_USED, \
         SUM_NO_GOOD_INDEX_USED, ROUND(SUM_NO_INDEX_USED / COUNT_STAR * 100), SUM_ROWS_SENT, \
         SUM_ROWS_EXAMINED, ROUND(SUM_ROWS_SENT / COUNT_STAR), ROUND(SUM_ROWS_EXAMINED / COUNT_STAR), \
         FIRST_SEEN, LAST_SEEN, DIGEST FROM performance_schema.events_statements_summary_by_digest \
         WHERE SUM_NO_INDEX_USED > 0 AND DIGEST_TEXT NOT LIKE 'SHOW%' \
         ORDER BY SUM_NO_INDEX_USED / COUNT_STAR DESC, SUM_TIMER_WAIT DESC",
    ),
    (
        "statements_with_runtimes_in_95th_percentile",
        "query, db, full_scan, exec_count, err_count, warn_count, total_latency, max_latency, \
         avg_latency, rows_sent, rows_sent_avg, rows_examined, rows_examined_avg, first_seen, last_seen, \
         digest",
        "SELECT @S(DIGEST_TEXT), SCHEMA_NAME, IF(SUM_NO_INDEX_USED > 0, '*', ''), COUNT_STAR, SUM_ERRORS, \
         SUM_WARNINGS, @T(SUM_TIMER_WAIT), @T(MAX_TIMER_WAIT), @T(AVG_TIMER_WAIT), SUM_ROWS_SENT, \
         ROUND(SUM_ROWS_SENT / COUNT_STAR), SUM_ROWS_EXAMINED, ROUND(SUM_ROWS_EXAMINED / COUNT_STAR), \
         FIRST_SEEN, LAST_SEEN, DIGEST FROM (SELECT *, PERCENT_RANK() OVER (ORDER BY AVG_TIMER_WAIT) \
         AS place FROM performance_schema.events_statements_summary_by_digest) AS ranked \
         WHERE place >= 0.95 ORDER BY AVG_TIMER_WAIT DESC",
    ),
    (
        "statements_with_sorting",
        "query, db, exec_count, total_latency, sort_merge_passes, avg_sort_merges, sorts_using_scans, \
         sort_using_range, rows_sorted, avg_rows_sorted, first_seen, last_seen, digest",
        "SELECT @S(DIGEST_TEXT), SCHEMA_NAME, COUNT_STAR, @T(SUM_TIMER_WAIT), SUM_SORT_MERGE_PASSES, \
         ROUND(SUM_SORT_MERGE_PASSES / COUNT_STAR), SUM_SORT_SCAN, SUM_SORT_RANGE, SUM_SORT_ROWS, \
         ROUND(SUM_SORT_ROWS / COUNT_STAR), FIRST_SEEN, LAST_SEEN, DIGEST \
         FROM performance_schema.events_statements_summary_by_digest \
         WHERE SUM_SORT_ROWS > 0 ORDER BY SUM_TIMER_WAIT DESC",
    ),
    (
        "user_summary",
        "user, statements, statement_latency, statement_avg_latency, table_scans, file_ios, \
         file_io_latency, current_connections, total_connections, unique_hosts, current_memory, \
         total_memory_allocated",
        "SELECT a.USER, s.total, @T(s.latency), @T(s.latency / s.total), s.scans, 0, @T(0), \
         SUM(a.CURRENT_CONNECTIONS), SUM(a.TOTAL_CONNECTIONS), COUNT(DISTINCT a.HOST), @B(0), @B(0) \
         FROM performance_schema.accounts AS a JOIN (SELECT USER, SUM(COUNT_STAR) AS total, \
         SUM(SUM_TIMER_WAIT) AS latency, SUM(SUM_NO_INDEX_USED) AS scans \
         FROM performance_schema.events_statements_summary_by_user_by_event_name GROUP BY USER) AS s \
         ON a.USER = s.USER GROUP BY a.USER, s.total, s.latency, s.scans",
    ),
    (
        "user_summary_by_statement_latency",
        "user, total, total_latency, max_latency, lock_latency, cpu_latency, rows_sent, rows_examined, \
         rows_affected, full_scans",
        "SELECT USER, SUM(COUNT_STAR), @T(SUM(SUM_TIMER_WAIT)), @T(MAX(MAX_TIMER_WAIT)), \
         @T(SUM(SUM_LOCK_TIME)), @T(SUM(SUM_CPU_TIME)), SUM(SUM_ROWS_SENT), SUM(SUM_ROWS_EXAMINED), \
         SUM(SUM_ROWS_AFFECTED), SUM(SUM_NO_INDEX_USED) \
         FROM performance_schema.events_statements_summary_by_user_by_event_name \
         GROUP BY USER ORDER BY SUM(SUM_TIMER_WAIT) DESC",
    ),
    (
        "user_summary_by_statement_type",
        "user, statement, total, total_latency, max_latency, lock_latency, cpu_latency, rows_sent, \
         rows_examined, rows_affected, full_scans",
        "SELECT USER, SUBSTRING_INDEX(EVENT_NAME, '/', -1), COUNT_STAR, @T(SUM_TIMER_WAIT), \
         @T(MAX_TIMER_WAIT), @T(SUM_LOCK_TIME), @T(SUM_CPU_TIME), SUM_ROWS_SENT, SUM_ROWS_EXAMINED, \
         SUM_ROWS_AFFECTED, SUM_NO_INDEX_USED \
         FROM performance_schema.events_statements_summary_by_user_by_event_name \
         WHERE SUM_TIMER_WAIT <> 0 ORDER BY USER, SUM_TIMER_WAIT DESC",
    ),
];

const PROCESS_COLUMNS: &str = "thd_id, conn_id, user, db, command, state, time, current_statement, \
     execution_engine, statement_latency, progress, lock_latency, cpu_latency, rows_examined, rows_sent, \
     rows_affected, tmp_tables, tmp_disk_tables, full_scan, last_statement, last_statement_latency, \
     current_memory, last_wait, last_wait_latency, source, trx_latency, trx_state, trx_autocommit, pid, \
     program_name";

static VIEWS: LazyLock<Vec<Arc<View>>> = LazyLock::new(|| {
    let plain = PLAIN.iter().chain(TWICE).map(|(name, columns, query)| {
        let query = marked(query, |_| "");
        let query = query.replace("@T(", "FORMAT_PICO_TIME(");
        let query = query.replace("@B(", "FORMAT_BYTES(");
        view(name, &marked(columns, |_| ""), shortened(&query))
    });
    let numbers = TWICE.iter().map(|(name, columns, query)| {
        let query = marked(query, |text| text).replace("sys.", "sys.x$");
        let without = |query: String, mark: &&str| query.replace(mark, "(");
        let query = MARKS.iter().fold(query, without);
        view(&format!("x${name}"), &marked(columns, |text| text), query)
    });
    let mut views: Vec<_> = plain.chain(numbers).collect();
    views.sort_by(|a, b| a.name.cmp(&b.name));
    views
});

/// The text with what `of` makes of what stands in `@X{…}`.
fn marked(text: &str, of: impl Fn(&str) -> &str) -> String {
    let mut parts = text.split("@X{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| {
        let (inside, after) = part.split_once('}').unwrap_or((part, ""));
        before + of(inside) + after
    })
}

/// The text with the beginnings and ends of long statements.
fn shortened(query: &str) -> String {
    let mut parts = query.split("@S(");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (statement, rest) = part.split_once(')').unwrap_or((part, ""));
        let short = format!(
            "IF(CHAR_LENGTH({statement}) > 64, CONCAT(LEFT({statement}, 30), ' ... ', \
             RIGHT({statement}, 30)), {statement}){rest}"
        );
        text.push_str(&short);
    }
    text
}

fn view(name: &str, columns: &str, text: String) -> Arc<View> {
    Arc::new(View {
        database: SYS.to_owned(),
        name: name.to_owned(),
        query: ViewQuery {
            text,
            qualifiers: Vec::new(),
        },
        columns: columns.split(", ").map(str::to_owned).collect(),
        columns_given: true,
        algorithm: ViewAlgorithm::TempTable,
        definer: ("mysql.sys".to_owned(), "localhost".to_owned()),
        invoker: true,
        check_option: None,
        mergeable: false,
        updatable: false,
        shown_updatable: false,
        character_set_client: "utf8mb4".to_owned(),
        collation_connection: Collation::Utf8mb40900AiCi,
        created: 0,
    })
}

/// All of them, by name.
pub(crate) fn views() -> &'static [Arc<View>] {
    &VIEWS
}

/// A view of `sys` as a table of its columns; `None` for others. They are compiled once: the tables that they read do not
/// change.
pub(super) fn table_of(session: &State, view: &Arc<View>) -> Option<Arc<Table>> {
    static TABLES: OnceLock<Vec<Arc<Table>>> = OnceLock::new();
    let at = VIEWS.iter().position(|known| Arc::ptr_eq(known, view))?;
    let tables = TABLES.get_or_init(|| {
        let all = VIEWS.iter();
        all.map(|view| Arc::new(super::views::table_or_error(session, view)))
            .collect()
    });
    tables.get(at).cloned()
}

/// The view of a name: one of a dictionary, or of `sys`.
pub(crate) fn find_view(dictionary: &Dictionary, database: &str, name: &str) -> Option<Arc<View>> {
    let stored = dictionary.view(database, name).cloned();
    stored.or_else(|| own_view(database, name))
}

/// The view of a name in `sys`.
pub(super) fn own_view(database: &str, name: &str) -> Option<Arc<View>> {
    let mut views = VIEWS.iter();
    match database.eq_ignore_ascii_case(SYS) {
        true => views
            .find(|view| view.name.eq_ignore_ascii_case(name))
            .cloned(),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_for_people_and_for_programs() {
        let text = |name: &str| {
            let view = views().iter().find(|view| view.name == name);
            view.map(|view| view.query.text.clone()).unwrap_or_default()
        };
        assert!(text("statement_analysis").contains("FORMAT_PICO_TIME(SUM_TIMER_WAIT)"));
        assert!(text("x$statement_analysis").contains(" (SUM_TIMER_WAIT)"));
        assert!(!text("statement_analysis").contains("COUNT_SECONDARY"));
        assert!(text("x$statement_analysis").contains("COUNT_STAR, COUNT_SECONDARY, SUM_ERRORS"));
        assert!(text("session").contains("FROM sys.processlist"));
        assert!(text("statement_analysis").contains("CONCAT(LEFT(DIGEST_TEXT, 30)"));
        assert!(text("x$session").contains("sys.x$processlist"));
        let is_marked = |text: &str| MARKS.iter().any(|mark| text.contains(mark));
        assert!(views().iter().all(|view| !is_marked(&view.query.text)));
    }
}
