//! Trees are put over others, and rows moved up.

use super::{
    layers::Layer,
    opened::Pair,
    snapshot::BaseSnapshot,
    write::{BaseWrite, TreeWriter},
};
use crate::{
    store::StoreError,
    types::{TreeId, row::Reshape},
};
use std::ops::Bound;

/// Rows that go up together.
#[derive(Default)]
pub struct Moving {
    /// With the shape that they are to have.
    rows: Vec<Pair>,
    /// There are no more where they come from.
    is_end: bool,
}

impl BaseSnapshot {
    /// The next rows of about so many bytes that are to be moved up to a tree, from the one right below it; `None`: there
    /// is none.
    pub fn next_to_move(&self, tree: TreeId, bytes: usize) -> Result<Option<Moving>, StoreError> {
        let Some(layer) = self.layer(tree) else {
            return Ok(None);
        };
        let mut range = self.stored_range(layer.below, layer.left_from(&[]), None)?;
        let (mut moving, mut length) = (Moving::default(), 0);
        while length < bytes {
            let Some(item) = range.next_not_taken(false, |_, _| false)? else {
                moving.is_end = true;
                break;
            };
            let row = (item.key().to_vec(), layer.reshaped(item.value())?);
            length += row.0.len() + row.1.len();
            moving.rows.push(row);
        }
        Ok(Some(moving))
    }
}

impl BaseWrite<'_> {
    /// Puts a new tree over one of rows, of which `reshape` makes those of the new tree. Until the
    /// definition says so, the one below can be read and written as before.
    pub fn put_over(
        &self,
        tree: TreeId,
        below: TreeId,
        reshape: &Reshape,
    ) -> Result<(), StoreError> {
        self.drop_tree(tree)?;
        self.put_layer(
            tree,
            Layer {
                below,
                reshape: reshape.clone(),
                moved_to: Vec::new(),
                moved: 0,
            },
        )
    }
    /// Takes a tree off the one below, if it is over one: they have nothing to do with each other any more.
    pub fn take_off(&self, tree: TreeId) -> Result<(), StoreError> {
        self.remove_layer(tree).map(|_| ())
    }
    /// Moves rows up that the last snapshot has next.
    pub fn move_up(&self, tree: TreeId, moving: &Moving) -> Result<(), StoreError> {
        let layer = self.layer(tree);
        let layer = layer.expect("rows are moved up from a tree below");
        self.stored_tree(tree)?.weave(&moving.rows)?;
        match self.layer(layer.below) {
            Some(lower) => self.take_out(tree, &layer, &lower, moving),
            None => self.come_up(tree, &layer, moving),
        }
    }
    /// Rows have been moved up from the lowest tree: in the end it goes.
    fn come_up(&self, tree: TreeId, layer: &Layer, moving: &Moving) -> Result<(), StoreError> {
        if moving.is_end {
            self.take_off(tree)?;
            return self.drop_tree(layer.below);
        }
        let Some((last, _)) = moving.rows.last() else {
            return Ok(());
        };
        let mut moved_to = last.clone();
        moved_to.push(0);
        let moved = layer.moved + moving.rows.len() as u64;
        let layer = Layer {
            moved_to,
            moved,
            ..layer.clone()
        };
        self.put_layer(tree, layer)
    }
    /// Rows have been moved up from a tree that is over a third: in the end it goes from between them.
    fn take_out(
        &self,
        tree: TreeId,
        layer: &Layer,
        lower: &Layer,
        moving: &Moving,
    ) -> Result<(), StoreError> {
        assert_eq!(layer.moved, 0, "only the lowest tree keeps what was moved");
        let mut between = self.stored_tree(layer.below)?;
        for (key, _) in &moving.rows {
            between.remove(key)?;
        }
        drop(between);
        if !moving.is_end {
            return Ok(());
        }
        self.take_off(layer.below)?;
        self.drop_tree(layer.below)?;
        let layer = Layer {
            reshape: lower.reshape.then(&layer.reshape),
            ..lower.clone()
        };
        self.put_layer(tree, layer)
    }
}

impl TreeWriter<'_> {
    /// Puts entries that the tree itself has not, in the order of their keys, among those it has.
    fn weave(&mut self, entries: &[Pair]) -> Result<(), StoreError> {
        let Some((first, _)) = entries.first() else {
            return Ok(());
        };
        let table = &mut self.table;
        let bytes = entries.iter().map(|(key, value)| key.len() + value.len());
        let bytes: usize = bytes.sum();
        self.write.makes(bytes);
        self.write.call(self.tree, || {
            let failed = |error: redb::StorageError| error.to_string();
            let place = Bound::Included(first.as_slice());
            let mut cursor = table.lower_bound_mut(place).map_err(failed)?;
            for (key, value) in entries {
                let is_before = |cursor: &mut redb::CursorMut<'_, _, _>| {
                    let next: Option<(redb::AccessGuard<'_, &'static [u8]>, _)> =
                        cursor.peek_next().map_err(failed)?;
                    let before = next.is_some_and(|(next, _)| next.value() < key.as_slice());
                    Ok::<bool, String>(before)
                };
                while is_before(&mut cursor)? {
                    cursor.next().map_err(failed)?;
                }
                let put = cursor.insert_before(key.as_slice(), value.as_slice());
                put.map_err(|error| error.to_string())?;
            }
            cursor.close().map_err(failed)
        })
    }
}

#[cfg(test)]
mod tests;
