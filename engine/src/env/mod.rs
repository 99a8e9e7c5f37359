//! The only door to files, time and randomness.
//!
//! Everything the engine keeps goes through an [`Env`]: a cheap handle to a disk, a clock and a
//! source of random bytes. [`Env::real`] is the machine's; [`fake::Disk`] is a disk in memory that
//! loses, tears and refuses what a real one may lose, tear and refuse, reproducibly from a seed.
//!
//! Every file counts its calls, bytes and latencies here, whatever disk it is on, so that
//! `performance_schema.file_summary_by_instance` shows all files and none is forgotten.

mod disk;
pub mod fake;
mod notices;
mod overlay;
mod parallel;
mod real;
pub mod splitmix;
mod spread;
mod stats;
mod temporary;

pub use disk::{Backend, Foreign, Handle, Mode, is_full};
pub use notices::{Level, Notice, Subsystem};
pub use parallel::{Alone, alone, on_all_processors, processors, with_helpers, with_readers};
pub use spread::{Spread, Spreading};
pub use stats::{FSYNC_BUCKET_MICROS, FSYNC_BUCKETS, FileStats, OperationStats};
pub use temporary::{TemporaryError, TemporaryFile, TemporaryFiles};

use stats::{Counters, Registry};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, atomic::AtomicU64},
    time::Duration,
};

/// A disk, a clock and random bytes. Clones share them.
#[derive(Clone)]
pub struct Env {
    backend: Arc<dyn Backend>,
    registry: Arc<Registry>,
    listener: Arc<OnceLock<Listener>>,
    /// The next temporary file's number.
    temporary: Arc<AtomicU64>,
}

/// Who hears what the engine has to tell an operator.
type Listener = Box<dyn Fn(Notice, &str) + Send + Sync>;

impl Env {
    /// The machine's own.
    #[must_use]
    pub fn real() -> Env {
        Env::new(Arc::new(real::Machine))
    }

    /// Over any backend.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>) -> Env {
        Env {
            backend,
            registry: Arc::default(),
            listener: Arc::default(),
            temporary: Arc::default(),
        }
    }

    /// Has `listener` told what an operator must know, a line each. The first one stays.
    pub fn on_notice(&self, listener: impl Fn(Notice, &str) + Send + Sync + 'static) {
        let _ = self.listener.set(Box::new(listener));
    }

    /// Tells something that an operator must know: a line for the error log.
    pub fn notice(&self, notice: Notice, text: &str) {
        if let Some(listener) = self.listener.get() {
            listener(notice, text);
        }
    }

    /// The same files, but what is written stays in memory and is gone with the last clone.
    #[must_use]
    pub fn read_only(&self) -> Env {
        Env {
            listener: Arc::clone(&self.listener),
            ..Env::new(Arc::new(overlay::Overlay::new(Arc::clone(&self.backend))))
        }
    }

    /// Opens a file for reading and writing.
    pub fn open(&self, path: &Path, mode: Mode) -> io::Result<File> {
        let handle = self.backend.open(path, mode)?;
        Ok(File {
            handle,
            counters: self.registry.counters(path),
            backend: Arc::clone(&self.backend),
        })
    }

    /// Where a path leads when all symbolic links have been followed. Everything on it must exist.
    pub fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.backend.resolve(path)
    }

    /// Opens a file of others, which is not counted among those of the engine. `InvalidInput`: it is
    /// there, and is no regular file.
    pub fn open_foreign(&self, path: &Path, wanted: Foreign) -> io::Result<File> {
        Ok(File {
            handle: self.backend.open_foreign(path, wanted)?,
            counters: Arc::default(),
            backend: Arc::clone(&self.backend),
        })
    }

    /// Creates a directory and its parents; it may exist.
    pub fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.backend.create_dir(path)
    }

    /// The names of the files in a directory, sorted.
    pub fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = self.backend.list(dir)?;
        names.sort_unstable();
        Ok(names)
    }

    /// Whether there is a file of this name.
    pub fn exists(&self, path: &Path) -> io::Result<bool> {
        match self.backend.open(path, Mode::Existing) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives a file another name in the same directory, replacing what had it. Durable after
    /// `sync_dir`.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.backend.rename(from, to)?;
        self.registry.rename(from, to);
        Ok(())
    }

    /// Removes a file. Durable after `sync_dir`.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        self.backend.remove(path)?;
        self.registry.remove(path);
        Ok(())
    }

    /// Makes the names in a directory durable.
    pub fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.backend.sync_dir(dir)
    }

    /// Takes the exclusive lock that a lock file stands for, or `None` if another process has it.
    /// It is held until the returned guard is dropped or the process ends.
    pub fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.backend.lock(path)
    }

    /// The whole contents of a small file, at most `limit` bytes of it (more is an error).
    pub fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let file = self.open(path, Mode::Existing)?;
        let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
        if length > limit {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("{} has {length} bytes, more than {limit}", path.display()),
            ));
        }
        let mut contents = vec![0; length];
        let got = file.read_at(&mut contents, 0)?;
        contents.truncate(got);
        Ok(contents)
    }

    /// Replaces a small file's contents, atomically and durably: a crash leaves the old or the
    /// new contents, and after the return the new ones.
    pub fn replace(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let file = self.open(&temporary, Mode::Create)?;
        file.set_len(0)?;
        file.write_at(contents, 0)?;
        file.sync_data()?;
        self.rename(&temporary, path)?;
        self.sync_dir(path.parent().unwrap_or(Path::new(".")))
    }

    /// The time of day: microseconds since 1970, UTC. It may jump.
    #[must_use]
    pub fn wall_micros(&self) -> u64 {
        self.backend.wall_micros()
    }

    /// A clock for measuring: nanoseconds since some moment. It never goes back.
    #[must_use]
    pub fn monotonic_nanos(&self) -> u64 {
        self.backend.monotonic_nanos()
    }

    /// Sleeps.
    pub fn sleep(&self, time: Duration) {
        self.backend.sleep(time);
    }

    /// Fills a buffer with random bytes, fit for identifiers and secrets.
    pub fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.backend.random(bytes)
    }

    /// The counters of every file opened so far and not removed, by path.
    #[must_use]
    pub fn file_stats(&self) -> Vec<FileStats> {
        self.registry.all()
    }

    /// Has these counters begin anew, but for the histograms of syncs.
    pub fn reset_file_stats(&self) {
        self.registry.reset();
    }
}

/// An open file. All calls name their position; they may come from several threads at once.
pub struct File {
    handle: Box<dyn Handle>,
    counters: Arc<Counters>,
    backend: Arc<dyn Backend>,
}

impl File {
    /// Reads from `offset` until the buffer is full or the file ends; returns how many bytes.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = self.backend.monotonic_nanos();
        let result = self.handle.read_at(buffer, offset);
        let bytes = result.as_ref().map_or(0, |&n| n as u64);
        self.counters.read.record(self.nanos_since(start), bytes);
        result
    }

    /// Writes all bytes at `offset`, beyond the end if need be (a gap reads as zeros).
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let start = self.backend.monotonic_nanos();
        let result = self.handle.write_at(bytes, offset);
        self.counters
            .write
            .record(self.nanos_since(start), bytes.len() as u64);
        result
    }

    /// The file's length in bytes.
    pub fn len(&self) -> io::Result<u64> {
        self.handle.len()
    }

    /// Whether the file has no bytes.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file or extends it with zeros. Durable after `sync_data`.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        let start = self.backend.monotonic_nanos();
        let result = self.handle.set_len(length);
        self.counters.other.record(self.nanos_since(start), 0);
        result
    }

    /// Returns when everything written so far, and the length, is durable (fdatasync). After an
    /// error it is unknown what is, and trying again would not tell.
    pub fn sync_data(&self) -> io::Result<()> {
        let start = self.backend.monotonic_nanos();
        let result = self.handle.sync_data();
        self.counters.record_fsync(self.nanos_since(start));
        result
    }

    fn nanos_since(&self, start: u64) -> u64 {
        self.backend.monotonic_nanos().saturating_sub(start)
    }
}
