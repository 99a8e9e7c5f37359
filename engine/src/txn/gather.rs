//! The entries of indexes, gathered from the rows of a large table by several threads.
//!
//! The rows are cut into parts. The session's thread and its helpers take one part after the other, and each
//! sorts what it finds in chunks of its own, which become runs in a file for each index. A part that has many
//! more rows than was thought is cut again. Each helper has a slot that nobody needed; when somebody does, it
//! leaves the rest of its part to others and ends.

use super::{
    TxnError,
    entry::Entry,
    runs::{Chunk, Runs, Sorted},
    site::{KILL_CHECK, Rows, chunk_bytes},
    statistics::evenly_spread,
    waiting::Lent,
};
use crate::{
    env::with_helpers,
    store::{KeyRange, base::BaseSnapshot},
    types::{Index, Table, TreeId},
};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// A table with fewer rows is read by one thread.
const ROWS_MIN: u64 = if cfg!(test) { 100 } else { 20_000 };
/// A part has so many rows, about. One that has so many times as many is cut, where it was read to, into so many.
const PART_ROWS: u64 = if cfg!(test) { 20 } else { 4_096 };
const PARTS_MAX: usize = 4_096;
const CUT_AT: u64 = 4;
const CUT_INTO: usize = 16;

/// So long who has no part waits until it looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(5);

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
    let runs = indexes.iter();
    let runs = runs.map(|_| Mutex::new(Runs::new(site.temporary_files())));
    let gathering = Gathering {
        table,
        indexes,
        snapshot: rows.snapshot,
        tree: rows.tree,
        left: Mutex::new(Left {
            parts: parts(rows, count)?,
            busy: 0,
        }),
        more: Condvar::new(),
        runs: runs.collect(),
        chunk_bytes: chunk_bytes((helpers + 1) * indexes.len()),
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
    let (helped, worked) = with_helpers((helpers, STACK), help, own);
    helped.into_iter().collect::<Result<(), _>>()?;
    worked?;
    let runs = gathering.runs.into_iter().map(Mutex::into_inner);
    Ok(Some(runs.collect()))
}

/// Parts of the rows, in order.
fn parts(rows: &Rows<'_>, count: u64) -> Result<VecDeque<KeyRange>, TxnError> {
    let wanted =
        usize::try_from(count / PART_ROWS).map_or(PARTS_MAX, |wanted| wanted.min(PARTS_MAX));
    let all = KeyRange {
        low: Vec::new(),
        high: None,
    };
    Ok(cut(rows.snapshot, rows.tree, all, wanted)?.into())
}

/// Cuts a range into so many, about: as large as one another where keys, taken for numbers, are evenly spread.
fn cut(
    snapshot: &BaseSnapshot,
    tree: TreeId,
    KeyRange { mut low, high }: KeyRange,
    wanted: usize,
) -> Result<Vec<KeyRange>, TxnError> {
    let mut range = snapshot.range(tree, &low, high.as_deref())?;
    let (first, last) = (range.next(false)?, range.next(true)?);
    let mut parts = Vec::new();
    if let (Some(first), Some(last)) = (first, last) {
        for place in evenly_spread(first.key(), last.key(), wanted) {
            if place > low {
                parts.push(KeyRange {
                    low: std::mem::replace(&mut low, place.clone()),
                    high: Some(place),
                });
            }
        }
    }
    parts.push(KeyRange { low, high });
    Ok(parts)
}

/// What is left of the rows.
struct Left {
    parts: VecDeque<KeyRange>,
    /// So many threads have a part, and may leave something of it.
    busy: usize,
}

/// Has a part, until it is dropped: those who wait for what is left of it then look again, also if the
/// thread has failed.
struct Busy<'g>(&'g Gathering<'g>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.left.lock().busy -= 1;
        self.0.more.notify_all();
    }
}

/// Why a part was left.
enum Rest {
    /// It has many rows.
    Large(KeyRange),
    /// The thread is wanted elsewhere.
    Wanted(KeyRange),
}

struct Gathering<'g> {
    table: &'g Table,
    indexes: &'g [&'g Index],
    snapshot: &'g BaseSnapshot,
    /// The rows'.
    tree: TreeId,
    left: Mutex<Left>,
    /// Parts have come back, or all is done.
    more: Condvar,
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
        while let Some((part, _busy)) = self.next_part(goes_on)? {
            let rest = self.part(part, &mut chunks, goes_on)?;
            let (rest, is_wanted) = match rest {
                None => (Vec::new(), false),
                Some(Rest::Large(rest)) => (cut(self.snapshot, self.tree, rest, CUT_INTO)?, false),
                Some(Rest::Wanted(rest)) => (vec![rest], true),
            };
            self.leave(rest);
            if is_wanted {
                break;
            }
        }
        for (chunk, runs) in chunks.iter_mut().zip(&self.runs) {
            if !chunk.is_empty() {
                chunk.sort();
                runs.lock().keep(chunk)?;
            }
        }
        Ok(())
    }
    /// Takes the next part. `None`: all is done, or the thread should not go on.
    fn next_part(
        &self,
        goes_on: &dyn Fn() -> Result<bool, TxnError>,
    ) -> Result<Option<(KeyRange, Busy<'_>)>, TxnError> {
        let mut left = self.left.lock();
        loop {
            if let Some(part) = left.parts.pop_front() {
                left.busy += 1;
                return Ok(Some((part, Busy(self))));
            }
            if left.busy == 0 {
                return Ok(None);
            }
            self.more.wait_for(&mut left, LOOK);
            if !MutexGuard::unlocked(&mut left, goes_on)? {
                return Ok(None);
            }
        }
    }
    /// Leaves what is left of a part to whoever takes it.
    fn leave(&self, rest: Vec<KeyRange>) {
        let mut left = self.left.lock();
        for part in rest.into_iter().rev() {
            left.parts.push_front(part);
        }
    }
    /// Does one part; returns what is left of it.
    fn part(
        &self,
        part: KeyRange,
        chunks: &mut [Chunk],
        goes_on: &dyn Fn() -> Result<bool, TxnError>,
    ) -> Result<Option<Rest>, TxnError> {
        let mut range = self
            .snapshot
            .range(self.tree, &part.low, part.high.as_deref())?;
        let mut rows = 0;
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
            rows += KILL_CHECK;
            let goes_on = goes_on()?;
            if goes_on && rows < CUT_AT * PART_ROWS {
                continue;
            }
            let mut low = item.key().to_vec();
            low.push(0);
            let rest = KeyRange { low, ..part };
            return Ok(Some(match goes_on {
                true => Rest::Large(rest),
                false => Rest::Wanted(rest),
            }));
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

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{begin, create, disk, insert, open},
        *,
    };
    use crate::txn::Isolation;

    /// A key far from all others leaves them in one part; cutting what is left makes parts of it.
    #[test]
    fn distant_keys_leave_no_large_part() {
        const ROWS: i64 = 500;
        let engine = open(&disk().env());
        let table = create(&engine);
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        for id in (0..ROWS).chain([i64::from(i32::MIN), i64::from(i32::MAX)]) {
            insert(&mut txn, &table, (id, None, None)).unwrap();
        }
        txn.commit("test").unwrap();
        engine.checkpoint().unwrap();
        let snapshot = engine.inner.base.snapshot().unwrap();
        let count = |part: &KeyRange| {
            let range = snapshot.range(table.rows, &part.low, part.high.as_deref());
            let mut range = range.unwrap();
            std::iter::from_fn(|| range.next(false).unwrap()).count() as i64
        };
        let mut parts = vec![KeyRange {
            low: Vec::new(),
            high: None,
        }];
        let mut cuts = 0;
        while let Some(large) = parts.iter().position(|part| count(part) > ROWS / 4) {
            let part = parts.swap_remove(large);
            parts.extend(cut(&snapshot, table.rows, part, CUT_INTO).unwrap());
            cuts += 1;
            assert!(cuts < 20);
        }
        assert!(cuts > 1, "they were far from the others");
        assert_eq!(parts.iter().map(count).sum::<i64>(), ROWS + 2);
    }
}
