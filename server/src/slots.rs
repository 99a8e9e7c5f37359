//! Slots: how many statements execute at once.
//!
//! More threads than cores that compete for the same locks and caches only slow each other down,
//! so a statement needs a slot, and a session that waits (for a lock, for the log, for its
//! client) gives its slot back meanwhile. First come, first served.
//!
//! `balance` is the number of free slots, or, below zero, of those who wait; a free slot costs
//! one atomic operation. Who finds none enqueues; who gives one back while others wait hands it
//! to the first of the queue, or leaves a grant for one that has counted itself but is not in the
//! queue yet.
//!
//! After the wait for the log only the reply is left of a statement. To queue for a slot again
//! would cost it a second sleep, a few microseconds of the machine's time for each commit, to
//! bound what takes one; so it goes on without a slot. Whether a session holds one is known to
//! its thread.

use cohort_engine::txn::{WaitFor, Waiting};
use parking_lot::Mutex;
use std::{
    cell::Cell,
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    thread::{self, Thread},
};

thread_local! {
    /// Whether this thread's session holds a slot.
    static HELD: Cell<bool> = const { Cell::new(false) };
}

/// The slots of a server.
#[derive(Debug)]
pub struct Slots {
    balance: AtomicI64,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    waiters: VecDeque<Arc<Waiter>>,
    /// Slots handed to waiters that had not enqueued yet.
    grants: usize,
}

#[derive(Debug)]
struct Waiter {
    thread: Thread,
    granted: AtomicBool,
}

impl Slots {
    /// `count` free slots.
    #[must_use]
    pub fn new(count: usize) -> Slots {
        Slots {
            balance: AtomicI64::new(count.max(1).cast_signed() as i64),
            queue: Mutex::default(),
        }
    }

    /// Takes a slot, after all who asked before.
    pub fn acquire(&self) {
        HELD.set(true);
        if self.balance.fetch_sub(1, Ordering::Acquire) > 0 {
            return;
        }
        let mut queue = self.queue.lock();
        if queue.grants > 0 {
            queue.grants -= 1;
            return;
        }
        let waiter = Arc::new(Waiter {
            thread: thread::current(),
            granted: AtomicBool::new(false),
        });
        queue.waiters.push_back(Arc::clone(&waiter));
        drop(queue);
        while !waiter.granted.load(Ordering::Acquire) {
            thread::park();
        }
    }

    /// Gives the slot back, if there is one, to the session that has waited longest.
    pub fn release(&self) {
        if !HELD.replace(false) {
            return;
        }
        if self.balance.fetch_add(1, Ordering::Release) >= 0 {
            return;
        }
        let mut queue = self.queue.lock();
        let Some(waiter) = queue.waiters.pop_front() else {
            queue.grants += 1;
            return;
        };
        drop(queue);
        waiter.granted.store(true, Ordering::Release);
        waiter.thread.unpark();
    }
}

impl Waiting for Slots {
    fn pause(&self, _: WaitFor) {
        self.release();
    }
    fn resume(&self, what: WaitFor) {
        if what != WaitFor::Log {
            self.acquire();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn never_more_than_there_are() {
        let slots = Slots::new(3);
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        slots.acquire();
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        slots.release();
                    }
                });
            }
        });
        assert!((1..=3).contains(&most.load(Ordering::SeqCst)));
        assert_eq!(slots.balance.load(Ordering::SeqCst), 3);
        let queue = slots.queue.lock();
        assert!(queue.waiters.is_empty() && queue.grants == 0);
    }

    #[test]
    fn waiting_costs_no_slot() {
        let slots = Slots::new(2);
        let free = || slots.balance.load(Ordering::SeqCst);
        slots.acquire();
        for what in [WaitFor::Lock, WaitFor::Store, WaitFor::Log] {
            assert_eq!(free(), 1);
            slots.pause(what);
            assert_eq!(free(), 2);
            slots.resume(what);
        }
        assert_eq!(free(), 2, "no slot for the reply");
        slots.release();
        assert_eq!(free(), 2);
    }

    #[test]
    fn first_come_first_served() {
        let slots = Slots::new(1);
        let order = Mutex::new(Vec::new());
        slots.acquire();
        thread::scope(|scope| {
            for i in 0..5 {
                let (slots, order) = (&slots, &order);
                scope.spawn(move || {
                    slots.acquire();
                    order.lock().push(i);
                    slots.release();
                });
                while slots.queue.lock().waiters.len() <= i {
                    thread::yield_now();
                }
            }
            slots.release();
        });
        assert_eq!(*order.lock(), [0, 1, 2, 3, 4]);
    }
}
