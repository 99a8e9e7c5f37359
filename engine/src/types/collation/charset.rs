//! The character sets there are: one row of facts each, and the conversion from and to UTF-8.
//!
//! Texts are UTF-8 wherever they are values; only what is stored, sent or looked at as bytes is in
//! the bytes of its character set.

use super::{
    Collation,
    bytes::{self, ByteTable},
    multibyte::{self, MultibyteTable},
    weights::next_char,
    wide::Wide,
};
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
    /// In whole units of two or four bytes.
    Wide(Wide),
    /// A byte each.
    Bytes(&'static LazyLock<ByteTable>),
    /// One to four bytes each.
    Multibyte(&'static LazyLock<MultibyteTable>),
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
    Latin1 "latin1" "cp1252 West European" Encoding::Bytes(&bytes::LATIN1), Latin1SwedishCi Latin1Bin;
    /// ASCII.
    Ascii "ascii" "US ASCII" Encoding::Bytes(&bytes::ASCII), AsciiGeneralCi AsciiBin;
    /// Armenian.
    Armscii8 "armscii8" "ARMSCII-8 Armenian" Encoding::Bytes(&bytes::ARMSCII8), Armscii8GeneralCi Armscii8Bin;
    /// Windows' code page 1250.
    Cp1250 "cp1250" "Windows Central European" Encoding::Bytes(&bytes::CP1250), Cp1250GeneralCi Cp1250Bin;
    /// Windows' code page 1251.
    Cp1251 "cp1251" "Windows Cyrillic" Encoding::Bytes(&bytes::CP1251), Cp1251GeneralCi Cp1251Bin;
    /// Windows' code page 1256.
    Cp1256 "cp1256" "Windows Arabic" Encoding::Bytes(&bytes::CP1256), Cp1256GeneralCi Cp1256Bin;
    /// Windows' code page 1257.
    Cp1257 "cp1257" "Windows Baltic" Encoding::Bytes(&bytes::CP1257), Cp1257GeneralCi Cp1257Bin;
    /// DOS' code page 850.
    Cp850 "cp850" "DOS West European" Encoding::Bytes(&bytes::CP850), Cp850GeneralCi Cp850Bin;
    /// DOS' code page 852.
    Cp852 "cp852" "DOS Central European" Encoding::Bytes(&bytes::CP852), Cp852GeneralCi Cp852Bin;
    /// DOS' code page 866.
    Cp866 "cp866" "DOS Russian" Encoding::Bytes(&bytes::CP866), Cp866GeneralCi Cp866Bin;
    /// DEC's Multinational Character Set.
    Dec8 "dec8" "DEC West European" Encoding::Bytes(&bytes::DEC8), Dec8SwedishCi Dec8Bin;
    /// Georgian.
    Geostd8 "geostd8" "GEOSTD8 Georgian" Encoding::Bytes(&bytes::GEOSTD8), Geostd8GeneralCi Geostd8Bin;
    /// ISO 8859-7.
    Greek "greek" "ISO 8859-7 Greek" Encoding::Bytes(&bytes::GREEK), GreekGeneralCi GreekBin;
    /// ISO 8859-8.
    Hebrew "hebrew" "ISO 8859-8 Hebrew" Encoding::Bytes(&bytes::HEBREW), HebrewGeneralCi HebrewBin;
    /// HP's Roman-8.
    Hp8 "hp8" "HP West European" Encoding::Bytes(&bytes::HP8), Hp8EnglishCi Hp8Bin;
    /// The Kamenický brothers' code of Czech and Slovak.
    Keybcs2 "keybcs2" "DOS Kamenicky Czech-Slovak" Encoding::Bytes(&bytes::KEYBCS2), Keybcs2GeneralCi Keybcs2Bin;
    /// KOI8-R.
    Koi8r "koi8r" "KOI8-R Relcom Russian" Encoding::Bytes(&bytes::KOI8R), Koi8rGeneralCi Koi8rBin;
    /// KOI8-U.
    Koi8u "koi8u" "KOI8-U Ukrainian" Encoding::Bytes(&bytes::KOI8U), Koi8uGeneralCi Koi8uBin;
    /// ISO 8859-2.
    Latin2 "latin2" "ISO 8859-2 Central European" Encoding::Bytes(&bytes::LATIN2), Latin2GeneralCi Latin2Bin;
    /// ISO 8859-9.
    Latin5 "latin5" "ISO 8859-9 Turkish" Encoding::Bytes(&bytes::LATIN5), Latin5TurkishCi Latin5Bin;
    /// ISO 8859-13.
    Latin7 "latin7" "ISO 8859-13 Baltic" Encoding::Bytes(&bytes::LATIN7), Latin7GeneralCi Latin7Bin;
    /// Macintosh's Central European.
    Macce "macce" "Mac Central European" Encoding::Bytes(&bytes::MACCE), MacceGeneralCi MacceBin;
    /// Macintosh's Roman.
    Macroman "macroman" "Mac West European" Encoding::Bytes(&bytes::MACROMAN), MacromanGeneralCi MacromanBin;
    /// Swedish in seven bits: its letters are where ASCII has brackets.
    Swe7 "swe7" "7bit Swedish" Encoding::Bytes(&bytes::SWE7), Swe7SwedishCi Swe7Bin;
    /// Thai.
    Tis620 "tis620" "TIS620 Thai" Encoding::Bytes(&bytes::TIS620), Tis620ThaiCi Tis620Bin;
    /// Traditional Chinese.
    Big5 "big5" "Big5 Traditional Chinese" Encoding::Multibyte(&multibyte::BIG5), Big5ChineseCi Big5Bin;
    /// Windows' Japanese.
    Cp932 "cp932" "SJIS for Windows Japanese" Encoding::Multibyte(&multibyte::CP932), Cp932JapaneseCi Cp932Bin;
    /// Windows' Japanese as EUC writes it.
    Eucjpms "eucjpms" "UJIS for Windows Japanese" Encoding::Multibyte(&multibyte::EUCJPMS), EucjpmsJapaneseCi EucjpmsBin;
    /// Korean.
    Euckr "euckr" "EUC-KR Korean" Encoding::Multibyte(&multibyte::EUCKR), EuckrKoreanCi EuckrBin;
    /// Simplified Chinese.
    Gb2312 "gb2312" "GB2312 Simplified Chinese" Encoding::Multibyte(&multibyte::GB2312), Gb2312ChineseCi Gb2312Bin;
    /// All of Unicode in the Chinese way.
    Gb18030 "gb18030" "China National Standard GB18030" Encoding::Multibyte(&multibyte::GB18030), Gb18030ChineseCi Gb18030Bin;
    /// Simplified Chinese, extended.
    Gbk "gbk" "GBK Simplified Chinese" Encoding::Multibyte(&multibyte::GBK), GbkChineseCi GbkBin;
    /// Japanese.
    Sjis "sjis" "Shift-JIS Japanese" Encoding::Multibyte(&multibyte::SJIS), SjisJapaneseCi SjisBin;
    /// Japanese as EUC writes it.
    Ujis "ujis" "EUC-JP Japanese" Encoding::Multibyte(&multibyte::UJIS), UjisJapaneseCi UjisBin;
    /// UTF-16 of the characters up to U+FFFF.
    Ucs2 "ucs2" "UCS-2 Unicode" Encoding::Wide(Wide::Ucs2), Ucs2GeneralCi Ucs2Bin;
    /// UTF-16.
    Utf16 "utf16" "UTF-16 Unicode" Encoding::Wide(Wide::Utf16), Utf16GeneralCi Utf16Bin;
    /// UTF-16, the lower byte first.
    Utf16le "utf16le" "UTF-16LE Unicode" Encoding::Wide(Wide::Utf16le), Utf16leGeneralCi Utf16leBin;
    /// UTF-32.
    Utf32 "utf32" "UTF-32 Unicode" Encoding::Wide(Wide::Utf32), Utf32GeneralCi Utf32Bin;
    /// Bytes, which are no characters.
    Binary "binary" "Binary pseudo charset" Encoding::None, Binary Binary;
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
            Encoding::Wide(Wide::Ucs2) => 2,
            Encoding::Wide(_) => 4,
            Encoding::Multibyte(table) => table.longest(),
            Encoding::Bytes(_) | Encoding::None => 1,
        }
    }

    /// The fewest bytes a character takes.
    #[must_use]
    pub fn min_char_bytes(self) -> u32 {
        match &self.facts().encoding {
            Encoding::Wide(wide) => wide.unit() as u32,
            Encoding::Utf8(_) | Encoding::Bytes(_) | Encoding::Multibyte(_) | Encoding::None => 1,
        }
    }

    /// Whether the bytes of ASCII are its characters, too.
    #[must_use]
    pub fn has_ascii(self) -> bool {
        self != Charset::Swe7 && !matches!(self.facts().encoding, Encoding::Wide(_))
    }

    /// Whether a text takes the same bytes in it, being of ASCII.
    fn has_all_of(self, text: &[u8]) -> bool {
        self.has_ascii() && text.is_ascii()
    }

    /// Whether statements can be written in it: ASCII is the same, and no other byte is a
    /// character of ASCII. (In armscii8 0xFF is a quote, which those who quote texts overlook.)
    #[must_use]
    pub fn is_for_clients(self) -> bool {
        match &self.facts().encoding {
            Encoding::Bytes(table) => {
                let is_other = |byte| !table.character(byte).is_ascii();
                self.has_ascii() && (0x80..=0xFF).all(is_other)
            }
            Encoding::Utf8(_) | Encoding::Multibyte(_) | Encoding::None => true,
            Encoding::Wide(_) => false,
        }
    }

    /// The last code point of those that it has all of, if its characters are Unicode's.
    fn last(self) -> Option<u32> {
        match &self.facts().encoding {
            Encoding::Utf8(last) => Some(*last),
            Encoding::Wide(wide) => Some(wide.last()),
            Encoding::Bytes(_) | Encoding::Multibyte(_) | Encoding::None => None,
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
        self.last().is_some()
    }

    /// Whether values have the bytes of the character set as they are.
    #[must_use]
    pub fn is_as_stored(self) -> bool {
        matches!(self.facts().encoding, Encoding::Utf8(_) | Encoding::None)
    }

    /// Whether it has every character of the other one.
    #[must_use]
    pub fn includes(self, other: Charset) -> bool {
        if self == other || self == Charset::Binary {
            return true;
        }
        if other == Charset::Ascii {
            return self != Charset::Swe7;
        }
        match (self.last(), &other.facts().encoding) {
            (Some(_), Encoding::Bytes(_) | Encoding::Multibyte(_)) => true,
            (last, _) => last.is_some() && last >= other.last() && other != Charset::Binary,
        }
    }

    /// Whether it has this character.
    #[must_use]
    fn contains(self, c: char) -> bool {
        match &self.facts().encoding {
            Encoding::None => true,
            Encoding::Utf8(last) => u32::from(c) <= *last,
            Encoding::Wide(wide) => u32::from(c) <= wide.last(),
            Encoding::Bytes(table) => table.byte(c).is_some_and(|byte| table.character(byte) == c),
            Encoding::Multibyte(table) => table.length(c.into()).is_some(),
        }
    }

    /// Where in a text that should be UTF-8 the first character is that the character set does
    /// not have, or the first byte that begins none.
    #[must_use]
    pub fn foreign_at(self, text: &[u8]) -> Option<usize> {
        if self == Charset::Binary || text.is_ascii() && self != Charset::Swe7 {
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
        match &self.facts().encoding {
            Encoding::Wide(wide) => {
                let mut out = Vec::with_capacity(text.len() * wide.unit());
                for c in String::from_utf8_lossy(text).chars() {
                    wide.push(if self.contains(c) { c } else { '?' }, &mut out);
                }
                Cow::Owned(out)
            }
            _ if self.has_all_of(text) => Cow::Borrowed(text),
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
            Encoding::Multibyte(table) => {
                let mut out = Vec::with_capacity(text.len());
                for c in String::from_utf8_lossy(text).chars() {
                    if !table.push(c, &mut out) {
                        out.push(b'?');
                    }
                }
                Cow::Owned(out)
            }
        }
    }

    /// The text that bytes of the character set are; for what is none stands something that
    /// `foreign_at` finds. Bytes of UTF-8 stay as they are.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match &self.facts().encoding {
            Encoding::Bytes(table) if !self.has_all_of(bytes) => {
                let mut text = Vec::with_capacity(bytes.len() * 2);
                for &byte in bytes {
                    match table.character(byte) {
                        // Never a part of UTF-8.
                        char::REPLACEMENT_CHARACTER => text.push(0xFF),
                        c => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    }
                }
                Cow::Owned(text)
            }
            Encoding::Multibyte(table) if !bytes.is_ascii() => {
                let mut text = Vec::with_capacity(bytes.len() * 3 / 2);
                let mut rest = bytes;
                while let Some((_, behind)) = rest.split_first() {
                    rest = match table.first(rest) {
                        Some((c, length)) => {
                            text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                            &rest[length..]
                        }
                        // Never a part of UTF-8.
                        None => {
                            text.push(0xFF);
                            behind
                        }
                    };
                }
                Cow::Owned(text)
            }
            Encoding::Wide(wide) => Cow::Owned(wide.text(bytes)),
            Encoding::Bytes(_) | Encoding::Multibyte(_) | Encoding::Utf8(_) | Encoding::None => {
                Cow::Borrowed(bytes)
            }
        }
    }

    /// How many bytes the character takes that some bytes of the character set begin with; `None`: they
    /// begin with none.
    #[must_use]
    pub fn character_bytes(self, bytes: &[u8]) -> Option<usize> {
        let first = *bytes.first()?;
        match &self.facts().encoding {
            Encoding::Utf8(last) => {
                let length = match first {
                    0..=0x7F => return Some(1),
                    0xC2..=0xDF => 2,
                    0xE0..=0xEF => 3,
                    0xF0..=0xF4 if *last > 0xFFFF => 4,
                    _ => return None,
                };
                let character = std::str::from_utf8(bytes.get(..length)?);
                character.is_ok().then_some(length)
            }
            Encoding::Multibyte(table) => table.first(bytes).map(|(_, length)| length),
            Encoding::Bytes(_) | Encoding::Wide(_) | Encoding::None => Some(1),
        }
    }

    /// How many bytes a character has that begins as these bytes do; 0: none does. Not all of them need
    /// be characters.
    #[must_use]
    pub fn bytes_from(self, bytes: &[u8]) -> usize {
        let Some(&first) = bytes.first() else {
            return 0;
        };
        match &self.facts().encoding {
            Encoding::Utf8(last) => match first {
                0..=0x7F => 1,
                0xC2..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF7 if *last > 0xFFFF => 4,
                0x80..=0xC1 | 0xF0.. => 0,
            },
            Encoding::Multibyte(table) => table.length_from(first, bytes.get(1).copied()),
            Encoding::Bytes(_) | Encoding::Wide(_) | Encoding::None => 1,
        }
    }

    /// How much of a text takes at most so many bytes, no character being cut.
    #[must_use]
    pub fn fitting(self, text: &[u8], most: usize) -> usize {
        let (mut end, mut taken) = (0, 0);
        while let Some((code, length)) = next_char(&text[end..]) {
            taken += match &self.facts().encoding {
                Encoding::Utf8(_) | Encoding::None => length,
                Encoding::Bytes(_) => 1,
                Encoding::Multibyte(table) => table.length(code).unwrap_or(1),
                Encoding::Wide(Wide::Utf16 | Wide::Utf16le) if code > 0xFFFF => 4,
                Encoding::Wide(wide) => wide.unit(),
            };
            if taken > most {
                break;
            }
            end += length;
        }
        end
    }

    /// The capital letter of a character, where the character set has an own notion of it: letters
    /// whose other case it does not have stay as they are.
    #[must_use]
    pub(super) fn upper(self, c: char) -> Option<char> {
        self.in_case(c, |table, byte| table.upper[byte], char::to_uppercase)
    }

    /// The same, its small letter.
    #[must_use]
    pub(super) fn lower(self, c: char) -> Option<char> {
        self.in_case(c, |table, byte| table.lower[byte], char::to_lowercase)
    }

    fn in_case<I: Iterator<Item = char>>(
        self,
        c: char,
        of_byte: impl Fn(&ByteTable, usize) -> u8,
        of_unicode: impl Fn(char) -> I,
    ) -> Option<char> {
        match &self.facts().encoding {
            Encoding::Bytes(table) => {
                let byte = table.byte(c)?;
                Some(table.character(of_byte(table, byte.into())))
            }
            Encoding::Multibyte(_) => {
                let mut other = of_unicode(c);
                let single = other.next().filter(|_| other.next().is_none());
                Some(single.filter(|other| self.contains(*other)).unwrap_or(c))
            }
            Encoding::Utf8(_) | Encoding::Wide(_) | Encoding::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let all: Vec<u8> = (0..=u8::MAX).collect();
        let half = Charset::Ascii.decode(&all[..128]).into_owned();
        assert_eq!(Charset::Ascii.encode(&half)[..], all[..128]);
        for charset in [Charset::Latin1, Charset::Cp850, Charset::Koi8r] {
            let text = charset.decode(&all).into_owned();
            assert_eq!(charset.foreign_at(&text), None);
            assert_eq!(charset.encode(&text)[..], all[..]);
        }
        // Some bytes are no characters, and some are the same ones.
        let of_bytes = |charset: &&Charset| matches!(charset.facts().encoding, Encoding::Bytes(_));
        for charset in Charset::ALL.iter().filter(of_bytes) {
            for byte in 0..=u8::MAX {
                let text = charset.decode(&[byte]).into_owned();
                let again = charset.decode(&charset.encode(&text)).into_owned();
                let is_character = text != b"\xFF";
                assert_eq!(charset.foreign_at(&text).is_none(), is_character, "{byte}");
                assert_eq!(again == text, is_character, "{charset:?} {byte}");
            }
        }
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
        // What is no character of the one is none of any other.
        assert_eq!(Charset::Ascii.decode(b"a\xC3\xA9b")[..], *b"a\xFF\xFFb");
        assert_eq!(Charset::Utf8mb4.foreign_at(b"a\xFF\xFFb"), Some(1));
    }

    #[test]
    fn brackets_are_letters_in_swe7() {
        let (text, bytes) = ("ÉÄÖÅÜ_éäöåü", b"@[\\]^_`{|}~");
        assert_eq!(Charset::Swe7.encode(text.as_bytes())[..], bytes[..]);
        assert_eq!(Charset::Swe7.decode(bytes)[..], *text.as_bytes());
        assert_eq!(Charset::Swe7.encode(b"a[")[..], *b"a?");
        assert_eq!(Charset::Swe7.foreign_at(b"a["), Some(1));
        assert_eq!(Charset::Swe7.foreign_at(b"a_"), None);
        let upper = Collation::Swe7SwedishCi.upper("aé_".as_bytes());
        assert_eq!(upper, "AÉ_".as_bytes());
        assert!(!Charset::Swe7.is_for_clients() && !Charset::Swe7.includes(Charset::Ascii));
    }

    #[test]
    fn who_has_whose_characters() {
        use Charset::{Ascii, Latin1, Utf8mb3, Utf8mb4};
        assert!(Ascii.is_for_clients() && Charset::Cp1251.is_for_clients());
        assert!(!Charset::Armscii8.is_for_clients() && !Charset::Utf16.is_for_clients());
        for charset in [Ascii, Latin1, Utf8mb3, Utf8mb4] {
            assert!(charset.includes(Ascii) && Utf8mb4.includes(charset));
        }
        assert!(Utf8mb3.includes(Latin1) && !Latin1.includes(Utf8mb3) && !Ascii.includes(Latin1));
    }
}
