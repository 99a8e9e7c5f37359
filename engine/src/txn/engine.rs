//! The open database.

use super::{
    TxnError,
    checkpointer::{Checkpointer, Pace},
    definitions::Definitions,
    descriptor::Registry,
    dictionary::Dictionary,
    lock::LockManager,
    prepared_list::Prepared,
    progress::{BuildProgress, Builds},
    table_state::TableState,
    temporary::Unlisted,
};
use crate::{
    env::Env,
    log::{Log, LogStep},
    store::{View, base::Base},
    types::GtidSet,
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
    /// cohort_max_temporary_bytes: bound of the temporary tables of one session, in bytes.
    pub max_temporary_bytes: u64,
    /// sync_binlog.
    pub sync_binlog: u64,
    /// max_binlog_size, in bytes.
    pub max_binlog_size: u64,
    /// binlog_expire_logs_seconds.
    pub expire_logs_seconds: u64,
    /// How many bytes of zeros the log keeps ahead of its end.
    pub log_preallocate_bytes: u64,
    /// performance_schema: clocks say how long statements and commits take, and it is kept.
    pub measures: bool,
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
            max_temporary_bytes: 1 << 28,
            sync_binlog: 1,
            max_binlog_size: 1 << 30,
            expire_logs_seconds: 2_592_000,
            log_preallocate_bytes: 16 << 20,
            measures: true,
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
    pub definitions: Arc<Definitions>,
    /// One DDL commits at a time.
    pub ddl: Mutex<()>,
    /// Sealing a delta waits for transactions that fill it before they have a Seq.
    pub seal_gate: RwLock<()>,
    pub next_id: AtomicU32,
    /// How many numbers temporary tables and their trees have had.
    pub next_temporary_id: AtomicU32,
    /// How many dictionaries with temporary tables there were.
    pub dictionary_versions: AtomicU64,
    /// The states of tables that the dictionary does not list.
    pub unlisted: Arc<Unlisted>,
    /// How many commits of the Base have built trees there; changed under the checkpointer's
    /// `exclusive`, when such a commit is durable.
    pub builds: AtomicU64,
    /// Those under way.
    pub running: Builds,
    pub max_transaction_bytes: AtomicU64,
    pub max_lock_bytes: AtomicU64,
    pub max_temporary_bytes: AtomicU64,
    pub checkpointer: Checkpointer,
    /// Rows that committed transactions have inserted, updated and deleted.
    pub rows_changed: AtomicU64,
    pub server_uuid: String,
    /// Held as long as the data directory is in use.
    #[expect(dead_code, reason = "held, not used")]
    pub directory_lock: Box<dyn Send + Sync>,
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
    /// The data dictionary as of now.
    pub fn dictionary(&self) -> Arc<Dictionary> {
        self.inner.definitions.load_full()
    }
    /// The version of the dictionary, without holding on to it.
    #[must_use]
    pub fn dictionary_version(&self) -> u64 {
        self.inner.definitions.load().version()
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
    /// Whether clocks say how long statements and commits take.
    #[must_use]
    pub fn measures(&self) -> bool {
        self.inner.options.measures
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
    /// Changes cohort_max_temporary_bytes.
    pub fn set_max_temporary_bytes(&self, bytes: u64) {
        self.inner
            .max_temporary_bytes
            .store(bytes, Ordering::Relaxed);
    }
    /// Changes cohort_max_lock_bytes.
    pub fn set_max_lock_bytes(&self, bytes: u64) {
        self.inner.max_lock_bytes.store(bytes, Ordering::Relaxed);
    }
    /// Writes everything that is in memory to the Base, so that a start needs no recovery.
    pub fn checkpoint(&self) -> Result<(), TxnError> {
        self.inner.checkpoint_now()
    }
    /// Adds transactions that the database has, but not its log (gtid_purged), durably.
    pub fn add_gtids(&self, set: &GtidSet) -> Result<(), TxnError> {
        self.inner.log.add_elsewhere(set);
        let added = &self.inner.checkpointer.gtids_added;
        added.store(true, Ordering::Relaxed);
        self.checkpoint()
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
    /// How far the DDL statements are that build something now.
    #[must_use]
    pub fn running_builds(&self) -> Vec<BuildProgress> {
        self.inner.running.list()
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
