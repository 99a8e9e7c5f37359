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
//! In between the transaction is [`Detached`] from its session: locks, tables and changes wait in
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
//!
//! Rejected: keeping the log from the oldest prepared transaction on (one forgotten branch would
//! fill the disk, and every start would read all of it); undoing a prepared transaction (there is
//! no undo in this engine, and none is needed).

use super::{
    Engine, Isolation, LockMode, OpenError, TxnError, TxnOptions,
    descriptor::Descriptor,
    engine::Inner,
    held::HeldLocks,
    owner::{Owner, Unattended},
    recover::Replaying,
    transaction::{Txn, Used},
    write::{hidden_key, primary_key},
    writes::row_numbers,
};
use crate::{
    Seq,
    log::{self, Batch, Change, RowsKind},
    types::{Table, TableId, Xid, row},
};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::{
    collections::{BTreeMap, btree_map::Entry as Slot},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// The internal record that says where a prepared transaction comes from: this byte; the value is
/// the session's number, 8 bytes little endian, and `user@host`.
pub(super) const ORIGIN: u8 = b'o';

/// What the log has of a prepared transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Its prepare's place.
    pub seq: Seq,
    /// When it was prepared, in microseconds since 1970.
    pub since_us: u64,
    /// Its events, perhaps with the GTID before them.
    pub events: Arc<[u8]>,
}

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

/// A transaction without a session: what it holds, and what it will change. Dropping it gives
/// nothing back, so that an engine that ends leaves the locks of its prepared transactions taken.
pub(super) struct Detached {
    pub owner: Arc<Owner>,
    pub descriptor: Arc<Descriptor>,
    pub tables: SmallVec<[Used; 2]>,
    pub locks: HeldLocks,
    /// Rows it adds less those it deletes, by position in `tables`.
    pub row_counts: Vec<i64>,
}

#[derive(Default)]
struct Entry {
    /// What the log has; none as long as the xid is only claimed.
    record: Option<Arc<Record>>,
    /// None while it is only claimed, and while somebody ends it.
    transaction: Option<Box<Detached>>,
}

/// The list; see the module.
#[derive(Default)]
pub(super) struct Prepared {
    entries: Mutex<BTreeMap<Xid, Entry>>,
    /// Counts the changes that checkpoints must know of.
    version: AtomicU64,
}

/// The prepared transactions as of one Seq.
pub(super) type Records = BTreeMap<Xid, Arc<Record>>;

impl Prepared {
    fn claim(&self, xid: &Xid) -> bool {
        match self.entries.lock().entry(xid.clone()) {
            Slot::Occupied(_) => false,
            Slot::Vacant(slot) => {
                slot.insert(Entry::default());
                true
            }
        }
    }
    fn unclaim(&self, xid: &Xid) {
        let mut entries = self.entries.lock();
        if entries.get(xid).is_some_and(|entry| entry.record.is_none()) {
            entries.remove(xid);
        }
    }
    fn put(&self, xid: &Xid, record: Record, transaction: Detached) {
        let entry = Entry {
            record: Some(Arc::new(record)),
            transaction: Some(Box::new(transaction)),
        };
        self.entries.lock().insert(xid.clone(), entry);
        self.version.fetch_add(1, Ordering::Relaxed);
    }
    /// Takes a transaction to end it; its entry stays until the log has its outcome.
    fn take(&self, xid: &Xid) -> Option<Box<Detached>> {
        self.entries.lock().get_mut(xid)?.transaction.take()
    }
    fn remove(&self, xid: &Xid) {
        self.entries.lock().remove(xid);
        self.version.fetch_add(1, Ordering::Relaxed);
    }
    /// Counts the changes so far.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }
    /// All of them; inside the log's critical section: as of the last placed Seq.
    pub fn records(&self) -> Records {
        let entries = self.entries.lock();
        let prepared = entries.iter();
        prepared
            .filter_map(|(xid, entry)| Some((xid.clone(), Arc::clone(entry.record.as_ref()?))))
            .collect()
    }
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
            let descriptor = Descriptor::take(owner, &self.inner.registry);
            let passing = self.inner.pass_read_lock(&descriptor, lock_wait_ms);
            descriptor.give_back(owner);
            Some(passing?)
        } else {
            None
        };
        let Some(detached) = self.inner.prepared.take(xid) else {
            return Ok(false);
        };
        let session = u32::try_from(owner.session).unwrap_or(u32::MAX);
        let batch = Batch::outcome(database, session, xid, commit);
        let placed = if commit {
            let mut overlay = detached.descriptor.overlay.lock();
            let changes = std::mem::take(&mut *overlay);
            let counts = detached.row_counts.iter().copied();
            let counts = detached.tables.iter().zip(counts);
            let removed = || self.inner.prepared.remove(xid);
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
        let session = u32::try_from(owner.session).unwrap_or(u32::MAX);
        let mut batch = Batch::prepared(database, session, claim.xid());
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

// Recovery.

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

/// Makes the prepared transactions that recovery has found again: invariant 3.
pub(super) fn restore(engine: &Arc<Inner>, records: Records) -> Result<(), OpenError> {
    for (xid, record) in records {
        let refused = |error: TxnError| {
            OpenError(format!(
                "cannot restore the prepared transaction {xid}: {error}"
            ))
        };
        let transaction = redo(engine, &record.events).map_err(refused)?;
        let transaction = transaction.detach();
        engine
            .prepared
            .put(&xid, Record::clone(&record), transaction);
    }
    Ok(())
}

fn redo(engine: &Arc<Inner>, events: &[u8]) -> Result<Txn, TxnError> {
    let owner = Owner::new(0, Arc::new(Unattended));
    let options = TxnOptions {
        isolation: Isolation::ReadCommitted,
        read_only: false,
        lock_wait_ms: 0,
        table_lock_wait_ms: 0,
    };
    let mut txn = Txn::new(engine, &owner, options);
    txn.start_statement(&Arc::from("XA PREPARE"));
    let mut numbers = row_numbers(events);
    for change in log::changes(events) {
        if let Change::Rows {
            table,
            kind,
            images,
        } = change
        {
            let id = TableId::try_from(table).unwrap_or(TableId::MAX);
            let numbers = numbers.entry(id).or_default();
            redo_rows(&mut txn, id, kind, images, numbers)?;
        }
    }
    Ok(txn)
}

fn redo_rows(
    txn: &mut Txn,
    id: TableId,
    kind: RowsKind,
    mut images: &[u8],
    numbers: &mut &[u8],
) -> Result<(), TxnError> {
    let unknown = || TxnError::Corrupt(format!("rows of an unknown table {id}"));
    let dictionary = txn.engine.dictionary.load_full();
    let (table, _) = dictionary.entry(id).ok_or_else(unknown)?;
    let table = txn.use_table(table, true)?.ok_or_else(unknown)?;
    while !images.is_empty() {
        let number = match (&table.primary, numbers.split_first_chunk::<8>()) {
            (Some(_), _) => None,
            (None, Some((number, rest))) => {
                *numbers = rest;
                Some(u64::from_le_bytes(*number))
            }
            (None, None) => {
                let missing = "a row change without its row number".to_owned();
                return Err(TxnError::Corrupt(missing));
            }
        };
        let first = take_image(&table, &mut images)?;
        if kind == RowsKind::Write {
            txn.insert_as(&table, first, LockMode::Shared, number)?;
            note_auto_increment(txn, &table, first)?;
            continue;
        }
        let key = match number {
            Some(number) => hidden_key(number),
            None => primary_key(&table, first)?.unwrap_or_default(),
        };
        if kind == RowsKind::Update {
            let after = take_image(&table, &mut images)?;
            txn.update(&table, &key, first, after)?;
        } else {
            txn.delete(&table, &key, first)?;
        }
    }
    Ok(())
}

fn note_auto_increment(txn: &Txn, table: &Table, image: &[u8]) -> Result<(), TxnError> {
    let mut used = txn.tables.iter();
    match used.find(|used| used.table.id == table.id) {
        Some(used) => {
            let next = Replaying::new(&used.table, &used.state).auto_increment_after(image)?;
            used.state.auto_increment.fetch_max(next, Ordering::Relaxed);
            Ok(())
        }
        None => Ok(()),
    }
}

/// Cuts one row image off the front.
pub(super) fn take_image<'i>(table: &Table, images: &mut &'i [u8]) -> Result<&'i [u8], TxnError> {
    let malformed = || {
        let name = &table.name;
        TxnError::Corrupt(format!("a row image that does not fit table {name}"))
    };
    let length = row::length(table, images).map_err(|_| malformed())?;
    let (image, rest) = images.split_at_checked(length).ok_or_else(malformed)?;
    *images = rest;
    Ok(image)
}
