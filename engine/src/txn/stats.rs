//! What the engine tells about itself.

use super::{
    DeadlockReport, LockInfo, LockStats, LockWait,
    engine::{Engine, Inner},
};
use crate::{Seq, log, types::Table};
use std::{sync::atomic::Ordering, time::Duration};

/// Counters since the start, and gauges.
#[derive(Clone, Copy, Debug, Default)]
pub struct EngineStats {
    /// The log's.
    pub log: log::Status,
    /// How commits wait for replicas.
    pub semi_sync: log::SemiSyncStatus,
    /// Row lock waits.
    pub locks: LockStats,
    /// The newest commit that is visible.
    pub visible: Seq,
    /// The oldest Seq that a snapshot holds (`visible`, if there is none).
    pub oldest_snapshot: Seq,
    /// Memory of the active delta, in bytes.
    pub delta_bytes: u64,
    /// Versions in the active delta.
    pub delta_versions: u64,
    /// Memory of the sealed delta, in bytes; 0 when no checkpoint is running.
    pub sealed_bytes: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Keys that the running or last checkpoint has merged.
    pub checkpoint_keys_done: u64,
    /// Keys it has to merge, about.
    pub checkpoint_keys_total: u64,
    /// Bytes that all checkpoints read from the disk.
    pub checkpoint_read_bytes: u64,
    /// A delta of more bytes begins a checkpoint, for now.
    pub delta_limit: u64,
    /// Rows that committed transactions inserted, updated and deleted.
    pub rows_changed: u64,
    /// Calls that read from the Base's file, and their bytes.
    pub base_reads: (u64, u64),
    /// The same that wrote to it.
    pub base_writes: (u64, u64),
    /// Commits that were slowed because the delta was full.
    pub delayed_commits: u64,
    /// By how much together, in microseconds.
    pub delay_us: u64,
}

/// A transaction, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionInfo {
    /// The connection.
    pub session: u64,
    /// Its number; 0 if it has no locks.
    pub transaction: u64,
    /// When it began, in microseconds since 1970.
    pub since_us: u64,
    /// Its snapshot.
    pub snapshot: Option<Seq>,
    /// Rows it has changed.
    pub changes: u64,
    /// Its statement.
    pub statement: String,
}

impl Engine {
    /// About how many rows the table has; exact when nothing is going on.
    pub fn row_estimate(&self, table: &Table) -> u64 {
        self.inner.state(table).map_or(0, |state| state.rows())
    }
    /// Counters and gauges.
    pub fn stats(&self) -> EngineStats {
        collect(&self.inner)
    }
    /// All row and range locks and who waits for them.
    pub fn locks(&self) -> Vec<LockInfo> {
        self.inner.locks.list()
    }
    /// Whom each waiting session waits for.
    pub fn lock_waits(&self) -> Vec<LockWait> {
        self.inner.locks.waits()
    }
    /// Has `listener` told of every row lock wait of a millisecond or more, when it is over: the
    /// session that held the lock, its last statement, and how long the wait was. Once.
    pub fn on_long_lock_wait(
        &self,
        listener: impl Fn(u64, &str, Duration) + Send + Sync + 'static,
    ) {
        self.inner.locks.on_long_wait(Box::new(listener));
    }
    /// The last deadlocks, the latest last.
    pub fn deadlocks(&self) -> Vec<DeadlockReport> {
        self.inner.locks.deadlocks()
    }
    /// The transactions that hold locks, snapshots or tables.
    pub fn transactions(&self) -> Vec<TransactionInfo> {
        transactions(&self.inner)
    }
}

fn collect(inner: &Inner) -> EngineStats {
    let view = inner.views.load();
    let visible = inner.log.visible();
    let snapshots = inner.registry.all();
    let oldest = snapshots
        .iter()
        .filter_map(|descriptor| descriptor.snapshot())
        .min();
    let checkpointer = &inner.checkpointer;
    let traffic = inner.base.traffic();
    EngineStats {
        log: inner.log.status(),
        semi_sync: inner.log.semi_sync(),
        locks: inner.locks.stats(),
        visible,
        oldest_snapshot: oldest.unwrap_or(visible),
        delta_bytes: view.active.bytes() as u64,
        delta_versions: u64::try_from(view.active.versions()).unwrap_or(0),
        sealed_bytes: view
            .sealed
            .as_ref()
            .map_or(0, |sealed| sealed.bytes() as u64),
        checkpoints: checkpointer.checkpoints.load(Ordering::Relaxed),
        checkpoint_keys_done: checkpointer.keys_done.load(Ordering::Relaxed),
        checkpoint_keys_total: checkpointer.keys_total.load(Ordering::Relaxed),
        checkpoint_read_bytes: checkpointer.read_bytes.load(Ordering::Relaxed),
        delta_limit: checkpointer.delta_limit.load(Ordering::Relaxed) as u64,
        rows_changed: inner.rows_changed.load(Ordering::Relaxed),
        base_reads: (
            traffic.reads.load(Ordering::Relaxed),
            traffic.read_bytes.load(Ordering::Relaxed),
        ),
        base_writes: (
            traffic.writes.load(Ordering::Relaxed),
            traffic.written_bytes.load(Ordering::Relaxed),
        ),
        delayed_commits: checkpointer.delays.load(Ordering::Relaxed),
        delay_us: checkpointer.delay_us.load(Ordering::Relaxed),
    }
}

fn transactions(inner: &Inner) -> Vec<TransactionInfo> {
    let descriptors = inner.registry.all();
    let active = descriptors.iter().filter_map(|descriptor| {
        let snapshot = descriptor.snapshot();
        let id = descriptor.id.load(Ordering::Relaxed);
        let idle = snapshot.is_none() && descriptor.tables.lock().is_empty();
        if idle && descriptor.locks.load(Ordering::Relaxed) == 0 {
            return None;
        }
        Some(TransactionInfo {
            session: descriptor.session,
            transaction: id,
            since_us: descriptor.since_us.load(Ordering::Relaxed),
            snapshot,
            changes: descriptor.changes.load(Ordering::Relaxed),
            statement: descriptor.statement_text(),
        })
    });
    let mut active: Vec<TransactionInfo> = active.collect();
    active.sort_by_key(|info| info.session);
    active
}
