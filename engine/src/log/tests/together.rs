//! Many threads at once: committing, waiting, rotating, purging, looking.

use super::*;
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
};

const THREADS: u32 = 8;
const COMMITS: u32 = 150;

/// Commits of one thread: each is visible when its wait returns, and numbers grow.
fn commit_many(log: &Log, thread: u32, placed: &Mutex<Vec<Seq>>, sum: &AtomicU64) {
    let mut before = 0;
    for i in 0..COMMITS {
        let size = if i % 50 == 49 { 60_000 } else { 40 };
        let batch = insert(thread * COMMITS + i, size);
        let in_section = |seq| placed.lock().unwrap().push(seq);
        let (mut ticket, ()) = log.commit(batch, in_section).unwrap();
        let seq = ticket.seq();
        assert!(seq > before);
        before = seq;
        if i % 3 == 0 {
            thread::yield_now();
        }
        sum.fetch_add(seq, SeqCst);
        ticket.applied();
        if i % 7 == 0 {
            // Some ask for a number instead of holding a ticket.
            drop(ticket);
            log.wait_visible(seq).unwrap();
        } else if i % 7 == 1 {
            // Some want to be told.
            let (told, hear) = std::sync::mpsc::channel();
            log.when_known(ticket, move |result, _| told.send(result).unwrap());
            hear.recv().unwrap().unwrap();
        } else {
            log.wait(ticket).unwrap();
        }
        assert!(log.visible() >= seq && log.durable() >= seq);
    }
}

#[test]
fn commits_beside_rotations_and_purges_come_back_in_order() {
    let disk = disk();
    let env = disk.env();
    let options = Options {
        max_binlog_size: 16 << 10,
        ..options()
    };
    let (log, _) = open_from(&env, options, Position::default(), 0).unwrap();
    let (placed, sum, done) = (
        Mutex::new(Vec::new()),
        AtomicU64::new(0),
        AtomicBool::new(false),
    );
    let mut kept = (Position::default(), 0);
    thread::scope(|scope| {
        let committers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (log, placed, sum) = (&log, &placed, &sum);
                scope.spawn(move || commit_many(log, thread, placed, sum))
            })
            .collect();
        let keeper = scope.spawn(|| {
            let mut kept = (Position::default(), 0);
            while !done.load(SeqCst) {
                // A checkpoint: see `run` in the crash tests.
                let position = log.position();
                kept = (position, log.exclusive(|seq| seq));
                log.wait_visible(kept.1).unwrap();
                log.wait_durable(kept.1).unwrap();
                log.set_recovery_floor(position);
                log.purge_before(u64::MAX).unwrap();
                let files = log.files();
                let last = files.last().unwrap();
                let shown = log.events(&last.name(), 0, usize::MAX).unwrap();
                assert!(shown.unwrap().len() >= 2);
                thread::yield_now();
            }
            kept
        });
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..5 {
                    log.rotate().unwrap();
                }
            });
        }
        committers
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        done.store(true, SeqCst);
        kept = keeper.join().unwrap();
    });
    let total = u64::from(THREADS * COMMITS);
    assert_eq!(
        placed.into_inner().unwrap(),
        (1..=total).collect::<Vec<_>>()
    );
    assert_eq!(sum.into_inner(), total * (total + 1) / 2);
    assert_eq!(log.visible(), total);
    let status = log.status();
    assert_eq!(status.commits, total);
    assert!(status.fsyncs >= status.groups);
    assert_eq!(log.trouble(), None);
    // The rest of what the last checkpoint made dispensable, however the threads ran.
    log.purge_before(u64::MAX).unwrap();
    let files = log.files();
    assert_eq!(files.first().unwrap().number, kept.0.file);
    log.close().unwrap();
    let (log, replayed) = open_from(&env, super::options(), kept.0, kept.1).unwrap();
    let seqs: Vec<Seq> = replayed.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, (kept.1 + 1..=total).collect::<Vec<_>>());
    // All the files that are left, too.
    drop(log);
    let first = files.first().unwrap();
    let from = Position {
        file: first.number,
        offset: 0,
    };
    let (log, replayed) = open_from(&env, super::options(), from, first.after).unwrap();
    assert_eq!(replayed.len() as u64, total - first.after);
    assert_eq!(log.visible(), total);
}

#[test]
fn a_failure_reaches_everybody() {
    for at in [1, 2, 5, 20, 50] {
        let disk = disk();
        let (log, _) = open(&disk.env()).unwrap();
        disk.fail_at(disk.operations() + 20 + at, std::io::ErrorKind::Other);
        let acknowledged = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for id in 0..200 {
                        match commit(&log, insert(id, 40)) {
                            Ok(seq) => acknowledged.fetch_max(seq, SeqCst),
                            Err(_) => return,
                        };
                    }
                    // The failed call may have been the other thread's, of no consequence.
                });
            }
        });
        let acknowledged = acknowledged.into_inner();
        assert!(log.visible() >= acknowledged);
        drop(log);
        let (log, replayed) = open(&disk.crash(at).env()).unwrap();
        assert!(replayed.len() as u64 >= acknowledged);
        commit(&log, insert(1, 1)).unwrap();
    }
}

#[test]
fn a_delayed_group_is_kept_open_until_it_is_large_enough() {
    let disk = disk();
    let (log, _) = open_from(&disk.env(), options(), Position::default(), 0).unwrap();
    log.set_sync_delay(1_000_000);
    log.set_no_delay_count(3);
    let tickets: Vec<_> = (0..3)
        .map(|i| {
            let (mut ticket, ()) = log.commit(insert(i, 40), |_| ()).unwrap();
            ticket.applied();
            ticket
        })
        .collect();
    for ticket in tickets {
        log.wait(ticket).unwrap();
    }
    assert_eq!(
        (log.status().groups, log.status().group_commits_max),
        (1, 3)
    );
}
