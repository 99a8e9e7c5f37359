//! Prepared transactions: what others see of them, and what crashes leave.

use super::*;
use crate::types::Xid;
use std::collections::BTreeMap;

fn xid(n: i64) -> Xid {
    Xid::new(7, n.to_string().as_bytes(), b"branch").unwrap()
}

/// Begins in a session of its own, which ends with the preparation.
fn prepare(
    engine: &Engine,
    n: i64,
    work: impl FnOnce(&mut Txn) -> Result<(), TxnError>,
) -> Result<(), TxnError> {
    let claim = engine.claim_xid(&xid(n)).expect("a new name");
    let mut txn = begin(engine, Isolation::RepeatableRead);
    work(&mut txn)?;
    txn.prepare(&claim, "me@here", "test")
}

fn end(engine: &Engine, n: i64, commit: bool) -> Result<bool, TxnError> {
    engine.end_prepared(&owner(77), &xid(n), commit, "test", 60_000)
}

fn names(engine: &Engine) -> Vec<Xid> {
    engine.prepared().into_iter().map(|info| info.xid).collect()
}

/// Whether the row is locked, by somebody else than the one who asks.
fn is_locked(engine: &Engine, table: &Arc<Table>, id: i64) -> bool {
    let mut txn = begin(engine, Isolation::ReadCommitted);
    let nowait = Read::Locking(LockMode::Exclusive, OnConflict::Fail);
    match get(&mut txn, table, id, nowait) {
        Ok(_) => false,
        Err(TxnError::Nowait) => true,
        Err(error) => panic!("{error:?}"),
    }
}

/// Rows 1 to 3, and a prepared transaction 1 that changes 1, deletes 2 and inserts 4.
fn with_one_prepared(engine: &Engine) -> Arc<Table> {
    let t = create(engine);
    let mut txn = begin(engine, Isolation::RepeatableRead);
    for id in 1..=3 {
        insert(&mut txn, &t, (id, Some(id), Some(id))).unwrap();
    }
    txn.commit("test").unwrap();
    prepare(engine, 1, |txn| {
        update(txn, &t, 1, (1, Some(10), Some(100)))?;
        delete(txn, &t, 2)?;
        insert(txn, &t, (4, None, Some(4)))
    })
    .unwrap();
    t
}

const BEFORE: [Row; 3] = [
    (1, Some(1), Some(1)),
    (2, Some(2), Some(2)),
    (3, Some(3), Some(3)),
];
const AFTER: [Row; 3] = [
    (1, Some(10), Some(100)),
    (3, Some(3), Some(3)),
    (4, None, Some(4)),
];

/// What is prepared is seen by nobody and locked for everybody.
fn check_prepared(engine: &Engine, t: &Arc<Table>) {
    assert_eq!(names(engine), [xid(1)]);
    assert_eq!(all_rows(engine, t), BEFORE);
    check_indexes(engine, t);
    for (id, locked) in [(1, true), (2, true), (3, false), (4, true), (5, false)] {
        assert_eq!(is_locked(engine, t, id), locked, "row {id}");
    }
    // The new and the old value of the unique column are taken, too.
    let options = TxnOptions {
        isolation: Isolation::ReadCommitted,
        read_only: false,
        lock_wait_ms: 0,
        table_lock_wait_ms: 60_000,
    };
    for u in [1, 2, 4, 100] {
        let mut txn = engine.begin(&owner(5), options);
        let blocked = insert(&mut txn, t, (50 + u, None, Some(u)));
        assert!(
            matches!(blocked, Err(TxnError::LockWaitTimeout { .. })),
            "u = {u}: {blocked:?}"
        );
    }
}

#[test]
fn it_is_invisible_and_locked_until_somebody_commits_it() {
    let engine = open(&disk().env());
    let t = with_one_prepared(&engine);
    check_prepared(&engine, &t);
    assert!(engine.claim_xid(&xid(1)).is_none(), "the name is taken");
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.take_snapshot();
    assert!(end(&engine, 1, true).unwrap());
    assert_eq!(all_rows(&engine, &t), AFTER);
    check_indexes(&engine, &t);
    assert!(!end(&engine, 1, true).unwrap(), "only once");
    assert!(names(&engine).is_empty());
    assert!(!is_locked(&engine, &t, 1));
    assert!(engine.claim_xid(&xid(1)).is_some());
    assert_eq!(get(&mut old, &t, 1, Read::Plain).unwrap(), Some(BEFORE[0]));
}

#[test]
fn rolled_back_it_leaves_nothing() {
    let engine = open(&disk().env());
    let t = with_one_prepared(&engine);
    assert!(end(&engine, 1, false).unwrap());
    assert_eq!(all_rows(&engine, &t), BEFORE);
    assert!((1..5).all(|id| !is_locked(&engine, &t, id)));
    assert!(engine.locks().is_empty());
}

#[test]
fn what_changed_nothing_keeps_its_locks_and_is_in_no_log() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = with_one_prepared(&engine);
    let logged = engine.log().visible();
    for (n, commit) in [(2, true), (3, false), (4, true)] {
        prepare(&engine, n, |txn| {
            insert(txn, &t, (9, None, None))?;
            txn.rollback_to(&Savepoint::default());
            let locking = Read::Locking(LockMode::Exclusive, OnConflict::Wait);
            get(txn, &t, 3, locking).map(|_| ())
        })
        .unwrap();
        assert!(is_locked(&engine, &t, 3));
        assert_eq!(names(&engine), [xid(1), xid(n)]);
        assert!(engine.claim_xid(&xid(n)).is_none(), "the name is taken");
        if n < 4 {
            assert!(end(&engine, n, commit).unwrap());
            assert!(!is_locked(&engine, &t, 3));
            assert!(!end(&engine, n, commit).unwrap(), "only once");
        }
    }
    assert_eq!(engine.log().visible(), logged);
    engine.checkpoint().unwrap();
    drop(engine);
    // As in MySQL a restart forgets it.
    let engine = open(&disk.env());
    check_prepared(&engine, &find(&engine, "t"));
}

#[test]
fn a_claim_ends_with_its_session() {
    let engine = open(&disk().env());
    let claim = engine.claim_xid(&xid(1)).unwrap();
    assert!(engine.claim_xid(&xid(1)).is_none());
    assert!(!end(&engine, 1, true).unwrap(), "it is not prepared");
    drop(claim);
    assert!(engine.claim_xid(&xid(1)).is_some());
}

#[test]
fn it_survives_restarts_crashes_and_checkpoints_with_its_locks() {
    for checkpoints in 0..3 {
        for commit in [true, false] {
            let disk = disk();
            let engine = open(&disk.env());
            with_one_prepared(&engine);
            for _ in 0..checkpoints {
                engine.checkpoint().unwrap();
                engine.log().rotate().unwrap();
            }
            drop(engine);
            let engine = open(&disk.env());
            check_prepared(&engine, &find(&engine, "t"));
            // Nothing of the log before the checkpoint is needed any more.
            let t2 = find(&engine, "t");
            let mut txn = begin(&engine, Isolation::RepeatableRead);
            insert(&mut txn, &t2, (9, Some(9), Some(9))).unwrap();
            txn.commit("test").unwrap();
            engine.checkpoint().unwrap();
            engine.log().rotate().unwrap();
            let last = engine.log().files().pop().unwrap();
            engine.log().purge_to(&last.name()).unwrap();
            let disk = disk.crash(3);
            drop(engine);
            let engine = open(&disk.env());
            let t3 = find(&engine, "t");
            assert_eq!(names(&engine), [xid(1)]);
            assert!(is_locked(&engine, &t3, 1));
            let info = engine.prepared().remove(0);
            assert_eq!((info.session, info.user.as_str()), (1, "me@here"));
            assert!(end(&engine, 1, commit).unwrap());
            let mut expected: Vec<Row> = if commit { AFTER.into() } else { BEFORE.into() };
            expected.push((9, Some(9), Some(9)));
            assert_eq!(all_rows(&engine, &t3), expected);
            check_indexes(&engine, &t3);
            let disk = disk.crash(4);
            drop(engine);
            let engine = open(&disk.env());
            assert_eq!(all_rows(&engine, &find(&engine, "t")), expected);
            assert!(names(&engine).is_empty());
        }
    }
}

#[test]
fn hidden_rows_keep_their_numbers() {
    let disk = disk();
    let engine = open(&disk.env());
    create(&engine);
    let t = create_table(&engine, "h", false);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    insert(&mut txn, &t, (1, None, None)).unwrap();
    txn.commit("test").unwrap();
    prepare(&engine, 1, |txn| {
        insert(txn, &t, (2, None, None))?;
        insert(txn, &t, (3, None, None))
    })
    .unwrap();
    engine.checkpoint().unwrap();
    drop(engine);
    let engine = open(&disk.env());
    let t = find(&engine, "h");
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    insert(&mut txn, &t, (4, None, None)).unwrap();
    txn.commit("test").unwrap();
    assert!(end(&engine, 1, true).unwrap());
    let ids: Vec<i64> = all_rows(&engine, &t).iter().map(|row| row.0).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
}

#[test]
fn a_schema_change_waits_for_it_after_a_restart_too() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = with_one_prepared(&engine);
    let drop_table = |engine: &Engine| {
        let statement = DdlStatement {
            database: "test".to_owned(),
            text: "DROP TABLE t".to_owned(),
            reading: crate::log::Reading::default(),
            foreign_key_checks: true,
            threads: 1,
        };
        let change = SchemaChange::DropTables(vec![t.id]);
        engine.change_schema(
            &owner(9),
            change,
            &super::Related::default(),
            &statement,
            0,
            None,
        )
    };
    let refused = drop_table(&engine);
    assert!(
        matches!(refused, Err(TxnError::LockWaitTimeout { .. })),
        "{refused:?}"
    );
    drop(engine);
    let engine = open(&disk.env());
    let refused = drop_table(&engine);
    assert!(
        matches!(refused, Err(TxnError::LockWaitTimeout { .. })),
        "{refused:?}"
    );
    assert!(end(&engine, 1, true).unwrap());
    drop_table(&engine).unwrap();
}

type Model = BTreeMap<i64, Row>;

/// What must be there after a crash: of every transaction, whether its steps were acknowledged.
#[derive(Default)]
struct Journal {
    prepared: BTreeMap<i64, bool>,
    /// Acknowledged outcomes; `None`: under way.
    ended: BTreeMap<i64, (bool, bool)>,
}

/// Transaction `n` inserts the rows n and n + 100, is prepared, and ends as the parity says.
fn run(engine: &Engine, journal: &mut Journal) -> Result<(), TxnError> {
    let t = find(engine, "t");
    for n in 0..7 {
        journal.prepared.insert(n, false);
        prepare(engine, n, |txn| {
            insert(txn, &t, (n, Some(n), Some(n)))?;
            insert(txn, &t, (n + 100, None, Some(n + 100)))
        })?;
        journal.prepared.insert(n, true);
        match n {
            1 | 4 => engine.checkpoint()?,
            2 => engine.log().rotate()?,
            _ => {}
        }
        // Two stay prepared for a while, over a checkpoint.
        if n >= 2 {
            let (done, commit) = (n - 2, n % 3 != 0);
            journal.ended.insert(done, (commit, false));
            assert!(end(engine, done, commit)?);
            journal.ended.insert(done, (commit, true));
        }
        if n == 5 {
            engine.checkpoint()?;
        }
    }
    Ok(())
}

/// Checks the states, and brings every transaction to an end.
fn check(engine: &Engine, journal: &Journal, what: &str) -> Model {
    let t = find(engine, "t");
    check_indexes(engine, &t);
    let rows: Model = all_rows(engine, &t)
        .into_iter()
        .map(|row| (row.0, row))
        .collect();
    let prepared = names(engine);
    let mut expected = Model::new();
    for (n, acknowledged) in &journal.prepared {
        let is_prepared = prepared.contains(&xid(*n));
        let there = [rows.contains_key(n), rows.contains_key(&(n + 100))];
        assert_eq!(there[0], there[1], "{what}: transaction {n} is torn");
        match journal.ended.get(n) {
            Some((commit, true)) => {
                assert!(!is_prepared, "{what}: {n} has ended");
                assert_eq!(there[0], *commit, "{what}: {n}");
            }
            Some((commit, false)) => {
                // The outcome was under way: it came, or the transaction is still prepared.
                assert!(is_prepared || there[0] == *commit, "{what}: {n}");
            }
            None => {
                assert!(!there[0], "{what}: {n} was not committed");
                assert!(is_prepared || !acknowledged, "{what}: {n} is lost");
            }
        }
        if is_prepared {
            assert!(!there[0], "{what}: {n} is prepared");
            assert!(
                is_locked(engine, &t, *n) && is_locked(engine, &t, n + 100),
                "{what}: {n}"
            );
            assert!(end(engine, *n, true).unwrap());
        } else {
            assert!(!is_locked(engine, &t, *n), "{what}: {n}");
        }
        if is_prepared || there[0] {
            expected.insert(*n, (*n, Some(*n), Some(*n)));
            expected.insert(n + 100, (n + 100, None, Some(n + 100)));
        }
    }
    expected
}

fn crash_after(operation: u64, seed: u64) -> bool {
    let disk = Disk::new(seed);
    let engine = open(&disk.env());
    create(&engine);
    engine.close().unwrap();
    disk.crash_at(disk.operations() + operation);
    let mut journal = Journal::default();
    let mut finished = false;
    if let Ok(engine) = try_open(&disk.env(), options()) {
        finished = run(&engine, &mut journal).is_ok();
    }
    let what = format!("operation {operation}, seed {seed}");
    let mut disk = disk.crash(seed ^ operation);
    if operation.is_multiple_of(3) {
        disk.crash_at(disk.operations() + operation % 23);
        drop(try_open(&disk.env(), options()));
        disk = disk.crash(seed + operation);
    }
    let engine = try_open(&disk.env(), options()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let expected = check(&engine, &journal, &what);
    if operation.is_multiple_of(2) {
        engine.checkpoint().unwrap();
    }
    let disk = disk.crash(seed);
    drop(engine);
    let engine = open(&disk.env());
    let t = find(&engine, "t");
    let rows: Model = all_rows(&engine, &t)
        .into_iter()
        .map(|row| (row.0, row))
        .collect();
    assert_eq!(rows, expected, "{what}, again");
    assert!(names(&engine).is_empty(), "{what}, again");
    finished
}

#[test]
fn every_crash_point_leaves_each_transaction_prepared_or_ended() {
    let mut operation = 0;
    loop {
        if crash_after(operation, operation % 5) {
            break;
        }
        operation += 1 + operation / 100;
    }
    assert!(operation > 60, "the run is too short: {operation}");
}
