//! Query expressions, and SELECT with all its clauses.

use super::{
    Block, Computed, Grouping, Limit, Plan, Planner, Query, SortKey, access, columns,
    from::{From, LeafInput},
    grouping,
    scope::{Aliases, Names, is_desc},
    walk::{conjuncts, is_constant, slot, slots},
};
use crate::{
    error::SqlError,
    expr::{Expr, infer, visit_operands},
    output::ColumnMeta,
    value_kind::ValueKind,
};
use cohort_engine::txn::{Engine, LockMode, OnConflict};
use sqlparser::ast;
use std::sync::Arc;

/// How deep queries may nest.
const DEPTH_MAX: usize = 60;

/// The clauses around a SELECT.
#[derive(Default)]
pub(super) struct Around<'a> {
    pub order: &'a [ast::OrderByExpr],
    pub limit: Option<&'a ast::LimitClause>,
    pub locks: &'a [ast::LockClause],
}

impl Planner<'_> {
    /// The query of a SELECT statement.
    pub(super) fn top_query(
        &mut self,
        query: &ast::Query,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        self.query(query)
    }

    /// A subquery of an expression: it sees the enclosing blocks.
    pub(super) fn nested_query(&mut self, query: &ast::Query) -> Result<Query, SqlError> {
        Ok(self.query(query)?.0)
    }

    /// Compiles a query expression below the blocks on the stack.
    pub(super) fn query(
        &mut self,
        query: &ast::Query,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        if self.stack.len() > DEPTH_MAX {
            return Err(SqlError::nesting_too_deep());
        }
        let depth = self.common.len();
        if let Some(with) = &query.with {
            self.with(with)?;
        }
        let result = self.query_expression(query);
        self.common.truncate(depth);
        // Common table expressions may nest where the text does not.
        if result
            .as_ref()
            .is_ok_and(|(query, _)| self.stack.len() + query.depth() > DEPTH_MAX + 1)
        {
            return Err(SqlError::nesting_too_deep());
        }
        result
    }

    /// The same without its WITH.
    fn query_expression(
        &mut self,
        query: &ast::Query,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        let order = match query.order_by.as_ref().map(|o| &o.kind) {
            None => &[][..],
            Some(ast::OrderByKind::Expressions(keys)) => keys,
            Some(ast::OrderByKind::All(_)) => return Err(SqlError::not_supported("ORDER BY ALL")),
        };
        let around = Around {
            order,
            limit: query.limit_clause.as_ref(),
            locks: &query.locks,
        };
        match query.body.as_ref() {
            ast::SetExpr::Select(select) => self.single(select, &around),
            ast::SetExpr::Query(inner) => {
                if order.is_empty() && around.limit.is_none() {
                    return self.query(inner);
                }
                self.union(&query.body, &around)
            }
            body => self.union(body, &around),
        }
    }

    fn single(
        &mut self,
        select: &ast::Select,
        around: &Around,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        let (block, columns) = self.block(select, around)?;
        let types = block.output.iter().map(|o| infer(&o.expr)).collect();
        let correlated = !block.outer.is_empty();
        let query = Query {
            blocks: vec![block],
            distinct: 0,
            order: Vec::new(),
            limit: None,
            types,
            correlated,
        };
        Ok((query, columns))
    }

    pub(super) fn limit(
        &mut self,
        clause: Option<&ast::LimitClause>,
    ) -> Result<Option<Limit>, SqlError> {
        let (count, offset) = match clause {
            None => return Ok(None),
            Some(ast::LimitClause::LimitOffset { limit, offset, .. }) => {
                (limit.as_ref(), offset.as_ref().map(|o| &o.value))
            }
            Some(ast::LimitClause::OffsetCommaLimit { offset, limit }) => {
                (Some(limit), Some(offset))
            }
        };
        Ok(Some(Limit {
            count: count.map(|e| self.limit_value(e)).transpose()?,
            offset: offset.map(|e| self.limit_value(e)).transpose()?,
        }))
    }

    pub(super) fn limit_value(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        match expr {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(..) | ast::Value::Placeholder(_) => self.resolve(expr),
                other => Err(SqlError::syntax(other, 1)),
            },
            other => Err(SqlError::syntax(other, 1)),
        }
    }

    pub(super) fn block(
        &mut self,
        select: &ast::Select,
        around: &Around,
    ) -> Result<(Block, Vec<ColumnMeta>), SqlError> {
        refuse_unsupported(select)?;
        self.stack.push(Names::new(false));
        let result = self.block_inside(select, around);
        self.stack.pop();
        result
    }

    fn block_inside(
        &mut self,
        select: &ast::Select,
        around: &Around,
    ) -> Result<(Block, Vec<ColumnMeta>), SqlError> {
        let mut from = self.from(&select.from)?;
        self.lock_leaves(&mut from, around.locks)?;
        from.straight |= select
            .select_modifiers
            .as_ref()
            .is_some_and(|m| m.straight_join);
        let conditions = self.conditions(select.selection.as_ref())?;
        let (output, columns) = self.projection(select, &from)?;
        let keys = self.group_by(select, &output)?;
        let having = match &select.having {
            None => None,
            Some(having) => {
                let names = self.names();
                names.clause = "having clause";
                names.aliases = Aliases::First;
                names.aggregates_allowed = true;
                Some(self.computed(having)?)
            }
        };
        let order = self.order_by(around.order, &output)?;
        let limit = self.limit(around.limit)?;
        let names = self.names();
        let aggregates = std::mem::take(&mut names.aggregates);
        let explicit = !keys.is_empty();
        let distinct = matches!(select.distinct, Some(ast::Distinct::Distinct));
        let grouping = (explicit || !aggregates.is_empty()).then_some(Grouping {
            keys,
            kept: Vec::new(),
            explicit,
            aggregates,
        });
        let modifiers = select.select_modifiers.as_ref();
        let count_all = modifiers.is_some_and(|m| m.sql_calc_found_rows);
        if count_all {
            if self.stack.len() > 1 {
                return Err(SqlError::wrong_placement("SQL_CALC_FOUND_ROWS"));
            }
            self.warnings.push(SqlError::deprecated_calc_found_rows());
        }
        let mut block = Block {
            count_all,
            grouping,
            having,
            output,
            distinct,
            order,
            limit,
            ..Block::default()
        };
        grouping::check_having(&block, self.names())?;
        if distinct
            && self
                .context
                .sql_mode
                .has(crate::expr::SqlMode::ONLY_FULL_GROUP_BY)
        {
            grouping::check_distinct(&block, self.names())?;
        }
        if block.grouping.is_some()
            && self
                .context
                .sql_mode
                .has(crate::expr::SqlMode::ONLY_FULL_GROUP_BY)
        {
            grouping::check(&block, &conditions, &from, self.names())?;
        }
        grouping::keep_volatile(&mut block, self.names());
        self.place(&mut block, from, conditions)?;
        Ok((block, columns))
    }

    /// WHERE, as the conditions that must all hold.
    pub(super) fn conditions(
        &mut self,
        selection: Option<&ast::Expr>,
    ) -> Result<Vec<Expr>, SqlError> {
        let names = self.names();
        names.clause = "where clause";
        let expr = match selection {
            None => return Ok(Vec::new()),
            Some(selection) => self.resolve(selection)?,
        };
        Ok(conjuncts(expr))
    }

    fn projection(
        &mut self,
        select: &ast::Select,
        from: &From,
    ) -> Result<(Vec<Computed>, Vec<ColumnMeta>), SqlError> {
        let names = self.names();
        names.clause = "field list";
        names.aggregates_allowed = true;
        let token = usize::try_from(select.select_token.0.span.start.column).unwrap_or(0);
        let texts = self.text.select_items(token.saturating_sub(1));
        let mut output = Vec::new();
        let mut metas = Vec::new();
        for (i, item) in select.projection.iter().enumerate() {
            let (expr, alias) = match item {
                ast::SelectItem::Wildcard(_) => {
                    if from.leaves.is_empty() {
                        return Err(SqlError::no_tables_used());
                    }
                    for &(t, c) in &from.star {
                        self.star_column(t, c, &mut output, &mut metas);
                    }
                    continue;
                }
                ast::SelectItem::QualifiedWildcard(kind, _) => {
                    self.qualified_star(kind, from, &mut output, &mut metas)?;
                    continue;
                }
                ast::SelectItem::UnnamedExpr(expr) => (expr, None),
                ast::SelectItem::ExprWithAlias { expr, alias } => (expr, Some(&alias.value)),
                ast::SelectItem::ExprWithAliases { .. } => {
                    return Err(SqlError::not_supported("several aliases"));
                }
            };
            let mut computed = self.computed(expr)?;
            if infer(&computed.expr).ty.is_none() && has_unknown(&computed.expr) {
                // Nothing but NULL can come of it now, and something else the next time: clients
                // are told of a string.
                let ty = ValueKind::Text.parameter_type(self.context.collation);
                let expr = Box::new(computed.expr);
                computed.expr = Expr::Cast { expr, ty };
            }
            let name = match (alias, expr) {
                (Some(alias), _) => alias.clone(),
                (None, ast::Expr::Identifier(ident)) if !ident.value.starts_with('@') => {
                    ident.value.clone()
                }
                (None, ast::Expr::CompoundIdentifier(path))
                    if !path.first().is_some_and(|p| p.value.starts_with('@')) =>
                {
                    path.last().map(|p| p.value.clone()).unwrap_or_default()
                }
                _ => texts.get(i).cloned().unwrap_or_default(),
            };
            metas.push(self.meta(&computed.expr, &name));
            self.names().select.push((name, computed.expr.clone()));
            output.push(computed);
        }
        Ok((output, metas))
    }

    fn star_column(
        &mut self,
        table: usize,
        column: usize,
        output: &mut Vec<Computed>,
        metas: &mut Vec<ColumnMeta>,
    ) {
        let names = self.names();
        let Some(expr) = names.column_of(table, column) else {
            return;
        };
        let name = names.tables.get(table).and_then(|t| t.columns.get(column));
        let name = name.map(|c| c.name.clone()).unwrap_or_default();
        metas.push(self.meta(&expr, &name));
        self.names().select.push((name, expr.clone()));
        let computed = self.wrap(expr);
        output.push(computed);
    }

    fn qualified_star(
        &mut self,
        kind: &ast::SelectItemQualifiedWildcardKind,
        from: &From,
        output: &mut Vec<Computed>,
        metas: &mut Vec<ColumnMeta>,
    ) -> Result<(), SqlError> {
        let ast::SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
            return Err(SqlError::not_supported("this wildcard"));
        };
        let wanted = name
            .0
            .last()
            .and_then(|p| p.as_ident())
            .map(|i| i.value.clone());
        let wanted = wanted.unwrap_or_default();
        let table = self.names().tables.iter().position(|t| t.alias == wanted);
        let Some(table) = table else {
            return Err(SqlError::unknown_table(wanted));
        };
        let _ = from;
        let count = self
            .names()
            .tables
            .get(table)
            .map_or(0, |t| t.columns.len());
        for column in 0..count {
            self.star_column(table, column, output, metas);
        }
        Ok(())
    }

    /// The description of a result column.
    fn meta(&mut self, expr: &Expr, name: &str) -> ColumnMeta {
        let mut meta = infer(expr).meta(name);
        if let Some(index) = slot(expr) {
            let names = self.names();
            let table = names
                .tables
                .iter()
                .find(|t| (t.first_slot..t.first_slot + t.columns.len()).contains(&index));
            if let Some(table) = table {
                meta.table.clone_from(&table.alias);
                let position = index - table.first_slot;
                if let Some(stored) = &table.table {
                    columns::describe(&mut meta, stored, &table.alias, position);
                }
            }
        }
        meta
    }

    fn group_by(
        &mut self,
        select: &ast::Select,
        output: &[Computed],
    ) -> Result<Vec<Computed>, SqlError> {
        let exprs = match &select.group_by {
            ast::GroupByExpr::All(_) => return Err(SqlError::not_supported("GROUP BY ALL")),
            ast::GroupByExpr::Expressions(exprs, modifiers) => {
                if !modifiers.is_empty() {
                    return Err(SqlError::not_supported("WITH ROLLUP"));
                }
                exprs
            }
        };
        let names = self.names();
        names.clause = "group statement";
        names.aliases = Aliases::Last;
        // They are refused below, by name.
        names.aggregates_allowed = true;
        let mut keys = Vec::new();
        for expr in exprs {
            if let Some(n) = position(expr) {
                let Some(item) = n.checked_sub(1).and_then(|i| output.get(i)) else {
                    return Err(SqlError::unknown_column(n, "group statement"));
                };
                if self.has_aggregate(&item.expr) {
                    return Err(SqlError::cannot_group_on(n));
                }
                keys.push(item.clone());
                continue;
            }
            let key = self.computed(expr)?;
            if self.has_aggregate(&key.expr) {
                return Err(SqlError::cannot_group_on(expr));
            }
            keys.push(key);
        }
        Ok(keys)
    }

    fn has_aggregate(&mut self, expr: &Expr) -> bool {
        let aggregates: Vec<usize> = self.names().aggregates.iter().map(|a| a.slot).collect();
        let mut found = false;
        slots(expr, &mut |slot| found |= aggregates.contains(&slot));
        found
    }

    pub(super) fn order_by(
        &mut self,
        order: &[ast::OrderByExpr],
        output: &[Computed],
    ) -> Result<Vec<SortKey>, SqlError> {
        let names = self.names();
        names.clause = "order clause";
        names.aliases = Aliases::First;
        names.aggregates_allowed = true;
        let mut keys = Vec::new();
        for key in order {
            let value = match position(&key.expr) {
                Some(n) => match n.checked_sub(1).and_then(|i| output.get(i)) {
                    Some(item) => item.clone(),
                    None => return Err(SqlError::unknown_column(n, "order clause")),
                },
                None => self.computed(&key.expr)?,
            };
            // A constant orders nothing.
            if value.subqueries.is_empty() && is_constant(&value.expr) {
                continue;
            }
            keys.push(SortKey {
                value,
                desc: is_desc(&key.options),
            });
        }
        Ok(keys)
    }

    /// FOR UPDATE and FOR SHARE.
    fn lock_leaves(&mut self, from: &mut From, locks: &[ast::LockClause]) -> Result<(), SqlError> {
        for lock in locks {
            let mode = match lock.lock_type {
                ast::LockType::Share => LockMode::Shared,
                ast::LockType::Update => LockMode::Exclusive,
            };
            let conflict = match lock.nonblock {
                None => OnConflict::Wait,
                Some(ast::NonBlock::Nowait) => OnConflict::Fail,
                Some(ast::NonBlock::SkipLocked) => OnConflict::Skip,
            };
            let of = lock.of.as_ref().map(ToString::to_string);
            let of = of.map(|name| name.trim_matches('`').to_string());
            let mut found = of.is_none();
            let mut written = Vec::new();
            for (table, leaf) in self.names().tables.iter().zip(&mut from.leaves) {
                if of.as_ref().is_none_or(|of| *of == table.alias) {
                    leaf.lock = Some((mode, conflict));
                    found = true;
                    if let (LeafInput::Stored(stored), LockMode::Exclusive) = (&leaf.input, mode) {
                        written.push((Arc::clone(stored), table.alias.clone()));
                    }
                }
            }
            for (table, alias) in written {
                self.note_written(&table, &alias);
            }
            if !found {
                return Err(SqlError::unresolved_table_lock(of.unwrap_or_default()));
            }
        }
        Ok(())
    }
}

/// An integer literal, which in ORDER BY and GROUP BY is a position in the select list.
pub(super) fn position(expr: &ast::Expr) -> Option<usize> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn refuse_unsupported(select: &ast::Select) -> Result<(), SqlError> {
    if select.into.is_some() {
        return Err(SqlError::not_supported("SELECT … INTO"));
    }
    if !select.named_window.is_empty() {
        return Err(SqlError::not_supported("WINDOW"));
    }
    if matches!(select.distinct, Some(ast::Distinct::On(_))) {
        return Err(SqlError::not_supported("DISTINCT ON"));
    }
    let others = select.qualify.is_some()
        || select.top.is_some()
        || select.prewhere.is_some()
        || !select.lateral_views.is_empty()
        || !select.connect_by.is_empty()
        || !select.sort_by.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty();
    if others {
        return Err(SqlError::not_supported("this clause of SELECT"));
    }
    Ok(())
}

impl Plan {
    /// Whether it only reads (and perhaps locks).
    #[must_use]
    pub fn is_select(&self) -> bool {
        self.returns_rows() || matches!(self.body, super::Body::SelectInto(..))
    }
    /// Whether it is a SELECT … FOR UPDATE, which a read-only transaction refuses.
    #[must_use]
    pub fn locks_exclusively(&self) -> bool {
        let (super::Body::Select(query) | super::Body::SelectInto(query, _)) = &self.body else {
            return false;
        };
        let mut sources = query.blocks.iter().flat_map(|block| &block.sources);
        sources.any(|source| matches!(source.lock, Some((LockMode::Exclusive, _))))
    }
    /// Whether it returns rows.
    #[must_use]
    pub fn returns_rows(&self) -> bool {
        matches!(self.body, super::Body::Select(_) | super::Body::Explain(_))
    }
    /// Whether a table has grown or shrunk so much that another plan may be better.
    #[must_use]
    pub fn is_outgrown(&self, engine: &Engine) -> bool {
        let mut sizes = self.sizes.iter();
        sizes.any(|(table, planned)| access::outgrown(*planned, engine.row_estimate(table)))
    }
}

/// Whether a parameter or user variable is in it.
fn has_unknown(expr: &Expr) -> bool {
    let mut unknown = matches!(expr, Expr::Parameter { .. } | Expr::UserVariable { .. });
    visit_operands(expr, &mut |operand| unknown |= has_unknown(operand));
    unknown
}
