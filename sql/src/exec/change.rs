//! The one door for changed rows: every row that a statement inserts, updates or deletes passes
//! here on its way to the transaction, so that what a table demands of its rows is looked after in
//! one place: CHECK constraints (`check`) and foreign keys (`foreign_key`).
//!
//! The caller has found the row and locked it, has computed its new image, and knows what to do
//! about a duplicate key, for this differs from statement to statement.

use super::{
    ExecContext, Stop,
    check::{check_image, is_violation},
    foreign_key,
};
use crate::error::SqlError;
use cohort_engine::{
    txn::{LockMode, TxnError},
    types::Table,
};
use std::sync::Arc;

/// What became of a row.
pub(super) enum Changed {
    /// It is changed.
    Done,
    /// Another row has the same key in the index of this name; nothing is changed.
    Duplicate(String),
    /// It breaks a constraint, which IGNORE turns into a warning; nothing is changed.
    Ignored,
}

/// What is known of the parents that a new row names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parents {
    Unknown,
    /// They are there, and locked.
    Found,
}

/// Looks for the parents of a row that has no AUTO_INCREMENT value yet; `false` if IGNORE leaves
/// the row out.
pub(super) fn find_parents(
    table: &Arc<Table>,
    image: &[u8],
    context: &mut ExecContext,
) -> Result<bool, Stop> {
    let found = constrained(table, context, |context| {
        foreign_key::check_parents(table, None, image, context)?;
        Ok(Changed::Done)
    });
    Ok(matches!(found?, Changed::Done))
}

/// Inserts a row, which fulfils the CHECK constraints. `duplicates`: how rows that stand in its way
/// are locked.
pub(super) fn insert_row(
    table: &Arc<Table>,
    image: &[u8],
    parents: Parents,
    duplicates: LockMode,
    context: &mut ExecContext,
) -> Result<Changed, Stop> {
    constrained(table, context, |context| {
        // Before duplicates, as MySQL 9.7 does; so what is missing is locked whatever comes then.
        if parents == Parents::Unknown {
            foreign_key::check_parents(table, None, image, context)?;
        }
        let inserted = context.txn.insert(table, image, duplicates);
        if let Some(duplicate) = duplicate(inserted)? {
            return Ok(duplicate);
        }
        context.handler.write += 1;
        context
            .io
            .count((table.id, None), |counts| counts.inserted += 1);
        Ok(Changed::Done)
    })
}

/// Changes the row `before` of this key to `after`.
pub(super) fn update_row(
    table: &Arc<Table>,
    key: &[u8],
    before: &[u8],
    after: &[u8],
    context: &mut ExecContext,
) -> Result<Changed, Stop> {
    constrained(table, context, |context| {
        check_image(table, after, context)?;
        foreign_key::before_update(table, (key, before), after, context)?;
        let updated = context.txn.update(table, key, before, after);
        if let Some(duplicate) = duplicate(updated)? {
            return Ok(duplicate);
        }
        foreign_key::check_parents(table, Some(before), after, context)?;
        context.handler.update += 1;
        context
            .io
            .count((table.id, None), |counts| counts.updated += 1);
        Ok(Changed::Done)
    })
}

/// Deletes the row `image` of this key; a REPLACE inserts the row `by` in its place. It is never a
/// duplicate.
pub(super) fn delete_row(
    table: &Arc<Table>,
    key: &[u8],
    image: &[u8],
    by: Option<&[u8]>,
    context: &mut ExecContext,
) -> Result<Changed, Stop> {
    constrained(table, context, |context| {
        foreign_key::before_delete(table, (key, image), by, context)?;
        context.txn.delete(table, key, image)?;
        context.handler.delete += 1;
        context
            .io
            .count((table.id, None), |counts| counts.deleted += 1);
        Ok(Changed::Done)
    })
}

fn duplicate(result: Result<(), TxnError>) -> Result<Option<Changed>, Stop> {
    match result {
        Ok(()) => Ok(None),
        Err(TxnError::DuplicateKey { index }) => Ok(Some(Changed::Duplicate(index))),
        Err(error) => Err(error.into()),
    }
}

/// Makes a change of a row with all its consequences. If that fails the statement fails, and takes
/// back what it has changed; under IGNORE only the row's changes are taken back.
fn constrained(
    table: &Arc<Table>,
    context: &mut ExecContext,
    change: impl FnOnce(&mut ExecContext) -> Result<Changed, Stop>,
) -> Result<Changed, Stop> {
    if !takes_back_rows(table, context) {
        return change(context);
    }
    let mark = context.txn.savepoint();
    let result = change(context);
    let error = match result {
        Ok(Changed::Done) => return Ok(Changed::Done),
        Ok(refused) => {
            context.txn.rollback_to(&mark);
            return Ok(refused);
        }
        Err(Stop::Error(error)) if is_ignorable(&error) => error,
        Err(stop) => return Err(stop),
    };
    context.txn.rollback_to(&mark);
    context.eval.warnings.warn(error);
    Ok(Changed::Ignored)
}

/// Whether a statement may take the change of a single row back: under IGNORE, of a table with
/// constraints.
pub(super) fn takes_back_rows(table: &Table, context: &ExecContext) -> bool {
    let is_free =
        context.relations_of(table).is_none() && context.demands.of_table(table.id).is_none();
    context.ignore && !is_free
}

/// Errors of constraints that IGNORE turns into warnings.
fn is_ignorable(error: &SqlError) -> bool {
    matches!(error.code, 1451 | 1452) || is_violation(error)
}
