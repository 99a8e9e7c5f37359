//! What a constant becomes that is compared with something of another type, where MySQL converts
//! it beforehand and not both sides by their values.

use super::{Scope, SqlMode, is_constant, literal};
use crate::expr::{
    Expr, ExprType,
    functions::{
        AS_DATE, AS_MOMENT, AS_TIME, BOUND_DATE, BOUND_MOMENT, EXACT_DECIMAL, EXACT_NUMBER, FIXED,
        FULL_YEAR, SHORTENED, START_OF_YEAR, exact_literal,
    },
    infer,
    infer::has_columns,
    is_volatile,
    types::NOT_FIXED,
    visit_operands,
};
use cohort_engine::types::{Collation, ColumnType, Value};

/// Both sides of a comparison.
pub(super) fn pair(left: Expr, right: Expr) -> (Expr, Expr) {
    let right = bound(right, &left);
    let left = bound(left, &right);
    let right = told_as_decimal(with(right, &left), &left);
    let left = told_as_decimal(with(left, &right), &right);
    let (left, right) = rounded(left, right);
    match (is_moment(&left), is_moment(&right)) {
        (true, false) => beside_moment(left, right),
        (false, true) => {
            let (right, left) = beside_moment(right, left);
            (left, right)
        }
        _ => (left, right),
    }
}

/// With TIME_TRUNCATE_FRACTIONAL a text beside a time has no more digits than are read of it, also
/// where it is looked for by an index.
pub(super) fn shortened(text: Expr, other: &Expr, scope: &dyn Scope) -> Expr {
    let ty = infer(&text);
    let cuts = scope.sql_mode().has(SqlMode::TIME_TRUNCATE_FRACTIONAL);
    if !cuts || !ty.is_string() || !matches!(infer(other).ty, Some(ColumnType::Time(_))) {
        return text;
    }
    Expr::call(&SHORTENED, vec![text], ty)
}

/// Floating point numbers with fixed digits, compared with numbers of which the digits are known,
/// count as the numbers with these digits: the FLOAT(7,3) nearest to 1.234 is equal to it.
fn rounded(left: Expr, right: Expr) -> (Expr, Expr) {
    let is_known = |ty: &ExprType| {
        ty.ty.is_some() && !ty.is_string() && !ty.is_temporal() && ty.decimals < NOT_FIXED
    };
    let (a, b) = (infer(&left), infer(&right));
    if !is_known(&a) || !is_known(&b) {
        return (left, right);
    }
    let round = |expr: Expr, ty: ExprType| {
        if !ty.is_fixed_real() {
            return expr;
        }
        let args = vec![expr];
        let function = &FIXED;
        Expr::call(function, args, ty)
    };
    (round(left, a), round(right, b))
}

/// A parameter that is compared with a date is made one beforehand, and NULL if it is none; with a
/// time, a text is made a time.
pub(super) fn bound(parameter: Expr, other: &Expr) -> Expr {
    use ColumnType::{Date, DateTime, Time, Timestamp};
    let Expr::Parameter {
        bound: true, ty, ..
    } = &parameter
    else {
        return parameter;
    };
    if ty.ty.is_none() || ty.is_temporal() {
        return parameter;
    }
    let function = match infer(other).ty {
        Some(Date) if ty.is_string() || ty.is_integer() => &BOUND_DATE,
        Some(DateTime(_) | Timestamp(_)) => &BOUND_MOMENT,
        Some(Time(_)) if ty.is_string() => {
            return cast(parameter, ExprType::temporal(Time(6)).or_null());
        }
        _ => return parameter,
    };
    let ty = ExprType::temporal(DateTime(6)).or_null();
    let args = vec![parameter];
    Expr::call(function, args, ty)
}

/// Whether it is a date, with a time or without one.
pub(super) fn is_moment(expr: &Expr) -> bool {
    use ColumnType::{Date, DateTime, Timestamp};
    matches!(infer(expr).ty, Some(Date | DateTime(_) | Timestamp(_)))
}

/// A date and what differs from row to row, as they are compared: of integers MySQL makes dates,
/// and of texts dates with a time, only if they are constants.
fn beside_moment(moment: Expr, other: Expr) -> (Expr, Expr) {
    let (date, ty) = (infer(&moment), infer(&other));
    let is_constant = !has_columns(&moment);
    if ty.ty == Some(ColumnType::Year) && !(is_constant && has_columns(&other)) {
        let start = ExprType::temporal(ColumnType::Date).nullable_if(ty.nullable);
        return (moment, Expr::call(&START_OF_YEAR, vec![other], start));
    }
    if !has_columns(&other) {
        return (moment, other);
    }
    if ty.is_integer() && ty.ty != Some(ColumnType::Year) {
        return (as_number(moment), other);
    }
    if ty.is_string() && date.ty == Some(ColumnType::Date) && !is_constant {
        let ty = ExprType::temporal(ColumnType::Date).nullable_if(ty.nullable);
        let args = vec![other];
        let function = &AS_DATE;
        return (moment, Expr::call(function, args, ty));
    }
    (moment, other)
}

fn cast(expr: Expr, ty: ExprType) -> Expr {
    let expr = Box::new(expr);
    Expr::Cast { expr, ty }
}

/// A hexadecimal or bit literal is a number beside one.
pub(super) fn as_number_beside(expr: Expr, other: &Expr) -> Expr {
    as_number_among(expr, std::iter::once(other))
}

/// The same, if all of several are numbers.
pub(super) fn as_number_among<'e>(expr: Expr, others: impl IntoIterator<Item = &'e Expr>) -> Expr {
    let is_number = |other: &Expr| {
        let ty = infer(other);
        ty.ty.is_some() && !ty.is_string() && !ty.is_temporal() && !ty.is_json()
    };
    match others.into_iter().all(is_number) {
        true => number(expr),
        false => expr,
    }
}

/// What BETWEEN compares: dates beside an integer are numbers.
pub(super) fn between(expr: Expr, low: Expr, high: Expr) -> [Expr; 3] {
    let (low, high) = match infer(&expr).ty {
        Some(ColumnType::DateTime(_) | ColumnType::Timestamp(_)) => {
            (bound(low, &expr), bound(high, &expr))
        }
        _ => (low, high),
    };
    let is_integer = infer(&expr).is_integer() && infer(&expr).ty != Some(ColumnType::Year);
    if is_integer && is_moment(&low) && is_moment(&high) {
        let [low, high] = [low, high].map(as_number);
        return [expr, low, high];
    }
    let end = |end: Expr| match infer(&end).ty {
        Some(ColumnType::Date) => with_number(end, &expr),
        _ => with(end, &expr),
    };
    let (low, high) = (end(low), end(high));
    [expr, low, high]
}

/// What is compared with a number: a hexadecimal or bit literal is one, also where IF or CASE
/// chooses it.
pub(super) fn number(mut expr: Expr) -> Expr {
    if !infer(&expr).is_string() {
        return expr;
    }
    let replace = |result: &mut Expr| {
        *result = number(std::mem::replace(result, Expr::null()));
    };
    match &mut expr {
        Expr::Case {
            branches,
            otherwise,
            ..
        } => {
            branches.iter_mut().for_each(|(_, then)| replace(then));
            otherwise
                .iter_mut()
                .for_each(|otherwise| replace(otherwise));
            expr
        }
        Expr::Function { function, args, .. } if function.name == "if" => {
            args.iter_mut().skip(1).for_each(replace);
            expr
        }
        _ => literal::as_number(expr),
    }
}

/// A date as a number.
fn as_number(moment: Expr) -> Expr {
    let ty = infer(&moment);
    let (whole, scale) = ty.digits();
    let number = ExprType::decimal(whole + scale, scale).nullable_if(ty.nullable);
    cast(moment, number)
}

/// `constant` as it is compared with `other`.
pub(super) fn with(constant: Expr, other: &Expr) -> Expr {
    match infer(other).ty {
        // Of a date and time the time counts.
        Some(ColumnType::Time(_))
            if matches!(other, Expr::Column { .. }) && is_constant(&constant) =>
        {
            let from = infer(&constant);
            match from.ty {
                Some(ColumnType::Date | ColumnType::DateTime(_)) => {
                    let time = ExprType::temporal(ColumnType::Time(from.decimals.min(6)));
                    cast(constant, time.nullable_if(from.nullable))
                }
                _ => constant,
            }
        }
        _ => with_number(constant, other),
    }
}

/// The same, if it is no time that is compared.
fn with_number(constant: Expr, other: &Expr) -> Expr {
    let ty = infer(other);
    let is_column = matches!(other, Expr::Column { .. });
    match ty.ty {
        None => constant,
        _ if ty.is_string() => constant,
        // Years of one or two digits are short for longer ones.
        Some(ColumnType::Year) if is_column && is_constant(&constant) => {
            let constant = literal::as_number(constant);
            let ty = infer(&constant);
            Expr::call(&FULL_YEAR, vec![constant], ty)
        }
        _ if ty.is_temporal() => constant,
        _ => exact(number(constant), other),
    }
}

/// A text that is compared with an integer or decimal column counts as the exact number that it
/// is: as floating point '9007199254740993' would be 9007199254740992, too.
pub(super) fn exact(text: Expr, other: &Expr) -> Expr {
    let (from, to) = (infer(&text), infer(other));
    let is_exact = to.is_integer() || matches!(to.ty, Some(ColumnType::Decimal { .. }));
    let is_column = matches!(other, Expr::Column { .. });
    if !from.is_string() || text.is_moment() || !is_exact || !is_column || !is_fixed(&text) {
        return text;
    }
    if let Expr::Literal(Value::Bytes(digits), _) = &text
        && let Some(number) = exact_literal(digits)
    {
        let ty = literal::type_of(&number, Collation::Binary);
        return Expr::Literal(number, ty);
    }
    let ty = ExprType::decimal(65, 30).or_null();
    Expr::call(&EXACT_NUMBER, vec![text], ty)
}

/// What is lost of a text beside a decimal column is told as of a decimal.
fn told_as_decimal(mut number: Expr, other: &Expr) -> Expr {
    if let Expr::Function { function, .. } = &mut number
        && function.makes_number()
        && matches!(infer(other).ty, Some(ColumnType::Decimal { .. }))
    {
        *function = &EXACT_DECIMAL;
    }
    number
}

/// Whether it has the same value for all rows of a statement.
fn is_fixed(expr: &Expr) -> bool {
    let mut fixed =
        !matches!(expr, Expr::Column { .. } | Expr::UserVariable { .. }) && !is_volatile(expr);
    visit_operands(expr, &mut |operand| fixed &= is_fixed(operand));
    fixed
}

/// What IN or BETWEEN looks for: if it is a text, and only texts and at least one date or date and
/// time stand beside it, it is compared with all of them as a date, with the texts, too. In IN the
/// same goes for times.
pub(super) fn among(text: Expr, others: &[&Expr], times: bool) -> Expr {
    use ColumnType::{Date, DateTime, Time, Timestamp};
    let types: Vec<ExprType> = others.iter().copied().map(infer).collect();
    let comparable = |ty: &ExprType| ty.ty.is_none() || ty.is_string() || ty.is_temporal();
    if !infer(&text).is_string() || !types.iter().all(comparable) {
        return text;
    }
    let is_date = |ty: &ExprType| matches!(ty.ty, Some(Date | DateTime(_) | Timestamp(_)));
    let is_time = |ty: &ExprType| matches!(ty.ty, Some(Time(_)));
    let (function, ty) = if types.iter().any(is_date) {
        (&AS_MOMENT, DateTime(6))
    } else if times && types.iter().any(is_time) {
        (&AS_TIME, Time(6))
    } else {
        return text;
    };
    let ty = ExprType::temporal(ty).nullable_if(infer(&text).nullable);
    let args = vec![text];
    Expr::call(function, args, ty)
}
