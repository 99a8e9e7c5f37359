//! The greeting (protocol version 10), the client's response, and COM_CHANGE_USER.

use super::{constants::capability, packet::Cursor};

/// The bytes both sides mix into a password's proof: 20, none of them zero.
pub type Nonce = [u8; 20];

/// The plugin the greeting announces.
pub const DEFAULT_PLUGIN: &str = "caching_sha2_password";
/// The collation number of utf8mb4_0900_ai_ci.
pub const DEFAULT_COLLATION: u8 = 255;

/// The length of a client's wish to go on with TLS: what a response begins with.
const TLS_REQUEST: usize = 32;

/// Appends the greeting's payload. `extra` are capabilities besides those that every client is
/// offered.
pub fn put_greeting(
    out: &mut Vec<u8>,
    version: &str,
    id: u32,
    nonce: &Nonce,
    status: u16,
    extra: u32,
) {
    let capabilities = capability::SERVER | extra;
    let (low, high) = (capabilities as u16, (capabilities >> 16) as u16);
    out.push(10);
    out.extend_from_slice(version.as_bytes());
    out.push(0);
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&nonce[..8]);
    out.push(0);
    out.extend_from_slice(&low.to_le_bytes());
    out.push(DEFAULT_COLLATION);
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&high.to_le_bytes());
    out.push(nonce.len() as u8 + 1);
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(&nonce[8..]);
    out.push(0);
    out.extend_from_slice(DEFAULT_PLUGIN.as_bytes());
    out.push(0);
}

/// What a client says about itself, at first or with COM_CHANGE_USER.
#[derive(Debug, PartialEq, Eq)]
pub struct Login<'a> {
    /// What both sides can do.
    pub capabilities: u32,
    /// The connection's collation by number.
    pub collation: u16,
    /// The user's name.
    pub user: &'a [u8],
    /// The proof of the password, made for `plugin`.
    pub proof: &'a [u8],
    /// The database to use; empty for none.
    pub database: &'a [u8],
    /// How the proof was made.
    pub plugin: &'a [u8],
    /// What the client says of itself: names and values.
    pub attributes: Vec<(&'a [u8], &'a [u8])>,
    /// How hard Zstandard is to try, if it is to compress; 0 if that is not said.
    pub zstd_level: u8,
}

/// Whether a client wishes to go on with TLS, and to send its response then.
#[must_use]
pub fn asks_for_tls(payload: &[u8]) -> bool {
    let wanted = capability::SSL | capability::PROTOCOL_41;
    payload.len() == TLS_REQUEST
        && Cursor(payload)
            .u32()
            .is_some_and(|capabilities| capabilities & wanted == wanted)
}

/// Takes the response to the greeting apart; `None` if it is malformed or of an older protocol.
pub fn parse_response(payload: &[u8]) -> Option<Login<'_>> {
    let mut cursor = Cursor(payload);
    let capabilities = cursor.u32()? & (capability::SERVER | capability::COMPRESSION);
    if capabilities & capability::PROTOCOL_41 == 0 {
        return None;
    }
    cursor.take(4)?; // the client's longest packet: its own business
    let collation = u16::from(cursor.u8()?);
    cursor.take(23)?;
    let user = cursor.until_zero()?;
    let proof = if capabilities & capability::PLUGIN_AUTH_LENENC_CLIENT_DATA != 0 {
        cursor.string()?
    } else if capabilities & capability::SECURE_CONNECTION != 0 {
        let length = usize::from(cursor.u8()?);
        cursor.take(length)?
    } else {
        cursor.until_zero()?
    };
    let database = if capabilities & capability::CONNECT_WITH_DB != 0 {
        // Some clients leave the last terminator out.
        until_zero_or_end(&mut cursor)
    } else {
        &[]
    };
    let plugin = plugin_name(&mut cursor, capabilities);
    let attributes = attributes(&mut cursor, capabilities)?;
    let zstd = capabilities & capability::ZSTD_COMPRESSION_ALGORITHM != 0;
    let zstd_level = if zstd { cursor.u8() } else { None };
    Some(Login {
        capabilities,
        collation,
        user,
        proof,
        database,
        plugin,
        attributes,
        zstd_level: zstd_level.unwrap_or(0),
    })
}

/// Takes the rest of a COM_CHANGE_USER packet apart.
pub fn parse_change_user(payload: &[u8], capabilities: u32) -> Option<Login<'_>> {
    let mut cursor = Cursor(payload);
    let user = cursor.until_zero()?;
    let length = usize::from(cursor.u8()?);
    let proof = cursor.take(length)?;
    let database = until_zero_or_end(&mut cursor);
    let collation = cursor.u16().unwrap_or(u16::from(DEFAULT_COLLATION));
    let plugin = plugin_name(&mut cursor, capabilities);
    let attributes = attributes(&mut cursor, capabilities)?;
    Some(Login {
        capabilities,
        collation,
        user,
        proof,
        database,
        plugin,
        attributes,
        zstd_level: 0,
    })
}

fn until_zero_or_end<'a>(cursor: &mut Cursor<'a>) -> &'a [u8] {
    cursor.until_zero().unwrap_or_else(|| cursor.rest())
}

fn plugin_name<'a>(cursor: &mut Cursor<'a>, capabilities: u32) -> &'a [u8] {
    if capabilities & capability::PLUGIN_AUTH != 0 {
        until_zero_or_end(cursor)
    } else {
        b"mysql_native_password"
    }
}

/// The client's attributes, which must be well formed.
fn attributes<'a>(cursor: &mut Cursor<'a>, capabilities: u32) -> Option<Vec<(&'a [u8], &'a [u8])>> {
    let mut found = Vec::new();
    if capabilities & capability::CONNECT_ATTRS == 0 || cursor.0.is_empty() {
        return Some(found);
    }
    let mut attributes = Cursor(cursor.string()?);
    while !attributes.0.is_empty() {
        found.push((attributes.string()?, attributes.string()?));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::put_string;

    fn response(capabilities: u32) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&capabilities.to_le_bytes());
        out.extend_from_slice(&(1u32 << 24).to_le_bytes());
        out.push(45);
        out.extend_from_slice(&[0; 23]);
        out.extend_from_slice(b"root\0");
        put_string(&mut out, b"0123456789abcdefghij");
        if capabilities & capability::CONNECT_WITH_DB != 0 {
            out.extend_from_slice(b"test\0");
        }
        out.extend_from_slice(b"mysql_native_password\0");
        let mut attributes = Vec::new();
        put_string(&mut attributes, b"_client_name");
        put_string(&mut attributes, b"libmysql");
        put_string(&mut out, &attributes);
        out
    }

    #[test]
    fn a_response_is_understood() {
        let bytes = response(capability::SERVER);
        let login = parse_response(&bytes).unwrap();
        assert_eq!(login.user, b"root");
        assert_eq!(login.proof, b"0123456789abcdefghij");
        assert_eq!(login.database, b"test");
        assert_eq!(login.plugin, b"mysql_native_password");
        assert_eq!(login.collation, 45);
        let attribute: (&[u8], &[u8]) = (b"_client_name", b"libmysql");
        assert_eq!(login.attributes, [attribute]);
        let without = response(capability::SERVER & !capability::CONNECT_WITH_DB);
        assert_eq!(parse_response(&without).unwrap().database, b"");
        assert_eq!(parse_response(&response(0)), None);
    }

    #[test]
    fn only_a_whole_request_asks_for_tls() {
        let asking = response(capability::SERVER | capability::SSL);
        assert!(asks_for_tls(&asking[..TLS_REQUEST]));
        let with_it = [31, 33, 0, asking.len()].map(|length| &asking[..length]);
        assert!(!with_it.iter().any(|payload| asks_for_tls(payload)));
        assert!(!asks_for_tls(&response(capability::SERVER)[..TLS_REQUEST]));
        assert!(!asks_for_tls(&response(capability::SSL)[..TLS_REQUEST]));
    }

    #[test]
    fn no_beginning_of_a_response_panics() {
        let bytes = response(capability::SERVER);
        for n in 0..bytes.len() {
            let _ = parse_response(&bytes[..n]);
            let _ = parse_change_user(&bytes[..n], capability::SERVER);
        }
    }

    #[test]
    fn the_greeting_has_the_published_layout() {
        let mut out = Vec::new();
        let nonce = *b"abcdefghijklmnopqrst";
        put_greeting(&mut out, "9.7.0", 7, &nonce, 2, capability::SSL);
        let mut cursor = Cursor(&out);
        assert_eq!(cursor.u8(), Some(10));
        assert_eq!(cursor.until_zero(), Some(&b"9.7.0"[..]));
        assert_eq!(cursor.u32(), Some(7));
        assert_eq!(cursor.take(9), Some(&b"abcdefgh\0"[..]));
        let low = u32::from(cursor.u16().unwrap());
        assert_eq!((cursor.u8(), cursor.u16()), (Some(255), Some(2)));
        let high = u32::from(cursor.u16().unwrap());
        assert_eq!(low | high << 16, capability::SERVER | capability::SSL);
        assert_eq!(cursor.u8(), Some(21));
        assert_eq!(cursor.take(10), Some(&[0; 10][..]));
        assert_eq!(cursor.until_zero(), Some(&b"ijklmnopqrst"[..]));
        assert_eq!(cursor.rest(), b"caching_sha2_password\0");
    }
}
