//! The shell around the queues, with real threads.

use super::*;
use cohort_engine::txn::{WaitFor, Waiting};
use std::sync::mpsc;

/// However few there are, they are a crowd.
fn scheduler(size: usize, oversubscribe: usize) -> Arc<Scheduler> {
    scheduler_for(0, size, oversubscribe)
}

const THREADS: Threads = Threads {
    name: "test",
    stack: 1 << 20,
    max: usize::MAX,
};

fn scheduler_for(crowd: usize, size: usize, oversubscribe: usize) -> Arc<Scheduler> {
    let rules = Rules {
        size,
        oversubscribe,
        kickup: 1_000_000,
        threads: usize::MAX,
    };
    Scheduler::new(rules, crowd, Arc::default(), THREADS)
}

/// Slots taken, and those who wait.
fn state(scheduler: &Scheduler) -> (u64, u64) {
    let report = scheduler.report();
    (report.running, report.waiting)
}

fn wait_for(what: impl Fn() -> bool) {
    while !what() {
        thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn never_more_than_there_are() {
    let scheduler = scheduler(3, 0);
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for n in 0..12 {
            let (scheduler, inside, most) = (&scheduler, &inside, &most);
            scope.spawn(move || {
                for round in 0..500 {
                    let class = if (n + round) % 3 == 0 {
                        Class::High
                    } else {
                        Class::Low
                    };
                    scheduler.acquire(n, || class);
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    scheduler.release();
                }
            });
        }
    });
    assert!((1..=3).contains(&most.load(Ordering::SeqCst)));
    assert_eq!(state(&scheduler), (0, 0));
}

#[test]
fn few_do_not_queue() {
    let scheduler = scheduler_for(100, 1, 0);
    scheduler.acquire(1, || Class::Low);
    thread::scope(|scope| {
        scope.spawn(|| {
            scheduler.acquire(2, || Class::Low);
            assert_eq!(state(&scheduler), (2, 0));
            scheduler.release();
        });
    });
    scheduler.release();
    assert_eq!(state(&scheduler), (0, 0));
}

#[test]
fn waiting_costs_no_slot() {
    let scheduler = scheduler(2, 0);
    let seat = Seat::new(&scheduler, 1, false);
    scheduler.acquire(1, || Class::Low);
    let waits = [
        WaitFor::Lock,
        WaitFor::Store,
        WaitFor::Client,
        WaitFor::Sleep,
        WaitFor::UserLock,
        WaitFor::Transactions,
        WaitFor::Log,
    ];
    for what in waits {
        assert_eq!(state(&scheduler), (1, 0));
        seat.pause(what);
        assert_eq!(state(&scheduler), (0, 0));
        assert_eq!(seat.waits_for(), Some(what));
        seat.resume(what);
        assert_eq!(seat.waits_for(), None);
    }
    assert_eq!(state(&scheduler), (0, 0), "no slot for the reply");
    scheduler.release();
    assert_eq!(state(&scheduler), (0, 0));
}

/// All slots are taken and many more wait for one: whoever was stalled comes first, for every
/// way to wait.
#[test]
fn who_comes_back_goes_first() {
    let waits = [
        WaitFor::Lock,
        WaitFor::Store,
        WaitFor::Client,
        WaitFor::Sleep,
        WaitFor::UserLock,
        WaitFor::Transactions,
    ];
    for what in waits {
        let scheduler = scheduler(1, 0);
        let order = Mutex::new(Vec::new());
        scheduler.acquire(0, || Class::Low);
        thread::scope(|scope| {
            for n in 1..=20 {
                let (scheduler, order) = (&scheduler, &order);
                scope.spawn(move || {
                    scheduler.acquire(n, || Class::High);
                    order.lock().push(n);
                    scheduler.release();
                });
                wait_for(|| scheduler.report().waiting == n);
            }
            let (scheduler, order) = (&scheduler, &order);
            scope.spawn(move || {
                let seat = Seat::new(scheduler, 99, false);
                seat.pause(what);
                seat.resume(what);
                order.lock().push(99);
                scheduler.release();
            });
            wait_for(|| scheduler.report().waiting == 21);
            scheduler.release();
        });
        let order = order.into_inner();
        assert_eq!(order[0], 99, "{what:?}");
        assert!(order[1..].is_sorted());
        assert_eq!(state(&scheduler), (0, 0));
    }
}

/// Tells when it runs, and ends when it may.
struct Told(u64, mpsc::Sender<u64>, Arc<Mutex<()>>);

impl Task for Told {
    fn run(self: Box<Self>) {
        let _ = self.1.send(self.0);
        drop(self.2.lock());
    }
    fn holds_locks(&self) -> bool {
        false
    }
    fn refuse(self: Box<Self>, error: &std::io::Error) {
        panic!("{error}");
    }
}

#[test]
fn tasks_run_on_few_threads() {
    let scheduler = scheduler(2, 0);
    let (sender, receiver) = mpsc::channel();
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock();
    let task = |n| {
        let told = Told(n, sender.clone(), Arc::clone(&gate));
        (n, Class::Low, Box::new(told) as Box<dyn Task>)
    };
    scheduler.submit((1..=100).map(task));
    let mut first: Vec<u64> = receiver.iter().take(2).collect();
    first.sort_unstable();
    assert_eq!(first, [1, 2]);
    assert_eq!(state(&scheduler), (2, 98));
    assert!(scheduler.is_crowded());
    drop(closed);
    let rest: Vec<u64> = receiver.iter().take(98).collect();
    assert_eq!(rest.len(), 98);
    wait_for(|| state(&scheduler) == (0, 0));
    // One went from task to task; no third thread was needed.
    assert_eq!(scheduler.report().created, 2);
}

#[test]
fn the_number_of_slots_can_change() {
    let scheduler = scheduler(1, 0);
    scheduler.acquire(0, || Class::Low);
    thread::scope(|scope| {
        for n in 1..=4 {
            let scheduler = &scheduler;
            scope.spawn(move || {
                scheduler.acquire(n, || Class::Low);
                scheduler.release();
            });
            wait_for(|| scheduler.report().waiting == n);
        }
        // Two at once, and so all of them.
        scheduler.set_rules(|rules| rules.size = 2);
        wait_for(|| state(&scheduler) == (1, 0));
    });
    // Off: nothing is counted, and what was taken before is given back in order.
    scheduler.set_rules(|rules| rules.size = 0);
    scheduler.release();
    scheduler.acquire(0, || Class::Low);
    assert_eq!(state(&scheduler), (0, 0));
}

#[test]
fn turning_it_off_frees_all_who_wait() {
    let scheduler = scheduler(1, 0);
    scheduler.acquire(0, || Class::Low);
    thread::scope(|scope| {
        for n in 1..=4 {
            let scheduler = &scheduler;
            scope.spawn(move || {
                scheduler.acquire(n, || Class::Low);
                scheduler.release();
            });
            wait_for(|| scheduler.report().waiting == n);
        }
        scheduler.set_rules(|rules| rules.size = 0);
    });
    assert_eq!(state(&scheduler), (1, 0), "only the first one's slot");
    scheduler.release();
    assert_eq!(state(&scheduler), (0, 0));
}

#[test]
fn a_free_slot_is_lent_until_somebody_needs_it() {
    let scheduler = scheduler(2, 0);
    let seat = Seat::new(&scheduler, 0, false);
    scheduler.acquire(0, || Class::Low);
    let Some(lent) = seat.lend() else {
        assert!(processors() < 2, "there is a free slot");
        return scheduler.release();
    };
    assert!(seat.lend().is_none());
    assert!(!lent.is_wanted());
    thread::scope(|scope| {
        scope.spawn(|| {
            scheduler.acquire(1, || Class::Low);
            scheduler.release();
        });
        wait_for(|| scheduler.report().waiting == 1);
        assert!(lent.is_wanted());
        drop(lent);
    });
    assert_eq!(state(&scheduler), (1, 0));
    assert_eq!(scheduler.report().lent, 1);
    scheduler.release();
}

#[test]
fn a_long_statement_gives_way() {
    let scheduler = scheduler(1, 0);
    let seat = Seat::new(&scheduler, 0, false);
    scheduler.acquire(0, || Class::Low);
    let ran = AtomicUsize::new(0);
    thread::scope(|scope| {
        for n in 1..=3 {
            let (scheduler, ran) = (&scheduler, &ran);
            scope.spawn(move || {
                scheduler.acquire(n, || Class::Low);
                ran.fetch_add(1, Ordering::SeqCst);
                scheduler.release();
            });
            wait_for(|| scheduler.report().waiting == n);
        }
        // The first offer begins the slice; one after its end lets the others go.
        while ran.load(Ordering::SeqCst) < 3 {
            seat.offer(false);
            thread::yield_now();
        }
    });
    assert_eq!(scheduler.report().yields, 1);
    assert_eq!(state(&scheduler), (1, 0), "it has its slot again");
    scheduler.release();
}
