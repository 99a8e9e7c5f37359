//! How many calls are made at once: of one host, and of all.
//!
//! Each takes a file descriptor, which others need, too; and a host that hangs keeps its calls for
//! as long as they may take. So no host gets more than a part of all.

use cohort_process::limits;
use hyper::{Uri, http::uri::Authority};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls of all hosts at once, if the limit of open files allows that.
const CALLS_MAX: usize = 4_096;
/// Of which one host gets one of so many.
const HOSTS: usize = 4;

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

    /// Waits until a call may be made. Nobody waits for the others of a host while he keeps other
    /// hosts' calls waiting.
    pub async fn take(&self, uri: &Uri) -> Turn {
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
        let take = |uri| turns.take(uri).now_or_never();
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
}
