//! INTERVAL: its units, its values, and adding it to dates and times.

use super::{
    calendar,
    temporal::{no_date, out_of_range},
};
use crate::{
    error::SqlError,
    expr::{
        EvalContext, Expr, ExprType,
        convert::{self, Takes},
    },
};
use cohort_engine::types::{
    ColumnType, DateTime, Decimal, Time, Value,
    temporal::{self, DAY, SECOND, TIME_MAX},
};
use sqlparser::ast;

const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 3600 * SECOND;

/// The unit of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say it: MINUTE, DAY_HOUR and so on")]
pub enum Unit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl Unit {
    const ALL: [(Unit, &'static str); 20] = [
        (Unit::Microsecond, "microsecond"),
        (Unit::Second, "second"),
        (Unit::Minute, "minute"),
        (Unit::Hour, "hour"),
        (Unit::Day, "day"),
        (Unit::Week, "week"),
        (Unit::Month, "month"),
        (Unit::Quarter, "quarter"),
        (Unit::Year, "year"),
        (Unit::SecondMicrosecond, "second_microsecond"),
        (Unit::MinuteMicrosecond, "minute_microsecond"),
        (Unit::MinuteSecond, "minute_second"),
        (Unit::HourMicrosecond, "hour_microsecond"),
        (Unit::HourSecond, "hour_second"),
        (Unit::HourMinute, "hour_minute"),
        (Unit::DayMicrosecond, "day_microsecond"),
        (Unit::DaySecond, "day_second"),
        (Unit::DayMinute, "day_minute"),
        (Unit::DayHour, "day_hour"),
        (Unit::YearMonth, "year_month"),
    ];

    /// The unit with this name, in any case; SQL_TSI_DAY and the like are DAY.
    pub fn from_name(name: &str) -> Result<Unit, SqlError> {
        let lower = name.to_ascii_lowercase();
        let lower = lower.strip_prefix("sql_tsi_").unwrap_or(&lower);
        Unit::ALL
            .iter()
            .find(|(_, known)| *known == lower)
            .map(|(unit, _)| *unit)
            .ok_or_else(|| SqlError::syntax(name, 1))
    }

    /// Its name in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        let mut all = Unit::ALL.iter();
        all.find(|(unit, _)| *unit == self)
            .map_or("day", |(_, name)| name)
    }

    /// The unit of EXTRACT.
    pub fn from_field(field: &ast::DateTimeField) -> Result<Unit, SqlError> {
        Unit::from_name(&field.to_string())
    }

    /// The unit of a parsed interval; `DAY TO HOUR` is DAY_HOUR.
    pub fn of_interval(interval: &ast::Interval) -> Result<Unit, SqlError> {
        match (&interval.leading_field, &interval.last_field) {
            (Some(field), None) => Unit::from_field(field),
            // See the parser's `rewrite_unit`.
            (Some(ast::DateTimeField::Microsecond), Some(ast::DateTimeField::Second)) => {
                Ok(Unit::SecondMicrosecond)
            }
            (Some(first), Some(last)) => Unit::from_name(&format!("{first}_{last}")),
            _ => Err(SqlError::syntax("INTERVAL", 1)),
        }
    }

    /// The unit as an argument of a function.
    #[must_use]
    pub fn literal(self) -> Expr {
        Expr::Literal(Value::Int(self as i64), ExprType::int(2))
    }

    /// The unit that an argument stands for.
    #[must_use]
    pub fn of_argument(expr: Option<&Expr>) -> Unit {
        match expr {
            Some(Expr::Literal(Value::Int(n), _)) => {
                let n = usize::try_from(*n).unwrap_or(0);
                Unit::ALL.get(n).map_or(Unit::Day, |(unit, _)| *unit)
            }
            _ => Unit::Day,
        }
    }

    /// Whether it counts whole days or more.
    #[must_use]
    pub fn is_date(self) -> bool {
        matches!(
            self,
            Unit::Day | Unit::Week | Unit::Month | Unit::Quarter | Unit::Year | Unit::YearMonth
        )
    }

    /// Whether it has days or more among its parts: added to a TIME, it makes a DATETIME.
    #[must_use]
    pub fn has_days(self) -> bool {
        self.is_date() || self.parts().first() == Some(&DAY)
    }

    /// Whether it has a fraction of a second.
    #[must_use]
    pub fn has_micros(self) -> bool {
        matches!(
            self,
            Unit::Microsecond
                | Unit::SecondMicrosecond
                | Unit::MinuteMicrosecond
                | Unit::HourMicrosecond
                | Unit::DayMicrosecond
        )
    }

    /// Whether its amount is a text of several numbers.
    fn is_of_parts(self) -> bool {
        self == Unit::YearMonth || !self.parts().is_empty()
    }

    /// The parts of a unit such as DAY_SECOND, as microseconds, biggest first.
    fn parts(self) -> &'static [i64] {
        match self {
            Unit::SecondMicrosecond => &[SECOND, 1],
            Unit::MinuteMicrosecond => &[MINUTE, SECOND, 1],
            Unit::MinuteSecond => &[MINUTE, SECOND],
            Unit::HourMicrosecond => &[HOUR, MINUTE, SECOND, 1],
            Unit::HourSecond => &[HOUR, MINUTE, SECOND],
            Unit::HourMinute => &[HOUR, MINUTE],
            Unit::DayMicrosecond => &[DAY, HOUR, MINUTE, SECOND, 1],
            Unit::DaySecond => &[DAY, HOUR, MINUTE, SECOND],
            Unit::DayMinute => &[DAY, HOUR, MINUTE],
            Unit::DayHour => &[DAY, HOUR],
            _ => &[],
        }
    }
}

/// An amount of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Months, of varying length.
    Months(i64),
    /// Microseconds.
    Micros(i64),
}

impl Unit {
    /// The characters of what EXTRACT finds, a sign among them.
    pub(super) fn extracted_length(self) -> u32 {
        match self {
            Unit::Quarter => 2,
            Unit::Second | Unit::Minute | Unit::Day | Unit::Week | Unit::Month => 3,
            Unit::Hour => 4,
            Unit::Year | Unit::MinuteSecond => 5,
            Unit::HourMinute => 6,
            Unit::Microsecond | Unit::YearMonth => 7,
            Unit::HourSecond => 8,
            Unit::SecondMicrosecond | Unit::DayHour => 9,
            Unit::MinuteMicrosecond | Unit::DayMinute => 11,
            Unit::DaySecond => 13,
            Unit::HourMicrosecond => 14,
            Unit::DayMicrosecond => 20,
        }
    }
}

impl Interval {
    /// The interval of so many units; `None` for NULL and beyond the range of 64 bits.
    pub(super) fn new(
        value: &Value,
        unit: Unit,
        context: &mut EvalContext<'_>,
    ) -> Option<Interval> {
        if unit == Unit::Second {
            let seconds = match value {
                Value::UInt(n) => Decimal::from(n.cast_signed()),
                value => convert::decimal(value, context)?,
            };
            let micros = convert::round(&(&seconds * &Decimal::from(SECOND)), 0).to_i64()?;
            return Some(Interval::Micros(micros));
        }
        let count = match value {
            // As a signed one.
            Value::UInt(n) => n.cast_signed(),
            value => convert::argument(value, context)?,
        };
        Some(match unit {
            Unit::Month => Interval::Months(count),
            Unit::Quarter => Interval::Months(count.checked_mul(3)?),
            Unit::Year => Interval::Months(count.checked_mul(12)?),
            Unit::Week => Interval::Micros(count.checked_mul(7 * DAY)?),
            Unit::Day => Interval::Micros(count.checked_mul(DAY)?),
            Unit::Hour => Interval::Micros(count.checked_mul(HOUR)?),
            Unit::Minute => Interval::Micros(count.checked_mul(MINUTE)?),
            _ => Interval::Micros(count),
        })
    }

    /// The numbers in a text such as '1 12:30', the last of them for the smallest part.
    fn of_parts(text: &[u8], unit: Unit) -> Option<Interval> {
        let negative = text.trim_ascii_start().first() == Some(&b'-');
        let mut numbers = Vec::new();
        let mut last_digits = 0;
        for digits in text
            .split(|byte| !byte.is_ascii_digit())
            .filter(|part| !part.is_empty())
        {
            let number: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
            last_digits = digits.len();
            numbers.push(number);
        }
        if unit == Unit::YearMonth {
            let months = match numbers.as_slice() {
                [] => 0,
                [months] => *months,
                [years, months] => years.checked_mul(12)?.checked_add(*months)?,
                _ => return None,
            };
            return Some(Interval::Months(if negative { -months } else { months }));
        }
        let parts = unit.parts();
        if numbers.len() > parts.len() {
            return None;
        }
        if let Some(last) = numbers.last_mut()
            && unit.has_micros()
            && last_digits < 6
        {
            // '1.5' are five tenths of a second, and so is '5'.
            *last = last.checked_mul(10_i64.pow(6 - last_digits as u32))?;
        }
        let mut micros = 0_i64;
        for (number, part) in numbers.iter().rev().zip(parts.iter().rev()) {
            micros = micros.checked_add(number.checked_mul(*part)?)?;
        }
        Some(Interval::Micros(if negative { -micros } else { micros }))
    }

    fn negated(self) -> Interval {
        match self {
            Interval::Months(n) => Interval::Months(n.saturating_neg()),
            Interval::Micros(n) => Interval::Micros(n.saturating_neg()),
        }
    }

    fn add_to(self, moment: DateTime) -> Option<DateTime> {
        match self {
            Interval::Months(months) => Some(DateTime {
                date: moment.date.add_months(months)?,
                ..moment
            }),
            Interval::Micros(micros) => calendar::later(moment, micros),
        }
    }
}

/// The type of DATE_ADD and DATE_SUB.
pub(super) fn result_type(typing: &super::Typing<'_>) -> ExprType {
    let unit = Unit::of_argument(typing.args.get(2));
    let from = typing.ty(0);
    let fsp = if unit.has_micros() {
        6
    } else if unit == Unit::Second {
        typing
            .number_fsp(1)
            .max(if from.is_temporal() { from.decimals } else { 0 })
    } else {
        from.decimals.min(6)
    };
    match from.ty {
        Some(ColumnType::Date) if unit.is_date() => ExprType::temporal(ColumnType::Date),
        Some(
            ColumnType::Date
            | ColumnType::DateTime(_)
            | ColumnType::Timestamp(_)
            | ColumnType::Year,
        ) => ExprType::temporal(ColumnType::DateTime(fsp)),
        Some(ColumnType::Time(_)) if !unit.has_days() => ExprType::temporal(ColumnType::Time(fsp)),
        Some(ColumnType::Time(_)) => ExprType::temporal(ColumnType::DateTime(fsp)),
        _ => typing.moment_text(),
    }
    .or_null()
}

/// DATE_ADD and DATE_SUB.
pub(super) fn add(
    args: &super::Args<'_>,
    negate: bool,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let unit = Unit::of_argument(args.args.get(2));
    let name = if negate { "date_sub" } else { "date_add" };
    let start = args.dated(0, context)?;
    let interval = if unit.is_of_parts() {
        let text = args.string(1, context)?.filter(|_| !start.is_null());
        let Some(text) = text else {
            return Ok(Value::Null);
        };
        match Interval::of_parts(&text, unit) {
            Some(interval) => interval,
            None if matches!(&*start, Value::Time(_)) => return Ok(Value::Null),
            None => return out_of_range("DATETIME", name, args, context),
        }
    } else {
        let amount = match unit {
            Unit::Second => args.exact(1, context)?,
            _ => args.whole(1, context)?,
        };
        if start.is_null() || amount.is_null() {
            return Ok(Value::Null);
        }
        let Some(interval) = Interval::new(&amount, unit, context) else {
            let lost = SqlError::datetime_overflow("datetime");
            context.warnings.warn(lost);
            return Ok(Value::Null);
        };
        interval
    };
    let interval = if negate { interval.negated() } else { interval };
    if let (Value::Time(time), Interval::Micros(micros), false) =
        (&*start, interval, unit.has_days())
    {
        let sum = time.micros.saturating_add(micros);
        if sum.unsigned_abs() > TIME_MAX.unsigned_abs() {
            return out_of_range("TIME", name, args, context);
        }
        return Ok(Value::Time(Time { micros: sum }));
    }
    let Some(moment) = convert::datetime_of(&start, Takes::Whole, context) else {
        return Ok(Value::Null);
    };
    if moment.date.has_zero_part() {
        return Ok(Value::Null);
    }
    let Some(sum) = interval.add_to(moment) else {
        context
            .warnings
            .warn(SqlError::datetime_overflow("datetime"));
        return Ok(Value::Null);
    };
    let is_zero = sum.date.is_zero();
    let sum = result(sum, &start, unit, args.ty);
    Ok(match is_zero {
        true => no_date(&sum, "datetime", context),
        false => sum,
    })
}

/// What is a date rather than a moment when written as a number.
const LAST_DAY: i64 = 99_991_231;

/// The sum as a value of the result's type. Of a text, a date stays a date under whole days.
fn result(sum: DateTime, start: &Value, unit: Unit, ty: &ExprType) -> Value {
    match ty.ty {
        Some(ColumnType::Date) => Value::Date(sum.date),
        Some(ty) if ty.is_string() => {
            let had_time = match start {
                Value::Bytes(text) => temporal::parse(text).is_none_or(|parsed| parsed.has_time),
                Value::Date(_) => false,
                Value::Int(n) => *n > LAST_DAY,
                Value::UInt(n) => *n > LAST_DAY.cast_unsigned(),
                Value::Decimal(n) => n.to_i64().is_none_or(|n| n > LAST_DAY),
                Value::Double(n) => *n > LAST_DAY as f64,
                Value::Float(n) => f64::from(*n) > LAST_DAY as f64,
                _ => true,
            };
            let mut out = Vec::new();
            if had_time || !unit.is_date() {
                let fsp = if sum.micros.cast_signed() % SECOND == 0 {
                    0
                } else {
                    6
                };
                sum.write(fsp, &mut out);
            } else {
                sum.date.write(&mut out);
            }
            Value::Bytes(out)
        }
        _ => Value::DateTime(sum),
    }
}

/// TIMESTAMPDIFF: whole units from one moment to another.
#[must_use]
pub(super) fn difference(from: DateTime, to: DateTime, unit: Unit) -> Value {
    let micros = to.total_micros() - from.total_micros();
    let months = || {
        let (early, late, sign) = if micros < 0 {
            (to, from, -1)
        } else {
            (from, to, 1)
        };
        let count =
            |moment: DateTime| i64::from(moment.date.year) * 12 + i64::from(moment.date.month);
        let whole = count(late) - count(early);
        let short = (late.date.day, late.micros) < (early.date.day, early.micros);
        sign * (whole - i64::from(short))
    };
    Value::Int(match unit {
        Unit::Year => months() / 12,
        Unit::Quarter => months() / 3,
        Unit::Month => months(),
        Unit::Week => micros / (7 * DAY),
        Unit::Day => micros / DAY,
        Unit::Hour => micros / HOUR,
        Unit::Minute => micros / MINUTE,
        Unit::Second => micros / SECOND,
        _ => micros,
    })
}

/// EXTRACT: the part of a moment (or time) that a unit names; weeks are numbered as WEEK() does in
/// the mode `week_format`.
#[must_use]
pub(super) fn extract(moment: DateTime, time: Time, unit: Unit, week_format: u8) -> Value {
    let (hour, minute, second, micros) = time.parts();
    let (hour, minute, second, micros) = (
        i64::from(hour),
        i64::from(minute),
        i64::from(second),
        i64::from(micros),
    );
    let date = moment.date;
    let (day, month, year) = (
        i64::from(date.day),
        i64::from(date.month),
        i64::from(date.year),
    );
    let clock = hour * 10_000 + minute * 100 + second;
    let value = match unit {
        Unit::Year => year,
        Unit::Quarter => (month + 2) / 3,
        Unit::Month => month,
        Unit::Week => super::calendar::week(date, week_format.into()).1,
        Unit::Day => day,
        Unit::Hour => hour,
        Unit::Minute => minute,
        Unit::Second => second,
        Unit::Microsecond => micros,
        Unit::SecondMicrosecond => second * SECOND + micros,
        Unit::MinuteMicrosecond => (minute * 100 + second) * SECOND + micros,
        Unit::MinuteSecond => minute * 100 + second,
        Unit::HourMicrosecond => clock * SECOND + micros,
        Unit::HourSecond => clock,
        Unit::HourMinute => hour * 100 + minute,
        Unit::DayMicrosecond => (day * 1_000_000 + clock) * SECOND + micros,
        Unit::DaySecond => day * 1_000_000 + clock,
        Unit::DayMinute => day * 10_000 + hour * 100 + minute,
        Unit::DayHour => day * 100 + hour,
        Unit::YearMonth => year * 100 + month,
    };
    let negative = time.micros < 0 && !unit.is_date();
    Value::Int(if negative { -value } else { value })
}
