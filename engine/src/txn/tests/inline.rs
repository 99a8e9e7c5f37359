//! An engine without threads does the same on the disk each time.

use super::*;
use crate::log::LogStep;
use std::path::PathBuf;

fn inline_options() -> EngineOptions {
    EngineOptions {
        inline: true,
        max_binlog_size: 4096,
        delta_bytes: 2048,
        ..options()
    }
}

/// All files of a disk, with the number of its calls.
type Files = (u64, Vec<(PathBuf, Vec<u8>)>);

fn files(disk: &Disk) -> Files {
    let dir = Path::new(DIR);
    let names = disk.env().list(dir).unwrap();
    let paths = names.into_iter().map(|name| dir.join(name));
    let contents = paths.map(|path| (path.clone(), disk.contents(&path).unwrap()));
    (disk.operations(), contents.collect())
}

/// Commits in groups of three, schema changes, rotations and checkpoints; then it is opened again.
fn run() -> Files {
    let disk = Disk::new(7);
    let engine = try_open(&disk.env(), inline_options()).unwrap();
    let t = create(&engine);
    for n in 0..40 {
        let placed = [0, 1, 2].map(|part| {
            let mut txn = begin(&engine, Isolation::RepeatableRead);
            let id = n * 3 + part;
            insert(&mut txn, &t, (id, Some(n), Some(id))).unwrap();
            txn.commit_placed("test").unwrap().unwrap()
        });
        for placed in placed {
            placed.wait(&owner(1)).unwrap();
        }
        match n % 4 {
            0 => engine.step(Step::Log(LogStep::Keep)),
            1 => engine.step(Step::Checkpoint),
            2 => engine.log().rotate().unwrap(),
            _ => drop(create_table(&engine, &format!("t{n}"), n % 8 == 3)),
        }
    }
    assert!(engine.stats().checkpoints > 3);
    assert!(engine.log().files().len() > 10);
    drop(engine);
    let disk = disk.crash(1);
    let engine = try_open(&disk.env(), inline_options()).unwrap();
    assert_eq!(all_rows(&engine, &find(&engine, "t")).len(), 120);
    engine.close().unwrap();
    files(&disk)
}

#[test]
fn the_same_calls_give_the_same_files() {
    assert_eq!(run(), run());
}

/// Whoever waits for a statement's GTID may use what the statement defined.
#[test]
fn a_definition_is_there_when_its_number_is_visible() {
    let engine = Arc::new(try_open(&Disk::new(7).env(), inline_options()).unwrap());
    let t = create(&engine);
    // It is told with the group of the definition that follows.
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    insert(&mut txn, &t, (1, None, None)).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let looked_at = Arc::clone(&engine);
    let look = move |result: Result<(), TxnError>, _| {
        result.unwrap();
        let defined = looked_at.dictionary().table("test", "t2").is_some();
        tell.send((looked_at.log().visible(), defined)).unwrap();
    };
    txn.commit_placed("test").unwrap().unwrap().when_known(look);
    let before = engine.log().visible();
    create_table(&engine, "t2", false);
    assert_eq!(told.recv().unwrap(), (before + 2, true));
}
