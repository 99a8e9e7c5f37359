//! Which subqueries of an expression run for a row.
//!
//! All of them run before the expression is evaluated, which reads their results in slots. But what
//! stands behind IF, CASE, COALESCE, AND, OR or a NULL, say, may not be needed for this row, and then it must
//! not run: it may fail, assign a variable, or take long (`Branching` knows where). So the
//! expression is followed as it will be evaluated, and what decides is evaluated first, without its
//! warnings, which come when the expression itself is evaluated. Example:
//!
//! ```text
//! CASE WHEN (SELECT COUNT(*) FROM t) = 1 THEN (SELECT a FROM t) ELSE 'many' END
//!            runs, its result is looked at     runs if that was 1
//! ```

use super::{ExecContext, Stop, block::BlockRun, subquery::Kept};
use crate::{
    error::SqlError,
    expr::{
        BinaryOp, EvalContext, Expr, bit_pattern, eval, holds, integer_argument, is_volatile,
        reads_variable, visit_operands,
    },
    plan::{Branching, Computed, has_slot},
};
use cohort_engine::types::Value;
use std::mem;

/// Something that is true of an expression's value for a row.
type Test<'t> = dyn Fn(&Expr, &[Value], &mut EvalContext<'_>) -> Result<bool, SqlError> + 't;

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
        // What is kept for the statement has been needed, and is there.
        let is_kept = |n: &usize| matches!(self.kept.get(*n), Some(Kept::Values(_)));
        match computed.selective && !computed.subqueries.iter().all(is_kept) {
            true => {
                self.forget_results(&computed.subqueries);
                self.follow(&computed.expr, context)
            }
            false => self.run_subqueries(&computed.subqueries, context),
        }
    }

    /// Has NULL in the slots of subqueries of which it is not known that they are needed: what they came to
    /// for another row means nothing. What is kept for the statement may be looked up by meanwhile.
    fn forget_results(&mut self, subqueries: &[usize]) {
        for &n in subqueries {
            let subquery = self.block.subqueries.get(n);
            let is_kept = matches!(self.kept.get(n), Some(Kept::Values(_)));
            let slots = subquery.and_then(|s| self.row.get_mut(s.slots.clone()));
            if let (Some(slots), false) = (slots, is_kept) {
                slots.fill(Value::Null);
            }
        }
    }

    /// Runs the subqueries that the evaluation of an expression will meet.
    fn follow(&mut self, expr: &Expr, context: &mut ExecContext) -> Result<(), Stop> {
        if let Expr::Column { slot, .. } = expr {
            return match self.subquery_of(*slot as usize) {
                Some(n) => self.run_subqueries(&[n], context),
                None => Ok(()),
            };
        }
        match Branching::of(expr) {
            None => self.follow_operands(expr, context),
            Some(Branching::Logic(op, left, right)) => {
                let decided = Some(op == BinaryOp::Or);
                let decides = |left: &Expr, row: &[Value], eval: &mut EvalContext<'_>| {
                    Ok(left.truth(row, eval)? == decided)
                };
                self.follow_until(&[left, right], 1, &decides, context)
            }
            Some(Branching::Case) => self.follow_case(expr, context),
            Some(Branching::If(condition, then, otherwise)) => {
                self.follow(condition, context)?;
                if !self.is_decidable(condition) {
                    return self.follow_all(&[then, otherwise], context);
                }
                let holds = self.decide(context, |row, eval| condition.decision(row, eval))?;
                match holds == Some(true) {
                    true => self.follow(then, context),
                    false => self.follow(otherwise, context),
                }
            }
            Some(Branching::FirstOf(of)) => {
                let is_there = |arg: &Expr, row: &[Value], context: &mut EvalContext<'_>| {
                    Ok(!eval(arg, row, context)?.is_null())
                };
                let of: Vec<&Expr> = of.iter().collect();
                self.follow_until(&of, of.len(), &is_there, context)
            }
            Some(Branching::UntilNull(of, many)) => {
                let is_null = |arg: &Expr, row: &[Value], context: &mut EvalContext<'_>| {
                    Ok(eval(arg, row, context)?.is_null())
                };
                self.follow_until(&of, many, &is_null, context)
            }
            Some(Branching::UntilFound(of)) => self.follow_found(expr, &of, context),
            Some(Branching::UntilGreater(of)) => self.follow_greater(expr, of, context),
            Some(Branching::Chosen(number, of)) => {
                let chosen = |n: &i64, at: usize| usize::try_from(*n).is_ok_and(|n| n == at + 1);
                self.follow_chosen(number, of, integer_argument, chosen, context)
            }
            Some(Branching::Bits(bits, of)) => {
                let chosen = |bits: &u64, at: usize| at < 64 && bits >> at & 1 == 1;
                self.follow_chosen(bits, of, bit_pattern, chosen, context)
            }
        }
    }

    fn follow_operands(&mut self, expr: &Expr, context: &mut ExecContext) -> Result<(), Stop> {
        let mut operands = Vec::new();
        visit_operands(expr, &mut |operand| operands.push(operand));
        self.follow_all(&operands, context)
    }

    fn follow_all(&mut self, exprs: &[&Expr], context: &mut ExecContext) -> Result<(), Stop> {
        exprs.iter().try_for_each(|expr| self.follow(expr, context))
    }

    /// One operand after the other, up to one of the first so many of which something is true.
    fn follow_until(
        &mut self,
        of: &[&Expr],
        many: usize,
        is_last: &Test<'_>,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        for (at, &arg) in of.iter().enumerate() {
            self.follow(arg, context)?;
            let rest = of.get(at + 1..).unwrap_or_default();
            if !rest.iter().any(|arg| self.has_subquery(arg)) {
                break;
            }
            if at < many
                && self.is_decidable(arg)
                && self.decide(context, |row, eval| is_last(arg, row, eval))?
            {
                break;
            }
        }
        Ok(())
    }

    fn follow_case(&mut self, expr: &Expr, context: &mut ExecContext) -> Result<(), Stop> {
        let Expr::Case {
            operand,
            branches,
            otherwise,
            ..
        } = expr
        else {
            return self.follow_operands(expr, context);
        };
        let conditions = branches.iter().map(|(when, _)| when);
        let mut decides = operand.iter().map(|operand| &**operand).chain(conditions);
        if !decides.all(|expr| self.is_decidable(expr)) {
            return self.follow_operands(expr, context);
        }
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

    /// `x IN (…)` and FIELD: nothing behind the one that x is equal to.
    fn follow_found(
        &mut self,
        expr: &Expr,
        of: &[&Expr],
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let is_decidable = self.is_decidable(expr);
        for (at, &arg) in of.iter().enumerate() {
            if at > 0 && is_decidable && self.has_subquery(arg) {
                let is_found = self.decide(context, |row, eval| is_among(expr, at, row, eval))?;
                if is_found {
                    break;
                }
            }
            self.follow(arg, context)?;
        }
        Ok(())
    }

    /// INTERVAL: nothing behind the first that is greater. It says how many before that are not.
    fn follow_greater(
        &mut self,
        expr: &Expr,
        of: &[Expr],
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let is_decidable = self.is_decidable(expr);
        for (at, arg) in of.iter().enumerate() {
            if at > 1 && is_decidable && self.has_subquery(arg) {
                let not_greater = self.decide(context, |row, eval_in| eval(expr, row, eval_in))?;
                // Those from the second on were compared.
                let compared = i64::try_from(at - 1).unwrap_or(i64::MAX);
                if matches!(not_greater, Value::Int(n) if n < compared) {
                    break;
                }
            }
            self.follow(arg, context)?;
            if at == 0
                && self.is_decidable(arg)
                && self
                    .decide(context, |row, eval_in| eval(arg, row, eval_in))?
                    .is_null()
            {
                break;
            }
        }
        Ok(())
    }

    /// Those of some operands that a number stands for.
    fn follow_chosen<N>(
        &mut self,
        number: &Expr,
        of: &[Expr],
        value: impl Fn(&Expr, &[Value], &mut EvalContext<'_>) -> Result<Option<N>, SqlError>,
        is_chosen: impl Fn(&N, usize) -> bool,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        self.follow(number, context)?;
        if !self.is_decidable(number) {
            return of.iter().try_for_each(|arg| self.follow(arg, context));
        }
        let Some(n) = self.decide(context, |row, eval| value(number, row, eval))? else {
            return Ok(());
        };
        let mut of = of.iter().enumerate();
        of.try_for_each(|(at, arg)| match is_chosen(&n, at) {
            true => self.follow(arg, context),
            false => Ok(()),
        })
    }

    /// Whether it can be known beforehand what decides: not if it differs each time that it is evaluated, nor
    /// of a user variable that the statement may set in between.
    fn is_decidable(&self, expr: &Expr) -> bool {
        !is_volatile(expr) && (self.block.keeps_variables || !reads_variable(expr))
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

/// Whether IN or FIELD finds what it looks for before the operand of this number.
fn is_among(
    expr: &Expr,
    end: usize,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<bool, SqlError> {
    let Expr::In {
        expr: sought,
        list,
        collation,
        ..
    } = expr
    else {
        // What has not run is NULL, and equal to nothing.
        let place = eval(expr, row, context)?;
        let end = i64::try_from(end).unwrap_or(i64::MAX);
        return Ok(matches!(place, Value::Int(place) if 0 < place && place < end));
    };
    let before = list.items.get(..end - 1).unwrap_or_default().to_vec();
    let before = Expr::In {
        expr: sought.clone(),
        list: before.into(),
        negated: false,
        collation: *collation,
    };
    holds(&before, row, context)
}
