//! Capital and small letters: UPPER and LOWER. One character becomes one: ß has no capital, and İ
//! becomes i. The letters are those of the Unicode of today.

use super::Collation;

impl Collation {
    /// The text in capital letters; binary strings have none.
    #[must_use]
    pub fn upper(self, text: &[u8]) -> Vec<u8> {
        let of = |c| {
            let own = match c {
                'i' if self.has_turkish_case() => Some('İ'),
                _ => self.charset().upper(c),
            };
            own.unwrap_or_else(|| single(c.to_uppercase()).unwrap_or(c))
        };
        self.in_case(text, <[u8]>::to_ascii_uppercase, of)
    }

    /// The text in small letters; binary strings have none.
    #[must_use]
    pub fn lower(self, text: &[u8]) -> Vec<u8> {
        let of = |c| {
            let own = match c {
                'I' if self.has_turkish_case() => Some('ı'),
                'İ' => Some('i'),
                _ => self.charset().lower(c),
            };
            own.unwrap_or_else(|| single(c.to_lowercase()).unwrap_or(c))
        };
        self.in_case(text, <[u8]>::to_ascii_lowercase, of)
    }

    fn in_case(
        self,
        text: &[u8],
        ascii: impl Fn(&[u8]) -> Vec<u8>,
        of: impl Fn(char) -> char,
    ) -> Vec<u8> {
        if self.is_binary() {
            return text.to_vec();
        }
        if text.is_ascii() && !self.has_turkish_case() {
            return ascii(text);
        }
        let changed: String = String::from_utf8_lossy(text).chars().map(of).collect();
        changed.into_bytes()
    }

    /// Whether the capital of i is İ, and I that of ı. Of the Turkish collations only the older ones
    /// have it so; utf8mb4_tr_0900_ai_ci does not.
    fn has_turkish_case(self) -> bool {
        matches!(
            self,
            Collation::Utf8mb4TurkishCi
                | Collation::Utf8mb3TurkishCi
                | Collation::Ucs2TurkishCi
                | Collation::Utf16TurkishCi
                | Collation::Utf32TurkishCi
        )
    }
}

fn single(mut characters: impl ExactSizeIterator<Item = char>) -> Option<char> {
    if characters.len() == 1 {
        characters.next()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turkish_letters() {
        let upper = |collation: Collation, text: &str| collation.upper(text.as_bytes());
        let lower = |collation: Collation, text: &str| collation.lower(text.as_bytes());
        // UPPER and LOWER of MySQL 9.7.
        let turkish = Collation::Utf8mb3TurkishCi;
        assert_eq!(upper(turkish, "iıaß"), "İIAß".as_bytes());
        assert_eq!(lower(turkish, "IİA"), "ıia".as_bytes());
        let plain = Collation::Utf8mb4Tr0900AiCi;
        assert_eq!(upper(plain, "iıaß"), "IIAß".as_bytes());
        assert_eq!(lower(plain, "Iİa"), b"iia");
    }
}
