//! Functions of JSON. A text that is an argument where a document is wanted is parsed; where a
//! value is wanted, it is a text.

mod change;
mod column;
mod in_array;
mod make;
mod merge;
mod read;
mod schema;
mod search;
mod value;
mod view;

pub use column::{
    FromJson, default_for_json_column, exists_for_json_column, for_json_column,
    several_for_json_column,
};
pub use in_array::{ArrayTest, InArray, NoArray, may_be_element, typed_array};
pub use make::JsonPart;
pub(in crate::expr) use make::{AS_JSON, scalar};
pub(in crate::expr) use value::{Otherwise, json_value};
pub(in crate::expr) use view::compare_extracted;

use super::{Args, Function, MANY, Typing, function, text_of};
use crate::{
    error::SqlError,
    expr::{EvalContext, Expr, ExprType, types::coercibility},
    json::{self, Flaw, Path, parse},
};
use cohort_engine::types::{Collation, Json, Value, json::Tree};
use std::sync::Arc;
use view::{Operand, View, view_of};

pub(super) const FUNCTIONS: &[Function] = &[
    function("json_array", (0, MANY), constant_json, make::array),
    function("json_object", (0, MANY), constant_json, make::object),
    function("json_quote", (1, 1), quoted_type, make::quote),
    function("json_unquote", (1, 1), unquoted_type, make::unquote),
    function("json_pretty", (1, 1), long_text, make::pretty),
    function("json_extract", (2, MANY), json_or_null, read::extract),
    function("json_contains", (2, 3), number, read::contains),
    function("json_contains_path", (3, MANY), number, read::contains_path),
    function("json_overlaps", (2, 2), boolean, read::overlaps),
    function("json_keys", (1, 2), json_or_null, read::keys),
    function("json_length", (1, 2), number, read::length),
    function("json_depth", (1, 1), number, read::depth),
    function("json_type", (1, 1), type_name, read::type_name),
    function("json_valid", (1, 1), number, read::valid),
    function("json_storage_size", (1, 1), number, read::storage_size),
    function("json_storage_free", (1, 1), number, read::storage_free),
    function("json_search", (3, MANY), json_or_null, search::search),
    function("json_set", (3, MANY), json_or_null, |args, context| {
        change::put(args, "json_set", change::Puts::Both, context)
    }),
    function("json_insert", (3, MANY), json_or_null, |args, context| {
        change::put(args, "json_insert", change::Puts::New, context)
    }),
    function("json_replace", (3, MANY), json_or_null, |args, context| {
        change::put(args, "json_replace", change::Puts::There, context)
    }),
    function(
        "json_array_append",
        (3, MANY),
        json_or_null,
        change::array_append,
    ),
    function(
        "json_array_insert",
        (3, MANY),
        json_or_null,
        change::array_insert,
    ),
    function("json_remove", (2, MANY), json_or_null, change::remove),
    function("json_merge", (2, MANY), json_or_null, |args, context| {
        merge::preserve(args, "json_merge", context)
    }),
    function(
        "json_merge_preserve",
        (2, MANY),
        json_or_null,
        |args, context| merge::preserve(args, "json_merge_preserve", context),
    ),
    function("json_schema_valid", (2, 2), truth_or_null, schema::valid),
    function(
        "json_schema_validation_report",
        (2, 2),
        json_or_null,
        schema::report,
    ),
    function("json_merge_patch", (2, MANY), json_or_null, merge::patch),
];

/// `x MEMBER OF (document)`. It is called in no other way.
pub(in crate::expr) static MEMBER_OF: Function =
    function("member of", (2, 2), boolean, read::member_of);

/// Whether a call of a function may have so many arguments: some take pairs.
pub(in crate::expr) fn takes(name: &str, count: usize) -> bool {
    match name {
        "json_object" => count.is_multiple_of(2),
        "json_set" | "json_insert" | "json_replace" | "json_array_append" | "json_array_insert" => {
            !count.is_multiple_of(2)
        }
        _ => true,
    }
}

fn constant_json(_: &Typing<'_>) -> ExprType {
    ExprType::json().or_null()
}

fn json_or_null(_: &Typing<'_>) -> ExprType {
    ExprType::json().or_null()
}

fn number(_: &Typing<'_>) -> ExprType {
    ExprType::bigint(false).or_null()
}

fn boolean(typing: &Typing<'_>) -> ExprType {
    ExprType::boolean().nullable_if(typing.nullable())
}

fn truth_or_null(_: &Typing<'_>) -> ExprType {
    ExprType::boolean().or_null()
}

fn text(length: u32) -> ExprType {
    ExprType::string(length, Collation::Utf8mb4Bin, coercibility::LITERAL).or_null()
}

fn type_name(_: &Typing<'_>) -> ExprType {
    const LONGEST: u32 = 17;
    text(LONGEST)
}

fn long_text(_: &Typing<'_>) -> ExprType {
    const LENGTH: u32 = 67_108_864;
    text(LENGTH)
}

/// Each character may become six: `\u0001`.
fn quoted_type(typing: &Typing<'_>) -> ExprType {
    text(typing.ty(0).length.saturating_mul(6).saturating_add(2))
}

fn unquoted_type(typing: &Typing<'_>) -> ExprType {
    text(typing.ty(0).length)
}

/// An argument as a document; `None` for NULL. 3141 if it is a text and no JSON, 3144 if it is a
/// binary string, 3146 if it is anything else.
fn document<'x, 'c: 'x>(
    args: &'x Args<'_>,
    i: usize,
    name: &str,
    context: &mut EvalContext<'c>,
) -> Result<Option<View<'x>>, SqlError> {
    match args.args.get(i) {
        Some(expr) => view_of(expr, args.row, i, name, context),
        None => Ok(None),
    }
}

/// The same of an expression that is the first argument.
pub fn json_document(
    expr: &Expr,
    row: &[Value],
    name: &str,
    context: &mut EvalContext<'_>,
) -> Result<Option<Json>, SqlError> {
    let document = view_of(expr, row, 0, name, context)?;
    Ok(document.map(View::into_document))
}

fn document_of(
    value: &Value,
    ty: &ExprType,
    i: usize,
    name: &str,
) -> Result<Option<Json>, SqlError> {
    match value {
        Value::Null => Ok(None),
        Value::Json(json) => Ok(Some(json.clone())),
        Value::Bytes(_) if ty.is_bytes() => {
            Err(SqlError::invalid_json_charset(Collation::Binary.name()))
        }
        Value::Bytes(text) => parsed(text, i + 1, name).map(Some),
        _ => Err(SqlError::invalid_type_for_json(i + 1, name)),
    }
}

/// The same as a tree, to be changed.
fn tree(
    args: &Args<'_>,
    i: usize,
    name: &str,
    context: &mut EvalContext<'_>,
) -> Result<Option<Tree>, SqlError> {
    let document = document(args, i, name, context)?;
    Ok(document.map(|document| document.node().to_tree()))
}

/// The document that a text is which is an argument.
pub fn parsed(text: &[u8], argument: usize, name: &str) -> Result<Json, SqlError> {
    let text = String::from_utf8_lossy(text);
    let tree = parse(&text).map_err(|flaw| match flaw {
        Flaw::Invalid(why, at) => SqlError::invalid_json_argument(argument, name, why, at),
        Flaw::TooDeep => SqlError::json_too_deep(),
    })?;
    json::document(&tree)
}

/// A result.
fn done(tree: &Tree, context: &EvalContext<'_>) -> Result<Value, SqlError> {
    json::made(tree, context.statement.max_allowed_packet).map(Value::Json)
}

/// An argument as a path; `None` for NULL.
fn path(
    args: &Args<'_>,
    i: usize,
    context: &mut EvalContext<'_>,
) -> Result<Option<Arc<Path>>, SqlError> {
    match args.args.get(i) {
        Some(expr) => path_of(expr, args.row, context),
        None => Ok(None),
    }
}

/// The path that an expression is; `None` for NULL.
fn path_of(
    expr: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Option<Arc<Path>>, SqlError> {
    let Some(text) = text_of(expr, row, context)? else {
        return Ok(None);
    };
    context.paths.of(&text).map(Some)
}

/// The same, without wildcards.
fn single_path(
    args: &Args<'_>,
    i: usize,
    context: &mut EvalContext<'_>,
) -> Result<Option<Arc<Path>>, SqlError> {
    let path = path(args, i, context)?;
    path.iter().try_for_each(|path| path.check_single())?;
    Ok(path)
}

/// Whether `all` or `one` is said; `None` for NULL, 3154 for anything else.
fn wants_all(
    args: &Args<'_>,
    i: usize,
    name: &str,
    context: &mut EvalContext<'_>,
) -> Result<Option<bool>, SqlError> {
    let Some(word) = args.string(i, context)? else {
        return Ok(None);
    };
    if word.eq_ignore_ascii_case(b"all") {
        Ok(Some(true))
    } else if word.eq_ignore_ascii_case(b"one") {
        Ok(Some(false))
    } else {
        Err(SqlError::bad_one_or_all(name))
    }
}

/// Functions whose values are truths.
const TRUTHS: [&str; 14] = [
    "is_ipv4",
    "is_ipv4_compat",
    "is_ipv4_mapped",
    "is_ipv6",
    "is_uuid",
    "isnull",
    "json_contains",
    "json_contains_path",
    "json_overlaps",
    "json_schema_valid",
    "json_valid",
    "member of",
    "regexp_like",
    "strcmp",
];

/// Whether an expression yields a truth, which in JSON is no number.
pub(in crate::expr) fn is_truth(expr: &Expr) -> bool {
    match expr {
        // A column is one of a query that is asked whether it has rows, or a value.
        Expr::Literal(_, ty) | Expr::Column { ty, .. } => ty.truth,
        Expr::Binary { op, .. } => op.is_comparison() || op.is_logical(),
        Expr::Not(_)
        | Expr::In { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::InArray(_)
        | Expr::IsNull { .. }
        | Expr::IsTruth { .. } => true,
        Expr::Function { function, .. } => TRUTHS.contains(&function.name),
        Expr::Parameter { .. }
        | Expr::Negate { .. }
        | Expr::BitNot(_)
        | Expr::Case { .. }
        | Expr::Cast { .. }
        | Expr::UserVariable { .. }
        | Expr::SetUserVariable { .. }
        | Expr::SystemVariable { .. } => false,
    }
}
