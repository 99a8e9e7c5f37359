//! Files that are damaged, missing, exchanged or old; reads that fail; names used again.

use super::*;
use crate::env::fake::{Damage, Noise};
use std::{io::ErrorKind, path::PathBuf};

fn base_path() -> PathBuf {
    Path::new(DIR).join("cohort.base")
}

fn log_path(number: u64) -> PathBuf {
    Path::new(DIR).join(crate::log::file_name(number))
}

/// Rows with large values of `id`, so that the table has several pages.
fn fill(engine: &Engine, table: &Arc<Table>, ids: std::ops::Range<i64>) {
    let mut txn = begin(engine, Isolation::RepeatableRead);
    for id in ids {
        insert(&mut txn, table, (id, Some(id % 7), Some(id))).unwrap();
    }
    txn.commit("test").unwrap();
}

fn refusal(disk: &Disk) -> String {
    match try_open(&disk.env(), options()) {
        Ok(_) => panic!("it opens"),
        Err(error) => error.0,
    }
}

/// All rows, or the error that reading them meets.
fn try_rows(engine: &Engine, table: &Arc<Table>) -> Result<Vec<Row>, TxnError> {
    let mut txn = begin(engine, Isolation::RepeatableRead);
    let table = use_table(&mut txn, table)?;
    let range = KeyRange {
        low: Vec::new(),
        high: None,
    };
    let mut scan = txn.scan(table.rows, range, false, Read::Plain);
    let (mut rows, mut batch) = (Vec::new(), Batch::default());
    loop {
        scan.next(&mut txn, &mut batch, 100)?;
        if batch.is_empty() {
            return Ok(rows);
        }
        rows.extend((0..batch.len()).map(|place| row_of(&table, batch.get(place).1)));
    }
}

#[test]
fn what_was_dropped_before_a_crash_does_not_come_back_in_a_new_table() {
    let disk = disk();
    let engine = open(&disk.env());
    let dropped = create(&engine);
    fill(&engine, &dropped, 1..4);
    change(&engine, SchemaChange::DropTables(vec![dropped.id])).unwrap();
    let truncated = create_table(&engine, "t", false);
    fill(&engine, &truncated, 1..4);
    change(&engine, SchemaChange::Truncate(truncated.id)).unwrap();
    for seed in 0..3 {
        // Recovered once, or twice.
        let engine = open(&disk.crash(seed).env());
        for name in ["b", "c", "d", "e"] {
            let table = create_table(&engine, name, name < "d");
            let ids = [&dropped, &truncated].map(|old| {
                let trees = old.indexes.iter().map(|index| index.tree);
                trees.chain([old.id, old.rows]).collect::<Vec<_>>()
            });
            assert!(!ids.concat().contains(&table.id));
            assert!(!ids.concat().contains(&table.rows));
            assert_eq!(all_rows(&engine, &table), []);
            check_indexes(&engine, &table);
            fill(&engine, &table, 1..9);
            engine.checkpoint().unwrap();
            check_indexes(&engine, &table);
            assert_eq!(all_rows(&engine, &table).len(), 8);
        }
    }
}

#[test]
fn a_checkpoint_that_spans_a_rotation_does_not_refuse_the_start() {
    let disk = disk();
    let options = EngineOptions {
        inline: true,
        ..options()
    };
    let engine = try_open(&disk.env(), options).unwrap();
    let t = create(&engine);
    fill(&engine, &t, 1..4);
    // The file that is left is closed by the keeper, who does not come to it before the crash.
    engine.log().rotate().unwrap();
    fill(&engine, &t, 4..8);
    engine.checkpoint().unwrap();
    for seed in 0..20 {
        let engine = open(&disk.crash(seed).env());
        assert_eq!(all_rows(&engine, &find(&engine, "t")).len(), 7);
    }
}

#[test]
fn a_base_that_is_not_the_logs_own_refuses_the_start() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    fill(&engine, &t, 1..50);
    engine.checkpoint().unwrap();
    let older = disk.contents(&base_path()).unwrap();
    fill(&engine, &t, 50..60);
    let plain = disk.crash(1);
    // The same base again: everything that it lacks is in the log.
    plain.put(&base_path(), older.clone());
    assert_eq!(all_rows(&open(&plain.env()), &t).len(), 59);
    // Not so what an index build put there.
    let mut new = Table::clone(&t);
    new.indexes.push(index(&engine, "b", 1, false));
    let alter = SchemaChange::AlterInPlace {
        old: Arc::clone(&t),
        new,
        others: Others::default(),
    };
    change(&engine, alter).unwrap();
    let built = disk.crash(1);
    built.put(&base_path(), older);
    let error = refusal(&built);
    assert!(error.contains("cohort.base is older"), "{error}");

    let crashed = disk.crash(1);
    let gone = disk.crash(1);
    gone.env().remove(&base_path()).unwrap();
    assert!(refusal(&gone).contains("is missing, but there are binary logs"));
    let empty = disk.crash(1);
    empty.put(&base_path(), Vec::new());
    assert!(refusal(&empty).contains("shorter than its header"));
    let other = Disk::new(77);
    create(&open(&other.env()));
    crashed.put(&base_path(), other.contents(&base_path()).unwrap());
    let error = refusal(&crashed);
    assert!(error.contains("another data directory"), "{error}");
    for cut in [1, 4096, 8192] {
        let short = disk.crash(1);
        let length = short.contents(&base_path()).unwrap().len();
        short.damage(&base_path(), Damage::Cut(length - cut));
        let error = refusal(&short);
        assert!(error.contains("the file had"), "{error}");
    }
}

#[test]
fn a_log_in_use_that_was_cut_or_emptied_refuses_the_start() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    for id in 0..50 {
        fill(&engine, &t, id..id + 1);
    }
    let number = engine.log().end().file;
    let end = usize::try_from(engine.log().end().offset).unwrap();
    for cut in [0, 100, end / 4, end / 2, end - 1, end] {
        let cut_disk = disk.crash(1);
        cut_disk.damage(&log_path(number), Damage::Cut(cut));
        let error = refusal(&cut_disk);
        assert!(error.contains("binlog.000001"), "{cut}: {error}");
    }
}

/// Any sector of the base is damaged: whatever is read is right, or an error that says what and
/// where; other tables are not concerned, and nothing panics.
fn damage_of_the_base(layered: bool) {
    // Without threads, rows are moved up when they are told to.
    let options = || EngineOptions {
        inline: layered,
        ..options()
    };
    let disk = disk();
    let engine = open(&disk.env());
    let mut t = create(&engine);
    let other = create_table(&engine, "other", false);
    fill(&engine, &t, 0..600);
    fill(&engine, &other, 0..600);
    engine.close().unwrap();
    if layered {
        let engine = try_open(&disk.env(), options()).unwrap();
        put_over(&engine, &t);
        t = find(&engine, "t");
        engine.close().unwrap();
    }
    let length = disk.contents(&base_path()).unwrap().len();
    let expected: Vec<Row> = (0..600).map(|id| (id, Some(id % 7), Some(id))).collect();
    let mut noise = Noise::new(5);
    let (mut refused, mut errors, mut fine) = (0, 0, 0);
    for round in 0..150 {
        let damaged = disk.crash(1);
        let sectors = length / crate::env::fake::SECTOR;
        let sector = noise.below(sectors as u64) as usize;
        damaged.damage(
            &base_path(),
            match round % 3 {
                0 => Damage::Flip {
                    offset: noise.below(length as u64) as usize,
                    bit: noise.below(8) as u8,
                },
                1 => Damage::Zero(sector),
                _ => Damage::Swap(sector, noise.below(sectors as u64) as usize),
            },
        );
        let engine = match try_open(&damaged.env(), options()) {
            Ok(engine) => engine,
            Err(error) => {
                assert!(error.0.contains("cohort.base"), "{}", error.0);
                refused += 1;
                continue;
            }
        };
        for table in [&t, &other, &t, &other] {
            if layered {
                engine.step(Step::Checkpoint);
            }
            let report = engine
                .check_table(&owner(1), table, 1_000, || {})
                .expect("a report");
            match try_rows(&engine, table) {
                Ok(rows) => {
                    assert_eq!(rows, expected, "round {round}");
                    fine += 1;
                }
                Err(error) => {
                    assert!(matches!(error, TxnError::Damaged { .. }), "{error:?}");
                    let text = error.to_string();
                    assert!(text.contains("cohort.base at byte"), "{text}");
                    assert!(text.contains(&table.name), "{text}");
                    assert!(!report.problems.is_empty());
                    errors += 1;
                }
            }
        }
        // It can be stopped; what could not be merged is in the log.
        let _ = engine.close();
    }
    assert!(
        refused > 0 && errors > 10 && fine > 50,
        "{refused} {errors} {fine}"
    );
}

#[test]
fn damage_of_the_base_is_an_error_and_never_an_answer() {
    damage_of_the_base(false);
}

#[test]
fn damage_of_rows_in_an_older_shape_is_an_error_and_never_an_answer() {
    damage_of_the_base(true);
}

/// Rows get another shape, which is the one they have.
fn put_over(engine: &Engine, table: &Arc<Table>) {
    change(engine, over(engine, table, &table.name)).unwrap();
}

fn over(engine: &Engine, table: &Arc<Table>, name: &str) -> SchemaChange<'static> {
    let mut new = Table::clone(table);
    name.clone_into(&mut new.name);
    new.rows = engine.new_id();
    let primary = new.primary.iter_mut();
    primary.for_each(|primary| primary.tree = new.rows);
    let columns = &table.columns;
    let sources: Vec<_> = (0..columns.len()).map(row::Source::Column).collect();
    let reshape = row::Reshape::new(columns, columns, &sources).unwrap();
    let old = Arc::clone(table);
    SchemaChange::Reshape { old, new, reshape }
}

#[test]
fn rows_of_another_shape_take_no_name_that_is_taken() {
    let engine = open(&disk().env());
    let t = create(&engine);
    create_table(&engine, "other", true);
    let taken = change(&engine, over(&engine, &t, "other"));
    assert!(matches!(taken, Err(TxnError::TableChanged)), "{taken:?}");
    change(&engine, over(&engine, &t, "free")).unwrap();
    assert!(engine.dictionary().table("test", "t").is_none());
}

#[test]
fn a_damaged_table_does_not_stop_the_others_and_can_be_dropped() {
    let disk = disk();
    let engine = open(&disk.env());
    let (t, other) = (create(&engine), create_table(&engine, "other", true));
    fill(&engine, &t, 0..2_000);
    fill(&engine, &other, 0..10);
    engine.close().unwrap();
    // Some block in which the table's rows are, and nothing else.
    let contents = disk.contents(&base_path()).unwrap();
    let probe = image(&t, (1_000, Some(1_000 % 7), Some(1_000)));
    let at = contents
        .windows(probe.len())
        .position(|bytes| bytes == probe);
    disk.damage(
        &base_path(),
        Damage::Flip {
            offset: at.unwrap(),
            bit: 3,
        },
    );
    let engine = open(&disk.env());
    assert!(matches!(
        try_rows(&engine, &t),
        Err(TxnError::Damaged { .. })
    ));
    fill(&engine, &other, 10..20);
    // A change of the damaged page cannot be merged, and that stops checkpoints, until the table
    // is dropped.
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    use_table(&mut txn, &t).unwrap();
    txn.insert(&t, &image(&t, (1_000_000, None, None)), LockMode::Shared)
        .unwrap();
    txn.commit("test").unwrap();
    let _ = engine.checkpoint();
    change(&engine, SchemaChange::DropTables(vec![t.id])).unwrap();
    let checkpoint = (0..5).find_map(|_| engine.checkpoint().ok());
    assert!(checkpoint.is_some(), "{:?}", engine.checkpoint());
    fill(&engine, &other, 20..30);
    assert_eq!(all_rows(&engine, &other).len(), 30);
    engine.close().unwrap();
    assert_eq!(all_rows(&open(&disk.env()), &other).len(), 30);
}

/// A page cannot be read, and is to be changed: checkpoints fail, and whoever does not need it reads on.
#[test]
fn a_page_that_cannot_be_merged_costs_nobody_else() {
    let disk = disk();
    let engine = open(&disk.env());
    let (t, other) = (create(&engine), create_table(&engine, "other", true));
    fill(&engine, &t, 0..2_000);
    fill(&engine, &other, 0..2_000);
    engine.close().unwrap();
    // The entries of an index are written without a look at its pages. 1998 is the last row with a 3.
    let probe = [key_of(&t, 1, 3), key_of(&t, 0, 1_998)].concat();
    let contents = disk.contents(&base_path()).unwrap();
    let at = contents
        .windows(probe.len())
        .position(|bytes| bytes == probe);
    let flip = Damage::Flip {
        offset: at.unwrap(),
        bit: 3,
    };
    disk.damage(&base_path(), flip);
    let cold = EngineOptions {
        base_cache_bytes: 0,
        ..options()
    };
    let engine = try_open(&disk.env(), cold).unwrap();
    let mut older = begin(&engine, Isolation::RepeatableRead);
    assert!(
        get(&mut older, &other, 1_000, Read::Plain)
            .unwrap()
            .is_some()
    );
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    insert(&mut txn, &t, (9_999, Some(3), None)).unwrap();
    txn.commit("test").unwrap();
    for _ in 0..5 {
        engine.checkpoint().unwrap_err();
        assert_eq!(all_rows(&engine, &other).len(), 2_000);
    }
    drop(older);
    disk.damage(&base_path(), flip);
    let checkpoint = (0..5).find_map(|_| engine.checkpoint().ok());
    assert!(checkpoint.is_some(), "{:?}", engine.checkpoint());
    assert_eq!(all_rows(&engine, &t).len(), 2_001);
    check_indexes(&engine, &t);
}

#[test]
fn a_read_that_fails_costs_who_reads_and_nobody_else() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    fill(&engine, &t, 0..2_000);
    engine.close().unwrap();
    let cold = EngineOptions {
        base_cache_bytes: 0,
        ..options()
    };
    let engine = try_open(&disk.env(), cold).unwrap();
    let before = try_rows(&engine, &t).unwrap();
    let mut failed = 0;
    for n in 0..30 {
        disk.fail_reads(disk.reads() + n, 1, ErrorKind::Other);
        match try_rows(&engine, &t) {
            Ok(rows) => assert_eq!(rows, before),
            Err(TxnError::Storage(text)) => {
                assert!(text.contains("cohort.base"), "{text}");
                failed += 1;
            }
            Err(error) => panic!("{error:?}"),
        }
        disk.fail_reads(0, 0, ErrorKind::Other);
        assert_eq!(try_rows(&engine, &t).unwrap(), before);
    }
    assert!(failed > 5, "{failed}");
    // The same while a checkpoint reads: it is tried again.
    for n in 0..20 {
        fill(&engine, &t, 10_000 + n * 10..10_010 + n * 10);
        disk.fail_reads(disk.reads() + n as u64, 1, ErrorKind::Other);
        let _ = engine.checkpoint();
        disk.fail_reads(0, 0, ErrorKind::Other);
        let checkpoint = (0..3).find_map(|_| engine.checkpoint().ok());
        assert!(checkpoint.is_some(), "{:?}", engine.checkpoint());
        assert_eq!(
            try_rows(&engine, &t).unwrap().len(),
            2_010 + 10 * n as usize
        );
    }
}

/// A sync fails, the process ends, and another one starts on the same machine: what the page cache
/// shows may not be on the disk, so that losing power then must not lose what was acknowledged.
#[test]
fn a_restart_after_a_failed_sync_does_not_trust_the_page_cache() {
    let mut failed = 0;
    for call in 1..60 {
        let disk = Disk::new(call);
        disk.lose_on_failed_sync();
        let engine = open(&disk.env());
        let t = create(&engine);
        fill(&engine, &t, 0..5);
        disk.fail_at(disk.operations() + call, ErrorKind::Other);
        for id in 5..9 {
            let mut txn = begin(&engine, Isolation::RepeatableRead);
            insert(&mut txn, &t, (id, None, None)).unwrap();
            if txn.commit("test").is_err() {
                failed += 1;
                break;
            }
            let _ = engine.checkpoint();
        }
        let disk = disk.copy();
        std::mem::forget(engine);
        let engine = open(&disk.env());
        let shown = all_rows(&engine, &t);
        for id in 20..23 {
            fill(&engine, &t, id..id + 1);
            engine.checkpoint().unwrap();
        }
        for seed in 0..4 {
            let after = open(&disk.crash(seed).env());
            let rows = all_rows(&after, &t);
            assert!(shown.iter().all(|row| rows.contains(row)), "call {call}");
            assert_eq!(rows.len(), shown.len() + 3);
            check_indexes(&after, &t);
        }
    }
    assert!(failed > 0);
}

/// A long snapshot keeps every old version, so that the file grows; nothing but a compaction makes
/// it short again, and a crash at any of its calls loses nothing.
#[test]
fn a_compaction_gives_space_back_and_may_be_cut_short() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    fill(&engine, &t, 0..2_000);
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.take_snapshot();
    for round in 0..8 {
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        for id in 0..2_000 {
            update(&mut txn, &t, id, (id, Some(round), Some(id))).unwrap();
        }
        txn.commit("test").unwrap();
        engine.checkpoint().unwrap();
    }
    drop(old);
    engine.close().unwrap();
    let expected = all_rows(&open(&disk.copy().env()), &t);
    let compacted = disk.copy();
    let done = compact(&compacted.env(), Path::new(DIR), &mut |_, _| {}).unwrap();
    let calls = compacted.operations();
    assert!(done.after < done.before, "{done:?}");
    let length = compacted.contents(&base_path()).unwrap().len();
    assert_eq!(length as u64, done.after);
    assert_eq!(all_rows(&open(&compacted.env()), &t), expected);
    for at in 1..=calls {
        let disk = disk.copy();
        disk.copy_before([at]);
        compact(&disk.env(), Path::new(DIR), &mut |_, _| {}).unwrap();
        for cut in disk.take_copies() {
            let engine = open(&cut.crash(at).env());
            assert_eq!(all_rows(&engine, &t), expected, "call {at} of {calls}");
            check_indexes(&engine, &t);
        }
    }
}
