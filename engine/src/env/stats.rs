//! Counters per file: calls, bytes, latencies.

use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// How many buckets a histogram of fsync latencies has; the last one takes everything slower.
pub const FSYNC_BUCKETS: usize = 101;
/// The width of a bucket.
pub const FSYNC_BUCKET_MICROS: u64 = 100;

/// One kind of call on one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationStats {
    /// How many calls.
    pub count: u64,
    /// Their latencies' sum.
    pub nanos_sum: u64,
    /// The quickest (0 if there was none).
    pub nanos_min: u64,
    /// The slowest.
    pub nanos_max: u64,
    /// Bytes read or written.
    pub bytes: u64,
}

impl OperationStats {
    /// Both kinds of calls together.
    #[must_use]
    pub fn and(&self, other: &OperationStats) -> OperationStats {
        let least = [self, other].into_iter().filter(|stats| stats.count > 0);
        OperationStats {
            count: self.count + other.count,
            nanos_sum: self.nanos_sum + other.nanos_sum,
            nanos_min: least.map(|stats| stats.nanos_min).min().unwrap_or(0),
            nanos_max: self.nanos_max.max(other.nanos_max),
            bytes: self.bytes + other.bytes,
        }
    }
}

/// The counters of one file.
#[derive(Clone, Debug)]
pub struct FileStats {
    /// Where it is.
    pub path: PathBuf,
    /// Reads.
    pub read: OperationStats,
    /// Writes.
    pub write: OperationStats,
    /// fdatasync calls.
    pub fsync: OperationStats,
    /// Changes of length.
    pub other: OperationStats,
    /// How many fsyncs took so many times `FSYNC_BUCKET_MICROS`.
    pub fsync_histogram: [u64; FSYNC_BUCKETS],
}

#[derive(Default)]
pub(super) struct Operation {
    count: AtomicU64,
    nanos_sum: AtomicU64,
    nanos_max: AtomicU64,
    /// The minimum's complement, so that 0 means "none yet".
    nanos_min_inverted: AtomicU64,
    bytes: AtomicU64,
}

impl Operation {
    pub(super) fn record(&self, nanos: u64, bytes: u64) {
        self.count.fetch_add(1, Relaxed);
        self.nanos_sum.fetch_add(nanos, Relaxed);
        // Most calls change neither extreme: look before writing.
        if self.nanos_max.load(Relaxed) < nanos {
            self.nanos_max.fetch_max(nanos, Relaxed);
        }
        if self.nanos_min_inverted.load(Relaxed) < !nanos {
            self.nanos_min_inverted.fetch_max(!nanos, Relaxed);
        }
        if bytes > 0 {
            self.bytes.fetch_add(bytes, Relaxed);
        }
    }

    fn stats(&self) -> OperationStats {
        OperationStats {
            count: self.count.load(Relaxed),
            nanos_sum: self.nanos_sum.load(Relaxed),
            nanos_min: match self.nanos_min_inverted.load(Relaxed) {
                0 => 0,
                inverted => !inverted,
            },
            nanos_max: self.nanos_max.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
        }
    }

    fn reset(&self) {
        let times = [&self.nanos_sum, &self.nanos_max, &self.nanos_min_inverted];
        for counter in times.into_iter().chain([&self.count, &self.bytes]) {
            counter.store(0, Relaxed);
        }
    }
}

pub(super) struct Counters {
    pub(super) read: Operation,
    pub(super) write: Operation,
    pub(super) other: Operation,
    fsync: Operation,
    fsync_histogram: [AtomicU64; FSYNC_BUCKETS],
}

impl Default for Counters {
    fn default() -> Counters {
        Counters {
            read: Operation::default(),
            write: Operation::default(),
            other: Operation::default(),
            fsync: Operation::default(),
            fsync_histogram: [const { AtomicU64::new(0) }; FSYNC_BUCKETS],
        }
    }
}

impl Counters {
    pub(super) fn record_fsync(&self, nanos: u64) {
        self.fsync.record(nanos, 0);
        let bucket = usize::try_from(nanos / 1000 / FSYNC_BUCKET_MICROS).unwrap_or(usize::MAX);
        if let Some(count) = self.fsync_histogram.get(bucket.min(FSYNC_BUCKETS - 1)) {
            count.fetch_add(1, Relaxed);
        }
    }

    fn stats(&self, path: PathBuf) -> FileStats {
        FileStats {
            path,
            read: self.read.stats(),
            write: self.write.stats(),
            fsync: self.fsync.stats(),
            other: self.other.stats(),
            fsync_histogram: std::array::from_fn(|bucket| {
                self.fsync_histogram
                    .get(bucket)
                    .map_or(0, |count| count.load(Relaxed))
            }),
        }
    }
}

/// The counters of all files, by path.
#[derive(Default)]
pub(super) struct Registry(Mutex<BTreeMap<PathBuf, Arc<Counters>>>);

impl Registry {
    pub(super) fn counters(&self, path: &Path) -> Arc<Counters> {
        Arc::clone(self.0.lock().entry(path.to_owned()).or_default())
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) {
        let mut files = self.0.lock();
        if let Some(counters) = files.remove(from) {
            files.insert(to.to_owned(), counters);
        }
    }

    pub(super) fn remove(&self, path: &Path) {
        self.0.lock().remove(path);
    }

    pub(super) fn all(&self) -> Vec<FileStats> {
        let files = self.0.lock();
        files
            .iter()
            .map(|(path, counters)| counters.stats(path.clone()))
            .collect()
    }

    /// Begins anew, but for the histograms.
    pub(super) fn reset(&self) {
        for counters in self.0.lock().values() {
            let operations = [&counters.read, &counters.write, &counters.fsync];
            for operation in operations.into_iter().chain([&counters.other]) {
                operation.reset();
            }
        }
    }
}
