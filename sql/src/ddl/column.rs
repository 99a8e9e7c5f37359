//! Column definitions: from their syntax to what the dictionary keeps.

use super::{
    convert,
    syntax::{ColumnSyntax, DefaultSyntax},
};
use crate::{
    data_type::{check_member, check_varchar, text_for},
    defaults::moment,
    error::SqlError,
    expr::{SqlMode, Statement, printable},
    lexer::{in_names, is_proper},
    warnings::{Level, Warnings},
};
use cohort_engine::types::{
    Collation, Column, ColumnType, Value,
    schema::{DefaultValue, Visibility},
};

/// The most characters a name may have.
const NAME_MAX: usize = 64;

/// A column of a table that is being defined.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Draft {
    /// Its definition.
    pub column: Column,
    /// NULL was written: then it cannot be in a primary key.
    pub explicit_null: bool,
    /// DEFAULT NULL was written: then it cannot become NOT NULL.
    pub explicit_default_null: bool,
    /// It is a generated column whose expression is as it is written: see `generated::define`.
    pub is_written: bool,
    /// Its default is an expression as it is written: see `default::define`.
    pub default_is_written: bool,
    /// The position of the column it comes from, in the table before.
    pub source: Option<usize>,
}

impl Draft {
    /// A column that is complete, and new.
    pub fn made(column: Column) -> Draft {
        Draft {
            source: None,
            ..Draft::existing(&column, 0)
        }
    }
    /// A column that the table has already.
    pub fn existing(column: &Column, position: usize) -> Draft {
        Draft {
            column: column.clone(),
            explicit_null: false,
            explicit_default_null: false,
            is_written: false,
            default_is_written: false,
            source: Some(position),
        }
    }
}

/// 1059 for a name that is too long.
pub(super) fn check_length(name: &str) -> Result<(), SqlError> {
    if name.chars().count() > NAME_MAX {
        return Err(SqlError::identifier_too_long(name));
    }
    Ok(())
}

/// Columns that every table has in InnoDB, so that no other may have their names.
const INNODB_COLUMNS: [&str; 3] = ["DB_ROW_ID", "DB_TRX_ID", "DB_ROLL_PTR"];

/// The definition of a column in a table with this collation.
pub(super) fn define(
    syntax: &ColumnSyntax,
    table: Collation,
    session: &Statement<'_>,
    warnings: &mut Warnings,
) -> Result<Draft, SqlError> {
    let name = &syntax.name;
    check_length(name)?;
    let is_innodb = |own: &&str| own.eq_ignore_ascii_case(name);
    if !is_proper(name) || INNODB_COLUMNS.iter().any(is_innodb) {
        return Err(SqlError::wrong_column_name(name));
    }
    syntax.data_type.warn(warnings);
    check_generated(syntax)?;
    let strict = session.sql_mode.has(SqlMode::STRICT);
    let typed = syntax.data_type.column(name, table, strict, warnings)?;
    let ty = typed.ty;
    if syntax.auto_increment && !ty.is_integer() {
        return Err(SqlError::wrong_column_specifier(name));
    }
    // AUTO_INCREMENT is NOT NULL, whatever is written.
    let nullable = !syntax.auto_increment && syntax.nullable.unwrap_or(true);
    let mut column = Column {
        nullable,
        auto_increment: syntax.auto_increment,
        on_update_now: on_update(syntax, ty)?,
        comment: comment(
            &syntax.comment,
            ("field", name),
            COMMENT_MAX,
            strict,
            warnings,
        )?,
        generated: syntax.generated.clone(),
        visibility: match syntax.visible {
            true => Visibility::Visible,
            false => Visibility::Invisible,
        },
        ..typed
    };
    column.default = match &syntax.default {
        Some(_) if syntax.auto_increment && syntax.default != Some(DefaultSyntax::Null) => {
            return Err(SqlError::invalid_default(name));
        }
        Some(DefaultSyntax::Null) if !nullable && !syntax.auto_increment => {
            return Err(SqlError::invalid_default(name));
        }
        Some(default) if !strict && is_left_out(&column, default) => {
            let error = SqlError::blob_cannot_have_default(name);
            warnings.push(Level::Warning, error);
            DefaultValue::None
        }
        Some(default) => default_value(&column, default, session)?,
        None if nullable && syntax.generated.is_none() => DefaultValue::Null,
        None => DefaultValue::None,
    };
    Ok(Draft {
        is_written: syntax.generated.is_some(),
        default_is_written: matches!(syntax.default, Some(DefaultSyntax::Expression(_))),
        column,
        explicit_null: syntax.nullable == Some(true),
        explicit_default_null: syntax.default == Some(DefaultSyntax::Null),
        source: None,
    })
}

/// 1221 for clauses that no generated column has.
fn check_generated(syntax: &ColumnSyntax) -> Result<(), SqlError> {
    let clause = match syntax {
        _ if syntax.generated.is_none() => return Ok(()),
        _ if syntax.default.is_some() => "DEFAULT",
        _ if syntax.on_update.is_some() => "ON UPDATE",
        _ if syntax.auto_increment => "AUTO_INCREMENT",
        _ => return Ok(()),
    };
    Err(SqlError::wrong_usage(clause, "generated column"))
}

/// The same about a column that another table has.
pub(super) fn warn_of(column: &Column, warnings: &mut Warnings) {
    if column.real_digits.is_some() {
        warnings.warn(SqlError::deprecated_real_digits());
    }
    if column.zerofill {
        warnings.warn(SqlError::deprecated_zerofill());
    }
}

/// CONVERT TO CHARACTER SET of a column of characters: a TEXT that might become too short for
/// what it holds becomes a longer one.
pub(super) fn convert(column: &mut Column, to: Collation) -> Result<(), SqlError> {
    let (before, after) = (column.collation.max_char_bytes(), to.max_char_bytes());
    check_varchar(&column.name, column.ty, to)?;
    for text in column.members.texts() {
        check_member(text, to)?;
    }
    if let ColumnType::Text(width) = column.ty
        && after > before
        && width < 4
    {
        column.ty = text_for(&column.name, (column.max_bytes() / before).into(), after)?;
    }
    column.collation = to;
    Ok(())
}

/// The digits of the types that CURRENT_TIMESTAMP goes with.
fn moment_digits(ty: ColumnType) -> Option<u8> {
    match ty {
        ColumnType::DateTime(digits) | ColumnType::Timestamp(digits) => Some(digits),
        _ => None,
    }
}

fn on_update(syntax: &ColumnSyntax, ty: ColumnType) -> Result<bool, SqlError> {
    match syntax.on_update {
        None => Ok(false),
        digits if digits == moment_digits(ty) => Ok(true),
        Some(_) => Err(SqlError::invalid_on_update(&syntax.name)),
    }
}

/// A comment of at most so many characters. Outside strict mode a longer one is cut, with a
/// warning.
pub(super) fn comment(
    text: &str,
    (kind, name): (&str, &str),
    max: usize,
    strict: bool,
    warnings: &mut Warnings,
) -> Result<String, SqlError> {
    let kept = in_names(text.into());
    if kept != text {
        let lost = printable(text.as_bytes());
        warnings.warn(SqlError::name_not_convertible(lost));
    }
    let Some((end, _)) = kept.char_indices().nth(max) else {
        return Ok(kept.into_owned());
    };
    let error = SqlError::comment_too_long(kind, name, max);
    if strict {
        return Err(error);
    }
    warnings.warn(error);
    Ok(kept.get(..end).unwrap_or_default().to_string())
}

/// Characters that a comment of a column or an index may have.
pub(super) const COMMENT_MAX: usize = 1024;

/// Whether a default must be an expression.
fn takes_no_literal(column: &Column) -> bool {
    matches!(column.ty, ColumnType::Text(_) | ColumnType::Json)
}

/// Whether a default that a column cannot have is left out without strict mode: the empty one of a
/// TEXT or BLOB.
fn is_left_out(column: &Column, default: &DefaultSyntax) -> bool {
    let is_empty = matches!(default, DefaultSyntax::Value(Value::Bytes(text)) if text.is_empty());
    is_empty && matches!(column.ty, ColumnType::Text(_))
}

/// The default of a column: 1067 if it is not of its type.
pub(super) fn default_value(
    column: &Column,
    default: &DefaultSyntax,
    session: &Statement<'_>,
) -> Result<DefaultValue, SqlError> {
    let invalid = || SqlError::invalid_default(&column.name);
    match default {
        DefaultSyntax::Null => Ok(DefaultValue::Null),
        DefaultSyntax::Now(digits) if moment_digits(column.ty) == Some(*digits) => {
            Ok(DefaultValue::CurrentTimestamp)
        }
        DefaultSyntax::Now(_) => Err(invalid()),
        DefaultSyntax::Expression(text) => {
            // As it is written: see `default::define`.
            Ok(DefaultValue::Expression(text.clone()))
        }
        DefaultSyntax::Value(_) if takes_no_literal(column) => {
            Err(SqlError::blob_cannot_have_default(&column.name))
        }
        // A member is told by its text alone.
        DefaultSyntax::Value(value) if column.ty.has_members() => {
            let named = match value {
                Value::Bytes(text) => column.named(text),
                _ => None,
            };
            literal(column, named.ok_or_else(invalid)?, session)
        }
        DefaultSyntax::Value(value) => literal(column, value.clone(), session),
        DefaultSyntax::Bits(_) if takes_no_literal(column) => {
            Err(SqlError::blob_cannot_have_default(&column.name))
        }
        DefaultSyntax::Bits(bytes) if column.ty.has_collation() => {
            literal(column, Value::Bytes(bytes.clone()), session)
        }
        DefaultSyntax::Bits(bytes) if bytes.len() <= 8 => {
            let number = bytes
                .iter()
                .fold(0, |number, byte| number << 8 | u64::from(*byte));
            literal(column, Value::UInt(number), session)
        }
        DefaultSyntax::Bits(_) => Err(invalid()),
    }
}

/// A literal default, in the form in which the column's type is printed.
fn literal(
    column: &Column,
    value: Value,
    session: &Statement<'_>,
) -> Result<DefaultValue, SqlError> {
    let mut decimals = 31;
    match column.ty {
        ColumnType::DateTime(digits) | ColumnType::Time(digits) => decimals = digits,
        ColumnType::Float | ColumnType::Double => {
            decimals = column.real_digits.map_or(decimals, |(_, scale)| scale);
        }
        _ => {}
    }
    // What a row of this column would refuse is an invalid default, in every sql_mode.
    let value = convert::assign_strictly(column, value, session)
        .map_err(|_| SqlError::invalid_default(&column.name))?;
    if let (ColumnType::Timestamp(digits), Value::DateTime(utc)) = (column.ty, &value) {
        let kept = moment::kept(*utc, digits, session.time_zone);
        return Ok(DefaultValue::Literal(kept));
    }
    if let (ColumnType::Bit(_), Value::UInt(bits)) = (column.ty, &value) {
        return Ok(DefaultValue::of_bits(*bits));
    }
    let mut text = Vec::new();
    crate::expr::text(&value, decimals, &mut text);
    if let (ColumnType::Char(length), true) = (column.ty, column.is_binary()) {
        text.resize(text.len().max(usize::from(length)), 0);
    }
    if column.ty == ColumnType::Year {
        let zeros = 4_usize.saturating_sub(text.len());
        text.splice(0..0, std::iter::repeat_n(b'0', zeros));
    }
    if column.zerofill {
        let width = usize::from(
            column
                .display_width
                .unwrap_or_else(|| column.default_width()),
        );
        let zeros = width.saturating_sub(text.len());
        text.splice(0..0, std::iter::repeat_n(b'0', zeros));
    }
    Ok(match String::from_utf8(text) {
        Ok(text) => DefaultValue::Literal(text),
        Err(error) => DefaultValue::of_bytes(error.as_bytes()),
    })
}

/// The bytes a column takes in a row, as MySQL counts them for the maximum row size; and in an
/// index, without a prefix.
pub(super) fn sizes(column: &Column) -> (u32, u32) {
    let bytes = column.value_bytes();
    match column.ty {
        ColumnType::VarChar(_) => {
            let prefix = if bytes > 255 { 2 } else { 1 };
            (bytes + prefix, bytes)
        }
        // A pointer and the length.
        ColumnType::Text(width) => (8 + u32::from(width), u32::MAX),
        ColumnType::Json => (12, u32::MAX),
        ColumnType::Char(_)
        | ColumnType::TinyInt
        | ColumnType::SmallInt
        | ColumnType::MediumInt
        | ColumnType::Int
        | ColumnType::BigInt
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Date
        | ColumnType::Time(_)
        | ColumnType::DateTime(_)
        | ColumnType::Timestamp(_)
        | ColumnType::Year
        | ColumnType::Enum(_)
        | ColumnType::Set(_)
        | ColumnType::Bit(_) => (bytes, bytes),
    }
}
