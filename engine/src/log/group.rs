//! The group that is being filled, and how its members learn what became of it: by waiting, or by
//! being told (see `tell`).

use super::{
    Batch,
    batch::JustBefore,
    semi_sync::{SemiSync, Written},
    tell::{Tell, Told},
    times::GroupTimes,
};
use crate::Seq;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst},
    },
};

/// Batches from this size on are not copied into the group's buffer but written from their own.
const LARGE: usize = 64 << 10;
/// A buffer that grew beyond this is not kept for the next group.
const SPARE_MAX: usize = 4 << 20;

const PENDING: u32 = 0;
const VISIBLE: u32 = 1;
const FAILED: u32 = 2;
/// Pending, and somebody sleeps until it is not.
const AWAITED: u32 = 3;

/// The log, as its groups know it.
pub(super) trait Publish: Send + Sync {
    /// Makes visible what can be, and lets those know who wait for it.
    fn publish(&self);
}

/// What the members of a group share.
pub(super) struct Group {
    /// The log, to make the group visible when its last member is applied.
    log: Weak<dyn Publish>,
    /// The futex of the group.
    state: AtomicU32,
    /// Whom to tell when it is visible or failed. Closed (`None`) then.
    to_tell: Mutex<Option<Vec<Tell>>>,
    /// What members want done just before it becomes visible.
    just_before: Mutex<Vec<JustBefore>>,
    /// Members whose changes are not yet where readers find them.
    unapplied: AtomicU32,
    /// Whether all members are placed, written and (if so configured) synced.
    written: AtomicBool,
    /// Where it is, then.
    place: OnceLock<Written>,
    /// The last member's number; known when the group is taken.
    last: AtomicU64,
}

impl Group {
    fn new(log: Weak<dyn Publish>) -> Arc<Group> {
        Arc::new(Group {
            log,
            state: AtomicU32::new(PENDING),
            to_tell: Mutex::new(Some(Vec::new())),
            just_before: Mutex::default(),
            unapplied: AtomicU32::new(0),
            written: AtomicBool::new(false),
            place: OnceLock::new(),
            last: AtomicU64::new(0),
        })
    }

    /// One more member is applied: perhaps that was all the group waited for.
    pub(super) fn applied(&self) {
        // SeqCst here and in `written`: of two that come last at once, one sees the other.
        if self.unapplied.fetch_sub(1, SeqCst) == 1
            && self.written.load(SeqCst)
            && let Some(log) = self.log.upgrade()
        {
            log.publish();
        }
    }

    pub(super) fn written(&self, place: Written) {
        // It is written once.
        let _ = self.place.set(place);
        self.written.store(true, SeqCst);
    }

    /// Whether all members are written, and durable if each group is to be; `None`: it failed.
    pub(super) fn is_written(&self) -> Option<bool> {
        match self.state.load(SeqCst) {
            FAILED => None,
            _ => Some(self.written.load(SeqCst)),
        }
    }

    /// When it was taken, written and durable; zeros before.
    pub(super) fn times(&self) -> GroupTimes {
        let place = self.place.get();
        place.map_or_else(GroupTimes::default, |place| place.times)
    }

    /// Waits for the outcome: whether the group became visible.
    pub(super) fn wait(&self) -> bool {
        self.wait_while(|| true).unwrap_or(false)
    }

    /// The same as long as `goes_on`, which is asked again whenever the group is woken; else `None`.
    pub(super) fn wait_while(&self, goes_on: impl Fn() -> bool) -> Option<bool> {
        loop {
            match self.state.load(SeqCst) {
                PENDING => {
                    // Whichever state it finds, the next turn sees it.
                    let _ = self
                        .state
                        .compare_exchange(PENDING, AWAITED, SeqCst, SeqCst);
                }
                AWAITED if goes_on() => atomic_wait::wait(&self.state, AWAITED),
                AWAITED => return None,
                state => return Some(state == VISIBLE),
            }
        }
    }

    /// Has those who wait look again whether they should.
    pub(super) fn wake(&self) {
        atomic_wait::wake_all(&self.state);
    }

    /// Has `tell` called with the outcome: by whoever brings it about, or at once if it is known.
    pub(super) fn when_known(&self, tell: Tell) {
        let mut to_tell = self.to_tell.lock();
        if let Some(to_tell) = &mut *to_tell {
            to_tell.push(tell);
            return;
        }
        drop(to_tell);
        tell(self.wait(), self.times());
    }

    fn finish(&self, state: u32, told: &mut Vec<Told>) {
        if self.state.swap(state, SeqCst) == AWAITED {
            atomic_wait::wake_all(&self.state);
        }
        let visible = state == VISIBLE;
        let tells = self.to_tell.lock().take().filter(|tells| !tells.is_empty());
        let times = self.times();
        told.extend(tells.map(|tells| Told {
            tells,
            visible,
            times,
        }));
    }
}

/// The group that takes members.
pub(super) struct Open {
    pub(super) group: Arc<Group>,
    /// The events of all small batches, in order.
    pub(super) bytes: Vec<u8>,
    /// Large batches, each with how many of `bytes` go before it.
    pub(super) large: Vec<(usize, Batch)>,
    pub(super) commits: u64,
}

impl Open {
    pub(super) fn new(log: Weak<dyn Publish>, spare: Vec<u8>) -> Open {
        Open {
            group: Group::new(log),
            bytes: spare,
            large: Vec::new(),
            commits: 0,
        }
    }

    /// Adds a member.
    pub(super) fn push(&mut self, mut batch: Batch) {
        self.commits += 1;
        if let Some(act) = batch.take_just_before() {
            self.group.just_before.lock().push(act);
        }
        self.group.unapplied.fetch_add(1, SeqCst);
        if batch.events().len() < LARGE {
            self.bytes.extend_from_slice(batch.events());
        } else {
            self.large.push((self.bytes.len(), batch));
        }
    }

    /// The buffer, for the next group.
    pub(super) fn into_spare(mut self) -> Vec<u8> {
        if self.bytes.capacity() > SPARE_MAX {
            return Vec::new();
        }
        self.bytes.clear();
        self.bytes
    }
}

/// The groups that are being written, or written and not yet visible, oldest first.
#[derive(Default)]
pub(super) struct InFlight(Mutex<VecDeque<Arc<Group>>>);

impl InFlight {
    /// A group was taken to be written; `last` is its last member.
    pub(super) fn push(&self, group: &Arc<Group>, last: Seq) {
        group.last.store(last, SeqCst);
        self.0.lock().push_back(Arc::clone(group));
    }

    /// Makes all groups visible that can be: written, applied and let through by replicas, and all
    /// before them too.
    /// `visible` is set before anybody is woken. Returns whom to tell.
    #[must_use]
    pub(super) fn publish(&self, visible: &AtomicU64, semi_sync: &SemiSync) -> Vec<Told> {
        let mut groups = self.0.lock();
        let mut told = Vec::new();
        while let Some(group) = groups.pop_front() {
            let is_ready = group.written.load(SeqCst) && group.unapplied.load(SeqCst) == 0;
            let passes = |place| semi_sync.passes(place);
            if !is_ready || !group.place.get().is_some_and(passes) {
                groups.push_front(group);
                break;
            }
            for act in std::mem::take(&mut *group.just_before.lock()) {
                act();
            }
            visible.store(group.last.load(SeqCst), SeqCst);
            group.finish(VISIBLE, &mut told);
        }
        told
    }

    /// Waits for whoever is making groups visible at this moment.
    pub(super) fn pass(&self) {
        drop(self.0.lock());
    }

    /// Has those who wait for any of them look again whether they should.
    pub(super) fn wake(&self) {
        self.0.lock().iter().for_each(|group| group.wake());
    }

    /// How many commits are written and not visible yet.
    pub(super) fn written_members(&self) -> u64 {
        let groups = self.0.lock();
        let places = groups.iter().filter_map(|group| group.place.get());
        places.map(|place| place.members).sum()
    }

    /// The group that makes `seq` visible, if it is here.
    pub(super) fn find(&self, seq: Seq) -> Option<Arc<Group>> {
        let groups = self.0.lock();
        let group = groups.iter().find(|g| g.last.load(SeqCst) >= seq);
        group.map(Arc::clone)
    }

    /// Fails what is not written, and the group that was open. Returns whom to tell.
    #[must_use]
    pub(super) fn fail(&self, open: &Group) -> Vec<Told> {
        let mut told = Vec::new();
        self.0.lock().retain(|group| {
            let written = group.written.load(SeqCst);
            if !written {
                group.finish(FAILED, &mut told);
            }
            written
        });
        open.finish(FAILED, &mut told);
        told
    }
}
