//! CREATE TABLE … SELECT is all or nothing: after a crash at whatever moment the table is there with
//! all its rows, or not at all.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session, SqlError};
use std::{io, path::Path};

const SETUP: [&str; 4] = [
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE s (a INT PRIMARY KEY)",
    "INSERT INTO s VALUES (1), (2), (3)",
];
/// The second one has hidden row numbers.
const CREATED: [&str; 2] = [
    "CREATE TABLE t (id INT AUTO_INCREMENT, KEY (id), KEY (a)) AUTO_INCREMENT = 10 SELECT a FROM s",
    "CREATE TABLE u SELECT a + 1 AS b FROM s",
];

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

fn run(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, SqlError> {
    let mut rows = Rows::default();
    session.query(sql.as_bytes(), false, &mut rows)?;
    Ok(rows.0)
}

fn open(disk: &Disk) -> Session {
    let options = EngineOptions {
        inline: true,
        ..EngineOptions::default()
    };
    let engine = Engine::open(&disk.env(), Path::new("/d"), options, &mut |_| {});
    Session::alone(engine.expect("the database opens")).expect("its first account")
}

/// Runs both statements; the disk's operations before and after them.
fn create(disk: &Disk) -> std::ops::Range<u64> {
    let mut session = open(disk);
    for sql in SETUP {
        run(&mut session, sql).expect(sql);
    }
    let before = disk.operations();
    for sql in CREATED {
        run(&mut session, sql).expect(sql);
    }
    before..disk.operations()
}

fn ints(rows: &[&[i64]]) -> Vec<Vec<Value>> {
    let row = |row: &&[i64]| row.iter().map(|n| Value::Int(*n)).collect();
    rows.iter().map(row).collect()
}

#[test]
fn a_crash_leaves_all_or_nothing() {
    let first = Disk::new(1);
    let operations = create(&first);
    let disk = Disk::new(1);
    disk.copy_before(operations.start..=operations.end);
    create(&disk);
    let (mut whole, mut none) = (0, 0);
    for (seed, copy) in disk.take_copies().into_iter().enumerate() {
        let mut session = open(&copy.power_loss(seed as u64));
        run(&mut session, "USE d").expect("the database was there before");
        let t = run(&mut session, "SELECT id, a FROM t");
        let u = run(&mut session, "SELECT b FROM u");
        match (&t, &u) {
            (Err(_), Err(_)) => none += 1,
            (Ok(_), Err(_)) => {}
            _ => whole += 1,
        }
        if let Ok(rows) = t {
            assert_eq!(rows, ints(&[&[10, 1], &[11, 2], &[12, 3]]), "{seed}");
            let by_index = run(&mut session, "SELECT a FROM t FORCE INDEX (a) WHERE a > 1");
            assert_eq!(by_index.expect("the table is there"), ints(&[&[2], &[3]]));
            run(&mut session, "INSERT INTO t (a) VALUES (9)").expect("the table is there");
            let id = run(&mut session, "SELECT id FROM t WHERE a = 9").expect("and the row");
            assert_eq!(id, ints(&[&[13]]));
        }
        if let Ok(rows) = u {
            assert_eq!(rows, ints(&[&[2], &[3], &[4]]), "{seed}");
            run(&mut session, "INSERT INTO u VALUES (9)").expect("the table is there");
            let rows = run(&mut session, "SELECT b FROM u").expect("the table is there");
            assert_eq!(rows, ints(&[&[2], &[3], &[4], &[9]]));
        }
    }
    assert!(whole > 0 && none > 0, "{whole} and {none}");
}

#[test]
fn a_statement_that_fails_leaves_nothing() {
    let mut session = open(&Disk::new(1));
    for sql in SETUP {
        run(&mut session, sql).expect(sql);
    }
    let twice = "CREATE TABLE t (a INT PRIMARY KEY) SELECT 1 AS a FROM s";
    assert_eq!(run(&mut session, twice).map_err(|e| e.code), Err(1062));
    let gone = run(&mut session, "SELECT * FROM t").map_err(|e| e.code);
    assert_eq!(gone, Err(1146));
    run(&mut session, "CREATE TABLE t SELECT a FROM s").expect("the name is free");
    assert_eq!(
        run(&mut session, "SELECT * FROM t")
            .expect("it is there")
            .len(),
        3
    );
}
