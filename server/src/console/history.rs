//! Numbers of the last ten minutes: one sample a second, kept for as long as lines show them.

use cohort_engine::env::Spreading;
use cohort_process::service;
use cohort_sql::{Instance, Pool};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

/// Between two samples.
const EVERY: Duration = Duration::from_secs(1);
/// So many are kept: ten minutes.
pub const SAMPLES: usize = 600;

/// What of SHOW GLOBAL STATUS is kept.
pub const KEPT: [&str; 21] = [
    "Questions",
    "Com_select",
    "Cohort_log_commits",
    "Cohort_log_groups",
    "Cohort_log_fsyncs",
    "Cohort_log_bytes",
    "Cohort_rows_examined",
    "Cohort_delta_bytes",
    "Cohort_delta_sealed_bytes",
    "Cohort_delta_versions",
    "Cohort_checkpoints",
    "Cohort_checkpoint_keys_done",
    "Cohort_checkpoint_keys_total",
    "Cohort_commits_delayed",
    "Cohort_oldest_snapshot",
    "Cohort_visible",
    "Innodb_row_lock_current_waits",
    "Innodb_row_lock_waits",
    "Innodb_row_lock_time",
    "Threads_connected",
    "Threads_running",
];

/// A moment.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The clock for measuring, in nanoseconds.
    at_ns: u64,
    kept: [u64; KEPT.len()],
    /// How long syncs of the log took, in microseconds.
    pub fsync_us: Spreading,
    /// Slots, who has one, and who waits for one; none without a scheduler.
    pub pool: Option<(u64, u64, u64)>,
    /// Memory of the process, in bytes, if the system tells.
    pub memory: Option<u64>,
}

impl Sample {
    fn now(instance: &Instance) -> Sample {
        let status = instance.status();
        let number = |wanted: &str| {
            let found = status.iter().find(|(name, _)| *name == wanted);
            found.map_or(0, |(_, value)| *value)
        };
        let groups = instance.pool().map(Pool::groups);
        let pool = groups.and_then(|groups| groups.first().map(|g| (g.slots, g.active, g.queued)));
        Sample {
            at_ns: instance.env().monotonic_nanos(),
            kept: KEPT.map(number),
            fsync_us: instance.engine.stats().log.fsync_us,
            pool,
            memory: crate::lab::memory(std::process::id()),
        }
    }
    /// One of [`KEPT`].
    pub fn get(&self, name: &str) -> u64 {
        let mut all = KEPT.iter().zip(self.kept);
        all.find(|(known, _)| **known == name)
            .map_or(0, |(_, value)| value)
    }
    /// How much a counter has grown since an earlier one, in a second.
    pub fn rate(&self, earlier: &Sample, name: &str) -> f64 {
        let seconds = self.at_ns.saturating_sub(earlier.at_ns) as f64 / 1e9;
        // FLUSH STATUS begins anew.
        let grown = self.get(name).saturating_sub(earlier.get(name)) as f64;
        if seconds > 0.0 { grown / seconds } else { 0.0 }
    }
}

/// The samples.
#[derive(Default)]
pub struct History(Mutex<VecDeque<Sample>>);

impl History {
    /// Takes samples, until the server or who reads them is gone; `besides` is what is to be done as often.
    pub fn start(
        instance: &Arc<Instance>,
        besides: impl Fn() + Send + 'static,
    ) -> io::Result<Arc<History>> {
        let history = Arc::new(History::default());
        let kept: Weak<History> = Arc::downgrade(&history);
        let instance = Arc::downgrade(instance);
        let work = move || {
            loop {
                let (Some(instance), Some(history)) = (instance.upgrade(), kept.upgrade()) else {
                    return;
                };
                history.keep(Sample::now(&instance));
                drop((instance, history));
                besides();
                thread::sleep(EVERY);
            }
        };
        service::start("console-samples", "and the console has no history", work)?;
        Ok(history)
    }
    fn keep(&self, sample: Sample) {
        let mut samples = self.0.lock();
        if samples.len() >= SAMPLES {
            samples.pop_front();
        }
        samples.push_back(sample);
    }
    /// All of them, the first first.
    pub fn all(&self) -> Vec<Sample> {
        self.0.lock().iter().cloned().collect()
    }
}
