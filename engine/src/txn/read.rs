//! Reading in a transaction: plain reads from the snapshot, locking reads of the newest versions.

use super::{
    LockMode, OnConflict, Read, TxnError,
    entry::{has_null, row_key_start, successor},
    transaction::{TreeKind, Txn},
};
use crate::{
    Seq,
    store::{Batch, Cursor, KeyRange, TreeKey, View, Window},
    types::{TreeId, is_temporary, key},
};
use std::sync::Arc;

impl Txn {
    /// One row or index entry by its whole key. The value replaces the contents of `value`;
    /// false if there is none.
    pub fn get(
        &mut self,
        tree: TreeId,
        key: &[u8],
        read: Read,
        value: &mut Vec<u8>,
    ) -> Result<bool, TxnError> {
        match read {
            Read::Plain => self.get_plain(&TreeKey::new(tree, key), value),
            Read::Newest => self.get_newest(&TreeKey::new(tree, key), value),
            Read::Locking(mode, conflict) => self.get_locking(tree, key, mode, conflict, value),
        }
    }
    fn get_own(&mut self, key: &TreeKey, value: &mut Vec<u8>) -> Option<bool> {
        if let Some(temporary) = self.temporary(key.tree()) {
            let own = temporary.with_rows(|rows| rows.get(key).cloned().flatten());
            value.clear();
            value.extend_from_slice(own.as_deref().unwrap_or_default());
            self.note_own_read();
            return Some(own.is_some());
        }
        if !self.has_changes() {
            return None;
        }
        let overlay = self.descriptor.overlay.lock();
        let own = overlay.get(key)?;
        value.clear();
        value.extend_from_slice(own.as_deref().unwrap_or_default());
        let exists = own.is_some();
        drop(overlay);
        self.note_own_read();
        Some(exists)
    }
    /// Fails with `TableChanged` if a tree is of an index that was built after the snapshot was taken.
    pub(super) fn check_readable(&self, tree: TreeId) -> Result<(), TxnError> {
        match self.unreadable.contains(&tree) {
            true => Err(TxnError::TableChanged),
            false => Ok(()),
        }
    }
    fn get_plain(&mut self, key: &TreeKey, value: &mut Vec<u8>) -> Result<bool, TxnError> {
        if !self.reads_uncommitted() {
            // The first plain read takes it, also one that finds an own row and does not need it:
            // what is read next is what was there then.
            self.take_snapshot();
            self.check_readable(key.tree())?;
        }
        if let Some(exists) = self.get_own(key, value) {
            return Ok(exists);
        }
        if self.reads_uncommitted() {
            if let Some(uncommitted) = self.engine.registry.uncommitted(key) {
                value.clear();
                value.extend_from_slice(uncommitted.as_deref().unwrap_or_default());
                return Ok(uncommitted.is_some());
            }
            let (exists, seq) = self.engine.views.load().get(key, Seq::MAX, value)?;
            self.note_read(seq);
            return Ok(exists);
        }
        let snapshot = self.snapshot();
        let (exists, _) = snapshot.view.get(key, snapshot.seq, value)?;
        Ok(exists)
    }
    /// The version of a row that everyone can see by now, which the transaction need not see
    /// itself: see `disregard_read`.
    pub fn get_visible(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<bool, TxnError> {
        let (view, seq) = self.engine.visible_view();
        let (exists, _) = view.get(&TreeKey::new(tree, key), seq, value)?;
        Ok(exists)
    }
    /// The newest version, own changes included, of a key whose lock is held.
    pub(super) fn get_newest(
        &mut self,
        key: &TreeKey,
        value: &mut Vec<u8>,
    ) -> Result<bool, TxnError> {
        if let Some(exists) = self.get_own(key, value) {
            return Ok(exists);
        }
        let view = self.engine.views.load();
        let (exists, seq) = view.get(key, Seq::MAX, value)?;
        drop(view);
        self.note_read(seq);
        Ok(exists)
    }
    fn get_locking(
        &mut self,
        tree: TreeId,
        key: &[u8],
        mode: LockMode,
        conflict: OnConflict,
        value: &mut Vec<u8>,
    ) -> Result<bool, TxnError> {
        let before = self.locks_held();
        if !self.lock(tree, key, mode, conflict)? {
            return Ok(false);
        }
        let exists = self.get_newest(&TreeKey::new(tree, key), value)?;
        if !exists && !self.with_overlay(tree, |own| own.contains_key(&TreeKey::new(tree, key))) {
            // Nothing to lock but the place where it would be.
            if !self.reads_committed() {
                let mut high = key.to_vec();
                high.push(0);
                self.lock_range(tree, key, Some(&high), OnConflict::Skip)?;
            }
            self.release_since(before);
        }
        Ok(exists)
    }
    /// Begins a scan of `range` of a tree, backwards if `reverse`. A locking scan of an index
    /// locks ranges of the index and the rows that its entries belong to; `get` those rows with
    /// the same `read`.
    pub fn scan(&mut self, tree: TreeId, range: KeyRange, reverse: bool, read: Read) -> Scan {
        let kind = match read {
            Read::Plain | Read::Newest => TreeKind::Rows,
            Read::Locking(..) => self.tree_kind(tree),
        };
        let window = Window::new(tree, &range.low, range.high.as_deref(), reverse);
        Scan {
            unique_point: is_unique_point(&kind, &range),
            kind,
            whole: window.clone(),
            window,
            read,
            returned: Vec::new(),
            held: Vec::new(),
            cursor: None,
            ahead: Batch::default(),
        }
    }
}

/// Whether the range can hold at most one entry of a unique index.
fn is_unique_point(kind: &TreeKind, range: &KeyRange) -> bool {
    let Some((table, index)) = kind.index().filter(|(_, index)| index.unique) else {
        return false;
    };
    let whole = key::parts_length(table, index, index.parts.len(), &range.low)
        .is_ok_and(|length| length == range.low.len());
    let ends = match (&range.high, successor(&range.low)) {
        (Some(high), Some(end)) => *high <= end,
        (_, None) => true,
        (None, _) => false,
    };
    whole && ends && !has_null(table, index, &range.low)
}

/// What became of an entry that a locking scan saw.
enum Locked {
    /// Its row is locked, and it is there.
    There,
    /// It is not there any more.
    Gone,
    /// Others have its row locked, and the caller does not wait.
    Skipped,
}

/// A position in a scan. It borrows nothing: pass the transaction to every step.
pub struct Scan {
    /// What it is a scan of.
    whole: Window,
    /// What is left of it.
    window: Window,
    read: Read,
    kind: TreeKind,
    unique_point: bool,
    /// For plain reads: its place in the layers.
    cursor: Option<Cursor>,
    /// For locking reads: what was there before the locks were taken.
    ahead: Batch,
    /// For locking reads of an index: the entry that was returned last.
    returned: Vec<u8>,
    /// For locking reads: how many locks there were after each row that was returned.
    held: Vec<usize>,
}

impl Scan {
    /// Replaces the contents of `batch` with the next rows, at most `limit` of them; an empty
    /// batch is the end. A locking scan locks each row (and, from REPEATABLE READ up, the range
    /// it passed) before it returns it, and returns the version it locked.
    pub fn next(&mut self, txn: &mut Txn, batch: &mut Batch, limit: usize) -> Result<(), TxnError> {
        batch.clear();
        if limit == 0 {
            return Ok(());
        }
        match self.read {
            Read::Plain => self.next_plain(txn, batch, limit),
            Read::Newest => {
                let view = txn.engine.views.load_full();
                self.window = self.look_ahead(txn, &view, self.window.clone(), limit)?;
                std::mem::swap(batch, &mut self.ahead);
                Ok(())
            }
            Read::Locking(mode, conflict) => {
                while batch.is_empty() && !self.window.is_empty() {
                    self.next_locking(txn, batch, limit, mode, conflict)?;
                }
                Ok(())
            }
        }
    }
    fn next_plain(
        &mut self,
        txn: &mut Txn,
        batch: &mut Batch,
        limit: usize,
    ) -> Result<(), TxnError> {
        let tree = self.window.low.tree();
        if txn.reads_uncommitted() && !is_temporary(tree) {
            // A part of which all is deleted is not the end.
            while batch.is_empty() && !self.window.is_empty() {
                let registry = &txn.engine.registry;
                let (overlay, part) = registry.uncommitted_in(&self.window, limit);
                let view = txn.engine.views.load_full();
                let mut cursor = Cursor::new(view, Seq::MAX, part.clone());
                let newest = cursor.next(&overlay, batch, limit)?;
                txn.note_read(newest);
                self.window.go_on_behind(&part, cursor.window());
            }
        } else {
            txn.check_readable(tree)?;
            let window = &self.window;
            let cursor = self.cursor.get_or_insert_with(|| {
                let snapshot = txn.snapshot();
                Cursor::new(Arc::clone(&snapshot.view), snapshot.seq, window.clone())
            });
            txn.note_own_in(cursor.window());
            match txn.own_entries(cursor.window())? {
                Some(own) => cursor.next(&own, batch, limit)?,
                None => txn.with_overlay(tree, |overlay| cursor.next(overlay, batch, limit))?,
            };
        }
        Ok(())
    }
    /// Reads ahead, locks the range passed, reads again what is in it by now, then locks the
    /// rows one by one and returns their newest versions.
    fn next_locking(
        &mut self,
        txn: &mut Txn,
        batch: &mut Batch,
        limit: usize,
        mode: LockMode,
        conflict: OnConflict,
    ) -> Result<(), TxnError> {
        let mut view = txn.engine.views.load_full();
        let mut rest = self.look_ahead(txn, &view, self.window.clone(), limit)?;
        let point_found = self.unique_point && self.ahead.len() == 1;
        if !txn.reads_committed() && !point_found {
            let passed = self.passed(&rest);
            let tree = passed.low.tree();
            let high = (passed.high.tree() == tree).then(|| passed.high.key());
            // Behind the first row nobody is waited for.
            if limit > 1 && txn.has_pending(tree, passed.low.key(), high)? {
                return self.next_locking(txn, batch, 1, mode, conflict);
            }
            txn.lock_range(tree, passed.low.key(), high, conflict)?;
            view = txn.engine.views.load_full();
            let rest_inside = self.look_ahead(txn, &view, passed, limit)?;
            if !rest_inside.is_empty() {
                // More has come into the range than the caller wants now.
                rest = self.window.clone();
                if self.window.reverse {
                    rest.high = rest_inside.high;
                } else {
                    rest.low = rest_inside.low;
                }
            }
        }
        if txn.reads_committed() && !point_found && conflict != OnConflict::Skip {
            let passed = self.passed(&rest);
            if self.wait_for_inserts(txn, &passed, conflict)? {
                view = txn.engine.views.load_full();
                rest = self.look_ahead(txn, &view, self.window.clone(), limit)?;
            }
        }
        let ahead = std::mem::take(&mut self.ahead);
        let mut value = Vec::new();
        let changed = txn.has_changed(self.window.low.tree());
        let known = (!changed).then_some(&view);
        self.held.clear();
        for row in 0..ahead.len() {
            let (key, seen) = ahead.get(row);
            let first = batch.is_empty();
            let patience = if first { conflict } else { OnConflict::Skip };
            match self.lock_row(txn, known, key, seen, &mut value, mode, patience)? {
                Locked::There => {
                    batch.push(key, &value);
                    self.held.push(txn.locks_held());
                    if self.kind.index().is_some() {
                        self.returned.clear();
                        self.returned.extend_from_slice(key);
                    }
                }
                Locked::Skipped if conflict != OnConflict::Skip => {
                    rest = self.from(key);
                    break;
                }
                Locked::Skipped => {}
                Locked::Gone => {
                    if let Some(again) = self.again_from(key)? {
                        rest = again;
                        break;
                    }
                }
            }
        }
        self.ahead = ahead;
        self.window = rest;
        Ok(())
    }
    /// Without range locks, a row that somebody is about to add is waited for like any other
    /// locked row. Waits for the inserts that others have begun in `passed` by now; false if there
    /// were none.
    fn wait_for_inserts(
        &self,
        txn: &mut Txn,
        passed: &Window,
        conflict: OnConflict,
    ) -> Result<bool, TxnError> {
        let tree = passed.low.tree();
        let high = (passed.high.tree() == tree).then(|| passed.high.key());
        let mut pending = txn.pending_inserts(tree, passed.low.key(), high, conflict)?;
        if pending.is_empty() {
            return Ok(false);
        }
        // Locks of rows that are there already are met when these are locked.
        let mut there: Vec<&[u8]> = (0..self.ahead.len()).map(|i| self.ahead.get(i).0).collect();
        there.sort_unstable();
        pending.retain(|name| {
            let next = there.get(there.partition_point(|key| *key < name.as_slice()));
            !next.is_some_and(|key| key.starts_with(name))
        });
        for name in &pending {
            txn.wait_for(tree, name, conflict)?;
        }
        Ok(!pending.is_empty())
    }
    /// Fills `ahead` from `window`; returns what is left of it.
    fn look_ahead(
        &mut self,
        txn: &mut Txn,
        view: &Arc<View>,
        window: Window,
        limit: usize,
    ) -> Result<Window, TxnError> {
        self.ahead.clear();
        txn.note_own_in(&window);
        let mut cursor = Cursor::new(Arc::clone(view), Seq::MAX, window);
        let tree = self.window.low.tree();
        let ahead = &mut self.ahead;
        let newest = txn.with_overlay(tree, |overlay| cursor.next(overlay, ahead, limit))?;
        txn.note_read(newest);
        Ok(cursor.window().clone())
    }
    /// The part of the window that is not in `rest`.
    fn passed(&self, rest: &Window) -> Window {
        let mut passed = self.window.clone();
        if rest.is_empty() {
            return passed;
        }
        if passed.reverse {
            passed.low = rest.high.clone();
        } else {
            passed.high = rest.low.clone();
        }
        passed
    }
    /// Gives back the locks of the rows that were returned after the one at `row`: something went wrong
    /// there, and they are not looked at.
    pub fn release_after(&self, txn: &mut Txn, row: usize) {
        if let (Some(from), Some(to)) = (self.held.get(row), self.held.last()) {
            txn.release_between(*from, *to);
        }
    }
    /// What is left from an entry on, itself included.
    fn from(&self, key: &[u8]) -> Window {
        let mut rest = self.window.clone();
        let tree = rest.low.tree();
        if rest.reverse {
            rest.high = TreeKey::new(tree, &[key, &[0]].concat());
        } else {
            rest.low = TreeKey::new(tree, key);
        }
        rest
    }
    /// Where to look again after an entry that was gone when its row was locked: whoever took a
    /// value out of a unique index may have given it to another row, whose entry may lie before
    /// what the scan looks at now. `None`: nothing can have come that the scan does not meet
    /// anyway, or has met.
    fn again_from(&self, key: &[u8]) -> Result<Option<Window>, TxnError> {
        let Some((table, index)) = self.kind.index().filter(|(_, index)| index.unique) else {
            return Ok(None);
        };
        let start = row_key_start(table, index, key)?;
        let parts = key.get(..start).unwrap_or_default();
        if has_null(table, index, parts) || self.returned.starts_with(parts) {
            return Ok(None);
        }
        let mut again = self.window.clone();
        let tree = again.low.tree();
        if again.reverse {
            let end = successor(parts).map(|end| TreeKey::new(tree, &end));
            let whole = &self.whole.high;
            again.high = end.map_or_else(|| whole.clone(), |end| end.min(whole.clone()));
        } else {
            again.low = TreeKey::new(tree, parts).max(self.whole.low.clone());
        }
        Ok(Some(again))
    }
    /// Locks the row of an entry and reads the entry's newest version. It was `seen` in `view`, if
    /// that says anything.
    #[expect(clippy::too_many_arguments, reason = "one step of one loop")]
    fn lock_row(
        &self,
        txn: &mut Txn,
        view: Option<&Arc<View>>,
        key: &[u8],
        seen: &[u8],
        value: &mut Vec<u8>,
        mode: LockMode,
        conflict: OnConflict,
    ) -> Result<Locked, TxnError> {
        let tree = self.window.low.tree();
        let (row_tree, row_key) = match self.kind.index() {
            None => (tree, key),
            Some((table, index)) => {
                let start = row_key_start(table, index, key)?;
                (table.rows, key.get(start..).unwrap_or_default())
            }
        };
        let before = txn.locks_held();
        if !txn.lock(row_tree, row_key, mode, conflict)? {
            return Ok(Locked::Skipped);
        }
        if read_locked(txn, view, &TreeKey::new(tree, key), seen, value)? {
            return Ok(Locked::There);
        }
        // The place may be vacant, and in the range lock of one who has seen that.
        txn.release_since(before);
        Ok(Locked::Gone)
    }
}

/// The newest version of a key whose lock is held now. It was `seen` in `view` before, in a tree that
/// the transaction has not changed.
fn read_locked(
    txn: &mut Txn,
    view: Option<&Arc<View>>,
    key: &TreeKey,
    seen: &[u8],
    value: &mut Vec<u8>,
) -> Result<bool, TxnError> {
    let now = txn.engine.views.load_full();
    if view.is_none_or(|view| !now.same(view)) {
        return txn.get_newest(key, value);
    }
    if let Some((exists, seq)) = now.get_recent(key, Seq::MAX, value) {
        txn.note_read(seq);
        return Ok(exists);
    }
    // Nothing was committed there since: what was seen came from the Base and is there still.
    value.extend_from_slice(seen);
    Ok(true)
}
