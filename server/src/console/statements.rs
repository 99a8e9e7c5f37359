//! Statements: which kinds of them take the time, and how one of them is carried out.

use super::{
    desk::{Row, Rows, quoted},
    page::{self, Page, View},
};
use cohort_sql::SqlError;
use maud::{Markup, html};

/// What they can be ordered by: the word in the address, in words, and as SQL has it.
const ORDERS: [(&str, &str, &str); 6] = [
    ("time", "total time", "SUM_TIMER_WAIT"),
    ("average", "average time", "AVG_TIMER_WAIT"),
    ("count", "how often", "COUNT_STAR"),
    ("examined", "rows examined", "SUM_ROWS_EXAMINED"),
    ("locks", "time for locks", "SUM_LOCK_TIME"),
    ("errors", "errors", "SUM_ERRORS"),
];
/// Kinds that are listed.
const LISTED: usize = 50;
const COLUMNS: &str = "SCHEMA_NAME, DIGEST, DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT, AVG_TIMER_WAIT, \
     MAX_TIMER_WAIT, QUANTILE_95, QUANTILE_99, SUM_LOCK_TIME, SUM_ERRORS, SUM_WARNINGS, \
     SUM_ROWS_EXAMINED, SUM_ROWS_SENT, SUM_ROWS_AFFECTED, SUM_NO_INDEX_USED, FIRST_SEEN, LAST_SEEN, \
     QUERY_SAMPLE_TEXT FROM performance_schema.events_statements_summary_by_digest";
/// ER_NOT_SUPPORTED_YET: changes have no steps, but a table.
const NOT_SUPPORTED: u16 = 1235;
/// What EXPLAIN can explain.
const EXPLAINED: [&str; 6] = ["select", "insert", "update", "delete", "replace", "with"];

/// A time that performance_schema has, in picoseconds.
fn time(row: Row<'_>, name: &str) -> String {
    page::nanos(row.number(name) / 1000)
}

pub fn page(view: &View<'_>) -> Page {
    let digest = view.query("digest");
    if !digest.is_empty() {
        return Page::still(one(view, digest, view.query("schema")));
    }
    let by = view.query("by");
    let order = ORDERS.iter().find(|(word, ..)| *word == by);
    let (word, _, column) = order.unwrap_or(&ORDERS[0]);
    let sql = format!("SELECT {COLUMNS} ORDER BY {column} DESC, DIGEST LIMIT {LISTED}");
    let still = html! {
        p { "Ordered by " @for (other, name, _) in ORDERS {
            a href={ "/statements?by=" (other) } aria-current=[(other == *word).then_some("true")] { (name) } " "
        } }
    };
    let live = html! {
        (view.with(&sql, kinds))
        (view.with(
            "SELECT ERROR_NUMBER, ERROR_NAME, SQL_STATE, SUM_ERROR_RAISED, LAST_SEEN \
             FROM performance_schema.events_errors_summary_global_by_error \
             WHERE SUM_ERROR_RAISED > 0 ORDER BY SUM_ERROR_RAISED DESC LIMIT 20",
            errors,
        ))
    };
    Page::new(still, live)
}

fn kinds(rows: &Rows) -> Markup {
    let total: u64 = rows.iter().map(|row| row.number("SUM_TIMER_WAIT")).sum();
    let row = |(n, row): (usize, Row<'_>)| {
        let share = row.number("SUM_TIMER_WAIT") as f64 * 100.0 / total.max(1) as f64;
        let place = format!(
            "/statements?digest={}&schema={}",
            page::escaped(row.text("DIGEST")),
            page::escaped(row.text("SCHEMA_NAME"))
        );
        html! {
            td { (row.text("SCHEMA_NAME")) }
            (page::statement(row.text("DIGEST_TEXT"), &format!("k{n}")))
            (page::number(page::grouped(row.number("COUNT_STAR"))))
            (page::number(time(row, "SUM_TIMER_WAIT")))
            (page::number(format!("{share:.0}%")))
            (page::number(time(row, "AVG_TIMER_WAIT")))
            (page::number(time(row, "QUANTILE_95")))
            (page::number(time(row, "SUM_LOCK_TIME")))
            (page::number(page::grouped(row.number("SUM_ROWS_EXAMINED"))))
            (page::number(page::grouped(row.number("SUM_ROWS_SENT"))))
            (page::number(page::grouped(row.number("SUM_ERRORS"))))
            td { @if row.number("SUM_NO_INDEX_USED") > 0 { strong { "reads whole tables" } } }
            td { a id={ "plan" (n) } href=(place) { "Plan" span.hidden { " of statement " (n + 1) } } }
        }
    };
    page::table(
        "Kinds of statements since the start, or since they were last reset",
        &[
            "Database",
            "Statement",
            "Count",
            "Total",
            "Share",
            "Average",
            "95%",
            "Locks",
            "Examined",
            "Sent",
            "Errors",
            "Index",
            "Details",
        ],
        rows.iter().enumerate().map(row).collect(),
        "No statement has ended yet.",
    )
}

fn errors(rows: &Rows) -> Markup {
    let row = |row: Row<'_>| {
        html! {
            (page::number(row.text("ERROR_NUMBER")))
            td { (row.text("SQL_STATE")) }
            td { (row.text("ERROR_NAME")) }
            (page::number(page::grouped(row.number("SUM_ERROR_RAISED"))))
            td { (row.text("LAST_SEEN")) }
        }
    };
    page::table(
        "Errors that clients got",
        &["Error", "State", "Name", "Times", "Last"],
        rows.iter().map(row).collect(),
        "None.",
    )
}

/// One kind: all that is known of it, and the plan of its sample.
fn one(view: &View<'_>, digest: &str, schema: &str) -> Markup {
    let sql = format!(
        "SELECT {COLUMNS} WHERE DIGEST = {} AND COALESCE(SCHEMA_NAME, '') = {}",
        quoted(digest),
        quoted(schema)
    );
    view.with(&sql, |rows| {
        let Some(row) = rows.iter().next() else {
            return html! { p.note { "This kind of statement is not known any more." } };
        };
        let sample = row.text("QUERY_SAMPLE_TEXT");
        let numbers = [
            ("Database", row.text("SCHEMA_NAME").to_owned()),
            ("Count", page::grouped(row.number("COUNT_STAR"))),
            ("Total", time(row, "SUM_TIMER_WAIT")),
            ("Average", time(row, "AVG_TIMER_WAIT")),
            ("95% took at most", time(row, "QUANTILE_95")),
            ("99% took at most", time(row, "QUANTILE_99")),
            ("Longest", time(row, "MAX_TIMER_WAIT")),
            ("Waited for locks", time(row, "SUM_LOCK_TIME")),
            (
                "Rows examined",
                page::grouped(row.number("SUM_ROWS_EXAMINED")),
            ),
            ("Rows sent", page::grouped(row.number("SUM_ROWS_SENT"))),
            (
                "Rows changed",
                page::grouped(row.number("SUM_ROWS_AFFECTED")),
            ),
            ("Errors", page::grouped(row.number("SUM_ERRORS"))),
            (
                "First, last",
                format!("{}, {}", row.text("FIRST_SEEN"), row.text("LAST_SEEN")),
            ),
        ];
        html! {
            p { a href="/statements" { "All statements" } }
            pre { (row.text("DIGEST_TEXT")) }
            dl { @for (name, value) in &numbers { dt { (name) } dd { (value) } } }
            h2 { "The one that took longest" }
            pre { (sample) }
            h2 { "Its plan" }
            (plan(view, schema, sample))
        }
    })
}

/// EXPLAIN of a statement, as the one who looks may explain it.
fn plan(view: &View<'_>, schema: &str, sample: &str) -> Markup {
    let word = sample
        .trim_start()
        .split(|c: char| !c.is_ascii_alphabetic())
        .next();
    let word = word.unwrap_or("").to_ascii_lowercase();
    if !EXPLAINED.contains(&word.as_str()) {
        return html! { p.note { "Only queries and changes of rows have one." } };
    }
    let explain = |form: &str| view.desk.ask_in(schema, &format!("EXPLAIN {form}{sample}"));
    // Not again what has waited for a lock, or took too long.
    let refused = |error: SqlError| match error.code {
        NOT_SUPPORTED => explain(""),
        _ => Err(error),
    };
    match explain("FORMAT=TREE ").or_else(refused) {
        Err(error) => page::trouble(&error),
        Ok(rows) if rows.names.len() == 1 => html! { pre { (rows.value().unwrap_or("")) } },
        Ok(rows) => {
            let names: Vec<&str> = rows.names.iter().map(String::as_str).collect();
            let cells = |row: Row<'_>| {
                let texts = names.iter().map(|name| row.text(name));
                html! { @for text in texts { td { (text) } } }
            };
            page::table("Steps", &names, rows.iter().map(cells).collect(), "")
        }
    }
}
