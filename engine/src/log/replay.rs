//! What a transaction did, read from its events.

use super::{
    Change,
    event::{self, Event, kind},
    read::Records,
};

/// The changes of a transaction whose events were found whole and sound.
pub(super) struct Changes<'a> {
    events: &'a [u8],
    records: Option<Records<'a>>,
}

impl<'a> Changes<'a> {
    pub(super) fn new(events: &'a [u8]) -> Changes<'a> {
        Changes {
            events,
            records: None,
        }
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Change<'a>;

    fn next(&mut self) -> Option<Change<'a>> {
        loop {
            if let Some(record) = self.records.as_mut().and_then(Iterator::next) {
                let (key, value) = record?;
                return Some(Change::Internal { key, value });
            }
            let (event, rest) = Event::split_first(self.events)?;
            self.events = rest;
            match event.kind {
                kind::IGNORABLE => self.records = Some(Records::of(event.body)),
                kind::QUERY => {
                    let (database, text) = event::query(event.body)?;
                    if text != b"BEGIN" {
                        return Some(Change::Query { database, text });
                    }
                }
                _ => {
                    if let Some((table, kind, images)) = event::rows(&event) {
                        return Some(Change::Rows {
                            table,
                            kind,
                            images,
                        });
                    }
                }
            }
        }
    }
}
