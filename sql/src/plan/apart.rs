//! Subqueries that see the rows of another block: their first table is looked up for each of those. If
//! there are many, it pays to read once what can match any of them, and to look it up by hash. Example:
//!
//! ```text
//! SELECT * FROM orders WHERE EXISTS
//!     (SELECT 1 FROM items WHERE items.order_id = orders.id AND items.price > 1000)
//!
//!     items.price > 1000              is read once: it sees no order
//!     items.order_id = orders.id      is looked up for each order
//! ```
//!
//! How many rows there will be nobody knows while the subquery is planned. So execution begins to look
//! up by the index, and goes over to the hash table when that would have paid.

use super::{
    Apart, Block, Planner, Query,
    access::{self, Goal},
    from::From,
    join_order,
    place::{self, Outlook},
    scope::Names,
    walk,
};
use crate::expr::{Expr, infer, is_repeatable};
use cohort_engine::types::Collation;

/// Outer rows are looked up by what a subquery reads apart if that is no larger part of its table.
const FEW: f64 = 0.05;

impl Planner<'_> {
    /// See `Source::apart`: how the first table of a block is read apart from outer rows. `is_looked_up`: it
    /// is found by a key otherwise.
    pub(super) fn apart(
        &mut self,
        block: &Block,
        from: &From,
        leaf: usize,
        is_looked_up: bool,
        outlook: &Outlook,
    ) -> Option<Apart> {
        let at = from.leaves.get(leaf)?;
        let in_order = block.presorted || block.grouped_in_turn.is_some() || !block.ends.is_empty();
        let is_inner = from.groups.iter().any(|g| g.leaves.contains(&leaf));
        let is_plain = at.stored().is_some() && at.lock.is_none() && !from.keyed && !is_inner;
        if self.names().outer.is_empty() || in_order || !is_plain || self.searches(leaf) {
            return None;
        }
        let names = self.names();
        let keys = place::hash_keys_of_outer(outlook.conditions(leaf), names, leaf);
        if keys.is_empty() {
            return None;
        }
        let own = outlook.conditions(leaf).iter();
        let own: Vec<Expr> = own.filter(|c| is_alone(c, names, leaf)).cloned().collect();
        let choice = self.choose(from, leaf, &[], &own, outlook, Goal::default())?;
        let estimate = choice.estimate;
        if is_looked_up && estimate > join_order::KEPT_ROWS_MAX {
            return None;
        }
        let cost = join_order::reading(&choice) + estimate * join_order::HASHED;
        let figure = outlook.figures.of(leaf)?;
        let kept = estimate.min(figure.rows as f64 * figure.share);
        Some(Apart {
            access: choice.access,
            keys,
            cost,
            is_selective: kept <= figure.rows.max(access::ROWS_MIN) as f64 * FEW,
        })
    }
}

/// A column of the outer row that must be among the first keys of the rows read apart, if EXISTS is to
/// hold, with the collation that it is compared with.
pub(super) fn key_of_exists(query: &Query) -> Option<(Expr, Collation)> {
    let [block] = query.blocks.as_slice() else {
        return None;
    };
    // Without GROUP BY there is a group even if there are no rows.
    if block.grouping.is_some() {
        return None;
    }
    let apart = block.sources.first()?.apart.as_ref()?;
    if !apart.is_selective {
        return None;
    }
    let (probe, own) = apart.keys.first()?;
    let Expr::Column { slot, ty } = probe else {
        return None;
    };
    let mut outer = block.outer.iter();
    let (from, _) = outer.find(|(_, to)| *to == *slot as usize)?;
    let column = Expr::Column {
        slot: u32::try_from(*from).ok()?,
        ty: *ty,
    };
    Some((column, infer(own).collation))
}

/// Whether a condition needs the row of this leaf only, and may be checked whenever that is read.
pub(super) fn is_alone(condition: &Expr, names: &Names, leaf: usize) -> bool {
    let mut alone = is_repeatable(condition);
    walk::slots(condition, &mut |slot| {
        alone &= place::leaf_of(slot, names) == Some(leaf);
    });
    alone
}
