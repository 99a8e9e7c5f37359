//! A range that several threads read at the same time: its parts, and for each thread a transaction
//! that sees what the statement's own one sees.

use super::{
    Read, TxnError, owner::Owner, statistics::evenly_spread, transaction::Txn, waiting::Unattended,
};
use crate::{
    store::{Batch, KeyRange},
    types::TreeId,
};
use std::sync::Arc;

impl Txn {
    /// A transaction for another thread, which only reads plainly, and sees what this one's plain reads
    /// see as long as this one lives. `None`: it sees what others do not, its own changes or what is not
    /// committed.
    pub fn reader(&mut self) -> Option<Txn> {
        if self.has_changes() || self.reads_uncommitted() {
            return None;
        }
        let owner = Owner::new(self.owner.session, Arc::new(Unattended));
        let mut reader = Txn::new(&self.engine, &owner, self.options);
        // What it needs is kept for this one.
        reader.snapshot = Some(self.snapshot().clone());
        reader.unreadable.clone_from(&self.unreadable);
        Some(reader)
    }

    /// Cuts a range of a tree into so many parts at most, in order. They are as large as one another
    /// where keys, taken for numbers, are evenly spread.
    pub fn parts(
        &mut self,
        tree: TreeId,
        range: &KeyRange,
        most: usize,
    ) -> Result<Vec<KeyRange>, TxnError> {
        let (first, last) = (
            self.end_key(tree, range, false)?,
            self.end_key(tree, range, true)?,
        );
        let (Some(first), Some(last)) = (first, last) else {
            return Ok(vec![range.clone()]);
        };
        let mut parts = Vec::new();
        let mut low = range.low.clone();
        for place in evenly_spread(&first, &last, most) {
            if place > low && place < last {
                parts.push(KeyRange {
                    low: std::mem::replace(&mut low, place.clone()),
                    high: Some(place),
                });
            }
        }
        parts.push(KeyRange {
            low,
            high: range.high.clone(),
        });
        Ok(parts)
    }

    /// The first key of a range, or the last.
    ///
    /// # Errors
    ///
    /// As reading does.
    pub fn end_key(
        &mut self,
        tree: TreeId,
        range: &KeyRange,
        last: bool,
    ) -> Result<Option<Vec<u8>>, TxnError> {
        let mut batch = Batch::default();
        let mut scan = self.scan(tree, range.clone(), last, Read::Plain);
        scan.next(self, &mut batch, 1)?;
        Ok((!batch.is_empty()).then(|| batch.get(0).0.to_vec()))
    }
}
