//! What tables demand of the rows that a statement inserts or updates, beside foreign keys: the
//! values of generated columns, and CHECK constraints.

use super::{PlanSettings, Relations};
use crate::{
    error::SqlError,
    expr::{Expr, for_column},
    row_expr::{self, Purpose, Settings},
};
use cohort_engine::types::{Table, TableId, View};
use std::{collections::BTreeMap, sync::Arc};

/// The demands of one table; slots are positions of columns.
#[derive(Debug, Default)]
pub struct TableDemands {
    /// The positions of its generated columns, in order, and what they are computed with.
    pub generated: Vec<(usize, Expr)>,
    /// The names and conditions of the CHECK constraints that are enforced, in the order in which
    /// they are looked at.
    pub checks: Vec<(String, Expr)>,
    /// Those of the views that the statement writes it through.
    pub views: Vec<ViewDemand>,
}

/// What WITH CHECK OPTION demands of a row.
#[derive(Debug)]
pub struct ViewDemand {
    /// The view.
    pub view: Arc<View>,
    /// What must hold.
    pub conditions: Vec<Expr>,
}

/// The demands of the tables whose rows a statement changes.
#[derive(Debug, Default)]
pub struct Demands(BTreeMap<TableId, TableDemands>);

impl Demands {
    /// Those of the tables that a statement itself changes, and of those that foreign keys make it
    /// change.
    pub fn of(relations: &Relations, settings: &PlanSettings<'_>) -> Result<Demands, SqlError> {
        let settings = Settings {
            collation: settings.collation,
            sql_mode: settings.sql_mode,
            div_precision_increment: settings.div_precision_increment,
            database: Some(settings.database).filter(|name| !name.is_empty()),
        };
        let mut demands = Demands::default();
        for table in relations.changed_tables() {
            if let Some(of_table) = TableDemands::of(table, settings)? {
                demands.0.insert(table.id, of_table);
            }
        }
        Ok(demands)
    }

    /// Adds that of a view which a table is written through.
    pub fn add(&mut self, table: TableId, demand: ViewDemand) {
        self.0.entry(table).or_default().views.push(demand);
    }

    /// Those of a table; `None`: it has none.
    #[must_use]
    pub fn of_table(&self, table: TableId) -> Option<&TableDemands> {
        self.0.get(&table)
    }
}

impl TableDemands {
    /// Those of a table; `None`: it has none.
    pub fn of(table: &Table, settings: Settings<'_>) -> Result<Option<TableDemands>, SqlError> {
        let row = &table.columns;
        let mut generated = Vec::new();
        for (position, column) in row.iter().enumerate() {
            if let Some(computed) = &column.generated {
                let purpose = Purpose::Generated(&column.name);
                let value = row_expr::compile(purpose, &computed.expression, row, settings)?;
                generated.push((position, for_column(column, value)));
            }
        }
        if table.checks.is_empty() && generated.is_empty() {
            return Ok(None);
        }
        let mut checks = Vec::with_capacity(table.checks.len());
        for check in table.checks_by_name() {
            if check.enforced {
                let purpose = Purpose::Check(&check.name);
                let condition = row_expr::compile(purpose, &check.condition, row, settings)?;
                checks.push((check.name.clone(), condition));
            }
        }
        let views = Vec::new();
        Ok(Some(TableDemands {
            generated,
            checks,
            views,
        }))
    }
}
