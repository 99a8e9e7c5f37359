//! The tables.

use super::connection::Connection;
use cohort_sql::SqlError;

/// Each is made if it is not there. Times are UTC; names are compared byte for byte.
const STATEMENTS: [&str; 6] = [
    "CREATE DATABASE IF NOT EXISTS cohort",
    "CREATE TABLE IF NOT EXISTS cohort.global_transactions (
        gid VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
        trans_type VARCHAR(16) NOT NULL,
        status VARCHAR(16) NOT NULL,
        query_prepared TEXT NOT NULL,
        protocol VARCHAR(16) NOT NULL,
        steps LONGTEXT NOT NULL,
        custom_data LONGTEXT NOT NULL,
        options LONGTEXT NOT NULL,
        rollback_reason LONGTEXT NOT NULL,
        result LONGTEXT NOT NULL,
        retry_count BIGINT UNSIGNED NOT NULL,
        query_interval_us BIGINT UNSIGNED NOT NULL,
        next_run_us BIGINT UNSIGNED NOT NULL COMMENT 'microseconds since 1970; after the end: none',
        create_time DATETIME(6) NOT NULL,
        update_time DATETIME(6) NOT NULL,
        finish_time DATETIME(6) NULL,
        rollback_time DATETIME(6) NULL,
        dead_time DATETIME(6) NULL COMMENT 'given up until somebody takes care of it by hand',
        PRIMARY KEY (gid),
        UNIQUE KEY id (id),
        KEY next_run (next_run_us)
    )",
    "CREATE TABLE IF NOT EXISTS cohort.branches (
        gid VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        position INT UNSIGNED NOT NULL,
        branch_id VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        op VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        url TEXT NOT NULL,
        body LONGBLOB NOT NULL,
        status VARCHAR(16) NOT NULL,
        attempts BIGINT UNSIGNED NOT NULL,
        errors BIGINT UNSIGNED NOT NULL,
        last_error TEXT NOT NULL,
        not_before_us BIGINT UNSIGNED NOT NULL,
        interval_us BIGINT UNSIGNED NOT NULL,
        answer TEXT NOT NULL,
        create_time DATETIME(6) NOT NULL,
        update_time DATETIME(6) NOT NULL,
        end_time DATETIME(6) NULL,
        PRIMARY KEY (gid, branch_id, op)
    )",
    "CREATE TABLE IF NOT EXISTS cohort.attempts (
        gid VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        started DATETIME(6) NOT NULL,
        branch_id VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        op VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        duration_us BIGINT UNSIGNED NOT NULL,
        result VARCHAR(16) NOT NULL,
        error TEXT NOT NULL,
        PRIMARY KEY (gid, started, branch_id, op)
    )",
    "CREATE TABLE IF NOT EXISTS cohort.operations (
        gid VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        time DATETIME(6) NOT NULL,
        operator VARCHAR(128) NOT NULL,
        operation VARCHAR(16) NOT NULL,
        branch_id VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        op VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        status_before VARCHAR(16) NOT NULL,
        status_after VARCHAR(16) NOT NULL,
        reason TEXT NOT NULL,
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
        PRIMARY KEY (gid, id),
        KEY id (id)
    )",
    "CREATE TABLE IF NOT EXISTS cohort.topics (
        topic VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        url VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        remark VARCHAR(1024) NOT NULL,
        create_time DATETIME(6) NOT NULL,
        PRIMARY KEY (topic, url)
    )",
];

pub(super) fn create(connection: &mut dyn Connection) -> Result<(), SqlError> {
    for statement in STATEMENTS {
        connection.run(statement, &[])?;
    }
    Ok(())
}
