//! Crashes: whatever call the machine stops at, and whatever the disk keeps of what was not
//! synced, acknowledged commits are there, others whole or absent, and damage is told from
//! torn tails.

use super::*;
use crate::{
    env::fake::{Noise, SECTOR},
    log::{event::Event, file_name},
};

/// Small files, so that a run rotates and purges.
fn small() -> Options {
    Options {
        max_binlog_size: 4096,
        ..options()
    }
}

/// What a run knows when the machine stops.
#[derive(Default)]
struct Acknowledged {
    /// The last commit it was told is durable.
    last: Seq,
    /// As a checkpoint would have kept it.
    base: (Position, Seq),
}

/// Commits, rotates and purges until something fails; each commit inserts a row with its own
/// number. `base` is what the store has.
fn run(env: &Env, known: &mut Acknowledged) -> Result<(), LogError> {
    let (position, applied) = known.base;
    let opened = open_from(env, small(), position, applied);
    let (log, replayed) = opened.map_err(|error| LogError::Failed(error.0))?;
    check(&replayed, applied, known.last);
    let mut last = log.visible();
    assert!(last >= known.last);
    known.last = last;
    for step in 0..12 {
        // Several in one group, now and then.
        let count = 1 + step % 3;
        let mut tickets = Vec::new();
        for _ in 0..count {
            let id = u32::try_from(last + 1).unwrap();
            let (mut ticket, ()) = log.commit(insert(id, 400), |_| ())?;
            ticket.applied();
            last = ticket.seq();
            tickets.push(ticket);
        }
        for ticket in tickets {
            let seq = ticket.seq();
            log.wait(ticket)?;
            known.last = seq;
        }
        if step == 5 {
            log.rotate()?;
        }
        if step == 8 {
            // A checkpoint: its position first, then what it has, then the purge.
            let position = log.position();
            known.base = (position, log.visible());
            log.set_recovery_floor(position);
            log.purge_to(&file_name(position.file))?;
        }
    }
    log.close()
}

/// What was replayed is a row of whole commits after `applied`, at least up to `acknowledged`.
fn check(replayed: &Replay, applied: Seq, acknowledged: Seq) {
    for (i, (seq, changes)) in replayed.iter().enumerate() {
        assert_eq!(*seq, applied + 1 + i as u64);
        assert_eq!(*changes, [format!("insert 1: {seq}*400")]);
    }
    let last = replayed.last().map_or(applied, |(seq, _)| *seq);
    assert!(last >= acknowledged, "{last} of {acknowledged}");
}

#[test]
fn every_crash_point_of_a_run_and_of_its_recovery() {
    let mut seed = 0;
    let mut stopped = 0;
    for at in 1.. {
        let first = Disk::new(at);
        first.crash_at(at);
        let mut known = Acknowledged::default();
        let survived = run(&first.env(), &mut known).is_ok();
        for again in [1, 3, 7, 12, 20, 40] {
            seed += 1;
            let mut known = Acknowledged { ..known };
            let second = first.crash(seed);
            second.crash_at(again);
            let stopped_again = run(&second.env(), &mut known).is_err();
            stopped += u32::from(stopped_again);
            let third = second.crash(seed);
            run(&third.env(), &mut known).unwrap();
        }
        if survived {
            assert!(at > 60, "the run has few calls: {at}");
            break;
        }
    }
    assert!(stopped > 100);
}

/// A log of `groups` groups of one commit each, and the bytes of its only file.
fn log_of(groups: u32) -> (Disk, Vec<u8>, Vec<u64>) {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    let mut ends = vec![log.end().offset];
    for id in 1..=groups {
        commit(&log, insert(id, 700)).unwrap();
        ends.push(log.end().offset);
    }
    // As a crash leaves it: with zeros after the end, and in use.
    let path = Path::new(DIR).join(file_name(1));
    let mut contents = disk.contents(&path).unwrap();
    contents.truncate(usize::try_from(*ends.last().unwrap()).unwrap());
    contents.resize(contents.len() + 5000, 0);
    let crashed = disk.crash(1);
    crashed.put(&path, contents.clone());
    (crashed, contents, ends)
}

fn with_contents(disk: &Disk, contents: Vec<u8>) -> Result<Replay, OpenError> {
    let disk = disk.crash(0);
    disk.put(&Path::new(DIR).join(file_name(1)), contents);
    let (log, replayed) = open(&disk.env())?;
    // It can go on, and comes back with the same.
    let next = log.visible() + 1;
    commit(&log, insert(u32::try_from(next).unwrap(), 400)).unwrap();
    drop(log);
    assert_eq!(open(&disk.env()).unwrap().1.len(), replayed.len() + 1);
    Ok(replayed)
}

#[test]
fn a_torn_last_group_is_cut_whatever_sectors_are_lost() {
    let (disk, contents, ends) = log_of(3);
    let (start, end) = (ends[2] as usize, ends[3] as usize);
    let sectors: Vec<usize> = (start / SECTOR..=(end - 1) / SECTOR).collect();
    let mut noise = Noise::new(1);
    for subset in 1..1 << sectors.len() {
        let mut torn = contents.clone();
        for (bit, sector) in sectors.iter().enumerate() {
            if subset >> bit & 1 == 1 {
                let from = start.max(sector * SECTOR);
                let to = end.min((sector + 1) * SECTOR);
                // Lost bytes are zeros, or whatever was on the disk before.
                if noise.one_in(2) {
                    torn[from..to].fill(0);
                } else {
                    torn[from..to].fill_with(|| noise.next_u64() as u8);
                }
            }
        }
        let replayed = with_contents(&disk, torn).unwrap();
        assert_eq!(replayed.len(), 2, "subset {subset}");
    }
    for length in (start..end).step_by(41) {
        let mut cut = contents.clone();
        cut.truncate(length);
        let error = with_contents(&disk, cut).unwrap_err();
        assert!(error.0.contains("shorter than it was"), "{}", error.0);
    }
    assert_eq!(with_contents(&disk, contents).unwrap().len(), 3);
}

#[test]
fn a_group_of_many_commits_is_cut_at_its_last_whole_one() {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    commit(&log, insert(1, 10)).unwrap();
    let mut tickets = Vec::new();
    for id in 2..=200 {
        tickets.push(log.commit(insert(id, 10), |_| ()).unwrap().0);
    }
    tickets.iter_mut().for_each(super::super::Ticket::applied);
    for ticket in tickets {
        log.wait(ticket).unwrap();
    }
    assert!(log.status().group_commits_max > 1);
    let path = Path::new(DIR).join(file_name(1));
    let mut contents = disk.contents(&path).unwrap();
    // Flip a bit somewhere in the last group: what is whole before it stays.
    let shown = log.events(&file_name(1), 0, 10_000).unwrap().unwrap();
    let last = shown.iter().rposition(|e| e.event_type == "Write_rows");
    contents[shown[last.unwrap()].position as usize + 30] ^= 1;
    drop(log);
    let replayed = with_contents(&disk, contents).unwrap();
    assert_eq!(replayed.len(), 199);
}

#[test]
fn damage_before_the_last_group_is_refused_with_its_place() {
    let (disk, contents, ends) = log_of(4);
    let mut noise = Noise::new(2);
    let mut whole = 0;
    for _ in 0..300 {
        let at = noise.below(ends[3]) as usize;
        let mut damaged = contents.clone();
        damaged[at] ^= 1 << noise.below(8);
        match with_contents(&disk, damaged) {
            Ok(replayed) => {
                // The in-use flag is no damage.
                assert_eq!(at, 21);
                assert_eq!(replayed.len(), 4);
                whole += 1;
            }
            Err(error) => {
                assert!(error.0.contains("binlog.000001 is damaged"), "{}", error.0);
                assert!(error.0.contains("restore the file"));
                let event = ends.iter().rposition(|&end| end <= at as u64);
                let first = event.map_or(0, |i| ends[i]);
                let position: u64 = {
                    let rest = error.0.split("position ").nth(1).unwrap();
                    rest.split(':').next().unwrap().parse().unwrap()
                };
                assert!((first..=at as u64).contains(&position), "{at}: {}", error.0);
            }
        }
    }
    assert!(whole < 10);
    // A hole of a whole group, as a disk may lose it.
    let mut hole = contents.clone();
    hole[ends[1] as usize..ends[2] as usize].fill(0);
    assert!(with_contents(&disk, hole).is_err());
    // A log that ends before what the base has.
    let mut short = contents;
    short[ends[2] as usize..].fill(0);
    let disk = disk.crash(0);
    disk.put(&Path::new(DIR).join(file_name(1)), short);
    let from = Position {
        file: 1,
        offset: ends[1],
    };
    assert_eq!(
        open_from(&disk.crash(0).env(), options(), from, 2)
            .unwrap()
            .1
            .len(),
        0
    );
    let error = open_from(&disk.env(), options(), from, 3).err().unwrap();
    assert!(error.0.contains("base has"), "{}", error.0);
}

#[test]
fn commits_wait_while_the_disk_is_full_and_further_ones_are_refused() {
    let disk = disk();
    let env = disk.env();
    let (told, notices) = std::sync::mpsc::channel();
    env.on_notice(move |_, line| told.send(line.to_owned()).unwrap());
    let (log, _) = open(&env).unwrap();
    commit(&log, insert(1, 400)).unwrap();
    disk.set_capacity(12 << 10);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let ids = 2..;
            ids.map(|id| commit(&log, insert(id, 400)))
                .find_map(|result| match result {
                    Err(LogError::Full(_)) => Some(log.visible()),
                    Err(error) => panic!("{error}"),
                    Ok(seq) if seq > 60 => Some(seq),
                    Ok(_) => None,
                })
                .unwrap()
        });
        let notice = notices
            .recv_timeout(std::time::Duration::from_secs(20))
            .unwrap();
        assert!(
            notice.contains("until there is room on the disk"),
            "{notice}"
        );
        let before = log.visible();
        let refused = log.commit(insert(1_000, 10), |_| ()).err();
        assert!(matches!(refused, Some(LogError::Full(_))), "{refused:?}");
        assert_eq!(log.visible(), before);
        let waited = log.wait_visible(log.exclusive(|last| last));
        assert!(matches!(waited, Err(LogError::Full(_))), "{waited:?}");
        assert!(matches!(log.stopped(), Some(LogError::Full(_))));
        disk.set_capacity(usize::MAX);
        let last = waiting.join().unwrap();
        assert!(before > 5 && last > before, "{before} {last}");
        let notice = notices
            .recv_timeout(std::time::Duration::from_secs(20))
            .unwrap();
        assert!(notice.contains("commits go on"), "{notice}");
        assert_eq!(log.stopped(), None);
    });
    let last = log.visible();
    drop(log);
    let (_log, replayed) = open(&disk.env()).unwrap();
    check(&replayed, 0, last);
}

/// A checkpoint that waits for a commit has what others wait for, too.
#[test]
fn who_waits_when_the_disk_becomes_full_is_told() {
    for _ in 0..50 {
        let disk = disk();
        let (log, _) = open(&disk.env()).unwrap();
        commit(&log, insert(1, 400)).unwrap();
        disk.set_capacity(1);
        std::thread::scope(|scope| {
            let (told, waited) = std::sync::mpsc::channel();
            let log = &log;
            scope.spawn(move || {
                let placed = loop {
                    let placed = log.exclusive(|last| last);
                    if placed > 1 {
                        break placed;
                    }
                };
                told.send(log.wait_visible(placed))
            });
            let commits = scope.spawn(|| commit(log, insert(2, 100_000)));
            let waited = waited.recv_timeout(std::time::Duration::from_secs(20));
            disk.set_capacity(usize::MAX);
            assert!(matches!(waited, Ok(Err(LogError::Full(_)))), "{waited:?}");
            assert!(commits.join().unwrap().is_ok());
        });
    }
}

#[test]
fn random_and_mutated_bytes_do_not_panic() {
    let (disk, contents, ends) = log_of(2);
    let mut noise = Noise::new(3);
    for _ in 0..500 {
        let mut bytes = contents[..ends[2] as usize].to_vec();
        match noise.below(3) {
            0 => bytes.fill_with(|| noise.next_u64() as u8),
            1 => {
                for _ in 0..=noise.below(20) {
                    let at = noise.below(bytes.len() as u64) as usize;
                    bytes[at] = noise.next_u64() as u8;
                }
            }
            _ => bytes.truncate(noise.below(ends[2]) as usize),
        }
        // As whole events with right checksums and wrong contents, too.
        let position = ends[0];
        let rest = bytes.get(ends[0] as usize..).unwrap_or_default().to_vec();
        reseal(rest, position, |whole| {
            let mut fixed = bytes[..ends[0] as usize].to_vec();
            fixed.extend_from_slice(&whole);
            let _ = try_open(&disk, fixed);
        });
        let _ = try_open(&disk, bytes);
    }
}

fn try_open(disk: &Disk, contents: Vec<u8>) -> Result<usize, OpenError> {
    let disk = disk.crash(0);
    disk.put(&Path::new(DIR).join(file_name(1)), contents);
    let mut changes = 0;
    let mut replay = InOrder(|transaction: &Replayed<'_>| {
        changes += transaction.changes().count();
    });
    let (from, dir) = (Known::default(), Path::new(DIR));
    Log::open(&disk.env(), dir, options(), from, &mut replay, &mut |_| ())?;
    Ok(changes)
}

/// Gives events whose header fits new positions and checksums.
fn reseal(mut bytes: Vec<u8>, position: u64, with: impl FnOnce(Vec<u8>)) {
    let mut at = 0;
    while let Some(header) = bytes.get(at..at + 19) {
        let size = u32::from_le_bytes(header[9..13].try_into().unwrap()) as usize;
        if size < 23 || at + size > bytes.len() {
            break;
        }
        at += size;
    }
    if at == 0 {
        return;
    }
    crate::log::seal::events(&mut bytes[..at], position, 1, 1);
    assert!(Event::parse(&bytes, position).is_ok());
    with(bytes);
}
