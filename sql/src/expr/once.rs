//! What a condition computes from constants, `NOW() - INTERVAL 7 DAY` say, is computed once in an
//! execution, when it is first needed, and not for each row. So it warns once, as in MySQL, which does
//! that for WHERE, ON and HAVING, too, and not for what is selected.
//!
//! The same goes for the number that a text is taken for: in `n = '5x'` it is made once. In `n BETWEEN '5x'
//! AND '7'` and `n IN ('5x', 7)` MySQL makes it for each row, and warns as often: there it is made once if
//! there is nothing to be told.

use super::{EvalContext, Expr, infer::has_columns, is_repeatable, visit_operands_mut};
use cohort_engine::types::Value;
use rustc_hash::FxHashMap;
use std::{
    num::NonZeroU64,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Whether a call is computed once, and under which number its value is kept in the meantime.
#[derive(Clone, Copy, Debug, Default)]
pub struct Once {
    number: Option<NonZeroU64>,
    /// Only if it does not warn.
    if_silent: bool,
}

/// When something is computed makes no difference for what it is: conditions are compared with the
/// expressions of indexes.
impl PartialEq for Once {
    fn eq(&self, _: &Once) -> bool {
        true
    }
}

/// The values that an execution knows, by number.
pub(super) type Known = FxHashMap<NonZeroU64, Value>;

impl Once {
    /// One with a number that no other has.
    fn new(if_silent: bool) -> Once {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Once {
            number: NonZeroU64::new(LAST.fetch_add(1, Relaxed) + 1),
            if_silent,
        }
    }

    /// The value, if it is computed once and has been.
    #[inline]
    pub(super) fn known<'x>(self, context: &'x EvalContext<'_>) -> Option<&'x Value> {
        context.known.get(&self.number?)
    }

    /// Computes the value, and keeps it if it is computed once.
    pub(super) fn compute<E>(
        self,
        context: &mut EvalContext<'_>,
        compute: impl FnOnce(&mut EvalContext<'_>) -> Result<Value, E>,
    ) -> Result<Value, E> {
        let told = context.warnings.count();
        let value = compute(context)?;
        if let Some(number) = self.number
            && !context.on_trial
            && !(self.if_silent && context.warnings.count() > told)
        {
            context.known.insert(number, value.clone());
        }
        Ok(value)
    }
}

/// Has a condition compute once what is the same for all rows.
pub fn compute_once(condition: &mut Expr) {
    let is_constant = matches!(condition, Expr::Function { .. })
        && !has_columns(condition)
        && is_repeatable(condition);
    match condition {
        Expr::Function { function, once, .. } if is_constant && function.computes() => {
            *once = Once::new(false);
        }
        Expr::Function { function, once, .. } if is_constant && function.makes_number() => {
            *once = Once::new(true);
        }
        Expr::Binary {
            op, left, right, ..
        } if op.is_comparison() => {
            for side in [left, right] {
                compute_once(side);
                tell_once(side);
            }
        }
        Expr::In { expr, list, .. } => {
            compute_once(expr);
            list.items.iter_mut().for_each(compute_once);
            if list.items.iter().all(is_number_made) {
                list.items.iter_mut().for_each(tell_once);
            }
        }
        _ => visit_operands_mut(condition, &mut compute_once),
    }
}

fn is_number_made(expr: &Expr) -> bool {
    matches!(expr, Expr::Function { function, .. } if function.makes_number())
}

/// What is lost of a text is told once.
fn tell_once(expr: &mut Expr) {
    if let Expr::Function { once, .. } = expr {
        once.if_silent = false;
    }
}
