//! The passwords that an account had, and whether it may have one of them again.

use crate::password;
use serde::{Deserialize, Serialize};
use std::fmt::Display;

const DAY_MICROS: u64 = 86_400_000_000;

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

/// The passwords that an account must not have again yet, the last one first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct History(Vec<Past>);

impl History {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Past> {
        self.0.iter()
    }

    /// Whether a password was set too short ago, at a time in microseconds since 1970.
    #[must_use]
    pub fn forbids(&self, password: &str, reuse: Reuse, now: u64) -> bool {
        let mut past = (0..).zip(&self.0);
        past.any(|(newer, past)| {
            reuse.forbids(past, newer, now) && password::matches(&past.stored, password.as_bytes())
        })
    }

    /// Notes what is stored of a password that is set now, and forgets what does not matter any more. No
    /// password is nothing to be noted.
    pub fn note(&mut self, stored: &str, reuse: Reuse, now: u64) {
        if stored.is_empty() {
            return;
        }
        // The new one is before all of them.
        let mut newer = 0;
        self.0.retain(|past| {
            newer += 1;
            reuse.forbids(past, newer, now)
        });
        if reuse.passwords > 0 || reuse.days > 0 {
            let at = self.0.partition_point(|past| past.set > now);
            let past = Past {
                stored: stored.to_owned(),
                set: now,
            };
            self.0.insert(at, past);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That of an account that has set these passwords, a second after each other.
    fn history(passwords: &[&str], reuse: Reuse) -> History {
        let mut history = History::default();
        for (second, password) in (1..).zip(passwords) {
            let stored = password::native(password.as_bytes());
            history.note(&stored, reuse, second * 1_000_000);
        }
        history
    }

    #[test]
    fn so_many_passwords_must_be_between() {
        let reuse = Reuse {
            passwords: 2,
            days: 0,
        };
        let history = history(&["a", "b", "c", ""], reuse);
        let forbids = |password| history.forbids(password, reuse, 9_000_000);
        assert!(forbids("c") && forbids("b") && !forbids("a") && !forbids(""));
        assert_eq!(history.iter().count(), 2);
    }

    #[test]
    fn so_many_days_must_be_between() {
        const DAY: u64 = 86_400;
        let reuse = Reuse {
            passwords: 0,
            days: 1,
        };
        let history = history(&["a", "b"], reuse);
        let forbids = |password, second| history.forbids(password, reuse, second * 1_000_000);
        assert!(forbids("a", DAY) && !forbids("a", DAY + 1));
        assert!(forbids("b", DAY + 1) && !forbids("b", DAY + 2));
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
        let mut history = history(&["a", "b"], two);
        assert!(!history.forbids("b", none, 3_000_000));
        history.note("", none, 3_000_000);
        assert!(!history.is_empty());
        history.note("*", none, 3_000_000);
        assert!(history.is_empty());
    }
}
