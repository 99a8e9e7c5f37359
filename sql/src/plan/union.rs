//! UNION: its operands' blocks, the types of its columns, its ORDER BY.

use super::{
    Block, Planner, Query, SortKey,
    query::{Around, position},
    scope::{Names, is_desc, slot_expr},
};
use crate::{
    error::SqlError,
    expr::{Expr, ExprType, common_type, infer},
    output::ColumnMeta,
};
use sqlparser::ast;

impl Planner<'_> {
    /// A query expression that is not a single SELECT.
    pub(super) fn union(
        &mut self,
        body: &ast::SetExpr,
        around: &Around,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        let mut blocks = Vec::new();
        let mut distinct = 0;
        let mut columns = Vec::new();
        self.union_operand(body, &mut blocks, &mut distinct, &mut columns)?;
        if blocks.iter().any(|b: &Block| b.count_all) {
            return Err(SqlError::not_supported("SQL_CALC_FOUND_ROWS of a UNION"));
        }
        let types = union_types(&blocks)?;
        for block in &mut blocks {
            for (output, ty) in block.output.iter_mut().zip(&types) {
                cast_to(&mut output.expr, ty);
            }
        }
        for (column, ty) in columns.iter_mut().zip(&types) {
            let meta = ty.meta(&column.name);
            *column = meta;
        }
        let mut names = Names::new(false);
        let named = columns.iter().map(|c: &ColumnMeta| c.name.clone());
        let named = named.zip(types.iter().cloned()).collect();
        names.clause = "order clause";
        names.add_table(String::new(), String::new(), None, named)?;
        self.stack.push(names);
        let order = self.union_order(around.order, types.len());
        let limit = self.limit(around.limit);
        self.stack.pop();
        let correlated = blocks.iter().any(|b: &Block| !b.outer.is_empty());
        let query = Query {
            blocks,
            distinct,
            order: order?,
            limit: limit?,
            types,
            correlated,
        };
        Ok((query, columns))
    }

    /// Adds the blocks of an operand; `distinct` is how many of the first ones are made distinct.
    fn union_operand(
        &mut self,
        operand: &ast::SetExpr,
        blocks: &mut Vec<Block>,
        distinct: &mut usize,
        columns: &mut Vec<ColumnMeta>,
    ) -> Result<(), SqlError> {
        match operand {
            ast::SetExpr::Select(select) => {
                let (block, named) = self.block(select, &Around::default())?;
                if blocks.is_empty() {
                    *columns = named;
                }
                blocks.push(block);
            }
            ast::SetExpr::Query(query) => {
                let (query, named) = self.query(query)?;
                if blocks.is_empty() {
                    *columns = named;
                }
                match <[Block; 1]>::try_from(query.blocks) {
                    Ok([block]) => blocks.push(block),
                    Err(_) => return Err(SqlError::not_supported("nested UNION")),
                }
            }
            ast::SetExpr::SetOperation {
                left,
                op: ast::SetOperator::Union,
                set_quantifier,
                right,
            } => {
                self.union_operand(left, blocks, distinct, columns)?;
                if matches!(right.as_ref(), ast::SetExpr::SetOperation { .. }) {
                    return Err(SqlError::not_supported("nested UNION"));
                }
                self.union_operand(right, blocks, distinct, columns)?;
                if !matches!(set_quantifier, ast::SetQuantifier::All) {
                    *distinct = blocks.len();
                }
            }
            ast::SetExpr::SetOperation { op, .. } => {
                return Err(SqlError::not_supported(op));
            }
            ast::SetExpr::Values(_) => return Err(SqlError::not_supported("VALUES")),
            ast::SetExpr::Table(_) => return Err(SqlError::not_supported("TABLE")),
            _ => return Err(SqlError::not_supported("this query")),
        }
        Ok(())
    }

    fn union_order(
        &mut self,
        order: &[ast::OrderByExpr],
        columns: usize,
    ) -> Result<Vec<SortKey>, SqlError> {
        let mut keys = Vec::new();
        for key in order {
            let value = match position(&key.expr) {
                Some(n) if (1..=columns).contains(&n) => {
                    let ty = self.names().column_of(0, n - 1).map(|e| infer(&e));
                    self.wrap(slot_expr(n - 1, ty.unwrap_or_else(ExprType::null)))
                }
                Some(n) => return Err(SqlError::unknown_column(n, "order clause")),
                None => self.computed(&key.expr)?,
            };
            keys.push(SortKey {
                value,
                desc: is_desc(&key.options),
            });
        }
        Ok(keys)
    }
}

/// The types of a UNION's columns.
fn union_types(blocks: &[Block]) -> Result<Vec<ExprType>, SqlError> {
    let mut types: Vec<ExprType> = Vec::new();
    for block in blocks {
        if types.is_empty() {
            types = block.output.iter().map(|o| infer(&o.expr)).collect();
            continue;
        }
        if types.len() != block.output.len() {
            return Err(SqlError::select_column_counts_differ());
        }
        for (ty, output) in types.iter_mut().zip(&block.output) {
            *ty = common_type(&[*ty, infer(&output.expr)]).computed();
        }
    }
    Ok(types)
}

fn cast_to(expr: &mut Expr, ty: &ExprType) {
    let own = infer(expr);
    if own.ty == ty.ty && own.unsigned == ty.unsigned || own.ty.is_none() {
        return;
    }
    let inner = std::mem::replace(expr, super::walk::null());
    *expr = Expr::Cast {
        expr: Box::new(inner),
        ty: *ty,
    };
}
