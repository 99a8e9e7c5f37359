//! Transactions per second of the engine alone, by threads: single-row inserts, updates of random
//! rows, updates of one hot row, and plain gets by primary key.
//!
//! `cargo run --release -p cohort-engine --example txn_bench -- DIR [SECONDS] [ROWS] [LOAD]`
//!
//! With 0 seconds it only loads and then ends like a killed process; run again on the same
//! directory it tells how long recovery took. DELTA_MIB in the environment changes when
//! checkpoints begin.

use cohort_engine::{
    env::Env,
    txn::{
        DdlStatement, Engine, EngineOptions, Isolation, LockMode, OnConflict, Owner, Read, Related,
        SchemaChange, Txn, TxnOptions, Unattended,
    },
    types::{
        Collation, Column, ColumnType, Index, IndexPart, Table, Value, key, row, schema::Database,
    },
};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// sysbench's table.
fn table(engine: &Engine) -> Table {
    let mut id = Column::new("id", ColumnType::Int);
    id.nullable = false;
    let mut k = Column::new("k", ColumnType::Int);
    k.nullable = false;
    let part = |column| IndexPart {
        column,
        prefix: None,
        desc: false,
        trimmed: false,
    };
    let index = |tree, name: &str, column, unique| Index {
        tree,
        name: name.to_owned(),
        unique,
        parts: vec![part(column)],
        comment: String::new(),
        visible: true,
        using_btree: false,
        generated: false,
    };
    let rows = engine.new_id();
    Table {
        id: engine.new_id(),
        database: "bench".to_owned(),
        name: "t".to_owned(),
        columns: vec![
            id,
            k,
            Column::new("c", ColumnType::Char(120)),
            Column::new("pad", ColumnType::Char(60)),
        ],
        rows,
        primary: Some(index(rows, "PRIMARY", 0, true)),
        indexes: vec![index(engine.new_id(), "k", 1, false)],
        since: 0,
        built: Vec::new(),
        collation: Collation::Utf8mb40900AiCi,
        comment: String::new(),
        auto_increment_min: 0,
        map: Default::default(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        fulltext: Vec::new(),
        created: 0,
        options: String::new(),
    }
}

fn image(table: &Table, id: i64, k: i64) -> Vec<u8> {
    let mut image = Vec::with_capacity(200);
    let text = |length| Value::Bytes(vec![b'x'; length]);
    let values = [Value::Int(id), Value::Int(k), text(119), text(59)];
    row::encode(table, &values, &mut image);
    image
}

fn key_of(table: &Table, id: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let part = IndexPart {
        column: 0,
        prefix: None,
        desc: false,
        trimmed: false,
    };
    key::encode_part(&table.columns[0], part, &Value::Int(id), &mut bytes);
    bytes
}

fn begin(engine: &Engine, owner: &Arc<Owner>) -> Txn {
    let options = TxnOptions {
        isolation: Isolation::RepeatableRead,
        read_only: false,
        lock_wait_ms: 50_000,
        table_lock_wait_ms: 60_000,
    };
    engine.begin(owner, options)
}

const FOR_UPDATE: Read = Read::Locking(LockMode::Exclusive, OnConflict::Wait);

fn update(txn: &mut Txn, table: &Arc<Table>, id: i64, k: i64) {
    let key = key_of(table, id);
    let mut before = Vec::new();
    txn.use_table(table, true).expect("use");
    if txn
        .get(table.rows, &key, FOR_UPDATE, &mut before)
        .expect("get")
    {
        // Its reply would be the same for either version, as an executor finds out.
        txn.disregard_read();
        let after = image(table, id, k);
        txn.update(table, &key, &before, &after).expect("update");
    }
}

struct Bench {
    engine: Engine,
    table: Arc<Table>,
    rows: i64,
    next: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
enum Load {
    Insert,
    Update,
    Hot,
    Get,
}

impl Bench {
    fn step(&self, load: Load, owner: &Arc<Owner>, random: &mut u64, value: &mut Vec<u8>) {
        *random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let id = (*random >> 33) as i64 % self.rows;
        let mut txn = begin(&self.engine, owner);
        match load {
            Load::Insert => {
                let id = self.rows + self.next.fetch_add(1, Relaxed) as i64;
                txn.use_table(&self.table, true).expect("use");
                let image = image(&self.table, id, id * 7 % 1_000_003);
                txn.insert(&self.table, &image, LockMode::Shared)
                    .expect("insert");
            }
            Load::Update => update(&mut txn, &self.table, id, id),
            Load::Hot => update(&mut txn, &self.table, 0, id),
            Load::Get => {
                txn.use_table(&self.table, true).expect("use");
                let key = key_of(&self.table, id);
                txn.get(self.table.rows, &key, Read::Plain, value)
                    .expect("get");
            }
        }
        txn.commit("bench").expect("commit");
    }
    fn run(&self, load: Load, threads: u64, seconds: u64) {
        let stop = AtomicBool::new(false);
        let done = AtomicU64::new(0);
        let before = self.engine.stats();
        let begin = Instant::now();
        thread::scope(|scope| {
            for thread in 0..threads {
                let (stop, done) = (&stop, &done);
                scope.spawn(move || {
                    let owner = Owner::new(thread, Arc::new(Unattended));
                    let mut random = thread * 7_919 + 1;
                    let mut value = Vec::new();
                    let mut count = 0;
                    while !stop.load(Relaxed) {
                        self.step(load, &owner, &mut random, &mut value);
                        count += 1;
                    }
                    done.fetch_add(count, Relaxed);
                });
            }
            thread::sleep(Duration::from_secs(seconds));
            stop.store(true, Relaxed);
        });
        let rate = done.load(Relaxed) as f64 / begin.elapsed().as_secs_f64();
        let after = self.engine.stats();
        let groups = after.log.groups - before.log.groups;
        println!(
            "{load:?} {threads:4} threads: {rate:9.0}/s, {groups} groups, delta {} KiB, {} delayed",
            after.delta_bytes >> 10,
            after.delayed_commits - before.delayed_commits
        );
    }
}

/// Creates and fills the table, unless it is there.
fn load(engine: &Engine, rows: i64) -> Arc<Table> {
    if let Some(table) = engine.dictionary().table("bench", "t") {
        println!("{} rows are there", engine.row_estimate(table));
        return Arc::clone(table);
    }
    let owner = Owner::new(1000, Arc::new(Unattended));
    let ddl = |change| {
        let statement = DdlStatement {
            database: "bench".to_owned(),
            text: "CREATE".to_owned(),
            reading: cohort_engine::log::Reading::default(),
            foreign_key_checks: true,
            threads: 1,
        };
        engine
            .change_schema(&owner, change, &Related::default(), &statement, 1000, None)
            .expect("ddl");
    };
    ddl(SchemaChange::PutDatabase(Database {
        name: "bench".to_owned(),
        collation: Collation::Utf8mb40900AiCi,
    }));
    ddl(SchemaChange::CreateTable(table(engine)));
    let table = Arc::clone(engine.dictionary().table("bench", "t").expect("the table"));
    let start = Instant::now();
    for first in (0..rows).step_by(1000) {
        let mut txn = begin(engine, &owner);
        txn.use_table(&table, true).expect("use");
        for id in first..(first + 1000).min(rows) {
            let image = image(&table, id, id * 7 % 1_000_003);
            txn.insert(&table, &image, LockMode::Shared)
                .expect("insert");
        }
        txn.commit("bench").expect("commit");
    }
    let rate = rows as f64 / start.elapsed().as_secs_f64();
    println!("loaded {rate:.0} rows/s");
    table
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().expect("a directory"));
    let mut number = |default: u64| {
        let argument = arguments.next();
        argument.map_or(default, |text| text.parse().expect("a number"))
    };
    let (seconds, rows) = (number(3), number(1_000_000) as i64);
    let only = arguments.next();
    let mut options = EngineOptions::default();
    if let Some(mib) = std::env::var("DELTA_MIB")
        .ok()
        .and_then(|text| text.parse::<usize>().ok())
    {
        options.delta_bytes = mib << 20;
    }
    let start = Instant::now();
    let engine = Engine::open(&Env::real(), &dir, options, &mut |_| {});
    let engine = engine.unwrap_or_else(|error| panic!("{error}"));
    println!("opened in {:.2} s", start.elapsed().as_secs_f64());
    let table = load(&engine, rows);
    if seconds == 0 {
        std::process::exit(0);
    }
    let bench = Bench {
        engine,
        table,
        rows,
        next: AtomicU64::new(0),
    };
    for load in [Load::Get, Load::Insert, Load::Update, Load::Hot] {
        if only
            .as_ref()
            .is_some_and(|only| *only != format!("{load:?}"))
        {
            continue;
        }
        for threads in [1, 16, 64] {
            bench.run(load, threads, seconds);
        }
    }
}
