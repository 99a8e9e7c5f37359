//! Variables that a script of one session cannot show: the server that is read-only, for whom,
//! and what becomes of transactions that were open before; statements that have no more time; and
//! what is not there, which an error names.

use cohort_engine::{
    env::Env,
    txn::{Engine, EngineOptions, Unattended},
    types::{Collation, Value},
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, session::Identity};
use std::{io, sync::Arc};

/// Counts rows.
#[derive(Default)]
struct Rows(Vec<Value>);

impl Output for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.0.extend(row.first().cloned());
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

/// The number of the error that a statement ends with; 0 for none.
fn code(session: &mut Session, sql: &str) -> u16 {
    let result = session.query(sql.as_bytes(), false, &mut Rows::default());
    result.map_or_else(|error| error.code, |()| 0)
}

fn session(instance: &Arc<Instance>, id: u64, user: &str) -> Session {
    let who = Identity {
        user: user.into(),
        host: "localhost".into(),
        account: None,
    };
    Session::new(Arc::clone(instance), id, who, Arc::new(Unattended), false)
}

fn instance(env: &Env, directory: &std::path::Path) -> Arc<Instance> {
    let options = EngineOptions::default();
    let engine = Engine::open(env, directory, options, &mut |_| {});
    let engine = engine.expect("a new data directory opens");
    cohort_sql::users::make_first(&engine).expect("a new data directory takes its first user");
    Instance::new(Arc::new(engine))
}

fn fake() -> Arc<Instance> {
    let disk = cohort_engine::env::fake::Disk::new(1);
    instance(&disk.env(), std::path::Path::new("/obeyed"))
}

#[test]
fn super_read_only_is_for_all_and_rolls_open_transactions_back() {
    let instance = fake();
    let mut root = session(&instance, 1, "root");
    let mut other = session(&instance, 2, "root");
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)"] {
        assert_eq!(code(&mut root, sql), 0, "{sql}");
    }
    assert_eq!(code(&mut other, "BEGIN"), 0);
    assert_eq!(code(&mut other, "INSERT INTO d.t VALUES (1)"), 0);
    assert_eq!(code(&mut other, "SET GLOBAL super_read_only = 1"), 1192);
    assert_eq!(code(&mut root, "SET GLOBAL super_read_only = 1"), 0);
    assert_eq!(code(&mut other, "COMMIT"), 1290);
    let refused = [
        "INSERT INTO d.t VALUES (2)",
        "UPDATE d.t SET id = 2 WHERE 0",
        "DELETE FROM d.t",
        "SELECT * FROM d.t FOR UPDATE",
        "CREATE TABLE d.u (id INT)",
        "DROP TABLE IF EXISTS d.nope",
        "TRUNCATE d.t",
        "CREATE DATABASE e",
        "CREATE USER u",
        "SET PASSWORD = ''",
        "OPTIMIZE TABLE d.t",
        "LOCK TABLES d.t WRITE",
        "START TRANSACTION READ WRITE",
    ];
    for sql in refused {
        assert_eq!(code(&mut root, sql), 1290, "{sql}");
    }
    let allowed = [
        "SELECT * FROM d.t",
        "SELECT * FROM d.t FOR SHARE",
        "LOCK TABLES d.t READ",
        "UNLOCK TABLES",
        "START TRANSACTION",
        "COMMIT",
        "SET @a = 1",
        "CHECK TABLE d.t",
        "FLUSH TABLES",
    ];
    for sql in allowed {
        assert_eq!(code(&mut root, sql), 0, "{sql}");
    }
    let mut rows = Rows::default();
    let sql = b"SELECT CONCAT(COUNT(*), @@read_only, @@super_read_only) FROM d.t";
    root.query(sql, false, &mut rows).expect("a query");
    assert_eq!(rows.0, [Value::Bytes(b"011".into())]);
    assert_eq!(code(&mut root, "SET GLOBAL super_read_only = 0"), 0);
    // read_only stays, and is not for those who have all privileges.
    assert_eq!(code(&mut root, "INSERT INTO d.t VALUES (3)"), 0);
    assert_eq!(code(&mut root, "SET GLOBAL super_read_only = 1"), 0);
    assert_eq!(code(&mut root, "SET GLOBAL read_only = 0"), 0);
    assert_eq!(code(&mut root, "INSERT INTO d.t VALUES (4)"), 0);
}

#[test]
fn read_only_is_for_accounts_without_all_privileges() {
    let instance = fake();
    let mut root = session(&instance, 1, "root");
    assert_eq!(code(&mut root, "CREATE USER u@localhost"), 0);
    let mut user = session(&instance, 2, "u");
    assert_eq!(code(&mut user, "SET GLOBAL read_only = 1"), 1227);
    assert_eq!(code(&mut user, "START TRANSACTION READ WRITE"), 0);
    assert_eq!(code(&mut user, "ROLLBACK"), 0);
    assert_eq!(code(&mut root, "SET GLOBAL read_only = 1"), 0);
    assert_eq!(code(&mut user, "START TRANSACTION READ WRITE"), 1290);
    assert_eq!(code(&mut user, "CREATE TABLE d.t (id INT)"), 1290);
    assert_eq!(code(&mut user, "SELECT 1"), 0);
    assert_eq!(code(&mut root, "CREATE DATABASE d"), 0);
}

#[test]
fn a_settings_file_may_ask_for_what_set_global_may() {
    let instance = fake();
    let set = |name: &str, value: Value| instance.configure_as_set(name, &value);
    for (name, value) in [
        ("log_raw", Value::Int(1)),
        ("innodb_flush_log_at_trx_commit", Value::Int(2)),
        ("lower_case_table_names", Value::Int(1)),
        ("sql_mode", Value::Bytes(b"PAD_CHAR_TO_FULL_LENGTH".into())),
    ] {
        assert_eq!(set(name, value).map_err(|e| e.code), Err(1235), "{name}");
    }
    assert_eq!(set("nope", Value::Int(1)).map_err(|e| e.code), Err(1193));
    let roles = |text: &str| set("mandatory_roles", Value::Bytes(text.as_bytes().into()));
    assert_eq!(roles("a b c").map_err(|e| e.code), Err(1231));
    assert_eq!(roles("a, `b`@'h'"), Ok(()));
    assert_eq!(roles(""), Ok(()));
    assert_eq!(set("log_raw", Value::Int(0)), Ok(()));
    assert_eq!(set("super_read_only", Value::Int(1)), Ok(()));
    let mut root = session(&instance, 1, "root");
    assert_eq!(code(&mut root, "CREATE DATABASE d"), 1290);
}

#[test]
fn a_statement_that_sleeps_ends_with_its_time() {
    let name = format!("cohort-obeyed-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    let instance = instance(&Env::real(), &directory);
    let mut root = session(&instance, 1, "root");
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY)",
        "INSERT INTO d.t VALUES (1), (2), (3)",
        "SET max_execution_time = 30",
    ] {
        assert_eq!(code(&mut root, sql), 0, "{sql}");
    }
    // Cut short, SLEEP() is 1; the next row is not reached.
    let mut rows = Rows::default();
    root.query(b"SELECT SLEEP(5)", false, &mut rows)
        .expect("its only row");
    assert_eq!(rows.0, [Value::Int(1)]);
    assert_eq!(code(&mut root, "SELECT SLEEP(5) FROM d.t"), 3024);
    assert_eq!(code(&mut root, "SET max_execution_time = 0"), 0);
    let hinted = "SELECT /*+ MAX_EXECUTION_TIME(30) */ SLEEP(5) FROM d.t";
    assert_eq!(code(&mut root, hinted), 3024);
    drop(root);
    drop(instance);
    let _ = std::fs::remove_dir_all(directory);
}

#[test]
fn a_client_speaks_in_the_collation_that_it_came_with() {
    let instance = fake();
    let mut root = session(&instance, 1, "root");
    root.set_client_collation(Collation::Utf8mb4GeneralCi);
    let asked = b"SELECT CONCAT(@@collation_connection, ' ', COLLATION('a'))";
    for _ in 0..2 {
        let mut rows = Rows::default();
        root.query(asked, false, &mut rows).expect("a query");
        let own = b"utf8mb4_general_ci utf8mb4_general_ci";
        assert_eq!(rows.0, [Value::Bytes(own.into())]);
        // COM_RESET_CONNECTION does not change the language.
        assert_eq!(code(&mut root, "SET NAMES utf8mb4"), 0);
        root.reset(None);
    }
}

#[test]
fn what_is_not_there_is_named() {
    let instance = fake();
    let mut root = session(&instance, 1, "root");
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT)"] {
        assert_eq!(code(&mut root, sql), 0, "{sql}");
    }
    for (sql, named) in [
        ("SELECT 'a' REGEXP '(a)\\\\1'", "back references"),
        ("SELECT 'a' REGEXP '(?>a)'", "atomic groups"),
        ("SELECT 'a' REGEXP 'a++'", "possessive quantifiers"),
        ("SELECT 'a' REGEXP 'a(?=b)'", "look-around"),
        ("SELECT 'a' REGEXP '\\\\R'", "\\R"),
        (
            "SELECT WEIGHT_STRING('a' COLLATE utf8mb4_cs_0900_ai_ci)",
            "WEIGHT_STRING() in the collation utf8mb4_cs_0900_ai_ci",
        ),
        ("SELECT a FROM t GROUP BY CUBE(a)", "CUBE"),
        ("SELECT LAG(a) IGNORE NULLS OVER () FROM t", "IGNORE NULLS"),
        ("SELECT SUM(a) OVER (GROUPS 1 PRECEDING) FROM t", "GROUPS"),
    ] {
        let error = root.query(sql.as_bytes(), false, &mut Rows::default());
        let error = error.expect_err(sql);
        assert_eq!(error.code, 1235, "{sql}: {}", error.message);
        assert!(error.message.contains(named), "{sql}: {}", error.message);
    }
}

/// (MySQL sends 0 for some of these.)
#[test]
fn no_infinite_number_is_sent() {
    let instance = fake();
    let mut root = session(&instance, 1, "root");
    for sql in [
        "SELECT SUM(x) FROM (SELECT 1e308 AS x UNION ALL SELECT 1e308) AS d",
        "SELECT AVG(x) FROM (SELECT 1e308 AS x UNION ALL SELECT 1e308) AS d",
        "SELECT STD(x) FROM (SELECT 1e300 AS x UNION ALL SELECT -1e300) AS d",
        "SELECT VAR_SAMP(x) OVER () FROM (SELECT 1e300 AS x UNION ALL SELECT -1e300) AS d",
        "SELECT DEGREES(x) FROM (SELECT 1e308 AS x) AS d",
        "SELECT CAST(x AS FLOAT) FROM (SELECT '1e308' AS x) AS d",
        "SELECT JSON_VALUE('[1e308]', '$[0]' RETURNING FLOAT ERROR ON ERROR)",
    ] {
        assert_eq!(code(&mut root, sql), 1690, "{sql}");
    }
}

#[test]
fn bodies_of_routines_are_refused_as_a_whole() {
    let instance = fake();
    let mut root = session(&instance, 1, "root");
    let bodies = [
        "CREATE TRIGGER t BEFORE UPDATE ON s FOR EACH ROW BEGIN IF a THEN SET @x = 1; END IF; END",
        "create procedure p() begin select 1; select 2; end",
        "CREATE DEFINER=`root`@`localhost` PROCEDURE p() BEGIN SELECT 1; SELECT 2; END",
        "/* c */ CREATE DEFINER = CURRENT_USER() FUNCTION f() RETURNS INT BEGIN RETURN 1; END;",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN DELETE FROM t; END",
    ];
    for sql in bodies {
        assert_eq!(code(&mut root, sql), 1235, "{sql}");
        let result = root.query(sql.as_bytes(), true, &mut Rows::default());
        assert_eq!(result.map_err(|error| error.code), Err(1235), "{sql}");
    }
    for sql in [
        "CREATE DATABASE d; SELECT 1",
        "CREATE VIEW d.v AS SELECT 1; SELECT 1",
    ] {
        assert_eq!(code(&mut root, sql), 1064, "{sql}");
    }
}

#[test]
fn several_statements_in_one_text_run_one_after_the_other() {
    let instance = fake();
    let mut root = session(&instance, 1, "root");
    for (sql, expected) in [
        ("SELECT 1; SELECT 2", vec![1, 2]),
        ("SELECT 1;; ;\n SELECT 2;", vec![1, 2]),
        ("SELECT 1; /* none */ -- none\n # none", vec![1]),
        (
            "SELECT 1;/*!50000 SELECT 2 */;SELECT /*!99999 no */ 3",
            vec![1, 2, 3],
        ),
        ("/*!40101 SELECT 1 */; /*!40101 SELECT 2 */;", vec![1, 2]),
        ("/*!99999 /* ; */ SELECT 1;*/ SELECT 2", vec![2]),
        ("SELECT 1 /*!99999 /* x */ y */ + 1", vec![2]),
        ("SELECT 1; -- a comment\n SELECT 2", vec![1, 2]),
    ] {
        let mut rows = Rows::default();
        root.query(sql.as_bytes(), true, &mut rows).expect(sql);
        let expected: Vec<Value> = expected.into_iter().map(Value::Int).collect();
        assert_eq!(rows.0, expected, "{sql}");
    }
}
