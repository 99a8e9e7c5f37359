//! Conversions between values, in expressions: what is lost is warned of (1292), never refused.

use super::{EvalContext, ExprType, fractions};
use crate::{
    error::SqlError,
    json::plain,
    text::{DECIMALS_NOT_FIXED, TextForm, float_text},
};
use bigdecimal::{RoundingMode, ToPrimitive};
mod shown;

pub use shown::printable;
pub(super) use shown::{printable_value, shown};

use cohort_engine::types::{
    ColumnType, Date, DateTime, Decimal, Json, Time, Value, decimal,
    temporal::{self, SECOND},
};
use std::borrow::Cow;

/// A value as arithmetic sees it.
#[derive(Clone, Debug)]
pub(super) enum Number {
    Int(i64),
    UInt(u64),
    Decimal(Decimal),
    Double(f64),
}

impl Number {
    pub fn is_zero(&self) -> bool {
        match self {
            Number::Int(n) => *n == 0,
            Number::UInt(n) => *n == 0,
            Number::Decimal(n) => n.is_zero(),
            Number::Double(x) => *x == 0.0,
        }
    }
    pub fn to_f64(&self) -> f64 {
        match self {
            Number::Int(n) => *n as f64,
            Number::UInt(n) => *n as f64,
            Number::Decimal(n) => n.to_f64(),
            Number::Double(x) => *x,
        }
    }
    pub fn into_decimal(self) -> Decimal {
        match self {
            Number::Int(n) => Decimal::from(n),
            Number::UInt(n) => Decimal::from(n),
            Number::Decimal(n) => n,
            Number::Double(x) => f64_to_decimal(x),
        }
    }
    pub fn into_value(self) -> Value {
        match self {
            Number::Int(n) => Value::Int(n),
            Number::UInt(n) => Value::UInt(n),
            Number::Decimal(n) => Value::Decimal(n),
            Number::Double(x) => Value::Double(x),
        }
    }
}

/// The decimal with the digits that the floating point number is printed with.
pub(super) fn f64_to_decimal(x: f64) -> Decimal {
    format!("{x:e}").parse().unwrap_or_default()
}

/// The value as a number; `None` for NULL. Strings become floating point.
pub(super) fn number(value: &Value, context: &mut EvalContext<'_>) -> Option<Number> {
    Some(match value {
        Value::Null => return None,
        Value::Int(n) => Number::Int(*n),
        Value::UInt(n) => Number::UInt(*n),
        Value::Float(x) => Number::Double(f64::from(*x)),
        Value::Double(x) => Number::Double(*x),
        Value::Decimal(n) => Number::Decimal(n.clone()),
        Value::Bytes(text) => Number::Double(text_to_f64(text, context)),
        Value::Member(member) => Number::Int(member.signed()),
        // Arithmetic on it is floating point.
        Value::Json(document) => Number::Double(of_json(document, "DOUBLE", context).to_f64()),
        Value::Date(date) => Number::Int(date.to_number()),
        Value::Time(time) => with_fraction(time.to_number(), time.micros % SECOND),
        Value::DateTime(moment) => {
            with_fraction(moment.to_number(), moment.micros.cast_signed() % SECOND)
        }
    })
}

/// The number that a document is; 0 of what is none, with a warning that it is no such type.
pub(super) fn of_json(document: &Json, wanted: &str, context: &mut EvalContext<'_>) -> Number {
    let number = match plain(document) {
        Some(Value::Bytes(text)) => match finite_prefix_f64(&text) {
            (x, false) => return Number::Double(x),
            (x, true) => Number::Double(x),
        },
        Some(value) if !value.is_null() && !is_temporal(&value) => {
            return number(&value, context).unwrap_or(Number::Int(0));
        }
        _ => Number::Int(0),
    };
    refuse_json(wanted, context);
    number
}

/// 3156
fn refuse_json(wanted: &str, context: &mut EvalContext<'_>) {
    let lost =
        SqlError::invalid_json_value_for_cast(wanted, context.document_of, context.row_number);
    context.warnings.warn(lost);
}

fn is_temporal(value: &Value) -> bool {
    matches!(value, Value::Date(_) | Value::Time(_) | Value::DateTime(_))
}

/// The value that a document is where a date or time is wanted: a date, a time, or a text; with a
/// warning, nothing of all others.
pub(super) fn moment_of_json(
    document: &Json,
    wanted: &str,
    context: &mut EvalContext<'_>,
) -> Option<Value> {
    let fits = |text: &[u8]| {
        if wanted == "TIME" {
            parse_time(text).is_some_and(|parsed| !parsed.truncated)
        } else {
            temporal::parse(text)
                .is_some_and(|parsed| !parsed.truncated && parsed.value.date.is_valid())
        }
    };
    match plain(document) {
        Some(Value::Bytes(text)) if fits(&text) => Some(Value::Bytes(text)),
        Some(Value::Time(time)) if wanted == "TIME" => Some(Value::Time(time)),
        Some(value @ (Value::Date(_) | Value::DateTime(_))) if wanted != "TIME" => Some(value),
        _ => {
            refuse_json(wanted, context);
            None
        }
    }
}

/// hhmmss and the like, with microseconds if there are any.
fn with_fraction(whole: i64, micros: i64) -> Number {
    if micros == 0 {
        return Number::Int(whole);
    }
    let total = i128::from(whole) * i128::from(SECOND) + i128::from(micros);
    Number::Decimal(Decimal::short(total, 6))
}

/// The longest beginning of a text that is a number, as (its length, whether anything but spaces
/// follows).
pub(super) fn numeric_prefix(text: &[u8]) -> (&str, bool) {
    let start = text
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    let text = &text[start..];
    let digits = |from: usize| {
        text[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut end = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let whole = digits(end);
    end += whole;
    let mut any = whole > 0;
    if text.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if any || fraction > 0 {
            end += 1 + fraction;
            any = true;
        }
    }
    if !any {
        return ("", !text.is_empty());
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = text
            .get(end + 1 + sign..)
            .map_or(0, |_| digits(end + 1 + sign));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let garbage = !text[end..].iter().all(u8::is_ascii_whitespace);
    (std::str::from_utf8(&text[..end]).unwrap_or(""), garbage)
}

/// The number a text begins with, 0 if none, with a warning if there is more or nothing.
pub(super) fn text_to_f64(text: &[u8], context: &mut EvalContext<'_>) -> f64 {
    let (x, lost) = finite_prefix_f64(text);
    if lost && !text.trim_ascii().is_empty() {
        context
            .warnings
            .warn(SqlError::truncated_wrong_value("DOUBLE", shown(text)));
    }
    x
}

/// The number a text begins with, the largest there is if it was too large; and whether that is not
/// all of it (or nothing).
pub(super) fn finite_prefix_f64(text: &[u8]) -> (f64, bool) {
    let (x, lost) = text_prefix_f64(text);
    let x = if x.is_infinite() {
        f64::MAX.copysign(x)
    } else {
        x
    };
    (x, lost)
}

/// The number a text begins with, and whether that is not all of it (or nothing).
pub(super) fn text_prefix_f64(text: &[u8]) -> (f64, bool) {
    let (prefix, garbage) = numeric_prefix(text);
    (prefix.parse().unwrap_or(0.0), garbage || prefix.is_empty())
}

/// The exact number that a text begins with.
pub(super) struct ExactText {
    /// The number, the largest there is if it was too large.
    pub number: Decimal,
    /// The number is not all of the text, or there is none.
    pub garbage: bool,
    /// It was too large.
    pub overflow: bool,
    /// Digits after the point were cut off.
    pub cut: bool,
}

/// The exact number that a text begins with, 0 if none.
pub(super) fn text_to_decimal(text: &[u8]) -> ExactText {
    let (prefix, garbage) = numeric_prefix(text);
    match decimal::parse(prefix) {
        Some(parsed) => ExactText {
            number: round(&parsed.value, 30.min(parsed.value.scale())),
            garbage,
            overflow: parsed.overflow,
            cut: parsed.cut,
        },
        None => ExactText {
            number: Decimal::default(),
            garbage: true,
            overflow: false,
            cut: false,
        },
    }
}

/// What is wrong with a text that an integer is made of.
pub(super) enum Flaw {
    /// It begins with no number.
    NoNumber,
    /// It goes on behind the number.
    More,
}

/// The number at the start of a text that is stored as an integer, rounded.
pub(super) fn stored_integer(text: &[u8]) -> (i128, Option<Flaw>) {
    if let Some(number) = plain_integer(text) {
        return (number.into(), None);
    }
    let first = text.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    if first.is_some_and(u8::is_ascii_whitespace) {
        return (0, Some(Flaw::NoNumber));
    }
    let exact = text_to_decimal(text);
    let (prefix, _) = numeric_prefix(text);
    let trimmed = text.trim_ascii();
    let rest = trimmed.get(prefix.len()..).unwrap_or_default();
    // An exponent may come to nothing.
    let all = matches!(rest, [b'e' | b'E'] | [b'e' | b'E', b'+' | b'-']);
    let flaw = match prefix {
        "" => Some(Flaw::NoNumber),
        _ if exact.garbage && !all => Some(Flaw::More),
        _ => None,
    };
    (decimal_to_wide(&exact.number), flaw)
}

/// The integer that a text is which has nothing but digits, and a sign perhaps: the usual case.
fn plain_integer(text: &[u8]) -> Option<i64> {
    /// So many always fit.
    const DIGITS_MAX: usize = 18;
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    let mut number = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    Some(if digits.len() < text.len() {
        -number
    } else {
        number
    })
}

/// A decimal as a whole number, rounded and clipped.
pub(super) fn decimal_to_wide(number: &Decimal) -> i128 {
    let rounded = round(number, 0);
    rounded.to_i128().unwrap_or(match rounded.is_negative() {
        true => i128::MIN,
        false => i128::MAX,
    })
}

/// Rounded half away from zero to so many digits after the point (before it, if negative).
pub(super) fn round(number: &Decimal, scale: i64) -> Decimal {
    number.with_scale_round(scale, RoundingMode::HalfUp)
}

/// A decimal as an integer, rounded; clipped to 64 bits (the flag says so).
pub(super) fn decimal_to_integer(number: &Decimal) -> (Number, bool) {
    let rounded = round(number, 0);
    if let Some(n) = rounded.to_i64() {
        (Number::Int(n), false)
    } else if let Some(n) = rounded.to_u64() {
        (Number::UInt(n), false)
    } else if rounded.is_negative() {
        (Number::Int(i64::MIN), true)
    } else {
        (Number::UInt(u64::MAX), true)
    }
}

/// The value as a whole number, as bit operators, CAST and integer arguments want it.
pub(super) fn integer(value: &Value, context: &mut EvalContext<'_>) -> Option<Number> {
    Some(match value {
        Value::Bytes(text) => text_to_integer(text, context),
        // A fraction of a second is rounded by the clock: 23:59:59.9 is the next day, unless it is cut.
        Value::DateTime(moment) => Number::Int(rounded(*moment, context).to_number()),
        Value::Time(time) => Number::Int(fractions::time(*time, 0, context).to_number()),
        Value::Json(document) => json_integer(document, context),
        other => match number(other, context)? {
            Number::Decimal(n) => {
                // To a signed one, unless it is asked for another.
                let (integer, clipped) = match decimal_to_integer(&n) {
                    (Number::UInt(_), _) => (Number::Int(i64::MAX), true),
                    fits => fits,
                };
                if clipped {
                    let shown = n.to_plain_string();
                    context
                        .warnings
                        .warn(SqlError::truncated_wrong_value("DECIMAL", shown));
                }
                integer
            }
            Number::Double(x) => f64_to_integer(x),
            integer => integer,
        },
    })
}

/// The same of a document.
fn json_integer(document: &Json, context: &mut EvalContext<'_>) -> Number {
    let x = match plain(document) {
        Some(Value::Bytes(text)) => {
            let IntegerText { number, lost } = integer_prefix(text.trim_ascii());
            if lost {
                refuse_json("INTEGER", context);
            }
            return number;
        }
        _ => match of_json(document, "INTEGER", context) {
            Number::Double(x) => x,
            Number::Decimal(number) => return decimal_to_integer(&number).0,
            integer => return integer,
        },
    };
    if is_beyond_integers(x) {
        let lost =
            SqlError::json_value_out_of_range("INTEGER", context.document_of, context.row_number);
        context.warnings.warn(lost);
    }
    f64_to_integer(x)
}

/// A moment without a fraction of a second; after the last second there is no time.
fn rounded(moment: DateTime, context: &mut EvalContext<'_>) -> DateTime {
    fractions::moment(moment, 0, context).unwrap_or_else(|| {
        let lost = SqlError::datetime_overflow("datetime");
        context.warnings.warn(lost);
        moment.date.at_midnight()
    })
}

/// Rounded half to even and clipped to a signed integer.
fn f64_to_integer(x: f64) -> Number {
    // `as` clips at the limits and turns NaN into 0.
    Number::Int(x.round_ties_even() as i64)
}

/// Whether a floating point number is clipped when it becomes a signed integer.
pub(super) fn is_beyond_integers(x: f64) -> bool {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    !(-LIMIT..LIMIT).contains(&x)
}

/// The integer that a text begins with.
pub(super) struct IntegerText {
    /// The nearest 64 bits have; 0 if there is none.
    pub number: Number,
    /// The number is not all of the text, or is another.
    pub lost: bool,
}

/// The digits that a text begins with, as an integer.
pub(super) fn integer_prefix(text: &[u8]) -> IntegerText {
    let trimmed = text.trim_ascii();
    let negative = trimmed.first() == Some(&b'-');
    let unsigned = trimmed
        .strip_prefix(b"-")
        .or(trimmed.strip_prefix(b"+"))
        .unwrap_or(trimmed);
    let digits = unsigned
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let mut magnitude = Some(0_u64);
    for digit in &unsigned[..digits] {
        magnitude = magnitude
            .and_then(|n| n.checked_mul(10))
            .and_then(|n| n.checked_add(u64::from(digit - b'0')));
    }
    let mut lost = digits == 0 || digits < unsigned.len();
    let number = match (magnitude, negative) {
        (Some(n), false) => i64::try_from(n).map_or(Number::UInt(n), Number::Int),
        (Some(n), true) if n <= 1 << 63 => Number::Int((n as i64).wrapping_neg()),
        (_, true) => {
            lost = true;
            Number::Int(i64::MIN)
        }
        (None, false) => {
            lost = true;
            Number::UInt(u64::MAX)
        }
    };
    IntegerText { number, lost }
}

/// CAST(text AS SIGNED or UNSIGNED): the digits it begins with.
pub(super) fn text_to_integer(text: &[u8], context: &mut EvalContext<'_>) -> Number {
    let IntegerText { number, lost } = integer_prefix(text);
    if lost {
        context
            .warnings
            .warn(SqlError::truncated_wrong_value("INTEGER", shown(text)));
    }
    number
}

/// The value as a decimal; `None` for NULL.
pub(super) fn decimal(value: &Value, context: &mut EvalContext<'_>) -> Option<Decimal> {
    if let Value::Bytes(text) = value {
        let exact = text_to_decimal(text);
        if exact.garbage {
            context
                .warnings
                .warn(SqlError::truncated_wrong_value("DECIMAL", shown(text)));
        }
        return Some(exact.number);
    }
    if let Value::Json(document) = value {
        if let Some(Value::Bytes(text)) = plain(document) {
            let exact = text_to_decimal(&text);
            if exact.garbage {
                refuse_json("DECIMAL", context);
            }
            return Some(exact.number);
        }
        return Some(of_json(document, "DECIMAL", context).into_decimal());
    }
    number(value, context).map(Number::into_decimal)
}

/// The value as a floating point number; `None` for NULL.
pub(super) fn double(value: &Value, context: &mut EvalContext<'_>) -> Option<f64> {
    number(value, context).map(|number| number.to_f64())
}

/// The value as an `i64`, clipped, for arguments such as positions and lengths.
pub(super) fn argument(value: &Value, context: &mut EvalContext<'_>) -> Option<i64> {
    Some(match integer(value, context)? {
        Number::Int(n) => n,
        Number::UInt(n) => i64::try_from(n).unwrap_or(i64::MAX),
        // `integer` yields integers only.
        Number::Decimal(_) | Number::Double(_) => 0,
    })
}

/// Which dates a conversion takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// What sql_mode allows.
    Allowed,
    /// Also those of which the month or the day is zero: who asks for a part only does not mind.
    ZeroParts,
    /// None of which any part is zero: days are counted.
    Whole,
}

/// Which temporal values a conversion takes.
pub(super) fn acceptable(date: Date, context: &EvalContext<'_>) -> bool {
    accepted(date, Takes::Allowed, context)
}

fn accepted(date: Date, takes: Takes, context: &EvalContext<'_>) -> bool {
    let mode = context.statement.sql_mode;
    let exists = date.is_valid() || mode.has(super::SqlMode::ALLOW_INVALID_DATES);
    let refused = match takes {
        _ if date.is_zero() => takes == Takes::Whole || mode.has(super::SqlMode::NO_ZERO_DATE),
        Takes::Allowed => date.has_zero_part() && mode.has(super::SqlMode::NO_ZERO_IN_DATE),
        Takes::ZeroParts => false,
        Takes::Whole => date.has_zero_part(),
    };
    exists && !refused
}

/// The value as a date and time; `None` for NULL and, with a warning, for what is none.
pub(super) fn datetime(value: &Value, context: &mut EvalContext<'_>) -> Option<DateTime> {
    datetime_of(value, Takes::Allowed, context)
}

/// The same for who takes other dates.
pub(super) fn datetime_of(
    value: &Value,
    takes: Takes,
    context: &mut EvalContext<'_>,
) -> Option<DateTime> {
    let parsed = match value {
        Value::Null => return None,
        Value::DateTime(moment) => return Some(*moment),
        Value::Date(date) => return Some(date.at_midnight()),
        Value::Time(time) => return time_to_datetime(*time, context),
        Value::Bytes(text) => fractions::parse(text, context),
        Value::Json(document) => {
            let value = moment_of_json(document, "DATETIME/TIMESTAMP", context)?;
            return datetime_of(&value, takes, context);
        }
        other => {
            let number = number(other, context)?;
            moment_of_number(&number, fractions::are_cut(context))
        }
    };
    moment_of(parsed, value, takes, context)
}

/// What has been read of a value as a moment; `None`, with a warning, if it is none.
fn moment_of(
    parsed: Option<temporal::Parsed>,
    value: &Value,
    takes: Takes,
    context: &mut EvalContext<'_>,
) -> Option<DateTime> {
    let parsed = parsed.filter(|parsed| accepted(parsed.value.date, takes, context));
    match parsed {
        Some(parsed) => {
            if parsed.truncated && matches!(value, Value::Bytes(_)) {
                warn_temporal("datetime", value, context);
            }
            Some(apply_offset(parsed.value, parsed.offset_seconds, context))
        }
        None => {
            let mut text_of = Vec::new();
            text(value, super::types::NOT_FIXED, &mut text_of);
            context.warnings.warn(SqlError::incorrect_temporal_value(
                "datetime",
                shown(&text_of),
            ));
            None
        }
    }
}

/// The date and time that a number stands for. What follows its point is a part of a second, which
/// a date has not; it is lost then. `cut`: so is what is less than a microsecond, else rounded.
pub(super) fn moment_of_number(number: &Number, cut: bool) -> Option<temporal::Parsed> {
    let (whole, micros) = match number {
        Number::Int(n) => (Some(*n), Some(0)),
        Number::UInt(n) => (i64::try_from(*n).ok(), Some(0)),
        Number::Decimal(n) => {
            let whole = n.with_scale_round(0, RoundingMode::Down);
            let micros = fractions::whole_micros(&(n - &whole), cut);
            (whole.to_i64(), micros.to_i64())
        }
        Number::Double(x) => {
            let micros = (x - x.trunc()) * SECOND as f64;
            let micros = if cut { micros.trunc() } else { micros.round() };
            (x.trunc().to_i64(), micros.to_i64())
        }
    };
    let (whole, micros) = (whole?, micros?);
    if whole == 0 && micros > 0 {
        // Less than half a second is nothing, at no date.
        let micros = u64::try_from(micros)
            .ok()
            .filter(|micros| micros * 2 < SECOND as u64)?;
        let date = Date::default();
        let micros = match number {
            Number::Double(_) => 0,
            _ => micros,
        };
        return Some(temporal::Parsed {
            value: DateTime { date, micros },
            has_time: true,
            truncated: false,
            offset_seconds: None,
        });
    }
    let parsed = temporal::from_number(whole).filter(|_| micros >= 0)?;
    if !parsed.has_time {
        let truncated = micros > 0;
        return Some(temporal::Parsed {
            truncated,
            ..parsed
        });
    }
    let value = with_micros(parsed.value, micros)?;
    Some(temporal::Parsed { value, ..parsed })
}

/// A moment with more microseconds; a date with a zero part is none to be counted from.
pub(super) fn with_micros(moment: DateTime, micros: i64) -> Option<DateTime> {
    let total = moment.micros.checked_add_signed(micros)?;
    if total < temporal::DAY.cast_unsigned() {
        let micros = total;
        return Some(DateTime { micros, ..moment });
    }
    moment.add_micros(micros)
}

/// A moment with a zone of its own, in the session's time zone.
pub(super) fn apply_offset(
    moment: DateTime,
    offset_seconds: Option<i32>,
    context: &EvalContext<'_>,
) -> DateTime {
    match offset_seconds {
        None => moment,
        Some(offset_seconds) => {
            let utc = super::TimeZone::Fixed(offset_seconds).to_utc(moment);
            context.statement.time_zone.to_local(utc)
        }
    }
}

fn warn_temporal(kind: &str, value: &Value, context: &mut EvalContext<'_>) {
    let mut text_of = Vec::new();
    text(value, super::types::NOT_FIXED, &mut text_of);
    context
        .warnings
        .warn(SqlError::truncated_wrong_value(kind, shown(&text_of)));
}

/// A TIME as a moment: on the day of the statement.
pub(super) fn time_to_datetime(time: Time, context: &EvalContext<'_>) -> Option<DateTime> {
    context
        .statement
        .now()
        .date
        .at_midnight()
        .add_micros(time.micros)
}

/// The value as a date; `None` for NULL and, with a warning, for what is none.
pub(super) fn date(value: &Value, takes: Takes, context: &mut EvalContext<'_>) -> Option<Date> {
    match value {
        Value::Date(date) => return Some(*date),
        Value::Time(time) => return day_of_time(*time, context),
        Value::Json(document) => {
            let value = moment_of_json(document, "DATE", context)?;
            return date(&value, takes, context);
        }
        Value::Bytes(text) => {
            // Rounded in every mode.
            let parsed = temporal::parse(text);
            if !parsed.is_some_and(|parsed| accepted(parsed.value.date, takes, context)) {
                warn_temporal("date", value, context);
                return None;
            }
            return moment_of(parsed, value, takes, context).map(|moment| moment.date);
        }
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_) => {
            let date = small_date(value, context);
            if date.is_some_and(|date| accepted(date, takes, context)) {
                return date;
            }
            if let Value::Decimal(number) = value {
                let moment = moment_of_number(
                    &Number::Decimal(number.clone()),
                    fractions::are_cut(context),
                );
                let date = moment.map(|parsed| parsed.value.date);
                let date = date.filter(|date| accepted(*date, takes, context));
                if date.is_none() {
                    warn_temporal("date", value, context);
                }
                return date;
            }
        }
        _ => {}
    }
    datetime_of(value, takes, context).map(|moment| moment.date)
}

/// The day of a TIME: today, or, if it is no time of a day, the day on which it is over if it begins
/// now.
fn day_of_time(time: Time, context: &EvalContext<'_>) -> Option<Date> {
    let now = context.statement.now();
    if (0..temporal::DAY).contains(&time.micros) {
        return Some(now.date);
    }
    now.add_micros(time.micros).map(|end| end.date)
}

/// A number of at most one month is one of the year 2000, as MySQL has it.
fn small_date(number: &Value, context: &mut EvalContext<'_>) -> Option<Date> {
    let number = self::number(number, context)?.into_decimal();
    let number = number.with_scale_round(0, RoundingMode::Down).to_i64()?;
    let number = u8::try_from(number).ok()?;
    (number <= 100).then_some(Date {
        year: 2000,
        month: number / 100,
        day: number % 100,
    })
}

/// The time that a text is. Behind a day there must be more than one digit, or it is cut before
/// that; a number beyond 32 bits is no time.
pub(crate) fn parse_time(text: &[u8]) -> Option<temporal::ParsedTime> {
    let start = text.len() - text.trim_ascii_start().len();
    let first = start + usize::from(text.get(start) == Some(&b'-'));
    let digits = text
        .iter()
        .skip(first)
        .take_while(|byte| byte.is_ascii_digit());
    let end = first + digits.count();
    let rest = &text[end..];
    if let [digit] = rest.trim_ascii_start()
        && digit.is_ascii_digit()
        && rest.len() > 1
    {
        let parsed = temporal::parse_time(&text[..end])?;
        return Some(temporal::ParsedTime {
            truncated: true,
            ..parsed
        });
    }
    let parsed = temporal::parse_time(text)?;
    let number = std::str::from_utf8(&text[first..end]).ok()?;
    let is_small = number.is_empty() || number.parse::<u32>().is_ok();
    (parsed.had_date || is_small).then_some(parsed)
}

/// The value as a time; `None` for NULL and, with a warning, for what is none.
pub(super) fn time(value: &Value, context: &mut EvalContext<'_>) -> Option<Time> {
    let parsed = match value {
        Value::Null => return None,
        Value::Time(time) => return Some(*time),
        Value::DateTime(moment) => return Some(moment.time()),
        Value::Date(_) => return Some(Time::default()),
        Value::Bytes(text) => fractions::parse_clock(text, context),
        Value::Json(document) => {
            let value = moment_of_json(document, "TIME", context)?;
            return time(&value, context);
        }
        // As a signed one.
        Value::UInt(n) if *n > i64::MAX.cast_unsigned() => {
            return time(&Value::Int(n.cast_signed()), context);
        }
        other => {
            let number = decimal(other, context)?;
            let whole = number.with_scale_round(0, RoundingMode::Down);
            let micros = fractions::micros(&(&number - &whole), context);
            let micros = micros.to_i64().unwrap_or(0);
            // Beyond the range of TIME there is none, other than of a text.
            whole
                .to_i64()
                .and_then(temporal::time_from_number)
                .filter(|parsed| !parsed.truncated)
                .map(|mut parsed| {
                    parsed.value.micros += micros;
                    parsed
                })
        }
    };
    time_of(parsed, value, context)
}

/// What has been read of a value as a time; with a warning, if that is not all of it.
pub(super) fn time_of(
    parsed: Option<temporal::ParsedTime>,
    value: &Value,
    context: &mut EvalContext<'_>,
) -> Option<Time> {
    match parsed {
        Some(parsed) if !parsed.truncated => Some(parsed.value),
        parsed => {
            warn_temporal("time", value, context);
            parsed.map(|parsed| parsed.value)
        }
    }
}

/// The value's text form as a string; borrowed if it is a string already. `None` for NULL.
pub(super) fn string<'v>(value: &'v Value, shown: impl Into<TextForm>) -> Option<Cow<'v, [u8]>> {
    let shown = shown.into();
    match value {
        Value::Null => None,
        Value::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
        Value::Float(x) if matches!(shown, TextForm::Digits(DECIMALS_NOT_FIXED)) => {
            Some(Cow::Owned(float_text(*x)))
        }
        other => {
            let mut out = Vec::new();
            text(other, shown, &mut out);
            Some(Cow::Owned(out))
        }
    }
}

/// What a user variable keeps of a value: dates and times become texts. `decimals` as for `text`.
#[must_use]
pub fn for_variable(value: Value, decimals: u8) -> Value {
    match value {
        Value::Date(_) | Value::Time(_) | Value::DateTime(_) => {
            let mut out = Vec::new();
            text(&value, decimals, &mut out);
            Value::Bytes(out)
        }
        Value::Float(x) => Value::Double(x.into()),
        Value::Json(_) => {
            let mut out = Vec::new();
            text(&value, decimals, &mut out);
            Value::Bytes(out)
        }
        Value::Member(member) => member.text.clone(),
        value => value,
    }
}

/// Appends a value's text form, as a client sees it; nothing for NULL.
pub fn text(value: &Value, shown: impl Into<TextForm>, out: &mut Vec<u8>) {
    let shown = shown.into();
    let decimals = shown.digits();
    let fsp = |micros: i64| match decimals {
        0..=6 => decimals,
        _ if micros % SECOND == 0 => 0,
        _ => 6,
    };
    match value {
        Value::Decimal(n) if n.scale() > i64::from(decimals) => {
            let rounded = round(n, decimals.into());
            out.extend_from_slice(rounded.to_plain_string().as_bytes());
        }
        Value::Time(time) => time.write(fsp(time.micros), out),
        Value::DateTime(moment) => moment.write(fsp(moment.micros.cast_signed()), out),
        other => crate::text::put(other, shown, out),
    }
}

/// Makes a value what its expression's type says: for results, whose types the client was told
/// before, where a parameter or the branch of a CASE made it something else. Decimals are cut to
/// the digits that are shown.
#[must_use]
pub fn conform(value: Value, ty: &ExprType, context: &mut EvalContext<'_>) -> Value {
    let Some(column_type) = ty.ty else {
        return value;
    };
    match (column_type, &value) {
        (_, Value::Null)
        | (ColumnType::Double, Value::Double(_))
        | (ColumnType::Float, Value::Float(_))
        | (ColumnType::Date, Value::Date(_))
        | (ColumnType::Time(_), Value::Time(_))
        | (ColumnType::DateTime(_) | ColumnType::Timestamp(_), Value::DateTime(_))
        | (ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_), Value::Bytes(_))
        | (ColumnType::Enum(_) | ColumnType::Set(_), _)
        | (ColumnType::Json, _) => value,
        (ColumnType::Decimal { scale: wanted, .. }, Value::Decimal(number))
            if number.scale() <= i64::from(wanted) =>
        {
            value
        }
        (ColumnType::Decimal { scale: wanted, .. }, other) => {
            decimal(other, context).map_or(Value::Null, |number| {
                let kept = number.scale().min(wanted.into());
                Value::Decimal(round(&number, kept))
            })
        }
        (ColumnType::Double, other) => double(other, context).map_or(Value::Null, Value::Double),
        (ColumnType::Float, other) => {
            double(other, context).map_or(Value::Null, |x| Value::Float(x as f32))
        }
        (ColumnType::Date, other) => {
            date(other, Takes::Allowed, context).map_or(Value::Null, Value::Date)
        }
        (ColumnType::Time(_), other) => time(other, context).map_or(Value::Null, Value::Time),
        (ColumnType::DateTime(_) | ColumnType::Timestamp(_), other) => {
            datetime(other, context).map_or(Value::Null, Value::DateTime)
        }
        (ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_), other) => {
            let mut out = Vec::new();
            text(other, super::types::NOT_FIXED, &mut out);
            Value::Bytes(out)
        }
        (_, Value::Int(n)) if ty.unsigned => Value::UInt(n.cast_unsigned()),
        (_, Value::UInt(n)) if !ty.unsigned => i64::try_from(*n).map_or(value, Value::Int),
        (_, Value::Int(_) | Value::UInt(_)) => value,
        (_, other) => match integer(other, context) {
            Some(Number::Int(n)) if ty.unsigned => Value::UInt(n.cast_unsigned()),
            Some(number) => number.into_value(),
            None => Value::Null,
        },
    }
}

/// The value as a table would keep it in a column of the type: a decimal has all the digits of it.
#[must_use]
pub fn kept(value: Value, ty: &ExprType, context: &mut EvalContext<'_>) -> Value {
    padded(conform(value, ty, context), ty)
}

/// Shows as many digits of a decimal as the type has; IF and CASE leave them as they are.
pub(super) fn padded(value: Value, ty: &ExprType) -> Value {
    match (value, ty.ty) {
        (Value::Decimal(number), Some(ColumnType::Decimal { scale: digits, .. })) => {
            let digits = i64::from(digits).max(number.scale());
            Value::Decimal(number.with_scale(digits))
        }
        (value, _) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_the_start_of_texts() {
        assert_eq!(numeric_prefix(b" -12.5e3x"), ("-12.5e3", true));
        assert_eq!(numeric_prefix(b"1e"), ("1", true));
        assert_eq!(numeric_prefix(b".5 "), (".5", false));
        assert_eq!(numeric_prefix(b"."), ("", true));
        assert_eq!(numeric_prefix(b"-"), ("", true));
        assert!(text_to_decimal(b"1e999999999").overflow);
        assert_eq!(text_to_decimal(b"12.50").number.to_plain_string(), "12.50");
    }
}
