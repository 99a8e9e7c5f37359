//! A bank under many threads: transfers, auditors, checkpoints and an index build at once.
//!
//! Whatever a snapshot or a locking scan sees, the sum of all accounts is the same. With a delta
//! of a few kilobytes, seals, merges, back-pressure and pruning happen all the time.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const ACCOUNTS: i64 = 40;
const START: i64 = 1_000;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64 % bound
    }
}

fn txn(engine: &Engine, owner: &Arc<Owner>, isolation: Isolation) -> Txn {
    let options = TxnOptions {
        isolation,
        read_only: false,
        lock_wait_ms: 60_000,
        table_lock_wait_ms: 60_000,
    };
    engine.begin(owner, options)
}

/// Moves money between two accounts, sometimes by way of a savepoint that is undone; sometimes an
/// account is closed and opened again under a new number.
fn transfer(engine: &Engine, owner: &Arc<Owner>, random: &mut Random) -> Result<(), TxnError> {
    let table = find(engine, "t");
    let isolation = [Isolation::ReadCommitted, Isolation::RepeatableRead];
    let mut txn = txn(engine, owner, isolation[random.below(2) as usize]);
    let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
    let amount = random.below(100);
    let balance = |row: Option<Row>| row.and_then(|(_, balance, _)| balance).unwrap_or(0);
    let old = balance(get(&mut txn, &table, from, FOR_UPDATE)?);
    if random.below(4) == 0 {
        let mark = txn.savepoint();
        delete(&mut txn, &table, to)?;
        update(&mut txn, &table, from, (from, Some(-1), Some(from)))?;
        txn.rollback_to(&mark);
    }
    if from == to {
        // The same balance in a row that is new.
        if delete(&mut txn, &table, from)? {
            insert(&mut txn, &table, (from, Some(old), Some(from)))?;
        }
    } else {
        let new = balance(get(&mut txn, &table, to, FOR_UPDATE)?);
        update(
            &mut txn,
            &table,
            from,
            (from, Some(old - amount), Some(from)),
        )?;
        update(&mut txn, &table, to, (to, Some(new + amount), Some(to)))?;
    }
    if random.below(10) == 0 {
        txn.rollback();
        return Ok(());
    }
    txn.commit("test").map(|_| ())
}

/// The sum of all accounts as one scan sees it, by the primary key or the index of balances.
fn sum(txn: &mut Txn, table: &Arc<Table>, by_index: bool, read: Read) -> Result<i64, TxnError> {
    let table = use_table(txn, table)?;
    let whole = KeyRange {
        low: Vec::new(),
        high: None,
    };
    let tree = if by_index {
        table.indexes[1].tree
    } else {
        table.rows
    };
    let mut scan = txn.scan(tree, whole, by_index, read);
    let (mut batch, mut value, mut sum) = (Batch::default(), Vec::new(), 0);
    loop {
        scan.next(txn, &mut batch, 7)?;
        if batch.is_empty() {
            return Ok(sum);
        }
        for place in 0..batch.len() {
            let (key, image) = batch.get(place);
            if by_index {
                let start = key::parts_length(&table, &table.indexes[1], 1, key).unwrap();
                assert!(
                    txn.get(table.rows, &key[start..], read, &mut value)?,
                    "a lost row"
                );
                sum += row_of(&table, &value).1.unwrap_or(0);
            } else {
                sum += row_of(&table, image).1.unwrap_or(0);
            }
        }
    }
}

fn audit(engine: &Engine, owner: &Arc<Owner>, random: &mut Random) -> Result<(), TxnError> {
    let table = find(engine, "t");
    let mut txn = txn(engine, owner, Isolation::RepeatableRead);
    let read = match random.below(8) {
        0 => Read::Locking(LockMode::Shared, OnConflict::Wait),
        _ => Read::Plain,
    };
    for round in 0..=random.below(3) {
        let by_index = random.below(2) == 0;
        let sum = sum(&mut txn, &table, by_index, read)?;
        assert_eq!(
            sum,
            ACCOUNTS * START,
            "round {round}, {read:?}, by index: {by_index}"
        );
    }
    txn.commit("test").map(|_| ())
}

#[test]
fn the_sum_of_all_accounts_stays() {
    let disk = disk();
    let options = EngineOptions {
        delta_bytes: 6_000,
        ..options()
    };
    let engine = try_open(&disk.env(), options).unwrap();
    let table = create(&engine);
    let mut fill = begin(&engine, Isolation::ReadCommitted);
    for id in 0..ACCOUNTS {
        insert(&mut fill, &table, (id, Some(START), Some(id))).unwrap();
    }
    fill.commit("test").unwrap();
    let (done, audits) = (AtomicBool::new(false), AtomicUsize::new(0));
    let retried = |result: Result<(), TxnError>| match result {
        Ok(()) | Err(TxnError::Deadlock | TxnError::TableChanged) => {}
        Err(error) => panic!(
            "{error:?}; waits {:?}; locks {:?}",
            engine.lock_waits(),
            engine.locks()
        ),
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|thread| {
                let engine = &engine;
                scope.spawn(move || {
                    let (owner, mut random) = (owner(thread), Random(thread));
                    for _ in 0..300 {
                        retried(transfer(engine, &owner, &mut random));
                    }
                })
            })
            .collect();
        for thread in 4..6 {
            let (engine, done, audits) = (&engine, &done, &audits);
            scope.spawn(move || {
                let (owner, mut random) = (owner(thread), Random(thread));
                while !done.load(Ordering::Acquire) {
                    retried(audit(engine, &owner, &mut random));
                    audits.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut altered = Table::clone(&table);
        altered.indexes.push(index(&engine, "again", 1, false));
        let alter = SchemaChange::AlterInPlace {
            old: Arc::clone(&table),
            new: altered,
            others: Others::default(),
        };
        change(&engine, alter).unwrap();
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Release);
    });
    assert!(audits.load(Ordering::Relaxed) > 0);
    assert!(engine.stats().checkpoints > 3, "{:?}", engine.stats());
    assert_eq!(engine.locks(), [], "all locks are gone");
    let table = find(&engine, "t");
    assert_eq!(table.indexes.len(), 3);
    check_indexes(&engine, &table);
    assert_eq!(engine.row_estimate(&table), ACCOUNTS as u64);
    std::mem::forget(engine);
    let engine = open(&disk.crash(9).env());
    let mut last = begin(&engine, Isolation::RepeatableRead);
    let total = sum(&mut last, &find(&engine, "t"), false, Read::Plain).unwrap();
    assert_eq!(total, ACCOUNTS * START, "after a crash");
}
