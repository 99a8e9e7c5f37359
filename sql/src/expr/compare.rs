//! Comparison by MySQL's rules.

use super::EvalContext;
use crate::error::SqlError;
use cohort_engine::types::{Collation, Value};
use std::cmp::Ordering;

/// How two values compare by MySQL's rules for comparing any types; `None` if either is NULL.
pub fn compare(
    left: &Value,
    right: &Value,
    collation: Collation,
    context: &mut EvalContext<'_>,
) -> Result<Option<Ordering>, SqlError> {
    let _ = (left, right, collation, context);
    unimplemented!()
}

/// The order of ORDER BY, MIN, MAX and indexes: NULL first, values of one type by their order.
#[must_use]
pub fn order(left: &Value, right: &Value, collation: Collation) -> Ordering {
    let _ = (left, right, collation);
    unimplemented!()
}

/// Appends bytes that are equal for values that are equal (for GROUP BY, DISTINCT and hash
/// joins), NULLs included.
pub fn hash_key(value: &Value, collation: Collation, key: &mut Vec<u8>) {
    let _ = (value, collation, key);
    unimplemented!()
}
