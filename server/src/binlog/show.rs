//! `cohort log show` and `grep`: a list of transactions.

use super::{
    literal::literal,
    select::{Which, table_name},
};
use crate::backup::moment;
use cohort_engine::{
    log::{LoggedPart, LoggedRows, LoggedTransaction, RowsKind},
    types::Value,
};
use std::{
    collections::BTreeMap,
    io::{self, BufWriter, Write},
    path::PathBuf,
};

/// Prints the transactions; with each row if `rows`.
pub fn run(files: &[PathBuf], which: &Which, rows: bool) -> Result<(), String> {
    let mut out = BufWriter::new(io::stdout().lock());
    which.each(files, &mut |transaction, parts| {
        let lines = lines(transaction, parts, which, rows)?;
        write_all(&mut out, &lines)
    })?;
    write_all(&mut out, "").and_then(|()| out.flush().map_err(|error| error.to_string()))
}

/// Writes; a reader that has seen enough ends the program without a word.
pub fn write_all(out: &mut dyn Write, text: &str) -> Result<(), String> {
    match out.write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        written => written.map_err(|error| format!("standard output: {error}")),
    }
}

fn lines(
    transaction: &LoggedTransaction<'_>,
    parts: &[LoggedPart<'_>],
    which: &Which,
    rows: bool,
) -> Result<String, String> {
    let mut lines = format!(
        "{}  {}  {} bytes at {}  group {}-{}\n",
        moment::text(transaction.committed_micros),
        transaction.gtid.as_deref().unwrap_or("anonymous"),
        transaction.length(),
        transaction.position,
        transaction.last_committed,
        transaction.sequence_number,
    );
    let mut counts: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    let mut details = String::new();
    for part in parts {
        match part {
            LoggedPart::Statement(database, text) => {
                let text = String::from_utf8_lossy(text);
                let database = String::from_utf8_lossy(database);
                let place = match database.is_empty() {
                    true => String::new(),
                    false => format!("in {database}: "),
                };
                lines.push_str(&format!("    {place}{text}\n"));
            }
            LoggedPart::Prepared(xid) => lines.push_str(&format!("    XA PREPARE {xid}\n")),
            LoggedPart::Unread(what) => lines.push_str(&format!("    not read: {what}\n")),
            LoggedPart::Rows(changed) if which.is_of_table(changed) => {
                let count = counts.entry(table_name(&changed.table)).or_default();
                for row in changed.rows() {
                    let row = row?;
                    count[changed.kind as usize] += 1;
                    if rows && which.wants_row(changed, &row) {
                        details.push_str(&change(changed, &row));
                    }
                }
            }
            LoggedPart::Rows(_) => {}
        }
    }
    for (table, counts) in counts {
        let words = ["inserted", "updated", "deleted"];
        let told = counts.iter().zip(words).filter(|(count, _)| **count > 0);
        let told: Vec<String> = told
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        lines.push_str(&format!("    {table}: {}\n", told.join(", ")));
    }
    lines.push_str(&details);
    Ok(lines)
}

/// A row before and after.
fn change(
    changed: &LoggedRows<'_>,
    (before, after): &(Option<Vec<Value>>, Option<Vec<Value>>),
) -> String {
    let table = table_name(&changed.table);
    let show = |row: &Option<Vec<Value>>| {
        row.as_deref()
            .map_or_else(String::new, |row| values(changed, row))
    };
    match changed.kind {
        RowsKind::Write => format!("      + {table}  {}\n", show(after)),
        RowsKind::Delete => format!("      - {table}  {}\n", show(before)),
        RowsKind::Update => {
            format!(
                "      < {table}  {}\n      > {table}  {}\n",
                show(before),
                show(after)
            )
        }
    }
}

fn values(changed: &LoggedRows<'_>, row: &[Value]) -> String {
    let mapped = &changed.table;
    let columns = mapped.table.columns.iter().zip(row).enumerate();
    let texts = columns.map(|(place, (column, value))| {
        let as_bytes = mapped.unknown_texts.contains(&place);
        let value = literal(column, value, as_bytes).unwrap_or_else(|what| format!("({what})"));
        format!("{}={value}", column.name)
    });
    texts.collect::<Vec<_>>().join(" ")
}
