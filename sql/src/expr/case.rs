//! What a CASE with an operand compares. A document counts as its text beside a text, a date and
//! another document, and as a floating point number beside a number, though `=` compares documents
//! as such. An ORM's `CASE JSON_EXTRACT(…) WHEN 'null' THEN NULL …` relies on it.

use super::{EvalContext, Expr, compare::compare, convert};
use crate::error::SqlError;
use cohort_engine::types::{Collation, Value};
use std::{borrow::Cow, cmp::Ordering};

/// The operand of a CASE, with its value for a row.
pub(super) struct Operand<'r> {
    expr: &'r Expr,
    value: Value,
    /// The number that a document is. It is kept: if it is none, one warning is enough.
    number: Option<Value>,
}

impl<'r> Operand<'r> {
    pub(super) fn new(expr: &'r Expr, value: Value) -> Self {
        let number = None;
        Operand {
            expr,
            value,
            number,
        }
    }

    /// Whether a WHEN is equal to it.
    pub(super) fn equals(
        &mut self,
        when: &Value,
        collation: Collation,
        context: &mut EvalContext<'_>,
    ) -> Result<bool, SqlError> {
        let is_document = matches!(self.value, Value::Json(_));
        let ordering = match (is_document, when) {
            (true, when) if is_number(when) => {
                let value = &self.value;
                let number = self.number.get_or_insert_with(|| double(value, context));
                compare(number, when, collation, context)
            }
            (false, Value::Json(_)) if is_number(&self.value) => {
                let when = double(when, context);
                compare(&self.value, &when, collation, context)
            }
            (true, when) => compare(&text(&self.value), &text(when), collation, context),
            (false, Value::Json(_)) => compare(&self.value, &text(when), collation, context),
            (false, when) => {
                let value = self.expr.beside(Cow::Borrowed(&self.value), when);
                compare(&value, when, collation, context)
            }
        };
        Ok(ordering? == Some(Ordering::Equal))
    }
}

fn is_number(value: &Value) -> bool {
    matches!(
        value,
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_)
    )
}

fn double(document: &Value, context: &mut EvalContext<'_>) -> Value {
    convert::number(document, context).map_or(Value::Null, |number| Value::Double(number.to_f64()))
}

/// The text of what is no number.
fn text(value: &Value) -> Cow<'_, Value> {
    if matches!(value, Value::Null | Value::Bytes(_)) {
        return Cow::Borrowed(value);
    }
    let mut text = Vec::new();
    convert::text(value, 6, &mut text);
    Cow::Owned(Value::Bytes(text))
}
