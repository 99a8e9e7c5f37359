//! A disk in memory that behaves as badly as disks may, reproducibly from a seed.
//!
//! It keeps apart what was synced and what was not. [`Disk::crash`] makes the disk that a machine
//! would find after a power failure: of each file's unsynced writes every 512-byte sector is
//! kept or lost on its own (so writes are lost, kept, torn and reordered), changes of length
//! likewise; of each directory's unsynced creations, renames and removals a prefix is kept.
//! A file that was synced but whose name was not may be gone.
//!
//! Calls that change something are numbered from 1. [`Disk::fail_at`] lets one of them fail,
//! [`Disk::crash_at`] lets the machine stop at one, [`Disk::set_capacity`] makes the disk small.
//! The clock moves only by being asked, a microsecond each time, and by [`Disk::advance`].

mod noise;
#[cfg(test)]
mod tests;

pub use noise::Noise;

use super::{
    Env,
    disk::{Backend, Handle, Mode},
};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

/// What a disk writes whole or not at all.
pub const SECTOR: usize = 512;

/// The fake disk. Clones are the same disk.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

#[derive(Clone, Default)]
struct Inode {
    synced: Vec<u8>,
    current: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Clone)]
enum Naming {
    Create(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

type Names = BTreeMap<PathBuf, usize>;

struct State {
    inodes: Vec<Inode>,
    synced_names: Names,
    names: Names,
    unsynced_names: Vec<Naming>,
    locks: BTreeSet<PathBuf>,
    noise: Noise,
    operations: u64,
    fail: Option<(u64, ErrorKind)>,
    crash: Option<u64>,
    capacity: usize,
    micros: u64,
}

fn apply(change: &Change, contents: &mut Vec<u8>) {
    match change {
        Change::Write { offset, bytes } => {
            let end = offset + bytes.len();
            if contents.len() < end {
                contents.resize(end, 0);
            }
            contents[*offset..end].copy_from_slice(bytes);
        }
        Change::SetLen(length) => contents.resize(*length, 0),
    }
}

fn apply_naming(naming: &Naming, names: &mut Names) {
    match naming {
        Naming::Create(path, inode) => {
            names.insert(path.clone(), *inode);
        }
        Naming::Rename(from, to) => {
            if let Some(inode) = names.remove(from) {
                names.insert(to.clone(), inode);
            }
        }
        Naming::Remove(path) => {
            names.remove(path);
        }
    }
}

fn directory(naming: &Naming) -> Option<&Path> {
    match naming {
        Naming::Create(path, _) | Naming::Rename(path, _) | Naming::Remove(path) => path.parent(),
    }
}

/// What of an unsynced change a power failure leaves.
fn survive(change: &Change, noise: &mut Noise, contents: &mut Vec<u8>) {
    let fate = noise.below(4);
    match change {
        _ if fate == 0 => {}
        Change::Write { offset, bytes } if fate < 3 => {
            // Torn: each sector of the disk that the write touches is kept or lost.
            let mut start = 0;
            while start < bytes.len() {
                let end = bytes.len().min(start + SECTOR - (offset + start) % SECTOR);
                if noise.one_in(2) {
                    let part = Change::Write {
                        offset: offset + start,
                        bytes: bytes[start..end].to_vec(),
                    };
                    apply(&part, contents);
                }
                start = end;
            }
        }
        change => apply(change, contents),
    }
}

impl State {
    /// Counts a call that changes something; says how it fails, if it does. A crash lets the
    /// call happen (unsynced) but nobody hears of it.
    fn operation(&mut self) -> Result<Outcome, io::Error> {
        if self.crash.is_some_and(|at| self.operations >= at) {
            return Err(stopped());
        }
        self.operations += 1;
        if self.crash == Some(self.operations) {
            return Ok(Outcome::Stops);
        }
        match self.fail {
            Some((at, kind)) if at == self.operations => Ok(Outcome::Fails(kind)),
            _ => Ok(Outcome::Happens),
        }
    }

    fn alive(&self) -> io::Result<()> {
        match self.crash {
            Some(at) if self.operations >= at => Err(stopped()),
            _ => Ok(()),
        }
    }

    fn used(&self) -> usize {
        let inodes: BTreeSet<_> = self.names.values().collect();
        let sizes = inodes.iter().filter_map(|&&inode| self.inodes.get(inode));
        sizes.map(|inode| inode.current.len()).sum()
    }

    fn name(&mut self, naming: Naming) -> io::Result<()> {
        match self.operation()? {
            Outcome::Fails(kind) => Err(failed(kind)),
            outcome => {
                apply_naming(&naming, &mut self.names);
                self.unsynced_names.push(naming);
                outcome.result()
            }
        }
    }

    fn change(&mut self, inode: usize, change: Change) {
        if let Some(inode) = self.inodes.get_mut(inode) {
            apply(&change, &mut inode.current);
            inode.unsynced.push(change);
        }
    }
}

enum Outcome {
    Happens,
    Stops,
    Fails(ErrorKind),
}

impl Outcome {
    fn result(&self) -> io::Result<()> {
        match self {
            Outcome::Happens => Ok(()),
            Outcome::Stops => Err(stopped()),
            Outcome::Fails(kind) => Err(failed(*kind)),
        }
    }
}

fn stopped() -> io::Error {
    io::Error::other("the machine has stopped")
}

fn failed(kind: ErrorKind) -> io::Error {
    io::Error::new(kind, "injected failure")
}

impl Disk {
    /// An empty disk without bounds or faults.
    #[must_use]
    pub fn new(seed: u64) -> Disk {
        Disk(Arc::new(Mutex::new(State {
            inodes: Vec::new(),
            synced_names: Names::new(),
            names: Names::new(),
            unsynced_names: Vec::new(),
            locks: BTreeSet::new(),
            noise: Noise::new(seed),
            operations: 0,
            fail: None,
            crash: None,
            capacity: usize::MAX,
            micros: 1_700_000_000_000_000,
        })))
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

    /// Lets the call of this number fail: a write after a part of it, an fsync without effect.
    pub fn fail_at(&self, operation: u64, kind: ErrorKind) {
        self.state().fail = Some((operation, kind));
    }

    /// Stops the machine at the call of this number: it and all later ones fail.
    pub fn crash_at(&self, operation: u64) {
        self.state().crash = Some(operation);
    }

    /// Lets all files together have at most so many bytes.
    pub fn set_capacity(&self, bytes: usize) {
        self.state().capacity = bytes;
    }

    /// Moves the clock.
    pub fn advance(&self, micros: u64) {
        self.state().micros += micros;
    }

    /// The disk after a power failure now (or at `crash_at`). This one stays as it is.
    #[must_use]
    pub fn crash(&self, seed: u64) -> Disk {
        let state = self.state();
        let mut noise = Noise::new(seed);
        let mut inodes = state.inodes.clone();
        for inode in &mut inodes {
            for change in std::mem::take(&mut inode.unsynced) {
                survive(&change, &mut noise, &mut inode.synced);
            }
            inode.current.clone_from(&inode.synced);
        }
        let mut names = state.synced_names.clone();
        let kept = noise.below(state.unsynced_names.len() as u64 + 1);
        for naming in state.unsynced_names.iter().take(kept as usize) {
            apply_naming(naming, &mut names);
        }
        let disk = Disk::new(noise.next_u64());
        let micros = state.micros;
        drop(state);
        let mut after = disk.state();
        after.inodes = inodes;
        after.synced_names = names.clone();
        after.names = names;
        after.micros = micros;
        drop(after);
        disk
    }

    /// The contents of a file, to look at or to damage it.
    #[must_use]
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = state.inodes.get(*state.names.get(path)?)?;
        Some(inode.current.clone())
    }

    /// Puts a file with these contents on the disk, synced, without counting a call.
    pub fn put(&self, path: &Path, contents: Vec<u8>) {
        let mut state = self.state();
        let number = state.inodes.len();
        state.inodes.push(Inode {
            synced: contents.clone(),
            current: contents,
            unsynced: Vec::new(),
        });
        state.names.insert(path.to_owned(), number);
        state.synced_names.insert(path.to_owned(), number);
    }
}

impl Backend for Disk {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>> {
        let mut state = self.state();
        state.alive()?;
        let inode = match state.names.get(path) {
            Some(_) if mode == Mode::CreateNew => return Err(ErrorKind::AlreadyExists.into()),
            Some(&inode) => inode,
            None if mode == Mode::Existing => return Err(ErrorKind::NotFound.into()),
            None => {
                let inode = state.inodes.len();
                state.inodes.push(Inode::default());
                state.name(Naming::Create(path.to_owned(), inode))?;
                inode
            }
        };
        Ok(Box::new(FakeFile {
            disk: self.clone(),
            inode,
        }))
    }

    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        self.state().alive()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        state.alive()?;
        let inside = state.names.keys().filter(|path| path.parent() == Some(dir));
        let names = inside.filter_map(|path| path.file_name()?.to_str().map(String::from));
        Ok(names.collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        if !state.names.contains_key(from) {
            return Err(ErrorKind::NotFound.into());
        }
        state.name(Naming::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if !state.names.contains_key(path) {
            return Err(ErrorKind::NotFound.into());
        }
        state.name(Naming::Remove(path.to_owned()))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        let outcome = state.operation()?;
        if matches!(outcome, Outcome::Happens) {
            let unsynced = std::mem::take(&mut state.unsynced_names);
            let (here, elsewhere) = unsynced
                .into_iter()
                .partition(|naming| directory(naming) == Some(dir));
            state.unsynced_names = elsewhere;
            let here: Vec<Naming> = here;
            for naming in &here {
                apply_naming(naming, &mut state.synced_names);
            }
        }
        outcome.result()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        let mut state = self.state();
        state.alive()?;
        if !state.locks.insert(path.to_owned()) {
            return Ok(None);
        }
        Ok(Some(Box::new(FakeLock(self.clone(), path.to_owned()))))
    }

    fn wall_micros(&self) -> u64 {
        let mut state = self.state();
        state.micros += 1;
        state.micros
    }

    fn monotonic_nanos(&self) -> u64 {
        self.wall_micros() * 1000
    }

    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut state = self.state();
        for byte in bytes {
            *byte = state.noise.next_u64() as u8;
        }
        Ok(())
    }
}

struct FakeLock(Disk, PathBuf);

impl Drop for FakeLock {
    fn drop(&mut self) {
        self.0.state().locks.remove(&self.1);
    }
}

struct FakeFile {
    disk: Disk,
    inode: usize,
}

impl Handle for FakeFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.state();
        state.alive()?;
        let contents = state.inodes.get(self.inode).map(|i| &i.current[..]);
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = contents.and_then(|c| c.get(from..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        let outcome = state.operation()?;
        let offset = usize::try_from(offset).map_err(|_| ErrorKind::FileTooLarge)?;
        let mut bytes = bytes.to_vec();
        let length = state
            .inodes
            .get(self.inode)
            .map_or(0, |inode| inode.current.len());
        let growth = (offset + bytes.len()).saturating_sub(length);
        let room = state.capacity.saturating_sub(state.used());
        if growth > room {
            bytes.truncate(bytes.len().saturating_sub(growth - room));
            state.change(self.inode, Change::Write { offset, bytes });
            return Err(ErrorKind::StorageFull.into());
        }
        if matches!(outcome, Outcome::Fails(_)) {
            let part = state.noise.below(bytes.len() as u64) as usize;
            bytes.truncate(part);
        }
        state.change(self.inode, Change::Write { offset, bytes });
        outcome.result()
    }

    fn len(&self) -> io::Result<u64> {
        let state = self.disk.state();
        state.alive()?;
        let inode = state.inodes.get(self.inode);
        Ok(inode.map_or(0, |inode| inode.current.len() as u64))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        let outcome = state.operation()?;
        let length = usize::try_from(length).map_err(|_| ErrorKind::FileTooLarge)?;
        if !matches!(outcome, Outcome::Fails(_)) {
            state.change(self.inode, Change::SetLen(length));
        }
        outcome.result()
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let outcome = state.operation()?;
        if matches!(outcome, Outcome::Happens)
            && let Some(inode) = state.inodes.get_mut(self.inode)
        {
            for change in std::mem::take(&mut inode.unsynced) {
                apply(&change, &mut inode.synced);
            }
        }
        outcome.result()
    }
}
