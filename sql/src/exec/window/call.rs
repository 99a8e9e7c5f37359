//! The calls of a window, row by row of a partition.

use super::{
    super::{
        ExecContext, Flow, Flowing, Stop,
        aggregate::State,
        row_store::{Cursor, RowStore, Rows},
        sort::{By, compare_rows},
    },
    frame::{Bounds, Current, Frames},
    place,
};
use crate::{
    error::SqlError,
    expr::{Expr, eval},
    plan::{Aggregate, AggregateFunction, Window, WindowFunction, Windowing},
};
use cohort_engine::types::Value;
use std::ops::Range;

/// The calls of a window, with what does not depend on rows.
pub(super) struct Calls<'w> {
    calls: Vec<Call<'w>>,
    /// ORDER BY.
    by: Vec<By>,
}

struct Call<'w> {
    kind: Kind<'w>,
    bounds: Bounds,
    /// Where the result goes.
    result: usize,
}

/// A function, with the places of what it reads and the values of its constants.
enum Kind<'w> {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile(u64),
    Neighbour {
        lead: bool,
        value: usize,
        distance: usize,
        otherwise: Option<usize>,
    },
    First(usize),
    Last(usize),
    Nth(usize, usize),
    /// NTH_VALUE whose number is NULL.
    NthOfNull,
    Aggregate(&'w Aggregate, Option<usize>),
}

impl<'w> Calls<'w> {
    pub fn new(
        window: &'w Window,
        windowing: &Windowing,
        by: Vec<By>,
        context: &mut ExecContext,
    ) -> Result<Calls<'w>, Stop> {
        let mut calls = Vec::with_capacity(window.calls.len());
        for call in &window.calls {
            calls.push(Call {
                kind: Kind::new(&call.function, windowing, context)?,
                bounds: Bounds::new(call, windowing, context)?,
                result: place(windowing, call.slot)?,
            });
        }
        Ok(Calls { calls, by })
    }

    /// Goes through a partition and hands its rows on with their results.
    pub fn run(
        &self,
        partition: RowStore,
        context: &mut ExecContext,
        each: &mut dyn FnMut(&mut ExecContext, Vec<Value>) -> Flowing,
    ) -> Flowing {
        let rows = partition.finish()?;
        let mut running: Vec<Running> = self.calls.iter().map(Running::new).collect();
        let (mut cursor, mut ahead) = (Cursor::default(), Cursor::default());
        let mut current = Current { at: 0, peers: 0..0 };
        let mut rank = 0;
        for at in 0..rows.len() {
            context.tick()?;
            current.at = at;
            let mut row = rows.get(at, &mut cursor)?.to_vec();
            if at >= current.peers.end {
                current.peers = at..self.end_of_peers(&rows, at, &row, &mut ahead, context)?;
                rank += 1;
            }
            for (call, running) in self.calls.iter().zip(&mut running) {
                let result =
                    call.result_of(&rows, &current, rank, &row, &self.by, running, context)?;
                if let Some(place) = row.get_mut(call.result) {
                    *place = result;
                }
            }
            if each(context, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Where the rows end that are equal to this one in ORDER BY.
    fn end_of_peers(
        &self,
        rows: &Rows,
        at: usize,
        row: &[Value],
        cursor: &mut Cursor,
        context: &mut ExecContext,
    ) -> Result<usize, Stop> {
        if self.by.is_empty() {
            return Ok(rows.len());
        }
        let mut end = at + 1;
        while end < rows.len() && compare_rows(rows.get(end, cursor)?, row, &self.by).is_eq() {
            context.tick()?;
            end += 1;
        }
        Ok(end)
    }
}

impl<'w> Kind<'w> {
    fn new(
        function: &'w WindowFunction,
        windowing: &Windowing,
        context: &mut ExecContext,
    ) -> Result<Kind<'w>, Stop> {
        let place_of = |slot: usize| place(windowing, slot);
        Ok(match function {
            WindowFunction::RowNumber => Kind::RowNumber,
            WindowFunction::Rank => Kind::Rank,
            WindowFunction::DenseRank => Kind::DenseRank,
            WindowFunction::PercentRank => Kind::PercentRank,
            WindowFunction::CumeDist => Kind::CumeDist,
            WindowFunction::Ntile(parts) => match whole(parts, "ntile", context)? {
                Some(parts) if parts > 0 => Kind::Ntile(parts),
                _ => return Err(SqlError::wrong_arguments("ntile").into()),
            },
            WindowFunction::Neighbour {
                lead,
                value,
                distance,
                otherwise,
            } => {
                let name = if *lead { "lead" } else { "lag" };
                let distance = match distance {
                    None => 1,
                    Some(distance) => match whole(distance, name, context)? {
                        Some(n) => usize::try_from(n).unwrap_or(usize::MAX),
                        None => return Err(SqlError::wrong_arguments(name).into()),
                    },
                };
                Kind::Neighbour {
                    lead: *lead,
                    value: place_of(*value)?,
                    distance,
                    otherwise: otherwise.map(place_of).transpose()?,
                }
            }
            WindowFunction::First(slot) => Kind::First(place_of(*slot)?),
            WindowFunction::Last(slot) => Kind::Last(place_of(*slot)?),
            WindowFunction::Nth(slot, which) => match whole(which, "nth_value", context)? {
                None => Kind::NthOfNull,
                Some(0) => return Err(SqlError::wrong_arguments("nth_value").into()),
                Some(n) => {
                    let which = usize::try_from(n).unwrap_or(usize::MAX);
                    Kind::Nth(place_of(*slot)?, which)
                }
            },
            WindowFunction::Aggregate(aggregate, slot) => {
                Kind::Aggregate(aggregate, slot.map(place_of).transpose()?)
            }
        })
    }
}

/// What a constant argument is: a whole number that is not negative, nor beyond the signed ones, or
/// NULL. Parameters of EXECUTE must be whole numbers before any function looks at them.
fn whole(expr: &Expr, function: &str, context: &mut ExecContext) -> Result<Option<u64>, Stop> {
    let whole = match eval(expr, &[], &mut context.eval)? {
        Value::Null => return Ok(None),
        Value::Int(n) => u64::try_from(n).ok(),
        Value::UInt(n) => Some(n).filter(|n| i64::try_from(*n).is_ok()),
        _ if matches!(expr, Expr::Parameter { bound: true, .. }) => {
            return Err(SqlError::wrong_arguments("EXECUTE").into());
        }
        _ => None,
    };
    whole
        .map(Some)
        .ok_or_else(|| SqlError::wrong_arguments(function).into())
}

/// What a call knows from the rows before.
struct Running {
    frames: Frames,
    cursor: Cursor,
    /// The frame that the state is of.
    frame: Range<usize>,
    state: Option<State>,
    result: Value,
    /// Where rows are read that leave the frame.
    leaving: Cursor,
}

impl Running {
    fn new(call: &Call) -> Running {
        Running {
            frames: Frames::new(&call.bounds),
            cursor: Cursor::default(),
            frame: 0..0,
            state: None,
            result: Value::Null,
            leaving: Cursor::default(),
        }
    }
}

impl Call<'_> {
    /// The result for the current row, whose values are `row`.
    #[allow(clippy::too_many_arguments)]
    fn result_of(
        &self,
        rows: &Rows,
        current: &Current,
        dense_rank: u64,
        row: &[Value],
        by: &[By],
        running: &mut Running,
        context: &mut ExecContext,
    ) -> Result<Value, Stop> {
        let number = |n: usize| Value::UInt(n as u64);
        let count = rows.len();
        Ok(match &self.kind {
            Kind::RowNumber => number(current.at + 1),
            Kind::Rank => number(current.peers.start + 1),
            Kind::DenseRank => Value::UInt(dense_rank),
            Kind::PercentRank if count < 2 => Value::Double(0.0),
            Kind::PercentRank => Value::Double(current.peers.start as f64 / (count - 1) as f64),
            Kind::CumeDist => Value::Double(current.peers.end as f64 / count as f64),
            Kind::Ntile(parts) => Value::UInt(part_of(current.at as u64, count as u64, *parts)),
            Kind::Neighbour {
                lead,
                value,
                distance,
                otherwise,
            } => {
                let other = match lead {
                    true => current.at.checked_add(*distance),
                    false => current.at.checked_sub(*distance),
                };
                match other.filter(|other| *other < count) {
                    Some(other) => value_in(rows.get(other, &mut running.cursor)?, *value),
                    None => otherwise.map_or(Value::Null, |place| value_in(row, place)),
                }
            }
            Kind::First(place) => {
                let frame = running.frames.next(rows, current, row, by, context)?;
                self.value_at(rows, frame.start, &frame, *place, running)?
            }
            Kind::Last(place) => {
                let frame = running.frames.next(rows, current, row, by, context)?;
                self.value_at(rows, frame.end.wrapping_sub(1), &frame, *place, running)?
            }
            Kind::NthOfNull => Value::Null,
            Kind::Nth(place, which) => {
                let frame = running.frames.next(rows, current, row, by, context)?;
                let at = frame.start.saturating_add(which - 1);
                self.value_at(rows, at, &frame, *place, running)?
            }
            Kind::Aggregate(aggregate, place) => {
                let frame = running.frames.next(rows, current, row, by, context)?;
                aggregated(aggregate, *place, rows, frame, running, context)?
            }
        })
    }

    fn value_at(
        &self,
        rows: &Rows,
        at: usize,
        frame: &Range<usize>,
        place: usize,
        running: &mut Running,
    ) -> Result<Value, Stop> {
        if !frame.contains(&at) {
            return Ok(Value::Null);
        }
        Ok(value_in(rows.get(at, &mut running.cursor)?, place))
    }
}

fn value_in(row: &[Value], place: usize) -> Value {
    row.get(place).cloned().unwrap_or_default()
}

/// The part, from 1 on, that the row at a place is in if `count` rows are divided into `parts`: the
/// first ones have one more if they cannot be equal.
fn part_of(at: u64, count: u64, parts: u64) -> u64 {
    let (rows, larger) = (count / parts, count % parts);
    let in_larger = larger * (rows + 1);
    match at < in_larger {
        true => at / (rows + 1) + 1,
        false => larger + (at - in_larger) / rows.max(1) + 1,
    }
}

/// The result of an aggregate function for a frame. Where the frame has moved on, what has come is
/// added and what is gone is taken out; if that cannot be, all its rows are added anew.
fn aggregated(
    aggregate: &Aggregate,
    place: Option<usize>,
    rows: &Rows,
    frame: Range<usize>,
    running: &mut Running,
    context: &mut ExecContext,
) -> Result<Value, Stop> {
    let known = running.state.is_some();
    if known && frame == running.frame {
        return Ok(running.result.clone());
    }
    let before = std::mem::replace(&mut running.frame, frame.clone());
    let mut state = running.state.take();
    if !(before.start..=before.end).contains(&frame.start) || frame.end < before.end {
        state = None;
    }
    if let Some(kept) = &mut state
        && !take_out(
            kept,
            aggregate,
            place,
            rows,
            before.start..frame.start,
            running,
            context,
        )?
    {
        state = None;
    }
    let (mut state, added) = match state {
        Some(state) => (state, before.end..frame.end),
        None => (State::new(aggregate), frame),
    };
    for at in added {
        context.tick()?;
        let value = argument_of(rows.get(at, &mut running.cursor)?, place);
        if counts(aggregate, &value) {
            state.take(aggregate, &value)?;
        }
    }
    running.result = state.clone().finish(aggregate, context)?;
    running.state = Some(state);
    Ok(running.result.clone())
}

/// Takes out rows that have left the frame; `false` if that cannot be done.
fn take_out(
    state: &mut State,
    aggregate: &Aggregate,
    place: Option<usize>,
    rows: &Rows,
    gone: Range<usize>,
    running: &mut Running,
    context: &mut ExecContext,
) -> Result<bool, Stop> {
    for at in gone {
        context.tick()?;
        let value = argument_of(rows.get(at, &mut running.leaving)?, place);
        if counts(aggregate, &value) && !state.take_out(aggregate, &value) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn argument_of(row: &[Value], place: Option<usize>) -> Value {
    place.map_or(Value::Null, |place| value_in(row, place))
}

/// NULLs are not counted, summed or compared; rows are.
fn counts(aggregate: &Aggregate, value: &Value) -> bool {
    aggregate.function == AggregateFunction::CountRows || !value.is_null()
}
