//! Lock scenarios as golden scripts: see `locks/*.txt`.
//!
//! Lines that begin with `>` are steps, everything else is what they print, and is compared.
//! `> NAME COMMAND` runs a command in a session (begun by its first command) and waits until it
//! is done or waits for a lock; a session whose wait ends prints its result after the step that
//! ended it. The table is that of `tests::table`: `t (id PRIMARY KEY, u UNIQUE, a KEY)`. With the
//! environment variable `UPDATE_GOLDEN=1` the files are written anew.
//!
//! Commands of a session: `begin rr|rc|ru|ser [timeout MS]`, `insert ID A U`, `get ID READ`,
//! `scan id|a|u LOW HIGH READ [limit N]` (low inclusive, high exclusive, `-` open), `update ID A
//! U`, `delete ID`, `commit`, `rollback`, `delay` (entries of indexes come when they are settled; all
//! that follows up to then is one statement), `settle`, `undo` (a statement that began with `delay` fails); READ is `plain`, or `s` or `x`, followed by `nowait` or
//! `skip` if wanted; a scan can `refuse ID`, that is, give back the lock of a row. `> locks` prints the lock table, `> deadlock` the last deadlock,
//! `> kill NAME` kills a session's statement.

use super::*;
use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

struct Client {
    session: u64,
    owner: Arc<Owner>,
    commands: Sender<Vec<String>>,
    results: Receiver<String>,
    busy: bool,
}

struct Script {
    engine: Arc<Engine>,
    table: Arc<Table>,
    clients: BTreeMap<String, Client>,
}

/// Entries that others keep are waited for so long: nothing is to depend on time.
const PATIENCE: Duration = Duration::from_secs(3600);

impl Script {
    fn new() -> Script {
        let disk = disk();
        let engine = Arc::new(open(&disk.env()));
        engine.inner.locks.set_patience(PATIENCE);
        let table = create(&engine);
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        for id in [10, 20, 30] {
            insert(&mut txn, &table, (id, Some(id / 10), Some(id * 10))).unwrap();
        }
        txn.commit("test").unwrap();
        Script {
            engine,
            table,
            clients: BTreeMap::new(),
        }
    }
    fn client(&mut self, name: &str) -> &mut Client {
        if !self.clients.contains_key(name) {
            let session = self.clients.len() as u64 + 1;
            let owner = owner(session);
            let (commands, inbox) = channel::<Vec<String>>();
            let (outbox, results) = channel();
            let runner = Runner {
                engine: Arc::clone(&self.engine),
                table: Arc::clone(&self.table),
                owner: Arc::clone(&owner),
                txn: None,
                delays: false,
                mark: Savepoint::default(),
            };
            std::thread::spawn(move || runner.run(&inbox, &outbox));
            let client = Client {
                session,
                owner,
                commands,
                results,
                busy: false,
            };
            self.clients.insert(name.to_owned(), client);
        }
        self.clients.get_mut(name).expect("just made")
    }
    fn step(&mut self, line: &str) -> String {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let mut out = String::new();
        match words[0].as_str() {
            "locks" => self.print_locks(&mut out),
            "deadlock" => self.print_deadlock(&mut out),
            "kill" => self.client(&words[1]).owner.kill(),
            "patience" => {
                let patience = match words[1].as_str() {
                    "ends" => Duration::ZERO,
                    _ => PATIENCE,
                };
                self.engine.inner.locks.set_patience(patience);
            }
            name => {
                let text = words[1..].join(" ");
                let client = self.client(name);
                assert!(!client.busy, "{name} is busy: {line}");
                client.busy = true;
                client.commands.send(words[1..].to_vec()).expect("it runs");
                let _ = text;
            }
        }
        self.settle(&mut out);
        if let Some(client) = self.clients.get(&words[0])
            && client.busy
        {
            let waits = self.engine.lock_waits();
            let blockers = waits
                .into_iter()
                .find(|wait| wait.session == client.session);
            let names: Vec<String> = blockers
                .into_iter()
                .flat_map(|wait| wait.blockers)
                .map(|session| self.name_of(session))
                .collect();
            writeln!(out, "{} waits for {}", words[0], names.join(", ")).unwrap();
        }
        out
    }
    fn name_of(&self, session: u64) -> String {
        let client = self
            .clients
            .iter()
            .find(|(_, client)| client.session == session);
        client.map_or_else(|| session.to_string(), |(name, _)| name.clone())
    }
    /// Waits until every session is idle or waits for a lock that somebody holds.
    fn settle(&mut self, out: &mut String) {
        let mut results = BTreeMap::new();
        loop {
            let waits = self.engine.lock_waits();
            let mut settled = true;
            for (name, client) in self.clients.iter_mut().filter(|(_, client)| client.busy) {
                if let Ok(result) = client.results.try_recv() {
                    client.busy = false;
                    results.insert(name.clone(), result);
                    settled = false;
                    continue;
                }
                let blocked =
                    |wait: &LockWait| wait.session == client.session && !wait.blockers.is_empty();
                settled &= waits.iter().any(blocked) && !client.owner.is_killed();
            }
            if settled {
                break;
            }
            std::thread::yield_now();
        }
        for (name, result) in results {
            writeln!(out, "{name}: {result}").unwrap();
        }
    }
    fn print_locks(&self, out: &mut String) {
        for info in self.engine.locks() {
            let tree = self.tree_name(info.tree);
            let state = if info.granted { "" } else { " waits" };
            let key = |key: &[u8]| self.show(info.tree, key);
            let what = match &info.kind {
                LockKind::Row { mode, key: name } => format!("{mode:?} {}", key(name)),
                LockKind::Range { low, high } => {
                    let high = high
                        .as_ref()
                        .map_or_else(|| "end".to_owned(), |high| key(high));
                    format!("range {}..{high}", key(low))
                }
                LockKind::Insert { key: name } => format!("insert {}", key(name)),
            };
            let who = self.name_of(info.session);
            writeln!(out, "{who} {tree} {what}{state}").unwrap();
        }
    }
    fn tree_name(&self, tree: u32) -> &str {
        if tree == self.table.rows {
            return "id";
        }
        let index = self.table.indexes.iter().find(|index| index.tree == tree);
        index.map_or("?", |index| &index.name)
    }
    /// A key in decimal, with `+` for what comes right after it.
    fn show(&self, tree: u32, mut key: &[u8]) -> String {
        let nullable = tree != self.table.rows;
        let mut parts = Vec::new();
        let mut first = true;
        while !key.is_empty() {
            if first && nullable {
                let Some((marker, rest)) = key.split_first() else {
                    break;
                };
                key = rest;
                if *marker == 0 {
                    parts.push("NULL".to_owned());
                    first = false;
                    continue;
                }
            }
            first = false;
            match key.split_first_chunk::<4>() {
                Some((bytes, rest)) => {
                    let value = i64::from(u32::from_be_bytes(*bytes)) - (1 << 31);
                    parts.push(value.to_string());
                    key = rest;
                }
                None => {
                    parts.push("+".to_owned());
                    break;
                }
            }
        }
        if parts.is_empty() {
            return "start".to_owned();
        }
        parts.join(" ").replace(" +", "+")
    }
    fn print_deadlock(&self, out: &mut String) {
        for party in self
            .engine
            .deadlocks()
            .last()
            .into_iter()
            .flat_map(|last| &last.parties)
        {
            let victim = if party.victim { ", victim" } else { "" };
            let name = self.name_of(party.session);
            writeln!(out, "{name}: {}{victim}", party.statement).unwrap();
        }
    }
}

struct Runner {
    engine: Arc<Engine>,
    table: Arc<Table>,
    owner: Arc<Owner>,
    txn: Option<Txn>,
    /// A statement has its entries come late.
    delays: bool,
    /// Where it began.
    mark: Savepoint,
}

fn number(word: &str) -> Option<i64> {
    word.parse().ok()
}

fn read_of(words: &[String]) -> Read {
    let conflict = match words.get(1).map(String::as_str) {
        Some("nowait") => OnConflict::Fail,
        Some("skip") => OnConflict::Skip,
        _ => OnConflict::Wait,
    };
    match words[0].as_str() {
        "s" => Read::Locking(LockMode::Shared, conflict),
        "x" => Read::Locking(LockMode::Exclusive, conflict),
        _ => Read::Plain,
    }
}

impl Runner {
    fn run(mut self, inbox: &Receiver<Vec<String>>, outbox: &Sender<String>) {
        while let Ok(words) = inbox.recv() {
            self.owner.clear_kill();
            let result = match self.command(&words) {
                Ok(result) => result,
                Err(TxnError::LockWaitTimeout { holder }) => format!("timeout, held by: {holder}"),
                Err(error) => format!("{error:?}"),
            };
            if outbox.send(result).is_err() {
                return;
            }
        }
    }
    fn begin(&mut self, words: &[String]) {
        let isolation = match words[1].as_str() {
            "ru" => Isolation::ReadUncommitted,
            "rc" => Isolation::ReadCommitted,
            "ser" => Isolation::Serializable,
            _ => Isolation::RepeatableRead,
        };
        let timeout = words.get(3).and_then(|ms| number(ms)).unwrap_or(600_000);
        let options = TxnOptions {
            isolation,
            read_only: false,
            lock_wait_ms: timeout as u64,
            table_lock_wait_ms: 60_000,
        };
        self.txn = Some(self.engine.begin(&self.owner, options));
    }
    fn command(&mut self, words: &[String]) -> Result<String, TxnError> {
        if words[0] == "begin" {
            self.begin(words);
            return Ok("ok".to_owned());
        }
        if words[0] == "commit" || words[0] == "rollback" {
            let txn = self.txn.take().expect("a transaction");
            if words[0] == "commit" {
                txn.commit("test")?;
            }
            return Ok("ok".to_owned());
        }
        let t = &self.table;
        let txn = self.txn.as_mut().expect("a transaction");
        if !self.delays {
            txn.start_statement(&Arc::from(words.join(" ")));
        }
        use_table(txn, t)?;
        let id = || number(&words[1]).unwrap_or(0);
        let row = || (id(), number(&words[2]), number(&words[3]));
        Ok(match words[0].as_str() {
            "insert" => {
                insert(txn, t, row())?;
                "ok".to_owned()
            }
            "get" => {
                let found = get(txn, t, id(), read_of(&words[2..]))?;
                found.map_or_else(|| "none".to_owned(), show_row)
            }
            "update" => format!("{} rows", u8::from(update(txn, t, id(), row())?)),
            "delete" => format!("{} rows", u8::from(delete(txn, t, id())?)),
            "scan" => scan(txn, t, words)?,
            "delay" => {
                self.mark = txn.savepoint();
                txn.delay_entries(0);
                self.delays = true;
                "ok".to_owned()
            }
            "settle" => {
                self.delays = false;
                txn.settle_entries()?;
                "ok".to_owned()
            }
            "undo" => {
                self.delays = false;
                txn.rollback_to(&self.mark);
                "ok".to_owned()
            }
            other => panic!("no such command: {other}"),
        })
    }
}

fn show_row((id, a, u): Row) -> String {
    let show = |value: Option<i64>| value.map_or_else(|| "NULL".to_owned(), |v| v.to_string());
    format!("({id} {} {})", show(a), show(u))
}

fn scan(txn: &mut Txn, t: &Arc<Table>, words: &[String]) -> Result<String, TxnError> {
    let (column, tree) = match words[1].as_str() {
        "id" => (0, t.rows),
        "u" => (2, t.indexes[0].tree),
        _ => (1, t.indexes[1].tree),
    };
    let key = |word: &str| number(word).map(|value| key_of(t, column, value));
    let range = KeyRange {
        low: key(&words[2]).unwrap_or_default(),
        high: key(&words[3]),
    };
    let read = read_of(&words[4..]);
    let place = words.iter().position(|word| word == "limit");
    let limit = place
        .and_then(|place| number(&words[place + 1]))
        .unwrap_or(100);
    let mut scan = txn.scan(tree, range, false, read);
    let mut batch = Batch::default();
    let mut rows = Vec::new();
    loop {
        scan.next(txn, &mut batch, limit as usize)?;
        for place in 0..batch.len() {
            let (key, value) = batch.get(place);
            if tree == t.rows {
                rows.push(show_row(row_of(t, value)));
                continue;
            }
            let index = t
                .indexes
                .iter()
                .find(|index| index.tree == tree)
                .expect("an index");
            let start = key::parts_length(t, index, 1, key).expect("an entry");
            let mut row = Vec::new();
            if txn.get(t.rows, &key[start..], read, &mut row)? {
                rows.push(show_row(row_of(t, &row)));
            }
        }
        if batch.is_empty() || place.is_some() {
            if let Some(place) = words.iter().position(|word| word == "refuse") {
                let id = number(&words[place + 1]).unwrap_or(0);
                txn.unlock_row(t.rows, &key_of(t, 0, id));
            }
            return Ok(format!("[{}]", rows.join(" ")));
        }
    }
}

fn run(name: &str, text: &str) {
    let mut script = Script::new();
    let mut output = String::new();
    for line in text.lines() {
        if let Some(step) = line.strip_prefix("> ") {
            writeln!(output, "{line}").unwrap();
            output.push_str(&script.step(step));
        } else if line.starts_with('#') || line.is_empty() {
            writeln!(output, "{line}").unwrap();
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/txn/tests/locks");
        std::fs::write(dir.join(name), &output).unwrap();
        return;
    }
    assert_eq!(output, text, "{name}: run with UPDATE_GOLDEN=1 to accept");
}

macro_rules! scripts {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let file = concat!(stringify!($name), ".txt");
            run(file, include_str!(concat!(stringify!($name), ".txt")));
        }
    )*};
}

scripts! { row_locks deadlocks ranges unique anomalies late }
