//! UNION: its operands' blocks, the types of its columns, its ORDER BY.

use super::{
    Block, Computed, Planner, Query, SortKey,
    query::{Around, name, position},
    scope::{Names, Outside},
};
use crate::{
    error::SqlError,
    expr::{Expr, ExprType, coercibility, common_type, infer},
    output::ColumnMeta,
};
use cohort_engine::types::ColumnType;
use sqlparser::ast::{self, Spanned};

impl Planner<'_> {
    /// A query expression that is not a single SELECT.
    pub(super) fn union(
        &mut self,
        body: &ast::SetExpr,
        around: Around,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        let mut keys = around.order.iter();
        if !keys.any(|key| self.text.has_query(key.expr.span())) {
            return self.union_rows(body, &around);
        }
        // Queries run for the rows of a block.
        let plain = Around {
            locks: around.locks.clone(),
            ..Around::default()
        };
        let union = |planner: &mut Self| planner.union_rows(body, &plain);
        let (block, columns) = self.block_of_rows(&around, union)?;
        Ok((Query::of_block(block), columns))
    }

    fn union_rows(
        &mut self,
        body: &ast::SetExpr,
        around: &Around,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        let mut blocks = Vec::new();
        let mut distinct = 0;
        let mut columns = Vec::new();
        self.union_operand(body, around, &mut blocks, &mut distinct, &mut columns)?;
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
        let mut names = Names::new(Outside::All);
        let named = columns.iter().map(|c: &ColumnMeta| c.name.clone());
        let named = named.zip(types.iter().copied()).collect();
        names.add_table(String::new(), String::new(), None, named)?;
        let output = (0..types.len()).filter_map(|c| names.column_of(0, c));
        let output: Vec<Computed> = output.map(|expr| names.wrap(expr)).collect();
        self.stack.push(names);
        let order = self.union_order(around.order, &output);
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
        around: &Around,
        blocks: &mut Vec<Block>,
        distinct: &mut usize,
        columns: &mut Vec<ColumnMeta>,
    ) -> Result<(), SqlError> {
        match operand {
            ast::SetExpr::Select(_) | ast::SetExpr::Query(_) => {
                let around = Around {
                    locks: around.locks.clone(),
                    ..Around::default()
                };
                let (block, named) = self.block_of(operand, around)?;
                if blocks.is_empty() {
                    *columns = named;
                }
                blocks.push(block);
            }
            ast::SetExpr::SetOperation {
                left,
                op: ast::SetOperator::Union,
                set_quantifier,
                right,
            } => {
                self.union_operand(left, around, blocks, distinct, columns)?;
                if matches!(right.as_ref(), ast::SetExpr::SetOperation { .. }) {
                    return Err(SqlError::not_supported("nested UNION"));
                }
                self.union_operand(right, around, blocks, distinct, columns)?;
                match set_quantifier {
                    ast::SetQuantifier::All => {}
                    ast::SetQuantifier::None | ast::SetQuantifier::Distinct => {
                        *distinct = blocks.len();
                    }
                    ast::SetQuantifier::ByName
                    | ast::SetQuantifier::AllByName
                    | ast::SetQuantifier::DistinctByName => {
                        return Err(self.text.error_at_word("BY"));
                    }
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

    /// ORDER BY of rows that come from several SELECTs: it sees nothing but their columns.
    pub(super) fn union_order(
        &mut self,
        order: &[ast::OrderByExpr],
        output: &[Computed],
    ) -> Result<Vec<SortKey>, SqlError> {
        let names = self.names();
        names.clause = "order clause";
        names.aggregates_allowed = true;
        let mut keys = Vec::new();
        for (i, key) in order.iter().enumerate() {
            let (expr, desc) = self.sort_key_parts(key)?;
            let value = match (position(expr), name(expr)) {
                (Some(n), _) => match n.checked_sub(1).and_then(|i| output.get(i)) {
                    Some(column) => column.clone(),
                    None => return Err(SqlError::unknown_column(n, "order clause")),
                },
                (None, Some([.., table, _])) => {
                    let clause = "global ORDER clause";
                    return Err(SqlError::table_not_allowed_here(&table.value, clause));
                }
                _ => self.computed(expr)?,
            };
            if !self.names().aggregates.is_empty() {
                return Err(SqlError::aggregate_order_of_union(i + 1));
            }
            keys.push(SortKey { value, desc });
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
    if types
        .iter()
        .any(|ty| ty.is_string() && ty.coercibility == coercibility::NONE)
    {
        return Err(SqlError::illegal_mix_for_operation("UNION"));
    }
    Ok(types)
}

fn cast(expr: &mut Expr, ty: &ExprType) {
    let inner = std::mem::replace(expr, Expr::null());
    *expr = Expr::Cast {
        expr: Box::new(inner),
        ty: *ty,
    };
}

fn cast_to(expr: &mut Expr, ty: &ExprType) {
    expr.keep_all_digits();
    let own = infer(expr);
    if own.ty == ty.ty && own.unsigned == ty.unsigned || own.ty.is_none() {
        return;
    }
    if ty.is_string() && matches!(own.ty, Some(ColumnType::Bit(_))) {
        // Its number, where other texts are beside it.
        cast(expr, &ExprType::bigint(true).nullable_if(own.nullable));
    }
    cast(expr, ty);
}
