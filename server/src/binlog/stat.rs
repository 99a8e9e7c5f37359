//! `cohort log stat`: what the log consists of.

use super::{
    select::{Which, table_name},
    show::write_all,
};
use crate::backup::moment;
use cohort_engine::log::{Groups, LoggedPart, Membership};
use std::{collections::BTreeMap, path::PathBuf};

#[derive(Default)]
struct OfTable {
    transactions: u64,
    rows: [u64; 3],
    bytes: u64,
}

#[derive(Default)]
struct Totals {
    transactions: u64,
    bytes: u64,
    largest: (usize, String),
    statements: u64,
    unread: BTreeMap<String, u64>,
    first: Option<u64>,
    last: u64,
}

/// Prints the counts.
pub fn run(files: &[PathBuf], which: &Which) -> Result<(), String> {
    let mut totals = Totals::default();
    let mut groups = Groups::default();
    let mut tables: BTreeMap<String, OfTable> = BTreeMap::new();
    which.each(files, &mut |transaction, parts| {
        totals.transactions += 1;
        totals.bytes += transaction.length() as u64;
        if transaction.length() > totals.largest.0 {
            let name = transaction.gtid.clone().unwrap_or_default();
            totals.largest = (transaction.length(), name);
        }
        totals.first.get_or_insert(transaction.committed_micros);
        totals.last = transaction.committed_micros;
        groups.member(Membership::Clock {
            last_committed: transaction.last_committed,
            sequence_number: transaction.sequence_number,
        });
        let mut seen = Vec::new();
        for part in parts {
            match part {
                LoggedPart::Statement(..) => totals.statements += 1,
                LoggedPart::Prepared(_) => {}
                LoggedPart::Unread(what) => *totals.unread.entry(what.clone()).or_default() += 1,
                LoggedPart::Rows(rows) if which.is_of_table(rows) => {
                    let name = table_name(&rows.table);
                    let table = tables.entry(name.clone()).or_default();
                    if !seen.contains(&name) {
                        table.transactions += 1;
                        seen.push(name);
                    }
                    table.bytes += rows.length() as u64;
                    for row in rows.rows() {
                        if which.wants_row(rows, &row?) {
                            table.rows[rows.kind as usize] += 1;
                        }
                    }
                }
                LoggedPart::Rows(_) => {}
            }
        }
        Ok(())
    })?;
    groups.end();
    write_all(&mut std::io::stdout(), &text(&totals, &groups, &tables))
}

fn text(totals: &Totals, groups: &Groups, tables: &BTreeMap<String, OfTable>) -> String {
    let average = totals.bytes / totals.transactions.max(1);
    let mut text = format!(
        "transactions  {}, of {average} bytes on average; statements {}\n",
        totals.transactions, totals.statements
    );
    if let Some(first) = totals.first {
        let (first, last) = (moment::text(first), moment::text(totals.last));
        text.push_str(&format!("committed     {first} to {last}\n"));
        let (bytes, gtid) = &totals.largest;
        text.push_str(&format!("largest       {bytes} bytes: {gtid}\n"));
    }
    let members = totals.transactions as f64 / groups.count.max(1) as f64;
    text.push_str(&format!(
        "groups        {}, of {members:.1} transactions on average, {} at most\n",
        groups.count, groups.largest
    ));
    for (power, count) in &groups.sizes {
        let (low, high) = (1_u64 << power, (2_u64 << power) - 1);
        text.push_str(&format!("  {low:>6} to {high:<6} {count:>10}\n"));
    }
    let header = ["transactions", "inserted", "updated", "deleted", "bytes"];
    let header = header.map(|word| format!("{word:>12}")).concat();
    let width = tables.keys().map(String::len).max().unwrap_or(0).max(5);
    text.push_str(&format!("{:width$}  {header}\n", "table"));
    for (name, table) in tables {
        let [inserted, updated, deleted] = table.rows;
        let counts = [table.transactions, inserted, updated, deleted, table.bytes];
        let counts = counts.map(|count| format!("{count:>12}")).concat();
        text.push_str(&format!("{name:width$}  {counts}\n"));
    }
    for (what, count) in &totals.unread {
        text.push_str(&format!("not read: {what} ({count} times)\n"));
    }
    text
}
