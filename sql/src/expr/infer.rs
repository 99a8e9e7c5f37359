//! The types of expressions, and walking them.

use super::{BinaryOp, Expr, ExprType};
use cohort_engine::types::ColumnType;

/// The type of an expression.
#[must_use]
pub fn infer(expr: &Expr) -> ExprType {
    match expr {
        Expr::Column { ty, .. } => *ty,
        Expr::Literal(_, ty)
        | Expr::Parameter { ty, .. }
        | Expr::Negate { ty, .. }
        | Expr::Case { ty, .. }
        | Expr::Cast { ty, .. }
        | Expr::Function { ty, .. }
        | Expr::UserVariable { ty, .. }
        // Zeros fill up what a column has, not what is computed of it.
        | Expr::SystemVariable { ty, .. } => ExprType {
            zerofill: 0,
            ..*ty
        },
        // A comparison keeps its collation in its type; the result is a number nonetheless.
        Expr::Binary { op, ty, .. } if op.is_comparison() => {
            ExprType::boolean().nullable_if(ty.nullable)
        }
        Expr::Binary { ty, .. } => *ty,
        Expr::Not(operand) => ExprType::boolean().nullable_if(infer(operand).nullable),
        Expr::BitNot(operand) => {
            let operand = infer(operand);
            let ty = if operand.is_bytes() {
                ExprType::bytes(operand.length)
            } else {
                ExprType::bigint(true)
            };
            ty.nullable_if(operand.nullable)
        }
        Expr::IsNull { .. } | Expr::IsTruth { .. } => ExprType::boolean(),
        Expr::InArray(test) => infer(&test.written),
        Expr::In { .. } | Expr::Between { .. } | Expr::Like { .. } => {
            let mut nullable = false;
            visit_operands(expr, &mut |operand| nullable |= infer(operand).nullable);
            ExprType::boolean().nullable_if(nullable)
        }
        Expr::SetUserVariable { expr, .. } => {
            let ty = ExprType {
                zerofill: 0,
                ..infer(expr)
            };
            match ty.ty {
                // A variable has the number.
                Some(ColumnType::Bit(_)) => ExprType {
                    ty: Some(ColumnType::BigInt),
                    ..ty
                },
                _ => ty,
            }
        }
    }
}

impl BinaryOp {
    /// `&`, `|`, `^`, `<<`, `>>`
    pub(super) fn is_bitwise(self) -> bool {
        matches!(
            self,
            BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor
                | BinaryOp::ShiftLeft
                | BinaryOp::ShiftRight
        )
    }
    /// AND, OR, XOR
    #[must_use]
    pub(super) fn is_logical(self) -> bool {
        matches!(self, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
    }
    /// `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=`
    #[must_use]
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryOp::Eq
                | BinaryOp::NullSafeEq
                | BinaryOp::NotEq
                | BinaryOp::Lt
                | BinaryOp::LtEq
                | BinaryOp::Gt
                | BinaryOp::GtEq
        )
    }
}

/// Implements both walks: `$($mutability)?` is `mut` or nothing.
macro_rules! operands {
    ($expr:expr, $visit:expr, $iter:ident $(, $mutability:tt)?) => {
        match $expr {
            Expr::Literal(..)
            | Expr::Column { .. }
            | Expr::Parameter { .. }
            | Expr::UserVariable { .. }
            | Expr::SystemVariable { .. } => {}
            Expr::Binary { left, right, .. } => {
                $visit(left);
                $visit(right);
            }
            Expr::Not(expr)
            | Expr::BitNot(expr)
            | Expr::Negate { expr, .. }
            | Expr::IsNull { expr, .. }
            | Expr::IsTruth { expr, .. }
            | Expr::Cast { expr, .. }
            | Expr::SetUserVariable { expr, .. } => $visit(expr),
            Expr::In { expr, list, .. } => {
                $visit(expr);
                list.items.$iter().for_each($visit);
            }
            Expr::Between {
                expr, low, high, ..
            } => {
                $visit(expr);
                $visit(low);
                $visit(high);
            }
            Expr::Like {
                expr,
                pattern,
                escape,
                ..
            } => {
                $visit(expr);
                $visit(pattern);
                if let Some(escape) = escape {
                    $visit(escape);
                }
            }
            Expr::Case {
                operand,
                branches,
                otherwise,
                ..
            } => {
                if let Some(operand) = operand {
                    $visit(operand);
                }
                for (when, then) in branches {
                    $visit(when);
                    $visit(then);
                }
                if let Some(otherwise) = otherwise {
                    $visit(otherwise);
                }
            }
            Expr::Function { args, .. } => args.$iter().for_each($visit),
            Expr::InArray(test) => {
                $visit(&$($mutability)? test.written);
                $visit(&$($mutability)? test.wanted);
                $visit(&$($mutability)? test.array);
            }
        }
    };
}

/// Calls `visit` with each direct operand of an expression.
pub fn visit_operands<'e>(expr: &'e Expr, visit: &mut dyn FnMut(&'e Expr)) {
    operands!(expr, visit, iter);
}

/// The same, to change operands.
pub fn visit_operands_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    operands!(expr, visit, iter_mut, mut);
}

/// Whether an expression reads a user variable.
#[must_use]
pub fn reads_variable(expr: &Expr) -> bool {
    let mut reads = matches!(expr, Expr::UserVariable { .. });
    visit_operands(expr, &mut |operand| reads |= reads_variable(operand));
    reads
}

/// Whether an expression may be evaluated again, on another version of the row, without anybody
/// noticing: it changes nothing, and what it reads but the row stays the same for the whole
/// statement. Slots of subqueries are columns here: who asks knows of the subqueries.
#[must_use]
pub fn is_repeatable(expr: &Expr) -> bool {
    let mut repeatable = match expr {
        Expr::Literal(..)
        | Expr::Column { .. }
        | Expr::Parameter { .. }
        | Expr::Binary { .. }
        | Expr::Negate { .. }
        | Expr::Not(_)
        | Expr::BitNot(_)
        | Expr::In { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::InArray(_)
        | Expr::IsNull { .. }
        | Expr::IsTruth { .. }
        | Expr::Case { .. }
        | Expr::Cast { .. } => true,
        Expr::Function { function, .. } => !function.volatile,
        Expr::UserVariable { .. } | Expr::SetUserVariable { .. } | Expr::SystemVariable { .. } => {
            false
        }
    };
    visit_operands(expr, &mut |operand| repeatable &= is_repeatable(operand));
    repeatable
}

/// Whether an expression reads the row. Slots of subqueries are columns here.
pub(super) fn has_columns(expr: &Expr) -> bool {
    let mut found = matches!(expr, Expr::Column { .. });
    visit_operands(expr, &mut |operand| found |= has_columns(operand));
    found
}

/// Whether an expression must be evaluated for each row even if it names no column (RAND,
/// UUID, SLEEP, assignments to user variables).
#[must_use]
pub fn is_volatile(expr: &Expr) -> bool {
    let mut volatile = match expr {
        Expr::SetUserVariable { .. } => true,
        Expr::Function { function, .. } => function.volatile,
        _ => false,
    };
    visit_operands(expr, &mut |operand| volatile |= is_volatile(operand));
    volatile
}
