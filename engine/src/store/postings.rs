//! The trees of FULLTEXT indexes: which rows have a word, and how often.
//!
//! # In the Base
//!
//! Rows are taken together whose keys differ in their last two bytes only: 65,536 at most, a *block*.
//! An entry's key is a word's sort key followed by what the rows of a block have in common, its value
//! is which of them have the word. So a common word takes a bit or two bytes for each row and can be
//! read as fast as memory is, and a rare one an entry for each row.
//!
//! ```text
//! key      the word's sort key; 1; all of the row's key but its last two bytes
//!          (with the 1 in front, a key of one byte has two as well)
//! value    which rows; then, if any has the word more than once, which ones do, and for each of
//!          these how often
//! rows     00 and how many, 2 bytes, and the last two bytes of each, ascending; or 01 and a bit for
//!          each of the 65,536
//! often    7 bits to a byte, the lowest first; the high bit says that more follow
//! ```
//! Numbers are little endian.
//!
//! # In the delta
//!
//! A row that was changed has all its words under its own key, packed (`types/fulltext/words.rs`),
//! or nothing if it is gone. That hides whatever the Base has of the row. A commit so puts one entry
//! for a row of two hundred words, and a search looks into each row that was changed since the last
//! checkpoint. The checkpoint compares them with the words that the row has in the Base, of which it
//! takes the image apart again.

use super::{
    StoreError,
    base::{BaseSnapshot, TreeWriter},
    delta::DeltaItem,
};
use crate::types::{
    FullText, Table, TreeId,
    fulltext::{Tokenizer, Words, WordsBuilder},
    row,
};
use roaring::{RoaringBitmap, RoaringTreemap};
use rustc_hash::FxHashMap;
use std::{collections::BTreeMap, sync::Arc};

/// A block's rows have a list up to this many, which then takes as much as bits.
const LISTED_MAX: usize = 4096;
/// The bits of a block.
const BITS_BYTES: usize = 8192;
/// Changes of so many words are gathered before they are written.
const GATHERED_MAX: usize = if cfg!(test) { 50 } else { 2_000_000 };

/// A row in its block: the last two bytes of its key, and how often it has the word.
type InBlock = (u16, u32);

fn damaged(what: &str) -> StoreError {
    StoreError::Io(format!("a damaged entry of a FULLTEXT index: {what}"))
}

/// What the key of a row's block is, behind the word, and its place there.
fn split_key(row_key: &[u8]) -> Result<(Vec<u8>, u16), StoreError> {
    let mut key = Vec::with_capacity(row_key.len() + 1);
    key.push(1);
    key.extend_from_slice(row_key);
    let (block, place) = key
        .split_last_chunk::<2>()
        .ok_or_else(|| damaged("no key"))?;
    Ok((block.to_vec(), u16::from_be_bytes(*place)))
}

/// The key of a row in a block.
fn join_key(block: &[u8], place: u16) -> Vec<u8> {
    let mut key = block.to_vec();
    key.extend_from_slice(&place.to_be_bytes());
    key.remove(0);
    key
}

fn push_rows(rows: impl ExactSizeIterator<Item = u16>, value: &mut Vec<u8>) {
    if rows.len() <= LISTED_MAX {
        value.push(0);
        value.extend_from_slice(&(rows.len() as u16).to_le_bytes());
        rows.for_each(|row| value.extend_from_slice(&row.to_le_bytes()));
        return;
    }
    value.push(1);
    let start = value.len();
    value.resize(start + BITS_BYTES, 0);
    for row in rows {
        value[start + usize::from(row / 8)] |= 1 << (row % 8);
    }
}

/// The value of a block.
fn encode(rows: &[InBlock]) -> Vec<u8> {
    let mut value = Vec::with_capacity(rows.len().min(LISTED_MAX) * 2 + 8);
    push_rows(rows.iter().map(|(row, _)| *row), &mut value);
    let often: Vec<InBlock> = rows
        .iter()
        .filter(|(_, count)| *count > 1)
        .copied()
        .collect();
    if !often.is_empty() {
        push_rows(often.iter().map(|(row, _)| *row), &mut value);
        for (_, mut count) in often {
            while count >= 0x80 {
                value.push(count as u8 | 0x80);
                count >>= 7;
            }
            value.push(count as u8);
        }
    }
    value
}

/// Which rows of a block, as they stand in a value.
#[derive(Clone, Copy)]
enum Rows<'v> {
    List(&'v [u8]),
    Bits(&'v [u8]),
}

impl<'v> Rows<'v> {
    fn take(value: &mut &'v [u8]) -> Option<Rows<'v>> {
        let (kind, rest) = value.split_first()?;
        let (rows, rest) = match kind {
            0 => {
                let (count, rest) = rest.split_first_chunk::<2>()?;
                let (list, rest) =
                    rest.split_at_checked(usize::from(u16::from_le_bytes(*count)) * 2)?;
                (Rows::List(list), rest)
            }
            1 => {
                let (bits, rest) = rest.split_at_checked(BITS_BYTES)?;
                (Rows::Bits(bits), rest)
            }
            _ => return None,
        };
        *value = rest;
        Some(rows)
    }
    /// How many.
    fn count(self) -> u64 {
        match self {
            Rows::List(list) => list.len() as u64 / 2,
            Rows::Bits(bits) => bits.iter().map(|byte| u64::from(byte.count_ones())).sum(),
        }
    }
    fn each(self, mut each: impl FnMut(u16)) {
        match self {
            Rows::List(list) => {
                for row in list.chunks_exact(2) {
                    each(u16::from_le_bytes([row[0], row[1]]));
                }
            }
            Rows::Bits(bits) => {
                for (at, word) in (0_u16..).zip(bits.chunks_exact(8)) {
                    let mut left = word
                        .iter()
                        .rev()
                        .fold(0, |all, byte| all << 8 | u64::from(*byte));
                    while left != 0 {
                        each(at * 64 + left.trailing_zeros() as u16);
                        left &= left - 1;
                    }
                }
            }
        }
    }
}

fn take_count(value: &mut &[u8]) -> Option<u32> {
    let (mut count, mut shift) = (0_u32, 0);
    loop {
        let (byte, rest) = value.split_first()?;
        *value = rest;
        count |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(count);
        }
        shift += 7;
    }
}

/// The rows of a block with how often each has the word.
fn decode(mut value: &[u8]) -> Result<Vec<InBlock>, StoreError> {
    let wrong = || damaged("its rows");
    let rows = Rows::take(&mut value).ok_or_else(wrong)?;
    let mut decoded = Vec::new();
    rows.each(|row| decoded.push((row, 1)));
    if value.is_empty() {
        return Ok(decoded);
    }
    let often = Rows::take(&mut value).ok_or_else(wrong)?;
    let mut at = 0;
    let mut sound = true;
    often.each(|row| {
        let later = decoded.get(at..).unwrap_or_default();
        at += later.partition_point(|(other, _)| *other < row);
        match (decoded.get_mut(at), take_count(&mut value)) {
            (Some((other, count)), Some(often)) if *other == row => *count = often,
            _ => sound = false,
        }
    });
    if sound { Ok(decoded) } else { Err(wrong()) }
}

/// Changes of which rows have which words, to be written into the Base's tree.
#[derive(Default)]
pub struct WordChanges {
    /// The rows' keys, ascending: block and place.
    rows: Vec<(Arc<[u8]>, u16)>,
    /// Of each word the rows by their positions, and how often they have it now; 0: no more.
    words: FxHashMap<Box<[u8]>, Vec<(u32, u32)>>,
    gathered: usize,
}

impl WordChanges {
    /// The next changes are of the row with this key, which is above the ones before.
    pub fn row(&mut self, row_key: &[u8]) -> Result<(), StoreError> {
        let (block, place) = split_key(row_key)?;
        let block = match self.rows.last() {
            Some((last, _)) if **last == *block => Arc::clone(last),
            _ => Arc::from(block),
        };
        self.rows.push((block, place));
        Ok(())
    }
    /// That row has a word so often now.
    pub fn word(&mut self, word: &[u8], count: u32) {
        let row = self.rows.len().saturating_sub(1) as u32;
        self.gathered += 1;
        match self.words.get_mut(word) {
            Some(rows) => rows.push((row, count)),
            None => {
                self.words.insert(word.into(), vec![(row, count)]);
            }
        }
    }
    /// Whether it is time to write them.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.gathered >= GATHERED_MAX
    }
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
    /// Writes them, and forgets them.
    pub fn write(&mut self, tree: &mut TreeWriter<'_>) -> Result<(), StoreError> {
        let mut words: Vec<_> = std::mem::take(&mut self.words).into_iter().collect();
        words.sort_unstable();
        self.gathered = 0;
        let rows = std::mem::take(&mut self.rows);
        let mut blocks = Vec::new();
        for (word, changes) in words {
            let placed = changes.into_iter().map(|(row, count)| {
                let (block, place) = at(&rows, row)?;
                Ok((block, place, count))
            });
            let mut placed = placed.collect::<Result<Vec<_>, StoreError>>()?;
            // The rows of a block stand together only if all keys are equally long: of `a`, `ab` and
            // `b` the first and the last are in one.
            if !placed.is_sorted() {
                placed.sort_unstable();
            }
            for of_block in placed.chunk_by(|(a, ..), (b, ..)| a == b) {
                let Some((block, ..)) = of_block.first() else {
                    continue;
                };
                let mut key = Vec::with_capacity(word.len() + block.len());
                key.extend_from_slice(&word);
                key.extend_from_slice(block);
                let of_block = of_block.iter().map(|(_, place, count)| (*place, *count));
                blocks.push((key, of_block.collect::<Vec<InBlock>>()));
            }
        }
        let Some((first, _)) = blocks.first() else {
            return Ok(());
        };
        if tree.is_below(first)? {
            let new = blocks.into_iter().filter_map(|(key, changes)| {
                let rows: Vec<InBlock> = changes
                    .into_iter()
                    .filter(|(_, count)| *count > 0)
                    .collect();
                (!rows.is_empty()).then(|| (key, encode(&rows)))
            });
            return tree.append(new, |(key, value)| (key.as_slice(), value.as_slice()));
        }
        for (key, changes) in blocks {
            let before = match tree.get(&key, decode)? {
                Some(before) => before?,
                None => Vec::new(),
            };
            let after = changed(before, changes);
            match after.is_empty() {
                true => tree.remove(&key)?,
                false => tree.put(&key, &encode(&after))?,
            }
        }
        Ok(())
    }
}

fn at(rows: &[(Arc<[u8]>, u16)], row: u32) -> Result<(&[u8], u16), StoreError> {
    let found = rows.get(row as usize);
    let (block, place) = found.ok_or_else(|| damaged("a change of no row"))?;
    Ok((block, *place))
}

/// A block's rows after changes, both ascending.
fn changed(before: Vec<InBlock>, changes: Vec<InBlock>) -> Vec<InBlock> {
    let mut after = Vec::with_capacity(before.len() + changes.len());
    let mut before = before.into_iter().peekable();
    for (row, count) in changes {
        while let Some(other) = before.next_if(|(other, _)| *other < row) {
            after.push(other);
        }
        before.next_if(|(other, _)| *other == row);
        if count > 0 {
            after.push((row, count));
        }
    }
    after.extend(before);
    after
}

/// A tree of a FULLTEXT index that a delta is merged into.
pub struct TextTree {
    /// The table.
    pub table: Arc<Table>,
    /// The index.
    pub text: FullText,
}

impl TextTree {
    /// Merges what rows have now, as of `before`, which is the Base before the merge.
    pub(super) fn merge<'a>(
        &self,
        items: impl Iterator<Item = DeltaItem<'a>>,
        before: &BaseSnapshot,
        mut tree: TreeWriter<'_>,
    ) -> Result<(), StoreError> {
        let mut changes = WordChanges::default();
        let mut builder = WordsBuilder::default();
        let none = WordsBuilder::default().pack();
        for item in items {
            let row_key = item.key().key();
            builder.clear();
            let read = before.get(self.table.rows, row_key, |image| {
                row::words(&self.table, &self.text, image, &mut builder)
            })?;
            if read.is_some_and(|read| read.is_err()) {
                return Err(damaged("a row that does not fit its table"));
            }
            let now = Words::new(item.value.as_deref().unwrap_or(&none));
            let now = now.ok_or_else(|| damaged("the words of a row"))?;
            changes.row(row_key)?;
            differences(&builder.counted(), now, |word, count| {
                changes.word(word, count)
            });
            if changes.is_large() {
                changes.write(&mut tree)?;
            }
        }
        changes.write(&mut tree)
    }
}

/// The words that a row has no more, has now, or has so often now.
fn differences(before: &[(&[u8], u32)], now: Words<'_>, mut each: impl FnMut(&[u8], u32)) {
    let mut before = before.iter().copied().peekable();
    for (word, count) in now.iter() {
        while let Some((gone, _)) = before.next_if(|(other, _)| *other < word) {
            each(gone, 0);
        }
        let same = before.next_if(|(other, _)| *other == word);
        if same.is_none_or(|(_, often)| often != count) {
            each(word, count);
        }
    }
    for (gone, _) in before {
        each(gone, 0);
    }
}

/// Numbers for the rows of one search: the number of a block and a place in it.
#[derive(Debug, Default)]
pub struct Numbering {
    blocks: Vec<Box<[u8]>>,
    numbers: FxHashMap<Box<[u8]>, u32>,
}

impl Numbering {
    fn block(&mut self, block: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(block) {
            return *number;
        }
        let number = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
        self.blocks.push(block.into());
        self.numbers.insert(block.into(), number);
        number
    }
    /// The number of the row with this key, a new one if need be.
    fn number(&mut self, row_key: &[u8]) -> Result<u64, StoreError> {
        let (block, place) = split_key(row_key)?;
        Ok(u64::from(self.block(&block)) << 16 | u64::from(place))
    }
    /// The number of the row with this key; `None`: no word that was looked for is in a row near it.
    #[must_use]
    pub fn of(&self, row_key: &[u8]) -> Option<u64> {
        let (block, place) = split_key(row_key).ok()?;
        let number = self.numbers.get(&*block)?;
        Some(u64::from(*number) << 16 | u64::from(place))
    }
    /// The place of each block in the order of keys.
    #[must_use]
    pub fn order(&self) -> Vec<u32> {
        let mut sorted: Vec<usize> = (0..self.blocks.len()).collect();
        sorted.sort_by_key(|block| &self.blocks[*block]);
        let mut places = vec![0; sorted.len()];
        for (place, block) in (0..).zip(sorted) {
            places[block] = place;
        }
        places
    }
    /// The key of the row with this number.
    #[must_use]
    pub fn key(&self, number: u64) -> Option<Vec<u8>> {
        let block = self.blocks.get(usize::try_from(number >> 16).ok()?)?;
        Some(join_key(block, number as u16))
    }
}

/// A word that is looked for, or how words begin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// Its sort key, or what those of the words begin with.
    pub key: Vec<u8>,
    /// Any word that begins so.
    pub is_beginning: bool,
}

/// The rows that have a word.
#[derive(Debug, Default)]
pub struct Postings {
    /// The rows, by their numbers.
    pub rows: RoaringTreemap,
    /// How often the rows have it that have it more than once. Of words that begin so, the first
    /// one that a row has counts, and each row is here.
    pub often: FxHashMap<u64, u32>,
    /// How many rows have it; those that have several words that begin so count for each.
    pub count: u64,
}

impl Postings {
    /// The rows of a term as the Base has them. `counts`: how often they have it is wanted, too.
    pub fn read(
        term: &Term,
        base: &BaseSnapshot,
        (tree, tokenizer): (TreeId, &Tokenizer),
        numbering: &mut Numbering,
        counts: bool,
    ) -> Result<Postings, StoreError> {
        let mut found = Postings::default();
        let mut high = term.key.clone();
        let has_end = high.iter().rposition(|byte| *byte != 0xff);
        let high = has_end.map(|last| {
            high.truncate(last + 1);
            high[last] += 1;
            high
        });
        // Rows that a list has, and those that bits have, by the upper half of their numbers.
        let mut listed: Vec<u64> = Vec::new();
        let mut dense: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
        let mut range = base.range(tree, &term.key, high.as_deref())?;
        while let Some(item) = range.next(false)? {
            let key = item.key();
            let length = match term.is_beginning {
                false => Some(term.key.len()),
                true => tokenizer.key_length(key),
            };
            let block = length.and_then(|length| key.get(length..));
            let block = numbering.block(block.ok_or_else(|| damaged("its key"))?);
            let first = u64::from(block) << 16;
            let mut value = item.value();
            let rows = Rows::take(&mut value).ok_or_else(|| damaged("its rows"))?;
            found.count += rows.count();
            if counts && (term.is_beginning || !value.is_empty()) {
                for (row, count) in decode(item.value())? {
                    let number = first | u64::from(row);
                    if term.is_beginning {
                        found.often.entry(number).or_insert(count);
                    } else if count > 1 {
                        found.often.insert(number, count);
                    }
                }
            }
            match rows {
                Rows::List(_) => rows.each(|row| listed.push(first | u64::from(row))),
                Rows::Bits(bits) => {
                    let bits = RoaringBitmap::from_lsb0_bytes(block << 16, bits);
                    *dense.entry(block >> 16).or_default() |= bits;
                }
            }
        }
        listed.sort_unstable();
        listed.dedup();
        let listed = RoaringTreemap::from_sorted_iter(listed);
        found.rows = listed.map_err(|_| damaged("its rows"))?;
        found.rows |= RoaringTreemap::from_bitmaps(dense);
        Ok(found)
    }
    /// The row with this number has other words than in the Base: these, or none that is found.
    fn change(&mut self, number: u64, term: &Term, words: Option<Words<'_>>, counts: bool) {
        if self.rows.remove(number) {
            self.often.remove(&number);
            self.count = self.count.saturating_sub(1);
        }
        let Some(words) = words else { return };
        let found = words
            .from_key(&term.key)
            .take_while(|(word, _)| match term.is_beginning {
                true => word.starts_with(&term.key),
                false => **word == *term.key,
            });
        for (place, (_, count)) in found.enumerate() {
            self.count += 1;
            if place == 0 {
                self.rows.insert(number);
                if counts && (count > 1 || term.is_beginning) {
                    self.often.insert(number, count);
                }
            }
        }
    }
}

/// The words of a row that a search finds by now, in place of those that the Base has.
pub fn change_row(
    found: &mut [Postings],
    terms: &[Term],
    numbering: &mut Numbering,
    (row_key, packed): (&[u8], Option<&[u8]>),
    counts: bool,
) -> Result<(), StoreError> {
    let words =
        packed.map(|packed| Words::new(packed).ok_or_else(|| damaged("the words of a row")));
    let words = words.transpose()?;
    let number = numbering.number(row_key)?;
    for (postings, term) in found.iter_mut().zip(terms) {
        postings.change(number, term, words, counts);
    }
    Ok(())
}

/// Gives every entry of a tree of the Base to `each`: the word's key, the row's, and how often the row
/// has the word.
pub fn each_entry<E: From<StoreError>>(
    base: &BaseSnapshot,
    (tree, tokenizer): (TreeId, &Tokenizer),
    mut each: impl FnMut(&[u8], &[u8], u32) -> Result<(), E>,
) -> Result<(), E> {
    let mut range = base.range(tree, &[], None)?;
    while let Some(item) = range.next(false)? {
        let length = tokenizer.key_length(item.key());
        let parts = length.and_then(|length| item.key().split_at_checked(length));
        let (word, block) = parts.ok_or_else(|| damaged("its key"))?;
        for (row, count) in decode(item.value())? {
            each(word, &join_key(block, row), count)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{env::fake::Disk, store::base::Base, types::Collation};
    use std::path::Path;

    fn random(seed: &mut u64, below: u64) -> u64 {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % below
    }

    #[test]
    fn blocks_come_back() {
        let mut seed = 1;
        for round in 0..60 {
            // Few, some, and so many that they are bits.
            let every = [40_000, 60, 5][round % 3];
            let mut rows = Vec::new();
            let mut row = 0;
            loop {
                row += 1 + random(&mut seed, every);
                let Ok(place) = u16::try_from(row) else { break };
                let count =
                    [1, 1, 2, 300][random(&mut seed, if round % 2 == 0 { 1 } else { 4 }) as usize];
                rows.push((place, count));
            }
            let value = encode(&rows);
            assert_eq!(decode(&value).unwrap(), rows);
            for end in (0..value.len()).step_by(1 + value.len() / 50) {
                let cut = decode(&value[..end]);
                assert!(cut.is_err() || cut.unwrap().len() == rows.len());
            }
            let taken = Rows::take(&mut value.as_slice()).unwrap();
            assert_eq!(taken.count(), rows.len() as u64);
        }
    }

    #[test]
    fn rows_of_a_block_need_not_stand_together() {
        let base = Base::create(&Disk::new(1).env(), Path::new("/base"), 1 << 20).unwrap();
        let mut model: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        let mut seed = 3;
        for _ in 0..30 {
            let mut keys: Vec<Vec<u8>> = Vec::new();
            for _ in 0..random(&mut seed, 40) {
                let length = 1 + random(&mut seed, 4);
                let key = (0..length).map(|_| b'a' + random(&mut seed, 3) as u8);
                keys.push(key.collect());
            }
            keys.sort();
            keys.dedup();
            let mut changes = WordChanges::default();
            for key in keys {
                let count = random(&mut seed, 3) as u32;
                changes.row(&key).unwrap();
                changes.word(b"word\0", count);
                match count {
                    0 => model.remove(&key),
                    count => model.insert(key, count),
                };
            }
            let write = base.write().unwrap();
            changes.write(&mut write.tree(7).unwrap()).unwrap();
            write.commit().unwrap();
            let parser = crate::types::fulltext::Parser::Words { min: 1, max: 9 };
            let tokenizer = Tokenizer::new(parser, Collation::Utf8mb40900Bin, None);
            let mut found = BTreeMap::new();
            let snapshot = base.snapshot().unwrap();
            each_entry::<StoreError>(&snapshot, (7, &tokenizer), |_, key, count| {
                found.insert(key.to_vec(), count);
                Ok(())
            })
            .unwrap();
            assert_eq!(found, model);
        }
    }

    #[test]
    fn keys_of_any_length_have_a_block() {
        for key in [&b"a"[..], b"ab", b"abc", b"\x80\0\0\x01", b"\0"] {
            let (block, place) = split_key(key).unwrap();
            assert_eq!(join_key(&block, place), key);
            let mut numbering = Numbering::default();
            assert_eq!(numbering.of(key), None);
            let number = numbering.number(key).unwrap();
            assert_eq!(numbering.of(key), Some(number));
            assert_eq!(numbering.key(number).as_deref(), Some(key));
        }
        assert!(split_key(b"").is_err());
    }
}
