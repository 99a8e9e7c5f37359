//! Semi-synchronous replication, as MySQL's plugin has it with AFTER_SYNC: a group that is durable
//! here becomes visible when enough replicas have said that they have it, too. So what a client was
//! told is on several machines, and what was not told nobody has seen.
//!
//! A group waits once, for all its members, and so do all groups that were written meanwhile: a
//! replica that has the last of them has all. If nobody answers in time, groups become visible
//! without replicas, until one has caught up.

use super::{Position, times::GroupTimes};
use parking_lot::{Condvar, Mutex};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::{Duration, Instant},
};

/// What becomes of commits that nobody has acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SemiSyncSettings {
    /// rpl_semi_sync_source_enabled.
    pub enabled: bool,
    /// rpl_semi_sync_source_timeout: so long a group waits.
    pub timeout: Duration,
    /// rpl_semi_sync_source_wait_for_replica_count: so many replicas have to have it.
    pub replicas: usize,
    /// rpl_semi_sync_source_wait_no_replica: it waits even if there are not so many.
    pub wait_no_replica: bool,
}

impl Default for SemiSyncSettings {
    fn default() -> SemiSyncSettings {
        SemiSyncSettings {
            enabled: false,
            timeout: Duration::from_secs(10),
            replicas: 1,
            wait_no_replica: true,
        }
    }
}

/// The counters Rpl_semi_sync_source_….
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SemiSyncStatus {
    /// …_clients: replicas that answer.
    pub clients: u64,
    /// …_status: commits wait.
    pub on: bool,
    /// …_yes_tx: commits that replicas have acknowledged.
    pub acknowledged: u64,
    /// …_no_tx: commits that they have not, while it was enabled.
    pub unacknowledged: u64,
    /// …_no_times: how often waiting was given up.
    pub given_up: u64,
    /// …_net_waits: answers of replicas.
    pub answers: u64,
    /// …_tx_wait_time: how long commits have waited, in microseconds.
    pub waited_us: u64,
    /// …_wait_sessions: commits that wait.
    pub waiting: u64,
}

/// A group that is durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// Its end.
    pub(super) end: Position,
    /// How many commits it has.
    pub(super) members: u64,
    /// Since when.
    pub(super) since: Instant,
    /// When it was taken, written and durable.
    pub(super) times: GroupTimes,
}

/// The replicas that answer, and who waits for them.
pub(super) struct SemiSync {
    /// Whether anybody has to look at `state`.
    enabled: AtomicBool,
    state: Mutex<State>,
    /// A group begins to wait, or how long it waits has changed.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    settings: SemiSyncSettings,
    status: SemiSyncStatus,
    /// How far each replica is that answers.
    replicas: BTreeMap<u64, Position>,
    /// The next of them.
    next: u64,
    /// Enough of them have everything up to here.
    reached: Position,
    /// Since when the oldest group waits.
    waiting_since: Option<Instant>,
    /// Somebody wakes when a group's time is over.
    is_watched: bool,
    closing: bool,
}

impl State {
    fn give_up(&mut self) {
        if std::mem::take(&mut self.status.on) {
            self.status.given_up += 1;
        }
    }

    fn lacks_replicas(&self) -> bool {
        !self.settings.wait_no_replica && self.replicas.len() < self.settings.replicas
    }

    /// How far enough replicas are.
    fn reached(&self) -> Option<Position> {
        let mut positions: Vec<Position> = self.replicas.values().copied().collect();
        positions.sort_unstable();
        let enough = positions.len().checked_sub(self.settings.replicas)?;
        positions.get(enough).copied()
    }
}

impl SemiSync {
    pub(super) fn new() -> SemiSync {
        SemiSync {
            enabled: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Whether a group that is durable and applied may become visible.
    pub(super) fn passes(&self, group: &Written) -> bool {
        if !self.enabled.load(SeqCst) {
            return true;
        }
        let mut state = self.state.lock();
        let is_acknowledged = state.reached >= group.end;
        if state.status.on && !is_acknowledged {
            state.waiting_since = Some(group.since);
            // It looks again when the time of an earlier group is over.
            if !state.is_watched {
                self.changed.notify_all();
            }
            return false;
        }
        state.waiting_since = None;
        let status = &mut state.status;
        match is_acknowledged {
            true => {
                let waited = u64::try_from(group.since.elapsed().as_micros()).unwrap_or(u64::MAX);
                status.acknowledged += group.members;
                status.waited_us += waited * group.members;
            }
            false => status.unacknowledged += group.members,
        }
        true
    }

    /// Gives up for groups that have waited for too long.
    pub(super) fn watch(&self, publish: impl Fn()) {
        let mut state = self.state.lock();
        while !state.closing {
            let Some(since) = state.waiting_since else {
                self.changed.wait(&mut state);
                continue;
            };
            let due = since.checked_add(state.settings.timeout);
            let due = due.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600));
            if Instant::now() < due {
                state.is_watched = true;
                self.changed.wait_until(&mut state, due);
                state.is_watched = false;
                continue;
            }
            state.waiting_since = None;
            state.give_up();
            drop(state);
            publish();
            state = self.state.lock();
        }
    }

    /// Changes the settings. What need not wait any more may be made visible.
    pub(super) fn set(&self, change: impl FnOnce(&mut SemiSyncSettings)) {
        let mut state = self.state.lock();
        let before = state.settings.enabled;
        change(&mut state.settings);
        if state.closing {
            state.settings.enabled = false;
        }
        let enabled = state.settings.enabled;
        if enabled != before {
            state.status.on = enabled;
        }
        if state.lacks_replicas() {
            state.give_up();
        }
        state.reached = state.reached().unwrap_or_default().max(state.reached);
        self.enabled.store(enabled, SeqCst);
        self.changed.notify_all();
    }

    /// Nothing waits any more.
    pub(super) fn close(&self) {
        self.state.lock().closing = true;
        self.set(|settings| settings.enabled = false);
    }

    /// The counters, but for who waits.
    pub(super) fn status(&self) -> SemiSyncStatus {
        let state = self.state.lock();
        SemiSyncStatus {
            clients: state.replicas.len() as u64,
            ..state.status
        }
    }

    /// A replica that answers is there: its number.
    pub(super) fn replica_comes(&self) -> u64 {
        let mut state = self.state.lock();
        state.next += 1;
        let number = state.next;
        state.replicas.insert(number, Position::default());
        number
    }

    /// It has gone. What need not wait any more may be made visible.
    pub(super) fn replica_goes(&self, number: u64) {
        let mut state = self.state.lock();
        state.replicas.remove(&number);
        if state.lacks_replicas() {
            state.give_up();
        }
    }

    /// It has everything up to here, and the log ends at `end`: whether more may be made visible.
    pub(super) fn replica_has(&self, number: u64, position: Position, end: Position) -> bool {
        let mut state = self.state.lock();
        state.status.answers += 1;
        if let Some(known) = state.replicas.get_mut(&number) {
            *known = position.max(*known);
        }
        let Some(reached) = state.reached().filter(|reached| *reached > state.reached) else {
            return false;
        };
        state.reached = reached;
        if state.settings.enabled && reached >= end && !state.lacks_replicas() {
            state.status.on = true;
        }
        true
    }
}
