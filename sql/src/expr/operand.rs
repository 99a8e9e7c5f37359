//! The value of an expression where a number is wanted of it. It depends on what the expression
//! is, not on its value alone, what MySQL says of a text that is no number, and of a floating point
//! number that is no integer.
//!
//! | | as a number, of `'1x'` | as an integer, of `1e20` |
//! |---|---|---|
//! | a literal | warning 1292 | the nearest integer |
//! | a variable | warning 1292, but as an integer 1 without a word | the nearest integer |
//! | a parameter, a FLOAT column | warning 1292 | the least integer |
//! | a TEXT or BLOB column | 1, without a word | |
//! | another column; NULLIF | warning 1292 | the nearest one, and warning 1292 |
//! | IF, CASE | as the branch | as the branch |
//! | a date computed from a text | its digits: 20200102 | the same |
//! | COALESCE, IFNULL, GREATEST, LEAST | 1, without a word | error 1690 |
//! | any other operator or function | warning 1292 | error 1690 |

use super::{
    EvalContext, Expr, ExprType,
    convert::{self, Number},
    describe::describe,
    functions::{self, AsNumber},
    infer, is_volatile,
    resolve::literal,
    types::NOT_FIXED,
};
use crate::error::SqlError;
use cohort_engine::types::{ColumnType, Decimal, Json, Value};
use std::borrow::Cow;

impl Expr {
    /// The value where a number is wanted.
    #[inline]
    pub(super) fn number_value<'r, 'c: 'r>(
        &'r self,
        row: &'r [Value],
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'r, Value>, SqlError> {
        if self.has_branches() && infer(self).is_string() {
            return match self.branch(row, context)? {
                Some(branch) => branch.number_value(row, context),
                None => Ok(Cow::Owned(Value::Null)),
            };
        }
        let value = self.raw(row, context)?;
        match &*value {
            Value::Bytes(_) if let Some(number) = literal::digits_number(self) => {
                literal::warn_of_digits(self, context);
                Ok(Cow::Owned(Value::UInt(number)))
            }
            Value::Bytes(_) if let Some(chosen) = self.chosen() => {
                chosen.number_value(row, context)
            }
            Value::Bytes(text) if self.is_moment() => {
                let digits = digits_of_moment(text).to_f64();
                Ok(Cow::Owned(Value::Double(digits)))
            }
            // Floating point, as the type of what is computed of it says.
            Value::Member(member) => Ok(Cow::Owned(Value::Double(member.signed() as f64))),
            Value::Bytes(text) if self.is_quiet() => {
                let (x, _) = convert::finite_prefix_f64(text);
                Ok(Cow::Owned(Value::Double(x)))
            }
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) if self.has_branches() => {
                let value = convert::kept(value.into_owned(), &infer(self), context);
                Ok(Cow::Owned(value))
            }
            _ => Ok(value),
        }
    }

    /// The value where a decimal is wanted.
    pub(super) fn decimal_value<'r, 'c: 'r>(
        &'r self,
        row: &'r [Value],
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'r, Value>, SqlError> {
        if self.is_text_column() {
            let value = self.value(row, context)?;
            return Ok(text_column_decimal(value, context));
        }
        if self.has_members() {
            return self.integer_value(row, context);
        }
        if self.is_moment() {
            let value = self.value(row, context)?;
            return Ok(exact_moment(value));
        }
        if infer(self).is_json() {
            let value = self.value(row, context)?;
            let Value::Json(document) = &*value else {
                return Ok(value);
            };
            let number = convert::of_json(document, "DECIMAL", context).into_decimal();
            return Ok(Cow::Owned(Value::Decimal(number)));
        }
        if self.is_quiet() {
            let value = self.value(row, context)?;
            if let Value::Bytes(text) = &*value {
                let number = convert::text_to_decimal(text).number;
                return Ok(Cow::Owned(Value::Decimal(number)));
            }
            return Ok(value);
        }
        self.number_value(row, context)
    }

    /// The value where an integer is wanted.
    #[inline]
    pub(super) fn integer_value<'r, 'c: 'r>(
        &'r self,
        row: &'r [Value],
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'r, Value>, SqlError> {
        if self.has_branches() {
            return match self.branch(row, context)? {
                Some(branch) => branch.integer_value(row, context),
                None => Ok(Cow::Owned(Value::Null)),
            };
        }
        let value = self.raw(row, context)?;
        match &*value {
            Value::Member(member) => Ok(Cow::Owned(Value::Int(member.signed()))),
            Value::Bytes(text) if self.is_quiet() || self.is_variable() => {
                let number = convert::integer_prefix(text).number;
                Ok(Cow::Owned(number.into_value()))
            }
            Value::Bytes(_) if let Some(number) = literal::digits_number(self) => {
                literal::warn_of_digits(self, context);
                Ok(Cow::Owned(Value::UInt(number)))
            }
            Value::Bytes(_) if let Some(chosen) = self.chosen() => {
                chosen.integer_value(row, context)
            }
            Value::Bytes(text) if self.is_moment() => {
                let (number, _) = convert::decimal_to_integer(&digits_of_moment(text));
                Ok(Cow::Owned(number.into_value()))
            }
            // The number that it is, rounded: a driver may send any number as a text.
            Value::Bytes(text) if matches!(self, Expr::Parameter { bound: true, .. }) => {
                let exact = convert::text_to_decimal(text);
                if exact.garbage {
                    let shown = convert::shown(text);
                    let lost = SqlError::truncated_wrong_value("INTEGER", shown);
                    context.warnings.warn(lost);
                }
                let (number, _) = convert::decimal_to_integer(&exact.number);
                Ok(Cow::Owned(number.into_value()))
            }
            _ => self.near_integer(value, context),
        }
    }

    /// Its value, which is to become an integer; a number beyond the integers is refused, told, or
    /// made the least one.
    #[inline]
    pub(super) fn near_integer<'r>(
        &self,
        value: Cow<'r, Value>,
        context: &mut EvalContext<'_>,
    ) -> Result<Cow<'r, Value>, SqlError> {
        let x = match &*value {
            Value::Float(x) => f64::from(*x),
            Value::Double(x) => *x,
            _ => return Ok(value),
        };
        if !convert::is_beyond_integers(x) {
            return Ok(value);
        }
        if self.wraps() {
            return Ok(Cow::Owned(Value::Int(i64::MIN)));
        }
        self.overflows(x, context)?;
        Ok(value)
    }

    /// Whether a floating point number of it that is beyond the integers becomes the least of them.
    fn wraps(&self) -> bool {
        match self {
            Expr::Column { ty, .. } => ty.ty == Some(ColumnType::Float),
            Expr::Parameter { bound, .. } => *bound,
            _ => false,
        }
    }

    /// The value of what stands in the statement, if it is no more than that. (A statement whose plan is
    /// kept has parameters in place of its literals.)
    #[inline]
    pub(super) fn constant<'x>(&'x self, context: &'x EvalContext<'_>) -> Option<&'x Value> {
        match self {
            Expr::Literal(value, _) => Some(value),
            Expr::Parameter {
                index,
                bound: false,
                ..
            } => context.params.get(*index as usize),
            Expr::Function { once, .. } => once.known(context),
            _ => None,
        }
    }

    /// Its value, as it is compared with another.
    #[inline]
    pub(super) fn beside<'r>(&self, value: Cow<'r, Value>, other: &Value) -> Cow<'r, Value> {
        match (&*value, other) {
            (Value::Null | Value::Json(_), Value::Json(_)) => value,
            (_, Value::Json(_)) => {
                let scalar = functions::json::scalar(self, &value);
                Cow::Owned(Value::Json(Json::scalar(&scalar)))
            }
            (
                Value::Bytes(text),
                Value::Int(_)
                | Value::UInt(_)
                | Value::Decimal(_)
                | Value::Float(_)
                | Value::Double(_),
            ) => {
                if let Some(number) = literal::digits_number(self) {
                    Cow::Owned(Value::UInt(number))
                } else if self.is_moment() {
                    Cow::Owned(Value::Double(digits_of_moment(text).to_f64()))
                } else if self.is_quiet() {
                    let (x, _) = convert::finite_prefix_f64(text);
                    Cow::Owned(Value::Double(x))
                } else {
                    value
                }
            }
            _ => value,
        }
    }

    /// Its value, of which the day is wanted: a TIME in a parameter is one of today.
    #[inline]
    pub(super) fn bound_moment<'r>(
        &self,
        value: Cow<'r, Value>,
        context: &EvalContext<'_>,
    ) -> Cow<'r, Value> {
        match (self, &*value) {
            (Expr::Parameter { bound: true, .. }, Value::Time(time)) => {
                let moment = convert::time_to_datetime(*time, context);
                Cow::Owned(moment.map_or(Value::Null, Value::DateTime))
            }
            _ => value,
        }
    }

    /// The value that CAST makes one of the type of.
    #[inline]
    pub(super) fn cast_value<'r, 'c: 'r>(
        &'r self,
        to: &ExprType,
        row: &'r [Value],
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'r, Value>, SqlError> {
        let is_number = !to.is_string() && !to.is_temporal();
        match to.ty {
            // A text is told of, whatever made it.
            Some(_) if to.is_integer() && self.is_cast_as_text() => {
                let value = self.value(row, context)?;
                self.near_integer(value, context)
            }
            Some(_) if to.is_integer() => self.integer_value(row, context),
            Some(ColumnType::Decimal { .. }) if self.has_members() => {
                self.integer_value(row, context)
            }
            Some(ColumnType::Decimal { .. }) if self.makes_text() => {
                let value = self.number_value(row, context)?;
                match &*value {
                    Value::Bytes(text) if !convert::numeric_prefix(text).0.is_empty() => {
                        let number = convert::text_to_decimal(text).number;
                        Ok(Cow::Owned(Value::Decimal(number)))
                    }
                    _ => Ok(value),
                }
            }
            Some(ColumnType::Decimal { .. }) if self.is_text_column() || self.is_moment() => {
                self.decimal_value(row, context)
            }
            Some(_) if is_number && !to.is_integer() => self.number_value(row, context),
            Some(ColumnType::Date) => {
                let value = self.value(row, context)?;
                Ok(self.bound_moment(value, context))
            }
            _ => self.value(row, context),
        }
    }

    /// What is made a text of: of IF and CASE that yield numbers, the branch. `None` is NULL.
    #[inline]
    pub(super) fn text_operand<'r>(
        &'r self,
        row: &'r [Value],
        context: &mut EvalContext<'_>,
    ) -> Result<Option<&'r Expr>, SqlError> {
        let mut expr = self;
        while expr.has_branches() {
            let ty = infer(expr);
            if ty.is_string() || ty.is_temporal() {
                break;
            }
            match expr.branch(row, context)? {
                Some(branch) => expr = branch,
                None => return Ok(None),
            }
        }
        Ok(Some(expr))
    }

    /// Of an IF or CASE that is a decimal, a branch with fewer digits shows them only; in a table
    /// that a query computes it has all of its column's.
    pub fn keep_all_digits(&mut self) {
        let ty = infer(self);
        let is_decimal = matches!(ty.ty, Some(ColumnType::Decimal { scale, .. }) if scale < 30);
        if is_decimal && self.has_branches() {
            let inner = std::mem::replace(self, Expr::null());
            *self = Expr::Cast {
                expr: Box::new(inner),
                ty,
            };
        }
    }

    /// Whether it is a function whose result is a text: what follows a decimal in it is cut
    /// without a word.
    fn makes_text(&self) -> bool {
        match self {
            Expr::Function { function, ty, .. } => {
                function.as_number == AsNumber::Computed && ty.is_string()
            }
            _ => false,
        }
    }

    /// Whether its values are members of an ENUM or SET.
    fn has_members(&self) -> bool {
        matches!(self, Expr::Column { ty, .. } if ty.ty.is_some_and(ColumnType::has_members))
    }

    /// Whether it is IF or CASE.
    fn has_branches(&self) -> bool {
        match self {
            Expr::Case { .. } => true,
            Expr::Function { function, .. } => function.as_number == AsNumber::Branch,
            _ => false,
        }
    }

    /// Whether it is a user variable.
    fn is_variable(&self) -> bool {
        matches!(self, Expr::UserVariable { .. })
    }

    /// Whether it is a TEXT or BLOB column.
    fn is_text_column(&self) -> bool {
        matches!(self, Expr::Column { ty, .. } if matches!(ty.ty, Some(ColumnType::Text(_))))
    }

    /// Whether CAST makes an integer of the text that it is, whatever number it would be elsewhere.
    fn is_cast_as_text(&self) -> bool {
        let is_text = || infer(self).is_string();
        self.is_quiet()
            || self.is_variable()
            || self.is_moment()
            || (self.has_branches() || self.chosen().is_some()) && is_text()
    }

    /// Of NULLIF and its like, the argument whose value it has, if that can be evaluated again.
    fn chosen(&self) -> Option<&Expr> {
        match self {
            Expr::Function { function, args, .. } if function.as_number == AsNumber::Chosen => {
                args.first().filter(|chosen| !is_volatile(chosen))
            }
            _ => None,
        }
    }

    /// Whether it is a function whose texts are dates and times.
    pub(super) fn is_moment(&self) -> bool {
        match self {
            Expr::Function { function, .. } if function.as_number == AsNumber::Moment => true,
            _ => self.chosen().is_some_and(Expr::is_moment),
        }
    }

    /// Whether nothing is said of a text of it that is no number.
    fn is_quiet(&self) -> bool {
        match self {
            Expr::Function { function, .. } => function.as_number == AsNumber::Merged,
            _ => self.is_text_column(),
        }
    }

    /// Says that a floating point number is clipped to an integer, or refuses it.
    #[cold]
    fn overflows(&self, x: f64, context: &mut EvalContext<'_>) -> Result<(), SqlError> {
        let warns = match self {
            Expr::Literal(..)
            | Expr::Parameter { .. }
            | Expr::UserVariable { .. }
            | Expr::SetUserVariable { .. }
            | Expr::SystemVariable { .. } => return Ok(()),
            Expr::Column { .. } | Expr::Case { .. } => true,
            Expr::Function { function, .. } => {
                matches!(function.as_number, AsNumber::Chosen | AsNumber::Branch)
            }
            Expr::Binary { .. }
            | Expr::Negate { .. }
            | Expr::Not(_)
            | Expr::BitNot(_)
            | Expr::In { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::InArray(_)
            | Expr::IsNull { .. }
            | Expr::IsTruth { .. }
            | Expr::Cast { .. } => false,
        };
        if !warns {
            let expression = describe(self, context.params);
            return Err(SqlError::value_out_of_range("BIGINT", expression));
        }
        let mut shown = Vec::new();
        convert::text(&Value::Double(x), NOT_FIXED, &mut shown);
        let shown = convert::shown(&shown);
        context
            .warnings
            .warn(SqlError::truncated_wrong_value("INTEGER", shown));
        Ok(())
    }
}

/// The decimal that a TEXT or BLOB column has: it is told of only if there is none at all.
fn text_column_decimal<'r>(value: Cow<'r, Value>, context: &mut EvalContext<'_>) -> Cow<'r, Value> {
    let Value::Bytes(text) = &*value else {
        return value;
    };
    if convert::numeric_prefix(text).0.is_empty() {
        let lost = SqlError::incorrect_value_for_column("DECIMAL", "0", "", -1);
        context.warnings.warn(lost);
    }
    let number = convert::text_to_decimal(text).number;
    Cow::Owned(Value::Decimal(number))
}

/// The digits of a date or time, as a number.
fn digits_of_moment(text: &[u8]) -> Decimal {
    let is_part = |(i, byte): &(usize, &u8)| {
        byte.is_ascii_digit() || **byte == b'.' || *i == 0 && **byte == b'-'
    };
    let digits: Vec<u8> = text
        .iter()
        .enumerate()
        .filter(is_part)
        .map(|(_, byte)| *byte)
        .collect();
    convert::text_to_decimal(&digits).number
}

/// A date or time as the decimal that its digits are.
fn exact_moment(value: Cow<'_, Value>) -> Cow<'_, Value> {
    match &*value {
        Value::Bytes(text) => Cow::Owned(Value::Decimal(digits_of_moment(text))),
        _ => value,
    }
}

/// The bits that operators and aggregates on bits see of an expression; `None` for NULL.
pub fn bit_pattern(
    expr: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Option<u64>, SqlError> {
    let value = expr.integer_value(row, context)?;
    Ok(match convert::integer(&value, context) {
        Some(Number::Int(n)) => Some(n.cast_unsigned()),
        Some(Number::UInt(n)) => Some(n),
        // `integer` yields integers only.
        Some(Number::Decimal(_) | Number::Double(_)) | None => None,
    })
}

/// `~expr`: of bytes the bytes, of all else the bits.
pub(super) fn complement(
    expr: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    if infer(expr).is_bytes() {
        let value = expr.value(row, context)?;
        let bytes = convert::string(&value, 0);
        return Ok(bytes.map_or(Value::Null, |bytes| {
            Value::Bytes(bytes.iter().map(|byte| !byte).collect())
        }));
    }
    Ok(bit_pattern(expr, row, context)?.map_or(Value::Null, |bits| Value::UInt(!bits)))
}
