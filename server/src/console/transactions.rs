//! Global transactions: which there are, what each waits for, and who drives them.

use super::{
    desk::Desk,
    page::{self, Page, View},
};
use cohort_coordinator::Operator;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

/// Who may read these tables, with all their columns, sees global transactions; who may write all of
/// that may change them.
const TABLES: [&str; 7] = [
    "global_transactions",
    "branches",
    "attempts",
    "operations",
    "changes",
    "end_webhooks",
    "topics",
];

fn read(table: &str) -> String {
    format!("SELECT * FROM cohort.{table} LIMIT 0")
}

/// The coordinator, for who may see what it does.
pub fn operator<'a>(view: &View<'a>) -> Result<&'a Operator, Markup> {
    let Some(operator) = &view.console.operator else {
        return Err(html! {
            p.note { "No coordinator of global transactions runs in this server; its error log says why, if \
                it was wanted." }
        });
    };
    if !TABLES.iter().all(|table| view.desk.may(&read(table))) {
        return Err(html! {
            p.trouble { "Not shown: you need SELECT on " code { "cohort.*" } "." }
        });
    }
    Ok(operator)
}

/// Whether somebody may change them.
pub fn may_change(desk: &Desk) -> bool {
    let may_write = |table: &str| {
        // Where the tables are elsewhere, their names are all that privileges are about.
        let columns = desk.ask(&read(table)).map(|rows| rows.names);
        let columns = columns.unwrap_or_else(|_| vec!["gid".to_owned()]);
        let same = columns.iter().map(|name| format!("`{name}` = `{name}`"));
        let same: Vec<String> = same.collect();
        // It changes nothing.
        desk.may(&format!(
            "EXPLAIN UPDATE cohort.{table} SET {}",
            same.join(", ")
        ))
    };
    TABLES.iter().all(|table| may_write(table))
}

/// A member of an answer, as a text.
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("")
}

/// The members of a list in an answer.
pub fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// How long ago a time was, by the time of the answer that has it.
pub fn ago(answer: &Value, time: &str) -> String {
    Operator::age(time, text(answer, "time")).map_or(String::new(), |age| page::age(age.as_secs()))
}

/// Filters that are words.
const WORDS: [&str; 6] = ["prefix", "status", "trans_type", "host", "since", "until"];
/// And that are there or not.
const MARKS: [&str; 3] = ["unfinished", "dead", "paused"];

/// What is asked for, as `cohort tx list` asks.
fn filter(view: &View<'_>) -> Value {
    let mut fields = Map::new();
    let is_first = view.request.query.is_empty();
    for name in WORDS {
        let word = view.query(name).trim();
        if !word.is_empty() {
            fields.insert(name.to_owned(), word.into());
        }
    }
    for name in MARKS {
        // Whoever comes first wants to see what does not go on.
        if !view.query(name).is_empty() || (is_first && name == "unfinished") {
            fields.insert(name.to_owned(), true.into());
        }
    }
    fields.insert("limit".to_owned(), 100.into());
    Value::Object(fields)
}

pub fn page(view: &View<'_>) -> Page {
    let operator = match operator(view) {
        Ok(operator) => operator,
        Err(why) => return Page::still(why),
    };
    let live = html! {
        (groups(operator))
        (list(view, operator))
        (drivers(operator))
        (topics(operator))
    };
    Page::new(form(view), live)
}

fn form(view: &View<'_>) -> Markup {
    let option = |name: &str, value: &str, words: &str| {
        html! { option value=(value) selected[view.query(name) == value] { (words) } }
    };
    let is_first = view.request.query.is_empty();
    html! {
        form.filter method="get" action="/transactions" aria-label="Filter" {
            label { "gid begins with" input name="prefix" value=(view.query("prefix")); }
            label { "waits for host" input name="host" value=(view.query("host")); }
            label { "status" select name="status" {
                (option("status", "", "any"))
                @for status in ["prepared", "submitted", "aborting", "succeed", "failed"] { (option("status", status, status)) }
            } }
            label { "kind" select name="trans_type" {
                (option("trans_type", "", "any"))
                @for kind in ["saga", "tcc", "xa", "msg", "workflow"] { (option("trans_type", kind, kind)) }
            } }
            label { "since, such as 2h" input name="since" size="8" value=(view.query("since")); }
            @for name in MARKS {
                span { input type="checkbox" id={ "m-" (name) } name=(name) value="1"
                    checked[!view.query(name).is_empty() || (is_first && name == "unfinished")];
                    " " label for={ "m-" (name) } { (name) } }
            }
            button name="shown" value="1" { "Show" }
        }
    }
}

fn refused(why: &str) -> Markup {
    html! { p.trouble { "Not shown: " (why) } }
}

/// Who is waited for: the first thing to know when much hangs.
fn groups(operator: &Operator) -> Markup {
    let answer = match operator.ask("list", &json!({ "group_by": "host", "limit": 100 })) {
        Ok(answer) => answer,
        Err(why) => return refused(&why),
    };
    let row = |group: &Value| {
        let host = text(group, "group");
        html! {
            td { @if host.is_empty() { "nobody: a time, or a client" }
                @else { a id={ "h-" (host) } href={ "/transactions?unfinished=1&host=" (page::escaped(host)) } { (host) } } }
            (page::number(page::grouped(group["count"].as_u64().unwrap_or(0))))
            (page::number(page::grouped(group["dead"].as_u64().unwrap_or(0))))
            (page::number(ago(&answer, text(group, "oldest_time"))))
            td { (text(group, "last_error")) }
        }
    };
    page::table(
        "What unfinished transactions wait for",
        &[
            "Host",
            "Transactions",
            "Dead letters",
            "Oldest",
            "Last error",
        ],
        items(&answer, "groups").iter().map(row).collect(),
        "No transaction is unfinished.",
    )
}

/// A status, and what holds it up.
pub fn status(transaction: &Value) -> Markup {
    html! {
        (text(transaction, "status"))
        @if !text(transaction, "dead_time").is_empty() { ", " strong { "dead letter" } }
        @if !text(transaction, "pause_time").is_empty() { ", " strong { "paused" } }
    }
}

fn list(view: &View<'_>, operator: &Operator) -> Markup {
    let answer = match operator.ask("list", &filter(view)) {
        Ok(answer) => answer,
        Err(why) => return refused(&why),
    };
    let row = |one: &Value| {
        let gid = text(one, "gid");
        let awaited = items(one, "waits_for");
        let first = awaited.first().unwrap_or(&Value::Null);
        html! {
            td { a id={ "g-" (gid) } href={ "/transaction?gid=" (page::escaped(gid)) } { (gid) } }
            td { (text(one, "trans_type")) }
            td { (status(one)) }
            (page::number(ago(&answer, text(one, "create_time"))))
            td { (text(first, "branch_id")) " " (text(first, "op")) " " (text(first, "host"))
                @if awaited.len() > 1 { " and " (awaited.len() - 1) " more" } }
            (page::number(first["attempts"].as_u64().map_or(String::new(), page::grouped)))
            td { (text(first, "last_error")) }
        }
    };
    let rows: Vec<Markup> = items(&answer, "transactions").iter().map(row).collect();
    let (shown, found) = (rows.len() as u64, answer["found"].as_u64().unwrap_or(0));
    html! {
        (page::table(
            "Transactions, the newest first",
            &["gid", "Kind", "Status", "Age", "Waits for", "Calls", "Last error"],
            rows,
            "None is like that.",
        ))
        @if shown < found || answer["has_more"] == true {
            p.note { (page::grouped(shown)) " of " @if answer["has_more"] == true { "more than " } (page::grouped(found)) " shown." }
        }
    }
}

/// Coordinators, and whether they live.
fn drivers(operator: &Operator) -> Markup {
    let answer = match operator.ask("coordinators", &json!({})) {
        Ok(answer) => answer,
        Err(why) => return refused(&why),
    };
    let driving = answer["driving"].as_u64().unwrap_or(0);
    let row = |one: &Value| {
        let silent = one["silent_seconds"].as_u64().unwrap_or(0);
        html! {
            td { (text(one, "name")) } (page::number(&one["id"])) td { (text(one, "started")) }
            (page::number(page::age(silent)))
            td { @if one["is_dead"] == true { "has left, or was declared dead" } @else { "lives" } }
        }
    };
    html! {
        h2 { "Who drives them" }
        p { "This coordinator drives " (driving) " transactions now." }
        @if answer["is_shared"] == true {
            (page::table("Coordinators on the same tables",
                &["Listens at", "Number", "Since", "Last beat ago", "State"],
                items(&answer, "coordinators").iter().map(row).collect(), "None is known."))
        }
    }
}

fn topics(operator: &Operator) -> Markup {
    let answer = match operator.look_up("scanKV", &[("cat", "topics")]) {
        Ok(answer) => answer,
        Err(why) => return refused(&why),
    };
    let row = |topic: &Value| {
        let subscribers: Value = serde_json::from_str(text(topic, "v")).unwrap_or_default();
        let subscribers = subscribers.as_array().cloned().unwrap_or_default();
        html! {
            td { (text(topic, "k")) }
            td { ul { @for one in &subscribers { li { (text(one, "url")) " " (text(one, "remark")) } } } }
        }
    };
    page::table(
        "Topics",
        &["Topic", "Subscribers"],
        items(&answer, "kv").iter().map(row).collect(),
        "There are none.",
    )
}
