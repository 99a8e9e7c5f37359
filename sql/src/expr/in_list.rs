//! The list of `x IN (…)`. A long one of constants is not walked for every row: its values are put
//! into a set, once for each statement, and for good where they are literals.
//!
//! Numbers are looked up among numbers and texts among texts, where keys are equal if and only if
//! the values are. Whatever else meets (a number and a text, say) is compared one by one.

use super::{EvalContext, Expr, compare, compare::compare_alike, hash_key, infer::visit_operands};
use crate::error::SqlError;
use cohort_engine::types::{Collation, Value};
use rustc_hash::FxHashSet;
use std::{
    borrow::Cow,
    cmp::Ordering,
    sync::{Arc, OnceLock},
};

/// Shorter lists are walked: that is quicker, ...
const SET_MIN: usize = 12;
/// ... and for a text these: texts take longer to compare.
const TEXTS_MIN: usize = 4;
/// The key of a short text fits.
const KEY_ROOM: usize = 32;

/// What an IN compares with.
#[derive(Debug, Default)]
pub struct InList {
    /// The expressions.
    pub items: Vec<Expr>,
    /// The set of their values, if they are literals.
    literals: OnceLock<Arc<ValueSet>>,
}

impl Clone for InList {
    fn clone(&self) -> InList {
        InList::from(self.items.clone())
    }
}

impl PartialEq for InList {
    fn eq(&self, other: &InList) -> bool {
        self.items == other.items
    }
}

impl From<Vec<Expr>> for InList {
    fn from(items: Vec<Expr>) -> InList {
        InList {
            items,
            literals: OnceLock::new(),
        }
    }
}

/// What the values of a long list are.
enum Constancy {
    /// Literals.
    Literal,
    /// The same for the whole statement, and the first parameter among them, which is in no other
    /// list.
    Statement(u32),
    /// Perhaps others for each row.
    Row,
}

/// Sets that were made for a statement, by the first parameters of their lists.
pub(super) type ValueSets = Vec<(u32, Arc<ValueSet>)>;

/// The values of a list.
#[derive(Debug, Default)]
pub(super) struct ValueSet {
    keys: FxHashSet<Box<[u8]>>,
    /// The values by class.
    classes: [Vec<Value>; 3],
    has_null: bool,
}

/// What is looked up among its like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Exact,
    Text,
    Other,
}

impl Class {
    fn of(value: &Value) -> Class {
        match value {
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => Class::Exact,
            Value::Bytes(_) => Class::Text,
            Value::Null
            | Value::Float(_)
            | Value::Double(_)
            | Value::Date(_)
            | Value::Time(_)
            | Value::DateTime(_)
            | Value::Member(_)
            | Value::Json(_) => Class::Other,
        }
    }
}

impl InList {
    /// Whether the value of `expr`, which is not NULL, equals one of the list; `None` if that is
    /// unknown.
    pub(super) fn contains(
        &self,
        expr: &Expr,
        value: &Value,
        collation: Collation,
        row: &[Value],
        context: &mut EvalContext<'_>,
    ) -> Result<Option<bool>, SqlError> {
        if let Some(set) = self.set(value, collation, context)? {
            return set.contains(expr, value, collation, context);
        }
        let mut unknown = false;
        for candidate in &self.items {
            let constant = candidate.constant(context);
            let alike = constant.and_then(|found| compare_alike(value, found, collation));
            let ordering = match alike {
                Some(_) => alike,
                None => {
                    let found = candidate.raw(row, context)?;
                    let found = candidate.beside(found, value);
                    let value = expr.beside(Cow::Borrowed(value), &found);
                    compare(&value, &found, collation, context)?
                }
            };
            match ordering {
                Some(Ordering::Equal) => return Ok(Some(true)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { None } else { Some(false) })
    }
    /// The set of its values; `None` if it is to be walked.
    fn set(
        &self,
        value: &Value,
        collation: Collation,
        context: &mut EvalContext<'_>,
    ) -> Result<Option<Arc<ValueSet>>, SqlError> {
        let least = match value {
            Value::Bytes(_) => TEXTS_MIN,
            _ => SET_MIN,
        };
        if self.items.len() < least {
            return Ok(None);
        }
        if let Some(set) = self.literals.get() {
            return Ok(Some(Arc::clone(set)));
        }
        match self.constancy(context) {
            Constancy::Row => Ok(None),
            Constancy::Literal => {
                let set = Arc::new(self.values(collation, context)?);
                Ok(Some(Arc::clone(self.literals.get_or_init(|| set))))
            }
            Constancy::Statement(first) => {
                let made = context.sets.iter().find(|(number, _)| *number == first);
                if let Some((_, set)) = made {
                    return Ok(Some(Arc::clone(set)));
                }
                let set = Arc::new(self.values(collation, context)?);
                context.sets.push((first, Arc::clone(&set)));
                Ok(Some(set))
            }
        }
    }
    fn constancy(&self, context: &EvalContext<'_>) -> Constancy {
        let mut first = None;
        if let Some(number) = self.items.iter().find_map(first_parameter) {
            if context.sets.iter().any(|(known, _)| *known == number) {
                return Constancy::Statement(number);
            }
            first = Some(number);
        }
        match first {
            _ if !self.items.iter().all(is_constant) => Constancy::Row,
            Some(number) => Constancy::Statement(number),
            // What is lost of a text must be told by every statement.
            None if !self.items.iter().all(|e| matches!(e, Expr::Literal(..))) => Constancy::Row,
            None => Constancy::Literal,
        }
    }
    fn values(
        &self,
        collation: Collation,
        context: &mut EvalContext<'_>,
    ) -> Result<ValueSet, SqlError> {
        let mut set = ValueSet::default();
        for item in &self.items {
            let value = item.value(&[], context)?.into_owned();
            if value.is_null() {
                set.has_null = true;
                continue;
            }
            let class = Class::of(&value);
            if class != Class::Other {
                let mut key = Vec::new();
                hash_key(&value, collation, &mut key);
                set.keys.insert(key.into());
            }
            if let Some(values) = set.classes.get_mut(class as usize) {
                values.push(value);
            }
        }
        Ok(set)
    }
}

/// The first parameter in a constant.
fn first_parameter(expr: &Expr) -> Option<u32> {
    let mut first = match expr {
        Expr::Parameter { index, .. } => Some(*index),
        _ => None,
    };
    visit_operands(expr, &mut |operand| {
        first = first.or_else(|| first_parameter(operand));
    });
    first
}

/// Whether it is a literal or parameter, perhaps made a number.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) | Expr::Parameter { .. } => true,
        Expr::Function { function, args, .. } => {
            function.makes_number() && args.iter().all(is_constant)
        }
        _ => false,
    }
}

impl ValueSet {
    fn contains(
        &self,
        expr: &Expr,
        value: &Value,
        collation: Collation,
        context: &mut EvalContext<'_>,
    ) -> Result<Option<bool>, SqlError> {
        let class = Class::of(value);
        if class != Class::Other {
            let mut key = Vec::with_capacity(KEY_ROOM);
            hash_key(value, collation, &mut key);
            if self.keys.contains(key.as_slice()) {
                return Ok(Some(true));
            }
        }
        for (other, values) in self.classes.iter().enumerate() {
            if class != Class::Other && other == class as usize {
                continue;
            }
            for candidate in values {
                let value = expr.beside(Cow::Borrowed(value), candidate);
                if compare(&value, candidate, collation, context)? == Some(Ordering::Equal) {
                    return Ok(Some(true));
                }
            }
        }
        Ok(if self.has_null { None } else { Some(false) })
    }
}
