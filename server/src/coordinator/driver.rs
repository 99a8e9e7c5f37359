//! Drives global transactions: performs what `decide` says, and tells it what came of it.
//!
//! Each transaction that has something to do is driven by one task, which holds its lease: a
//! name in `driven`. One that only waits is let go; its `next_run` is in its row, and the ticker
//! takes it up again. Who changes a transaction's row from outside (a submit, an abort) does so by
//! compare and set, and then tells the task, which reads it again.
//!
//! Saved and waited for: that a transaction is known or submitted, that it turns to abort, and its
//! end. Replies in between are kept in memory and are written with the next of these, or when the
//! task lets go: should a crash lose them, the branches are called again, which they allow by
//! contract. So a saga that goes well costs two durable waits, whatever its length.

use super::{
    Coordinator,
    call::Call,
    decide::{Action, Event, Moment, Transaction},
    model::{Micros, Pattern, Reply, SECOND},
    store::{Attempt, Saved},
};
use cohort_sql::SqlError;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, task::JoinSet};

/// A task waits itself for what is due within so long; the ticker for the rest.
const LINGER: Micros = 2 * SECOND;
/// How often the ticker looks.
const TICK: Duration = Duration::from_millis(500);
/// How many transactions it takes up at once.
const BATCH: u64 = 500;

/// What a call came to, and its record.
type Outcome = (Event, Option<Attempt>);

impl Coordinator {
    /// Takes up what is due, until the coordinator stops.
    pub(super) async fn tick(self: Arc<Self>) {
        while !self.is_stopping() {
            match self.store.due(self.now(), BATCH).await {
                Ok(due) => {
                    for gid in due {
                        self.take_up(&gid);
                    }
                }
                Err(error) => crate::notice!("coordinator: looking for work: {}", error.message),
            }
            tokio::time::sleep(TICK).await;
        }
    }

    /// Drives a transaction in a task of its own, if nobody does.
    pub(super) fn take_up(self: &Arc<Self>, gid: &str) {
        if self.is_driven(gid) {
            return;
        }
        let (coordinator, gid) = (Arc::clone(self), gid.to_owned());
        tokio::spawn(async move {
            if let Err(error) = coordinator.drive(&gid, None).await {
                crate::notice!("coordinator: {gid}: {}", error.message);
            }
        });
    }

    /// Drives a transaction until it has ended or only waits, and returns it as it is then.
    /// `None`: somebody else drives it, or it is not there.
    pub(super) async fn drive(
        &self,
        gid: &str,
        transaction: Option<Transaction>,
    ) -> Result<Option<Transaction>, SqlError> {
        let Some(lease) = self.lease(gid) else {
            return Ok(None);
        };
        let transaction = match transaction {
            Some(transaction) => Some(transaction),
            None => self.store.load(gid).await?,
        };
        let Some(transaction) = transaction else {
            return Ok(None);
        };
        let mut task = Task {
            saved: transaction.clone(),
            transaction,
            attempts: Vec::new(),
        };
        task.run(self, &lease.changed).await?;
        Ok(Some(task.transaction))
    }

    /// Now, and a random number.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            now: self.now(),
            random: self.random(),
        }
    }
}

/// A transaction and its task.
struct Task {
    transaction: Transaction,
    /// As its rows are.
    saved: Transaction,
    /// Calls whose records are not written yet.
    attempts: Vec<Attempt>,
}

impl Task {
    async fn run(&mut self, coordinator: &Coordinator, changed: &Notify) -> Result<(), SqlError> {
        let mut calls: JoinSet<Outcome> = JoinSet::new();
        let mut event = Event::Look;
        loop {
            let actions = self.transaction.decide(event, coordinator.moment());
            let mut until = None;
            for action in actions {
                match action {
                    Action::Save => {
                        if self.save(coordinator).await? == Saved::TooLate {
                            self.reload(coordinator, &mut calls).await?;
                            until = Some(0);
                            break;
                        }
                    }
                    Action::Call(place) => self.call(coordinator, place, &mut calls),
                    Action::Ask => self.ask(coordinator, &mut calls),
                    Action::Wait(time) => until = Some(time),
                    Action::End => return Ok(()),
                }
            }
            let now = coordinator.now();
            let wait = until.map(|until: Micros| until.saturating_sub(now));
            let lets_go = coordinator.is_stopping() || wait.is_none_or(|wait| wait > LINGER);
            if calls.is_empty() && lets_go {
                return self.let_go(coordinator).await;
            }
            let pause = Duration::from_micros(wait.unwrap_or(3600 * SECOND));
            event = tokio::select! {
                Some(done) = calls.join_next() => self.note(done),
                () = tokio::time::sleep(pause) => Event::Look,
                () = changed.notified() => {
                    self.reload(coordinator, &mut calls).await?;
                    Event::Look
                }
            };
        }
    }

    /// Notes what a call came to.
    fn note(&mut self, done: Result<Outcome, tokio::task::JoinError>) -> Event {
        match done {
            Ok((event, attempt)) => {
                self.attempts.extend(attempt);
                event
            }
            // A panic of a call has been printed where it happened; its branch is called again.
            Err(_) => Event::Look,
        }
    }

    async fn save(&mut self, coordinator: &Coordinator) -> Result<Saved, SqlError> {
        let (before, transaction) = (self.saved.clone(), self.transaction.clone());
        let attempts = std::mem::take(&mut self.attempts);
        let now = coordinator.now();
        let saved = coordinator
            .store
            .save(before, transaction, attempts, now)
            .await?;
        if saved == Saved::Yes {
            self.saved = self.transaction.clone();
        }
        Ok(saved)
    }

    /// Somebody else has changed the transaction: waits for the calls under way, whose replies
    /// are about what was, and reads it again.
    async fn reload(
        &mut self,
        coordinator: &Coordinator,
        calls: &mut JoinSet<Outcome>,
    ) -> Result<(), SqlError> {
        let mut replies = Vec::new();
        while let Some(done) = calls.join_next().await {
            replies.push(self.note(done));
        }
        if let Some(transaction) = coordinator.store.load(&self.transaction.global.gid).await? {
            self.saved = transaction.clone();
            self.transaction = transaction;
        }
        // What is known to be done is done whatever the status is now.
        for reply in replies {
            if let Event::Reply(place, reply) = reply {
                self.transaction
                    .note_reply(place, reply, coordinator.moment());
            }
        }
        Ok(())
    }

    async fn let_go(&mut self, coordinator: &Coordinator) -> Result<(), SqlError> {
        let unchanged = self.transaction == self.saved && self.attempts.is_empty();
        if !unchanged {
            // Too late: whoever was faster has told the next task.
            self.save(coordinator).await?;
        }
        Ok(())
    }

    fn call(&self, coordinator: &Coordinator, place: usize, calls: &mut JoinSet<Outcome>) {
        let Some(branch) = self.transaction.branches.get(place) else {
            return;
        };
        let call = Call::of_branch(&self.transaction.global, branch);
        self.spawn(coordinator, call, calls, move |reply| {
            Event::Reply(place, reply)
        });
    }

    /// Asks the client: `query_prepared`.
    fn ask(&self, coordinator: &Coordinator, calls: &mut JoinSet<Outcome>) {
        let call = question(&self.transaction);
        self.spawn(coordinator, call, calls, Event::Answer);
    }

    /// Makes a call in a task of its own; `event` says what its reply is.
    fn spawn(
        &self,
        coordinator: &Coordinator,
        call: Call,
        calls: &mut JoinSet<Outcome>,
        event: impl FnOnce(Reply) -> Event + Send + 'static,
    ) {
        let global = self.transaction.global.clone();
        let caller = Arc::clone(&coordinator.caller);
        let clock = coordinator.clock();
        calls.spawn(async move {
            let started = clock.wall_micros();
            let reply = caller.call(&global, &call).await;
            let attempt = record(&call, started, clock.wall_micros(), &reply);
            (event(reply), Some(attempt))
        });
    }
}

fn question(transaction: &Transaction) -> Call {
    let global = &transaction.global;
    let (op, body) = match global.pattern {
        Pattern::Workflow => super::api::workflow_data(&global.custom_data),
        _ => ("msg".to_owned(), Vec::new()),
    };
    Call {
        url: global.query_prepared.clone(),
        body,
        post: global.pattern == Pattern::Workflow,
        branch_id: "00".to_owned(),
        op,
    }
}

fn record(call: &Call, started: Micros, ended: Micros, reply: &Reply) -> Attempt {
    let (result, error) = match reply {
        Reply::Success => ("success", ""),
        Reply::Failure(why) => ("failure", why.as_str()),
        Reply::Ongoing => ("ongoing", ""),
        Reply::Error(why) => ("error", why.as_str()),
    };
    Attempt {
        branch_id: call.branch_id.clone(),
        op: call.op.clone(),
        started,
        duration_us: ended.saturating_sub(started),
        result,
        error: error.to_owned(),
    }
}
