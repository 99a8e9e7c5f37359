//! Evaluation.

use super::{EvalContext, Expr};
use crate::error::SqlError;
use cohort_engine::types::Value;

/// Evaluates an expression on a row.
pub fn eval(expr: &Expr, row: &[Value], context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let _ = (expr, row, context);
    unimplemented!()
}

/// Whether a condition holds: not for NULL. The fast way for predicates.
pub fn holds(
    condition: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<bool, SqlError> {
    let _ = (condition, row, context);
    unimplemented!()
}
