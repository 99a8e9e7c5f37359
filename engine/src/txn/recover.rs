//! Opening a data directory: the Base, then what the log has beyond it.
//!
//! There is no undo, because nothing uncommitted is ever written. Every whole transaction after
//! the Base's Seq is applied to a fresh delta as if it had just committed: its row images give
//! the rows and, through the table's definition as of that Seq, the index entries. Should the
//! delta grow too large, it is merged into the Base on the way; the log position recorded stays
//! the old one, since a later start skips by Seq what the Base has. Prepared transactions (XA) are
//! kept aside until the log says what became of them, see `prepared`.

use super::{
    TxnError,
    checkpoint::{self, Checkpointer},
    descriptor::Registry,
    dictionary::{Dictionary, TableState},
    engine::{Engine, EngineOptions, Inner},
    lock::LockManager,
    meta::{self, Header},
    prepared::{self, ORIGIN, Prepared, Record, Records, take_image},
    write::{Entry, hidden_key, primary_key},
    writes::{ROW_NUMBERS, row_numbers},
};
use crate::{
    Seq,
    env::Env,
    log::{self, Change, Log, Progress, Replayed, RowsKind, Xa},
    store::{BaseFile, Delta, Horizon, Stamp, TreeKey, View, base::Base, merge},
    types::{IdMap, Table, TableId, TreeId, Value, Xid, row},
};
use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};
use std::{
    collections::{HashSet, hash_map},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

/// The Base's file in the data directory.
pub(super) const BASE_FILE: &str = "cohort.base";

/// Why the engine does not start; the text says where, what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError(pub String);

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OpenError {}

impl Engine {
    /// Opens the data directory `dir`, or begins a new one if it is empty. `progress` hears how
    /// far recovery is, about once a second.
    pub fn open(
        env: &Env,
        dir: &Path,
        options: EngineOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Engine, OpenError> {
        let lock = lock_directory(env, dir)?;
        let server_uuid = server_uuid(env, dir)?;
        let base = open_base(env, dir, &options)?;
        let mut recovery = Recovery::new(base, &options)?;
        let header = recovery.header.clone();
        let log_options = log::Options {
            server_id: options.server_id,
            sync_binlog: options.sync_binlog,
            max_binlog_size: options.max_binlog_size,
            expire_logs_seconds: options.expire_logs_seconds,
            preallocate: options.log_preallocate_bytes,
            ..log::Options::new(&options.server_version, server_uuid)
        };
        let log = Log::open(
            env,
            dir,
            log_options,
            header.position,
            header.applied,
            &mut |transaction| recovery.replay(&transaction),
            progress,
        )
        .map_err(|error| OpenError(error.0))?;
        log.set_recovery_floor(header.position);
        let (inner, prepared) = recovery.finish(Parts {
            env: env.clone(),
            dir: dir.to_owned(),
            options,
            log,
            server_uuid,
            lock,
        })?;
        start(inner, prepared)
    }
}

fn start(inner: Inner, records: Records) -> Result<Engine, OpenError> {
    let inner = Arc::new(inner);
    prepared::restore(&inner, records)?;
    let weak = Arc::downgrade(&inner);
    let thread = std::thread::Builder::new()
        .name("checkpoint".to_owned())
        .spawn(move || checkpoint::run(&weak))
        .map_err(|error| OpenError(format!("cannot start the checkpoint thread: {error}")))?;
    Ok(Engine {
        inner,
        checkpoint_thread: Mutex::new(Some(thread)),
    })
}

fn lock_directory(env: &Env, dir: &Path) -> Result<Box<dyn Send + Sync>, OpenError> {
    let fail = |error: std::io::Error| {
        OpenError(format!(
            "cannot use the data directory {}: {error}",
            dir.display()
        ))
    };
    env.create_dir(dir).map_err(fail)?;
    let lock = env.lock(&dir.join("cohort.lock")).map_err(fail)?;
    lock.ok_or_else(|| {
        OpenError(format!(
            "another server uses the data directory {}: stop it, or choose another directory",
            dir.display()
        ))
    })
}

fn open_base(env: &Env, dir: &Path, options: &EngineOptions) -> Result<Base, OpenError> {
    let path = dir.join(BASE_FILE);
    let file = BaseFile::open(env, &path)
        .map_err(|error| OpenError(format!("cannot open {}: {error}", path.display())))?;
    Base::open(file, options.base_cache_bytes)
        .map_err(|error| OpenError(format!("{}: {error}", path.display())))
}

/// The server's UUID, made on the first start and kept in `auto.cnf`, as MySQL keeps its own.
fn server_uuid(env: &Env, dir: &Path) -> Result<[u8; 16], OpenError> {
    let path = dir.join("auto.cnf");
    let fail = |what: &dyn std::fmt::Display| OpenError(format!("{}: {what}", path.display()));
    if env.exists(&path).map_err(|error| fail(&error))? {
        let contents = env.read(&path, 4096).map_err(|error| fail(&error))?;
        let text = String::from_utf8_lossy(&contents);
        let uuid = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("server-uuid="));
        return uuid
            .and_then(parse_uuid)
            .ok_or_else(|| fail(&"no server-uuid=… line; remove the file to have a new one made"));
    }
    let mut uuid = [0; 16];
    env.random(&mut uuid).map_err(|error| fail(&error))?;
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    let contents = format!("[auto]\nserver-uuid={}\n", format_uuid(&uuid));
    env.replace(&path, contents.as_bytes())
        .map_err(|error| fail(&error))?;
    Ok(uuid)
}

fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| *byte != b'-')
        .map(|byte| {
            char::from(byte)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect();
    bytes.try_into().ok()
}

fn format_uuid(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in uuid.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// The state that replaying builds.
struct Recovery {
    base: Base,
    header: Header,
    dictionary: Dictionary,
    delta: Delta,
    delta_bytes: usize,
    applied: Seq,
    /// Tables met so far, by number, with their column of AUTO_INCREMENT.
    tables: IdMap<Replaying>,
    dictionary_version: u64,
    prepared: Records,
}

/// A table whose rows are replayed.
pub(super) struct Replaying {
    table: Arc<Table>,
    state: Arc<TableState>,
    auto_increment: Option<u16>,
    row: Vec<Value>,
}

impl Recovery {
    fn new(base: Base, options: &EngineOptions) -> Result<Recovery, OpenError> {
        let fail = |error: TxnError| OpenError(format!("cannot read the base file: {error:?}"));
        let snapshot = base.snapshot().map_err(|error| fail(error.into()))?;
        let (header, dictionary, prepared) = meta::read(&snapshot).map_err(fail)?;
        if header.format > meta::FORMAT {
            return Err(OpenError(format!(
                "the data directory has format {}, this program knows {}: use a newer one",
                header.format,
                meta::FORMAT
            )));
        }
        drop(snapshot);
        Ok(Recovery {
            base,
            applied: header.applied,
            dictionary_version: dictionary.version(),
            header,
            dictionary,
            delta: Delta::new(0),
            // A running server's deltas together are smaller, so this is for other cases.
            delta_bytes: options.delta_bytes.saturating_mul(4),
            tables: IdMap::default(),
            prepared,
        })
    }
    fn replay(&mut self, transaction: &Replayed<'_>) -> Result<(), String> {
        self.apply(transaction)
            .map_err(|error| format!("cannot apply transaction {}: {error:?}", transaction.seq))
    }
    fn apply(&mut self, transaction: &Replayed<'_>) -> Result<(), TxnError> {
        let seq = transaction.seq;
        match transaction.xa() {
            None => self.apply_events(seq, transaction.events())?,
            Some(Xa::Prepared(xid)) => {
                let record = Record {
                    seq,
                    since_us: transaction.committed_micros,
                    events: Arc::from(transaction.events()),
                };
                self.prepared.insert(xid, Arc::new(record));
            }
            Some(Xa::Committed(xid)) => {
                let record = self.take_prepared(&xid)?;
                self.apply_events(seq, &record.events)?;
            }
            Some(Xa::RolledBack(xid)) => {
                self.take_prepared(&xid)?;
            }
        }
        self.applied = seq;
        if self.delta.bytes() > self.delta_bytes {
            self.merge()?;
        }
        Ok(())
    }
    fn take_prepared(&mut self, xid: &Xid) -> Result<Arc<Record>, TxnError> {
        let unknown = || TxnError::Corrupt(format!("the end of {xid}, which is not prepared"));
        self.prepared.remove(xid).ok_or_else(unknown)
    }
    fn apply_events(&mut self, seq: Seq, events: &[u8]) -> Result<(), TxnError> {
        let (mut numbers, mut none) = (row_numbers(events), &[][..]);
        for change in log::changes(events) {
            match change {
                Change::Internal { key, value } => match key.split_first() {
                    Some((&ROW_NUMBERS, id)) => {
                        let id = id.try_into().map_or(0, TableId::from_be_bytes);
                        self.note_row_numbers(id, value.unwrap_or_default());
                    }
                    Some((&ORIGIN, [])) => {}
                    _ => self.dictionary.apply(key, value, seq)?,
                },
                Change::Query { .. } => {}
                Change::Rows {
                    table,
                    kind,
                    images,
                } => {
                    let id = TableId::try_from(table).unwrap_or(TableId::MAX);
                    let numbers = numbers.get_mut(&id).unwrap_or(&mut none);
                    self.apply_rows(seq, id, kind, images, numbers)?;
                }
            }
        }
        Ok(())
    }
    fn note_row_numbers(&self, table: TableId, numbers: &[u8]) {
        if let Some((_, state)) = self.dictionary.entry(table) {
            for number in numbers.as_chunks::<8>().0 {
                let next = u64::from_le_bytes(*number).saturating_add(1);
                state.next_row.fetch_max(next, Ordering::Relaxed);
            }
        }
    }
    fn apply_rows(
        &mut self,
        seq: Seq,
        id: TableId,
        kind: RowsKind,
        mut images: &[u8],
        numbers: &mut &[u8],
    ) -> Result<(), TxnError> {
        if self.dictionary_version != self.dictionary.version() {
            self.tables.clear();
            self.dictionary_version = self.dictionary.version();
        }
        let table = match self.tables.entry(id) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => {
                let Some((table, state)) = self.dictionary.entry(id) else {
                    return Err(TxnError::Corrupt(format!("rows of an unknown table {id}")));
                };
                entry.insert(Replaying::new(table, state))
            }
        };
        while !images.is_empty() {
            let before = match kind {
                RowsKind::Write => None,
                RowsKind::Update | RowsKind::Delete => Some(take_image(&table.table, &mut images)?),
            };
            let after = match kind {
                RowsKind::Delete => None,
                RowsKind::Update | RowsKind::Write => Some(take_image(&table.table, &mut images)?),
            };
            table.apply(&self.delta, seq, before, after, numbers)?;
        }
        Ok(())
    }
    /// Moves the delta into the Base.
    fn merge(&mut self) -> Result<(), TxnError> {
        let write = self.base.write()?;
        let wanted: HashSet<TreeId> = self.dictionary.trees().collect();
        merge(
            &self.delta,
            &write,
            |tree| wanted.contains(&tree),
            &AtomicU64::new(0),
        )?;
        for state in self.dictionary.states() {
            state.rows_merged(self.delta.generation);
        }
        meta::write_dictionary(&write, &self.dictionary)?;
        meta::write_prepared(&write, &self.prepared)?;
        let header = Header {
            format: meta::FORMAT,
            applied: self.applied,
            position: self.header.position,
            next_id: self.header.next_id.max(self.dictionary.next_id()),
        };
        meta::write_header(&write, &header, &self.dictionary)?;
        write.commit()?;
        self.header = header;
        self.delta = Delta::new(self.delta.generation + 1);
        Ok(())
    }
    /// The engine's shared part, and what it has to restore.
    fn finish(self, parts: Parts) -> Result<(Inner, Records), OpenError> {
        let fail = |error: TxnError| OpenError(format!("cannot read the base file: {error:?}"));
        let base = self.base;
        // Only now: what an index build left is owned by a table that the log has just told of.
        drop_orphans(&base, &self.dictionary).map_err(fail)?;
        let snapshot = base.snapshot().map_err(|error| fail(error.into()))?;
        for (table, state) in self.dictionary.entries() {
            let rows = snapshot
                .tree_len(table.rows)
                .map_err(|error| fail(error.into()))?;
            state.base_rows.store(rows.cast_signed(), Ordering::Relaxed);
        }
        let registry = Registry::new(parts.log.visible());
        let clock = parts.env.clone();
        let dictionary = Arc::new(self.dictionary);
        let next_id = self.header.next_id.max(dictionary.next_id());
        let inner = Inner {
            dir: parts.dir,
            locks: LockManager::new(&registry, move || clock.wall_micros()),
            views: ArcSwap::from_pointee(View {
                active: Arc::new(self.delta),
                sealed: None,
                base: Arc::new(snapshot),
            }),
            registry,
            placed: Mutex::new(Arc::clone(&dictionary)),
            dictionary: ArcSwap::new(dictionary),
            ddl: Mutex::new(()),
            seal_gate: RwLock::new(()),
            next_id: AtomicU32::new(next_id),
            max_transaction_bytes: AtomicU64::new(parts.options.max_transaction_bytes),
            checkpointer: Checkpointer::default(),
            prepared: Prepared::default(),
            server_uuid: format_uuid(&parts.server_uuid),
            directory_lock: parts.lock,
            env: parts.env,
            options: parts.options,
            log: parts.log,
            base,
        };
        Ok((inner, self.prepared))
    }
}

/// What the engine has beside what recovery built.
struct Parts {
    env: Env,
    dir: PathBuf,
    options: EngineOptions,
    log: Log,
    server_uuid: [u8; 16],
    lock: Box<dyn Send + Sync>,
}

/// Removes trees that no table owns: of an index build or a rebuild that a crash cut short.
fn drop_orphans(base: &Base, dictionary: &Dictionary) -> Result<(), TxnError> {
    let owned: HashSet<TreeId> = dictionary.trees().collect();
    let mut orphans = base.snapshot()?.trees()?;
    orphans.retain(|tree| !owned.contains(tree));
    if orphans.is_empty() {
        return Ok(());
    }
    let write = base.write()?;
    for tree in orphans {
        write.drop_tree(tree)?;
    }
    write.commit()?;
    Ok(())
}

impl Replaying {
    pub fn new(table: &Arc<Table>, state: &Arc<TableState>) -> Replaying {
        let column = table
            .columns
            .iter()
            .position(|column| column.auto_increment);
        Replaying {
            table: Arc::clone(table),
            state: Arc::clone(state),
            auto_increment: column.and_then(|column| u16::try_from(column).ok()),
            row: vec![Value::Null; table.columns.len()],
        }
    }
    fn malformed(&self) -> TxnError {
        let name = &self.table.name;
        TxnError::Corrupt(format!("a row image that does not fit table {name}"))
    }
    fn apply(
        &mut self,
        delta: &Delta,
        seq: Seq,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
        numbers: &mut &[u8],
    ) -> Result<(), TxnError> {
        let hidden = if self.table.primary.is_none() {
            let (number, rest) = numbers.split_first_chunk::<8>().ok_or_else(|| {
                TxnError::Corrupt("a row change without its row number".to_owned())
            })?;
            *numbers = rest;
            Some(hidden_key(u64::from_le_bytes(*number)))
        } else {
            None
        };
        let old = before
            .map(|image| self.keys(image, hidden.as_deref()))
            .transpose()?;
        let new = after
            .map(|image| self.keys(image, hidden.as_deref()))
            .transpose()?;
        let put = |tree, key: &[u8], value: Option<Arc<[u8]>>| {
            let key = TreeKey::new(tree, key);
            delta.push(key, Stamp::At(seq), value, &Horizon::only_newest());
        };
        if let Some((key, entries)) = &old {
            if new.as_ref().is_none_or(|(new_key, _)| new_key != key) {
                put(self.table.rows, key, None);
            }
            for (place, index) in self.table.indexes.iter().enumerate() {
                let stays = new
                    .as_ref()
                    .is_some_and(|(_, new)| new.get(place) == entries.get(place));
                if let Some(entry) = entries.get(place).filter(|_| !stays) {
                    put(index.tree, entry, None);
                }
            }
        }
        if let (Some((key, entries)), Some(image)) = (&new, after) {
            put(self.table.rows, key, Some(Arc::from(image)));
            for (place, index) in self.table.indexes.iter().enumerate() {
                let was = old
                    .as_ref()
                    .is_some_and(|(_, old)| old.get(place) == entries.get(place));
                if let Some(entry) = entries.get(place).filter(|_| !was) {
                    put(index.tree, entry, Some(Arc::from([])));
                }
            }
            self.note_auto_increment(image)?;
        }
        let rows = i64::from(after.is_some()) - i64::from(before.is_some());
        self.state.count_rows(delta.generation, rows);
        Ok(())
    }
    /// The keys of a row and of its index entries.
    fn keys(
        &self,
        image: &[u8],
        hidden: Option<&[u8]>,
    ) -> Result<(Vec<u8>, Vec<Vec<u8>>), TxnError> {
        let key = match hidden {
            Some(key) => key.to_vec(),
            None => primary_key(&self.table, image)?.unwrap_or_default(),
        };
        let indexes = self.table.indexes.iter();
        let entries = indexes
            .map(|index| Ok(Entry::derive(&self.table, index, image, &key)?.key))
            .collect::<Result<_, TxnError>>()?;
        Ok((key, entries))
    }
    /// Raises the table's AUTO_INCREMENT above the row's value.
    pub fn note_auto_increment(&mut self, image: &[u8]) -> Result<(), TxnError> {
        let Some(column) = self.auto_increment else {
            return Ok(());
        };
        row::decode_some(&self.table, image, &[column], &mut self.row)
            .map_err(|_| self.malformed())?;
        let used = match self.row.get(usize::from(column)) {
            Some(Value::Int(value)) => u64::try_from(*value).unwrap_or(0),
            Some(Value::UInt(value)) => *value,
            Some(Value::Double(value)) if *value >= 0.0 => *value as u64,
            Some(Value::Float(value)) if *value >= 0.0 => *value as u64,
            _ => 0,
        };
        let next = used.saturating_add(1);
        self.state.auto_increment.fetch_max(next, Ordering::Relaxed);
        Ok(())
    }
}
