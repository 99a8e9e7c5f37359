//! Keys as the delta, write sets and lock tables hold them: tree number, then the key's bytes.

use crate::types::TreeId;
use smallvec::SmallVec;
use std::{borrow::Borrow, cmp::Ordering};

/// A key in a tree: the tree's number (4 bytes, big endian) followed by the key. Sorted by tree,
/// then by key; short keys need no allocation.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TreeKey(SmallVec<[u8; 32]>);

impl TreeKey {
    /// The key `key` in `tree`.
    #[must_use]
    pub fn new(tree: TreeId, key: &[u8]) -> TreeKey {
        let mut bytes = SmallVec::with_capacity(4 + key.len());
        bytes.extend_from_slice(&tree.to_be_bytes());
        bytes.extend_from_slice(key);
        TreeKey(bytes)
    }
    /// Where the tree after `tree` begins: an exclusive end of all keys of `tree`.
    #[must_use]
    pub fn end_of(tree: TreeId) -> TreeKey {
        match tree.checked_add(1) {
            Some(next) => TreeKey::new(next, &[]),
            None => TreeKey(SmallVec::from_slice(&[0xff; 32])),
        }
    }
    /// The first key behind this one, in its tree.
    #[must_use]
    pub fn successor(mut self) -> TreeKey {
        self.0.push(0);
        self
    }
    /// The tree.
    #[must_use]
    pub fn tree(&self) -> TreeId {
        match self.0.first_chunk::<4>() {
            Some(tree) => TreeId::from_be_bytes(*tree),
            None => 0,
        }
    }
    /// The key without the tree.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.0.get(4..).unwrap_or_default()
    }
    /// Both, as sorted.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
    /// Memory it takes beyond its own size, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        if self.0.spilled() {
            self.0.capacity()
        } else {
            0
        }
    }
}

/// As the bytes are sorted. Most keys differ in their first eight, the tree and the first part.
impl Ord for TreeKey {
    fn cmp(&self, other: &TreeKey) -> Ordering {
        let (own, other) = (self.bytes(), other.bytes());
        match (own.split_first_chunk(), other.split_first_chunk()) {
            (Some((first, rest)), Some((other, other_rest))) => u64::from_be_bytes(*first)
                .cmp(&u64::from_be_bytes(*other))
                .then_with(|| rest.cmp(other_rest)),
            _ => own.cmp(other),
        }
    }
}

impl PartialOrd for TreeKey {
    fn partial_cmp(&self, other: &TreeKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Borrow<[u8]> for TreeKey {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for TreeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:", self.tree())?;
        self.key()
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_by_tree_then_key() {
        let mut keys = [
            TreeKey::new(2, b""),
            TreeKey::new(1, b"b"),
            TreeKey::end_of(1),
            TreeKey::new(1, b"a"),
            TreeKey::new(1, &[0xff; 40]),
            TreeKey::new(256, b""),
        ];
        for one in &keys {
            for other in &keys {
                assert_eq!(one.cmp(other), one.bytes().cmp(other.bytes()));
            }
        }
        keys.sort();
        let trees: Vec<TreeId> = keys.iter().map(TreeKey::tree).collect();
        assert_eq!(trees, [1, 1, 1, 2, 2, 256]);
        assert_eq!(keys[0].key(), b"a");
        assert_eq!(keys[2].key(), [0xff; 40]);
        assert!(TreeKey::new(u32::MAX, &[0xfe; 40]) < TreeKey::end_of(u32::MAX));
    }
}
