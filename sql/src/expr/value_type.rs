//! The types of parameters and user variables, which follow from the kinds of their values.

use super::{ExprType, coercibility};
use crate::lexer::{TEXT_LENGTH_MAX, ValueKind};
use cohort_engine::types::{Collation, ColumnType};

impl ValueKind {
    /// The type of a parameter with such a value. `collation` is @@collation_connection.
    #[must_use]
    pub fn parameter_type(self, collation: Collation) -> ExprType {
        self.ty(collation, coercibility::LITERAL).or_null()
    }
    /// The type of a user variable with such a value.
    #[must_use]
    pub fn variable_type(self, collation: Collation) -> ExprType {
        // The next value may be a longer text.
        const LENGTH_MAX: u32 = 16_777_216;
        match self {
            ValueKind::Text => ExprType::string(LENGTH_MAX, collation, coercibility::IMPLICIT),
            ValueKind::Null => {
                ExprType::string(LENGTH_MAX, Collation::Binary, coercibility::IMPLICIT)
            }
            kind => kind.ty(collation, coercibility::IMPLICIT),
        }
        .or_null()
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
