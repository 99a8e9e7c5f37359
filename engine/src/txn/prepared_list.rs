//! The list of prepared transactions: what waits between its two phases (see `prepared`).

use super::{descriptor::Descriptor, held::HeldLocks, owner::Owner, used::Used};
use crate::{Seq, types::Xid};
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

/// What was prepared, as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Its prepare's place; 0: it has changed nothing, and the log does not know of it.
    pub seq: Seq,
    /// When it was prepared, in microseconds since 1970.
    pub since_us: u64,
    /// Its events, perhaps with the GTID before them.
    pub events: Arc<[u8]>,
}

impl Record {
    /// Whether the log has it, and waits for its outcome.
    pub fn is_logged(&self) -> bool {
        self.seq > 0
    }
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
    /// What was prepared; none as long as the xid is only claimed.
    record: Option<Arc<Record>>,
    /// None while it is only claimed, and while somebody ends it.
    transaction: Option<Box<Detached>>,
}

/// The list; see `prepared`.
#[derive(Default)]
pub(super) struct Prepared {
    entries: Mutex<BTreeMap<Xid, Entry>>,
    /// Counts the changes that checkpoints must know of.
    version: AtomicU64,
}

/// The prepared transactions as of one Seq.
pub(super) type Records = BTreeMap<Xid, Arc<Record>>;

impl Prepared {
    /// Claims a name; false: it is in use.
    pub fn claim(&self, xid: &Xid) -> bool {
        match self.entries.lock().entry(xid.clone()) {
            Slot::Occupied(_) => false,
            Slot::Vacant(slot) => {
                slot.insert(Entry::default());
                true
            }
        }
    }
    /// Ends a claim; what was prepared under it stays.
    pub fn unclaim(&self, xid: &Xid) {
        let mut entries = self.entries.lock();
        if entries.get(xid).is_some_and(|entry| entry.record.is_none()) {
            entries.remove(xid);
        }
    }
    /// Adds what was prepared.
    pub fn put(&self, xid: &Xid, record: Record, transaction: Detached) {
        let entry = Entry {
            record: Some(Arc::new(record)),
            transaction: Some(Box::new(transaction)),
        };
        self.entries.lock().insert(xid.clone(), entry);
        self.version.fetch_add(1, Ordering::Relaxed);
    }
    /// Takes a transaction to end it; its entry stays until the log has its outcome.
    pub fn take(&self, xid: &Xid) -> Option<(Arc<Record>, Box<Detached>)> {
        let mut entries = self.entries.lock();
        let entry = entries.get_mut(xid)?;
        let record = Arc::clone(entry.record.as_ref()?);
        Some((record, entry.transaction.take()?))
    }
    /// It has ended; its outcome is in the log, if it was.
    pub fn remove(&self, xid: &Xid) {
        self.entries.lock().remove(xid);
        self.version.fetch_add(1, Ordering::Relaxed);
    }
    /// Counts the changes so far.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }
    /// Those that the log knows of; inside its critical section: as of the last placed Seq.
    pub fn logged(&self) -> Records {
        let mut records = self.records();
        records.retain(|_, record| record.is_logged());
        records
    }
    /// All of them.
    pub fn records(&self) -> Records {
        let entries = self.entries.lock();
        let prepared = entries.iter();
        prepared
            .filter_map(|(xid, entry)| Some((xid.clone(), Arc::clone(entry.record.as_ref()?))))
            .collect()
    }
}
