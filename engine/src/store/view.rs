//! The layers of the store at one moment.

use super::{Delta, StoreError, TreeKey, base::BaseSnapshot};
use crate::Seq;
use std::sync::Arc;

/// The layers: see the module's essay.
#[derive(Clone)]
pub struct View {
    /// Where commits push.
    pub active: Arc<Delta>,
    /// What a checkpoint is merging.
    pub sealed: Option<Arc<Delta>>,
    /// The rest.
    pub base: Arc<BaseSnapshot>,
}

impl View {
    /// Reads one key as of `at` (`Seq::MAX`: the newest version). The value replaces the contents
    /// of `value`. Returns whether there is one, and the Seq of the version or deletion that
    /// said so (0: it is from the Base).
    pub fn get(
        &self,
        key: &TreeKey,
        at: Seq,
        value: &mut Vec<u8>,
    ) -> Result<(bool, Seq), StoreError> {
        value.clear();
        for delta in std::iter::once(&self.active).chain(&self.sealed) {
            let found = delta.read(key.bytes(), at, |seq, version| {
                value.extend_from_slice(version.unwrap_or_default());
                (version.is_some(), seq)
            });
            if let Some(found) = found {
                return Ok(found);
            }
        }
        let found = self.base.get(key.tree(), key.key(), |bytes| {
            value.extend_from_slice(bytes);
        })?;
        Ok((found.is_some(), 0))
    }
    /// Whether everything is in the Base.
    #[must_use]
    pub fn deltas_empty(&self) -> bool {
        self.active.is_empty() && self.sealed.is_none()
    }
    /// Whether both name the same layers.
    #[must_use]
    pub fn same(&self, other: &View) -> bool {
        Arc::ptr_eq(&self.active, &other.active) && Arc::ptr_eq(&self.base, &other.base)
    }
}
