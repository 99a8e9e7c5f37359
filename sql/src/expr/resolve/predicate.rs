//! Predicates: what is true, false or unknown.

use super::{
    Scope, SubqueryUse, build_binary, call, compared, compares_as_text, comparison_collation,
    literal, not_if, operator, resolve, text_if,
};
use crate::{
    error::SqlError,
    expr::{BinaryOp, Expr, ExprType, infer},
};
use cohort_engine::types::{ColumnType, Date, DateTime, Value};
use sqlparser::ast;

/// Resolves an expression that is a predicate by its form; `None` if it is none.
pub(super) fn predicate(expr: &ast::Expr, scope: &mut dyn Scope) -> Result<Option<Expr>, SqlError> {
    use ast::Expr as Ast;
    let resolved = match expr {
        Ast::IsNull(expr) => is_null(expr, false, scope),
        Ast::IsNotNull(expr) => is_null(expr, true, scope),
        Ast::IsTrue(expr) => is_truth(expr, Some(true), false, scope),
        Ast::IsNotTrue(expr) => is_truth(expr, Some(true), true, scope),
        Ast::IsFalse(expr) => is_truth(expr, Some(false), false, scope),
        Ast::IsNotFalse(expr) => is_truth(expr, Some(false), true, scope),
        Ast::IsUnknown(expr) => is_truth(expr, None, false, scope),
        Ast::IsNotUnknown(expr) => is_truth(expr, None, true, scope),
        Ast::InList {
            expr,
            list,
            negated,
        } => in_list(expr, list, *negated, scope),
        Ast::InSubquery {
            expr,
            subquery,
            negated,
        } => {
            let operands = match &**expr {
                Ast::Tuple(parts) => parts
                    .iter()
                    .map(|part| resolve(part, scope))
                    .collect::<Result<_, _>>()?,
                single => vec![resolve(single, scope)?],
            };
            let found = scope.subquery(subquery, SubqueryUse::In(operands))?;
            Ok(not_if(*negated, found))
        }
        Ast::Between {
            expr,
            negated,
            low,
            high,
        } => between(expr, low, high, *negated, scope),
        Ast::Like {
            negated,
            expr,
            pattern,
            escape_char,
            any: false,
        } => like(expr, pattern, escape_char.as_deref(), *negated, scope),
        Ast::RLike {
            negated,
            expr,
            pattern,
            ..
        } => {
            let args = vec![resolve(expr, scope)?, resolve(pattern, scope)?];
            let matched = call::build("regexp_like", args, scope)?;
            Ok(not_if(*negated, matched))
        }
        Ast::Exists { subquery, negated } => {
            let exists = scope.subquery(subquery, SubqueryUse::Exists)?;
            Ok(not_if(*negated, exists))
        }
        Ast::AnyOp {
            left,
            compare_op,
            right,
            ..
        } => quantified(left, compare_op, right, true, scope),
        Ast::AllOp {
            left,
            compare_op,
            right,
        } => quantified(left, compare_op, right, false, scope),
        _ => return Ok(None),
    };
    resolved.map(Some)
}

fn is_null(expr: &ast::Expr, negated: bool, scope: &mut dyn Scope) -> Result<Expr, SqlError> {
    let expr = resolve(expr, scope)?;
    // MySQL's way, for ODBC: the zero date of a column that cannot be NULL is found so.
    let zero = match &expr {
        Expr::Column { ty, .. } if !negated && !ty.nullable => match ty.ty {
            Some(ColumnType::Date) => Some(Value::Date(Date::default())),
            Some(ColumnType::DateTime(_)) => Some(Value::DateTime(DateTime::default())),
            _ => None,
        },
        _ => None,
    };
    if let Some(zero) = zero {
        let ty = infer(&expr);
        return build_binary(BinaryOp::Eq, expr, Expr::Literal(zero, ty));
    }
    Ok(Expr::IsNull {
        expr: Box::new(expr),
        negated,
    })
}

fn is_truth(
    expr: &ast::Expr,
    truth: Option<bool>,
    negated: bool,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    Ok(Expr::IsTruth {
        expr: Box::new(resolve(expr, scope)?),
        truth,
        negated,
    })
}

/// Comparisons of rows, in terms of comparisons of their parts.
pub(super) fn compare_rows(
    op: BinaryOp,
    left: &[ast::Expr],
    right: &[ast::Expr],
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    if left.len() != right.len() || left.is_empty() {
        return Err(SqlError::operand_columns(left.len()));
    }
    let mut pairs = Vec::new();
    for (a, b) in left.iter().zip(right) {
        pairs.push((resolve(a, scope)?, resolve(b, scope)?));
    }
    match op {
        BinaryOp::Eq | BinaryOp::NullSafeEq => all_pairs(op, pairs),
        BinaryOp::NotEq => Ok(Expr::Not(Box::new(all_pairs(BinaryOp::Eq, pairs)?))),
        BinaryOp::Lt | BinaryOp::LtEq | BinaryOp::Gt | BinaryOp::GtEq => lexicographic(op, &pairs),
        _ => Err(SqlError::operand_columns(1)),
    }
}

fn all_pairs(op: BinaryOp, pairs: Vec<(Expr, Expr)>) -> Result<Expr, SqlError> {
    let mut whole = None;
    for (a, b) in pairs {
        let part = build_binary(op, a, b)?;
        whole = Some(match whole {
            Some(before) => build_binary(BinaryOp::And, before, part)?,
            None => part,
        });
    }
    whole.ok_or_else(|| SqlError::operand_columns(1))
}

/// `(a, b) < (c, d)` is `a < c OR (a = c AND b < d)`.
fn lexicographic(op: BinaryOp, pairs: &[(Expr, Expr)]) -> Result<Expr, SqlError> {
    let strict = match op {
        BinaryOp::LtEq => BinaryOp::Lt,
        BinaryOp::GtEq => BinaryOp::Gt,
        other => other,
    };
    let Some(((a, b), before)) = pairs.split_last() else {
        return Err(SqlError::operand_columns(1));
    };
    let mut whole = build_binary(op, a.clone(), b.clone())?;
    for (a, b) in before.iter().rev() {
        let less = build_binary(strict, a.clone(), b.clone())?;
        let same = build_binary(BinaryOp::Eq, a.clone(), b.clone())?;
        whole = build_binary(
            BinaryOp::Or,
            less,
            build_binary(BinaryOp::And, same, whole)?,
        )?;
    }
    Ok(whole)
}

fn in_list(
    expr: &ast::Expr,
    list: &[ast::Expr],
    negated: bool,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    if let ast::Expr::Tuple(parts) = expr {
        let mut whole = None;
        for candidate in list {
            let ast::Expr::Tuple(candidate) = candidate else {
                return Err(SqlError::operand_columns(parts.len()));
            };
            let same = compare_rows(BinaryOp::Eq, parts, candidate, scope)?;
            whole = Some(match whole {
                Some(before) => build_binary(BinaryOp::Or, before, same)?,
                None => same,
            });
        }
        let found = whole.ok_or_else(|| SqlError::operand_columns(parts.len()))?;
        return Ok(not_if(negated, found));
    }
    let mut expr = resolve(expr, scope)?;
    let list = list.iter().map(|candidate| resolve(candidate, scope));
    let list = list.collect::<Result<Vec<_>, _>>()?;
    if list.iter().all(|candidate| is_number(&infer(candidate))) {
        expr = literal::as_number(expr);
    }
    let ty = infer(&expr);
    let mut types = vec![ty];
    let mut resolved = Vec::with_capacity(list.len());
    for mut candidate in list {
        if is_number(&ty) {
            candidate = literal::as_number(candidate);
        }
        candidate = compared::exact(candidate, &expr);
        types.push(infer(&candidate));
        resolved.push(candidate);
    }
    if let [only] = resolved.as_slice()
        && compares_as_text(&expr, &[only])
    {
        let same = build_binary(BinaryOp::Eq, expr, only.clone())?;
        return Ok(not_if(negated, same));
    }
    let collation = comparison_collation(&types, "in")?;
    Ok(Expr::In {
        expr: Box::new(expr),
        list: resolved.into(),
        negated,
        collation,
    })
}

fn is_number(ty: &ExprType) -> bool {
    ty.ty.is_some() && !ty.is_string() && !ty.is_temporal()
}

fn between(
    expr: &ast::Expr,
    low: &ast::Expr,
    high: &ast::Expr,
    negated: bool,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let [expr, low, high] = [
        resolve(expr, scope)?,
        resolve(low, scope)?,
        resolve(high, scope)?,
    ];
    let (low, high) = (compared::with(low, &expr), compared::with(high, &expr));
    let expr = if is_number(&infer(&low)) && is_number(&infer(&high)) {
        literal::as_number(expr)
    } else {
        expr
    };
    let as_text = compares_as_text(&expr, &[&low, &high]);
    let expr = text_if(as_text, expr);
    let [expr, low, high] = alike([expr, low, high]);
    let collation = comparison_collation(&[infer(&expr), infer(&low), infer(&high)], "between")?;
    Ok(Expr::Between {
        expr: Box::new(expr),
        low: Box::new(low),
        high: Box::new(high),
        negated,
        collation,
    })
}

/// BETWEEN compares all three as numbers if one of them is one and none is a date.
fn alike(operands: [Expr; 3]) -> [Expr; 3] {
    let types = operands.each_ref().map(infer);
    let mixed = types.iter().any(is_number)
        && types.iter().any(ExprType::is_string)
        && !types.iter().any(ExprType::is_temporal);
    if !mixed {
        return operands;
    }
    operands.map(|operand| {
        if infer(&operand).is_string() {
            operand.into_double()
        } else {
            operand
        }
    })
}

fn like(
    expr: &ast::Expr,
    pattern: &ast::Expr,
    escape: Option<&ast::Expr>,
    negated: bool,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let (expr, pattern) = (resolve(expr, scope)?, resolve(pattern, scope)?);
    let types: Vec<ExprType> = [infer(&expr), infer(&pattern)]
        .into_iter()
        .filter(ExprType::is_string)
        .collect();
    let collation = match types.as_slice() {
        [] => scope.collation(),
        types => comparison_collation(types, "like")?,
    };
    let escape = match escape {
        Some(escape) => Some(Box::new(resolve(escape, scope)?)),
        None => None,
    };
    Ok(Expr::Like {
        expr: Box::new(expr),
        pattern: Box::new(pattern),
        escape,
        negated,
        collation,
    })
}

/// `left op ANY (…)` and `left op ALL (…)`.
fn quantified(
    left: &ast::Expr,
    op: &ast::BinaryOperator,
    right: &ast::Expr,
    any: bool,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let op = operator(op, scope.sql_mode())
        .filter(|op| op.is_comparison())
        .ok_or_else(|| SqlError::not_supported(op))?;
    let mut right = right;
    while let ast::Expr::Nested(inner) = right {
        right = inner;
    }
    let ast::Expr::Subquery(query) = right else {
        return Err(SqlError::not_supported("ANY and ALL without a subquery"));
    };
    let left = resolve(left, scope)?;
    let usage = if any {
        SubqueryUse::Any(left, op)
    } else {
        SubqueryUse::All(left, op)
    };
    scope.subquery(query, usage)
}
