//! Merging a sealed delta into the Base.

use super::{
    Delta, StoreError,
    base::{BaseWrite, TreeWriter},
};
use crate::types::TreeId;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes the newest version of each key of a sealed delta, in key order, leaving out trees that
/// are not `wanted` (they were dropped). `progress` counts the keys done.
pub fn merge(
    delta: &Delta,
    write: &BaseWrite,
    wanted: impl Fn(TreeId) -> bool,
    progress: &AtomicU64,
) -> Result<(), StoreError> {
    let mut current: Option<(TreeId, Option<TreeWriter<'_>>)> = None;
    for item in delta.newest() {
        let tree = item.key().tree();
        if !matches!(&current, Some((open, _)) if *open == tree) {
            // The writer before is closed first: redb allows one per table.
            drop(current.take());
            let writer = if wanted(tree) {
                Some(write.tree(tree)?)
            } else {
                None
            };
            current = Some((tree, writer));
        }
        if let Some((_, Some(writer))) = &mut current {
            match &item.value {
                Some(value) => writer.put(item.key().key(), value)?,
                None => writer.remove(item.key().key())?,
            }
        }
        progress.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
