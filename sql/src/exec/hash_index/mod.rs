//! Where the rows of a hash table are, by their keys: in memory, and, beyond what may be kept there, in a
//! temporary file, sorted by the hashes of the keys.

mod in_file;
mod in_memory;

use super::{ExecContext, Stop, memory};
use in_file::{InFile, Sorting};
use in_memory::InMemory;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// A row takes at least so many bytes.
const BYTES_MIN: usize = 32;

/// A hash table that rows are added to.
pub(super) struct Making {
    /// What it may take in memory.
    bytes_max: usize,
    held: InMemory,
    /// So many rows were added.
    rows: usize,
    /// Where the keys go for which there is no room.
    sorting: Option<Sorting>,
}

impl Making {
    /// One that so many rows are known to come to, if any are.
    pub fn new(rows: usize, context: &ExecContext) -> Making {
        let bytes_max = memory::of_keys(context);
        Making {
            bytes_max,
            held: InMemory::for_rows(rows.min(bytes_max / BYTES_MIN)),
            rows: 0,
            sorting: None,
        }
    }

    /// Adds the next row, with its key; one without a key is not found.
    pub fn push(&mut self, key: Option<&[u8]>, context: &mut ExecContext) -> Result<(), Stop> {
        let place = self.rows;
        self.rows += 1;
        let Some(key) = key else {
            if self.sorting.is_none() {
                self.held.push_none();
            }
            return Ok(());
        };
        if self.sorting.is_none() && self.held.bytes() > self.bytes_max {
            let mut sorting = Sorting::new(context)?;
            std::mem::take(&mut self.held).each(|place, key| sorting.push(place, key, context))?;
            self.sorting = Some(sorting);
        }
        match &mut self.sorting {
            Some(sorting) => sorting.push(place, key, context),
            None => {
                self.held.push(key);
                Ok(())
            }
        }
    }

    /// Ends the adding.
    pub fn finish(self, context: &mut ExecContext) -> Result<HashIndex, Stop> {
        Ok(match self.sorting {
            None => HashIndex::InMemory(self.held),
            Some(sorting) => HashIndex::InFile(sorting.finish(context)?),
        })
    }
}

/// The places of rows by their keys.
pub(super) enum HashIndex {
    InMemory(InMemory),
    InFile(InFile),
}

impl Default for HashIndex {
    fn default() -> HashIndex {
        HashIndex::InMemory(InMemory::default())
    }
}

impl HashIndex {
    /// The places of the rows with this key, in their order.
    pub fn places<'i>(&'i self, key: &'i [u8]) -> Places<'i> {
        match self {
            HashIndex::InMemory(index) => Places::InMemory(index.places(key)),
            HashIndex::InFile(index) => Places::InFile(index.places(key)),
        }
    }

    /// Whether a row has this key.
    pub fn contains(&self, key: &[u8]) -> Result<bool, Stop> {
        Ok(self.places(key).next()?.is_some())
    }

    /// Hands on the place of the first row with each key.
    pub fn each_first(&self, each: &mut dyn FnMut(usize) -> Result<(), Stop>) -> Result<(), Stop> {
        match self {
            HashIndex::InMemory(index) => index.firsts().try_for_each(each),
            HashIndex::InFile(index) => index.each_first(each),
        }
    }
}

/// Some places, one after the other.
pub(super) enum Places<'i> {
    InMemory(in_memory::Places<'i>),
    InFile(in_file::Places<'i>),
}

impl Places<'_> {
    /// The next one; `None`: that was all.
    pub fn next(&mut self) -> Result<Option<usize>, Stop> {
        match self {
            Places::InMemory(places) => Ok(places.next()),
            Places::InFile(places) => places.next(),
        }
    }
}

fn hash(key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.finish()
}
