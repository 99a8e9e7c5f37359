//! What a transaction did, read from its events.

use super::{
    Change, Xa,
    event::{self, Event, XaStatement, kind},
    read::Records,
};
use crate::types::Xid;

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
                    if text != b"BEGIN" && event::xa_statement(text).is_none() {
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

/// What a transaction's events say about a distributed one.
pub(super) fn xa(events: &[u8]) -> Option<Xa> {
    // The statement that tells comes right after the GTID.
    let (_, rest) = Event::split_first(events)?;
    let (event, _) = Event::split_first(rest)?;
    let statement = (event.kind == kind::QUERY)
        .then(|| event::query(event.body))??
        .1;
    match event::xa_statement(statement)? {
        XaStatement::Start(xid) => Xid::parse(xid).map(Xa::Prepared),
        XaStatement::End => None,
        XaStatement::Commit(xid) => Xid::parse(xid).map(Xa::Committed),
        XaStatement::Rollback(xid) => Xid::parse(xid).map(Xa::RolledBack),
    }
}
