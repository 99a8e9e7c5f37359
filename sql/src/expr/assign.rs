//! Conversion for storing into a column: errors in strict mode, else warnings and the nearest
//! value that fits.

use super::EvalContext;
use crate::error::SqlError;
use cohort_engine::types::{Column, Value};

/// Converts a value to a column's type, as INSERT and UPDATE do.
pub fn assign(
    column: &Column,
    value: Value,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let _ = (column, value, context);
    unimplemented!()
}
