//! All that is known of a transaction, for people.

use super::{items, plain, text};
use serde_json::{Map, Value};
use std::fmt::Write;

pub(super) fn show(answer: &Value) -> String {
    let mut out = String::new();
    let transaction = &answer["transaction"];
    let fields = transaction.as_object().into_iter().flat_map(Map::iter);
    for (name, value) in fields.filter(|(name, _)| *name != "steps") {
        let value = value.as_str().map_or_else(|| value.to_string(), plain);
        let _ = writeln!(out, "{name:<16} {value}");
    }
    let _ = writeln!(out, "\nBranches");
    for branch in items(answer, "branches") {
        let _ = writeln!(
            out,
            "  {:<6} {:<10} {:<9} {}",
            plain(text(branch, "branch_id")),
            plain(text(branch, "op")),
            text(branch, "status"),
            plain(text(branch, "url")),
        );
    }
    let _ = writeln!(out, "\nTimeline");
    for line in timeline(answer) {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// All that happened, in order.
fn timeline(answer: &Value) -> Vec<String> {
    let attempt = |attempt: &Value| {
        let milliseconds = attempt["duration_us"].as_f64().unwrap_or(0.0) / 1000.0;
        format!(
            "{}  {:<10} {:<6} {:<8} {milliseconds:>9.1} ms  {}",
            text(attempt, "time"),
            plain(text(attempt, "op")),
            plain(text(attempt, "branch_id")),
            text(attempt, "result"),
            plain(text(attempt, "error")),
        )
    };
    let operation = |operation: &Value| {
        let branch = format!("{} {}", text(operation, "branch_id"), text(operation, "op"));
        format!(
            "{}  {} {} by {}: {} -> {}: {}",
            text(operation, "time"),
            text(operation, "operation"),
            plain(branch.trim()),
            plain(text(operation, "operator")),
            text(operation, "from"),
            text(operation, "to"),
            plain(text(operation, "reason")),
        )
    };
    let attempts = items(answer, "attempts").iter().map(attempt);
    let mut lines: Vec<String> = attempts
        .chain(items(answer, "operations").iter().map(operation))
        .collect();
    // Each begins with its time, of always as many digits.
    lines.sort();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_timeline_is_in_order_and_harmless() {
        let answer = json!({
            "transaction": { "gid": "g", "status": "succeed", "steps": [] },
            "branches": [{ "branch_id": "01", "op": "action", "status": "succeed", "url": "u" }],
            "attempts": [
                { "time": "2026-01-01T00:00:01.000000Z", "op": "action", "branch_id": "01",
                  "duration_us": 1500, "result": "error", "error": "\u{1b}[2Jboom\n" },
                { "time": "2026-01-01T00:00:03.000000Z", "op": "action", "branch_id": "01",
                  "duration_us": 250, "result": "success", "error": "" },
            ],
            "operations": [
                { "time": "2026-01-01T00:00:02.000000Z", "operation": "retry", "operator": "ann",
                  "from": "submitted", "to": "submitted", "reason": "mended" },
            ],
        });
        let shown = show(&answer);
        let wanted = "\
gid              g
status           succeed

Branches
  01     action     succeed   u

Timeline
  2026-01-01T00:00:01.000000Z  action     01     error          1.5 ms   [2Jboom 
  2026-01-01T00:00:02.000000Z  retry  by ann: submitted -> submitted: mended
  2026-01-01T00:00:03.000000Z  action     01     success        0.2 ms  
";
        assert_eq!(shown, wanted);
    }
}
