//! What a transaction has met of others in its group it names in the log, so that whoever applies
//! them side by side keeps the order; and a crash in the middle of such a group is no damage.

use super::*;
use crate::log::{Start, Step as LogRead};

fn inline_options() -> EngineOptions {
    EngineOptions {
        inline: true,
        ..options()
    }
}

/// Of each commit in the log: what it waits for, its own number in the file, and whether what it
/// waits for was not durable when its group was begun.
fn clocks(engine: &Engine) -> Vec<(u64, u64, bool)> {
    let number =
        |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let mut follower = engine
        .log()
        .follow(Start::At(String::new(), 4), true)
        .unwrap();
    let mut clocks = Vec::new();
    loop {
        match follower.step().unwrap() {
            LogRead::Events { events, .. } => {
                // GTID events.
                for event in events.filter(|event| event[4] == 33) {
                    clocks.push((number(event, 45), number(event, 53), event[19] & 0x80 != 0));
                }
            }
            LogRead::End => return clocks,
            _ => {}
        }
    }
}

/// Commits in one group: 1 and 2 insert rows, 3 changes the row of 1, 4 inserts the row of 3 anew
/// after it has gone, 5 has met nothing.
fn group(engine: &Engine, t: &Arc<Table>) -> Vec<crate::txn::Placed> {
    let mut placed = Vec::new();
    let mut one = |work: &dyn Fn(&mut Txn)| {
        let mut txn = begin(engine, Isolation::RepeatableRead);
        work(&mut txn);
        placed.push(txn.commit_placed("test").unwrap().unwrap());
    };
    one(&|txn| insert(txn, t, (1, None, Some(1))).unwrap());
    one(&|txn| insert(txn, t, (2, None, Some(2))).unwrap());
    one(&|txn| assert!(delete(txn, t, 1).unwrap()));
    one(&|txn| insert(txn, t, (1, Some(5), Some(7))).unwrap());
    one(&|txn| insert(txn, t, (3, None, Some(3))).unwrap());
    placed
}

#[test]
fn what_is_met_is_waited_for() {
    let disk = disk();
    let engine = try_open(&disk.env(), inline_options()).unwrap();
    let t = create(&engine);
    let before = clocks(&engine).len() as u64;
    for placed in group(&engine, &t) {
        placed.wait(&owner(1)).unwrap();
    }
    let first = before + 1;
    assert_eq!(
        clocks(&engine)[before as usize..],
        [
            (before, first, false),
            (before, first + 1, false),
            (first, first + 2, true),
            (first + 2, first + 3, true),
            (before, first + 4, false),
        ]
    );
}

/// A group of several blocks in which each commit has met the one before.
fn chain(engine: &Engine, t: &Arc<Table>) -> Vec<crate::txn::Placed> {
    let mut placed = Vec::new();
    for n in 0..60 {
        let mut txn = begin(engine, Isolation::RepeatableRead);
        if n % 2 == 0 {
            insert(&mut txn, t, (1, Some(n), Some(n))).unwrap();
        } else {
            assert!(delete(&mut txn, t, 1).unwrap());
        }
        placed.push(txn.commit_placed("test").unwrap().unwrap());
    }
    placed
}

#[test]
fn a_crash_in_a_group_is_no_damage() {
    for seed in 0..200 {
        let disk = Disk::new(seed);
        let engine = try_open(&disk.env(), inline_options()).unwrap();
        let t = create(&engine);
        let calls = disk.operations();
        let placed = chain(&engine, &t);
        // The power goes at one of the calls that write the group.
        disk.crash_at(calls + 1 + seed % 3);
        for placed in placed {
            let _ = placed.wait(&owner(1));
        }
        drop(engine);
        let engine = try_open(&disk.crash(seed).env(), inline_options());
        let engine = engine.unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        assert!(all_rows(&engine, &find(&engine, "t")).len() <= 1);
    }
}
