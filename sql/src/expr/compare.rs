//! Comparison by MySQL's rules: strings by the collation, whole and exact numbers exactly, a
//! number with a string as floating point, a date or time with a string or number as dates.
//! (Where MySQL compares a TIME with a string as texts, `resolve` has made it one.)

use super::{
    EvalContext,
    convert::{self, Number, number},
    fractions,
};
use crate::{error::SqlError, json::atom};
use cohort_engine::types::{
    Collation, DateTime, Decimal, Value,
    json::{self, Node, Scalar},
    temporal::{self},
};
use std::cmp::Ordering;

/// How two values compare of which nothing need be made first, since they are of one kind.
#[inline]
pub(super) fn compare_alike(left: &Value, right: &Value, collation: Collation) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(collation.compare(a, b)),
        (Value::Decimal(a), Value::Decimal(b)) => Some(a.cmp(b)),
        (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// How two values compare by MySQL's rules for comparing any types; `None` if either is NULL. A
/// string compared with a date that is none counts as the zero date, with a warning.
#[inline]
pub fn compare(
    left: &Value,
    right: &Value,
    collation: Collation,
    context: &mut EvalContext<'_>,
) -> Result<Option<Ordering>, SqlError> {
    compare_with(left, right, collation, false, context)
}

/// The same; 1525 if `strict` and a string compared with a date is none: that is so of literals.
#[inline]
pub(super) fn compare_with(
    left: &Value,
    right: &Value,
    collation: Collation,
    strict: bool,
    context: &mut EvalContext<'_>,
) -> Result<Option<Ordering>, SqlError> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => Ok(Some(a.cmp(b))),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Some(collation.compare(a, b))),
        (Value::Null, _) | (_, Value::Null) => Ok(None),
        (Value::Json(a), Value::Json(b)) => Ok(Some(json::compare(&a.root(), &b.root()))),
        (Value::Json(document), other) => {
            let other = Node::Scalar(atom(other, None, false));
            Ok(Some(json::compare(&document.root(), &other)))
        }
        (other, Value::Json(document)) => {
            let other = Node::Scalar(atom(other, None, false));
            Ok(Some(json::compare(&other, &document.root())))
        }
        (Value::Member(member), other) if is_number(other) => {
            let number = Value::Int(member.signed());
            compare_with(&number, other, collation, strict, context)
        }
        (other, Value::Member(member)) if is_number(other) => {
            let number = Value::Int(member.signed());
            compare_with(other, &number, collation, strict, context)
        }
        (Value::Member(member), other) => {
            compare_with(&member.text, other, collation, strict, context)
        }
        (other, Value::Member(member)) => {
            compare_with(other, &member.text, collation, strict, context)
        }
        _ => compare_mixed(left, right, strict, context).map(Some),
    }
}

/// Whether a member of an ENUM or SET counts as a number beside it.
fn is_number(value: &Value) -> bool {
    match value {
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            true
        }
        Value::Null
        | Value::Bytes(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_)
        | Value::Member(_)
        | Value::Json(_) => false,
    }
}

fn compare_mixed(
    left: &Value,
    right: &Value,
    strict: bool,
    context: &mut EvalContext<'_>,
) -> Result<Ordering, SqlError> {
    let mut moment = |value: &Value, with: &Value| moment(value, with, strict, context);
    match (left, right) {
        (Value::Date(a), Value::Date(b)) => Ok(a.cmp(b)),
        (Value::DateTime(a), Value::DateTime(b)) => Ok(a.cmp(b)),
        (Value::Time(a), Value::Time(b)) => Ok(a.cmp(b)),
        (Value::Time(_), Value::Bytes(text)) => Ok(time_with_text(left, text, strict, context)),
        (Value::Bytes(text), Value::Time(_)) => {
            Ok(time_with_text(right, text, strict, context).reverse())
        }
        (Value::Date(_) | Value::DateTime(_) | Value::Time(_), other)
            if !matches!(
                other,
                Value::Int(_)
                    | Value::UInt(_)
                    | Value::Decimal(_)
                    | Value::Double(_)
                    | Value::Float(_)
            ) =>
        {
            Ok(moment(left, right)?.cmp(&moment(right, left)?))
        }
        (Value::Bytes(_), Value::Date(_) | Value::DateTime(_)) => {
            Ok(moment(left, right)?.cmp(&moment(right, left)?))
        }
        (Value::Date(_) | Value::DateTime(_), Value::Int(n)) => match temporal::from_number(*n) {
            Some(parsed) => Ok(moment(left, right)?.cmp(&parsed.value)),
            None => Ok(compare_numbers(left, right, context)),
        },
        (Value::Int(n), Value::Date(_) | Value::DateTime(_)) => match temporal::from_number(*n) {
            Some(parsed) => Ok(parsed.value.cmp(&moment(right, left)?)),
            None => Ok(compare_numbers(left, right, context)),
        },
        _ => Ok(compare_numbers(left, right, context)),
    }
}

/// A value that is compared with the date or time `with`, as a moment.
pub(super) fn moment(
    value: &Value,
    with: &Value,
    strict: bool,
    context: &mut EvalContext<'_>,
) -> Result<DateTime, SqlError> {
    match value {
        Value::DateTime(moment) => Ok(*moment),
        Value::Date(date) => Ok(date.at_midnight()),
        Value::Time(time) => Ok(convert::time_to_datetime(*time, context).unwrap_or_default()),
        Value::Bytes(text) => match fractions::parse(text, context) {
            Some(parsed)
                if convert::acceptable(parsed.value.date, context)
                    || !strict && parsed.value.date.is_valid() =>
            {
                Ok(convert::apply_offset(
                    parsed.value,
                    parsed.offset_seconds,
                    context,
                ))
            }
            _ => {
                let is_date = matches!(with, Value::Date(_));
                let text = convert::shown(text);
                if strict {
                    let kind = if is_date { "DATE" } else { "DATETIME" };
                    return Err(SqlError::incorrect_value(kind, text));
                }
                let lost = if is_date {
                    SqlError::truncated_wrong_value("date", text)
                } else {
                    SqlError::incorrect_temporal_value("datetime", text)
                };
                context.warnings.warn(lost);
                Ok(DateTime::default())
            }
        },
        _ => Ok(DateTime::default()),
    }
}

/// A TIME with a text: as times, or as texts if that is no time. Of a literal, all of it must be one.
fn time_with_text(
    time: &Value,
    text: &[u8],
    strict: bool,
    context: &mut EvalContext<'_>,
) -> Ordering {
    let parsed = fractions::parse_clock(text, context);
    let parsed = parsed.filter(|parsed| !strict || !parsed.truncated);
    if let (Value::Time(time), Some(parsed)) = (time, parsed) {
        return time.micros.cmp(&parsed.value.micros);
    }
    let lost = SqlError::truncated_wrong_value("time", convert::shown(text));
    context.warnings.warn(lost);
    let mut as_text = Vec::new();
    convert::text(time, super::types::NOT_FIXED, &mut as_text);
    as_text.as_slice().cmp(text)
}

/// Compares two values that are not NULL as numbers.
fn compare_numbers(left: &Value, right: &Value, context: &mut EvalContext<'_>) -> Ordering {
    // `number` is None for NULL only, which `compare` has dealt with.
    let a = number(left, context).unwrap_or(Number::Int(0));
    let b = number(right, context).unwrap_or(Number::Int(0));
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a.cmp(&b),
        (Number::UInt(a), Number::UInt(b)) => a.cmp(&b),
        (Number::Int(a), Number::UInt(b)) => i128::from(a).cmp(&i128::from(b)),
        (Number::UInt(a), Number::Int(b)) => i128::from(a).cmp(&i128::from(b)),
        (a @ Number::Double(_), b) | (a, b @ Number::Double(_)) => {
            floating_order(a.to_f64(), b.to_f64())
        }
        (a, b) => a.into_decimal().cmp(&b.into_decimal()),
    }
}

/// The order of ORDER BY, MIN, MAX and indexes: NULL first, values of one type by their order.
/// Values of different types (which one expression does not yield) compare as numbers or texts.
#[must_use]
pub fn order(left: &Value, right: &Value, collation: Collation) -> Ordering {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => collation.compare(a, b),
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Member(a), Value::Member(b)) => a.number.cmp(&b.number),
        (Value::Json(a), Value::Json(b)) => json::order(&a.root(), &b.root()),
        (Value::Int(a), Value::UInt(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::UInt(a), Value::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::Decimal(a), Value::Int(b)) => a.cmp(&Decimal::from(*b)),
        (Value::Int(a), Value::Decimal(b)) => Decimal::from(*a).cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Date(a), Value::DateTime(b)) => a.at_midnight().cmp(b),
        (Value::DateTime(a), Value::Date(b)) => a.cmp(&b.at_midnight()),
        _ => match (plain_f64(left), plain_f64(right)) {
            (Some(a), Some(b)) => floating_order(a, b),
            _ => {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                convert::text(left, super::types::NOT_FIXED, &mut a);
                convert::text(right, super::types::NOT_FIXED, &mut b);
                collation.compare(&a, &b)
            }
        },
    }
}

/// What is no number, which only a parameter can be, comes after all that are.
fn floating_order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// A number as floating point; `None` for what is no number.
fn plain_f64(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Int(n) => *n as f64,
        Value::UInt(n) => *n as f64,
        Value::Float(x) => f64::from(*x),
        Value::Double(x) => *x,
        Value::Decimal(n) => n.to_f64(),
        _ => return None,
    })
}

/// Appends bytes that are equal for values that are equal (for GROUP BY, DISTINCT and hash
/// joins), NULLs included. Whole numbers of all types have equal keys, as have a DATE and the
/// DATETIME of its midnight.
pub fn hash_key(value: &Value, collation: Collation, key: &mut Vec<u8>) {
    const INTEGER: u8 = 1;
    let mut integer = |n: i128| {
        key.push(INTEGER);
        key.extend_from_slice(&n.to_le_bytes()[..9]);
    };
    match value {
        Value::Null => key.push(0),
        Value::Int(n) => integer((*n).into()),
        Value::UInt(n) => integer((*n).into()),
        Value::Float(_) | Value::Double(_) => {
            let x = plain_f64(value).unwrap_or(0.0);
            if x.fract() == 0.0 && x.abs() < 1e18 {
                integer(x as i128);
            } else {
                key.push(2);
                key.extend_from_slice(&x.to_bits().to_le_bytes());
            }
        }
        Value::Decimal(number) => {
            let number = number.normalized();
            match convert::decimal_to_integer(&number) {
                (Number::UInt(n), false) if number.scale() <= 0 => integer(n.into()),
                (Number::Int(n), false) if number.scale() <= 0 => integer(n.into()),
                _ => {
                    key.push(3);
                    let text = number.to_plain_string();
                    key.extend_from_slice(text.as_bytes());
                    key.push(0);
                }
            }
        }
        Value::Bytes(text) => {
            key.push(4);
            collation.sort_key(text, key);
        }
        // As their texts, with which they are compared.
        Value::Member(member) => hash_key(&member.text, collation, key),
        Value::Json(document) => json_key(&document.root(), key),
        Value::Date(date) => moment_key(date.at_midnight(), key),
        Value::DateTime(moment) => moment_key(*moment, key),
        Value::Time(time) => {
            key.push(6);
            key.extend_from_slice(&time.micros.to_le_bytes());
        }
    }
}

/// The key of a document: that of a number is the number's.
fn json_key(node: &Node<'_>, key: &mut Vec<u8>) {
    let count = |tag: u8, count: usize, key: &mut Vec<u8>| {
        key.push(tag);
        key.extend_from_slice(&(count as u64).to_le_bytes());
    };
    match node {
        Node::Array(array) => {
            count(7, array.len(), key);
            array.iter().for_each(|element| json_key(&element, key));
        }
        Node::Object(object) => {
            count(8, object.len(), key);
            for (name, member) in object.iter() {
                count(9, name.len(), key);
                key.extend_from_slice(name.as_bytes());
                json_key(&member, key);
            }
        }
        Node::Scalar(Scalar::Null) => key.push(10),
        Node::Scalar(Scalar::Bool(truth)) => key.extend_from_slice(&[11, (*truth).into()]),
        Node::Scalar(Scalar::Text(text)) => {
            count(12, text.len(), key);
            key.extend_from_slice(text.as_bytes());
        }
        Node::Scalar(Scalar::Opaque(_, bytes)) => {
            count(13, bytes.len(), key);
            key.extend_from_slice(bytes);
        }
        Node::Scalar(Scalar::Date(date)) => {
            key.push(14);
            moment_key(date.at_midnight(), key);
        }
        Node::Scalar(Scalar::Time(time)) => {
            hash_key(&Value::Time(*time), Collation::Binary, key);
        }
        Node::Scalar(Scalar::DateTime(moment) | Scalar::Timestamp(moment)) => {
            moment_key(*moment, key);
        }
        Node::Scalar(Scalar::Int(n)) => hash_key(&Value::Int(*n), Collation::Binary, key),
        Node::Scalar(Scalar::UInt(n)) => hash_key(&Value::UInt(*n), Collation::Binary, key),
        // Equal numbers have equal digits.
        Node::Scalar(Scalar::Double(x)) => {
            let exact = convert::f64_to_decimal(*x);
            hash_key(&Value::Decimal(exact), Collation::Binary, key);
        }
        Node::Scalar(Scalar::Decimal(number)) => {
            hash_key(&Value::Decimal(number.clone()), Collation::Binary, key);
        }
    }
}

fn moment_key(moment: DateTime, key: &mut Vec<u8>) {
    key.push(5);
    key.extend_from_slice(&moment.date.to_number().to_le_bytes());
    key.extend_from_slice(&moment.micros.to_le_bytes());
}
