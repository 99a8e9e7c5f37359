//! What is refused at the door: what would not be obeyed, and what could never end. And lists, which
//! must name the service that is really waited for.

use super::{
    Machine, PATIENCE, Server,
    history::by_hand,
    options,
    participant::{Answer, exchange, serve},
};
use crate::model::Pattern;
use cohort_engine::env::fake::Disk;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

fn server() -> Server {
    Server::start(&Machine::new(Disk::new(1)), options()).expect("a server")
}

fn order(server: &Server, name: &str, body: &Value) -> (u16, String) {
    let path = format!("/api/cohort/{name}");
    exchange(server.port, "POST", &path, &[], &body.to_string())
}

#[test]
fn what_an_operator_says_is_obeyed_or_refused() {
    let service = serve(|_| Answer::ok());
    let server = server();
    let url = format!("http://127.0.0.1:{service}/x");
    let saga = json!({ "gid": "a", "trans_type": "saga", "wait_result": true,
        "steps": [{ "action": url, "compensate": url }] });
    assert_eq!(server.post("submit", &saga).0, 200);
    for (name, fields) in [
        ("compensate", json!({ "gid": "a", "status": "submitted" })),
        ("compensate", json!({ "gid": "a", "older_than": 3600 })),
        (
            "compensate",
            json!({ "gid": "a", "host": "elsewhere", "dry_run": true }),
        ),
        ("compensate", json!({ "gid": "a", "dry_run": "true" })),
        ("compensate", json!({ "gid": "a", "dry_run": 1 })),
        (
            "retry",
            json!({ "unfinished": true, "older_than": "3600", "dry_run": true }),
        ),
        ("retry", json!({ "ded": true, "dry_run": true })),
        ("list", json!({ "url_part": "bank" })),
        ("list", json!({ "limit": "1" })),
        ("show", json!({ "gid": 1 })),
    ] {
        let mut fields = fields;
        if name == "compensate" {
            fields["operator"] = "ann".into();
            fields["reason"] = "why".into();
        }
        let (status, answer) = order(&server, name, &fields);
        assert_eq!(status, 400, "{name} {fields}: {answer}");
    }
    assert_eq!(server.status("a"), "succeed");
}

#[test]
fn what_no_call_could_carry_is_refused() {
    let server = server();
    let submit = |fields: Value| {
        let mut saga = json!({ "gid": "a", "trans_type": "saga" });
        let all = saga.as_object_mut().expect("an object");
        all.extend(fields.as_object().expect("an object").clone());
        server.post("submit", &saga).0
    };
    let step = |url: String| json!({ "steps": [{ "action": url, "compensate": "" }] });
    assert_eq!(
        submit(step(format!("http://127.0.0.1:1/{}", "x".repeat(9_000)))),
        400
    );
    let headers: BTreeMap<_, _> = (0..300)
        .map(|number| (format!("x-{number}"), "v"))
        .collect();
    assert_eq!(submit(json!({ "branch_headers": headers })), 400);
    let long = json!({ "x-long": "v".repeat(70_000) });
    assert_eq!(submit(json!({ "branch_headers": long })), 400);
    let step = json!({ "action": "http://127.0.0.1:1/x", "branch_headers": headers });
    assert_eq!(submit(json!({ "steps": [step] })), 400);
    // Nor what nobody could wait for.
    let step = json!({ "action": "http://127.0.0.1:1/x", "request_timeout": 3_601 });
    assert_eq!(submit(json!({ "steps": [step] })), 400);
    assert_eq!(submit(json!({ "request_timeout": 3_601 })), 400);
    assert_eq!(submit(json!({ "request_timeout": 3_600 })), 200);
}

/// The second step is undone, and that fails: nobody waits for the third, which was never called.
#[test]
fn a_list_names_the_branch_that_is_waited_for() {
    let good = serve(|_| Answer::ok());
    let down = serve(|visit| match visit.of("op") {
        "action" => Answer::Status(409, "no".into()),
        _ => Answer::Status(500, "boom".into()),
    });
    let server = server();
    let url = |port: u16| format!("http://127.0.0.1:{port}/x");
    let step = |port: u16| json!({ "action": url(port), "compensate": url(port) });
    let saga = json!({ "gid": "a", "trans_type": "saga", "retry_interval": 600,
        "steps": [step(good), step(down), step(1)] });
    assert_eq!(server.post("submit", &saga).0, 200);
    let begun = Instant::now();
    loop {
        let groups = by_hand(&server, "list", &json!({ "group_by": "host" }));
        if groups["groups"][0]["group"] == format!("127.0.0.1:{down}") {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{groups}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Its receivers were written down when it was prepared.
#[test]
fn a_message_is_submitted_though_its_topic_is_gone() {
    let service = serve(|_| Answer::ok());
    let server = server();
    let get = |path: &str| exchange(server.port, "GET", &format!("/api/dtmsvr/{path}"), &[], "").0;
    let who = format!("topic=t&url=http://127.0.0.1:{service}/x");
    assert_eq!(get(&format!("subscribe?{who}")), 200);
    let message = json!({ "gid": "a", "trans_type": "msg", "query_prepared": "http://127.0.0.1:1/x",
        "steps": [{ "action": "topic://t" }] });
    assert_eq!(server.post("prepare", &message).0, 200);
    assert_eq!(get(&format!("unsubscribe?{who}")), 200);
    assert_eq!(server.post("submit", &message).0, 200);
    server.wait_for("a", &["succeed"]);
    let other = json!({ "gid": "b", "trans_type": "msg", "steps": [{ "action": "topic://t" }] });
    assert_eq!(server.post("submit", &other).0, 500);
}

/// Whoever names another kind means another transaction, whatever he asks for.
#[test]
fn a_request_about_another_kind_is_refused_everywhere() {
    let server = server();
    let url = "http://127.0.0.1:1/x";
    let kinds = Pattern::ALL.map(Pattern::name);
    for known in kinds {
        let request = |kind: &str| {
            json!({ "gid": format!("a {known}"), "trans_type": kind, "branch_id": "01",
                "query_prepared": url, "steps": [{ "action": url, "compensate": url }],
                "payloads": ["{}"], "confirm": url, "cancel": url, "url": url, "op": "action",
                "status": "succeed", "req_extra": { "status": "succeed" } })
        };
        let prepare = match known {
            "workflow" => "prepareWorkflow",
            _ => "prepare",
        };
        assert_eq!(server.post(prepare, &request(known)).0, 200, "{known}");
        for other in kinds.into_iter().filter(|other| *other != known) {
            for endpoint in [
                "prepare",
                "prepareWorkflow",
                "registerBranch",
                "submit",
                "abort",
                "forceStop",
                "resetNextCronTime",
            ] {
                let (status, answer) = server.post(endpoint, &request(other));
                // Nobody registers branches of these.
                let wanted = match (endpoint, other) {
                    ("registerBranch", "saga" | "msg") => 500,
                    _ => 400,
                };
                assert_eq!(status, wanted, "{known} {endpoint} as {other}: {answer}");
            }
        }
        assert_eq!(server.status(&format!("a%20{known}")), "prepared");
    }
}

/// Monitors ask so whether somebody is there.
#[test]
fn what_can_be_got_has_a_head() {
    let server = server();
    let head = |path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("connected");
        let request =
            format!("HEAD {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.ends_with("\r\n\r\n"), "{answer}");
        answer.split(' ').nth(1).expect("a status").to_owned()
    };
    for path in ["/api/ping", "/api/metrics", "/api/dtmsvr/version"] {
        assert_eq!(head(path), "200", "{path}");
    }
    assert_eq!(head("/api/none"), "404");
}
