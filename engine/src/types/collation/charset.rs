//! The character sets there are: one row of facts each, and the conversion from and to UTF-8.
//!
//! Texts are UTF-8 wherever they are values; only what is stored, sent or looked at as bytes is in
//! the bytes of its character set.

use super::Collation;
use std::{borrow::Cow, sync::LazyLock};

/// What is known of a character set.
struct Facts {
    name: &'static str,
    description: &'static str,
    encoding: Encoding,
    default: Collation,
    bin: Collation,
}

/// How characters are written.
enum Encoding {
    /// UTF-8 of code points up to this one.
    Utf8(u32),
    /// A byte each.
    Bytes(&'static LazyLock<ByteTable>),
    /// The bytes are no characters.
    None,
}

/// Makes the enum and the rows of facts from one list.
macro_rules! charsets {
    ($($(#[$doc:meta])* $variant:ident $name:literal $description:literal $encoding:expr, $default:ident $bin:ident;)*) => {
        /// A character set.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Charset {
            $($(#[$doc])* $variant,)*
        }

        impl Charset {
            /// All character sets.
            pub const ALL: &'static [Charset] = &[$(Charset::$variant,)*];

            fn facts(self) -> &'static Facts {
                match self {
                    $(Charset::$variant => {
                        static FACTS: Facts = Facts {
                            name: $name,
                            description: $description,
                            encoding: $encoding,
                            default: Collation::$default,
                            bin: Collation::$bin,
                        };
                        &FACTS
                    })*
                }
            }
        }
    };
}

charsets! {
    /// UTF-8.
    Utf8mb4 "utf8mb4" "UTF-8 Unicode" Encoding::Utf8(0x10_FFFF), Utf8mb40900AiCi Utf8mb4Bin;
    /// UTF-8 of the characters up to U+FFFF.
    Utf8mb3 "utf8mb3" "UTF-8 Unicode" Encoding::Utf8(0xFFFF), Utf8mb3GeneralCi Utf8mb3Bin;
    /// Windows' code page 1252.
    Latin1 "latin1" "cp1252 West European" Encoding::Bytes(&LATIN1), Latin1SwedishCi Latin1Bin;
    /// ASCII.
    Ascii "ascii" "US ASCII" Encoding::Bytes(&ASCII), AsciiGeneralCi AsciiBin;
    /// Bytes, which are no characters.
    Binary "binary" "Binary pseudo charset" Encoding::None, Binary Binary;
}

macro_rules! table {
    ($name:ident, $file:literal) => {
        static $name: LazyLock<ByteTable> =
            LazyLock::new(|| ByteTable::unpack(include_bytes!($file)));
    };
}

table!(LATIN1, "latin1.charset");
table!(ASCII, "ascii.charset");

/// The characters of a character set in which each is a byte; from a file that
/// `generate_weights.py` makes.
struct ByteTable {
    characters: [Option<char>; 256],
    upper: [u8; 256],
    lower: [u8; 256],
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

    fn byte(&self, c: char) -> Option<u8> {
        if c.is_ascii() {
            return Some(c as u8);
        }
        let found = self.bytes.binary_search_by_key(&c, |(c, _)| *c).ok()?;
        Some(self.bytes[found].1)
    }

    fn character(&self, byte: u8) -> char {
        self.characters[usize::from(byte)].unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

impl Charset {
    /// MySQL's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The character set with this name, in any case; `utf8` is utf8mb3.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Charset> {
        let name = if name.eq_ignore_ascii_case("utf8") {
            "utf8mb3"
        } else {
            name
        };
        Charset::ALL
            .iter()
            .copied()
            .find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    /// What SHOW CHARACTER SET says of it.
    #[must_use]
    pub fn description(self) -> &'static str {
        self.facts().description
    }

    /// The most bytes a character takes.
    #[must_use]
    pub fn max_char_bytes(self) -> u32 {
        match self.facts().encoding {
            Encoding::Utf8(0x1_0000..) => 4,
            Encoding::Utf8(_) => 3,
            Encoding::Bytes(_) | Encoding::None => 1,
        }
    }

    /// The collation of strings that name only the character set.
    #[must_use]
    pub fn default_collation(self) -> Collation {
        self.facts().default
    }

    /// The collation that the attribute BINARY of a column stands for.
    #[must_use]
    pub fn bin_collation(self) -> Collation {
        self.facts().bin
    }

    /// Whether its characters are Unicode's, so that text of other character sets can be
    /// converted to it.
    #[must_use]
    pub fn is_unicode(self) -> bool {
        matches!(self.facts().encoding, Encoding::Utf8(_))
    }

    /// Whether values have the bytes of the character set as they are.
    #[must_use]
    pub fn is_as_stored(self) -> bool {
        !matches!(self.facts().encoding, Encoding::Bytes(_))
    }

    /// Whether it has every character of the other one.
    #[must_use]
    pub fn includes(self, other: Charset) -> bool {
        match (&self.facts().encoding, &other.facts().encoding) {
            _ if self == other || other == Charset::Ascii => true,
            (Encoding::None, _) => true,
            (Encoding::Utf8(most), Encoding::Utf8(others)) => most >= others,
            (Encoding::Utf8(_), Encoding::Bytes(_)) => true,
            (Encoding::Utf8(_), Encoding::None) | (Encoding::Bytes(_), _) => false,
        }
    }

    /// Whether it has this character.
    #[must_use]
    fn contains(self, c: char) -> bool {
        match &self.facts().encoding {
            Encoding::None => true,
            Encoding::Utf8(most) => u32::from(c) <= *most,
            Encoding::Bytes(table) => table.byte(c).is_some_and(|byte| table.character(byte) == c),
        }
    }

    /// Where in a text that should be UTF-8 the first character is that the character set does
    /// not have, or the first byte that begins none.
    #[must_use]
    pub fn foreign_at(self, text: &[u8]) -> Option<usize> {
        if self == Charset::Binary || text.is_ascii() {
            return None;
        }
        let (valid, broken) = match std::str::from_utf8(text) {
            Ok(valid) => (valid, None),
            Err(error) => {
                let at = error.valid_up_to();
                (std::str::from_utf8(&text[..at]).unwrap_or(""), Some(at))
            }
        };
        let mut characters = valid.char_indices();
        let foreign = characters.find(|(_, c)| !self.contains(*c));
        foreign.map(|(at, _)| at).or(broken)
    }

    /// The text with a question mark for each character that the character set does not have.
    #[must_use]
    pub fn without_foreign(self, text: &str) -> String {
        let keep = |c: char| if self.contains(c) { c } else { '?' };
        text.chars().map(keep).collect()
    }

    /// A text in the bytes of the character set, with a question mark for each character that it
    /// does not have. What is not UTF-8 stays as it is, or becomes question marks.
    #[must_use]
    pub fn encode(self, text: &[u8]) -> Cow<'_, [u8]> {
        if text.is_ascii() {
            return Cow::Borrowed(text);
        }
        match &self.facts().encoding {
            Encoding::None => Cow::Borrowed(text),
            Encoding::Utf8(_) if self.foreign_at(text).is_none() => Cow::Borrowed(text),
            Encoding::Utf8(_) => match std::str::from_utf8(text) {
                Ok(text) => Cow::Owned(self.without_foreign(text).into()),
                Err(_) => Cow::Borrowed(text),
            },
            Encoding::Bytes(table) => {
                let text = String::from_utf8_lossy(text);
                let bytes = text.chars().map(|c| table.byte(c).unwrap_or(b'?'));
                Cow::Owned(bytes.collect())
            }
        }
    }

    /// The text that bytes of the character set are; U+FFFD stands for bytes that are none. Bytes
    /// of UTF-8 stay as they are.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match &self.facts().encoding {
            Encoding::Bytes(table) if !bytes.is_ascii() => {
                let text: String = bytes.iter().map(|byte| table.character(*byte)).collect();
                Cow::Owned(text.into())
            }
            Encoding::Bytes(_) | Encoding::Utf8(_) | Encoding::None => Cow::Borrowed(bytes),
        }
    }

    /// The capital letter of a character, where the character set has an own notion of it.
    #[must_use]
    pub(super) fn upper(self, c: char) -> Option<char> {
        self.in_case(c, |table, byte| table.upper[byte])
    }

    /// The same, its small letter.
    #[must_use]
    pub(super) fn lower(self, c: char) -> Option<char> {
        self.in_case(c, |table, byte| table.lower[byte])
    }

    fn in_case(self, c: char, of: impl Fn(&ByteTable, usize) -> u8) -> Option<char> {
        match &self.facts().encoding {
            Encoding::Bytes(table) => {
                let byte = table.byte(c)?;
                Some(table.character(of(table, byte.into())))
            }
            Encoding::Utf8(_) | Encoding::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let all: Vec<u8> = (0..=u8::MAX).collect();
        let text = Charset::Latin1.decode(&all).into_owned();
        assert_eq!(Charset::Latin1.foreign_at(&text), None);
        assert_eq!(Charset::Latin1.encode(&text)[..], all[..]);
        let half = Charset::Ascii.decode(&all[..128]).into_owned();
        assert_eq!(Charset::Ascii.encode(&half)[..], all[..128]);
    }

    #[test]
    fn characters_that_are_not_there_are_question_marks() {
        let text = "aé€日😀";
        assert_eq!(Charset::Latin1.encode(text.as_bytes())[..], *b"a\xE9\x80??");
        assert_eq!(Charset::Ascii.encode(text.as_bytes())[..], *b"a????");
        assert_eq!(
            Charset::Utf8mb3.encode(text.as_bytes())[..],
            *"aé€日?".as_bytes()
        );
        assert_eq!(Charset::Latin1.foreign_at(text.as_bytes()), Some(6));
        assert_eq!(Charset::Utf8mb3.foreign_at(text.as_bytes()), Some(9));
        assert_eq!(Charset::Utf8mb4.foreign_at(b"a\xFF"), Some(1));
        assert_eq!(Charset::Ascii.decode(b"a\xE9")[..], *"a\u{FFFD}".as_bytes());
    }

    #[test]
    fn who_has_whose_characters() {
        use Charset::{Ascii, Latin1, Utf8mb3, Utf8mb4};
        for charset in [Ascii, Latin1, Utf8mb3, Utf8mb4] {
            assert!(charset.includes(Ascii) && Utf8mb4.includes(charset));
        }
        assert!(Utf8mb3.includes(Latin1) && !Latin1.includes(Utf8mb3) && !Ascii.includes(Latin1));
    }
}
