//! Functions that choose among their arguments.

use super::{Args, Function, MANY, Typing, function, unify};
use crate::{
    error::SqlError,
    expr::{EvalContext, ExprType, compare::compare, convert, infer, types::common_type},
};
use cohort_engine::types::{ColumnType, Value};
use std::cmp::Ordering;

pub(super) const FUNCTIONS: &[Function] = &[
    function("if", (3, 3), |t| common_type(&t.types()[1..]), if_),
    function("ifnull", (2, 2), coalesce_type, coalesce),
    function("coalesce", (1, MANY), coalesce_type, coalesce),
    // What is told from it otherwise is the planner's.
    function("any_value", (1, 1), |t| t.ty(0).computed(), coalesce),
    function("nullif", (2, 2), nullif_type, nullif),
    function("interval", (2, MANY), |_| ExprType::int(2), interval),
    function("isnull", (1, 1), |_| ExprType::boolean(), isnull),
    function("greatest", (2, MANY), extreme_type, |args, context| {
        extreme(args, Ordering::Greater, context)
    }),
    function("least", (2, MANY), extreme_type, |args, context| {
        extreme(args, Ordering::Less, context)
    }),
];

/// How many of the arguments after the first one, which ascend, it is not below; -1 for NULL.
fn interval(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(number) = args.decimal(0, context)? else {
        return Ok(Value::Int(-1));
    };
    for i in 1..args.len() {
        if args
            .decimal(i, context)?
            .is_some_and(|bound| bound > number)
        {
            return Ok(Value::Int(i as i64 - 1));
        }
    }
    Ok(Value::Int(args.len() as i64 - 1))
}

/// NULL only if all arguments can be.
fn coalesce_type(typing: &Typing<'_>) -> ExprType {
    let types = typing.types();
    let nullable = types.iter().all(|ty| ty.nullable);
    ExprType {
        nullable,
        ..common_type(&types)
    }
}

fn nullif_type(typing: &Typing<'_>) -> ExprType {
    let ty = typing.ty(0);
    ExprType {
        length: ty.length,
        ..ty.computed().or_null()
    }
}

fn extreme_type(typing: &Typing<'_>) -> ExprType {
    common_type(&typing.types())
}

/// Shows as many digits of a decimal as the type has; IF and CASE leave them as they are. So many
/// as there can be are the type of what is known only later.
pub(super) fn padded(value: Value, ty: &ExprType) -> Value {
    match (value, ty.ty) {
        (Value::Decimal(number), Some(ColumnType::Decimal { scale, .. })) if scale < 30 => {
            let scale = i64::from(scale).max(convert::scale(&number));
            Value::Decimal(Box::new(number.with_scale(scale)))
        }
        (value, _) => value,
    }
}

fn chosen(args: &Args<'_>, i: usize, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.value(i, context)?;
    let decimals = args.decimals(i);
    Ok(unify(value, decimals, args.ty, context)?.into_owned())
}

fn if_(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let truth = match args.args.first() {
        Some(condition) => condition.truth(args.row, context)?,
        None => None,
    };
    chosen(args, if truth == Some(true) { 1 } else { 2 }, context)
}

fn coalesce(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    for i in 0..args.len() {
        let value = chosen(args, i, context)?;
        if !value.is_null() {
            return Ok(padded(value, args.ty));
        }
    }
    Ok(Value::Null)
}

fn nullif(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (a, b) = (args.value(0, context)?, args.value(1, context)?);
    if compare(&a, &b, args.comparison(), context)? == Some(Ordering::Equal) {
        return Ok(Value::Null);
    }
    Ok(a.into_owned())
}

fn isnull(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.value(0, context)?;
    Ok(Value::Int(value.is_null().into()))
}

fn extreme(
    args: &Args<'_>,
    wanted: Ordering,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let collation = args.comparison();
    // Texts compare as texts, even if they look like numbers or times; a date among them makes
    // dates.
    let is_date = |arg| {
        let ty = infer(arg);
        ty.is_temporal() && !matches!(ty.ty, Some(ColumnType::Time(_)))
    };
    let as_text = args.ty.is_string() && !args.args.iter().any(is_date);
    let mut best: Option<(usize, Value)> = None;
    for i in 0..args.len() {
        let value = if as_text {
            match args.string(i, context)? {
                Some(text) => Value::Bytes(text.into_owned()),
                None => Value::Null,
            }
        } else {
            args.value(i, context)?.into_owned()
        };
        if value.is_null() {
            return Ok(Value::Null);
        }
        let better = match &best {
            Some((_, best)) => compare(&value, best, collation, context)? == Some(wanted),
            None => true,
        };
        if better {
            best = Some((i, value));
        }
    }
    let Some((i, value)) = best else {
        return Ok(Value::Null);
    };
    let decimals = args.decimals(i);
    let value = unify(std::borrow::Cow::Owned(value), decimals, args.ty, context)?;
    Ok(padded(value.into_owned(), args.ty))
}
