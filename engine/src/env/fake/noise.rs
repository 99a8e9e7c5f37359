//! Reproducible noise.

use crate::env::splitmix::SplitMix64;

/// A small generator of reproducible noise; not for secrets.
#[derive(Clone, Debug)]
pub struct Noise(SplitMix64);

impl Noise {
    /// From a seed; nearby seeds give unrelated sequences.
    #[must_use]
    pub fn new(seed: u64) -> Noise {
        Noise(SplitMix64(seed))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound` (0 for a bound of 0).
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64().checked_rem(bound).unwrap_or(0)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}
