//! GROUP BY … WITH ROLLUP, and GROUPING().
//!
//! Behind the groups of all keys there are those of fewer, in which a key that is left out is NULL:
//! so what refers to a key reads a slot of its own. GROUPING() is a slot, too, whose value each
//! group gets.

use super::{Block, Computed, Planner, scope::slot_expr, walk::is_constant};
use crate::{
    error::SqlError,
    expr::{Expr, ExprType, infer, plain_arguments, plain_call, visit_operands_mut},
    output::ColumnMeta,
};
use cohort_engine::types::Value;
use sqlparser::ast;

/// The groups beyond those of all keys.
#[derive(Debug)]
pub struct Rollup {
    /// For each key the slot of its value, NULL where it is left out; `None` for one that was there
    /// before.
    pub slots: Vec<Option<usize>>,
    /// The slots of the keys that are columns, by number.
    pub columns: Vec<(usize, usize)>,
    /// The calls of GROUPING(): the numbers of their keys, and the slot of the result.
    pub groupings: Vec<(Vec<usize>, usize)>,
}

/// A call of GROUPING() whose keys are not known yet.
pub(super) struct GroupingCall {
    args: Vec<Computed>,
    slot: usize,
}

/// GROUPING() is a number of so many bits at most.
const ARGUMENTS_MAX: usize = 64;

impl Planner<'_> {
    /// GROUPING(…): the slot of its result.
    pub(super) fn grouping_call(&mut self, call: &ast::Function) -> Result<Expr, SqlError> {
        let ast::FunctionArguments::List(list) = plain_call(call, self)? else {
            return Err(SqlError::invalid_group_function());
        };
        let mut args = Vec::new();
        for argument in plain_arguments(list, "grouping", self)? {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = argument else {
                return Err(SqlError::syntax(argument, 1));
            };
            args.push(self.computed(expr)?);
        }
        if args.is_empty() {
            let name = ast::Spanned::span(&call.name);
            return Err(self.text.error_at_end_of_call(name));
        }
        let names = self.names();
        if !names.aggregates_allowed || names.in_aggregate {
            return Err(SqlError::invalid_group_function());
        }
        if args.len() > ARGUMENTS_MAX {
            return Err(SqlError::wrong_native_argument_count("GROUPING"));
        }
        let slot = names.new_slot();
        names.groupings.push(GroupingCall { args, slot });
        Ok(slot_expr(slot, ExprType::bigint(false).or_null()))
    }

    /// Completes a block whose GROUP BY may have WITH ROLLUP.
    pub(super) fn roll_up(
        &mut self,
        block: &mut Block,
        columns: &mut [ColumnMeta],
        rollup: bool,
    ) -> Result<(), SqlError> {
        let groupings = self.groupings(block)?;
        if !rollup {
            // Every group is one of all keys.
            let none = Expr::Literal(Value::Int(0), ExprType::bigint(false));
            for (_, slot) in groupings {
                let call = slot_expr(slot, ExprType::bigint(false).or_null());
                each_expr(block, &mut |expr| {
                    replace(expr, &[(call.clone(), none.clone())])
                });
            }
            return Ok(());
        }
        let Some(grouping) = &mut block.grouping else {
            return Ok(());
        };
        let names = self.names();
        let mut pairs: Vec<(Expr, Expr)> = Vec::with_capacity(grouping.keys.len());
        let mut slots = Vec::with_capacity(grouping.keys.len());
        let mut own = Vec::new();
        for (number, key) in grouping.keys.iter().enumerate() {
            if pairs.iter().any(|(known, _)| *known == key.expr) {
                slots.push(None);
                continue;
            }
            own.extend(
                names
                    .column_of_table(&key.expr)
                    .and(super::walk::slot(&key.expr))
                    .map(|slot| (number, slot)),
            );
            let slot = names.new_slot();
            slots.push(Some(slot));
            let value = slot_expr(slot, infer(&key.expr).computed().or_null());
            pairs.push((key.expr.clone(), value));
        }
        grouping.rollup = Some(Rollup {
            slots,
            columns: own,
            groupings,
        });
        let before: Vec<Expr> = block
            .output
            .iter()
            .map(|output| output.expr.clone())
            .collect();
        each_expr(block, &mut |expr| replace_keys(expr, &pairs));
        for ((output, before), column) in block.output.iter().zip(before).zip(columns) {
            if output.expr != before {
                *column = infer(&output.expr).meta(&column.name);
            }
        }
        Ok(())
    }

    /// The calls of GROUPING() with the keys that they are of.
    fn groupings(&mut self, block: &Block) -> Result<Vec<(Vec<usize>, usize)>, SqlError> {
        let calls = std::mem::take(&mut self.names().groupings);
        let keys = match &block.grouping {
            Some(grouping) if grouping.explicit => grouping.keys.as_slice(),
            _ if calls.is_empty() => return Ok(Vec::new()),
            _ => return Err(SqlError::invalid_group_function()),
        };
        let mut groupings = Vec::with_capacity(calls.len());
        for call in calls {
            let mut numbers = Vec::with_capacity(call.args.len());
            for (number, arg) in call.args.iter().enumerate() {
                let key = keys.iter().position(|key| key.expr == arg.expr);
                numbers.push(key.ok_or_else(|| SqlError::grouping_of_no_key(number + 1))?);
            }
            groupings.push((numbers, call.slot));
        }
        Ok(groupings)
    }
}

/// The expressions that are evaluated for each group.
fn each_expr(block: &mut Block, visit: &mut dyn FnMut(&mut Expr)) {
    block.output.iter_mut().for_each(|o| visit(&mut o.expr));
    block.having.iter_mut().for_each(|h| visit(&mut h.expr));
    let order = block.order.iter_mut();
    order.for_each(|key| visit(&mut key.value.expr));
    let windows = block.windowing.iter_mut().flat_map(|w| &mut w.inputs);
    windows.for_each(|input| visit(&mut input.value.expr));
}

/// Has an expression read the slots of keys. A constant that is one is meant only where it stands
/// alone.
fn replace_keys(expr: &mut Expr, pairs: &[(Expr, Expr)]) {
    if let Some((_, to)) = pairs.iter().find(|(key, _)| key == expr) {
        *expr = to.clone();
        return;
    }
    let variable = pairs.iter().filter(|(key, _)| !is_constant(key));
    replace(expr, &variable.cloned().collect::<Vec<_>>());
}

fn replace(expr: &mut Expr, pairs: &[(Expr, Expr)]) {
    match pairs.iter().find(|(from, _)| from == expr) {
        Some((_, to)) => *expr = to.clone(),
        None => visit_operands_mut(expr, &mut |operand| replace(operand, pairs)),
    }
}
