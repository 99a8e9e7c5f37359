//! What transactions did, read from their events.

use super::{
    Position,
    event::{self, Event, RowsKind, XaStatement, kind},
    read::Records,
};
use crate::{Seq, types::Xid};

/// A whole transaction, read back from the log.
pub struct Replayed<'a> {
    /// Its number.
    pub seq: Seq,
    /// When it was committed, in microseconds since 1970.
    pub committed_micros: u64,
    /// Where it begins; a recovery can begin here that needs this commit and later ones.
    pub position: Position,
    /// It does nothing but change rows of tables that have a primary key.
    pub only_rows: bool,
    /// Its events; all were found whole.
    pub(super) events: &'a [u8],
}

impl<'a> Replayed<'a> {
    /// What it did, in order.
    pub fn changes(&self) -> impl Iterator<Item = Change<'a>> + use<'a> {
        changes(self.events)
    }
    /// Its events, for the function `changes`.
    pub fn events(&self) -> &'a [u8] {
        self.events
    }
    /// What it says about a distributed transaction; `None`: it is none.
    pub fn xa(&self) -> Option<Xa> {
        xa(self.events)
    }
}

/// What a transaction's events did, in order. The events must be whole.
pub fn changes(events: &[u8]) -> impl Iterator<Item = Change<'_>> {
    Changes::new(events)
}

/// A step of a distributed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Xa {
    /// Its changes are in the log, but not made yet.
    Prepared(Xid),
    /// They are made.
    Committed(Xid),
    /// They never will be.
    RolledBack(Xid),
}

/// A part of a replayed transaction. Borrows the buffer it was read into.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// Row changes of one table.
    Rows {
        /// `Table::id`.
        table: u64,
        /// What was done to them.
        kind: RowsKind,
        /// Row images, one after another (`types::row::hidden::length` tells where each ends); for
        /// updates the image before and the one after, in turn.
        images: &'a [u8],
    },
    /// An internal record, put or (`None`) deleted.
    Internal {
        /// Its key.
        key: &'a [u8],
        /// Its value.
        value: Option<&'a [u8]>,
    },
    /// A DDL statement.
    Query {
        /// The session's default database.
        database: &'a [u8],
        /// The statement.
        text: &'a [u8],
    },
}

/// The changes of a transaction whose events were found whole and sound.
struct Changes<'a> {
    events: &'a [u8],
    records: Option<Records<'a>>,
}

impl<'a> Changes<'a> {
    fn new(events: &'a [u8]) -> Changes<'a> {
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
fn xa(events: &[u8]) -> Option<Xa> {
    // The statement that tells comes right after the GTID and our own records.
    let (_, mut rest) = Event::split_first(events)?;
    let event = loop {
        let (event, behind) = Event::split_first(rest)?;
        if event.kind != kind::IGNORABLE {
            break event;
        }
        rest = behind;
    };
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
