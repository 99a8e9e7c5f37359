//! What is known of statements before they run: the access paths that EXPLAIN shows (what MySQL
//! chooses depends on its statistics, so these are Cohort's own), and the columns that
//! COM_STMT_PREPARE describes.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session, status::Counter};
use std::{io, path::Path};

/// Collects the columns `type`, `key` and `key_len` of each row.
#[derive(Default)]
struct Paths(Vec<String>);

impl Output for Paths {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let shown = [4, 6, 7].map(|column| match row.get(column) {
            Some(Value::Bytes(text)) => String::from_utf8_lossy(text).into_owned(),
            _ => "-".into(),
        });
        self.0.push(shown.join(" "));
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

fn session() -> Session {
    let engine = Engine::open(
        &Disk::new(1).env(),
        Path::new("/plans"),
        EngineOptions::default(),
        &mut |_| {},
    )
    .expect("a new data directory opens");
    Session::alone(engine).expect("a first user")
}

#[test]
fn prepared_statements_describe_their_columns() {
    let mut session = session();
    let mut columns = |sql: &str| {
        let prepared = session.prepare(sql.as_bytes()).expect("it can be prepared");
        let names: Vec<&str> = prepared.columns.iter().map(|c| c.name.as_str()).collect();
        names.join(" ")
    };
    assert_eq!(columns("SELECT 1 AS a, 'x' AS b"), "a b");
    assert_eq!(columns("SHOW DATABASES"), "Database");
    assert_eq!(columns("SHOW VARIABLES LIKE 'a%'"), "Variable_name Value");
    assert_eq!(columns("CHECK TABLE t"), "Table Op Msg_type Msg_text");
    assert_eq!(columns("SHOW CREATE TABLE nosuch.t"), "");
    assert_eq!(columns("COMMIT"), "");
}

#[test]
fn conditions_become_ranges() {
    let mut session = session();
    let mut run = |sql: &str| {
        let mut out = Paths::default();
        match session.query(sql.as_bytes(), false, &mut out) {
            Ok(()) => out.0.join(", "),
            Err(error) => error.message,
        }
    };
    run("CREATE DATABASE d");
    run("USE d");
    run(
        "CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, a INT, b INT, c CHAR(4), KEY k (k), KEY ab (a, b))",
    );
    run("INSERT INTO t SELECT 1, 1, 1, 1, 'x'");
    for _ in 0..10 {
        let more = "(SELECT MAX(id) FROM t)";
        run(&format!(
            "INSERT INTO t SELECT id + {more}, k + {more}, a + {more}, b + 1, c FROM t"
        ));
    }
    // A plan that is made while the table is empty must do when it has grown.
    run("CREATE TABLE fresh LIKE t");
    for (condition, path) in [
        ("id = 5", "const PRIMARY 4"),
        ("id IN (5, 7)", "range PRIMARY 4"),
        ("id = 5 AND (k = 1 OR c = 'x')", "const PRIMARY 4"),
        ("k BETWEEN 1 AND 2 OR k BETWEEN 5 AND 6", "range k 4"),
        ("k = 1 OR k BETWEEN 5 AND 6 OR k > 1000", "range k 4"),
        ("k IN (1, 2, 3) AND c = 'x'", "range k 4"),
        ("(a = 1 AND b = 2) OR (a = 3 AND b = 4)", "range ab 10"),
        ("(a, b) IN ((1, 2), (3, 4))", "range ab 10"),
        ("a = 1 AND (b < 5 OR b > 7)", "range ab 10"),
        ("a = 1", "ref ab 5"),
        ("k = 1 OR c = 'x'", "ALL - -"),
        ("k = 1 OR a = 1", "index_merge k,ab 4,5"),
        ("k = 1 OR id + 1 = 5", "ALL - -"),
    ] {
        for table in ["t", "fresh"] {
            let sql = format!("EXPLAIN SELECT * FROM {table} WHERE {condition}");
            assert_eq!(run(&sql), path, "{sql}");
        }
    }
    let ranges = ["k BETWEEN 1 AND 10"; 10].join(" OR ");
    let sql = format!("EXPLAIN SELECT COUNT(k) FROM t WHERE {ranges}");
    assert_eq!(run(&sql), "range k 4");
}

#[test]
fn plans_are_made_anew_when_a_table_has_grown_tenfold() {
    let mut session = session();
    let mut run = |sql: &str| {
        let result = session.query(sql.as_bytes(), false, &mut Paths::default());
        result.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
        session.state().counters().get(Counter::HandlerReadRndNext)
    };
    run("CREATE DATABASE d");
    run("USE d");
    for table in ["first", "second"] {
        run(&format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, k INT NOT NULL, KEY k (k))"
        ));
        run(&format!("INSERT INTO {table} VALUES (1, 1)"));
    }
    let join = "SELECT first.id FROM first JOIN second ON first.k = second.k";
    run(&format!("PREPARE p FROM '{join}'"));
    for execute in [join, "EXECUTE p"] {
        run(execute);
    }
    for _ in 0..14 {
        run("INSERT INTO first SELECT id + (SELECT MAX(id) FROM first), k + 1 FROM first");
    }
    for execute in [join, "EXECUTE p"] {
        let before = run("DO 0");
        let read = run(execute) - before;
        assert!(read < 10, "{execute} reads {read} rows of the larger table");
    }
}

#[test]
fn few_rows_are_sorted_and_many_are_read_in_order() {
    let mut session = session();
    let mut run = |sql: &str| rows_and_reads(&mut session, sql);
    run("CREATE DATABASE d");
    run("USE d");
    run("CREATE TABLE t (id INT PRIMARY KEY, a INT, k INT NOT NULL, KEY a (a), KEY k (k))");
    run("INSERT INTO t VALUES (1, 7, 8191)");
    for _ in 0..13 {
        run(
            "INSERT INTO t SELECT id + (SELECT MAX(id) FROM t), a, 8192 - id \
             - (SELECT MAX(id) FROM t) FROM t",
        );
    }
    // The rows at the end of what `ORDER BY k` reads.
    run("UPDATE t SET a = 1 WHERE id <= 5");
    for (statement, found) in [
        ("SELECT id FROM t WHERE a = 1 ORDER BY k LIMIT 2", "5 4"),
        (
            "SELECT id FROM t WHERE a = 7 ORDER BY k LIMIT 2",
            "8192 8191",
        ),
        (
            "SELECT id FROM t WHERE a = 1 ORDER BY k LIMIT 9",
            "5 4 3 2 1",
        ),
        ("SELECT id FROM t WHERE a = 0 ORDER BY k LIMIT 2", ""),
        (
            "SELECT id FROM t FORCE INDEX (a) WHERE a = 1 AND id < 3",
            "1 2",
        ),
        (
            "SELECT id FROM t WHERE a = 7 ORDER BY k DESC LIMIT 1, 2",
            "7 8",
        ),
        ("SELECT id FROM t WHERE id < 4 ORDER BY k LIMIT 2", "3 2"),
        (
            "SELECT id FROM t WHERE id > 4 ORDER BY k LIMIT 2",
            "8192 8191",
        ),
        (
            "SELECT id FROM t WHERE a = 1 AND id IN (1, 3) ORDER BY k LIMIT 1 FOR UPDATE",
            "3",
        ),
        ("UPDATE t SET a = 2 WHERE a = 1 ORDER BY k LIMIT 2", ""),
        ("SELECT id FROM t WHERE a = 2 ORDER BY k LIMIT 3", "5 4"),
        ("DELETE FROM t WHERE a = 7 ORDER BY k LIMIT 1", ""),
        ("SELECT id FROM t WHERE a = 7 ORDER BY k LIMIT 1", "8191"),
    ] {
        let (ids, read) = run(statement);
        assert_eq!(ids, found, "{statement}");
        assert!(read < 40, "{statement} reads {read} rows");
    }
}

#[test]
fn of_two_indexes_the_one_with_fewer_entries_is_read() {
    let mut session = session();
    let mut run = |sql: &str| rows_and_reads(&mut session, sql);
    run("CREATE DATABASE d");
    run("USE d");
    run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY a (a), KEY b (b))");
    run("INSERT INTO t VALUES (1, 1, 1)");
    for _ in 0..12 {
        run("INSERT INTO t SELECT id + (SELECT MAX(id) FROM t), a, b FROM t");
    }
    run("UPDATE t SET a = 2 WHERE id IN (7, 8)");
    run("UPDATE t SET b = 2 WHERE id IN (8, 9)");
    for (statement, found) in [
        ("SELECT id FROM t WHERE a = 1 AND b = 2", "9"),
        ("SELECT id FROM t WHERE a = 2 AND b = 1", "7"),
        ("SELECT id FROM t WHERE a > 1 AND b = 1", "7"),
        ("SELECT COUNT(*) FROM t WHERE a = 1 AND b > 1", "1"),
        ("SELECT id FROM t WHERE a = 2 AND b = 1 ORDER BY b", "7"),
        ("SELECT id FROM t WHERE a = 1 AND b = 2 ORDER BY a", "9"),
        (
            "SELECT t.id FROM t JOIN t u USING (id) WHERE t.a = 1 AND t.b = 2",
            "9",
        ),
        (
            "SELECT t.id FROM (SELECT 1 AS x) d JOIN t ON t.a = d.x WHERE t.b = 2",
            "9",
        ),
        (
            "SELECT id FROM t WHERE a = 1 AND b IN (2, 3) FOR UPDATE",
            "9",
        ),
        ("UPDATE t SET b = b + 1 WHERE a = 1 AND b >= 2", ""),
        ("SELECT id FROM t WHERE a = 1 AND b = 3", "9"),
        ("DELETE FROM t WHERE a = 1 AND b = 3", ""),
        ("SELECT id FROM t WHERE a IN (1, 2) AND b > 1", "8"),
    ] {
        let (ids, read) = run(statement);
        assert_eq!(ids, found, "{statement}");
        assert!(read < 10, "{statement} reads {read} rows");
    }
}

#[test]
fn the_primary_key_goes_on_where_an_index_ends() {
    let mut session = session();
    let mut run = |sql: &str| rows_and_reads(&mut session, sql);
    run("CREATE DATABASE d");
    run("USE d");
    run(
        "CREATE TABLE t (id INT, n INT, a INT, c CHAR(9), PRIMARY KEY (id, n DESC), KEY a (a), KEY c (c))",
    );
    run("INSERT INTO t VALUES (1, 1, 7, 'A')");
    for _ in 0..11 {
        run("INSERT INTO t SELECT id + (SELECT MAX(id) FROM t), id % 3, a, 'a' FROM t");
    }
    for (statement, found) in [
        (
            "SELECT id FROM t WHERE a = 7 AND id > 1000 ORDER BY id LIMIT 2",
            "1001 1002",
        ),
        (
            "SELECT id FROM t WHERE a = 7 AND id < 1000 ORDER BY id DESC LIMIT 2",
            "999 998",
        ),
        (
            "SELECT id, n FROM t FORCE INDEX (a) WHERE a = 7 AND id = 10",
            "10,2",
        ),
        (
            "SELECT id, n FROM t FORCE INDEX (a) WHERE a = 7 AND id = 10 AND n = 2",
            "10,2",
        ),
        (
            "SELECT id, n FROM t FORCE INDEX (a) WHERE a = 7 AND id = 10 AND n < 2",
            "",
        ),
        (
            "SELECT id, n FROM t FORCE INDEX (c) WHERE c = 'a' AND id IN (1, 10, 20)",
            "1,1 10,2 20,1",
        ),
        (
            "SELECT id FROM t FORCE INDEX (c) WHERE c IN ('A', 'b') AND id BETWEEN 5 AND 6 FOR UPDATE",
            "5 6",
        ),
        (
            "SELECT id FROM t FORCE INDEX (a) WHERE a IS NULL AND id = 5",
            "",
        ),
        ("DELETE FROM t WHERE a = 7 AND id > 2046", ""),
        (
            "SELECT MAX(id), COUNT(*) FROM t FORCE INDEX (a) WHERE a = 7 AND id > 2040",
            "2046,6",
        ),
    ] {
        let (rows, read) = run(statement);
        assert_eq!(rows, found, "{statement}");
        assert!(read < 20, "{statement} reads {read} rows");
    }
}

#[test]
fn min_and_max_are_read_from_the_ends_of_an_index() {
    let mut session = session();
    let mut run = |sql: &str| rows_and_reads(&mut session, sql);
    run("CREATE DATABASE d");
    run("USE d");
    run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT NOT NULL, KEY ab (a, b), KEY b (b))");
    assert_eq!(run("SELECT MIN(id), MAX(b) FROM t").0, "NULL,NULL");
    run("INSERT INTO t VALUES (1, NULL, 5)");
    assert_eq!(run("SELECT MIN(a), MAX(a) FROM t").0, "NULL,NULL");
    for _ in 0..11 {
        run("INSERT INTO t SELECT id + (SELECT MAX(id) FROM t), id % 9, id * 3 FROM t");
    }
    for (statement, found) in [
        ("SELECT MIN(id), MAX(id) FROM t", "1,2048"),
        ("SELECT MAX(b), MIN(id), MAX(a) FROM t", "3072,1,8"),
        ("SELECT MIN(a) FROM t", "0"),
        ("SELECT MAX(id) + 1 AS next FROM t HAVING next > 5", "2049"),
        ("SELECT MAX(b), MIN(b) FROM t WHERE a = 4", "3063,12"),
        ("SELECT MAX(b) FROM t WHERE a = 77", "NULL"),
        ("SELECT MIN(id) FROM t WHERE id > 100", "101"),
        (
            "SELECT MAX(id) FROM t WHERE id BETWEEN 7 AND 9 AND b > 0",
            "9",
        ),
        (
            "SELECT id FROM t WHERE id = (SELECT MAX(id) FROM t)",
            "2048",
        ),
        (
            "SELECT (SELECT MIN(b) FROM t u WHERE u.a = t.a) FROM t WHERE id = 2",
            "3",
        ),
    ] {
        let (rows, read) = run(statement);
        assert_eq!(rows, found, "{statement}");
        assert!(read < 10, "{statement} reads {read} rows");
    }
}

#[test]
fn the_column_of_another_row_leads_to_fewer_rows_than_a_value() {
    let mut session = session();
    let mut run = |sql: &str| rows_and_reads(&mut session, sql);
    run("CREATE DATABASE d");
    run("USE d");
    run("CREATE TABLE t (id INT PRIMARY KEY, s INT, u INT, KEY s (s), KEY u (u))");
    run("INSERT INTO t VALUES (1, 1, 0)");
    for _ in 0..11 {
        run("INSERT INTO t SELECT id + (SELECT MAX(id) FROM t), s, id FROM t");
    }
    let exists = "EXISTS (SELECT 1 FROM t WHERE t.u = o.id AND t.s = 1)";
    let (rows, read) = run(&format!("SELECT COUNT(*) FROM t o WHERE {exists}"));
    assert_eq!(rows, "1024");
    assert!(read < 10_000, "{read}");
}

/// The rows that a statement returns, and how many it reads.
fn rows_and_reads(session: &mut Session, sql: &str) -> (String, u64) {
    let before = reads(session);
    let mut out = Rows::default();
    let result = session.query(sql.as_bytes(), false, &mut out);
    result.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    (out.0.join(" "), reads(session) - before)
}

/// How many rows and index entries a session has read.
fn reads(session: &Session) -> u64 {
    use Counter::{HandlerReadKey, HandlerReadNext, HandlerReadPrev, HandlerReadRndNext};
    let counters = [
        HandlerReadKey,
        HandlerReadNext,
        HandlerReadPrev,
        HandlerReadRndNext,
    ];
    let read = |counter| session.state().counters().get(counter);
    counters.into_iter().map(read).sum()
}

/// Collects rows of numbers.
#[derive(Default)]
struct Rows(Vec<String>);

impl Output for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let text = |value: &Value| match value {
            Value::Int(number) => number.to_string(),
            Value::Null => "NULL".into(),
            other => format!("{other:?}"),
        };
        self.0
            .push(row.iter().map(text).collect::<Vec<_>>().join(","));
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn expressions_have_the_types_that_mysql_tells() {
    use cohort_engine::types::ColumnType;
    let mut session = session();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (i TINYINT, n INT NOT NULL, c CHAR(5), v VARCHAR(20), x TEXT, f FLOAT)",
    ] {
        let result = session.query(sql.as_bytes(), false, &mut Paths::default());
        result.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    }
    // Lengths in bytes, as MySQL 9.7 has them.
    for (expression, ty, length) in [
        ("COALESCE(n)", ColumnType::Int, 11),
        ("IFNULL(i, 1)", ColumnType::BigInt, 4),
        ("n = 1", ColumnType::BigInt, 1),
        ("n & 1", ColumnType::BigInt, 21),
        ("MONTH(v)", ColumnType::BigInt, 3),
        ("LENGTH(v)", ColumnType::BigInt, 11),
        ("MAX(f)", ColumnType::Float, 23),
        ("ROUND(f, 1)", ColumnType::Double, 23),
        ("LPAD(v, 5, 'a')", ColumnType::VarChar(5), 20),
        ("REPEAT(v, 3)", ColumnType::VarChar(60), 240),
        ("QUOTE(v)", ColumnType::VarChar(42), 168),
        ("HEX(n)", ColumnType::VarChar(16), 64),
        ("DATE_ADD(v, INTERVAL 1 DAY)", ColumnType::Char(29), 116),
        ("GROUP_CONCAT(v)", ColumnType::Text(4), 65_536),
        ("x", ColumnType::Text(2), 262_140),
    ] {
        let sql = format!("SELECT {expression} FROM t");
        let prepared = session.prepare(sql.as_bytes());
        let prepared = prepared.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
        let found = prepared.columns.first().map(|c| (c.ty, c.length));
        assert_eq!(found, Some((Some(ty), length)), "{expression}");
    }
}

#[test]
fn expressions_find_their_indexes() {
    let mut session = session();
    let mut run = |sql: &str| {
        let mut out = Paths::default();
        match session.query(sql.as_bytes(), false, &mut out) {
            Ok(()) => out.0.join(", "),
            Err(error) => error.message,
        }
    };
    run("CREATE DATABASE d");
    run("USE d");
    run(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), a INT, b INT, ts TIMESTAMP NULL, \
         g INT AS (a * 2), r DECIMAL(9,1) AS (a / 4), KEY i ((LOWER(name))), KEY s ((a + b)), \
         KEY m (a, (b * 2)), KEY g (g), KEY r (r), KEY z ((DATE(ts))), KEY l ((LEFT(name, 3))), \
         KEY hid ((a + 7)) INVISIBLE, d DATETIME, KEY dd ((DATE(d))), j JSON, \
         KEY jn ((CAST(j->>'$.n' AS UNSIGNED))), KEY y ((YEAR(d))))",
    );
    let mut of = |condition: &str| run(&format!("EXPLAIN SELECT * FROM t WHERE {condition}"));
    assert_eq!(of("LOWER(name) = 'x'"), "ref i 83");
    assert_eq!(of("'x' < LOWER(name)"), "range i 83");
    assert_eq!(of("lcase(name) IN ('x', 'y')"), "range i 83");
    assert_eq!(of("a + b BETWEEN 1 AND 2"), "range s 9");
    assert_eq!(of("a = 1 AND b * 2 = 4"), "ref m 14");
    assert_eq!(of("a * 2 = 4"), "ref g 5");
    assert_eq!(of("LEFT(name, 3) = 'abc'"), "ref l 15");
    assert_eq!(of("DATE(d) = '2020-01-01'"), "ref dd 4");
    assert_eq!(of("YEAR(d) > 2020"), "range y 2");
    assert_eq!(of("CAST(j->>'$.n' AS UNSIGNED) = 5"), "ref jn 9");
    assert_eq!(
        of("CAST(JSON_UNQUOTE(JSON_EXTRACT(j, '$.n')) AS UNSIGNED) = 5"),
        "ref jn 9"
    );
    assert_eq!(of("CAST(j->>'$.m' AS UNSIGNED) = 5"), "ALL - -");
    // Other expressions, other literals, other collations.
    assert_eq!(of("b + a = 1"), "ALL - -");
    assert_eq!(of("LEFT(name, 4) = 'abc'"), "ALL - -");
    assert_eq!(of("LOWER(name COLLATE utf8mb4_bin) = 'x'"), "ALL - -");
    assert_eq!(of("LOWER(name) + 1 = 2"), "ALL - -");
    // A column that rounds, an expression that sessions see differently, an index nobody may use.
    assert_eq!(of("a / 4 = 1"), "ALL - -");
    assert_eq!(of("DATE(ts) = '2020-01-01'"), "ALL - -");
    assert_eq!(of("a + 7 = 1"), "ALL - -");
    assert_eq!(
        run("EXPLAIN SELECT id FROM t ORDER BY LOWER(name) LIMIT 1"),
        "index i 83"
    );
    assert_eq!(
        run("EXPLAIN SELECT a + b, COUNT(*) FROM t GROUP BY a + b"),
        "index s 9"
    );
    assert_eq!(
        run("EXPLAIN SELECT x.id FROM t x JOIN t y ON LOWER(y.name) = x.name"),
        "ALL - -, ref i 83"
    );
    // A row of NULLs has no value of COALESCE.
    run("ALTER TABLE t ADD KEY c ((COALESCE(b, 0)))");
    assert_eq!(
        run("EXPLAIN SELECT * FROM t x LEFT JOIN t y ON y.id = x.b WHERE COALESCE(y.b, 0) = 0"),
        "ALL - -, eq_ref PRIMARY 4"
    );
    assert_eq!(
        run("EXPLAIN SELECT * FROM t x LEFT JOIN t y ON COALESCE(y.b, 0) = x.id"),
        "ALL - -, ref c 8"
    );
    assert_eq!(
        run("EXPLAIN UPDATE t SET a = 1 WHERE LOWER(name) = 'x'"),
        "ref i 83"
    );
}

/// Literals of an index's expression that were lifted out of a text decide which plan it has.
#[test]
fn plans_with_literals_of_indexes_are_for_these() {
    let mut session = session();
    let mut run = |sql: &str| {
        let mut out = Paths::default();
        let result = session.query(sql.as_bytes(), false, &mut out);
        result.expect("it runs");
        out.0.len()
    };
    run("CREATE DATABASE d");
    run("USE d");
    run("CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY ((a + 1)), KEY ((CONCAT(a, 'x'))))");
    run("INSERT INTO t VALUES (1, 10), (2, 11), (3, 11)");
    for _ in 0..2 {
        assert_eq!(run("SELECT * FROM t WHERE a + 1 = 12"), 2);
        assert_eq!(run("SELECT * FROM t WHERE a + 2 = 12"), 1);
        assert_eq!(run("SELECT * FROM t WHERE a + 1 = 11"), 1);
    }
    assert!(!scans(&mut session, "a + 1 = 12"));
    assert!(scans(&mut session, "a + 2 = 12"));
    assert!(!scans(&mut session, "CONCAT(a, 'x') = '11x'"));
    let mut prepared = |sql: &str, a: i64, b: i64| {
        let prepared = session.prepare(sql.as_bytes()).expect("it can be prepared");
        let mut out = Paths::default();
        let values = [Value::Int(a), Value::Int(b)];
        let result = session.execute(prepared.id, &values, &mut out);
        result.expect("it runs");
        out.0.len()
    };
    for _ in 0..2 {
        assert_eq!(prepared("SELECT * FROM t WHERE a + ? = ?", 1, 12), 2);
        assert_eq!(prepared("SELECT * FROM t WHERE a + ? = ?", 2, 12), 1);
    }
}

/// Whether a query reads the whole table.
fn scans(session: &mut Session, condition: &str) -> bool {
    let read = |session: &Session| {
        let counters = session.state().counters();
        counters.get(Counter::HandlerReadRndNext)
    };
    let before = read(session);
    let sql = format!("SELECT * FROM t WHERE {condition}");
    let result = session.query(sql.as_bytes(), false, &mut Paths::default());
    result.expect("it runs");
    read(session) > before
}

/// A table with so many rows whose columns have few and many values, and a small one.
fn two_tables(session: &mut Session) {
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE small (id INT PRIMARY KEY, kind INT, name VARCHAR(10), KEY kind (kind))",
        "CREATE TABLE large (id INT PRIMARY KEY, small INT, day INT, few INT, note VARCHAR(9), \
         KEY small (small), KEY day (day), KEY few_day (few, day))",
        "SET cte_max_recursion_depth = 100000",
        "INSERT INTO small WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n \
         WHERE i < 100) SELECT i, i % 10, CONCAT('n', i % 50) FROM n",
        "INSERT INTO large WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n \
         WHERE i < 5000) SELECT i, i % 100, i DIV 5, i % 4, IF(i % 100, 'usual', 'rare') FROM n",
    ] {
        let result = session.query(sql.as_bytes(), false, &mut Rows::default());
        result.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    }
}

#[test]
fn the_join_begins_where_conditions_leave_few_rows() {
    let mut session = session();
    two_tables(&mut session);
    for (condition, most) in [
        // 4 rows of `small`, with 50 of `large` each; or 50 of `large`, with one of `small` each.
        ("small.name = 'n7'", 400),
        ("large.note = 'rare'", 5_300),
        ("large.day = 77", 40),
        ("large.day BETWEEN 77 AND 80 AND small.kind < 8", 120),
        ("small.kind = 3 AND large.day < 10", 250),
        (
            "(small.id = 7 AND large.day = 1) OR (small.id = 8 AND large.day = 2)",
            40,
        ),
        // Said of the one, and found by the other.
        ("small.id = 7", 120),
        ("large.small IN (7, 8)", 250),
    ] {
        let join = "small.id = large.small";
        let join = match condition.contains("OR") {
            true => condition.replace("small.id =", &format!("{join} AND small.id =")),
            false => format!("{join} AND {condition}"),
        };
        let sql = format!("SELECT COUNT(*) FROM large, small WHERE {join}");
        let (found, read) = rows_and_reads(&mut session, &sql);
        let sql = sql.replace("COUNT(*)", "STRAIGHT_JOIN COUNT(*)");
        let (straight, _) = rows_and_reads(&mut session, &sql);
        assert_eq!(found, straight, "{sql}");
        assert!(read <= most, "{sql} reads {read} rows");
    }
}

#[test]
fn a_plan_for_other_values_is_made_anew_after_it_has_read_much() {
    let mut session = session();
    two_tables(&mut session);
    let mut run = |day: u32| {
        let sql = format!(
            "SELECT COUNT(*) FROM large STRAIGHT_JOIN small ON small.id = large.small + 0 \
             WHERE large.day < {day} AND large.note < 'z'"
        );
        rows_and_reads(&mut session, &sql)
    };
    // All are wanted: all are read.
    let (_, all) = run(100_000);
    assert!(all > 5_000, "{all} rows");
    let (_, few) = run(2);
    assert!(few < 1_000, "{few} rows");
}

#[test]
fn groups_are_made_in_turn_where_an_index_has_them_together() {
    let mut session = session();
    two_tables(&mut session);
    let mut temporary = |sql: &str| {
        let mut out = Extra::default();
        let sql = format!("EXPLAIN {sql}");
        session.query(sql.as_bytes(), false, &mut out).expect(&sql);
        out.0.contains("temporary")
    };
    let of = |columns: &str, index: &str| {
        format!("SELECT {columns}, COUNT(*), SUM(id) FROM large {index} GROUP BY {columns}")
    };
    let in_turn = [
        ("id", "FORCE INDEX (PRIMARY)"),
        ("few", "FORCE INDEX (few_day)"),
        ("day, few", "FORCE INDEX (few_day)"),
        ("few, day, id", "FORCE INDEX (few_day)"),
        ("day", "FORCE INDEX (few_day) WHERE few = 1"),
    ];
    for (columns, index) in in_turn {
        assert!(!temporary(&of(columns, index)), "{columns} {index}");
    }
    let gathered = [
        ("day", "FORCE INDEX (few_day)"),
        ("note", "FORCE INDEX (PRIMARY)"),
        ("day", "FORCE INDEX (few_day) WHERE few IN (1, 2)"),
    ];
    for (columns, index) in gathered {
        assert!(temporary(&of(columns, index)), "{columns} {index}");
    }
    for (columns, index) in in_turn.into_iter().chain(gathered) {
        let mut sorted = |sql: String| {
            let (rows, _) = rows_and_reads(&mut session, &sql);
            let mut rows: Vec<String> = rows.split(' ').map(str::to_owned).collect();
            rows.sort();
            rows
        };
        let scanned = index
            .replace("FORCE INDEX (PRIMARY)", "")
            .replace("FORCE", "IGNORE");
        let wanted = sorted(of(columns, &scanned));
        assert_eq!(sorted(of(columns, index)), wanted, "{columns} {index}");
        let limited = format!("{} LIMIT 3", of(columns, index));
        let some = sorted(limited);
        assert!(
            some.iter().all(|row| wanted.contains(row)),
            "{columns} {index}"
        );
    }
}

/// Collects what EXPLAIN says beside.
#[derive(Default)]
struct Extra(String);

impl Output for Extra {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        if let Some(Value::Bytes(text)) = row.last() {
            self.0.push_str(&String::from_utf8_lossy(text));
        }
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_rows_of_a_subquery_are_looked_up() {
    let mut session = session();
    two_tables(&mut session);
    let of_small = "(SELECT id FROM small WHERE kind = 3)";
    for (condition, most) in [
        (format!("id IN {of_small}"), 150),
        (format!("small IN {of_small}"), 800),
        (format!("small IN {of_small} AND note = 'rare'"), 6_000),
        (format!("few = 1 AND day IN {of_small}"), 250),
        (
            "id IN (SELECT id FROM small WHERE kind = 99)".to_owned(),
            150,
        ),
        ("id IN (SELECT NULL UNION SELECT 7)".to_owned(), 50),
        ("id IN (SELECT 7.5 UNION SELECT 8.0)".to_owned(), 50),
        // Too many, others than it is compared as, or none of it says what is wanted.
        ("id IN (SELECT id FROM large)".to_owned(), 20_000),
        ("note IN (SELECT id FROM small)".to_owned(), 20_000),
        (format!("id NOT IN {of_small}"), 20_000),
        (format!("id IN {of_small} OR note = 'rare'"), 20_000),
        (format!("(id IN {of_small}) IS NOT TRUE"), 20_000),
    ] {
        let sql = format!("SELECT COUNT(*), SUM(id) FROM large WHERE {condition}");
        let (found, read) = rows_and_reads(&mut session, &sql);
        let index = "large IGNORE INDEX (PRIMARY, small, day, few_day)";
        let (scanned, _) = rows_and_reads(
            &mut session,
            &sql.replace("large WHERE", &format!("{index} WHERE")),
        );
        assert_eq!(found, scanned, "{sql}");
        assert!(read <= most, "{sql} reads {read} rows");
    }
    let (_, read) = rows_and_reads(
        &mut session,
        &format!("DELETE FROM large WHERE id IN {of_small}"),
    );
    assert!(read <= 150, "{read} rows are read");
    let (left, _) = rows_and_reads(&mut session, "SELECT COUNT(*) FROM large");
    assert_eq!(left, "4990");
    let (_, read) = rows_and_reads(
        &mut session,
        &format!("UPDATE large SET note = 'x' WHERE small IN {of_small} AND day < 100"),
    );
    assert!(read <= 1_200, "{read} rows are read");
}
