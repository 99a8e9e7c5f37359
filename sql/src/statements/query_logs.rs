//! The lines of the slow log and of the general log, in MySQL's formats: pt-query-digest and
//! mysqldumpslow read them.

use super::ended::Ended;
use crate::{
    status::Counter,
    text::{self, put_log_time},
};
use cohort_engine::types::Value;
use serde_json::{Value as Json, json};
use std::{fmt::Write, net::IpAddr};

/// The digits of a second's fraction.
const MICROSECONDS: u8 = 6;

/// Who runs a statement.
#[derive(Clone, Debug, Default)]
pub struct Who {
    /// The name of the account.
    pub account: String,
    /// The name it logged in with.
    pub user: String,
    /// Where it comes from, without the port.
    pub host: String,
    /// The number of the connection.
    pub id: u64,
}

impl Who {
    /// A text without what would begin another line, or another field.
    #[must_use]
    pub fn plain(text: &str) -> String {
        let plain = |c: char| if c.is_control() { '?' } else { c };
        text.chars().map(plain).collect()
    }
    /// `account[user] @ host [address]`, as both logs have it.
    #[must_use]
    pub fn shown(&self) -> String {
        let is_address = self.host.parse::<IpAddr>().is_ok();
        let (host, address) = match is_address {
            true => ("", self.host.as_str()),
            false => (self.host.as_str(), ""),
        };
        let (account, user) = (Who::plain(&self.account), Who::plain(&self.user));
        format!("{account}[{user}] @ {} [{address}]", Who::plain(host))
    }
}

/// A value as it could stand in a statement.
pub fn literal(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(string) => out.extend_from_slice(quoted(string).as_bytes()),
            Err(_) => {
                out.extend_from_slice(b"0x");
                let digits = bytes
                    .iter()
                    .flat_map(|byte| format!("{byte:02X}").into_bytes());
                out.extend(digits);
            }
        },
        Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_)
        | Value::Json(_)
        | Value::Member(_) => {
            let mut shown = Vec::new();
            text::put(value, MICROSECONDS, &mut shown);
            out.extend_from_slice(quoted(&String::from_utf8_lossy(&shown)).as_bytes());
        }
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            text::put(value, text::DECIMALS_NOT_FIXED, out)
        }
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for c in text.chars() {
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\0' => quoted.push_str("\\0"),
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// What log_slow_extra adds, in MySQL's order. `None`: what there is not here.
const EXTRA: [(&str, Option<Counter>); 17] = [
    ("Bytes_received", Some(Counter::BytesReceived)),
    ("Bytes_sent", Some(Counter::BytesSent)),
    ("Read_first", Some(Counter::HandlerReadFirst)),
    ("Read_last", Some(Counter::HandlerReadLast)),
    ("Read_key", Some(Counter::HandlerReadKey)),
    ("Read_next", Some(Counter::HandlerReadNext)),
    ("Read_prev", Some(Counter::HandlerReadPrev)),
    ("Read_rnd", None),
    ("Read_rnd_next", Some(Counter::HandlerReadRndNext)),
    ("Sort_merge_passes", Some(Counter::SortMergePasses)),
    ("Sort_range_count", Some(Counter::SortRange)),
    ("Sort_rows", Some(Counter::SortRows)),
    ("Sort_scan_count", Some(Counter::SortScan)),
    (
        "Created_tmp_disk_tables",
        Some(Counter::CreatedTmpDiskTables),
    ),
    ("Created_tmp_tables", Some(Counter::CreatedTmpTables)),
    ("Full_join", Some(Counter::SelectFullJoin)),
    ("Full_scan", Some(Counter::SelectScan)),
];

/// An entry of the slow log.
pub(super) fn slow_entry(who: &Who, ended: &Ended, extra: bool, killed: bool) -> String {
    let mut out = String::with_capacity(ended.text.len() + 256);
    out.push_str("# Time: ");
    put_log_time(ended.ended_us(), 6, &mut out);
    let took = seconds(ended.took_ns);
    let locks = seconds(ended.locks_ns);
    // A String takes everything.
    let _ = write!(
        out,
        "\n# User@Host: {}  Id: {:>5}\n\
         # Query_time: {took:.6}  Lock_time: {locks:.6} Rows_sent: {}  Rows_examined: {}",
        who.shown(),
        who.id,
        ended.rows_sent,
        ended.rows_examined,
    );
    if extra {
        let code = ended.error.as_ref().map_or(0, |error| error.code);
        let killed = u8::from(killed);
        let _ = write!(out, " Thread_id: {} Errno: {code} Killed: {killed}", who.id);
        for (name, counter) in EXTRA {
            let count = counter.map_or(0, |counter| ended.counts.get(counter));
            let _ = write!(out, " {name}: {count}");
        }
        out.push_str(" Start: ");
        put_log_time(ended.begun_us, 6, &mut out);
        out.push_str(" End: ");
        put_log_time(ended.ended_us(), 6, &mut out);
    }
    out.push('\n');
    if !ended.database.is_empty() {
        let _ = writeln!(out, "use {};", Who::plain(&ended.database));
    }
    let _ = writeln!(out, "SET timestamp={};", ended.timestamp);
    let _ = writeln!(out, "{};", ended.text);
    out
}

/// A line of the general log.
pub(super) fn general_line(who: &Who, now_us: u64, command: &str, argument: &str) -> String {
    let mut out = String::with_capacity(argument.len() + 64);
    put_log_time(now_us, 6, &mut out);
    let _ = writeln!(out, "\t{:>5} {command}\t{argument}", who.id);
    out
}

/// A row of mysql.slow_log: a JSON array, in the order of its columns.
pub(super) fn as_row(who: &Who, ended: &Ended, server_id: u64) -> Vec<u8> {
    line(json!([
        ended.ended_us(),
        who.shown(),
        ended.took_ns / 1000,
        ended.locks_ns / 1000,
        ended.rows_sent,
        ended.rows_examined,
        &*ended.database,
        ended.last_insert_id,
        ended.insert_id,
        server_id,
        &*ended.text,
        who.id,
    ]))
}

/// A row of mysql.general_log.
pub(super) fn row_of_general(
    who: &Who,
    now_us: u64,
    server_id: u64,
    command: &str,
    argument: &str,
) -> Vec<u8> {
    line(json!([
        now_us,
        who.shown(),
        who.id,
        server_id,
        command,
        argument
    ]))
}

fn line(row: Json) -> Vec<u8> {
    let mut line = row.to_string();
    line.push('\n');
    line.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::Counts;
    use std::sync::Arc;

    fn ended() -> Ended {
        Ended {
            text: Arc::from("SELECT 1"),
            database: Arc::from("d"),
            command: "select",
            begun_us: 1_700_000_000_000_000,
            timestamp: 1_700_000_000,
            took_ns: 1_500_000_000,
            locks_ns: 2_000,
            error: None,
            warnings: 0,
            rows_sent: 1,
            rows_examined: 3,
            rows_affected: 0,
            counts: Counts::default(),
            last_insert_id: 0,
            insert_id: 0,
        }
    }

    fn who(user: &str, host: &str) -> Who {
        Who {
            account: user.to_owned(),
            user: user.to_owned(),
            host: host.to_owned(),
            id: 8,
        }
    }

    #[test]
    fn slow_entries_are_as_mysql_writes_them() {
        let told = slow_entry(&who("root", "localhost"), &ended(), false, false);
        let expected = "# Time: 2023-11-14T22:13:21.500000Z\n\
             # User@Host: root[root] @ localhost []  Id:     8\n\
             # Query_time: 1.500000  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 3\n\
             use d;\n\
             SET timestamp=1700000000;\n\
             SELECT 1;\n";
        assert_eq!(told, expected);
        let extra = slow_entry(&who("root", "10.0.0.1"), &ended(), true, true);
        assert!(extra.contains("root[root] @  [10.0.0.1]  Id:     8\n"));
        assert!(
            extra.contains("Rows_examined: 3 Thread_id: 8 Errno: 0 Killed: 1 Bytes_received: 0")
        );
        assert!(extra.contains(" Start: 2023-11-14T22:13:20.000000Z End: 2023-11-14T22:13:21.5"));
    }

    #[test]
    fn names_do_not_begin_lines() {
        let name = "a\n# Query_time: 9";
        let told = slow_entry(&who(name, "h"), &ended(), false, false);
        assert_eq!(told.lines().count(), 6);
    }

    #[test]
    fn general_lines_have_a_time_a_connection_and_a_command() {
        let told = general_line(&who("u", "h"), 1_700_000_000_000_001, "Query", "SELECT 1");
        assert_eq!(told, "2023-11-14T22:13:20.000001Z\t    8 Query\tSELECT 1\n");
        let row = row_of_general(&who("u", "h"), 1, 2, "Quit", "");
        assert_eq!(row, b"[1,\"u[u] @ h []\",8,2,\"Quit\",\"\"]\n");
    }
}
