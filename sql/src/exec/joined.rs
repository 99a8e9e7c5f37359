//! UPDATE and DELETE of tables in a join.
//!
//! First the whole join is read. Of each row that is to be changed its key is kept, once, and the
//! values to assign, computed from the first combination of rows that it is found in. Then the
//! rows are changed, table by table: what the join reads is what was there before.

use super::{
    ExecContext, Flow, Outcome, Stop,
    block::BlockRun,
    change::{self, Changed, delete_row},
    insert::{default_value, duplicate_error},
    memory::{self, Memory},
    write::{check_safe, encode_updated, note_auto_increment},
};
use crate::{
    expr::{Origin, assign_from, eval},
    plan::{Assigned, Joined, Target},
};
use cohort_engine::{
    txn::{LockMode, OnConflict, Read},
    types::{Value, row},
};
use rustc_hash::FxHashSet;

/// Values for columns, by position.
type Assignments = Vec<(usize, Value)>;

/// The rows of one target, in the order they were found.
#[derive(Default)]
struct Found {
    keys: FxHashSet<Vec<u8>>,
    rows: Vec<(Vec<u8>, Assignments)>,
}

/// Runs an UPDATE of several tables.
pub(super) fn update(plan: &Joined, context: &mut ExecContext) -> Result<Outcome, Stop> {
    context.eval.ignore = plan.ignore;
    context.eval.be_strict();
    context.eval.forgive_nulls();
    let found = find(plan, context)?;
    let (mut matched, mut changed) = (0, 0);
    for (target, found) in plan.targets.iter().zip(found) {
        for (key, values) in found.rows {
            matched += 1;
            context.eval.row_number = matched;
            changed += u64::from(update_row(plan, target, &key, values, context)?);
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
    for (target, found) in plan.targets.iter().zip(found) {
        for (key, _) in found.rows {
            context.tick()?;
            let newest = Read::Locking(LockMode::Exclusive, OnConflict::Wait);
            // The same table may be there twice, under two names.
            if context
                .txn
                .get(target.table.rows, &key, newest, &mut image)?
                && let Changed::Done = delete_row(&target.table, &key, &image, None, context)?
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

/// Reads the join.
fn find(plan: &Joined, context: &mut ExecContext) -> Result<Vec<Found>, Stop> {
    let mut found: Vec<Found> = plan.targets.iter().map(|_| Found::default()).collect();
    let mut run = BlockRun::new(&plan.block, &[]);
    if !run.prepare(context)? {
        return Ok(found);
    }
    for target in &plan.targets {
        check_safe(&plan.block, target.source, context)?;
    }
    let mut memory = Memory::default();
    run.each_row(context, &mut |run, context| {
        for (target, found) in plan.targets.iter().zip(&mut found) {
            let Some(state) = run.sources.get(target.source) else {
                continue;
            };
            // No key: an outer join found no row of this table.
            if state.key.is_empty() || found.keys.contains(&state.key) {
                continue;
            }
            let key = state.key.clone();
            let values = values(target, run, context)?;
            let size: usize = values
                .iter()
                .map(|(_, v)| memory::size(std::slice::from_ref(v)))
                .sum();
            memory.take(2 * key.len() + size + 96)?;
            found.keys.insert(key.clone());
            found.rows.push((key, values));
        }
        Ok(Flow::Continue)
    })?;
    Ok(found)
}

/// What the columns of a target get, computed from the row as it was.
fn values(
    target: &Target,
    run: &mut BlockRun,
    context: &mut ExecContext,
) -> Result<Assignments, Stop> {
    let mut values = Vec::with_capacity(target.assignments.len());
    for (position, assigned) in &target.assignments {
        let Some(column) = target.table.columns.get(*position) else {
            continue;
        };
        let value = match assigned {
            Assigned::Value(computed) => {
                run.run_subqueries(&computed.subqueries, context)?;
                let value = eval(&computed.expr, &run.row, &mut context.eval)?;
                let origin = || Origin::of_expr(&computed.expr);
                assign_from(column, value, origin, &mut context.eval)
                    .map_err(|error| error.in_table(&target.table.name))?
            }
            Assigned::Default => {
                let default = target.defaults.get(*position);
                let row = run.row.get(target.first_slot..).unwrap_or_default();
                default_value(default, &target.table, *position, row, context)?
            }
        };
        values.push((*position, value));
    }
    Ok(values)
}

/// Whether the row was changed.
fn update_row(
    plan: &Joined,
    target: &Target,
    key: &[u8],
    values: Assignments,
    context: &mut ExecContext,
) -> Result<bool, Stop> {
    context.tick()?;
    let table = &target.table;
    let newest = Read::Locking(LockMode::Exclusive, OnConflict::Wait);
    let mut before = Vec::new();
    if !context.txn.get(table.rows, key, newest, &mut before)? {
        return Ok(false);
    }
    let mut row = row::decode(table, &before)?;
    let assigned: Vec<usize> = values.iter().map(|(position, _)| *position).collect();
    for (position, value) in values {
        if let Some(slot) = row.get_mut(position) {
            *slot = value;
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
