//! What the entries of an index are like: how many different values its leading parts have; and rows
//! of a table, drawn from all over it. The planner chooses access paths and join orders by them.
//!
//! Nothing of it is kept up to date, and nothing is on disk: it is read when a statement is
//! compiled, which takes some 100 µs, and kept in memory for a minute, or until the table has grown
//! or shrunk by a fifth. The same places are looked at each time, so that the same data give the same
//! figures, after a restart, too. Commits and checkpoints do nothing for it.
//!
//! **Rows.** A tree does not tell its n-th entry. Places that are evenly spread between the first
//! and the last key, taken for numbers, are as good as a random choice as long as keys are about
//! evenly spread, as numbers that count up are. From each place a few rows are read.
//!
//! **Different values.** Of each row that was drawn so it is counted how many entries of the index
//! have the same leading parts. A row whose value n rows have stands for 1/n of a value, so the mean of
//! 1/n times the number of entries is the number of different values: this holds for values that are
//! spread unevenly, too. Example, of a table of 1,000 rows:
//!
//! ```text
//! drawn rows   entries with the same first part   1/n
//! Oslo         4                                  0.25
//! Bergen       2                                  0.5
//! Oslo         4                                  0.25
//! Moss         1                                  1        mean 0.5: 500 different values
//! ```
//!
//! Counting ends at `COUNTED_MAX` entries. Where that happens, values are few, and they are counted
//! themselves, by going from each to the next; where they are not so few either (`VALUES_MAX`), the truth
//! lies between two bounds that are known, and their geometric mean is taken. The whole of a small
//! index is read, and of any by ANALYZE TABLE; what that has found counts until the table has
//! changed its size.
//!
//! Tried and rejected: sketches (HyperLogLog) that checkpoints feed with every key. They cost each
//! checkpoint some time, forget no deleted values, and have to be on disk.

use super::{
    TxnError,
    engine::{Engine, Inner},
    entry::{Entry, damaged_entry, successor},
    owner::Owner,
    table_state::{IndexStatistics, Known},
};
use crate::{
    Seq,
    store::{Batch, Cursor, Overlay, View, Window},
    types::{Index, Table, TreeId, key},
};
use std::sync::{Arc, atomic::Ordering};

/// Places of a table from which rows are drawn, ...
const PLACES: usize = 64;
/// ... and how many from each.
const ROWS_EACH: usize = 8;
/// Fewer are drawn where rows are long, and in the end none: bytes.
const LARGE: usize = 2 << 20;
const LARGEST: usize = 16 << 20;
/// A tree of no more entries than this is read as a whole.
const WHOLE_MAX: u64 = 1024;
/// Entries with the same leading parts are counted so far.
const COUNTED_MAX: usize = 1024;
/// Different values are counted one by one so far.
const VALUES_MAX: usize = 256;
impl Engine {
    /// What the entries of an index of a table are like; `None` if that cannot be told: for temporary
    /// tables, or if what must be read is damaged.
    pub fn index_statistics(&self, table: &Table, index: &Index) -> Option<Arc<IndexStatistics>> {
        let inner = &self.inner;
        let state = inner.state(table).filter(|_| !table.is_temporary())?;
        let rows = state.rows();
        let now_ms = inner.env.monotonic_nanos() / 1_000_000;
        if let Some(known) = state.known(index).filter(|known| known.holds(rows, now_ms)) {
            return Some(known.statistics);
        }
        let reader = Reader::new(inner, table);
        let statistics = Arc::new(reader.statistics(index, rows).ok()?);
        state.keep(
            table,
            Known {
                tree: index.tree,
                statistics: Arc::clone(&statistics),
                rows,
                read_ms: Some(now_ms),
            },
        );
        Some(statistics)
    }

    /// The same as it was when somebody last wanted to know; `None` if nobody did since the start.
    pub fn known_statistics(&self, table: &Table, index: &Index) -> Option<Arc<IndexStatistics>> {
        let state = self.inner.state(table)?;
        state.known(index).map(|known| known.statistics)
    }

    /// ANALYZE TABLE: reads all of a table's indexes, so that it is known what they are like. Others may
    /// go first meanwhile.
    ///
    /// # Errors
    /// Something is damaged, or the session was killed.
    pub fn analyze_table(&self, owner: &Owner, table: &Table) -> Result<(), TxnError> {
        let Some(state) = self.inner.state(table).filter(|_| !table.is_temporary()) else {
            return Ok(());
        };
        let mut pause = || {
            owner.waiting.offer(false);
            match owner.is_killed() {
                true => Err(TxnError::Killed),
                false => Ok(()),
            }
        };
        let reader = Reader::new(&self.inner, table);
        for index in table.keys() {
            let rows = state.rows();
            let statistics = reader.whole(index, u64::MAX, &mut pause)?;
            state.keep(
                table,
                Known {
                    tree: index.tree,
                    statistics: Arc::new(statistics),
                    rows,
                    read_ms: None,
                },
            );
        }
        state.analyzed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// How often a table was analysed since the start.
    pub fn analyzed(&self, table: &Table) -> u64 {
        let state = self.inner.state(table);
        state.map_or(0, |state| state.analyzed.load(Ordering::Relaxed))
    }

    /// Rows from all over a table: all, if it is small, else some hundred. None of a temporary table, or
    /// if they cannot be read.
    pub fn drawn_rows(&self, table: &Table) -> Batch {
        if table.is_temporary() {
            return Batch::default();
        }
        let reader = Reader::new(&self.inner, table);
        let rows = self.row_estimate(table);
        reader.drawn(rows).unwrap_or_default()
    }
}

/// Reads the newest versions that are there: figures need not be right for one moment.
struct Reader<'t> {
    view: Arc<View>,
    table: &'t Table,
}

impl<'t> Reader<'t> {
    fn new(inner: &Inner, table: &'t Table) -> Reader<'t> {
        Reader {
            view: inner.views.load_full(),
            table,
        }
    }

    fn cursor(&self, tree: TreeId, low: &[u8], high: Option<&[u8]>, reverse: bool) -> Cursor {
        let window = Window::new(tree, low, high, reverse);
        Cursor::new(Arc::clone(&self.view), Seq::MAX, window)
    }

    /// The entries from a key on, so many.
    fn some(&self, tree: TreeId, low: &[u8], most: usize) -> Result<Batch, TxnError> {
        let mut batch = Batch::default();
        let mut cursor = self.cursor(tree, low, None, false);
        read_on(&mut cursor, &mut batch, most)?;
        Ok(batch)
    }

    fn last_key(&self, tree: TreeId) -> Result<Option<Vec<u8>>, TxnError> {
        let mut batch = Batch::default();
        let mut cursor = self.cursor(tree, &[], None, true);
        read_on(&mut cursor, &mut batch, 1)?;
        Ok((!batch.is_empty()).then(|| batch.get(0).0.to_vec()))
    }

    /// See `Engine::drawn_rows`.
    fn drawn(&self, rows: u64) -> Result<Batch, TxnError> {
        let tree = self.table.rows;
        if rows <= (PLACES * ROWS_EACH) as u64 {
            return self.some(tree, &[], PLACES * ROWS_EACH);
        }
        let mut drawn = Batch::default();
        let mut behind: Vec<u8> = Vec::new();
        let mut bytes = 0;
        self.each_place(|place| {
            let most = match bytes {
                0..LARGE => ROWS_EACH,
                LARGE..LARGEST => 1,
                _ => return Ok(()),
            };
            // Where few keys are spread far, several places have the same rows.
            let from = if place > behind {
                place
            } else {
                behind.clone()
            };
            let found = self.some(tree, &from, most)?;
            for at in 0..found.len() {
                let (key, image) = found.get(at);
                bytes += key.len() + image.len();
                drawn.push(key, image);
                behind.clear();
                behind.extend_from_slice(key);
                behind.push(0);
            }
            Ok(())
        })?;
        Ok(drawn)
    }

    /// Calls `visit` with keys that are evenly spread over the rows.
    fn each_place(
        &self,
        mut visit: impl FnMut(Vec<u8>) -> Result<(), TxnError>,
    ) -> Result<(), TxnError> {
        let tree = self.table.rows;
        let first = self.some(tree, &[], 1)?;
        let Some(last) = self.last_key(tree)?.filter(|_| !first.is_empty()) else {
            return Ok(());
        };
        evenly_spread(first.get(0).0, &last, PLACES).try_for_each(&mut visit)
    }

    /// What an index is like, of a table with so many rows.
    fn statistics(&self, index: &Index, rows: u64) -> Result<IndexStatistics, TxnError> {
        // How many entries a multi-valued index has is not known: of each row any number.
        let is_array = self.table.array_part(index).is_some();
        if rows <= WHOLE_MAX || is_array {
            let most = if is_array { ARRAYS_MAX } else { u64::MAX };
            return self.whole(index, most, &mut || Ok(()));
        }
        let places = self.places(index)?;
        let count = places.len().max(1) as f64;
        let bytes: usize = places.iter().map(|place| place.bytes).sum();
        let parts = counted_parts(self.table, index);
        // Without a primary key entries end with the number of their row, which is no part.
        let differ = index.unique || self.table.primary.is_some();
        let mut distinct = Vec::with_capacity(parts);
        for part in 0..parts {
            distinct.push(match differ && part + 1 == parts {
                true => rows as f64,
                false => self.distinct(index, part, &places, rows)?,
            });
        }
        // Longer beginnings have as many values at least.
        for part in 1..distinct.len() {
            if let [.., before, here] = &mut distinct[..=part] {
                *here = here.max(*before);
            }
        }
        Ok(IndexStatistics {
            entries: rows,
            distinct,
            entry_bytes: bytes as f64 / count,
            is_whole: false,
        })
    }

    /// How many different values the first `part + 1` parts have.
    fn distinct(
        &self,
        index: &Index,
        part: usize,
        places: &[Place],
        rows: u64,
    ) -> Result<f64, TxnError> {
        let (mut shares, mut endless) = (0.0, 0_usize);
        for place in places {
            let prefix = place.prefix(part);
            let mut batch = Batch::default();
            let high = successor(prefix);
            let mut cursor = self.cursor(index.tree, prefix, high.as_deref(), false);
            read_on(&mut cursor, &mut batch, COUNTED_MAX)?;
            endless += usize::from(batch.len() >= COUNTED_MAX);
            shares += 1.0 / batch.len().max(1) as f64;
        }
        let counted = (rows as f64 * shares / places.len().max(1) as f64).max(1.0);
        if endless == 0 {
            return Ok(counted);
        }
        match self.values(index, part)? {
            Some(values) => Ok(values as f64),
            // More than VALUES_MAX, and no more than if what was not counted to its end had ended.
            None => Ok((counted.max(VALUES_MAX as f64) * VALUES_MAX as f64).sqrt()),
        }
    }

    /// How many different values the first `part + 1` parts have, if they are few.
    fn values(&self, index: &Index, part: usize) -> Result<Option<usize>, TxnError> {
        let mut low = Vec::new();
        for values in 0..=VALUES_MAX {
            let found = self.some(index.tree, &low, 1)?;
            if found.is_empty() {
                return Ok(Some(values.max(1)));
            }
            let key = found.get(0).0;
            let ends = ends(self.table, index, key)?;
            let end = ends.get(part).copied().unwrap_or(key.len());
            match successor(key.get(..end).unwrap_or_default()) {
                Some(next) => low = next,
                None => return Ok(Some(values + 1)),
            }
        }
        Ok(None)
    }

    /// Where rows from all over the table are in an index.
    fn places(&self, index: &Index) -> Result<Vec<Place>, TxnError> {
        let mut places = Vec::new();
        let table = self.table;
        let is_rows = index.tree == table.rows;
        self.each_place(|low| {
            let row = self.some(table.rows, &low, 1)?;
            if row.is_empty() {
                return Ok(());
            }
            let (row_key, image) = row.get(0);
            let mut add = |key: &[u8], bytes: usize| {
                places.push(Place {
                    ends: ends(table, index, key)?,
                    key: key.to_vec(),
                    bytes,
                });
                Ok::<(), TxnError>(())
            };
            if is_rows {
                return add(row_key, row_key.len() + image.len());
            }
            for entry in Entry::derive(table, index, image, row_key)? {
                add(&entry.key, entry.key.len())?;
            }
            Ok(())
        })?;
        Ok(places)
    }

    /// Reads all of an index, or its first `most` entries, taken for all.
    fn whole(
        &self,
        index: &Index,
        most: u64,
        pause: &mut dyn FnMut() -> Result<(), TxnError>,
    ) -> Result<IndexStatistics, TxnError> {
        let table = self.table;
        let mut cursor = self.cursor(index.tree, &[], None, false);
        let parts = counted_parts(table, index);
        let mut begun = vec![0_u64; parts];
        let (mut entries, mut bytes) = (0_u64, 0_u64);
        let mut before: Vec<u8> = Vec::new();
        let mut is_whole = false;
        while entries < most {
            let mut batch = Batch::default();
            read_on(&mut cursor, &mut batch, READ_AT_ONCE)?;
            is_whole = batch.is_empty();
            if is_whole {
                break;
            }
            for at in 0..batch.len() {
                let (key, value) = batch.get(at);
                let same = key.iter().zip(&before).take_while(|(a, b)| a == b).count();
                let ends = ends(table, index, key)?;
                let fresh = |end: &usize| entries == 0 || *end > same;
                let first = ends.iter().position(fresh).unwrap_or(parts);
                for count in begun.iter_mut().skip(first) {
                    *count += 1;
                }
                entries += 1;
                bytes += (key.len() + value.len()) as u64;
                before.clear();
                before.extend_from_slice(key);
            }
            pause()?;
        }
        Ok(IndexStatistics {
            entries,
            distinct: begun.iter().map(|count| (*count).max(1) as f64).collect(),
            entry_bytes: bytes as f64 / entries.max(1) as f64,
            is_whole,
        })
    }
}

/// So many keys from the first to the last, of which that is not one. They are taken for numbers: so many
/// bytes behind what both begin with.
pub(super) fn evenly_spread(
    first: &[u8],
    last: &[u8],
    count: usize,
) -> impl Iterator<Item = Vec<u8>> {
    const DIGITS: usize = 16;
    let same = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut digits = [0; DIGITS];
        for (digit, byte) in digits.iter_mut().zip(key.iter().skip(same)) {
            *digit = *byte;
        }
        u128::from_be_bytes(digits)
    };
    let (low, high) = (number(first), number(last));
    let step = high.saturating_sub(low) / count.max(1) as u128;
    let same = first.get(..same).unwrap_or_default().to_vec();
    (0..count).map(move |place| {
        let at = low.saturating_add(step.saturating_mul(place as u128));
        let mut key = same.clone();
        key.extend_from_slice(&at.to_be_bytes());
        key
    })
}

/// Reads on. Apart, so that scans of statements, which take the same way, have it to themselves.
#[inline(never)]
fn read_on(cursor: &mut Cursor, batch: &mut Batch, most: usize) -> Result<(), TxnError> {
    cursor.next(&Overlay::new(), batch, most)?;
    Ok(())
}

/// How many parts of an index's entries are looked at: those of a unique one tell them apart already.
fn counted_parts(table: &Table, index: &Index) -> usize {
    match index.unique {
        true => index.parts.len(),
        false => table.entry_parts(index).count(),
    }
}

/// So many entries of a multi-valued index are read.
const ARRAYS_MAX: u64 = 16_384;
/// Entries are read so many at a time.
const READ_AT_ONCE: usize = 256;

/// An entry of an index.
struct Place {
    key: Vec<u8>,
    /// Where its parts end.
    ends: Vec<usize>,
    /// Its length, with its value.
    bytes: usize,
}

impl Place {
    /// Its first `part + 1` parts.
    fn prefix(&self, part: usize) -> &[u8] {
        let end = self.ends.get(part).copied().unwrap_or(self.key.len());
        self.key.get(..end).unwrap_or_default()
    }
}

/// Where the parts of an entry end, those of the primary key included.
fn ends(table: &Table, index: &Index, entry: &[u8]) -> Result<Vec<usize>, TxnError> {
    let mut ends = Vec::with_capacity(4);
    let mut end = 0;
    for part in table.entry_parts(index) {
        let column = table.columns.get(usize::from(part.column));
        let rest = entry.get(end..).unwrap_or_default();
        let length = column.and_then(|c| key::part_length(c.key_column(), *part, rest));
        end += length.ok_or_else(|| damaged_entry(table, index))?;
        ends.push(end);
    }
    Ok(ends)
}
