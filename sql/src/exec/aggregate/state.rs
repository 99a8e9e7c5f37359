//! The aggregate functions: what one has seen of a group, and what it makes of that.

use super::{
    Room,
    texts::{self, Texts},
};
use crate::{
    error::SqlError,
    exec::{ExecContext, Stop, block::BlockRun, key_set::KeySet, memory, sort::put_keys},
    expr::{
        BinaryOp, EvalContext, Expr, bit_pattern, bits_of_bytes, eval, hash_key, infer, kept,
        order, view,
    },
    json,
    plan::{Aggregate, AggregateFunction, Computed},
};
use bigdecimal::RoundingMode;
use cohort_engine::{
    invariant::broken,
    types::{
        Collation, ColumnType, Decimal, Json, Value,
        json::{Key, Node, Tree},
    },
};
use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap};

/// What an aggregate has seen of a group.
#[derive(Clone, Default)]
pub(in crate::exec) struct State {
    /// The keys of the values seen, for DISTINCT.
    seen: Option<Box<KeySet>>,
    count: u64,
    value: Accumulated,
}

#[derive(Clone, Default)]
enum Accumulated {
    #[default]
    Nothing,
    Integer(Whole),
    Decimal(Decimal),
    Double(f64),
    Bits(u64),
    /// Mean and sum of squared differences.
    Moments(f64, f64),
    Value(Value),
    Texts(Box<Texts>),
    /// Documents to be put together.
    Json(Vec<Json>),
}

/// A sum of integers, which asks for no more than a word's alignment: so a state has 48 bytes.
#[derive(Clone, Copy)]
#[repr(Rust, packed(8))]
struct Whole(i128);

const _: () = assert!(size_of::<State>() == 48);

/// The value of an aggregate's argument for a row: of those on bits of numbers, its bits.
pub(in crate::exec) fn argument<'r, 'c: 'r>(
    function: &AggregateFunction,
    expr: &'r Expr,
    row: &'r [Value],
    context: &mut EvalContext<'c>,
) -> Result<Cow<'r, Value>, SqlError> {
    match function {
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor
            if !infer(expr).is_bytes() =>
        {
            let bits = bit_pattern(expr, row, context)?;
            Ok(Cow::Owned(bits.map_or(Value::Null, Value::UInt)))
        }
        // With as many digits as its type has.
        AggregateFunction::Min | AggregateFunction::Max if !matches!(expr, Expr::Column { .. }) => {
            let value = eval(expr, row, context)?;
            Ok(Cow::Owned(kept(value, &infer(expr), context)))
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
        | AggregateFunction::GroupConcat(_) => view(expr, row, context),
    }
}

/// The only argument of a function that takes its values one by one as they come, without looking at
/// those before: most aggregates.
fn only_argument(aggregate: &Aggregate) -> Option<&Computed> {
    match (&aggregate.function, aggregate.args.as_slice()) {
        (
            AggregateFunction::Count
            | AggregateFunction::Sum
            | AggregateFunction::Avg
            | AggregateFunction::Min
            | AggregateFunction::Max,
            [arg],
        ) if !aggregate.distinct => Some(arg),
        _ => None,
    }
}

impl State {
    pub fn new(aggregate: &Aggregate) -> State {
        State {
            seen: None,
            count: 0,
            value: match aggregate.function {
                ref function if function.is_on_bits() && aggregate.ty.is_bytes() => {
                    Accumulated::Nothing
                }
                AggregateFunction::BitAnd => Accumulated::Bits(u64::MAX),
                AggregateFunction::BitOr | AggregateFunction::BitXor => Accumulated::Bits(0),
                AggregateFunction::Variance { .. } => Accumulated::Moments(0.0, 0.0),
                AggregateFunction::GroupConcat(ref separator) => {
                    Accumulated::Texts(Box::new(Texts::new(separator)))
                }
                AggregateFunction::JsonArray | AggregateFunction::JsonObject => {
                    Accumulated::Json(Vec::new())
                }
                _ => Accumulated::Nothing,
            },
        }
    }

    /// Adds the block's row. `place`: the number of the group, and that of the aggregate.
    #[inline]
    pub fn add(
        &mut self,
        aggregate: &Aggregate,
        place: (usize, usize),
        run: &mut BlockRun,
        context: &mut ExecContext,
        room: &mut Room,
    ) -> Result<(), Stop> {
        match only_argument(aggregate) {
            Some(arg) => self.add_only(aggregate, arg, run, context),
            None if matches!(aggregate.function, AggregateFunction::CountRows) => {
                self.count += 1;
                Ok(())
            }
            None => self.add_looking_back(aggregate, place, run, context, room),
        }
    }

    /// The same where the only argument is taken as it comes.
    #[inline]
    fn add_only(
        &mut self,
        aggregate: &Aggregate,
        arg: &Computed,
        run: &mut BlockRun,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        run.prepare_for(arg, context)?;
        let stored = match &arg.expr {
            column @ Expr::Column { .. } => column.stored(&run.row),
            _ => None,
        };
        match stored {
            Some(Value::Null) => {}
            Some(value) => self.take(aggregate, value)?,
            None => {
                let function = &aggregate.function;
                let made = argument(function, &arg.expr, &run.row, &mut context.eval)?;
                if !made.is_null() {
                    self.take(aggregate, &made)?;
                }
            }
        }
        Ok(())
    }

    /// The same where several arguments, or the values before, have a say.
    fn add_looking_back(
        &mut self,
        aggregate: &Aggregate,
        place: (usize, usize),
        run: &mut BlockRun,
        context: &mut ExecContext,
        room: &mut Room,
    ) -> Result<(), Stop> {
        let mut values: [Value; 1] = [Value::Null];
        let mut more = Vec::new();
        for (i, arg) in aggregate.args.iter().enumerate() {
            run.prepare_for(arg, context)?;
            let value = argument(&aggregate.function, &arg.expr, &run.row, &mut context.eval)?;
            // NULLs are not counted, summed or compared.
            if value.is_null() {
                return Ok(());
            }
            let value = value.into_owned();
            match (i, values.first_mut()) {
                (0, Some(first)) => *first = value,
                _ => more.push(value),
            }
        }
        if aggregate.distinct {
            let mut key = std::mem::take(&mut room.key);
            key.clear();
            put_key(aggregate, values.iter().chain(&more), &mut key);
            let seen = self.seen.get_or_insert_with(|| {
                room.memory.add(size_of::<KeySet>());
                Box::default()
            });
            if seen.contains(&key) {
                room.key = key;
                return Ok(());
            }
            if room.memory.is_beyond(memory::of_values(context)) {
                let [value] = values;
                let mut row = vec![value];
                row.append(&mut more);
                put_keys(aggregate.order.iter(), run, context, &mut row)?;
                return room.put_off(place, row, &key, context);
            }
            room.memory.add(KeySet::bytes_of(&key));
            seen.insert(&key);
            room.key = key;
        }
        let [value] = values;
        if let AggregateFunction::GroupConcat(_) = aggregate.function {
            let joined = texts::joined(aggregate, std::iter::once(&value).chain(&more));
            let mut keys = Vec::with_capacity(aggregate.order.len());
            put_keys(aggregate.order.iter(), run, context, &mut keys)?;
            return self.add_text(aggregate, (keys, joined), context, room);
        }
        if aggregate.function.makes_json() {
            room.memory.take_row(std::slice::from_ref(&value))?;
        }
        self.take(aggregate, &value)?;
        Ok(())
    }

    /// Adds what was put off, and is now known to be new: the values of the arguments, and of the order.
    pub fn add_late(
        &mut self,
        aggregate: &Aggregate,
        row: &[Value],
        context: &mut ExecContext,
        room: &mut Room,
    ) -> Result<(), Stop> {
        let (values, keys) = row.split_at(aggregate.args.len().min(row.len()));
        if let AggregateFunction::GroupConcat(_) = aggregate.function {
            let joined = texts::joined(aggregate, values.iter());
            return self.add_text(aggregate, (keys.to_vec(), joined), context, room);
        }
        let value = values.first().unwrap_or(&Value::Null);
        Ok(self.take(aggregate, value)?)
    }

    /// Adds a text to GROUP_CONCAT, with the keys that it is sorted by.
    fn add_text(
        &mut self,
        aggregate: &Aggregate,
        text: (Vec<Value>, Vec<u8>),
        context: &mut ExecContext,
        room: &mut Room,
    ) -> Result<(), Stop> {
        self.count += 1;
        match &mut self.value {
            Accumulated::Texts(texts) => texts.push(aggregate, text, context, &mut room.memory),
            _ => Err(broken("GROUP_CONCAT has texts").into()),
        }
    }

    /// Adds a value that is not NULL. (To GROUP_CONCAT texts are added.)
    #[inline]
    pub fn take(&mut self, aggregate: &Aggregate, value: &Value) -> Result<(), SqlError> {
        self.count += 1;
        self.combine(aggregate, value)
    }

    /// Makes a value part of what is accumulated; it may be accumulated itself.
    #[inline]
    fn combine(&mut self, aggregate: &Aggregate, value: &Value) -> Result<(), SqlError> {
        match &aggregate.function {
            AggregateFunction::CountRows | AggregateFunction::Count => {}
            AggregateFunction::Sum | AggregateFunction::Avg => self.sum(value),
            AggregateFunction::Min => self.extreme(value, Ordering::Less, aggregate),
            AggregateFunction::Max => self.extreme(value, Ordering::Greater, aggregate),
            AggregateFunction::BitAnd => self.bits(BinaryOp::BitAnd, value)?,
            AggregateFunction::BitOr => self.bits(BinaryOp::BitOr, value)?,
            AggregateFunction::BitXor => self.bits(BinaryOp::BitXor, value)?,
            AggregateFunction::Variance { .. } => self.moments(double(value)),
            AggregateFunction::GroupConcat(_) => {}
            AggregateFunction::JsonArray | AggregateFunction::JsonObject => {
                if let (Accumulated::Json(documents), Value::Json(document)) =
                    (&mut self.value, value)
                {
                    documents.push(document.clone());
                }
            }
        }
        Ok(())
    }

    /// Adds so many rows, where all that is wanted is how many they are.
    pub fn count_rows(&mut self, rows: u64) {
        self.count += rows;
    }

    /// Takes in what another one has seen, of an aggregate that does not depend on the order of its values.
    pub fn join(&mut self, aggregate: &Aggregate, other: State) -> Result<(), SqlError> {
        if aggregate.distinct {
            match (&mut self.seen, other.seen) {
                (Some(seen), Some(other)) => seen.join(*other),
                (seen, other) => *seen = seen.take().or(other),
            }
            self.count = self.seen.as_ref().map_or(0, |seen| seen.len() as u64);
        } else {
            self.count += other.count;
        }
        let value = match other.value {
            Accumulated::Nothing => return Ok(()),
            other if matches!(self.value, Accumulated::Nothing) => {
                self.value = other;
                return Ok(());
            }
            Accumulated::Integer(sum) => Value::Decimal(sum.0.into()),
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
        self.combine(aggregate, &value)
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
                (Accumulated::Integer(sum), Value::Int(n)) => sum.0 -= i128::from(*n),
                (Accumulated::Integer(sum), Value::UInt(n)) => sum.0 -= i128::from(*n),
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

    #[inline]
    fn sum(&mut self, value: &Value) {
        match (&mut self.value, value) {
            (Accumulated::Integer(sum), Value::Int(n)) => sum.0 += i128::from(*n),
            (Accumulated::Integer(sum), Value::UInt(n)) => sum.0 += i128::from(*n),
            (Accumulated::Decimal(sum), Value::Decimal(n)) => *sum += n,
            (Accumulated::Decimal(sum), Value::Int(n)) => *sum += &Decimal::from(*n),
            (Accumulated::Decimal(sum), Value::UInt(n)) => *sum += &Decimal::from(*n),
            (Accumulated::Double(sum), value) => *sum += double(value),
            (Accumulated::Nothing, Value::Int(n)) => {
                self.value = Accumulated::Integer(Whole(i128::from(*n)));
            }
            (Accumulated::Nothing, Value::UInt(n)) => {
                self.value = Accumulated::Integer(Whole(i128::from(*n)));
            }
            (Accumulated::Nothing, Value::Decimal(n)) => {
                self.value = Accumulated::Decimal(n.clone());
            }
            // Zero comes first: a sum of negative zeros is not negative.
            (Accumulated::Nothing, value) => {
                self.value = Accumulated::Double(0.0 + double(value));
            }
            (Accumulated::Integer(sum), Value::Decimal(n)) => {
                self.value = Accumulated::Decimal(&Decimal::from(sum.0) + n);
            }
            (Accumulated::Integer(sum), value) => {
                self.value = Accumulated::Double(sum.0 as f64 + double(value));
            }
            (Accumulated::Decimal(sum), value) => {
                let sum = double(&Value::Decimal(std::mem::take(sum)));
                self.value = Accumulated::Double(sum + double(value));
            }
            (
                Accumulated::Bits(_)
                | Accumulated::Moments(..)
                | Accumulated::Value(_)
                | Accumulated::Texts(_)
                | Accumulated::Json(_),
                _,
            ) => {}
        }
    }

    /// The value, if it compares with the best so far as wanted.
    fn extreme(&mut self, value: &Value, wanted: Ordering, aggregate: &Aggregate) {
        // Members are compared as texts.
        let value = match value {
            Value::Member(member) => &member.text,
            value => value,
        };
        let better = match &self.value {
            Accumulated::Value(best) => {
                let argument = aggregate
                    .args
                    .first()
                    .filter(|_| matches!(best, Value::Bytes(_)));
                let collation = argument.map_or(Collation::Binary, |a| infer(&a.expr).collation);
                order(value, best, collation) == wanted
            }
            _ => true,
        };
        if better {
            self.value = Accumulated::Value(value.clone());
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
    fn bits(&mut self, op: BinaryOp, value: &Value) -> Result<(), SqlError> {
        match (&mut self.value, value) {
            (Accumulated::Bits(all), Value::UInt(bits)) => {
                *all = match op {
                    BinaryOp::BitAnd => *all & bits,
                    BinaryOp::BitOr => *all | bits,
                    _ => *all ^ bits,
                };
            }
            (Accumulated::Value(Value::Bytes(all)), Value::Bytes(bytes)) => {
                *all = bits_of_bytes(op, all, bytes)?;
            }
            (Accumulated::Nothing, first) => self.value = Accumulated::Value(first.clone()),
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
            (AggregateFunction::GroupConcat(_), Accumulated::Texts(texts)) => {
                texts.finish(aggregate, context)
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
            (_, Accumulated::Integer(sum)) => exact_sum(Decimal::from(sum.0), aggregate),
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
        Accumulated::Integer(sum) => Decimal::from(sum.0),
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

/// What the values of the arguments are told apart by, for DISTINCT.
pub(super) fn put_key<'v>(
    aggregate: &Aggregate,
    values: impl Iterator<Item = &'v Value>,
    key: &mut Vec<u8>,
) {
    for (value, arg) in values.zip(&aggregate.args) {
        hash_key(value, infer(&arg.expr).collation, key);
    }
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
