//! Functions on dates and times.

use super::{
    Args, AsNumber, Function, Typing, calendar, function,
    interval::{self, Unit},
    scanned,
};
use crate::{
    error::SqlError,
    expr::{
        EvalContext, Expr, ExprType, SqlMode, TimeZone,
        convert::{self, Number, Takes},
        describe::call,
        fractions,
        types::coercibility,
    },
};
use cohort_engine::types::{
    ColumnType, Date, DateTime, Decimal, Time, Value,
    temporal::{self, DAY, SECOND, TIME_MAX, days_in_month, fraction_unit},
};

pub(super) const FUNCTIONS: &[Function] = &[
    function("now", (0, 1), now_type, now),
    function("current_timestamp", (0, 1), now_type, now),
    function("localtime", (0, 1), now_type, now),
    function("localtimestamp", (0, 1), now_type, now),
    super::volatile("sysdate", (0, 1), now_type, sysdate),
    function("utc_timestamp", (0, 1), now_type, |args, context| {
        let fsp = fsp_argument(args);
        Ok(Value::DateTime(utc(context).truncate(fsp)))
    }),
    function("curdate", (0, 0), date_type, |_, c| {
        Ok(Value::Date(c.statement.now().date))
    }),
    function("current_date", (0, 0), date_type, |_, c| {
        Ok(Value::Date(c.statement.now().date))
    }),
    function("utc_date", (0, 0), date_type, |_, c| {
        Ok(Value::Date(utc(c).date))
    }),
    function("curtime", (0, 1), time_now_type, |args, context| {
        Ok(Value::Time(
            context.statement.now().truncate(fsp_argument(args)).time(),
        ))
    }),
    function("current_time", (0, 1), time_now_type, |args, context| {
        Ok(Value::Time(
            context.statement.now().truncate(fsp_argument(args)).time(),
        ))
    }),
    function("utc_time", (0, 1), time_now_type, |args, context| {
        Ok(Value::Time(
            utc(context).truncate(fsp_argument(args)).time(),
        ))
    }),
    function(
        "date",
        (1, 1),
        |_| ExprType::temporal(ColumnType::Date).or_null(),
        |args, context| {
            let date = args.date(0, context)?;
            Ok(date
                .filter(|date| convert::acceptable(*date, context))
                .map_or(Value::Null, Value::Date))
        },
    ),
    function(
        "time",
        (1, 1),
        |t| ExprType::temporal(ColumnType::Time(t.fsp(0))).or_null(),
        |args, context| Ok(args.time(0, context)?.map_or(Value::Null, Value::Time)),
    ),
    function(
        "timestamp",
        (1, 2),
        |t| {
            let fsp = t.fsp(0).max(if t.args.len() > 1 { t.fsp(1) } else { 0 });
            ExprType::temporal(ColumnType::DateTime(fsp)).or_null()
        },
        timestamp,
    ),
    function(
        "year",
        (1, 1),
        |_| ExprType::temporal(ColumnType::Year).or_null(),
        |args, context| {
            Ok(args
                .date_of(0, Takes::ZeroParts, context)?
                .map_or(Value::Null, |date| Value::UInt(date.year.into())))
        },
    ),
    function("month", (1, 1), digits::<3>, |args, context| {
        of_date(args, context, |d| i64::from(d.month))
    }),
    function("day", (1, 1), digits::<3>, |args, context| {
        of_date(args, context, |d| i64::from(d.day))
    }),
    function("dayofmonth", (1, 1), digits::<3>, |args, context| {
        of_date(args, context, |d| i64::from(d.day))
    }),
    function("quarter", (1, 1), digits::<2>, |args, context| {
        of_date(args, context, |d| (i64::from(d.month) + 2) / 3)
    }),
    function("dayofweek", (1, 1), digits::<2>, |args, context| {
        of_whole_date(args, context, |d| (i64::from(d.weekday()) + 1) % 7 + 1)
    }),
    function("weekday", (1, 1), digits::<2>, |args, context| {
        of_whole_date(args, context, |d| d.weekday().into())
    }),
    function("dayofyear", (1, 1), digits::<4>, |args, context| {
        of_whole_date(args, context, Date::day_of_year)
    }),
    function("to_days", (1, 1), digits::<8>, |args, context| {
        of_whole_date(args, context, Date::day_number)
    }),
    function("week", (1, 2), digits::<3>, |args, context| {
        let mode = if args.len() > 1 {
            week_mode(args.int(1, context)?).unwrap_or(0)
        } else {
            context.statement.week_format.into()
        };
        of_whole_date(args, context, |d| calendar::week(d, mode).1)
    }),
    function("weekofyear", (1, 1), digits::<3>, |args, context| {
        of_whole_date(args, context, |d| calendar::week(d, 3).1)
    }),
    function("yearweek", (1, 2), digits::<7>, |args, context| {
        let mode = args.int(1, context)?;
        let is_null = args.len() > 1 && mode.is_none();
        let mode = week_mode(mode).map_or(0, |mode| mode | 2);
        of_whole_date(args, context, |d| match calendar::week(d, mode) {
            _ if is_null => 0,
            (year, week) => year * 100 + week,
        })
    }),
    function("hour", (1, 1), digits::<4>, |args, context| {
        of_time(args, context, |t| t.parts().0.into())
    }),
    function("minute", (1, 1), digits::<3>, |args, context| {
        of_time(args, context, |t| t.parts().1.into())
    }),
    function("second", (1, 1), digits::<3>, |args, context| {
        of_time(args, context, |t| t.parts().2.into())
    }),
    function("microsecond", (1, 1), digits::<21>, |args, context| {
        of_time(args, context, |t| t.parts().3.into())
    }),
    function("time_to_sec", (1, 1), digits::<10>, |args, context| {
        of_time(args, context, |t| t.micros / SECOND)
    }),
    function(
        "sec_to_time",
        (1, 1),
        |t| ExprType::temporal(ColumnType::Time(t.number_fsp(0))).or_null(),
        sec_to_time,
    ),
    function(
        "from_days",
        (1, 1),
        |_| ExprType::temporal(ColumnType::Date).or_null(),
        |args, context| {
            let Some(days) = args.int(0, context)? else {
                return Ok(Value::Null);
            };
            match calendar::day(days) {
                Some(date) => Ok(Value::Date(date)),
                None => out_of_range("DATE", "from_days", args, context),
            }
        },
    ),
    function(
        "makedate",
        (2, 2),
        |_| ExprType::temporal(ColumnType::Date).or_null(),
        makedate,
    ),
    function(
        "maketime",
        (3, 3),
        |t| ExprType::temporal(ColumnType::Time(t.number_fsp(2))).or_null(),
        maketime,
    ),
    function(
        "last_day",
        (1, 1),
        |_| ExprType::temporal(ColumnType::Date).or_null(),
        |args, context| {
            Ok(match args.date_of(0, Takes::ZeroParts, context)? {
                Some(date) if date.month > 0 => Value::Date(Date {
                    day: days_in_month(date.year, date.month),
                    ..date
                }),
                Some(date) => no_date(&Value::Date(date), "date", context),
                None => Value::Null,
            })
        },
    ),
    function(
        "dayname",
        (1, 1),
        |t| name_type(t, 9),
        |args, context| {
            let language = context.statement.language;
            name_of(args, Takes::Whole, context, |d| language.day(d.weekday()))
        },
    ),
    function(
        "monthname",
        (1, 1),
        |t| name_type(t, 9),
        |args, context| {
            let language = context.statement.language;
            name_of(args, Takes::ZeroParts, context, |d| language.month(d.month))
        },
    ),
    function(
        "date_add",
        (3, 3),
        interval::result_type,
        |args, context| interval::add(args, false, context),
    )
    .number_is(AsNumber::Moment),
    function(
        "date_sub",
        (3, 3),
        interval::result_type,
        |args, context| interval::add(args, true, context),
    )
    .number_is(AsNumber::Moment),
    function("datediff", (2, 2), digits::<9>, |args, context| {
        let a = args.date_of(0, Takes::Whole, context)?;
        let b = args.date_of(1, Takes::Whole, context)?;
        Ok(a.zip(b).map_or(Value::Null, |(a, b)| {
            Value::Int(a.day_number() - b.day_number())
        }))
    }),
    function(
        "timediff",
        (2, 2),
        |t| {
            let is_time = |text: &[u8]| convert::parse_time(text).is_some();
            let fsp = t.fsp_if(0, is_time).max(t.fsp_if(1, is_time));
            ExprType::temporal(ColumnType::Time(fsp)).or_null()
        },
        timediff,
    ),
    function("addtime", (2, 2), addtime_type, |args, context| {
        addtime(args, 1, context)
    })
    .number_is(AsNumber::Moment),
    function("subtime", (2, 2), addtime_type, |args, context| {
        addtime(args, -1, context)
    })
    .number_is(AsNumber::Moment),
    function(
        "timestampdiff",
        (3, 3),
        |_| ExprType::bigint(false).or_null(),
        |args, context| {
            let unit = Unit::of_argument(args.args.get(2));
            let (a, b) = (args.datetime(0, context)?, args.datetime(1, context)?);
            Ok(a.zip(b)
                .filter(|(a, b)| is_day(a.date) && is_day(b.date))
                .map_or(Value::Null, |(a, b)| interval::difference(a, b, unit)))
        },
    ),
    function(
        "extract",
        (2, 2),
        |t| ExprType::int(Unit::of_argument(t.args.get(1)).extracted_length()).or_null(),
        extract,
    ),
    function("get_format", (2, 2), |t| t.string(17, &[]), get_format),
    function("date_format", (2, 2), format_type, date_format),
    function("time_format", (2, 2), format_type, time_format),
    function("str_to_date", (2, 2), str_to_date_type, str_to_date),
    function(
        "unix_timestamp",
        (0, 1),
        unix_timestamp_type,
        unix_timestamp,
    ),
    function("from_unixtime", (1, 2), from_unixtime_type, from_unixtime),
    function(
        "convert_tz",
        (3, 3),
        |t| ExprType::temporal(ColumnType::DateTime(t.fsp(0))).or_null(),
        convert_tz,
    ),
];

/// An integer of at most so many characters, or NULL.
fn digits<const LENGTH: u32>(_: &Typing<'_>) -> ExprType {
    ExprType::int(LENGTH).or_null()
}

fn date_type(_: &Typing<'_>) -> ExprType {
    ExprType::temporal(ColumnType::Date)
}

fn literal_fsp(expr: Option<&Expr>) -> u8 {
    match expr {
        Some(Expr::Literal(Value::Int(n), _)) => u8::try_from(*n).unwrap_or(6).min(6),
        _ => 0,
    }
}

fn fsp_argument(args: &Args<'_>) -> u8 {
    args.ty.decimals.min(6)
}

fn now_type(typing: &Typing<'_>) -> ExprType {
    ExprType::temporal(ColumnType::DateTime(literal_fsp(typing.args.first())))
}

fn time_now_type(typing: &Typing<'_>) -> ExprType {
    ExprType::temporal(ColumnType::Time(literal_fsp(typing.args.first())))
}

fn name_type(typing: &Typing<'_>, length: u32) -> ExprType {
    ExprType::string(length, typing.collation, coercibility::LITERAL).or_null()
}

fn utc(context: &EvalContext<'_>) -> DateTime {
    DateTime::from_unix_micros(context.statement.now_micros).unwrap_or_default()
}

fn now(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    Ok(Value::DateTime(
        context.statement.now().truncate(fsp_argument(args)),
    ))
}

fn sysdate(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let micros = context.environment.clock_micros();
    let utc = DateTime::from_unix_micros(micros).unwrap_or_default();
    let local = context.statement.time_zone.to_local(utc);
    Ok(Value::DateTime(local.truncate(fsp_argument(args))))
}

/// The mode of WEEK and YEARWEEK; `None` if it is negative as a number of 32 bits.
fn week_mode(mode: Option<i64>) -> Option<i64> {
    let mode = mode.unwrap_or(0) as i32;
    (mode >= 0).then_some(mode.into())
}

/// NULL, and a warning that a value is no date.
pub(super) fn no_date(value: &Value, kind: &str, context: &mut EvalContext<'_>) -> Value {
    let mut text = Vec::new();
    convert::text(value, super::NOT_FIXED, &mut text);
    let lost = SqlError::truncated_wrong_value(kind, convert::shown(&text));
    context.warnings.warn(lost);
    Value::Null
}

/// NULL with a warning; an error while storing in strict mode.
pub(super) fn out_of_range(
    kind: &str,
    name: &str,
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let text = call(name, args.args, context.params);
    let error = SqlError::out_of_range_in(kind, text);
    if context.storing && context.is_strict() {
        return Err(error);
    }
    context.warnings.warn(error);
    Ok(Value::Null)
}

fn of_date(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
    part: impl FnOnce(Date) -> i64,
) -> Result<Value, SqlError> {
    Ok(args
        .date_of(0, Takes::ZeroParts, context)?
        .map_or(Value::Null, |date| Value::Int(part(date))))
}

/// The same for what a date with zero parts does not have.
fn of_whole_date(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
    part: impl FnOnce(Date) -> i64,
) -> Result<Value, SqlError> {
    let date = args.date_of(0, Takes::Whole, context)?;
    Ok(date.map_or(Value::Null, |date| Value::Int(part(date))))
}

fn of_time(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
    part: impl FnOnce(Time) -> i64,
) -> Result<Value, SqlError> {
    Ok(args
        .time(0, context)?
        .map_or(Value::Null, |time| Value::Int(part(time))))
}

fn name_of(
    args: &Args<'_>,
    takes: Takes,
    context: &mut EvalContext<'_>,
    name: impl FnOnce(Date) -> Option<&'static str>,
) -> Result<Value, SqlError> {
    let date = args.date_of(0, takes, context)?;
    Ok(date
        .and_then(name)
        .map_or(Value::Null, |name| Value::Bytes(name.as_bytes().to_vec())))
}

/// Whether it is a day: not the zero date, nor one of which a part is zero.
fn is_day(date: Date) -> bool {
    date.month > 0 && date.day > 0
}

fn timestamp(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(moment) = args.datetime(0, context)? else {
        return Ok(Value::Null);
    };
    if args.len() == 1 {
        return Ok(Value::DateTime(moment));
    }
    if !is_day(moment.date) {
        return Ok(Value::Null);
    }
    let time = args.time(1, context)?;
    let sum = time.and_then(|time| calendar::later(moment, time.micros));
    let sum = sum.filter(|sum| !sum.date.is_zero());
    Ok(sum.map_or(Value::Null, Value::DateTime))
}

fn sec_to_time(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.exact(0, context)?;
    let Some(seconds) = convert::decimal(&value, context) else {
        return Ok(Value::Null);
    };
    let micros = fractions::micros(&seconds, context);
    let micros = micros.to_i64().unwrap_or(if micros.is_negative() {
        i64::MIN
    } else {
        i64::MAX
    });
    let clipped = micros.clamp(-TIME_MAX, TIME_MAX);
    if clipped != micros {
        let shown = match &*value {
            Value::Double(_) | Value::Float(_) => seconds.to_plain_string().into_bytes().into(),
            value => convert::string(value, args.text_form(0)).unwrap_or_default(),
        };
        let lost = SqlError::truncated_wrong_value("time", convert::shown(&shown));
        context.warnings.warn(lost);
    }
    Ok(Value::Time(Time { micros: clipped }))
}

fn makedate(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (Some(year), Some(day)) = (args.int(0, context)?, args.int(1, context)?) else {
        return Ok(Value::Null);
    };
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    if !(0..=9999).contains(&year) || day < 1 {
        return Ok(Value::Null);
    }
    let days = temporal::day_number(year as u16, 1, 1).checked_add(day - 1);
    Ok(days
        .and_then(Date::from_day_number)
        .map_or(Value::Null, Value::Date))
}

fn maketime(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (hour, minute) = (args.int(0, context)?, args.int(1, context)?);
    let second = args.decimal(2, context)?;
    let (Some(hour), Some(minute), Some(second)) = (hour, minute, second) else {
        return Ok(Value::Null);
    };
    let negative = second.is_negative();
    let micros = fractions::micros(&second, context).to_i64().unwrap_or(-1);
    let is_second = !negative && (0..60 * SECOND).contains(&micros);
    if !(0..60).contains(&minute) || !is_second {
        return Ok(Value::Null);
    }
    let magnitude = hour.unsigned_abs().min(10_000).cast_signed() * 3600 * SECOND
        + minute * 60 * SECOND
        + micros;
    let clipped = magnitude.min(TIME_MAX);
    if clipped != magnitude {
        let text = format!("{hour}:{minute:02}:{:02}", micros / SECOND);
        context
            .warnings
            .warn(SqlError::truncated_wrong_value("time", text));
    }
    Ok(Value::Time(Time {
        micros: if hour < 0 { -clipped } else { clipped },
    }))
}

/// A value that may be a time of day or a moment: texts are what they look like.
enum Clock {
    Time(Time),
    Moment(DateTime),
}

/// `cut`: its digits beyond microseconds are cut, else rounded.
fn clock(value: &Value, cut: bool, context: &mut EvalContext<'_>) -> Option<Clock> {
    match value {
        Value::DateTime(moment) => Some(Clock::Moment(*moment)),
        Value::Date(date) => Some(Clock::Moment(date.at_midnight())),
        Value::Bytes(text) => {
            let read = fractions::read_if(text, cut);
            match temporal::parse(&read) {
                Some(parsed) if is_moment(text, &parsed) => Some(Clock::Moment(parsed.value)),
                _ => {
                    let parsed = convert::parse_time(&read);
                    convert::time_of(parsed, value, context).map(Clock::Time)
                }
            }
        }
        Value::Null | Value::Time(_) => convert::time(value, context).map(Clock::Time),
        number => match long_number(number, context) {
            Some(moment) => Some(Clock::Moment(moment)),
            None => convert::time(number, context).map(Clock::Time),
        },
    }
}

/// The moment that a number is which is too long for a time.
fn long_number(number: &Value, context: &mut EvalContext<'_>) -> Option<DateTime> {
    const TIME_NUMBER_MAX: i64 = 8_385_959;
    let number = convert::number(number, context)?.into_decimal();
    let whole = number.to_i64().filter(|whole| *whole > TIME_NUMBER_MAX)?;
    let micros = &(&number - &Decimal::from(whole)) * &Decimal::from(SECOND);
    let moment = temporal::from_number(whole)?.value;
    convert::with_micros(moment, micros.to_i64()?)
}

/// Whether a text that can be read as a date is one, rather than a time.
fn is_moment(text: &[u8], parsed: &temporal::Parsed) -> bool {
    let has = |bytes: &[u8]| text.iter().any(|byte| bytes.contains(byte));
    if parsed.has_time {
        return has(b"-/");
    }
    !has(b":/") && !parsed.truncated
}

/// Whether a text is a date that does not exist, which is told.
fn is_missing(value: &Value, moment: DateTime, context: &mut EvalContext<'_>) -> bool {
    let Value::Bytes(text) = value else {
        return false;
    };
    let has_time = temporal::parse(text).is_some_and(|parsed| parsed.has_time);
    let missing = !is_day(moment.date) || !moment.date.is_valid();
    if missing {
        let kind = if has_time { "datetime" } else { "date" };
        let lost = SqlError::truncated_wrong_value(kind, convert::shown(text));
        context.warnings.warn(lost);
    }
    missing
}

fn timediff(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (a, b) = (args.value(0, context)?, args.value(1, context)?);
    let (a, b) = (clock(&a, false, context), clock(&b, false, context));
    let micros = match (a, b) {
        (Some(Clock::Time(a)), Some(Clock::Time(b))) => a.micros - b.micros,
        (Some(Clock::Moment(a)), Some(Clock::Moment(b))) => a.total_micros() - b.total_micros(),
        _ => return Ok(Value::Null),
    };
    let clipped = micros.clamp(-TIME_MAX, TIME_MAX);
    if clipped != micros {
        let mut text = Vec::new();
        let digits = if micros % SECOND == 0 {
            args.ty.decimals
        } else {
            6
        };
        Time { micros }.write(digits, &mut text);
        context.warnings.warn(SqlError::truncated_wrong_value(
            "time",
            convert::shown(&text),
        ));
    }
    Ok(Value::Time(Time { micros: clipped }))
}

fn addtime_type(typing: &Typing<'_>) -> ExprType {
    let fsp = typing.fsp(0).max(typing.fsp(1));
    match typing.ty(0).ty {
        Some(ColumnType::Time(_)) => ExprType::temporal(ColumnType::Time(fsp)),
        Some(ColumnType::Date | ColumnType::DateTime(_) | ColumnType::Timestamp(_)) => {
            ExprType::temporal(ColumnType::DateTime(fsp))
        }
        _ => typing.moment_text(),
    }
    .or_null()
}

fn addtime(args: &Args<'_>, sign: i64, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.value(0, context)?;
    let (start, Some(amount)) = (clock(&value, false, context), args.time(1, context)?) else {
        return Ok(Value::Null);
    };
    if matches!(start, Some(Clock::Moment(moment)) if is_missing(&value, moment, context)) {
        return Ok(Value::Null);
    }
    let amount = sign * amount.micros;
    let name = if sign < 0 { "subtime" } else { "addtime" };
    let sum = match start {
        None => return Ok(Value::Null),
        Some(Clock::Time(time)) => {
            let micros = time.micros + amount;
            let clipped = micros.clamp(-TIME_MAX, TIME_MAX);
            if clipped != micros {
                let null = out_of_range("TIME", name, args, context)?;
                // A text is told the limit.
                if !args.ty.is_string() {
                    return Ok(null);
                }
            }
            Value::Time(Time { micros: clipped })
        }
        Some(Clock::Moment(moment)) => match calendar::later(moment, amount) {
            Some(sum) if !sum.date.is_zero() => Value::DateTime(sum),
            _ => return out_of_range("DATETIME", name, args, context),
        },
    };
    if args.ty.is_string() {
        let mut text = Vec::new();
        convert::text(&sum, super::NOT_FIXED, &mut text);
        return Ok(Value::Bytes(text));
    }
    Ok(sum)
}

fn extract(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let unit = Unit::of_argument(args.args.get(1));
    let format = context.statement.week_format;
    if unit.is_date() {
        let value = args.dated(0, context)?;
        let moment = moment_or_zero(&value, context)
            .filter(|moment| unit != Unit::Week || !moment.date.is_zero());
        return Ok(moment.map_or(Value::Null, |moment| {
            interval::extract(moment, Time::default(), unit, format)
        }));
    }
    let value = args.value(0, context)?;
    Ok(match clock(&value, fractions::are_cut(context), context) {
        Some(Clock::Moment(moment)) => {
            let moment = match &*value {
                Value::Bytes(_) => convert::datetime_of(&value, Takes::ZeroParts, context),
                _ => Some(moment),
            };
            moment.map_or(Value::Null, |moment| {
                interval::extract(moment, moment.time(), unit, format)
            })
        }
        // Its hours may be more than a day's.
        Some(Clock::Time(time)) => interval::extract(DateTime::default(), time, unit, format),
        None => Value::Null,
    })
}

/// A moment, of which a part or a text is wanted; the number zero is the zero date.
fn moment_or_zero(value: &Value, context: &mut EvalContext<'_>) -> Option<DateTime> {
    let is_zero = match value {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_) => {
            convert::number(value, context).is_some_and(|number| number.is_zero())
        }
        _ => false,
    };
    if is_zero {
        return Some(DateTime::default());
    }
    convert::datetime_of(value, Takes::ZeroParts, context)
}

fn date_format(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.dated(0, context)?;
    let moment = moment_or_zero(&value, context);
    let format = args.string(1, context)?;
    let language = context.statement.language;
    let text = moment
        .zip(format)
        .and_then(|(moment, format)| calendar::format(moment, &format, None, language));
    Ok(text.map_or(Value::Null, Value::Bytes))
}

/// GET_FORMAT(DATE, 'USA'); the parser makes a text of the kind.
fn get_format(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (Some(kind), Some(region)) = (args.string(0, context)?, args.string(1, context)?) else {
        return Ok(Value::Null);
    };
    let (kind, region) = (kind.to_ascii_uppercase(), region.to_ascii_uppercase());
    let format = match (kind.as_slice(), region.as_slice()) {
        (b"DATE", b"USA") => "%m.%d.%Y",
        (b"DATE", b"JIS" | b"ISO") => "%Y-%m-%d",
        (b"DATE", b"EUR") => "%d.%m.%Y",
        (b"DATE", b"INTERNAL") => "%Y%m%d",
        (b"TIME", b"USA") => "%h:%i:%s %p",
        (b"TIME", b"JIS" | b"ISO") => "%H:%i:%s",
        (b"TIME", b"EUR") => "%H.%i.%s",
        (b"TIME", b"INTERNAL") => "%H%i%s",
        (_, b"USA" | b"EUR") => "%Y-%m-%d %H.%i.%s",
        (_, b"JIS" | b"ISO") => "%Y-%m-%d %H:%i:%s",
        (_, b"INTERNAL") => "%Y%m%d%H%i%s",
        _ => return Ok(Value::Null),
    };
    Ok(Value::Bytes(format.into()))
}

fn time_format(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.dated(0, context)?;
    let moment = match &*value {
        Value::DateTime(moment) => Some(*moment),
        Value::Date(date) => Some(date.at_midnight()),
        _ => None,
    };
    if let Some(moment) = moment {
        let format = args.string(1, context)?;
        let hour = Some(moment.parts().0);
        let language = context.statement.language;
        let text = format.and_then(|format| calendar::format(moment, &format, hour, language));
        return Ok(text.map_or(Value::Null, Value::Bytes));
    }
    let time = match clock(&value, false, context) {
        Some(Clock::Moment(moment)) => Some(moment.time()),
        Some(Clock::Time(time)) => Some(time),
        None => None,
    };
    let format = args.string(1, context)?;
    let language = context.statement.language;
    Ok(time.zip(format).map_or(Value::Null, |(time, format)| {
        let (hours, ..) = time.parts();
        let micros = time.micros.unsigned_abs() % DAY.cast_unsigned();
        let moment = DateTime {
            date: Date::default(),
            micros,
        };
        let text = calendar::format(moment, &format, Some(hours), language);
        text.map_or(Value::Null, |text| {
            let sign: &[u8] = if time.micros < 0 { b"-" } else { b"" };
            Value::Bytes([sign, &text].concat())
        })
    }))
}

/// A format that is a literal decides the type.
fn str_to_date_type(typing: &Typing<'_>) -> ExprType {
    let Some(Expr::Literal(Value::Bytes(format), _)) = typing.args.get(1) else {
        return ExprType::temporal(ColumnType::DateTime(6)).or_null();
    };
    let has = |specifiers: &[u8]| {
        format
            .windows(2)
            .any(|pair| pair[0] == b'%' && specifiers.contains(&pair[1]))
    };
    let fsp = if has(b"f") { 6 } else { 0 };
    let clock = has(b"fHhIiklrSsT");
    let date = has(b"abcDdejMmUuVvWwXxYy");
    ExprType::temporal(match (date, clock) {
        (true, true) => ColumnType::DateTime(fsp),
        (false, true) => ColumnType::Time(fsp),
        _ => ColumnType::Date,
    })
    .or_null()
}

fn str_to_date(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (Some(text), Some(format)) = (args.string(0, context)?, args.string(1, context)?) else {
        return Ok(Value::Null);
    };
    let mode = context.statement.sql_mode;
    let is_time = matches!(args.ty.ty, Some(ColumnType::Time(_)));
    let found = scanned::scan(&text, &format).filter(|found| {
        is_time
            || !found.date.has_zero_part()
            || !mode.has(if found.date.is_zero() {
                SqlMode::NO_ZERO_DATE
            } else {
                SqlMode::NO_ZERO_IN_DATE
            })
    });
    let Some(found) = found else {
        let shown = convert::shown(&text);
        context
            .warnings
            .warn(SqlError::incorrect_value_for_function(
                "datetime",
                shown,
                "str_to_date",
            ));
        return Ok(Value::Null);
    };
    if found.rest {
        let kind = match args.ty.ty {
            Some(ColumnType::Date) => "date",
            Some(ColumnType::Time(_)) => "time",
            _ => "datetime",
        };
        let lost = SqlError::truncated_wrong_value(kind, convert::shown(&text));
        context.warnings.warn(lost);
    }
    Ok(match args.ty.ty {
        Some(ColumnType::Date) => Value::Date(found.date),
        Some(ColumnType::Time(_)) => Value::Time(Time {
            micros: found.micros,
        }),
        _ => Value::DateTime(DateTime {
            date: found.date,
            micros: found.micros.cast_unsigned(),
        }),
    })
}

fn unix_timestamp_type(typing: &Typing<'_>) -> ExprType {
    if typing.args.is_empty() {
        return ExprType::bigint(false);
    }
    let is_date = |text: &[u8]| temporal::parse(text).is_some();
    match typing.fsp_if(0, is_date) {
        0 => ExprType::bigint(false).nullable_if(typing.nullable()),
        fsp => ExprType::decimal(11 + u32::from(fsp), fsp.into()).nullable_if(typing.nullable()),
    }
}

/// The last second that functions on Unix time know: 3001-01-18 23:59:59 UTC.
const LAST_SECOND: i64 = 32_536_771_199;

fn unix_timestamp(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    if args.len() == 0 {
        return Ok(Value::Int(context.statement.now_micros.div_euclid(SECOND)));
    }
    let value = args.dated(0, context)?;
    let null = value.is_null();
    let Some(moment) = convert::datetime_of(&value, Takes::ZeroParts, context) else {
        return Ok(match args.ty.decimals {
            _ if null => Value::Null,
            0 => Value::Int(0),
            fsp => Value::Decimal(Decimal::new(0.into(), fsp.into())),
        });
    };
    const MAX: i64 = LAST_SECOND * SECOND + 999_999;
    let micros = context.statement.time_zone.to_utc(moment).unix_micros();
    let micros = if moment.date.has_zero_part() || !(0..=MAX).contains(&micros) {
        0
    } else {
        micros
    };
    Ok(match args.ty.decimals {
        0 => Value::Int(micros / SECOND),
        fsp => {
            let units = micros / fraction_unit(fsp);
            Value::Decimal(Decimal::new(units.into(), fsp.into()))
        }
    })
}

/// The text that a format makes: ten characters for each of its own, if it is no literal.
fn format_type(typing: &Typing<'_>) -> ExprType {
    let length = match typing.args.get(1) {
        Some(Expr::Literal(Value::Bytes(format), _)) => calendar::format_length(format),
        _ => typing.ty(1).length.saturating_mul(10),
    };
    typing.string(length, &[])
}

fn from_unixtime_type(typing: &Typing<'_>) -> ExprType {
    if typing.args.len() > 1 {
        return format_type(typing);
    }
    ExprType::temporal(ColumnType::DateTime(typing.number_fsp(0))).or_null()
}

fn from_unixtime(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.exact(0, context)?;
    let number = match &*value {
        Value::Bytes(_) => convert::decimal(&value, context).map(Number::Decimal),
        number => convert::number(number, context),
    };
    let micros = match number {
        None => return Ok(Value::Null),
        Some(Number::Double(x)) => (x * SECOND as f64).round() as i64,
        Some(number) => {
            let micros = fractions::micros(&number.into_decimal(), context);
            micros.to_i64().unwrap_or(-1)
        }
    };
    if !(0..=LAST_SECOND * SECOND + 999_999).contains(&micros) {
        return Ok(Value::Null);
    }
    let Some(utc) = DateTime::from_unix_micros(micros) else {
        return Ok(Value::Null);
    };
    let local = context.statement.time_zone.to_local(utc);
    if args.len() == 1 {
        return Ok(Value::DateTime(local));
    }
    let format = args.string(1, context)?;
    let language = context.statement.language;
    let text = format.and_then(|format| calendar::format(local, &format, None, language));
    Ok(text.map_or(Value::Null, Value::Bytes))
}

/// SYSTEM, `+hh:mm`, `-hh:mm` or a name.
fn zone(text: &[u8], context: &EvalContext<'_>) -> Option<TimeZone> {
    if text.eq_ignore_ascii_case(b"SYSTEM") {
        return Some(context.statement.time_zone);
    }
    let (sign, rest) = match text.split_first()? {
        (b'+', rest) => (1, rest),
        (b'-', rest) => (-1, rest),
        _ => return TimeZone::named(std::str::from_utf8(text).ok()?),
    };
    let (hours, minutes) = std::str::from_utf8(rest).ok()?.split_once(':')?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = sign * (hours * 3600 + minutes * 60);
    ((0..60).contains(&minutes) && (-50_340..=50_400).contains(&seconds))
        .then_some(TimeZone::Fixed(seconds))
}

fn convert_tz(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let moment = args.datetime(0, context)?;
    let (Some(from), Some(to)) = (args.string(1, context)?, args.string(2, context)?) else {
        return Ok(Value::Null);
    };
    let (from, to) = (zone(&from, context), zone(&to, context));
    Ok(match (moment, from, to) {
        (Some(moment), Some(from), Some(to)) => {
            let utc = from.to_utc(moment);
            // What no TIMESTAMP could be stays as it is.
            let seconds = utc.unix_micros().div_euclid(SECOND);
            let known = (1..=LAST_SECOND).contains(&seconds);
            Value::DateTime(if known { to.to_local(utc) } else { moment })
        }
        _ => Value::Null,
    })
}
