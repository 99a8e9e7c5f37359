//! What operators see of many transactions, and do with them.

use super::{
    Machine, PATIENCE, Server,
    history::by_hand,
    options,
    participant::{Answer, serve},
};
use cohort_engine::env::fake::Disk;
use serde_json::{Value, json};
use std::{
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
