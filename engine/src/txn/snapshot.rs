//! What plain reads see.

use super::{descriptor::Descriptor, engine::Inner};
use crate::{Seq, store::View};
use std::sync::Arc;

/// A view of the layers, and the newest commit that counts in it.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub view: Arc<View>,
    pub seq: Seq,
}

impl Inner {
    /// Takes a snapshot of everything visible. The view may be replaced at any time, and the
    /// pruner may pass; then it is taken again.
    pub fn snapshot(&self, descriptor: &Descriptor) -> Snapshot {
        loop {
            let view = self.views.load_full();
            let seq = self.log.visible();
            if descriptor.publish_snapshot(seq) && Arc::ptr_eq(&view, &self.views.load()) {
                return Snapshot { view, seq };
            }
        }
    }
    /// The layers and a Seq that everyone can see, good for reading a newest visible version.
    /// It is not registered, so older versions may go: a version at or below the Seq stays.
    pub fn visible_view(&self) -> (Arc<View>, Seq) {
        loop {
            let view = self.views.load_full();
            let seq = self.log.visible();
            if Arc::ptr_eq(&view, &self.views.load()) {
                return (view, seq);
            }
        }
    }
}
