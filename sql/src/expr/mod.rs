//! Expressions after name resolution: their types, their evaluation, and the conversion of values
//! for storing.
//!
//! A query block evaluates all its expressions on one row of slots: the columns of its tables,
//! the results of its subqueries, its aggregates. Whatever a name, a subquery or an aggregate
//! stands for, `Scope` says in which slot its value will be; evaluation knows slots only.

use crate::error::SqlError;
use cohort_engine::types::{Collation, Column, ColumnType, Value};
use sqlparser::ast;

/// What is known of an expression's value before it is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExprType {
    /// Its type; `None` for NULL and for a parameter whose type is not known yet.
    pub ty: Option<ColumnType>,
    /// UNSIGNED.
    pub unsigned: bool,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// For strings; `Binary` for numbers and dates.
    pub collation: Collation,
    /// MySQL's coercibility: 0 explicit COLLATE, 2 column, 4 literal, 5 number, 6 NULL.
    pub coercibility: u8,
    /// Display length in characters.
    pub length: u32,
    /// Digits after the point; 31 for floating point without fixed digits.
    pub decimals: u8,
}

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
    /// The value in a slot of the row.
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
        /// Its type, if it was a literal; else the type is that of the value that is bound.
        ty: ExprType,
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
    /// `expr [NOT] IN (list)`.
    In {
        /// What is looked for.
        expr: Box<Expr>,
        /// Where.
        list: Vec<Expr>,
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
        /// The escape character.
        escape: Option<Box<Expr>>,
        /// NOT LIKE.
        negated: bool,
        /// The collation to compare with.
        collation: Collation,
    },
    /// `expr IS [NOT] NULL`.
    IsNull {
        /// What is tested.
        expr: Box<Expr>,
        /// IS NOT NULL.
        negated: bool,
    },
    /// Stands for the variants that are still to come (functions, CASE, casts, variables).
    Unfinished,
}

/// What a subquery is used for.
pub enum SubqueryUse {
    /// Its one value.
    Scalar,
    /// Whether it has rows: 0 or 1.
    Exists,
    /// `left IN (subquery)`: 1, 0 or NULL. Several expressions on the left for a row.
    In(Vec<Expr>),
    /// `left op ANY (subquery)`.
    Any(Expr, BinaryOp),
    /// `left op ALL (subquery)`.
    All(Expr, BinaryOp),
}

/// What names mean where an expression stands.
pub trait Scope {
    /// A column name of one to three parts: 1054 if there is none, 1052 if there are several.
    fn column(&mut self, path: &[ast::Ident]) -> Result<Expr, SqlError>;
    /// A parameter: `?` (numbered by the parser as the placeholders `?0`, `?1`, …).
    fn parameter(&mut self, index: u32) -> Result<Expr, SqlError>;
    /// Plans a subquery and says in which slot its result will be. Negation is the caller's.
    fn subquery(&mut self, query: &ast::Query, usage: SubqueryUse) -> Result<Expr, SqlError>;
    /// Called for every function before the table of functions is looked at: aggregates,
    /// VALUES(column) and DEFAULT(column) are the scope's. `None`: an ordinary function.
    fn function(&mut self, function: &ast::Function) -> Result<Option<Expr>, SqlError>;
}

/// Resolves a parsed expression.
pub fn resolve(expr: &ast::Expr, scope: &mut dyn Scope) -> Result<Expr, SqlError> {
    let _ = (expr, scope);
    unimplemented!()
}

/// The type of an expression.
#[must_use]
pub fn infer(expr: &Expr) -> ExprType {
    let _ = expr;
    unimplemented!()
}

/// Calls `visit` with each direct operand of an expression.
pub fn visit_operands(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    let _ = (expr, visit);
    unimplemented!()
}

/// The same, to change operands.
pub fn visit_operands_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    let _ = (expr, visit);
    unimplemented!()
}

/// Whether an expression must be evaluated for each row even if it names no column (RAND,
/// UUID, SLEEP, assignments to user variables).
#[must_use]
pub fn is_volatile(expr: &Expr) -> bool {
    let _ = expr;
    unimplemented!()
}

/// What evaluation needs of the statement and its session.
pub struct EvalContext<'a> {
    /// The values of the statement's parameters.
    pub params: &'a [Value],
    // time, time zone, sql_mode, user variables, warnings, …
}

/// Evaluates an expression on a row.
pub fn eval(expr: &Expr, row: &[Value], ctx: &mut EvalContext) -> Result<Value, SqlError> {
    let _ = (expr, row, ctx);
    unimplemented!()
}

/// Whether a condition holds: not for NULL. The fast way for predicates.
pub fn holds(condition: &Expr, row: &[Value], ctx: &mut EvalContext) -> Result<bool, SqlError> {
    let _ = (condition, row, ctx);
    unimplemented!()
}

/// How two values compare by MySQL's rules for comparing any types; `None` if either is NULL.
pub fn compare(
    left: &Value,
    right: &Value,
    collation: Collation,
    ctx: &mut EvalContext,
) -> Result<Option<std::cmp::Ordering>, SqlError> {
    let _ = (left, right, collation, ctx);
    unimplemented!()
}

/// Converts a value for storing it in a column: strict mode errors (1264, 1406, 1366, 1292,
/// 1048), else warnings and the nearest value. A TIMESTAMP leaves the session's time zone here.
pub fn assign(column: &Column, value: Value, ctx: &mut EvalContext) -> Result<Value, SqlError> {
    let _ = (column, value, ctx);
    unimplemented!()
}
