//! PERIOD_ADD and PERIOD_DIFF: months that are written as a year and two digits. TO_SECONDS.

use super::{Args, Function, function};
use crate::{
    error::SqlError,
    expr::{
        EvalContext, ExprType,
        convert::{self, Number},
    },
};
use cohort_engine::types::{Value, temporal::SECOND};

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "period_add",
        (2, 2),
        |t| ExprType::bigint(false).nullable_if(t.nullable()),
        period_add,
    ),
    function(
        "period_diff",
        (2, 2),
        |t| ExprType::bigint(false).nullable_if(t.nullable()),
        period_diff,
    ),
    function(
        "to_seconds",
        (1, 1),
        |_| ExprType::bigint(false).or_null(),
        to_seconds,
    ),
];

/// A year of two digits is one from 1970 to 2069.
fn whole_year(year: u64) -> u64 {
    match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    }
}

/// The months until a period, which must be one.
fn months(period: i64, function: &str) -> Result<u64, SqlError> {
    let period = u64::try_from(period).unwrap_or(0);
    match period % 100 {
        month @ 1..=12 => Ok((whole_year(period / 100) * 12).wrapping_add(month - 1)),
        _ => Err(SqlError::wrong_arguments(function)),
    }
}

/// An argument as 64 bits with a sign, whatever they were.
fn number(
    args: &Args<'_>,
    i: usize,
    context: &mut EvalContext<'_>,
) -> Result<Option<i64>, SqlError> {
    let value = args.whole(i, context)?;
    Ok(match convert::integer(&value, context) {
        Some(Number::Int(n)) => Some(n),
        Some(Number::UInt(n)) => Some(n.cast_signed()),
        // `integer` yields integers only.
        Some(Number::Decimal(_) | Number::Double(_)) | None => None,
    })
}

/// Beyond what there is of numbers it goes round, as in MySQL.
fn period_add(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (Some(period), Some(more)) = (number(args, 0, context)?, number(args, 1, context)?) else {
        return Ok(Value::Null);
    };
    let sum = months(period, "period_add")?.wrapping_add(more.cast_unsigned());
    let period = match sum {
        0 => 0,
        _ => whole_year(sum / 12).wrapping_mul(100) + sum % 12 + 1,
    };
    Ok(Value::Int(period.cast_signed()))
}

fn period_diff(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (Some(one), Some(other)) = (number(args, 0, context)?, number(args, 1, context)?) else {
        return Ok(Value::Null);
    };
    let difference = months(one, "period_diff")?.wrapping_sub(months(other, "period_diff")?);
    Ok(Value::Int(difference.cast_signed()))
}

/// The seconds since the year 0.
fn to_seconds(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    const DAY_SECONDS: i64 = 86_400;
    let Some(moment) = args.whole_datetime(0, context)? else {
        return Ok(Value::Null);
    };
    let seconds = moment.date.day_number() * DAY_SECONDS + moment.time().micros / SECOND;
    Ok(Value::Int(seconds))
}
