//! Sets of keys, as [`hash_key`](crate::expr::hash_key) makes them. Most are those of one number or moment:
//! these are kept as numbers, which takes half the memory and no allocation for each.

use rustc_hash::FxHashSet;

/// What a short key takes, in bytes: itself, a byte of the table for it, and what is free in a table.
const SHORT_BYTES: usize = 30;
/// What another one takes beyond its bytes.
const LONG_BYTES: usize = 48;

/// A set of keys.
#[derive(Clone, Default)]
pub(super) struct KeySet {
    short: FxHashSet<u128>,
    long: FxHashSet<Box<[u8]>>,
}

/// A key of fewer than 16 bytes: these, and in the last byte how many they are.
fn short(key: &[u8]) -> Option<u128> {
    let mut bytes = [0; 16];
    let (length, rest) = bytes.split_last_mut()?;
    rest.get_mut(..key.len())?.copy_from_slice(key);
    *length = u8::try_from(key.len()).ok()?;
    Some(u128::from_le_bytes(bytes))
}

impl KeySet {
    /// The memory that a key takes in a set, in bytes.
    pub fn bytes_of(key: &[u8]) -> usize {
        match short(key) {
            Some(_) => SHORT_BYTES,
            None => key.len() + LONG_BYTES,
        }
    }
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }
    pub fn contains(&self, key: &[u8]) -> bool {
        match short(key) {
            Some(key) => self.short.contains(&key),
            None => self.long.contains(key),
        }
    }
    /// Adds a key; false if it was there.
    pub fn insert(&mut self, key: &[u8]) -> bool {
        match short(key) {
            Some(key) => self.short.insert(key),
            None => !self.long.contains(key) && self.long.insert(key.into()),
        }
    }
    /// Adds those of another set.
    pub fn join(&mut self, other: KeySet) {
        self.short.extend(other.short);
        self.long.extend(other.long);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_of_all_lengths_are_told_apart() {
        let (mut set, mut known) = (KeySet::default(), BTreeSet::new());
        for length in 0..40 {
            for byte in [0, 1, 255] {
                let key = vec![byte; length];
                assert_eq!(set.contains(&key), known.contains(&key));
                assert_eq!(set.insert(&key), known.insert(key.clone()), "{key:?}");
                assert!(set.contains(&key) && !set.insert(&key), "{key:?}");
                assert_eq!(set.len(), known.len());
            }
        }
        let mut other = KeySet::default();
        assert!(other.insert(b"new") && other.insert(&[1; 5]) && other.insert(&[255; 30]));
        set.join(other);
        assert_eq!(set.len(), known.len() + 1);
    }
}
