//! Looking into documents.

use super::{Args, document, done, path, scalar, single_path, view, wants_all};
use crate::{
    error::SqlError,
    expr::{EvalContext, ExprType, infer},
    json::{self, Flaw, part, places, seek},
};
use cohort_engine::types::{
    Value,
    json::{Node, Scalar, ScalarKind, Tree, compare},
};

pub(super) fn extract(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let found = view::extract(args.args, args.row, context)?;
    Ok(found.map_or(Value::Null, |view| Value::Json(view.into_document())))
}

/// A document, or the part of it that the path in an argument leads to; `None` for NULL and if there
/// is no such part.
fn part_of<'d>(
    args: &Args<'_>,
    document: Node<'d>,
    i: usize,
    context: &mut EvalContext<'_>,
) -> Result<Option<Node<'d>>, SqlError> {
    if args.len() <= i {
        return Ok(Some(document));
    }
    let path = single_path(args, i, context)?;
    Ok(path.and_then(|path| part(&document, &path)))
}

pub(super) fn contains(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    const NAME: &str = "json_contains";
    let Some(target) = document(args, 0, NAME, context)? else {
        return Ok(Value::Null);
    };
    let Some(candidate) = document(args, 1, NAME, context)? else {
        return Ok(Value::Null);
    };
    let Some(target) = part_of(args, target.node(), 2, context)? else {
        return Ok(Value::Null);
    };
    let found = holds(&target, &candidate.node());
    Ok(Value::Int(found.into()))
}

/// Whether a value has another in it.
pub(super) fn holds(target: &Node<'_>, candidate: &Node<'_>) -> bool {
    match (target, candidate) {
        (Node::Object(target), Node::Object(candidate)) => candidate.iter().all(|(key, wanted)| {
            let own = target.get(key);
            own.is_some_and(|own| holds(&own, &wanted))
        }),
        (Node::Array(target), Node::Array(candidate)) => candidate
            .iter()
            .all(|wanted| target.iter().any(|own| is_among(&own, &wanted))),
        (Node::Array(target), wanted) => target.iter().any(|own| is_among(&own, wanted)),
        (Node::Scalar(_), Node::Scalar(_)) => compare(target, candidate).is_eq(),
        _ => false,
    }
}

/// Whether an element has a value in it: arrays only in arrays.
fn is_among(own: &Node<'_>, wanted: &Node<'_>) -> bool {
    match (own, wanted) {
        (Node::Array(_), _) | (Node::Object(_), Node::Object(_)) => holds(own, wanted),
        _ => compare(own, wanted).is_eq(),
    }
}

pub(super) fn contains_path(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    const NAME: &str = "json_contains_path";
    let Some(json) = document(args, 0, NAME, context)? else {
        return Ok(Value::Null);
    };
    let Some(all) = wants_all(args, 1, NAME, context)? else {
        return Ok(Value::Null);
    };
    for i in 2..args.len() {
        let Some(path) = path(args, i, context)? else {
            return Ok(Value::Null);
        };
        let found = !seek(&json.node(), &path).is_empty();
        if found != all {
            return Ok(Value::Int(found.into()));
        }
    }
    Ok(Value::Int(all.into()))
}

pub(super) fn overlaps(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    const NAME: &str = "json_overlaps";
    let Some(a) = document(args, 0, NAME, context)? else {
        return Ok(Value::Null);
    };
    let Some(b) = document(args, 1, NAME, context)? else {
        return Ok(Value::Null);
    };
    let found = overlap(&a.node(), &b.node());
    Ok(Value::Int(found.into()))
}

/// Whether two values have anything in common.
pub(super) fn overlap(a: &Node<'_>, b: &Node<'_>) -> bool {
    match (a, b) {
        (Node::Array(a), Node::Array(b)) => a
            .iter()
            .any(|one| b.iter().any(|other| compare(&one, &other).is_eq())),
        (Node::Array(array), value) | (value, Node::Array(array)) => {
            array.iter().any(|element| compare(&element, value).is_eq())
        }
        (Node::Object(a), Node::Object(b)) => a.iter().any(|(key, one)| {
            let other = b.get(key);
            other.is_some_and(|other| compare(&one, &other).is_eq())
        }),
        (a, b) => compare(a, b).is_eq(),
    }
}

pub(super) fn member_of(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.value(0, context)?;
    let wanted = match (&*value, args.args.first()) {
        (Value::Null, _) | (_, None) => return Ok(Value::Null),
        (Value::Json(json), _) => json.root(),
        (value, Some(arg)) => Node::Scalar(scalar(arg, value)),
    };
    let Some(json) = document(args, 1, "member of", context)? else {
        return Ok(Value::Null);
    };
    let is_it = |node: &Node<'_>| compare(node, &wanted).is_eq();
    let found = match json.node() {
        Node::Array(array) => array.iter().any(|element| is_it(&element)),
        node => is_it(&node),
    };
    Ok(Value::Int(found.into()))
}

pub(super) fn keys(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(json) = document(args, 0, "json_keys", context)? else {
        return Ok(Value::Null);
    };
    let mut part = json.node();
    if args.len() > 1 {
        let Some(path) = single_path(args, 1, context)? else {
            return Ok(Value::Null);
        };
        let found = places(&part, &path, false).into_iter().next();
        let Some((found, _)) = found else {
            return Ok(Value::Null);
        };
        part = found;
    }
    let Node::Object(object) = part else {
        return Ok(Value::Null);
    };
    let keys = object.iter().map(|(key, _)| Scalar::text(key).into_owned());
    done(&Tree::Array(keys.map(Tree::Scalar).collect()), context)
}

pub(super) fn length(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(json) = document(args, 0, "json_length", context)? else {
        return Ok(Value::Null);
    };
    if args.len() == 1 {
        return Ok(Value::Int(json.node().count() as i64));
    }
    let Some(path) = path(args, 1, context)? else {
        return Ok(Value::Null);
    };
    // Of several parts there are so many.
    let found = seek(&json.node(), &path);
    Ok(match found.as_slice() {
        [] => Value::Null,
        [part] if !path.is_wild() => Value::Int(part.count() as i64),
        parts => Value::Int(parts.len() as i64),
    })
}

pub(super) fn depth(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let json = document(args, 0, "json_depth", context)?;
    Ok(json.map_or(Value::Null, |json| Value::Int(json.node().depth() as i64)))
}

pub(super) fn type_name(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let json = document(args, 0, "json_type", context)?;
    Ok(json.map_or(Value::Null, |json| {
        Value::Bytes(name_of_type(&json.node()).as_bytes().to_vec())
    }))
}

fn name_of_type(node: &Node<'_>) -> &'static str {
    match node {
        Node::Array(_) => "ARRAY",
        Node::Object(_) => "OBJECT",
        Node::Scalar(scalar) => match scalar {
            Scalar::Null => "NULL",
            Scalar::Bool(_) => "BOOLEAN",
            Scalar::Int(_) => "INTEGER",
            Scalar::UInt(_) => "UNSIGNED INTEGER",
            Scalar::Double(_) => "DOUBLE",
            Scalar::Decimal(_) => "DECIMAL",
            Scalar::Text(_) => "STRING",
            Scalar::Date(_) => "DATE",
            Scalar::Time(_) => "TIME",
            Scalar::DateTime(_) => "DATETIME",
            Scalar::Timestamp(_) => "TIMESTAMP",
            Scalar::Opaque(..) => match scalar.kind() {
                ScalarKind::Bit => "BIT",
                ScalarKind::Blob => "BLOB",
                _ => "OPAQUE",
            },
        },
    }
}

pub(super) fn valid(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let ty = args.args.first().map_or_else(ExprType::null, infer);
    let value = args.value(0, context)?;
    let valid = match &*value {
        // NULL of a type that holds no JSON is no JSON.
        Value::Null if ty.ty.is_some() && !ty.is_string() && !ty.is_json() => false,
        Value::Null => return Ok(Value::Null),
        Value::Json(_) => true,
        Value::Bytes(text) if !ty.is_bytes() => match json::parse(&String::from_utf8_lossy(text)) {
            Ok(_) => true,
            Err(Flaw::Invalid(..)) => false,
            Err(Flaw::TooDeep) => return Err(SqlError::json_too_deep()),
        },
        _ => false,
    };
    Ok(Value::Int(valid.into()))
}

pub(super) fn storage_size(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let json = document(args, 0, "json_storage_size", context)?;
    Ok(json.map_or(Value::Null, |json| {
        Value::Int(json.into_document().bytes().len() as i64)
    }))
}

/// Documents are written anew when they change: nothing is ever free in them.
pub(super) fn storage_free(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let json = document(args, 0, "json_storage_free", context)?;
    Ok(json.map_or(Value::Null, |_| Value::Int(0)))
}
