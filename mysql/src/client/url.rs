//! URLs of servers.

/// Undoes the %XX of a URL.
pub fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or("").as_bytes());
    for part in parts {
        let code = part
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let code = code.ok_or_else(|| format!("{text}: two hexadecimal digits belong after %"))?;
        bytes.push(code);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_err(|_| format!("{text}: not UTF-8"))
}
