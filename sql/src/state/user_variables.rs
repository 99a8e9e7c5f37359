//! The user variables of a session.

use crate::{expr::ExprType, lexer::ValueKind};
use cohort_engine::types::{Collation, Value};
use rustc_hash::FxHashMap;

/// User variables by their names in lower case.
#[derive(Debug, Default)]
pub struct UserVariables(FxHashMap<String, Variable>);

#[derive(Debug)]
struct Variable {
    value: Value,
    collation: Collation,
    /// What the value is, or was before it became NULL: a variable that is set to NULL keeps its
    /// type.
    kind: ValueKind,
}

impl UserVariables {
    /// The value of a variable that was set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<(&Value, Collation)> {
        let variable = self.0.get(name)?;
        Some((&variable.value, variable.collation))
    }
    /// The type of a variable: that of a NULL with this collation if it was never set.
    #[must_use]
    pub fn type_of(&self, name: &str, collation: Collation) -> ExprType {
        match self.0.get(name) {
            Some(variable) => variable.kind.variable_type(variable.collation),
            None => ValueKind::unset_type(collation),
        }
    }
    /// `@name := value`
    pub fn set(&mut self, name: String, value: Value, collation: Collation) {
        if value.is_null()
            && let Some(variable) = self.0.get_mut(&name)
        {
            variable.value = value;
            return;
        }
        let kind = ValueKind::of(&value);
        let variable = Variable {
            value,
            collation,
            kind,
        };
        self.0.insert(name, variable);
    }
    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
