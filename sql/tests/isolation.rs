//! The isolation levels, as several sessions see them: every scenario of isolation/*.sessions is
//! run on Cohort and compared with what MySQL answered (isolation/*.out).
//!
//! Whether a statement waits is not guessed from the time it takes: a session waits when the
//! engine says so to its `Waiting`.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, WaitFor, Waiting},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, session::Identity, text};
use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    sync::{
        Arc, Condvar, Mutex,
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

/// How long a session that must go on may take: only a hung test waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq)]
enum Phase {
    Running,
    WaitsForLock,
    Done(Vec<String>),
}

/// What one session is doing, told by its own thread and by the engine.
struct Progress {
    phase: Mutex<Phase>,
    changed: Condvar,
}

impl Progress {
    fn new() -> Progress {
        Progress {
            phase: Mutex::new(Phase::Done(Vec::new())),
            changed: Condvar::new(),
        }
    }

    fn set(&self, phase: Phase) {
        *self.phase.lock().unwrap() = phase;
        self.changed.notify_all();
    }

    /// Waits until `wanted` holds; returns the phase it held for, or the last one.
    fn wait(&self, patience: Duration, wanted: impl Fn(&Phase) -> bool) -> Phase {
        let phase = self.phase.lock().unwrap();
        let (phase, _) = self
            .changed
            .wait_timeout_while(phase, patience, |phase| !wanted(phase))
            .unwrap();
        phase.clone()
    }
}

impl Waiting for Progress {
    fn pause(&self, what: WaitFor) {
        if what == WaitFor::Lock {
            self.set(Phase::WaitsForLock);
        }
    }
    fn resume(&self, what: WaitFor) {
        if what == WaitFor::Lock {
            self.set(Phase::Running);
        }
    }
}

/// Collects the lines of a statement's result, as generate.py shows them.
#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    is_result_set: bool,
}

impl Output for Lines {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        self.is_result_set = true;
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let mut line = Vec::new();
        for (i, value) in row.iter().enumerate() {
            if i > 0 {
                line.push(b'\t');
            }
            text::put(value, 0, &mut line);
        }
        self.lines.push(String::from_utf8(line).unwrap());
        Ok(())
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        if !self.is_result_set {
            self.lines.push(format!("ok {}", done.affected_rows));
        } else if self.lines.is_empty() {
            self.lines.push("empty".into());
        }
        Ok(())
    }
}

fn run_statement(session: &mut Session, sql: &str) -> Vec<String> {
    let mut out = Lines::default();
    match session.query(sql.as_bytes(), false, &mut out) {
        Ok(()) => out.lines,
        Err(error) => vec![format!("error {}", error.code)],
    }
}

fn new_session(instance: &Arc<Instance>, id: u64, waiting: Arc<dyn Waiting>) -> Session {
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: None,
    };
    Session::new(Arc::clone(instance), id, who, waiting, false)
}

/// A session on a thread of its own.
struct Actor {
    progress: Arc<Progress>,
    statements: Sender<String>,
    waits: bool,
}

impl Actor {
    fn new(instance: &Arc<Instance>, id: u64, level: &str) -> Actor {
        let progress = Arc::new(Progress::new());
        let (statements, todo) = channel::<String>();
        let waiting = Arc::clone(&progress);
        let mut session = new_session(instance, id, Arc::clone(&progress) as Arc<dyn Waiting>);
        run_statement(&mut session, "use iso");
        run_statement(
            &mut session,
            &format!("set session transaction isolation level {level}"),
        );
        thread::spawn(move || {
            for sql in todo {
                let lines = run_statement(&mut session, &sql);
                waiting.set(Phase::Done(lines));
            }
        });
        Actor {
            progress,
            statements,
            waits: false,
        }
    }

    /// Runs a statement until it is done (its lines) or waits for a lock (none).
    fn start(&mut self, sql: &str) -> Option<Vec<String>> {
        self.progress.set(Phase::Running);
        self.statements.send(sql.to_owned()).unwrap();
        let phase = self
            .progress
            .wait(PATIENCE, |phase| *phase != Phase::Running);
        self.settle(phase)
    }

    /// The lines of a statement that waited, if it has gone on within `patience`.
    fn went_on(&mut self, patience: Duration) -> Option<Vec<String>> {
        let phase = self
            .progress
            .wait(patience, |phase| matches!(phase, Phase::Done(_)));
        self.settle(phase)
    }

    fn settle(&mut self, phase: Phase) -> Option<Vec<String>> {
        self.waits = !matches!(phase, Phase::Done(_));
        match phase {
            Phase::Done(lines) => Some(lines),
            _ => None,
        }
    }
}

/// Runs one scenario; `expected` (MySQL's output) is used only to know how patient to be.
fn run(
    instance: &Arc<Instance>,
    level: &str,
    steps: &[(String, String)],
    expected: &str,
) -> String {
    let mut out = String::new();
    let mut admin = new_session(instance, 1, Arc::new(Progress::new()));
    for sql in [
        "create database if not exists iso",
        "use iso",
        "drop table if exists test, other",
        "create table test (id int primary key, value int)",
        "insert into test values (1, 10), (2, 20)",
    ] {
        run_statement(&mut admin, sql);
    }
    let mut actors: BTreeMap<String, Actor> = BTreeMap::new();
    for (name, sql) in steps {
        let id = 2 + actors.len() as u64;
        let actor = actors
            .entry(name.clone())
            .or_insert_with(|| Actor::new(instance, id, level));
        out += &format!("{name}: {sql}\n");
        if actor.waits {
            out += "    still waiting\n";
        } else {
            for line in actor.start(sql).unwrap_or_else(|| vec!["waits".into()]) {
                out += &format!("    {line}\n");
            }
        }
        for (other, actor) in actors
            .iter_mut()
            .filter(|(other, a)| *other != name && a.waits)
        {
            let goes_on = expected[out.len().min(expected.len())..]
                .starts_with(&format!("    {other} goes on: "));
            let patience = if goes_on {
                PATIENCE
            } else {
                Duration::from_millis(10)
            };
            for line in actor.went_on(patience).unwrap_or_default() {
                out += &format!("    {other} goes on: {line}\n");
            }
        }
    }
    for (name, actor) in actors.iter_mut().filter(|(_, a)| a.waits) {
        for line in actor.went_on(PATIENCE).unwrap_or_default() {
            out += &format!("    {name} goes on: {line}\n");
        }
    }
    out
}

/// `== title` blocks of a file: title and the lines below it, comments left out.
fn blocks(text: &str) -> Vec<(String, Vec<&str>)> {
    let mut blocks: Vec<(String, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("==") {
            blocks.push((title.trim().to_owned(), Vec::new()));
        } else if let Some((_, lines)) = blocks.last_mut()
            && !line.trim().is_empty()
            && !line.starts_with('#')
        {
            lines.push(line);
        }
    }
    blocks
}

#[test]
fn anomalies_are_mysqls() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/isolation");
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    let expected: BTreeMap<String, String> = blocks(&read("anomalies.out"))
        .into_iter()
        .map(|(title, lines)| (title, lines.iter().map(|l| format!("{l}\n")).collect()))
        .collect();
    let disk = Disk::new(1);
    let engine = Engine::open(
        &disk.env(),
        Path::new("/isolation"),
        EngineOptions::default(),
        &mut |_| {},
    )
    .unwrap();
    cohort_sql::users::make_first(&engine).unwrap();
    let instance = Instance::new(Arc::new(engine));
    let mut wrong = String::new();
    let mut count = 0;
    for (title, lines) in blocks(&read("anomalies.sessions")) {
        let steps: Vec<(String, String)> = lines
            .iter()
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, sql)| (name.to_owned(), sql.to_owned()))
            .collect();
        for level in [
            "READ UNCOMMITTED",
            "READ COMMITTED",
            "REPEATABLE READ",
            "SERIALIZABLE",
        ] {
            let key = format!("{title} [{level}]");
            let want = expected.get(&key).expect("made by generate.py");
            let got = run(&instance, level, &steps, want);
            count += 1;
            if got != *want {
                wrong += &format!("== {key}\n--- MySQL\n{want}--- Cohort\n{got}");
            }
        }
    }
    assert!(count > 80, "only {count} scenarios were read");
    assert!(wrong.is_empty(), "{wrong}");
}
