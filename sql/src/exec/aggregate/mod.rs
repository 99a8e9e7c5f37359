//! GROUP BY: groups in a hash table, in the order they appear, and the aggregate functions. When
//! there is no room for more groups, the rows of others are put off, in files, and grouped
//! afterwards; when there is none for more values of DISTINCT, those are. Where the rows of each group
//! come one after the other, there is one group at a time.

mod room;
mod state;
mod table;
mod texts;

pub(super) use room::Room;
pub(super) use state::{State, argument};

use super::{
    ExecContext, Flow, Flowing, Stop,
    block::BlockRun,
    memory::{self, Memory},
    temporary::{Deferred, Partitions},
};
use crate::{
    expr::{hash_key, infer, view},
    plan::{Block, Grouping},
};
use cohort_engine::{invariant::broken, types::Value};
use table::{Begun, GroupTable};

/// The groups of a block.
pub(super) struct Groups<'b> {
    block: &'b Block,
    table: GroupTable,
    /// What the groups take without the values that their aggregates have seen.
    memory: Memory,
    room: Room,
    key: Vec<u8>,
    /// The key of the last group, if they come one after the other.
    last: Vec<u8>,
    /// Rows of groups for which there was no room.
    later: Partitions,
    /// The rows that come were put off, and their keys that are kept were evaluated then.
    again: bool,
    /// The first keys of the parts of what is read that the rows are in, where several threads read; the
    /// last one is that of the rows that come.
    parts: Vec<Vec<u8>>,
    /// Parts that come before others were read after them: a group may have begun earlier than this
    /// thread knew.
    went_back: bool,
    /// So many groups have begun.
    begun: u32,
    /// The numbers of the groups in the order of their first rows, if that is another one.
    order: Option<Vec<usize>>,
}

/// A finished group.
pub(super) struct Finished<'b> {
    block: &'b Block,
    first: Vec<Value>,
    results: Vec<Value>,
}

impl Finished<'_> {
    /// Exchanges the values of the group's first row with those that are in the block's row.
    pub fn exchange(&mut self, row: &mut [Value]) {
        for (slot, value) in self.block.row_slots.iter().zip(&mut self.first) {
            if let Some(slot) = row.get_mut(*slot) {
                std::mem::swap(slot, value);
            }
        }
    }

    /// Puts the results of the aggregates into the block's row.
    pub fn put_results(&mut self, row: &mut [Value]) {
        let aggregates = self.block.grouping.iter().flat_map(|g| &g.aggregates);
        for (aggregate, value) in aggregates.zip(std::mem::take(&mut self.results)) {
            if let Some(slot) = row.get_mut(aggregate.slot) {
                *slot = value;
            }
        }
    }
}

/// Groups to which no more rows come.
pub(super) struct Ended<'b> {
    block: &'b Block,
    table: GroupTable,
    order: Option<Vec<usize>>,
    given: usize,
}

impl Ended<'_> {
    /// Puts the values of the next group into the block's row; false if there is none.
    pub fn next(&mut self, row: &mut [Value], context: &mut ExecContext) -> Result<bool, Stop> {
        if self.given == self.table.len() {
            return Ok(false);
        }
        let in_order = self.order.as_ref().map(|order| order.get(self.given));
        let at = match in_order {
            None => self.given,
            Some(at) => *at.ok_or_else(|| broken("each group has its place in the order"))?,
        };
        self.given += 1;
        let first = self.table.first_mut(at).iter_mut();
        for (slot, value) in self.block.row_slots.iter().zip(first) {
            if let Some(slot) = row.get_mut(*slot) {
                *slot = std::mem::take(value);
            }
        }
        let aggregates = self.block.grouping.iter().flat_map(|g| &g.aggregates);
        for (aggregate, state) in aggregates.zip(self.table.states_mut(at)) {
            let result = std::mem::take(state).finish(aggregate, context)?;
            if let Some(slot) = row.get_mut(aggregate.slot) {
                *slot = result;
            }
        }
        Ok(true)
    }
}

impl<'b> Groups<'b> {
    pub fn new(block: &'b Block) -> Groups<'b> {
        let aggregates = block.grouping.as_ref().map(|g| g.aggregates.len());
        Groups {
            block,
            table: GroupTable::new(block.row_slots.len(), aggregates.unwrap_or(0)),
            memory: Memory::default(),
            room: Room::default(),
            key: Vec::new(),
            last: Vec::new(),
            later: Partitions::default(),
            again: false,
            parts: vec![Vec::new()],
            went_back: false,
            begun: 0,
            order: None,
        }
    }

    /// The rows that follow are in the part of what is read that begins with this key.
    pub fn begin_part(&mut self, low: Vec<u8>) {
        self.went_back |= self.parts.last().is_some_and(|last| low < *last);
        self.parts.push(low);
    }

    /// Whether there was no room for some groups or values.
    pub fn has_put_off(&self) -> bool {
        !self.later.is_empty() || self.room.has_put_off()
    }

    /// What says which of two groups began first.
    fn rank(&self, begun: Begun) -> (Option<&Vec<u8>>, u32) {
        (self.parts.get(begun.part as usize), begun.before)
    }

    /// Takes in what another thread has made of other parts.
    pub fn join(&mut self, mut other: Groups<'b>) -> Result<(), Stop> {
        let Some(grouping) = self.grouping() else {
            return Ok(());
        };
        self.memory.add(other.memory.bytes());
        self.room.memory.add(other.room.memory.bytes());
        let parts = self.parts.len() as u32;
        self.parts.append(&mut other.parts);
        for at in 0..other.table.len() {
            let missing = || broken("each group has a key");
            let mut begun = *other.table.begun.get(at).ok_or_else(missing)?;
            begun.part += parts;
            let key = other.table.key(at).ok_or_else(missing)?;
            let Some(known) = self.table.find(key) else {
                let key = key.to_vec();
                let first = other.table.first_mut(at).to_vec();
                let states = other.table.states_mut(at).iter_mut();
                let states = states.map(std::mem::take);
                self.table.begin(&key, begun, first.into_iter(), states);
                continue;
            };
            let own = *self.table.begun.get(known).ok_or_else(missing)?;
            if self.rank(begun) < self.rank(own) {
                let first = other.table.first_mut(at);
                self.table.first_mut(known).swap_with_slice(first);
                if let Some(own) = self.table.begun.get_mut(known) {
                    *own = begun;
                }
            }
            let (own, others) = (self.table.states_mut(known), other.table.states_mut(at));
            for (aggregate, (state, other)) in
                grouping.aggregates.iter().zip(own.iter_mut().zip(others))
            {
                state.join(aggregate, std::mem::take(other))?;
            }
        }
        Ok(())
    }

    /// The groups in the order of their first rows, when all parts are read.
    pub fn in_order(mut self) -> Groups<'b> {
        self.table.forget_keys();
        let mut order: Vec<usize> = (0..self.table.len()).collect();
        let rank = |at: usize| self.table.begun.get(at).map(|begun| self.rank(*begun));
        order.sort_unstable_by(|a, b| rank(*a).cmp(&rank(*b)));
        self.order = Some(order);
        self
    }

    /// For rows that were put off so often.
    pub fn at_depth(block: &'b Block, depth: u32) -> Groups<'b> {
        Groups {
            later: Partitions::new(depth),
            again: true,
            ..Groups::new(block)
        }
    }

    fn grouping(&self) -> Option<&'b Grouping> {
        self.block.grouping.as_ref()
    }

    /// Makes the key of the group that the row of the block is in.
    fn make_key(
        &mut self,
        grouping: &Grouping,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        self.key.clear();
        for (number, key) in grouping.keys.iter().enumerate() {
            let kept = grouping.kept.iter().find(|(kept, _)| *kept == number);
            let slot = kept.and_then(|(_, slot)| run.row.get(*slot));
            let collation = infer(&key.expr).collation;
            if let Some(value) = slot.filter(|_| self.again) {
                hash_key(value, collation, &mut self.key);
                continue;
            }
            run.prepare_for(key, context)?;
            let value = view(&key.expr, &run.row, &mut context.eval)?;
            hash_key(&value, collation, &mut self.key);
            if let Some((_, slot)) = kept {
                let value = value.into_owned();
                if let Some(slot) = run.row.get_mut(*slot) {
                    *slot = value;
                }
            }
        }
        Ok(())
    }

    /// When a group began that begins now.
    fn begin_now(&mut self) -> Begun {
        let part = self.parts.len().saturating_sub(1) as u32;
        let before = self.begun;
        self.begun = before.saturating_add(1);
        Begun { part, before }
    }

    /// Begins a group with the row of the block.
    fn begin(&mut self, grouping: &Grouping, run: &BlockRun<'b>) {
        let first = self.first(run);
        self.memory.add(self.table.bytes_of(&self.key, &first));
        let begun = self.begin_now();
        let states = grouping.aggregates.iter().map(State::new);
        self.table
            .begin(&self.key, begun, first.into_iter(), states);
    }

    /// Whether there is no room for another one.
    fn is_full(&self, context: &ExecContext) -> bool {
        self.memory.is_beyond(memory::of_groups(context))
            || self.room.memory.is_beyond(memory::of_values(context))
            || self.table.is_full()
    }

    /// What a group keeps of its first row.
    fn first(&self, run: &BlockRun<'b>) -> Vec<Value> {
        let slots = self.block.row_slots.iter();
        let values = slots.map(|slot| run.row.get(*slot).cloned().unwrap_or_default());
        values.collect()
    }

    /// This row comes before those that a group has had, if it is in a part before theirs.
    fn begin_earlier(&mut self, at: usize, run: &BlockRun<'b>) {
        let part = |begun: &Begun| self.parts.get(begun.part as usize);
        let began_later = |begun: &Begun| self.parts.last() < part(begun);
        if self.table.begun.get(at).is_some_and(began_later) {
            let begun = self.begin_now();
            let first = self.first(run);
            for (value, new) in self.table.first_mut(at).iter_mut().zip(first) {
                *value = new;
            }
            if let Some(own) = self.table.begun.get_mut(at) {
                *own = begun;
            }
        }
    }

    /// Adds so many rows to the only group, of which all that is wanted is how many they are.
    pub fn count_rows(&mut self, run: &BlockRun<'b>, rows: u64) {
        let Some(grouping) = self.grouping().filter(|_| rows > 0) else {
            return;
        };
        self.key.clear();
        self.begin(grouping, run);
        for state in self.table.states_mut(0) {
            state.count_rows(rows);
        }
    }

    /// Adds the row of the block to its group.
    pub fn add(&mut self, run: &mut BlockRun<'b>, context: &mut ExecContext) -> Flowing {
        let Some(grouping) = self.grouping() else {
            return Ok(Flow::Continue);
        };
        self.make_key(grouping, run, context)?;
        // Of one group nothing need be looked up. (To compare no bytes is slow where the processor reads
        // them all the same, from no place at all: it took a quarter of a COUNT(*).)
        let known = match grouping.keys.is_empty() && self.table.len() > 0 {
            true => Some(0),
            false => self.table.find(&self.key),
        };
        let at = match known {
            Some(at) if self.went_back => {
                self.begin_earlier(at, run);
                at
            }
            Some(at) => at,
            None if self.is_full(context) => {
                self.later.push(&self.key, &run.row, context)?;
                return Ok(Flow::Continue);
            }
            None => {
                self.begin(grouping, run);
                self.table.len() - 1
            }
        };
        self.add_to(at, grouping, run, context)?;
        Ok(Flow::Continue)
    }

    /// Adds the row of the block to a group.
    #[inline]
    fn add_to(
        &mut self,
        at: usize,
        grouping: &Grouping,
        run: &mut BlockRun<'_>,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let states = grouping.aggregates.iter().zip(self.table.states_mut(at));
        for (number, (aggregate, state)) in states.enumerate() {
            state.add(aggregate, (at, number), run, context, &mut self.room)?;
        }
        Ok(())
    }

    /// The same, where no row of a group comes after one of another. Returns the group before, if
    /// this row begins one.
    pub fn add_in_turn(
        &mut self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
    ) -> Result<Option<Finished<'b>>, Stop> {
        let Some(grouping) = self.grouping() else {
            return Ok(None);
        };
        self.make_key(grouping, run, context)?;
        let mut before = None;
        if self.table.len() == 0 || self.key != self.last {
            before = self.take_only(grouping, context)?;
            self.begin(grouping, run);
            self.last.clone_from(&self.key);
        }
        self.add_to(0, grouping, run, context)?;
        Ok(before)
    }

    /// Takes the only group out, if there is one, and finishes it.
    fn take_only(
        &mut self,
        grouping: &Grouping,
        context: &mut ExecContext,
    ) -> Result<Option<Finished<'b>>, Stop> {
        if self.table.len() == 0 {
            return Ok(None);
        }
        let states = self.table.each_states();
        std::mem::take(&mut self.room).settle(grouping, states, context)?;
        let mut results = Vec::with_capacity(grouping.aggregates.len());
        for (aggregate, state) in grouping.aggregates.iter().zip(self.table.states_mut(0)) {
            results.push(std::mem::take(state).finish(aggregate, context)?);
        }
        let first = self.table.first_mut(0).iter_mut().map(std::mem::take);
        let finished = Finished {
            block: self.block,
            first: first.collect(),
            results,
        };
        self.table.clear();
        Ok(Some(finished))
    }

    /// The groups with their results, and the rows that were put off, which make other groups.
    pub fn finish(mut self, context: &mut ExecContext) -> Result<(Ended<'b>, Vec<Deferred>), Stop> {
        let deferred = std::mem::take(&mut self.later).finish()?;
        if let Some(grouping) = self.grouping() {
            if self.table.len() == 0 && !grouping.explicit {
                // The only one, in whatever order.
                self.order = None;
                let begun = self.begin_now();
                let first = self.block.row_slots.iter().map(|_| Value::Null);
                let states = grouping.aggregates.iter().map(State::new);
                self.table.begin(&[], begun, first, states);
            }
            self.room
                .settle(grouping, self.table.each_states(), context)?;
        }
        let ended = Ended {
            block: self.block,
            table: self.table,
            order: self.order,
            given: 0,
        };
        Ok((ended, deferred))
    }
}
