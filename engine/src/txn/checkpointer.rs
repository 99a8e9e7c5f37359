//! What others ask of the checkpoint thread, and what it remembers.

use super::{TxnError, dictionary::Dictionary, prepared_list::Records};
use crate::{
    Seq,
    env::Notice,
    log::{Kept, Position},
    store::Delta,
    types::TreeId,
};
use parking_lot::{Condvar, Mutex};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// How often the thread looks whether a quiet delta should be merged.
const TICK: Duration = Duration::from_millis(500);

#[derive(Default)]
struct State {
    requested: bool,
    stop: bool,
    /// Why the last checkpoint failed, if it did.
    failure: Option<TxnError>,
}

/// What others ask of the checkpoint thread, and what it tells.
#[derive(Default)]
pub(super) struct Checkpointer {
    state: Mutex<State>,
    changed: Condvar,
    /// Serialises checkpoints and direct writes to the Base.
    pub exclusive: Mutex<Retired>,
    asked: AtomicBool,
    /// Trees that a DDL dropped at a Seq; they leave the Base with that Seq.
    doomed: Mutex<Vec<(Seq, TreeId)>>,
    /// Trees of rows that something is built from, and where checkpoints note which of their keys
    /// change: see `build`. Changed by who holds `exclusive`.
    pub noted: Mutex<Vec<(TreeId, TreeId)>>,
    /// GTIDs were added that only a checkpoint keeps.
    pub gtids_added: AtomicBool,
    pub checkpoints: AtomicU64,
    pub keys_done: AtomicU64,
    pub keys_total: AtomicU64,
    pub delays: AtomicU64,
    pub delay_us: AtomicU64,
}

/// Deltas that snapshots may still use. The thread drops them when it is the last to hold them,
/// because freeing a large one takes long.
#[derive(Default)]
pub(super) struct Retired {
    pub deltas: Vec<Arc<Delta>>,
    /// The version of the dictionary that the Base has.
    pub dictionary: Option<u64>,
    /// The same for the list of prepared transactions.
    pub prepared: Option<u64>,
    /// What was sealed and could not be merged yet.
    pub sealed: Option<Sealed>,
}

impl Checkpointer {
    /// Wants a checkpoint soon.
    pub fn request(&self) {
        if !self.asked.swap(true, Ordering::AcqRel) {
            self.state.lock().requested = true;
            self.changed.notify_all();
        }
    }
    /// Ends the thread.
    pub fn stop(&self) {
        self.state.lock().stop = true;
        self.changed.notify_all();
    }
    /// Waits while a checkpoint is `running`: asked under the lock that its end takes.
    pub fn wait_for_merge(&self, running: impl Fn() -> bool) {
        let mut state = self.state.lock();
        while running() && !state.stop && state.failure.is_none() {
            self.changed.wait(&mut state);
        }
    }
    /// Why the last checkpoint failed, if it did.
    pub fn failure(&self) -> Option<TxnError> {
        self.state.lock().failure.clone()
    }
    /// Counts a delayed commit.
    pub fn count_delay(&self, us: u64) {
        self.delays.fetch_add(1, Ordering::Relaxed);
        self.delay_us.fetch_add(us, Ordering::Relaxed);
    }
    /// Leaves a tree in the Base that cannot be dropped. True: it was to be.
    pub fn leave(&self, tree: TreeId) -> bool {
        let mut doomed = self.doomed.lock();
        let before = doomed.len();
        doomed.retain(|(_, other)| *other != tree);
        doomed.len() < before
    }
    /// The Base loses these trees when it has the commit `seq`.
    pub fn doom(&self, seq: Seq, trees: Vec<TreeId>) {
        let doomed = trees.into_iter().map(|tree| (seq, tree));
        self.doomed.lock().extend(doomed);
    }
    /// The trees that the Base loses with the commit `seq`.
    pub fn doomed(&self, seq: Seq) -> Vec<TreeId> {
        let doomed = self.doomed.lock();
        let due = doomed.iter().filter(|(gone, _)| *gone <= seq);
        due.map(|(_, tree)| *tree).collect()
    }
    /// They are gone.
    pub fn forget_doomed(&self, seq: Seq) {
        self.doomed.lock().retain(|(gone, _)| *gone > seq);
    }
    /// Keeps what became of a checkpoint; what is new of it is returned, to be told.
    pub fn finished(&self, result: &Result<(), TxnError>) -> Option<(Notice, String)> {
        let mut state = self.state.lock();
        let before = std::mem::replace(&mut state.failure, result.clone().err());
        self.changed.notify_all();
        match (before, result) {
            (None, Ok(())) => None,
            (Some(_), Ok(())) => Some((Notice::CheckpointsGoOn, "checkpoints go on".to_owned())),
            (Some(before), Err(error)) if before == *error => None,
            (_, Err(error)) => {
                let text = format!(
                    "a checkpoint failed and is tried again every second; commits go on until the \
                     memory for them is used up: {error}"
                );
                Some((Notice::CheckpointFailed, text))
            }
        }
    }
    /// Sleeps until asked or a tick is over; false to stop.
    pub fn sleep(&self) -> bool {
        let mut state = self.state.lock();
        if !state.requested && !state.stop {
            self.changed.wait_for(&mut state, TICK);
        }
        !state.stop
    }
    /// Whether a checkpoint was asked for since the last look.
    pub fn take_request(&self) -> bool {
        let mut state = self.state.lock();
        self.asked.store(false, Ordering::Release);
        std::mem::take(&mut state.requested)
    }
}

/// When a checkpoint is due although the delta is not full: when nothing has happened for a
/// while; and when the log has grown long, as it does while a few hot rows are updated over and
/// over, since a recovery would have to read all of it.
#[derive(Default)]
pub(super) struct Pace {
    pub versions: i64,
    pub quiet_since_ms: u64,
    pub log_bytes: u64,
    /// When the last one ended.
    pub ended_ms: u64,
}

/// What was sealed.
pub(super) struct Sealed {
    pub delta: Arc<Delta>,
    pub seq: Seq,
    pub position: Position,
    /// The GTIDs up to `seq`.
    pub gtids: Kept,
    pub dictionary: Arc<Dictionary>,
    /// The prepared transactions and the list's version, if the Base has another one.
    pub prepared: Option<(u64, Records)>,
}
