//! Expressions of DEFAULT in schema changes.
//!
//! They may name other columns, so they are defined when all columns of the table are known. A column
//! stays, and keeps its name, as long as one uses it.

use super::{DdlContext, column::Draft};
use crate::{
    defaults,
    error::SqlError,
    expr::{SqlMode, Statement},
    row_expr::Settings,
};
use cohort_engine::types::{Column, ColumnType, Table, schema::DefaultValue, temporal};

/// Completes the defaults of a table whose columns are known, and checks what they use: 3767, 3768.
pub(super) fn define(drafts: &mut [Draft], ctx: &mut DdlContext<'_>) -> Result<(), SqlError> {
    if !drafts.iter().any(has_expression) {
        return Ok(());
    }
    let columns: Vec<Column> = drafts.iter().map(|draft| draft.column.clone()).collect();
    for (position, draft) in drafts.iter_mut().enumerate() {
        let is_written = std::mem::take(&mut draft.default_is_written);
        let Column { name, default, .. } = &mut draft.column;
        let DefaultValue::Expression(text) = default else {
            continue;
        };
        if is_written {
            *text = defaults::define(name, text, &columns, ctx.session)?;
        }
        let settings = Settings::of(ctx.session);
        for at in defaults::columns_of(name, text, &columns, settings)? {
            let used = columns.get(at).map(|column| (at, column));
            used.map_or(Ok(()), |used| check_use(name, position, used))?;
        }
    }
    Ok(())
}

/// 1067 for a date that stands there from another sql_mode as a default, and that this one does not
/// take; a warning outside strict mode.
pub(super) fn check_kept(column: &Column, ctx: &mut DdlContext<'_>) -> Result<(), SqlError> {
    let DefaultValue::Literal(text) = &column.default else {
        return Ok(());
    };
    let has_date = matches!(
        column.ty,
        ColumnType::Date | ColumnType::DateTime(_) | ColumnType::Timestamp(_)
    );
    let date = temporal::parse(text.as_bytes()).map(|parsed| parsed.value.date);
    let Some(date) = date.filter(|_| has_date) else {
        return Ok(());
    };
    let mode = ctx.session.sql_mode;
    let refused = match date.is_zero() {
        true => mode.has(SqlMode::NO_ZERO_DATE),
        false => date.has_zero_part() && mode.has(SqlMode::NO_ZERO_IN_DATE),
    };
    match (refused, mode.has(SqlMode::STRICT)) {
        (false, _) => Ok(()),
        (true, true) => Err(SqlError::invalid_default(&column.name)),
        (true, false) => {
            ctx.warnings.warn(SqlError::out_of_range(&column.name, 1));
            Ok(())
        }
    }
}

fn has_expression(draft: &Draft) -> bool {
    matches!(draft.column.default, DefaultValue::Expression(_))
}

/// What is wrong with a column in the default of the column of this name and position.
fn check_use(name: &str, position: usize, (at, used): (usize, &Column)) -> Result<(), SqlError> {
    let is_computed = used.generated.is_some() || used.default.is_computed();
    if used.auto_increment {
        return Err(SqlError::default_of_auto_increment(name));
    }
    if at >= position && is_computed {
        return Err(SqlError::default_order(name));
    }
    if used.generated.is_some() {
        return Err(SqlError::not_supported(format_args!(
            "generated columns in DEFAULT expressions: {}",
            used.name
        )));
    }
    Ok(())
}

/// 3766 for a column that goes, or gets another name, while a default of before uses it.
pub(super) fn check_changes(
    old: &Table,
    drafts: &[Draft],
    session: &Statement<'_>,
) -> Result<(), SqlError> {
    for draft in drafts.iter().filter(|draft| !draft.default_is_written) {
        let (Some(_), DefaultValue::Expression(text)) = (draft.source, &draft.column.default)
        else {
            continue;
        };
        let settings = Settings::of(session);
        for position in defaults::columns_of(&draft.column.name, text, &old.columns, settings)? {
            let name = old.columns.get(position).map_or("", |column| &column.name);
            let mut after = drafts.iter();
            let after = after.find(|draft| draft.source == Some(position));
            if after.is_none_or(|after| !after.column.name.eq_ignore_ascii_case(name)) {
                return Err(SqlError::default_dependency(name, &old.name));
            }
        }
    }
    Ok(())
}
