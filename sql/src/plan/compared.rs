//! What IN, ANY and ALL compare the rows of a subquery as. Each row is to get the answer that `=` (or `<`,
//! …) gives for the two values, whichever way it is found: so the comparison is built as any other, which
//! makes both sides what they are compared as, and then taken apart. Example:
//!
//! ```text
//! a_date IN (SELECT a_text FROM t)
//!
//!     a_date = a_text         becomes         a_date = AS_DATE(a_text)
//!
//!     a_date                  is computed of the row outside
//!     AS_DATE(a column)       is computed of each row of the subquery
//! ```

use super::{Computed, Pair, Planner, Query, scope::slot_expr, walk};
use crate::{
    error::SqlError,
    expr::{
        BinaryOp, Expr, ExprType, build_binary, coercibility, infer, is_repeatable,
        resolve::check_constant, visit_operands_mut,
    },
};
use cohort_engine::{invariant::broken, types::ColumnType};

/// The slot of what has been put in the place of a subquery's output, which no block has.
const IN_PLACE: usize = u32::MAX as usize;

impl Planner<'_> {
    /// A value and a column of a subquery's rows as they are compared.
    pub(super) fn pair(
        &mut self,
        left: Expr,
        query: &Query,
        column: usize,
        op: BinaryOp,
    ) -> Result<Pair, SqlError> {
        let of_rows = column_of(query, column);
        let own = match query.blocks.as_slice() {
            [block] => block.output.get(column).map(|output| &output.expr),
            _ => None,
        };
        match own {
            // The same for all rows: it is compared as such.
            Some(own) if is_constant(own) => self.built(op, left, own.clone()),
            Some(own) if walk::slot(own).is_none() => {
                let Pair {
                    left: Computed { expr, .. },
                    mut right,
                    collation,
                } = self.built(op, left.clone(), own.clone())?;
                let ty = infer(&of_rows);
                put_in_place(&mut right, own, &slot_expr(IN_PLACE, ty));
                if !only_in_place(&right) {
                    // Something in it is compared as something else.
                    return self.built(op, left, of_rows);
                }
                put_in_place(&mut right, &slot_expr(IN_PLACE, ty), &of_rows);
                let left = self.wrap(expr);
                Ok(Pair {
                    left,
                    right,
                    collation,
                })
            }
            _ => {
                let pair = self.built(op, left, of_rows)?;
                self.check_constants(&pair, query, column)?;
                Ok(pair)
            }
        }
    }

    /// The sides of a comparison.
    fn built(&mut self, op: BinaryOp, left: Expr, right: Expr) -> Result<Pair, SqlError> {
        let Expr::Binary {
            left, right, ty, ..
        } = build_binary(op, left, right, self)?
        else {
            return Err(broken("a comparison is made of two sides").into());
        };
        Ok(Pair {
            left: self.wrap(*left),
            right: *right,
            collation: ty.collation,
        })
    }

    /// 3854 if a constant that is selected lacks in the character set of the comparison.
    fn check_constants(
        &mut self,
        pair: &Pair,
        query: &Query,
        column: usize,
    ) -> Result<(), SqlError> {
        if !infer(&pair.left.expr).is_string() || !infer(&pair.right).is_string() {
            return Ok(());
        }
        let whole = ExprType::string(0, pair.collation, coercibility::NONE);
        let mut outputs = query.blocks.iter().filter_map(|b| b.output.get(column));
        outputs.try_for_each(|output| check_constant(&output.expr, &whole, self))
    }
}

/// A column of a query's rows, as a slot of these.
fn column_of(query: &Query, column: usize) -> Expr {
    let ty = query.types.get(column).copied();
    let mut ty = ty.unwrap_or_else(ExprType::null);
    if let Some(ColumnType::Timestamp(digits)) = ty.ty {
        // It has become local time.
        ty.ty = Some(ColumnType::DateTime(digits));
    }
    slot_expr(column, ty)
}

fn is_constant(expr: &Expr) -> bool {
    walk::is_constant(expr) && is_repeatable(expr)
}

/// Puts something in the place of an expression, wherever it stands.
fn put_in_place(expr: &mut Expr, old: &Expr, new: &Expr) {
    if expr == old {
        *expr = new.clone();
        return;
    }
    visit_operands_mut(expr, &mut |operand| put_in_place(operand, old, new));
}

fn only_in_place(expr: &Expr) -> bool {
    let mut only = true;
    walk::slots(expr, &mut |slot| only &= slot == IN_PLACE);
    only
}
