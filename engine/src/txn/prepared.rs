//! Prepared transactions: the first phase of XA.
//!
//! # What makes it hard
//!
//! A prepared transaction outlives its session and the process, and until somebody decides about
//! it nobody else may change what it has locked. But its changes are made only by the commit, at
//! the commit's Seq: snapshots in between must not see them, and the delta has no place for a
//! version without a Seq.
//!
//! # How it works
//!
//! XA PREPARE puts the changes into the log as a transaction of their own kind, with a Seq, and
//! applies nothing. XA COMMIT is a second, tiny transaction; at its Seq the changes are applied.
//! In between the transaction is [`Detached`](super::prepared_list::Detached) from its session: locks, tables and changes wait in
//! the list of this module, whose entry also keeps the events that are in the log.
//!
//! 1. The list changes inside the log's critical section: it is at any time as of the last placed
//!    Seq, like the dictionary. A checkpoint takes it when it seals the delta, and writes the
//!    events into the Base. So the Base has the transactions that are prepared as of its Seq, and
//!    recovery needs no older log: an orphan keeps no file from being purged.
//! 2. Recovery replays the log over that list: a prepare adds an entry, an outcome takes it away
//!    and, if it is a commit, applies its events at the outcome's Seq.
//! 3. What is left is prepared. Its changes are made again through the usual functions of a
//!    transaction, which takes the same X locks and metadata locks again; nobody else runs yet.
//!    Locks of reads are gone, as they are in InnoDB after a crash.
//! 4. An entry is *claimed* from XA START on, so that an xid names one transaction at a time.
//! 5. What a client is shown is durable: the list leaves out prepares beyond the visible Seq.
//! 6. One that has changed nothing is in the list, for it has locks, but neither in the log nor in
//!    the Base: it ends with the process. A MySQL replica could not apply it.
//!
//! Rejected: keeping the log from the oldest prepared transaction on (one forgotten branch would
//! fill the disk, and every start would read all of it); undoing a prepared transaction (there is
//! no undo in this engine, and none is needed).

use super::{
    TxnError,
    engine::{Engine, Inner},
    owner::Owner,
    prepared_list::{ORIGIN, Record},
    transaction::Txn,
};
use crate::{
    log::{self, Batch, Change},
    types::Xid,
};
use std::sync::Arc;

/// A prepared transaction, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedInfo {
    /// Its name.
    pub xid: Xid,
    /// When it was prepared, in microseconds since 1970.
    pub since_us: u64,
    /// The connection that prepared it, which may be gone, or from before a restart.
    pub session: u64,
    /// `user@host` of that connection.
    pub user: String,
    /// Rows events of the log that it will apply; 0: it changes nothing.
    pub row_events: u64,
}

/// The right to use an xid: nobody else can start a transaction of that name. Ends with the
/// value, unless the transaction was prepared.
pub struct XidClaim {
    engine: Arc<Inner>,
    xid: Xid,
}

impl XidClaim {
    /// The name.
    #[must_use]
    pub fn xid(&self) -> &Xid {
        &self.xid
    }
}

impl Drop for XidClaim {
    fn drop(&mut self) {
        self.engine.prepared.unclaim(&self.xid);
    }
}

impl Engine {
    /// Claims an xid (XA START); `None` if it is in use.
    #[must_use]
    pub fn claim_xid(&self, xid: &Xid) -> Option<XidClaim> {
        self.inner.prepared.claim(xid).then(|| XidClaim {
            engine: Arc::clone(&self.inner),
            xid: xid.clone(),
        })
    }
    /// Ends a prepared transaction (XA COMMIT, XA ROLLBACK), from whichever session. False if no
    /// such transaction is prepared, or another session is ending it. Returns when the outcome is
    /// durable. `database` is the session's, for the log; a commit waits so long for others' read
    /// locks.
    pub fn end_prepared(
        &self,
        owner: &Owner,
        xid: &Xid,
        commit: bool,
        database: &str,
        lock_wait_ms: u64,
    ) -> Result<bool, TxnError> {
        self.inner.make_room(owner)?;
        let _passing = if commit {
            let descriptor = owner.take_descriptor(&self.inner.registry);
            let passing = self.inner.pass_read_lock(&descriptor, lock_wait_ms);
            owner.give_back(descriptor);
            Some(passing?)
        } else {
            None
        };
        let Some((record, detached)) = self.inner.prepared.take(xid) else {
            return Ok(false);
        };
        if !record.is_logged() {
            self.inner.prepared.remove(xid);
            drop(Txn::attach(&self.inner, *detached));
            return Ok(true);
        }
        let batch = owner.batch(|session| Batch::outcome(database, session, xid, commit));
        let placed = if commit {
            let mut overlay = detached.descriptor.overlay.lock();
            let changes = std::mem::take(&mut *overlay);
            let counts = detached.row_counts.iter().copied();
            let counts = detached.tables.iter().zip(counts);
            let removed = |_| self.inner.prepared.remove(xid);
            self.inner.place(batch, changes, counts, removed)
        } else {
            let log = &self.inner.log;
            let placed = log.commit(batch, |_| self.inner.prepared.remove(xid));
            placed.map(|(ticket, ())| ticket).map_err(TxnError::from)
        };
        // Its locks go now, and also if the log has failed: nobody can write any more.
        drop(Txn::attach(&self.inner, *detached));
        self.inner.wait_for_log(owner, placed?).map(|_| true)
    }
    /// The prepared transactions, by xid.
    #[must_use]
    pub fn prepared(&self) -> Vec<PreparedInfo> {
        let visible = self.inner.log.visible();
        let records = self.inner.prepared.records().into_iter();
        records
            .filter(|(_, record)| record.seq <= visible)
            .map(|(xid, record)| record.describe(xid))
            .collect()
    }
}

impl Txn {
    /// XA PREPARE: makes the changes durable, but not visible, and leaves the transaction, with
    /// its locks, to whoever ends it. `user` is the session's `user@host`.
    pub fn prepare(self, claim: &XidClaim, user: &str, database: &str) -> Result<(), TxnError> {
        let owner = Arc::clone(&self.owner);
        let engine = Arc::clone(&self.engine);
        engine.make_room(&owner)?;
        // As a commit: what is prepared before a backup's place in the log is committed after it.
        let passing = self.has_changes().then(|| {
            let wait_ms = self.options.table_lock_wait_ms;
            engine.pass_read_lock(&self.descriptor, wait_ms)
        });
        let _passing = passing.transpose()?;
        let begin = |session| Batch::prepared(database, session, claim.xid());
        let mut batch = match self.has_changes() {
            true => owner.batch(begin),
            // It is not logged: where it came from, a transaction is still to say.
            false => begin(owner.number()),
        };
        batch.follows(self.met());
        let mut origin = owner.session.to_le_bytes().to_vec();
        origin.extend_from_slice(user.as_bytes());
        batch.internal(&[ORIGIN], Some(&origin));
        self.encode(&mut batch)?;
        batch.close();
        let record = Record {
            seq: 0,
            since_us: engine.env.wall_micros(),
            events: Arc::from(batch.body()),
        };
        if !self.has_changes() {
            engine.wait_for_reads(&owner)?;
            engine.prepared.put(claim.xid(), record, self.detach());
            return Ok(());
        }
        let mut detached = Some((record, self.detach()));
        let placed = engine.log.commit(batch, |seq| {
            if let Some((record, transaction)) = detached.take() {
                let record = Record { seq, ..record };
                engine.prepared.put(claim.xid(), record, transaction);
            }
        });
        if let Some((_, transaction)) = detached {
            drop(Txn::attach(&engine, transaction));
        }
        let (ticket, ()) = placed?;
        engine.wait_for_log(&owner, ticket).map(|_| ())
    }
}

impl Record {
    fn describe(&self, xid: Xid) -> PreparedInfo {
        let (mut session, mut user, mut row_events) = (0, String::new(), 0);
        for change in log::changes(&self.events) {
            match change {
                Change::Internal { key, value } if key == [ORIGIN] => {
                    if let Some((number, name)) = value.unwrap_or_default().split_first_chunk() {
                        session = u64::from_le_bytes(*number);
                        user = String::from_utf8_lossy(name).into_owned();
                    }
                }
                Change::Rows { .. } => row_events += 1,
                _ => {}
            }
        }
        PreparedInfo {
            xid,
            since_us: self.since_us,
            session,
            user,
            row_events,
        }
    }
}
