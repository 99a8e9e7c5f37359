//! Blocks: some events of a file, read and checked once, for whoever follows the log.

use super::{
    Position,
    event::{CHECKSUM, Event, Flaw, HEADER, kind},
    read::Reader,
};
use crate::{env::File, types::GtidSet};
use std::io;

/// How much of a file is read at once: many may read at the same time, each at a place of its own.
const CHUNK: usize = 64 << 10;

/// Whole events of a file that follow one another, at least one, with right checksums.
pub(super) struct Block {
    start: Position,
    bytes: Vec<u8>,
    /// Transactions are in it that no follower sees.
    hides: bool,
    /// Where in them the event begins with which the file ends, if it is here.
    last: Option<usize>,
}

/// Events of the log that follow one another, each with its checksum.
#[derive(Clone, Copy, Debug)]
pub struct Events<'f>(&'f [u8]);

impl<'f> Events<'f> {
    /// All their bytes.
    #[must_use]
    pub fn bytes(self) -> &'f [u8] {
        self.0
    }
}

impl<'f> Iterator for Events<'f> {
    type Item = &'f [u8];

    fn next(&mut self) -> Option<&'f [u8]> {
        let (event, rest) = Event::split_first(self.0)?;
        let bytes = self.0.get(..event.size);
        self.0 = rest;
        bytes
    }
}

/// The same, taken apart.
fn parsed(mut events: &[u8]) -> impl Iterator<Item = Event<'_>> {
    std::iter::from_fn(move || {
        let (event, rest) = Event::split_first(events)?;
        events = rest;
        Some(event)
    })
}

impl Block {
    /// None, at a place.
    pub(super) fn none(at: Position) -> Block {
        Block::of(at, Vec::new())
    }

    /// Reads the events at a place of a file, of which nothing is read from `end` on: so many as a
    /// chunk has, or the first one, if it is larger.
    pub(super) fn read(file: &File, start: Position, end: u64) -> io::Result<Result<Block, Flaw>> {
        let reader = Reader::new(file, start.offset, end).with_chunk(CHUNK);
        let bytes = reader.whole_events()?;
        Ok(bytes.map(|bytes| Block::of(start, bytes)))
    }

    /// One of these events, which were checked.
    pub(super) fn of(start: Position, bytes: Vec<u8>) -> Block {
        let (mut at, mut hides, mut last) = (0, false, None);
        for event in parsed(&bytes) {
            if matches!(event.kind, kind::ROTATE | kind::STOP) {
                last = Some(at);
            }
            hides |= event.gtid().is_some_and(|gtid| gtid.is_unlisted);
            at += event.size;
        }
        Block {
            start,
            bytes,
            hides,
            last,
        }
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

    /// Whether the file ends with the event that ends at this place.
    pub(super) fn ends_file(&self, at: Position) -> bool {
        self.last.is_some() && at == self.end()
    }

    /// The event at a place; `None`: the place is not in the block. An event must begin there, if it
    /// is.
    pub(super) fn event(&self, at: Position) -> Option<Event<'_>> {
        let bytes = self.bytes_from(at)?;
        // It was checked when it was read.
        let event = Event::parse_header(bytes, at.offset).ok()?;
        let body = bytes.get(HEADER..event.size - CHECKSUM)?;
        Some(Event { body, ..event })
    }

    /// The events from a place on that come before the first transaction without which somebody
    /// follows, who does not see those that are hidden either. The event with which the file ends
    /// is apart from others.
    pub(super) fn events(&self, at: Position, without: &GtidSet) -> Events<'_> {
        let mut bytes = self.bytes_from(at).unwrap_or_default();
        let from = self.bytes.len() - bytes.len();
        if let Some(before) = self.last.and_then(|last| last.checked_sub(from))
            && before > 0
        {
            bytes = bytes.get(..before).unwrap_or_default();
        }
        if !self.hides && without.is_empty() {
            return Events(bytes);
        }
        let is_seen = |event: &Event<'_>| !event.gtid().is_some_and(|gtid| gtid.is_passed(without));
        let length = parsed(bytes).take_while(is_seen).map(|event| event.size);
        Events(bytes.get(..length.sum()).unwrap_or_default())
    }

    /// Whether one of its events begins at a place.
    pub(super) fn begins_event(&self, at: Position) -> bool {
        let mut here = self.start;
        while here < at
            && let Some(event) = self.event(here)
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
