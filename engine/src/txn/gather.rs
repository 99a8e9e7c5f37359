//! The entries of indexes, gathered from the rows of a large table by several threads.
//!
//! The rows are cut into parts. The session's thread and its helpers take one part after the other, and each
//! sorts what it finds in chunks of its own, which become runs in a file for each index. Each helper has a slot
//! that nobody needed; when somebody does, it leaves the rest of its part to others and ends.

use super::{
    TxnError,
    entry::Entry,
    runs::{Chunk, Runs, Sorted},
    site::{CHUNK_BYTES, KILL_CHECK, Rows},
    statistics::evenly_spread,
    waiting::Lent,
};
use crate::{
    env::with_helpers,
    store::{KeyRange, base::BaseSnapshot},
    types::{Index, Table, TreeId},
};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

/// A table with fewer rows is read by one thread.
const ROWS_MIN: u64 = if cfg!(test) { 100 } else { 20_000 };
/// A part has so many rows, about.
const PART_ROWS: u64 = if cfg!(test) { 20 } else { 4_096 };
const PARTS_MAX: u64 = 4_096;

/// The stack of a helper, in bytes.
const STACK: usize = 2 << 20;

/// Gathers the entries of these indexes if there are helpers, with each index's in the same place. `None`: the
/// table is small, or nobody helps.
pub(super) fn gather(
    rows: &Rows<'_>,
    (table, indexes): (&Table, &[&Index]),
) -> Result<Option<Vec<Runs>>, TxnError> {
    let site = rows.site;
    let count = rows.snapshot.tree_len(rows.tree)?;
    if count < ROWS_MIN {
        return Ok(None);
    }
    let slots = Mutex::new(site.helpers());
    let helpers = slots.lock().len();
    if helpers == 0 {
        return Ok(None);
    }
    let mut runs = Vec::with_capacity(indexes.len());
    for _ in indexes {
        runs.push(Mutex::new(Runs::new(site.temporary_file()?)));
    }
    let gathering = Gathering {
        table,
        indexes,
        snapshot: rows.snapshot,
        tree: rows.tree,
        left: Mutex::new(parts(rows, count)?),
        runs,
        chunk_bytes: CHUNK_BYTES / (helpers + 1),
        done: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    let goes_on = || {
        site.check(gathering.done.swap(0, Relaxed))?;
        Ok(!gathering.is_over.load(Relaxed))
    };
    let own = || gathering.work(&goes_on);
    let help = || {
        // Not held while it helps.
        let slot = slots.lock().pop();
        slot.map_or(Ok(()), |slot| gathering.help(&*slot))
    };
    let (helped, mut worked) = with_helpers((helpers, STACK), help, own);
    helped.into_iter().collect::<Result<(), _>>()?;
    // What a helper has left when this thread had nothing more to do.
    while worked.is_ok() && !gathering.left.lock().is_empty() {
        worked = own();
    }
    worked?;
    let runs = gathering.runs.into_iter().map(Mutex::into_inner);
    Ok(Some(runs.collect()))
}

/// Parts of the rows, in order: as large as one another where keys, taken for numbers, are evenly spread.
fn parts(rows: &Rows<'_>, count: u64) -> Result<VecDeque<KeyRange>, TxnError> {
    let mut range = rows.snapshot.range(rows.tree, &[], None)?;
    let (first, last) = (range.next(false)?, range.next(true)?);
    let mut low = Vec::new();
    let mut parts = VecDeque::new();
    if let (Some(first), Some(last)) = (first, last) {
        let wanted = (count / PART_ROWS).clamp(1, PARTS_MAX);
        let wanted = usize::try_from(wanted).unwrap_or(1);
        for place in evenly_spread(first.key(), last.key(), wanted) {
            if place > low {
                parts.push_back(KeyRange {
                    low: std::mem::replace(&mut low, place.clone()),
                    high: Some(place),
                });
            }
        }
    }
    parts.push_back(KeyRange { low, high: None });
    Ok(parts)
}

struct Gathering<'g> {
    table: &'g Table,
    indexes: &'g [&'g Index],
    snapshot: &'g BaseSnapshot,
    /// The rows'.
    tree: TreeId,
    /// What is left of the rows.
    left: Mutex<VecDeque<KeyRange>>,
    runs: Vec<Mutex<Runs>>,
    /// A thread's chunk of one index is as large.
    chunk_bytes: usize,
    /// So many rows are done that the site was not told of.
    done: AtomicU64,
    /// Somebody has failed: the others end.
    is_over: AtomicBool,
}

impl Gathering<'_> {
    fn help(&self, slot: &dyn Lent) -> Result<(), TxnError> {
        self.work(&|| Ok(!self.is_over.load(Relaxed) && !slot.is_wanted()))
    }
    /// Does one part after the other, as long as it should go on.
    fn work(&self, goes_on: &dyn Fn() -> Result<bool, TxnError>) -> Result<(), TxnError> {
        let worked = self.parts(goes_on);
        if worked.is_err() {
            self.is_over.store(true, Relaxed);
        }
        worked
    }
    fn parts(&self, goes_on: &dyn Fn() -> Result<bool, TxnError>) -> Result<(), TxnError> {
        let mut chunks: Vec<Chunk> = self.indexes.iter().map(|_| Chunk::default()).collect();
        loop {
            // Not held while the part is read.
            let part = self.left.lock().pop_front();
            let Some(part) = part else { break };
            if let Some(rest) = self.part(part, &mut chunks, goes_on)? {
                self.left.lock().push_front(rest);
                break;
            }
        }
        let chunks = chunks.iter_mut().zip(&self.runs);
        let mut rests = chunks.filter(|(chunk, _)| !chunk.is_empty());
        rests.try_for_each(|(chunk, runs)| add(chunk, runs))
    }
    /// Does one part; returns what is left of it.
    fn part(
        &self,
        part: KeyRange,
        chunks: &mut [Chunk],
        goes_on: &dyn Fn() -> Result<bool, TxnError>,
    ) -> Result<Option<KeyRange>, TxnError> {
        let mut range = self
            .snapshot
            .range(self.tree, &part.low, part.high.as_deref())?;
        loop {
            let (mut taken, mut before_check) = (Ok(()), KILL_CHECK);
            let item = range.next_not_taken(false, |key, image| {
                before_check -= 1;
                if before_check > 0 {
                    taken = self.row(key, image, chunks);
                }
                before_check > 0 && taken.is_ok()
            })?;
            taken?;
            self.done.fetch_add(KILL_CHECK - before_check, Relaxed);
            let Some(item) = item else { return Ok(None) };
            self.row(item.key(), item.value(), chunks)?;
            if !goes_on()? {
                let mut low = item.key().to_vec();
                low.push(0);
                return Ok(Some(KeyRange { low, ..part }));
            }
        }
    }
    fn row(&self, key: &[u8], image: &[u8], chunks: &mut [Chunk]) -> Result<(), TxnError> {
        for ((index, runs), chunk) in self.indexes.iter().zip(&self.runs).zip(chunks) {
            entries_of(self.table, index, (key, image), |entry| chunk.push(entry))?;
            if chunk.memory() >= self.chunk_bytes {
                add(chunk, runs)?;
            }
        }
        Ok(())
    }
}

/// Makes a run of a chunk.
fn add(chunk: &mut Chunk, runs: &Mutex<Runs>) -> Result<(), TxnError> {
    chunk.sort();
    runs.lock().add(chunk)?;
    chunk.clear();
    Ok(())
}

/// Gives what a row has in an index to `each`.
pub(super) fn entries_of(
    table: &Table,
    index: &Index,
    (key, image): (&[u8], &[u8]),
    mut each: impl FnMut(Sorted<'_>) -> Result<(), TxnError>,
) -> Result<(), TxnError> {
    let entries = Entry::derive(table, index, image, key)?;
    entries.iter().try_for_each(|entry| {
        let unique = if entry.unique { entry.parts } else { 0 };
        each(Sorted {
            key: &entry.key,
            value: &[],
            unique: entry.key.get(..unique).unwrap_or_default(),
        })
    })
}
