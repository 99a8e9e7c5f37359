//! JSON_SEARCH.

use super::{Args, document, done, wants_all};
use crate::{
    error::SqlError,
    expr::{EvalContext, SqlMode},
    json::{Step, path_text, places},
};
use cohort_engine::types::{
    Collation, Value,
    collation::Pattern,
    json::{Node, Scalar, Tree},
};
use std::borrow::Cow;

pub(super) fn search(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    const NAME: &str = "json_search";
    let Some(json) = document(args, 0, NAME, context)? else {
        return Ok(Value::Null);
    };
    let all = wants_all(args, 1, NAME, context)?;
    let wanted = args.string(2, context)?.map(Cow::into_owned);
    let escape = escape(args, context)?;
    let (Some(all), Some(wanted)) = (all, wanted) else {
        return Ok(Value::Null);
    };
    let mut paths = Vec::new();
    for i in 4..args.len() {
        let Some(path) = super::path(args, i, context)? else {
            return Ok(Value::Null);
        };
        paths.push(path);
    }
    if paths.is_empty() {
        paths.push(std::sync::Arc::default());
    }
    let pattern = Pattern::new(&wanted, escape, Collation::Utf8mb4Bin);
    let root = json.node();
    let mut found = Vec::new();
    for path in &paths {
        for (node, way) in places(&root, path, false) {
            let mut steps = way_steps(&root, &way);
            find(&node, &pattern, &mut steps, &mut found, context)?;
        }
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|path: &String| seen.insert(path.clone()));
    let mut texts = found
        .into_iter()
        .map(|path| Tree::Scalar(Scalar::Text(Cow::Owned(path))));
    if !all {
        return texts
            .next()
            .map_or(Ok(Value::Null), |first| done(&first, context));
    }
    let texts: Vec<Tree> = texts.collect();
    match texts.as_slice() {
        [] => Ok(Value::Null),
        [only] => done(only, context),
        _ => done(&Tree::Array(texts), context),
    }
}

/// The escape character of the pattern: a backslash if none is given.
fn escape(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Option<char>, SqlError> {
    let text = args.string(3, context)?;
    let text = text.map(|text| String::from_utf8_lossy(&text).into_owned());
    let text = text.unwrap_or_default();
    let mut chars = text.chars();
    let first = chars.next();
    if chars.next().is_some() {
        return Err(SqlError::wrong_arguments("ESCAPE"));
    }
    let mode = context.statement.sql_mode;
    let usual = Some('\\').filter(|_| !mode.has(SqlMode::NO_BACKSLASH_ESCAPES));
    Ok(first.or(usual))
}

/// The steps to a place, by the numbers of the children on the way.
fn way_steps<'a>(root: &Node<'a>, way: &[usize]) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    let mut node = root.clone();
    for &number in way {
        let next = match &node {
            Node::Array(array) => array.get(number).map(|next| (Step::Index(number), next)),
            Node::Object(object) => {
                let member = object.iter().nth(number);
                member.map(|(key, next)| (Step::Key(key), next))
            }
            Node::Scalar(_) => None,
        };
        let Some((step, next)) = next else {
            break;
        };
        steps.push(step);
        node = next;
    }
    steps
}

fn find<'a>(
    node: &Node<'a>,
    pattern: &Pattern,
    steps: &mut Vec<Step<'a>>,
    found: &mut Vec<String>,
    context: &mut EvalContext<'_>,
) -> Result<(), SqlError> {
    match node {
        Node::Scalar(Scalar::Text(text)) => {
            if pattern.matches_while(text.as_bytes(), |bytes| context.strive(bytes))? {
                found.push(path_text(steps));
            }
        }
        Node::Scalar(_) => {}
        Node::Array(array) => {
            for (i, element) in array.iter().enumerate() {
                steps.push(Step::Index(i));
                find(&element, pattern, steps, found, context)?;
                steps.pop();
            }
        }
        Node::Object(object) => {
            for (key, member) in object.iter() {
                steps.push(Step::Key(key));
                find(&member, pattern, steps, found, context)?;
                steps.pop();
            }
        }
    }
    Ok(())
}
