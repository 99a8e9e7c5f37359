//! Rows of the coordinator's tables that another session has locked.

use super::{
    ENDED, Machine, Server, options,
    participant::{Answer, serve},
    shared::Storage,
    xa::{keep_open, sql},
};
use cohort_engine::env::fake::Disk;
use serde_json::json;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

const HELD: usize = 40;

/// However many are locked, the others wait for one lock at most, and who is locked is written as
/// soon as that is possible.
#[test]
fn locked_rows_keep_nobody_else_waiting() {
    let service = serve(|_| Answer::Status(200, String::new()));
    let storage = Storage::start("coordinator_locks");
    let (server, _network) = storage.coordinator();
    for number in 0..HELD {
        let request = json!({ "gid": format!("held{number}"), "trans_type": "tcc",
            "timeout_to_fail": 600 });
        assert_eq!(server.post("prepare", &request).0, 200);
    }
    let mut held = storage.client();
    for statement in [
        "BEGIN",
        "SELECT gid FROM coordinator_locks.global_transactions WHERE gid LIKE 'held%' FOR UPDATE",
    ] {
        held.query(statement).expect(statement);
    }
    let submit = |gid: &str| {
        let request = json!({ "gid": gid, "trans_type": "tcc" });
        server.post("submit", &request).0
    };
    let number = AtomicU64::new(0);
    thread::scope(|scope| {
        let ends: Vec<_> = (0..HELD)
            .map(|held| scope.spawn(move || submit(&format!("held{held}"))))
            .collect();
        // They are driven as well, all the time.
        while ends.iter().any(|end| !end.is_finished()) || number.load(Ordering::Relaxed) < 20 {
            let gid = format!("free{}", number.fetch_add(1, Ordering::Relaxed));
            let url = format!("http://127.0.0.1:{service}/x");
            let request = json!({ "gid": gid, "trans_type": "saga", "payloads": ["{}"],
                "steps": [{ "action": url, "compensate": url }] });
            assert_eq!(server.post("submit", &request).0, 200, "{gid}");
            server.wait_for(&gid, ENDED);
        }
        for end in ends {
            assert_eq!(end.join().expect("an answer"), 503, "a lock is in the way");
        }
    });
    held.query("ROLLBACK").expect("rolled back");
    for number in 0..HELD {
        let gid = format!("held{number}");
        assert_eq!(submit(&gid), 200);
        assert_eq!(
            server.wait_for(&gid, ENDED)["transaction"]["status"],
            "succeed"
        );
    }
}

/// Its own tables are locked by nobody.
#[test]
fn nobody_locks_rows_of_the_servers_own_tables() {
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    let prepare = json!({ "gid": "t", "trans_type": "tcc" });
    assert_eq!(server.post("prepare", &prepare).0, 200);
    for locking in [
        "FOR UPDATE",
        "FOR SHARE",
        "LOCK IN SHARE MODE",
        "FOR UPDATE SKIP LOCKED",
    ] {
        let select = format!("SELECT * FROM cohort.global_transactions {locking}");
        let refused = sql(&server.instance, &[&select]).expect_err(locking);
        assert_eq!(
            refused.message,
            "SELECT with locking clause command denied to user 'root'@'localhost' for table \
             'global_transactions'"
        );
    }
    let held = keep_open(
        &server.instance,
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SELECT * FROM cohort.global_transactions, cohort.branches",
    );
    assert_eq!(server.post("submit", &prepare).0, 200);
    server.wait_for("t", ENDED);
    drop(held);
}
