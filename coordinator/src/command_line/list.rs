//! Lists of transactions, and of groups, for people.

use super::{grouped, items, plain, text};
use crate::{model::Micros, when};
use serde_json::Value;
use std::fmt::Write;

/// What a list or groups of transactions look like.
pub(super) fn list(answer: &Value) -> String {
    let now = when::parse_time(text(answer, "time")).unwrap_or(0);
    let (rows, shown) = match answer["groups"].as_array() {
        Some(groups) => (group_rows(groups, now), None),
        None => {
            let transactions = items(answer, "transactions");
            (
                transaction_rows(transactions, now),
                Some(transactions.len() as u64),
            )
        }
    };
    let mut out = table(&rows);
    let found = answer["found"].as_u64().unwrap_or(0);
    let more = if answer["has_more"] == true {
        "more than "
    } else {
        ""
    };
    let _ = match shown {
        None if more.is_empty() => Ok(()),
        None => writeln!(
            out,
            "only the first {} were looked at; there are more",
            grouped(found)
        ),
        Some(shown) if shown < found || !more.is_empty() => {
            writeln!(out, "{} of {more}{} shown", grouped(shown), grouped(found))
        }
        Some(_) => Ok(()),
    };
    out
}

pub(super) type Row = Vec<String>;

fn headline(words: &[&str]) -> Row {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub(super) fn transaction_rows(transactions: &[Value], now: Micros) -> Vec<Row> {
    let mut rows = vec![headline(&[
        "GID",
        "TYPE",
        "STATUS",
        "AGE",
        "WAITS FOR",
        "CALLS",
        "NEXT",
        "LAST ERROR",
    ])];
    for transaction in transactions {
        let awaited = items(transaction, "waits_for");
        let first = awaited.first().unwrap_or(&Value::Null);
        let others = match awaited.len() {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let waits_for = ["branch_id", "op", "host"].map(|name| text(first, name));
        let next = match (text(first, "next_call"), text(transaction, "waits_until")) {
            ("", "") => String::new(),
            ("", time) | (time, _) => from_now(time, now),
        };
        rows.push(vec![
            plain(text(transaction, "gid")),
            text(transaction, "trans_type").to_owned(),
            status(transaction),
            ago(text(transaction, "create_time"), now),
            plain(waits_for.join(" ").trim()) + &others,
            first["attempts"].as_u64().map_or(String::new(), grouped),
            next,
            brief(text(first, "last_error")),
        ]);
    }
    rows
}

fn group_rows(groups: &[Value], now: Micros) -> Vec<Row> {
    let mut rows = vec![headline(&[
        "COUNT",
        "DEAD",
        "OLDEST",
        "GROUP",
        "OLDEST GID",
        "LAST ERROR",
    ])];
    for group in groups {
        let number = |name: &str| grouped(group[name].as_u64().unwrap_or(0));
        let name = match text(group, "group") {
            "" => "(nothing)".to_owned(),
            name => brief(name),
        };
        rows.push(vec![
            number("count"),
            number("dead"),
            ago(text(group, "oldest_time"), now),
            name,
            plain(text(group, "oldest_gid")),
            brief(text(group, "last_error")),
        ]);
    }
    rows
}

fn status(transaction: &Value) -> String {
    let mut status = text(transaction, "status").to_owned();
    for (name, word) in [("dead_time", ", dead"), ("pause_time", ", paused")] {
        if !text(transaction, name).is_empty() {
            status += word;
        }
    }
    status
}

fn ago(time: &str, now: Micros) -> String {
    when::parse_time(time).map_or(String::new(), |at| when::age(now.saturating_sub(at)))
}

fn from_now(time: &str, now: Micros) -> String {
    match when::parse_time(time) {
        Some(at) if at > now => format!("in {}", when::age(at - now)),
        Some(_) => "now".to_owned(),
        None => String::new(),
    }
}

/// As much of a text as fits into a line.
fn brief(text: &str) -> String {
    const CHARACTERS_MAX: usize = 100;
    let text = plain(text);
    match text.chars().nth(CHARACTERS_MAX) {
        None => text,
        Some(_) => text.chars().take(CHARACTERS_MAX).chain(['…']).collect(),
    }
}

/// Columns as wide as what is in them.
pub(super) fn table(rows: &[Row]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(row.len(), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_says_what_is_waited_for_and_what_is_not_shown() {
        let answer = json!({
            "time": "2026-01-01T02:00:00.000000Z", "found": 12_345, "has_more": false,
            "transactions": [
                { "gid": "g\u{1b}1", "trans_type": "saga", "status": "submitted",
                  "create_time": "2026-01-01T00:00:00.000000Z", "dead_time": "x",
                  "waits_for": [
                    { "branch_id": "02", "op": "action", "host": "bank:80", "attempts": 1_700,
                      "last_error": "status 500: away\n", "next_call": null },
                    { "branch_id": "03", "op": "action", "host": "shop:80" } ] },
                { "gid": "g2", "trans_type": "tcc", "status": "prepared",
                  "create_time": "2026-01-01T01:59:18.500000Z",
                  "waits_until": "2026-01-01T02:00:10.000000Z" },
            ],
        });
        let wanted = "\
GID  TYPE  STATUS           AGE  WAITS FOR                     CALLS  NEXT    LAST ERROR
g 1  saga  submitted, dead  2h   02 action bank:80 and 1 more  1,700          status 500: away
g2   tcc   prepared         41s                                       in 10s
2 of 12,345 shown
";
        assert_eq!(list(&answer), wanted);
    }

    #[test]
    fn groups_say_who_is_down_and_whether_all_were_looked_at() {
        let answer = json!({
            "time": "2026-01-01T02:00:00.000000Z", "found": 100_000, "has_more": true,
            "groups": [
                { "group": "bank:80", "count": 99_000, "dead": 3, "oldest_gid": "g",
                  "oldest_time": "2026-01-01T01:59:00.000000Z", "last_error": "away" },
                { "group": "", "count": 1_000, "dead": 0, "oldest_gid": "h",
                  "oldest_time": "2026-01-01T01:59:59.000000Z", "last_error": "" },
            ],
        });
        let wanted = "\
COUNT   DEAD  OLDEST  GROUP      OLDEST GID  LAST ERROR
99,000  3     1m      bank:80    g           away
1,000   0     1s      (nothing)  h
only the first 100,000 were looked at; there are more
";
        assert_eq!(list(&answer), wanted);
    }
}
