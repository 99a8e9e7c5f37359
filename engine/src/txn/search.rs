//! Looking for words in a FULLTEXT index.
//!
//! What is found is as of the transaction's snapshot (of a locking read, of now): the Base's rows, and
//! over them those that were changed since. A transaction's own changes are not found before it
//! commits, as in InnoDB; a row that it has changed is not found by what it had before either.

use super::{Read, TxnError, transaction::Txn};
use crate::{
    Seq,
    store::{Numbering, Postings, Term, TreeKey, Window, change_row},
    types::{FullText, Table},
};
use std::sync::Arc;

/// Which rows have which words.
#[derive(Debug, Default)]
pub struct Found {
    /// Numbers and keys of rows.
    pub numbering: Numbering,
    /// The rows of each term.
    pub postings: Vec<Postings>,
}

impl Found {
    /// What a single row has, whose words these are, packed.
    pub fn of_row(
        terms: &[Term],
        row_key: &[u8],
        words: &[u8],
        counts: bool,
    ) -> Result<Found, TxnError> {
        let mut found = Found {
            postings: terms.iter().map(|_| Postings::default()).collect(),
            ..Found::default()
        };
        let row = (row_key, Some(words));
        change_row(
            &mut found.postings,
            terms,
            &mut found.numbering,
            row,
            counts,
        )?;
        Ok(found)
    }
}

impl Txn {
    /// The rows that have the words of these terms. `counts`: how often they have them is wanted, too.
    pub fn find_words(
        &mut self,
        table: &Table,
        text: &FullText,
        terms: &[Term],
        counts: bool,
        read: Read,
    ) -> Result<Found, TxnError> {
        let (view, seq) = match read {
            Read::Plain if !self.reads_uncommitted() => {
                self.check_readable(text.index.tree)?;
                let snapshot = self.snapshot();
                (Arc::clone(&snapshot.view), snapshot.seq)
            }
            Read::Plain | Read::Newest | Read::Locking(..) => {
                (self.engine.views.load_full(), Seq::MAX)
            }
        };
        let tree = (text.index.tree, &**text.tokenizer(table));
        let mut found = Found::default();
        for term in terms {
            if self.descriptor.is_killed() {
                return Err(TxnError::Killed);
            }
            let numbering = &mut found.numbering;
            let postings = Postings::read(term, &view.base, tree, numbering, counts)?;
            found.postings.push(postings);
        }
        let Found {
            numbering,
            postings,
        } = &mut found;
        let killed = Arc::clone(&self.descriptor);
        let newest = view.each_changed(tree.0, seq, |row_key, packed| {
            if killed.is_killed() {
                return Err(TxnError::Killed);
            }
            let row = (row_key, packed);
            Ok(change_row(postings, terms, numbering, row, counts)?)
        })?;
        if seq == Seq::MAX {
            self.note_read(newest);
        }
        let window = Window::new(tree.0, &[], None, false);
        self.with_overlay(tree.0, |own| {
            let mut own = own.range::<TreeKey, _>(&window.low..&window.high);
            own.try_for_each(|(key, _)| {
                change_row(postings, terms, numbering, (key.key(), None), counts)
            })
        })?;
        Ok(found)
    }
}
