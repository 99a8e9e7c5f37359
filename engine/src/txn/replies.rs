//! What replies wait for: all that their session has met (see `depends`) must be durable.

use super::{
    TxnError,
    engine::{Engine, Inner},
    owner::Owner,
    transaction::Txn,
    waiting::WaitFor,
};
use crate::{
    Seq,
    store::{Overlay, TreeKey, Window},
};

impl Owner {
    /// Forgets what the session has met: nothing is left of it that a reply could tell.
    pub fn forget_reads(&self) {
        self.depends.forget();
    }
}

impl Inner {
    /// See `Engine::wait_for_reads`.
    pub(super) fn wait_for_reads(&self, owner: &Owner) -> Result<(), TxnError> {
        let newest = owner.depends.newest();
        if newest == 0 {
            return Ok(());
        }
        if newest > self.log.visible() {
            owner.waiting.pause(WaitFor::Log);
            let result = self.log.wait_visible(newest);
            owner.waiting.resume(WaitFor::Log);
            // If the log has failed it stays so: what the session knows must not be told any more.
            result?;
        }
        owner.depends.forget();
        Ok(())
    }
}

impl Engine {
    /// Waits, without a slot, until all that the session has met is durable. To be called before
    /// anything leaves the server that may depend on it. Costs nothing if it is durable already.
    #[inline]
    pub fn wait_for_reads(&self, owner: &Owner) -> Result<(), TxnError> {
        self.inner.wait_for_reads(owner)
    }
    /// The session has looked at whatever is committed, durable or not: a failed ALTER TABLE, for
    /// instance, whose error tells of a row.
    pub fn depend_on_all(&self, owner: &Owner) {
        let newest = self.inner.log.exclusive(|newest| newest);
        owner.depends.add(newest);
    }
}

impl Txn {
    /// Notes that a read met the version `seq`.
    pub(super) fn note_read(&mut self, seq: Seq) {
        self.owner.depends.note(seq, self.engine.log.visible());
    }
    /// The newest commit whose changes it may have met before they were durable; 0 for none.
    pub(super) fn met(&self) -> Seq {
        self.owner.depends.newest().max(self.set_aside)
    }
    /// Whether it may have met versions that a snapshot taken now does not see.
    pub(super) fn has_read_newer(&self) -> bool {
        self.met() > self.engine.log.visible()
    }
    /// Notes that a read returned something this transaction wrote.
    pub(super) fn note_own_read(&mut self) {
        self.regard_reads();
    }
    /// Notes that a read passed a window, if there is something in it that this transaction wrote.
    pub(super) fn note_own_in(&mut self, window: &Window) {
        let touched = |own: &Overlay| {
            let mut inside = own.range::<TreeKey, _>(&window.low..&window.high);
            inside.next().is_some()
        };
        if self.set_aside != 0
            && !window.is_empty()
            && self.with_overlay(window.low.tree(), touched)
        {
            self.note_own_read();
        }
    }
    /// Whether the last locking read met a version that not everyone can see yet, so that a
    /// reply that depends on it has to wait.
    #[must_use]
    pub fn read_newer(&self) -> bool {
        self.owner.depends.last() > self.engine.log.visible()
    }
    /// Says that no reply will depend on what the last locking read met: the caller has compared
    /// it with `get_visible`. An UPDATE of a hot row does so, for instance: "one row matched, one
    /// changed" is true of either version, and its reply need not wait.
    pub fn disregard_read(&mut self) {
        self.set_aside = self.set_aside.max(self.owner.depends.set_aside());
    }
    /// What was disregarded counts again: the reply tells of it after all, by an error or a
    /// warning.
    pub fn regard_reads(&mut self) {
        if self.set_aside != 0 {
            self.owner.depends.add(self.set_aside);
        }
    }
    /// Whether plain reads may return what is not durable yet: READ UNCOMMITTED, and own changes
    /// that were made of something disregarded.
    #[must_use]
    pub fn may_read_newer(&self) -> bool {
        self.reads_uncommitted()
            || self.set_aside != 0 && self.set_aside > self.engine.log.visible()
    }
}
