//! A disk that is only read: what is written over it stays in memory, and is gone with it.
//!
//! So a data directory can be opened as a start of the server would, with all that recovery would
//! write, and not be changed.

use super::disk::{Backend, Handle, Mode};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

const BLOCK: u64 = 4096;

/// See the module.
pub(super) struct Overlay {
    below: Arc<dyn Backend>,
    /// What has become of names: a file, or (`None`) nothing is there any more.
    names: Mutex<BTreeMap<PathBuf, Option<Arc<Layered>>>>,
}

/// A file of which parts were written anew.
struct Layered {
    /// The file below, as far as it is part of this one.
    below: Option<Box<dyn Handle>>,
    state: Mutex<Written>,
}

struct Written {
    length: u64,
    /// As much of the file below is still part of this one.
    kept: u64,
    blocks: HashMap<u64, Box<[u8]>>,
}

impl Overlay {
    pub(super) fn new(below: Arc<dyn Backend>) -> Overlay {
        Overlay {
            below,
            names: Mutex::default(),
        }
    }
    /// The file of this name, if there is one.
    fn find(&self, path: &Path) -> io::Result<Option<Arc<Layered>>> {
        let mut names = self.names.lock();
        if let Some(known) = names.get(path) {
            return Ok(known.clone());
        }
        let below = match self.below.open(path, Mode::Existing) {
            Ok(below) => below,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = below.len()?;
        let file = Arc::new(Layered::new(Some(below), length));
        names.insert(path.to_owned(), Some(Arc::clone(&file)));
        Ok(Some(file))
    }
}

impl Layered {
    fn new(below: Option<Box<dyn Handle>>, length: u64) -> Layered {
        Layered {
            below,
            state: Mutex::new(Written {
                length,
                kept: length,
                blocks: HashMap::new(),
            }),
        }
    }
    /// A block as it is in the file below, zeros where that ends.
    fn block_below(&self, number: u64, kept: u64) -> io::Result<Box<[u8]>> {
        let mut block = vec![0; BLOCK as usize].into_boxed_slice();
        let at = number * BLOCK;
        let size = kept.saturating_sub(at).min(BLOCK) as usize;
        if let (Some(below), Some(part)) = (&self.below, block.get_mut(..size)) {
            below.read_at(part, at)?;
        }
        Ok(block)
    }
}

/// Calls `f` with each block of `length` bytes from `offset`, the place in it, and the place in
/// those bytes.
fn pieces(
    offset: u64,
    length: usize,
    mut f: impl FnMut(u64, usize, std::ops::Range<usize>) -> io::Result<()>,
) -> io::Result<()> {
    let mut done = 0;
    while done < length {
        let at = offset + done as u64;
        let within = (at % BLOCK) as usize;
        let size = (BLOCK as usize - within).min(length - done);
        f(at / BLOCK, within, done..done + size)?;
        done += size;
    }
    Ok(())
}

struct LayeredHandle(Arc<Layered>);

impl Handle for LayeredHandle {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.0.state.lock();
        let left = usize::try_from(state.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = left.min(buffer.len());
        pieces(offset, count, |number, within, range| {
            let below;
            let block = match state.blocks.get(&number) {
                Some(block) => block,
                None => {
                    below = self.0.block_below(number, state.kept)?;
                    &below
                }
            };
            buffer[range.clone()].copy_from_slice(&block[within..within + range.len()]);
            Ok(())
        })?;
        Ok(count)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.0.state.lock();
        let Written {
            length,
            kept,
            blocks,
        } = &mut *state;
        pieces(offset, bytes.len(), |number, within, range| {
            let block = match blocks.entry(number) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(self.0.block_below(number, *kept)?),
            };
            block[within..within + range.len()].copy_from_slice(&bytes[range]);
            Ok(())
        })?;
        *length = (*length).max(offset + bytes.len() as u64);
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.state.lock().length)
    }
    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.0.state.lock();
        if length < state.length {
            state.kept = state.kept.min(length);
            state.blocks.retain(|number, block| {
                let left = length.saturating_sub(number * BLOCK).min(BLOCK) as usize;
                block[left..].fill(0);
                left > 0
            });
        }
        state.length = length;
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Backend for Overlay {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>> {
        let file = match (self.find(path)?, mode) {
            (Some(_), Mode::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(file), _) => file,
            (None, Mode::Existing) => return Err(io::ErrorKind::NotFound.into()),
            (None, _) => {
                let file = Arc::new(Layered::new(None, 0));
                let mut names = self.names.lock();
                names.insert(path.to_owned(), Some(Arc::clone(&file)));
                file
            }
        };
        Ok(Box::new(LayeredHandle(file)))
    }
    fn create_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = self.below.list(dir)?;
        let known = self.names.lock();
        names.retain(|name| known.get(&dir.join(name)).is_none_or(Option::is_some));
        for (path, file) in &*known {
            let name = path.file_name().and_then(|name| name.to_str());
            if let (Some(dir_of), Some(name), Some(_)) = (path.parent(), name, file)
                && dir_of == dir
                && !names.iter().any(|other| other == name)
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let file = self.find(from)?.ok_or(io::ErrorKind::NotFound)?;
        let mut names = self.names.lock();
        names.insert(from.to_owned(), None);
        names.insert(to.to_owned(), Some(file));
        Ok(())
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.find(path)?.ok_or(io::ErrorKind::NotFound)?;
        self.names.lock().insert(path.to_owned(), None);
        Ok(())
    }
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.below.lock(path)
    }
    fn wall_micros(&self) -> u64 {
        self.below.wall_micros()
    }
    fn monotonic_nanos(&self) -> u64 {
        self.below.monotonic_nanos()
    }
    fn sleep(&self, time: Duration) {
        self.below.sleep(time);
    }
    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.below.random(bytes)
    }
}

#[cfg(test)]
mod tests {
    use crate::env::{Mode, fake::Disk};
    use std::path::Path;

    #[test]
    fn what_is_written_over_a_disk_stays_in_memory() {
        let disk = Disk::new(1);
        let (a, b) = (Path::new("/d/a"), Path::new("/d/b"));
        disk.put(a, vec![1; 10_000]);
        disk.put(b, vec![2; 10]);
        let env = disk.env().read_only();
        let file = env.open(a, Mode::Existing).unwrap();
        file.write_at(&[9; 20], 4090).unwrap();
        file.set_len(5000).unwrap();
        file.set_len(6000).unwrap();
        let mut expected = vec![1; 4090];
        expected.extend([9; 20]);
        expected.resize(5000, 1);
        expected.resize(6000, 0);
        assert_eq!(env.read(a, 1 << 20).unwrap(), expected);
        env.rename(b, Path::new("/d/c")).unwrap();
        env.replace(Path::new("/d/e"), b"new").unwrap();
        assert_eq!(env.list(Path::new("/d")).unwrap(), ["a", "c", "e"]);
        env.remove(a).unwrap();
        assert!(!env.exists(a).unwrap());
        assert_eq!(disk.contents(a).unwrap(), vec![1; 10_000]);
        assert_eq!(disk.env().list(Path::new("/d")).unwrap(), ["a", "b"]);
        assert_eq!(disk.operations(), 0);
    }
}
