//! Conversion for storing into a column: errors in strict mode, else warnings and the nearest
//! value that fits.

mod origin;
mod text;

pub use origin::Origin;

use super::{
    EvalContext, Expr, SqlMode, as_stored_number,
    convert::{self, Flaw, Number},
    fractions,
    types::NOT_FIXED,
};
use crate::{error::SqlError, json, text::json::print};
use cohort_engine::types::{
    Charset, Collation, Column, ColumnType, Date, DateTime, Decimal, Json, Time, Value, decimal,
    json::Scalar,
    member::without_end_spaces,
    temporal::{self, Parsed, SECOND},
};
use std::borrow::Cow;

/// The last moment that TIMESTAMP holds: 2038-01-19 03:14:07.999999 UTC, in microseconds.
pub const TIMESTAMP_MAX: i64 = (i32::MAX as i64) * SECOND + 999_999;

/// No number above it is a date and time, let alone a time.
const TIME_NUMBER_MAX: f64 = 99_991_231_235_959.0;

/// A number from here on has a date, where a time is wanted.
const DATE_NUMBER_MIN: f64 = 10_000_000_000.0;

/// A column that a value is stored into, and the rules for it.
struct Target<'t, 'c> {
    column: &'t Column,
    context: &'t mut EvalContext<'c>,
    /// A text, or bytes, as it was before it came into the column's character set.
    source: Option<(Vec<u8>, Collation)>,
    /// Whether another column holds it.
    held: bool,
}

/// Converts a value for storing it in a column: strict mode errors (1048, 1264, 1265, 1292, 1366,
/// 1406), else warnings and the nearest value. A TIMESTAMP leaves the session's time zone here.
#[inline]
pub fn assign(
    column: &Column,
    value: Value,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    // The usual cases first: nothing to convert.
    match (column.ty, &value) {
        (ColumnType::BigInt, Value::Int(_)) if !column.unsigned => return Ok(value),
        (ColumnType::Int, Value::Int(n)) if !column.unsigned && i32::try_from(*n).is_ok() => {
            return Ok(value);
        }
        (ColumnType::Double, Value::Double(x))
            if !column.unsigned && x.is_finite() && column.real_digits.is_none() =>
        {
            return Ok(value);
        }
        (_, Value::Null) if column.nullable => return Ok(value),
        _ => {}
    }
    Target {
        column,
        context,
        source: None,
        held: false,
    }
    .store(value)
}

/// A text becomes bytes, or bytes become a text: both in the bytes of the text's character set.
pub fn reinterpret(bytes: Vec<u8>, from: Collation, to: Collation) -> Vec<u8> {
    let (from, to) = (from.charset(), to.charset());
    let changed = if to == Charset::Binary {
        from.encode(&bytes)
    } else if from == Charset::Binary {
        to.decode(&bytes)
    } else {
        return bytes;
    };
    match changed {
        Cow::Owned(changed) => changed,
        Cow::Borrowed(_) => bytes,
    }
}

/// `assign` of a value that comes from somewhere.
#[inline]
pub fn assign_from(
    column: &Column,
    value: Value,
    origin: impl FnOnce() -> Origin,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    match value {
        Value::Time(_)
        | Value::DateTime(_)
        | Value::UInt(_)
        | Value::Decimal(_)
        | Value::Float(_)
        | Value::Double(_)
            if column.ty.has_collation() =>
        {
            assign(column, origin().as_stored(value, column), context)
        }
        Value::Bytes(bytes) if !column.ty.is_string() => {
            let source = Some((Vec::new(), origin().collation(context)));
            Target {
                column,
                context,
                source,
                held: false,
            }
            .store(Value::Bytes(bytes))
        }
        Value::Bytes(bytes)
            if column.ty.is_string()
                && (column.is_binary() || !column.collation.charset().is_as_stored()) =>
        {
            let from = origin().collation(context);
            let text = reinterpret(bytes.clone(), from, column.collation);
            let source = Some((bytes, from));
            Target {
                column,
                context,
                source,
                held: false,
            }
            .store(Value::Bytes(text))
        }
        Value::Json(_) | Value::Date(_) | Value::Time(_) | Value::DateTime(_) => {
            let origin = origin();
            let is_number = !column.ty.is_temporal() && !column.ty.has_collation();
            let value = match is_number {
                true => origin.as_number(value),
                false => value,
            };
            Target {
                column,
                context,
                source: None,
                held: origin.held,
            }
            .store(value)
        }
        value => assign(column, value, context),
    }
}

/// The expression of a value for a column: numbers take a hexadecimal or bit literal as one.
#[must_use]
pub fn for_column(column: &Column, expr: Expr) -> Expr {
    let is_json = column.ty == ColumnType::Json;
    if is_json
        || column.ty.has_collation()
        || column.ty.is_temporal() && column.ty != ColumnType::Year
    {
        expr
    } else {
        as_stored_number(expr)
    }
}

/// What a column that must not be NULL gets instead, where that is not an error: zero or empty.
#[must_use]
pub fn implicit_default(column: &Column) -> Value {
    match column.ty {
        ColumnType::Float => Value::Float(0.0),
        ColumnType::Double => Value::Double(0.0),
        ColumnType::Decimal { scale, .. } => Value::Decimal(Decimal::short(0, scale.into())),
        ColumnType::Char(length) if column.is_binary() => Value::Bytes(vec![0; length.into()]),
        ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_) => {
            Value::Bytes(Vec::new())
        }
        ColumnType::Date => Value::Date(Date::default()),
        ColumnType::Time(_) => Value::Time(Time::default()),
        ColumnType::DateTime(_) | ColumnType::Timestamp(_) => Value::DateTime(DateTime::default()),
        ColumnType::Year | ColumnType::Bit(_) => Value::UInt(0),
        ColumnType::Json => Value::Json(Json::scalar(&Scalar::Null)),
        ColumnType::Enum(_) | ColumnType::Set(_) => member(column, 0),
        ColumnType::TinyInt
        | ColumnType::SmallInt
        | ColumnType::MediumInt
        | ColumnType::Int
        | ColumnType::BigInt => {
            if column.unsigned {
                Value::UInt(0)
            } else {
                Value::Int(0)
            }
        }
    }
}

/// The value of an ENUM or SET with a number that it has.
fn member(column: &Column, number: u64) -> Value {
    column.member(number).unwrap_or_default()
}

impl Target<'_, '_> {
    fn store(mut self, value: Value) -> Result<Value, SqlError> {
        if value.is_null() {
            return self.null();
        }
        let value = match value {
            // What was no member of another ENUM, or nothing of a SET, stays so.
            Value::Member(from) if from.signed() == 0 && self.column.ty.has_members() => {
                return Ok(member(self.column, 0));
            }
            // As a number only where one is kept.
            Value::Member(member)
                if self.column.ty.has_collation() || self.column.ty.is_temporal() =>
            {
                member.text.clone()
            }
            Value::Json(document) if self.column.ty != ColumnType::Json => {
                self.unwrapped(&document)
            }
            value => value,
        };
        // A document that is no moment.
        if value.is_null() {
            return match self.held {
                true => Ok(implicit_default(self.column)),
                false => self.null(),
            };
        }
        match self.column.ty {
            ColumnType::Float | ColumnType::Double => self.floating(&value),
            ColumnType::Decimal { precision, scale } => self.decimal(&value, precision, scale),
            ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_) => {
                self.string(value)
            }
            ColumnType::Date => self.date(&value),
            ColumnType::Time(fsp) => self.time(&value, fsp),
            ColumnType::DateTime(fsp) | ColumnType::Timestamp(fsp) => self.datetime(&value, fsp),
            ColumnType::Year => self.year(&value),
            ColumnType::Enum(_) => self.one(&value),
            ColumnType::Set(_) => self.several(&value),
            ColumnType::Bit(bits) => self.bits(&value, bits),
            ColumnType::Json => self.json(value),
            ColumnType::TinyInt
            | ColumnType::SmallInt
            | ColumnType::MediumInt
            | ColumnType::Int
            | ColumnType::BigInt => self.integer(&value),
        }
    }

    /// An error in strict mode, else a warning.
    fn lossy(&mut self, error: SqlError) -> Result<(), SqlError> {
        if self.context.is_strict() {
            return Err(error);
        }
        self.context.warnings.warn(error);
        Ok(())
    }

    fn out_of_range(&mut self) -> Result<(), SqlError> {
        self.lossy(SqlError::out_of_range(
            &self.column.name,
            self.context.row_number,
        ))
    }

    fn truncated(&self) -> SqlError {
        SqlError::data_truncated(&self.column.name, self.context.row_number)
    }

    fn incorrect(&self, kind: &str, text: &[u8]) -> SqlError {
        let (name, row) = (&self.column.name, self.context.row_number);
        SqlError::incorrect_value_for_column(kind, self.shown(text), name, row)
    }

    /// A text for an error: of bytes those that are no letters as numbers.
    fn shown(&self, text: &[u8]) -> String {
        match &self.source {
            Some((_, from)) if from.is_binary() => convert::printable_value(text),
            _ => convert::shown(text),
        }
    }

    fn null(self) -> Result<Value, SqlError> {
        if self.column.nullable {
            return Ok(Value::Null);
        }
        // In the column that counts it asks for a number, also where a row has one already.
        if self.context.inserts && self.column.auto_increment {
            return Ok(implicit_default(self.column));
        }
        let error = SqlError::bad_null(&self.column.name);
        if !self.context.ignore {
            return Err(error);
        }
        if self.context.inserts {
            self.context.warnings.warn_once(error);
        } else {
            self.context.warnings.warn(error);
        }
        Ok(implicit_default(self.column))
    }

    /// A document as the column takes it: a number, a moment, or else a text. What is none is told.
    fn unwrapped(&mut self, document: &Json) -> Value {
        let context = &mut *self.context;
        match self.column.ty {
            ColumnType::TinyInt
            | ColumnType::SmallInt
            | ColumnType::MediumInt
            | ColumnType::Int
            | ColumnType::BigInt => convert::of_json(document, "INTEGER", context).into_value(),
            ColumnType::Year if self.held => {
                convert::of_json(document, "INTEGER", context).into_value()
            }
            ColumnType::Float | ColumnType::Double => {
                convert::of_json(document, "DOUBLE", context).into_value()
            }
            ColumnType::Decimal { .. } => {
                convert::of_json(document, "DECIMAL", context).into_value()
            }
            ColumnType::Date => moment(document, "DATE", context),
            ColumnType::Time(_) => moment(document, "TIME", context),
            ColumnType::DateTime(_) | ColumnType::Timestamp(_) => {
                moment(document, "DATETIME/TIMESTAMP", context)
            }
            ColumnType::Char(_)
            | ColumnType::VarChar(_)
            | ColumnType::Text(_)
            | ColumnType::Year
            | ColumnType::Enum(_)
            | ColumnType::Set(_)
            | ColumnType::Bit(_)
            | ColumnType::Json => {
                let mut text = Vec::new();
                print(&document.root(), &mut text);
                Value::Bytes(text)
            }
        }
    }

    /// A document, or the one that a text is; 3140 of all else. (No mode takes it.)
    fn json(&mut self, value: Value) -> Result<Value, SqlError> {
        let name = &self.column.name;
        let text = match value {
            Value::Json(document) => return Ok(Value::Json(document)),
            Value::Bytes(text) => text,
            _ => {
                let why = "not a JSON text, may need CAST";
                return Err(SqlError::invalid_json_text(why, 0, name));
            }
        };
        if self
            .source
            .as_ref()
            .is_some_and(|(_, from)| from.is_binary())
        {
            return Err(SqlError::invalid_json_charset(Collation::Binary.name()));
        }
        let max = self.context.statement.max_allowed_packet;
        json::stored(&text, name, max).map(Value::Json)
    }

    fn integer(&mut self, value: &Value) -> Result<Value, SqlError> {
        let mut lost = None;
        let wide = match value {
            Value::Int(n) => i128::from(*n),
            Value::UInt(n) => i128::from(*n),
            Value::Bytes(text) => {
                let number;
                (number, lost) = self.text_to_integer(text);
                number
            }
            moment @ (Value::DateTime(_) | Value::Time(_)) => {
                match convert::integer(moment, self.context) {
                    Some(Number::Int(n)) => n.into(),
                    _ => 0,
                }
            }
            other => match convert::number(other, self.context) {
                Some(Number::Int(n)) => n.into(),
                Some(Number::UInt(n)) => n.into(),
                // An unsigned column refuses a negative decimal, even one that rounds to zero.
                Some(Number::Decimal(n)) if self.column.unsigned && n.is_negative() => {
                    convert::decimal_to_wide(&n).min(-1)
                }
                Some(Number::Decimal(n)) => convert::decimal_to_wide(&n),
                // `as` clips.
                Some(Number::Double(x)) => x.round_ties_even() as i128,
                None => 0,
            },
        };
        let bits = self.column.ty.integer_bytes() * 8;
        let (low, high) = if self.column.unsigned {
            (0, (1_i128 << bits) - 1)
        } else {
            (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
        };
        let clipped = wide.clamp(low, high);
        if clipped != wide {
            self.out_of_range()?;
        } else if let Some(error) = lost {
            self.lossy(error)?;
        }
        Ok(if self.column.unsigned {
            Value::UInt(clipped as u64)
        } else {
            Value::Int(clipped as i64)
        })
    }

    /// The number at the start of a text, rounded; what is wrong if it is not all of the text.
    fn text_to_integer(&self, text: &[u8]) -> (i128, Option<SqlError>) {
        let (number, flaw) = convert::stored_integer(text);
        let lost = flaw.map(|flaw| match flaw {
            Flaw::NoNumber => self.incorrect("integer", text),
            Flaw::More => self.truncated(),
        });
        (number, lost)
    }

    fn floating(&mut self, value: &Value) -> Result<Value, SqlError> {
        let mut x = match value {
            Value::Bytes(text) => {
                let (number, garbage) = convert::text_prefix_f64(text);
                if garbage {
                    let double = self.column.ty == ColumnType::Double;
                    let error = self.incorrect(if double { "DOUBLE" } else { "FLOAT" }, text);
                    self.lossy(error)?;
                }
                number
            }
            other => convert::double(other, self.context).unwrap_or(0.0),
        };
        if x.is_nan() {
            self.out_of_range()?;
            return Ok(if self.column.nullable {
                Value::Null
            } else {
                implicit_default(self.column)
            });
        }
        if self.column.unsigned && x < 0.0 {
            self.out_of_range()?;
            x = 0.0;
        }
        if let Some((digits, scale)) = self.column.real_digits {
            x = self.fixed(x, digits, scale)?;
        }
        if self.column.ty == ColumnType::Double {
            if x.is_infinite() {
                self.out_of_range()?;
                x = f64::MAX.copysign(x);
            }
            return Ok(Value::Double(x));
        }
        let mut narrow = x as f32;
        if narrow.is_infinite() {
            self.out_of_range()?;
            narrow = f32::MAX.copysign(narrow);
        }
        Ok(Value::Float(narrow))
    }

    /// The nearest number with so many digits after the point; the greatest with so many digits if
    /// it is beyond it. Computed as MySQL does, so that the bits are the same.
    fn fixed(&mut self, x: f64, digits: u8, scale: u8) -> Result<f64, SqlError> {
        let unit = 10_f64.powi(scale.into());
        let max = 10_f64.powi((digits - scale).into()) - 1.0 / unit;
        let max = max.min(match self.column.ty {
            ColumnType::Float => f64::from(f32::MAX),
            _ => f64::MAX,
        });
        let x = if x.is_finite() {
            let whole = x.floor();
            whole + ((x - whole) * unit).round_ties_even() / unit
        } else {
            x
        };
        if x.abs() > max {
            self.out_of_range()?;
        }
        Ok(x.clamp(-max, max))
    }

    fn decimal(&mut self, value: &Value, precision: u8, scale: u8) -> Result<Value, SqlError> {
        let mut cut = false;
        let number = match value {
            Value::Bytes(text) => {
                let exact = convert::text_to_decimal(text);
                let strict = self.context.is_strict();
                // Outside strict mode a number that is too large is out of range, see below.
                if exact.garbage || exact.overflow && strict {
                    let (prefix, _) = convert::numeric_prefix(text);
                    if prefix.is_empty() || strict {
                        let error = self.incorrect("decimal", text);
                        self.lossy(error)?;
                    } else {
                        let note = self.truncated();
                        self.context.warnings.note(note);
                    }
                }
                cut = exact.cut;
                exact.number
            }
            other => convert::decimal(other, self.context).unwrap_or_default(),
        };
        let negative = number.is_negative();
        if negative && self.column.unsigned {
            self.out_of_range()?;
            return Ok(implicit_default(self.column));
        }
        let rounded = convert::round(&number, scale.into());
        let limit = decimal::greatest(precision, scale);
        if rounded.abs() > limit {
            self.out_of_range()?;
            let clipped = if negative { -limit } else { limit };
            return Ok(Value::Decimal(clipped));
        }
        if cut || rounded != number {
            let note = self.truncated();
            self.context.warnings.note(note);
        }
        Ok(Value::Decimal(rounded))
    }

    /// 1265 in strict mode, else a warning.
    fn cut(&mut self) -> Result<(), SqlError> {
        let error = self.truncated();
        self.lossy(error)
    }

    /// The member of an ENUM: its text, a text that is its number, or its number.
    fn one(&mut self, value: &Value) -> Result<Value, SqlError> {
        let members = &self.column.members;
        let count = members.texts().len() as u64;
        let (number, fits) = match value {
            Value::Bytes(text) => {
                /// What is longer is no number.
                const DIGITS_MAX: usize = 5;
                let text = without_end_spaces(text);
                match members.position(text, self.column.collation) {
                    Some(position) => (position as u64 + 1, true),
                    None if text.len() > DIGITS_MAX => (0, false),
                    None => match whole_number(text).filter(|number| *number <= count) {
                        Some(number) => (number, true),
                        None => (0, false),
                    },
                }
            }
            other => match self.wide_number(other)? {
                Some(number) if (1..=count).contains(&number) => (number, true),
                _ => (0, false),
            },
        };
        if !fits {
            self.cut()?;
        }
        Ok(member(self.column, number))
    }

    /// The members of a SET: their texts with commas between them, a text that is its number, or
    /// its number.
    fn several(&mut self, value: &Value) -> Result<Value, SqlError> {
        let all = self.column.members.all();
        let (bits, fits) = match value {
            Value::Bytes(text) => {
                let (bits, found) = self.column.members.bits(text, self.column.collation);
                match whole_number(text).filter(|number| number & !all == 0) {
                    _ if found => (bits, true),
                    Some(number) => (number, true),
                    None => (bits, false),
                }
            }
            other => match self.wide_number(other)? {
                Some(number) => (number & all, number & !all == 0),
                None => (0, false),
            },
        };
        if !fits {
            self.cut()?;
        }
        Ok(member(self.column, bits))
    }

    /// The bits of a number, or those that the bytes of a text are.
    fn bits(&mut self, value: &Value, width: u8) -> Result<Value, SqlError> {
        let mask = u64::MAX >> (64 - u32::from(width.clamp(1, 64)));
        let mut shown = Vec::new();
        let number = match value {
            Value::Bytes(bytes) => bits_of_bytes(bytes),
            Value::DateTime(_) | Value::Time(_) if self.held => {
                match convert::integer(value, self.context) {
                    Some(Number::Int(n)) => Some(n.cast_unsigned()),
                    _ => None,
                }
            }
            Value::Date(_) | Value::Time(_) | Value::DateTime(_) => {
                convert::text(value, NOT_FIXED, &mut shown);
                bits_of_bytes(&shown)
            }
            Value::Decimal(number) => {
                let wide = convert::decimal_to_wide(number);
                let near = wide.clamp(0, u64::MAX.into());
                if near != wide || number.is_negative() {
                    self.out_of_range()?;
                }
                Some(near as u64)
            }
            other => self.wide_number(other)?,
        };
        let fits = number.filter(|number| number & !mask == 0);
        if fits.is_none() {
            let (name, row) = (&self.column.name, self.context.row_number);
            // Under IGNORE it is the error of strict mode that becomes a warning.
            let lost = match self.context.statement.sql_mode.has(SqlMode::STRICT) {
                true => SqlError::data_too_long(name, row),
                false => SqlError::out_of_range(name, row),
            };
            self.lossy(lost)?;
        }
        Ok(Value::UInt(fits.unwrap_or(mask)))
    }

    /// A number as 64 bits, its fraction cut off; `None` if it is none of the kind.
    fn wide_number(&mut self, value: &Value) -> Result<Option<u64>, SqlError> {
        Ok(match value {
            Value::Date(_) | Value::Time(_) | Value::DateTime(_) => {
                let mut text = Vec::new();
                convert::text(value, NOT_FIXED, &mut text);
                whole_number(&text)
            }
            other => match convert::number(other, self.context) {
                Some(Number::Int(number)) => Some(number.cast_unsigned()),
                Some(Number::UInt(number)) => Some(number),
                Some(Number::Double(x)) => Some((x as i64).cast_unsigned()),
                Some(number @ Number::Decimal(_)) => Some((number.to_f64() as i64).cast_unsigned()),
                None => None,
            },
        })
    }

    /// 1292 as MySQL words it, with the value.
    fn incorrect_temporal(&self, kind: &str, value: &Value) -> SqlError {
        let mut text = Vec::new();
        convert::text(value, NOT_FIXED, &mut text);
        let (name, row) = (&self.column.name, self.context.row_number);
        SqlError::incorrect_temporal(kind, self.shown(&text), name, row)
    }

    /// A date or time that is none: 1292 in strict mode, else a warning that it was out of range
    /// or (`readable` is false) no date at all.
    fn bad_temporal(&mut self, kind: &str, value: &Value, readable: bool) -> Result<(), SqlError> {
        if self.context.is_strict() {
            return Err(self.incorrect_temporal(kind, value));
        }
        let warning = if readable {
            SqlError::out_of_range(&self.column.name, self.context.row_number)
        } else {
            self.truncated()
        };
        self.context.warnings.warn(warning);
        Ok(())
    }

    /// A part of a date and time that the column does not keep: a note.
    fn part_lost(&mut self, kind: &str, value: &Value) {
        let note = if self.context.is_strict() {
            self.incorrect_temporal(kind, value)
        } else {
            self.truncated()
        };
        self.context.warnings.note(note);
    }

    /// The moment that a text or number stands for, by the modes about zero dates.
    fn moment(&mut self, value: &Value, kind: &str) -> Result<Option<Parsed>, SqlError> {
        let parsed = match value {
            Value::Bytes(text) => fractions::parse(text, self.context),
            Value::Date(date) => Some(whole(date.at_midnight(), false)),
            Value::DateTime(moment) => Some(whole(*moment, true)),
            Value::Time(time) => {
                convert::time_to_datetime(*time, self.context).map(|moment| whole(moment, true))
            }
            other => {
                let number = convert::number(other, self.context);
                let cut = fractions::are_cut(self.context);
                number.and_then(|number| convert::moment_of_number(&number, cut))
            }
        };
        let Some(parsed) = parsed else {
            let is_beyond = match value {
                Value::Bytes(_) => false,
                other => convert::double(other, self.context)
                    .is_some_and(|x| !(0.0..=TIME_NUMBER_MAX).contains(&x)),
            };
            self.bad_temporal(kind, value, is_beyond)?;
            return Ok(None);
        };
        let mode = self.context.modes_of_dates();
        let date = parsed.value.date;
        let exists = date.is_valid() || mode.has(SqlMode::ALLOW_INVALID_DATES);
        let zero_part = !date.is_zero() && date.has_zero_part();
        if !exists || (zero_part && mode.has(SqlMode::NO_ZERO_IN_DATE)) {
            self.bad_temporal(kind, value, true)?;
            return Ok(None);
        }
        if date.is_zero() && mode.has(SqlMode::NO_ZERO_DATE) {
            self.bad_temporal(kind, value, true)?;
        }
        if parsed.truncated {
            self.bad_temporal(kind, value, false)?;
        }
        Ok(Some(parsed))
    }

    fn date(&mut self, value: &Value) -> Result<Value, SqlError> {
        let Some(parsed) = self.moment(value, "date")? else {
            return Ok(Value::Date(Date::default()));
        };
        // Rounded to a second, it may be the next day.
        let Some(moment) = fractions::moment(parsed.value, 0, self.context) else {
            self.out_of_range()?;
            return Ok(Value::Date(parsed.value.date));
        };
        if moment.micros != 0 {
            match value {
                Value::DateTime(_) => self.part_lost("date", &Value::DateTime(moment)),
                value => self.part_lost("date", value),
            }
        }
        Ok(Value::Date(moment.date))
    }

    fn datetime(&mut self, value: &Value, fsp: u8) -> Result<Value, SqlError> {
        let Some(parsed) = self.moment(value, "datetime")? else {
            return Ok(Value::DateTime(DateTime::default()));
        };
        let moment = convert::apply_offset(parsed.value, parsed.offset_seconds, self.context);
        let Some(moment) = fractions::moment(moment, fsp, self.context) else {
            self.out_of_range()?;
            return Ok(Value::DateTime(parsed.value.truncate(fsp)));
        };
        if !matches!(self.column.ty, ColumnType::Timestamp(_)) || moment.date.is_zero() {
            return Ok(Value::DateTime(moment));
        }
        let utc = self.context.statement.time_zone.to_utc(moment);
        if moment.date.has_zero_part() || !(SECOND..=TIMESTAMP_MAX).contains(&utc.unix_micros()) {
            self.bad_temporal("datetime", value, true)?;
            return Ok(Value::DateTime(DateTime::default()));
        }
        if self.context.statement.time_zone.leaves_out(moment) {
            self.bad_temporal("datetime", value, true)?;
        }
        Ok(Value::DateTime(utc))
    }

    fn time(&mut self, value: &Value, fsp: u8) -> Result<Value, SqlError> {
        let mut had_date = false;
        let parsed = match value {
            Value::Time(time) => Some((*time, false)),
            Value::Bytes(text) if text.trim_ascii().is_empty() => Some((Time::default(), false)),
            Value::Bytes(text) => fractions::parse_clock(text, self.context).map(|parsed| {
                had_date = parsed.had_date;
                (parsed.value, parsed.truncated)
            }),
            Value::Int(n) => temporal::time_from_number(*n).map(|p| (p.value, p.truncated)),
            Value::UInt(n) => temporal::time_from_number(i64::try_from(*n).unwrap_or(i64::MAX))
                .map(|p| (p.value, p.truncated)),
            Value::Double(x) if x.abs() > TIME_NUMBER_MAX => {
                let max = temporal::TIME_MAX;
                let micros = if *x < 0.0 { -max } else { max };
                Some((Time { micros }, true))
            }
            other => convert::time(other, self.context).map(|time| (time, false)),
        };
        // A number with so many digits is a date, too.
        let is_number = !matches!(value, Value::Bytes(_) | Value::Time(_) | Value::DateTime(_));
        had_date |=
            is_number && convert::double(value, self.context).is_some_and(|x| x >= DATE_NUMBER_MIN);
        let (time, truncated) = parsed.unwrap_or((Time::default(), true));
        if truncated {
            let cut = time.micros.abs() == temporal::TIME_MAX;
            let readable = cut || !matches!(value, Value::Bytes(_));
            self.bad_temporal("time", value, readable)?;
        }
        if had_date && !truncated {
            self.part_lost("time", value);
        }
        Ok(Value::Time(fractions::time(time, fsp, self.context)))
    }

    fn year(&mut self, value: &Value) -> Result<Value, SqlError> {
        let mut lost = None;
        let number = match value {
            Value::Date(date) => date.year.into(),
            // Which is a number, as a column holds it.
            Value::DateTime(_) | Value::Time(_) if self.held => {
                match convert::integer(value, self.context) {
                    Some(Number::Int(n)) => n.into(),
                    _ => i128::MAX,
                }
            }
            Value::DateTime(moment) => moment.date.year.into(),
            Value::Time(_) => self.context.statement.now().date.year.into(),
            // `as` clips; the fraction is cut, that of a decimal is rounded.
            Value::Double(x) if *x < 0.0 => -1,
            Value::Decimal(x) if x.is_negative() => -1,
            Value::Double(x) => *x as i128,
            Value::Bytes(text) => {
                let number;
                (number, lost) = self.text_to_integer(text);
                // Of zeros four characters are 0000, others 2000; the number 0 is 0000.
                let is_number = !convert::numeric_prefix(text).0.is_empty();
                if number == 0 && is_number && text.len() != 4 {
                    2000
                } else {
                    number
                }
            }
            other => match convert::integer(other, self.context) {
                Some(Number::Int(n)) => n.into(),
                Some(Number::UInt(n)) => n.into(),
                _ => i128::MAX,
            },
        };
        let year = match number {
            0 => 0,
            1..=69 => number + 2000,
            70..=99 => number + 1900,
            1901..=2155 => number,
            _ => {
                self.out_of_range()?;
                return Ok(Value::UInt(0));
            }
        };
        if let Some(error) = lost {
            self.lossy(error)?;
        }
        Ok(Value::UInt(year as u64))
    }
}

/// The moment that a document is; NULL, which is told, if it is none.
fn moment(document: &Json, wanted: &str, context: &mut EvalContext<'_>) -> Value {
    convert::moment_of_json(document, wanted, context).unwrap_or(Value::Null)
}

/// The number that some bytes are; `None` if they are too many.
fn bits_of_bytes(bytes: &[u8]) -> Option<u64> {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    let bytes = bytes.get(zeros..).unwrap_or_default();
    let number = |number, byte: &u8| number << 8 | u64::from(*byte);
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, number))
}

/// The number that a text is: digits, with spaces and a plus before them, and nothing else.
fn whole_number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn whole(value: DateTime, has_time: bool) -> Parsed {
    Parsed {
        value,
        has_time,
        truncated: false,
        offset_seconds: None,
    }
}
