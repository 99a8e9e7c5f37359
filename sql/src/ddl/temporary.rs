//! Temporary tables: no commit, no log, no metadata locks, and always a copy where they are altered.

use super::{
    DdlContext, Failure, Outcome,
    alter::{self, Altered},
    check,
    convert::{Conversion, Outcome as Converted},
    duplicate,
    syntax::{Action, CreateTable},
    table,
    tables::{check_primary_key, new_place, records},
};
use crate::{error::SqlError, output::Done};
use cohort_engine::{
    txn::{Copying, Dictionary, TxnError},
    types::Table,
};
use parking_lot::Mutex;
use std::sync::Arc;

/// 1215 for foreign keys of a temporary table.
pub(super) fn check_new(create: &CreateTable) -> Result<(), SqlError> {
    if create.temporary && !create.foreign_keys.is_empty() {
        return Err(SqlError::cannot_add_foreign_key());
    }
    Ok(())
}

/// The tables that a new one has to do with: a temporary one has nothing to do with any, not even with
/// the foreign keys and names of constraints of the one that it hides.
pub(super) fn seen(temporary: bool, dictionary: &Arc<Dictionary>) -> Arc<Dictionary> {
    match temporary {
        true => Arc::default(),
        false => Arc::clone(dictionary),
    }
}

/// Gives a definition the numbers of a temporary table.
pub(super) fn renumber(table: &mut Table, ctx: &DdlContext<'_>) {
    table::renumber(table, || ctx.engine.new_temporary_id());
}

/// Makes a table of this definition.
pub(super) fn create(mut table: Table, ctx: &DdlContext<'_>) {
    renumber(&mut table, ctx);
    ctx.engine.create_temporary(ctx.owner, table);
}

/// TRUNCATE.
pub(super) fn truncate(old: &Table, ctx: &DdlContext<'_>) {
    let mut new = old.clone();
    new.auto_increment_min = 0;
    renumber(&mut new, ctx);
    ctx.engine.truncate_temporary(ctx.owner, old.id, new);
}

/// ALTER TABLE.
pub(super) fn alter(old: &Arc<Table>, actions: &[Action], ctx: &mut DdlContext<'_>) -> Outcome {
    let dictionary = ctx.engine.dictionary();
    let is_foreign = |action: &Action| matches!(action, Action::AddForeignKey(_));
    if actions.iter().any(is_foreign) {
        return Err(SqlError::cannot_add_foreign_key().into());
    }
    let place = new_place(old, actions, &dictionary, ctx)?;
    let mut altered = alter::alter(old, actions, &seen(true, &dictionary), ctx)?;
    check_primary_key(&altered.table, ctx)?;
    if let Some((database, name)) = place {
        for check in &mut altered.table.checks {
            check.name = check::name_after(&check.name, &old.name, &name);
        }
        altered.table.database = database;
        altered.table.name = name;
    }
    renumber(&mut altered.table, ctx);
    rebuild(old, &altered, ctx)
}

/// Copies the rows into the table that ALTER TABLE makes of theirs.
fn rebuild(old: &Arc<Table>, altered: &Altered, ctx: &mut DdlContext<'_>) -> Outcome {
    let outcome = Arc::new(Mutex::new(Converted::default()));
    let new = altered.table.clone();
    let mut conversion = Conversion::new(
        old,
        &new,
        altered,
        (ctx.session, ctx.auto_increment),
        &outcome,
    )?;
    let numbers = conversion.numbers();
    let mut convert =
        |copying: Copying, image: &[u8], out: &mut Vec<u8>| conversion.convert(copying, image, out);
    let (engine, owner) = (ctx.engine, ctx.owner);
    let rebuilt = engine.rebuild_temporary(owner, old, new, &mut convert, &numbers);
    let mut converted = outcome.lock();
    if let (Err(TxnError::Conversion(_)), Some(error)) = (&rebuilt, converted.error.take()) {
        return Err(error.into());
    }
    rebuilt.map_err(|error| match error {
        TxnError::DuplicateKey { index } => {
            Failure::from(duplicate::error(&index, old, altered, ctx))
        }
        other => other.into(),
    })?;
    for condition in converted.warnings.list() {
        ctx.warnings.push(condition.level, condition.error.clone());
    }
    let done: Done = records(converted.rows, ctx.warnings.count());
    Ok(done)
}
