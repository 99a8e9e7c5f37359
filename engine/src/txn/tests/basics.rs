//! Snapshots, own changes, duplicates, savepoints, checkpoints and restarts.

use super::*;

#[test]
fn a_transaction_reads_what_it_wrote_and_others_do_not() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    insert(&mut txn, &t, (1, Some(10), None)).unwrap();
    let own = Some((1, Some(10), None));
    assert_eq!(get(&mut txn, &t, 1, Read::Plain).unwrap(), own);
    assert_eq!(all_rows(&engine, &t), []);
    let seq = txn.commit("test").unwrap();
    assert!(seq.is_some());
    assert_eq!(all_rows(&engine, &t), [(1, Some(10), None)]);
}

#[test]
fn the_first_plain_read_takes_the_snapshot_whatever_it_finds() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    let add = |id| {
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        insert(&mut txn, &t, (id, None, None)).unwrap();
        txn.commit("test").unwrap();
    };
    for (first, found) in [(1, true), (99, false)] {
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        let own = (1, None, None);
        insert(&mut txn, &t, own).unwrap();
        let row = get(&mut txn, &t, first, Read::Plain).unwrap();
        assert_eq!(row, found.then_some(own));
        add(first + 1);
        assert_eq!(get(&mut txn, &t, first + 1, Read::Plain).unwrap(), None);
    }
}

#[test]
fn snapshots_hold_through_updates_and_checkpoints() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for id in 0..100 {
        insert(&mut txn, &t, (id, Some(id), Some(id))).unwrap();
    }
    txn.commit("test").unwrap();
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.take_snapshot();
    for round in 0..3 {
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        for id in 0..100 {
            update(
                &mut txn,
                &t,
                id,
                (id, Some(id + 1000 * (round + 1)), Some(id)),
            )
            .unwrap();
        }
        delete(&mut txn, &t, round).unwrap();
        txn.commit("test").unwrap();
        engine.checkpoint().unwrap();
        for id in 0..100 {
            let row = get(&mut old, &t, id, Read::Plain).unwrap();
            assert_eq!(row, Some((id, Some(id), Some(id))), "round {round}");
        }
    }
    assert_eq!(all_rows(&engine, &t).len(), 97);
    assert_eq!(engine.row_estimate(&t), 97);
    check_indexes(&engine, &t);
}

#[test]
fn duplicates_name_their_index_and_write_nothing() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    insert(&mut txn, &t, (1, None, Some(5))).unwrap();
    insert(&mut txn, &t, (2, None, None)).unwrap();
    insert(&mut txn, &t, (3, None, None)).unwrap();
    let duplicate = |result: Result<(), TxnError>| match result {
        Err(TxnError::DuplicateKey { index }) => index,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        duplicate(insert(&mut txn, &t, (1, None, Some(6)))),
        "PRIMARY"
    );
    assert_eq!(duplicate(insert(&mut txn, &t, (4, None, Some(5)))), "u");
    let new = image(&t, (4, None, Some(5)));
    let key = txn.find_duplicate(&t, &new, "u").unwrap();
    assert_eq!(key, Some(key_of(&t, 0, 1)));
    // Moving a row keeps its own unique value.
    assert!(update(&mut txn, &t, 1, (9, None, Some(5))).unwrap());
    txn.commit("test").unwrap();
    let rows = all_rows(&engine, &t);
    assert_eq!(rows, [(2, None, None), (3, None, None), (9, None, Some(5))]);
    check_indexes(&engine, &t);
}

#[test]
fn a_savepoint_undoes_rows_and_entries() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    insert(&mut txn, &t, (1, Some(1), Some(1))).unwrap();
    let mark = txn.savepoint();
    update(&mut txn, &t, 1, (1, Some(2), Some(2))).unwrap();
    insert(&mut txn, &t, (2, Some(1), Some(1))).unwrap();
    delete(&mut txn, &t, 1).unwrap();
    txn.rollback_to(&mark);
    txn.commit("test").unwrap();
    assert_eq!(all_rows(&engine, &t), [(1, Some(1), Some(1))]);
    check_indexes(&engine, &t);
}

#[test]
fn values_of_rows_that_did_not_come_are_not_given_again() {
    /// Takes a value for a row that is not inserted after all.
    type Fruitless = fn(&Engine, &Arc<Table>);
    let ways: [Fruitless; 3] = [
        |engine, t| {
            let mut txn = begin(engine, Isolation::ReadCommitted);
            let id = engine.auto_increment(t, 1) as i64;
            insert(&mut txn, t, (id, None, None)).unwrap();
        },
        |engine, t| {
            let mut txn = begin(engine, Isolation::ReadCommitted);
            let mark = txn.savepoint();
            let id = engine.auto_increment(t, 1) as i64;
            insert(&mut txn, t, (id, None, None)).unwrap();
            txn.rollback_to(&mark);
        },
        |engine, t| {
            let mut txn = begin(engine, Isolation::ReadCommitted);
            let id = engine.auto_increment(t, 1) as i64;
            assert!(insert(&mut txn, t, (id, Some(1), Some(1))).is_err());
        },
    ];
    for fruitless in ways {
        let disk = disk();
        let engine = open(&disk.env());
        let t = create(&engine);
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        let id = engine.auto_increment(&t, 1) as i64;
        insert(&mut txn, &t, (id, Some(1), Some(1))).unwrap();
        txn.commit("test").unwrap();
        fruitless(&engine, &t);
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        update(&mut txn, &t, 1, (1, Some(2), Some(1))).unwrap();
        txn.commit("test").unwrap();
        // A crash: nothing is closed.
        std::mem::forget(engine);
        let disk = disk.crash(7);
        let engine = open(&disk.env());
        let t = find(&engine, "t");
        assert_eq!(engine.auto_increment_peek(&t), 3);
        assert_eq!(all_rows(&engine, &t), [(1, Some(2), Some(1))]);
    }
}

#[test]
fn everything_is_there_after_a_restart() {
    let disk = disk();
    let mut rows = Vec::new();
    {
        let engine = open(&disk.env());
        let t = create(&engine);
        let hidden = create_table(&engine, "hidden", false);
        for id in 1..=50 {
            let mut txn = begin(&engine, Isolation::ReadCommitted);
            let next = engine.auto_increment(&t, 1);
            assert_eq!(next, id);
            insert(&mut txn, &t, (id as i64, Some(1), Some(-(id as i64)))).unwrap();
            insert(&mut txn, &hidden, (7, Some(id as i64), None)).unwrap();
            txn.commit("test").unwrap();
            if id == 20 {
                engine.checkpoint().unwrap();
            }
        }
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        delete(&mut txn, &t, 50).unwrap();
        txn.commit("test").unwrap();
        rows.extend(keyed_rows(&engine, &hidden));
        // A crash: nothing is closed.
        std::mem::forget(engine);
    }
    let disk = disk.crash(7);
    for round in 0..3 {
        let engine = open(&disk.env());
        let t = find(&engine, "t");
        let hidden = find(&engine, "hidden");
        assert_eq!(all_rows(&engine, &t).len(), 49);
        assert_eq!(engine.row_estimate(&t), 49);
        assert_eq!(engine.auto_increment_peek(&t), 51, "also after a delete");
        assert_eq!(keyed_rows(&engine, &hidden), rows);
        check_indexes(&engine, &t);
        check_indexes(&engine, &hidden);
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        insert(&mut txn, &hidden, (8, None, Some(round))).unwrap();
        txn.commit("test").unwrap();
        let now = keyed_rows(&engine, &hidden);
        assert_eq!(now.len(), rows.len() + 1, "a hidden key came twice");
        rows = now;
        engine.close().unwrap();
    }
}

#[test]
fn a_big_transaction_is_whole_for_every_reader() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..5 {
                let mut txn = begin(&engine, Isolation::ReadCommitted);
                for id in 0..400 {
                    insert(&mut txn, &t, (round * 400 + id, Some(1), None)).unwrap();
                }
                txn.commit("test").unwrap();
                if round == 2 {
                    engine.checkpoint().unwrap();
                }
            }
            done.store(true, std::sync::atomic::Ordering::Release);
        });
        while !done.load(std::sync::atomic::Ordering::Acquire) {
            let count = all_rows(&engine, &t).len();
            assert!(count.is_multiple_of(400), "{count} rows");
        }
    });
    assert_eq!(all_rows(&engine, &t).len(), 2000);
    check_indexes(&engine, &t);
}

#[test]
fn too_large_a_transaction_is_refused() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    engine.set_max_transaction_bytes(10_000);
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    let refused = (0..1000).find_map(|id| insert(&mut txn, &t, (id, None, None)).err());
    assert!(matches!(refused, Some(TxnError::TooLarge)), "{refused:?}");
}

#[test]
fn too_many_locks_roll_the_transaction_back() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for id in 0..1000 {
        insert(&mut txn, &t, (id, None, None)).unwrap();
    }
    txn.commit("test").unwrap();
    engine.set_max_lock_bytes(50_000);
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    update(&mut txn, &t, 5, (5, Some(1), None)).unwrap();
    let refused = (0..1000).find_map(|id| get(&mut txn, &t, id, FOR_UPDATE).err());
    assert!(matches!(refused, Some(TxnError::LockTableFull)));
    assert_eq!(engine.locks(), [], "all memory is given back");
    drop(txn);
    let mut other = begin(&engine, Isolation::ReadCommitted);
    let row = get(&mut other, &t, 5, Read::Plain).unwrap();
    assert_eq!(row, Some((5, None, None)), "and all changes are undone");
    // A range that is there already is no more; ranges apart from each other are many.
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for _ in 0..2000 {
        get(&mut txn, &t, 2000, FOR_UPDATE).unwrap();
    }
    drop(txn);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let refused = (2000..4000).find_map(|id| get(&mut txn, &t, id, FOR_UPDATE).err());
    assert!(matches!(refused, Some(TxnError::LockTableFull)));
}

#[test]
fn a_full_delta_is_checkpointed_and_writers_go_on() {
    let disk = disk();
    let mut options = options();
    options.delta_bytes = 20_000;
    let engine = try_open(&disk.env(), options).unwrap();
    let t = create(&engine);
    for id in 0..600 {
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        insert(&mut txn, &t, (id, Some(id % 7), Some(id))).unwrap();
        txn.commit("test").unwrap();
    }
    assert!(engine.stats().checkpoints > 1);
    assert_eq!(all_rows(&engine, &t).len(), 600);
    check_indexes(&engine, &t);
    drop(engine);
    let engine = open(&disk.env());
    assert_eq!(all_rows(&engine, &find(&engine, "t")).len(), 600);
}

#[test]
fn a_hot_row_makes_the_log_long_but_not_recovery() {
    let disk = disk();
    let mut options = options();
    options.delta_bytes = 10_000;
    let engine = try_open(&disk.env(), options).unwrap();
    let t = create(&engine);
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    insert(&mut txn, &t, (1, None, None)).unwrap();
    txn.commit("test").unwrap();
    let begun = std::time::Instant::now();
    let mut n = 0;
    while engine.stats().checkpoints == 0 {
        n += 1;
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        update(&mut txn, &t, 1, (1, Some(n), None)).unwrap();
        txn.commit("test").unwrap();
        assert!(begun.elapsed().as_secs() < 60, "no checkpoint");
    }
    assert!(
        engine.stats().delta_bytes < 10_000,
        "the row's versions are pruned"
    );
    assert_eq!(all_rows(&engine, &t), [(1, Some(n), None)]);
}

#[test]
fn a_second_engine_on_the_directory_is_refused() {
    let disk = disk();
    let env = disk.env();
    let engine = open(&env);
    let second = try_open(&env, options()).err().expect("refused");
    assert!(second.0.contains("another server"), "{second}");
    drop(engine);
    drop(open(&env));
}

#[test]
fn a_locking_read_sees_the_newest_and_a_plain_one_its_snapshot() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    insert(&mut txn, &t, (1, Some(1), None)).unwrap();
    txn.commit("test").unwrap();
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.take_snapshot();
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    update(&mut txn, &t, 1, (1, Some(2), None)).unwrap();
    txn.commit("test").unwrap();
    let plain = get(&mut old, &t, 1, Read::Plain).unwrap();
    assert_eq!(plain, Some((1, Some(1), None)));
    let locked = get(&mut old, &t, 1, FOR_UPDATE).unwrap();
    assert_eq!(locked, Some((1, Some(2), None)));
    assert!(!old.read_newer(), "it is durable");
    engine.wait_for_reads(&old.owner).unwrap();
}
