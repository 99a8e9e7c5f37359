//! A transaction's own rows in its plain scans of indexes.
//!
//! A row is written on top of its newest version, plain reads come from the snapshot, and own
//! changes lie over it. For rows that is all. But a change leaves alone the entries of indexes
//! whose columns stay the same, and these are those of the newest version: if that one is newer
//! than the snapshot, the entries are not in it, or others are. So the rows that were changed on
//! top of a version that the snapshot does not see are noted, which is rare, and a plain scan of
//! an index puts the entries of these right: from what the snapshot has to what the row is now.

use super::{
    TxnError,
    entry::Entry,
    snapshot::Snapshot,
    transaction::{TreeKind, Txn},
};
use crate::{
    store::{Overlay, TreeKey, Window},
    types::{Index, Table},
};
use std::sync::Arc;

impl Txn {
    /// To be called before a row changes, or comes where `before` is `None`.
    pub(super) fn note_newer(
        &mut self,
        table: &Table,
        key: &[u8],
        before: Option<&[u8]>,
    ) -> Result<(), TxnError> {
        if table.indexes.is_empty() || table.is_temporary() {
            return Ok(());
        }
        let row = TreeKey::new(table.rows, key);
        let differs = match &self.snapshot {
            // The first plain read takes the snapshot of what is visible then.
            None => self.has_read_newer(),
            Some(snapshot) => {
                let mut seen = Vec::new();
                let (exists, _) = snapshot.view.get(&row, snapshot.seq, &mut seen)?;
                exists.then_some(seen.as_slice()) != before
            }
        };
        // What was changed before was noted then.
        if differs && !self.with_overlay(row.tree(), |own| own.contains_key(&row)) {
            self.newer.push(row);
        }
        Ok(())
    }
    /// Own changes in a window of an index, as a plain scan has to see them. `None`: as they are.
    pub(super) fn own_entries(&mut self, window: &Window) -> Result<Option<Overlay>, TxnError> {
        if self.newer.is_empty() {
            return Ok(None);
        }
        let TreeKind::Entries(table, place) = self.tree_kind(window.low.tree()) else {
            return Ok(None);
        };
        let Some(index) = table.indexes.get(place) else {
            return Ok(None);
        };
        let snapshot = self.snapshot().clone();
        let mut entries = Overlay::new();
        for row in self.newer.iter().filter(|row| row.tree() == table.rows) {
            let own = self.with_overlay(row.tree(), |own| own.get(row).cloned());
            if let Some(own) = own {
                correct(&table, index, row, &snapshot, own.as_deref(), &mut entries)?;
            }
        }
        entries.retain(|key, _| *key >= window.low && *key < window.high);
        self.with_overlay(index.tree, |own| {
            let own = own.range::<TreeKey, _>(&window.low..&window.high);
            entries.extend(own.map(|(key, value)| (key.clone(), value.clone())));
        });
        Ok(Some(entries))
    }
}

/// Adds what leads from the entries that the snapshot has of a row to those it has now.
fn correct(
    table: &Table,
    index: &Index,
    row: &TreeKey,
    snapshot: &Snapshot,
    own: Option<&[u8]>,
    entries: &mut Overlay,
) -> Result<(), TxnError> {
    let mut seen = Vec::new();
    if snapshot.view.get(row, snapshot.seq, &mut seen)?.0 {
        for entry in Entry::derive(table, index, &seen, row.key())? {
            entries.insert(TreeKey::new(index.tree, &entry.key), None);
        }
    }
    if let Some(image) = own {
        for entry in Entry::derive(table, index, image, row.key())? {
            entries.insert(TreeKey::new(index.tree, &entry.key), Some(Arc::from([])));
        }
    }
    Ok(())
}
