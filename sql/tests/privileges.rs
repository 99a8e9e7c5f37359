//! An account without privileges: what names a stored table, a view, a database or the server is
//! refused, whatever the statement; what looks at the session itself is not.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Unattended},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, session::Identity};
use std::{io, sync::Arc};

struct Nothing;

impl Output for Nothing {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &[Value]) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

/// The number of the error that a statement ends with; 0 for none.
fn code(session: &mut Session, sql: &str) -> u16 {
    let result = session.query(sql.as_bytes(), false, &mut Nothing);
    result.map_or_else(|error| error.code, |()| 0)
}

fn session(instance: &Arc<Instance>, id: u64, user: &str) -> Session {
    let who = Identity {
        user: user.into(),
        host: "localhost".into(),
        account: None,
    };
    Session::new(Arc::clone(instance), id, who, Arc::new(Unattended), false)
}

const DATABASE_DENIED: u16 = 1044;
const TABLE_DENIED: u16 = 1142;
const NEEDS_PRIVILEGE: u16 = 1227;

/// Statements that name a table `d.t` or a view; `{}` is each of `TABLES`.
const OF_TABLES: [&str; 20] = [
    "SELECT * FROM {}",
    "TABLE {}",
    "SELECT 1 FROM (SELECT * FROM {}) x",
    "SELECT EXISTS (SELECT * FROM {})",
    "SELECT 1 UNION SELECT 2 FROM {}",
    "SELECT 1 FROM information_schema.engines WHERE 1 IN (SELECT a FROM {})",
    "WITH x AS (SELECT * FROM {}) SELECT 1 FROM x",
    "EXPLAIN SELECT * FROM {}",
    "DO (SELECT a FROM {})",
    "SET @a = (SELECT a FROM {})",
    "SELECT a FROM {} INTO @a",
    "SHOW CREATE TABLE {}",
    "SHOW COLUMNS FROM {}",
    "SHOW INDEX FROM {}",
    "DESCRIBE {}",
    "ANALYZE TABLE {}",
    "CHECK TABLE {}",
    "OPTIMIZE TABLE {}",
    "REPAIR TABLE {}",
    "CHECKSUM TABLE {}",
];

/// The view `alone` names no table, `over` the table.
const TABLES: [&str; 3] = ["d.t", "d.alone", "d.over"];

const OTHERS: [(&str, u16); 55] = [
    ("INSERT INTO d.t VALUES (9, 9)", TABLE_DENIED),
    ("INSERT INTO d.over VALUES (9, 9)", TABLE_DENIED),
    ("REPLACE INTO d.t VALUES (9, 9)", TABLE_DENIED),
    ("UPDATE d.t SET b = 5", TABLE_DENIED),
    ("UPDATE d.over SET b = 5", TABLE_DENIED),
    ("UPDATE d.t, d.over SET t.b = 5", TABLE_DENIED),
    ("DELETE FROM d.t", TABLE_DENIED),
    ("DELETE FROM d.over", TABLE_DENIED),
    ("TRUNCATE TABLE d.t", TABLE_DENIED),
    ("DROP TABLE d.t", TABLE_DENIED),
    ("DROP VIEW d.alone", TABLE_DENIED),
    ("CREATE TABLE d.n (a INT)", TABLE_DENIED),
    ("CREATE TABLE d.n LIKE d.t", TABLE_DENIED),
    ("CREATE TABLE d.n SELECT * FROM d.t", TABLE_DENIED),
    ("CREATE TABLE d.n SELECT 1", TABLE_DENIED),
    ("CREATE TEMPORARY TABLE d.n (a INT)", DATABASE_DENIED),
    ("CREATE VIEW d.n AS SELECT 1", TABLE_DENIED),
    ("CREATE OR REPLACE VIEW d.alone AS SELECT 1", TABLE_DENIED),
    ("ALTER VIEW d.alone AS SELECT 1", TABLE_DENIED),
    ("ALTER TABLE d.t ADD c INT", TABLE_DENIED),
    ("RENAME TABLE d.t TO d.u", TABLE_DENIED),
    ("CREATE INDEX i ON d.t (b)", TABLE_DENIED),
    ("DROP INDEX i ON d.t", TABLE_DENIED),
    ("CREATE DATABASE e", DATABASE_DENIED),
    ("DROP DATABASE d", DATABASE_DENIED),
    ("ALTER DATABASE d CHARACTER SET latin1", DATABASE_DENIED),
    ("USE d", DATABASE_DENIED),
    ("SHOW CREATE DATABASE d", DATABASE_DENIED),
    ("SHOW TABLES FROM d", DATABASE_DENIED),
    ("SHOW TABLE STATUS FROM d", DATABASE_DENIED),
    ("SHOW CREATE VIEW d.alone", TABLE_DENIED),
    ("LOCK TABLES d.t READ", DATABASE_DENIED),
    ("LOCK TABLES d.over READ", DATABASE_DENIED),
    ("LOCK TABLES d.t WRITE", DATABASE_DENIED),
    ("SHOW GRANTS FOR root@localhost", TABLE_DENIED),
    ("SHOW CREATE USER root@localhost", DATABASE_DENIED),
    ("SHOW BINARY LOGS", NEEDS_PRIVILEGE),
    ("SHOW BINARY LOG STATUS", NEEDS_PRIVILEGE),
    ("SHOW BINLOG EVENTS", NEEDS_PRIVILEGE),
    ("SHOW ENGINE INNODB STATUS", NEEDS_PRIVILEGE),
    ("LOCK INSTANCE FOR BACKUP", NEEDS_PRIVILEGE),
    ("FLUSH TABLES", NEEDS_PRIVILEGE),
    ("FLUSH TABLES WITH READ LOCK", NEEDS_PRIVILEGE),
    ("FLUSH LOGS", NEEDS_PRIVILEGE),
    ("PURGE BINARY LOGS TO 'x'", NEEDS_PRIVILEGE),
    ("SET GLOBAL max_connections = 200", NEEDS_PRIVILEGE),
    ("SET PASSWORD FOR root@localhost = 'y'", NEEDS_PRIVILEGE),
    (
        "ALTER USER root@localhost IDENTIFIED BY 'z'",
        NEEDS_PRIVILEGE,
    ),
    ("CREATE USER other", NEEDS_PRIVILEGE),
    ("DROP USER root@localhost", NEEDS_PRIVILEGE),
    ("RENAME USER root@localhost TO r", NEEDS_PRIVILEGE),
    ("GRANT ALL ON *.* TO weak", 1045),
    ("REVOKE ALL ON *.* FROM root@localhost", 1227),
    ("XA RECOVER", 1401),
    ("KILL 1", 1095),
];

const ALLOWED: [&str; 10] = [
    "SELECT 1 + 1",
    "BEGIN",
    "COMMIT",
    "SET @a = 1",
    "SHOW DATABASES",
    "SHOW GRANTS",
    "SHOW VARIABLES LIKE 'port'",
    "SHOW PROCESSLIST",
    "SELECT COUNT(*) FROM information_schema.tables",
    "SET PASSWORD = 'x'",
];

#[test]
fn without_privileges_only_the_session_itself_is_seen() {
    let disk = Disk::new(1);
    let options = EngineOptions::default();
    let directory = std::path::Path::new("/privileges");
    let engine = Engine::open(&disk.env(), directory, options, &mut |_| {});
    let engine = engine.expect("a new data directory opens");
    cohort_sql::users::make_first(&engine).expect("a new data directory takes its first user");
    let instance = Instance::new(Arc::new(engine));
    let mut root = session(&instance, 1, "root");
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
        "INSERT INTO d.t VALUES (1, 2)",
        "CREATE VIEW d.alone AS SELECT 1 AS a",
        "CREATE VIEW d.over AS SELECT * FROM d.t",
        "CREATE USER weak@localhost",
    ] {
        assert_eq!(code(&mut root, sql), 0, "{sql}");
    }
    let mut weak = session(&instance, 2, "weak");
    for sql in ALLOWED {
        assert_eq!(code(&mut weak, sql), 0, "{sql}");
    }
    for form in OF_TABLES {
        for table in TABLES {
            let sql = form.replace("{}", table);
            assert_eq!(code(&mut weak, &sql), TABLE_DENIED, "{sql}");
            // The same text as a prepared statement.
            let text = sql.replace('\'', "''");
            let prepared = match code(&mut weak, &format!("PREPARE s FROM '{text}'")) {
                0 => code(&mut weak, "EXECUTE s"),
                refused => refused,
            };
            assert!(
                [TABLE_DENIED, 1295].contains(&prepared),
                "{sql}: {prepared}"
            );
        }
    }
    for (sql, refused) in OTHERS {
        assert_eq!(code(&mut weak, sql), refused, "{sql}");
    }
    // Nothing has become of all that: the row is still there, as it was.
    let again = "INSERT INTO d.t SELECT a, b FROM d.over WHERE a = 1 AND b = 2";
    assert_eq!(code(&mut root, again), 1062);
    assert_eq!(code(&mut root, "SHOW GRANTS FOR weak@localhost"), 0);
}
