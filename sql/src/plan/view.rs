//! Views in FROM.
//!
//! A view whose rows are rows of tables is merged: its tables become tables of the block that names
//! it, its WHERE becomes conditions of that block, and its columns stand for what they are. So a
//! condition on a column of the view finds its way to an index. Example:
//!
//! ```text
//! CREATE VIEW adult AS SELECT id, name FROM person WHERE age >= 18
//!
//! SELECT name FROM adult WHERE id = 7     is     SELECT name FROM person WHERE age >= 18 AND id = 7
//! ```
//!
//! Others (with GROUP BY, DISTINCT, LIMIT, UNION, and those that want it) are computed, as a derived
//! table is. The text of a view is compiled for its author's settings, and sees nothing of the
//! statement that names it.

use super::{
    CompileContext, Derived, PlanSettings, Planner, SortKey, ViewUse,
    from::{From, Leaf, LeafInput, Part},
    named::{At, MergedColumn, MergedView},
    needs::Noted,
    query::Around,
    scope::{Aliases, Outside},
    walk,
};
use crate::{
    error::SqlError,
    expr::{Expr, SqlMode, is_repeatable},
    lexer::Mode,
    parse::{self, Parsed},
};
use cohort_engine::{
    invariant::broken,
    types::{View, ViewAlgorithm},
};
use sqlparser::ast;
use std::{rc::Rc, sync::Arc};

/// How deep views of views may be.
const DEPTH_MAX: usize = 60;

/// What errors a view has when something is gone that it was made of.
const INVALID: [u16; 8] = [1049, 1052, 1054, 1109, 1146, 1176, 1305, 1356];

/// What a merged view brings beside its tables.
struct MergedText {
    columns: Vec<MergedColumn>,
    /// Its WHERE.
    conditions: Vec<Expr>,
    order: Vec<SortKey>,
}

impl Planner<'_> {
    /// The view that a name stands for, if it is one.
    pub(super) fn view_named(&self, name: &ast::ObjectName) -> Option<Arc<View>> {
        let parts = name.0.iter().filter_map(|part| part.as_ident());
        let parts: Vec<&str> = parts.map(|ident| ident.value.as_str()).collect();
        let (database, view) = match parts.as_slice() {
            [_] if self.common_table(name).is_some() => return None,
            [view] => (self.context.settings.database, *view),
            [database, view] => (*database, *view),
            _ => return None,
        };
        let dictionary = self.context.dictionary;
        match dictionary.table(database, view) {
            Some(_) => None,
            None => {
                let stored = dictionary.view(database, view).cloned();
                stored.or_else(|| self.context.virtual_tables.view(database, view))
            }
        }
    }

    /// A view in FROM.
    pub(super) fn view_part(
        &mut self,
        view: &Arc<View>,
        alias: Option<&str>,
        from: &mut From,
    ) -> Result<Part, SqlError> {
        let alias = alias.unwrap_or(&view.name).to_string();
        self.names().check_unique(&alias, &view.database)?;
        if self.within_views.is_empty() {
            self.views.push(ViewUse {
                view: Arc::clone(view),
                alias: alias.clone(),
                writes: false,
            });
        }
        let noted = self.note_named(&view.database, &view.name);
        let part = self.inside(view, |planner, query| match plain_select(query) {
            Some((select, around))
                if view.mergeable && view.algorithm != ViewAlgorithm::TempTable =>
            {
                let merged = planner.merge(view, (select, &around), (&alias, &noted), from)?;
                match merged {
                    Some(part) => Ok(part),
                    None => planner.computed_view(view, query, (&alias, &noted), from),
                }
            }
            _ => planner.computed_view(view, query, (&alias, &noted), from),
        });
        part.map_err(|error| gone(view, error))
    }

    /// A view whose rows are computed before they are read.
    fn computed_view(
        &mut self,
        view: &View,
        query: &ast::Query,
        (alias, noted): (&str, &Rc<Noted>),
        from: &mut From,
    ) -> Result<Part, SqlError> {
        let compile = |planner: &mut Self| planner.query(query);
        let (table, _) = self.derived(Outside::Nothing, compile)?;
        let types = table.query.types.iter().map(|ty| ty.of_derived());
        if types.len() != view.columns.len() {
            return Err(SqlError::view_invalid(&view.database, &view.name));
        }
        let columns = view.columns.iter().cloned().zip(types).collect();
        let database = view.database.clone();
        let names = self.names();
        let at = names.add_table(alias.to_string(), database, None, columns)?;
        if let Some(named) = names.tables.get_mut(at) {
            named.own_name = alias == view.name;
            named.noted = Some(Rc::clone(noted));
        }
        from.leaves.push(Leaf {
            input: LeafInput::Derived(Arc::new(Derived::new(table.query, None)), Vec::new()),
            lock: None,
            hints: Vec::new(),
        });
        Ok(self.part(at, from))
    }

    /// Brings the tables of a view into the block. `None`: that would be something else, since they
    /// would be on the inner side of an outer join, where what is computed of them would be NULL.
    fn merge(
        &mut self,
        view: &Arc<View>,
        (select, around): (&ast::Select, &Around<'_>),
        (alias, noted): (&str, &Rc<Noted>),
        from: &mut From,
    ) -> Result<Option<Part>, SqlError> {
        let begin = from.leaves.len();
        let conditions_before = from.conditions.len();
        let (groups, mark) = (from.groups.len(), self.mark());
        let subqueries = self.names().subqueries.len();
        let names = self.names();
        let (within, visible) = (names.within, names.visible.clone());
        let (outside, clause, aliases) = (names.outside, names.clause, names.aliases);
        names.texts += 1;
        let text = names.texts;
        (names.within, names.visible) = (text, begin..usize::MAX);
        (names.outside, names.aliases) = (Outside::Nothing, Aliases::No);
        let straight = from.straight;
        let merged = self.merged_text(view, select, around, from);
        let names = self.names();
        (names.within, names.visible) = (within, visible);
        (names.outside, names.clause, names.aliases) = (outside, clause, aliases);
        let MergedText {
            columns,
            conditions,
            order,
        } = merged?;
        let is_column = |column: &MergedColumn| walk::slot(&column.expr).is_some();
        if names.inner && !columns.iter().all(is_column) {
            // Their slots stay, and nothing is in them.
            names.tables.truncate(begin);
            names.subqueries.truncate(subqueries);
            names.views.retain(|view| view.leaves.start < begin);
            from.leaves.truncate(begin);
            from.groups.truncate(groups);
            from.conditions.truncate(conditions_before);
            from.straight = straight;
            // A view below it may have had one.
            from.order = None;
            self.back_to(mark);
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
            conditions: conditions_before,
            star: star.collect(),
        };
        names.views.push(MergedView {
            alias: alias.to_string(),
            view: Arc::clone(view),
            columns,
            leaves,
            within,
            text,
            conditions,
            noted: Some(Rc::clone(noted)),
        });
        Ok(Some(part))
    }

    /// The FROM, the WHERE, the columns and the order of a view's text.
    fn merged_text(
        &mut self,
        view: &View,
        select: &ast::Select,
        around: &Around<'_>,
        from: &mut From,
    ) -> Result<MergedText, SqlError> {
        from.straight |= select
            .select_modifiers
            .as_ref()
            .is_some_and(|modifiers| modifiers.straight_join);
        for table in &select.from {
            self.joined(table, from)?;
        }
        let conditions = self.conditions(select.selection.as_ref())?;
        self.names().clause = "field list";
        let mut columns = Vec::with_capacity(view.columns.len());
        let mut output = Vec::with_capacity(view.columns.len());
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
            columns.push(MergedColumn {
                name: name.clone(),
                expr: computed.expr.clone(),
                hidden: false,
                reads,
            });
            if let ast::SelectItem::ExprWithAlias { alias, .. } = item {
                items.push((alias.value.clone(), computed.expr.clone()));
            }
            output.push(computed);
        }
        if columns.len() != select.projection.len() || columns.len() != view.columns.len() {
            return Err(SqlError::view_invalid(&view.database, &view.name));
        }
        // What is selected orders the rows by its name.
        let before = std::mem::replace(&mut self.names().select.items, items);
        let order = self.order_by(around.order, &output, false);
        self.names().select.items = before;
        let order = order?;
        Ok(MergedText {
            columns,
            conditions,
            order,
        })
    }

    /// Compiles something of the text of a view, which sees nothing of what names it.
    pub(super) fn inside<R>(
        &mut self,
        view: &Arc<View>,
        work: impl FnOnce(&mut Planner<'_>, &ast::Query) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let is_it = |other: &Arc<View>| other.database == view.database && other.name == view.name;
        if self.within_views.iter().any(is_it) {
            return Err(SqlError::view_recursion(&view.database, &view.name));
        }
        if self.within_views.len() >= DEPTH_MAX {
            return Err(SqlError::too_high_level_of_nesting());
        }
        let context = CompileContext {
            settings: view_settings(view, &self.context.settings),
            dictionary: self.context.stored,
            parameters: &[],
            ..*self.context
        };
        let source = view.query.text.as_bytes();
        parse::parse(source, Mode::default(), None, |parsed| {
            let ast::Statement::Query(query) = &parsed.statement else {
                return Err(SqlError::view_invalid(&view.database, &view.name));
            };
            let mut inner = self.lend(&context, parsed);
            inner.within_views.push(Arc::clone(view));
            let result = work(&mut inner, query);
            inner.within_views.pop();
            self.take_back(inner);
            result
        })
    }

    /// A planner for another text, which goes on with what this one has in hand.
    fn lend<'b>(&mut self, context: &'b CompileContext<'b>, parsed: &'b Parsed<'b>) -> Planner<'b> {
        use std::mem::take;
        Planner {
            context,
            text: &parsed.text,
            json_tables: &parsed.json_tables,
            tables: take(&mut self.tables),
            views: take(&mut self.views),
            within_views: take(&mut self.within_views),
            sizes: take(&mut self.sizes),
            weighed: self.weighed,
            exists_at: self.exists_at,
            virtual_tables: take(&mut self.virtual_tables),
            stack: take(&mut self.stack),
            recursions: self.recursions,
            deepest: self.deepest,
            nested: self.nested,
            user_variables: take(&mut self.user_variables),
            view_demands: take(&mut self.view_demands),
            noted: take(&mut self.noted),
            standing: self.standing,
            literals: take(&mut self.literals),
            conversions: take(&mut self.conversions),
            // What follows is the text's own.
            warnings: Vec::new(),
            parameters: 0,
            lifted: false,
            taken: Vec::new(),
            common: Vec::new(),
            moved: 0,
            named_itself: false,
            meanings: None,
        }
    }

    fn take_back(&mut self, inner: Planner<'_>) {
        let Planner {
            context: _,
            text: _,
            json_tables: _,
            tables,
            views,
            within_views,
            sizes,
            weighed,
            virtual_tables,
            stack,
            recursions,
            deepest,
            nested,
            user_variables,
            view_demands,
            noted,
            standing: _,
            literals,
            conversions,
            // Whoever made the view was warned.
            warnings: _,
            parameters: _,
            lifted: _,
            exists_at: _,
            taken: _,
            common: _,
            moved: _,
            named_itself: _,
            meanings: _,
        } = inner;
        self.tables = tables;
        self.views = views;
        self.within_views = within_views;
        self.sizes = sizes;
        self.weighed = weighed;
        self.virtual_tables = virtual_tables;
        self.stack = stack;
        self.recursions = recursions;
        self.deepest = deepest;
        self.nested = nested;
        self.user_variables = user_variables;
        self.view_demands = view_demands;
        self.noted = noted;
        self.literals = literals;
        self.conversions = conversions;
    }
}

/// 1356 for errors that come of what a view was made of being gone.
pub(super) fn gone(view: &View, error: SqlError) -> SqlError {
    match INVALID.contains(&error.code) {
        true => SqlError::view_invalid(&view.database, &view.name),
        false => error,
    }
}

/// The settings that the text of a view is compiled for.
pub(super) fn view_settings<'v>(view: &'v View, session: &PlanSettings<'v>) -> PlanSettings<'v> {
    PlanSettings {
        database: &view.database,
        collation: view.collation_connection,
        sql_mode: without_reading(session.sql_mode),
        ..*session
    }
}

/// An sql_mode without what it says about how texts are read.
fn without_reading(mode: SqlMode) -> SqlMode {
    let reading = SqlMode::PIPES_AS_CONCAT.with(SqlMode::REAL_AS_FLOAT);
    SqlMode(mode.0 & !reading.0)
}

/// The SELECT that a query is, with its order, if it is nothing else.
fn plain_select(query: &ast::Query) -> Option<(&ast::Select, Around<'_>)> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    if query.with.is_some() {
        return None;
    }
    let order: &[ast::OrderByExpr] = match &query.order_by {
        None => &[],
        Some(ast::OrderBy {
            kind: ast::OrderByKind::Expressions(keys),
            interpolate: _,
        }) => keys,
        Some(_) => return None,
    };
    let around = Around {
        order,
        ..Around::default()
    };
    Some((select, around))
}

/// Whether a view of this block can be merged: its rows are rows of tables, and what it computes of
/// them can be computed wherever it is named.
pub(super) fn is_mergeable(block: &super::Block) -> bool {
    let plain = block.grouping.is_none()
        && block.windowing.is_none()
        && block.having.is_none()
        && block.limit.is_none()
        && !block.distinct
        && !block.count_all
        && !block.sources.is_empty();
    let mut output = block.output.iter();
    plain && output.all(|item| item.subqueries.is_empty() && is_repeatable(&item.expr))
}
