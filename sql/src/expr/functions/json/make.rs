//! Making documents and texts of them.

use super::{Args, Function, Operand, document, done, function, is_truth, parsed};
use crate::{
    error::SqlError,
    expr::{EvalContext, Expr, ExprType, infer},
    json::{self, Flaw, parse},
    text::json as print,
};
use cohort_engine::types::{
    Collation, ColumnType, Value,
    json::{Key, Node, Scalar, Tree},
};
use std::collections::BTreeMap;

/// CAST(x AS JSON). It has no name in SQL.
pub(in crate::expr) static AS_JSON: Function = function(
    "cast_as_json",
    (1, 1),
    |_| ExprType::json().or_null(),
    |args, context| {
        let ty = args.args.first().map_or_else(ExprType::null, infer);
        let is_member = ty.ty.is_some_and(ColumnType::has_members);
        let value = args.value(0, context)?;
        match &*value {
            Value::Null => return Ok(Value::Null),
            Value::Bytes(text) if !ty.is_bytes() && !is_member => {
                let document = parsed(text, 1, "cast_as_json")?;
                let max = context.statement.max_allowed_packet;
                json::check_size(document.bytes().len(), max)?;
                return Ok(Value::Json(document));
            }
            _ => {}
        }
        match args.args.first() {
            Some(arg) => done(&atom(arg, &value), context),
            None => Ok(Value::Null),
        }
    },
);

/// What a row gives to JSON_ARRAYAGG and JSON_OBJECTAGG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonPart {
    /// An array of one element.
    Array,
    /// An object of one member.
    Object,
}

impl JsonPart {
    /// The expression of such a part.
    #[must_use]
    pub fn of(self, args: Vec<Expr>) -> Expr {
        let function = match self {
            JsonPart::Array => &ARRAY,
            JsonPart::Object => &OBJECT,
        };
        let ty = ExprType::json();
        Expr::call(function, args, ty)
    }
}

static ARRAY: Function = function("json_arrayagg", (1, 1), |_| ExprType::json(), array);
static OBJECT: Function = function("json_objectagg", (2, 2), |_| ExprType::json(), object);

/// The value of an expression as a part of a document: a text is a text.
pub(in crate::expr) fn atom(expr: &Expr, value: &Value) -> Tree {
    match value {
        Value::Json(json) => json.root().to_tree(),
        value => Tree::Scalar(scalar(expr, value).into_owned()),
    }
}

/// The same of a value that is no document.
pub(in crate::expr) fn scalar<'v>(expr: &Expr, value: &'v Value) -> Scalar<'v> {
    match value {
        Value::Int(n) if is_truth(expr) => Scalar::Bool(*n != 0),
        value => {
            let ty = infer(expr);
            json::atom(value, ty.shown(), ty.is_bytes())
        }
    }
}

/// How many bytes parts may still take that are put into a document: a statement with many large
/// ones is stopped (1301) before they fill the memory.
pub(super) struct Room {
    taken: usize,
}

impl Room {
    pub fn new() -> Room {
        Room { taken: 0 }
    }
    /// An argument as a part of the document.
    pub fn part(
        &mut self,
        args: &Args<'_>,
        i: usize,
        context: &mut EvalContext<'_>,
    ) -> Result<Tree, SqlError> {
        let value = args.value(i, context)?;
        self.taken += match &*value {
            Value::Json(document) => document.bytes().len(),
            Value::Bytes(text) => text.len(),
            _ => 0,
        };
        json::check_size(self.taken, context.statement.max_allowed_packet)?;
        Ok(args
            .args
            .get(i)
            .map_or_else(Tree::null, |arg| atom(arg, &value)))
    }
}

pub(super) fn array(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let mut room = Room::new();
    let elements = (0..args.len()).map(|i| room.part(args, i, context));
    let elements = elements.collect::<Result<_, _>>()?;
    done(&Tree::Array(elements), context)
}

pub(super) fn object(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let mut members = BTreeMap::new();
    let mut room = Room::new();
    for i in (0..args.len()).step_by(2) {
        if args.args.get(i).is_some_and(|arg| infer(arg).is_bytes()) {
            return Err(SqlError::invalid_json_charset(Collation::Binary.name()));
        }
        let Some(key) = args.string(i, context)? else {
            return Err(SqlError::json_null_key());
        };
        let key = Key::from(String::from_utf8_lossy(&key).into_owned());
        members.insert(key, room.part(args, i + 1, context)?);
    }
    done(&Tree::Object(members), context)
}

/// 3064 of what is no string, 3144 of a binary one.
fn check_string(args: &Args<'_>, name: &str) -> Result<(), SqlError> {
    let ty = args.args.first().map_or_else(ExprType::null, infer);
    if ty.is_bytes() {
        return Err(SqlError::invalid_json_charset(Collation::Binary.name()));
    }
    if ty.is_string() || ty.ty.is_none() {
        return Ok(());
    }
    Err(SqlError::incorrect_type(1, name))
}

pub(super) fn quote(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    check_string(args, "json_quote")?;
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let mut quoted = Vec::new();
    print::quote(&String::from_utf8_lossy(&text), &mut quoted);
    Ok(Value::Bytes(quoted))
}

/// Of a document that is a text, and of a text in quotes, what stands between them.
pub(super) fn unquote(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    const NAME: &str = "json_unquote";
    let Some(arg) = args.args.first() else {
        return Ok(Value::Null);
    };
    let Some(operand) = Operand::of(arg, args.row, context)? else {
        return Ok(Value::Null);
    };
    let mut text = Vec::new();
    match operand.document() {
        Some(Node::Scalar(scalar)) => print::unquoted(&scalar, &mut text),
        Some(node) => print::print(&node, &mut text),
        None => {
            check_string(args, NAME)?;
            text = args.string(0, context)?.unwrap_or_default().into_owned();
            if text.len() >= 2 && text.starts_with(b"\"") && text.ends_with(b"\"") {
                return unescaped(&text, NAME);
            }
        }
    }
    Ok(Value::Bytes(text))
}

fn unescaped(text: &[u8], name: &str) -> Result<Value, SqlError> {
    let text = String::from_utf8_lossy(text);
    match parse(&text) {
        Ok(Tree::Scalar(Scalar::Text(text))) => Ok(Value::Bytes(text.into_owned().into_bytes())),
        Err(Flaw::Invalid(why, at)) => Err(SqlError::invalid_json_argument(1, name, why, at)),
        // What begins with a quote is nothing else.
        Ok(_) | Err(Flaw::TooDeep) => Ok(Value::Null),
    }
}

pub(super) fn pretty(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(json) = document(args, 0, "json_pretty", context)? else {
        return Ok(Value::Null);
    };
    let mut text = Vec::new();
    print::pretty(&json.node(), 0, &mut text);
    Ok(Value::Bytes(text))
}
