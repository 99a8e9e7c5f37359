//! The values of generated columns, which rows hold like others: they are computed whenever the rest
//! of a row is known, before it is encoded.

use super::{ExecContext, Stop, named};
use crate::{
    error::SqlError,
    expr::{EvalContext, Expr, NoArray, Origin, assign_from, eval, infer, typed_array},
    plan::TableDemands,
    warnings::Level,
};
use cohort_engine::types::{Column, IndexPart, Table, Value};

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
        let Some(column) = table.columns.get(*position) else {
            continue;
        };
        let value = match column.is_hidden() {
            true => functional_value(table, *position, column, (expression, row), context)?,
            false => value(table, column, expression, row, context)
                .map_err(|error| error.in_table(&table.name))?,
        };
        if let Some(slot) = row.get_mut(*position) {
            *slot = value;
        }
    }
    if demands.generated.is_empty() {
        return Ok(());
    }
    context.check_losses()
}

fn value(
    table: &Table,
    column: &Column,
    expression: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let value = eval(expression, row, context).map_err(|error| named::in_table(error, table))?;
    assign_from(column, value, || Origin::of_expr(expression), context)
}

/// The value of a column that is there for an index: errors and warnings name that one.
fn functional_value(
    table: &Table,
    position: usize,
    column: &Column,
    (expression, row): (&Expr, &[Value]),
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let uses = |part: &IndexPart| usize::from(part.column) == position;
    let mut indexes = table.indexes.iter();
    let index = indexes.find(|index| index.parts.iter().any(uses));
    let index = index.map_or("", |index| index.name.as_str());
    let number = context.row_number;
    let words = |error: SqlError| match error.code {
        1264 => (
            Level::Error,
            SqlError::functional_out_of_range(index, number),
        ),
        1265 | 1292 | 1366 => (Level::Error, SqlError::functional_truncated(index, number)),
        1406 => (Level::Error, SqlError::functional_too_long(index)),
        // It counts as 0 or NULL, as in a SELECT.
        3156 => (Level::Warning, SqlError::functional_invalid_json(index)),
        _ => (Level::Error, error),
    };
    if let Some(element) = &column.element {
        let of = (index, &**element);
        return array(of, table, (expression, row), context);
    }
    let mark = context.warnings.begin_rewording();
    let value = value(table, column, expression, row, context);
    context.warnings.reword(mark, &words);
    value.map_err(|error| words(error).1)
}

/// The array of a column that a multi-valued index is on.
fn array(
    (index, element): (&str, &Column),
    table: &Table,
    (expression, row): (&Expr, &[Value]),
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let value = eval(expression, row, context).map_err(|error| named::in_table(error, table))?;
    let number = context.row_number;
    let strict = context.is_strict();
    let made = typed_array(&value, &infer(expression), element, context);
    let (array, lost) = made.map_err(|why| match why {
        NoArray::Other(error) => error,
        NoArray::Nested => SqlError::array_in_scalar_part(index),
        NoArray::Instead(what) => {
            SqlError::not_supported(format_args!("CAST-ing JSON {what} type to array"))
        }
        NoArray::Element(error) => match (error.code, element.ty) {
            (3155, _) => SqlError::functional_json_out_of_range(index),
            (3156, _) => SqlError::functional_invalid_json(index),
            (_, ty) if ty.is_string() && strict => SqlError::functional_too_long(index),
            (_, ty) if ty.is_temporal() && strict => SqlError::functional_truncated(index, number),
            _ => SqlError::functional_out_of_range(index, number),
        },
    })?;
    for level in lost {
        let truncated = SqlError::functional_truncated(index, number);
        context.warnings.push(level, truncated);
    }
    Ok(array)
}
