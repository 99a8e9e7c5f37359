//! Changes after which rows only have another shape, so that none of them is waited for: columns come with
//! one value for all rows, go, or change places. MySQL calls this INSTANT.

use super::{
    DdlContext,
    alter::same_parts,
    convert,
    syntax::Action,
    way::{Asked, Change},
};
use crate::error::SqlError;
use cohort_engine::types::{
    Column, Table,
    row::{Reshape, Source},
    schema::TreeId,
};

/// A table has this many shapes of rows at most that wait to become the newest one.
const SHAPES_MAX: usize = 64;

/// What becomes of the rows, if they and the entries of indexes keep their values. The new table has the trees of the
/// indexes that stay.
pub(super) fn of(
    change: &Change<'_>,
    asked: Asked,
    ctx: &DdlContext<'_>,
) -> Result<Option<Reshape>, SqlError> {
    let references = |action: &Action| matches!(action, Action::AddForeignKey(_));
    let Change { old, new, .. } = change;
    if old.is_temporary() || change.actions.iter().any(references) || !keeps_indexes(change) {
        return Ok(None);
    }
    let mut from = Vec::with_capacity(new.columns.len());
    for (column, source) in new.columns.iter().zip(change.sources) {
        let source = match source.map(|source| (source, old.columns.get(source))) {
            Some((position, Some(before))) if stays(before, column) => Source::Column(position),
            Some(_) => return Ok(None),
            None if column.generated.is_some() => return Ok(None),
            None => match convert::value_of_all(column, new, ctx.session)? {
                Some(value) => Source::Value(value),
                None => return Ok(None),
            },
        };
        from.push(source);
    }
    let reshape = Reshape::new(&old.columns, &new.columns, &from);
    match ctx.engine.shapes(old) {
        shapes if shapes < SHAPES_MAX => Ok(reshape),
        _ if asked.is_instant() => Err(SqlError::too_many_row_versions(&old.database, &old.name)),
        _ => Ok(None),
    }
}

/// Whether all indexes have the entries they had.
fn keeps_indexes(change: &Change<'_>) -> bool {
    let Change { old, new, .. } = change;
    let trees = |table: &Table| -> Vec<TreeId> {
        let texts = table.fulltext.iter().map(|text| &text.index);
        let indexes = table.indexes.iter().chain(texts);
        indexes.map(|index| index.tree).collect()
    };
    let known = trees(old);
    let same_primary = match (&old.primary, &new.primary) {
        (Some(old), Some(new)) => same_parts(old, new, change.sources),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    same_primary && trees(new).iter().all(|tree| known.contains(tree))
}

/// Whether a column's values stay as they are.
fn stays(old: &Column, new: &Column) -> bool {
    old.generated == new.generated
        && old.auto_increment == new.auto_increment
        && old.same_storage(new)
}
