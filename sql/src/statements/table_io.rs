//! Which tables and indexes are used, and how: rows fetched, inserted, updated, deleted.

use cohort_engine::types::TableId;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// A table, and the index by which rows were found: `None` for the rows' own tree (the primary key, if
/// there is one, or all rows).
pub type Used = (TableId, Option<u16>);

/// What was done to rows, by how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows read by a key or a range of it.
    pub fetched: u64,
    /// Rows read with the whole table.
    pub scanned: u64,
    /// Rows inserted.
    pub inserted: u64,
    /// Rows changed.
    pub updated: u64,
    /// Rows deleted.
    pub deleted: u64,
}

impl RowCounts {
    /// Adds others.
    pub fn add(&mut self, other: &RowCounts) {
        self.fetched += other.fetched;
        self.scanned += other.scanned;
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
    }
}

/// So many tables and indexes are looked for one by one.
const FEW: usize = 8;

/// What a session does to the rows of tables. What it used lately is few tables: a list is quicker than a
/// map, to which it hands them on when there are more.
pub struct TableIo {
    counts: Mutex<Counted>,
    is_wanted: bool,
}

#[derive(Default)]
struct Counted {
    lately: Vec<(Used, RowCounts)>,
    before: FxHashMap<Used, RowCounts>,
}

impl TableIo {
    /// Nothing yet, and nothing later if it is not wanted (performance_schema is off).
    #[must_use]
    pub fn new(is_wanted: bool) -> TableIo {
        TableIo {
            counts: Mutex::default(),
            is_wanted,
        }
    }
    /// Counts what is done.
    pub fn count(&self, used: Used, count: impl FnOnce(&mut RowCounts)) {
        if !self.is_wanted {
            return;
        }
        let mut all = self.counts.lock();
        let Counted { lately, before } = &mut *all;
        if let Some((_, counts)) = lately.iter_mut().find(|(known, _)| *known == used) {
            return count(counts);
        }
        if lately.len() >= FEW {
            for (used, counts) in lately.drain(..) {
                before.entry(used).or_default().add(&counts);
            }
        }
        let mut counts = RowCounts::default();
        count(&mut counts);
        lately.push((used, counts));
    }
    /// Whether it counts.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }
    /// All of it; of a table and index perhaps in two parts.
    pub fn each(&self, mut visit: impl FnMut(Used, &RowCounts)) {
        let all = self.counts.lock();
        let lately = all.lately.iter().map(|(used, counts)| (used, counts));
        for (used, counts) in all.before.iter().chain(lately) {
            visit(*used, counts);
        }
    }
    /// Adds all of it.
    pub fn add_to(&self, sums: &mut FxHashMap<Used, RowCounts>) {
        self.each(|used, counts| sums.entry(used).or_default().add(counts));
    }
    /// Begins at 0 again.
    pub fn forget(&self) {
        *self.counts.lock() = Counted::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_by_table_and_index() {
        let io = TableIo::new(true);
        // More tables than the list has room for, twice.
        for _ in 0..2 {
            for table in 0..3 * FEW as u32 {
                io.count((table, None), |counts| counts.inserted += 1);
                io.count((table, Some(1)), |counts| counts.fetched += 3);
            }
        }
        let mut sums = FxHashMap::default();
        io.add_to(&mut sums);
        assert_eq!(sums.len(), 6 * FEW);
        for table in 0..3 * FEW as u32 {
            assert_eq!(sums[&(table, None)].inserted, 2);
            assert_eq!(sums[&(table, Some(1))].fetched, 6);
        }
        io.forget();
        let off = TableIo::new(false);
        off.count((7, None), |counts| counts.inserted += 1);
        for io in [io, off] {
            let mut sums = FxHashMap::default();
            io.add_to(&mut sums);
            assert!(sums.is_empty());
        }
    }
}
