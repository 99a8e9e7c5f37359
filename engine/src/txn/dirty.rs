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
    /// The first uncommitted versions of a window in its direction, and the first part of the window,
    /// which has no others. Of each transaction there are `most` at most: a scan of many batches
    /// copies each of them once.
    pub fn uncommitted_in(&self, window: &Window, most: usize) -> (Overlay, Window) {
        let mut found = Overlay::new();
        let mut part = window.clone();
        for descriptor in self.all() {
            if descriptor.changes.load(Ordering::Relaxed) == 0 || part.is_empty() {
                continue;
            }
            let overlay = descriptor.overlay.lock();
            let bounds = (Bound::Included(&part.low), Bound::Excluded(&part.high));
            let mut changes = overlay.range::<TreeKey, _>(bounds);
            for count in 0.. {
                let next = match window.reverse {
                    true => changes.next_back(),
                    false => changes.next(),
                };
                match next {
                    None => break,
                    Some((key, _)) if count == most => {
                        match window.reverse {
                            true => part.low = key.clone().successor(),
                            false => part.high = key.clone(),
                        }
                        break;
                    }
                    Some((key, value)) => drop(found.insert(key.clone(), value.clone())),
                }
            }
        }
        (found, part)
    }
}
