//! The numbers that EXPLAIN gives the blocks of a statement. They are counted as MySQL does: a block before
//! what is in it, computed tables before subqueries, and the result of several blocks after these.

use super::operations::combined;
use crate::plan::{Block, Derived, Input, Insert, InsertRows, Query};
use rustc_hash::FxHashMap;
use std::ptr::from_ref;

/// The numbers of a statement.
#[derive(Default)]
pub(super) struct Numbers {
    blocks: FxHashMap<*const Block, u64>,
    /// Those of the results of several blocks, by the first of these.
    results: FxHashMap<*const Block, u64>,
    last: u64,
}

impl Numbers {
    /// Of a statement's query.
    pub fn of_query(query: &Query) -> Numbers {
        let mut numbers = Numbers::default();
        numbers.count(query.blocks.iter());
        numbers
    }

    /// Of a statement that has a block of its own.
    pub fn of_block(block: &Block) -> Numbers {
        let mut numbers = Numbers::default();
        numbers.count(std::iter::once(block));
        numbers
    }

    /// Of an INSERT: its own block comes last if it is a query's rows that are inserted.
    pub fn of_insert(plan: &Insert) -> Numbers {
        let InsertRows::Query(query) = &plan.rows else {
            return Numbers::of_block(&plan.block);
        };
        let mut numbers = Numbers::of_query(query);
        numbers.count_within(&plan.block);
        numbers
    }

    /// That of a block.
    pub fn block(&self, block: &Block) -> u64 {
        self.blocks
            .get(&from_ref(block))
            .copied()
            .unwrap_or_default()
    }

    /// That of the first block of a query.
    pub fn query(&self, query: &Query) -> u64 {
        query.blocks.first().map_or(0, |first| self.block(first))
    }

    /// That of the result of several blocks, of which this is the first.
    pub fn result(&self, first: &Block) -> u64 {
        self.results
            .get(&from_ref(first))
            .copied()
            .unwrap_or_default()
    }

    /// The name of the table of the result of several blocks.
    pub fn result_name(&self, query: &Query) -> String {
        let blocks = query.blocks.iter().map(|b| self.block(b).to_string());
        let blocks: Vec<String> = blocks.collect();
        format!("<{}{}>", combined(query.combined), blocks.join(","))
    }

    fn count<'b>(&mut self, blocks: impl Iterator<Item = &'b Block>) {
        let mut first = None;
        let mut several = false;
        for block in blocks {
            several = first.is_some();
            first.get_or_insert(block);
            self.count_block(block);
        }
        if let Some(first) = first.filter(|_| several) {
            self.last += 1;
            self.results.insert(from_ref(first), self.last);
        }
    }

    fn count_block(&mut self, block: &Block) {
        self.last += 1;
        self.blocks.insert(from_ref(block), self.last);
        self.count_within(block);
    }

    fn count_within(&mut self, block: &Block) {
        for source in &block.sources {
            // Several may read it: it is counted where it is read first.
            if let Input::Derived(derived, _) = &source.input
                && self.query(&derived.query) == 0
            {
                self.count(blocks_of(derived));
            }
        }
        for subquery in &block.subqueries {
            self.count(subquery.query.blocks.iter());
        }
    }
}

/// The blocks that a computed table is made by, the recursive ones last.
pub(super) fn blocks_of(derived: &Derived) -> impl Iterator<Item = &Block> {
    let parts = derived.recursion.iter().flat_map(|r| &r.parts);
    let queries = std::iter::once(&derived.query).chain(parts);
    queries.flat_map(|query| &query.blocks)
}
