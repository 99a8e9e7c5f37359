//! Columns that are there for indexes on expressions, through the log and back: recovery finds their
//! values, of committed changes and of prepared ones, with and without a primary key.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session, text};
use std::{io, path::Path};

/// The rows of a result.
#[derive(Default)]
struct Rows(Vec<String>);

impl Output for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let values = row.iter().map(|value| {
            let mut bytes = Vec::new();
            text::put(value, 0, &mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        self.0.push(values.collect::<Vec<_>>().join(" "));
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

fn open(disk: &Disk) -> Session {
    let path = Path::new("/hidden");
    let engine = Engine::open(&disk.env(), path, EngineOptions::default(), &mut |_| {});
    Session::alone(engine.expect("it opens")).expect("a first user")
}

fn run(session: &mut Session, sql: &str) -> String {
    let mut rows = Rows::default();
    let result = session.query(sql.as_bytes(), false, &mut rows);
    result.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    rows.0.join(", ")
}

#[test]
fn recovery_finds_values_of_expressions() {
    let disk = Disk::new(7);
    let mut session = open(&disk);
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE k (id INT PRIMARY KEY, s VARCHAR(9), KEY ((UPPER(s))), UNIQUE u ((id * 2)))",
        "CREATE TABLE n (a INT, s VARCHAR(9), KEY ((UPPER(s)), (a + 1)))",
        "INSERT INTO k VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'd')",
        "INSERT INTO n VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'd')",
        "BEGIN",
        "UPDATE k SET s = 'changed' WHERE id < 3",
        "DELETE FROM n WHERE a = 1",
        "UPDATE n SET a = a + 10",
        "DELETE FROM k WHERE id = 4",
        "COMMIT",
        "XA START 'x'",
        "INSERT INTO k VALUES (9, 'p')",
        "UPDATE n SET s = 'p' WHERE a = 12",
        "XA END 'x'",
        "XA PREPARE 'x'",
    ] {
        run(&mut session, sql);
    }
    let disk = disk.crash(3);
    drop(session);
    let mut session = open(&disk);
    let mut ask = |sql: &str| run(&mut session, sql);
    ask("USE d");
    let changed = "SELECT id FROM k WHERE UPPER(s) = 'CHANGED' ORDER BY id";
    assert_eq!(ask(changed), "1, 2");
    assert_eq!(ask("SELECT id FROM k WHERE id * 2 = 8"), "");
    let known = "SELECT a FROM n WHERE UPPER(s) = 'D' AND a + 1 = 15";
    assert_eq!(ask(known), "14");
    assert_eq!(ask("SELECT a FROM n WHERE UPPER(s) IS NULL"), "13");
    ask("XA COMMIT 'x'");
    assert_eq!(ask("SELECT id FROM k WHERE UPPER(s) = 'P'"), "9");
    assert_eq!(ask("SELECT a FROM n WHERE UPPER(s) = 'P'"), "12");
    for table in ["k", "n"] {
        let checked = ask(&format!("CHECK TABLE {table}"));
        assert_eq!(checked, format!("d.{table} check status OK"));
    }
}
