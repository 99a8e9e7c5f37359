//! Where the slow log and the general log are written: files, and the rows of mysql.slow_log and
//! mysql.general_log, which are files of JSON lines in the data directory.
//!
//! Statements do not wait for these files: a thread of their own writes them, in order. If the disk
//! is slower than the statements, lines are left out, and how many is written in their place.

use super::{
    ended::Ended,
    query_logs::{Who, as_row, general_line, row_of_general, slow_entry},
};
use crate::{error::SqlError, error_log};
use cohort_engine::{
    env::{Env, File, Mode, Notice},
    types::Value,
};
use parking_lot::{Condvar, Mutex};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

/// What waits to be written takes at most so much memory, in bytes.
const WAITING_MAX: usize = 8 << 20;
/// The rows of a table stand in two files of at most so many bytes each: the older one goes when
/// the newer one is full.
const TABLE_BYTES: u64 = 32 << 20;

/// Which log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// Statements that took long.
    Slow,
    /// All that clients say.
    General,
    /// See [`super::Audit`].
    Audit,
}

impl LogKind {
    /// All of them.
    pub const ALL: [LogKind; 3] = [LogKind::Slow, LogKind::General, LogKind::Audit];

    /// The log whose file a variable names.
    #[must_use]
    pub fn of_file(variable: &str) -> Option<LogKind> {
        match variable {
            "slow_query_log_file" => Some(LogKind::Slow),
            "general_log_file" => Some(LogKind::General),
            "cohort_audit_log_file" => Some(LogKind::Audit),
            _ => None,
        }
    }
    /// The variable that turns it on.
    #[must_use]
    pub fn switch(self) -> &'static str {
        match self {
            LogKind::Slow => "slow_query_log",
            LogKind::General => "general_log",
            LogKind::Audit => "cohort_audit_log",
        }
    }
    /// The file of its table's rows.
    fn rows(self) -> &'static str {
        match self {
            LogKind::Slow => "slow_log.jsonl",
            LogKind::General => "general_log.jsonl",
            LogKind::Audit => "audit_log.jsonl",
        }
    }
}

/// Where lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    File,
    Table,
}

/// What the thread is to do.
enum Job {
    /// Write this.
    Write(LogKind, Place, Vec<u8>),
    /// FLUSH LOGS, and a file of another name: open the files anew.
    Reopen(Vec<LogKind>),
    /// TRUNCATE TABLE of the rows.
    Forget(LogKind),
}

#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    bytes: usize,
    /// How many lines of each log found no room since the last ones that did.
    lost: [u64; LogKind::ALL.len()],
    /// The thread is at work on what it has taken.
    busy: bool,
    has_thread: bool,
    over: bool,
}

/// What the thread and those who fill its queue share.
struct Shared {
    env: Env,
    directory: PathBuf,
    queue: Mutex<Queue>,
    changed: Condvar,
    paths: Mutex<[PathBuf; LogKind::ALL.len()]>,
    /// What a file begins with.
    heading: Mutex<String>,
    bytes_max: AtomicU64,
    /// Whoever writes to the audit log's file is alone with it.
    auditing: Mutex<()>,
}

/// The logs of statements.
pub struct QueryLogs {
    shared: Arc<Shared>,
    slow: AtomicBool,
    general: AtomicBool,
    extra: AtomicBool,
    to_file: AtomicBool,
    to_table: AtomicBool,
    unindexed: AtomicBool,
    admin: AtomicBool,
    server_id: AtomicU64,
    /// log_throttle_queries_not_using_indexes, the minute it counts in, and how many there were.
    throttle: AtomicU64,
    minute: Mutex<(u64, u64)>,
}

impl QueryLogs {
    /// Logs that are off; their files are in the data directory unless they have other paths.
    #[must_use]
    pub fn new(env: Env, directory: &Path) -> QueryLogs {
        QueryLogs {
            shared: Arc::new(Shared {
                env,
                directory: directory.to_owned(),
                queue: Mutex::default(),
                changed: Condvar::new(),
                paths: Mutex::new(
                    ["slow.log", "general.log", "audit.log"].map(|name| directory.join(name)),
                ),
                heading: Mutex::default(),
                bytes_max: AtomicU64::new(0),
                auditing: Mutex::default(),
            }),
            slow: AtomicBool::new(false),
            general: AtomicBool::new(false),
            extra: AtomicBool::new(false),
            to_file: AtomicBool::new(true),
            to_table: AtomicBool::new(false),
            unindexed: AtomicBool::new(false),
            admin: AtomicBool::new(false),
            server_id: AtomicU64::new(0),
            throttle: AtomicU64::new(0),
            minute: Mutex::default(),
        }
    }
    /// What a file begins with, each time it is opened: which server writes it, and where it is.
    pub fn set_heading(&self, version: &str, port: u64, socket: &str) {
        *self.shared.heading.lock() = format!(
            "cohort, Version: {version} (Cohort). started with:\n\
             Tcp port: {port}  Unix socket: {socket}\n\
             Time                 Id Command    Argument\n"
        );
    }
    /// A variable of the logs was set; others are nobody's business here.
    pub fn set(&self, name: &str, value: &Value) {
        let number = match value {
            Value::UInt(n) => *n,
            Value::Int(n) => u64::try_from(*n).unwrap_or(0),
            _ => 0,
        };
        let text = match value {
            Value::Bytes(text) => String::from_utf8_lossy(text),
            _ => "".into(),
        };
        let flag = |flag: &AtomicBool| flag.store(number != 0, Ordering::Relaxed);
        match name {
            "slow_query_log" => flag(&self.slow),
            "general_log" => flag(&self.general),
            "log_slow_extra" => flag(&self.extra),
            "log_queries_not_using_indexes" => flag(&self.unindexed),
            "log_slow_admin_statements" => flag(&self.admin),
            "log_output" => {
                let has = |word| text.split(',').any(|one| one == word) && !text.contains("NONE");
                self.to_file.store(has("FILE"), Ordering::Relaxed);
                self.to_table.store(has("TABLE"), Ordering::Relaxed);
            }
            "cohort_log_file_size_max" => self.shared.bytes_max.store(number, Ordering::Relaxed),
            "log_throttle_queries_not_using_indexes" => {
                self.throttle.store(number, Ordering::Relaxed);
            }
            "server_id" => self.server_id.store(number, Ordering::Relaxed),
            _ => {}
        }
        if let Some(kind) = LogKind::of_file(name) {
            self.set_path(kind, &text);
        }
    }
    fn set_path(&self, kind: LogKind, path: &str) {
        let path = self.shared.directory.join(path);
        let mut paths = self.shared.paths.lock();
        paths[kind as usize] = path;
        drop(paths);
        self.ask_to_reopen(&[kind]);
    }
    fn ask_to_reopen(&self, kinds: &[LogKind]) {
        if self.shared.queue.lock().has_thread {
            self.push(Job::Reopen(kinds.to_vec()), 0);
        }
    }
    /// 1231 for what cannot be the file of a log: one that does not end in .log, or a link, could be
    /// any file that the server may write; that of another log is taken; and its directory must be
    /// there, but for a server that starts, which does without the log.
    pub fn check_path(&self, variable: &str, value: &Value, starts: bool) -> Result<(), SqlError> {
        let (Some(own), Value::Bytes(path)) = (LogKind::of_file(variable), value) else {
            return Ok(());
        };
        let path = &*String::from_utf8_lossy(path);
        let whole = self.shared.directory.join(path);
        let ends = whole.extension().is_some_and(|end| end == "log") && !path.contains('\0');
        let is_link = std::fs::symlink_metadata(&whole).is_ok_and(|about| about.is_symlink());
        let others = LogKind::ALL.into_iter().filter(|kind| *kind != own);
        let is_taken = others
            .map(|kind| self.path(kind))
            .chain(error_log::path())
            .any(|other| real(&other) == real(&whole));
        let can_wait = starts && own != LogKind::Audit;
        let is_right = ends && !is_link && !is_taken;
        match is_right && (can_wait || self.directory_of(&whole).is_ok()) {
            true => Ok(()),
            false => Err(SqlError::wrong_value_for_variable(variable, path)),
        }
    }
    /// Why the directory of a file cannot be looked into.
    fn directory_of(&self, file: &Path) -> io::Result<()> {
        let directory = file.parent().unwrap_or(Path::new("."));
        self.shared.env.list(directory).map(|_| ())
    }
    /// 29 for the slow log or the general log that is to be written where no directory is.
    pub fn check_switch(&self, variable: &str, value: &Value) -> Result<(), SqlError> {
        let mut logs = [LogKind::Slow, LogKind::General].into_iter();
        let Some(kind) = logs.find(|kind| kind.switch() == variable) else {
            return Ok(());
        };
        if matches!(value, Value::Int(0) | Value::UInt(0)) {
            return Ok(());
        }
        self.check_directory(kind)
    }
    /// The slow log and the general log, if they are on and their files have no directory; and the error.
    pub fn without_directory(&self) -> impl Iterator<Item = (LogKind, SqlError)> {
        let logs = [LogKind::Slow, LogKind::General].into_iter();
        let on = logs.filter(|kind| self.is_on(*kind));
        on.filter_map(|kind| Some((kind, self.check_directory(kind).err()?)))
    }
    fn check_directory(&self, kind: LogKind) -> Result<(), SqlError> {
        let path = self.path(kind);
        match self.directory_of(&path) {
            Err(error) if self.to_file.load(Ordering::Relaxed) => {
                let errno = error.raw_os_error().unwrap_or(0);
                let why = error.to_string();
                let why = why.split(" (os error").next().unwrap_or_default();
                Err(SqlError::log_file_not_found(path.display(), errno, why))
            }
            _ => Ok(()),
        }
    }
    /// Whether a log is written.
    #[inline]
    #[must_use]
    pub fn is_on(&self, kind: LogKind) -> bool {
        match kind {
            LogKind::Slow => self.slow.load(Ordering::Relaxed),
            LogKind::General => self.general.load(Ordering::Relaxed),
            // It knows itself.
            LogKind::Audit => false,
        }
    }
    /// log_queries_not_using_indexes.
    pub(super) fn wants_unindexed(&self) -> bool {
        self.unindexed.load(Ordering::Relaxed)
    }
    /// log_slow_admin_statements.
    pub(super) fn wants_admin(&self) -> bool {
        self.admin.load(Ordering::Relaxed)
    }
    /// A statement was slow, or found its rows without an index.
    /// `false`: log_throttle_queries_not_using_indexes has had enough of them.
    pub(super) fn slow(&self, who: &Who, ended: &Ended, throttled: bool, killed: bool) -> bool {
        if throttled && !self.is_within_throttle(ended.begun_us) {
            return false;
        }
        if self.to_file.load(Ordering::Relaxed) {
            let extra = self.extra.load(Ordering::Relaxed);
            let text = slow_entry(who, ended, extra, killed);
            self.write(LogKind::Slow, Place::File, text.into_bytes());
        }
        if self.to_table.load(Ordering::Relaxed) {
            let row = as_row(who, ended, self.server_id.load(Ordering::Relaxed));
            self.write(LogKind::Slow, Place::Table, row);
        }
        true
    }
    /// A client says something.
    pub fn general(&self, who: &Who, now_us: u64, command: &str, argument: &str) {
        if self.to_file.load(Ordering::Relaxed) {
            let line = general_line(who, now_us, command, argument);
            self.write(LogKind::General, Place::File, line.into_bytes());
        }
        if self.to_table.load(Ordering::Relaxed) {
            let server_id = self.server_id.load(Ordering::Relaxed);
            let row = row_of_general(who, now_us, server_id, command, argument);
            self.write(LogKind::General, Place::Table, row);
        }
    }
    /// A line of the audit log.
    pub(super) fn audit(&self, line: Vec<u8>) {
        self.write(LogKind::Audit, Place::File, line);
    }
    /// The file of a log.
    #[must_use]
    pub fn path(&self, kind: LogKind) -> PathBuf {
        self.shared.paths.lock()[kind as usize].clone()
    }
    /// Waits until nobody else writes to the file of the audit log.
    pub(super) fn alone_with_audit(&self) -> impl Sized {
        self.shared.auditing.lock()
    }
    /// The door to files.
    #[must_use]
    pub fn env(&self) -> &Env {
        &self.shared.env
    }
    /// Whether one more statement without an index may be written in this minute.
    fn is_within_throttle(&self, now_us: u64) -> bool {
        let most = self.throttle.load(Ordering::Relaxed);
        let mut minute = self.minute.lock();
        let now = now_us / 60_000_000;
        if minute.0 != now {
            *minute = (now, 0);
        }
        minute.1 += 1;
        most == 0 || minute.1 <= most
    }
    fn write(&self, kind: LogKind, place: Place, line: Vec<u8>) {
        let bytes = line.len();
        self.push(Job::Write(kind, place, line), bytes);
    }
    fn push(&self, job: Job, bytes: usize) {
        let mut queue = self.shared.queue.lock();
        // A line that is longer than that has its place when nothing else waits.
        if let Job::Write(kind, ..) = job
            && queue.bytes > 0
            && queue.bytes + bytes > WAITING_MAX
        {
            queue.lost[kind as usize] += 1;
            return;
        }
        queue.bytes += bytes;
        queue.jobs.push(job);
        if !queue.has_thread {
            let shared = Arc::clone(&self.shared);
            let named = thread::Builder::new().name("query-logs".to_owned());
            match named.spawn(move || Writer::new(shared).run()) {
                Ok(_) => queue.has_thread = true,
                // The next line tries again.
                Err(error) => {
                    let text = format!("query logs: {error}");
                    self.shared.env.notice(Notice::QueryLogFailed, &text);
                }
            }
        }
        self.shared.changed.notify_all();
    }
    /// FLUSH LOGS: opens the files anew, when what was said before is written.
    pub fn reopen(&self, kinds: &[LogKind]) {
        self.ask_to_reopen(kinds);
        self.settle();
    }
    /// Waits until all is written that was said before.
    pub fn settle(&self) {
        let mut queue = self.shared.queue.lock();
        while queue.has_thread && !queue.over && (queue.busy || !queue.jobs.is_empty()) {
            self.shared.changed.wait(&mut queue);
        }
    }
    /// TRUNCATE TABLE of mysql.slow_log or mysql.general_log.
    pub fn forget_rows(&self, kind: LogKind) {
        self.push(Job::Forget(kind), 0);
        self.settle();
    }
    /// The lines of a table's rows, the oldest first.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn rows(&self, kind: LogKind) -> io::Result<Vec<String>> {
        self.settle();
        let path = self.shared.directory.join(kind.rows());
        let mut lines = Vec::new();
        for path in [older(&path), path] {
            let text = match self.shared.env.read(&path, 2 * TABLE_BYTES as usize) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let text = String::from_utf8_lossy(&text);
            lines.extend(text.lines().map(str::to_owned));
        }
        Ok(lines)
    }
}

impl Drop for QueryLogs {
    fn drop(&mut self) {
        self.shared.queue.lock().over = true;
        self.shared.changed.notify_all();
    }
}

/// A path by which a file is known, whatever it was called.
fn real(path: &Path) -> PathBuf {
    let parent = path.parent().unwrap_or(Path::new("."));
    let directory = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
    directory.join(path.file_name().unwrap_or_default())
}

/// The file that was there before.
fn older(path: &Path) -> PathBuf {
    let mut older = path.as_os_str().to_owned();
    older.push(".1");
    PathBuf::from(older)
}

/// Where a log's file goes when it is full: behind the last one that went. None of them is replaced.
fn next_free(env: &Env, path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let files = env.list(path.parent().unwrap_or(Path::new(".")))?;
    let numbers = files.iter().filter_map(|file| {
        let number = file.strip_prefix(&*name)?.strip_prefix('.')?;
        // So that what a tool has compressed keeps its number.
        number.split('.').next()?.parse::<u64>().ok()
    });
    let number = numbers.max().unwrap_or(0).saturating_add(1);
    let mut to = path.as_os_str().to_owned();
    to.push(format!(".{number}"));
    Ok(PathBuf::from(to))
}

/// A file that is open.
struct Open {
    file: File,
    path: PathBuf,
}

/// The thread.
struct Writer {
    shared: Arc<Shared>,
    open: [[Option<Open>; 2]; LogKind::ALL.len()],
    /// The last error of a file was told.
    failing: [[bool; 2]; LogKind::ALL.len()],
}

impl Writer {
    fn new(shared: Arc<Shared>) -> Writer {
        Writer {
            shared,
            open: Default::default(),
            failing: Default::default(),
        }
    }

    fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        loop {
            let mut queue = shared.queue.lock();
            queue.busy = false;
            shared.changed.notify_all();
            while queue.jobs.is_empty() && !queue.over {
                shared.changed.wait(&mut queue);
            }
            if queue.jobs.is_empty() {
                return;
            }
            let jobs = std::mem::take(&mut queue.jobs);
            let lost = std::mem::take(&mut queue.lost);
            (queue.bytes, queue.busy) = (0, true);
            drop(queue);
            self.work(jobs, lost);
        }
    }

    /// Does what was asked; lines for one file that follow each other are one write.
    fn work(&mut self, jobs: Vec<Job>, lost: [u64; LogKind::ALL.len()]) {
        let mut gathered: Option<(LogKind, Place, Vec<u8>)> = None;
        for job in jobs {
            match job {
                Job::Write(kind, place, mut line) => match &mut gathered {
                    Some((of, at, lines)) if (*of, *at) == (kind, place) => lines.append(&mut line),
                    _ => {
                        self.write(gathered.take());
                        gathered = Some((kind, place, line));
                    }
                },
                Job::Reopen(kinds) => {
                    self.write(gathered.take());
                    for kind in kinds {
                        self.open[kind as usize][Place::File as usize] = None;
                    }
                }
                Job::Forget(kind) => {
                    self.write(gathered.take());
                    self.forget(kind);
                }
            }
        }
        self.write(gathered);
        for (kind, lost) in LogKind::ALL.into_iter().zip(lost) {
            let told = "entries left out: the disk was too slow";
            let line = match kind {
                _ if lost == 0 => continue,
                LogKind::Audit => format!("{{\"event\":\"lost\",\"lines\":{lost}}}\n"),
                LogKind::Slow | LogKind::General => format!("# {lost} {told}\n"),
            };
            self.write(Some((kind, Place::File, line.into_bytes())));
        }
    }

    fn write(&mut self, what: Option<(LogKind, Place, Vec<u8>)>) {
        let Some((kind, place, lines)) = what else {
            return;
        };
        let failing = self.failing[kind as usize][place as usize];
        match self.append(kind, place, &lines) {
            Ok(()) => self.failing[kind as usize][place as usize] = false,
            Err(error) => {
                self.open[kind as usize][place as usize] = None;
                self.failing[kind as usize][place as usize] = true;
                if !failing {
                    let path = self.path(kind, place);
                    let text = format!("{}: {error}; entries are left out", path.display());
                    self.shared.env.notice(Notice::QueryLogFailed, &text);
                }
            }
        }
    }

    fn path(&self, kind: LogKind, place: Place) -> PathBuf {
        match place {
            Place::File => self.shared.paths.lock()[kind as usize].clone(),
            Place::Table => self.shared.directory.join(kind.rows()),
        }
    }

    fn append(&mut self, kind: LogKind, place: Place, lines: &[u8]) -> io::Result<()> {
        let path = self.path(kind, place);
        let bytes_max = match place {
            // It is not for those who set this variable to take the audit log's lines away.
            Place::File if kind == LogKind::Audit => 0,
            Place::File => self.shared.bytes_max.load(Ordering::Relaxed),
            Place::Table => TABLE_BYTES,
        };
        let env = self.shared.env.clone();
        let shared = Arc::clone(&self.shared);
        let _alone = (kind == LogKind::Audit).then(|| shared.auditing.lock());
        let slot = &mut self.open[kind as usize][place as usize];
        if let Some(open) = slot {
            let full = bytes_max > 0 && open.file.len()? >= bytes_max;
            if full || open.path != path {
                if full {
                    let to = match place {
                        Place::File => next_free(&env, &open.path)?,
                        Place::Table => older(&open.path),
                    };
                    env.rename(&open.path, &to)?;
                }
                *slot = None;
            }
        }
        if slot.is_none() {
            let file = env.open(&path, Mode::Create)?;
            if place == Place::File && kind != LogKind::Audit {
                let heading = self.shared.heading.lock().clone();
                file.write_at(heading.as_bytes(), file.len()?)?;
            }
            *slot = Some(Open { file, path });
        }
        match slot {
            // Somebody may have made it shorter meanwhile.
            Some(open) => open.file.write_at(lines, open.file.len()?),
            None => Ok(()),
        }
    }

    fn forget(&mut self, kind: LogKind) {
        self.open[kind as usize][Place::Table as usize] = None;
        let path = self.path(kind, Place::Table);
        for path in [older(&path), path] {
            let removed = self.shared.env.remove(&path);
            if let Err(error) = removed
                && error.kind() != io::ErrorKind::NotFound
            {
                let text = format!("removing {}: {error}", path.display());
                self.shared.env.notice(Notice::QueryLogFailed, &text);
            }
        }
    }
}
