//! All that is known of a transaction, for people.

use super::{items, list::table, list::transaction_rows, plain, text};
use crate::when;
use serde_json::{Map, Value};
use std::fmt::Write;

/// What a transaction looks like.
pub(super) fn show(answer: &Value) -> String {
    let mut out = String::new();
    let transaction = &answer["transaction"];
    let fields = transaction.as_object().into_iter().flat_map(Map::iter);
    for (name, value) in fields.filter(|(name, _)| *name != "steps") {
        let value = value.as_str().map_or_else(|| value.to_string(), plain);
        let _ = writeln!(out, "{name:<16} {value}");
    }
    let now = when::parse_time(text(answer, "time")).unwrap_or(0);
    let _ = writeln!(out);
    let summary = std::slice::from_ref(&answer["summary"]);
    out += &table(&transaction_rows(summary, now));
    let _ = writeln!(out, "\nBranches");
    let rows: Vec<_> = items(answer, "branches").iter().map(branch_row).collect();
    indent(&mut out, &table(&rows));
    let _ = writeln!(out, "\nTimeline");
    indent(&mut out, &table(&timeline(answer)));
    for untold in items(answer, "end_webhooks") {
        let (url, why) = (
            plain(text(untold, "url")),
            plain(text(untold, "last_error")),
        );
        let tries = untold["tries"].as_u64().unwrap_or(0);
        let next = match text(untold, "next_try") {
            "" => "given up".to_owned(),
            time => format!("next {time}"),
        };
        let _ = writeln!(
            out,
            "\nEnd not told yet: {url}, {tries} tries, {next}  {why}"
        );
    }
    let branches = items(answer, "branches").iter();
    for branch in branches.filter(|branch| !branch["payload"].is_null()) {
        let (id, op) = (text(branch, "branch_id"), text(branch, "op"));
        let _ = writeln!(out, "\n{} {}", plain(id), plain(op));
        for name in ["payload", "answer"] {
            let value = &branch[name];
            let value = value.as_str().map_or_else(|| value.to_string(), plain);
            if value != "null" {
                let _ = writeln!(out, "  {name:<8} {value}");
            }
        }
    }
    out
}

fn indent(out: &mut String, text: &str) {
    for line in text.lines() {
        let _ = writeln!(out, "  {line}");
    }
}

fn branch_row(branch: &Value) -> Vec<String> {
    let calls = match branch["attempts"].as_u64().unwrap_or(0) {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    let words = ["branch_id", "op", "status"].map(|name| plain(text(branch, name)));
    let ends = ["url", "last_error"].map(|name| plain(text(branch, name)));
    words.into_iter().chain([calls]).chain(ends).collect()
}

/// All that happened, in order: when, what, of which branch, what came of it, and why.
fn timeline(answer: &Value) -> Vec<Vec<String>> {
    let changes = items(answer, "changes").iter().map(change_row);
    let attempts = items(answer, "attempts").iter().map(attempt_row);
    let operations = items(answer, "operations").iter().map(operation_row);
    let mut rows: Vec<_> = changes.chain(attempts).chain(operations).collect();
    // Times have always as many digits; what was at the same time stays in this order.
    rows.sort_by(|a, b| a.first().cmp(&b.first()));
    rows
}

fn change_row(change: &Value) -> Vec<String> {
    let (from, to) = (text(change, "from"), text(change, "to"));
    let became = match from {
        "" => format!("known as {to}"),
        from if from == to => to.to_owned(),
        from => format!("{from} -> {to}"),
    };
    let by = format!("by {}", text(change, "cause"));
    [
        text(change, "time"),
        &became,
        "",
        &by,
        "",
        text(change, "reason"),
    ]
    .map(plain)
    .into()
}

fn attempt_row(attempt: &Value) -> Vec<String> {
    let milliseconds = attempt["duration_us"].as_f64().unwrap_or(0.0) / 1000.0;
    let word = |name| text(attempt, name);
    let took = format!("{milliseconds:.1} ms");
    let call = format!("call {}", word("op"));
    [
        word("time"),
        &call,
        word("branch_id"),
        word("result"),
        &took,
        word("error"),
    ]
    .map(plain)
    .into()
}

fn operation_row(operation: &Value) -> Vec<String> {
    let word = |name| text(operation, name);
    let what = format!("{} {}", word("operation"), word("op"));
    let became = match (word("from"), word("to")) {
        (from, to) if from == to => String::new(),
        (from, to) => format!("{from} -> {to}"),
    };
    let by = format!("by {}", word("operator"));
    [
        word("time"),
        what.trim(),
        word("branch_id"),
        &by,
        &became,
        word("reason"),
    ]
    .map(plain)
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_timeline_is_in_order_and_harmless() {
        let at = |second: u64| format!("2026-01-01T00:00:{second:02}.000000Z");
        let answer = json!({
            "time": at(5),
            "transaction": { "gid": "g", "status": "submitted", "steps": [] },
            "summary": { "gid": "g", "trans_type": "saga", "status": "submitted",
                "create_time": at(0), "waits_for": [{ "branch_id": "01", "op": "action",
                "host": "h", "attempts": 2, "last_error": "boom", "next_call": at(9) }] },
            "branches": [{ "branch_id": "01", "op": "action", "status": "prepared", "url": "u",
                "attempts": 2, "payload": "{\"n\":1}", "last_error": "boom" }],
            "changes": [
                { "time": at(0), "cause": "prepare", "from": null, "to": "prepared", "reason": "" },
                { "time": at(1), "cause": "submit", "from": "prepared", "to": "submitted" },
                { "time": at(4), "cause": "dead letter", "from": "submitted", "to": "submitted",
                  "reason": "boom" },
            ],
            "attempts": [
                { "time": at(1), "op": "action", "branch_id": "01",
                  "duration_us": 1500, "result": "error", "error": "\u{1b}[2Jboom\n" },
                { "time": at(3), "op": "action", "branch_id": "01",
                  "duration_us": 250, "result": "error", "error": "boom" },
            ],
            "operations": [
                { "time": at(2), "operation": "skip", "operator": "ann", "op": "action",
                  "branch_id": "01", "from": "submitted", "to": "submitted", "reason": "mended" },
            ],
        });
        let wanted = "\
gid              g
status           submitted

GID  TYPE  STATUS     AGE  WAITS FOR    CALLS  NEXT   LAST ERROR
g    saga  submitted  5s   01 action h  2      in 4s  boom

Branches
  01  action  prepared  2 calls  u  boom

Timeline
  2026-01-01T00:00:00.000000Z  known as prepared          by prepare
  2026-01-01T00:00:01.000000Z  prepared -> submitted      by submit
  2026-01-01T00:00:01.000000Z  call action            01  error           1.5 ms   [2Jboom
  2026-01-01T00:00:02.000000Z  skip action            01  by ann                  mended
  2026-01-01T00:00:03.000000Z  call action            01  error           0.2 ms  boom
  2026-01-01T00:00:04.000000Z  submitted                  by dead letter          boom

01 action
  payload  {\"n\":1}
";
        assert_eq!(show(&answer), wanted);
    }
}
