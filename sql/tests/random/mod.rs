//! What tests need that ask at random.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session, text};
use std::{io, path::Path};

/// A source of numbers that looks random, and is the same each time.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
    pub fn one_of(&mut self, texts: &[&str]) -> String {
        texts[self.below(texts.len())].to_owned()
    }
}

/// What a statement answers.
#[derive(Default)]
pub struct Rows {
    /// Each as text.
    pub rows: Vec<String>,
    /// Rows that were changed.
    pub affected: u64,
}

impl Output for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let mut line = Vec::new();
        for value in row {
            text::put(value, 0, &mut line);
            line.push(b'|');
        }
        self.rows.push(String::from_utf8_lossy(&line).into_owned());
        Ok(())
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        self.affected += done.affected_rows;
        Ok(())
    }
}

/// Runs a statement, which must do.
pub fn run(session: &mut Session, sql: &str) -> Rows {
    let mut rows = Rows::default();
    let done = session.query(sql.as_bytes(), false, &mut rows);
    done.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows
}

/// A session in a new database.
pub fn session() -> Session {
    let disk = Disk::new(1);
    let options = EngineOptions::default();
    let engine = Engine::open(&disk.env(), Path::new("/p"), options, &mut |_| {});
    let engine = engine.expect("a new data directory opens");
    let mut session = Session::alone(engine).unwrap();
    run(&mut session, "CREATE DATABASE d");
    run(&mut session, "USE d");
    run(&mut session, "SET sql_mode = ''");
    session
}
