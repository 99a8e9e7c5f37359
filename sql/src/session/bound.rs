//! The values of parameters, as a prepared statement takes them.
//!
//! A statement is compiled for the kinds of its parameters. They are not known when it is prepared;
//! what stands beside a `?` then says what number it is taken for (see `Taken`), and a value becomes
//! that where it can. If one cannot, the statement is compiled anew for the kinds that all values
//! have, and stays so until a value does not fit again: as in MySQL, what a statement yields may
//! depend on what it was executed with before. A parameter in a place that is not for numbers has the
//! kind of its value; it is taken for a text at first, so another kind does not fit. NULL fits
//! everywhere, and tells nothing.

use super::Session;
use crate::{error::SqlError, lexer::ValueKind, plan::Plan};
use cohort_engine::types::Value;
use std::{borrow::Cow, sync::Arc};

/// Values, and the kinds that a statement is compiled for.
#[derive(Clone)]
pub(super) struct Bound<'v> {
    pub values: Cow<'v, [Value]>,
    pub kinds: Arc<[ValueKind]>,
}

impl<'v> Bound<'v> {
    /// For a statement that is prepared: nothing is known yet.
    pub fn unknown() -> Bound<'v> {
        Bound {
            values: Cow::Borrowed(&[]),
            kinds: Arc::from([]),
        }
    }

    /// Values for a plan that was made for these kinds; if it does not take them, with the kinds of
    /// one that may.
    pub fn to(plan: &Plan, kinds: &Arc<[ValueKind]>, values: &'v [Value]) -> Bound<'v> {
        let mut bound = Cow::Borrowed(values);
        let mut wanted = Cow::Borrowed(&**kinds);
        let mut anew = false;
        for (at, value) in values.iter().enumerate() {
            let known = kinds.get(at).copied().unwrap_or(ValueKind::Null);
            if let Some(taken) = plan.taken.get(at).copied().flatten() {
                let number = taken.bind(value);
                anew |= !taken.takes(number.as_ref().unwrap_or(value));
                if let (Some(number), Some(place)) = (number, bound.to_mut().get_mut(at)) {
                    *place = number;
                }
                continue;
            }
            let kind = ValueKind::of(value);
            if !known.takes(kind) {
                // It was taken for a text.
                anew |= !matches!(kind, ValueKind::Text | ValueKind::LongText);
                let wanted = wanted.to_mut();
                wanted.resize(values.len().max(wanted.len()), ValueKind::Null);
                if let Some(place) = wanted.get_mut(at) {
                    *place = kind;
                }
            }
        }
        let kinds = match wanted {
            _ if anew => kinds_of(values, &bound),
            Cow::Owned(wanted) => wanted.into(),
            Cow::Borrowed(_) => Arc::clone(kinds),
        };
        Bound {
            values: bound,
            kinds,
        }
    }
}

/// The kinds that values have: of texts those of the numbers that they have become.
fn kinds_of(values: &[Value], bound: &[Value]) -> Arc<[ValueKind]> {
    let pairs = values.iter().zip(bound);
    let kinds = pairs.map(|(value, bound)| match value {
        Value::Bytes(_) => ValueKind::of(bound),
        value => ValueKind::of(value),
    });
    kinds.collect()
}

impl Session {
    /// A plan for these values, and the values as it takes them. `plan`: what the statement was
    /// compiled to last, for which kinds; `compile`: compiles it for others.
    pub(super) fn bind<'v>(
        &self,
        (mut plan, mut kinds): (Arc<Plan>, Arc<[ValueKind]>),
        values: &'v [Value],
        compile: &dyn Fn(&Bound<'_>) -> Result<Arc<Plan>, SqlError>,
    ) -> Result<(Arc<Plan>, Bound<'v>), SqlError> {
        loop {
            let bound = Bound::to(&plan, &kinds, values);
            let is_for = plan.is_for(&bound.values) && self.has_variables(&plan);
            if is_for && bound.kinds == kinds {
                return Ok((plan, bound));
            }
            kinds = Arc::clone(&bound.kinds);
            plan = compile(&bound)?;
        }
    }

    /// Whether user variables have the types that a plan was made for.
    fn has_variables(&self, plan: &Plan) -> bool {
        let mut variables = plan.user_variables.iter();
        variables.all(|(name, ty)| self.state.user_variable_type(name) == *ty)
    }
}
