//! What is told of indexes beside what they are.

use super::*;
use std::collections::BTreeSet;

/// A table whose second column has `values` different values, `skewed` so that a few have most rows.
fn filled(engine: &Engine, rows: i64, values: i64, skewed: bool) -> Arc<Table> {
    let t = create(engine);
    let mut txn = begin(engine, Isolation::ReadCommitted);
    for id in 0..rows {
        let spread = id.wrapping_mul(2_654_435).rem_euclid(1_000_003) % values;
        let value = if skewed && id % 2 == 0 {
            spread % 3
        } else {
            spread
        };
        insert(&mut txn, &t, (id, Some(value), Some(id))).unwrap();
    }
    txn.commit("test").unwrap();
    t
}

fn index(table: &Table, first: u16) -> &Index {
    let mut indexes = table.indexes.iter();
    let found = indexes.find(|index| !index.unique && index.parts[0].column == first);
    found.expect("the index that is not unique")
}

/// The number of different values that is told, beside the true one.
fn told(engine: &Engine, t: &Arc<Table>) -> (f64, f64) {
    let statistics = engine.index_statistics(t, index(t, 1)).unwrap();
    let rows = all_rows(engine, t);
    let values: BTreeSet<_> = rows.iter().map(|(_, value, _)| *value).collect();
    assert_eq!(statistics.entries, rows.len() as u64);
    assert_eq!(*statistics.distinct.last().unwrap(), rows.len() as f64);
    (statistics.distinct[0], values.len() as f64)
}

#[test]
fn different_values_are_told_about_right() {
    for checkpoint in [false, true] {
        for (rows, values) in [(10, 3), (900, 40), (4_000, 1), (4_000, 5), (4_000, 90)] {
            for skewed in [false, true] {
                let disk = disk();
                let engine = open(&disk.env());
                let t = filled(&engine, rows, values, skewed);
                if checkpoint {
                    engine.checkpoint().unwrap();
                }
                let (told, there) = told(&engine, &t);
                let case = format!("{values} values in {rows} rows, skewed: {skewed}");
                let exact = rows <= 1024 || values <= 5;
                let most = if exact { 1.01 } else { 2.5 };
                assert!(
                    told <= there * most && there <= told * most,
                    "{case}: {told}"
                );
            }
        }
        let disk = disk();
        let engine = open(&disk.env());
        let t = filled(&engine, 4_000, 4_000, false);
        let (told, there) = told(&engine, &t);
        assert!((told / there - 1.0).abs() < 0.5, "{told} beside {there}");
    }
}

#[test]
fn analyze_counts_exactly_until_the_table_has_another_size() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = filled(&engine, 4_000, 90, true);
    let owner = Owner::new(1, Arc::new(Unattended));
    engine.analyze_table(&owner, &t).unwrap();
    assert_eq!(engine.analyzed(&t), 1);
    let (first, there) = told(&engine, &t);
    assert_eq!(first, there);
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for id in 0..2_000 {
        insert(
            &mut txn,
            &t,
            (100_000 + id, Some(100_000 + id), Some(100_000 + id)),
        )
        .unwrap();
    }
    txn.commit("test").unwrap();
    let (now, there) = told(&engine, &t);
    assert!(now > 700.0, "{now} beside {there}");
    owner.kill();
    let killed = engine.analyze_table(&owner, &t);
    assert!(matches!(killed, Err(TxnError::Killed)));
}

#[test]
fn rows_are_drawn_from_all_over_the_table() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = filled(&engine, 4_000, 90, false);
    let drawn = engine.drawn_rows(&t);
    assert_eq!(drawn.len(), 512);
    let quarters: BTreeSet<_> = (0..drawn.len())
        .map(|at| drawn.get(at).0.to_vec())
        .map(|key| u32::from_be_bytes(key[..4].try_into().unwrap()) & 0x7fff_ffff)
        .map(|id| id / 1_000)
        .collect();
    assert_eq!(quarters.len(), 4);
    let few = filled_small(&engine);
    assert_eq!(engine.drawn_rows(&few).len(), 100);
}

fn filled_small(engine: &Engine) -> Arc<Table> {
    let t = create_table(engine, "few", true);
    let mut txn = begin(engine, Isolation::ReadCommitted);
    for id in 0..100 {
        insert(&mut txn, &t, (id, Some(id), Some(id))).unwrap();
    }
    txn.commit("test").unwrap();
    t
}
