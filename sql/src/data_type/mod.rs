//! Data types of columns: how they are written, and the columns that they make.

mod define;
mod parse;

pub use define::{check_member, check_varchar, text_for};
pub use parse::data_type;

use crate::{
    collations::{self, NamedCharset},
    command::{Cursor, Parsed},
    error::SqlError,
    warnings::Warnings,
};
use cohort_engine::types::{Collation, ColumnType};

/// The type of a column, as far as it does not depend on its collation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeSyntax {
    /// Any type that is complete. A string type's length is not checked yet.
    Complete(ColumnType),
    /// TEXT(n) or BLOB(n): the smallest type that takes n characters.
    TextFor(u64),
    /// ENUM; its width depends on how many members there are.
    Enum,
    /// SET, the same.
    Set,
}

/// A data type as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct DataType {
    /// Which.
    pub ty: TypeSyntax,
    /// The members of an ENUM or SET.
    pub members: Vec<String>,
    /// M and D of FLOAT(M,D) and DOUBLE(M,D).
    pub real_digits: Option<(u8, u8)>,
    /// UNSIGNED.
    pub unsigned: bool,
    /// ZEROFILL.
    pub zerofill: bool,
    /// The width in `int(11)`; 1 for BOOL.
    pub display_width: Option<u8>,
    /// BOOL was written, which is `tinyint(1)`.
    pub bool: bool,
    /// YEAR(4) was written, which is YEAR.
    pub year_width: bool,
    /// BINARY, VARBINARY and BLOB: bytes, whatever the table's character set is.
    pub bytes: bool,
    /// The attribute BINARY: the `_bin` collation.
    pub binary: bool,
    /// CHARACTER SET and COLLATE.
    pub charset: CharsetSyntax,
}

impl Default for DataType {
    /// INT.
    fn default() -> DataType {
        DataType {
            ty: TypeSyntax::Complete(ColumnType::Int),
            members: Vec::new(),
            real_digits: None,
            unsigned: false,
            zerofill: false,
            display_width: None,
            bool: false,
            year_width: false,
            bytes: false,
            binary: false,
            charset: CharsetSyntax::default(),
        }
    }
}

impl DataType {
    /// BIGINT UNSIGNED, which SERIAL is.
    #[must_use]
    pub fn serial() -> DataType {
        DataType {
            ty: TypeSyntax::Complete(ColumnType::BigInt),
            unsigned: true,
            ..DataType::default()
        }
    }
}

/// CHARACTER SET and COLLATE clauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CharsetSyntax {
    /// CHARACTER SET.
    pub charset: Option<NamedCharset>,
    /// COLLATE.
    pub collation: Option<Collation>,
    /// ASCII or UNICODE, if that is how the character set was said.
    pub word: Option<&'static str>,
}

impl CharsetSyntax {
    /// The collation that the clauses ask for: 1253 if they do not go together.
    pub fn resolve(&self) -> Result<Option<Collation>, SqlError> {
        let charset = self.charset.map(|named| named.charset);
        match (charset, self.collation) {
            (Some(charset), Some(collation)) if charset != collation.charset() => Err(
                SqlError::collation_mismatch(collation.name(), charset.name()),
            ),
            (_, Some(collation)) => Ok(Some(collation)),
            (Some(charset), None) => Ok(Some(charset.default_collation())),
            (None, None) => Ok(None),
        }
    }
    /// One more CHARACTER SET: 1302 if it is another one than before.
    fn set_charset(&mut self, named: NamedCharset) -> Result<(), SqlError> {
        let (new, before) = (named.charset, self.charset.map(|named| named.charset));
        if let Some(before) = before.filter(|before| *before != new) {
            return Err(SqlError::conflicting_charsets(before.name(), new.name()));
        }
        self.charset = Some(named);
        Ok(())
    }
    /// One more COLLATE: 1253 if it is of another character set than the one before.
    fn set_collation(&mut self, new: Collation) -> Result<(), SqlError> {
        let before = self.collation.map(Collation::charset);
        if let Some(before) = before.filter(|before| *before != new.charset()) {
            return Err(SqlError::collation_mismatch(new.name(), before.name()));
        }
        self.collation = Some(new);
        Ok(())
    }
    /// Notes that utf8mb3 was asked for, in MySQL's words for how it was.
    pub fn warn(&self, warnings: &mut Warnings) {
        let warning = match self.word {
            Some(word) => Some(SqlError::deprecated(word, "CHARACTER SET charset_name")),
            None => self.charset.and_then(|named| named.warning()),
        };
        if let Some(warning) = warning {
            warnings.warn(warning);
        }
        if let Some(warning) = self.collation.and_then(collations::warning) {
            warnings.warn(warning);
        }
    }
}

/// `CHARACTER SET [=] name` or `COLLATE [=] name`, if it is here.
pub fn charset_clause(c: &mut Cursor, into: &mut CharsetSyntax) -> Parsed<bool> {
    if c.eat_all(&["CHARACTER", "SET"]) || c.eat("CHARSET") || c.eat_all(&["CHAR", "SET"]) {
        c.eat_symbol("=");
        let name = c.name_or_string()?;
        into.set_charset(NamedCharset::find(&name)?)?;
        return Ok(true);
    }
    if c.eat("COLLATE") {
        c.eat_symbol("=");
        into.set_collation(collations::find(&c.name_or_string()?)?)?;
        return Ok(true);
    }
    Ok(false)
}
