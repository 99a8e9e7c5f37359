//! Tells of the ends of transactions whose submissions asked for that (`end_webhook`): at least
//! once, be it after a restart.
//!
//! What is to be told is a row from the commit on that ends the transaction (`store::webhooks`).
//! Whoever is told answers with a status from 200 to 299; all else is tried again, further and
//! further apart, and given up after three days. Its address comes from whoever submits, so it must
//! be one that branches may have. Of several coordinators on the same tables one tells.
//!
//! It walks through all that is due, and begins to tell what its host has a turn for (`call::Turns`).
//! So a host that does not answer holds nobody else up, however many ends it is to be told.

use super::{
    Coordinator,
    call::{Turn, Turns, shortened},
    model::{CLOCKS_APART, Micros, SECOND},
    store::Pending,
};
use cohort_process::{Notice, notice};
use cohort_sql::SqlError;
use hyper::Uri;
use rustc_hash::FxHashMap;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};
use tokio::{sync::Notify, task::JoinHandle};

/// So many are told at once.
const AT_ONCE: usize = 256;
/// So many are read at once.
const PAGE: u64 = 500;
/// Before the second try; it doubles with each.
const PAUSE: Micros = SECOND;
/// Tries are never further apart.
const PAUSE_MAX: Micros = 300 * SECOND;
/// What was not taken for so long is given up.
const PATIENCE: Micros = 3 * 86_400 * SECOND;

/// What is being told.
struct Telling {
    turns: Turns,
    /// By their rows' numbers.
    tasks: FxHashMap<u64, JoinHandle<()>>,
    /// One of them has ended.
    ended: Arc<Notify>,
    unwritten: Arc<Unwritten>,
}

/// What came of telling ends, by their rows' numbers, that the tables do not take: those are not told
/// again for that, but written later, further and further apart.
#[derive(Default)]
struct Unwritten(Mutex<FxHashMap<u64, Came>>);

struct Came {
    posted: Result<(), String>,
    /// Not to be written before.
    until: Micros,
    pause: Micros,
}

impl Unwritten {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<u64, Came>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn is_early(&self, id: u64, now: Micros) -> bool {
        self.lock().get(&id).is_some_and(|came| {
            // More than the pause: the clock was set back since.
            let wait = came.until.saturating_sub(now);
            wait > 0 && wait <= came.pause
        })
    }
    fn posted(&self, id: u64) -> Option<Result<(), String>> {
        self.lock().get(&id).map(|came| came.posted.clone())
    }
    /// Keeps what came of it, unless it is written.
    fn keep(&self, id: u64, posted: Result<(), String>, is_written: bool, now: Micros) {
        let mut known = self.lock();
        let before = known.remove(&id);
        if !is_written {
            let pause = before.map_or(PAUSE, |came| (2 * came.pause).min(PAUSE_MAX));
            let until = now.saturating_add(pause);
            let came = Came {
                posted,
                until,
                pause,
            };
            known.insert(id, came);
        }
    }
    /// Forgets those that nobody has asked for since: their rows are gone.
    fn tidy(&self, now: Micros) {
        self.lock()
            .retain(|_, came| now < came.until.saturating_add(PAUSE_MAX));
    }
}

/// What came of a walk through what is due.
#[derive(Default)]
struct Walked {
    /// Some were begun to be told.
    has_begun: bool,
    /// Some had no turn.
    has_left: bool,
}

impl Coordinator {
    /// Tells of ends, until the coordinator stops.
    pub(super) async fn tell_ends(self: Arc<Self>) {
        let mut telling = Telling {
            turns: Turns::new(AT_ONCE),
            tasks: FxHashMap::default(),
            ended: Arc::default(),
            unwritten: Arc::default(),
        };
        while !self.is_stopping() {
            let begun = Instant::now();
            let walked = match self.is_first() && !self.is_cut_off() {
                true => self.begin_to_tell(&mut telling).await,
                false => Ok(Walked::default()),
            };
            let is_busy = match walked {
                Ok(walked) => walked.has_begun && walked.has_left,
                Err(error) => {
                    self.not_told(&error);
                    false
                }
            };
            if is_busy {
                let ended = telling.ended.notified();
                let _ = tokio::time::timeout(self.options.tick, ended).await;
            } else {
                // Who has much left does not read it all the time.
                tokio::time::sleep(self.options.tick.max(begun.elapsed())).await;
            }
        }
    }

    /// Says so of the first only, as of transactions that could not be driven.
    fn not_told(&self, error: &SqlError) {
        if !self.in_trouble.swap(true, Ordering::Relaxed) {
            notice!(Notice::StoreFailed, "telling of ends: {}", error.message);
        }
    }

    /// Begins to tell what is due, as far as there are turns for it.
    async fn begin_to_tell(self: &Arc<Self>, telling: &mut Telling) -> Result<Walked, SqlError> {
        let mut walked = Walked::default();
        let now = self.now();
        telling.unwritten.tidy(now);
        // A little more than a pause is: clocks are not quite the same. What waits longer does so by
        // a clock that was ahead.
        let ahead = now.saturating_add(PAUSE_MAX + CLOCKS_APART);
        for (from, until) in [(0, now), (ahead, Micros::MAX)] {
            let mut after = (from, 0);
            loop {
                // Before it is read: the row of what has ended is gone, or has another time.
                telling.tasks.retain(|_, task| !task.is_finished());
                let page = self.store.due_webhooks(until, after, PAGE).await?;
                if self.is_halted() {
                    return Ok(walked);
                }
                let is_last = (page.len() as u64) < PAGE;
                for pending in page {
                    after = (pending.due, pending.id);
                    let is_early = || telling.unwritten.is_early(pending.id, now);
                    if telling.tasks.contains_key(&pending.id) || is_early() {
                        continue;
                    }
                    let uri: Uri = pending.url.parse().unwrap_or_default();
                    match telling.turns.take_now(&uri) {
                        Some(turn) => {
                            walked.has_begun = true;
                            self.begin_one(telling, pending, turn);
                        }
                        None => walked.has_left = true,
                    }
                }
                if is_last {
                    break;
                }
            }
        }
        Ok(walked)
    }

    fn begin_one(self: &Arc<Self>, telling: &mut Telling, pending: Pending, turn: Turn) {
        let (coordinator, ended) = (Arc::clone(self), Arc::clone(&telling.ended));
        let unwritten = Arc::clone(&telling.unwritten);
        let id = pending.id;
        let task = tokio::spawn(async move {
            if let Err(error) = coordinator.tell_end(pending, &unwritten).await {
                coordinator.not_told(&error);
            }
            drop(turn);
            ended.notify_one();
        });
        telling.tasks.insert(id, task);
    }

    async fn tell_end(&self, pending: Pending, unwritten: &Unwritten) -> Result<(), SqlError> {
        let id = pending.id;
        let posted = match unwritten.posted(id) {
            Some(posted) => posted,
            None => {
                let posted = self.post_end(&pending).await;
                let came = if posted.is_ok() { "success" } else { "fail" };
                self.metrics.end_webhook(came);
                posted
            }
        };
        let written = self.write_told(pending, posted.clone()).await;
        unwritten.keep(id, posted, written.is_ok(), self.now());
        written
    }

    async fn write_told(
        &self,
        pending: Pending,
        posted: Result<(), String>,
    ) -> Result<(), SqlError> {
        let now = self.now();
        let Err(why) = posted else {
            return self.store.webhook_taken(pending, now).await;
        };
        let next_try = next_try(pending.tries, pending.since, now);
        let (store, gid) = (&self.store, pending.gid.clone());
        let told = shortened(&why);
        store
            .webhook_not_taken(pending, told, next_try, now)
            .await?;
        // Once, however often that could not be written.
        if next_try.is_none() {
            self.metrics.end_webhook("given_up");
            notice!(
                Notice::WebhookGivenUp,
                "{gid}: its end_webhook is given up: {why}"
            );
        }
        Ok(())
    }

    async fn post_end(&self, pending: &Pending) -> Result<(), String> {
        let url = pending.url.as_str();
        self.caller.check(url)?;
        let timeout = Duration::from_micros(self.options.request_timeout);
        let posted = self.caller.notify(url, pending.body.clone());
        let posted = tokio::time::timeout(timeout, posted).await;
        posted.unwrap_or_else(|_| Err(format!("{url}: no answer within {timeout:?}")))
    }
}

/// When it is tried again after so many tries before this one; `None`: not at all.
fn next_try(tries: u64, since: Micros, now: Micros) -> Option<Micros> {
    let doubled = 1_u64.checked_shl(u32::try_from(tries).unwrap_or(u32::MAX));
    let pause = PAUSE
        .saturating_mul(doubled.unwrap_or(u64::MAX))
        .min(PAUSE_MAX);
    (now < since.saturating_add(PATIENCE)).then(|| now.saturating_add(pause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_not_told_again_but_written_later() {
        let (unwritten, no) = (Unwritten::default(), Err("no".to_owned()));
        assert_eq!(unwritten.posted(1), None);
        for (now, pause) in [(10, 1), (11, 2), (20, 4)] {
            let now = now * SECOND;
            unwritten.keep(1, no.clone(), false, now);
            assert_eq!(unwritten.posted(1), Some(no.clone()));
            let until = now + pause * SECOND;
            assert!(unwritten.is_early(1, until - 1) && !unwritten.is_early(1, until));
        }
        assert!(!unwritten.is_early(1, SECOND), "the clock was set back");
        assert!(!unwritten.is_early(2, 20 * SECOND));
        unwritten.keep(1, no, true, 24 * SECOND);
        assert_eq!(unwritten.posted(1), None);
        unwritten.keep(1, Ok(()), false, 24 * SECOND);
        unwritten.tidy(25 * SECOND + PAUSE_MAX);
        assert_eq!(unwritten.posted(1), None);
    }

    #[test]
    fn tries_are_further_and_further_apart_for_three_days() {
        let next = |tries, now: u64| next_try(tries, 0, now * SECOND).map(|at| at / SECOND);
        assert_eq!(next(0, 10), Some(11));
        assert_eq!(next(5, 10), Some(42));
        assert_eq!(next(9, 10), Some(310));
        assert_eq!(next(u64::MAX, 10), Some(310));
        assert_eq!(next(64, 259_199), Some(259_499));
        assert_eq!(next(900, 259_200), None);
    }
}
