//! Golden scripts: every statement of golden/*.sql is run in a session on a new data directory
//! and compared with what MySQL answered (golden/*.out, made by golden/generate.py).
//!
//! `GOLDEN=name` runs one script. A difference shows the statement, what MySQL said and what
//! Cohort said.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::{ColumnType, Value},
};
use cohort_sql::{
    ColumnMeta, Done, Output, Session,
    text::{self, TextForm},
};
use std::{fmt::Write, fs, io, path::Path};

/// Collects results in the form of the .out files.
#[derive(Default)]
struct Collected {
    text: String,
    /// Of each column how its values are shown, and whether they are bytes.
    shown: Vec<(TextForm, bool)>,
    is_result_set: bool,
    warnings: u16,
}

fn show(value: &Value, form: TextForm, is_bytes: bool) -> String {
    if value.is_null() {
        return "NULL".into();
    }
    let mut bytes = Vec::new();
    text::put(value, form, &mut bytes);
    if is_bytes && bytes.iter().any(|byte| *byte < 0x20) {
        return in_hex(&bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => text
            .replace('\\', "\\\\")
            .replace('\t', "\\t")
            .replace('\n', "\\n")
            .replace('\0', "\\0"),
        Err(error) => in_hex(error.as_bytes()),
    }
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".into(), |mut out, byte| {
        let _ = write!(out, "{byte:02X}");
        out
    })
}

/// Whether the script of the answers shows odd bytes of a column in hexadecimal.
fn is_bytes(column: &ColumnMeta) -> bool {
    let is_bit = |ty| matches!(ty, ColumnType::Bit(_));
    let bytes = |ty: ColumnType| ty.is_string() && column.collation.is_binary();
    column.ty.is_some_and(|ty| is_bit(ty) || bytes(ty))
}

impl Output for Collected {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        self.text += &names.join("\t");
        self.text.push('\n');
        let shown = columns.iter().map(|c| (TextForm::of(c), is_bytes(c)));
        self.shown = shown.collect();
        self.is_result_set = true;
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let values: Vec<String> = row
            .iter()
            .zip(&self.shown)
            .map(|(value, (form, is_bytes))| show(value, *form, *is_bytes))
            .collect();
        self.text += &values.join("\t");
        self.text.push('\n');
        Ok(())
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        self.warnings = done.warnings;
        if !self.is_result_set {
            let _ = write!(
                self.text,
                "ok affected={} id={}",
                done.affected_rows, done.last_insert_id
            );
            if !done.info.is_empty() {
                let _ = write!(self.text, " {}", done.info);
            }
            self.text.push('\n');
        }
        Ok(())
    }
}

fn run(session: &mut Session, sql: &str) -> String {
    let mut out = Collected::default();
    let result = session.query(sql.as_bytes(), false, &mut out);
    if let Err(error) = result {
        return format!("ERROR {}: {}\n", error.code, error.message);
    }
    // The reply to SHOW WARNINGS says that it has none of its own.
    let told = out.warnings > 0;
    for condition in session.state().warnings.list().iter().filter(|_| told) {
        let _ = writeln!(
            out.text,
            "{} {}: {}",
            condition.level.name(),
            condition.error.code,
            condition.error.message
        );
    }
    out.text
}

/// The statements of an .out file with their results.
fn expected(path: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(path).expect("an .out file for every script");
    let mut cases: Vec<(String, String)> = Vec::new();
    let mut in_statement = false;
    for line in text.lines().skip(1) {
        if let Some(sql) = line.strip_prefix("> ") {
            match cases.last_mut() {
                Some((statement, _)) if in_statement => {
                    statement.push('\n');
                    statement.push_str(sql);
                }
                _ => cases.push((sql.into(), String::new())),
            }
            in_statement = true;
        } else if let Some((_, result)) = cases.last_mut() {
            in_statement = false;
            result.push_str(line);
            result.push('\n');
        }
    }
    cases
}

/// The statements of a script, as `generate.py` reads them.
fn statements(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("a .sql file for every .out");
    let mut statements = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        if lines.is_empty() && (line.trim().is_empty() || line.starts_with("--")) {
            continue;
        }
        lines.push(line);
        if line.ends_with(';') {
            let statement = lines.join("\n");
            let statement = statement.strip_suffix(';').unwrap_or(&statement);
            statements.push(statement.to_owned());
            lines.clear();
        }
    }
    statements
}

fn new_session() -> Session {
    let engine = Engine::open(
        &Disk::new(1).env(),
        Path::new("/golden"),
        EngineOptions::default(),
        &mut |_| {},
    )
    .expect("a new data directory opens");
    Session::alone(engine).expect("a new data directory takes its first user")
}

/// The script that sets itself how much memory there is.
const LIMITED: &str = "spill";

/// Runs the scripts, and tells each statement whose answer is not as MySQL's. `compared`: what of an answer
/// counts.
fn differences(memory: Option<usize>, compared: impl Fn(&str) -> String) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let only = std::env::var("GOLDEN").ok();
    let mut scripts: Vec<_> = fs::read_dir(folder)
        .expect("the folder of scripts")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "out"))
        .collect();
    scripts.sort();
    let (mut differences, mut count) = (String::new(), 0);
    for script in scripts {
        let name = script.file_stem().unwrap_or_default().to_string_lossy();
        if only.as_ref().is_some_and(|only| *only != *name) {
            continue;
        }
        let mut session = new_session();
        if let Some(bytes) = memory {
            session.limit_memory(bytes);
        }
        for sql in ["CREATE DATABASE golden", "USE golden"] {
            let result = run(&mut session, sql);
            assert!(result.starts_with("ok"), "{sql}: {result}");
        }
        if memory.is_some() && name == LIMITED {
            continue;
        }
        let cases = expected(&script);
        let asked: Vec<String> = cases.iter().map(|(sql, _)| sql.clone()).collect();
        assert_eq!(
            statements(&script.with_extension("sql")),
            asked,
            "{name}.out is not what {name}.sql asks: run generate.py"
        );
        for (sql, wanted) in cases {
            let got = run(&mut session, &sql);
            count += 1;
            if compared(&got) != compared(&wanted) {
                let _ = write!(
                    differences,
                    "{name}: {sql}\n--- MySQL\n{wanted}--- Cohort\n{got}\n"
                );
            }
        }
    }
    assert!(count > 0, "no script was run");
    differences
}

#[test]
fn scripts_answer_as_mysql_does() {
    let differences = differences(None, str::to_owned);
    assert!(differences.is_empty(), "\n{differences}");
}

/// Hardly anything is kept in memory: most of what is sorted, grouped, hashed or computed goes to files.
#[test]
fn scripts_answer_alike_with_little_memory() {
    const BYTES: usize = 1000;
    if std::env::var("GOLDEN").is_ok_and(|only| only == LIMITED) {
        return;
    }
    // The order of rows counts where the statement says so; that is seen with memory.
    let sorted = |answer: &str| {
        let mut lines: Vec<&str> = answer.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    let differences = differences(Some(BYTES), sorted);
    assert!(differences.is_empty(), "\n{differences}");
}
