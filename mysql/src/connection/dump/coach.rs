//! Who follows the log with others: one thread reads and sends for all who are in a coach.
//!
//! Two hundred who keep up would be woken by each group, two hundred threads that then want to run
//! at the same time as those who commit. So who has all there is takes a seat in a coach. The first
//! one in it drives: his thread waits for the log, and whenever there is more it sends it to
//! everybody in the coach, himself first. The others' threads sleep. Who cannot go on as he should
//! (his client does not take what he is sent, there is more than a piece of it, the file has ended,
//! something has failed) is woken and gets out: his own thread deals with it, and he takes a seat
//! again when he has all there is.
//!
//! 1. A rider is in nobody's hands but his own thread's while he is not in a coach, and in those of
//!    one thread at a time while he is: who works on him has locked him.
//! 2. A driver never waits for a rider: neither for his client nor for his lock.
//! 3. Nobody misses anything. A driver goes on himself before the others, and then waits for what
//!    is behind his own place, so that what comes while the others go on wakes him again. He begins
//!    with that, before he waits: with the driver before him he was not the first. Who takes a seat
//!    looks afterwards whether there is more: what comes later than that comes to a driver who sees
//!    him.
//! 4. A coach with riders has a driver, or has just told one of them to drive. Who drives gets out
//!    when his time is over, and tells the next one.
//! 5. Riders get out when their time is over, as they would wake without a coach: to look at KILL,
//!    at their client, and whether it wants a sign of life.
//!
//! A coach has few seats, so that many processors are used if there are many, and as a round should
//! take less time than a commit: some µs a rider.

use parking_lot::{Condvar, Mutex};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How many one thread sends to.
const SEATS: usize = 32;

/// Somebody who follows.
pub(super) trait Rider {
    /// Goes on without waiting for anything; whether it has all there is, and can ride on.
    fn go_on(&mut self) -> bool;
    /// Whether there is nothing more for it, and it is where the log goes on.
    fn has_all(&self) -> bool;
    /// Waits until there may be more, but not for longer.
    fn wait(&self, time: Duration);
}

/// A rider, and what it is told.
pub(super) struct Seat<R> {
    pub(super) rider: Mutex<R>,
    told: Mutex<Told>,
    changed: Condvar,
}

#[derive(Default)]
struct Told {
    /// To get out, or rather that it is out.
    is_out: bool,
    /// To drive.
    drives: bool,
}

impl<R> Seat<R> {
    pub(super) fn new(rider: R) -> Arc<Seat<R>> {
        Arc::new(Seat {
            rider: Mutex::new(rider),
            told: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn tell(&self, tell: impl FnOnce(&mut Told)) {
        tell(&mut self.told.lock());
        self.changed.notify_one();
    }
}

/// Those who ride, in the order in which they got in.
type Coach<R> = Mutex<Vec<Arc<Seat<R>>>>;

/// All coaches.
pub(super) struct Coaches<R>(Mutex<Vec<Arc<Coach<R>>>>);

impl<R> Default for Coaches<R> {
    fn default() -> Coaches<R> {
        Coaches(Mutex::default())
    }
}

impl<R: Rider> Coaches<R> {
    /// Rides for so long, or until the rider has to go on by itself.
    pub(super) fn ride(&self, seat: &Arc<Seat<R>>, time: Duration) {
        let until = Instant::now() + time;
        let (coach, mut drives) = self.get_in(seat);
        if seat.rider.lock().has_all() {
            loop {
                if drives {
                    drive(&coach, seat, until);
                    break;
                }
                let mut told = seat.told.lock();
                if !told.is_out && !told.drives {
                    let over = seat.changed.wait_until(&mut told, until).timed_out();
                    if over && !told.drives {
                        break;
                    }
                }
                if told.is_out {
                    break;
                }
                drives = std::mem::take(&mut told.drives);
            }
        }
        self.get_out(&coach, seat, drives);
    }

    /// Takes a seat; whether it is the driver's.
    fn get_in(&self, seat: &Arc<Seat<R>>) -> (Arc<Coach<R>>, bool) {
        let mut coaches = self.0.lock();
        for coach in coaches.iter() {
            let mut seats = coach.lock();
            if seats.len() < SEATS {
                seats.push(Arc::clone(seat));
                return (Arc::clone(coach), seats.len() == 1);
            }
        }
        let coach = Arc::new(Mutex::new(vec![Arc::clone(seat)]));
        coaches.push(Arc::clone(&coach));
        (coach, true)
    }

    /// Leaves the coach, and the wheel to the next one.
    fn get_out(&self, coach: &Arc<Coach<R>>, seat: &Arc<Seat<R>>, drives: bool) {
        let mut coaches = self.0.lock();
        let mut seats = coach.lock();
        seats.retain(|other| !Arc::ptr_eq(other, seat));
        let told = std::mem::take(&mut *seat.told.lock());
        match seats.first() {
            Some(next) if drives || told.drives => next.tell(|told| told.drives = true),
            Some(_) => {}
            None => {
                drop(seats);
                coaches.retain(|other| !Arc::ptr_eq(other, coach));
            }
        }
    }
}

/// Goes on with everybody in the coach whenever there is more, until then or until the driver has to
/// go on by itself.
fn drive<R: Rider>(coach: &Coach<R>, seat: &Arc<Seat<R>>, until: Instant) {
    let mut own = seat.rider.lock();
    let mut others = Vec::new();
    loop {
        let rides_on = own.go_on();
        others.clone_from(&coach.lock());
        others.retain(|other| {
            // Who is about to get out, or looks whether there is more, is to look by himself.
            let rides_on = |other: &Arc<Seat<R>>| {
                let rider = other.rider.try_lock();
                rider.is_some_and(|mut rider| rider.go_on())
            };
            !Arc::ptr_eq(other, seat) && !rides_on(other)
        });
        if !others.is_empty() {
            let gone = |other: &Arc<Seat<R>>| others.iter().any(|out| Arc::ptr_eq(out, other));
            coach.lock().retain(|other| !gone(other));
            for other in &others {
                other.tell(|told| told.is_out = true);
            }
        }
        // Who goes meanwhile is to be gone.
        others.clear();
        let left = until.saturating_duration_since(Instant::now());
        if !rides_on || left.is_zero() {
            return;
        }
        own.wait(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        collections::HashSet,
        sync::atomic::{AtomicU64, Ordering::SeqCst},
        thread::{self, ThreadId},
    };

    const RIDERS: usize = 100;
    const LONG: Duration = Duration::from_secs(100);

    /// Where the log ends, and who is where.
    struct Log {
        end: Mutex<u64>,
        longer: Condvar,
        places: Vec<AtomicU64>,
        /// Who has waited for it.
        drivers: Mutex<HashSet<ThreadId>>,
    }

    impl Log {
        fn new() -> Log {
            Log {
                end: Mutex::new(0),
                longer: Condvar::new(),
                places: (0..RIDERS).map(|_| AtomicU64::new(0)).collect(),
                drivers: Mutex::default(),
            }
        }

        /// Makes it longer when everybody has all of it, and at other times, too.
        fn grow(&self, to: u64) {
            let begin = *self.end.lock();
            for end in begin + 1..=to {
                *self.end.lock() = end;
                self.longer.notify_all();
                let since = Instant::now();
                while end % 4 > 0 && self.places.iter().any(|place| place.load(SeqCst) < end) {
                    assert!(since.elapsed() < Duration::from_secs(60), "somebody sleeps");
                    thread::yield_now();
                }
            }
        }
    }

    /// Who stops before each multiple of a number, and before the last one, and has to go on by
    /// itself then.
    struct Reader<'l> {
        log: &'l Log,
        place: usize,
        stops: u64,
        to: u64,
        alone: bool,
    }

    impl Reader<'_> {
        fn at(&self) -> u64 {
            self.log.places[self.place].load(SeqCst)
        }
    }

    impl Rider for Reader<'_> {
        fn go_on(&mut self) -> bool {
            let end = *self.log.end.lock();
            while self.at() < end {
                let next = self.at() + 1;
                if !self.alone && (next.is_multiple_of(self.stops) || next == self.to) {
                    return false;
                }
                self.log.places[self.place].fetch_add(1, SeqCst);
            }
            true
        }
        fn has_all(&self) -> bool {
            *self.log.end.lock() == self.at()
        }
        fn wait(&self, time: Duration) {
            self.log.drivers.lock().insert(thread::current().id());
            let mut end = self.log.end.lock();
            if *end <= self.at() {
                self.log.longer.wait_for(&mut end, time);
            }
        }
    }

    /// Follows to a place, and rides whenever it can.
    fn follow<'l>(coaches: &Coaches<Reader<'l>>, reader: Reader<'l>, time: Duration) {
        let to = reader.to;
        let seat = Seat::new(reader);
        loop {
            let mut reader = seat.rider.lock();
            reader.alone = true;
            assert!(reader.go_on());
            reader.alone = false;
            if reader.at() >= to {
                return;
            }
            drop(reader);
            coaches.ride(&seat, time);
        }
    }

    /// Has all readers follow to a place, while something is done.
    fn with_readers(
        stops: impl Fn(usize) -> u64,
        (to, time): (u64, Duration),
        act: impl FnOnce(&Log, &Coaches<Reader<'_>>),
    ) {
        let (log, coaches) = (Log::new(), Coaches::default());
        thread::scope(|scope| {
            for place in 0..RIDERS {
                let (log, stops) = (&log, stops(place));
                let reader = Reader {
                    log,
                    place,
                    stops,
                    to,
                    alone: false,
                };
                let coaches = &coaches;
                scope.spawn(move || follow(coaches, reader, time));
            }
            act(&log, &coaches);
        });
        assert_eq!(coaches.0.lock().len(), 0);
    }

    #[test]
    fn nobody_misses_anything() {
        for time in [LONG, Duration::from_millis(3)] {
            let stops = |place| place as u64 + 2;
            with_readers(stops, (600, time), |log, _| log.grow(600));
        }
    }

    #[test]
    fn few_are_woken() {
        with_readers(
            |_| 200,
            (200, LONG),
            |log, coaches| {
                let riding = || {
                    let coaches = coaches.0.lock();
                    let seats = coaches.iter().map(|coach| coach.lock().len());
                    seats.sum::<usize>()
                };
                while riding() != RIDERS {
                    thread::yield_now();
                }
                // Nobody has to go on by himself before the end.
                log.grow(199);
                assert_eq!(riding(), RIDERS);
                assert_eq!(log.drivers.lock().len(), RIDERS.div_ceil(SEATS));
                log.grow(200);
            },
        );
    }
}
