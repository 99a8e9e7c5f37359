//! What driving needs of the world around it.

use crate::{
    decide::{Moment, Transaction},
    lease::Leases,
    model::{Global, Micros, Reply, Timing},
};
use futures_util::future::BoxFuture;
use std::{borrow::Cow, time::Duration};

/// The tables, the services, the clock, and those who want to hear of what happens. All writes are
/// durable when they return.
pub trait Outside: Sized + Send + Sync + 'static {
    /// Why the tables could not be read or written.
    type Error: Send + 'static;
    /// What is kept of a change by hand.
    type Record: Send;

    /// Why the tables refuse what was to be written, and would refuse it again; `None`: it may be
    /// written later.
    fn refusal(_: &Self::Error) -> Option<String> {
        None
    }
    /// Who drives what in this process.
    fn leases(&self) -> &Leases;
    /// Now, the rules, and a random number.
    fn moment(&self) -> Moment;
    /// Whether nothing new may be begun: the server stops, or is cut off from its tables.
    fn is_halted(&self) -> bool;
    /// Whether other coordinators may use the tables.
    fn is_shared(&self) -> bool {
        self.me() != 0
    }
    /// This coordinator's number among those that use the tables, which is another one after it was
    /// declared dead; 0: there are no others.
    fn me(&self) -> u64;
    /// Runs something beside what runs now.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static);
    /// Waits.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// A transaction by its name.
    fn load(
        &self,
        gid: &str,
    ) -> impl Future<Output = Result<Option<Transaction>, Self::Error>> + Send;
    /// The last change of a transaction by hand: a number that grows with each.
    fn by_hand(&self, gid: &str) -> impl Future<Output = Result<u64, Self::Error>> + Send;
    /// Makes a new transaction known, which will be driven here or is not yet. False: there is one
    /// of this name.
    fn insert(
        &self,
        transaction: Transaction,
        is_driven: bool,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;
    /// A transaction by its name, to be driven: as long as it is ours, nobody else does.
    fn claim(&self, gid: &str) -> impl Future<Output = Result<Claimed, Self::Error>> + Send;
    /// Writes at this time what has changed since `before`, if the status is still that one's, and if
    /// whoever drives it still does.
    fn save(
        &self,
        by: By,
        before: Transaction,
        transaction: Transaction,
        attempts: Vec<Attempt>,
        now: Micros,
    ) -> impl Future<Output = Result<Saved, Self::Error>> + Send;
    /// Writes what an operator changed, if the status is still that of `before` and this
    /// coordinator drives it, or it has ended.
    fn operate(
        &self,
        before: Transaction,
        after: Transaction,
        record: Self::Record,
    ) -> impl Future<Output = Result<Saved, Self::Error>> + Send;
    /// Writes that an operator pauses a transaction from then on, beside whoever drives it. Too late:
    /// it has ended, or is paused.
    fn pause(
        &self,
        gid: &str,
        since: Micros,
        record: Self::Record,
    ) -> impl Future<Output = Result<Saved, Self::Error>> + Send;
    /// Lets all that an unfinished transaction waits for be done now, but no branch be called before
    /// `pause` has gone by since its last call. Only its times are written, beside whoever drives it,
    /// who may know of more than its rows.
    fn hasten(
        &self,
        gid: &str,
        pause: Micros,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;
    /// Tells the coordinator that drives a transaction something.
    fn tell(&self, owner: u64, news: News) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Makes a call for a transaction as it is now.
    fn call(&self, transaction: &Transaction, callee: Callee) -> BoxFuture<'_, Called>;
    /// Calls of this branch (`None`: questions to the client) fail without an answer, or are given
    /// up.
    fn alert(&self, transaction: &Transaction, whose: Option<usize>, why: String);
    /// A transaction has ended.
    fn ended(&self, global: &Global);
    /// A transaction could not be driven; the ticker will take it up again.
    fn not_driven(&self, gid: &str, error: Self::Error);
}

/// Whom a call is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// The branch at this position.
    Branch(usize),
    /// The client, which is asked what became of the transaction (`query_prepared`).
    Client,
}

/// What a call came to, and its record, if there is one.
pub type Called = (Reply, Option<Attempt>);

/// What a change came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// It is durable.
    Yes,
    /// Somebody else changed the status before.
    TooLate,
}

/// Who writes a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Whoever drives it, and goes on.
    Driver,
    /// Whoever drove it, and lets it go.
    Leaver,
    /// A client that submits or aborts it, beside whoever drives it. Of its own row only what a client
    /// changes is written: the rest may have changed since it was read.
    Client,
    /// An operator who changes what has ended and is nobody's.
    Operator,
}

impl By {
    /// Whether this is the coordinator whose it is.
    #[must_use]
    pub fn is_owner(self) -> bool {
        matches!(self, By::Driver | By::Leaver)
    }
}

/// What became of a try to drive a transaction.
#[derive(Debug)]
pub enum Claimed {
    /// It is ours, and this is what it is.
    Ours(Box<Transaction>),
    /// It is still ours: nobody else can have driven it since it became so.
    Kept(Box<Transaction>),
    /// It has ended, and is nobody's.
    Ended(Box<Transaction>),
    /// That one drives it.
    Others(u64),
    /// There is none of this name.
    Missing,
}

/// Something that others want a driver to know.
#[derive(Clone, Debug)]
pub struct News {
    /// About this transaction: it has changed.
    pub gid: String,
    /// Somebody waits for its lease.
    pub is_wanted: bool,
}

/// One call that was made.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The branch.
    pub branch_id: String,
    /// Its operation.
    pub op: String,
    /// When it was made.
    pub timing: Timing,
    /// What it came to: success, failure, ongoing, error.
    pub result: Cow<'static, str>,
    /// In the service's words.
    pub error: String,
}

/// An unfinished transaction.
#[derive(Clone, Debug)]
pub struct Due {
    /// When there is something to do.
    pub next_run: Micros,
    /// Its name.
    pub gid: String,
    /// The coordinator that drives it, if several share the tables; 0: none.
    pub owner: u64,
}

/// A coordinator, as its row shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its number.
    pub id: u64,
    /// Its beat.
    pub beat: u64,
}
