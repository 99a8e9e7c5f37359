//! Fuzzing: bytes from outside never panic, and never cost more than their length deserves.
//!
//! A target takes any bytes and panics when something is wrong. Two runners use them:
//!
//! - `cargo test -p cohort-fuzz` gives every target what is in `corpus/`, and then changes of that
//!   for a moment (COHORT_FUZZ_SECONDS for each target, 1 unless told).
//! - `fuzz/run TARGET` is libFuzzer, which follows coverage.
//!
//! What took the server by surprise once stays in `corpus/TARGET/`, so that it does not again.

mod incoming;
mod log;
mod packed;
mod packets;
mod row;
mod sql;

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

/// Something that takes bytes from outside.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name, also that of its corpus.
    pub name: &'static str,
    /// Panics if the bytes do what they should not.
    pub run: fn(&[u8]),
    /// How long that may take at most, optimised or not.
    pub limit: Duration,
}

/// All targets.
pub const TARGETS: [Target; 8] = [
    target("before_login", packets::before_login),
    target("after_login", packets::after_login),
    target("packed", packed::commands),
    target("sql", sql::text),
    target("log", log::recovery),
    target("log_file", log::reading),
    target("incoming", incoming::events),
    target("row", row::images),
];

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target {
        name,
        run,
        limit: Duration::from_secs(5),
    }
}

impl Target {
    /// The target with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Target> {
        TARGETS.into_iter().find(|target| target.name == name)
    }

    /// Runs the target, and panics if it takes too long. (One that does not end at all is the
    /// runner's business.)
    pub fn check(&self, bytes: &[u8]) {
        let begun = Instant::now();
        (self.run)(bytes);
        let took = begun.elapsed();
        assert!(
            took < self.limit,
            "{}: {took:?} for {} bytes",
            self.name,
            bytes.len()
        );
    }
}

/// Something that is dear to make, for each thread, and made again after so many uses: what inputs
/// leave behind in it is bounded.
struct Kept<T> {
    value: RefCell<Option<(T, usize)>>,
    make: fn() -> T,
    uses: usize,
}

impl<T> Kept<T> {
    const fn new(make: fn() -> T, uses: usize) -> Kept<T> {
        Kept {
            value: RefCell::new(None),
            make,
            uses,
        }
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let taken = self.value.take();
        let (mut value, used) = match taken {
            Some((value, used)) if used < self.uses => (value, used),
            worn => {
                drop(worn);
                ((self.make)(), 0)
            }
        };
        let result = work(&mut value);
        *self.value.borrow_mut() = Some((value, used + 1));
        result
    }
}
