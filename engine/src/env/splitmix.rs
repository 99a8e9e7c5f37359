//! Numbers that spread well and cost little, for jitter, loads and tests; not for secrets.
//!
//! SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): a
//! counter with odd steps, whose values are mixed.

/// How far the counter goes with each number.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence that its seed repeats; nearby seeds give unrelated sequences.
#[derive(Clone, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }
}

/// The number that a value of the counter gives.
#[must_use]
pub fn mix(counter: u64) -> u64 {
    let mut z = counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
