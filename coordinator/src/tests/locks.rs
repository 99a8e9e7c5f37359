//! Rows that another session has locked.

use super::{
    ENDED, Machine, Server, options,
    participant::{Answer, serve},
    xa::keep_open,
};
use cohort_engine::env::fake::Disk;
use serde_json::{Value, json};
use std::{thread, time::Duration};

fn submit(server: &Server, gid: &str, service: u16) -> u16 {
    let url = format!("http://127.0.0.1:{service}/x");
    let steps = json!([{ "action": url, "compensate": url }]);
    let request = json!({ "gid": gid, "trans_type": "saga", "steps": steps,
        "payloads": ["{}"], "retry_interval": 1 });
    server.post("submit", &request).0
}

#[test]
fn a_locked_row_keeps_nobody_else_waiting() {
    let service = serve(|_| Answer::Status(200, String::new()));
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    let prepare = |gid: &str| {
        let request: Value = json!({ "gid": gid, "trans_type": "tcc", "timeout_to_fail": 600 });
        assert_eq!(server.post("prepare", &request).0, 200, "{gid}");
    };
    for number in 0..8 {
        prepare(&format!("held{number}"));
    }
    let lock = "SELECT * FROM cohort.global_transactions WHERE gid LIKE 'held%' FOR UPDATE";
    let held = keep_open(&server.instance, lock);
    let end = |gid: &str| {
        let request = json!({ "gid": gid, "trans_type": "tcc" });
        server.post("submit", &request).0
    };
    thread::scope(|scope| {
        let ends: Vec<_> = (0..8)
            .map(|number| scope.spawn(move || end(&format!("held{number}"))))
            .collect();
        for number in 0..50 {
            let gid = format!("free{number}");
            assert_eq!(submit(&server, &gid, service), 200);
            server.wait_for(&gid, ENDED);
        }
        for end in ends {
            assert_eq!(end.join().expect("an answer"), 503, "a lock is in the way");
        }
    });
    // Now they are known to be locked, and wait no more.
    assert_eq!(end("held0"), 503);
    drop(held);
    for number in 0..8 {
        let gid = format!("held{number}");
        while end(&gid) == 503 {
            thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(
            server.wait_for(&gid, ENDED)["transaction"]["status"],
            "succeed"
        );
    }
}
