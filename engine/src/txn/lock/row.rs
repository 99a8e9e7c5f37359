//! The lock of one row: who has it, and who waits for it, in order.

use super::super::{LockMode, descriptor::Descriptor, waiter::Waiter};
use smallvec::SmallVec;
use std::{collections::VecDeque, sync::Arc};

/// What a row lock is named: the row's key or, in a unique index, the entry's parts without the
/// key of its row.
pub(in super::super) type Name = SmallVec<[u8; 24]>;

/// The lock of a row that several have to do with, or whose name is long.
#[derive(Default)]
pub(super) struct RowLock {
    pub holders: SmallVec<[(Arc<Descriptor>, LockMode); 1]>,
    pub queue: Queue,
}

/// Those who wait for a row's lock; hardly any has some.
#[derive(Default)]
#[expect(clippy::box_collection, reason = "8 bytes in every lock, not 32")]
pub(super) struct Queue(Option<Box<VecDeque<Request>>>);

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Request> + ExactSizeIterator {
        self.0
            .as_deref()
            .map_or_else(Default::default, VecDeque::iter)
    }
    fn front(&self) -> Option<&Request> {
        self.0.as_deref()?.front()
    }
    pub fn get(&self, place: usize) -> Option<&Request> {
        self.0.as_deref()?.get(place)
    }
    pub fn back(&self) -> Option<&Request> {
        self.0.as_deref()?.back()
    }
    fn pop_front(&mut self) -> Option<Request> {
        let first = self.0.as_deref_mut()?.pop_front();
        self.shrink();
        first
    }
    pub fn push_back(&mut self, request: Request) {
        self.0.get_or_insert_default().push_back(request);
    }
    pub fn insert(&mut self, place: usize, request: Request) {
        self.0.get_or_insert_default().insert(place, request);
    }
    pub fn retain(&mut self, wanted: impl FnMut(&Request) -> bool) {
        if let Some(queue) = self.0.as_deref_mut() {
            queue.retain(wanted);
        }
        self.shrink();
    }
    /// None is never an empty one.
    fn shrink(&mut self) {
        if self.0.as_deref().is_some_and(VecDeque::is_empty) {
            self.0 = None;
        }
    }
}

/// One who waits for a row's lock.
pub(super) struct Request {
    pub waiter: Arc<Waiter>,
    pub mode: LockMode,
    /// The requester holds it shared already.
    pub upgrade: bool,
}

/// Whether two transactions can have these of one row.
pub(super) fn compatible(a: LockMode, b: LockMode) -> bool {
    a == LockMode::Shared && b == LockMode::Shared
}

impl RowLock {
    pub fn held_by(&self, who: &Arc<Descriptor>) -> Option<LockMode> {
        let holder = self
            .holders
            .iter()
            .find(|(holder, _)| Arc::ptr_eq(holder, who));
        holder.map(|(_, mode)| *mode)
    }
    pub fn admits(&self, who: &Arc<Descriptor>, mode: LockMode) -> bool {
        self.holders
            .iter()
            .all(|(holder, held)| Arc::ptr_eq(holder, who) || compatible(*held, mode))
    }
    /// Whether another transaction holds it X.
    pub fn is_foreign(&self, who: &Arc<Descriptor>) -> bool {
        self.holders
            .iter()
            .any(|(holder, mode)| *mode == LockMode::Exclusive && !Arc::ptr_eq(holder, who))
    }
    pub fn hold(&mut self, who: &Arc<Descriptor>, mode: LockMode) {
        match self
            .holders
            .iter_mut()
            .find(|(holder, _)| Arc::ptr_eq(holder, who))
        {
            Some((_, held)) => *held = mode,
            None => self.holders.push((Arc::clone(who), mode)),
        }
    }
    /// Grants what can be granted, first come first served; tells whom to wake.
    pub fn hand_over(&mut self, woken: &mut SmallVec<[Arc<Waiter>; 4]>) {
        while let Some(next) = self.queue.front() {
            if !self.admits(&next.waiter.descriptor, next.mode) {
                return;
            }
            let Some(next) = self.queue.pop_front() else {
                return;
            };
            if next.waiter.grant() {
                self.hold(&next.waiter.descriptor, next.mode);
                woken.push(next.waiter);
            }
        }
    }
    /// After somebody has gone. A lock that others share is handed over at once; a free one is
    /// left to whoever comes first, and the head of the queue is told to come. Handing it over
    /// instead would leave it idle until the head runs, and make everyone who arrives meanwhile
    /// queue up behind it and sleep: a convoy that never ends. Only a head that has been passed
    /// over for too long gets it directly.
    pub fn pass_on(&mut self, woken: &mut SmallVec<[Arc<Waiter>; 4]>) {
        match self.queue.front() {
            Some(head) if self.holders.is_empty() && !head.waiter.is_starved() => {
                if head.waiter.nudge() {
                    woken.push(Arc::clone(&head.waiter));
                }
            }
            _ => self.hand_over(woken),
        }
    }
    /// Whether one who has just come may take the lock although others are queued.
    pub fn may_barge(&self) -> bool {
        let head = self.queue.front();
        self.holders.is_empty() && head.is_none_or(|head| !head.waiter.is_starved())
    }
    pub fn is_free(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }
}
