//! Branches that are XA transactions in the same Cohort.

use super::participant::{Answer, Visit};
use cohort_engine::{txn::Unattended, types::Value};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, SqlError, session::Identity};
use std::{io, sync::Arc};

/// The first value of the last row.
#[derive(Default)]
struct Last(Option<Value>);

impl Output for Last {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.0 = row.first().cloned();
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

/// Runs statements in a session of their own.
pub fn sql(instance: &Arc<Instance>, statements: &[&str]) -> Result<Option<Value>, SqlError> {
    run(instance, false, statements)
}

/// The same in one that may change the coordinator's tables.
pub fn sql_within(
    instance: &Arc<Instance>,
    statements: &[&str],
) -> Result<Option<Value>, SqlError> {
    run(instance, true, statements)
}

fn run(
    instance: &Arc<Instance>,
    is_internal: bool,
    statements: &[&str],
) -> Result<Option<Value>, SqlError> {
    let mut session = session(instance, is_internal);
    let mut last = Last::default();
    for statement in statements {
        session.query(statement.as_bytes(), false, &mut last)?;
    }
    Ok(last.0)
}

/// A session; an internal one may change the coordinator's tables.
fn session(instance: &Arc<Instance>, is_internal: bool) -> Session {
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: Some(("root".into(), "localhost".into())),
    };
    let waiting = Arc::new(Unattended);
    let mut session = Session::new(Arc::clone(instance), 7, who, waiting, is_internal);
    if is_internal {
        session.set_internal();
    }
    session
}

/// Runs a statement after another one, in a transaction that is rolled back when this is dropped.
pub fn keep_open(instance: &Arc<Instance>, first: &str, statement: &str) -> impl Drop + use<> {
    let mut session = session(instance, false);
    for statement in [first, "BEGIN", statement] {
        let ran = session.query(statement.as_bytes(), false, &mut Last::default());
        ran.expect(statement);
    }
    session
}

pub const SETUP: [&str; 3] = [
    "CREATE DATABASE bank",
    "CREATE TABLE bank.account (id INT PRIMARY KEY, balance INT NOT NULL)",
    "INSERT INTO bank.account VALUES (1, 100), (2, 100)",
];

/// The second phase, as the protocol wants it: always a POST, and XAER_NOTA counts as done.
pub fn second_phase(instance: &Arc<Instance>, visit: &Visit) -> Answer {
    assert_eq!(visit.method, "POST");
    let verb = if visit.of("op") == "commit" {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    let xid = format!("{}-{}", visit.of("gid"), visit.of("branch_id"));
    match sql(instance, &[&format!("XA {verb} '{xid}'")]) {
        Ok(_) => Answer::ok(),
        Err(error) if error.code == 1397 => Answer::ok(),
        Err(error) => Answer::Status(500, error.message),
    }
}

/// The first phase of a branch: moves money and prepares.
pub fn first_phase(
    instance: &Arc<Instance>,
    xid: &str,
    account: u32,
    amount: i32,
) -> Result<(), SqlError> {
    let update =
        format!("UPDATE bank.account SET balance = balance + {amount} WHERE id = {account}");
    let statements = ["START", "END", "PREPARE"].map(|verb| format!("XA {verb} '{xid}'"));
    let [start, end, prepare] = &statements;
    sql(instance, &[start, &update, end, prepare]).map(|_| ())
}
