//! What is impossible is said, not answered by a default.
//!
//! A state that no code can bring about is a mistake in the code. A default in its place (no rows,
//! row number 1) would be a wrong answer that nobody notices. So the place says what holds there:
//! a broken invariant panics in tests and development, and in production it fails this statement
//! with an internal error (1815) and is counted (`Cohort_broken_invariants`).
//!
//! ```
//! # use cohort_engine::{invariant, invariant::Broken};
//! fn half(n: u32) -> Result<u32, Broken> {
//!     invariant!(n % 2 == 0, "{n} is even");
//!     Ok(n / 2)
//! }
//! # assert_eq!(half(4).ok(), Some(2));
//! ```

use std::{
    fmt::{self, Display},
    sync::atomic::{AtomicU64, Ordering},
};

static BROKEN: AtomicU64 = AtomicU64::new(0);

/// An invariant that does not hold: a mistake in the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(String);

impl Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the server has made a mistake: it does not hold that {}",
            self.0
        )
    }
}

impl std::error::Error for Broken {}

/// The invariant `what` is broken: counts it, and panics where that helps to find out why.
#[cold]
#[track_caller]
pub fn broken(what: impl Display) -> Broken {
    BROKEN.fetch_add(1, Ordering::Relaxed);
    let what = what.to_string();
    if cfg!(debug_assertions) {
        panic!("a broken invariant: {what}");
    }
    Broken(what)
}

/// How many were broken since the start.
#[must_use]
pub fn count() -> u64 {
    BROKEN.load(Ordering::Relaxed)
}

/// Says what always holds here: `invariant!(condition, "what holds")`. If it does not, the function
/// returns an error that is made of [`Broken`](crate::invariant::Broken).
#[macro_export]
macro_rules! invariant {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err($crate::invariant::broken(format_args!($($what)+)).into());
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a broken invariant: two is one")]
    fn tests_panic() {
        let _ = broken("two is one");
    }
}
