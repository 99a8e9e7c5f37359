//! GROUP BY … WITH ROLLUP: the rows are sorted by the keys; then, as one comes after the other, there
//! is one group for each number of keys that is being added to. Where a key changes, those that
//! have it are complete.

use super::{
    ExecContext, Flow, Flowing, Stop,
    aggregate::{Room, State},
    block::{BlockRun, Each},
    sort::{By, Sorter, compare_rows},
};
use crate::{
    expr::{eval, infer},
    plan::{Grouping, Rollup},
};
use cohort_engine::{invariant::broken, types::Value};

/// Groups the rows of a block, and calls `each` for every group.
pub(super) fn run<'b>(
    run: &mut BlockRun<'b>,
    (grouping, rollup): (&'b Grouping, &'b Rollup),
    possible: bool,
    context: &mut ExecContext,
    each: &mut Each<'_, 'b>,
) -> Flowing {
    let by = || grouping.keys.iter().enumerate();
    let by: Vec<By> = by()
        .map(|(at, key)| By {
            at,
            collation: infer(&key.expr).collation,
            desc: false,
        })
        .collect();
    let slots = &run.block.row_slots;
    let mut sorter = Sorter::of_values(&by, by.len() + slots.len());
    if possible {
        run.each_row(context, &mut |run, context| {
            let row = with_keys(run, grouping, slots, context)?;
            sorter.push(row, context)?;
            Ok(Flow::Continue)
        })?;
    }
    let mut groups = Groups::new(grouping, rollup, slots);
    let flow = sorter.finish(0, u64::MAX, context, &mut |context, row| {
        context.tick()?;
        if let Some(kept) = groups.kept(row, &by)
            && groups.close(kept + 1, run, context, each)? == Flow::Stop
        {
            return Ok(Flow::Stop);
        }
        groups.add(std::mem::take(row), run, context)?;
        Ok(Flow::Continue)
    })?;
    if flow == Flow::Stop {
        return Ok(Flow::Stop);
    }
    groups.close(0, run, context, each)
}

/// The values of the keys, and what is kept of the block's row behind them.
fn with_keys(
    run: &mut BlockRun,
    grouping: &Grouping,
    slots: &[usize],
    context: &mut ExecContext,
) -> Result<Vec<Value>, Stop> {
    let mut row = Vec::with_capacity(grouping.keys.len() + slots.len());
    for key in &grouping.keys {
        run.prepare_for(key, context)?;
        row.push(eval(&key.expr, &run.row, &mut context.eval)?);
    }
    let kept = slots.iter();
    row.extend(kept.map(|slot| run.row.get(*slot).cloned().unwrap_or_default()));
    Ok(row)
}

/// The groups that are being added to.
struct Groups<'b> {
    grouping: &'b Grouping,
    rollup: &'b Rollup,
    slots: &'b [usize],
    /// The first row of the group of all keys; empty before there is one.
    first: Vec<Value>,
    /// What the aggregates have seen, by the number of keys.
    levels: Vec<Level>,
}

struct Level {
    states: Vec<State>,
    room: Room,
}

impl Level {
    fn new(grouping: &Grouping) -> Level {
        Level {
            states: grouping.aggregates.iter().map(State::new).collect(),
            room: Room::default(),
        }
    }
}

impl<'b> Groups<'b> {
    fn new(grouping: &'b Grouping, rollup: &'b Rollup, slots: &'b [usize]) -> Groups<'b> {
        let levels = 0..=grouping.keys.len();
        Groups {
            grouping,
            rollup,
            slots,
            first: Vec::new(),
            levels: levels.map(|_| Level::new(grouping)).collect(),
        }
    }

    /// How many keys are the same as those of the rows before, if not all are.
    fn kept(&self, row: &[Value], by: &[By]) -> Option<usize> {
        if self.first.is_empty() {
            return None;
        }
        by.iter().position(|key| {
            let key = std::slice::from_ref(key);
            compare_rows(&self.first, row, key).is_ne()
        })
    }

    /// Adds a row to the groups.
    fn add(
        &mut self,
        row: Vec<Value>,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        self.restore(&row, run);
        if self.first.is_empty() {
            self.first = row;
        }
        for level in &mut self.levels {
            let states = self.grouping.aggregates.iter().zip(&mut level.states);
            for (number, (aggregate, state)) in states.enumerate() {
                state.add(aggregate, (0, number), run, context, &mut level.room)?;
            }
        }
        Ok(())
    }

    fn restore(&self, row: &[Value], run: &mut BlockRun) {
        let kept = row.get(self.grouping.keys.len()..).unwrap_or_default();
        for (slot, value) in self.slots.iter().zip(kept) {
            if let Some(slot) = run.row.get_mut(*slot) {
                slot.clone_from(value);
            }
        }
    }

    /// Hands on the groups of so many keys and more, which are complete. Of no rows there is the
    /// group of no keys only.
    fn close(
        &mut self,
        fewest: usize,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        let first = std::mem::take(&mut self.first);
        let most = match first.is_empty() {
            true => 0,
            false => self.grouping.keys.len(),
        };
        for keys in (fewest..=most).rev() {
            self.restore(&first, run);
            self.put_keys(&first, keys, run);
            let level = self.levels.get_mut(keys);
            let level = level.ok_or_else(|| broken("there is a level for so many keys"))?;
            let mut level = std::mem::replace(level, Level::new(self.grouping));
            let states = std::iter::once(level.states.as_mut_slice());
            level.room.settle(self.grouping, states, context)?;
            for (aggregate, state) in self.grouping.aggregates.iter().zip(level.states) {
                let result = state.finish(aggregate, context)?;
                put(run, aggregate.slot, result);
            }
            if each(run, context)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Puts the values of so many keys into their slots, and NULL into those of the others.
    fn put_keys(&self, row: &[Value], keys: usize, run: &mut BlockRun) {
        for (number, slot) in self.rollup.slots.iter().enumerate() {
            if let Some(slot) = slot {
                let value = row.get(number).filter(|_| number < keys);
                put(run, *slot, value.cloned().unwrap_or_default());
            }
        }
        for &(number, slot) in &self.rollup.columns {
            if number >= keys {
                put(run, slot, Value::Null);
            }
        }
        for (numbers, slot) in &self.rollup.groupings {
            let bits = numbers
                .iter()
                .fold(0_u64, |bits, number| bits << 1 | u64::from(*number >= keys));
            put(run, *slot, Value::Int(bits.cast_signed()));
        }
    }
}

fn put(run: &mut BlockRun, slot: usize, value: Value) {
    if let Some(slot) = run.row.get_mut(slot) {
        *slot = value;
    }
}
