//! Building trees in bulk, straight into the Base: CREATE INDEX and table rebuilds.
//!
//! The rows come from one snapshot of the Base. They are read in order, turned into entries,
//! sorted in chunks of bounded memory, and written chunk by chunk, each in a durable commit of
//! the Base, so that checkpoints get their turn between two of them. A chunk above everything in
//! the tree, as the first one is, is appended, leaf by leaf; others are put entry by entry. The
//! new trees belong to nobody until the DDL is in the log; if it never gets there they are
//! dropped, at once or when the engine is opened next. What writers change meanwhile is caught up
//! by `building`. Rejected: an external merge sort, which would write everything once more; a
//! B-tree takes a few sorted chunks well.

use super::{
    TxnError,
    dictionary::table_trees,
    entry::{Entry, hidden_key, hidden_number, malformed, primary_key},
};
use crate::{
    store::{
        WordChanges,
        base::{BaseItem, BaseRange, BaseSnapshot, BaseWrite},
    },
    types::{FullText, Index, Table, TreeId, fulltext::WordsBuilder, row},
};

/// Memory for one tree's sorted chunk, in bytes; tests have several chunks.
pub(super) const CHUNK_BYTES: usize = if cfg!(test) { 512 } else { 64 << 20 };

/// Converts an old row image to a new one, or says why it cannot, as an opaque error for the
/// caller of `change_schema` to carry through `TxnError::Conversion`.
pub type RowConversion<'a> =
    dyn FnMut(Copying, &[u8], &mut Vec<u8>) -> Result<(), String> + Send + 'a;

/// Which row is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// One that is copied: it counts, and what is lost of it is told.
    New,
    /// One that was copied before, as it was or as it is now.
    Again,
}

/// How often KILL is looked for, in rows.
pub(super) const KILL_CHECK: u64 = if cfg!(test) { 16 } else { 1024 };

/// The Base that is built into.
pub(super) trait Site {
    /// Makes one durable change of it, which counts as a build.
    fn change(
        &self,
        change: &mut dyn FnMut(&mut BaseWrite<'_>) -> Result<(), TxnError>,
    ) -> Result<(), TxnError>;
    /// Asked now and then: an error ends the building.
    fn check(&self) -> Result<(), TxnError>;
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

/// Indexes to be built.
pub(super) struct Fresh<'t> {
    indexes: Vec<&'t Index>,
    texts: Vec<&'t FullText>,
}

impl<'t> Fresh<'t> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty() && self.texts.is_empty()
    }
    /// Those that are not FULLTEXT.
    pub fn indexes(&self) -> &[&'t Index] {
        &self.indexes
    }
    /// Those that are.
    pub fn texts(&self) -> &[&'t FullText] {
        &self.texts
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

/// Converts the rows into the trees of `new`. `numbered`: hidden row numbers stay as they are.
/// Returns the next one.
pub(super) fn fill_table(
    rows: &mut Rows<'_>,
    new: &Table,
    numbered: bool,
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
        convert(Copying::New, row.value(), &mut image).map_err(TxnError::Conversion)?;
        let key = primary_key(new, &image)?.unwrap_or_else(|| {
            if numbered {
                next_row = hidden_number(new, row.key()).saturating_add(1);
                return row.key().to_vec();
            }
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
    /// The next one.
    pub fn next(&mut self) -> Result<Option<&BaseItem>, TxnError> {
        self.count += 1;
        if self.count.is_multiple_of(KILL_CHECK) {
            self.site.check()?;
        }
        self.item = self.range.next(false)?;
        Ok(self.item.as_ref())
    }
}
