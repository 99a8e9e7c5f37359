//! Followers: each commit once and in order, whatever files it lies in, and nothing before it is
//! durable.

use super::*;
use crate::log::{
    FollowError, Follower, Start, Step,
    event::{Event, MAGIC, kind},
    file_name,
};
use crate::types::GtidSet;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// What a follower has come to: the types of the events, and the numbers of the commits.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    events: Vec<(String, u8)>,
    pub(super) commits: Vec<Seq>,
    passed: usize,
}

/// Goes on to the end.
pub(super) fn read(follower: &mut Follower, seen: &mut Seen) -> Result<(), FollowError> {
    loop {
        let mut at = follower.position().offset;
        let (events, is_made): (Vec<Vec<u8>>, _) = match follower.step()? {
            Step::Made(event) => (vec![event], true),
            Step::Events { events, .. } => (events.map(<[u8]>::to_vec).collect(), false),
            Step::Passed => {
                seen.passed += 1;
                continue;
            }
            Step::End => return Ok(()),
        };
        assert!(!events.is_empty());
        let name = file_name(follower.position().file);
        for bytes in events {
            seen.events.push((name.clone(), bytes[4]));
            if is_made {
                continue;
            }
            let Ok(event) = Event::parse(&bytes, at) else {
                panic!("no whole event at {at}");
            };
            at += event.size as u64;
            if let Some(gtid) = event.gtid() {
                seen.commits.push(gtid.gtid.number);
            }
        }
        assert!(is_made || at == follower.position().offset);
    }
}

/// Reads until so many commits were seen.
fn read_until(follower: &mut Follower, commits: usize, seen: &mut Seen) {
    let mut rounds = 0;
    while seen.commits.len() < commits {
        read(follower, seen).unwrap();
        follower.wait(Duration::from_millis(50));
        rounds += 1;
        assert!(rounds < 2000, "{} of {commits}", seen.commits.len());
    }
}

/// Ranges of this server's own GTIDs.
fn own(ranges: &[(u64, u64)]) -> GtidSet {
    let mut set = GtidSet::default();
    for (first, last) in ranges {
        set.add_range(options().server_uuid, *first, *last);
    }
    set
}

pub(super) fn beginning() -> Start {
    Start::At(String::new(), MAGIC.len() as u64)
}

/// A log of several files, the first of them of an earlier run, with commits 1 to 12.
fn several_files() -> (Log, Disk) {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    for id in 1..=4 {
        commit(&log, insert(id, 10)).unwrap();
    }
    log.close().unwrap();
    let (log, _) = open_from(&disk.env(), options(), Position::default(), 0).unwrap();
    for id in 5..=12 {
        commit(&log, insert(id, 10)).unwrap();
        if id % 3 == 0 {
            log.rotate().unwrap();
        }
    }
    (log, disk)
}

#[test]
fn all_files_are_followed() {
    let (log, _disk) = several_files();
    let mut follower = log.follow(beginning(), true).unwrap();
    let mut seen = Seen::default();
    read_until(&mut follower, 12, &mut seen);
    assert_eq!(seen.commits, (1..=12).collect::<Vec<Seq>>());
    // A file begins with what says its name, and ends with what says the next one's.
    let of = |name: &str| -> Vec<u8> {
        let events = seen.events.iter().filter(|(file, _)| file == name);
        events.map(|(_, kind)| *kind).collect()
    };
    for name in ["binlog.000001", "binlog.000002", "binlog.000003"] {
        let events = of(name);
        let begin = [kind::ROTATE, kind::FORMAT_DESCRIPTION, kind::PREVIOUS_GTIDS];
        assert_eq!(events[..3], begin, "{name}");
        let last = match name {
            "binlog.000001" => kind::STOP,
            _ => kind::ROTATE,
        };
        assert_eq!(events.last(), Some(&last), "{name}");
        let descriptions = events.iter().filter(|kind| **kind == begin[1]);
        assert_eq!(descriptions.count(), 1, "{name}");
    }
    commit(&log, insert(13, 100_000)).unwrap();
    read_until(&mut follower, 13, &mut seen);
    assert_eq!(seen.commits.last(), Some(&13));
}

#[test]
fn what_a_follower_has_is_passed_over() {
    let (log, _disk) = several_files();
    let mut sets = vec![
        vec![],
        vec![(1, 12)],
        vec![(1, 3), (5, 5), (9, 11)],
        vec![(2, 12)],
    ];
    for first in 1..=12 {
        sets.push(vec![(1, first)]);
        sets.push(vec![(first, 12), (1, 2)]);
    }
    for ranges in sets {
        let has = own(&ranges);
        let wanted: Vec<Seq> = (1..=12)
            .filter(|seq| !has.contains_all(&own(&[(*seq, *seq)])))
            .collect();
        let mut follower = log.follow(Start::Without(has), true).unwrap();
        let mut seen = Seen::default();
        // Over files that are about to be ended, too.
        for _ in 0..20 {
            read(&mut follower, &mut seen).unwrap();
            follower.wait(Duration::from_millis(1));
        }
        read_until(&mut follower, wanted.len(), &mut seen);
        assert_eq!(seen.commits, wanted, "{ranges:?}");
    }
    let ahead = Start::Without(own(&[(1, 13)]));
    assert_eq!(
        log.follow(ahead, true).err(),
        Some(FollowError::Ahead(own(&[(1, 12)])))
    );
}

#[test]
fn a_follower_begins_where_an_event_does() {
    let (log, _disk) = several_files();
    let name = "binlog.000002";
    let events = log.events(name, 4, 1000).unwrap().unwrap();
    let begins = |position: u64| events.iter().any(|event| event.position == position);
    let size = log.files()[1].size;
    for position in 0..=size + 1 {
        let mut seen = Seen::default();
        let follower = log.follow(Start::At(name.to_owned(), position), true);
        let read = follower.and_then(|mut follower| read(&mut follower, &mut seen));
        match read {
            Ok(()) => assert!(begins(position) || position == size, "{position}"),
            Err(FollowError::BeforeEvents) => assert!(position < 4),
            Err(FollowError::BehindEnd) => assert!(position > size),
            Err(FollowError::NoEvent(at)) => {
                assert!(!begins(position));
                assert_eq!((at.file, at.offset), (2, position));
            }
            Err(error) => panic!("{position}: {error:?}"),
        }
    }
    let nowhere = Start::At("binlog.000077".to_owned(), 4);
    assert_eq!(log.follow(nowhere, true).err(), Some(FollowError::NoFile));
}

#[test]
fn what_is_followed_is_not_purged() {
    let (log, _disk) = several_files();
    log.set_recovery_floor(Position {
        file: 99,
        offset: 4,
    });
    let files = log.files().len();
    let last = log.files()[files - 1].name();
    let mut follower = log.follow(beginning(), true).unwrap();
    assert_eq!(log.purge_to(&last), Ok(Some(0)));
    let mut seen = Seen::default();
    read_until(&mut follower, 12, &mut seen);
    while file_name(follower.position().file) != last {
        read(&mut follower, &mut seen).unwrap();
        follower.wait(Duration::from_millis(5));
    }
    // It has come to the last file, and left the others.
    assert_eq!(log.purge_to(&last), Ok(Some(files - 1)));
    let purged = log.files()[0].after;
    drop(follower);
    let start = Start::Without(own(&[(1, purged - 1)]));
    assert_eq!(
        log.follow(start, true).err(),
        Some(FollowError::Purged(own(&[(purged, purged)])))
    );
    let start = Start::Without(own(&[(1, purged)]));
    assert!(log.follow(start, true).is_ok());
}

#[test]
fn nothing_is_seen_before_it_is_durable() {
    const COMMITS: u32 = 300;
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut follower = log.follow(beginning(), true).unwrap();
                let mut seen = Seen::default();
                while seen.commits.len() < COMMITS as usize {
                    read(&mut follower, &mut seen).unwrap();
                    let last = seen.commits.last().copied().unwrap_or(0);
                    assert!(last <= log.durable());
                    follower.wait(Duration::from_millis(20));
                }
                assert_eq!(seen.commits, (1..=Seq::from(COMMITS)).collect::<Vec<Seq>>());
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                log.rotate().unwrap();
                thread::sleep(Duration::from_millis(2));
            }
        });
        for id in 1..=COMMITS {
            commit(&log, insert(id, (id * 37 % 5000) as usize)).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
}
