//! Temporary files: what does not fit into memory, as long as somebody works on it. They are in the directory
//! `tmp` of a data directory, are never synced, and are removed with the value that stands for them; what a
//! crash has left is removed at the next start.

use super::{Env, File, Mode};
use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

/// The directory in a data directory.
fn directory(data: &Path) -> PathBuf {
    data.join("tmp")
}

impl Env {
    /// Makes a temporary file for a data directory.
    ///
    /// # Errors
    /// The file and what is wrong with it.
    pub fn temporary_file(&self, data: &Path) -> Result<TemporaryFile, TemporaryError> {
        let directory = directory(data);
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(number.to_string());
        let opened = self
            .create_dir(&directory)
            .and_then(|()| self.open(&path, Mode::Create));
        match opened {
            Ok(file) => Ok(TemporaryFile {
                env: self.clone(),
                path,
                file,
                length: 0,
            }),
            Err(error) => Err(TemporaryError { path, error }),
        }
    }

    /// Removes the temporary files that a crash has left in a data directory; at a start.
    pub fn clear_temporary_files(&self, data: &Path) {
        let directory = directory(data);
        // There may be none, and a file that cannot be removed does no harm but for its space.
        for name in self.list(&directory).unwrap_or_default() {
            let _ = self.remove(&directory.join(name));
        }
    }
}

/// Where temporary files are made.
#[derive(Clone)]
pub struct TemporaryFiles {
    env: Env,
    data: PathBuf,
}

impl TemporaryFiles {
    /// Those of a data directory.
    #[must_use]
    pub fn of(env: &Env, data: &Path) -> TemporaryFiles {
        TemporaryFiles {
            env: env.clone(),
            data: data.to_owned(),
        }
    }
    /// Makes one.
    ///
    /// # Errors
    /// The file and what is wrong with it.
    pub fn make(&self) -> Result<TemporaryFile, TemporaryError> {
        self.env.temporary_file(&self.data)
    }
}

/// A temporary file. It ends where the last bytes were appended.
pub struct TemporaryFile {
    env: Env,
    path: PathBuf,
    file: File,
    length: u64,
}

/// A temporary file that could not be made, written or read.
#[derive(Debug)]
pub struct TemporaryError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub error: io::Error,
}

impl fmt::Display for TemporaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "temporary file {}: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for TemporaryError {}

impl TemporaryFile {
    /// So many bytes are in it.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }
    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
    /// Appends bytes.
    ///
    /// # Errors
    /// They could not be written; then nothing is appended.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), TemporaryError> {
        let written = self.file.write_at(bytes, self.length);
        written.map_err(|error| self.failed(error))?;
        self.length += bytes.len() as u64;
        Ok(())
    }
    /// Fills a buffer with what is at `offset`.
    ///
    /// # Errors
    /// It could not be read, or there is less.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> Result<(), TemporaryError> {
        let got = self.file.read_at(buffer, offset);
        match got.map_err(|error| self.failed(error))? {
            got if got == buffer.len() => Ok(()),
            _ => Err(self.failed(io::ErrorKind::UnexpectedEof.into())),
        }
    }
    fn failed(&self, error: io::Error) -> TemporaryError {
        let path = self.path.clone();
        TemporaryError { path, error }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // If it cannot be removed now it is at the next start.
        let _ = self.env.remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use crate::env::fake::Disk;
    use std::path::Path;

    #[test]
    fn files_go_with_those_who_use_them_or_at_the_next_start() {
        let env = Disk::new(1).env();
        let data = Path::new("/data");
        let mut file = env.temporary_file(data).unwrap();
        let other = env.temporary_file(data).unwrap();
        file.append(b"one").unwrap();
        file.append(b"two").unwrap();
        let mut buffer = [0; 4];
        file.read(&mut buffer, 2).unwrap();
        assert_eq!((&buffer, file.len()), (b"etwo", 6));
        assert!(file.read(&mut buffer, 3).is_err(), "there is less");
        drop(file);
        let tmp = data.join("tmp");
        assert_eq!(env.list(&tmp).unwrap().len(), 1);
        std::mem::forget(other);
        env.clear_temporary_files(data);
        assert!(env.list(&tmp).unwrap().is_empty());
    }
}
