//! CHECK TABLE: reads a table and its indexes, and compares them.
//!
//! Everything is read as of one moment, and what is on disk is read from there, not from the page
//! cache of the Base: as long as a good copy of a page is in memory nobody else would notice that
//! the one on disk is bad.
//!
//! That an index has the entries of the rows and no others is found without a look-up for each of
//! them: entries are hashed, and the sums of the hashes compared, as they would be in any order.

use super::{
    Engine, Isolation, TxnError, TxnOptions,
    entry::{Entry, has_null, primary_key, row_key_start},
    owner::Owner,
    transaction::Txn,
};
use crate::{
    Seq,
    store::{Batch, Cursor, Overlay, View, Window, each_entry},
    types::{
        FullText, Index, Table, TreeId,
        fulltext::{Words, WordsBuilder},
        row,
    },
};
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// Entries of an index, in any order.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    hashes: u64,
}

impl Sum {
    fn add(&mut self, key: &[u8]) {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(hasher.finish());
    }
    /// A row has a word so often.
    fn add_word(&mut self, word: &[u8], row_key: &[u8], count: u32) {
        let count = count.to_le_bytes();
        self.add(&[word, row_key, &count].concat());
    }
}

/// What a check of a table found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableReport {
    /// How many rows it could read.
    pub rows: u64,
    /// What is wrong, a sentence each; none: the table is sound.
    pub problems: Vec<String>,
}

impl Engine {
    /// Reads the table and its indexes as they are now. `pause` is called after each few hundred
    /// entries. Fails if the session was killed, or the table is gone.
    pub fn check_table(
        &self,
        owner: &Arc<Owner>,
        table: &Arc<Table>,
        lock_wait_ms: u64,
        mut pause: impl FnMut(),
    ) -> Result<TableReport, TxnError> {
        let mut txn = self.begin(
            owner,
            TxnOptions {
                isolation: Isolation::RepeatableRead,
                read_only: true,
                lock_wait_ms,
                table_lock_wait_ms: lock_wait_ms,
            },
        );
        let text: Arc<str> = Arc::from(format!("CHECK TABLE {}.{}", table.database, table.name));
        txn.start_statement(&text);
        let table = txn.use_table(table, false)?.ok_or(TxnError::TableChanged)?;
        let mut report = TableReport::default();
        let no_checkpoint = self.inner.checkpointer.exclusive.lock();
        self.inner.mend_base()?;
        let found = view_from_disk(&mut txn);
        drop(no_checkpoint);
        let (view, seq) = match found {
            Ok(found) => found,
            Err(error) => {
                report.problems.push(error.to_string());
                return Ok(report);
            }
        };
        let mut check = Check {
            txn: &txn,
            table: &table,
            view,
            seq,
            pause: &mut pause,
            report,
        };
        check.table()?;
        Ok(check.report)
    }
}

/// What the transaction sees, the Base's part of it from the disk. No change of it is under way, so that
/// what is on disk is what the view has.
fn view_from_disk(txn: &mut Txn) -> Result<(Arc<View>, Seq), TxnError> {
    let engine = Arc::clone(&txn.engine);
    let snapshot = txn.snapshot().clone();
    let view = View {
        base: Arc::new(engine.base.snapshot_from_disk(&snapshot.view.base)?),
        ..View::clone(&snapshot.view)
    };
    Ok((Arc::new(view), snapshot.seq))
}

struct Check<'a> {
    txn: &'a Txn,
    table: &'a Table,
    view: Arc<View>,
    seq: Seq,
    pause: &'a mut dyn FnMut(),
    report: TableReport,
}

impl Check<'_> {
    fn problem(&mut self, what: String) {
        /// A table of which nothing is right need not fill the client's memory.
        const MAX: usize = 100;
        if self.report.problems.len() < MAX {
            self.report.problems.push(what);
        }
    }
    fn table(&mut self) -> Result<(), TxnError> {
        let table = self.table;
        let mut expected = vec![Sum::default(); table.indexes.len()];
        let mut words = vec![Sum::default(); table.fulltext.len()];
        let read = self.scan(table.rows, |check, key, image| {
            check.report.rows += 1;
            if let Some(wrong) = row_problem(table, (key, image), &mut expected, &mut words) {
                check.problem(wrong);
            }
        })?;
        for (index, expected) in table.indexes.iter().zip(expected) {
            let found = self.index(index)?;
            // Without all rows it is not known which entries there must be.
            if let (true, Some(found)) = (read, found.filter(|found| *found != expected)) {
                let name = &index.name;
                self.differs(name, found, expected);
            }
        }
        for (text, expected) in table.fulltext.iter().zip(words) {
            let found = self.words(text)?;
            if let (true, Some(found)) = (read, found.filter(|found| *found != expected)) {
                self.differs(&text.index.name, found, expected);
            }
        }
        Ok(())
    }
    fn differs(&mut self, index: &str, found: Sum, expected: Sum) {
        let (has, wanted) = (found.count, expected.count);
        self.problem(match has == wanted {
            true => format!("index {index} has other entries than the rows"),
            false => format!("index {index} has {has} entries, the rows make {wanted}"),
        });
    }
    /// The words of a FULLTEXT index; `None` if not all could be read.
    fn words(&mut self, text: &FullText) -> Result<Option<Sum>, TxnError> {
        const AT_ONCE: u64 = 4096;
        let tree = (text.index.tree, &**text.tokenizer(self.table));
        let view = Arc::clone(&self.view);
        let mut sum = Sum::default();
        let mut changed = HashSet::new();
        view.each_changed(tree.0, self.seq, |row_key, packed| {
            changed.insert(row_key.to_vec());
            let words = packed.map(|packed| Words::new(packed).ok_or_else(|| damaged_words(text)));
            for (word, count) in words.transpose()?.iter().flat_map(Words::iter) {
                sum.add_word(word, row_key, count);
            }
            Ok::<(), TxnError>(())
        })?;
        let mut entries = 0_u64;
        let read = each_entry(&view.base, tree, |word, row_key, count| {
            if !changed.contains(row_key) {
                sum.add_word(word, row_key, count);
            }
            entries += 1;
            match entries.is_multiple_of(AT_ONCE) {
                true => self.rest(),
                false => Ok(()),
            }
        });
        match read {
            Ok(()) => Ok(Some(sum)),
            Err(TxnError::Killed) => Err(TxnError::Killed),
            Err(error) => self.not_read(error).map(|()| None),
        }
    }
    /// What could not be read is a problem of the table, unless it may be written over.
    fn not_read(&mut self, error: TxnError) -> Result<(), TxnError> {
        if self.view.base.is_lost() {
            return Err(error);
        }
        self.problem(error.to_string());
        Ok(())
    }
    /// Lets others have their turn.
    fn rest(&mut self) -> Result<(), TxnError> {
        self.txn.descriptor.waiting.offer(false);
        if self.txn.descriptor.is_killed() {
            return Err(TxnError::Killed);
        }
        (self.pause)();
        Ok(())
    }
    /// The entries of an index; `None` if not all could be read.
    fn index(&mut self, index: &Index) -> Result<Option<Sum>, TxnError> {
        let table = self.table;
        let mut sum = Sum::default();
        let mut before: Vec<u8> = Vec::new();
        let read = self.scan(index.tree, |check, key, _| {
            sum.add(key);
            let name = &index.name;
            match row_key_start(table, index, key) {
                Err(error) => check.problem(error.to_string()),
                Ok(start) => {
                    let parts = key.get(..start).unwrap_or_default();
                    let twice = index.unique && !before.is_empty() && parts == before;
                    if twice && !has_null(table, index, parts) {
                        check.problem(format!("unique index {name} has an entry twice"));
                    }
                    before.clear();
                    before.extend_from_slice(parts);
                }
            }
        })?;
        Ok(read.then_some(sum))
    }
    /// Gives all entries of a tree to `look`; false if not all can be read.
    fn scan(
        &mut self,
        tree: TreeId,
        mut look: impl FnMut(&mut Self, &[u8], &[u8]),
    ) -> Result<bool, TxnError> {
        const AT_ONCE: usize = 256;
        let window = Window::new(tree, &[], None, false);
        let mut cursor = Cursor::new(Arc::clone(&self.view), self.seq, window);
        let mut last: Vec<u8> = Vec::new();
        loop {
            let mut batch = Batch::default();
            if let Err(error) = cursor.next(&Overlay::new(), &mut batch, AT_ONCE) {
                self.not_read(error.into())?;
                return Ok(false);
            }
            if batch.is_empty() {
                return Ok(true);
            }
            for place in 0..batch.len() {
                let (key, value) = batch.get(place);
                if !last.is_empty() && *key <= *last {
                    self.problem("the entries of a tree are not in order".to_owned());
                }
                last.clear();
                last.extend_from_slice(key);
                look(self, key, value);
            }
            self.rest()?;
        }
    }
}

fn damaged_words(text: &FullText) -> TxnError {
    TxnError::Corrupt(format!("damaged words in index {}", text.index.name))
}

/// What is wrong with a row; adds the entries it has in the indexes.
fn row_problem(
    table: &Table,
    (key, image): (&[u8], &[u8]),
    sums: &mut [Sum],
    words: &mut [Sum],
) -> Option<String> {
    if !row::is_sound(table, image) {
        return Some("a row does not fit the table's definition".to_owned());
    }
    match primary_key(table, image) {
        Err(error) => return Some(error.to_string()),
        Ok(Some(primary)) if primary != key => {
            return Some("a row is stored under another key than its own".to_owned());
        }
        Ok(_) => {}
    }
    for (index, sum) in table.indexes.iter().zip(sums) {
        match Entry::derive(table, index, image, key) {
            Ok(entries) => entries.iter().for_each(|entry| sum.add(&entry.key)),
            Err(error) => return Some(error.to_string()),
        }
    }
    for (text, sum) in table.fulltext.iter().zip(words) {
        let mut found = WordsBuilder::default();
        if row::words(table, text, image, &mut found).is_err() {
            return Some(super::entry::malformed(table).to_string());
        }
        for (word, count) in found.counted() {
            sum.add_word(word, key, count);
        }
    }
    None
}
