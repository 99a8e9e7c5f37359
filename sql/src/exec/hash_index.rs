//! Where the rows of a hash table are.

use super::{Stop, memory::Memory};
use crate::error::SqlError;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// The positions of rows by their keys: each key is kept once, and a row takes 4 bytes.
#[derive(Default)]
pub(super) struct HashIndex {
    /// The first of the keys with a hash.
    heads: FxHashMap<u64, u32>,
    keys: Vec<Key>,
    /// What all keys consist of, one after the other.
    bytes: Vec<u8>,
    /// For each row the next one with the same key.
    next: Vec<u32>,
    memory: Memory,
}

/// A key and its rows.
struct Key {
    /// Where its bytes are.
    start: u32,
    end: u32,
    /// Its rows.
    first: u32,
    last: u32,
    /// The next key with the same hash.
    same_hash: u32,
}

/// No row, no key.
const NONE: u32 = u32::MAX;
/// What a key takes beside its bytes: also in `heads`, which may be half empty.
const KEY_BYTES: usize = size_of::<Key>() + 2 * 17;

impl HashIndex {
    /// Adds the next row, with its key; one without a key is not found.
    pub fn push(&mut self, key: Option<&[u8]>) -> Result<(), Stop> {
        let place = number(self.next.len())?;
        self.memory.take(size_of::<u32>())?;
        self.next.push(NONE);
        let Some(key) = key else { return Ok(()) };
        let hash = hash(key);
        if let Some(found) = self.find(hash, key)
            && let Some(known) = self.keys.get_mut(found as usize)
        {
            let last = std::mem::replace(&mut known.last, place);
            if let Some(next) = self.next.get_mut(last as usize) {
                *next = place;
            }
            return Ok(());
        }
        self.memory.take(key.len() + KEY_BYTES)?;
        let start = number(self.bytes.len())?;
        self.bytes.extend_from_slice(key);
        let before = self.heads.insert(hash, number(self.keys.len())?);
        self.keys.push(Key {
            start,
            end: number(self.bytes.len())?,
            first: place,
            last: place,
            same_hash: before.unwrap_or(NONE),
        });
        Ok(())
    }

    fn find(&self, hash: u64, wanted: &[u8]) -> Option<u32> {
        let mut at = self.heads.get(&hash).copied().unwrap_or(NONE);
        while let Some(key) = self.keys.get(at as usize) {
            if self.bytes.get(key.start as usize..key.end as usize) == Some(wanted) {
                return Some(at);
            }
            at = key.same_hash;
        }
        None
    }

    /// The positions of the rows with this key, in their order.
    pub fn places(&self, key: &[u8]) -> impl Iterator<Item = usize> {
        let found = self.find(hash(key), key);
        let found = found.and_then(|at| self.keys.get(at as usize));
        let mut place = found.map_or(NONE, |key| key.first);
        std::iter::from_fn(move || {
            let at = (place != NONE).then_some(place as usize)?;
            place = self.next.get(at).copied().unwrap_or(NONE);
            Some(at)
        })
    }

    /// Of the rows with each key the first.
    pub fn firsts(&self) -> impl Iterator<Item = usize> {
        self.keys.iter().map(|key| key.first as usize)
    }
}

/// 1038 for more than there are numbers for.
fn number(n: usize) -> Result<u32, Stop> {
    let number = u32::try_from(n).ok().filter(|number| *number != NONE);
    Ok(number.ok_or_else(SqlError::out_of_sort_memory)?)
}

fn hash(key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::HashIndex;

    #[test]
    fn rows_are_found_in_their_order() {
        let mut index = HashIndex::default();
        for key in [Some("a"), None, Some("b"), Some("a"), Some(""), Some("a")] {
            assert!(index.push(key.map(str::as_bytes)).is_ok());
        }
        let places = |key: &str| index.places(key.as_bytes()).collect::<Vec<_>>();
        assert_eq!(places("a"), [0, 3, 5]);
        assert_eq!(places("b"), [2]);
        assert_eq!(places(""), [4]);
        assert!(places("c").is_empty());
        assert_eq!(index.firsts().collect::<Vec<_>>(), [0, 2, 4]);
    }

    #[test]
    fn keys_of_one_hash_are_told_apart() {
        let mut index = HashIndex::default();
        assert!(index.push(Some(b"one")).is_ok());
        let hash = super::hash(b"other");
        // As if both had the same hash.
        index.heads.insert(hash, 0);
        assert!(index.places(b"other").next().is_none());
        assert!(index.push(Some(b"other")).is_ok());
        assert_eq!(index.places(b"other").collect::<Vec<_>>(), [1]);
        assert_eq!(index.keys[1].same_hash, 0);
    }
}
