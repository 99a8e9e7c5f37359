//! Directories that go when a run of the lab ends.

use parking_lot::Mutex;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Those that are there.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A directory for what is kept only for as long as this is: it goes when this is dropped, and when
/// the process is asked to end ([`super::interrupt`]). (The processes that the lab starts end with it by themselves.)
pub struct Temporary(PathBuf);

impl Temporary {
    /// Makes the directory; `what` is kept there.
    pub fn make(what: &str) -> io::Result<Temporary> {
        /// Several servers may run at the same time.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("cohort-lab-{what}-{}-{number}", process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path)?;
        MADE.lock().push(path.clone());
        Ok(Temporary(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        MADE.lock().retain(|path| *path != self.0);
        remove(&self.0);
    }
}

/// Who wrote there may have been about to make one more file: then it is tried again.
fn remove(path: &Path) {
    for _ in 0..10 {
        if fs::remove_dir_all(path).is_ok() || !path.exists() {
            return;
        }
    }
}

/// Removes those that are there, for the process is about to end.
pub fn remove_all() {
    MADE.lock().iter().for_each(|path| remove(path));
}
