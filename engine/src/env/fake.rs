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

/// A small generator of reproducible noise (SplitMix64); not for secrets.
#[derive(Clone, Debug)]
pub struct Noise(u64);

impl Noise {
    /// From a seed; nearby seeds give unrelated sequences.
    #[must_use]
    pub fn new(seed: u64) -> Noise {
        Noise(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound` (0 for a bound of 0).
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64().checked_rem(bound).unwrap_or(0)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> PathBuf {
        PathBuf::from("/data/f")
    }

    #[test]
    fn what_was_synced_survives_and_the_rest_may_not() {
        let (mut kept, mut lost, mut torn) = (0, 0, 0);
        for seed in 0..200 {
            let disk = Disk::new(seed);
            let env = disk.env();
            let file = env.open(&path(), Mode::Create).unwrap();
            file.write_at(&[1; 4096], 0).unwrap();
            file.sync_data().unwrap();
            env.sync_dir(Path::new("/data")).unwrap();
            file.write_at(&[2; 4096], 2048).unwrap();
            let after = disk.crash(seed).contents(&path()).unwrap();
            assert!(after.len() >= 4096);
            assert_eq!(&after[..2048], &[1; 2048]);
            let twos = after.iter().filter(|&&byte| byte == 2).count();
            assert_eq!(twos % SECTOR, 0);
            match twos {
                4096 => kept += 1,
                0 => lost += 1,
                _ => torn += 1,
            }
        }
        assert!(kept > 10 && lost > 10 && torn > 10, "{kept} {lost} {torn}");
    }

    #[test]
    fn a_name_may_be_lost_until_its_directory_is_synced() {
        let mut lost = 0;
        for seed in 0..50 {
            let disk = Disk::new(seed);
            let env = disk.env();
            env.open(&path(), Mode::Create).unwrap();
            lost += u32::from(disk.crash(seed).contents(&path()).is_none());
            env.sync_dir(Path::new("/data")).unwrap();
            assert!(disk.crash(seed).contents(&path()).is_some());
        }
        assert!(lost > 0 && lost < 50);
    }

    #[test]
    fn a_replaced_file_is_old_or_new_at_every_crash() {
        let run = |at: Option<u64>| {
            let disk = Disk::new(1);
            let env = disk.env();
            env.replace(&path(), b"old").unwrap();
            if let Some(at) = at {
                disk.crash_at(disk.operations() + at);
            }
            let result = env.replace(&path(), b"new contents");
            (disk, result.is_ok())
        };
        for at in 1..10 {
            for seed in 0..50 {
                let (disk, done) = run(Some(at));
                let contents = disk.crash(seed).contents(&path()).unwrap();
                assert!(contents == b"new contents" || (contents == b"old" && !done));
            }
        }
    }

    #[test]
    fn faults_come_where_they_were_ordered() {
        let disk = Disk::new(3);
        let env = disk.env();
        let file = env.open(&path(), Mode::Create).unwrap();
        disk.fail_at(3, ErrorKind::Other);
        file.write_at(&[1; 100], 0).unwrap();
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
        disk.set_capacity(150);
        let error = file.write_at(&[2; 100], 100).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(file.len().unwrap(), 150);
        disk.crash_at(disk.operations() + 1);
        assert!(file.write_at(b"x", 0).is_err());
        assert!(file.read_at(&mut [0], 0).is_err());
        assert_eq!(disk.operations(), 6);
    }
}
