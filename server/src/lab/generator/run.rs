//! What each client does next, while a workload runs.

use super::{
    arrivals::Arrivals,
    client::{Client, Failure},
    tally::Tally,
    worker::Script,
};
use crate::lab::{
    random::Random,
    workload::{Draw, Workload},
};
use cohort_mysql::{client::wire::Outcome, packet::Writer};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Errors after which sysbench begins an event again: a deadlock, a lock wait that took too
/// long, a row that has changed since it was read.
const RETRIED: [u16; 3] = [1213, 1205, 1020];

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The statements.
    pub workload: &'static Workload,
    /// Rows of the table.
    pub rows: u32,
    /// Events per second that begin, over all clients; without it each client begins the next
    /// when the last has ended.
    pub rate: Option<f64>,
    /// What is not counted at the beginning.
    pub warmup: Duration,
    /// What is counted; of a fixed load, the most it may take.
    pub time: Duration,
    /// A fixed load: so many events of each client, and no more.
    pub each: Option<u32>,
}

/// A workload under way on one worker.
pub struct Run {
    plan: Plan,
    random: Random,
    /// In open loop.
    pub arrivals: Option<Arrivals>,
    /// What was counted since the warm-up.
    pub tally: Tally,
    measured_from: Option<(Instant, Duration)>,
    /// Clients that have not made all events of a fixed load.
    pub left: usize,
}

/// Processor time that this thread has used.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

impl Run {
    /// A run that is about to begin.
    pub fn new(plan: Plan, arrivals: Option<Arrivals>, clients: usize, seed: u64) -> Run {
        Run {
            plan,
            random: Random::new(seed),
            arrivals,
            tally: Tally::default(),
            measured_from: None,
            left: clients,
        }
    }

    /// Ends the warm-up: counts from now.
    pub fn measure(&mut self, now: Instant) {
        if self.measured_from.is_none() {
            self.tally = Tally::default();
            self.measured_from = Some((now, cpu_time()));
        }
    }

    /// Ends the measurement; what was counted.
    pub fn close(mut self, clients: &[Client]) -> Tally {
        let now = Instant::now();
        if let Some((from, cpu)) = self.measured_from {
            self.tally.close(now - from, cpu_time().saturating_sub(cpu));
        }
        let busy = clients.iter().filter(|client| !client.is_idle());
        let begun = busy.map(|client| client.begun);
        let waiting = self.arrivals.as_ref().and_then(Arrivals::oldest);
        let oldest = begun.chain(waiting).min();
        self.tally.oldest = oldest.map_or(Duration::ZERO, |oldest| now - oldest);
        self.tally
    }

    /// Has a client begin an event.
    pub fn begin(
        &mut self,
        client: &mut Client,
        begun: Instant,
        out: &mut Writer,
    ) -> Result<(), Failure> {
        client.begun = begun;
        client.step = 0;
        self.execute(client, out)
    }

    fn execute(&mut self, client: &mut Client, out: &mut Writer) -> Result<(), Failure> {
        let Some(kind) = self.plan.workload.statements.get(client.step) else {
            return Ok(());
        };
        let mut draw = Draw {
            random: &mut self.random,
            rows: self.plan.rows,
            deleted: client.deleted,
        };
        kind.put(out, client.prepared[*kind as usize], &mut draw);
        client.deleted = draw.deleted;
        client.query(out)
    }
}

impl Script for Run {
    fn ended(
        &mut self,
        number: usize,
        client: &mut Client,
        outcome: Outcome,
        out: &mut Writer,
    ) -> Result<(), Failure> {
        match outcome {
            Ok(_) => client.step += 1,
            Err(error) if RETRIED.contains(&error.code) => {
                self.tally.retry(error.code);
                client.step = 0;
            }
            Err(error) => return Err(error.to_string()),
        }
        self.tally.statements += 1;
        if client.step < self.plan.workload.statements.len() {
            return self.execute(client, out);
        }
        let now = Instant::now();
        self.tally
            .event(now.saturating_duration_since(client.begun));
        client.events += 1;
        if self.plan.each.is_some_and(|each| client.events >= each) {
            self.left -= 1;
            return Ok(());
        }
        match &mut self.arrivals {
            Some(arrivals) => {
                arrivals.idle.push_back(number);
                Ok(())
            }
            None => self.begin(client, now, out),
        }
    }
}
