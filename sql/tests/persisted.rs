//! SET PERSIST outlasts the server, and a file of it that makes no sense is not passed over.

use cohort_engine::{
    env::{Env, fake::Disk},
    txn::{Engine, EngineOptions, Unattended},
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, session::Identity};
use std::{io, path::Path, sync::Arc};

struct Nothing;

impl Output for Nothing {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &[cohort_engine::types::Value]) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

const FILE: &str = "/data/mysqld-auto.cnf";

/// Starts a server.
fn start(env: &Env) -> Result<Arc<Instance>, String> {
    let options = EngineOptions::default();
    let engine = Engine::open(env, Path::new("/data"), options, &mut |_| ());
    let engine = engine.expect("the data directory opens");
    cohort_sql::users::make_first(&engine).expect("the first account");
    let instance = Instance::new(Arc::new(engine));
    instance.configure_as_persisted().map(|_| instance)
}

/// Runs a statement; the code of its error.
fn run(instance: &Arc<Instance>, sql: &str) -> Result<(), u16> {
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: None,
    };
    let mut session = Session::new(Arc::clone(instance), 1, who, Arc::new(Unattended), false);
    let done = session.query(sql.as_bytes(), false, &mut Nothing);
    done.map_err(|error| error.code)
}

fn wait_timeout(instance: &Instance) -> u64 {
    instance.globals.values().number("wait_timeout")
}

#[test]
fn values_outlast_the_server() {
    let env = Disk::new(1).env();
    let first = start(&env).unwrap();
    assert_eq!(
        run(&first, "SET PERSIST wait_timeout = 5, sql_mode = 'ANSI'"),
        Ok(())
    );
    assert_eq!(run(&first, "SET PERSIST_ONLY max_connections = 77"), Ok(()));
    assert_eq!(run(&first, "SET GLOBAL wait_timeout = 9"), Ok(()));
    assert_eq!(first.globals.values().number("max_connections"), 151);
    drop(first);
    let second = start(&env).unwrap();
    assert_eq!(wait_timeout(&second), 5);
    assert_eq!(second.globals.values().number("max_connections"), 77);
    assert!(
        second
            .globals
            .values()
            .text("sql_mode")
            .contains("ANSI_QUOTES")
    );
    assert_eq!(run(&second, "RESET PERSIST wait_timeout"), Ok(()));
    drop(second);
    let third = start(&env).unwrap();
    assert_eq!(wait_timeout(&third), 28_800);
    assert_eq!(third.globals.values().number("max_connections"), 77);
    assert_eq!(run(&third, "RESET PERSIST"), Ok(()));
    drop(third);
    assert_eq!(
        start(&env)
            .unwrap()
            .globals
            .values()
            .number("max_connections"),
        151
    );
}

#[test]
fn what_makes_no_sense_is_refused_at_the_start() {
    for (contents, told) in [
        ("{", "delete it"),
        (
            r#"{"Version": 2, "mysql_dynamic_variables": {"wait_timeout": {"Value": "x"}}}"#,
            "take it out",
        ),
        (
            r#"{"Version": 2, "mysql_static_variables": {"port": {"Value": "1"}}}"#,
            "port",
        ),
    ] {
        let env = Disk::new(1).env();
        drop(start(&env).unwrap());
        env.replace(Path::new(FILE), contents.as_bytes()).unwrap();
        let Err(why) = start(&env) else {
            panic!("started with {contents}");
        };
        assert!(why.contains(told), "{why}");
    }
}

#[test]
fn unknown_variables_are_passed_over_and_kept() {
    let env = Disk::new(1).env();
    drop(start(&env).unwrap());
    let contents = r#"{"Version": 2, "mysql_dynamic_variables":
        {"nope": {"Value": "1"}, "wait_timeout": {"Value": "5"}}}"#;
    env.replace(Path::new(FILE), contents.as_bytes()).unwrap();
    let first = start(&env).unwrap();
    assert_eq!(wait_timeout(&first), 5);
    assert_eq!(run(&first, "SET PERSIST wait_timeout = 6"), Ok(()));
    drop(first);
    let told = {
        let options = EngineOptions::default();
        let engine = Engine::open(&env, Path::new("/data"), options, &mut |_| ());
        let instance = Instance::new(Arc::new(engine.unwrap()));
        instance.configure_as_persisted().unwrap()
    };
    let [told] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert!(told.contains("'nope'"), "{told}");
}
