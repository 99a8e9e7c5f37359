//! sys.transaction_advice: what the adviser says after a script of several sessions.
//!
//! advice/transactions.txt is the script (`session: statement`), advice/transactions.out what it
//! answered; COHORT_BLESS=1 writes the latter anew.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Unattended},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, session::Identity, text};
use std::{collections::BTreeMap, fmt::Write, fs, io, path::Path, sync::Arc};

/// Collects rows as text.
#[derive(Default)]
struct Answer {
    rows: Vec<String>,
    decimals: Vec<u8>,
}

impl Output for Answer {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.decimals = columns.iter().map(|column| column.decimals).collect();
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let mut line = Vec::new();
        for (value, decimals) in row.iter().zip(&self.decimals) {
            if !line.is_empty() {
                line.extend_from_slice(b" | ");
            }
            text::put(value, *decimals, &mut line);
        }
        self.rows.push(String::from_utf8_lossy(&line).into_owned());
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

fn session(instance: &Arc<Instance>, id: u64, user: &str) -> Session {
    let who = Identity {
        user: user.into(),
        host: "localhost:4711".into(),
        account: Some(("root".into(), "localhost".into())),
    };
    let mut session = Session::new(Arc::clone(instance), id, who, Arc::new(Unattended), false);
    // The first session makes it.
    let _ = session.use_database("test");
    session
}

/// Plays a script; what it answered.
fn play(script: &str) -> String {
    let disk = Disk::new(1);
    let options = EngineOptions::default();
    let engine = Engine::open(&disk.env(), Path::new("/advice"), options, &mut |_| {}).unwrap();
    cohort_sql::users::make_first(&engine).unwrap();
    let instance = Instance::new(Arc::new(engine));
    let mut sessions = BTreeMap::new();
    let mut out = String::new();
    let lines = script.lines().filter(|line| !line.is_empty());
    for step in lines.filter(|line| !line.starts_with('#')) {
        let (name, sql) = step.split_once(": ").unwrap();
        let id = 1 + sessions.len() as u64;
        let new = || session(&instance, id, name);
        let session = sessions.entry(name.to_owned()).or_insert_with(new);
        let mut answer = Answer::default();
        writeln!(out, "> {step}").unwrap();
        if let Err(error) = session.query(sql.as_bytes(), false, &mut answer) {
            writeln!(out, "ERROR {}: {}", error.code, error.message).unwrap();
        }
        for row in answer.rows {
            writeln!(out, "{row}").unwrap();
        }
    }
    out
}

#[test]
fn advice_is_as_written() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/advice");
    let script = fs::read_to_string(directory.join("transactions.txt")).unwrap();
    let found = play(&script);
    let path = directory.join("transactions.out");
    if std::env::var_os("COHORT_BLESS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    assert_eq!(found, fs::read_to_string(&path).unwrap_or_default());
}
