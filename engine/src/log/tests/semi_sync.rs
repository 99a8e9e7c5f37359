//! Semi-synchronous replication: nothing is visible that too few replicas have.

use super::{
    follow::{Seen, beginning, read},
    *,
};
use crate::log::{Follower, Step};
use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};

const LONG: Duration = Duration::from_secs(600);

fn enable(log: &Log, replicas: usize, timeout: Duration) {
    log.set_semi_sync(|settings| {
        settings.enabled = true;
        settings.replicas = replicas;
        settings.timeout = timeout;
    });
}

/// Waits until something is so.
fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("it never is");
}

#[test]
fn a_commit_waits_for_a_replica() {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    let mut follower = log.follow(beginning(), true).unwrap();
    follower.answers();
    enable(&log, 1, LONG);
    thread::scope(|scope| {
        let commit = scope.spawn(|| commit(&log, insert(1, 5)));
        let mut seen = Seen::default();
        until(|| {
            read(&mut follower, &mut seen).unwrap();
            !seen.commits.is_empty()
        });
        // It is durable, and replicas see it, but nobody else.
        assert_eq!((log.durable(), log.visible()), (1, 0));
        until(|| log.semi_sync().waiting == 1);
        follower.has(follower.position());
        assert_eq!(commit.join().unwrap().unwrap(), 1);
    });
    let status = log.semi_sync();
    assert!(status.on);
    assert_eq!(
        (status.clients, status.acknowledged, status.waiting),
        (1, 1, 0)
    );
    drop(follower);
    assert_eq!(log.semi_sync().clients, 0);
}

#[test]
fn waiting_ends() {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    enable(&log, 1, Duration::from_millis(20));
    commit(&log, insert(1, 5)).unwrap();
    let status = log.semi_sync();
    assert_eq!(
        (status.on, status.given_up, status.unacknowledged),
        (false, 1, 1)
    );
    // Nobody waits for what would come too late.
    log.set_semi_sync(|settings| settings.timeout = LONG);
    commit(&log, insert(2, 5)).unwrap();
    assert_eq!(log.semi_sync().unacknowledged, 2);
    // A replica that has caught up is waited for.
    let mut follower = log.follow(beginning(), true).unwrap();
    follower.answers();
    let mut seen = Seen::default();
    read(&mut follower, &mut seen).unwrap();
    follower.has(follower.position());
    assert!(log.semi_sync().on);
    // The end lets all through.
    thread::scope(|scope| {
        let commit = scope.spawn(|| commit(&log, insert(3, 5)));
        until(|| log.semi_sync().waiting == 1);
        log.end_semi_sync();
        assert_eq!(commit.join().unwrap().unwrap(), 3);
    });
    enable(&log, 1, LONG);
    commit(&log, insert(4, 5)).unwrap();
    log.close().unwrap();
}

#[test]
fn without_replicas_nothing_waits_if_so_configured() {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    let mut followers: Vec<_> = (0..2)
        .map(|_| log.follow(beginning(), true).unwrap())
        .collect();
    followers.iter_mut().for_each(Follower::answers);
    enable(&log, 2, LONG);
    log.set_semi_sync(|settings| settings.wait_no_replica = false);
    thread::scope(|scope| {
        let commit = scope.spawn(|| commit(&log, insert(1, 5)));
        until(|| log.semi_sync().waiting == 1);
        followers.pop();
        commit.join().unwrap().unwrap();
    });
    assert!(!log.semi_sync().on);
}

/// With files that end all the time, and replicas that come and go: whoever hears of his commit
/// knows that two replicas have said that they have it.
#[test]
fn what_is_visible_is_on_enough_replicas() {
    const COMMITS: u64 = 400;
    const WANTED: usize = 2;
    let disk = disk();
    let small = Options {
        max_binlog_size: 4096,
        ..options()
    };
    let (log, _) = open_from(&disk.env(), small, Position::default(), 0).unwrap();
    enable(&log, WANTED, LONG);
    let (over, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let said: [AtomicU64; 3] = Default::default();
    thread::scope(|scope| {
        for (number, said) in said.iter().enumerate() {
            let (log, over) = (&log, &over);
            scope.spawn(move || {
                let mut follower = log.follow(beginning(), true).unwrap();
                follower.answers();
                let (mut commits, mut rounds) = (0, 0_usize);
                while !over.load(SeqCst) {
                    rounds += 1;
                    let is_last = match follower.step().unwrap() {
                        Step::Events { events, is_last } => {
                            let begins = |event: &&[u8]| event[4] == crate::log::event::kind::GTID;
                            commits += events.filter(begins).count() as u64;
                            is_last
                        }
                        Step::End => {
                            follower.wait(Duration::from_millis(5));
                            false
                        }
                        Step::Made(_) | Step::Passed => false,
                    };
                    // As a replica does: asked behind the last transaction there is.
                    if is_last {
                        said.fetch_max(commits, SeqCst);
                        follower.has(follower.position());
                    }
                    // The third one goes, and comes back.
                    if number == 2 && rounds.is_multiple_of(97) {
                        follower = log.follow(beginning(), true).unwrap();
                        follower.answers();
                        commits = 0;
                    }
                }
            });
        }
        let clients: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    while done.fetch_add(1, SeqCst) < COMMITS {
                        let seq = commit(&log, insert(1, 50)).unwrap();
                        let have = said.iter().filter(|said| said.load(SeqCst) >= seq).count();
                        assert!(have >= WANTED, "{have} replicas have {seq}");
                    }
                })
            })
            .collect();
        let joined = clients.into_iter().map(thread::ScopedJoinHandle::join);
        let failed = joined.filter(Result::is_err).count();
        over.store(true, SeqCst);
        assert_eq!(failed, 0);
    });
    let status = log.semi_sync();
    assert_eq!((status.acknowledged, status.unacknowledged), (COMMITS, 0));
    assert!(log.files().len() > 3);
}
