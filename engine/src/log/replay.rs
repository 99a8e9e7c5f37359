//! What a transaction did, read from its events; and who is told when a log is opened.

use super::{
    Change, Replayed, Xa,
    event::{self, Event, XaStatement, kind},
    read::Records,
};
use crate::{Seq, types::Xid};

/// Takes the whole transactions that a log has when it is opened.
pub trait Replay: Sync {
    /// What can be said about transactions before all earlier ones are applied.
    type Decoded: Send;
    /// Decodes transactions that follow one another. Called by several threads at once, and ahead
    /// of `apply`: for transactions, too, that are never applied, as something before them is
    /// torn.
    fn decode(&self, transactions: &[Replayed<'_>]) -> Self::Decoded;
    /// Applies transactions, after all earlier ones.
    fn apply(
        &mut self,
        transactions: &[Replayed<'_>],
        decoded: Self::Decoded,
    ) -> Result<(), ReplayError>;
}

/// A transaction that cannot be applied, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// Its number.
    pub seq: Seq,
    /// What is wrong.
    pub why: String,
}

/// Gives one transaction after another to a function.
pub struct InOrder<F>(pub F);

impl<F: FnMut(&Replayed<'_>) + Sync> Replay for InOrder<F> {
    type Decoded = ();
    fn decode(&self, _: &[Replayed<'_>]) {}
    fn apply(&mut self, transactions: &[Replayed<'_>], (): ()) -> Result<(), ReplayError> {
        transactions.iter().for_each(&mut self.0);
        Ok(())
    }
}

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
