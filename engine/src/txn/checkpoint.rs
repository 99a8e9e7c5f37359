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
//!
//! A checkpoint that fails is tried again, once a second, with the delta that was sealed: until the
//! disk has room again, say. Meanwhile everything can be read, and commits go on until the active
//! delta is full, too; then they get the checkpoint's error.

use super::{
    TxnError,
    checkpointer::{Memory, Merged, Pace, Retired, Sealed, TICK},
    engine::Inner,
    meta,
};
use crate::{
    Seq,
    env::alone,
    store::{Delta, StoreError, View, look_up, merge, note},
};
use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak, atomic::Ordering},
};

/// How long after a failed checkpoint the next one is tried, in milliseconds.
const RETRY_MS: u64 = 1_000;

/// The thread's loop. It holds the engine only while it works, so that the engine can end.
pub(super) fn run(engine: &Weak<Inner>) {
    let mut pace = Pace::default();
    loop {
        let Some(inner) = engine.upgrade() else {
            return;
        };
        if !inner.checkpointer.sleep(pace.rest) {
            return;
        }
        pace.turn(&inner);
    }
}

/// A checkpoint begins when the log has grown by so many times the delta's size.
const LOG_PER_DELTA: u64 = 8;

impl Pace {
    /// One turn of the thread's loop.
    pub fn turn(&mut self, inner: &Inner) {
        let asked = inner.checkpointer.take_request();
        inner.registry.advance(inner.log.visible());
        if self.is_due(inner, asked) {
            // The failure is kept; writers get it when the delta is full.
            let _ = inner.checkpoint_now();
            self.completed(inner);
        }
        self.rest = inner.move_rows_up().unwrap_or(TICK).min(TICK);
    }
    fn is_due(&mut self, inner: &Inner, asked: bool) -> bool {
        let now_ms = inner.env.monotonic_nanos() / 1_000_000;
        if inner.checkpointer.failure().is_some() {
            return now_ms.saturating_sub(self.ended_ms) >= RETRY_MS;
        }
        let delta = Arc::clone(&inner.views.load().active);
        if delta.versions() != self.versions {
            self.versions = delta.versions();
            self.quiet_since_ms = now_ms;
        }
        let quiet_ms = now_ms.saturating_sub(self.quiet_since_ms);
        let grown = inner.log.status().bytes.saturating_sub(self.log_bytes);
        let long = grown / LOG_PER_DELTA > inner.options.delta_bytes as u64;
        asked || !delta.is_empty() && (long || quiet_ms >= inner.options.quiet_checkpoint_ms)
    }
    fn completed(&mut self, inner: &Inner) {
        self.log_bytes = inner.log.status().bytes;
        self.ended_ms = inner.env.monotonic_nanos() / 1_000_000;
    }
}

impl Inner {
    /// Merges everything committed so far into the Base.
    pub fn checkpoint_now(&self) -> Result<(), TxnError> {
        let mut retired = self.checkpointer.exclusive.lock();
        self.checkpoint_locked(&mut retired)
    }
    /// As `checkpoint_now`, for a caller that holds the Base's lock.
    pub fn checkpoint_locked(&self, retired: &mut Retired) -> Result<(), TxnError> {
        let _alone = self.options.inline.then(alone);
        let steps = catch_unwind(AssertUnwindSafe(|| self.checkpoint_steps(retired)));
        let result = steps.unwrap_or_else(|_| {
            // Its message was printed where it happened.
            Err(TxnError::Storage("a checkpoint panicked".to_owned()))
        });
        if let Some((notice, text)) = self.checkpointer.finished(&result) {
            self.env.notice(notice, &text);
        }
        if result.is_err() {
            // At once, as others read: from a file whose change failed redb reads what it has in memory,
            // and no more. What fails here is met again by the next change.
            let _ = self.mend_base();
        }
        retired.deltas.retain(|delta| Arc::strong_count(delta) > 1);
        result
    }
    fn checkpoint_steps(&self, retired: &mut Retired) -> Result<(), TxnError> {
        self.mend_base()?;
        if let Some(sealed) = retired.sealed.clone() {
            self.merge_sealed(&sealed, retired)?;
        }
        let view = self.views.load();
        let known = self.definitions.placed().version();
        let told =
            retired.dictionary == Some(known) && retired.prepared == Some(self.prepared.version());
        let kept = !self.checkpointer.gtids_added.swap(false, Ordering::Relaxed);
        if view.active.is_empty() && told && kept {
            return Ok(());
        }
        drop(view);
        let sealed = Arc::new(self.seal(retired));
        retired.sealed = Some(Arc::clone(&sealed));
        self.merge_sealed(&sealed, retired)
    }
    /// Has the Base take changes, if it can after those that failed.
    pub fn mend_base(&self) -> Result<(), TxnError> {
        if self.base.mend()? {
            self.publish_base(None)?;
            // The next call knows whether anybody still reads what was there before.
            self.base.mend()?;
        }
        Ok(())
    }
    /// Merges what was sealed, which is kept until that is done.
    fn merge_sealed(&self, sealed: &Sealed, retired: &mut Retired) -> Result<(), TxnError> {
        self.log.wait_visible(sealed.seq)?;
        self.log.wait_durable(sealed.seq)?;
        self.merge(sealed, retired)?;
        retired.sealed = None;
        Ok(())
    }
    fn seal(&self, retired: &Retired) -> Sealed {
        let position = self.log.position();
        let _gate = self.seal_gate.write();
        self.log.exclusive_with_gtids(|seq, gtids| {
            let view = self.views.load_full();
            assert!(view.sealed.is_none(), "one delta is sealed at a time");
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
                gtids,
                position,
                dictionary: self.definitions.placed(),
                prepared: (retired.prepared != Some(version))
                    .then(|| (version, self.prepared.logged())),
            }
        })
    }
    fn merge(&self, sealed: &Sealed, retired: &mut Retired) -> Result<(), TxnError> {
        // Without those that were dropped since: nobody reads them, and they may be damaged.
        let dropped: HashSet<_> = self.checkpointer.doomed(Seq::MAX).into_iter().collect();
        let wanted = sealed.dictionary.trees();
        let wanted: HashSet<_> = wanted.filter(|tree| !dropped.contains(tree)).collect();
        let keys = u64::try_from(sealed.delta.versions()).unwrap_or(0);
        self.checkpointer.keys_total.store(keys, Ordering::Relaxed);
        self.checkpointer.keys_done.store(0, Ordering::Relaxed);
        let texts = sealed.dictionary.text_trees();
        let before = self.base.snapshot()?;
        let wanted = |tree| wanted.contains(&tree);
        if self.checkpointer.failure().is_some() {
            // If it is a page that cannot be read, it fails here, and costs nobody else anything.
            look_up(&sealed.delta, &before, wanted)?;
        }
        let mut write = self.base.write()?;
        let done = &self.checkpointer.keys_done;
        let read_bytes = merge(&sealed.delta, &mut write, wanted, (&texts, &before), done)?;
        drop(before);
        note(&sealed.delta, &write, &self.checkpointer.noted.lock())?;
        let version = sealed.dictionary.version();
        if retired.dictionary != Some(version) {
            meta::write_dictionary(&write, &sealed.dictionary)?;
        }
        if let Some((_, records)) = &sealed.prepared {
            meta::write_prepared(&write, records)?;
        }
        for tree in self.checkpointer.doomed(sealed.seq) {
            match write.drop_tree(tree) {
                // What is left of it goes with the file. It is nobody's any more.
                Err(StoreError::Damaged { .. }) if self.checkpointer.leave(tree) => {
                    return Err(TxnError::Storage(format!(
                        "the space of dropped tree {tree} is not given back, for it is damaged"
                    )));
                }
                dropped => dropped?,
            }
        }
        let header = meta::Header {
            format: meta::FORMAT,
            applied: sealed.seq,
            position: sealed.position,
            next_id: self.next_id.load(Ordering::Relaxed),
            log_source: self.server_uuid.clone(),
            gtids: Some(sealed.gtids.clone()),
        };
        meta::write_header(&write, &header)?;
        let counters = meta::put_counters(&write, &sealed.dictionary)?;
        write.commit()?;
        counters.committed();
        let applied = &self.checkpointer.applied;
        applied.store(sealed.seq, Ordering::Relaxed);
        self.checkpointer.forget_doomed(sealed.seq);
        let generation = sealed.delta.generation;
        for state in sealed.dictionary.states() {
            state.rows_merged(generation);
        }
        retired.dictionary = Some(version);
        if let Some((version, _)) = sealed.prepared {
            retired.prepared = Some(version);
        }
        let merged = Merged {
            keys: done.load(Ordering::Relaxed),
            delta_bytes: sealed.delta.bytes(),
            read_bytes,
        };
        let memory = Memory {
            delta_bytes: self.options.delta_bytes,
            page_bytes: self.options.base_cache_bytes,
        };
        self.checkpointer.has_merged(&merged, &memory);
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
        let base = self.base.snapshot()?;
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
