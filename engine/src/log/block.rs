//! Blocks: some events of a file, read and checked once, for whoever follows the log.

use super::{
    Position,
    event::{CHECKSUM, Event, Flaw, HEADER},
    read::Reader,
};
use crate::env::File;
use std::io;

/// How much of a file is read at once: many may read at the same time, each at a place of its own.
const CHUNK: usize = 64 << 10;

/// Whole events of a file that follow one another, at least one, with right checksums.
pub(super) struct Block {
    start: Position,
    bytes: Vec<u8>,
}

impl Block {
    /// None, at a place.
    pub(super) fn none(at: Position) -> Block {
        Block {
            start: at,
            bytes: Vec::new(),
        }
    }

    /// Reads the events at a place of a file, of which nothing is read from `end` on: so many as a
    /// chunk has, or the first one, if it is larger.
    pub(super) fn read(file: &File, start: Position, end: u64) -> io::Result<Result<Block, Flaw>> {
        let reader = Reader::new(file, start.offset, end).with_chunk(CHUNK);
        let bytes = reader.whole_events()?;
        Ok(bytes.map(|bytes| Block { start, bytes }))
    }

    /// One of these events.
    #[cfg(test)]
    pub(super) fn of(start: Position, bytes: Vec<u8>) -> Block {
        Block { start, bytes }
    }

    pub(super) fn start(&self) -> Position {
        self.start
    }

    /// Where the last of them ends.
    pub(super) fn end(&self) -> Position {
        Position {
            offset: self.start.offset + self.bytes.len() as u64,
            ..self.start
        }
    }

    /// How much memory it takes, in bytes.
    pub(super) fn size(&self) -> usize {
        size_of::<Block>() + self.bytes.capacity()
    }

    /// The event at a place, and its bytes; `None`: the place is not in the block. An event must
    /// begin there, if it is.
    pub(super) fn event(&self, at: Position) -> Option<(Event<'_>, &[u8])> {
        let bytes = self.bytes_from(at)?;
        // It was checked when it was read.
        let event = Event::parse_header(bytes, at.offset).ok()?;
        let whole = bytes.get(..event.size)?;
        let body = whole.get(HEADER..event.size - CHECKSUM)?;
        Some((Event { body, ..event }, whole))
    }

    /// Whether one of its events begins at a place.
    pub(super) fn begins_event(&self, at: Position) -> bool {
        let mut here = self.start;
        while here < at
            && let Some((event, _)) = self.event(here)
        {
            here.offset += event.size as u64;
        }
        here == at && self.bytes_from(at).is_some_and(|bytes| !bytes.is_empty())
    }

    fn bytes_from(&self, at: Position) -> Option<&[u8]> {
        let from = at.offset.checked_sub(self.start.offset)?;
        let from = usize::try_from(from).ok()?;
        let is_here = at.file == self.start.file && from < self.bytes.len();
        self.bytes.get(from..).filter(|_| is_here)
    }
}
