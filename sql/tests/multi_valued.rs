//! When multi-valued indexes are read, and that they are not where they would not do.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session, status::Counter};
use std::{io, path::Path};

const ROWS: u64 = 1000;

/// Collects rows as texts.
#[derive(Default)]
struct Rows(Vec<Vec<String>>);

impl Output for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let text = |value: &Value| match value {
            Value::Null => "NULL".into(),
            Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
            Value::Int(number) => number.to_string(),
            other => format!("{other:?}"),
        };
        self.0.push(row.iter().map(text).collect());
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    let mut out = Rows::default();
    let result = session.query(sql.as_bytes(), false, &mut out);
    result.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    out.0
}

/// Rows with arrays of two numbers, every tenth with an empty one.
fn session() -> Session {
    let disk = Disk::new(1);
    let options = EngineOptions::default();
    let engine = Engine::open(&disk.env(), Path::new("/d"), options, &mut |_| {});
    let mut session = Session::alone(engine.expect("a new data directory")).expect("a first user");
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, j JSON, KEY k ((CAST(j->'$.n' AS UNSIGNED ARRAY))), \
         KEY ak (a, (CAST(j->'$.n' AS UNSIGNED ARRAY))), KEY ka ((CAST(j->'$.n' AS UNSIGNED ARRAY)), a), \
         KEY s ((CAST(j->'$.s' AS CHAR(5) ARRAY))), KEY hid ((CAST(j->'$.h' AS DATE ARRAY))) INVISIBLE, \
         UNIQUE u ((CAST(j->'$.u' AS SIGNED ARRAY))))",
    ] {
        run(&mut session, sql);
    }
    let row = |id: u64| {
        let n = match id % 10 {
            0 => String::new(),
            _ => format!("{}, {}", id / 10, 1000 + id / 10),
        };
        let h = "\"2020-01-01\"";
        format!(
            "({id}, {}, '{{\"n\": [{n}], \"s\": [\"{id}\"], \"u\": [{id}], \"h\": [{h}]}}')",
            id % 4
        )
    };
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    run(
        &mut session,
        &format!("INSERT INTO t VALUES {}", rows.join(", ")),
    );
    session
}

/// The columns `type`, `key` and `key_len` of EXPLAIN.
fn path(session: &mut Session, condition: &str) -> String {
    let rows = run(
        session,
        &format!("EXPLAIN SELECT * FROM t WHERE {condition}"),
    );
    [4, 6, 7].map(|column| rows[0][column].clone()).join(" ")
}

#[test]
fn conditions_on_arrays_find_their_indexes() {
    let mut session = session();
    let mut of = |condition: &str| path(&mut session, condition);
    for (condition, wanted) in [
        ("3 MEMBER OF (j->'$.n')", "ref k 9"),
        ("3 MEMBER OF (JSON_EXTRACT(j, '$.n'))", "ref k 9"),
        ("JSON_CONTAINS(j->'$.n', '[3, 4]')", "range k 9"),
        ("JSON_OVERLAPS(j->'$.n', '[3, 4]')", "range k 9"),
        ("JSON_OVERLAPS('[3, 4]', j->'$.n')", "range k 9"),
        ("JSON_CONTAINS(j->'$.n', '3') = 1", "range k 9"),
        ("a = 1 AND 3 MEMBER OF (j->'$.n')", "ref ak 14"),
        ("a > 1 AND 3 MEMBER OF (j->'$.n')", "range ka 14"),
        ("'3' MEMBER OF (j->'$.s')", "ref s 23"),
        (
            "3 MEMBER OF (j->'$.n') OR 4 MEMBER OF (j->'$.n')",
            "range k 9",
        ),
        ("3 MEMBER OF (j->'$.u')", "ref u 9"),
        // Of another kind, or another part of the document.
        ("'3' MEMBER OF (j->'$.n')", "ALL NULL NULL"),
        ("3 MEMBER OF (j->'$.s')", "ALL NULL NULL"),
        ("3 MEMBER OF (j->'$.m')", "ALL NULL NULL"),
        ("JSON_CONTAINS(j, '3', '$.n')", "ALL NULL NULL"),
        ("id MEMBER OF (j->'$.n')", "ALL NULL NULL"),
        ("DATE'2020-01-01' MEMBER OF (j->'$.h')", "ALL NULL NULL"),
        // Rows without the value are wanted, too.
        ("NOT 3 MEMBER OF (j->'$.n')", "ALL NULL NULL"),
        ("3 MEMBER OF (j->'$.n') OR a = 1", "ALL NULL NULL"),
        ("JSON_CONTAINS(j->'$.n', '3') = 0", "ALL NULL NULL"),
        ("a = 1", "ALL NULL NULL"),
        ("j->'$.n' IS NULL", "ALL NULL NULL"),
    ] {
        assert_eq!(of(condition), wanted, "{condition}");
    }
    let order = "EXPLAIN SELECT a FROM t FORCE INDEX (ak) ORDER BY a";
    assert_eq!(run(&mut session, order)[0][4], "ALL");
}

/// How many rows and entries are read for so many rows.
#[test]
fn no_more_is_read_than_has_the_values() {
    let mut session = session();
    let read = |session: &Session| {
        use Counter::{HandlerReadKey, HandlerReadNext, HandlerReadRndNext};
        let counters = session.state().counters();
        let all = [HandlerReadKey, HandlerReadNext, HandlerReadRndNext];
        all.into_iter()
            .map(|counter| counters.get(counter))
            .sum::<u64>()
    };
    for (condition, rows, most) in [
        ("3 MEMBER OF (j->'$.n')", 9, 40),
        ("JSON_CONTAINS(j->'$.n', '[3, 1003]')", 9, 40),
        ("JSON_CONTAINS(j->'$.n', '[3, 4]')", 0, 40),
        ("JSON_OVERLAPS(j->'$.n', '[3, 1003, 4]')", 18, 90),
        ("JSON_OVERLAPS(j->'$.n', '[3, 3, 3]')", 9, 40),
        ("2001 MEMBER OF (j->'$.n')", 0, 5),
        // Nothing is looked for: all rows are read.
        ("JSON_CONTAINS(j->'$.n', '[]')", 1000, 2100),
        ("JSON_OVERLAPS(j->'$.n', '[\"x\"]')", 0, 2100),
    ] {
        // The second time the plan is one that is there.
        for _ in 0..2 {
            let before = read(&session);
            let sql = format!("SELECT id FROM t WHERE {condition}");
            assert_eq!(run(&mut session, &sql).len(), rows, "{condition}");
            let read = read(&session) - before;
            assert!(read <= most, "{condition} reads {read}");
        }
    }
}

#[test]
fn one_plan_serves_all_values_of_a_parameter() {
    let mut session = session();
    for (sql, values) in [
        (
            "SELECT id FROM t WHERE JSON_OVERLAPS(j->'$.n', ?)",
            vec![
                ("[3]", 9),
                ("[3, 1004]", 18),
                ("[]", 0),
                ("[\"x\", 3]", 9),
                ("[[3]]", 0),
                ("5", 9),
            ],
        ),
        (
            "SELECT id FROM t WHERE JSON_CONTAINS(j->'$.n', ?) AND a >= 0",
            vec![
                ("[3]", 9),
                ("[]", 1000),
                ("[3, 1003]", 9),
                ("[3, 4]", 0),
                ("[]", 1000),
            ],
        ),
        (
            "SELECT id FROM t WHERE ? MEMBER OF (j->'$.s')",
            vec![("3", 1), ("much too long", 0), ("999", 1)],
        ),
    ] {
        let id = session
            .prepare(sql.as_bytes())
            .expect("it can be prepared")
            .id;
        for (value, rows) in values {
            let mut out = Rows::default();
            let bound = [Value::Bytes(value.as_bytes().to_vec())];
            session.execute(id, &bound, &mut out).expect("it runs");
            assert_eq!(out.0.len(), rows, "{sql} with {value}");
        }
    }
}

/// Rows whose arrays are empty are not in the index: what needs all rows reads them elsewhere.
#[test]
fn nothing_else_reads_them() {
    let mut session = session();
    run(&mut session, "UPDATE t SET a = -5 WHERE id = 10");
    let mut one = |sql: &str| run(&mut session, sql)[0].join(" ");
    assert_eq!(one("SELECT MIN(a), MAX(a) FROM t"), "-5 3");
    assert_eq!(one("SELECT MIN(a), MAX(a) FROM t FORCE INDEX (ak)"), "-5 3");
    assert_eq!(one("SELECT COUNT(*) FROM t FORCE INDEX (k)"), "1000");
    assert_eq!(
        one("SELECT COUNT(*) FROM t FORCE INDEX (ak) WHERE a < 0"),
        "1"
    );
    assert_eq!(
        one("SELECT a FROM t FORCE INDEX (ak) ORDER BY a LIMIT 1"),
        "-5"
    );
    run(&mut session, "CREATE TABLE p (id INT PRIMARY KEY)");
    run(&mut session, "INSERT INTO p VALUES (1)");
    run(
        &mut session,
        "CREATE TABLE c (p INT, j JSON, KEY pj (p, (CAST(j AS UNSIGNED ARRAY))), \
         FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
    );
    run(
        &mut session,
        "INSERT INTO c VALUES (1, '[]'), (1, '[1, 2]')",
    );
    run(&mut session, "DELETE FROM p");
    assert_eq!(run(&mut session, "SELECT COUNT(*) FROM c")[0], ["0"]);
}
