//! Building trees in bulk, straight into the Base: CREATE INDEX and table rebuilds.
//!
//! The caller holds the table's exclusive metadata lock, so its rows do not change. A checkpoint
//! brings all of them into the Base; from there they are read in order, turned into entries,
//! sorted in chunks of bounded memory, and written chunk by chunk, each in a durable commit of
//! the Base, so that checkpoints get their turn between two of them. A chunk above everything in
//! the tree, as the first one is, is appended, leaf by leaf; others are put entry by entry. The
//! new trees belong to nobody until the DDL is in the log; if it never gets there they are
//! dropped, at once or when the engine is opened next. Rejected: an external merge sort, which
//! would write everything once more; a B-tree takes a few sorted chunks well.

use super::{
    TxnError,
    descriptor::Descriptor,
    dictionary::table_trees,
    engine::Inner,
    entry::{Entry, hidden_key, malformed, primary_key, successor},
    meta,
};
use crate::{
    store::{
        WordChanges,
        base::{BaseItem, BaseRange, BaseSnapshot, BaseWrite},
    },
    types::{FullText, Index, Table, TreeId, fulltext::WordsBuilder, key, row},
};
use std::sync::atomic::Ordering;

/// Memory for one tree's sorted chunk, in bytes; tests have several chunks.
const CHUNK_BYTES: usize = if cfg!(test) { 512 } else { 64 << 20 };

/// Converts an old row image to a new one, or says why it cannot, as an opaque error for the
/// caller of `change_schema` to carry through `TxnError::Conversion`.
pub type RowConversion<'a> = dyn FnMut(&[u8], &mut Vec<u8>) -> Result<(), String> + Send + 'a;

/// How often KILL is looked for, in rows.
const KILL_CHECK: u64 = 1024;

/// The Base that is built into.
pub(super) trait Site {
    /// Makes one durable change of it, which counts as a build.
    fn change(
        &self,
        change: &mut dyn FnMut(&BaseWrite<'_>) -> Result<(), TxnError>,
    ) -> Result<(), TxnError>;
    /// Asked now and then: an error ends the building.
    fn check(&self) -> Result<(), TxnError>;
}

/// That of an open engine, and who builds.
struct Live<'a> {
    inner: &'a Inner,
    descriptor: &'a Descriptor,
}

impl Site for Live<'_> {
    fn change(
        &self,
        change: &mut dyn FnMut(&BaseWrite<'_>) -> Result<(), TxnError>,
    ) -> Result<(), TxnError> {
        let _one_at_a_time = self.inner.checkpointer.exclusive.lock();
        self.inner.mend_base()?;
        let write = self.inner.base.write()?;
        // Each commit has a number of its own: with an older one the Base lacks something.
        let number = self.inner.builds.load(Ordering::Relaxed) + 1;
        meta::write_builds(&write, number)?;
        change(&write)?;
        write.commit()?;
        self.inner.builds.store(number, Ordering::Relaxed);
        Ok(())
    }
    fn check(&self) -> Result<(), TxnError> {
        self.descriptor.waiting.offer(true);
        match self.descriptor.is_killed() {
            true => Err(TxnError::Killed),
            false => Ok(()),
        }
    }
}

/// A tree being built.
struct TreeBuilder<'a> {
    site: &'a dyn Site,
    tree: TreeId,
    /// Its name, for duplicates.
    name: &'a str,
    bytes: Vec<u8>,
    entries: Vec<Pending>,
    /// Whether an earlier chunk is in the tree already.
    flushed: bool,
}

/// One entry, as lengths of its pieces, which stand one after another in `TreeBuilder::bytes`.
#[derive(Clone, Copy)]
struct Pending {
    /// The first bytes of the key, which decide most comparisons.
    prefix: u64,
    start: usize,
    /// How much of the key no other entry may share.
    unique: u32,
    key: u32,
    value: u32,
}

/// The first eight bytes of a key, in its order.
fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = key.len().min(8);
    for (to, from) in first.iter_mut().zip(key.get(..length).unwrap_or_default()) {
        *to = *from;
    }
    u64::from_be_bytes(first)
}

fn length(bytes: &[u8]) -> Result<u32, TxnError> {
    u32::try_from(bytes.len()).map_err(|_| TxnError::TooLarge)
}

impl<'a> TreeBuilder<'a> {
    fn new(rows: &Rows<'a>, tree: TreeId, name: &'a str) -> TreeBuilder<'a> {
        TreeBuilder {
            site: rows.site,
            tree,
            name,
            bytes: Vec::new(),
            entries: Vec::new(),
            flushed: false,
        }
    }
    /// Adds an entry; the first `unique` bytes of its key must not occur twice.
    fn push(&mut self, key: &[u8], unique: usize, value: &[u8]) -> Result<(), TxnError> {
        self.entries.push(Pending {
            prefix: prefix(key),
            start: self.bytes.len(),
            unique: length(key.get(..unique).unwrap_or_default())?,
            key: length(key)?,
            value: length(value)?,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
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
    fn slice(&self, start: usize, length: u32) -> &[u8] {
        let end = start + length as usize;
        self.bytes.get(start..end).unwrap_or_default()
    }
    fn key(&self, entry: &Pending) -> &[u8] {
        self.slice(entry.start, entry.key)
    }
    fn value(&self, entry: &Pending) -> &[u8] {
        self.slice(entry.start + entry.key as usize, entry.value)
    }
    /// The part of the key that no other entry may share.
    fn unique(&self, entry: &Pending) -> &[u8] {
        self.slice(entry.start, entry.unique)
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
            let order = a.prefix.cmp(&b.prefix);
            order.then_with(|| self.key(a).cmp(self.key(b)))
        });
        let same = |pair: &[Pending]| matches!(pair, [a, b] if a.unique > 0 && self.unique(a) == self.unique(b));
        if entries.windows(2).any(same) {
            return Err(self.duplicate());
        }
        if !entries.is_empty() {
            self.site.change(&mut |write| self.put(&entries, write))?;
        }
        self.flushed = true;
        self.bytes.clear();
        Ok(())
    }
    /// Puts a sorted chunk into the tree.
    fn put(&self, entries: &[Pending], write: &BaseWrite<'_>) -> Result<(), TxnError> {
        let Some(first) = entries.first() else {
            return Ok(());
        };
        let mut tree = write.tree(self.tree)?;
        let appended = !self.flushed || tree.is_below(self.key(first))?;
        // Of those that are appended only the first can meet one that is there.
        let met = if appended { 1 } else { entries.len() };
        for entry in entries.iter().take(met).filter(|entry| entry.unique > 0) {
            if self.flushed && tree.has_prefix(self.unique(entry))? {
                return Err(self.duplicate());
            }
        }
        let pairs = entries.iter().map(|e| (self.key(e), self.value(e)));
        if appended {
            tree.append(pairs, |pair| *pair)?;
        } else {
            for (key, value) in pairs {
                tree.put(key, value)?;
            }
        }
        Ok(())
    }
}

/// Builds the indexes of `new` that `old` does not have, from its rows. Returns the build's number,
/// if there was anything to build.
pub(super) fn new_indexes(
    inner: &Inner,
    old: &Table,
    new: &Table,
    descriptor: &Descriptor,
) -> Result<Option<u64>, TxnError> {
    let fresh = fresh_indexes(old, new);
    if fresh.is_empty() {
        return Ok(None);
    }
    let trees = fresh.trees();
    let site = Live { inner, descriptor };
    build(&site, old, &trees, |rows| fill_indexes(rows, new, &fresh))
}

/// Indexes to be built.
pub(super) struct Fresh<'t> {
    indexes: Vec<&'t Index>,
    texts: Vec<&'t FullText>,
}

impl Fresh<'_> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty() && self.texts.is_empty()
    }
    /// Their trees.
    pub fn trees(&self) -> Vec<TreeId> {
        let texts = self.texts.iter().map(|text| text.index.tree);
        let indexes = self.indexes.iter().map(|index| index.tree);
        indexes.chain(texts).collect()
    }
}

/// The indexes of `new` that `old` does not have.
pub(super) fn fresh_indexes<'t>(old: &Table, new: &'t Table) -> Fresh<'t> {
    let known: Vec<TreeId> = table_trees(old).collect();
    let is_new = |index: &Index| !known.contains(&index.tree);
    let indexes = new.indexes.iter().filter(|index| is_new(index));
    let texts = new.fulltext.iter().filter(|text| is_new(&text.index));
    Fresh {
        indexes: indexes.collect(),
        texts: texts.collect(),
    }
}

/// Builds indexes from the rows.
pub(super) fn fill_indexes(
    rows: &mut Rows<'_>,
    new: &Table,
    fresh: &Fresh<'_>,
) -> Result<(), TxnError> {
    let mut builders = Builders::new(rows, new, fresh);
    while let Some(row) = rows.next()? {
        builders.push(row.key(), row.value())?;
    }
    builders.flush()
}

/// Indexes being built.
struct Builders<'a> {
    table: &'a Table,
    indexes: Vec<(&'a Index, TreeBuilder<'a>)>,
    texts: Vec<TextBuilder<'a>>,
}

impl<'a> Builders<'a> {
    fn new(rows: &Rows<'a>, table: &'a Table, fresh: &Fresh<'a>) -> Builders<'a> {
        let index = |index: &&'a Index| (*index, TreeBuilder::new(rows, index.tree, &index.name));
        let text = |text: &&'a FullText| TextBuilder {
            site: rows.site,
            table,
            text,
            changes: WordChanges::default(),
            words: WordsBuilder::default(),
        };
        Builders {
            table,
            indexes: fresh.indexes.iter().map(index).collect(),
            texts: fresh.texts.iter().map(text).collect(),
        }
    }
    /// Adds what a row has in them. Rows come in the order of their keys.
    fn push(&mut self, key: &[u8], image: &[u8]) -> Result<(), TxnError> {
        for (index, builder) in &mut self.indexes {
            let entries = Entry::derive(self.table, index, image, key)?;
            let mut entries = entries.iter();
            entries.try_for_each(|entry| builder.push_entry(entry))?;
        }
        self.texts
            .iter_mut()
            .try_for_each(|text| text.push(key, image))
    }
    fn flush(&mut self) -> Result<(), TxnError> {
        for (_, builder) in &mut self.indexes {
            builder.flush()?;
        }
        self.texts.iter_mut().try_for_each(TextBuilder::flush)
    }
}

/// A FULLTEXT index being built.
struct TextBuilder<'a> {
    site: &'a dyn Site,
    table: &'a Table,
    text: &'a FullText,
    changes: WordChanges,
    words: WordsBuilder,
}

impl TextBuilder<'_> {
    fn push(&mut self, key: &[u8], image: &[u8]) -> Result<(), TxnError> {
        let taken = row::words(self.table, self.text, image, &mut self.words);
        taken.map_err(|_| malformed(self.table))?;
        self.changes.row(key)?;
        for (word, count) in self.words.counted() {
            self.changes.word(word, count);
        }
        match self.changes.is_large() {
            true => self.flush(),
            false => Ok(()),
        }
    }
    fn flush(&mut self) -> Result<(), TxnError> {
        let (changes, tree) = (&mut self.changes, self.text.index.tree);
        match changes.is_empty() {
            true => Ok(()),
            false => self
                .site
                .change(&mut |write| Ok(changes.write(&mut write.tree(tree)?)?)),
        }
    }
}

/// Converts all rows of `old` into the trees of `new`. Returns the next hidden row number, and the
/// build's number, if there was anything to build.
pub(super) fn rebuild(
    inner: &Inner,
    old: &Table,
    new: &Table,
    convert: &mut RowConversion<'_>,
    descriptor: &Descriptor,
) -> Result<(u64, Option<u64>), TxnError> {
    let trees: Vec<TreeId> = table_trees(new).collect();
    let mut next_row = 1;
    let site = Live { inner, descriptor };
    let number = build(&site, old, &trees, |rows| {
        next_row = fill_table(rows, new, convert)?;
        Ok(())
    })?;
    Ok((next_row, number))
}

/// Converts the rows into the trees of `new`. Returns the next hidden row number.
pub(super) fn fill_table(
    rows: &mut Rows<'_>,
    new: &Table,
    convert: &mut RowConversion<'_>,
) -> Result<u64, TxnError> {
    let mut next_row = 1;
    let mut rows_builder = TreeBuilder::new(rows, new.rows, "PRIMARY");
    let fresh = Fresh {
        indexes: new.indexes.iter().collect(),
        texts: new.fulltext.iter().collect(),
    };
    let mut builders = Builders::new(rows, new, &fresh);
    let mut image = Vec::new();
    while let Some(row) = rows.next()? {
        image.clear();
        convert(row.value(), &mut image).map_err(TxnError::Conversion)?;
        let key = primary_key(new, &image)?.unwrap_or_else(|| {
            next_row += 1;
            hidden_key(next_row - 1)
        });
        rows_builder.push(&key, key.len(), &image)?;
        builders.push(&key, &image)?;
    }
    rows_builder.flush()?;
    builders.flush()?;
    Ok(next_row)
}

/// Looks for the parent of each row of `new`, which is built: `ForeignKey` for one without. `names`:
/// the foreign keys that are looked at. Nobody changes the rows of any of these tables meanwhile.
pub(super) fn check_references(
    inner: &Inner,
    (old, new): (&Table, &Table),
    names: &[String],
    descriptor: &Descriptor,
) -> Result<(), TxnError> {
    if names.is_empty() {
        return Ok(());
    }
    let checked = find_orphan(inner, new, names, descriptor);
    if checked.is_err() {
        let known: Vec<TreeId> = table_trees(old).collect();
        let built = table_trees(new).filter(|tree| !known.contains(tree));
        inner.checkpointer.doom(0, built.collect());
    }
    checked
}

fn find_orphan(
    inner: &Inner,
    new: &Table,
    names: &[String],
    descriptor: &Descriptor,
) -> Result<(), TxnError> {
    inner.checkpoint_now()?;
    let snapshot = inner.base.snapshot()?;
    let dictionary = inner.dictionary.load_full();
    let mut references = Vec::new();
    for key in new
        .foreign_keys
        .iter()
        .filter(|key| names.contains(&key.name))
    {
        let parent = if key.refers_to(&new.database, &new.name) {
            new
        } else {
            let parent = dictionary.table(&key.parent_database, &key.parent);
            parent.ok_or(TxnError::TableChanged)?
        };
        let index = key.parent_index(parent).ok_or(TxnError::TableChanged)?;
        references.push((key, parent, index));
    }
    let site = Live { inner, descriptor };
    let mut rows = Rows::of(new, &snapshot, &site)?;
    while let Some(row) = rows.next()? {
        for (key, parent, index) in &references {
            let child = (new, key.columns.as_slice());
            let found = key::encode_reference(child, row.value(), (parent, index));
            let Some(low) = found.map_err(|_| malformed(new))? else {
                continue;
            };
            let high = successor(&low);
            let mut range = snapshot.range(index.tree, &low, high.as_deref())?;
            if range.next(false)?.is_none() {
                let name = key.name.clone();
                return Err(TxnError::ForeignKey { name });
            }
        }
    }
    Ok(())
}

/// The rows of a table, in order, from the Base.
pub(super) struct Rows<'a> {
    site: &'a dyn Site,
    range: BaseRange,
    item: Option<BaseItem>,
    count: u64,
}

impl<'a> Rows<'a> {
    /// All of a table's.
    pub fn of(
        table: &Table,
        snapshot: &BaseSnapshot,
        site: &'a dyn Site,
    ) -> Result<Rows<'a>, TxnError> {
        Ok(Rows {
            site,
            range: snapshot.range(table.rows, &[], None)?,
            item: None,
            count: 0,
        })
    }
    fn next(&mut self) -> Result<Option<&BaseItem>, TxnError> {
        self.count += 1;
        if self.count.is_multiple_of(KILL_CHECK) {
            self.site.check()?;
        }
        self.item = self.range.next(false)?;
        Ok(self.item.as_ref())
    }
}

/// Runs `fill` on the rows of `table`, and publishes what it built, or removes it. Returns the
/// build's number, if there were rows.
fn build<'a>(
    site: &'a Live<'a>,
    table: &Table,
    trees: &[TreeId],
    fill: impl FnOnce(&mut Rows<'a>) -> Result<(), TxnError>,
) -> Result<Option<u64>, TxnError> {
    let inner = site.inner;
    inner.checkpoint_now()?;
    let snapshot = inner.base.snapshot()?;
    let mut rows = Rows::of(table, &snapshot, site)?;
    let result = fill(&mut rows);
    let any = rows.count > 1;
    let _one_at_a_time = inner.checkpointer.exclusive.lock();
    match result {
        Ok(()) => {
            // Of another build, perhaps, that has gone on meanwhile: then this one is in it, too.
            let number = inner.builds.load(Ordering::Relaxed);
            inner.publish_base(None).map(|()| any.then_some(number))
        }
        Err(error) => {
            // With the next checkpoint: the disk may be full now.
            inner.checkpointer.doom(0, trees.to_vec());
            Err(error)
        }
    }
}
