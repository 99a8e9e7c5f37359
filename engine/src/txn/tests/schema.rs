//! Schema changes: builds, rebuilds, drops, and their crashes.

use super::*;
use crate::types::{Collation, View, ViewAlgorithm, ViewQuery};

fn filled(engine: &Engine) -> Arc<Table> {
    let t = create(engine);
    let mut txn = begin(engine, Isolation::ReadCommitted);
    for id in 0..300 {
        insert(&mut txn, &t, (id, Some(id % 10), Some(id))).unwrap();
    }
    txn.commit("test").unwrap();
    t
}

fn with_index(
    engine: &Engine,
    t: &Arc<Table>,
    name: &str,
    column: u16,
    unique: bool,
) -> SchemaChange<'static> {
    let mut new = Table::clone(t);
    new.indexes.push(index(engine, name, column, unique));
    SchemaChange::AlterInPlace {
        old: Arc::clone(t),
        new,
        others: Others::default(),
    }
}

#[test]
fn an_index_is_built_from_the_rows() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = filled(&engine);
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.take_snapshot();
    change(&engine, with_index(&engine, &t, "a2", 1, false)).unwrap();
    let t = find(&engine, "t");
    check_indexes(&engine, &t);
    // An older snapshot shows the rows, and by the indexes that were there; not by this one.
    old.use_table(&t, true).unwrap();
    let mut count = |tree| {
        let mut batch = Batch::default();
        let range = KeyRange {
            low: Vec::new(),
            high: None,
        };
        let mut scan = old.scan(tree, range, false, Read::Plain);
        scan.next(&mut old, &mut batch, 1000).map(|()| batch.len())
    };
    assert_eq!(
        (count(t.rows).unwrap(), count(t.indexes[1].tree).unwrap()),
        (300, 300)
    );
    let stale = count(t.indexes[2].tree);
    assert!(matches!(stale, Err(TxnError::TableChanged)), "{stale:?}");
    drop(old);
    let refused = change(&engine, with_index(&engine, &t, "unique_a", 1, true));
    let Err(TxnError::DuplicateKey { index }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(index, "unique_a");
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    insert(&mut txn, &t, (1000, Some(1), None)).unwrap();
    delete(&mut txn, &t, 5).unwrap();
    txn.commit("test").unwrap();
    check_indexes(&engine, &t);
    std::mem::forget(engine);
    let engine = open(&disk.crash(3).env());
    check_indexes(&engine, &find(&engine, "t"));
}

#[test]
fn a_rebuild_converts_every_row() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = filled(&engine);
    let mut new = table(&engine, "t", false);
    new.columns.pop();
    new.columns.push(Column::new("b", ColumnType::BigInt));
    let (from, to) = (Arc::clone(&t), new.clone());
    let convert = move |_: Copying, before: &[u8], after: &mut Vec<u8>| {
        let (id, a, u) = row_of(&from, before);
        after.extend_from_slice(&image(&to, (id, a, u.map(|u| u * 2))));
        Ok(())
    };
    let rebuild = SchemaChange::Rebuild {
        old: Arc::clone(&t),
        new,
        convert: Box::new(convert),
        numbers: Numbers::default(),
        now_micros: 7,
        settings: String::new(),
        others: Others::default(),
    };
    change(&engine, rebuild).unwrap();
    let check = |engine: &Engine| {
        let t = find(engine, "t");
        let rows = all_rows(engine, &t);
        assert_eq!(rows.len(), 300);
        assert!(rows.iter().all(|(id, _, b)| *b == Some(id * 2)));
        assert_eq!(engine.row_estimate(&t), 300);
        check_indexes(engine, &t);
    };
    check(&engine);
    std::mem::forget(engine);
    let engine = open(&disk.crash(3).env());
    check(&engine);
    // Hidden row numbers go on after those of the rebuild.
    let t = find(&engine, "t");
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    insert(&mut txn, &t, (1, None, Some(-1))).unwrap();
    txn.commit("test").unwrap();
    assert_eq!(all_rows(&engine, &t).len(), 301);
}

#[test]
fn a_refused_conversion_leaves_everything_as_it_was() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = filled(&engine);
    let new = table(&engine, "t", true);
    let trees = [new.rows];
    let rebuild = SchemaChange::Rebuild {
        old: Arc::clone(&t),
        new,
        convert: Box::new(|_, _, _| Err("row 1".to_owned())),
        numbers: Numbers::default(),
        now_micros: 7,
        settings: String::new(),
        others: Others::default(),
    };
    let refused = change(&engine, rebuild);
    assert!(matches!(&refused, Err(TxnError::Conversion(words)) if words == "row 1"));
    assert_eq!(find(&engine, "t").id, t.id);
    assert_eq!(all_rows(&engine, &t).len(), 300);
    let left = engine.inner.base.snapshot().unwrap().trees().unwrap();
    assert!(!left.contains(&trees[0]), "{left:?}");
}

#[test]
fn dropped_trees_leave_the_base() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = filled(&engine);
    engine.checkpoint().unwrap();
    let trees = |engine: &Engine| engine.inner.base.snapshot().unwrap().trees().unwrap();
    assert_eq!(trees(&engine).len(), 3);
    change(&engine, SchemaChange::Truncate(t.id)).unwrap();
    let emptied = find(&engine, "t");
    assert_ne!(emptied.id, t.id);
    assert_eq!(all_rows(&engine, &emptied), []);
    assert_eq!(engine.auto_increment_peek(&emptied), 1);
    engine.checkpoint().unwrap();
    assert!(trees(&engine).is_empty());
    change(&engine, SchemaChange::DropDatabase("test".to_owned())).unwrap();
    assert!(engine.dictionary().database("test").is_none());
    assert!(engine.dictionary().table_by_id(emptied.id).is_none());
}

#[test]
fn names_can_be_swapped_but_not_taken() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    let other = create_table(&engine, "other", true);
    let name = |name: &str| ("test".to_owned(), name.to_owned());
    let rename = |id, to: &str| (id, name(to).0, name(to).1);
    let taken = change(&engine, SchemaChange::Rename(vec![rename(t.id, "other")]));
    assert!(matches!(taken, Err(TxnError::TableChanged)));
    let swap = vec![rename(t.id, "other"), rename(other.id, "t")];
    change(&engine, SchemaChange::Rename(swap)).unwrap();
    assert_eq!(find(&engine, "other").id, t.id);
    assert_eq!(find(&engine, "t").id, other.id);
    assert_eq!(engine.dictionary().tables("test").count(), 2);
    let again = table(&engine, "t", true);
    let exists = change(&engine, SchemaChange::CreateTable(again));
    assert!(matches!(exists, Err(TxnError::TableChanged)));
}

#[test]
fn internal_records_are_kept() {
    let disk = disk();
    let engine = open(&disk.env());
    let put = |key: &str, value: Option<&str>| {
        let bytes = |text: &str| text.as_bytes().to_vec();
        SchemaChange::Records(vec![(bytes(key), value.map(bytes))])
    };
    change(&engine, put("user/a", Some("1"))).unwrap();
    change(&engine, put("user/b", Some("2"))).unwrap();
    change(&engine, put("user/a", None)).unwrap();
    drop(engine);
    let engine = open(&disk.env());
    let dictionary = engine.dictionary();
    let users: Vec<_> = dictionary.records(b"user/").collect();
    assert_eq!(users, [(&b"user/b"[..], &b"2"[..])]);
    assert_eq!(dictionary.record(b"user/a"), None);
}

#[test]
fn a_ddl_waits_for_users_and_they_then_see_the_new_table() {
    let disk = disk();
    let engine = open(&disk.env());
    let t = create(&engine);
    let mut user = begin(&engine, Isolation::ReadCommitted);
    insert(&mut user, &t, (1, None, None)).unwrap();
    std::thread::scope(|scope| {
        let ddl = scope.spawn(|| change(&engine, SchemaChange::Truncate(t.id)));
        while engine.lock_waits().is_empty() {
            std::thread::yield_now();
        }
        let late = scope.spawn(|| {
            let mut late = begin(&engine, Isolation::ReadCommitted);
            late.use_table(&t, true)
        });
        while engine.lock_waits().len() < 2 {
            std::thread::yield_now();
        }
        user.commit("test").unwrap();
        ddl.join().unwrap().unwrap();
        assert!(
            late.join().unwrap().unwrap().is_none(),
            "the old number is gone"
        );
    });
    assert_eq!(all_rows(&engine, &find(&engine, "t")), []);
}

fn view(name: &str, text: &str) -> View {
    View {
        database: "test".to_owned(),
        name: name.to_owned(),
        query: ViewQuery {
            text: text.to_owned(),
            qualifiers: Vec::new(),
        },
        columns: vec!["a".to_owned()],
        columns_given: false,
        algorithm: ViewAlgorithm::Undefined,
        definer: ("me".to_owned(), "%".to_owned()),
        invoker: false,
        check_option: None,
        mergeable: true,
        updatable: true,
        shown_updatable: true,
        character_set_client: "utf8mb4".to_owned(),
        collation_connection: Collation::Utf8mb40900AiCi,
        created: 1,
    }
}

#[test]
fn views_are_kept_and_share_names_with_tables() {
    let disk = disk();
    let engine = open(&disk.env());
    create(&engine);
    let known = |engine: &Engine, name: &str| engine.dictionary().view("test", name).cloned();
    let views = |dropped: Vec<Arc<View>>, put: Vec<View>| SchemaChange::Views { dropped, put };
    let taken = change(&engine, views(Vec::new(), vec![view("t", "select 1")]));
    assert!(matches!(taken, Err(TxnError::TableChanged)));
    let first = vec![view("v", "select 1"), view("w", "select 2")];
    change(&engine, views(Vec::new(), first)).unwrap();
    let taken = change(
        &engine,
        SchemaChange::CreateTable(table(&engine, "v", true)),
    );
    assert!(matches!(taken, Err(TxnError::TableChanged)));
    // The log has them, and the base.
    for checkpoint in [false, true] {
        if checkpoint {
            engine.checkpoint().unwrap();
        }
        let again = open(&disk.copy().env());
        assert_eq!(known(&again, "v"), known(&engine, "v"));
        assert_eq!(again.dictionary().views("test").count(), 2);
    }
    let (v, w) = (known(&engine, "v").unwrap(), known(&engine, "w").unwrap());
    let stale = Arc::new(view("v", "select 7"));
    let changed = change(&engine, views(vec![stale], Vec::new()));
    assert!(matches!(changed, Err(TxnError::TableChanged)));
    change(&engine, views(vec![v], vec![view("x", "select 1")])).unwrap();
    change(&engine, views(vec![w.clone()], vec![view("w", "select 3")])).unwrap();
    assert_eq!(known(&engine, "v"), None);
    assert_ne!(known(&engine, "w"), Some(w));
    drop(engine);
    let engine = open(&disk.env());
    assert_eq!(known(&engine, "w").unwrap().query.text, "select 3");
    assert!(known(&engine, "x").is_some());
    change(&engine, SchemaChange::DropDatabase("test".to_owned())).unwrap();
    assert_eq!(known(&engine, "x"), None);
    drop(engine);
    assert_eq!(known(&open(&disk.env()), "x"), None);
}

/// Whatever order entries come in, and wherever the two of one key are, they are found.
#[test]
fn duplicates_are_found_in_any_order() {
    let orders: [fn(i64) -> i64; 4] = [
        |id| id,
        |id| 300 - id,
        |id| id * 7 % 300,
        |id| id / 150 * 150 + 150 - id % 150,
    ];
    for (number, order) in orders.into_iter().enumerate() {
        for twice in [0, 1, 17, 149, 298] {
            let disk = disk();
            let engine = open(&disk.env());
            let t = create(&engine);
            let mut txn = begin(&engine, Isolation::ReadCommitted);
            for id in 0..300 {
                insert(&mut txn, &t, (id, Some(order(id) * 2), None)).unwrap();
            }
            txn.commit("test").unwrap();
            change(&engine, with_index(&engine, &t, "once", 1, true)).unwrap();
            check_indexes(&engine, &find(&engine, "t"));
            let mut txn = begin(&engine, Isolation::ReadCommitted);
            let t = find(&engine, "t");
            delete(&mut txn, &t, twice + 1).unwrap();
            txn.commit("test").unwrap();
            let mut without = Table::clone(&t);
            without.indexes.retain(|index| index.name != "once");
            let dropped = SchemaChange::AlterInPlace {
                old: t,
                new: without,
                others: Others::default(),
            };
            change(&engine, dropped).unwrap();
            let t = find(&engine, "t");
            let mut txn = begin(&engine, Isolation::ReadCommitted);
            insert(&mut txn, &t, (twice + 1, Some(order(twice) * 2), None)).unwrap();
            txn.commit("test").unwrap();
            let refused = change(&engine, with_index(&engine, &t, "twice", 1, true));
            assert!(
                matches!(&refused, Err(TxnError::DuplicateKey { index }) if index == "twice"),
                "order {number}, row {twice}: {refused:?}"
            );
            check_indexes(&engine, &find(&engine, "t"));
        }
    }
}

/// Lends its slots, and wants each back after it was asked so often.
struct Lender {
    asked: u64,
}

struct Slot {
    left: std::sync::atomic::AtomicU64,
}

impl Waiting for Lender {
    fn pause(&self, _: WaitFor) {}
    fn resume(&self, _: WaitFor) {}
    fn lend(&self) -> Option<Box<dyn Lent>> {
        Some(Box::new(Slot {
            left: self.asked.into(),
        }))
    }
}

impl Lent for Slot {
    fn is_wanted(&self) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        let asked = self
            .left
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        asked.is_err()
    }
}

#[test]
fn helpers_that_come_and_go_build_the_same_index() {
    let disk = disk();
    let engine = open(&disk.env());
    let mut t = filled(&engine);
    let tmp = Path::new(DIR).join("tmp");
    for asked in [0, 1, 3, 1_000] {
        let build = |name: &str, column: u16, unique: bool| {
            let statement = DdlStatement {
                database: "test".to_owned(),
                text: "DDL".to_owned(),
                reading: crate::log::Reading::default(),
                foreign_key_checks: true,
                threads: 16,
            };
            let builder = Owner::new(99, Arc::new(Lender { asked }));
            let change = with_index(&engine, &find(&engine, "t"), name, column, unique);
            engine.change_schema(
                &builder,
                change,
                &Related::default(),
                &statement,
                10_000,
                None,
            )
        };
        build(&format!("a{asked}"), 1, false).unwrap();
        build(&format!("u{asked}"), 2, true).unwrap();
        let refused = build("unique_a", 1, true);
        assert!(matches!(&refused, Err(TxnError::DuplicateKey { index }) if index == "unique_a"));
        t = find(&engine, "t");
        check_indexes(&engine, &t);
        assert!(
            disk.env().list(&tmp).unwrap().is_empty(),
            "runs are removed"
        );
    }
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    insert(&mut txn, &t, (1000, Some(1), None)).unwrap();
    delete(&mut txn, &t, 5).unwrap();
    txn.commit("test").unwrap();
    check_indexes(&engine, &t);
}

/// Whichever call of the disk fails while an index is built, the statement says so, the table is as it was, and
/// nothing is left of the runs.
#[test]
fn an_index_whose_build_meets_a_failing_disk_is_not_made() {
    let (mut temporary, mut others, mut made) = (0, 0, 0);
    let steps = std::iter::successors(Some(1), |step| Some(step + 1 + step / 40));
    for step in steps.take_while(|step| *step < 20_000) {
        let disk = disk();
        let engine = open(&disk.env());
        let t = filled(&engine);
        engine.checkpoint().unwrap();
        disk.fail_at(disk.operations() + step, std::io::ErrorKind::StorageFull);
        let built = change(&engine, with_index(&engine, &t, "a2", 1, false));
        match built {
            Ok(_) => made += 1,
            Err(TxnError::Temporary { .. }) => temporary += 1,
            Err(_) => others += 1,
        }
        let t = find(&engine, "t");
        check_indexes(&engine, &t);
        let tmp = disk.env().list(&Path::new(DIR).join("tmp"));
        assert!(tmp.unwrap_or_default().is_empty(), "step {step}");
        if made > 3 {
            break;
        }
    }
    assert!(
        temporary > 5 && others > 5 && made > 3,
        "{temporary} {others} {made}"
    );
}
