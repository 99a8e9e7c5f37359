//! Files of others: those that statements name, to read rows from or to write rows to. They are
//! nobody's of the engine, are not counted among its files, and what they are is looked at first.

use super::{Env, File, stats::Counters};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What is wanted of a file of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// To read it: it must be a regular file, and no symbolic link.
    Read,
    /// To write it: there must be nothing of its name, a symbolic link included.
    New,
}

impl Env {
    /// Where a path leads when all symbolic links have been followed. Everything on it must exist.
    pub fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.backend.resolve(path)
    }

    /// Opens a file of others. `InvalidInput`: it is there, and is no regular file.
    pub fn open_foreign(&self, path: &Path, wanted: Foreign) -> io::Result<File> {
        Ok(File {
            handle: self.backend.open_foreign(path, wanted)?,
            counters: Arc::new(Counters::default()),
            backend: Arc::clone(&self.backend),
        })
    }
}
