//! Sorting more than fits into memory: entries are gathered in a [`Chunk`], each full chunk is sorted and
//! written to a temporary file as a run, and the runs are merged when all entries are there (Knuth, The Art of
//! Computer Programming, volume 3, 5.4.1). The last chunk of each thread need not be full, and stays in memory.

use super::TxnError;
use crate::{
    env::{TemporaryFile, TemporaryFiles},
    invariant::broken,
};
use std::{
    borrow::Cow,
    cmp::{Ordering, Reverse},
    collections::{BinaryHeap, binary_heap::PeekMut},
    ops::Range,
};

/// So much of all runs together is in memory while they are merged, in bytes, ...
const MERGED_BYTES: usize = if cfg!(test) { 256 } else { 16 << 20 };
/// ... and so much of one at most, and at least but for what one entry needs.
const READ_MAX: usize = 1 << 20;
const READ_MIN: usize = if cfg!(test) { 1 } else { 16 << 10 };
/// So much of a run is written at once.
const WRITTEN: usize = 1 << 20;

/// Entries in memory: keys, values, and how much of each key no other entry may share.
#[derive(Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    entries: Vec<Place>,
}

/// One entry, as lengths of its pieces, which stand one after another in `Chunk::bytes`.
#[derive(Clone, Copy)]
struct Place {
    /// The first bytes of the key, which decide most comparisons.
    prefix: u64,
    start: usize,
    /// How much of the key no other entry may share.
    unique: u32,
    key: u32,
    value: u32,
}

/// An entry.
#[derive(Clone, Copy)]
pub(super) struct Sorted<'c> {
    pub key: &'c [u8],
    pub value: &'c [u8],
    /// The part of the key that no other entry may share; empty: it may share all of it.
    pub unique: &'c [u8],
}

impl Sorted<'_> {
    /// What begins these bytes: the key, then the value. `lengths`: theirs, and how much of the key no other
    /// entry may share.
    fn at(bytes: &[u8], [key, value, unique]: [usize; 3]) -> Sorted<'_> {
        let (key, rest) = bytes.split_at(key);
        Sorted {
            key,
            value: &rest[..value],
            unique: &key[..unique],
        }
    }
}

/// The first eight bytes of a key, in its order.
fn prefix(key: &[u8]) -> u64 {
    if let Some(first) = key.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(key) {
        *to = *from;
    }
    u64::from_be_bytes(first)
}

fn length(bytes: &[u8]) -> Result<u32, TxnError> {
    u32::try_from(bytes.len()).map_err(|_| TxnError::TooLarge)
}

impl Chunk {
    /// Adds an entry.
    pub fn push(&mut self, entry: Sorted<'_>) -> Result<(), TxnError> {
        self.entries.push(Place {
            prefix: prefix(entry.key),
            start: self.bytes.len(),
            unique: length(entry.unique)?,
            key: length(entry.key)?,
            value: length(entry.value)?,
        });
        self.bytes.extend_from_slice(entry.key);
        self.bytes.extend_from_slice(entry.value);
        Ok(())
    }
    /// The memory that it takes, in bytes.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Place>()
    }
    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }
    /// The entry that was added last; after `sort`, the greatest.
    pub fn last(&self) -> Option<Sorted<'_>> {
        self.entries.last().map(|place| self.entry(place))
    }
    /// Its entries, in order after `sort`.
    pub fn iter(&self) -> impl Iterator<Item = Sorted<'_>> {
        self.entries.iter().map(|place| self.entry(place))
    }
    /// Sorts it by the keys.
    pub fn sort(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|a, b| {
            let order = a.prefix.cmp(&b.prefix);
            order.then_with(|| self.entry(a).key.cmp(self.entry(b).key))
        });
        self.entries = entries;
    }
    /// Whether two entries share what none may share. It is sorted.
    pub fn has_twice(&self) -> bool {
        let same = |pair: &[Place]| match pair {
            [a, b] => a.unique > 0 && self.entry(a).unique == self.entry(b).unique,
            _ => false,
        };
        self.entries.windows(2).any(same)
    }
    fn entry(&self, place: &Place) -> Sorted<'_> {
        let lengths = [place.key, place.value, place.unique];
        Sorted::at(
            &self.bytes[place.start..],
            lengths.map(|length| length as usize),
        )
    }
}

/// Sorted chunks: in a temporary file, once there is one, and the last ones in memory.
pub(super) struct Runs {
    files: TemporaryFiles,
    file: Option<TemporaryFile>,
    /// Those in the file.
    ranges: Vec<Range<u64>>,
    /// Those in memory, as they would be in the file.
    kept: Vec<Vec<u8>>,
    count: u64,
}

/// What an entry has in the file before its key and its value: their lengths, and how much of the key no other
/// entry may share; little-endian, of four bytes each.
const HEAD: usize = 12;

fn encode(entry: Sorted<'_>, out: &mut Vec<u8>) -> Result<(), TxnError> {
    for piece in [entry.key, entry.value, entry.unique] {
        out.extend_from_slice(&length(piece)?.to_le_bytes());
    }
    out.extend_from_slice(entry.key);
    out.extend_from_slice(entry.value);
    Ok(())
}

impl Runs {
    /// None yet; the file will be made there.
    pub fn new(files: TemporaryFiles) -> Runs {
        Runs {
            files,
            file: None,
            ranges: Vec::new(),
            kept: Vec::new(),
            count: 0,
        }
    }
    /// How many entries all have.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Writes a sorted chunk.
    pub fn add(&mut self, chunk: &Chunk) -> Result<(), TxnError> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.files.make()?),
        };
        let start = file.len();
        let mut buffer = Vec::with_capacity(WRITTEN);
        for entry in chunk.iter() {
            encode(entry, &mut buffer)?;
            if buffer.len() >= WRITTEN {
                file.append(&buffer)?;
                buffer.clear();
            }
        }
        file.append(&buffer)?;
        self.ranges.push(start..file.len());
        self.count += chunk.len() as u64;
        Ok(())
    }
    /// Keeps a sorted chunk in memory.
    pub fn keep(&mut self, chunk: &Chunk) -> Result<(), TxnError> {
        let mut kept = Vec::with_capacity(chunk.bytes.len() + HEAD * chunk.len());
        chunk
            .iter()
            .try_for_each(|entry| encode(entry, &mut kept))?;
        self.kept.push(kept);
        self.count += chunk.len() as u64;
        Ok(())
    }
    /// Begins to merge them.
    pub fn merge(&self) -> Result<Merge<'_>, TxnError> {
        let each = MERGED_BYTES / self.ranges.len().max(1);
        let read = each.clamp(READ_MIN, READ_MAX);
        let file = self.file.iter();
        let written = file.flat_map(|file| self.ranges.iter().map(move |range| (file, range)));
        let written = written.map(|(file, range)| Source {
            buffer: Cow::Owned(Vec::new()),
            left: Some((file, range.clone(), read)),
        });
        let kept = self.kept.iter().map(|kept| Source {
            buffer: Cow::Borrowed(kept.as_slice()),
            left: None,
        });
        let mut heads = BinaryHeap::with_capacity(self.ranges.len() + self.kept.len());
        for source in written.chain(kept) {
            let mut head = Head {
                source,
                start: 0,
                prefix: 0,
                lengths: [0; 3],
            };
            if head.advance()? {
                heads.push(Reverse(head));
            }
        }
        Ok(Merge { heads })
    }
}

/// Runs that are merged.
pub(super) struct Merge<'r> {
    /// The next entry of each run that has one, the least on top.
    heads: BinaryHeap<Reverse<Head<'r>>>,
}

impl Merge<'_> {
    /// Has a chunk take the next entries until it takes so many bytes. It is sorted then; it stays empty if
    /// there are no more.
    pub fn fill(&mut self, chunk: &mut Chunk, memory: usize) -> Result<(), TxnError> {
        while chunk.memory() < memory
            && let Some(mut least) = self.heads.peek_mut()
        {
            chunk.push(least.0.entry())?;
            if !least.0.advance()? {
                PeekMut::pop(least);
            }
        }
        Ok(())
    }
}

/// A run that is read: what is in memory of it.
struct Source<'r> {
    buffer: Cow<'r, [u8]>,
    /// Of a run in a file: what was not read yet, and how much is read at once.
    left: Option<(&'r TemporaryFile, Range<u64>, usize)>,
}

impl Source<'_> {
    /// Whether all of it is in the buffer.
    fn is_read(&self) -> bool {
        self.left
            .as_ref()
            .is_none_or(|(_, left, _)| left.is_empty())
    }
    /// Drops what is before `start`, and reads on until there are so many bytes.
    fn read(&mut self, start: usize, wanted: usize) -> Result<(), TxnError> {
        if let Some((file, left, read)) = &mut self.left {
            let buffer = self.buffer.to_mut();
            buffer.drain(..start);
            let held = buffer.len();
            let rest = usize::try_from(left.end - left.start).unwrap_or(usize::MAX);
            let more = (*read).max(wanted - held).min(rest);
            buffer.resize(held + more, 0);
            let place = buffer.get_mut(held..).unwrap_or_default();
            file.read(place, left.start)?;
            left.start += more as u64;
            if buffer.len() >= wanted {
                return Ok(());
            }
        }
        Err(broken("a run ends where an entry does").into())
    }
}

/// The next entry of a run.
struct Head<'r> {
    source: Source<'r>,
    /// Where the entry begins in the buffer, and after it those that follow.
    start: usize,
    prefix: u64,
    /// Its pieces' lengths, as in the file; all zero before the first.
    lengths: [usize; 3],
}

impl Head<'_> {
    /// Goes on to the next entry; false: there is none.
    fn advance(&mut self) -> Result<bool, TxnError> {
        let [key, value, _] = self.lengths;
        self.start += key + value;
        if self.start == self.source.buffer.len() && self.source.is_read() {
            return Ok(false);
        }
        self.hold(HEAD)?;
        let (head, _) = self.source.buffer[self.start..self.start + HEAD].as_chunks();
        self.lengths = std::array::from_fn(|piece| u32::from_le_bytes(head[piece]) as usize);
        self.start += HEAD;
        let [key, value, _] = self.lengths;
        self.hold(key + value)?;
        self.prefix = prefix(self.entry().key);
        Ok(true)
    }
    /// Has so many bytes in the buffer from `start` on.
    fn hold(&mut self, wanted: usize) -> Result<(), TxnError> {
        if self.source.buffer.len() - self.start < wanted {
            self.source.read(self.start, wanted)?;
            self.start = 0;
        }
        Ok(())
    }
    fn entry(&self) -> Sorted<'_> {
        Sorted::at(&self.source.buffer[self.start..], self.lengths)
    }
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.prefix.cmp(&other.prefix);
        order.then_with(|| self.entry().key.cmp(other.entry().key))
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{fake::Disk, splitmix::SplitMix64};
    use std::path::Path;

    /// Chunks of random entries, some long, some alike, some empty, come out as if they had been sorted together.
    #[test]
    fn runs_merge_into_one_order() {
        for seed in 0..200 {
            let mut random = SplitMix64(seed);
            let mut below = |limit: u64| random.next_u64() % limit;
            let env = Disk::new(seed).env();
            let mut runs = Runs::new(TemporaryFiles::of(&env, Path::new("/data")));
            let mut all: Vec<(Vec<u8>, Vec<u8>, usize)> = Vec::new();
            for _ in 0..below(6) {
                let mut chunk = Chunk::default();
                for _ in 0..below(30) {
                    let longest = [3, 9, 20, 700][usize::try_from(below(4)).unwrap()];
                    let key: Vec<u8> = (0..below(longest)).map(|_| below(3) as u8).collect();
                    let value = vec![7; usize::try_from(below(longest)).unwrap()];
                    let unique = usize::try_from(below(key.len() as u64 + 1)).unwrap();
                    chunk
                        .push(Sorted {
                            key: &key,
                            value: &value,
                            unique: &key[..unique],
                        })
                        .unwrap();
                    all.push((key, value, unique));
                }
                chunk.sort();
                match below(3) {
                    0 => runs.keep(&chunk).unwrap(),
                    _ => runs.add(&chunk).unwrap(),
                }
            }
            assert_eq!(runs.count(), all.len() as u64);
            let (mut merge, mut chunk, mut merged) =
                (runs.merge().unwrap(), Chunk::default(), Vec::new());
            loop {
                merge
                    .fill(&mut chunk, 1 + usize::try_from(below(500)).unwrap())
                    .unwrap();
                if chunk.is_empty() {
                    break;
                }
                let owned = |e: Sorted<'_>| (e.key.to_vec(), e.value.to_vec(), e.unique.len());
                merged.extend(chunk.iter().map(owned));
                chunk.clear();
            }
            assert!(merged.is_sorted_by(|a, b| a.0 <= b.0), "seed {seed}");
            all.sort();
            merged.sort();
            assert_eq!(merged, all, "seed {seed}");
        }
    }

    #[test]
    fn what_none_may_share_is_found_where_it_meets() {
        let entry = |key: &'static [u8], unique: usize| Sorted {
            key,
            value: &[],
            unique: &key[..unique],
        };
        let twice = |entries: &[Sorted<'_>]| {
            let mut chunk = Chunk::default();
            entries.iter().for_each(|entry| chunk.push(*entry).unwrap());
            chunk.sort();
            chunk.has_twice()
        };
        assert!(twice(&[entry(b"ab1", 2), entry(b"b", 1), entry(b"ab0", 2)]));
        assert!(!twice(&[entry(b"ab1", 2), entry(b"ac0", 2)]));
        assert!(!twice(&[entry(b"ab1", 0), entry(b"ab1", 0)]));
    }
}
