//! The load generator: thousands of clients on a few threads.
//!
//! A thread for each client, as sysbench has, ends at some thousands of connections, and long
//! before measures its own scheduler as much as the server's. Here a worker thread owns its share
//! of the clients and waits for all of them in one epoll: a reply costs one read, and the next
//! request one write. What a client keeps between two requests is a few hundred bytes; bytes are
//! read into the worker's one buffer and requests are written in its one writer.
//!
//! 1. A client has at most one request under way, so its socket's buffer always takes the next
//!    one whole, and writing needs no queue.
//! 2. Latency counts from when an event began, however often it was tried again; in open loop,
//!    from when it was due ([`arrivals`]).
//! 3. A measurement counts what ends between two moments, whenever it began. What has not ended
//!    is not lost: the age of the oldest is reported, which shows starvation that percentiles of
//!    ended events hide.
//! 4. Between measurements no client has a transaction open or a statement under way.

mod arrivals;
mod client;
mod run;
mod tally;
mod worker;

pub use run::Plan;
pub use tally::{Tally, histogram};

use super::{target::Endpoint, workload::Workload};
use std::{
    sync::atomic::AtomicU64,
    thread,
    time::{Duration, Instant},
};
use worker::Worker;

/// The threads' starts are not farther apart than this.
const START: Duration = Duration::from_millis(20);

/// Clients that have logged in.
pub struct Fleet {
    workers: Vec<Worker>,
}

impl Fleet {
    /// Opens `count` connections on `threads` threads, at most `at_once` of them logging in at a
    /// time; `opened` counts along.
    pub fn open(
        endpoint: &Endpoint,
        count: usize,
        threads: usize,
        at_once: usize,
        opened: &AtomicU64,
    ) -> Result<Fleet, String> {
        let threads = threads.clamp(1, count.max(1));
        let workers = (0..threads)
            .map(|i| Worker::new(endpoint.clone(), i as u64))
            .collect::<Result<_, _>>()
            .map_err(|error| format!("epoll: {error}"))?;
        let mut fleet = Fleet { workers };
        let at_once = at_once.div_ceil(threads);
        fleet.each(|i, worker| {
            let share = count / threads + usize::from(i < count % threads);
            worker.open(share, at_once, opened)
        })?;
        Ok(fleet)
    }

    /// Prepares a workload's statements on every connection.
    pub fn prepare(&mut self, workload: &Workload) -> Result<(), String> {
        self.each(|_, worker| worker.prepare(workload)).map(drop)
    }

    /// Has every client execute a statement, as text.
    pub fn say(&mut self, sql: &str) -> Result<(), String> {
        self.each(|_, worker| worker.say(sql)).map(drop)
    }

    /// Lets every client end its statement and its transaction, and forget what it has prepared.
    pub fn settle(&mut self, workload: &Workload) -> Result<(), String> {
        self.each(|_, worker| worker.settle(workload)).map(drop)
    }

    /// Runs a workload that is prepared; to be settled afterwards.
    pub fn run(&mut self, plan: Plan) -> Result<Tally, String> {
        let mine = Plan {
            rate: plan.rate.map(|rate| rate / self.workers.len() as f64),
            ..plan
        };
        let start = Instant::now() + START;
        let tallies = self.each(|_, worker| worker.run(mine, start))?;
        let mut sum = Tally::default();
        for tally in &tallies {
            sum.add(tally);
        }
        Ok(sum)
    }

    /// Does the same on each worker, on a thread of its own.
    fn each<T: Send>(
        &mut self,
        what: impl Fn(usize, &mut Worker) -> Result<T, String> + Sync,
    ) -> Result<Vec<T>, String> {
        let what = &what;
        thread::scope(|scope| {
            let workers = self.workers.iter_mut().enumerate();
            let threads: Vec<_> = workers
                .map(|(i, worker)| scope.spawn(move || what(i, worker)))
                .collect();
            let joined = threads.into_iter().map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err("a thread of the generator has panicked".into()))
            });
            joined.collect()
        })
    }
}
