//! What is on the disk, what is not synced yet, and what goes wrong when.

use super::{Damage, Noise, SECTOR, contents::Contents};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

/// A change of a file.
#[derive(Clone)]
pub(super) enum Change {
    Write { offset: usize, bytes: Arc<[u8]> },
    SetLen(usize),
}

impl Change {
    fn apply(&self, contents: &mut Contents) {
        match self {
            Change::Write { offset, bytes } => contents.write(*offset, bytes),
            Change::SetLen(length) => contents.set_len(*length),
        }
    }

    /// What of it a power failure leaves; a write is torn only if `tears`.
    fn survive(&self, noise: &mut Noise, tears: bool, contents: &mut Contents) {
        let fate = noise.below(4);
        match self {
            _ if fate == 0 || !tears && fate == 1 => {}
            Change::Write { offset, bytes } if tears && fate < 3 => {
                // Torn: each sector of the disk that the write touches is kept or lost.
                let mut start = 0;
                while start < bytes.len() {
                    let end = bytes.len().min(start + SECTOR - (offset + start) % SECTOR);
                    if noise.one_in(2) {
                        contents.write(offset + start, &bytes[start..end]);
                    }
                    start = end;
                }
            }
            change => change.apply(contents),
        }
    }
}

/// A file.
#[derive(Clone, Default)]
pub(super) struct Inode {
    /// What is on the disk.
    synced: Contents,
    /// What whoever reads it sees: the page cache.
    pub(super) current: Contents,
    unsynced: Vec<Change>,
}

impl Inode {
    pub(super) fn new(contents: Contents) -> Inode {
        Inode {
            synced: contents.clone(),
            current: contents,
            unsynced: Vec::new(),
        }
    }

    pub(super) fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.unsynced.push(change);
    }

    pub(super) fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            match change {
                Change::SetLen(length) => self.synced.set_len(length),
                Change::Write { offset, bytes } => {
                    let end = offset + bytes.len();
                    if self.synced.len() < end {
                        self.synced.set_len(end);
                    }
                    self.synced.share(&self.current, offset..end);
                }
            }
        }
        self.synced.set_len(self.current.len());
    }

    /// What is not synced gets to the disk, or a part of it, or nothing. It is not dirty any more:
    /// no later sync writes it.
    pub(super) fn lose(&mut self, noise: &mut Noise, tears: bool) {
        for change in std::mem::take(&mut self.unsynced) {
            change.survive(noise, tears, &mut self.synced);
        }
    }

    /// After a power failure.
    fn crash(&mut self, noise: &mut Noise, tears: bool) {
        if !self.unsynced.is_empty() {
            self.lose(noise, tears);
        }
        self.current.clone_from(&self.synced);
    }

    pub(super) fn damage(&mut self, damage: Damage) {
        let sector = |contents: &Contents, number: usize| {
            let mut sector = vec![0; SECTOR];
            let length = contents.read(number * SECTOR, &mut sector);
            sector.truncate(length);
            sector
        };
        for contents in [&mut self.synced, &mut self.current] {
            match damage {
                Damage::Flip { offset, bit } => {
                    let mut byte = [0];
                    if contents.read(offset, &mut byte) == 1 {
                        contents.write(offset, &[byte[0] ^ 1 << (bit % 8)]);
                    }
                }
                Damage::Zero(number) => {
                    let length = sector(contents, number).len();
                    contents.write(number * SECTOR, &vec![0; length]);
                }
                Damage::Swap(one, other) => {
                    let (first, second) = (sector(contents, one), sector(contents, other));
                    if first.len() == second.len() {
                        contents.write(one * SECTOR, &second);
                        contents.write(other * SECTOR, &first);
                    }
                }
                Damage::Cut(length) => contents.set_len(length.min(contents.len())),
            }
        }
    }
}

/// A change of a directory.
#[derive(Clone)]
pub(super) enum Naming {
    Create(PathBuf, u64),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

impl Naming {
    fn apply(&self, names: &mut Names) {
        match self {
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

    fn directory(&self) -> Option<&Path> {
        match self {
            Naming::Create(path, _) | Naming::Rename(path, _) | Naming::Remove(path) => {
                path.parent()
            }
        }
    }
}

pub(super) type Names = BTreeMap<PathBuf, u64>;

/// What becomes of a call.
pub(super) enum Outcome {
    Happens,
    Stops,
    Fails(ErrorKind),
}

impl Outcome {
    pub(super) fn result(&self) -> io::Result<()> {
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

/// What is to go wrong.
#[derive(Clone, Default)]
pub(super) struct Faults {
    /// The call that changes something, and how it fails.
    pub(super) fail: Option<(u64, ErrorKind)>,
    /// The first read that fails, the first one that does not any more, and how.
    pub(super) fail_reads: Option<(u64, u64, ErrorKind)>,
    pub(super) crash: Option<u64>,
    /// So many bytes there is room for, until the clock says so.
    pub(super) capacity: Option<(usize, u64)>,
    /// A failed sync loses what it was to write.
    pub(super) failed_sync_loses: bool,
}

#[derive(Clone)]
pub(super) struct State {
    pub(super) inodes: BTreeMap<u64, Arc<Inode>>,
    next_inode: u64,
    /// How many open files there are of each.
    pub(super) opened: BTreeMap<u64, usize>,
    synced_names: Names,
    pub(super) names: Names,
    unsynced_names: Vec<Naming>,
    pub(super) locks: BTreeSet<PathBuf>,
    pub(super) noise: Noise,
    pub(super) operations: u64,
    pub(super) reads: u64,
    pub(super) faults: Faults,
    pub(super) micros: u64,
    /// A hash of all calls so far that change something.
    pub(super) trace: u64,
    /// Before which calls copies are to be made, and those that were.
    pub(super) copy_at: BTreeSet<u64>,
    pub(super) copies: Vec<State>,
}

impl State {
    pub(super) fn new(seed: u64) -> State {
        State {
            inodes: BTreeMap::new(),
            next_inode: 0,
            opened: BTreeMap::new(),
            synced_names: Names::new(),
            names: Names::new(),
            unsynced_names: Vec::new(),
            locks: BTreeSet::new(),
            noise: Noise::new(seed),
            operations: 0,
            reads: 0,
            faults: Faults::default(),
            micros: 1_700_000_000_000_000,
            trace: seed,
            copy_at: BTreeSet::new(),
            copies: Vec::new(),
        }
    }

    /// The same disk, without what a running machine adds to it.
    pub(super) fn fork(&self) -> State {
        State {
            opened: BTreeMap::new(),
            locks: BTreeSet::new(),
            faults: Faults::default(),
            copy_at: BTreeSet::new(),
            copies: Vec::new(),
            inodes: self.inodes.clone(),
            synced_names: self.synced_names.clone(),
            names: self.names.clone(),
            unsynced_names: self.unsynced_names.clone(),
            noise: self.noise.clone(),
            ..*self
        }
    }

    /// After a power failure.
    pub(super) fn crashed(&self, seed: u64, tears: bool) -> State {
        let mut noise = Noise::new(seed);
        let mut after = self.fork();
        for inode in after.inodes.values_mut() {
            Arc::make_mut(inode).crash(&mut noise, tears);
        }
        let kept = noise.below(after.unsynced_names.len() as u64 + 1);
        let namings = std::mem::take(&mut after.unsynced_names);
        for naming in namings.iter().take(kept as usize) {
            naming.apply(&mut after.synced_names);
        }
        after.names.clone_from(&after.synced_names);
        let named: BTreeSet<u64> = after.names.values().copied().collect();
        after.inodes.retain(|number, _| named.contains(number));
        after.noise = Noise::new(noise.next_u64());
        after.operations = 0;
        after.reads = 0;
        after
    }

    /// Notes a call in the trace.
    pub(super) fn note(&mut self, call: u64, file: u64, offset: u64, bytes: &[u8]) {
        let crc = u64::from(crc32fast::hash(bytes));
        for word in [call, file, offset, bytes.len() as u64, crc] {
            self.trace = Noise::new(self.trace ^ word).next_u64();
        }
    }

    /// Counts a call that changes something; says how it fails, if it does. A crash lets the
    /// call happen (unsynced) but nobody hears of it.
    pub(super) fn operation(&mut self) -> io::Result<Outcome> {
        self.alive()?;
        if self.copy_at.remove(&(self.operations + 1)) {
            let copy = self.fork();
            self.copies.push(copy);
        }
        self.operations += 1;
        if self.faults.crash == Some(self.operations) {
            return Ok(Outcome::Stops);
        }
        match self.faults.fail {
            Some((at, kind)) if at == self.operations => Ok(Outcome::Fails(kind)),
            _ => Ok(Outcome::Happens),
        }
    }

    /// Counts a read; the error is its own.
    pub(super) fn read(&mut self) -> io::Result<()> {
        self.alive()?;
        self.reads += 1;
        match self.faults.fail_reads {
            Some((from, to, kind)) if (from..to).contains(&self.reads) => Err(failed(kind)),
            _ => Ok(()),
        }
    }

    pub(super) fn alive(&self) -> io::Result<()> {
        match self.faults.crash {
            Some(at) if self.operations >= at => Err(stopped()),
            _ => Ok(()),
        }
    }

    /// How many bytes more there is room for.
    pub(super) fn room(&self) -> usize {
        let bounded = self.faults.capacity;
        let Some((capacity, _)) = bounded.filter(|(_, until)| self.micros < *until) else {
            return usize::MAX;
        };
        let inodes: BTreeSet<_> = self.names.values().collect();
        let sizes = inodes.iter().filter_map(|inode| self.inodes.get(inode));
        capacity.saturating_sub(sizes.map(|inode| inode.current.used()).sum())
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<u64> {
        let inode = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(inode, Arc::default());
        self.name(Naming::Create(path.to_owned(), inode))?;
        Ok(inode)
    }

    pub(super) fn name(&mut self, naming: Naming) -> io::Result<()> {
        match self.operation()? {
            Outcome::Fails(kind) => Err(failed(kind)),
            outcome => {
                self.note(1, self.unsynced_names.len() as u64, 0, &[]);
                naming.apply(&mut self.names);
                self.unsynced_names.push(naming);
                outcome.result()
            }
        }
    }

    pub(super) fn sync_names(&mut self, dir: &Path) {
        let unsynced = std::mem::take(&mut self.unsynced_names);
        for naming in unsynced {
            if naming.directory() == Some(dir) {
                naming.apply(&mut self.synced_names);
            } else {
                self.unsynced_names.push(naming);
            }
        }
        self.forget_unnamed();
    }

    /// Forgets files that have no name and that nobody has open.
    pub(super) fn forget_unnamed(&mut self) {
        let known: BTreeSet<u64> = {
            let names = self.names.values().chain(self.synced_names.values());
            let created = self
                .unsynced_names
                .iter()
                .filter_map(|naming| match naming {
                    Naming::Create(_, inode) => Some(inode),
                    _ => None,
                });
            names
                .chain(created)
                .chain(self.opened.keys())
                .copied()
                .collect()
        };
        self.inodes.retain(|number, _| known.contains(number));
    }

    /// A file that is open or has a name.
    pub(super) fn inode(&mut self, number: u64) -> &mut Inode {
        let inode = self.inodes.get_mut(&number);
        Arc::make_mut(inode.expect("a file that is open is kept"))
    }

    /// The file of this name.
    pub(super) fn named(&self, path: &Path) -> Option<&Inode> {
        Some(self.inodes.get(self.names.get(path)?)?.as_ref())
    }

    /// Puts a file there, synced.
    pub(super) fn put(&mut self, path: &Path, inode: Inode) {
        let number = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(number, Arc::new(inode));
        self.names.insert(path.to_owned(), number);
        self.synced_names.insert(path.to_owned(), number);
    }
}
