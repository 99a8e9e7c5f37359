//! JSON_VALUE: a part of a document as a value of a type.

use super::{Args, Function, function, path};
use crate::{
    error::SqlError,
    expr::{
        EvalContext, Expr, ExprType,
        convert::{self, Number},
        functions::cast::cast,
        infer,
    },
    json::{plain, seek},
    text::json::{print, unquoted},
    warnings::Warnings,
};
use cohort_engine::types::{ColumnType, Value, json::Node};

const NAME: &str = "json_value";

/// What it does if there is no such value: its clauses ON EMPTY and ON ERROR.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::expr) enum Otherwise {
    /// NULL
    Null,
    /// ERROR
    Error,
    /// DEFAULT
    Default(Expr),
}

/// Its arguments are the document, the path, and for ON EMPTY and for ON ERROR how many of the last
/// ones are its default: `ERRORS` if it is an error.
static JSON_VALUE: Function = function(NAME, (6, 6), |t| t.ty(0), eval);

const NULL: i64 = 0;
const DEFAULT: i64 = 1;
const ERRORS: i64 = 2;

/// A call of it.
pub(in crate::expr) fn json_value(
    document: Expr,
    path: Expr,
    ty: ExprType,
    on_empty: Otherwise,
    on_error: Otherwise,
) -> Expr {
    let mut args = vec![document, path];
    for otherwise in [on_empty, on_error] {
        let (mode, default) = match otherwise {
            Otherwise::Null => (NULL, Expr::null()),
            Otherwise::Error => (ERRORS, Expr::null()),
            Otherwise::Default(default) => (DEFAULT, default),
        };
        args.push(Expr::Literal(Value::Int(mode), ExprType::int(1)));
        args.push(default);
    }
    Expr::call(&JSON_VALUE, args, ty.or_null())
}

fn eval(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let ty = args.args.first().map_or_else(ExprType::null, infer);
    let json = match super::document(args, 0, NAME, context) {
        Ok(Some(json)) => json,
        Ok(None) => return Ok(Value::Null),
        // Of a text that is no JSON the clause says what to do.
        Err(error) if ty.is_string() && !ty.is_bytes() => {
            return failed(error, true, args, context);
        }
        Err(error) => return Err(error),
    };
    let Some(path) = path(args, 1, context)? else {
        return Ok(Value::Null);
    };
    let found = seek(&json.node(), &path);
    match found.as_slice() {
        [] => otherwise(2, SqlError::missing_json_value(NAME), args, context),
        [node] => match converted(node, args.ty, context)? {
            Some(value) => Ok(value),
            None => {
                let error = SqlError::value_out_of_range(type_name(args.ty), NAME);
                failed(error, false, args, context)
            }
        },
        _ => failed(SqlError::several_json_values(NAME), false, args, context),
    }
}

/// What ON ERROR says.
fn failed(
    error: SqlError,
    told: bool,
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    if told && matches!(args.args.get(4), Some(Expr::Literal(Value::Int(NULL), _))) {
        context.warnings.warn(error);
        return Ok(Value::Null);
    }
    otherwise(4, error, args, context)
}

/// What the clause says whose mode is an argument.
fn otherwise(
    mode: usize,
    error: SqlError,
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    match (args.args.get(mode), args.args.get(mode + 1)) {
        (Some(Expr::Literal(Value::Int(ERRORS), _)), _) => Err(error),
        (Some(Expr::Literal(Value::Int(DEFAULT), _)), Some(default)) => {
            let value = args.value(mode + 1, context)?;
            cast(&value, &infer(default), args.ty, context)
        }
        _ => Ok(Value::Null),
    }
}

/// A part of a document as a value of a type; `None` if it is none.
fn converted(
    node: &Node<'_>,
    ty: &ExprType,
    context: &mut EvalContext<'_>,
) -> Result<Option<Value>, SqlError> {
    let part = node.to_document();
    let value = plain(&part);
    if value == Some(Value::Null) {
        return Ok(value);
    }
    if ty.is_json() {
        return Ok(Some(Value::Json(part)));
    }
    if ty.is_string() {
        let mut text = Vec::new();
        match node {
            Node::Scalar(scalar) => unquoted(scalar, &mut text),
            node => print(node, &mut text),
        }
        let fits = ty.collation.char_count(&text) <= ty.length as usize;
        return Ok(fits.then_some(Value::Bytes(text)));
    }
    let Some(value) = value else {
        return Ok(None);
    };
    if !may_become(&value, ty, context) {
        return Ok(None);
    }
    // What a conversion would warn of is an error here.
    let kept = std::mem::replace(context.warnings, Warnings::new(0));
    let from = type_of(&value);
    let result = cast(&value, &from, ty, context);
    let said = std::mem::replace(context.warnings, kept);
    let value = result?;
    let is_infinite = matches!(value, Value::Float(x) if x.is_infinite());
    Ok((said.is_silent() && !value.is_null() && !is_infinite).then_some(value))
}

/// Whether a value is one that a type takes at all.
fn may_become(value: &Value, ty: &ExprType, context: &mut EvalContext<'_>) -> bool {
    let is_moment = matches!(value, Value::Date(_) | Value::Time(_) | Value::DateTime(_));
    if ty.ty == Some(ColumnType::Year) && is_moment {
        return false;
    }
    if ty.is_temporal() && is_moment {
        // A time has no date, and of a date no time is taken.
        let is_time = matches!(ty.ty, Some(ColumnType::Time(_)));
        return is_time == matches!(value, Value::Time(_));
    }
    if ty.is_temporal() {
        return matches!(value, Value::Bytes(_));
    }
    if !ty.is_integer() || matches!(value, Value::Bytes(_)) {
        return !is_moment;
    }
    match convert::number(value, context) {
        Some(Number::Double(x)) => !(convert::is_beyond_integers(x) || ty.unsigned && x < 0.0),
        Some(Number::Int(n)) => !ty.unsigned || n >= 0,
        Some(Number::UInt(n)) => ty.unsigned || i64::try_from(n).is_ok(),
        Some(Number::Decimal(number)) => {
            let (whole, clipped) = convert::decimal_to_integer(&number);
            !(clipped || ty.unsigned && matches!(whole, Number::Int(..0)))
        }
        None => false,
    }
}

fn type_of(value: &Value) -> ExprType {
    match value {
        Value::Bytes(_) => super::text(u32::MAX),
        Value::Double(_) => ExprType::double(),
        Value::Date(_) => ExprType::temporal(ColumnType::Date),
        Value::Time(_) => ExprType::temporal(ColumnType::Time(6)),
        Value::DateTime(_) => ExprType::temporal(ColumnType::DateTime(6)),
        _ => ExprType::bigint(matches!(value, Value::UInt(_))),
    }
}

/// What a type is called in errors.
fn type_name(ty: &ExprType) -> &'static str {
    match ty.ty {
        Some(ColumnType::Decimal { .. }) => "DECIMAL",
        Some(ColumnType::Double) => "DOUBLE",
        Some(ColumnType::Float) => "FLOAT",
        Some(ColumnType::Date) => "DATE",
        Some(ColumnType::Time(_)) => "TIME",
        Some(ColumnType::DateTime(_) | ColumnType::Timestamp(_)) => "DATETIME",
        Some(ColumnType::Year) => "YEAR",
        Some(ColumnType::Json) => "JSON",
        _ if ty.is_string() => "STRING",
        _ if ty.unsigned => "UNSIGNED",
        _ => "SIGNED",
    }
}
