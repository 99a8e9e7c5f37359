//! Where values come from that are computed and stored.

use super::{Block, Computed, Query, Source};
use crate::expr::{Expr, Origin};

impl Computed {
    /// Where its value comes from. What a subquery yields is computed, though it stands in a slot.
    #[must_use]
    pub fn origin(&self) -> Origin {
        let origin = Origin::of_expr(&self.expr);
        match self.subqueries.is_empty() {
            true => origin,
            false => origin.of_computed(),
        }
    }
}

impl Query {
    /// Where the values of each column of its result come from: from a table's column, what several
    /// queries yield being kept in a table, too, or they are computed.
    #[must_use]
    pub fn origins(&self) -> Vec<Origin> {
        match self.blocks.as_slice() {
            [block] => block.output.iter().map(|o| block.origin_of(o)).collect(),
            _ => self.types.iter().map(Origin::of_held).collect(),
        }
    }
}

impl Block {
    /// Where the value of something that it selects comes from: slots that are no table's are for what is
    /// computed.
    fn origin_of(&self, computed: &Computed) -> Origin {
        let origin = computed.origin();
        let Expr::Column { slot, .. } = computed.expr else {
            return origin;
        };
        let has = |source: &Source| {
            let slots = source.first_slot..source.first_slot + source.columns;
            slots.contains(&(slot as usize))
        };
        match self.sources.iter().any(has) {
            true => origin,
            false => origin.of_computed(),
        }
    }
}
