//! The order of tis620_thai_ci, which is that of bytes after some of them have moved: a vowel that is
//! written before its consonant goes behind it, and the marks of tones go to the end.
//!
//! As in MySQL, each mark that goes to the end takes the place of the one that went before it, and the
//! byte before it stands there twice. Where characters are compared one by one (LIKE) nothing moves.

use super::{bytes::TIS620, weights::next_char};

/// What the bytes weigh that compare as the strings do. They go on as if with spaces.
pub fn weights(text: &[u8]) -> Vec<u8> {
    let mut weights: Vec<u8> = bytes(text).collect();
    let last = weights.len().saturating_sub(1);
    // Marks count for less the more consonants are before them, or letters of other scripts.
    let mut least = 0xF8_u8;
    let (mut at, mut end) = (0, weights.len());
    while at < end {
        let byte = weights[at];
        if is_consonant(byte) || !is_thai(byte) {
            least = least.wrapping_sub(8);
        }
        if let Some(tone) = tone(byte) {
            weights.copy_within(at + 1..end, at);
            weights[last] = least.wrapping_add(tone);
            end -= 1;
            continue;
        }
        if goes_behind(&weights[at..end]) {
            weights.swap(at, at + 1);
            at += 1;
        }
        weights[at] = weights[at].to_ascii_lowercase();
        at += 1;
    }
    weights
}

/// The weights that those of each string begin with that begins with `text`.
pub fn settled(text: &[u8]) -> Vec<u8> {
    let mut weights = weights(text);
    let marks = bytes(text).filter(|byte| tone(*byte).is_some()).count();
    weights.truncate(weights.len() - marks);
    // A consonant may follow.
    if bytes(text).last().is_some_and(is_leading_vowel) {
        weights.pop();
    }
    weights
}

/// What a character is where characters are compared one by one.
pub fn letter(code: u32) -> u32 {
    match u8::try_from(code) {
        Ok(byte) => byte.to_ascii_lowercase().into(),
        Err(_) => code,
    }
}

/// The bytes of a text; FF for what is none of the character set's.
fn bytes(mut text: &[u8]) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let (code, length) = next_char(text)?;
        text = &text[length..];
        let byte = char::from_u32(code).and_then(|c| TIS620.byte(c));
        Some(byte.unwrap_or(0xFF))
    })
}

fn goes_behind(bytes: &[u8]) -> bool {
    matches!(bytes, [vowel, next, ..] if is_leading_vowel(*vowel) && is_consonant(*next))
}

fn is_thai(byte: u8) -> bool {
    byte >= 0x80
}

fn is_consonant(byte: u8) -> bool {
    (0xA1..=0xCE).contains(&byte)
}

fn is_leading_vowel(byte: u8) -> bool {
    (0xE0..=0xE4).contains(&byte)
}

/// The place of a mark among the marks.
fn tone(byte: u8) -> Option<u8> {
    match byte {
        0xEC => Some(1),
        0xE7..=0xEB => Some(byte - 0xE7 + 2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_as_mysql_has_them() {
        // WEIGHT_STRING of MySQL 9.7.
        assert_eq!(weights("ABc ".as_bytes()), b"abc ");
        assert_eq!(weights("เก".as_bytes()), b"\xA1\xE0");
        assert_eq!(weights("กเ".as_bytes()), b"\xA1\xE0");
        assert_eq!(weights("ก่".as_bytes()), b"\xA1\xF3");
        assert_eq!(weights("ก่ ".as_bytes()), b"\xA1 \xF3");
        assert_eq!(weights("ก่ขฃ".as_bytes()), b"\xA1\xA2\xA3\xF3");
        assert_eq!(weights("ก่ข้ฃ".as_bytes()), b"\xA1\xA2\xA3\xA3\xEC");
        assert_eq!(weights("AB่".as_bytes()), b"ab\xEB");
        assert_eq!(weights("日".as_bytes()), b"\xFF");
    }

    #[test]
    fn what_follows_leaves_the_settled_weights() {
        let letters = ["ก", "ข", "เ", "แ", "า", "่", "้", "a", "A", " "];
        for first in letters {
            for second in letters {
                for third in letters {
                    let text = format!("{first}{second}");
                    let longer = weights(format!("{text}{third}ก").as_bytes());
                    assert!(
                        longer.starts_with(&settled(text.as_bytes())),
                        "{text}{third}"
                    );
                }
            }
        }
    }
}
