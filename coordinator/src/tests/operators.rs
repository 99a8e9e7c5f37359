//! What operators see of many transactions, and do with them.

use super::{
    ENDED, Machine, PATIENCE, Server,
    history::by_hand,
    options,
    participant::{Answer, exchange, serve},
    xa::sql,
};
use cohort_engine::{env::fake::Disk, types::Value as Sql};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Asks until the answer is as it should be.
fn ask_until(server: &Server, name: &str, body: &Value, is_right: impl Fn(&Value) -> bool) {
    let begun = Instant::now();
    loop {
        let answer = by_hand(server, name, body);
        if is_right(&answer) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{answer}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn groups_show_which_service_is_down_and_lists_what_they_leave_out() {
    let away = || serve(|_| Answer::Status(500, "away".into()));
    let (bank, shop) = (away(), away());
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    // More than are looked into at once.
    for number in 0..130 {
        let port = if number < 100 { bank } else { shop };
        let url = format!("http://127.0.0.1:{port}/x");
        let request = json!({ "gid": format!("g{number:03}"), "trans_type": "saga",
            "retry_interval": 600, "steps": [{ "action": url, "compensate": url }] });
        assert_eq!(server.post("submit", &request).0, 200);
    }
    let group = |port: u16, count: u64, oldest: &str| {
        json!([
            format!("127.0.0.1:{port}"),
            count,
            0,
            oldest,
            "status 500: away"
        ])
    };
    let wanted = json!([group(bank, 100, "g000"), group(shop, 30, "g100")]);
    let fields = ["group", "count", "dead", "oldest_gid", "last_error"];
    ask_until(&server, "list", &json!({ "group_by": "host" }), |answer| {
        let groups = answer["groups"].as_array().expect("groups");
        let told = groups
            .iter()
            .map(|group| fields.map(|name| group[name].clone()));
        json!(told.collect::<Vec<_>>()) == wanted && answer["found"] == 130
    });
    let errors = json!({ "group_by": "error" });
    ask_until(&server, "list", &errors, |answer| {
        let groups = answer["groups"].as_array().expect("groups");
        groups.len() == 1 && groups[0]["count"] == 130
    });
    let of_shop = json!({ "host": format!("127.0.0.1:{shop}"), "limit": 20 });
    let listed = by_hand(&server, "list", &of_shop);
    let shown = listed["transactions"].as_array().expect("transactions");
    assert_eq!((shown.len(), &listed["found"]), (20, &json!(30)));
    // The newest first, across all that were looked into one after another.
    assert_eq!(
        (&shown[0]["gid"], &shown[19]["gid"]),
        (&json!("g129"), &json!("g110"))
    );
    let listed = by_hand(&server, "list", &json!({ "unfinished": true, "limit": 70 }));
    let shown = listed["transactions"].as_array().expect("transactions");
    assert_eq!((shown.len(), &listed["found"]), (70, &json!(130)));
    assert_eq!(
        (&shown[0]["gid"], &shown[69]["gid"]),
        (&json!("g129"), &json!("g060"))
    );

    // Without a confirmation nothing is changed by a filter; what ended meanwhile is refused.
    let found = by_hand(
        &server,
        "compensate",
        &json!({ "prefix": "g12", "dry_run": true }),
    );
    assert_eq!(found["found"], 10);
    let stop = json!({ "gid": "g121" });
    assert_eq!(server.post("forceStop", &stop).0, 200);
    let order = json!({ "transactions": found["transactions"], "operator": "ann",
        "reason": "the shop closed" });
    let changed = by_hand(&server, "compensate", &order);
    let why = "it was submitted, and is failed now; look again";
    assert_eq!(changed["refused"], json!([{ "gid": "g121", "why": why }]));
    assert_eq!(changed["done"].as_array().map(Vec::len), Some(9));
    assert_eq!(server.status("g119"), "submitted");
}

/// `cause from to`, and why, of each change of a transaction.
fn changes(server: &Server, gid: &str) -> Vec<String> {
    let shown = by_hand(server, "show", &json!({ "gid": gid }));
    let changes = shown["changes"].as_array().expect("changes");
    let told = changes.iter().map(|change| {
        let words = ["cause", "from", "to", "reason"];
        let words = words.map(|name| change[name].as_str().unwrap_or(""));
        words.join(" ").trim().to_owned()
    });
    told.collect()
}

fn rows(server: &Server, table: &str) -> Option<Sql> {
    let count = format!("SELECT COUNT(*) FROM cohort.{table}");
    sql(&server.instance, &[&count]).expect("a count")
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}/x")
}

fn steps(port: u16) -> Value {
    json!([{ "action": url(port), "compensate": url(port) }])
}

fn send(server: &Server, name: &str, body: &Value) {
    let (status, answer) = server.post(name, body);
    assert_eq!(status, 200, "{body}: {answer}");
}

#[test]
fn a_timeline_begins_at_the_beginning_and_costs_what_goes_well_no_rows() {
    let good = serve(|_| Answer::ok());
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    let saga = json!({ "gid": "good", "trans_type": "saga", "steps": steps(good) });
    send(&server, "submit", &saga);
    server.wait_for("good", &["succeed"]);
    let end = "coordinator submitted succeed";
    assert_eq!(changes(&server, "good"), ["submit  submitted", end]);
    let tcc = json!({ "gid": "tcc", "trans_type": "tcc", "branch_id": "01",
        "confirm": url(good), "cancel": url(good) });
    for name in ["prepare", "registerBranch", "submit"] {
        send(&server, name, &tcc);
    }
    server.wait_for("tcc", &["succeed"]);
    let well = ["prepare  prepared", "submit prepared submitted", end];
    assert_eq!(changes(&server, "tcc"), well);
    for table in ["changes", "attempts", "operations"] {
        assert_eq!(rows(&server, table), Some(Sql::Int(0)), "{table}");
    }

    // Payloads only for whoever wants them.
    let paid = json!({ "gid": "paid", "trans_type": "saga", "steps": steps(good),
        "payloads": ["{\"n\":1}"], "pass_results": true, "wait_result": true });
    send(&server, "submit", &paid);
    let shown = by_hand(&server, "show", &json!({ "gid": "paid" }));
    let has = |name: &str| !shown["branches"][1][name].is_null();
    assert!(!has("payload") && !has("bin_data") && !has("answer"));
    let shown = by_hand(&server, "show", &json!({ "gid": "paid", "payloads": true }));
    assert_eq!(shown["branches"][1]["payload"], "{\"n\":1}");
    let answer = r#"{"dtm_result":"SUCCESS"}"#;
    assert_eq!(shown["branches"][1]["answer"], answer);
}

#[test]
fn a_timeline_tells_what_was_unusual_and_why() {
    let good = serve(|_| Answer::ok());
    let no = serve(|visit| match visit.of("op") {
        "action" | "msg" => Answer::Status(409, "no".into()),
        _ => Answer::ok(),
    });
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    let known = "prepare  prepared";
    let undone = "coordinator aborting failed";
    let saga = json!({ "gid": "bad", "trans_type": "saga", "steps": steps(no) });
    send(&server, "submit", &saga);
    server.wait_for("bad", &["failed"]);
    let why = format!(
        "coordinator submitted aborting url:{} return failed: no",
        url(no)
    );
    assert_eq!(changes(&server, "bad"), ["submit  submitted", &why, undone]);

    for (gid, asked) in [("asked", good), ("denied", no)] {
        let message = json!({ "gid": gid, "trans_type": "msg", "steps": steps(good),
            "query_prepared": url(asked), "timeout_to_fail": 0.001 });
        send(&server, "prepare", &message);
        server.wait_for(gid, ENDED);
    }
    let asked = "query_prepared prepared submitted";
    let told = [known, asked, "coordinator submitted succeed"];
    assert_eq!(changes(&server, "asked"), told);
    let why = format!(
        "query_prepared prepared failed url:{} return failed: no",
        url(no)
    );
    assert_eq!(changes(&server, "denied"), [known, &why]);

    let late = json!({ "gid": "late", "trans_type": "tcc", "timeout_to_fail": 0.001 });
    send(&server, "prepare", &late);
    server.wait_for("late", &["failed"]);
    let why = "coordinator prepared aborting Timeout after 0.001 seconds";
    assert_eq!(changes(&server, "late"), [known, why, undone]);
    let stop = json!({ "gid": "stop", "trans_type": "xa", "rollback_reason": "why not" });
    send(&server, "prepare", &stop);
    send(&server, "abort", &stop);
    server.wait_for("stop", &["failed"]);
    let why = "abort prepared aborting why not";
    assert_eq!(changes(&server, "stop"), [known, why, undone]);
}

/// Changes one transaction.
fn operate(server: &Server, operation: &str, gid: &str) {
    let order = json!({ "gid": gid, "operator": "ann", "reason": "the bank moves" });
    assert_eq!(by_hand(server, operation, &order)["done"], json!([gid]));
}

#[test]
fn what_is_paused_waits_across_restarts_and_remembers_its_client() {
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let port = serve(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(10));
        Answer::ok()
    });
    let url = format!("http://127.0.0.1:{port}/x");
    let machine = Machine::new(Disk::new(1));
    let server = Server::start(&machine, options()).expect("a server");
    // More than can be called while a test waits: it is paused on its way.
    let steps = vec![json!({ "action": url, "compensate": url }); 3_000];
    let saga = json!({ "gid": "saga", "trans_type": "saga", "steps": steps });
    assert_eq!(server.post("submit", &saga).0, 200);
    let tcc = json!({ "gid": "tcc", "trans_type": "tcc" });
    let branch = json!({ "gid": "tcc", "trans_type": "tcc", "branch_id": "01", "confirm": url,
        "cancel": url });
    assert_eq!(server.post("prepare", &tcc).0, 200);
    operate(&server, "pause", "tcc");
    assert_eq!(server.post("registerBranch", &branch).0, 200);
    while calls.load(Ordering::SeqCst) < 3 {
        thread::sleep(Duration::from_millis(2));
    }
    operate(&server, "pause", "saga");
    let made = calls.load(Ordering::SeqCst);
    assert!(made < 3_000 && server.status("saga") == "submitted");
    let is_paused = |server: &Server| {
        let listed = by_hand(server, "list", &json!({ "paused": true }));
        let all = listed["transactions"].as_array().expect("transactions");
        all.len() == 2 && all.iter().all(|one| one["pause_time"].is_string())
    };
    assert!(is_paused(&server));
    drop(server);
    let server = Server::start(&machine, options()).expect("a server");
    assert!(is_paused(&server));
    assert_eq!(server.post("submit", &tcc).0, 200, "it is remembered");
    let again = json!({ "gid": "saga", "trans_type": "saga", "steps": [] });
    assert_eq!(server.post("submit", &again).0, 200);
    let run_now = json!({ "gid": "saga" });
    assert_eq!(server.post("resetNextCronTime", &run_now).0, 200);
    let begun = Instant::now();
    while !server
        .get("/api/metrics")
        .1
        .contains("cohort_transactions_paused{model=\"saga\"} 1")
    {
        assert!(begun.elapsed() < PATIENCE, "nobody counts what is paused");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(calls.load(Ordering::SeqCst), made, "it was called");
    assert_eq!(server.status("tcc"), "submitted");
    operate(&server, "resume", "tcc");
    server.wait_for("tcc", &["succeed"]);
    operate(&server, "resume", "saga");
    while calls.load(Ordering::SeqCst) < made + 3 {
        assert!(begun.elapsed() < PATIENCE, "it does not go on");
        thread::sleep(Duration::from_millis(2));
    }
    operate(&server, "pause", "saga");
    let order = json!({ "gid": "saga", "to": "failed", "operator": "ann", "reason": "enough" });
    by_hand(&server, "force", &order);
    assert_eq!(
        by_hand(&server, "list", &json!({ "paused": true }))["found"],
        0
    );
}

/// A call that hangs holds up no pause, and no other change for longer than a little; what was not
/// done then is not done later.
#[test]
fn a_call_that_hangs_holds_up_no_operator() {
    let (hangs, let_go) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let (hanging, is_over) = (Arc::clone(&hangs), Arc::clone(&let_go));
    let port = serve(move |visit| {
        if visit.path == "/hang" {
            hanging.fetch_add(1, Ordering::SeqCst);
            while !is_over.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(5));
            }
        }
        Answer::Status(500, String::new())
    });
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    let submit = |gid: &str, path: &str| {
        let url = format!("http://127.0.0.1:{port}/{path}");
        let saga = json!({ "gid": gid, "trans_type": "saga", "request_timeout": 60,
            "retry_interval": 0.05, "steps": [{ "action": url, "compensate": url }] });
        assert_eq!(server.post("submit", &saga).0, 200);
        json!({ "gid": gid, "status": "submitted" })
    };
    let all = ["hang", "x", "y"].map(|gid| submit(gid, gid));
    while hangs.load(Ordering::SeqCst) == 0 {
        thread::sleep(Duration::from_millis(2));
    }
    let begun = Instant::now();
    let force = json!({ "gid": "hang", "to": "failed", "operator": "ann", "reason": "enough" });
    let (status, answer) = exchange(
        server.port,
        "POST",
        "/api/cohort/force",
        &[],
        &force.to_string(),
    );
    assert_eq!(status, 425, "{answer}");
    assert!(answer.contains("a call is under way"), "{answer}");
    let order = json!({ "transactions": all, "operator": "ann", "reason": "the bank moves" });
    let paused = by_hand(&server, "pause", &order);
    assert_eq!(paused["done"], json!(["hang", "x", "y"]));
    assert!(begun.elapsed() < PATIENCE);
    let order = json!({ "transactions": all, "to": "failed", "operator": "ann", "reason": "no" });
    let forced = by_hand(&server, "force", &order);
    assert_eq!(forced["done"], json!(["x", "y"]));
    assert_eq!(forced["refused"][0]["gid"], "hang");
    let_go.store(true, Ordering::SeqCst);
    ask_until(&server, "show", &json!({ "gid": "hang" }), |shown| {
        shown.to_string().contains("status 500")
    });
    thread::sleep(Duration::from_millis(100));
    assert_eq!(server.status("hang"), "submitted");
    assert_eq!(hangs.load(Ordering::SeqCst), 1, "it is paused");
    operate(&server, "resume", "hang");
    by_hand(&server, "force", &force);
    assert_eq!(server.status("hang"), "failed");
}
