//! Which rows of a partition a call sees.

use super::{
    super::{
        ExecContext, Stop,
        row_store::{Cursor, Rows},
        sort::By,
    },
    place,
};
use crate::{
    error::SqlError,
    expr::{Expr, eval, order},
    plan::{FrameBound, WindowCall, Windowing},
};
use cohort_engine::types::Value;
use std::{cmp::Ordering, ops::Range};

/// The current row, and its peers: the rows that are equal to it in ORDER BY.
pub(super) struct Current {
    pub at: usize,
    pub peers: Range<usize>,
}

/// A bound of a frame, with the values that it has in this execution.
#[derive(Clone, Debug)]
enum Bound {
    Unbounded,
    CurrentRow,
    Rows {
        after: bool,
        count: usize,
    },
    /// The place of the value that the key is compared with.
    Value {
        after: bool,
        place: usize,
    },
}

/// What is known of a call's frames before there are rows.
#[derive(Clone)]
pub(super) struct Bounds {
    /// Whether CURRENT ROW is that row alone.
    rows: bool,
    start: Bound,
    end: Bound,
    window: String,
}

impl Bounds {
    pub fn new(
        call: &WindowCall,
        windowing: &Windowing,
        context: &mut ExecContext,
    ) -> Result<Bounds, Stop> {
        let mut bound = |bound: &FrameBound| {
            Ok::<Bound, Stop>(match bound {
                FrameBound::Unbounded => Bound::Unbounded,
                FrameBound::CurrentRow => Bound::CurrentRow,
                FrameBound::Away {
                    after,
                    amount,
                    value,
                } => {
                    let refused = || SqlError::window_frame(&call.window);
                    let amount = amount.as_ref().map(|amount| amount_of(amount, context));
                    let amount = amount.transpose()?;
                    match (value, amount) {
                        (Some(_), Some(None)) | (None, None | Some(None)) => {
                            return Err(refused().into());
                        }
                        (Some(slot), _) => Bound::Value {
                            after: *after,
                            place: place(windowing, *slot)?,
                        },
                        (None, Some(Some(amount))) => Bound::Rows {
                            after: *after,
                            count: whole(&amount).ok_or_else(refused)?,
                        },
                    }
                }
            })
        };
        Ok(Bounds {
            rows: call.frame.rows,
            start: bound(&call.frame.start)?,
            end: bound(&call.frame.end)?,
            window: call.window.clone(),
        })
    }
}

/// How many, or by how much; `None` if it is NULL or negative.
fn amount_of(amount: &Expr, context: &mut ExecContext) -> Result<Option<Value>, Stop> {
    let value = eval(amount, &[], &mut context.eval)?;
    let zero = Value::Int(0);
    let collation = cohort_engine::types::Collation::Binary;
    let usable = !value.is_null()
        && !matches!(value, Value::Bytes(_))
        && order(&value, &zero, collation) != Ordering::Less;
    Ok(usable.then_some(value))
}

fn whole(value: &Value) -> Option<usize> {
    match value {
        Value::Int(n) => usize::try_from(*n).ok(),
        Value::UInt(n) => usize::try_from(*n).ok(),
        _ => None,
    }
}

/// The frame of one row after the other. Bounds that are values move in one direction only, as the
/// rows are in the order of the key.
pub(super) struct Frames {
    bounds: Bounds,
    start: usize,
    end: usize,
    start_cursor: Cursor,
    end_cursor: Cursor,
}

impl Frames {
    pub fn new(bounds: &Bounds) -> Frames {
        Frames {
            bounds: bounds.clone(),
            start: 0,
            end: 0,
            start_cursor: Cursor::default(),
            end_cursor: Cursor::default(),
        }
    }

    /// The rows that the current one sees; `row` is its values, `by` its window's order.
    pub fn next(
        &mut self,
        rows: &Rows,
        current: &Current,
        row: &[Value],
        by: &[By],
        context: &mut ExecContext,
    ) -> Result<Range<usize>, Stop> {
        let count = rows.len();
        let own = match self.bounds.rows {
            true => current.at..current.at + 1,
            false => current.peers.clone(),
        };
        let start = match self.bounds.start.clone() {
            Bound::Unbounded => 0,
            Bound::CurrentRow => own.start,
            Bound::Rows { after, count } => away(current.at, after, count),
            Bound::Value { after, place } => {
                let wanted = self.wanted(after, place, row, by)?;
                match wanted {
                    Some(value) => {
                        let before = |order: Ordering| order == Ordering::Less;
                        let (at, cursor) = (&mut self.start, &mut self.start_cursor);
                        advance(at, cursor, rows, &value, by, before, context)?;
                        self.start
                    }
                    None => current.peers.start,
                }
            }
        };
        let end = match self.bounds.end.clone() {
            Bound::Unbounded => count,
            Bound::CurrentRow => own.end,
            Bound::Rows { after, count } => match (after, current.at.checked_sub(count)) {
                (true, _) => away(current.at, true, count).saturating_add(1),
                (false, Some(last)) => last + 1,
                (false, None) => 0,
            },
            Bound::Value { after, place } => {
                let wanted = self.wanted(after, place, row, by)?;
                match wanted {
                    Some(value) => {
                        let within = |order: Ordering| order != Ordering::Greater;
                        let (at, cursor) = (&mut self.end, &mut self.end_cursor);
                        advance(at, cursor, rows, &value, by, within, context)?;
                        self.end
                    }
                    None => current.peers.end,
                }
            }
        };
        let end = end.min(count);
        Ok(start.min(end)..end)
    }

    /// The value that the keys of a frame's rows begin or end with; `None` if the key is NULL, whose
    /// frame its peers are.
    fn wanted(
        &self,
        after: bool,
        place: usize,
        row: &[Value],
        by: &[By],
    ) -> Result<Option<Value>, Stop> {
        let Some(by) = by.first() else {
            return Ok(None);
        };
        let (Some(key), Some(value)) = (row.get(by.at), row.get(place)) else {
            return Ok(None);
        };
        if key.is_null() || value.is_null() {
            return Ok(None);
        }
        // An interval that is negative leads the other way.
        let wrong = match after != by.desc {
            true => Ordering::Less,
            false => Ordering::Greater,
        };
        if order(value, key, by.collation) == wrong {
            return Err(SqlError::window_frame(&self.bounds.window).into());
        }
        Ok(Some(value.clone()))
    }
}

fn away(at: usize, after: bool, count: usize) -> usize {
    match after {
        true => at.saturating_add(count),
        false => at.saturating_sub(count),
    }
}

/// Moves on while the key of the row, compared with a value in the window's order, is `passed`.
fn advance(
    at: &mut usize,
    cursor: &mut Cursor,
    rows: &Rows,
    value: &Value,
    by: &[By],
    passed: impl Fn(Ordering) -> bool,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    let Some(by) = by.first() else {
        return Ok(());
    };
    while *at < rows.len() {
        let row = rows.get(*at, cursor)?;
        let key = row.get(by.at).unwrap_or(&Value::Null);
        let mut ordering = order(key, value, by.collation);
        if by.desc {
            ordering = ordering.reverse();
        }
        if !passed(ordering) {
            break;
        }
        context.tick()?;
        *at += 1;
    }
    Ok(())
}
