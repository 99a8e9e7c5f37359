//! The columns that CREATE TABLE … SELECT makes of those of a query.

use super::{
    column::{self, Draft},
    key::Defined,
    syntax::ColumnSyntax,
};
use crate::{
    error::SqlError,
    expr::Statement,
    lexer::is_proper,
    plan::{ColumnOrigin, SelectedColumn},
    selected::column_of_table,
    warnings::Warnings,
};
use cohort_engine::types::schema::DefaultValue;

/// Puts the selected columns behind those that are given. One that is given, too, keeps its type and
/// comes in the place of the selected one, with that one's name and comment.
pub(super) fn merge(
    given: &[ColumnSyntax],
    drafts: Vec<Draft>,
    selected: &[SelectedColumn],
    session: &Statement<'_>,
    warnings: &mut Warnings,
) -> Result<Vec<Draft>, SqlError> {
    check_names(selected.iter().map(|column| column.name.as_str()))?;
    let is = |name: &str, other: &str| name.to_lowercase() == other.to_lowercase();
    let mut drafts: Vec<Option<Draft>> = drafts.into_iter().map(Some).collect();
    let mut behind = Vec::with_capacity(selected.len());
    for column in selected {
        let known = given
            .iter()
            .position(|syntax| is(&syntax.name, &column.name));
        let known = known
            .and_then(|at| drafts.get_mut(at))
            .and_then(Option::take);
        behind.push(match known {
            Some(mut draft) => {
                draft.column.name.clone_from(&column.name);
                draft.column.comment = comment(column);
                draft
            }
            None => new_draft(column, session, warnings),
        });
    }
    Ok(drafts.into_iter().flatten().chain(behind).collect())
}

/// A computed column that is in the primary key has no default.
pub(super) fn without_defaults(
    drafts: &mut [Draft],
    keys: &[Defined],
    selected: &[SelectedColumn],
) {
    let first = drafts.len().saturating_sub(selected.len());
    let primary = keys.iter().filter(|key| key.index.name == "PRIMARY");
    for part in primary.flat_map(|key| &key.index.parts) {
        let position = usize::from(part.column);
        let column = position.checked_sub(first).and_then(|at| selected.get(at));
        let is_new = column.is_some_and(|column| !matches!(column.origin, ColumnOrigin::Stored(_)));
        if let Some(draft) = drafts.get_mut(position).filter(|_| is_new) {
            draft.column.default = DefaultValue::None;
        }
    }
}

/// 1166 for a name that no column can have, 1060 for one that comes twice.
pub(super) fn check_names<'n>(names: impl Iterator<Item = &'n str>) -> Result<(), SqlError> {
    let mut seen = rustc_hash::FxHashSet::default();
    for name in names {
        if !is_proper(name) || column::check_length(name).is_err() {
            return Err(SqlError::wrong_column_name(name));
        }
        if !seen.insert(name.to_lowercase()) {
            return Err(SqlError::duplicate_column(name));
        }
    }
    Ok(())
}

fn comment(selected: &SelectedColumn) -> String {
    match &selected.origin {
        ColumnOrigin::Stored(column) | ColumnOrigin::Derived(column) => column.comment.clone(),
        ColumnOrigin::Typed | ColumnOrigin::Computed | ColumnOrigin::Other => String::new(),
    }
}

fn new_draft(selected: &SelectedColumn, session: &Statement<'_>, warnings: &mut Warnings) -> Draft {
    let column = column_of_table(selected, session);
    column::warn_of(&column, warnings);
    Draft {
        column,
        explicit_null: false,
        explicit_default_null: false,
        is_written: false,
        default_is_written: false,
        source: None,
    }
}
