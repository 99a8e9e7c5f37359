//! What equalities say together: if `a = b` and `b = c`, then `a = c`, and if `b = 5`, then `a = 5`.
//!
//! It is only used to find access paths and join orders: what a text says is what is checked. So a
//! table may be read first, or by another index, than the text suggests. Only columns of the very same
//! type and collation count, for between others equality need not go on: the text `1` equals the
//! number 1, which equals the text `01`.

use super::walk;
use crate::expr::{BinaryOp, Expr, ExprType, infer};
use cohort_engine::types::ColumnType;

/// So many columns that are equal to one another are looked at.
const CLASS_MAX: usize = 8;

/// Columns that have the same value in every row, and that value if it is the same for all rows.
struct Class {
    /// As they stand in the conditions.
    columns: Vec<Expr>,
    constant: Option<Expr>,
    /// The type of the comparisons.
    ty: ExprType,
}

/// The equalities that follow from conditions that hold together.
pub(super) fn implied(conditions: &[Expr]) -> Vec<Expr> {
    let mut classes: Vec<Class> = Vec::new();
    let mut stated = Vec::new();
    for condition in conditions {
        let Expr::Binary {
            op: BinaryOp::Eq,
            left,
            right,
            ty,
        } = condition
        else {
            continue;
        };
        if let (Some(a), Some(b)) = (walk::slot(left), walk::slot(right))
            && is_same(&infer(left), &infer(right), ty)
        {
            stated.extend([(a, b), (b, a)]);
            join(&mut classes, left, right, ty);
        }
    }
    for condition in conditions {
        note_constant(&mut classes, condition);
    }
    classes
        .iter()
        .flat_map(|c| consequences(c, &stated))
        .collect()
}

fn equals(left: &Expr, right: &Expr, ty: ExprType) -> Expr {
    Expr::Binary {
        op: BinaryOp::Eq,
        left: Box::new(left.clone()),
        right: Box::new(right.clone()),
        ty,
    }
}

/// Whether two columns have the same type, and are compared as that.
fn is_same(left: &ExprType, right: &ExprType, compared: &ExprType) -> bool {
    let collated = left.collation == right.collation
        && (!left.is_string() || compared.collation == left.collation);
    let integers = left.is_integer() && right.is_integer();
    let is_near = matches!(left.ty, Some(ColumnType::Float | ColumnType::Double) | None);
    collated && !is_near && (integers || left.ty == right.ty && left.decimals == right.decimals)
}

/// Puts two columns in one class.
fn join(classes: &mut Vec<Class>, left: &Expr, right: &Expr, ty: &ExprType) {
    let has = |class: &Class, column: &Expr| {
        let slot = walk::slot(column);
        class.columns.iter().any(|other| walk::slot(other) == slot)
    };
    let mut joined = Class {
        columns: Vec::new(),
        constant: None,
        ty: *ty,
    };
    for column in [left, right] {
        match classes.iter().position(|class| has(class, column)) {
            Some(at) => joined.columns.append(&mut classes.swap_remove(at).columns),
            None if has(&joined, column) => {}
            None => joined.columns.push(column.clone()),
        }
    }
    joined.columns.truncate(CLASS_MAX);
    classes.push(joined);
}

/// Notes what a class is equal to, if a condition says so.
fn note_constant(classes: &mut [Class], condition: &Expr) {
    let Expr::Binary {
        op: BinaryOp::Eq,
        left,
        right,
        ty,
    } = condition
    else {
        return;
    };
    for (column, constant) in [(left, right), (right, left)] {
        let Some(slot) = walk::slot(column).filter(|_| walk::is_constant(constant)) else {
            continue;
        };
        let own = infer(column);
        let compared = !own.is_string() || ty.collation == own.collation;
        let is_it = |class: &&mut Class| {
            let mut columns = class.columns.iter();
            columns.any(|other| walk::slot(other) == Some(slot))
        };
        if compared && let Some(class) = classes.iter_mut().find(is_it) {
            class
                .constant
                .get_or_insert_with(|| constant.as_ref().clone());
        }
    }
}

/// What a class says that was not stated.
fn consequences(class: &Class, stated: &[(usize, usize)]) -> Vec<Expr> {
    let mut found = Vec::new();
    for (at, column) in class.columns.iter().enumerate() {
        for other in class.columns.iter().skip(at + 1) {
            let pair = walk::slot(column).zip(walk::slot(other));
            if pair.is_some_and(|pair| !stated.contains(&pair)) {
                found.push(equals(column, other, class.ty));
            }
        }
        if let Some(constant) = &class.constant {
            // Where the column was compared with it by the text that is said twice, which does no harm.
            found.push(equals(column, constant, class.ty));
        }
    }
    found
}
