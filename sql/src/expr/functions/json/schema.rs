//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT.

use super::{Args, document};
use crate::{
    error::SqlError,
    expr::EvalContext,
    json::{self, Failure, Flaw, Written, check_schema},
    text::json::print,
};
use cohort_engine::types::{
    Value,
    json::Node,
    json::{Key, Scalar, Tree},
};
use std::{borrow::Cow, collections::BTreeMap};

pub(super) fn valid(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    Ok(match checked(args, "json_schema_valid", context)? {
        None => Value::Null,
        Some(failure) => {
            if let (Some(failure), true) = (&failure, context.checking) {
                let told = SqlError::json_schema_failed(
                    &failure.document,
                    failure.keyword,
                    &failure.schema,
                );
                context.warnings.push(crate::warnings::Level::Error, told);
            }
            Value::Int(failure.is_none().into())
        }
    })
}

pub(super) fn report(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(failure) = checked(args, "json_schema_validation_report", context)? else {
        return Ok(Value::Null);
    };
    let text = |text: &str| Tree::Scalar(Scalar::Text(Cow::Owned(text.to_owned())));
    let valid = Tree::Scalar(Scalar::Bool(failure.is_none()));
    let mut members = BTreeMap::from([(Key::from("valid"), valid)]);
    if let Some(Failure {
        keyword,
        schema,
        document,
    }) = &failure
    {
        let reason = format!(
            "The JSON document location '{document}' failed requirement '{keyword}' at JSON \
             Schema location '{schema}'"
        );
        members.insert("reason".into(), text(&reason));
        members.insert("schema-location".into(), text(schema));
        members.insert("document-location".into(), text(document));
        members.insert("schema-failed-keyword".into(), text(keyword));
    }
    super::done(&Tree::Object(members), context)
}

/// What of the schema the document does not meet; nothing at all if one of them is NULL.
fn checked(
    args: &Args<'_>,
    name: &str,
    context: &mut EvalContext<'_>,
) -> Result<Option<Option<Failure>>, SqlError> {
    let Some(schema) = written(args, 0, name, context)? else {
        return Ok(None);
    };
    if !matches!(schema, Written::Object(_)) {
        return Err(SqlError::json_object_required(1, name));
    }
    let Some(document) = written(args, 1, name, context)? else {
        return Ok(None);
    };
    const STEP: usize = 64;
    let mut tick = || context.strive(STEP);
    check_schema(&schema, &document, &mut tick).map(Some)
}

/// An argument as it is written.
fn written(
    args: &Args<'_>,
    i: usize,
    name: &str,
    context: &mut EvalContext<'_>,
) -> Result<Option<Written>, SqlError> {
    let value = args.value(i, context)?;
    let text = match &*value {
        // Bytes, too, are taken for a text.
        Value::Bytes(text) => Cow::Borrowed(text.as_slice()),
        _ => {
            let Some(document) = document(args, i, name, context)? else {
                return Ok(None);
            };
            Cow::Owned(printed(&document.node()))
        }
    };
    let written = json::read(&String::from_utf8_lossy(&text));
    written.map(Some).map_err(|flaw| match flaw {
        Flaw::Invalid(why, at) => SqlError::invalid_json_argument(i + 1, name, why, at),
        Flaw::TooDeep => SqlError::json_too_deep(),
    })
}

fn printed(document: &Node<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    print(document, &mut text);
    text
}
