//! Generated columns in schema changes.
//!
//! Their expressions name columns, so they are defined when all columns of the table are known. Like
//! the constraints (`check`) they are kept with the names of these, which stay as long as a generated
//! column uses them.

use super::{
    DdlContext,
    column::Draft,
    syntax::{Action, ForeignKeySyntax, KeyKind, KeySyntax},
};
use crate::{
    error::SqlError,
    expr::Statement,
    row_expr::{self, Purpose},
};
use cohort_engine::types::{Column, ReferentialAction, Table};
use std::collections::BTreeSet;

/// Completes the generated columns of a table whose columns are known, and checks what they use:
/// 3107, 3109.
pub(super) fn define(drafts: &mut [Draft], ctx: &mut DdlContext<'_>) -> Result<(), SqlError> {
    if drafts.iter().all(|draft| draft.column.generated.is_none()) {
        return Ok(());
    }
    let columns: Vec<Column> = drafts.iter().map(|draft| draft.column.clone()).collect();
    for (position, draft) in drafts.iter_mut().enumerate() {
        let is_hidden = draft.column.is_hidden();
        let Some(generated) = draft.column.generated.as_mut().filter(|_| !is_hidden) else {
            continue;
        };
        let purpose = Purpose::Generated(&draft.column.name);
        let text = &generated.expression;
        let used = if draft.is_written {
            let defined = row_expr::define(purpose, text, &columns, ctx.session)?;
            for warning in defined.warnings {
                ctx.warnings.warn(warning);
            }
            generated.expression = defined.text;
            defined.columns
        } else {
            row_expr::columns_of(purpose, text, &columns, ctx.session)?
        };
        check_order(position, &used, &columns)?;
    }
    Ok(())
}

fn check_order(
    position: usize,
    used: &BTreeSet<usize>,
    columns: &[Column],
) -> Result<(), SqlError> {
    for (at, column) in used.iter().filter_map(|at| Some((*at, columns.get(*at)?))) {
        if column.generated.is_some() && at >= position {
            return Err(SqlError::generated_order());
        }
        if column.auto_increment {
            let name = columns.get(position).map_or("", |column| &column.name);
            return Err(SqlError::generated_of_auto_increment(name));
        }
    }
    Ok(())
}

/// 3106 for a column that changes between virtual and others; 3108 for one that goes, or gets
/// another name, while a generated column of before uses it; 1221 for a default.
pub(super) fn check_changes(
    old: &Table,
    drafts: &[Draft],
    actions: &[Action],
    session: &Statement<'_>,
) -> Result<(), SqlError> {
    for draft in drafts {
        let before = draft.source.and_then(|source| old.columns.get(source));
        if before.is_some_and(|before| before.is_virtual() != draft.column.is_virtual()) {
            return Err(SqlError::not_for_generated("Changing the STORED status"));
        }
        if draft.is_written {
            continue;
        }
        let (Some(before), Some(_)) = (before, &draft.column.generated) else {
            continue;
        };
        for position in columns_of(before, &old.columns, session)? {
            let mut after = drafts.iter();
            let after = after.find(|draft| draft.source == Some(position));
            let name = old.columns.get(position).map_or("", |column| &column.name);
            if after.is_none_or(|after| !after.column.name.eq_ignore_ascii_case(name)) {
                return Err(match draft.column.is_hidden() {
                    true => SqlError::functional_dependency(name),
                    false => SqlError::generated_dependency(name),
                });
            }
        }
    }
    for action in actions {
        if let Action::SetDefault(name, Some(_)) = action
            && let Some(position) = old.column_position(name)
            && old
                .columns
                .get(position)
                .is_some_and(|c| c.generated.is_some())
        {
            return Err(SqlError::wrong_usage("DEFAULT", "generated column"));
        }
    }
    Ok(())
}

/// The positions of the columns that a generated column uses; of others, none.
fn columns_of(
    column: &Column,
    columns: &[Column],
    session: &Statement<'_>,
) -> Result<BTreeSet<usize>, SqlError> {
    match &column.generated {
        None => Ok(BTreeSet::new()),
        Some(generated) => {
            let purpose = Purpose::Generated(&column.name);
            row_expr::columns_of(purpose, &generated.expression, columns, session)
        }
    }
}

/// 3106 for a primary key of virtual columns.
pub(super) fn check_primary(keys: &[KeySyntax], drafts: &[Draft]) -> Result<(), SqlError> {
    let mut parts = keys
        .iter()
        .filter(|key| key.kind == KeyKind::Primary)
        .flat_map(|key| &key.parts);
    let is_virtual = |name: &str| {
        let is_it = |draft: &&Draft| draft.column.name.eq_ignore_ascii_case(name);
        let draft = drafts.iter().find(is_it);
        draft.is_some_and(|draft| draft.column.is_virtual())
    };
    match parts.any(|part| is_virtual(&part.column)) {
        true => Err(SqlError::not_for_generated(
            "Defining a virtual generated column as primary key",
        )),
        false => Ok(()),
    }
}

/// What a foreign key may not do to generated columns: 3104. (3733 comes when its name is known.)
pub(super) fn check_foreign_key(syntax: &ForeignKeySyntax, child: &Table) -> Result<(), SqlError> {
    let columns = syntax.columns.iter();
    let mut columns = columns.filter_map(|name| child.columns.get(child.column_position(name)?));
    if !columns.any(|column| column.generated.is_some()) {
        return Ok(());
    }
    let clause = match (syntax.on_update, syntax.on_delete) {
        (ReferentialAction::Cascade, _) => "ON UPDATE CASCADE",
        (ReferentialAction::SetNull, _) => "ON UPDATE SET NULL",
        (_, ReferentialAction::SetNull) => "ON DELETE SET NULL",
        _ => return Ok(()),
    };
    Err(SqlError::foreign_key_of_generated(clause))
}

/// 1215 for a foreign key with consequences for a column that a stored generated column uses.
pub(super) fn check_base_columns(table: &Table, session: &Statement<'_>) -> Result<(), SqlError> {
    let changes = |action| {
        matches!(
            action,
            ReferentialAction::Cascade | ReferentialAction::SetNull
        )
    };
    let keys = table.foreign_keys.iter();
    let keys: Vec<_> = keys
        .filter(|key| changes(key.on_update) || changes(key.on_delete))
        .collect();
    if keys.is_empty() {
        return Ok(());
    }
    for column in table.columns.iter().filter(|column| !column.is_virtual()) {
        let used = columns_of(column, &table.columns, session)?;
        let mut own = keys.iter().flat_map(|key| &key.columns);
        if own.any(|position| used.contains(&usize::from(*position))) {
            return Err(SqlError::cannot_add_foreign_key());
        }
    }
    Ok(())
}
