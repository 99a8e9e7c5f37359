//! UPDATE and DELETE.
//!
//! Rows are found by a block of one source, which locks them, and changed as they are found,
//! unless the change could move them to where they are found again, or they are sorted first:
//! then all are collected before the first one is changed.

use super::{
    ExecContext, Flow, Outcome, Stop,
    block::BlockRun,
    change::{Changed, delete_row, update_row},
    duplicate::duplicate_error,
    generated,
    insert::{default_value, now},
    returning::Returning,
    sort::Sorter,
    tail::limit_values,
};
use crate::{
    error::SqlError,
    expr::{assign_from, eval},
    plan::{Assigned, Block, Default_, Delete, Input, Update},
};
use cohort_engine::{
    invariant::broken,
    txn::{LockMode, OnConflict, Read},
    types::{Table, Value, row},
};
use std::sync::Arc;

/// A row found: key and image.
type Found<'f> = dyn FnMut(&mut BlockRun, &mut ExecContext, &[u8], &[u8]) -> Result<(), Stop> + 'f;

/// Calls `change` for every row of the block, up to its LIMIT.
fn each_found(
    block: &Block,
    collect: bool,
    context: &mut ExecContext,
    change: &mut Found,
) -> Result<(), Stop> {
    let (count, _) = limit_values(block.limit.as_ref(), context)?;
    if count == 0 {
        return Ok(());
    }
    let mut run = BlockRun::new(block, &[]);
    if !run.prepare(context)? {
        return Ok(());
    }
    check_safe(block, 0, context)?;
    let sorted = run.must_sort(context)?;
    // By another way than the plan's, what is changed may be what is read by.
    if !collect && !sorted && !run.other_way() {
        let mut left = count;
        run.each_row(context, &mut |run, context| {
            let (key, image) = take_found(run);
            change(run, context, &key, &image)?;
            put_found(run, key, image);
            left -= 1;
            Ok(if left == 0 {
                Flow::Stop
            } else {
                Flow::Continue
            })
        })?;
        return Ok(());
    }
    let mut sorter = Sorter::new(&block.order, 2, |_| None, count);
    let mut left = count;
    run.each_row(context, &mut |run, context| {
        let (key, image) = take_found(run);
        let mut row = vec![Value::Bytes(key), Value::Bytes(image)];
        sorter.put_keys(run, context, &mut row)?;
        sorter.push(row, context)?;
        // Sorted, any row may be among the first.
        left -= u64::from(!sorted);
        Ok(if left == 0 {
            Flow::Stop
        } else {
            Flow::Continue
        })
    })?;
    let Some(Input::Table(table, _)) = block.sources.first().map(|s| &s.input) else {
        return Err(broken("the rows to change are of a stored table").into());
    };
    sorter.finish(0, count, context, &mut |context, found| {
        let [Value::Bytes(key), Value::Bytes(image)] = found.as_slice() else {
            return Err(broken("what is sorted is keys and images").into());
        };
        context.tick()?;
        let columns = row::decode(table, image)?;
        for (slot, value) in run.row.iter_mut().zip(columns) {
            *slot = value;
        }
        change(&mut run, context, key, image)?;
        Ok(Flow::Continue)
    })?;
    Ok(())
}

/// 1175 under sql_safe_updates, if a source whose rows are to be changed is read from end to end.
pub(super) fn check_safe(block: &Block, source: usize, context: &ExecContext) -> Result<(), Stop> {
    if !context.safe_updates || block.limit.is_some() {
        return Ok(());
    }
    match block.sources.get(source).map(|source| &source.input) {
        Some(Input::Table(_, access)) if access.is_whole() => {
            Err(SqlError::update_without_key().into())
        }
        _ => Ok(()),
    }
}

fn take_found(run: &mut BlockRun) -> (Vec<u8>, Vec<u8>) {
    match run.sources.first_mut() {
        Some(state) => (
            std::mem::take(&mut state.key),
            std::mem::take(&mut state.image),
        ),
        None => Default::default(),
    }
}

fn put_found(run: &mut BlockRun, key: Vec<u8>, image: Vec<u8>) {
    if let Some(state) = run.sources.first_mut() {
        state.key = key;
        state.image = image;
    }
}

/// Runs an UPDATE.
pub(super) fn update(plan: &Update, context: &mut ExecContext) -> Result<Outcome, Stop> {
    let (mut found, mut changed) = (0, 0);
    context.eval.ignore = plan.ignore;
    context.eval.be_strict();
    context.eval.forgive_nulls();
    context.rereads = context.unlock && plan.conditions_repeat;
    let auto = plan.table.auto_increment_column();
    let auto = auto.filter(|auto| plan.assignments.iter().any(|(column, _)| column == auto));
    let mut after = Vec::new();
    each_found(
        &plan.block,
        plan.collect,
        context,
        &mut |run, context, key, before| {
            found += 1;
            context.eval.row_number = found;
            // Taken before assignments: what they read has no part in whether the read mattered.
            let newer = plan.repeats && context.txn.read_newer();
            let warnings = context.eval.warnings.count();
            after.clear();
            assign_all(
                &plan.table,
                &plan.assignments,
                &plan.defaults,
                before,
                run,
                &mut after,
                context,
            )?;
            let change = after != before;
            if newer && context.eval.warnings.count() == warnings {
                let same = |run: &mut BlockRun, image: &[u8], context: &mut ExecContext| {
                    let mut after = Vec::with_capacity(image.len());
                    let (assignments, defaults) = (&plan.assignments, &plan.defaults);
                    assign_all(
                        &plan.table,
                        assignments,
                        defaults,
                        image,
                        run,
                        &mut after,
                        context,
                    )?;
                    Ok((after != image) == change)
                };
                if visible_alike(&plan.block, &plan.table, run, key, context, same) {
                    context.txn.disregard_read();
                }
            }
            context.eval.check_losses()?;
            if !change {
                return Ok(());
            }
            match update_row(&plan.table, key, before, &after, context)? {
                Changed::Done => {}
                Changed::Ignored => return Ok(()),
                Changed::Duplicate(index) => {
                    let error = duplicate_error(&plan.table, &index, &run.row);
                    if !plan.ignore {
                        return Err(error.into());
                    }
                    context.eval.warnings.warn(error);
                    return Ok(());
                }
            }
            if let Some(auto) = auto {
                note_auto_increment(&plan.table, run.row.get(auto), context);
            }
            changed += 1;
            Ok(())
        },
    )?;
    let warnings = context.eval.warnings.count();
    Ok(Outcome {
        affected_rows: if context.found_rows { found } else { changed },
        info: format!("Rows matched: {found}  Changed: {changed}  Warnings: {warnings}"),
        ..Outcome::default()
    })
}

/// The next AUTO_INCREMENT value is above one that a row got by an UPDATE, too.
pub(super) fn note_auto_increment(table: &Table, value: Option<&Value>, context: &ExecContext) {
    let (used, spacing) = (counted(value), context.auto_increment);
    if used > 0 {
        let engine = context.engine;
        engine.auto_increment_at_least_spaced(table, used, spacing);
    }
}

/// The number that a value of an AUTO_INCREMENT column is; 0: none that counts.
pub(super) fn counted(value: Option<&Value>) -> u64 {
    match value {
        Some(Value::Int(value)) => u64::try_from(*value).unwrap_or(0),
        Some(Value::UInt(value)) => *value,
        Some(Value::Double(value)) if *value >= 0.0 => *value as u64,
        Some(Value::Float(value)) if *value >= 0.0 => *value as u64,
        _ => 0,
    }
}

/// The locked read met a version that is not durable yet, on which the reply may not depend.
/// Where the row is found by its key alone, the reply says only that it was found and whether it
/// was changed: if that would be the same on the version that everyone can see, the reply need
/// not wait for the newer one. This is a second evaluation, so it is only for statements of which
/// the plan says that they repeat, and an error or a warning in it means: wait.
fn visible_alike(
    block: &Block,
    table: &Arc<Table>,
    run: &mut BlockRun,
    key: &[u8],
    context: &mut ExecContext,
    same: impl FnOnce(&mut BlockRun, &[u8], &mut ExecContext) -> Result<bool, Stop>,
) -> bool {
    let Some(source) = block.sources.first() else {
        return false;
    };
    let by_key = match &source.input {
        Input::Table(_, access) => access.point && access.index.is_none(),
        _ => false,
    };
    if !by_key {
        return false;
    }
    let slots = run.row.len();
    let now = std::mem::take(&mut run.row);
    let alike = context.on_trial(|context| {
        let mut visible = Vec::new();
        if !context.txn.get_visible(table.rows, key, &mut visible)? {
            return Ok(false);
        }
        run.row = row::decode(table, &visible)?;
        run.row.resize(slots, Value::Null);
        Ok(run.all_hold(&source.filter, context)? && same(run, &visible, context)?)
    });
    run.row = now;
    alike == Some(true)
}

/// Assigns values to the first columns of the block's row, each seeing those before it, and makes
/// the new image.
pub(super) fn assign_all(
    table: &Arc<Table>,
    assignments: &[(usize, Assigned)],
    defaults: &[Default_],
    before: &[u8],
    run: &mut BlockRun,
    image: &mut Vec<u8>,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    for (position, value) in assignments {
        let Some(column) = table.columns.get(*position) else {
            continue;
        };
        let value = match value {
            Assigned::Value(computed) => {
                run.prepare_for(computed, context)?;
                let value = eval(&computed.expr, &run.row, &mut context.eval)?;
                assign_from(column, value, || computed.origin(), &mut context.eval)
                    .map_err(|error| error.in_table(&table.name))?
            }
            Assigned::Default => {
                let default = defaults.get(*position);
                default_value(default, table, *position, &run.row, context)?
            }
        };
        if let Some(slot) = run.row.get_mut(*position) {
            *slot = value;
        }
    }
    let is_assigned = |position| assignments.iter().any(|(p, _)| *p == position);
    encode_updated(table, is_assigned, before, &mut run.row, image, context)
}

/// The image of a row that was assigned to, with ON UPDATE CURRENT_TIMESTAMP if it is another
/// than `before`.
pub(super) fn encode_updated(
    table: &Arc<Table>,
    is_assigned: impl Fn(usize) -> bool,
    before: &[u8],
    row: &mut [Value],
    image: &mut Vec<u8>,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    let columns = table.columns.len();
    generated::fill(table, row, context)?;
    row::encode(table, row.get(..columns).unwrap_or_default(), image);
    if image == before || !table.columns.iter().any(|c| c.on_update_now) {
        return Ok(());
    }
    for (position, column) in table.columns.iter().enumerate() {
        if column.on_update_now && !is_assigned(position) {
            let value = now(column, context)?;
            if let Some(slot) = row.get_mut(position) {
                *slot = value;
            }
        }
    }
    generated::fill(table, row, context)?;
    image.clear();
    row::encode(table, row.get(..columns).unwrap_or_default(), image);
    Ok(())
}

/// Reads a row that was found once more; false if it is gone, or not wanted any more.
fn found_again(
    plan: &Delete,
    run: &mut BlockRun,
    key: &[u8],
    image: &mut Vec<u8>,
    context: &mut ExecContext,
) -> Result<bool, Stop> {
    let read = Read::Locking(LockMode::Exclusive, OnConflict::Wait);
    if !context.txn.get(plan.table.rows, key, read, image)? {
        return Ok(false);
    }
    let Some(source) = plan.block.sources.first() else {
        return Err(broken("the rows to delete are of a table").into());
    };
    // Rows that are sorted first are all found before the first one is deleted.
    if !plan.block.order.is_empty() {
        return Ok(true);
    }
    let columns = row::decode(&plan.table, image)?;
    for (slot, value) in run.row.iter_mut().zip(columns) {
        *slot = value;
    }
    run.all_hold(&source.filter, context)
}

/// Runs a DELETE.
pub(super) fn delete(
    plan: &Delete,
    mut returning: Returning,
    context: &mut ExecContext,
) -> Result<Outcome, Stop> {
    let mut deleted = 0;
    context.eval.ignore = plan.ignore;
    context.eval.be_strict();
    each_found(
        &plan.block,
        false,
        context,
        &mut |run, context, key, image| {
            // An earlier row may have taken it along, or changed it.
            let mut again = Vec::new();
            let mut image = image;
            if context
                .relations
                .is_some_and(|r| r.come_back_to(plan.table.id))
            {
                if !found_again(plan, run, key, &mut again, context)? {
                    return Ok(());
                }
                image = &again;
            }
            if plan.conditions_repeat && context.txn.read_newer() {
                let (block, table) = (&plan.block, &plan.table);
                if visible_alike(block, table, run, key, context, |_, _, _| Ok(true)) {
                    context.txn.disregard_read();
                }
            }
            let told = returning.compute(&plan.table, image, run, context)?;
            if let Changed::Done = delete_row(&plan.table, key, image, None, context)? {
                deleted += 1;
                returning.send(told.as_deref())?;
            }
            Ok(())
        },
    )?;
    Ok(Outcome {
        affected_rows: deleted,
        rows: returning.rows,
        ..Outcome::default()
    })
}
