//! Transactions: snapshots, locks, write sets, and the commit that ties log and store together.

use crate::{
    Seq,
    types::{Table, TableId, TreeId, schema::Database},
};
use std::sync::Arc;

/// What a transaction's plain reads see, and what its locking reads protect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED: prevents dirty writes only. Plain reads see the newest version that is
    /// visible, or another transaction's uncommitted one.
    ReadUncommitted,
    /// READ COMMITTED: a snapshot per statement, no range locks.
    ReadCommitted,
    /// REPEATABLE READ: a snapshot per transaction; locking reads take range locks.
    RepeatableRead,
    /// SERIALIZABLE: as REPEATABLE READ, and plain reads lock unless autocommit.
    Serializable,
}

/// The strength of a row lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// S: FOR SHARE.
    Shared,
    /// X: FOR UPDATE, UPDATE, DELETE.
    Exclusive,
}

/// What to do when a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Wait, at most the transaction's lock wait time.
    Wait,
    /// NOWAIT: fail with `TxnError::Nowait`.
    Fail,
    /// SKIP LOCKED: leave the row out.
    Skip,
}

/// How a read treats concurrent transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// From the snapshot, without locks.
    Plain,
    /// The newest version, locked.
    Locking(LockMode, OnConflict),
}

/// A range of keys: from `low` (inclusive) to `high` (exclusive, `None` for the end of the tree).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// First key.
    pub low: Vec<u8>,
    /// First key after the range.
    pub high: Option<Vec<u8>>,
}

/// Why a transaction's operation failed, by what the caller must do.
#[derive(Clone, Debug)]
pub enum TxnError {
    /// Roll the whole transaction back (already done): 1213.
    Deadlock,
    /// Roll the statement back: 1205. `holder` is the statement that holds the lock.
    LockWaitTimeout {
        /// Text of the statement of the lock's holder, shortened.
        holder: String,
    },
    /// NOWAIT met a lock: 3572.
    Nowait,
    /// 1062, with the name of the index and the position of the row's values in the error text.
    DuplicateKey {
        /// The index, `PRIMARY` or its name.
        index: String,
    },
    /// The write set is larger than max_binlog_cache_size: 1197.
    TooLarge,
    /// A read-only transaction wrote: 1792.
    ReadOnly,
    /// The table was changed since the snapshot: 1412.
    TableChanged,
    /// KILL: 1317 (query) or 1053 (connection).
    Killed,
    /// The log or the store failed; no more writes until a restart.
    Storage(String),
    /// A stored row that does not fit its table.
    Corrupt(String),
    /// A rebuild's row conversion refused a row, with its own words.
    Conversion(String),
}

/// A transaction. Dropping it rolls it back.
pub struct Txn {}

/// The rows a scan returned, in one buffer: no allocation per row.
#[derive(Default)]
pub struct Batch {}

impl Batch {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        unimplemented!()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Key and value of row `i`.
    pub fn get(&self, i: usize) -> (&[u8], &[u8]) {
        let _ = i;
        unimplemented!()
    }
}

/// A position in a scan. It borrows nothing: pass the transaction to every step.
pub struct Scan {}

impl Scan {
    /// Replaces the contents of `batch` with the next rows, at most `limit` of them; an empty
    /// batch is the end. A locking scan locks each row (and, from REPEATABLE READ up, the range
    /// it passed) before it returns it, and returns the version it locked.
    pub fn next(&mut self, txn: &mut Txn, batch: &mut Batch, limit: usize) -> Result<(), TxnError> {
        let _ = (txn, batch, limit);
        unimplemented!()
    }
}

impl Txn {
    /// Marks the start of a statement: under READ COMMITTED plain reads get a new snapshot;
    /// `text` is what others are told when they wait for this transaction's locks.
    pub fn start_statement(&mut self, text: &Arc<str>) {
        let _ = text;
        unimplemented!()
    }
    /// Takes the snapshot now (START TRANSACTION WITH CONSISTENT SNAPSHOT); otherwise the first
    /// plain read takes it.
    pub fn take_snapshot(&mut self) {
        unimplemented!()
    }
    /// The shared metadata lock on a table, kept to the end of the transaction, so that no DDL
    /// changes it meanwhile. Fails with `TableChanged` if the snapshot is older than the table,
    /// and returns the current definition (`None`: it is gone; resolve the name again).
    pub fn use_table(&mut self, table: &Arc<Table>) -> Result<Option<Arc<Table>>, TxnError> {
        let _ = table;
        unimplemented!()
    }
    /// One row or index entry by its whole key. The value replaces the contents of `value`;
    /// false if there is none.
    pub fn get(
        &mut self,
        tree: TreeId,
        key: &[u8],
        read: Read,
        value: &mut Vec<u8>,
    ) -> Result<bool, TxnError> {
        let _ = (tree, key, read, value);
        unimplemented!()
    }
    /// Begins a scan of `range` of a tree, backwards if `reverse`. For locking reads through a
    /// secondary index, scan the index with `read` (which locks ranges of the index), then `get`
    /// each row with `read`.
    pub fn scan(&mut self, tree: TreeId, range: KeyRange, reverse: bool, read: Read) -> Scan {
        let _ = (tree, range, reverse, read);
        unimplemented!()
    }
    /// Gives back the lock of the row that a locking read returned last, when the statement's
    /// condition did not want it: only done under READ COMMITTED and below, and only if this
    /// statement took it.
    pub fn unlock_row(&mut self, tree: TreeId, key: &[u8]) {
        let _ = (tree, key);
        unimplemented!()
    }
    /// Inserts a row. On a duplicate the row's key in the conflicting index is looked up with
    /// `find_duplicate`; nothing was written.
    pub fn insert(&mut self, table: &Arc<Table>, image: &[u8]) -> Result<(), TxnError> {
        let _ = (table, image);
        unimplemented!()
    }
    /// The row that stands in the way of inserting `image`, locked X: for REPLACE and
    /// ON DUPLICATE KEY UPDATE.
    pub fn find_duplicate(
        &mut self,
        table: &Arc<Table>,
        image: &[u8],
        index: &str,
    ) -> Result<Option<Vec<u8>>, TxnError> {
        let _ = (table, image, index);
        unimplemented!()
    }
    /// Replaces the row `before` (locked X by the caller's read) with `after`; the primary key
    /// may change. For a table without primary key `key` is the row's hidden key as scanned.
    pub fn update(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        before: &[u8],
        after: &[u8],
    ) -> Result<(), TxnError> {
        let _ = (table, key, before, after);
        unimplemented!()
    }
    /// Deletes the row `before` (locked X by the caller's read).
    pub fn delete(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        before: &[u8],
    ) -> Result<(), TxnError> {
        let _ = (table, key, before);
        unimplemented!()
    }
    /// A mark to return to, for SAVEPOINT and for rolling back a failed statement.
    pub fn savepoint(&self) -> Savepoint {
        unimplemented!()
    }
    /// Undoes all changes since the mark. Locks stay (MySQL keeps them too).
    pub fn rollback_to(&mut self, mark: &Savepoint) {
        let _ = mark;
        unimplemented!()
    }
    /// Whether it has written anything.
    pub fn has_changes(&self) -> bool {
        unimplemented!()
    }
    /// Makes the changes durable and returns their Seq (`None`: there were none). Returns when
    /// they are durable and visible. `database` is the session's, for the binlog's BEGIN event.
    pub fn commit(self, database: &str) -> Result<Option<Seq>, TxnError> {
        let _ = database;
        unimplemented!()
    }
    /// Gives everything up.
    pub fn rollback(self) {}
    /// Waits until everything this transaction has read by locking reads and updates is durable;
    /// to be called before a reply with such contents leaves the server (`commit` does it too).
    pub fn wait_for_reads(&mut self) -> Result<(), TxnError> {
        unimplemented!()
    }
}

/// A mark in a transaction's changes.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {}

/// Called by the engine around every wait, so that a scheduler can take the session's slot back.
pub trait Waiting: Send + Sync {
    /// The session is about to wait for `what`.
    fn pause(&self, what: WaitFor);
    /// The wait is over.
    fn resume(&self, what: WaitFor);
}

/// What a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitFor {
    /// A row, range or metadata lock.
    Lock,
    /// The log's fsync.
    Log,
    /// Room in the delta (back-pressure).
    Store,
}

/// A session as the engine knows it: whom to ask before waiting, and whether it was killed.
/// Held in an `Arc` by the session and its transactions.
pub struct Owner {
    /// The connection id.
    pub session: u64,
    /// See `Waiting`.
    pub waiting: Arc<dyn Waiting>,
    // the kill flag and the parker are private
}

impl Owner {
    /// An owner for one session.
    pub fn new(session: u64, waiting: Arc<dyn Waiting>) -> Arc<Owner> {
        Arc::new(Owner { session, waiting })
    }
    /// KILL [QUERY]: any lock wait in progress fails with `Killed`, as does the next one until
    /// `clear_kill`. Called from another thread.
    pub fn kill(&self) {
        unimplemented!()
    }
    /// Whether `kill` was called; long executions ask now and then.
    pub fn is_killed(&self) -> bool {
        unimplemented!()
    }
    /// Forgets a KILL QUERY at the start of the next statement.
    pub fn clear_kill(&self) {
        unimplemented!()
    }
}

/// How a transaction begins.
#[derive(Clone, Copy, Debug)]
pub struct TxnOptions {
    /// Its isolation level.
    pub isolation: Isolation,
    /// Writes are refused with `ReadOnly`.
    pub read_only: bool,
    /// innodb_lock_wait_timeout, in milliseconds.
    pub lock_wait_ms: u64,
}

/// The open database: log, store, locks and data dictionary.
pub struct Engine {}

impl Engine {
    /// Begins a transaction. Costs no I/O and no Seq.
    pub fn begin(&self, owner: &Arc<Owner>, options: TxnOptions) -> Txn {
        let _ = (owner, options);
        unimplemented!()
    }
    /// The data dictionary as of now.
    pub fn dictionary(&self) -> Arc<Dictionary> {
        unimplemented!()
    }
    /// The next values of a table's AUTO_INCREMENT: reserves `count`, returns the first.
    pub fn auto_increment(&self, table: &Table, count: u64) -> u64 {
        let _ = (table, count);
        unimplemented!()
    }
    /// Raises a table's AUTO_INCREMENT above a value that was inserted explicitly.
    pub fn auto_increment_at_least(&self, table: &Table, used: u64) {
        let _ = (table, used);
        unimplemented!()
    }
    /// The next AUTO_INCREMENT value, without taking it (SHOW CREATE TABLE, information_schema).
    pub fn auto_increment_peek(&self, table: &Table) -> u64 {
        let _ = table;
        unimplemented!()
    }
    /// About how many rows the table has; exact when nothing is going on.
    pub fn row_estimate(&self, table: &Table) -> u64 {
        let _ = table;
        unimplemented!()
    }
    /// About how many entries of a tree are in the range (for choosing an access path).
    pub fn range_estimate(&self, tree: TreeId, range: &KeyRange) -> u64 {
        let _ = (tree, range);
        unimplemented!()
    }
    /// A numbers for a new table or tree; never handed out twice.
    pub fn new_id(&self) -> u32 {
        unimplemented!()
    }
    /// Performs a schema change: takes the exclusive metadata locks, builds what must be built,
    /// logs `statement` as a query event together with the new definitions, and returns when it
    /// is durable.
    pub fn change_schema(
        &self,
        owner: &Arc<Owner>,
        change: SchemaChange,
        statement: &DdlStatement,
        lock_wait_ms: u64,
    ) -> Result<Seq, TxnError> {
        let _ = (owner, change, statement, lock_wait_ms);
        unimplemented!()
    }
}

/// How a DDL statement is written to the binlog.
pub struct DdlStatement {
    /// The default database of the session.
    pub database: String,
    /// The statement's text.
    pub text: String,
}

/// One schema change; several of them in one DDL statement are one commit.
pub enum SchemaChange {
    /// CREATE DATABASE or ALTER DATABASE.
    PutDatabase(Database),
    /// DROP DATABASE, with its tables.
    DropDatabase(String),
    /// CREATE TABLE; ids and trees already set from `Engine::new_id`.
    CreateTable(Table),
    /// DROP TABLE, all at once.
    DropTables(Vec<TableId>),
    /// TRUNCATE: same definition, new id and empty trees.
    Truncate(TableId),
    /// RENAME TABLE: (table, new database, new name), all at once.
    Rename(Vec<(TableId, String, String)>),
    /// A definition change that leaves rows as they are (comments, defaults, index drop or
    /// rename, new indexes): indexes whose tree is new are built from the rows.
    AlterInPlace {
        /// The table before.
        old: TableId,
        /// The table after, with the same `id` and `rows`.
        new: Table,
    },
    /// A change that rewrites every row: `convert` maps an old image to a new one.
    Rebuild {
        /// The table before.
        old: TableId,
        /// The table after, with a new `id` and new trees.
        new: Table,
        /// Converts a row image; an error refuses the change.
        convert: Box<RowConversion>,
    },
    /// A change to the internal key-value records that sql keeps (users, persisted variables):
    /// `None` deletes.
    Records(Vec<(Vec<u8>, Option<Vec<u8>>)>),
}

/// Converts an old row image to a new one, or says why it cannot, as an opaque error for the
/// caller of `change_schema` to carry through `TxnError::Conversion`.
pub type RowConversion = dyn FnMut(&[u8], &mut Vec<u8>) -> Result<(), String> + Send;

/// All databases, tables and internal records, as of one Seq. Immutable; a DDL makes a new one.
pub struct Dictionary {}

impl Dictionary {
    /// A number that grows with every change: cached plans are valid for one version.
    pub fn version(&self) -> u64 {
        unimplemented!()
    }
    /// All databases, by name.
    pub fn databases(&self) -> impl Iterator<Item = &Database> {
        std::iter::empty()
    }
    /// A database by its name (case-sensitive, as MySQL on Linux).
    pub fn database(&self, name: &str) -> Option<&Database> {
        let _ = name;
        unimplemented!()
    }
    /// The tables of a database, by name.
    pub fn tables(&self, database: &str) -> impl Iterator<Item = &Arc<Table>> {
        let _ = database;
        std::iter::empty()
    }
    /// A table by its name (case-sensitive, as MySQL on Linux).
    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        let _ = (database, name);
        unimplemented!()
    }
    /// A table by its number.
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<Table>> {
        let _ = id;
        unimplemented!()
    }
    /// An internal record.
    pub fn record(&self, key: &[u8]) -> Option<&[u8]> {
        let _ = key;
        unimplemented!()
    }
    /// All internal records whose keys begin so.
    pub fn records(&self, prefix: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
        let _ = prefix;
        std::iter::empty()
    }
}
