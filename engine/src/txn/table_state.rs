//! What is known of a table beside its definition.

use super::lock::mdl::MetadataLock;
use crate::types::{Index, Table, TableId, TreeId};
use parking_lot::Mutex;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
};

/// The counters of a table that no row tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    /// The next AUTO_INCREMENT value.
    pub auto_increment: u64,
    /// The next hidden row number.
    pub next_row: u64,
}

impl Counters {
    /// Those of a new table.
    const NEW: Counters = Counters {
        auto_increment: 1,
        next_row: 1,
    };
}

/// What the entries of an index are like.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexStatistics {
    /// How many entries there are, about.
    pub entries: u64,
    /// How many different values the first part has, the first two parts together, and so on: at least
    /// 1 each. Parts of the primary key that entries of other indexes end with count, too.
    pub distinct: Vec<f64>,
    /// The mean length of an entry, key and value, in bytes.
    pub entry_bytes: f64,
    /// All entries were read for it.
    pub is_whole: bool,
}

/// What is known of an index, and since when.
#[derive(Clone)]
pub(super) struct Known {
    pub tree: TreeId,
    pub statistics: Arc<IndexStatistics>,
    /// How many rows the table had.
    pub rows: u64,
    /// On the monotonic clock; `None`: ANALYZE TABLE has read everything.
    pub read_ms: Option<u64>,
}

impl Known {
    /// Whether it holds for a table that has so many rows now.
    pub fn holds(&self, rows: u64, now_ms: u64) -> bool {
        /// So long what was read of a part of the index counts, in milliseconds.
        const KEPT_MS: u64 = 60_000;
        let resized = rows.abs_diff(self.rows) > self.rows / 5;
        let aged = |read: u64| now_ms.saturating_sub(read) > KEPT_MS;
        !resized && !self.read_ms.is_some_and(aged)
    }
}

/// What is known of a table beside its definition, shared by all its definitions.
pub(super) struct TableState {
    /// The table's number.
    pub id: TableId,
    pub metadata_lock: MetadataLock,
    /// The next AUTO_INCREMENT value.
    pub auto_increment: AtomicU64,
    /// Values were taken that no row in the log has, for it was not inserted after all. The next
    /// commit that writes the table logs how far they went, so that no crash gives them out again.
    pub unlogged: AtomicBool,
    /// The next hidden row number, for tables without a primary key.
    pub next_row: AtomicU64,
    /// The counters that the Base has on disk.
    pub written: Mutex<Counters>,
    /// Rows in the Base.
    pub base_rows: AtomicI64,
    /// Rows that the delta of an even and of an odd generation adds.
    pub delta_rows: [AtomicI64; 2],
    /// What is known of its indexes.
    pub statistics: Mutex<Vec<Known>>,
    /// How often ANALYZE TABLE has read it.
    pub analyzed: AtomicU64,
    /// Who begins to write it waits so long before, in microseconds, for a build that follows the
    /// writers more slowly than they go on.
    pub slowed_us: AtomicU64,
}

impl TableState {
    /// The number of the read lock, which is no table but is locked as one.
    pub const READ_LOCK: TableId = TableId::MAX;
    /// The number of the backup lock.
    pub const BACKUP_LOCK: TableId = TableId::MAX - 1;

    pub fn new(id: TableId) -> Arc<TableState> {
        Arc::new(TableState {
            id,
            metadata_lock: MetadataLock::default(),
            auto_increment: AtomicU64::new(Counters::NEW.auto_increment),
            unlogged: AtomicBool::new(false),
            next_row: AtomicU64::new(Counters::NEW.next_row),
            written: Mutex::new(Counters::NEW),
            base_rows: AtomicI64::new(0),
            delta_rows: Default::default(),
            statistics: Mutex::default(),
            analyzed: AtomicU64::new(0),
            slowed_us: AtomicU64::new(0),
        })
    }
    /// Its counters as they are now.
    pub fn counters(&self) -> Counters {
        Counters {
            auto_increment: self.auto_increment.load(Ordering::Relaxed),
            next_row: self.next_row.load(Ordering::Relaxed),
        }
    }
    /// What was last known of an index.
    pub fn known(&self, index: &Index) -> Option<Known> {
        let all = self.statistics.lock();
        all.iter().find(|known| known.tree == index.tree).cloned()
    }
    /// Keeps what is known of an index of the table, and nothing of indexes that are gone.
    pub fn keep(&self, table: &Table, known: Known) {
        let mut all = self.statistics.lock();
        let is_there = |tree: TreeId| table.keys().any(|index| index.tree == tree);
        all.retain(|other| other.tree != known.tree && is_there(other.tree));
        all.push(known);
    }
    /// Counts rows that a commit added to the delta of this generation.
    pub fn count_rows(&self, generation: u64, rows: i64) {
        let [even, odd] = &self.delta_rows;
        let counter = if generation.is_multiple_of(2) {
            even
        } else {
            odd
        };
        counter.fetch_add(rows, Ordering::Relaxed);
    }
    /// About how many rows there are.
    pub fn rows(&self) -> u64 {
        let delta: i64 = self
            .delta_rows
            .iter()
            .map(|rows| rows.load(Ordering::Relaxed))
            .sum();
        u64::try_from(self.base_rows.load(Ordering::Relaxed) + delta).unwrap_or(0)
    }
    /// A checkpoint has taken over the delta of this generation.
    pub fn rows_merged(&self, generation: u64) {
        let [even, odd] = &self.delta_rows;
        let counter = if generation.is_multiple_of(2) {
            even
        } else {
            odd
        };
        let rows = counter.swap(0, Ordering::Relaxed);
        self.base_rows.fetch_add(rows, Ordering::Relaxed);
    }
}
