//! What one measurement counts.

use hdrhistogram::Histogram;
use std::{collections::BTreeMap, time::Duration};

/// Latencies are kept in microseconds, to three digits, up to an hour.
const LATENCY_US_MAX: u64 = 3_600_000_000;
const DIGITS: u8 = 3;

/// Counts of one worker, or of all.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Events that ended.
    pub events: u64,
    /// Events that ended, per second.
    pub events_per_s: f64,
    /// Statements that ended.
    pub statements: u64,
    /// Statements that ended, per second.
    pub statements_per_s: f64,
    /// Errors after which an event began again, by number.
    pub retries: BTreeMap<u16, u64>,
    /// From an event's begin (in open loop: when it should have begun) to its end.
    pub latency_us: Histogram<u64>,
    /// The age of the oldest event that had not ended at the end.
    pub oldest: Duration,
    /// Processor time of the generator.
    pub cpu: Duration,
    /// How long was counted; by the worker that took longest.
    pub elapsed: Duration,
}

/// An empty histogram of microseconds. Its size is fixed: one that grows takes what exceeds it now
/// for the largest value it knows, if told to saturate.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LATENCY_US_MAX, DIGITS)
        .unwrap_or_else(|_| unreachable!("the bounds of a histogram are constants"))
}

impl Default for Tally {
    fn default() -> Tally {
        let latency_us = histogram();
        Tally {
            events: 0,
            events_per_s: 0.0,
            statements: 0,
            statements_per_s: 0.0,
            retries: BTreeMap::new(),
            latency_us,
            oldest: Duration::ZERO,
            cpu: Duration::ZERO,
            elapsed: Duration::ZERO,
        }
    }
}

impl Tally {
    /// Counts an event that took so long.
    pub fn event(&mut self, latency: Duration) {
        self.events += 1;
        let us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.latency_us.saturating_record(us);
    }

    /// Counts an error that is tried again.
    pub fn retry(&mut self, code: u16) {
        *self.retries.entry(code).or_default() += 1;
    }

    /// Ends the measurement, which took so long.
    pub fn close(&mut self, elapsed: Duration, cpu: Duration) {
        let seconds = elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        self.events_per_s = self.events as f64 / seconds;
        self.statements_per_s = self.statements as f64 / seconds;
        self.cpu = cpu;
        self.elapsed = elapsed;
    }

    /// Adds what another worker counted at the same time.
    pub fn add(&mut self, other: &Tally) {
        self.events += other.events;
        self.events_per_s += other.events_per_s;
        self.statements += other.statements;
        self.statements_per_s += other.statements_per_s;
        for (code, n) in &other.retries {
            *self.retries.entry(*code).or_default() += n;
        }
        // Both have the same bounds, so that nothing can be too large.
        let added = self.latency_us.add(&other.latency_us);
        debug_assert!(added.is_ok());
        self.oldest = self.oldest.max(other.oldest);
        self.cpu += other.cpu;
        self.elapsed = self.elapsed.max(other.elapsed);
    }

    /// The latency in milliseconds that so many percent of the events did not exceed.
    #[must_use]
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        self.latency_us.value_at_quantile(percent / 100.0) as f64 / 1000.0
    }

    /// Microseconds of processor time that the generator spent on a statement.
    #[must_use]
    pub fn cpu_us_per_statement(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.statements.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_add_up() {
        let (mut a, mut b) = (Tally::default(), Tally::default());
        for ms in 1..=50 {
            a.event(Duration::from_millis(ms));
            b.event(Duration::from_millis(50 + ms));
        }
        (a.statements, b.statements) = (150, 50);
        a.retry(1213);
        b.retry(1213);
        b.retry(1205);
        b.oldest = Duration::from_secs(9);
        a.close(Duration::from_secs(10), Duration::from_millis(3));
        b.close(Duration::from_secs(5), Duration::from_millis(1));
        a.add(&b);
        assert_eq!((a.events, a.events_per_s), (100, 15.0));
        assert_eq!(a.statements_per_s, 25.0);
        assert_eq!(a.retries, BTreeMap::from([(1205, 1), (1213, 2)]));
        assert_eq!(a.oldest, Duration::from_secs(9));
        assert_eq!(a.cpu_us_per_statement(), 20.0);
        assert_eq!(a.elapsed, Duration::from_secs(10));
        let near = |percent: f64, ms: f64| {
            let found = a.percentile_ms(percent);
            assert!((found - ms).abs() < ms / 500.0, "p{percent}: {found}");
        };
        near(50.0, 50.0);
        near(99.0, 99.0);
        near(100.0, 100.0);
    }

    #[test]
    fn hours_are_kept_as_the_longest() {
        let mut tally = Tally::default();
        tally.event(Duration::from_secs(1 << 40));
        assert!(tally.percentile_ms(50.0) >= 3_600_000.0);
    }
}
