//! Alerts: somebody is told when calls for a transaction come to nothing again and again, and when
//! it is given up for that.
//!
//! The operator configures a URL (`--coordinator-alert-webhook`), which therefore may be anywhere.
//! It gets a POST with JSON: DTM's fields `gid`, `status`, `branch`, `error` and `retry_count`, and
//! `op` and `dead_letter`. Alerts are sent one after another beside the driving, which never waits
//! for them. Those of a service that stays away come again with each retry, so one that finds the
//! queue full, or nobody there in three tries, is counted and forgotten. What was given up is found
//! in the tables in any case.

use super::{
    Coordinator,
    call::{Caller, Guard, is_http, shortened},
    decide::Transaction,
    model::{Micros, SECOND},
};
use cohort_process::{Notice, notice};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::mpsc;

/// Alerts that wait to be sent at most.
const QUEUE_MAX: usize = 1_000;
/// Each is tried so often, as long as the last one was taken, in these intervals; and each try has
/// its time.
const TRIES: usize = 3;
const PAUSE: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(3);

/// The way to whoever sends alerts.
pub(super) type Queue = mpsc::Sender<Value>;

/// Sends them.
pub(super) struct Alerting {
    url: String,
    caller: Caller,
    queue: mpsc::Receiver<Value>,
}

/// A queue of alerts for this URL; what is wrong with it.
pub(super) fn channel(url: &str) -> Result<(Queue, Alerting), String> {
    if !is_http(url) {
        return Err(format!(
            "coordinator-alert-webhook: http://… or https://… is expected, not {url}"
        ));
    }
    let caller = Caller::new(Guard::parse("", true)?)?;
    caller
        .check(url)
        .map_err(|why| format!("coordinator-alert-webhook: {why}"))?;
    let (sender, queue) = mpsc::channel(QUEUE_MAX);
    let url = url.to_owned();
    Ok((sender, Alerting { url, caller, queue }))
}

impl Coordinator {
    /// Tells that calls of a branch (`None`: questions to the client) come to nothing.
    pub(super) fn alert(&self, transaction: &Transaction, whose: Option<usize>, why: String) {
        if transaction.global.dead_since.is_some() {
            let begun = format!("{} is a dead letter", transaction.global.gid);
            let told = self.obituaries.tell(&begun, &shortened(&why), self.now());
            if let Some(said) = told {
                notice!(Notice::DeadLetter, "{said}");
            }
        }
        let Some(alerts) = &self.alerts else {
            return;
        };
        let global = &transaction.global;
        let branch = whose.and_then(|place| transaction.branches.get(place));
        let alert = json!({
            "gid": global.gid,
            "status": global.status.name(),
            "branch": branch.map_or("00", |branch| &branch.branch_id),
            "op": branch.map_or("query_prepared", |branch| &branch.op),
            "error": shortened(&why),
            "retry_count": branch.map_or(global.retry_count, |branch| branch.errors),
            "dead_letter": global.dead_since.is_some(),
        });
        if alerts.try_send(alert).is_err() {
            self.metrics.alert("dropped");
        }
    }
}

/// What the log says of many transactions at once: a service that was away for days leaves many dead
/// letters.
#[derive(Default)]
pub(super) struct Lines(Mutex<Told>);

#[derive(Default)]
struct Told {
    /// Since when these are counted.
    since: Micros,
    told: u64,
    untold: u64,
}

impl Lines {
    /// What to say of one more, if anything; the line begins with this.
    pub(super) fn tell(&self, begun: &str, why: &str, now: Micros) -> Option<String> {
        const INTERVAL: Micros = 60 * SECOND;
        const TOLD_MAX: u64 = 10;
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut others = String::new();
        if now >= told.since.saturating_add(INTERVAL) {
            if told.untold > 0 {
                others = format!(" (and {} since the last of these lines)", told.untold);
            }
            *told = Told {
                since: now,
                ..Told::default()
            };
        }
        if told.told >= TOLD_MAX {
            told.untold += 1;
            return None;
        }
        told.told += 1;
        Some(format!("{begun}{others}: {why}"))
    }
}

impl Alerting {
    /// Sends all alerts, until the coordinator ends.
    pub async fn send_all(mut self, coordinator: Arc<Coordinator>) {
        let mut was_heard = true;
        while let Some(alert) = self.queue.recv().await {
            let tries = if was_heard { TRIES } else { 1 };
            let sent = self.send(&alert, tries).await;
            coordinator.metrics.alert(match sent {
                Ok(()) => "success",
                Err(_) => "fail",
            });
            if let (Err(why), true) = (&sent, was_heard) {
                notice!(Notice::NoAlerts, "nobody takes alerts: {why}");
            }
            was_heard = sent.is_ok();
            self.caller.tidy();
        }
    }

    async fn send(&self, alert: &Value, tries: usize) -> Result<(), String> {
        let mut sent = self.attempt(alert).await;
        for _ in 1..tries {
            if sent.is_ok() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            sent = self.attempt(alert).await;
        }
        sent
    }

    async fn attempt(&self, alert: &Value) -> Result<(), String> {
        let posted =
            tokio::time::timeout(TIMEOUT, self.caller.notify(&self.url, alert.to_string())).await;
        posted.unwrap_or_else(|_| Err(format!("{}: no answer within {TIMEOUT:?}", self.url)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_not_flooded() {
        let lines = Lines::default();
        let tell = |now| lines.tell("g is a dead letter", "away", now * SECOND);
        let said: Vec<_> = (0..30).filter_map(|_| tell(1_000)).collect();
        assert_eq!(said.len(), 10);
        assert_eq!(said[0], "g is a dead letter: away");
        assert_eq!(tell(1_059), None);
        let later = tell(1_060).expect("a line");
        assert_eq!(
            later,
            "g is a dead letter (and 21 since the last of these lines): away"
        );
    }
}
