//! Parts of documents as values of the columns of JSON_TABLE.
//!
//! A number is what the document's value is, a text only if it is nothing but a number; a date is
//! one, or a text; all others take the text. Then the value is stored as in a table's column, but
//! what does not fit is no value, whatever the mode.

use crate::{
    error::SqlError,
    expr::{
        EvalContext, ExprType, Origin, SqlMode, assign_from, coercibility, convert,
        types::NOT_FIXED,
    },
    json,
    text::json::unquoted,
    warnings::{Condition, Level, Warnings},
};
use cohort_engine::types::{
    Collation, Column, ColumnType, Value,
    json::{Node, Scalar, Tree},
    temporal::TIME_MAX,
};

/// What a part of a document is as the value of a column.
#[derive(Debug)]
pub enum FromJson {
    /// A value, with what is to be told of its conversion.
    Value(Value, Vec<Condition>),
    /// None: why, and what NULL ON ERROR makes of it.
    Failed(SqlError, Value),
}

/// A part of a document as the value of a column.
pub fn for_json_column(
    part: &Node<'_>,
    column: &Column,
    context: &mut EvalContext<'_>,
) -> Result<FromJson, SqlError> {
    if let Node::Scalar(Scalar::Null) = part {
        return Ok(FromJson::Value(Value::Null, Vec::new()));
    }
    default_for_json_column(part, column, context)
}

/// The same of a default, in which null is a word.
pub fn default_for_json_column(
    part: &Node<'_>,
    column: &Column,
    context: &mut EvalContext<'_>,
) -> Result<FromJson, SqlError> {
    let failed = |error| Ok(FromJson::Failed(error, Value::Null));
    if column.ty == ColumnType::Json {
        let document = part.to_document();
        return Ok(FromJson::Value(Value::Json(document), Vec::new()));
    }
    let Node::Scalar(scalar) = part else {
        return failed(SqlError::no_scalar_for_json_table(&column.name));
    };
    match plain_value(scalar, column, context) {
        Ok(value) => stored(value, column, context),
        Err(error) => failed(error),
    }
}

/// A document of several parts, which only a JSON column takes.
pub fn several_for_json_column(parts: &[Node<'_>], column: &Column) -> Result<FromJson, SqlError> {
    if column.ty != ColumnType::Json {
        let error = SqlError::no_scalar_for_json_table(&column.name);
        return Ok(FromJson::Failed(error, Value::Null));
    }
    let parts = parts.iter().map(Node::to_tree).collect();
    let document = json::document(&Tree::Array(parts))?;
    Ok(FromJson::Value(Value::Json(document), Vec::new()))
}

/// Whether a part of a document is there, as the value of a column.
pub fn exists_for_json_column(
    exists: bool,
    column: &Column,
    context: &mut EvalContext<'_>,
) -> Result<(Value, Vec<Condition>), SqlError> {
    let shown = if exists { b"1" } else { b"0" };
    let value = Value::Int(exists.into());
    let (value, told) = store(value, column, context)?;
    let told = told.into_iter();
    let told = told.map(|condition| worded(condition, shown, column, context));
    Ok((value, told.collect()))
}

/// The value that is stored: 3155 or 3156 if the column takes a number and this is none.
fn plain_value(
    scalar: &Scalar<'_>,
    column: &Column,
    context: &EvalContext<'_>,
) -> Result<Value, SqlError> {
    let refused = |to| SqlError::invalid_json_value_for_cast(to, &column.name, context.row_number);
    match column.ty {
        ColumnType::TinyInt
        | ColumnType::SmallInt
        | ColumnType::MediumInt
        | ColumnType::Int
        | ColumnType::BigInt
        | ColumnType::Year
        | ColumnType::Bit(_) => integer(scalar).map_err(|why| match why {
            NoInteger::Other => refused("INTEGER"),
            NoInteger::TooLarge => {
                SqlError::json_value_out_of_range("INTEGER", &column.name, context.row_number)
            }
        }),
        ColumnType::Float | ColumnType::Double => double(scalar).ok_or_else(|| refused("DOUBLE")),
        ColumnType::Decimal { .. } => decimal(scalar).ok_or_else(|| refused("DECIMAL")),
        ColumnType::Date
        | ColumnType::Time(_)
        | ColumnType::DateTime(_)
        | ColumnType::Timestamp(_)
        | ColumnType::Char(_)
        | ColumnType::VarChar(_)
        | ColumnType::Text(_)
        | ColumnType::Enum(_)
        | ColumnType::Set(_)
        | ColumnType::Json => Ok(match (scalar, column.ty) {
            (Scalar::Date(date), _) if has_date(column.ty) => Value::Date(*date),
            (Scalar::DateTime(moment) | Scalar::Timestamp(moment), _) if has_date(column.ty) => {
                Value::DateTime(*moment)
            }
            (Scalar::Time(time), ColumnType::Time(_)) => Value::Time(*time),
            (Scalar::Opaque(_, bytes), _) => Value::Bytes(bytes.to_vec()),
            _ => {
                let mut text = Vec::new();
                unquoted(scalar, &mut text);
                Value::Bytes(text)
            }
        }),
    }
}

fn has_date(ty: ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Date | ColumnType::DateTime(_) | ColumnType::Timestamp(_)
    )
}

/// Why something is no integer.
enum NoInteger {
    TooLarge,
    Other,
}

fn integer(scalar: &Scalar<'_>) -> Result<Value, NoInteger> {
    let number = match scalar {
        Scalar::Bool(truth) => return Ok(Value::Int((*truth).into())),
        Scalar::Int(n) => return Ok(Value::Int(*n)),
        Scalar::UInt(n) => return Ok(Value::UInt(*n)),
        Scalar::Double(x) if convert::is_beyond_integers(*x) => return Err(NoInteger::TooLarge),
        Scalar::Double(x) => return Ok(Value::Int(x.round_ties_even() as i64)),
        Scalar::Decimal(number) => match convert::decimal_to_integer(number) {
            (_, true) => return Err(NoInteger::TooLarge),
            (whole, false) => return Ok(whole.into_value()),
        },
        Scalar::Text(text) => text,
        Scalar::Null
        | Scalar::Date(_)
        | Scalar::Time(_)
        | Scalar::DateTime(_)
        | Scalar::Timestamp(_)
        | Scalar::Opaque(..) => return Err(NoInteger::Other),
    };
    let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NoInteger::Other);
    }
    match (number.parse::<i64>(), number.parse::<u64>()) {
        (Ok(n), _) => Ok(Value::Int(n)),
        (_, Ok(n)) => Ok(Value::UInt(n)),
        _ => Err(NoInteger::TooLarge),
    }
}

fn double(scalar: &Scalar<'_>) -> Option<Value> {
    Some(match scalar {
        Scalar::Bool(truth) => Value::Int((*truth).into()),
        Scalar::Int(n) => Value::Int(*n),
        Scalar::UInt(n) => Value::UInt(*n),
        Scalar::Double(x) => Value::Double(*x),
        Scalar::Decimal(number) => Value::Decimal(number.clone()),
        Scalar::Text(text) if text.is_empty() => Value::Double(0.0),
        Scalar::Text(text) => match convert::finite_prefix_f64(text.as_bytes()) {
            (x, false) if !text.ends_with(char::is_whitespace) => Value::Double(x),
            _ => return None,
        },
        Scalar::Null
        | Scalar::Date(_)
        | Scalar::Time(_)
        | Scalar::DateTime(_)
        | Scalar::Timestamp(_)
        | Scalar::Opaque(..) => return None,
    })
}

fn decimal(scalar: &Scalar<'_>) -> Option<Value> {
    match scalar {
        Scalar::Text(text) => {
            let exact = convert::text_to_decimal(text.as_bytes());
            let is_number = !(exact.garbage || text.trim().is_empty());
            is_number.then_some(Value::Decimal(exact.number))
        }
        other => double(other),
    }
}

/// Stores a value as in a table's column. What would be a warning there makes it no value.
fn stored(
    value: Value,
    column: &Column,
    context: &mut EvalContext<'_>,
) -> Result<FromJson, SqlError> {
    let shown = match &value {
        Value::Bytes(text) => text.clone(),
        other => {
            let mut text = Vec::new();
            convert::text(other, NOT_FIXED, &mut text);
            text
        }
    };
    let (value, told) = store(value, column, context)?;
    let is_lost = told.iter().any(|c| c.level != Level::Note);
    // An empty text is no time, though a column takes it for one.
    let is_nothing = shown.is_empty() && matches!(column.ty, ColumnType::Time(_));
    if is_nothing || is_lost && !is_taken(&value, &shown, column) {
        let error = SqlError::json_table_out_of_range(&column.name);
        // Of an ENUM it is the empty member.
        let instead = match column.ty {
            ColumnType::Enum(_) => value,
            _ => Value::Null,
        };
        return Ok(FromJson::Failed(error, instead));
    }
    let told = told.into_iter();
    let told = told.map(|condition| worded(condition, &shown, column, context));
    Ok(FromJson::Value(value, told.collect()))
}

/// Stores a value outside strict mode: with what is told then.
fn store(
    value: Value,
    column: &Column,
    context: &mut EvalContext<'_>,
) -> Result<(Value, Vec<Condition>), SqlError> {
    const TOLD_MAX: usize = 16;
    let kept = std::mem::replace(context.warnings, Warnings::new(TOLD_MAX));
    let ignore = std::mem::replace(&mut context.ignore, true);
    let origin = || Origin::of_type(&text_type(column));
    let result = assign_from(column, value, origin, context);
    context.ignore = ignore;
    let told = std::mem::replace(context.warnings, kept);
    Ok((result?, told.list().to_vec()))
}

/// A binary column takes the bytes of a text, another one its characters.
fn text_type(column: &Column) -> ExprType {
    let collation = match column.is_binary() {
        true => Collation::Binary,
        false => Collation::Utf8mb4Bin,
    };
    ExprType::string(u32::MAX, collation, coercibility::IMPLICIT)
}

/// Whether a value is one although not all of the text went into it: MySQL calls some losses
/// a truncation only.
fn is_taken(value: &Value, text: &[u8], column: &Column) -> bool {
    /// What is longer is no member's number, and not read as one.
    const ENUM_NUMBER_MAX: usize = 5;
    const SET_NUMBER_MAX: usize = 21;
    match (column.ty, value) {
        (ColumnType::Enum(_), _) => text.len() > ENUM_NUMBER_MAX,
        (ColumnType::Set(_), _) => text.len() > SET_NUMBER_MAX,
        (ColumnType::Time(_), Value::Time(time)) => {
            let is_zero = time.micros == 0 && !text.starts_with(b"0");
            !is_zero && time.micros.abs() < TIME_MAX
        }
        _ => false,
    }
}

/// What is told of a date that is not all kept, as the mode has it.
fn worded(
    condition: Condition,
    text: &[u8],
    column: &Column,
    context: &EvalContext<'_>,
) -> Condition {
    let kind = match column.ty {
        ColumnType::Date => "date",
        ColumnType::Time(_) => "time",
        ColumnType::DateTime(_) | ColumnType::Timestamp(_) => "datetime",
        _ => return condition,
    };
    if !context.statement.sql_mode.has(SqlMode::STRICT) {
        return condition;
    }
    let (text, row) = (convert::shown(text), context.row_number);
    let error = SqlError::incorrect_temporal(kind, text, &column.name, row);
    Condition { error, ..condition }
}
