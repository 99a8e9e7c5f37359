//! UNION, INTERSECT, EXCEPT and VALUES: their operands' blocks, the types of their columns, their
//! ORDER BY.

use super::{
    Block, Combined, Computed, Planner, Query, SortKey, columns,
    from::From,
    query::Around,
    scope::{Names, Outside},
};
use crate::{
    error::SqlError,
    expr::{
        Expr, ExprType, coercibility, common_type, infer,
        resolve::{check_constant, check_mixable},
    },
    output::ColumnMeta,
    parse::{key_name, key_position},
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
        let plain = around.of_operand(true);
        let union = |planner: &mut Self| planner.union_rows(body, &plain);
        let (block, columns) = self.block_of_rows(&around, union)?;
        Ok((Query::of_block(block), columns))
    }

    fn union_rows(
        &mut self,
        body: &ast::SetExpr,
        around: &Around,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        let mut operands = Operands::default();
        let combined = match combination(body) {
            None | Some(Combination::Union) => {
                self.union_operand(body, around, &mut operands)?;
                let distinct = match around.keeps_repeats() {
                    true => 0,
                    false => operands.distinct,
                };
                Combined::Union { distinct }
            }
            Some(Combination::Other(combined)) => {
                let around = Around {
                    asks_for_any: false,
                    ..around.clone()
                };
                self.operands(body, combined, &around, &mut operands)?;
                combined
            }
        };
        let Operands {
            mut blocks,
            distinct: _,
            mut columns,
        } = operands;
        if blocks.iter().any(|b: &Block| b.count_all) {
            return Err(SqlError::not_supported("SQL_CALC_FOUND_ROWS of a UNION"));
        }
        let types = union_types(&blocks)?;
        for block in &mut blocks {
            for (output, ty) in block.output.iter_mut().zip(&types) {
                if let Expr::Column { ty, .. } = &mut output.expr {
                    // A UNION has the number.
                    ty.zerofill = 0;
                }
                check_constant(&output.expr, ty, self)?;
                cast_to(&mut output.expr, ty);
            }
        }
        for (column, ty) in columns.iter_mut().zip(&types) {
            *column = ty.meta(&column.name);
            columns::describe_union(column, ty);
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
            combined,
            order: order?,
            limit: limit?,
            types,
            correlated,
        };
        Ok((query, columns))
    }

    /// Adds the blocks of an operand of a UNION.
    fn union_operand(
        &mut self,
        operand: &ast::SetExpr,
        around: &Around,
        operands: &mut Operands,
    ) -> Result<(), SqlError> {
        match operand {
            ast::SetExpr::SetOperation {
                left,
                op: ast::SetOperator::Union,
                set_quantifier,
                right,
            } => {
                self.union_operand(left, &around.of_operand(false), operands)?;
                self.add_operand(right, around, operands)?;
                if !self.keeps_all(*set_quantifier)? {
                    operands.distinct = operands.blocks.len();
                }
                Ok(())
            }
            ast::SetExpr::Values(values) => self.values(values, operands),
            _ => self.add_operand(operand, around, operands),
        }
    }

    /// Adds the operands of INTERSECT or EXCEPT. Several in a row are one combination, if they are
    /// all the same.
    fn operands(
        &mut self,
        body: &ast::SetExpr,
        combined: Combined,
        around: &Around,
        operands: &mut Operands,
    ) -> Result<(), SqlError> {
        match body {
            ast::SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } if combination(body) == Some(Combination::Other(combined)) => {
                self.text
                    .refuse_behind("MINUS", *op == ast::SetOperator::Minus)?;
                self.keeps_all(*set_quantifier)?;
                self.operands(left, combined, &around.of_operand(false), operands)?;
                self.add_operand(right, around, operands)
            }
            _ => self.add_operand(body, around, operands),
        }
    }

    /// Adds an operand as a block.
    fn add_operand(
        &mut self,
        operand: &ast::SetExpr,
        around: &Around,
        operands: &mut Operands,
    ) -> Result<(), SqlError> {
        match operand {
            ast::SetExpr::Select(_)
            | ast::SetExpr::Query(_)
            | ast::SetExpr::SetOperation { .. }
            | ast::SetExpr::Values(_) => {}
            ast::SetExpr::Insert(_) => return Err(self.text.error_at_word("INSERT")),
            _ => return Err(SqlError::not_supported("this query")),
        }
        let (block, named) = self.block_of(operand, around.of_operand(true))?;
        operands.add(block, named);
        Ok(())
    }

    /// Whether ALL is said.
    fn keeps_all(&self, quantifier: ast::SetQuantifier) -> Result<bool, SqlError> {
        match quantifier {
            ast::SetQuantifier::All => Ok(true),
            ast::SetQuantifier::None | ast::SetQuantifier::Distinct => Ok(false),
            ast::SetQuantifier::ByName
            | ast::SetQuantifier::AllByName
            | ast::SetQuantifier::DistinctByName => Err(self.text.error_at_word("BY")),
        }
    }

    /// VALUES ROW(…), …: each row is a block.
    fn values(&mut self, values: &ast::Values, operands: &mut Operands) -> Result<(), SqlError> {
        let width = values.rows.first().map_or(0, |row| row.content.len());
        if width == 0 {
            return Err(SqlError::empty_row_of_values());
        }
        for (number, row) in values.rows.iter().enumerate() {
            let open = row.opening_token.0.span;
            self.text.refuse_row_without_word(open)?;
            let row = &row.content;
            if row.len() != width {
                return Err(SqlError::wrong_value_count_on_row(number + 1));
            }
            self.stack.push(Names::new(Outside::All));
            let block = self.block_of_values(row);
            self.stack.pop();
            let (block, columns) = block?;
            operands.add(block, columns);
        }
        Ok(())
    }

    fn block_of_values(&mut self, row: &[ast::Expr]) -> Result<(Block, Vec<ColumnMeta>), SqlError> {
        let mut output = Vec::with_capacity(row.len());
        let mut columns = Vec::with_capacity(row.len());
        for (number, expr) in row.iter().enumerate() {
            if matches!(expr, ast::Expr::Identifier(ident)
                if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("DEFAULT"))
            {
                return Err(SqlError::default_in_values());
            }
            let value = self.computed(expr)?;
            columns.push(infer(&value.expr).meta(&format!("column_{number}")));
            output.push(value);
        }
        let mut block = Block {
            output,
            ..Block::default()
        };
        self.place(&mut block, From::default(), Vec::new())?;
        Ok((block, columns))
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
        names.windows_allowed = true;
        let mut keys = Vec::new();
        for (i, key) in order.iter().enumerate() {
            let (expr, desc) = self.sort_key_parts(key)?;
            let value = match (key_position(expr), key_name(expr)) {
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
            let names = self.names();
            if !names.aggregates.is_empty() || !names.windows.is_empty() {
                return Err(SqlError::aggregate_order_of_union(i + 1));
            }
            keys.push(SortKey { value, desc });
        }
        Ok(keys)
    }
}

/// The operands that were compiled so far.
#[derive(Default)]
struct Operands {
    blocks: Vec<Block>,
    /// How many of the first ones are made distinct.
    distinct: usize,
    /// The columns of the first one.
    columns: Vec<ColumnMeta>,
}

impl Operands {
    fn add(&mut self, block: Block, columns: Vec<ColumnMeta>) {
        if self.blocks.is_empty() {
            self.columns = columns;
        }
        self.blocks.push(block);
    }
}

/// What a query that is no SELECT combines its operands by.
#[derive(PartialEq)]
enum Combination {
    Union,
    Other(Combined),
}

fn combination(body: &ast::SetExpr) -> Option<Combination> {
    let ast::SetExpr::SetOperation {
        op, set_quantifier, ..
    } = body
    else {
        return None;
    };
    let all = *set_quantifier == ast::SetQuantifier::All;
    Some(match op {
        ast::SetOperator::Union => Combination::Union,
        ast::SetOperator::Intersect => Combination::Other(Combined::Intersect { all }),
        ast::SetOperator::Except | ast::SetOperator::Minus => {
            Combination::Other(Combined::Except { all })
        }
    })
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
            let both = [*ty, infer(&output.expr)];
            *ty = common_type(&both).computed();
            if ty.is_string() && ty.coercibility == coercibility::NONE {
                check_mixable(&both, "UNION")?;
                return Err(SqlError::illegal_mix_for_operation("UNION"));
            }
        }
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

pub(super) fn cast_to(expr: &mut Expr, ty: &ExprType) {
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
