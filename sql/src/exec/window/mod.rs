//! Window functions: the stage between HAVING and DISTINCT.
//!
//! Rows come in, with what the functions need of them, and wait in a sorter until all are there.
//! Then they come out partition by partition, get their results, and go on: to the sorter of the
//! next window, whose order is another one, and at last to the block's end. Where an index brings the
//! rows of each partition one after the other, only those of one wait.

mod call;
mod frame;

use super::{
    ExecContext, Flow, Flowing, Stop,
    aggregate::argument,
    block::{BlockRun, Each},
    derived::Made,
    row_store::RowStore,
    sort::{By, Sorter, compare_rows},
};
use crate::{
    error::SqlError,
    expr::{Expr, eval, infer},
    plan::{SortKey, Window, Windowing},
};
use call::Calls;
use cohort_engine::types::Value;

/// Computes the window functions of a block's rows, and calls `each` for every one.
pub(super) fn run<'b>(
    run: &mut BlockRun<'b>,
    windowing: &'b Windowing,
    possible: bool,
    context: &mut ExecContext,
    each: &mut Each<'_, 'b>,
) -> Flowing {
    let Some((first, rest)) = windowing.windows.split_first() else {
        return run.each_admitted(possible, context, each);
    };
    // Conditions on results admit a row when it has them all.
    let each: &mut Each<'_, 'b> =
        &mut |run, context| match run.all_hold(&windowing.admitted, context)? {
            true => each(run, context),
            false => Ok(Flow::Continue),
        };
    let wanted = wanted(windowing, context)?;
    if windowing.in_turn && possible && run.reads_in_turn(context)? {
        return run_in_turn(run, (first, windowing, wanted), context, each);
    }
    let wanted = if first.partition == 0 {
        wanted
    } else {
        u64::MAX
    };
    let mut sorter = sorter(first, windowing, wanted);
    run.each_admitted(possible, context, &mut |run, context| {
        sorter.push(kept(run, windowing, context)?, context)?;
        Ok(Flow::Continue)
    })?;
    let mut window = first;
    for next in rest {
        let mut next_sorter = self::sorter(next, windowing, u64::MAX);
        compute(window, windowing, sorter, context, &mut |context, row| {
            next_sorter.push(row, context)?;
            Ok(Flow::Continue)
        })?;
        (window, sorter) = (next, next_sorter);
    }
    compute(window, windowing, sorter, context, &mut |context, row| {
        for (slot, value) in windowing.kept.iter().zip(row) {
            if let Some(slot) = run.row.get_mut(*slot) {
                *slot = value;
            }
        }
        each(run, context)
    })
}

/// The same for one window, where the rows of its partitions come one after the other.
fn run_in_turn<'b>(
    run: &mut BlockRun<'b>,
    (window, windowing, wanted): (&'b Window, &'b Windowing, u64),
    context: &mut ExecContext,
    each: &mut Each<'_, 'b>,
) -> Flowing {
    let partition_keys = window.keys.get(..window.partition).unwrap_or_default();
    let by = by(partition_keys, windowing);
    // Whoever reads goes on with the row as it was.
    let exchange = |run: &mut BlockRun<'b>, row: &mut [Value]| {
        for (slot, value) in windowing.kept.iter().zip(row) {
            if let Some(slot) = run.row.get_mut(*slot) {
                std::mem::swap(slot, value);
            }
        }
    };
    let mut hand_on = |run: &mut BlockRun<'b>, rows: Sorter<'b>, context: &mut ExecContext| {
        compute(window, windowing, rows, context, &mut |context, mut row| {
            exchange(run, &mut row);
            let flow = each(run, context)?;
            exchange(run, &mut row);
            Ok(flow)
        })
    };
    let mut rows = sorter(window, windowing, wanted);
    let mut last: Vec<Value> = Vec::new();
    let flow = run.each_admitted(true, context, &mut |run, context| {
        let row = kept(run, windowing, context)?;
        if !last.is_empty() && compare_rows(&last, &row, &by).is_ne() {
            let whole = std::mem::replace(&mut rows, sorter(window, windowing, wanted));
            if hand_on(run, whole, context)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        last.clone_from(&row);
        rows.push(row, context)?;
        Ok(Flow::Continue)
    })?;
    match flow {
        Flow::Stop => Ok(Flow::Stop),
        Flow::Continue => hand_on(run, rows, context),
    }
}

/// Takes what is kept of the block's row.
fn kept(
    run: &mut BlockRun,
    windowing: &Windowing,
    context: &mut ExecContext,
) -> Result<Vec<Value>, Stop> {
    for input in &windowing.inputs {
        run.prepare_for(&input.value, context)?;
        let expr = &input.value.expr;
        let value = match &input.of {
            Some(function) => argument(function, expr, &run.row, &mut context.eval)?.into_owned(),
            None => eval(expr, &run.row, &mut context.eval)?,
        };
        if let Some(slot) = run.row.get_mut(input.slot) {
            *slot = value;
        }
    }
    let values = windowing.kept.iter();
    let values = values.map(|slot| run.row.get(*slot).cloned().unwrap_or_default());
    Ok(values.collect())
}

/// The place in a kept row of what is in a slot.
fn place(windowing: &Windowing, slot: usize) -> Result<usize, SqlError> {
    let found = windowing.kept.binary_search(&slot);
    found.map_err(|_| SqlError::internal("a window reads what was not kept"))
}

fn place_of_key(windowing: &Windowing, key: &Expr) -> Option<usize> {
    match key {
        Expr::Column { slot, .. } => place(windowing, *slot as usize).ok(),
        _ => None,
    }
}

/// How many rows of each partition are wanted at most.
fn wanted(windowing: &Windowing, context: &mut ExecContext) -> Result<u64, Stop> {
    let Some(first) = &windowing.first else {
        return Ok(u64::MAX);
    };
    Ok(match eval(first, &[], &mut context.eval)? {
        Value::Int(n) => u64::try_from(n).unwrap_or(0),
        Value::UInt(n) => n,
        _ => u64::MAX,
    })
}

fn sorter<'b>(window: &'b Window, windowing: &'b Windowing, wanted: u64) -> Sorter<'b> {
    let place = |key: &Expr| place_of_key(windowing, key);
    Sorter::new(&window.keys, windowing.kept.len(), place, wanted)
}

/// By what rows of partitions and peers are told apart.
fn by(keys: &[SortKey], windowing: &Windowing) -> Vec<By> {
    let by = keys.iter().filter_map(|key| {
        Some(By {
            at: place_of_key(windowing, &key.value.expr)?,
            collation: infer(&key.value.expr).collation,
            desc: key.desc,
        })
    });
    by.collect()
}

/// Goes through the rows in the order of a window, and hands them on with its results.
fn compute(
    window: &Window,
    windowing: &Windowing,
    sorter: Sorter,
    context: &mut ExecContext,
    each: &mut dyn FnMut(&mut ExecContext, Vec<Value>) -> Flowing,
) -> Flowing {
    context.count_made(Made::Partitions, window);
    let (partition_keys, order_keys) = window
        .keys
        .split_at_checked(window.partition)
        .ok_or_else(|| SqlError::internal("a window with more partitions than keys"))?;
    let partition_by = by(partition_keys, windowing);
    let calls = Calls::new(window, windowing, by(order_keys, windowing), context)?;
    let mut partition = RowStore::default();
    let mut last: Vec<Value> = Vec::new();
    let flow = sorter.finish(0, u64::MAX, context, &mut |context, row| {
        context.tick()?;
        let row = std::mem::take(row);
        if !partition_by.is_empty() {
            if !partition.is_empty() && compare_rows(&last, &row, &partition_by).is_ne() {
                let whole = std::mem::take(&mut partition);
                if calls.run(whole, context, each)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            last.clone_from(&row);
        }
        let memory_bytes = context.memory_bytes;
        partition.push(row, memory_bytes, context)?;
        Ok(Flow::Continue)
    })?;
    if flow == Flow::Stop {
        return Ok(Flow::Stop);
    }
    calls.run(partition, context, each)
}
