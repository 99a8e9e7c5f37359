//! Arithmetic and operators on bits: whole numbers exactly (1690 beyond 64 bits), DECIMAL exactly
//! with MySQL's scales, all else as floating point.

use super::{
    BinaryOp, EvalContext, ExprType, SqlMode,
    convert::{self, Number, number},
};
use crate::error::SqlError;
use cohort_engine::types::{ColumnType, Decimal, Value};

/// The most digits DECIMAL keeps after the point.
const MAX_SCALE: i64 = 30;

/// Why an operation has no result.
enum Failure {
    /// Beyond the range of this type: 1690.
    OutOfRange(&'static str),
    DivisionByZero,
}

/// The result of an operation on two signed integers, if it is one.
#[inline]
pub(super) fn of_integers(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => a.checked_mul(b),
        _ => None,
    }
}

/// `left op right` for `+ - * / DIV %` and the operators on bits; NULL if either is NULL.
/// `ty` is the result's type, which says how many digits a quotient has; `describe` gives the
/// operation's text for an error.
pub(super) fn binary(
    op: BinaryOp,
    left: &Value,
    right: &Value,
    ty: &ExprType,
    context: &mut EvalContext<'_>,
    describe: impl FnOnce() -> String,
) -> Result<Value, SqlError> {
    // The usual case first: no conversion, no allocation.
    if let (Value::Int(a), Value::Int(b)) = (left, right)
        && let Some(result) = of_integers(op, *a, *b)
    {
        return Ok(Value::Int(result));
    }
    let (Some(a), Some(b)) = (number(left, context), number(right, context)) else {
        return Ok(Value::Null);
    };
    let result = match op {
        BinaryOp::Divide => {
            let more = context.statement.div_precision_increment;
            divide(a, b, ty.decimals.into(), more.into())
        }
        BinaryOp::IntegerDivide => integer_divide(a, b),
        BinaryOp::Modulo => modulo(a, b),
        _ => add_subtract_multiply(op, a, b, context.statement.sql_mode),
    };
    match result {
        Ok(Number::Decimal(n)) => Ok(Value::Decimal(with_digits(n, ty))),
        Ok(number) => Ok(number.into_value()),
        Err(Failure::OutOfRange(kind)) => Err(SqlError::value_out_of_range(kind, describe())),
        Err(Failure::DivisionByZero) => division_by_zero(context),
    }
}

/// A decimal with as many digits after the point as the type has; if it has more, they stay.
fn with_digits(number: Decimal, ty: &ExprType) -> Decimal {
    match ty.ty {
        Some(ColumnType::Decimal { scale, .. }) if number.scale() < scale.into() => {
            number.with_scale(scale.into())
        }
        _ => number,
    }
}

/// NULL; a warning or, while storing in strict mode, an error, if sql_mode wants to know.
fn division_by_zero(context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    if context
        .statement
        .sql_mode
        .has(SqlMode::ERROR_FOR_DIVISION_BY_ZERO)
    {
        if context.storing && context.is_strict() {
            return Err(SqlError::division_by_zero());
        }
        context.warnings.warn(SqlError::division_by_zero());
    }
    Ok(Value::Null)
}

/// An operation on bits.
pub(super) fn bits(op: BinaryOp, a: u64, b: u64) -> Value {
    let shift = u32::try_from(b).ok();
    Value::UInt(match op {
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::ShiftLeft => shift.and_then(|by| a.checked_shl(by)).unwrap_or(0),
        _ => shift.and_then(|by| a.checked_shr(by)).unwrap_or(0),
    })
}

/// The same on binary strings of one length, byte by byte: 3513 if they have not.
pub fn bytes(op: BinaryOp, a: &[u8], b: &[u8]) -> Result<Vec<u8>, SqlError> {
    if a.len() != b.len() {
        return Err(SqlError::bitwise_operand_sizes());
    }
    let together = |(a, b): (&u8, &u8)| match op {
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        _ => a ^ b,
    };
    Ok(a.iter().zip(b).map(together).collect())
}

/// A binary string shifted by so many bits; it stays as long as it is.
pub(super) fn shifted(op: BinaryOp, bytes: &[u8], by: u64) -> Vec<u8> {
    let whole = usize::try_from(by / 8).unwrap_or(usize::MAX);
    let bits = (by % 8) as u32;
    let at = |place: Option<usize>| place.and_then(|place| bytes.get(place)).copied();
    let byte = |i: usize| {
        let (near, far) = if op == BinaryOp::ShiftLeft {
            let near = i.checked_add(whole);
            (near, near.and_then(|near| near.checked_add(1)))
        } else {
            let near = i.checked_sub(whole);
            (near, near.and_then(|near| near.checked_sub(1)))
        };
        let (near, far) = (at(near).unwrap_or(0), at(far).unwrap_or(0));
        let (moved, come) = if op == BinaryOp::ShiftLeft {
            (near << bits, far.checked_shr(8 - bits))
        } else {
            (near >> bits, far.checked_shl(8 - bits))
        };
        moved | come.unwrap_or(0)
    };
    (0..bytes.len()).map(byte).collect()
}

fn wide(number: &Number) -> Option<(i128, bool)> {
    match number {
        Number::Int(n) => Some(((*n).into(), false)),
        Number::UInt(n) => Some(((*n).into(), true)),
        _ => None,
    }
}

/// A result of integers: unsigned if an operand was.
fn narrow(result: i128, unsigned: bool) -> Result<Number, Failure> {
    if unsigned {
        u64::try_from(result)
            .map(Number::UInt)
            .map_err(|_| Failure::OutOfRange("BIGINT UNSIGNED"))
    } else {
        i64::try_from(result)
            .map(Number::Int)
            .map_err(|_| Failure::OutOfRange("BIGINT"))
    }
}

fn finite(x: f64) -> Result<Number, Failure> {
    if x.is_finite() {
        Ok(Number::Double(x))
    } else {
        Err(Failure::OutOfRange("DOUBLE"))
    }
}

/// A decimal with at most 30 digits after the point. MySQL computes with up to 81 digits, more than
/// a column holds.
fn fitting(number: Decimal) -> Result<Number, Failure> {
    // 128 bits have less than 40 digits.
    if (0..=MAX_SCALE).contains(&number.scale()) && number.short_digits().is_some() {
        return Ok(Number::Decimal(number));
    }
    let number = if number.scale() > MAX_SCALE {
        convert::round(&number, MAX_SCALE)
    } else {
        number
    };
    let whole_digits = number.digits() as i64 - number.scale();
    if whole_digits > 81 {
        return Err(Failure::OutOfRange("DECIMAL"));
    }
    Ok(Number::Decimal(number))
}

fn add_subtract_multiply(
    op: BinaryOp,
    a: Number,
    b: Number,
    mode: SqlMode,
) -> Result<Number, Failure> {
    if let (Some((x, x_unsigned)), Some((y, y_unsigned))) = (wide(&a), wide(&b)) {
        let mut unsigned = x_unsigned || y_unsigned;
        let result = match op {
            BinaryOp::Add => x + y,
            BinaryOp::Subtract => {
                unsigned &= !mode.has(SqlMode::NO_UNSIGNED_SUBTRACTION);
                x - y
            }
            // Two 64-bit numbers cannot exceed 128 bits; two unsigned ones exceed i128.
            _ => x.saturating_mul(y),
        };
        return narrow(result, unsigned);
    }
    if matches!(a, Number::Double(_)) || matches!(b, Number::Double(_)) {
        let (x, y) = (a.to_f64(), b.to_f64());
        return finite(match op {
            BinaryOp::Add => x + y,
            BinaryOp::Subtract => x - y,
            _ => x * y,
        });
    }
    let (x, y) = (a.into_decimal(), b.into_decimal());
    fitting(match op {
        BinaryOp::Add => &x + &y,
        BinaryOp::Subtract => &x - &y,
        _ => &x * &y,
    })
}

/// `/`: exact numbers yield a decimal with `scale` digits after the point; `more` is
/// @@div_precision_increment.
fn divide(a: Number, b: Number, scale: i64, more: i64) -> Result<Number, Failure> {
    if b.is_zero() {
        return Err(Failure::DivisionByZero);
    }
    if matches!(a, Number::Double(_)) || matches!(b, Number::Double(_)) {
        return finite(a.to_f64() / b.to_f64());
    }
    let (a, b) = (a.into_decimal(), b.into_decimal());
    let scale = scale.min(MAX_SCALE);
    let digits = computed_digits(a.scale(), b.scale(), more);
    fitting(convert::round(&a.quotient(&b, digits), scale))
}

/// How many digits after the point MySQL computes of a quotient before it rounds: whole words of
/// nine, with room for `more` than the dividend has. If they are no more than those that are wanted,
/// the quotient is cut off rather than rounded.
fn computed_digits(dividend: i64, divisor: i64, more: i64) -> i64 {
    let words = |digits: i64| digits.max(0).div_euclid(9) + i64::from(digits.max(0) % 9 != 0);
    let (a, b) = (words(dividend) * 9, words(divisor) * 9);
    let more = more - (a - dividend.max(0)) - (b - divisor.max(0));
    words(a + b + more.max(0)) * 9
}

/// `DIV`: the whole part of the quotient, as an integer.
fn integer_divide(a: Number, b: Number) -> Result<Number, Failure> {
    if b.is_zero() {
        return Err(Failure::DivisionByZero);
    }
    if let (Some((x, x_unsigned)), Some((y, y_unsigned))) = (wide(&a), wide(&b)) {
        return narrow(x / y, x_unsigned || y_unsigned);
    }
    let unsigned = matches!(a, Number::UInt(_)) || matches!(b, Number::UInt(_));
    let quotient = a.into_decimal().quotient(&b.into_decimal(), 0);
    let quotient = quotient.to_i128().ok_or(Failure::OutOfRange("BIGINT"))?;
    narrow(quotient, unsigned)
}

/// `%`: the remainder, with the sign of the dividend.
fn modulo(a: Number, b: Number) -> Result<Number, Failure> {
    if b.is_zero() {
        return Err(Failure::DivisionByZero);
    }
    if let (Some((x, unsigned)), Some((y, _))) = (wide(&a), wide(&b)) {
        return narrow(x % y, unsigned);
    }
    if matches!(a, Number::Double(_)) || matches!(b, Number::Double(_)) {
        return finite(a.to_f64() % b.to_f64());
    }
    let (x, y) = (a.into_decimal(), b.into_decimal());
    fitting(&x % &y)
}

/// `-x`
pub(super) fn negate(
    value: &Value,
    context: &mut EvalContext<'_>,
    describe: impl FnOnce() -> String,
) -> Result<Value, SqlError> {
    let result = match number(value, context) {
        None => return Ok(Value::Null),
        Some(Number::Int(n)) => narrow(-i128::from(n), false),
        Some(Number::UInt(n)) => narrow(-i128::from(n), false),
        Some(Number::Decimal(n)) => Ok(Number::Decimal(-n)),
        Some(Number::Double(x)) => Ok(Number::Double(-x)),
    };
    result
        .map(Number::into_value)
        .map_err(|_| SqlError::value_out_of_range("BIGINT", describe()))
}
