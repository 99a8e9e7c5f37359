//! What a block does with the rows of its tables, as MySQL tells it.

use crate::{
    expr::Expr,
    plan::{Block, Combined},
};

/// An operation on the rows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// It gathers rows in a table of its own.
    pub gathers: bool,
    /// It sorts rows.
    pub sorts: bool,
}

/// Those of a block, in the order they are done; window functions, which have orders of their own, come
/// behind the groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operations {
    /// GROUP BY.
    pub grouping: Option<Operation>,
    /// DISTINCT.
    pub distinct: Option<Operation>,
    /// ORDER BY.
    pub ordering: Option<Operation>,
}

impl Operations {
    pub fn of(block: &Block) -> Operations {
        let grouping = block.grouping.as_ref().filter(|g| !g.keys.is_empty());
        Operations {
            grouping: grouping.map(|grouping| {
                let sorts = grouping.rollup.is_some();
                let gathers = !sorts && block.grouped_in_turn.is_none();
                Operation { gathers, sorts }
            }),
            distinct: block.distinct.then_some(Operation {
                gathers: true,
                sorts: false,
            }),
            ordering: (!block.order.is_empty()).then_some(Operation {
                gathers: false,
                sorts: !block.presorted,
            }),
        }
    }

    /// All of them together, with those of the windows.
    pub fn together(self, block: &Block) -> Operation {
        let all = [self.grouping, self.distinct, self.ordering];
        let is = |what: fn(&Operation) -> bool| all.iter().flatten().any(what);
        let mut windows = block.windowing.iter().flat_map(|w| &w.windows);
        Operation {
            gathers: is(|operation| operation.gathers),
            sorts: is(|operation| operation.sorts) || windows.any(|w| !w.keys.is_empty()),
        }
    }
}

/// What MySQL calls the result of several blocks.
pub(super) fn combined(combined: Combined) -> &'static str {
    match combined {
        Combined::Union { .. } => "union",
        Combined::Intersect { .. } => "intersect",
        Combined::Except { .. } => "except",
    }
}

/// Tells of a constant that is known whether it is false, or 0.
pub(super) type IsFalse<'f> = &'f dyn Fn(&Expr) -> bool;

/// The block has no tables. All other messages say that it gives no rows, and runs nothing.
pub(super) const NO_TABLES: &str = "No tables used";

/// Why a block reads no table, in MySQL's words, if that is known.
pub(super) fn message(block: &Block, is_false: IsFalse<'_>) -> Option<&'static str> {
    let count = block.limit.as_ref().and_then(|limit| limit.count.as_ref());
    if block.constant.iter().any(|c| is_false(&c.expr)) {
        return Some("Impossible WHERE");
    }
    if count.is_some_and(is_false) {
        return Some("Zero limit");
    }
    if block.having.as_ref().is_some_and(|h| is_false(&h.expr)) {
        return Some("Impossible HAVING");
    }
    block.sources.is_empty().then_some(NO_TABLES)
}
