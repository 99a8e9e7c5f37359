//! Many followers at once, who share what they read: each has what is in the files, byte for byte.

use super::*;
use crate::{
    env::fake::Noise,
    log::{
        FollowError, Follower, Start, Step,
        event::{Event, kind},
        file_name,
        files::file_number,
    },
    types::GtidSet,
};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

const FOLLOWERS: u64 = 16;
const COMMITTERS: u32 = 3;
const COMMITS: u32 = 700;

/// The contents of files that are complete, by number.
type Files = BTreeMap<u64, Vec<u8>>;

/// What one follower was given: from where to where, and that; nothing if it was passed over.
#[derive(Debug)]
struct Given {
    from: Position,
    to: Position,
    bytes: Vec<u8>,
}

fn path(number: u64) -> PathBuf {
    Path::new(DIR).join(file_name(number))
}

/// Some commits do not fit into a chunk, some are large, some are seen by no follower.
fn some_commit(noise: &mut Noise, id: u32) -> Batch {
    let mut batch = Batch::new("test", 7);
    let (rows, size) = match noise.below(100) {
        0 => (40, 60_000),
        1..5 => (1, 65_000),
        5..15 => (1, 9_000),
        _ => (1, noise.below(3_000) as usize),
    };
    for _ in 0..rows {
        batch.insert(&table(1), &image(id, &vec![id as u8; size]));
    }
    batch.end_statement();
    if noise.one_in(20) {
        batch.unlist();
    }
    batch
}

/// Begins somewhere: at an event of a file, or behind some commits.
fn begin_anywhere(log: &Log, noise: &mut Noise) -> (Follower, GtidSet) {
    loop {
        let begun = if noise.one_in(2) {
            let mut has = GtidSet::default();
            let last = log.executed();
            for (source, first, last) in last.ranges() {
                // With gaps, which it gets.
                let to = first + noise.below(last - first + 1);
                has.add_range(source, first, to);
                if noise.one_in(2) {
                    has.add_range(source, to + noise.below(last - to + 1), last);
                }
            }
            log.follow(Start::Without(has.clone()), true)
                .map(|follower| (follower, has))
        } else {
            let files = log.files();
            let number = noise.below(files.len() as u64) as usize;
            // Near the end, where others are, more often.
            let file = files.get(number).filter(|_| noise.one_in(3));
            let file = file.unwrap_or(&files[files.len() - 1]);
            let shown = log.events(&file.name(), 4, usize::MAX);
            let Ok(Some(events)) = shown else {
                continue; // It was purged meanwhile.
            };
            let event = &events[noise.below(events.len() as u64) as usize];
            log.follow(Start::At(file.name(), event.position), true)
                .map(|follower| (follower, GtidSet::default()))
        };
        match begun {
            Ok(begun) => return begun,
            Err(FollowError::NoFile | FollowError::Purged(_) | FollowError::BehindEnd) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Follows until the end of the log, or until so much was given; falls behind now and then.
fn follow(
    log: &Log,
    follower: &mut Follower,
    gives_up: Option<usize>,
    noise: &mut Noise,
    done: &AtomicBool,
) -> Vec<Given> {
    let mut given = Vec::new();
    while gives_up.is_none_or(|count| given.len() < count) {
        let from = follower.position();
        let bytes = match follower.step() {
            Ok(Step::Made(made)) => {
                assert!(matches!(made[4], kind::ROTATE | kind::FORMAT_DESCRIPTION));
                continue;
            }
            Ok(Step::Events { events, .. }) => events.bytes().to_vec(),
            Ok(Step::Passed) => Vec::new(),
            Ok(Step::End) => {
                if done.load(SeqCst) && follower.position() == log.end() {
                    break;
                }
                follower.wait(Duration::from_millis(20));
                continue;
            }
            Err(error) => panic!("at {from:?}: {error:?}"),
        };
        let to = follower.position();
        assert!(to <= log.end(), "it is durable");
        given.push(Given { from, to, bytes });
        if noise.one_in(2_000) {
            thread::sleep(Duration::from_millis(noise.below(200)));
        }
    }
    given
}

/// Compares with the files. What was passed over are transactions that it has or nobody sees.
fn check(given: &[Given], files: &Files, has: &GtidSet) {
    let mut before: Option<&Given> = None;
    for given in given {
        let file = &files[&given.from.file];
        let (from, to) = (given.from.offset as usize, given.to.offset as usize);
        let mut part = &file[from..to];
        let is_passed = given.bytes.is_empty();
        assert!(is_passed || part == given.bytes, "at {:?}", given.from);
        let mut at = given.from.offset;
        while !part.is_empty() {
            let Ok(event) = Event::parse(part, at) else {
                panic!("no event at {at} of {:?}", given.from);
            };
            if let Some(gtid) = event.gtid() {
                assert_eq!(gtid.is_unlisted || has.contains(gtid.gtid), is_passed);
                assert!(!is_passed || gtid.length as usize == part.len());
            } else {
                assert!(!is_passed || at > given.from.offset);
            }
            at += event.size as u64;
            part = &part[event.size..];
        }
        match before {
            Some(before) if before.to.file != given.from.file => {
                assert_eq!(before.to.offset as usize, files[&before.to.file].len());
                assert_eq!(before.to.file + 1, given.from.file);
                // Behind the format description.
                let description = Event::parse(&file[4..], 4).map(|event| event.size);
                assert_eq!(description.ok(), Some(from - 4));
            }
            Some(before) => assert_eq!(before.to, given.from),
            None => {}
        }
        before = Some(given);
    }
}

/// Purges now and then, and keeps what was in the files that are complete.
fn purge(log: &Log, disk: &Disk, done: &AtomicBool) -> Files {
    let mut kept = Files::new();
    let mut noise = Noise::new(99);
    while !done.load(SeqCst) {
        thread::sleep(Duration::from_millis(30));
        let files = log.files();
        let complete = &files[..files.len().saturating_sub(2)];
        for file in complete {
            kept.entry(file.number)
                .or_insert_with(|| disk.contents(&path(file.number)).expect("it is there"));
        }
        if let Some(file) = complete.last()
            && noise.one_in(2)
        {
            log.purge_to(&file.name()).unwrap();
        }
    }
    kept
}

#[test]
fn many_followers_have_what_is_in_the_files() {
    let disk = disk();
    let options = Options {
        max_binlog_size: 2 << 20,
        ..options()
    };
    let (log, _) = open_from(&disk.env(), options, Position::default(), 0).unwrap();
    log.set_recovery_floor(Position {
        file: u64::MAX,
        offset: 4,
    });
    let (done, begun) = (AtomicBool::new(false), AtomicU32::new(0));
    let given = Mutex::new(Vec::new());
    // One has everything, however the others are scheduled.
    let mut patient = log.follow(follow::beginning(), true).unwrap();
    let mut files = thread::scope(|scope| {
        let purger = scope.spawn(|| purge(&log, &disk, &done));
        let committers: Vec<_> = (0..COMMITTERS)
            .map(|number| {
                let log = &log;
                scope.spawn(move || {
                    let mut noise = Noise::new(u64::from(number));
                    for id in 0..COMMITS {
                        commit(log, some_commit(&mut noise, id)).unwrap();
                    }
                })
            })
            .collect();
        let (log, done, begun, given) = (&log, &done, &begun, &given);
        scope.spawn(|| {
            let mut noise = Noise::new(999);
            let got = follow(log, &mut patient, None, &mut noise, done);
            given.lock().unwrap().push((got, GtidSet::default()));
        });
        for number in 0..FOLLOWERS {
            scope.spawn(move || {
                let mut noise = Noise::new(1000 + number);
                loop {
                    let last = done.load(SeqCst);
                    let (mut follower, has) = begin_anywhere(log, &mut noise);
                    begun.fetch_add(1, SeqCst);
                    let gives_up = noise.one_in(2).then(|| noise.below(3_000) as usize);
                    let got = follow(log, &mut follower, gives_up, &mut noise, done);
                    given.lock().unwrap().push((got, has));
                    if last {
                        break;
                    }
                }
            });
        }
        for committer in committers {
            committer.join().unwrap();
        }
        done.store(true, SeqCst);
        purger.join().unwrap()
    });
    let end = log.end();
    for (path, _) in disk.files() {
        if let Some(number) = file_number(&path.to_string_lossy()) {
            let contents = disk.contents(&path).unwrap();
            let length = match number == end.file {
                true => end.offset as usize,
                false => contents.len(),
            };
            files.insert(number, contents[..length].to_vec());
        }
    }
    assert!(files.len() > 4, "{}", files.len());
    assert!(begun.into_inner() >= FOLLOWERS as u32);
    let given = given.into_inner().unwrap();
    let begins = |given: &[Given]| given.first().is_some_and(|first| first.from.file == 1);
    let ends = |given: &[Given]| given.last().is_some_and(|last| last.to == end);
    assert!(given.iter().any(|(given, _)| begins(given) && ends(given)));
    for (given, has) in &given {
        check(given, &files, has);
    }
}

/// Those who have all there is read what comes once, together.
#[test]
fn what_comes_is_read_once() {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    commit(&log, insert(1, 10)).unwrap();
    let mut followers: Vec<_> = (0..20)
        .map(|_| log.follow(follow::beginning(), true).unwrap())
        .collect();
    let mut seen = follow::Seen::default();
    for follower in &mut followers {
        follow::read(follower, &mut seen).unwrap();
    }
    for id in 2..10 {
        commit(&log, insert(id, 30_000)).unwrap();
        let before = disk.reads();
        for follower in &mut followers {
            let mut seen = follow::Seen::default();
            follow::read(follower, &mut seen).unwrap();
            assert_eq!(seen.commits, [Seq::from(id)]);
        }
        assert_eq!(disk.reads() - before, 1);
    }
}
