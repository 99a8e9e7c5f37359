//! What is known of a block's tables beside their definitions: how many rows they have, and which share
//! of these conditions leave.
//!
//! A condition on one table alone is tried on rows that are drawn from all over it, with the values that
//! parameters have while the statement is compiled. So it does not matter what the condition looks like:
//! a range, a LIKE, an OR, or a function of several columns. What cannot be tried, because a value is not
//! known yet or depends on the session, is taken to leave a usual share.

use super::{
    Bound, Planner,
    access::Choice,
    from::{From, Leaf, LeafInput},
    place::{leaf_of, usable},
    scope::Names,
    walk,
};
use crate::{
    error::SqlError,
    expr::{BinaryOp, Environment, EvalContext, Expr, VariableScope, holds, is_volatile},
    histogram::Histogram,
    interrupt,
    warnings::Warnings,
};
use cohort_engine::types::{Collation, Table, Value, row};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// How many rows a computed table is thought to have.
pub(super) const COMPUTED_ROWS: u64 = 1000;

/// How many rows MySQL thinks that JSON_TABLE has.
pub(super) const JSON_ROWS: u64 = 2;

/// So many rows must be drawn for their share to say anything.
const DRAWN_MIN: usize = 8;
/// So many conditions on a table are tried; what others leave is guessed.
const TRIED_MAX: usize = 32;
/// So long they are tried, in nanoseconds: some take long for a single row. (Usually all rows take less
/// than one millisecond: how busy the machine is must not decide.)
const TRIED_NS: u64 = 20_000_000;

/// What is known of each table of a block, by its position in FROM.
#[derive(Default)]
pub(super) struct Figures(Vec<Figure>);

/// What is known of a table.
#[derive(Default)]
pub(super) struct Figure {
    /// How many rows it has.
    pub rows: u64,
    /// The share of them that all conditions on it alone leave.
    pub share: f64,
    /// The share that those leave that are on one column alone, by its position; what is a guess does
    /// not count.
    pub columns: FxHashMap<usize, f64>,
}

impl Figure {
    /// Of a table of which nothing is known but how many rows it has.
    fn of_rows(rows: u64) -> Figure {
        Figure {
            rows,
            share: 1.0,
            columns: FxHashMap::default(),
        }
    }
}

impl Figures {
    /// Of a table; nothing is known of one that is not there.
    pub fn of(&self, leaf: usize) -> Option<&Figure> {
        self.0.get(leaf)
    }

    /// The share that the conditions on a table alone leave of the rows that are read of it.
    pub fn left(&self, leaf: usize, choice: Option<&Choice>) -> f64 {
        let Some(figure) = self.of(leaf) else {
            return 1.0;
        };
        let by_constants = |choice: &&Choice| {
            let mut bounds = choice.access.bounds().peekable();
            bounds.peek().is_some() && bounds.all(is_by_constants)
        };
        match choice.filter(by_constants) {
            // Some of the conditions are met by what is read.
            Some(choice) => (figure.rows as f64 * figure.share / choice.estimate).min(1.0),
            None => figure.share,
        }
    }
}

fn is_by_constants(bound: &Bound) -> bool {
    match bound {
        Bound::Equal(e) | Bound::NullSafe(e) => walk::is_constant(e),
        Bound::IsNull
        | Bound::In(_)
        | Bound::InRows { .. }
        | Bound::Range { .. }
        | Bound::Like(..)
        | Bound::Array(_) => true,
    }
}

impl Planner<'_> {
    /// How many rows the tables of FROM have; nothing is said of conditions.
    pub(super) fn sizes(&self, from: &From) -> Figures {
        let rows = |leaf: &Leaf| match leaf.stored() {
            Some(table) => self.context.engine.row_estimate(table),
            None => computed_rows(leaf),
        };
        let figures = from.leaves.iter().map(|leaf| Figure::of_rows(rows(leaf)));
        Figures(figures.collect())
    }

    /// What is known of the tables of FROM, with these conditions of WHERE.
    pub(super) fn figures(&mut self, from: &From, top: &[Expr]) -> Figures {
        let mut figures = Vec::with_capacity(from.leaves.len());
        for (at, leaf) in from.leaves.iter().enumerate() {
            figures.push(match &leaf.input {
                LeafInput::Stored(table) => self.figure(at, table, usable(from, top, at)),
                _ => Figure {
                    share: self.guessed(at, usable(from, top, at)),
                    ..Figure::of_rows(computed_rows(leaf))
                },
            });
        }
        Figures(figures)
    }

    fn guessed(&mut self, leaf: usize, conditions: &[Expr]) -> f64 {
        let names = self.names();
        let own = conditions.iter().filter(|c| is_on(c, leaf, names));
        own.map(usual_share).product()
    }

    fn figure(&mut self, leaf: usize, table: &Table, conditions: &[Expr]) -> Figure {
        let context = self.context;
        let rows = context.engine.row_estimate(table);
        let names = self.names();
        let own: Vec<&Expr> = conditions
            .iter()
            .filter(|c| is_on(c, leaf, names))
            .collect();
        let first = names.tables.get(leaf).map(|table| table.first_slot);
        let slots = names.slots;
        let mut figure = Figure::of_rows(rows);
        let Some(first) = first.filter(|_| !own.is_empty()) else {
            return figure;
        };
        let columns = first..first + table.columns.len();
        self.weighed |= own.iter().any(|c| has_parameter(c));
        let (mut known, mut guessed): (Vec<&Expr>, Vec<&Expr>) = own
            .iter()
            .partition(|c| is_known(c, columns.clone(), context.parameters));
        guessed.extend(known.drain(known.len().min(TRIED_MAX)..));
        figure.share = guessed.iter().map(|c| usual_share(c)).product();
        let by_histogram = self.by_histograms((table, rows), first, slots, &mut known);
        figure.share *= by_histogram.iter().map(|(_, share)| share).product::<f64>();
        figure.columns.extend(by_histogram);
        let met = self.met(table, first, slots, &known);
        let drawn = met.first().map_or(0, Vec::len);
        if drawn < DRAWN_MIN && (drawn as u64) < rows || drawn == 0 {
            figure.share *= known.iter().map(|c| usual_share(c)).product::<f64>();
            return figure;
        }
        let all = (0..drawn).filter(|row| met.iter().all(|met| is_met(met, *row)));
        figure.share *= share(all.count(), drawn);
        let on: Vec<Option<usize>> = known.iter().map(|c| only_column(c, first)).collect();
        let mut columns: Vec<usize> = on.iter().flatten().copied().collect();
        columns.sort_unstable();
        columns.dedup();
        for column in columns {
            let of = met.iter().zip(&on).filter(|(_, on)| **on == Some(column));
            let of: Vec<&Vec<bool>> = of.map(|(met, _)| met).collect();
            let both = (0..drawn).filter(|row| of.iter().all(|met| is_met(met, *row)));
            figure.columns.insert(column, share(both.count(), drawn));
        }
        figure
    }

    /// The shares that conditions on a single column leave which has a histogram that tells; these
    /// conditions are taken out.
    fn by_histograms(
        &self,
        (table, rows): (&Table, u64),
        first: usize,
        slots: usize,
        known: &mut Vec<&Expr>,
    ) -> Vec<(usize, f64)> {
        let has = |at: usize| table.columns.get(at).is_some_and(|c| c.histogram.is_some());
        let on = |condition: &Expr| only_column(condition, first).filter(|at| has(*at));
        let (own, others): (Vec<&Expr>, Vec<&Expr>) = known.iter().partition(|c| on(c).is_some());
        *known = others;
        let mut warnings = Warnings::default();
        let mut environment = NoSession;
        let (parameters, facts) = (self.context.parameters, self.context.facts);
        let mut eval = EvalContext::new(parameters, facts, &mut environment, &mut warnings);
        let mut shares = Vec::new();
        let mut columns: Vec<usize> = own.iter().filter_map(|c| on(c)).collect();
        columns.sort_unstable();
        columns.dedup();
        for at in columns {
            let of: Vec<&Expr> = own.iter().copied().filter(|c| on(c) == Some(at)).collect();
            let column = table.columns.get(at);
            let document = column.and_then(|c| c.histogram.as_deref().map(|text| (c, text)));
            let histogram =
                document.and_then(|(column, text)| Histogram::read(text, column, &mut eval).ok());
            let mut row = vec![Value::Null; slots];
            let told = histogram.and_then(|histogram| {
                histogram.share(|value| {
                    if let Some(place) = row.get_mut(first + at) {
                        place.clone_from(value);
                    }
                    let mut all = of.iter();
                    // What fails, or warns, does so when the statement runs.
                    all.all(|condition| holds(condition, &row, &mut eval).unwrap_or(true))
                })
            });
            match told {
                // Rows may have come since.
                Some(share) => shares.push((at, share.max(0.5 / rows.max(1) as f64))),
                None => known.extend(of),
            }
        }
        shares
    }

    /// Whether an expression is known to be false, or 0, whatever rows there are.
    pub(super) fn is_false(&self, expr: &Expr) -> bool {
        let context = self.context;
        let (mut warnings, mut environment) = (Warnings::default(), NoSession);
        let facts = context.facts;
        let mut eval = EvalContext::new(context.parameters, facts, &mut environment, &mut warnings);
        is_known(expr, 0..0, context.parameters) && !holds(expr, &[], &mut eval).unwrap_or(true)
    }

    /// Of each condition, which drawn rows meet it.
    fn met(&self, table: &Table, first: usize, slots: usize, known: &[&Expr]) -> Vec<Vec<bool>> {
        let context = self.context;
        let drawn = match known.is_empty() {
            true => return Vec::new(),
            false => context.engine.drawn_rows(table),
        };
        let mut wanted: Vec<u16> = Vec::new();
        for condition in known {
            walk::slots(condition, &mut |slot| {
                wanted.extend(
                    slot.checked_sub(first)
                        .and_then(|at| u16::try_from(at).ok()),
                );
            });
        }
        wanted.sort_unstable();
        wanted.dedup();
        let mut warnings = Warnings::default();
        let mut environment = NoSession;
        let facts = context.facts;
        let mut eval = EvalContext::new(context.parameters, facts, &mut environment, &mut warnings);
        let mut values = vec![Value::Null; slots];
        let mut met = vec![Vec::with_capacity(drawn.len()); known.len()];
        let now = || context.engine.env().monotonic_nanos();
        let begun = now();
        for at in 0..drawn.len() {
            if now().saturating_sub(begun) > TRIED_NS {
                break;
            }
            let into = values.get_mut(first..).unwrap_or_default();
            if row::decode_some(table, drawn.get(at).1, &wanted, into).is_err() {
                return Vec::new();
            }
            for (condition, met) in known.iter().zip(&mut met) {
                // What fails, or warns, does so when the statement runs.
                met.push(holds(condition, &values, &mut eval).unwrap_or(true));
            }
        }
        met
    }
}

fn is_met(met: &[bool], row: usize) -> bool {
    met.get(row).copied().unwrap_or(true)
}

/// The share of so many of so many; if it is none, half of one.
fn share(met: usize, of: usize) -> f64 {
    (met as f64).max(0.5) / of.max(1) as f64
}

/// How many rows a table is thought to have that is not stored.
pub(super) fn computed_rows(leaf: &Leaf) -> u64 {
    match leaf.input {
        LeafInput::Json(_) => JSON_ROWS,
        _ => COMPUTED_ROWS,
    }
}

/// Whether a condition is on this table alone, or compares it with what an enclosing query has. (What
/// equals that is known as what equals a column of another table is: see `join_order`.)
fn is_on(condition: &Expr, leaf: usize, names: &Names) -> bool {
    let (mut own, mut outer, mut others) = (false, false, false);
    walk::slots(condition, &mut |slot| match leaf_of(slot, names) {
        Some(of) => match of == leaf {
            true => own = true,
            false => others = true,
        },
        None => match names.outer.iter().any(|(_, to, _)| *to == slot) {
            true => outer = true,
            false => others = true,
        },
    });
    own && !others && !(outer && walk::equality(condition).is_some())
}

/// The column that a condition is on alone.
fn only_column(condition: &Expr, first: usize) -> Option<usize> {
    let (mut column, mut several) = (None, false);
    walk::slots(condition, &mut |slot| {
        let at = slot.checked_sub(first);
        several |= column.is_some() && column != Some(at);
        column = Some(at);
    });
    column.flatten().filter(|_| !several)
}

fn has_parameter(condition: &Expr) -> bool {
    let mut has = false;
    walk::walk(condition, &mut |expr| {
        has |= matches!(expr, Expr::Parameter { .. })
    });
    has
}

/// Whether all values that a condition needs beside the row are known, and are the same whoever asks.
fn is_known(condition: &Expr, own: Range<usize>, parameters: &[Value]) -> bool {
    let mut known = !is_volatile(condition);
    walk::walk(condition, &mut |expr| {
        known &= match expr {
            Expr::Column { slot, .. } => own.contains(&(*slot as usize)),
            Expr::Parameter { index, .. } => (*index as usize) < parameters.len(),
            Expr::UserVariable { .. } | Expr::SystemVariable { .. } => false,
            _ => true,
        };
    });
    known
}

/// The share of rows that a condition is thought to leave if nothing is known of them, as MySQL
/// guesses it.
fn usual_share(condition: &Expr) -> f64 {
    const EQUAL: f64 = 0.1;
    const RANGE: f64 = 1.0 / 3.0;
    const BETWEEN: f64 = 1.0 / 9.0;
    match condition {
        Expr::Binary {
            op: BinaryOp::Eq | BinaryOp::NullSafeEq,
            ..
        }
        | Expr::IsNull { negated: false, .. } => EQUAL,
        Expr::Binary {
            op: BinaryOp::Lt | BinaryOp::LtEq | BinaryOp::Gt | BinaryOp::GtEq,
            ..
        } => RANGE,
        Expr::Between { negated: false, .. } | Expr::Like { negated: false, .. } => BETWEEN,
        Expr::In {
            list,
            negated: false,
            ..
        } => (EQUAL * list.items.len() as f64).min(0.5),
        Expr::Binary {
            op: BinaryOp::And,
            left,
            right,
            ..
        } => usual_share(left) * usual_share(right),
        Expr::Binary {
            op: BinaryOp::Or,
            left,
            right,
            ..
        } => {
            let (left, right) = (usual_share(left), usual_share(right));
            left + right - left * right
        }
        _ => 1.0,
    }
}

/// No session: conditions that ask for one are not tried.
pub(crate) struct NoSession;

impl Environment for NoSession {
    fn user_variable(&self, _name: &str) -> Option<(Value, Collation)> {
        None
    }
    fn set_user_variable(&mut self, _name: &str, _value: Value, _collation: Collation) {}
    fn system_variable(&self, _scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        Err(SqlError::unknown_variable(name))
    }
    fn set_last_insert_id(&mut self, _id: u64) {}
    fn clock_micros(&self) -> i64 {
        0
    }
    fn random(&mut self) -> u64 {
        0
    }
    fn next_short_uuid(&mut self) -> u64 {
        0
    }
    fn sleep(&mut self, _micros: u64) -> bool {
        false
    }
    fn interruption(&self) -> Option<SqlError> {
        interrupt::look().err()
    }
}
