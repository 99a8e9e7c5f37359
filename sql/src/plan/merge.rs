//! Texts in FROM whose tables are read in their place: of views, derived tables and common table
//! expressions.
//!
//! Where the rows of such a text are rows of tables, these become tables of the block that names it, its
//! WHERE becomes conditions of that block, and its columns stand for what they are. So a condition on a
//! column of it finds its way to an index. Example:
//!
//! ```text
//! SELECT x.name FROM (SELECT id, name FROM person WHERE age >= 18) AS x WHERE x.id = 7
//!
//! is   SELECT name FROM person WHERE age >= 18 AND id = 7
//! ```
//!
//! Others (with GROUP BY, DISTINCT, LIMIT, UNION) are computed: see `derived`.

use super::{
    Computed, Planner, SortKey,
    cte::{Common, CommonTable},
    from::{self, From, Part, TABLES_MAX},
    named::{At, MergedColumn, MergedView},
    needs::Noted,
    place::find_zero_dates,
    query::{Around, DEPTH_MAX, index_of, modifiers},
    scope::{Aliases, Mark, Outside, Selected},
    walk,
};
use crate::{
    error::SqlError,
    expr::{Expr, is_aggregate, is_repeatable, is_window_function},
    parse::Text,
};
use cohort_engine::{invariant::broken, types::View};
use sqlparser::ast::{self, Visit, Visitor};
use std::{ops::ControlFlow, rc::Rc, sync::Arc};

/// A text whose tables are to be read in its place.
pub(super) struct MergedText<'m> {
    /// What it is called.
    pub alias: &'m str,
    pub select: &'m ast::Select,
    pub order: &'m [ast::OrderByExpr],
    pub of: TextOf<'m>,
}

/// What such a text is of.
pub(super) enum TextOf<'m> {
    View(&'m Arc<View>, &'m Rc<Noted>),
    /// A derived table, with the names of its columns.
    Derived(&'m ast::TableAlias),
    /// A common table expression that sees nothing of the blocks around it.
    Common(&'m ast::TableAlias),
}

/// What a merged text brings beside its tables.
struct Brought {
    columns: Vec<MergedColumn>,
    /// Its WHERE.
    conditions: Vec<Expr>,
    order: Vec<SortKey>,
}

impl Planner<'_> {
    /// The part of the join that a derived table is, if its tables can be read in its place.
    pub(super) fn merge_derived(
        &mut self,
        query: &ast::Query,
        alias: &ast::TableAlias,
        from: &mut From,
    ) -> Result<Option<Part>, SqlError> {
        let Some((select, order)) = self.mergeable(query) else {
            return Ok(None);
        };
        if self.unmerged.has(&alias.name.value) {
            return Ok(None);
        }
        let text = MergedText {
            alias: &alias.name.value,
            select,
            order,
            of: TextOf::Derived(alias),
        };
        self.names().check_unique(text.alias, "")?;
        self.merge(&text, from)
    }

    /// The same for the common table expression at this position of those in scope.
    pub(super) fn merge_common(
        &mut self,
        at: usize,
        alias: Option<&str>,
        from: &mut From,
    ) -> Result<Option<Part>, SqlError> {
        let Some(cte) = self.common.get(at).and_then(|common| common.text.clone()) else {
            return Ok(None);
        };
        let Some((select, order)) = self.mergeable(&cte.query) else {
            return Ok(None);
        };
        let text = MergedText {
            alias: alias.unwrap_or(&cte.alias.name.value),
            select,
            order,
            of: TextOf::Common(&cte.alias),
        };
        if self.unmerged.has(text.alias) {
            return Ok(None);
        }
        self.names().check_unique(text.alias, "")?;
        // It names those that were defined before it.
        let later = self.common.split_off(at);
        // What it names was noted where it is defined.
        let uses = self.tables.len();
        let merged = self.merge(&text, from);
        self.tables.truncate(uses);
        self.common.truncate(at);
        self.common.extend(later);
        merged
    }

    /// The SELECT and the order of a query whose tables can be read in the place of its rows, as far as
    /// that can be told of its text.
    pub(super) fn mergeable<'q>(
        &self,
        query: &'q ast::Query,
    ) -> Option<(&'q ast::Select, &'q [ast::OrderByExpr])> {
        let recurs = |common: &CommonTable| !matches!(common.table, Common::Defined(..));
        if !self.merging || self.common.iter().any(recurs) {
            return None;
        }
        let (select, around) = plain_select(query, self.text)?;
        if self.stays.contains(&std::ptr::from_ref(select).addr()) {
            return None;
        }
        let (_, count_all) = modifiers(select.select_modifiers.as_ref());
        let by_nothing = match &select.group_by {
            ast::GroupByExpr::Expressions(keys, modifiers) => {
                keys.is_empty() && modifiers.is_empty()
            }
            ast::GroupByExpr::All(_) => false,
        };
        let is_plain = by_nothing
            && !count_all
            && !select.from.is_empty()
            && select.having.is_none()
            && select.named_window.is_empty()
            && around.limit.is_none()
            && around.locks.is_empty()
            && matches!(self.plain_select(select), Ok(false));
        let of_rows = select.projection.visit(&mut OfRows).is_break()
            || around
                .order
                .iter()
                .any(|key| key.visit(&mut OfRows).is_break());
        (is_plain && !of_rows).then_some((select, around.order))
    }

    /// Brings the tables of a text into the block. `None`: that would be something else, since they
    /// would be on the inner side of an outer join, where what is computed of them would be NULL; or
    /// what is computed must be computed once.
    pub(super) fn merge(
        &mut self,
        text: &MergedText<'_>,
        from: &mut From,
    ) -> Result<Option<Part>, SqlError> {
        let is_view = matches!(text.of, TextOf::View(..));
        // One that is computed takes two blocks; those around all and in the innermost one come on top.
        if !is_view && 2 * self.merged + self.stack.len() + 3 >= 2 * DEPTH_MAX {
            return Err(SqlError::too_high_level_of_nesting());
        }
        let begin = from.leaves.len();
        let before = Before::of(self, from);
        let names = self.names();
        names.factors += factors(&text.select.from);
        if !is_view && names.factors > TABLES_MAX {
            names.factors = before.factors;
            return Ok(None);
        }
        let (within, visible) = (names.within, names.visible.clone());
        let (outside, clause, aliases) = (names.outside, names.clause, names.aliases);
        let elsewhere = names.elsewhere;
        names.texts += 1;
        (names.within, names.visible) = (names.texts, begin..usize::MAX);
        names.aliases = Aliases::No;
        let own = names.within;
        // What is beyond the block around a derived table is beyond this one.
        if !matches!(text.of, TextOf::Derived(_)) {
            (names.outside, names.elsewhere) = (Outside::Nothing, true);
        }
        self.merged += usize::from(!is_view);
        let brought = self.brought(text, from);
        self.merged -= usize::from(!is_view);
        let names = self.names();
        (names.within, names.visible) = (within, visible);
        (names.outside, names.elsewhere) = (outside, elsewhere);
        (names.clause, names.aliases) = (clause, aliases);
        let Brought {
            columns,
            conditions,
            order,
        } = brought?;
        let is_column = |column: &MergedColumn| walk::slot(&column.expr).is_some();
        let mut computed = columns.iter().map(|column| &column.expr).chain(&conditions);
        let must_stay = !is_view && (from.leaves.len() == begin || !computed.all(is_repeatable));
        if must_stay || names.inner && !columns.iter().all(is_column) {
            before.restore(self, from);
            // A common table expression is compiled already, and may stand elsewhere, too.
            if matches!(text.of, TextOf::Derived(_)) {
                self.stays.insert(std::ptr::from_ref(text.select).addr());
            }
            return Ok(None);
        }
        let leaves = begin..from.leaves.len();
        from.conditions.extend(conditions.iter().cloned());
        if !order.is_empty() {
            from.order = Some((leaves.clone(), order));
        }
        let star = (0..columns.len()).map(|column| At::View(names.views.len(), column));
        let part = Part {
            leaves: leaves.clone(),
            conditions: before.conditions,
            star: star.collect(),
        };
        let (view, noted) = match text.of {
            TextOf::View(view, noted) => (Some(Arc::clone(view)), Some(Rc::clone(noted))),
            TextOf::Derived(_) | TextOf::Common(_) => (None, None),
        };
        names.views.push(MergedView {
            alias: text.alias.to_string(),
            view,
            columns,
            leaves,
            within,
            text: own,
            conditions,
            noted,
        });
        Ok(Some(part))
    }

    /// The FROM, the WHERE, the columns and the order of a text.
    fn brought(&mut self, text: &MergedText<'_>, from: &mut From) -> Result<Brought, SqlError> {
        let (straight, _) = modifiers(text.select.select_modifiers.as_ref());
        from.straight |= straight;
        let mut star = Vec::new();
        self.with_hints(
            index_of(&text.select.select_token),
            from,
            |planner, from| {
                for table in &text.select.from {
                    star.extend(planner.joined(table, from)?.star);
                }
                Ok(())
            },
        )?;
        let mut conditions = self.conditions(text.select.selection.as_ref())?;
        for condition in &mut conditions {
            find_zero_dates(condition, from, self.names());
        }
        self.names().clause = "field list";
        let selected = std::mem::replace(&mut self.names().select, Selected::none());
        let columns = match text.of {
            TextOf::View(view, _) => self.columns_of_view(view, text.select),
            TextOf::Derived(alias) | TextOf::Common(alias) => {
                self.columns_of_text(text.select, &star, alias)
            }
        };
        // What is selected orders the rows by its name.
        let order = columns.and_then(|columns| {
            let names = self.names();
            let output = columns.iter().map(|column| names.wrap(column.expr.clone()));
            let output: Vec<Computed> = output.collect();
            let order = self.order_by(text.order, &output, false)?;
            Ok((columns, order))
        });
        self.names().select = selected;
        let (columns, order) = order?;
        Ok(Brought {
            columns,
            conditions,
            order,
        })
    }

    /// The columns of a view, which are those that it had when it was made.
    fn columns_of_view(
        &mut self,
        view: &View,
        select: &ast::Select,
    ) -> Result<Vec<MergedColumn>, SqlError> {
        let mut columns = Vec::with_capacity(view.columns.len());
        let mut items = Vec::with_capacity(view.columns.len());
        for (item, name) in select.projection.iter().zip(&view.columns) {
            let (ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. }) =
                item
            else {
                return Err(SqlError::view_invalid(&view.database, &view.name));
            };
            // It is read if the column is.
            let outer = self.names().captured.replace(Some(Vec::new()));
            let computed = self.computed(expr);
            let reads = self.names().captured.replace(outer);
            let computed = computed?;
            let reads = reads.ok_or_else(|| broken("what a view's column reads is noted"))?;
            if let ast::SelectItem::ExprWithAlias { alias, .. } = item {
                items.push((alias.value.clone(), computed.expr.clone()));
            }
            columns.push(MergedColumn {
                name: name.clone(),
                expr: computed.expr,
                hidden: false,
                reads,
            });
        }
        if columns.len() != select.projection.len() || columns.len() != view.columns.len() {
            return Err(SqlError::view_invalid(&view.database, &view.name));
        }
        self.names().select.items = items;
        Ok(columns)
    }

    /// The columns of a derived table or common table expression.
    fn columns_of_text(
        &mut self,
        select: &ast::Select,
        star: &[At],
        alias: &ast::TableAlias,
    ) -> Result<Vec<MergedColumn>, SqlError> {
        let token = index_of(&select.select_token);
        let (output, named) = self.projection(token, &select.projection, Some(star))?;
        let names = from::derived_names(alias, named)?;
        let columns = names
            .into_iter()
            .zip(output)
            .map(|(name, computed)| MergedColumn {
                name,
                expr: computed.expr,
                hidden: false,
                reads: Vec::new(),
            });
        Ok(columns.collect())
    }
}

/// What there was before a text was merged.
struct Before {
    leaves: usize,
    groups: usize,
    conditions: usize,
    straight: bool,
    subqueries: usize,
    searches: usize,
    factors: usize,
    noted: Mark,
}

impl Before {
    fn of(planner: &mut Planner<'_>, from: &From) -> Before {
        Before {
            leaves: from.leaves.len(),
            groups: from.groups.len(),
            conditions: from.conditions.len(),
            straight: from.straight,
            subqueries: planner.names().subqueries.len(),
            searches: planner.names().searches.len(),
            factors: planner.names().factors,
            noted: planner.mark(),
        }
    }

    /// Takes a text out again. The slots of its tables stay, and nothing is in them.
    fn restore(self, planner: &mut Planner<'_>, from: &mut From) {
        let names = planner.names();
        names.tables.truncate(self.leaves);
        names.subqueries.truncate(self.subqueries);
        names.searches.truncate(self.searches);
        names.views.retain(|view| view.leaves.start < self.leaves);
        names.factors = self.factors;
        from.leaves.truncate(self.leaves);
        from.groups.truncate(self.groups);
        from.conditions.truncate(self.conditions);
        from.straight = self.straight;
        // A text below it may have had one.
        from.order = None;
        planner.back_to(self.noted);
    }
}

/// The SELECT that a query is, with its order, if it is nothing else.
pub(super) fn plain_select<'q>(
    query: &'q ast::Query,
    text: &Text<'_>,
) -> Option<(&'q ast::Select, Around<'q>)> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    if query.with.is_some() {
        return None;
    }
    Some((select, Around::of(query, text).ok()?))
}

/// How many tables a FROM names.
pub(super) fn factors(from: &[ast::TableWithJoins]) -> usize {
    let of_factor = |factor: &ast::TableFactor| match factor {
        ast::TableFactor::NestedJoin {
            table_with_joins, ..
        } => factors(std::slice::from_ref(table_with_joins)),
        _ => 1,
    };
    let of_joins = |table: &ast::TableWithJoins| {
        let joined = table.joins.iter().map(|join| of_factor(&join.relation));
        of_factor(&table.relation) + joined.sum::<usize>()
    };
    from.iter().map(of_joins).sum()
}

/// Breaks at what is computed of more than one row: calls of aggregate and window functions, subqueries.
struct OfRows;

impl Visitor for OfRows {
    type Break = ();

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        let ast::Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        let name = function.name.to_string().to_ascii_lowercase();
        let of_rows = is_aggregate(&name) || is_window_function(&name);
        match function.over.is_some() || of_rows {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
