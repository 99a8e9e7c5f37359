//! Random numbers that a seed repeats.

use cohort_engine::env::splitmix::SplitMix64;

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

/// Decimal digits that one number gives.
const DIGITS: usize = 18;

impl Random {
    /// The sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(SplitMix64(seed))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `limit`, which is not 0; the bias of 2⁻³² is no matter here.
    pub fn below(&mut self, limit: u32) -> u32 {
        (((self.next() >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// A number from 0 up to but not 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Fills with digits, but leaves each byte after `group` of them as it is.
    pub fn digits(&mut self, out: &mut [u8], group: usize) {
        let (mut source, mut left) = (0, 0);
        for chunk in out.chunks_mut(group + 1) {
            let digits = chunk.len().min(group);
            for byte in &mut chunk[..digits] {
                if left == 0 {
                    (source, left) = (self.next(), DIGITS);
                }
                *byte = b'0' + (source % 10) as u8;
                source /= 10;
                left -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_and_repeat() {
        let mut random = Random::new(7);
        let mut seen = [0u32; 10];
        let mut sum = 0.0;
        for _ in 0..10_000 {
            seen[random.below(10) as usize] += 1;
            sum += random.fraction();
        }
        assert!(seen.iter().all(|n| (800..1200).contains(n)), "{seen:?}");
        assert!((4_800.0..5_200.0).contains(&sum), "{sum}");
        assert_eq!(Random::new(7).next(), Random::new(7).next());
        assert_ne!(Random::new(7).next(), Random::new(8).next());
    }
}
