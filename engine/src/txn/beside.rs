//! What the log has of rows beside their images, in internal records of their transaction: the
//! numbers of rows whose table has no primary key, and the values of hidden columns.
//!
//! A table has a record of each kind, for all changes of the transaction in their order. They come
//! after the rows in the log, but are needed before.

use super::{TxnError, entry::malformed};
use crate::{
    log::{self, Batch},
    types::{IdMap, Table, TableId, row::hidden},
};
use std::borrow::Cow;

/// The record that holds the hidden row numbers of changes, 8 bytes little endian each: this byte and
/// the table's number, 4 bytes big endian.
pub(super) const ROW_NUMBERS: u8 = b'n';

/// The record that holds the images of hidden columns, of each row before and after its change: this
/// byte and the table's number, 4 bytes big endian.
pub(super) const HIDDEN: u8 = b'h';

/// The key of a table's record of this kind.
pub(super) fn key(kind: u8, table: TableId) -> [u8; 5] {
    let [a, b, c, d] = table.to_be_bytes();
    [kind, a, b, c, d]
}

/// The records of one table that are being made.
#[derive(Default)]
pub(super) struct Besides {
    numbers: Vec<u8>,
    hidden: Vec<u8>,
}

impl Besides {
    /// Notes the number of a row; 0: it has none.
    pub fn number(&mut self, number: u64) {
        if number != 0 {
            self.numbers.extend_from_slice(&number.to_le_bytes());
        }
    }
    /// What a rows event has of an image; the rest is noted. What is not there, before an insert for
    /// instance, has none.
    pub fn cut<'i>(&mut self, table: &Table, image: &'i [u8]) -> Result<Cow<'i, [u8]>, TxnError> {
        if image.is_empty() {
            return Ok(Cow::Borrowed(image));
        }
        hidden::cut(table, image, &mut self.hidden).map_err(|_| malformed(table))
    }
    /// Puts what there is into a transaction.
    pub fn record(self, table: TableId, batch: &mut Batch) {
        for (kind, bytes) in [(ROW_NUMBERS, self.numbers), (HIDDEN, self.hidden)] {
            if !bytes.is_empty() {
                batch.internal(&key(kind, table), Some(&bytes));
            }
        }
    }
}

/// The records of one table, of which the changes take theirs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside<'a> {
    numbers: &'a [u8],
    hidden: &'a [u8],
}

impl Beside<'_> {
    /// The hidden number of the row that changes next, for a table without primary key.
    pub fn take_number(&mut self, table: &Table) -> Option<u64> {
        if table.primary.is_some() {
            return None;
        }
        let (number, rest) = self.numbers.split_first_chunk::<8>()?;
        self.numbers = rest;
        Some(u64::from_le_bytes(*number))
    }
    /// Cuts one image off the front of those of a rows event and completes it.
    pub fn take_image<'i>(
        &mut self,
        table: &Table,
        images: &mut &'i [u8],
    ) -> Result<Cow<'i, [u8]>, TxnError> {
        let malformed = || malformed(table);
        let length = hidden::length(table, images).map_err(|_| malformed())?;
        let (image, rest) = images.split_at_checked(length).ok_or_else(malformed)?;
        *images = rest;
        hidden::joined(table, image, &mut self.hidden).map_err(|_| malformed())
    }
}

/// What a transaction's events record, by table.
pub(super) fn of_events(events: &[u8]) -> IdMap<Beside<'_>> {
    let mut besides: IdMap<Beside<'_>> = IdMap::default();
    for change in log::changes(events) {
        if let log::Change::Internal { key, value } = change
            && let Some((kind, id)) = key.split_first()
        {
            let id = id.try_into().map_or(0, TableId::from_be_bytes);
            let value = value.unwrap_or_default();
            match *kind {
                ROW_NUMBERS => besides.entry(id).or_default().numbers = value,
                HIDDEN => besides.entry(id).or_default().hidden = value,
                _ => {}
            }
        }
    }
    besides
}
