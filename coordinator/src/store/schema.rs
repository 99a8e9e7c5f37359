//! The tables.

use super::{connection::Connection, rows::Row};
use cohort_engine::types::quoted;
use cohort_process::{Notice, notice};
use cohort_sql::SqlError;
use std::collections::BTreeMap;

/// Each is made if it is not there. Times are UTC; names (`{EXACT}`) are compared byte for byte.
const TABLES: [&str; 7] = [
    "CREATE TABLE IF NOT EXISTS global_transactions (
        gid VARCHAR(128) {EXACT} NOT NULL,
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
        owner BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'the coordinator that drives it',
        payloads LONGTEXT NOT NULL COMMENT 'if not empty, branches have rows only if need be',
        is_exact TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'rows know of all that allows a call',
        branch_count BIGINT UNSIGNED NULL COMMENT 'if any was registered: how many it has',
        calls LONGTEXT NULL COMMENT 'of branches without rows that succeeded: microseconds',
        submit_time DATETIME(6) NULL COMMENT 'if it was made known before',
        failing_time DATETIME(6) NULL COMMENT 'since when questions to the client fail',
        pause_time DATETIME(6) NULL COMMENT 'since when an operator pauses it',
        paused_us BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'in earlier pauses, in microseconds',
        PRIMARY KEY (gid),
        KEY id (id),
        KEY next_run (next_run_us)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4",
    "CREATE TABLE IF NOT EXISTS branches (
        gid VARCHAR(128) {EXACT} NOT NULL,
        position INT UNSIGNED NOT NULL,
        branch_id VARCHAR(128) {EXACT} NOT NULL,
        op VARCHAR(64) {EXACT} NOT NULL,
        url TEXT NOT NULL,
        body LONGBLOB NOT NULL,
        status VARCHAR(16) NOT NULL,
        attempts BIGINT UNSIGNED NOT NULL,
        errors BIGINT UNSIGNED NOT NULL,
        last_error TEXT NOT NULL,
        not_before_us BIGINT UNSIGNED NOT NULL,
        interval_us BIGINT UNSIGNED NOT NULL,
        answer LONGTEXT NOT NULL,
        create_time DATETIME(6) NOT NULL,
        update_time DATETIME(6) NOT NULL,
        end_time DATETIME(6) NULL,
        called_time DATETIME(6) NULL COMMENT 'of its only call, if that succeeded',
        duration_us BIGINT UNSIGNED NULL COMMENT 'of the same; others are in attempts',
        failing_time DATETIME(6) NULL COMMENT 'since when calls fail without an answer',
        PRIMARY KEY (gid, branch_id, op)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4",
    "CREATE TABLE IF NOT EXISTS attempts (
        gid VARCHAR(128) {EXACT} NOT NULL,
        started DATETIME(6) NOT NULL,
        branch_id VARCHAR(128) {EXACT} NOT NULL,
        op VARCHAR(64) {EXACT} NOT NULL,
        duration_us BIGINT UNSIGNED NOT NULL,
        result VARCHAR(16) NOT NULL,
        error TEXT NOT NULL,
        PRIMARY KEY (gid, started, branch_id, op)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4",
    "CREATE TABLE IF NOT EXISTS operations (
        gid VARCHAR(128) {EXACT} NOT NULL,
        time DATETIME(6) NOT NULL,
        operator VARCHAR(128) NOT NULL,
        operation VARCHAR(16) NOT NULL,
        branch_id VARCHAR(128) {EXACT} NOT NULL,
        op VARCHAR(64) {EXACT} NOT NULL,
        status_before VARCHAR(16) NOT NULL,
        status_after VARCHAR(16) NOT NULL,
        reason TEXT NOT NULL,
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
        PRIMARY KEY (gid, id),
        KEY id (id)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4",
    "CREATE TABLE IF NOT EXISTS changes (
        gid VARCHAR(128) {EXACT} NOT NULL,
        time DATETIME(6) NOT NULL,
        cause VARCHAR(32) NOT NULL,
        status_before VARCHAR(16) NOT NULL,
        status_after VARCHAR(16) NOT NULL,
        reason TEXT NOT NULL,
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
        PRIMARY KEY (gid, id),
        KEY id (id)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4",
    "CREATE TABLE IF NOT EXISTS end_webhooks (
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
        gid VARCHAR(128) {EXACT} NOT NULL,
        url TEXT NOT NULL,
        body LONGTEXT NOT NULL,
        tries BIGINT UNSIGNED NOT NULL,
        last_error TEXT NOT NULL,
        next_try_us BIGINT UNSIGNED NOT NULL COMMENT 'microseconds since 1970; given up: none',
        create_time DATETIME(6) NOT NULL,
        PRIMARY KEY (id),
        KEY gid (gid),
        KEY next_try (next_try_us)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4",
    "CREATE TABLE IF NOT EXISTS topics (
        topic VARCHAR(128) {EXACT} NOT NULL,
        url VARCHAR(512) {EXACT} NOT NULL,
        remark VARCHAR(1024) NOT NULL,
        create_time DATETIME(6) NOT NULL,
        version BIGINT UNSIGNED NOT NULL DEFAULT 1 COMMENT 'without a url: changes of the topic',
        PRIMARY KEY (topic, url)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4",
];

/// What coordinators that share the tables have besides; see `leases`.
const SHARED: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS coordinators (
        id BIGINT UNSIGNED NOT NULL COMMENT 'drawn at random by each process',
        beat BIGINT UNSIGNED NOT NULL COMMENT 'counts its commits',
        is_dead TINYINT UNSIGNED NOT NULL,
        name VARCHAR(255) NOT NULL,
        started DATETIME(6) NOT NULL,
        seen DATETIME(6) NOT NULL,
        PRIMARY KEY (id)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4",
    "CREATE TABLE IF NOT EXISTS news (
        owner BIGINT UNSIGNED NOT NULL,
        gid VARCHAR(128) {EXACT} NOT NULL,
        is_wanted TINYINT UNSIGNED NOT NULL COMMENT 'somebody waits for the lease',
        PRIMARY KEY (owner, gid)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4",
];

/// The schema of this server's own tables.
pub(super) const OWN: &str = "cohort";
/// What each session is told first: nothing that holds for others by the server's global variables
/// may change what the coordinator reads and writes.
///
/// What does not fit into a column is an error, and is not cut; locks are waited for as `locked`
/// says. MySQL and MariaDB have a limit of time each, and a node of Galera lets a transaction
/// begin, and reads outside of one run, when it has applied what others committed before: servers
/// do not know each other's variables.
const SETTINGS: [&str; 7] = [
    "SET NAMES utf8mb4",
    "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
    "SET SESSION time_zone = '+00:00', autocommit = 1, completion_type = 0, \
     innodb_lock_wait_timeout = 1, sql_select_limit = 18446744073709551615, \
     max_join_size = 18446744073709551615, sql_safe_updates = 0, max_sort_length = 1024",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
    "SET SESSION max_execution_time = 0",
    "SET SESSION max_statement_time = 0",
    "SET SESSION wsrep_sync_wait = 1",
];
/// MySQL's numbers of errors: there is no such database, no such column; there is one already.
const NO_DATABASE: u16 = 1049;
const NO_COLUMN: u16 = 1054;
const COLUMN_EXISTS: u16 = 1060;
const TABLE_EXISTS: u16 = 1050;
const NO_TABLE: u16 = 1146;
const UNKNOWN_VARIABLE: u16 = 1193;

/// Tells a new session its settings.
pub(super) fn settle<E>(
    mut run: impl FnMut(&str) -> Result<(), E>,
    code: impl Fn(&E) -> Option<u16>,
) -> Result<(), E> {
    for setting in SETTINGS {
        match run(setting) {
            Err(error) if code(&error) == Some(UNKNOWN_VARIABLE) => {}
            told => told?,
        }
    }
    Ok(())
}

/// Makes a schema a connection's default; makes it, if it is not there. An account without the
/// right to make one can use one that is there.
pub(super) fn enter(
    schema: &str,
    mut run: impl FnMut(&str) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let entry = format!("USE {}", quoted(schema));
    match run(&entry) {
        Err(error) if error.code == NO_DATABASE => {}
        entered => return entered,
    }
    run(&format!("CREATE DATABASE IF NOT EXISTS {}", quoted(schema)))?;
    run(&entry)
}

/// How long another server's sessions wait for locks of whole tables, or of all: a session that was
/// given up keeps the locks it has, and nobody takes its coordinator's transactions over meanwhile.
pub(super) const IMPATIENTLY: &str = "SET SESSION lock_wait_timeout = 1";
const PATIENTLY: &str = "SET SESSION lock_wait_timeout = 31536000";

/// Makes the tables that are not there, and changes those that are old. Who uses one of them is waited
/// for.
pub(super) fn create(connection: &mut dyn Connection, is_shared: bool) -> Result<(), SqlError> {
    if !is_shared {
        return create_all(connection, false);
    }
    connection.run(PATIENTLY, &[])?;
    create_all(connection, true)?;
    connection.run(IMPATIENTLY, &[]).map(drop)
}

fn create_all(connection: &mut dyn Connection, is_shared: bool) -> Result<(), SqlError> {
    let shared = if is_shared { &SHARED[..] } else { &[] };
    let exact = exact(connection)?;
    for statement in TABLES.iter().chain(shared) {
        // An account without the right to make tables can use those that are there.
        let name = statement.split_whitespace().nth(5).unwrap_or_default();
        if is_there(connection, name)? {
            continue;
        }
        match connection.run(&statement.replace("{EXACT}", &exact), &[]) {
            // Another coordinator makes them at the same time.
            Err(error) if error.code == TABLE_EXISTS => {}
            other => drop(other?),
        }
    }
    for (table, column) in ADDED {
        add(connection, table, column)?;
    }
    widen(connection)?;
    make_exact(connection, &exact)
}

fn is_there(connection: &mut dyn Connection, table: &str) -> Result<bool, SqlError> {
    match connection.run(&format!("SELECT 1 FROM {table} LIMIT 1"), &[]) {
        Err(error) if error.code == NO_TABLE => Ok(false),
        probed => probed.map(|_| true),
    }
}

/// Changes a table of an older version, which may have millions of rows.
fn alter(connection: &mut dyn Connection, table: &str, change: &str) -> Result<(), SqlError> {
    notice!(
        Notice::CoordinatorReady,
        "changing the coordinator's table {table}, which is of an older version; that may take long"
    );
    connection.run_long(&format!("ALTER TABLE {table} {change}"))?;
    notice!(Notice::CoordinatorReady, "the table {table} is changed");
    Ok(())
}

/// The answers of a saga's steps were kept in a TEXT, which has no more than 65,535 bytes.
fn widen(connection: &mut dyn Connection) -> Result<(), SqlError> {
    const NARROW: &str = "SELECT column_name FROM information_schema.columns \
         WHERE table_schema = DATABASE() AND table_name = 'branches' \
         AND column_name = 'answer' AND data_type = 'text'";
    if connection.run(NARROW, &[])?.rows.is_empty() {
        return Ok(());
    }
    alter(
        connection,
        "branches",
        "MODIFY COLUMN answer LONGTEXT NOT NULL",
    )
}

/// The character set of names. A collation that pads would take "a " for "a"; which one does not
/// depends on whose server it is.
fn exact(connection: &mut dyn Connection) -> Result<String, SqlError> {
    const FIND: &str = "SELECT collation_name FROM information_schema.collations \
         WHERE collation_name IN ('utf8mb4_0900_bin', 'utf8mb4_nopad_bin') \
         ORDER BY collation_name LIMIT 1";
    const NONE: &str = "the store has no collation that compares names byte for byte \
         (utf8mb4_0900_bin or utf8mb4_nopad_bin)";
    let found = connection.run(FIND, &[])?.rows.pop();
    let collation = found.ok_or_else(|| SqlError::unknown_error(NONE))?;
    let collation = Row::of(collation).text()?;
    Ok(format!("CHARACTER SET utf8mb4 COLLATE {collation}"))
}

/// Gives names in tables of older versions, which were padded, this character set.
fn make_exact(connection: &mut dyn Connection, exact: &str) -> Result<(), SqlError> {
    const PADDED: &str = "SELECT table_name, column_name, column_type \
         FROM information_schema.columns \
         WHERE table_schema = DATABASE() AND collation_name = 'utf8mb4_bin' \
         AND table_name IN ('global_transactions', 'branches', 'attempts', 'operations', \
         'changes', 'end_webhooks', 'topics', 'news')";
    let mut changes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in connection.run(PADDED, &[])?.rows {
        let mut row = Row::of(row);
        let (table, column, kind) = (row.text()?, row.text()?, row.text()?);
        let change = format!("MODIFY COLUMN {column} {kind} {exact} NOT NULL");
        changes.entry(table).or_default().push(change);
    }
    for (table, columns) in changes {
        alter(connection, &table, &columns.join(", "))?;
    }
    Ok(())
}

/// Columns that tables of older versions lack.
const ADDED: [(&str, &str); 13] = [
    (
        "global_transactions",
        "owner BIGINT UNSIGNED NOT NULL DEFAULT 0",
    ),
    ("global_transactions", "payloads LONGTEXT NOT NULL"),
    (
        "global_transactions",
        "is_exact TINYINT UNSIGNED NOT NULL DEFAULT 0",
    ),
    ("global_transactions", "branch_count BIGINT UNSIGNED NULL"),
    ("global_transactions", "calls LONGTEXT NULL"),
    ("branches", "called_time DATETIME(6) NULL"),
    ("branches", "duration_us BIGINT UNSIGNED NULL"),
    ("topics", "version BIGINT UNSIGNED NOT NULL DEFAULT 1"),
    ("branches", "failing_time DATETIME(6) NULL"),
    ("global_transactions", "submit_time DATETIME(6) NULL"),
    ("global_transactions", "failing_time DATETIME(6) NULL"),
    ("global_transactions", "pause_time DATETIME(6) NULL"),
    (
        "global_transactions",
        "paused_us BIGINT UNSIGNED NOT NULL DEFAULT 0",
    ),
];

/// Adds a column if it is not there.
fn add(connection: &mut dyn Connection, table: &str, column: &str) -> Result<(), SqlError> {
    let name = column.split(' ').next().unwrap_or_default();
    match connection.run(&format!("SELECT {name} FROM {table} LIMIT 1"), &[]) {
        Err(error) if error.code == NO_COLUMN => {}
        probed => return probed.map(|_| ()),
    }
    match alter(connection, table, &format!("ADD COLUMN {column}")) {
        // Another coordinator was faster.
        Err(error) if error.code == COLUMN_EXISTS => Ok(()),
        added => added,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{
        super::{
            connection::{Answer, Committed},
            embedded::Embedded,
        },
        *,
    };
    use cohort_engine::{
        env::fake::Disk,
        txn::{Engine, EngineOptions},
        types::Value,
    };
    use cohort_sql::Instance;
    use std::{path::Path, sync::Arc};

    pub fn connection() -> Embedded {
        connection_to(&instance())
    }

    /// To a server whose sessions cut what is too long, unless they say otherwise.
    pub fn lenient_connection() -> Embedded {
        let instance = instance();
        let mut other = connection_to(&instance);
        other.run("SET GLOBAL sql_mode = ''", &[]).unwrap();
        connection_to(&instance)
    }

    fn connection_to(instance: &Arc<Instance>) -> Embedded {
        Embedded::new(instance, 1).unwrap()
    }

    fn instance() -> Arc<Instance> {
        let env = Disk::new(1).env();
        let options = EngineOptions {
            log_preallocate_bytes: 32 << 10,
            ..EngineOptions::default()
        };
        let engine = Engine::open(&env, Path::new("/data"), options, &mut |_| {}).unwrap();
        Instance::new(Arc::new(engine))
    }

    #[test]
    fn what_holds_for_other_sessions_changes_nothing() {
        let instance = instance();
        let mut other = connection_to(&instance);
        for setting in [
            "sql_select_limit = 1",
            "max_join_size = 1",
            "max_execution_time = 1",
            "autocommit = 0",
            "completion_type = 1",
            "transaction_read_only = 1",
            "transaction_isolation = 'SERIALIZABLE'",
            "sql_safe_updates = 1",
            "innodb_lock_wait_timeout = 50",
            "character_set_connection = latin1",
            "time_zone = '+02:00'",
        ] {
            other.run(&format!("SET GLOBAL {setting}"), &[]).unwrap();
        }
        let mut connection = connection_to(&instance);
        create(&mut connection, false).unwrap();
        let topics = "INSERT INTO topics (topic, url, remark, create_time) VALUES \
             ('\u{e4}', 'a', '', NOW(6)), ('\u{e4}', 'b', '', NOW(6))";
        connection.run(topics, &[]).unwrap();
        let ask = |connection: &mut Embedded, sql: &str| connection.run(sql, &[]).unwrap().rows;
        assert_eq!(ask(&mut connection, "SELECT * FROM topics").len(), 2);
        let known = "SELECT HEX(topic), @@autocommit, @@completion_type, \
             @@transaction_read_only, @@transaction_isolation, @@innodb_lock_wait_timeout, \
             @@max_execution_time, @@sql_safe_updates, TIMEDIFF(create_time, UTC_TIMESTAMP()) < 60 \
             FROM topics LIMIT 1";
        let known = ask(&mut connection, known).remove(0);
        let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let number = Value::Int;
        assert_eq!(
            known,
            [
                text("C3A4"),
                number(1),
                text("NO_CHAIN"),
                number(0),
                text("READ-COMMITTED"),
                Value::UInt(1),
                Value::UInt(0),
                number(0),
                number(1),
            ]
        );
        connection.begin().unwrap();
        connection.run("DELETE FROM topics", &[]).unwrap();
        let (known, is_known) = std::sync::mpsc::channel();
        let committed = connection.commit().unwrap();
        committed.when_known(move |result| known.send(result).unwrap());
        is_known.recv().unwrap().unwrap();
        let mut third = connection_to(&instance);
        assert_eq!(ask(&mut third, "SELECT * FROM topics").len(), 0);
    }

    #[test]
    fn answers_in_tables_of_older_versions_have_room_then() {
        let mut connection = connection();
        create(&mut connection, false).unwrap();
        let narrow = "ALTER TABLE branches MODIFY COLUMN answer TEXT NOT NULL";
        connection.run(narrow, &[]).unwrap();
        let kind = "SELECT data_type FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND table_name = 'branches' AND column_name = 'answer'";
        let kind = |connection: &mut Embedded| {
            let rows = connection.run(kind, &[]).unwrap().rows;
            Row::of(rows.into_iter().next().unwrap()).text().unwrap()
        };
        assert_eq!(kind(&mut connection), "text");
        for _ in 0..2 {
            create(&mut connection, false).unwrap();
            assert_eq!(kind(&mut connection), "longtext");
        }
    }

    #[test]
    fn names_are_compared_byte_for_byte_in_tables_of_older_versions_too() {
        let mut connection = connection();
        for statement in TABLES.iter().chain(&SHARED) {
            let padded = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
            let statement = statement.replace("{EXACT}", padded);
            connection.run(&statement, &[]).unwrap();
        }
        let tell = |connection: &mut Embedded, gid: &str| {
            let insert = format!("INSERT INTO news (owner, gid, is_wanted) VALUES (1, '{gid}', 0)");
            connection.run(&insert, &[]).map(drop)
        };
        tell(&mut connection, "a").unwrap();
        assert!(tell(&mut connection, "a ").is_err());
        for _ in 0..2 {
            create(&mut connection, true).unwrap();
        }
        for gid in ["a ", "A", "a\u{301}"] {
            tell(&mut connection, gid).unwrap();
        }
        let count = "SELECT COUNT(*) FROM news WHERE gid = 'a'";
        let count = connection.run(count, &[]).unwrap().rows.remove(0);
        assert_eq!(Row::of(count).number(), Ok(1));
    }

    /// Runs what a server's account with few rights may run.
    struct Restricted(Embedded);

    impl Connection for Restricted {
        fn owner(&self) -> u64 {
            self.0.owner()
        }
        fn run(&mut self, sql: &str, params: &[Value]) -> Result<Answer, SqlError> {
            let needs_no_right = sql.starts_with("SELECT") || sql.starts_with("SET SESSION");
            assert!(needs_no_right, "{sql}");
            self.0.run(sql, params)
        }
        fn begin(&mut self) -> Result<(), SqlError> {
            self.0.begin()
        }
        fn commit(&mut self) -> Result<Committed, SqlError> {
            self.0.commit()
        }
        fn rollback(&mut self) {
            self.0.rollback();
        }
    }

    #[test]
    fn tables_that_are_there_need_no_right_to_make_any() {
        let mut connection = connection();
        create(&mut connection, true).unwrap();
        create(&mut Restricted(connection), true).unwrap();
    }

    #[test]
    fn tables_of_older_versions_get_what_they_lack() {
        let mut connection = connection();
        create(&mut connection, false).unwrap();
        for (table, column) in ADDED {
            let name = column.split(' ').next().unwrap();
            let drop = format!("ALTER TABLE {table} DROP COLUMN {name}");
            connection.run(&drop, &[]).unwrap();
        }
        let read = "SELECT owner, payloads, is_exact, branch_count, calls, called_time, duration_us, \
             submit_time, pause_time, paused_us, a.failing_time, b.failing_time \
             FROM global_transactions a JOIN branches b USING (gid)";
        let count = "SELECT version FROM topics";
        assert!(connection.run(read, &[]).is_err());
        assert!(connection.run(count, &[]).is_err());
        create(&mut connection, false).unwrap();
        assert!(connection.run(read, &[]).is_ok());
        assert!(connection.run(count, &[]).is_ok());
    }
}
