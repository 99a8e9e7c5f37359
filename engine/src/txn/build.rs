//! Building trees in bulk, straight into the Base: CREATE INDEX and table rebuilds.
//!
//! The caller holds the table's exclusive metadata lock, so its rows do not change. A checkpoint
//! brings all of them into the Base; from there they are read in order, turned into entries,
//! sorted in chunks of bounded memory, and written chunk by chunk, each in a durable commit of
//! the Base, so that checkpoints get their turn between two of them. The new trees belong to
//! nobody until the DDL is in the log; if it never gets there they are dropped, at once or when
//! the engine is opened next. Rejected: an external merge sort, which would write everything once
//! more; a B-tree takes a few sorted chunks well.

use super::{
    TxnError,
    descriptor::Descriptor,
    dictionary::table_trees,
    engine::Inner,
    write::{Entry, hidden_key, primary_key},
};
use crate::{
    store::base::{BaseItem, BaseRange},
    types::{Index, Table, TreeId},
};

/// Memory for one tree's sorted chunk, in bytes.
const CHUNK_BYTES: usize = 32 << 20;

/// How often KILL is looked for, in rows.
const KILL_CHECK: u64 = 1024;

/// A tree being built.
struct TreeBuilder<'a> {
    inner: &'a Inner,
    tree: TreeId,
    /// Its name, for duplicates.
    name: &'a str,
    bytes: Vec<u8>,
    entries: Vec<Pending>,
    /// Whether an earlier chunk is in the tree already.
    flushed: bool,
}

/// One entry, as positions in `TreeBuilder::bytes`.
#[derive(Clone, Copy)]
struct Pending {
    start: usize,
    /// Where the part ends that no other entry may share; `start` if there is none.
    unique_end: usize,
    key_end: usize,
    value_end: usize,
}

impl<'a> TreeBuilder<'a> {
    fn new(inner: &'a Inner, tree: TreeId, name: &'a str) -> TreeBuilder<'a> {
        TreeBuilder {
            inner,
            tree,
            name,
            bytes: Vec::new(),
            entries: Vec::new(),
            flushed: false,
        }
    }
    /// Adds an entry; the first `unique` bytes of its key must not occur twice.
    fn push(&mut self, key: &[u8], unique: usize, value: &[u8]) -> Result<(), TxnError> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.entries.push(Pending {
            start,
            unique_end: start + unique,
            key_end,
            value_end: self.bytes.len(),
        });
        let memory = self.bytes.len() + self.entries.len() * size_of::<Pending>();
        if memory >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(())
    }
    fn push_entry(&mut self, entry: &Entry) -> Result<(), TxnError> {
        let unique = if entry.unique { entry.parts } else { 0 };
        self.push(&entry.key, unique, &[])
    }
    fn slice(&self, from: usize, to: usize) -> &[u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }
    fn duplicate(&self) -> TxnError {
        TxnError::DuplicateKey {
            index: self.name.to_owned(),
        }
    }
    /// Writes the chunk.
    fn flush(&mut self) -> Result<(), TxnError> {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|a, b| {
            self.slice(a.start, a.key_end)
                .cmp(self.slice(b.start, b.key_end))
        });
        let one_at_a_time = self.inner.checkpointer.exclusive.lock();
        let write = self.inner.base.write()?;
        let mut tree = write.tree(self.tree)?;
        let mut before: &[u8] = &[];
        for entry in &entries {
            let unique = self.slice(entry.start, entry.unique_end);
            if !unique.is_empty() {
                if unique == before || self.flushed && tree.has_prefix(unique)? {
                    return Err(self.duplicate());
                }
                before = unique;
            }
            let key = self.slice(entry.start, entry.key_end);
            tree.put(key, self.slice(entry.key_end, entry.value_end))?;
        }
        drop(tree);
        write.commit()?;
        drop(one_at_a_time);
        self.flushed = true;
        self.bytes.clear();
        Ok(())
    }
}

fn builders<'a>(
    inner: &'a Inner,
    indexes: impl Iterator<Item = &'a Index>,
) -> Vec<TreeBuilder<'a>> {
    indexes
        .map(|index| TreeBuilder::new(inner, index.tree, &index.name))
        .collect()
}

/// Builds the indexes of `new` that `old` does not have, from its rows.
pub(super) fn new_indexes(
    inner: &Inner,
    old: &Table,
    new: &Table,
    descriptor: &Descriptor,
) -> Result<(), TxnError> {
    let known = |index: &&Index| old.indexes.iter().any(|other| other.tree == index.tree);
    let fresh: Vec<&Index> = new.indexes.iter().filter(|index| !known(index)).collect();
    if fresh.is_empty() {
        return Ok(());
    }
    let trees: Vec<TreeId> = fresh.iter().map(|index| index.tree).collect();
    build(inner, old, &trees, descriptor, |rows| {
        let mut builders = builders(inner, fresh.iter().copied());
        while let Some(row) = rows.next()? {
            for (index, builder) in fresh.iter().zip(&mut builders) {
                builder.push_entry(&Entry::derive(new, index, row.value(), row.key())?)?;
            }
        }
        builders.iter_mut().try_for_each(TreeBuilder::flush)
    })
}

/// Converts all rows of `old` into the trees of `new`. Returns the next hidden row number.
pub(super) fn rebuild(
    inner: &Inner,
    old: &Table,
    new: &Table,
    convert: &mut super::RowConversion,
    descriptor: &Descriptor,
) -> Result<u64, TxnError> {
    let trees: Vec<TreeId> = table_trees(new).collect();
    let mut next_row = 1;
    build(inner, old, &trees, descriptor, |rows| {
        let mut rows_builder = TreeBuilder::new(inner, new.rows, "PRIMARY");
        let mut builders = builders(inner, new.indexes.iter());
        let mut image = Vec::new();
        while let Some(row) = rows.next()? {
            image.clear();
            convert(row.value(), &mut image).map_err(TxnError::Conversion)?;
            let key = primary_key(new, &image)?.unwrap_or_else(|| {
                next_row += 1;
                hidden_key(next_row - 1)
            });
            rows_builder.push(&key, key.len(), &image)?;
            for (index, builder) in new.indexes.iter().zip(&mut builders) {
                builder.push_entry(&Entry::derive(new, index, &image, &key)?)?;
            }
        }
        rows_builder.flush()?;
        builders.iter_mut().try_for_each(TreeBuilder::flush)
    })?;
    Ok(next_row)
}

/// The rows of a table, in order, from the Base.
struct Rows<'a> {
    range: BaseRange,
    item: Option<BaseItem>,
    count: u64,
    descriptor: &'a Descriptor,
}

impl Rows<'_> {
    fn next(&mut self) -> Result<Option<&BaseItem>, TxnError> {
        self.count += 1;
        if self.count.is_multiple_of(KILL_CHECK) {
            self.descriptor.waiting.offer(true);
            if self.descriptor.is_killed() {
                return Err(TxnError::Killed);
            }
        }
        self.item = self.range.next(false)?;
        Ok(self.item.as_ref())
    }
}

/// Runs `fill` on the rows of `table`, and publishes what it built, or removes it.
fn build(
    inner: &Inner,
    table: &Table,
    trees: &[TreeId],
    descriptor: &Descriptor,
    fill: impl FnOnce(&mut Rows<'_>) -> Result<(), TxnError>,
) -> Result<(), TxnError> {
    inner.checkpoint_now()?;
    let snapshot = inner.base.snapshot()?;
    let mut rows = Rows {
        range: snapshot.range(table.rows, &[], None)?,
        item: None,
        count: 0,
        descriptor,
    };
    let result = fill(&mut rows);
    let _one_at_a_time = inner.checkpointer.exclusive.lock();
    match result {
        Ok(()) => inner.publish_base(None),
        Err(error) => {
            let write = inner.base.write()?;
            for tree in trees {
                write.drop_tree(*tree)?;
            }
            write.commit()?;
            Err(error)
        }
    }
}
