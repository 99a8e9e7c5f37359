//! What becomes of transactions whose tables refuse what was to be saved: a column is too small here.

use super::{
    Machine, Server,
    history::{by_hand, wait_until},
    options,
    participant::{Answer, Visit, serve},
    xa::sql_within,
};
use crate::Options;
use cohort_engine::env::fake::Disk;
use serde_json::{Value as Json, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// Calls of each branch's operations.
type Counts = Arc<Mutex<BTreeMap<String, usize>>>;

/// A server, and a service that counts its calls.
struct World {
    server: Server,
    port: u16,
    counts: Counts,
}

impl World {
    fn new(change: impl FnOnce(&mut Options), answer: fn(&Visit) -> Answer) -> World {
        let counts = Counts::default();
        let counted = Arc::clone(&counts);
        let port = serve(move |visit| {
            let name = format!("{} {}", visit.of("branch_id"), visit.of("op"));
            *counted.lock().expect("counts").entry(name).or_default() += 1;
            answer(visit)
        });
        let mut options = options();
        change(&mut options);
        let server = Server::start(&Machine::new(Disk::new(1)), options).expect("a server");
        World {
            server,
            port,
            counts,
        }
    }

    fn alter(&self, table: &str, column: &str) {
        let alter = format!("ALTER TABLE cohort.{table} MODIFY COLUMN {column}");
        sql_within(&self.server.instance, &[&alter]).expect("altered");
    }

    fn submit(&self, steps: usize, fields: &Json) {
        let url = format!("http://127.0.0.1:{}/x", self.port);
        let step = json!({ "action": url, "compensate": url });
        let mut saga = json!({ "gid": "g", "trans_type": "saga", "steps": vec![step; steps] });
        let all = saga.as_object_mut().expect("an object");
        all.extend(fields.as_object().expect("an object").clone());
        assert_eq!(self.server.post("submit", &saga).0, 200);
    }

    fn wait_for_dead_letter(&self) {
        let listed = || by_hand(&self.server, "list", &json!({ "dead": true }));
        wait_until("no dead letter", || {
            let listed = listed();
            let letters = listed["transactions"].as_array();
            letters.is_some_and(|letters| letters.len() == 1)
        });
    }

    fn show(&self) -> Json {
        by_hand(&self.server, "show", &json!({ "gid": "g" }))
    }

    fn calls(&self) -> BTreeMap<String, usize> {
        self.counts.lock().expect("counts").clone()
    }

    fn calls_of(&self, name: &str) -> usize {
        let counts = self.counts.lock().expect("counts");
        counts.get(name).copied().unwrap_or(0)
    }
}

fn large_of_03(visit: &Visit) -> Answer {
    match visit.of("branch_id") {
        "03" => Answer::Status(200, "a".repeat(70_000)),
        _ => Answer::ok(),
    }
}

#[test]
fn one_answer_that_is_refused_is_called_again_alone() {
    let world = World::new(|options| options.rules.dead_letter_after = 3, large_of_03);
    world.alter("branches", "answer TEXT NOT NULL");
    let fields = json!({ "pass_results": true, "retry_limit": 1,
        "custom_data": r#"{"concurrent":true}"# });
    world.submit(8, &fields);
    world.wait_for_dead_letter();
    for step in 1..=8 {
        let calls = if step == 3 { 3 } else { 1 };
        assert_eq!(world.calls_of(&format!("0{step} action")), calls, "{step}");
    }
    let shown = world.show();
    let branches = shown["branches"].as_array().expect("branches");
    let calls: u64 = branches
        .iter()
        .filter_map(|branch| branch["attempts"].as_u64())
        .sum();
    assert_eq!(calls, 10);
    // Each call is there, as the service answered it.
    let attempts = shown["attempts"].as_array().expect("attempts");
    let of_03 = attempts.iter().filter(|one| one["branch_id"] == "03");
    let results: Vec<_> = of_03.map(|one| &one["result"]).collect();
    assert_eq!(results, ["success"; 3]);
    world.alter("branches", "answer LONGTEXT NOT NULL");
    let order = json!({ "gid": "g", "operator": "ann", "reason": "mended" });
    by_hand(&world.server, "retry", &order);
    world.server.wait_for("g", &["succeed"]);
}

#[test]
fn what_the_tables_refuse_is_no_failed_call() {
    let world = World::new(|_| {}, |_| Answer::ok());
    world.alter("global_transactions", "calls VARCHAR(20) NULL");
    world.submit(3, &json!({ "retry_limit": 1 }));
    // Three are refused at once, and called again: what failed has a row of its own, with room for all.
    world.server.wait_for("g", &["succeed"]);
    assert_eq!(world.calls_of("01 action"), 2);
    assert_eq!(world.calls_of("01 compensate"), 0);
}

#[test]
fn what_is_refused_as_a_whole_waits_and_is_a_dead_letter_in_time() {
    let world = World::new(|options| options.rules.dead_letter_after = 4, large_of_03);
    world.alter("branches", "answer TEXT NOT NULL");
    world.alter("branches", "last_error VARCHAR(5) NOT NULL");
    world.submit(3, &json!({ "pass_results": true }));
    world.wait_for_dead_letter();
    assert_eq!(world.calls_of("01 action"), 1);
    assert_eq!(world.calls_of("03 action"), 4);
    let shown = world.show().to_string();
    assert!(shown.contains("the store refuses it: "), "{shown}");
    world.alter("branches", "last_error LONGTEXT NOT NULL");
    world.alter("branches", "answer LONGTEXT NOT NULL");
    let order = json!({ "gid": "g", "operator": "ann", "reason": "mended" });
    by_hand(&world.server, "retry", &order);
    world.server.wait_for("g", &["succeed"]);
}

#[test]
fn a_dead_letter_stays_one_though_its_row_does_not_take_that() {
    let world = World::new(|options| options.rules.dead_letter_after = 4, large_of_03);
    world.alter("branches", "answer TEXT NOT NULL");
    world.alter("branches", "last_error VARCHAR(5) NOT NULL");
    world.alter("global_transactions", "dead_time VARCHAR(1) NULL");
    world.submit(3, &json!({ "pass_results": true }));
    wait_until("too few calls", || world.calls_of("03 action") == 4);
    // It would have been called again by now.
    thread::sleep(Duration::from_secs(1));
    assert_eq!(world.calls_of("03 action"), 4);
    world.alter("global_transactions", "dead_time DATETIME(6) NULL");
    world.wait_for_dead_letter();
    assert_eq!(world.calls_of("03 action"), 4);
}

/// Whatever of it is refused, and whether a branch or the client's question fails: it is told,
/// and nothing is called any more until somebody takes care of it.
#[test]
fn a_dead_letter_whose_row_does_not_take_that_is_told_and_not_called() {
    const LIMIT: usize = 3;
    for (table, refused, taken) in [
        (
            "global_transactions",
            "dead_time VARCHAR(1) NULL",
            "dead_time DATETIME(6) NULL",
        ),
        (
            "changes",
            "reason VARCHAR(4) NOT NULL",
            "reason TEXT NOT NULL",
        ),
        (
            "changes",
            "cause VARCHAR(4) NOT NULL",
            "cause VARCHAR(32) NOT NULL",
        ),
    ] {
        for branches in [1, 3, 0] {
            let about = format!("{refused}, {branches}");
            let alerts = Arc::new(Mutex::new(Vec::new()));
            let heard = Arc::clone(&alerts);
            let webhook = serve(move |visit| {
                let alert: Json = serde_json::from_str(&visit.body).expect("JSON");
                heard
                    .lock()
                    .expect("alerts")
                    .push(alert["dead_letter"].clone());
                Answer::ok()
            });
            let change = move |options: &mut Options| {
                options.rules.dead_letter_after = LIMIT as u64;
                options.alert_webhook = Some(format!("http://127.0.0.1:{webhook}/"));
            };
            let world = World::new(change, |_| Answer::Status(500, "away".into()));
            world.alter(table, refused);
            if branches == 0 {
                let url = format!("http://127.0.0.1:{}/x", world.port);
                let message = json!({ "gid": "g", "trans_type": "msg", "query_prepared": url,
                    "steps": [{ "action": url }], "payloads": ["{}"], "timeout_to_fail": 1 });
                assert_eq!(world.server.post("prepare", &message).0, 200);
            } else {
                world.submit(
                    branches,
                    &json!({ "custom_data": r#"{"concurrent":true}"# }),
                );
            }
            wait_until(&about, || !alerts.lock().expect("alerts").is_empty());
            // Those that were under way come to their ends.
            thread::sleep(Duration::from_millis(100));
            let calls = world.calls();
            assert!(
                calls.values().any(|&calls| calls == LIMIT),
                "{about}: {calls:?}"
            );
            assert!(
                calls.values().all(|&calls| calls <= LIMIT),
                "{about}: {calls:?}"
            );
            // It would have been called again by now.
            thread::sleep(Duration::from_millis(300));
            assert_eq!(world.calls(), calls, "{about}");
            // Branches that fail at once are told of at once, each by itself.
            let alerts = alerts.lock().expect("alerts").clone();
            assert!(alerts.len() <= branches.max(1), "{about}: {alerts:?}");
            assert!(alerts.iter().all(|is_dead| *is_dead == true), "{about}");
            world.alter(table, taken);
            world.wait_for_dead_letter();
            assert_eq!(world.calls(), calls, "{about}");
            let order = json!({ "gid": "g", "operator": "ann", "reason": "mended" });
            by_hand(&world.server, "retry", &order);
            wait_until(&about, || world.calls() != calls);
        }
    }
}
