//! Which subqueries of an expression run for a row.
//!
//! All of them run before the expression is evaluated, which reads their results in slots. But what
//! stands behind IF, CASE, IFNULL, COALESCE, AND or OR may not be needed for this row, and then it must
//! not run: it may fail, assign a variable, or take long. So where a subquery stands there, the
//! expression is followed as it will be evaluated, and what decides is evaluated first, without its
//! warnings, which come when the expression itself is evaluated. Example:
//!
//! ```text
//! CASE WHEN (SELECT COUNT(*) FROM t) = 1 THEN (SELECT a FROM t) ELSE 'many' END
//!            runs, its result is looked at     runs if that was 1
//! ```

use super::{ExecContext, Stop, block::BlockRun};
use crate::{
    error::SqlError,
    expr::{BinaryOp, EvalContext, Expr, eval, visit_operands},
    plan::{Computed, has_slot, is_first_of},
};
use cohort_engine::types::Value;
use std::mem;

impl BlockRun<'_> {
    /// Runs the subqueries that an expression needs for the row and puts their results in their slots.
    #[inline]
    pub(super) fn prepare_for(
        &mut self,
        computed: &Computed,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        if computed.subqueries.is_empty() {
            return Ok(());
        }
        match computed.selective {
            true => self.follow(&computed.expr, context),
            false => self.run_subqueries(&computed.subqueries, context),
        }
    }

    /// Runs the subqueries that the evaluation of an expression will meet.
    fn follow(&mut self, expr: &Expr, context: &mut ExecContext) -> Result<(), Stop> {
        match expr {
            Expr::Column { slot, .. } => match self.subquery_of(*slot as usize) {
                Some(n) => self.run_subqueries(&[n], context),
                None => Ok(()),
            },
            Expr::Binary {
                op: op @ (BinaryOp::And | BinaryOp::Or),
                left,
                right,
                ..
            } => {
                self.follow(left, context)?;
                if !self.has_subquery(right) {
                    return Ok(());
                }
                let decided = Some(*op == BinaryOp::Or);
                let truth = self.decide(context, |row, eval| left.truth(row, eval))?;
                match truth == decided {
                    true => Ok(()),
                    false => self.follow(right, context),
                }
            }
            Expr::Case {
                operand,
                branches,
                otherwise,
                ..
            } => {
                let mut equals_nothing = false;
                if let Some(operand) = operand {
                    self.follow(operand, context)?;
                    let value = self.decide(context, |row, eval_in| eval(operand, row, eval_in))?;
                    equals_nothing = value.is_null();
                }
                let taken = if equals_nothing { 0 } else { branches.len() };
                for (at, (when, then)) in branches.iter().enumerate().take(taken) {
                    self.follow(when, context)?;
                    if self.decide(context, |row, eval| expr.takes_branch(at, row, eval))? {
                        return self.follow(then, context);
                    }
                }
                match otherwise {
                    Some(otherwise) => self.follow(otherwise, context),
                    None => Ok(()),
                }
            }
            Expr::Function { function, args, .. } if function.name == "if" => {
                let [condition, then, otherwise] = args.as_slice() else {
                    return self.follow_all(expr, context);
                };
                self.follow(condition, context)?;
                let holds = self.decide(context, |row, eval| condition.decision(row, eval))?;
                match holds == Some(true) {
                    true => self.follow(then, context),
                    false => self.follow(otherwise, context),
                }
            }
            Expr::Function { function, args, .. } if is_first_of(function.name) => {
                for (at, arg) in args.iter().enumerate() {
                    self.follow(arg, context)?;
                    let rest = args.get(at + 1..).unwrap_or_default();
                    if !rest.iter().any(|arg| self.has_subquery(arg)) {
                        break;
                    }
                    let value = self.decide(context, |row, context| eval(arg, row, context))?;
                    if !value.is_null() {
                        break;
                    }
                }
                Ok(())
            }
            _ => self.follow_all(expr, context),
        }
    }

    fn follow_all(&mut self, expr: &Expr, context: &mut ExecContext) -> Result<(), Stop> {
        let mut operands = Vec::new();
        visit_operands(expr, &mut |operand| operands.push(operand));
        for operand in operands {
            self.follow(operand, context)?;
        }
        Ok(())
    }

    /// Evaluates what decides. It will be evaluated again, and warn then.
    fn decide<T>(
        &self,
        context: &mut ExecContext,
        evaluate: impl FnOnce(&[Value], &mut EvalContext<'_>) -> Result<T, SqlError>,
    ) -> Result<T, Stop> {
        let warnings = mem::take(context.eval.warnings);
        let result = evaluate(&self.row, &mut context.eval);
        *context.eval.warnings = warnings;
        Ok(result?)
    }

    fn subquery_of(&self, slot: usize) -> Option<usize> {
        let mut subqueries = self.block.subqueries.iter();
        subqueries.position(|subquery| subquery.slots.contains(&slot))
    }

    fn has_subquery(&self, expr: &Expr) -> bool {
        has_slot(expr, &|slot| self.subquery_of(slot).is_some())
    }
}
