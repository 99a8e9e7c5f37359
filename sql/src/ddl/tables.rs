//! Creating, dropping, emptying, renaming and altering tables.

use super::{
    DdlContext, Failure, Outcome,
    alter::{self, Altered, Rows},
    check,
    column::{check_length, warn_of},
    convert::{self, Conversion, Outcome as Converted},
    default, duplicate, foreign_key, row_format,
    show::{logged_definition, logged_drop},
    storage_engine,
    syntax::{Action, CreateTable},
    table, temporary, view,
    way::Asked,
};
use crate::{
    command::TableName, error::SqlError, foreign_key_text, lexer::is_proper, output::Done,
    plan::SelectedColumn,
};
use cohort_engine::{
    txn::{Dictionary, Others, Related, SchemaChange, TxnError, concerned_children, restore},
    types::{Index, IndexPart, Table, TableId},
};
use parking_lot::Mutex;
use std::sync::Arc;

/// What a new table's name must be: 1059, 1103, 1049.
pub(super) fn check_name(
    dictionary: &Dictionary,
    database: &str,
    name: &str,
) -> Result<(), SqlError> {
    check_length(name)?;
    if !is_proper(name) {
        return Err(SqlError::wrong_table_name(name));
    }
    if dictionary.database(database).is_none() {
        return Err(SqlError::unknown_database(database));
    }
    Ok(())
}

/// A table that is to be made.
pub(super) struct Target<'a> {
    /// Its name.
    pub name: &'a TableName,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// TEMPORARY.
    pub temporary: bool,
}

impl Target<'_> {
    /// Whether it is there already, which IF NOT EXISTS only notes. Temporary tables and others are
    /// not in each other's way.
    fn exists(
        &self,
        dictionary: &Dictionary,
        ctx: &DdlContext<'_>,
    ) -> Result<Option<SqlError>, SqlError> {
        let (database, name) = ctx.resolve(self.name)?;
        let is_there = match self.temporary {
            true => ctx.temporary(self.name)?.is_some(),
            false => dictionary.has(database, name),
        };
        let error = SqlError::table_exists(name);
        match (is_there, self.if_not_exists) {
            (false, _) => Ok(None),
            (true, true) => Ok(Some(error)),
            (true, false) => Err(error),
        }
    }
}

pub(super) fn create(create: &CreateTable, text: &str, ctx: &mut DdlContext<'_>) -> Outcome {
    let dictionary = ctx.engine.dictionary();
    let (database, name) = ctx.resolve(&create.name)?;
    check_name(&dictionary, database, name)?;
    let target = Target {
        name: &create.name,
        if_not_exists: create.if_not_exists,
        temporary: create.temporary,
    };
    // Whatever else is wrong with the definition, nobody needs it then.
    if let Some(note) = target.exists(&dictionary, ctx)? {
        storage_engine::check(&create.options, &create.name.name, true, ctx)?;
        ctx.warnings.note(note);
        return Ok(Done::default());
    }
    let Some(database) = dictionary.database(database) else {
        return Err(SqlError::unknown_database(database).into());
    };
    temporary::check_new(create)?;
    let mut related = Related::default();
    let around = temporary::seen(create.temporary, &dictionary);
    let table = table::define(create, &[], &around, database, &mut related, ctx)?;
    check_primary_key(&table, ctx)?;
    if create.temporary {
        temporary::create(table, ctx);
        return Ok(Done::default());
    }
    let change = SchemaChange::CreateTable(table);
    ctx.change(&dictionary, change, related, text)?;
    Ok(Done::default())
}

/// A table for the rows of a query.
pub struct CreatedTable {
    /// Its definition, with numbers of its own.
    pub table: Table,
    /// Where the columns of the query go.
    pub columns: Vec<usize>,
    /// What else its commit has to do with.
    pub related: Related,
}

/// The table that CREATE TABLE … SELECT makes; `None`: it is there, and IF NOT EXISTS was said.
pub fn define_selected(
    create: &CreateTable,
    selected: &[SelectedColumn],
    ctx: &mut DdlContext<'_>,
) -> Result<Option<CreatedTable>, SqlError> {
    let dictionary = ctx.engine.dictionary();
    let (database, name) = ctx.resolve(&create.name)?;
    check_name(&dictionary, database, name)?;
    let target = Target {
        name: &create.name,
        if_not_exists: create.if_not_exists,
        temporary: create.temporary,
    };
    if let Some(note) = target.exists(&dictionary, ctx)? {
        ctx.warnings.note(note);
        return Ok(None);
    }
    let Some(database) = dictionary.database(database) else {
        return Err(SqlError::unknown_database(database));
    };
    temporary::check_new(create)?;
    if !create.foreign_keys.is_empty() {
        return Err(SqlError::foreign_key_of_selected());
    }
    let mut related = Related::default();
    let around = temporary::seen(create.temporary, &dictionary);
    let table = table::define(create, selected, &around, database, &mut related, ctx)?;
    check_primary_key(&table, ctx)?;
    let mut table = table;
    if create.temporary {
        temporary::renumber(&mut table, ctx);
    }
    let change = SchemaChange::CreateTable(table.clone());
    related.children = concerned_children(&dictionary, &change);
    let position = |column: &SelectedColumn| table.column_position(&column.name);
    let columns = selected.iter().filter_map(position).collect();
    Ok(Some(CreatedTable {
        table,
        columns,
        related,
    }))
}

/// 3750 for a table without a primary key, or a unique one without NULL, if one is required.
pub(super) fn check_primary_key(table: &Table, ctx: &DdlContext<'_>) -> Result<(), SqlError> {
    let never_null = |part: &IndexPart| {
        let column = table.columns.get(usize::from(part.column));
        column.is_some_and(|column| !column.nullable) && part.prefix.is_none()
    };
    let identifies = |index: &Index| index.unique && index.parts.iter().all(never_null);
    let mut keys = table.primary.iter().chain(&table.indexes);
    if ctx.primary_key_required && !keys.any(identifies) {
        return Err(SqlError::table_without_primary_key());
    }
    Ok(())
}

pub(super) fn create_like(
    target: &Target<'_>,
    like: &TableName,
    text: &str,
    ctx: &mut DdlContext<'_>,
) -> Outcome {
    let dictionary = ctx.engine.dictionary();
    let (database, new_name) = ctx.resolve(target.name)?;
    if ctx.resolve(like)? == (database, new_name) {
        return Err(SqlError::not_unique_table(new_name).into());
    }
    let copied = match ctx.temporary(like)? {
        Some(own) => own,
        None => ctx.base_table(&dictionary, like)?,
    };
    check_name(&dictionary, database, new_name)?;
    if let Some(note) = target.exists(&dictionary, ctx)? {
        ctx.warnings.note(note);
        return Ok(Done::default());
    }
    let mut table = Table::clone(&copied);
    table.database = database.to_string();
    table.name = new_name.to_string();
    table.auto_increment_min = 0;
    table.foreign_keys.clear();
    check::copied(&mut table);
    let around = temporary::seen(target.temporary, &dictionary);
    check::check_names(&[(None, &table)], &around)?;
    table.created = table::created(ctx);
    for column in &mut table.columns {
        column.histogram = None;
        default::check_kept(column, ctx)?;
        warn_of(column, ctx.warnings);
    }
    if target.temporary {
        row_format::check_temporary(&table, ctx)?;
        temporary::create(table, ctx);
        return Ok(Done::default());
    }
    table::renumber(&mut table, || ctx.engine.new_id());
    check_primary_key(&table, ctx)?;
    // Nobody else knows what a temporary table is like.
    let own_text = copied
        .is_temporary()
        .then(|| logged_definition(&table, ctx.session.time_zone));
    let text = own_text.as_deref().unwrap_or(text);
    let mut related = Related::default();
    foreign_key::created(&table, &dictionary, &mut related, ctx)?;
    let change = SchemaChange::CreateTable(table);
    ctx.change(&dictionary, change, related, text)?;
    Ok(Done::default())
}

/// DROP TABLE; of a name that a temporary table has, it is that one which goes.
pub(super) fn drop(
    tables: &[TableName],
    (temporary_only, if_exists): (bool, bool),
    text: &str,
    ctx: &mut DdlContext<'_>,
) -> Outcome {
    let dictionary = ctx.engine.dictionary();
    let mut own: Vec<TableId> = Vec::new();
    let mut found: Vec<&Table> = Vec::with_capacity(tables.len());
    let mut missing: Vec<String> = Vec::new();
    for (position, table) in tables.iter().enumerate() {
        let (database, name) = ctx.resolve(table)?;
        for other in tables.iter().take(position) {
            if ctx.resolve(other)? == (database, name) {
                return Err(SqlError::not_unique_table(name).into());
            }
        }
        let listed = dictionary.table(database, name);
        match (ctx.temporary(table)?, listed) {
            (Some(table), _) => own.push(table.id),
            (None, Some(table)) if !temporary_only => found.push(table),
            (None, _) => missing.push(format!("{database}.{name}")),
        }
    }
    if !missing.is_empty() {
        let error = SqlError::unknown_table(missing.join(","));
        if !if_exists {
            return Err(error.into());
        }
        ctx.warnings.note(error);
    }
    if !found.is_empty() {
        // Others have no temporary tables of these names.
        let own_text = (!own.is_empty()).then(|| logged_drop(&found));
        let text = own_text.as_deref().unwrap_or(text);
        let found: Vec<TableId> = found.iter().map(|table| table.id).collect();
        foreign_key::dropped(&found, &dictionary, ctx)?;
        let change = SchemaChange::DropTables(found);
        ctx.change(&dictionary, change, Related::default(), text)?;
    }
    for id in own {
        ctx.engine.drop_temporary(ctx.owner, id);
    }
    Ok(Done::default())
}

pub(super) fn truncate(name: &TableName, text: &str, ctx: &mut DdlContext<'_>) -> Outcome {
    if let Some(own) = ctx.temporary(name)? {
        temporary::truncate(&own, ctx);
        return Ok(Done::default());
    }
    let dictionary = ctx.engine.dictionary();
    let table = ctx.table(&dictionary, name)?;
    foreign_key::truncated(&table, &dictionary, ctx)?;
    let change = SchemaChange::Truncate(table.id);
    ctx.change(&dictionary, change, Related::default(), text)?;
    Ok(Done::default())
}

pub(super) fn rename(
    renames: &[(TableName, TableName)],
    text: &str,
    ctx: &mut DdlContext<'_>,
) -> Outcome {
    if let Some(done) = view::rename(renames, text, ctx)? {
        return Ok(done);
    }
    let dictionary = ctx.engine.dictionary();
    // Renames happen one after the other: where a table is by now, and its number.
    let mut moved: Vec<((&str, &str), TableId)> = Vec::new();
    for (from, to) in renames {
        let source = ctx.resolve(from)?;
        let target = ctx.resolve(to)?;
        let Some(id) = whose(&dictionary, &moved, source) else {
            return Err(SqlError::no_such_table(source.0, source.1).into());
        };
        check_name(&dictionary, target.0, target.1)?;
        let is_view = dictionary.view(target.0, target.1).is_some();
        if is_view || whose(&dictionary, &moved, target).is_some() {
            return Err(SqlError::table_exists(target.1).into());
        }
        moved.retain(|(_, other)| *other != id);
        moved.push((target, id));
    }
    let moved = moved.into_iter();
    let moved = moved.map(|((database, name), id)| (id, database.into(), name.into()));
    move_tables(moved.collect(), &dictionary, text, ctx)?;
    Ok(Done::default())
}

/// Gives tables other names.
fn move_tables(
    moved: Vec<(TableId, String, String)>,
    dictionary: &Dictionary,
    text: &str,
    ctx: &mut DdlContext<'_>,
) -> Result<(), Failure> {
    let mut related = Related::default();
    foreign_key::renamed(&moved, dictionary, &mut related, ctx)?;
    ctx.change(dictionary, SchemaChange::Rename(moved), related, text)?;
    Ok(())
}

/// The table that has a name after some renames.
fn whose(
    dictionary: &Dictionary,
    moved: &[((&str, &str), TableId)],
    place: (&str, &str),
) -> Option<TableId> {
    if let Some((_, id)) = moved.iter().find(|(other, _)| *other == place) {
        return Some(*id);
    }
    let table = dictionary.table(place.0, place.1)?;
    let gone = moved.iter().any(|(_, id)| *id == table.id);
    (!gone).then_some(table.id)
}

/// "Records: 3  Duplicates: 0  Warnings: 0"
pub(super) fn records(rows: u64, warnings: u64) -> Done {
    Done {
        affected_rows: rows,
        info: format!("Records: {rows}  Duplicates: 0  Warnings: {warnings}"),
        ..Done::default()
    }
}

pub(super) fn alter(
    name: &TableName,
    actions: &[Action],
    text: &str,
    ctx: &mut DdlContext<'_>,
) -> Outcome {
    let asked = Asked::of(actions)?;
    if let Some(own) = ctx.temporary(name)? {
        return temporary::alter(&own, actions, ctx);
    }
    let dictionary = ctx.engine.dictionary();
    let old = ctx.base_table(&dictionary, name)?;
    let place = new_place(&old, actions, &dictionary, ctx)?;
    if !asked.copies() && !actions.iter().any(Action::changes_table) {
        asked.check_names()?;
        if actions.contains(&Action::Keys) {
            ctx.warnings.note(SqlError::illegal_alter_option(&old.name));
        }
        if let Some((database, name)) = place {
            move_tables(vec![(old.id, database, name)], &dictionary, text, ctx)?;
        }
        return Ok(Done::default());
    }
    let mut altered = alter::alter(&old, actions, &dictionary, ctx)?;
    if let Some((database, name)) = &place {
        let Altered { table, related, .. } = &mut altered;
        let place = (database.as_str(), name.as_str());
        foreign_key::moved_and_altered(&old, table, place, &dictionary, related, ctx)?;
    }
    check_primary_key(&altered.table, ctx)?;
    let (before, new) = (Arc::clone(&old), altered.table.clone());
    let change = match &altered.rows {
        Rows::Rewritten => {
            return rebuild(&old, altered, asked.others(), &dictionary, text, ctx);
        }
        Rows::Reshaped(reshape) => SchemaChange::Reshape {
            old: before,
            new,
            reshape: reshape.clone(),
        },
        Rows::Stay => SchemaChange::AlterInPlace {
            old: before,
            new,
            others: asked.others(),
        },
    };
    let related = std::mem::take(&mut altered.related);
    ctx.change(&dictionary, change, related, text)
        .map_err(|error| refused(error, &old, &altered, ctx))?;
    Ok(records(0, ctx.warnings.count()))
}

/// Where RENAME TO puts the table.
pub(super) fn new_place(
    old: &Table,
    actions: &[Action],
    dictionary: &Dictionary,
    ctx: &DdlContext<'_>,
) -> Result<Option<(String, String)>, SqlError> {
    let mut renames = actions.iter().filter_map(|action| match action {
        Action::RenameTo(to) => Some(to),
        _ => None,
    });
    let Some(to) = renames.next_back() else {
        return Ok(None);
    };
    let (database, name) = match &to.database {
        None => (old.database.as_str(), to.name.as_str()),
        Some(_) => ctx.resolve(to)?,
    };
    if (database, name) == (&old.database, &old.name) {
        return Ok(None);
    }
    check_name(dictionary, database, name)?;
    let is_taken = match old.is_temporary() {
        true => ctx
            .engine
            .temporary_table(ctx.owner, database, name)
            .is_some(),
        false => dictionary.has(database, name),
    };
    if is_taken {
        return Err(SqlError::table_exists(name));
    }
    Ok(Some((database.to_string(), name.to_string())))
}

fn rebuild(
    old: &Arc<Table>,
    mut altered: Altered,
    others: Others,
    dictionary: &Dictionary,
    text: &str,
    ctx: &mut DdlContext<'_>,
) -> Outcome {
    let related = std::mem::take(&mut altered.related);
    // Whoever repeats it has another counter: rows that were rolled back are not in the log.
    let text = match altered.numbered_on {
        true => format!(
            "{text}\n, AUTO_INCREMENT = {}",
            altered.table.auto_increment_min
        ),
        false => text.to_string(),
    };
    let outcome = Arc::new(Mutex::new(Converted::default()));
    let new = altered.table.clone();
    let mut conversion = Conversion::new(
        old,
        &new,
        &altered,
        (ctx.session, ctx.auto_increment),
        &outcome,
    )?;
    let change = SchemaChange::Rebuild {
        old: Arc::clone(old),
        new,
        numbers: conversion.numbers(),
        now_micros: ctx.session.now_micros,
        settings: convert::settings(ctx.session),
        others: others.min(conversion.others()),
        convert: Box::new(move |which, image, out| conversion.convert(which, image, out)),
    };
    let result = ctx.change(dictionary, change, related, &text);
    let mut converted = outcome.lock();
    if let (Err(TxnError::Conversion(_)), Some(error)) = (&result, converted.error.take()) {
        return Err(error.into());
    }
    result.map_err(|error| refused(error, old, &altered, ctx))?;
    for condition in converted.warnings.list() {
        ctx.warnings.push(condition.level, condition.error.clone());
    }
    let rows = if altered.copies { converted.rows } else { 0 };
    Ok(records(rows, ctx.warnings.count()))
}

/// Tells `with` what an ALTER TABLE makes of its table, and of its rows. Nothing is changed.
pub(super) fn converted(
    name: &TableName,
    actions: &[Action],
    ctx: &mut DdlContext<'_>,
    with: &mut restore::Converted<'_>,
) -> Result<(), SqlError> {
    let dictionary = ctx.engine.dictionary();
    let old = ctx.base_table(&dictionary, name)?;
    let altered = alter::alter(&old, actions, &dictionary, ctx)?;
    let new = altered.table.clone();
    let outcome = Arc::new(Mutex::new(Converted::default()));
    let mut conversion = Conversion::new(
        &old,
        &new,
        &altered,
        (ctx.session, ctx.auto_increment),
        &outcome,
    )?;
    with(&new, &mut |which, image, out| {
        conversion.convert(which, image, out)
    })?;
    Ok(())
}

/// 1062 for rows that a new unique key does not take, 1452 for those without a parent.
fn refused(error: TxnError, old: &Arc<Table>, altered: &Altered, ctx: &DdlContext<'_>) -> Failure {
    match error {
        TxnError::DuplicateKey { index } => duplicate::error(&index, old, altered, ctx).into(),
        TxnError::ForeignKey { name } => {
            let table = &altered.table;
            let key = table.foreign_keys.iter().find(|key| key.name == name);
            let clause = key.map(|key| foreign_key_text::clause(key, table));
            let clause = clause.unwrap_or_default();
            SqlError::no_referenced_row(&table.database, &table.name, clause).into()
        }
        other => other.into(),
    }
}
