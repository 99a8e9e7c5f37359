//! A coordinator's process: the core of the real one, with the model's world outside.

use super::plan::GID;
use super::world::{Asked, Call, Slot, Timer, Unused, Use, Used, Who, World};
use cohort_coordinator_core::{
    Outside,
    decide::{Moment, Transaction},
    drive,
    lease::Leases,
    model::{Global, Micros, Reply, Timing},
    outside::{Attempt, By, Called, Callee, Claimed, News, Saved},
};
use futures_util::future::BoxFuture;
use std::{
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

/// What a task's futures call when there is something for it.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task {
    work: BoxFuture<'static, ()>,
    flag: Arc<Flag>,
}

/// One life of a coordinator.
pub struct Process {
    pub world: Arc<Mutex<World>>,
    pub who: Who,
    leases: Leases,
    begun: Mutex<Vec<BoxFuture<'static, ()>>>,
}

/// Its process, and what it is doing.
pub struct Running {
    pub process: Arc<Process>,
    tasks: Vec<Task>,
}

impl Running {
    pub fn start(world: &Arc<Mutex<World>>, who: Who) -> Running {
        Running {
            process: Arc::new(Process {
                world: Arc::clone(world),
                who,
                leases: Leases::default(),
                begun: Mutex::default(),
            }),
            tasks: Vec::new(),
        }
    }

    /// Goes on with all that can go on. Whether anything could.
    pub fn poll(&mut self) -> bool {
        let mut has_moved = false;
        loop {
            let begun = std::mem::take(&mut *self.process.begun());
            let new = begun.into_iter().map(|work| Task {
                work,
                flag: Arc::new(Flag(AtomicBool::new(true))),
            });
            self.tasks.extend(new);
            let mut is_still = true;
            self.tasks.retain_mut(|task| {
                if !task.flag.0.swap(false, Ordering::Relaxed) {
                    return true;
                }
                is_still = false;
                let waker = Waker::from(Arc::clone(&task.flag));
                let polled = task.work.as_mut().poll(&mut Context::from_waker(&waker));
                polled.is_pending()
            });
            if is_still {
                return has_moved;
            }
            has_moved = true;
        }
    }

    /// Whether it drives a transaction.
    pub fn has(&self, gid: &str) -> bool {
        self.process.leases.has(gid)
    }

    /// Until when it begins nothing for the transaction that its tables refuse.
    pub fn put_off_until(&self) -> Option<Micros> {
        self.process.leases.put_off_until(GID)
    }

    /// Whether that time is still to come.
    pub fn is_put_off(&self, now: Micros) -> bool {
        self.process.leases.is_put_off(GID, now)
    }

    /// Drives a transaction, unless it does already.
    pub fn take_up(&self, gid: &str) {
        drive::take_up(&self.process, gid);
    }

    /// Ends here, whatever it was doing.
    pub fn kill(mut self) {
        self.tasks.clear();
        self.process.begun().clear();
    }
}

impl Process {
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn begun(&self) -> MutexGuard<'_, Vec<BoxFuture<'static, ()>>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Uses the tables, when its turn comes.
    pub async fn use_tables(&self, what: Use) -> Result<Used, Unused> {
        let slot = Slot::new();
        {
            let mut world = self.world();
            let me = world.machines[self.who.index].id;
            let asked = Asked {
                who: self.who,
                me,
                what,
                slot: Arc::clone(&slot),
            };
            world.asked.push(asked);
        }
        wait(&slot).await
    }
}

async fn wait<T>(slot: &Slot<T>) -> T {
    poll_fn(|context| match slot.take(context.waker()) {
        Some(value) => Poll::Ready(value),
        None => Poll::Pending,
    })
    .await
}

/// A record of a call; only its time matters here.
fn attempt(now: Micros) -> Attempt {
    Attempt {
        branch_id: String::new(),
        op: String::new(),
        timing: Timing {
            started: now,
            duration_us: 1,
        },
        result: "".into(),
        error: String::new(),
    }
}

fn impossible() -> ! {
    unreachable!("each use has its own answer")
}

impl Outside for Process {
    type Error = Unused;
    type Record = ();

    fn refusal(error: &Unused) -> Option<String> {
        error.is_refused.then(|| "refused".to_owned())
    }
    fn leases(&self) -> &Leases {
        &self.leases
    }
    fn moment(&self) -> Moment {
        let mut world = self.world();
        world.random = world.random.wrapping_mul(6_364_136_223_846_793_005) + 1;
        Moment {
            now: world.look_at_clock(self.who),
            random: world.random >> 20,
            rules: world.rules,
        }
    }
    fn is_halted(&self) -> bool {
        self.world().is_halted(self.who)
    }
    fn me(&self) -> u64 {
        self.world().machines[self.who.index].id
    }
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.begun().push(Box::pin(work));
    }
    async fn sleep(&self, time: Duration) {
        let slot = Slot::new();
        {
            let mut world = self.world();
            let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            let timer = Timer {
                who: self.who,
                at: world.now.saturating_add(micros),
                slot: Arc::clone(&slot),
            };
            world.timers.push(timer);
        }
        wait(&slot).await;
    }

    async fn load(&self, gid: &str) -> Result<Option<Transaction>, Unused> {
        match self.use_tables(Use::Load(gid.to_owned())).await? {
            Used::Loaded(found) => Ok(found),
            _ => impossible(),
        }
    }
    async fn by_hand(&self, gid: &str) -> Result<u64, Unused> {
        match self.use_tables(Use::ByHand(gid.to_owned())).await? {
            Used::ByHand(number) => Ok(number),
            _ => impossible(),
        }
    }
    async fn insert(&self, transaction: Transaction, is_driven: bool) -> Result<bool, Unused> {
        match self.use_tables(Use::Insert(transaction, is_driven)).await? {
            Used::Inserted(is_new) => Ok(is_new),
            _ => impossible(),
        }
    }
    async fn claim(&self, gid: &str) -> Result<Claimed, Unused> {
        let what = match self.is_shared() {
            true => Use::Claim(gid.to_owned()),
            false => Use::Load(gid.to_owned()),
        };
        match self.use_tables(what).await? {
            Used::Claimed(claimed) => Ok(claimed),
            Used::Loaded(Some(found)) => Ok(Claimed::Kept(Box::new(found))),
            Used::Loaded(None) => Ok(Claimed::Missing),
            _ => impossible(),
        }
    }
    async fn save(
        &self,
        by: By,
        before: Transaction,
        transaction: Transaction,
        _: Vec<Attempt>,
        now: Micros,
    ) -> Result<Saved, Unused> {
        let what = Use::Save(by, Box::new(before), Box::new(transaction), now);
        match self.use_tables(what).await? {
            Used::Saved(saved) => Ok(saved),
            _ => impossible(),
        }
    }
    async fn hasten(&self, gid: &str, pause: Micros) -> Result<(), Unused> {
        let what = Use::Hasten(gid.to_owned(), pause);
        self.use_tables(what).await.map(drop)
    }
    async fn operate(
        &self,
        before: Transaction,
        after: Transaction,
        (): (),
    ) -> Result<Saved, Unused> {
        let what = Use::Operate(Box::new(before), Box::new(after));
        match self.use_tables(what).await? {
            Used::Saved(saved) => Ok(saved),
            _ => impossible(),
        }
    }
    async fn pause(&self, gid: &str, since: Micros, (): ()) -> Result<Saved, Unused> {
        match self.use_tables(Use::Pause(gid.to_owned(), since)).await? {
            Used::Saved(saved) => Ok(saved),
            _ => impossible(),
        }
    }
    async fn tell(&self, owner: u64, news: News) -> Result<(), Unused> {
        self.use_tables(Use::Tell(owner, news)).await.map(drop)
    }

    fn call(&self, transaction: &Transaction, callee: Callee) -> BoxFuture<'_, Called> {
        let gid = transaction.global.gid.clone();
        let (branch, op) = match callee {
            Callee::Branch(index) => {
                let branch = &transaction.branches[index];
                (branch.branch_id.clone(), branch.op.clone())
            }
            Callee::Client => ("00".to_owned(), "query".to_owned()),
        };
        let slot = Slot::new();
        {
            let mut world = self.world();
            let me = world.machines[self.who.index].id;
            world.check_call(me, &gid, &branch, &op);
            if self.leases.is_dead_letter(&transaction.global) {
                world.fail(|| format!("{branch} {op} of {gid} is called, and is known to be dead"));
            }
            world.tell(|_| format!("{} calls {branch} {op}", self.who.index));
            world.calls.push(Call {
                who: self.who,
                me,
                gid,
                branch,
                op,
                callee,
                slot: Arc::clone(&slot),
                is_answered: false,
            });
        }
        Box::pin(async move {
            let reply = wait::<Reply>(&slot).await;
            let now = self.world().clock(self.who);
            (reply, Some(attempt(now)))
        })
    }
    fn alert(&self, transaction: &Transaction, whose: Option<usize>, _: String) {
        let global = &transaction.global;
        if global.dead_since.is_some() {
            self.world().check_told(self.who, whose, global.status);
        }
    }
    fn ended(&self, _: &Global) {}
    fn not_driven(&self, _: &str, _: Unused) {}
}
