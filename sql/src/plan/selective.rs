//! Expressions whose subqueries are not all needed for each row: see `exec::needed`.

use crate::expr::{BinaryOp, Expr, is_volatile, visit_operands};

/// Functions that evaluate their arguments up to the first that is not NULL.
pub(crate) fn is_first_of(function: &str) -> bool {
    matches!(function, "ifnull" | "coalesce")
}

/// Whether it depends on the row which of the subqueries of an expression are needed, and can be found out
/// before it is evaluated. What differs each time that it is evaluated tells nothing beforehand; nor does a
/// user variable, which one of the subqueries may set.
pub(super) fn is_selective(expr: &Expr, is_subquery: &dyn Fn(usize) -> bool) -> bool {
    !is_volatile(expr) && !reads_variable(expr) && has_branch(expr, is_subquery)
}

fn reads_variable(expr: &Expr) -> bool {
    let mut reads = matches!(expr, Expr::UserVariable { .. });
    visit_operands(expr, &mut |operand| reads |= reads_variable(operand));
    reads
}

fn has_branch(expr: &Expr, is_subquery: &dyn Fn(usize) -> bool) -> bool {
    let has = |expr: &Expr| has_slot(expr, is_subquery);
    let here = match expr {
        Expr::Binary {
            op: BinaryOp::And | BinaryOp::Or,
            right,
            ..
        } => has(right),
        Expr::Case { .. } => has(expr),
        Expr::Function { function, args, .. }
            if function.name == "if" || is_first_of(function.name) =>
        {
            args.iter().skip(1).any(has)
        }
        _ => false,
    };
    let mut selective = here;
    visit_operands(expr, &mut |operand| {
        selective |= has_branch(operand, is_subquery);
    });
    selective
}

/// Whether an expression reads a slot that is wanted.
pub(crate) fn has_slot(expr: &Expr, is_wanted: &dyn Fn(usize) -> bool) -> bool {
    let mut has = match expr {
        Expr::Column { slot, .. } => is_wanted(*slot as usize),
        _ => false,
    };
    visit_operands(expr, &mut |operand| has |= has_slot(operand, is_wanted));
    has
}
