//! performance_schema = OFF: nothing is kept of what statements take; what does not come from that goes on.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session, SqlError};
use std::{io, path::Path};

#[derive(Default)]
struct Rows(Vec<Vec<Value>>);

impl Output for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.0.push(row.to_vec());
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

fn run(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, SqlError> {
    let mut rows = Rows::default();
    session.query(sql.as_bytes(), false, &mut rows)?;
    Ok(rows.0)
}

fn shown(session: &mut Session, sql: &str) -> String {
    let rows = run(session, sql).expect(sql);
    let values = rows.into_iter().flatten().map(|value| match value {
        Value::Bytes(text) => String::from_utf8_lossy(&text).into_owned(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        other => format!("{other:?}"),
    });
    values.collect::<Vec<_>>().join(" ")
}

fn open(measures: bool) -> Session {
    let options = EngineOptions {
        inline: true,
        measures,
        ..EngineOptions::default()
    };
    let engine = Engine::open(&Disk::new(1).env(), Path::new("/d"), options, &mut |_| {});
    Session::alone(engine.expect("the database opens")).expect("its first account")
}

/// Of all that a session does something is in each of these tables.
const USED: [&str; 12] = [
    "accounts",
    "cohort_commits_by_digest",
    "cohort_commits_slowest",
    "events_errors_summary_global_by_error",
    "events_statements_history",
    "events_statements_summary_by_digest",
    "events_statements_summary_global_by_event_name",
    "file_summary_by_instance",
    "processlist",
    "setup_consumers",
    "table_io_waits_summary_by_table",
    "threads",
];

fn use_it(session: &mut Session) {
    for sql in [
        "SET GLOBAL slow_query_log = ON",
        "SET SESSION long_query_time = 0",
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT)",
        "INSERT INTO t VALUES (1, 1)",
        "BEGIN",
        "UPDATE t SET a = 2",
        "COMMIT",
        "SELECT * FROM t",
    ] {
        run(session, sql).expect(sql);
    }
    assert!(run(session, "SELECT * FROM nonesuch").is_err());
}

#[test]
fn nothing_is_kept_if_it_is_off() {
    for measures in [true, false] {
        let mut session = open(measures);
        use_it(&mut session);
        let is_on = shown(&mut session, "SELECT @@performance_schema");
        assert_eq!(is_on, i32::from(measures).to_string());
        for table in USED {
            let count = format!("SELECT COUNT(*) FROM performance_schema.{table}");
            let has_rows = shown(&mut session, &count) != "0";
            assert_eq!(has_rows, measures, "{table}");
        }
    }
}

#[test]
fn the_rest_goes_on() {
    let mut session = open(false);
    use_it(&mut session);
    for table in ["global_status", "session_variables"] {
        let sql = format!("SELECT COUNT(*) > 100 FROM performance_schema.{table}");
        assert_eq!(shown(&mut session, &sql), "1", "{table}");
    }
    // The slow log has all of them, and the counters have them, too.
    let slow = shown(&mut session, "SHOW STATUS LIKE 'Slow_queries'");
    let count = slow.rsplit_once(' ').map(|(_, count)| count);
    let count: u64 = count.and_then(|count| count.parse().ok()).expect("a count");
    assert!(count >= 8, "{slow}");
    let updates = shown(&mut session, "SHOW STATUS LIKE 'Com_update'");
    assert_eq!(updates, "Com_update 1");
    let listed = shown(
        &mut session,
        "SELECT COMMAND FROM information_schema.PROCESSLIST",
    );
    assert_eq!(listed, "Query");
    assert_eq!(
        shown(&mut session, "SELECT COUNT(*) FROM sys.statement_analysis"),
        "0"
    );
    let read_only = run(&mut session, "SET GLOBAL performance_schema = ON");
    assert_eq!(read_only.map_err(|error| error.code), Err(1238));
    run(
        &mut session,
        "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest",
    )
    .expect("it is empty in any case");
}
