//! Temporary files: made when memory is not enough, gone afterwards whatever happens.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Unattended},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, SqlError, session::Identity};
use std::{io, path::Path, sync::Arc};

/// Counts rows.
#[derive(Default)]
struct Rows(usize);

impl Output for Rows {
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

fn run(session: &mut Session, sql: &str) -> Result<usize, SqlError> {
    let mut rows = Rows::default();
    session.query(sql.as_bytes(), true, &mut rows)?;
    Ok(rows.0)
}

fn open(disk: &Disk) -> Engine {
    let options = EngineOptions::default();
    Engine::open(&disk.env(), Path::new("/data"), options, &mut |_| {}).unwrap()
}

fn session_on(disk: &Disk) -> Session {
    let engine = open(disk);
    cohort_sql::users::make_first(&engine).unwrap();
    let instance = Instance::new(Arc::new(engine));
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: None,
    };
    let mut session = Session::new(instance, 1, who, Arc::new(Unattended), false);
    let make = "set sort_buffer_size = 32768, tmp_table_size = 1024; create database d; use d;
        create table t (i int primary key, s varchar(100));
        insert into t with recursive n (i) as (select 1 union all select i + 1 from n where i < 900)
            select i, repeat(char(97 + i mod 20), 90) from n";
    run(&mut session, make).unwrap();
    session
}

fn left(disk: &Disk) -> Vec<String> {
    disk.env().list(Path::new("/data/tmp")).unwrap_or_default()
}

const SORT: &str = "select * from t order by s, i desc";

#[test]
fn files_are_removed_after_use_and_after_an_error() {
    let disk = Disk::new(1);
    let mut session = session_on(&disk);
    let large = "(select a.i + 0 j, a.s, b.i k from t a join t b where b.i <= 6 limit 100000) x";
    let joined = format!("t a join {large} on x.j = a.i and x.s = a.s");
    for (sql, expected) in [
        (SORT, 900),
        ("select s, i, count(*) from t group by s, i", 900),
        ("select distinct i, s from t", 900),
        ("select * from t order by s limit 500", 500),
        // The rows of computed tables, read in order and looked up by hash.
        (&format!("select * from {large} where j > 899"), 6),
        (
            &format!("select count(*) c, sum(a.i) s from {joined} having c = 5400 and s = 2432700"),
            1,
        ),
        (
            "with recursive n as (select 1 i, repeat('a', 1000) s union all
          select i + 1, s from n where i < 900) select i from n",
            900,
        ),
    ] {
        let files = left(&disk).len();
        let before = disk.operations();
        let rows = run(&mut session, sql).unwrap();
        assert_eq!(rows, expected, "{sql}");
        assert!(disk.operations() > before, "no file for {sql}");
        assert!(left(&disk).len() <= files, "{sql}");
        // Every call on the way fails once.
        let calls = disk.operations() - before;
        for call in 0..calls.min(20) {
            let failing = disk.operations() + call;
            disk.fail_at(failing, io::ErrorKind::StorageFull);
            if let Err(error) = run(&mut session, sql) {
                assert_eq!(error.code, 1026, "{}", error.message);
                assert!(error.message.contains("/data/tmp/"), "{}", error.message);
            }
            while disk.operations() <= failing {
                let _ = run(&mut session, SORT);
            }
        }
    }
    // Only where the removal itself failed a file is left, until the next start.
    assert!(left(&disk).len() <= 4, "{:?}", left(&disk));
}

#[test]
fn what_a_crash_left_goes_at_the_next_start() {
    let disk = Disk::new(2);
    let path = Path::new("/data/tmp/rows.7");
    drop(session_on(&disk));
    disk.env().create_dir(Path::new("/data/tmp")).unwrap();
    disk.put(path, b"rows".to_vec());
    let disk = disk.crash(3);
    assert_eq!(left(&disk), ["rows.7"]);
    let _instance = Instance::new(Arc::new(open(&disk)));
    assert!(left(&disk).is_empty());
}
