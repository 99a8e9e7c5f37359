//! The calls of the fake disk.

use super::{
    Disk, Noise,
    state::{Change, Naming, Outcome},
};
use crate::env::disk::{Backend, Handle, Mode};
use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Calls, as the trace has them (1: a name).
const SYNC_DIR: u64 = 2;
const WRITE: u64 = 3;
const SET_LEN: u64 = 4;
const SYNC: u64 = 5;

impl Backend for Disk {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>> {
        let mut state = self.state();
        state.alive()?;
        let inode = match state.names.get(path) {
            Some(_) if mode == Mode::CreateNew => return Err(ErrorKind::AlreadyExists.into()),
            Some(&inode) => inode,
            None if mode == Mode::Existing => return Err(ErrorKind::NotFound.into()),
            None => state.create(path)?,
        };
        *state.opened.entry(inode).or_default() += 1;
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
        state.note(SYNC_DIR, 0, 0, &[]);
        if matches!(outcome, Outcome::Happens) {
            state.sync_names(dir);
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

    fn sleep(&self, time: Duration) {
        self.advance(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
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
    inode: u64,
}

impl Drop for FakeFile {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        let count = state.opened.entry(self.inode).or_default();
        *count -= 1;
        if *count == 0 {
            state.opened.remove(&self.inode);
            state.forget_unnamed();
        }
    }
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| ErrorKind::FileTooLarge.into())
}

impl Handle for FakeFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        state.read()?;
        let inode = state.inodes.get(&self.inode);
        let inode = inode.expect("a file that is open is kept");
        Ok(inode.current.read(place(offset)?, buffer))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        let outcome = state.operation()?;
        let offset = place(offset)?;
        state.note(WRITE, self.inode, offset as u64, bytes);
        let room = state.room();
        let fits = state
            .inode(self.inode)
            .current
            .fitting(offset, bytes.len(), room);
        let (result, kept) = if fits < bytes.len() {
            (Err(ErrorKind::StorageFull.into()), fits)
        } else if matches!(outcome, Outcome::Fails(_)) {
            let part = state.noise.below(bytes.len() as u64) as usize;
            (outcome.result(), part)
        } else {
            (outcome.result(), bytes.len())
        };
        let bytes = Arc::from(&bytes[..kept]);
        state
            .inode(self.inode)
            .change(Change::Write { offset, bytes });
        result
    }

    fn len(&self) -> io::Result<u64> {
        let mut state = self.disk.state();
        state.alive()?;
        Ok(state.inode(self.inode).current.len() as u64)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        let outcome = state.operation()?;
        state.note(SET_LEN, self.inode, length, &[]);
        let length = place(length)?;
        if !matches!(outcome, Outcome::Fails(_)) {
            state.inode(self.inode).change(Change::SetLen(length));
        }
        outcome.result()
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let outcome = state.operation()?;
        state.note(SYNC, self.inode, 0, &[]);
        match outcome {
            Outcome::Happens => state.inode(self.inode).sync(),
            Outcome::Fails(_) if state.faults.failed_sync_loses => {
                let mut noise = Noise::new(state.noise.next_u64());
                state.inode(self.inode).lose(&mut noise, true);
            }
            _ => {}
        }
        outcome.result()
    }
}
