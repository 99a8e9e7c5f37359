//! Drives global transactions: performs what `decide` says, and tells it what came of it.
//!
//! Each transaction that has something to do is driven by one task, which holds its lease. One
//! that only waits is let go; its `next_run` is in its row, and the ticker takes it up again. Who
//! changes a transaction's status from outside (a submit, an abort) does so by compare and set,
//! and then tells the task, which reads it again.
//!
//! Saved and waited for: that a transaction is known or submitted, that it turns to abort, calls
//! that failed without an answer, and its end. Successes in between are kept in memory and are written with
//! the next of these, or when the task lets go: should a crash lose them, the branches are called
//! again, which they allow by contract. So a saga that goes well costs two durable waits, whatever
//! its length. Its row says whether successes can be missing (`is_exact`): while they can, whoever
//! takes it up after a crash and has to undo it undoes all steps.
//!
//! What becomes of it when its tables refuse a save is said in `decide/refused`.
//!
//! When the server stops, tasks begin no more calls, wait for those under way, save, and let go.

mod refused;

use self::refused::After;
use crate::{
    decide::{Action, Event, Transaction},
    lease::{AGAIN, Lease, Signal, lease},
    model::{Micros, Reply, SECOND},
    outside::{Attempt, By, Called, Callee, Claimed, News, Outside, Saved},
};
use futures_util::{
    future::{BoxFuture, Join, Ready, join, ready},
    stream::{FuturesUnordered, StreamExt},
};
use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

/// A task waits itself for what is due within so long; the ticker for the rest.
const LINGER: Micros = 2 * SECOND;

/// So many replies that are there are decided upon together at most.
const REPLIES_MAX: usize = 64;

/// Drives a transaction in a task of its own, if nobody does.
pub fn take_up<O: Outside>(outside: &Arc<O>, gid: &str) {
    if outside.leases().has(gid) {
        return;
    }
    begin(outside, gid, None);
}

/// A transaction that was just made known, to be driven by who has done that under this number.
pub struct Fresh {
    /// As its rows are.
    pub transaction: Transaction,
    /// [`Outside::me`] before they were written.
    pub me: u64,
}

/// Drives a transaction, which may be given, in a task of its own.
pub(crate) fn begin<O: Outside>(outside: &Arc<O>, gid: &str, given: Option<Fresh>) {
    let (shared, gid) = (Arc::clone(outside), gid.to_owned());
    outside.spawn(async move { drive(&shared, &gid, given).await });
}

/// Drives a transaction until it has ended or only waits. If somebody else drives it, that one is
/// told that it has changed.
pub async fn drive<O: Outside>(outside: &Arc<O>, gid: &str, given: Option<Fresh>) {
    let Some(lease) = lease(outside, gid) else {
        return;
    };
    let driven = match drive_under(&lease, outside, gid, given).await {
        Ok(Driven::ByOther(owner)) => tell_changed(outside, owner, gid).await,
        driven => driven.map(drop),
    };
    if let Err(error) = driven {
        refused::put_off(outside.as_ref(), gid, &error);
        outside.not_driven(gid, error);
    }
}

/// Drives a transaction, or waits until who drives it lets go; as it is then. `None`: it is not
/// there.
///
/// Many may wait for one: whoever gets the lease drives under it, and is done with that, so none
/// of them keeps another one from it.
pub(crate) async fn drive_to_rest<O: Outside>(
    outside: &Arc<O>,
    gid: &str,
    mut given: Option<Fresh>,
) -> Result<Option<Transaction>, O::Error> {
    let mut has_told = false;
    loop {
        if let Some(lease) = lease(outside, gid) {
            match drive_under(&lease, outside, gid, given).await? {
                Driven::Here(transaction) => return Ok(Some(*transaction)),
                Driven::ByOther(owner) if !has_told => {
                    has_told = true;
                    tell_changed(outside, owner, gid).await?;
                }
                Driven::ByOther(_) | Driven::Lost => {}
            }
            drop(lease);
            outside.sleep(AGAIN).await;
        } else {
            outside.leases().ended(gid).await;
        }
        // It is not what was given any more.
        given = None;
        let found = outside.load(gid).await?;
        let is_over = |found: &Transaction| found.global.status.is_final();
        if found.as_ref().is_none_or(is_over) {
            return Ok(found);
        }
    }
}

async fn tell_changed<O: Outside>(outside: &Arc<O>, owner: u64, gid: &str) -> Result<(), O::Error> {
    let (gid, is_wanted) = (gid.to_owned(), false);
    outside.tell(owner, News { gid, is_wanted }).await
}

async fn drive_under<O: Outside>(
    lease: &Lease<O>,
    outside: &Arc<O>,
    gid: &str,
    given: Option<Fresh>,
) -> Result<Driven, O::Error> {
    let mut me = outside.me();
    let transaction = match given {
        Some(fresh) => {
            // Another one of this name may have been in trouble, which has ended and was removed.
            outside.leases().end_trouble(gid);
            me = fresh.me;
            fresh.transaction
        }
        None => match outside.claim(gid).await? {
            Claimed::Ours(transaction) | Claimed::Kept(transaction) => {
                if outside.leases().trouble(gid).is_some() {
                    let progress = transaction.progress(outside.by_hand(gid).await?);
                    outside.leases().end_trouble_before(gid, progress);
                }
                *transaction
            }
            Claimed::Ended(transaction) => {
                outside.leases().end_trouble(gid);
                outside.ended(&transaction.global);
                return Ok(Driven::Here(transaction));
            }
            Claimed::Missing => return Ok(Driven::Lost),
            Claimed::Others(owner) => return Ok(Driven::ByOther(owner)),
        },
    };
    let mut task = Task {
        outside: outside.as_ref(),
        me,
        saved: transaction.clone(),
        transaction,
        attempts: Vec::new(),
        untold: Vec::new(),
    };
    task.transaction.rebase(outside.moment().now);
    if let Some(known) = task.put_off_by() {
        task.stay_put_off(known).await?;
        return Ok(Driven::Here(Box::new(task.transaction)));
    }
    Ok(match task.run(lease.signal()).await? {
        true => Driven::Here(Box::new(task.transaction)),
        false => Driven::Lost,
    })
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

/// A call under way: who it is for, and what it comes to.
type Underway<'a> = Join<Ready<Callee>, BoxFuture<'a, Called>>;

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
    /// The next that ends, and so many that have ended as well at most; `None`, if there is none.
    async fn next(&mut self, most: usize) -> Option<Vec<Ended>> {
        let hollow = self.hollow.drain(..self.hollow.len().min(most));
        let success = |index| (Event::Reply(index, Reply::Success(String::new())), None);
        let mut ended: Vec<Ended> = hollow.map(success).collect();
        poll_fn(|context| {
            while ended.len() < most {
                let Poll::Ready(Some((callee, (reply, attempt)))) =
                    self.set.poll_next_unpin(context)
                else {
                    break;
                };
                let event = match callee {
                    Callee::Branch(index) => Event::Reply(index, reply),
                    Callee::Client => Event::Answer(reply),
                };
                ended.push((event, attempt));
            }
            match ended.is_empty() && !self.set.is_empty() {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
        Some(ended).filter(|ended| !ended.is_empty())
    }
    /// All that are left, when they have ended.
    async fn rest(&mut self) -> Vec<Ended> {
        let mut all = Vec::new();
        while let Some(ended) = self.next(REPLIES_MAX).await {
            all.extend(ended);
        }
        all
    }
}

/// What a call came to, and its record.
type Ended = (Event, Option<Attempt>);

/// A transaction and its task.
struct Task<'a, O: Outside> {
    outside: &'a O,
    /// The number under which it was claimed: under another one somebody else may drive it.
    me: u64,
    transaction: Transaction,
    /// As its rows are.
    saved: Transaction,
    /// Calls whose records are not written yet.
    attempts: Vec<Attempt>,
    /// Alerts about what could not be saved.
    untold: Vec<Action>,
}

impl<'a, O: Outside> Task<'a, O> {
    /// False: somebody else drives it now.
    async fn run(&mut self, signal: &Signal) -> Result<bool, O::Error> {
        let mut events = vec![Event::Look];
        loop {
            let mut calls = Calls::default();
            let done = self.run_with(&mut calls, &mut events, signal).await;
            // If the tables failed, some may be under way: whoever is next must not call beside them.
            let ended = calls.rest().await;
            let Err(error) = done else {
                return done;
            };
            events = vec![Event::Look];
            match self.refused(error).await? {
                After::Waits => return Ok(true),
                After::GoesOn => {}
                After::IsChanged if self.reload(&mut Calls::default(), &mut events).await? => {}
                After::IsChanged => return Ok(false),
            }
            self.hear(ended, &mut events);
        }
    }

    async fn run_with(
        &mut self,
        calls: &mut Calls<'a>,
        events: &mut Vec<Event>,
        signal: &Signal,
    ) -> Result<bool, O::Error> {
        loop {
            if self.outside.me() != self.me && !self.reload(calls, events).await? {
                return Ok(false);
            }
            let moment = self.outside.moment();
            let actions = self.transaction.decide(events.drain(..), moment);
            let mut until = None;
            let mut actions = actions.into_iter();
            while let Some(action) = actions.next() {
                match action {
                    Action::Save => {
                        let saved = self.save(By::Driver).await;
                        if saved.is_err() {
                            let is_alert = |action: &Action| matches!(action, Action::Alert(..));
                            self.untold = actions.by_ref().filter(is_alert).collect();
                        }
                        if saved? == Saved::TooLate {
                            if !self.reload(calls, events).await? {
                                return Ok(false);
                            }
                            until = Some(0);
                            break;
                        }
                    }
                    Action::Refresh => {
                        // Too late: then it is read again all the more.
                        self.save(By::Driver).await?;
                        if !self.reload(calls, events).await? {
                            return Ok(false);
                        }
                        until = Some(0);
                    }
                    Action::Call(index) => self.call(index, signal, calls),
                    Action::Ask => self.ask(signal, calls),
                    Action::Wait(time) => until = Some(time),
                    Action::Alert(whose, why) => {
                        self.outside.alert(&self.transaction, whose, why);
                    }
                    Action::End => {
                        self.outside.ended(&self.transaction.global);
                        return Ok(true);
                    }
                }
            }
            if signal.is_stale() {
                signal.received().await;
                if !self.reload(calls, events).await? {
                    return Ok(false);
                }
                continue;
            }
            let now = self.outside.moment().now;
            let wait = until.map(|until: Micros| until.saturating_sub(now));
            let lets_go = wait.is_none_or(|wait| wait > LINGER) || self.is_held(signal);
            if calls.is_empty() && lets_go {
                self.let_go().await?;
                return Ok(true);
            }
            // Calls end by themselves, in time.
            let is_timed = wait.is_some() || calls.is_empty();
            let pause = Duration::from_micros(wait.unwrap_or(LINGER));
            tokio::select! {
                // In this order, so that what happens follows from what came before.
                biased;
                // There may be thousands: deciding and saving for each would take longer than they do.
                Some(ended) = calls.next(REPLIES_MAX) => {
                    for (event, attempt) in ended {
                        self.record(&event, attempt);
                        events.push(event);
                    }
                }
                () = self.outside.sleep(pause), if is_timed => {}
                () = signal.received() => {
                    if !self.reload(calls, events).await? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Keeps what is to be known of a call: a branch's own row has room for the first, if it
    /// succeeds.
    fn record(&mut self, event: &Event, attempt: Option<Attempt>) {
        if let (Event::Reply(index, Reply::Success(_)), Some(attempt)) = (event, &attempt)
            && let Some(branch) = self.transaction.branches.get_mut(*index)
            && branch.attempts == 0
        {
            branch.only_call = Some(attempt.timing);
            return;
        }
        self.attempts.extend(attempt);
    }

    /// Saves it. If the tables take that, they refuse it no more.
    async fn save(&mut self, by: By) -> Result<Saved, O::Error> {
        let saved = self.write(by).await?;
        if saved == Saved::Yes {
            let gid = &self.transaction.global.gid;
            self.outside.leases().end_trouble(gid);
        }
        Ok(saved)
    }

    async fn write(&mut self, by: By) -> Result<Saved, O::Error> {
        let (before, transaction) = (self.saved.clone(), self.transaction.clone());
        let attempts = std::mem::take(&mut self.attempts);
        let written = attempts.clone();
        // Times of a clock that was ahead stay known as such until they are moved.
        let now = self.outside.moment().now;
        let now = now.max(self.transaction.global.updated);
        let saved = self.outside.save(by, before, transaction, written, now);
        let saved = saved.await;
        match saved {
            Ok(Saved::Yes) => {
                self.transaction.notes.clear();
                self.transaction.global.updated = now;
                self.saved = self.transaction.clone();
            }
            // What was noted has not happened.
            Ok(Saved::TooLate) => {
                self.transaction.notes.clear();
                self.attempts = attempts;
            }
            Err(_) => self.attempts = attempts,
        }
        saved
    }

    /// Somebody else has changed the transaction: waits for the calls under way, whose replies
    /// are about what was, and reads it again. False: it is somebody else's now.
    ///
    /// What is known to be done is done whatever the status is now, so these replies are decided
    /// upon like others, and saved before what they allow.
    async fn reload(
        &mut self,
        calls: &mut Calls<'a>,
        events: &mut Vec<Event>,
    ) -> Result<bool, O::Error> {
        let ended = calls.rest().await;
        self.me = self.outside.me();
        match self.outside.claim(&self.transaction.global.gid).await? {
            // What was learned and not saved is not in the rows.
            Claimed::Kept(transaction) => self.replace(*transaction, Transaction::remember),
            Claimed::Ours(transaction) => self.replace(*transaction, Transaction::learn),
            Claimed::Missing | Claimed::Ended(_) | Claimed::Others(_) => return Ok(false),
        }
        self.hear(ended, events);
        Ok(true)
    }

    /// Takes in what calls came to that were under way when something else changed the transaction.
    fn hear(&mut self, ended: Vec<Ended>, events: &mut Vec<Event>) {
        for (event, attempt) in ended {
            self.record(&event, attempt);
            // A client that was asked about what has changed is asked again, if need be.
            if matches!(event, Event::Reply(..)) {
                events.push(event);
            }
        }
    }

    /// Takes what the rows say, and adds what is known besides.
    fn replace(&mut self, read: Transaction, add: fn(&mut Transaction, Transaction)) {
        let mut known = std::mem::replace(&mut self.transaction, read.clone());
        self.saved = read;
        let now = self.outside.moment().now;
        self.transaction.rebase(now);
        known.rebase(now);
        add(&mut self.transaction, known);
    }

    async fn let_go(&mut self) -> Result<(), O::Error> {
        self.transaction.settle();
        let unchanged = self.transaction == self.saved && self.attempts.is_empty();
        // Others must see that it is free.
        if !unchanged || self.outside.is_shared() {
            // Too late: whoever was faster has told the next task.
            self.save(By::Leaver).await?;
        }
        Ok(())
    }

    /// Whether no call is begun: all ends, somebody else may drive it, or somebody wants to change
    /// the transaction after the calls under way.
    fn is_held(&self, signal: &Signal) -> bool {
        let is_valid = !self.outside.is_halted() && self.outside.me() == self.me;
        !is_valid || signal.is_lease_wanted()
    }

    fn call(&mut self, index: usize, signal: &Signal, calls: &mut Calls<'a>) {
        if self.is_held(signal) || signal.is_stale() {
            self.transaction.calling.remove(&index);
            return;
        }
        match self.transaction.branches.get(index) {
            Some(branch) if branch.url.is_empty() => calls.hollow.push(index),
            Some(_) => self.make(Callee::Branch(index), calls),
            None => {}
        }
    }

    /// Asks the client: `query_prepared`.
    fn ask(&mut self, signal: &Signal, calls: &mut Calls<'a>) {
        if self.is_held(signal) || signal.is_stale() {
            self.transaction.asking = false;
            return;
        }
        self.make(Callee::Client, calls);
    }

    fn make(&self, callee: Callee, calls: &mut Calls<'a>) {
        let call = self.outside.call(&self.transaction, callee);
        calls.set.push(join(ready(callee), call));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, future::pending};

    #[test]
    fn replies_that_are_there_are_taken_together() {
        let mut calls = Calls::default();
        let success = || Reply::Success(String::new());
        for index in 0..REPLIES_MAX + 2 {
            let reply: BoxFuture<'_, Called> = match index {
                0 => Box::pin(pending()),
                _ => Box::pin(ready((success(), None))),
            };
            calls.set.push(join(ready(Callee::Branch(index)), reply));
        }
        calls.hollow.push(REPLIES_MAX + 2);
        let mut take = || calls.next(REPLIES_MAX).now_or_never().flatten();
        let first = take().expect("replies");
        let hollow = Event::Reply(REPLIES_MAX + 2, success());
        assert_eq!((first.len(), &first[0].0), (REPLIES_MAX, &hollow));
        assert_eq!(take().expect("replies").len(), 2);
        // One has not ended.
        assert!(take().is_none());
        assert!(!calls.is_empty());
    }
}
