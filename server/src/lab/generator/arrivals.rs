//! When events begin, if the clients do not wait for each other: the open loop.
//!
//! In a closed loop a slow server slows the load, and a stall of a second is one slow event of
//! each client, not a second of slow events: the latencies omit what happens in step with the
//! stall (Tene: coordinated omission). Here arrivals are drawn in advance, as a Poisson process,
//! whatever the server does; an arrival that finds no idle client waits, and its latency counts
//! from when it was due.

use crate::lab::random::Random;
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Arrivals to come, arrivals that wait, and clients that could take them.
#[derive(Debug)]
pub struct Arrivals {
    random: Random,
    mean: Duration,
    next: Instant,
    waiting: VecDeque<Instant>,
    /// Idle clients, the longest idle first.
    pub idle: VecDeque<usize>,
}

impl Arrivals {
    /// So many arrivals per second from `start` on, for these clients.
    pub fn new(rate: f64, start: Instant, clients: usize, seed: u64) -> Arrivals {
        let mut arrivals = Arrivals {
            random: Random::new(seed),
            mean: Duration::from_secs_f64(1.0 / rate),
            next: start,
            waiting: VecDeque::new(),
            idle: (0..clients).collect(),
        };
        let first = arrivals.gap();
        arrivals.next += first;
        arrivals
    }

    /// The time between two arrivals: exponentially distributed.
    fn gap(&mut self) -> Duration {
        self.mean.mul_f64(-(1.0 - self.random.fraction()).ln())
    }

    /// An arrival that is due and the client that takes it.
    pub fn take(&mut self, now: Instant) -> Option<(Instant, usize)> {
        while self.next <= now {
            self.waiting.push_back(self.next);
            let gap = self.gap();
            self.next += gap;
        }
        if self.waiting.is_empty() {
            return None;
        }
        let client = self.idle.pop_front()?;
        self.waiting.pop_front().map(|due| (due, client))
    }

    /// When the next arrival is due.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// When the arrival was due that waits longest for a client.
    pub fn oldest(&self) -> Option<Instant> {
        self.waiting.front().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_and_irregular() {
        let start = Instant::now();
        let mut arrivals = Arrivals::new(1000.0, start, 1, 5);
        let end = start + Duration::from_secs(10);
        let mut due = Vec::new();
        while let Some((at, client)) = arrivals.take(end) {
            assert_eq!(client, 0);
            due.push(at);
            arrivals.idle.push_back(client);
        }
        assert!((9_700..10_300).contains(&due.len()), "{}", due.len());
        assert!(due.is_sorted() && due.iter().all(|at| *at > start && *at <= end));
        let gaps: Vec<_> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // Of a Poisson process 1/e of the gaps are longer than their mean.
        let long = gaps
            .iter()
            .filter(|gap| **gap > Duration::from_millis(1))
            .count();
        assert!((3_300..4_100).contains(&long), "{long}");
    }

    #[test]
    fn an_arrival_waits_for_a_client_and_keeps_its_time() {
        let start = Instant::now();
        let mut arrivals = Arrivals::new(1000.0, start, 2, 5);
        let mut again = Arrivals::new(1000.0, start, 9999, 5);
        let late = start + Duration::from_secs(1);
        let planned: Vec<_> = std::iter::from_fn(|| again.take(late))
            .map(|(at, _)| at)
            .collect();
        let first = arrivals.take(late).unwrap();
        let second = arrivals.take(late).unwrap();
        assert_eq!([first, second], [(planned[0], 0), (planned[1], 1)]);
        assert_eq!(arrivals.take(late), None, "all are busy");
        assert_eq!(arrivals.oldest(), Some(planned[2]));
        let later = start + Duration::from_secs(2);
        arrivals.idle.push_back(1);
        assert_eq!(arrivals.take(later), Some((planned[2], 1)));
    }
}
