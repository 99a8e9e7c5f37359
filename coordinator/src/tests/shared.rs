//! Several coordinators on the tables of another server, with a network between them that loses
//! what it should carry.
//!
//! The other server is a Cohort; `STORE_UNDER_TEST=user@host:port` takes another one, to which
//! `user@host:port?ssl-mode=REQUIRED` and the like are options of the connections under test.

use super::{
    Machine, PATIENCE, Server, exchange, options,
    participant::{Answer, serve},
};
use crate::{Options, Place};
use cohort_engine::env::fake::Disk;
use cohort_mysql::{
    client::{Client, login::Account},
    stream::Stream,
};
use serde_json::json;
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// A network between a coordinator and its store.
#[derive(Default)]
pub struct Network {
    /// Nothing gets through, and what there was is cut.
    is_cut: AtomicBool,
    /// Of so many COMMITs one is lost, and the connection with it; 0: none.
    losing: AtomicU64,
    commits: AtomicU64,
    streams: Mutex<Vec<TcpStream>>,
}

impl Network {
    /// A network to this address, and the port at its near end.
    fn to(address: String) -> (Arc<Network>, u16) {
        let network = Arc::new(Network::default());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let carrier = Arc::clone(&network);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if !carrier.is_cut.load(Ordering::SeqCst) {
                    let far = TcpStream::connect(&address).expect("the store");
                    carrier.connect(near, far);
                }
            }
        });
        (network, port)
    }

    fn connect(self: &Arc<Self>, near: TcpStream, far: TcpStream) {
        for (from, to, is_request) in [(&near, &far, true), (&far, &near, false)] {
            let clone = |stream: &TcpStream| stream.try_clone().expect("a handle");
            let (mut from, mut to) = (clone(from), clone(to));
            let network = Arc::clone(self);
            thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(length @ 1..) = from.read(&mut buffer) {
                    let bytes = &buffer[..length];
                    if !(is_request && network.loses(bytes, &mut to)) && to.write_all(bytes).is_ok()
                    {
                        continue;
                    }
                    break;
                }
                // The other direction ends with this one.
                let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            });
        }
        self.streams.lock().expect("no panic").extend([near, far]);
    }

    /// Whether a request is lost, which it is before or after it has arrived.
    fn loses(&self, bytes: &[u8], to: &mut TcpStream) -> bool {
        let every = self.losing.load(Ordering::SeqCst);
        if every == 0 || !bytes.ends_with(b"COMMIT") {
            return false;
        }
        let number = self.commits.fetch_add(1, Ordering::SeqCst);
        if !number.is_multiple_of(every) {
            return false;
        }
        if (number / every).is_multiple_of(2) {
            let _ = to.write_all(bytes);
            // It is obeyed, and nobody hears of it.
            thread::sleep(Duration::from_millis(30));
        }
        true
    }

    fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for stream in self.streams.lock().expect("no panic").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
    fn heal(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

/// The server that has the tables.
pub struct Storage {
    /// It serves as long as this lives.
    _server: Option<cohort_server::testing::Server>,
    user: String,
    address: String,
    /// Of the coordinators' connections.
    options: String,
    schema: String,
}

impl Storage {
    pub fn start(schema: &str) -> Storage {
        let given = std::env::var("STORE_UNDER_TEST").ok();
        let (server, who) = match given {
            Some(who) => (None, who),
            None => {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
                let address = listener.local_addr().expect("its number");
                let engine = super::engine(&Machine::new(Disk::new(2))).expect("an engine");
                let server = cohort_server::testing::serve(&engine, listener);
                (Some(server.expect("a server")), format!("root@{address}"))
            }
        };
        let (who, options) = who.split_once('?').unwrap_or((&who, ""));
        let (user, address) = who.split_once('@').expect("user@host:port");
        let storage = Storage {
            _server: server,
            user: user.to_owned(),
            address: address.to_owned(),
            options: options.to_owned(),
            schema: schema.to_owned(),
        };
        storage.query(&format!("DROP DATABASE IF EXISTS {schema}"));
        storage
    }

    /// Somebody else who uses the server.
    pub fn client(&self) -> Client {
        let stream = TcpStream::connect(&self.address).expect("the store");
        let account = Account {
            user: self.user.clone(),
            ..Account::default()
        };
        Client::log_in(Stream::from(stream), &account, 0).expect("a login")
    }

    /// The first value that a statement returns, or nothing.
    fn query(&self, sql: &str) -> String {
        let rows = self.client().query(sql).expect(sql);
        let first = rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next());
        first.flatten().unwrap_or_default()
    }

    /// A coordinator, and the network between it and the store.
    pub fn coordinator(&self) -> (Server, Arc<Network>) {
        self.coordinator_ahead(0)
    }

    /// The same with a clock that is so many microseconds ahead.
    fn coordinator_ahead(&self, ahead: i64) -> (Server, Arc<Network>) {
        let (network, port) = Network::to(self.address.clone());
        let (user, schema, asked) = (&self.user, &self.schema, &self.options);
        let url = format!("mysql://{user}@127.0.0.1:{port}/{schema}?{asked}");
        let place: Place = url.parse().expect("a place");
        let options = Options {
            place: Some(place),
            beat: Duration::from_millis(150),
            ..options()
        };
        // Each draws other random numbers.
        let machine = Machine::new(Disk::new(port.into()));
        machine.ahead.store(ahead, Ordering::SeqCst);
        let server = Server::start(&machine, options);
        (server.expect("a coordinator"), network)
    }
}

fn saga(server: &Server, gid: &str, service: u16) -> u16 {
    let url = format!("http://127.0.0.1:{service}/x");
    let steps = json!([{ "action": url, "compensate": url }, { "action": url, "compensate": url }]);
    let request = json!({ "gid": gid, "trans_type": "saga", "steps": steps });
    server.post("submit", &request).0
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A service whose actions do not succeed before they are told to; how often it was called.
fn hesitant() -> (u16, Arc<AtomicBool>, Arc<AtomicU64>) {
    let (works, calls) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let (is_working, counted) = (Arc::clone(&works), Arc::clone(&calls));
    let port = serve(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        match is_working.load(Ordering::SeqCst) {
            true => Answer::ok(),
            false => Answer::Status(500, String::new()),
        }
    });
    (port, works, calls)
}

#[test]
fn what_one_coordinator_knows_the_other_knows() {
    let storage = Storage::start("shared_1");
    let ((a, _), (b, _)) = (storage.coordinator(), storage.coordinator());
    let (service, works, _) = hesitant();
    works.store(true, Ordering::SeqCst);
    let url = format!("http://127.0.0.1:{service}/x");
    // Each step at another one.
    let tcc = json!({ "gid": "t", "trans_type": "tcc" });
    assert_eq!(a.post("prepare", &tcc).0, 200);
    let branch = json!({ "gid": "t", "trans_type": "tcc", "branch_id": "01", "confirm": url, "cancel": url });
    assert_eq!(b.post("registerBranch", &branch).0, 200);
    assert_eq!(a.post("registerBranch", &branch).0, 500, "it is there");
    assert_eq!(b.post("submit", &tcc).0, 200);
    assert_eq!(a.post("submit", &tcc).0, 200, "again");
    let ended = a.wait_for("t", &["succeed"]);
    assert_eq!(ended["branches"][1]["status"], "succeed");
    // Names are other names if a single byte is another one.
    assert_eq!(b.query("t%20")["transaction"], json!(null));
    for gid in ["t ", "T"] {
        let other = json!({ "gid": gid, "trans_type": "tcc" });
        assert_eq!(a.post("prepare", &other).0, 200, "{gid}");
        for id in ["01", "01 "] {
            let mut other = branch.clone();
            (other["gid"], other["branch_id"]) = (gid.into(), id.into());
            assert_eq!(b.post("registerBranch", &other).0, 200, "{gid} {id}");
        }
        assert_eq!(b.post("abort", &other).0, 200, "{gid}");
        a.wait_for(&gid.replace(' ', "%20"), &["failed"]);
    }
    assert_eq!(saga(&a, "s", service), 200);
    b.wait_for("s", &["succeed"]);
    // Bytes and texts come back as they went.
    let text = "Grüße, \u{1F44B}; \\ ' \" \0";
    let stranger = json!({ "gid": "ü\u{1F44B}", "trans_type": "tcc", "custom_data": text });
    assert_eq!(a.post("prepare", &stranger).0, 200);
    let found = b.query("%C3%BC%F0%9F%91%8B");
    assert_eq!(found["transaction"]["custom_data"], text);
}

#[test]
fn a_change_reaches_whoever_drives() {
    let storage = Storage::start("shared_2");
    let ((a, _), (b, _)) = (storage.coordinator(), storage.coordinator());
    let (service, works, calls) = hesitant();
    assert_eq!(saga(&a, "stopped", service), 200);
    assert_eq!(saga(&a, "skipped", service), 200);
    wait_until("nothing is called", || calls.load(Ordering::SeqCst) > 3);
    let stop = json!({ "gid": "stopped" });
    assert_eq!(b.post("forceStop", &stop).0, 200);
    // The operator's coordinator gets the lease while the other one retries.
    for branch in ["01", "02"] {
        let order = json!({ "gid": "skipped", "branch_id": branch, "op": "action",
            "operator": "me", "reason": "a test" });
        let path = "/api/cohort/skip";
        let (status, answer) = exchange(b.port, "POST", path, &[], &order.to_string());
        assert_eq!(status, 200, "{answer}");
    }
    a.wait_for("skipped", &["succeed"]);
    assert_eq!(a.status("stopped"), "failed");
    // Nobody calls for it any more.
    let mut last = 0;
    wait_until("the calls never end", || {
        thread::sleep(Duration::from_millis(500));
        std::mem::replace(&mut last, calls.load(Ordering::SeqCst)) == last
    });
    drop(works);
}

/// Many wait for one transaction, here and at another coordinator: it goes on, each is answered,
/// and nobody is told that it failed.
#[test]
fn whoever_waits_keeps_nobody_from_driving() {
    let storage = Storage::start("shared_5");
    let ((a, _), (b, _)) = (storage.coordinator(), storage.coordinator());
    let alone = Server::start(&Machine::new(Disk::new(5)), options()).expect("a coordinator");
    for servers in [[&alone, &alone], [&a, &a], [&a, &b]] {
        let (service, works, calls) = hesitant();
        let url = format!("http://127.0.0.1:{service}/x");
        // The retry is so far away that the driver lets go until then.
        let gid = format!("w{service}");
        let request = json!({ "gid": gid, "trans_type": "saga", "wait_result": true,
            "retry_interval": 3, "steps": [{ "action": url, "compensate": url }] });
        thread::scope(|scope| {
            for number in 0..6 {
                let (server, request) = (servers[number % 2], &request);
                scope.spawn(move || {
                    let (status, answer) = server.post("submit", request);
                    assert_eq!(status, 425, "{answer}");
                });
            }
        });
        works.store(true, Ordering::SeqCst);
        servers[0].wait_for(&gid, &["succeed"]);
        // One for whoever asked first, and one at most for each that asked again.
        let calls = calls.load(Ordering::SeqCst);
        assert!((2..=7).contains(&calls), "{calls} calls");
        // Who asks again for the end is told it; a submit as such comes too late, as in DTM.
        assert_eq!(servers[1].post("submit", &request).0, 200);
        let request = json!({ "gid": gid, "trans_type": "saga" });
        assert_eq!(servers[1].post("submit", &request).0, 409);
    }
}

#[test]
fn what_a_lost_coordinator_drove_is_taken_over() {
    let storage = Storage::start("shared_3");
    let ((a, network), (b, _)) = (storage.coordinator(), storage.coordinator());
    let (service, works, calls) = hesitant();
    assert_eq!(saga(&a, "g", service), 200);
    wait_until("nothing is called", || calls.load(Ordering::SeqCst) > 3);
    let owner = || storage.query("SELECT owner FROM shared_3.global_transactions WHERE gid = 'g'");
    let first = owner();
    network.cut();
    wait_until("it is never taken over", || {
        !["0", first.as_str()].contains(&owner().as_str())
    });
    // Whoever has lost the store says so, and leaves nothing half done.
    let (service_2, works_2, calls_2) = hesitant();
    works_2.store(true, Ordering::SeqCst);
    assert_eq!(saga(&a, "refused", service_2), 503);
    works.store(true, Ordering::SeqCst);
    b.wait_for("g", &["succeed"]);
    assert_eq!(calls_2.load(Ordering::SeqCst), 0);
    network.heal();
    // It goes on as somebody new.
    wait_until("it is never back", || saga(&a, "later", service_2) == 200);
    b.wait_for("later", &["succeed"]);
    assert_eq!(b.status("refused"), "");
    let dead = storage.query(&format!(
        "SELECT is_dead FROM shared_3.coordinators WHERE id = {first}"
    ));
    assert_eq!(dead, "1");
}

#[test]
fn commits_whose_answers_are_lost_are_neither_lost_nor_repeated() {
    let storage = Storage::start("shared_4");
    if !storage.options.is_empty() {
        eprintln!("left out: the network cannot tell COMMITs that are encrypted");
        return;
    }
    let (a, network) = storage.coordinator();
    let (service, works, _) = hesitant();
    works.store(true, Ordering::SeqCst);
    let url = format!("http://127.0.0.1:{service}/x");
    network.losing.store(3, Ordering::SeqCst);
    for number in 0..20 {
        let gid = format!("t{number}");
        let tcc = json!({ "gid": gid, "trans_type": "tcc" });
        assert_eq!(a.post("prepare", &tcc).0, 200);
        let branch = json!({ "gid": gid, "trans_type": "tcc", "branch_id": "01",
            "confirm": url, "cancel": url });
        // A second time would be refused.
        let (status, answer) = a.post("registerBranch", &branch);
        assert_eq!(status, 200, "{gid}: {answer}");
        assert_eq!(a.post("submit", &tcc).0, 200);
        assert_eq!(saga(&a, &format!("s{number}"), service), 200);
    }
    for number in 0..20 {
        a.wait_for(&format!("t{number}"), &["succeed"]);
        a.wait_for(&format!("s{number}"), &["succeed"]);
    }
    let lost = network.commits.load(Ordering::SeqCst) / 3;
    assert!(lost > 20, "{lost}");
    let numbers = storage.query("SELECT COUNT(*) FROM shared_4.coordinators");
    assert_eq!(numbers, "1", "it never had to begin again as somebody else");
}

#[test]
fn a_pause_holds_whoever_drives_and_whoever_takes_over() {
    let storage = Storage::start("shared_pause");
    let ((a, network), (b, _)) = (storage.coordinator(), storage.coordinator());
    let (service, works, calls) = hesitant();
    assert_eq!(saga(&a, "s", service), 200);
    wait_until("nothing is called", || calls.load(Ordering::SeqCst) > 1);
    let order = json!({ "gid": "s", "operator": "ann", "reason": "the bank moves" });
    super::history::by_hand(&b, "pause", &order);
    let made = calls.load(Ordering::SeqCst);
    works.store(true, Ordering::SeqCst);
    // The first is taken for dead, and its transactions are the other one's.
    network.cut();
    drop(a);
    wait_until("nobody is declared dead", || {
        storage.query("SELECT COUNT(*) FROM shared_pause.coordinators WHERE is_dead = 0") == "1"
    });
    assert_eq!(calls.load(Ordering::SeqCst), made);
    assert_eq!(b.status("s"), "submitted");
    super::history::by_hand(&b, "resume", &order);
    b.wait_for("s", &["succeed"]);
}

#[test]
fn clocks_that_differ_neither_hold_up_what_is_taken_over_nor_hurry_it() {
    const HOUR: i64 = 3_600_000_000;
    let storage = Storage::start("shared_clocks");
    let (a, network) = storage.coordinator_ahead(HOUR);
    let (b, _) = storage.coordinator_ahead(-HOUR);
    let (service, works, calls) = hesitant();
    // Each is driven by the one, and looked at by the other.
    for (server, gid) in [(&a, "of a"), (&b, "of b")] {
        let tcc = json!({ "gid": gid, "trans_type": "tcc" });
        assert_eq!(server.post("prepare", &tcc).0, 200);
    }
    assert_eq!(saga(&a, "s", service), 200);
    wait_until("nothing is called", || calls.load(Ordering::SeqCst) > 1);
    network.cut();
    drop(a);
    works.store(true, Ordering::SeqCst);
    b.wait_for("s", &["succeed"]);
    for gid in ["of%20a", "of%20b"] {
        assert_eq!(b.status(gid), "prepared");
    }
}
