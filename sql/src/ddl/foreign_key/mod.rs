//! Foreign keys in schema changes.
//!
//! A foreign key is part of the definition of its table, the child. The parent is known by name:
//! with foreign_key_checks off it may come later, and a parent that is made anew, emptied or
//! rebuilt stays the parent. So a change of one table can concern others:
//!
//! * `define` makes the foreign keys that a statement adds, by MySQL's rules.
//! * `others` says what a statement may not do because of others' foreign keys, and how these
//!   change with it (a parent or its column gets another name).
//! * The engine is told with each change which tables it took to be concerned (`Related`), and
//!   refuses it if they are others by then.

mod define;
mod others;

pub(super) use define::{NewKeys, add, drop_redundant, generated_keys, kept, needed};
pub(super) use others::{altered, created, dropped, moved_and_altered, renamed, truncated};

use super::DdlContext;
use crate::error::SqlError;
use cohort_engine::types::{Column, ColumnType, ForeignKey, Table};

/// 6124 where several rows of the parent may have what a row of the child refers to.
fn warn_of_parent(key: &ForeignKey, parent: &Table, ctx: &mut DdlContext<'_>) {
    let index = key.parent_index(parent);
    if index.is_none_or(|index| !key.is_whole(index)) {
        let warning = SqlError::foreign_key_to_non_unique(&key.name);
        ctx.warnings.warn(warning);
    }
}

/// Checks a foreign key against its parent: 3734, 3780, 6125, 1822. `unique`:
/// restrict_fk_on_non_standard_key.
fn check_parent(
    key: &ForeignKey,
    child: &Table,
    parent: &Table,
    unique: bool,
) -> Result<(), SqlError> {
    let name = &key.name;
    for (position, parent_column) in key.columns.iter().zip(&key.parent_columns) {
        let Some(found) = parent.column_position(parent_column) else {
            return Err(SqlError::referenced_column_missing(
                parent_column,
                name,
                &parent.name,
            ));
        };
        let pair = child
            .columns
            .get(usize::from(*position))
            .zip(parent.columns.get(found));
        if let Some((column, referenced)) = pair {
            for used in [column, referenced] {
                if used.is_virtual() {
                    return Err(SqlError::foreign_key_of_virtual(name, &used.name));
                }
            }
            check_types(name, column, referenced)?;
        }
    }
    let itself = key.refers_to(&child.database, &child.name)
        && key.parent_positions(child).is_some_and(|positions| {
            let mut pairs = positions.iter().zip(&key.columns);
            pairs.any(|(a, b)| a == b)
        });
    // One that refers to its own columns needs a second unique key of them.
    let doubled = key.parent_positions(parent).is_some_and(|columns| {
        let wholes = parent
            .keys()
            .filter(|index| key.is_whole(index) && index.begins_with(&columns));
        wholes.count() > 1
    });
    let index = key.parent_index(parent).filter(|_| !itself || doubled);
    let whole = index.filter(|index| key.is_whole(index));
    match (unique, index, whole) {
        (true, _, None) => Err(SqlError::foreign_key_without_unique_key(name, &parent.name)),
        (false, None, _) => Err(SqlError::foreign_key_without_parent_index(
            name,
            &parent.name,
        )),
        _ => Ok(()),
    }
}

/// How a column goes with the one that it refers to.
enum Fit {
    /// Their values are compared.
    Good,
    /// MySQL compares them although they are not quite of the same type.
    Near,
    Bad,
}

/// Whether the columns of a foreign key go together. `collations`: they must have the same one;
/// without foreign_key_checks a table and its parent are converted to another character set one
/// after the other.
fn fit(column: &Column, referenced: &Column, collations: bool) -> Fit {
    let texts = |column: &Column| column.ty.is_string() && !column.is_binary();
    if texts(column) && texts(referenced) {
        return match !collations || column.collation == referenced.collation {
            true => Fit::Good,
            false => Fit::Bad,
        };
    }
    let strings = column.ty.is_string() && referenced.ty.is_string();
    if strings && column.is_binary() != referenced.is_binary() {
        return Fit::Bad;
    }
    let same_kind = std::mem::discriminant(&column.ty) == std::mem::discriminant(&referenced.ty);
    let near = same_kind && column.unsigned == referenced.unsigned || strings;
    let lengths_free = matches!(
        (column.ty, referenced.ty),
        (ColumnType::VarChar(_), ColumnType::VarChar(_))
    );
    match near {
        true if column.ty == referenced.ty || lengths_free => Fit::Good,
        true => Fit::Near,
        false => Fit::Bad,
    }
}

/// 3780 for columns whose values cannot be compared; 1235 for those that MySQL compares although
/// they are not quite of the same type.
fn check_types(name: &str, column: &Column, referenced: &Column) -> Result<(), SqlError> {
    match fit(column, referenced, true) {
        Fit::Good => Ok(()),
        Fit::Near => Err(not_alike()),
        Fit::Bad => Err(incompatible(name, column, referenced)),
    }
}

fn not_alike() -> SqlError {
    SqlError::not_supported("FOREIGN KEY between columns of different precision or length")
}

fn incompatible(name: &str, column: &Column, referenced: &Column) -> SqlError {
    SqlError::foreign_key_incompatible(&column.name, &referenced.name, name)
}
