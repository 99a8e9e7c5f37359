//! A block that is being explained: what its slots are called, and which of its subqueries have been shown.

use super::{naming::Naming, numbers::Numbers};
use crate::{
    error::SqlError,
    plan::{Block, Subquery},
};
use cohort_engine::types::Value;
use std::collections::BTreeSet;

/// A block that is being explained.
pub(super) struct Within<'b, 'p> {
    pub block: &'b Block,
    pub naming: Naming<'p>,
    /// Those of its subqueries that have been shown, by number.
    placed: BTreeSet<usize>,
}

impl<'b, 'p> Within<'b, 'p> {
    /// For a block within another one.
    pub fn new(
        block: &'b Block,
        outer: Option<&Naming<'_>>,
        numbers: &Numbers,
        params: &'p [Value],
    ) -> Within<'b, 'p> {
        let subqueries = block.subqueries.iter();
        let shown: Vec<u64> = subqueries.map(|s| numbers.query(&s.query)).collect();
        Within {
            block,
            naming: Naming::new(block, outer, &shown, params),
            placed: BTreeSet::new(),
        }
    }

    pub fn address(&self) -> usize {
        std::ptr::from_ref(self.block).addr()
    }

    /// Whether a slot has what is wanted of a subquery.
    pub fn is_subquery(&self, slot: usize) -> bool {
        let mut subqueries = self.block.subqueries.iter();
        subqueries.any(|subquery| subquery.slots.contains(&slot))
    }

    /// Those of these subqueries that have not been shown, each behind those that it needs. From now on they
    /// count as shown.
    pub fn take(&mut self, wanted: &[usize]) -> Result<Vec<&'b Subquery>, SqlError> {
        let mut taken = Vec::new();
        for &number in wanted {
            let subquery = self.block.subqueries.get(number);
            let subquery = subquery.ok_or_else(|| SqlError::internal("a subquery is missing"))?;
            taken.extend(self.take(&subquery.needs)?);
            if self.placed.insert(number) {
                taken.push(subquery);
            }
        }
        Ok(taken)
    }

    /// Those that have not been shown.
    pub fn rest(&mut self) -> Result<Vec<&'b Subquery>, SqlError> {
        let all: Vec<usize> = (0..self.block.subqueries.len()).collect();
        self.take(&all)
    }
}
