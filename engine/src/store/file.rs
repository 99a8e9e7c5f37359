//! The Base's file: redb's storage, on `env`, with a checksum for each of its blocks.
//!
//! # What makes it hard
//!
//! redb keeps checksums of its pages, but looks at them only when it repairs a file. A disk that
//! returns other bytes than were written would so become wrong rows. And once a read or a write
//! of its file has failed, redb refuses everything that follows. So this layer lies between redb
//! and the disk: it verifies each block that comes from there, and decides what redb hears of a
//! failure.
//!
//! # The bytes
//!
//! redb sees *logical* bytes from 0 on. In the file they lie in blocks of 4,096 bytes:
//!
//! | Block | What |
//! |---|---|
//! | 0 | the magic, then the two [slots](`Slot`) at bytes 512 and 1,024 |
//! | 1 | the checksums of the 1,024 logical blocks that follow, 4 bytes little endian each |
//! | 2 to 1,025 | logical blocks 0 to 1,023 |
//! | 1,026 | the checksums of the next 1,024 |
//! | … | |
//!
//! The checksum of a block is the CRC32 of its number (8 bytes little endian) and its bytes, so
//! that a block in another one's place is found, too; 0 stands for a block that was never
//! written, and 1 replaces a sum of 0. The checksum lies apart from its block: a write that the
//! disk lost is found.
//!
//! redb overwrites in place only its header, 320 bytes at the beginning. It is kept in a slot,
//! which is smaller than a sector, with a generation, the file's logical length and a checksum.
//! Two slots take turns, and the one that is durable is never overwritten: after a crash one of
//! them has the last header that was synced, the other one that or a later one. Should one of them
//! be unreadable, all pages are checked against redb's own checksums before the other one is
//! believed: if it is the older one, pages that it refers to may have been written over.
//!
//! # Why a crash does no harm
//!
//! redb writes pages that nothing durable refers to, syncs, and only then writes a header that
//! refers to them. A block and its checksum reach the disk with the same sync. A crash before it
//! may keep one and lose the other; nothing refers to that block, and it is written again before
//! it is read. In a block of checksums only the entries of such blocks change, so a torn one is
//! right for all others.
//!
//! # What redb hears
//!
//! - A read that fails, or a block that is not what was written, for a reader: nothing. The
//!   failure unwinds through redb as a [`Fault`], which `base` catches. Nothing is kept of it, and
//!   other readers go on.
//! - The same while this thread writes (see [`writing`]): an error, for redb's writing functions
//!   must not unwind.
//! - A write, a sync or a change of length that fails: nothing. The file takes no more writes: they
//!   stay in memory, and redb goes on as if they had happened, so that those who read earlier
//!   commits can go on. Whoever writes asks [`BaseFile::failure`] before believing that anything
//!   was committed. The file is then opened anew, at the header that was synced last, as it is not
//!   known what of later bytes is on the disk.

use super::StoreError;
use crate::env::{Env, File, Mode, is_full};
use parking_lot::{Mutex, RwLock};
use redb::StorageBackend;
use std::{
    cell::Cell,
    collections::HashMap,
    io,
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

const BLOCK: usize = 4096;
/// As many blocks share a block of checksums.
const GROUP: u64 = 1024;
/// The first bytes of the file.
const MAGIC: [u8; 16] = *b"cohort base 3\n\0\0";
/// The length of redb's header.
const HEADER: usize = 320;
const SLOT_OFFSET: u64 = 512;
const SLOT_LENGTH: usize = 8 + 8 + HEADER + 4;

thread_local! {
    /// How many changes of the Base this thread is at work on.
    static WRITING: Cell<u32> = const { Cell::new(0) };
    /// Bytes that this thread has read from Bases' files.
    static READ: Cell<u64> = const { Cell::new(0) };
}

/// Bytes that this thread has read from Bases' files so far.
pub(super) fn read_by_this_thread() -> u64 {
    READ.get()
}

/// What was read from the file and written to it since the server began, past all caches of its own.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Calls of read.
    pub reads: AtomicU64,
    /// Bytes that they read.
    pub read_bytes: AtomicU64,
    /// Calls of write.
    pub writes: AtomicU64,
    /// Bytes that they wrote.
    pub written_bytes: AtomicU64,
}

impl Traffic {
    fn count_read(&self, bytes: usize) {
        READ.set(READ.get() + bytes as u64);
        self.reads.fetch_add(1, Relaxed);
        self.read_bytes.fetch_add(bytes as u64, Relaxed);
    }
    fn count_write(&self, bytes: usize) {
        self.writes.fetch_add(1, Relaxed);
        self.written_bytes.fetch_add(bytes as u64, Relaxed);
    }
}

/// As long as it lives, a failed read is an error for redb on this thread, and does not unwind.
pub(super) struct Writing(PhantomData<*const ()>);

/// See [`Writing`].
pub(super) fn writing() -> Writing {
    WRITING.set(WRITING.get() + 1);
    Writing(PhantomData)
}

impl Drop for Writing {
    fn drop(&mut self) {
        WRITING.set(WRITING.get() - 1);
    }
}

/// What unwinds through redb when a reader cannot be served.
pub(super) struct Fault(pub(super) StoreError);

/// redb's header, as a slot keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    generation: u64,
    /// Logical length of the file when it was written.
    length: u64,
    header: [u8; HEADER],
}

impl Slot {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SLOT_LENGTH);
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        bytes.extend_from_slice(&self.length.to_le_bytes());
        bytes.extend_from_slice(&self.header);
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }
    fn decode(bytes: &[u8]) -> Option<Slot> {
        let (rest, sum) = bytes.split_last_chunk::<4>()?;
        let (generation, rest2) = rest.split_first_chunk::<8>()?;
        let (length, header) = rest2.split_first_chunk::<8>()?;
        let sound = crc32fast::hash(rest) == u32::from_le_bytes(*sum);
        let slot = Slot {
            generation: u64::from_le_bytes(*generation),
            length: u64::from_le_bytes(*length),
            header: header.try_into().ok()?,
        };
        sound.then_some(slot)
    }
}

/// Where slot 0 or 1 is.
fn slot_offset(slot: usize) -> u64 {
    SLOT_OFFSET * (slot as u64 + 1)
}

/// The slots as they are in the file.
struct Slots {
    slots: [Slot; 2],
    newest: usize,
    /// Whether the newest is durable.
    synced: bool,
}

/// Checksums of the blocks of a group, and whether the file has older ones.
struct Group {
    sums: Box<[AtomicU32]>,
    dirty: AtomicBool,
}

/// A file of `env` as redb wants it.
pub struct BaseFile {
    file: File,
    path: PathBuf,
    groups: RwLock<Vec<Option<Arc<Group>>>>,
    slots: Mutex<Slots>,
    /// Logical length.
    length: AtomicU64,
    /// Takes no writes: it failed, or was opened so.
    closed: AtomicBool,
    /// What was written since, by block.
    kept: Mutex<HashMap<u64, Box<[u8]>>>,
    failure: Mutex<Option<StoreError>>,
    traffic: Arc<Traffic>,
    /// One of its two headers was lost: whether the other one fits the pages is to be checked.
    pub(super) lost_header: bool,
}

/// The last durable header of a file that failed, where opening it again goes on.
#[derive(Clone)]
pub(super) struct Resume(Slot);

/// The group of a logical block, and its place there.
fn group_of(block: u64) -> (usize, usize) {
    ((block / GROUP) as usize, (block % GROUP) as usize)
}

/// Where a group's block of checksums is.
fn sums_offset(group: usize) -> u64 {
    BLOCK as u64 * (1 + group as u64 * (GROUP + 1))
}

fn block_offset(block: u64) -> u64 {
    let (group, place) = group_of(block);
    sums_offset(group) + BLOCK as u64 * (1 + place as u64)
}

/// The file's length for a logical length.
fn physical(length: u64) -> u64 {
    let blocks = length.div_ceil(BLOCK as u64);
    BLOCK as u64 * (1 + blocks + blocks.div_ceil(GROUP))
}

fn sum(block: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&block.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize().max(1)
}

/// Calls `f` with the runs of blocks of `offset..offset + length` that lie together in the file:
/// the first block, and which of the bytes they are.
fn runs(
    offset: u64,
    length: usize,
    mut f: impl FnMut(u64, std::ops::Range<usize>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut done = 0;
    while done < length {
        let block = (offset + done as u64) / BLOCK as u64;
        let left = (GROUP - block % GROUP) as usize * BLOCK;
        let size = left.min(length - done);
        f(block, done..done + size)?;
        done += size;
    }
    Ok(())
}

impl BaseFile {
    /// Makes an empty one, which must not exist.
    pub fn create(env: &Env, path: &Path) -> io::Result<BaseFile> {
        let file = env.open(path, Mode::CreateNew)?;
        let slot = Slot {
            generation: 0,
            length: 0,
            header: [0; HEADER],
        };
        let mut first = vec![0; BLOCK];
        first[..MAGIC.len()].copy_from_slice(&MAGIC);
        for number in 0..2 {
            let at = slot_offset(number) as usize;
            first[at..at + SLOT_LENGTH].copy_from_slice(&slot.encode());
        }
        file.write_at(&first, 0)?;
        Ok(BaseFile::new(file, path, [slot; 2], 0, 0))
    }
    fn new(file: File, path: &Path, slots: [Slot; 2], newest: usize, length: u64) -> BaseFile {
        BaseFile {
            file,
            path: path.to_owned(),
            groups: RwLock::default(),
            slots: Mutex::new(Slots {
                slots,
                newest,
                synced: false,
            }),
            length: AtomicU64::new(length),
            closed: AtomicBool::new(false),
            kept: Mutex::default(),
            failure: Mutex::default(),
            traffic: Arc::default(),
            lost_header: false,
        }
    }
    /// Opens one: at its newest header, or as it was at `resume`. What an earlier process wrote
    /// and could not sync may be in the page cache only, so the header is written once more.
    pub(super) fn open(
        env: &Env,
        path: &Path,
        resume: Option<&Resume>,
    ) -> Result<BaseFile, StoreError> {
        let mut base = BaseFile::look(env, path)?;
        base.lost_header &= resume.is_none();
        let mut slots = base.slots.lock();
        let newest = slots.newest;
        let slot = match resume {
            None => slots.slots[newest],
            Some(Resume(slot)) => Slot {
                generation: slots.slots[newest].generation + 1,
                ..*slot
            },
        };
        // Where the synced one is not.
        let place = match resume {
            Some(Resume(old)) if slots.slots[newest] == *old => 1 - newest,
            _ => newest,
        };
        base.length.store(slot.length, Relaxed);
        let rewritten = base
            .file
            .write_at(&slot.encode(), slot_offset(place))
            .and_then(|()| base.file.sync_data())
            // Only then: should this header be lost, the other one may have a longer file.
            .and_then(|()| base.cut(physical(slot.length)));
        rewritten.map_err(|error| base.io("write", &error))?;
        *slots = Slots {
            slots: match place {
                0 => [slot, slots.slots[1]],
                _ => [slots.slots[0], slot],
            },
            newest: place,
            synced: true,
        };
        drop(slots);
        Ok(base)
    }
    /// Opens one to read its newest header's commit while others may write later ones: whatever
    /// redb writes is dropped.
    pub(super) fn look(env: &Env, path: &Path) -> Result<BaseFile, StoreError> {
        let name = path.display();
        let failed = |error: io::Error| StoreError::Io(format!("cannot read {name}: {error}"));
        let file = env.open(path, Mode::Existing).map_err(failed)?;
        let mut first = vec![0; BLOCK];
        let got = file.read_at(&mut first, 0).map_err(failed)?;
        let length = file.len().map_err(failed)?;
        let damaged = |offset: u64, what: &str| StoreError::Damaged {
            table: None,
            place: format!("{name} at byte {offset}: {what}"),
        };
        if first.get(..MAGIC.len()) != Some(&MAGIC) || got < BLOCK {
            let what = if length < BLOCK as u64 {
                "the file is shorter than its header"
            } else {
                "the file does not begin as a base file does"
            };
            return Err(damaged(0, what));
        }
        let slot = |number: usize| {
            let at = slot_offset(number) as usize;
            Slot::decode(&first[at..at + SLOT_LENGTH])
        };
        let slots = match (slot(0), slot(1)) {
            (Some(first), Some(second)) => [first, second],
            (Some(left), None) | (None, Some(left)) => [left, left],
            (None, None) => {
                let what = "both headers are not what was written";
                return Err(damaged(SLOT_OFFSET, what));
            }
        };
        let lost_header = slot(0).is_none() || slot(1).is_none();
        let newest = usize::from(slots[1].generation > slots[0].generation);
        let wanted = slots[newest].length;
        if length < physical(wanted) {
            let what = format!("the file had {} bytes, now {length}", physical(wanted));
            return Err(damaged(length, &what));
        }
        Ok(BaseFile {
            lost_header,
            ..BaseFile::new(file, path, slots, newest, wanted)
        })
    }
    /// Has what is read and written counted there from now on.
    pub(super) fn count(&mut self, traffic: &Arc<Traffic>) {
        self.traffic = Arc::clone(traffic);
    }
    /// The logical length in bytes, which includes what is free.
    pub(super) fn length(&self) -> u64 {
        self.length.load(Relaxed)
    }
    /// Drops all writes from now on.
    pub(super) fn close(&self) {
        self.closed.store(true, Relaxed);
    }
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }
    /// Why it takes no writes any more.
    pub(super) fn failure(&self) -> Option<StoreError> {
        self.failure.lock().clone()
    }
    /// Where opening it again goes on.
    pub(super) fn resume(&self) -> Resume {
        let slots = self.slots.lock();
        let place = if slots.synced {
            slots.newest
        } else {
            1 - slots.newest
        };
        Resume(slots.slots[place])
    }
    fn io(&self, what: &str, error: &io::Error) -> StoreError {
        let text = format!("cannot {what} {}: {error}", self.path.display());
        if is_full(error) {
            StoreError::Full(text)
        } else {
            StoreError::Io(text)
        }
    }
    fn fail(&self, error: StoreError) {
        // In this order: who finds it closed asks why.
        self.failure.lock().get_or_insert(error);
        self.close();
    }
    /// What a write, a sync or a change of length came to, as redb hears it.
    fn written(&self, what: &str, result: io::Result<()>) {
        if let Err(error) = result {
            self.fail(self.io(what, &error));
        }
    }
    fn group(&self, number: usize) -> io::Result<Arc<Group>> {
        if let Some(Some(group)) = self.groups.read().get(number) {
            return Ok(Arc::clone(group));
        }
        let mut groups = self.groups.write();
        if let Some(Some(group)) = groups.get(number) {
            return Ok(Arc::clone(group));
        }
        let mut bytes = vec![0; BLOCK];
        // Beyond the end are zeros: no block of the group was written yet.
        self.file.read_at(&mut bytes, sums_offset(number))?;
        let (sums, _) = bytes.as_chunks::<4>();
        let sums = sums.iter().map(|sum| u32::from_le_bytes(*sum).into());
        let group = Arc::new(Group {
            sums: sums.collect(),
            dirty: AtomicBool::new(false),
        });
        if groups.len() <= number {
            groups.resize(number + 1, None);
        }
        groups[number] = Some(Arc::clone(&group));
        Ok(group)
    }
    /// Reads what was written after it was closed; false if it is in the file.
    fn read_kept(&self, offset: u64, out: &mut [u8]) -> bool {
        let kept = self.kept.lock();
        let first = offset / BLOCK as u64;
        let blocks = (first..).zip(out.chunks_exact_mut(BLOCK));
        // A page is written whole, so all of its blocks are here or none.
        blocks.fold(false, |_, (number, out)| {
            kept.get(&number)
                .map(|block| out.copy_from_slice(block))
                .is_some()
        })
    }
    fn keep(&self, offset: u64, data: &[u8]) {
        let mut kept = self.kept.lock();
        let first = offset / BLOCK as u64;
        for (number, block) in (first..).zip(data.chunks_exact(BLOCK)) {
            kept.insert(number, Box::from(block));
        }
    }
    fn read_blocks(&self, offset: u64, out: &mut [u8]) -> Result<(), StoreError> {
        if self.closed.load(Relaxed) && self.read_kept(offset, out) {
            return Ok(());
        }
        let failed = |error: io::Error| self.io("read", &error);
        assert!(
            offset.is_multiple_of(BLOCK as u64) && out.len().is_multiple_of(BLOCK),
            "redb reads whole pages"
        );
        runs(offset, out.len(), |first, range| {
            let group = self.group(group_of(first).0).map_err(failed)?;
            let out = &mut out[range];
            let got = self
                .file
                .read_at(out, block_offset(first))
                .map_err(failed)?;
            self.traffic.count_read(got);
            for (number, block) in (first..).zip(out.chunks_exact(BLOCK)) {
                let known = group.sums[group_of(number).1].load(Relaxed);
                let end = (number - first + 1) as usize * BLOCK;
                let what = if end > got {
                    "the file ends before this block"
                } else if known == 0 {
                    "this block was never written, but is referred to"
                } else if known != sum(number, block) {
                    "this block is not what was written (its checksum differs)"
                } else {
                    continue;
                };
                return Err(StoreError::Damaged {
                    table: None,
                    place: format!(
                        "{} at byte {}: {what}",
                        self.path.display(),
                        block_offset(number)
                    ),
                });
            }
            Ok(())
        })
    }
    fn write_blocks(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        let failed = |error: io::Error| self.io("write to", &error);
        assert!(
            offset.is_multiple_of(BLOCK as u64) && data.len().is_multiple_of(BLOCK),
            "redb writes whole pages"
        );
        runs(offset, data.len(), |first, range| {
            let data = &data[range];
            let group = self.group(group_of(first).0).map_err(failed)?;
            for (number, block) in (first..).zip(data.chunks_exact(BLOCK)) {
                group.sums[group_of(number).1].store(sum(number, block), Relaxed);
            }
            group.dirty.store(true, Relaxed);
            self.traffic.count_write(data.len());
            self.file
                .write_at(data, block_offset(first))
                .map_err(failed)
        })
    }
    fn write_header(&self, header: &[u8]) -> io::Result<()> {
        let mut slots = self.slots.lock();
        let newest = slots.slots[slots.newest];
        // One that is durable is kept until the next one is.
        let place = if slots.synced {
            1 - slots.newest
        } else {
            slots.newest
        };
        let mut slot = Slot {
            generation: newest.generation + 1,
            length: self.length.load(Relaxed),
            header: newest.header,
        };
        slot.header[..header.len()].copy_from_slice(header);
        slots.slots[place] = slot;
        slots.newest = place;
        slots.synced = false;
        self.file.write_at(&slot.encode(), slot_offset(place))
    }
    fn sync(&self) -> io::Result<()> {
        let groups = self.groups.read();
        for (number, group) in groups.iter().enumerate() {
            let Some(group) = group.as_ref().filter(|g| g.dirty.swap(false, Relaxed)) else {
                continue;
            };
            let sums = group.sums.iter().map(|sum| sum.load(Relaxed));
            let bytes: Vec<u8> = sums.flat_map(u32::to_le_bytes).collect();
            self.file.write_at(&bytes, sums_offset(number))?;
            self.traffic.count_write(bytes.len());
        }
        drop(groups);
        self.file.sync_data()?;
        self.slots.lock().synced = true;
        Ok(())
    }
    /// Takes away what an earlier process had added and not committed.
    fn cut(&self, length: u64) -> io::Result<()> {
        if self.file.len()? > length {
            self.file.set_len(length)?;
            self.file.sync_data()?;
        }
        Ok(())
    }
    /// Cuts or extends the file.
    fn resize(&self, length: u64) -> io::Result<()> {
        let before = self.length.swap(length, Relaxed);
        if length < before {
            // First durably the shorter length: a file that is shorter than its header says
            // has lost something.
            self.write_header(&[])?;
            self.sync()?;
            self.forget(length, before)?;
        }
        self.file.set_len(physical(length))
    }
    /// Forgets the checksums of blocks that are cut off.
    fn forget(&self, length: u64, before: u64) -> io::Result<()> {
        for block in length.div_ceil(BLOCK as u64)..before.div_ceil(BLOCK as u64) {
            let (number, place) = group_of(block);
            let group = self.group(number)?;
            group.sums[place].store(0, Relaxed);
            group.dirty.store(true, Relaxed);
        }
        // Groups of which nothing is left must not be written again behind the end.
        let groups = length.div_ceil(BLOCK as u64).div_ceil(GROUP);
        self.groups.write().truncate(groups as usize);
        Ok(())
    }
}

impl std::fmt::Debug for BaseFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path.to_string_lossy())
    }
}

/// What redb is given: it keeps its storage to itself, and others ask it for failures.
#[derive(Clone, Debug)]
pub(super) struct Shared(pub(super) Arc<BaseFile>);

impl StorageBackend for Shared {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.length.load(Relaxed))
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let file = &self.0;
        // Its header, or the beginning of it.
        if offset == 0 && out.len() <= HEADER {
            let slots = file.slots.lock();
            let header = &slots.slots[slots.newest].header;
            out.copy_from_slice(&header[..out.len()]);
            return Ok(());
        }
        let Err(error) = file.read_blocks(offset, out) else {
            return Ok(());
        };
        if WRITING.get() == 0 {
            std::panic::resume_unwind(Box::new(Fault(error)));
        }
        let text = error.to_string();
        file.fail(error);
        Err(io::Error::other(text))
    }
    fn set_len(&self, length: u64) -> io::Result<()> {
        let file = &self.0;
        if file.closed.load(Relaxed) {
            file.length.store(length, Relaxed);
        } else {
            file.written("change the length of", file.resize(length));
        }
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        if !self.0.closed.load(Relaxed) {
            self.0.written("sync", self.0.sync());
        }
        Ok(())
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let file = &self.0;
        let is_header = offset == 0 && data.len() <= HEADER;
        match (file.closed.load(Relaxed), is_header) {
            // It is read only when a file is opened.
            (true, true) => {}
            (false, true) => file.written("write to", file.write_header(data)),
            (true, false) => file.keep(offset, data),
            (false, false) => {
                if let Err(error) = file.write_blocks(offset, data) {
                    file.fail(error);
                    file.keep(offset, data);
                }
            }
        }
        Ok(())
    }
}
