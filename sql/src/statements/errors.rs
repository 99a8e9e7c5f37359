//! How often each error was raised.

use crate::error::SqlError;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// An error that was raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// How often.
    pub count: u64,
    /// When it was raised first, in microseconds since 1970.
    pub first_us: u64,
    /// When it was raised last.
    pub last_us: u64,
}

impl Raised {
    /// Both of them together.
    #[must_use]
    pub fn and(self, other: Raised) -> Raised {
        Raised {
            count: self.count + other.count,
            first_us: self.first_us.min(other.first_us),
            last_us: self.last_us.max(other.last_us),
        }
    }
}

/// All errors that were raised, by their numbers.
#[derive(Default)]
pub struct Errors(Mutex<BTreeMap<u16, Raised>>);

impl Errors {
    /// An error is raised.
    pub fn note(&self, error: &SqlError, now_us: u64) {
        let mut all = self.0.lock();
        let raised = all.entry(error.code).or_insert(Raised {
            count: 0,
            first_us: now_us,
            last_us: now_us,
        });
        raised.count += 1;
        raised.last_us = now_us;
    }
    /// All of them.
    #[must_use]
    pub fn list(&self) -> BTreeMap<u16, Raised> {
        self.0.lock().clone()
    }
    /// TRUNCATE TABLE.
    pub fn reset(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_number() {
        let errors = Errors::default();
        errors.note(&SqlError::syntax("x", 1), 5);
        errors.note(&SqlError::syntax("y", 1), 7);
        errors.note(&SqlError::no_database(), 9);
        let all = errors.list();
        assert_eq!(all.keys().copied().collect::<Vec<_>>(), [1046, 1064]);
        let syntax = all[&1064];
        assert_eq!((syntax.count, syntax.first_us, syntax.last_us), (2, 5, 7));
        errors.reset();
        assert!(errors.list().is_empty());
    }
}
