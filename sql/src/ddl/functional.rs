//! Indexes on expressions: MySQL's functional key parts.
//!
//! As in MySQL, such a part is an index on a virtual generated column that is hidden: it is made with
//! the index and goes with it, and no statement can name it. Hidden columns come behind all others.

use super::{
    DdlContext,
    column::Draft,
    key::Defined,
    syntax::{Action, KeyKind, KeySyntax},
};
use crate::{
    error::SqlError,
    expr::{Expr, infer},
    expr_text,
    plan::{ColumnOrigin, SelectedColumn},
    row_expr::{self, Purpose},
    selected::computed_column,
};
use cohort_engine::types::{
    Collation, Column, ColumnType, Generated, Index, Table, schema::Visibility,
};
use sqlparser::ast;

/// Makes the columns of the expressions in keys, but the first `known`, and has the keys name them.
pub(super) fn define(
    keys: &mut [KeySyntax],
    known: usize,
    drafts: &mut Vec<Draft>,
    ctx: &mut DdlContext<'_>,
) -> Result<(), SqlError> {
    for at in known..keys.len() {
        name(at, keys)?;
        let Some(key) = keys.get_mut(at) else {
            continue;
        };
        check_columns(key, drafts)?;
        let arrays = key.parts.iter().filter(|part| part.array.is_some());
        if arrays.count() > 1 {
            let what = "more than one multi-valued key part per index";
            return Err(SqlError::not_supported(what));
        }
        let index = key.name.clone().unwrap_or_default();
        for (position, part) in key.parts.iter_mut().enumerate() {
            if let Some(text) = part.expression.take() {
                let element = part.array.as_ref();
                let element = element.map(|ty| element_of(&index, ty, ctx));
                let mut column = column(&index, &text, element.transpose()?, drafts, ctx)?;
                column.name = column_name(&index, position, drafts);
                part.column.clone_from(&column.name);
                drafts.push(Draft::made(column));
            }
        }
    }
    Ok(())
}

fn has_expression(key: &KeySyntax) -> bool {
    key.parts.iter().any(|part| part.expression.is_some())
}

/// A key with expressions that has no name gets one that no other has.
fn name(at: usize, keys: &mut [KeySyntax]) -> Result<(), SqlError> {
    const NAME: &str = "functional_index";
    let Some(key) = keys.get(at).filter(|key| has_expression(key)) else {
        return Ok(());
    };
    match key.kind {
        KeyKind::Primary => return Err(SqlError::functional_primary_key()),
        KeyKind::FullText => return Err(SqlError::functional_fulltext()),
        KeyKind::Unique | KeyKind::Plain => {}
    }
    if key.name.is_some() {
        return Ok(());
    }
    let taken = |name: &str| {
        let mut names = keys.iter().filter_map(|key| key.name.as_ref());
        names.any(|other| other.eq_ignore_ascii_case(name))
    };
    let mut numbered = (2..).map(|number| format!("{NAME}_{number}"));
    let name = match taken(NAME) {
        false => Some(NAME.to_string()),
        true => numbered.find(|name| !taken(name)),
    };
    if let Some(key) = keys.get_mut(at) {
        key.name = name;
    }
    Ok(())
}

/// 1072 for a key that names a hidden column.
fn check_columns(key: &KeySyntax, drafts: &[Draft]) -> Result<(), SqlError> {
    let mut parts = key.parts.iter().filter(|part| part.expression.is_none());
    let hidden = parts.find(|part| is_hidden(&part.column, drafts.iter().map(|d| &d.column)));
    hidden.map_or(Ok(()), |part| {
        Err(SqlError::key_column_missing(&part.column))
    })
}

fn is_hidden<'c>(name: &str, columns: impl Iterator<Item = &'c Column>) -> bool {
    let mut hidden = columns.filter(|column| column.is_hidden());
    hidden.any(|column| column.name.eq_ignore_ascii_case(name))
}

/// The column of an expression.
fn column(
    index: &str,
    text: &str,
    element: Option<Column>,
    drafts: &[Draft],
    ctx: &mut DdlContext<'_>,
) -> Result<Column, SqlError> {
    let columns: Vec<Column> = drafts.iter().map(|draft| draft.column.clone()).collect();
    let purpose = Purpose::Functional(index);
    let defined = row_expr::define(purpose, text, &columns, ctx.session)?;
    for warning in &defined.warnings {
        ctx.warnings.warn(warning.clone());
    }
    let mut used = defined.columns.iter().filter_map(|at| columns.get(*at));
    if used.any(|column| column.auto_increment) {
        return Err(SqlError::functional_of_auto_increment(index));
    }
    let mut column = match element {
        Some(element) => Column {
            element: Some(Box::new(element)),
            ..Column::new("", ColumnType::Json)
        },
        None => scalar_column(&defined)?,
    };
    column.visibility = Visibility::Hidden;
    column.generated = Some(Generated {
        expression: defined.text,
        stored: false,
    });
    // There is nothing that it could hold.
    if column.key_column().ty == ColumnType::VarChar(0) {
        let text = column.functional().unwrap_or_default();
        return Err(SqlError::functional_not_indexable(text));
    }
    Ok(column)
}

/// The column of an element of a multi-valued part, of the type that its CAST names.
fn element_of(index: &str, ty: &str, ctx: &DdlContext<'_>) -> Result<Column, SqlError> {
    /// Longer ones are BLOBs to MySQL.
    const CHARACTERS_MAX: u32 = 512;
    let refused = |what: &str| Err(SqlError::not_supported(what));
    let cast = format!("CAST(NULL AS {ty})");
    let mode = ctx.session.sql_mode.lexer();
    let (has_charset, has_length) = expr_text::parsed(&cast, mode, |tree| Ok(said_of_text(tree)))?;
    let compiled = row_expr::define(Purpose::Functional(index), &cast, &[], ctx.session)?.compiled;
    let ty = infer(&compiled);
    let own = match ty.ty {
        Some(ColumnType::Double) => return refused("CAST-ing data to array of DOUBLE"),
        Some(ColumnType::Float) => return refused("CAST-ing data to array of FLOAT"),
        Some(ColumnType::Json) => return refused("CAST-ing data to array of JSON"),
        Some(ColumnType::Year) => return refused("CAST-ing data to array of YEAR"),
        _ if ty.is_string() && !ty.is_bytes() && has_charset => {
            return refused("specifying charset for multi-valued index");
        }
        _ if ty.is_string() => match has_length && ty.length <= CHARACTERS_MAX {
            true => ColumnType::VarChar(ty.length),
            false => return refused("CAST-ing data to array of char/binary BLOBs"),
        },
        Some(own) => own,
        None => return Err(SqlError::internal("a CAST without a type")),
    };
    let collation = match own {
        ColumnType::VarChar(_) if !ty.is_bytes() => Collation::Utf8mb40900Bin,
        _ => Collation::Binary,
    };
    Ok(Column {
        unsigned: ty.unsigned && own.is_integer(),
        collation,
        ..Column::new("", own)
    })
}

/// Whether a CAST to a text names a character set, and a length.
fn said_of_text(cast: &ast::Expr) -> (bool, bool) {
    use ast::DataType::{Binary, Char, Character, Nvarchar};
    match cast {
        ast::Expr::Nested(inner) => said_of_text(inner),
        ast::Expr::Cast {
            data_type, format, ..
        } => match data_type {
            Char(length) | Character(length) => (format.is_some(), length.is_some()),
            Nvarchar(length) => (true, length.is_some()),
            Binary(length) => (false, length.is_some()),
            _ => (false, false),
        },
        _ => (false, false),
    }
}

/// The column of an expression that has one value.
fn scalar_column(defined: &row_expr::Defined) -> Result<Column, SqlError> {
    if let Expr::Column { .. } = defined.compiled {
        return Err(SqlError::functional_on_column());
    }
    let ty = infer(&defined.compiled);
    let mut column = computed_column(&SelectedColumn {
        name: String::new(),
        ty,
        origin: ColumnOrigin::of_computed(&defined.compiled),
    });
    match column.ty {
        ColumnType::Json => return Err(SqlError::functional_on_json()),
        ColumnType::Text(_) => return Err(SqlError::functional_on_text()),
        // There is nothing that it could hold.
        ColumnType::VarChar(0) | ColumnType::Char(0) => {
            return Err(SqlError::functional_not_indexable(&defined.text));
        }
        _ => {}
    }
    column.nullable = ty.nullable;
    Ok(column)
}

/// MySQL's name for the column of a part of an index.
fn column_name(index: &str, part: usize, drafts: &[Draft]) -> String {
    let taken = |name: &str| {
        let mut drafts = drafts.iter();
        drafts.any(|draft| draft.column.name.eq_ignore_ascii_case(name))
    };
    let mut names = (0..).map(|number| format!("!hidden!{index}!{part}!{number}"));
    names.find(|name| !taken(name)).unwrap_or_default()
}

/// Takes the hidden columns out of those of a table that is altered: the ones that its indexes still
/// need after the actions.
pub(super) fn take_kept(columns: &mut Vec<Draft>, old: &Table, actions: &[Action]) -> Vec<Draft> {
    let stays = |name: &str| {
        !actions.iter().any(|action| match action {
            Action::DropKey(dropped) | Action::DropConstraint(dropped) => {
                dropped.eq_ignore_ascii_case(name)
            }
            _ => false,
        })
    };
    let mut hidden = Vec::new();
    columns.retain(|draft| {
        if draft.column.is_hidden() {
            hidden.push(draft.clone());
        }
        !draft.column.is_hidden()
    });
    hidden.retain(|draft| {
        let uses =
            |part: &cohort_engine::types::IndexPart| draft.source == Some(usize::from(part.column));
        let mut indexes = old.indexes.iter().filter(|index| stays(&index.name));
        indexes.any(|index| index.parts.iter().any(uses))
    });
    hidden
}

/// Puts them behind the others: 1815 if one of these has the name of one.
pub(super) fn put_back(hidden: Vec<Draft>, columns: &mut Vec<Draft>) -> Result<(), SqlError> {
    for draft in columns.iter() {
        let name = &draft.column.name;
        if is_hidden(name, hidden.iter().map(|draft| &draft.column)) {
            return Err(SqlError::name_of_hidden_column(name));
        }
    }
    columns.extend(hidden);
    Ok(())
}

/// 3755 for a hidden column.
pub(super) fn check_drop(name: &str, old: &Table) -> Result<(), SqlError> {
    match is_hidden(name, old.columns.iter()) {
        true => Err(SqlError::functional_column_drop(name)),
        false => Ok(()),
    }
}

/// Whether MySQL copies the rows: for a unique index on expressions that comes or goes, for any that
/// comes where there is such a one, and together with another column.
pub(super) fn copies(
    old: &Table,
    columns: &[Column],
    keys: &[Defined],
    sources: &[Option<usize>],
) -> bool {
    let added = columns.iter().zip(sources);
    let added = added.filter(|(_, source)| source.is_none());
    let (hidden, named): (Vec<_>, Vec<_>) = added.partition(|(column, _)| column.is_hidden());
    // A part of a unique index that is an expression: of which column.
    fn expressions<'i>(
        index: &'i Index,
        columns: &'i [Column],
    ) -> impl Iterator<Item = usize> + use<'i> {
        let parts = index.parts.iter().filter(|_| index.unique);
        let positions = parts.map(|part| usize::from(part.column));
        positions.filter(|at| columns.get(*at).is_some_and(Column::is_hidden))
    }
    let goes = |at: usize| !sources.contains(&Some(at));
    let mut before = old.indexes.iter();
    let unique_goes = before.any(|index| expressions(index, &old.columns).any(goes));
    let mut after = keys.iter().map(|key| &key.index);
    let comes = !hidden.is_empty();
    unique_goes
        || comes && !named.is_empty()
        || comes && after.any(|index| expressions(index, columns).next().is_some())
}
