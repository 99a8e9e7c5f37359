//! `cohort tx`: looks at global transactions, and changes them by hand, over HTTP.
//!
//! | file | what is inside |
//! |---|---|
//! | `link` | the way to the coordinator |
//! | `change` | changes, and that what was confirmed is what is changed |
//! | `list`, `show` | what is printed |

mod change;
mod link;
mod list;
mod show;

use clap::{Args, Subcommand};
use link::Link;
use serde_json::{Value, json};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cohort tx list --unfinished
  cohort tx list --group-by host
  cohort tx list --host bank:8080 --since 2h
  cohort tx list --dead --trans-type saga
  cohort tx show 7mLqGKp2nUqT6xY3rVbHcd
  cohort tx retry 7mLqGKp2nUqT6xY3rVbHcd --why 'the bank is back'
  cohort tx retry --dead --trans-type saga --dry-run
  cohort tx retry --dead --trans-type saga --why 'the bank is back'
  cohort tx skip 7mLqGKp2nUqT6xY3rVbHcd 02 action --why 'paid by phone'
  cohort tx force 7mLqGKp2nUqT6xY3rVbHcd failed --why 'undone in the ledger'
  cohort tx compensate 7mLqGKp2nUqT6xY3rVbHcd --why 'the customer cancelled'
  cohort tx pause --host bank:8080 --why 'the bank moves'
  cohort tx resume --paused --why 'the bank has moved'

A change of more than one transaction lists what it will change and asks; --yes answers.";

/// What to do with global transactions, and where their coordinator is.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Tx {
    /// Where the coordinator is
    #[arg(
        long,
        global = true,
        default_value = "http://127.0.0.1:36789",
        env = "COHORT_TX_URL",
        hide_env_values = true
    )]
    url: String,
    /// The coordinator's bearer token
    #[arg(long, global = true, env = "COHORT_TX_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Certificates of who may have signed the coordinator's, in PEM [default: whom the system
    /// trusts]
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        env = "COHORT_TX_CA",
        hide_env_values = true
    )]
    ca: Option<PathBuf>,
    /// Who does it, for the record
    #[arg(
        long,
        global = true,
        env = "USER",
        default_value = "unknown",
        hide_env_values = true
    )]
    operator: String,
    /// Print the coordinator's answer as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// List transactions, the newest first: what each waits for, and why that failed last.
    List {
        #[command(flatten)]
        which: Which,
        /// Count instead: by host, status, trans_type or error
        #[arg(long, value_name = "WHAT")]
        group_by: Option<String>,
    },
    /// Show a transaction: its branches, and what happened to it and when.
    Show {
        /// Its gid
        gid: String,
        /// Also what is sent to its branches, and what they answered
        #[arg(long)]
        payloads: bool,
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
        #[command(flatten)]
        how: How,
    },
    /// Set another status: submitted, aborting, succeed or failed; nothing is undone.
    Force {
        /// The transaction's gid
        gid: String,
        /// The status
        to: String,
        #[command(flatten)]
        how: How,
    },
    /// Undo transactions; sagas even after their end.
    Compensate(Change),
    /// Begin no call for transactions, and let no deadline come nearer, until they are resumed.
    Pause(Change),
    /// Let paused transactions go on.
    Resume(Change),
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
    /// Only those that are paused
    #[arg(long)]
    paused: bool,
    /// Only those that wait for this host, such as bank:8080
    #[arg(long)]
    host: Option<String>,
    /// Only those with this text in the URL of a branch
    #[arg(long, value_name = "TEXT")]
    url_part: Option<String>,
    /// Only those whose gid begins so
    #[arg(long)]
    prefix: Option<String>,
    /// Only those made known at this time or later: 2026-01-31T03:00:00Z, or an age such as 2h
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only those made known at this time or earlier
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only those that were made known so many seconds ago or earlier
    #[arg(long, value_name = "SECONDS")]
    older_than: Option<u64>,
    /// So many at most
    #[arg(long, default_value_t = 100)]
    limit: u64,
}

/// How something is changed.
#[derive(Args, Debug)]
struct How {
    /// The reason, for the record
    #[arg(long, value_name = "REASON", required_unless_present = "dry_run")]
    why: Option<String>,
    /// Only show what would be changed
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args, Debug)]
struct Change {
    /// One transaction's gid; without it, a filter is needed
    gid: Option<String>,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    how: How,
    /// Change all that is found without asking
    #[arg(long)]
    yes: bool,
}

impl Which {
    fn json(&self) -> Value {
        json!({
            "status": self.status,
            "trans_type": self.trans_type,
            "unfinished": self.unfinished,
            "dead": self.dead,
            "paused": self.paused,
            "host": self.host,
            "url": self.url_part,
            "prefix": self.prefix,
            "since": self.since,
            "until": self.until,
            "older_than": self.older_than,
            "limit": self.limit,
        })
    }
}

/// Does it and prints what came of it; an error is why not.
pub fn run(tx: &Tx) -> Result<(), String> {
    let link = Link::new(tx)?;
    match &tx.command {
        Command::List { which, group_by } => {
            let mut fields = which.json();
            fields["group_by"] = json!(group_by);
            link.print(&link.ask("list", fields)?, list::list);
            Ok(())
        }
        Command::Show { gid, payloads } => {
            let fields = json!({ "gid": gid, "payloads": payloads });
            link.print(&link.ask("show", fields)?, show::show);
            Ok(())
        }
        Command::Retry(change) => change::of_some(&link, "retry", change),
        Command::Compensate(change) => change::of_some(&link, "compensate", change),
        Command::Pause(change) => change::of_some(&link, "pause", change),
        Command::Resume(change) => change::of_some(&link, "resume", change),
        Command::Skip {
            gid,
            branch_id,
            op,
            how,
        } => {
            let fields = json!({ "gid": gid, "branch_id": branch_id, "op": op });
            change::of_one(&link, "skip", fields, how)
        }
        Command::Force { gid, to, how } => {
            change::of_one(&link, "force", json!({ "gid": gid, "to": to }), how)
        }
    }
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

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
