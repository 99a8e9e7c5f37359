//! ONLY_FULL_GROUP_BY: what is selected of a group must be the same for all its rows.

use super::{
    Block, Computed, Grouping,
    from::From,
    scope::{Names, slot_expr},
    walk::{self, slot},
};
use crate::{
    error::SqlError,
    expr::{BinaryOp, Expr, infer, is_volatile, visit_operands, visit_operands_mut},
};
use std::collections::HashSet;

/// Refuses expressions that depend on which row of a group is looked at.
pub(super) fn check(
    block: &Block,
    conditions: &[Expr],
    from: &From,
    names: &Names,
) -> Result<(), SqlError> {
    let Some(grouping) = &block.grouping else {
        return Ok(());
    };
    let determined = determined(&grouping.keys, conditions, from, names);
    let keys: Vec<&Expr> = grouping.keys.iter().map(|k| &k.expr).collect();
    let checker = Checker {
        determined,
        keys,
        names,
    };
    let lists = [
        (
            "SELECT list",
            block.output.iter().map(|o| &o.expr).collect::<Vec<_>>(),
        ),
        (
            "HAVING clause",
            block.having.iter().map(|h| &h.expr).collect(),
        ),
        (
            "ORDER BY clause",
            block.order.iter().map(|o| &o.value.expr).collect(),
        ),
    ];
    for (clause, exprs) in lists {
        for (i, expr) in exprs.iter().enumerate() {
            let Some(slot) = checker.free_column(expr) else {
                continue;
            };
            let column = checker.full_name(slot);
            return Err(refusal(grouping, i, clause, column));
        }
    }
    for (window, keys) in &names.window_keys {
        for (i, key) in keys.iter().enumerate() {
            if let Some(slot) = checker.free_column(key) {
                let clause = format!("PARTITION BY or ORDER BY clause of window '{window}'");
                return Err(refusal(grouping, i, &clause, checker.full_name(slot)));
            }
        }
    }
    Ok(())
}

/// 1055 or 1140 for the expression of this number.
fn refusal(grouping: &Grouping, number: usize, clause: &str, column: String) -> SqlError {
    match grouping.explicit {
        true => SqlError::not_in_group_by(number + 1, clause, column),
        false => SqlError::mix_of_group_functions(number + 1, clause, column),
    }
}

/// Of rows that are distinct in what is selected, ORDER BY sees nothing else.
pub(super) fn check_distinct(block: &Block, names: &Names) -> Result<(), SqlError> {
    let checker = Checker {
        determined: HashSet::new(),
        keys: block.output.iter().map(|o| &o.expr).collect(),
        names,
    };
    for (i, key) in block.order.iter().enumerate() {
        if let Some(slot) = checker.free_column(&key.value.expr) {
            let column = checker.full_name(slot);
            return Err(SqlError::order_by_not_in_select(i + 1, column, "DISTINCT"));
        }
    }
    Ok(())
}

struct Checker<'a> {
    determined: HashSet<usize>,
    keys: Vec<&'a Expr>,
    names: &'a Names,
}

impl Checker<'_> {
    /// A column of the tables that an expression uses outside of what the group determines.
    fn free_column(&self, expr: &Expr) -> Option<usize> {
        if self.keys.contains(&expr) || is_any_value(expr) {
            return None;
        }
        if let Some(slot) = slot(expr) {
            return self.free_slot(slot);
        }
        let mut free = None;
        visit_operands(expr, &mut |operand| {
            free = free.or_else(|| self.free_column(operand))
        });
        free
    }

    /// The column that a slot is, or that a subquery reads whose result it is.
    fn free_slot(&self, slot: usize) -> Option<usize> {
        if self.names.is_window_result(slot) {
            let read = self.names.read_by_window(slot);
            return read.into_iter().find_map(|expr| self.free_column(&expr));
        }
        let subquery = self.names.subquery_of(slot);
        let Some(subquery) = subquery.and_then(|n| self.names.subqueries.get(n)) else {
            let is_key = self.keys.iter().any(|key| walk::slot(key) == Some(slot));
            let known = is_key || self.determined.contains(&slot);
            return Some(slot).filter(|_| !known && self.names.table_of_slot(slot).is_some());
        };
        let mut pairs = subquery.usage.pairs().iter();
        let compared = pairs.find_map(|pair| self.free_column(&pair.left.expr));
        let mut outer = subquery.query.blocks.iter().flat_map(|block| &block.outer);
        compared.or_else(|| outer.find_map(|(from, _)| self.free_slot(*from)))
    }

    fn full_name(&self, slot: usize) -> String {
        self.names.full_name(slot)
    }
}

/// Whether it is a call of ANY_VALUE, which stands for this check being left out.
fn is_any_value(expr: &Expr) -> bool {
    matches!(expr, Expr::Function { function, .. } if function.name == "any_value")
}

/// Whether an expression is the same for all rows of the block: it sees nothing but rows around it.
fn is_fixed(expr: &Expr, names: &Names) -> bool {
    let mut fixed = !is_volatile(expr);
    walk::slots(expr, &mut |slot| {
        fixed &= names.outer.iter().any(|(_, to, _)| *to == slot);
    });
    fixed
}

/// The columns that are the same in all rows of a group: those grouped by, those equal to such or
/// to a constant, and all of a table of which a unique key is.
fn determined(
    keys: &[Computed],
    conditions: &[Expr],
    from: &From,
    names: &Names,
) -> HashSet<usize> {
    let mut set: HashSet<usize> = keys.iter().filter_map(|k| slot(&k.expr)).collect();
    let equalities: Vec<(&Expr, &Expr)> = conditions
        .iter()
        .chain(&from.conditions)
        .filter_map(|c| match c {
            Expr::Binary {
                op: BinaryOp::Eq,
                left,
                right,
                ..
            } => Some((left.as_ref(), right.as_ref())),
            _ => None,
        })
        .collect();
    loop {
        let before = set.len();
        for (a, b) in equalities.iter().flat_map(|&(a, b)| [(a, b), (b, a)]) {
            let known = is_fixed(b, names) || slot(b).is_some_and(|s| set.contains(&s));
            if let Some(slot) = slot(a).filter(|_| known) {
                set.insert(slot);
            }
        }
        for named in &names.tables {
            let Some(table) = &named.table else { continue };
            let unique = table
                .primary
                .iter()
                .chain(table.indexes.iter().filter(|i| i.unique));
            for index in unique {
                let whole = index.parts.iter().all(|p| {
                    let column = usize::from(p.column);
                    p.prefix.is_none()
                        && set.contains(&(named.first_slot + column))
                        && table.columns.get(column).is_some_and(|c| !c.nullable)
                });
                if whole {
                    set.extend(named.first_slot..named.first_slot + named.columns.len());
                }
            }
        }
        if set.len() == before {
            return set;
        }
    }
}

/// A group has one value of each key, even where every evaluation gives another one (RAND, user
/// variables): what refers to such a key reads the value that the group was made by.
pub(super) fn keep_volatile(block: &mut Block, names: &mut Names) {
    let Some(grouping) = &mut block.grouping else {
        return;
    };
    // What refers to a key reads a slot already.
    if grouping.rollup.is_some() {
        return;
    }
    for (number, key) in grouping.keys.iter().enumerate() {
        if !is_volatile(&key.expr) {
            continue;
        }
        let slot = names.new_slot();
        grouping.kept.push((number, slot));
        let value = slot_expr(slot, infer(&key.expr).computed());
        // Another item of the same words is another call.
        if let Some(item) = block.output.iter_mut().find(|o| o.expr == key.expr) {
            item.expr = value.clone();
        }
        let having = block.having.iter_mut().map(|having| &mut having.expr);
        let order = block.order.iter_mut().map(|order| &mut order.value.expr);
        let windows = block.windowing.iter_mut().flat_map(|w| &mut w.inputs);
        having
            .chain(order)
            .chain(windows.map(|input| &mut input.value.expr))
            .for_each(|expr| replace(expr, &key.expr, &value));
    }
}

fn replace(expr: &mut Expr, from: &Expr, to: &Expr) {
    if expr == from {
        *expr = to.clone();
    } else {
        visit_operands_mut(expr, &mut |operand| replace(operand, from, to));
    }
}
