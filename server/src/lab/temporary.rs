//! Directories that go when a run of the lab ends.

use parking_lot::Mutex;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::Once,
    thread,
};

/// Those that are there.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A directory for what is kept only for as long as this is: it goes when this is dropped, and when
/// the process is asked to end. (The processes that the lab starts end with it by themselves.)
pub struct Temporary(PathBuf);

impl Temporary {
    /// Makes the directory; `what` is kept there.
    pub fn make(what: &str) -> io::Result<Temporary> {
        static WATCH: Once = Once::new();
        WATCH.call_once(remove_on_signal);
        let name = format!("cohort-lab-{what}-{}", process::id());
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

fn remove_on_signal() {
    // Without the signals the directories stay, which hurts nothing else.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
        return;
    };
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            MADE.lock().iter().for_each(|path| remove(path));
            process::exit(130);
        }
    });
}
