//! Adviser: transactions that nobody needs, who sends them, what they cost, and how to do without.

use super::{
    desk::{Row, Rows},
    page::{self, Page, View},
};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// What each library calls not to begin a transaction for each statement: a part of the name by which its
/// connections are known, the library, and what to say.
const CONNECTORS: [(&str, &str, &str); 12] = [
    (
        "mysql connector/j",
        "Java, Connector/J",
        "conn.setAutoCommit(true); in pools such as HikariCP autoCommit=true",
    ),
    (
        "mariadb",
        "Java, MariaDB Connector/J",
        "conn.setAutoCommit(true), or autocommit=true in the URL",
    ),
    (
        "",
        "Spring, Hibernate",
        "no @Transactional around one look-up; hibernate.connection.autocommit=true for those outside of one",
    ),
    ("pymysql", "Python, PyMySQL", "connect(autocommit=True)"),
    (
        "mysql-connector-python",
        "Python, Connector/Python",
        "connect(autocommit=True)",
    ),
    (
        "",
        "Python, SQLAlchemy",
        "create_engine(\u{2026}, isolation_level=\"AUTOCOMMIT\") for what only reads",
    ),
    (
        "",
        "Python, Django",
        "ATOMIC_REQUESTS = False, and transaction.atomic() where rows are changed",
    ),
    (
        "go-mysql-driver",
        "Go, go-sql-driver",
        "db.QueryContext(\u{2026}) instead of db.BeginTx(\u{2026}) for one query",
    ),
    (
        "mysqlnd",
        "PHP, PDO and mysqli",
        "PDO::ATTR_AUTOCOMMIT => true; no beginTransaction() around one query",
    ),
    (
        "node-mysql-2",
        "Node.js, mysql2",
        "no beginTransaction() around one query",
    ),
    (
        "mysqlconnector",
        ".NET, MySqlConnector",
        "no BeginTransaction() around one query",
    ),
    (
        "",
        "Ruby on Rails",
        "no transaction do \u{2026} end around one look-up",
    ),
];

pub fn page(view: &View<'_>) -> Page {
    let sent = view.desk.ask("SHOW GLOBAL STATUS LIKE 'Questions'");
    let questions = sent.map_or(0, |rows| rows.iter().map(|row| row.number("Value")).sum());
    let clients = clients(view);
    let found = view.with(
        "SELECT user_host, kind, query, digest, occurrences, round_trips_wasted, total_ms, max_ms, advice \
         FROM sys.transaction_advice LIMIT 200",
        |rows| findings(rows, questions, &clients),
    );
    let still = html! {
        details #connectors {
            summary { "How to do without, in each library" }
            (page::table("Libraries", &["Library", "Say"], CONNECTORS.iter().map(|(_, library, say)| html! {
                td { (library) } td { code { (say) } }
            }).collect(), ""))
        }
    };
    Page::new(still, found)
}

/// What the programs of each account call themselves, as far as they are connected.
fn clients(view: &View<'_>) -> BTreeMap<String, Vec<String>> {
    let sql = "SELECT DISTINCT CONCAT(p.USER, '@', SUBSTRING_INDEX(p.HOST, ':', 1)) AS who, a.ATTR_VALUE \
         FROM performance_schema.session_connect_attrs AS a \
         JOIN performance_schema.processlist AS p ON p.ID = a.PROCESSLIST_ID \
         WHERE a.ATTR_NAME IN ('program_name', '_client_name') ORDER BY 1, 2 LIMIT 1000";
    let mut clients: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if let Ok(rows) = view.desk.ask(sql) {
        for row in rows.iter() {
            let names = clients.entry(row.text("who").to_owned()).or_default();
            names.push(row.text("ATTR_VALUE").to_owned());
        }
    }
    clients
}

/// What to say to a library that is known by its name.
fn say(names: &[String]) -> Option<&'static str> {
    let known = |name: &String| {
        let name = name.to_ascii_lowercase();
        let mut all = CONNECTORS.iter().filter(|(part, ..)| !part.is_empty());
        all.find(|(part, ..)| name.contains(part))
            .map(|(.., say)| *say)
    };
    names.iter().find_map(known)
}

fn findings(rows: &Rows, questions: u64, clients: &BTreeMap<String, Vec<String>>) -> Markup {
    let wasted: u64 = rows
        .iter()
        .map(|row| row.number("round_trips_wasted"))
        .sum();
    let share = wasted as f64 * 100.0 / questions.max(1) as f64;
    let none = Vec::new();
    let row = |(n, row): (usize, Row<'_>)| {
        let names = clients.get(row.text("user_host")).unwrap_or(&none);
        let is_waste = row.text("kind") == "single select";
        html! {
            td { (row.text("user_host"))
                @if !names.is_empty() { div.note { (names.join(", ")) } } }
            td { (row.text("kind")) }
            (page::statement(row.text("query"), &format!("a{n}")))
            (page::number(page::grouped(row.number("occurrences"))))
            (page::number(page::grouped(row.number("round_trips_wasted"))))
            (page::number(page::nanos(row.number("total_ms") * 1_000_000)))
            (page::number(page::nanos(row.number("max_ms") * 1_000_000)))
            td { (row.text("advice"))
                @if let Some(say) = say(names).filter(|_| is_waste) { div { code { (say) } } } }
        }
    };
    html! {
        @if wasted > 0 {
            p.verdict { (page::grouped(wasted)) " of " (page::grouped(questions)) " round trips ("
                (format!("{share:.0}%")) ") only began and ended transactions that nobody needs." }
        }
        (page::table(
            "What clients do with transactions that costs them, or others",
            &["Who", "What", "Statement", "Times", "Round trips", "Time", "Longest", "Advice"],
            rows.iter().enumerate().map(row).collect(),
            "Nothing to say: nobody wastes transactions, or you may not see who does.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_known_by_its_name() {
        let names = |name: &str| vec![name.to_owned()];
        assert_eq!(say(&names("PyMySQL")), Some("connect(autocommit=True)"));
        assert!(say(&names("MySQL Connector/J")).is_some_and(|say| say.contains("HikariCP")));
        assert_eq!(say(&names("shop")), None);
        assert_eq!(say(&[]), None);
    }
}
