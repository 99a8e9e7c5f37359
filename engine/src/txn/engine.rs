//! The open database.

use super::{
    TxnError,
    checkpoint::{Checkpointer, Pace},
    descriptor::{Descriptor, Registry},
    dictionary::{Dictionary, TableState},
    lock::LockManager,
    owner::Owner,
    prepared::Prepared,
    read::KeyRange,
    stats::EngineStats,
    transaction::{Snapshot, Txn},
};
use crate::{
    Seq,
    env::Env,
    log::{Log, LogStep},
    store::{View, base::Base},
    types::{Table, TreeId},
};
use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use super::TxnOptions;

/// How the engine is opened.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// As the binlog's format description event tells it, e.g. `9.7.0-cohort-0.1.0`.
    pub server_version: String,
    /// server_id.
    pub server_id: u32,
    /// A checkpoint begins when the delta takes so many bytes.
    pub delta_bytes: usize,
    /// A quiet delta is checkpointed after so many milliseconds.
    pub quiet_checkpoint_ms: u64,
    /// Bound of the Base's page cache, in bytes.
    pub base_cache_bytes: usize,
    /// max_binlog_cache_size: bound of one transaction's changes, in bytes.
    pub max_transaction_bytes: u64,
    /// cohort_max_lock_bytes: bound of one transaction's locks, in bytes.
    pub max_lock_bytes: u64,
    /// sync_binlog.
    pub sync_binlog: u64,
    /// max_binlog_size, in bytes.
    pub max_binlog_size: u64,
    /// binlog_expire_logs_seconds.
    pub expire_logs_seconds: u64,
    /// How many bytes of zeros the log keeps ahead of its end.
    pub log_preallocate_bytes: u64,
    /// For simulation: no thread is started, at the opening neither. Whoever waits for a thread's
    /// work does it, and [`Engine::step`] does what nobody waits for, so that the same calls give
    /// the same writes.
    pub inline: bool,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            server_version: concat!("9.7.0-cohort-", env!("CARGO_PKG_VERSION")).to_owned(),
            server_id: 1,
            delta_bytes: 64 << 20,
            quiet_checkpoint_ms: 10_000,
            base_cache_bytes: 128 << 20,
            max_transaction_bytes: 1 << 30,
            max_lock_bytes: 1 << 30,
            sync_binlog: 1,
            max_binlog_size: 1 << 30,
            expire_logs_seconds: 2_592_000,
            log_preallocate_bytes: 16 << 20,
            inline: false,
        }
    }
}

/// What the engine's parts share.
pub(super) struct Inner {
    pub env: Env,
    pub dir: PathBuf,
    pub options: EngineOptions,
    pub log: Log,
    pub base: Base,
    pub views: ArcSwap<View>,
    pub registry: Arc<Registry>,
    pub locks: LockManager,
    /// FLUSH TABLES WITH READ LOCK.
    pub read_lock: Arc<TableState>,
    /// LOCK INSTANCE FOR BACKUP.
    pub backup_lock: Arc<TableState>,
    /// XA: what waits between its two phases.
    pub prepared: Prepared,
    /// What sessions see: as of a durable Seq.
    pub dictionary: ArcSwap<Dictionary>,
    /// As of the last Seq placed in the log; replaced inside the log's critical section.
    pub placed: Mutex<Arc<Dictionary>>,
    /// One DDL commits at a time.
    pub ddl: Mutex<()>,
    /// Sealing a delta waits for transactions that fill it before they have a Seq.
    pub seal_gate: RwLock<()>,
    pub next_id: AtomicU32,
    /// How many commits of the Base have built trees there; changed under the checkpointer's
    /// `exclusive`, when such a commit is durable.
    pub builds: AtomicU64,
    pub max_transaction_bytes: AtomicU64,
    pub max_lock_bytes: AtomicU64,
    pub checkpointer: Checkpointer,
    pub server_uuid: String,
    /// Held as long as the data directory is in use.
    #[expect(dead_code, reason = "held, not used")]
    pub directory_lock: Box<dyn Send + Sync>,
}

impl Inner {
    /// Takes a snapshot of everything visible. The view may be replaced at any time, and the
    /// pruner may pass; then it is taken again.
    pub fn snapshot(&self, descriptor: &Descriptor) -> Snapshot {
        loop {
            let view = self.views.load_full();
            let seq = self.log.visible();
            if descriptor.publish_snapshot(seq) && Arc::ptr_eq(&view, &self.views.load()) {
                return Snapshot { view, seq };
            }
        }
    }
    /// The layers and a Seq that everyone can see, good for reading a newest visible version.
    /// It is not registered, so older versions may go: a version at or below the Seq stays.
    pub fn visible_view(&self) -> (Arc<View>, Seq) {
        loop {
            let view = self.views.load_full();
            let seq = self.log.visible();
            if Arc::ptr_eq(&view, &self.views.load()) {
                return (view, seq);
            }
        }
    }
    /// A table's state, by its definition.
    fn state(&self, table: &Table) -> Option<Arc<TableState>> {
        let dictionary = self.dictionary.load();
        dictionary
            .entry(table.id)
            .map(|(_, state)| Arc::clone(state))
    }
}

/// The open database: log, store, locks and data dictionary.
pub struct Engine {
    pub(super) inner: Arc<Inner>,
    pub(super) checkpoints: Mutex<Checkpoints>,
}

/// Who looks after checkpoints.
pub(super) enum Checkpoints {
    Thread(std::thread::JoinHandle<()>),
    /// Whoever calls `step`.
    Inline(Pace),
    /// Nobody any more.
    Ended,
}

/// One of the threads that an engine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// One of the log's.
    Log(LogStep),
    /// The checkpoint thread: looks whether a checkpoint is due, and makes it.
    Checkpoint,
}

impl Engine {
    /// Begins a transaction. Costs no I/O and no Seq.
    pub fn begin(&self, owner: &Arc<Owner>, options: TxnOptions) -> Txn {
        Txn::new(&self.inner, owner, options)
    }
    /// The data dictionary as of now.
    pub fn dictionary(&self) -> Arc<Dictionary> {
        self.inner.dictionary.load_full()
    }
    /// The next values of a table's AUTO_INCREMENT: reserves `count`, returns the first.
    pub fn auto_increment(&self, table: &Table, count: u64) -> u64 {
        self.auto_increment_aligned(table, count, 1, 1)
    }
    /// As `auto_increment`, for values that are `offset` modulo `step` (auto_increment_increment
    /// and auto_increment_offset): reserves `count` of them, `step` apart, returns the first.
    pub fn auto_increment_aligned(&self, table: &Table, count: u64, step: u64, offset: u64) -> u64 {
        let Some(state) = self.inner.state(table) else {
            return 0;
        };
        let step = step.max(1);
        let first_from = |next: u64| {
            let behind = (step + offset % step - next % step) % step;
            next.saturating_add(behind)
        };
        let reserve = |next: u64| {
            let last = first_from(next).saturating_add(step.saturating_mul(count.max(1) - 1));
            Some(last.saturating_add(1))
        };
        let counter = &state.auto_increment;
        match counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve) {
            Ok(next) | Err(next) => first_from(next),
        }
    }
    /// Raises a table's AUTO_INCREMENT above a value that was inserted explicitly.
    pub fn auto_increment_at_least(&self, table: &Table, used: u64) {
        if let Some(state) = self.inner.state(table) {
            let next = used.saturating_add(1);
            state.auto_increment.fetch_max(next, Ordering::Relaxed);
        }
    }
    /// The next AUTO_INCREMENT value, without taking it (SHOW CREATE TABLE, information_schema).
    pub fn auto_increment_peek(&self, table: &Table) -> u64 {
        let state = self.inner.state(table);
        state.map_or(1, |state| state.auto_increment.load(Ordering::Relaxed))
    }
    /// About how many rows the table has; exact when nothing is going on.
    pub fn row_estimate(&self, table: &Table) -> u64 {
        self.inner.state(table).map_or(0, |state| state.rows())
    }
    /// About how many entries of a tree are in the range (for choosing an access path).
    pub fn range_estimate(&self, tree: TreeId, range: &KeyRange) -> u64 {
        super::stats::range_estimate(&self.inner, tree, range).unwrap_or(0)
    }
    /// A number for a new table or tree; never handed out twice.
    pub fn new_id(&self) -> u32 {
        self.inner.next_id.fetch_add(1, Ordering::Relaxed)
    }
    /// The log, for SHOW BINARY LOGS, PURGE, FLUSH and the log's variables and counters.
    pub fn log(&self) -> &Log {
        &self.inner.log
    }
    /// The door to files, with their counters.
    pub fn env(&self) -> &Env {
        &self.inner.env
    }
    /// The data directory.
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }
    /// server_uuid, in its text form.
    pub fn server_uuid(&self) -> &str {
        &self.inner.server_uuid
    }
    /// Changes max_binlog_cache_size.
    pub fn set_max_transaction_bytes(&self, bytes: u64) {
        self.inner
            .max_transaction_bytes
            .store(bytes, Ordering::Relaxed);
    }
    /// Changes cohort_max_lock_bytes.
    pub fn set_max_lock_bytes(&self, bytes: u64) {
        self.inner.max_lock_bytes.store(bytes, Ordering::Relaxed);
    }
    /// Counters and gauges.
    pub fn stats(&self) -> EngineStats {
        super::stats::collect(&self.inner)
    }
    /// All row and range locks and who waits for them.
    pub fn locks(&self) -> Vec<super::LockInfo> {
        self.inner.locks.list()
    }
    /// Whom each waiting session waits for.
    pub fn lock_waits(&self) -> Vec<super::LockWait> {
        self.inner.locks.waits()
    }
    /// Has `listener` told of every row lock wait of a millisecond or more, when it is over: the
    /// session that held the lock, its last statement, and how long the wait was. Once.
    pub fn on_long_lock_wait(
        &self,
        listener: impl Fn(u64, &str, std::time::Duration) + Send + Sync + 'static,
    ) {
        self.inner.locks.on_long_wait(Box::new(listener));
    }
    /// The last deadlocks, the latest last.
    pub fn deadlocks(&self) -> Vec<super::DeadlockReport> {
        self.inner.locks.deadlocks()
    }
    /// The transactions that hold locks, snapshots or tables.
    pub fn transactions(&self) -> Vec<super::TransactionInfo> {
        super::stats::transactions(&self.inner)
    }
    /// Writes everything that is in memory to the Base, so that a start needs no recovery.
    pub fn checkpoint(&self) -> Result<(), TxnError> {
        self.inner.checkpoint_now()
    }
    /// In an engine without threads: does what one of them would do next. Otherwise nothing.
    pub fn step(&self, step: Step) {
        match step {
            Step::Log(step) => self.inner.log.step(step),
            Step::Checkpoint => {
                if let Checkpoints::Inline(pace) = &mut *self.checkpoints.lock() {
                    pace.turn(&self.inner);
                }
            }
        }
    }
    /// Ends the engine: a last checkpoint, then the log's end. Transactions must have ended.
    /// Dropping does the same, without telling errors.
    pub fn close(self) -> Result<(), TxnError> {
        self.shut_down()
    }
    fn shut_down(&self) -> Result<(), TxnError> {
        let checkpoints = std::mem::replace(&mut *self.checkpoints.lock(), Checkpoints::Ended);
        if matches!(checkpoints, Checkpoints::Ended) {
            return Ok(());
        }
        let result = self.inner.checkpoint_now();
        self.inner.checkpointer.stop();
        if let Checkpoints::Thread(thread) = checkpoints {
            // A panic of the thread has been printed where it happened.
            let _ = thread.join();
        }
        result
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.shut_down();
    }
}
