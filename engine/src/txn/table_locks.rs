//! Locks that a session holds across its transactions: LOCK TABLES, FLUSH TABLES WITH READ LOCK
//! and LOCK INSTANCE FOR BACKUP.
//!
//! All are holds of metadata locks (see `lock::mdl`). Two of these locks are not of a table but
//! of the server, and every change of it passes them:
//!
//! | lock | held `ReadOnly` by | held `Write` by | passed, without holding it, by |
//! |---|---|---|---|
//! | `read_lock` | FLUSH TABLES WITH READ LOCK | LOCK TABLES … WRITE, DDL | statements that write, and commits |
//! | `backup_lock` | LOCK INSTANCE FOR BACKUP | DDL | |
//!
//! A commit looks at the read lock while it has its own overlay locked, which it keeps locked
//! until it is in the log. Who has taken the read lock locks every overlay once: then all commits
//! that had looked before are in the log, and the others will see it. So the read lock, which
//! hardly ever anybody has, costs a commit one load.
//!
//! Statements that are running when the read lock is taken go on, unlike in MySQL, until they want
//! to commit: nothing of what they do can be seen before.

use super::{
    TxnError,
    descriptor::Descriptor,
    engine::{Engine, Inner},
    lock::{MetadataLockInfo, MetadataObject, Target, table_lock::TableLock},
    owner::Owner,
    table_state::TableState,
    waiter::deadline,
    waiting::WaitFor,
};
use crate::types::{Table, TableId, is_temporary};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

/// The metadata locks that a session holds until it drops this.
pub struct TableLocks {
    engine: Arc<Inner>,
    descriptor: Arc<Descriptor>,
    held: Mutex<Vec<(Arc<TableState>, TableLock)>>,
}

impl Engine {
    /// LOCK TABLES: each table for writing (`true`) or only for reading, until what is returned is
    /// dropped. `text` is the statement. The session must have no transaction and no other locks of
    /// tables. Fails with `TableChanged` if one of the tables is not there any more.
    pub fn lock_tables(
        &self,
        owner: &Arc<Owner>,
        text: &str,
        tables: &[(Arc<Table>, bool)],
        lock_wait_ms: u64,
    ) -> Result<TableLocks, TxnError> {
        let locks = TableLocks::new(&self.inner, owner);
        let request = Request::new(owner, &locks, text, lock_wait_ms);
        // By number, as DDLs do, so that they do not wait for each other in a circle.
        let mut wanted: BTreeMap<TableId, TableLock> = BTreeMap::new();
        for (table, writes) in tables {
            let mode = wanted.entry(table.id).or_insert(TableLock::ReadOnly);
            if *writes {
                *mode = TableLock::Exclusive;
            }
        }
        if wanted.values().any(|mode| *mode == TableLock::Exclusive) {
            locks.take_for_change(&request)?;
        }
        for (id, mode) in wanted {
            let dictionary = self.inner.definitions.load_full();
            let (_, state) = dictionary.entry(id).ok_or(TxnError::TableChanged)?;
            locks.take(state, mode, &request)?;
        }
        // Only now nobody can drop or rename them.
        let dictionary = self.inner.definitions.load();
        let same = |table: &Table| {
            let current = dictionary.table(&table.database, &table.name);
            current.is_some_and(|current| current.id == table.id)
        };
        if !tables.iter().all(|(table, _)| same(table)) {
            return Err(TxnError::TableChanged);
        }
        Ok(locks)
    }
    /// FLUSH TABLES WITH READ LOCK: nothing is committed by anybody until what is returned is
    /// dropped, and everything that is committed is visible. The session must have no transaction.
    pub fn lock_all_tables(
        &self,
        owner: &Arc<Owner>,
        text: &str,
        lock_wait_ms: u64,
    ) -> Result<TableLocks, TxnError> {
        let inner = &self.inner;
        let locks = TableLocks::new(inner, owner);
        let request = Request::new(owner, &locks, text, lock_wait_ms);
        locks.take(&inner.read_lock, TableLock::ReadOnly, &request)?;
        for descriptor in inner.registry.all() {
            drop(descriptor.overlay.lock());
        }
        let last = inner.log.exclusive(|last| last);
        owner.waiting.pause(WaitFor::Log);
        let visible = inner.log.wait_visible(last);
        owner.waiting.resume(WaitFor::Log);
        visible?;
        Ok(locks)
    }
    /// LOCK INSTANCE FOR BACKUP: others change no definitions until what is returned is dropped.
    pub fn lock_definitions(
        &self,
        owner: &Arc<Owner>,
        text: &str,
        lock_wait_ms: u64,
    ) -> Result<TableLocks, TxnError> {
        let locks = TableLocks::new(&self.inner, owner);
        let request = Request::new(owner, &locks, text, lock_wait_ms);
        locks.take(&self.inner.backup_lock, TableLock::ReadOnly, &request)?;
        Ok(locks)
    }
}

impl Engine {
    /// All metadata locks that are held or waited for, by session; but of temporary tables, which are
    /// nobody else's.
    pub fn metadata_locks(&self) -> Vec<MetadataLockInfo> {
        let inner = &self.inner;
        // A statement that changes definitions takes this one before those of tables.
        let changing = inner.backup_lock.metadata_lock.holds();
        let info = |who: &Arc<Descriptor>, object, mode, granted| MetadataLockInfo {
            session: who.session,
            object,
            mode,
            by_ddl: changing
                .iter()
                .any(|(other, mode)| *mode == TableLock::Write && Arc::ptr_eq(other, who)),
            granted,
        };
        let mut found = Vec::new();
        for who in inner.registry.all() {
            let used = who.tables.lock().clone();
            let listed = used.into_iter().filter(|(id, _)| !is_temporary(*id));
            found
                .extend(listed.map(|(id, mode)| info(&who, MetadataObject::Table(id), mode, true)));
        }
        let dictionary = inner.definitions.load();
        let of_server = [&inner.read_lock, &inner.backup_lock];
        for state in of_server.into_iter().chain(dictionary.states()) {
            let holds = state.metadata_lock.holds().into_iter();
            let object = MetadataObject::of(state);
            found.extend(holds.map(|(who, mode)| info(&who, object, mode, true)));
        }
        let waits = inner.locks.metadata_waits().into_iter();
        let object = MetadataObject::of;
        found.extend(waits.map(|(who, state, mode)| info(&who, object(&state), mode, false)));
        found.sort_by_key(|lock| lock.session);
        found
    }
}

/// A session that asks for holds. As long as it does it is heavy, so that it is not a deadlock's
/// victim if a transaction can be.
pub(super) struct Request {
    descriptor: Arc<Descriptor>,
    owner: Arc<Owner>,
    deadline: Option<Instant>,
}

impl Request {
    /// `text`: the statement, for those who will wait for the holds.
    pub fn new(owner: &Arc<Owner>, locks: &TableLocks, text: &str, lock_wait_ms: u64) -> Request {
        const WEIGHT: u64 = 1 << 62;
        let descriptor = Arc::clone(&locks.descriptor);
        *descriptor.statement.lock() = Some(Arc::from(text));
        descriptor.changes.store(WEIGHT, Ordering::Relaxed);
        Request {
            descriptor,
            owner: Arc::clone(owner),
            deadline: deadline(lock_wait_ms),
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.descriptor.changes.store(0, Ordering::Relaxed);
        self.owner.give_back(Arc::clone(&self.descriptor));
    }
}

impl TableLocks {
    /// None yet.
    pub(super) fn new(engine: &Arc<Inner>, owner: &Owner) -> TableLocks {
        engine.locks.count_hold();
        TableLocks {
            engine: Arc::clone(engine),
            descriptor: owner.take_descriptor(&engine.registry),
            held: Mutex::default(),
        }
    }
    /// Takes one more.
    pub(super) fn take(
        &self,
        state: &Arc<TableState>,
        mode: TableLock,
        request: &Request,
    ) -> Result<(), TxnError> {
        let locks = &self.engine.locks;
        locks.hold(&self.descriptor, state, mode, request.deadline)?;
        self.held.lock().push((Arc::clone(state), mode));
        Ok(())
    }
    /// Has a stronger one of a table instead of those that it has.
    pub(super) fn strengthen(
        &self,
        state: &Arc<TableState>,
        mode: TableLock,
        request: &Request,
    ) -> Result<(), TxnError> {
        self.take(state, mode, request)?;
        let mut held = self.held.lock();
        let weaker =
            |(other, had): &mut (Arc<TableState>, TableLock)| other.id == state.id && *had != mode;
        for (state, had) in held.extract_if(.., weaker) {
            state.metadata_lock.let_go(&self.descriptor, had);
        }
        Ok(())
    }
    /// Keeps the read lock from being taken; `ReadLocked` if the session itself has it.
    pub(super) fn take_for_change(&self, request: &Request) -> Result<(), TxnError> {
        self.engine.check_read_lock(&self.descriptor)?;
        self.take(&self.engine.read_lock, TableLock::Write, request)
    }
    /// After a DDL of this session: what was held of the table `old` is held of `new`, which
    /// nobody else knows yet or which is the same; or it is gone.
    pub(super) fn follow(&self, old: TableId, new: Option<&Arc<TableState>>) {
        if new.is_some_and(|new| new.id == old) {
            return;
        }
        let mut held = self.held.lock();
        let gone: Vec<_> = held.extract_if(.., |(state, _)| state.id == old).collect();
        for (state, mode) in gone {
            if let Some(new) = new
                && new
                    .metadata_lock
                    .hold_or_wait(&self.descriptor, mode)
                    .is_ok()
            {
                held.push((Arc::clone(new), mode));
            }
            state.metadata_lock.let_go(&self.descriptor, mode);
        }
    }
    /// What tells whether the session was killed.
    pub(super) fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }
}

impl Drop for TableLocks {
    fn drop(&mut self) {
        for (state, mode) in self.held.lock().drain(..) {
            state.metadata_lock.let_go(&self.descriptor, mode);
        }
        self.engine.locks.uncount_hold();
    }
}

/// A change of the server that the read lock does not keep out as long as this lives.
pub(super) struct Passing<'e>(&'e Inner);

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        self.0.read_lock.metadata_lock.end_use(true);
    }
}

impl Inner {
    /// Waits until nobody has the read lock; `ReadLocked` if the session itself has it.
    pub(super) fn pass_read_lock(
        &self,
        who: &Arc<Descriptor>,
        lock_wait_ms: u64,
    ) -> Result<Passing<'_>, TxnError> {
        let lock = &self.read_lock.metadata_lock;
        if !lock.try_use(true) {
            self.check_read_lock(who)?;
            if let Err(waiter) = lock.use_or_wait(who, true, false) {
                let target = Target::Table(Arc::clone(&self.read_lock), TableLock::Write);
                self.locks.wait(&waiter, target, deadline(lock_wait_ms))?;
            }
        }
        Ok(Passing(self))
    }
    /// `ReadLocked` if the session itself has the read lock.
    pub(super) fn check_read_lock(&self, who: &Descriptor) -> Result<(), TxnError> {
        if self
            .read_lock
            .metadata_lock
            .is_held(who, TableLock::ReadOnly)
        {
            return Err(TxnError::ReadLocked);
        }
        Ok(())
    }
}
