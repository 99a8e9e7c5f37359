//! Changes after which rows only have another shape, so that none of them is waited for: columns come with
//! one value for all rows, go, or change places. MySQL calls this INSTANT.

use super::{DdlContext, alter::same_parts, convert, key::Defined, syntax::Action};
use crate::error::SqlError;
use cohort_engine::types::{
    Column, Index, Table,
    row::{Reshape, Source},
};

/// A table has this many shapes of rows at most that wait to become the newest one.
const SHAPES_MAX: usize = 64;

/// A change that is not made in a way that asks for more.
pub(super) struct Candidate<'a> {
    pub old: &'a Table,
    /// With its columns, and without its indexes.
    pub new: &'a Table,
    /// For each column, which one of before it comes from.
    pub sources: &'a [Option<usize>],
    /// Its indexes, and for each key's syntax the index it was.
    pub indexes: (&'a [Defined], &'a [Option<Index>]),
    pub actions: &'a [Action],
    /// Whether the statement says INSTANT.
    pub instant: bool,
}

impl Candidate<'_> {
    /// Whether all indexes have the entries they had.
    fn keeps_indexes(&self) -> bool {
        let (defined, origins) = self.indexes;
        let is_primary = |defined: &&Defined| defined.index.name == "PRIMARY";
        let same = |defined: &Defined| {
            let origin = match is_primary(&defined) {
                true => self.old.primary.as_ref(),
                false => origins.get(defined.syntax).and_then(Option::as_ref),
            };
            origin.is_some_and(|origin| same_parts(origin, &defined.index, self.sources))
        };
        let has_primary = defined.iter().any(|defined| is_primary(&defined));
        has_primary == self.old.primary.is_some() && defined.iter().all(same)
    }
}

/// What becomes of the rows, if they and the entries of indexes keep their values.
pub(super) fn of(
    change: &Candidate<'_>,
    ctx: &DdlContext<'_>,
) -> Result<Option<Reshape>, SqlError> {
    let references = |action: &Action| matches!(action, Action::AddForeignKey(_));
    let Candidate { old, new, .. } = change;
    if old.is_temporary() || change.actions.iter().any(references) || !change.keeps_indexes() {
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
        _ if change.instant => Err(SqlError::too_many_row_versions(&old.database, &old.name)),
        _ => Ok(None),
    }
}

/// Whether a column's values stay as they are.
fn stays(old: &Column, new: &Column) -> bool {
    old.generated == new.generated
        && old.auto_increment == new.auto_increment
        && old.same_storage(new)
}
