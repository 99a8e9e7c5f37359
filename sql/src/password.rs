//! Passwords in the forms that mysql.user keeps, and the check of one against them.
//!
//! - `mysql_native_password`: `*` and SHA1(SHA1(password)) in hexadecimal.
//! - `caching_sha2_password`: `$A$00A$`, 20 bytes of salt and 43 characters: Ulrich Drepper's
//!   SHA-crypt with SHA-256, where the three hexadecimal digits are thousands of rounds and the
//!   salt, unlike in crypt(3), keeps all its 20 bytes.

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// No password is longer, in bytes: hashing takes time with the square of the length.
pub const BYTES_MAX: usize = 256;
const PREFIX: &str = "$A$";
const SALT: usize = 20;
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// caching_sha2_password_digest_rounds of MySQL 9.
const ROUNDS: u32 = 10_000;

/// The stored form of a password for mysql_native_password; empty for an empty password.
#[must_use]
pub fn native(password: &[u8]) -> String {
    if password.is_empty() {
        return String::new();
    }
    let digest = Sha1::digest(Sha1::digest(password));
    let mut stored = String::with_capacity(41);
    stored.push('*');
    for byte in digest {
        stored.push_str(&format!("{byte:02X}"));
    }
    stored
}

/// The stored form of a password for caching_sha2_password; empty for an empty password.
/// `random` makes the salt.
#[must_use]
pub fn caching_sha2(password: &[u8], random: [u8; SALT]) -> String {
    if password.is_empty() {
        return String::new();
    }
    let salt = random.map(|byte| DIGITS[usize::from(byte % 64)]);
    let mut stored = format!("{PREFIX}{:03X}$", ROUNDS / 1000).into_bytes();
    stored.extend_from_slice(&salt);
    stored.extend_from_slice(&crypt(password, &salt, ROUNDS));
    // All of it is ASCII.
    String::from_utf8_lossy(&stored).into_owned()
}

/// Whether `password` is the one that `stored`, a form of caching_sha2_password, was made from.
/// Costs some milliseconds, on purpose. What is longer than a password can be is never the one, at
/// no more cost.
#[must_use]
pub fn matches_caching_sha2(stored: &str, password: &[u8]) -> bool {
    let shortened = password.get(..BYTES_MAX).unwrap_or(password);
    let fits = parts(stored)
        .is_some_and(|(rounds, salt, digest)| equal(&crypt(shortened, salt, rounds), digest));
    fits && password.len() <= BYTES_MAX
}

/// Whether `password` is the one that `stored`, in either form, was made from; the empty form is that
/// of no password.
#[must_use]
pub fn matches(stored: &str, password: &[u8]) -> bool {
    match (stored.is_empty(), password.is_empty()) {
        (false, false) if stored.starts_with('*') => native(password) == stored,
        (false, false) => matches_caching_sha2(stored, password),
        (one, other) => one && other,
    }
}

/// Whether `stored` is a form that caching_sha2_password takes (IDENTIFIED WITH … AS).
#[must_use]
pub fn is_caching_sha2(stored: &str) -> bool {
    stored.is_empty() || parts(stored).is_some()
}

/// Rounds, salt and digest of a stored form.
fn parts(stored: &str) -> Option<(u32, &[u8], &[u8])> {
    let (rounds, rest) = stored.strip_prefix(PREFIX)?.split_once('$')?;
    let rounds = u32::from_str_radix(rounds, 16).ok()?;
    let (salt, digest) = rest.as_bytes().split_at_checked(SALT)?;
    let fits = (5..=0xfff).contains(&rounds) && digest.len() == 43;
    fits.then_some((rounds * 1000, salt, digest))
}

/// Compares without telling by its time where the first difference is.
#[must_use]
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |d, (a, b)| d | (a ^ b)) == 0
}

/// SHA-crypt with SHA-256: the 43 digits of its result.
fn crypt(password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
    assert!(
        password.len() <= BYTES_MAX,
        "the length is looked at before"
    );
    let b = Sha256::new()
        .chain_update(password)
        .chain_update(salt)
        .chain_update(password)
        .finalize();
    let mut a = Sha256::new().chain_update(password).chain_update(salt);
    a.update(stretch(&b, password.len()));
    let mut length = password.len();
    while length > 0 {
        a.update(if length & 1 == 1 { &b[..] } else { password });
        length >>= 1;
    }
    let mut a = a.finalize();

    let mut p = Sha256::new();
    for _ in 0..password.len() {
        p.update(password);
    }
    let p = stretch(&p.finalize(), password.len());
    let mut s = Sha256::new();
    for _ in 0..16 + usize::from(a[0]) {
        s.update(salt);
    }
    let s = stretch(&s.finalize(), salt.len());

    for round in 0..rounds {
        let odd = round & 1 == 1;
        let mut c = Sha256::new();
        c.update(if odd { &p[..] } else { &a[..] });
        if round % 3 != 0 {
            c.update(&s);
        }
        if round % 7 != 0 {
            c.update(&p);
        }
        c.update(if odd { &a[..] } else { &p[..] });
        a = c.finalize();
    }
    encode(&a.into())
}

/// `bytes` over and over, `length` in all.
fn stretch(bytes: &[u8], length: usize) -> Vec<u8> {
    bytes.iter().copied().cycle().take(length).collect()
}

/// SHA-crypt's own base 64: three bytes, which the specification picks in this order, make four
/// digits, lowest first.
fn encode(digest: &[u8; 32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(43);
    let mut put = |high: u8, middle: u8, low: u8, digits: usize| {
        let mut bits = u32::from(high) << 16 | u32::from(middle) << 8 | u32::from(low);
        for _ in 0..digits {
            out.push(DIGITS[(bits & 63) as usize]);
            bits >>= 6;
        }
    };
    let (mut i, mut j, mut k) = (0, 10, 20);
    for _ in 0..10 {
        put(digest[i], digest[j], digest[k], 4);
        (i, j, k) = (k + 1, i + 1, j + 1);
    }
    put(0, digest[31], digest[30], 3);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What MySQL 9.7 stored for two passwords: salt, then digits.
    const OF_MYSQL: [(&str, &[u8; SALT], &str); 2] = [
        (
            "correct horse",
            b"YHmW'1Pb\x1a9xp8S1K\x1eFGt",
            "WR.wpnm0671EfBCs65a9WrWr4Ig6YKsQHE5qxtaGQCA",
        ),
        (
            "Ünï-a password longer than thirty-two bytes, for the block loop",
            b"i]Da\x0f\x07J\"=\x1d\x12??9\x15q<(cz",
            "5vNl9devWLZ0Bn35aRKd8gDeW8Gtr53CHMvTfYUz/f4",
        ),
    ];

    #[test]
    fn forms_made_by_mysql_are_understood() {
        for (password, salt, digits) in OF_MYSQL {
            let stored = format!("$A$00A${}{digits}", String::from_utf8_lossy(salt));
            assert!(matches_caching_sha2(&stored, password.as_bytes()));
            assert!(!matches_caching_sha2(&stored, b"correct hors"));
        }
        assert_eq!(
            native(b"correct horse"),
            "*0E8F21E4240F5AD5A07D088F9C93890D13D78A4E"
        );
    }

    #[test]
    fn a_form_fits_its_password_only() {
        let stored = caching_sha2(b"secret", *b"0123456789abcdefghij");
        assert!(is_caching_sha2(&stored) && stored.len() == 70);
        assert!(matches_caching_sha2(&stored, b"secret"));
        assert!(!matches_caching_sha2(&stored, b"Secret"));
        assert!(matches(&stored, b"secret") && !matches(&stored, b"") && !matches("", b"x"));
        assert!(matches(&native(b"x"), b"x") && !matches(&native(b"x"), b"y") && matches("", b""));
        assert_eq!(caching_sha2(b"", [0; SALT]), "");
        let longest = [b'x'; BYTES_MAX + 1];
        let stored = caching_sha2(&longest[1..], *b"0123456789abcdefghij");
        assert!(matches_caching_sha2(&stored, &longest[1..]));
        assert!(!matches_caching_sha2(&stored, &longest));
        assert!(!matches_caching_sha2(&stored, &vec![b'x'; 1 << 24]), "soon");
        for broken in ["$A$", "$A$zzz$", "$A$005$short", "*0E8F", &stored[..69]] {
            assert!(!is_caching_sha2(broken) && !matches_caching_sha2(broken, b"secret"));
        }
    }
}
