//! From the syntax of a type to a column.

use super::{DataType, TypeSyntax};
use crate::{error::SqlError, warnings::Warnings};
use cohort_engine::types::{Collation, Column, ColumnType, Members};

/// What may be wrong with the members of an ENUM or SET: too many, or two that are equal.
fn check_members(
    name: &str,
    syntax: &DataType,
    collation: Collation,
    strict: bool,
    warnings: &mut Warnings,
) -> Result<(), SqlError> {
    const ENUM_MAX: usize = 65_535;
    const SET_MAX: usize = 64;
    const LENGTH_MAX: usize = 255;
    let members = &syntax.members;
    let kind = match syntax.ty {
        TypeSyntax::Enum => "ENUM",
        TypeSyntax::Set => "SET",
        TypeSyntax::Complete(_) | TypeSyntax::TextFor(_) => return Ok(()),
    };
    if kind == "SET"
        && let Some(text) = members.iter().find(|text| text.contains(','))
    {
        return Err(SqlError::illegal_set_member(text));
    }
    if kind == "SET" && members.len() > SET_MAX {
        return Err(SqlError::too_many_set_members(name));
    }
    if members.len() > ENUM_MAX {
        return Err(SqlError::too_many_enum_members(name));
    }
    if members.iter().any(|text| text.chars().count() > LENGTH_MAX) {
        return Err(SqlError::member_too_long(name));
    }
    let mut seen = std::collections::HashMap::new();
    let mut twice = Vec::new();
    for (position, text) in members.iter().enumerate() {
        check_member(text, collation)?;
        let mut key = Vec::new();
        collation.sort_key(text.as_bytes(), &mut key);
        if let Some(before) = seen.insert(key, position) {
            twice.push(before);
        }
    }
    twice.sort_unstable();
    for text in twice
        .into_iter()
        .filter_map(|position| members.get(position))
    {
        let error = SqlError::duplicated_member(name, text, kind);
        if strict {
            return Err(error);
        }
        warnings.note(error);
    }
    Ok(())
}

/// Refuses a member with what its character set does not have. (MySQL makes question marks of that.)
pub fn check_member(text: &str, collation: Collation) -> Result<(), SqlError> {
    let charset = collation.charset();
    match charset.foreign_at(text.as_bytes()) {
        Some(_) => Err(SqlError::not_supported(format_args!(
            "a member '{text}' that {} does not have",
            charset.name()
        ))),
        None => Ok(()),
    }
}

impl DataType {
    /// Notes about what MySQL calls deprecated.
    pub fn warn(&self, warnings: &mut Warnings) {
        let syntax = self;
        if syntax.zerofill {
            warnings.warn(SqlError::deprecated_zerofill());
        }
        if syntax.display_width.is_some() && !syntax.bool {
            warnings.warn(SqlError::deprecated_display_width());
        }
        if syntax.real_digits.is_some() {
            warnings.warn(SqlError::deprecated_real_digits());
        }
        let is_exact = |ty| matches!(ty, ColumnType::Decimal { .. });
        let is_real = |ty| is_exact(ty) || matches!(ty, ColumnType::Float | ColumnType::Double);
        if syntax.unsigned && matches!(syntax.ty, TypeSyntax::Complete(ty) if is_real(ty)) {
            warnings.warn(SqlError::deprecated_unsigned());
        }
        if syntax.year_width {
            warnings.warn(SqlError::deprecated("YEAR(4)", "YEAR"));
        }
        syntax.charset.warn(warnings);
        if syntax.binary {
            warnings.warn(SqlError::deprecated(
                "BINARY as attribute of a type",
                "a CHARACTER SET clause with _bin collation",
            ));
        }
    }

    /// A column of this type that may be NULL and has no default, in a table with this collation.
    /// `strict`: members that are equal are an error.
    pub fn column(
        &self,
        name: &str,
        table: Collation,
        strict: bool,
        warnings: &mut Warnings,
    ) -> Result<Column, SqlError> {
        let (ty, collation, explicit_collation) = typed(name, self, table)?;
        check_members(name, self, collation, strict, warnings)?;
        Ok(Column {
            unsigned: self.unsigned || self.zerofill,
            zerofill: self.zerofill,
            collation,
            display_width: self.display_width,
            explicit_collation,
            members: Members::new(self.members.clone()),
            real_digits: self.real_digits,
            ..Column::new(name, ty)
        })
    }
}

/// The type, the collation and whether the latter was asked for.
fn typed(
    name: &str,
    syntax: &DataType,
    table: Collation,
) -> Result<(ColumnType, Collation, bool), SqlError> {
    let wanted = syntax.charset.resolve()?;
    let is_string = match syntax.ty {
        TypeSyntax::Complete(ty) => ty.has_collation(),
        TypeSyntax::TextFor(_) | TypeSyntax::Enum | TypeSyntax::Set => true,
    };
    let collation = if !is_string || syntax.bytes {
        Collation::Binary
    } else if syntax.binary {
        wanted.unwrap_or(table).charset().bin_collation()
    } else {
        wanted.unwrap_or(table)
    };
    let has_members = matches!(syntax.ty, TypeSyntax::Enum | TypeSyntax::Set);
    let is_shown = has_members || !collation.is_binary();
    let explicit = is_string && !syntax.bytes && wanted.is_some() && is_shown;
    let char_bytes = collation.max_char_bytes();
    let ty = match syntax.ty {
        TypeSyntax::TextFor(length) => text_for(name, length, char_bytes)?,
        TypeSyntax::Complete(ty) => ty,
        // 0 is the number of what is no member.
        TypeSyntax::Enum => ColumnType::Enum(if syntax.members.len() < 256 { 1 } else { 2 }),
        TypeSyntax::Set => ColumnType::Set(match syntax.members.len().div_ceil(8) {
            bytes @ ..5 => u8::try_from(bytes).unwrap_or(8),
            _ => 8,
        }),
    };
    check_varchar(name, ty, collation)?;
    if let (ColumnType::Json, Some(wanted)) = (ty, wanted)
        && !wanted.is_binary()
    {
        let binary = Collation::Binary.name();
        return Err(SqlError::collation_mismatch(wanted.name(), binary));
    }
    Ok((ty, collation, explicit))
}

/// 1074 for a VARCHAR that is too long for its character set.
pub fn check_varchar(name: &str, ty: ColumnType, collation: Collation) -> Result<(), SqlError> {
    let max = 65_535 / collation.max_char_bytes();
    match ty {
        ColumnType::VarChar(length) if length > max => Err(SqlError::column_too_long(name, max)),
        _ => Ok(()),
    }
}

/// TEXT(n): the smallest type that takes so many characters.
pub fn text_for(name: &str, length: u64, char_bytes: u32) -> Result<ColumnType, SqlError> {
    let width = match length.saturating_mul(u64::from(char_bytes)) {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        0x100_0000..=0xffff_ffff => 4,
        _ => return Err(SqlError::display_width_too_big(name, u32::MAX)),
    };
    Ok(ColumnType::Text(width))
}
