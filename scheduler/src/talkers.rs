//! How many clients talk although no thread serves them and they do not queue: those who have
//! been silent for a moment only, as a client is between a reply and its next statement.
//!
//! Without them a crowd that is served quickly would look like few: its queue is short just
//! because most of its clients are about to send something.
//!
//! Time is cut into windows, and each counts who fell silent in it and has not spoken again. What
//! is asked for is the count of this window and of the one before.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// A silence is a moment as long as it lasts no longer than one to two of these.
const WINDOW: Duration = Duration::from_millis(25);
/// One for each window that counts, and others, so that a latecomer disturbs none of these.
const WINDOWS: usize = 4;

/// The clients that have just fallen silent.
pub(super) struct Talkers {
    begin: Instant,
    /// Of each window its number (upper half), modulo 2³², and its count. The place of a window is
    /// its number modulo `WINDOWS`.
    windows: [AtomicU64; WINDOWS],
}

impl Talkers {
    pub(super) fn new() -> Talkers {
        Talkers {
            begin: Instant::now(),
            windows: [const { AtomicU64::new(0) }; WINDOWS],
        }
    }

    fn window(&self, at: Instant) -> u32 {
        let windows = at.duration_since(self.begin).as_micros() / WINDOW.as_micros();
        windows as u32
    }

    /// A client is silent from now on.
    pub(super) fn falls_silent(&self, now: Instant) {
        let number = self.window(now);
        let _ = self.windows[number as usize % WINDOWS].fetch_update(Relaxed, Relaxed, |word| {
            let fresh = u64::from(number) << 32;
            Some(if is(word, number) { word } else { fresh } + 1)
        });
    }

    /// A client that was silent since then speaks.
    pub(super) fn speaks(&self, since: Instant) {
        let number = self.window(since);
        let _ = self.windows[number as usize % WINDOWS].fetch_update(Relaxed, Relaxed, |word| {
            (is(word, number) && word as u32 > 0).then(|| word - 1)
        });
    }

    /// How many have been silent for a moment only.
    pub(super) fn count(&self, now: Instant) -> usize {
        let number = self.window(now);
        let count = |number: u32| {
            let word = self.windows[number as usize % WINDOWS].load(Relaxed);
            if is(word, number) {
                word as u32 as usize
            } else {
                0
            }
        };
        count(number) + number.checked_sub(1).map_or(0, count)
    }
}

fn is(word: u64, number: u32) -> bool {
    (word >> 32) as u32 == number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_of_silence_counts() {
        let talkers = Talkers::new();
        let at = |windows: u32| talkers.begin + WINDOW * windows;
        assert_eq!(talkers.count(at(0)), 0);
        talkers.falls_silent(at(0));
        talkers.falls_silent(at(0));
        talkers.falls_silent(at(1));
        assert_eq!([0, 1, 2, 3].map(|n| talkers.count(at(n))), [2, 3, 1, 0]);
        talkers.speaks(at(0));
        assert_eq!(talkers.count(at(1)), 2);
        // The window's place is another's by now.
        talkers.falls_silent(at(5));
        talkers.speaks(at(1));
        assert_eq!([5, 6, 7].map(|n| talkers.count(at(n))), [1, 1, 0]);
    }
}
