//! Changing parts of documents.

use super::{Args, done, make::Room, single_path, tree};
use crate::{
    error::SqlError,
    expr::EvalContext,
    json::{Leg, Path, insert_at, remove as remove_at, update},
};
use cohort_engine::types::{Value, json::Tree};

/// What JSON_SET and its like put into a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Puts {
    /// What is not there yet.
    New,
    /// What is there.
    There,
    /// Both.
    Both,
}

/// The document of the first argument, with a path and a value for each pair of the others.
fn with_pairs(
    args: &Args<'_>,
    name: &str,
    context: &mut EvalContext<'_>,
    change: impl Fn(&mut Tree, &Path, Tree) -> Result<(), SqlError>,
) -> Result<Value, SqlError> {
    let Some(mut tree) = tree(args, 0, name, context)? else {
        return Ok(Value::Null);
    };
    let mut room = Room::new();
    for i in (1..args.len()).step_by(2) {
        let Some(path) = single_path(args, i, context)? else {
            return Ok(Value::Null);
        };
        let value = room.part(args, i + 1, context)?;
        change(&mut tree, &path, value)?;
    }
    done(&tree, context)
}

pub(super) fn put(
    args: &Args<'_>,
    name: &str,
    puts: Puts,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    with_pairs(args, name, context, |tree, path, value| {
        if let Some(there) = update(tree, &path.legs) {
            if puts != Puts::New {
                *there = value;
            }
        } else if puts != Puts::There
            && let Some((last, above)) = path.legs.split_last()
            && let Some(above) = update(tree, above)
        {
            insert_at(above, last, value);
        }
        Ok(())
    })
}

pub(super) fn array_append(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    with_pairs(args, "json_array_append", context, |tree, path, value| {
        match update(tree, &path.legs) {
            Some(Tree::Array(elements)) => elements.push(value),
            Some(other) => {
                let own = std::mem::replace(other, Tree::null());
                *other = Tree::Array(vec![own, value]);
            }
            None => {}
        }
        Ok(())
    })
}

pub(super) fn array_insert(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    with_pairs(args, "json_array_insert", context, |tree, path, value| {
        let Some((Leg::Index(position), above)) = path.legs.split_last() else {
            return Err(SqlError::no_json_array_cell());
        };
        if let Some(Tree::Array(elements)) = update(tree, above) {
            let at = usize::try_from(position.of(elements.len())).unwrap_or(0);
            elements.insert(at.min(elements.len()), value);
        }
        Ok(())
    })
}

pub(super) fn remove(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(mut tree) = tree(args, 0, "json_remove", context)? else {
        return Ok(Value::Null);
    };
    for i in 1..args.len() {
        let Some(path) = single_path(args, i, context)? else {
            return Ok(Value::Null);
        };
        if path.legs.is_empty() {
            return Err(SqlError::vacuous_json_path());
        }
        remove_at(&mut tree, &path.legs);
    }
    done(&tree, context)
}
