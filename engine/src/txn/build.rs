//! Building trees in bulk, straight into the Base: CREATE INDEX and table rebuilds.
//!
//! The rows come from one snapshot of the Base. They are read in order and turned into entries, which are
//! sorted. More than fits into memory is sorted in runs that go to a temporary file, and are merged when the
//! last row is read. So each tree is written once, from its first leaf to its last, in several durable commits
//! of the Base, so that checkpoints get their turn between two of them. Entries that come in their order
//! need no sorting, and are written as they come. The new trees belong to nobody until the DDL is in the log;
//! if it never gets there they are dropped, at once or when the engine is opened next. What writers change
//! meanwhile is caught up by `building`.
//!
//! Rejected: putting each chunk into the tree that has those before. All of its pages are written again for each
//! chunk: with 10 million rows that took three to seven times as long, and three times the space.

use super::{
    TxnError,
    dictionary::table_trees,
    entry::{hidden_key, hidden_number, malformed, primary_key},
    gather::{entries_of, gather},
    runs::{Chunk, Runs, Sorted},
    site::{Copying, RowConversion, Rows, Site, chunk_bytes},
};
use crate::{
    store::{WordChanges, base::BaseWrite},
    types::{FullText, Index, Table, TreeId, fulltext::WordsBuilder, row},
};

/// What is merged is written in pieces, so many of which have the memory of a build's chunks.
const PIECES: usize = 4;

/// A tree being built.
struct TreeBuilder<'a> {
    site: &'a dyn Site,
    tree: TreeId,
    /// Its name, for duplicates.
    name: &'a str,
    chunk: Chunk,
    /// A chunk is as large, in bytes.
    chunk_bytes: usize,
    /// Whether all entries so far came in their order.
    ascends: bool,
    /// The chunks before, once one had to be sorted.
    runs: Option<Runs>,
    /// Whether there are entries in the tree already.
    begun: bool,
}

impl<'a> TreeBuilder<'a> {
    /// One of so many that are built together.
    fn new(rows: &Rows<'a>, (tree, name): (TreeId, &'a str), together: usize) -> TreeBuilder<'a> {
        TreeBuilder {
            site: rows.site,
            tree,
            name,
            chunk: Chunk::default(),
            chunk_bytes: chunk_bytes(together),
            ascends: true,
            runs: None,
            begun: false,
        }
    }
    /// Adds an entry.
    fn push(&mut self, entry: Sorted<'_>) -> Result<(), TxnError> {
        if self.ascends {
            let before = self.chunk.last();
            self.ascends = before.is_none_or(|before| before.key < entry.key);
        }
        self.chunk.push(entry)?;
        match self.chunk.memory() >= self.chunk_bytes {
            true => self.full(),
            false => Ok(()),
        }
    }
    /// A chunk is full.
    fn full(&mut self) -> Result<(), TxnError> {
        self.sort()?;
        if self.ascends {
            return self.write();
        }
        let runs = match &mut self.runs {
            Some(runs) => runs,
            None => self.runs.insert(Runs::new(self.site.temporary_files())),
        };
        runs.add(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }
    /// All entries are there.
    fn flush(&mut self) -> Result<(), TxnError> {
        self.sort()?;
        let Some(mut runs) = self.runs.take() else {
            return self.write();
        };
        if !self.chunk.is_empty() {
            runs.keep(&self.chunk)?;
        }
        self.chunk = Chunk::default();
        self.site.merges(runs.count());
        let mut merge = runs.merge()?;
        loop {
            merge.fill(&mut self.chunk, chunk_bytes(PIECES))?;
            if self.chunk.is_empty() {
                // Its memory is the next tree's.
                self.chunk = Chunk::default();
                return Ok(());
            }
            let count = self.chunk.len() as u64;
            self.check_unique()?;
            self.write()?;
            self.site.check(count)?;
        }
    }
    /// Has the chunk be in order.
    fn sort(&mut self) -> Result<(), TxnError> {
        if !self.ascends {
            self.chunk.sort();
        }
        self.check_unique()
    }
    fn check_unique(&self) -> Result<(), TxnError> {
        match self.chunk.has_twice() {
            true => Err(self.duplicate()),
            false => Ok(()),
        }
    }
    fn duplicate(&self) -> TxnError {
        TxnError::DuplicateKey {
            index: self.name.to_owned(),
        }
    }
    /// Puts the chunk, which is sorted, into the tree.
    fn write(&mut self) -> Result<(), TxnError> {
        if !self.chunk.is_empty() {
            self.site.change(&mut |write| self.put(write))?;
            self.begun = true;
        }
        self.chunk.clear();
        Ok(())
    }
    fn put(&self, write: &BaseWrite<'_>) -> Result<(), TxnError> {
        let mut tree = write.tree(self.tree)?;
        let Some(first) = self.chunk.iter().next() else {
            return Ok(());
        };
        let is_above = !self.begun || tree.is_below(first.key)?;
        // Of those that are appended only the first can meet one that is there.
        let met = if is_above { 1 } else { self.chunk.len() };
        let unique = |entry: &Sorted<'_>| !entry.unique.is_empty();
        for entry in self.chunk.iter().take(met).filter(unique) {
            if self.begun && tree.has_prefix(entry.unique)? {
                return Err(self.duplicate());
            }
        }
        if is_above {
            tree.append(self.chunk.iter(), |entry| (entry.key, entry.value))?;
        } else {
            // Entries came in their order for a while, and then others between them.
            for entry in self.chunk.iter() {
                tree.put(entry.key, entry.value)?;
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
    let mut builders = Builders::new(rows, (new, fresh), fresh.indexes.len());
    // Texts are taken in the order of their rows.
    let several = match fresh.texts.is_empty() {
        true => gather(rows, (new, &fresh.indexes))?,
        false => None,
    };
    if let Some(runs) = several {
        for ((_, builder), runs) in builders.indexes.iter_mut().zip(runs) {
            builder.runs = Some(runs);
        }
        return builders.flush();
    }
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
    /// Of so many trees that are built together.
    fn new(
        rows: &Rows<'a>,
        (table, fresh): (&'a Table, &Fresh<'a>),
        together: usize,
    ) -> Builders<'a> {
        let index = |index: &&'a Index| {
            let tree = (index.tree, index.name.as_str());
            (*index, TreeBuilder::new(rows, tree, together))
        };
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
            entries_of(self.table, index, (key, image), |entry| builder.push(entry))?;
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
    let fresh = Fresh {
        indexes: new.indexes.iter().collect(),
        texts: new.fulltext.iter().collect(),
    };
    let together = 1 + fresh.indexes.len();
    let mut rows_builder = TreeBuilder::new(rows, (new.rows, "PRIMARY"), together);
    let mut builders = Builders::new(rows, (new, &fresh), together);
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
        rows_builder.push(Sorted {
            key: &key,
            value: &image,
            unique: &key,
        })?;
        builders.push(&key, &image)?;
    }
    rows_builder.flush()?;
    builders.flush()?;
    Ok(next_row)
}
