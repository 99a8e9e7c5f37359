//! The checkpoint thread: seals the active delta and merges it into the Base.
//!
//! The order of steps is what makes a crash at any of them harmless:
//!
//! 1. remember the log's position: recovery may begin there, because every commit after the seal
//!    comes later in the log;
//! 2. inside the log's critical section, put a fresh delta in place of the active one: all commits
//!    up to the last placed Seq are in the sealed one, all others will be in the new one;
//! 3. wait until that Seq is durable and applied: the Base must never be ahead of the log;
//! 4. merge, and commit the Base together with that Seq, the position and the dictionary as of it;
//! 5. publish the view without the sealed delta;
//! 6. let the log purge what recovery no longer needs.

use super::{TxnError, dictionary::Dictionary, engine::Inner, meta, prepared::Records};
use crate::{
    Seq,
    log::Position,
    store::{Delta, FrozenFile, View, base::Base, merge},
    types::TreeId,
};
use parking_lot::{Condvar, Mutex};
use std::{
    collections::HashSet,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// How often the thread looks whether a quiet delta should be merged.
const TICK: Duration = Duration::from_millis(500);

#[derive(Default)]
struct State {
    requested: bool,
    stop: bool,
    failure: Option<String>,
}

/// What others ask of the checkpoint thread, and what it tells.
#[derive(Default)]
pub(super) struct Checkpointer {
    state: Mutex<State>,
    changed: Condvar,
    /// Serialises checkpoints and direct writes to the Base.
    pub exclusive: Mutex<Retired>,
    asked: AtomicBool,
    /// Trees that a DDL dropped at a Seq; they leave the Base with that Seq.
    doomed: Mutex<Vec<(Seq, TreeId)>>,
    pub checkpoints: AtomicU64,
    pub keys_done: AtomicU64,
    pub keys_total: AtomicU64,
    pub delays: AtomicU64,
    pub delay_us: AtomicU64,
}

/// Deltas that snapshots may still use. The thread drops them when it is the last to hold them,
/// because freeing a large one takes long.
#[derive(Default)]
pub(super) struct Retired {
    deltas: Vec<Arc<Delta>>,
    /// The version of the dictionary that the Base has.
    dictionary: Option<u64>,
    /// The same for the list of prepared transactions.
    prepared: Option<u64>,
}

impl Checkpointer {
    /// Wants a checkpoint soon.
    pub fn request(&self) {
        if !self.asked.swap(true, Ordering::AcqRel) {
            self.state.lock().requested = true;
            self.changed.notify_all();
        }
    }
    /// Ends the thread.
    pub fn stop(&self) {
        self.state.lock().stop = true;
        self.changed.notify_all();
    }
    /// Waits while a checkpoint is `running`: asked under the lock that its end takes.
    pub fn wait_for_merge(&self, running: impl Fn() -> bool) {
        let mut state = self.state.lock();
        while running() && !state.stop && state.failure.is_none() {
            self.changed.wait(&mut state);
        }
    }
    /// Why there are no checkpoints any more.
    pub fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }
    /// Counts a delayed commit.
    pub fn count_delay(&self, us: u64) {
        self.delays.fetch_add(1, Ordering::Relaxed);
        self.delay_us.fetch_add(us, Ordering::Relaxed);
    }
    /// The Base loses these trees when it has the commit `seq`.
    pub fn doom(&self, seq: Seq, trees: Vec<TreeId>) {
        let doomed = trees.into_iter().map(|tree| (seq, tree));
        self.doomed.lock().extend(doomed);
    }
    fn take_doomed(&self, seq: Seq) -> Vec<TreeId> {
        let mut doomed = self.doomed.lock();
        let due = |entry: &mut (Seq, TreeId)| entry.0 <= seq;
        doomed.extract_if(.., due).map(|(_, tree)| tree).collect()
    }
    fn finished(&self, result: &Result<(), TxnError>) {
        let mut state = self.state.lock();
        if let Err(error) = result {
            state.failure.get_or_insert_with(|| format!("{error:?}"));
        }
        self.changed.notify_all();
    }
    /// Sleeps until asked or a tick is over; false to stop.
    fn sleep(&self) -> bool {
        let mut state = self.state.lock();
        if !state.requested && !state.stop {
            self.changed.wait_for(&mut state, TICK);
        }
        !state.stop
    }
    /// Whether a checkpoint was asked for since the last look.
    fn take_request(&self) -> bool {
        let mut state = self.state.lock();
        self.asked.store(false, Ordering::Release);
        std::mem::take(&mut state.requested)
    }
}

/// The thread's loop. It holds the engine only while it works, so that the engine can end.
pub(super) fn run(engine: &Weak<Inner>) {
    let mut pace = Pace::default();
    loop {
        let Some(inner) = engine.upgrade() else {
            return;
        };
        if !inner.checkpointer.sleep() {
            return;
        }
        pace.turn(&inner);
    }
}

/// When a checkpoint is due although the delta is not full: when nothing has happened for a
/// while; and when the log has grown long, as it does while a few hot rows are updated over and
/// over, since a recovery would have to read all of it.
#[derive(Default)]
pub(super) struct Pace {
    versions: i64,
    quiet_since_ms: u64,
    log_bytes: u64,
}

/// A checkpoint begins when the log has grown by so many times the delta's size.
const LOG_PER_DELTA: u64 = 8;

impl Pace {
    /// One turn of the thread's loop.
    pub fn turn(&mut self, inner: &Inner) {
        let asked = inner.checkpointer.take_request();
        if inner.checkpointer.failure().is_some() {
            return;
        }
        inner.registry.advance(inner.log.visible());
        if self.is_due(inner) || asked {
            // The failure is kept; writers get it when the delta is full.
            let _ = inner.checkpoint_now();
            self.completed(inner);
        }
    }
    fn is_due(&mut self, inner: &Inner) -> bool {
        let now_ms = inner.env.monotonic_nanos() / 1_000_000;
        let delta = Arc::clone(&inner.views.load().active);
        if delta.versions() != self.versions {
            self.versions = delta.versions();
            self.quiet_since_ms = now_ms;
        }
        let quiet_ms = now_ms.saturating_sub(self.quiet_since_ms);
        let grown = inner.log.status().bytes.saturating_sub(self.log_bytes);
        let long = grown / LOG_PER_DELTA > inner.options.delta_bytes as u64;
        !delta.is_empty() && (long || quiet_ms >= inner.options.quiet_checkpoint_ms)
    }
    fn completed(&mut self, inner: &Inner) {
        self.log_bytes = inner.log.status().bytes;
    }
}

/// What was sealed.
struct Sealed {
    delta: Arc<Delta>,
    seq: Seq,
    position: Position,
    dictionary: Arc<Dictionary>,
    /// The prepared transactions and the list's version, if the Base has another one.
    prepared: Option<(u64, Records)>,
}

impl Inner {
    /// Merges everything committed so far into the Base.
    pub fn checkpoint_now(&self) -> Result<(), TxnError> {
        let mut retired = self.checkpointer.exclusive.lock();
        self.checkpoint_locked(&mut retired)
    }
    /// As `checkpoint_now`, for a caller that holds the Base's lock.
    pub fn checkpoint_locked(&self, retired: &mut Retired) -> Result<(), TxnError> {
        if let Some(error) = self.checkpointer.failure() {
            return Err(TxnError::Storage(error));
        }
        let view = self.views.load();
        let known = self.placed.lock().version();
        let told =
            retired.dictionary == Some(known) && retired.prepared == Some(self.prepared.version());
        if view.active.is_empty() && view.sealed.is_none() && told {
            return Ok(());
        }
        drop(view);
        let result = self
            .seal(retired)
            .and_then(|sealed| self.merge(&sealed, retired));
        if result.is_err() {
            // If this fails as well, what the Base's cache has can still be read.
            let _ = self.freeze();
        }
        self.checkpointer.finished(&result);
        retired.deltas.retain(|delta| Arc::strong_count(delta) > 1);
        result
    }
    /// After a failed write: goes on reading what the Base had before, without writing to it.
    fn freeze(&self) -> Result<(), TxnError> {
        let storage = |error: std::io::Error| TxnError::Storage(error.to_string());
        let path = self.dir.join(super::recover::BASE_FILE);
        let file = FrozenFile::open(&self.env, &path).map_err(storage)?;
        let base = Base::open(file, self.options.base_cache_bytes)?;
        let view = self.views.load_full();
        self.views.store(Arc::new(View {
            base: Arc::new(base.snapshot()?),
            ..View::clone(&view)
        }));
        Ok(())
    }
    fn seal(&self, retired: &Retired) -> Result<Sealed, TxnError> {
        let position = self.log.position();
        let sealed = {
            let _gate = self.seal_gate.write();
            self.log.exclusive(|seq| {
                let view = self.views.load_full();
                let delta = Arc::clone(&view.active);
                self.views.store(Arc::new(View {
                    active: Arc::new(Delta::new(delta.generation + 1)),
                    sealed: Some(Arc::clone(&delta)),
                    base: Arc::clone(&view.base),
                }));
                let version = self.prepared.version();
                Sealed {
                    delta,
                    seq,
                    position,
                    dictionary: Arc::clone(&self.placed.lock()),
                    prepared: (retired.prepared != Some(version))
                        .then(|| (version, self.prepared.records())),
                }
            })
        };
        self.log.wait_visible(sealed.seq)?;
        self.log.wait_durable(sealed.seq)?;
        Ok(sealed)
    }
    fn merge(&self, sealed: &Sealed, retired: &mut Retired) -> Result<(), TxnError> {
        let wanted: HashSet<_> = sealed.dictionary.trees().collect();
        let keys = u64::try_from(sealed.delta.versions()).unwrap_or(0);
        self.checkpointer.keys_total.store(keys, Ordering::Relaxed);
        self.checkpointer.keys_done.store(0, Ordering::Relaxed);
        let write = self.base.write()?;
        let done = &self.checkpointer.keys_done;
        merge(&sealed.delta, &write, |tree| wanted.contains(&tree), done)?;
        let generation = sealed.delta.generation;
        for state in sealed.dictionary.states() {
            state.rows_merged(generation);
        }
        let version = sealed.dictionary.version();
        if retired.dictionary != Some(version) {
            meta::write_dictionary(&write, &sealed.dictionary)?;
        }
        if let Some((_, records)) = &sealed.prepared {
            meta::write_prepared(&write, records)?;
        }
        for tree in self.checkpointer.take_doomed(sealed.seq) {
            write.drop_tree(tree)?;
        }
        let header = meta::Header {
            format: meta::FORMAT,
            applied: sealed.seq,
            position: sealed.position,
            next_id: self.next_id.load(Ordering::Relaxed),
        };
        meta::write_header(&write, &header, &sealed.dictionary)?;
        write.commit()?;
        retired.dictionary = Some(version);
        if let Some((version, _)) = sealed.prepared {
            retired.prepared = Some(version);
        }
        self.publish_base(Some(&sealed.delta))?;
        retired.deltas.push(Arc::clone(&sealed.delta));
        self.log.set_recovery_floor(sealed.position);
        self.checkpointer
            .checkpoints
            .fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    /// Publishes a view of the Base as it is on disk now, without the delta that went into it.
    pub fn publish_base(&self, merged: Option<&Arc<Delta>>) -> Result<(), TxnError> {
        let base = Arc::new(self.base.snapshot()?);
        let view = self.views.load_full();
        let gone = |delta: &Arc<Delta>| merged.is_some_and(|merged| Arc::ptr_eq(merged, delta));
        self.views.store(Arc::new(View {
            active: Arc::clone(&view.active),
            sealed: view.sealed.clone().filter(|sealed| !gone(sealed)),
            base,
        }));
        Ok(())
    }
}
