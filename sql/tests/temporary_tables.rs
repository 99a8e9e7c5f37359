//! Temporary tables are their session's alone: others see nothing of them, neither does the log,
//! and nothing is left of them when the session ends or begins anew.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Unattended},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, SqlError, session::Identity};
use std::{io, path::Path, sync::Arc};

#[derive(Default)]
struct Rows(Vec<Vec<Value>>);

impl Output for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.0.push(row.to_vec());
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

fn open(disk: &Disk) -> Arc<Instance> {
    let options = EngineOptions::default();
    let engine = Engine::open(&disk.env(), Path::new("/d"), options, &mut |_| {});
    let engine = engine.expect("the database opens");
    cohort_sql::users::make_first(&engine).expect("the first account");
    Instance::new(Arc::new(engine))
}

fn session(instance: &Arc<Instance>, id: u64) -> Session {
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: None,
    };
    let waiting = Arc::new(Unattended);
    let mut session = Session::new(Arc::clone(instance), id, who, waiting, false);
    run(&mut session, "CREATE DATABASE IF NOT EXISTS d");
    run(&mut session, "USE d");
    session
}

fn ask(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, SqlError> {
    let mut rows = Rows::default();
    session.query(sql.as_bytes(), false, &mut rows)?;
    Ok(rows.0)
}

fn run(session: &mut Session, sql: &str) -> Vec<Vec<Value>> {
    ask(session, sql).unwrap_or_else(|error| panic!("{sql}: {}", error.message))
}

/// The code of the error that a statement ends with; 0: it does not.
fn code(session: &mut Session, sql: &str) -> u16 {
    ask(session, sql).map_or_else(|error| error.code, |_| 0)
}

fn ints(rows: &[i64]) -> Vec<Vec<Value>> {
    rows.iter().map(|n| vec![Value::Int(*n)]).collect()
}

#[test]
fn each_session_has_its_own() {
    let instance = open(&Disk::new(1));
    let (mut a, mut b) = (session(&instance, 1), session(&instance, 2));
    run(&mut a, "CREATE TABLE t (v INT)");
    run(&mut a, "INSERT INTO t VALUES (0)");
    // The same texts in turn: a plan of one session must be none of another's.
    for round in 0..3 {
        for session in [&mut a, &mut b] {
            assert_eq!(run(session, "SELECT v FROM t"), ints(&[0]), "{round}");
        }
        run(&mut a, "CREATE TEMPORARY TABLE t (x VARCHAR(9), v INT)");
        run(&mut a, "INSERT INTO t (v) VALUES (1)");
        assert_eq!(run(&mut a, "SELECT v FROM t"), ints(&[1]));
        assert_eq!(run(&mut b, "SELECT v FROM t"), ints(&[0]));
        run(&mut b, "CREATE TEMPORARY TABLE t (v INT, x INT, KEY (v))");
        run(&mut b, "INSERT INTO t (v) VALUES (2), (3)");
        assert_eq!(run(&mut b, "SELECT v FROM t ORDER BY v"), ints(&[2, 3]));
        assert_eq!(run(&mut a, "SELECT v FROM t"), ints(&[1]));
        run(&mut b, "UPDATE t SET v = v + 1");
        run(&mut a, "DELETE FROM t");
        assert_eq!(run(&mut a, "SELECT v FROM t"), ints(&[]));
        assert_eq!(run(&mut b, "SELECT v FROM t ORDER BY v"), ints(&[3, 4]));
        run(&mut a, "DROP TABLE t");
        run(&mut b, "DROP TEMPORARY TABLE t");
    }
}

#[test]
fn they_follow_changes_of_others() {
    let instance = open(&Disk::new(1));
    let (mut a, mut b) = (session(&instance, 1), session(&instance, 2));
    run(&mut a, "CREATE TABLE t (v INT)");
    run(&mut a, "INSERT INTO t VALUES (0)");
    run(&mut a, "CREATE TEMPORARY TABLE own (v INT)");
    run(&mut a, "INSERT INTO own VALUES (1)");
    let joined = "SELECT t.* FROM t JOIN own";
    assert_eq!(run(&mut a, joined), ints(&[0]));
    run(&mut b, "ALTER TABLE t ADD w INT DEFAULT 5");
    assert_eq!(run(&mut a, joined), [[Value::Int(0), Value::Int(5)]]);
    run(&mut b, "DROP TABLE t");
    assert_eq!(code(&mut a, joined), 1146);
    assert_eq!(code(&mut b, "SELECT * FROM own"), 1146);
    run(&mut b, "CREATE TABLE own (z INT)");
    assert_eq!(run(&mut a, "SELECT v FROM own"), ints(&[1]));
}

#[test]
fn nothing_is_logged_or_left() {
    let disk = Disk::new(1);
    let instance = open(&disk);
    let mut a = session(&instance, 1);
    run(&mut a, "CREATE TABLE base (v INT)");
    let before = instance.engine.log().exclusive(|newest| newest);
    run(
        &mut a,
        "CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
    );
    run(&mut a, "INSERT INTO t (v) VALUES (1), (2), (3)");
    run(&mut a, "BEGIN");
    run(&mut a, "UPDATE t SET v = v * 10");
    run(&mut a, "DELETE FROM t WHERE id = 2");
    run(&mut a, "COMMIT");
    run(&mut a, "ALTER TABLE t ADD w INT");
    run(&mut a, "CREATE TEMPORARY TABLE u SELECT v FROM t");
    run(&mut a, "TRUNCATE TABLE u");
    run(&mut a, "DROP TABLE u");
    assert_eq!(run(&mut a, "SELECT v FROM t"), ints(&[10, 30]));
    let after = instance.engine.log().exclusive(|newest| newest);
    assert_eq!(before, after, "nothing of them is in the log");
    run(&mut a, "INSERT INTO base SELECT v FROM t");
    let last = instance.engine.log().exclusive(|newest| newest);
    assert_eq!(last, after + 1, "what they lead to is");
    // What a process finds that is started after this one was killed.
    let again = open(&disk.copy());
    let mut b = session(&again, 1);
    assert_eq!(run(&mut b, "SELECT v FROM base"), ints(&[10, 30]));
    assert_eq!(code(&mut b, "SELECT * FROM t"), 1146);
}

#[test]
fn a_session_that_begins_anew_has_none() {
    let instance = open(&Disk::new(1));
    let mut a = session(&instance, 1);
    run(&mut a, "CREATE TEMPORARY TABLE t (v INT)");
    run(&mut a, "BEGIN");
    run(&mut a, "INSERT INTO t VALUES (1)");
    a.reset(None);
    assert_eq!(code(&mut a, "SELECT * FROM t"), 1146);
    run(&mut a, "CREATE TEMPORARY TABLE t (v INT)");
    assert_eq!(run(&mut a, "SELECT * FROM t"), ints(&[]));
    drop(a);
    let mut b = session(&instance, 1);
    assert_eq!(code(&mut b, "SELECT * FROM t"), 1146);
}

#[test]
fn their_memory_is_bounded_and_given_back() {
    let instance = open(&Disk::new(1));
    let mut a = session(&instance, 1);
    run(&mut a, "SET GLOBAL cohort_max_temporary_bytes = 100000");
    run(
        &mut a,
        "CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(1000))",
    );
    let insert = "INSERT INTO t (v) VALUES (REPEAT('x', 1000))";
    let filled = (0..1000).find(|_| code(&mut a, insert) == 1114);
    let filled = filled.expect("the table is full at last");
    assert!((70..100).contains(&filled), "{filled}");
    // The statement that failed has left nothing.
    let count = run(&mut a, "SELECT COUNT(*) FROM t");
    assert_eq!(count, ints(&[filled]));
    assert_eq!(
        code(&mut a, "CREATE TEMPORARY TABLE u SELECT * FROM t"),
        1114
    );
    assert_eq!(code(&mut a, "SELECT * FROM u"), 1146);
    run(&mut a, "DELETE FROM t WHERE id <= 10");
    for _ in 0..10 {
        run(&mut a, insert);
    }
    assert_eq!(code(&mut a, insert), 1114);
    run(&mut a, "TRUNCATE TABLE t");
    for _ in 0..filled {
        run(&mut a, insert);
    }
    run(&mut a, "DROP TABLE t");
    run(&mut a, "CREATE TEMPORARY TABLE t (v VARCHAR(1000))");
    for _ in 0..filled {
        run(&mut a, "INSERT INTO t (v) VALUES (REPEAT('x', 1000))");
    }
    // Another session has room of its own.
    let mut b = session(&instance, 2);
    run(&mut b, "CREATE TEMPORARY TABLE t (v VARCHAR(1000))");
    run(&mut b, insert);
}

#[test]
fn they_are_written_where_nothing_else_is() {
    let instance = open(&Disk::new(1));
    let mut a = session(&instance, 1);
    run(&mut a, "CREATE TABLE base (v INT)");
    run(&mut a, "SET GLOBAL super_read_only = 1");
    run(&mut a, "CREATE TEMPORARY TABLE t (v INT)");
    run(&mut a, "INSERT INTO t VALUES (1)");
    run(&mut a, "UPDATE t SET v = 2");
    assert_eq!(run(&mut a, "SELECT * FROM t"), ints(&[2]));
    assert_eq!(code(&mut a, "INSERT INTO base SELECT * FROM t"), 1290);
    run(&mut a, "SET GLOBAL read_only = 0");
    let mut b = session(&instance, 2);
    run(&mut b, "FLUSH TABLES WITH READ LOCK");
    run(&mut a, "INSERT INTO t VALUES (3)");
    run(&mut a, "CREATE TEMPORARY TABLE u SELECT * FROM t");
    run(&mut b, "UNLOCK TABLES");
    assert_eq!(run(&mut a, "SELECT * FROM u"), ints(&[2, 3]));
}
