//! Functions that choose among their arguments.

use super::{Args, AsNumber, Function, MANY, Typing, fraction_digits, function, unify};
use crate::{
    error::SqlError,
    expr::{
        EvalContext, Expr, ExprType,
        compare::{compare, compare_with},
        convert, fractions, infer,
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
    let value = args.numeric(0, context)?;
    let Some(number) = convert::decimal(&value, context) else {
        return Ok(Value::Int(-1));
    };
    for i in 1..args.len() {
        let bound = args.numeric(i, context)?;
        if convert::decimal(&bound, context).is_some_and(|bound| bound > number) {
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

/// A text of a date has as many digits of a second as any argument can have.
fn extreme_type(typing: &Typing<'_>) -> ExprType {
    let types = typing.types();
    let common = ExprType {
        was_timestamp: false,
        ..common_type(&types)
    };
    let is_time = |ty: &ExprType| matches!(ty.ty, Some(ColumnType::Time(_)));
    let times = types.iter().any(is_time);
    let counts = |text: &[u8]| {
        temporal::parse(text).is_some() || times && convert::parse_time(text).is_some()
    };
    let digits = |(arg, ty): (&Expr, &ExprType)| match arg {
        Expr::Literal(value, _) => digits_of(ty, value, counts),
        _ => digits_of(ty, &Value::Null, counts),
    };
    let digits = typing.args.iter().zip(&types).map(digits).max();
    let longest = types.iter().filter_map(|ty| match ty.ty? {
        ColumnType::Time(_) => Some(ColumnType::Time(digits?)),
        ColumnType::DateTime(_) | ColumnType::Timestamp(_) => Some(ColumnType::DateTime(digits?)),
        _ => None,
    });
    let longest = longest.map(|ty| ExprType::temporal(ty).length).max();
    match longest {
        Some(length) if common.is_string() && length > common.length => {
            ExprType::string(length, common.collation, common.coercibility)
                .nullable_if(common.nullable)
        }
        _ => common,
    }
}

fn chosen(args: &Args<'_>, i: usize, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.value(i, context)?;
    let decimals = args.text_form(i);
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
    let truth = condition.decision(row, context)?;
    Ok(Some(if truth == Some(true) { then } else { otherwise }))
}

fn if_(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(chosen) = branch(args.args, args.row, context)? else {
        return Ok(Value::Null);
    };
    let value = chosen.raw(args.row, context)?;
    Ok(unify(value, infer(chosen).text_form(), args.ty, context)?.into_owned())
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
    let is_literal = |i: usize, value| {
        let arg: Option<&Expr> = args.args.get(i);
        arg.is_some_and(|arg| arg.is_literal_text(value))
    };
    let strict = is_literal(0, &a) || is_literal(1, &b);
    let (x, y) = (args.beside(0, &a, &b), args.beside(1, &b, &a));
    if compare_with(&x, &y, args.comparison(), strict, context)? == Some(Ordering::Equal) {
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
        return dated(value, args, context);
    }
    let decimals = args.text_form(i);
    let value = unify(std::borrow::Cow::Owned(value), decimals, args.ty, context)?;
    Ok(convert::padded(value.into_owned(), args.ty))
}

/// The text of what has been compared as a date: if the dates among the arguments have no time, it
/// has none either; else it has as many digits of a second as any argument can have. What is no
/// date stays as it is.
fn dated(value: Value, args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let moment = match &value {
        Value::Bytes(text) => fractions::parse(text, context).map(|parsed| parsed.value),
        Value::Date(date) => Some(date.at_midnight()),
        Value::DateTime(moment) => Some(*moment),
        number => convert::number(number, context)
            .as_ref()
            .and_then(|number| convert::moment_of_number(number, fractions::are_cut(context)))
            .map(|parsed| parsed.value)
            .filter(|moment| !moment.date.is_zero()),
    };
    let has_time = |arg| {
        let ty = infer(arg);
        ty.is_temporal() && ty.ty != Some(ColumnType::Date)
    };
    let (shown, decimals) = match moment {
        Some(moment) if args.args.iter().any(has_time) => {
            let mut digits = 0;
            for i in 0..args.len() {
                digits = digits.max(second_digits(args, i, context)?);
            }
            (Value::DateTime(moment), digits)
        }
        Some(moment) => (Value::Date(moment.date), 0),
        None => (value, NOT_FIXED),
    };
    let mut out = Vec::new();
    convert::text(&shown, decimals, &mut out);
    Ok(Value::Bytes(out))
}

/// The digits of a second that an argument can have; of a literal date, those that it has.
fn second_digits(args: &Args<'_>, i: usize, context: &mut EvalContext<'_>) -> Result<u8, SqlError> {
    let value = match args.args.get(i) {
        Some(arg @ (Expr::Literal(..) | Expr::Parameter { .. })) => {
            arg.value(args.row, context)?.into_owned()
        }
        _ => Value::Null,
    };
    let ty = args.args.get(i).map_or_else(ExprType::null, infer);
    Ok(digits_of(&ty, &value, |text| {
        temporal::parse(text).is_some()
    }))
}

/// The same by its type, and by its value if that is known and one of those that count.
fn digits_of(ty: &ExprType, value: &Value, counts: impl Fn(&[u8]) -> bool) -> u8 {
    match value {
        Value::Bytes(text) if counts(text) => fraction_digits(text),
        _ if ty.is_string() => 6,
        _ => ty.decimals.min(6),
    }
}
