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
use crate::env::{Env, File, Mode, Notice, is_full};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::{
    io,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::Duration,
};

/// How many zeros are written and synced at once: the log's own fdatasync may have to wait for
/// them.
const PIECE: u64 = 1 << 20;
/// As much of a file in use lies, durably, behind the end of each group before it is written: see
/// the log's invariant 8.
pub(super) const MARGIN: u64 = 512;
/// How often expired files are looked for.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(60);

/// Up to where a file is filled with zeros. Whoever writes zeros holds the lock; a writer that
/// comes too far claims the space first, so that no zeros can fall on its bytes.
pub(super) struct Filled {
    end: Mutex<u64>,
    /// A copy of `end` to look at.
    seen: AtomicU64,
    /// The file is at least so long, durably.
    length: AtomicU64,
    /// A sync has failed that was not of a group: of zeros, or of the length. Bytes of groups were
    /// in it, too: what it did not write no later sync writes, though it may succeed.
    sync_failed: AtomicBool,
}

impl Filled {
    /// For a file of this length, which is durable, that is written to from `end` on.
    pub(super) fn new(end: u64, length: u64) -> Arc<Filled> {
        Arc::new(Filled {
            end: Mutex::new(end),
            seen: AtomicU64::new(end),
            length: AtomicU64::new(length),
            sync_failed: AtomicBool::new(false),
        })
    }

    pub(super) fn end(&self) -> u64 {
        self.seen.load(Relaxed)
    }

    /// Whether a sync of the file has failed here.
    pub(super) fn sync_failed(&self) -> bool {
        self.sync_failed.load(SeqCst)
    }

    /// The writer is about to write up to `end`. Makes the file longer, by `ahead`, if the zeros
    /// do not reach as far.
    pub(super) fn claim(&self, file: &File, end: u64, ahead: u64) -> io::Result<()> {
        if self.end() < end {
            let mut filled = self.end.lock();
            *filled = end.max(*filled);
            self.seen.store(*filled, Relaxed);
        }
        if self.length.load(Relaxed) < end + MARGIN {
            // Under the lock, so that the keeper's zeros do not make it longer meanwhile.
            let _filled = self.end.lock();
            let length = (end + MARGIN + ahead).max(file.len()?);
            file.set_len(length)?;
            self.sync(file)?;
            self.length.fetch_max(length, Relaxed);
        }
        Ok(())
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
            .inspect_err(|_| self.sync_failed.store(true, SeqCst))
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
            let end = *filled;
            drop(filled);
            self.sync(file)?;
            self.length.fetch_max(end, Relaxed);
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

/// The file after the one that is written to.
#[derive(Default)]
enum Next {
    #[default]
    Unwanted,
    /// To be prepared, or being prepared.
    Wanted,
    Ready(Prepared),
    /// The writer has it and is about to go on in it. Until it has, nobody knows another next.
    Taken,
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
    /// The number of the file that is written to.
    active: u64,
    next: Next,
    left: Vec<Left>,
    /// How often preparing failed.
    failures: u64,
    trouble: Option<String>,
    /// What does not work at present, and the operator knows.
    told: Vec<&'static str>,
    stop: bool,
}

impl Tasks {
    fn has_work(&self) -> bool {
        let more = self.fill.is_some() || matches!(self.next, Next::Wanted);
        !self.left.is_empty() || more && !self.stop
    }
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
    /// Whether expired files are removed.
    pub(super) auto_purge: AtomicBool,
}

impl Keeper {
    /// For a log that is written to the file `active`.
    pub(super) fn new(
        directory: Directory,
        active: u64,
        server_id: u32,
        ahead: u64,
        expire: u64,
    ) -> Keeper {
        Keeper {
            tasks: Mutex::new(Tasks {
                active,
                ..Tasks::default()
            }),
            changed: Condvar::new(),
            directory,
            server_id,
            ahead,
            expire_seconds: AtomicU64::new(expire),
            auto_purge: AtomicBool::new(true),
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

    /// Asks for the next file. Which one that is only the keeper knows: who asks may have looked
    /// at the log before it went on.
    pub(super) fn ask_next(&self) {
        self.want_next(&mut self.tasks.lock());
    }

    fn want_next(&self, tasks: &mut Tasks) {
        if matches!(tasks.next, Next::Unwanted) {
            tasks.next = Next::Wanted;
            self.changed.notify_all();
        }
    }

    /// Asks for the next file and waits for it; the error is the keeper's trouble. With
    /// `inline` there is no thread, and who waits does the work on these files.
    pub(super) fn wait_next(&self, inline: Option<&Files>) -> Result<(), String> {
        let mut tasks = self.tasks.lock();
        let failures = tasks.failures;
        loop {
            if tasks.failures > failures {
                return Err(tasks.trouble.clone().unwrap_or_default());
            }
            if tasks.stop || matches!(tasks.next, Next::Ready(_) | Next::Taken) {
                return Ok(());
            }
            self.want_next(&mut tasks);
            match inline {
                Some(files) => {
                    MutexGuard::unlocked(&mut tasks, || self.work(files));
                }
                None => self.changed.wait(&mut tasks),
            }
        }
    }

    /// The next file, if it is ready. The writer then says that it has [`Keeper::left`] the other.
    pub(super) fn take_next(&self) -> Option<Prepared> {
        let mut tasks = self.tasks.lock();
        match std::mem::replace(&mut tasks.next, Next::Taken) {
            Next::Ready(prepared) => Some(prepared),
            other => {
                tasks.next = other;
                None
            }
        }
    }

    /// The writer goes on in the file it took: this one ended at `end`.
    pub(super) fn left(&self, number: u64, end: u64) {
        let mut tasks = self.tasks.lock();
        tasks.left.push(Left { number, end });
        tasks.active = number + 1;
        tasks.next = Next::Unwanted;
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
        tasks.next = Next::Unwanted;
        self.changed.notify_all();
    }

    /// The thread.
    pub(super) fn run(&self, files: &Files) {
        loop {
            if self.work(files) {
                continue;
            }
            let mut tasks = self.tasks.lock();
            if tasks.has_work() {
                continue;
            }
            if tasks.stop {
                return;
            }
            let waited = self.changed.wait_for(&mut tasks, EXPIRY_INTERVAL);
            drop(tasks);
            if waited.timed_out() {
                self.expire(files);
            }
        }
    }

    /// Does one thing that there is to do; false if there is none.
    pub(super) fn work(&self, files: &Files) -> bool {
        let mut tasks = self.tasks.lock();
        // The files left are finished even when told to stop; the rest can be left.
        if let Some(left) = tasks.left.pop() {
            drop(tasks);
            let result = self.finish(&left, files);
            let name = file_name(left.number);
            self.note("finish", &name, &unless_purged(result));
            self.expire(files);
            return true;
        }
        if tasks.stop {
            return false;
        }
        if let Some((number, filled, goal)) = tasks.fill.take() {
            drop(tasks);
            let handle = self.directory.open(number, Mode::Existing);
            let result = handle.and_then(|file| filled.fill(&file, goal));
            self.note("extend", &file_name(number), &unless_purged(result));
            return true;
        }
        if !matches!(tasks.next, Next::Wanted) {
            return false;
        }
        let number = tasks.active + 1;
        drop(tasks);
        let prepared = self.prepare(number, files);
        self.note("prepare", &file_name(number), &prepared);
        let mut tasks = self.tasks.lock();
        tasks.next = match prepared {
            Ok(prepared) if !tasks.stop => Next::Ready(prepared),
            Ok(_) => Next::Unwanted,
            Err(_) => {
                tasks.failures += 1;
                Next::Unwanted
            }
        };
        self.changed.notify_all();
        true
    }

    fn prepare(&self, number: u64, files: &Files) -> io::Result<Prepared> {
        // It may be there, if preparing it failed half-way before; the index may name it already,
        // so that it must not become shorter.
        let file = self.directory.open(number, Mode::Create)?;
        let filled = Filled::new(0, 0);
        filled.fill(&file, self.ahead.max(2 * MARGIN))?;
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
        let file = self.directory.open(left.number, Mode::Existing)?;
        let length = rotate(
            &self.directory.env,
            &file,
            left.number,
            left.end,
            self.server_id,
        )?;
        files.set_size(left.number, length);
        Ok(())
    }

    /// Removes expired files.
    pub(super) fn expire(&self, files: &Files) {
        let seconds = self.expire_seconds.load(Relaxed);
        if seconds == 0 || !self.auto_purge.load(Relaxed) {
            return;
        }
        let now = self.directory.env.wall_micros() / 1_000_000;
        let keep = |_: &FileInfo, closed: u64| closed.saturating_add(seconds) > now;
        let purged = files.purge(&self.directory, keep);
        self.note("purge", "expired files", &purged);
    }

    /// Keeps what became of work, and tells the operator when something begins to fail, for the
    /// log grows without it. Of a full disk the writer tells, when it comes to that.
    fn note<T>(&self, what: &'static str, name: &str, result: &io::Result<T>) {
        let mut tasks = self.tasks.lock();
        let known = tasks.told.contains(&what);
        let Err(error) = result else {
            tasks.told.retain(|told| *told != what);
            drop(tasks);
            if known {
                let text = format!("binary log: it was possible again to {what} {name}");
                self.env().notice(Notice::LogFileWorkAgain, &text);
            }
            return;
        };
        let text = format!("cannot {what} {name}: {error}");
        tasks.trouble = Some(text.clone());
        if known || is_full(error) {
            return;
        }
        tasks.told.push(what);
        drop(tasks);
        let text = format!("binary log: {text}; commits go on without it");
        self.env().notice(Notice::LogFileWork, &text);
    }
}

/// Ends a file at `end` with an event that names the next one, durably; returns its length.
pub(super) fn rotate(
    env: &Env,
    file: &File,
    number: u64,
    end: u64,
    server_id: u32,
) -> io::Result<u64> {
    let mut rotate = event::rotate(&file_name(number + 1));
    let now = (env.wall_micros() / 1_000_000) as u32;
    seal::events(&mut rotate, end, now, server_id);
    close_file(file, end, &rotate)?;
    Ok(end + rotate.len() as u64)
}

/// Ends a file at `end` with a last event, durably.
pub(super) fn close_file(file: &File, end: u64, last_event: &[u8]) -> io::Result<()> {
    file.write_at(last_event, end)?;
    // Only a file that has its last event may be short, or closed.
    file.sync_data()?;
    file.set_len(end + last_event.len() as u64)?;
    clear_in_use(file)?;
    file.sync_data()
}

/// Notes in a file's format description that the file is closed. Not yet durable.
fn clear_in_use(file: &File) -> io::Result<()> {
    let at = (MAGIC.len() + offset::FLAGS) as u64;
    let mut flags = [0; 2];
    file.read_at(&mut flags, at)?;
    let closed = u16::from_le_bytes(flags) & !IN_USE;
    file.write_at(&closed.to_le_bytes(), at)
}

/// A file that the writer has left may be purged before the keeper comes to it.
fn unless_purged(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{env::fake::Disk, log::Position};
    use std::{path::PathBuf, thread};

    /// Whoever asks for the next file while the writer is on its way into it must not be given
    /// that one again: preparing it would empty it.
    #[test]
    fn a_file_that_was_taken_is_not_prepared_again() {
        let directory = Directory {
            env: Disk::new(1).env(),
            path: PathBuf::from("/"),
        };
        let keeper = Keeper::new(directory, 1, 1, 4096, 0);
        let files = Files::new(Vec::new(), Position::default());
        thread::scope(|scope| {
            scope.spawn(|| keeper.run(&files));
            keeper.wait_next(None).unwrap();
            assert_eq!(keeper.take_next().unwrap().number, 2);
            // Asked with the writer between two files: taken is as good as ready.
            keeper.ask_next();
            keeper.wait_next(None).unwrap();
            assert!(keeper.take_next().is_none());
            keeper.left(1, 0);
            keeper.wait_next(None).unwrap();
            assert_eq!(keeper.take_next().unwrap().number, 3);
            keeper.stop();
        });
    }
}
