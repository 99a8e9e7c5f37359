//! The values of AUTO_INCREMENT columns.

use super::{
    engine::{Engine, Inner},
    table_state::TableState,
};
use crate::types::Table;
use std::sync::{Arc, atomic::Ordering};

impl Inner {
    /// A table's state, by its definition.
    pub(super) fn state(&self, table: &Table) -> Option<Arc<TableState>> {
        let dictionary = self.dictionary.load();
        dictionary
            .entry(table.id)
            .map(|(_, state)| Arc::clone(state))
    }
}

impl Engine {
    /// The next values of a table's AUTO_INCREMENT: reserves `count`, returns the first.
    pub fn auto_increment(&self, table: &Table, count: u64) -> u64 {
        self.auto_increment_aligned(table, count, 1, 1)
    }
    /// As `auto_increment`, for values that are `offset` modulo `step` (auto_increment_increment
    /// and auto_increment_offset): reserves `count` of them, `step` apart, returns the first.
    pub fn auto_increment_aligned(&self, table: &Table, count: u64, step: u64, offset: u64) -> u64 {
        let Some(state) = self.inner.state(table) else {
            return 0;
        };
        let step = step.max(1);
        let first_from = |next: u64| {
            let behind = (step + offset % step - next % step) % step;
            next.saturating_add(behind)
        };
        let reserve = |next: u64| {
            let last = first_from(next).saturating_add(step.saturating_mul(count.max(1) - 1));
            Some(last.saturating_add(1))
        };
        let counter = &state.auto_increment;
        match counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve) {
            Ok(next) | Err(next) => first_from(next),
        }
    }
    /// Raises a table's AUTO_INCREMENT above a value that was inserted explicitly.
    pub fn auto_increment_at_least(&self, table: &Table, used: u64) {
        if let Some(state) = self.inner.state(table) {
            let next = used.saturating_add(1);
            state.auto_increment.fetch_max(next, Ordering::Relaxed);
        }
    }
    /// The next AUTO_INCREMENT value, without taking it (SHOW CREATE TABLE, information_schema).
    pub fn auto_increment_peek(&self, table: &Table) -> u64 {
        let state = self.inner.state(table);
        state.map_or(1, |state| state.auto_increment.load(Ordering::Relaxed))
    }
}
