//! The scheduler: who may execute.
//!
//! # Why it is hard
//!
//! More threads than cores that compete for the same locks and caches only slow each other down,
//! so what executes is bounded by *slots*. But a bound makes a queue, and a queue that does not
//! know about transactions puts the statement that would release a lock behind all who wait for
//! that lock. And a worker that keeps its slot while it waits for a lock, whose holder queues for
//! a slot, waits for ever. Both happen in the thread pools of other servers. Here priorities
//! ([`queues`]) prevent the first, and the second cannot arise, because nobody holds a slot while
//! waiting: not for a lock, the log, room in the store, a sleep, or the client.
//!
//! At the same time a free slot must cost next to nothing, or the scheduler costs more than it
//! saves as long as there are few clients.
//!
//! # How it works
//!
//! `word` holds the number of slots taken and of those who wait. As long as nobody waits, a slot
//! is taken with one compare-and-swap and given back with one subtraction. Otherwise the mutex is
//! taken and the pure core, [`Queues`](queues::Queues), asked.
//!
//! Two kinds wait. A *thread* asks in the middle of its connection's work and sleeps until it is
//! its turn. A *task*, a connection whose client has sent something while no thread was waiting
//! for it, needs a thread as well: one that has no work takes it ([`workers`]), best the one that
//! has just finished another task, for it has a slot already. So, when many connections talk at
//! once, a thread goes from one to the next without any switch between threads.
//!
//! # Invariants
//!
//! 1. While somebody waits (`word`'s upper half is not 0), slots are taken only under the mutex
//!    and as the core decides. Who enqueues counts itself and asks the core afterwards; who gives
//!    back a slot looks at the count in the same atomic step. One of the two sees the other.
//! 2. Whether a session holds a slot is known to its thread alone (`HELD`). Taking one twice, or
//!    giving back one that is not held, does nothing.
//! 3. After a wait for the log nobody takes a slot again. What is left of the statement is its
//!    reply, a few microseconds; to queue for them would cost a second sleep for each commit.
//! 4. Until a crowd talks nobody queues: slots taken are counted, and there is no limit to them.
//!    A queue in front of the kernel's costs each statement that has to wait in it two switches
//!    between threads, and helps only when there are more threads than the kernel's copes with.
//!    Who is about to send something counts with the crowd, too ([`talkers`]).
//! 5. Waits cost threads, and a machine has only so many. From `thread_pool_max_threads` on no work
//!    begins but that of connections that hold locks, for which the rest of the machine's threads
//!    is kept: so whoever the others wait for can always go on.
//! 6. A slot that is free may be lent to another thread, which helps a statement that takes long
//!    ([`seat`]). It looks every few milliseconds whether somebody needs it, and gives it back then. Who
//!    comes meanwhile, and few talk, takes a further slot and does not wait.
//! 7. `thread_pool_size` = 0 is no scheduler at all: nothing is counted and nobody waits.
//!
//! # Rejected
//!
//! Groups of connections with queues of their own, as other servers have: a group can be
//! overloaded while others idle. A stall timer that adds workers: there is nothing to stall on.

mod priority;
pub mod queues;
mod report;
mod seat;
mod talkers;
pub mod waits;
mod workers;

pub use priority::{Standing, Tickets};
pub use queues::{Class, Rules};
pub use seat::Seat;
pub use workers::{Task, Threads};

use cohort_engine::env::processors;
use parking_lot::Mutex;
use queues::{Grant, Micros, Queues};
use std::{
    cell::{Cell, RefCell},
    sync::{
        Arc, Weak,
        atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};
use talkers::Talkers;
use waits::{Wait, Waits};
use workers::Workers;

/// How long a statement runs before it lets others go first, if somebody waits.
const SLICE: Duration = Duration::from_millis(1);

const ONE_WAITS: u64 = 1 << 32;
const RUNNING: u64 = ONE_WAITS - 1;

thread_local! {
    /// The scheduler whose slot this thread's session holds, by its number; 0 for none.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// Since when a statement that takes long has run.
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
    /// How this thread is woken.
    static SLEEPER: RefCell<Option<Arc<Sleeper>>> = const { RefCell::new(None) };
}

static LAST_NUMBER: AtomicUsize = AtomicUsize::new(0);

/// A thread that waits for a slot.
#[derive(Debug)]
struct Sleeper {
    thread: Thread,
    granted: AtomicU8,
}

/// How a sleeper's turn comes: with a slot, or, when the scheduler is turned off, without.
const WITH_SLOT: u8 = 1;
const WITHOUT: u8 = 2;

impl Sleeper {
    fn current() -> Arc<Sleeper> {
        SLEEPER.with_borrow_mut(|sleeper| {
            let new = || {
                Arc::new(Sleeper {
                    thread: thread::current(),
                    granted: AtomicU8::new(0),
                })
            };
            Arc::clone(sleeper.get_or_insert_with(new))
        })
    }
    /// Sleeps until `wake`; whether it comes with a slot.
    fn sleep(&self) -> bool {
        loop {
            match self.granted.swap(0, Ordering::Acquire) {
                0 => thread::park(),
                how => return how == WITH_SLOT,
            }
        }
    }
    fn wake(&self, with_slot: bool) {
        let how = if with_slot { WITH_SLOT } else { WITHOUT };
        self.granted.store(how, Ordering::Release);
        self.thread.unpark();
    }
}

/// Who waits for a slot.
enum Who {
    Thread(Arc<Sleeper>),
    Task(Box<dyn Task>),
}

/// One who waits, of which session.
struct Waiter {
    session: u64,
    class: Class,
    who: Who,
}

impl Waiter {
    fn is_urgent(&self) -> bool {
        match &self.who {
            Who::Thread(_) => true,
            Who::Task(task) => task.holds_locks(),
        }
    }
}

/// The slots of a server, and those who wait for them.
pub struct Scheduler {
    number: usize,
    /// Slots taken in the lower half, those who wait in the upper.
    word: AtomicU64,
    /// thread_pool_size; 0 for no limit.
    size: AtomicUsize,
    oversubscribe: AtomicUsize,
    /// So many connections that talk are a crowd.
    crowd: usize,
    queues: Mutex<Queues<Waiter>>,
    /// Tasks among those who wait.
    tasks: AtomicUsize,
    workers: Arc<Workers>,
    talkers: Talkers,
    waits: Arc<Waits>,
    counters: report::Counters,
    begin: Instant,
}

impl Scheduler {
    /// All slots are free. So many connections that talk are a crowd, for which the rules hold.
    pub fn new(rules: Rules, crowd: usize, waits: Arc<Waits>, threads: Threads) -> Arc<Scheduler> {
        Arc::new_cyclic(|scheduler| Scheduler {
            number: LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1,
            word: AtomicU64::new(0),
            size: AtomicUsize::new(rules.size),
            oversubscribe: AtomicUsize::new(rules.oversubscribe),
            crowd,
            queues: Mutex::new(Queues::new(rules)),
            tasks: AtomicUsize::new(0),
            workers: Workers::new(Weak::clone(scheduler), threads),
            talkers: Talkers::new(),
            waits,
            counters: report::Counters::default(),
            begin: Instant::now(),
        })
    }

    fn now(&self) -> Micros {
        waits::micros(self.begin.elapsed())
    }
    fn is_off(&self) -> bool {
        self.size.load(Ordering::Relaxed) == 0
    }
    fn holds(&self) -> bool {
        HELD.get() == self.number
    }
    fn hold(&self) {
        HELD.set(self.number);
        SINCE.set(None);
    }

    /// Takes a slot for a session, unless its thread has one. `class` is asked only if it must
    /// queue.
    /// Returns for how long it has.
    pub fn acquire(&self, session: u64, class: impl FnOnce() -> Class) -> Duration {
        if self.holds() || self.take_free(0) {
            return Duration::ZERO;
        }
        let begun = Instant::now();
        self.queue_up(session, class());
        begun.elapsed()
    }

    /// Takes a slot again after a wait.
    fn acquire_again(&self, session: u64) {
        let more = self.oversubscribe.load(Ordering::Relaxed);
        if !self.holds() && !self.take_free(more) {
            self.queue_up(session, Class::Returning);
        }
    }

    /// Takes a slot if one is free and nobody waits, or if few talk; `true` also if none is
    /// needed.
    fn take_free(&self, more: usize) -> bool {
        let size = self.size.load(Ordering::Relaxed);
        if size == 0 {
            return true;
        }
        let limit = size.saturating_add(more) as u64;
        let take = |word| (word < limit).then_some(word + 1);
        let mut taken = self
            .word
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, take)
            .is_ok();
        if !taken && !self.is_crowded() {
            self.word.fetch_add(1, Ordering::Acquire);
            taken = true;
        }
        if taken {
            self.hold();
        }
        taken
    }

    fn queue_up(&self, session: u64, class: Class) {
        let sleeper = Sleeper::current();
        let who = Who::Thread(Arc::clone(&sleeper));
        self.enqueue([(session, class, who)]);
        if sleeper.sleep() {
            self.hold();
        }
    }

    fn enqueue(&self, waiters: impl IntoIterator<Item = (u64, Class, Who)>) {
        let now = self.now();
        let mut queues = self.queues.lock();
        for (session, class, who) in waiters {
            if matches!(who, Who::Task(_)) {
                self.tasks.fetch_add(1, Ordering::Relaxed);
            }
            let waiter = Waiter {
                session,
                class,
                who,
            };
            queues.enter(now, class, waiter.is_urgent(), waiter);
            self.word.fetch_add(ONE_WAITS, Ordering::AcqRel);
        }
        self.hand_out(queues);
    }

    /// Gives the slot back, if the thread has one.
    pub fn release(&self) {
        if !self.holds() {
            return;
        }
        HELD.set(0);
        self.give_back();
    }

    fn give_back(&self) {
        if self.word.fetch_sub(1, Ordering::AcqRel) >= ONE_WAITS {
            self.hand_out(self.queues.lock());
        }
    }

    /// With so many slots taken none is lent: there may be more slots than processors.
    fn to_lend(&self) -> u64 {
        self.size.load(Ordering::Relaxed).min(processors()) as u64
    }

    /// Takes a slot that nobody needs for who helps a statement that has one; whether there was one.
    /// It belongs to no thread.
    fn lend(&self) -> bool {
        let spare = self.to_lend();
        let take = |word| (word < spare).then_some(word + 1);
        let word = &self.word;
        let lent = word.fetch_update(Ordering::Acquire, Ordering::Relaxed, take);
        if lent.is_ok() {
            self.counters.lent.fetch_add(1, Ordering::Relaxed);
        }
        lent.is_ok()
    }

    /// Lets those run whom the core chooses.
    fn hand_out(&self, mut queues: parking_lot::MutexGuard<'_, Queues<Waiter>>) {
        let now = self.now();
        loop {
            let threads = self.workers.busy();
            let Some(grant) = queues.next(now, self.running(), threads) else {
                return;
            };
            self.note(&grant);
            // One waits less, and one slot more is taken; without a scheduler, none.
            let taken = u64::from(!self.is_off());
            self.word.fetch_sub(ONE_WAITS - taken, Ordering::AcqRel);
            // Waking is a system call: others may queue meanwhile.
            let waited = Duration::from_micros(grant.waited);
            parking_lot::MutexGuard::unlocked(&mut queues, || match grant.who.who {
                Who::Thread(sleeper) => sleeper.wake(taken > 0),
                Who::Task(mut task) => {
                    task.has_queued(waited);
                    self.start(task, taken > 0);
                }
            });
        }
    }

    /// How many run, as the core is to see it: none, while few talk.
    fn running(&self) -> usize {
        if self.is_crowded() {
            (self.word.load(Ordering::Acquire) & RUNNING) as usize
        } else {
            0
        }
    }

    fn note(&self, grant: &Grant<Waiter>) {
        if matches!(grant.who.who, Who::Task(_)) {
            self.tasks.fetch_sub(1, Ordering::Relaxed);
        }
        let wait = match grant.who.class {
            Class::Low => Wait::QueueLow,
            Class::High | Class::Returning => Wait::QueueHigh,
        };
        self.waits.note(wait, Duration::from_micros(grant.waited));
        self.counters.count(grant.why);
    }

    /// Lets a long statement's thread give way: if it has run for its slice and somebody waits,
    /// it queues again. Cheap enough to be called every few microseconds.
    fn offer(&self, session: u64, class: Class) {
        if self.word.load(Ordering::Relaxed) < ONE_WAITS || !self.holds() {
            return;
        }
        let now = Instant::now();
        let since = SINCE.get().unwrap_or(now);
        SINCE.set(Some(since));
        if now.duration_since(since) < SLICE {
            return;
        }
        self.counters.yields.fetch_add(1, Ordering::Relaxed);
        // It queues before it gives up its slot, or it could be the next to get it.
        let sleeper = Sleeper::current();
        let who = Who::Thread(Arc::clone(&sleeper));
        self.enqueue([(session, class, who)]);
        self.release();
        if sleeper.sleep() {
            self.hold();
        }
    }

    /// Queues connections that need a thread to serve them.
    pub fn submit(&self, tasks: impl IntoIterator<Item = (u64, Class, Box<dyn Task>)>) {
        if self.is_off() {
            for (_, _, task) in tasks {
                self.start(task, false);
            }
            return;
        }
        let waiters = tasks
            .into_iter()
            .map(|(session, class, task)| (session, class, Who::Task(task)));
        self.enqueue(waiters);
    }

    fn start(&self, task: Box<dyn Task>, held: bool) {
        if let Err((task, error)) = self.workers.give(task, held) {
            // No thread is left in the system: tell the client, here.
            task.refuse(&error);
            if held {
                HELD.set(self.number);
                self.release();
            }
        }
    }

    /// After a task: gives the slot back, or keeps it for the next task if that is whose turn it
    /// is.
    fn next_task(&self) -> Option<Box<dyn Task>> {
        let held = self.holds();
        if self.word.load(Ordering::Relaxed) < ONE_WAITS || self.is_off() {
            self.release();
            return None;
        }
        let mut queues = self.queues.lock();
        let running = self.running().saturating_sub(usize::from(held));
        let threads = self.workers.busy().saturating_sub(1);
        let grant = queues.next(self.now(), running, threads);
        let Some(grant) = grant else {
            drop(queues);
            self.release();
            return None;
        };
        self.note(&grant);
        // The slot changes hands, or one more is taken.
        self.word
            .fetch_sub(ONE_WAITS - u64::from(!held), Ordering::AcqRel);
        drop(queues);
        match grant.who.who {
            Who::Task(mut task) => {
                task.has_queued(Duration::from_micros(grant.waited));
                self.hold();
                Some(task)
            }
            Who::Thread(sleeper) => {
                HELD.set(0);
                sleeper.wake(true);
                None
            }
        }
    }

    /// Whether so many connections talk that what executes is bounded, and that a thread should
    /// not wait for its client but turn to the next. Those talk that have a thread, queue for one,
    /// or have been silent for a moment only.
    pub fn is_crowded(&self) -> bool {
        let served = self.workers.busy() + self.tasks.load(Ordering::Relaxed);
        served >= self.crowd || served + self.talkers.count(Instant::now()) >= self.crowd
    }

    /// A connection without a thread waits for its client from now on.
    pub fn client_falls_silent(&self, now: Instant) {
        self.talkers.falls_silent(now);
    }

    /// The client of a connection that has waited for it since then has sent something.
    pub fn client_speaks(&self, since: Instant) {
        self.talkers.speaks(since);
    }

    /// Changes the limits; 0 slots: no scheduler.
    pub fn set_rules(&self, change: impl FnOnce(&mut Rules)) {
        let mut queues = self.queues.lock();
        change(&mut queues.rules);
        let rules = queues.rules;
        self.size.store(rules.size, Ordering::Relaxed);
        self.oversubscribe
            .store(rules.oversubscribe, Ordering::Relaxed);
        self.hand_out(queues);
    }

    /// How long a thread without work stays.
    pub fn set_idle_time(&self, time: Duration) {
        self.workers.set_idle_time(time);
    }
}

#[cfg(test)]
mod tests;
