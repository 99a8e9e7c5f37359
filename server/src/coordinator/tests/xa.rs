//! XA: the service's branches are XA transactions in the same Cohort.

use super::{
    Machine, Server, options,
    participant::{Answer, Visit, serve},
};
use cohort_engine::{env::fake::Disk, txn::Unattended, types::Value};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, SqlError, session::Identity};
use serde_json::json;
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
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: Some(("root".into(), "localhost".into())),
    };
    let mut session = Session::new(Arc::clone(instance), 7, who, Arc::new(Unattended), false);
    let mut last = Last::default();
    for statement in statements {
        session.query(statement.as_bytes(), false, &mut last)?;
    }
    Ok(last.0)
}

pub const SETUP: [&str; 3] = [
    "CREATE DATABASE bank",
    "CREATE TABLE bank.account (id INT PRIMARY KEY, balance INT NOT NULL)",
    "INSERT INTO bank.account VALUES (1, 100), (2, 100)",
];

/// The second phase, as the protocol wants it: XAER_NOTA counts as done.
pub fn second_phase(instance: &Arc<Instance>, visit: &Visit) -> Answer {
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

struct Bank {
    server: Server,
    url: String,
}

impl Bank {
    fn open() -> Bank {
        let machine = Machine::new(Disk::new(1));
        let server = Server::start(&machine, options()).expect("a server");
        sql(&server.instance, &SETUP).expect("accounts");
        let instance = Arc::clone(&server.instance);
        let port = serve(move |visit| {
            assert_eq!(visit.method, "POST", "the second phase is always a POST");
            second_phase(&instance, visit)
        });
        let url = format!("http://127.0.0.1:{port}/xa");
        Bank { server, url }
    }
    fn post(&self, name: &str, gid: &str, fields: serde_json::Value) -> u16 {
        let mut request = json!({ "gid": gid, "trans_type": "xa" });
        for (name, value) in fields.as_object().expect("an object") {
            request[name] = value.clone();
        }
        self.server.post(name, &request).0
    }
    /// Registers a branch, and does its first phase.
    fn branch(&self, gid: &str, branch: &str, account: u32, amount: i32) -> Result<(), SqlError> {
        let fields = json!({ "branch_id": branch, "url": self.url });
        assert_eq!(self.post("registerXaBranch", gid, fields), 200);
        let xid = format!("{gid}-{branch}");
        first_phase(&self.server.instance, &xid, account, amount)
    }
    fn balance(&self, account: u32) -> Value {
        let query = format!("SELECT balance FROM bank.account WHERE id = {account}");
        let balance = sql(&self.server.instance, &[&query]).expect("a balance");
        balance.expect("a row")
    }
    fn transfer(&self, gid: &str) {
        self.branch(gid, "01", 1, -30).expect("prepared");
        self.branch(gid, "02", 2, 30).expect("prepared");
    }
}

#[test]
fn prepared_branches_are_committed_once() {
    let bank = Bank::open();
    assert_eq!(bank.post("prepare", "x", json!({})), 200);
    bank.transfer("x");
    assert_eq!(bank.balance(1), Value::Int(100), "nobody sees it yet");
    assert_eq!(
        bank.post("submit", "x", json!({ "wait_result": true })),
        200
    );
    assert_eq!(
        (bank.balance(1), bank.balance(2)),
        (Value::Int(70), Value::Int(130))
    );
    let branches = bank.server.query("x")["branches"].to_string();
    assert_eq!(branches.matches("\"succeed\"").count(), 2, "{branches}");
    // A late second call of the second phase finds nothing, and that is a success.
    let visit = Visit {
        query: [("gid", "x"), ("branch_id", "01"), ("op", "commit")]
            .map(|(name, value)| (name.into(), value.into()))
            .into(),
        ..Visit::default()
    };
    let again = second_phase(&bank.server.instance, &visit);
    assert!(matches!(again, Answer::Status(200, _)));
}

#[test]
fn a_branch_that_cannot_be_prepared_rolls_all_back() {
    let bank = Bank::open();
    assert_eq!(bank.post("prepare", "x", json!({})), 200);
    bank.branch("x", "01", 1, -30).expect("prepared");
    let local_error = bank.branch("x", "02", 2, i32::MAX);
    assert_eq!(local_error.expect_err("out of range").code, 1264);
    assert_eq!(bank.post("abort", "x", json!({ "wait_result": true })), 200);
    assert_eq!(
        (bank.balance(1), bank.balance(2)),
        (Value::Int(100), Value::Int(100))
    );
    assert_eq!(bank.server.status("x"), "failed");
}

#[test]
fn what_its_client_forgets_is_rolled_back_in_time() {
    let bank = Bank::open();
    let options = json!({ "timeout_to_fail": 0.5 });
    assert_eq!(bank.post("prepare", "x", options), 200);
    bank.transfer("x");
    let found = bank.server.wait_for("x", &["failed"]);
    let reason = &found["transaction"]["rollback_reason"];
    assert_eq!(reason, "Timeout after 0.5 seconds");
    assert_eq!(
        (bank.balance(1), bank.balance(2)),
        (Value::Int(100), Value::Int(100))
    );
    let left = sql(&bank.server.instance, &["XA RECOVER"]).expect("a list");
    assert_eq!(left, None, "nothing stays prepared");
}
