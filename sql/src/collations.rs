//! The names of character sets and collations in statements: what they are, what MySQL says about
//! the deprecated ones, and which collations are not there as opposed to nowhere.

use crate::error::SqlError;
use cohort_engine::types::{Charset, Collation};

/// A character set as a statement names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedCharset {
    /// The character set.
    pub charset: Charset,
    spelling: Spelling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// By its own name.
    Own,
    /// `utf8`.
    Utf8,
    /// NATIONAL, NCHAR, `n'…'`.
    National,
}

impl NamedCharset {
    /// The character set of NATIONAL strings.
    pub const NATIONAL: NamedCharset = NamedCharset {
        charset: Charset::Utf8mb3,
        spelling: Spelling::National,
    };

    /// The character set of a name: 1115 if there is none.
    pub fn find(name: &str) -> Result<NamedCharset, SqlError> {
        let is_utf8 = name.eq_ignore_ascii_case("utf8");
        match Charset::from_name(name) {
            Some(charset) => Ok(NamedCharset {
                charset,
                spelling: if is_utf8 {
                    Spelling::Utf8
                } else {
                    Spelling::Own
                },
            }),
            None => Err(SqlError::unknown_character_set(name)),
        }
    }

    /// What MySQL notes where it is named.
    pub fn warning(self) -> Option<SqlError> {
        match (self.charset, self.spelling) {
            (_, Spelling::Utf8) => Some(SqlError::utf8_alias()),
            (_, Spelling::National) => Some(SqlError::national_is_utf8mb3()),
            (charset, Spelling::Own) if is_deprecated(charset) => {
                Some(SqlError::deprecated(charset.name(), "utf8mb4"))
            }
            (_, Spelling::Own) => None,
        }
    }
}

/// The collations of MySQL that are not here.
const MISSING: [&str; 3] = ["cp1250_czech_cs", "latin1_german2_ci", "latin2_czech_cs"];

/// Whether MySQL has a collation of this name, which is not here.
fn is_known(name: &str) -> bool {
    MISSING.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The collation of a name: 1273 if there is none, 1235 if it is only not here.
pub fn find(name: &str) -> Result<Collation, SqlError> {
    Collation::from_name(name).ok_or_else(|| match is_known(name) {
        true => SqlError::not_supported(format_args!("collation {name}")),
        false => SqlError::unknown_collation(name),
    })
}

/// What MySQL notes where a collation is named.
pub fn warning(collation: Collation) -> Option<SqlError> {
    let charset = collation.charset();
    match charset {
        Charset::Utf8mb3 => Some(SqlError::utf8mb3_collation(collation.name())),
        _ if is_deprecated(charset) => Some(SqlError::collation_of_deprecated(
            collation.name(),
            charset.name(),
        )),
        _ => None,
    }
}

fn is_deprecated(charset: Charset) -> bool {
    matches!(
        charset,
        Charset::Utf8mb3
            | Charset::Ucs2
            | Charset::Dec8
            | Charset::Hp8
            | Charset::Macce
            | Charset::Macroman
    )
}
