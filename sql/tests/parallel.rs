//! Whatever several threads compute of a large table is what one thread does: rows and their order,
//! warnings, errors, and what SHOW STATUS counts.

#[expect(dead_code, reason = "its session has no slots to lend")]
mod random;

use cohort_engine::{
    env::{fake::Disk, processors},
    txn::{Engine, EngineOptions, Lent, WaitFor, Waiting},
};
use cohort_sql::{Instance, Session, session::Identity, users::make_first};
use random::{Random, Rows, run};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

/// Before what is asked for each row: what it reads then depends on what a thread remembers of the row before.
const ASKED: &str = "/* asked */";

/// More than what one thread reads alone.
const ROWS: usize = 26_000;

/// Has slots to lend, and wants most back after some rows.
#[derive(Default)]
struct Generous(Arc<AtomicU64>);

struct Slot {
    asked: AtomicU64,
    patience: u64,
}

impl Waiting for Generous {
    fn pause(&self, _: WaitFor) {}
    fn resume(&self, _: WaitFor) {}
    fn lend(&self) -> Option<Box<dyn Lent>> {
        let lent = self.0.fetch_add(1, Relaxed);
        Some(Box::new(Slot {
            asked: AtomicU64::new(0),
            patience: match lent % 3 {
                0 => u64::MAX,
                1 => 1 + lent % 20,
                _ => 1_000 * (lent % 20),
            },
        }))
    }
}

impl Lent for Slot {
    fn is_wanted(&self) -> bool {
        self.asked.fetch_add(1, Relaxed) >= self.patience
    }
}

/// Two sessions, and how many slots were lent to them.
fn sessions() -> ([Session; 2], Arc<AtomicU64>) {
    let options = EngineOptions::default();
    let engine = Engine::open(&Disk::new(1).env(), Path::new("/p"), options, &mut |_| {});
    let engine = engine.expect("a new data directory opens");
    make_first(&engine).expect("an account");
    let instance = Instance::new(Arc::new(engine));
    let lent = Arc::new(AtomicU64::new(0));
    let sessions = [1, 2].map(|id| {
        let waiting = Arc::new(Generous(Arc::clone(&lent)));
        let who = Identity {
            user: "root".into(),
            host: "localhost".into(),
            account: None,
        };
        Session::new(Arc::clone(&instance), id, who, waiting, false)
    });
    (sessions, lent)
}

fn fill(session: &mut Session) {
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "SET cte_max_recursion_depth = 1000000",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b TINYINT NOT NULL, d DECIMAL(10,2), \
         s VARCHAR(20), r VARBINARY(10), m DATETIME(3), x DOUBLE, j JSON, big BIGINT, \
         KEY (a), KEY (b, d), KEY (s))",
        "CREATE TABLE k (id INT PRIMARY KEY, t_id INT, v INT, KEY (t_id))",
    ] {
        run(session, sql);
    }
    // Far from evenly spread.
    let id = "CASE WHEN i < 500 THEN i WHEN i = 500 THEN 2000000000 ELSE 100000000 + i * 3 END";
    let numbers = |rows: usize| {
        format!(
            "(WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) SELECT i FROM n) n"
        )
    };
    run(
        session,
        &format!(
            "INSERT INTO t SELECT {id}, IF(i % 11 = 0, NULL, i * 7919 % 500), i % 5, \
             IF(i % 13 = 0, NULL, i * 31 % 1000 / 7), ELT(1 + i % 7, 'a', 'A', 'ä', 'b', 'B ', 'c', NULL), \
             CHAR(i % 50 + 40), '2024-01-01' + INTERVAL i * 17 % 1000 HOUR, i * 0.1, \
             JSON_OBJECT('n', i % 9, 'l', JSON_ARRAY(i % 3, i % 4)), \
             IF(i = {ROWS} - 7, 9223372036854775807, i) FROM {}",
            numbers(ROWS)
        ),
    );
    run(
        session,
        &format!(
            "INSERT INTO k SELECT i, 100000000 + i * 37 % {ROWS} * 3, i % 100 FROM {}",
            numbers(3000)
        ),
    );
    // The same with a primary key of two columns, of which the first one alone tells groups apart behind `a`.
    run(session, "CREATE TABLE c LIKE t");
    run(
        session,
        "ALTER TABLE c DROP PRIMARY KEY, ADD PRIMARY KEY (b, id)",
    );
    run(session, "INSERT INTO c SELECT * FROM t");
    run(session, "ANALYZE TABLE t, k, c");
}

impl Random {
    fn aggregate(&mut self) -> String {
        let exact = self.one_of(&["t.a", "t.b", "t.d", "t.id", "t.a * 2 + t.b", "t.d * t.b"]);
        let any = self.one_of(&["t.a", "t.s", "t.r", "t.m", "t.x", "t.j->'$.n'", "t.d", "1"]);
        match self.below(14) {
            0..3 => "COUNT(*)".to_owned(),
            3 => format!("COUNT({any})"),
            4..6 => format!("SUM({exact})"),
            6 => format!("AVG({exact})"),
            7 => format!("MIN({any})"),
            8 => format!("MAX({any})"),
            9 => format!("COUNT(DISTINCT {any})"),
            10 => format!("BIT_XOR({exact})"),
            11 => format!("SUM({any})"),
            12 => format!("SUM(DISTINCT {exact})"),
            _ => format!("BIT_OR(t.b), BIT_AND({exact})"),
        }
    }
    fn condition(&mut self) -> String {
        let n = self.below(500);
        match self.below(20) {
            14 => format!("{ASKED} EXISTS (SELECT * FROM k WHERE k.t_id = t.id AND k.v < {n})"),
            15 => {
                format!("{ASKED} NOT EXISTS (SELECT * FROM k WHERE k.id = t.a AND k.v < {n} % 90)")
            }
            16 => {
                format!("{ASKED} t.b < (SELECT MAX(10 / (v - {n} % 200)) FROM k WHERE k.id = t.a)")
            }
            17 => format!("t.a > (SELECT AVG(v) + {n} FROM k)"),
            18 => format!("t.a NOT IN (SELECT v + {n} FROM k WHERE id < 100)"),
            19 => format!("t.b < (SELECT 10 / ({n} % 5) FROM k LIMIT 1)"),
            0 => format!("t.a > {n}"),
            1 => format!("t.id BETWEEN {n} AND {}", 100_000_000 + ROWS * 3 - n),
            2 => format!("t.b = {}", n % 5),
            3 => "t.b IN (1, 2, 4)".to_owned(),
            4 => "t.s LIKE 'a%'".to_owned(),
            5 => format!("t.j->'$.n' = {}", n % 9),
            6 => format!("t.d < {n}.5"),
            7 => "t.m >= '2024-01-10' AND t.m < NOW() + INTERVAL 1 YEAR".to_owned(),
            8 => format!("t.a % 7 = {}", n % 7),
            9 => "t.b >= 1".to_owned(),
            10 => format!("t.big + 1 > {n}"),
            11 => format!("10 / (t.b - {}) < 3", n % 9),
            12 => format!("t.id > @from + {n}"),
            _ => "t.s = 'a'".to_owned(),
        }
    }
    fn join(&mut self) -> &'static str {
        match self.below(7) {
            0 => "t LEFT JOIN k ON k.t_id = t.id AND k.v < 50",
            1 => "t JOIN k FORCE INDEX (t_id) ON k.t_id = t.id",
            // Looked up in a hash table.
            2 => "t STRAIGHT_JOIN k ON k.v = t.a + 1 AND k.id < 500",
            3 => "t LEFT JOIN k ON k.v * 2 = t.a AND k.id < 300",
            // Tried one by one.
            4 => "t STRAIGHT_JOIN k ON k.v < t.b AND k.id < 10",
            // By several keys, whose rows are merged.
            5 => "t STRAIGHT_JOIN k ON (k.id = t.a OR k.t_id = t.id) AND t.b = 2",
            // Which no row leads to.
            _ => "t STRAIGHT_JOIN k ON k.v = t.a + 1 AND t.id < 0",
        }
    }
    /// One that does not group.
    fn plain(&mut self) -> String {
        let from = match self.below(4) {
            0 => self.join(),
            1 => "t FORCE INDEX (b)",
            2 => "t FORCE INDEX (a)",
            _ => "t",
        };
        let selected = [
            "t.id",
            "t.*",
            "t.s, t.j",
            "10 / (t.b - 2)",
            "(SELECT MAX(v) FROM k WHERE k.id = t.b)",
            "ROW_NUMBER() OVER (ORDER BY t.m)",
            "@n := @n + 1",
            "DISTINCT t.a",
        ];
        let rest = [
            "",
            "",
            "ORDER BY t.m",
            "ORDER BY t.s, t.d DESC LIMIT 10",
            "ORDER BY t.x LIMIT 5 OFFSET 100",
            "LIMIT 20",
            "ORDER BY t.id LIMIT 20",
        ];
        let (selected, rest) = (self.one_of(&selected), self.one_of(&rest));
        let conditions = [self.condition(), self.condition()].join(" AND ");
        format!("SELECT {selected} FROM {from} WHERE {conditions} {rest}")
    }
    fn query(&mut self) -> String {
        if self.below(5) < 2 {
            return self.plain();
        }
        let from = match self.below(7) {
            0..2 => self.join(),
            2 => "t FORCE INDEX (b)",
            3 => "t FORCE INDEX (a)",
            4 => "c t FORCE INDEX (a)",
            _ => "t",
        };
        let aggregates: Vec<_> = (0..1 + self.below(3)).map(|_| self.aggregate()).collect();
        let mut sql = String::from("SELECT ");
        let keys = [
            "t.b",
            "t.s",
            "t.a",
            "t.m",
            "t.a, t.b",
            "t.a, t.b",
            "t.id",
            "t.b, t.d",
            "t.a % 10",
            "t.r",
            "t.s, t.j->'$.n'",
        ];
        let key = (self.below(3) > 0).then(|| self.one_of(&keys));
        sql.extend(key.iter().map(|key| format!("{key}, ")));
        sql += &format!("{} FROM {from}", aggregates.join(", "));
        if self.below(3) > 0 {
            sql += &format!(" WHERE {}", self.condition());
        }
        if let Some(key) = key {
            sql += &format!(" GROUP BY {key}");
            match self.below(6) {
                0 => sql += " HAVING COUNT(*) > 20",
                1 => sql += " HAVING COUNT(*) % 2 = 1 ORDER BY MAX(t.id) LIMIT 50",
                2 => sql += " HAVING MIN(t.id) % 3 > 0 LIMIT 10",
                3 => sql += " HAVING MAX(10 / (t.a - 3)) > 1",
                _ => {}
            }
            if self.below(6) == 0 {
                sql += " WITH ROLLUP";
            }
        }
        sql
    }
}

/// All that can be known of what a query answers: with its rows its warnings and what was counted.
fn answer(session: &mut Session, threads: usize, sql: &str) -> (Vec<String>, Vec<String>) {
    run(
        session,
        &format!("SET innodb_parallel_read_threads = {threads}, @n = 0"),
    );
    run(session, "FLUSH STATUS");
    let mut rows = Rows::default();
    let done = session.query(sql.as_bytes(), false, &mut rows);
    let mut told = run(session, "SHOW WARNINGS").rows;
    told.extend(done.err().map(|error| format!("{error:?}")));
    let counted = "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.session_status \
                   WHERE VARIABLE_NAME LIKE 'Handler%' OR VARIABLE_NAME LIKE 'Select%' \
                   OR VARIABLE_NAME LIKE 'Created_tmp%' OR VARIABLE_NAME LIKE 'Sort%'";
    if !sql.contains(ASKED) {
        told.extend(run(session, counted).rows);
    }
    (rows.rows, told)
}

#[test]
fn several_threads_answer_what_one_does() {
    let ([mut session, mut other], lent) = sessions();
    fill(&mut session);
    run(&mut other, "USE d");
    run(
        &mut session,
        "SET sql_mode = 'ERROR_FOR_DIVISION_BY_ZERO', @from = 100",
    );
    let mut random = Random(11);
    let mut helped = 0;
    for round in 0..160 {
        match round {
            20 => {
                run(
                    &mut session,
                    "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
                );
                run(&mut other, "BEGIN");
                // Which it sees.
                run(&mut other, "UPDATE t SET a = a + 3, d = NULL WHERE b = 4");
                run(&mut other, "DELETE FROM t WHERE b = 0 AND a < 50");
            }
            40 => {
                run(&mut other, "ROLLBACK");
                run(
                    &mut session,
                    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                );
            }
            60 => {
                run(
                    &mut session,
                    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                );
                run(&mut session, "BEGIN");
                run(&mut session, "SELECT COUNT(*) FROM t");
                // Which the transaction does not see.
                run(&mut other, "UPDATE t SET a = a + 1 WHERE b = 2");
                run(&mut other, "DELETE FROM t WHERE b = 3");
            }
            // Which only it sees.
            80 => drop(run(&mut session, "UPDATE t SET d = 5 WHERE b = 1")),
            90 => drop(run(&mut session, "ROLLBACK")),
            // For groups there is little room.
            130 => drop(run(
                &mut session,
                "SET tmp_table_size = 1024, sort_buffer_size = 32768",
            )),
            _ => {}
        }
        let sql = random.query();
        let alone = answer(&mut session, 1, &sql);
        let before = lent.load(Relaxed);
        let together = answer(&mut session, 4, &sql);
        helped += u64::from(lent.load(Relaxed) > before);
        assert_eq!(alone, together, "{sql}");
    }
    assert!(helped > 30 || processors() < 2, "{helped}");
}

/// Where no row meets the condition there is one group of all rows, and none of some.
#[test]
fn no_rows_are_one_group() {
    let ([mut session, _], lent) = sessions();
    fill(&mut session);
    let before = lent.load(Relaxed);
    let aggregates = "COUNT(*), SUM(t.a), MAX(t.b), COUNT(DISTINCT t.s)";
    for rest in [
        "",
        " GROUP BY t.b",
        " HAVING COUNT(*) < 3",
        " GROUP BY t.s HAVING COUNT(*) < 3",
    ] {
        let sql = format!("SELECT {aggregates} FROM t WHERE t.a % 7 = 9{rest}");
        let alone = answer(&mut session, 1, &sql);
        assert_eq!(alone.0.len(), usize::from(!rest.contains("GROUP")), "{sql}");
        assert_eq!(alone, answer(&mut session, 4, &sql), "{sql}");
    }
    assert!(lent.load(Relaxed) > before || processors() < 2);
}

/// Groups that come in turn are whole, whatever parts of a key tell them apart: those of the index, of the row's
/// key behind it, or some of both.
#[test]
fn groups_that_come_in_turn_are_whole() {
    let ([mut session, _], lent) = sessions();
    fill(&mut session);
    let before = lent.load(Relaxed);
    for table in ["t", "c t"] {
        for index in ["PRIMARY", "a", "b", "s"] {
            for keys in [
                "t.a",
                "t.a, t.b",
                "t.b, t.a, t.id",
                "t.b",
                "t.b, t.d",
                "t.d, t.b, t.id",
                "t.b, t.id",
                "t.id",
                "t.s, t.b",
            ] {
                let sql = format!(
                    "SELECT {keys}, COUNT(*), MIN(t.big), MAX(t.big) FROM {table} FORCE INDEX ({index}) \
                     WHERE t.b < 3 GROUP BY {keys} HAVING COUNT(*) % 3 > 0"
                );
                let alone = answer(&mut session, 1, &sql);
                assert_eq!(alone, answer(&mut session, 4, &sql), "{sql}");
            }
        }
    }
    assert!(lent.load(Relaxed) > before + 20 || processors() < 2);
}

/// A helper has as much room on its stack as the statement's thread.
#[test]
fn helpers_evaluate_what_nests_deeply() {
    let ([mut session, _], lent) = sessions();
    fill(&mut session);
    // Deeper than a thread has room for by itself, unoptimised.
    let deep = format!("{}a{}", "ABS(".repeat(300), ")".repeat(300));
    let before = lent.load(Relaxed);
    for sql in [
        format!("SELECT COUNT(*) FROM t WHERE {deep} IS NULL"),
        format!("SELECT COUNT({deep}) FROM t"),
        format!("SELECT id FROM t WHERE {deep} = 7 ORDER BY id DESC"),
    ] {
        let alone = answer(&mut session, 1, &sql);
        assert_eq!(alone, answer(&mut session, 4, &sql));
    }
    assert!(lent.load(Relaxed) > before || processors() < 2);
}

/// Several threads build the indexes that one builds, as many as innodb_ddl_threads lets.
#[test]
fn helpers_build_the_same_indexes() {
    let ([mut session, _], lent) = sessions();
    fill(&mut session);
    let indexes = "ADD INDEX ba (b, a), ADD INDEX sm (s(3), m DESC), ADD UNIQUE (big, id), \
                   ADD INDEX l ((CAST(j->'$.l' AS UNSIGNED ARRAY)))";
    let mut before = lent.load(Relaxed);
    for threads in [1, 4] {
        run(&mut session, &format!("SET innodb_ddl_threads = {threads}"));
        for table in ["t", "c"] {
            let named = format!("CREATE TABLE {table}{threads} LIKE {table}");
            run(&mut session, &named);
            let filled = format!("INSERT INTO {table}{threads} SELECT * FROM {table}");
            run(&mut session, &filled);
            before = lent.load(Relaxed);
            run(
                &mut session,
                &format!("ALTER TABLE {table}{threads} {indexes}"),
            );
            let checked = run(&mut session, &format!("CHECK TABLE {table}{threads}"));
            let last = checked.rows.last().map(String::as_str);
            assert!(last.is_some_and(|row| row.ends_with("|OK|")), "{last:?}");
            if threads == 1 {
                assert_eq!(lent.load(Relaxed), before, "one thread has no helpers");
            }
            let refused = format!("ALTER TABLE {table}{threads} ADD UNIQUE bm (b, m)");
            let refused = session.query(refused.as_bytes(), false, &mut Rows::default());
            assert_eq!(refused.map_err(|error| error.code).err(), Some(1062));
        }
    }
    assert!(lent.load(Relaxed) > before || processors() < 2);
}

/// A statement that has helpers is killed as others are.
#[test]
fn helpers_end_with_the_statement() {
    let ([mut session, mut other], lent) = sessions();
    fill(&mut session);
    let running = thread::spawn(move || {
        run(&mut session, "USE d");
        let killed = [
            "SELECT SUM(LENGTH(SHA2(REPEAT(s, a * 100), 512))) FROM t",
            "SELECT id FROM t WHERE SHA2(REPEAT(s, a * 100), 512) < '1'",
        ];
        let answers = killed.map(|sql| {
            let answer = session.query(sql.as_bytes(), false, &mut Rows::default());
            answer.map_err(|error| error.code)
        });
        // It is there as long as somebody may kill it.
        (answers, session)
    });
    while !running.is_finished() {
        if lent.load(Relaxed) > 0 || processors() < 2 {
            run(&mut other, "KILL QUERY 1");
        }
        thread::sleep(Duration::from_millis(5));
    }
    let (answers, _) = running.join().expect("answers");
    assert_eq!(answers, [Err(1317); 2]);
}
