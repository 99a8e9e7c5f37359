//! What stands beside dates and times where they are compared. None of these has a name in SQL.

use super::{Args, Function, Typing, function};
use crate::{
    error::SqlError,
    expr::{EvalContext, ExprType, compare::moment, convert, fractions},
};
use cohort_engine::{
    invariant::broken,
    types::{ColumnType, Date, DateTime, Time, Value, temporal},
};

/// A year as it is compared with a YEAR column: of two digits or less, it is short for the full
/// one.
pub(in crate::expr) static FULL_YEAR: Function =
    function("full_year", (1, 1), |t| t.ty(0), full_year);

/// A YEAR as it is compared with dates: before the first day of its first month.
pub(in crate::expr) static START_OF_YEAR: Function = function(
    "start_of_year",
    (1, 1),
    |t| ExprType::temporal(ColumnType::Date).nullable_if(t.nullable()),
    |args, context| {
        let value = args.value(0, context)?;
        let year = match &*value {
            Value::Null => return Ok(Value::Null),
            Value::UInt(year) => u16::try_from(*year).ok(),
            Value::Int(year) => u16::try_from(*year).ok(),
            _ => None,
        };
        let year = year.ok_or_else(|| broken("a YEAR is a number of four digits"))?;
        Ok(Value::Date(Date {
            year,
            ..Date::default()
        }))
    },
);

/// A text as it is compared with dates: a moment, the zero date if it is none.
pub(in crate::expr) static AS_MOMENT: Function = function(
    "as_moment",
    (1, 1),
    |t| ExprType::temporal(ColumnType::DateTime(6)).nullable_if(t.nullable()),
    |args, context| {
        let value = args.value(0, context)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        let of = Value::DateTime(DateTime::default());
        moment(&value, &of, false, context).map(Value::DateTime)
    },
);

/// A text as it is compared with dates that have no time: its date.
pub(in crate::expr) static AS_DATE: Function = function(
    "as_date",
    (1, 1),
    |t| ExprType::temporal(ColumnType::Date).nullable_if(t.nullable()),
    |args, context| {
        let value = args.value(0, context)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        let of = Value::Date(Date::default());
        moment(&value, &of, false, context).map(|moment| Value::Date(moment.date))
    },
);

/// A parameter that is compared with dates: NULL if it is none.
pub(in crate::expr) static BOUND_DATE: Function =
    function("bound_date", (1, 1), bound_type, |args, context| {
        bound(args, true, context)
    });

/// The same beside dates that have a time.
pub(in crate::expr) static BOUND_MOMENT: Function =
    function("bound_moment", (1, 1), bound_type, |args, context| {
        bound(args, false, context)
    });

fn bound(
    args: &Args<'_>,
    beside_date: bool,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let value = args.value(0, context)?;
    let Value::Bytes(text) = &*value else {
        let moment = convert::datetime(&value, context);
        return Ok(moment.map_or(Value::Null, Value::DateTime));
    };
    let shown = convert::shown(text);
    let parsed = fractions::parse(text, context).filter(|parsed| {
        let date = parsed.value.date;
        date.is_zero() || date.is_valid() && convert::acceptable(date, context)
    });
    let Some(parsed) = parsed else {
        context.warnings.warn(if beside_date {
            SqlError::truncated_wrong_value("date", shown)
        } else {
            SqlError::incorrect_temporal_value("datetime", shown)
        });
        return Ok(Value::Null);
    };
    if parsed.truncated {
        let lost = SqlError::truncated_wrong_value("date", shown);
        context.warnings.warn(lost);
    }
    let moment = convert::apply_offset(parsed.value, parsed.offset_seconds, context);
    Ok(Value::DateTime(moment))
}

fn bound_type(_: &Typing<'_>) -> ExprType {
    ExprType::temporal(ColumnType::DateTime(6)).or_null()
}

/// A text as it is compared with times; one that is none is equal to no time.
pub(in crate::expr) static AS_TIME: Function = function(
    "as_time",
    (1, 1),
    |t| ExprType::temporal(ColumnType::Time(6)).nullable_if(t.nullable()),
    |args, context| {
        let Some(text) = args.string(0, context)? else {
            return Ok(Value::Null);
        };
        let Some(parsed) = fractions::parse_clock(&text, context) else {
            let lost = SqlError::truncated_wrong_value("time", convert::shown(&text));
            context.warnings.warn(lost);
            return Ok(Value::Time(Time { micros: i64::MAX }));
        };
        Ok(Value::Time(parsed.value))
    },
);

fn full_year(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.value(0, context)?.into_owned();
    let short = match &value {
        Value::Date(date) => return Ok(Value::UInt(date.year.into())),
        Value::DateTime(moment) => return Ok(Value::UInt(moment.date.year.into())),
        Value::Bytes(text) if text.len() <= 2 => std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse().ok()),
        Value::Bytes(text) => match temporal::parse(text) {
            Some(parsed) => return Ok(Value::UInt(parsed.value.date.year.into())),
            None => None,
        },
        Value::Null | Value::Time(_) => None,
        // Digits after the point are lost in a YEAR, and then the number differs from it.
        number => match convert::number(number, context) {
            Some(number) if number.to_f64().fract() == 0.0 => {
                number.into_decimal().to_u64().filter(|n| *n > 0)
            }
            _ => None,
        },
    };
    Ok(match short {
        Some(year @ 0..70) => Value::UInt(year + 2000),
        Some(year @ 70..100) => Value::UInt(year + 1900),
        _ => value,
    })
}
