//! What experiments have in common that measure in rounds.

use clap::Args;
use std::time::Duration;

/// How often and how long is measured.
#[derive(Args, Clone, Debug)]
pub struct Rounds {
    /// Rounds; medians count
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Seconds of one measurement
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Seconds before each measurement that do not count
    #[arg(long, default_value_t = 2.0)]
    warmup: f64,
}

impl Rounds {
    /// So many, so many seconds each, after so many that do not count.
    #[must_use]
    pub fn new(rounds: usize, seconds: f64, warmup: f64) -> Rounds {
        Rounds {
            rounds,
            seconds,
            warmup,
        }
    }

    /// Whether the times can be kept.
    #[must_use]
    pub fn are_possible(&self) -> bool {
        self.seconds > 0.0 && self.warmup >= 0.0
    }

    /// How long to wait before a measurement.
    #[must_use]
    pub fn warmup(&self) -> Duration {
        Duration::from_secs_f64(self.warmup)
    }

    /// How long a measurement takes.
    #[must_use]
    pub fn time(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }

    /// How long so many measurements take, without what is between them.
    #[must_use]
    pub fn estimate(&self, measurements: usize) -> Duration {
        (self.warmup() + self.time()) * u32::try_from(measurements).unwrap_or(u32::MAX)
    }
}

/// Tells the user how much will be measured, and how long that takes at least.
pub fn announce(experiment: &str, measurements: usize, time: Duration) {
    let seconds = time.as_secs_f64();
    let time = if seconds < 90.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    };
    eprintln!("{experiment}: {measurements} measurements, about {time} besides loading");
}
