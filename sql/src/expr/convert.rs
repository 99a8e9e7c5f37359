//! Conversions between values, in expressions.

use super::{EvalContext, ExprType};
use cohort_engine::types::Value;

/// Makes a value what its expression's type says, where a parameter made it something else:
/// for results, whose types the client was told before.
pub fn conform(value: Value, ty: &ExprType, context: &mut EvalContext<'_>) -> Value {
    let _ = (ty, context);
    value
}

/// Appends a value's text form, as a client sees it; nothing for NULL. `decimals` are the digits
/// of a fraction of a time or floating point number that are shown (31: as many as needed).
pub fn text(value: &Value, decimals: u8, out: &mut Vec<u8>) {
    crate::text::put(value, decimals, out);
}
