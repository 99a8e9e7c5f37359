//! What a collector of OpenTelemetry gets, and that nobody waits for it.

use super::{
    Machine, PATIENCE, Server, options,
    participant::{Answer, exchange, serve},
};
use crate::{
    Collector, Options,
    spans::messages::{ERROR, Export, OK, Span},
};
use cohort_engine::env::fake::Disk;
use prost::Message;
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

fn sent_to(port: u16) -> Options {
    Options {
        collector: Some(Collector {
            url: format!("http://127.0.0.1:{port}/v1/traces"),
            headers: [("api-key".to_owned(), "secret".to_owned())].into(),
            service: "bank".to_owned(),
        }),
        ..options()
    }
}

fn attributes(span: &Span) -> BTreeMap<&str, &str> {
    let attributes = span.attributes.iter();
    let all = attributes.map(|attribute| {
        let value = attribute.value.as_ref();
        let text = value.and_then(|value| value.text.as_deref());
        (attribute.key.as_str(), text.unwrap_or_default())
    });
    all.collect()
}

/// A collector, and what it gets.
fn collector() -> (u16, Arc<Mutex<Vec<Span>>>) {
    let spans: Arc<Mutex<Vec<Span>>> = Arc::default();
    let taken = Arc::clone(&spans);
    let port = serve(move |visit| {
        let key = &*visit.headers["api-key"];
        assert_eq!((&*visit.path, key), ("/v1/traces", "secret"));
        assert_eq!(visit.headers["content-type"], "application/x-protobuf");
        let export = Export::decode(&*visit.bytes).expect("an export");
        let of_service = &export.resource_spans[0];
        let resource = of_service.resource.as_ref().expect("a resource");
        let name = resource.attributes[0].value.as_ref();
        let name = name.and_then(|name| name.text.as_deref());
        assert_eq!(name, Some("bank"));
        let sent = of_service.scope_spans[0].spans.clone();
        taken.lock().expect("no panic").extend(sent);
        Answer::ok()
    });
    (port, spans)
}

/// A service whose second action refuses, and the `traceparent` of each of its calls.
fn service() -> (u16, Arc<Mutex<BTreeMap<String, String>>>) {
    let heard: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
    let noted = Arc::clone(&heard);
    let port = serve(move |visit| {
        let words = ["gid", "op", "branch_id"].map(|name| visit.of(name));
        let call = words.join(" ");
        let header = visit.headers.get("traceparent").cloned();
        let is_second = call.ends_with("action 02");
        let mut noted = noted.lock().expect("no panic");
        noted.insert(call, header.unwrap_or_default());
        match is_second {
            true => Answer::Status(409, "no".into()),
            false => Answer::ok(),
        }
    });
    (port, heard)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn each_transaction_and_each_call_has_its_span_in_the_clients_trace() {
    let (collector, spans) = collector();
    let (port, heard) = service();
    let server = Server::start(&Machine::new(Disk::new(1)), sent_to(collector)).expect("a server");
    let url = format!("http://user:secret@127.0.0.1:{port}/x?token=1");
    let step = json!({ "action": url, "compensate": url });
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let submit = |gid: &str, steps: usize, flags: &str| {
        let request = json!({ "gid": gid, "trans_type": "saga", "steps": vec![&step; steps] });
        let header = format!("00-{trace}-b7ad6b7169203331-{flags}");
        let headers = [("traceparent", header.as_str())];
        let path = "/api/dtmsvr/submit";
        let (status, answer) = exchange(server.port, "POST", path, &headers, &request.to_string());
        assert_eq!(status, 200, "{answer}");
        header
    };
    // Whose caller does not want to see its trace has none here.
    let unseen = submit("unseen", 1, "00");
    server.wait_for("unseen", &["succeed"]);
    assert_eq!(heard.lock().expect("no panic")["unseen action 01"], unseen);
    submit("g", 2, "01");
    server.wait_for("g", &["failed"]);
    let begun = Instant::now();
    // Two actions, two compensations, and the transaction.
    while spans.lock().expect("no panic").len() < 5 {
        assert!(begun.elapsed() < PATIENCE, "{:?}", spans.lock());
        thread::sleep(Duration::from_millis(5));
    }
    let spans = spans.lock().expect("no panic");
    let find = |name: &str| spans.iter().find(|span| span.name == name).expect(name);
    let whole = find("global transaction saga");
    assert!(spans.iter().all(|span| hex(&span.trace_id) == trace));
    assert_eq!(hex(&whole.parent_span_id), "b7ad6b7169203331");
    assert_eq!(attributes(whole)["cohort.status"], "failed");
    assert_eq!(whole.status.as_ref().map(|status| status.code), Some(ERROR));
    for (name, result, code) in [
        ("action 01", "success", OK),
        ("action 02", "failure", ERROR),
        ("compensate 02", "success", OK),
        ("compensate 01", "success", OK),
    ] {
        let span = find(name);
        assert_eq!(span.parent_span_id, whole.span_id, "{name}");
        assert!(span.start_time_unix_nano >= whole.start_time_unix_nano);
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
        assert_eq!(
            span.status.as_ref().map(|status| status.code),
            Some(code),
            "{name}"
        );
        let attributes = attributes(span);
        assert_eq!(
            (attributes["cohort.gid"], attributes["cohort.result"]),
            ("g", result)
        );
        assert_eq!(attributes["url.full"], format!("http://127.0.0.1:{port}/x"));
        // The branch was told its own span.
        let header = format!("00-{trace}-{}-01", hex(&span.span_id));
        assert_eq!(
            heard.lock().expect("no panic")[&format!("g {name}")],
            header
        );
    }
}

#[test]
fn a_collector_that_does_not_answer_slows_nobody() {
    let collector = serve(|_| Answer::Silence(PATIENCE));
    let server = Server::start(&Machine::new(Disk::new(1)), sent_to(collector)).expect("a server");
    let port = serve(|_| Answer::ok());
    let url = format!("http://127.0.0.1:{port}/x");
    // More spans than may wait.
    let steps = vec![json!({ "action": url, "compensate": url }); 200];
    let request = json!({ "gid": "g", "trans_type": "saga", "steps": steps });
    assert_eq!(server.post("submit", &request).0, 200);
    server.wait_for("g", &["succeed"]);
    let (_, metrics) = server.get("/api/metrics");
    assert!(
        metrics.contains("cohort_spans_total{status=\"dropped\"}"),
        "{metrics}"
    );
}
