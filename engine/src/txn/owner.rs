//! Sessions as the engine knows them.

use super::{
    depends::Depends,
    descriptor::{Descriptor, Registry},
    temporary::TemporaryTables,
    waiting::{Parker, Waiting},
};
use crate::log::{Batch, Origin, Reading};
use parking_lot::Mutex;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// The internal record of a position in another server's log.
pub(super) const SOURCE: u8 = b'p';

/// A session as the engine knows it: whom to ask before waiting, and whether it was killed.
/// Held in an `Arc` by the session and its transactions.
pub struct Owner {
    /// The connection id.
    pub session: u64,
    /// See `Waiting`.
    pub waiting: Arc<dyn Waiting>,
    parker: Arc<Parker>,
    /// What it has met that is not durable yet.
    pub(super) depends: Depends,
    /// The descriptor of the last transaction, for the next one.
    spare: Mutex<Option<Arc<Descriptor>>>,
    /// Where its next transaction was committed first (gtid_next).
    origin: Mutex<Option<Origin>>,
    /// Up to where another server's log is applied with it.
    source: Mutex<Option<Arc<str>>>,
    /// sql_log_bin is off.
    unlisted: AtomicBool,
    /// sql_mode, in MySQL's bits.
    sql_mode: AtomicU64,
    /// Its temporary tables.
    pub(super) temporary: Mutex<TemporaryTables>,
}

impl Owner {
    /// An owner for one session.
    pub fn new(session: u64, waiting: Arc<dyn Waiting>) -> Arc<Owner> {
        Arc::new(Owner {
            session,
            waiting,
            parker: Arc::default(),
            depends: Depends::default(),
            spare: Mutex::default(),
            origin: Mutex::default(),
            source: Mutex::default(),
            unlisted: AtomicBool::new(false),
            sql_mode: AtomicU64::new(Reading::PLAIN.sql_mode),
            temporary: Mutex::default(),
        })
    }
    /// KILL [QUERY]: any lock wait in progress fails with `Killed`, as does the next one until
    /// `clear_kill`. Called from another thread.
    pub fn kill(&self) {
        self.parker.kill();
    }
    /// Whether `kill` was called; long executions ask now and then.
    pub fn is_killed(&self) -> bool {
        self.parker.is_killed()
    }
    /// For how long the session has waited for locks since it began, in nanoseconds.
    #[must_use]
    pub fn locks_ns(&self) -> u64 {
        self.parker.locks_ns()
    }
    /// How much of that were metadata locks.
    #[must_use]
    pub fn tables_ns(&self) -> u64 {
        self.parker.tables_ns()
    }
    /// It has queued for a slot for so long before a statement.
    pub fn note_queued(&self, queued: Duration) {
        self.parker.note_queued(queued);
    }
    /// For how long it has queued for slots before its statements since it began, in nanoseconds.
    #[must_use]
    pub fn queued_ns(&self) -> u64 {
        self.parker.queued_ns()
    }
    /// Forgets a KILL QUERY at the start of the next statement.
    pub fn clear_kill(&self) {
        if self.is_killed() {
            self.parker.clear_kill();
        }
    }
    /// Says that its next transaction that is committed was committed elsewhere first. It is then
    /// written to the log even if it changes nothing.
    pub fn set_origin(&self, origin: Option<Origin>) {
        *self.origin.lock() = origin;
    }
    /// Whether that was said and no transaction has been placed since.
    pub fn has_origin(&self) -> bool {
        self.origin.lock().is_some() || self.source.lock().is_some()
    }
    /// Says that with its next transaction another server's log is applied up to this position,
    /// which is kept with the transaction.
    pub fn set_source_position(&self, position: Option<Arc<str>>) {
        *self.source.lock() = position;
    }
    /// Says whether its transactions from now on have no GTIDs and are not seen by followers
    /// (sql_log_bin).
    pub fn set_unlisted(&self, unlisted: bool) {
        self.unlisted.store(unlisted, Ordering::Relaxed);
    }
    /// Says by which sql_mode it checks rows, in MySQL's bits.
    pub fn set_sql_mode(&self, bits: u64) {
        self.sql_mode.store(bits, Ordering::Relaxed);
    }
    /// The connection id, as the log has it.
    pub(super) fn number(&self) -> u32 {
        u32::try_from(self.session).unwrap_or(u32::MAX)
    }
    /// The beginning of a transaction's events, for the log. It says where the transaction came
    /// from, which is said once.
    pub(super) fn batch(&self, batch: impl FnOnce(u32) -> Batch) -> Batch {
        let mut batch = batch(self.number());
        batch.checked_by(self.sql_mode.load(Ordering::Relaxed));
        if let Some(origin) = self.origin.lock().take() {
            batch.comes_from(origin);
        }
        if let Some(position) = self.source.lock().take() {
            batch.internal(&[SOURCE], Some(position.as_bytes()));
            batch.comes_to(&position);
        }
        if self.unlisted.load(Ordering::Relaxed) {
            batch.unlist();
        }
        batch
    }
    /// A descriptor for a transaction.
    pub(super) fn take_descriptor(&self, registry: &Arc<Registry>) -> Arc<Descriptor> {
        let spare = self.spare.lock().take();
        match spare {
            Some(spare) if spare.is_of(registry) => spare,
            _ => registry.register(self.session, &self.waiting, &self.parker),
        }
    }
    /// Takes it back after the transaction, when no lock refers to it any more.
    pub(super) fn give_back(&self, descriptor: Arc<Descriptor>) {
        descriptor.reset();
        *self.spare.lock() = Some(descriptor);
    }
}
