//! What a column of texts keeps of an expression is what a client sees of it: however the row is
//! written, whether its literals are lifted out of the text or not. Every function and operator of
//! `differ/calls.txt` is tried with literals of every kind.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session, text};
use std::{fmt::Write, io, path::Path};

/// What stands for X and Y in the calls.
const OPERANDS: [&str; 14] = [
    "5",
    "-3",
    "18446744073709551615",
    "1.50",
    "-0.125",
    "1.5e0",
    "'12'",
    "'abc'",
    "'2020-01-02 10:11:12.5'",
    "DATE'2020-01-02'",
    "TIME'10:11:12.25'",
    "TIMESTAMP'2020-01-02 10:11:12.125'",
    "NULL",
    "0x41",
];

/// Of the first, the statement before is another one. MySQL, too, keeps six digits of the second
/// and all of the next three. The year 0 is 0000 in columns only.
const EXCEPTIONS: [&str; 6] = [
    "ROW_COUNT()",
    "UNIX_TIMESTAMP(X)",
    "PI()",
    "PI() + X",
    "CAST(X AS FLOAT)",
    "CAST(X AS YEAR)",
];

/// The first value of a result, as a client sees it.
#[derive(Default)]
struct First {
    decimals: u8,
    value: Option<Vec<u8>>,
}

impl Output for First {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.decimals = columns.first().map_or(0, |column| column.decimals);
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let mut bytes = Vec::new();
        match row.first() {
            Some(Value::Null) | None => bytes.extend(b"NULL"),
            Some(value) => text::put(value, self.decimals, &mut bytes),
        }
        self.value = Some(bytes);
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

/// What a query answers, or the number of its error.
fn ask(session: &mut Session, sql: &str) -> String {
    let mut first = First::default();
    match session.query(sql.as_bytes(), false, &mut first) {
        Ok(()) => String::from_utf8_lossy(&first.value.unwrap_or_default()).into_owned(),
        Err(error) => format!("error {}", error.code),
    }
}

/// The calls of operators and functions; aggregates need rows.
fn calls() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../differ/calls.txt");
    let listed = std::fs::read_to_string(path).expect("the list of calls");
    let mut section = "";
    let mut calls = Vec::new();
    for line in listed.lines() {
        if line.starts_with('[') {
            section = line;
        } else if let Some((_, asked)) = line.split_once(": ")
            && !line.starts_with('#')
            && !asked.starts_with("- ")
            && section != "[aggregates]"
        {
            calls.extend(asked.split(" ;; ").map(String::from));
        }
    }
    calls
}

/// A call with operands in the places of X and Y.
fn put(call: &str, x: &str, y: &str) -> String {
    let mut result = String::new();
    let mut quoted = false;
    let mut before = ' ';
    let mut rest = call.chars().peekable();
    while let Some(c) = rest.next() {
        quoted ^= c == '\'';
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let alone = !quoted && !is_word(before) && !rest.peek().is_some_and(|&c| is_word(c));
        match c {
            'X' if alone => result += x,
            'Y' if alone => result += y,
            c => result.push(c),
        }
        before = c;
    }
    result
}

fn expressions() -> Vec<String> {
    let mut all = Vec::new();
    for call in calls() {
        if EXCEPTIONS.contains(&&*call) {
            continue;
        }
        let (has_x, has_y) = (put(&call, "", "Y") != call, put(&call, "X", "") != call);
        let some = |wanted: bool| {
            if wanted {
                &OPERANDS[..]
            } else {
                &OPERANDS[..1]
            }
        };
        for (i, x) in some(has_x).iter().enumerate() {
            // Not all pairs: each operand beside three others.
            for y in some(has_y).iter().cycle().skip(i).step_by(5).take(3) {
                all.push(put(&call, x, y));
                if !has_y {
                    break;
                }
            }
        }
    }
    all
}

#[test]
fn what_is_stored_is_what_is_shown() {
    let options = EngineOptions::default();
    let env = Disk::new(1).env();
    let engine = Engine::open(&env, Path::new("/stored"), options, &mut |_| {});
    let mut session = Session::alone(engine.expect("a new engine")).expect("a session");
    for sql in [
        "CREATE DATABASE kept",
        "USE kept",
        "CREATE TABLE w (id INT PRIMARY KEY, v BLOB)",
        "SET sql_mode = '', timestamp = 1700000000.654321, autocommit = 0",
    ] {
        assert_eq!(ask(&mut session, sql), "", "{sql}");
    }
    let mut wrong = String::new();
    let expressions = expressions();
    assert!(expressions.len() > 2_000, "{} calls", expressions.len());
    for expression in &expressions {
        let shown = ask(&mut session, &format!("SELECT {expression}"));
        if shown.starts_with("error") {
            continue;
        }
        for query in [
            format!("SELECT CAST({expression} AS CHAR)"),
            format!("SELECT x FROM (SELECT {expression} AS x UNION ALL SELECT '') q LIMIT 1"),
        ] {
            let cast = ask(&mut session, &query);
            // Bytes that are no text are NULL as CHAR, and small numbers have an exponent.
            let same =
                !shown.contains(char::REPLACEMENT_CHARACTER) && !shown.starts_with("0.0000000");
            if same && cast != shown {
                let _ = writeln!(wrong, "{query}\n    shown {shown}, so {cast}");
            }
        }
        for (write, before) in [
            (format!("INSERT INTO w VALUES (1, {expression})"), ""),
            (format!("INSERT INTO w SELECT 1, {expression}"), ""),
            (
                format!("UPDATE w SET v = {expression} WHERE id = 1"),
                "INSERT INTO w VALUES (1, '-')",
            ),
            (
                format!("INSERT INTO w VALUES (1, '') ON DUPLICATE KEY UPDATE v = {expression}"),
                "INSERT INTO w VALUES (1, '-')",
            ),
        ] {
            ask(&mut session, "DELETE FROM w");
            if !before.is_empty() {
                ask(&mut session, before);
            }
            let written = ask(&mut session, &write);
            let stored = ask(&mut session, "SELECT v FROM w");
            if !written.is_empty() || stored != shown {
                let _ = writeln!(
                    wrong,
                    "{write}\n    shown {shown}, stored {stored} {written}"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
