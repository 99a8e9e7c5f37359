//! The types of parameters and user variables, which follow from the kinds of their values.

use super::{ExprType, coercibility};
use crate::lexer::{TEXT_LENGTH_MAX, ValueKind};
use cohort_engine::types::{Collation, ColumnType};

/// The next value of a user variable may be a longer text.
const VARIABLE_MAX: u32 = 16_777_216;

impl ValueKind {
    /// The type of a parameter with such a value. `collation` is @@collation_connection.
    #[must_use]
    pub fn parameter_type(self, collation: Collation) -> ExprType {
        self.ty(collation, coercibility::LITERAL).or_null()
    }
    /// The type of a user variable with such a value.
    #[must_use]
    pub fn variable_type(self, collation: Collation) -> ExprType {
        match self {
            ValueKind::Text => ExprType::string(VARIABLE_MAX, collation, coercibility::IMPLICIT),
            ValueKind::Null => {
                ExprType::string(VARIABLE_MAX, Collation::Binary, coercibility::IMPLICIT)
            }
            kind => kind.ty(collation, coercibility::IMPLICIT),
        }
        .or_null()
    }
    /// The type of a user variable that was never set: beside a text it is one like that, where a
    /// variable that was set to NULL makes bytes of it.
    #[must_use]
    pub fn unset_type(collation: Collation) -> ExprType {
        ExprType::string(VARIABLE_MAX, collation, coercibility::IGNORABLE).or_null()
    }
    fn ty(self, collation: Collation, coercibility: u8) -> ExprType {
        match self {
            ValueKind::Null => ExprType {
                collation,
                coercibility,
                ..ExprType::null()
            },
            ValueKind::Int => ExprType::bigint(false),
            ValueKind::UInt => ExprType::bigint(true),
            ValueKind::Double => ExprType::double(),
            ValueKind::Decimal(scale) => ExprType::decimal(65, scale.into()),
            ValueKind::Text => ExprType::string(TEXT_LENGTH_MAX, collation, coercibility),
            ValueKind::LongText => ExprType::string(u32::MAX / 4, collation, coercibility),
            ValueKind::Date => ExprType::temporal(ColumnType::Date),
            ValueKind::Time => ExprType::temporal(ColumnType::Time(6)),
            ValueKind::DateTime => ExprType::temporal(ColumnType::DateTime(6)),
        }
    }
}
