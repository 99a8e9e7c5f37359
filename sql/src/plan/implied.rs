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
    for (left, right, ty) in conditions.iter().filter_map(walk::equality) {
        if let (Some(a), Some(b)) = (walk::slot(left), walk::slot(right))
            && is_same(&infer(left), &infer(right), ty)
        {
            stated.extend([(a, b), (b, a)]);
            join(&mut classes, left, right, ty);
        }
    }
    for equality in conditions.iter().filter_map(walk::equality) {
        note_constant(&mut classes, equality);
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

/// Whether two operands have the same type, and are compared as that: as texts, as whole numbers, or as
/// decimal numbers or times of the same digits. Members of ENUM and SET are now texts and now numbers.
fn is_same(left: &ExprType, right: &ExprType, compared: &ExprType) -> bool {
    let (Some(a), Some(b)) = (left.ty, right.ty) else {
        return false;
    };
    if a.has_members() || b.has_members() {
        return false;
    }
    if left.is_string() && right.is_string() {
        let collation = compared.collation;
        return left.collation == collation && right.collation == collation;
    }
    if a.is_integer() && b.is_integer() {
        return true;
    }
    let exact = matches!(
        a,
        ColumnType::Decimal { .. }
            | ColumnType::Date
            | ColumnType::DateTime(_)
            | ColumnType::Time(_)
    );
    exact && a == b && left.decimals == right.decimals
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
fn note_constant(classes: &mut [Class], (left, right, ty): (&Expr, &Expr, &ExprType)) {
    for (column, constant) in [(left, right), (right, left)] {
        let Some(slot) = walk::slot(column).filter(|_| walk::is_constant(constant)) else {
            continue;
        };
        let compared = is_same(&infer(column), &infer(constant), ty);
        let is_it = |class: &&mut Class| {
            let mut columns = class.columns.iter();
            columns.any(|other| walk::slot(other) == Some(slot))
        };
        if compared && let Some(class) = classes.iter_mut().find(is_it) {
            class.constant.get_or_insert_with(|| constant.clone());
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
