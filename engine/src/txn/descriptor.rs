//! What others may know of a transaction, and the registry of all of them.

use super::{
    lock::table_lock::TableLock,
    waiting::{Parker, Waiting},
};
use crate::{
    Seq,
    store::{Horizon, Overlay},
    types::TableId,
};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering},
};

/// No snapshot.
const NONE: u64 = u64::MAX;

/// The public face of a transaction: its snapshot, for the pruner; its weight and what it waits
/// for, for deadlock detection; its statement, for those who wait for it. A session's
/// transactions use the same one, one after another.
pub(super) struct Descriptor {
    /// The connection id.
    pub session: u64,
    pub waiting: Arc<dyn Waiting>,
    pub parker: Arc<Parker>,
    registry: Arc<Registry>,
    /// The transaction's number; 0 as long as it has no locks.
    pub id: AtomicU64,
    snapshot: AtomicU64,
    /// Text of the statement that is running or ran last.
    pub statement: Mutex<Option<Arc<str>>>,
    /// What it has changed and not committed, where READ UNCOMMITTED can see it. Hardly anybody
    /// does, so the lock is free when its own transaction takes it. The transaction ends with it
    /// empty.
    pub overlay: Mutex<Overlay>,
    /// Row changes so far.
    pub changes: AtomicU64,
    /// Row and range locks taken so far; 0 only if it holds none.
    pub locks: AtomicU64,
    /// Tables it uses, and how: to read, or to write.
    pub tables: Mutex<SmallVec<[(TableId, TableLock); 4]>>,
    /// When it began, in microseconds since 1970.
    pub since_us: AtomicU64,
}

impl Descriptor {
    /// Notes one more row or range lock. Only its own transaction counts, so that a plain store
    /// will do.
    pub fn count_lock(&self) {
        let locks = self.locks.load(Ordering::Relaxed);
        self.locks.store(locks + 1, Ordering::Relaxed);
    }
    /// Whether it is of the same session.
    pub fn is_same(&self, other: &Descriptor) -> bool {
        Arc::ptr_eq(&self.parker, &other.parker)
    }
    /// Whether it uses a table, to write it if `least` is `Write`.
    pub fn uses(&self, table: TableId, least: TableLock) -> bool {
        let tables = self.tables.lock();
        tables
            .iter()
            .any(|(id, mode)| *id == table && *mode >= least)
    }
    /// What would be lost with it: the transaction with the least is a deadlock's victim.
    pub fn weight(&self) -> u64 {
        self.changes.load(Ordering::Relaxed) + self.locks.load(Ordering::Relaxed)
    }
    /// Whether it is in this registry.
    pub fn is_of(&self, registry: &Arc<Registry>) -> bool {
        Arc::ptr_eq(&self.registry, registry)
    }
    /// After a transaction, when no lock refers to it any more: it is the next one's.
    pub fn reset(&self) {
        self.clear_snapshot();
        self.since_us.store(0, Ordering::Relaxed);
        if self.id.load(Ordering::Relaxed) != 0 {
            self.id.store(0, Ordering::Relaxed);
            self.changes.store(0, Ordering::Relaxed);
            self.locks.store(0, Ordering::Relaxed);
        }
    }
    /// Makes the transaction known by a number, before its first lock.
    pub fn identify(&self, now_us: impl FnOnce() -> u64) {
        if self.id.load(Ordering::Relaxed) == 0 {
            let id = self.registry.next_id.fetch_add(1, Ordering::Relaxed);
            self.id.store(id, Ordering::Relaxed);
            if self.since_us.load(Ordering::Relaxed) == 0 {
                self.since_us.store(now_us(), Ordering::Relaxed);
            }
        }
    }
    /// Publishes a snapshot; false if the pruner may not have seen it in time: take a newer one.
    pub fn publish_snapshot(&self, seq: Seq) -> bool {
        self.snapshot.store(seq, Ordering::SeqCst);
        self.registry.intent.load(Ordering::SeqCst) <= seq
    }
    pub fn clear_snapshot(&self) {
        self.snapshot.store(NONE, Ordering::Release);
    }
    /// The snapshot it holds.
    pub fn snapshot(&self) -> Option<Seq> {
        let seq = self.snapshot.load(Ordering::SeqCst);
        (seq != NONE).then_some(seq)
    }
    /// Whether its session was killed.
    pub fn is_killed(&self) -> bool {
        self.parker.is_killed()
    }
    /// Text of its statement, shortened for error messages.
    pub fn statement_text(&self) -> String {
        let statement = self.statement.lock().clone();
        statement.map_or_else(String::new, |text| text.chars().take(200).collect())
    }
}

/// All descriptors, and what the pruner makes of their snapshots.
pub(super) struct Registry {
    descriptors: Mutex<Vec<Weak<Descriptor>>>,
    next_id: AtomicU64,
    /// The pruner is about to forget what is below; snapshots must be at or above.
    intent: AtomicU64,
    horizon: ArcSwap<Horizon>,
}

impl Registry {
    pub fn new(visible: Seq) -> Arc<Registry> {
        Arc::new(Registry {
            descriptors: Mutex::default(),
            next_id: AtomicU64::new(1),
            intent: AtomicU64::new(visible),
            horizon: ArcSwap::from_pointee(Horizon {
                seq: visible,
                snapshots: Vec::new(),
            }),
        })
    }
    /// A descriptor for the transactions of a session.
    pub fn register(
        self: &Arc<Registry>,
        session: u64,
        waiting: &Arc<dyn Waiting>,
        parker: &Arc<Parker>,
    ) -> Arc<Descriptor> {
        let descriptor = Arc::new(Descriptor {
            session,
            waiting: Arc::clone(waiting),
            parker: Arc::clone(parker),
            registry: Arc::clone(self),
            id: AtomicU64::new(0),
            snapshot: AtomicU64::new(NONE),
            statement: Mutex::default(),
            overlay: Mutex::default(),
            changes: AtomicU64::new(0),
            locks: AtomicU64::new(0),
            tables: Mutex::default(),
            since_us: AtomicU64::new(0),
        });
        self.descriptors.lock().push(Arc::downgrade(&descriptor));
        descriptor
    }
    /// All descriptors there are.
    pub fn all(&self) -> Vec<Arc<Descriptor>> {
        let mut descriptors = self.descriptors.lock();
        let mut all = Vec::with_capacity(descriptors.len());
        descriptors.retain(|weak| match weak.upgrade() {
            Some(descriptor) => {
                all.push(descriptor);
                true
            }
            None => false,
        });
        all
    }
    /// What pushes may drop; as of the last `advance`.
    pub fn horizon(&self) -> arc_swap::Guard<Arc<Horizon>> {
        self.horizon.load()
    }
    /// Recomputes the horizon. A snapshot that is published after the look at its cell has, by
    /// the order of `intent` and the cell, been taken at or above `visible`, or is taken again.
    pub fn advance(&self, visible: Seq) {
        self.intent.store(visible, Ordering::SeqCst);
        let mut snapshots: Vec<Seq> = self
            .all()
            .iter()
            .filter_map(|descriptor| descriptor.snapshot())
            .filter(|seq| *seq < visible)
            .collect();
        snapshots.sort_unstable();
        snapshots.dedup();
        self.horizon.store(Arc::new(Horizon {
            seq: visible,
            snapshots,
        }));
    }
}
