//! Meets the other coordinators on the same tables, if there may be any.
//!
//! Each beats, and looks at the others' beats: `cohort_coordinator_core::peers` says what follows
//! from them. A coordinator that does not get its own beat through for [`CUT_OFF`] intervals begins
//! no more calls; that is sooner than the others declare it dead and drive what it drives.

use super::{Coordinator, clock::Told, lease};
use cohort_coordinator_core::{outside::Due, peers::Peers};
use cohort_process::{Notice, notice};
use std::{
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

/// Between two beats.
pub(super) const BEAT: Duration = Duration::from_secs(2);
/// After so many intervals without a beat nothing new is begun.
const CUT_OFF: u32 = 5;
/// Changes that others make to what is driven here are heard of so soon.
const NEWS: Duration = Duration::from_millis(100);

impl Coordinator {
    fn peers(&self) -> std::sync::MutexGuard<'_, Peers> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is this coordinator's to drive something that is due.
    pub(super) fn may_take(&self, due: &Due) -> bool {
        self.peers().may_take(due, self.now())
    }

    /// Whether it is this coordinator's to do what one must do.
    pub(super) fn is_first(&self) -> bool {
        self.peers().is_first()
    }

    /// Beats and looks, until the coordinator stops; only if there may be others.
    pub(super) async fn meet_peers(self: Arc<Self>) {
        let beat = self.options.beat;
        let mut was_cut_off = false;
        while !self.is_stopping() {
            tokio::time::sleep(beat).await;
            let left = self.cut_off_after().saturating_sub(self.since_beat());
            match tokio::time::timeout(left.max(beat), self.meet()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.note_outage(&error.message),
                Err(_) => self.note_outage("the store does not answer"),
            }
            let is_cut_off = self.is_cut_off();
            match (was_cut_off, is_cut_off) {
                (false, true) => {
                    notice!(
                        Notice::StoreFailed,
                        "cut off from the store: nothing new is begun"
                    );
                    self.leases.kick_all();
                }
                (true, false) => notice!(Notice::StoreBack, "the store is back"),
                _ => {}
            }
            was_cut_off = is_cut_off;
        }
    }

    fn cut_off_after(&self) -> Duration {
        self.options.beat.saturating_mul(CUT_OFF)
    }

    fn since_beat(&self) -> Duration {
        let beaten = self.beaten.load(Ordering::Relaxed);
        Duration::from_nanos(self.env.monotonic_nanos().saturating_sub(beaten))
    }

    /// Whether no beat came through for so long that others may drive what this one drives, be it
    /// that the store is out of reach or that this process was not executed.
    pub(super) fn is_cut_off(&self) -> bool {
        self.store.is_shared() && self.since_beat() >= self.cut_off_after()
    }

    /// Beats, and looks at the others.
    pub(super) async fn meet(&self) -> Result<(), cohort_sql::SqlError> {
        let (begun, before) = (self.env.monotonic_nanos(), self.store.me());
        self.store.beat().await?;
        let me = self.store.me();
        if me != before {
            // Declared dead: what is driven here may be others' by now, and it may have slept.
            self.clock.doubt();
            self.leases.kick_all();
        }
        self.beaten.store(begun, Ordering::Relaxed);
        self.ask_for_time().await?;
        let seen = self.store.alive().await?;
        let dead = self.peers().look(me, &seen);
        if !dead.is_empty() {
            let numbers: Vec<u64> = dead.iter().map(|seen| seen.id).collect();
            self.store.bury(dead).await?;
            notice!(
                Notice::CoordinatorDead,
                "has declared dead {numbers:?}, whose beats stand still"
            );
        }
        Ok(())
    }

    /// Goes by the clock of the server that has the tables.
    async fn ask_for_time(&self) -> Result<(), cohort_sql::SqlError> {
        let asked = self.env.monotonic_nanos();
        if let Some(time) = self.store.time().await? {
            let answered = self.env.monotonic_nanos();
            let told = Told {
                asked,
                answered,
                time,
            };
            self.clock.follow(&told);
        }
        Ok(())
    }

    fn note_outage(&self, why: &str) {
        if !self.in_trouble.swap(true, Ordering::Relaxed) {
            notice!(Notice::StoreFailed, "{why}");
        }
    }

    /// Hears what others changed, until the coordinator stops; only if there may be others.
    pub(super) async fn hear_news(self: Arc<Self>) {
        while !self.is_stopping() {
            // An outage is told of by those who beat.
            for news in self.store.news().await.unwrap_or_default() {
                lease::hear(&self, &news);
            }
            tokio::time::sleep(NEWS).await;
        }
    }
}
