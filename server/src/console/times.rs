//! A transaction's time: where that of the last minute's commits went, and of the slowest.

use super::{
    chart,
    desk::{Row, Rows},
    page::{self, Page, View},
};
use maud::{Markup, html};

/// What time goes to: the column, in words, and what helps if it is much.
const PHASES: [(&str, &str, &str); 9] = [
    (
        "CLIENT",
        "client",
        "between its statements: the client works, or the network is slow",
    ),
    (
        "QUEUE",
        "queue",
        "for a slot: the processors have enough to do",
    ),
    (
        "EXECUTION",
        "execution",
        "of its statements: look at their plans",
    ),
    (
        "ROW_LOCKS",
        "row locks",
        "of other transactions: they should commit sooner",
    ),
    (
        "METADATA_LOCKS",
        "metadata locks",
        "a definition changes, or LOCK TABLES",
    ),
    (
        "ENCODING",
        "encoding",
        "its changes as events, and its place in the log",
    ),
    (
        "GROUP_WAIT",
        "group",
        "until the log's thread came: it wrote the group before",
    ),
    ("FSYNC", "write and fsync", "of its group: the disk"),
    (
        "REPLY",
        "reply",
        "after it was durable, until the reply was on its way",
    ),
];

pub fn page(view: &View<'_>) -> Page {
    Page::live(html! {
        p.note { "Transactions that were committed in the last minute, by the last statement in each that has \
            changed rows. XA COMMIT and what the server commits for itself are not among them." }
        p.legend { @for (n, (_, name, _)) in PHASES.iter().enumerate() { span class={ "key k" (n) } { (name) } } }
        (view.with(
            "SELECT * FROM performance_schema.cohort_commits_by_digest LIMIT 30",
            kinds,
        ))
        (view.with("SELECT * FROM performance_schema.cohort_commits_slowest", slowest))
        details #phases {
            summary { "What the parts are" }
            dl { @for (_, name, what) in PHASES { dt { (name) } dd { (what) } } }
        }
    })
}

/// Each part by its name, in nanoseconds.
type Parts = Vec<(&'static str, u64)>;

/// The parts of a row.
fn parts(row: Row<'_>, prefix: &str) -> Parts {
    let part = |(column, name, _): &(&str, &'static str, &str)| {
        (*name, row.number(&format!("{prefix}{column}")) / 1000)
    };
    PHASES.iter().map(part).collect()
}

fn total(parts: &[(&str, u64)]) -> u64 {
    parts.iter().map(|(_, ns)| ns).sum()
}

/// A cell for each part: how long it was on average, and which share.
fn cells(parts: &[(&'static str, u64)], count: u64) -> Markup {
    let all = total(parts).max(1);
    html! {
        @for (_, ns) in parts {
            td.number { @if *ns > 0 { (page::nanos(ns / count.max(1))) " "
                span.share { (format!("{:.0}%", *ns as f64 * 100.0 / all as f64)) } } }
        }
    }
}

fn headings(first: &[&'static str]) -> Vec<&'static str> {
    let parts = PHASES.iter().map(|(_, name, _)| *name);
    first.iter().copied().chain(parts).collect()
}

fn kinds(rows: &Rows) -> Markup {
    let all: Vec<_> = rows.iter().map(|row| parts(row, "SUM_")).collect();
    let average = |(row, parts): (Row<'_>, &Vec<_>)| total(parts) / row.number("COUNT_STAR").max(1);
    let most = rows.iter().zip(&all).map(average).max().unwrap_or(0);
    let row = |(n, (row, parts)): (usize, (Row<'_>, &Parts))| {
        let count = row.number("COUNT_STAR");
        let each: Vec<_> = parts
            .iter()
            .map(|(name, ns)| (*name, ns / count.max(1)))
            .collect();
        let text = match row.text("DIGEST_TEXT") {
            "" => "other kinds together",
            text => text,
        };
        html! {
            (page::statement(text, &format!("c{n}")))
            (page::number(page::grouped(count)))
            (page::number(page::nanos(total(&each))))
            (page::number(page::nanos(row.number("MAX_TIMER_WAIT") / 1000)))
            td { (chart::stack("Average", &each, most)) }
            (cells(parts, count))
        }
    };
    page::table(
        "By statement, on average",
        &headings(&[
            "Statement",
            "Commits",
            "Average",
            "Longest",
            "Where it went",
        ]),
        rows.iter().zip(&all).enumerate().map(row).collect(),
        "Nothing was committed in the last minute.",
    )
}

fn slowest(rows: &Rows) -> Markup {
    let row = |(n, row): (usize, Row<'_>)| {
        let parts = parts(row, "");
        html! {
            td { (row.text("BEGUN")) }
            (page::number(match row.text("THREAD_ID") { "0" => "has ended", id => id }))
            (page::statement(row.text("SQL_TEXT"), &format!("w{n}")))
            (page::number(page::grouped(row.number("STATEMENTS"))))
            (page::number(page::nanos(total(&parts))))
            td { (chart::stack("It", &parts, total(&parts))) }
            (cells(&parts, 1))
        }
    };
    page::table(
        "The slowest",
        &headings(&[
            "Begun",
            "Connection",
            "Statement",
            "Statements",
            "Took",
            "Where it went",
        ]),
        rows.iter().enumerate().map(row).collect(),
        "None.",
    )
}
