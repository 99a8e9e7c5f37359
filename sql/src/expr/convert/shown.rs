//! Values as errors show them.

use cohort_engine::types::Collation;

/// So many characters of a value are shown in an error.
const SHOWN_MAX: usize = 128;

/// A text shown in a warning: at most 128 characters, up to a zero byte, and with question marks for
/// what is none.
pub(in crate::expr) fn shown(text: &[u8]) -> String {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let end = Collation::Utf8mb4Bin.char_offset(text, SHOWN_MAX);
    let mut shown = String::with_capacity(end);
    for chunk in text[..end].utf8_chunks() {
        shown.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            shown.push('?');
        }
    }
    shown
}

/// Bytes for an error: the first six, those that are no ASCII characters in hexadecimal digits.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    const SHOWN: usize = 6;
    let mut text = escaped(bytes.iter().take(SHOWN));
    if bytes.len() > SHOWN {
        text.push_str("...");
    }
    text
}

/// The same of many bytes.
pub(in crate::expr) fn printable_value(bytes: &[u8]) -> String {
    let text = escaped(bytes.iter().take(SHOWN_MAX));
    text.chars().take(SHOWN_MAX).collect()
}

fn escaped<'b>(bytes: impl Iterator<Item = &'b u8>) -> String {
    let mut text = String::new();
    for &byte in bytes {
        if matches!(byte, b' '..=b'~') {
            text.push(byte.into());
        } else {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    text
}
