//! What a subquery came to for the outer row before. Rows of a join often follow one another with the
//! same values of its first tables: what only sees those need not run again.
//!
//! It is remembered only where nobody can tell: of a subquery that depends on nothing but the outer row
//! and the tables (`Subquery::repeatable`), without a warning, and as long as the statement has changed
//! no row.

use super::{ExecContext, Stop, block::BlockRun, subquery::put};
use crate::plan::Subquery;
use cohort_engine::types::Value;

/// A subquery that so often saw another row is forgotten, unless ...
const OTHERS_MAX: u32 = 64;
/// ... it saw the same one once in so many times.
const SAME_MIN: u32 = 8;

/// What is remembered of a subquery.
pub(super) enum Remembered {
    /// It did not run yet.
    Nothing,
    /// The last run.
    Last(Last),
    /// It is not worth it.
    Never,
}

#[derive(Default)]
pub(super) struct Last {
    /// The values that it saw.
    outer: Vec<Value>,
    /// What it came to.
    values: Vec<Value>,
    /// Rows that the statement had changed.
    changes: u64,
    same: u32,
    others: u32,
}

impl Remembered {
    pub fn new(subquery: &Subquery) -> Remembered {
        match subquery.repeatable {
            true => Remembered::Nothing,
            false => Remembered::Never,
        }
    }
}

impl BlockRun<'_> {
    /// Puts what it came to for the row before in its slots, if it sees the same; else `false`.
    pub(super) fn recall(
        &mut self,
        n: usize,
        subquery: &Subquery,
        context: &ExecContext,
    ) -> Result<bool, Stop> {
        let Some(remembered) = self.remembered.get_mut(n) else {
            return Ok(false);
        };
        let (Remembered::Last(last), [block]) = (&mut *remembered, &*subquery.query.blocks) else {
            return Ok(false);
        };
        let row = &self.row;
        let mut seen = block.outer.iter().zip(&last.outer);
        let is_same = last.changes == changes(context)
            && seen.all(|((from, _), known)| row.get(*from).is_some_and(|now| is_one(now, known)));
        if is_same {
            last.same += 1;
            put(&mut self.row, subquery, last.values.iter().cloned())?;
            return Ok(true);
        }
        last.others += 1;
        if last.others > OTHERS_MAX && last.same < last.others / SAME_MIN {
            *remembered = Remembered::Never;
        }
        Ok(false)
    }

    /// Remembers what it came to. There were so many warnings before.
    pub(super) fn remember(
        &mut self,
        n: usize,
        subquery: &Subquery,
        values: &[Value],
        (warnings, context): (u64, &ExecContext),
    ) {
        let Some(remembered) = self.remembered.get_mut(n) else {
            return;
        };
        let (false, [block]) = (
            matches!(remembered, Remembered::Never),
            &*subquery.query.blocks,
        ) else {
            return;
        };
        if context.measures.is_some() || context.eval.warnings.count() != warnings {
            *remembered = Remembered::Never;
            return;
        }
        if let Remembered::Nothing = remembered {
            *remembered = Remembered::Last(Last::default());
        }
        if let Remembered::Last(last) = remembered {
            last.outer.resize(block.outer.len(), Value::Null);
            for ((from, _), known) in block.outer.iter().zip(&mut last.outer) {
                known.clone_from(self.row.get(*from).unwrap_or(&Value::Null));
            }
            last.values.clear();
            last.values.extend_from_slice(values);
            last.changes = changes(context);
        }
    }
}

/// Rows that the statement has changed.
fn changes(context: &ExecContext) -> u64 {
    let handler = &context.handler;
    handler.write + handler.update + handler.delete
}

/// Whether they are one value, and not only equal: 1.0 is not 1.00 where it is shown.
fn is_one(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::UInt(a), Value::UInt(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Date(a), Value::Date(b)) => a == b,
        (Value::DateTime(a), Value::DateTime(b)) => a == b,
        (Value::Time(a), Value::Time(b)) => a == b,
        _ => false,
    }
}
