//! Rows that are read again and from any place: those of a partition, of a computed table, of a hash
//! table. The first ones are in memory as they are, those that follow as bytes, which take much less room and
//! a little more time. Those beyond what may be kept in memory are in a temporary file; where one row in
//! eight begins there is in memory.

use super::{
    ExecContext, Stop,
    memory::{self, Memory},
    temporary::{RowFile, RowReader, decode_into, encode},
};
use cohort_engine::{
    invariant::{Broken, broken},
    types::Value,
};
use std::sync::Arc;

/// Of so many rows in the file the first one's place is kept.
const BLOCK: usize = 8;

/// Rows that come.
#[derive(Default)]
pub(super) struct RowStore {
    /// The first rows.
    rows: Vec<Vec<Value>>,
    memory: Memory,
    /// Those that follow.
    packed: Packed,
    /// Those that follow them, once memory is full.
    file: Option<RowFile>,
    /// How many those are.
    in_file: usize,
    /// Where each block of them begins.
    blocks: Vec<u64>,
}

impl RowStore {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row, to those in memory if these take no more than so many bytes. They are as they are as
    /// long as they take no more than one operator may keep.
    pub fn push(
        &mut self,
        row: Vec<Value>,
        memory_bytes: usize,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        if self.file.is_none() && !self.memory.is_beyond(memory_bytes) {
            let is_packed = !self.packed.starts.is_empty();
            if is_packed || self.memory.is_beyond(context.table_bytes) {
                self.memory.add(self.packed.push(&row)?);
            } else {
                self.memory.add(memory::size(&row));
                self.rows.push(row);
            }
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                context.handler.tmp_disk_tables += 1;
                self.file.insert(RowFile::create(context)?)
            }
        };
        if self.in_file.is_multiple_of(BLOCK) {
            self.blocks.push(file.end());
        }
        self.in_file += 1;
        file.push(&row)
    }

    /// Ends the adding.
    pub fn finish(mut self) -> Result<Rows, Stop> {
        if let Some(file) = &mut self.file {
            file.finish()?;
        }
        Ok(Rows {
            rows: self.rows,
            packed: self.packed,
            file: self.file.map(Arc::new),
            in_file: self.in_file,
            blocks: self.blocks,
        })
    }
}

/// Rows as bytes, in memory.
#[derive(Default)]
struct Packed {
    bytes: Vec<u8>,
    /// Where each begins.
    starts: Vec<u32>,
}

impl Packed {
    /// Adds a row; returns how many bytes it takes.
    fn push(&mut self, row: &[Value]) -> Result<usize, Broken> {
        let start = self.bytes.len();
        let beyond = |_| broken("no more is kept in memory than a u32 can number");
        self.starts.push(u32::try_from(start).map_err(beyond)?);
        encode(row, &mut self.bytes);
        Ok(self.bytes.len() - start + size_of::<u32>())
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        let start = |at: usize| self.starts.get(at).map(|start| *start as usize);
        let end = start(at + 1).unwrap_or(self.bytes.len());
        self.bytes.get(start(at)?..end)
    }
}

/// Rows that are all there.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<Vec<Value>>,
    packed: Packed,
    file: Option<Arc<RowFile>>,
    in_file: usize,
    blocks: Vec<u64>,
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
    /// The row that was read last, and which one it is of those in the file, if it is.
    row: Vec<Value>,
    at: Option<usize>,
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len() + self.packed.starts.len() + self.in_file
    }

    /// A row, by way of a cursor.
    pub fn get<'r>(&'r self, at: usize, cursor: &'r mut Cursor) -> Result<&'r [Value], Stop> {
        if let Some(row) = self.rows.get(at) {
            return Ok(row);
        }
        let at = at - self.rows.len();
        if let Some(bytes) = self.packed.get(at) {
            cursor.at = None;
            decode_into(bytes, &mut cursor.row).ok_or_else(missing)?;
            return Ok(&cursor.row);
        }
        let in_file = at - self.packed.starts.len();
        if cursor.at != Some(in_file) {
            self.read(in_file, cursor)?;
        }
        Ok(&cursor.row)
    }

    fn read(&self, at: usize, cursor: &mut Cursor) -> Result<(), Stop> {
        let file = self.file.as_ref().ok_or_else(missing)?;
        let follows = at > 0 && cursor.at == Some(at - 1);
        let reader = match &mut cursor.reader {
            Some(reader) if follows => reader,
            other => {
                let from = *self.blocks.get(at / BLOCK).ok_or_else(missing)?;
                let reader = other.insert(RowReader::new(Arc::clone(file), from, file.end()));
                for _ in 0..at % BLOCK {
                    reader.skip()?;
                }
                reader
            }
        };
        cursor.row = reader.next()?.ok_or_else(missing)?;
        cursor.at = Some(at);
        Ok(())
    }
}

fn missing() -> Broken {
    broken("a row is read that is not there")
}
