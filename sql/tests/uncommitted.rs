//! READ UNCOMMITTED sees what other transactions have changed, however much that is: what they see
//! themselves.

#[expect(dead_code, reason = "its session is one of its own")]
mod random;

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Unattended},
};
use cohort_sql::{Instance, Session, session::Identity, users::make_first};
use random::{Random, run};
use std::{path::Path, sync::Arc};

const ROWS: u64 = 4_000;

#[test]
fn read_uncommitted_sees_what_the_others_see_of_their_own() {
    let options = EngineOptions::default();
    let engine = Engine::open(&Disk::new(1).env(), Path::new("/u"), options, &mut |_| {});
    let engine = engine.expect("a new data directory opens");
    make_first(&engine).expect("an account");
    let instance = Instance::new(Arc::new(engine));
    let [mut writer, mut reader] = [1, 2].map(|id| {
        let who = Identity {
            user: "root".into(),
            host: "localhost".into(),
            account: None,
        };
        Session::new(Arc::clone(&instance), id, who, Arc::new(Unattended), false)
    });
    for sql in [
        "CREATE DATABASE d".to_owned(),
        "USE d".to_owned(),
        "SET cte_max_recursion_depth = 1000000".to_owned(),
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(40), KEY (a))".to_owned(),
        format!(
            "INSERT INTO t WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n \
             WHERE i < {ROWS}) SELECT i * 3, i * 7919 % 500, REPEAT('x', i % 30) FROM n"
        ),
    ] {
        run(&mut writer, &sql);
    }
    run(&mut reader, "USE d");
    run(
        &mut reader,
        "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    );
    let mut random = Random(5);
    for _ in 0..8 {
        run(&mut writer, "BEGIN");
        for _ in 0..4 {
            let from = random.below(ROWS as usize * 3);
            let to = from + random.below(ROWS as usize);
            let range = format!("WHERE id BETWEEN {from} AND {to}");
            let change = match random.below(4) {
                // Longer than a batch, so that parts of a scan have nothing.
                0 => format!("DELETE FROM t {range}"),
                1 => format!("UPDATE t SET a = a + 1, s = CONCAT(s, 'y') {range}"),
                2 => format!("INSERT IGNORE INTO t SELECT id + 1, a, 'new' FROM t {range}"),
                _ => format!("UPDATE t SET s = '' {range} AND a % 7 = 0"),
            };
            run(&mut writer, &change);
        }
        for _ in 0..12 {
            let from = random.below(ROWS as usize * 3);
            let to = from + random.below(ROWS as usize * 2);
            let selected = random.one_of(&["*", "id", "a, id"]);
            let from = random.one_of(&[
                "t",
                &format!("t WHERE id >= {from}"),
                &format!("t WHERE id BETWEEN {from} AND {to}"),
                &format!("t FORCE INDEX (a) WHERE a > {}", from % 500),
            ]);
            let order = random.one_of(&["id", "id DESC", "a, id", "a DESC, id DESC"]);
            let limit = random.one_of(&["", "", "LIMIT 7", "LIMIT 600"]);
            let sql = format!("SELECT {selected} FROM {from} ORDER BY {order} {limit}");
            let own = run(&mut writer, &sql).rows;
            assert!(own == run(&mut reader, &sql).rows, "{sql}");
        }
        run(&mut writer, &random.one_of(&["COMMIT", "ROLLBACK"]));
    }
}
