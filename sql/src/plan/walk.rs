//! Walks over expressions.

use crate::expr::{BinaryOp, Expr, ExprType, chain, compute_once, is_volatile, visit_operands};

/// Calls `visit` with an expression and all those in it, outermost first.
pub(super) fn walk(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit(expr);
    visit_operands(expr, &mut |operand| walk(operand, visit));
}

/// Calls `visit` with each slot that an expression reads.
pub(super) fn slots(expr: &Expr, visit: &mut dyn FnMut(usize)) {
    walk(expr, &mut |e| {
        if let Expr::Column { slot, .. } = e {
            visit(*slot as usize);
        }
    });
}

/// The slot that an expression is, if it is one.
pub(super) fn slot(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column { slot, .. } => Some(*slot as usize),
        _ => None,
    }
}

/// Both sides of an equality, and the type of the comparison, if an expression is one.
pub(super) fn equality(expr: &Expr) -> Option<(&Expr, &Expr, &ExprType)> {
    match expr {
        Expr::Binary {
            op: BinaryOp::Eq,
            left,
            right,
            ty,
        } => Some((left, right, ty)),
        _ => None,
    }
}

/// Whether the value is the same for all rows of an execution.
pub(super) fn is_constant(expr: &Expr) -> bool {
    let mut constant = !is_volatile(expr);
    slots(expr, &mut |_| constant = false);
    constant
}

/// WHERE or ON as what must all hold, each ready to be checked for many rows.
pub(super) fn conditions(expr: Expr) -> Vec<Expr> {
    let mut conditions = conjuncts(expr);
    conditions.iter_mut().for_each(compute_once);
    conditions
}

/// The parts of a condition that must all hold.
pub(super) fn conjuncts(expr: Expr) -> Vec<Expr> {
    chain(expr, BinaryOp::And)
}
