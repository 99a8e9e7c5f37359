//! Commit: where a transaction's changes go to the log and to the store.
//!
//! The steps are those of the design: encode outside any lock; take the Seq, and with it the
//! active delta, inside the log's critical section; apply to that delta; tell the log so; only
//! then release the locks (by the caller), so that the next writer of a row builds on this
//! version and comes later in the same log; wait for the fsync.
//!
//! A big transaction would hold up everyone behind it between its Seq and its last applied row,
//! because nothing later becomes visible before. It applies first, with versions whose stamp is a
//! shared cell, and the cell gets the Seq inside the critical section. A seal must not come in
//! between: its delta would go to the Base without these versions. So it holds the seal gate.

use super::{
    TxnError, engine::Inner, owner::Owner, table_state::TableState, times::CommitTimes,
    transaction::Txn, used::Used, waiting::WaitFor,
};
use crate::{
    Seq,
    invariant::broken,
    log::{Batch, GroupTimes, Ticket},
    store::{Delta, Overlay, Stamp},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Transactions with more changed keys than this apply before they take their Seq.
const BIG: usize = 256;

/// The horizon for pruning is recomputed when it is so many commits old.
const HORIZON_AGE: Seq = 64;

impl Txn {
    /// Gives the changes their place in the log and makes them the newest versions.
    pub(super) fn place(&mut self, database: &str) -> Result<(Ticket, CommitTimes), TxnError> {
        self.engine.make_room(&self.owner)?;
        let begun_ns = self.engine.measured_nanos();
        let mut batch = self.owner.batch(|session| Batch::new(database, session));
        batch.follows(self.met());
        self.encode(&mut batch)?;
        self.log_counters(&mut batch);
        let counts = self.writes.row_counts(self.tables.len());
        let counts = self.tables.iter().zip(counts);
        // Locked until it is in the store: see `dirty`, and `table_locks`.
        let mut overlay = self.descriptor.overlay.lock();
        let passing = if self.engine.read_lock.metadata_lock.bars_writes() {
            drop(overlay);
            let wait_ms = self.options.table_lock_wait_ms;
            let passing = self.engine.pass_read_lock(&self.descriptor, wait_ms)?;
            overlay = self.descriptor.overlay.lock();
            Some(passing)
        } else {
            None
        };
        let changes = std::mem::take(&mut *overlay);
        let placed = self.engine.place(batch, changes, counts, |_| ());
        if placed.is_ok() {
            let rows = self.writes.len() as u64;
            self.engine.rows_changed.fetch_add(rows, Ordering::Relaxed);
        }
        drop(passing);
        let times = CommitTimes {
            begun_ns,
            placed_ns: self.engine.measured_nanos(),
            ..CommitTimes::default()
        };
        placed.map(|ticket| (ticket, times))
    }
    /// Writes the changes as log events.
    pub(super) fn encode(&self, batch: &mut Batch) -> Result<(), TxnError> {
        if self.late.len() > 0 {
            return Err(broken("a statement's entries have come when it ends").into());
        }
        let table_at = |place: usize| self.tables.get(place).map(|used| &*used.table);
        self.writes.encode(batch, table_at)
    }
}

impl Inner {
    /// The clock for measuring, in nanoseconds; 0 if nothing is to be measured.
    fn measured_nanos(&self) -> u64 {
        match self.options.measures {
            true => self.env.monotonic_nanos(),
            false => 0,
        }
    }
    /// Waits, without a slot, until a commit is durable and visible.
    pub(super) fn wait_for_log(&self, owner: &Owner, ticket: Ticket) -> Result<Seq, TxnError> {
        let seq = ticket.seq();
        self.wait_for_group(owner, ticket).map(|_| seq)
    }
    /// The same; what happened to its group when.
    pub(super) fn wait_for_group(
        &self,
        owner: &Owner,
        ticket: Ticket,
    ) -> Result<GroupTimes, TxnError> {
        owner.waiting.pause(WaitFor::Log);
        let result = self.log.wait(ticket);
        owner.waiting.resume(WaitFor::Log);
        result.map_err(Into::into)
    }
    /// Gives a transaction its place in the log and puts its versions into the delta that takes
    /// that place's; its tables have so many rows more (or less). `placed` runs inside the log's
    /// critical section.
    pub(super) fn place<'t>(
        &self,
        batch: Batch,
        overlay: Overlay,
        counts: impl Iterator<Item = (&'t Used, i64)>,
        placed: impl FnOnce(Seq),
    ) -> Result<Ticket, TxnError> {
        let (mut ticket, delta) = if overlay.len() > BIG {
            self.place_big(batch, overlay, placed)?
        } else {
            self.place_small(batch, overlay, placed)?
        };
        for (used, rows) in counts.filter(|(_, rows)| *rows != 0) {
            used.state.count_rows(delta.generation, rows);
        }
        ticket.applied();
        self.after_commit(ticket.seq(), &delta);
        Ok(ticket)
    }
    fn place_small(
        &self,
        batch: Batch,
        overlay: Overlay,
        placed: impl FnOnce(Seq),
    ) -> Result<(Ticket, Arc<Delta>), TxnError> {
        let (ticket, delta) = self.log.commit(batch, |seq| {
            placed(seq);
            Arc::clone(&self.views.load().active)
        })?;
        let seq = ticket.seq();
        let horizon = self.registry.horizon();
        for (key, value) in overlay {
            delta.push(key, Stamp::At(seq), value, &horizon);
        }
        Ok((ticket, delta))
    }
    fn place_big(
        &self,
        batch: Batch,
        overlay: Overlay,
        placed: impl FnOnce(Seq),
    ) -> Result<(Ticket, Arc<Delta>), TxnError> {
        let _gate = self.seal_gate.read();
        let delta = Arc::clone(&self.views.load().active);
        let cell = Arc::new(AtomicU64::new(0));
        let horizon = self.registry.horizon();
        for (key, value) in overlay {
            delta.push(key, Stamp::Later(Arc::clone(&cell)), value, &horizon);
        }
        let (ticket, ()) = self.log.commit(batch, |seq| {
            placed(seq);
            cell.store(seq, Ordering::Release);
        })?;
        Ok((ticket, delta))
    }
    /// Lets the pruner and the checkpointer know, now and then.
    pub(super) fn after_commit(&self, seq: Seq, delta: &Delta) {
        if seq.is_multiple_of(HORIZON_AGE) {
            self.registry.advance(self.log.visible());
        }
        if delta.bytes() > self.checkpointer.delta_limit.load(Ordering::Relaxed) {
            self.checkpointer.request();
        }
    }
    /// Who begins to write a table waits for a build that cannot keep up with its writers.
    pub(super) fn slow_writer(&self, table: &TableState, owner: &Owner) {
        let us = table.slowed_us.load(Ordering::Relaxed);
        if us > 0 {
            owner.waiting.pause(WaitFor::Store);
            self.env.sleep(Duration::from_micros(us));
            owner.waiting.resume(WaitFor::Store);
        }
    }
    /// Back-pressure: when the active delta is full and the one before is still being merged,
    /// writers are slowed, the more the fuller it is; at twice its size they wait for the merge.
    pub(super) fn make_room(&self, owner: &Owner) -> Result<(), TxnError> {
        /// The longest delay of one commit before it waits.
        const DELAY_US_MAX: u64 = 5_000;
        let view = self.views.load();
        let limit = self.options.delta_bytes.max(1);
        let used = view.active.bytes();
        if used <= limit {
            return Ok(());
        }
        if let Some(error) = self.checkpointer.failure() {
            return Err(error);
        }
        if view.sealed.is_none() {
            return Ok(());
        }
        drop(view);
        if self.options.inline {
            // Nobody else makes the room.
            return self.checkpoint_now();
        }
        owner.waiting.pause(WaitFor::Store);
        let begin = self.env.monotonic_nanos();
        if used >= limit.saturating_mul(2) {
            let running = || self.views.load().sealed.is_some();
            self.checkpointer.wait_for_merge(running);
        } else {
            let excess = (used - limit) as u64;
            let delay = DELAY_US_MAX * excess / limit as u64;
            std::thread::sleep(Duration::from_micros(delay));
        }
        let waited = self.env.monotonic_nanos().saturating_sub(begin);
        self.checkpointer.count_delay(waited / 1_000);
        owner.waiting.resume(WaitFor::Store);
        match self.checkpointer.failure() {
            Some(error) if used >= limit.saturating_mul(2) => Err(error),
            _ => Ok(()),
        }
    }
}
