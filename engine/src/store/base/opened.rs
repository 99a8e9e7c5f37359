//! The Base's file as redb has it open.

use crate::{
    store::{
        StoreError,
        file::{BaseFile, Fault, Shared, writing},
    },
    types::TreeId,
};
use redb::{Database, ReadOnlyTable, ReadTransaction, TableDefinition, TableError};
use std::{
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

pub(super) type Definition<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;
pub(super) type TreeReader = ReadOnlyTable<&'static [u8], &'static [u8]>;

pub(super) const META: Definition<'static> = TableDefinition::new("meta");

/// The size of redb's pages, in bytes.
pub const PAGE: usize = 4096;

pub(super) fn tree_name(tree: TreeId) -> String {
    format!("t{tree}")
}

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// All of a small table; nothing if there is none.
pub(super) fn pairs(
    transaction: &ReadTransaction,
    definition: Definition<'_>,
) -> Result<Vec<Pair>, String> {
    let failed = |error: redb::StorageError| error.to_string();
    let table = match transaction.open_table(definition) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let range = table.range::<&[u8]>(..).map_err(failed)?;
    let pairs = range.map(|entry| {
        let (key, value) = entry.map_err(failed)?;
        Ok((key.value().to_vec(), value.value().to_vec()))
    });
    pairs.collect()
}

/// Calls redb to read. What it reports, and what unwinds through it, become errors.
pub(super) fn reading<T, E: Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T, StoreError> {
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

pub(super) fn lost() -> StoreError {
    StoreError::Io(
        "the base was opened anew after a failure, and this transaction, which began before, can \
         read no more: roll it back and begin another one"
            .to_owned(),
    )
}

/// What a tree is called in errors, like `table d.t`.
pub(super) type Names = OnceLock<Box<dyn Fn(TreeId) -> Option<String> + Send + Sync>>;

/// Says in an error which tree was read.
pub(super) fn named(names: &Names, tree: Option<TreeId>, error: StoreError) -> StoreError {
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
pub(super) struct Opened {
    /// None only while it is dropped.
    database: Option<Database>,
    pub file: Arc<BaseFile>,
    /// Memory for its pages, in bytes.
    pub cache_bytes: usize,
    pub names: Arc<Names>,
    /// Snapshots of it read no more: their pages may be written over. Whoever reads the file once more for
    /// such a snapshot has this in common with it.
    pub lost: Arc<AtomicBool>,
}

impl Opened {
    pub fn new(
        file: BaseFile,
        cache_bytes: usize,
        names: &Arc<Names>,
    ) -> Result<Opened, StoreError> {
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
    pub fn read<T, E: Display>(
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
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }
    pub fn database(&self) -> &Database {
        let database = self.database.as_ref();
        database.expect("it is open as long as it lives")
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
