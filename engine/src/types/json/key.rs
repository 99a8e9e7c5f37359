//! Keys of objects, and their order.

use std::cmp::Ordering;

/// A key of an object; sorted by length, then by bytes. (So it is no `Borrow<str>`: a map that is
/// searched for a string must have the order of strings.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl From<&str> for Key {
    fn from(key: &str) -> Key {
        Key(key.to_owned())
    }
}

impl From<String> for Key {
    fn from(key: String) -> Key {
        Key(key)
    }
}

impl Key {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        key_order(&self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of keys: by length, then by bytes.
pub(super) fn key_order(a: &str, b: &str) -> Ordering {
    bytes_order(a.as_bytes(), b.as_bytes())
}

/// The same of the bytes of keys.
pub(super) fn bytes_order(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}
