//! What texts from outside may cost, and what is left of a statement that a bug has ended.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Unattended},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, session::Identity};
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// More than any of these takes, unoptimised and on a busy machine.
const SOON: Duration = Duration::from_secs(5);

fn instance() -> Arc<Instance> {
    let disk = Disk::new(1);
    let options = EngineOptions::default();
    let engine = Engine::open(&disk.env(), Path::new("/data"), options, &mut |_| {}).unwrap();
    cohort_sql::users::make_first(&engine).unwrap();
    Instance::new(Arc::new(engine))
}

fn session(instance: &Arc<Instance>, id: u64) -> Session {
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: None,
    };
    Session::new(Arc::clone(instance), id, who, Arc::new(Unattended), false)
}

/// Takes everything, or has a bug.
struct Sink {
    fails: bool,
}

impl Output for Sink {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &[Value]) -> io::Result<()> {
        assert!(!self.fails, "a bug");
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

/// The code of a statement's error, 0 for none; it must come soon.
fn code(session: &mut Session, sql: &str) -> u16 {
    let begun = Instant::now();
    let result = session.query(sql.as_bytes(), false, &mut Sink { fails: false });
    let start: String = sql.chars().take(60).collect();
    assert!(begun.elapsed() < SOON, "{start} took {:?}", begun.elapsed());
    result.err().map_or(0, |error| error.code)
}

#[test]
fn every_parser_gets_on() {
    let mut session = session(&instance(), 1);
    let mut code = |sql: &str| code(&mut session, sql);
    assert_eq!(code("CREATE DATABASE d"), 0);
    assert_eq!(code("USE d"), 0);
    for broken in [
        "CREATE TABLE x(a CHAR CHARACTER b)",
        "CREATE TABLE x(a CHAR CHAR b)",
        "CREATE TABLE x(a CHAR CHARACTER)",
        "CREATE TABLE x(a TEXT CHARACTER BINARY)",
        "CREATE TABLE x(a INT) CHARACTER b",
        "CREATE DATABASE y CHARACTER b",
        "ALTER DATABASE d CHARACTER",
    ] {
        assert_eq!(code(broken), 1064, "{broken}");
    }
    assert_eq!(
        code("CREATE TABLE x(a CHAR BINARY CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)"),
        0
    );
}

#[test]
fn long_texts_do_not_take_longer_than_long() {
    let mut session = session(&instance(), 1);
    let mut code = |sql: String| code(&mut session, &sql);
    assert_eq!(code(format!("SELECT a{}", ".a".repeat(300_000))), 1064);
    assert_eq!(code(format!("UPDATE a{} x", ", a".repeat(100_000))), 1064);
    assert_eq!(code(format!("SELECT {}", "(".repeat(300_000))), 1436);
}

/// A stack that overflows would end the process.
#[test]
fn what_nests_deeply_has_room() {
    const MANY: usize = 1_900;
    const TOO_MANY: usize = 31_000;
    let mut session = session(&instance(), 1);
    let mut code = |sql: String| code(&mut session, &sql);
    assert_eq!(code("CREATE DATABASE d".into()), 0);
    assert_eq!(code("USE d".into()), 0);
    assert_eq!(code("CREATE TABLE t (a INT PRIMARY KEY, b INT)".into()), 0);
    assert_eq!(code("INSERT INTO t VALUES (1, 1)".into()), 0);
    let around = |open: &str, inner: &str, close: &str, n: usize| {
        format!("{}{inner}{}", open.repeat(n), close.repeat(n))
    };
    let calls = |n| around("COALESCE(NULL, ", "b", ")", n);
    let cases = |n| around("CASE WHEN b THEN ", "b", " END", n);
    let sum = |n| format!("b{}", " + 0".repeat(n));
    for (n, expected) in [(MANY, 0), (2_100, 1436), (TOO_MANY, 1436)] {
        for deep in [calls(n), cases(n), sum(n)] {
            assert_eq!(code(format!("SELECT {deep} FROM t")), expected);
            assert_eq!(code(format!("SELECT a FROM t ORDER BY {deep}")), expected);
            assert_eq!(code(format!("UPDATE t SET b = {deep}")), expected);
            assert_eq!(code(format!("DELETE FROM t WHERE {deep} > 5")), expected);
            let upsert = "INSERT INTO t VALUES (1, 1) ON DUPLICATE KEY UPDATE b =";
            assert_eq!(code(format!("{upsert} {deep}")), expected);
        }
        let ones = format!("1{}", " + 1".repeat(n));
        assert_eq!(code(format!("SHOW TABLES WHERE {ones}")), expected);
        assert_eq!(code(format!("SET @x = {ones}")), expected);
        assert_eq!(
            code(format!("CREATE TABLE u (a INT DEFAULT ({ones}))")),
            1436
        );
    }
    for chain in [" OR a = 2", " AND b = 1"] {
        let chain = |n: usize| format!("SELECT a FROM t WHERE a = 1{}", chain.repeat(n));
        assert_eq!(code(chain(2_000)), 0);
        assert_eq!(code(chain(TOO_MANY)), 1436);
    }
    for (open, close) in [("SELECT (", ")"), ("SELECT a FROM (", ") x")] {
        assert_eq!(code(around(open, "SELECT 1 AS a", close, 63)), 0);
        assert_eq!(code(around(open, "SELECT 1 AS a", close, 64)), 1473);
    }
    // What is found out of a text is not found out again at each level: that would take years.
    for (open, close) in [
        ("SELECT a, RAND() AS b FROM (", ") x"),
        (
            "SELECT x.a, x.b + 1 AS b FROM t LEFT JOIN (",
            ") x ON x.a = t.a WHERE x.a > 0",
        ),
        ("SELECT a, MAX(b) AS b FROM (", ") x WHERE a > 0 GROUP BY a"),
    ] {
        assert_eq!(code(around(open, "SELECT a, b FROM t", close, 40)), 0);
    }
}

#[test]
fn what_is_beside_each_other_is_not_nested() {
    let mut session = session(&instance(), 1);
    let mut code = |sql: String| code(&mut session, &sql);
    assert_eq!(code("CREATE DATABASE d".into()), 0);
    assert_eq!(code("CREATE TABLE d.t (a INT, b INT)".into()), 0);
    // Rows that look different from each other are not folded.
    let rows = vec!["(-1, NULL + 1), (2, -(3))"; 5_000].join(", ");
    assert_eq!(code(format!("INSERT INTO d.t VALUES {rows}")), 0);
    let many = vec!["-1"; 10_000].join(", ");
    assert_eq!(code(format!("SELECT a FROM d.t WHERE a IN ({many})")), 0);
    assert_eq!(code(format!("SELECT CONCAT({many}), COALESCE({many})")), 0);
    let branches = "WHEN a = 1 THEN b + 1 ".repeat(5_000);
    assert_eq!(
        code(format!("SELECT CASE {branches} END FROM d.t LIMIT 1")),
        0
    );
    let list = vec!["(a + 1)"; 1_000].join(", ");
    assert_eq!(code(format!("SELECT {list} FROM d.t LIMIT 1")), 0);
}

#[test]
fn passwords_have_256_bytes_at_most() {
    let mut session = session(&instance(), 1);
    let mut code = |sql: String| code(&mut session, &sql);
    let (longest, long) = ("x".repeat(256), "x".repeat(257));
    assert_eq!(code(format!("CREATE USER a IDENTIFIED BY '{longest}'")), 0);
    assert_eq!(code(format!("CREATE USER b IDENTIFIED BY '{long}'")), 1396);
    assert_eq!(code(format!("ALTER USER a IDENTIFIED BY '{long}'")), 1396);
    assert_eq!(code(format!("SET PASSWORD FOR a = '{long}'")), 1396);
    let endless = "x".repeat(1_000_000);
    assert_eq!(code(format!("SET PASSWORD = '{endless}'")), 1396);
}

#[test]
fn a_bug_in_a_statement_leaves_nothing_behind() {
    let instance = instance();
    let mut one = session(&instance, 1);
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY)",
        "INSERT INTO d.t VALUES (1), (2)",
        "BEGIN",
        "DELETE FROM d.t WHERE a = 2",
        "SELECT GET_LOCK('l', 0)",
    ] {
        assert_eq!(code(&mut one, sql), 0, "{sql}");
    }
    let locking = b"SELECT a FROM d.t FOR UPDATE";
    let plain = b"SELECT a FROM d.t";
    for sql in [&locking[..], plain] {
        let mut sink = Sink { fails: true };
        let bug = AssertUnwindSafe(|| one.query(sql, false, &mut sink));
        assert!(catch_unwind(bug).is_err());
    }
    drop(one);
    assert!(instance.sessions.list().is_empty());
    let mut two = session(&instance, 2);
    for sql in [
        "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1",
        "UPDATE d.t SET a = a + 10",
        "ALTER TABLE d.t ADD b INT",
        "DROP TABLE d.t",
        "DO GET_LOCK('l', 0) OR nothing",
    ] {
        let expected = if sql.ends_with("nothing") { 1054 } else { 0 };
        assert_eq!(code(&mut two, sql), expected, "{sql}");
    }
}
