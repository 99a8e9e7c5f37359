//! Parameters that are taken for numbers, before they have values: see `expr::taken`.
//!
//! MySQL's rule: of what stands together, the first whose type is known decides for those that are
//! not known; if nothing is, the function says what they are. What consists of such parameters only
//! (`? + ?`) is not known itself, until something stands beside it (`(? + ?) + 1`).

use super::{Scope, arithmetic_type, case_type, literal};
use crate::{
    expr::{
        BinaryOp, Expr, ExprType,
        functions::{Function, Typing},
        infer,
        taken::Taken,
    },
    lexer::ValueKind,
};
use cohort_engine::types::ColumnType;

/// What operands are of which none tells.
#[derive(Clone, Copy)]
pub(super) enum Otherwise {
    /// Texts: they take the kinds of their values.
    Texts,
    /// Such numbers.
    Numbers(Taken),
    /// The first is a text, and the others are like what comes of it: `? + ?` of texts is a DOUBLE.
    LikeFirst,
}

/// Operands that become values of one type.
pub(super) fn together<'e>(
    operands: impl IntoIterator<Item = &'e mut Expr>,
    otherwise: Otherwise,
    scope: &mut dyn Scope,
) {
    let mut operands: Vec<&mut Expr> = operands.into_iter().collect();
    let known = |operand: &&mut Expr| (!is_open(operand, scope)).then(|| infer(operand));
    let mut types: Vec<Option<ExprType>> = operands.iter().map(known).collect();
    let is_bound = |operand: &&mut Expr| matches!(operand, Expr::Parameter { bound: true, .. });
    if types.iter().all(Option::is_some) && !operands.iter().any(is_bound) {
        return;
    }
    if types.iter().all(Option::is_none)
        && let (Otherwise::LikeFirst, Some(first), Some(ty)) =
            (otherwise, operands.first_mut(), types.first_mut())
    {
        give(first, None, scope);
        *ty = Some(infer(first)).filter(|ty| ty.ty.is_some());
    }
    let is_plain = |operand: &&mut Expr| matches!(operand, Expr::Parameter { .. });
    let only_plain = operands.iter().all(is_plain);
    let otherwise = match otherwise {
        Otherwise::Numbers(taken) => Some(taken),
        Otherwise::Texts | Otherwise::LikeFirst => None,
    };
    let mut known = types.iter().enumerate();
    let mut known = known.by_ref().filter_map(|(at, ty)| Some((at, (*ty)?)));
    let (first, second) = (known.next(), known.next());
    let is_told = first.is_some();
    for (at, operand) in operands.iter_mut().enumerate() {
        let beside = match first.filter(|(first, _)| *first != at).or(second) {
            Some((other, ty)) if other != at => Taken::beside(&ty),
            _ => otherwise,
        };
        match (types.get(at).copied().flatten(), &mut **operand) {
            // It is NULL until it has a value, whose kind it takes then.
            (None, Expr::Parameter { .. }) if beside.is_none() && (only_plain || is_told) => {}
            (None, open) => give(open, beside, scope),
            // The value that it had decides, but it stands in a place of numbers.
            (
                Some(own),
                Expr::Parameter {
                    index, bound: true, ..
                },
            ) if beside.is_some() => {
                if let Some(own) = Taken::beside(&own) {
                    scope.take(*index, Some(own));
                }
            }
            _ => {}
        }
    }
}

/// What a function computes of that says nothing about it: `CONCAT(? + ?)`, `MAX(? + ?)`.
pub fn parameters_as_texts(operand: &mut Expr, scope: &mut dyn Scope) {
    together([operand], Otherwise::Texts, scope);
}

/// The arguments of a function.
pub(super) fn arguments(function: &Function, args: &mut [Expr], scope: &mut dyn Scope) {
    match function.name {
        "coalesce" | "ifnull" | "greatest" | "least" | "nullif" | "field" => {
            together(args, Otherwise::Texts, scope);
        }
        "if" => together(args.iter_mut().skip(1), Otherwise::Texts, scope),
        "mod" | "abs" | "ceil" | "ceiling" | "floor" | "sign" => {
            together(args, Otherwise::Numbers(Taken::Double), scope);
        }
        "round" | "truncate" => {
            let number = args.iter_mut().take(1);
            together(number, Otherwise::Numbers(Taken::Decimal), scope);
        }
        // Those that make a DOUBLE compute with such: POW, SIN.
        _ if computes_doubles(function, args, scope) => {}
        _ => args
            .iter_mut()
            .for_each(|arg| parameters_as_texts(arg, scope)),
    }
}

fn computes_doubles(function: &Function, args: &[Expr], scope: &dyn Scope) -> bool {
    let collation = scope.collation();
    let ty = (function.infer)(&Typing { args, collation });
    ty.ty == Some(ColumnType::Double)
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
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => Otherwise::Texts,
        _ if op.is_comparison() => Otherwise::LikeFirst,
        BinaryOp::IntegerDivide => Otherwise::Numbers(Taken::Integer { unsigned: false }),
        _ if is_arithmetic(op) => Otherwise::Numbers(Taken::Double),
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
        } => {
            let is_whole = *op == BinaryOp::IntegerDivide;
            is_arithmetic(*op) && !is_whole && is_open(right) && is_open(left)
        }
        Expr::Case {
            branches,
            otherwise,
            ..
        } => branches
            .iter()
            .map(|(_, then)| then)
            .chain(otherwise.as_deref())
            .all(is_open),
        Expr::Negate { expr, .. } => is_open(expr),
        Expr::Function { function, args, .. } => {
            let args = deciding(function, args);
            !args.is_empty() && args.iter().all(is_open)
        }
        _ => false,
    }
}

/// The arguments that decide about the type of what a function makes of them.
fn deciding<'e>(function: &Function, args: &'e [Expr]) -> &'e [Expr] {
    match function.name {
        "coalesce" | "ifnull" | "nullif" | "greatest" | "least" | "any_value" | "mod" | "abs"
        | "ceil" | "ceiling" | "floor" => args,
        "if" => args.get(1..).unwrap_or_default(),
        _ => &[],
    }
}

/// Has all parameters of what is open taken for a number, or (`None`) for texts.
fn give(expr: &mut Expr, taken: Option<Taken>, scope: &mut dyn Scope) {
    match expr {
        Expr::Parameter { index, ty, .. } => {
            scope.take(*index, taken);
            let text = || ValueKind::Text.parameter_type(scope.collation());
            *ty = taken.map_or_else(text, Taken::ty);
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
        Expr::Function {
            function, args, ty, ..
        } => {
            let chosen = usize::from(function.name == "if");
            for arg in args.iter_mut().skip(chosen) {
                give(arg, taken, scope);
            }
            *ty = (function.infer)(&Typing {
                args,
                collation: scope.collation(),
            });
        }
        Expr::Case {
            branches,
            otherwise,
            ty,
            ..
        } => {
            let results = branches.iter_mut().map(|(_, then)| then);
            let mut types = Vec::new();
            for result in results.chain(otherwise.as_deref_mut()) {
                give(result, taken, scope);
                types.push(infer(result));
            }
            *ty = case_type(&types, otherwise.is_some());
        }
        _ => {}
    }
}
