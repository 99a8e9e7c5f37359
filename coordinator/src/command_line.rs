//! `cohort tx`: looks at global transactions, and changes them by hand, over HTTP.

use super::call::{Caller, Guard};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use std::fmt::Write;

const EXAMPLES: &str = "\
Examples:
  cohort tx list --unfinished
  cohort tx list --dead --trans-type saga
  cohort tx show 7mLqGKp2nUqT6xY3rVbHcd
  cohort tx retry 7mLqGKp2nUqT6xY3rVbHcd --why 'the bank is back'
  cohort tx retry --dead --trans-type saga --why 'the bank is back'
  cohort tx skip 7mLqGKp2nUqT6xY3rVbHcd 02 action --why 'paid by phone'
  cohort tx force 7mLqGKp2nUqT6xY3rVbHcd failed --why 'undone in the ledger'
  cohort tx compensate 7mLqGKp2nUqT6xY3rVbHcd --why 'the customer cancelled'";

/// What to do with global transactions, and where their coordinator is.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Tx {
    /// Where the coordinator is
    #[arg(
        long,
        global = true,
        default_value = "http://127.0.0.1:36789",
        env = "COHORT_TX_URL"
    )]
    url: String,
    /// The coordinator's bearer token
    #[arg(long, global = true, env = "COHORT_TX_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Who does it, for the record
    #[arg(long, global = true, env = "USER", default_value = "unknown")]
    operator: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// List transactions, the newest first.
    List(Which),
    /// Show a transaction: its branches, and what happened to it and when.
    Show {
        /// Its gid
        gid: String,
    },
    /// Call again now what waits to be called.
    Retry(Change),
    /// Let a branch count as done, without a call.
    Skip {
        /// The transaction's gid
        gid: String,
        /// The branch's id, such as 02
        branch_id: String,
        /// Its operation, such as action
        op: String,
        /// The reason, for the record
        #[arg(long, value_name = "REASON")]
        why: String,
    },
    /// Set another status: submitted, aborting, succeed or failed; nothing is undone.
    Force {
        /// The transaction's gid
        gid: String,
        /// The status
        to: String,
        /// The reason, for the record
        #[arg(long, value_name = "REASON")]
        why: String,
    },
    /// Undo transactions; sagas even after their end.
    Compensate(Change),
}

/// Which transactions.
#[derive(Args, Debug)]
struct Which {
    /// Only of this status
    #[arg(long)]
    status: Option<String>,
    /// Only of this kind: saga, tcc, xa, msg, workflow
    #[arg(long)]
    trans_type: Option<String>,
    /// Only those that have not ended
    #[arg(long)]
    unfinished: bool,
    /// Only dead letters
    #[arg(long)]
    dead: bool,
    /// Only those that were made known so many seconds ago or earlier
    #[arg(long, value_name = "SECONDS")]
    older_than: Option<u64>,
    /// So many at most
    #[arg(long, default_value_t = 100)]
    limit: u64,
}

#[derive(Args, Debug)]
struct Change {
    /// One transaction's gid; without it, a filter is needed
    gid: Option<String>,
    #[command(flatten)]
    which: Which,
    /// The reason, for the record
    #[arg(long, value_name = "REASON")]
    why: String,
}

impl Which {
    fn json(&self) -> Value {
        json!({
            "status": self.status,
            "trans_type": self.trans_type,
            "unfinished": self.unfinished,
            "dead": self.dead,
            "older_than": self.older_than,
            "limit": self.limit,
        })
    }
}

impl Change {
    fn json(&self) -> Value {
        let mut fields = self.which.json();
        fields["gid"] = json!(self.gid);
        fields["reason"] = json!(self.why);
        fields
    }
}

/// Does it and prints what came of it; an error is why not.
pub fn run(tx: &Tx) -> Result<(), String> {
    let (name, mut fields) = match &tx.command {
        Command::List(which) => ("list", which.json()),
        Command::Show { gid } => ("show", json!({ "gid": gid })),
        Command::Retry(change) => ("retry", change.json()),
        Command::Compensate(change) => ("compensate", change.json()),
        Command::Skip {
            gid,
            branch_id,
            op,
            why,
        } => (
            "skip",
            json!({ "gid": gid, "branch_id": branch_id, "op": op, "reason": why }),
        ),
        Command::Force { gid, to, why } => {
            ("force", json!({ "gid": gid, "to": to, "reason": why }))
        }
    };
    fields["operator"] = json!(tx.operator);
    let url = format!("{}/api/cohort/{name}", tx.url.trim_end_matches('/'));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let answer = runtime.block_on(async {
        let caller = Caller::new(Guard::parse("", true)?)?;
        caller.post(&url, tx.token.as_deref(), &fields).await
    })?;
    let told = match &tx.command {
        Command::List(_) => list(&answer),
        Command::Show { .. } => show(&answer),
        _ => changed(&answer),
    };
    print!("{told}");
    Ok(())
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("")
}

fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// Text from outside must not move the terminal's cursor.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn list(answer: &Value) -> String {
    let mut out = String::new();
    for transaction in items(answer, "transactions") {
        let dead = if text(transaction, "dead_time").is_empty() {
            ""
        } else {
            "  dead letter"
        };
        let _ = writeln!(
            out,
            "{:<24} {:<9} {:<10} {}{dead}",
            plain(text(transaction, "gid")),
            text(transaction, "trans_type"),
            text(transaction, "status"),
            text(transaction, "create_time"),
        );
    }
    out
}

fn changed(answer: &Value) -> String {
    let mut out = String::new();
    for gid in items(answer, "done") {
        let _ = writeln!(out, "done     {}", plain(gid.as_str().unwrap_or("")));
    }
    for refused in items(answer, "refused") {
        let (gid, why) = (text(refused, "gid"), text(refused, "why"));
        let _ = writeln!(out, "refused  {}  {}", plain(gid), plain(why));
    }
    out
}

fn show(answer: &Value) -> String {
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
        let changed = changed(&json!({ "done": ["a"], "refused": [{ "gid": "b", "why": "no" }] }));
        assert_eq!(changed, "done     a\nrefused  b  no\n");
    }
}
