//! Queries and DML: what the planner compiles and the executor runs.

use super::Session;
use crate::{
    error::SqlError,
    output::{ColumnMeta, Output},
};
use cohort_engine::types::Value;
use std::sync::Arc;

/// A compiled query or DML statement.
pub(super) struct Query {}

impl Query {
    pub fn parameters(&self) -> u16 {
        0
    }
    pub fn columns(&self) -> Arc<[ColumnMeta]> {
        Arc::from([])
    }
}

/// Whether a text begins as one of the statements that are the planner's. Comments in front are
/// left to the slow way, which ends with the planner, too.
pub(super) fn is_query(sql: &[u8]) -> bool {
    let start = sql
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .unwrap_or(sql.len());
    let Some(word) = sql.get(start..) else {
        return false;
    };
    let is = |keyword: &[u8]| {
        word.get(..keyword.len())
            .is_some_and(|text| text.eq_ignore_ascii_case(keyword))
            && !word
                .get(keyword.len())
                .is_some_and(|&byte| crate::lexer::is_name_byte(byte))
    };
    match word.first().map(u8::to_ascii_uppercase) {
        Some(b'S') => is(b"SELECT"),
        Some(b'I') => is(b"INSERT"),
        Some(b'U') => is(b"UPDATE"),
        Some(b'D') => is(b"DELETE"),
        Some(b'R') => is(b"REPLACE"),
        Some(b'W') => is(b"WITH"),
        Some(b'(') => true,
        _ => false,
    }
}

impl Session {
    /// Compiles a query.
    pub(super) fn compile_query(&mut self, sql: &[u8]) -> Result<Query, SqlError> {
        let _ = sql;
        Err(SqlError::not_supported("queries"))
    }

    /// Runs a query that came as text, through the cache of plans.
    pub(super) fn run_text(
        &mut self,
        sql: &[u8],
        text: &Arc<str>,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let query = self.compile_query(sql)?;
        self.run_query(&query, text, &[], out)
    }

    /// Runs a compiled query in the session's transaction.
    pub(super) fn run_query(
        &mut self,
        query: &Query,
        text: &Arc<str>,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let _ = (query, text, params, out);
        Err(SqlError::not_supported("queries"))
    }

    /// The values of expressions (with commas between them), as SELECT computes them.
    pub(super) fn evaluate(
        &mut self,
        expressions: &str,
        params: &[Value],
    ) -> Result<Vec<Value>, SqlError> {
        let _ = (expressions, params);
        Err(SqlError::not_supported("expressions"))
    }
}
