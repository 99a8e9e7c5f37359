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
//! # Trees in layers
//!
//! A definition can change so that rows only change their shape: a column is added, dropped or moved.
//! Then a new, empty tree is put over that of the rows ([`BaseWrite::put_over`]). What is read of the one
//! below is reshaped on the way; what is written goes to the new one, and leaves the one below; and
//! in the background the rest is moved up ([`BaseWrite::move_up`]) until the tree below can go. See
//! `layers`.
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
    file::{BaseFile, Traffic},
};
use crate::{
    env::{Env, TemporaryFiles},
    types::TreeId,
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

mod current;
mod layers;
mod moving;
mod opened;
mod range;
mod snapshot;
mod write;

use current::{Current, Health};
use opened::{Names, Opened, lost};

pub use moving::Moving;
pub use opened::{PAGE, Pair};
pub use range::{BaseItem, BaseRange};
pub use snapshot::BaseSnapshot;
pub use write::{BaseWrite, TreeWriter};

/// So long a change of a file that was opened anew waits for snapshots from before.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 30 });

/// The file.
pub struct Base {
    env: Env,
    path: PathBuf,
    cache_bytes: usize,
    current: Current,
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
            current: Current::new(opened),
            names,
            traffic,
        })
    }
    /// Where temporary files are made beside it.
    pub fn temporary_files(&self) -> TemporaryFiles {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        TemporaryFiles::of(&self.env, directory)
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
        let before = self.current.before.read();
        match &*before {
            Some(before) => Ok(Arc::clone(before)),
            // Held until it is taken: no part may end meanwhile.
            None => Ok(Arc::new(BaseSnapshot::of(&self.current.opened.load())?)),
        }
    }
    /// A snapshot that was taken since the last change, by reading the file once more: nothing comes from
    /// memory. No change must be under way. It has its pages kept by the one it was given.
    pub fn snapshot_from_disk(&self, kept: &Arc<BaseSnapshot>) -> Result<BaseSnapshot, StoreError> {
        if !Arc::ptr_eq(&self.current.opened.load(), &kept.opened) {
            return Err(lost());
        }
        let file = BaseFile::look(&self.env, &self.path)?;
        file.close();
        let mut opened = Opened::new(file, 0, &self.names)?;
        opened.lost = Arc::clone(&kept.opened.lost);
        let mut snapshot = BaseSnapshot::of(&Arc::new(opened))?;
        snapshot.kept = Some(Arc::clone(kept));
        Ok(snapshot)
    }
    /// After a failed change: opens the file anew. True: it did, so that snapshots should be taken
    /// anew. An error: changes cannot be made yet, for it fails again, or because of snapshots from
    /// before.
    pub fn mend(&self) -> Result<bool, StoreError> {
        let mut health = self.current.health.lock();
        match &*health {
            Health::Sound => Ok(false),
            Health::Failed(resume) => {
                let mut file = BaseFile::open(&self.env, &self.path, Some(resume))?;
                file.count(&self.traffic);
                let opened = Arc::new(Opened::new(file, self.cache_bytes, &self.names)?);
                let before = self.current.opened.swap(opened);
                *self.current.before.write() = None;
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
        if !matches!(*self.current.health.lock(), Health::Sound) {
            return Err(StoreError::Io(format!(
                "{} is not ready for changes after a failure",
                self.path.display()
            )));
        }
        BaseWrite::new(&self.current)
    }
    /// Fills an empty Base with what `source` has beside its trees, and with some of these. `each` hears of every tree
    /// before it comes.
    pub fn fill(
        &self,
        source: &BaseSnapshot,
        trees: &[TreeId],
        each: &mut dyn FnMut(usize),
    ) -> Result<(), StoreError> {
        let write = self.write()?;
        let mut meta = write.meta()?;
        for (key, value) in source.meta()? {
            meta.put(&key, &value)?;
        }
        drop(meta);
        for (number, tree) in trees.iter().copied().enumerate() {
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
}

#[cfg(test)]
mod tests;
