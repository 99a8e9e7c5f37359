//! ALTER TABLE: from a table and actions to the table after them.
//!
//! As in MySQL, all actions look at the table as it was, whatever their order: columns are
//! dropped, changed and renamed by their old names, then moved and added, then the keys are
//! written anew with the new names.

use super::{
    DdlContext, check,
    column::{self, Draft, check_length},
    default,
    foreign_key::{self, NewKeys},
    fulltext, functional, generated, key, reshape, row_format, storage_engine,
    syntax::{Action, ColumnSyntax, DefaultSyntax, ForeignKeySyntax, KeySyntax, Place},
    table,
    way::{Asked, Change},
};
use crate::{error::SqlError, lexer::is_proper};
use cohort_engine::{
    txn::{Dictionary, Related},
    types::{
        Collation, Column, ColumnType, FullText, Index, Table,
        row::Reshape,
        schema::{DefaultValue, TreeId, Visibility},
    },
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What becomes of a table's rows.
pub(super) enum Rows {
    /// They stay as they are.
    Stay,
    /// They have another shape.
    Reshaped(Reshape),
    /// They are written anew.
    Rewritten,
}

/// What becomes of a table.
pub(super) struct Altered {
    /// The table after the change: with its old numbers if the rows stay as they are.
    pub table: Table,
    /// For each column, which one of before it comes from.
    pub sources: Vec<Option<usize>>,
    /// What becomes of the rows.
    pub rows: Rows,
    /// Whether AUTO_INCREMENT does not go on where it was.
    pub restart: bool,
    /// Whether the rows' numbers begin at the table's counter, which only this server knows.
    pub numbered_on: bool,
    /// Whether MySQL would copy the rows, and counts them as affected.
    pub copies: bool,
    /// The tables that its foreign keys, and those of others, lead to.
    pub related: Related,
}

/// The table after the actions. Its name is left as it is: see `RenameTo`.
pub(super) fn alter(
    old: &Arc<Table>,
    actions: &[Action],
    dictionary: &Dictionary,
    ctx: &mut DdlContext,
) -> Result<Altered, SqlError> {
    let asked = Asked::of(actions)?;
    let mut new = Table::clone(old);
    let mut columns = drafts(old, &mut new, actions, ctx)?;
    let Keys {
        mut keys,
        origins,
        known,
    } = keys(old, actions, &columns)?;
    functional::define(&mut keys, known, &mut columns, ctx)?;
    generated::check_primary(&keys, &columns)?;
    let name = (old.database.as_str(), old.name.as_str());
    let defined = key::define(
        &keys,
        known,
        &mut columns,
        name,
        (ctx.is_strict(), row_format::part_max_in(&new)),
        ctx.warnings,
    )?;
    table::check(&columns, &defined)?;

    let sources: Vec<Option<usize>> = columns.iter().map(|draft| draft.source).collect();
    new.columns = columns.into_iter().map(|draft| draft.column).collect();
    keep_histograms(old, &mut new, &sources);
    let primary = defined
        .iter()
        .map(|key| &key.index)
        .find(|index| index.name == "PRIMARY");
    let is_rebuild = |action: &Action| matches!(action, Action::Rebuild);
    let forced = asked.copies() || actions.iter().any(is_rebuild);
    let checked = check::alter(old, &mut new, actions, &sources, dictionary, ctx)?;
    let counter = Counter::of(old, &new, &sources, actions);
    let restart = counter.restarts(old, ctx);
    new.auto_increment_min = counter.begin(old, ctx);
    let rewritten = forced || checked || restart;
    let stays = !rewritten && same_rows(old, &new, &sources, primary);
    let functional = functional::copies(old, &new.columns, &defined, &sources);
    let reused = |position: usize, index: &Index| -> Option<TreeId> {
        let origin = origins.get(position)?.as_ref()?;
        same_parts(origin, index, &sources).then_some(origin.tree)
    };
    let trees = table::with_trees(defined, new.rows, |position, index| {
        reused(position, index).unwrap_or_else(|| ctx.engine.new_id())
    });
    (new.primary, new.indexes) = (trees.primary, trees.indexes);
    new.fulltext = texts(trees.texts, old, (&keys, &origins), ctx)?;
    let related = foreign_keys(old, &mut new, actions, &sources, dictionary, ctx)?;
    check::check_foreign_keys(&new, ctx.session)?;
    generated::check_base_columns(&new, ctx.session)?;
    let change = Change {
        old,
        new: &new,
        sources: &sources,
        actions,
        checked,
        functional,
    };
    let copies = asked.copied(&change, dictionary, ctx)?;
    let rows = match (stays, rewritten || copies || !asked.lets_reshape()) {
        (true, _) => Rows::Stay,
        (false, true) => Rows::Rewritten,
        (false, false) => reshape::of(&change, asked, ctx)?.map_or(Rows::Rewritten, Rows::Reshaped),
    };
    match rows {
        Rows::Stay => {}
        Rows::Reshaped(_) => {
            new.rows = ctx.engine.new_id();
            let primary = new.primary.iter_mut();
            primary.for_each(|index| index.tree = new.rows);
        }
        Rows::Rewritten => table::renumber(&mut new, || ctx.engine.new_id()),
    }
    Ok(Altered {
        table: new,
        sources,
        rows,
        restart,
        numbered_on: counter == Counter::Inherited,
        copies,
        related,
    })
}

/// Its columns after the actions. What is said of the whole table is put into `new`.
fn drafts(
    old: &Table,
    new: &mut Table,
    actions: &[Action],
    ctx: &mut DdlContext,
) -> Result<Vec<Draft>, SqlError> {
    let convert = options(new, actions, ctx)?;
    let mut columns = columns(old, actions, new.collation, ctx)?;
    if let Some(collation) = convert {
        for draft in columns.iter_mut().filter(|draft| draft.source.is_some()) {
            if draft.column.ty.has_collation() && !draft.column.is_binary() {
                column::convert(&mut draft.column, collation)?;
            }
        }
    }
    if columns.is_empty() {
        return Err(SqlError::cannot_remove_all_columns());
    }
    table::check_columns(&columns)?;
    generated::check_changes(old, &columns, actions, ctx.session)?;
    default::check_changes(old, &columns, ctx.session)?;
    for draft in &columns {
        default::check_kept(&draft.column, ctx)?;
    }
    default::define(&mut columns, ctx)?;
    generated::define(&mut columns, ctx)?;
    Ok(columns)
}

/// Its FULLTEXT indexes: those that were there take texts apart as they did.
fn texts(
    found: Vec<(usize, Index)>,
    old: &Table,
    (keys, origins): (&[KeySyntax], &[Option<Index>]),
    ctx: &DdlContext<'_>,
) -> Result<Vec<FullText>, SqlError> {
    if old.is_temporary() && !found.is_empty() {
        return Err(SqlError::fulltext_on_temporary());
    }
    let text = |(position, index): (usize, Index)| {
        let origin = origins.get(position).and_then(Option::as_ref);
        let origin = origin.and_then(|origin| old.fulltext_named(&origin.name));
        let parser = keys.get(position).and_then(|key| key.parser.as_deref());
        match origin {
            Some(origin) => Ok(fulltext::kept(origin, index)),
            None => fulltext::define(index, parser, ctx),
        }
    };
    found.into_iter().map(text).collect()
}

/// Gives the new table, complete but for them, its foreign keys.
fn foreign_keys(
    old: &Arc<Table>,
    new: &mut Table,
    actions: &[Action],
    sources: &[Option<usize>],
    dictionary: &Dictionary,
    ctx: &mut DdlContext,
) -> Result<Related, SqlError> {
    let mut related = Related::default();
    new.foreign_keys = foreign_key::kept(old, &dropped_foreign_keys(old, actions), sources)?;
    let to_add = NewKeys {
        table: new,
        dictionary,
        old: Some(old.id),
    };
    let added = added_foreign_keys(actions);
    foreign_key::add(to_add, &added, &mut related, ctx)?;
    foreign_key::altered(old, new, sources, dictionary, &mut related, ctx)?;
    Ok(related)
}

fn added_foreign_keys(actions: &[Action]) -> Vec<ForeignKeySyntax> {
    let added = actions.iter().filter_map(|action| match action {
        Action::AddForeignKey(key) => Some(key.clone()),
        _ => None,
    });
    added.collect()
}

/// The names of the foreign keys that actions drop, by whichever of their words.
fn dropped_foreign_keys(old: &Table, actions: &[Action]) -> Vec<String> {
    let dropped = actions.iter().filter_map(|action| match action {
        Action::DropForeignKey(name) => Some(name.clone()),
        Action::DropConstraint(name) if old.foreign_key_named(name).is_some() => Some(name.clone()),
        _ => None,
    });
    dropped.collect()
}

/// Applies the table's options; returns the collation that all columns are converted to.
fn options(
    new: &mut Table,
    actions: &[Action],
    ctx: &mut DdlContext,
) -> Result<Option<Collation>, SqlError> {
    let mut convert = None;
    for action in actions {
        match action {
            Action::Options(options) => {
                storage_engine::check(options, &new.name, false, ctx)?;
                options.charset.warn(ctx.warnings);
                if let Some(collation) = options.charset.resolve()? {
                    new.collation = collation;
                }
                if let Some(comment) = table::comment(&new.name, options, ctx)? {
                    new.comment = comment;
                }
                table::apply_options(new, options)?;
            }
            Action::Convert(charset) => {
                charset.warn(ctx.warnings);
                let collation = charset.resolve()?.unwrap_or(new.collation);
                if collation.is_binary() {
                    return Err(SqlError::not_supported("CONVERT TO CHARACTER SET binary"));
                }
                new.collation = collation;
                convert = Some(collation);
            }
            Action::Keys => {
                ctx.warnings.note(SqlError::illegal_alter_option(&new.name));
            }
            _ => {}
        }
    }
    for action in actions {
        if let Action::Options(options) = action {
            let statement = (row_format::Statement::Alter, new.is_temporary());
            row_format::check(options, new, statement, ctx)?;
        }
    }
    Ok(convert)
}

fn unknown(name: &str, table: &Table) -> SqlError {
    SqlError::unknown_column(name, &table.name)
}

/// The position of a column of the old table that an action names.
fn named(table: &Table, name: &str) -> Result<usize, SqlError> {
    table
        .column_position(name)
        .ok_or_else(|| unknown(name, table))
}

fn columns(
    old: &Table,
    actions: &[Action],
    collation: Collation,
    ctx: &mut DdlContext,
) -> Result<Vec<Draft>, SqlError> {
    let existing = old.columns.iter().enumerate();
    let mut slots: Vec<Option<Draft>> = existing
        .map(|(position, column)| Some(Draft::existing(column, position)))
        .collect();
    // New definitions that do not stay in the place of an old one, in order.
    let mut placed: Vec<(Draft, &Place)> = Vec::new();
    let mut changed = BTreeSet::new();
    let define = |syntax: &ColumnSyntax, ctx: &mut DdlContext| {
        column::define(syntax, collation, ctx.session, ctx.warnings)
    };
    for action in actions {
        match action {
            Action::DropColumn(name) => {
                functional::check_drop(name, old)?;
                let position = old.column_position(name);
                let slot = position.and_then(|position| slots.get_mut(position));
                if slot.and_then(Option::take).is_none() {
                    return Err(SqlError::cannot_drop(name));
                }
            }
            Action::ChangeColumn(name, syntax, place) => {
                let position = named(old, name)?;
                let Some(slot) = slots.get_mut(position).filter(|slot| slot.is_some()) else {
                    return Err(unknown(name, old));
                };
                // Once it is changed, nothing finds it by its old name.
                if !changed.insert(position) {
                    return Err(unknown(name, old));
                }
                let mut draft = define(syntax, ctx)?;
                draft.source = Some(position);
                if *place == Place::Same {
                    *slot = Some(draft);
                } else {
                    *slot = None;
                    placed.push((draft, place));
                }
            }
            Action::RenameColumn(name, new) => {
                check_length(new)?;
                if !is_proper(new) {
                    return Err(SqlError::wrong_column_name(new));
                }
                let slot = slots.get_mut(named(old, name)?).and_then(Option::as_mut);
                let draft = slot.ok_or_else(|| unknown(name, old))?;
                draft.column.name.clone_from(new);
            }
            Action::SetDefault(name, default) => {
                let slot = slots.get_mut(named(old, name)?).and_then(Option::as_mut);
                set_default(
                    slot.ok_or_else(|| unknown(name, old))?,
                    default.as_ref(),
                    ctx,
                )?;
            }
            Action::SetColumnVisible(name, visible) => {
                let slot = slots.get_mut(named(old, name)?).and_then(Option::as_mut);
                let draft = slot.ok_or_else(|| unknown(name, old))?;
                draft.column.visibility = match visible {
                    true => Visibility::Visible,
                    false => Visibility::Invisible,
                };
            }
            Action::AddColumn(syntax, place) => placed.push((define(syntax, ctx)?, place)),
            _ => {}
        }
    }
    let mut columns: Vec<Draft> = slots.into_iter().flatten().collect();
    let hidden = functional::take_kept(&mut columns, old, actions);
    for (draft, place) in placed {
        let position = match place {
            Place::Same => columns.len(),
            Place::First => 0,
            Place::After(name) => {
                let is_it = |other: &Draft| other.column.name.eq_ignore_ascii_case(name);
                let found = columns.iter().position(is_it);
                found.ok_or_else(|| unknown(name, old))? + 1
            }
        };
        columns.insert(position, draft);
    }
    functional::put_back(hidden, &mut columns)?;
    Ok(columns)
}

/// Columns that stay what they were keep their histograms.
fn keep_histograms(old: &Table, new: &mut Table, sources: &[Option<usize>]) {
    for (column, source) in new.columns.iter_mut().zip(sources) {
        let before = source.and_then(|source| old.columns.get(source));
        let same = before.filter(|before| {
            before.name == column.name
                && (before.ty, before.unsigned) == (column.ty, column.unsigned)
                && (before.collation == column.collation || !column.members.is_empty())
                && before.members == column.members
        });
        column.histogram = same.and_then(|before| before.histogram.clone());
    }
}

fn set_default(
    draft: &mut Draft,
    default: Option<&DefaultSyntax>,
    ctx: &mut DdlContext,
) -> Result<(), SqlError> {
    draft.default_is_written = matches!(default, Some(DefaultSyntax::Expression(_)));
    let column = &mut draft.column;
    column.default = match default {
        None => DefaultValue::None,
        Some(DefaultSyntax::Null) if !column.nullable => {
            return Err(SqlError::invalid_default(&column.name));
        }
        Some(_) if column.auto_increment => {
            return Err(SqlError::invalid_default(&column.name));
        }
        Some(default) => column::default_value(column, default, ctx.session)?,
    };
    Ok(())
}

/// The keys of the new table.
struct Keys {
    keys: Vec<KeySyntax>,
    /// For each the index it was.
    origins: Vec<Option<Index>>,
    /// How many of them, the first, were there before.
    known: usize,
}

/// Whether an index is dropped or, if that counts, renamed, so that nothing else can be done with it.
fn keys_gone(actions: &[Action]) -> impl Fn(&str, bool) -> bool {
    |name, renaming| {
        let is_it = |other: &str| other.eq_ignore_ascii_case(name);
        actions.iter().any(|action| match action {
            Action::DropKey(dropped) => is_it(dropped),
            Action::RenameKey(old, _) => renaming && is_it(old),
            _ => false,
        })
    }
}

fn keys(old: &Table, actions: &[Action], columns: &[Draft]) -> Result<Keys, SqlError> {
    let gone = keys_gone(actions);
    let mut renamed = rustc_hash::FxHashSet::default();
    for action in actions {
        match action {
            Action::DropKey(name) if !has_key(old, name) => {
                return Err(SqlError::cannot_drop(name));
            }
            Action::DropConstraint(name) => {
                let unique = old.index_named(name).is_some_and(|index| index.unique);
                let foreign = old.foreign_key_named(name).is_some();
                let check = old.check_named(name).is_some();
                match usize::from(unique) + usize::from(foreign) + usize::from(check) {
                    0 => return Err(SqlError::constraint_not_found(name)),
                    1 => {}
                    _ => return Err(SqlError::several_constraints(name)),
                }
            }
            Action::SetVisible(name, _) if !has_key(old, name) || gone(name, true) => {
                return Err(SqlError::unknown_key(name, &old.name));
            }
            Action::RenameKey(name, _)
                if !has_key(old, name)
                    || gone(name, false)
                    || !renamed.insert(name.to_lowercase()) =>
            {
                return Err(SqlError::unknown_key(name, &old.name));
            }
            Action::RenameKey(name, new)
                if name.eq_ignore_ascii_case("PRIMARY") || new.eq_ignore_ascii_case("PRIMARY") =>
            {
                return Err(SqlError::wrong_index_name(name));
            }
            Action::RenameKey(_, new) if new.eq_ignore_ascii_case(key::INNODB_KEY) => {
                return Err(SqlError::wrong_index_name(key::INNODB_KEY));
            }
            _ => {}
        }
    }
    let mut keys = Vec::new();
    let mut origins = Vec::new();
    let before = old
        .keys()
        .map(|index| (index, key::syntax_of(index, &old.columns)));
    let texts = old.fulltext.iter();
    let texts = texts.map(|text| (&text.index, key::syntax_of_text(text, &old.columns)));
    for (index, syntax) in before.chain(texts) {
        if let Some(key) = kept_key((index, syntax), actions, (&old.columns, columns)) {
            keys.push(key);
            let is_primary = old.primary.as_ref() == Some(index);
            origins.push((!is_primary).then(|| index.clone()));
        }
    }
    for action in actions {
        if let Action::AddKey(key) = action {
            keys.push(key.clone());
            origins.push(None);
        }
    }
    let known = origins.len()
        - actions
            .iter()
            .filter(|a| matches!(a, Action::AddKey(_)))
            .count();
    for key in foreign_key::generated_keys(&added_foreign_keys(actions)) {
        keys.push(key);
        origins.push(None);
    }
    let needed = foreign_key::needed(&keys);
    let known = needed.iter().take(known).filter(|needed| **needed).count();
    let mut kept = needed.iter();
    keys.retain(|_| *kept.next().unwrap_or(&true));
    let mut kept = needed.iter();
    origins.retain(|_| *kept.next().unwrap_or(&true));
    Ok(Keys {
        keys,
        origins,
        known,
    })
}

/// Whether it has a key of this name, of whichever kind.
fn has_key(table: &Table, name: &str) -> bool {
    table.index_named(name).is_some() || table.fulltext_named(name).is_some()
}

/// An index of before as the actions leave it; `None` if nothing is left of it.
fn kept_key(
    (index, mut key): (&Index, KeySyntax),
    actions: &[Action],
    (before, columns): (&[Column], &[Draft]),
) -> Option<KeySyntax> {
    let is_it = |name: &str| index.name.eq_ignore_ascii_case(name);
    for action in actions {
        match action {
            Action::DropKey(name) | Action::DropConstraint(name) if is_it(name) => return None,
            Action::RenameKey(name, new) if is_it(name) => {
                key.name = Some(new.clone());
                key.generated = false;
            }
            Action::SetVisible(name, visible) if is_it(name) => key.visible = *visible,
            _ => {}
        }
    }
    let parts = index.parts.iter().zip(std::mem::take(&mut key.parts));
    key.parts = parts
        .filter_map(|(part, mut syntax)| {
            let source = usize::from(part.column);
            let itself = columns.iter().find(|draft| draft.source == Some(source));
            // One that takes the place of a dropped one of its name takes it in keys, too.
            let draft = itself.or_else(|| {
                let name = &before.get(source)?.name;
                let is_new = |draft: &&Draft| draft.source.is_none();
                let mut new = columns.iter().filter(is_new);
                new.find(|draft| draft.column.name.eq_ignore_ascii_case(name))
            })?;
            syntax.column.clone_from(&draft.column.name);
            // A prefix goes when its column becomes too short for it or no string at all. That of a
            // TEXT or BLOB may be as long as it; its length counts as characters, as in MySQL.
            let bytes = u64::from(draft.column.max_bytes());
            let length = bytes / u64::from(draft.column.collation.max_char_bytes());
            syntax.prefix = syntax.prefix.filter(|&prefix| match draft.column.ty {
                ColumnType::Text(_) => prefix <= bytes,
                ty => ty.is_string() && prefix < length,
            });
            Some(syntax)
        })
        .collect();
    (!key.parts.is_empty()).then_some(key)
}

/// Whether the rows and their order stay as they are.
fn same_rows(old: &Table, new: &Table, sources: &[Option<usize>], primary: Option<&Index>) -> bool {
    let in_place = sources
        .iter()
        .enumerate()
        .all(|(position, source)| *source == Some(position));
    let same_columns = in_place
        && old.columns.len() == new.columns.len()
        && old.columns.iter().zip(&new.columns).all(|(old, new)| {
            // The numbers that a new AUTO_INCREMENT column has already must be looked at. One that
            // is none any more need not be copied, but MySQL does, and counts the rows.
            new.generated == old.generated
                && old.same_storage(new)
                && old.auto_increment == new.auto_increment
        });
    let same_primary = match (&old.primary, primary) {
        (Some(old), Some(new)) => same_parts(old, new, sources),
        (None, None) => true,
        _ => false,
    };
    same_columns && same_primary
}

/// Whether an index has the same entries as before.
pub(super) fn same_parts(old: &Index, new: &Index, sources: &[Option<usize>]) -> bool {
    old.unique == new.unique
        && old.parts.len() == new.parts.len()
        && old.parts.iter().zip(&new.parts).all(|(old, new)| {
            let source = sources.get(usize::from(new.column)).copied().flatten();
            source == Some(usize::from(old.column))
                && (old.prefix, old.desc) == (new.prefix, new.desc)
        })
}

/// Where a table's AUTO_INCREMENT goes on after a change, as in MySQL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counter {
    /// Nowhere: there is no such column.
    None,
    /// Where AUTO_INCREMENT = n says.
    Asked(u64),
    /// Where it was: it is the same column.
    Kept,
    /// Where that of another column was, which stays and is AUTO_INCREMENT no more.
    Inherited,
    /// At its beginning: the column is new, and the one before it, if there was one, goes.
    New,
}

impl Counter {
    fn of(old: &Table, new: &Table, sources: &[Option<usize>], actions: &[Action]) -> Counter {
        let Some(column) = new.auto_increment_column() else {
            return Counter::None;
        };
        let mut asked = actions.iter().filter_map(|action| match action {
            Action::Options(options) => options.auto_increment,
            _ => None,
        });
        let before = old.auto_increment_column();
        if let Some(next) = asked.next_back() {
            Counter::Asked(next)
        } else if before.is_none() || !sources.contains(&before) {
            Counter::New
        } else if sources.get(column) == Some(&before) {
            Counter::Kept
        } else {
            Counter::Inherited
        }
    }
    /// The least number of a new row.
    fn begin(self, old: &Table, ctx: &DdlContext<'_>) -> u64 {
        match self {
            Counter::None | Counter::New => 0,
            Counter::Asked(next) => next,
            Counter::Kept => old.auto_increment_min,
            Counter::Inherited => ctx.engine.auto_increment_peek(old),
        }
    }
    /// Whether it may go below the table's next value. That only ever rises, and so does what the log
    /// says of it: the table becomes another one, which begins anew.
    fn restarts(self, old: &Table, ctx: &DdlContext<'_>) -> bool {
        match self {
            Counter::None | Counter::Kept | Counter::Inherited => false,
            Counter::Asked(next) => {
                let before = ctx.engine.auto_increment_peek(old);
                old.auto_increment_column().is_some() && next.max(1) < before
            }
            Counter::New => true,
        }
    }
}
