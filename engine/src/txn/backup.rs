//! Backups of an open database: the Base as of one Seq, and the log since.
//!
//! The Base is read from a snapshot, so that checkpoints and commits go on; and from the disk, so
//! that no page in memory hides a damaged one, nor leaves memory for one that nobody else needs.
//! Then come the files of the log from where a recovery on that Base begins, up to what is visible
//! when all else is copied: so a backup has the state at its end. Those files are not purged
//! meanwhile. Nobody changes definitions meanwhile (LOCK INSTANCE FOR BACKUP): an index that is being
//! built would be in the Base in part.
//!
//! Commits want the same disk and the same processors. So while there are any, the copying rests seven
//! times as long as it has worked (measured: without that it takes 60 % of the commits away on two
//! processors, which it shares with the clients and the one who takes it).
//!
//! Not in it: what is of the server and not of its data, as its UUID (`auto.cnf`) and certificates.

use super::{
    TxnError,
    engine::{Engine, Inner},
    meta,
    reshaping::copied_trees,
};
use crate::{
    Seq,
    log::{CopiedCommit, LogCopy, file_name},
    store::{
        base::BaseSnapshot,
        dump::{self, Parts},
    },
};
use std::time::Duration;

/// What the names of the Base's parts begin with; their number follows.
pub const PART_PREFIX: &str = "base.";

/// Who takes a backup's files, one after another.
pub trait BackupSink {
    /// A file begins; `from`: what is before this byte was taken earlier. `length`: how long it will
    /// be, if that is known.
    ///
    /// # Errors
    /// It cannot be taken: the backup ends.
    fn begin(&mut self, name: &str, from: u64, length: Option<u64>) -> Result<(), TxnError>;
    /// Some more bytes of it.
    ///
    /// # Errors
    /// They cannot be taken: the backup ends.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), TxnError>;
    /// It ends here.
    ///
    /// # Errors
    /// The backup ends.
    fn end(&mut self, end: FileEnd) -> Result<(), TxnError>;
}

/// The end of a file in a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEnd {
    /// How long it is, with what was taken earlier.
    pub length: u64,
    /// The CRC32 of what was taken now.
    pub crc32: u32,
    /// Nothing will come behind it; the last file of the log goes on.
    pub is_whole: bool,
}

/// What a backup is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// server_uuid, the source of the GTIDs.
    pub server_uuid: String,
    /// The server's version.
    pub server_version: String,
    /// The Base's last commit; `None`: there is no Base in it.
    pub applied: Option<Seq>,
    /// The last commit; of a backup of logs, `None` if there was nothing new.
    pub last: Option<CopiedCommit>,
}

/// The last file of the log that an earlier backup has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Have {
    /// Its number.
    pub file: u64,
    /// So many bytes of it.
    pub length: u64,
    /// Their CRC32.
    pub crc32: u32,
}

/// Why there is no backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackupError {
    /// The engine failed, or the sink.
    Txn(TxnError),
    /// What the earlier backup has does not go on here: why, and what to do.
    Refused(String),
}

impl<E: Into<TxnError>> From<E> for BackupError {
    fn from(error: E) -> BackupError {
        BackupError::Txn(error.into())
    }
}

impl Engine {
    /// Gives a backup's files to `sink`. The caller keeps others from changing definitions: see
    /// [`Engine::lock_definitions`].
    ///
    /// # Errors
    /// The Base or the log is damaged or cannot be read, or the sink says so.
    pub fn back_up(&self, sink: &mut dyn BackupSink) -> Result<Backup, TxnError> {
        let (disk, mut copy, applied) = self.hold()?;
        let mut files = Counted::new(&self.inner, sink);
        let trees = copied_trees(&disk, &meta::read(&disk)?.dictionary)?;
        dump::dump(&disk, &trees, &mut files)?;
        drop(disk);
        copy.reach(self.log())?;
        let mut last = None;
        for file in copy.files() {
            last = files.log_file(&copy, file.number, 0)?.0.or(last);
        }
        Ok(Backup {
            applied: Some(applied),
            last,
            ..self.nothing_yet()
        })
    }

    /// Gives the files of the log to `sink` that come behind what an earlier backup has.
    ///
    /// # Errors
    /// The log is damaged or cannot be read, what the earlier backup has does not go on here, or the
    /// sink says so.
    pub fn back_up_log(
        &self,
        have: Option<Have>,
        sink: &mut dyn BackupSink,
    ) -> Result<Backup, BackupError> {
        let first = have.map_or(0, |have| have.file);
        let copy = self.log().copy_from(first)?;
        let copy = copy.ok_or_else(|| BackupError::Refused(self.gone(first)))?;
        let mut last = None;
        let mut files = Counted::new(&self.inner, sink);
        for file in copy.files() {
            let mut from = 0;
            if let Some(have) = have.filter(|have| have.file == file.number) {
                if copy.sum(have.file, have.length)? != Some(have.crc32) {
                    let name = file_name(have.file);
                    return Err(BackupError::Refused(format!(
                        "{name} there is not what {name} of this server begins with: begin another \
                         directory"
                    )));
                }
                from = have.length;
            }
            let (copied, is_whole) = files.log_file(&copy, file.number, from)?;
            last = copied.or(last);
            if !is_whole {
                // Whoever goes on does it in the last file of those.
                break;
            }
        }
        Ok(Backup {
            last,
            ..self.nothing_yet()
        })
    }

    fn gone(&self, number: u64) -> String {
        let first = self.log().files().first().map_or(0, |file| file.number);
        let name = file_name(number);
        if first > number {
            return format!(
                "{name} is purged, and {} is the first one there is: take a whole backup, and begin \
                 another directory for the logs after it",
                file_name(first)
            );
        }
        format!("{name} is not a file of this server's log: begin another directory")
    }

    fn nothing_yet(&self) -> Backup {
        Backup {
            server_uuid: self.inner.server_uuid.clone(),
            server_version: self.inner.options.server_version.clone(),
            applied: None,
            last: None,
        }
    }

    /// The Base as of its last commit, read from the disk. The log from where recovery begins on it, and
    /// its Seq.
    fn hold(&self) -> Result<(BaseSnapshot, LogCopy, Seq), TxnError> {
        let inner = &self.inner;
        // No change of it is under way, nor does the log lose what it needs.
        let _no_checkpoint = inner.checkpointer.exclusive.lock();
        inner.mend_base()?;
        let disk = inner.base.snapshot_from_disk(&inner.base.snapshot()?)?;
        let header = meta::read(&disk)?.header;
        let copy = inner.log.copy_from(header.position.file)?;
        let copy = copy.ok_or_else(|| {
            let name = file_name(header.position.file);
            TxnError::Storage(format!("{name} is missing, which a recovery would need"))
        })?;
        Ok((disk, copy, header.applied))
    }
}

/// Lets commits go first.
struct Pace<'e> {
    engine: &'e Inner,
    /// Since when it works, in nanoseconds, how long it waited for the sink since, and what it has done.
    since: u64,
    waited: u64,
    bytes: usize,
    /// How many commits there were before.
    commits: u64,
}

impl<'e> Pace<'e> {
    /// It is looked after so many bytes whether there are commits.
    const PIECE: usize = 1 << 20;
    /// So many times as long as it works it rests.
    const REST: u64 = 7;

    fn new(engine: &'e Inner) -> Pace<'e> {
        Pace {
            engine,
            since: engine.env.monotonic_nanos(),
            waited: 0,
            bytes: 0,
            commits: engine.log.status().commits,
        }
    }
    /// So many bytes are given to the sink.
    fn give<R>(&mut self, bytes: usize, give: impl FnOnce() -> R) -> R {
        let env = &self.engine.env;
        let begun = env.monotonic_nanos();
        let given = give();
        self.waited += env.monotonic_nanos().saturating_sub(begun);
        self.done(bytes);
        given
    }
    fn done(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes < Self::PIECE {
            return;
        }
        let env = &self.engine.env;
        if self.engine.log.status().commits != self.commits {
            let since = env.monotonic_nanos().saturating_sub(self.since);
            let worked = since.saturating_sub(self.waited);
            env.sleep(Duration::from_nanos(worked.saturating_mul(Self::REST)));
        }
        *self = Pace::new(self.engine);
    }
}

/// Counts and sums what goes to the sink.
struct Counted<'s> {
    sink: &'s mut dyn BackupSink,
    pace: Pace<'s>,
    parts: u32,
    length: u64,
    sum: crc32fast::Hasher,
}

impl<'s> Counted<'s> {
    fn new(engine: &'s Inner, sink: &'s mut dyn BackupSink) -> Counted<'s> {
        Counted {
            sink,
            pace: Pace::new(engine),
            parts: 0,
            length: 0,
            sum: crc32fast::Hasher::new(),
        }
    }
    fn begin_file(&mut self, name: &str, from: u64, length: Option<u64>) -> Result<(), TxnError> {
        self.length = from;
        self.sum = crc32fast::Hasher::new();
        self.sink.begin(name, from, length)
    }
    fn take(&mut self, bytes: &[u8]) -> Result<(), TxnError> {
        self.length += bytes.len() as u64;
        self.sum.update(bytes);
        let Counted { sink, pace, .. } = self;
        pace.give(bytes.len(), || sink.bytes(bytes))
    }
    fn end_file(&mut self, is_whole: bool) -> Result<(), TxnError> {
        self.sink.end(FileEnd {
            length: self.length,
            crc32: self.sum.clone().finalize(),
            is_whole,
        })
    }
    /// Copies a file of the log; its last commit, if any was copied, and whether nothing more comes
    /// in it.
    fn log_file(
        &mut self,
        copy: &LogCopy,
        number: u64,
        from: u64,
    ) -> Result<(Option<CopiedCommit>, bool), TxnError> {
        let length = copy.length(number)?;
        self.begin_file(&file_name(number), from, Some(length))?;
        let copied = copy.copy(number, (from, length), &mut |bytes| self.take(bytes))?;
        self.end_file(copied.is_closed)?;
        Ok((copied.last, copied.is_closed))
    }
}

impl Parts for Counted<'_> {
    type Error = TxnError;
    fn begin(&mut self) -> Result<(), TxnError> {
        self.parts += 1;
        self.begin_file(&format!("{PART_PREFIX}{:06}", self.parts), 0, None)
    }
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), TxnError> {
        self.take(bytes)
    }
    fn end(&mut self) -> Result<(), TxnError> {
        self.end_file(true)
    }
}
