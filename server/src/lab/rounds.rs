//! What experiments have in common that measure in rounds.

use clap::Args;
use serde::Serialize;
use std::{path::PathBuf, time::Duration};

/// How often and how long is measured, and where the measurements go.
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
    /// Writes every single measurement to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Rounds {
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

    /// Writes what is there so far, if it is to be written: better than nothing, if the rest is
    /// interrupted.
    pub fn write_json(&self, results: &impl Serialize) -> Result<(), String> {
        let Some(path) = &self.json else {
            return Ok(());
        };
        let text = serde_json::to_string_pretty(results).map_err(|error| error.to_string())?;
        std::fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
    }
}
