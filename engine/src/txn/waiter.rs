//! The waits of transactions for locks.

use super::{descriptor::Descriptor, waiting::Interrupted};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// The lock is held now.
    Granted,
    /// Something changed: try again.
    Retry,
    /// The lock was free a moment ago: claim it.
    Nudged,
    /// Chosen as the victim of a deadlock.
    Victim,
    /// The time is over.
    Timeout,
    /// KILL.
    Killed,
}

const WAITING: u8 = 0;
const GRANTED: u8 = 1;
const RETRY: u8 = 2;
const VICTIM: u8 = 3;
const NUDGED: u8 = 4;

/// A waiter who has been passed over for so long gets the lock next.
const STARVED: Duration = Duration::from_millis(20);

/// One wait of one transaction.
pub(super) struct Waiter {
    state: AtomicU8,
    /// The detector knows it: who waits behind it finds what it waits for.
    known: AtomicBool,
    since: Instant,
    pub descriptor: Arc<Descriptor>,
}

impl Waiter {
    pub fn new(descriptor: &Arc<Descriptor>) -> Arc<Waiter> {
        Arc::new(Waiter {
            state: AtomicU8::new(WAITING),
            known: AtomicBool::new(false),
            since: Instant::now(),
            descriptor: Arc::clone(descriptor),
        })
    }
    fn change(&self, from: u8, to: u8) -> bool {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
    fn end(&self, state: u8) -> bool {
        self.change(WAITING, state) || self.change(NUDGED, state)
    }
    /// Says that it is in the detector's map now.
    pub fn make_known(&self) {
        self.known.store(true, Ordering::Release);
    }
    pub fn is_known(&self) -> bool {
        self.known.load(Ordering::Acquire)
    }
    /// Whether it has waited for too long.
    pub fn is_starved(&self) -> bool {
        self.since.elapsed() > STARVED
    }
    /// Tells it that the lock is free; false if it knows or does not want it any more. `wake`
    /// must follow.
    pub fn nudge(&self) -> bool {
        self.change(WAITING, NUDGED)
    }
    /// Somebody else was faster.
    pub fn wait_on(&self) {
        self.change(NUDGED, WAITING);
    }
    /// Gives it the lock; false if it does not want it any more. `wake` must follow.
    pub fn grant(&self) -> bool {
        self.end(GRANTED)
    }
    /// Tells it to try again.
    pub fn retry(&self) {
        if self.end(RETRY) {
            self.wake();
        }
    }
    /// Makes it a deadlock's victim; false if its wait was over already.
    pub fn sacrifice(&self) -> bool {
        let chosen = self.end(VICTIM);
        if chosen {
            self.wake();
        }
        chosen
    }
    pub fn wake(&self) {
        self.descriptor.parker.wake();
    }
    pub fn is_victim(&self) -> bool {
        self.state.load(Ordering::Acquire) == VICTIM
    }
    /// Whether nothing has ended the wait yet.
    pub fn is_waiting(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), WAITING | NUDGED)
    }
    pub fn is_granted(&self) -> bool {
        self.state.load(Ordering::Acquire) == GRANTED
    }
    fn ended(&self) -> Option<Woken> {
        match self.state.load(Ordering::Acquire) {
            GRANTED => Some(Woken::Granted),
            RETRY => Some(Woken::Retry),
            VICTIM => Some(Woken::Victim),
            NUDGED => Some(Woken::Nudged),
            _ => None,
        }
    }
    /// Sleeps until somebody ends the wait, at most until `deadline`.
    pub fn sleep(&self, deadline: Option<Instant>) -> Woken {
        let ended = self.descriptor.parker.sleep(deadline, || self.ended());
        ended.unwrap_or_else(|interrupted| match interrupted {
            Interrupted::Timeout => Woken::Timeout,
            Interrupted::Killed => Woken::Killed,
        })
    }
}

/// When a wait that begins now ends; `None`: never.
pub(super) fn deadline(wait_ms: u64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_millis(wait_ms))
}
