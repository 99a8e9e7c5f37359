//! Row, range and metadata locks, and deadlock detection.
//!
//! # Why it is hard
//!
//! An uncontended lock is on the path of every write, so it must cost a fraction of a
//! microsecond; a contended one must be fair, interruptible (KILL, timeout, deadlock) and never
//! lose a wake-up; and a range must be protected against rows that do not exist yet.
//!
//! # How it works
//!
//! Each tree has a [`TreeLocks`](tree::TreeLocks): an ordered map from lock name to holders and a
//! FIFO queue, and the range locks of each transaction, under one mutex; a lock that one transaction
//! has and nobody waits for is little more than its name (`rows`). When a lock becomes free, the
//! head of its queue is woken, but one who comes just then may take it first; who has waited for
//! long is not passed over any more.
//!
//! * A row's lock is named by its key. An entry of a unique index is named by its parts without
//!   the row's key, so that two uncommitted rows with equal values meet; entries of other indexes
//!   by their whole key. Inserting takes the X lock of the row and of every entry, and keeps S
//!   where it meets a duplicate (see `claim`); deleting, of the row and of entries of unique
//!   indexes.
//! * A statement that inserts very many rows takes the locks of their entries when it ends (see `delay`). Until
//!   then it has the lock whose name is empty, which lies in every range of its tree.
//! * A range lock keeps others from inserting between its ends. Range locks never conflict with
//!   each other. An insert waits until no other transaction's range covers it, and looks at the
//!   ranges and takes its row lock in one step. A range locker first waits for the row locks X
//!   that others hold in the range: pending inserts are among them. Either way one of the two
//!   sees the other. A locking scan that locks no ranges (READ COMMITTED) waits for these too, for
//!   rows that are about to come, and then goes on without a range lock.
//! * Nothing comes into a range that is locked: not even where the inserting transaction holds the
//!   row lock X, unless it has itself removed what was there. It may have got that lock without a
//!   look at ranges: of a unique value that it moves to another row, whose entry comes to another
//!   place; or of a row that was deleted while it waited for it (which lock it gives back at once).
//!   But who waits for row locks X, to lock a range, lets their holders insert.
//! * Metadata locks, of tables and (FLUSH TABLES WITH READ LOCK, LOCK INSTANCE FOR BACKUP) of the
//!   whole server, are counters with a slow path, see `mdl`.
//!
//! # Invariants
//!
//! 1. A waiter's state changes once, from waiting to what ended it. It becomes *granted* only
//!    under the tree's mutex, with the holder recorded in the same step.
//! 2. Who waits is in the detector's map, from before the search for cycles until the wait is
//!    over. Edges are not stored: they are read from the lock tables when a search needs them,
//!    so they cannot be stale. Every cycle has a member that began to wait last, and its search
//!    finds it, because everybody else in it is in the map already. One whose wait has just ended
//!    waits for nobody; if it has to wait again it searches again.
//! 3. A transaction without locks, and with nobody behind it in the queue by the time it is in
//!    the map, is waited for by nobody, so it does not search: the autocommit statements that
//!    queue at a hot row hardly ever do. Who comes to stand behind it later finds it in the map.
//!
//! Rejected: timeouts instead of detection (1213 must come at once); a central wait graph kept up
//! to date at each grant (a mutex on the hot path); lock bits in the rows (nothing uncommitted is
//! in the store); granting without order, which is faster for a hot row but starves.

mod info;
mod keepers;
pub(super) mod mdl;
pub(super) mod row;
pub(super) mod rows;
pub(super) mod table_lock;
#[cfg(test)]
mod tests;
pub(super) mod tree;

pub use info::{
    DeadlockParty, DeadlockReport, LockInfo, LockKind, LockScope, LockStats, LockWait,
    MetadataLockInfo, MetadataObject,
};

use super::{
    TxnError,
    descriptor::{Descriptor, Registry},
    table_state::TableState,
    waiter::{Waiter, Woken},
    waiting::WaitFor,
};
use crate::{
    invariant::broken,
    types::{IdMap, TreeId},
};
use parking_lot::{Mutex, RwLock};
use row::Name;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use table_lock::TableLock;
use tree::TreeLocks;

/// What a transaction waits for.
#[derive(Clone)]
pub(super) enum Target {
    /// A row lock, or for range locks at an insert's place.
    Row(Arc<TreeLocks>, Name),
    /// A metadata lock.
    Table(Arc<TableState>, TableLock),
    /// Entries that others keep for later: see `keepers`.
    Entries(Arc<TreeLocks>),
}

impl Target {
    fn scope(&self) -> LockScope {
        match self {
            Target::Row(..) | Target::Entries(_) => LockScope::Row,
            Target::Table(table, _) => match MetadataObject::of(table) {
                MetadataObject::Table(_) => LockScope::Table,
                MetadataObject::Writes => LockScope::Read,
                MetadataObject::Definitions => LockScope::Backup,
            },
        }
    }
    /// Whether transactions without any row lock can be in its way.
    fn awaits_users(&self) -> bool {
        matches!(
            self,
            Target::Table(_, TableLock::ReadOnly | TableLock::Exclusive)
        )
    }
}

struct Wait {
    waiter: Arc<Waiter>,
    target: Target,
    since: Instant,
}

#[derive(Default)]
struct Counters {
    waits: AtomicU64,
    current: AtomicU64,
    time_us: AtomicU64,
    time_us_max: AtomicU64,
    deadlocks: AtomicU64,
    timeouts: AtomicU64,
    /// Holds of metadata locks, and those who wait for users of a table to end: then even a
    /// transaction without row locks can be waited for.
    holds: AtomicU64,
}

/// How many deadlocks are remembered.
const REPORTS: usize = 16;

/// All locks of the engine.
pub(super) struct LockManager {
    trees: RwLock<IdMap<Arc<TreeLocks>>>,
    waits: Mutex<HashMap<usize, Wait>>,
    reports: Mutex<VecDeque<DeadlockReport>>,
    counters: Counters,
    registry: Arc<Registry>,
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
    listener: OnceLock<LongWaits>,
    /// How long entries that others keep are waited for, in milliseconds.
    patience_ms: AtomicU64,
}

/// Entries that others keep are waited for so long, in milliseconds. A million come in 0.5 s; but more
/// than this nobody should be late for rows that he has nothing to do with.
const PATIENCE_MS: u64 = 100;

/// Who is told of long waits: the holder's session, its statement, how long.
pub(super) type LongWaits = Box<dyn Fn(u64, &str, Duration) + Send + Sync>;

/// A wait that is told of is not shorter.
const LONG_WAIT: Duration = Duration::from_millis(1);

fn identity(who: &Arc<Descriptor>) -> usize {
    Arc::as_ptr(who) as usize
}

impl LockManager {
    /// A manager without locks. `clock` tells microseconds since 1970, for reports.
    pub fn new(
        registry: &Arc<Registry>,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> LockManager {
        LockManager {
            trees: RwLock::default(),
            waits: Mutex::default(),
            reports: Mutex::default(),
            counters: Counters::default(),
            registry: Arc::clone(registry),
            clock: Box::new(clock),
            listener: OnceLock::new(),
            patience_ms: AtomicU64::new(PATIENCE_MS),
        }
    }
    /// How long entries that others keep are waited for.
    pub fn patience(&self) -> Duration {
        Duration::from_millis(self.patience_ms.load(Ordering::Relaxed))
    }
    /// Changes that, for tests that are not to depend on time.
    #[cfg(test)]
    pub fn set_patience(&self, patience: Duration) {
        let ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        self.patience_ms.store(ms, Ordering::Relaxed);
    }
    /// The lock table of a tree.
    pub fn tree(&self, tree: TreeId) -> Arc<TreeLocks> {
        if let Some(locks) = self.trees.read().get(&tree) {
            return Arc::clone(locks);
        }
        let mut trees = self.trees.write();
        let locks = trees
            .entry(tree)
            .or_insert_with(|| Arc::new(TreeLocks::new(tree)));
        Arc::clone(locks)
    }
    /// Forgets the lock table of a tree that was dropped.
    pub fn forget(&self, tree: TreeId) {
        self.trees.write().remove(&tree);
    }
    /// Microseconds since 1970.
    pub fn now_us(&self) -> u64 {
        (self.clock)()
    }
    /// Sleeps until the wait is over: granted or to be tried again, or an error, after which the
    /// request is gone. Searches for deadlocks first.
    pub fn wait(
        &self,
        waiter: &Arc<Waiter>,
        target: Target,
        deadline: Option<Instant>,
    ) -> Result<Woken, TxnError> {
        let who = Arc::clone(&waiter.descriptor);
        let is_row = target.scope() == LockScope::Row;
        let awaits_users = target.awaits_users();
        if awaits_users {
            self.count_hold();
        }
        if is_row {
            self.counters.waits.fetch_add(1, Ordering::Relaxed);
            self.counters.current.fetch_add(1, Ordering::Relaxed);
        }
        let begin = Instant::now();
        self.enter(waiter, &target);
        let woken = if waiter.is_victim() {
            Woken::Victim
        } else {
            who.waiting.pause(WaitFor::Lock);
            let woken = self.sleep(waiter, &target, deadline);
            who.waiting.resume(WaitFor::Lock);
            woken
        };
        if awaits_users {
            self.uncount_hold();
        }
        let waited = begin.elapsed();
        who.parker.note_lock(waited, is_row);
        if is_row {
            self.count_wait(waited);
        }
        let result = self.finish(waiter, &target, woken);
        // Not before the request has left its queue: a search may need the way through it.
        self.waits.lock().remove(&identity(&who));
        result
    }
    /// Takes a hold of a metadata lock, waiting for it until `deadline`.
    pub fn hold(
        &self,
        who: &Arc<Descriptor>,
        table: &Arc<TableState>,
        mode: TableLock,
        deadline: Option<Instant>,
    ) -> Result<(), TxnError> {
        match table.metadata_lock.hold_or_wait(who, mode) {
            Ok(()) => Ok(()),
            Err(waiter) => {
                let target = Target::Table(Arc::clone(table), mode);
                self.wait(&waiter, target, deadline).map(|_| ())
            }
        }
    }
    /// Says that somebody has holds of metadata locks while it runs transactions.
    pub fn count_hold(&self) {
        self.counters.holds.fetch_add(1, Ordering::SeqCst);
    }
    /// The end of what `count_hold` has said.
    pub fn uncount_hold(&self) {
        self.counters.holds.fetch_sub(1, Ordering::SeqCst);
    }
    /// Has somebody told of long waits for row locks; the first one who asks.
    pub fn on_long_wait(&self, listener: LongWaits) {
        let _ = self.listener.set(listener);
    }
    /// Sleeps until the wait is over, and tells of a long one. Whom it waits for is looked up
    /// before, for nobody knows afterwards, and to wake up only for that costs more.
    fn sleep(&self, waiter: &Arc<Waiter>, target: &Target, deadline: Option<Instant>) -> Woken {
        let (Some(listener), Target::Row(..)) = (self.listener.get(), target) else {
            return sleep(waiter, target, deadline);
        };
        let begin = Instant::now();
        let holder = self.blockers(waiter, target).into_iter().next();
        let held = holder.map(|who| (who.session, who.statement.lock().clone()));
        let woken = sleep(waiter, target, deadline);
        let waited = begin.elapsed();
        if waited >= LONG_WAIT
            && let Some((session, Some(statement))) = held
        {
            listener(session, &statement, waited);
        }
        woken
    }
    fn count_wait(&self, waited: Duration) {
        let us = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX);
        self.counters.current.fetch_sub(1, Ordering::Relaxed);
        self.counters.time_us.fetch_add(us, Ordering::Relaxed);
        self.counters.time_us_max.fetch_max(us, Ordering::Relaxed);
    }
    /// Turns the end of a wait into a result, and cleans up behind one that failed.
    fn finish(
        &self,
        waiter: &Arc<Waiter>,
        target: &Target,
        woken: Woken,
    ) -> Result<Woken, TxnError> {
        if let Target::Entries(tree) = target {
            tree.forget_awaiting(waiter);
            return match woken {
                Woken::Killed => Err(TxnError::Killed),
                // They are there, or are not waited for any longer.
                Woken::Retry | Woken::Timeout => Ok(Woken::Retry),
                Woken::Granted | Woken::Nudged | Woken::Victim => {
                    Err(broken("entries are no lock, and in no cycle").into())
                }
            };
        }
        if tree::goes_on(woken) {
            return Ok(woken);
        }
        let holder = if woken == Woken::Timeout {
            self.counters.timeouts.fetch_add(1, Ordering::Relaxed);
            let blockers = self.blockers(waiter, target);
            blockers
                .first()
                .map_or_else(String::new, |holder| holder.statement_text())
        } else {
            String::new()
        };
        let granted = match target {
            Target::Row(tree, name) => tree.cancel(waiter, name),
            Target::Table(table, _) => table.metadata_lock.cancel(waiter),
            Target::Entries(_) => false,
        };
        if granted {
            return Ok(Woken::Granted);
        }
        Err(match woken {
            Woken::Victim => TxnError::Deadlock,
            Woken::Killed => TxnError::Killed,
            _ => TxnError::LockWaitTimeout { holder },
        })
    }
    fn blockers(&self, waiter: &Arc<Waiter>, target: &Target) -> Vec<Arc<Descriptor>> {
        match target {
            Target::Row(tree, name) => tree.blockers(waiter, name),
            Target::Table(table, _) => {
                let blockers = table.metadata_lock.blockers(waiter);
                let mut found = blockers.holders;
                if let Some(least) = blockers.users {
                    let me = &waiter.descriptor;
                    let mut users = self.registry.all();
                    users.retain(|user| !Arc::ptr_eq(user, me) && user.uses(table.id, least));
                    found.append(&mut users);
                }
                found.extend(blockers.ahead);
                found
            }
            Target::Entries(tree) => tree.keepers(&waiter.descriptor),
        }
    }
    /// Notes who waits for what, and looks for cycles through it.
    fn enter(&self, waiter: &Arc<Waiter>, target: &Target) {
        let who = &waiter.descriptor;
        let mut waits = self.waits.lock();
        waiter.make_known();
        waits.insert(
            identity(who),
            Wait {
                waiter: Arc::clone(waiter),
                target: target.clone(),
                since: Instant::now(),
            },
        );
        let followed = match target {
            Target::Row(tree, name) => tree.is_followed(waiter, name),
            Target::Table(..) => true,
            // It ends by itself.
            Target::Entries(_) => return,
        };
        let can_block = followed
            || who.locks.load(Ordering::Relaxed) > 0
            || self.counters.holds.load(Ordering::SeqCst) > 0;
        if !can_block {
            return;
        }
        // Several cycles can close at once; each costs one victim.
        while let Some(cycle) = self.find_cycle(&waits, who) {
            let victim = self.choose_victim(&cycle);
            self.report(&waits, &cycle, victim);
            self.counters.deadlocks.fetch_add(1, Ordering::Relaxed);
            let Some(victim) = cycle.get(victim) else {
                return;
            };
            if let Some(wait) = waits.get(&identity(victim)) {
                wait.waiter.sacrifice();
            }
            if Arc::ptr_eq(victim, who) {
                return;
            }
        }
    }
    /// The transactions of a cycle through `start`, it first, each waiting for the next.
    fn find_cycle(
        &self,
        waits: &HashMap<usize, Wait>,
        start: &Arc<Descriptor>,
    ) -> Option<Vec<Arc<Descriptor>>> {
        let next = |who: &Arc<Descriptor>| match waits.get(&identity(who)) {
            Some(wait)
                if wait.waiter.is_waiting() && !matches!(wait.target, Target::Entries(_)) =>
            {
                let mut blockers = self.blockers(&wait.waiter, &wait.target);
                // Taken from the end: holders before those who only stand before it in a queue,
                // so that the shorter cycle is found first.
                blockers.reverse();
                blockers
            }
            _ => Vec::new(),
        };
        let mut seen: HashSet<usize> = HashSet::new();
        let mut path = vec![(Arc::clone(start), next(start))];
        while let Some((_, edges)) = path.last_mut() {
            let Some(blocker) = edges.pop() else {
                path.pop();
                continue;
            };
            if Arc::ptr_eq(&blocker, start) {
                return Some(path.into_iter().map(|(who, _)| who).collect());
            }
            if seen.insert(identity(&blocker)) {
                let edges = next(&blocker);
                path.push((blocker, edges));
            }
        }
        None
    }
    /// The one with the fewest changes; the first, who began to wait last, on a tie.
    fn choose_victim(&self, cycle: &[Arc<Descriptor>]) -> usize {
        let weights = cycle.iter().map(|who| who.weight());
        let lightest = weights
            .enumerate()
            .min_by_key(|(place, weight)| (*weight, *place));
        lightest.map_or(0, |(place, _)| place)
    }
    fn report(&self, waits: &HashMap<usize, Wait>, cycle: &[Arc<Descriptor>], victim: usize) {
        let parties = cycle.iter().enumerate().map(|(place, who)| DeadlockParty {
            session: who.session,
            transaction: who.id.load(Ordering::Relaxed),
            statement: who.statement_text(),
            waits_for: match waits.get(&identity(who)).map(|wait| &wait.target) {
                Some(Target::Row(tree, name)) => {
                    let key: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
                    format!("tree {} key {key}", tree.tree)
                }
                Some(Target::Table(table, _)) => format!("table {}", table.id),
                // Nobody in a cycle waits for these.
                Some(Target::Entries(_)) | None => String::new(),
            },
            victim: place == victim,
        });
        let report = DeadlockReport {
            at_us: self.now_us(),
            parties: parties.collect(),
        };
        let mut reports = self.reports.lock();
        if reports.len() == REPORTS {
            reports.pop_front();
        }
        reports.push_back(report);
    }
    /// The last deadlocks, the latest last.
    pub fn deadlocks(&self) -> Vec<DeadlockReport> {
        self.reports.lock().iter().cloned().collect()
    }
    /// All row and range locks and requests.
    pub fn list(&self) -> Vec<LockInfo> {
        let mut trees: Vec<_> = self.trees.read().values().cloned().collect();
        trees.sort_by_key(|tree| tree.tree);
        let mut found = Vec::new();
        for tree in trees {
            tree.list(&mut found);
        }
        found
    }
    /// Whom each waiting session waits for, by session.
    pub fn waits(&self) -> Vec<LockWait> {
        let waits = self.waits.lock();
        let waiting = waits.values().filter(|wait| wait.waiter.is_waiting());
        let edges = waiting.map(|wait| {
            let blockers = self.blockers(&wait.waiter, &wait.target);
            LockWait {
                session: wait.waiter.descriptor.session,
                blockers: blockers.iter().map(|who| who.session).collect(),
                scope: wait.target.scope(),
                waited: wait.since.elapsed(),
            }
        });
        let mut edges: Vec<LockWait> = edges.collect();
        edges.sort_by_key(|wait| wait.session);
        edges
    }
    /// Who waits for which metadata lock.
    pub fn metadata_waits(&self) -> Vec<(Arc<Descriptor>, Arc<TableState>, TableLock)> {
        let waits = self.waits.lock();
        let waiting = waits.values().filter(|wait| wait.waiter.is_waiting());
        let of_tables = waiting.filter_map(|wait| match &wait.target {
            Target::Table(table, mode) => {
                let who = Arc::clone(&wait.waiter.descriptor);
                Some((who, Arc::clone(table), *mode))
            }
            Target::Row(..) | Target::Entries(_) => None,
        });
        of_tables.collect()
    }
    /// The counters.
    pub fn stats(&self) -> LockStats {
        let counters = &self.counters;
        LockStats {
            waits: counters.waits.load(Ordering::Relaxed),
            current_waits: counters.current.load(Ordering::Relaxed),
            time_us: counters.time_us.load(Ordering::Relaxed),
            time_us_max: counters.time_us_max.load(Ordering::Relaxed),
            deadlocks: counters.deadlocks.load(Ordering::Relaxed),
            timeouts: counters.timeouts.load(Ordering::Relaxed),
        }
    }
}

/// Sleeps until the wait is over; a free lock that others may take too is claimed.
fn sleep(waiter: &Arc<Waiter>, target: &Target, deadline: Option<Instant>) -> Woken {
    let mut woken = waiter.sleep(deadline);
    while woken == Woken::Nudged {
        woken = match target {
            Target::Row(tree, name) if !tree.claim(waiter, name) => waiter.sleep(deadline),
            _ => Woken::Granted,
        };
    }
    woken
}
