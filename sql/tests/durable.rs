//! No reply leaves before what it depends on is durable, whatever kind of reply it is; and a
//! statement is evaluated once, even where its reply needs not wait.
//!
//! One session commits and does not wait for the log, which takes its time. Another one meets what
//! was committed. When it has its reply, the commit must be durable.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Placed, Unattended},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, SqlError, session::Identity};
use std::{io, path::Path, sync::Arc};

/// How long the log waits for more commits before it syncs, in microseconds.
const DELAY: u64 = 400_000;

#[derive(Default)]
struct Answer {
    rows: Vec<Vec<Value>>,
    done: Done,
}

impl Output for Answer {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.rows.push(row.to_vec());
        Ok(())
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        self.done = done.clone();
        Ok(())
    }
}

struct Scene {
    instance: Arc<Instance>,
    /// Commits, and leaves it to others to wait.
    hasty: Session,
    /// Meets what was committed.
    other: Session,
    left: Vec<Placed>,
}

fn run(session: &mut Session, sql: &str) -> Result<Answer, SqlError> {
    let mut answer = Answer::default();
    session.query(sql.as_bytes(), false, &mut answer)?;
    Ok(answer)
}

impl Scene {
    fn new(setup: &[&str]) -> Scene {
        let engine = Engine::open(
            &Disk::new(1).env(),
            Path::new("/data"),
            EngineOptions::default(),
            &mut |_| (),
        );
        let engine = engine.expect("a new database");
        cohort_sql::users::make_first(&engine).expect("the first account");
        let instance = Instance::new(Arc::new(engine));
        let session = |id| {
            let who = Identity {
                user: "root".into(),
                host: "localhost".into(),
                account: None,
            };
            Session::new(Arc::clone(&instance), id, who, Arc::new(Unattended), false)
        };
        let (mut hasty, mut other) = (session(1), session(2));
        run(&mut other, "CREATE DATABASE d").expect("a database");
        for session in [&mut hasty, &mut other] {
            session.use_database("d").expect("the database");
        }
        for sql in setup {
            run(&mut other, sql).expect(sql);
        }
        instance.engine.log().set_sync_delay(DELAY);
        hasty.leave_commits();
        Scene {
            instance,
            hasty,
            other,
            left: Vec::new(),
        }
    }

    /// Commits a statement, and does not wait for the log.
    fn commit(&mut self, sql: &str) {
        run(&mut self.hasty, sql).expect(sql);
        self.left.push(self.hasty.take_placed().expect("a commit"));
        assert!(!self.is_durable(), "the log takes its time");
    }

    fn is_durable(&self) -> bool {
        let log = self.instance.engine.log();
        log.durable() == log.exclusive(|newest| newest)
    }

    /// Runs a statement whose reply must have waited for the log.
    fn late(&mut self, sql: &str) -> Result<Answer, SqlError> {
        let answer = run(&mut self.other, sql);
        assert!(self.is_durable(), "{sql}: replied too early");
        answer
    }

    /// Runs a statement whose reply need not wait.
    fn early(&mut self, sql: &str) -> Answer {
        let answer = run(&mut self.other, sql).expect(sql);
        assert!(!self.is_durable(), "{sql}: waited for nothing");
        answer
    }
}

fn int(answer: &Answer) -> i64 {
    match answer.rows.first().and_then(|row| row.first()) {
        Some(Value::Int(n)) => *n,
        Some(Value::UInt(n)) => i64::try_from(*n).expect("a small number"),
        other => panic!("no integer: {other:?}"),
    }
}

fn code<T>(result: Result<T, SqlError>) -> u16 {
    result.err().map_or(0, |error| error.code)
}

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, v INT, UNIQUE (v))";

#[test]
fn an_error_waits_for_the_row_that_it_tells_of() {
    let mut scene = Scene::new(&[TABLE]);
    scene.commit("INSERT INTO t VALUES (7, 7)");
    assert_eq!(code(scene.late("INSERT INTO t VALUES (7, 8)")), 1062);
    scene.commit("INSERT INTO t VALUES (8, 8)");
    assert_eq!(code(scene.late("INSERT INTO t VALUES (9, 8)")), 1062);
    scene.commit("INSERT INTO t VALUES (10, 10)");
    assert!(scene.late("INSERT IGNORE INTO t VALUES (10, 11)").is_ok());
    scene.commit("UPDATE t SET v = 19 WHERE id = 7");
    assert_eq!(
        code(scene.late("UPDATE t SET v = v - 9 WHERE id = 7")),
        1062
    );
    scene.commit("INSERT INTO t VALUES (20, 20)");
    let ddl = "ALTER TABLE t ADD w INT DEFAULT 1, ADD UNIQUE (w)";
    assert_eq!(code(scene.late(ddl)), 1062);
}

#[test]
fn an_error_in_a_transaction_waits_too() {
    let mut scene = Scene::new(&[TABLE, "INSERT INTO t VALUES (1, 0)"]);
    scene.early_begin();
    scene.commit("INSERT INTO t VALUES (7, 7)");
    assert_eq!(code(scene.late("INSERT INTO t VALUES (7, 8)")), 1062);
    run(&mut scene.other, "ROLLBACK").expect("a rollback");
}

impl Scene {
    fn early_begin(&mut self) {
        run(&mut self.other, "BEGIN").expect("a transaction");
    }
}

#[test]
fn own_changes_of_what_was_met_wait_when_they_are_read() {
    let mut scene = Scene::new(&[TABLE, "INSERT INTO t VALUES (1, 0), (2, 9)"]);
    for read in [
        "SELECT v FROM t WHERE id = 1",
        "SELECT MAX(v) FROM t WHERE id < 2",
        "SELECT v FROM t FORCE INDEX (v) WHERE v BETWEEN 100 AND 1000",
        "SELECT v FROM t WHERE id = 1 FOR SHARE",
        "SELECT COUNT(*) FROM t",
    ] {
        scene.early_begin();
        scene.commit("UPDATE t SET v = v + 100 WHERE id = 1");
        scene.early("UPDATE t SET v = v + 1 WHERE id = 1");
        scene.early("SELECT v FROM t WHERE id = 2");
        scene.late(read).expect(read);
        run(&mut scene.other, "ROLLBACK").expect("a rollback");
    }
}

#[test]
fn variables_wait_for_what_they_were_set_from() {
    let mut scene = Scene::new(&[TABLE, "INSERT INTO t VALUES (1, 0)"]);
    for set in [
        "SELECT v INTO @x FROM t WHERE id = 1 FOR UPDATE",
        "SELECT @x := v FROM t WHERE id = 1 FOR UPDATE",
        "SET @x = (SELECT v FROM t WHERE id = 1 FOR UPDATE)",
        "UPDATE t SET v = v + 1 WHERE id = (@x := id)",
    ] {
        scene.commit("UPDATE t SET v = v + 100 WHERE id = 1");
        scene.late(set).expect(set);
    }
    scene.early_begin();
    scene.commit("UPDATE t SET v = v + 100 WHERE id = 1");
    let set = "UPDATE t SET v = LAST_INSERT_ID(v + 1) WHERE id = 1";
    scene.late(set).expect(set);
}

#[test]
fn read_uncommitted_waits_for_what_is_committed() {
    let level = "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED";
    let mut scene = Scene::new(&[TABLE, "INSERT INTO t VALUES (1, 0)", level]);
    for read in [
        "SELECT v FROM t WHERE id = 1",
        "SELECT COUNT(*), MAX(v) FROM t",
    ] {
        scene.commit("UPDATE t SET v = v + 100 WHERE id = 1");
        scene.late(read).expect(read);
    }
}

#[test]
fn a_long_result_of_locked_rows_waits_and_is_whole() {
    let mut scene = Scene::new(&[
        "CREATE TABLE l (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(2000))",
        "INSERT INTO l (s) VALUES (REPEAT('x', 2000)), (REPEAT('y', 2000))",
        "INSERT INTO l (s) SELECT a.s FROM l a, l b, l c, l d, l e, l f, l g, l h, l i, l j",
    ]);
    scene.commit("UPDATE l SET s = 'z' WHERE id = 5");
    let answer = scene.late("SELECT * FROM l FOR UPDATE").expect("all rows");
    assert_eq!(answer.rows.len(), 1026);
}

#[test]
fn an_update_is_evaluated_once() {
    let mut scene = Scene::new(&[
        "CREATE TABLE s (id INT PRIMARY KEY, qty INT UNSIGNED, n TINYINT, c VARCHAR(3))",
        "INSERT INTO s VALUES (1, 0, 1, 'a')",
        "SET sql_mode = ''",
    ]);
    // A number drawn from the version that was locked, not from the one before.
    scene.commit("UPDATE s SET qty = qty + 1");
    let drawn = scene.late("UPDATE s SET qty = LAST_INSERT_ID(qty + 1) WHERE id = 1");
    assert_eq!(drawn.expect("a number").done.last_insert_id, 2);
    let drawn = run(&mut scene.other, "SELECT LAST_INSERT_ID()").expect("a number");
    assert_eq!(int(&drawn), 2);
    scene.commit("UPDATE s SET qty = qty + 1");
    let set = "UPDATE s SET qty = (@q := qty + 1) WHERE id = 1";
    scene.late(set).expect(set);
    let drawn = run(&mut scene.other, "SELECT @q").expect("a number");
    assert_eq!(int(&drawn), 4);
    // The version before could not be evaluated.
    scene.commit("UPDATE s SET qty = 0 WHERE id = 1");
    scene.commit("UPDATE s SET qty = 5 WHERE id = 1");
    let less = "UPDATE s SET qty = qty - 1 WHERE id = 1";
    assert_eq!(scene.late(less).expect(less).done.affected_rows, 1);
    // One value, one warning.
    scene.commit("UPDATE s SET n = 2 WHERE id = 1");
    let cut = "UPDATE s SET n = n + 1, c = 'abcdef' WHERE id = 1";
    assert_eq!(scene.late(cut).expect(cut).done.warnings, 1);
}

#[test]
fn read_committed_evaluates_conditions_with_effects_once() {
    let level = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
    let mut scene = Scene::new(&[TABLE, "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", level]);
    let run = |scene: &mut Scene, sql: &str| run(&mut scene.other, sql).expect(sql);
    run(&mut scene, "SET @n = 0");
    run(
        &mut scene,
        "UPDATE t SET v = v + 10 WHERE (@n := @n + 1) > 0",
    );
    assert_eq!(int(&run(&mut scene, "SELECT @n")), 3);
}

#[test]
fn replies_carry_the_id_that_was_asked_for() {
    let mut scene = Scene::new(&[
        "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, k INT UNIQUE, n INT)",
        "INSERT INTO a (k, n) VALUES (1, 0), (2, 0)",
        TABLE,
        "INSERT INTO t VALUES (1, 1)",
    ]);
    let mut id = |sql: &str| run(&mut scene.other, sql).expect(sql).done.last_insert_id;
    assert_eq!(id("UPDATE t SET v = LAST_INSERT_ID(41)"), 41);
    assert_eq!(id("UPDATE t SET v = 42"), 0);
    assert_eq!(
        id("UPDATE t, a SET t.v = LAST_INSERT_ID(43) WHERE a.id = 1"),
        43
    );
    assert_eq!(id("DELETE FROM t WHERE id = LAST_INSERT_ID(44)"), 0);
    let upsert =
        "INSERT INTO a (k) VALUES (2) ON DUPLICATE KEY UPDATE n = 1, id = LAST_INSERT_ID(id)";
    assert_eq!(id(upsert), 2);
    assert_eq!(id("INSERT INTO a (k) VALUES (LAST_INSERT_ID(99))"), 4);
    assert_eq!(id("SELECT LAST_INSERT_ID(45)"), 0);
}

#[test]
fn a_group_has_one_value_of_its_key() {
    let mut scene = Scene::new(&[
        TABLE,
        "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)",
        "SET @n = 0",
    ]);
    for (sql, expected) in [
        (
            "SELECT (@n := @n + 1) r, COUNT(*) FROM t GROUP BY r",
            [1, 2, 3],
        ),
        (
            "SELECT (@n := @n + 1) r FROM t GROUP BY 1 ORDER BY r DESC",
            [12, 11, 10],
        ),
        (
            "SELECT (@n := @n + 1) r, MAX(v) FROM t GROUP BY r HAVING r > 15",
            [16, 17, 18],
        ),
    ] {
        let answer = run(&mut scene.other, sql).expect(sql);
        let first = answer.rows.iter().map(|row| match row.first() {
            Some(Value::Int(n)) => *n,
            other => panic!("no integer: {other:?}"),
        });
        assert_eq!(first.take(3).collect::<Vec<_>>(), expected, "{sql}");
    }
}
