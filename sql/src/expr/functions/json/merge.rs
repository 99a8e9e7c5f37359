//! Merging documents.

use super::{Args, document, done, tree};
use crate::{error::SqlError, expr::EvalContext};
use cohort_engine::types::{
    Value,
    json::{Scalar, Tree},
};
use std::collections::BTreeMap;

pub(super) fn preserve(
    args: &Args<'_>,
    name: &str,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let mut merged: Option<Tree> = None;
    let mut is_null = false;
    for i in 0..args.len() {
        // All are looked at: a text that is no JSON is an error, whatever is NULL.
        match tree(args, i, name, context)? {
            Some(next) => {
                merged = Some(match merged.take() {
                    Some(before) => both(before, next),
                    None => next,
                });
            }
            None => is_null = true,
        }
    }
    match merged {
        Some(merged) if !is_null => done(&merged, context),
        _ => Ok(Value::Null),
    }
}

/// Objects have the members of both, and all else is one array.
fn both(a: Tree, b: Tree) -> Tree {
    match (a, b) {
        (Tree::Object(mut members), Tree::Object(more)) => {
            for (key, value) in more {
                let merged = match members.remove(&key) {
                    Some(own) => both(own, value),
                    None => value,
                };
                members.insert(key, merged);
            }
            Tree::Object(members)
        }
        (a, b) => {
            let mut elements = elements(a);
            elements.extend(self::elements(b));
            Tree::Array(elements)
        }
    }
}

fn elements(tree: Tree) -> Vec<Tree> {
    match tree {
        Tree::Array(elements) => elements,
        other => vec![other],
    }
}

/// RFC 7396. NULL is a document that is not known: what replaces it is known again.
pub(super) fn patch(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    const NAME: &str = "json_merge_patch";
    let mut target = tree(args, 0, NAME, context)?;
    for i in 1..args.len() {
        let change = document(args, i, NAME, context)?;
        target = match (target, change.map(|change| change.node().to_tree())) {
            (_, None) => None,
            (None, Some(Tree::Object(_))) => None,
            (None, Some(change)) => Some(change),
            (Some(target), Some(change)) => Some(patched(target, change)),
        };
    }
    target.map_or(Ok(Value::Null), |target| done(&target, context))
}

fn patched(target: Tree, change: Tree) -> Tree {
    let Tree::Object(changes) = change else {
        return change;
    };
    let mut members = match target {
        Tree::Object(members) => members,
        Tree::Scalar(_) | Tree::Array(_) => BTreeMap::new(),
    };
    for (key, value) in changes {
        let own = members.remove(&key);
        if value != Tree::Scalar(Scalar::Null) {
            members.insert(key, patched(own.unwrap_or_else(Tree::null), value));
        }
    }
    Tree::Object(members)
}
