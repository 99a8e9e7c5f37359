//! Opening a data directory: the Base, then what the log has beyond it.
//!
//! There is no undo, because nothing uncommitted is ever written. Every whole transaction after
//! the Base's Seq is applied to a fresh delta: its row images give the rows and, through the
//! table's definition as of that Seq, the index entries. Prepared transactions (XA) are kept aside
//! until the log says what became of them, see `prepared`.
//!
//! It is done on all processors, in rounds. The log hands out runs of transactions, whose rows are
//! decoded with the dictionary as of the beginning of the round ([`Replay::decode`]); then the runs
//! are applied one after another ([`Replay::apply`]). What changes more than rows is applied only
//! then, and what follows a change of the dictionary is decoded once more. As nobody reads yet,
//! only the newest version of a key matters, and when it gets into the delta does not: decoded rows
//! are collected, and many of them moved at once, in the order of their keys, each processor having
//! a share of the keys. Should the delta grow too large, it is merged into the Base on the way; the
//! log position recorded stays the old one, since a later start skips by Seq what the Base has.

mod again;
mod redo;
mod rows;

use super::{
    OpenError, TxnError,
    beside::{self, HIDDEN, ROW_NUMBERS},
    checkpoint,
    checkpointer::{Checkpointer, Pace},
    definitions::Definitions,
    descriptor::Registry,
    dictionary::Dictionary,
    engine::{Checkpoints, Engine, EngineOptions, Inner},
    lock::LockManager,
    meta::{self, Header, Meta},
    owner::SOURCE,
    prepared_list::{ORIGIN, Prepared, Record, Records},
    progress::Builds,
    reshaping::with_below,
    table_state::TableState,
    writes::{BUILD, COUNTER},
};
use crate::{
    Seq,
    env::{self, Env, Notice, on_all_processors},
    log::{self, Change, Kept, Log, Progress, Replay, ReplayError, Replayed, Xa},
    store::{Delta, StoreError, View, base::Base, merge},
    types::{
        GtidSet, TableId, TreeId, Xid,
        gtid::{format_uuid, parse_uuid},
    },
};
use again::Again;
pub use again::{Converted, Rebuild};
use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};
use rows::Rows;
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

/// The Base's file in the data directory.
pub(super) const BASE_FILE: &str = "cohort.base";
/// Where the server's UUID is.
pub(super) const UUID_FILE: &str = "auto.cnf";
/// The note in a directory that a restore has begun and not finished.
pub(super) const UNFINISHED: &str = "restore.unfinished";

impl Engine {
    /// Opens the data directory `dir`, or begins a new one if it is empty. `progress` hears how
    /// far recovery is, about once a second.
    pub fn open(
        env: &Env,
        dir: &Path,
        options: EngineOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Engine, OpenError> {
        let unfinished = env.exists(&dir.join(UNFINISHED));
        if unfinished.is_ok_and(|unfinished| unfinished) {
            return Err(OpenError(format!(
                "{} is of a restore that has not come to its end: remove the directory and restore \
                 again",
                dir.display()
            )));
        }
        Engine::open_with(env, dir, options, None, progress)
    }

    /// The same of a directory that may be a restore's. `again`: who knows what is to be built again.
    pub(super) fn open_with(
        env: &Env,
        dir: &Path,
        options: EngineOptions,
        again: Option<&mut dyn Rebuild>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Engine, OpenError> {
        let _alone = options.inline.then(env::alone);
        let lock = lock_directory(env, dir)?;
        let server_uuid = server_uuid(env, dir)?;
        let base = open_base(env, dir, &options, &server_uuid)?;
        let mut recovery = Recovery::new(base, &options)?;
        recovery.again = again.map(Again::new);
        let header = recovery.header.clone();
        let known = log::Known {
            position: header.position,
            applied: header.applied,
            source: parse_uuid(&header.log_source),
            kept: header.gtids.clone(),
        };
        let log_options = log::Options {
            server_id: options.server_id,
            sync_binlog: options.sync_binlog,
            max_binlog_size: options.max_binlog_size,
            expire_logs_seconds: options.expire_logs_seconds,
            preallocate: options.log_preallocate_bytes,
            inline: options.inline,
            ..log::Options::new(&options.server_version, server_uuid)
        };
        let log = Log::open(env, dir, log_options, known, &mut recovery, progress)
            .map_err(|error| OpenError(error.0))?;
        recovery.load();
        let gtids = recovery.header.gtids.as_ref();
        if let Some(position) = gtids.and_then(|gtids| gtids.source.as_ref()) {
            log.note_source_position(position);
        }
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
    let weak = Arc::downgrade(&inner);
    inner.base.name_trees(move |tree| {
        let dictionary = weak.upgrade()?.definitions.load_full();
        dictionary.name_of(tree)
    });
    redo::restore(&inner, records)?;
    if inner.options.inline {
        return Ok(Engine {
            inner,
            checkpoints: Mutex::new(Checkpoints::Inline(Pace::default())),
        });
    }
    let weak = Arc::downgrade(&inner);
    let thread = std::thread::Builder::new()
        .name("checkpoint".to_owned())
        .spawn(move || checkpoint::run(&weak))
        .map_err(|error| OpenError(format!("cannot start the checkpoint thread: {error}")))?;
    Ok(Engine {
        inner,
        checkpoints: Mutex::new(Checkpoints::Thread(thread)),
    })
}

/// Takes a data directory for this process alone, until what it gives is dropped.
pub(super) fn lock_directory(env: &Env, dir: &Path) -> Result<Box<dyn Send + Sync>, OpenError> {
    let fail = |error: std::io::Error| {
        OpenError(format!(
            "cannot use the data directory {}: {error}",
            dir.display()
        ))
    };
    env.create_dir(dir).map_err(fail)?;
    let lock = env.lock(&dir.join("cohort.lock")).map_err(fail)?;
    let lock = lock.ok_or_else(|| {
        OpenError(format!(
            "another server uses the data directory {}: stop it, or choose another directory",
            dir.display()
        ))
    })?;
    env.clear_temporary_files(dir);
    Ok(lock)
}

/// Opens the Base, or makes one in a new data directory.
fn open_base(
    env: &Env,
    dir: &Path,
    options: &EngineOptions,
    server_uuid: &[u8; 16],
) -> Result<Base, OpenError> {
    let path = dir.join(BASE_FILE);
    let name = path.display();
    let failed = |error: &dyn std::fmt::Display| {
        OpenError(format!(
            "cannot open the base file: {error}; nothing was changed: restore the data directory \
             from a backup"
        ))
    };
    if env.exists(&path).map_err(|error| failed(&error))? {
        return Base::open(env, &path, options.base_cache_bytes).map_err(|error| failed(&error));
    }
    let names = env.list(dir).map_err(|error| failed(&error))?;
    if names.iter().any(|name| name.starts_with("binlog.")) {
        return Err(OpenError(format!(
            "{name} is missing, but there are binary logs, which need it; nothing was changed: put \
             the file back, restore the data directory from a backup, or move the binary logs away"
        )));
    }
    let header = Header {
        format: meta::FORMAT,
        next_id: 1,
        log_source: format_uuid(server_uuid),
        ..Header::default()
    };
    new_base(env, dir, |base| {
        let write = base.write()?;
        meta::write_header(&write, &header)?;
        Ok(write.commit()?)
    })?;
    Base::open(env, &path, options.base_cache_bytes).map_err(|error| failed(&error))
}

/// Makes a Base file of what `fill` puts into it, durable, and replaces the one there is, if any.
/// It has another name until then; what a crash left under that name goes.
pub(super) fn new_base(
    env: &Env,
    dir: &Path,
    fill: impl FnOnce(&Base) -> Result<(), TxnError>,
) -> Result<(), OpenError> {
    let temporary = dir.join(format!("{BASE_FILE}.tmp"));
    let io = |error: std::io::Error| TxnError::Storage(error.to_string());
    let clear = || match env.exists(&temporary) {
        Ok(true) => env.remove(&temporary),
        there => there.map(|_| ()),
    };
    let make = || {
        clear().map_err(io)?;
        let base = Base::create(env, &temporary, EngineOptions::default().base_cache_bytes)?;
        fill(&base)?;
        drop(base);
        let renamed = env.rename(&temporary, &dir.join(BASE_FILE));
        renamed.and_then(|()| env.sync_dir(dir)).map_err(io)
    };
    make().map_err(|error| {
        // What is left there takes space only.
        let _ = clear();
        OpenError(format!("cannot make a base file: {error}"))
    })
}

/// The server's UUID, made on the first start and kept in `auto.cnf`, as MySQL keeps its own.
fn server_uuid(env: &Env, dir: &Path) -> Result<[u8; 16], OpenError> {
    let path = dir.join(UUID_FILE);
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
    write_uuid(env, dir, &format_uuid(&uuid))?;
    Ok(uuid)
}

/// Keeps the server's UUID in `auto.cnf`.
pub(super) fn write_uuid(env: &Env, dir: &Path, uuid: &str) -> Result<(), OpenError> {
    let path = dir.join(UUID_FILE);
    let contents = format!("[auto]\nserver-uuid={uuid}\n");
    let written = env.replace(&path, contents.as_bytes());
    written.map_err(|error| OpenError(format!("{}: {error}", path.display())))
}

/// The state that replaying builds.
struct Recovery<'r> {
    base: Base,
    header: Header,
    /// How many times trees were built straight into the Base.
    builds: u64,
    /// In a restore: what a DDL has built since.
    again: Option<Again<'r>>,
    dictionary: Dictionary,
    delta: Delta,
    delta_bytes: usize,
    applied: Seq,
    /// What comes after all that is in the delta.
    rows: Rows,
    prepared: Records,
}

/// What can be said about transactions ahead of those before them.
struct Decoded {
    /// The dictionary's version they were decoded with.
    version: u64,
    /// How many were decoded.
    count: usize,
    rows: Rows,
}

impl Replay for Recovery<'_> {
    type Decoded = Decoded;
    /// Decodes transactions up to one that changes more than rows.
    fn decode(&self, transactions: &[Replayed<'_>]) -> Decoded {
        let mut rows = Rows::new();
        let mut all = transactions.iter();
        // One that fails here is looked at again by `apply`, and fails there.
        let other = all.position(|transaction| {
            !matches!(rows.decode_all(&self.dictionary, transaction), Ok(true))
        });
        Decoded {
            version: self.dictionary.version(),
            count: other.unwrap_or(transactions.len()),
            rows,
        }
    }
    fn apply(
        &mut self,
        mut transactions: &[Replayed<'_>],
        mut decoded: Decoded,
    ) -> Result<(), ReplayError> {
        let failed = |seq| {
            move |error: TxnError| ReplayError {
                seq,
                why: error.to_string(),
            }
        };
        let Some(last) = transactions.last() else {
            return Ok(());
        };
        self.applied = last.seq;
        loop {
            if decoded.version != self.dictionary.version() {
                decoded = self.decode(transactions);
            }
            self.take(decoded.rows);
            let rest = transactions.get(decoded.count..).unwrap_or_default();
            let Some((other, rest)) = rest.split_first() else {
                return self.make_room().map_err(failed(last.seq));
            };
            self.apply_one(other).map_err(failed(other.seq))?;
            transactions = rest;
            decoded = self.decode(rest);
        }
    }
}

impl Recovery<'_> {
    fn new<'r>(base: Base, options: &EngineOptions) -> Result<Recovery<'r>, OpenError> {
        let snapshot = base.snapshot().map_err(|error| unreadable(&error))?;
        let meta = meta::read(&snapshot).map_err(|error| unreadable(&error))?;
        let Meta {
            mut header,
            builds,
            dictionary,
            prepared,
        } = meta;
        if !meta::KNOWN_FORMATS.contains(&header.format) {
            return Err(OpenError(format!(
                "the data directory has format {}, this program knows {}: use the program that \
                 wrote it",
                header.format,
                meta::FORMAT
            )));
        }
        drop(snapshot);
        // What merging on the way leaves as it is: the log is read from the same place again.
        header.gtids.get_or_insert_with(|| Kept {
            executed: parse_uuid(&header.log_source).map_or_else(GtidSet::default, |source| {
                GtidSet::first(source, header.applied)
            }),
            elsewhere: GtidSet::default(),
            source: None,
        });
        Ok(Recovery {
            base,
            applied: header.applied,
            header,
            builds,
            again: None,
            dictionary,
            delta: Delta::new(0),
            // A running server's deltas together are smaller, so this is for other cases. The
            // Base's cache is empty as yet.
            delta_bytes: options.delta_bytes.saturating_mul(4) + options.base_cache_bytes / 2,
            rows: Rows::new(),
            prepared,
        })
    }
    fn take_prepared(&mut self, xid: &Xid) -> Result<Arc<Record>, TxnError> {
        let unknown = || TxnError::Corrupt(format!("the end of {xid}, which is not prepared"));
        self.prepared.remove(xid).ok_or_else(unknown)
    }
    /// Applies any transaction.
    fn apply_one(&mut self, transaction: &Replayed<'_>) -> Result<(), TxnError> {
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
        // Not that of the prepared transaction, whose changes were made just now.
        for change in transaction.changes() {
            if let Change::Internal { key, value } = change
                && key == [SOURCE]
            {
                self.note_source(value.unwrap_or_default());
            }
        }
        Ok(())
    }
    /// Builds what a transaction needs and the Base of a restore does not have, before its records are
    /// applied.
    fn build_again(&mut self, seq: Seq, events: &[u8]) -> Result<(), TxnError> {
        let build = match again::build_of(events) {
            Some(build) if self.again.is_some() && build.number > self.builds => build,
            _ => return Ok(()),
        };
        // The rows are read from the Base, as of the commit before.
        self.load();
        let run = std::mem::replace(&mut self.applied, seq - 1);
        let merged = self.merge();
        self.applied = run;
        merged?;
        match &mut self.again {
            Some(again) => again.build(&self.base, &self.dictionary, (seq, build), events),
            None => Ok(()),
        }
    }
    fn apply_events(&mut self, seq: Seq, events: &[u8]) -> Result<(), TxnError> {
        self.build_again(seq, events)?;
        let mut besides = beside::of_events(events);
        for change in log::changes(events) {
            match change {
                Change::Internal { key, value } => match key.split_first() {
                    Some((&ROW_NUMBERS, id)) => {
                        let id = id.try_into().map_or(0, TableId::from_be_bytes);
                        self.note_row_numbers(id, value.unwrap_or_default());
                    }
                    Some((&COUNTER, id)) => self.note_counter(id, value.unwrap_or_default())?,
                    Some((&ORIGIN | &SOURCE, []) | (&HIDDEN, _)) => {}
                    Some((&BUILD, [])) => self.check_build(value.unwrap_or_default())?,
                    _ => self.dictionary.apply(key, value, seq)?,
                },
                Change::Query { .. } => {}
                Change::Rows {
                    table,
                    kind,
                    images,
                } => {
                    let mut rows = Rows::new();
                    rows.decode(&self.dictionary, seq, table, kind, images, &mut besides)?;
                    self.take(rows);
                }
            }
        }
        Ok(())
    }
    /// Up to here another server's log is applied.
    fn note_source(&mut self, position: &[u8]) {
        if let Some(gtids) = &mut self.header.gtids {
            gtids.source = Some(String::from_utf8_lossy(position).into());
        }
    }
    /// The next AUTO_INCREMENT value of a table is this at least.
    fn note_counter(&self, id: &[u8], next: &[u8]) -> Result<(), TxnError> {
        let (Ok(id), Ok(next)) = (id.try_into(), next.try_into()) else {
            return Err(TxnError::Corrupt(
                "a damaged AUTO_INCREMENT record".to_owned(),
            ));
        };
        if let Some((_, state)) = self.dictionary.entry(TableId::from_be_bytes(id)) {
            let next = u64::from_le_bytes(next);
            state.auto_increment.fetch_max(next, Ordering::Relaxed);
        }
        Ok(())
    }
    /// Whether the Base has what a DDL built straight into it.
    fn check_build(&self, number: &[u8]) -> Result<(), TxnError> {
        let number = number
            .split_first_chunk()
            .map(|(number, _)| u64::from_le_bytes(*number));
        match number {
            Some(number) if number <= self.builds || self.again.is_some() => Ok(()),
            Some(_) => Err(TxnError::Corrupt(format!(
                "{BASE_FILE} is older than this: rows or index entries that the statement built \
                 are not in it; put the newest one back, or restore the data directory from a \
                 backup"
            ))),
            None => Err(TxnError::Corrupt("a build without its number".to_owned())),
        }
    }
    fn note_row_numbers(&self, table: TableId, numbers: &[u8]) {
        if let Some((_, state)) = self.dictionary.entry(table) {
            for number in numbers.as_chunks::<8>().0 {
                let next = u64::from_le_bytes(*number).saturating_add(1);
                state.next_row.fetch_max(next, Ordering::Relaxed);
            }
        }
    }
    /// Keeps what transactions put that come after all before.
    fn take(&mut self, mut rows: Rows) {
        rows.count(self.delta.generation);
        self.rows.append(rows);
    }
    /// Moves rows into the delta, and the delta into the Base, should there be too many.
    fn make_room(&mut self) -> Result<(), TxnError> {
        if self.rows.bytes > self.delta_bytes / 4 {
            self.load();
            if self.delta.bytes() > self.delta_bytes {
                self.merge()?;
            }
        }
        Ok(())
    }
    /// Moves the rows into the delta.
    fn load(&mut self) {
        let rows = std::mem::replace(&mut self.rows, Rows::new());
        on_all_processors(rows.shares, |share| self.delta.load(share), || ());
    }
    /// Moves the delta into the Base.
    fn merge(&mut self) -> Result<(), TxnError> {
        let texts = self.dictionary.text_trees();
        let before = self.base.snapshot()?;
        let mut write = self.base.write()?;
        let wanted: HashSet<TreeId> = self.dictionary.trees().collect();
        let wanted = |tree| wanted.contains(&tree);
        let progress = AtomicU64::new(0);
        merge(
            &self.delta,
            &mut write,
            wanted,
            (&texts, &before),
            &progress,
        )?;
        drop(before);
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
            log_source: self.header.log_source.clone(),
            gtids: self.header.gtids.clone(),
        };
        meta::write_header(&write, &header)?;
        let counters = meta::put_counters(&write, &self.dictionary)?;
        write.commit()?;
        counters.committed();
        self.header = header;
        self.delta = Delta::new(self.delta.generation + 1);
        Ok(())
    }
    /// The engine's shared part, and what it has to restore.
    fn finish(self, parts: Parts) -> Result<(Inner, Records), OpenError> {
        let again = self.again.map_or(0, |again| again.last);
        let base = self.base;
        // Only now: what an index build left is owned by a table that the log has just told of.
        drop_orphans(&parts.env, &base, &self.dictionary).map_err(|error| unreadable(&error))?;
        let snapshot = base.snapshot().map_err(|error| unreadable(&error))?;
        for (table, state) in self.dictionary.entries() {
            let rows = match snapshot.tree_len(table.rows) {
                Ok(rows) => rows,
                // Statements that need the table will say so.
                Err(StoreError::Damaged { .. }) => 0,
                Err(error) => return Err(unreadable(&error)),
            };
            state.base_rows.store(rows.cast_signed(), Ordering::Relaxed);
        }
        let registry = Registry::new(parts.log.visible());
        let clock = parts.env.clone();
        let next_id = self.header.next_id.max(self.dictionary.next_id());
        let inner = Inner {
            dir: parts.dir,
            locks: LockManager::new(&registry, move || clock.wall_micros()),
            views: ArcSwap::from_pointee(View {
                active: Arc::new(self.delta),
                sealed: None,
                base: snapshot,
            }),
            registry,
            definitions: Definitions::new(self.dictionary),
            ddl: Mutex::new(()),
            seal_gate: RwLock::new(()),
            next_id: AtomicU32::new(next_id),
            next_temporary_id: AtomicU32::new(0),
            dictionary_versions: AtomicU64::new(0),
            unlisted: Arc::default(),
            builds: AtomicU64::new(self.builds.max(again)),
            running: Builds::default(),
            max_transaction_bytes: AtomicU64::new(parts.options.max_transaction_bytes),
            max_lock_bytes: AtomicU64::new(parts.options.max_lock_bytes),
            max_temporary_bytes: AtomicU64::new(parts.options.max_temporary_bytes),
            checkpointer: Checkpointer::new(parts.options.delta_bytes, self.header.applied),
            rows_changed: AtomicU64::new(0),
            read_lock: TableState::new(TableState::READ_LOCK),
            backup_lock: TableState::new(TableState::BACKUP_LOCK),
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

fn unreadable(error: &dyn std::fmt::Display) -> OpenError {
    OpenError(format!(
        "cannot read the base file: {error}; restore the data directory from a backup"
    ))
}

/// Removes trees that no table owns: of an index build or a rebuild that a crash cut short.
fn drop_orphans(env: &Env, base: &Base, dictionary: &Dictionary) -> Result<(), StoreError> {
    let snapshot = base.snapshot()?;
    let needed = with_below(&snapshot.layered(), dictionary.trees().collect());
    let mut orphans = snapshot.trees()?;
    drop(snapshot);
    orphans.retain(|tree| !needed.contains(tree));
    if orphans.is_empty() {
        return Ok(());
    }
    let drop_all = || {
        let write = base.write()?;
        // First, for what is below one of them may be a table's rows.
        orphans.iter().try_for_each(|tree| write.take_off(*tree))?;
        orphans.iter().try_for_each(|tree| write.drop_tree(*tree))?;
        write.commit()
    };
    let Err(error) = drop_all() else {
        return Ok(());
    };
    // They are in nobody's way.
    let text = format!("the space of index builds that did not end is not given back: {error}");
    env.notice(Notice::SpaceNotReturned, &text);
    while base.mend()? {}
    Ok(())
}
