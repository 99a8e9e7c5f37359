//! What a schema change may not do because of foreign keys, and what becomes of those of others.

use super::{
    Fit, check_parent,
    define::{generated_prefix, keep},
    fit, incompatible, not_alike, warn_of_parent,
};
use crate::{
    ddl::{DdlContext, check},
    error::SqlError,
};
use cohort_engine::{
    invariant::broken,
    txn::{Dictionary, Related},
    types::{Column, ColumnType, ForeignKey, Index, ReferentialAction, Table, TableId},
};
use std::sync::Arc;

/// The foreign keys that refer to a table of this name, each with its table.
fn references<'d>(
    dictionary: &'d Dictionary,
    (database, name): (&'d str, &'d str),
) -> impl Iterator<Item = (&'d Arc<Table>, &'d ForeignKey)> {
    let children = dictionary.children(database, name);
    children.flat_map(move |child| {
        let keys = child.foreign_keys.iter();
        let keys = keys.filter(move |key| key.refers_to(database, name));
        keys.map(move |key| (child, key))
    })
}

/// A table comes to a name that foreign keys refer to already: it must fit them. With
/// foreign_key_checks on MySQL does not say why it does not: 1215.
pub(in crate::ddl) fn created(
    table: &Table,
    dictionary: &Dictionary,
    related: &mut Related,
    ctx: &mut DdlContext<'_>,
) -> Result<(), SqlError> {
    for (child, key) in references(dictionary, table.full_name()) {
        let fits = check_parent(key, child, table, ctx.parents_unique);
        fits.map_err(|error| match ctx.foreign_key_checks {
            true => SqlError::cannot_add_foreign_key(),
            false => error,
        })?;
        warn_of_parent(key, table, ctx);
        keep(child, related);
    }
    Ok(())
}

/// 3730 for tables that others refer to which stay.
pub(in crate::ddl) fn dropped(
    tables: &[TableId],
    dictionary: &Dictionary,
    ctx: &DdlContext<'_>,
) -> Result<(), SqlError> {
    if !ctx.foreign_key_checks {
        return Ok(());
    }
    for table in tables.iter().filter_map(|id| dictionary.table_by_id(*id)) {
        let mut references = references(dictionary, table.full_name());
        if let Some((child, key)) = references.find(|(child, _)| !tables.contains(&child.id)) {
            return Err(SqlError::table_referenced(
                &table.name,
                &key.name,
                &child.name,
            ));
        }
    }
    Ok(())
}

/// 1701 for a table that others refer to.
pub(in crate::ddl) fn truncated(
    table: &Table,
    dictionary: &Dictionary,
    ctx: &DdlContext<'_>,
) -> Result<(), SqlError> {
    let mut references = references(dictionary, table.full_name());
    let other = references.find(|(child, _)| child.id != table.id);
    match other.filter(|_| ctx.foreign_key_checks) {
        Some((child, key)) => {
            let (database, child) = child.full_name();
            let child = format!("`{database}`.`{child}`, CONSTRAINT `{}`", key.name);
            Err(SqlError::truncate_referenced(child))
        }
        None => Ok(()),
    }
}

/// Tables get other names: `moved` says which, and where to. Foreign keys follow their parents, and
/// those whose names were made from a table's follow it.
pub(in crate::ddl) fn renamed(
    moved: &[(TableId, String, String)],
    dictionary: &Dictionary,
    related: &mut Related,
    ctx: &mut DdlContext<'_>,
) -> Result<(), SqlError> {
    let mut concerned: Vec<&Arc<Table>> = Vec::new();
    for (id, database, name) in moved {
        let Some(table) = dictionary.table_by_id(*id) else {
            continue;
        };
        let comes_to = Table {
            database: database.clone(),
            name: name.clone(),
            ..Table::clone(table)
        };
        let free = dictionary.table(database, name).is_none();
        if free {
            created(&comes_to, dictionary, related, ctx)?;
        }
        concerned.push(table);
        concerned.extend(references(dictionary, table.full_name()).map(|(child, _)| child));
    }
    for table in concerned {
        let known = related.changed.iter().any(|(old, _)| old.id == table.id);
        if !known {
            let after = follow(table, moved, dictionary);
            related.kept.retain(|kept| kept.id != table.id);
            related.changed.push((Arc::clone(table), after));
        }
    }
    let mut after = Vec::with_capacity(moved.len());
    for (id, database, name) in moved {
        let changed = related.changed.iter().find(|(old, _)| old.id == *id);
        if let Some((_, table)) = changed {
            let mut table = table.clone();
            table.database.clone_from(database);
            table.name.clone_from(name);
            after.push((*id, table));
        }
    }
    check_names(&after, dictionary)?;
    let after = after.iter().map(|(id, table)| (Some(*id), table));
    check::check_names(&after.collect::<Vec<_>>(), dictionary)?;
    related.changed.retain(|(old, new)| **old != *new);
    Ok(())
}

/// An ALTER TABLE gives the table another name, too: what `renamed` does, on top of what `altered`
/// has made of the others.
pub(in crate::ddl) fn moved_and_altered(
    old: &Arc<Table>,
    new: &mut Table,
    (database, name): (&str, &str),
    dictionary: &Dictionary,
    related: &mut Related,
    ctx: &mut DdlContext<'_>,
) -> Result<(), SqlError> {
    let moved = [(old.id, database.to_owned(), name.to_owned())];
    *new = follow(new, &moved, dictionary);
    new.database = database.to_owned();
    new.name = name.to_owned();
    created(new, dictionary, related, ctx)?;
    for (child, _) in references(dictionary, old.full_name()) {
        if child.id == old.id {
            continue;
        }
        related.kept.retain(|kept| kept.id != child.id);
        let known = related
            .changed
            .iter_mut()
            .find(|(table, _)| table.id == child.id);
        match known {
            Some((_, after)) => *after = follow(after, &moved, dictionary),
            None => {
                let after = follow(child, &moved, dictionary);
                related.changed.push((Arc::clone(child), after));
            }
        }
    }
    check::check_names(&[(Some(old.id), &*new)], dictionary)?;
    check_names(&[(old.id, new.clone())], dictionary)
}

/// A table with its foreign keys after some tables have got other names; its own name is as before.
fn follow(table: &Table, moved: &[(TableId, String, String)], dictionary: &Dictionary) -> Table {
    let mut after = table.clone();
    // A table that is rewritten has another number by then.
    let own = dictionary.table(&table.database, &table.name);
    let own_name = own.and_then(|own| moved.iter().find(|(id, _, _)| *id == own.id));
    if let Some((_, _, name)) = own_name {
        for constraint in &mut after.checks {
            constraint.name = check::name_after(&constraint.name, &table.name, name);
        }
    }
    for key in &mut after.foreign_keys {
        if let Some((_, _, name)) = own_name
            && let Some(number) = key.name.strip_prefix(&generated_prefix(&table.name))
            && number.parse::<u32>().is_ok()
        {
            key.name = format!("{}{number}", generated_prefix(name));
        }
        let parent = dictionary.table(&key.parent_database, &key.parent);
        let moved = parent.and_then(|parent| moved.iter().find(|(id, _, _)| *id == parent.id));
        if let Some((_, database, name)) = moved {
            key.parent_database.clone_from(database);
            key.parent.clone_from(name);
        }
    }
    after
}

/// 1826 for foreign keys that come to a database, or get a name, that has one of the name already.
/// `moved`: tables, by the numbers that they had, as they will be.
fn check_names(moved: &[(TableId, Table)], dictionary: &Dictionary) -> Result<(), SqlError> {
    for (at, (_, after)) in moved.iter().enumerate() {
        let stays = |table: &&Arc<Table>| moved.iter().all(|(id, _)| *id != table.id);
        let others = dictionary.tables(&after.database).filter(stays);
        let others = others.map(|table| &**table);
        let later = moved.iter().skip(at + 1).map(|(_, table)| table);
        let later = later.filter(|table| table.database == after.database);
        for other in others.chain(later).flat_map(|table| &table.foreign_keys) {
            let same = |key: &&ForeignKey| key.name.eq_ignore_ascii_case(&other.name);
            if let Some(key) = after.foreign_keys.iter().find(same) {
                return Err(SqlError::duplicate_foreign_key(&key.name));
            }
        }
    }
    Ok(())
}

/// A table's columns and keys change: its own foreign keys and those of others must still fit, and
/// theirs follow the names of its columns. `sources`: for each new column, which one it was.
pub(in crate::ddl) fn altered(
    old: &Arc<Table>,
    new: &mut Table,
    sources: &[Option<usize>],
    dictionary: &Dictionary,
    related: &mut Related,
    ctx: &DdlContext<'_>,
) -> Result<(), SqlError> {
    check_own(old, new, sources, dictionary, related, ctx)?;
    let mut changed: Vec<(Arc<Table>, Table)> = Vec::new();
    for (child, key) in references(dictionary, old.full_name()) {
        let renamed = parent_columns_after(key, child, old, new, sources)?;
        if child.id == old.id {
            let own = new.foreign_keys.iter_mut().find(|own| own.name == key.name);
            if let Some(own) = own {
                own.parent_columns = renamed;
                let own = own.clone();
                let change = Change {
                    old,
                    new,
                    sources,
                    ctx,
                };
                change.check_columns(&own, new, new)?;
                check_served(&own, new, sources, old)?;
            }
            continue;
        }
        let mut after = key.clone();
        after.parent_columns = renamed;
        let change = Change {
            old,
            new,
            sources,
            ctx,
        };
        change.check_columns(&after, child, new)?;
        check_served(&after, new, sources, old)?;
        if after == *key {
            keep(child, related);
            continue;
        }
        let known = changed.iter_mut().find(|(table, _)| table.id == child.id);
        let table = match known {
            Some((_, table)) => table,
            None => {
                changed.push((Arc::clone(child), Table::clone(child)));
                let Some((_, table)) = changed.last_mut() else {
                    continue;
                };
                table
            }
        };
        let mut keys = table.foreign_keys.iter_mut();
        if let Some(slot) = keys.find(|other| other.name == key.name) {
            *slot = after;
        }
    }
    let is_changed = |kept: &Arc<Table>| changed.iter().any(|(table, _)| table.id == kept.id);
    related.kept.retain(|kept| !is_changed(kept));
    related.changed.extend(changed);
    Ok(())
}

/// The table's own foreign keys after the change: 1830, 1553, 3780.
fn check_own(
    old: &Table,
    new: &Table,
    sources: &[Option<usize>],
    dictionary: &Dictionary,
    related: &mut Related,
    ctx: &DdlContext<'_>,
) -> Result<(), SqlError> {
    for key in &new.foreign_keys {
        let before = old.foreign_keys.iter().find(|other| other.name == key.name);
        let sets_null = [key.on_delete, key.on_update].contains(&ReferentialAction::SetNull);
        for position in &key.columns {
            let column = new.columns.get(usize::from(*position));
            if let Some(column) = column.filter(|column| sets_null && !column.nullable) {
                return Err(SqlError::foreign_key_not_null(&column.name, &key.name));
            }
        }
        if key.child_index(new).is_none() {
            let index = before.and_then(|before| before.child_index(old));
            return Err(needed(index));
        }
        // Those that are new were checked when they were made.
        let parent = dictionary.table(&key.parent_database, &key.parent);
        let (Some(_), Some(parent)) = (before, parent.filter(|parent| parent.id != old.id)) else {
            continue;
        };
        let change = Change {
            old,
            new,
            sources,
            ctx,
        };
        change.check_columns(key, new, parent)?;
        keep(parent, related);
    }
    Ok(())
}

/// A table before and after a change.
struct Change<'a> {
    old: &'a Table,
    new: &'a Table,
    /// For each new column, which one it was.
    sources: &'a [Option<usize>],
    ctx: &'a DdlContext<'a>,
}

impl Change<'_> {
    /// Whether the columns of a foreign key that was there before still go together: 3780. With
    /// foreign_key_checks on they may not have become others either: 1832 of the child's, 1833 of
    /// the parent's.
    fn check_columns(
        &self,
        key: &ForeignKey,
        child: &Table,
        parent: &Table,
    ) -> Result<(), SqlError> {
        let Some(positions) = key.parent_positions(parent) else {
            return Ok(());
        };
        let checks = self.ctx.foreign_key_checks;
        for (own, of_parent) in key.columns.iter().zip(positions) {
            let column = child.columns.get(usize::from(*own));
            let referenced = parent.columns.get(usize::from(of_parent));
            let (Some(column), Some(referenced)) = (column, referenced) else {
                continue;
            };
            let fit = fit(column, referenced, checks);
            if let Fit::Bad = fit {
                return Err(incompatible(&key.name, column, referenced));
            }
            let is_other =
                |table: &Table, column| checks && table.id == self.new.id && self.is_other(column);
            if is_other(parent, referenced) {
                let (database, child) = child.full_name();
                let child = format!("{database}.{child}");
                let name = &referenced.name;
                return Err(SqlError::column_used_by_child(name, &key.name, child));
            }
            if is_other(child, column) {
                return Err(SqlError::column_used_in_foreign_key(
                    &column.name,
                    &key.name,
                ));
            }
            if let Fit::Near = fit {
                return Err(not_alike());
            }
        }
        Ok(())
    }
    /// Whether a column of the new table is of another type than before.
    fn is_other(&self, column: &Column) -> bool {
        let position = self.new.column_position(&column.name);
        let source = position.and_then(|position| *self.sources.get(position)?);
        let before = source.and_then(|source| self.old.columns.get(source));
        before.is_some_and(|before| is_other(before, column))
    }
}

/// Whether values of a column may be others after the change, by MySQL's rule: longer VARCHARs
/// whose lengths take as many bytes hold the same ones, and so do more members.
fn is_other(before: &Column, after: &Column) -> bool {
    let same = match (before.ty, after.ty) {
        (ColumnType::VarChar(shorter), ColumnType::VarChar(longer)) => {
            let takes_two_bytes = |column: &Column| column.max_bytes() > 255;
            shorter <= longer && takes_two_bytes(before) == takes_two_bytes(after)
        }
        (a, b) if a.has_members() => {
            a == b && after.members.texts().starts_with(before.members.texts())
        }
        (a, b) => a == b && before.unsigned == after.unsigned,
    };
    !same
        || before.collation != after.collation
        || before.auto_increment != after.auto_increment
        || before.real_digits != after.real_digits
}

fn needed(index: Option<&Index>) -> SqlError {
    SqlError::index_needed_by_foreign_key(index.map_or("", |index| &index.name))
}

/// What the columns are called now that a foreign key refers to: 1829 for one that goes.
fn parent_columns_after(
    key: &ForeignKey,
    child: &Table,
    old: &Table,
    new: &Table,
    sources: &[Option<usize>],
) -> Result<Vec<String>, SqlError> {
    let mut names = Vec::with_capacity(key.parent_columns.len());
    for name in &key.parent_columns {
        let before = old.column_position(name);
        let after = sources
            .iter()
            .position(|source| before.is_some() && *source == before);
        let column = after.and_then(|position| new.columns.get(position));
        let column = column.ok_or_else(|| match child.id == old.id {
            true => SqlError::column_needed_by_foreign_key(name, &key.name),
            false => SqlError::column_needed_by_child(name, &key.name, &child.name),
        })?;
        names.push(column.name.clone());
    }
    Ok(names)
}

/// 1553: an index of the parent must still fit.
fn check_served(
    key: &ForeignKey,
    parent: &Table,
    sources: &[Option<usize>],
    before: &Table,
) -> Result<(), SqlError> {
    let unique = |index: &Index| key.is_whole(index);
    let positions = key.parent_positions(parent);
    let positions = positions.ok_or_else(|| broken("the columns that are referred to stay"))?;
    let source = |position: &u16| sources.get(usize::from(*position)).copied().flatten();
    let columns_before = positions.iter().filter_map(source);
    let columns_before: Vec<u16> = columns_before
        .filter_map(|position| u16::try_from(position).ok())
        .collect();
    let mut keys = before.keys();
    let whole = |index: &&Index| unique(index) && index.begins_with(&columns_before);
    let served = keys.find(whole);
    let served = served.or_else(|| before.index_beginning_with(&columns_before));
    match key.parent_index(parent) {
        Some(index) if unique(index) || !served.is_some_and(unique) => Ok(()),
        _ => Err(needed(served)),
    }
}
