//! What a statement costs in the session, the planner and the executor: no network, a real
//! engine in a directory of its own.
//!
//!     cargo run --release -p cohort-sql --example statements -- DIRECTORY

use cohort_engine::{
    env::Env,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session};
use std::{io, path::Path, time::Instant};

/// Counts rows.
#[derive(Default)]
struct Counting(u64);

impl Output for Counting {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &[Value]) -> io::Result<()> {
        self.0 += 1;
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

const ROWS: u64 = 200_000;

fn run(session: &mut Session, sql: &str) {
    let mut out = Counting::default();
    if let Err(error) = session.query(sql.as_bytes(), false, &mut out) {
        panic!("{sql}: {error}");
    }
}

fn measure(name: &str, times: u64, mut work: impl FnMut(u64)) {
    let start = Instant::now();
    for i in 0..times {
        work(i);
    }
    let nanos = start.elapsed().as_nanos() as u64 / times;
    println!("{name:32} {:8.2} µs", nanos as f64 / 1000.0);
}

#[expect(clippy::too_many_lines, reason = "a list of statements")]
fn main() {
    let dir = std::env::args().nth(1).expect("a directory for the data");
    let engine = Engine::open(
        &Env::real(),
        Path::new(&dir),
        EngineOptions::default(),
        &mut |_| {},
    )
    .expect("the engine opens");
    let mut session = Session::alone(engine).expect("the first user");
    let s = &mut session;
    run(s, "CREATE DATABASE IF NOT EXISTS bench");
    run(s, "USE bench");
    run(s, "DROP TABLE IF EXISTS t");
    run(
        s,
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, \
         c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', KEY k_1 (k))",
    );
    let text = "12345678901-".repeat(10);
    let pad = "12345678901-".repeat(5);
    measure("insert, 1000 rows each, per row", ROWS / 1000, |i| {
        let rows: Vec<String> = (0..1000)
            .map(|j| format!("({},'{text}','{pad}')", (i * 1000 + j) * 7919 % ROWS))
            .collect();
        run(
            s,
            &format!("INSERT INTO t (k, c, pad) VALUES {}", rows.join(",")),
        );
    });
    let id = |i: u64| i * 7919 % ROWS + 1;
    measure("point select, text", 300_000, |i| {
        run(s, &format!("SELECT c FROM t WHERE id={}", id(i)));
    });
    let prepared = s
        .prepare(b"SELECT c FROM t WHERE id=?")
        .expect("it prepares");
    measure("point select, prepared", 300_000, |i| {
        let mut out = Counting::default();
        let params = [Value::Int(id(i) as i64)];
        s.execute(prepared.id, &params, &mut out)
            .expect("it executes");
    });
    measure("range of 100 rows", 20_000, |i| {
        let low = id(i);
        run(
            s,
            &format!("SELECT c FROM t WHERE id BETWEEN {low} AND {}", low + 99),
        );
    });
    measure("sum of 100 rows", 20_000, |i| {
        let low = id(i);
        run(
            s,
            &format!(
                "SELECT SUM(k) FROM t WHERE id BETWEEN {low} AND {}",
                low + 99
            ),
        );
    });
    measure("ordered range of 100 rows", 20_000, |i| {
        let low = id(i);
        run(
            s,
            &format!(
                "SELECT c FROM t WHERE id BETWEEN {low} AND {} ORDER BY c",
                low + 99
            ),
        );
    });
    measure("distinct range of 100 rows", 20_000, |i| {
        let low = id(i);
        run(
            s,
            &format!(
                "SELECT DISTINCT c FROM t WHERE id BETWEEN {low} AND {} ORDER BY c",
                low + 99
            ),
        );
    });
    run(s, "BEGIN");
    measure("update by key, in a transaction", 20_000, |i| {
        run(s, &format!("UPDATE t SET k=k+1 WHERE id={}", id(i)));
    });
    measure("update c by key, in a transaction", 20_000, |i| {
        run(s, &format!("UPDATE t SET c='{text}x' WHERE id={}", id(i)));
    });
    measure("delete and insert, in a transaction", 20_000, |i| {
        let id = id(i);
        run(s, &format!("DELETE FROM t WHERE id={id}"));
        run(
            s,
            &format!("INSERT INTO t (id, k, c, pad) VALUES ({id}, {id}, '{text}', '{pad}')"),
        );
    });
    run(s, "COMMIT");
    measure("select 1", 300_000, |_| run(s, "SELECT 1"));
    measure("begin, commit", 300_000, |_| {
        run(s, "BEGIN");
        run(s, "COMMIT");
    });
}
