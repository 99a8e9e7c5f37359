//! Tells of the ends of transactions whose submissions asked for that (`end_webhook`): at least
//! once, be it after a restart.
//!
//! What is to be told is a row from the commit on that ends the transaction (`store::webhooks`).
//! Whoever is told answers with a status from 200 to 299; all else is tried again, further and
//! further apart, and given up after three days. Its address comes from whoever submits, so it must
//! be one that branches may have. Of several coordinators on the same tables one tells.

use super::{
    Coordinator,
    call::shortened,
    model::{CLOCKS_APART, Micros, SECOND},
    store::Pending,
};
use cohort_process::{Notice, notice};
use futures_util::stream::{self, StreamExt};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// So many are told at once: one that does not answer holds the others up for the time of a call.
const AT_ONCE: u64 = 256;
/// Before the second try; it doubles with each.
const PAUSE: Micros = SECOND;
/// Tries are never further apart.
const PAUSE_MAX: Micros = 300 * SECOND;
/// What was not taken for so long is given up.
const PATIENCE: Micros = 3 * 86_400 * SECOND;

impl Coordinator {
    /// Tells of ends, until the coordinator stops.
    pub(super) async fn tell_ends(self: Arc<Self>) {
        while !self.is_stopping() {
            let told = match self.is_first() && !self.is_cut_off() {
                true => self.tell_due_ends().await,
                false => Ok(0),
            };
            match told {
                // There may be more.
                Ok(AT_ONCE) => continue,
                Ok(_) => {}
                Err(error) if self.in_trouble.swap(true, Ordering::Relaxed) => drop(error),
                Err(error) => notice!(Notice::StoreFailed, "telling of ends: {}", error.message),
            }
            tokio::time::sleep(self.options.tick).await;
        }
    }

    /// How many were due.
    async fn tell_due_ends(&self) -> Result<u64, cohort_sql::SqlError> {
        // A little more than a pause is: clocks are not quite the same.
        let longest = PAUSE_MAX + CLOCKS_APART;
        let due = self
            .store
            .due_webhooks(self.now(), longest, AT_ONCE)
            .await?;
        let count = due.len() as u64;
        let told = stream::iter(due).map(|pending| self.tell_end(pending));
        let mut told = told.buffer_unordered(usize::try_from(AT_ONCE).unwrap_or(1));
        let mut result = Ok(count);
        while let Some(one) = told.next().await {
            if let Err(error) = one {
                result = Err(error);
            }
        }
        result
    }

    async fn tell_end(&self, pending: Pending) -> Result<(), cohort_sql::SqlError> {
        let posted = self.post_end(&pending).await;
        let now = self.now();
        let Err(why) = posted else {
            self.metrics.end_webhook("success");
            return self.store.webhook_taken(pending, now).await;
        };
        self.metrics.end_webhook("fail");
        let next_try = next_try(pending.tries, pending.since, now);
        if next_try.is_none() {
            self.metrics.end_webhook("given_up");
            let gid = &pending.gid;
            notice!(
                Notice::WebhookGivenUp,
                "{gid}: its end_webhook is given up: {why}"
            );
        }
        let store = &self.store;
        store
            .webhook_not_taken(pending, shortened(&why), next_try, now)
            .await
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
