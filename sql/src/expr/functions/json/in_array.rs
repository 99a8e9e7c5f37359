//! Arrays of values of one type, which multi-valued indexes are on, and conditions on them.
//!
//! As in MySQL, a condition that such an index answers is not the one that was written: what it looks
//! for becomes values of the index's type, as what rows have did when they were written. An example:
//! with an index on `CAST(j AS DATE ARRAY)`, `DATE'2020-01-02' MEMBER OF (j)` finds the row whose `j`
//! is `["2020-01-02"]`, though to JSON a date is no text. It is so whether the index is read or not.
//! If what is looked for is no value of the type, such as 'abc' among numbers, the condition is the
//! one that was written, and no index helps.

use super::{
    column::{FromJson, for_json_column},
    document_of,
    make::scalar,
    read::{holds, overlap},
};
use crate::{
    error::SqlError,
    expr::{EvalContext, Expr, ExprType, eval, infer},
    json::{atom, document},
    warnings::Level,
};
use cohort_engine::types::{
    Column, ColumnType, Json, Value,
    json::{Node, Scalar, Tree, compare},
    key::element_value,
};

/// Which of the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayTest {
    /// `x MEMBER OF (array)`
    Member,
    /// `JSON_CONTAINS(array, x)`
    Contains,
    /// `JSON_OVERLAPS(array, x)`, in either order.
    Overlaps,
}

/// A condition that a multi-valued index answers.
#[derive(Clone, Debug, PartialEq)]
pub struct InArray {
    /// Which it is.
    pub test: ArrayTest,
    /// As it was written.
    pub written: Expr,
    /// What is looked for: a constant.
    pub wanted: Expr,
    /// The column with the array.
    pub array: Expr,
    /// The column of an element of the array.
    pub element: Column,
}

impl InArray {
    /// Whether it holds for a row; `None`: that is unknown.
    pub(in crate::expr) fn truth(
        &self,
        row: &[Value],
        context: &mut EvalContext<'_>,
    ) -> Result<Option<bool>, SqlError> {
        let Some(wanted) = self.wanted(row, context) else {
            return self.written.truth(row, context);
        };
        let Value::Json(array) = eval(&self.array, row, context)? else {
            return Ok(None);
        };
        let wanted = document(&wanted)?;
        let (array, wanted) = (array.root(), wanted.root());
        Ok(Some(match self.test {
            ArrayTest::Member => match (&array, &wanted) {
                (Node::Array(array), Node::Array(wanted)) => wanted
                    .iter()
                    .all(|one| array.iter().any(|own| compare(&own, &one).is_eq())),
                _ => false,
            },
            ArrayTest::Contains => holds(&array, &wanted),
            ArrayTest::Overlaps => overlap(&array, &wanted),
        }))
    }

    /// The values to look up in the index: each row that is wanted has one of them. `None`: a row that
    /// has no entry may be wanted, so the whole table must be read.
    pub fn keys(&self, row: &[Value], context: &mut EvalContext<'_>) -> Option<Vec<Value>> {
        let Tree::Array(wanted) = self.wanted(row, context)? else {
            return None;
        };
        let values = wanted.into_iter().filter_map(|one| match one {
            Tree::Scalar(Scalar::Null) | Tree::Array(_) | Tree::Object(_) => None,
            Tree::Scalar(scalar) => element_value(&self.element, scalar),
        });
        let mut values: Vec<Value> = values.collect();
        match self.test {
            // A row that has all of them has the first.
            ArrayTest::Member | ArrayTest::Contains => values.truncate(1),
            ArrayTest::Overlaps => {}
        }
        (!values.is_empty()).then_some(values)
    }

    /// What is looked for, as an array of values of the index's type; `None`: it is none.
    fn wanted(&self, row: &[Value], context: &mut EvalContext<'_>) -> Option<Tree> {
        // An error is that of the condition as it was written, which is evaluated next.
        let value = eval(&self.wanted, row, context).ok()?;
        let ty = infer(&self.wanted);
        let made;
        let wanted = match (self.test, &value) {
            (ArrayTest::Member, value) if !is_alike(value, &self.element) => return None,
            (_, Value::Json(json)) => json.root(),
            (ArrayTest::Member, value) => Node::Scalar(scalar(&self.wanted, value)),
            (ArrayTest::Contains | ArrayTest::Overlaps, value) => {
                made = document_of(value, &ty, 1, "").ok()??;
                made.root()
            }
        };
        let one = |node: &Node<'_>, context: &mut EvalContext<'_>| match node {
            Node::Scalar(Scalar::Null) if self.test != ArrayTest::Member => Some(Scalar::Null),
            Node::Scalar(Scalar::Null) | Node::Array(_) | Node::Object(_) => None,
            Node::Scalar(scalar) => match element(scalar, &self.element, context) {
                Ok(Ok((scalar, _))) => Some(scalar),
                Ok(Err(_)) | Err(_) => None,
            },
        };
        let elements: Option<Vec<Tree>> = match &wanted {
            Node::Array(_) if self.test == ArrayTest::Member => return None,
            Node::Array(array) => array
                .iter()
                .map(|node| one(&node, context).map(Tree::Scalar))
                .collect(),
            node => one(node, context).map(|scalar| vec![Tree::Scalar(scalar)]),
        };
        elements.map(Tree::Array)
    }
}

/// Whether MEMBER OF looks for such a value among those of a type: a number among numbers of its
/// kind, and anything that is no number among the others.
fn is_alike(value: &Value, element: &Column) -> bool {
    match value {
        Value::Int(_) | Value::UInt(_) => element.ty.is_integer(),
        Value::Decimal(_) => matches!(element.ty, ColumnType::Decimal { .. }),
        Value::Bytes(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_)
        | Value::Member(_)
        | Value::Json(_) => element.ty.is_string() || element.ty.is_temporal(),
        Value::Null | Value::Float(_) | Value::Double(_) => false,
    }
}

/// Whether MEMBER OF may look for an expression's value among those of a type.
#[must_use]
pub fn may_be_element(wanted: &ExprType, element: &Column) -> bool {
    match wanted.ty {
        None => false,
        Some(ColumnType::Decimal { .. }) => matches!(element.ty, ColumnType::Decimal { .. }),
        Some(ColumnType::Float | ColumnType::Double) => false,
        Some(ty) if ty.is_integer() || ty == ColumnType::Year => element.ty.is_integer(),
        Some(ty) => {
            let is_other = ty.has_collation() || ty.is_temporal() || ty == ColumnType::Json;
            is_other && (element.ty.is_string() || element.ty.is_temporal())
        }
    }
}

/// A value as one of the type of an array, and how serious it is that something of it was lost; or why
/// it is none: 3155, 3156 or 3669.
fn element(
    scalar: &Scalar<'_>,
    element: &Column,
    context: &mut EvalContext<'_>,
) -> Result<Result<(Scalar<'static>, Option<Level>), SqlError>, SqlError> {
    let part = Node::Scalar(match scalar {
        // Space before a number is nothing here; to JSON_TABLE it is.
        Scalar::Text(text) if element.ty.is_integer() => {
            Scalar::text(text.trim_start_matches([' ', '\t']))
        }
        other => other.clone(),
    });
    Ok(match for_json_column(&part, element, context)? {
        FromJson::Failed(why, _) => Err(why),
        FromJson::Value(value, told) => {
            let scalar = atom(&value, Some(element.ty), element.is_binary()).into_owned();
            let warned = told.iter().any(|condition| condition.level != Level::Note);
            let lost = match told.is_empty() {
                true => None,
                false if warned => Some(Level::Warning),
                // What a date or time has no room for is cut without a word.
                false => Some(Level::Note).filter(|_| !element.ty.is_temporal()),
            };
            Ok((scalar, lost))
        }
    })
}

/// Why a value is no array of a type.
pub enum NoArray {
    /// An element is none of the type: 3155, 3156, 3669.
    Element(SqlError),
    /// It is an array or object itself.
    Nested,
    /// There is an object, or a truth, in the place of the array.
    Instead(&'static str),
    /// Anything else.
    Other(SqlError),
}

/// The array of the values that an expression's value has, which is a document or the text of one, for
/// a column that a multi-valued index is on; and how serious it is that something was lost of some.
pub fn typed_array(
    value: &Value,
    ty: &ExprType,
    of: &Column,
    context: &mut EvalContext<'_>,
) -> Result<(Value, Vec<Level>), NoArray> {
    let made = document_of(value, ty, 0, "cast_as_array").map_err(NoArray::Other)?;
    let Some(made) = made else {
        return Ok((Value::Null, Vec::new()));
    };
    let (mut elements, mut lost) = (Vec::new(), Vec::new());
    let mut push = |node: &Node<'_>| {
        let Node::Scalar(scalar) = node else {
            return Err(NoArray::Nested);
        };
        if let Scalar::Null = scalar {
            let null = SqlError::invalid_json_value_for_cast("", "", context.row_number);
            return Err(NoArray::Element(null));
        }
        let converted = element(scalar, of, context).map_err(NoArray::Other)?;
        let (scalar, level) = converted.map_err(NoArray::Element)?;
        if level == Some(Level::Warning) && context.is_strict() {
            let lost = SqlError::json_table_out_of_range("");
            return Err(NoArray::Element(lost));
        }
        lost.extend(level);
        elements.push(scalar);
        Ok(())
    };
    match made.root() {
        Node::Object(_) => return Err(NoArray::Instead("OBJECT")),
        Node::Scalar(Scalar::Bool(_)) => return Err(NoArray::Instead("BOOLEAN")),
        Node::Array(array) => array.iter().try_for_each(|node| push(&node))?,
        node @ Node::Scalar(_) => push(&node)?,
    }
    let order = |a: &Scalar<'static>, b: &Scalar<'static>| {
        compare(&Node::Scalar(a.clone()), &Node::Scalar(b.clone()))
    };
    elements.sort_by(order);
    elements.dedup_by(|a, b| order(a, b).is_eq());
    let tree = Tree::Array(elements.into_iter().map(Tree::Scalar).collect());
    let array: Json = document(&tree).map_err(NoArray::Other)?;
    Ok((Value::Json(array), lost))
}
