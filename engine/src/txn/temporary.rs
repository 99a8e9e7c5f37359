//! Temporary tables.
//!
//! A temporary table is one session's: no other ever sees it, nothing of it survives the session,
//! and nothing of it is logged. So its rows are neither in the delta nor in the Base. They are in
//! an overlay of the table itself, in memory, and are read and changed by the same code as all
//! others: to a transaction this overlay is what its own changes are to other tables, with nothing
//! beneath it. So only four places know of temporary tables:
//!
//! 1. a transaction finds the overlay by the tree (`Txn::with_overlay`);
//! 2. no locks are taken in their trees, for nobody else comes there;
//! 3. changes are noted to be undone, but not for the log;
//! 4. a commit leaves these overlays as they are.
//!
//! Their numbers are from `FIRST_TEMPORARY` on, so that one comparison tells them from others. The
//! session sees a dictionary of its own, in which they hide the tables of their names. That one has
//! a version that no other dictionary has, so that no plan made with it is taken for one made with
//! another.
//!
//! Rejected: rows in the delta, with stamps that are not from the log (the Base is "all rows as of
//! one Seq", and recovery relies on that); trees in the Base (each commit would wait for the disk).

use super::{
    TxnError,
    dictionary::{Dictionary, table_trees},
    table_state::TableState,
};
use crate::{
    store::{Overlay, TreeKey},
    types::{IdMap, Table, TableId, TreeId},
};
use parking_lot::{Mutex, RwLock};
use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// What a row or an entry takes beside its bytes, about: the nodes of the map, and the counts of
/// references to the value.
const ENTRY_BYTES: usize = 100;

/// The states of tables that the dictionary does not list: temporary ones, and those that are being
/// made.
#[derive(Default)]
pub(super) struct Unlisted(RwLock<IdMap<Arc<TableState>>>);

impl Unlisted {
    /// The state of such a table.
    pub fn state(&self, id: TableId) -> Option<Arc<TableState>> {
        self.0.read().get(&id).cloned()
    }
    /// A state for a table that the dictionary does not list, until what is returned is dropped.
    pub fn add(self: &Arc<Unlisted>, table: &Table) -> UnlistedState {
        let state = TableState::new(table.id);
        let least = table.auto_increment_min;
        state.auto_increment.fetch_max(least, Ordering::Relaxed);
        self.0.write().insert(table.id, Arc::clone(&state));
        UnlistedState {
            all: Arc::clone(self),
            state,
        }
    }
}

/// The state of a table that the dictionary does not list.
pub(super) struct UnlistedState {
    all: Arc<Unlisted>,
    pub state: Arc<TableState>,
}

impl Drop for UnlistedState {
    fn drop(&mut self) {
        self.all.0.write().remove(&self.state.id);
    }
}

/// A temporary table with its rows and index entries.
pub(super) struct TemporaryTable {
    pub table: Arc<Table>,
    unlisted: UnlistedState,
    /// What is there: a key that is not, is in no row or index.
    rows: Mutex<Overlay>,
    /// Memory it takes, about; it is a part of that of its session.
    bytes: AtomicUsize,
    session_bytes: Arc<AtomicUsize>,
}

impl TemporaryTable {
    pub fn new(
        table: Table,
        all: &Arc<Unlisted>,
        session_bytes: &Arc<AtomicUsize>,
    ) -> Arc<TemporaryTable> {
        Arc::new(TemporaryTable {
            unlisted: all.add(&table),
            table: Arc::new(table),
            rows: Mutex::default(),
            bytes: AtomicUsize::new(0),
            session_bytes: Arc::clone(session_bytes),
        })
    }
    /// What is known of it beside its definition.
    pub fn state(&self) -> &Arc<TableState> {
        &self.unlisted.state
    }
    /// Whether a tree is its.
    pub fn has(&self, tree: TreeId) -> bool {
        table_trees(&self.table).any(|own| own == tree)
    }
    /// Gives `look` its rows and entries.
    pub fn with_rows<T>(&self, look: impl FnOnce(&Overlay) -> T) -> T {
        look(&self.rows.lock())
    }
    /// Puts or (`None`) deletes a key; what was there.
    pub fn put(&self, key: TreeKey, value: Option<Arc<[u8]>>) -> Option<Arc<[u8]>> {
        let size = |value: &Option<Arc<[u8]>>| {
            let bytes = value.as_ref().map(|value| value.len());
            bytes.map_or(0, |bytes| ENTRY_BYTES + key.bytes().len() + bytes)
        };
        let (is_row, more) = (key.tree() == self.table.rows, size(&value));
        let is_there = value.is_some();
        let mut rows = self.rows.lock();
        let before = match is_there {
            true => rows.insert(key.clone(), value),
            false => rows.remove(&key),
        };
        drop(rows);
        let before = before.flatten();
        let less = size(&before);
        for total in [&self.bytes, &*self.session_bytes] {
            total.fetch_add(more, Ordering::Relaxed);
            total.fetch_sub(less, Ordering::Relaxed);
        }
        if is_row {
            let rows = i64::from(is_there) - i64::from(before.is_some());
            let state = self.state();
            state.base_rows.fetch_add(rows, Ordering::Relaxed);
        }
        before
    }
    /// Memory that all tables of its session take, about.
    pub fn session_bytes(&self) -> usize {
        self.session_bytes.load(Ordering::Relaxed)
    }
}

impl Drop for TemporaryTable {
    fn drop(&mut self) {
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.session_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The temporary tables of a session.
#[derive(Default)]
pub(super) struct TemporaryTables {
    tables: Vec<Arc<TemporaryTable>>,
    /// One that is being filled: its name means what it did before.
    pub coming: Option<Arc<TemporaryTable>>,
    /// Memory that they take, about, with those that are gone but still in use.
    pub bytes: Arc<AtomicUsize>,
    /// The version of the engine's dictionary, and that one with these tables.
    dictionary: Option<(u64, Arc<Dictionary>)>,
}

/// Versions of dictionaries with temporary tables are from here on.
const FIRST_VERSION: u64 = 1 << 63;

impl TemporaryTables {
    /// The table of this number.
    pub fn table(&self, id: TableId) -> Option<&Arc<TemporaryTable>> {
        let mut tables = self.tables.iter().chain(&self.coming);
        tables.find(|known| known.table.id == id)
    }
    /// The table of this name.
    pub fn named(&self, database: &str, name: &str) -> Option<&Arc<TemporaryTable>> {
        let is_it = |known: &&Arc<TemporaryTable>| known.table.full_name() == (database, name);
        self.tables.iter().find(is_it)
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
    /// Puts a table in the place of another one, or (`None`) beside the others.
    pub fn put(&mut self, old: Option<TableId>, new: Option<Arc<TemporaryTable>>) {
        if let Some(old) = old {
            self.tables.retain(|known| known.table.id != old);
        }
        self.tables.extend(new);
        self.dictionary = None;
    }
    /// All of them go.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.coming = None;
        self.dictionary = None;
    }
    /// The dictionary with these tables; `None`: there are none. `versions` gives new versions.
    pub fn dictionary(
        &mut self,
        listed: &Arc<Dictionary>,
        versions: &AtomicU64,
    ) -> Option<Arc<Dictionary>> {
        if self.tables.is_empty() {
            return None;
        }
        if let Some((version, known)) = &self.dictionary
            && *version == listed.version()
        {
            return Some(Arc::clone(known));
        }
        let version = FIRST_VERSION + versions.fetch_add(1, Ordering::Relaxed);
        let tables = self.tables.iter();
        let tables = tables.map(|known| (&known.table, known.state()));
        let own = Arc::new(listed.with_temporary(tables, version));
        self.dictionary = Some((listed.version(), Arc::clone(&own)));
        Some(own)
    }
}

/// 1114 when the temporary tables of a session take more memory than they may.
pub(super) fn check_room(table: &TemporaryTable, limit: u64) -> Result<(), TxnError> {
    if table.session_bytes() as u64 > limit {
        return Err(TxnError::TableFull {
            table: table.table.name.clone(),
        });
    }
    Ok(())
}
