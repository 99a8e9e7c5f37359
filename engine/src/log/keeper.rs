//! The thread that does what the commit path must not wait for: it fills the file with zeros
//! ahead of the writer, prepares the next file, finishes the last one and removes expired ones.
//!
//! The zeros are real writes followed by an fdatasync: only then does a later fdatasync of the
//! same bytes need no change of the file system's own tables (posix_fallocate was measured not
//! to help). They go through a file handle of their own, because a kernel reports a failed
//! write-back once per handle, and the log thread must not miss one.

use super::{
    FileInfo,
    event::{self, IN_USE, MAGIC, offset},
    file_name,
    files::{Directory, Files},
    seal,
};
use crate::env::{Env, File, Mode};
use parking_lot::{Condvar, Mutex};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// How many zeros are written and synced at once: the log's own fdatasync may have to wait for
/// them.
const PIECE: u64 = 1 << 20;
/// How often expired files are looked for.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(60);

/// Up to where a file is filled with zeros. Whoever writes zeros holds the lock; a writer that
/// comes too far claims the space first, so that no zeros can fall on its bytes.
pub(super) struct Filled {
    end: Mutex<u64>,
    /// A copy of `end` to look at.
    seen: AtomicU64,
}

impl Filled {
    pub(super) fn new(end: u64) -> Arc<Filled> {
        Arc::new(Filled {
            end: Mutex::new(end),
            seen: AtomicU64::new(end),
        })
    }

    pub(super) fn end(&self) -> u64 {
        self.seen.load(Relaxed)
    }

    /// The writer is about to write up to `end`.
    pub(super) fn claim(&self, end: u64) {
        if self.end() < end {
            let mut filled = self.end.lock();
            *filled = end.max(*filled);
            self.seen.store(*filled, Relaxed);
        }
    }

    /// Writes zeros up to `goal`.
    fn fill(&self, file: &File, goal: u64) -> io::Result<()> {
        let mut zeros = Vec::new();
        while self.end() < goal {
            let mut filled = self.end.lock();
            let length = goal.saturating_sub(*filled).min(PIECE);
            zeros.resize(usize::try_from(length).unwrap_or(0), 0);
            file.write_at(&zeros, *filled)?;
            *filled += length;
            self.seen.store(*filled, Relaxed);
            drop(filled);
            file.sync_data()?;
        }
        Ok(())
    }
}

/// A file that the writer can go on with: filled with zeros, durable, named in the index.
pub(super) struct Prepared {
    pub(super) number: u64,
    pub(super) file: File,
    pub(super) filled: Arc<Filled>,
}

/// A file the writer has left.
struct Left {
    number: u64,
    end: u64,
}

#[derive(Default)]
struct Tasks {
    /// The active file, filled up to where, and up to where it is to be.
    fill: Option<(u64, Arc<Filled>, u64)>,
    /// Prepare the file after this one.
    prepare_after: Option<u64>,
    prepared: Option<Prepared>,
    left: Vec<Left>,
    /// How often preparing failed.
    failures: u64,
    trouble: Option<String>,
    stop: bool,
}

/// What the keeper and those who give it work share.
pub(super) struct Keeper {
    tasks: Mutex<Tasks>,
    /// There is work, or work was done.
    changed: Condvar,
    directory: Directory,
    server_id: u32,
    ahead: u64,
    pub(super) expire_seconds: AtomicU64,
}

impl Keeper {
    pub(super) fn new(directory: Directory, server_id: u32, ahead: u64, expire: u64) -> Keeper {
        Keeper {
            tasks: Mutex::default(),
            changed: Condvar::new(),
            directory,
            server_id,
            ahead,
            expire_seconds: AtomicU64::new(expire),
        }
    }

    pub(super) fn env(&self) -> &Env {
        &self.directory.env
    }

    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Asks for zeros ahead of the writer's position, if they run short.
    pub(super) fn fill_ahead(&self, number: u64, filled: &Arc<Filled>, position: u64) {
        if filled.end() < position + self.ahead / 2 {
            let mut tasks = self.tasks.lock();
            tasks.fill = Some((number, Arc::clone(filled), position + self.ahead));
            self.changed.notify_all();
        }
    }

    /// Asks for the file after `number`.
    pub(super) fn prepare_after(&self, number: u64) {
        self.ask_prepare(&mut self.tasks.lock(), number);
    }

    fn ask_prepare(&self, tasks: &mut Tasks, number: u64) {
        if tasks.prepared.is_none() && tasks.prepare_after.is_none() {
            tasks.prepare_after = Some(number);
            self.changed.notify_all();
        }
    }

    /// Asks for the file after `number` and waits for it; the error is the keeper's trouble.
    pub(super) fn wait_prepared(&self, number: u64) -> Result<(), String> {
        let mut tasks = self.tasks.lock();
        let failures = tasks.failures;
        self.ask_prepare(&mut tasks, number);
        loop {
            if tasks.prepared.is_some() || tasks.stop {
                return Ok(());
            }
            if tasks.failures > failures {
                return Err(tasks.trouble.clone().unwrap_or_default());
            }
            // Asked under the same lock, so that a failure cannot slip in between.
            if tasks.prepare_after.is_none() {
                tasks.prepare_after = Some(number);
                self.changed.notify_all();
            }
            self.changed.wait(&mut tasks);
        }
    }

    pub(super) fn take_prepared(&self) -> Option<Prepared> {
        self.tasks.lock().prepared.take()
    }

    /// The writer goes on in another file: this one ended at `end`.
    pub(super) fn left(&self, number: u64, end: u64) {
        let mut tasks = self.tasks.lock();
        tasks.left.push(Left { number, end });
        tasks.fill = None;
        self.changed.notify_all();
    }

    /// The last thing that went wrong here. None of it endangers a commit.
    pub(super) fn trouble(&self) -> Option<String> {
        self.tasks.lock().trouble.clone()
    }

    /// Ends the thread. The writer stays in its file from now on.
    pub(super) fn stop(&self) {
        let mut tasks = self.tasks.lock();
        tasks.stop = true;
        tasks.prepared = None;
        self.changed.notify_all();
    }

    /// The thread.
    pub(super) fn run(&self, files: &Files) {
        let mut tasks = self.tasks.lock();
        loop {
            // The files left are finished even when told to stop; the rest can be left.
            if let Some(left) = tasks.left.pop() {
                drop(tasks);
                let result = self.finish(&left, files);
                tasks = self.tasks.lock();
                note(&mut tasks, "finish", left.number, result);
                drop(tasks);
                self.expire(files);
                tasks = self.tasks.lock();
            } else if tasks.stop {
                return;
            } else if let Some((number, filled, goal)) = tasks.fill.take() {
                drop(tasks);
                let handle = self.directory.open(number, Mode::Existing);
                let result = handle.and_then(|file| filled.fill(&file, goal));
                tasks = self.tasks.lock();
                note(&mut tasks, "extend", number, result);
            } else if let Some(number) = tasks.prepare_after {
                drop(tasks);
                let prepared = self.prepare(number + 1, files);
                tasks = self.tasks.lock();
                tasks.prepare_after = None;
                match prepared {
                    Ok(prepared) => tasks.prepared = Some(prepared),
                    Err(error) => {
                        tasks.failures += 1;
                        note(&mut tasks, "prepare", number + 1, Err(error));
                    }
                }
                self.changed.notify_all();
            } else if self
                .changed
                .wait_for(&mut tasks, EXPIRY_INTERVAL)
                .timed_out()
            {
                drop(tasks);
                self.expire(files);
                tasks = self.tasks.lock();
            }
        }
    }

    fn prepare(&self, number: u64, files: &Files) -> io::Result<Prepared> {
        // It may be there, if preparing it failed half-way before.
        let file = self.directory.open(number, Mode::Create)?;
        file.set_len(0)?;
        let filled = Filled::new(0);
        filled.fill(&file, self.ahead)?;
        self.directory.env.sync_dir(&self.directory.path)?;
        files.prepare(number, &self.directory)?;
        Ok(Prepared {
            number,
            file,
            filled,
        })
    }

    /// Tells readers where the log goes on, cuts the zeros, and notes that the file is closed.
    fn finish(&self, left: &Left, files: &Files) -> io::Result<()> {
        let mut rotate = event::rotate(&file_name(left.number + 1));
        let now = (self.directory.env.wall_micros() / 1_000_000) as u32;
        seal::events(&mut rotate, left.end, now, self.server_id);
        match close_file(&self.directory, left.number, left.end, &rotate) {
            // It was purged meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            result => result?,
        }
        files.set_size(left.number, left.end + rotate.len() as u64);
        Ok(())
    }

    fn expire(&self, files: &Files) {
        let seconds = self.expire_seconds.load(Relaxed);
        if seconds == 0 {
            return;
        }
        let now = self.directory.env.wall_micros() / 1_000_000;
        let keep = |_: &FileInfo, closed: u64| closed.saturating_add(seconds) > now;
        if let Err(error) = files.purge(&self.directory, keep) {
            self.tasks.lock().trouble = Some(error.0);
        }
    }
}

/// Ends a file at `end` with a last event, durably.
pub(super) fn close_file(
    directory: &Directory,
    number: u64,
    end: u64,
    last_event: &[u8],
) -> io::Result<()> {
    let file = directory.open(number, Mode::Existing)?;
    file.write_at(last_event, end)?;
    file.set_len(end + last_event.len() as u64)?;
    clear_in_use(&file)?;
    file.sync_data()
}

/// Notes in a file's format description that the file is closed. Not yet durable.
pub(super) fn clear_in_use(file: &File) -> io::Result<()> {
    let at = (MAGIC.len() + offset::FLAGS) as u64;
    let mut flags = [0; 2];
    file.read_at(&mut flags, at)?;
    let closed = u16::from_le_bytes(flags) & !IN_USE;
    file.write_at(&closed.to_le_bytes(), at)
}

fn note(tasks: &mut Tasks, what: &str, number: u64, result: io::Result<()>) {
    if let Err(error) = result {
        tasks.trouble = Some(format!("cannot {what} {}: {error}", file_name(number)));
    }
}
