//! Clocks that were ahead of this one.

use super::{Micros, Transaction};

impl Transaction {
    /// What was written at a time that is still to come was written just now: the clock was set
    /// back, or was ahead for a while. All times that are still to come are moved by the difference,
    /// so nothing waits longer than it did by the other clock.
    pub fn rebase(&mut self, now: Micros) {
        let ahead = self.global.is_ahead_by(now);
        if ahead == 0 {
            return;
        }
        let moved = |time: Micros| match time > now && time < Micros::MAX {
            true => time.saturating_sub(ahead),
            false => time,
        };
        let global = &mut *self.global;
        global.created = moved(global.created);
        global.updated = moved(global.updated);
        global.next_run = moved(global.next_run);
        global.submitted = global.submitted.map(moved);
        global.failing_since = global.failing_since.map(moved);
        for branch in &mut self.branches {
            if branch.not_before > now || branch.failing_since.is_some_and(|since| since > now) {
                branch.not_before = moved(branch.not_before);
                branch.failing_since = branch.failing_since.map(moved);
            }
        }
    }
}
