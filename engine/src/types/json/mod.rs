//! JSON documents in MySQL's binary form: what rows of the store and of the binlog hold, and what
//! expressions pass on.
//!
//! A document is the byte of its type and its value:
//!
//! ```text
//! 0 1          an object whose numbers are u16 (small), or u32 (large)
//! 2 3          an array, small or large
//! 4            a literal: 0 null, 1 true, 2 false
//! 5 6          i16, u16
//! 7 8          i32, u32
//! 9 10         i64, u64
//! 11           IEEE 754, 8 bytes
//! 12           a text: its length, then UTF-8
//! 15           a value of another type: MySQL's number of it, the length, the bytes
//!
//! array        count, size in bytes, then a value entry for each element, then the values
//! object       count, size in bytes, key entries, value entries, then the keys and the values
//! key entry    offset of the key, its length (u16)
//! value entry  type (1 byte), offset of the value, or the value if it is not larger: literals,
//!              16 bits and, in large ones, 32 bits
//! length       7 bits in a byte, the lowest first; the highest bit says that more follow
//! ```
//!
//! All numbers are little-endian; offsets count from the count of the array or object they are in.
//! The keys of an object are sorted by their lengths, then by their bytes, so one is found by
//! bisection: a path is followed without reading what it does not lead to.
//!
//! Bytes from outside become a document only if all of it can be read (`Json::from_bytes`). So
//! reading it afterwards cannot fail. Entries that share a value are refused: a few bytes could be
//! a tree of any size then. Rows hold nothing but documents that were made or checked so, and what
//! holds rows has checksums: they are not looked at again (`Json::of_row`).

mod check;
mod key;
mod kind;
mod ordering;
mod read;
mod scalar;
mod tree;

pub use key::Key;
pub use kind::DEPTH_MAX;
pub use ordering::{compare, order};
pub use read::{Array, Node, Object};
pub use scalar::{OPAQUE_BIT, Scalar, ScalarKind};
pub use tree::{TooLarge, Tree};

use std::sync::Arc;

/// A document: bytes that are known to be one.
#[derive(Clone, Debug, PartialEq)]
pub struct Json(Arc<Vec<u8>>);

impl Json {
    /// The document that some bytes are; `None` if they are none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Json> {
        check::is_document(bytes).then(|| Json::of_row(bytes))
    }
    /// The document that a row of the store or of the log holds.
    #[must_use]
    pub fn of_row(bytes: &[u8]) -> Json {
        Json(Arc::new(bytes.to_vec()))
    }
    /// Becomes the document that a row holds, in the same memory if nobody else reads it.
    pub fn set_of_row(&mut self, bytes: &[u8]) {
        match Arc::get_mut(&mut self.0) {
            Some(own) => {
                own.clear();
                own.extend_from_slice(bytes);
            }
            None => *self = Json::of_row(bytes),
        }
    }
    /// Whether all of it can be read: `CHECK TABLE` asks it of what rows hold.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        check::is_document(&self.0)
    }
    /// The document with these values; it may be deeper than `DEPTH_MAX` allows.
    pub fn new(tree: &Tree) -> Result<Json, TooLarge> {
        Ok(Json(Arc::new(tree.to_bytes()?)))
    }
    /// The document that is nothing but this.
    #[must_use]
    pub fn scalar(scalar: &Scalar<'_>) -> Json {
        let mut bytes = vec![0];
        bytes[0] = scalar.write(&mut bytes);
        Json(Arc::new(bytes))
    }
    /// What it is, or what its parts are found in.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        match self.0.split_first() {
            Some((kind, value)) => Node::of(*kind, value),
            None => Node::Scalar(Scalar::Null),
        }
    }
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Node<'_> {
    /// It alone, as a document.
    #[must_use]
    pub fn to_document(&self) -> Json {
        let (ty, bytes) = match self {
            Node::Scalar(scalar) => return Json::scalar(scalar),
            Node::Array(array) => array.parts(),
            Node::Object(object) => object.parts(),
        };
        Json(Arc::new([&[ty], bytes].concat()))
    }
}

#[cfg(test)]
mod tests;
