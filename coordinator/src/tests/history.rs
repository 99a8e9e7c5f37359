//! What is kept of a transaction: its dead letter, its history, and for how long.

use super::{
    Machine, Server, options,
    participant::{Answer, exchange, serve},
    xa::{sql, sql_within},
};
use cohort_engine::{env::fake::Disk, types::Value};
use serde_json::{Value as Json, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

fn saga(server: &Server, gid: &str, port: u16) {
    let url = format!("http://127.0.0.1:{port}/x");
    let steps = json!([{ "action": url, "compensate": url }]);
    let request = json!({ "gid": gid, "trans_type": "saga", "steps": steps });
    assert_eq!(server.post("submit", &request).0, 200);
}

pub fn by_hand(server: &Server, name: &str, body: &Json) -> Json {
    let path = format!("/api/cohort/{name}");
    let (status, answer) = exchange(server.port, "POST", &path, &[], &body.to_string());
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).expect("JSON")
}

pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < super::PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_dead_letter_waits_for_an_operator_across_restarts() {
    let works = Arc::new(AtomicBool::new(false));
    let is_working = Arc::clone(&works);
    let port = serve(move |_| match is_working.load(Ordering::Relaxed) {
        true => Answer::ok(),
        false => Answer::Status(500, "x".repeat(100_000)),
    });
    let mut options = options();
    options.rules.dead_letter_after = 3;
    let machine = Machine::new(Disk::new(1));
    let server = Server::start(&machine, options.clone()).expect("a server");
    saga(&server, "g", port);
    let dead = json!({ "dead": true });
    let dead_letters = |server: &Server| {
        let listed = by_hand(server, "list", &dead);
        listed["transactions"].as_array().map_or(0, Vec::len)
    };
    wait_until("no dead letter", || dead_letters(&server) == 1);
    drop(server);
    let server = Server::start(&machine, options).expect("a server");
    assert_eq!(
        (dead_letters(&server), server.status("g").as_str()),
        (1, "submitted")
    );
    works.store(true, Ordering::Relaxed);
    let found = by_hand(&server, "retry", &json!({ "dead": true, "dry_run": true }));
    let order = json!({ "transactions": found["transactions"], "operator": "ann",
        "reason": "mended" });
    assert_eq!(by_hand(&server, "retry", &order)["done"], json!(["g"]));
    server.wait_for("g", &["succeed"]);
    let shown = by_hand(&server, "show", &json!({ "gid": "g" }));
    let attempts = shown["attempts"].as_array().expect("attempts");
    let results: Vec<_> = attempts.iter().map(|attempt| &attempt["result"]).collect();
    assert_eq!(results, ["error", "error", "error", "success"]);
    let error = attempts[0]["error"].as_str().expect("text");
    assert!(
        error.starts_with("status 500: xxx") && error.len() <= 1_000,
        "{error}"
    );
    let operation = &shown["operations"][0];
    assert_eq!(operation["operator"], "ann");
    assert_eq!(operation["reason"], "mended");
    assert_eq!(operation["operation"], "retry");
}

#[test]
fn what_the_store_refuses_is_a_dead_letter_in_time() {
    const ALTER: &str = "ALTER TABLE cohort.branches MODIFY COLUMN answer";
    let calls = Arc::new(AtomicUsize::new(0));
    let called = Arc::clone(&calls);
    let port = serve(move |visit| {
        called.fetch_add(1, Ordering::Relaxed);
        match visit.of("op") {
            "action" => Answer::Status(200, "a".repeat(70_000)),
            _ => Answer::ok(),
        }
    });
    let mut options = options();
    options.rules.dead_letter_after = 3;
    let server = Server::start(&Machine::new(Disk::new(1)), options).expect("a server");
    sql_within(&server.instance, &[&format!("{ALTER} TEXT NOT NULL")]).expect("altered");
    let url = format!("http://127.0.0.1:{port}/x");
    let request = json!({ "gid": "g", "trans_type": "saga", "pass_results": true,
        "steps": [{ "action": url, "compensate": url }] });
    assert_eq!(server.post("submit", &request).0, 200);
    let listed = || by_hand(&server, "list", &json!({ "dead": true }));
    wait_until("no dead letter", || {
        listed()["transactions"]
            .as_array()
            .is_some_and(|l| l.len() == 1)
    });
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    let error = "SELECT last_error FROM cohort.branches WHERE gid = 'g' AND errors = 3";
    let error = sql(&server.instance, &[error]).expect("a row");
    let Some(Value::Bytes(error)) = error else {
        panic!("{error:?}");
    };
    let error = String::from_utf8(error).expect("text");
    assert!(error.starts_with("the store refuses it: "), "{error}");
    // With room for it, it succeeds.
    sql_within(&server.instance, &[&format!("{ALTER} LONGTEXT NOT NULL")]).expect("altered");
    let order = json!({ "gid": "g", "operator": "ann", "reason": "mended" });
    by_hand(&server, "retry", &order);
    server.wait_for("g", &["succeed"]);
    assert_eq!(calls.load(Ordering::Relaxed), 4);
}

#[test]
fn what_has_ended_is_removed_in_time_and_nothing_else() {
    let machine = Machine::new(Disk::new(1));
    let mut options = options();
    let is_first = AtomicBool::new(true);
    // So that there is a row of the branch and of the attempt.
    let port = serve(move |_| match is_first.swap(false, Ordering::Relaxed) {
        true => Answer::Status(500, String::new()),
        false => Answer::ok(),
    });
    options.finished_expire = None;
    let server = Server::start(&machine, options.clone()).expect("a server");
    saga(&server, "ended", port);
    server.wait_for("ended", &["succeed"]);
    let prepared = json!({ "gid": "waiting", "trans_type": "tcc", "timeout_to_fail": 999 });
    assert_eq!(server.post("prepare", &prepared).0, 200);
    drop(server);
    options.finished_expire = Some(1);
    options.tick = Duration::from_micros(100);
    let server = Server::start(&machine, options).expect("a server");
    wait_until("it stays", || server.status("ended").is_empty());
    for table in ["branches", "attempts"] {
        let count = format!("SELECT COUNT(*) FROM cohort.{table} WHERE gid = 'ended'");
        assert_eq!(
            sql(&server.instance, &[&count]).expect("a count"),
            Some(Value::Int(0))
        );
    }
    assert_eq!(server.status("waiting"), "prepared");
}

#[test]
fn somebody_is_told_of_what_comes_to_nothing_and_holds_nothing_up() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    // It takes the first alert late, and the second not at the first try.
    let webhook = serve(move |visit| {
        let alert: Json = serde_json::from_str(&visit.body).expect("JSON");
        let mut heard = heard.lock().expect("no panic");
        heard.push(alert);
        match heard.len() {
            1 => Answer::Silence(Duration::from_millis(500)),
            _ => Answer::ok(),
        }
    });
    let port = serve(|visit| match visit.of("op") {
        "action" => Answer::Status(500, "away".into()),
        _ => Answer::ok(),
    });
    let mut options = options();
    options.rules.dead_letter_after = 4;
    options.rules.alert_after = 3;
    options.alert_webhook = Some(format!("http://127.0.0.1:{webhook}/alerts"));
    let server = Server::start(&Machine::new(Disk::new(1)), options).expect("a server");
    saga(&server, "g", port);
    let is_dead = || {
        let (_, metrics) = server.get("/api/metrics");
        metrics.contains("cohort_transactions_dead{model=\"saga\"} 1\n")
            && metrics.contains("{model=\"saga\",status=\"submitted\"} 1\n")
    };
    wait_until("nobody counts dead letters", is_dead);
    assert!(
        told.lock().expect("no panic").len() <= 1,
        "driving waited for an alert"
    );
    wait_until("nobody is told", || {
        told.lock().expect("no panic").len() == 3
    });
    let alert = |retry_count: u64, dead_letter: bool| {
        json!({ "gid": "g", "status": "submitted", "branch": "01", "op": "action",
            "error": "status 500: away", "retry_count": retry_count, "dead_letter": dead_letter })
    };
    let wanted = [alert(3, false), alert(3, false), alert(4, true)];
    assert_eq!(*told.lock().expect("no panic"), wanted);
}

#[test]
fn branches_that_succeed_at_once_have_no_rows() {
    let port = serve(|_| Answer::ok());
    let machine = Machine::new(Disk::new(1));
    let server = Server::start(&machine, options()).expect("a server");
    saga(&server, "g", port);
    server.wait_for("g", &["succeed"]);
    let count = |server: &Server, what: &str| {
        let count = format!("SELECT COUNT(*) FROM cohort.{what}");
        sql(&server.instance, &[&count]).expect("a count")
    };
    let called = "global_transactions WHERE calls LIKE '[{%\"op\":\"action\"%}]'";
    assert_eq!(count(&server, "branches"), Some(Value::Int(0)));
    assert_eq!(count(&server, called), Some(Value::Int(1)));
    assert_eq!(count(&server, "attempts"), Some(Value::Int(0)));
    drop(server);
    // Nothing is lost by that: what has no rows is shown all the same.
    let server = Server::start(&machine, options()).expect("a server");
    let shown = by_hand(&server, "show", &json!({ "gid": "g" }));
    let attempts = shown["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    assert_eq!(
        (&attempts[0]["op"], &attempts[0]["result"]),
        (&json!("action"), &json!("success"))
    );
    let branches = shown["branches"].as_array().expect("branches");
    let told: Vec<_> = branches
        .iter()
        .map(|branch| (branch["op"].as_str(), branch["status"].as_str()))
        .collect();
    let (prepared, succeed) = (Some("prepared"), Some("succeed"));
    assert_eq!(
        told,
        [(Some("compensate"), prepared), (Some("action"), succeed)]
    );
    // Undone after all, the compensation is told of there, too.
    let order = json!({ "gid": "g", "operator": "ann", "reason": "a mistake" });
    by_hand(&server, "compensate", &order);
    server.wait_for("g", &["failed"]);
    let called = "global_transactions WHERE calls LIKE '[{%\"compensate\"%},{%\"action\"%}]'";
    assert_eq!(count(&server, "branches"), Some(Value::Int(0)));
    assert_eq!(count(&server, called), Some(Value::Int(1)));
}

#[test]
fn nobody_adds_branches_to_what_says_all_of_them() {
    let machine = Machine::new(Disk::new(1));
    let server = Server::start(&machine, options()).expect("a server");
    let steps = json!([{ "action": "http://127.0.0.1:1/x" }]);
    let message = json!({ "gid": "g", "trans_type": "msg", "steps": steps });
    assert_eq!(server.post("prepare", &message).0, 200);
    let branch = json!({
        "gid": "g", "trans_type": "workflow", "branch_id": "01", "op": "action",
        "status": "succeed",
    });
    assert_eq!(server.post("registerBranch", &branch).0, 400);
}
