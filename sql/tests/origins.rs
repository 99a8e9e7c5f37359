//! What clients are told of a result's columns beside their names: the table that each comes from, the
//! names it has there, and its flags. MySQL 9.7 told the same.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Unattended},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, session::Identity};
use std::{io, path::Path, sync::Arc};

/// Keeps what is told: `table (its name).column (its name) flags`.
#[derive(Default)]
struct Told(Vec<String>);

impl Output for Told {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.0.extend(columns.iter().map(|column| {
            let ColumnMeta {
                table,
                original_table,
                name,
                original_name,
                not_null,
                flags,
                ..
            } = column;
            let flags = flags | u16::from(*not_null);
            format!("{table} ({original_table}).{name} ({original_name}) {flags}")
        }));
        Ok(())
    }
    fn row(&mut self, _: &[Value]) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

fn told(session: &mut Session, sql: &str) -> Vec<String> {
    let mut told = Told::default();
    let result = session.query(sql.as_bytes(), false, &mut told);
    result.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    told.0
}

fn session() -> Session {
    let disk = Disk::new(1);
    let options = EngineOptions::default();
    let engine = Engine::open(&disk.env(), Path::new("/origins"), options, &mut |_| {});
    let engine = engine.expect("a new data directory opens");
    cohort_sql::users::make_first(&engine).expect("a new data directory takes its first user");
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: None,
    };
    let instance = Instance::new(Arc::new(engine));
    let mut session = Session::new(instance, 1, who, Arc::new(Unattended), false);
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT, b INT NOT NULL DEFAULT 1, c CHAR(1))",
        "CREATE VIEW v AS SELECT a d, 2 * a two FROM t",
        "CREATE VIEW vv AS SELECT d, two FROM v",
    ] {
        told(&mut session, sql);
    }
    session
}

#[test]
fn columns_of_views_and_derived_tables_have_the_names_they_have_there() {
    let mut session = session();
    for (sql, wanted) in [
        ("SELECT a x FROM t", &["t (t).x (a) 0"][..]),
        ("SELECT * FROM v", &["v (v).d (d) 0", "v (v).two (two) 128"]),
        (
            "SELECT d e, two f FROM v w",
            &["w (v).e (d) 0", "w (v).f (two) 128"],
        ),
        // The same expression, but no column.
        ("SELECT 2 * d FROM v", &[" ().2 * d () 128"]),
        (
            "SELECT * FROM vv",
            &["vv (vv).d (d) 0", "vv (vv).two (two) 128"],
        ),
        (
            "SELECT two x FROM (SELECT DISTINCT 2 * a two FROM t) dt",
            &["dt ().x (two) 0"],
        ),
        (
            "SELECT * FROM (SELECT COUNT(*) n, MAX(c) m, 1.5 q FROM t GROUP BY a) dt",
            &["dt ().n (n) 1", "dt ().m (m) 0", "dt ().q (q) 1"],
        ),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r",
            &["r ().n (n) 0"],
        ),
    ] {
        assert_eq!(told(&mut session, sql), wanted, "{sql}");
    }
}

#[test]
fn a_timestamp_that_sets_itself_is_told() {
    let mut session = session();
    let create = "CREATE TABLE s (a TIMESTAMP NOT NULL, b TIMESTAMP NULL, \
        c TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP, \
        d TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, \
        e TIMESTAMP NOT NULL DEFAULT '2020-01-01', f DATETIME DEFAULT NOW())";
    told(&mut session, create);
    let flags: Vec<String> = told(&mut session, "SELECT * FROM s")
        .iter()
        .filter_map(|told| told.split(' ').next_back().map(str::to_owned))
        .collect();
    assert_eq!(flags, ["4225", "128", "1152", "9344", "129", "128"]);
}
