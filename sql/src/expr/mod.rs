//! Expressions after name resolution: their types, their evaluation, and the conversion of values
//! for storing.
//!
//! A query block evaluates all its expressions on one row of slots: the columns of its tables,
//! the results of its subqueries, its aggregates. Whatever a name, a subquery or an aggregate
//! stands for, `Scope` says in which slot its value will be; evaluation knows slots only.
//!
//! What makes it hard is that MySQL converts everything to everything. Two ideas keep it small:
//!
//! - **Values decide, types describe.** An operator looks at the variants of its operands'
//!   values, not at types fixed in advance, because a parameter has another type at every
//!   execution. What only the static side knows (which collation to compare with, the shape of
//!   the result for the client) is worked out once, by `resolve`, and kept in the tree.
//! - **Rows are borrowed.** Inside, evaluation passes `Cow<Value>`: a column, literal or
//!   parameter is not copied to be compared; conditions yield truth, not values.
//!
//! Conversions that lose something warn or fail by the rules of the place they happen in:
//! `convert` (in expressions: a warning) and `assign` (storing into a column: an error in strict
//! mode).
//!
//! Rejected: compiling to closures or to a register machine. The usual conditions are one or two
//! nodes, whose cost is in decoding the row, not in the walk.

mod arithmetic;
pub mod assign;
mod balance;
mod case;
mod compare;
pub mod context;
mod convert;
mod describe;
mod eval;
mod fractions;
pub mod functions;
#[cfg(test)]
mod golden;
mod in_list;
mod infer;
pub mod language;
mod once;
mod operand;
pub mod resolve;
mod taken;
mod time_zone;
mod types;
mod value_type;

pub use arithmetic::bytes as bits_of_bytes;
pub use assign::{
    Origin, TIMESTAMP_MAX, assign, assign_from, for_column, implicit_default, reinterpret,
};
pub use balance::{chain, depth, joined_by, resolve_expr};
pub use compare::{compare, hash_key, order};
pub use context::{Environment, EvalContext, Seeds, SqlMode, Statement, VariableScope};
pub(crate) use convert::parse_time;
pub use convert::{conform, for_variable, kept, printable, text};
pub(crate) use describe::describe as described;
pub use eval::{compare_operands, eval, holds, is_false, is_true, view};
pub use functions::integer_argument;
pub use functions::json::{
    ArrayTest, FromJson, InArray, JsonPart, NoArray, default_for_json_column,
    exists_for_json_column, for_json_column, json_document, may_be_element, parsed,
    several_for_json_column, typed_array,
};
pub use in_list::InList;
pub use infer::{
    infer, is_repeatable, is_volatile, reads_variable, visit_operands, visit_operands_mut,
};
pub use once::{Once, compute_once};
pub use operand::bit_pattern;
pub use resolve::call::{JSON_VALUE, plain_arguments, plain_call, windowed_call};
use resolve::literal::as_stored_number;
pub(crate) use resolve::literal::{as_number, moment_text};
pub use resolve::{
    Scope, SubqueryUse, build_binary, check_ordered, comparison_collation, is_aggregate,
    is_window_function,
};
pub use taken::Taken;
pub use time_zone::TimeZone;
pub use types::{ExprType, coercibility, common_type};

use cohort_engine::types::{Collation, Value};

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `DIV`
    IntegerDivide,
    /// `%`, `MOD`
    Modulo,
    /// `=`
    Eq,
    /// `<=>`
    NullSafeEq,
    /// `<>`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtEq,
    /// `>`
    Gt,
    /// `>=`
    GtEq,
    /// `AND`
    And,
    /// `OR`
    Or,
    /// `XOR`
    Xor,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

/// A resolved expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Value, ExprType),
    /// The value in a slot of the row. A slot of type TIMESTAMP holds UTC, as rows do, and is
    /// seen in the session's time zone; slots for computed values (derived tables, aggregates,
    /// sort keys) hold what was seen and take their type from `ExprType::computed`.
    Column {
        /// Position in the row.
        slot: u32,
        /// Its type.
        ty: ExprType,
    },
    /// A parameter of the statement: a `?`, or a literal lifted out of its text.
    Parameter {
        /// Position in the parameters.
        index: u32,
        /// The type of the value that it has now.
        ty: ExprType,
        /// Whether it stands there as `?`: it is no literal.
        bound: bool,
    },
    /// `left op right`.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Its left operand.
        left: Box<Expr>,
        /// Its right operand.
        right: Box<Expr>,
        /// The type of the result; for comparisons its `collation` is the one to compare with.
        ty: ExprType,
    },
    /// `-x`
    Negate {
        /// What is negated.
        expr: Box<Expr>,
        /// The type of the result.
        ty: ExprType,
    },
    /// `NOT x`
    Not(Box<Expr>),
    /// `~x`
    BitNot(Box<Expr>),
    /// `expr [NOT] IN (list)`.
    In {
        /// What is looked for.
        expr: Box<Expr>,
        /// Where.
        list: InList,
        /// NOT IN.
        negated: bool,
        /// The collation to compare with.
        collation: Collation,
    },
    /// `expr [NOT] BETWEEN low AND high`.
    Between {
        /// What is compared.
        expr: Box<Expr>,
        /// The least value wanted.
        low: Box<Expr>,
        /// The greatest.
        high: Box<Expr>,
        /// NOT BETWEEN.
        negated: bool,
        /// The collation to compare with.
        collation: Collation,
    },
    /// `expr [NOT] LIKE pattern [ESCAPE c]`.
    Like {
        /// The text.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape character; `None`: a backslash.
        escape: Option<Box<Expr>>,
        /// NOT LIKE.
        negated: bool,
        /// The collation to compare with.
        collation: Collation,
    },
    /// A condition that a multi-valued index answers.
    InArray(Box<InArray>),
    /// `expr IS [NOT] NULL`.
    IsNull {
        /// What is tested.
        expr: Box<Expr>,
        /// IS NOT NULL.
        negated: bool,
    },
    /// `expr IS [NOT] TRUE | FALSE | UNKNOWN`.
    IsTruth {
        /// What is tested.
        expr: Box<Expr>,
        /// TRUE, FALSE or (`None`) UNKNOWN.
        truth: Option<bool>,
        /// IS NOT.
        negated: bool,
    },
    /// `CASE [operand] WHEN … THEN … ELSE … END`.
    Case {
        /// What is compared with each WHEN.
        operand: Option<Box<Expr>>,
        /// The collation of that comparison.
        collation: Collation,
        /// WHEN and THEN.
        branches: Vec<(Expr, Expr)>,
        /// ELSE; without it NULL.
        otherwise: Option<Box<Expr>>,
        /// The type of the result.
        ty: ExprType,
    },
    /// CAST, CONVERT, BINARY and COLLATE: a conversion to `ty`.
    Cast {
        /// What is converted.
        expr: Box<Expr>,
        /// To what.
        ty: ExprType,
    },
    /// A call of a function.
    Function {
        /// Which one.
        function: &'static functions::Function,
        /// Its arguments.
        args: Vec<Expr>,
        /// The type of the result.
        ty: ExprType,
        /// Whether it is computed once for all rows.
        once: Once,
    },
    /// `@name`
    UserVariable {
        /// Its name in lower case.
        name: String,
        /// Its type as of now; at execution it may have another.
        ty: ExprType,
    },
    /// `@name := expr`
    SetUserVariable {
        /// Its name in lower case.
        name: String,
        /// What is assigned.
        expr: Box<Expr>,
    },
    /// `@@name`
    SystemVariable {
        /// Whose value.
        scope: VariableScope,
        /// Its name in lower case.
        name: String,
        /// Its type.
        ty: ExprType,
    },
}

impl Expr {
    /// The literal NULL.
    #[must_use]
    pub(crate) fn null() -> Expr {
        Expr::Literal(Value::Null, ExprType::null())
    }
    /// A call of a function.
    #[must_use]
    pub(crate) fn call(
        function: &'static functions::Function,
        args: Vec<Expr>,
        ty: ExprType,
    ) -> Expr {
        Expr::Function {
            function,
            args,
            ty,
            once: Once::default(),
        }
    }
    /// Its value as a DOUBLE.
    #[must_use]
    pub(crate) fn into_double(self) -> Expr {
        let ty = ExprType::double().nullable_if(infer(&self).nullable);
        Expr::Cast {
            expr: Box::new(self),
            ty,
        }
    }
}
