//! How numbers are spread: counted in buckets of powers of two.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many buckets there are.
pub const SPREAD_BUCKETS: usize = 28;

/// Counts numbers; any thread may.
#[derive(Debug)]
pub struct Spread {
    buckets: [AtomicU64; SPREAD_BUCKETS],
    sum: AtomicU64,
    max: AtomicU64,
}

/// What was counted until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spreading {
    /// Bucket n has numbers of less than 2ⁿ, and not less than half of that; the last one all larger
    /// ones.
    pub buckets: [u64; SPREAD_BUCKETS],
    /// All numbers together.
    pub sum: u64,
    /// The largest.
    pub max: u64,
}

impl Spreading {
    /// How many numbers there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

impl Default for Spread {
    fn default() -> Spread {
        Spread {
            buckets: [const { AtomicU64::new(0) }; SPREAD_BUCKETS],
            sum: AtomicU64::new(0),
            max: AtomicU64::new(0),
        }
    }
}

impl Spread {
    /// Counts a number.
    pub fn note(&self, number: u64) {
        let bucket = (u64::BITS - number.leading_zeros()) as usize;
        if let Some(count) = self.buckets.get(bucket.min(SPREAD_BUCKETS - 1)) {
            count.fetch_add(1, Relaxed);
        }
        self.sum.fetch_add(number, Relaxed);
        // Most numbers are not the largest: look before writing.
        if number > self.max.load(Relaxed) {
            self.max.fetch_max(number, Relaxed);
        }
    }
    /// What was counted until now.
    pub fn now(&self) -> Spreading {
        Spreading {
            buckets: self.buckets.each_ref().map(|bucket| bucket.load(Relaxed)),
            sum: self.sum.load(Relaxed),
            max: self.max.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fall_into_buckets_of_powers_of_two() {
        let spread = Spread::default();
        for number in [0, 1, 2, 3, 4, u64::MAX >> 12] {
            spread.note(number);
        }
        let now = spread.now();
        assert_eq!(now.buckets[..4], [1, 1, 2, 1]);
        assert_eq!(now.buckets[SPREAD_BUCKETS - 1], 1);
        assert_eq!(
            (now.count(), now.max, now.sum),
            (6, u64::MAX >> 12, 10 + (u64::MAX >> 12))
        );
    }
}
