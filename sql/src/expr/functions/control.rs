//! Functions that choose among their arguments.

use super::{Args, AsNumber, Function, MANY, Typing, fraction_digits, function, unify};
use crate::{
    error::SqlError,
    expr::{
        EvalContext, Expr, ExprType,
        compare::compare,
        convert, infer,
        types::{NOT_FIXED, common_type},
    },
};
use cohort_engine::types::{ColumnType, Value, temporal};
use std::cmp::Ordering;

pub(super) const FUNCTIONS: &[Function] = &[
    function("if", (3, 3), |t| common_type(&t.types()[1..]), if_).number_is(AsNumber::Branch),
    function("ifnull", (2, 2), coalesce_type, coalesce).number_is(AsNumber::Merged),
    function("coalesce", (1, MANY), coalesce_type, coalesce).number_is(AsNumber::Merged),
    // What is told from it otherwise is the planner's.
    function("any_value", (1, 1), |t| t.ty(0).computed(), coalesce).number_is(AsNumber::Chosen),
    function("nullif", (2, 2), nullif_type, nullif).number_is(AsNumber::Chosen),
    function("interval", (2, MANY), |_| ExprType::int(2), interval),
    function("isnull", (1, 1), |_| ExprType::boolean(), isnull),
    function("greatest", (2, MANY), extreme_type, |args, context| {
        extreme(args, Ordering::Greater, context)
    })
    .number_is(AsNumber::Merged),
    function("least", (2, MANY), extreme_type, |args, context| {
        extreme(args, Ordering::Less, context)
    })
    .number_is(AsNumber::Merged),
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

fn chosen(args: &Args<'_>, i: usize, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.value(i, context)?;
    let decimals = args.decimals(i);
    Ok(unify(value, decimals, args.ty, context)?.into_owned())
}

/// The argument that IF chooses.
pub(in crate::expr) fn branch<'a>(
    args: &'a [Expr],
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Option<&'a Expr>, SqlError> {
    let [condition, then, otherwise] = args else {
        return Ok(None);
    };
    let truth = condition.truth(row, context)?;
    Ok(Some(if truth == Some(true) { then } else { otherwise }))
}

fn if_(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(chosen) = branch(args.args, args.row, context)? else {
        return Ok(Value::Null);
    };
    let value = chosen.value(args.row, context)?;
    Ok(unify(value, infer(chosen).shown_digits(), args.ty, context)?.into_owned())
}

fn coalesce(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    for i in 0..args.len() {
        let value = chosen(args, i, context)?;
        if !value.is_null() {
            return Ok(convert::padded(value, args.ty));
        }
    }
    Ok(Value::Null)
}

fn nullif(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let a = args.value(0, context)?;
    if a.is_null() {
        return Ok(Value::Null);
    }
    let b = args.value(1, context)?;
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
            // Of what is alike, LEAST has the first and GREATEST the last.
            Some((_, best)) => match compare(&value, best, collation, context)? {
                Some(Ordering::Equal) => wanted == Ordering::Greater && as_text,
                order => order == Some(wanted),
            },
            None => true,
        };
        if better {
            best = Some((i, value));
        }
    }
    let Some((i, value)) = best else {
        return Ok(Value::Null);
    };
    if args.ty.is_string() && !as_text {
        return Ok(dated(value, args));
    }
    let decimals = args.decimals(i);
    let value = unify(std::borrow::Cow::Owned(value), decimals, args.ty, context)?;
    Ok(convert::padded(value.into_owned(), args.ty))
}

/// The text of what has been compared as a date: if the dates among the arguments have no time, it
/// has none either. What is no date stays as it is.
fn dated(value: Value, args: &Args<'_>) -> Value {
    let digits = match &value {
        Value::Bytes(text) => fraction_digits(text),
        _ => 0,
    };
    let moment = match &value {
        Value::Bytes(text) => temporal::parse(text).map(|parsed| parsed.value),
        Value::Int(n) => temporal::from_number(*n).map(|parsed| parsed.value),
        Value::Date(date) => Some(date.at_midnight()),
        Value::DateTime(moment) => Some(*moment),
        _ => None,
    };
    let types: Vec<ExprType> = args.args.iter().map(infer).collect();
    let has_time = |ty: &ExprType| ty.is_temporal() && ty.ty != Some(ColumnType::Date);
    let decimals = types.iter().filter(|ty| has_time(ty)).map(|ty| ty.decimals);
    let (shown, decimals) = match (moment, decimals.max()) {
        (Some(moment), None) => (Value::Date(moment.date), 0),
        (Some(moment), Some(decimals)) => (Value::DateTime(moment), decimals.max(digits)),
        (None, _) => (value, NOT_FIXED),
    };
    let mut out = Vec::new();
    convert::text(&shown, decimals, &mut out);
    Value::Bytes(out)
}
