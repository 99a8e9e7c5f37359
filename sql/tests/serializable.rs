//! Random transactions of several sessions under SERIALIZABLE: whatever they answered, they answer
//! the same one after the other, in the order of their commits, on a server of their own.
//!
//! Statements meet each other on few rows: by the primary key, by unique and other indexes, by
//! ranges, by rows that are not there, and with duplicates.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Owner, Unattended},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, session::Identity, text};
use std::{collections::BTreeMap, io, path::Path, sync::Arc, thread};

const DUPLICATE: u16 = 1062;
const DEADLOCK: u16 = 1213;
const NO_PARENT: u16 = 1452;
const SESSIONS: u64 = 6;
const TRANSACTIONS: u64 = 120;

/// Tables, and statements that meet each other there.
#[derive(Clone, Copy)]
struct World {
    setup: &'static [&'static str],
    /// A statement whose effect does not depend on the order in which it meets the rows.
    statement: fn(&mut Random) -> String,
}

/// Two tables without foreign keys.
const PLAIN: World = World {
    setup: &[
        "CREATE DATABASE s",
        "USE s",
        "CREATE TABLE t (id INT PRIMARY KEY, u INT, k INT, v INT, UNIQUE (u), KEY (k))",
        "CREATE TABLE w (id INT PRIMARY KEY, u INT, k INT, v INT, UNIQUE (k, u))",
    ],
    statement: Random::statement,
};

/// Foreign keys with all actions, two to the same table, one to its own.
const RELATED: World = World {
    setup: &[
        "CREATE DATABASE s",
        "USE s",
        "CREATE TABLE country (id INT PRIMARY KEY, u INT, UNIQUE (u))",
        "CREATE TABLE city (id INT PRIMARY KEY, country INT, u INT, \
         FOREIGN KEY (country) REFERENCES country (id) ON DELETE CASCADE ON UPDATE CASCADE, \
         FOREIGN KEY (u) REFERENCES country (u) ON DELETE SET NULL ON UPDATE SET NULL)",
        "CREATE TABLE person (id INT PRIMARY KEY, city INT, boss INT, \
         FOREIGN KEY (city) REFERENCES city (id) ON DELETE SET NULL ON UPDATE CASCADE, \
         FOREIGN KEY (boss) REFERENCES person (id) ON DELETE CASCADE)",
        "CREATE TABLE post (id INT PRIMARY KEY, person INT, \
         FOREIGN KEY (person) REFERENCES person (id))",
    ],
    statement: Random::related,
};

/// Multi-valued indexes, one of them unique.
const ARRAYS: World = World {
    setup: &[
        "CREATE DATABASE s",
        "USE s",
        "CREATE TABLE t (id INT PRIMARY KEY, j JSON, v INT, \
         KEY k ((CAST(j->'$.k' AS UNSIGNED ARRAY))), KEY vk (v, (CAST(j->'$.k' AS UNSIGNED ARRAY))), \
         UNIQUE u ((CAST(j->'$.u' AS CHAR(5) ARRAY))))",
    ],
    statement: Random::arrays,
};

/// Rows without the parent that they refer to: there are none.
const ORPHANS: [&str; 5] = [
    "SELECT * FROM city c LEFT JOIN country p ON c.country = p.id \
     WHERE c.country IS NOT NULL AND p.id IS NULL",
    "SELECT * FROM city c LEFT JOIN country p ON c.u = p.u WHERE c.u IS NOT NULL AND p.id IS NULL",
    "SELECT * FROM person c LEFT JOIN city p ON c.city = p.id \
     WHERE c.city IS NOT NULL AND p.id IS NULL",
    "SELECT * FROM person c LEFT JOIN person p ON c.boss = p.id \
     WHERE c.boss IS NOT NULL AND p.id IS NULL",
    "SELECT * FROM post c LEFT JOIN person p ON c.person = p.id \
     WHERE c.person IS NOT NULL AND p.id IS NULL",
];

/// What a statement came to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Answer {
    rows: Vec<String>,
    affected: u64,
    error: u16,
}

impl Output for Answer {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let mut line = Vec::new();
        for value in row {
            text::put(value, 0, &mut line);
            line.push(b' ');
        }
        self.rows.push(String::from_utf8_lossy(&line).into_owned());
        Ok(())
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        self.affected = done.affected_rows;
        Ok(())
    }
}

fn prepare(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        assert_eq!(run(session, sql).error, 0, "{sql}");
    }
}

fn run(session: &mut Session, sql: &str) -> Answer {
    let mut answer = Answer::default();
    if let Err(error) = session.query(sql.as_bytes(), false, &mut answer) {
        answer = Answer::default();
        answer.error = error.code;
    }
    answer.rows.sort();
    answer
}

/// A server without data, and how to log in.
fn server() -> impl Fn(u64) -> Session {
    let disk = Disk::new(1);
    let options = EngineOptions::default();
    let engine = Engine::open(&disk.env(), Path::new("/s"), options, &mut |_| {})
        .expect("a new data directory opens");
    cohort_sql::users::make_first(&engine).expect("a new data directory takes its first user");
    let instance = Instance::new(Arc::new(engine));
    move |id| {
        let who = Identity {
            user: "root".into(),
            host: "localhost".into(),
            account: None,
        };
        Session::new(Arc::clone(&instance), id, who, Arc::new(Unattended), false)
    }
}

/// Numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        let place = self.below(choices.len() as u64);
        choices[usize::try_from(place).unwrap()]
    }
    fn condition(&mut self) -> String {
        let (a, b) = (self.below(8), self.below(8));
        let column = self.one_of(&["id", "u", "k", "k"]);
        match self.below(6) {
            0 => format!("{column} > {a}"),
            1 => format!("{column} BETWEEN {a} AND {}", a + 2),
            2 => format!("{column} IN ({a}, {b})"),
            3 => format!("{column} = {a} AND v < {}", 10 * b),
            _ => format!("{column} = {a}"),
        }
    }
    fn row(&mut self) -> String {
        let u = match self.below(8) {
            0 => "NULL".to_string(),
            u => u.to_string(),
        };
        let (id, k, v) = (self.below(8), self.below(8), self.below(90));
        format!("({id}, {u}, {k}, {v})")
    }
    fn related(&mut self) -> String {
        let (a, b, c) = (self.below(8), self.below(8), self.below(8));
        let verb = self.one_of(&["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"]);
        let table = self.one_of(&["country", "city", "person", "post"]);
        let ignore = self.one_of(&["", "", "IGNORE"]);
        match self.below(16) {
            0 => format!("SELECT * FROM {table} WHERE id >= {a}"),
            1 => "SELECT COUNT(*), SUM(country), SUM(u) FROM city".to_string(),
            2 => "SELECT COUNT(*), SUM(city), SUM(boss) FROM person".to_string(),
            3 => format!("{verb} INTO country VALUES ({a}, {b})"),
            4 => format!("{verb} INTO city VALUES ({a}, {b}, NULL), ({c}, NULL, {a})"),
            5 => format!("{verb} INTO city VALUES ({a}, {b}, {c})"),
            6 => format!("{verb} INTO person VALUES ({a}, {b}, NULL)"),
            7 => format!("{verb} INTO person VALUES ({a}, {b}, {c})"),
            8 => format!("{verb} INTO post VALUES ({a}, {b})"),
            9 => format!("UPDATE {ignore} country SET id = {a} WHERE id = {b}"),
            10 => format!("UPDATE {ignore} country SET u = {a} WHERE id = {b}"),
            11 => format!("UPDATE {ignore} city SET id = {a}, country = {b} WHERE id = {c}"),
            12 => format!("UPDATE {ignore} person SET boss = {a} WHERE id = {b}"),
            13 => format!("UPDATE {ignore} post SET person = {a} WHERE id = {b}"),
            14 => format!(
                "DELETE {ignore} FROM {table} WHERE id BETWEEN {a} AND {}",
                a + 1
            ),
            _ => format!("DELETE {ignore} FROM {table} WHERE id = {a}"),
        }
    }
    /// Few values of few.
    fn array(&mut self, of: u64, quote: &str) -> String {
        let count = self.below(4);
        let values = (0..count).map(|_| format!("{quote}{}{quote}", self.below(of)));
        format!("[{}]", values.collect::<Vec<_>>().join(","))
    }
    fn document(&mut self) -> String {
        match self.below(10) {
            0 => "NULL".to_string(),
            1 => format!("'{{\"k\":{}}}'", self.below(8)),
            _ => {
                let (k, u) = (self.array(8, ""), self.array(24, "\""));
                format!("'{{\"k\":{k},\"u\":{u}}}'")
            }
        }
    }
    fn array_condition(&mut self) -> String {
        let (a, b) = (self.below(8), self.below(24));
        let (k, u) = (self.array(8, ""), self.array(24, "\""));
        match self.below(8) {
            0 => format!("id = {a}"),
            1 => format!("JSON_OVERLAPS(j->'$.k', '{k}')"),
            2 => format!("JSON_CONTAINS(j->'$.k', '{k}')"),
            3 => format!("JSON_OVERLAPS(j->'$.u', '{u}')"),
            4 => format!("v = {} AND {a} MEMBER OF (j->'$.k')", b % 4),
            5 => format!("'{b}' MEMBER OF (j->'$.u')"),
            _ => format!("{a} MEMBER OF (j->'$.k')"),
        }
    }
    fn arrays(&mut self) -> String {
        let (a, b) = (self.below(8), self.below(8));
        let (document, other) = (self.document(), self.document());
        let condition = self.array_condition();
        let verb = self.one_of(&["INSERT", "INSERT IGNORE", "REPLACE"]);
        match self.below(14) {
            0..4 => format!("SELECT * FROM t WHERE {condition}"),
            4 => "SELECT COUNT(*), SUM(JSON_LENGTH(j->'$.k')) FROM t".to_string(),
            5 => format!("SELECT * FROM t WHERE {condition} FOR UPDATE"),
            6 => format!("{verb} INTO t VALUES ({a}, {document}, {})", b % 4),
            7 => format!("{verb} INTO t VALUES ({a}, {document}, 1), ({b}, {other}, 2)"),
            8 => format!("UPDATE t SET j = {document} WHERE id = {a}"),
            9 => format!("UPDATE t SET id = {a} WHERE id = {b}"),
            10 => format!(
                "UPDATE t SET j = JSON_SET(j, '$.k', CAST('{}' AS JSON)) WHERE {condition}",
                self.array(8, "")
            ),
            11 => format!("UPDATE t SET v = v + 1 WHERE {condition}"),
            _ => format!("DELETE FROM t WHERE {condition}"),
        }
    }
    fn statement(&mut self) -> String {
        let table = self.one_of(&["t", "t", "w"]);
        let (a, b) = (self.below(8), self.below(8));
        let (row, other, condition) = (self.row(), self.row(), self.condition());
        let verb = self.one_of(&["INSERT", "INSERT IGNORE", "REPLACE"]);
        match self.below(16) {
            0..4 => format!("SELECT * FROM {table} WHERE {condition}"),
            4 => format!("SELECT COUNT(*), SUM(v) FROM {table}"),
            5 => format!("SELECT * FROM {table} WHERE {condition} FOR UPDATE"),
            6 => format!("SELECT id FROM {table} ORDER BY id DESC LIMIT 2"),
            7 => format!("{verb} INTO {table} VALUES {row}"),
            8 => format!("{verb} INTO {table} VALUES {row}, {other}"),
            9 => format!("INSERT INTO {table} VALUES {row} ON DUPLICATE KEY UPDATE v = v + 1"),
            10 => format!("UPDATE {table} SET u = {a} WHERE id = {b}"),
            11 => format!("UPDATE {table} SET id = {a}, k = {b} WHERE id = {b}"),
            12 => format!("UPDATE t SET k = {a} WHERE {condition}"),
            13 => format!("UPDATE {table} SET v = v + 1 WHERE {condition}"),
            14 => format!("INSERT IGNORE INTO w SELECT id, u, k, v FROM t WHERE {condition}"),
            _ => format!("DELETE FROM {table} WHERE {condition}"),
        }
    }
}

type Transaction = Vec<(String, Answer)>;

/// Runs a transaction, and returns its place among all that were committed; none for a victim.
fn transact(
    session: &mut Session,
    world: World,
    random: &mut Random,
    id: u64,
) -> Option<(u64, Transaction)> {
    let mut done = Vec::new();
    run(session, "BEGIN");
    for _ in 0..=random.below(4) {
        let gives_up = random.below(12) == 0;
        if gives_up {
            run(session, "SAVEPOINT s");
        }
        let sql = (world.statement)(random);
        let answer = run(session, &sql);
        if answer.error == DEADLOCK {
            return None;
        }
        if gives_up {
            run(session, "ROLLBACK TO s");
        } else {
            done.push((sql, answer));
        }
    }
    // So that everyone has a place.
    let noted = run(session, &format!("INSERT INTO journal VALUES ({id})"));
    assert_eq!((noted.error, noted.affected), (0, 1));
    run(session, "COMMIT");
    let placed = session.take_placed().expect("the journal is written");
    let seq = placed.wait(&Owner::new(0, Arc::new(Unattended)));
    Some((seq.expect("the fake disk does not fail"), done))
}

/// All sessions at the same time; returns what was committed, in order.
fn together(
    world: World,
    isolation: &str,
    log_in: &(impl Fn(u64) -> Session + Sync),
    seed: u64,
) -> BTreeMap<u64, Transaction> {
    let mut first = log_in(1);
    prepare(&mut first, world.setup);
    prepare(&mut first, &["CREATE TABLE journal (id INT PRIMARY KEY)"]);
    let play = |number: u64| {
        let mut session = log_in(2 + number);
        run(&mut session, "USE s");
        let level = format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}");
        prepare(&mut session, &[&level]);
        session.leave_commits();
        let mut random = Random(seed * 1_000_003 + number + 1);
        let ids = number * TRANSACTIONS..(number + 1) * TRANSACTIONS;
        ids.filter_map(|id| transact(&mut session, world, &mut random, id))
            .collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let play = &play;
        let players: Vec<_> = (0..SESSIONS)
            .map(|number| scope.spawn(move || play(number)))
            .collect();
        let played = players
            .into_iter()
            .flat_map(|player| player.join().unwrap());
        played.collect()
    })
}

/// How many worlds are tried. A rare order of events wants thousands: set `COHORT_SEEDS`.
fn seeds() -> u64 {
    let wanted = std::env::var("COHORT_SEEDS");
    wanted.map_or(4, |seeds| seeds.parse().expect("COHORT_SEEDS is a number"))
}

fn answer_as_one_after_the_other(world: World) {
    for seed in 1..=seeds() {
        let committed = together(world, "SERIALIZABLE", &server(), seed);
        assert!(committed.len() > 100, "hardly anything was committed");
        let mut alone = server()(1);
        prepare(&mut alone, world.setup);
        for (seq, transaction) in &committed {
            run(&mut alone, "BEGIN");
            for (sql, answer) in transaction {
                let serial = run(&mut alone, sql);
                // The rows before the one that has no parent are taken back, and with them the
                // locks on their keys: others may insert them, and then they are duplicates.
                let refused = [answer.error, serial.error];
                if refused.contains(&NO_PARENT) && refused.contains(&DUPLICATE) {
                    continue;
                }
                assert_eq!(*answer, serial, "seed {seed}, commit {seq}: {sql}");
            }
            run(&mut alone, "COMMIT");
        }
    }
}

#[test]
fn transactions_answer_as_one_after_the_other() {
    answer_as_one_after_the_other(PLAIN);
}

#[test]
fn with_foreign_keys_they_do_so_too() {
    answer_as_one_after_the_other(RELATED);
}

#[test]
fn with_multi_valued_indexes_they_do_so_too() {
    answer_as_one_after_the_other(ARRAYS);
}

/// After random changes a multi-valued index has what the rows make, and gives the rows that are found
/// without it.
#[test]
fn multi_valued_indexes_are_those_of_the_rows() {
    let levels = ["READ COMMITTED", "REPEATABLE READ"];
    for (seed, isolation) in (21..).zip(levels) {
        let log_in = server();
        let committed = together(ARRAYS, isolation, &log_in, seed);
        assert!(committed.len() > 100, "hardly anything was committed");
        let mut last = log_in(1000);
        run(&mut last, "USE s");
        let checked = run(&mut last, "CHECK TABLE t");
        let sound = checked.rows.iter().all(|row| row.contains("OK"));
        assert!(sound, "{isolation}: {:?}", checked.rows);
        for value in 0..24 {
            for condition in [
                format!("{value} MEMBER OF (j->'$.k')"),
                format!("'{value}' MEMBER OF (j->'$.u')"),
                format!("JSON_OVERLAPS(j->'$.k', '[{value}, {}]')", value / 2),
            ] {
                let by_index = run(&mut last, &format!("SELECT id FROM t WHERE {condition}"));
                let by_table = format!("SELECT id FROM t USE INDEX () WHERE {condition}");
                assert_eq!(
                    by_index,
                    run(&mut last, &by_table),
                    "{isolation}: {condition}"
                );
            }
        }
    }
}

/// Checks and cascades look at what is committed, whatever the transaction sees.
#[test]
fn no_isolation_level_leaves_orphans() {
    let levels = [
        "READ UNCOMMITTED",
        "READ COMMITTED",
        "REPEATABLE READ",
        "SERIALIZABLE",
    ];
    for (seed, isolation) in (11..).zip(levels) {
        let log_in = server();
        let committed = together(RELATED, isolation, &log_in, seed);
        let changed = committed.values().flatten();
        let changed = changed.filter(|(_, answer)| answer.affected > 0).count();
        assert!(changed > 50, "hardly anything was changed");
        let mut last = log_in(1000);
        run(&mut last, "USE s");
        for sql in ORPHANS {
            let orphans = run(&mut last, sql);
            assert_eq!(
                (orphans.error, orphans.rows.len()),
                (0, 0),
                "{isolation}: {sql}"
            );
        }
        for table in ["country", "city", "person", "post"] {
            let checked = run(&mut last, &format!("CHECK TABLE {table}"));
            let sound = checked.rows.iter().all(|row| row.contains("OK"));
            assert!(sound, "{isolation}: {:?}", checked.rows);
        }
    }
}
