//! How a client proves its password: caching_sha2_password and mysql_native_password.
//!
//! Both methods send a proof made of the password's hash and the server's nonce. The stored form
//! of caching_sha2_password is too slow to hash for every login (10,000 rounds) and does not
//! suffice to check a proof, so the server remembers SHA256(SHA256(password)) of every password
//! it has once seen in full ([`Verified`]). Without that it asks for the password itself, which
//! travels in the clear over a Unix socket and under [RSA](super::rsa) over plain TCP.
//!
//! An unknown user goes through the same exchange as one whose password is not remembered, so
//! that a client cannot tell which of the two was wrong.

use super::handshake::Nonce;
use cohort_sql::password::equal;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// MySQL's default since version 8.
pub const CACHING_SHA2: &str = "caching_sha2_password";
/// The method of version 4.1, for old clients.
pub const NATIVE: &str = "mysql_native_password";

/// What follows a proof of caching_sha2_password.
pub mod more {
    /// The proof was right.
    pub const FAST_SUCCESS: u8 = 3;
    /// The server needs the password itself.
    pub const FULL: u8 = 4;
    /// The client asks for the server's public key.
    pub const WANT_KEY: u8 = 2;
}

/// SHA256(SHA256(password)): what a proof of caching_sha2_password is checked with.
pub type Sha2Digest = [u8; 32];

/// Checks a proof of mysql_native_password against the stored `*HEX`.
#[must_use]
pub fn check_native(stored: &str, nonce: &Nonce, proof: &[u8]) -> bool {
    let Some(stage2) = native_digest(stored) else {
        return stored.is_empty() && proof.is_empty();
    };
    let Ok(proof) = <[u8; 20]>::try_from(proof) else {
        return false;
    };
    let mask = Sha1::new()
        .chain_update(nonce)
        .chain_update(stage2)
        .finalize();
    let stage1: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    equal(&Sha1::digest(stage1), &stage2)
}

fn native_digest(stored: &str) -> Option<[u8; 20]> {
    let digits = stored
        .strip_prefix('*')
        .filter(|d| d.len() == 40 && d.is_ascii())?;
    let mut digest = [0; 20];
    for (i, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(digest)
}

/// Checks a proof of caching_sha2_password against the remembered digest.
#[must_use]
pub fn check_sha2(digest: &Sha2Digest, nonce: &Nonce, proof: &[u8]) -> bool {
    let Ok(proof) = <[u8; 32]>::try_from(proof) else {
        return false;
    };
    let mask = Sha256::new()
        .chain_update(digest)
        .chain_update(nonce)
        .finalize();
    let stage1: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    equal(&Sha256::digest(stage1), digest)
}

/// What the client does to a password before it encrypts it, and the server again to undo it: XOR
/// with the nonce, over and over, without the zero that ends it in a packet.
pub fn mask(password: &mut [u8], nonce: &Nonce) {
    for (byte, mask) in password.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
}

/// The passwords that were seen in full, by the stored form they fit: a changed password has a
/// new salt, and is a stranger.
#[derive(Debug, Default)]
pub struct Verified(Mutex<FxHashMap<String, Sha2Digest>>);

/// So many are remembered; then all are forgotten and asked for again.
const VERIFIED_MAX: usize = 10_000;

impl Verified {
    /// The digest of the password of a stored form.
    #[must_use]
    pub fn digest(&self, stored: &str) -> Option<Sha2Digest> {
        self.0.lock().get(stored).copied()
    }
    /// Remembers a password that fits its stored form.
    pub fn remember(&self, stored: &str, password: &[u8]) {
        let mut map = self.0.lock();
        if map.len() >= VERIFIED_MAX {
            map.clear();
        }
        let digest = Sha256::digest(Sha256::digest(password));
        map.insert(stored.to_owned(), digest.into());
    }
}

/// Fresh random bytes, none of them zero: the nonce travels as a zero-terminated string.
#[must_use]
pub fn nonce() -> Nonce {
    let mut nonce = [0; 20];
    aws_lc_rs::rand::fill(&mut nonce).expect("the system has random bytes");
    nonce.map(|byte| byte % 127 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_sql::password;

    const NONCE: Nonce = *b"abcdefghijklmnopqrst";

    fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
        a.iter().zip(b).map(|(a, b)| a ^ b).collect()
    }

    #[test]
    fn native_proofs() {
        // As a client makes them: SHA1(pw) XOR SHA1(nonce, SHA1(SHA1(pw))).
        let stage1 = Sha1::digest(b"secret");
        let mask = Sha1::new()
            .chain_update(NONCE)
            .chain_update(Sha1::digest(stage1))
            .finalize();
        let proof = xor(&stage1, &mask);
        let stored = password::native(b"secret");
        assert!(check_native(&stored, &NONCE, &proof));
        assert!(!check_native(&stored, b"bbcdefghijklmnopqrst", &proof));
        assert!(!check_native(&stored, &NONCE, b""));
        assert!(!check_native("", &NONCE, &proof));
        assert!(check_native("", &NONCE, b""));
        assert!(!check_native("*damaged", &NONCE, b""));
    }

    #[test]
    fn sha2_proofs() {
        let verified = Verified::default();
        assert_eq!(verified.digest("stored"), None);
        verified.remember("stored", b"secret");
        let digest = verified.digest("stored").unwrap();
        let stage1 = Sha256::digest(b"secret");
        let mask = Sha256::new()
            .chain_update(digest)
            .chain_update(NONCE)
            .finalize();
        let proof = xor(&stage1, &mask);
        assert!(check_sha2(&digest, &NONCE, &proof));
        assert!(!check_sha2(&digest, &NONCE, &proof[1..]));
        assert!(!check_sha2(&[0; 32], &NONCE, &proof));
    }

    #[test]
    fn nonces_have_no_zero() {
        assert!((0..100).all(|_| !nonce().contains(&0)));
    }

    #[test]
    fn a_mask_begins_again_after_twenty_bytes() {
        let nonce: Nonce = std::array::from_fn(|at| at as u8 + 1);
        let mut masked = [0; 45];
        mask(&mut masked, &nonce);
        assert_eq!(
            (masked[0], masked[19], masked[20], masked[40]),
            (1, 20, 1, 1)
        );
        mask(&mut masked, &nonce);
        assert_eq!(masked, [0; 45]);
    }
}
