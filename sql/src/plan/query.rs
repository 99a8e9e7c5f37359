//! Query expressions, and SELECT with all its clauses.

use super::{
    Block, Computed, Grouping, Limit, Planner, Query, SortKey, columns,
    from::{From, LeafInput},
    grouping,
    named::At,
    push::Pushed,
    scope::{Aliases, Names, Outside, dotted},
    walk::{conditions, is_constant, slot},
};
use crate::{
    error::SqlError,
    expr::{Expr, Scope, Taken, compute_once, infer, plain_arguments, plain_call, visit_operands},
    lexer::ValueKind,
    output::ColumnMeta,
    parse::{Text, key_name, key_position},
};
use cohort_engine::txn::{LockMode, OnConflict};
use sqlparser::ast;
use std::{ops::Range, sync::Arc};

/// How deep queries may nest.
pub(super) const DEPTH_MAX: usize = 64;

/// The clauses around a SELECT.
#[derive(Default, Clone)]
pub(super) struct Around<'a> {
    pub order: &'a [ast::OrderByExpr],
    pub limit: Option<&'a ast::LimitClause>,
    pub locks: Vec<&'a ast::LockClause>,
    /// Conditions on its columns that rows must meet to matter.
    pub pushed: Option<Pushed>,
    /// All that is asked is whether some row is among them: of EXISTS, IN, ANY and ALL.
    pub asks_for_any: bool,
}

impl<'a> Around<'a> {
    /// Whether DISTINCT, UNION DISTINCT and GROUP BY without aggregates are left out, as MySQL does: so what
    /// is equal for them, but not for who asks, is not lost.
    pub(super) fn keeps_repeats(&self) -> bool {
        self.asks_for_any && self.limit.is_none()
    }

    /// Those of a query: what MySQL has not is refused.
    pub(super) fn of(query: &'a ast::Query, text: &Text) -> Result<Around<'a>, SqlError> {
        let ast::Query {
            // These are read where the query is.
            with: _,
            body: _,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        text.refuse("FETCH", fetch.is_some())?;
        text.refuse_behind("FOR", for_clause.is_some())?;
        text.refuse_behind("SETTINGS", settings.is_some())?;
        text.refuse_behind("FORMAT", format_clause.is_some())?;
        text.refuse("|>", !pipe_operators.is_empty())?;
        let order = match order_by {
            None => &[][..],
            Some(ast::OrderBy { kind, interpolate }) => {
                text.refuse("INTERPOLATE", interpolate.is_some())?;
                match kind {
                    ast::OrderByKind::Expressions(keys) => keys,
                    ast::OrderByKind::All(_) => return Err(text.error_at_word("ALL")),
                }
            }
        };
        Ok(Around {
            order,
            limit: limit_clause.as_ref(),
            locks: locks.iter().collect(),
            pushed: None,
            asks_for_any: false,
        })
    }

    /// Whether there is nothing that an order or a number of rows comes from.
    pub fn is_plain(&self) -> bool {
        self.order.is_empty() && self.limit.is_none()
    }

    /// What of them is also around an operand of a set operation: its rows are locked if it is the last one.
    pub fn of_operand(&self, is_last: bool) -> Around<'a> {
        Around {
            locks: match is_last {
                true => self.locks.clone(),
                false => Vec::new(),
            },
            pushed: self.pushed.clone(),
            asks_for_any: self.keeps_repeats(),
            ..Around::default()
        }
    }

    /// The clauses of a query in parentheses with those around it, if they are as if they stood
    /// together: no rows are left out before they are put in another order.
    fn merged(&self, inner: &Around<'a>) -> Option<Around<'a>> {
        let outermost = inner.limit.is_some() || !inner.order.is_empty();
        let apart =
            inner.limit.is_some() && !self.is_plain() || outermost && !self.order.is_empty();
        (!apart).then(|| Around {
            order: if self.order.is_empty() {
                inner.order
            } else {
                self.order
            },
            limit: self.limit.or(inner.limit),
            locks: self.locks.iter().chain(&inner.locks).copied().collect(),
            pushed: self.pushed.clone(),
            asks_for_any: self.asks_for_any,
        })
    }
}

impl Planner<'_> {
    /// The query of a SELECT statement.
    pub(super) fn top_query(
        &mut self,
        query: &ast::Query,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        // A view is defined by what is written.
        self.merging = self.meanings.is_none();
        self.query(query)
    }

    /// A subquery of an expression: it sees the enclosing blocks.
    pub(super) fn nested_query(
        &mut self,
        query: &ast::Query,
        asks_for_any: bool,
    ) -> Result<Query, SqlError> {
        Ok(self.query_of(query, None, asks_for_any)?.0)
    }

    /// Compiles a query expression below the blocks on the stack.
    pub(super) fn query(
        &mut self,
        query: &ast::Query,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        self.query_of(query, None, false)
    }

    /// The same, of whose rows only those matter that meet these conditions.
    pub(super) fn query_of(
        &mut self,
        query: &ast::Query,
        pushed: Option<&Pushed>,
        asks_for_any: bool,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        // A derived table takes two.
        if self.stack.len() > 2 * DEPTH_MAX {
            return Err(SqlError::too_high_level_of_nesting());
        }
        let mut around = Around::of(query, self.text)?;
        around.asks_for_any = asks_for_any;
        if around.limit.is_none() {
            around.pushed = pushed.cloned();
        }
        let depth = self.common.len();
        if let Some(with) = &query.with {
            self.with(with, query)?;
        }
        let result = self.body(&query.body, around);
        self.common.truncate(depth);
        // Common table expressions may nest where the text does not.
        let (query, columns) = result?;
        let depth = query.depth();
        if depth > DEPTH_MAX {
            return Err(SqlError::too_high_level_of_nesting());
        }
        self.nested = self.nested.max(self.stack.len() + depth);
        Ok((query, columns))
    }

    /// The same without its WITH.
    pub(super) fn body(
        &mut self,
        body: &ast::SetExpr,
        around: Around,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        match body {
            ast::SetExpr::SetOperation { .. } | ast::SetExpr::Values(_) => self.union(body, around),
            ast::SetExpr::Query(inner) if around.is_plain() && around.locks.is_empty() => {
                self.query_of(inner, None, around.asks_for_any)
            }
            _ => {
                let (block, columns) = self.block_of(body, around)?;
                Ok((Query::of_block(block), columns))
            }
        }
    }

    /// A query expression as one block. What is not a single SELECT becomes a table that the block
    /// reads.
    pub(super) fn block_of(
        &mut self,
        body: &ast::SetExpr,
        around: Around,
    ) -> Result<(Block, Vec<ColumnMeta>), SqlError> {
        match body {
            ast::SetExpr::Select(select) => self.block(select, &around),
            ast::SetExpr::Query(inner) => {
                if inner.with.is_none()
                    && let Some(merged) = around.merged(&Around::of(inner, self.text)?)
                {
                    return self.block_of(&inner.body, merged);
                }
                self.block_of_rows(&around, |planner| planner.query(inner))
            }
            union => self.block_of_rows(&Around::default(), |planner| planner.union(union, around)),
        }
    }

    /// A block that orders and counts the rows of a query.
    pub(super) fn block_of_rows(
        &mut self,
        around: &Around,
        query: impl FnOnce(&mut Self) -> Result<(Query, Vec<ColumnMeta>), SqlError>,
    ) -> Result<(Block, Vec<ColumnMeta>), SqlError> {
        self.stack.push(Names::new(Outside::All));
        let result = self.block_of_rows_inside(around, query);
        self.stack.pop();
        result
    }

    fn block_of_rows_inside(
        &mut self,
        around: &Around,
        query: impl FnOnce(&mut Self) -> Result<(Query, Vec<ColumnMeta>), SqlError>,
    ) -> Result<(Block, Vec<ColumnMeta>), SqlError> {
        let (table, columns) = self.derived(Outside::Beyond, query)?;
        let types = table.query.types.iter().map(|ty| ty.of_derived());
        let named = columns.iter().map(|c| c.name.clone()).zip(types).collect();
        let from = From::of_derived(table);
        self.names()
            .add_table(String::new(), String::new(), None, named)?;
        let mut output = Vec::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            let names = self.names();
            if let Some(expr) = names.column_of(0, at) {
                let named = (column.name.clone(), expr.clone());
                names.select.items.push(named);
                output.push(names.wrap(expr));
            }
        }
        let order = self.union_order(around.order, &output)?;
        let limit = self.limit(around.limit)?;
        let mut block = Block {
            output,
            order,
            limit,
            ..Block::default()
        };
        self.place(&mut block, from, Vec::new())?;
        Ok((block, columns))
    }

    pub(super) fn limit(
        &mut self,
        clause: Option<&ast::LimitClause>,
    ) -> Result<Option<Limit>, SqlError> {
        let (count, offset) = match clause {
            None => return Ok(None),
            Some(ast::LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            }) => {
                self.text.refuse("BY", !limit_by.is_empty())?;
                let offset = match offset {
                    None => None,
                    Some(ast::Offset { value, rows }) => {
                        self.text.refuse("ROW", *rows == ast::OffsetRows::Row)?;
                        self.text.refuse("ROWS", *rows == ast::OffsetRows::Rows)?;
                        Some(value)
                    }
                };
                if limit.is_none() {
                    let word = if offset.is_some() { "OFFSET" } else { "ALL" };
                    return Err(self.text.error_at_word(word));
                }
                (limit.as_ref(), offset)
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
                ast::Value::Number(..) | ast::Value::Placeholder(_) => {
                    let count = self.resolve(expr)?;
                    if let Expr::Parameter {
                        index, bound: true, ..
                    } = &count
                    {
                        self.take(*index, Some(Taken::Count));
                    }
                    Ok(count)
                }
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
        self.stack.push(Names::new(Outside::All));
        let result = self.block_inside(select, around);
        self.stack.pop();
        result
    }

    fn block_inside(
        &mut self,
        select: &ast::Select,
        around: &Around,
    ) -> Result<(Block, Vec<ColumnMeta>), SqlError> {
        let distinct = self.plain_select(select)? && !around.keeps_repeats();
        let (straight, count_all) = modifiers(select.select_modifiers.as_ref());
        let token = index_of(&select.select_token);
        let mut from = self.hinted_from(token, &select.from)?;
        self.lock_leaves(&mut from, &around.locks)?;
        from.straight |= straight;
        let mut conditions = self.conditions(select.selection.as_ref())?;
        self.push(&mut from, &conditions)?;
        self.name_windows(&select.named_window)?;
        let (output, mut columns) = self.select_list(select, &from)?;
        let (mut keys, rollup) = self.group_by(&select.group_by, &output)?;
        let having = match &select.having {
            None => None,
            Some(having) => {
                let names = self.names();
                names.clause = "having clause";
                names.aliases = Aliases::Having;
                names.aggregates_allowed = true;
                let mut having = self.computed(having)?;
                compute_once(&mut having.expr);
                Some(having)
            }
        };
        if around.keeps_repeats() && having.is_none() && !rollup && !self.gathers() {
            keys.clear();
        }
        let explicit = !keys.is_empty();
        let one_group = !explicit && !self.names().aggregates.is_empty();
        self.names().windows_allowed = true;
        let mut order = self.order_by(around.order, &output, explicit)?;
        self.check_named_windows()?;
        if one_group {
            // There is one row, whatever orders it.
            order.clear();
        }
        let plain = !explicit && !one_group && !distinct && self.names().windows.is_empty();
        if let Some((leaves, own)) = from.order.take()
            && plain
            && around.order.is_empty()
            && leaves == (0..from.leaves.len())
        {
            // The only table is a view that has an order.
            order = own;
        }
        let limit = self.limit(around.limit)?;
        let names = self.names();
        let aggregates = std::mem::take(&mut names.aggregates);
        let grouping = (explicit || !aggregates.is_empty()).then_some(Grouping {
            keys,
            kept: Vec::new(),
            explicit,
            rollup: None,
            aggregates,
        });
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
        let sql_mode = self.context.settings.sql_mode;
        if sql_mode.has(crate::expr::SqlMode::ONLY_FULL_GROUP_BY) {
            if distinct {
                grouping::check_distinct(&block, self.names())?;
            }
            if block.grouping.is_some() {
                grouping::check(&block, &conditions, &from, self.names())?;
            }
        }
        self.complete_windows(&mut block);
        self.roll_up(&mut block, &mut columns, rollup)?;
        grouping::keep_volatile(&mut block, self.names());
        self.receive(around.pushed.as_deref(), &mut block, &mut conditions);
        self.place(&mut block, from, conditions)?;
        Ok((block, columns))
    }

    /// Whether the innermost block has aggregates or window functions until now.
    fn gathers(&mut self) -> bool {
        let names = self.names();
        !names.aggregates.is_empty() || !names.windows.is_empty()
    }

    /// Refuses what SELECT has elsewhere only; whether it is DISTINCT.
    pub(super) fn plain_select(&self, select: &ast::Select) -> Result<bool, SqlError> {
        let ast::Select {
            // What is not refused here is read by `block_inside`.
            select_token: _,
            // Our own tokens have them: see `hints`.
            optimizer_hints: _,
            distinct,
            select_modifiers: _,
            top,
            top_before_distinct: _,
            projection: _,
            exclude,
            into,
            from: _,
            lateral_views,
            prewhere,
            selection: _,
            connect_by,
            group_by: _,
            cluster_by,
            distribute_by,
            sort_by,
            having: _,
            named_window: _,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor,
        } = select;
        if qualify.is_some() {
            return Err(SqlError::not_supported("QUALIFY"));
        }
        if let Some(into) = into {
            return Err(self.refuse_into(into));
        }
        let text = self.text;
        text.refuse_behind("TOP", top.is_some())?;
        text.refuse("EXCLUDE", exclude.is_some())?;
        text.refuse("LATERAL", !lateral_views.is_empty())?;
        text.refuse_behind("PREWHERE", prewhere.is_some())?;
        text.refuse_behind("CONNECT", !connect_by.is_empty())?;
        text.refuse_behind("CLUSTER", !cluster_by.is_empty())?;
        text.refuse_behind("DISTRIBUTE", !distribute_by.is_empty())?;
        text.refuse_behind("SORT", !sort_by.is_empty())?;
        text.refuse("AS", value_table_mode.is_some())?;
        text.refuse("FROM", *flavor != ast::SelectFlavor::Standard)?;
        match distinct {
            None | Some(ast::Distinct::All) => Ok(false),
            Some(ast::Distinct::Distinct) => Ok(true),
            Some(ast::Distinct::On(_)) => Err(text.error_at_word("ON")),
        }
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
        Ok(conditions(expr))
    }

    /// The select list of a SELECT.
    fn select_list(
        &mut self,
        select: &ast::Select,
        from: &From,
    ) -> Result<(Vec<Computed>, Vec<ColumnMeta>), SqlError> {
        let names = self.names();
        names.windows_allowed = true;
        names.clause = "field list";
        names.aggregates_allowed = true;
        let token = index_of(&select.select_token);
        let star = (!from.leaves.is_empty()).then_some(from.star.as_slice());
        let (output, columns) = self.projection(token, &select.projection, star)?;
        let called = columns.iter().map(|column| column.name.clone());
        self.note_select(&select.select_token, called);
        self.names().windows_allowed = false;
        Ok((output, columns))
    }

    /// What a select list computes, and the columns of its result. It stands behind the token of
    /// this number, and `*` means these columns, if there is a table.
    pub(super) fn projection(
        &mut self,
        token: usize,
        items: &[ast::SelectItem],
        star: Option<&[At]>,
    ) -> Result<(Vec<Computed>, Vec<ColumnMeta>), SqlError> {
        let names = self.names();
        names.aliases = Aliases::Inside;
        let aliases = items.iter().rev().filter_map(|item| match item {
            ast::SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
            _ => None,
        });
        names.select.later = aliases.collect();
        let texts = self.text.select_items(token);
        let mut output = Vec::new();
        let mut metas = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let (expr, alias) = match item {
                ast::SelectItem::Wildcard(options) => {
                    self.plain_star(options)?;
                    let star = star.ok_or_else(SqlError::no_tables_used)?;
                    self.note_star(options, star);
                    for &at in star {
                        self.star_column(at, &mut output, &mut metas);
                    }
                    continue;
                }
                ast::SelectItem::QualifiedWildcard(kind, options) => {
                    self.plain_star(options)?;
                    let columns = self.qualified_star(kind)?;
                    self.note_star(options, &columns);
                    for at in columns {
                        self.star_column(at, &mut output, &mut metas);
                    }
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
                let ty = ValueKind::Text.parameter_type(self.context.settings.collation);
                let expr = Box::new(computed.expr);
                computed.expr = Expr::Cast { expr, ty };
            }
            // A view calls its columns as they are written.
            let own = match self.meanings {
                None => self.column_of_view(&computed.expr),
                Some(_) => None,
            };
            let name = match (alias.or(own.as_ref()), inside(expr)) {
                (Some(name), _) => name.clone(),
                (None, ast::Expr::Identifier(ident)) if !ident.value.starts_with('@') => {
                    ident.value.clone()
                }
                (None, ast::Expr::CompoundIdentifier(path))
                    if !path.first().is_some_and(|p| p.value.starts_with('@')) =>
                {
                    path.last().map(|p| p.value.clone()).unwrap_or_default()
                }
                (None, ast::Expr::Value(value)) if value.value == ast::Value::Null => "NULL".into(),
                _ => texts
                    .get(i)
                    .map_or("", |text| text.trim_start())
                    .to_string(),
            };
            let by_name = matches!(
                inside(expr),
                ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)
            );
            metas.push(self.meta(&computed.expr, &name, by_name));
            let selected = &mut self.names().select;
            selected.items.push((name, computed.expr.clone()));
            if alias.is_some() {
                selected.later.pop();
            }
            output.push(computed);
        }
        Ok((output, metas))
    }

    /// The name of a column of information_schema: most of its tables are views for MySQL, and the
    /// name is theirs, however the statement spells it.
    fn column_of_view(&mut self, expr: &Expr) -> Option<String> {
        let names = self.names();
        let at = names.at_of(expr)?;
        let At::Table(table, _) = at else {
            return None;
        };
        let table = names.tables[table].table.as_ref()?;
        let is_view = table.database == "information_schema" && !is_filled(&table.name);
        let name = names.name_of(at).map(|(name, _)| name.to_string());
        name.filter(|_| is_view)
    }

    /// Where INTO puts something that is no user variable.
    fn refuse_into(&self, into: &ast::SelectInto) -> SqlError {
        let is_variable = |name: &ast::Ident| name.value.starts_with('@');
        for target in &into.targets {
            match target {
                ast::Expr::Identifier(name) if is_variable(name) => {}
                // Only stored programs have such variables.
                ast::Expr::Identifier(name) => return SqlError::undeclared_variable(&name.value),
                ast::Expr::Value(value) => return self.text.error_at_span(value.span),
                _ => break,
            }
        }
        SqlError::not_supported("SELECT … INTO")
    }

    /// Refuses what may follow `*` elsewhere.
    fn plain_star(&self, options: &ast::WildcardAdditionalOptions) -> Result<(), SqlError> {
        let ast::WildcardAdditionalOptions {
            wildcard_token: _,
            opt_ilike,
            opt_exclude,
            opt_except,
            opt_replace,
            opt_rename,
            opt_alias,
        } = options;
        self.text.refuse("ILIKE", opt_ilike.is_some())?;
        self.text.refuse("EXCLUDE", opt_exclude.is_some())?;
        self.text.refuse("EXCEPT", opt_except.is_some())?;
        self.text.refuse("REPLACE", opt_replace.is_some())?;
        self.text.refuse("RENAME", opt_rename.is_some())?;
        self.text.refuse("AS", opt_alias.is_some())
    }

    fn star_column(&mut self, at: At, output: &mut Vec<Computed>, metas: &mut Vec<ColumnMeta>) {
        let names = self.names();
        let Some(expr) = names.value_of(at) else {
            return;
        };
        names.note_read(at);
        let name = names.name_of(at).map(|(name, _)| name.to_string());
        let name = name.unwrap_or_default();
        metas.push(self.meta(&expr, &name, true));
        self.names().select.items.push((name, expr.clone()));
        let computed = self.wrap(expr);
        output.push(computed);
    }

    fn qualified_star(
        &mut self,
        kind: &ast::SelectItemQualifiedWildcardKind,
    ) -> Result<Vec<At>, SqlError> {
        let ast::SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
            return Err(SqlError::not_supported("this wildcard"));
        };
        let path = name.0.iter().filter_map(|part| part.as_ident().cloned());
        let path: Vec<ast::Ident> = path.collect();
        let columns = self.names().columns_called(&path);
        if columns.is_empty() {
            return Err(SqlError::unknown_table(dotted(&path)));
        }
        Ok(columns)
    }

    /// The description of a result column, which the statement has by its name or computes.
    fn meta(&mut self, expr: &Expr, name: &str, by_name: bool) -> ColumnMeta {
        let mut meta = infer(expr).meta(name);
        let names = self.names();
        if let Some(index) = slot(expr)
            && let Some(table) = names.table_of_slot(index)
            && let Some(table) = names.tables.get(table)
        {
            let alias = names.at_of(expr).and_then(|at| names.called(at));
            let alias = alias.map_or(table.alias.as_str(), |called| called.alias);
            meta.table = alias.to_string();
            let position = index - table.first_slot;
            match (&table.table, table.columns.get(position)) {
                (Some(stored), _) => columns::describe(&mut meta, stored, alias, position),
                (None, Some(column)) => {
                    columns::describe_computed(&mut meta, &column.name, &column.ty);
                }
                (None, None) => {}
            }
        }
        if by_name && let Some((merged, column, table)) = names.merged_column(expr) {
            meta.table = merged.to_string();
            meta.original_name = column.to_string();
            meta.original_table = table.to_string();
        }
        meta
    }

    /// GROUP BY: the keys, and whether WITH ROLLUP is said.
    fn group_by(
        &mut self,
        group_by: &ast::GroupByExpr,
        output: &[Computed],
    ) -> Result<(Vec<Computed>, bool), SqlError> {
        let (exprs, rollup) = self.group_exprs(group_by)?;
        let names = self.names();
        names.clause = "group statement";
        names.aliases = Aliases::Last;
        let mut keys = Vec::new();
        for expr in exprs {
            let key = match key_position(expr) {
                Some(n) => match n.checked_sub(1).and_then(|i| output.get(i)) {
                    Some(item) => item.clone(),
                    None => return Err(SqlError::unknown_column(n, "group statement")),
                },
                None => self.group_key(expr)?,
            };
            let names = self.names();
            if names.aggregates_in(&key.expr) || names.windows_in(&key.expr) {
                let mut items = names.select.items.iter();
                let item = items.find(|(_, selected)| *selected == key.expr);
                return Err(
                    item.map_or_else(SqlError::invalid_group_function, |(name, _)| {
                        SqlError::cannot_group_on(name)
                    }),
                );
            }
            self.note_grouped(expr, &key.expr);
            keys.push(key);
        }
        Ok((keys, rollup))
    }

    /// The expressions of GROUP BY, and whether WITH ROLLUP is said, or ROLLUP(…).
    fn group_exprs<'g>(
        &self,
        group_by: &'g ast::GroupByExpr,
    ) -> Result<(Vec<&'g ast::Expr>, bool), SqlError> {
        let (exprs, modifiers) = match group_by {
            ast::GroupByExpr::All(_) => return Err(self.text.error_at_word("ALL")),
            ast::GroupByExpr::Expressions(exprs, modifiers) => (exprs, modifiers),
        };
        let rollup = match modifiers.first() {
            None => false,
            Some(ast::GroupByWithModifier::Rollup) => true,
            Some(_) => return Err(self.text.error_at_word("WITH")),
        };
        let named = |name: &'static str| {
            exprs.iter().find_map(move |expr| match expr {
                ast::Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case(name) => {
                    Some(call)
                }
                _ => None,
            })
        };
        if named("CUBE").is_some() {
            return Err(SqlError::not_supported("CUBE"));
        }
        let Some(call) = named("ROLLUP") else {
            return Ok((exprs.iter().collect(), rollup));
        };
        let ast::FunctionArguments::List(list) = plain_call(call, self)? else {
            return Err(self.text.error_at_word("ROLLUP"));
        };
        if rollup || exprs.len() > 1 {
            return Err(self
                .text
                .refuse_behind("ROLLUP", true)
                .map_or_else(|error| error, |()| SqlError::syntax("ROLLUP", 1)));
        }
        let args = plain_arguments(list, "ROLLUP", self)?.iter();
        let keys = args.map(|arg| match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Ok(expr),
            other => Err(SqlError::syntax(other, 1)),
        });
        Ok((keys.collect::<Result<_, _>>()?, true))
    }

    /// An expression of GROUP BY. There is a warning if a name is a column's, but what is selected
    /// under that name is something else.
    fn group_key(&mut self, expr: &ast::Expr) -> Result<Computed, SqlError> {
        let key = self.computed(expr)?;
        if let Some(path) = key_name(expr)
            && let Some(selected) = self.names().find_selected(path)?
            && selected != key.expr
        {
            let warning = SqlError::ambiguous_column(dotted(path), "group statement");
            self.warnings.push(warning);
        }
        Ok(key)
    }

    /// Remembers how GROUP BY calls a column that is grouped by.
    fn note_grouped(&mut self, expr: &ast::Expr, key: &Expr) {
        let names = self.names();
        let column = names.at_of(key).and_then(|at| names.name_of(at));
        let Some((column, _)) = column else {
            return;
        };
        let written = key_name(expr).and_then(<[ast::Ident]>::last);
        let called = written.map_or(column, |ident| &ident.value).to_string();
        names.grouped.push((called, key.clone()));
    }

    /// ORDER BY of a block, which is `grouped` by something or not.
    pub(super) fn order_by(
        &mut self,
        order: &[ast::OrderByExpr],
        output: &[Computed],
        grouped: bool,
    ) -> Result<Vec<SortKey>, SqlError> {
        let names = self.names();
        names.clause = "order clause";
        let grouped = grouped || !names.aggregates.is_empty();
        let mut keys = Vec::new();
        for (i, key) in order.iter().enumerate() {
            let (expr, desc) = self.sort_key_parts(key)?;
            let value = match key_position(expr) {
                Some(n) => match n.checked_sub(1).and_then(|i| output.get(i)) {
                    Some(item) => item.clone(),
                    None => return Err(SqlError::unknown_column(n, "order clause")),
                },
                None => self.order_key(expr)?,
            };
            if !grouped && !self.names().aggregates.is_empty() {
                return Err(SqlError::aggregate_order(i + 1));
            }
            // A constant orders nothing.
            if value.subqueries.is_empty() && is_constant(&value.expr) {
                continue;
            }
            keys.push(SortKey { value, desc });
        }
        Ok(keys)
    }

    /// An expression of ORDER BY.
    fn order_key(&mut self, expr: &ast::Expr) -> Result<Computed, SqlError> {
        self.names().aliases = match key_name(expr) {
            Some(_) => Aliases::First,
            None => Aliases::Last,
        };
        self.computed(expr)
    }

    /// FOR UPDATE and FOR SHARE.
    fn lock_leaves(&mut self, from: &mut From, locks: &[&ast::LockClause]) -> Result<(), SqlError> {
        for lock in locks {
            let ast::LockClause {
                lock_type,
                of,
                nonblock,
            } = lock;
            let mode = match lock_type {
                ast::LockType::Share => LockMode::Shared,
                ast::LockType::Update => LockMode::Exclusive,
            };
            let conflict = match nonblock {
                None => OnConflict::Wait,
                Some(ast::NonBlock::Nowait) => OnConflict::Fail,
                Some(ast::NonBlock::SkipLocked) => OnConflict::Skip,
            };
            let of = of.as_ref().map(ToString::to_string);
            let of = of.map(|name| name.trim_matches('`').to_string());
            let mut found = of.is_none();
            let mut written = Vec::new();
            let names = self.names();
            let views = names.views.iter().filter(|v| v.within == names.within);
            let named: Vec<Range<usize>> = views
                .filter(|view| of.as_ref() == Some(&view.alias))
                .map(|view| view.leaves.clone())
                .collect();
            let mut derived = names.views.iter().filter(|merged| merged.view.is_none());
            found |= derived.any(|merged| of.as_ref() == Some(&merged.alias));
            for (at, (table, leaf)) in names.tables.iter().zip(&mut from.leaves).enumerate() {
                // Rows of derived tables are not locked.
                if names.is_of_derived(at) {
                    continue;
                }
                let is_named = |of: &String| {
                    let of_view = named.iter().any(|leaves| leaves.contains(&at));
                    of_view || table.within == names.within && *of == table.alias
                };
                if of.as_ref().is_none_or(is_named) {
                    if leaf.lock.is_some() {
                        let named = of.as_ref().map(|of| format!("`{of}`"));
                        let named = named.unwrap_or_else(|| table.alias.clone());
                        return Err(SqlError::duplicate_table_lock(named));
                    }
                    leaf.lock = Some((mode, conflict));
                    if mode == LockMode::Exclusive {
                        let of_view = names.views.iter();
                        let of_view = of_view.filter(|view| view.leaves.contains(&at));
                        let noted = of_view.filter_map(|view| view.noted.as_ref());
                        noted.chain(&table.noted).for_each(|noted| noted.lock());
                    }
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

/// The modifiers of a SELECT: STRAIGHT_JOIN and SQL_CALC_FOUND_ROWS. The others are advice on how
/// to compute the same.
pub(super) fn modifiers(modifiers: Option<&ast::SelectModifiers>) -> (bool, bool) {
    let Some(ast::SelectModifiers {
        high_priority: _,
        straight_join,
        sql_small_result: _,
        sql_big_result: _,
        sql_buffer_result: _,
        sql_no_cache: _,
        sql_calc_found_rows,
    }) = modifiers
    else {
        return (false, false);
    };
    (*straight_join, *sql_calc_found_rows)
}

/// The number of the token that a part of the tree has kept.
pub(super) fn index_of(token: &ast::helpers::attached_token::AttachedToken) -> usize {
    let column = usize::try_from(token.0.span.start.column).unwrap_or(0);
    column.saturating_sub(1)
}

/// Whether a parameter or user variable is in it.
fn has_unknown(expr: &Expr) -> bool {
    let mut unknown = matches!(expr, Expr::Parameter { .. } | Expr::UserVariable { .. });
    visit_operands(expr, &mut |operand| unknown |= has_unknown(operand));
    unknown
}

/// Whether a table of information_schema is no view in MySQL (or is not MySQL's).
fn is_filled(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "COLLATIONS",
        "COLUMN_PRIVILEGES",
        "ENGINES",
        "PLUGINS",
        "PROCESSLIST",
        "SCHEMA_PRIVILEGES",
        "TABLE_PRIVILEGES",
        "USER_PRIVILEGES",
    ];
    const OTHERS: [&str; 5] = ["COHORT_", "GLOBAL_", "SESSION_", "SYSTEM_", "THREAD_POOL_"];
    NAMES.contains(&name) || OTHERS.iter().any(|others| name.starts_with(others))
}

/// An expression without parentheses around it, and without `+` in front: neither is in the name of
/// a column or literal.
fn inside(mut expr: &ast::Expr) -> &ast::Expr {
    while let ast::Expr::Nested(inner)
    | ast::Expr::UnaryOp {
        op: ast::UnaryOperator::Plus,
        expr: inner,
    } = expr
    {
        expr = inner;
    }
    expr
}
