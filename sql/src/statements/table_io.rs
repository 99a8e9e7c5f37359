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

/// What a statement does to the rows of tables. It is few tables: a list is quicker than a map.
pub struct TableIo {
    counts: Mutex<Vec<(Used, RowCounts)>>,
    is_wanted: bool,
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
        match all.iter_mut().find(|(known, _)| *known == used) {
            Some((_, counts)) => count(counts),
            None => {
                let mut counts = RowCounts::default();
                count(&mut counts);
                all.push((used, counts));
            }
        }
    }
    /// Hands all on.
    pub fn take(&self, sums: &mut FxHashMap<Used, RowCounts>) {
        for (used, counts) in self.counts.lock().drain(..) {
            sums.entry(used).or_default().add(&counts);
        }
    }
    /// Whether there is anything to hand on.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_by_table_and_index() {
        let (io, mut sums) = (TableIo::new(true), FxHashMap::default());
        for _ in 0..2 {
            io.count((7, None), |counts| counts.inserted += 1);
            io.count((7, Some(1)), |counts| counts.fetched += 3);
            io.take(&mut sums);
            assert!(io.is_empty());
        }
        assert_eq!(sums[&(7, None)].inserted, 2);
        assert_eq!(sums[&(7, Some(1))].fetched, 6);
        let io = TableIo::new(false);
        io.count((7, None), |counts| counts.inserted += 1);
        assert!(io.is_empty());
    }
}
