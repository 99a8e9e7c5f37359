//! The values of AUTO_INCREMENT columns.

use super::{
    engine::{Engine, Inner},
    table_state::TableState,
};
use crate::types::Table;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

impl Inner {
    /// A table's state, by its definition.
    pub(super) fn state(&self, table: &Table) -> Option<Arc<TableState>> {
        let dictionary = self.definitions.load();
        let listed = dictionary.entry(table.id);
        listed
            .map(|(_, state)| Arc::clone(state))
            .or_else(|| self.unlisted.state(table.id))
    }
}

/// How far apart values are: auto_increment_increment and auto_increment_offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spacing {
    /// The distance.
    pub step: u64,
    /// Values are this, modulo the distance.
    pub offset: u64,
}

impl Default for Spacing {
    fn default() -> Spacing {
        Spacing { step: 1, offset: 1 }
    }
}

impl Spacing {
    /// The first value after this one. MySQL's reckoning: an offset above the distance makes it
    /// wrap around, so that other values come of it.
    #[must_use]
    pub fn after(self, value: u64) -> u64 {
        let step = self.step.max(1);
        if step == 1 {
            return value.saturating_add(1);
        }
        let from = value.wrapping_add(step).wrapping_sub(self.offset);
        (from / step).wrapping_mul(step).wrapping_add(self.offset)
    }
    /// Where the counter goes when so many values are taken from it: MySQL's reckoning, too, which
    /// SHOW CREATE TABLE shows and another distance begins at.
    #[must_use]
    pub fn counter_after(self, counter: u64, count: u64) -> u64 {
        let step = self.step.max(1);
        let offset = if self.offset > step { 0 } else { self.offset };
        let whole = counter.abs_diff(offset) / step * step;
        let taken = step.saturating_mul(count.max(1));
        whole.saturating_add(taken).saturating_add(offset)
    }
}

/// The AUTO_INCREMENT values of a table whose rows are rewritten.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// The greatest one of the rows, kept by who converts them.
    pub used: Arc<AtomicU64>,
    /// Whether the statement says where the table goes on: with `auto_increment_min`, or above its
    /// rows. Otherwise it goes on with the numbers that it had.
    pub restart: bool,
}

impl Numbers {
    /// The next one of the new table.
    pub(super) fn next(&self, before: (&Table, &TableState), new: &Table) -> u64 {
        if new.auto_increment_column().is_none() {
            return new.auto_increment_min;
        }
        let used = self.used.load(Ordering::Relaxed);
        let least = new.auto_increment_min.max(used.saturating_add(1));
        let (table, state) = before;
        if self.restart || table.auto_increment_column().is_none() {
            return least;
        }
        least.max(state.auto_increment.load(Ordering::Relaxed))
    }
}

/// What comes after the largest value of a table's AUTO_INCREMENT.
fn end_of(table: &Table) -> u64 {
    let column = table.auto_increment_column();
    let column = column.and_then(|column| table.columns.get(column));
    column.map_or(u64::MAX, |column| {
        column.largest_integer().saturating_add(1)
    })
}

impl Engine {
    /// The next values of a table's AUTO_INCREMENT: reserves `count`, returns the first.
    pub fn auto_increment(&self, table: &Table, count: u64) -> u64 {
        self.auto_increment_spaced(table, count, Spacing::default())
    }
    /// As `auto_increment`, for values at a distance from one another.
    pub fn auto_increment_spaced(&self, table: &Table, count: u64, spacing: Spacing) -> u64 {
        let Some(state) = self.inner.state(table) else {
            return 0;
        };
        let first_from = |next: u64| spacing.after(next.saturating_sub(1));
        let reserve = |next: u64| {
            let last =
                first_from(next).saturating_add(spacing.step.saturating_mul(count.max(1) - 1));
            Some(
                spacing
                    .counter_after(next, count)
                    .max(last.saturating_add(1)),
            )
        };
        // Failed statements do not count beyond the end.
        let reserve = |next: u64| reserve(next).map(|after| after.min(end_of(table).max(next)));
        let counter = &state.auto_increment;
        match counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve) {
            Ok(next) | Err(next) => first_from(next),
        }
    }
    /// Raises a table's AUTO_INCREMENT above a value that was inserted explicitly.
    pub fn auto_increment_at_least(&self, table: &Table, used: u64) {
        self.auto_increment_at_least_spaced(table, used, Spacing::default());
    }
    /// The same for values at a distance from one another.
    pub fn auto_increment_at_least_spaced(&self, table: &Table, used: u64, spacing: Spacing) {
        if let Some(state) = self.inner.state(table) {
            let next = spacing.counter_after(used, 1).max(used.saturating_add(1));
            state.auto_increment.fetch_max(next, Ordering::Relaxed);
        }
    }
    /// The next AUTO_INCREMENT value, without taking it (SHOW CREATE TABLE, information_schema).
    pub fn auto_increment_peek(&self, table: &Table) -> u64 {
        let state = self.inner.state(table);
        state.map_or(1, |state| state.auto_increment.load(Ordering::Relaxed))
    }
}
