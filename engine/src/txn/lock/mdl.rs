//! Metadata locks: what transactions, LOCK TABLES and DDL have of a table.
//!
//! | mode | who | MySQL's name |
//! |---|---|---|
//! | `Read` | a transaction that reads | SHARED_READ |
//! | `Write` | a transaction that writes, or locks rows to write them | SHARED_WRITE |
//! | `Changing` | DDL that builds something: nobody else begins to change the table | SHARED_UPGRADABLE |
//! | `ReadOnly` | LOCK TABLES … READ: nobody writes; DDL that builds and must not be followed | SHARED_READ_ONLY, SHARED_NO_WRITE |
//! | `Exclusive` | LOCK TABLES … WRITE and DDL: nobody else does anything | SHARED_NO_READ_WRITE, EXCLUSIVE |
//!
//! The transactions' locks are on every statement's path, so they are *uses*, two counters in one
//! word; who uses a table is known by the descriptors, which are only asked when somebody waits
//! for the uses to end. All other locks are *holds*, in a list.
//!
//! 1. Who cannot have what it wants queues, and gets it when it conflicts with nobody else's
//!    hold, with no use, and with nobody before it in the queue. So nobody starves, and who
//!    conflicts with none of them passes them.
//! 2. A hold, and a request for one, bars in the word the uses that conflict with it. So the
//!    counters show for certain who may use the table without asking further, and the word alone
//!    decides for everybody else.
//! 3. A session never waits for itself, and who has a hold, or uses the table, passes the queue:
//!    those in it may be waiting for it. (MySQL lets a transaction that has read a table and now
//!    writes it wait for a DDL, and finds a deadlock.)
//! 4. A session's transaction has ended before it asks for a hold of a table.
//! 5. Who has `Changing` may ask for `ReadOnly` and `Exclusive` as well: it passes the queue, so that
//!    it waits only for those who use the table, and for LOCK TABLES.

use super::{
    super::{descriptor::Descriptor, waiter::Waiter},
    table_lock::TableLock,
};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

// The word: 31 bits count the reading uses, 31 the writing ones; two are flags.
const READER: u64 = 1;
const WRITER: u64 = 1 << 31;
const READERS: u64 = WRITER - 1;
const WRITERS: u64 = READERS << 31;
const WRITES_BARRED: u64 = 1 << 62;
const ALL_BARRED: u64 = 1 << 63;

/// The uses that a lock bars.
fn bars(mode: TableLock) -> u64 {
    match mode {
        TableLock::Read | TableLock::Write | TableLock::Changing => 0,
        TableLock::ReadOnly => WRITES_BARRED,
        TableLock::Exclusive => ALL_BARRED,
    }
}

fn one(writes: bool) -> u64 {
    if writes { WRITER } else { READER }
}

/// The metadata lock of one table.
#[derive(Default)]
pub(in super::super) struct MetadataLock {
    word: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    holds: Vec<(Arc<Descriptor>, TableLock)>,
    queue: VecDeque<Request>,
}

struct Request {
    waiter: Arc<Waiter>,
    mode: TableLock,
    /// Counted when it is granted, and not listed.
    is_use: bool,
    /// Invariant 3.
    passes: bool,
}

/// Whom a request waits for.
pub(in super::super) struct Blockers {
    /// Those with holds.
    pub holders: Vec<Arc<Descriptor>>,
    /// Those who use the table: none, those who write it, or all.
    pub users: Option<TableLock>,
    /// Those who stand before it in the queue.
    pub ahead: Vec<Arc<Descriptor>>,
}

impl MetadataLock {
    /// Begins a use; false: it is barred.
    pub fn try_use(&self, writes: bool) -> bool {
        let barred = if writes {
            ALL_BARRED | WRITES_BARRED
        } else {
            ALL_BARRED
        };
        if self.word.fetch_add(one(writes), Ordering::AcqRel) & barred == 0 {
            return true;
        }
        self.end_use(writes);
        false
    }
    /// As `try_use`, or queues; granted it is a use. `passes`: the transaction uses it already.
    pub fn use_or_wait(
        &self,
        who: &Arc<Descriptor>,
        writes: bool,
        passes: bool,
    ) -> Result<(), Arc<Waiter>> {
        self.request(who, TableLock::of_use(writes), true, passes)
    }
    /// Whether somebody keeps others from writing.
    pub fn bars_writes(&self) -> bool {
        self.word.load(Ordering::Acquire) & (ALL_BARRED | WRITES_BARRED) != 0
    }
    /// Ends a use.
    pub fn end_use(&self, writes: bool) {
        let left = self.word.fetch_sub(one(writes), Ordering::AcqRel) - one(writes);
        let awaited = if writes { WRITERS } else { READERS | WRITERS };
        if left & (ALL_BARRED | WRITES_BARRED) != 0 && left & awaited == 0 {
            self.admit_next();
        }
    }
    /// Apart, so that the function above is small.
    #[cold]
    fn admit_next(&self) {
        self.admit(&mut self.state.lock());
    }
    /// Takes a hold, or queues for it.
    pub fn hold_or_wait(&self, who: &Arc<Descriptor>, mode: TableLock) -> Result<(), Arc<Waiter>> {
        self.request(who, mode, false, false)
    }
    fn request(
        &self,
        who: &Arc<Descriptor>,
        mode: TableLock,
        is_use: bool,
        passes: bool,
    ) -> Result<(), Arc<Waiter>> {
        let mut state = self.state.lock();
        let waiter = Waiter::new(who);
        let holds = state.holds.iter().any(|(holder, _)| holder.is_same(who));
        state.queue.push_back(Request {
            waiter: Arc::clone(&waiter),
            mode,
            is_use,
            passes: passes || holds,
        });
        self.admit(&mut state);
        if waiter.is_granted() {
            Ok(())
        } else {
            Err(waiter)
        }
    }
    /// Whether a session has this hold.
    pub fn is_held(&self, who: &Descriptor, mode: TableLock) -> bool {
        let state = self.state.lock();
        let mut holds = state.holds.iter();
        holds.any(|(holder, held)| *held == mode && holder.is_same(who))
    }
    /// Who has holds, and which.
    pub fn holds(&self) -> Vec<(Arc<Descriptor>, TableLock)> {
        self.state.lock().holds.clone()
    }
    /// Gives back a hold.
    pub fn let_go(&self, who: &Descriptor, mode: TableLock) {
        let mut state = self.state.lock();
        let mut holds = state.holds.iter();
        let place = holds.position(|(holder, held)| holder.is_same(who) && *held == mode);
        if let Some(place) = place {
            state.holds.swap_remove(place);
            self.admit(&mut state);
        }
    }
    /// Takes back a request that gave up; true if it was granted before.
    pub fn cancel(&self, waiter: &Arc<Waiter>) -> bool {
        let mut state = self.state.lock();
        let mine = |request: &Request| Arc::ptr_eq(&request.waiter, waiter);
        state.queue.retain(|request| !mine(request));
        self.admit(&mut state);
        waiter.is_granted()
    }
    /// Whom a request waits for; nobody if it does not wait.
    pub fn blockers(&self, waiter: &Arc<Waiter>) -> Blockers {
        let state = self.state.lock();
        let mut blockers = Blockers {
            holders: Vec::new(),
            users: None,
            ahead: Vec::new(),
        };
        let mut queue = state.queue.iter();
        let Some(place) = queue.position(|other| Arc::ptr_eq(&other.waiter, waiter)) else {
            return blockers;
        };
        let Some(request) = state.queue.get(place) else {
            return blockers;
        };
        let holders = state.holds.iter();
        let holders = holders.filter(|(holder, mode)| request.waits_for(holder, *mode));
        blockers.holders = holders.map(|(holder, _)| Arc::clone(holder)).collect();
        blockers.users = match request.mode {
            TableLock::Read | TableLock::Write | TableLock::Changing => None,
            TableLock::ReadOnly => Some(TableLock::Write),
            TableLock::Exclusive => Some(TableLock::Read),
        };
        let ahead = state.queue.iter().take(place);
        let ahead = ahead.filter(|other| !request.passes && other.mode.conflicts(request.mode));
        blockers.ahead = ahead
            .map(|other| Arc::clone(&other.waiter.descriptor))
            .collect();
        blockers
    }
    /// Grants what can be granted, in order, and bars what must not be granted elsewhere.
    fn admit(&self, state: &mut State) {
        // First, so that no use begins after the look at the counters.
        self.bar(state);
        let mut kept: VecDeque<Request> = VecDeque::new();
        for request in std::mem::take(&mut state.queue) {
            let who = &request.waiter.descriptor;
            let mut ahead = kept.iter();
            let free = (request.passes || !ahead.any(|other| other.mode.conflicts(request.mode)))
                && !state
                    .holds
                    .iter()
                    .any(|(holder, mode)| request.waits_for(holder, *mode))
                && self.word.load(Ordering::Acquire) & request.awaited() == 0;
            if !free {
                if request.waiter.is_waiting() {
                    kept.push_back(request);
                }
            } else if request.waiter.grant() {
                if request.is_use {
                    let one = one(request.mode == TableLock::Write);
                    self.word.fetch_add(one, Ordering::AcqRel);
                } else {
                    state.holds.push((Arc::clone(who), request.mode));
                }
                request.waiter.wake();
            }
        }
        state.queue = kept;
        self.bar(state);
    }
    fn bar(&self, state: &State) {
        let holds = state.holds.iter().map(|(_, mode)| mode);
        let modes = holds.chain(state.queue.iter().map(|request| &request.mode));
        let barred = modes.fold(0, |barred, mode| barred | bars(*mode));
        self.word.fetch_or(barred, Ordering::AcqRel);
        let free = (ALL_BARRED | WRITES_BARRED) & !barred;
        self.word.fetch_and(!free, Ordering::AcqRel);
    }
}

impl Request {
    /// Whether it waits for the end of this hold.
    fn waits_for(&self, holder: &Descriptor, mode: TableLock) -> bool {
        mode.conflicts(self.mode) && !holder.is_same(&self.waiter.descriptor)
    }
    /// The uses whose end it waits for.
    fn awaited(&self) -> u64 {
        match self.mode {
            TableLock::Read | TableLock::Write | TableLock::Changing => 0,
            TableLock::ReadOnly => WRITERS,
            TableLock::Exclusive => READERS | WRITERS,
        }
    }
}
