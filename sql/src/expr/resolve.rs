//! From the parser's syntax tree to expressions.

use super::{BinaryOp, Expr, VariableScope};
use crate::error::SqlError;
use cohort_engine::types::Collation;
use sqlparser::ast;

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
    /// The value of a system variable now, for its type; 1193 if there is none.
    fn system_variable(
        &mut self,
        scope: VariableScope,
        name: &str,
    ) -> Result<cohort_engine::types::Value, SqlError> {
        let _ = scope;
        Err(SqlError::unknown_variable(name))
    }
    /// @@collation_connection: the collation of literals.
    fn collation(&self) -> Collation {
        Collation::Utf8mb40900AiCi
    }
    /// @@sql_mode
    fn sql_mode(&self) -> super::SqlMode {
        super::SqlMode::DEFAULT
    }
}

/// Resolves an expression.
pub fn resolve(expr: &ast::Expr, scope: &mut dyn Scope) -> Result<Expr, SqlError> {
    let _ = (expr, scope);
    Err(SqlError::not_supported("expressions"))
}

/// Whether a function of this name aggregates (COUNT, SUM, …), in any case.
#[must_use]
pub fn is_aggregate(name: &str) -> bool {
    const NAMES: [&str; 20] = [
        "count",
        "sum",
        "avg",
        "min",
        "max",
        "group_concat",
        "bit_and",
        "bit_or",
        "bit_xor",
        "std",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "var_pop",
        "var_samp",
        "variance",
        "any_value",
        "json_arrayagg",
        "json_objectagg",
        "grouping",
    ];
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}
