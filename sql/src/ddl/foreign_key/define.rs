//! The foreign keys that CREATE TABLE and ALTER TABLE add, and the keys that are made for them.

use super::{check_parent, warn_of_parent};
use crate::{
    ddl::{
        DdlContext,
        column::check_length,
        generated,
        syntax::{ForeignKeySyntax, KeyKind, KeySyntax, PartSyntax},
    },
    error::SqlError,
    privileges::Privilege,
    rights::Object,
};
use cohort_engine::{
    txn::{Dictionary, Related},
    types::{ForeignKey, ReferentialAction, Table},
};
use std::sync::Arc;

/// The keys that foreign keys need: one for each; `needed` takes away those that others
/// can stand in for.
pub(in crate::ddl) fn generated_keys(
    foreign_keys: &[ForeignKeySyntax],
) -> impl Iterator<Item = KeySyntax> {
    foreign_keys.iter().map(|syntax| KeySyntax {
        kind: KeyKind::Plain,
        name: syntax.name.clone().or_else(|| syntax.index_name.clone()),
        parts: syntax
            .columns
            .iter()
            .map(|column| PartSyntax {
                expression: None,
                array: None,
                column: column.clone(),
                prefix: None,
                desc: false,
            })
            .collect(),
        comment: String::new(),
        visible: true,
        using: None,
        parser: None,
        generated: true,
    })
}

/// Whether a key can stand in for one that was made for a foreign key: it begins with the same
/// columns, in the same direction.
fn serves(key: &KeySyntax, generated: &KeySyntax) -> bool {
    let same = |(a, b): (&PartSyntax, &PartSyntax)| {
        a.prefix.is_none() && a.desc == b.desc && a.column.eq_ignore_ascii_case(&b.column)
    };
    // A multi-valued one has not all rows, a FULLTEXT one does not lead to them by its columns.
    let has_all =
        key.kind != KeyKind::FullText && key.parts.iter().all(|part| part.array.is_none());
    has_all
        && key.parts.len() >= generated.parts.len()
        && key.parts.iter().zip(&generated.parts).all(same)
}

/// Whether the keys stay, each: those made for foreign keys go if another key serves. Of two such
/// with the same columns the later stays, as in MySQL.
pub(in crate::ddl) fn needed(keys: &[KeySyntax]) -> Vec<bool> {
    let redundant = |at: usize, key: &KeySyntax| {
        let mut others = keys.iter().enumerate().filter(|(other, _)| *other != at);
        key.generated
            && others.any(|(other, by)| {
                let longer = by.parts.len() > key.parts.len();
                serves(by, key) && (!by.generated || longer || other > at)
            })
    };
    let kept = keys.iter().enumerate();
    kept.map(|(at, key)| !redundant(at, key)).collect()
}

/// Leaves out the keys that are not needed.
pub(in crate::ddl) fn drop_redundant(keys: &mut Vec<KeySyntax>) {
    let mut needed = needed(keys).into_iter();
    keys.retain(|_| needed.next().unwrap_or(true));
}

/// A table that foreign keys are added to.
pub(in crate::ddl) struct NewKeys<'a> {
    /// Its other definition is complete.
    pub table: &'a mut Table,
    pub dictionary: &'a Dictionary,
    /// Number of the table before, if it was there.
    pub old: Option<u32>,
}

/// Adds foreign keys to a table whose columns and keys are complete, and notes whom the change
/// concerns.
pub(in crate::ddl) fn add(
    new: NewKeys<'_>,
    foreign_keys: &[ForeignKeySyntax],
    related: &mut Related,
    ctx: &mut DdlContext<'_>,
) -> Result<(), SqlError> {
    for syntax in foreign_keys {
        let key = define(&new, syntax, ctx)?;
        let table = &*new.table;
        let other = new.dictionary.table(&key.parent_database, &key.parent);
        let parent = match key.refers_to(&table.database, &table.name) {
            true => Some(table),
            false => other.map(|parent| &**parent),
        };
        if let Some(parent) = parent {
            check_parent(&key, table, parent, ctx.parents_unique)?;
            warn_of_parent(&key, parent, ctx);
        } else if ctx.foreign_key_checks {
            return Err(SqlError::referenced_table_missing(&key.parent));
        }
        if let Some(other) = other.filter(|other| Some(other.id) != new.old) {
            keep(other, related);
        }
        if ctx.foreign_key_checks {
            related.checked.push(key.name.clone());
        }
        new.table.foreign_keys.push(key);
    }
    Ok(())
}

/// A table must stay as it is until the change is made.
pub(super) fn keep(table: &Arc<Table>, related: &mut Related) {
    if !related.kept.iter().any(|kept| kept.id == table.id) {
        related.kept.push(Arc::clone(table));
    }
}

fn define(
    new: &NewKeys<'_>,
    syntax: &ForeignKeySyntax,
    ctx: &DdlContext<'_>,
) -> Result<ForeignKey, SqlError> {
    let table = &*new.table;
    let name = match &syntax.name {
        Some(name) => {
            check_length(name)?;
            check_free(name, new)?;
            name.clone()
        }
        None => generated_name(new),
    };
    let parent_database = syntax.parent.database.as_ref().unwrap_or(&table.database);
    if crate::catalog::is_virtual(parent_database) {
        return Err(SqlError::referenced_table_missing(&syntax.parent.name));
    }
    let parent = if (parent_database, &syntax.parent.name) == (&table.database, &table.name) {
        Some(table)
    } else {
        let found = new.dictionary.table(parent_database, &syntax.parent.name);
        found.map(|parent| &**parent)
    };
    generated::check_foreign_key(syntax, table)?;
    let columns = columns(syntax, table)?;
    let parent_columns = if syntax.parent_columns.is_empty() {
        let Some(parent) = parent else {
            return Err(SqlError::referenced_table_missing(&syntax.parent.name));
        };
        primary_key(parent)
    } else {
        // As the parent writes them, where it is there.
        let own = |name: &String| {
            let parent = parent?;
            let column = parent.columns.get(parent.column_position(name)?)?;
            Some(column.name.clone())
        };
        let names = syntax.parent_columns.iter();
        names
            .map(|name| own(name).unwrap_or_else(|| name.clone()))
            .collect()
    };
    if parent_columns.len() != columns.len() {
        let called = syntax.name.as_deref().unwrap_or("foreign key without name");
        return Err(SqlError::wrong_foreign_key(called));
    }
    let key = ForeignKey {
        name,
        columns,
        parent_database: parent_database.clone(),
        parent: syntax.parent.name.clone(),
        parent_columns,
        on_delete: syntax.on_delete,
        on_update: syntax.on_update,
    };
    check_nulls(&key, table)?;
    ctx.check_database(parent_database)?;
    check_references(&key, ctx)?;
    Ok(key)
}

/// 1142 without REFERENCES on the parent.
fn check_references(key: &ForeignKey, ctx: &DdlContext<'_>) -> Result<(), SqlError> {
    let (database, parent) = (&key.parent_database, &key.parent);
    let rights = ctx.rights.on(Object::Table(database, parent));
    if rights.has(Privilege::References) {
        return Ok(());
    }
    let (user, host) = (ctx.account.0, ctx.host);
    let parent = format!("{database}.{parent}");
    Err(SqlError::table_access_denied(
        "REFERENCES",
        user,
        host,
        parent,
    ))
}

fn columns(syntax: &ForeignKeySyntax, table: &Table) -> Result<Vec<u16>, SqlError> {
    let mut columns = Vec::with_capacity(syntax.columns.len());
    for name in &syntax.columns {
        let position = table.column_position(name);
        let position = position.and_then(|position| u16::try_from(position).ok());
        columns.push(position.ok_or_else(|| SqlError::key_column_missing(name))?);
    }
    Ok(columns)
}

/// The columns that REFERENCES without columns means.
fn primary_key(parent: &Table) -> Vec<String> {
    let parts = parent.primary.iter().flat_map(|index| &index.parts);
    let columns = parts.filter_map(|part| parent.columns.get(usize::from(part.column)));
    columns.map(|column| column.name.clone()).collect()
}

/// 1830 for SET NULL of a column that takes none.
fn check_nulls(key: &ForeignKey, table: &Table) -> Result<(), SqlError> {
    let sets_null = [key.on_delete, key.on_update].contains(&ReferentialAction::SetNull);
    let columns = key.columns.iter();
    let columns = columns.filter_map(|position| table.columns.get(usize::from(*position)));
    match columns
        .filter(|column| !column.nullable)
        .find(|_| sets_null)
    {
        Some(column) => Err(SqlError::foreign_key_not_null(&column.name, &key.name)),
        None => Ok(()),
    }
}

/// 1826: names of foreign keys are unique in a database; one that the same statement drops still
/// has its name, as in MySQL.
fn check_free(name: &str, new: &NewKeys<'_>) -> Result<(), SqlError> {
    let tables = new.dictionary.tables(&new.table.database);
    let mut others = tables.flat_map(|table| &table.foreign_keys);
    let is_it = |key: &ForeignKey| key.name.eq_ignore_ascii_case(name);
    let taken = new.table.foreign_keys.iter().any(is_it);
    if taken || others.any(is_it) {
        return Err(SqlError::duplicate_foreign_key(name));
    }
    Ok(())
}

/// `t_ibfk_N`, with a number above those that are there, those that the same statement drops too.
fn generated_name(new: &NewKeys<'_>) -> String {
    let prefix = generated_prefix(&new.table.name);
    let before = new.dictionary.tables(&new.table.database);
    let before = before.filter(|table| Some(table.id) == new.old);
    let keys = before.flat_map(|table| &table.foreign_keys);
    let numbers = keys
        .chain(&new.table.foreign_keys)
        .filter_map(|key| key.name.strip_prefix(&prefix)?.parse::<u32>().ok());
    format!("{prefix}{}", numbers.max().unwrap_or(0) + 1)
}

/// What the names of a table's foreign keys begin with that nobody gave a name.
pub(super) fn generated_prefix(table: &str) -> String {
    format!("{table}_ibfk_")
}

/// The foreign keys of an altered table that stay, with the new positions of their columns: 1828 for
/// a column that goes, 1091 for a foreign key to drop that is not there.
pub(in crate::ddl) fn kept(
    old: &Table,
    dropped: &[String],
    sources: &[Option<usize>],
) -> Result<Vec<ForeignKey>, SqlError> {
    for name in dropped {
        let mut keys = old.foreign_keys.iter();
        if !keys.any(|key| key.name.eq_ignore_ascii_case(name)) {
            return Err(SqlError::cannot_drop(name));
        }
    }
    let stays = |key: &&ForeignKey| {
        let mut names = dropped.iter();
        !names.any(|name| key.name.eq_ignore_ascii_case(name))
    };
    let mut keys = Vec::new();
    for key in old.foreign_keys.iter().filter(stays) {
        let mut columns = Vec::with_capacity(key.columns.len());
        for position in &key.columns {
            let from = usize::from(*position);
            let to = sources.iter().position(|source| *source == Some(from));
            let to = to.and_then(|to| u16::try_from(to).ok());
            columns.push(to.ok_or_else(|| {
                let column = old.columns.get(from).map_or("", |column| &column.name);
                SqlError::column_needed_by_foreign_key(column, &key.name)
            })?);
        }
        keys.push(ForeignKey {
            columns,
            ..key.clone()
        });
    }
    Ok(keys)
}
