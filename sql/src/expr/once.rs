//! What a condition computes from constants, `NOW() - INTERVAL 7 DAY` say, is computed once in an
//! execution, when it is first needed, and not for each row. So it warns once, as in MySQL, which does
//! that for WHERE, ON and HAVING, too, and not for what is selected.

use super::{EvalContext, Expr, infer::has_columns, is_repeatable, visit_operands_mut};
use cohort_engine::types::Value;
use rustc_hash::FxHashMap;
use std::{
    num::NonZeroU64,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Whether a call is computed once, and under which number its value is kept in the meantime.
#[derive(Clone, Copy, Debug, Default)]
pub struct Once(Option<NonZeroU64>);

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
    fn new() -> Once {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Once(NonZeroU64::new(LAST.fetch_add(1, Relaxed) + 1))
    }

    /// The value, if it is computed once and has been.
    #[inline]
    pub(super) fn known(self, context: &EvalContext<'_>) -> Option<Value> {
        context.known.get(&self.0?).cloned()
    }

    /// Keeps the value, if it is computed once.
    #[inline]
    pub(super) fn keep(self, value: &Value, context: &mut EvalContext<'_>) {
        if let Some(number) = self.0
            && !context.on_trial
        {
            context.known.insert(number, value.clone());
        }
    }
}

/// Has a condition compute once what is the same for all rows.
pub fn compute_once(condition: &mut Expr) {
    let is_constant = matches!(condition, Expr::Function { .. })
        && !has_columns(condition)
        && is_repeatable(condition);
    match condition {
        Expr::Function { function, once, .. } if is_constant && function.computes() => {
            *once = Once::new();
        }
        _ => visit_operands_mut(condition, &mut compute_once),
    }
}
