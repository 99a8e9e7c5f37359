//! GROUP BY: groups in a hash table, in the order they appear, and the aggregate functions. When
//! there is no room for more groups, the rows of others are put off, in files, and grouped
//! afterwards; when there is none for more values of DISTINCT, those are. Where the rows of each group
//! come one after the other, there is one group at a time.

mod room;
mod state;
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
use cohort_engine::types::Value;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The groups of a block.
pub(super) struct Groups<'b> {
    block: &'b Block,
    by_key: FxHashMap<Vec<u8>, usize>,
    groups: Vec<Group>,
    /// What they take without the values that their aggregates have seen.
    memory: Memory,
    room: Room,
    key: Vec<u8>,
    /// The key of the last group, if they come one after the other.
    last: Vec<u8>,
    /// Rows of groups for which there was no room.
    later: Partitions,
    /// The rows that come were put off, and their keys that are kept were evaluated then.
    again: bool,
    /// The first key of the part of what is read that the rows are in, where several threads read.
    part: Arc<[u8]>,
    /// Parts that come before others were read after them: a group may have begun earlier than this
    /// thread knew.
    went_back: bool,
    /// So many groups have begun.
    begun: usize,
}

struct Group {
    /// The part that its first row is in, by its first key, and how many groups this thread had begun
    /// before.
    begun: (Arc<[u8]>, usize),
    /// The values of its first row, in the block's wanted slots.
    first: Vec<Value>,
    states: Vec<State>,
}

/// A finished group.
pub(super) struct Finished<'b> {
    block: &'b Block,
    first: Vec<Value>,
    results: Vec<Value>,
}

impl Finished<'_> {
    /// Puts the group's values into the block's row.
    pub fn restore(mut self, row: &mut [Value]) {
        self.exchange(row);
        self.put_results(row);
    }

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

impl<'b> Groups<'b> {
    pub fn new(block: &'b Block) -> Groups<'b> {
        Groups {
            block,
            by_key: FxHashMap::default(),
            groups: Vec::new(),
            memory: Memory::default(),
            room: Room::default(),
            key: Vec::new(),
            last: Vec::new(),
            later: Partitions::default(),
            again: false,
            part: Arc::default(),
            went_back: false,
            begun: 0,
        }
    }

    /// The rows that follow are in the part of what is read that begins with this key.
    pub fn begin_part(&mut self, low: Vec<u8>) {
        self.went_back |= *low < *self.part;
        self.part = low.into();
    }

    /// Whether there was no room for some groups or values.
    pub fn has_put_off(&self) -> bool {
        !self.later.is_empty() || self.room.has_put_off()
    }

    /// Takes in what another thread has made of other parts.
    pub fn join(&mut self, other: Groups<'b>) -> Result<(), Stop> {
        let Some(grouping) = self.grouping() else {
            return Ok(());
        };
        self.memory.add(other.memory.bytes());
        self.room.memory.add(other.room.memory.bytes());
        let mut groups: Vec<Option<Group>> = other.groups.into_iter().map(Some).collect();
        for (key, at) in other.by_key {
            let Some(group) = groups.get_mut(at).and_then(Option::take) else {
                continue;
            };
            let known = self.by_key.get(&key).copied();
            match known.and_then(|at| self.groups.get_mut(at)) {
                Some(known) => known.join(group, grouping)?,
                None => {
                    self.by_key.insert(key, self.groups.len());
                    self.groups.push(group);
                }
            }
        }
        Ok(())
    }

    /// The groups in the order of their first rows, when all parts are read.
    pub fn in_order(mut self) -> Groups<'b> {
        self.by_key.clear();
        self.groups.sort_unstable_by(|a, b| a.begun.cmp(&b.begun));
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

    /// Begins a group with the row of the block.
    fn begin(&mut self, grouping: &Grouping, run: &BlockRun<'b>) {
        let first = self.first(run);
        let states = grouping.aggregates.len() * size_of::<State>();
        let beside = self.key.len() + states + 64;
        self.memory.add(memory::size(&first) + beside);
        self.groups.push(Group {
            begun: (Arc::clone(&self.part), self.begun),
            first,
            states: grouping.aggregates.iter().map(State::new).collect(),
        });
        self.begun += 1;
    }

    /// Whether there is no room for another one.
    fn is_full(&self, context: &ExecContext) -> bool {
        self.memory.is_beyond(context.memory_bytes)
            || self.room.memory.is_beyond(memory::of_values(context))
    }

    /// What a group keeps of its first row.
    fn first(&self, run: &BlockRun<'b>) -> Vec<Value> {
        let slots = self.block.row_slots.iter();
        let values = slots.map(|slot| run.row.get(*slot).cloned().unwrap_or_default());
        values.collect()
    }

    /// This row comes before those that a group has had, if it is in a part before theirs.
    fn begin_earlier(&mut self, at: usize, run: &BlockRun<'b>) {
        let is_earlier = |group: &Group| self.part < group.begun.0;
        if self.groups.get(at).is_some_and(is_earlier) {
            let first = self.first(run);
            let begun = (Arc::clone(&self.part), self.begun);
            self.begun += 1;
            if let Some(group) = self.groups.get_mut(at) {
                (group.first, group.begun) = (first, begun);
            }
        }
    }

    /// Adds so many rows to the only group, of which all that is wanted is how many they are.
    pub fn count_rows(&mut self, run: &BlockRun<'b>, rows: u64) {
        let Some(grouping) = self.grouping().filter(|_| rows > 0) else {
            return;
        };
        self.begin(grouping, run);
        self.by_key.insert(Vec::new(), self.groups.len() - 1);
        for state in self.groups.iter_mut().flat_map(|group| &mut group.states) {
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
        let known = match grouping.keys.is_empty() && !self.groups.is_empty() {
            true => Some(0),
            false => self.by_key.get(&self.key).copied(),
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
                self.by_key.insert(self.key.clone(), self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        if let Some(group) = self.groups.get_mut(at) {
            group.add(grouping, at, run, context, &mut self.room)?;
        }
        Ok(Flow::Continue)
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
        if self.groups.is_empty() || self.key != self.last {
            before = self.groups.pop();
            let states = before.iter_mut().map(|group| &mut group.states);
            std::mem::take(&mut self.room).settle(grouping, states, context)?;
            self.begin(grouping, run);
            self.last.clone_from(&self.key);
        }
        if let Some(group) = self.groups.last_mut() {
            group.add(grouping, 0, run, context, &mut self.room)?;
        }
        let block = self.block;
        let finished = before.map(|group| group.finish(block, grouping, context));
        finished.transpose()
    }

    /// The groups with their results, and the rows that were put off, which make other groups.
    pub fn finish(
        mut self,
        context: &mut ExecContext,
    ) -> Result<(Vec<Finished<'b>>, Vec<Deferred>), Stop> {
        let block = self.block;
        let deferred = std::mem::take(&mut self.later).finish()?;
        let Some(grouping) = self.grouping() else {
            return Ok((Vec::new(), deferred));
        };
        if self.groups.is_empty() && !grouping.explicit {
            self.groups.push(Group {
                begun: (Arc::default(), 0),
                first: vec![Value::Null; block.row_slots.len()],
                states: grouping.aggregates.iter().map(State::new).collect(),
            });
        }
        let states = self.groups.iter_mut().map(|group| &mut group.states);
        self.room.settle(grouping, states, context)?;
        let mut finished = Vec::with_capacity(self.groups.len());
        for group in self.groups {
            finished.push(group.finish(block, grouping, context)?);
        }
        Ok((finished, deferred))
    }
}

impl Group {
    /// Adds the row of the block; the group is at this place.
    fn add(
        &mut self,
        grouping: &Grouping,
        at: usize,
        run: &mut BlockRun<'_>,
        context: &mut ExecContext,
        room: &mut Room,
    ) -> Result<(), Stop> {
        let states = grouping.aggregates.iter().zip(&mut self.states);
        for (number, (aggregate, state)) in states.enumerate() {
            state.add(aggregate, (at, number), run, context, room)?;
        }
        Ok(())
    }

    /// Takes in what another thread has seen of it.
    fn join(&mut self, other: Group, grouping: &Grouping) -> Result<(), Stop> {
        if other.begun < self.begun {
            (self.begun, self.first) = (other.begun, other.first);
        }
        let states = self.states.iter_mut().zip(other.states);
        for (aggregate, (state, other)) in grouping.aggregates.iter().zip(states) {
            state.join(aggregate, other)?;
        }
        Ok(())
    }

    fn finish<'b>(
        self,
        block: &'b Block,
        grouping: &Grouping,
        context: &mut ExecContext,
    ) -> Result<Finished<'b>, Stop> {
        let mut results = Vec::with_capacity(self.states.len());
        for (aggregate, state) in grouping.aggregates.iter().zip(self.states) {
            results.push(state.finish(aggregate, context)?);
        }
        Ok(Finished {
            block,
            first: self.first,
            results,
        })
    }
}
