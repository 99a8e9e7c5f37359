//! The open log: what administrators ask of it.

use super::{
    EventInfo, FileInfo, Log, LogError, LogStep, SemiSyncSettings, SemiSyncStatus, Status,
    file_name, files::file_number, group::Publish, read,
};
use crate::env::is_full;
use std::sync::atomic::Ordering::Relaxed;

impl Log {
    /// FLUSH BINARY LOGS: begins a new file.
    pub fn rotate(&self) -> Result<(), LogError> {
        let shared = &self.shared;
        let number = self.end().file;
        while self.end().file == number {
            self.check()?;
            self.wait_next()?;
            shared.ask(|section| section.rotate = true);
            self.step(LogStep::Write);
            let mut reached = shared.reached.lock();
            if reached.end.file == number {
                // Short, because the prepared file may have been used by another rotation.
                let moment = std::time::Duration::from_millis(100);
                shared.progress.wait_for(&mut reached, moment);
            }
        }
        Ok(())
    }

    /// Waits until there is a file to go on in.
    fn wait_next(&self) -> Result<(), LogError> {
        let shared = &self.shared;
        let own = shared.inline.then_some(&shared.files);
        shared.keeper.wait_next(own).map_err(LogError::Failed)
    }

    /// PURGE BINARY LOGS TO: removes the files before the named one, as far as recovery can do
    /// without them. Returns how many were removed; `None` if there is no such file.
    pub fn purge_to(&self, name: &str) -> Result<Option<usize>, LogError> {
        let files = self.files();
        let Some(to) = files.iter().find(|file| file.name() == name) else {
            return Ok(None);
        };
        self.purge(|file, _| file.number >= to.number).map(Some)
    }

    /// PURGE BINARY LOGS BEFORE: removes files whose last event is older (seconds since 1970).
    pub fn purge_before(&self, seconds: u64) -> Result<usize, LogError> {
        self.purge(|_, closed| closed >= seconds)
    }

    fn purge(&self, keep: impl Fn(&FileInfo, u64) -> bool) -> Result<usize, LogError> {
        let purged = (self.shared.files).purge(self.shared.keeper.directory(), keep);
        purged.map_err(|error| {
            let text = format!("cannot purge binary logs: {error}");
            if is_full(&error) {
                LogError::Full(text)
            } else {
                LogError::Failed(text)
            }
        })
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

    /// Why nothing can be committed: the log has failed, for good, or the disk is full.
    #[must_use]
    pub fn stopped(&self) -> Option<LogError> {
        let section = self.shared.section.lock();
        let full = || section.full.clone().map(LogError::Full);
        section.failed.clone().or_else(full)
    }

    /// Changes sync_binlog.
    pub fn set_sync_binlog(&self, value: u64) {
        self.shared.sync_binlog.store(value, Relaxed);
    }

    /// Changes binlog_group_commit_sync_delay: for so many microseconds a group is kept open for
    /// others to join.
    pub fn set_sync_delay(&self, micros: u64) {
        self.shared.sync_delay.store(micros, Relaxed);
    }

    /// Changes binlog_group_commit_sync_no_delay_count: a group that has so many members is not
    /// kept open any longer; 0 for no such number.
    pub fn set_no_delay_count(&self, commits: u64) {
        self.shared.no_delay_count.store(commits, Relaxed);
    }

    /// Changes how commits wait for replicas.
    pub fn set_semi_sync(&self, change: impl FnOnce(&mut SemiSyncSettings)) {
        self.shared.semi_sync.set(change);
        self.shared.publish();
    }

    /// How commits wait for replicas.
    #[must_use]
    pub fn semi_sync(&self) -> SemiSyncStatus {
        let shared = &self.shared;
        let waiting = shared.in_flight.written_members();
        let status = shared.semi_sync.status();
        SemiSyncStatus {
            waiting: if status.on { waiting } else { 0 },
            ..status
        }
    }

    /// Nothing waits for replicas any more: the server is about to end.
    pub fn end_semi_sync(&self) {
        self.shared.semi_sync.close();
        self.shared.publish();
    }

    /// Changes max_binlog_size.
    pub fn set_max_binlog_size(&self, bytes: u64) {
        self.shared.max_size.store(bytes, Relaxed);
    }

    /// Changes binlog_expire_logs_seconds.
    pub fn set_expire_logs_seconds(&self, seconds: u64) {
        self.shared.keeper.expire_seconds.store(seconds, Relaxed);
    }

    /// Changes binlog_expire_logs_auto_purge: whether expired files are removed.
    pub fn set_auto_purge(&self, on: bool) {
        self.shared.keeper.auto_purge.store(on, Relaxed);
    }

    /// The counters.
    #[must_use]
    pub fn status(&self) -> Status {
        let counters = &self.shared.counters;
        let (fsync_us, group_sizes) = (counters.fsync_us.now(), counters.group_sizes.now());
        Status {
            commits: group_sizes.sum,
            groups: group_sizes.count(),
            group_commits_max: group_sizes.max,
            bytes: counters.bytes.load(Relaxed),
            fsyncs: fsync_us.count(),
            fsync_us,
            group_sizes,
        }
    }

    /// The last thing that went wrong beside the commit path (a file could not be prepared,
    /// extended, finished or purged), for a log line. No commit is endangered by it.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.shared.keeper.trouble()
    }
}

/// The name of the file that `text` names, if it is one of the log's.
#[must_use]
pub fn canonical_name(text: &str) -> Option<String> {
    file_number(text).map(file_name)
}
