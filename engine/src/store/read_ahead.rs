//! Reading ahead for a merge: the pages it is about to change are brought into memory by several
//! threads at once. Alone it would wait for the disk at each of them, one after the other.

use super::{
    Delta, TreeKey,
    base::{BaseSnapshot, PAGE},
    delta::DeltaItem,
    file::read_by_this_thread,
};
use crate::env::with_readers;
use parking_lot::{Condvar, Mutex};
use std::{collections::VecDeque, iter::Fuse};

/// So many threads read. They mostly wait for the disk; where the system has the pages in its cache they
/// do not, and more of them would take the processors from the statements.
const READERS: usize = 3;
/// Their pages are so many bytes at most, and ...
const AHEAD_BYTES: usize = 8 << 20;
/// ... this part of the memory for pages: half of it may hold what was changed.
const AHEAD_OF_MEMORY: usize = 4;
/// Fewer keys are not worth the threads.
const WORTH_IT: i64 = 1024;
/// So many keys a thread takes at a time.
const CHUNK: usize = 32;

/// The keys whose pages are to be read.
struct Wanted {
    /// So many chunks they are behind at most.
    chunks_max: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<Vec<TreeKey>>,
    is_over: bool,
}

impl Wanted {
    fn add(&self, chunks: impl Iterator<Item = Vec<TreeKey>>) {
        let mut state = self.state.lock();
        state.chunks.extend(chunks);
        // Who merges has come further than these.
        let late = state.chunks.len().saturating_sub(self.chunks_max);
        state.chunks.drain(..late);
        self.changed.notify_all();
    }
    fn next(&self) -> Option<Vec<TreeKey>> {
        let mut state = self.state.lock();
        while state.chunks.is_empty() && !state.is_over {
            self.changed.wait(&mut state);
        }
        if state.is_over {
            return None;
        }
        state.chunks.pop_front()
    }
    /// Reads until it is over, and returns how many bytes came from the disk. What fails is met
    /// again by who merges, and told there.
    fn read(&self, base: &BaseSnapshot) -> u64 {
        let before = read_by_this_thread();
        while let Some(keys) = self.next() {
            for key in keys {
                let _ = base.get(key.tree(), key.key(), |_| ());
            }
        }
        read_by_this_thread() - before
    }
}

/// Ends the reading, also when merging panics.
struct Over<'w>(&'w Wanted);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

/// The items of a delta, whose pages are read while those before them are merged.
struct Ahead<'w, I: Iterator> {
    items: Fuse<I>,
    taken: VecDeque<I::Item>,
    /// How many bytes the pages of those that were taken are, about, and may be.
    bytes: usize,
    bytes_max: usize,
    wanted: &'w Wanted,
}

/// How many bytes the page of an item has at least. redb gives what is larger a page of its own.
fn page_bytes(item: &DeltaItem<'_>) -> usize {
    let value = item.value.as_ref().map_or(0, |value| value.len());
    value.next_power_of_two().max(PAGE)
}

impl<'a, I: Iterator<Item = DeltaItem<'a>>> Iterator for Ahead<'_, I> {
    type Item = DeltaItem<'a>;
    fn next(&mut self) -> Option<DeltaItem<'a>> {
        if self.bytes <= self.bytes_max / 2 {
            let known = self.taken.len();
            while self.bytes < self.bytes_max
                && let Some(item) = self.items.next()
            {
                self.bytes += page_bytes(&item);
                self.taken.push_back(item);
            }
            let keys: Vec<_> = self
                .taken
                .range(known..)
                .map(|item| item.key().clone())
                .collect();
            if !keys.is_empty() {
                self.wanted.add(keys.chunks(CHUNK).map(<[TreeKey]>::to_vec));
            }
        }
        let item = self.taken.pop_front()?;
        self.bytes -= page_bytes(&item);
        Some(item)
    }
}

/// Has `merge` take the newest items of a delta, with their pages of `base` read ahead where that is
/// worth it. Returns what came of it, and how many bytes came from the disk.
pub(super) fn with_read_ahead<'a, R>(
    delta: &'a Delta,
    base: &BaseSnapshot,
    merge: impl FnOnce(&mut dyn Iterator<Item = DeltaItem<'a>>) -> R,
) -> (R, u64) {
    let before = read_by_this_thread();
    let mut items = delta.newest();
    if base.fits_memory() || delta.versions() < WORTH_IT {
        let merged = merge(&mut items);
        return (merged, read_by_this_thread() - before);
    }
    let bytes_max = (base.memory_bytes() / AHEAD_OF_MEMORY).min(AHEAD_BYTES);
    let wanted = Wanted {
        chunks_max: (bytes_max / PAGE).div_ceil(CHUNK),
        state: Mutex::default(),
        changed: Condvar::new(),
    };
    let merged = || {
        let _over = Over(&wanted);
        let mut ahead = Ahead {
            items: items.fuse(),
            taken: VecDeque::new(),
            bytes: 0,
            bytes_max,
            wanted: &wanted,
        };
        merge(&mut ahead)
    };
    let (others, merged) = with_readers(READERS, || wanted.read(base), merged);
    let own = read_by_this_thread() - before;
    (merged, own + others.into_iter().sum::<u64>())
}
