//! The character sets in which characters are units of two or four bytes: UTF-16 and UTF-32.

/// How characters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wide {
    /// Two bytes, the higher first, for the characters up to U+FFFF.
    Ucs2,
    /// Two bytes, the higher first; pairs of these for the characters beyond U+FFFF.
    Utf16,
    /// The same, the lower byte first.
    Utf16le,
    /// Four bytes, the highest first.
    Utf32,
}

impl Wide {
    /// The bytes of a unit.
    pub fn unit(self) -> usize {
        match self {
            Wide::Ucs2 | Wide::Utf16 | Wide::Utf16le => 2,
            Wide::Utf32 => 4,
        }
    }

    /// The last character there is.
    pub fn last(self) -> u32 {
        match self {
            Wide::Ucs2 => 0xFFFF,
            Wide::Utf16 | Wide::Utf16le | Wide::Utf32 => 0x10_FFFF,
        }
    }

    /// Appends the bytes of a character, which is one of the character set's.
    pub fn push(self, c: char, out: &mut Vec<u8>) {
        if self == Wide::Utf32 {
            return out.extend_from_slice(&u32::from(c).to_be_bytes());
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.extend_from_slice(&match self {
                Wide::Utf16le => unit.to_le_bytes(),
                _ => unit.to_be_bytes(),
            });
        }
    }

    /// The text that some bytes are; what is no character becomes a byte that is no UTF-8. Where
    /// the first unit has too few bytes, zeros are put before them, as MySQL does.
    pub fn text(self, bytes: &[u8]) -> Vec<u8> {
        let lacking = bytes.len().next_multiple_of(self.unit()) - bytes.len();
        let bytes = [&[0; 4][..lacking], bytes].concat();
        let mut out = Vec::with_capacity(bytes.len());
        let units = bytes.as_chunks::<2>().0.iter();
        match self {
            Wide::Ucs2 => {
                for unit in units {
                    put(char::from_u32(u16::from_be_bytes(*unit).into()), &mut out);
                }
            }
            Wide::Utf16 | Wide::Utf16le => {
                let units = units.map(|unit| match self {
                    Wide::Utf16le => u16::from_le_bytes(*unit),
                    _ => u16::from_be_bytes(*unit),
                });
                for c in char::decode_utf16(units) {
                    put(c.ok(), &mut out);
                }
            }
            Wide::Utf32 => {
                for unit in bytes.as_chunks::<4>().0 {
                    put(char::from_u32(u32::from_be_bytes(*unit)), &mut out);
                }
            }
        }
        out
    }
}

fn put(c: Option<char>, out: &mut Vec<u8>) {
    match c {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.push(0xFF),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_come_back() {
        for wide in [Wide::Ucs2, Wide::Utf16, Wide::Utf16le, Wide::Utf32] {
            let mut bytes = Vec::new();
            let every = ('\0'..=char::MAX).filter(|c| u32::from(*c) <= wide.last());
            let text: String = every.collect();
            text.chars().for_each(|c| wide.push(c, &mut bytes));
            assert!(wide.text(&bytes) == text.as_bytes(), "{wide:?}");
        }
    }

    #[test]
    fn what_is_no_character() {
        assert_eq!(Wide::Utf16.text(b"\xD8\0\0a"), b"\xFFa");
        assert_eq!(Wide::Ucs2.text(b"\xD8\0\0a"), b"\xFFa");
        assert_eq!(Wide::Utf32.text(b"\0\x11\0\0\0\0\0a"), b"\xFFa");
        assert_eq!(Wide::Utf16.text(b"a\0b"), b"ab");
        assert_eq!(Wide::Utf32.text(b"a"), b"a");
    }
}
