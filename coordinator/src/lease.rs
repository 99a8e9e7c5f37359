//! Leases: the right to drive a transaction, so that nobody drives it twice at once.
//!
//! A lease is an entry in a table of this process; if coordinators share the store, also the
//! transaction's row has its holder (`store::leases`). Its holder hears of changes that others make
//! to the transaction's row ([`Coordinator::kick`]); one that comes while the holder lets go is not
//! lost, for the end of the lease takes the transaction up again.

use super::{
    Coordinator,
    store::{Claimed, News},
};
use cohort_sql::SqlError;
use std::{
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

/// Who waits for a lease that another coordinator has looks so often whether it is free.
pub(super) const AGAIN: Duration = Duration::from_millis(100);

/// How the holder of a lease is told something.
#[derive(Default)]
pub(super) struct Signal {
    changed: Notify,
    /// A change that the holder has not heard of.
    pending: AtomicBool,
    ended: Notify,
    /// So many wait for the lease.
    wanted: AtomicUsize,
}

impl Signal {
    fn send(&self) {
        self.pending.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }
    /// Waits for a change.
    pub async fn received(&self) {
        self.changed.notified().await;
        self.pending.store(false, Ordering::Relaxed);
    }
    /// Somebody waits for the lease.
    pub fn want(&self) {
        self.wanted.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
    }
    /// Whether somebody waits for the lease: its holder should let go soon.
    pub fn is_lease_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > 0
    }
}

/// Nobody else drives the transaction as long as this lives.
pub(super) struct Lease {
    coordinator: Arc<Coordinator>,
    gid: String,
    signal: Arc<Signal>,
}

impl Lease {
    pub fn signal(&self) -> &Signal {
        &self.signal
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.coordinator.driven().remove(&self.gid);
        self.signal.ended.notify_waiters();
        if self.signal.pending.load(Ordering::Relaxed) && !self.coordinator.is_halted() {
            self.coordinator.take_up(&self.gid);
        }
    }
}

impl Coordinator {
    /// `None`: somebody has it.
    pub(super) fn lease(self: &Arc<Self>, gid: &str) -> Option<Lease> {
        let mut driven = self.driven();
        if driven.contains_key(gid) {
            return None;
        }
        let signal = Arc::new(Signal::default());
        driven.insert(gid.to_owned(), Arc::clone(&signal));
        Some(Lease {
            coordinator: Arc::clone(self),
            gid: gid.to_owned(),
            signal,
        })
    }

    /// The lease as soon as its holder lets go, here or elsewhere, which it is asked to: after the
    /// calls under way.
    pub(super) async fn lease_soon(self: &Arc<Self>, gid: &str) -> Result<Lease, SqlError> {
        let lease = self.lease_soon_here(gid).await;
        if self.store.is_shared() {
            while let Claimed::Others(owner) = self.store.claim(gid).await? {
                let (gid, is_wanted) = (gid.to_owned(), true);
                self.store.tell(owner, News { gid, is_wanted }).await?;
                tokio::time::sleep(AGAIN).await;
            }
        }
        Ok(lease)
    }

    async fn lease_soon_here(self: &Arc<Self>, gid: &str) -> Lease {
        loop {
            if let Some(lease) = self.lease(gid) {
                return lease;
            }
            if let Some(signal) = self.driven().get(gid) {
                signal.want();
            }
            self.lease_ended(gid).await;
        }
    }

    /// Waits for the end of the lease that somebody has here, if somebody has one.
    pub(super) async fn lease_ended(&self, gid: &str) {
        let Some(signal) = self.driven().get(gid).cloned() else {
            return;
        };
        let ended = signal.ended.notified();
        tokio::pin!(ended);
        ended.as_mut().enable();
        if self.is_driven_by(gid, &signal) {
            ended.await;
        }
    }

    fn is_driven_by(&self, gid: &str, signal: &Arc<Signal>) -> bool {
        let driven = self.driven();
        driven
            .get(gid)
            .is_some_and(|other| Arc::ptr_eq(other, signal))
    }

    pub(super) fn is_driven(&self, gid: &str) -> bool {
        self.driven().contains_key(gid)
    }

    /// The transaction's row has changed: whoever drives it reads it again, or somebody begins to.
    pub(super) fn kick(self: &Arc<Self>, gid: &str) {
        if !self.tell_driver(gid) {
            self.take_up(gid);
        }
    }

    /// The transaction's row has changed: whoever drives it here reads it again. False: nobody does.
    pub(super) fn tell_driver(&self, gid: &str) -> bool {
        // Under the table's lock: the lease cannot end in between.
        let driven = self.driven();
        let signal = driven.get(gid);
        signal.inspect(|signal| signal.send()).is_some()
    }

    /// Tells all tasks that the server stops.
    pub(super) fn kick_all(&self) {
        for signal in self.driven().values() {
            signal.changed.notify_one();
        }
    }

    pub(super) fn driven(&self) -> std::sync::MutexGuard<'_, super::Driven> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
