//! The other coordinators on the same tables, as this one sees them; see `store::leases`.
//!
//! Each beats, and looks at the others' beats. Who stands still for [`LOOKS`] looks is declared
//! dead, and its transactions are anybody's. Who does not get its own beat through for
//! [`CUT_OFF`] intervals, which is sooner, begins no more calls: others may soon drive what it
//! drives.
//!
//! What is due and nobody drives is shared out by names, so that not all run after the same; what
//! somebody leaves lying for [`LATE`] is anybody's, too.

use super::{
    Coordinator,
    model::{Micros, SECOND},
    store::{Due, Seen},
};
use cohort_process::notice;
use rustc_hash::{FxHashMap, FxHasher};
use std::{
    hash::Hasher,
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

/// Between two beats.
pub(super) const BEAT: Duration = Duration::from_secs(2);
/// A beat that has not changed for so many looks will not.
const LOOKS: u32 = 8;
/// After so many intervals without a beat nothing new is begun.
const CUT_OFF: u32 = 5;
/// What was due for so long is anybody's.
const LATE: Micros = 5 * SECOND;
/// Changes that others make to what is driven here are heard of so soon.
const NEWS: Duration = Duration::from_millis(100);

/// Who else there is.
#[derive(Debug, Default)]
pub(super) struct Peers {
    /// This one's number; 0: there are no others, and never will be.
    me: u64,
    /// Beats, and for how many looks each stands still. This one is among them.
    alive: FxHashMap<u64, (u64, u32)>,
    /// How many of them have a lower number than this one.
    rank: u64,
}

impl Peers {
    /// Takes in what a look has shown; who is to be declared dead.
    fn look(&mut self, me: u64, seen: &[Seen]) -> Vec<Seen> {
        let still = |seen: &Seen| match self.alive.get(&seen.id) {
            Some((beat, looks)) if *beat == seen.beat => looks + 1,
            _ => 0,
        };
        let alive: FxHashMap<_, _> = seen.iter().map(|s| (s.id, (s.beat, still(s)))).collect();
        self.me = me;
        self.alive = alive;
        self.rank = seen.iter().filter(|seen| seen.id < me).count() as u64;
        let is_dead = |seen: &&Seen| seen.id != me && self.alive[&seen.id].1 >= LOOKS;
        seen.iter().filter(is_dead).copied().collect()
    }

    /// Whether it is this one's to drive something that is due.
    fn may_take(&self, due: &Due, now: Micros) -> bool {
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

impl Coordinator {
    fn peers(&self) -> std::sync::MutexGuard<'_, Peers> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is this coordinator's to drive something that is due.
    pub(super) fn may_take(&self, due: &Due) -> bool {
        self.peers().may_take(due, self.now())
    }

    /// Whether it is this coordinator's to do what one must do.
    pub(super) fn is_first(&self) -> bool {
        self.peers().rank == 0
    }

    /// Beats and looks, until the coordinator stops; only if there may be others.
    pub(super) async fn meet_peers(self: Arc<Self>) {
        let beat = self.options.beat;
        let mut was_cut_off = false;
        while !self.is_stopping() {
            tokio::time::sleep(beat).await;
            let left = self.cut_off_after().saturating_sub(self.since_beat());
            match tokio::time::timeout(left.max(beat), self.meet()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.note_outage(&error.message),
                Err(_) => self.note_outage("the store does not answer"),
            }
            let is_cut_off = self.is_cut_off();
            match (was_cut_off, is_cut_off) {
                (false, true) => {
                    notice!("coordinator: cut off from the store: nothing new is begun");
                    self.kick_all();
                }
                (true, false) => notice!("coordinator: the store is back"),
                _ => {}
            }
            was_cut_off = is_cut_off;
        }
    }

    fn cut_off_after(&self) -> Duration {
        self.options.beat.saturating_mul(CUT_OFF)
    }

    fn since_beat(&self) -> Duration {
        let beaten = self.beaten.load(Ordering::Relaxed);
        Duration::from_nanos(self.env.monotonic_nanos().saturating_sub(beaten))
    }

    /// Whether no beat came through for so long that others may drive what this one drives, be it
    /// that the store is out of reach or that this process was not executed.
    pub(super) fn is_cut_off(&self) -> bool {
        self.store.is_shared() && self.since_beat() >= self.cut_off_after()
    }

    /// Beats, and looks at the others.
    pub(super) async fn meet(&self) -> Result<(), cohort_sql::SqlError> {
        let (begun, before) = (self.env.monotonic_nanos(), self.store.me());
        self.store.beat().await?;
        let me = self.store.me();
        if me != before {
            // Declared dead: what is driven here may be others' by now.
            self.kick_all();
        }
        self.beaten.store(begun, Ordering::Relaxed);
        let seen = self.store.alive().await?;
        let dead = self.peers().look(me, &seen);
        if !dead.is_empty() {
            let numbers: Vec<u64> = dead.iter().map(|seen| seen.id).collect();
            notice!("coordinator: declares dead {numbers:?}, whose beats stand still");
            self.store.bury(dead).await?;
        }
        Ok(())
    }

    fn note_outage(&self, why: &str) {
        if !self.in_trouble.swap(true, Ordering::Relaxed) {
            notice!("coordinator: {why}");
        }
    }

    /// Hears what others changed, until the coordinator stops; only if there may be others.
    pub(super) async fn hear_news(self: Arc<Self>) {
        while !self.is_stopping() {
            // An outage is told of by those who beat.
            for news in self.store.news().await.unwrap_or_default() {
                if news.is_wanted
                    && let Some(signal) = self.driven().get(&news.gid)
                {
                    signal.want();
                }
                self.kick(&news.gid);
            }
            tokio::time::sleep(NEWS).await;
        }
    }
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
