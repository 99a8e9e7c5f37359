//! Status counters: each session's, and the server's as their sum.
//!
//! A session's counters are written by its own thread alone, so counting is a load and a store
//! without a locked instruction; others only read. What a session counted is added to the
//! server's totals when it ends.

mod names;

pub use names::{COUNTERS, Counter};

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One number for each counter.
pub struct Counters([AtomicU64; COUNTERS.len()]);

impl Default for Counters {
    fn default() -> Counters {
        Counters([const { AtomicU64::new(0) }; COUNTERS.len()])
    }
}

impl Counters {
    /// Counts. Only the session's own thread may.
    #[inline]
    pub fn add(&self, counter: Counter, n: u64) {
        let cell = &self.0[counter as usize];
        cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
    }
    /// Counts one.
    #[inline]
    pub fn count(&self, counter: Counter) {
        self.add(counter, 1);
    }
    /// The number of a counter.
    #[must_use]
    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize].load(Relaxed)
    }
    /// Counts a command by the name that follows `Com_`.
    pub fn command(&self, name: &str) {
        if let Some(counter) = names::command(name) {
            self.count(counter);
        }
    }
    /// Adds these numbers to a sum.
    pub fn add_to(&self, sum: &mut Vec<u64>) {
        sum.resize(COUNTERS.len(), 0);
        for (total, cell) in sum.iter_mut().zip(&self.0) {
            *total = total.wrapping_add(cell.load(Relaxed));
        }
    }
    /// Adds those of a session that ended; any thread may, as all add this way.
    pub fn absorb(&self, ended: &Counters) {
        for (total, cell) in self.0.iter().zip(&ended.0) {
            total.fetch_add(cell.load(Relaxed), Relaxed);
        }
    }
    /// FLUSH STATUS: begins at 0 again.
    pub fn reset(&self) {
        for cell in &self.0 {
            cell.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sums() {
        let (one, totals) = (Counters::default(), Counters::default());
        one.count(Counter::HandlerReadKey);
        one.command("select");
        one.command("no such command");
        totals.absorb(&one);
        totals.absorb(&one);
        assert_eq!(totals.get(Counter::HandlerReadKey), 2);
        assert_eq!(totals.get(Counter::ComSelect), 2);
        let mut sum = Vec::new();
        one.add_to(&mut sum);
        assert_eq!(sum.iter().sum::<u64>(), 2);
    }
}
