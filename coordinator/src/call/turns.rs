//! How many calls are made at once: of one host, and of all.
//!
//! Each takes a file descriptor, which others need, too; and a host that hangs keeps its calls for
//! as long as they may take. So no host gets more than a part of all.
//!
//! Whoever waits too long for a turn makes no call, and tries again later. So those who wait for one
//! host have no end of memory, nor of anything else that they hold; see `ticker`.

use cohort_process::limits;
use hyper::{Uri, http::uri::Authority};
use rustc_hash::FxHashMap;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls of all hosts at once, if the limit of open files allows that.
const CALLS_MAX: usize = 4_096;
/// Of which one host gets one of so many.
const HOSTS: usize = 4;

/// So long a call waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);
/// So long, if others wait for that, too.
const IMPATIENCE: Duration = Duration::from_millis(500);

tokio::task_local! {
    static IS_IMPATIENT: ();
}

/// What this does in its own task waits for no turn for long.
pub fn impatiently<F: Future>(work: F) -> impl Future<Output = F::Output> {
    IS_IMPATIENT.scope((), work)
}

fn patience() -> Duration {
    IS_IMPATIENT.try_with(|()| IMPATIENCE).unwrap_or(PATIENCE)
}

/// So many calls may be made at once, as connections may be kept.
pub(super) fn calls_max() -> usize {
    limits::share_of_files(8).min(CALLS_MAX)
}

/// See the module.
pub(super) struct Turns {
    all: Arc<Semaphore>,
    of_host: usize,
    /// No more than calls: names that collide on purpose gain nothing.
    hosts: Mutex<FxHashMap<Authority, Arc<Semaphore>>>,
}

/// Leave to make a call; dropped, it is another one's.
pub(super) struct Turn {
    _of_host: Option<OwnedSemaphorePermit>,
    _of_all: Option<OwnedSemaphorePermit>,
}

impl Turns {
    pub fn new(calls_max: usize) -> Turns {
        Turns {
            all: Arc::new(Semaphore::new(calls_max.max(1))),
            of_host: (calls_max / HOSTS).max(1),
            hosts: Mutex::default(),
        }
    }

    /// Waits until a call may be made; `None`: that takes too long. Nobody waits for the others of
    /// a host while he keeps other hosts' calls waiting.
    pub async fn take(&self, uri: &Uri) -> Option<Turn> {
        tokio::time::timeout(patience(), self.wait(uri)).await.ok()
    }

    async fn wait(&self, uri: &Uri) -> Turn {
        let host = uri.authority().map(|host| self.host(host));
        // They are never closed.
        let of_host = match host {
            Some(host) => host.acquire_owned().await.ok(),
            None => None,
        };
        Turn {
            _of_host: of_host,
            _of_all: Arc::clone(&self.all).acquire_owned().await.ok(),
        }
    }

    fn host(&self, host: &Authority) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hosts.get(host) {
            return Arc::clone(known);
        }
        let turns = Arc::new(Semaphore::new(self.of_host));
        hosts.insert(host.clone(), Arc::clone(&turns));
        turns
    }

    /// Forgets hosts that nobody calls.
    pub fn tidy(&self) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.retain(|_, turns| Arc::strong_count(turns) > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn a_host_that_hangs_leaves_turns_to_others() {
        let turns = Turns::new(8);
        let (hanging, other): (Uri, Uri) = (
            "http://a:1/x".parse().expect("a url"),
            "http://b:1/x".parse().expect("a url"),
        );
        let take = |uri| turns.wait(uri).now_or_never();
        let mut taken: Vec<_> = std::iter::from_fn(|| take(&hanging)).collect();
        assert_eq!(taken.len(), 2);
        let others: Vec<_> = std::iter::from_fn(|| take(&other)).collect();
        assert_eq!(others.len(), 2);
        taken.pop();
        assert!(take(&hanging).is_some());
        assert_eq!(turns.hosts.lock().expect("no panic").len(), 2);
        drop((taken, others));
        turns.tidy();
        assert!(turns.hosts.lock().expect("no panic").is_empty());
    }

    #[tokio::test]
    async fn nobody_waits_for_ever() {
        let turns = Turns::new(1);
        let uri: Uri = "http://a:1/x".parse().expect("a url");
        let taken = turns.take(&uri).await;
        assert!(taken.is_some());
        assert!(impatiently(turns.take(&uri)).await.is_none());
        drop(taken);
        assert!(impatiently(turns.take(&uri)).await.is_some());
    }
}
