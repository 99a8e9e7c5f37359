//! Predicates: what is true, false or unknown.

use super::{
    Scope, SubqueryUse, build_binary, call, characters, compared, compares_as_text,
    comparison_collation, is_constant, not_if, operator, resolve,
    taken::{self, Otherwise},
    text_if,
};
use crate::{
    error::SqlError,
    expr::{BinaryOp, Expr, ExprType, infer},
};
use cohort_engine::invariant::broken;
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
            let operands = operands(expr, scope)?;
            let found = super::subquery(subquery, SubqueryUse::In(operands), scope)?;
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
            any,
        } => {
            if *any {
                return Err(scope.refuse("ANY"));
            }
            like(expr, pattern, escape_char.as_deref(), *negated, scope)
        }
        Ast::RLike {
            negated,
            expr,
            pattern,
            // REGEXP is the same.
            regexp: _,
        } => {
            let args = vec![resolve(expr, scope)?, resolve(pattern, scope)?];
            let matched = call::build("regexp_like", args, scope)?;
            Ok(not_if(*negated, matched))
        }
        Ast::Exists { subquery, negated } => {
            let exists = super::subquery(subquery, SubqueryUse::Exists, scope)?;
            Ok(not_if(*negated, exists))
        }
        Ast::AnyOp {
            left,
            compare_op,
            right,
            // SOME is the same.
            is_some: _,
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
    Ok(Expr::IsNull {
        expr: Box::new(resolve(expr, scope)?),
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

/// An operand that may be a row.
#[derive(Clone)]
enum Operand {
    Single(Expr),
    Row(Vec<Operand>),
    /// The row of a subquery, and whether there is one.
    Found(Vec<Expr>, Expr),
}

impl Operand {
    fn columns(&self) -> usize {
        match self {
            Operand::Single(_) => 1,
            Operand::Row(parts) => parts.len(),
            Operand::Found(parts, _) => parts.len(),
        }
    }

    /// Its parts, if it is a row; and what says whether there is a row.
    fn into_parts(self, found: &mut Vec<Expr>) -> Result<Vec<Operand>, Expr> {
        match self {
            Operand::Single(single) => Err(single),
            Operand::Row(parts) => Ok(parts),
            Operand::Found(parts, is_there) => {
                found.extend(Some(is_there).filter(|is_there| !is_constant(is_there)));
                Ok(parts.into_iter().map(Operand::Single).collect())
            }
        }
    }
}

/// What is inside parentheses that mean nothing.
fn inside(mut expr: &ast::Expr) -> &ast::Expr {
    while let ast::Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

fn operand(expr: &ast::Expr, scope: &mut dyn Scope) -> Result<Operand, SqlError> {
    match inside(expr) {
        ast::Expr::Tuple(parts) => {
            let parts = parts.iter().map(|part| operand(part, scope));
            Ok(Operand::Row(parts.collect::<Result<_, _>>()?))
        }
        ast::Expr::Subquery(query) => {
            let mut values = scope.subquery(query, SubqueryUse::Row)?;
            match values.pop() {
                Some(single) if values.is_empty() => Ok(Operand::Single(single)),
                Some(found) => Ok(Operand::Found(values, found)),
                None => Err(broken("a subquery has columns").into()),
            }
        }
        single => resolve(single, scope).map(Operand::Single),
    }
}

/// The values of an operand, one or several.
fn operands(expr: &ast::Expr, scope: &mut dyn Scope) -> Result<Vec<Expr>, SqlError> {
    match operand(expr, scope)? {
        Operand::Single(single) => Ok(vec![single]),
        Operand::Found(parts, _) => Ok(parts),
        Operand::Row(parts) => parts
            .into_iter()
            .map(|part| match part {
                Operand::Single(single) => Ok(single),
                Operand::Row(_) | Operand::Found(..) => {
                    Err(SqlError::not_supported("rows in rows"))
                }
            })
            .collect(),
    }
}

/// `left op right`, of which both may be rows.
pub(super) fn compare(
    op: BinaryOp,
    left: &ast::Expr,
    right: &ast::Expr,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let (left, right) = (operand(left, scope)?, operand(right, scope)?);
    compare_operands(op, left, right, scope)
}

fn compare_operands(
    op: BinaryOp,
    left: Operand,
    right: Operand,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let (left, right) = match (left, right) {
        (Operand::Single(left), Operand::Single(right)) => {
            return build_binary(op, left, right, scope);
        }
        rows => rows,
    };
    if !op.is_comparison() {
        return Err(SqlError::operand_columns(1));
    }
    let mut pairs = Vec::with_capacity(left.columns());
    let mut found = Vec::new();
    pair_up(left, right, &mut pairs, &mut found)?;
    // A comparison of rows, in terms of comparisons of their parts.
    match op {
        BinaryOp::Eq => all_pairs(op, pairs, scope),
        // A row that a subquery does not have is like none if one of its columns could not be NULL.
        BinaryOp::NullSafeEq => {
            let same = all_pairs(op, pairs, scope)?;
            found.into_iter().try_fold(same, |same, found| {
                build_binary(BinaryOp::And, found, same, scope)
            })
        }
        BinaryOp::NotEq => Ok(Expr::Not(Box::new(all_pairs(BinaryOp::Eq, pairs, scope)?))),
        _ => lexicographic(op, &pairs, scope),
    }
}

/// Adds what is compared with what; a row in a row is compared as if its parts stood alone.
/// Also what says whether the rows of subqueries are there.
fn pair_up(
    left: Operand,
    right: Operand,
    pairs: &mut Vec<(Expr, Expr)>,
    found: &mut Vec<Expr>,
) -> Result<(), SqlError> {
    if left.columns() != right.columns() {
        return Err(SqlError::operand_columns(left.columns()));
    }
    match (left.into_parts(found), right.into_parts(found)) {
        (Err(a), Err(b)) => pairs.push((a, b)),
        (Ok(a), Ok(b)) => {
            for (a, b) in a.into_iter().zip(b) {
                pair_up(a, b, pairs, found)?;
            }
        }
        _ => return Err(SqlError::operand_columns(1)),
    }
    Ok(())
}

fn all_pairs(
    op: BinaryOp,
    pairs: Vec<(Expr, Expr)>,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let mut whole = None;
    for (a, b) in pairs {
        let part = build_binary(op, a, b, scope)?;
        whole = Some(match whole {
            Some(before) => build_binary(BinaryOp::And, before, part, scope)?,
            None => part,
        });
    }
    whole.ok_or_else(|| SqlError::operand_columns(1))
}

/// `(a, b) < (c, d)` is `a < c OR (a = c AND b < d)`.
fn lexicographic(
    op: BinaryOp,
    pairs: &[(Expr, Expr)],
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let strict = match op {
        BinaryOp::LtEq => BinaryOp::Lt,
        BinaryOp::GtEq => BinaryOp::Gt,
        other => other,
    };
    let Some(((a, b), before)) = pairs.split_last() else {
        return Err(SqlError::operand_columns(1));
    };
    let mut whole = build_binary(op, a.clone(), b.clone(), scope)?;
    for (a, b) in before.iter().rev() {
        let less = build_binary(strict, a.clone(), b.clone(), scope)?;
        let same = build_binary(BinaryOp::Eq, a.clone(), b.clone(), scope)?;
        let further = build_binary(BinaryOp::And, same, whole, scope)?;
        whole = build_binary(BinaryOp::Or, less, further, scope)?;
    }
    Ok(whole)
}

fn in_list(
    expr: &ast::Expr,
    list: &[ast::Expr],
    negated: bool,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let mut expr = match operand(expr, scope)? {
        Operand::Single(expr) => expr,
        row => {
            let mut whole = None;
            for candidate in list {
                let candidate = operand(candidate, scope)?;
                let same = compare_operands(BinaryOp::Eq, row.clone(), candidate, scope)?;
                whole = Some(match whole {
                    Some(before) => build_binary(BinaryOp::Or, before, same, scope)?,
                    None => same,
                });
            }
            let found = whole.ok_or_else(|| SqlError::operand_columns(row.columns()))?;
            return Ok(not_if(negated, found));
        }
    };
    let list = list.iter().map(|candidate| resolve(candidate, scope));
    let mut list = list.collect::<Result<Vec<_>, _>>()?;
    taken::together(
        std::iter::once(&mut expr).chain(&mut list),
        Otherwise::LikeFirst,
        scope,
    );
    if list.iter().all(|candidate| is_number(&infer(candidate))) {
        expr = compared::number(expr);
    }
    let ty = infer(&expr);
    let mut types = vec![ty];
    let mut resolved = Vec::with_capacity(list.len());
    for mut candidate in list {
        if is_number(&ty) {
            candidate = compared::number(candidate);
        }
        candidate = compared::exact(compared::bound(candidate, &expr), &expr);
        types.push(infer(&candidate));
        resolved.push(candidate);
    }
    if let [only] = resolved.as_slice()
        && compares_as_text(&expr, &[only])
    {
        let same = build_binary(BinaryOp::Eq, expr, only.clone(), scope)?;
        return Ok(not_if(negated, same));
    }
    let collation = comparison_collation(&types, " IN ")?;
    if types.iter().all(|ty| ty.is_string() || ty.ty.is_none()) {
        expr = characters::of(expr, collation, scope)?;
        let candidates = resolved.into_iter();
        let candidates = candidates.map(|candidate| characters::of(candidate, collation, scope));
        resolved = candidates.collect::<Result<_, _>>()?;
    }
    let expr = compared::among(expr, &resolved.iter().collect::<Vec<_>>(), true);
    let resolved = resolved.into_iter();
    let resolved = resolved.map(|candidate| compared::shortened(candidate, &expr, scope));
    let resolved: Vec<Expr> = resolved.collect();
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
    let mut operands = [
        resolve(expr, scope)?,
        resolve(low, scope)?,
        resolve(high, scope)?,
    ];
    taken::together(&mut operands, Otherwise::LikeFirst, scope);
    let [expr, low, high] = operands;
    // Between the same two is equal to them, but for a text that need not be a date then.
    let is_same =
        matches!((&low, &high), (Expr::Literal(low, _), Expr::Literal(high, _)) if low == high);
    let is_text = matches!(&expr, Expr::Literal(_, ty) | Expr::Parameter { ty, bound: false, .. }
            if ty.is_string() && !ty.is_bytes())
        || matches!(&expr, Expr::Cast { ty, .. } if ty.is_string());
    if is_same && !(is_text && compared::is_moment(&low)) {
        let same = build_binary(BinaryOp::Eq, expr, low, scope)?;
        return Ok(not_if(negated, same));
    }
    let [expr, low, high] = compared::between(expr, low, high);
    let expr = if is_number(&infer(&low)) && is_number(&infer(&high)) {
        compared::number(expr)
    } else {
        expr
    };
    let as_text = compares_as_text(&expr, &[&low, &high]);
    let expr = text_if(as_text, expr);
    let [expr, low, high] = alike([expr, low, high]);
    let collation = comparison_collation(&[infer(&expr), infer(&low), infer(&high)], "between")?;
    let mut operands = [expr, low, high];
    if operands.iter().all(|operand| infer(operand).is_string()) {
        let [expr, low, high] = operands;
        operands = [
            characters::of(expr, collation, scope)?,
            characters::of(low, collation, scope)?,
            characters::of(high, collation, scope)?,
        ];
    }
    let [expr, low, high] = operands;
    let expr = compared::among(expr, &[&low, &high], false);
    let [low, high] = [low, high].map(|bound| compared::shortened(bound, &expr, scope));
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
    operands.map(compared::number).map(|operand| {
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
        .filter_map(|ty| ty.searched())
        .collect();
    let collation = match types.as_slice() {
        [] => scope.collation(),
        types => comparison_collation(types, "like")?,
    };
    let (expr, pattern) = match types.len() {
        2 => (
            characters::of(expr, collation, scope)?,
            characters::of(pattern, collation, scope)?,
        ),
        _ => (expr, pattern),
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
    let ast::Expr::Subquery(query) = inside(right) else {
        return Err(SqlError::not_supported("ANY and ALL without a subquery"));
    };
    // IN and NOT IN, which take rows, too.
    match op {
        BinaryOp::Eq if any => {
            let operands = operands(left, scope)?;
            return super::subquery(query, SubqueryUse::In(operands), scope);
        }
        BinaryOp::NotEq if !any => {
            let operands = operands(left, scope)?;
            let found = super::subquery(query, SubqueryUse::In(operands), scope)?;
            return Ok(not_if(true, found));
        }
        _ => {}
    }
    let left = resolve(left, scope)?;
    let usage = if any {
        SubqueryUse::Any(left, op)
    } else {
        SubqueryUse::All(left, op)
    };
    super::subquery(query, usage, scope)
}
