//! The room that groups take, and the values of DISTINCT for which there was none. These are put off, in
//! files, and looked at when all rows were read.

use super::state::{State, put_key};
use crate::{
    exec::{ExecContext, Flow, Stop, distinct::Distinct, memory::Memory, temporary::Partitions},
    plan::Grouping,
};
use cohort_engine::{invariant::broken, types::Value};

#[derive(Default)]
pub(in crate::exec) struct Room {
    pub memory: Memory,
    /// A key that is being made.
    pub key: Vec<u8>,
    /// Values of DISTINCT that were put off, each behind the number of its group and of the aggregate.
    later: Partitions,
}

impl Room {
    /// Whether there was no room for some values.
    pub fn has_put_off(&self) -> bool {
        !self.later.is_empty()
    }

    /// Puts the values of an aggregate's arguments off, and what they are sorted by. `key`: what they are
    /// told apart by.
    pub(super) fn put_off(
        &mut self,
        (group, number): (usize, usize),
        values: Vec<Value>,
        key: &[u8],
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let mut row = vec![Value::UInt(group as u64), Value::UInt(number as u64)];
        row.extend(values);
        self.later
            .push(&whole_key(group, number, key), &row, context)
    }

    /// Adds those of the values that were put off which are new. `groups`: the states of each.
    pub fn settle<'s>(
        &mut self,
        grouping: &Grouping,
        groups: impl Iterator<Item = &'s mut [State]>,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        if !self.has_put_off() {
            return Ok(());
        }
        let mut groups: Vec<_> = groups.collect();
        let missing = || broken("a value that was put off is of an aggregate");
        let later = Distinct::of_put_off(std::mem::take(&mut self.later));
        let aggregate = |number: usize| grouping.aggregates.get(number);
        let key = |row: &[Value], key: &mut Vec<u8>| {
            if let Some((group, number, values)) = parts(row)
                && let Some(aggregate) = aggregate(number)
            {
                let mut own = Vec::new();
                put_key(aggregate, values.iter(), &mut own);
                *key = whole_key(group, number, &own);
            }
        };
        later.finish(key, context, &mut |context, row| {
            let (group, number, values) = parts(&row).ok_or_else(missing)?;
            let states = groups.get_mut(group);
            let state = states.and_then(|states| states.get_mut(number));
            let (state, aggregate) = state.zip(aggregate(number)).ok_or_else(missing)?;
            state.add_late(aggregate, values, context, self)?;
            Ok(Flow::Continue)
        })?;
        Ok(())
    }
}

fn whole_key(group: usize, number: usize, key: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(16 + key.len());
    whole.extend_from_slice(&(group as u64).to_le_bytes());
    whole.extend_from_slice(&(number as u64).to_le_bytes());
    whole.extend_from_slice(key);
    whole
}

/// The number of the group, that of the aggregate, and the values.
fn parts(row: &[Value]) -> Option<(usize, usize, &[Value])> {
    match row {
        [Value::UInt(group), Value::UInt(number), values @ ..] => {
            Some((*group as usize, *number as usize, values))
        }
        _ => None,
    }
}
