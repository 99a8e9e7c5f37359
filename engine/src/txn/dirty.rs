//! Uncommitted changes for READ UNCOMMITTED.
//!
//! Write sets are private: nobody else looks at them, so they need no lock. Only while a
//! transaction of that isolation level exists do the others publish here what they change, when
//! they change it. A change that was made before the first such transaction began, by one that
//! changes nothing more, is not seen, which the level allows. Since a key is changed only by who
//! holds its row's lock, it has one uncommitted version at most.

use super::descriptor::Descriptor;
use crate::store::{Overlay, TreeKey, Window};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

struct Change {
    by: Arc<Descriptor>,
    value: Option<Arc<[u8]>>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Uncommitted {
    readers: AtomicUsize,
    changes: Mutex<BTreeMap<TreeKey, Change>>,
}

impl Uncommitted {
    /// A transaction that wants to see them begins.
    pub fn enter(&self) {
        self.readers.fetch_add(1, Ordering::SeqCst);
    }
    /// It ends.
    pub fn leave(&self) {
        self.readers.fetch_sub(1, Ordering::SeqCst);
    }
    /// Whether anybody wants to see them.
    pub fn is_wanted(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
    }
    /// Publishes one change.
    pub fn publish(&self, by: &Arc<Descriptor>, key: &TreeKey, value: Option<&Arc<[u8]>>) {
        let change = Change {
            by: Arc::clone(by),
            value: value.cloned(),
        };
        self.changes.lock().insert(key.clone(), change);
    }
    /// Replaces all that a transaction has published.
    pub fn replace(&self, by: &Arc<Descriptor>, overlay: &Overlay) {
        self.withdraw(by);
        for (key, value) in overlay {
            self.publish(by, key, value.as_ref());
        }
    }
    /// Withdraws all that a transaction has published.
    pub fn withdraw(&self, by: &Arc<Descriptor>) {
        let mut changes = self.changes.lock();
        changes.retain(|_, change| !Arc::ptr_eq(&change.by, by));
    }
    /// The uncommitted version of a key: its value, or (`None` inside) its deletion.
    pub fn get(&self, key: &TreeKey) -> Option<Option<Arc<[u8]>>> {
        let changes = self.changes.lock();
        changes.get(key).map(|change| change.value.clone())
    }
    /// The uncommitted versions in a window, hidden by those of `own`.
    pub fn overlay(&self, window: &Window, own: &Overlay) -> Overlay {
        if window.is_empty() {
            return Overlay::new();
        }
        let bounds = (Bound::Included(&window.low), Bound::Excluded(&window.high));
        let changes = self.changes.lock();
        let others = changes.range::<TreeKey, _>(bounds);
        let mut overlay: Overlay = others
            .map(|(key, change)| (key.clone(), change.value.clone()))
            .collect();
        let own = own.range::<TreeKey, _>(bounds);
        overlay.extend(own.map(|(key, value)| (key.clone(), value.clone())));
        overlay
    }
}
