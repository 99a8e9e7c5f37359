//! Blocks that need only the first or the last row of those which have the same values in some columns:
//! with DISTINCT, or with GROUP BY where all aggregates are MIN or MAX of one column, or the same
//! however often a value comes. Example, with an index on (a, b):
//!
//! ```text
//! SELECT a, MAX(b) FROM t GROUP BY a
//! ```
//!
//! Of the entries that begin with the same `a` the last has the greatest `b`; all others are passed
//! over. (MySQL: loose index scan, skip scan for grouping or deduplication.)

use super::{
    Aggregate, AggregateFunction, Block, Planner,
    access::{self, Repeats},
    from::From,
    place::Outlook,
    walk,
};
use crate::expr::{Expr, infer, is_volatile};
use cohort_engine::types::ColumnType;

impl Planner<'_> {
    /// What is wanted of rows that repeat, if the block has one stored table and does not need them all.
    pub(super) fn repeats(
        &mut self,
        block: &Block,
        from: &From,
        outlook: &Outlook,
    ) -> Option<Repeats> {
        let [leaf] = from.leaves.as_slice() else {
            return None;
        };
        let table = leaf.stored()?;
        let all_matter = leaf.lock.is_some() || block.windowing.is_some();
        if all_matter || !from.groups.is_empty() {
            return None;
        }
        let aggregates = match &block.grouping {
            None if block.distinct => &[],
            None => return None,
            Some(grouping) if grouping.rollup.is_none() => grouping.aggregates.as_slice(),
            Some(_) => return None,
        };
        let sets = aggregates.iter().all(is_set_function);
        if !sets || is_new_each_time(block, &outlook.top) {
            return None;
        }
        let first = self.names().tables.first()?.first_slot;
        let slots = self.wanted_but(block, from, &outlook.top, &|a| end_of(a).is_some());
        let columns = access::columns_of(&slots, first, table.columns.len());
        let mut repeats = Repeats {
            columns,
            ..Repeats::default()
        };
        for (slot, is_greatest) in aggregates.iter().filter_map(end_of) {
            let column = u16::try_from(slot.checked_sub(first)?).ok()?;
            if repeats.columns.contains(&column) {
                continue;
            }
            if repeats.end.is_some_and(|other| other != column) {
                return None;
            }
            repeats.end = Some(column);
            repeats.least |= !is_greatest;
            repeats.greatest |= is_greatest;
        }
        Some(repeats)
    }
}

/// Whether its result is the same however often a value comes.
fn is_set_function(aggregate: &Aggregate) -> bool {
    match aggregate.function {
        AggregateFunction::Min
        | AggregateFunction::Max
        | AggregateFunction::BitAnd
        | AggregateFunction::BitOr => true,
        _ => aggregate.distinct,
    }
}

/// The slot of the column whose least or greatest value is wanted, and whether that is the greatest.
fn end_of(aggregate: &Aggregate) -> Option<(usize, bool)> {
    let is_greatest = match aggregate.function {
        AggregateFunction::Min => false,
        AggregateFunction::Max => true,
        _ => return None,
    };
    let [arg] = aggregate.args.as_slice() else {
        return None;
    };
    // The order of members in an index is not that of their texts.
    let ty = infer(&arg.expr).ty;
    if ty.is_some_and(ColumnType::has_members) {
        return None;
    }
    walk::slot(&arg.expr).map(|slot| (slot, is_greatest))
}

/// Whether an expression has another value each time, so that rows differ though columns do not.
pub(super) fn is_new_each_time(block: &Block, conditions: &[Expr]) -> bool {
    let grouping = block.grouping.as_ref();
    let keys = grouping.into_iter().flat_map(|grouping| &grouping.keys);
    let aggregates = grouping
        .into_iter()
        .flat_map(|grouping| &grouping.aggregates);
    let args = aggregates.flat_map(|aggregate| &aggregate.args);
    let order = block.order.iter().map(|key| &key.value);
    let computed = block.output.iter().chain(order).chain(keys).chain(args);
    let mut all = conditions.iter().chain(computed.map(|c| &c.expr));
    all.any(is_volatile)
}
