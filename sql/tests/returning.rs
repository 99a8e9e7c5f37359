//! RETURNING, which MySQL has not: the answers are those of MariaDB 10.11.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session};
use std::{fmt::Write, io, path::Path};

/// A result as text: names of columns, then rows.
#[derive(Default)]
struct Shown(String);

impl Output for Shown {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        self.0.push_str(&names.join(","));
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let shown = row.iter().map(|value| match value {
            Value::Null => "NULL".to_string(),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::Int(n) => n.to_string(),
            Value::UInt(n) => n.to_string(),
            other => format!("{other:?}"),
        });
        let shown: Vec<String> = shown.collect();
        write!(self.0, ": {}", shown.join(",")).map_err(io::Error::other)
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        if self.0.is_empty() {
            write!(self.0, "{} rows", done.affected_rows).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

fn session() -> Session {
    let (env, options) = (Disk::new(1).env(), EngineOptions::default());
    let engine = Engine::open(&env, Path::new("/d"), options, &mut |_| {});
    let mut session = Session::alone(engine.expect("the database opens")).expect("a session");
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(10) DEFAULT 'x', \
         UNIQUE (a))",
        "CREATE TABLE s (x INT)",
        "INSERT INTO s VALUES (1)",
        "CREATE VIEW v AS SELECT id, a FROM t",
    ] {
        ask(&mut session, sql);
    }
    session
}

fn ask(session: &mut Session, sql: &str) -> String {
    let mut shown = Shown::default();
    match session.query(sql.as_bytes(), false, &mut shown) {
        Ok(()) => shown.0,
        Err(error) => format!("{} {}", error.code, error.message),
    }
}

fn check(session: &mut Session, cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        assert_eq!(ask(session, sql), *expected, "{sql}");
    }
}

#[test]
fn rows_are_told_as_they_are_in_the_table() {
    let mut session = session();
    check(
        &mut session,
        &[
            (
                "INSERT INTO t (a) VALUES (1),(2) RETURNING id, a+1 AS q, b",
                "id,q,b: 1,2,x: 2,3,x",
            ),
            (
                "INSERT INTO t (a) VALUES (7),(8),(9) RETURNING a+0, a + 10",
                "a+0,a + 10: 7,17: 8,18: 9,19",
            ),
            (
                "INSERT INTO t (a) VALUES (7),(10) ON DUPLICATE KEY UPDATE b='u' RETURNING *",
                "id,a,b: 3,7,u: 6,10,x",
            ),
            (
                "INSERT INTO t (a) VALUES (7) ON DUPLICATE KEY UPDATE b='u' RETURNING b",
                "b: u",
            ),
            ("INSERT IGNORE INTO t (a) VALUES (7) RETURNING *", "id,a,b"),
            ("SELECT ROW_COUNT()", "ROW_COUNT(): -1"),
            (
                "REPLACE INTO t (id, a, b) VALUES (3, 7, 'rep') RETURNING id, b",
                "id,b: 3,rep",
            ),
            (
                "INSERT INTO t (a) SELECT a + 100 FROM t WHERE a < 3 RETURNING a",
                "a: 101: 102",
            ),
            (
                "INSERT INTO t (id, a) VALUES (50, 50) RETURNING (SELECT x.a FROM t x WHERE x.id = t.id) c",
                "c: 50",
            ),
            (
                "INSERT INTO v (id, a) VALUES (60, 60) RETURNING *",
                "id,a: 60,60",
            ),
            (
                "DELETE FROM t WHERE a > 100 ORDER BY a DESC LIMIT 1 RETURNING a, (SELECT COUNT(*) FROM t t2) c",
                "a,c: 102,10",
            ),
            ("DELETE FROM t WHERE a = 77 RETURNING t.*", "id,a,b"),
            (
                "DELETE FROM v WHERE a BETWEEN 50 AND 60 RETURNING *",
                "id,a: 50,50: 60,60",
            ),
        ],
    );
}

#[test]
fn what_mariadb_refuses_is_refused() {
    let mut session = session();
    ask(&mut session, "INSERT INTO t (a) VALUES (1)");
    let refused = [
        (
            "INSERT INTO t (a) VALUES (2) RETURNING (SELECT MAX(a) FROM t)",
            1093,
        ),
        ("INSERT INTO t (a) VALUES (2) RETURNING MAX(a)", 1111),
        ("DELETE FROM t RETURNING COUNT(*)", 1111),
        ("INSERT INTO t (a) VALUES (2) RETURNING nosuch", 1054),
        ("INSERT INTO v (a) VALUES (2) RETURNING b", 1054),
        ("INSERT INTO t (a) SELECT x + 9 FROM s RETURNING x", 1054),
        ("INSERT INTO t (a) VALUES (2) RETURNING (SELECT 1, 2)", 1241),
        ("INSERT INTO t (a) VALUES (2), (1) RETURNING a", 1062),
        ("INSERT INTO t (a) VALUES (2) RETURNING", 1064),
        ("INSERT INTO t (a) VALUES (2) RETURNING DISTINCT a", 1064),
        ("INSERT INTO t (a) VALUES (2) RETURNING a, *", 1064),
        ("INSERT INTO t (a) VALUES (2) RETURNING VALUES(a)", 1064),
        ("INSERT INTO t (a) VALUES (2) RETURNING a LIMIT 1", 1064),
        ("INSERT INTO t (a) VALUES (2) RETURNING a INTO @x", 1064),
        ("UPDATE t SET a = 2 RETURNING a", 1064),
        ("DELETE FROM t RETURNING a ORDER BY a", 1064),
        ("DELETE t FROM t WHERE a = 1 RETURNING a", 1064),
    ];
    for (sql, code) in refused {
        let answer = ask(&mut session, sql);
        assert!(answer.starts_with(&format!("{code} ")), "{sql}: {answer}");
    }
    check(&mut session, &[("SELECT a FROM t", "a: 1")]);
}

#[test]
fn it_can_be_prepared_and_rolled_back() {
    let mut session = session();
    let insert = session.prepare(b"INSERT INTO t (a) VALUES (?) RETURNING id, a + ? AS z");
    let insert = insert.expect("a statement");
    assert_eq!(insert.columns.len(), 2);
    ask(&mut session, "BEGIN");
    for a in 1..3 {
        let mut shown = Shown::default();
        let done = session.execute(insert.id, &[Value::Int(a), Value::Int(10)], &mut shown);
        done.expect("a result");
        assert_eq!(shown.0, format!("id,z: {a},{}", a + 10));
    }
    check(
        &mut session,
        &[
            (
                "PREPARE p FROM 'DELETE FROM t WHERE a = ? RETURNING a'",
                "0 rows",
            ),
            ("SET @a = 2", "0 rows"),
            ("EXECUTE p USING @a", "a: 2"),
            ("EXECUTE p USING @a", "a"),
            ("ROLLBACK", "0 rows"),
            ("SELECT COUNT(*) c FROM t", "c: 0"),
            ("START TRANSACTION READ ONLY", "0 rows"),
            (
                "INSERT INTO t (a) VALUES (1) RETURNING a",
                "1792 Cannot execute statement in a READ ONLY transaction.",
            ),
        ],
    );
}
