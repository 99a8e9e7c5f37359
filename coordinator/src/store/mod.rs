//! The coordinator's state: rows in the schema `cohort`, written through SQL.
//!
//! Nothing is kept anywhere else, so the rows share their groups with everybody's commits, and
//! whoever may read tables can read them. A change of a global transaction's status names the old
//! one (compare and set): of two who change it at once, one learns that it came too late.
//!
//! | file | what is inside |
//! |---|---|
//! | `connection` | what is needed of a database that has the tables |
//! | `embedded` | this server as such a one |
//! | `remote`, `place` | another server, or a cluster |
//! | `leases` | who drives what, if several coordinators share the tables |
//! | `worker` | the threads that use connections, and the gathering of writes |
//! | `schema`, `rows`, `lists`, `history` | the tables, and what is read and written |
//! | `webhooks` | who is to be told of ends |
//! | `filter`, `survey` | which transactions operators mean, and what these wait for |

mod connection;
mod embedded;
mod filter;
mod hasten;
mod history;
mod leases;
mod lists;
mod locked;
mod place;
mod remote;
mod rows;
#[cfg(test)]
mod same_tables;
mod schema;
mod survey;
mod webhooks;
mod worker;

pub use filter::Filter;
pub use history::{History, Operated};
pub use leases::Member;
pub use lists::{Named, Topic, Unfinished};
pub use place::Place;
pub use rows::{LAST_TIME, Registered, Wanted};
pub use survey::{Awaited, CHUNK, Found, Summary, Tried};
pub use webhooks::{Pending, Untold};

use super::{
    body::SMALL_BYTES,
    decide::{Moment, Operation, Transaction},
    model::{Branch, CopyOnWrite, Global, Micros, Pattern},
};
use cohort_coordinator_core::outside::{Attempt, By, Claimed, Due, News, Saved, Seen};
use cohort_engine::env::Env;
use cohort_mysql::client::tls::Tls;
use cohort_sql::{Instance, SqlError};
pub(crate) use connection::TOO_LARGE;
use connection::{Connection, LOST, UNREACHABLE};
use embedded::Embedded;
use remote::{Remote, Shared};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::runtime::Handle;
use worker::{About, Workers};

/// Writers gather what arrives at the same time, so one does for all; see `worker`.
const WRITERS: usize = 1;
/// Reads that are carried out at the same time.
const READERS: usize = 4;
/// And of transactions that are large, which keep nothing waiting that is small.
const LARGE_READERS: usize = 2;

/// The tables, for many to use at once.
pub struct Store {
    workers: Workers,
    /// With other coordinators, if the tables are elsewhere.
    shared: Option<Arc<Shared>>,
}

/// Whether an error says nothing about what was asked: it may work later.
pub fn is_outage(error: &SqlError) -> bool {
    // 1412: another session has just changed the table.
    is_locked(error) || matches!(error.code, UNREACHABLE | LOST | 1213 | 1412)
}

/// Whether it says that another session has locked what was asked for.
pub fn is_locked(error: &SqlError) -> bool {
    error.code == 1205
}

impl Store {
    /// Opens the tables in this server, making what is not there. `next_id` numbers the sessions;
    /// `runtime` is where they are used.
    pub fn open(
        instance: &Arc<Instance>,
        next_id: &dyn Fn() -> u64,
        runtime: &Handle,
    ) -> Result<Store, SqlError> {
        let connect = || Embedded::new(instance, next_id());
        instance.set_coordinates();
        schema::create(&mut connect()?, false)?;
        let some = |count: usize| (0..count).map(|_| connect()).collect::<Result<_, _>>();
        Ok(Store {
            workers: Workers::start(
                [some(READERS)?, some(LARGE_READERS)?],
                some(WRITERS)?,
                runtime,
            )?,
            shared: None,
        })
    }
    /// Opens the tables elsewhere, making what is not there, and takes a seat among the
    /// coordinators. `name` is what people call this one.
    pub fn open_at(
        place: Place,
        env: Env,
        name: String,
        runtime: &Handle,
    ) -> Result<Store, SqlError> {
        let tls = place.tls.as_ref().map(Tls::load).transpose();
        let shared = Arc::new(Shared {
            tls: tls.map_err(SqlError::unknown_error)?,
            place,
            env,
            name,
            id: AtomicU64::new(0),
        });
        let mut writer = Remote::writer(&shared);
        schema::create(&mut writer, true)?;
        writer.begin()?;
        writer.commit()?;
        let readers = |count: usize| (0..count).map(|_| Remote::reader(&shared)).collect();
        let readers = [readers(READERS), readers(LARGE_READERS)];
        Ok(Store {
            workers: Workers::start(readers, vec![writer], runtime)?,
            shared: Some(shared),
        })
    }
    /// The number of this coordinator among those that share the tables, which may change; 0: it
    /// shares them with nobody.
    pub fn me(&self) -> u64 {
        let shared = self.shared.as_ref();
        shared.map_or(0, |shared| shared.id.load(Ordering::Relaxed))
    }
    /// Whether other coordinators may use the tables.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }
    /// A transaction by its name, to be driven: as long as it is ours, nobody else does.
    pub async fn claim(&self, gid: &str) -> Result<Claimed, SqlError> {
        if self.shared.is_none() {
            let found = self.load(gid).await?;
            return Ok(found.map_or(Claimed::Missing, |found| Claimed::Kept(Box::new(found))));
        }
        let gid = gid.to_owned();
        self.workers
            .write(About::rows_of(&gid), move |connection| {
                leases::claim(connection, &gid)
            })
            .await
    }
    /// Counts this coordinator's beat up.
    pub async fn beat(&self) -> Result<(), SqlError> {
        self.workers.write(About::default(), |_| Ok(())).await
    }
    /// The time by the clock of the server that has the tables.
    pub async fn time(&self) -> Result<Option<Micros>, SqlError> {
        self.workers.read(leases::time).await
    }
    /// All coordinators that were not declared dead.
    pub async fn alive(&self) -> Result<Vec<Seen>, SqlError> {
        self.workers.read(leases::alive).await
    }
    /// All coordinators that are known; none if nobody else can be.
    pub async fn members(&self) -> Result<Vec<Member>, SqlError> {
        match self.is_shared() {
            true => self.workers.read(leases::members).await,
            false => Ok(Vec::new()),
        }
    }
    /// Declares those dead whose beat is still this.
    pub async fn bury(&self, dead: Vec<Seen>) -> Result<(), SqlError> {
        self.workers
            .write(About::default(), move |connection| {
                leases::bury(connection, &dead)
            })
            .await
    }
    /// Gives this coordinator's seat back.
    pub async fn leave(&self) -> Result<(), SqlError> {
        self.workers.write(About::default(), leases::leave).await
    }
    /// Tells the coordinator that drives a transaction something.
    pub async fn tell(&self, owner: u64, news: News) -> Result<(), SqlError> {
        self.workers
            .write(About::more_than_rows_of(&news.gid), move |connection| {
                leases::tell(connection, owner, &news)
            })
            .await
    }
    /// What others want this coordinator to know, once.
    pub async fn news(&self) -> Result<Vec<News>, SqlError> {
        let me = self.me();
        let has_news = move |connection: &mut dyn Connection| leases::has_news(connection, me);
        if !self.workers.read(has_news).await? {
            return Ok(Vec::new());
        }
        self.workers
            .write(About::default(), leases::take_news)
            .await
    }
    /// A transaction by its name.
    pub async fn load(&self, gid: &str) -> Result<Option<Transaction>, SqlError> {
        let name = gid.to_owned();
        let small = move |connection: &mut dyn Connection| {
            rows::load_up_to(connection, &name, SMALL_BYTES as u64)
        };
        if let Some(found) = self.workers.read(small).await? {
            return Ok(found);
        }
        let gid = gid.to_owned();
        self.workers
            .read_large(move |connection| rows::load(connection, &gid))
            .await
    }
    /// How large a transaction is about, in bytes; 0 if there is none.
    pub async fn size(&self, gid: &str) -> Result<u64, SqlError> {
        let gid = gid.to_owned();
        self.workers
            .read(move |connection| rows::size(connection, &gid))
            .await
    }
    /// See [`history::by_hand`].
    pub async fn by_hand(&self, gid: &str) -> Result<u64, SqlError> {
        let gid = gid.to_owned();
        self.workers
            .read(move |connection| history::by_hand(connection, &gid))
            .await
    }
    /// Makes a new transaction known, which will be driven here or is not yet. False: there is one
    /// of this name.
    pub async fn insert(
        &self,
        transaction: Transaction,
        is_driven: bool,
    ) -> Result<bool, SqlError> {
        self.workers
            .write(
                About::more_than_rows_of(&transaction.global.gid),
                move |connection| rows::insert(connection, &transaction, is_driven),
            )
            .await
    }
    /// Writes what has changed since `before`, if the status is still that one's, and if whoever
    /// drives it still does.
    pub async fn save(
        &self,
        by: By,
        before: Transaction,
        transaction: Transaction,
        attempts: Vec<Attempt>,
        now: Micros,
    ) -> Result<Saved, SqlError> {
        let gid = &transaction.global.gid;
        let about = match rows::makes_rows(&before, &transaction, &attempts) {
            true => About::more_than_rows_of(gid),
            false => About::rows_of(gid),
        };
        self.workers
            .write(about, move |connection| {
                rows::save(connection, by, &before, &transaction, &attempts, now)
            })
            .await
    }
    /// See [`hasten::hasten`].
    pub async fn hasten(&self, gid: &str, pause: Micros, now: Micros) -> Result<(), SqlError> {
        let gid = gid.to_owned();
        self.workers
            .write(About::rows_of(&gid), move |connection| {
                hasten::hasten(connection, &gid, pause, now)
            })
            .await
    }
    /// Writes what an operator changed, if the status is still that of `before`.
    pub async fn operate(
        &self,
        before: Transaction,
        after: Transaction,
        operated: Operated,
        now: Micros,
    ) -> Result<Saved, SqlError> {
        self.workers
            .write(
                About::more_than_rows_of(&after.global.gid),
                move |connection| history::operate(connection, &before, &after, &operated, now),
            )
            .await
    }
    /// See [`history::pause`].
    pub async fn pause(&self, gid: &str, since: Micros, by: Operated) -> Result<Saved, SqlError> {
        let gid = gid.to_owned();
        self.workers
            .write(About::more_than_rows_of(&gid), move |connection| {
                history::pause(connection, &gid, since, &by)
            })
            .await
    }
    /// What happened to a transaction, with so many calls at most.
    pub async fn history(&self, gid: &str, limit: u64) -> Result<History, SqlError> {
        let gid = gid.to_owned();
        self.workers
            .read(move |connection| history::history(connection, &gid, limit))
            .await
    }
    /// See [`webhooks::due`].
    pub async fn due_webhooks(
        &self,
        until: Micros,
        after: (Micros, u64),
        limit: u64,
    ) -> Result<Vec<Pending>, SqlError> {
        self.workers
            .read(move |connection| webhooks::due(connection, until, after, limit))
            .await
    }
    /// An end was told.
    pub async fn webhook_taken(&self, pending: Pending, now: Micros) -> Result<(), SqlError> {
        self.workers
            .write(About::more_than_rows_of(&pending.gid), move |connection| {
                webhooks::taken(connection, &pending, now)
            })
            .await
    }
    /// An end could not be told, for this reason. It is tried again then; `None`: not at all.
    pub async fn webhook_not_taken(
        &self,
        pending: Pending,
        why: String,
        next_try: Option<Micros>,
        now: Micros,
    ) -> Result<(), SqlError> {
        self.workers
            .write(About::more_than_rows_of(&pending.gid), move |connection| {
                webhooks::not_taken(connection, &pending, &why, next_try, now)
            })
            .await
    }
    /// See [`history::ended`].
    pub async fn ended(
        &self,
        after: u64,
        times: (Micros, Micros),
        limit: u64,
    ) -> Result<(Option<u64>, Vec<String>), SqlError> {
        self.workers
            .read(move |connection| history::ended(connection, after, times, limit))
            .await
    }
    /// Removes transactions that have ended, with all that belongs to them.
    pub async fn remove(&self, gids: Vec<String>) -> Result<(), SqlError> {
        self.workers
            .write(About::default(), move |connection| {
                history::remove(connection, &gids)
            })
            .await
    }
    /// Adds branches to a prepared transaction.
    pub async fn register(
        &self,
        gid: &str,
        pattern: Pattern,
        branches: Vec<Branch>,
        now: Micros,
    ) -> Result<Registered, SqlError> {
        let gid = gid.to_owned();
        let branches: Vec<_> = branches.into_iter().map(CopyOnWrite::new).collect();
        self.workers
            .write(About::more_than_rows_of(&gid), move |connection| {
                rows::register(connection, &gid, pattern, &branches, now)
            })
            .await
    }
    /// Transactions, the newest first.
    pub async fn list(&self, filter: Filter) -> Result<Vec<Global>, SqlError> {
        self.workers
            .read(move |connection| lists::list(connection, &filter))
            .await
    }
    /// Names of the transactions that a filter finds, as far as SQL can tell.
    pub async fn find(&self, filter: Filter) -> Result<Found, SqlError> {
        self.workers
            .read(move |connection| survey::find(connection, &filter))
            .await
    }
    /// What these wait for, [`CHUNK`] of them at most, if the filter means them.
    pub async fn look_into(
        &self,
        gids: Vec<String>,
        filter: Filter,
        moment: Moment,
    ) -> Result<Vec<Summary>, SqlError> {
        self.workers
            .read(move |connection| survey::look_into(connection, &gids, &filter, moment))
            .await
    }
    /// What an operation would come to with each of these, [`CHUNK`] of them at most, that the
    /// filter means.
    pub async fn try_out(
        &self,
        gids: Vec<String>,
        filter: Filter,
        operation: Operation,
        moment: Moment,
    ) -> Result<Vec<Tried>, SqlError> {
        self.workers
            .read(move |connection| survey::try_out(connection, &gids, &filter, &operation, moment))
            .await
    }
    /// How many transactions are unfinished.
    pub async fn unfinished(&self) -> Result<Vec<Unfinished>, SqlError> {
        self.workers.read(lists::unfinished).await
    }
    /// Who wants the messages of a topic.
    pub async fn subscribers(&self, topic: &str) -> Result<Vec<Topic>, SqlError> {
        let topic = topic.to_owned();
        self.workers
            .read(move |connection| lists::subscribers(connection, &topic))
            .await
    }
    /// Topics whose names come after this one, in order.
    pub async fn topics(&self, after: String, limit: u64) -> Result<Vec<Named>, SqlError> {
        self.workers
            .read(move |connection| lists::topics(connection, &after, limit))
            .await
    }
    /// A topic by its name.
    pub async fn topic(&self, name: String) -> Result<Option<Named>, SqlError> {
        self.workers
            .read(move |connection| lists::topic(connection, &name))
            .await
    }
    /// Adds a subscriber. False: it is one.
    pub async fn subscribe(&self, topic: Topic, now: Micros) -> Result<bool, SqlError> {
        self.workers
            .write(About::default(), move |connection| {
                lists::subscribe(connection, &topic, now)
            })
            .await
    }
    /// Removes a subscriber. False: it is none.
    pub async fn unsubscribe(
        &self,
        topic: String,
        url: String,
        now: Micros,
    ) -> Result<bool, SqlError> {
        self.workers
            .write(About::default(), move |connection| {
                lists::unsubscribe(connection, &topic, &url, now)
            })
            .await
    }
    /// Removes a topic. False: there is none.
    pub async fn delete_topic(&self, topic: String) -> Result<bool, SqlError> {
        self.workers
            .write(About::default(), move |connection| {
                lists::delete_topic(connection, &topic)
            })
            .await
    }
    /// Unfinished transactions that are wanted, after this one in order.
    pub async fn due(
        &self,
        which: Wanted,
        now: Micros,
        after: (Micros, String),
        limit: u64,
    ) -> Result<Vec<Due>, SqlError> {
        self.workers
            .read(move |connection| rows::due(connection, which, now, &after, limit))
            .await
    }
}
