//! What others ask of the checkpoint thread, and what it remembers.

use super::{TxnError, dictionary::Dictionary, prepared_list::Records};
use crate::{
    Seq,
    env::Notice,
    log::{Kept, Position},
    store::{Delta, base::PAGE},
    types::TreeId,
};
use parking_lot::{Condvar, Mutex};
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

/// How often the thread looks whether a quiet delta should be merged.
pub(super) const TICK: Duration = Duration::from_millis(500);

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
    /// Trees whose rows could not be moved up to them.
    pub left: Mutex<HashSet<TreeId>>,
    /// The Base has the commits up to this one.
    pub applied: AtomicU64,
    pub checkpoints: AtomicU64,
    pub keys_done: AtomicU64,
    pub keys_total: AtomicU64,
    /// Bytes that all checkpoints read from the disk.
    pub read_bytes: AtomicU64,
    /// A delta of more bytes begins a checkpoint: see `has_merged`.
    pub delta_limit: AtomicUsize,
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
    pub sealed: Option<Arc<Sealed>>,
}

impl Checkpointer {
    /// With deltas of so many bytes, for the beginning, on a Base that has the commits up to `applied`.
    pub fn new(delta_bytes: usize, applied: Seq) -> Checkpointer {
        Checkpointer {
            applied: AtomicU64::new(applied),
            delta_limit: AtomicUsize::new(delta_bytes),
            ..Checkpointer::default()
        }
    }
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
    /// Notes what a checkpoint has merged, and has the next one begin accordingly. Writers read the
    /// pages of their rows before. If these have left memory again when the checkpoint comes to
    /// change them, it comes too late: with a table several times larger than memory, whose rows are
    /// changed here and there, a smaller delta makes it find them.
    pub fn has_merged(&self, merged: &Merged, memory: &Memory) {
        self.read_bytes
            .fetch_add(merged.read_bytes, Ordering::Relaxed);
        let limit = self.delta_limit.load(Ordering::Relaxed);
        let next = next_limit(limit, merged, memory);
        self.delta_limit.store(next, Ordering::Relaxed);
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
    /// Sleeps until asked or so long; false to stop.
    pub fn sleep(&self, at_most: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.requested && !state.stop {
            self.changed.wait_for(&mut state, at_most);
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

/// A checkpoint of fewer keys says nothing about the next one.
const FEW_KEYS: u64 = 1024;

/// What a checkpoint has merged.
pub(super) struct Merged {
    /// Keys, and their delta's bytes.
    pub keys: u64,
    pub delta_bytes: usize,
    /// Bytes it had to read from the disk.
    pub read_bytes: u64,
}

/// The memory there is, in bytes.
pub(super) struct Memory {
    /// For a delta.
    pub delta_bytes: usize,
    /// For the Base's pages.
    pub page_bytes: usize,
}

/// The size of the next delta. If one of four keys needed the disk: as large as makes the pages of its
/// keys a quarter of the memory for pages; but if that is less than an eighth of what it may be, there
/// is too little memory for this, and it is as large as it may be. More again when hardly any key
/// needs the disk.
fn next_limit(limit: usize, merged: &Merged, memory: &Memory) -> usize {
    let (pages, keys) = (merged.read_bytes / PAGE as u64, merged.keys);
    let largest = memory.delta_bytes;
    if keys < FEW_KEYS {
        limit
    } else if pages > keys / 4 {
        let keys_in_memory = (memory.page_bytes / 4 / PAGE) as u64;
        let fitting = merged.delta_bytes as u64 / keys * keys_in_memory;
        let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
        match fitting < largest / 8 {
            true => largest,
            false => fitting.min(largest),
        }
    } else if pages < keys / 16 {
        (limit + limit / 4).min(largest)
    } else {
        limit
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
    /// How long the thread may sleep now.
    pub rest: Duration,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_come_sooner_when_pages_have_left_memory() {
        let memory = |page_bytes: usize| Memory {
            delta_bytes: 64 << 20,
            page_bytes,
        };
        let merged = |keys: u64, pages: u64| Merged {
            keys,
            delta_bytes: usize::try_from(keys).unwrap() * 400,
            read_bytes: pages * PAGE as u64,
        };
        let (largest, roomy) = (64 << 20, memory(512 << 20));
        // Each key needs the disk: 32,768 keys are as many as have their pages in a quarter.
        let fitting = next_limit(largest, &merged(160_000, 150_000), &roomy);
        assert_eq!(fitting, 32_768 * 400);
        // Some do: it stays.
        assert_eq!(next_limit(fitting, &merged(32_000, 4_000), &roomy), fitting);
        // None does: up again.
        let more = next_limit(fitting, &merged(32_000, 9), &roomy);
        assert_eq!(more, fitting + fitting / 4);
        let again = next_limit(largest, &merged(32_000, 9), &roomy);
        assert_eq!(again, largest);
        // Hardly anything was merged.
        assert_eq!(next_limit(fitting, &merged(9, 9), &roomy), fitting);
        // Too little memory, and plenty.
        let next = next_limit(fitting, &merged(160_000, 150_000), &memory(64 << 20));
        assert_eq!(next, largest);
        let next = next_limit(largest, &merged(160_000, 150_000), &memory(8 << 30));
        assert_eq!(next, largest);
    }
}
