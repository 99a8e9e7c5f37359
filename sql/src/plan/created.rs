//! CREATE TABLE … SELECT: what the columns of a query are made of, and filling the new table.

use super::{
    Block, Body, Input, Insert, InsertRows, Plan, Planner, Query, TableUse,
    dml::check_assigned,
    scope::{Names, Outside},
};
use crate::{
    error::SqlError,
    expr::{Expr, ExprType, for_column},
    output::ColumnMeta,
};
use cohort_engine::types::{Column, Table};
use sqlparser::ast;
use std::sync::Arc;

/// A column of a query, as CREATE TABLE … SELECT makes a table's column of it.
#[derive(Clone, Debug)]
pub struct SelectedColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ExprType,
    /// What it is made of.
    pub origin: ColumnOrigin,
}

/// What a column of a query is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnOrigin {
    /// It is a column of a stored table, all of whose definition counts.
    Stored(Box<Column>),
    /// It is a column of a view or derived table that is such a column, whose tables are read in its
    /// place: of its definition the type counts, and the comment.
    Derived(Box<Column>),
    /// It is a column of several queries together, or of a function whose result has the type of
    /// its arguments.
    Typed,
    /// It is computed by a function or operator.
    Computed,
    /// It is something else: a literal, a subquery, a variable.
    Other,
}

impl ColumnOrigin {
    /// That of an expression that is no column.
    pub(crate) fn of_computed(expr: &Expr) -> ColumnOrigin {
        match expr {
            Expr::Case { .. } => ColumnOrigin::Typed,
            Expr::Function { function, .. } if TYPED.contains(&function.name) => {
                ColumnOrigin::Typed
            }
            Expr::Binary { .. }
            | Expr::Negate { .. }
            | Expr::Not(_)
            | Expr::BitNot(_)
            | Expr::In { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::InArray(_)
            | Expr::IsNull { .. }
            | Expr::IsTruth { .. }
            | Expr::Cast { .. }
            | Expr::Function { .. } => ColumnOrigin::Computed,
            Expr::Column { .. }
            | Expr::Literal(..)
            | Expr::Parameter { .. }
            | Expr::UserVariable { .. }
            | Expr::SetUserVariable { .. }
            | Expr::SystemVariable { .. } => ColumnOrigin::Other,
        }
    }
}

/// A table that is filled while it is made.
pub struct Filling {
    /// The table.
    pub table: Arc<Table>,
    /// Where the columns of the query go.
    pub columns: Vec<usize>,
    /// IGNORE.
    pub ignore: bool,
    /// REPLACE.
    pub replace: bool,
}

/// Functions whose result has the type of their arguments.
const TYPED: [&str; 5] = ["coalesce", "greatest", "if", "ifnull", "least"];

impl Plan {
    /// The columns of a query; `None`: it is none.
    #[must_use]
    pub fn selected_columns(&self) -> Option<Vec<SelectedColumn>> {
        let Body::Select(query) = &self.body else {
            return None;
        };
        Some(columns_of(query, &self.columns))
    }
    /// Whether it locks rows of stored tables to change them: the first of these tables.
    #[must_use]
    pub fn locked_table(&self) -> Option<&Arc<Table>> {
        let mut tables = self.tables.iter();
        tables.find(|used| used.writes).map(|used| &used.table)
    }
}

/// The columns of a query.
pub(super) fn columns_of(query: &Query, metas: &[ColumnMeta]) -> Vec<SelectedColumn> {
    let columns = metas.iter().zip(&query.types).enumerate();
    let columns = columns.map(|(position, (meta, ty))| SelectedColumn {
        name: meta.name.clone(),
        ty: *ty,
        origin: query.origin(position),
    });
    columns.collect()
}

impl Query {
    /// What one of its columns is made of.
    fn origin(&self, position: usize) -> ColumnOrigin {
        let [block] = self.blocks.as_slice() else {
            return ColumnOrigin::Typed;
        };
        let output = block.output.get(position);
        output.map_or(ColumnOrigin::Other, |output| block.origin(&output.expr))
    }
}

impl Block {
    fn origin(&self, expr: &Expr) -> ColumnOrigin {
        match expr {
            Expr::Column { slot, .. } => self.origin_of_slot(*slot as usize),
            other => ColumnOrigin::of_computed(other),
        }
    }
    fn origin_of_slot(&self, slot: usize) -> ColumnOrigin {
        let is_in = |first: usize, columns: usize| slot >= first && slot < first + columns;
        let mut sources = self.sources.iter();
        let source = sources.find(|source| is_in(source.first_slot, source.columns));
        let Some(source) = source else {
            let mut subqueries = self.subqueries.iter();
            return match subqueries.any(|subquery| subquery.slots.contains(&slot)) {
                true => ColumnOrigin::Other,
                // An aggregate or window function.
                false => ColumnOrigin::Typed,
            };
        };
        let position = slot - source.first_slot;
        match &source.input {
            Input::Table(table, _) | Input::Virtual(table) => {
                let column = table.columns.get(position).map(|column| {
                    Box::new(Column {
                        // It tells of other rows.
                        histogram: None,
                        ..column.clone()
                    })
                });
                match column {
                    Some(column) if source.merged => ColumnOrigin::Derived(column),
                    Some(column) => ColumnOrigin::Stored(column),
                    None => ColumnOrigin::Other,
                }
            }
            Input::Derived(derived, _) => derived.query.origin(position),
            Input::Json(table) => match table.columns.get(position) {
                Some(column) => ColumnOrigin::Stored(Box::new(column.clone())),
                None => ColumnOrigin::Other,
            },
            Input::Working(_) => ColumnOrigin::Typed,
        }
    }
}

impl Planner<'_> {
    /// The INSERT of a query into the table that is made for it.
    pub(super) fn fill(
        &mut self,
        query: &ast::Query,
        filling: &Filling,
    ) -> Result<Insert, SqlError> {
        let Filling {
            table,
            columns,
            ignore,
            replace,
        } = filling;
        for column in columns {
            check_assigned(table, *column, None)?;
        }
        self.tables.push(TableUse {
            table: Arc::clone(table),
            alias: table.name.clone(),
            writes: true,
            implied: false,
        });
        self.stack.push(Names::new(Outside::Nothing));
        let selected = self.query(query);
        self.stack.pop();
        let (mut selected, _) = selected?;
        if let [block] = selected.blocks.as_mut_slice() {
            for (output, &column) in block.output.iter_mut().zip(columns) {
                if let Some(column) = table.columns.get(column) {
                    let expr = std::mem::replace(&mut output.expr, Expr::null());
                    output.expr = for_column(column, expr);
                }
            }
        }
        Ok(Insert {
            columns: columns.clone(),
            rows: InsertRows::Query(Box::new(selected)),
            ignore: *ignore,
            replace: *replace,
            on_duplicate: None,
            defaults: self.defaults(table)?,
            per_row: 0,
            block: Block::default(),
            returning: None,
            table: Arc::clone(table),
        })
    }
}
