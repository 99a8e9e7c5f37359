//! The tables of a block as names see them, and the views whose tables are read in their place.
//!
//! A view that is merged has no place in the join: its tables have. They are named in the text of the
//! view and nowhere else, as its columns are named outside and nowhere else. So each text has a
//! number, 0 is the block's own, and a name is looked for among what is named in its text.

use super::{
    needs::{Noted, Reads},
    scope::{Names, dotted, slot_expr},
    walk,
};
use crate::{
    error::SqlError,
    expr::{Expr, ExprType, infer},
};
use cohort_engine::types::{Table, View, schema::Visibility};
use sqlparser::ast;
use std::{ops::Range, rc::Rc, sync::Arc};

/// A table of a block, as names see it.
pub(super) struct NamedTable {
    /// The alias.
    pub alias: String,
    /// The database, for names of three parts; empty for a derived table.
    pub database: String,
    /// The stored or virtual table.
    pub table: Option<Arc<Table>>,
    /// Its columns.
    pub columns: Vec<NamedColumn>,
    /// The slot of its first column.
    pub first_slot: usize,
    /// The text that names it.
    pub within: usize,
    /// Whether it is called as the dictionary calls it.
    pub own_name: bool,
    /// What is done to it, if privileges are needed for that.
    pub noted: Option<Rc<Noted>>,
}

/// The names and types of a table's columns.
pub(super) fn names_of(table: &Table) -> Vec<(String, ExprType)> {
    let columns = table.columns.iter();
    let named = columns.map(|c| (c.name.clone(), ExprType::of_column(c)));
    named.collect()
}

/// A column of such a table.
pub(super) struct NamedColumn {
    pub name: String,
    pub ty: ExprType,
    /// Joined by USING with a column that stands for both.
    pub hidden: bool,
}

/// A view, derived table or common table expression whose tables are read in its place.
pub(super) struct MergedView {
    /// The alias.
    pub alias: String,
    /// The view, if it is one.
    pub view: Option<Arc<View>>,
    /// Its columns.
    pub columns: Vec<MergedColumn>,
    /// Its tables: their positions among those of the block.
    pub leaves: Range<usize>,
    /// The text that names it.
    pub within: usize,
    /// The number of its own text.
    pub text: usize,
    /// What its rows must fulfil: its WHERE.
    pub conditions: Vec<Expr>,
    /// What is done to it.
    pub noted: Option<Rc<Noted>>,
}

/// A column of a merged view.
pub(super) struct MergedColumn {
    pub name: String,
    /// What it is, on the tables of the view.
    pub expr: Expr,
    /// Joined by USING with a column that stands for both.
    pub hidden: bool,
    /// What is read when it is.
    pub reads: Reads,
}

/// Where a column is that a name can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// That table, that column.
    Table(usize, usize),
    /// That merged view, that column.
    View(usize, usize),
}

/// How a table or view is called where a column of it is.
#[derive(Clone, Copy)]
pub(super) struct Called<'n> {
    pub alias: &'n str,
    /// Empty for a derived table.
    pub database: &'n str,
    /// Whether it is called as the dictionary calls it.
    pub own_name: bool,
}

/// Whether two names are those of the same database. That of information_schema may be written in
/// any case, others not.
pub(super) fn same_database(one: &str, other: &str) -> bool {
    let is_system = one.eq_ignore_ascii_case("information_schema");
    one == other || is_system && one.eq_ignore_ascii_case(other)
}

impl Called<'_> {
    pub fn matches(&self, qualifier: &[ast::Ident]) -> bool {
        match qualifier {
            [] => true,
            [table] => table.value == self.alias,
            [database, table] => {
                table.value == self.alias && same_database(&database.value, self.database)
            }
            _ => false,
        }
    }
}

impl NamedTable {
    pub fn called(&self) -> Called<'_> {
        Called {
            alias: &self.alias,
            database: &self.database,
            own_name: self.own_name,
        }
    }
    /// Who sees a column.
    fn visibility(&self, column: usize) -> Visibility {
        let Some(table) = &self.table else {
            return Visibility::Visible;
        };
        // Behind them are its ranks.
        let stored = table.columns.get(column);
        stored.map_or(Visibility::Hidden, |column| column.visibility)
    }
    /// The slots of its columns.
    pub fn slots(&self) -> Range<usize> {
        self.first_slot..self.first_slot + self.columns.len()
    }
}

impl MergedView {
    pub fn called(&self) -> Called<'_> {
        Called {
            alias: &self.alias,
            database: self.view.as_ref().map_or("", |view| &view.database),
            own_name: self
                .view
                .as_ref()
                .is_some_and(|view| view.name == self.alias),
        }
    }
}

impl Names {
    /// Adds a table and gives its columns slots.
    pub fn add_table(
        &mut self,
        alias: String,
        database: String,
        table: Option<Arc<Table>>,
        columns: Vec<(String, ExprType)>,
    ) -> Result<usize, SqlError> {
        self.check_unique(&alias, &database)?;
        let first_slot = self.slots;
        self.slots += columns.len();
        let columns = columns.into_iter().map(|(name, ty)| NamedColumn {
            name,
            ty,
            hidden: false,
        });
        self.tables.push(NamedTable {
            own_name: table.as_ref().is_some_and(|table| table.name == alias),
            alias,
            database,
            table,
            columns: columns.collect(),
            first_slot,
            within: self.within,
            noted: None,
        });
        Ok(self.tables.len() - 1)
    }

    /// 1066 if the text that is being compiled has a table of this name.
    pub fn check_unique(&self, alias: &str, database: &str) -> Result<(), SqlError> {
        let taken = |called: Called<'_>| {
            called.alias == alias && (called.database == database || database.is_empty())
        };
        let tables = self.tables.iter().filter(|t| t.within == self.within);
        let views = self.views.iter().filter(|v| v.within == self.within);
        let mut all = tables
            .map(NamedTable::called)
            .chain(views.map(MergedView::called));
        match all.any(taken) {
            true => Err(SqlError::not_unique_table(alias)),
            false => Ok(()),
        }
    }

    /// What the block's own text names, merged views as tables of their columns.
    pub fn into_named(self) -> Vec<NamedTable> {
        let of_view = |(v, view): (usize, &MergedView)| NamedTable {
            alias: view.alias.clone(),
            database: view.called().database.to_string(),
            table: None,
            columns: (0..view.columns.len())
                .filter_map(|c| {
                    let at = At::View(v, c);
                    let (name, hidden) = self.name_of(at)?;
                    Some(NamedColumn {
                        name: name.to_string(),
                        ty: infer(&self.value_of(at)?),
                        hidden,
                    })
                })
                .collect(),
            first_slot: 0,
            within: 0,
            own_name: view.called().own_name,
            noted: view.noted.clone(),
        };
        let views = self.views.iter().enumerate();
        let views = views.filter(|(_, view)| view.within == 0).map(of_view);
        let views: Vec<NamedTable> = views.collect();
        let tables = self.tables.into_iter().filter(|table| table.within == 0);
        tables.chain(views).collect()
    }

    /// Whether a table is read in the place of a derived table or common table expression.
    pub fn is_of_derived(&self, leaf: usize) -> bool {
        let mut derived = self.views.iter().filter(|merged| merged.view.is_none());
        derived.any(|merged| merged.leaves.contains(&leaf))
    }

    /// What a column of a merged view or derived table is called: by what alias, by what name, and
    /// what the table is that has it: the view, or by what alias the text calls it (empty for what is
    /// computed).
    pub fn merged_column(&self, expr: &Expr) -> Option<(&str, &str, &str)> {
        // What is written may be a literal, too.
        let is_literal = matches!(expr, Expr::Literal(..) | Expr::Parameter { .. });
        let at = self.at_of(expr).filter(|_| !is_literal)?;
        let At::View(merged, _) = at else { return None };
        let merged = self.views.get(merged)?;
        let slot = walk::slot(expr);
        let table = slot.and_then(|slot| self.tables.get(self.table_of_slot(slot)?));
        let table = match &merged.view {
            Some(view) => &view.name,
            None => table.map_or("", |table| &table.alias),
        };
        Some((&merged.alias, self.name_of(at)?.0, table))
    }

    /// The table that a slot belongs to.
    pub fn table_of_slot(&self, slot: usize) -> Option<usize> {
        self.tables.iter().position(|t| t.slots().contains(&slot))
    }

    /// The expression of a table's column.
    pub fn column_of(&self, table: usize, column: usize) -> Option<Expr> {
        let table = self.tables.get(table)?;
        let named = table.columns.get(column)?;
        Some(slot_expr(table.first_slot + column, named.ty))
    }

    /// The expression of a column. What a view has of a table is as that table's column is by now:
    /// a join can have made it nullable.
    pub fn value_of(&self, at: At) -> Option<Expr> {
        let (view, column) = match at {
            At::Table(table, column) => return self.column_of(table, column),
            At::View(view, column) => (self.views.get(view)?, column),
        };
        let expr = &view.columns.get(column)?.expr;
        let of_table = walk::slot(expr).and_then(|slot| {
            let table = self.table_of_slot(slot)?;
            self.column_of(table, slot - self.tables.get(table)?.first_slot)
        });
        Some(of_table.unwrap_or_else(|| expr.clone()))
    }

    /// The name of a column, and whether it is hidden.
    pub fn name_of(&self, at: At) -> Option<(&str, bool)> {
        match at {
            At::Table(table, column) => {
                let column = self.tables.get(table)?.columns.get(column)?;
                Some((&column.name, column.hidden))
            }
            At::View(view, column) => {
                let column = self.views.get(view)?.columns.get(column)?;
                Some((&column.name, column.hidden))
            }
        }
    }

    /// How the table or view of a column is called.
    pub fn called(&self, at: At) -> Option<Called<'_>> {
        match at {
            At::Table(table, _) => self.tables.get(table).map(NamedTable::called),
            At::View(view, _) => self.views.get(view).map(MergedView::called),
        }
    }

    /// A column that USING joins with one that stands for both.
    pub fn hide(&mut self, at: At) {
        match at {
            At::Table(table, column) => {
                let table = self.tables.get_mut(table);
                if let Some(column) = table.and_then(|t| t.columns.get_mut(column)) {
                    column.hidden = true;
                }
            }
            At::View(view, column) => {
                let view = self.views.get_mut(view);
                if let Some(column) = view.and_then(|v| v.columns.get_mut(column)) {
                    column.hidden = true;
                }
            }
        }
    }

    /// All columns that the text can name which is being compiled.
    pub fn columns(&self) -> impl Iterator<Item = At> {
        let seen =
            |within: usize, leaf: usize| within == self.within && self.visible.contains(&leaf);
        let tables = self.tables.iter().enumerate();
        let tables = tables.filter(move |(t, table)| seen(table.within, *t));
        let tables = tables.flat_map(|(t, table)| {
            let columns = 0..table.columns.len();
            let named = columns.filter(|c| table.visibility(*c) != Visibility::Hidden);
            named.map(move |c| At::Table(t, c))
        });
        let views = self.views.iter().enumerate();
        let views = views.filter(move |(_, view)| seen(view.within, view.leaves.start));
        let views = views.flat_map(|(v, view)| {
            let columns = 0..view.columns.len();
            columns.map(move |c| At::View(v, c))
        });
        tables.chain(views)
    }

    /// The columns of what is called so that everybody sees.
    pub fn columns_called(&self, qualifier: &[ast::Ident]) -> Vec<At> {
        let is = |at: &At| {
            self.called(*at)
                .is_some_and(|called| called.matches(qualifier))
        };
        let is_seen = |at: &At| self.visibility(*at).is_visible();
        self.columns().filter(|at| is(at) && is_seen(at)).collect()
    }

    fn visibility(&self, at: At) -> Visibility {
        match at {
            At::Table(table, column) => {
                let table = self.tables.get(table);
                table.map_or(Visibility::Visible, |table| table.visibility(column))
            }
            At::View(..) => Visibility::Visible,
        }
    }

    /// The columns of a table that `*` means.
    pub fn star(&self, table: usize) -> impl Iterator<Item = At> {
        self.columns_that_are(table, Visibility::Visible)
    }

    /// Those that only their names mean.
    pub fn unseen(&self, table: usize) -> impl Iterator<Item = At> {
        self.columns_that_are(table, Visibility::Invisible)
    }

    fn columns_that_are(&self, table: usize, visibility: Visibility) -> impl Iterator<Item = At> {
        let columns = self.tables.get(table).map_or(0, |t| t.columns.len());
        let columns = (0..columns).map(move |column| At::Table(table, column));
        columns.filter(move |at| self.visibility(*at) == visibility)
    }

    /// The column that a name means; 1052 if it could be several.
    pub fn find_at(&self, path: &[ast::Ident], clause: &str) -> Result<Option<At>, SqlError> {
        let Some((name, qualifier)) = path.split_last() else {
            return Ok(None);
        };
        let mut found = None;
        let mut hidden = None;
        for at in self.columns() {
            let Some((column, is_hidden)) = self.name_of(at) else {
                continue;
            };
            let is_called = self.called(at).is_some_and(|c| c.matches(qualifier));
            if !is_called || !column.eq_ignore_ascii_case(&name.value) {
                continue;
            }
            if is_hidden && qualifier.is_empty() {
                hidden = hidden.or(Some(at));
                continue;
            }
            if found.is_some() {
                return Err(SqlError::ambiguous_column(dotted(path), clause));
            }
            found = Some(at);
        }
        Ok(found.or(hidden))
    }

    /// The column of a table that an expression is.
    pub fn column_of_table(&self, expr: &Expr) -> Option<(&NamedTable, &NamedColumn)> {
        let slot = walk::slot(expr)?;
        let table = self.tables.get(self.table_of_slot(slot)?)?;
        Some((table, table.columns.get(slot - table.first_slot)?))
    }

    /// The full name of the column in a slot, as the block's text can call it.
    pub fn full_name(&self, slot: usize) -> String {
        let table = self.table_of_slot(slot);
        let table = table.and_then(|t| Some((t, self.tables.get(t)?.first_slot)));
        let column = table.and_then(|(t, first)| self.column_of(t, slot - first));
        let at = column.and_then(|column| self.at_of(&column));
        let named = at.and_then(|at| Some((self.called(at)?, self.name_of(at)?.0)));
        match named {
            None => String::new(),
            Some((called, column)) if called.database.is_empty() => {
                format!("{}.{column}", called.alias)
            }
            Some((called, column)) => format!("{}.{}.{column}", called.database, called.alias),
        }
    }

    /// The column that an expression is, if it is one that the block's text can name.
    pub fn at_of(&self, expr: &Expr) -> Option<At> {
        let slot = walk::slot(expr);
        let table = slot.and_then(|slot| Some((slot, self.table_of_slot(slot)?)));
        if let Some((slot, t)) = table
            && let Some(table) = self.tables.get(t)
            && table.within == self.within
        {
            return Some(At::Table(t, slot - table.first_slot));
        }
        let of_view =
            |at: &At| matches!(at, At::View(..)) && self.value_of(*at).as_ref() == Some(expr);
        self.columns().find(of_view)
    }
}
