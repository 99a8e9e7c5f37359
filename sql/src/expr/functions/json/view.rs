//! Documents that are looked at where they are. `doc->'$.size.width' = 3` makes no document of the
//! width: it follows the path in the row's bytes and compares what it finds there.

use super::{document_of, scalar};
use crate::{
    error::SqlError,
    expr::{EvalContext, Expr, infer},
    json::{self, part, seek},
};
use cohort_engine::types::{
    Json, Value,
    json::{Node, Tree, compare},
};
use std::{borrow::Cow, cmp::Ordering};

const EXTRACT: &str = "json_extract";

/// A document to be read.
pub(super) enum View<'x> {
    /// A part of a column's, or of a constant.
    There(Node<'x>),
    /// One that was made by the call.
    Made(Json),
}

impl View<'_> {
    /// What is read.
    pub fn node(&self) -> Node<'_> {
        match self {
            View::There(node) => node.clone(),
            View::Made(json) => json.root(),
        }
    }
    /// It as a value of its own.
    pub fn into_document(self) -> Json {
        match self {
            View::There(node) => node.to_document(),
            View::Made(json) => json,
        }
    }
}

/// The document that an expression is, as argument `i` of a function; `None` for NULL. 3141 if it is
/// a text and no JSON, 3144 if it is a binary string, 3146 if it is anything else.
pub(super) fn view_of<'x, 'c: 'x>(
    expr: &'x Expr,
    row: &'x [Value],
    i: usize,
    name: &str,
    context: &mut EvalContext<'c>,
) -> Result<Option<View<'x>>, SqlError> {
    if let Some(args) = extraction(expr) {
        return extract(args, row, context);
    }
    match expr.value(row, context)? {
        Cow::Borrowed(Value::Json(json)) => Ok(Some(View::There(json.root()))),
        Cow::Owned(Value::Json(json)) => Ok(Some(View::Made(json))),
        value => Ok(document_of(&value, &infer(expr), i, name)?.map(View::Made)),
    }
}

/// The arguments, if it is a call of JSON_EXTRACT.
fn extraction(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Function { function, args, .. } if function.name == EXTRACT => Some(args),
        _ => None,
    }
}

/// JSON_EXTRACT(document, path, …)
pub(super) fn extract<'x, 'c: 'x>(
    args: &'x [Expr],
    row: &'x [Value],
    context: &mut EvalContext<'c>,
) -> Result<Option<View<'x>>, SqlError> {
    let Some((document, paths)) = args.split_first() else {
        return Ok(None);
    };
    let Some(view) = view_of(document, row, 0, EXTRACT, context)? else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for path in paths {
        let Some(path) = super::path_of(path, row, context)? else {
            return Ok(None);
        };
        if paths.len() == 1 && !path.is_wild() {
            return Ok(match view {
                View::There(node) => part(&node, &path).map(View::There),
                View::Made(json) => {
                    let part = part(&json.root(), &path);
                    part.map(|part| View::Made(part.to_document()))
                }
            });
        }
        found.extend(seek(&view.node(), &path).iter().map(Node::to_tree));
    }
    if found.is_empty() {
        return Ok(None);
    }
    let max = context.statement.max_allowed_packet;
    let made = json::made(&Tree::Array(found), max)?;
    Ok(Some(View::Made(made)))
}

/// How two operands compare of which one is a call of JSON_EXTRACT, if one of them is; within,
/// `None` if one of them is NULL.
pub(in crate::expr) fn compare_extracted(
    left: &Expr,
    right: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Option<Option<Ordering>>, SqlError> {
    if extraction(left).is_none() && extraction(right).is_none() {
        return Ok(None);
    }
    let Some(left) = Operand::of(left, row, context)? else {
        return Ok(Some(None));
    };
    let Some(right) = Operand::of(right, row, context)? else {
        return Ok(Some(None));
    };
    Ok(Some(Some(compare(&left.node(), &right.node()))))
}

/// What is compared with a document.
pub(super) enum Operand<'x> {
    /// What JSON_EXTRACT finds.
    Extracted(View<'x>),
    /// The value of another expression.
    Value(&'x Expr, Cow<'x, Value>),
}

impl<'x> Operand<'x> {
    /// What an expression is; `None` for NULL.
    pub fn of<'c: 'x>(
        expr: &'x Expr,
        row: &'x [Value],
        context: &mut EvalContext<'c>,
    ) -> Result<Option<Operand<'x>>, SqlError> {
        if let Some(args) = extraction(expr) {
            return Ok(extract(args, row, context)?.map(Operand::Extracted));
        }
        let value = expr.raw(row, context)?;
        Ok((!value.is_null()).then_some(Operand::Value(expr, value)))
    }
    /// Itself, if it is a document.
    pub fn document(&self) -> Option<Node<'_>> {
        match self {
            Operand::Extracted(view) => Some(view.node()),
            Operand::Value(_, value) => match &**value {
                Value::Json(json) => Some(json.root()),
                _ => None,
            },
        }
    }
    /// Itself, or the scalar that it is beside a document.
    fn node(&self) -> Node<'_> {
        match self {
            Operand::Extracted(view) => view.node(),
            Operand::Value(expr, value) => match &**value {
                Value::Json(json) => json.root(),
                value => Node::Scalar(scalar(expr, value)),
            },
        }
    }
}
