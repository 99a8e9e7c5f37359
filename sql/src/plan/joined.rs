//! UPDATE and DELETE of tables in a join.

use super::{
    Assigned, Block, Computed, Default_, Joined, Planner, Target,
    dml::uses,
    from::{From, LeafInput},
    named::{At, Called, same_database},
    needs::Standing,
    scope::{Names, Outside, dotted},
    view_target::Change,
};
use crate::{error::SqlError, privileges::Privilege};
use cohort_engine::{
    txn::{LockMode, OnConflict},
    types::{Index, IndexPart, Table},
};
use sqlparser::ast;
use std::sync::Arc;

/// A table to change, before the order of the join is known: which leaf it is, and what is
/// assigned to its columns.
struct Wanted {
    leaf: usize,
    /// The view that names it.
    view: Option<usize>,
    assignments: Vec<(usize, Assigned)>,
}

impl Planner<'_> {
    /// Compiles UPDATE of several tables.
    pub(super) fn update_joined(
        &mut self,
        update: &ast::Update,
        ignore: bool,
    ) -> Result<Joined, SqlError> {
        if !update.order_by.is_empty() {
            return Err(SqlError::wrong_usage("UPDATE", "ORDER BY"));
        }
        if update.limit.is_some() {
            return Err(SqlError::wrong_usage("UPDATE", "LIMIT"));
        }
        self.plain_update(update)?;
        // The parser takes a comma for CROSS JOIN, which binds more tightly: only RIGHT JOIN
        // means something else after it.
        use ast::JoinOperator as J;
        let joins = update.table.joins.iter().map(|j| &j.join_operator);
        let mut after_first = joins.skip_while(|j| !matches!(j, J::CrossJoin(_)));
        if after_first.any(|j| matches!(j, J::Right(_) | J::RightOuter(_))) {
            return Err(SqlError::not_supported(
                "RIGHT JOIN after a comma in UPDATE",
            ));
        }
        self.stack.push(Names::new(Outside::All));
        self.standing = Standing::Joined;
        let tables = std::slice::from_ref(&update.table);
        let result = self.joined_change(tables, update.selection.as_ref(), ignore, |planner| {
            planner.targets_of_update(&update.assignments)
        });
        self.stack.pop();
        result
    }

    /// Compiles DELETE from several tables, or from one that others choose the rows of.
    pub(super) fn delete_joined(
        &mut self,
        delete: &ast::Delete,
        ignore: bool,
    ) -> Result<Joined, SqlError> {
        self.plain_delete(delete)?;
        self.text.refuse("RETURNING", delete.returning.is_some())?;
        self.text.refuse("ORDER", !delete.order_by.is_empty())?;
        self.text.refuse("LIMIT", delete.limit.is_some())?;
        let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
            &delete.from;
        // DELETE a, b FROM …, or DELETE FROM a, b USING ….
        let (names, tables): (Vec<String>, _) = match &delete.using {
            Some(using) => (from.iter().map(ToString::to_string).collect(), using),
            None => (
                delete.tables.iter().map(ToString::to_string).collect(),
                from,
            ),
        };
        self.stack.push(Names::new(Outside::All));
        let result = self.joined_change(tables, delete.selection.as_ref(), ignore, |planner| {
            names
                .iter()
                .map(|name| planner.target_of_delete(name))
                .collect()
        });
        self.stack.pop();
        result
    }

    fn joined_change(
        &mut self,
        tables: &[ast::TableWithJoins],
        selection: Option<&ast::Expr>,
        ignore: bool,
        targets: impl FnOnce(&mut Self) -> Result<Vec<Wanted>, SqlError>,
    ) -> Result<Joined, SqlError> {
        // So are tables of subqueries.
        self.shares = true;
        let token = self.text.verb();
        let from = self.hinted_from(token, tables);
        self.standing = Standing::Read;
        let mut from = from?;
        from.keyed = true;
        let conditions = self.conditions(selection)?;
        self.names().clause = "field list";
        let wanted = targets(self)?;
        self.shares = false;
        self.check_moves(&wanted)?;
        self.check_views(&wanted)?;
        let mut changed = Vec::with_capacity(wanted.len());
        for target in wanted {
            let (table, first_slot) = self.lock_target(&mut from, &target)?;
            let defaults = self.defaults(&table)?;
            check_defaults(&target, &defaults)?;
            changed.push(Target {
                table,
                first_slot,
                source: 0,
                assignments: target.assignments,
                defaults,
            });
        }
        let values = changed.iter().flat_map(|t| &t.assignments);
        let mut block = Block {
            output: values.filter_map(|(_, value)| computed(value)).collect(),
            ..Block::default()
        };
        self.place(&mut block, from, conditions)?;
        for target in &mut changed {
            let table = &target.table;
            if let Some(used) = block
                .subqueries
                .iter()
                .find_map(|s| uses(&s.query, table, None))
            {
                return Err(SqlError::update_table_used(used));
            }
            let first = target.first_slot;
            let source = block.sources.iter().position(|s| s.first_slot == first);
            target.source = source.unwrap_or_default();
        }
        Ok(Joined {
            block,
            targets: changed,
            ignore,
        })
    }

    /// Refuses to change a table under two names, if that moves its rows: the second change would
    /// not find them.
    fn check_moves(&mut self, wanted: &[Wanted]) -> Result<(), SqlError> {
        let names = self.names();
        let named = |target: &Wanted| {
            let table = names.tables.get(target.leaf)?;
            Some((table.table.as_ref()?, &table.alias))
        };
        for (at, second) in wanted.iter().enumerate() {
            for first in wanted.iter().take(at) {
                if let (Some((table, a)), Some((other, b))) = (named(first), named(second))
                    && table.id == other.id
                    && (moves(table, first) || moves(table, second))
                {
                    return Err(SqlError::key_update_twice(a, b));
                }
            }
        }
        Ok(())
    }

    /// 1393 if several tables of a view are changed, 1288 if it cannot be changed.
    fn check_views(&mut self, wanted: &[Wanted]) -> Result<(), SqlError> {
        for (at, target) in wanted.iter().enumerate() {
            let Some(number) = target.view else {
                continue;
            };
            let mut before = wanted.iter().take(at);
            if before.any(|other| other.view == Some(number) && other.leaf != target.leaf) {
                let view = self
                    .names()
                    .views
                    .get(number)
                    .and_then(|view| view.view.clone());
                let view = view.ok_or_else(|| SqlError::internal("a view is missing"))?;
                return Err(SqlError::several_tables_of_view(&view.database, &view.name));
            }
            let change = match target.assignments.is_empty() {
                true => Change::Delete,
                false => Change::Update,
            };
            self.note_view_written(number, target.leaf, change)?;
        }
        Ok(())
    }

    /// The rows of a target are locked as they are read.
    fn lock_target(
        &mut self,
        from: &mut From,
        target: &Wanted,
    ) -> Result<(Arc<Table>, usize), SqlError> {
        let leaf = target.leaf;
        let statement = match target.assignments.is_empty() {
            true => "DELETE",
            false => "UPDATE",
        };
        let first_slot = self.names().tables.get(leaf).map_or(0, |t| t.first_slot);
        let alias = self.names().tables.get(leaf).map(|t| t.alias.clone());
        match from.leaves.get_mut(leaf) {
            Some(target) => match &target.input {
                LeafInput::Stored(table) => {
                    target.lock = Some((LockMode::Exclusive, OnConflict::Wait));
                    let table = Arc::clone(table);
                    self.note_written(&table, &alias.unwrap_or_default());
                    Ok((table, first_slot))
                }
                LeafInput::Virtual(table) => Err(SqlError::table_read_only(&table.name)),
                LeafInput::Derived(..) | LeafInput::Working(_) | LeafInput::Json(_) => Err(
                    SqlError::not_updatable(alias.unwrap_or_default(), statement),
                ),
            },
            None => Err(SqlError::internal("a target outside its join")),
        }
    }

    /// The assignments, by the tables whose columns they name.
    fn targets_of_update(
        &mut self,
        assignments: &[ast::Assignment],
    ) -> Result<Vec<Wanted>, SqlError> {
        // All the columns are looked up, and looked at, before the first value.
        let mut columns = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let name = self.assigned_column(&assignment.target)?;
            let path: Vec<ast::Ident> = name
                .0
                .iter()
                .filter_map(|p| p.as_ident().cloned())
                .collect();
            let names = self.names();
            let unknown = || SqlError::unknown_column(dotted(&path), "field list");
            let at = names.find_at(&path, "field list")?.ok_or_else(unknown)?;
            let (leaf, position) = names.changed_column(at)?;
            self.note_update(leaf, &[position]);
            let view = match at {
                At::View(view, _) => Some(view),
                At::Table(..) => None,
            };
            columns.push((view, leaf, position));
        }
        let mut targets: Vec<Wanted> = Vec::new();
        for ((view, leaf, position), assignment) in columns.into_iter().zip(assignments) {
            let table = self.names().tables.get(leaf).and_then(|t| t.table.clone());
            let column = table.as_ref().and_then(|table| table.columns.get(position));
            let value = self.assigned(&assignment.value, column)?;
            if let Some(table) = &table {
                super::dml::check_assigned(table, position, Some(&value))?;
            }
            match targets.iter_mut().find(|t| t.leaf == leaf) {
                Some(target) => target.assignments.push((position, value)),
                None => targets.push(Wanted {
                    leaf,
                    view,
                    assignments: vec![(position, value)],
                }),
            }
        }
        // They are changed in the order of FROM.
        targets.sort_by_key(|target| target.leaf);
        Ok(targets)
    }

    fn target_of_delete(&mut self, name: &str) -> Result<Wanted, SqlError> {
        let plain = name.replace('`', "");
        let plain = plain.trim_end_matches(".*");
        let (database, alias) = plain.rsplit_once('.').unwrap_or(("", plain));
        let current = self.context.settings.database;
        let names = self.names();
        let named = |called: Called<'_>| {
            // Without a database it is an alias, or a table of the default one.
            let database = match database.is_empty() {
                true => current,
                false => database,
            };
            let is_alias = !called.own_name && plain == alias;
            called.alias == alias && (is_alias || same_database(called.database, database))
        };
        let mut views = names.views.iter();
        let view = views.position(|view| view.within == 0 && named(view.called()));
        let view = view.and_then(|number| Some((number, names.views.get(number)?)));
        if let Some((number, view)) = view {
            if let Some(view) = view.view.as_ref().filter(|_| view.leaves.len() != 1) {
                return Err(SqlError::delete_from_join_view(&view.database, &view.name));
            }
            let leaf = view.leaves.start;
            return Ok(self.deleted(leaf, Some(number)));
        }
        let mut tables = names.tables.iter();
        let leaf = tables.position(|table| table.within == 0 && named(table.called()));
        let leaf = leaf.ok_or_else(|| SqlError::unknown_table_in(alias, "MULTI DELETE"))?;
        Ok(self.deleted(leaf, None))
    }

    fn deleted(&mut self, leaf: usize, view: Option<usize>) -> Wanted {
        self.note_change(leaf, Privilege::Delete, None);
        Wanted {
            leaf,
            view,
            assignments: Vec::new(),
        }
    }
}

/// The key that rows are told apart by: the primary one, or the first unique one that takes no NULL, which
/// is MySQL's then.
fn identifying(table: &Table) -> Option<&Index> {
    let takes_null = |part: &IndexPart| {
        let column = table.columns.get(usize::from(part.column));
        column.is_none_or(|column| column.nullable)
    };
    let mut unique = table.indexes.iter().filter(|index| index.unique);
    let primary = table.primary.as_ref();
    primary.or_else(|| unique.find(|index| !index.parts.iter().any(takes_null)))
}

/// Whether a column of the primary key is assigned to.
fn moves(table: &Table, target: &Wanted) -> bool {
    let parts = identifying(table).into_iter().flat_map(|key| &key.parts);
    let is_key = |position: usize| parts.clone().any(|p| usize::from(p.column) == position);
    let is_generated = |part: &IndexPart| {
        let column = table.columns.get(usize::from(part.column));
        column.is_some_and(|column| column.generated.is_some())
    };
    if !target.assignments.is_empty() && parts.clone().any(is_generated) {
        return true;
    }
    target
        .assignments
        .iter()
        .any(|(position, _)| is_key(*position))
}

fn computed(value: &Assigned) -> Option<Computed> {
    match value {
        Assigned::Value(computed) => Some(computed.clone()),
        Assigned::Default => None,
    }
}

/// A default that names columns would be computed from the row as it was.
fn check_defaults(target: &Wanted, defaults: &[Default_]) -> Result<(), SqlError> {
    for (position, value) in &target.assignments {
        if let (Assigned::Default, Some(Default_::Expression(expr))) =
            (value, defaults.get(*position))
        {
            let mut names_columns = false;
            super::walk::slots(expr, &mut |_| names_columns = true);
            if names_columns {
                return Err(SqlError::not_supported(
                    "DEFAULT that names columns, in UPDATE of several tables",
                ));
            }
        }
    }
    Ok(())
}
