//! Files: rotation, purging, the index, what is shown of them.

use super::*;
use crate::log::{LogStep, file_name};
use std::io::ErrorKind;

/// Waits until nothing more happens on the disk; returns how many calls there were.
fn quiet(disk: &Disk) -> u64 {
    loop {
        let calls = disk.operations();
        std::thread::sleep(std::time::Duration::from_millis(30));
        if disk.operations() == calls {
            return calls;
        }
    }
}

fn names(log: &Log) -> Vec<String> {
    log.files().iter().map(|file| file.name()).collect()
}

#[test]
fn all_kinds_of_changes_come_back() {
    let disk = disk();
    let (log, replayed) = open(&disk.env()).unwrap();
    assert_eq!(replayed, []);
    let mut ddl = Batch::new("test", 1);
    ddl.internal(b"table/1", Some(b"definition"));
    ddl.internal(b"table/0", None);
    ddl.query("CREATE TABLE t1 (id INT)", &Reading::default());
    assert_eq!(commit(&log, ddl), Ok(1));
    let mut rows = Batch::new("test", 1);
    rows.insert(&table(1), &image(1, b"abc"));
    rows.insert(&table(1), &image(2, b""));
    rows.end_statement();
    rows.insert(&table(2), &image(3, b"x"));
    rows.update(&table(1), &image(1, b"abc"), &image(1, b"d"));
    rows.delete(&table(1), &image(2, b""));
    rows.internal(b"key", Some(b"value"));
    assert_eq!(commit(&log, rows), Ok(2));
    let records = {
        let mut batch = Batch::new("", 0);
        batch.internal(b"user/root", Some(b""));
        batch
    };
    assert_eq!(commit(&log, records), Ok(3));
    assert_eq!(log.visible(), 3);
    assert_eq!(log.durable(), 3);
    log.close().unwrap();
    let (log, replayed) = open(&disk.env()).unwrap();
    let told: Vec<(Seq, Vec<&str>)> = replayed
        .iter()
        .map(|(seq, changes)| (*seq, changes.iter().map(String::as_str).collect()))
        .collect();
    assert_eq!(
        told,
        [
            (
                1,
                vec![
                    "table/1 = Some(\"definition\")",
                    "table/0 = None",
                    "test: CREATE TABLE t1 (id INT)"
                ]
            ),
            (
                2,
                vec![
                    "insert 1: 1*3 2*0",
                    "insert 2: 3*1",
                    "update 1: 1*3 1*1",
                    "delete 1: 2*0",
                    "key = Some(\"value\")"
                ]
            ),
            (3, vec!["user/root = Some(\"\")"]),
        ]
    );
    assert_eq!(log.visible(), 3);
    assert_eq!(commit(&log, insert(9, 9)), Ok(4));
}

#[test]
fn a_full_file_is_followed_by_the_next() {
    let disk = disk();
    let env = disk.env();
    let options = Options {
        max_binlog_size: 4096,
        ..options()
    };
    let (log, _) = open_from(&env, options, Position::default(), 0).unwrap();
    let mut wanted = Vec::new();
    for id in 1..=60 {
        commit(&log, insert(id, 300)).unwrap();
        wanted.push((u64::from(id), vec![format!("insert 1: {id}*300")]));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let files = log.files();
    assert!(files.len() > 3, "{files:?}");
    log.close().unwrap();
    for pair in files.windows(2) {
        let contents = disk.contents(&Path::new(DIR).join(pair[0].name())).unwrap();
        let next = pair[1].name();
        assert_eq!(
            &contents[contents.len() - 4 - next.len()..contents.len() - 4],
            next.as_bytes()
        );
        assert!(pair[0].after < pair[1].after);
    }
    let (log, replayed) = open(&env).unwrap();
    assert_eq!(replayed, wanted);
    drop(log);
    // From any file on, and from any commit on.
    for file in &files[1..] {
        let from = Position {
            file: file.number,
            offset: 4,
        };
        let (log, replayed) = open_from(&env, super::options(), from, file.after).unwrap();
        assert_eq!(replayed, wanted[file.after as usize..]);
        drop(log);
        let error = open_from(&env, super::options(), from, file.after - 1).err();
        assert!(error.unwrap().0.contains("is missing"));
    }
}

#[test]
fn flush_purge_and_the_recovery_floor() {
    let disk = disk();
    let env = disk.env();
    let (log, _) = open(&env).unwrap();
    for id in 1..=4 {
        commit(&log, insert(id, 10)).unwrap();
        log.rotate().unwrap();
    }
    assert_eq!(names(&log).len(), 5);
    assert_eq!(log.purge_to("binlog.000099"), Ok(None));
    assert_eq!(
        log.purge_to("binlog.000005"),
        Ok(Some(0)),
        "recovery needs them"
    );
    log.set_recovery_floor(Position { file: 3, offset: 4 });
    assert_eq!(log.purge_to("binlog.000005"), Ok(Some(2)));
    assert_eq!(
        names(&log),
        ["binlog.000003", "binlog.000004", "binlog.000005"]
    );
    log.set_recovery_floor(log.position());
    assert_eq!(log.purge_before(u64::MAX), Ok(1));
    assert_eq!(names(&log), ["binlog.000004", "binlog.000005"]);
    commit(&log, insert(5, 10)).unwrap();
    log.close().unwrap();
    let index = disk.contents(&Path::new(DIR).join("binlog.index")).unwrap();
    assert_eq!(index, b"./binlog.000004\n./binlog.000005\n");
    let from = Position { file: 4, offset: 0 };
    let (log, replayed) = open_from(&env, options(), from, 3).unwrap();
    assert_eq!(replayed.len(), 2);
    drop(log);
    let error = open(&env).err().unwrap();
    assert!(error.0.contains("binlog.000003 is missing"), "{}", error.0);
}

/// What PURGE is for: there is no room for a new index before there is one file less.
#[test]
fn purging_makes_room_on_a_full_disk() {
    let disk = disk();
    let env = disk.env();
    let (log, _) = open(&env).unwrap();
    for id in 1..=6 {
        commit(&log, insert(id, 10)).unwrap();
        log.rotate().unwrap();
    }
    quiet(&disk);
    log.set_recovery_floor(log.position());
    let from = log.position();
    // Whatever the index is called while it is written, there is no byte for it.
    disk.set_capacity(disk.used());
    let calls = disk.operations();
    disk.copy_before(calls + 1..calls + 100);
    assert_eq!(log.purge_to("binlog.000005"), Ok(Some(4)));
    assert_eq!(names(&log).first().unwrap(), "binlog.000005");
    let index = disk.contents(&Path::new(DIR).join("binlog.index")).unwrap();
    assert!(index.starts_with(b"./binlog.000005\n"));
    drop(log);
    // A crash at any moment of it leaves a log that opens.
    for (call, disk) in (0..).zip(disk.take_copies()) {
        for disk in [disk.crash(call), disk.power_loss(call), disk.copy()] {
            disk.set_capacity(usize::MAX);
            let opened = open_from(&disk.env(), options(), from, 6);
            assert!(opened.is_ok(), "call {call}: {:?}", opened.err());
        }
    }
}

/// Files that somebody has removed already do not keep the others.
#[test]
fn purging_goes_on_where_a_file_is_gone() {
    let disk = disk();
    let env = disk.env();
    let (log, _) = open(&env).unwrap();
    for id in 1..=4 {
        commit(&log, insert(id, 10)).unwrap();
        log.rotate().unwrap();
    }
    log.set_recovery_floor(log.position());
    let path = |number| Path::new(DIR).join(file_name(number));
    env.remove(&path(2)).unwrap();
    assert_eq!(log.purge_to("binlog.000004"), Ok(Some(3)));
    assert!(disk.contents(&path(1)).is_none() && disk.contents(&path(3)).is_none());
}

/// Commits go on in the file there is, which grows: the operator is told, once.
#[test]
fn a_next_file_that_cannot_be_made_is_told() {
    let disk = disk();
    let env = disk.env();
    let (told, notices) = std::sync::mpsc::channel();
    env.on_notice(move |_, line| told.send(line.to_owned()).unwrap());
    let (log, _) = open(&env).unwrap();
    for _ in 0..2 {
        let calls = quiet(&disk);
        disk.fail_at(calls + 1, ErrorKind::PermissionDenied);
        assert!(log.rotate().is_err());
    }
    commit(&log, insert(1, 10)).unwrap();
    log.rotate().unwrap();
    drop(log);
    let notices: Vec<String> = notices.try_iter().collect();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].contains("cannot prepare binlog.000002"));
    assert!(notices[1].contains("possible again"));
}

#[test]
fn files_expire() {
    let disk = disk();
    let options = Options {
        expire_logs_seconds: 100,
        ..options()
    };
    let (log, _) = open_from(&disk.env(), options, Position::default(), 0).unwrap();
    commit(&log, insert(1, 10)).unwrap();
    log.rotate().unwrap();
    commit(&log, insert(2, 10)).unwrap();
    log.set_recovery_floor(log.position());
    disk.advance(101_000_000);
    // The keeper looks when a file was left.
    log.set_auto_purge(false);
    log.rotate().unwrap();
    quiet(&disk);
    assert_eq!(log.files().len(), 3);
    log.set_auto_purge(true);
    log.rotate().unwrap();
    let left = ["binlog.000002", "binlog.000003", "binlog.000004"];
    for _ in 0..500 {
        if names(&log) == left {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(names(&log), left);
}

#[test]
fn events_are_shown_in_mysqls_words() {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    let mut ddl = Batch::new("test", 1);
    ddl.internal(b"k", None);
    ddl.query("DROP TABLE x", &Reading::default());
    commit(&log, ddl).unwrap();
    commit(&log, insert(2, 1)).unwrap();
    let shown = log.events("binlog.000001", 0, 100).unwrap().unwrap();
    let lines: Vec<String> = shown
        .iter()
        .map(|event| format!("{} {}", event.event_type, event.info))
        .collect();
    let uuid = "abababab-abab-abab-abab-abababababab";
    assert_eq!(
        lines,
        [
            "Format_desc Server ver: 9.7.0-cohort-test, Binlog ver: 4".to_owned(),
            "Previous_gtids ".to_owned(),
            format!("Gtid SET @@SESSION.GTID_NEXT= '{uuid}:1'"),
            "Ignorable # Cohort's internal records".to_owned(),
            "Query use `test`; DROP TABLE x".to_owned(),
            format!("Gtid SET @@SESSION.GTID_NEXT= '{uuid}:2'"),
            "Query BEGIN".to_owned(),
            "Table_map table_id: 1 (test.t1)".to_owned(),
            "Write_rows table_id: 1 flags: STMT_END_F".to_owned(),
            "Xid COMMIT /* xid=2 */".to_owned(),
        ]
    );
    for pair in shown.windows(2) {
        assert_eq!(pair[0].end, pair[1].position);
    }
    assert_eq!(shown.last().unwrap().end, log.end().offset);
    let some = log.events("binlog.000001", shown[3].position, 2);
    assert_eq!(some.unwrap().unwrap(), shown[3..5]);
    assert!(log.events("binlog.000001", 5, 2).is_err());
    assert_eq!(log.events("binlog.000002", 0, 2), Ok(None));
}

#[test]
fn a_damaged_index_or_missing_file_is_refused() {
    let disk = disk();
    let env = disk.env();
    let (log, _) = open(&env).unwrap();
    for id in 1..=3 {
        commit(&log, insert(id, 10)).unwrap();
        log.rotate().unwrap();
    }
    log.close().unwrap();
    let path = |name: &str| Path::new(DIR).join(name);
    let index = disk.contents(&path("binlog.index")).unwrap();
    let refused = |why: &str| {
        let error = open(&disk.crash(0).env()).err().unwrap();
        assert!(error.0.contains(why), "{}", error.0);
    };
    disk.put(&path("binlog.index"), b"nonsense\n".to_vec());
    refused("binlog.index is damaged");
    disk.put(&path("binlog.index"), Vec::new());
    refused("does not name binlog.000001");
    disk.put(&path("binlog.index"), index[16..].to_vec());
    refused("does not name binlog.000001");
    disk.put(&path("binlog.index"), index);
    let contents = disk.contents(&path(&file_name(2))).unwrap();
    env.remove(&path(&file_name(2))).unwrap();
    env.sync_dir(Path::new(DIR)).unwrap();
    refused("binlog.000002 is missing");
    disk.put(&path(&file_name(2)), contents);
    assert_eq!(open(&disk.crash(0).env()).unwrap().1.len(), 3);
    let (_log, replayed) = open(&env).unwrap();
    assert_eq!(replayed.len(), 3);
    let ahead = Position { file: 9, offset: 4 };
    let error = open_from(&disk.crash(0).env(), options(), ahead, 3).err();
    assert!(error.unwrap().0.contains("binlog.000009 is missing"));
}

#[test]
fn a_failed_write_or_sync_is_final() {
    for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
        // The write of a group and its sync are the next two calls. A write that failed for want
        // of space is tried again.
        for call in if kind == ErrorKind::Other {
            1..=2
        } else {
            2..=2
        } {
            let disk = disk();
            let (log, _) = open(&disk.env()).unwrap();
            commit(&log, insert(1, 10)).unwrap();
            // Let the keeper finish its zeros, so that the calls are the writer's.
            let calls = quiet(&disk);
            disk.fail_at(calls + call, kind);
            let error = commit(&log, insert(2, 10)).unwrap_err();
            assert!(error.to_string().contains("restart"), "{error}");
            assert_eq!(commit(&log, insert(3, 10)).unwrap_err(), error);
            assert_eq!(log.rotate().unwrap_err(), error);
            assert_eq!(log.wait_durable(2).unwrap_err(), error);
            assert_eq!(log.visible(), 1);
            assert_eq!(log.close(), Err(error));
            let (log, replayed) = open(&disk.crash(3).env()).unwrap();
            assert!(replayed.len() == 1 || replayed.len() == 2);
            assert!(commit(&log, insert(4, 10)).is_ok());
        }
    }
}

/// A disk that allocates late says only when it syncs that it is full, and has lost by then what
/// was to be written.
#[test]
fn a_sync_of_the_length_that_failed_is_final_too() {
    for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
        let disk = disk();
        disk.lose_on_failed_sync();
        let options = Options {
            sync_binlog: 0,
            ..options()
        };
        let (log, _) = open_from(&disk.env(), options, Position::default(), 0).unwrap();
        commit(&log, insert(1, 10)).unwrap();
        // The next group makes the file longer: a change of length, and a sync.
        let calls = quiet(&disk);
        disk.fail_at(calls + 2, kind);
        assert!(commit(&log, insert(2, 60_000)).is_err(), "{kind}");
        assert!(log.wait_durable(1).is_err());
        assert!(log.close().is_err());
    }
}

#[test]
fn without_syncs_commits_are_visible_and_durable_on_demand() {
    let disk = disk();
    let options = Options {
        sync_binlog: 0,
        // The keeper's syncs, of zeros, make the groups in the same file durable, too: let it
        // have enough with the first time.
        preallocate: 64 << 10,
        ..options()
    };
    let (log, _) = open_from(&disk.env(), options, Position::default(), 0).unwrap();
    for id in 1..=5 {
        commit(&log, insert(id, 10)).unwrap();
    }
    assert_eq!((log.visible(), log.durable()), (5, 0));
    quiet(&disk);
    assert_eq!(log.status().fsyncs, 0);
    log.wait_durable(3).unwrap();
    assert_eq!(log.durable(), 5);
    assert_eq!(log.status().fsyncs, 1);
    log.set_sync_binlog(2);
    for id in 6..=9 {
        commit(&log, insert(id, 10)).unwrap();
    }
    assert_eq!(log.status().fsyncs, 3);
    assert_eq!(log.durable(), 9);
    // However much of it a crash leaves, it is a beginning of what was committed.
    commit(&log, insert(10, 1000)).unwrap();
    log.set_sync_binlog(0);
    for id in 11..=15 {
        commit(&log, insert(id, 1000)).unwrap();
    }
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let (_log, replayed) = open(&disk.crash(seed).env()).unwrap();
        let seqs: Vec<Seq> = replayed.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
        lengths.insert(seqs.len());
    }
    assert!(
        lengths.first() >= Some(&9) && lengths.len() > 2,
        "{lengths:?}"
    );
}

#[test]
fn a_commit_is_visible_only_when_all_before_it_are_applied() {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    let (mut first, ()) = log.commit(insert(1, 1), |_| ()).unwrap();
    let (mut second, seen) = log.commit(insert(2, 1), |seq| seq * 10).unwrap();
    assert_eq!((second.seq(), seen), (2, 20));
    second.applied();
    log.wait_durable(0).unwrap();
    while log.durable() < 2 {
        std::thread::yield_now();
    }
    assert_eq!(log.visible(), 0);
    let waiter = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| log.wait_visible(2).map(|()| log.visible()));
        std::thread::sleep(std::time::Duration::from_millis(10));
        first.applied();
        waiting.join().unwrap()
    });
    assert_eq!(waiter, Ok(2));
    log.wait(first).unwrap();
    log.wait(second).unwrap();
    assert_eq!(log.exclusive(|last| last), 2);
}

/// A file that was begun, and into which nothing was committed, may have lost its header when the
/// next one was prepared already.
#[test]
fn two_files_at_the_end_may_not_have_begun() {
    let mut lost = 0;
    for seed in 0..60 {
        let disk = disk();
        let options = Options {
            inline: true,
            ..options()
        };
        let (log, _) = open_from(&disk.env(), options, Position::default(), 0).unwrap();
        assert_eq!(commit(&log, insert(1, 10)), Ok(1));
        log.rotate().unwrap();
        log.shared.keeper.ask_next();
        log.step(LogStep::Keep);
        log.step(LogStep::Keep);
        let index = disk.contents(&Path::new(DIR).join("binlog.index")).unwrap();
        assert!(index.ends_with(b"./binlog.000003\n"));
        let after = disk.power_loss(seed);
        let second = after
            .contents(&Path::new(DIR).join("binlog.000002"))
            .unwrap();
        lost += u32::from(!second.starts_with(b"\xfebin"));
        let (log, replayed) = open(&after.env()).expect("nothing is damaged");
        assert_eq!(replayed.len(), 1, "seed {seed}");
        assert_eq!(commit(&log, insert(2, 10)), Ok(2));
    }
    assert!(lost > 5, "{lost}");
}
