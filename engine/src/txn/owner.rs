//! Sessions as the engine knows them, and how they wait.

use super::{depends::Depends, descriptor::Descriptor};
use parking_lot::{Condvar, Mutex};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

/// Called by the engine around every wait, so that a scheduler can take the session's slot back.
pub trait Waiting: Send + Sync {
    /// The session is about to wait for `what`.
    fn pause(&self, what: WaitFor);
    /// The wait is over.
    fn resume(&self, what: WaitFor);
    /// A safe point of a statement that may take long: others may go first now. Called every few
    /// hundred rows; `holds_locks` tells whether others may wait for this session.
    fn offer(&self, _holds_locks: bool) {}
    /// What the session waits for now.
    fn waits_for(&self) -> Option<WaitFor> {
        None
    }
}

/// What a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitFor {
    /// A row, range or metadata lock.
    Lock,
    /// The log's fsync.
    Log,
    /// Room in the delta (back-pressure).
    Store,
    /// The client, to take its result.
    Client,
    /// SLEEP().
    Sleep,
    /// A lock that GET_LOCK() takes.
    UserLock,
    /// The end of another transaction, when there are as many as there may be.
    Transactions,
}

/// A session as the engine knows it: whom to ask before waiting, and whether it was killed.
/// Held in an `Arc` by the session and its transactions.
pub struct Owner {
    /// The connection id.
    pub session: u64,
    /// See `Waiting`.
    pub waiting: Arc<dyn Waiting>,
    pub(super) parker: Arc<Parker>,
    /// What it has met that is not durable yet.
    pub(super) depends: Depends,
    /// The descriptor of the last transaction, for the next one.
    pub(super) spare: Mutex<Option<Arc<Descriptor>>>,
}

impl Owner {
    /// An owner for one session.
    pub fn new(session: u64, waiting: Arc<dyn Waiting>) -> Arc<Owner> {
        Arc::new(Owner {
            session,
            waiting,
            parker: Arc::default(),
            depends: Depends::default(),
            spare: Mutex::default(),
        })
    }
    /// KILL [QUERY]: any lock wait in progress fails with `Killed`, as does the next one until
    /// `clear_kill`. Called from another thread.
    pub fn kill(&self) {
        self.parker.killed.store(true, Ordering::SeqCst);
        self.parker.wake();
    }
    /// Whether `kill` was called; long executions ask now and then.
    pub fn is_killed(&self) -> bool {
        self.parker.is_killed()
    }
    /// Forgets a KILL QUERY at the start of the next statement.
    pub fn clear_kill(&self) {
        if self.is_killed() {
            self.parker.killed.store(false, Ordering::SeqCst);
        }
    }
}

/// A waiter that nobody has to be told about: for tests, tools and the engine's own sessions.
pub struct Unattended;

impl Waiting for Unattended {
    fn pause(&self, _: WaitFor) {}
    fn resume(&self, _: WaitFor) {}
}

/// Where a session sleeps.
#[derive(Default)]
pub(super) struct Parker {
    killed: AtomicBool,
    mutex: Mutex<()>,
    condition: Condvar,
}

impl Parker {
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }
    fn wake(&self) {
        // Taking the mutex closes the gap between the sleeper's last look and its sleep.
        drop(self.mutex.lock());
        self.condition.notify_all();
    }
}

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
        let parker = &self.descriptor.parker;
        let mut guard = parker.mutex.lock();
        loop {
            if let Some(ended) = self.ended() {
                return ended;
            }
            if parker.killed.load(Ordering::SeqCst) {
                return Woken::Killed;
            }
            match deadline {
                None => parker.condition.wait(&mut guard),
                Some(deadline) => {
                    let timeout = parker.condition.wait_until(&mut guard, deadline);
                    if timeout.timed_out() {
                        return self.ended().unwrap_or(Woken::Timeout);
                    }
                }
            }
        }
    }
}
