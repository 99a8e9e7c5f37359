//! What a constant becomes that is compared with something of another type, where MySQL converts
//! it beforehand and not both sides by their values.

use super::{is_constant, literal};
use crate::expr::{Expr, ExprType, functions::FULL_YEAR, infer};
use cohort_engine::types::ColumnType;

/// Both sides of a comparison.
pub(super) fn pair(left: Expr, right: Expr) -> (Expr, Expr) {
    let right = with(right, &left);
    let left = with(left, &right);
    (left, right)
}

/// `constant` as it is compared with `other`.
pub(super) fn with(constant: Expr, other: &Expr) -> Expr {
    let ty = infer(other);
    let is_column = matches!(other, Expr::Column { .. });
    match ty.ty {
        None => constant,
        _ if ty.is_string() => constant,
        // Years of one or two digits are short for longer ones.
        Some(ColumnType::Year) if is_column && is_constant(&constant) => {
            let constant = literal::as_number(constant);
            Expr::Function {
                ty: infer(&constant),
                args: vec![constant],
                function: &FULL_YEAR,
            }
        }
        // Of a date and time the time counts.
        Some(ColumnType::Time(_)) if is_column && is_constant(&constant) => {
            let from = infer(&constant);
            match from.ty {
                Some(ColumnType::Date | ColumnType::DateTime(_)) => Expr::Cast {
                    expr: Box::new(constant),
                    ty: ExprType::temporal(ColumnType::Time(from.decimals.min(6)))
                        .nullable_if(from.nullable),
                },
                _ => constant,
            }
        }
        _ if ty.is_temporal() => constant,
        _ => literal::as_number(constant),
    }
}
