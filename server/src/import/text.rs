//! Names and values as SQL has them.

/// A name in backticks.
pub fn name(text: &str) -> String {
    format!("`{}`", text.replace('`', "``"))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values() {
        assert_eq!(full_name("a`b", "c"), "`a``b`.`c`");
        assert_eq!(string("it's \\ \0é"), "'it\\'s \\\\ \\0é'");
        let mut out = Vec::new();
        put_bytes(&[0, 0xab, 0xff], &mut out);
        assert_eq!(out, b"X'00ABFF'");
    }
}
