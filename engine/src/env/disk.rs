//! What a backend of [`super::Env`] must offer: the calls of a disk, a clock, random bytes.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// How to open a file. All modes read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It must exist.
    Existing,
    /// It is created (empty) if it does not exist, and kept as it is if it does.
    Create,
    /// It must not exist.
    CreateNew,
}

/// What is wanted of a file of others, which a statement names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// To read it: it must be a regular file, and no symbolic link.
    Read,
    /// To write it: there must be nothing of its name, a symbolic link included.
    New,
}

/// A disk, a clock and random bytes: the machine's, or a fake. See [`super::Env`] for the calls.
#[expect(
    missing_docs,
    reason = "each is documented where Env or File offers it"
)]
pub trait Backend: Send + Sync {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>>;
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
    fn open_foreign(&self, path: &Path, wanted: Foreign) -> io::Result<Box<dyn Handle>> {
        self.open(
            path,
            match wanted {
                Foreign::Read => Mode::Existing,
                Foreign::New => Mode::CreateNew,
            },
        )
    }
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Send + Sync>>>;
    fn wall_micros(&self) -> u64;
    fn monotonic_nanos(&self) -> u64;
    fn sleep(&self, time: Duration);
    fn random(&self, bytes: &mut [u8]) -> io::Result<()>;
}

/// An open file of a [`Backend`]. See [`super::File`] for the calls.
#[expect(missing_docs, reason = "each is documented where File offers it")]
#[expect(clippy::len_without_is_empty, reason = "File offers it")]
pub trait Handle: Send + Sync {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    fn len(&self) -> io::Result<u64>;
    fn set_len(&self, length: u64) -> io::Result<()>;
    fn sync_data(&self) -> io::Result<()>;
}

/// Whether a call failed because the disk is full, or the quota used up.
#[must_use]
pub fn is_full(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    kinds.contains(&error.kind())
}
