//! What CREATE VIEW keeps of a query.

use super::{
    Block, Combined, CompileContext, Input, Planner, Query, SelectedColumn, TableUse,
    created::columns_of,
    meaning::Meanings,
    view::{is_mergeable, view_settings},
    walk,
};
use crate::{
    error::SqlError,
    expr_text,
    lexer::Mode,
    parse::{self, Parsed},
};
use cohort_engine::types::{TableId, View, ViewQuery};
use sqlparser::ast;
use std::sync::Arc;

/// What is known of a view when its query is compiled.
pub struct ViewDraft {
    /// The text that is kept.
    pub query: ViewQuery,
    /// The columns, by the names that the query gives them.
    pub columns: Vec<SelectedColumn>,
    /// Whether its tables can be read in its place.
    pub mergeable: bool,
    /// Whether its rows can be changed.
    pub updatable: bool,
    /// The stored tables it reads.
    pub tables: Vec<TableUse>,
    /// Its tables and views: databases and names.
    pub uses: Vec<(String, String)>,
    /// What is deprecated in it.
    pub warnings: Vec<SqlError>,
}

/// Compiles the query of a view: 1351 if it has parameters or variables. `replaced`: the view whose
/// place it takes, which it cannot be made of.
pub fn define_view(
    parsed: &Parsed<'_>,
    context: &CompileContext<'_>,
    week_format: u8,
    replaced: Option<&Arc<View>>,
) -> Result<ViewDraft, SqlError> {
    let ast::Statement::Query(query) = &parsed.statement else {
        return Err(SqlError::not_supported("this statement in a view"));
    };
    if !parsed.into.is_empty() {
        return Err(SqlError::view_with_into());
    }
    if parsed.parameters > 0 {
        return Err(SqlError::view_with_variable());
    }
    let mut planner = Planner::new(parsed, context, false);
    planner.meanings = Some(Meanings::default());
    planner.within_views.extend(replaced.cloned());
    let compiled = planner.top_query(query);
    let (plan, metas) = compiled.map_err(|error| match replaced {
        // It is gone as soon as there is the new one.
        Some(view) if error.code == SqlError::view_recursion("", "").code => {
            SqlError::no_such_table(&view.database, &view.name)
        }
        _ => error,
    })?;
    let meanings = planner.meanings.take().unwrap_or_default();
    let settings = &context.settings;
    let text = expr_text::canonical_query(
        query,
        &meanings,
        settings.collation,
        settings.sql_mode,
        week_format,
    )?;
    let mut columns = columns_of(&plan, &metas);
    for (at, column) in columns.iter_mut().enumerate() {
        column.name = expr_text::proper_name(&column.name, at + 1);
    }
    let block = only_block(&plan);
    let mergeable = query.with.is_none() && block.is_some_and(is_mergeable);
    Ok(ViewDraft {
        query: text,
        columns,
        mergeable,
        updatable: block.is_some_and(is_updatable),
        tables: planner.tables,
        uses: meanings.uses(),
        warnings: planner.warnings,
    })
}

/// Compiles the kept text of a view once more.
pub fn read_view(view: &View, context: &CompileContext<'_>) -> Result<ViewDraft, SqlError> {
    let context = CompileContext {
        settings: view_settings(view, &context.settings),
        dictionary: context.stored,
        parameters: &[],
        ..*context
    };
    let draft = parse::parse(
        view.query.text.as_bytes(),
        Mode::default(),
        None,
        |parsed| define_view(parsed, &context, 0, None),
    );
    draft.map_err(|error| super::view::gone(view, error))
}

fn only_block(query: &Query) -> Option<&Block> {
    match (&query.combined, query.blocks.as_slice()) {
        (Combined::Union { .. }, [block]) => Some(block),
        _ => None,
    }
}

/// Whether MySQL takes its rows for some that can be changed: a column is one of a table, there is no
/// outer join, and its conditions do not read its tables, too. (Of a derived table nothing can be
/// changed in the end.)
fn is_updatable(block: &Block) -> bool {
    let is_system = |source: &super::Source| matches!(source.input, Input::Virtual(_));
    let joined_outside = |source: &super::Source| source.outer_join.is_some();
    let mut sources = block.sources.iter();
    if !is_mergeable(block) || sources.any(|s| is_system(s) || joined_outside(s)) {
        return false;
    }
    let of_table = |slot: usize| {
        let mut sources = block.sources.iter();
        sources.any(|s| (s.first_slot..s.first_slot + s.columns).contains(&slot))
    };
    let mut output = block.output.iter();
    if !output.any(|item| walk::slot(&item.expr).is_some_and(of_table)) {
        return false;
    }
    let tables: Vec<TableId> = block
        .sources
        .iter()
        .filter_map(|source| match &source.input {
            Input::Table(table, _) => Some(table.id),
            Input::Virtual(_) | Input::Derived(..) | Input::Working(_) | Input::Json(_) => None,
        })
        .collect();
    let mut reads = false;
    for subquery in &block.subqueries {
        subquery.query.each_source(&mut |source| {
            if let Input::Table(table, _) = &source.input {
                reads |= tables.contains(&table.id);
            }
        });
    }
    !reads
}
