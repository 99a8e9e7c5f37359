//! Groups, and partitions of a window, whose rows come one after the other: there is one at a time, and with
//! a LIMIT the first groups end the reading. Example, with an index on d:
//!
//! ```text
//! SELECT d, SUM(n) FROM t GROUP BY d ORDER BY d LIMIT 10
//! ```

use super::{
    Access, Block, Computed, Planner, access,
    from::{From, Leaf},
    place::Outlook,
    walk,
};
use crate::expr::Expr;
use cohort_engine::{
    txn::IndexStatistics,
    types::{ColumnType, Index, IndexPart, Table, Value},
};

/// What rows of the first table are gathered by, if that is columns of it.
pub(super) struct InTurn {
    /// The columns.
    columns: Vec<usize>,
    /// How many groups are wanted first.
    first: f64,
    /// The share of rows that conditions leave.
    share: f64,
}

/// A LIMIT that is not known yet is thought to ask for so many groups.
const FIRST_GROUPS: f64 = 10.0;

impl Planner<'_> {
    /// What a block's rows are gathered by, if a path to the rows of its first table could bring those
    /// of each group one after the other.
    pub(super) fn in_turn(
        &mut self,
        block: &Block,
        from: &From,
        leaf: usize,
        outlook: &Outlook,
    ) -> Option<InTurn> {
        let table = from.leaves.get(leaf)?.stored()?;
        let first = self.names().tables.get(leaf)?.first_slot;
        let grouping = block.grouping.as_ref().filter(|g| g.rollup.is_none())?;
        let columns = grouping.keys.iter().map(|key| column(table, first, key));
        let columns: Option<Vec<usize>> = columns.collect();
        let columns = columns.filter(|columns| !columns.is_empty())?;
        Some(InTurn {
            columns,
            first: first_groups(block),
            share: outlook.figures.of(leaf)?.share,
        })
    }

    /// Whether a path to the rows of the only table of a block brings those of each partition of its only
    /// window one after the other, the first partition first.
    pub(super) fn partitions_in_turn(
        &mut self,
        block: &Block,
        from: &From,
        leaf: usize,
        access: &Access,
    ) -> bool {
        let windows = block.windowing.as_ref().map(|w| w.windows.as_slice());
        let (Some([window]), None) = (windows, &block.grouping) else {
            return false;
        };
        let (Some(table), Some(names)) = (
            from.leaves.get(leaf).and_then(Leaf::stored),
            self.names().tables.get(leaf),
        ) else {
            return false;
        };
        let keys = window.keys.get(..window.partition).unwrap_or_default();
        let order = keys
            .iter()
            .map(|key| Some((column(table, names.first_slot, &key.value)?, key.desc)));
        let order: Option<Vec<(usize, bool)>> = order.collect();
        let order = order.filter(|order| !order.is_empty());
        let Some((order, index)) = order.zip(only_index(table, access)) else {
            return false;
        };
        access::gives_order(table, Some(index), access, &order) == Some(access.reverse)
    }
}

/// The column of a table, whose first one is in this slot, that a key is, if equal values of it stand
/// together.
fn column(table: &Table, first: usize, key: &Computed) -> Option<usize> {
    let at = walk::slot(&key.expr)?.checked_sub(first)?;
    // An hour that a time zone has twice is one value of two.
    let column = table.columns.get(at)?;
    (!matches!(column.ty, ColumnType::Timestamp(_))).then_some(at)
}

/// The index whose order a path gives rows in; `None`: it gives them in none.
fn only_index<'t>(table: &'t Table, access: &Access) -> Option<&'t Index> {
    let index = access::index_of(table, access.index)?;
    let by_one_key = access.search.is_none() && access.merged.is_empty();
    (by_one_key && table.array_part(index).is_none()).then_some(index)
}

impl InTurn {
    /// If the rows of each group come one after the other by this path: how many first parts of an
    /// entry's key tell the groups apart.
    pub fn come_by(&self, table: &Table, access: &Access) -> Option<usize> {
        comes_in_turn(table, access, &self.columns)
    }

    /// How many rows are read until the groups that a LIMIT asks for are there.
    pub fn rows_of_first(
        &self,
        table: &Table,
        index: &Index,
        statistics: Option<&IndexStatistics>,
    ) -> f64 {
        let is_key = |part: &IndexPart| self.columns.contains(&usize::from(part.column));
        let parts = table.entry_parts(index).enumerate();
        let last = parts.filter(|(_, part)| is_key(part)).last();
        let entries_of_one = |statistics: &IndexStatistics| {
            let distinct = statistics.distinct.get(last?.0)?;
            Some(statistics.entries as f64 / distinct.max(1.0))
        };
        // Unknown groups could be large: all are read.
        let rows = statistics.and_then(entries_of_one).unwrap_or(f64::INFINITY);
        let met = (rows * self.share).clamp(f64::MIN_POSITIVE, 1.0);
        self.first * rows / met
    }
}

/// How many groups a LIMIT asks for; more than there are if some are refused.
fn first_groups(block: &Block) -> f64 {
    let Some(limit) = block.limit.as_ref().filter(|_| block.having.is_none()) else {
        return f64::INFINITY;
    };
    let number = |expr: &Option<Expr>| match expr {
        None => Some(0.0),
        Some(Expr::Literal(Value::Int(n), _)) => Some(*n as f64),
        Some(Expr::Literal(Value::UInt(n), _)) => Some(*n as f64),
        Some(_) => None,
    };
    let known = number(&limit.count).zip(number(&limit.offset));
    known.map_or(FIRST_GROUPS, |(count, offset)| count + offset)
}

/// If rows with the same values in these columns come one after the other by this path: how many first
/// parts of an entry's key tell which values these are.
fn comes_in_turn(table: &Table, access: &Access, columns: &[usize]) -> Option<usize> {
    let index = only_index(table, access)?;
    let fixed = access::fixed(table, index, access);
    let mut left: Vec<usize> = columns.to_vec();
    left.retain(|column| !fixed.contains(column));
    let mut parts = 0;
    for part in table.entry_parts(index) {
        let column = usize::from(part.column);
        if left.is_empty() {
            return Some(parts);
        }
        parts += 1;
        if fixed.contains(&column) && part.prefix.is_none() {
            continue;
        }
        if part.prefix.is_some() || !left.contains(&column) {
            return None;
        }
        left.retain(|other| *other != column);
    }
    left.is_empty().then_some(parts)
}
