//! Whoever asked for it is told of the end of a transaction.

use super::{
    MILLISECOND, Machine, PATIENCE, Server,
    history::by_hand,
    options,
    participant::{Answer, serve},
    xa::sql,
};
use crate::Guard;
use cohort_engine::{env::fake::Disk, types::Value as Sql};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Takes what it is told, or refuses it as long as it does not work; all that it was told.
struct Receiver {
    port: u16,
    works: Arc<AtomicBool>,
    told: Arc<Mutex<Vec<Value>>>,
}

impl Receiver {
    fn new() -> Receiver {
        let (works, told) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(Mutex::new(Vec::new())),
        );
        let (is_working, heard) = (Arc::clone(&works), Arc::clone(&told));
        let port = serve(move |visit| {
            let message = serde_json::from_str(&visit.body).expect("JSON");
            heard.lock().expect("no panic").push(message);
            match is_working.load(Ordering::SeqCst) {
                true => Answer::Status(204, String::new()),
                false => Answer::Status(503, String::new()),
            }
        });
        Receiver { port, works, told }
    }
    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/told", self.port)
    }
    fn told(&self) -> Vec<Value> {
        self.told.lock().expect("no panic").clone()
    }
    fn wait_for(&self, count: usize) {
        let begun = Instant::now();
        while self.told().len() < count {
            assert!(begun.elapsed() < PATIENCE, "{:?}", self.told());
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn untold(server: &Server) -> Option<Sql> {
    let count = "SELECT COUNT(*) FROM cohort.end_webhooks";
    sql(&server.instance, &[count]).expect("a count")
}

#[test]
fn an_end_is_told_until_it_is_taken_across_restarts() {
    let receiver = Receiver::new();
    let machine = Machine::new(Disk::new(1));
    let server = Server::start(&machine, options()).expect("a server");
    let saga = json!({ "gid": "s", "trans_type": "saga", "steps": [],
        "end_webhook": receiver.url() });
    assert_eq!(server.post("submit", &saga).0, 200);
    // Who does not ask is not told, and has no row.
    let quiet = json!({ "gid": "q", "trans_type": "saga", "steps": [] });
    assert_eq!(server.post("submit", &quiet).0, 200);
    server.wait_for("q", &["succeed"]);
    receiver.wait_for(1);
    let begun = Instant::now();
    let shown = loop {
        let shown = by_hand(&server, "show", &json!({ "gid": "s" }));
        if shown["end_webhooks"][0]["tries"] == 1 {
            break shown;
        }
        assert!(begun.elapsed() < PATIENCE, "{shown}");
        thread::sleep(Duration::from_millis(2));
    };
    let why = format!("{}: status 503", receiver.url());
    assert_eq!(shown["end_webhooks"][0]["last_error"], why);
    assert_eq!(untold(&server), Some(Sql::Int(1)));
    drop(server);
    receiver.works.store(true, Ordering::SeqCst);
    let server = Server::start(&machine, options()).expect("a server");
    let begun = Instant::now();
    while untold(&server) != Some(Sql::Int(0)) {
        assert!(begun.elapsed() < PATIENCE, "it is not taken");
        thread::sleep(Duration::from_millis(5));
    }
    // The same in every try, so that whoever is told knows it again.
    let told = receiver.told();
    assert!(
        told.len() >= 2 && told.iter().all(|one| *one == told[0]),
        "{told:?}"
    );
    let found = &server.query("s")["transaction"];
    let wanted = json!({ "gid": "s", "trans_type": "saga", "status": "succeed",
        "rollback_reason": "", "create_time": found["create_time"],
        "end_time": found["finish_time"] });
    assert_eq!(told[0], wanted);
    let shown = by_hand(&server, "show", &json!({ "gid": "s" }));
    let changes = shown["changes"].as_array().expect("changes");
    let last = changes.last().expect("a change");
    assert_eq!(last["cause"], "end_webhook");

    // Undone after all, it ends once more; so does what its client stops, or aborts.
    let count = receiver.told().len();
    let order = json!({ "gid": "s", "operator": "ann", "reason": "a mistake" });
    by_hand(&server, "compensate", &order);
    receiver.wait_for(count + 1);
    assert_eq!(receiver.told()[count]["status"], "failed");
    assert_eq!(
        receiver.told()[count]["rollback_reason"],
        "by hand: a mistake"
    );
    let extra = json!({ "gid": "t", "trans_type": "tcc",
        "req_extra": { "end_webhook": receiver.url() } });
    assert_eq!(server.post("prepare", &extra).0, 200);
    assert_eq!(server.post("forceStop", &json!({ "gid": "t" })).0, 200);
    receiver.wait_for(count + 2);
    assert_eq!(receiver.told()[count + 1]["gid"], "t");
}

#[test]
fn only_who_may_be_called_can_be_told() {
    let receiver = Receiver::new();
    let mut options = options();
    options.branch_hosts = Guard::parse("localhost", true).expect("a list");
    let server = Server::start(&Machine::new(Disk::new(1)), options).expect("a server");
    let asking =
        |gid: &str, whom: Value| json!({ "gid": gid, "trans_type": "tcc", "end_webhook": whom });
    let refused = |name: &str, request: Value, why: &str| {
        let (status, answer) = server.post(name, &request);
        assert!(status == 400 && answer.contains(why), "{status} {answer}");
    };
    refused(
        "prepare",
        asking("a", receiver.url().into()),
        "coordinator-branch-hosts",
    );
    refused(
        "prepare",
        asking("a", "localhost:1/p.S/M".into()),
        "http://",
    );
    refused(
        "prepare",
        asking("a", 5.into()),
        "end_webhook: a URL is expected",
    );
    refused(
        "prepare",
        asking(
            "a",
            format!("http://localhost/{}", "x".repeat(8_192)).into(),
        ),
        "8192 bytes",
    );
    assert_eq!(server.status("a"), "");
    let named = format!("http://localhost:{}/told", receiver.port);
    assert_eq!(
        server.post("prepare", &asking("a", named.clone().into())).0,
        200
    );
    refused(
        "submit",
        asking("a", "http://localhost:1/".into()),
        "makes a transaction known",
    );
    assert_eq!(server.post("submit", &asking("a", named.into())).0, 200);
    receiver.wait_for(1);
}

#[test]
fn a_host_that_does_not_answer_holds_nobody_up() {
    let silent = serve(|_| Answer::Silence(Duration::from_secs(60)));
    let receiver = Receiver::new();
    receiver.works.store(true, Ordering::SeqCst);
    let mut options = options();
    options.request_timeout = 60_000 * MILLISECOND;
    let server = Server::start(&Machine::new(Disk::new(1)), options).expect("a server");
    let end = |gid: &str, whom: &str| {
        let saga = json!({ "gid": gid, "trans_type": "saga", "steps": [], "end_webhook": whom });
        assert_eq!(server.post("submit", &saga).0, 200);
    };
    // More than are told at once, and more than are read at once.
    for number in 0..600 {
        end(
            &format!("s{number}"),
            &format!("http://u{number}@127.0.0.1:{silent}/"),
        );
    }
    for number in 0..100 {
        end(&format!("g{number}"), &receiver.url());
    }
    receiver.wait_for(100);
    let mut told: Vec<_> = receiver
        .told()
        .iter()
        .map(|one| one["gid"].to_string())
        .collect();
    told.sort_unstable();
    told.dedup();
    assert_eq!(told.len(), 100);
}
