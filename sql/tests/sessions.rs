//! Scripts of several sessions: locks, snapshots, savepoints, implicit commits. What each statement answers,
//! which ones block, and what releases them is compared with what MySQL did
//! (sessions/*.out, made by sessions/generate.py).
//!
//! A statement is blocked when the engine says that its session waits for a lock; nothing here
//! depends on how long anything takes. `SESSIONS=name` runs one script.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Unattended},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, session::Identity, text};
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs, io,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, TryRecvError, channel},
    },
    thread,
    time::Duration,
};

/// How long between two looks at a statement that neither ended nor waits for a lock.
const LOOK: Duration = Duration::from_millis(2);
/// How many times in a row a session must be seen waiting: a lock that was just granted may
/// still be listed.
const SEEN_WAITING: u32 = 10;

/// Collects an answer in the form of the .out files.
#[derive(Default)]
struct Answer {
    rows: Vec<String>,
    decimals: Vec<u8>,
    is_result_set: bool,
    affected: u64,
}

impl Output for Answer {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.decimals = columns.iter().map(|column| column.decimals).collect();
        self.is_result_set = true;
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let values = row.iter().zip(&self.decimals).map(|(value, decimals)| {
            if value.is_null() {
                return "NULL".to_string();
            }
            let mut bytes = Vec::new();
            text::put(value, *decimals, &mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        self.rows.push(values.collect::<Vec<_>>().join(","));
        Ok(())
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        self.affected = done.affected_rows;
        Ok(())
    }
}

/// Runs a statement and says what it answered.
fn run(session: &mut Session, sql: &str) -> String {
    let mut answer = Answer::default();
    match session.query(sql.as_bytes(), false, &mut answer) {
        // Cohort names the statement that holds the lock; MySQL does not.
        Err(error) => {
            let message = error
                .message
                .split(" (the lock is held")
                .next()
                .unwrap_or_default();
            format!("ERROR {}: {message}", error.code)
        }
        Ok(()) if answer.is_result_set => format!("rows {}", answer.rows.join(" | ")),
        Ok(()) => format!("ok affected={}", answer.affected),
    }
}

/// A session on a thread of its own.
struct Player {
    id: u64,
    statements: Sender<String>,
    answers: Receiver<String>,
}

impl Player {
    fn new(instance: &Arc<Instance>, id: u64, database: &str) -> Player {
        let (statements, work) = channel::<String>();
        let (done, answers) = channel();
        let (instance, database) = (Arc::clone(instance), database.to_string());
        thread::spawn(move || {
            let who = Identity {
                user: "root".into(),
                host: "localhost".into(),
                account: None,
            };
            let mut session = Session::new(instance, id, who, Arc::new(Unattended), false);
            session
                .use_database(&database)
                .expect("the script's database");
            for sql in work {
                if done.send(run(&mut session, &sql)).is_err() {
                    return;
                }
            }
        });
        Player {
            id,
            statements,
            answers,
        }
    }

    /// The answer, or `None` once the session waits for a lock.
    fn answer(&self, engine: &Engine) -> Option<String> {
        let mut seen = 0;
        loop {
            match self.answers.try_recv() {
                Ok(answer) => return Some(answer),
                Err(TryRecvError::Disconnected) => panic!("session {} has died", self.id),
                Err(TryRecvError::Empty) => {}
            }
            let waits = engine
                .lock_waits()
                .iter()
                .any(|wait| wait.session == self.id);
            seen = if waits { seen + 1 } else { 0 };
            if seen == SEEN_WAITING {
                return None;
            }
            thread::sleep(LOOK);
        }
    }
}

/// Plays a script and returns what happened in the form of its .out file.
fn play(script: &str, database: &str) -> String {
    let disk = Disk::new(1);
    let options = EngineOptions::default();
    let engine = Engine::open(&disk.env(), Path::new("/sessions"), options, &mut |_| {})
        .expect("a new data directory opens");
    cohort_sql::users::make_first(&engine).expect("a new data directory takes its first user");
    let engine = Arc::new(engine);
    let instance = Instance::new(Arc::clone(&engine));
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: None,
    };
    let mut first = Session::new(Arc::clone(&instance), 1, who, Arc::new(Unattended), false);
    assert!(run(&mut first, &format!("CREATE DATABASE {database}")).starts_with("ok"));
    let mut players = BTreeMap::new();
    let mut blocked: Vec<String> = Vec::new();
    let mut out = String::new();
    let steps = script
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    for step in steps {
        let (name, sql) = step.split_once(": ").expect("session: statement");
        let _ = writeln!(out, "> {step}");
        if name == "wait" {
            let answer = players
                .get(sql)
                .map(|player: &Player| player.answers.recv());
            let answer = answer.expect("a session").expect("an answer");
            let _ = writeln!(out, "{sql}: {answer}");
            blocked.retain(|other| other != sql);
            continue;
        }
        let id = 2 + players.len() as u64;
        let player = players
            .entry(name.to_string())
            .or_insert_with(|| Player::new(&instance, id, database));
        if blocked.iter().any(|other| other == name) {
            let _ = writeln!(out, "still blocked");
            continue;
        }
        player
            .statements
            .send(sql.to_string())
            .expect("a living session");
        match player.answer(&engine) {
            Some(answer) => {
                let _ = writeln!(out, "{answer}");
            }
            None => {
                let _ = writeln!(out, "blocked");
                blocked.push(name.to_string());
            }
        }
        blocked.retain(|other| {
            let waiting = players.get(other).expect("a session that was used");
            let answer = if other == name {
                None
            } else {
                waiting.answer(&engine)
            };
            if let Some(answer) = &answer {
                let _ = writeln!(out, "{other}: {answer}");
            }
            answer.is_none()
        });
    }
    out
}

#[test]
fn sessions_behave_as_in_mysql() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let only = std::env::var("SESSIONS").ok();
    let mut scripts = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder of scripts") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let wanted_now = only.as_ref().is_none_or(|only| *only == name);
        if path.extension().is_some_and(|e| e == "txt") && wanted_now {
            scripts.push((path.clone(), name.into_owned()));
        }
    }
    assert!(!scripts.is_empty(), "no script was found");
    // Each has a server of its own, and mostly waits.
    let differences: String = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (path, name) in &scripts {
            threads.push(scope.spawn(move || difference(path, name)));
        }
        let ended = threads.into_iter().map(|thread| thread.join());
        ended.map(|end| end.expect("no panic")).collect()
    });
    assert!(differences.is_empty(), "{differences}");
}

/// How a script differs from what MySQL answered; empty if it does not.
fn difference(path: &Path, name: &str) -> String {
    let script = fs::read_to_string(path).expect("a script");
    let wanted = fs::read_to_string(path.with_extension("out")).expect("an .out file");
    let wanted = wanted.split_once('\n').map_or("", |(_, rest)| rest);
    let got = play(&script, name);
    if got == wanted {
        return String::new();
    }
    let mut lines = wanted.lines().zip(got.lines());
    let first = lines.position(|(w, g)| w != g).unwrap_or(0);
    let around = |text: &str| -> String {
        let lines = text.lines().skip(first.saturating_sub(6)).take(12);
        lines.collect::<Vec<_>>().join("\n")
    };
    format!(
        "\n{name}, line {}:\n--- MySQL\n{}\n--- Cohort\n{}\n",
        first + 2,
        around(wanted),
        around(&got)
    )
}
