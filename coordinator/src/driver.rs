//! Drives global transactions: performs what `decide` says, and tells it what came of it.
//!
//! Each transaction that has something to do is driven by one task, which holds its lease. One
//! that only waits is let go; its `next_run` is in its row, and the ticker takes it up again. Who
//! changes a transaction's status from outside (a submit, an abort) does so by compare and set,
//! and then tells the task, which reads it again.
//!
//! Saved and waited for: that a transaction is known or submitted, that it turns to abort, calls
//! that came to nothing, and its end. Successes in between are kept in memory and are written with
//! the next of these, or when the task lets go: should a crash lose them, the branches are called
//! again, which they allow by contract. So a saga that goes well costs two durable waits, whatever
//! its length. Its row says whether successes can be missing (`is_exact`): while they can, whoever
//! takes it up after a crash and has to undo it undoes all steps.
//!
//! When the server stops, tasks begin no more calls, wait for those under way, save, and let go.

use super::{
    Coordinator,
    call::{Call, shortened},
    decide::{Action, Event, Moment, Transaction},
    extras,
    lease::{self, Lease, Signal},
    model::{CopyOnWrite, Global, Micros, Pattern, Reply, SECOND, Status, Timing},
    store::{Attempt, By, Claimed, News, Saved},
};
use cohort_process::notice;
use cohort_sql::SqlError;
use futures_util::{
    FutureExt,
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt},
};
use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// A task waits itself for what is due within so long; the ticker for the rest.
const LINGER: Micros = 2 * SECOND;

impl Coordinator {
    /// Drives a transaction in a task of its own, if nobody does.
    pub(super) fn take_up(self: &Arc<Self>, gid: &str) {
        if self.is_driven(gid) {
            return;
        }
        let (coordinator, gid) = (Arc::clone(self), gid.to_owned());
        tokio::spawn(async move { coordinator.drive_or_say(&gid, None).await });
    }

    /// Drives a transaction as [`Coordinator::drive`] does; says so if it cannot be, of the first
    /// only, since what keeps one from its rows keeps others, too.
    pub(super) async fn drive_or_say(self: &Arc<Self>, gid: &str, given: Option<Transaction>) {
        if let Err(error) = self.drive(gid, given).await
            && !self.in_trouble.swap(true, Ordering::Relaxed)
        {
            notice!("coordinator: {gid}: {}", error.message);
        }
    }

    /// Drives a transaction until it has ended or only waits. If somebody else drives it, he is
    /// told that it has changed.
    async fn drive(
        self: &Arc<Self>,
        gid: &str,
        given: Option<Transaction>,
    ) -> Result<(), SqlError> {
        let Some(lease) = self.lease(gid) else {
            return Ok(());
        };
        if let Driven::ByOther(owner) = self.drive_under(&lease, gid, given).await? {
            self.tell_changed(owner, gid).await?;
        }
        Ok(())
    }

    /// Drives a transaction, or waits until who drives it lets go; as it is then. `None`: it is
    /// not there.
    ///
    /// Many may wait for one: whoever gets the lease drives under it, and is done with that, so
    /// none of them keeps another one from it.
    pub(super) async fn drive_to_rest(
        self: &Arc<Self>,
        gid: &str,
        mut given: Option<Transaction>,
    ) -> Result<Option<Transaction>, SqlError> {
        let mut has_told = false;
        loop {
            if let Some(lease) = self.lease(gid) {
                match self.drive_under(&lease, gid, given).await? {
                    Driven::Here(transaction) => return Ok(Some(*transaction)),
                    Driven::ByOther(owner) if !has_told => {
                        has_told = true;
                        self.tell_changed(owner, gid).await?;
                    }
                    Driven::ByOther(_) | Driven::Lost => {}
                }
                drop(lease);
                tokio::time::sleep(lease::AGAIN).await;
            } else {
                self.lease_ended(gid).await;
            }
            // It is not what was given any more.
            given = None;
            let found = self.store.load(gid).await?;
            if found
                .as_ref()
                .is_none_or(|found| found.global.status.is_final())
            {
                return Ok(found);
            }
        }
    }

    async fn tell_changed(&self, owner: u64, gid: &str) -> Result<(), SqlError> {
        let (gid, is_wanted) = (gid.to_owned(), false);
        self.store.tell(owner, News { gid, is_wanted }).await
    }

    async fn drive_under(
        &self,
        lease: &Lease,
        gid: &str,
        given: Option<Transaction>,
    ) -> Result<Driven, SqlError> {
        let transaction = match given {
            Some(transaction) => transaction,
            None => match self.store.claim(gid).await? {
                Claimed::Ours(transaction) | Claimed::Kept(transaction) => *transaction,
                Claimed::Ended(transaction) => {
                    count_end(self, &transaction.global);
                    return Ok(Driven::Here(transaction));
                }
                Claimed::Missing => return Ok(Driven::Lost),
                Claimed::Others(owner) => return Ok(Driven::ByOther(owner)),
            },
        };
        let mut task = Task {
            extras: extras::OfSteps::read(&transaction.global.steps),
            saved: transaction.clone(),
            transaction,
            attempts: Vec::new(),
        };
        Ok(match task.run(self, lease.signal()).await? {
            true => Driven::Here(Box::new(task.transaction)),
            false => Driven::Lost,
        })
    }

    /// How long a call for this transaction may take, unless its step says so.
    fn request_timeout(&self, global: &Global) -> Micros {
        let own = global.options.request_timeout;
        own.or(self.options.request_timeout)
    }

    /// Now, the rules, and a random number.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            now: self.now(),
            random: self.jitter(),
            rules: self.options.rules,
        }
    }
}

/// What became of a try to drive a transaction.
enum Driven {
    /// It was driven here, or had ended; this is what it is.
    Here(Box<Transaction>),
    /// That coordinator drives it.
    ByOther(u64),
    /// It is somebody else's now, or gone.
    Lost,
}

/// Whom a call is made for.
#[derive(Clone, Copy)]
enum Caller {
    Branch(usize),
    Question,
}

impl Caller {
    /// What its reply is to `decide`.
    fn event(self, reply: Reply) -> Event {
        match self {
            Caller::Branch(place) => Event::Reply(place, reply),
            Caller::Question => Event::Answer(reply),
        }
    }
}

/// A call under way: who it is for, and what it comes to; `None`: it panicked.
type Underway<'a> = BoxFuture<'a, (Caller, Option<(Reply, Attempt)>)>;

/// Calls under way. They have no tasks of their own: whoever waits for them makes them, and they
/// stand still while he waits for something else.
#[derive(Default)]
struct Calls<'a> {
    set: FuturesUnordered<Underway<'a>>,
    /// Branches without a URL: nothing is called, and that succeeds.
    hollow: Vec<usize>,
}

impl Calls<'_> {
    fn is_empty(&self) -> bool {
        self.set.is_empty() && self.hollow.is_empty()
    }
    /// The next that ends; `None`, if there is none.
    async fn next(&mut self) -> Option<(Event, Option<Attempt>)> {
        if let Some(place) = self.hollow.pop() {
            let reply = Reply::Success(String::new());
            return Some((Event::Reply(place, reply), None));
        }
        let (whose, done) = self.set.next().await?;
        let (reply, attempt) = match done {
            Some((reply, attempt)) => (reply, Some(attempt)),
            // The panic has been printed where it happened.
            None => {
                let why = "a mistake in the coordinator; see its log";
                (Reply::Error(why.into()), None)
            }
        };
        Some((whose.event(reply), attempt))
    }
}

/// A transaction and its task.
struct Task {
    transaction: Transaction,
    /// As its rows are.
    saved: Transaction,
    /// Calls whose records are not written yet.
    attempts: Vec<Attempt>,
    /// What its steps ask for; they stay as they were submitted.
    extras: extras::OfSteps,
}

impl Task {
    /// False: somebody else drives it now.
    async fn run(&mut self, coordinator: &Coordinator, signal: &Signal) -> Result<bool, SqlError> {
        let mut calls = Calls::default();
        let mut event = Event::Look;
        loop {
            let actions = self.transaction.decide(event, coordinator.moment());
            let mut until = None;
            for action in actions {
                match action {
                    Action::Save => {
                        if self.save(coordinator, By::Driver).await? == Saved::TooLate {
                            if !self.reload(coordinator, &mut calls).await? {
                                return Ok(false);
                            }
                            until = Some(0);
                            break;
                        }
                    }
                    Action::Refresh => {
                        // Too late: then it is read again all the more.
                        self.save(coordinator, By::Driver).await?;
                        if !self.reload(coordinator, &mut calls).await? {
                            return Ok(false);
                        }
                        until = Some(0);
                    }
                    Action::Call(place) => self.call(coordinator, place, &mut calls),
                    Action::Ask => self.ask(coordinator, &mut calls),
                    Action::Wait(time) => until = Some(time),
                    Action::Alert(whose, why) => coordinator.alert(&self.transaction, whose, why),
                    Action::End => {
                        count_end(coordinator, &self.transaction.global);
                        return Ok(true);
                    }
                }
            }
            let wait = until.map(|until: Micros| until.saturating_sub(coordinator.now()));
            let lets_go = wait.is_none_or(|wait| wait > LINGER)
                || coordinator.is_halted()
                || signal.is_lease_wanted();
            if calls.is_empty() && lets_go {
                self.let_go(coordinator).await?;
                return Ok(true);
            }
            // Calls end by themselves, in time.
            let is_timed = wait.is_some() || calls.is_empty();
            let pause = Duration::from_micros(wait.unwrap_or(LINGER));
            event = tokio::select! {
                Some((event, attempt)) = calls.next() => {
                    self.record(&event, attempt);
                    event
                }
                () = tokio::time::sleep(pause), if is_timed => Event::Look,
                () = signal.received() => {
                    if !self.reload(coordinator, &mut calls).await? {
                        return Ok(false);
                    }
                    Event::Look
                }
            };
        }
    }

    /// Keeps what is to be known of a call: a branch's own row has room for the first, if it
    /// succeeds.
    fn record(&mut self, event: &Event, attempt: Option<Attempt>) {
        if let (Event::Reply(place, Reply::Success(_)), Some(attempt)) = (event, &attempt)
            && let Some(branch) = self.transaction.branches.get_mut(*place)
            && branch.attempts == 0
        {
            branch.only_call = Some(attempt.timing);
            return;
        }
        self.attempts.extend(attempt);
    }

    async fn save(&mut self, coordinator: &Coordinator, by: By) -> Result<Saved, SqlError> {
        let (before, transaction) = (self.saved.clone(), self.transaction.clone());
        let attempts = std::mem::take(&mut self.attempts);
        let now = coordinator.now();
        let saved = coordinator
            .store
            .save(by, before, transaction, attempts, now)
            .await?;
        if saved == Saved::Yes {
            self.saved = self.transaction.clone();
        }
        Ok(saved)
    }

    /// Somebody else has changed the transaction: waits for the calls under way, whose replies
    /// are about what was, and reads it again. False: it is somebody else's now.
    async fn reload(
        &mut self,
        coordinator: &Coordinator,
        calls: &mut Calls<'_>,
    ) -> Result<bool, SqlError> {
        let mut replies = Vec::new();
        while let Some((reply, attempt)) = calls.next().await {
            self.attempts.extend(attempt);
            replies.push(reply);
        }
        match coordinator
            .store
            .claim(&self.transaction.global.gid)
            .await?
        {
            // What was learned and not saved is not in the rows.
            Claimed::Kept(transaction) => self.replace(*transaction, Transaction::remember),
            Claimed::Ours(transaction) => self.replace(*transaction, Transaction::learn),
            Claimed::Missing => {}
            Claimed::Ended(_) | Claimed::Others(_) => return Ok(false),
        }
        // What is known to be done is done whatever the status is now.
        for reply in replies {
            if let Event::Reply(place, reply) = reply {
                self.transaction
                    .note_reply(place, reply, coordinator.moment());
            }
        }
        Ok(true)
    }

    /// Takes what the rows say, and adds what is known besides.
    fn replace(&mut self, read: Transaction, add: fn(&mut Transaction, Transaction)) {
        let known = std::mem::replace(&mut self.transaction, read.clone());
        self.saved = read;
        add(&mut self.transaction, known);
    }

    async fn let_go(&mut self, coordinator: &Coordinator) -> Result<(), SqlError> {
        self.transaction.settle();
        let unchanged = self.transaction == self.saved && self.attempts.is_empty();
        // Others must see that it is free.
        if !unchanged || coordinator.store.is_shared() {
            // Too late: whoever was faster has told the next task.
            self.save(coordinator, By::Leaver).await?;
        }
        Ok(())
    }

    fn call<'a>(&mut self, coordinator: &'a Coordinator, place: usize, calls: &mut Calls<'a>) {
        if coordinator.is_halted() {
            self.transaction.calling.remove(&place);
            return;
        }
        let Some(branch) = self.transaction.branches.get(place) else {
            return;
        };
        if branch.url.is_empty() {
            return calls.hollow.push(place);
        }
        let extras = self.extras.of(&branch.branch_id);
        let global = &self.transaction.global;
        let mut headers = global.options.branch_headers.clone();
        headers.extend(extras.branch_headers);
        let timeout = coordinator.request_timeout(global);
        let call = Call {
            url: branch.url.clone(),
            body: extras::body(&self.transaction, branch),
            post: global.pattern == Pattern::Xa,
            branch_id: branch.branch_id.clone(),
            op: branch.op.clone(),
            headers,
            timeout: Duration::from_micros(extras.request_timeout.or(timeout)),
        };
        self.begin(coordinator, call, calls, Caller::Branch(place));
    }

    /// Asks the client: `query_prepared`.
    fn ask<'a>(&mut self, coordinator: &'a Coordinator, calls: &mut Calls<'a>) {
        if coordinator.is_halted() {
            self.transaction.asking = false;
            return;
        }
        let global = &self.transaction.global;
        let (op, body) = match global.pattern {
            Pattern::Workflow => super::api::workflow_data(&global.custom_data),
            _ => ("msg".to_owned(), Vec::new()),
        };
        let timeout = coordinator.request_timeout(global);
        let call = Call {
            url: global.query_prepared.clone(),
            body,
            post: global.pattern == Pattern::Workflow,
            branch_id: "00".to_owned(),
            op,
            headers: global.options.branch_headers.clone(),
            timeout: Duration::from_micros(timeout),
        };
        self.begin(coordinator, call, calls, Caller::Question);
    }

    /// Begins a call.
    fn begin<'a>(
        &self,
        coordinator: &'a Coordinator,
        call: Call,
        calls: &mut Calls<'a>,
        whose: Caller,
    ) {
        let global = self.transaction.global.clone();
        // The large future of the call is made where it stays.
        calls.set.push(Box::pin(async move {
            let made = AssertUnwindSafe(make(coordinator, global, call)).catch_unwind();
            (whose, made.await.ok())
        }));
    }
}

fn count_end(coordinator: &Coordinator, global: &Global) {
    let is_success = global.status == Status::Succeed;
    let took = coordinator.now().saturating_sub(global.created);
    let metrics = &coordinator.metrics;
    metrics.transaction(global.pattern, is_success, took);
}

/// Makes a call.
async fn make(
    coordinator: &Coordinator,
    global: CopyOnWrite<Global>,
    call: Call,
) -> (Reply, Attempt) {
    let clock = &coordinator.env;
    let (started, begun) = (clock.wall_micros(), clock.monotonic_nanos());
    let reply = coordinator.caller.call(&global, &call).await;
    let took = clock.monotonic_nanos().saturating_sub(begun) / 1000;
    let is_success = matches!(reply, Reply::Success(_));
    coordinator
        .metrics
        .branch(global.pattern, &call.op, is_success);
    let attempt = record(call, started, took, &reply);
    (reply, attempt)
}

fn record(call: Call, started: Micros, duration_us: u64, reply: &Reply) -> Attempt {
    let (result, error) = match reply {
        Reply::Success(_) => ("success", ""),
        Reply::Failure(why) => ("failure", why.as_str()),
        Reply::Ongoing => ("ongoing", ""),
        Reply::Error(why) => ("error", why.as_str()),
    };
    Attempt {
        branch_id: call.branch_id,
        op: call.op,
        timing: Timing {
            started,
            duration_us,
        },
        result: result.into(),
        error: shortened(error),
    }
}
