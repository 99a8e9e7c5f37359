//! The names of character sets and collations in statements: what they are, what MySQL says about
//! the deprecated ones, and which are not there as opposed to nowhere.

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

    /// The character set of a name: 1115 if there is none, 1235 if it is only not here.
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
            None if is_known_charset(name) => Err(SqlError::not_supported(format_args!(
                "character set {name}"
            ))),
            None => Err(SqlError::unknown_character_set(name)),
        }
    }

    /// What MySQL notes where it is named.
    pub fn warning(self) -> Option<SqlError> {
        match (self.charset, self.spelling) {
            (_, Spelling::Utf8) => Some(SqlError::utf8_alias()),
            (_, Spelling::National) => Some(SqlError::national_is_utf8mb3()),
            (Charset::Utf8mb3, Spelling::Own) => Some(SqlError::deprecated("utf8mb3", "utf8mb4")),
            (_, Spelling::Own) => None,
        }
    }
}

/// Whether MySQL has a character set of this name: each has a collation `…_bin`.
fn is_known_charset(name: &str) -> bool {
    is_known(&format!("{name}_bin"))
}

/// The collations of MySQL that are not here.
const MISSING: &str = "\
    big5_bin big5_chinese_ci cp1250_czech_cs cp932_bin cp932_japanese_ci eucjpms_bin \
    eucjpms_japanese_ci euckr_bin euckr_korean_ci gb18030_bin gb18030_chinese_ci \
    gb18030_unicode_520_ci gb2312_bin gb2312_chinese_ci gbk_bin gbk_chinese_ci latin1_german2_ci \
    latin2_czech_cs sjis_bin sjis_japanese_ci swe7_bin swe7_swedish_ci tis620_bin tis620_thai_ci \
    ucs2_bin ucs2_croatian_ci ucs2_czech_ci ucs2_danish_ci ucs2_esperanto_ci ucs2_estonian_ci \
    ucs2_general_ci ucs2_general_mysql500_ci ucs2_german2_ci ucs2_hungarian_ci ucs2_icelandic_ci \
    ucs2_latvian_ci ucs2_lithuanian_ci ucs2_persian_ci ucs2_polish_ci ucs2_romanian_ci \
    ucs2_roman_ci ucs2_sinhala_ci ucs2_slovak_ci ucs2_slovenian_ci ucs2_spanish2_ci \
    ucs2_spanish_ci ucs2_swedish_ci ucs2_turkish_ci ucs2_unicode_520_ci ucs2_unicode_ci \
    ucs2_vietnamese_ci ujis_bin ujis_japanese_ci utf16le_bin utf16le_general_ci utf16_bin \
    utf16_croatian_ci utf16_czech_ci utf16_danish_ci utf16_esperanto_ci utf16_estonian_ci \
    utf16_general_ci utf16_german2_ci utf16_hungarian_ci utf16_icelandic_ci utf16_latvian_ci \
    utf16_lithuanian_ci utf16_persian_ci utf16_polish_ci utf16_romanian_ci utf16_roman_ci \
    utf16_sinhala_ci utf16_slovak_ci utf16_slovenian_ci utf16_spanish2_ci utf16_spanish_ci \
    utf16_swedish_ci utf16_turkish_ci utf16_unicode_520_ci utf16_unicode_ci utf16_vietnamese_ci \
    utf32_bin utf32_croatian_ci utf32_czech_ci utf32_danish_ci utf32_esperanto_ci \
    utf32_estonian_ci utf32_general_ci utf32_german2_ci utf32_hungarian_ci utf32_icelandic_ci \
    utf32_latvian_ci utf32_lithuanian_ci utf32_persian_ci utf32_polish_ci utf32_romanian_ci \
    utf32_roman_ci utf32_sinhala_ci utf32_slovak_ci utf32_slovenian_ci utf32_spanish2_ci \
    utf32_spanish_ci utf32_swedish_ci utf32_turkish_ci utf32_unicode_520_ci utf32_unicode_ci \
    utf32_vietnamese_ci utf8mb4_ja_0900_as_cs utf8mb4_ja_0900_as_cs_ks utf8mb4_zh_0900_as_cs";

/// Whether MySQL has a collation of this name, which is not here.
fn is_known(name: &str) -> bool {
    MISSING
        .split_ascii_whitespace()
        .any(|known| known.eq_ignore_ascii_case(name))
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
    let is_deprecated = collation.charset() == Charset::Utf8mb3;
    is_deprecated.then(|| SqlError::utf8mb3_collation(collation.name()))
}
