//! The values of generated columns, which rows hold like others: they are computed whenever the rest
//! of a row is known, before it is encoded.

use super::{ExecContext, Stop};
use crate::{
    error::SqlError,
    expr::{EvalContext, Origin, assign_from, eval},
    plan::TableDemands,
};
use cohort_engine::types::{Table, Value};

/// Computes the generated columns of a row of a table.
pub(super) fn fill(
    table: &Table,
    row: &mut [Value],
    context: &mut ExecContext,
) -> Result<(), Stop> {
    match context.demands.of_table(table.id) {
        Some(demands) => Ok(fill_values(demands, table, row, &mut context.eval)?),
        None => Ok(()),
    }
}

/// The same for a row of which the demands of the table are known. They are computed in order, for
/// each may use those before it.
pub(crate) fn fill_values(
    demands: &TableDemands,
    table: &Table,
    row: &mut [Value],
    context: &mut EvalContext<'_>,
) -> Result<(), SqlError> {
    for (position, expression) in &demands.generated {
        let value = eval(expression, row, context)?;
        let Some(column) = table.columns.get(*position) else {
            continue;
        };
        let assigned = assign_from(column, value, || Origin::of_expr(expression), context);
        let value = assigned.map_err(|error| error.in_table(&table.name))?;
        if let Some(slot) = row.get_mut(*position) {
            *slot = value;
        }
    }
    if demands.generated.is_empty() {
        return Ok(());
    }
    context.check_losses()
}
