//! How many transactions are unfinished. They are counted in the background, by one statement, so
//! that whoever reads the metrics waits for no table; with a million of them that takes seconds,
//! and the pause after it grows with them. Of several coordinators on the same tables one counts.

use super::Coordinator;
use std::{sync::Arc, time::Duration};

/// Ticks between two counts, at least.
const PAUSE_TICKS: u32 = 30;
/// And so many times as long as the last one took.
const PAUSE_FACTOR: u32 = 20;

impl Coordinator {
    /// Counts, until the coordinator stops.
    pub(super) async fn count_unfinished(self: Arc<Self>) {
        let mut took = Duration::ZERO;
        while !self.is_stopping() {
            let pause = self.options.tick * PAUSE_TICKS;
            tokio::time::sleep(pause.max(took * PAUSE_FACTOR)).await;
            if !self.is_first() || self.is_halted() {
                self.metrics.unfinished(None);
                continue;
            }
            let begun = self.env.monotonic_nanos();
            // An outage is told of by those who drive; there is no number then.
            self.metrics.unfinished(self.store.unfinished().await.ok());
            took = Duration::from_nanos(self.env.monotonic_nanos().saturating_sub(begun));
        }
    }
}
