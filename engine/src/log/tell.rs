//! Telling committers that do not wait.
//!
//! A thread that sleeps until its commit is durable only to send a reply then costs two switches
//! between threads for a few bytes. Who has nothing else to do afterwards leaves a closure with
//! its group instead. One thread calls the closures of each group that has become visible (or has
//! failed), while the log thread writes the next group already. They must be short and never
//! block.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// To be called when the outcome of a commit is known: whether it became visible.
pub(super) type Tell = Box<dyn FnOnce(bool) + Send>;

/// The closures of one group.
pub(super) struct Told {
    pub(super) tells: Vec<Tell>,
    pub(super) visible: bool,
}

/// What is to be told.
#[derive(Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    /// The thread's futex: 1 while it sleeps. Written under `state`'s lock.
    asleep: AtomicU32,
}

#[derive(Default)]
struct State {
    told: Vec<Told>,
    closing: bool,
}

impl Outbox {
    /// Adds closures whose group has its outcome.
    pub(super) fn put(&self, told: Vec<Told>) {
        if !told.is_empty() {
            self.change(|state| state.told.extend(told));
        }
    }

    /// Ends the thread when everything is told.
    pub(super) fn close(&self) {
        self.change(|state| state.closing = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        change(&mut state);
        let asleep = self.asleep.swap(0, SeqCst) == 1;
        drop(state);
        if asleep {
            atomic_wait::wake_one(&self.asleep);
        }
    }

    /// The thread.
    pub(super) fn run(&self) {
        loop {
            let mut state = self.state.lock();
            let told = std::mem::take(&mut state.told);
            if told.is_empty() {
                if state.closing {
                    return;
                }
                self.asleep.store(1, SeqCst);
                drop(state);
                while self.asleep.load(SeqCst) == 1 {
                    atomic_wait::wait(&self.asleep, 1);
                }
                continue;
            }
            drop(state);
            for Told { tells, visible } in told {
                for tell in tells {
                    tell(visible);
                }
            }
        }
    }
}
