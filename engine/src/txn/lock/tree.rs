//! The locks of one tree: row locks with their queues, and range locks.

use super::{
    super::{
        LockMode,
        descriptor::Descriptor,
        waiter::{Waiter, Woken},
    },
    info::{LockInfo, LockKind},
    keepers::Keepers,
    row::{Name, Request, compatible},
    rows::{Place, Rows},
};
use crate::types::TreeId;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// The lock table of one tree.
pub(in super::super) struct TreeLocks {
    /// Its number.
    pub tree: TreeId,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rows: Rows,
    ranges: Vec<(Arc<Descriptor>, Ranges)>,
    inserts: Vec<BlockedInsert>,
    keepers: Keepers,
}

/// An insert that waits for others' range locks to go.
struct BlockedInsert {
    waiter: Arc<Waiter>,
    position: Name,
}

/// The range locks of one transaction.
#[derive(Default)]
struct Ranges {
    /// low → high (exclusive; `None`: everything above), not overlapping. Nothing comes into them.
    locked: BTreeMap<Name, Option<Name>>,
    /// The one that is to be locked when those are gone who hold row locks X in it. They may
    /// insert where they hold these; nobody else may.
    barred: Option<(Name, Option<Name>)>,
}

impl Ranges {
    fn covers(&self, position: &[u8]) -> bool {
        let bounds = (Bound::Unbounded, Bound::Included(position));
        let before = self.locked.range::<[u8], _>(bounds).next_back();
        before.is_some_and(|(_, high)| is_below(position, high.as_ref()))
    }
    /// Whether one may not insert there who has no row lock X there yet.
    fn stops(&self, position: &[u8]) -> bool {
        let barred = self
            .barred
            .as_ref()
            .is_some_and(|(low, high)| position >= &low[..] && is_below(position, high.as_ref()));
        barred || self.covers(position)
    }
    fn all(&self) -> impl Iterator<Item = (&Name, Option<&Name>)> {
        let locked = self.locked.iter();
        let barred = self.barred.iter().map(|(low, high)| (low, high));
        locked.chain(barred).map(|(low, high)| (low, high.as_ref()))
    }
    /// Returns by how many ranges there are more: those it touches become one with it.
    fn add(&mut self, low: &[u8], high: Option<&[u8]>) -> isize {
        let mut more = 1;
        let mut low: Name = low.into();
        let mut high: Option<Name> = high.map(Into::into);
        // Swallow all that touch it.
        loop {
            let touching = {
                let up_to = match &high {
                    Some(high) => Bound::Included(&high[..]),
                    None => Bound::Unbounded,
                };
                let before = self
                    .locked
                    .range::<[u8], _>((Bound::Unbounded, up_to))
                    .next_back();
                before.and_then(|(start, end)| {
                    let touches = end.as_ref().is_none_or(|end| *end >= low);
                    touches.then(|| start.clone())
                })
            };
            let Some(start) = touching else { break };
            more -= 1;
            if let Some(end) = self.locked.remove(&start) {
                high = match (high, end) {
                    (Some(high), Some(end)) => Some(high.max(end)),
                    _ => None,
                };
            }
            low = low.min(start);
        }
        self.locked.insert(low, high);
        more
    }
}

fn is_below(position: &[u8], high: Option<&Name>) -> bool {
    high.is_none_or(|high| position < &high[..])
}

/// What an attempt to lock came to.
pub(in super::super) enum Attempt {
    /// The transaction held it already.
    Held,
    /// The same, but another transaction has a range lock around the place of an insert. If
    /// something was there that the transaction has removed, the other one waits for that row, and
    /// what is there when the transaction ends is what it meets.
    HeldInRange,
    /// It is held now.
    Granted,
    /// It is queued; sleep on the waiter.
    Queued(Arc<Waiter>),
    /// Others hold it, and the caller does not want to wait.
    Refused,
}

impl State {
    /// The range locks of others.
    fn foreign_ranges(&self, who: &Arc<Descriptor>) -> impl Iterator<Item = &Ranges> {
        let foreign = self.ranges.iter();
        let foreign = foreign.filter(move |(owner, _)| !Arc::ptr_eq(owner, who));
        foreign.map(|(_, ranges)| ranges)
    }
    fn ranges_of(&mut self, who: &Arc<Descriptor>) -> &mut Ranges {
        let mut known = self.ranges.iter();
        let known = known.position(|(owner, _)| Arc::ptr_eq(owner, who));
        let place = known.unwrap_or_else(|| {
            self.ranges.push((Arc::clone(who), Ranges::default()));
            self.ranges.len() - 1
        });
        &mut self.ranges[place].1
    }
    fn lock_row(
        &mut self,
        who: &Arc<Descriptor>,
        name: &[u8],
        mode: LockMode,
        wait: bool,
    ) -> Attempt {
        let row = match self.rows.take(who, name, mode) {
            Place::Taken => return Attempt::Granted,
            Place::Held => return Attempt::Held,
            Place::Full(row) => row,
        };
        let held = row.held_by(who);
        if held == Some(LockMode::Exclusive) || held == Some(mode) {
            return Attempt::Held;
        }
        let upgrade = held.is_some();
        if (upgrade || row.queue.is_empty() || row.may_barge()) && row.admits(who, mode) {
            row.hold(who, mode);
            return if upgrade {
                Attempt::Held
            } else {
                Attempt::Granted
            };
        }
        if !wait {
            return Attempt::Refused;
        }
        let waiter = Waiter::new(who);
        let request = Request {
            waiter: Arc::clone(&waiter),
            mode,
            upgrade,
        };
        if upgrade {
            // It could never get it behind others who wait for it to go.
            let place = row.queue.iter().take_while(|other| other.upgrade).count();
            row.queue.insert(place, request);
        } else {
            row.queue.push_back(request);
        }
        Attempt::Queued(waiter)
    }
    fn release_row(
        &mut self,
        who: &Arc<Descriptor>,
        name: &[u8],
        woken: &mut SmallVec<[Arc<Waiter>; 4]>,
    ) {
        if self.rows.release(who, name) {
            return;
        }
        if let Some(row) = self.rows.shared_mut(name) {
            row.holders.retain(|(holder, _)| !Arc::ptr_eq(holder, who));
            row.pass_on(woken);
            if row.is_free() {
                self.rows.remove(name);
            }
        }
    }
}

fn wake(woken: SmallVec<[Arc<Waiter>; 4]>) {
    for waiter in woken {
        waiter.wake();
    }
}

impl TreeLocks {
    pub fn new(tree: TreeId) -> TreeLocks {
        TreeLocks {
            tree,
            state: Mutex::default(),
        }
    }
    /// Locks the row `name`, or queues for it if `wait`.
    pub fn lock(&self, who: &Arc<Descriptor>, name: &[u8], mode: LockMode, wait: bool) -> Attempt {
        self.state.lock().lock_row(who, name, mode, wait)
    }
    /// Locks `name` exclusively for inserting an entry at `position`, which also must not lie in
    /// another transaction's range lock. `owned`: holding the name says nothing about ranges, for
    /// example because a wait for it has just ended in this call. Queues only if `wait`.
    pub fn lock_insert(
        &self,
        who: &Arc<Descriptor>,
        name: &[u8],
        position: &[u8],
        owned: bool,
        wait: bool,
    ) -> Attempt {
        let mut state = self.state.lock();
        if state.foreign_ranges(who).next().is_none() {
            // Most inserts: the row's lock is all there is to look at.
            return state.lock_row(who, name, LockMode::Exclusive, wait);
        }
        let held = state.rows.held_by(who, name);
        let mut ranges = state.foreign_ranges(who);
        if held == Some(LockMode::Exclusive) && !owned {
            return match ranges.any(|ranges| ranges.covers(position)) {
                true => Attempt::HeldInRange,
                false => Attempt::Held,
            };
        }
        // Entries of rows that were there before may come where a range is to be locked.
        let keeps = state.keepers.has(who);
        let is_stopped = ranges.any(|ranges| match keeps {
            true => ranges.covers(position),
            false => ranges.stops(position),
        });
        drop(ranges);
        if is_stopped {
            if !wait {
                return Attempt::Refused;
            }
            let waiter = Waiter::new(who);
            state.inserts.push(BlockedInsert {
                waiter: Arc::clone(&waiter),
                position: position.into(),
            });
            return Attempt::Queued(waiter);
        }
        state.lock_row(who, name, LockMode::Exclusive, wait)
    }
    /// Notes that a transaction keeps entries for later; false: others have range locks, or want such
    /// entries, and it is to keep none.
    pub fn keep_entries(&self, who: &Arc<Descriptor>) -> bool {
        let mut state = self.state.lock();
        let has_ranges = state.foreign_ranges(who).next().is_some();
        !has_ranges && state.keepers.add(who)
    }
    /// Whether somebody wants entries that are yet to come.
    pub fn awaits_entries(&self) -> bool {
        self.state.lock().keepers.are_awaited()
    }
    /// The entries that a transaction kept are there, or will not come.
    pub fn release_entries(&self, who: &Arc<Descriptor>) {
        self.state.lock().keepers.remove(who);
    }
    /// Says that `who` wants the entries that others keep; what it is to sleep on, and until when, if it
    /// is to wait for them.
    pub fn await_entries(
        &self,
        who: &Arc<Descriptor>,
        patience: Duration,
    ) -> Option<(Arc<Waiter>, Instant)> {
        self.state.lock().keepers.await_entries(who, patience)
    }
    /// The wait for entries is over.
    pub fn forget_awaiting(&self, waiter: &Arc<Waiter>) {
        self.state.lock().keepers.forget(waiter);
    }
    /// The others who keep entries.
    pub fn keepers(&self, who: &Arc<Descriptor>) -> Vec<Arc<Descriptor>> {
        self.state.lock().keepers.others(who).cloned().collect()
    }
    /// Adds a range lock, unless another transaction holds a row lock X in it (an insert that is
    /// not committed, above all): then returns that lock's name, to be waited for. Else returns by
    /// how many range locks there are more.
    pub fn lock_range(
        &self,
        who: &Arc<Descriptor>,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> Result<isize, Name> {
        let mut state = self.state.lock();
        if let Some(name) = state.rows.foreign(who, low, high).next() {
            return Err(name);
        }
        let ranges = state.ranges_of(who);
        ranges.barred = None;
        Ok(ranges.add(low, high))
    }
    /// Whether others hold row locks X in a range.
    pub fn has_foreign(&self, who: &Arc<Descriptor>, low: &[u8], high: Option<&[u8]>) -> bool {
        let state = self.state.lock();
        state.rows.foreign(who, low, high).next().is_some()
    }
    /// The names of the row locks X that others hold in a range.
    pub fn foreign(&self, who: &Arc<Descriptor>, low: &[u8], high: Option<&[u8]>) -> Vec<Name> {
        let state = self.state.lock();
        state.rows.foreign(who, low, high).collect()
    }
    /// Adds a range lock whatever is pending in it. Returns by how many range locks there are
    /// more.
    pub fn seize_range(&self, who: &Arc<Descriptor>, low: &[u8], high: Option<&[u8]>) -> isize {
        self.state.lock().ranges_of(who).add(low, high)
    }
    /// Bars a range that is to be locked next: no new inserts begin there.
    pub fn bar_range(&self, who: &Arc<Descriptor>, low: &[u8], high: Option<&[u8]>) {
        let barred = (low.into(), high.map(Into::into));
        self.state.lock().ranges_of(who).barred = Some(barred);
    }
    /// Makes a row lock that `who` holds shared.
    pub fn downgrade(&self, who: &Arc<Descriptor>, name: &[u8]) {
        let mut woken = SmallVec::new();
        let mut state = self.state.lock();
        if !state.rows.downgrade(who, name)
            && let Some(row) = state.rows.shared_mut(name)
        {
            row.hold(who, LockMode::Shared);
            row.hand_over(&mut woken);
        }
        drop(state);
        wake(woken);
    }
    /// Releases one row lock.
    pub fn release(&self, who: &Arc<Descriptor>, name: &[u8]) {
        self.release_all(who, std::iter::once(name), false);
    }
    /// Releases row locks and, if `ranges`, the transaction's range locks.
    pub fn release_all<'a>(
        &self,
        who: &Arc<Descriptor>,
        names: impl Iterator<Item = &'a [u8]>,
        ranges: bool,
    ) {
        let mut woken = SmallVec::new();
        let mut retried: Vec<BlockedInsert> = Vec::new();
        {
            let mut state = self.state.lock();
            for name in names {
                state.release_row(who, name, &mut woken);
            }
            if ranges {
                state.ranges.retain(|(owner, _)| !Arc::ptr_eq(owner, who));
                retried = std::mem::take(&mut state.inserts);
            }
        }
        wake(woken);
        for insert in retried {
            insert.waiter.retry();
        }
    }
    /// Releases all row locks at once, if nobody else has any; else it does nothing: false.
    pub fn release_whole(&self, who: &Arc<Descriptor>) -> bool {
        let all = self.state.lock().rows.release_all(who);
        all.is_some()
    }
    /// Takes the lock for the head of the queue, which was told that it is free. If somebody else
    /// has come first, it goes on waiting: false.
    pub fn claim(&self, waiter: &Arc<Waiter>, name: &[u8]) -> bool {
        let mut woken = SmallVec::new();
        let claimed = {
            let mut state = self.state.lock();
            // Who came first may share it.
            if let Some(row) = state.rows.shared_mut(name) {
                row.hand_over(&mut woken);
            }
            waiter.wait_on();
            waiter.is_granted()
        };
        woken.retain(|other| !Arc::ptr_eq(other, waiter));
        wake(woken);
        claimed
    }
    /// Takes back a request whose wait ended without the lock. Returns true if it was granted
    /// after all.
    pub fn cancel(&self, waiter: &Arc<Waiter>, name: &[u8]) -> bool {
        let mut woken = SmallVec::new();
        {
            let mut state = self.state.lock();
            if waiter.is_granted() {
                return true;
            }
            state
                .inserts
                .retain(|insert| !Arc::ptr_eq(&insert.waiter, waiter));
            if let Some(row) = state.rows.shared_mut(name) {
                row.queue
                    .retain(|request| !Arc::ptr_eq(&request.waiter, waiter));
                row.pass_on(&mut woken);
                if row.is_free() {
                    state.rows.remove(name);
                }
            }
        }
        wake(woken);
        false
    }
    /// Whether somebody is queued behind a waiting request.
    pub fn is_followed(&self, waiter: &Arc<Waiter>, name: &[u8]) -> bool {
        let state = self.state.lock();
        let last = state.rows.shared(name).and_then(|row| row.queue.back());
        last.is_some_and(|last| !Arc::ptr_eq(&last.waiter, waiter))
    }
    /// Whom a waiting request waits for. Of those before it in the queue only the nearest ones
    /// are named, up to the first X that the detector knows: that one waits for all others
    /// itself. (One that it does not know yet hides nothing: if it became a victim as soon as it
    /// is known, nobody would search again for those behind it.)
    pub fn blockers(&self, waiter: &Arc<Waiter>, name: &[u8]) -> Vec<Arc<Descriptor>> {
        let state = self.state.lock();
        let who = &waiter.descriptor;
        let mut blockers = Vec::new();
        if let Some(insert) = state
            .inserts
            .iter()
            .find(|i| Arc::ptr_eq(&i.waiter, waiter))
        {
            for (owner, ranges) in &state.ranges {
                if !Arc::ptr_eq(owner, who) && ranges.stops(&insert.position) {
                    blockers.push(Arc::clone(owner));
                }
            }
            return blockers;
        }
        let Some(row) = state.rows.shared(name) else {
            return blockers;
        };
        let place = row
            .queue
            .iter()
            .position(|r| Arc::ptr_eq(&r.waiter, waiter));
        let Some((place, request)) = place.and_then(|p| Some((p, row.queue.get(p)?))) else {
            return blockers;
        };
        for (holder, held) in &row.holders {
            if !Arc::ptr_eq(holder, who) && !compatible(*held, request.mode) {
                blockers.push(Arc::clone(holder));
            }
        }
        let ahead = row.queue.iter().take(place).rev();
        // Who wants X waits for all whom those before it wait for. So the way need not lead through
        // one of them that holds nothing others could wait for: else a search behind very many
        // would go from one to the next.
        let matters = |who: &Descriptor| {
            request.mode != LockMode::Exclusive || who.locks.load(Ordering::Relaxed) > 0
        };
        // A victim is leaving; the way to those before it must not lead through it.
        let ahead = ahead.filter(|other| !other.waiter.is_victim());
        for other in ahead.filter(|other| matters(&other.waiter.descriptor)) {
            if !compatible(other.mode, request.mode) {
                blockers.push(Arc::clone(&other.waiter.descriptor));
            }
            if other.mode == LockMode::Exclusive && other.waiter.is_known() {
                break;
            }
        }
        blockers
    }
    /// Lists all locks and requests.
    pub fn list(&self, found: &mut Vec<LockInfo>) {
        let state = self.state.lock();
        let row_lock = |who: &Arc<Descriptor>, mode, name: &Name, granted| {
            let kind = LockKind::Row {
                mode,
                key: name.to_vec(),
            };
            LockInfo::new(who, self.tree, kind, granted)
        };
        let singles = state.rows.singles();
        found.extend(singles.map(|(name, who, mode)| row_lock(who, mode, &name, true)));
        for (name, row) in state.rows.all_shared() {
            let holders = row.holders.iter().map(|(who, mode)| (who, *mode, true));
            let waiters = row
                .queue
                .iter()
                .map(|request| (&request.waiter.descriptor, request.mode, false));
            let all = holders.chain(waiters);
            found.extend(all.map(|(who, mode, granted)| row_lock(who, mode, name, granted)));
        }
        for (who, ranges) in &state.ranges {
            for (low, high) in ranges.all() {
                let kind = LockKind::Range {
                    low: low.to_vec(),
                    high: high.map(|high| high.to_vec()),
                };
                found.push(LockInfo::new(who, self.tree, kind, true));
            }
        }
        for insert in &state.inserts {
            let kind = LockKind::Insert {
                key: insert.position.to_vec(),
            };
            found.push(LockInfo::new(
                &insert.waiter.descriptor,
                self.tree,
                kind,
                false,
            ));
        }
    }
}

/// Whether a wait's end means that the lock may be held or tried again.
pub(in super::super) fn goes_on(woken: Woken) -> bool {
    matches!(woken, Woken::Granted | Woken::Retry)
}
