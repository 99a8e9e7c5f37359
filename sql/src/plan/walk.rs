//! Walks over expressions.

use crate::{
    error::SqlError,
    expr::{BinaryOp, Expr, is_volatile, visit_operands, visit_operands_mut},
};

/// How deep an expression may be: evaluation recurses on the session's stack.
const DEPTH_MAX: usize = 150;

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

/// Whether the value is the same for all rows of an execution.
pub(super) fn is_constant(expr: &Expr) -> bool {
    let mut constant = !is_volatile(expr);
    slots(expr, &mut |_| constant = false);
    constant
}

/// The parts of a condition that must all hold.
pub(super) fn conjuncts(expr: Expr) -> Vec<Expr> {
    chain(expr, BinaryOp::And)
}

/// The operands of a chain of one operator, in order.
pub(super) fn chain(expr: Expr, of: BinaryOp) -> Vec<Expr> {
    let mut operands = Vec::new();
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        match expr {
            Expr::Binary {
                op, left, right, ..
            } if op == of => {
                pending.push(*right);
                pending.push(*left);
            }
            other => operands.push(other),
        }
    }
    operands
}

/// Makes chains of AND and OR as flat as they can be, and refuses what is too deep after that.
pub(super) fn balance(expr: Expr) -> Result<Expr, SqlError> {
    let expr = balanced(expr);
    if depth(&expr) > DEPTH_MAX {
        return Err(SqlError::nesting_too_deep());
    }
    Ok(expr)
}

fn depth(expr: &Expr) -> usize {
    let mut deepest = 0;
    visit_operands(expr, &mut |operand| deepest = deepest.max(depth(operand)));
    deepest + 1
}

fn balanced(mut expr: Expr) -> Expr {
    if let Expr::Binary { op, ty, .. } = &expr
        && matches!(op, BinaryOp::And | BinaryOp::Or)
    {
        let (op, ty) = (*op, *ty);
        let operands: Vec<Expr> = chain(expr, op).into_iter().map(balanced).collect();
        return tree(operands, op, ty);
    }
    visit_operands_mut(&mut expr, &mut |operand| {
        let taken = std::mem::replace(operand, Expr::Not(Box::new(null())));
        *operand = balanced(taken);
    });
    expr
}

fn tree(mut operands: Vec<Expr>, op: BinaryOp, ty: crate::expr::ExprType) -> Expr {
    if operands.len() < 2 {
        return operands.pop().unwrap_or_else(null);
    }
    let right = operands.split_off(operands.len() / 2);
    Expr::Binary {
        op,
        left: Box::new(tree(operands, op, ty)),
        right: Box::new(tree(right, op, ty)),
        ty,
    }
}

/// The literal NULL.
pub(super) fn null() -> Expr {
    Expr::Literal(
        cohort_engine::types::Value::Null,
        crate::expr::ExprType::null(),
    )
}
