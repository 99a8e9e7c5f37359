//! Leases: the right to drive a transaction, so that nobody drives it twice at once.
//!
//! A lease is an entry in a table of this process; if coordinators share the store, also the
//! transaction's row has its holder ([`Outside::claim`]). Its holder hears of changes that others
//! make to the transaction's row ([`kick`]); one that comes while the holder lets go is not lost,
//! for the end of the lease takes the transaction up again.

use crate::{
    decide::{Progress, Trouble},
    drive,
    model::{Global, Micros, SECOND},
    outside::{Claimed, News, Outside},
};
use std::{
    collections::HashMap,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

/// Who waits for a lease that another coordinator has looks so often whether it is free.
pub const AGAIN: Duration = Duration::from_millis(100);

/// What is not tried again so long after its time is not driven here any more.
const TROUBLE_TIME: Micros = 3_600 * SECOND;

/// How the holder of a lease is told something.
#[derive(Default)]
pub(crate) struct Signal {
    changed: Notify,
    /// A change that the holder has not heard of.
    pending: AtomicBool,
    /// One that allows no further call before it is heard of.
    is_stale: AtomicBool,
    ended: Notify,
    /// So many wait for the lease.
    wanted: AtomicUsize,
}

impl Signal {
    fn send(&self) {
        self.pending.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }
    /// Waits for a change.
    pub async fn received(&self) {
        self.changed.notified().await;
        self.pending.store(false, Ordering::Relaxed);
        self.is_stale.store(false, Ordering::Relaxed);
    }
    /// Whether nothing may be begun before the transaction is read again.
    pub fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }
    /// Somebody waits for the lease: its holder begins no calls, and lets go after those under way.
    fn want(&self) {
        self.wanted.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
    }
    /// Whether somebody waits for the lease: its holder should let go soon.
    pub fn is_lease_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > 0
    }
}

/// The transactions that are driven in this process, with the way to tell who drives them
/// something.
#[derive(Default)]
pub struct Leases {
    driven: Mutex<HashMap<String, Arc<Signal>>>,
    /// How many here wait for which lease, whoever has it.
    wanted: Mutex<HashMap<String, usize>>,
    /// Those that the tables refuse to write.
    troubles: Mutex<HashMap<String, Trouble>>,
}

impl Leases {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Signal>>> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Whoever has this as well as the other lock takes that one first.
    fn lock_wanted(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn lock_troubles(&self) -> MutexGuard<'_, HashMap<String, Trouble>> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Whether nothing is to be begun for it yet, since the tables refuse to write it.
    pub fn is_put_off(&self, gid: &str, now: Micros) -> bool {
        self.trouble(gid).is_some_and(|known| known.is_early(now))
    }
    /// Until when that is so.
    pub fn put_off_until(&self, gid: &str) -> Option<Micros> {
        self.trouble(gid).map(|known| known.until)
    }
    /// Whether it is known to be a dead letter as it is, though its row does not say so.
    pub fn is_dead_letter(&self, as_it_is: &Global) -> bool {
        let known = self.trouble(&as_it_is.gid);
        known.is_some_and(|known| known.is_dead && known.status == Some(as_it_is.status))
    }
    pub(crate) fn trouble(&self, gid: &str) -> Option<Trouble> {
        self.lock_troubles().get(gid).cloned()
    }
    pub(crate) fn set_trouble(&self, gid: &str, trouble: Trouble) {
        self.lock_troubles().insert(gid.to_owned(), trouble);
    }
    /// The tables have taken it, or somebody wants it to be tried again.
    pub(crate) fn end_trouble(&self, gid: &str) {
        self.lock_troubles().remove(gid);
    }
    /// The same if it has come further than where it was: somebody else drove it, or had it retried.
    pub(crate) fn end_trouble_before(&self, gid: &str, progress: Progress) {
        let mut troubles = self.lock_troubles();
        let known = troubles.get(gid).and_then(|known| known.progress);
        if known.is_some_and(|known| known != progress) {
            troubles.remove(gid);
        }
    }
    /// Forgets those that nobody has tried to write for long: others drive them.
    pub fn tidy(&self, now: Micros) {
        let is_recent = |known: &Trouble| known.until.saturating_add(TROUBLE_TIME) > now;
        self.lock_troubles().retain(|_, known| is_recent(known));
    }
    /// How many there are.
    pub fn count(&self) -> usize {
        self.lock().len()
    }
    /// Whether somebody drives it.
    pub fn has(&self, gid: &str) -> bool {
        self.lock().contains_key(gid)
    }
    /// Tells all who drive that something is different for all: the server stops, or who it is.
    pub fn kick_all(&self) {
        for signal in self.lock().values() {
            signal.changed.notify_one();
        }
    }
    /// Waits for the end of a lease, if there is one.
    pub(crate) async fn ended(&self, gid: &str) {
        let Some(signal) = self.lock().get(gid).cloned() else {
            return;
        };
        let ended = signal.ended.notified();
        tokio::pin!(ended);
        ended.as_mut().enable();
        let is_same = |other: &Arc<Signal>| Arc::ptr_eq(other, &signal);
        let still = self.lock().get(gid).is_some_and(is_same);
        if still {
            ended.await;
        }
    }
}

/// Nobody else drives the transaction as long as this lives.
pub struct Lease<O: Outside> {
    outside: Arc<O>,
    gid: String,
    signal: Arc<Signal>,
}

impl<O: Outside> Lease<O> {
    pub(crate) fn signal(&self) -> &Signal {
        &self.signal
    }
}

impl<O: Outside> Drop for Lease<O> {
    fn drop(&mut self) {
        self.outside.leases().lock().remove(&self.gid);
        self.signal.ended.notify_waiters();
        // Whoever waits for the lease has it driven on.
        let is_free = !self.signal.is_lease_wanted() && !self.outside.is_halted();
        if self.signal.pending.load(Ordering::Relaxed) && is_free {
            drive::take_up(&self.outside, &self.gid);
        }
    }
}

/// `None`: somebody in this process has it.
pub fn lease<O: Outside>(outside: &Arc<O>, gid: &str) -> Option<Lease<O>> {
    let mut driven = outside.leases().lock();
    if driven.contains_key(gid) {
        return None;
    }
    let wanted = outside.leases().lock_wanted().get(gid).copied();
    let signal = Arc::new(Signal {
        wanted: AtomicUsize::new(wanted.unwrap_or(0)),
        ..Signal::default()
    });
    driven.insert(gid.to_owned(), Arc::clone(&signal));
    Some(Lease {
        outside: Arc::clone(outside),
        gid: gid.to_owned(),
        signal,
    })
}

/// Somebody here waits for a lease: as long as this lives, nobody in this process begins a call for
/// the transaction.
pub(crate) struct Wish<O: Outside> {
    outside: Arc<O>,
    gid: String,
}

impl<O: Outside> Wish<O> {
    fn new(outside: &Arc<O>, gid: &str) -> Wish<O> {
        let driven = outside.leases().lock();
        *outside
            .leases()
            .lock_wanted()
            .entry(gid.to_owned())
            .or_default() += 1;
        if let Some(signal) = driven.get(gid) {
            signal.want();
        }
        Wish {
            outside: Arc::clone(outside),
            gid: gid.to_owned(),
        }
    }
}

impl<O: Outside> Drop for Wish<O> {
    fn drop(&mut self) {
        let driven = self.outside.leases().lock();
        let mut wanted = self.outside.leases().lock_wanted();
        if let Some(count) = wanted.get_mut(&self.gid) {
            *count -= 1;
            if *count == 0 {
                wanted.remove(&self.gid);
            }
        }
        if let Some(signal) = driven.get(&self.gid) {
            signal.wanted.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The lease as soon as its holder lets go, here or elsewhere, which it is asked to: after the
/// calls under way. If that takes longer than `patience`, the wish for it.
///
/// # Errors
///
/// The tables cannot be read or written.
pub(crate) async fn lease_soon<O: Outside>(
    outside: &Arc<O>,
    gid: &str,
    patience: Duration,
) -> Result<Result<Lease<O>, Wish<O>>, O::Error> {
    let wish = Wish::new(outside, gid);
    let until = pin!(outside.sleep(patience));
    let Some(lease) = lease_until(outside, gid, until).await else {
        return Ok(Err(wish));
    };
    let mut waited = Duration::ZERO;
    while outside.is_shared()
        && let Claimed::Others(owner) = outside.claim(gid).await?
    {
        if waited >= patience {
            return Ok(Err(wish));
        }
        let (gid, is_wanted) = (gid.to_owned(), true);
        outside.tell(owner, News { gid, is_wanted }).await?;
        outside.sleep(AGAIN).await;
        waited += AGAIN;
    }
    Ok(Ok(lease))
}

/// The lease, as soon as nobody in this process has it, until then.
async fn lease_until<O: Outside>(
    outside: &Arc<O>,
    gid: &str,
    mut until: Pin<&mut impl Future<Output = ()>>,
) -> Option<Lease<O>> {
    loop {
        if let Some(lease) = lease(outside, gid) {
            return Some(lease);
        }
        tokio::select! {
            biased;
            () = outside.leases().ended(gid) => {}
            () = &mut until => return None,
        }
    }
}

/// The transaction's row has changed: whoever drives it reads it again, or somebody begins to.
pub fn kick<O: Outside>(outside: &Arc<O>, gid: &str) {
    if !tell_driver(outside, gid) {
        drive::take_up(outside, gid);
    }
}

/// The transaction's row has changed, and whoever drives it here must begin nothing before it is
/// read again.
pub(crate) fn stop(leases: &Leases, gid: &str) {
    if let Some(signal) = leases.lock().get(gid) {
        signal.is_stale.store(true, Ordering::Relaxed);
        signal.send();
    }
}

/// The transaction's row has changed: whoever drives it here reads it again. False: nobody does.
pub(crate) fn tell_driver<O: Outside>(outside: &Arc<O>, gid: &str) -> bool {
    // Under the table's lock: the lease cannot end in between.
    let leases = outside.leases().lock();
    let signal = leases.get(gid);
    signal.inspect(|signal| signal.send()).is_some()
}

/// Takes in what another coordinator has told this one.
pub fn hear<O: Outside>(outside: &Arc<O>, news: &News) {
    if !news.is_wanted {
        return kick(outside, &news.gid);
    }
    // Who wants it takes it up afterwards.
    if let Some(signal) = outside.leases().lock().get(&news.gid) {
        return signal.want();
    }
    // The row says that this one has it, and nobody here does: an operator's change that failed
    // left it so. Whoever takes it up gives it back.
    drive::take_up(outside, &news.gid);
}
