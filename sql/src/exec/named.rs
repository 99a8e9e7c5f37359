//! Names in errors and warnings: evaluation knows columns by their slots, and what shows an expression is
//! told here what these hold. What comes out of several blocks is told by each of them.

use super::{ExecContext, Stop};
use crate::{
    error::SqlError,
    plan::{Block, Naming},
};
use cohort_engine::types::{Table, Value};
use std::cell::LazyCell;

/// Puts names into what a part of the plan has told.
pub(super) fn named<'a, T>(
    context: &mut ExecContext<'a>,
    naming: impl Fn(&'a [Value]) -> Naming<'a>,
    part: impl FnOnce(&mut ExecContext<'a>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let known = context.eval.warnings.kept();
    let mut result = part(context);
    let params = context.eval.params;
    let told = context.eval.warnings.since(known);
    let failed = match &mut result {
        Err(Stop::Error(error)) => Some(error),
        Err(_) | Ok(_) => None,
    };
    let naming = LazyCell::new(|| naming(params));
    for error in told.chain(failed).filter(|error| error.shows_expression()) {
        error.message = naming.put_in(&error.message);
    }
    result
}

/// The same of a block.
pub(super) fn in_block<'a, T>(
    block: &Block,
    context: &mut ExecContext<'a>,
    part: impl FnOnce(&mut ExecContext<'a>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    named(context, |params| Naming::in_error(block, params), part)
}

/// Puts names into an error of an expression that belongs to a table.
pub(super) fn in_table(mut error: SqlError, table: &Table) -> SqlError {
    if error.shows_expression() {
        error.message = Naming::in_table(table).put_in(&error.message);
    }
    error
}
