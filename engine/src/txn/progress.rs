//! How far the DDL statements are that build something.

use super::descriptor::Descriptor;
use parking_lot::Mutex;
use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
};

/// What a build does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It reads the rows.
    Rows,
    /// It merges what it has sorted in parts into the new trees.
    Merge,
    /// It follows what others have changed meanwhile.
    Log,
    /// It is in the end, and logged.
    End,
}

/// A build that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildProgress {
    /// The session's number.
    pub session: u64,
    /// Whether rows are copied, not only indexes made.
    pub copies: bool,
    /// What it does.
    pub stage: Stage,
    /// So many rows are done in this stage.
    pub completed: u64,
    /// Of so many.
    pub estimated: u64,
    /// When the stage began, in microseconds since 1970.
    pub since_micros: u64,
}

/// The same, as it changes.
pub(super) struct Progress {
    session: u64,
    copies: bool,
    stage: AtomicU8,
    completed: AtomicU64,
    estimated: AtomicU64,
    since_micros: AtomicU64,
}

impl Progress {
    /// Another stage begins now, with so many rows to be done.
    pub fn stage(&self, stage: Stage, estimated: u64, now_micros: u64) {
        self.completed.store(0, Ordering::Relaxed);
        self.estimated.store(estimated, Ordering::Relaxed);
        self.stage.store(stage as u8, Ordering::Relaxed);
        self.since_micros.store(now_micros, Ordering::Relaxed);
    }
    /// So many more are done.
    pub fn add(&self, rows: u64) {
        self.completed.fetch_add(rows, Ordering::Relaxed);
    }
    fn info(&self) -> BuildProgress {
        let stages = [Stage::Rows, Stage::Merge, Stage::Log, Stage::End];
        let is_it = |stage: &Stage| *stage as u8 == self.stage.load(Ordering::Relaxed);
        let estimated = self.estimated.load(Ordering::Relaxed);
        BuildProgress {
            session: self.session,
            copies: self.copies,
            stage: stages.into_iter().find(is_it).unwrap_or(Stage::Rows),
            completed: self.completed.load(Ordering::Relaxed).min(estimated),
            estimated,
            since_micros: self.since_micros.load(Ordering::Relaxed),
        }
    }
}

/// All builds that are under way.
#[derive(Default)]
pub(super) struct Builds(Mutex<Vec<Arc<Progress>>>);

impl Builds {
    /// One begins, until what is returned is dropped.
    pub fn begin(&self, who: &Descriptor, copies: bool, now_micros: u64) -> Running<'_> {
        let progress = Arc::new(Progress {
            session: who.session,
            copies,
            stage: AtomicU8::new(Stage::Rows as u8),
            completed: AtomicU64::new(0),
            estimated: AtomicU64::new(0),
            since_micros: AtomicU64::new(now_micros),
        });
        self.0.lock().push(Arc::clone(&progress));
        Running {
            builds: self,
            progress,
        }
    }
    /// What is under way now.
    pub fn list(&self) -> Vec<BuildProgress> {
        self.0.lock().iter().map(|one| one.info()).collect()
    }
}

/// A build that is listed.
pub(super) struct Running<'b> {
    builds: &'b Builds,
    progress: Arc<Progress>,
}

impl Deref for Running<'_> {
    type Target = Progress;
    fn deref(&self) -> &Progress {
        &self.progress
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut builds = self.builds.0.lock();
        builds.retain(|one| !Arc::ptr_eq(one, &self.progress));
    }
}
