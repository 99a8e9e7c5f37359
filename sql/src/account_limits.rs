//! How much an account may do in an hour, and how often it may be connected.
//!
//! As in MySQL what it does is counted in memory, for all its sessions together: a restart, FLUSH
//! USER_RESOURCES and a change of its limits begin a new hour.

use crate::error::SqlError;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

const HOUR_MICROS: u64 = 3_600_000_000;

/// What CREATE and ALTER USER … WITH say; 0: as much as it likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// MAX_QUERIES_PER_HOUR.
    #[serde(default)]
    pub queries: u32,
    /// MAX_UPDATES_PER_HOUR.
    #[serde(default)]
    pub updates: u32,
    /// MAX_CONNECTIONS_PER_HOUR.
    #[serde(default)]
    pub connections: u32,
    /// MAX_USER_CONNECTIONS: at the same time.
    #[serde(default)]
    pub at_once: u32,
}

impl Limits {
    /// Whether there are any.
    #[must_use]
    pub fn is_any(&self) -> bool {
        *self != Limits::default()
    }

    /// As statements have them.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, u32); 4] {
        [
            ("MAX_QUERIES_PER_HOUR", self.queries),
            ("MAX_UPDATES_PER_HOUR", self.updates),
            ("MAX_CONNECTIONS_PER_HOUR", self.connections),
            ("MAX_USER_CONNECTIONS", self.at_once),
        ]
    }

    /// The one that a keyword names.
    pub fn named(&mut self, keyword: &str) -> Option<&mut u32> {
        match keyword {
            "MAX_QUERIES_PER_HOUR" => Some(&mut self.queries),
            "MAX_UPDATES_PER_HOUR" => Some(&mut self.updates),
            "MAX_CONNECTIONS_PER_HOUR" => Some(&mut self.connections),
            "MAX_USER_CONNECTIONS" => Some(&mut self.at_once),
            _ => None,
        }
    }
}

/// What an account has done in the hour that runs.
#[derive(Clone, Copy, Debug, Default)]
struct Hour {
    /// In microseconds since 1970.
    begun: u64,
    queries: u32,
    updates: u32,
    connections: u32,
}

/// The same, for all its sessions.
#[derive(Debug, Default)]
pub struct Usage(Mutex<Hour>);

impl Usage {
    /// Counts a statement: which limit it goes beyond, if it does. What is refused for its changes
    /// counts as a statement.
    fn statement(&self, limits: &Limits, changes: bool, now: u64) -> Option<(&'static str, u32)> {
        let mut hour = self.hour(now);
        if limits.queries > 0 && exceeds(&mut hour.queries, limits.queries) {
            return Some(("max_questions", limits.queries));
        }
        let is_too_much =
            changes && limits.updates > 0 && exceeds(&mut hour.updates, limits.updates);
        is_too_much.then_some(("max_updates", limits.updates))
    }

    /// Counts a connection: whether it goes beyond the limit.
    fn connection(&self, limits: &Limits, now: u64) -> bool {
        let mut hour = self.hour(now);
        limits.connections > 0 && exceeds(&mut hour.connections, limits.connections)
    }

    fn hour(&self, now: u64) -> parking_lot::MutexGuard<'_, Hour> {
        let mut hour = self.0.lock();
        if now.saturating_sub(hour.begun) >= HOUR_MICROS {
            *hour = Hour {
                begun: now,
                ..Hour::default()
            };
        }
        hour
    }
}

/// Counts one more, unless there are as many as may be.
fn exceeds(count: &mut u32, limit: u32) -> bool {
    let is_full = *count >= limit;
    if !is_full {
        *count += 1;
    }
    is_full
}

/// What an account with limits does.
#[derive(Debug)]
pub struct Limited {
    limits: Limits,
    user: String,
    usage: Arc<Usage>,
    /// The statement that runs was counted.
    counted: AtomicBool,
}

impl Limited {
    /// Its limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counts a statement that is about to run: 1226 if it is one too many.
    pub fn count_statement(&self, changes: bool, now: u64) -> Result<(), SqlError> {
        self.counted.store(true, Ordering::Relaxed);
        match self.usage.statement(&self.limits, changes, now) {
            Some((resource, limit)) => Err(self.reached(resource, limit)),
            None => Ok(()),
        }
    }

    /// The end of each statement: one that was refused before it could run is counted here, unless it
    /// was none.
    pub fn end_statement(&self, error: Option<&SqlError>, now: u64) {
        let was_counted = self.counted.swap(false, Ordering::Relaxed);
        let is_statement = error.is_some_and(|error| error.code != SqlError::SYNTAX);
        if !was_counted && is_statement {
            self.usage.statement(&self.limits, false, now);
        }
    }

    /// Counts a session that has begun, with which it has so many: 1226 if it is one too many.
    pub fn count_session(&self, sessions: u64, now: u64) -> Result<(), SqlError> {
        let at_once = self.limits.at_once;
        if at_once > 0 && sessions > at_once.into() {
            return Err(self.reached("max_user_connections", at_once));
        }
        match self.usage.connection(&self.limits, now) {
            true => Err(self.reached("max_connections_per_hour", self.limits.connections)),
            false => Ok(()),
        }
    }

    fn reached(&self, resource: &str, limit: u32) -> SqlError {
        SqlError::user_limit_reached(&self.user, resource, limit)
    }
}

/// What all accounts with limits have done, by their names and hosts.
#[derive(Default)]
pub struct Usages(Mutex<FxHashMap<(String, String), Arc<Usage>>>);

impl Usages {
    /// What an account has done; `None` if it has no limits.
    pub fn of(&self, (user, host): (&str, &str), limits: Limits) -> Option<Limited> {
        limits.is_any().then(|| {
            let key = (user.to_owned(), host.to_owned());
            Limited {
                limits,
                user: user.to_owned(),
                usage: Arc::clone(self.0.lock().entry(key).or_default()),
                counted: AtomicBool::new(false),
            }
        })
    }

    /// A new hour begins for an account.
    pub fn forget(&self, user: &str, host: &str) {
        let key = (user.to_owned(), host.to_owned());
        if let Some(usage) = self.0.lock().get(&key) {
            *usage.0.lock() = Hour::default();
        }
    }

    /// An account is gone.
    pub fn remove(&self, user: &str, host: &str) {
        let key = (user.to_owned(), host.to_owned());
        self.0.lock().remove(&key);
    }

    /// A new hour begins for all: FLUSH USER_RESOURCES.
    pub fn forget_all(&self) {
        for usage in self.0.lock().values() {
            *usage.0.lock() = Hour::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_so_many_statements_and_connections() {
        let usages = Usages::default();
        let of = |limits| usages.of(("u", "%"), limits);
        assert!(of(Limits::default()).is_none());
        let limits = Limits {
            queries: 3,
            updates: 1,
            connections: 2,
            at_once: 1,
        };
        let (one, other) = (of(limits).unwrap(), of(limits).unwrap());
        let statement = |changes, now| one.count_statement(changes, now).is_ok();
        assert!(statement(true, 0) && !statement(true, 1) && statement(false, 2));
        assert!(!statement(false, 3) && other.count_statement(false, 4).is_err());
        assert!(statement(true, HOUR_MICROS) && !statement(true, HOUR_MICROS));
        assert!(one.count_session(2, HOUR_MICROS).is_err());
        let session = || one.count_session(1, HOUR_MICROS).is_ok();
        assert!(session() && session() && !session());
        usages.forget("u", "%");
        assert!(session() && statement(true, HOUR_MICROS));
    }
}
