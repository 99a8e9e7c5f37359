//! Changing rows through views.
//!
//! A view that is merged brings its table into the block, so that a change of its rows is a change
//! of that table's rows. What is special: a column of the view is the table's only if it is nothing
//! but a column, and WITH CHECK OPTION demands of the new rows that the view still shows them.

use super::{
    Default_, Insert, Planner,
    demands::ViewDemand,
    dml::{column_of, target_columns},
    from::{From, Leaf, LeafInput},
    named::{At, MergedView},
    scope::{Names, dotted},
    walk,
};
use crate::{
    error::SqlError,
    expr::{Expr, SqlMode, visit_operands_mut},
    privileges::Privilege,
};
use cohort_engine::{
    txn::{LockMode, OnConflict},
    types::{CheckOption, Table, View},
};
use sqlparser::ast;
use std::{collections::BTreeSet, sync::Arc};

/// What is done to a view.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Insert,
    Load,
    Update,
    Delete,
}

impl Change {
    fn privilege(self) -> Privilege {
        match self {
            Change::Insert | Change::Load => Privilege::Insert,
            Change::Update => Privilege::Update,
            Change::Delete => Privilege::Delete,
        }
    }
    fn refuse(self, name: &str) -> SqlError {
        match self {
            Change::Insert => SqlError::not_insertable(name, "INSERT"),
            Change::Load => SqlError::not_updatable(name, "LOAD"),
            Change::Update => SqlError::not_updatable(name, "UPDATE"),
            Change::Delete => SqlError::not_updatable(name, "DELETE"),
        }
    }
}

impl Names {
    /// The number of the view that the block's own text calls so.
    pub fn view_called(&self, alias: &str) -> Option<usize> {
        let mut views = self.views.iter();
        views.position(|view| view.within == 0 && view.alias == alias)
    }

    /// The column of a table that one of a view is: 1348 if it is none.
    pub fn changed_column(&self, at: At) -> Result<(usize, usize), SqlError> {
        if let At::Table(table, column) = at {
            return Ok((table, column));
        }
        let name = self.name_of(at).map_or("", |(name, _)| name);
        let refused = || SqlError::column_not_updatable(name);
        let slot = self.value_of(at).as_ref().and_then(walk::slot);
        let slot = slot.ok_or_else(refused)?;
        let table = self.table_of_slot(slot).ok_or_else(refused)?;
        let first = self.tables.get(table).map_or(0, |table| table.first_slot);
        Ok((table, slot - first))
    }

    /// What the views demand of rows of a table that are written through one of them, by WITH CHECK
    /// OPTION.
    fn check_option(
        &self,
        (view, leaf): (&MergedView, usize),
        forced: bool,
        conditions: &mut Vec<Expr>,
    ) {
        if forced || view.check_option().is_some() {
            conditions.extend(view.conditions.iter().cloned());
        }
        let cascades = forced || view.check_option() == Some(CheckOption::Cascaded);
        let below = |below: &&MergedView| below.within == view.text && below.leaves.contains(&leaf);
        for view in self.views.iter().filter(below) {
            self.check_option((view, leaf), cascades, conditions);
        }
    }
}

impl MergedView {
    fn check_option(&self) -> Option<CheckOption> {
        self.view.as_ref()?.check_option
    }
}

impl Planner<'_> {
    /// The view of a block that is changed, and the only table below it. `None`: there are several.
    pub(super) fn target_of_view(
        &mut self,
        from: &From,
        view: &View,
        alias: &str,
        change: Change,
    ) -> Result<Option<(usize, Arc<Table>)>, SqlError> {
        let number = self.names().view_called(alias);
        let number = number.filter(|_| view.updatable);
        let number = number.ok_or_else(|| change.refuse(alias))?;
        match from.leaves.as_slice() {
            [leaf] => match &leaf.input {
                LeafInput::Stored(table) => Ok(Some((number, Arc::clone(table)))),
                LeafInput::Virtual(table) => Err(SqlError::table_read_only(&table.name)),
                LeafInput::Derived(..) | LeafInput::Working(_) | LeafInput::Json(_) => {
                    Err(change.refuse(alias))
                }
            },
            _ => Ok(None),
        }
    }

    /// Notes that rows of a table are changed through a view.
    pub(super) fn note_view_written(
        &mut self,
        number: usize,
        leaf: usize,
        change: Change,
    ) -> Result<(), SqlError> {
        let names = self.names();
        let (Some(view), Some(table)) = (names.views.get(number), names.tables.get(leaf)) else {
            return Err(SqlError::internal("a view that is not there is changed"));
        };
        let alias = view.alias.clone();
        let Some(definition) = view.view.clone().filter(|view| view.updatable) else {
            return Err(change.refuse(&alias));
        };
        let mut conditions = Vec::new();
        if change != Change::Delete {
            names.check_option((view, leaf), false, &mut conditions);
        }
        let (slots, stored) = (table.slots(), table.table.clone());
        let table_alias = table.alias.clone();
        for condition in &mut conditions {
            let mut inside = true;
            walk::slots(condition, &mut |slot| inside &= slots.contains(&slot));
            if !inside {
                return Err(SqlError::not_supported(
                    "WITH CHECK OPTION with other tables or subqueries",
                ));
            }
            by_position(condition, slots.start);
        }
        for used in self.views.iter_mut().filter(|used| used.alias == alias) {
            used.writes = true;
        }
        let Some(stored) = stored else {
            return Err(change.refuse(&alias));
        };
        self.note_written(&stored, &table_alias);
        if !conditions.is_empty() {
            self.view_demands.push((
                stored.id,
                ViewDemand {
                    view: definition,
                    conditions,
                },
            ));
        }
        Ok(())
    }

    /// The table below a view, and which of its columns are inserted.
    pub(super) fn view_to_insert(
        &mut self,
        view: &Arc<View>,
        insert: &ast::Insert,
    ) -> Result<(Arc<Table>, Vec<usize>), SqlError> {
        let change = Change::Insert;
        let mut from = From::default();
        self.view_part(view, None, &mut from)?;
        let target = self.target_of_view(&from, view, &view.name, change)?;
        let named = view.columns.iter().map(|name| (name.as_str(), true));
        let columns = target_columns((&view.database, &view.name), named, insert)?;
        let Some((number, table)) = target else {
            let (database, name) = (&view.database, &view.name);
            if insert.columns.is_empty() && insert.assignments.is_empty() {
                return Err(SqlError::join_view_without_columns(database, name));
            }
            let mut tables = BTreeSet::new();
            for column in columns {
                let names = self.names();
                let number = names.views.len().saturating_sub(1);
                tables.insert(names.changed_column(At::View(number, column))?.0);
            }
            return Err(match tables.len() {
                0 | 1 => SqlError::not_supported("INSERT into a view of several tables"),
                _ => SqlError::several_tables_of_view(database, name),
            });
        };
        let columns = self.columns_behind(number, &columns)?;
        self.note_view_written(number, 0, change)?;
        Ok((table, columns))
    }

    /// 1423 if a column that a view does not show has no default.
    pub(super) fn check_view_defaults(&self, view: &View, insert: &Insert) -> Result<(), SqlError> {
        if !self.context.settings.sql_mode.has(SqlMode::STRICT) || insert.ignore {
            return Ok(());
        }
        let mut columns = insert
            .table
            .columns
            .iter()
            .zip(&insert.defaults)
            .enumerate();
        let missing = columns.any(|(position, (column, default))| {
            let given = insert.columns.contains(&position) || column.auto_increment;
            matches!(default, Default_::None) && !given
        });
        match missing {
            true => Err(SqlError::no_default_for_view(&view.database, &view.name)),
            false => Ok(()),
        }
    }

    /// The names by which the statement knows the columns of the table it changes.
    pub(super) fn shown_names(&mut self, table: &Table) -> Vec<String> {
        let names = self.names();
        let mut shown: Vec<String> = table.columns.iter().map(|c| c.name.clone()).collect();
        if let Some(view) = names.views.iter().position(|view| view.within == 0) {
            shown.iter_mut().for_each(String::clear);
            for column in 0..names.views.get(view).map_or(0, |view| view.columns.len()) {
                let at = At::View(view, column);
                if let (Ok((0, position)), Some((name, _))) =
                    (names.changed_column(at), names.name_of(at))
                    && let Some(place) = shown.get_mut(position)
                {
                    name.clone_into(place);
                }
            }
        }
        shown
    }

    /// The column of the table that an assignment names.
    pub(super) fn assigned_position(
        &mut self,
        table: &Table,
        name: &ast::ObjectName,
    ) -> Result<usize, SqlError> {
        let names = self.names();
        if names.views.iter().all(|view| view.within != 0) {
            let alias = names.tables.first().map(|named| named.alias.clone());
            return column_of(table, alias.as_deref(), name);
        }
        let path = name.0.iter().filter_map(|part| part.as_ident().cloned());
        let path: Vec<ast::Ident> = path.collect();
        let visible = std::mem::replace(&mut names.visible, 0..1);
        let found = names.find_at(&path, "field list");
        names.visible = visible;
        let unknown = || SqlError::unknown_column(dotted(&path), "field list");
        let (_, position) = names.changed_column(found?.ok_or_else(unknown)?)?;
        Ok(position)
    }

    /// Brings the table that a statement changes, or that of a view, into the block. `None`: it is a
    /// view of several.
    pub(super) fn changed_table(
        &mut self,
        factor: &ast::TableFactor,
        change: Change,
    ) -> Result<Option<(Arc<Table>, From)>, SqlError> {
        let (name, alias, hints) = self.table_factor(factor)?;
        let statement = match change {
            Change::Insert | Change::Load | Change::Update => "UPDATE",
            Change::Delete => "DELETE",
        };
        self.refuse_common(name, statement)?;
        if let (Some(hint), Change::Delete) = (hints.first(), change) {
            let word = hint.hint_type.to_string();
            return Err(self.text.error_at_word(word.trim()));
        }
        let lock = Some((LockMode::Exclusive, OnConflict::Wait));
        let Some(view) = self.view_named(name) else {
            let table = self.written_table(name, alias, &[change.privilege()])?;
            let hints = self.hints(&table, alias, hints)?;
            self.add_target(&table, alias.unwrap_or(&table.name))?;
            self.names().add_ranks();
            let leaf = Leaf {
                input: LeafInput::Stored(Arc::clone(&table)),
                lock,
                shared: false,
                no_hash: false,
                hints,
                again: None,
            };
            let mut from = From {
                leaves: vec![leaf],
                ..From::default()
            };
            self.apply_hints(self.text.verb(), &mut from, 0);
            return Ok(Some((table, from)));
        };
        self.may_name(&view.database, &view.name, &[change.privilege()])?;
        let mut from = From::default();
        self.view_part(&view, alias, &mut from)?;
        let alias = alias.unwrap_or(&view.name);
        let Some((number, table)) = self.target_of_view(&from, &view, alias, change)? else {
            return Ok(None);
        };
        self.note_view_written(number, 0, change)?;
        self.apply_hints(self.text.verb(), &mut from, 0);
        from.order = None;
        for leaf in &mut from.leaves {
            leaf.lock = lock;
        }
        Ok(Some((table, from)))
    }

    /// The columns of a table that an INSERT into a view names, by `target_columns` of the view's:
    /// 1471 if some column of the view is none of the table's.
    pub(super) fn columns_behind(
        &mut self,
        number: usize,
        columns: &[usize],
    ) -> Result<Vec<usize>, SqlError> {
        let names = self.names();
        let mut behind = Vec::with_capacity(columns.len());
        for &column in columns {
            behind.push(names.changed_column(At::View(number, column))?.1);
        }
        let view = names.views.get(number);
        let count = view.map_or(0, |view| view.columns.len());
        let mut all = Vec::with_capacity(count);
        for column in 0..count {
            match names.changed_column(At::View(number, column)) {
                Ok((_, position)) if !all.contains(&position) => all.push(position),
                Ok(_) | Err(_) => {
                    let alias = view.map_or("", |view| view.alias.as_str());
                    return Err(Change::Insert.refuse(alias));
                }
            }
        }
        Ok(behind)
    }
}

/// Has an expression read the values of a row instead of slots that begin there.
fn by_position(expr: &mut Expr, first: usize) {
    if let Expr::Column { slot, .. } = expr {
        let position = (*slot as usize).saturating_sub(first);
        *slot = u32::try_from(position).unwrap_or(u32::MAX);
        return;
    }
    visit_operands_mut(expr, &mut |operand| by_position(operand, first));
}
