//! LIKE and WHERE of SHOW.

use super::Shown;
use crate::{
    command::Filter,
    error::SqlError,
    expr::{self, Expr, ExprType, Scope, SubqueryUse, VariableScope},
    parse,
    state::State,
};
use cohort_engine::types::{Column, Value, collation};
use sqlparser::ast;

/// Leaves the rows that are wanted. LIKE looks at the first column.
pub(super) fn apply(
    session: &mut State,
    mut shown: Shown,
    condition: &Filter,
    params: &[Value],
) -> Result<Shown, SqlError> {
    match condition {
        Filter::None => {}
        Filter::Like(pattern) => {
            let Some(first) = shown.columns.first() else {
                return Ok(shown);
            };
            // Names of variables and objects match without case.
            let order = if first.collation.is_binary() {
                cohort_engine::types::Collation::Utf8mb4GeneralCi
            } else {
                first.collation
            };
            shown.rows.retain(|row| match row.first() {
                Some(Value::Bytes(name)) => {
                    collation::like(order, name, pattern.as_bytes(), Some('\\'))
                }
                _ => false,
            });
        }
        Filter::Where(text) => keep(session, &mut shown, text, params)?,
    }
    Ok(shown)
}

/// Leaves the rows for which an expression on the columns of the result holds.
fn keep(
    session: &mut State,
    shown: &mut Shown,
    text: &str,
    params: &[Value],
) -> Result<(), SqlError> {
    let condition = {
        let query = format!("SELECT {text}");
        let lexer = session.settings().lexer;
        parse::parse(query.as_bytes(), lexer, None, |parsed| {
            let Some(ast) = only_item(&parsed.statement) else {
                return Err(SqlError::syntax(text, 1));
            };
            expr::resolve_expr(
                ast,
                &mut Columns {
                    columns: &shown.columns,
                    session,
                },
            )
        })?
    };
    let rows = std::mem::take(&mut shown.rows);
    session.evaluating(params, |context| {
        crate::room::with_room(expr::depth(&condition), || {
            for row in rows {
                if expr::holds(&condition, &row, context)? {
                    shown.rows.push(row);
                }
            }
            drop(condition);
            Ok(())
        })
    })
}

/// The expression of a query that selects one and does nothing else.
fn only_item(statement: &ast::Statement) -> Option<&ast::Expr> {
    let ast::Statement::Query(query) = statement else {
        return None;
    };
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    match select.projection.as_slice() {
        [ast::SelectItem::UnnamedExpr(item)] if select.from.is_empty() => Some(item),
        _ => None,
    }
}

/// The columns of the result as names.
struct Columns<'a> {
    columns: &'a [Column],
    session: &'a State,
}

impl Scope for Columns<'_> {
    fn column(&mut self, path: &[ast::Ident]) -> Result<Expr, SqlError> {
        let name = path.last().map_or("", |part| part.value.as_str());
        let found = self
            .columns
            .iter()
            .zip(0..)
            .find(|(c, _)| c.name.eq_ignore_ascii_case(name));
        match found {
            Some((column, slot)) if path.len() == 1 => Ok(Expr::Column {
                slot,
                ty: ExprType::of_column(column),
            }),
            _ => Err(SqlError::unknown_column(name, "where clause")),
        }
    }
    fn parameter(&mut self, index: u32) -> Result<Expr, SqlError> {
        Ok(Expr::Parameter {
            index,
            ty: ExprType::null(),
            bound: true,
        })
    }
    fn subquery(&mut self, _: &ast::Query, _: SubqueryUse) -> Result<Vec<Expr>, SqlError> {
        Err(SqlError::not_supported("subqueries in SHOW"))
    }
    fn function(&mut self, _: &ast::Function) -> Result<Option<Expr>, SqlError> {
        Ok(None)
    }
    fn system_variable(&mut self, scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        self.session.variable_named(scope, name)
    }
    fn sql_mode(&self) -> expr::SqlMode {
        self.session.settings().sql_mode
    }
}
