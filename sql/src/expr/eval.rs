//! Evaluation of the tree.

use super::{
    BinaryOp, EvalContext, Expr, ExprType, Once, arithmetic, case,
    compare::{compare, compare_alike, compare_with},
    convert,
    describe::{self, describe},
    functions, infer,
    operand::{bit_pattern, complement},
    resolve::literal,
    taken,
    types::coercibility,
};
use crate::error::SqlError;
use cohort_engine::types::{
    Collation, ColumnType, Value,
    collation::Pattern,
    json::{Node, Scalar, compare as compare_json},
};
use std::{borrow::Cow, cmp::Ordering};

/// Evaluates an expression on a row. A quotient has more digits than its type shows: see
/// `convert::conform` for what a client sees.
pub fn eval(expr: &Expr, row: &[Value], context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    Ok(view(expr, row, context)?.into_owned())
}

/// The same, where it stands if it is there already: in a column, a constant or a parameter.
#[inline(always)]
pub fn view<'r, 'c: 'r>(
    expr: &'r Expr,
    row: &'r [Value],
    context: &mut EvalContext<'c>,
) -> Result<Cow<'r, Value>, SqlError> {
    match expr.stored(row) {
        Some(value) => Ok(Cow::Borrowed(value)),
        None => made(expr, row, context),
    }
}

/// The same, of what does not stand there.
fn made<'r, 'c: 'r>(
    expr: &'r Expr,
    row: &'r [Value],
    context: &mut EvalContext<'c>,
) -> Result<Cow<'r, Value>, SqlError> {
    let value = expr.computed(row, context)?;
    Ok(match &*value {
        // What IF and CASE choose of members is a text.
        Value::Member(member) if !infer(expr).ty.is_some_and(ColumnType::has_members) => {
            Cow::Owned(member.text.clone())
        }
        _ => value,
    })
}

/// Whether a condition holds: not for NULL. The fast way for predicates.
#[inline]
pub fn holds(
    condition: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<bool, SqlError> {
    Ok(condition.truth(row, context)? == Some(true))
}

/// Whether a condition is false: neither true nor NULL.
pub fn is_false(
    condition: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<bool, SqlError> {
    Ok(condition.truth(row, context)? == Some(false))
}

/// Whether a condition is true; NULL is not.
pub fn is_true(
    condition: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<bool, SqlError> {
    Ok(condition.truth(row, context)? == Some(true))
}

fn boolean(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, |truth| Value::Int(truth.into()))
}

/// The value as a condition sees it: zero is false; `None` is UNKNOWN.
pub(super) fn truth_of(value: &Value, context: &mut EvalContext<'_>) -> Option<bool> {
    match value {
        Value::Null => None,
        Value::Int(n) => Some(*n != 0),
        // Whatever is not the number 0.
        Value::Json(json) => {
            let zero = Node::Scalar(Scalar::Int(0));
            Some(compare_json(&json.root(), &zero).is_ne())
        }
        other => convert::number(other, context).map(|number| !number.is_zero()),
    }
}

fn negate_if(negated: bool, truth: Option<bool>) -> Option<bool> {
    truth.map(|truth| truth != negated)
}

impl Expr {
    /// The value for a row, borrowed from the row, the tree or the parameters if it is there. Of a
    /// member of an ENUM or SET the text.
    #[inline]
    pub(super) fn value<'r, 'c: 'r>(
        &'r self,
        row: &'r [Value],
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'r, Value>, SqlError> {
        Ok(match self.raw(row, context)? {
            Cow::Borrowed(Value::Member(member)) => Cow::Borrowed(&member.text),
            Cow::Owned(Value::Member(member)) => Cow::Owned(member.text.clone()),
            value => value,
        })
    }

    /// The same, but a column of type ENUM or SET yields its number and text at once, also as the
    /// branch of an IF or CASE.
    ///
    /// Where it is inlined, what a column holds is a pointer, and no value is moved: half of the time of
    /// a sum was a value's way through memory.
    #[inline(always)]
    pub(super) fn raw<'r, 'c: 'r>(
        &'r self,
        row: &'r [Value],
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'r, Value>, SqlError> {
        match self.stored(row) {
            Some(value) => Ok(Cow::Borrowed(value)),
            None => self.computed(row, context),
        }
    }

    /// The value, if it stands in the row or in the expression as it is.
    #[inline(always)]
    pub fn stored<'r>(&'r self, row: &'r [Value]) -> Option<&'r Value> {
        match self {
            Expr::Literal(value, _) => Some(value),
            Expr::Column { slot, ty } => match row.get(*slot as usize)? {
                Value::Member(_) | Value::Json(_) => None,
                Value::DateTime(_) if matches!(ty.ty, Some(ColumnType::Timestamp(_))) => None,
                value => Some(value),
            },
            _ => None,
        }
    }

    /// The same as `raw`, of what `stored` does not know.
    fn computed<'r, 'c: 'r>(
        &'r self,
        row: &'r [Value],
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'r, Value>, SqlError> {
        let value = match self {
            Expr::Literal(value, _) => return Ok(Cow::Borrowed(value)),
            Expr::Column { slot, ty } => {
                let value = row
                    .get(*slot as usize)
                    .ok_or_else(|| SqlError::internal("an expression reads past its row"))?;
                return Ok(match (ty.ty, value) {
                    (Some(ColumnType::Timestamp(_)), Value::DateTime(utc))
                        if !context.statement.time_zone.is_utc() =>
                    {
                        Cow::Owned(Value::DateTime(context.statement.time_zone.to_local(*utc)))
                    }
                    // What has been computed of members is a text.
                    (Some(ty), Value::Member(member)) if !ty.has_members() => {
                        Cow::Borrowed(&member.text)
                    }
                    (_, Value::Json(_)) => {
                        context.document_of = "";
                        Cow::Borrowed(value)
                    }
                    _ => Cow::Borrowed(value),
                });
            }
            Expr::Parameter { index, ty, bound } => {
                let params: &'c [Value] = context.params;
                let value = params
                    .get(*index as usize)
                    .ok_or_else(|| SqlError::wrong_arguments("EXECUTE"))?;
                if *bound
                    && let Value::Bytes(text) = value
                    && let Some(number) = taken::number_of(text, ty, context)
                {
                    return Ok(Cow::Owned(number));
                }
                return Ok(Cow::Borrowed(value));
            }
            Expr::Binary {
                op,
                left,
                right,
                ty,
            } => match op {
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => boolean(self.truth(row, context)?),
                op if op.is_comparison() => boolean(self.truth(row, context)?),
                op => operate(*op, left, right, ty, row, context)?,
            },
            Expr::Negate { expr, .. } => {
                let value = expr.number_value(row, context)?;
                let params = context.params;
                arithmetic::negate(&value, context, || describe(self, params))?
            }
            Expr::BitNot(expr) => complement(expr, row, context)?,
            Expr::Not(_)
            | Expr::In { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::InArray(_)
            | Expr::IsNull { .. }
            | Expr::IsTruth { .. } => boolean(self.truth(row, context)?),
            Expr::Case { ty, .. } => return self.case(ty, row, context),
            Expr::Cast { expr, ty } => self.cast(expr, ty, row, context)?,
            Expr::Function {
                function,
                args,
                ty,
                once,
            } => call(function, *once, &functions::Args { args, row, ty }, context)?,
            Expr::UserVariable { name, ty } => {
                let value = context.environment.user_variable(name);
                // The statement itself may have given it a value of another type.
                let value = value.map_or(Value::Null, |(value, _)| value);
                convert::conform(value, ty, context)
            }
            Expr::SetUserVariable { name, expr } => {
                let ty = infer(expr);
                let value = convert::conform(eval(expr, row, context)?, &ty, context);
                let kept = convert::for_variable(value.clone(), ty.decimals);
                context
                    .environment
                    .set_user_variable(name, kept, ty.collation);
                value
            }
            Expr::SystemVariable { scope, name, .. } => {
                context.environment.system_variable(*scope, name)?
            }
        };
        Ok(Cow::Owned(value))
    }

    /// The value if it is a signed integer that is there already, as most that conditions on
    /// keys compare are, or a sum, difference or product of such: the short way for them.
    #[inline]
    fn integer(&self, row: &[Value], context: &EvalContext<'_>) -> Option<i64> {
        let value = match self {
            Expr::Column { slot, .. } => row.get(*slot as usize)?,
            Expr::Parameter { index, .. } => context.params.get(*index as usize)?,
            Expr::Literal(value, _) => value,
            Expr::Binary { .. } => return self.integer_computed(row, context),
            Expr::Function { once, .. } => once.known(context)?,
            _ => return None,
        };
        match value {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// See `integer`. What overflows is left to the long way, which says so.
    fn integer_computed(&self, row: &[Value], context: &EvalContext<'_>) -> Option<i64> {
        let Expr::Binary {
            op, left, right, ..
        } = self
        else {
            return None;
        };
        let a = left.integer(row, context)?;
        arithmetic::of_integers(*op, a, right.integer(row, context)?)
    }

    /// The truth of a condition for a row; `None` for UNKNOWN.
    pub(crate) fn truth(
        &self,
        row: &[Value],
        context: &mut EvalContext<'_>,
    ) -> Result<Option<bool>, SqlError> {
        match self {
            Expr::Binary {
                op,
                left,
                right,
                ty,
            } => binary_truth(*op, left, right, ty, row, context),
            Expr::Not(expr) => Ok(expr.truth(row, context)?.map(|truth| !truth)),
            Expr::InArray(test) => test.truth(row, context),
            Expr::IsNull { expr, negated } => {
                Ok(Some(expr.value(row, context)?.is_null() != *negated))
            }
            Expr::IsTruth {
                expr,
                truth,
                negated,
            } => {
                let is = match truth {
                    // Nothing is lost of a text that is there.
                    None => expr.value(row, context)?.is_null(),
                    truth => expr.truth(row, context)? == *truth,
                };
                Ok(Some(is != *negated))
            }
            Expr::In {
                expr,
                list,
                negated,
                collation,
            } => {
                let value = expr.raw(row, context)?;
                if value.is_null() {
                    return Ok(None);
                }
                let found = list.contains(expr, &value, *collation, row, context)?;
                Ok(negate_if(*negated, found))
            }
            Expr::Between {
                expr,
                low,
                high,
                negated,
                collation,
            } => {
                if let (Some(value), Some(low), Some(high)) = (
                    expr.integer(row, context),
                    low.integer(row, context),
                    high.integer(row, context),
                ) {
                    return Ok(Some((low <= value && value <= high) != *negated));
                }
                let value = expr.raw(row, context)?;
                if value.is_null() {
                    return Ok(None);
                }
                let mut with = |end: &Expr| {
                    let end = end.raw(row, context)?;
                    compare(&value, &end, *collation, context)
                };
                let above = with(low)?.map(Ordering::is_ge);
                let below = with(high)?.map(Ordering::is_le);
                Ok(negate_if(*negated, and(above, below)))
            }
            Expr::Like {
                expr,
                pattern,
                escape,
                negated,
                collation,
            } => {
                let fits = like(expr, pattern, escape.as_deref(), *collation, row, context)?;
                Ok(negate_if(*negated, fits))
            }
            other => {
                if let Some(number) = literal::digits_number(other) {
                    literal::warn_of_digits(other, context);
                    return Ok(Some(number != 0));
                }
                let value = other.number_value(row, context)?;
                Ok(truth_of(&value, context))
            }
        }
    }

    /// The value of a CAST, which is this expression.
    fn cast(
        &self,
        expr: &Expr,
        ty: &ExprType,
        row: &[Value],
        context: &mut EvalContext<'_>,
    ) -> Result<Value, SqlError> {
        let operand = if ty.is_string() {
            expr.text_operand(row, context)?
        } else {
            Some(expr)
        };
        let Some(expr) = operand else {
            return Ok(Value::Null);
        };
        let value = expr.cast_value(ty, row, context)?;
        let made = functions::cast::cast(&value, &infer(expr), ty, context)?;
        if matches!(made, Value::Float(x) if x.is_infinite()) {
            let text = describe(self, context.params);
            return Err(SqlError::value_out_of_range("DOUBLE", text));
        }
        Ok(made)
    }

    /// What IF and CASE decide by: of a document the number that it is.
    pub(crate) fn decision(
        &self,
        row: &[Value],
        context: &mut EvalContext<'_>,
    ) -> Result<Option<bool>, SqlError> {
        if !infer(self).is_json() {
            return self.truth(row, context);
        }
        let value = self.raw(row, context)?;
        let number = convert::number(&value, context);
        Ok(number.map(|number| !number.is_zero()))
    }

    fn case<'r, 'c: 'r>(
        &'r self,
        ty: &ExprType,
        row: &'r [Value],
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'r, Value>, SqlError> {
        let Some(chosen) = self.branch(row, context)? else {
            return Ok(Cow::Owned(Value::Null));
        };
        let value = chosen.raw(row, context)?;
        functions::unify(value, infer(chosen).text_form(), ty, context)
    }

    /// Whether a CASE takes the branch of this number for a row, if it takes none before it.
    pub(crate) fn takes_branch(
        &self,
        at: usize,
        row: &[Value],
        context: &mut EvalContext<'_>,
    ) -> Result<bool, SqlError> {
        let Expr::Case {
            operand,
            collation,
            branches,
            ..
        } = self
        else {
            return Ok(false);
        };
        let Some((when, _)) = branches.get(at) else {
            return Ok(false);
        };
        let Some(operand) = operand else {
            return Ok(when.decision(row, context)? == Some(true));
        };
        match operand.raw(row, context)?.into_owned() {
            Value::Null => Ok(false),
            value => {
                let when = when.raw(row, context)?;
                case::Operand::new(operand, value).equals(&when, *collation, context)
            }
        }
    }

    /// The branch that a CASE or IF takes for a row; of anything else, none.
    pub(super) fn branch<'r>(
        &'r self,
        row: &'r [Value],
        context: &mut EvalContext<'_>,
    ) -> Result<Option<&'r Expr>, SqlError> {
        match self {
            Expr::Case {
                operand,
                collation,
                branches,
                otherwise,
                ty: _,
            } => {
                let mut operand = match operand {
                    Some(operand) => match operand.raw(row, context)?.into_owned() {
                        // Nothing is equal to it.
                        Value::Null => return Ok(otherwise.as_deref()),
                        value => Some(case::Operand::new(operand, value)),
                    },
                    None => None,
                };
                for (when, then) in branches {
                    let fits = match &mut operand {
                        Some(operand) => {
                            let when = when.raw(row, context)?;
                            operand.equals(&when, *collation, context)?
                        }
                        None => when.decision(row, context)? == Some(true),
                    };
                    if fits {
                        return Ok(Some(then));
                    }
                }
                Ok(otherwise.as_deref())
            }
            Expr::Function { args, .. } => functions::branch(args, row, context),
            _ => Ok(None),
        }
    }
}

impl Expr {
    /// Whether it, of this value, is a text that is written in the statement.
    pub(super) fn is_literal_text(&self, value: &Value) -> bool {
        let is_text = matches!(value, Value::Bytes(_));
        match self {
            Expr::Literal(..) | Expr::Parameter { bound: false, .. } => is_text,
            // COLLATE
            Expr::Cast { expr, ty } => {
                ty.coercibility == coercibility::EXPLICIT && expr.is_literal_text(value)
            }
            _ => false,
        }
    }
}

fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn binary_truth(
    op: BinaryOp,
    left: &Expr,
    right: &Expr,
    ty: &ExprType,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Option<bool>, SqlError> {
    match op {
        BinaryOp::And => {
            let a = left.truth(row, context)?;
            if a == Some(false) {
                return Ok(a);
            }
            Ok(and(a, right.truth(row, context)?))
        }
        BinaryOp::Or => {
            let a = left.truth(row, context)?;
            if a == Some(true) {
                return Ok(a);
            }
            Ok(match (a, right.truth(row, context)?) {
                (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            })
        }
        BinaryOp::Xor => {
            let Some(a) = left.truth(row, context)? else {
                return Ok(None);
            };
            Ok(right.truth(row, context)?.map(|b| a != b))
        }
        op if op.is_comparison() => {
            if let (Some(a), Some(b)) = (left.integer(row, context), right.integer(row, context)) {
                return Ok(Some(op.accepts(a.cmp(&b))));
            }
            if op != BinaryOp::NullSafeEq
                && let Some(order) = functions::json::compare_extracted(left, right, row, context)?
            {
                return Ok(order.map(|order| op.accepts(order)));
            }
            let a = left.raw(row, context)?;
            if a.is_null() && op != BinaryOp::NullSafeEq {
                return Ok(None);
            }
            let b = right.raw(row, context)?;
            if op == BinaryOp::NullSafeEq && (a.is_null() || b.is_null()) {
                return Ok(Some(a.is_null() && b.is_null()));
            }
            let order = compare_sides((left, a), (right, b), ty.collation, context)?;
            Ok(order.map(|order| op.accepts(order)))
        }
        op => {
            let value = operate(op, left, right, ty, row, context)?;
            Ok(truth_of(&value, context))
        }
    }
}

/// How the values of the two sides of a comparison compare; `None` if either is NULL.
#[inline]
fn compare_sides(
    (left, a): (&Expr, Cow<'_, Value>),
    (right, b): (&Expr, Cow<'_, Value>),
    collation: Collation,
    context: &mut EvalContext<'_>,
) -> Result<Option<Ordering>, SqlError> {
    if let Some(order) = compare_alike(&a, &b, collation) {
        return Ok(Some(order));
    }
    let a = left.beside(a, &b);
    let b = right.beside(b, &a);
    let strict = left.is_literal_text(&a) || right.is_literal_text(&b);
    compare_with(&a, &b, collation, strict, context)
}

/// The same of values that have been computed before.
pub fn compare_operands(
    ((left, a), (right, b)): ((&Expr, &Value), (&Expr, &Value)),
    collation: Collation,
    context: &mut EvalContext<'_>,
) -> Result<Option<Ordering>, SqlError> {
    let (a, b) = (Cow::Borrowed(a), Cow::Borrowed(b));
    compare_sides((left, a), (right, b), collation, context)
}

/// Arithmetic, and operations on bits.
fn operate(
    op: BinaryOp,
    left: &Expr,
    right: &Expr,
    ty: &ExprType,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    // Of these, only, the right side is not looked at if the left one is NULL.
    if op.is_bitwise() && ty.is_string() {
        return operate_on_bytes(op, left, right, row, context);
    }
    if op.is_bitwise() {
        let Some(a) = bit_pattern(left, row, context)? else {
            return Ok(Value::Null);
        };
        let b = bit_pattern(right, row, context)?;
        return Ok(b.map_or(Value::Null, |b| arithmetic::bits(op, a, b)));
    }
    let (a, b) = if op == BinaryOp::IntegerDivide {
        let a = left.decimal_value(row, context)?;
        if a.is_null() {
            return Ok(Value::Null);
        }
        (a, right.decimal_value(row, context)?)
    } else {
        let a = left.number_value(row, context)?;
        (a, right.number_value(row, context)?)
    };
    let params = context.params;
    arithmetic::binary(op, &a, &b, ty, context, || {
        describe::operation(op, left, right, params)
    })
}

/// The value of a call of a function.
#[inline]
fn call(
    function: &functions::Function,
    once: Once,
    args: &functions::Args<'_>,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let value = match once.known(context) {
        Some(value) => value.clone(),
        None => once.compute(context, |context| (function.eval)(args, context))?,
    };
    if matches!(value, Value::Json(_)) {
        context.document_of = function.name;
    }
    Ok(value)
}

/// An operation on the bits of binary strings.
fn operate_on_bytes(
    op: BinaryOp,
    left: &Expr,
    right: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let value = left.value(row, context)?;
    let Some(a) = convert::string(&value, 0) else {
        return Ok(Value::Null);
    };
    if matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight) {
        let by = bit_pattern(right, row, context)?;
        return Ok(by.map_or(Value::Null, |by| {
            Value::Bytes(arithmetic::shifted(op, &a, by))
        }));
    }
    let value = right.value(row, context)?;
    let Some(b) = convert::string(&value, 0) else {
        return Ok(Value::Null);
    };
    arithmetic::bytes(op, &a, &b).map(Value::Bytes)
}

impl BinaryOp {
    /// Whether a comparison accepts this order of its operands.
    #[must_use]
    pub fn accepts(self, order: Ordering) -> bool {
        match self {
            BinaryOp::Eq | BinaryOp::NullSafeEq => order.is_eq(),
            BinaryOp::NotEq => order.is_ne(),
            BinaryOp::Lt => order.is_lt(),
            BinaryOp::LtEq => order.is_le(),
            BinaryOp::Gt => order.is_gt(),
            BinaryOp::GtEq => order.is_ge(),
            _ => false,
        }
    }
}

fn like(
    expr: &Expr,
    pattern: &Expr,
    escape: Option<&Expr>,
    collation: Collation,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Option<bool>, SqlError> {
    let escape = match escape {
        Some(escape) => {
            let value = escape.value(row, context)?;
            let text = convert::string(&value, infer(escape).text_form()).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let mut chars = text.chars();
            let first = chars.next();
            if chars.next().is_some() {
                return Err(SqlError::wrong_arguments("ESCAPE"));
            }
            first
        }
        None if context
            .statement
            .sql_mode
            .has(super::SqlMode::NO_BACKSLASH_ESCAPES) =>
        {
            None
        }
        None => Some('\\'),
    };
    let value = expr.value(row, context)?;
    if value.is_null() {
        return Ok(None);
    }
    let pattern_value = pattern.value(row, context)?;
    let text = convert::string(&value, infer(expr).text_form());
    let pattern = convert::string(&pattern_value, infer(pattern).text_form());
    let (Some(text), Some(pattern)) = (text, pattern) else {
        return Ok(None);
    };
    let pattern = Pattern::new(&pattern, escape, collation);
    let fits = pattern.matches_while(&text, |bytes| context.strive(bytes))?;
    Ok(Some(fits))
}
