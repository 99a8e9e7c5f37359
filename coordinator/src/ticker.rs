//! The ticker: takes up what is due, and removes what ended long ago.
//!
//! It walks through all that is due, a page at a time, and bounds how many it has in flight. So a
//! restart with a million unfinished transactions begins at once and needs little memory.
//!
//! Transactions whose calls hang never hide those behind them: more may be in flight than calls are
//! made, and a call that gets no turn soon is put off. However many wait for a host, thousands of
//! them pass in each second.

use super::{Coordinator, call::impatiently, drive, model::Micros, store::Wanted};
use cohort_process::{Notice, notice};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::sync::Semaphore;

/// How many names are read at once.
const PAGE: u64 = 1_000;
/// At the first and every so many ticks it looks for what a clock has written that was ahead: this
/// one, before it was set back, or that of a server that is lost.
const AHEAD_TICKS: u64 = 600;
/// How many transactions that were taken up here are driven at once: more than are called.
const DRIVEN_MAX: usize = 6_000;

impl Coordinator {
    /// Takes up what is due, until the coordinator stops.
    pub(super) async fn tick(self: Arc<Self>) {
        let permits = Arc::new(Semaphore::new(DRIVEN_MAX));
        let mut ticks = 0_u64;
        while !self.is_stopping() {
            let mut walked = self.walk(&permits, Wanted::Due).await;
            if walked.is_ok() && ticks.is_multiple_of(AHEAD_TICKS) {
                walked = self.walk(&permits, Wanted::Ahead).await;
            }
            match walked {
                Ok(()) => ticks += 1,
                Err(error) => {
                    notice!(Notice::StoreFailed, "looking for work: {}", error.message);
                }
            }
            self.caller.tidy();
            self.leases.tidy(self.now());
            let mut pause = self.options.tick;
            if self.in_trouble.swap(false, Ordering::Relaxed) {
                pause *= 10;
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn walk(
        self: &Arc<Self>,
        permits: &Arc<Semaphore>,
        which: Wanted,
    ) -> Result<(), cohort_sql::SqlError> {
        let now = self.now();
        let mut after = (0, String::new());
        loop {
            let page = self.store.due(which, now, after.clone(), PAGE).await?;
            let is_last = (page.len() as u64) < PAGE;
            for due in page {
                let is_driven = self.leases.has(&due.gid);
                if !is_driven && !self.leases.is_put_off(&due.gid, now) && self.may_take(&due) {
                    let Ok(permit) = Arc::clone(permits).acquire_owned().await else {
                        return Ok(());
                    };
                    if self.is_halted() {
                        return Ok(());
                    }
                    let (coordinator, gid) = (Arc::clone(self), due.gid.clone());
                    tokio::spawn(async move {
                        impatiently(drive::drive(&coordinator, &gid, None)).await;
                        drop(permit);
                    });
                }
                after = (due.next_run, due.gid);
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

impl Coordinator {
    /// Removes transactions that ended long ago, until the coordinator stops.
    pub(super) async fn expire(self: Arc<Self>) {
        let Some(age) = self.options.finished_expire else {
            return;
        };
        while !self.is_stopping() {
            let now = self.now();
            let until = now.saturating_sub(age);
            if self.is_first()
                && !self.is_halted()
                && let Err(error) = self.remove_before(until, now).await
            {
                notice!(
                    Notice::StoreFailed,
                    "removing what has ended: {}",
                    error.message
                );
            }
            tokio::time::sleep(self.options.tick * 60).await;
        }
    }

    /// A page at a time: each is a transaction that others need not wait for long.
    async fn remove_before(&self, until: Micros, now: Micros) -> Result<(), cohort_sql::SqlError> {
        let mut after = Some(0);
        while let Some(id) = after {
            let (next, gids) = self.store.ended(id, (until, now), EXPIRE_PAGE).await?;
            if !gids.is_empty() {
                self.store.remove(gids).await?;
            }
            after = next.filter(|_| !self.is_stopping());
        }
        Ok(())
    }
}

/// How many transactions are removed at once.
const EXPIRE_PAGE: u64 = 200;
/// How often it looks.
pub(super) const TICK: Duration = Duration::from_millis(500);
