//! Temporary files: rows that a statement keeps beyond what it may have in memory.

mod codec;

pub(super) use codec::{decode_into, encode};

use super::{ExecContext, Stop};
use crate::error::SqlError;
use cohort_engine::{
    env::{TemporaryError, TemporaryFile},
    types::Value,
};
use std::borrow::Borrow;

/// So many bytes are written at once, ...
const CHUNK: usize = 32 << 10;
/// ... and so many are read first: twice as many each time, as what is read from one place may be one row.
const FIRST: usize = 1 << 10;

/// Rows in a file, appended, and read from any place that was noted.
pub(super) struct RowFile {
    file: TemporaryFile,
    /// What comes after what is in the file.
    buffer: Vec<u8>,
}

impl RowFile {
    /// A new file.
    pub fn create(context: &mut ExecContext) -> Result<RowFile, Stop> {
        let engine = context.engine;
        let file = engine.env().temporary_file(engine.dir()).map_err(failed)?;
        context.handler.tmp_files += 1;
        Ok(RowFile {
            file,
            buffer: Vec::new(),
        })
    }

    /// Where the next row will be.
    pub fn end(&self) -> u64 {
        self.file.len() + self.buffer.len() as u64
    }

    /// Appends a row.
    pub fn push(&mut self, row: &[Value]) -> Result<(), Stop> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        codec::encode(row, &mut self.buffer);
        let length = self.buffer.len() - start - 4;
        let length = u32::try_from(length).map_err(|_| SqlError::out_of_sort_memory())?;
        if let Some(place) = self.buffer.get_mut(start..start + 4) {
            place.copy_from_slice(&length.to_le_bytes());
        }
        if self.buffer.len() >= CHUNK {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Stop> {
        self.file.append(&self.buffer).map_err(failed)?;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the writing.
    pub fn finish(&mut self) -> Result<(), Stop> {
        self.flush()?;
        self.buffer = Vec::new();
        Ok(())
    }

    /// Reads the rows between two places, after `finish`.
    pub fn read(&self, from: u64, to: u64) -> RowReader<&RowFile> {
        RowReader::new(self, from, to)
    }
}

fn failed(error: TemporaryError) -> SqlError {
    SqlError::error_on_write(error.path.display(), error.error)
}

/// Reads rows one after the other.
pub(super) struct RowReader<F> {
    file: F,
    /// What comes after the buffer.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    /// What of the buffer was taken.
    start: usize,
    /// So many bytes are read next.
    chunk: usize,
}

impl<F: Borrow<RowFile>> RowReader<F> {
    /// Reads the rows of a file between two places.
    pub fn new(file: F, from: u64, to: u64) -> RowReader<F> {
        RowReader {
            file,
            at: from,
            end: to,
            buffer: Vec::new(),
            start: 0,
            chunk: FIRST,
        }
    }

    /// The next row; `None`: that was all.
    pub fn next(&mut self) -> Result<Option<Vec<Value>>, Stop> {
        let Some(length) = self.peek(4)?.first_chunk().copied() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(length) as usize;
        let row = self.peek(4 + length)?.get(4..).and_then(codec::decode);
        let row = row.ok_or_else(|| SqlError::internal("a damaged temporary file"))?;
        self.start += 4 + length;
        Ok(Some(row))
    }

    /// Passes over the next row.
    pub fn skip(&mut self) -> Result<(), Stop> {
        if let Some(length) = self.peek(4)?.first_chunk().copied() {
            let length = 4 + u32::from_le_bytes(length) as usize;
            self.peek(length)?;
            self.start += length;
        }
        Ok(())
    }

    /// The next bytes; none if there are not so many.
    fn peek(&mut self, length: usize) -> Result<&[u8], Stop> {
        let held = self.buffer.len() - self.start;
        if held < length {
            self.buffer.drain(..self.start);
            self.start = 0;
            let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            let wanted = (length - held).max(self.chunk).min(left);
            self.chunk = (2 * self.chunk).min(CHUNK);
            self.buffer.resize(held + wanted, 0);
            let place = self.buffer.get_mut(held..).unwrap_or_default();
            let file = self.file.borrow();
            file.file.read(place, self.at).map_err(failed)?;
            self.at += wanted as u64;
        }
        let bytes = self.buffer.get(self.start..self.start + length);
        Ok(bytes.unwrap_or_default())
    }
}

/// Rows that are put off, in files by their hash: each file is then gone through on its own.
#[derive(Default)]
pub(super) struct Partitions {
    /// None at all before the first row comes.
    files: Vec<Option<RowFile>>,
    /// How often these rows were put off already, which chooses the bits of the hash.
    depth: u32,
}

/// Rows that were put off.
pub(super) struct Deferred {
    file: RowFile,
    /// How often.
    pub depth: u32,
}

impl Partitions {
    const BITS: u32 = 4;

    /// Whether no row was put off.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// `depth`: how often the rows that come were put off already.
    pub fn new(depth: u32) -> Partitions {
        Partitions {
            files: Vec::new(),
            depth,
        }
    }

    /// Puts a row off. Rows with equal keys meet again.
    pub fn push(
        &mut self,
        key: &[u8],
        row: &[Value],
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        use std::hash::Hasher;
        if self.files.is_empty() {
            context.handler.tmp_disk_tables += 1;
            self.files.resize_with(1 << Self::BITS, || None);
        }
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write(key);
        let bits = hasher.finish() >> (self.depth * Self::BITS).min(60);
        let at = bits as usize & ((1 << Self::BITS) - 1);
        let Some(place) = self.files.get_mut(at) else {
            return Ok(());
        };
        match place {
            Some(file) => file.push(row),
            None => place.insert(RowFile::create(context)?).push(row),
        }
    }

    /// What was put off.
    pub fn finish(self) -> Result<Vec<Deferred>, Stop> {
        let depth = self.depth + 1;
        let files = self.files.into_iter().flatten();
        files
            .map(|mut file| {
                file.finish()?;
                Ok(Deferred { file, depth })
            })
            .collect()
    }
}

impl Deferred {
    /// Its rows.
    pub fn rows(&self) -> RowReader<&RowFile> {
        self.file.read(0, self.file.end())
    }
}
