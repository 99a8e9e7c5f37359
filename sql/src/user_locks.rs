//! The named locks of GET_LOCK(): who holds which, and who waits.
//!
//! A session may hold many, each several times, and waits for one at most. So whoever is about
//! to wait follows the one path from holder to what that one waits for; if it leads back, waiting
//! would be a deadlock (3058). Released locks go to whoever wakes first: nobody was promised an
//! order.

use crate::error::SqlError;
use cohort_engine::txn::{Owner, WaitFor};
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;
use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

/// How often who waits looks whether it was killed.
const NAP: Duration = Duration::from_millis(20);

/// All named locks of a server.
#[derive(Default)]
pub struct UserLocks {
    state: Mutex<State>,
    released: Condvar,
}

#[derive(Default)]
struct State {
    /// Locks by their names in lower case: the holder, and how often it holds it.
    held: FxHashMap<String, (u64, u32)>,
    /// What sessions wait for.
    waits: FxHashMap<u64, String>,
}

impl State {
    /// Takes a lock that is free or the session's own.
    fn take(&mut self, name: &str, session: u64) -> bool {
        match self.held.get_mut(name) {
            None => {
                self.held.insert(name.to_owned(), (session, 1));
                true
            }
            Some((holder, times)) if *holder == session => {
                *times = times.saturating_add(1);
                true
            }
            Some(_) => false,
        }
    }
    /// Whether a session that waits for `name` would in the end wait for itself.
    fn leads_to(&self, name: &str, session: u64) -> bool {
        let mut name = name;
        // Every step is another session's wait, so that more steps than waits are a circle.
        for _ in 0..=self.waits.len() {
            let Some((holder, _)) = self.held.get(name) else {
                return false;
            };
            if *holder == session {
                return true;
            }
            match self.waits.get(holder) {
                Some(next) => name = next,
                None => return false,
            }
        }
        false
    }
}

impl UserLocks {
    /// Who holds a lock.
    #[must_use]
    pub fn holder(&self, name: &str) -> Option<u64> {
        let state = self.state.lock();
        state
            .held
            .get(&name.to_lowercase())
            .map(|(holder, _)| *holder)
    }
    /// For whom a session waits that waits for a lock.
    #[must_use]
    pub fn blocker(&self, session: u64) -> Option<u64> {
        let state = self.state.lock();
        let name = state.waits.get(&session)?;
        state.held.get(name).map(|(holder, _)| *holder)
    }
}

/// A named lock, held or waited for.
#[derive(Debug, PartialEq, Eq)]
pub struct UserLock {
    /// Its name.
    pub name: String,
    /// The connection.
    pub session: u64,
    /// Held, or waited for.
    pub granted: bool,
}

impl UserLocks {
    /// All of them, by session.
    #[must_use]
    pub fn list(&self) -> Vec<UserLock> {
        let state = self.state.lock();
        let lock = |name: &String, session: u64, granted| UserLock {
            name: name.clone(),
            session,
            granted,
        };
        let held = state.held.iter();
        let held = held.map(|(name, (session, _))| lock(name, *session, true));
        let waits = state.waits.iter();
        let waits = waits.map(|(session, name)| lock(name, *session, false));
        let mut all: Vec<UserLock> = held.chain(waits).collect();
        all.sort_by(|a, b| (a.session, &a.name).cmp(&(b.session, &b.name)));
        all
    }
}

/// The named locks as one session sees them.
#[derive(Clone, Copy)]
pub struct Holder<'a> {
    /// All of them.
    pub locks: &'a UserLocks,
    /// The session.
    pub owner: &'a Owner,
    /// How many locks the session holds, counting each as often as it was taken.
    pub held: &'a AtomicU32,
}

impl Holder<'_> {
    /// GET_LOCK: false if the time is over (`None`: waits for ever). 3058 for a deadlock, 1317 if
    /// the session was killed.
    pub fn get(self, name: &str, seconds: Option<u64>) -> Result<bool, SqlError> {
        let session = self.owner.session;
        let name = name.to_lowercase();
        let mut state = self.locks.state.lock();
        if !state.take(&name, session) {
            if seconds == Some(0) {
                return Ok(false);
            }
            if state.leads_to(&name, session) {
                return Err(SqlError::user_lock_deadlock());
            }
            state.waits.insert(session, name.clone());
            drop(state);
            self.owner.waiting.pause(WaitFor::UserLock);
            let taken = self.wait(&name, seconds);
            self.locks.state.lock().waits.remove(&session);
            self.owner.waiting.resume(WaitFor::UserLock);
            if !taken? {
                return Ok(false);
            }
        }
        self.held.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    fn wait(self, name: &str, seconds: Option<u64>) -> Result<bool, SqlError> {
        let deadline = seconds.and_then(|s| Instant::now().checked_add(Duration::from_secs(s)));
        let mut state = self.locks.state.lock();
        while !state.take(name, self.owner.session) {
            if self.owner.is_killed() {
                return Err(SqlError::query_interrupted());
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Ok(false);
            }
            let nap = deadline.map_or(NAP, |deadline| NAP.min(deadline - now));
            self.locks.released.wait_for(&mut state, nap);
        }
        Ok(true)
    }

    /// RELEASE_LOCK: false if another session holds it, `None` if nobody does.
    pub fn release(self, name: &str) -> Option<bool> {
        let name = name.to_lowercase();
        let mut state = self.locks.state.lock();
        let (holder, times) = state.held.get_mut(&name)?;
        if *holder != self.owner.session {
            return Some(false);
        }
        *times -= 1;
        if *times == 0 {
            state.held.remove(&name);
            self.locks.released.notify_all();
        }
        self.held.fetch_sub(1, Ordering::Relaxed);
        Some(true)
    }

    /// RELEASE_ALL_LOCKS, and the end of a session: how many times it held one.
    pub fn release_all(self) -> u64 {
        if self.held.swap(0, Ordering::Relaxed) == 0 {
            return 0;
        }
        let session = self.owner.session;
        let mut state = self.locks.state.lock();
        let mut released = 0;
        state.held.retain(|_, (holder, times)| {
            let mine = *holder == session;
            released += if mine { u64::from(*times) } else { 0 };
            !mine
        });
        self.locks.released.notify_all();
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_engine::txn::Unattended;
    use std::{sync::Arc, thread};

    struct Session(Arc<Owner>, AtomicU32);

    impl Session {
        fn new(id: u64) -> Session {
            Session(Owner::new(id, Arc::new(Unattended)), AtomicU32::new(0))
        }
        fn on<'a>(&'a self, locks: &'a UserLocks) -> Holder<'a> {
            Holder {
                locks,
                owner: &self.0,
                held: &self.1,
            }
        }
    }

    #[test]
    fn a_lock_is_held_as_often_as_it_was_taken() {
        let (locks, one, two) = (UserLocks::default(), Session::new(1), Session::new(2));
        assert_eq!(one.on(&locks).get("Name", None), Ok(true));
        assert_eq!(one.on(&locks).get("nAME", Some(0)), Ok(true));
        assert_eq!(two.on(&locks).get("name", Some(0)), Ok(false));
        assert_eq!(two.on(&locks).release("name"), Some(false));
        assert_eq!(one.on(&locks).release("name"), Some(true));
        assert_eq!(locks.holder("NAME"), Some(1));
        let known = UserLock {
            name: "name".to_owned(),
            session: 1,
            granted: true,
        };
        assert_eq!(locks.list(), [known]);
        assert_eq!(one.on(&locks).release_all(), 1);
        assert_eq!(two.on(&locks).release("name"), None);
    }

    #[test]
    fn a_circle_of_waits_is_refused() {
        let (locks, one, two) = (UserLocks::default(), Session::new(1), Session::new(2));
        one.on(&locks).get("a", None).unwrap();
        two.on(&locks).get("b", None).unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| one.on(&locks).get("b", None));
            while locks.blocker(1) != Some(2) {
                thread::yield_now();
            }
            let refused = two.on(&locks).get("a", None);
            assert_eq!(refused.map_err(|error| error.code), Err(3058));
            two.on(&locks).release_all();
            assert_eq!(waits.join().unwrap(), Ok(true));
        });
    }

    #[test]
    fn a_wait_can_be_killed() {
        let (locks, one, two) = (UserLocks::default(), Session::new(1), Session::new(2));
        one.on(&locks).get("a", None).unwrap();
        two.0.kill();
        let killed = two.on(&locks).get("a", None);
        assert_eq!(killed.map_err(|error| error.code), Err(1317));
    }
}
