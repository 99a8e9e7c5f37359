//! The character sets in which a character is a byte, and the first 128, but in swe7, are those of
//! ASCII: their characters, and the weights of their collations.
//!
//! The files beside this one are made by `generate_weights.py`, which describes their forms.

use super::{names::LazyTable, weights::Table};
use std::sync::LazyLock;

/// Makes the tables of a character set and of its collations.
macro_rules! bytes {
    ($($charset:ident $name:literal { $($collation:ident $weights:literal,)* })*) => {
        $(
            #[doc = $name]
            pub static $charset: LazyLock<ByteTable> = LazyLock::new(|| {
                ByteTable::unpack(include_bytes!(concat!($name, ".charset")))
            });
            $(
                #[doc = $weights]
                pub static $collation: LazyTable = LazyLock::new(|| {
                    Table::unpack(include_bytes!(concat!($weights, ".weights")))
                });
            )*
        )*
    };
}

bytes! {
    ASCII "ascii" { ASCII_GENERAL_CI "ascii_general_ci", }
    ARMSCII8 "armscii8" { ARMSCII8_GENERAL_CI "armscii8_general_ci", ARMSCII8_BIN "armscii8_bin", }
    CP1250 "cp1250" {
        CP1250_GENERAL_CI "cp1250_general_ci",
        CP1250_BIN "cp1250_bin",
        CP1250_CROATIAN_CI "cp1250_croatian_ci",
        CP1250_POLISH_CI "cp1250_polish_ci",
    }
    CP1251 "cp1251" {
        CP1251_GENERAL_CI "cp1251_general_ci",
        CP1251_BIN "cp1251_bin",
        CP1251_BULGARIAN_CI "cp1251_bulgarian_ci",
        CP1251_UKRAINIAN_CI "cp1251_ukrainian_ci",
        CP1251_GENERAL_CS "cp1251_general_cs",
    }
    CP1256 "cp1256" { CP1256_GENERAL_CI "cp1256_general_ci", CP1256_BIN "cp1256_bin", }
    CP1257 "cp1257" {
        CP1257_GENERAL_CI "cp1257_general_ci",
        CP1257_BIN "cp1257_bin",
        CP1257_LITHUANIAN_CI "cp1257_lithuanian_ci",
    }
    CP850 "cp850" { CP850_GENERAL_CI "cp850_general_ci", CP850_BIN "cp850_bin", }
    CP852 "cp852" { CP852_GENERAL_CI "cp852_general_ci", CP852_BIN "cp852_bin", }
    CP866 "cp866" { CP866_GENERAL_CI "cp866_general_ci", CP866_BIN "cp866_bin", }
    DEC8 "dec8" { DEC8_SWEDISH_CI "dec8_swedish_ci", DEC8_BIN "dec8_bin", }
    GEOSTD8 "geostd8" { GEOSTD8_GENERAL_CI "geostd8_general_ci", GEOSTD8_BIN "geostd8_bin", }
    GREEK "greek" { GREEK_GENERAL_CI "greek_general_ci", GREEK_BIN "greek_bin", }
    HEBREW "hebrew" { HEBREW_GENERAL_CI "hebrew_general_ci", HEBREW_BIN "hebrew_bin", }
    HP8 "hp8" { HP8_ENGLISH_CI "hp8_english_ci", HP8_BIN "hp8_bin", }
    KEYBCS2 "keybcs2" { KEYBCS2_GENERAL_CI "keybcs2_general_ci", KEYBCS2_BIN "keybcs2_bin", }
    KOI8R "koi8r" { KOI8R_GENERAL_CI "koi8r_general_ci", KOI8R_BIN "koi8r_bin", }
    KOI8U "koi8u" { KOI8U_GENERAL_CI "koi8u_general_ci", KOI8U_BIN "koi8u_bin", }
    LATIN1 "latin1" {
        LATIN1_SWEDISH_CI "latin1_swedish_ci",
        LATIN1_BIN "latin1_bin",
        LATIN1_DANISH_CI "latin1_danish_ci",
        LATIN1_GENERAL_CI "latin1_general_ci",
        LATIN1_GENERAL_CS "latin1_general_cs",
        LATIN1_GERMAN1_CI "latin1_german1_ci",
        LATIN1_SPANISH_CI "latin1_spanish_ci",
    }
    LATIN2 "latin2" {
        LATIN2_GENERAL_CI "latin2_general_ci",
        LATIN2_BIN "latin2_bin",
        LATIN2_CROATIAN_CI "latin2_croatian_ci",
        LATIN2_HUNGARIAN_CI "latin2_hungarian_ci",
    }
    LATIN5 "latin5" { LATIN5_TURKISH_CI "latin5_turkish_ci", LATIN5_BIN "latin5_bin", }
    LATIN7 "latin7" {
        LATIN7_GENERAL_CI "latin7_general_ci",
        LATIN7_BIN "latin7_bin",
        LATIN7_ESTONIAN_CS "latin7_estonian_cs",
        LATIN7_GENERAL_CS "latin7_general_cs",
    }
    MACCE "macce" { MACCE_GENERAL_CI "macce_general_ci", MACCE_BIN "macce_bin", }
    MACROMAN "macroman" { MACROMAN_GENERAL_CI "macroman_general_ci", MACROMAN_BIN "macroman_bin", }
    SWE7 "swe7" { SWE7_SWEDISH_CI "swe7_swedish_ci", SWE7_BIN "swe7_bin", }
    TIS620 "tis620" { TIS620_BIN "tis620_bin", }
}

/// The characters of a character set in which each is a byte; from a file that
/// `generate_weights.py` makes.
pub struct ByteTable {
    characters: [Option<char>; 256],
    /// The bytes of the capital letters.
    pub upper: [u8; 256],
    /// The bytes of the small letters.
    pub lower: [u8; 256],
    /// Characters and their bytes, ascending.
    bytes: Vec<(char, u8)>,
}

impl ByteTable {
    fn unpack(file: &[u8; 1024]) -> ByteTable {
        let mut table = ByteTable {
            characters: [None; 256],
            upper: [0; 256],
            lower: [0; 256],
            bytes: Vec::with_capacity(256),
        };
        for (byte, entry) in (0..=u8::MAX).zip(file.as_chunks::<4>().0) {
            let [low, high, upper, lower] = *entry;
            let code = u16::from_le_bytes([low, high]);
            let i = usize::from(byte);
            (table.upper[i], table.lower[i]) = (upper, lower);
            table.characters[i] = char::from_u32(code.into()).filter(|_| code != 0xFFFF);
            table.bytes.extend(table.characters[i].map(|c| (c, byte)));
        }
        table.bytes.sort_unstable();
        table
    }

    /// The byte of a character; the first one, if it has several.
    pub fn byte(&self, c: char) -> Option<u8> {
        if c.is_ascii() && self.character(c as u8) == c {
            return Some(c as u8);
        }
        let (found, byte) = *self
            .bytes
            .get(self.bytes.partition_point(|(known, _)| *known < c))?;
        (found == c).then_some(byte)
    }

    /// The character of a byte; U+FFFD if it has none.
    pub fn character(&self, byte: u8) -> char {
        self.characters[usize::from(byte)].unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}
