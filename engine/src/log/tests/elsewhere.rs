//! Transactions that were committed elsewhere first: the log keeps their GTIDs through files,
//! restarts and crashes, from wherever it is read.

use super::*;
use crate::{
    env::splitmix::SplitMix64,
    log::{Follower, Kept, Origin, Start, Step},
    types::{Gtid, GtidSet},
};

/// A transaction that was committed by another server.
fn given(id: u32, source: u8, number: u64) -> Batch {
    let mut batch = insert(id, 10);
    batch.comes_from(Origin {
        gtid: Gtid {
            source: [source; 16],
            number,
        },
        committed_micros: Some(5_000_000),
        immediate_micros: None,
        version: Some(80_036),
    });
    batch
}

/// Opens the log as a base says that has the commits up to `applied`.
fn open_at(env: &Env, position: Position, applied: Seq, kept: Option<Kept>) -> (Log, Replay) {
    let mut replayed = Vec::new();
    let mut replay = InOrder(|transaction: &Replayed<'_>| {
        let changes = transaction.changes().map(|change| tell(&change)).collect();
        replayed.push((transaction.seq, changes));
    });
    let known = Known {
        position,
        applied,
        source: (applied > 0).then_some(SOURCE),
        kept,
    };
    let dir = Path::new(DIR);
    let log = Log::open(env, dir, options(), known, &mut replay, &mut |_| ()).unwrap();
    (log, replayed)
}

/// How many transactions a follower sees that has these.
fn seen_without(log: &Log, set: GtidSet) -> usize {
    let mut follower: Follower = log.follow(Start::Without(set), true).unwrap();
    let mut seen = 0;
    let mut ends = 0;
    while ends < 20 {
        match follower.step().unwrap() {
            Step::Events { events, .. } => {
                let begins = |event: &&[u8]| event[4] == super::super::event::kind::GTID;
                seen += events.filter(begins).count();
            }
            Step::End => {
                ends += 1;
                follower.wait(std::time::Duration::from_millis(1));
            }
            _ => {}
        }
    }
    seen
}

#[test]
fn gtids_survive_files_restarts_and_crashes() {
    for seed in 1..=12 {
        let mut random = SplitMix64(seed);
        let disk = disk();
        let (mut log, _) = open(&disk.env()).unwrap();
        let mut model = GtidSet::default();
        let (mut own, mut others) = (0, [0; 3]);
        let (mut base, mut kept) = ((Position::default(), 0), None);
        let (mut last, mut unlisted) = (0, 0);
        for step in 0..60 {
            let number = random.next_u64();
            match number % 12 {
                0 => log.rotate().unwrap(),
                1 => {
                    // A checkpoint.
                    log.wait_durable(last).unwrap();
                    let position = log.position();
                    base = (position, last);
                    kept = Some(log.exclusive_with_gtids(|_, kept| kept));
                }
                2 => {
                    log.close().unwrap();
                    let (position, applied) = base;
                    let (again, replayed) = open_at(&disk.env(), position, applied, kept.clone());
                    assert_eq!(replayed.len() as u64, last - applied, "seed {seed}");
                    log = again;
                }
                3 => {
                    let mut batch = insert(step, 10);
                    batch.unlist();
                    last = commit(&log, batch).unwrap();
                    unlisted += 1;
                }
                4..=6 => {
                    last = commit(&log, insert(step, 10)).unwrap();
                    own += 1;
                    model.add_range(SOURCE, own, own);
                }
                n => {
                    let other = (n % 3) as usize;
                    // Gaps, too, as a source has that leaves some out.
                    others[other] += 1 + number / 12 % 2;
                    let batch = given(step, other as u8 + 1, others[other]);
                    last = commit(&log, batch).unwrap();
                    model.add_range([other as u8 + 1; 16], others[other], others[other]);
                }
            }
            assert_eq!(log.executed(), model, "seed {seed}, step {step}");
        }
        let transactions = seen_without(&log, GtidSet::default());
        assert_eq!(transactions as u64, last - unlisted);
        let half = GtidSet::first([1; 16], others[0]);
        let of_one = model.of(&[1; 16]);
        let had: u64 = of_one
            .ranges()
            .map(|(_, first, last)| last - first + 1)
            .sum();
        assert_eq!(seen_without(&log, half) as u64, last - unlisted - had);
        assert_eq!(seen_without(&log, model.clone()), 0);
        // A second time is refused, and takes no place.
        if others[0] > 0 {
            let twice = commit(&log, given(99, 1, others[0]));
            assert!(matches!(twice, Err(LogError::Executed(_))), "{twice:?}");
        }
        drop(log);
        let crashed = disk.crash(seed);
        let (position, applied) = base;
        let (log, _) = open_at(&crashed.env(), position, applied, kept.clone());
        assert_eq!(log.executed(), model, "seed {seed}: all was durable");
        assert_eq!(commit(&log, insert(1, 10)).unwrap(), last + 1);
    }
}

#[test]
fn what_was_restored_is_purged() {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    commit(&log, insert(1, 10)).unwrap();
    let restored = GtidSet::first([9; 16], 50);
    log.add_elsewhere(&restored);
    assert_eq!(log.purged(), Ok(restored.clone()));
    let mut all = restored.clone();
    all.add_range(SOURCE, 1, 1);
    assert_eq!(log.executed(), all);
    // Whoever lacks those cannot follow.
    let without = |set: &GtidSet| log.follow(Start::Without(set.clone()), true).err();
    assert_eq!(
        without(&GtidSet::first(SOURCE, 1)),
        Some(crate::log::FollowError::Purged(restored.clone()))
    );
    assert_eq!(without(&restored), None);
    let kept = log.exclusive_with_gtids(|_, kept| kept);
    let position = log.position();
    log.close().unwrap();
    let (log, _) = open_at(&disk.env(), position, 1, Some(kept));
    assert_eq!(log.executed(), all);
    assert_eq!(commit(&log, insert(2, 10)), Ok(2));
}
