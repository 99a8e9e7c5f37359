//! One global transaction: why it hangs, what happened to it, and what can be done.

use super::{
    Console,
    desk::Desk,
    page::{self, Page, View},
    transactions::{ago, items, may_change, operator, status, text},
};
use cohort_coordinator::{Operator, PageReply, PageRequest};
use maud::{Markup, html};
use serde_json::{Value, json};
use std::sync::Arc;

pub fn page(view: &View<'_>) -> Page {
    let operator = match operator(view) {
        Ok(operator) => operator,
        Err(why) => return Page::still(why),
    };
    let with_payloads = !view.query("payloads").is_empty();
    let fields = json!({ "gid": view.query("gid"), "payloads": with_payloads });
    let answer = match operator.ask("show", &fields) {
        Ok(answer) => answer,
        Err(why) => return Page::still(html! { p.trouble { (why) } }),
    };
    // What may be typed into stays as it is, between why it hangs and what happened.
    Page {
        below: Some((actions(view, &answer), shown(view, &answer))),
        ..Page::live(hangs(&answer))
    }
}

fn shown(view: &View<'_>, answer: &Value) -> Markup {
    let summary = &answer["summary"];
    html! {
        (branches(answer))
        (timeline(answer))
        (attempts(answer))
        (payloads(view, answer))
        details #all { summary { "All that is known of it" }
            dl { @for (name, value) in answer["transaction"].as_object().into_iter().flatten() {
                dt { (name) } dd { code { (value.as_str().map_or_else(|| value.to_string(), str::to_owned)) } }
            } }
        }
        p.note { "Status " (text(summary, "status")) " at " (text(answer, "time")) "." }
    }
}

/// Why it does not go on, and what helps.
fn hangs(answer: &Value) -> Markup {
    let summary = &answer["summary"];
    let awaited = items(summary, "waits_for");
    let is_dead = !text(summary, "dead_time").is_empty();
    let is_paused = !text(summary, "pause_time").is_empty();
    let is_over = ["succeed", "failed"].contains(&text(summary, "status"));
    html! {
        p { code { (text(summary, "gid")) } ": " (text(summary, "trans_type")) ", " (status(summary)) ", "
            (ago(answer, text(summary, "create_time"))) " old." }
        @if is_over { p.well { "It has ended." } }
        @else if is_paused { p.verdict { "Somebody has paused it: Resume lets it go on." } }
        @for one in awaited {
            div.verdict {
                strong { "Waits for " (text(one, "op")) " of branch " (text(one, "branch_id")) " at " (text(one, "host")) }
                ", after " (one["attempts"].as_u64().unwrap_or(0)) " calls"
                @if !text(one, "last_error").is_empty() { ", the last of which ended with: " code { (text(one, "last_error")) } }
                "."
                div { (helps(is_dead, text(one, "op"), text(one, "next_call"))) }
            }
        }
        @if !text(summary, "waits_until").is_empty() {
            p.verdict { "Nothing is to be done before " (text(summary, "waits_until")) "." }
        }
    }
}

fn helps(is_dead: bool, op: &str, next: &str) -> Markup {
    html! {
        @if is_dead { "It is a dead letter, and not called again by itself: when the service is mended, Retry. " }
        @else if !next.is_empty() { "It is called again at " (next) "; Retry does it at once. " }
        @if op == "action" { "If it was done in another way, Skip counts it as done; Compensate undoes the transaction." }
        @else if op == "query_prepared" { "Its client does not say whether it was meant: Force decides it." }
        @else { "If that was done in another way, Skip counts it as done." }
    }
}

fn branches(answer: &Value) -> Markup {
    let row = |one: &Value| {
        html! {
            td { (text(one, "branch_id")) } td { (text(one, "op")) } td { (text(one, "status")) }
            (page::number(one["attempts"].as_u64().unwrap_or(0)))
            td { code { (text(one, "url")) } } td { (text(one, "last_error")) }
        }
    };
    page::table(
        "Branches",
        &[
            "Branch",
            "Operation",
            "Status",
            "Calls",
            "Address",
            "Last error",
        ],
        items(answer, "branches").iter().map(row).collect(),
        "It has none.",
    )
}

/// Calls as bars in time, each branch in a row of its own.
fn timeline(answer: &Value) -> Markup {
    const WIDTH: f64 = 760.0;
    const LEFT: f64 = 130.0;
    const ROW: f64 = 20.0;
    let now = text(answer, "time");
    let begun = text(&answer["summary"], "create_time");
    let at = |time: &str| Operator::age(begun, time).map_or(0, |age| age.as_micros());
    let attempts = items(answer, "attempts");
    let end =
        |one: &Value| at(text(one, "time")) + u128::from(one["duration_us"].as_u64().unwrap_or(0));
    let is_over = ["succeed", "failed"].contains(&text(&answer["summary"], "status"));
    let last = attempts.iter().map(end).max().unwrap_or(0);
    let whole = if is_over {
        last.max(at(text(&answer["summary"], "update_time")))
    } else {
        at(now).max(last)
    };
    let scale = (WIDTH - LEFT) / whole.max(1) as f64;
    let mut names: Vec<String> = Vec::new();
    for one in attempts {
        let name = format!("{} {}", text(one, "branch_id"), text(one, "op"));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return html! {};
    }
    let height = names.len() as f64 * ROW + 16.0;
    let bars = attempts.iter().map(|one| {
        let name = format!("{} {}", text(one, "branch_id"), text(one, "op"));
        let row = names.iter().position(|known| *known == name).unwrap_or(0) as f64;
        let wide = one["duration_us"].as_u64().unwrap_or(0) as f64 * scale;
        let class = if text(one, "result") == "error" {
            "b5"
        } else {
            "b4"
        };
        (
            row * ROW,
            LEFT + at(text(one, "time")) as f64 * scale,
            wide.max(2.0),
            class,
            one,
        )
    });
    html! {
        h2 { "Timeline" }
        svg.gantt viewBox={ "0 0 " (WIDTH) " " (height) } role="img"
            aria-label="Calls of each branch in time; the table below has the same" {
            @for (n, name) in names.iter().enumerate() {
                text.scale x="0" y=(n as f64 * ROW + 13.0) { (name) }
                rect.track x=(LEFT) y=(n as f64 * ROW + 3.0) width=(WIDTH - LEFT) height=(ROW - 6.0) {}
            }
            @for (y, x, wide, class, one) in bars {
                rect class=(class) x=(x) y=(y + 3.0) width=(wide) height=(ROW - 6.0) {
                    title { (text(one, "result")) " " (page::nanos(one["duration_us"].as_u64().unwrap_or(0) * 1000)) }
                }
            }
            text.scale x=(LEFT) y=(height - 3.0) { "begin" }
            text.scale x=(WIDTH) y=(height - 3.0) text-anchor="end" { (page::nanos(u64::try_from(whole).unwrap_or(u64::MAX).saturating_mul(1000))) }
        }
    }
}

/// All that happened, in order.
fn attempts(answer: &Value) -> Markup {
    let mut rows: Vec<(&str, Markup)> = Vec::new();
    for one in items(answer, "changes") {
        let (from, to) = (text(one, "from"), text(one, "to"));
        rows.push((text(one, "time"), html! {
            td { @if from.is_empty() { "known as " (to) } @else if from == to { (to) } @else { (from) " \u{2192} " (to) } }
            td {} td { "by " (text(one, "cause")) } td {} td { (text(one, "reason")) }
        }));
    }
    for one in items(answer, "attempts") {
        rows.push((text(one, "time"), html! {
            td { "call " (text(one, "op")) } td { (text(one, "branch_id")) } td { (text(one, "result")) }
            (page::number(page::nanos(one["duration_us"].as_u64().unwrap_or(0) * 1000))) td { (text(one, "error")) }
        }));
    }
    for one in items(answer, "operations") {
        rows.push((text(one, "time"), html! {
            td { strong { (text(one, "operation")) " " (text(one, "op")) } } td { (text(one, "branch_id")) }
            td { "by " (text(one, "operator")) } td { (text(one, "from")) " \u{2192} " (text(one, "to")) }
            td { (text(one, "reason")) }
        }));
    }
    rows.sort_by_key(|(time, _)| *time);
    let rows = rows
        .into_iter()
        .map(|(time, cells)| html! { td { (time) } (cells) });
    page::table(
        "What happened",
        &["When", "What", "Branch", "Result", "Took", "Why"],
        rows.collect(),
        "",
    )
}

fn payloads(view: &View<'_>, answer: &Value) -> Markup {
    let gid = page::escaped(view.query("gid"));
    html! {
        @if view.query("payloads").is_empty() {
            p { a #payloads href={ "/transaction?payloads=1&gid=" (gid) } { "Show what is sent to its branches, and what they answered" } }
        } @else {
            h2 { "Payloads" }
            @for one in items(answer, "branches") {
                h2 { (text(one, "branch_id")) " " (text(one, "op")) }
                @for name in ["payload", "answer"] {
                    @if !one[name].is_null() {
                        pre { (name) ": " (one[name].as_str().map_or_else(|| one[name].to_string(), str::to_owned)) }
                    }
                }
            }
        }
    }
}

/// A form that changes it.
fn action(view: &View<'_>, name: &str, words: &str, fields: Markup) -> Markup {
    html! {
        form.change method="post" action="/change" data-confirm={ (words) " this transaction?" } {
            (view.csrf())
            input type="hidden" name="gid" value=(view.query("gid"));
            input type="hidden" name="operation" value=(name);
            (fields)
            label { span.hidden { "Why, to " (words) } input id={ "why-" (name) } name="reason" placeholder="why, for the record" required maxlength="1000"; }
            button id={ "do-" (name) } { (words) }
        }
    }
}

fn actions(view: &View<'_>, answer: &Value) -> Markup {
    if !may_change(view.desk) {
        return html! { p.note { "To change it you need UPDATE on " code { "cohort.*" } "." } };
    }
    let open = items(answer, "branches").iter();
    let open: Vec<&Value> = open
        .filter(|one| text(one, "status") == "prepared")
        .collect();
    let nothing = || html! {};
    html! {
        details #actions open {
            summary { "What to do" }
            (action(view, "retry", "Retry", nothing()))
            @if !open.is_empty() {
                (action(view, "skip", "Skip", html! {
                    label { span.hidden { "Branch" } select name="branch" {
                        @for one in &open {
                            option value={ (text(one, "branch_id")) " " (text(one, "op")) } { (text(one, "branch_id")) " " (text(one, "op")) }
                        }
                    } }
                }))
            }
            (action(view, "compensate", "Compensate", nothing()))
            (action(view, "force", "Force", html! {
                label { span.hidden { "Status" } select name="to" {
                    @for to in ["submitted", "aborting", "succeed", "failed"] { option { (to) } }
                } }
            }))
            @if text(&answer["summary"], "pause_time").is_empty() { (action(view, "pause", "Pause", nothing())) }
            @else { (action(view, "resume", "Resume", nothing())) }
            p.note { "Each is recorded with its reason and your name. Force undoes nothing." }
        }
    }
}

/// POST /change: what `cohort tx` does, for one transaction.
pub fn change(console: &Arc<Console>, desk: &Arc<Desk>, request: &PageRequest) -> PageReply {
    const OPERATIONS: [&str; 6] = ["retry", "skip", "compensate", "force", "pause", "resume"];
    let view = View::new(console, desk, request);
    let word = |name: &str| request.form.get(name).map_or("", |value| value.trim());
    let operator = match operator(&view) {
        Ok(operator) => operator,
        Err(why) => return page::framed(&view, "Nothing was changed", why),
    };
    if !may_change(desk) {
        return page::refused(
            403,
            "To change global transactions you need UPDATE on cohort.*.",
        );
    }
    let Some(name) = OPERATIONS
        .into_iter()
        .find(|known| *known == word("operation"))
    else {
        return page::refused(400, "What is to be done?");
    };
    let mut fields = json!({ "gid": word("gid"), "reason": word("reason"), "operator": desk.user });
    match name {
        "skip" => {
            let (branch, op) = word("branch").split_once(' ').unwrap_or_default();
            fields["branch_id"] = branch.into();
            fields["op"] = op.into();
        }
        "force" => fields["to"] = word("to").into(),
        _ => {}
    }
    let back = format!("/transaction?gid={}", page::escaped(word("gid")));
    match operator.ask(name, &fields) {
        Ok(_) => page::go_to(&back),
        Err(why) => {
            let said = html! { p.trouble { (why) } p { a href=(back) { "Back" } } };
            page::framed(&view, "Nothing was changed", said)
        }
    }
}
