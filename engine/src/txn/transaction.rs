//! A transaction: its snapshot, its tables, its end.

use super::{
    Isolation, TxnError, TxnOptions,
    descriptor::Descriptor,
    dictionary::table_trees,
    engine::{Engine, Inner},
    held::HeldLocks,
    late::LateEntries,
    lock::{Target, table_lock::TableLock},
    owner::Owner,
    placed::Placed,
    prepared_list::Detached,
    snapshot::Snapshot,
    table_state::TableState,
    temporary::TemporaryTable,
    used::Used,
    waiter::deadline,
    writes::{Savepoint, WriteSet, counter_key},
};
use crate::{
    Seq,
    log::Batch,
    store::{Overlay, TreeKey},
    types::{Index, Table, TreeId, is_temporary},
};
use smallvec::SmallVec;
use std::sync::{Arc, atomic::Ordering};

/// A transaction. Dropping it rolls it back.
pub struct Txn {
    pub(super) engine: Arc<Inner>,
    pub(super) owner: Arc<Owner>,
    pub(super) descriptor: Arc<Descriptor>,
    pub(super) options: TxnOptions,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) tables: SmallVec<[Used; 2]>,
    pub(super) writes: WriteSet,
    pub(super) locks: HeldLocks,
    pub(super) late: LateEntries,
    /// The newest of the reads it set aside (see `depends`): it matters again when the
    /// transaction reads its own writes.
    pub(super) set_aside: Seq,
    /// Rows it has changed on top of versions that its snapshot does not see.
    pub(super) newer: Vec<TreeKey>,
    /// The trees of its tables that were made after its snapshot was taken.
    pub(super) unreadable: Vec<TreeId>,
    /// Somebody else has what it held.
    detached: bool,
}

/// What a tree holds.
pub(super) enum TreeKind {
    /// The rows of a table.
    Rows,
    /// The entries of an index.
    Entries(Arc<Table>, usize),
}

impl TreeKind {
    /// The index, for entries.
    pub fn index(&self) -> Option<(&Arc<Table>, &Index)> {
        match self {
            TreeKind::Rows => None,
            TreeKind::Entries(table, position) => Some((table, table.indexes.get(*position)?)),
        }
    }
}

impl Engine {
    /// Begins a transaction. Costs no I/O and no Seq.
    pub fn begin(&self, owner: &Arc<Owner>, options: TxnOptions) -> Txn {
        self.begin_at(owner, options, self.inner.env.wall_micros())
    }
    /// The same, for who knows what time it is, in microseconds since 1970.
    pub fn begin_at(&self, owner: &Arc<Owner>, options: TxnOptions, now_us: u64) -> Txn {
        let txn = Txn::new(&self.inner, owner, options);
        txn.descriptor.since_us.store(now_us, Ordering::Relaxed);
        txn
    }
}

impl Txn {
    /// A transaction that has just begun.
    pub(super) fn new(engine: &Arc<Inner>, owner: &Arc<Owner>, options: TxnOptions) -> Txn {
        Txn {
            engine: Arc::clone(engine),
            owner: Arc::clone(owner),
            descriptor: owner.take_descriptor(&engine.registry),
            options,
            snapshot: None,
            tables: SmallVec::new(),
            writes: WriteSet::default(),
            locks: HeldLocks::default(),
            late: LateEntries::default(),
            set_aside: 0,
            newer: Vec::new(),
            unreadable: Vec::new(),
            detached: false,
        }
    }
    /// Marks the start of a statement: under READ COMMITTED plain reads get a new snapshot;
    /// `text` is what others are told when they wait for this transaction's locks.
    pub fn start_statement(&mut self, text: &Arc<str>) {
        *self.descriptor.statement.lock() = Some(Arc::clone(text));
        self.locks.keep();
        self.writes.start_statement();
        if self.reads_committed() && self.snapshot.take().is_some() {
            self.unreadable.clear();
            self.descriptor.clear_snapshot();
        }
    }
    /// How long its statements wait for row locks and for metadata locks from now on.
    pub fn set_lock_wait_ms(&mut self, rows: u64, tables: u64) {
        self.options.lock_wait_ms = rows;
        self.options.table_lock_wait_ms = tables;
    }
    /// READ COMMITTED or below: a snapshot per statement, no range locks.
    pub(super) fn reads_committed(&self) -> bool {
        matches!(
            self.options.isolation,
            Isolation::ReadCommitted | Isolation::ReadUncommitted
        )
    }
    /// READ UNCOMMITTED.
    pub(super) fn reads_uncommitted(&self) -> bool {
        self.options.isolation == Isolation::ReadUncommitted
    }
    /// Takes the snapshot now (START TRANSACTION WITH CONSISTENT SNAPSHOT); otherwise the first
    /// plain read takes it.
    pub fn take_snapshot(&mut self) {
        if self.snapshot.is_none() {
            self.snapshot = Some(self.engine.snapshot(&self.descriptor));
        }
    }
    /// The snapshot, taken if there is none yet.
    pub(super) fn snapshot(&mut self) -> &Snapshot {
        let (engine, descriptor) = (&self.engine, &self.descriptor);
        self.snapshot
            .get_or_insert_with(|| engine.snapshot(descriptor))
    }
    /// The metadata lock on a table, to read or to write it, kept to the end of the transaction, so
    /// that no DDL changes it meanwhile. If the snapshot is older than the table, it can be written, but
    /// plain reads of it fail with `TableChanged`, as this does when it is only to be read. Returns the
    /// current definition (`None`: it is gone, or has another name by now; resolve the name again).
    pub fn use_table(
        &mut self,
        table: &Arc<Table>,
        writes: bool,
    ) -> Result<Option<Arc<Table>>, TxnError> {
        let is_listed = !table.is_temporary();
        if writes && is_listed && self.engine.read_lock.metadata_lock.bars_writes() {
            self.pass_read_lock()?;
        }
        let known = self
            .tables
            .iter()
            .position(|used| used.table.id == table.id);
        if let Some(used) = known.and_then(|place| self.tables.get(place)) {
            let table = Arc::clone(&used.table);
            if writes && !used.writes {
                self.use_to_write(known)?;
            }
            return Ok(Some(table));
        }
        if table.is_temporary() {
            let own = self.owner.temporary.lock().table(table.id).map(Arc::clone);
            return Ok(own.map(|own| self.use_temporary(&own, writes)));
        }
        let dictionary = self.engine.definitions.load();
        let Some((_, state)) = dictionary.entry(table.id) else {
            return Ok(None);
        };
        let state = Arc::clone(state);
        drop(dictionary);
        if writes {
            self.engine.slow_writer(&state, &self.owner);
        }
        if !state.metadata_lock.try_use(writes) {
            self.wait_to_use(&state, writes, false)?;
        }
        let mode = TableLock::of_use(writes);
        self.descriptor.tables.lock().push((state.id, mode));
        // Only now nothing can change the definition.
        let dictionary = self.engine.definitions.load();
        let current = dictionary.entry(table.id).map(|(current, _)| current);
        let same_name = |current: &&Arc<Table>| {
            current.name == table.name && current.database == table.database
        };
        let Some(current) = current.filter(same_name) else {
            self.unuse(&state, writes);
            return Ok(None);
        };
        match &self.snapshot {
            Some(snapshot) if snapshot.seq < current.since && !writes => {
                self.unuse(&state, writes);
                return Err(TxnError::TableChanged);
            }
            // It can be written, for that needs the newest versions only.
            Some(snapshot) if snapshot.seq < current.since => {
                self.engine.log.wait_published(current.last_since());
                self.unreadable.extend(table_trees(current));
            }
            Some(snapshot) => {
                let later = current
                    .built
                    .iter()
                    .filter(|(_, since)| snapshot.seq < *since);
                self.unreadable.extend(later.map(|(tree, _)| *tree));
            }
            // Its rows are read by a snapshot that is taken later.
            None => self.engine.log.wait_published(current.last_since()),
        }
        let current = Arc::clone(current);
        let table = Arc::clone(&current);
        self.tables.push(Used {
            table,
            state,
            writes,
            temporary: None,
        });
        Ok(Some(current))
    }
    /// Uses a temporary table of the session, which nobody else can change.
    pub(super) fn use_temporary(&mut self, own: &Arc<TemporaryTable>, writes: bool) -> Arc<Table> {
        self.push_used(Used {
            table: Arc::clone(&own.table),
            state: Arc::clone(own.state()),
            writes,
            temporary: Some(Arc::clone(own)),
        });
        Arc::clone(&own.table)
    }
    /// Uses a table that the dictionary does not list: nobody else has its metadata lock.
    pub(super) fn push_used(&mut self, used: Used) {
        let is_free = used.state.metadata_lock.try_use(used.writes);
        debug_assert!(is_free);
        let mode = TableLock::of_use(used.writes);
        let mut tables = self.descriptor.tables.lock();
        tables.push((used.state.id, mode));
        drop(tables);
        self.tables.push(used);
    }
    /// The temporary table that a tree is of.
    pub(super) fn temporary(&self, tree: TreeId) -> Option<&Arc<TemporaryTable>> {
        if !is_temporary(tree) {
            return None;
        }
        let mut used = self
            .tables
            .iter()
            .filter_map(|used| used.temporary.as_ref());
        used.find(|table| table.has(tree))
    }
    /// `Killed` if its session was killed.
    pub(super) fn check_killed(&self) -> Result<(), TxnError> {
        match self.descriptor.is_killed() {
            true => Err(TxnError::Killed),
            false => Ok(()),
        }
    }
    /// The transaction uses a table already, and from now on to write it.
    fn use_to_write(&mut self, place: Option<usize>) -> Result<(), TxnError> {
        let Some(used) = place.and_then(|place| self.tables.get(place)) else {
            return Ok(());
        };
        let state = Arc::clone(&used.state);
        self.engine.slow_writer(&state, &self.owner);
        if !state.metadata_lock.try_use(true) {
            self.wait_to_use(&state, true, true)?;
        }
        state.metadata_lock.end_use(false);
        let mut tables = self.descriptor.tables.lock();
        for (_, mode) in tables.iter_mut().filter(|(id, _)| *id == state.id) {
            *mode = TableLock::Write;
        }
        drop(tables);
        if let Some(used) = place.and_then(|place| self.tables.get_mut(place)) {
            used.writes = true;
        }
        Ok(())
    }
    fn wait_to_use(
        &mut self,
        state: &Arc<TableState>,
        writes: bool,
        uses: bool,
    ) -> Result<(), TxnError> {
        let lock = &state.metadata_lock;
        let Err(waiter) = lock.use_or_wait(&self.descriptor, writes, uses) else {
            return Ok(());
        };
        let target = Target::Table(Arc::clone(state), TableLock::of_use(writes));
        let deadline = deadline(self.options.table_lock_wait_ms);
        self.wait(&waiter, target, deadline).map(|_| ())
    }
    /// Waits until nobody has the read lock any more.
    fn pass_read_lock(&mut self) -> Result<(), TxnError> {
        let wait_ms = self.options.table_lock_wait_ms;
        let passed = self.engine.pass_read_lock(&self.descriptor, wait_ms);
        let passed = passed.map(|_| ());
        if matches!(passed, Err(TxnError::Deadlock)) {
            self.abandon();
        }
        passed
    }
    fn unuse(&self, state: &TableState, writes: bool) {
        self.descriptor
            .tables
            .lock()
            .retain(|(id, _)| *id != state.id);
        state.metadata_lock.end_use(writes);
    }
    /// Position and current definition of a used table. The caller's may be an older one, without
    /// the newest indexes.
    pub(super) fn used(&self, table: &Table) -> Result<(usize, Arc<Table>), TxnError> {
        let mut known = self.tables.iter().enumerate();
        let found = known.find(|(_, used)| used.table.id == table.id);
        let (place, used) = found.ok_or_else(|| {
            TxnError::Corrupt(format!("table {} is written but not in use", table.name))
        })?;
        Ok((place, Arc::clone(&used.table)))
    }
    /// What is in a tree.
    pub(super) fn tree_kind(&self, tree: TreeId) -> TreeKind {
        for used in &self.tables {
            if used.table.rows == tree {
                return TreeKind::Rows;
            }
            let place = used
                .table
                .indexes
                .iter()
                .position(|index| index.tree == tree);
            if let Some(place) = place {
                return TreeKind::Entries(Arc::clone(&used.table), place);
            }
        }
        TreeKind::Rows
    }

    // Its changes and its end.

    /// A mark to return to, for SAVEPOINT and for rolling back a failed statement.
    #[must_use]
    pub fn savepoint(&self) -> Savepoint {
        // A mark behind entries that are yet to come would lose them when they have come.
        debug_assert!(self.late.trees.is_empty(), "a mark amid late entries");
        let tables = self.tables.len();
        let is_first = tables == 0 && self.snapshot.is_none();
        self.writes.savepoint(self.locks_held(), tables, is_first)
    }
    /// Undoes all changes since the mark. Locks stay but those of what was inserted since (as in
    /// MySQL).
    pub fn rollback_to(&mut self, mark: &Savepoint) {
        if self.has_changes() {
            self.note_unlogged();
        }
        self.drop_late();
        self.undo_to(mark);
        self.note_changes();
        self.release_vacant(mark.locks);
    }
    /// What ROLLBACK TO SAVEPOINT does after `rollback_to`: it lets go of the tables that were first used
    /// since the mark, if the transaction has changed nothing and locked no row. So a dump, which reads one
    /// table after the other, bars changes of one definition at a time. If there was no table and no
    /// snapshot before the mark, locks and snapshot go, too. (MySQL does so.) No statement may be under way.
    pub fn release_after_undoing(&mut self, mark: &Savepoint) {
        if mark.is_first {
            self.unreadable.clear();
            self.give_up();
            return;
        }
        if self.has_changes() || self.writes.can_undo() || self.holds_locks() {
            return;
        }
        while self.tables.len() > mark.tables {
            if let Some(used) = self.tables.pop() {
                self.unuse(&used.state, used.writes);
            }
        }
    }
    fn undo_to(&mut self, mark: &Savepoint) {
        let tables = &self.tables;
        let temporary = |tree| {
            let mut used = tables.iter().filter_map(|used| used.temporary.as_deref());
            used.find(|table| is_temporary(tree) && table.has(tree))
        };
        let mut overlay = self.descriptor.overlay.lock();
        self.writes.rollback_to(&mut overlay, temporary, mark);
    }
    /// Says that whoever applies this transaction from the log must not look at foreign keys: their
    /// consequences are changes of it, or the session had turned the checks off.
    pub fn note_foreign_keys_done(&mut self) {
        self.writes.foreign_keys_done = true;
    }
    pub(super) fn note_changes(&self) {
        let changes = self.writes.len() as u64;
        self.descriptor.changes.store(changes, Ordering::Relaxed);
    }
    /// Whether others may have to wait for it.
    #[must_use]
    pub fn holds_locks(&self) -> bool {
        self.descriptor.locks.load(Ordering::Relaxed) > 0
    }
    /// Gives `look` what it changed, in a tree among others; all that is there, of a temporary
    /// table.
    pub(super) fn with_overlay<T>(&self, tree: TreeId, look: impl FnOnce(&Overlay) -> T) -> T {
        let is_whole = self.late.entries.is_empty() || !self.late.has(tree);
        debug_assert!(is_whole, "entries of the index are yet to come");
        if let Some(temporary) = self.temporary(tree) {
            temporary.with_rows(look)
        } else if self.has_changes() {
            look(&self.descriptor.overlay.lock())
        } else {
            look(&Overlay::new())
        }
    }
    /// Whether it has changed anything in a tree.
    pub(super) fn has_changed(&self, tree: TreeId) -> bool {
        let all = TreeKey::new(tree, &[])..TreeKey::end_of(tree);
        self.with_overlay(tree, |own| own.range(all).next().is_some())
    }
    /// Whether it has written anything.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !self.writes.is_empty()
    }
    /// Makes the changes durable and returns their Seq (`None`: there were none). Returns when
    /// they are durable and visible. `database` is the session's, for the binlog's BEGIN event.
    pub fn commit(self, database: &str) -> Result<Option<Seq>, TxnError> {
        let (engine, owner) = (Arc::clone(&self.engine), Arc::clone(&self.owner));
        match self.commit_placed(database)? {
            Some(placed) => placed.wait(&owner).map(Some),
            None => engine.wait_for_reads(&owner).map(|()| None),
        }
    }
    /// As `commit`, but returns when the changes have their place in the log and the locks are
    /// gone: nobody may be told that they are committed before the log says so, and nobody what
    /// the transaction has met before `Engine::wait_for_reads` returns.
    pub fn commit_placed(mut self, database: &str) -> Result<Option<Placed>, TxnError> {
        if !self.has_changes() && !self.owner.has_origin() {
            self.writes.settle();
            self.give_up();
            return Ok(None);
        }
        let (ticket, times) = self.place(database)?;
        self.writes.settle();
        self.owner.depends.add(ticket.seq());
        self.give_up();
        Ok(Some(Placed::new(&self.engine, ticket, times)))
    }
    /// Gives everything up.
    pub fn rollback(self) {}
    fn discard_changes(&mut self) {
        if self.writes.can_undo() && self.tables.iter().any(|used| used.temporary.is_some()) {
            self.undo_to(&Savepoint::default());
        }
        // One that was prepared has its changes in the descriptor only.
        if self.has_changes() || self.descriptor.changes.load(Ordering::Relaxed) > 0 {
            let gone = std::mem::take(&mut *self.descriptor.overlay.lock());
            drop(gone);
            self.writes = WriteSet::default();
        }
    }
    /// As `give_up`, of one that was not committed.
    pub(super) fn abandon(&mut self) {
        if self.has_changes() {
            self.note_unlogged();
        }
        self.give_up();
    }
    /// The AUTO_INCREMENT values of its rows, or of some of them, will not be in the log.
    pub(super) fn note_unlogged(&self) {
        for used in self.tables.iter().filter(|used| used.writes) {
            if used.table.auto_increment_column().is_some() {
                used.state.unlogged.store(true, Ordering::Relaxed);
            }
        }
    }
    /// Logs, with the changes, how far AUTO_INCREMENT values went that are in no row.
    pub(super) fn log_counters(&self, batch: &mut Batch) {
        for used in self.tables.iter().filter(|used| used.writes) {
            let state = &used.state;
            if state.unlogged.load(Ordering::Relaxed)
                && state.unlogged.swap(false, Ordering::Relaxed)
            {
                let next = state.auto_increment.load(Ordering::Relaxed);
                batch.internal(&counter_key(state.id), Some(&next.to_le_bytes()));
            }
        }
    }
    /// Lets go of locks, tables, snapshot and changes.
    pub(super) fn give_up(&mut self) {
        self.drop_late();
        self.discard_changes();
        self.release_locks();
        if !self.tables.is_empty() {
            self.descriptor.tables.lock().clear();
            for used in self.tables.drain(..) {
                used.state.metadata_lock.end_use(used.writes);
            }
        }
        if self.snapshot.take().is_some() {
            self.descriptor.clear_snapshot();
        }
        if self.descriptor.id.load(Ordering::Relaxed) != 0 {
            self.descriptor.changes.store(0, Ordering::Relaxed);
            self.descriptor.locks.store(0, Ordering::Relaxed);
        }
    }
}

impl Txn {
    /// Takes it off its session, with its locks and what it will change; its snapshot goes.
    pub(super) fn detach(mut self) -> Detached {
        self.detached = true;
        if self.snapshot.take().is_some() {
            self.descriptor.clear_snapshot();
        }
        let row_counts = self.writes.row_counts(self.tables.len());
        self.writes = WriteSet::default();
        Detached {
            owner: Arc::clone(&self.owner),
            descriptor: Arc::clone(&self.descriptor),
            tables: std::mem::take(&mut self.tables),
            locks: std::mem::take(&mut self.locks),
            row_counts,
        }
    }
    /// Takes up what a transaction held, to give it back.
    pub(super) fn attach(engine: &Arc<Inner>, detached: Detached) -> Txn {
        let options = TxnOptions {
            isolation: Isolation::RepeatableRead,
            read_only: true,
            lock_wait_ms: 0,
            table_lock_wait_ms: 0,
        };
        Txn {
            engine: Arc::clone(engine),
            owner: detached.owner,
            descriptor: detached.descriptor,
            options,
            snapshot: None,
            tables: detached.tables,
            writes: WriteSet::default(),
            locks: detached.locks,
            late: LateEntries::default(),
            set_aside: 0,
            newer: Vec::new(),
            unreadable: Vec::new(),
            detached: false,
        }
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        if !self.detached {
            self.abandon();
            self.owner.give_back(Arc::clone(&self.descriptor));
        }
    }
}
