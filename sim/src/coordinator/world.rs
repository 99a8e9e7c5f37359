//! All that is outside of the coordinators: tables, services, clock, and what is under way between
//! them. Nothing here happens by itself: the run chooses what happens next.

use super::services::{Services, counterpart};
use cohort_coordinator_core::tables::Tables;
use cohort_coordinator_core::{
    decide::{Rules, Transaction},
    model::{Branch, Micros, Pattern, Reply, SECOND, Status},
    outside::{By, Callee, Claimed, News, Saved},
};
use std::{
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

/// Where what somebody waits for will be.
pub struct Slot<T>(Mutex<(Option<T>, Option<Waker>)>);

impl<T> Slot<T> {
    pub fn new() -> Arc<Slot<T>> {
        Arc::new(Slot(Mutex::new((None, None))))
    }
    fn lock(&self) -> MutexGuard<'_, (Option<T>, Option<Waker>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Gives it to whoever waits.
    pub fn fill(&self, value: T) {
        let waker = {
            let mut slot = self.lock();
            slot.0 = Some(value);
            slot.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
    /// Takes it, or says whom to wake.
    pub fn take(&self, waker: &Waker) -> Option<T> {
        let mut slot = self.lock();
        if slot.0.is_none() {
            slot.1 = Some(waker.clone());
        }
        slot.0.take()
    }
}

/// A use of the tables.
pub enum Use {
    Load(String),
    ByHand(String),
    Insert(Transaction, bool),
    Claim(String),
    Save(By, Box<Transaction>, Box<Transaction>, Micros),
    Tell(u64, News),
    Hasten(String, Micros),
    Operate(Box<Transaction>, Box<Transaction>),
    Pause(String, Micros),
    Register(String, Pattern, Vec<Branch>),
}

/// What it came to.
pub enum Used {
    Loaded(Option<Transaction>),
    ByHand(u64),
    Inserted(bool),
    Claimed(Claimed),
    Saved(Saved),
    Registered(cohort_coordinator_core::tables::Registered),
    Told,
}

impl Use {
    /// Reads need not wait for one another; writes are done in their order.
    pub fn is_read(&self) -> bool {
        matches!(self, Use::Load(_) | Use::ByHand(_))
    }
}

/// What the tables refuse until somebody mends them: a column is too small, a right is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// What becomes of the first branch.
    Branch,
    /// What becomes of any branch.
    Branches,
    /// Another status.
    Status,
    /// That it is a dead letter.
    Death,
    /// Everything.
    All,
}

impl Lasting {
    /// All there are.
    pub const ALL: [Lasting; 5] = [
        Lasting::Branch,
        Lasting::Branches,
        Lasting::Status,
        Lasting::Death,
        Lasting::All,
    ];

    fn refuses(self, what: &Use) -> bool {
        let (before, after) = match what {
            _ if self == Lasting::All => return true,
            Use::Save(_, before, after, _) | Use::Operate(before, after) => (before, after),
            _ => return false,
        };
        match self {
            Lasting::Branch => before.branches.first() != after.branches.first(),
            Lasting::Branches => before.branches != after.branches,
            Lasting::Status => before.global.status != after.global.status,
            Lasting::Death => before.global.dead_since != after.global.dead_since,
            Lasting::All => true,
        }
    }
}

/// Who asks: a coordinator, and which of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    pub index: usize,
    pub life: u64,
}

/// The tables could not be used, or nobody knows whether they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unused {
    /// They do not take what was to be written.
    pub is_refused: bool,
}

/// They refuse it.
pub const REFUSED: Unused = Unused { is_refused: true };

/// They could not be reached.
pub const OUTAGE: Unused = Unused { is_refused: false };

/// Something that was asked of the tables.
pub struct Asked {
    pub who: Who,
    pub me: u64,
    pub what: Use,
    pub slot: Arc<Slot<Result<Used, Unused>>>,
}

/// A call of a service.
pub struct Call {
    pub who: Who,
    /// The number under which it was begun.
    pub me: u64,
    pub gid: String,
    pub branch: String,
    pub op: String,
    pub callee: Callee,
    pub slot: Arc<Slot<Reply>>,
    /// Its caller has its answer, or has given it up.
    pub is_answered: bool,
}

/// Somebody waits for a time.
pub struct Timer {
    pub who: Who,
    pub at: Micros,
    pub slot: Arc<Slot<()>>,
}

/// A coordinator's process, as seen from outside.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Counts its starts.
    pub life: u64,
    /// Its number on the shared tables; 0: they are its own.
    pub id: u64,
    pub is_up: bool,
    pub is_paused: bool,
    /// No beat came through for some time.
    pub is_cut_off: bool,
    /// So far its clock is behind the first one.
    pub behind: Micros,
}

/// See the module.
pub struct World {
    /// The time by a clock that nobody sets.
    pub now: Micros,
    /// So far the clock is behind it by which coordinators that start go from then on.
    pub behind: Micros,
    pub rules: Rules,
    pub tables: Tables,
    pub lasting: Option<Lasting>,
    pub services: Services,
    pub machines: Vec<Machine>,
    pub asked: Vec<Asked>,
    pub calls: Vec<Call>,
    pub timers: Vec<Timer>,
    /// A pause was written beside a coordinator elsewhere, which has not heard of it yet.
    pub is_paused_beside: bool,
    pub random: u64,
    pub last_id: u64,
    /// Who told of the dead letter, because of which branch and in which status, since somebody else
    /// changed it last.
    pub told: Vec<(Who, Option<usize>, Status)>,
    /// Somebody was told since an operator had it retried last.
    pub is_told: bool,
    /// Since then something came to nothing.
    pub has_failed: bool,
    /// A coordinator's process, or its tables, were away: what it knew, nobody may know.
    pub was_away: bool,
    /// A client had what waits be done at once.
    pub was_hastened: bool,
    /// What does not hold.
    pub wrong: Option<String>,
    /// What happened, if anybody wants to read it.
    pub story: Option<String>,
}

impl World {
    pub fn is_shared(&self) -> bool {
        self.machines.len() > 1
    }
    /// Whether this life of a coordinator still is one.
    pub fn lives(&self, who: Who) -> bool {
        let machine = &self.machines[who.index];
        machine.is_up && machine.life == who.life
    }
    /// What time it is for a coordinator.
    pub fn clock(&self, who: Who) -> Micros {
        self.now - self.machines[who.index].behind
    }
    /// The same when it looks at its clock. No two that look see the same.
    pub fn look_at_clock(&mut self, who: Who) -> Micros {
        self.now += 1;
        self.clock(who)
    }
    pub fn is_halted(&self, who: Who) -> bool {
        !self.lives(who) || self.machines[who.index].is_cut_off
    }
    pub fn tell(&mut self, line: impl FnOnce(&World) -> String) {
        if self.story.is_some() {
            let line = line(self);
            let seconds = self.now as f64 / SECOND as f64;
            if let Some(story) = &mut self.story {
                let _ = writeln!(story, "{seconds:>9.2}  {line}");
            }
        }
    }
    /// Notes what must not be; the first counts.
    pub fn fail(&mut self, why: impl FnOnce() -> String) {
        if self.wrong.is_none() {
            let why = why();
            self.tell(|_| format!("WRONG: {why}"));
            self.wrong = Some(why);
        }
    }

    /// Uses the tables, as the server that has them does.
    pub fn use_tables(&mut self, asked: &Asked) -> Result<Used, Unused> {
        let now = self.look_at_clock(asked.who);
        let (me, what) = (asked.me, &asked.what);
        // Whoever was declared dead writes nothing: its beat is part of each of its writes.
        if !what.is_read() && self.tables.is_dead(me) {
            return Err(OUTAGE);
        }
        if self.lasting.is_some_and(|lasting| lasting.refuses(what)) {
            self.has_failed = true;
            return Err(REFUSED);
        }
        let is_shared = self.is_shared();
        let tables = &mut self.tables;
        Ok(match what {
            Use::Load(gid) => Used::Loaded(tables.load(gid)),
            Use::ByHand(gid) => Used::ByHand(tables.by_hand(gid)),
            Use::Insert(transaction, is_driven) => {
                Used::Inserted(tables.insert(me, transaction, *is_driven))
            }
            Use::Claim(gid) => Used::Claimed(tables.claim(me, gid)),
            Use::Save(by, before, after, at) => {
                let was = tables.status(&after.global.gid);
                let was_dead = tables.is_dead_letter(&after.global.gid);
                let saved = tables.save(me, *by, (before, after), *at);
                if saved == Saved::Yes {
                    self.told.retain(|told| told.0 == asked.who);
                }
                let is = tables.status(&after.global.gid);
                let is_new_dead = !was_dead && tables.is_dead_letter(&after.global.gid);
                if was != is && was.is_some_and(|was| was.is_final()) {
                    self.fail(|| format!("{was:?} became {is:?}"));
                }
                if is_new_dead && !self.has_failed {
                    self.fail(|| "it became a dead letter, and nothing has failed".to_owned());
                }
                Used::Saved(saved)
            }
            Use::Tell(owner, news) => {
                if !tables.is_dead(*owner) {
                    tables.news.push((*owner, news.clone()));
                }
                Used::Told
            }
            Use::Operate(before, after) => {
                let was_dead = tables.is_dead_letter(&after.global.gid);
                let saved = tables.operate(me, (before, after), now);
                if saved == Saved::Yes && after.global.dead_since.is_none() {
                    self.told.clear();
                    let is_told = std::mem::take(&mut self.is_told);
                    // Somebody who was away may still know of a failure, and be heard again.
                    self.has_failed &= self.was_away;
                    if was_dead && !is_told && !self.was_away {
                        self.fail(|| "nobody was told of a dead letter".to_owned());
                    }
                }
                Used::Saved(saved)
            }
            Use::Pause(gid, since) => {
                let saved = tables.pause(gid, *since);
                self.is_paused_beside |= saved == Saved::Yes && is_shared;
                self.told.clear();
                Used::Saved(saved)
            }
            Use::Hasten(gid, pause) => {
                tables.hasten(gid, *pause, now);
                self.was_hastened = true;
                Used::Told
            }
            Use::Register(gid, pattern, branches) => {
                Used::Registered(tables.register(gid, *pattern, branches.clone()))
            }
        })
    }

    /// What must hold when somebody is told of a dead letter: that is done for each branch that has
    /// failed, or for the transaction as a whole.
    pub fn check_told(&mut self, who: Who, whose: Option<usize>, status: Status) {
        let is_same = |told: &(Who, Option<usize>, Status)| {
            (told.0, told.2) == (who, status) && (whose.is_none() || told.1 == whose)
        };
        // What was away may be late to tell.
        if !self.was_away && self.told.iter().any(is_same) {
            self.fail(|| format!("{} tells of a dead letter twice", who.index));
        }
        self.told.push((who, whose, status));
        self.is_told = true;
    }

    /// What must hold when a coordinator begins a call.
    pub fn check_call(&mut self, me: u64, gid: &str, branch: &str, op: &str) {
        let status = self.tables.status(gid);
        // A client that has ended it itself may be asked once more.
        if let Some(status) = status.filter(|status| status.is_final() && op != "query") {
            self.fail(|| format!("{branch} {op} of {gid} is called after it has {status:?}"));
        }
        let open = self
            .calls
            .iter()
            .filter(|call| call.gid == gid && !call.is_answered);
        // What is under way for one that was declared dead cannot be helped.
        let mut living = open.filter(|call| !self.tables.is_dead(call.me));
        if let Some(other) = living
            .clone()
            .find(|call| call.me != me)
            .map(|call| call.me)
        {
            self.fail(|| format!("{gid} is driven by {me} and by {other} at once"));
        } else if living
            .clone()
            .any(|call| Some(&*call.op) == counterpart(op) && call.branch == branch)
        {
            self.fail(|| format!("{branch} {op} of {gid} is called while it is being done"));
        } else if living.any(|call| (call.branch.as_str(), call.op.as_str()) == (branch, op)) {
            self.fail(|| format!("{branch} {op} of {gid} is called twice at once"));
        } else if self.tables.is_dead(me) {
            self.fail(|| format!("{me} was declared dead, and calls {branch} {op} of {gid}"));
        } else if self.tables.is_dead_letter(gid) {
            self.fail(|| format!("{branch} {op} of {gid} is called, and it is a dead letter"));
        } else if self.tables.is_paused(gid) && !self.is_paused_beside {
            self.fail(|| format!("{branch} {op} of {gid} is called, and it is paused"));
        }
    }
}
