//! Since when a table can be read, and each of its indexes: see `Table::since` and `Table::built`.

use super::{FullText, Table, TreeId};
use crate::Seq;

impl Table {
    /// Its rows are others, or have another shape: nobody's snapshot shows them as they were.
    pub fn begin_anew(&mut self) {
        self.since = 0;
        self.built.clear();
    }

    /// Says that these indexes are built now.
    pub fn note_built(&mut self, trees: Vec<TreeId>) {
        let mut built = std::mem::take(&mut self.built);
        built.extend(trees.into_iter().map(|tree| (tree, 0)));
        let indexes = self.indexes.iter();
        built.retain(|(tree, _)| {
            let text = |text: &FullText| text.index.tree == *tree;
            indexes.clone().any(|index| index.tree == *tree) || self.fulltext.iter().any(text)
        });
        self.built = built;
    }

    /// Gives what was made by a commit its number; whether that is wanted of something.
    pub fn stamp(&mut self, seq: Seq) -> bool {
        let built = self.built.iter_mut().map(|(_, since)| since);
        let unstamped = built.chain([&mut self.since]).filter(|since| **since == 0);
        unstamped.fold(false, |_, since| {
            *since = seq;
            true
        })
    }

    /// The last commit that made something of it readable.
    #[must_use]
    pub fn last_since(&self) -> Seq {
        let built = self.built.iter().map(|(_, since)| *since);
        built.fold(self.since, Seq::max)
    }
}
