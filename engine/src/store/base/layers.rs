//! Trees over others, whose rows have an older shape.
//!
//! # How it works
//!
//! A row is in one of the two trees. What is written goes to the upper one, and what the lower one had of
//! the key is removed. So a lookup asks the upper tree, then the lower one, and reshapes what it finds
//! there; a scan takes both in turn. A lower tree can itself be over another one, when
//! the definition has changed again meanwhile.
//!
//! `moving` puts rows from the trees below into the upper one, in the order of their keys. A tree that is over a third is
//! emptied first, and goes from between them; so each row of the lowest one, which has most of them, is moved once. Those are
//! not removed one by one: the layer notes up to which key it has come, what is before that counts no
//! more, and the whole tree goes in the end.
//!
//! The layers are part of the file, in a table of its own: the key is the upper tree's number, 4 bytes big
//! endian; the value is JSON of [`Layer`]. Dropping a tree drops those below it.

use super::opened::{Definition, Pair, pairs, reading};
use crate::{
    store::StoreError,
    types::{IdMap, TreeId, row::Reshape},
};
use redb::ReadTransaction;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) const LAYERS: Definition<'static> = Definition::new("layers");

/// What is below a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Layer {
    /// The tree.
    pub below: TreeId,
    /// What becomes of its rows.
    pub reshape: Reshape,
    /// Its keys before this one have been moved up.
    pub moved_to: Vec<u8>,
    /// How many those were.
    pub moved: u64,
}

/// The layer under each tree that has one.
pub(super) type Layers = IdMap<Arc<Layer>>;

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged {
        table: None,
        place: what.to_owned(),
    }
}

impl Layer {
    /// Whether what the tree below has of a key counts no more.
    pub fn is_moved(&self, key: &[u8]) -> bool {
        key < self.moved_to.as_slice()
    }
    /// Where those that count begin, at or after `low`.
    pub fn left_from<'k>(&'k self, low: &'k [u8]) -> &'k [u8] {
        low.max(self.moved_to.as_slice())
    }
    /// A row of the tree below as one of the upper tree.
    pub fn reshaped(&self, image: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut out = Vec::with_capacity(image.len() + 16);
        match self.reshape.apply(image, &mut out) {
            Ok(()) => Ok(out),
            Err(_) => Err(damaged(
                "a row does not fit the definition it was written for",
            )),
        }
    }
}

/// All of them.
pub(super) fn read(transaction: &ReadTransaction) -> Result<Layers, StoreError> {
    let pairs = reading(|| pairs(transaction, LAYERS))?;
    let layer = |(key, value): &Pair| {
        let tree = key.as_slice().try_into().ok()?;
        let layer = serde_json::from_slice(value).ok()?;
        Some((TreeId::from_be_bytes(tree), Arc::new(layer)))
    };
    let layers = pairs.iter().map(layer).collect::<Option<_>>();
    layers.ok_or_else(|| damaged("what is known of rows of an older shape cannot be read"))
}
