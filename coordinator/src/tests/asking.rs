//! Clients that ask for the same at the same time, and what they are told.

use super::{
    ENDED, Machine, Server,
    history::{by_hand, wait_until},
    options,
    participant::{Answer, exchange, serve},
    xa::sql_within,
};
use cohort_engine::env::fake::Disk;
use serde_json::json;
use std::{io::Write, net::TcpStream, sync::Arc, thread, time::Duration};

/// Whoever is told FAILURE believes it: of many who submit or abort the same all are obeyed,
/// whichever of them is the first.
#[test]
fn whoever_asks_for_the_same_at_once_is_told_the_same() {
    let service = serve(|_| Answer::ok());
    let url = format!("http://127.0.0.1:{service}/x");
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    for (number, (name, end)) in [("submit", "succeed"), ("abort", "failed")]
        .into_iter()
        .cycle()
        .take(40)
        .enumerate()
    {
        let gid = format!("g{number}");
        let tcc = json!({ "gid": gid, "trans_type": "tcc", "wait_result": number % 4 < 2 });
        assert_eq!(server.post("prepare", &tcc).0, 200);
        let branch = json!({ "gid": gid, "trans_type": "tcc", "branch_id": "01",
            "confirm": url, "cancel": url });
        assert_eq!(server.post("registerBranch", &branch).0, 200);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let (status, answer) = server.post(name, &tcc);
                    // One that comes after the end is told of the end.
                    let is_late = answer.contains(&format!("current status '{end}'"));
                    assert!(status == 200 || is_late, "{gid}: {status} {answer}");
                });
            }
        });
        let found = server.wait_for(&gid, ENDED);
        assert_eq!(found["transaction"]["status"], end);
    }
}

#[test]
fn a_topic_in_a_path_is_unescaped() {
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    let ask = |method: &str, path: &str| {
        let path = format!("/api/dtmsvr/{path}");
        exchange(server.port, method, &path, &[], "").0
    };
    for topic in ["a%20b%2Fc", "a+b", "topic/topic/"] {
        let name = topic.replace('+', "%2B");
        let subscribe = format!("subscribe?topic={name}&url=http://127.0.0.1:1/x");
        assert_eq!(ask("GET", &subscribe), 200);
        assert_eq!(ask("DELETE", &format!("topic/{topic}")), 200, "{topic}");
        assert_eq!(ask("DELETE", &format!("topic/{topic}")), 500, "{topic}");
    }
}

/// Each is in memory several times while its answer is made, and may be large.
#[test]
fn few_answers_that_tell_all_are_made_at_once() {
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    let coordinator = Arc::clone(&server._running.coordinator);
    let body = |gid: &str, custom_data: &str| {
        format!(
            r#"{{"gid":"{gid}","trans_type":"workflow","query_prepared":"http://127.0.0.1:1/x","custom_data":"{custom_data}"}}"#
        )
    };
    let (large, small) = (body("large", &"x".repeat(1 << 20)), body("small", ""));
    let ask =
        |method: &str, path: &str, body: &str| exchange(server.port, method, path, &[], body).0;
    assert_eq!(ask("POST", "/api/dtmsvr/prepareWorkflow", &large), 200);
    let most = u32::try_from(crate::TELLING_MAX).expect("few");
    let all = coordinator
        .telling
        .try_acquire_many(most)
        .expect("all turns");
    let begun: Vec<_> = [
        ("GET", "/api/dtmsvr/query?gid=large", String::new()),
        ("POST", "/api/cohort/show", r#"{"gid":"large"}"#.to_owned()),
        ("POST", "/api/dtmsvr/prepareWorkflow", large),
    ]
    .into_iter()
    .map(|(method, path, body)| {
        let port = server.port;
        thread::spawn(move || exchange(port, method, path, &[], &body).0)
    })
    .collect();
    // Longer than any of them takes.
    thread::sleep(Duration::from_millis(500));
    assert!(begun.iter().all(|one| !one.is_finished()));
    // Others are answered, and those that are small.
    assert_eq!(server.get("/api/ping").0, 200);
    assert_eq!(ask("POST", "/api/dtmsvr/prepareWorkflow", &small), 200);
    assert_eq!(ask("GET", "/api/dtmsvr/query?gid=small", ""), 200);
    assert_eq!(ask("POST", "/api/cohort/show", r#"{"gid":"small"}"#), 200);
    assert_eq!(ask("GET", "/api/dtmsvr/query?gid=nobody", ""), 200);
    drop(all);
    let answered = begun.into_iter().map(|one| one.join().expect("an answer"));
    assert_eq!(answered.collect::<Vec<_>>(), [200, 200, 200]);
}

/// A client that goes away leaves no work behind: those who ask again and again would wait for all
/// that they have given up.
#[test]
fn what_nobody_waits_for_any_more_is_not_read() {
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    let coordinator = Arc::clone(&server._running.coordinator);
    let workflow = json!({ "gid": "large", "trans_type": "workflow",
        "query_prepared": "http://127.0.0.1:1/x", "custom_data": "x".repeat(1 << 20) });
    assert_eq!(server.post("prepareWorkflow", &workflow).0, 200);
    let most = u32::try_from(crate::TELLING_MAX).expect("few");
    let all = coordinator
        .telling
        .try_acquire_many(most)
        .expect("all turns");
    let before = Arc::strong_count(&coordinator);
    for (head, body) in [
        ("GET /api/dtmsvr/query?gid=large", ""),
        ("POST /api/cohort/show", r#"{"gid":"large"}"#),
    ] {
        let asked: Vec<_> = (0..20)
            .map(|_| {
                let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("a stream");
                let length = body.len();
                let text = format!(
                    "{head} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                stream.write_all(text.as_bytes()).expect("sent");
                stream
            })
            .collect();
        wait_until("they are not asked", || {
            Arc::strong_count(&coordinator) >= before + 20
        });
        // Long enough for each to wait for its turn.
        thread::sleep(Duration::from_millis(100));
        drop(asked);
        wait_until(head, || Arc::strong_count(&coordinator) <= before);
    }
    drop(all);
    assert_eq!(server.get("/api/dtmsvr/query?gid=large").0, 200);
}

/// It is in each list, and lists are made of many.
#[test]
fn a_long_reason_is_shortened() {
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    let tcc = json!({ "gid": "t", "trans_type": "tcc", "rollback_reason": "\u{e4}".repeat(9_000) });
    assert_eq!(
        server
            .post("prepare", &json!({ "gid": "t", "trans_type": "tcc" }))
            .0,
        200
    );
    assert_eq!(server.post("abort", &tcc).0, 200);
    let ended = server.wait_for("t", ENDED);
    let reason = &ended["transaction"]["rollback_reason"];
    assert_eq!(*reason, "\u{e4}".repeat(4_096));
    // Older versions kept all of it.
    let long = "UPDATE cohort.global_transactions SET rollback_reason = REPEAT('x', 9000), \
         result = REPEAT('y', 9000)";
    sql_within(&server.instance, &[long]).expect("changed");
    let (_, all) = server.get("/api/dtmsvr/all");
    let all: serde_json::Value = serde_json::from_str(&all).expect("JSON");
    let one = &all["transactions"][0];
    assert_eq!(one["rollback_reason"], "x".repeat(4_096));
    assert_eq!(one["result"], "y".repeat(4_096));
    let listed = by_hand(&server, "list", &json!({}));
    assert_eq!(
        listed["transactions"][0]["rollback_reason"],
        "x".repeat(4_096)
    );
    assert_eq!(
        server.query("t")["transaction"]["rollback_reason"],
        "x".repeat(9_000)
    );
}
