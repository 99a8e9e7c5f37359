//! Who else uses the same tables, as one coordinator sees it.
//!
//! Each beats, and looks at the others' beats. One that stands still for [`LOOKS`] looks is declared
//! dead, and its transactions are anybody's. What is due and nobody drives is shared out by names,
//! so that not all run after the same; what somebody leaves lying for [`LATE`] is anybody's, too.

use crate::{
    model::{Micros, SECOND},
    outside::{Due, Seen},
};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// A beat that has not changed for so many looks will not.
const LOOKS: u32 = 8;
/// What was due for so long is anybody's.
const LATE: Micros = 5 * SECOND;

/// Who else there is.
#[derive(Debug, Default)]
pub struct Peers {
    /// This one's number; 0: there are no others, and never will be.
    me: u64,
    /// Beats, and for how many looks each stands still. This one is among them.
    alive: FxHashMap<u64, (u64, u32)>,
    /// How many of them have a lower number than this one.
    rank: u64,
}

impl Peers {
    /// Takes in what a look has shown; who is to be declared dead.
    pub fn look(&mut self, me: u64, seen: &[Seen]) -> Vec<Seen> {
        let still = |seen: &Seen| match self.alive.get(&seen.id) {
            Some((beat, looks)) if *beat == seen.beat => looks + 1,
            _ => 0,
        };
        let alive: FxHashMap<_, _> = seen.iter().map(|s| (s.id, (s.beat, still(s)))).collect();
        self.me = me;
        self.alive = alive;
        self.rank = seen.iter().filter(|seen| seen.id < me).count() as u64;
        let is_dead = |seen: &&Seen| seen.id != me && is_time_to_bury(self.alive[&seen.id].1);
        seen.iter().filter(is_dead).copied().collect()
    }

    /// Whether it is this one's to do what one must do.
    pub fn is_first(&self) -> bool {
        self.rank == 0
    }

    /// Whether it is this one's to drive something that is due.
    pub fn may_take(&self, due: &Due, now: Micros) -> bool {
        if self.me == 0 || due.owner == self.me {
            return true;
        }
        if self.alive.contains_key(&due.owner) {
            return false;
        }
        let mut hasher = FxHasher::default();
        hasher.write(due.gid.as_bytes());
        let count = self.alive.len().max(1) as u64;
        hasher.finish() % count == self.rank || due.next_run.saturating_add(LATE) < now
    }
}

/// Whether one that stands still for so many looks is to be declared dead now. Its row may be locked,
/// which is waited for: then it is tried further and further apart.
fn is_time_to_bury(looks: u32) -> bool {
    let again = looks.checked_sub(LOOKS);
    again.is_some_and(|again| again.is_power_of_two() || again % LOOKS == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(beats: &[(u64, u64)]) -> Vec<Seen> {
        let one = |(id, beat): &(u64, u64)| Seen {
            id: *id,
            beat: *beat,
        };
        beats.iter().map(one).collect()
    }

    #[test]
    fn a_beat_that_stands_still_is_a_death() {
        let mut peers = Peers::default();
        for look in 0..u64::from(LOOKS) {
            assert_eq!(peers.look(1, &seen(&[(1, look), (2, 7), (3, look)])), []);
        }
        let dead = peers.look(1, &seen(&[(1, 99), (2, 7), (3, 99)]));
        assert_eq!(dead, seen(&[(2, 7)]));
        // One that beats again, even once, is watched from the beginning.
        assert_eq!(peers.look(1, &seen(&[(1, 100), (2, 8), (3, 100)])), []);
        assert_eq!(peers.look(1, &seen(&[(1, 101), (2, 8), (3, 101)])), []);
    }

    #[test]
    fn who_cannot_be_declared_dead_at_once_is_tried_further_and_further_apart() {
        let tried: Vec<u32> = (0..50).filter(|looks| is_time_to_bury(*looks)).collect();
        assert_eq!(tried, [8, 9, 10, 12, 16, 24, 32, 40, 48]);
    }

    #[test]
    fn everything_due_is_somebodys_and_only_one_takes_it_at_once() {
        let now = 100 * SECOND;
        let all = seen(&[(10, 1), (20, 1), (30, 1)]);
        let peers = [10, 20, 30].map(|me| {
            let mut peers = Peers::default();
            peers.look(me, &all);
            peers
        });
        let due = |number: u32, owner, next_run| Due {
            next_run,
            gid: format!("gid-{number}"),
            owner,
        };
        let takers = |due: Due| {
            let takers = peers.iter().map(|peers| peers.may_take(&due, now));
            takers.collect::<Vec<_>>()
        };
        let mut taken = [0; 3];
        for number in 0..300 {
            // Of nobody, or of one that is dead.
            let takers = takers(due(number, u64::from(number % 2) * 99, now));
            assert_eq!(takers.iter().filter(|takes| **takes).count(), 1, "{number}");
            for (count, takes) in taken.iter_mut().zip(takers) {
                *count += u32::from(takes);
            }
        }
        assert!(taken.iter().all(|count| *count > 50), "{taken:?}");
        assert_eq!(takers(due(1, 20, now)), [false, true, false]);
        assert_eq!(takers(due(1, 0, now - LATE - 1)), [true; 3]);
        assert_eq!(takers(due(1, 20, 0)), [false, true, false]);
        assert!(Peers::default().may_take(&due(1, 0, now), now));
    }
}
