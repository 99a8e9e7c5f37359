//! MIN and MAX without GROUP BY: their results are at the ends of an index, if there is one that has
//! the column after those that conditions give values for.

use super::{
    Access, AggregateFunction, Block, Planner, access::Goal, from::From, place::Outlook, walk,
};
use crate::expr::{Expr, infer};
use cohort_engine::types::ColumnType;

impl Planner<'_> {
    /// See `Block::ends`: the paths, if none costs more than to read all rows.
    pub(super) fn ends(
        &mut self,
        block: &Block,
        from: &From,
        leaf: usize,
        conditions: &[Expr],
        outlook: &Outlook,
        cost: f64,
    ) -> Vec<Access> {
        let Some(grouping) = block.grouping.as_ref().filter(|g| !g.explicit) else {
            return Vec::new();
        };
        let mut ends = Vec::with_capacity(grouping.aggregates.len());
        for aggregate in &grouping.aggregates {
            let desc = match aggregate.function {
                AggregateFunction::Min => false,
                AggregateFunction::Max => true,
                _ => return Vec::new(),
            };
            let slot = aggregate.args.first().and_then(|a| walk::slot(&a.expr));
            let first = self.names().tables.get(leaf).map(|table| table.first_slot);
            let column = slot
                .zip(first)
                .and_then(|(slot, first)| slot.checked_sub(first));
            // The order of members in an index is not that of their texts.
            let ty = aggregate.args.first().and_then(|a| infer(&a.expr).ty);
            if ty.is_some_and(ColumnType::has_members) {
                return Vec::new();
            }
            let order = column.map(|column| [(column, desc)]);
            let order = order.as_ref().map(<[(usize, bool); 1]>::as_slice);
            let goal = Goal {
                order,
                limit: true,
                in_turn: None,
                repeats: None,
            };
            let end = self.choose(from, leaf, &[], conditions, outlook, goal);
            match end.filter(|end| end.ordered && end.cost <= cost) {
                // Conditions that are not the path's could refuse all that is read.
                Some(end) if conditions.is_empty() || !end.access.alternatives.is_empty() => {
                    ends.push(end.access);
                }
                _ => return Vec::new(),
            }
        }
        ends
    }
}
