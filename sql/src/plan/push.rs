//! Conditions on the columns of a table that a query computes, which its own tables can be read by.
//! Example:
//!
//! ```text
//! SELECT * FROM (SELECT day, SUM(n) AS n FROM sale GROUP BY day) AS x WHERE x.day = '2026-01-31'
//! ```
//!
//! Of all groups one is wanted, and whether a row belongs to it can be seen before there are groups. The
//! query is compiled once more with the condition in its WHERE. (MySQL: derived condition pushdown.)
//!
//! A row that is left out so must not have a part in any row that the condition admits. So a condition
//! goes only to columns by which rows are gathered (GROUP BY, PARTITION BY, DISTINCT), and must not tell
//! apart what is gathered as one: `'a'` and `'A'` may be, which LIKE and LENGTH can tell apart.

use super::{
    Block, Planner,
    cte::Computing,
    from::{From, Leaf},
    implied::implied,
    loose::is_new_each_time,
    place::rejects_null,
    scope::{Names, Outside},
    walk,
};
use crate::{
    error::SqlError,
    expr::{
        BinaryOp, Expr, ExprType, infer, is_repeatable, is_volatile, visit_operands,
        visit_operands_mut,
    },
};
use cohort_engine::types::{Collation, ColumnType, View};
use sqlparser::ast;
use std::{rc::Rc, sync::Arc};

/// So many tables of a statement are compiled again at most: where they nest, all that is in one is, too.
const AGAIN_MAX: usize = 32;

/// The text of a table that is computed, to compile it again.
#[derive(Clone)]
pub(super) enum TextAgain {
    /// A derived table.
    Derived(Rc<ast::Query>),
    /// A common table expression that is named once, at this position of those in scope.
    Common(usize, Rc<ast::Cte>),
    /// A view.
    View(Arc<View>),
}

/// Conditions on the columns of a query's rows, whose slots are the columns' numbers.
pub(super) type Pushed = Rc<[Expr]>;

impl Planner<'_> {
    /// The text of a table, kept to compile it again; `None` where conditions are not looked for.
    pub(super) fn kept_text(&mut self, text: impl FnOnce() -> TextAgain) -> Option<TextAgain> {
        let may = self.merging && !self.names().elsewhere;
        (may && self.compiled_again < AGAIN_MAX).then(text)
    }

    /// Compiles the tables of FROM again that conditions can be pushed into.
    pub(super) fn push(&mut self, from: &mut From, conditions: &[Expr]) -> Result<(), SqlError> {
        if from.leaves.iter().all(|leaf| leaf.again.is_none()) {
            return Ok(());
        }
        let mut all: Vec<Expr> = from.conditions.iter().chain(conditions).cloned().collect();
        all.extend(implied(&all));
        for at in 0..from.leaves.len() {
            let Some(again) = from.leaves.get_mut(at).and_then(|leaf| leaf.again.take()) else {
                continue;
            };
            let pushed = self.conditions_on(at, from, &all);
            if pushed.is_empty() || self.compiled_again >= AGAIN_MAX {
                continue;
            }
            // The tables were noted when it was compiled without the conditions.
            let mark = self.mark();
            self.compiled_again += 1;
            let shares = self.shares;
            self.shares |= from.keyed;
            let compiled = self.compile_again(&again, pushed.into());
            self.shares = shares;
            self.back_to(mark);
            if let (Some(leaf), computing) = (from.leaves.get_mut(at), compiled?) {
                leaf.input = Leaf::of_derived(computing).input;
            }
        }
        Ok(())
    }

    fn compile_again(&mut self, again: &TextAgain, pushed: Pushed) -> Result<Computing, SqlError> {
        match again {
            TextAgain::Derived(query) => {
                let compile = |planner: &mut Self| planner.query_of(query, Some(&pushed), false);
                Ok(self.derived(Outside::Beyond, compile)?.0)
            }
            TextAgain::Common(at, cte) => {
                let later = self.common.split_off(*at);
                let compile =
                    |planner: &mut Self| planner.query_of(&cte.query, Some(&pushed), false);
                let computing = self.derived(Outside::Nothing, compile);
                self.common.truncate(*at);
                self.common.extend(later);
                Ok(computing?.0)
            }
            TextAgain::View(view) => self.inside(view, |planner, query| {
                let compile =
                    |planner: &mut Planner<'_>| planner.query_of(query, Some(&pushed), false);
                Ok(planner.derived(Outside::Nothing, compile)?.0)
            }),
        }
    }

    /// The conditions that the rows of a computed table must meet to matter, by its columns.
    fn conditions_on(&mut self, at: usize, from: &From, conditions: &[Expr]) -> Vec<Expr> {
        let names = self.names();
        let Some(table) = names.tables.get(at) else {
            return Vec::new();
        };
        // Of an inner table of an outer join the ON that joins it says so. WHERE does if no row of NULLs
        // can meet it.
        let inner = from
            .groups
            .iter()
            .filter(|group| group.leaves.contains(&at));
        let joined = inner.min_by_key(|group| group.leaves.len());
        let counts = |c: &&Expr| joined.is_none() || rejects_null(c, names) & (1 << at) != 0;
        let by_join = joined.iter().flat_map(|group| &group.on);
        let (first, own) = (table.first_slot, table.slots());
        let on_it = |condition: &&Expr| {
            let (mut all, mut any) = (true, false);
            walk::slots(condition, &mut |slot| {
                all &= own.contains(&slot);
                any = true;
            });
            all && any && is_simple(condition)
        };
        let said = conditions.iter().filter(counts).chain(by_join);
        let by_number = |condition: &Expr| {
            let mut condition = condition.clone();
            by_number(&mut condition, first);
            condition
        };
        said.filter(on_it).map(by_number).collect()
    }

    /// Takes conditions on what a block puts out: those that can be checked of the rows that it reads become
    /// conditions like these, and of the others those of rows with results of window functions.
    pub(super) fn receive(
        &mut self,
        pushed: Option<&[Expr]>,
        block: &mut Block,
        conditions: &mut Vec<Expr>,
    ) {
        let Some(pushed) = pushed else {
            return;
        };
        let rolls_up = block.grouping.as_ref().is_some_and(|g| g.rollup.is_some());
        let is_one = block.grouping.as_ref().is_some_and(|g| !g.explicit);
        if rolls_up || is_one || block.limit.is_some() || block.count_all {
            return;
        }
        // What counts the rows that it sees, as `@n := @n + 1` does, must see them all.
        let has_queries = block.output.iter().any(|item| !item.subqueries.is_empty());
        let mut having = block.having.iter().map(|having| &having.expr);
        if has_queries || is_new_each_time(block, conditions) || having.any(is_volatile) {
            return;
        }
        let names = self.names();
        let mut later = Vec::new();
        for condition in pushed {
            let mut early = condition.clone();
            match put_in(&mut early, block, &|output| {
                is_of_each_row(output, block, names)
            }) {
                Some(()) => conditions.push(early),
                None => later.push(condition.clone()),
            }
        }
        // An item that could fail, or warn, is computed of all rows.
        let order = block.order.iter().map(|key| &key.value);
        let all_there = block
            .output
            .iter()
            .chain(order)
            .all(|item| is_there(&item.expr));
        if !all_there || block.windowing.is_none() {
            return;
        }
        later.retain(is_silent);
        later.retain_mut(|condition| put_in(condition, block, &is_there).is_some());
        let later = later.into_iter().map(|condition| names.wrap(condition));
        let later = later.collect();
        if let Some(windowing) = &mut block.windowing {
            windowing.admit(later);
        }
    }
}

/// Whether a condition compares columns with constants and does nothing else, so that it cannot fail,
/// and tells no values apart that are equal for the collation of their column.
fn is_simple(condition: &Expr) -> bool {
    let is_operand = |expr: &Expr, collation: Collation| match expr {
        Expr::Column { ty, .. } => !ty.is_string() || ty.collation == collation,
        other => walk::is_constant(other) && is_repeatable(other),
    };
    match condition {
        Expr::Binary {
            op: BinaryOp::And | BinaryOp::Or,
            left,
            right,
            ..
        } => is_simple(left) && is_simple(right),
        Expr::Binary {
            op,
            left,
            right,
            ty,
            ..
        } => op.is_comparison() && [left, right].iter().all(|e| is_operand(e, ty.collation)),
        Expr::Not(expr) => is_simple(expr),
        Expr::In {
            expr,
            list,
            collation,
            ..
        } => is_operand(expr, *collation) && list.items.iter().all(|e| is_operand(e, *collation)),
        Expr::Between {
            expr,
            low,
            high,
            collation,
            ..
        } => [expr, low, high].iter().all(|e| is_operand(e, *collation)),
        Expr::IsNull { expr, .. } => matches!(expr.as_ref(), Expr::Column { .. }),
        _ => false,
    }
}

/// Whether a simple condition cannot warn: it computes nothing, and takes no text for a number or a time.
/// One that can is evaluated where it is written, and not a second time.
fn is_silent(condition: &Expr) -> bool {
    fn look(expr: &Expr, texts: &mut bool, others: &mut bool) -> bool {
        match expr {
            Expr::Column { .. } | Expr::Literal(..) | Expr::Parameter { .. } => {
                let is_text = infer(expr).is_string();
                *texts |= is_text;
                *others |= !is_text;
                true
            }
            Expr::Binary { op, .. }
                if !(op.is_comparison() || matches!(op, BinaryOp::And | BinaryOp::Or)) =>
            {
                false
            }
            Expr::Binary { .. }
            | Expr::Not(_)
            | Expr::In { .. }
            | Expr::Between { .. }
            | Expr::IsNull { .. } => {
                let mut all = true;
                visit_operands(expr, &mut |operand| all &= look(operand, texts, others));
                all
            }
            _ => false,
        }
    }
    let (mut texts, mut others) = (false, false);
    look(condition, &mut texts, &mut others) && !(texts && others)
}

/// Slots of a table as numbers of its columns.
fn by_number(expr: &mut Expr, first: usize) {
    if let Expr::Column { slot, .. } = expr {
        let number = (*slot as usize).checked_sub(first);
        *slot = number
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(u32::MAX);
        return;
    }
    visit_operands_mut(expr, &mut |operand| by_number(operand, first));
}

/// Puts in what a block computes for its columns. `None` if something of it is not known.
fn put_in(expr: &mut Expr, block: &Block, is_known: &dyn Fn(&Expr) -> bool) -> Option<()> {
    if let Expr::Column { slot, ty } = expr {
        let output = block.output.get(*slot as usize)?;
        let same = is_same(&infer(&output.expr), ty);
        let once = output.subqueries.is_empty() && is_repeatable(&output.expr);
        if !(same && once && is_known(&output.expr)) {
            return None;
        }
        expr.clone_from(&output.expr);
        return Some(());
    }
    let mut known = Some(());
    visit_operands_mut(expr, &mut |operand| {
        known = known.and_then(|()| put_in(operand, block, is_known));
    });
    known
}

/// Whether what a block puts out can be computed of each row that it reads, and says the same there.
fn is_of_each_row(output: &Expr, block: &Block, names: &Names) -> bool {
    let is_value = walk::slot(output).is_some() || infer(output).is_integer();
    is_value && of_tables(output, names) && gathers_by(output, block, names)
}

/// Whether nothing is to be computed for a value.
fn is_there(output: &Expr) -> bool {
    matches!(output, Expr::Column { .. } | Expr::Literal(..))
}

/// Whether what a block computes is the same as the column of the table that has it, as it is compared.
fn is_same(computed: &ExprType, column: &ExprType) -> bool {
    let kind = |ty: &ExprType| (ty.ty, ty.unsigned, ty.collation);
    // The time zone, the number of a member and the bits stay with the column.
    let plain = computed.ty.is_some_and(|ty| {
        !ty.has_members()
            && !matches!(
                ty,
                ColumnType::Timestamp(_) | ColumnType::Bit(_) | ColumnType::Json
            )
    });
    plain && kind(computed) == kind(column)
}

/// Whether an expression is computed of the rows of tables alone: not of groups, windows or outer rows.
fn of_tables(expr: &Expr, names: &Names) -> bool {
    let mut all = true;
    walk::slots(expr, &mut |slot| all &= names.table_of_slot(slot).is_some());
    all
}

/// Whether all rows that a block gathers as one have the same value of an expression.
fn gathers_by(expr: &Expr, block: &Block, names: &Names) -> bool {
    let is_it = |key: &Expr| key == expr;
    let grouped = block
        .grouping
        .as_ref()
        .is_none_or(|grouping| grouping.keys.iter().any(|key| is_it(&key.expr)));
    // Of each window PARTITION BY, and then ORDER BY.
    let mut partitions = names.window_keys.iter().step_by(2);
    grouped && partitions.all(|(_, keys)| keys.iter().any(is_it))
}
