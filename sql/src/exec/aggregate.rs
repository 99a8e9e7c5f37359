//! GROUP BY: groups in a hash table, in the order they appear, and the aggregate functions. When
//! there is no room for more groups, the rows of others are put off, in files, and grouped
//! afterwards. Where the rows of each group come one after the other, there is one group at a time.

use super::{
    ExecContext, Flow, Flowing, Stop,
    block::BlockRun,
    memory::{self, Memory},
    sort::{By, compare_rows},
    temporary::{Deferred, Partitions},
};
use crate::{
    error::SqlError,
    expr::{
        BinaryOp, EvalContext, Expr, bit_pattern, bits_of_bytes, eval, hash_key, infer, kept,
        order, text,
    },
    json,
    plan::{Aggregate, AggregateFunction, Block, Grouping},
};
use bigdecimal::RoundingMode;
use cohort_engine::types::{
    Collation, ColumnType, Decimal, Json, Value,
    json::{Key, Node, Tree},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

/// The groups of a block.
pub(super) struct Groups<'b> {
    block: &'b Block,
    by_key: FxHashMap<Vec<u8>, usize>,
    groups: Vec<Group>,
    memory: Memory,
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

    /// Whether there was no room for some groups.
    pub fn has_put_off(&self) -> bool {
        !self.later.is_empty()
    }

    /// Takes in what another thread has made of other parts.
    pub fn join(&mut self, other: Groups<'b>) -> Result<(), Stop> {
        let Some(grouping) = self.grouping() else {
            return Ok(());
        };
        self.memory.take(other.memory.bytes())?;
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
            let value = match slot {
                Some(value) if self.again => value.clone(),
                _ => {
                    run.run_subqueries(&key.subqueries, context)?;
                    eval(&key.expr, &run.row, &mut context.eval)?
                }
            };
            if let Some(slot) = kept.and_then(|(_, slot)| run.row.get_mut(*slot)) {
                slot.clone_from(&value);
            }
            hash_key(&value, infer(&key.expr).collation, &mut self.key);
        }
        Ok(())
    }

    /// Begins a group with the row of the block.
    fn begin(&mut self, grouping: &Grouping, run: &BlockRun<'b>) -> Result<(), Stop> {
        let first = self.first(run);
        let states = grouping.aggregates.len() * size_of::<State>();
        self.memory
            .take(memory::size(&first) + self.key.len() + states + 64)?;
        self.groups.push(Group {
            begun: (Arc::clone(&self.part), self.begun),
            first,
            states: grouping.aggregates.iter().map(State::new).collect(),
        });
        self.begun += 1;
        Ok(())
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
    pub fn count_rows(&mut self, run: &BlockRun<'b>, rows: u64) -> Result<(), Stop> {
        let Some(grouping) = self.grouping().filter(|_| rows > 0) else {
            return Ok(());
        };
        self.begin(grouping, run)?;
        self.by_key.insert(Vec::new(), self.groups.len() - 1);
        for state in self.groups.iter_mut().flat_map(|group| &mut group.states) {
            state.count += rows;
        }
        Ok(())
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
            None if self.memory.is_beyond(context.memory_bytes) => {
                self.later.push(&self.key, &run.row, context)?;
                return Ok(Flow::Continue);
            }
            None => {
                self.begin(grouping, run)?;
                self.by_key.insert(self.key.clone(), self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        if let Some(group) = self.groups.get_mut(at) {
            group.add(grouping, run, context, &mut self.memory)?;
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
            self.memory = Memory::default();
            self.begin(grouping, run)?;
            self.last.clone_from(&self.key);
        }
        if let Some(group) = self.groups.last_mut() {
            group.add(grouping, run, context, &mut self.memory)?;
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
        let mut finished = Vec::with_capacity(self.groups.len());
        for group in self.groups {
            finished.push(group.finish(block, grouping, context)?);
        }
        Ok((finished, deferred))
    }
}

impl Group {
    /// Adds the row of the block.
    fn add(
        &mut self,
        grouping: &Grouping,
        run: &mut BlockRun<'_>,
        context: &mut ExecContext,
        memory: &mut Memory,
    ) -> Result<(), Stop> {
        for (aggregate, state) in grouping.aggregates.iter().zip(&mut self.states) {
            state.add(aggregate, run, context, memory)?;
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

/// What an aggregate has seen of a group.
#[derive(Clone)]
pub(super) struct State {
    /// The keys of the values seen, for DISTINCT.
    seen: FxHashSet<Vec<u8>>,
    count: u64,
    value: Accumulated,
}

#[derive(Clone)]
enum Accumulated {
    Nothing,
    Integer(i128),
    Decimal(Decimal),
    Double(f64),
    Bits(u64),
    /// Mean and sum of squared differences.
    Moments(f64, f64),
    Value(Value),
    Texts(Vec<(Vec<Value>, Vec<u8>)>),
    /// Documents to be put together.
    Json(Vec<Json>),
}

/// The value of an aggregate's argument for a row: of those on bits of numbers, its bits.
pub(super) fn argument(
    function: &AggregateFunction,
    expr: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    match function {
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor
            if !infer(expr).is_bytes() =>
        {
            Ok(bit_pattern(expr, row, context)?.map_or(Value::Null, Value::UInt))
        }
        // With as many digits as its type has.
        AggregateFunction::Min | AggregateFunction::Max if !matches!(expr, Expr::Column { .. }) => {
            let value = eval(expr, row, context)?;
            Ok(kept(value, &infer(expr), context))
        }
        AggregateFunction::CountRows
        | AggregateFunction::Count
        | AggregateFunction::Sum
        | AggregateFunction::Avg
        | AggregateFunction::Min
        | AggregateFunction::Max
        | AggregateFunction::BitAnd
        | AggregateFunction::BitOr
        | AggregateFunction::BitXor
        | AggregateFunction::Variance { .. }
        | AggregateFunction::JsonArray
        | AggregateFunction::JsonObject
        | AggregateFunction::GroupConcat(_) => eval(expr, row, context),
    }
}

impl State {
    pub fn new(aggregate: &Aggregate) -> State {
        State {
            seen: FxHashSet::default(),
            count: 0,
            value: match aggregate.function {
                ref function if function.is_on_bits() && aggregate.ty.is_bytes() => {
                    Accumulated::Nothing
                }
                AggregateFunction::BitAnd => Accumulated::Bits(u64::MAX),
                AggregateFunction::BitOr | AggregateFunction::BitXor => Accumulated::Bits(0),
                AggregateFunction::Variance { .. } => Accumulated::Moments(0.0, 0.0),
                AggregateFunction::GroupConcat(_) => Accumulated::Texts(Vec::new()),
                AggregateFunction::JsonArray | AggregateFunction::JsonObject => {
                    Accumulated::Json(Vec::new())
                }
                _ => Accumulated::Nothing,
            },
        }
    }

    /// Adds the block's row.
    pub fn add(
        &mut self,
        aggregate: &Aggregate,
        run: &mut BlockRun,
        context: &mut ExecContext,
        memory: &mut Memory,
    ) -> Result<(), Stop> {
        let mut values: [Value; 1] = [Value::Null];
        let mut more = Vec::new();
        for (i, arg) in aggregate.args.iter().enumerate() {
            run.run_subqueries(&arg.subqueries, context)?;
            let value = argument(&aggregate.function, &arg.expr, &run.row, &mut context.eval)?;
            // NULLs are not counted, summed or compared.
            if value.is_null() {
                return Ok(());
            }
            match (i, values.first_mut()) {
                (0, Some(first)) => *first = value,
                _ => more.push(value),
            }
        }
        if aggregate.distinct {
            let mut key = Vec::new();
            for (value, arg) in values.iter().chain(&more).zip(&aggregate.args) {
                hash_key(value, infer(&arg.expr).collation, &mut key);
            }
            if self.seen.contains(&key) {
                return Ok(());
            }
            memory.take(key.len() + 48)?;
            self.seen.insert(key);
        }
        let [value] = values;
        if let AggregateFunction::GroupConcat(_) = aggregate.function {
            self.count += 1;
            return self.add_text(aggregate, (&value, &more), run, context, memory);
        }
        if aggregate.function.makes_json() {
            memory.take_row(std::slice::from_ref(&value))?;
        }
        self.take(aggregate, value)?;
        Ok(())
    }

    /// Adds a value that is not NULL. (To GROUP_CONCAT texts are added.)
    pub fn take(&mut self, aggregate: &Aggregate, value: Value) -> Result<(), SqlError> {
        self.count += 1;
        self.combine(aggregate, value)
    }

    /// Makes a value part of what is accumulated; it may be accumulated itself.
    fn combine(&mut self, aggregate: &Aggregate, value: Value) -> Result<(), SqlError> {
        match &aggregate.function {
            AggregateFunction::CountRows | AggregateFunction::Count => {}
            AggregateFunction::Sum | AggregateFunction::Avg => self.sum(value),
            AggregateFunction::Min => self.extreme(value, Ordering::Less, aggregate),
            AggregateFunction::Max => self.extreme(value, Ordering::Greater, aggregate),
            AggregateFunction::BitAnd => self.bits(BinaryOp::BitAnd, value)?,
            AggregateFunction::BitOr => self.bits(BinaryOp::BitOr, value)?,
            AggregateFunction::BitXor => self.bits(BinaryOp::BitXor, value)?,
            AggregateFunction::Variance { .. } => self.moments(double(&value)),
            AggregateFunction::GroupConcat(_) => {}
            AggregateFunction::JsonArray | AggregateFunction::JsonObject => {
                if let (Accumulated::Json(documents), Value::Json(document)) =
                    (&mut self.value, value)
                {
                    documents.push(document);
                }
            }
        }
        Ok(())
    }

    /// Takes in what another one has seen, of an aggregate that does not depend on the order of its values.
    fn join(&mut self, aggregate: &Aggregate, other: State) -> Result<(), SqlError> {
        if aggregate.distinct {
            self.seen.extend(other.seen);
            self.count = self.seen.len() as u64;
        } else {
            self.count += other.count;
        }
        let value = match other.value {
            Accumulated::Nothing => return Ok(()),
            other if matches!(self.value, Accumulated::Nothing) => {
                self.value = other;
                return Ok(());
            }
            Accumulated::Integer(sum) => Value::Decimal(sum.into()),
            Accumulated::Decimal(sum) => Value::Decimal(sum),
            Accumulated::Bits(bits) => Value::UInt(bits),
            Accumulated::Value(best) => best,
            Accumulated::Double(_)
            | Accumulated::Moments(..)
            | Accumulated::Texts(_)
            | Accumulated::Json(_) => {
                return Err(SqlError::internal("these values are to be taken in order"));
            }
        };
        self.combine(aggregate, value)
    }

    /// Adds a text to GROUP_CONCAT.
    fn add_text(
        &mut self,
        aggregate: &Aggregate,
        (value, more): (&Value, &[Value]),
        run: &mut BlockRun,
        context: &mut ExecContext,
        memory: &mut Memory,
    ) -> Result<(), Stop> {
        let mut joined = Vec::new();
        for (value, arg) in std::iter::once(value).chain(more).zip(&aggregate.args) {
            text(value, infer(&arg.expr).text_form(), &mut joined);
        }
        let mut keys = Vec::with_capacity(aggregate.order.len());
        for by in &aggregate.order {
            run.run_subqueries(&by.value.subqueries, context)?;
            keys.push(eval(&by.value.expr, &run.row, &mut context.eval)?);
        }
        memory.take(joined.len() + memory::size(&keys))?;
        if let Accumulated::Texts(texts) = &mut self.value {
            texts.push((keys, joined));
        }
        Ok(())
    }

    /// Takes a value out again that was added to COUNT, SUM or AVG. `false`: that cannot be done
    /// exactly; the state must be made anew.
    pub fn take_out(&mut self, aggregate: &Aggregate, value: &Value) -> bool {
        use AggregateFunction::{Avg, Count, CountRows, Sum};
        let counts = matches!(aggregate.function, CountRows | Count);
        let sums = matches!(aggregate.function, Sum | Avg);
        if !counts && !sums {
            return false;
        }
        if sums {
            match (&mut self.value, value) {
                (Accumulated::Integer(sum), Value::Int(n)) => *sum -= i128::from(*n),
                (Accumulated::Integer(sum), Value::UInt(n)) => *sum -= i128::from(*n),
                (Accumulated::Decimal(sum), Value::Int(n)) => *sum -= &Decimal::from(*n),
                (Accumulated::Decimal(sum), Value::UInt(n)) => *sum -= &Decimal::from(*n),
                (Accumulated::Decimal(sum), Value::Decimal(n)) => *sum -= n,
                _ => return false,
            }
        }
        self.count = self.count.saturating_sub(1);
        if self.count == 0 {
            self.value = Accumulated::Nothing;
        }
        true
    }

    fn sum(&mut self, value: Value) {
        let before = std::mem::replace(&mut self.value, Accumulated::Nothing);
        self.value = match (before, value) {
            (Accumulated::Nothing, Value::Int(n)) => Accumulated::Integer(n.into()),
            (Accumulated::Nothing, Value::UInt(n)) => Accumulated::Integer(n.into()),
            (Accumulated::Nothing, Value::Decimal(n)) => Accumulated::Decimal(n),
            // Zero comes first: a sum of negative zeros is not negative.
            (Accumulated::Nothing, other) => Accumulated::Double(0.0 + double(&other)),
            (Accumulated::Integer(sum), Value::Int(n)) => Accumulated::Integer(sum + i128::from(n)),
            (Accumulated::Integer(sum), Value::UInt(n)) => {
                Accumulated::Integer(sum + i128::from(n))
            }
            (Accumulated::Integer(sum), Value::Decimal(n)) => {
                Accumulated::Decimal(&Decimal::from(sum) + &n)
            }
            (Accumulated::Decimal(sum), Value::Decimal(n)) => Accumulated::Decimal(&sum + &n),
            (Accumulated::Decimal(sum), Value::Int(n)) => {
                Accumulated::Decimal(&sum + &Decimal::from(n))
            }
            (Accumulated::Decimal(sum), Value::UInt(n)) => {
                Accumulated::Decimal(&sum + &Decimal::from(n))
            }
            (Accumulated::Integer(sum), other) => Accumulated::Double(sum as f64 + double(&other)),
            (Accumulated::Double(sum), other) => Accumulated::Double(sum + double(&other)),
            (Accumulated::Decimal(sum), other) => {
                let sum = double(&Value::Decimal(sum));
                Accumulated::Double(sum + double(&other))
            }
            (kept, _) => kept,
        };
    }

    /// The value, if it compares with the best so far as wanted.
    fn extreme(&mut self, value: Value, wanted: Ordering, aggregate: &Aggregate) {
        let argument = aggregate.args.first();
        let collation = argument.map_or(Collation::Binary, |a| infer(&a.expr).collation);
        // Members are compared as texts.
        let value = match value {
            Value::Member(member) => member.text.clone(),
            value => value,
        };
        let better = match &self.value {
            Accumulated::Value(best) => order(&value, best, collation) == wanted,
            _ => true,
        };
        if better {
            self.value = Accumulated::Value(value);
        }
    }

    /// Welford's method.
    fn moments(&mut self, x: f64) {
        if let Accumulated::Moments(mean, squares) = &mut self.value {
            let delta = x - *mean;
            *mean += delta / self.count as f64;
            *squares += delta * (x - *mean);
        }
    }

    /// Adds the bits of a number, or of a binary string.
    fn bits(&mut self, op: BinaryOp, value: Value) -> Result<(), SqlError> {
        match (&mut self.value, value) {
            (Accumulated::Bits(all), Value::UInt(bits)) => {
                *all = match op {
                    BinaryOp::BitAnd => *all & bits,
                    BinaryOp::BitOr => *all | bits,
                    _ => *all ^ bits,
                };
            }
            (Accumulated::Value(Value::Bytes(all)), Value::Bytes(bytes)) => {
                *all = bits_of_bytes(op, all, &bytes)?;
            }
            (Accumulated::Nothing, first) => self.value = Accumulated::Value(first),
            _ => return Err(SqlError::internal("bits of numbers and of strings at once")),
        }
        Ok(())
    }

    /// The result.
    pub fn finish(self, aggregate: &Aggregate, context: &mut ExecContext) -> Result<Value, Stop> {
        let count = self.count;
        let function = &aggregate.function;
        Ok(match (function, self.value) {
            (AggregateFunction::CountRows | AggregateFunction::Count, _) => {
                Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
            }
            (AggregateFunction::Avg, Accumulated::Double(sum)) => {
                finite(sum / count as f64, "avg")?
            }
            (AggregateFunction::Avg, value) => average(value, count, aggregate),
            (AggregateFunction::Variance { sample, root }, Accumulated::Moments(_, squares)) => {
                let divisor = count.saturating_sub(u64::from(*sample));
                if divisor == 0 {
                    return Ok(Value::Null);
                }
                let variance = squares / divisor as f64;
                match (root, sample) {
                    (true, true) => finite(variance.sqrt(), "stddev_samp")?,
                    (true, false) => finite(variance.sqrt(), "std")?,
                    (false, true) => finite(variance, "var_samp")?,
                    (false, false) => finite(variance, "variance")?,
                }
            }
            (AggregateFunction::GroupConcat(separator), Accumulated::Texts(texts)) => {
                concatenate(texts, separator, aggregate, context)
            }
            // Of no binary strings there are all the bits there can be, or none of them.
            (AggregateFunction::BitAnd, Accumulated::Nothing) => {
                Value::Bytes(vec![0xff; bits_length(aggregate)])
            }
            (AggregateFunction::BitOr | AggregateFunction::BitXor, Accumulated::Nothing) => {
                Value::Bytes(vec![0; bits_length(aggregate)])
            }
            (_, Accumulated::Json(documents)) => {
                together(&documents, context.eval.statement.max_allowed_packet)?
            }
            (_, Accumulated::Nothing) => Value::Null,
            (_, Accumulated::Integer(sum)) => exact_sum(Decimal::from(sum), aggregate),
            (_, Accumulated::Decimal(sum)) => exact_sum(sum, aggregate),
            (_, Accumulated::Double(sum)) => finite(sum, "sum")?,
            (_, Accumulated::Bits(bits)) => Value::UInt(bits),
            (_, Accumulated::Value(value)) => value,
            _ => Value::Null,
        })
    }
}

/// A floating point number that a client can be sent; 1690 if it is none.
fn finite(x: f64, name: &str) -> Result<Value, SqlError> {
    match x.is_finite() {
        true => Ok(Value::Double(x)),
        false => Err(SqlError::value_out_of_range("DOUBLE", format!("{name}()"))),
    }
}

/// Arrays as one array, objects as one object; of none, NULL. 1301 if it has more bytes than `max`.
fn together(documents: &[Json], max: u64) -> Result<Value, SqlError> {
    let mut elements = Vec::new();
    let mut members = BTreeMap::new();
    for document in documents {
        match document.root() {
            Node::Array(array) => elements.extend(array.iter().map(|node| node.to_tree())),
            // The last one of several of a name counts.
            Node::Object(object) => members.extend(
                object
                    .iter()
                    .map(|(key, node)| (Key::from(key), node.to_tree())),
            ),
            Node::Scalar(_) => {}
        }
    }
    let tree = match documents.first().map(Json::root) {
        Some(Node::Object(_)) => Tree::Object(members),
        Some(_) => Tree::Array(elements),
        None => return Ok(Value::Null),
    };
    json::made(&tree, max).map(Value::Json)
}

/// How long the binary strings are that an aggregate on bits is of: its type has a byte more.
fn bits_length(aggregate: &Aggregate) -> usize {
    aggregate.ty.length.saturating_sub(1) as usize
}

/// A sum with the digits of its type: values of a CASE, say, may have fewer.
fn exact_sum(sum: Decimal, aggregate: &Aggregate) -> Value {
    let scale = match aggregate.ty.ty {
        Some(ColumnType::Decimal { scale, .. }) => scale.into(),
        _ => return Value::Decimal(sum),
    };
    Value::Decimal(sum.with_scale_round(scale, RoundingMode::HalfUp))
}

fn average(sum: Accumulated, count: u64, aggregate: &Aggregate) -> Value {
    let sum = match sum {
        Accumulated::Integer(sum) => Decimal::from(sum),
        Accumulated::Decimal(sum) => sum,
        _ => return Value::Null,
    };
    let scale = match aggregate.ty.ty {
        Some(ColumnType::Decimal { scale, .. }) => i64::from(scale),
        _ => 4,
    };
    // The digit behind the last one decides how that is rounded.
    let average = sum.quotient(&Decimal::from(count), scale + 1);
    Value::Decimal(average.with_scale_round(scale, RoundingMode::HalfUp))
}

fn concatenate(
    mut texts: Vec<(Vec<Value>, Vec<u8>)>,
    separator: &[u8],
    aggregate: &Aggregate,
    context: &mut ExecContext,
) -> Value {
    if texts.is_empty() {
        return Value::Null;
    }
    let keys = aggregate.order.iter().enumerate();
    let by: Vec<By> = keys
        .map(|(at, key)| By {
            at,
            collation: infer(&key.value.expr).collation,
            desc: key.desc,
        })
        .collect();
    texts.sort_by(|(a, _), (b, _)| compare_rows(a, b, &by));
    let bytes_max = context.eval.statement.group_concat_bytes_max;
    let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let mut result = Vec::new();
    for (i, (_, text)) in texts.iter().enumerate() {
        if i > 0 {
            result.extend_from_slice(separator);
        }
        result.extend_from_slice(text);
        if result.len() > bytes_max {
            let mut end = bytes_max;
            while end > 0 && result.get(end).is_some_and(|b| b & 0xC0 == 0x80) {
                end -= 1;
            }
            result.truncate(end);
            context
                .eval
                .warnings
                .warn(SqlError::cut_by_group_concat(i + 1));
            break;
        }
    }
    Value::Bytes(result)
}

/// A value as floating point: text by the number it begins with.
fn double(value: &Value) -> f64 {
    match value {
        Value::Int(n) => *n as f64,
        Value::UInt(n) => *n as f64,
        Value::Float(n) => f64::from(*n),
        Value::Double(n) => *n,
        Value::Decimal(n) => n.to_f64(),
        _ => 0.0,
    }
}
