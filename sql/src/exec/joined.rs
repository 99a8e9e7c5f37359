//! UPDATE and DELETE of tables in a join.
//!
//! First the whole join is read. Of each row that is to be changed its key is kept, once, and the
//! values to assign, computed from the first combination of rows that it is found in. Then the
//! rows are changed, table by table: what the join reads is what was there before. They are changed in the
//! order in which they were found, also where their keys were more than may be kept in memory, and were told
//! apart when all was read.

use super::{
    ExecContext, Flow, Outcome, Stop,
    block::BlockRun,
    change::{self, Changed, delete_row},
    distinct::Distinct,
    duplicate::duplicate_error,
    insert::default_value,
    memory,
    row_store::{Cursor, RowStore, Rows},
    sort::{By, Sorter},
    write::{check_safe, encode_updated, note_auto_increment},
};
use crate::{
    error::SqlError,
    expr::{assign_from, eval},
    plan::{Assigned, Joined, Target},
};
use cohort_engine::{
    invariant::broken,
    txn::{LockMode, OnConflict, Read},
    types::{Collation, Value, row},
};

/// The rows of one target, in the order they were found: the key of each, its number, and the values that are
/// assigned behind them.
#[derive(Default)]
struct Found {
    keys: Distinct,
    rows: RowStore,
    /// So many were added.
    added: u64,
}

impl Found {
    /// Adds a row, if its key is new.
    fn push(&mut self, mut row: Vec<Value>, context: &mut ExecContext) -> Result<(), Stop> {
        row.insert(1, Value::UInt(self.added));
        self.added += 1;
        match self.keys.is_new(&row, put_key, context)? {
            true => self.rows.push(row, memory::of_table(context), context),
            false => Ok(()),
        }
    }

    /// All rows.
    fn finish(mut self, context: &mut ExecContext) -> Result<Rows, Stop> {
        let by_number = By {
            at: 1,
            collation: Collation::Binary,
            desc: false,
        };
        let mut later: Option<Sorter> = None;
        self.keys.finish(put_key, context, &mut |context, row| {
            let width = row.len();
            let later = later.get_or_insert_with(|| Sorter::of_values(&[by_number], width));
            later.push(row, context)?;
            Ok(Flow::Continue)
        })?;
        if let Some(later) = later {
            // What was put off came after all that was not.
            later.finish(0, u64::MAX, context, &mut |context, row| {
                let (row, bytes_max) = (std::mem::take(row), memory::of_table(context));
                self.rows.push(row, bytes_max, context)?;
                Ok(Flow::Continue)
            })?;
        }
        self.rows.finish()
    }
}

/// What a found row is told apart by.
fn put_key(row: &[Value], key: &mut Vec<u8>) {
    if let Some(Value::Bytes(bytes)) = row.first() {
        key.extend_from_slice(bytes);
    }
}

/// A row that was found: its key and the values that are assigned.
fn parts(row: &[Value]) -> Result<(&[u8], &[Value]), Stop> {
    match row {
        [Value::Bytes(key), Value::UInt(_), values @ ..] => Ok((key, values)),
        _ => Err(broken("a row to be changed has a key").into()),
    }
}

/// Runs an UPDATE of several tables.
pub(super) fn update(plan: &Joined, context: &mut ExecContext) -> Result<Outcome, Stop> {
    context.eval.ignore = plan.ignore;
    context.eval.be_strict();
    context.eval.forgive_nulls();
    let found = find(plan, context)?;
    let (mut matched, mut changed) = (0, 0);
    for (target, rows) in plan.targets.iter().zip(found) {
        let mut cursor = Cursor::default();
        for place in 0..rows.len() {
            let (key, values) = parts(rows.get(place, &mut cursor)?)?;
            matched += 1;
            context.eval.row_number = matched;
            let updated = update_row(plan, target, key, values, context);
            if let Err(Stop::Error(_)) = updated {
                let error = SqlError::unknown_error("An error occurred in multi-table update");
                context.eval.warnings.tell_behind(error);
            }
            changed += u64::from(updated?);
        }
    }
    let warnings = context.eval.warnings.count();
    Ok(Outcome {
        affected_rows: if context.found_rows { matched } else { changed },
        info: format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}"),
        ..Outcome::default()
    })
}

/// Runs a DELETE from several tables.
pub(super) fn delete(plan: &Joined, context: &mut ExecContext) -> Result<Outcome, Stop> {
    context.eval.ignore = plan.ignore;
    context.eval.be_strict();
    let mut deleted = 0;
    let mut image = Vec::new();
    let found = find(plan, context)?;
    for (target, rows) in plan.targets.iter().zip(found) {
        let mut cursor = Cursor::default();
        for place in 0..rows.len() {
            context.tick()?;
            let (key, _) = parts(rows.get(place, &mut cursor)?)?;
            let newest = Read::Locking(LockMode::Exclusive, OnConflict::Wait);
            // The same table may be there twice, under two names.
            if context
                .txn
                .get(target.table.rows, key, newest, &mut image)?
                && let Changed::Done = delete_row(&target.table, key, &image, None, context)?
            {
                deleted += 1;
            }
        }
    }
    Ok(Outcome {
        affected_rows: deleted,
        ..Outcome::default()
    })
}

/// Reads the join: for each target the rows to be changed.
fn find(plan: &Joined, context: &mut ExecContext) -> Result<Vec<Rows>, Stop> {
    let mut found: Vec<Found> = plan.targets.iter().map(|_| Found::default()).collect();
    let mut run = BlockRun::new(&plan.block, &[]);
    if run.prepare(context)? {
        for target in &plan.targets {
            check_safe(&plan.block, target.source, context)?;
        }
        run.each_row(context, &mut |run, context| {
            for (target, found) in plan.targets.iter().zip(&mut found) {
                let Some(state) = run.sources.get(target.source) else {
                    continue;
                };
                // No key: an outer join found no row of this table.
                if state.key.is_empty() || found.keys.has(&state.key) {
                    continue;
                }
                let mut row = vec![Value::Bytes(state.key.clone())];
                put_values(target, run, context, &mut row)?;
                found.push(row, context)?;
            }
            Ok(Flow::Continue)
        })?;
    }
    let found = found.into_iter().map(|found| found.finish(context));
    found.collect()
}

/// Appends what the columns of a target get, computed from the row as it was.
fn put_values(
    target: &Target,
    run: &mut BlockRun,
    context: &mut ExecContext,
    values: &mut Vec<Value>,
) -> Result<(), Stop> {
    for (position, assigned) in &target.assignments {
        let column = target.table.columns.get(*position);
        let column = column.ok_or_else(|| broken("a column that is assigned is its table's"))?;
        let value = match assigned {
            Assigned::Value(computed) => {
                run.prepare_for(computed, context)?;
                let value = eval(&computed.expr, &run.row, &mut context.eval)?;
                assign_from(column, value, || computed.origin(), &mut context.eval)
                    .map_err(|error| error.in_table(&target.table.name))?
            }
            Assigned::Default => {
                let default = target.defaults.get(*position);
                let row = run.row.get(target.first_slot..).unwrap_or_default();
                default_value(default, &target.table, *position, row, context)?
            }
        };
        values.push(value);
    }
    Ok(())
}

/// Whether the row was changed.
fn update_row(
    plan: &Joined,
    target: &Target,
    key: &[u8],
    values: &[Value],
    context: &mut ExecContext,
) -> Result<bool, Stop> {
    context.tick()?;
    let table = &target.table;
    let newest = Read::Locking(LockMode::Exclusive, OnConflict::Wait);
    let mut before = Vec::new();
    // The statement has changed its key: it is there twice, or follows a row of another target.
    if !context.txn.get(table.rows, key, newest, &mut before)? {
        return Err(SqlError::key_not_found(&table.name).into());
    }
    let mut row = row::decode(table, &before)?;
    let positions = target.assignments.iter().map(|(position, _)| *position);
    let assigned: Vec<usize> = positions.collect();
    for (position, value) in assigned.iter().zip(values) {
        if let Some(slot) = row.get_mut(*position) {
            slot.clone_from(value);
        }
    }
    let mut after = Vec::with_capacity(before.len());
    let is_assigned = |position| assigned.contains(&position);
    encode_updated(table, is_assigned, &before, &mut row, &mut after, context)?;
    if after == before {
        return Ok(false);
    }
    match change::update_row(table, key, &before, &after, context)? {
        Changed::Done => {
            let auto = table.auto_increment_column();
            if let Some(auto) = auto.filter(|auto| assigned.contains(auto)) {
                note_auto_increment(table, row.get(auto), context);
            }
            Ok(true)
        }
        Changed::Ignored => Ok(false),
        Changed::Duplicate(index) => {
            let error = duplicate_error(table, &index, &row);
            if !plan.ignore {
                return Err(error.into());
            }
            context.eval.warnings.warn(error);
            Ok(false)
        }
    }
}
