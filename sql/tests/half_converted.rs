//! A parent is converted to another character set and its child is not (without
//! foreign_key_checks): nobody loses a parent, and no text a letter. (MySQL compares the bytes of two
//! character sets then, so it is no oracle.) The same where a CHAR refers to a VARCHAR that keeps the
//! spaces at its end.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session};
use std::{io, path::Path};

#[derive(Default)]
struct Texts(Vec<String>);

impl Output for Texts {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        if let Some(Value::Bytes(text)) = row.first() {
            self.0.push(String::from_utf8_lossy(text).into_owned());
        }
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

fn run(session: &mut Session, sql: &str) -> Result<Vec<String>, u16> {
    let mut texts = Texts::default();
    let done = session.query(sql.as_bytes(), false, &mut texts);
    done.map(|()| texts.0).map_err(|error| error.code)
}

fn new_session() -> Session {
    let disk = Disk::new(1);
    let options = EngineOptions::default();
    let engine = Engine::open(&disk.env(), Path::new("/h"), options, &mut |_| {});
    Session::alone(engine.expect("a new data directory opens")).unwrap()
}

#[test]
fn a_char_keeps_no_spaces_of_its_parent() {
    let mut session = new_session();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE p (k VARCHAR(10) PRIMARY KEY)",
        "CREATE TABLE c (k CHAR(10), FOREIGN KEY (k) REFERENCES p (k) ON UPDATE CASCADE)",
        "CREATE TABLE padded (k VARCHAR(10) COLLATE utf8mb4_general_ci PRIMARY KEY)",
        "CREATE TABLE d (k CHAR(10) COLLATE utf8mb4_general_ci, \
         FOREIGN KEY (k) REFERENCES padded (k) ON UPDATE CASCADE)",
        "INSERT INTO p VALUES ('a'), ('b ')",
        "INSERT INTO padded VALUES ('a')",
        "INSERT INTO c VALUES ('a')",
        "INSERT INTO d VALUES ('a')",
    ] {
        assert!(run(&mut session, sql).is_ok(), "{sql}");
    }
    for (sql, expected) in [
        ("INSERT INTO c VALUES ('b')", Err(1452)),
        ("INSERT INTO c VALUES ('b ')", Err(1452)),
        ("UPDATE p SET k = 'a '", Err(1451)),
        ("DELETE FROM p WHERE k = 'a'", Err(1451)),
        ("UPDATE p SET k = ' a' WHERE k = 'a'", Ok(vec![])),
        ("UPDATE padded SET k = 'x '", Ok(vec![])),
    ] {
        let expected: Result<Vec<String>, u16> = expected;
        assert_eq!(run(&mut session, sql), expected, "{sql}");
    }
    for (children, left) in [("SELECT k FROM c", " a"), ("SELECT k FROM d", "x")] {
        assert_eq!(run(&mut session, children).unwrap(), [left]);
    }
}

#[test]
fn no_child_is_left_alone() {
    let mut session = new_session();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE p (id INT PRIMARY KEY, s VARCHAR(10) CHARACTER SET latin1 NOT NULL, UNIQUE (s))",
        "CREATE TABLE c (id INT PRIMARY KEY, s VARCHAR(10) CHARACTER SET latin1, \
         FOREIGN KEY (s) REFERENCES p (s) ON UPDATE CASCADE ON DELETE CASCADE)",
        "SET foreign_key_checks = 0",
        "ALTER TABLE p CONVERT TO CHARACTER SET utf8mb4",
        "SET foreign_key_checks = 1",
        "INSERT INTO p VALUES (1, 'ß'), (2, 'o'), (3, 'long')",
        "INSERT INTO c VALUES (1, 'long'), (2, 'LONG'), (3, 'ß')",
    ] {
        assert!(run(&mut session, sql).is_ok(), "{sql}");
    }
    for (sql, expected) in [
        // These are the parent's texts by its own collation only.
        ("INSERT INTO c VALUES (4, 'ss')", Err(1452)),
        ("INSERT INTO c VALUES (5, 'ö')", Err(1452)),
        ("UPDATE p SET s = 'ж' WHERE id = 3", Err(1451)),
        ("UPDATE p SET s = 'Länge' WHERE id = 3", Ok(vec![])),
        ("DELETE FROM p WHERE id = 1", Ok(vec![])),
    ] {
        let expected: Result<Vec<String>, u16> = expected;
        assert_eq!(run(&mut session, sql), expected, "{sql}");
    }
    let left = run(&mut session, "SELECT s FROM c ORDER BY id");
    assert_eq!(left.unwrap(), ["Länge", "Länge"]);
}
