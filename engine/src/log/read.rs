//! Reading files: event after event, and whole transactions.

use super::{
    EventInfo, LogError, batch,
    event::{self, Cursor, Event, Flaw, GtidEvent, HEADER, MAGIC, XaStatement, kind},
    file_name,
    files::Directory,
};
use crate::{
    Seq,
    env::{File, Mode},
};
use std::{borrow::Borrow, io};

/// How much is read at once.
const CHUNK: usize = 4 << 20;

/// A place in a file, and some of the bytes from there on.
pub(super) struct Reader<F> {
    file: F,
    /// What lies from here on is not read.
    end: u64,
    buffer: Vec<u8>,
    /// Where in the file the buffer begins.
    buffer_at: u64,
    /// Where in the buffer the reader is.
    at: usize,
    chunk: usize,
}

impl<F: Borrow<File>> Reader<F> {
    pub(super) fn new(file: F, position: u64, end: u64) -> Reader<F> {
        Reader {
            file,
            end,
            chunk: CHUNK,
            buffer: Vec::new(),
            buffer_at: position,
            at: 0,
        }
    }

    /// One that reads so much at once.
    pub(super) fn with_chunk(self, chunk: usize) -> Reader<F> {
        Reader { chunk, ..self }
    }

    pub(super) fn position(&self) -> u64 {
        self.buffer_at + self.at as u64
    }

    /// The bytes from here on: at least so many, unless the file ends before.
    pub(super) fn bytes(&mut self, wanted: usize) -> io::Result<&[u8]> {
        let have = self.buffer.len() - self.at;
        if have < wanted {
            self.buffer.drain(..self.at);
            // What a large event has needed goes.
            if self.buffer.capacity() > 4 * wanted.max(self.chunk) {
                self.buffer.shrink_to(wanted.max(self.chunk));
            }
            self.buffer_at += self.at as u64;
            self.at = 0;
            let left = self.end.saturating_sub(self.buffer_at + have as u64);
            let more = (wanted - have).max(self.chunk);
            let more = more.min(usize::try_from(left).unwrap_or(usize::MAX));
            self.buffer.resize(have + more, 0);
            let fresh = self.buffer.get_mut(have..).unwrap_or_default();
            let got = self
                .file
                .borrow()
                .read_at(fresh, self.buffer_at + have as u64)?;
            self.buffer.truncate(have + got);
        }
        Ok(self.buffer.get(self.at..).unwrap_or_default())
    }

    /// Goes on; the bytes must have been looked at.
    pub(super) fn skip(&mut self, count: usize) {
        self.at = (self.at + count).min(self.buffer.len());
    }

    /// Bytes that were looked at, and goes on behind them.
    pub(super) fn take(&mut self, count: usize) -> &[u8] {
        let from = self.at;
        self.skip(count);
        self.buffer.get(from..self.at).unwrap_or_default()
    }

    /// The event here.
    pub(super) fn event(&mut self) -> io::Result<Result<Event<'_>, Flaw>> {
        let position = self.position();
        let bytes = self.bytes(HEADER)?;
        let size = match Event::parse_header(bytes, position) {
            Ok(event) => event.size,
            Err(flaw) => return Ok(Err(flaw)),
        };
        Ok(Event::parse(self.bytes(size)?, position))
    }

    /// The bytes of the events from here on that are read at once: at least one.
    pub(super) fn whole_events(mut self) -> io::Result<Result<Vec<u8>, Flaw>> {
        let mut size = match self.event()? {
            Ok(event) => event.size,
            Err(flaw) => return Ok(Err(flaw)),
        };
        loop {
            self.skip(size);
            let bytes = self.buffer.get(self.at..).unwrap_or_default();
            // What is not whole yet, or damaged, is for whoever comes to it.
            match Event::parse(bytes, self.position()) {
                Ok(event) => size = event.size,
                Err(_) => break,
            }
        }
        self.buffer.truncate(self.at);
        Ok(Ok(self.buffer))
    }
}

/// Why no whole transaction is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// ROTATE or STOP: the file ends with it, at this position.
    End(u64),
    /// The event at this position is not whole.
    Flaw(u64),
    /// The event at this position is whole, but not what Cohort writes there.
    Foreign(u64, &'static str),
    /// The commit at this position has this number, which is not the next one.
    Gap(u64, Seq),
}

impl<F: Borrow<File>> Reader<F> {
    /// The whole transaction here, of `GtidEvent::length` bytes, without going on.
    pub(super) fn next(&mut self) -> io::Result<Result<GtidEvent, Stop>> {
        let start = self.position();
        let left = self.end.saturating_sub(start);
        let gtid = match transaction_begins(self.event()?, start) {
            Ok(gtid) => gtid,
            Err(stop) => return Ok(Err(stop)),
        };
        let length = usize::try_from(gtid.length.min(left)).unwrap_or(usize::MAX);
        let bytes = self.bytes(length)?;
        let events = bytes.get(..length).unwrap_or_default();
        Ok(if gtid.length > left {
            Err(torn(events, start))
        } else {
            whole(events, start).map(|_| gtid)
        })
    }
}

/// What the event at `position` says of the transaction that begins there.
pub(super) fn transaction_begins(
    event: Result<Event<'_>, Flaw>,
    position: u64,
) -> Result<GtidEvent, Stop> {
    let event = event.map_err(|_| Stop::Flaw(position))?;
    let gtid = match event.kind {
        kind::ROTATE | kind::STOP => return Err(Stop::End(position + event.size as u64)),
        kind::GTID => GtidEvent::decode(event.body).filter(|g| g.length >= event.size as u64),
        _ => return Err(Stop::Foreign(position, "no transaction begins here")),
    };
    let foreign = "this is no GTID event of Cohort's";
    gtid.ok_or(Stop::Foreign(position, foreign))
}

/// The flaw in a transaction that claims to be longer than the file, which ends with `events`.
pub(super) fn torn(events: &[u8], position: u64) -> Stop {
    match whole(events, position) {
        Err(Stop::Flaw(at)) => Stop::Flaw(at),
        _ => Stop::Flaw(position + events.len() as u64),
    }
}

/// Whether `bytes`, at `position`, are exactly the events of one transaction; whether it does
/// nothing but change rows.
pub(super) fn whole(mut bytes: &[u8], mut position: u64) -> Result<bool, Stop> {
    let (mut first, mut only_rows) = (true, true);
    // Behind a BEGIN stands the statement that makes the table of the rows, perhaps.
    let mut begun = false;
    loop {
        let event = Event::parse(bytes, position).map_err(|_| Stop::Flaw(position))?;
        let foreign = |why| Err(Stop::Foreign(position, why));
        let sound = match event.kind {
            kind::GTID => first,
            kind::QUERY => event::query(event.body).is_some_and(|(_, text)| {
                only_rows &= text == b"BEGIN";
                true
            }),
            kind::WRITE_ROWS | kind::UPDATE_ROWS | kind::DELETE_ROWS => {
                event::rows(&event).is_some()
            }
            kind::IGNORABLE => {
                only_rows = false;
                Records::of(event.body).all(|record| record.is_some())
            }
            kind::XA_PREPARE => event::prepared_xid(event.body).is_some(),
            kind::TABLE_MAP | kind::XID => true,
            _ => return foreign("an event of this type has no place in a transaction"),
        };
        if !sound {
            return foreign("its fields do not fit its type");
        }
        bytes = bytes.get(event.size..).unwrap_or_default();
        let ends = match event.kind {
            kind::XID | kind::XA_PREPARE => true,
            kind::QUERY => event::query(event.body).is_some_and(|(_, text)| {
                let ends = !begun && is_whole(text);
                begun |= text == b"BEGIN";
                ends
            }),
            _ => false,
        };
        match (ends, bytes.is_empty()) {
            (true, true) => return Ok(only_rows),
            (true, false) => return foreign("the transaction ends before its length"),
            (false, true) => return foreign("the transaction goes on beyond its length"),
            (false, false) => {}
        }
        position += event.size as u64;
        first = false;
    }
}

/// Whether a statement is a transaction by itself.
fn is_whole(text: &[u8]) -> bool {
    match event::xa_statement(text) {
        None => text != b"BEGIN",
        Some(XaStatement::Start(_) | XaStatement::End) => false,
        Some(XaStatement::Commit(_) | XaStatement::Rollback(_)) => true,
    }
}

/// The records of one of Cohort's own events; `None` for bytes that are none.
pub(super) struct Records<'a>(Option<Cursor<'a>>);

impl<'a> Records<'a> {
    pub(super) fn of(body: &'a [u8]) -> Records<'a> {
        match body.split_first() {
            Some((&batch::RECORDS_VERSION, records)) => Records(Some(Cursor(records))),
            // A version to come: one bad record.
            _ => Records(Some(Cursor(&[0xff]))),
        }
    }
}

/// A key and its value, or that it was deleted.
pub(super) type Record<'a> = (&'a [u8], Option<&'a [u8]>);

impl<'a> Iterator for Records<'a> {
    type Item = Option<Record<'a>>;

    fn next(&mut self) -> Option<Option<Record<'a>>> {
        let mut cursor = self.0.filter(|cursor| !cursor.0.is_empty())?;
        let mut record = || {
            let key = cursor.lenenc_bytes()?;
            let put = cursor.u8()?;
            let value = cursor.lenenc_bytes()?;
            Some((key, (put != 0).then_some(value)))
        };
        let record = record();
        self.0 = record.map(|_| cursor);
        Some(record)
    }
}

/// SHOW BINLOG EVENTS: the events of a file of which the first `size` bytes are written.
pub(super) fn events(
    directory: &Directory,
    number: u64,
    size: u64,
    from: u64,
    limit: usize,
) -> Result<Vec<EventInfo>, LogError> {
    let name = file_name(number);
    let failed = |error: io::Error| LogError::Failed(format!("cannot read {name}: {error}"));
    let file = directory.open(number, Mode::Existing).map_err(failed)?;
    let mut reader = Reader::new(&file, from.max(MAGIC.len() as u64), size);
    let mut events = Vec::new();
    while events.len() < limit && reader.position() < size {
        let position = reader.position();
        let event = match reader.event().map_err(failed)? {
            Ok(event) => event,
            // A caller's position; ours begin where events do.
            Err(_) => {
                return Err(LogError::Failed(format!(
                    "no event begins at position {position} of {name}"
                )));
            }
        };
        let (event_type, info) = event::describe(&event);
        let length = event.size;
        events.push(EventInfo {
            position,
            event_type,
            server_id: event.server_id,
            end: position + length as u64,
            info,
        });
        reader.skip(length);
    }
    Ok(events)
}
