//! The words of one row, packed: how the delta keeps them.
//!
//! ```text
//! how many words        4 bytes
//! for each its end      4 bytes, where it ends behind these ends
//! for each its key, ascending, then how often the row has it, 4 bytes
//! ```
//! All numbers are little endian.

use rustc_hash::FxHashMap;

/// Counts the words of a row. To be used for many rows: it keeps its memory.
#[derive(Debug, Default)]
pub struct WordsBuilder {
    keys: Vec<u8>,
    /// The word that comes.
    key: Vec<u8>,
    /// Where each word's key is in `keys`, in the order of coming.
    tokens: Vec<(u32, u32)>,
}

impl WordsBuilder {
    /// Forgets the row before.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.tokens.clear();
    }
    /// Adds a word, whose key `write` appends.
    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.key.clear();
        write(&mut self.key);
        // A row is smaller than what these numbers cannot tell.
        let start = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        let length = u32::try_from(self.key.len()).unwrap_or(u32::MAX);
        self.keys.extend_from_slice(&self.key);
        self.tokens.push((start, length));
    }
    fn key_at(&self, (start, length): (u32, u32)) -> &[u8] {
        let start = start as usize;
        self.keys
            .get(start..start + length as usize)
            .unwrap_or_default()
    }
    /// Each word with how often it is there, ascending.
    pub fn counted(&self) -> Vec<(&[u8], u32)> {
        let mut counts: FxHashMap<&[u8], u32> = FxHashMap::default();
        for token in &self.tokens {
            *counts.entry(self.key_at(*token)).or_default() += 1;
        }
        let mut counted: Vec<_> = counts.into_iter().collect();
        counted.sort_unstable();
        counted
    }
    /// All of it, packed.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        let counted = self.counted();
        let keys: usize = counted.iter().map(|(key, _)| key.len() + 8).sum();
        let mut packed = Vec::with_capacity(4 + keys);
        let push = |packed: &mut Vec<u8>, number: usize| {
            // A row is smaller than that.
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            packed.extend_from_slice(&number.to_le_bytes());
        };
        push(&mut packed, counted.len());
        let mut end = 0;
        for (key, _) in &counted {
            end += key.len() + 4;
            push(&mut packed, end);
        }
        for (key, count) in counted {
            packed.extend_from_slice(key);
            packed.extend_from_slice(&count.to_le_bytes());
        }
        packed
    }
}

/// The words of a row, packed.
#[derive(Clone, Copy, Debug)]
pub struct Words<'p> {
    ends: &'p [u8],
    entries: &'p [u8],
}

impl<'p> Words<'p> {
    /// Those of packed bytes; `None`: they are not what `WordsBuilder` packs.
    #[must_use]
    pub fn new(packed: &'p [u8]) -> Option<Words<'p>> {
        let (count, rest) = packed.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        let (ends, entries) = rest.split_at_checked(count.checked_mul(4)?)?;
        let words = Words { ends, entries };
        (words.end(count)? == entries.len()).then_some(words)
    }
    /// How many different words there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len() / 4
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// Where the first so many words end.
    fn end(&self, words: usize) -> Option<usize> {
        let Some(last) = words.checked_sub(1) else {
            return Some(0);
        };
        let end = self.ends.get(last * 4..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*end) as usize)
    }
    /// The word at a position and how often the row has it.
    fn get(&self, at: usize) -> Option<(&'p [u8], u32)> {
        let entry = self.entries.get(self.end(at)?..self.end(at + 1)?)?;
        let (key, count) = entry.split_last_chunk::<4>()?;
        Some((key, u32::from_le_bytes(*count)))
    }
    /// All words with how often the row has each, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (&'p [u8], u32)> {
        let words = *self;
        (0..self.len()).map_while(move |at| words.get(at))
    }
    /// The words from the first one that is not below `key`, ascending.
    pub fn from_key(&self, key: &[u8]) -> impl Iterator<Item = (&'p [u8], u32)> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(|(other, _)| other < key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let words = *self;
        (low..self.len()).map_while(move |at| words.get(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let mut builder = WordsBuilder::default();
        for round in 0..2 {
            builder.clear();
            for word in ["b", "ab", "b", "", "c", "b"] {
                builder.add(|key| {
                    assert!(key.is_empty());
                    key.extend_from_slice(word.as_bytes());
                });
            }
            let packed = builder.pack();
            let words = Words::new(&packed).unwrap();
            let all: Vec<_> = words.iter().collect();
            let expected: [(&[u8], u32); 4] = [(b"", 1), (b"ab", 1), (b"b", 3), (b"c", 1)];
            assert_eq!(all, expected, "{round}");
            assert_eq!(words.from_key(b"b").count(), 2);
            assert_eq!(words.from_key(b"aa").next(), Some((&b"ab"[..], 1)));
            assert_eq!(words.from_key(b"d").count(), 0);
            for end in 0..packed.len() {
                assert!(Words::new(&packed[..end]).is_none(), "{end}");
            }
        }
        builder.clear();
        let none = builder.pack();
        assert!(Words::new(&none).unwrap().is_empty());
    }
}
