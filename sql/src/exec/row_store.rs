//! Rows that are read again and from any place: those of a partition, of a computed table, of a hash
//! table. They are in memory, and, beyond what may be kept there, in a temporary file, with the place of
//! each row.

use super::{
    ExecContext, Stop,
    memory::{self, Memory},
    temporary::{RowFile, RowReader},
};
use crate::error::SqlError;
use cohort_engine::types::Value;
use std::sync::Arc;

/// Rows that come.
#[derive(Default)]
pub(super) struct RowStore {
    /// The first rows.
    rows: Vec<Vec<Value>>,
    memory: Memory,
    /// Those that follow, once memory is full.
    file: Option<RowFile>,
    /// Where each of those begins.
    places: Vec<u64>,
}

impl RowStore {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row, to those in memory if these take no more than so many bytes.
    pub fn push(
        &mut self,
        row: Vec<Value>,
        memory_bytes: usize,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        if self.places.is_empty() && !self.memory.is_beyond(memory_bytes) {
            self.memory.take(memory::size(&row))?;
            self.rows.push(row);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                context.handler.tmp_disk_tables += 1;
                self.file.insert(RowFile::create(context)?)
            }
        };
        self.memory.take(size_of::<u64>())?;
        self.places.push(file.end());
        file.push(&row)
    }

    /// Ends the adding.
    pub fn finish(mut self) -> Result<Rows, Stop> {
        if let Some(file) = &mut self.file {
            file.finish()?;
        }
        Ok(Rows {
            rows: self.rows,
            file: self.file.map(Arc::new),
            places: self.places,
        })
    }
}

/// Rows that are all there.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<Vec<Value>>,
    file: Option<Arc<RowFile>>,
    places: Vec<u64>,
}

impl From<Vec<Vec<Value>>> for Rows {
    fn from(rows: Vec<Vec<Value>>) -> Rows {
        Rows {
            rows,
            ..Rows::default()
        }
    }
}

/// A place among rows that moves on, mostly to the next one.
#[derive(Default)]
pub(super) struct Cursor {
    reader: Option<RowReader<Arc<RowFile>>>,
    /// The row in the file that was read last, and which it is.
    row: Vec<Value>,
    at: Option<usize>,
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len() + self.places.len()
    }

    /// A row, by way of a cursor.
    pub fn get<'r>(&'r self, at: usize, cursor: &'r mut Cursor) -> Result<&'r [Value], Stop> {
        if let Some(row) = self.rows.get(at) {
            return Ok(row);
        }
        let in_file = at - self.rows.len();
        if cursor.at != Some(in_file) {
            self.read(in_file, cursor)?;
        }
        Ok(&cursor.row)
    }

    fn read(&self, at: usize, cursor: &mut Cursor) -> Result<(), Stop> {
        let missing = || SqlError::internal("a row is read that is not there");
        let file = self.file.as_ref().ok_or_else(missing)?;
        let from = *self.places.get(at).ok_or_else(missing)?;
        let follows = at > 0 && cursor.at == Some(at - 1);
        let reader = match &mut cursor.reader {
            Some(reader) if follows => reader,
            other => other.insert(RowReader::new(Arc::clone(file), from, file.end())),
        };
        cursor.row = reader.next()?.ok_or_else(missing)?;
        cursor.at = Some(at);
        Ok(())
    }
}
