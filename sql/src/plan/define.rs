//! What CREATE VIEW keeps of a query.

use super::{
    Block, Combined, CompileContext, Input, Need, Planner, Query, SelectedColumn, TableUse,
    created::columns_of,
    needs::Standing,
    view::{is_mergeable, view_settings},
    walk,
};
use crate::{
    error::SqlError,
    expr_text::{self, Meanings},
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
    /// Whether one of its columns is nothing but a column of a table.
    pub has_table_column: bool,
    /// Whether its conditions read its own tables, too.
    pub reads_itself: bool,
    /// The stored tables it reads.
    pub tables: Vec<TableUse>,
    /// Its tables and views: databases and names.
    pub uses: Vec<(String, String)>,
    /// The privileges that its query needs.
    pub needs: Vec<Need>,
    /// What is deprecated in it.
    pub warnings: Vec<SqlError>,
}

/// Who names the columns of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// A list of columns, or the text that is kept.
    Text,
    /// Its query as it was written.
    Query,
}

/// Compiles the query of a view: 1351 if it has parameters or variables. `replaced`: the view whose
/// place it takes, which it cannot be made of.
pub fn define_view(
    parsed: &Parsed<'_>,
    context: &CompileContext<'_>,
    week_format: u8,
    replaced: Option<&Arc<View>>,
    named: NamedBy,
) -> Result<ViewDraft, SqlError> {
    let ast::Statement::Query(query) = &parsed.statement else {
        return Err(SqlError::not_supported("this statement in a view"));
    };
    if parsed.into != crate::parse::IntoSyntax::Client {
        return Err(SqlError::view_with_into());
    }
    if parsed.parameters > 0 {
        return Err(SqlError::view_with_variable());
    }
    let mut planner = Planner::new(parsed, context, false);
    planner.meanings = Some(Meanings::default());
    planner.within_views.extend(replaced.cloned());
    planner.standing = Standing::Defined;
    let compiled = planner.top_query(query);
    let (plan, metas) = compiled.map_err(|error| match replaced {
        // It is gone as soon as there is the new one.
        Some(view) if error.code == SqlError::view_recursion("", "").code => {
            SqlError::no_such_table(&view.database, &view.name)
        }
        _ => error,
    })?;
    let mut meanings = planner.meanings.take().unwrap_or_default();
    if named == NamedBy::Query {
        expr_text::tell_apart(query, &mut meanings);
    }
    let settings = &context.settings;
    let text = expr_text::canonical_query(
        query,
        &meanings,
        settings.collation,
        settings.sql_mode,
        week_format,
    )?;
    let mut columns = columns_of(&plan, &metas);
    let named = expr_text::names(query, &meanings);
    for (at, column) in columns.iter_mut().enumerate() {
        let name = named
            .and_then(|names| names.get(at))
            .unwrap_or(&column.name);
        column.name = expr_text::proper_name(name, at + 1);
    }
    let block = only_block(&plan);
    let mergeable = query.with.is_none() && block.is_some_and(is_mergeable);
    Ok(ViewDraft {
        query: text,
        columns,
        mergeable,
        updatable: block.is_some_and(|block| is_updatable(block, query, &planner)),
        has_table_column: block.is_some_and(has_table_column),
        reads_itself: block.is_some_and(reads_itself),
        needs: planner.needs_of_view(replaced),
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
        |parsed| define_view(parsed, &context, 0, None, NamedBy::Text),
    );
    draft.map_err(|error| super::view::gone(view, error))
}

fn only_block(query: &Query) -> Option<&Block> {
    match (&query.combined, query.blocks.as_slice()) {
        (Combined::Union { .. }, [block]) => Some(block),
        _ => None,
    }
}

/// Whether the rows of a view can be changed: no table of it is the inner one of an outer join, or a
/// view whose rows cannot be changed. (Of a derived table nothing can be changed in the end.)
fn is_updatable(block: &Block, query: &ast::Query, planner: &Planner<'_>) -> bool {
    let mut body = query.body.as_ref();
    while let ast::SetExpr::Query(inner) = body
        && inner.with.is_none()
    {
        body = inner.body.as_ref();
    }
    let ast::SetExpr::Select(select) = body else {
        return false;
    };
    let is_system = |source: &super::Source| matches!(source.input, Input::Virtual(_));
    let fixed = |table: &ast::TableWithJoins| is_fixed(table, planner);
    is_mergeable(block) && !block.sources.iter().any(is_system) && !select.from.iter().any(fixed)
}

/// Whether its conditions read one of its tables, too.
fn reads_itself(block: &Block) -> bool {
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
    reads
}

/// Whether there is an outer join in it, or a view whose rows cannot be changed.
fn is_fixed(table: &ast::TableWithJoins, planner: &Planner<'_>) -> bool {
    use ast::JoinOperator as J;
    let of_factor = |factor: &ast::TableFactor| match factor {
        ast::TableFactor::Table { name, .. } => {
            planner.view_named(name).is_some_and(|view| !view.updatable)
        }
        ast::TableFactor::NestedJoin {
            table_with_joins, ..
        } => is_fixed(table_with_joins, planner),
        _ => false,
    };
    let is_outer = |join: &ast::Join| {
        matches!(
            join.join_operator,
            J::Left(_) | J::LeftOuter(_) | J::Right(_) | J::RightOuter(_)
        )
    };
    let mut joins = table.joins.iter();
    of_factor(&table.relation) || joins.any(|join| is_outer(join) || of_factor(&join.relation))
}

/// Whether a column is one of a table.
fn has_table_column(block: &Block) -> bool {
    let of_table = |slot: usize| {
        let mut sources = block.sources.iter();
        sources.any(|s| (s.first_slot..s.first_slot + s.columns).contains(&slot))
    };
    let mut output = block.output.iter();
    output.any(|item| walk::slot(&item.expr).is_some_and(of_table))
}
