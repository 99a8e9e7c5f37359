//! Indexes and tables that are built while others write.
//!
//! Whoever builds offers others a turn now and then: here they take it, in the same thread, and
//! change rows, end transactions either way, and have checkpoints. What is there afterwards must be
//! what they committed, in every index, also behind a crash at any operation of the disk.

use super::*;
use crate::types::{FullText, fulltext::Parser};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Weak,
};

const WORDS: [&str; 6] = ["apple", "banana", "cherry", "elder", "melon", "Apple"];

/// The rows by their id: the text, and the number that must be there once.
type Model = BTreeMap<i64, (String, i64)>;

struct State {
    random: u64,
    next: i64,
    /// What is committed for certain, and what may be.
    acknowledged: Model,
    attempted: Model,
    /// How often somebody has committed; no more once that failed.
    commits: u64,
    failed: bool,
}

impl State {
    fn below(&mut self, bound: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % bound
    }
    fn text(&mut self) -> String {
        let count = self.below(4);
        let words = (0..count).map(|_| WORDS[self.below(WORDS.len() as u64) as usize]);
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Those who write while somebody builds.
struct Writers {
    engine: Mutex<Weak<Engine>>,
    state: Mutex<State>,
}

impl Waiting for Writers {
    fn pause(&self, _: WaitFor) {}
    fn resume(&self, _: WaitFor) {}
    fn offer(&self, _: bool) {
        let Some(engine) = self.engine.lock().upgrade() else {
            return;
        };
        // Nested calls have nothing to do.
        if let Some(mut state) = self.state.try_lock() {
            for _ in 0..2 {
                // What fails is a disk that has crashed, or a table that is locked just now.
                let _ = write(&engine, &mut state);
            }
            if state.below(4) == 0 {
                let _ = engine.checkpoint();
            }
            if state.below(3) == 0 {
                let _ = engine.inner.move_rows_up();
            }
        }
    }
}

/// The image of a row: its columns are where the table has them, and those that came later, `x` and a number,
/// have that number in all rows.
fn text_image(table: &Table, id: i64, text: &str, number: i64) -> Vec<u8> {
    let mut image = Vec::new();
    let value = |column: &Column| match column.name.as_str() {
        "id" => Value::Int(id),
        "a" => Value::Bytes(text.as_bytes().to_vec()),
        "u" => Value::Int(number),
        extra => extra_value(extra),
    };
    let values: Vec<Value> = table.columns.iter().map(value).collect();
    row::encode(table, &values, &mut image);
    image
}

fn extra_value(name: &str) -> Value {
    match name.trim_start_matches('x').parse() {
        Ok(number) if number % 3 > 0 => Value::Int(number),
        _ => Value::Null,
    }
}

fn decoded(table: &Table, image: &[u8]) -> (i64, (String, i64)) {
    let values = row::decode(table, image).unwrap();
    let (mut id, mut text, mut number) = (None, None, None);
    for (column, value) in table.columns.iter().zip(values) {
        match (column.name.as_str(), value) {
            ("id", Value::Int(value)) => id = Some(value),
            ("a", Value::Bytes(value)) => text = String::from_utf8(value).ok(),
            ("u", Value::Int(value)) => number = Some(value),
            (extra, value) => assert_eq!(value, extra_value(extra), "{extra}"),
        }
    }
    (id.unwrap(), (text.unwrap(), number.unwrap()))
}

/// A key and an image.
type Pair = (Vec<u8>, Vec<u8>);

/// The rows with their keys.
fn stored(txn: &mut Txn, table: &Table) -> Result<Vec<Pair>, TxnError> {
    let range = KeyRange {
        low: Vec::new(),
        high: None,
    };
    let mut scan = txn.scan(table.rows, range, false, Read::Plain);
    let mut rows = Vec::new();
    let mut batch = Batch::default();
    loop {
        scan.next(txn, &mut batch, 100)?;
        if batch.is_empty() {
            return Ok(rows);
        }
        rows.extend((0..batch.len()).map(|place| {
            let (key, value) = batch.get(place);
            (key.to_vec(), value.to_vec())
        }));
    }
}

/// One transaction of a few changes.
fn write(engine: &Engine, state: &mut State) -> Result<(), TxnError> {
    let options = TxnOptions {
        isolation: Isolation::ReadCommitted,
        read_only: false,
        lock_wait_ms: 0,
        table_lock_wait_ms: 0,
    };
    let mut txn = engine.begin(&owner(7), options);
    let table = find(engine, "t");
    let Some(table) = txn.use_table(&table, true)? else {
        return Ok(());
    };
    let mut model = state.acknowledged.clone();
    for _ in 0..=state.below(5) {
        let rows = stored(&mut txn, &table)?;
        let (kind, text, number) = (state.below(5), state.text(), state.next);
        state.next += 1;
        if kind == 0 || rows.is_empty() {
            let id = state.below(10_000).cast_signed();
            if let Entry::Vacant(place) = model.entry(id) {
                let image = text_image(&table, id, &text, number);
                txn.insert(&table, &image, LockMode::Shared)?;
                place.insert((text, number));
            }
            continue;
        }
        let place = state.below(rows.len() as u64) as usize;
        let (key, image) = &rows[place];
        let mut locked = Vec::new();
        assert!(txn.get(table.rows, key, FOR_UPDATE, &mut locked)?);
        let (id, (had, unique)) = decoded(&table, image);
        let moved = state.below(10_000).cast_signed();
        let after = match kind {
            1 => None,
            2 => Some((id, (text, unique))),
            3 if !model.contains_key(&moved) => Some((moved, (had, unique))),
            _ => Some((id, (text, number))),
        };
        model.remove(&id);
        match after {
            None => txn.delete(&table, key, image)?,
            Some((id, (text, number))) => {
                let after = text_image(&table, id, &text, number);
                txn.update(&table, key, image, &after)?;
                model.insert(id, (text, number));
            }
        }
    }
    if state.below(4) == 0 || state.failed {
        return Ok(());
    }
    state.attempted = model.clone();
    state.failed = true;
    txn.commit("test")?;
    state.failed = false;
    state.acknowledged = model;
    state.commits += 1;
    Ok(())
}

/// `t (id INT, a VARCHAR, u INT, UNIQUE u (u), KEY a (a))`.
fn text_table(engine: &Engine, primary: bool) -> Table {
    let mut new = table(engine, "t", primary);
    let column = &mut new.columns[1];
    column.ty = ColumnType::VarChar(200);
    column.collation = Collation::Utf8mb40900AiCi;
    new
}

/// How many kinds of builds there are.
const KINDS: u64 = 7;

/// Columns in another order, and one more or one less of those that came later.
fn reshaped(engine: &Engine, old: &Arc<Table>, more: bool, n: u64) -> SchemaChange<'static> {
    let mut new = Table::clone(old);
    new.rows = engine.new_id();
    let count = new.columns.len() as u64;
    new.columns.rotate_left((n % count) as usize);
    match new
        .columns
        .iter()
        .position(|column| column.name.starts_with('x'))
    {
        Some(place) if !more => drop(new.columns.remove(place)),
        _ => {
            let column = Column::new(&format!("x{n}"), ColumnType::BigInt);
            new.columns.insert((n / 2 % count) as usize, column);
        }
    }
    let place = |name: &str| new.columns.iter().position(|column| column.name == name);
    let moved = |part: &mut IndexPart| {
        let name = &old.columns[usize::from(part.column)].name;
        part.column = u16::try_from(place(name).unwrap()).unwrap();
    };
    if let Some(primary) = &mut new.primary {
        primary.tree = new.rows;
    }
    let texts = new.fulltext.iter_mut().map(|text| &mut text.index);
    let indexes = new.indexes.iter_mut().chain(texts).chain(&mut new.primary);
    indexes.flat_map(|index| &mut index.parts).for_each(moved);
    let source = |column: &Column| match old.column_position(&column.name) {
        Some(position) => row::Source::Column(position),
        None => row::Source::Value(extra_value(&column.name)),
    };
    let sources: Vec<row::Source> = new.columns.iter().map(source).collect();
    let reshape = row::Reshape::new(&old.columns, &new.columns, &sources).unwrap();
    let old = Arc::clone(old);
    SchemaChange::Reshape { old, new, reshape }
}

fn built(engine: &Engine, writers: &Arc<Writers>, kind: u64, n: u64) -> Result<(), TxnError> {
    let old = find(engine, "t");
    let mut new = Table::clone(&old);
    let is_rebuild = kind >= 3;
    let column = |name: &str| old.column_position(name).unwrap() as u16;
    match kind {
        0 => new.indexes.push(index(
            engine,
            &format!("u{n}"),
            column("u"),
            n.is_multiple_of(2),
        )),
        1 => new
            .indexes
            .push(index(engine, &format!("a{n}"), column("a"), false)),
        2 => new.fulltext.push(FullText {
            index: index(engine, &format!("f{n}"), column("a"), false),
            parser: Parser::Words { min: 3, max: 84 },
            stopwords: None,
            prepared: Default::default(),
        }),
        _ => {
            new.id = engine.new_id();
            new.rows = engine.new_id();
            // Without a primary key, or with one, whatever it had before.
            let primary = match kind {
                3 => old.primary.is_some(),
                _ => old.primary.is_none(),
            };
            let index = Index {
                tree: new.rows,
                ..index(engine, "PRIMARY", column("id"), true)
            };
            new.primary = primary.then_some(index);
            new.columns[usize::from(column("id"))].auto_increment = primary;
            let texts = new.fulltext.iter_mut().map(|text| &mut text.index);
            for index in new.indexes.iter_mut().chain(texts) {
                index.tree = engine.new_id();
            }
        }
    }
    let others = Others::Write;
    let change = match is_rebuild {
        _ if kind >= 5 => reshaped(engine, &old, kind == 5, n),
        false => SchemaChange::AlterInPlace { old, new, others },
        true => SchemaChange::Rebuild {
            old,
            new,
            convert: Box::new(|_, before, after| {
                after.extend_from_slice(before);
                Ok(())
            }),
            numbers: Numbers::default(),
            now_micros: 7,
            settings: String::new(),
            others,
        },
    };
    let statement = DdlStatement {
        database: "test".to_owned(),
        text: "DDL".to_owned(),
        reading: crate::log::Reading::default(),
        foreign_key_checks: true,
        threads: 1,
    };
    let waiting: Arc<dyn Waiting> = Arc::clone(writers) as _;
    let builder = Owner::new(99, waiting);
    let related = super::Related::default();
    engine.change_schema(&builder, change, &related, &statement, 10_000, None)?;
    Ok(())
}

fn check(engine: &Engine, state: &State, what: &str) -> Model {
    let table = find(engine, "t");
    let report = engine.check_table(&owner(5), &table, 1_000, || ());
    assert_eq!(report.unwrap().problems, [""; 0], "{what}");
    let mut txn = begin(engine, Isolation::RepeatableRead);
    use_table(&mut txn, &table).unwrap();
    let rows = stored(&mut txn, &table).unwrap();
    let rows: Model = rows.iter().map(|(_, row)| decoded(&table, row)).collect();
    assert!(
        rows == state.acknowledged || rows == state.attempted,
        "{what}: {rows:?}, acknowledged {:?}, attempted {:?}",
        state.acknowledged,
        state.attempted
    );
    rows
}

fn begun(engine: &Engine, seed: u64, primary: bool) -> Arc<Writers> {
    create(engine);
    let t = find(engine, "t");
    change(engine, SchemaChange::DropTables(vec![t.id])).unwrap();
    change(
        engine,
        SchemaChange::CreateTable(text_table(engine, primary)),
    )
    .unwrap();
    let mut state = State {
        random: seed,
        next: 1_000,
        acknowledged: Model::new(),
        attempted: Model::new(),
        commits: 0,
        failed: false,
    };
    let table = find(engine, "t");
    let mut txn = begin(engine, Isolation::ReadCommitted);
    let used = use_table(&mut txn, &table).unwrap();
    for id in 0..100 {
        let image = text_image(&used, id, "apple banana", id);
        txn.insert(&used, &image, LockMode::Shared).unwrap();
        state
            .acknowledged
            .insert(id, ("apple banana".to_owned(), id));
    }
    txn.commit("test").unwrap();
    state.attempted = state.acknowledged.clone();
    Arc::new(Writers {
        engine: Mutex::default(),
        state: Mutex::new(state),
    })
}

#[test]
fn what_is_built_beside_writers_is_what_they_wrote() {
    for seed in 0..16 {
        let disk = Disk::new(seed);
        let engine = Arc::new(open(&disk.env()));
        let writers = begun(&engine, seed, seed.is_multiple_of(2));
        *writers.engine.lock() = Arc::downgrade(&engine);
        for n in 0..16 {
            let kind = (n + seed) % KINDS;
            let before = writers.state.lock().commits;
            built(&engine, &writers, kind, n).unwrap();
            let what = format!("seed {seed}, build {n} of kind {kind}");
            let state = writers.state.lock();
            let renumbers = kind == 4 && find(&engine, "t").primary.is_none();
            assert!(
                kind >= 5 || renumbers || state.commits > before,
                "nobody wrote: {what}"
            );
            check(&engine, &state, &what);
        }
        assert_eq!(engine.locks(), [], "all locks are gone");
        assert_eq!(engine.running_builds(), []);
        // What was built is on disk, and nothing else.
        std::mem::forget(engine);
        let engine = open(&disk.crash(seed).env());
        check(&engine, &writers.state.lock(), "after a crash");
        engine.checkpoint().unwrap();
        while engine.inner.move_rows_up().is_some() {}
        assert_eq!(engine.inner.views.load().base.layered(), []);
        check(&engine, &writers.state.lock(), "when all rows are moved up");
        let table = find(&engine, "t");
        let known: Vec<_> = super::super::dictionary::table_trees(&table).collect();
        let trees = engine.inner.base.snapshot().unwrap().trees().unwrap();
        assert!(trees.iter().all(|tree| known.contains(tree)), "{trees:?}");
    }
}

#[test]
fn a_crash_in_a_build_leaves_the_old_or_the_new() {
    for seed in 0..120 {
        let disk = Disk::new(seed);
        let engine = Arc::new(open(&disk.env()));
        let writers = begun(&engine, seed, seed % 3 > 0);
        *writers.engine.lock() = Arc::downgrade(&engine);
        let kind = seed % KINDS;
        let old = find(&engine, "t");
        disk.crash_at(disk.operations() + 1 + seed * 7 % 83);
        let done = built(&engine, &writers, kind, seed).is_ok();
        *writers.engine.lock() = Weak::new();
        std::mem::forget(engine);
        let what = format!("seed {seed}, kind {kind}");
        let disk = disk.crash(seed);
        let engine = Arc::new(open(&disk.env()));
        let mut state = writers.state.lock();
        let rows = check(&engine, &state, &what);
        assert!(!done || *find(&engine, "t") != *old, "{what} is lost");
        (state.acknowledged, state.attempted) = (rows.clone(), rows);
        state.failed = false;
        drop(state);
        // It can be had now.
        *writers.engine.lock() = Arc::downgrade(&engine);
        built(&engine, &writers, kind, 1_000).unwrap();
        check(&engine, &writers.state.lock(), &what);
    }
}

/// A change of rows.
type Change = fn(&mut Txn, &Arc<Table>) -> Result<(), TxnError>;

/// Changes rows in one transaction, at the first turn.
struct Late {
    engine: Mutex<Option<Weak<Engine>>>,
    change: Change,
}

impl Waiting for Late {
    fn pause(&self, _: WaitFor) {}
    fn resume(&self, _: WaitFor) {}
    fn offer(&self, _: bool) {
        let Some(engine) = self.engine.lock().take() else {
            return;
        };
        let engine = engine.upgrade().unwrap();
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        (self.change)(&mut txn, &find(&engine, "t")).unwrap();
        txn.commit("test").unwrap();
    }
}

/// A hundred rows, whose numbers are their ids.
fn hundred(engine: &Engine) -> Arc<Table> {
    let t = create(engine);
    let mut txn = begin(engine, Isolation::ReadCommitted);
    for id in 0..100 {
        insert(&mut txn, &t, (id, Some(id), None)).unwrap();
    }
    txn.commit("test").unwrap();
    t
}

/// The index that refuses a definition for what changes while it is built.
fn refused(engine: &Arc<Engine>, definition: SchemaChange<'_>, change: Change) -> String {
    let statement = DdlStatement {
        database: "test".to_owned(),
        text: "DDL".to_owned(),
        reading: crate::log::Reading::default(),
        foreign_key_checks: true,
        threads: 1,
    };
    let late = Late {
        engine: Mutex::new(Some(Arc::downgrade(engine))),
        change,
    };
    let builder = Owner::new(99, Arc::new(late));
    let related = super::Related::default();
    let t = find(engine, "t");
    let done = engine.change_schema(&builder, definition, &related, &statement, 10_000, None);
    let Err(TxnError::DuplicateKey { index }) = done else {
        panic!("{done:?}");
    };
    assert_eq!(*find(engine, "t"), *t);
    check_indexes(engine, &t);
    index
}

#[test]
fn a_duplicate_that_comes_late_refuses_the_index() {
    let disk = disk();
    let engine = Arc::new(open(&disk.env()));
    let t = hundred(&engine);
    let mut new = Table::clone(&t);
    new.indexes.push(index(&engine, "once", 1, true));
    let definition = SchemaChange::AlterInPlace {
        old: Arc::clone(&t),
        new,
        others: Others::Write,
    };
    let index = refused(&engine, definition, |txn, t| {
        update(txn, t, 3, (3, Some(70), None)).map(|_| ())
    });
    assert_eq!(index, "once");
    // With the next checkpoint that has something to do.
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    delete(&mut txn, &t, 3).unwrap();
    txn.commit("test").unwrap();
    engine.checkpoint().unwrap();
    let known: Vec<_> = super::super::dictionary::table_trees(&t).collect();
    let trees = engine.inner.base.snapshot().unwrap().trees().unwrap();
    assert!(trees.iter().all(|tree| known.contains(tree)), "{trees:?}");
}

#[test]
fn rows_that_come_and_stay_at_one_new_primary_key_refuse_it() {
    // Whichever of the two is looked at first.
    let changes: [Change; 2] = [
        |txn, t| {
            insert(txn, t, (-5, Some(70), None))?;
            update(txn, t, 70, (70, Some(70), Some(1))).map(|_| ())
        },
        |txn, t| {
            insert(txn, t, (500, Some(70), None))?;
            update(txn, t, 70, (70, Some(70), Some(1))).map(|_| ())
        },
    ];
    for change in changes {
        let disk = disk();
        let engine = Arc::new(open(&disk.env()));
        let t = hundred(&engine);
        let mut new = Table::clone(&t);
        (new.id, new.rows) = (engine.new_id(), engine.new_id());
        new.primary = Some(Index {
            tree: new.rows,
            ..index(&engine, "PRIMARY", 1, true)
        });
        for index in &mut new.indexes {
            index.tree = engine.new_id();
        }
        let definition = SchemaChange::Rebuild {
            old: Arc::clone(&t),
            new,
            convert: Box::new(|_, before, after| {
                after.extend_from_slice(before);
                Ok(())
            }),
            numbers: Numbers::default(),
            now_micros: 7,
            settings: String::new(),
            others: Others::Write,
        };
        assert_eq!(refused(&engine, definition, change), "PRIMARY");
    }
}
