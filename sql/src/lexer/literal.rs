//! What literals and quoted names stand for.

use super::{Kind, Mode};
use cohort_engine::types::{Value, decimal};
use memchr::memchr2;
use std::borrow::Cow;

/// Whether a database, table or column can be called so at all.
pub fn is_proper(name: &str) -> bool {
    !name.is_empty() && !name.ends_with(' ') && !name.contains('\0')
}

/// The name that a `Word` or `QuotedName` (or a variable, without its `@`s) stands for. Bytes
/// that are not UTF-8 are replaced, and so are characters that no name has: see `is_beyond_names`.
#[must_use]
pub fn name(text: &[u8]) -> Cow<'_, str> {
    in_names(unquoted(text))
}

/// Whether a character is one beyond U+FFFF. Names are in utf8mb3, which does not have it: there
/// it is a question mark, as in MySQL.
#[must_use]
pub fn is_beyond_names(character: char) -> bool {
    character > '\u{FFFF}'
}

/// A text as a name, or as a comment of a definition.
#[must_use]
pub fn in_names(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.contains(is_beyond_names) {
        true => Cow::Owned(text.replace(is_beyond_names, "?")),
        false => text,
    }
}

fn unquoted(text: &[u8]) -> Cow<'_, str> {
    let text = text.strip_prefix(b"@@").unwrap_or(text);
    let text = text.strip_prefix(b"@").unwrap_or(text);
    let Some((&quote @ (b'`' | b'"' | b'\''), rest)) = text.split_first() else {
        return String::from_utf8_lossy(text);
    };
    let inner = rest.strip_suffix(&[quote]).unwrap_or(rest);
    if inner.contains(&quote) {
        let inner = undouble(inner, quote);
        return Cow::Owned(String::from_utf8_lossy(&inner).into_owned());
    }
    String::from_utf8_lossy(inner)
}

fn undouble(text: &[u8], quote: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        out.push(byte);
        if byte == quote {
            bytes.next();
        }
    }
    out
}

/// The bytes that a `String` token stands for.
#[must_use]
pub fn string(text: &[u8], mode: Mode) -> Cow<'_, [u8]> {
    let text = match text {
        [b'n' | b'N', rest @ ..] => rest,
        _ => text,
    };
    let Some((&quote, rest)) = text.split_first() else {
        return Cow::Borrowed(text);
    };
    let inner = rest.strip_suffix(&[quote]).unwrap_or(rest);
    if mode.no_backslash_escapes {
        if !inner.contains(&quote) {
            return Cow::Borrowed(inner);
        }
        return Cow::Owned(undouble(inner, quote));
    }
    if memchr2(quote, b'\\', inner).is_none() {
        return Cow::Borrowed(inner);
    }
    Cow::Owned(unescape(inner, quote))
}

fn unescape(text: &[u8], quote: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        if byte == quote {
            bytes.next();
            out.push(byte);
            continue;
        }
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'0') => out.push(0),
            Some(b'b') => out.push(8),
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b't') => out.push(b'\t'),
            Some(b'Z') => out.push(26),
            // Kept with their backslash: they are for LIKE.
            Some(&escaped @ (b'%' | b'_')) => out.extend([b'\\', escaped]),
            Some(&escaped) => out.push(escaped),
            None => out.push(b'\\'),
        }
    }
    out
}

/// The optimizer hints that a text begins with: `/*+ … */`; empty if there are none.
#[must_use]
pub fn hints(text: &[u8]) -> &[u8] {
    let Some(hints) = text.trim_ascii_start().strip_prefix(b"/*+") else {
        return &[];
    };
    let end = hints.windows(2).position(|two| two == b"*/");
    hints.get(..end.unwrap_or(hints.len())).unwrap_or_default()
}

/// The same as a value.
#[must_use]
pub fn string_value(text: &[u8], mode: Mode) -> Value {
    Value::Bytes(string(text, mode).into_owned())
}

/// The value of a number token: integers as `Int` or `UInt`, larger ones and those with a point
/// as `Decimal`, those with an exponent as `Double`.
#[must_use]
pub fn number(kind: Kind, text: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(text).ok()?;
    match kind {
        Kind::Integer => {
            if let Ok(value) = text.parse::<i64>() {
                return Some(Value::Int(value));
            }
            if let Ok(value) = text.parse::<u64>() {
                return Some(Value::UInt(value));
            }
            exact(text)
        }
        Kind::Decimal => exact(text),
        Kind::Float => Some(Value::Double(text.parse().ok()?)),
        _ => None,
    }
}

/// The bytes of `0x1F`, `x'1F'`, `0b01` or `b'01'`: a token of kind `Hex` or `Bit`.
#[must_use]
pub fn bits(kind: Kind, text: &[u8]) -> Option<Vec<u8>> {
    let hex = kind == Kind::Hex;
    let quoted = text.get(1) == Some(&b'\'');
    let digits = text.get(2..text.len().saturating_sub(usize::from(quoted)))?;
    let per_byte = if hex { 2 } else { 8 };
    if quoted && hex && digits.len() % 2 == 1 {
        return None;
    }
    let base = if hex { 16 } else { 2 };
    // Digits are grouped from the right.
    let mut bytes = Vec::with_capacity(digits.len() / per_byte + 1);
    for group in digits.rchunks(per_byte).rev() {
        bytes.push(u8::from_str_radix(std::str::from_utf8(group).ok()?, base).ok()?);
    }
    Some(bytes)
}

/// A decimal; not one with more digits than there may be before the point, which has to be
/// warned about.
fn exact(text: &str) -> Option<Value> {
    let parsed = decimal::parse(text).filter(|parsed| !parsed.overflow)?;
    Some(Value::Decimal(parsed.value))
}
