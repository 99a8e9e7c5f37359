//! Log: its files and groups, who reads it, and which transactions are large.

use super::{
    desk::{Row, Rows, quoted},
    page::{self, Page, View},
};
use cohort_engine::{env::Env, log::LogFile};
use maud::{Markup, html};
use std::path::Path;

/// Transactions of a file that are listed.
const LARGEST: usize = 20;
/// A longer file is not read for a page; `cohort log stat` reads it.
const BYTES_MAX: u64 = 256 << 20;

pub fn page(view: &View<'_>) -> Page {
    let file = view.query("file");
    if !file.is_empty() {
        return Page::still(largest_of(view, file));
    }
    Page::live(html! {
        (view.with("SHOW BINARY LOG STATUS", status))
        (groups(view))
        (view.with("SHOW BINARY LOGS", files))
        (view.with(
            "SELECT ID, USER, HOST, COMMAND, TIME, STATE FROM performance_schema.processlist \
             WHERE COMMAND LIKE 'Binlog Dump%' OR COMMAND LIKE '%ackup%' ORDER BY ID",
            readers,
        ))
        (view.with("SHOW REPLICAS", replicas))
        (view.with("SHOW REPLICA STATUS", source))
    })
}

fn status(rows: &Rows) -> Markup {
    html! {
        @for row in rows.iter() {
            p { "Written up to " strong { (row.text("File")) " " (page::grouped(row.number("Position"))) }
                "; executed " code { (row.text("Executed_Gtid_Set")) } }
        }
    }
}

fn groups(view: &View<'_>) -> Markup {
    view.with("SHOW GLOBAL STATUS LIKE 'Cohort\\_log\\_%'", |rows| {
        let number = |name: &str| {
            let mut all = rows.iter();
            all.find(|row| row.text("Variable_name").eq_ignore_ascii_case(name))
                .map_or(0, |row| row.number("Value"))
        };
        let (commits, groups) = (number("Cohort_log_commits"), number("Cohort_log_groups"));
        let average = commits as f64 / groups.max(1) as f64;
        html! {
            p { (page::grouped(commits)) " commits in " (page::grouped(groups)) " groups ("
                (format!("{average:.1}")) " on average, " (page::grouped(number("Cohort_log_group_commits_max")))
                " at most), " (page::grouped(number("Cohort_log_fsyncs"))) " syncs, "
                (page::bytes(number("Cohort_log_bytes"))) ", since the start." }
        }
    })
}

fn files(rows: &Rows) -> Markup {
    let row = |row: Row<'_>| {
        let name = row.text("Log_name");
        html! {
            td { (name) }
            (page::number(page::bytes(row.number("File_size"))))
            td { a id={ "f-" (name) } href={ "/log?file=" (page::escaped(name)) } { "Largest transactions of " (name) } }
        }
    };
    page::table(
        "Files, the oldest first",
        &["File", "Size", "Contents"],
        rows.iter().map(row).collect(),
        "There is none.",
    )
}

fn readers(rows: &Rows) -> Markup {
    let row = |row: Row<'_>| {
        html! {
            (page::number(row.text("ID")))
            td { (row.text("USER")) "@" (row.text("HOST")) }
            td { (row.text("COMMAND")) }
            (page::number(page::age(row.number("TIME"))))
            td { (row.text("STATE")) }
        }
    };
    page::table(
        "Who reads it now",
        &["Connection", "Who", "Command", "For", "State"],
        rows.iter().map(row).collect(),
        "Nobody: no replica, no backup, no capture of changes.",
    )
}

fn replicas(rows: &Rows) -> Markup {
    let row = |row: Row<'_>| {
        html! {
            (page::number(row.text("Server_Id"))) td { (row.text("Host")) } (page::number(row.text("Port")))
            td { (row.text("Replica_UUID")) }
        }
    };
    page::table(
        "Replicas that have said who they are",
        &["server_id", "Host", "Port", "server_uuid"],
        rows.iter().map(row).collect(),
        "None.",
    )
}

fn source(rows: &Rows) -> Markup {
    let row = |row: Row<'_>| {
        html! {
            td { (row.text("Source_Host")) ":" (row.text("Source_Port")) }
            td { (row.text("Replica_IO_Running")) } td { (row.text("Replica_SQL_Running")) }
            (page::number(row.text("Seconds_Behind_Source")))
            td { (row.text("Last_IO_Error")) " " (row.text("Last_SQL_Error")) }
        }
    };
    page::table(
        "The server that this one follows",
        &[
            "Source",
            "Receives",
            "Applies",
            "Seconds behind",
            "Last error",
        ],
        rows.iter().map(row).collect(),
        "It follows none.",
    )
}

/// The largest transactions of a file, for who may read the log.
fn largest_of(view: &View<'_>, name: &str) -> Markup {
    // The statement knows which files there are, and who may read them.
    let sql = format!("SHOW BINLOG EVENTS IN {} LIMIT 1", quoted(name));
    if let Err(error) = view.desk.ask(&sql) {
        return page::trouble(&error);
    }
    let instance = &view.console.shared.backend.instance;
    let values = instance.globals.values();
    let path = Path::new(values.text("datadir")).join(name);
    match read(instance.env(), &path) {
        Err(why) => html! { p.trouble { "Not shown: " (why) } },
        Ok((count, bytes, largest)) => html! {
            p { a href="/log" { "The log" } }
            p { (page::grouped(count)) " transactions, of " (page::bytes(bytes / count.max(1))) " on average." }
            (page::table(
                &format!("The largest transactions of {name}"),
                &["Bytes", "Position", "GTID", "Parts"],
                largest.iter().map(|one| html! {
                    (page::number(page::grouped(one.bytes)))
                    (page::number(page::grouped(one.position)))
                    td { code { (one.gtid) } }
                    (page::number(one.parts))
                }).collect(),
                "There is none in this file.",
            ))
        },
    }
}

/// A transaction of a file.
struct Large {
    bytes: u64,
    position: u64,
    gtid: String,
    parts: usize,
}

/// How many transactions there are, their bytes, and the largest ones.
fn read(env: &Env, path: &Path) -> Result<(u64, u64, Vec<Large>), String> {
    let length = std::fs::metadata(path)
        .map_err(|error| error.to_string())?
        .len();
    if length > BYTES_MAX {
        return Err(format!(
            "the file is longer than {}: cohort log stat reads it",
            page::bytes(BYTES_MAX)
        ));
    }
    let mut file = LogFile::open(env, path)?;
    let (mut count, mut sum) = (0, 0);
    let mut largest: Vec<Large> = Vec::new();
    while let Some(transaction) = file.next_transaction()? {
        let bytes = transaction.length() as u64;
        count += 1;
        sum += bytes;
        let least = largest.last().map_or(0, |last| last.bytes);
        if largest.len() < LARGEST || bytes > least {
            let at = largest.partition_point(|other| other.bytes >= bytes);
            let one = Large {
                bytes,
                position: transaction.position,
                gtid: transaction.gtid.clone().unwrap_or_default(),
                parts: transaction.parts()?.len(),
            };
            largest.insert(at, one);
            largest.truncate(LARGEST);
        }
    }
    Ok((count, sum, largest))
}
