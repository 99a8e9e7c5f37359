//! The server's RSA key, under which passwords travel over plain TCP (OAEP with SHA-1), and the
//! client's half of it.

use aws_lc_rs::{
    encoding::{AsDer, PublicKeyX509Der},
    error::Unspecified,
    rsa::{
        KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
        PrivateDecryptingKey, PublicEncryptingKey,
    },
};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::sync::OnceLock;

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const END: &str = "-----END PUBLIC KEY-----";
/// The digits of a line of PEM.
const LINE: usize = 64;

/// The server's key, made when a client first asks for it.
#[derive(Default)]
pub struct Key(OnceLock<Option<(OaepPrivateDecryptingKey, String)>>);

impl Key {
    fn get(&self) -> Option<&(OaepPrivateDecryptingKey, String)> {
        self.0.get_or_init(|| make().ok()).as_ref()
    }
    /// The public half, as PEM.
    #[must_use]
    pub fn public(&self) -> Option<&str> {
        self.get().map(|(_, public)| public.as_str())
    }
    /// Decrypts what the client encrypted with the public half. How long that takes does not depend
    /// on the key or on what is in it.
    #[must_use]
    pub fn decrypt(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (private, _) = self.get()?;
        let mut out = vec![0; private.min_output_size()];
        let plain = private.decrypt(&OAEP_SHA1_MGF1SHA1, bytes, &mut out, None);
        let length = plain.ok()?.len();
        out.truncate(length);
        Some(out)
    }
}

fn make() -> Result<(OaepPrivateDecryptingKey, String), Unspecified> {
    let private = PrivateDecryptingKey::generate(KeySize::Rsa2048)?;
    let public: PublicKeyX509Der = private.public_key().as_der()?;
    let pem = to_pem(public.as_ref());
    Ok((OaepPrivateDecryptingKey::new(private)?, pem))
}

/// Encrypts a password under a server's public key; `None` if the key is none, or the password too
/// long for it.
#[must_use]
pub fn encrypt(pem: &str, password: &[u8]) -> Option<Vec<u8>> {
    let key = PublicEncryptingKey::from_der(&from_pem(pem)?).ok()?;
    let key = OaepPublicEncryptingKey::new(key).ok()?;
    let mut out = vec![0; key.ciphertext_size()];
    let sent = key.encrypt(&OAEP_SHA1_MGF1SHA1, password, &mut out, None);
    let length = sent.ok()?.len();
    out.truncate(length);
    Some(out)
}

fn to_pem(der: &[u8]) -> String {
    let mut pem = format!("{BEGIN}\n");
    let mut rest = &*STANDARD.encode(der);
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(LINE));
        pem.push_str(line);
        pem.push('\n');
        rest = more;
    }
    pem.push_str(END);
    pem.push('\n');
    pem
}

fn from_pem(pem: &str) -> Option<Vec<u8>> {
    let digits = pem.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
    let digits: String = digits.split_ascii_whitespace().collect();
    STANDARD.decode(digits).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_travels_encrypted() {
        let key = Key::default();
        let pem = key.public().unwrap();
        assert!(pem.lines().all(|line| line.len() <= LINE));
        let secret = b"a password longer than the nonce\0";
        let sent = encrypt(pem, secret).unwrap();
        assert_eq!(sent.len(), 256);
        assert_eq!(key.decrypt(&sent).unwrap(), secret);
        assert_eq!(key.decrypt(&sent[1..]), None);
        assert_eq!(key.decrypt(b"nonsense"), None);
        assert_eq!(encrypt(pem, &[b'x'; 215]), None, "too long for the key");
        assert_eq!(encrypt("-----BEGIN", secret), None);
    }
}
