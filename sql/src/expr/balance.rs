//! How deep an expression is. Its evaluation recurses so deep.

use super::{BinaryOp, Expr, ExprType, Scope, resolve, visit_operands, visit_operands_mut};
use crate::error::SqlError;
use sqlparser::ast;

/// About as deep as MySQL's stack allows.
const DEPTH_MAX: usize = 2_000;

/// Resolves an expression: its names are slots then, and its types known. Chains of AND and OR are
/// made as flat as they can be; 1436 if it is too deep after that.
pub fn resolve_expr(ast: &ast::Expr, scope: &mut dyn Scope) -> Result<Expr, SqlError> {
    let expr = balanced(resolve::resolve(ast, scope)?);
    if depth(&expr) > DEPTH_MAX {
        return Err(SqlError::nesting_too_deep());
    }
    Ok(expr)
}

/// How deep an expression is.
#[must_use]
pub fn depth(expr: &Expr) -> usize {
    let mut deepest = 0;
    visit_operands(expr, &mut |operand| deepest = deepest.max(depth(operand)));
    deepest + 1
}

/// The operands of a chain of one operator, in order.
pub fn chain(expr: Expr, of: BinaryOp) -> Vec<Expr> {
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

fn balanced(mut expr: Expr) -> Expr {
    if let Expr::Binary { op, ty, .. } = &expr
        && matches!(op, BinaryOp::And | BinaryOp::Or)
    {
        let (op, ty) = (*op, *ty);
        let operands: Vec<Expr> = chain(expr, op).into_iter().map(balanced).collect();
        return joined_by(operands, op, ty);
    }
    visit_operands_mut(&mut expr, &mut |operand| {
        let taken = std::mem::replace(operand, Expr::null());
        *operand = balanced(taken);
    });
    expr
}

/// The chain of one operator with these operands, as flat as it can be; NULL of none.
#[must_use]
pub fn joined_by(mut operands: Vec<Expr>, op: BinaryOp, ty: ExprType) -> Expr {
    if operands.len() < 2 {
        return operands.pop().unwrap_or_else(Expr::null);
    }
    let right = operands.split_off(operands.len() / 2);
    Expr::Binary {
        op,
        left: Box::new(joined_by(operands, op, ty)),
        right: Box::new(joined_by(right, op, ty)),
        ty,
    }
}
