//! Views in FROM.
//!
//! A view whose rows are rows of tables is merged (see `merge`). Others (with GROUP BY, DISTINCT, LIMIT,
//! UNION, and those that want it) are computed, as a derived table is. The text of a view is compiled for
//! its author's settings, and sees nothing of the statement that names it.

use super::{
    CompileContext, PlanSettings, Planner, ViewUse,
    from::{From, Leaf, Part},
    hints::{BlockHints, Unmerged},
    merge::{MergedText, TextOf, plain_select},
    needs::Noted,
    push::TextAgain,
    scope::Outside,
};
use crate::{
    error::SqlError,
    expr::{SqlMode, is_repeatable},
    lexer::Mode,
    parse::{self, Parsed},
};
use cohort_engine::types::{View, ViewAlgorithm};
use rustc_hash::FxHashSet;
use sqlparser::ast;
use std::{rc::Rc, sync::Arc};

/// How deep views of views may be.
const DEPTH_MAX: usize = 60;

/// What errors a view has when something is gone that it was made of.
const INVALID: [u16; 8] = [1049, 1052, 1054, 1109, 1146, 1176, 1305, 1356];

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
        let merges = view.mergeable
            && view.algorithm != ViewAlgorithm::TempTable
            && !self.unmerged.has(&alias);
        let part = self.inside(view, |planner, query| {
            match plain_select(query, planner.text) {
                Some((select, around)) if merges => {
                    let text = MergedText {
                        alias: &alias,
                        select,
                        order: around.order,
                        of: TextOf::View(view, &noted),
                    };
                    match planner.merge(&text, from)? {
                        Some(part) => Ok(part),
                        None => planner.computed_view(view, query, (&alias, &noted), from),
                    }
                }
                _ => planner.computed_view(view, query, (&alias, &noted), from),
            }
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
        // The view itself is the only one.
        let again = match self.within_views.as_slice() {
            [only] => {
                let view = Arc::clone(only);
                self.kept_text(|| TextAgain::View(view))
            }
            _ => None,
        };
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
            again,
            ..Leaf::of_derived(table)
        });
        Ok(self.part(at, from))
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
            changing: self.changing,
            varying: self.varying,
            virtual_tables: take(&mut self.virtual_tables),
            stack: take(&mut self.stack),
            recursions: self.recursions,
            deepest: self.deepest,
            nested: self.nested,
            user_variables: take(&mut self.user_variables),
            view_demands: take(&mut self.view_demands),
            noted: take(&mut self.noted),
            standing: self.standing,
            shares: self.shares,
            hints: BlockHints::of(&parsed.text, &mut Vec::new()),
            unmerged: Unmerged::None,
            literals: take(&mut self.literals),
            conversions: take(&mut self.conversions),
            // What follows is the text's own.
            warnings: Vec::new(),
            parameters: 0,
            merging: self.merging,
            stays: FxHashSet::default(),
            merged: self.merged,
            compiled_again: self.compiled_again,
            lifted: false,
            taken: Vec::new(),
            common: Vec::new(),
            moved: 0,
            named_itself: false,
            meanings: None,
            innermost_named: None,
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
            changing,
            varying,
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
            merging: _,
            stays: _,
            merged: _,
            compiled_again,
            lifted: _,
            exists_at: _,
            taken: _,
            common: _,
            moved: _,
            named_itself: _,
            meanings: _,
            shares: _,
            hints: _,
            unmerged: _,
            innermost_named: _,
        } = inner;
        self.tables = tables;
        self.views = views;
        self.within_views = within_views;
        self.sizes = sizes;
        self.compiled_again = compiled_again;
        self.weighed = weighed;
        self.changing = changing;
        self.varying = varying;
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
