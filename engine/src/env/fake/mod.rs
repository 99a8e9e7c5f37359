//! A disk in memory that behaves as badly as disks may, reproducibly from a seed.
//!
//! It keeps apart what was synced and what was not. [`Disk::crash`] makes the disk that a machine
//! would find after a power failure: of each file's unsynced writes every 512-byte sector is
//! kept or lost on its own (so writes are lost, kept, torn and reordered), changes of length
//! likewise; of each directory's unsynced creations, renames and removals a prefix is kept.
//! A file that was synced but whose name was not may be gone.
//!
//! Calls that change something are numbered from 1, and so are reads. [`Disk::fail_at`] and
//! [`Disk::fail_reads`] let some of them fail, [`Disk::crash_at`] lets the machine stop at one,
//! [`Disk::set_capacity`] makes the disk small, [`Disk::damage`] changes what it has.
//! The clock moves only by being asked, a microsecond each time, and by [`Disk::advance`].
//!
//! Copies are cheap, because files are made of blocks that copies share: [`Disk::copy_before`] has
//! one made before each of some calls, each of which can then be crashed in many ways.

mod backend;
mod contents;
mod noise;
mod state;
#[cfg(test)]
mod tests;

pub use noise::Noise;

use super::Env;
use contents::Contents;
use parking_lot::{Mutex, MutexGuard};
use state::{Inode, State};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What a disk writes whole or not at all.
pub const SECTOR: usize = 512;

/// The fake disk. Clones are the same disk.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<State>>);

/// What can happen to a file that nobody writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// One bit is another one.
    Flip {
        /// Of this byte.
        offset: usize,
        /// From 0 to 7.
        bit: u8,
    },
    /// A sector, by its number, has only zeros.
    Zero(usize),
    /// Two sectors are exchanged.
    Swap(usize, usize),
    /// The file ends here.
    Cut(usize),
}

impl Disk {
    /// An empty disk without bounds or faults.
    #[must_use]
    pub fn new(seed: u64) -> Disk {
        Disk::of(State::new(seed))
    }

    fn of(state: State) -> Disk {
        Disk(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// An environment on this disk.
    #[must_use]
    pub fn env(&self) -> Env {
        Env::new(Arc::new(self.clone()))
    }

    /// How many calls that change something there were.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// How many reads there were.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.state().reads
    }

    /// A hash of all calls that were to change something: what, where, with which bytes. Equal
    /// hashes mean equal calls.
    #[must_use]
    pub fn trace(&self) -> u64 {
        self.state().trace
    }

    /// Lets the call of this number fail: a write after a part of it, an fsync without effect.
    pub fn fail_at(&self, operation: u64, kind: ErrorKind) {
        self.state().faults.fail = Some((operation, kind));
    }

    /// Lets an fsync that fails lose what it was to write, or a part of it, as Linux does: reads
    /// show it as long as the machine runs, and no later fsync writes it.
    pub fn lose_on_failed_sync(&self) {
        self.state().faults.failed_sync_loses = true;
    }

    /// Lets `count` reads fail, from the one of this number on.
    pub fn fail_reads(&self, read: u64, count: u64, kind: ErrorKind) {
        self.state().faults.fail_reads = Some((read, read.saturating_add(count), kind));
    }

    /// Stops the machine at the call of this number: it and all later ones fail.
    pub fn crash_at(&self, operation: u64) {
        self.state().faults.crash = Some(operation);
    }

    /// Stops the machine now: all calls fail from now on.
    pub fn stop(&self) {
        self.state().faults.crash = Some(0);
    }

    /// Lets all files together have at most so many bytes. Holes take none.
    pub fn set_capacity(&self, bytes: usize) {
        self.state().faults.capacity = Some((bytes, u64::MAX));
    }

    /// The same for so many microseconds of the disk's clock.
    pub fn set_capacity_for(&self, bytes: usize, micros: u64) {
        let mut state = self.state();
        state.faults.capacity = Some((bytes, state.micros.saturating_add(micros)));
    }

    /// How many bytes all files have together. Holes take none.
    #[must_use]
    pub fn used(&self) -> usize {
        let mut unbounded = self.state().fork();
        unbounded.faults.capacity = Some((usize::MAX, u64::MAX));
        usize::MAX - unbounded.room()
    }

    /// Moves the clock.
    pub fn advance(&self, micros: u64) {
        self.state().micros += micros;
    }

    /// The disk after a power failure now (or at `crash_at`). This one stays as it is.
    #[must_use]
    pub fn crash(&self, seed: u64) -> Disk {
        Disk::of(self.state().crashed(seed, true))
    }

    /// As [`Disk::crash`], but each unsynced write is kept or lost as a whole.
    #[must_use]
    pub fn power_loss(&self, seed: u64) -> Disk {
        Disk::of(self.state().crashed(seed, false))
    }

    /// Has a copy made before each of these calls, to be taken with [`Disk::take_copies`].
    pub fn copy_before(&self, operations: impl IntoIterator<Item = u64>) {
        self.state().copy_at = operations.into_iter().collect();
    }

    /// The copies made so far, oldest first. They have what is not synced, but no faults ordered.
    #[must_use]
    pub fn take_copies(&self) -> Vec<Disk> {
        let copies = std::mem::take(&mut self.state().copies);
        copies.into_iter().map(Disk::of).collect()
    }

    /// A copy as of now, as [`Disk::take_copies`] gives it. It has the page cache, too: it is what
    /// a process finds that is started after another one was killed.
    #[must_use]
    pub fn copy(&self) -> Disk {
        Disk::of(self.state().fork())
    }

    /// The contents of a file, to look at or to damage it.
    #[must_use]
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        Some(state.named(path)?.current.to_bytes())
    }

    /// All files, with their lengths.
    #[must_use]
    pub fn files(&self) -> Vec<(PathBuf, usize)> {
        let state = self.state();
        let names = state.names.keys();
        let files = names.map(|path| {
            (
                path.clone(),
                state.named(path).map_or(0, |f| f.current.len()),
            )
        });
        files.collect()
    }

    /// Puts a file with these contents on the disk, synced, without counting a call.
    pub fn put(&self, path: &Path, contents: Vec<u8>) {
        let inode = Inode::new(Contents::from_bytes(&contents));
        self.state().put(path, inode);
    }

    /// Damages a file, where it is that long.
    pub fn damage(&self, path: &Path, damage: Damage) {
        let mut state = self.state();
        let number = state.names.get(path).copied();
        if let Some(number) = number {
            state.inode(number).damage(damage);
        }
    }
}
