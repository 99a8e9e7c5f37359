//! What of a block can be left to helpers, and what they are given for it: tables that are kept, and the
//! results of subqueries that see no outer row. The statement's thread has computed both.

use super::super::{block::BlockRun, scan::Computed, subquery::Kept};
use crate::{
    expr::{Expr, is_repeatable},
    plan::{Block, Computed as Expression, Input, Query, Source, Subquery},
};
use std::sync::Arc;

/// What the statement's thread has computed for all.
pub(super) struct Known {
    /// For each source the rows, if it keeps any.
    tables: Vec<Option<Arc<Computed>>>,
    /// For each subquery its result, if it sees no outer row.
    subqueries: Vec<Kept>,
}

impl Known {
    /// `None` as long as some of it is not there yet. Helpers need these subqueries.
    pub fn of(run: &BlockRun<'_>, needed: &[usize]) -> Option<Known> {
        let sources = run.block.sources.iter().zip(&run.sources);
        let tables = sources.map(|(source, state)| match (&source.kept, &state.rows) {
            (Some(_), None) => None,
            (_, rows) => Some(rows.clone()),
        });
        let subqueries = run.block.subqueries.iter().zip(&run.kept).enumerate();
        let subqueries = subqueries.map(|(n, (subquery, kept))| match kept {
            Kept::Nothing if needed.contains(&n) && !subquery.query.correlated => None,
            kept => Some(kept.clone()),
        });
        Some(Known {
            tables: tables.collect::<Option<_>>()?,
            subqueries: subqueries.collect::<Option<_>>()?,
        })
    }

    /// Gives it to a helper's run.
    pub fn give(&self, run: &mut BlockRun<'_>) {
        for (state, rows) in run.sources.iter_mut().zip(&self.tables) {
            state.rows.clone_from(rows);
        }
        run.kept.clone_from(&self.subqueries);
    }
}

/// Whether a helper can read the sources of a block and evaluate their conditions, and these
/// expressions: then the subqueries that it needs for that.
pub(super) fn needed<'b>(
    block: &'b Block,
    others: impl Iterator<Item = &'b Expression>,
) -> Option<Vec<usize>> {
    let mut needs = Needs {
        block,
        found: Vec::new(),
    };
    let is_fit = block
        .sources
        .iter()
        .all(|source| source.apart.is_none() && is_plain(source))
        && block
            .sources
            .iter()
            .flat_map(conditions)
            .chain(others)
            .all(|one| needs.add(one));
    is_fit.then_some(needs.found)
}

/// The subqueries that helpers need.
struct Needs<'b> {
    block: &'b Block,
    found: Vec<usize>,
}

impl Needs<'_> {
    /// Whether this depends on nothing but the row and constants, and on subqueries that helpers can run or
    /// are given.
    fn add(&mut self, one: &Expression) -> bool {
        is_repeatable(&one.expr) && one.subqueries.iter().all(|n| self.add_subquery(*n))
    }

    fn add_subquery(&mut self, n: usize) -> bool {
        if self.found.contains(&n) {
            return true;
        }
        let Some(subquery) = self.block.subqueries.get(n) else {
            return false;
        };
        self.found.push(n);
        let mut operands = subquery.usage.pairs().iter().map(|pair| &pair.left);
        is_fit(subquery)
            && subquery.needs.iter().all(|n| self.add_subquery(*n))
            && operands.all(|one| self.add(one))
    }
}

/// Whether helpers can run a subquery, or be given its result.
fn is_fit(subquery: &Subquery) -> bool {
    match subquery.query.correlated {
        true => subquery.repeatable && subquery.query.blocks.iter().all(is_fit_block),
        false => reads_stored(&subquery.query),
    }
}

/// The same of the block of a repeatable one: nothing is made for it that would be counted for each
/// thread.
fn is_fit_block(block: &Block) -> bool {
    let makes_groups = block.grouping.as_ref().is_some_and(|grouping| {
        let mut aggregates = grouping.aggregates.iter();
        !grouping.keys.is_empty() || aggregates.any(|a| a.distinct || !a.order.is_empty())
    });
    !makes_groups
        && !block.distinct
        && block.windowing.is_none()
        && block.sources.iter().all(is_plain)
}

/// Whether all tables of a query are stored ones: those that a session computes are known to it alone.
fn reads_stored(query: &Query) -> bool {
    let mut all = true;
    query.each_source(&mut |source| {
        all &= match &source.input {
            Input::Table(table, _) => !table.is_temporary() && !source.locks(),
            Input::Derived(..) | Input::Json(_) | Input::Working(_) => true,
            Input::Virtual(_) => false,
        };
    });
    all
}

/// The conditions of a source.
fn conditions(source: &Source) -> impl Iterator<Item = &Expression> {
    let outer = source.outer_join.iter().flat_map(|(_, after)| after);
    source.filter.iter().chain(&source.alone).chain(outer)
}

/// Whether a table is stored and read as it is, by whatever key, or kept as it is.
fn is_plain(source: &Source) -> bool {
    let Input::Table(table, access) = &source.input else {
        return false;
    };
    let is_pair_repeatable =
        |(before, own): &(Expr, Expr)| is_repeatable(before) && is_repeatable(own);
    let mut paths = std::iter::once(access).chain(&source.ways);
    !table.is_temporary()
        && !source.locks()
        && source.ranks.is_empty()
        && paths.all(|path| path.search.is_none())
        && source.kept.iter().flatten().all(is_pair_repeatable)
}
