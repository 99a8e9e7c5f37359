//! What a change of a row does to its table's trees.
//!
//! A statement makes such changes, a replay of the log makes them again, and so does the start of
//! an engine with those of prepared transactions. What they put where is told here, once.
//!
//! An example. A table has the primary key `id` and the index `i (a)`, and the row (1, 'x') becomes
//! (1, 'y'). The row stays at its key, 1, with another image; in `i` the entry ('x', 1) goes, and
//! ('y', 1) comes. If it becomes (2, 'x') the row moves: at 1 nothing is left, at 2 there is the
//! image, ('x', 1) goes and ('x', 2) comes. In a multi-valued index on an array that is [5, 7] and
//! becomes [7, 8], (5, 1) goes and (8, 1) comes; (7, 1) stays as it is, and nobody locks it.

use super::{
    TxnError,
    beside::Beside,
    entry::{Entries, Entry, hidden_key, malformed, primary_key},
};
use crate::{
    log::RowsKind,
    types::{Index, Table, TreeId, fulltext::WordsBuilder, key, row},
};
use std::borrow::Cow;

/// A change of one row: from what (`R`) it was to what it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowChange<R> {
    Insert(R),
    Update(R, R),
    Delete(R),
}

/// A row as its table has it.
pub(super) struct Row<'a> {
    /// Of the row: the primary key, or the hidden one.
    pub key: Cow<'a, [u8]>,
    pub image: &'a [u8],
}

/// What a change of a row puts into the tree of a FULLTEXT index: under the row's key its words, or
/// nothing.
pub(super) struct TextChange {
    tree: TreeId,
    key: Vec<u8>,
    words: Option<Vec<u8>>,
}

/// What a change of a row does to an index.
pub(super) struct EntryChange {
    pub tree: TreeId,
    pub gone: Entries,
    pub come: Entries,
}

impl<R> RowChange<R> {
    /// What the row was.
    pub fn before(&self) -> Option<&R> {
        match self {
            RowChange::Insert(_) => None,
            RowChange::Update(before, _) | RowChange::Delete(before) => Some(before),
        }
    }
    /// What it is.
    pub fn after(&self) -> Option<&R> {
        match self {
            RowChange::Insert(after) | RowChange::Update(_, after) => Some(after),
            RowChange::Delete(_) => None,
        }
    }
    /// What the log calls it.
    pub fn kind(&self) -> RowsKind {
        match self {
            RowChange::Insert(_) => RowsKind::Write,
            RowChange::Update(..) => RowsKind::Update,
            RowChange::Delete(_) => RowsKind::Delete,
        }
    }
}

impl<'a> RowChange<Cow<'a, [u8]>> {
    /// Cuts one change off the front of the images of a rows event.
    pub fn take(
        table: &Table,
        kind: RowsKind,
        images: &mut &'a [u8],
        beside: &mut Beside<'_>,
    ) -> Result<Self, TxnError> {
        let mut image = || beside.take_image(table, images);
        Ok(match kind {
            RowsKind::Write => RowChange::Insert(image()?),
            RowsKind::Update => RowChange::Update(image()?, image()?),
            RowsKind::Delete => RowChange::Delete(image()?),
        })
    }
    /// The same without owning the images.
    pub fn borrowed(&self) -> RowChange<&[u8]> {
        match self {
            RowChange::Insert(after) => RowChange::Insert(after),
            RowChange::Update(before, after) => RowChange::Update(before, after),
            RowChange::Delete(before) => RowChange::Delete(before),
        }
    }
}

impl<'a> RowChange<&'a [u8]> {
    /// The same with the row's keys; `number` is its hidden one, for a table without primary key.
    pub fn keyed(self, table: &Table, number: Option<u64>) -> Result<RowChange<Row<'a>>, TxnError> {
        let row = |image| -> Result<Row<'a>, TxnError> {
            let key = match (primary_key(table, image)?, number) {
                (Some(key), _) => key,
                (None, Some(number)) => hidden_key(number),
                (None, None) => {
                    let missing = "a row change without its row number".to_owned();
                    return Err(TxnError::Corrupt(missing));
                }
            };
            Ok(Row::new(key, image))
        };
        Ok(match self {
            RowChange::Insert(after) => RowChange::Insert(row(after)?),
            RowChange::Delete(before) => RowChange::Delete(row(before)?),
            RowChange::Update(before, image) => {
                let before = row(before)?;
                let stays = match &table.primary {
                    None => true,
                    Some(primary) => same_columns(table, primary, before.image, image)?,
                };
                let after = if stays {
                    Row::new(before.key.to_vec(), image)
                } else {
                    row(image)?
                };
                RowChange::Update(before, after)
            }
        })
    }
}

impl<'a> Row<'a> {
    /// A row with this key and image.
    pub fn new(key: impl Into<Cow<'a, [u8]>>, image: &'a [u8]) -> Row<'a> {
        let key = key.into();
        Row { key, image }
    }
    fn entries(&self, table: &Table, index: &Index) -> Result<Entries, TxnError> {
        Entry::derive(table, index, self.image, &self.key)
    }
}

impl RowChange<Row<'_>> {
    /// The row that is no longer where it was.
    pub fn leaves(&self) -> Option<&Row<'_>> {
        match self {
            RowChange::Insert(_) => None,
            RowChange::Update(before, after) => (before.key != after.key).then_some(before),
            RowChange::Delete(before) => Some(before),
        }
    }
    /// The row that is where none was.
    pub fn arrives(&self) -> Option<&Row<'_>> {
        match self {
            RowChange::Insert(after) => Some(after),
            RowChange::Update(before, after) => (before.key != after.key).then_some(after),
            RowChange::Delete(_) => None,
        }
    }
    /// What it does to an index; `None`: nothing.
    pub fn entries(&self, table: &Table, index: &Index) -> Result<Option<EntryChange>, TxnError> {
        if let RowChange::Update(before, after) = self
            && before.key == after.key
            && same_columns(table, index, before.image, after.image)?
        {
            return Ok(None);
        }
        let entries = |row: Option<&Row<'_>>| match row {
            Some(row) => row.entries(table, index),
            None => Ok(Entries::new()),
        };
        let (mut gone, mut come) = (entries(self.before())?, entries(self.after())?);
        // What stays of an array, or other bytes of the same value: 'a' and 'A', say.
        leave_what_stays(&mut gone, &mut come);
        let tree = index.tree;
        let changes = !(gone.is_empty() && come.is_empty());
        Ok(changes.then_some(EntryChange { tree, gone, come }))
    }
    /// What it does to the FULLTEXT indexes. Nobody locks words: the row's lock is theirs.
    pub fn texts(&self, table: &Table) -> Result<Vec<TextChange>, TxnError> {
        let mut changes = Vec::new();
        for text in &table.fulltext {
            let tree = text.index.tree;
            if let RowChange::Update(before, after) = self
                && before.key == after.key
                && same_columns(table, &text.index, before.image, after.image)?
            {
                continue;
            }
            if let Some(row) = self.leaves() {
                changes.push(TextChange {
                    tree,
                    key: row.key.to_vec(),
                    words: None,
                });
            }
            if let Some(row) = self.after() {
                let mut words = WordsBuilder::default();
                let taken = row::words(table, text, row.image, &mut words);
                taken.map_err(|_| malformed(table))?;
                changes.push(TextChange {
                    tree,
                    key: row.key.to_vec(),
                    words: Some(words.pack()),
                });
            }
        }
        Ok(changes)
    }
    /// The row as it is now, as the tree of the rows has it.
    pub fn image(&self) -> Option<&[u8]> {
        self.after().map(|row| row.image)
    }
    /// What it puts or (`None`) deletes in the tree of the rows; `image` is what [`Self::image`] gives,
    /// in whatever form it is put.
    pub fn put_row<V>(
        &self,
        table: &Table,
        image: Option<V>,
        mut put: impl FnMut(TreeId, &[u8], Option<V>),
    ) {
        if let Some(row) = self.leaves() {
            put(table.rows, &row.key, None);
        }
        if let Some(row) = self.after() {
            put(table.rows, &row.key, image);
        }
    }
}

impl TextChange {
    /// What it puts or (`None`) deletes in the index.
    pub fn put(&self, mut put: impl FnMut(TreeId, &[u8], Option<&[u8]>)) {
        put(self.tree, &self.key, self.words.as_deref());
    }
    /// Memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.words.as_ref().map_or(0, Vec::len)
    }
}

impl EntryChange {
    /// What it puts or (`None`) deletes in the index.
    pub fn put(&self, mut put: impl FnMut(TreeId, &[u8], Option<&[u8]>)) {
        for entry in &self.gone {
            put(self.tree, &entry.key, None);
        }
        for entry in &self.come {
            put(self.tree, &entry.key, Some(&[]));
        }
    }
}

/// Takes out of two ascending lists what is in both.
fn leave_what_stays(gone: &mut Entries, come: &mut Entries) {
    let is_in = |entries: &Entries, entry: &Entry| {
        let found = entries.binary_search_by(|other| other.key.cmp(&entry.key));
        found.is_ok()
    };
    if !come.iter().any(|entry| is_in(gone, entry)) {
        return;
    }
    let all = std::mem::take(come);
    let (stay, new): (Entries, Entries) = all.into_iter().partition(|entry| is_in(gone, entry));
    gone.retain(|entry| !is_in(&stay, entry));
    *come = new;
}

fn same_columns(
    table: &Table,
    index: &Index,
    before: &[u8],
    after: &[u8],
) -> Result<bool, TxnError> {
    key::same_columns(table, index, before, after).map_err(|_| malformed(table))
}
