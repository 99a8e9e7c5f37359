//! Backups of a running engine, and data directories made of them: as of every transaction.

use super::*;
use crate::{
    Seq,
    env::{
        fake::{Damage, Disk},
        splitmix::SplitMix64,
    },
    log::{CutError, LoggedStatement, Target},
    txn::{
        backup::{BackupSink, FileEnd, Have, PART_PREFIX},
        restore::{self, Converted, Plan, Rebuild, RestoreError, Restored},
    },
    types::{Gtid, Xid},
};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

const TO: &str = "/restored";

/// The files of a backup.
#[derive(Clone, Default)]
struct Files {
    all: BTreeMap<String, Vec<u8>>,
    name: String,
    ends: BTreeMap<String, FileEnd>,
    /// So many bytes are taken, and no more.
    room: Option<usize>,
    /// Called between pieces.
    between: Option<Arc<dyn Fn(usize) + Send + Sync>>,
    pieces: usize,
}

impl BackupSink for Files {
    fn begin(&mut self, name: &str, from: u64, length: Option<u64>) -> Result<(), TxnError> {
        let file = self.all.entry(name.to_owned()).or_default();
        assert_eq!(file.len() as u64, from, "{name} goes on where it ended");
        assert_eq!(length.is_none(), name.starts_with(PART_PREFIX));
        name.clone_into(&mut self.name);
        Ok(())
    }
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), TxnError> {
        if let Some(room) = &mut self.room {
            *room = room.checked_sub(bytes.len()).ok_or(TxnError::Killed)?;
        }
        self.all
            .get_mut(&self.name)
            .unwrap()
            .extend_from_slice(bytes);
        self.pieces += 1;
        if let Some(between) = &self.between {
            between(self.pieces);
        }
        Ok(())
    }
    fn end(&mut self, end: FileEnd) -> Result<(), TxnError> {
        let file = &self.all[&self.name];
        assert_eq!(file.len() as u64, end.length);
        self.ends.insert(self.name.clone(), end);
        Ok(())
    }
}

fn backup(engine: &Engine) -> Files {
    let mut files = Files::default();
    engine.back_up(&mut files).expect("a backup");
    files
}

/// Restores files on a disk of its own.
fn try_restore(files: &Files, target: Target) -> Result<(Disk, Restored), RestoreError> {
    let disk = Disk::new(7);
    let env = disk.env();
    let dir = Path::new(TO);
    restore::begin(&env, dir)?;
    let mut parts = files
        .all
        .iter()
        .filter(|(name, _)| name.starts_with(PART_PREFIX));
    restore::load(&env, dir, &mut || {
        Ok(parts.next().map(|(_, part)| part.clone()))
    })?;
    for (name, bytes) in &files.all {
        if !name.starts_with(PART_PREFIX) {
            disk.put(&dir.join(name), bytes.clone());
        }
    }
    let plan = Plan {
        target,
        server_uuid: None,
        options: options(),
        rebuild: &mut Moved,
    };
    let restored = restore::finish(&env, dir, plan, &mut |_| {}, &mut |_| {})?;
    Ok((disk, restored))
}

/// What the statements of these tests do to rows.
fn moved(table: &Table, old: &[u8], out: &mut Vec<u8>) {
    let (id, a, u) = row_of(table, old);
    out.extend_from_slice(&image(table, (id, a.map(|a| a + 1), u)));
}

struct Moved;

impl Rebuild for Moved {
    fn rebuild(
        &mut self,
        statement: &LoggedStatement,
        definitions: &Dictionary,
        with: &mut Converted<'_>,
    ) -> Result<(), TxnError> {
        let known = (&*statement.text, statement.micros, &*statement.settings);
        assert_eq!(known, ("DDL", 7, "a = 1"));
        let table = Arc::clone(definitions.table("test", "t").expect("as it was before"));
        with(&table, &mut |_, old, out| {
            moved(&table, old, out);
            Ok(())
        })
    }
}

fn open_at(disk: &Disk) -> Engine {
    Engine::open(&disk.env(), Path::new(TO), options(), &mut |_| {}).expect("it opens")
}

fn gtid(source: [u8; 16], number: u64) -> Gtid {
    Gtid { source, number }
}

fn source(engine: &Engine) -> [u8; 16] {
    let digits: String = engine.server_uuid().chars().filter(|c| *c != '-').collect();
    u128::from_str_radix(&digits, 16).unwrap().to_be_bytes()
}

/// What a client could see: rows of every table with its indexes checked, and what is prepared.
type State = (BTreeMap<String, Vec<Row>>, Vec<String>);

fn state(engine: &Engine) -> State {
    let dictionary = engine.dictionary();
    let tables = dictionary.tables("test");
    let tables = tables.map(|table| {
        check_indexes(engine, table);
        let rows = all_rows(engine, table);
        (format!("{} {}", table.name, table.indexes.len()), rows)
    });
    let prepared = engine.prepared();
    let prepared = prepared.iter().map(|prepared| prepared.xid.to_string());
    (tables.collect(), prepared.collect())
}

/// A small history of everything; the state after each commit.
struct History {
    engine: Engine,
    random: SplitMix64,
    states: BTreeMap<Seq, State>,
}

impl History {
    fn new(disk: &Disk) -> History {
        let engine = open(&disk.env());
        create(&engine);
        create_table(&engine, "keyless", false);
        let mut history = History {
            engine,
            random: SplitMix64(3),
            states: BTreeMap::new(),
        };
        history.note();
        history
    }
    fn note(&mut self) {
        let seq = self.engine.log().visible();
        self.states.insert(seq, state(&self.engine));
    }
    fn rows(&mut self) {
        let t = find(&self.engine, "t");
        let mut txn = begin(&self.engine, Isolation::RepeatableRead);
        for _ in 0..1 + (self.random.next_u64() % 3) {
            let id = 1 + (self.random.next_u64() % 12) as i64;
            let value = (self.random.next_u64() % 1000) as i64;
            match get(&mut txn, &t, id, FOR_UPDATE).expect("get") {
                None => insert(&mut txn, &t, (id, Some(value), Some(id))).expect("insert"),
                Some(_) if value % 3 == 0 => assert!(delete(&mut txn, &t, id).expect("delete")),
                Some(_) => {
                    let row = (id, Some(value), Some(id));
                    assert!(update(&mut txn, &t, id, row).expect("update"));
                }
            }
        }
        if let Some(keyless) = self.engine.dictionary().table("test", "keyless") {
            let number = self.states.len() as i64;
            insert(&mut txn, keyless, (number, Some(1), Some(number))).expect("insert");
        }
        txn.commit("test").expect("commit");
        self.note();
    }
    fn step(&mut self, n: u64) {
        match n {
            4 | 13 => self.engine.checkpoint().expect("a checkpoint"),
            6 | 15 => self.engine.log().rotate().expect("a rotation"),
            8 => {
                create_table(&self.engine, "other", true);
                self.note();
            }
            10 => {
                let xid = Xid::new(1, b"global", b"branch").unwrap();
                let claim = self.engine.claim_xid(&xid).expect("a claim");
                let mut txn = begin(&self.engine, Isolation::ReadCommitted);
                let other = find(&self.engine, "other");
                insert(&mut txn, &other, (1, Some(1), Some(1))).expect("insert");
                txn.prepare(&claim, "root@localhost", "test")
                    .expect("prepare");
                drop(claim);
                self.note();
            }
            17 => {
                let xid = Xid::new(1, b"global", b"branch").unwrap();
                let owner = owner(5);
                self.engine
                    .end_prepared(&owner, &xid, true, "test", 1000)
                    .expect("commit");
                self.note();
            }
            9 | 18 => {
                let old = find(&self.engine, "t");
                let mut new = Table::clone(&old);
                new.indexes
                    .push(index(&self.engine, &format!("a{n}"), 1, false));
                let alter = SchemaChange::AlterInPlace {
                    old,
                    new,
                    others: Others::default(),
                };
                change(&self.engine, alter).expect("an index");
                self.note();
            }
            11 | 20 => {
                let old = find(&self.engine, "t");
                let new = self.renumbered(&old);
                let before = Arc::clone(&old);
                let rebuild = SchemaChange::Rebuild {
                    old,
                    new,
                    convert: Box::new(move |_, old, out| {
                        moved(&before, old, out);
                        Ok(())
                    }),
                    numbers: Numbers::default(),
                    now_micros: 7,
                    settings: "a = 1".to_owned(),
                    others: Others::default(),
                };
                change(&self.engine, rebuild).expect("a rebuild");
                self.note();
            }
            5 | 12 | 19 => {
                let old = find(&self.engine, "t");
                let mut new = Table::clone(&old);
                new.rows = self.engine.new_id();
                if let Some(primary) = &mut new.primary {
                    primary.tree = new.rows;
                }
                let column = Column::new(&format!("x{n}"), ColumnType::BigInt);
                new.columns.push(column);
                let stay = (0..old.columns.len()).map(row::Source::Column);
                let sources: Vec<_> = stay.chain([row::Source::Value(Value::Int(7))]).collect();
                let reshape = row::Reshape::new(&old.columns, &new.columns, &sources);
                let reshape = reshape.expect("the bytes stay");
                change(&self.engine, SchemaChange::Reshape { old, new, reshape })
                    .expect("a column");
                self.note();
            }
            _ => self.rows(),
        }
    }
    /// The same table, with numbers of its own.
    fn renumbered(&self, table: &Table) -> Table {
        let mut new = table.clone();
        new.id = self.engine.new_id();
        new.rows = self.engine.new_id();
        if let Some(primary) = &mut new.primary {
            primary.tree = new.rows;
        }
        for index in &mut new.indexes {
            index.tree = self.engine.new_id();
        }
        new
    }
}

#[test]
fn a_directory_is_restored_to_every_transaction() {
    let disk = disk();
    let mut history = History::new(&disk);
    (1..6).for_each(|n| history.step(n));
    let mut files = backup(&history.engine);
    let first = history.engine.log().visible();
    (6..24).for_each(|n| history.step(n));
    // The logs from after the backup.
    archive(&history.engine, &mut files);
    let source = source(&history.engine);
    let last = history.engine.log().visible();
    let applied = 3;
    assert!(first > applied && last > first + 10);
    for seq in applied..=last {
        let through = try_restore(&files, Target::Through(gtid(source, seq)));
        let Ok((disk, restored)) = through else {
            assert!(seq < first, "commit {seq}: {:?}", through.err());
            continue;
        };
        assert_eq!(restored.last.seq, seq);
        let engine = open_at(&disk);
        assert_eq!(state(&engine), history.states[&seq], "after commit {seq}");
        assert_ne!(engine.server_uuid(), history.engine.server_uuid());
        // It goes on.
        create_table(&engine, "later", true);
        assert_eq!(engine.log().visible(), seq + 1);
        engine.close().expect("it closes");
        open_at(&disk);
        let before = try_restore(&files, Target::Before(gtid(source, seq + 1))).expect("before");
        assert_eq!(before.1.last.seq, seq);
        let until = Target::Until(restored.last.committed_micros);
        let until = try_restore(&files, until).expect("until");
        assert_eq!(until.1.last.seq, seq);
    }
}

/// Adds the log to files, as far as it is not there.
fn archive(engine: &Engine, files: &mut Files) {
    let mut logs = files
        .all
        .iter()
        .filter(|(name, _)| name.starts_with("binlog."));
    let have = logs.next_back().map(|(name, bytes)| Have {
        file: name.trim_start_matches("binlog.").parse().unwrap(),
        length: bytes.len() as u64,
        crc32: crc32fast::hash(bytes),
    });
    engine.back_up_log(have, files).expect("logs");
}

#[test]
fn a_server_that_was_given_another_uuid_is_restored() {
    let disk = disk();
    let mut history = History::new(&disk);
    (1..6).for_each(|n| history.step(n));
    let mut files = backup(&history.engine);
    let History {
        engine,
        random,
        states,
    } = history;
    archive(&engine, &mut files);
    let old = source(&engine);
    let middle = engine.log().visible();
    engine.close().unwrap();
    let uuid = "[auto]\nserver-uuid=12345678-1234-1234-1234-123456789abc\n";
    disk.put(&Path::new(DIR).join("auto.cnf"), uuid.as_bytes().to_vec());
    let mut history = History {
        engine: open(&disk.env()),
        random,
        states,
    };
    assert_ne!(source(&history.engine), old);
    (6..13).for_each(|n| history.step(n));
    archive(&history.engine, &mut files);
    let last = history.engine.log().visible();
    assert!(last > middle + 3);
    let new = source(&history.engine);
    // Those of the new one are numbered from 1.
    let wanted = [
        (old, middle, middle),
        (new, 1, middle + 1),
        (new, last - middle, last),
    ];
    for (source, number, seq) in wanted {
        let target = Target::Through(gtid(source, number));
        let (disk, restored) = try_restore(&files, target).expect("restored");
        assert_eq!(restored.last.seq, seq);
        let engine = open_at(&disk);
        assert_eq!(state(&engine), history.states[&seq]);
        assert_ne!(engine.server_uuid(), history.engine.server_uuid());
    }
    let mistaken = try_restore(&files, Target::Through(gtid(old, last))).err();
    assert!(matches!(
        mistaken,
        Some(RestoreError::Cut(CutError::NotThere(_), _))
    ));
}

#[test]
fn a_log_is_copied_in_pieces_of_any_size() {
    let disk = disk();
    let mut history = History::new(&disk);
    let mut files = Files::default();
    for n in 1..24 {
        history.step(n);
        archive(&history.engine, &mut files);
    }
    history.engine.close().unwrap();
    let names = files.all.keys().cloned().collect::<Vec<_>>();
    for name in &names {
        let mut theirs = disk.contents(&Path::new(DIR).join(name)).unwrap();
        let ours = &files.all[name];
        theirs.truncate(ours.len());
        theirs[21] &= !1;
        assert!(theirs == *ours, "{name}");
    }
    assert_eq!(names.len(), 3);
    assert!(files.ends["binlog.000001"].is_whole);
    assert!(!files.ends["binlog.000003"].is_whole);
}

#[test]
fn targets_that_cannot_be_reached_are_refused() {
    let disk = disk();
    let mut history = History::new(&disk);
    (1..9).for_each(|n| history.step(n));
    let mut files = backup(&history.engine);
    (9..20).for_each(|n| history.step(n));
    archive(&history.engine, &mut files);
    let source = source(&history.engine);
    let last = history.engine.log().visible();
    let refused = |files: &Files, target| match try_restore(files, target).err() {
        Some(RestoreError::Cut(error, _)) => error,
        other => panic!("{other:?}"),
    };
    let early = refused(&files, Target::Through(gtid(source, 2)));
    assert!(matches!(early, CutError::TooEarly(_)), "{early:?}");
    let early = refused(&files, Target::Until(1));
    assert!(matches!(early, CutError::TooEarly(_)), "{early:?}");
    let late = refused(&files, Target::Through(gtid(source, last + 1)));
    assert!(
        matches!(late, CutError::NotThere(at) if at.seq == last),
        "{late:?}"
    );
    let foreign = refused(&files, Target::Through(gtid([9; 16], last)));
    assert!(matches!(foreign, CutError::NotThere(_)), "{foreign:?}");
    let mut holed = files.clone();
    holed.all.remove("binlog.000002");
    assert_eq!(refused(&holed, Target::End), CutError::Missing(2));
    // A directory that is not finished is not started on.
    let disk = Disk::new(1);
    restore::begin(&disk.env(), Path::new(DIR)).unwrap();
    let error = try_open(&disk.env(), options()).err().unwrap();
    assert!(error.0.contains("restore again"), "{error}");
    let again = restore::begin(&disk.env(), Path::new(DIR));
    assert_eq!(again, Err(RestoreError::NotEmpty));
}

#[test]
fn commits_checkpoints_and_purges_go_on_during_a_backup() {
    let disk = disk();
    let mut small = options();
    small.max_binlog_size = 4096;
    small.expire_logs_seconds = 0;
    let engine = Arc::new(try_open(&disk.env(), small).unwrap());
    create(&engine);
    let t = find(&engine, "t");
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for id in 0..400 {
        insert(&mut txn, &t, (id, Some(0), Some(id))).unwrap();
    }
    txn.commit("test").unwrap();
    engine.checkpoint().unwrap();
    let (inside, checkpoints) = (Arc::clone(&engine), AtomicBool::new(false));
    let between = move |piece: usize| {
        let t = find(&inside, "t");
        for id in 0..5 {
            let mut txn = begin(&inside, Isolation::ReadCommitted);
            let row = (id, Some(piece as i64), Some(id));
            assert!(update(&mut txn, &t, id, row).unwrap());
            txn.commit("test").unwrap();
        }
        if piece.is_multiple_of(8) {
            inside.checkpoint().unwrap();
            checkpoints.store(true, Ordering::Relaxed);
            let last = inside.log().files().last().unwrap().name();
            inside.log().purge_to(&last).unwrap();
        }
    };
    let mut files = Files {
        between: Some(Arc::new(between)),
        ..Files::default()
    };
    let _locked = engine.lock_definitions(&owner(3), "BACKUP", 1000).unwrap();
    let info = engine.back_up(&mut files).unwrap();
    assert!(files.all.len() > 20, "parts and logs");
    let (restored, done) = try_restore(&files, Target::End).unwrap();
    assert_eq!(Some(done.last), info.last);
    let restored = open_at(&restored);
    let rows = state(&restored).0;
    assert_eq!(rows["t 2"].len(), 400);
    // As of the last commit in it: all that were made while the Base was copied are there.
    let seen = rows["t 2"][4].1.unwrap();
    assert!(seen > 20, "{seen}");
    for row in &rows["t 2"][..4] {
        assert!(row.1.unwrap() - seen <= 1);
    }
}

/// After a failed checkpoint the Base waits only so long for those who read what was there before, and
/// a backup may take longer.
#[test]
fn a_backup_that_outlasts_a_failed_checkpoint_is_whole_or_refused() {
    let (mut whole, mut refused, mut pieces) = (0, 0, 0);
    for tenth in 0..=10 {
        let disk = disk();
        let engine = Arc::new(try_open(&disk.env(), options()).unwrap());
        create(&engine);
        let t = find(&engine, "t");
        let set_all = move |engine: &Engine, value: i64| {
            let mut txn = begin(engine, Isolation::ReadCommitted);
            for id in 0..1_500 {
                let row = (id, Some(value), Some(id));
                match value {
                    0 => insert(&mut txn, &t, row).unwrap(),
                    _ => assert!(update(&mut txn, &t, id, row).unwrap()),
                }
            }
            txn.commit("test").unwrap();
        };
        set_all(&engine, 0);
        engine.checkpoint().unwrap();
        // The first one is not disturbed, and says how many pieces there are.
        let at = pieces * tenth / 10;
        let (inside, faulty) = (Arc::clone(&engine), disk.clone());
        let between = move |piece: usize| {
            if piece != at {
                return;
            }
            set_all(&inside, 1);
            faulty.set_capacity(faulty.used());
            assert!(inside.checkpoint().is_err(), "there is no room");
            faulty.set_capacity(usize::MAX);
            // The backup still reads, unless it has come to the log.
            let _ = inside.checkpoint();
            faulty.advance(60_000_000);
            for value in 2..5 {
                inside.checkpoint().unwrap();
                set_all(&inside, value);
            }
            inside.checkpoint().unwrap();
        };
        let mut files = Files {
            between: Some(Arc::new(between)),
            ..Files::default()
        };
        let backup = engine.back_up(&mut files);
        pieces = pieces.max(files.pieces);
        match backup {
            Err(error) => {
                assert!(error.to_string().contains("opened anew"), "{error}");
                refused += 1;
            }
            Ok(_) => {
                let (restored, _) = try_restore(&files, Target::End).unwrap();
                assert_eq!(state(&open_at(&restored)).0["t 2"].len(), 1_500);
                whole += 1;
            }
        }
    }
    assert!(whole > 1 && refused > 3, "{whole} whole, {refused} refused");
}

#[test]
fn a_backup_that_is_stopped_leaves_the_engine_as_it_was() {
    let disk = disk();
    let mut history = History::new(&disk);
    (1..9).for_each(|n| history.step(n));
    let whole: usize = backup(&history.engine).all.values().map(Vec::len).sum();
    for room in (0..whole).step_by(97) {
        let mut files = Files {
            room: Some(room),
            ..Files::default()
        };
        let stopped = history.engine.back_up(&mut files);
        assert_eq!(stopped, Err(TxnError::Killed));
    }
    history.rows();
    // Nothing is held any more.
    history.engine.log().rotate().unwrap();
    history.engine.checkpoint().unwrap();
    let last = history.engine.log().files().last().unwrap().name();
    assert!(history.engine.log().purge_to(&last).unwrap().unwrap() > 0);
}

#[test]
fn what_is_damaged_is_in_no_backup() {
    let disk = disk();
    let mut history = History::new(&disk);
    (1..9).for_each(|n| history.step(n));
    let path = PathBuf::from(DIR).join("binlog.000002");
    let at = disk
        .contents(&path)
        .unwrap()
        .iter()
        .rposition(|byte| *byte != 0)
        .unwrap();
    let flip = Damage::Flip {
        offset: at - 400,
        bit: 3,
    };
    disk.damage(&path, flip);
    let refused = history.engine.back_up(&mut Files::default());
    assert!(matches!(refused, Err(TxnError::Storage(_))), "{refused:?}");
}

#[test]
fn a_damaged_base_is_in_no_backup() {
    let disk = disk();
    let mut history = History::new(&disk);
    (1..9).for_each(|n| history.step(n));
    history.engine.checkpoint().unwrap();
    let sound = backup(&history.engine);
    let path = PathBuf::from(DIR).join("cohort.base");
    let length = disk.contents(&path).unwrap().len();
    let (mut refused, mut unused) = (0, 0);
    for offset in (0..length).step_by(509) {
        let flip = Damage::Flip { offset, bit: 5 };
        disk.damage(&path, flip);
        let mut files = Files::default();
        match history.engine.back_up(&mut files) {
            Err(TxnError::Damaged { .. } | TxnError::Storage(_)) => refused += 1,
            Err(other) => panic!("byte {offset}: {other:?}"),
            Ok(_) => {
                assert!(files.all == sound.all, "byte {offset}");
                unused += 1;
            }
        }
        disk.damage(&path, flip);
    }
    assert!(
        refused > 10 && unused > 10,
        "{refused} refused, {unused} unused"
    );
    assert!(backup(&history.engine).all == sound.all);
}
