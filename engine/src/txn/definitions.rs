//! The data dictionary twice: as sessions see it, and as the newest statement in the log leaves it.

use super::dictionary::Dictionary;
use crate::Seq;
use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use std::sync::Arc;

/// The two. They differ only while a DDL statement is in the log and not yet visible, and one
/// does that at a time.
pub(super) struct Definitions {
    /// As of the last Seq placed in the log; replaced inside the log's critical section.
    placed: Mutex<Arc<Dictionary>>,
    /// What sessions see: replaced just before the statement becomes visible, so that whoever has
    /// seen its number, or its GTID, finds what it defined.
    published: ArcSwap<Dictionary>,
}

impl Definitions {
    pub(super) fn new(dictionary: Dictionary) -> Arc<Definitions> {
        let dictionary = Arc::new(dictionary);
        Arc::new(Definitions {
            placed: Mutex::new(Arc::clone(&dictionary)),
            published: ArcSwap::new(dictionary),
        })
    }

    /// What sessions see.
    pub(super) fn load(&self) -> Guard<Arc<Dictionary>> {
        self.published.load()
    }

    /// The same, to keep.
    pub(super) fn load_full(&self) -> Arc<Dictionary> {
        self.published.load_full()
    }

    /// As the newest statement in the log leaves it.
    pub(super) fn placed(&self) -> Arc<Dictionary> {
        Arc::clone(&self.placed.lock())
    }

    /// A statement has its number.
    pub(super) fn place(&self, mut after: Dictionary, seq: Seq) -> Arc<Dictionary> {
        after.stamp(seq);
        let after = Arc::new(after);
        *self.placed.lock() = Arc::clone(&after);
        after
    }

    /// The statement that was placed last becomes visible.
    pub(super) fn publish(&self) {
        self.published.store(self.placed());
    }
}
