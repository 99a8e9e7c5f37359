//! The passwords that an account had, and whether it may have one of them again.

use crate::{
    password,
    users::{Account, DAY, NATIVE},
};
use serde::{Deserialize, Serialize};
use std::fmt::Display;

const DAY_MICROS: u64 = DAY * 1_000_000;

/// What an account says about changes of its password; `None`: it is as the variables
/// `password_history`, `password_reuse_interval` and `password_require_current` say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// PASSWORD HISTORY: how many passwords must be others before one may come again.
    #[serde(default)]
    pub history: Option<u16>,
    /// PASSWORD REUSE INTERVAL: how many days must be between.
    #[serde(default)]
    pub reuse_days: Option<u16>,
    /// PASSWORD REQUIRE CURRENT: whoever changes their own password has to say the one before.
    #[serde(default)]
    pub require_current: Option<bool>,
}

/// A password that an account had, or has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// What its plugin stored of it.
    pub stored: String,
    /// When it was set, in microseconds since 1970.
    pub set: u64,
}

/// When a password may come again; 0: at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// After so many others.
    pub passwords: u64,
    /// And after so many days.
    pub days: u64,
}

impl Reuse {
    /// Whether a password holds others like it back, before which `newer` others were set.
    fn forbids(self, past: &Past, newer: u64, now: u64) -> bool {
        let until = past
            .set
            .saturating_add(self.days.saturating_mul(DAY_MICROS));
        newer < self.passwords || self.days > 0 && until > now
    }
}

/// As statements have what may be DEFAULT.
#[must_use]
pub fn or_default(value: Option<impl Display>) -> String {
    value.map_or_else(|| "DEFAULT".to_owned(), |value| value.to_string())
}

/// What stands behind PASSWORD REQUIRE CURRENT.
#[must_use]
pub fn required_text(required: Option<bool>) -> &'static str {
    match required {
        None => " DEFAULT",
        Some(false) => " OPTIONAL",
        Some(true) => "",
    }
}

impl Account {
    /// Whether it had this password too short ago, at a time in microseconds since 1970.
    #[must_use]
    pub fn had_password(&self, password: &str, reuse: Reuse, now: u64) -> bool {
        let mut past = (0..).zip(&self.past);
        past.any(|(newer, past)| {
            reuse.forbids(past, newer, now) && self.is_stored_as(password, &past.stored)
        })
    }

    /// Notes the password that it has now, and forgets those that do not matter any more. An account
    /// without a password keeps what was noted.
    pub fn note_password(&mut self, reuse: Reuse, now: u64) {
        if self.authentication.is_empty() {
            return;
        }
        // The new one is before all of them.
        let mut newer = 0;
        self.past.retain(|past| {
            newer += 1;
            reuse.forbids(past, newer, now)
        });
        if reuse.passwords > 0 || reuse.days > 0 {
            let at = self.past.partition_point(|past| past.set > now);
            let past = Past {
                stored: self.authentication.clone(),
                set: now,
            };
            self.past.insert(at, past);
        }
    }

    /// Whether this is its password.
    #[must_use]
    pub fn has_password(&self, password: &str) -> bool {
        self.is_stored_as(password, &self.authentication)
    }

    /// Whether its plugin stores a password so.
    fn is_stored_as(&self, password: &str, stored: &str) -> bool {
        let password = password.as_bytes();
        match (password.is_empty(), stored.is_empty()) {
            (false, false) if self.plugin == NATIVE => password::native(password) == stored,
            (false, false) => password::matches_caching_sha2(stored, password),
            (one, other) => one && other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An account that has set these passwords, a second after each other.
    fn account(passwords: &[&str], reuse: Reuse) -> Account {
        let mut account = Account::new("u", "%");
        account.plugin = NATIVE.into();
        for (second, password) in (1..).zip(passwords) {
            account.authentication = password::native(password.as_bytes());
            account.note_password(reuse, second * 1_000_000);
        }
        account
    }

    #[test]
    fn so_many_passwords_must_be_between() {
        let reuse = Reuse {
            passwords: 2,
            days: 0,
        };
        let account = account(&["a", "b", "c", ""], reuse);
        let had = |password| account.had_password(password, reuse, 9_000_000);
        assert!(had("c") && had("b") && !had("a") && !had(""));
        assert_eq!(account.past.len(), 2);
        assert!(account.has_password("") && !account.has_password("c"));
    }

    #[test]
    fn so_many_days_must_be_between() {
        let reuse = Reuse {
            passwords: 0,
            days: 1,
        };
        let account = account(&["a", "b"], reuse);
        let had = |password, second| account.had_password(password, reuse, second * 1_000_000);
        assert!(had("a", DAY) && !had("a", DAY + 1) && had("b", DAY + 1) && !had("b", DAY + 2));
    }

    #[test]
    fn nothing_is_kept_where_nothing_is_asked_for() {
        let none = Reuse {
            passwords: 0,
            days: 0,
        };
        let two = Reuse {
            passwords: 2,
            ..none
        };
        let mut account = account(&["a", "b"], two);
        assert!(!account.had_password("b", none, 3_000_000));
        account.note_password(none, 3_000_000);
        assert_eq!(account.past, []);
    }
}
