//! Sessions and locks: who waits for whom, since when, and how to end it.

use super::{
    Console,
    desk::{Desk, Row, Rows},
    graph::{self, Edge, Node},
    page::{self, Page, View},
};
use cohort_coordinator::{PageReply, PageRequest};
use maud::{Markup, html};
use std::{collections::BTreeMap, sync::Arc};

/// Deadlocks that are shown.
const DEADLOCKS: usize = 5;

const TRANSACTIONS: &str = "SELECT t.trx_id, t.trx_mysql_thread_id AS id, t.trx_state, \
     GREATEST(TIMESTAMPDIFF(SECOND, t.trx_started, NOW()), 0) AS age, t.trx_rows_locked, \
     t.trx_rows_modified, p.USER, p.HOST, p.COMMAND, p.TIME, p.STATE, \
     LEFT(COALESCE(t.trx_query, p.INFO, e.SQL_TEXT), 4000) AS sql_text \
     FROM information_schema.INNODB_TRX AS t \
     LEFT JOIN performance_schema.processlist AS p ON p.ID = t.trx_mysql_thread_id \
     LEFT JOIN performance_schema.events_statements_current AS e ON e.THREAD_ID = t.trx_mysql_thread_id \
     ORDER BY t.trx_started, t.trx_id LIMIT 200";
const SESSIONS: &str = "SELECT ID, USER, HOST, DB, COMMAND, TIME, STATE, LEFT(INFO, 4000) AS INFO \
     FROM performance_schema.processlist ORDER BY COMMAND = 'Sleep', TIME DESC LIMIT 500";
const ROW_WAITS: &str = "SELECT DISTINCT REQUESTING_THREAD_ID AS waiting, BLOCKING_THREAD_ID AS blocking, \
     CONCAT(l.OBJECT_SCHEMA, '.', l.OBJECT_NAME) AS what \
     FROM performance_schema.data_lock_waits AS w \
     JOIN performance_schema.data_locks AS l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID";
const TABLE_WAITS: &str = "SELECT DISTINCT waiting_pid AS waiting, blocking_pid AS blocking, \
     CONCAT(object_schema, '.', object_name, ' (definition)') AS what FROM sys.schema_table_lock_waits";

pub fn page(view: &View<'_>) -> Page {
    let killed = view.query("killed");
    Page::live(html! {
        @if killed.parse::<u64>().is_ok() {
            p.well role="status" { "Connection " (killed) " was told to end." }
        }
        (waits(view))
        (view.with(TRANSACTIONS, transactions))
        (view.with(SESSIONS, sessions))
        (deadlocks(view))
    })
}

fn kill_link(id: &str) -> Markup {
    html! { td { a id={ "kill-" (id) } href={ "/kill?id=" (id) } { "End" span.hidden { " connection " (id) } "\u{2026}" } } }
}

fn transactions(rows: &Rows) -> Markup {
    let row = |row: Row<'_>| {
        html! {
            (page::number(row.text("id")))
            td { (row.text("USER")) "@" (row.text("HOST")) }
            (page::number(page::age(row.number("age"))))
            td { (doing(row)) }
            (page::number(page::grouped(row.number("trx_rows_locked"))))
            (page::number(page::grouped(row.number("trx_rows_modified"))))
            (page::statement(row.text("sql_text"), &format!("t{}", row.text("id"))))
            (kill_link(row.text("id")))
        }
    };
    page::table(
        "Open transactions, the oldest first",
        &[
            "Connection",
            "Who",
            "Age",
            "Does",
            "Locks",
            "Changes",
            "Statement, or the last one",
            "KILL",
        ],
        rows.iter().map(row).collect(),
        "No transaction has locks or a snapshot.",
    )
}

/// What a session with a transaction is doing: the most usual trouble is that it does nothing.
fn doing(row: Row<'_>) -> Markup {
    html! {
        @if row.text("trx_state") == "LOCK WAIT" { strong { "waits for a lock" } }
        @else if row.text("COMMAND") == "Sleep" {
            "nothing for " (page::age(row.number("TIME")))
        }
        @else if row.text("STATE").is_empty() { "executes" }
        @else { (row.text("STATE")) }
    }
}

fn sessions(rows: &Rows) -> Markup {
    let row = |row: Row<'_>| {
        html! {
            (page::number(row.text("ID")))
            td { (row.text("USER")) "@" (row.text("HOST")) }
            td { (row.text("DB")) }
            td { (row.text("COMMAND")) }
            (page::number(page::age(row.number("TIME"))))
            td { (row.text("STATE")) }
            (page::statement(row.text("INFO"), &format!("s{}", row.text("ID"))))
            (kill_link(row.text("ID")))
        }
    };
    page::table(
        "Sessions",
        &[
            "Connection",
            "Who",
            "Database",
            "Command",
            "For",
            "State",
            "Statement",
            "KILL",
        ],
        rows.iter().map(row).collect(),
        "There are none.",
    )
}

/// The picture of who waits for whom, and the same in words.
fn waits(view: &View<'_>) -> Markup {
    let mut edges: Vec<Edge> = Vec::new();
    for sql in [ROW_WAITS, TABLE_WAITS] {
        match view.desk.ask(sql) {
            Err(error) => return page::trouble(&error),
            Ok(rows) => edges.extend(rows.iter().map(|row| Edge {
                from: row.number("waiting"),
                to: row.number("blocking"),
                what: row.text("what").to_owned(),
            })),
        }
    }
    if edges.is_empty() {
        return html! { p.well { "Nobody waits for anybody\u{2019}s locks." } };
    }
    let ids = edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let mut nodes: BTreeMap<u64, Node> = ids.map(|id| (id, Node::default())).collect();
    if let Ok(rows) = view.desk.ask(SESSIONS) {
        for row in rows.iter() {
            if let Some(node) = nodes.get_mut(&row.number("ID")) {
                node.who = row.text("USER").to_owned();
                node.what = match row.text("INFO") {
                    "" => format!("idle for {}", page::age(row.number("TIME"))),
                    statement => statement.to_owned(),
                };
            }
        }
    }
    let roots: Vec<u64> = nodes
        .keys()
        .copied()
        .filter(|id| edges.iter().all(|edge| edge.from != *id))
        .collect();
    html! {
        h2 { "Who waits for whom" }
        @for root in &roots {
            p.verdict {
                "Connection " (root) " waits for nobody, and " (graph::behind(*root, &edges))
                " wait for it, directly or not: "
                a id={ "root-" (root) } href={ "/kill?id=" (root) } { "end connection " (root) "\u{2026}" }
            }
        }
        (graph::picture(&nodes, &edges))
        (page::table(
            "Waits",
            &["Connection", "waits for connection", "because of"],
            edges.iter().map(|edge| html! {
                (page::number(edge.from)) (page::number(edge.to)) td { (edge.what) }
            }).collect(),
            "",
        ))
    }
}

fn deadlocks(view: &View<'_>) -> Markup {
    // Who may read the statement that tells of them may see them.
    if let Err(error) = view.desk.ask("SHOW ENGINE INNODB STATUS") {
        return page::trouble(&error);
    }
    let instance = &view.console.shared.backend.instance;
    let now = instance.env().wall_micros();
    let deadlocks = instance.engine.deadlocks();
    html! {
        h2 { "Last deadlocks" }
        @if deadlocks.is_empty() { p.note { "There was none since the start." } }
        @for (n, deadlock) in deadlocks.iter().rev().take(DEADLOCKS).enumerate() {
            (page::table(
                &format!("{} ago", page::age(now.saturating_sub(deadlock.at_us) / 1_000_000)),
                &["Connection", "Waited for", "Statement", ""],
                deadlock.parties.iter().map(|party| html! {
                    (page::number(party.session))
                    td { (party.waits_for) }
                    (page::statement(&party.statement, &format!("x{n}-{}", party.session)))
                    td { @if party.victim { strong { "rolled back" } } @else { "went on" } }
                }).collect(),
                "",
            ))
        }
    }
}

/// The connection that a request is about.
fn connection(of: Option<&String>) -> Option<u64> {
    of.and_then(|id| id.parse().ok())
}

/// GET /kill: asks back, and shows whom it would hit.
pub fn confirm(console: &Arc<Console>, desk: &Arc<Desk>, request: &PageRequest) -> PageReply {
    let Some(id) = connection(request.query.get("id")) else {
        return page::refused(400, "Which connection?");
    };
    let view = View::new(console, desk, request);
    let sql = format!(
        "SELECT ID, USER, HOST, DB, COMMAND, TIME, STATE, LEFT(INFO, 4000) AS INFO \
         FROM performance_schema.processlist \
         WHERE ID = {id}"
    );
    let shown = view.with(&sql, |rows| match rows.iter().next() {
        None => html! { p { "There is no connection " (id) " any more, or you may not see it." } },
        Some(row) => html! {
            dl {
                dt { "Who" } dd { (row.text("USER")) "@" (row.text("HOST")) }
                dt { "Database" } dd { (row.text("DB")) }
                dt { "Does" } dd { (row.text("COMMAND")) " for " (page::age(row.number("TIME"))) " " (row.text("STATE")) }
                dt { "Statement" } dd { code { (row.text("INFO")) } }
            }
            p { "Its transaction is rolled back if the connection ends; a statement that ends is undone alone." }
            form method="post" action="/kill" {
                (view.csrf())
                input type="hidden" name="id" value=(id);
                button #kill-connection name="what" value="CONNECTION" { "End the connection" }
                button #kill-query name="what" value="QUERY" { "End its statement only" }
                a href="/sessions" { "Leave it" }
            }
        },
    });
    page::framed(&view, &format!("End connection {id}?"), shown)
}

/// POST /kill: KILL, as the account may.
pub fn kill(console: &Arc<Console>, desk: &Arc<Desk>, request: &PageRequest) -> PageReply {
    let Some(id) = connection(request.form.get("id")) else {
        return page::refused(400, "Which connection?");
    };
    let what = match request.form.get("what").map(String::as_str) {
        Some("CONNECTION") => "CONNECTION",
        Some("QUERY") => "QUERY",
        _ => return page::refused(400, "The connection, or its statement?"),
    };
    match desk.ask(&format!("KILL {what} {id}")) {
        Ok(_) => page::go_to(&format!("/sessions?killed={id}")),
        Err(error) => {
            let view = View::new(console, desk, request);
            let back = html! { (page::trouble(&error)) p { a href="/sessions" { "Back" } } };
            page::framed(&view, &format!("Connection {id} was not ended"), back)
        }
    }
}
