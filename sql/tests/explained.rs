//! EXPLAIN FORMAT=TREE and JSON, and EXPLAIN ANALYZE: what they say of the statements of
//! explained/steps.txt is in explained/steps.out; COHORT_BLESS=1 writes that anew. The rows that are
//! counted are those that are there; times are left out. Likewise explained/version1.txt has version 1 of
//! the form in JSON.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session, text};
use std::{fmt::Write, fs, io, path::Path};

/// Collects rows as text, and counts them.
#[derive(Default)]
struct Answer {
    text: String,
    rows: u64,
}

impl Output for Answer {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let mut line = Vec::new();
        for (at, value) in row.iter().enumerate() {
            if at > 0 {
                line.extend_from_slice(b" | ");
            }
            text::put(value, 2, &mut line);
        }
        self.text.push_str(&String::from_utf8_lossy(&line));
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.rows += 1;
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

/// Times are different each time.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let (before, behind) = match (
            line.split_once("actual time="),
            line.split_once("_row_ms\":"),
        ) {
            (Some((before, behind)), _) => (before, behind.split_once(' ')),
            (None, Some((before, _))) => (before, None),
            (None, None) => (line, None),
        };
        out.push_str(before);
        if let Some((_, behind)) = behind {
            let _ = write!(out, "actual time=… {behind}");
        }
        out.push('\n');
    }
    out
}

fn new_session() -> Session {
    let engine = Engine::open(
        &Disk::new(1).env(),
        Path::new("/explained"),
        EngineOptions::default(),
        &mut |_| {},
    )
    .expect("a new data directory opens");
    Session::alone(engine).expect("a new data directory takes its first user")
}

#[test]
fn steps_and_their_figures() {
    says_what_it_said("steps");
}

#[test]
fn blocks_of_version_1() {
    says_what_it_said("version1");
}

#[test]
fn what_histograms_tell() {
    says_what_it_said("histogram");
}

/// Compares what is said of a script's statements with what was said before.
fn says_what_it_said(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explained");
    let script = fs::read_to_string(folder.join(format!("{name}.txt"))).expect("the script");
    let mut session = new_session();
    let mut got = String::new();
    for sql in ["CREATE DATABASE test", "USE test"]
        .into_iter()
        .chain(script.lines())
    {
        let mut answer = Answer::default();
        let _ = writeln!(got, "> {sql}");
        match session.query(sql.as_bytes(), false, &mut answer) {
            Ok(_) => got.push_str(&without_times(&answer.text)),
            Err(error) => {
                let _ = writeln!(got, "ERROR {}: {}", error.code, error.message);
            }
        }
    }
    let kept = folder.join(format!("{name}.out"));
    if std::env::var_os("COHORT_BLESS").is_some() {
        fs::write(&kept, &got).expect("the folder can be written");
    }
    let wanted = fs::read_to_string(&kept).expect("what it said before");
    let lines = wanted.lines().zip(got.lines());
    let differing = lines.enumerate().find(|(_, (wanted, got))| wanted != got);
    assert_eq!(differing, None, "COHORT_BLESS=1 keeps what it says now");
    assert_eq!(wanted.len(), got.len());
}

/// The rows of a statement in the first line that says some.
fn rows_told(text: &str) -> Option<u64> {
    let line = text.lines().next()?;
    let (_, behind) = line.split_once("actual time=")?;
    let (_, rows) = behind.split_once("rows=")?;
    rows.split(' ').next()?.parse().ok()
}

/// Every query of the golden scripts can be explained, in each form, with names for all its columns;
/// and EXPLAIN ANALYZE tells as many rows as it has.
#[test]
fn whatever_runs_can_be_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let scripts = fs::read_dir(folder).expect("the folder of scripts");
    let mut scripts: Vec<_> = scripts
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    scripts.retain(|path| path.extension().is_some_and(|e| e == "sql"));
    // After a transaction with a GTID of its own nothing runs, and nothing is explained.
    scripts.retain(|path| !path.to_string_lossy().contains("gtid"));
    scripts.sort();
    let (mut wrong, mut explained) = (String::new(), 0);
    for script in scripts {
        let mut session = new_session();
        let text = fs::read_to_string(&script).expect("a script");
        let statements = text.split(";\n").map(str::trim);
        for sql in ["CREATE DATABASE golden", "USE golden"]
            .into_iter()
            .chain(statements)
        {
            let begins = |word: &str| {
                sql.get(..word.len())
                    .is_some_and(|s| s.eq_ignore_ascii_case(word))
            };
            let is_query = ["SELECT", "WITH", "TABLE", "VALUES", "("]
                .into_iter()
                .any(begins);
            // What changes something, or is another thing each time.
            let upper = sql.to_uppercase();
            let odd = [
                "INTO",
                "UPDATE ",
                "DELETE ",
                ":=",
                "RAND",
                "LOCK",
                "SLEEP",
                "SQL_CALC",
                "FOUND_ROWS",
                "ROW_COUNT",
                "LAST_INSERT_ID",
                "_ID()",
                "PERFORMANCE_SCHEMA",
                "INFORMATION_SCHEMA",
                "SYS.",
            ];
            let mut counted = Answer::default();
            let ran = session.query(sql.as_bytes(), false, &mut counted).is_ok();
            if !is_query || !ran || odd.iter().any(|word| upper.contains(word)) {
                continue;
            }
            // The steps are the same in both forms that have them; now and then the other one.
            let ways = [("2", "ANALYZE"), ("1", "FORMAT=JSON"), ("2", "FORMAT=JSON")];
            let several = 2 + usize::from(explained % 10 == 0);
            for (version, clauses) in ways.into_iter().take(several) {
                let set = format!("SET explain_json_format_version = {version}");
                let set = session.query(set.as_bytes(), false, &mut Answer::default());
                set.expect("there are two versions");
                let mut answer = Answer::default();
                let asked = format!("EXPLAIN {clauses} {sql}");
                let said = session.query(asked.as_bytes(), false, &mut answer);
                let fault = match said {
                    Err(error) => Some(error.message),
                    Ok(_) if answer.text.contains("`column ") => Some(answer.text.clone()),
                    Ok(_)
                        if clauses == "ANALYZE"
                            && rows_told(&answer.text) != Some(counted.rows) =>
                    {
                        Some(format!("{} rows and\n{}", counted.rows, answer.text))
                    }
                    Ok(_) => None,
                };
                explained += 1;
                if let Some(fault) = fault {
                    let _ = writeln!(wrong, "{version}: {asked}\n{fault}\n");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(explained > 1000, "only {explained} were explained");
}
