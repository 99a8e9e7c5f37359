//! The Base's file: redb's storage, on `env`.

use crate::env::{Env, File, Mode};
use redb::StorageBackend;
use std::{io, path::Path};

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
