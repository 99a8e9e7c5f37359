//! LIKE: `%` stands for any string, `_` for any character, compared character by character.

use super::{Collation, order::Order, thai, weights::next_char};

/// One element of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// `%`
    Any,
    /// `_`
    One,
    /// A character (a byte for `binary`), literally.
    Char(u32),
}

/// A LIKE pattern, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    tokens: Vec<Token>,
    collation: Collation,
}

/// The character at the start of `text` as `collation` counts characters.
#[inline]
fn step(collation: Collation, text: &[u8]) -> Option<(u32, usize)> {
    if collation.is_binary() {
        text.first().map(|&byte| (byte.into(), 1))
    } else {
        next_char(text)
    }
}

impl Pattern {
    /// Takes a pattern apart. `escape` makes the character after it literal; `None` if there is
    /// no escape character (ESCAPE '').
    #[must_use]
    pub fn new(pattern: &[u8], escape: Option<char>, collation: Collation) -> Pattern {
        let mut tokens = Vec::with_capacity(pattern.len());
        let mut rest = pattern;
        while let Some((code, length)) = step(collation, rest) {
            rest = &rest[length..];
            tokens.push(match code {
                _ if Some(code) == escape.map(u32::from) => match step(collation, rest) {
                    Some((literal, length)) => {
                        rest = &rest[length..];
                        Token::Char(literal)
                    }
                    // An escape character at the end stands for itself.
                    None => Token::Char(code),
                },
                0x25 => Token::Any,
                0x5F => Token::One,
                _ => Token::Char(code),
            });
        }
        Pattern { tokens, collation }
    }

    /// Whether the whole of `text` fits. Linear but for a factor of the pattern's length: after
    /// a mismatch only the last `%` takes one character more.
    #[must_use]
    pub fn matches(&self, text: &[u8]) -> bool {
        let go_on = |_| Ok::<(), std::convert::Infallible>(());
        let Ok(matches) = self.matches_while(text, go_on);
        matches
    }

    /// The same as long as `go_on` allows; it is told now and then of the bytes compared.
    pub fn matches_while<E>(
        &self,
        text: &[u8],
        mut go_on: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<bool, E> {
        let (mut at, mut rest) = (0, text);
        let mut retry: Option<(usize, &[u8])> = None;
        loop {
            match (self.tokens.get(at), step(self.collation, rest)) {
                (None, None) => return Ok(true),
                (Some(Token::Any), _) => {
                    at += 1;
                    if at == self.tokens.len() {
                        return Ok(true);
                    }
                    retry = Some((at, rest));
                    continue;
                }
                (Some(Token::One), Some((_, length))) => {
                    at += 1;
                    rest = &rest[length..];
                    continue;
                }
                (Some(Token::Char(expected)), Some((code, length)))
                    if same(self.collation, *expected, code) =>
                {
                    at += 1;
                    rest = &rest[length..];
                    continue;
                }
                _ => {}
            }
            let Some((after, from)) = retry else {
                return Ok(false);
            };
            let Some((_, length)) = step(self.collation, from) else {
                return Ok(false);
            };
            go_on(from.len() - rest.len() + 1)?;
            rest = &from[length..];
            at = after;
            retry = Some((after, rest));
        }
    }

    /// The text before the first wildcard: what all matches begin with (as the collation
    /// compares). With it, whether the pattern has no wildcard at all.
    #[must_use]
    pub fn literal_prefix(&self) -> (Vec<u8>, bool) {
        let mut prefix = Vec::new();
        for token in &self.tokens {
            let Token::Char(code) = token else {
                return (prefix, false);
            };
            if self.collation.is_binary() {
                prefix.push(*code as u8);
            } else {
                let c = char::from_u32(*code).unwrap_or(char::REPLACEMENT_CHARACTER);
                prefix.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        (prefix, true)
    }
}

/// Whether two characters are the same for the collation.
fn same(collation: Collation, a: u32, b: u32) -> bool {
    if a == b {
        return true;
    }
    match collation.facts().order {
        Order::Uca(uca, levels) => {
            // As in MySQL, the kinds of kana are not told apart.
            let levels = levels.min(3);
            let ranks = &uca.ranks().ascii;
            let rank = |code: u32| ranks.get(code as usize).copied().unwrap_or(0);
            match (rank(a), rank(b)) {
                (0, _) | (_, 0) => uca.same(a, b, levels),
                (a, b) if a != b => false,
                _ => levels == 1 || uca.same(a, b, levels),
            }
        }
        Order::Table(table) => table.weight(a) == table.weight(b),
        Order::Thai => thai::letter(a) == thai::letter(b),
        Order::CodePoints | Order::Bytes => false,
    }
}

/// `text LIKE pattern`; to match many texts, keep a `Pattern`.
#[must_use]
pub fn like(collation: Collation, text: &[u8], pattern: &[u8], escape: Option<char>) -> bool {
    Pattern::new(pattern, escape, collation).matches(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let ci = Collation::Utf8mb40900AiCi;
        let fits =
            |text: &str, pattern: &str| like(ci, text.as_bytes(), pattern.as_bytes(), Some('\\'));
        assert!(fits("", "") && fits("", "%") && !fits("", "_"));
        assert!(fits("Straße", "stra_e") && !fits("Straße", "strasse"));
        assert!(fits("abcabc", "%BC") && fits("abcabc", "a%c%c") && !fits("abcabc", "a%d"));
        assert!(fits("a%b", "a\\%b") && !fits("axb", "a\\%b") && fits("a_b", "a\\_b"));
        assert!(fits("a\\", "a\\") && fits("déjà", "DEJA") && fits("日本語", "_本_"));
        assert!(!fits("a ", "a") && !fits("a", "a "));
        assert!(like(Collation::Utf8mb4Bin, b"aXb", b"a_b", None));
        assert!(!like(Collation::Utf8mb4Bin, b"aXb", b"axb", None));
        assert!(like(Collation::Binary, "é".as_bytes(), b"__", None));
        assert!(like(ci, b"a|%", b"a|||%", Some('|')) && !like(ci, b"a|x", b"a|||%", Some('|')));
    }

    #[test]
    fn kinds_of_kana_are_one() {
        let ks = Collation::Utf8mb4Ja0900AsCsKs;
        assert!(!ks.equal("か".as_bytes(), "カ".as_bytes()));
        assert!(like(ks, "か".as_bytes(), "カ%".as_bytes(), None));
        assert!(!like(ks, "が".as_bytes(), "カ%".as_bytes(), None));
    }

    #[test]
    fn many_wildcards_end_soon() {
        let text = "a".repeat(2_000);
        let pattern = "%a".repeat(500) + "b";
        assert!(!like(
            Collation::Binary,
            text.as_bytes(),
            pattern.as_bytes(),
            None
        ));
    }

    #[test]
    fn prefixes() {
        let prefix = |pattern: &str| {
            Pattern::new(pattern.as_bytes(), Some('\\'), Collation::Utf8mb4Bin).literal_prefix()
        };
        assert_eq!(prefix("ab%c"), (b"ab".to_vec(), false));
        assert_eq!(prefix("a\\%b"), (b"a%b".to_vec(), true));
        assert_eq!(prefix("_b"), (Vec::new(), false));
    }
}
