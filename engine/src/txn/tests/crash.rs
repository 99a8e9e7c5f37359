//! Crashes at every operation of the disk.
//!
//! A run of commits, schema changes, rotations and checkpoints is cut short after the n-th
//! operation of the disk, for every n; what the disk then has, by a seed, is opened again. The
//! rows must be those of all acknowledged transactions, plus perhaps the one that was under way,
//! whole or absent. Some of these openings are cut short as well, and opened once more.

use super::*;
use crate::env::fake::Disk;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

type Model = BTreeMap<i64, Row>;

/// What was promised, and what was under way.
struct Journal {
    acknowledged: Model,
    attempted: Model,
    index_built: bool,
}

/// Transaction `n` of the run, on the model.
fn change_model(model: &mut Model, n: i64) {
    for id in [n, n + 100, n + 200] {
        model.insert(id, (id, Some(n), Some(id)));
    }
    model.remove(&(n - 3));
    if let Some(row) = model.get_mut(&(n + 98)) {
        row.1 = Some(-n);
    }
}

fn change_rows(engine: &Engine, n: i64) -> Result<(), TxnError> {
    let dictionary = engine.dictionary();
    let Some(t) = dictionary.table("test", "t") else {
        return Err(TxnError::TableChanged);
    };
    let mut txn = begin(engine, Isolation::RepeatableRead);
    for id in [n, n + 100, n + 200] {
        insert(&mut txn, t, (id, Some(n), Some(id)))?;
    }
    delete(&mut txn, t, n - 3)?;
    if let Some((id, _, u)) = get(&mut txn, t, n + 98, FOR_UPDATE)? {
        update(&mut txn, t, n + 98, (id, Some(-n), u))?;
    }
    txn.commit("test").map(|_| ())
}

const ROUNDS: i64 = 8;

/// Runs until the disk says no.
fn run(engine: &Engine, journal: &mut Journal) -> Result<(), TxnError> {
    for n in 0..ROUNDS {
        change_model(&mut journal.attempted, n);
        change_rows(engine, n)?;
        journal.acknowledged = journal.attempted.clone();
        match n {
            2 | 6 => engine.checkpoint()?,
            3 => engine.log().rotate()?,
            4 => {
                let t = find(engine, "t");
                let mut new = Table::clone(&t);
                new.indexes.push(index(engine, "a2", 1, false));
                let alter = SchemaChange::AlterInPlace {
                    old: Arc::clone(&t),
                    new,
                    others: Others::default(),
                };
                change(engine, alter)?;
                journal.index_built = true;
            }
            _ => {}
        }
    }
    Ok(())
}

fn rows(engine: &Engine) -> Model {
    let t = find(engine, "t");
    check_indexes(engine, &t);
    let rows = all_rows(engine, &t);
    rows.into_iter().map(|row| (row.0, row)).collect()
}

fn check(engine: &Engine, journal: &Journal, what: &str) -> Model {
    let rows = rows(engine);
    assert!(
        rows == journal.acknowledged || rows == journal.attempted,
        "{what}: {rows:?}, acknowledged {:?}",
        journal.acknowledged
    );
    let indexes = find(engine, "t").indexes.len();
    assert!(
        indexes == 3 || !journal.index_built && indexes == 2,
        "{what}: {indexes} indexes"
    );
    rows
}

/// The disk with the table, before the run.
fn prepared(seed: u64) -> Disk {
    let disk = Disk::new(seed);
    let engine = open(&disk.env());
    create(&engine);
    engine.close().unwrap();
    disk
}

fn crash_after(operation: u64, seed: u64) -> bool {
    let disk = prepared(seed);
    disk.crash_at(disk.operations() + operation);
    let mut journal = Journal {
        acknowledged: Model::new(),
        attempted: Model::new(),
        index_built: false,
    };
    let mut finished = false;
    if let Ok(engine) = try_open(&disk.env(), options()) {
        finished = run(&engine, &mut journal).is_ok();
    }
    let what = format!("operation {operation}, seed {seed}");
    let mut disk = disk.crash(seed ^ operation);
    // Now and then recovery is cut short too.
    if operation.is_multiple_of(3) {
        disk.crash_at(disk.operations() + operation % 29);
        drop(try_open(&disk.env(), options()));
        disk = disk.crash(seed + operation);
    }
    let engine = try_open(&disk.env(), options()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let rows = check(&engine, &journal, &what);
    // It works on, and what it has survives the next restart.
    change_rows(&engine, 50).unwrap();
    let mut expected = rows;
    change_model(&mut expected, 50);
    engine.close().unwrap();
    let engine = open(&disk.env());
    assert_eq!(self::rows(&engine), expected, "{what}, again");
    finished
}

#[test]
fn every_crash_point_recovers_what_was_acknowledged() {
    let mut operation = 0;
    loop {
        let seed = operation % 5;
        if crash_after(operation, seed) {
            break;
        }
        // Every point near the beginning, then with growing steps that visit all residues.
        operation += 1 + operation / 100;
    }
    assert!(operation > 60, "the run is too short: {operation}");
}

#[test]
fn a_failed_fsync_ends_writes_but_not_reads() {
    let disk = prepared(3);
    let engine = open(&disk.env());
    change_rows(&engine, 0).unwrap();
    // Some other thread's call may get in between; then the next commit is tried.
    let failed = (1..100).find_map(|n| {
        disk.fail_at(disk.operations() + 1, std::io::ErrorKind::Other);
        change_rows(&engine, n * 1000).err()
    });
    assert!(matches!(failed, Some(TxnError::Storage(_))), "{failed:?}");
    let later = change_rows(&engine, 30);
    assert!(
        matches!(later, Err(TxnError::Storage(_))),
        "never tried again"
    );
    assert!(rows(&engine).contains_key(&0));
}

#[test]
fn writing_goes_on_when_a_full_disk_has_room_again() {
    let disk = prepared(4);
    let env = disk.env();
    let notices = Arc::new(AtomicU64::new(0));
    let (there_is_room, heard) = (disk.clone(), Arc::clone(&notices));
    // The log waits for room, so somebody must make it.
    env.on_notice(move |_, line| {
        heard.fetch_add(1, Ordering::SeqCst);
        if line.contains("until there is room") {
            there_is_room.set_capacity(usize::MAX);
        }
    });
    let engine = open(&env);
    change_rows(&engine, 0).unwrap();
    for full in 0..3 {
        for n in 1..200 {
            change_rows(&engine, (full * 300 + n) * 1000).unwrap();
        }
        disk.set_capacity(0);
        let result = engine.checkpoint();
        assert!(matches!(result, Err(TxnError::Full(_))), "{result:?}");
        let before = rows(&engine);
        assert!(before.contains_key(&0), "reads go on");
        for n in 1..20 {
            let result = change_rows(&engine, (full * 300 + 200 + n) * 1000);
            assert!(
                matches!(result, Ok(()) | Err(TxnError::Full(_))),
                "{result:?}"
            );
        }
        disk.set_capacity(usize::MAX);
        engine.checkpoint().unwrap();
        change_rows(&engine, (full * 300 + 250) * 1000).unwrap();
        let after = rows(&engine);
        for (id, row) in &before {
            assert_eq!(after.get(id), Some(row), "row {id} of {}", before.len());
        }
    }
    assert!(
        notices.load(Ordering::SeqCst) >= 6,
        "failures and their ends are told"
    );
    let before = rows(&engine);
    drop(engine);
    assert_eq!(rows(&open(&disk.env())), before);
}

/// A checkpoint whose every operation fails in turn: nothing is lost, reads go on, and a restart
/// has everything.
#[test]
fn a_failed_checkpoint_leaves_everything_readable() {
    let mut operation = 0;
    loop {
        let disk = prepared(5);
        let engine = open(&disk.env());
        for n in 0..5 {
            change_rows(&engine, n).unwrap();
        }
        engine.checkpoint().unwrap();
        for n in 5..10 {
            change_rows(&engine, n).unwrap();
        }
        let before = rows(&engine);
        // Of these only the checkpoint tells.
        let next = engine.auto_increment(&find(&engine, "t"), 1_000) + 1_000;
        disk.fail_at(
            disk.operations() + operation,
            std::io::ErrorKind::StorageFull,
        );
        let failed = engine.checkpoint().is_err();
        disk.fail_at(u64::MAX, std::io::ErrorKind::Other);
        assert_eq!(rows(&engine), before, "operation {operation}");
        if failed {
            engine.checkpoint().expect("it is tried again");
            assert_eq!(rows(&engine), before, "operation {operation}, tried again");
        }
        drop(engine);
        let engine = open(&disk.env());
        assert_eq!(rows(&engine), before, "operation {operation}, restarted");
        let known = engine.auto_increment_peek(&find(&engine, "t"));
        assert_eq!(known, next, "operation {operation}, restarted");
        if !failed && operation > 40 {
            break;
        }
        operation += 1;
    }
}
