//! The open log: placing commits, waiting for them, and everything else its users ask.

use super::{
    Batch, EventInfo, FileInfo, OpenError, Position, Progress, Replayed, file_name,
    files::{Directory, Files, file_number},
    group::{Group, InFlight, Open},
    keeper::{Filled, Keeper},
    read, recover,
    seal::Clock,
    writer::Writer,
};
use crate::{Seq, env::Env};
use parking_lot::{Condvar, Mutex};
use std::{
    fmt,
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{
            AtomicU32, AtomicU64,
            Ordering::{Relaxed, SeqCst},
        },
    },
    thread::{self, JoinHandle},
};

/// How the log is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// As the format description event tells it, e.g. `9.7.0-cohort-0.1.0`.
    pub server_version: String,
    /// server_id.
    pub server_id: u32,
    /// server_uuid: the source of the GTIDs.
    pub server_uuid: [u8; 16],
    /// sync_binlog: 1: every group; 0: when the system likes; N: every Nth group.
    pub sync_binlog: u64,
    /// max_binlog_size in bytes: the next group after it goes to a new file.
    pub max_binlog_size: u64,
    /// binlog_expire_logs_seconds; 0: never.
    pub expire_logs_seconds: u64,
    /// How many bytes of zeros are kept ahead of the last group.
    pub preallocate: u64,
}

impl Options {
    /// MySQL's defaults.
    #[must_use]
    pub fn new(server_version: &str, server_uuid: [u8; 16]) -> Options {
        Options {
            server_version: server_version.to_owned(),
            server_id: 1,
            server_uuid,
            sync_binlog: 1,
            max_binlog_size: 1 << 30,
            expire_logs_seconds: 30 * 24 * 3600,
            preallocate: 16 << 20,
        }
    }
}

/// The log cannot go on (or could not do what was asked); the text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogError(pub String);

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LogError {}

/// A commit's place in the log.
pub struct Ticket {
    seq: Seq,
    group: Arc<Group>,
    /// Taken when the commit is applied.
    shared: Option<Weak<Shared>>,
}

impl Ticket {
    /// Its number.
    #[must_use]
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Says that the commit's changes are where readers find them. Call it soon: no later commit
    /// becomes visible before. Dropping the ticket does it too.
    pub fn applied(&mut self) {
        if let Some(shared) = self.shared.take()
            && self.group.applied()
            && let Some(shared) = shared.upgrade()
        {
            shared.in_flight.publish(&shared.visible);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.applied();
    }
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Transactions written.
    pub commits: u64,
    /// Groups written: each one write and (with sync_binlog=1) one fdatasync.
    pub groups: u64,
    /// The most commits in one group.
    pub group_commits_max: u64,
    /// Bytes written by groups.
    pub bytes: u64,
    /// fdatasyncs made by groups.
    pub fsyncs: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) commits: AtomicU64,
    pub(super) groups: AtomicU64,
    pub(super) group_commits_max: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) fsyncs: AtomicU64,
}

/// The critical section of the commit path.
pub(super) struct Section {
    pub(super) open: Open,
    /// The last commit placed.
    pub(super) last: Seq,
    /// A new file is wanted.
    pub(super) rotate: bool,
    /// Everything written is to be synced.
    pub(super) sync: bool,
    pub(super) closing: bool,
    pub(super) failed: Option<LogError>,
}

/// Where the log is.
#[derive(Clone, Copy)]
struct Reached {
    /// The start of the last durable group.
    durable: Position,
    end: Position,
}

/// What the log's users and threads share.
pub(super) struct Shared {
    pub(super) section: Mutex<Section>,
    /// The log thread's futex: 1 while it sleeps. Written under `section`'s lock.
    pub(super) asleep: AtomicU32,
    pub(super) in_flight: InFlight,
    pub(super) visible: AtomicU64,
    durable: AtomicU64,
    reached: Mutex<Reached>,
    /// The file changed, something was synced, or the log failed.
    progress: Condvar,
    pub(super) files: Files,
    pub(super) keeper: Keeper,
    pub(super) counters: Counters,
    pub(super) sync_binlog: AtomicU64,
    pub(super) max_size: AtomicU64,
    pub(super) ahead: u64,
    pub(super) server_version: String,
    pub(super) server_id: u32,
    pub(super) source: [u8; 16],
}

impl Shared {
    /// Wakes the log thread if it sleeps; `section` must be locked.
    fn rouse(&self, _section: &Section) -> bool {
        self.asleep.load(Relaxed) == 1 && {
            self.asleep.store(0, Relaxed);
            true
        }
    }

    fn ask(&self, request: impl FnOnce(&mut Section)) {
        let mut section = self.section.lock();
        request(&mut section);
        if self.rouse(&section) {
            drop(section);
            atomic_wait::wake_one(&self.asleep);
        }
    }

    /// A group was written from `start` to `end`.
    pub(super) fn reached(&self, start: Position, end: u64, durable: bool) {
        let mut reached = self.reached.lock();
        reached.end = Position {
            offset: end,
            ..start
        };
        if durable {
            reached.durable = start;
        }
    }

    /// Everything up to `seq` is durable.
    pub(super) fn synced(&self, seq: Seq) {
        self.durable.store(seq, SeqCst);
        if self.sync_binlog.load(Relaxed) != 1 {
            let _reached = self.reached.lock();
            self.progress.notify_all();
        }
    }

    pub(super) fn rotated(&self, file: u64, offset: u64) {
        self.reached.lock().end = Position { file, offset };
        self.progress.notify_all();
    }

    /// The end: no commit is taken any more, and all that are not written hear of it.
    pub(super) fn fail(&self, error: &LogError) {
        let mut section = self.section.lock();
        section.failed = Some(error.clone());
        self.in_flight.fail(&section.open.group);
        drop(section);
        let _reached = self.reached.lock();
        self.progress.notify_all();
    }

    fn failure(&self) -> LogError {
        let closed = || LogError("the binary log is closed".into());
        self.section.lock().failed.clone().unwrap_or_else(closed)
    }
}

/// The open log.
pub struct Log {
    shared: Arc<Shared>,
    threads: Option<(JoinHandle<()>, JoinHandle<()>)>,
}

impl Log {
    /// Opens the log in `dir`, calls `replay` for every whole transaction after `applied`,
    /// reading from `from`, cuts a torn tail and begins a new file. `from` and `applied` must
    /// belong together: all commits before `from` are at most `applied`.
    pub fn open(
        env: &Env,
        dir: &Path,
        options: Options,
        from: Position,
        applied: Seq,
        replay: &mut dyn FnMut(Replayed<'_>) -> Result<(), String>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Log, OpenError> {
        let directory = Directory {
            env: env.clone(),
            path: dir.to_owned(),
        };
        let found = recover::recover(&directory, from, applied, replay, progress)?;
        let mut files = found.files;
        let begun = recover::begin(&directory, &options, found.number + 1, found.last, &files)?;
        files.push(begun.info);
        let number = found.number + 1;
        // Small files, as tests have them, need few zeros.
        let ahead = options.preallocate.min(options.max_binlog_size / 4);
        let end = Position {
            file: number,
            offset: begun.position,
        };
        let shared = Arc::new(Shared {
            section: Mutex::new(Section {
                open: Open::new(Vec::new()),
                last: found.last,
                rotate: false,
                sync: false,
                closing: false,
                failed: None,
            }),
            asleep: AtomicU32::new(0),
            in_flight: InFlight::default(),
            visible: AtomicU64::new(found.last),
            durable: AtomicU64::new(found.last),
            reached: Mutex::new(Reached { durable: end, end }),
            progress: Condvar::new(),
            files: Files::new(files, from),
            keeper: Keeper::new(
                directory,
                options.server_id,
                ahead,
                options.expire_logs_seconds,
            ),
            counters: Counters::default(),
            sync_binlog: AtomicU64::new(options.sync_binlog),
            max_size: AtomicU64::new(options.max_binlog_size),
            ahead,
            server_version: options.server_version,
            server_id: options.server_id,
            source: options.server_uuid,
        });
        let writer = Writer {
            shared: Arc::clone(&shared),
            number,
            file: begun.file,
            filled: Filled::new(begun.position),
            position: begun.position,
            clock: Clock::default(),
            dirty: false,
            unsynced_groups: 0,
            written: found.last,
            ask_at: 0,
        };
        Log::start(shared, writer).map_err(|error| {
            OpenError(format!("cannot start a thread for the binary log: {error}"))
        })
    }

    fn start(shared: Arc<Shared>, writer: Writer) -> std::io::Result<Log> {
        let keeper = Arc::clone(&shared);
        let keeper = thread::Builder::new()
            .name("log-keeper".into())
            .spawn(move || keeper.keeper.run(&keeper.files))?;
        let writer = thread::Builder::new()
            .name("log".into())
            .spawn(move || writer.run())?;
        Ok(Log {
            shared,
            threads: Some((writer, keeper)),
        })
    }

    /// Gives a transaction its number and its place. `placed` runs inside the short critical
    /// section: whatever it does happens in the order of the numbers.
    pub fn commit<R>(
        &self,
        mut batch: Batch,
        placed: impl FnOnce(Seq) -> R,
    ) -> Result<(Ticket, R), LogError> {
        let shared = &self.shared;
        batch.complete(&shared.source, shared.keeper.env().wall_micros())?;
        let mut section = shared.section.lock();
        if let Some(error) = &section.failed {
            return Err(error.clone());
        }
        if section.closing {
            drop(section);
            return Err(shared.failure());
        }
        section.last += 1;
        let seq = section.last;
        batch.number(seq);
        section.open.push(batch);
        let ticket = Ticket {
            seq,
            group: Arc::clone(&section.open.group),
            shared: Some(Arc::downgrade(shared)),
        };
        let result = placed(seq);
        let rouse = shared.rouse(&section);
        drop(section);
        if rouse {
            atomic_wait::wake_one(&shared.asleep);
        }
        Ok((ticket, result))
    }

    /// Waits until the commit, and all before it, are durable and applied: visible.
    pub fn wait(&self, ticket: Ticket) -> Result<(), LogError> {
        let group = Arc::clone(&ticket.group);
        drop(ticket);
        if group.wait() {
            Ok(())
        } else {
            Err(self.shared.failure())
        }
    }

    /// The newest commit that readers may see.
    #[must_use]
    pub fn visible(&self) -> Seq {
        self.shared.visible.load(SeqCst)
    }

    /// Waits until `seq`, which must have been placed, is visible.
    pub fn wait_visible(&self, seq: Seq) -> Result<(), LogError> {
        let shared = &self.shared;
        if self.visible() >= seq {
            return Ok(());
        }
        let section = shared.section.lock();
        // Under the section's lock a commit is either in flight, or in the open group.
        let group = shared.in_flight.find(seq).or_else(|| {
            let open = &section.open;
            (self.visible() < seq && open.commits > 0).then(|| Arc::clone(&open.group))
        });
        let failed = section.failed.clone();
        drop(section);
        let visible = group.is_some_and(|group| group.wait());
        if visible || self.visible() >= seq {
            return Ok(());
        }
        Err(failed.unwrap_or_else(|| shared.failure()))
    }

    /// Makes everything up to `seq` durable even if sync_binlog is not 1; to be called before a
    /// checkpoint with these commits is made durable.
    pub fn wait_durable(&self, seq: Seq) -> Result<(), LogError> {
        let shared = &self.shared;
        if self.durable() >= seq {
            return Ok(());
        }
        self.wait_visible(seq)?;
        while self.durable() < seq {
            shared.ask(|section| section.sync = true);
            let mut reached = shared.reached.lock();
            if self.durable() < seq {
                // The timeout only guards against sync_binlog having changed to 1 meanwhile.
                let moment = std::time::Duration::from_millis(10);
                shared.progress.wait_for(&mut reached, moment);
            }
            drop(reached);
            self.check()?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), LogError> {
        match &self.shared.section.lock().failed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// The newest durable commit.
    #[must_use]
    pub fn durable(&self) -> Seq {
        self.shared.durable.load(SeqCst)
    }

    /// Runs `f` with the newest commit's number while no commit can take its place.
    pub fn exclusive<R>(&self, f: impl FnOnce(Seq) -> R) -> R {
        f(self.shared.section.lock().last)
    }

    /// Where a recovery can begin that needs only commits after `durable()` as of now.
    #[must_use]
    pub fn position(&self) -> Position {
        self.shared.reached.lock().durable
    }

    /// The end of the last written group: SHOW BINARY LOG STATUS.
    #[must_use]
    pub fn end(&self) -> Position {
        self.shared.reached.lock().end
    }

    /// Files from this position on are not purged.
    pub fn set_recovery_floor(&self, floor: Position) {
        self.shared.files.set_floor(floor);
    }

    /// FLUSH BINARY LOGS: begins a new file.
    pub fn rotate(&self) -> Result<(), LogError> {
        let shared = &self.shared;
        let number = self.end().file;
        while self.end().file == number {
            self.check()?;
            shared.keeper.wait_prepared(number).map_err(LogError)?;
            shared.ask(|section| section.rotate = true);
            let mut reached = shared.reached.lock();
            if reached.end.file == number {
                // Short, because the prepared file may have been used by another rotation.
                let moment = std::time::Duration::from_millis(100);
                shared.progress.wait_for(&mut reached, moment);
            }
        }
        Ok(())
    }

    /// PURGE BINARY LOGS TO: removes the files before the named one, as far as recovery can do
    /// without them. Returns how many were removed; `None` if there is no such file.
    pub fn purge_to(&self, name: &str) -> Result<Option<usize>, LogError> {
        let files = self.files();
        let Some(to) = files.iter().find(|file| file.name() == name) else {
            return Ok(None);
        };
        let directory = self.shared.keeper.directory();
        let keep = |file: &FileInfo, _| file.number >= to.number;
        self.shared.files.purge(directory, keep).map(Some)
    }

    /// PURGE BINARY LOGS BEFORE: removes files whose last event is older (seconds since 1970).
    pub fn purge_before(&self, seconds: u64) -> Result<usize, LogError> {
        let directory = self.shared.keeper.directory();
        let keep = |_: &FileInfo, closed| closed >= seconds;
        self.shared.files.purge(directory, keep)
    }

    /// The files, oldest first.
    #[must_use]
    pub fn files(&self) -> Vec<FileInfo> {
        let end = self.end();
        let mut files = self.shared.files.all();
        if let Some(active) = files.iter_mut().find(|file| file.number == end.file) {
            active.size = end.offset;
        }
        files
    }

    /// Events of a file (`None`: no such file), from a position on, at most `limit`.
    pub fn events(
        &self,
        name: &str,
        from: u64,
        limit: usize,
    ) -> Result<Option<Vec<EventInfo>>, LogError> {
        let files = self.files();
        let Some(file) = files.iter().find(|file| file.name() == name) else {
            return Ok(None);
        };
        let directory = self.shared.keeper.directory();
        read::events(directory, file.number, file.size, from, limit).map(Some)
    }

    /// Changes sync_binlog.
    pub fn set_sync_binlog(&self, value: u64) {
        self.shared.sync_binlog.store(value, Relaxed);
    }

    /// Changes max_binlog_size.
    pub fn set_max_binlog_size(&self, bytes: u64) {
        self.shared.max_size.store(bytes, Relaxed);
    }

    /// Changes binlog_expire_logs_seconds.
    pub fn set_expire_logs_seconds(&self, seconds: u64) {
        self.shared.keeper.expire_seconds.store(seconds, Relaxed);
    }

    /// The counters.
    #[must_use]
    pub fn status(&self) -> Status {
        let counters = &self.shared.counters;
        Status {
            commits: counters.commits.load(Relaxed),
            groups: counters.groups.load(Relaxed),
            group_commits_max: counters.group_commits_max.load(Relaxed),
            bytes: counters.bytes.load(Relaxed),
            fsyncs: counters.fsyncs.load(Relaxed),
        }
    }

    /// The last thing that went wrong beside the commit path (a file could not be prepared,
    /// extended, finished or purged), for a log line. No commit is endangered by it.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.shared.keeper.trouble()
    }

    /// Writes what is placed, marks the file as closed (STOP) and ends the log's threads.
    /// Dropping does the same, without telling errors.
    pub fn close(mut self) -> Result<(), LogError> {
        self.shut();
        self.check()
    }

    fn shut(&mut self) {
        let Some((writer, keeper)) = self.threads.take() else {
            return;
        };
        // The keeper first: it may be writing zeros where the writer will cut.
        self.shared.keeper.stop();
        let kept = keeper.join().is_ok();
        self.shared.ask(|section| section.closing = true);
        let written = writer.join().is_ok();
        if !(kept && written) {
            let error = LogError("a thread of the binary log has panicked".into());
            self.shared.fail(&error);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.shut();
    }
}

/// The name of the file that `text` names, if it is one of the log's.
#[must_use]
pub fn canonical_name(text: &str) -> Option<String> {
    file_number(text).map(file_name)
}
