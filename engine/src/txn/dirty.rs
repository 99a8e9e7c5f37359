//! Uncommitted changes, for READ UNCOMMITTED: those of all transactions, found through their
//! descriptors. Since a key is changed only by who holds its row's lock, it has one uncommitted
//! version at most.
//!
//! A transaction's changes go from its descriptor into the store while the descriptor's overlay is
//! locked. So who looks here first, and only then for the newest version in the store, misses
//! nothing in between.

use super::descriptor::Registry;
use crate::store::{Overlay, TreeKey, Window};
use std::{
    ops::Bound,
    sync::{Arc, atomic::Ordering},
};

impl Registry {
    /// The uncommitted version of a key: its value, or (`None` inside) its deletion.
    pub fn uncommitted(&self, key: &TreeKey) -> Option<Option<Arc<[u8]>>> {
        self.all().iter().find_map(|descriptor| {
            let changed = descriptor.changes.load(Ordering::Relaxed) > 0;
            changed.then(|| descriptor.overlay.lock().get(key).cloned())?
        })
    }
    /// All uncommitted versions in a window.
    pub fn uncommitted_in(&self, window: &Window) -> Overlay {
        let mut found = Overlay::new();
        if window.is_empty() {
            return found;
        }
        let bounds = (Bound::Included(&window.low), Bound::Excluded(&window.high));
        for descriptor in self.all() {
            if descriptor.changes.load(Ordering::Relaxed) > 0 {
                let overlay = descriptor.overlay.lock();
                let changes = overlay.range::<TreeKey, _>(bounds);
                found.extend(changes.map(|(key, value)| (key.clone(), value.clone())));
            }
        }
        found
    }
}
