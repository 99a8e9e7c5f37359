//! Hash maps by number of table or tree.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map keyed by the number of a table or tree. These come from our own counter, so nobody can
/// make them collide, and looking one up is on the path of every statement.
pub type IdMap<V> = HashMap<u32, V, BuildHasherDefault<IdHasher>>;

/// Numbers of temporary tables and of their trees are from here on; nothing of them is ever
/// written to disk.
pub const FIRST_TEMPORARY: u32 = 1 << 31;

/// Whether a table or tree is of the session that has made it.
#[must_use]
pub fn is_temporary(id: u32) -> bool {
    id >= FIRST_TEMPORARY
}

/// Multiplies by the golden ratio: consecutive numbers spread over all buckets.
#[derive(Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }
    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The map takes its bucket from the low bits, which the product leaves poor.
        self.0 ^= self.0 >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_spread() {
        let buckets: std::collections::HashSet<u64> = (0..1000)
            .map(|number| {
                let mut hasher = IdHasher::default();
                hasher.write_u32(number);
                hasher.finish() % 4096
            })
            .collect();
        assert!(buckets.len() > 800, "{}", buckets.len());
    }
}
