//! The machine's own files, clock and random bytes.

use super::disk::{Backend, Foreign, Handle, Mode};
use rustix::time::{ClockId, clock_gettime};
use std::{
    fs::{self, OpenOptions, TryLockError},
    io::{self, Read},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Files are readable by their owner only: they hold everybody's rows.
const FILE_MODE: u32 = 0o640;

/// The machine.
pub(super) struct Machine;

impl Backend for Machine {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(FILE_MODE);
        match mode {
            Mode::Existing => {}
            Mode::Create => {
                options.create(true);
            }
            Mode::CreateNew => {
                options.create_new(true);
            }
        }
        Ok(Box::new(RealFile(options.open(path)?)))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn open_foreign(&self, path: &Path, wanted: Foreign) -> io::Result<Box<dyn Handle>> {
        if wanted == Foreign::New {
            return self.open(path, Mode::CreateNew);
        }
        // A pipe would be waited for, and a symbolic link lead elsewhere.
        let seen = fs::symlink_metadata(path)?;
        let other = || io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
        if !seen.is_file() {
            return Err(other());
        }
        let file = OpenOptions::new().read(true).open(path)?;
        let opened = file.metadata()?;
        // Somebody may have put something else there meanwhile.
        if (opened.dev(), opened.ino()) != (seen.dev(), seen.ino()) {
            return Err(other());
        }
        Ok(Box::new(RealFile(file)))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            // A name that is not UTF-8 cannot be one of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Somebody may take the file for a leftover and remove it. The directory stays.
        let directory = fs::File::open(path.parent().unwrap_or(Path::new(".")))?;
        match directory.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            // Not every file system can lock directories: then there is the file.
            _ => Ok(Some(Box::new((file, directory)))),
        }
    }

    fn wall_micros(&self) -> u64 {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        since_1970.map_or(0, |d| u64::try_from(d.as_micros()).unwrap_or(u64::MAX))
    }

    fn monotonic_nanos(&self) -> u64 {
        // Without the checks of `Instant`: an update asks a dozen times. 584 years fit.
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        fs::File::open("/dev/urandom")?.read_exact(bytes)
    }
}

struct RealFile(fs::File);

impl Handle for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..)
            && !rest.is_empty()
        {
            match self.0.read_at(rest, offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use crate::env::{Env, Mode};

    #[test]
    fn a_second_lock_is_refused_until_the_first_is_gone() {
        let env = Env::real();
        let dir = std::env::temp_dir().join(format!("cohort-env-{}", std::process::id()));
        env.create_dir(&dir).unwrap();
        let path = dir.join("lock");
        let first = env.lock(&path).unwrap();
        assert!(first.is_some());
        assert!(env.lock(&path).unwrap().is_none());
        env.remove(&path).unwrap();
        assert!(env.lock(&path).unwrap().is_none(), "the file is gone");
        drop(first);
        assert!(env.lock(&path).unwrap().is_some());
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn files_keep_what_is_written_and_count_it() {
        let env = Env::real();
        let dir = std::env::temp_dir().join(format!("cohort-files-{}", std::process::id()));
        env.create_dir(&dir).unwrap();
        let path = dir.join("f");
        let file = env.open(&path, Mode::CreateNew).unwrap();
        assert!(env.open(&path, Mode::CreateNew).is_err());
        file.write_at(b"cohort", 2).unwrap();
        file.sync_data().unwrap();
        let mut buffer = [9; 10];
        assert_eq!(file.read_at(&mut buffer, 0).unwrap(), 8);
        assert_eq!(&buffer[..8], b"\0\0cohort");
        let stats = env.file_stats();
        assert_eq!(stats.len(), 1);
        assert_eq!(stats[0].write.bytes, 6);
        assert_eq!(stats[0].read.bytes, 8);
        assert_eq!(stats[0].fsync.count, 1);
        assert_eq!(stats[0].fsync_histogram.iter().sum::<u64>(), 1);
        env.replace(&path, b"new").unwrap();
        assert_eq!(env.read(&path, 3).unwrap(), b"new");
        assert!(env.read(&path, 2).is_err());
        env.remove(&path).unwrap();
        assert!(!env.exists(&path).unwrap());
        assert!(env.list(&dir).unwrap().is_empty());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
