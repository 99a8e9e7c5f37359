//! CHECK constraints of rows that are inserted or updated, and WITH CHECK OPTION of views.

use super::{ExecContext, Stop};
use crate::{
    error::SqlError,
    expr::{EvalContext, is_false, is_true},
    plan::TableDemands,
};
use cohort_engine::types::{Table, Value, row};

/// 3819 if a row that is to be inserted breaks a constraint. `false`: it does, and IGNORE has made a
/// warning of it.
pub(super) fn accepts(
    table: &Table,
    row: &[Value],
    context: &mut ExecContext,
) -> Result<bool, Stop> {
    let Some(demands) = context.demands.of_table(table.id) else {
        return Ok(true);
    };
    let checked = check_views(demands, row, &mut context.eval)
        .and_then(|()| check_values(demands, row, &mut context.eval));
    match checked {
        Ok(()) => Ok(true),
        Err(error) if context.ignore && is_violation(&error) => {
            context.eval.warnings.warn(error);
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// 3819 if a row breaks one.
pub(super) fn check_image(
    table: &Table,
    image: &[u8],
    context: &mut ExecContext,
) -> Result<(), Stop> {
    match context.demands.of_table(table.id) {
        Some(demands) if !demands.checks.is_empty() || !demands.views.is_empty() => {
            let row = row::decode(table, image)?;
            check_views(demands, &row, &mut context.eval)?;
            Ok(check_values(demands, &row, &mut context.eval)?)
        }
        _ => Ok(()),
    }
}

/// 1369 if a view that a row is written through would not show it.
fn check_views(
    demands: &TableDemands,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<(), SqlError> {
    for demand in &demands.views {
        for condition in &demand.conditions {
            if !is_true(condition, row, context)? {
                let view = &demand.view;
                return Err(SqlError::check_option_failed(&view.database, &view.name));
            }
        }
    }
    Ok(())
}

/// The same of decoded values. NULL is enough.
pub(crate) fn check_values(
    demands: &TableDemands,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<(), SqlError> {
    for (name, condition) in &demands.checks {
        let checking = std::mem::replace(&mut context.checking, true);
        let broken = is_false(condition, row, context);
        context.checking = checking;
        // What fails in strict mode, such as a division by zero, breaks it, too.
        let lost = context.check_losses();
        match broken {
            Err(error) if error.is_of_server() => return Err(error),
            Ok(false) if lost.is_ok() => {}
            Ok(_) | Err(_) => return Err(SqlError::check_violated(name)),
        }
    }
    Ok(())
}

/// Whether it is the error of a constraint, or of WITH CHECK OPTION.
pub(super) fn is_violation(error: &SqlError) -> bool {
    let errors = [
        SqlError::check_violated(""),
        SqlError::check_option_failed("", ""),
    ];
    errors.iter().any(|known| known.code == error.code)
}
