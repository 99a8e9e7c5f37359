//! What time it is.
//!
//! The wall clock's time at the start, going on as the monotonic clock does: a wall clock that is set
//! while the server runs moves no deadline. Coordinators that share tables go by the clock of the
//! server that has them, since each reads what others have written: they take it over when they
//! begin, and follow it. A jump is followed once it has been told several times in a row: then it
//! was no slip, and whoever begins now goes by that clock, too.

use super::model::Micros;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What is further off than this is a jump.
const JUMP: Micros = 1_000_000;
/// A jump that was told so many times in a row is believed.
const BELIEVED: u32 = 5;

/// See the module.
pub struct Clock {
    /// By how many microseconds it is ahead of the monotonic clock.
    ahead: AtomicU64,
    /// How many times in a row a jump was told.
    jumps: AtomicU32,
}

/// When somebody was asked for the time, and what the answer was.
pub struct Told {
    /// By the monotonic clock, in nanoseconds.
    pub asked: u64,
    /// By the same.
    pub answered: u64,
    /// What was told.
    pub time: Micros,
}

impl Clock {
    /// One that shows `wall` now, which is `monotonic` nanoseconds by the monotonic clock.
    pub fn new(wall: Micros, monotonic: u64) -> Clock {
        Clock {
            ahead: AtomicU64::new(wall.saturating_sub(monotonic / 1000)),
            jumps: AtomicU32::new(BELIEVED),
        }
    }

    /// What it shows at this time by the monotonic clock.
    pub fn at(&self, monotonic: u64) -> Micros {
        self.ahead.load(Ordering::Relaxed) + monotonic / 1000
    }

    /// It may have stood still: whoever tells the time next is right, however far off that is.
    pub fn doubt(&self) {
        self.jumps.store(BELIEVED, Ordering::Relaxed);
    }

    /// Goes by what was told, which was so at some time between question and answer: as long as it
    /// may be right, nothing is changed.
    pub fn follow(&self, told: &Told) {
        let (asked, answered) = (self.at(told.asked), self.at(told.answered));
        let right = told.time.clamp(asked, answered);
        let is_jump = right.abs_diff(told.time) > JUMP;
        if is_jump && self.jumps.fetch_add(1, Ordering::Relaxed) + 1 < BELIEVED {
            return;
        }
        self.jumps.store(0, Ordering::Relaxed);
        let ahead = self.ahead.load(Ordering::Relaxed);
        let moved = (ahead + told.time).saturating_sub(right);
        self.ahead.store(moved, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_follows_and_jumps_if_it_begins_or_is_told_again() {
        let clock = Clock::new(50_000_000, 1_000);
        assert_eq!(clock.at(2_001_000), 50_002_000);
        let told = |time, took| Told {
            asked: 1_000_000_000,
            answered: 1_000_000_000_u64 + took,
            time,
        };
        for (time, took, shown) in [
            (90_500_000, 0, 90_500_000),
            (90_501_000, 2_000_000, 90_500_000),
            (90_503_000, 2_000_000, 90_501_000),
            (90_400_000, 2_000_000, 90_400_000),
            // It is too far off.
            (40_000_000, 2_000_000, 90_400_000),
        ] {
            clock.follow(&told(time, took));
            assert_eq!(clock.at(1_000_000_000), shown);
        }
        clock.doubt();
        clock.follow(&told(40_000_000, 2_000_000));
        assert_eq!(clock.at(1_000_000_000), 40_000_000);
        // One slip among right times is forgotten.
        for time in [
            70_000_000, 40_000_000, 70_000_000, 70_000_000, 70_000_000, 70_000_000,
        ] {
            clock.follow(&told(time, 0));
            assert_eq!(clock.at(1_000_000_000), 40_000_000);
        }
        clock.follow(&told(70_000_000, 0));
        assert_eq!(clock.at(1_000_000_000), 70_000_000);
    }
}
