//! What the users and the threads of an open log share.

use super::{
    LogError, Options, Position,
    executed::Executed,
    files::{Directory, Files},
    group::{InFlight, Open, Publish},
    keeper::Keeper,
    recent::Recent,
    semi_sync::SemiSync,
    tell,
};
use crate::{
    Seq,
    env::{Spread, Spreading},
};
use parking_lot::{Condvar, Mutex};
use std::sync::{
    Arc, Weak,
    atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Relaxed, SeqCst},
    },
};

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
    /// How long they took, in microseconds.
    pub fsync_us: Spreading,
    /// How many commits groups had.
    pub group_sizes: Spreading,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) bytes: AtomicU64,
    pub(super) fsync_us: Spread,
    pub(super) group_sizes: Spread,
}

/// The critical section of the commit path.
pub(super) struct Section {
    pub(super) open: Open,
    /// The last commit placed.
    pub(super) last: Seq,
    /// The GTIDs of those placed.
    pub(super) executed: Executed,
    /// A new file is wanted.
    pub(super) rotate: bool,
    /// Everything written is to be synced.
    pub(super) sync: bool,
    pub(super) closing: bool,
    /// Why the log thread waits for room on the disk, if it does.
    pub(super) full: Option<String>,
    pub(super) failed: Option<LogError>,
}

impl Section {
    /// Whether there is something to do for the log thread.
    pub(super) fn has_work(&self) -> bool {
        self.open.commits > 0 || self.rotate || self.sync
    }
}

/// Where the log is.
#[derive(Clone, Copy)]
pub(super) struct Reached {
    /// The start of the last durable group.
    pub(super) durable: Position,
    pub(super) end: Position,
}

/// Something that every snapshot reads: in a cache line of its own, so that commits do not take it
/// away from readers all the time.
#[repr(align(128))]
pub(super) struct Apart<T>(pub(super) T);

/// What the log's users and threads share.
pub(super) struct Shared {
    pub(super) section: Mutex<Section>,
    /// The log thread's futex: 1 while it sleeps. Written under `section`'s lock.
    pub(super) asleep: AtomicU32,
    pub(super) in_flight: InFlight,
    pub(super) visible: Apart<AtomicU64>,
    pub(super) durable: AtomicU64,
    pub(super) reached: Mutex<Reached>,
    /// The file changed, something was synced, the log failed or, if somebody follows it, a group
    /// was written.
    pub(super) progress: Condvar,
    /// How many wait for the next group.
    pub(super) waiting: AtomicU32,
    /// What followers share.
    pub(super) recent: Recent,
    pub(super) semi_sync: SemiSync,
    pub(super) files: Files,
    pub(super) keeper: Keeper,
    pub(super) counters: Counters,
    pub(super) sync_binlog: AtomicU64,
    /// binlog_group_commit_sync_delay, in microseconds.
    pub(super) sync_delay: AtomicU64,
    /// binlog_group_commit_sync_no_delay_count.
    pub(super) no_delay_count: AtomicU64,
    pub(super) max_size: AtomicU64,
    pub(super) ahead: u64,
    /// There are no threads: who waits does their work.
    pub(super) inline: bool,
    pub(super) server_version: String,
    pub(super) server_id: u32,
    pub(super) source: [u8; 16],
}

impl Shared {
    /// Of a log whose commits up to `last`, with these GTIDs, are durable, and that goes on at
    /// `start`.
    pub(super) fn new(
        directory: Directory,
        options: Options,
        files: Files,
        (last, executed): (Seq, Executed),
        start: Position,
    ) -> Arc<Shared> {
        // Small files, as tests have them, need few zeros.
        let ahead = options.preallocate.min(options.max_binlog_size / 4);
        let expire = options.expire_logs_seconds;
        Arc::new_cyclic(|shared| Shared {
            section: Mutex::new(Section {
                open: Open::new(Weak::<Shared>::clone(shared), Vec::new()),
                last,
                executed,
                rotate: false,
                sync: false,
                closing: false,
                full: None,
                failed: None,
            }),
            asleep: AtomicU32::new(0),
            in_flight: InFlight::default(),
            visible: Apart(AtomicU64::new(last)),
            durable: AtomicU64::new(last),
            reached: Mutex::new(Reached {
                durable: start,
                end: start,
            }),
            progress: Condvar::new(),
            waiting: AtomicU32::new(0),
            recent: Recent::default(),
            semi_sync: SemiSync::new(),
            files,
            keeper: Keeper::new(directory, start.file, options.server_id, ahead, expire),
            inline: options.inline,
            counters: Counters::default(),
            sync_binlog: AtomicU64::new(options.sync_binlog),
            sync_delay: AtomicU64::new(0),
            no_delay_count: AtomicU64::new(0),
            max_size: AtomicU64::new(options.max_binlog_size),
            ahead,
            server_version: options.server_version,
            server_id: options.server_id,
            source: options.server_uuid,
        })
    }

    /// Wakes the log thread if it sleeps; `section` must be locked.
    pub(super) fn rouse(&self, _section: &Section) -> bool {
        self.asleep.load(Relaxed) == 1 && {
            self.asleep.store(0, Relaxed);
            true
        }
    }

    pub(super) fn ask(&self, request: impl FnOnce(&mut Section)) {
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

    /// Wakes those that wait for a group to be written.
    pub(super) fn wake(&self) {
        if self.waiting.load(SeqCst) > 0 {
            let _reached = self.reached.lock();
            self.progress.notify_all();
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
        let told = self.in_flight.fail(&section.open.group);
        drop(section);
        tell::tell(told);
        let _reached = self.reached.lock();
        self.progress.notify_all();
    }

    pub(super) fn failure(&self) -> LogError {
        let closed = || LogError::Failed("the binary log is closed".into());
        self.section.lock().failed.clone().unwrap_or_else(closed)
    }
}

impl Publish for Shared {
    fn publish(&self) {
        let told = self.in_flight.publish(&self.visible.0, &self.semi_sync);
        tell::tell(told);
    }
}
