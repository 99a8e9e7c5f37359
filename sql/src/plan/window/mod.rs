//! Window functions: what a plan says of them.
//!
//! They are computed when HAVING is through, for all rows at once: what their calls need of a row
//! (arguments, keys, bounds of frames) is put in slots of its own first; then the rows wait, and
//! are gone through once for each order that a window wants them in.

mod call;
mod spec;

pub(super) use spec::NamedWindow;

use super::{
    Aggregate, AggregateFunction, Block, Computed, Condition, Planner, SortKey,
    place::add_slots,
    scope::{Names, slot_expr},
    walk,
};
use crate::expr::{BinaryOp, Expr, ExprType, infer};
use cohort_engine::types::ColumnType;
use std::collections::BTreeSet;

/// The window functions of a block.
#[derive(Debug)]
pub struct Windowing {
    /// What is computed of each row before it waits.
    pub inputs: Vec<WindowInput>,
    /// The orders in which the rows are gone through.
    pub windows: Vec<Window>,
    /// The slots of a row that are kept while it waits, ascending.
    pub kept: Vec<usize>,
    /// There is one window, and the access path of the only source gives the rows of its partitions one
    /// after the other, in its order, if all its bounds can be used with the values they have.
    pub in_turn: bool,
    /// Whoever reads the block's rows wants those only, with their results, that these admit.
    pub admitted: Vec<Condition>,
    /// There is one window, and of each of its partitions so many rows are wanted at most, the first ones.
    pub first: Option<Expr>,
}

/// A value that a call needs of each row.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowInput {
    /// What is computed.
    pub value: Computed,
    /// It is the argument of this aggregate function.
    pub of: Option<AggregateFunction>,
    /// Where it goes.
    pub slot: usize,
}

/// Rows in one order, in partitions, and what is computed on them.
#[derive(Debug)]
pub struct Window {
    /// PARTITION BY, then ORDER BY; the values are slots.
    pub keys: Vec<SortKey>,
    /// How many of the keys are PARTITION BY's.
    pub partition: usize,
    /// The calls.
    pub calls: Vec<WindowCall>,
}

/// A call of a function with OVER.
#[derive(Debug)]
pub struct WindowCall {
    /// Which.
    pub function: WindowFunction,
    /// The rows around the current one that it sees, if it does not see them all.
    pub frame: Frame,
    /// Where its result goes.
    pub slot: usize,
    /// The name of its window, for errors.
    pub window: String,
}

/// A window function. What it reads of a row is in a slot.
#[derive(Debug)]
pub enum WindowFunction {
    /// ROW_NUMBER
    RowNumber,
    /// RANK
    Rank,
    /// DENSE_RANK
    DenseRank,
    /// PERCENT_RANK
    PercentRank,
    /// CUME_DIST
    CumeDist,
    /// NTILE, and into how many parts.
    Ntile(Expr),
    /// LAG and LEAD.
    Neighbour {
        /// LEAD.
        lead: bool,
        /// What is wanted of the other row.
        value: usize,
        /// How far it is away.
        distance: Option<Expr>,
        /// What is given, of the current row, if there is no such row.
        otherwise: Option<usize>,
    },
    /// FIRST_VALUE
    First(usize),
    /// LAST_VALUE
    Last(usize),
    /// NTH_VALUE, and which.
    Nth(usize, Expr),
    /// An aggregate function, and where its argument is; `None` for COUNT(*).
    Aggregate(Box<Aggregate>, Option<usize>),
}

/// From where to where the rows are that a call sees.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Their bounds are counted in rows; else they are peers, or rows with keys between two values.
    pub rows: bool,
    /// The first of them.
    pub start: FrameBound,
    /// The last.
    pub end: FrameBound,
}

/// Where a frame begins or ends.
#[derive(Debug, Clone)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING, as a beginning; UNBOUNDED FOLLOWING, as an end.
    Unbounded,
    /// CURRENT ROW, or of RANGE its peers.
    CurrentRow,
    /// So many rows, or by so much, before the current one (or `after` it).
    Away {
        /// FOLLOWING.
        after: bool,
        /// How many or how much; `None` for INTERVAL.
        amount: Option<Expr>,
        /// Of RANGE: the slot of the value that the key is compared with.
        value: Option<usize>,
    },
}

/// The type of a result: as in MySQL, it is that of a column of a temporary table.
fn stored_type(ty: ExprType) -> ExprType {
    /// So many characters and more are those of a BIGINT.
    const BIGINT_LENGTH: u32 = 10;
    let ty = ty.of_several();
    let mut stored = ty.computed();
    if ty.is_integer() && !matches!(ty.ty, Some(ColumnType::Bit(_))) {
        stored.ty = Some(match ty.length {
            ..BIGINT_LENGTH => ColumnType::Int,
            _ => ColumnType::BigInt,
        });
    }
    stored.length = ty.length;
    if stored.is_string() {
        stored.decimals = 0;
    }
    stored
}

impl Names {
    /// The slot of a value that a window function needs of each row. Columns have theirs.
    fn window_input(&mut self, value: Computed, of: Option<&AggregateFunction>) -> Expr {
        let own = infer(&value.expr);
        // What comes from a subquery, or from outside, is not kept.
        let passes = |slot: usize| {
            self.subquery_of(slot).is_some() || self.outer.iter().any(|(_, to, _)| *to == slot)
        };
        let is_stored = walk::slot(&value.expr).is_some_and(|slot| !passes(slot));
        let is_timestamp = matches!(own.ty, Some(ColumnType::Timestamp(_)));
        // MIN and MAX compare members as texts.
        let is_member = own.ty.is_some_and(ColumnType::has_members);
        let read_otherwise = of.is_some_and(|of| is_member || of.is_on_bits());
        if is_stored && !is_timestamp && !read_otherwise {
            return value.expr;
        }
        let known = self.window_inputs.iter();
        let same = |known: &&WindowInput| known.value == value && known.of.as_ref() == of;
        let ty = own.computed();
        if let Some(known) = known.clone().find(same) {
            return slot_expr(known.slot, ty);
        }
        let slot = self.new_slot();
        let of = of.cloned();
        self.window_inputs.push(WindowInput { value, of, slot });
        slot_expr(slot, ty)
    }

    /// Adds a call to the window of these keys: its result.
    fn add_window_call(
        &mut self,
        (keys, partition): (Vec<SortKey>, usize),
        call: WindowCall,
        ty: ExprType,
    ) -> Expr {
        let result = slot_expr(call.slot, ty);
        let same = |window: &&mut Window| window.partition == partition && window.keys == keys;
        match self.windows.iter_mut().find(same) {
            Some(window) => window.calls.push(call),
            None => self.windows.push(Window {
                keys,
                partition,
                calls: vec![call],
            }),
        }
        result
    }

    /// Whether an expression has the result of a window function in it.
    pub fn windows_in(&self, expr: &Expr) -> bool {
        let mut found = false;
        walk::slots(expr, &mut |slot| found |= self.is_window_result(slot));
        found
    }

    /// Whether the result of a window function comes to a slot.
    pub fn is_window_result(&self, slot: usize) -> bool {
        let mut calls = self.windows.iter().flat_map(|window| &window.calls);
        calls.any(|call| call.slot == slot)
    }

    /// What the window function reads of each row whose result comes to a slot.
    pub fn read_by_window(&self, slot: usize) -> Vec<Expr> {
        let mut calls = self.windows.iter().flat_map(|window| &window.calls);
        let mut read = Vec::new();
        let Some(call) = calls.find(|call| call.slot == slot) else {
            return read;
        };
        call.slots(&mut |slot| {
            let input = self.window_inputs.iter().find(|input| input.slot == slot);
            match input {
                Some(input) => read.push(input.value.expr.clone()),
                None if slot != call.slot => read.push(slot_expr(slot, ExprType::null())),
                None => {}
            }
        });
        read
    }
}

impl Planner<'_> {
    /// Gives a block the window functions that were found in it.
    pub(super) fn complete_windows(&mut self, block: &mut Block) {
        let names = self.names();
        let windows = std::mem::take(&mut names.windows);
        if windows.is_empty() {
            return;
        }
        block.windowing = Some(Windowing {
            inputs: std::mem::take(&mut names.window_inputs),
            windows,
            kept: Vec::new(),
            in_turn: false,
            admitted: Vec::new(),
            first: None,
        });
    }
}

impl Windowing {
    /// Has it give only rows that meet these conditions.
    pub(super) fn admit(&mut self, conditions: Vec<Condition>) {
        self.first = match self.windows.as_slice() {
            [window] => conditions.iter().find_map(|c| window.first(&c.expr)),
            _ => None,
        };
        self.admitted = conditions;
    }

    /// The slots that the functions read of rows, and those of their results.
    pub(super) fn slots(&self, visit: &mut dyn FnMut(usize)) {
        for window in &self.windows {
            for key in &window.keys {
                walk::slots(&key.value.expr, visit);
            }
            window.calls.iter().for_each(|call| call.slots(visit));
        }
    }
}

impl Window {
    /// How many rows of each partition can meet a condition at most, `ROW_NUMBER() … <= 10` say, if none
    /// behind them matters to them.
    fn first(&self, condition: &Expr) -> Option<Expr> {
        let looks_back = |call: &WindowCall| match &call.function {
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => true,
            WindowFunction::PercentRank
            | WindowFunction::CumeDist
            | WindowFunction::Ntile(_)
            | WindowFunction::Neighbour { .. }
            | WindowFunction::First(_)
            | WindowFunction::Last(_)
            | WindowFunction::Nth(..)
            | WindowFunction::Aggregate(..) => false,
        };
        let is_number = |expr: &Expr| {
            let number = |call: &WindowCall| {
                matches!(call.function, WindowFunction::RowNumber)
                    && walk::slot(expr) == Some(call.slot)
            };
            self.calls.iter().any(number)
        };
        let most = match condition {
            Expr::Between {
                expr,
                high,
                negated: false,
                ..
            } if is_number(expr) => high,
            Expr::Binary {
                op, left, right, ..
            } => match op {
                BinaryOp::LtEq | BinaryOp::Lt | BinaryOp::Eq if is_number(left) => right,
                BinaryOp::GtEq | BinaryOp::Gt | BinaryOp::Eq if is_number(right) => left,
                _ => return None,
            },
            _ => return None,
        };
        let all = self.calls.iter().all(looks_back) && walk::is_constant(most);
        all.then(|| most.as_ref().clone())
    }
}

impl WindowCall {
    /// The slots that it reads of rows, and that of its result.
    fn slots(&self, visit: &mut dyn FnMut(usize)) {
        visit(self.slot);
        match &self.function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist
            | WindowFunction::Ntile(_) => {}
            WindowFunction::Neighbour {
                value, otherwise, ..
            } => {
                visit(*value);
                otherwise.iter().for_each(|slot| visit(*slot));
            }
            WindowFunction::First(slot)
            | WindowFunction::Last(slot)
            | WindowFunction::Nth(slot, _) => visit(*slot),
            WindowFunction::Aggregate(_, slot) => slot.iter().for_each(|slot| visit(*slot)),
        }
        for bound in [&self.frame.start, &self.frame.end] {
            if let FrameBound::Away {
                value: Some(slot), ..
            } = bound
            {
                visit(*slot);
            }
        }
    }
}

/// Notes which slots are kept: those that the functions read and fill, and those that what comes
/// after them reads.
pub(super) fn keep_slots(block: &mut Block, names: &Names) {
    let Some(windowing) = &mut block.windowing else {
        return;
    };
    let mut slots = BTreeSet::new();
    let later = block.output.iter().map(|o| &o.expr);
    let later = later.chain(block.order.iter().map(|key| &key.value.expr));
    later.for_each(|expr| add_slots(expr, names, &mut slots));
    windowing.slots(&mut |slot| {
        slots.insert(slot);
    });
    // What comes from outside is the same for all rows.
    let inside = |slot: &usize| !names.outer.iter().any(|(_, to, _)| to == slot);
    windowing.kept = slots.into_iter().filter(inside).collect();
}
