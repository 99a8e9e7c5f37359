//! The Base's file: redb's storage, on `env`.

use crate::env::{Env, File, Mode};
use parking_lot::Mutex;
use redb::StorageBackend;
use std::{
    collections::{HashMap, hash_map::Entry},
    io,
    path::Path,
};

/// A file of `env` as redb wants it.
pub struct BaseFile(File);

impl BaseFile {
    /// Opens or creates it.
    pub fn open(env: &Env, path: &Path) -> io::Result<BaseFile> {
        Ok(BaseFile(env.open(path, Mode::Create)?))
    }
}

impl std::fmt::Debug for BaseFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BaseFile")
    }
}

impl StorageBackend for BaseFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if self.0.read_at(out, offset)? < out.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_at(data, offset)
    }
}

/// A file of the Base whose disk takes no more writes: what redb writes to it, which is only what
/// repairing it after a crash needs, stays in memory. redb does not even read a file any more
/// once it has failed to write it; so that reads go on, the file is opened once more like this.
pub struct FrozenFile {
    file: BaseFile,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    length: Option<u64>,
    blocks: HashMap<u64, Box<[u8]>>,
}

const BLOCK: usize = 4096;

impl FrozenFile {
    /// Opens it.
    pub fn open(env: &Env, path: &Path) -> io::Result<FrozenFile> {
        Ok(FrozenFile {
            file: BaseFile(env.open(path, Mode::Existing)?),
            written: Mutex::default(),
        })
    }
    /// A block as it would be on disk; zeros beyond its end.
    fn block(&self, number: u64) -> io::Result<Box<[u8]>> {
        let mut block = vec![0; BLOCK].into_boxed_slice();
        self.file.0.read_at(&mut block, number * BLOCK as u64)?;
        Ok(block)
    }
    /// Calls `f` with each block that `length` bytes from `offset` touch, the place in the block
    /// and the place in those bytes.
    fn pieces(
        offset: u64,
        length: usize,
        mut f: impl FnMut(u64, usize, std::ops::Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < length {
            let at = offset + done as u64;
            let within = (at % BLOCK as u64) as usize;
            let size = (BLOCK - within).min(length - done);
            f(at / BLOCK as u64, within, done..done + size)?;
            done += size;
        }
        Ok(())
    }
}

impl std::fmt::Debug for FrozenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FrozenFile")
    }
}

impl StorageBackend for FrozenFile {
    fn len(&self) -> io::Result<u64> {
        let length = self.written.lock().length;
        length.map_or_else(|| self.file.len(), Ok)
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written.lock();
        if written.blocks.is_empty() {
            drop(written);
            return self.file.read(offset, out);
        }
        let length = out.len();
        FrozenFile::pieces(offset, length, |number, within, range| {
            let end = within + range.len();
            let fresh;
            let block = match written.blocks.get(&number) {
                Some(block) => block,
                None => {
                    fresh = self.block(number)?;
                    &fresh
                }
            };
            if let (Some(out), Some(block)) = (out.get_mut(range), block.get(within..end)) {
                out.copy_from_slice(block);
            }
            Ok(())
        })
    }
    fn set_len(&self, length: u64) -> io::Result<()> {
        self.written.lock().length = Some(length);
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written.lock();
        FrozenFile::pieces(offset, data.len(), |number, within, range| {
            let end = within + range.len();
            let block = match written.blocks.entry(number) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(self.block(number)?),
            };
            let data = data.get(range).unwrap_or_default();
            if let Some(place) = block.get_mut(within..end) {
                place.copy_from_slice(data);
            }
            Ok(())
        })
    }
}
