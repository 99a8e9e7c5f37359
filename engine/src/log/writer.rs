//! The log thread: takes the open group, completes its events, writes and syncs it, makes it
//! visible; goes to the next file when one is full.

use super::{
    FileInfo, LogError, Position,
    event::{self, FileHeader, UNWRITTEN},
    group::{Open, Publish},
    keeper::{self, Filled, Prepared},
    seal::{self, Clock},
    semi_sync::Written,
    shared::{Section, Shared},
    times::GroupTimes,
};
use crate::{
    Seq,
    env::{File, Notice, is_full},
};
use std::{
    io,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Weak, atomic::Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// How often a write is tried again when the disk is full.
const STALL: Duration = Duration::from_millis(100);
/// A delay is slept in so many parts, after each of which the group may be large enough.
const DELAY_PARTS: u32 = 10;

/// What the log thread finds to do.
pub(super) struct Work {
    open: Open,
    /// The last commit placed.
    last: Seq,
    rotate: bool,
    sync: bool,
}

/// The file being written to, and where. Only the log thread has it.
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    pub(super) number: u64,
    pub(super) file: File,
    pub(super) filled: Arc<Filled>,
    pub(super) position: u64,
    pub(super) clock: Clock,
    /// Whether anything was written since the last fdatasync.
    pub(super) dirty: bool,
    /// Groups written since the last fdatasync.
    pub(super) unsynced_groups: u64,
    /// The last commit written.
    pub(super) written: Seq,
    /// The keeper is not asked again before this position.
    pub(super) ask_at: u64,
}

impl Writer {
    /// The thread. Ends when told to, or when the log fails: by a panic, too.
    pub(super) fn run(self) {
        let shared = Arc::clone(&self.shared);
        let turns = panic::catch_unwind(AssertUnwindSafe(|| self.turns()));
        if turns.is_err() {
            let text = "the log thread has panicked; nothing more is committed: restart the server";
            shared.fail(&LogError::Failed(text.to_owned()));
        }
    }

    fn turns(mut self) {
        let mut spare = Vec::new();
        while let Some(work) = self.next_work(std::mem::take(&mut spare)) {
            match self.complete(work) {
                Some(buffer) => spare = buffer,
                None => return,
            }
        }
        self.end();
    }

    /// In a log without threads: does what there is to do, for who waits for it.
    pub(super) fn work_off(&mut self) {
        let shared = Arc::clone(&self.shared);
        let next = || {
            let mut section = shared.section.lock();
            let failed = section.failed.is_some();
            (!failed).then(|| take_work(&shared, &mut section, Vec::new()))?
        };
        while let Some(work) = next() {
            self.complete(work);
        }
    }

    /// Does it, and gives the buffer back; `None`: it failed, and the log with it.
    fn complete(&mut self, mut work: Work) -> Option<Vec<u8>> {
        match self.perform(&mut work) {
            Ok(()) => Some(work.open.into_spare()),
            Err(error) => {
                self.shared.fail(&error);
                None
            }
        }
    }

    /// The clean end, when everything placed is written.
    pub(super) fn end(&mut self) {
        if let Err(error) = self.stop() {
            self.shared.fail(&error);
        }
    }

    /// Takes the open group, or sleeps until there is something to do.
    fn next_work(&self, spare: Vec<u8>) -> Option<Work> {
        let shared = &self.shared;
        // On a busy machine those who are about to commit run first, and the group is larger; on
        // an idle one nobody does, and this takes no time.
        thread::yield_now();
        let mut gathered = false;
        loop {
            let mut section = shared.section.lock();
            let delay = shared.sync_delay.load(Relaxed);
            if section.open.commits > 0 && delay > 0 && !gathered {
                drop(section);
                self.gather(Duration::from_micros(delay));
                gathered = true;
                continue;
            }
            if section.has_work() {
                return take_work(shared, &mut section, spare);
            }
            if section.closing {
                return None;
            }
            shared.asleep.store(1, Relaxed);
            drop(section);
            while shared.asleep.load(Relaxed) == 1 {
                atomic_wait::wait(&shared.asleep, 1);
            }
        }
    }

    /// Lets the open group grow for binlog_group_commit_sync_delay, or until it has
    /// binlog_group_commit_sync_no_delay_count members.
    fn gather(&self, delay: Duration) {
        let shared = &self.shared;
        let enough = match shared.no_delay_count.load(Relaxed) {
            0 => u64::MAX,
            count => count,
        };
        let until = Instant::now() + delay;
        loop {
            let section = shared.section.lock();
            let ready = section.open.commits >= enough || section.closing;
            drop(section);
            let left = until.saturating_duration_since(Instant::now());
            if ready || left.is_zero() {
                return;
            }
            thread::sleep(left.min(delay / DELAY_PARTS));
        }
    }

    fn perform(&mut self, work: &mut Work) -> Result<(), LogError> {
        let full = self.position >= self.shared.max_size.load(Relaxed);
        if (work.rotate || full)
            && let Some(next) = self.shared.keeper.take_next()
        {
            self.rotate(next)?;
        }
        if work.open.commits > 0 {
            let start = self.position;
            let taken_ns = self.shared.keeper.env().monotonic_nanos();
            self.write(&mut work.open)?;
            self.written = work.last;
            self.unsynced_groups += 1;
            let every = self.shared.sync_binlog.load(Relaxed);
            let due = every > 0 && self.unsynced_groups >= every;
            let (written_ns, durable_ns) = if due || work.sync {
                self.sync()?
            } else {
                let now = self.shared.keeper.env().monotonic_nanos();
                (now, now)
            };
            let counters = &self.shared.counters;
            counters.group_sizes.note(work.open.commits);
            let bytes = self.position - start;
            counters.bytes.fetch_add(bytes, Relaxed);
            self.shared.reached(
                Position {
                    file: self.number,
                    offset: start,
                },
                self.position,
                self.unsynced_groups == 0,
            );
            work.open.group.written(Written {
                end: Position {
                    file: self.number,
                    offset: self.position,
                },
                members: work.open.commits,
                since: Instant::now(),
                times: GroupTimes {
                    taken_ns,
                    written_ns,
                    durable_ns,
                },
            });
            self.shared.wake();
            self.shared.publish();
        } else if work.sync && self.unsynced_groups > 0 {
            self.sync()?;
        }
        self.ask_keeper();
        Ok(())
    }

    /// Writes a group: one write, but for large members, which are written from where they are.
    fn write(&mut self, open: &mut Open) -> Result<(), LogError> {
        let server_id = self.shared.server_id;
        let Open { bytes, large, .. } = open;
        let length = bytes.len();
        bytes.extend_from_slice(&UNWRITTEN);
        let mut rest = &mut bytes[..length];
        let mut taken = 0;
        for (before, batch) in large {
            let (part, after) = rest
                .split_at_mut_checked(*before - taken)
                .unwrap_or_default();
            (rest, taken) = (after, *before);
            for events in [part, batch.events_mut()] {
                seal::transactions(events, self.position, server_id, &mut self.clock);
                self.put(events, events.len())?;
            }
        }
        seal::transactions(rest, self.position, server_id, &mut self.clock);
        let events = rest.len();
        let rest = bytes.get(taken..).unwrap_or_default();
        self.put(rest, events)
    }

    /// Writes bytes, of which so many are events; what comes next takes the place of the others.
    fn put(&mut self, bytes: &[u8], events: usize) -> Result<(), LogError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let end = self.position + bytes.len() as u64;
        self.dirty = true;
        let write = || {
            self.filled.claim(&self.file, end, self.shared.ahead)?;
            self.file.write_at(bytes, self.position)
        };
        let mut stalled = None;
        while let Err(error) = write() {
            self.stall(&error, &mut stalled)?;
        }
        if let Some(since) = stalled {
            self.resume(since);
        }
        self.position += events as u64;
        Ok(())
    }

    /// Waits a moment for room on the disk, during which nothing more can be committed. Any other
    /// error than the want of it is final, and so is the end of the server, and a sync that failed,
    /// be it for want of room.
    fn stall(&self, error: &io::Error, since: &mut Option<u64>) -> Result<(), LogError> {
        let failed = self.failed("write to", error);
        let mut section = self.shared.section.lock();
        let again = is_full(error) && !self.filled.sync_failed();
        if !again || section.closing {
            return Err(failed);
        }
        let env = self.shared.keeper.env();
        if since.is_none() {
            *since = Some(env.monotonic_nanos());
            let name = self.shared.keeper.directory().path_of(self.number);
            let text = format!(
                "cannot write to {}: {error}; commits wait, and further ones are refused, until \
                 there is room on the disk",
                name.display()
            );
            env.notice(Notice::DiskFull, &text);
            section.full = Some(text);
        }
        let open = Arc::clone(&section.open.group);
        drop(section);
        // Each time, for one may just be about to wait.
        open.wake();
        self.shared.in_flight.wake();
        env.sleep(STALL);
        Ok(())
    }

    /// There is room again.
    fn resume(&self, since: u64) {
        self.shared.section.lock().full = None;
        let env = self.shared.keeper.env();
        let seconds = env.monotonic_nanos().saturating_sub(since) / 1_000_000_000;
        let text = format!("there is room on the disk again: commits go on after {seconds} s");
        env.notice(Notice::DiskHasRoom, &text);
    }

    /// Syncs the file; when that began and ended.
    fn sync(&mut self) -> Result<(u64, u64), LogError> {
        let begun = self.shared.keeper.env().monotonic_nanos();
        let synced = self.file.sync_data().and_then(|()| {
            if self.filled.sync_failed() {
                return Err(io::Error::other("an earlier sync of the file has failed"));
            }
            Ok(())
        });
        synced.map_err(|error| self.failed("sync", &error))?;
        let ended = self.shared.keeper.env().monotonic_nanos();
        self.shared.counters.fsync_us.note((ended - begun) / 1000);
        self.unsynced_groups = 0;
        self.dirty = false;
        self.clock.last_committed = self.clock.sequence_number;
        self.shared.synced(self.written);
        Ok((begun, ended))
    }

    /// Goes on in another file. Its first bytes become durable with the first group in it.
    fn rotate(&mut self, next: Prepared) -> Result<(), LogError> {
        // The new file's header says that the old one is whole, so it must be.
        if self.dirty {
            self.sync()?;
        }
        let shared = &self.shared;
        let (left, end) = (self.number, self.position);
        let created = (shared.keeper.env().wall_micros() / 1_000_000) as u32;
        let mut header = shared.header(created, self.written).encode();
        let events = header.len();
        header.extend_from_slice(&UNWRITTEN);
        self.number = next.number;
        self.file = next.file;
        self.filled = next.filled;
        self.position = 0;
        self.clock = Clock::new(self.written);
        self.ask_at = 0;
        self.put(&header, events)?;
        let shared = &self.shared;
        shared.files.set_size(left, end);
        shared.files.begin(FileInfo {
            number: self.number,
            size: self.position,
            after: self.written,
            created: u64::from(created),
        });
        shared.keeper.left(left, end);
        shared.rotated(self.number, self.position);
        Ok(())
    }

    fn ask_keeper(&mut self) {
        if self.position < self.ask_at {
            return;
        }
        let shared = &self.shared;
        let ahead = shared.ahead;
        shared
            .keeper
            .fill_ahead(self.number, &self.filled, self.position);
        let max_size = shared.max_size.load(Relaxed);
        if self.position + ahead.max(max_size / 8) >= max_size {
            shared.keeper.ask_next();
        }
        self.ask_at = self.position + ahead / 8;
    }

    /// A clean end: the file is cut to its length and says that the server stopped.
    fn stop(&mut self) -> Result<(), LogError> {
        let shared = &self.shared;
        let now = (shared.keeper.env().wall_micros() / 1_000_000) as u32;
        let mut stop = event::stop();
        seal::events(&mut stop, self.position, now, shared.server_id);
        // No zeros of the keeper's can come any more: it has stopped.
        keeper::close_file(&self.file, self.position, &stop)
            .map_err(|error| self.failed("close", &error))
    }

    fn failed(&self, what: &str, error: &io::Error) -> LogError {
        let name = self.shared.keeper.directory().path_of(self.number);
        let advice = if is_full(error) {
            "free space on this disk and restart the server"
        } else {
            "check the disk and restart the server"
        };
        LogError::Failed(format!(
            "cannot {what} {}: {error}; nothing more is committed: {advice}",
            name.display()
        ))
    }
}

/// Takes the open group and what else is asked for, if there is any of it.
fn take_work(shared: &Arc<Shared>, section: &mut Section, spare: Vec<u8>) -> Option<Work> {
    if !section.has_work() {
        return None;
    }
    let log: Weak<Shared> = Arc::downgrade(shared);
    let open = std::mem::replace(&mut section.open, Open::new(log, spare));
    if open.commits > 0 {
        shared.in_flight.push(&open.group, section.last);
    }
    Some(Work {
        open,
        last: section.last,
        rotate: std::mem::take(&mut section.rotate),
        sync: std::mem::take(&mut section.sync),
    })
}

impl Shared {
    /// The beginning of a file after the commit `after`.
    pub(super) fn header(&self, created: u32, after: Seq) -> FileHeader {
        FileHeader {
            server_version: self.server_version.clone(),
            server_id: self.server_id,
            created,
            startup: false,
            source: self.source,
            after,
            executed: self.section.lock().executed.as_of(after),
        }
    }
}
