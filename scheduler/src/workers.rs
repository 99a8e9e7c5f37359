//! Threads for tasks: made when none is idle, kept for a while when there is nothing to do.

use super::{HELD, Scheduler};
use parking_lot::Mutex;
use std::{
    io,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

/// Work that needs a thread and, when it begins, has a slot.
pub trait Task: Send {
    /// Does it.
    fn run(self: Box<Self>);
    /// Whether others may wait for locks that its connection holds. Then it does not wait for
    /// others to give up their threads.
    fn holds_locks(&self) -> bool;
    /// It has queued for so long.
    fn has_queued(&mut self, _: Duration) {}
    /// There is no thread for it.
    fn refuse(self: Box<Self>, error: &io::Error);
}

/// What a thread is given to do.
struct Order {
    task: Box<dyn Task>,
    /// Whether a slot comes with it.
    held: bool,
}

struct Idle {
    thread: Thread,
    order: Mutex<Option<Order>>,
}

/// What a scheduler's threads are like.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    /// Their name.
    pub name: &'static str,
    /// Bytes of a thread's stack; only those that were touched take memory.
    pub stack: usize,
    /// There are never more.
    pub max: usize,
}

/// The threads of a scheduler.
pub(super) struct Workers {
    scheduler: Weak<Scheduler>,
    what: Threads,
    /// Those without work, the one that had some last at the end: its caches are warm.
    idle: Mutex<Vec<Arc<Idle>>>,
    threads: AtomicUsize,
    without_work: AtomicUsize,
    created: AtomicU64,
    /// How long a thread without work stays, in milliseconds.
    idle_ms: AtomicU64,
}

/// thread_pool_idle_timeout's default.
const IDLE_MS: u64 = 60_000;

impl Workers {
    pub fn new(scheduler: Weak<Scheduler>, what: Threads) -> Arc<Workers> {
        Arc::new(Workers {
            scheduler,
            what,
            idle: Mutex::default(),
            threads: AtomicUsize::new(0),
            without_work: AtomicUsize::new(0),
            created: AtomicU64::new(0),
            idle_ms: AtomicU64::new(IDLE_MS),
        })
    }
    pub fn set_idle_time(&self, time: Duration) {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.idle_ms.store(ms, Ordering::Relaxed);
    }
    /// How many threads there are, have no work, and were ever made.
    pub fn counts(&self) -> (usize, usize, u64) {
        (
            self.threads.load(Ordering::Relaxed),
            self.without_work.load(Ordering::Relaxed),
            self.created.load(Ordering::Relaxed),
        )
    }
    /// How many threads have work.
    pub fn busy(&self) -> usize {
        let idle = self.without_work.load(Ordering::Relaxed);
        self.threads.load(Ordering::Relaxed).saturating_sub(idle)
    }

    /// Has a thread do it; gives it back if none can be made.
    pub fn give(
        self: &Arc<Self>,
        task: Box<dyn Task>,
        held: bool,
    ) -> Result<(), (Box<dyn Task>, io::Error)> {
        let order = Order { task, held };
        let idle = self.idle.lock().pop();
        if let Some(idle) = idle {
            self.without_work.fetch_sub(1, Ordering::Relaxed);
            *idle.order.lock() = Some(order);
            idle.thread.unpark();
            return Ok(());
        }
        if self.threads.fetch_add(1, Ordering::Relaxed) >= self.what.max {
            self.threads.fetch_sub(1, Ordering::Relaxed);
            return Err((order.task, rustix::io::Errno::AGAIN.into()));
        }
        // The order reaches the thread through a cell, so that it is not lost with the closure.
        let first = Arc::new(Mutex::new(Some(order)));
        let (workers, cell) = (Arc::clone(self), Arc::clone(&first));
        let spawned = thread::Builder::new()
            .name(self.what.name.into())
            .stack_size(self.what.stack)
            .spawn(move || workers.work(cell.lock().take()));
        match spawned {
            Ok(_) => {
                self.created.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                self.threads.fetch_sub(1, Ordering::Relaxed);
                let order = first.lock().take();
                order.map_or(Ok(()), |order| Err((order.task, error)))
            }
        }
    }

    /// A thread's life.
    fn work(&self, mut order: Option<Order>) {
        /// Counts the thread out, however it ends.
        struct Leave<'a>(&'a AtomicUsize);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let _leave = Leave(&self.threads);
        while let Some(Order { task, held }) = order {
            let Some(scheduler) = self.scheduler.upgrade() else {
                return;
            };
            if held {
                scheduler.hold();
            }
            // A bug in one statement ends its connection, not the thread that others use.
            let mut task = Some(task);
            while let Some(this) = task {
                let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| this.run()));
                drop(ran);
                task = scheduler.next_task();
            }
            debug_assert_eq!(HELD.get(), 0);
            drop(scheduler);
            order = self.wait();
        }
    }

    /// Waits for something to do; `None` after a while without.
    fn wait(&self) -> Option<Order> {
        let idle = Arc::new(Idle {
            thread: thread::current(),
            order: Mutex::new(None),
        });
        self.without_work.fetch_add(1, Ordering::Relaxed);
        self.idle.lock().push(Arc::clone(&idle));
        let until = Instant::now() + Duration::from_millis(self.idle_ms.load(Ordering::Relaxed));
        loop {
            if let Some(order) = idle.order.lock().take() {
                return Some(order);
            }
            let left = until.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                thread::park_timeout(left);
                continue;
            }
            let mut all = self.idle.lock();
            let Some(at) = all.iter().position(|other| Arc::ptr_eq(other, &idle)) else {
                // It was chosen just now: the order is on its way.
                drop(all);
                thread::park_timeout(Duration::from_millis(1));
                continue;
            };
            all.remove(at);
            self.without_work.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
    }
}
