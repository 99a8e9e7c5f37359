//! Where a value comes from that is stored: the value itself does not know it.

use crate::{
    expr::{EvalContext, Expr, ExprType, convert, infer, types::NOT_FIXED},
    text::TextForm,
};
use cohort_engine::types::{Collation, Column, ColumnType, Value};

/// What is to be known of where a value comes from before it is assigned.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// How a text is made of it.
    shown: TextForm,
    /// Whether it is what a column has that gets another type: the text is what a client was shown.
    /// Of what a statement stores it is mostly that of the number.
    converted: bool,
    /// Whether it is what another column holds, as it is.
    pub(super) held: bool,
    /// Whether it was chosen among others, or is what a query has found: MySQL hands on a date or time as a
    /// text then, where a number is stored.
    chosen: bool,
    /// Of a text, the collation; `None`: that of the connection.
    collation: Option<Collation>,
}

/// Functions that yield one of their arguments.
const CHOOSING: [&str; 6] = ["coalesce", "ifnull", "if", "nullif", "greatest", "least"];

impl Origin {
    /// Of a value of this type.
    #[must_use]
    pub fn of_type(ty: &ExprType) -> Origin {
        Origin {
            shown: ty.text_form(),
            converted: false,
            held: false,
            chosen: false,
            collation: Some(ty.collation),
        }
    }

    /// Of what a column of this type holds.
    #[must_use]
    pub fn of_held(ty: &ExprType) -> Origin {
        Origin {
            held: true,
            ..Origin::of_type(ty)
        }
    }

    /// Of the values of a column that gets another type.
    #[must_use]
    pub fn of_column(column: &Column) -> Origin {
        Origin {
            converted: true,
            ..Origin::of_type(&ExprType::of_column(column))
        }
    }

    /// Of the value of an expression. A parameter has the digits of its value, and is a text if that
    /// is one, whatever value the plan was made for.
    #[must_use]
    pub fn of_expr(expr: &Expr) -> Origin {
        let origin = Origin::of_type(&infer(expr));
        match expr {
            Expr::Column { .. } => Origin {
                held: true,
                ..origin
            },
            Expr::Parameter { .. } => Origin {
                shown: TextForm::Digits(NOT_FIXED),
                collation: None,
                ..origin
            },
            Expr::UserVariable { .. } => Origin {
                shown: TextForm::Digits(NOT_FIXED),
                ..origin
            },
            Expr::Case { .. } => Origin {
                chosen: true,
                ..origin
            },
            Expr::Function { function, .. } if CHOOSING.contains(&function.name) => Origin {
                chosen: true,
                ..origin
            },
            _ => origin,
        }
    }

    /// Of what was computed, though it is read where a column may be.
    #[must_use]
    pub fn of_computed(self) -> Origin {
        Origin {
            held: false,
            chosen: true,
            ..self
        }
    }

    /// The collation of a text from here.
    pub(super) fn collation(self, context: &EvalContext<'_>) -> Collation {
        self.collation.unwrap_or(context.statement.collation)
    }

    /// A date or time from here as a column keeps it that is for numbers.
    pub(super) fn as_number(self, value: Value) -> Value {
        let mut shown = Vec::new();
        match value {
            Value::Date(_) | Value::Time(_) | Value::DateTime(_) if self.chosen => {
                convert::text(&value, self.shown, &mut shown);
                Value::Bytes(shown)
            }
            value => value,
        }
    }

    /// A number or time from here as a text column keeps it: the text that it is, or a number of
    /// which the column makes a text with all its digits. TEXT and BLOB keep of another column what a
    /// client is shown of it: of a BIT its bytes.
    pub(super) fn as_stored(self, value: Value, column: &Column) -> Value {
        let is_shown = match (&value, self.shown) {
            (Value::Time(_) | Value::DateTime(_), _) => true,
            _ if self.held && matches!(column.ty, ColumnType::Text(_)) => true,
            (_, TextForm::Bytes(_)) => false,
            _ => self.converted,
        };
        if is_shown {
            let mut shown = Vec::new();
            convert::text(&value, self.shown, &mut shown);
            return Value::Bytes(shown);
        }
        match value {
            Value::Float(x) => Value::Double(x.into()),
            other => other,
        }
    }
}
