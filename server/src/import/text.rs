//! Names and values as SQL has them.

pub use cohort_engine::types::quoted as name;

/// `database`.`table`.
pub fn full_name(database: &str, table: &str) -> String {
    format!("{}.{}", name(database), name(table))
}

/// A text in apostrophes.
pub fn string(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    put_string(text.as_bytes(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Appends a text in apostrophes.
pub fn put_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    let mut rest = text;
    while let Some(at) = rest.iter().position(|b| matches!(b, b'\'' | b'\\' | 0)) {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\\');
        out.push(if rest[at] == 0 { b'0' } else { rest[at] });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'\'');
}

/// Appends bytes as X'…'.
pub fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(bytes.len() * 2 + 3);
    out.extend_from_slice(b"X'");
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out.push(b'\'');
}

/// The same text with `_` for each byte between quotes of any kind, and for these: what a word that is
/// looked for in it is found at is at the same place in the text, and no part of a name or a string.
pub fn without_quoted(text: &str) -> String {
    let (mut out, mut quote, mut is_escaped) = (String::with_capacity(text.len()), None, false);
    for c in text.chars() {
        match quote {
            None if !matches!(c, '\'' | '"' | '`') => {
                out.push(c);
                continue;
            }
            None => quote = Some(c),
            Some(_) if is_escaped => is_escaped = false,
            Some(open) if c == open => quote = None,
            Some(open) => is_escaped = c == '\\' && open != '`',
        }
        out.extend(std::iter::repeat_n('_', c.len_utf8()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values() {
        assert_eq!(full_name("a`b", "c"), "`a``b`.`c`");
        assert_eq!(string("it's \\ \0é"), "'it\\'s \\\\ \\0é'");
        let bare = without_quoted(r"a 'ü''\' A' `\` A");
        assert_eq!(bare, "a __________ ___ A");
        let mut out = Vec::new();
        put_bytes(&[0, 0xab, 0xff], &mut out);
        assert_eq!(out, b"X'00ABFF'");
    }
}
