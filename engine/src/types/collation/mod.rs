//! Collations: how strings compare, and the sort keys that make bytes compare the same way.
//!
//! Strings are UTF-8 in byte slices; a byte that is not UTF-8 counts as U+FFFD. ASCII text, the
//! usual case, is compared byte by byte without looking at the weight tables.

mod bytes;
mod case;
mod charset;
mod like;
mod multibyte;
mod names;
mod order;
mod sort_key;
mod tailoring;
mod thai;
mod uca;
mod weights;
mod wide;

pub use charset::Charset;
pub use like::{Pattern, like};
pub use names::{Collation, Padding};
pub use sort_key::Beginnings;
pub(super) use sort_key::trim_spaces;
pub use weights::next_char;

use order::{Order, compare_padded};
use std::cmp::Ordering;

impl Collation {
    /// Compares two strings.
    #[must_use]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self.facts().order {
            Order::Uca(uca, levels) => uca.compare(a, b, levels),
            Order::Table(table) => compare_padded(a, b, |code| table.weight(code)),
            Order::Thai => compare_bytes_padded(&thai::weights(a), &thai::weights(b)),
            // The order of UTF-8's bytes is that of the code points.
            Order::CodePoints if self.pads() => compare_bytes_padded(a, b),
            Order::CodePoints | Order::Bytes => a.cmp(b),
        }
    }

    /// Whether two strings are the same for the collation.
    #[must_use]
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        a == b || self.compare(a, b).is_eq()
    }

    /// Whether `text` begins with something that is `beginning` for the collation: at each level
    /// its weights begin the text's. So "aß" begins with "as", and in Czech "ch" not with "c".
    #[must_use]
    pub fn begins(self, text: &[u8], beginning: &[u8]) -> bool {
        match self.facts().order {
            Order::Uca(uca, levels) => uca.begins(text, beginning, levels),
            Order::Table(table) => begins_by(text, beginning, |code| table.weight(code)),
            Order::Thai => begins_by(text, beginning, thai::letter),
            Order::CodePoints | Order::Bytes => text.starts_with(beginning),
        }
    }

    /// Appends a key that compares, byte by byte, as the strings do, and equals the key of every
    /// equal string (so it also serves for hashing); it shows its own end, so that more may
    /// follow. The form is described in `sort_key.rs`.
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        sort_key::push(self, text, out);
    }

    /// Appends what the sort keys of all strings that begin with `text` begin with (spaces at
    /// its end left out where the collation pads).
    pub fn sort_key_prefix(self, text: &[u8], out: &mut Vec<u8>) {
        sort_key::push_prefix(self, text, out);
    }

    /// What the sort keys of strings begin with that begin with just the weights of `text`.
    pub fn sort_key_beginning(self, text: &[u8], out: &mut Vec<u8>) {
        sort_key::push_beginning(self, text, out);
    }

    /// Whether equal strings have one sort key of their first characters: not where a letter is
    /// several characters, or one character several letters, or characters change places.
    #[must_use]
    pub fn has_one_beginning(self) -> bool {
        !matches!(self.facts().order, Order::Uca(..) | Order::Thai)
    }

    /// What the sort keys of the first characters of strings begin with, of those that are equal
    /// to `text` or, if `going_on`, begin with it. `None`: these sort keys are those of the first
    /// characters of `text`.
    #[must_use]
    pub fn beginnings(self, text: &[u8], characters: usize, going_on: bool) -> Option<Beginnings> {
        sort_key::beginnings(self, text, characters, going_on)
    }

    /// The beginning of the sort key as a number, for comparing quickly: of two strings whose
    /// numbers differ the one with the lesser number is the lesser; if they are the same,
    /// `compare` knows. `scratch` is overwritten.
    #[must_use]
    pub fn sort_key_head(self, text: &[u8], scratch: &mut Vec<u8>) -> u64 {
        sort_key::head(self, text, scratch)
    }

    /// The length of the sort key at the start of `key`; `None` if it has no end. `inverted`
    /// keys have all bits flipped.
    #[must_use]
    pub fn sort_key_length(self, key: &[u8], inverted: bool) -> Option<usize> {
        sort_key::length(self, key, if inverted { 0xFF } else { 0 })
    }

    /// The string a sort key was made of; only binary collations without padding keep it.
    #[must_use]
    pub fn sort_key_text(self, key: &[u8], inverted: bool) -> Option<Vec<u8>> {
        sort_key::decode(self, key, if inverted { 0xFF } else { 0 })
    }

    /// How many characters the string has (bytes for `binary`).
    #[must_use]
    pub fn char_count(self, text: &[u8]) -> usize {
        if self.is_binary() || text.is_ascii() {
            return text.len();
        }
        characters(text).count()
    }

    /// The byte position at which `count` characters end, at most the string's length.
    #[must_use]
    pub fn char_offset(self, text: &[u8], count: usize) -> usize {
        // No character is shorter than a byte.
        if self.is_binary() || text.len() <= count {
            return text.len().min(count);
        }
        let is_ascii = |byte: &&u8| byte.is_ascii();
        let mut offset = text[..count].iter().take_while(is_ascii).count();
        for _ in offset..count {
            match next_char(&text[offset..]) {
                Some((_, length)) => offset += length,
                None => break,
            }
        }
        offset
    }
}

/// The code points of a string.
fn characters(mut text: &[u8]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let (code, length) = next_char(text)?;
        text = &text[length..];
        Some(code)
    })
}

/// Whether a text begins with characters of the same weights.
fn begins_by(mut text: &[u8], beginning: &[u8], weight: impl Fn(u32) -> u32) -> bool {
    characters(beginning).all(|wanted| {
        let Some((code, length)) = next_char(text) else {
            return false;
        };
        text = &text[length..];
        weight(code) == weight(wanted)
    })
}

fn compare_bytes_padded(a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (sort_key::trim_spaces(a), sort_key::trim_spaces(b));
    let common = a.len().min(b.len());
    a[..common].cmp(&b[..common]).then_with(|| {
        if a.len() == b.len() {
            Ordering::Equal
        } else if a.len() > common {
            compare_with_spaces(&a[common..])
        } else {
            compare_with_spaces(&b[common..]).reverse()
        }
    })
}

/// How the end of a string, itself without trailing spaces, compares with spaces.
fn compare_with_spaces(rest: &[u8]) -> Ordering {
    rest.iter()
        .map(|byte| byte.cmp(&b' '))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: &[&str] = &[
        "",
        " ",
        "  ",
        "\t",
        "a",
        "A",
        "a ",
        "a\t",
        "a \t",
        "a  \t",
        "a b",
        "a  b",
        "a b ",
        "ab",
        "aB",
        "á",
        "ä",
        "Äb",
        "ss",
        "ß",
        "Straße",
        "STRASSE",
        "zebra",
        "\0",
        "\0\0",
        "a\0",
        "a\0b",
        "a\u{1}b",
        "0",
        "9",
        "10",
        "~",
        "_",
        "-",
        "é",
        "e\u{301}",
        "日本",
        "日本語",
        "가",
        "각",
        "😀",
        "😁",
        "ﷺ",
        "\u{10FFFF}",
        "\u{FFFD}",
        "ñ",
        "n",
        "o",
        "Ω",
        "ω",
        "ж",
        "Ж",
        "ﬁ",
        "fi",
        "fj",
        "c",
        "ch",
        "Ch",
        "chz",
        "dzs",
        "cdz",
        "aa",
        "l\u{b7}l",
        "I",
        "ı",
    ];

    #[test]
    fn sort_keys_compare_as_the_strings() {
        for &collation in Collation::ALL {
            for a in SAMPLES {
                for b in SAMPLES {
                    let (mut x, mut y) = (Vec::new(), Vec::new());
                    collation.sort_key(a.as_bytes(), &mut x);
                    collation.sort_key(b.as_bytes(), &mut y);
                    let order = collation.compare(a.as_bytes(), b.as_bytes());
                    assert_eq!(order, x.cmp(&y), "{collation:?} {a:?} {b:?} {x:x?} {y:x?}");
                    assert_eq!(
                        order,
                        collation.compare(b.as_bytes(), a.as_bytes()).reverse()
                    );
                    assert_eq!(collation.sort_key_length(&x, false), Some(x.len()));
                    // What follows decides only between equal strings.
                    x.push(0xFF);
                    y.push(0);
                    assert_eq!(order.then(Ordering::Greater), x.cmp(&y));
                }
            }
        }
    }

    /// Whatever bytes a weight has: in some the last one is that of a space.
    #[test]
    fn beginnings_may_end_behind_each_weight() {
        for collation in [Collation::Utf8mb4UnicodeCi, Collation::Utf8mb40900AiCi] {
            let Order::Uca(uca, _) = collation.facts().order else {
                panic!("{collation:?} has the weights of the UCA");
            };
            let mut seen = 0;
            for c in (0x250..0x3000).filter_map(char::from_u32) {
                let mut weights = Vec::new();
                uca.weights(c.into(), 0, |weight| weights.push(weight));
                if weights.len() != 1 || Some(weights[0]) == uca.ranks().space {
                    continue;
                }
                let text = format!("{c}b");
                let found = collation.beginnings(text.as_bytes(), 2, false).unwrap();
                assert_eq!(found.shorter.len(), 2, "{collation:?} {c:?}");
                seen += 1;
            }
            assert!(seen > 1000);
        }
    }

    #[test]
    fn heads_are_the_first_bytes_of_sort_keys() {
        let mut scratch = Vec::new();
        for &collation in Collation::ALL {
            for (i, first) in SAMPLES.iter().enumerate() {
                for second in SAMPLES {
                    // Short ones, and long ones that end in the middle of anything.
                    let third = SAMPLES[(i * 7 + second.len()) % SAMPLES.len()];
                    for text in [
                        first.to_string(),
                        format!("{first}{second}{third}"),
                        format!("{first}{second}").repeat(9),
                    ] {
                        let mut key = Vec::new();
                        collation.sort_key(text.as_bytes(), &mut key);
                        key.resize(key.len().max(8), 0);
                        let wanted = key.first_chunk().map(|head| u64::from_be_bytes(*head));
                        let head = collation.sort_key_head(text.as_bytes(), &mut scratch);
                        assert_eq!(Some(head), wanted, "{collation:?} {text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn inverted_keys_end_where_they_end() {
        for &collation in Collation::ALL {
            for text in SAMPLES {
                let mut key = Vec::new();
                collation.sort_key(text.as_bytes(), &mut key);
                let length = key.len();
                key.iter_mut().for_each(|byte| *byte = !*byte);
                key.extend_from_slice(&[0xFF, 0, 0xFF]);
                assert_eq!(
                    collation.sort_key_length(&key, true),
                    Some(length),
                    "{text:?}"
                );
                if let Some(back) = collation.sort_key_text(&key, true) {
                    assert_eq!(back, text.as_bytes());
                }
            }
        }
    }

    /// What LIKE finds begins, in an index, with the prefix of the pattern: also where a sequence of
    /// other characters that are the same has weights of its own.
    #[test]
    fn prefixes_begin_what_fits() {
        let fits = [
            (Collation::Utf8mb4EsTrad0900AiCi, "cH", "CHa"),
            (Collation::Utf8mb4EsTrad0900AiCi, "c", "cha"),
            (Collation::Utf8mb4Cs0900AiCi, "c", "cha"),
            (Collation::Utf8mb4LithuanianCi, "cH", "CH"),
            (Collation::Utf8mb4Ja0900AsCs, "カ", "かー"),
            (Collation::Utf8mb4Ja0900AsCs, "カー", "かーカ"),
        ];
        for (collation, beginning, text) in fits {
            let pattern = format!("{beginning}%");
            assert!(like(collation, text.as_bytes(), pattern.as_bytes(), None));
            let (mut prefix, mut key) = (Vec::new(), Vec::new());
            collation.sort_key_prefix(beginning.as_bytes(), &mut prefix);
            collation.sort_key(text.as_bytes(), &mut key);
            assert!(key.starts_with(&prefix), "{collation:?} {beginning} {text}");
        }
        // Kana that no mark follows stay as they are.
        let mut prefix = Vec::new();
        Collation::Utf8mb4Ja0900AsCs.sort_key_prefix("カタ".as_bytes(), &mut prefix);
        assert_eq!(prefix.len(), 6);
    }

    #[test]
    fn orders_as_mysql() {
        use Ordering::{Equal, Greater, Less};
        let compare =
            |collation: Collation, a: &str, b: &str| collation.compare(a.as_bytes(), b.as_bytes());
        // SELECT STRCMP(...) of MySQL 9.7.
        assert_eq!(compare(Collation::Utf8mb40900AiCi, "a", "Á"), Equal);
        assert_eq!(compare(Collation::Utf8mb40900AiCi, "a", "a "), Less);
        assert_eq!(compare(Collation::Utf8mb40900AiCi, "ß", "ss"), Equal);
        assert_eq!(compare(Collation::Utf8mb40900AiCi, "_", "1"), Less);
        assert_eq!(compare(Collation::Utf8mb4GeneralCi, "a", "a  "), Equal);
        assert_eq!(compare(Collation::Utf8mb4GeneralCi, "a", "a\t"), Greater);
        assert_eq!(compare(Collation::Utf8mb4GeneralCi, "ß", "s"), Equal);
        assert_eq!(compare(Collation::Utf8mb4Bin, "a", "A"), Greater);
        assert_eq!(compare(Collation::Utf8mb4Bin, "a", "a "), Equal);
        assert_eq!(compare(Collation::Utf8mb40900Bin, "a", "a "), Less);
        assert_eq!(compare(Collation::Binary, "a", "a "), Less);
        assert_eq!(compare(Collation::Utf8mb4UnicodeCi, "a", "Á  "), Equal);
        assert_eq!(compare(Collation::Utf8mb4UnicodeCi, "a\u{a0}", "a"), Equal);
        assert_eq!(compare(Collation::Utf8mb4UnicodeCi, "a\t", "a"), Less);
        assert_eq!(compare(Collation::Utf8mb4UnicodeCi, "😀", "😁"), Equal);
        assert_eq!(compare(Collation::Utf8mb4Unicode520Ci, "😀", "😁"), Less);
        assert_eq!(compare(Collation::Utf8mb40900AsCs, "a", "A"), Less);
        assert_eq!(compare(Collation::Utf8mb40900AsCs, "Ab", "ác"), Less);
        assert_eq!(compare(Collation::Utf8mb40900AsCi, "a", "A"), Equal);
        assert_eq!(compare(Collation::Utf8mb40900AsCi, "a", "á"), Less);
    }

    /// `order.out` was made by MySQL 9.7 (`generate_order.py`).
    #[test]
    fn strings_sort_as_in_mysql() {
        let text = |hex: &str| -> Vec<u8> {
            let hex = hex.trim_start_matches('-');
            let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            (0..hex.len()).step_by(2).map(byte).collect()
        };
        let classes_of = |name: &str| -> Vec<Vec<Vec<u8>>> {
            include_str!("order.out")
                .lines()
                .filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
                .map(|line| line.split(' ').map(text).collect())
                .collect()
        };
        for &collation in Collation::ALL {
            let mut classes = classes_of(collation.name());
            if classes.is_empty() {
                // What is there for utf8mb4 only, or utf8mb3.
                let (_, order) = collation.name().split_once('_').unwrap_or_default();
                let of = |charset: &str| classes_of(&format!("{charset}_{order}"));
                let found = ["utf8mb4", "utf8mb3"].map(of).into_iter();
                classes = found.max_by_key(Vec::len).unwrap();
            }
            assert!(collation.is_binary() || classes.len() > 50, "{collation:?}");
            for (i, a) in classes.iter().enumerate() {
                for (j, b) in classes.iter().enumerate() {
                    for (a, b) in a.iter().flat_map(|a| b.iter().map(move |b| (a, b))) {
                        let order = collation.compare(a, b);
                        let (a, b) = (String::from_utf8_lossy(a), String::from_utf8_lossy(b));
                        assert_eq!(order, i.cmp(&j), "{collation:?} {a:?} {b:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn ascii_keys_are_short() {
        let mut key = Vec::new();
        Collation::Utf8mb40900AiCi.sort_key(b"Hello World", &mut key);
        assert_eq!(key.len(), 12);
    }
}
