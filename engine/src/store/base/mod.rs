//! The Base: all rows as of one Seq, in one file of redb, a copy-on-write B-tree.
//!
//! Everything redb is in this file and in `file`, so that it can be exchanged. Each tree is a redb
//! table named `t` and the tree's number in decimal, so that dropping it frees its pages; `meta`
//! holds what the engine must know before it has read anything else. Commits are durable, in two
//! phases and with the allocator's state saved, so that opening after a crash takes no scan of the
//! file.
//!
//! # Changes larger than memory
//!
//! redb keeps the pages that a change makes in memory, in at most half of what it may use, and
//! writes out what is more. When the change commits it goes through all of them once more for their
//! checksums, and so reads and writes those a second time. A large change therefore ends in parts
//! ([`BaseWrite::settle`]): each is a commit of redb's that is not durable, made while its pages are
//! in memory. Nobody sees a part: until the last one is durable, snapshots are that from before the
//! first. A crash leaves none of them.
//!
//! # After a failure
//!
//! A read that fails costs whoever reads, and nobody else. A change that fails leaves everything as
//! it was, but redb cannot be used for another one: the file must be opened anew ([`Base::mend`]).
//! Snapshots taken before go on reading what they read, but if the change failed because a page could
//! not be read: then redb gives them what it has in memory, and no more. As the file opened anew does
//! not know of them, it takes no change until they are gone, or have had [`PATIENCE`].

use super::{
    StoreError,
    file::{BaseFile, Fault, Resume, Shared, Traffic, Writing, writing},
};
use crate::{
    env::Env,
    types::{IdMap, TreeId},
};
use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};
use redb::{
    AccessGuard, Database, Durability, ReadOnlyTable, ReadTransaction, ReadableDatabase,
    ReadableTable, ReadableTableMetadata, Table, TableDefinition, TableError, TableHandle,
    WriteTransaction,
};
use std::{
    cell::Cell,
    fmt::Display,
    ops::Bound,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

type Definition<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;
type TreeReader = ReadOnlyTable<&'static [u8], &'static [u8]>;

const META: Definition<'static> = TableDefinition::new("meta");

/// A change ends in parts that make about so many of its pages: a part of the memory for pages that
/// leaves those of the part before in redb's half of it, and some room.
const PART_OF_CACHE: usize = 8;

/// The size of redb's pages, in bytes.
pub const PAGE: usize = 4096;

/// So long a change of a file that was opened anew waits for snapshots from before.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 30 });

fn tree_name(tree: TreeId) -> String {
    format!("t{tree}")
}

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Calls redb to read. What it reports, and what unwinds through it, become errors.
fn reading<T, E: Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(StoreError::Io(format!("the base file failed: {error}"))),
        Err(panic) => match panic.downcast::<Fault>() {
            Ok(fault) => Err(fault.0),
            // Its message was printed where it happened.
            Err(_) => Err(StoreError::Io("the base's library failed".to_owned())),
        },
    }
}

fn lost() -> StoreError {
    StoreError::Io(
        "the base was opened anew after a failure, and this transaction, which began before, can \
         read no more: roll it back and begin another one"
            .to_owned(),
    )
}

/// What a tree is called in errors, like `table d.t`.
type Names = OnceLock<Box<dyn Fn(TreeId) -> Option<String> + Send + Sync>>;

/// Says in an error which tree was read.
fn named(names: &Names, tree: Option<TreeId>, error: StoreError) -> StoreError {
    match (error, tree, names.get()) {
        (StoreError::Damaged { table: None, place }, Some(tree), Some(name)) => {
            StoreError::Damaged {
                table: name(tree),
                place,
            }
        }
        (error, ..) => error,
    }
}

/// A file as redb has it open.
struct Opened {
    /// None only while it is dropped.
    database: Option<Database>,
    file: Arc<BaseFile>,
    /// Memory for its pages, in bytes.
    cache_bytes: usize,
    names: Arc<Names>,
    /// Snapshots of it read no more: their pages may be written over. Whoever reads the file once more for
    /// such a snapshot has this in common with it.
    lost: Arc<AtomicBool>,
}

impl Opened {
    fn new(file: BaseFile, cache_bytes: usize, names: &Arc<Names>) -> Result<Opened, StoreError> {
        let file = Arc::new(file);
        let _writing = writing();
        let shared = Shared(Arc::clone(&file));
        let opened = reading(|| {
            Database::builder()
                .set_cache_size(cache_bytes)
                .create_with_backend(shared)
        });
        let mut database = opened.map_err(|error| file.failure().unwrap_or(error))?;
        if file.lost_header {
            let sound = reading(|| database.check_integrity());
            sound.map_err(|_| StoreError::Damaged {
                table: None,
                place: format!(
                    "{file:?}: one of its two headers is lost, and the other does not fit"
                ),
            })?;
        }
        match file.failure() {
            Some(failure) => Err(failure),
            None => Ok(Opened {
                database: Some(database),
                file,
                cache_bytes,
                names: Arc::clone(names),
                lost: Arc::default(),
            }),
        }
    }
    /// Reads from it, for a snapshot.
    fn read<T, E: Display>(
        &self,
        tree: Option<TreeId>,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, StoreError> {
        if self.is_lost() {
            return Err(lost());
        }
        let read = reading(read);
        // It may have been lost meanwhile, and its pages written over.
        match self.is_lost() {
            true => Err(lost()),
            false => read.map_err(|error| named(&self.names, tree, error)),
        }
    }
    /// Whether what it refers to may be written over.
    fn is_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }
    fn database(&self) -> &Database {
        let database = self.database.as_ref();
        database.expect("it is open as long as it lives")
    }
    fn snapshot(self: &Arc<Opened>) -> Result<BaseSnapshot, StoreError> {
        Ok(BaseSnapshot {
            transaction: reading(|| self.database().begin_read())?,
            trees: RwLock::default(),
            opened: Arc::clone(self),
            kept: None,
        })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Closing reads and writes: what fails there is for the next opening to deal with.
        let _writing = writing();
        let database = self.database.take();
        let _ = reading(|| {
            drop(database);
            Ok::<(), StoreError>(())
        });
    }
}

/// What follows from failed changes.
enum Health {
    Sound,
    /// A change failed: the file must be opened anew, and goes on here.
    Failed(Box<Resume>),
    /// It was opened anew, but snapshots of the one before may live; since when, in nanoseconds.
    Mended(Weak<Opened>, u64),
}

/// The file.
pub struct Base {
    env: Env,
    path: PathBuf,
    cache_bytes: usize,
    opened: ArcSwap<Opened>,
    /// What snapshots are while a change has ended in parts and not as a whole.
    before: RwLock<Option<Arc<BaseSnapshot>>>,
    health: Mutex<Health>,
    names: Arc<Names>,
    traffic: Arc<Traffic>,
}

impl Base {
    /// Makes a new file, which must not exist, and nothing in it. Durable when something is
    /// committed and the directory synced.
    pub fn create(env: &Env, path: &Path, cache_bytes: usize) -> Result<Base, StoreError> {
        let made = BaseFile::create(env, path);
        let file = made.map_err(|error| {
            StoreError::Io(format!("cannot create {}: {error}", path.display()))
        })?;
        Base::new(env, path, cache_bytes, file)
    }
    /// Opens the file. `cache_bytes` bounds the memory for its pages.
    pub fn open(env: &Env, path: &Path, cache_bytes: usize) -> Result<Base, StoreError> {
        let file = BaseFile::open(env, path, None)?;
        Base::new(env, path, cache_bytes, file)
    }
    fn new(
        env: &Env,
        path: &Path,
        cache_bytes: usize,
        mut file: BaseFile,
    ) -> Result<Base, StoreError> {
        let names = Arc::default();
        let traffic = Arc::default();
        file.count(&traffic);
        let opened = Opened::new(file, cache_bytes, &names)?;
        Ok(Base {
            env: env.clone(),
            path: path.to_owned(),
            cache_bytes,
            opened: ArcSwap::from_pointee(opened),
            before: RwLock::default(),
            health: Mutex::new(Health::Sound),
            names,
            traffic,
        })
    }
    /// What was read and written.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }
    /// Has errors say what `name` calls a tree. Once.
    pub fn name_trees(&self, name: impl Fn(TreeId) -> Option<String> + Send + Sync + 'static) {
        assert!(
            self.names.set(Box::new(name)).is_ok(),
            "trees are named once"
        );
    }
    /// Everything as of the last commit; later commits do not change it.
    pub fn snapshot(&self) -> Result<Arc<BaseSnapshot>, StoreError> {
        let before = self.before.read();
        match &*before {
            Some(before) => Ok(Arc::clone(before)),
            // Held until it is taken: no part may end meanwhile.
            None => Ok(Arc::new(self.opened.load().snapshot()?)),
        }
    }
    /// A snapshot that was taken since the last change, by reading the file once more: nothing comes from
    /// memory. No change must be under way. It has its pages kept by the one it was given.
    pub fn snapshot_from_disk(&self, kept: &Arc<BaseSnapshot>) -> Result<BaseSnapshot, StoreError> {
        if !Arc::ptr_eq(&self.opened.load(), &kept.opened) {
            return Err(lost());
        }
        let file = BaseFile::look(&self.env, &self.path)?;
        file.close();
        let mut opened = Opened::new(file, 0, &self.names)?;
        opened.lost = Arc::clone(&kept.opened.lost);
        let mut snapshot = Arc::new(opened).snapshot()?;
        snapshot.kept = Some(Arc::clone(kept));
        Ok(snapshot)
    }
    /// After a failed change: opens the file anew. True: it did, so that snapshots should be taken
    /// anew. An error: changes cannot be made yet, for it fails again, or because of snapshots from
    /// before.
    pub fn mend(&self) -> Result<bool, StoreError> {
        let mut health = self.health.lock();
        match &*health {
            Health::Sound => Ok(false),
            Health::Failed(resume) => {
                let mut file = BaseFile::open(&self.env, &self.path, Some(resume))?;
                file.count(&self.traffic);
                let opened = Arc::new(Opened::new(file, self.cache_bytes, &self.names)?);
                let before = self.opened.swap(opened);
                *self.before.write() = None;
                let now = self.env.monotonic_nanos();
                *health = Health::Mended(Arc::downgrade(&before), now);
                Ok(true)
            }
            Health::Mended(before, since) => {
                let waited = self.env.monotonic_nanos().saturating_sub(*since);
                match before.upgrade() {
                    Some(_) if u128::from(waited) < PATIENCE.as_nanos() => {
                        Err(StoreError::Io(format!(
                            "{} was opened anew after a failure, and transactions from before \
                             still read it; they have {} seconds to end",
                            self.path.display(),
                            PATIENCE.as_secs()
                        )))
                    }
                    before => {
                        if let Some(before) = before {
                            before.lost.store(true, Ordering::SeqCst);
                        }
                        *health = Health::Sound;
                        Ok(false)
                    }
                }
            }
        }
    }
    /// Begins a change; only one at a time (a second one waits). After a failed one, `mend` comes
    /// first.
    pub fn write(&self) -> Result<BaseWrite<'_>, StoreError> {
        if !matches!(*self.health.lock(), Health::Sound) {
            return Err(StoreError::Io(format!(
                "{} is not ready for changes after a failure",
                self.path.display()
            )));
        }
        let mut write = BaseWrite {
            transaction: None,
            base: self,
            opened: self.opened.load_full(),
            changed: Cell::new(0),
            has_parts: false,
            _writing: writing(),
        };
        write.begin()?;
        Ok(write)
    }
    /// Fills an empty Base with all that `source` has. `each` hears of every tree before it comes.
    pub fn fill(
        &self,
        source: &BaseSnapshot,
        each: &mut dyn FnMut(usize),
    ) -> Result<(), StoreError> {
        let write = self.write()?;
        let mut meta = write.meta()?;
        for (key, value) in source.meta()? {
            meta.put(&key, &value)?;
        }
        drop(meta);
        for (number, tree) in source.trees()?.into_iter().enumerate() {
            each(number);
            let mut range = source.range(tree, &[], None)?;
            let mut failure = None;
            let entries = std::iter::from_fn(|| match range.next(false) {
                Ok(entry) => entry,
                Err(error) => {
                    failure = Some(error);
                    None
                }
            });
            write
                .tree(tree)?
                .append(entries, |entry| (entry.key(), entry.value()))?;
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        write.commit()
    }
    /// A change of `opened` has failed.
    fn failed(&self, opened: &Arc<Opened>) {
        opened.file.close();
        let mut health = self.health.lock();
        if matches!(*health, Health::Sound) && Arc::ptr_eq(&self.opened.load(), opened) {
            *health = Health::Failed(Box::new(opened.file.resume()));
        }
    }
}

/// The Base as of one commit.
pub struct BaseSnapshot {
    // Dropped before what it reads.
    transaction: ReadTransaction,
    trees: RwLock<IdMap<Option<Arc<TreeReader>>>>,
    opened: Arc<Opened>,
    /// That of the file as it is open, which keeps the pages that this one reads from the disk.
    kept: Option<Arc<BaseSnapshot>>,
}

impl BaseSnapshot {
    /// Whether it cannot be read any more: a change failed, the file was opened anew, and there was no
    /// waiting for this snapshot any longer.
    pub fn is_lost(&self) -> bool {
        self.opened.is_lost()
    }
    /// Reads from the file. An error in a tree says in which one.
    fn read<T, E: Display>(
        &self,
        tree: Option<TreeId>,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, StoreError> {
        self.opened.read(tree, read)
    }
    fn tree(&self, tree: TreeId) -> Result<Option<Arc<TreeReader>>, StoreError> {
        if let Some(reader) = self.trees.read().get(&tree) {
            return Ok(reader.clone());
        }
        let name = tree_name(tree);
        let reader = self.read(Some(tree), || {
            match self.transaction.open_table(Definition::new(&name)) {
                Ok(reader) => Ok(Some(Arc::new(reader))),
                Err(TableError::TableDoesNotExist(_)) => Ok(None),
                Err(error) => Err(error),
            }
        })?;
        self.trees.write().insert(tree, reader.clone());
        Ok(reader)
    }
    /// Gives the value of a key to `found`; `None` if there is none.
    pub fn get<R>(
        &self,
        tree: TreeId,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let Some(reader) = self.tree(tree)? else {
            return Ok(None);
        };
        let value = self.read(Some(tree), || reader.get(key))?;
        Ok(value.map(|value| found(value.value())))
    }
    /// The entries of `low..high` (`None`: to the end), to be taken from either end.
    pub fn range(
        &self,
        tree: TreeId,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> Result<BaseRange, StoreError> {
        let high = high.map_or(Bound::Unbounded, Bound::Excluded);
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(low), high);
        let empty = matches!(high, Bound::Excluded(high) if high <= low);
        let range = match self.tree(tree)? {
            Some(reader) if !empty => {
                Some(self.read(Some(tree), || reader.range::<&[u8]>(bounds))?)
            }
            _ => None,
        };
        Ok(BaseRange {
            range,
            tree,
            opened: Arc::clone(&self.opened),
        })
    }
    /// Memory for the pages of the file, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.opened.cache_bytes
    }
    /// Whether all pages of the file fit into the memory for them.
    pub(super) fn fits_memory(&self) -> bool {
        self.opened.file.length() <= self.memory_bytes() as u64
    }
    /// How many entries a tree has.
    pub fn tree_len(&self, tree: TreeId) -> Result<u64, StoreError> {
        match self.tree(tree)? {
            Some(reader) => self.read(Some(tree), || reader.len()),
            None => Ok(0),
        }
    }
    /// All trees there are.
    pub fn trees(&self) -> Result<Vec<TreeId>, StoreError> {
        let tables = self.read(None, || self.transaction.list_tables())?;
        Ok(tables
            .filter_map(|table| table.name().strip_prefix('t')?.parse().ok())
            .collect())
    }
    /// All of `meta`.
    pub fn meta(&self) -> Result<Vec<Pair>, StoreError> {
        self.read(None, || {
            let table = match self.transaction.open_table(META) {
                Ok(table) => table,
                Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
                Err(error) => return Err(error.to_string()),
            };
            let range = table
                .range::<&[u8]>(..)
                .map_err(|error| error.to_string())?;
            let pairs = range.map(|entry| {
                let (key, value) = entry?;
                Ok((key.value().to_vec(), value.value().to_vec()))
            });
            let pairs: Result<_, redb::StorageError> = pairs.collect();
            pairs.map_err(|error| error.to_string())
        })
    }
}

/// A part of a tree, in key order.
pub struct BaseRange {
    range: Option<redb::Range<'static, &'static [u8], &'static [u8]>>,
    tree: TreeId,
    opened: Arc<Opened>,
}

/// An entry of the Base, read in place.
pub struct BaseItem {
    key: AccessGuard<'static, &'static [u8]>,
    value: AccessGuard<'static, &'static [u8]>,
}

impl BaseItem {
    /// Its key.
    pub fn key(&self) -> &[u8] {
        self.key.value()
    }
    /// Its value.
    pub fn value(&self) -> &[u8] {
        self.value.value()
    }
}

impl BaseRange {
    /// The next entry from the front or, if `reverse`, from the back.
    pub fn next(&mut self, reverse: bool) -> Result<Option<BaseItem>, StoreError> {
        self.next_not_taken(reverse, |_, _| false)
    }
    /// The same of those that `takes` does not take. So rows are copied right out of their pages,
    /// and that they come from another library is paid for once for many.
    pub fn next_not_taken(
        &mut self,
        reverse: bool,
        mut takes: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<Option<BaseItem>, StoreError> {
        let Some(range) = &mut self.range else {
            return Ok(None);
        };
        let opened = &self.opened;
        let item = opened.read(Some(self.tree), || {
            loop {
                let entry = if reverse {
                    range.next_back()
                } else {
                    range.next()
                };
                let Some((key, value)) = entry.transpose().map_err(|error| error.to_string())?
                else {
                    return Ok(None);
                };
                if !takes(key.value(), value.value()) {
                    return Ok(Some(BaseItem { key, value }));
                }
                if opened.is_lost() {
                    return Err("it was opened anew".to_owned());
                }
            }
        });
        if item.is_err() {
            // Where in the tree it was is not known any more.
            self.range = None;
        }
        item
    }
}

/// A change of the Base, all or nothing. Dropping it without `commit` leaves everything as it was.
pub struct BaseWrite<'b> {
    /// None once it is over.
    transaction: Option<WriteTransaction>,
    base: &'b Base,
    opened: Arc<Opened>,
    /// Bytes of the pages that it made since its last part ended, about, and at most.
    changed: Cell<usize>,
    has_parts: bool,
    _writing: Writing,
}

/// A tree being written.
pub struct TreeWriter<'a> {
    table: Table<'a, &'static [u8], &'static [u8]>,
    tree: Option<TreeId>,
    write: &'a BaseWrite<'a>,
}

impl BaseWrite<'_> {
    /// Calls redb to change something. After an error, its own or the file's, nothing of this
    /// change comes to be.
    fn call<T, E: Display>(
        &self,
        tree: Option<TreeId>,
        call: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, StoreError> {
        self.check(tree, reading(call))
    }
    fn check<T>(
        &self,
        tree: Option<TreeId>,
        result: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let failure = if self.opened.file.is_closed() {
            self.opened.file.failure()
        } else {
            None
        };
        let error = match (failure, result) {
            (None, Ok(value)) => return Ok(value),
            (Some(failure), _) => failure,
            (None, Err(error)) => error,
        };
        self.base.failed(&self.opened);
        Err(named(&self.opened.names, tree, error))
    }
    /// Counts the page that an entry of so many bytes goes to.
    fn makes(&self, bytes: usize) {
        self.changed.set(self.changed.get() + bytes.max(PAGE));
    }
    fn begin(&mut self) -> Result<(), StoreError> {
        let transaction = self.call(None, || self.opened.database().begin_write())?;
        self.transaction = Some(transaction);
        self.changed.set(0);
        Ok(())
    }
    /// Whether it has made as many pages as a part should have.
    pub(super) fn is_full(&self) -> bool {
        self.changed.get() > self.opened.cache_bytes / PART_OF_CACHE
    }
    /// Ends a part of it, if it has become large.
    pub(super) fn settle(&mut self) -> Result<(), StoreError> {
        if !self.is_full() {
            return Ok(());
        }
        if !self.has_parts {
            let mut before = self.base.before.write();
            *before = Some(Arc::new(self.opened.snapshot()?));
            self.has_parts = true;
        }
        let transaction = self.transaction.take();
        let mut transaction = transaction.expect("a change that goes on has its transaction");
        self.call(None, || {
            let part = transaction.set_durability(Durability::None);
            part.map_err(|error| error.to_string())?;
            transaction.commit().map_err(|error| error.to_string())
        })?;
        self.begin()
    }
    fn transaction(&self) -> &WriteTransaction {
        let transaction = self.transaction.as_ref();
        transaction.expect("a change has its transaction until it is committed or dropped")
    }
    /// Opens a tree for writing; it comes into being if need be.
    pub fn tree(&self, tree: TreeId) -> Result<TreeWriter<'_>, StoreError> {
        let name = tree_name(tree);
        self.open(Some(tree), Definition::new(&name))
    }
    /// `meta`, for writing.
    pub fn meta(&self) -> Result<TreeWriter<'_>, StoreError> {
        self.open(None, META)
    }
    fn open(
        &self,
        tree: Option<TreeId>,
        definition: Definition<'_>,
    ) -> Result<TreeWriter<'_>, StoreError> {
        let table = self.call(tree, || self.transaction().open_table(definition))?;
        Ok(TreeWriter {
            table,
            tree,
            write: self,
        })
    }
    /// Removes a tree, if it exists, and frees its pages.
    pub fn drop_tree(&self, tree: TreeId) -> Result<(), StoreError> {
        let name = tree_name(tree);
        self.call(Some(tree), || {
            self.transaction().delete_table(Definition::new(&name))
        })?;
        Ok(())
    }
    /// Makes it durable. After an error the Base has what it had before.
    pub fn commit(mut self) -> Result<(), StoreError> {
        let transaction = self.transaction.take();
        let mut transaction = transaction.expect("a change is committed once");
        transaction.set_quick_repair(true);
        self.call(None, || transaction.commit())?;
        if self.has_parts {
            *self.base.before.write() = None;
            self.has_parts = false;
        }
        Ok(())
    }
}

impl Drop for BaseWrite<'_> {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            // An error of this is one of the file, or makes it one.
            let _ = self.call(None, || transaction.abort());
        }
        if self.has_parts {
            // They are gone only when the file is opened anew.
            self.base.failed(&self.opened);
        }
    }
}

impl TreeWriter<'_> {
    /// Gives the value of a key to `found`; `None` if there is none.
    pub fn get<R>(
        &self,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let table = &self.table;
        let value = self.write.call(self.tree, || table.get(key))?;
        Ok(value.map(|value| found(value.value())))
    }
    /// Puts an entry, replacing one with the same key.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.write.makes(key.len() + value.len());
        let table = &mut self.table;
        self.write
            .call(self.tree, || table.insert(key, value).map(|_| ()))
    }
    /// Puts entries in the order of their keys, all above those in the tree. `parts` are an
    /// entry's key and its value.
    pub fn append<E>(
        &mut self,
        entries: impl Iterator<Item = E>,
        parts: impl Fn(&E) -> (&[u8], &[u8]),
    ) -> Result<(), StoreError> {
        let table = &mut self.table;
        let changed = &self.write.changed;
        self.write.call(self.tree, || {
            let failed = |error: &dyn Display| error.to_string();
            let end = table.upper_bound_mut(Bound::<&[u8]>::Unbounded);
            let mut end = end.map_err(|error| failed(&error))?;
            for entry in entries {
                let (key, value) = parts(&entry);
                let bytes = key.len() + value.len();
                changed.set(changed.get() + bytes);
                let put = end.insert_before(key, value);
                put.map_err(|error| failed(&error))?;
            }
            end.close().map_err(|error| failed(&error))
        })
    }
    /// The last key.
    pub fn last_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.write.call(self.tree, || {
            let last = self.table.last()?;
            Ok::<_, redb::StorageError>(last.map(|(last, _)| last.value().to_vec()))
        })
    }
    /// Whether all keys are below `key`.
    pub fn is_below(&self, key: &[u8]) -> Result<bool, StoreError> {
        let last = self.last_key()?;
        Ok(last.is_none_or(|last| last.as_slice() < key))
    }
    /// Removes an entry, if it exists.
    pub fn remove(&mut self, key: &[u8]) -> Result<(), StoreError> {
        self.write.makes(key.len());
        let table = &mut self.table;
        self.write.call(self.tree, || table.remove(key).map(|_| ()))
    }
    /// The first key at or after `low`, if it begins with `prefix`.
    pub fn has_prefix(&self, prefix: &[u8]) -> Result<bool, StoreError> {
        self.write.call(self.tree, || {
            let mut range = self.table.range::<&[u8]>(prefix..)?;
            let first = range.next().transpose()?;
            let is_inside = first.is_some_and(|(key, _)| key.value().starts_with(prefix));
            Ok::<_, redb::StorageError>(is_inside)
        })
    }
    /// All keys, for removing what is no longer wanted; for small tables only.
    pub fn keys(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        self.write.call(self.tree, || {
            let range = self.table.range::<&[u8]>(..)?;
            let keys: Result<_, redb::StorageError> =
                range.map(|entry| Ok(entry?.0.value().to_vec())).collect();
            keys
        })
    }
}

#[cfg(test)]
mod tests;
