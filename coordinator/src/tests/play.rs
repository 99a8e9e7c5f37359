//! Golden scripts: what a client sends (lines that begin with `>`), what it is answered, and which
//! branches are called.
//!
//! ```text
//! > answer OP ID WORD…        how the service will answer this branch; the last word stays
//! > bank OP BRANCH            the client calls the bank itself; what came of it
//! > accounts                  the bank's accounts
//! > xa BRANCH [AMOUNT]        the first phase of an XA branch, in this Cohort
//! > balances                  the accounts that XA branches change
//! > submit TYPE STEPS {…}     POST, with a traceparent where TRACED is somewhere in it; so are prepare, abort and all other endpoints
//! > by-hand NAME {…}         POST to /api/cohort/NAME
//! > get PATH
//! > end                       waits for the end; statuses of the branches, and their calls
//! > end sorted                the same, where calls have no order
//! > calls N                   waits for so many calls, and shows them
//! > recorded N                waits until so many calls are rows of attempts
//! > until STATUS              waits for this status
//! ```
//!
//! Scripts whose names begin with `grpc` play over gRPC, whose times are whole seconds; what it has
//! no methods for still goes over HTTP. An answer is then gRPC's code and text.
//!
//! A branch at `$S/bank` keeps accounts, under barriers (see `ledger`): what its calls came to is
//! shown with them. `bank` after STEPS has all steps there. A branch at `$S/xa` ends XA branches.
//!
//! `$S` is the service, `$H` its host and port, `$G` the transaction, of which each comment line begins a new one.

use super::{
    ENDED, Machine, PATIENCE, Server, grpc,
    ledger::Ledger,
    options,
    participant::{Answer, Visit, exchange, serve},
    xa,
};
use cohort_engine::{env::fake::Disk, types::Value as Sql};
use cohort_sql::Instance;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Write,
    fs,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// What the service was told to answer, and who called.
#[derive(Default)]
struct Script {
    answers: BTreeMap<String, VecDeque<String>>,
    calls: Vec<String>,
    ledger: Ledger,
    /// Where XA branches are.
    instance: Option<Arc<Instance>>,
}

impl Script {
    /// The bank's accounts and barriers, and XA branches, as far as these are called.
    fn work(&mut self, visit: &Visit, call: &mut String) -> Answer {
        if visit.path.ends_with("/bank") {
            if visit.of("op") == "msg" {
                return self.ledger.query_prepared(visit.of("gid"));
            }
            let change = format!("{:?}", self.ledger.transfer(visit));
            let _ = write!(call, " {}", change.to_lowercase());
        }
        match &self.instance {
            Some(instance) if visit.path.ends_with("/xa") => xa::second_phase(instance, visit),
            _ => Answer::ok(),
        }
    }

    fn answer(&mut self, visit: &Visit) -> Answer {
        let name = format!(
            "{} {} {}",
            visit.of("gid"),
            visit.of("op"),
            visit.of("branch_id")
        );
        let mut call = format!("{} {}", visit.of("op"), visit.of("branch_id"));
        for header in ["x-who", "traceparent"] {
            if let Some(value) = visit.headers.get(header) {
                let _ = write!(call, " {header}={value}");
            }
        }
        if !matches!(visit.body.as_str(), "" | "{}") {
            let _ = write!(call, " {}", visit.body);
        }
        let words = self.answers.get_mut(&name);
        let word = words.and_then(|words| match words.len() {
            0 | 1 => words.front().cloned(),
            _ => words.pop_front(),
        });
        let text = |status, text: &str| Answer::Status(status, text.to_owned());
        let answer = match word.as_deref().unwrap_or("success") {
            "success" => self.work(visit, &mut call),
            "lost" => {
                self.work(visit, &mut call);
                text(500, "done, and nobody hears of it")
            }
            "failure" => text(409, r#"{"dtm_result":"FAILURE"}"#),
            "ongoing" => text(425, r#"{"dtm_result":"ONGOING"}"#),
            "error" => text(500, "broken"),
            "garbage" => Answer::Garbage,
            "flood" => Answer::Flood,
            "silence" => Answer::Silence(Duration::from_millis(300)),
            "absence" => Answer::Silence(Duration::from_millis(1_500)),
            body => text(200, body),
        };
        self.calls.push(call);
        answer
    }
}

/// A client that can send what the protocol's endpoints take.
pub trait Talk {
    /// Sends it to the endpoint of this name; status and answer.
    fn tell(&self, name: &str, body: &Value, headers: &[(&str, &str)]) -> String;
}

/// Over HTTP, at this port.
struct Http(u16);

impl Talk for Http {
    fn tell(&self, name: &str, body: &Value, headers: &[(&str, &str)]) -> String {
        let path = format!("/api/dtmsvr/{name}");
        let (status, body) = exchange(self.0, "POST", &path, headers, &body.to_string());
        format!("{status} {body}")
    }
}

struct Player {
    server: Server,
    client: Box<dyn Talk>,
    script: Arc<Mutex<Script>>,
    service: String,
    gid: String,
}

impl Player {
    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.script.lock().expect("no panic")
    }
    fn play(&mut self, command: &str) -> String {
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        match name {
            "answer" => {
                let mut words = rest.split(' ');
                let mut word = || words.next().unwrap_or_default();
                let branch = format!("{} {} {}", self.gid, word(), word());
                let answers = words.map(str::to_owned).collect();
                self.script().answers.insert(branch, answers);
                String::new()
            }
            "get" => {
                let (status, body) = self.server.get(&self.inserted(rest));
                format!("{status} {}\n", self.masked(&body))
            }
            "bank" => self.bank(rest),
            "accounts" => {
                let script = self.script();
                let accounts = script.ledger.accounts.iter();
                let told: Vec<_> = accounts
                    .map(|(name, sum)| format!("{name} {sum}"))
                    .collect();
                match told.is_empty() {
                    true => "none\n".to_owned(),
                    false => format!("{}\n", told.join(", ")),
                }
            }
            "xa" => self.xa(rest),
            "balances" => {
                let balance = |id| {
                    let query = format!("SELECT balance FROM bank.account WHERE id = {id}");
                    let balance = xa::sql(&self.server.instance, &[&query]);
                    balance.ok().flatten().unwrap_or(Sql::Null)
                };
                format!("{:?} {:?}\n", balance(1), balance(2))
            }
            "until" => {
                self.server.wait_for(&self.gid, &[rest]);
                String::new()
            }
            "calls" => self.wait_for_calls(rest.parse().expect("a number")),
            "recorded" => self.wait_for_records(rest.parse().expect("a number")),
            "end" => self.end(rest == "sorted"),
            "by-hand" => {
                let (name, fields) = rest.split_once(' ').expect("a name and JSON");
                let path = format!("/api/cohort/{name}");
                let body = self.inserted(fields);
                let (status, body) = exchange(self.server.port, "POST", &path, &[], &body);
                format!("{status} {}\n", self.masked(&body))
            }
            _ => {
                let trace = (
                    "traceparent",
                    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                );
                let headers: &[(&str, &str)] = if rest.contains("TRACED") {
                    &[trace]
                } else {
                    &[]
                };
                let answer = self.client.tell(name, &self.request(rest), headers);
                format!("{}\n", self.masked(&answer))
            }
        }
    }
    /// The client does a branch's work itself.
    fn bank(&self, rest: &str) -> String {
        let (op, branch) = rest.split_once(' ').expect("an operation and a branch");
        let query = [
            ("gid", self.gid.as_str()),
            ("op", op),
            ("branch_id", branch),
        ];
        let query = query.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let visit = Visit {
            query: query.into(),
            ..Visit::default()
        };
        let change = self.script().ledger.transfer(&visit);
        format!("{change:?}\n").to_lowercase()
    }
    /// The first phase of an XA branch; the first one loses what the others win.
    fn xa(&self, rest: &str) -> String {
        let (branch, amount) = rest.split_once(' ').unwrap_or((rest, "30"));
        let amount: i32 = amount.parse().expect("an amount");
        let (account, amount) = match branch {
            "01" => (1, -amount),
            _ => (2, amount),
        };
        let xid = format!("{}-{branch}", self.gid);
        match xa::first_phase(&self.server.instance, &xid, account, amount) {
            Ok(()) => "prepared\n".to_owned(),
            Err(error) => format!("error {}\n", error.code),
        }
    }
    /// Where the service is.
    fn host(&self) -> &str {
        crate::call::host_of(&self.service)
    }
    fn inserted(&self, text: &str) -> String {
        let text = text.replace("$S", &self.service).replace("$G", &self.gid);
        text.replace("$H", self.host())
    }
    fn masked(&self, text: &str) -> String {
        let text = text.replace(&self.service, "$S").replace(&self.gid, "$G");
        let text = text.replace(self.host(), "$H");
        let is_time = |part: &&str| part.len() == 27 && part.starts_with("20");
        let parts = text.split('"');
        let parts = parts.map(|part| if is_time(&part) { "$T" } else { part });
        parts.collect::<Vec<_>>().join("\"")
    }
    fn wait_for_calls(&self, count: usize) -> String {
        let begun = Instant::now();
        while self.script().calls.len() < count {
            assert!(begun.elapsed() < PATIENCE, "{:?}", self.script().calls);
            thread::sleep(Duration::from_millis(2));
        }
        // Another one may have come already: it is shown by what asks next.
        let calls: Vec<String> = self.script().calls.drain(..count).collect();
        format!("calls: {}\n", self.masked(&calls.join(", ")))
    }
    fn wait_for_records(&self, count: usize) -> String {
        let body = json!({ "gid": self.gid }).to_string();
        let begun = Instant::now();
        loop {
            let port = self.server.port;
            let (_, shown) = exchange(port, "POST", "/api/cohort/show", &[], &body);
            let shown: Value = serde_json::from_str(&shown).expect("JSON");
            if shown["attempts"]
                .as_array()
                .is_some_and(|all| all.len() >= count)
            {
                return String::new();
            }
            assert!(begun.elapsed() < PATIENCE, "{shown}");
            thread::sleep(Duration::from_millis(2));
        }
    }
    /// `TYPE [STEPS] [{…}]` as the protocol's JSON.
    fn request(&self, rest: &str) -> Value {
        let (words, fields) = rest.split_once('{').unwrap_or((rest, "}"));
        let fields: Value =
            serde_json::from_str(&self.inserted(&format!("{{{fields}"))).expect("JSON");
        let mut words = words.split_whitespace();
        let mut request = json!({ "gid": self.gid, "trans_type": words.next() });
        if let Some(steps) = words.next() {
            let steps: usize = steps.parse().expect("a number of steps");
            let path = words.next().unwrap_or("x");
            let url = format!("{}/{path}", self.service);
            request["steps"] = vec![json!({ "action": url, "compensate": url }); steps].into();
            request["payloads"] = vec!["{}"; steps].into();
            request["query_prepared"] = url.into();
        }
        for (name, value) in fields.as_object().expect("an object") {
            request[name] = value.clone();
        }
        request
    }
    fn end(&self, sorted: bool) -> String {
        let found = self.server.wait_for(&self.gid, ENDED);
        let transaction = &found["transaction"];
        let mut out = transaction["status"].as_str().unwrap_or("?").to_owned();
        let branches = found["branches"].as_array().expect("branches");
        let letters = branches.iter().map(|branch| {
            let status = branch["status"].as_str().unwrap_or("?");
            status[..1].to_uppercase()
        });
        let letters: String = letters.collect();
        let _ = write!(out, " {letters}");
        if let Some(reason) = transaction["rollback_reason"].as_str() {
            let _ = write!(out, " ({})", self.masked(reason));
        }
        let mut calls = std::mem::take(&mut self.script().calls);
        if sorted {
            calls.sort();
        }
        let _ = writeln!(out, "\ncalls: {}", self.masked(&calls.join(", ")));
        out
    }
}

fn play(script: &str, grpc: bool) -> String {
    let calls = Arc::new(Mutex::new(Script::default()));
    let service = Arc::clone(&calls);
    let handler = move |visit: &Visit| service.lock().expect("no panic").answer(visit);
    let server = Server::start(&Machine::new(Disk::new(1)), options()).expect("a server");
    xa::sql(&server.instance, &xa::SETUP).expect("accounts");
    calls.lock().expect("no panic").instance = Some(Arc::clone(&server.instance));
    let (service, client): (_, Box<dyn Talk>) = match grpc {
        true => {
            let service = format!("127.0.0.1:{}/test.Bank", grpc::serve(handler));
            (service, Box::new(grpc::Client::new(server.grpc_port)))
        }
        false => {
            let service = format!("http://127.0.0.1:{}", serve(handler));
            (service, Box::new(Http(server.port)))
        }
    };
    let mut player = Player {
        server,
        client,
        script: calls,
        service,
        gid: String::new(),
    };
    let (mut out, mut number) = (String::new(), 0);
    for line in script.lines() {
        if line.starts_with('#') || line.is_empty() {
            number += 1;
            player.gid = format!("gid-{number}-");
            let mut script = player.script();
            script.calls.clear();
            script.ledger.accounts.clear();
            drop(script);
            let _ = writeln!(out, "{line}");
        } else if let Some(command) = line.strip_prefix("> ") {
            let answer = player.play(command);
            let _ = write!(out, "{line}\n{answer}");
        }
    }
    out
}

/// `GOLDEN=write` writes what happens, to be read before it is believed.
fn check(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/golden");
    let path = folder.join(name);
    let script = fs::read_to_string(&path).expect("a script");
    let played = play(&script, name.starts_with("grpc"));
    if std::env::var_os("GOLDEN").is_some_and(|what| what == "write") {
        fs::write(&path, &played).expect("writing a script");
        return;
    }
    assert_eq!(played, script, "{}", path.display());
}

macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(concat!(stringify!($name), ".txt"));
        })*
    };
}
scripts!(saga tcc message workflow barrier xa by_hand);
scripts!(grpc_saga grpc_tcc grpc_message grpc_workflow grpc_barrier grpc_xa);
