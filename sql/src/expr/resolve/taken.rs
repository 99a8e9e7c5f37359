//! Parameters that are taken for numbers, before they have values: see `expr::taken`.
//!
//! MySQL's rule: of what stands together, the first whose type is known decides for those that are
//! not known; if nothing is, the function says what they are. What consists of such parameters only
//! (`? + ?`) is not known itself, until something stands beside it (`(? + ?) + 1`).

use super::{Scope, arithmetic_type, literal};
use crate::expr::{
    BinaryOp, Expr, ExprType,
    functions::{Function, Typing},
    infer,
    taken::Taken,
};

/// Operands that become values of one type. `otherwise`: what they are if nothing tells.
pub(super) fn together<'e>(
    operands: impl IntoIterator<Item = &'e mut Expr>,
    otherwise: Option<Taken>,
    scope: &mut dyn Scope,
) {
    let mut operands: Vec<&mut Expr> = operands.into_iter().collect();
    let known = |operand: &&mut Expr| (!is_open(operand, scope)).then(|| infer(operand));
    let types: Vec<Option<ExprType>> = operands.iter().map(known).collect();
    let is_bound = |operand: &&mut Expr| matches!(operand, Expr::Parameter { bound: true, .. });
    if types.iter().all(Option::is_some) && !operands.iter().any(is_bound) {
        return;
    }
    let mut known = types.iter().enumerate();
    let mut known = known.by_ref().filter_map(|(at, ty)| Some((at, (*ty)?)));
    let (first, second) = (known.next(), known.next());
    for (at, operand) in operands.iter_mut().enumerate() {
        let beside = match first.filter(|(first, _)| *first != at).or(second) {
            Some((other, ty)) if other != at => Taken::beside(&ty),
            _ => otherwise,
        };
        let (Some(beside), own) = (beside, types.get(at).copied().flatten()) else {
            continue;
        };
        match (own, &mut **operand) {
            (None, open) => give(open, beside, scope),
            // The value that it had decides, but it stands in a place of numbers.
            (
                Some(own),
                Expr::Parameter {
                    index, bound: true, ..
                },
            ) => {
                if let Some(own) = Taken::beside(&own) {
                    scope.take(*index, own);
                }
            }
            _ => {}
        }
    }
}

/// The arguments of a function. What is not here takes parameters as they come.
pub(super) fn arguments(function: &Function, args: &mut [Expr], scope: &mut dyn Scope) {
    match function.name {
        "coalesce" | "ifnull" | "greatest" | "least" | "nullif" | "field" => {
            together(args, None, scope);
        }
        "if" => together(args.iter_mut().skip(1), None, scope),
        "mod" => together(args, Some(Taken::Double), scope),
        "abs" | "ceil" | "ceiling" | "floor" | "sign" => {
            together(args, Some(Taken::Double), scope);
        }
        "round" | "truncate" => together(args.iter_mut().take(1), Some(Taken::Decimal), scope),
        _ => {}
    }
}

/// The operands of an operator.
pub(super) fn operands(op: BinaryOp, operands: [&mut Expr; 2], scope: &mut dyn Scope) {
    // An integer stays what it is beside a number that becomes one.
    let is_other = |operand: &&mut Expr| {
        let taken = Taken::beside(&infer(operand));
        !is_open(operand, scope) && !matches!(taken, Some(Taken::Integer { .. }))
    };
    let is_plain = |operand: &&mut Expr| matches!(operand, Expr::Parameter { .. });
    let stays = operands.iter().any(is_other) && operands.iter().any(is_plain);
    let otherwise = match op {
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor if stays => return,
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => None,
        _ if op.is_comparison() => None,
        BinaryOp::IntegerDivide => Some(Taken::Integer { unsigned: false }),
        _ if is_arithmetic(op) => Some(Taken::Double),
        _ => return,
    };
    together(operands, otherwise, scope);
}

fn is_arithmetic(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::IntegerDivide
            | BinaryOp::Modulo
    )
}

/// So deep is looked for parameters that nothing is known of.
const DEPTH_MAX: usize = 64;

/// Whether nothing but parameters decides about its type, of which none has one.
fn is_open(expr: &Expr, scope: &dyn Scope) -> bool {
    is_open_within(expr, DEPTH_MAX, scope)
}

fn is_open_within(expr: &Expr, depth: usize, scope: &dyn Scope) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let is_open = |expr: &Expr| is_open_within(expr, depth, scope);
    match expr {
        Expr::Parameter { index, bound, .. } => *bound && scope.is_open(*index),
        // The right operand is the smaller one of a sum of many.
        Expr::Binary {
            op, left, right, ..
        } => is_arithmetic(*op) && is_open(right) && is_open(left),
        Expr::Negate { expr, .. } => is_open(expr),
        Expr::Function { function, args, .. } => {
            let args = deciding(function, args);
            !args.is_empty() && args.iter().all(is_open)
        }
        _ => false,
    }
}

/// The arguments that decide about the type of what a function chooses among them.
fn deciding<'e>(function: &Function, args: &'e [Expr]) -> &'e [Expr] {
    match function.name {
        "coalesce" | "ifnull" | "greatest" | "least" | "any_value" => args,
        "if" => args.get(1..).unwrap_or_default(),
        _ => &[],
    }
}

fn give(expr: &mut Expr, taken: Taken, scope: &mut dyn Scope) {
    match expr {
        Expr::Parameter { index, ty, .. } => {
            scope.take(*index, taken);
            *ty = taken.ty();
        }
        Expr::Binary {
            op,
            left,
            right,
            ty,
        } => {
            give(left, taken, scope);
            give(right, taken, scope);
            let digits = u32::from(scope.div_precision_increment());
            let of_numbers = arithmetic_type(*op, &infer(left), &infer(right), digits);
            *ty = of_numbers.or_null();
        }
        Expr::Negate { expr: operand, .. } => {
            give(operand, taken, scope);
            let operand = std::mem::replace(&mut **operand, Expr::null());
            *expr = literal::negate(operand);
        }
        Expr::Function { function, args, ty } => {
            let chosen = usize::from(function.name == "if");
            for arg in args.iter_mut().skip(chosen) {
                give(arg, taken, scope);
            }
            *ty = (function.infer)(&Typing {
                args,
                collation: scope.collation(),
            });
        }
        _ => {}
    }
}
