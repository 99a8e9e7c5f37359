//! CAST, CONVERT and COLLATE.

use super::{Function, function};
use crate::{
    error::SqlError,
    expr::{
        EvalContext, ExprType, SqlMode,
        convert::{self, Number, Takes},
        fractions, reinterpret,
    },
    text::FLOAT_CHARS,
};
use cohort_engine::types::{Collation, ColumnType, Date, Value, decimal as exact, temporal};

/// A text without the digits of a fraction of a second that are cut. It has no name in SQL.
pub(in crate::expr) static SHORTENED: Function = function(
    "shortened",
    (1, 1),
    |t| t.ty(0),
    |args, context| {
        Ok(match args.value(0, context)?.into_owned() {
            Value::Bytes(text) => Value::Bytes(fractions::read(&text, context).into_owned()),
            other => other,
        })
    },
);

/// What CAST AS BINARY(n) has made, filled up to its length with zeros. It has no name in SQL.
pub(in crate::expr) static PADDED: Function = function(
    "padded",
    (1, 1),
    |t| t.ty(0),
    |args, context| {
        Ok(match args.value(0, context)?.into_owned() {
            Value::Bytes(mut bytes) => {
                bytes.resize(args.ty.length as usize, 0);
                Value::Bytes(bytes)
            }
            null => null,
        })
    },
);

/// Converts a value of the type `from` to the type `to`.
pub(in crate::expr) fn cast(
    value: &Value,
    from: &ExprType,
    to: &ExprType,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let Some(column_type) = to.ty else {
        return Ok(value.clone());
    };
    if value.is_null() {
        return Ok(Value::Null);
    }
    if let (Some(ColumnType::Bit(_)), true) = (from.ty, to.is_string()) {
        let bytes = convert::string(value, from.text_form()).unwrap_or_default();
        let bytes = Value::Bytes(bytes.into_owned());
        return cast(&bytes, &from.with_bytes(), to, context);
    }
    let first_day = match column_type {
        ColumnType::Date | ColumnType::DateTime(_) => first_day(value, from),
        _ => None,
    };
    let value = first_day.as_ref().unwrap_or(value);
    Ok(match column_type {
        ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_) => {
            text(value, from, column_type, to.collation, context)
        }
        ColumnType::Decimal { precision, scale } => decimal(value, precision, scale, context),
        ColumnType::Double => convert::double(value, context).map_or(Value::Null, Value::Double),
        ColumnType::Float => {
            convert::double(value, context).map_or(Value::Null, |x| Value::Float(x as f32))
        }
        ColumnType::Date => date(value, context)
            .filter(|date| convert::acceptable(*date, context))
            .map_or(Value::Null, Value::Date),
        ColumnType::Time(fsp) => {
            let time = convert::time(value, context);
            time.map_or(Value::Null, |time| {
                Value::Time(fractions::time(time, fsp, context))
            })
        }
        ColumnType::DateTime(fsp) | ColumnType::Timestamp(fsp) => convert::datetime(value, context)
            .filter(|moment| convert::acceptable(moment.date, context))
            .and_then(|moment| fractions::moment(moment, fsp, context))
            .map_or(Value::Null, Value::DateTime),
        ColumnType::Year => year(value, context),
        _ => match integer(value, to.unsigned, context) {
            Some(Number::Int(n)) if to.unsigned => {
                if n < 0 && matches!(value, Value::Bytes(_)) {
                    context.warnings.warn(SqlError::unknown_error(
                        "Cast to unsigned converted negative integer to its positive complement",
                    ));
                }
                Value::UInt(n.cast_unsigned())
            }
            Some(Number::UInt(n)) if !to.unsigned => Value::Int(n.cast_signed()),
            Some(number) => number.into_value(),
            None => Value::Null,
        },
    })
}

/// A fraction of a second that is rounded may make it the next day.
pub(super) fn date(value: &Value, context: &mut EvalContext<'_>) -> Option<Date> {
    match value {
        Value::Bytes(text) if fractions::are_cut(context) => {
            let read = fractions::read(text, context).into_owned();
            convert::date(&Value::Bytes(read), Takes::Allowed, context)
        }
        value => convert::date(value, Takes::Allowed, context),
    }
}

/// A decimal that is cast to an unsigned integer may be one beyond the signed ones.
fn integer(value: &Value, unsigned: bool, context: &mut EvalContext<'_>) -> Option<Number> {
    match value {
        Value::Decimal(number) if unsigned => match convert::decimal_to_integer(number) {
            (whole @ Number::UInt(_), clipped) => {
                if clipped {
                    let shown = number.to_plain_string();
                    let lost = SqlError::truncated_wrong_value("DECIMAL", shown);
                    context.warnings.warn(lost);
                }
                Some(whole)
            }
            _ => convert::integer(value, context),
        },
        value => convert::integer(value, context),
    }
}

/// A YEAR where a date is wanted: its first day.
pub(in crate::expr) fn first_day(value: &Value, from: &ExprType) -> Option<Value> {
    let (Some(ColumnType::Year), Value::UInt(year)) = (from.ty, value) else {
        return None;
    };
    Some(Value::Date(Date {
        year: u16::try_from(*year).ok()?,
        month: 1,
        day: 1,
    }))
}

/// How many characters a DOUBLE may take as a text.
const DOUBLE_CHARS: usize = 22;

fn text(
    value: &Value,
    from: &ExprType,
    column_type: ColumnType,
    collation: Collation,
    context: &mut EvalContext<'_>,
) -> Value {
    let mut bytes = convert::string(value, from.text_form())
        .unwrap_or_default()
        .into_owned();
    let limit = match column_type {
        ColumnType::Char(length) => Some(usize::from(length)),
        ColumnType::VarChar(length) => Some(length as usize),
        _ => None,
    };
    // A small number has its digits where they fit: 5.9e-13 for 0.00000000000059.
    if let (Value::Double(x), Some(limit)) = (value, limit)
        && bytes.len() > limit
        && limit >= DOUBLE_CHARS
    {
        bytes = format!("{x:e}").into_bytes();
    }
    let Some(mut bytes) = in_charset(bytes, from, collation, context) else {
        return Value::Null;
    };
    // What a number needs it gets where nobody has said a length.
    let own = match value {
        Value::Double(_) => DOUBLE_CHARS,
        Value::Float(_) => FLOAT_CHARS,
        _ => usize::MAX,
    };
    if let Some(limit) = limit.filter(|limit| *limit < own) {
        let end = collation.char_offset(&bytes, limit);
        if end < bytes.len() {
            let kind = if collation.is_binary() {
                "BINARY"
            } else {
                "CHAR"
            };
            let lost =
                SqlError::truncated_wrong_value(format!("{kind}({limit})"), convert::shown(&bytes));
            context.warnings.warn(lost);
            bytes.truncate(end);
        }
    }
    Value::Bytes(bytes)
}

/// A text in another character set, or as bytes, or made of bytes: `None` if they are no
/// characters.
fn in_charset(
    bytes: Vec<u8>,
    from: &ExprType,
    to: Collation,
    context: &mut EvalContext<'_>,
) -> Option<Vec<u8>> {
    // Numbers and dates are ASCII.
    if !from.is_string() {
        return Some(bytes);
    }
    let charset = to.charset();
    let text = reinterpret(bytes.clone(), from.collation, to);
    let Some(at) = charset.foreign_at(&text) else {
        return Some(text);
    };
    if from.is_bytes() {
        let at = charset.encode(&text[..at]).len();
        let shown = hex_digits(&bytes[at..]);
        let invalid = SqlError::invalid_character_string(charset.name(), shown);
        context.warnings.warn(invalid);
        if charset.is_unicode() {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&text);
    Some(charset.without_foreign(&text).into())
}

/// The first of some bytes as MySQL shows them where they are no characters.
pub(in crate::expr) fn hex_digits(bytes: &[u8]) -> String {
    const SHOWN: usize = 3;
    let digits = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02X}"));
    digits.collect()
}

fn decimal(value: &Value, precision: u8, scale: u8, context: &mut EvalContext<'_>) -> Value {
    let Some(number) = convert::decimal(value, context) else {
        return Value::Null;
    };
    let rounded = convert::round(&number, scale.into());
    let limit = exact::greatest(precision, scale);
    if rounded.abs() > limit {
        // It is no column; MySQL names it so where the expression has no name either.
        context.warnings.warn(SqlError::out_of_range("(null)", 1));
        let clipped = if rounded.is_negative() { -limit } else { limit };
        return Value::Decimal(clipped);
    }
    Value::Decimal(rounded)
}

fn year(value: &Value, context: &mut EvalContext<'_>) -> Value {
    let is_date = matches!(value, Value::Date(_) | Value::DateTime(_));
    let year = match value {
        Value::Date(date) => i64::from(date.year),
        Value::DateTime(moment) => i64::from(moment.date.year),
        Value::Time(_) => i64::from(context.statement.now().date.year),
        Value::Bytes(text) if !is_year(text) => {
            let error = SqlError::incorrect_value("YEAR", convert::shown(text));
            context.warnings.warn(error);
            return Value::Null;
        }
        Value::Bytes(text) => {
            let whole = convert::integer_prefix(text);
            if whole.lost {
                let lost = SqlError::truncated_wrong_value("YEAR", convert::shown(text));
                context.warnings.warn(lost);
            }
            match whole.number {
                Number::Int(n) => n,
                _ => i64::MAX,
            }
        }
        other => match convert::argument(other, context) {
            Some(n) => n,
            None => return Value::Null,
        },
    };
    match year {
        0 if matches!(value, Value::Bytes(_)) => Value::UInt(2000),
        0 => Value::UInt(0),
        1..=69 if !is_date => Value::UInt((year + 2000).cast_unsigned()),
        70..=99 if !is_date => Value::UInt((year + 1900).cast_unsigned()),
        1901..=2155 => Value::UInt(year.cast_unsigned()),
        _ => {
            context
                .warnings
                .warn(SqlError::truncated_wrong_value("YEAR", year));
            Value::Null
        }
    }
}

/// Whether a text begins with an integer, which is not negative.
fn is_year(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    let count = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    std::str::from_utf8(&digits[..count]).is_ok_and(|digits| digits.parse::<u64>().is_ok())
}

/// The literal that DATE '…', TIME '…' or TIMESTAMP '…' stands for; 1525 if it is none.
pub(in crate::expr) fn temporal_literal(
    column_type: ColumnType,
    text: &[u8],
    mode: SqlMode,
) -> Result<(Value, ExprType), SqlError> {
    // As many digits of a second as were written.
    let fsp = super::fraction_digits(text);
    let shown = || convert::shown(text);
    match column_type {
        ColumnType::Date => match temporal::parse(text) {
            Some(parsed)
                if parsed.value.date.is_valid() && !parsed.has_time && !parsed.truncated =>
            {
                Ok((
                    Value::Date(parsed.value.date),
                    ExprType::temporal(ColumnType::Date),
                ))
            }
            _ => Err(SqlError::incorrect_value("DATE", shown())),
        },
        ColumnType::Time(_) => match convert::parse_time(text) {
            Some(parsed) if !parsed.truncated => Ok((
                Value::Time(parsed.value),
                ExprType::temporal(ColumnType::Time(fsp)),
            )),
            _ => Err(SqlError::incorrect_value("TIME", shown())),
        },
        _ => match temporal::parse(&fractions::read_by(text, mode)) {
            Some(parsed)
                if parsed.value.date.is_valid() && parsed.has_time && !parsed.truncated =>
            {
                Ok((
                    Value::DateTime(parsed.value),
                    ExprType::temporal(ColumnType::DateTime(fsp)),
                ))
            }
            _ => Err(SqlError::incorrect_value("DATETIME", shown())),
        },
    }
}
