//! Tables: what CREATE TABLE and ALTER TABLE have in common.

use super::{
    DdlContext, check as checks,
    column::{self, Draft, sizes},
    default,
    foreign_key::{self, NewKeys},
    fulltext, functional, generated,
    key::{self, Defined},
    row_format, selected, storage_engine,
    syntax::{CreateTable, TableOptions},
};
use crate::{error::SqlError, plan::SelectedColumn};
use cohort_engine::{
    txn::{Dictionary, Related},
    types::{
        Index, Table,
        schema::{Database, TreeId},
    },
};

/// The most bytes of a row, TEXT and BLOB values not counted.
const ROW_BYTES_MAX: u32 = 65_535;
/// The most columns of a table.
const COLUMNS_MAX: usize = 1017;
/// Options in the order in which they are shown.
const SHOWN: [&str; 11] = [
    "MIN_ROWS",
    "MAX_ROWS",
    "AVG_ROW_LENGTH",
    "PACK_KEYS",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "ROW_FORMAT",
    "KEY_BLOCK_SIZE",
];

/// The table that a CREATE TABLE makes, with new numbers.
pub(super) fn define(
    create: &CreateTable,
    selected: &[SelectedColumn],
    dictionary: &Dictionary,
    database: &Database,
    related: &mut Related,
    ctx: &mut DdlContext,
) -> Result<Table, SqlError> {
    storage_engine::check(&create.options, &create.name.name, true, ctx)?;
    let collation = create.options.charset.resolve()?;
    let collation = collation.unwrap_or(database.collation);
    let comment = comment(&create.name.name, &create.options, ctx)?;
    let mut drafts = Vec::with_capacity(create.columns.len());
    for syntax in &create.columns {
        drafts.push(column::define(
            syntax,
            collation,
            ctx.session,
            ctx.warnings,
        )?);
    }
    create.options.charset.warn(ctx.warnings);
    if !selected.is_empty() {
        let (session, warnings) = (ctx.session, &mut *ctx.warnings);
        drafts = selected::merge(&create.columns, drafts, selected, session, warnings)?;
    }
    check_columns(&drafts)?;
    default::define(&mut drafts, ctx)?;
    generated::define(&mut drafts, ctx)?;
    let name = &create.name.name;
    let table = (database.name.as_str(), name.as_str());
    let mut keys = create.keys.clone();
    keys.extend(foreign_key::generated_keys(&create.foreign_keys));
    foreign_key::drop_redundant(&mut keys);
    functional::define(&mut keys, 0, &mut drafts, ctx)?;
    generated::check_primary(&keys, &drafts)?;
    let limits = (ctx.is_strict(), row_format::part_max(&create.options));
    let syntaxes = keys;
    let keys = key::define(&syntaxes, 0, &mut drafts, table, limits, ctx.warnings)?;
    selected::without_defaults(&mut drafts, &keys, selected);
    check(&drafts, &keys)?;
    let rows = ctx.engine.new_id();
    let trees = with_trees(keys, rows, |_, _| ctx.engine.new_id());
    let texts = trees.texts.into_iter().map(|(position, index)| {
        let parser = syntaxes.get(position).and_then(|key| key.parser.as_deref());
        fulltext::define(index, parser, ctx)
    });
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    if create.temporary && !texts.is_empty() {
        return Err(SqlError::fulltext_on_temporary());
    }
    let mut table = Table {
        id: ctx.engine.new_id(),
        database: database.name.clone(),
        name: name.clone(),
        columns: drafts.into_iter().map(|draft| draft.column).collect(),
        rows,
        primary: trees.primary,
        indexes: trees.indexes,
        since: 0,
        built: Vec::new(),
        collation,
        comment: comment.unwrap_or_default(),
        auto_increment_min: 0,
        map: Default::default(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        fulltext: texts,
        options: String::new(),
        created: created(ctx),
    };
    apply_options(&mut table, &create.options)?;
    if table.auto_increment_column().is_none() {
        table.auto_increment_min = 0;
    }
    checks::add(&mut table, &create.checks, dictionary, None, ctx)?;
    let new = NewKeys {
        table: &mut table,
        dictionary,
        old: None,
    };
    foreign_key::add(new, &create.foreign_keys, related, ctx)?;
    foreign_key::created(&table, dictionary, related, ctx)?;
    checks::check_foreign_keys(&table, ctx.session)?;
    generated::check_base_columns(&table, ctx.session)?;
    let statement = (row_format::Statement::Create, create.temporary);
    row_format::check(&create.options, &mut table, statement, ctx)?;
    Ok(table)
}

/// The time of the statement, in seconds since 1970.
pub(super) fn created(ctx: &DdlContext) -> u64 {
    u64::try_from(ctx.session.now_micros / 1_000_000).unwrap_or(0)
}

/// The keys of a table with their trees.
pub(super) struct Trees {
    pub primary: Option<Index>,
    pub indexes: Vec<Index>,
    /// FULLTEXT ones, and the positions of their syntax.
    pub texts: Vec<(usize, Index)>,
}

/// Splits the keys into primary key and others and gives each its tree.
pub(super) fn with_trees(
    keys: Vec<Defined>,
    rows: TreeId,
    mut tree: impl FnMut(usize, &Index) -> TreeId,
) -> Trees {
    let mut trees = Trees {
        primary: None,
        indexes: Vec::with_capacity(keys.len()),
        texts: Vec::new(),
    };
    for key in keys {
        let (mut index, syntax) = (key.index, key.syntax);
        if index.name == "PRIMARY" {
            index.tree = rows;
            trees.primary = Some(index);
            continue;
        }
        index.tree = tree(syntax, &index);
        match key.fulltext {
            true => trees.texts.push((syntax, index)),
            false => trees.indexes.push(index),
        }
    }
    trees
}

/// What must hold of a table's columns among themselves.
pub(super) fn check_columns(drafts: &[Draft]) -> Result<(), SqlError> {
    if drafts.len() > COLUMNS_MAX {
        return Err(SqlError::too_many_columns());
    }
    let mut names = rustc_hash::FxHashSet::default();
    for draft in drafts {
        if !names.insert(draft.column.name.to_lowercase()) {
            return Err(SqlError::duplicate_column(&draft.column.name));
        }
    }
    Ok(())
}

/// What must hold of a table's columns and keys together.
pub(super) fn check(drafts: &[Draft], keys: &[Defined]) -> Result<(), SqlError> {
    let mut columns = drafts.iter().map(|draft| &draft.column);
    if !columns.any(|column| column.visibility.is_visible()) {
        return Err(SqlError::table_without_columns());
    }
    let mut auto = drafts
        .iter()
        .enumerate()
        .filter(|(_, draft)| draft.column.auto_increment);
    if let Some((position, _)) = auto.next() {
        let leads = |key: &Defined| {
            let first = key.index.parts.first();
            first.is_some_and(|part| usize::from(part.column) == position)
        };
        if auto.next().is_some() || !keys.iter().any(leads) {
            return Err(SqlError::wrong_auto_key());
        }
    }
    let bytes: u64 = drafts
        .iter()
        .map(|draft| u64::from(sizes(&draft.column).0))
        .sum();
    let nullable = drafts.iter().filter(|draft| draft.column.nullable).count();
    let bits = nullable.div_ceil(8) as u64;
    if bytes + bits > u64::from(ROW_BYTES_MAX) {
        return Err(SqlError::row_too_large(ROW_BYTES_MAX));
    }
    Ok(())
}

/// The comment that the options say.
pub(super) fn comment(
    table: &str,
    options: &TableOptions,
    ctx: &mut DdlContext<'_>,
) -> Result<Option<String>, SqlError> {
    const COMMENT_MAX: usize = 2048;
    let Some(comment) = &options.comment else {
        return Ok(None);
    };
    let strict = ctx.is_strict();
    column::comment(comment, ("table", table), COMMENT_MAX, strict, ctx.warnings).map(Some)
}

/// Options other than ENGINE, the character set and the comment.
pub(super) fn apply_options(table: &mut Table, options: &TableOptions) -> Result<(), SqlError> {
    if let Some(next) = options.auto_increment {
        table.auto_increment_min = next;
    }
    for (name, value) in &options.others {
        // For some, 0 is another value than the default.
        let zero_counts = name.starts_with("STATS_") || *name == "PACK_KEYS";
        let is_kept = value != "DEFAULT" && value != row_format::FIXED;
        let is_kept = is_kept && (value != "0" || zero_counts);
        set_option(table, name, is_kept.then_some(value.as_str()));
    }
    Ok(())
}

/// Gives a table another value of an option, or takes the option away.
pub(super) fn set_option(table: &mut Table, name: &str, value: Option<&str>) {
    let prefix = format!("{name}=");
    let kept = table
        .options
        .split(' ')
        .filter(|option| !option.is_empty() && !option.starts_with(&prefix));
    let mut kept: Vec<String> = kept.map(str::to_string).collect();
    kept.extend(value.map(|value| format!("{prefix}{value}")));
    kept.sort_by_key(|option| {
        SHOWN
            .iter()
            .position(|name| option.split('=').next() == Some(name))
    });
    table.options = kept.join(" ");
}

/// Gives a copy of a definition new numbers, without rows.
pub(super) fn renumber(table: &mut Table, mut new_id: impl FnMut() -> u32) {
    table.id = new_id();
    table.rows = new_id();
    table.begin_anew();
    if let Some(primary) = &mut table.primary {
        primary.tree = table.rows;
    }
    for index in &mut table.indexes {
        index.tree = new_id();
    }
    for text in &mut table.fulltext {
        text.index.tree = new_id();
    }
}
