//! Load for a time: threads with one client each, or with more, and what comes of it.

use crate::lab::generator::histogram;
use hdrhistogram::Histogram;
use std::{
    sync::atomic::{AtomicU8, Ordering},
    thread,
    time::{Duration, Instant},
};

/// A thread of the load: goes on until the phase says that it ends; how long each event took.
pub type Worker<'a> = Box<dyn FnOnce(&Phase) -> Result<Histogram<u64>, String> + Send + 'a>;

/// A client on a thread of its own, which does this again and again.
pub fn client<'a>(mut event: impl FnMut() -> Result<(), String> + Send + 'a) -> Worker<'a> {
    Box::new(move |phase| {
        let mut latency_us = histogram();
        while !phase.is_ending() {
            let begun = Instant::now();
            event()?;
            phase.note(begun, &mut latency_us);
        }
        Ok(latency_us)
    })
}

/// Whether the load warms up, is measured, or ends.
pub struct Phase(AtomicU8);

impl Phase {
    /// Nothing new is to be begun.
    pub fn is_ending(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ENDING
    }

    /// An event that began then has ended.
    pub fn note(&self, begun: Instant, latency_us: &mut Histogram<u64>) {
        if self.0.load(Ordering::Relaxed) == MEASURING {
            let us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            latency_us.saturating_record(us);
        }
    }
}

/// How long the clients go on.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// Does not count.
    pub warmup: Duration,
    /// Counts.
    pub measured: Duration,
}

/// What came of it: events that ended in the measured time.
pub struct Measured<S> {
    /// Microseconds that each took.
    pub latency_us: Histogram<u64>,
    /// How long it really was.
    pub elapsed: Duration,
    /// Snapshots at its begin and at its end.
    pub before: S,
    /// As above.
    pub after: S,
}

const WARMING: u8 = 0;
const MEASURING: u8 = 1;
const ENDING: u8 = 2;

/// Lets the clients go on for the time, and measures. The first error of any of them ends it.
/// `settle` is called, and waited for, at the begin and at the end of what is measured; the
/// clients go on meanwhile, and the second time is measured, too.
pub fn run<S>(
    workers: Vec<Worker<'_>>,
    time: Time,
    settle: impl Fn() -> Result<(), String>,
    snapshot: impl Fn() -> S,
) -> Result<Measured<S>, String> {
    let phase = Phase(AtomicU8::new(WARMING));
    let phase = &phase;
    thread::scope(|scope| {
        let clients: Vec<_> = workers
            .into_iter()
            .map(|worker| scope.spawn(move || worker(phase)))
            .collect();
        // Ends early when nobody is left to measure.
        let pause = |time: Duration| {
            let until = Instant::now() + time;
            while Instant::now() < until && clients.iter().any(|client| !client.is_finished()) {
                let left = until.saturating_duration_since(Instant::now());
                thread::sleep(left.min(Duration::from_millis(100)));
            }
        };
        pause(time.warmup);
        let settled = settle();
        let before = snapshot();
        let begun = Instant::now();
        phase.0.store(MEASURING, Ordering::Relaxed);
        let settled = settled.and_then(|()| {
            pause(time.measured);
            settle()
        });
        phase.0.store(ENDING, Ordering::Relaxed);
        let elapsed = begun.elapsed();
        let after = snapshot();
        let mut latency_us = histogram();
        for client in clients {
            let found = client.join().map_err(|_| "a client panicked")??;
            latency_us.add(found).map_err(|error| error.to_string())?;
        }
        settled?;
        Ok(Measured {
            latency_us,
            elapsed,
            before,
            after,
        })
    })
}

/// Runs all of these at the same time; the first error of any.
pub fn all<'a, W>(works: impl Iterator<Item = &'a W>) -> Result<(), String>
where
    W: Fn() -> Result<(), String> + Sync + 'a,
{
    thread::scope(|scope| {
        let threads: Vec<_> = works.map(|work| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<(), String>>| {
            thread.join().map_err(|_| "a client panicked")?
        };
        threads.into_iter().try_for_each(join)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    const SHORT: Time = Time {
        warmup: Duration::from_millis(5),
        measured: Duration::from_millis(50),
    };

    #[test]
    fn only_what_ends_in_time_counts() {
        let all = AtomicU64::new(0);
        let one = || {
            client(|| {
                all.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
                Ok(())
            })
        };
        let snapshot = || all.load(Ordering::Relaxed);
        let settled = AtomicU64::new(0);
        let settle = || {
            settled.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let measured = run(vec![one(), one()], SHORT, settle, snapshot).unwrap();
        assert_eq!(settled.into_inner(), 2);
        let counted = measured.latency_us.len();
        assert!(counted > 0 && counted < all.load(Ordering::Relaxed));
        assert!(measured.after > measured.before);
    }

    #[test]
    fn an_error_is_told() {
        let failing = client(|| Err("no".into()));
        let found = run(vec![failing], SHORT, || Ok(()), || ());
        assert_eq!(found.err().as_deref(), Some("no"));
        let unsettled = run(Vec::new(), SHORT, || Err("unsettled".into()), || ());
        assert_eq!(unsettled.err().as_deref(), Some("unsettled"));
    }
}
