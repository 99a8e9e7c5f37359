//! Crashes at every operation of the disk, for every pattern.
//!
//! A transfer of 10 from one account to the other is cut short after the n-th operation of the
//! disk, for every second n; a new server starts on what the disk then has and drives on. Every global
//! transaction must end whole: both accounts have changed, or none.

use super::{
    Machine, PATIENCE, Server,
    ledger::Ledger,
    options,
    participant::{Answer, Visit, serve},
    xa,
};
use cohort_engine::{env::fake::Disk, types::Value};
use cohort_sql::Instance;
use serde_json::{Value as Json, json};
use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

const GID: &str = "g";

/// The business: its data, and the server as long as there is one.
#[derive(Default)]
struct World {
    ledger: Mutex<Ledger>,
    server: Mutex<Option<(u16, Arc<Instance>)>>,
    url: Mutex<String>,
    refuses: AtomicBool,
    /// Who submits wants to know of the end.
    asks: AtomicBool,
    /// Ends that were told.
    told: Mutex<Vec<String>>,
}

/// What a client does; `false`: what it was told to do is refused on the way.
type Client = fn(&World, &Server, bool) -> Option<()>;

impl World {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("no panic")
    }
    fn instance(&self) -> Option<Arc<Instance>> {
        let server = self.server.lock().expect("no panic");
        server.as_ref().map(|(_, instance)| Arc::clone(instance))
    }
    fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.url.lock().expect("no panic"))
    }
    /// A call of a branch.
    fn answer(&self, visit: &Visit) -> Answer {
        let (from, to) = ("from", "to");
        let step = (visit.of("op"), visit.of("branch_id"));
        let (account, amount) = match (visit.path.as_str(), step) {
            ("/refuse", ("action", _)) => return Answer::Status(409, String::new()),
            ("/told", _) => {
                self.told.lock().expect("no panic").push(visit.body.clone());
                return Answer::ok();
            }
            ("/query", _) => return self.ledger().query_prepared(visit.of("gid")),
            ("/xa", _) => {
                return match self.instance() {
                    Some(instance) => xa::second_phase(&instance, visit),
                    None => Answer::Status(500, String::new()),
                };
            }
            ("/flow", _) => {
                let port = self.server.lock().expect("no panic").as_ref().map(|s| s.0);
                return match port.and_then(|port| flow(self, port)) {
                    Some(()) => Answer::ok(),
                    None => Answer::Status(500, String::new()),
                };
            }
            (_, ("action", "01")) => (from, -10),
            (_, ("compensate", "01")) => (from, 10),
            (_, ("action", "02")) => (to, 10),
            (_, ("compensate", "02")) => (to, -10),
            (_, ("confirm", "02")) => (to, 10),
            (_, ("cancel", "01")) => (from, 10),
            _ => return Answer::ok(),
        };
        self.ledger().change(visit, account, amount);
        Answer::ok()
    }
}

/// What the client itself does as a branch.
fn visit(op: &str, branch: &str) -> Visit {
    let query = [("gid", GID), ("op", op), ("branch_id", branch)];
    Visit {
        query: query
            .map(|(name, value)| (name.into(), value.into()))
            .into(),
        ..Visit::default()
    }
}

fn request(pattern: &str, fields: Json) -> Json {
    let mut request = json!({ "gid": GID, "trans_type": pattern, "timeout_to_fail": 0.03 });
    for (name, value) in fields.as_object().expect("an object") {
        request[name] = value.clone();
    }
    request
}

/// `None`, unless the server says that it is done.
fn post(server: &Server, name: &str, request: &Json) -> Option<()> {
    (server.post(name, request).0 == 200).then_some(())
}

fn saga(world: &World, server: &Server, goes_well: bool) -> Option<()> {
    let second = if goes_well { "saga" } else { "refuse" };
    let step = |path| json!({ "action": world.url(path), "compensate": world.url(path) });
    let steps = json!([step("saga"), step(second)]);
    let submission = request("saga", json!({ "steps": steps, "timeout_to_fail": 0 }));
    post(server, "submit", &submission)
}

fn told_saga(world: &World, server: &Server, goes_well: bool) -> Option<()> {
    world.asks.store(true, Ordering::Relaxed);
    let second = if goes_well { "saga" } else { "refuse" };
    let step = |path| json!({ "action": world.url(path), "compensate": world.url(path) });
    let fields = json!({ "steps": [step("saga"), step(second)], "timeout_to_fail": 0,
        "end_webhook": world.url("told") });
    post(server, "submit", &request("saga", fields))
}

fn tcc(world: &World, server: &Server, goes_well: bool) -> Option<()> {
    post(server, "prepare", &request("tcc", json!({})))?;
    for branch in ["01", "02"] {
        let url = world.url("tcc");
        let fields = json!({ "branch_id": branch, "confirm": url, "cancel": url });
        post(server, "registerBranch", &request("tcc", fields))?;
        if branch == "01" {
            world.ledger().change(&visit("try", branch), "from", -10);
        }
    }
    let end = if goes_well { "submit" } else { "abort" };
    post(server, end, &request("tcc", json!({})))
}

fn message(world: &World, server: &Server, goes_well: bool) -> Option<()> {
    let steps = json!([{ "action": "" }, { "action": world.url("msg") }]);
    let fields = json!({ "steps": steps, "query_prepared": world.url("query") });
    let submission = request("msg", fields);
    post(server, "prepare", &submission)?;
    if !goes_well {
        return post(server, "abort", &submission);
    }
    // The client's own transaction, with its barrier: not if somebody has asked already.
    let mut ledger = world.ledger();
    if !ledger.put(GID, "00", "msg", "msg") {
        return None;
    }
    *ledger.accounts.entry("from".into()).or_default() -= 10;
    drop(ledger);
    post(server, "submit", &submission)
}

fn xa_transfer(world: &World, server: &Server, goes_well: bool) -> Option<()> {
    post(server, "prepare", &request("xa", json!({})))?;
    for (branch, account, amount) in [("01", 1, -10), ("02", 2, 10)] {
        let fields = json!({ "branch_id": branch, "url": world.url("xa") });
        post(server, "registerBranch", &request("xa", fields))?;
        let xid = format!("{GID}-{branch}");
        xa::first_phase(&server.instance, &xid, account, amount).ok()?;
    }
    let end = if goes_well { "submit" } else { "abort" };
    post(server, end, &request("xa", json!({})))
}

fn workflow(world: &World, server: &Server, goes_well: bool) -> Option<()> {
    world.refuses.store(!goes_well, Ordering::Relaxed);
    let custom = json!({ "name": "w", "data": "" }).to_string();
    let fields = json!({ "custom_data": custom, "query_prepared": world.url("flow") });
    post(server, "prepareWorkflow", &request("workflow", fields))?;
    flow(world, server.port)
}

/// The workflow's code, which may begin anywhere again.
fn flow(world: &World, port: u16) -> Option<()> {
    let post = |name: &str, fields: Json| {
        let body = request("workflow", fields).to_string();
        let path = format!("/api/dtmsvr/{name}");
        super::exchange(port, "POST", &path, &[], &body).0
    };
    if world.refuses.load(Ordering::Relaxed) {
        let extra = json!({ "req_extra": { "status": "failed", "rollback_reason": "no" } });
        return (post("submit", extra) == 200).then_some(());
    }
    for (branch, account, amount) in [("01", "from", -10), ("02", "to", 10)] {
        world
            .ledger()
            .change(&visit("action", branch), account, amount);
        let fields = json!({ "branch_id": branch, "op": "action", "status": "succeed" });
        // 500: it was registered before.
        matches!(post("registerBranch", fields), 200 | 500).then_some(())?;
    }
    let extra = json!({ "req_extra": { "status": "succeed" } });
    (post("submit", extra) == 200).then_some(())
}

fn start(world: &World, disk: &Disk) -> Result<Server, String> {
    let server = Server::start(&Machine::new(disk.clone()), options())?;
    let known = (server.port, Arc::clone(&server.instance));
    *world.server.lock().expect("no panic") = Some(known);
    Ok(server)
}

fn stop(world: &World, server: Server) {
    *world.server.lock().expect("no panic") = None;
    drop(server);
}

const UNFINISHED: &str = "SELECT COUNT(*) FROM cohort.global_transactions \
     WHERE status NOT IN ('succeed', 'failed')";

/// Waits until nothing is unfinished, or the disk has stopped after so many operations.
fn wait_for_end(server: &Server, disk: &Disk, stops_at: u64) {
    let begun = Instant::now();
    while disk.operations() < stops_at {
        if let Ok(Some(Value::Int(0))) = xa::sql(&server.instance, &[UNFINISHED]) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "a transaction never ends");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Runs with a crash after so many operations of the disk; whether the run ended before.
fn crash_after(base: &Disk, operation: u64, client: Client, goes_well: bool) -> bool {
    let world = Arc::new(World::default());
    let service = Arc::clone(&world);
    let port = serve(move |visit| service.answer(visit));
    *world.url.lock().expect("no panic") = format!("http://127.0.0.1:{port}");
    let disk = base.crash(operation);
    disk.crash_at(disk.operations() + operation);
    let mut acknowledged = false;
    if let Ok(server) = start(&world, &disk) {
        acknowledged = client(&world, &server, goes_well).is_some();
        wait_for_end(&server, &disk, operation);
        stop(&world, server);
    }
    let finished = disk.operations() < operation;
    let what = format!("operation {operation}");
    let disk = disk.crash(operation);
    let server = start(&world, &disk).unwrap_or_else(|e| panic!("{what}: {e}"));
    wait_for_end(&server, &disk, u64::MAX);
    check(&world, &server, &what, acknowledged, goes_well);
    stop(&world, server);
    finished
}

/// The transfer is whole, or was never made.
fn check(world: &World, server: &Server, what: &str, acknowledged: bool, goes_well: bool) {
    let status = server.status(GID);
    let ledger = world.ledger();
    let of = |account: &str| ledger.accounts.get(account).copied().unwrap_or(0);
    let balance = |account: u32| {
        let query = format!("SELECT balance - 100 FROM bank.account WHERE id = {account}");
        match xa::sql(&server.instance, &[&query]) {
            Ok(Some(Value::Int(balance))) => balance,
            other => panic!("{what}: {other:?}"),
        }
    };
    let moved = (of("from") + balance(1), of("to") + balance(2));
    let wanted = if status == "succeed" {
        (-10, 10)
    } else {
        (0, 0)
    };
    assert_eq!(moved, wanted, "{what}: {status}");
    drop(ledger);
    if world.asks.load(Ordering::Relaxed) && !status.is_empty() {
        wait_until_told(world, &status, what);
    }
    if acknowledged {
        assert_eq!(
            status == "succeed",
            goes_well,
            "{what}: {status}, acknowledged"
        );
    }
}

fn wait_until_told(world: &World, status: &str, what: &str) {
    let wanted = format!("\"status\":\"{status}\"");
    let begun = Instant::now();
    while !world
        .told
        .lock()
        .expect("no panic")
        .iter()
        .any(|told| told.contains(&wanted))
    {
        assert!(begun.elapsed() < PATIENCE, "{what}: {status} is not told");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A disk with all tables.
fn base() -> Disk {
    let machine = Machine::new(Disk::new(1));
    let server = Server::start(&machine, options()).expect("a server");
    xa::sql(&server.instance, &xa::SETUP).expect("accounts");
    drop(server);
    machine.disk.crash(1)
}

fn every_crash(client: Client) {
    let base = base();
    let first = {
        let disk = base.crash(0);
        let server = start(&World::default(), &disk);
        let operations = disk.operations();
        drop(server);
        operations
    };
    for goes_well in [true, false] {
        // What happens while the server starts is the engine's affair, and tested there. A group
        // is a write and an fsync: each is cut short before one of them.
        let mut operation = first + u64::from(goes_well);
        while !crash_after(&base, operation, client, goes_well) {
            operation += 2;
        }
        assert!(operation > first + 6, "the run is too short: {operation}");
    }
}

#[test]
fn a_saga_survives_every_crash() {
    every_crash(saga);
}

#[test]
fn an_end_is_told_after_every_crash() {
    every_crash(told_saga);
}

#[test]
fn a_tcc_survives_every_crash() {
    every_crash(tcc);
}

#[test]
fn a_message_survives_every_crash() {
    every_crash(message);
}

#[test]
fn an_xa_transaction_survives_every_crash() {
    every_crash(xa_transfer);
}

#[test]
fn a_workflow_survives_every_crash() {
    every_crash(workflow);
}

/// Successes in between are in no row. Who learned of them is lost while the third step is called,
/// and time is over before anybody takes the saga up.
#[test]
fn steps_that_only_a_lost_coordinator_knew_of_are_undone() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&calls);
    let port = serve(move |visit| {
        let call = format!("{} {}", visit.of("op"), visit.of("branch_id"));
        let is_third = call == "action 03";
        heard.lock().expect("no panic").push(call);
        match is_third {
            true => Answer::Silence(Duration::from_millis(300)),
            false => Answer::ok(),
        }
    });
    let has = |call: &str| calls.lock().expect("no panic").iter().any(|c| c == call);
    let machine = Machine::new(Disk::new(1));
    let server = Server::start(&machine, options()).expect("a server");
    let url = format!("http://127.0.0.1:{port}/");
    let step = json!({ "action": url, "compensate": url });
    let submission = json!({ "gid": GID, "trans_type": "saga", "timeout_to_fail": 0.2,
        "steps": [step, step, step] });
    post(&server, "submit", &submission).expect("submitted");
    let begun = Instant::now();
    while !has("action 03") {
        assert!(begun.elapsed() < PATIENCE, "the third step is never called");
        thread::sleep(Duration::from_millis(1));
    }
    let disk = machine.disk.crash(1);
    drop(server);
    calls.lock().expect("no panic").clear();
    let server = Server::start(&Machine::new(disk), options()).expect("a server");
    server.wait_for(GID, &["failed"]);
    let undone = ["compensate 03", "compensate 02", "compensate 01"];
    assert_eq!(*calls.lock().expect("no panic"), undone);
}

#[test]
fn a_clock_that_jumps_moves_no_deadline() {
    let world = Arc::new(World::default());
    let service = Arc::clone(&world);
    let port = serve(move |visit| service.answer(visit));
    *world.url.lock().expect("no panic") = format!("http://127.0.0.1:{port}");
    let machine = Machine::new(Disk::new(1));
    let server = Server::start(&machine, options()).expect("a server");
    const DAY: i64 = 86_400_000_000;
    for (number, jump) in [-DAY, DAY].into_iter().enumerate() {
        let prepared = json!({ "gid": format!("t{number}"), "trans_type": "tcc" });
        post(&server, "prepare", &prepared).expect("prepared");
        machine.ahead.fetch_add(jump, Ordering::Relaxed);
        // Retried although the clock says that this is long ago, or to come.
        let steps = json!([{ "action": world.url("refuse"), "compensate": world.url("none") }]);
        let gid = format!("s{number}");
        let submission = json!({ "gid": gid, "trans_type": "saga", "steps": steps });
        post(&server, "submit", &submission).expect("submitted");
        server.wait_for(&gid, &["failed"]);
        assert_eq!(server.status(&format!("t{number}")), "prepared");
    }
}

/// Nor does one that is set back before a restart, or was ahead.
#[test]
fn a_clock_that_is_behind_after_a_restart_keeps_nobody_waiting() {
    let works = Arc::new(AtomicBool::new(false));
    let is_working = Arc::clone(&works);
    let port = serve(move |_| match is_working.load(Ordering::SeqCst) {
        true => Answer::ok(),
        false => Answer::Status(500, String::new()),
    });
    let machine = Machine::new(Disk::new(1));
    let server = Server::start(&machine, options()).expect("a server");
    let url = format!("http://127.0.0.1:{port}/");
    let saga = json!({ "gid": "saga", "trans_type": "saga", "retry_interval": 0.5,
        "steps": [{ "action": url, "compensate": url }] });
    post(&server, "submit", &saga).expect("submitted");
    let tcc = json!({ "gid": "tcc", "trans_type": "tcc", "timeout_to_fail": 0.5 });
    post(&server, "prepare", &tcc).expect("prepared");
    let message = json!({ "gid": "msg", "trans_type": "msg", "custom_data": r#"{"delay":0.5}"#,
        "steps": [{ "action": url }] });
    post(&server, "submit", &message).expect("submitted");
    let begun = Instant::now();
    while server.query("saga")["branches"][1]["last_error"].is_null() {
        assert!(begun.elapsed() < PATIENCE, "it is never called");
        thread::sleep(Duration::from_millis(1));
    }
    let disk = machine.disk.crash(1);
    drop(server);
    works.store(true, Ordering::SeqCst);
    let machine = Machine::new(disk);
    machine.ahead.store(-3_600_000_000, Ordering::Relaxed);
    let server = Server::start(&machine, options()).expect("a server");
    server.wait_for("saga", &["succeed"]);
    server.wait_for("tcc", &["failed"]);
    server.wait_for("msg", &["succeed"]);
}
