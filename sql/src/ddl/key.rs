//! Key definitions: from their syntax to indexes, by MySQL's rules.

use super::{
    column::{self, COMMENT_MAX, Draft, check_length, sizes},
    fulltext,
    syntax::{IndexType, KeyKind, KeySyntax, PartSyntax},
};
use crate::{
    error::SqlError,
    lexer::is_proper,
    warnings::{Level, Warnings},
};
use cohort_engine::types::{Column, ColumnType, FullText, Index, schema::IndexPart};

/// The most bytes of a key, and of each part.
pub(super) const KEY_BYTES_MAX: u64 = 3072;
/// The most columns of a key.
const PARTS_MAX: usize = 16;
/// The most keys of a table, the primary key not counted.
const KEYS_MAX: usize = 64;

/// An index of a table that is being defined, and the position of the syntax it was made of.
pub(super) struct Defined {
    /// The index; its tree is not set.
    pub index: Index,
    /// The position of its syntax.
    pub syntax: usize,
    /// It is a FULLTEXT index.
    pub fulltext: bool,
}

/// What InnoDB calls the order of the rows of a table without a primary key.
pub(super) const INNODB_KEY: &str = "GEN_CLUST_INDEX";

/// The indexes of a table: the primary key first, then unique ones without NULL, other unique
/// ones, the rest, FULLTEXT ones; of unique ones, those of whole columns first. Columns of the primary key become
/// NOT NULL. The first `known` keys are ones that the table has already. A part of more than `part_max`
/// bytes is too long; without `strict` it is cut where the key is not unique.
pub(super) fn define(
    keys: &[KeySyntax],
    known: usize,
    columns: &mut [Draft],
    table: (&str, &str),
    (strict, part_max): (bool, u64),
    warnings: &mut Warnings,
) -> Result<Vec<Defined>, SqlError> {
    let mut defined: Vec<Defined> = Vec::with_capacity(keys.len());
    for (position, key) in keys.iter().enumerate() {
        let cut = (!strict && key.kind == KeyKind::Plain).then_some(&mut *warnings);
        let mut index = index(key, columns, &defined, (part_max, cut))?;
        let named = ("index", &*index.name);
        index.comment = column::comment(&key.comment, named, COMMENT_MAX, strict, warnings)?;
        if key.using == Some(IndexType::Hash) {
            warnings.note(SqlError::hash_not_supported());
        }
        if position >= known {
            let fulltext = key.kind == KeyKind::FullText;
            warn_duplicate(&index, fulltext, &defined, table, warnings);
        }
        defined.push(Defined {
            index,
            syntax: position,
            fulltext: key.kind == KeyKind::FullText,
        });
    }
    if defined
        .iter()
        .filter(|key| key.index.name != "PRIMARY")
        .count()
        > KEYS_MAX
    {
        return Err(SqlError::too_many_keys(KEYS_MAX));
    }
    let nullable = |part: &IndexPart| {
        let draft = columns.get(usize::from(part.column));
        draft.is_some_and(|draft| draft.column.nullable)
    };
    let of_virtual = |part: &IndexPart| {
        let draft = columns.get(usize::from(part.column));
        draft.is_some_and(|draft| draft.column.is_virtual())
    };
    defined.sort_by_key(|key| {
        let parts = &key.index.parts;
        let kind = if key.index.name == "PRIMARY" {
            0
        } else if key.fulltext {
            4
        } else if !key.index.unique {
            3
        } else if parts.iter().any(nullable) {
            2
        } else {
            1
        };
        let is_partial = key.index.unique && parts.iter().any(|part| part.prefix.is_some());
        (kind, is_partial, parts.iter().any(of_virtual))
    });
    Ok(defined)
}

/// An index. Too long parts are cut, with warnings, if there is where to put these.
fn index(
    key: &KeySyntax,
    columns: &mut [Draft],
    before: &[Defined],
    (part_max, mut cut): (u64, Option<&mut Warnings>),
) -> Result<Index, SqlError> {
    if key.parts.len() > PARTS_MAX {
        return Err(SqlError::too_many_key_parts(PARTS_MAX));
    }
    let name = name(key, columns, before)?;
    let mut parts: Vec<IndexPart> = Vec::with_capacity(key.parts.len());
    let mut bytes = 0;
    let mut first = None;
    for part in &key.parts {
        let found = |draft: &Draft| draft.column.name.eq_ignore_ascii_case(&part.column);
        let Some(position) = columns.iter().position(found) else {
            return Err(SqlError::key_column_missing(&part.column));
        };
        let Some(draft) = columns.get_mut(position) else {
            return Err(SqlError::key_column_missing(&part.column));
        };
        let position = u16::try_from(position).unwrap_or(u16::MAX);
        if parts.iter().any(|other| other.column == position) {
            return Err(SqlError::duplicate_column(&draft.column.name));
        }
        if key.kind == KeyKind::FullText {
            fulltext::check_part(
                part,
                &draft.column,
                first.get_or_insert(draft.column.collation),
            )?;
            parts.push(fulltext::part(position));
            continue;
        }
        let at = (position, &draft.column);
        let (part, length) = index_part(part, at, part_max, cut.as_deref_mut())?;
        bytes += length;
        if bytes > KEY_BYTES_MAX {
            return Err(SqlError::key_too_long(KEY_BYTES_MAX));
        }
        if key.kind == KeyKind::Primary {
            make_not_null(draft)?;
        }
        parts.push(part);
    }
    Ok(Index {
        tree: 0,
        name,
        unique: matches!(key.kind, KeyKind::Primary | KeyKind::Unique),
        parts,
        // Checked by `define`.
        comment: String::new(),
        visible: key.visible,
        using_btree: key.using == Some(IndexType::Btree),
        generated: key.generated,
    })
}

/// The name of a key; a key without one gets the name of its first column, with a number if
/// that is taken.
fn name(key: &KeySyntax, columns: &[Draft], before: &[Defined]) -> Result<String, SqlError> {
    let taken = |name: &str| {
        let mut names = before.iter().map(|key| &key.index.name);
        names.any(|other| other.eq_ignore_ascii_case(name))
    };
    if key.kind == KeyKind::Primary {
        if taken("PRIMARY") {
            return Err(SqlError::multiple_primary_keys());
        }
        if !key.visible {
            return Err(SqlError::invisible_primary_key());
        }
        return Ok("PRIMARY".into());
    }
    if let Some(name) = &key.name {
        check_length(name)?;
        if name.eq_ignore_ascii_case(INNODB_KEY) {
            return Err(SqlError::wrong_index_name(INNODB_KEY));
        }
        if !is_proper(name) || name.eq_ignore_ascii_case("PRIMARY") {
            return Err(SqlError::wrong_index_name(name));
        }
        if taken(name) {
            return Err(SqlError::duplicate_key_name(name));
        }
        return Ok(name.clone());
    }
    let first = key.parts.first().map_or("", |part| &part.column);
    let column = columns
        .iter()
        .find(|draft| draft.column.name.eq_ignore_ascii_case(first));
    let Some(column) = column else {
        return Err(SqlError::key_column_missing(first));
    };
    let base = &column.column.name;
    if !taken(base) && !base.eq_ignore_ascii_case("PRIMARY") {
        return Ok(base.clone());
    }
    let numbered = (2..).map(|number| format!("{base}_{number}"));
    let free = numbered.take(KEYS_MAX + 2).find(|name| !taken(name));
    free.ok_or_else(|| SqlError::too_many_keys(KEYS_MAX))
}

/// A part of a key and its length in bytes.
fn index_part(
    syntax: &PartSyntax,
    (position, column): (u16, &Column),
    part_max: u64,
    cut: Option<&mut Warnings>,
) -> Result<(IndexPart, u64), SqlError> {
    if syntax.prefix == Some(0) {
        return Err(SqlError::key_part_zero(&column.name));
    }
    let column = column.key_column();
    let char_bytes = u64::from(column.collation.max_char_bytes());
    if column.ty == ColumnType::Json {
        return Err(SqlError::json_used_as_key(&column.name));
    }
    let is_text = matches!(column.ty, ColumnType::Text(_));
    let mut prefix = syntax.prefix;
    let mut max = part_max;
    let mut bytes = match prefix {
        None if is_text => return Err(SqlError::blob_key_without_length(&column.name)),
        None => u64::from(sizes(column).1),
        Some(_) if !column.ty.is_string() => return Err(SqlError::wrong_prefix_key()),
        Some(length) => {
            let bytes = length.saturating_mul(char_bytes);
            let whole = u64::from(column.max_bytes());
            if is_text {
                max = max.min(whole);
            } else if bytes > whole {
                return Err(SqlError::wrong_prefix_key());
            }
            // A prefix of the whole length is none.
            if bytes == whole && !is_text {
                prefix = None;
            }
            bytes
        }
    };
    if bytes > max {
        let too_long = SqlError::key_too_long(max);
        let Some(warnings) = cut else {
            return Err(too_long);
        };
        warnings.push(Level::Warning, too_long);
        let characters = max / char_bytes;
        prefix = Some(characters);
        bytes = characters * char_bytes;
    }
    let part = IndexPart {
        column: position,
        prefix: prefix.and_then(|length| u16::try_from(length).ok()),
        desc: syntax.desc,
        trimmed: prefix.is_some(),
    };
    Ok((part, bytes))
}

/// A column of a primary key is NOT NULL, unless it was declared otherwise.
fn make_not_null(draft: &mut Draft) -> Result<(), SqlError> {
    use cohort_engine::types::schema::DefaultValue;
    if draft.explicit_null {
        return Err(SqlError::primary_key_with_null());
    }
    if draft.explicit_default_null && draft.column.nullable {
        return Err(SqlError::invalid_default(&draft.column.name));
    }
    draft.column.nullable = false;
    if draft.column.default == DefaultValue::Null {
        draft.column.default = DefaultValue::None;
    }
    Ok(())
}

/// 1831 for a key that is as another one.
fn warn_duplicate(
    index: &Index,
    fulltext: bool,
    before: &[Defined],
    (database, table): (&str, &str),
    warnings: &mut Warnings,
) {
    let same = |other: &&Defined| {
        let is_alike = (other.index.unique, other.fulltext) == (index.unique, fulltext);
        is_alike && other.index.parts == index.parts
    };
    let mut named = before.iter().filter(|other| other.index.name != "PRIMARY");
    if index.name != "PRIMARY" && named.any(|other| same(&other)) {
        warnings.warn(SqlError::duplicate_index(&index.name, database, table));
    }
}

/// How a key of a table is written: to define it again, after a change of its columns.
pub(super) fn syntax_of(index: &Index, columns: &[Column]) -> KeySyntax {
    let parts = index.parts.iter().map(|part| {
        let column = columns.get(usize::from(part.column));
        PartSyntax {
            column: column.map(|column| column.name.clone()).unwrap_or_default(),
            expression: None,
            array: column.and_then(|column| Some(column.element.as_ref()?.cast_text())),
            prefix: part.prefix.map(u64::from),
            desc: part.desc,
        }
    });
    KeySyntax {
        kind: match (index.name.as_str(), index.unique) {
            ("PRIMARY", _) => KeyKind::Primary,
            (_, true) => KeyKind::Unique,
            (_, false) => KeyKind::Plain,
        },
        name: Some(index.name.clone()),
        parts: parts.collect(),
        comment: index.comment.clone(),
        visible: index.visible,
        using: index.using_btree.then_some(IndexType::Btree),
        parser: None,
        generated: index.generated,
    }
}

/// The same of a FULLTEXT index.
pub(super) fn syntax_of_text(text: &FullText, columns: &[Column]) -> KeySyntax {
    KeySyntax {
        kind: KeyKind::FullText,
        parser: fulltext::parser_name(text.parser).map(str::to_string),
        ..syntax_of(&text.index, columns)
    }
}
