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
//! | `worker` | the threads that use connections, and the gathering of writes |
//! | `schema`, `rows`, `lists`, `history` | the tables, and what is read and written |

mod connection;
mod embedded;
mod history;
mod lists;
mod rows;
mod schema;
mod worker;

pub use history::Operated;
pub use lists::{Filter, Listed, Named, Topic};
pub use rows::{Attempt, Registered, Saved};

use super::{
    decide::Transaction,
    model::{Branch, Micros},
};
use cohort_sql::{Instance, SqlError};
use embedded::Embedded;
use std::sync::Arc;
use worker::Workers;

/// Writers gather what arrives at the same time, so one does for all; see `worker`.
const WRITERS: usize = 1;
/// Reads that are carried out at the same time.
const READERS: usize = 4;
/// A unique key's value is there already.
const DUPLICATE: u16 = 1062;

/// The tables, for many to use at once.
pub struct Store {
    workers: Workers,
}

impl Store {
    /// Opens the schema, making what is not there. `next_id` numbers the sessions.
    pub fn open(instance: &Arc<Instance>, next_id: &dyn Fn() -> u64) -> Result<Store, SqlError> {
        let connect = || Embedded::new(instance, next_id());
        schema::create(&mut connect())?;
        let readers = (0..READERS).map(|_| connect()).collect();
        let writers = (0..WRITERS).map(|_| connect()).collect();
        Ok(Store {
            workers: Workers::start(readers, writers)?,
        })
    }
    /// A transaction by its name.
    pub async fn load(&self, gid: &str) -> Result<Option<Transaction>, SqlError> {
        let gid = gid.to_owned();
        self.workers
            .read(move |connection| rows::load(connection, &gid))
            .await
    }
    /// Makes a new transaction known. False: there is one of this name.
    pub async fn insert(&self, transaction: Transaction) -> Result<bool, SqlError> {
        let inserted = self
            .workers
            .write(move |connection| rows::insert(connection, &transaction))
            .await;
        match inserted {
            Ok(()) => Ok(true),
            Err(error) if error.code == DUPLICATE => Ok(false),
            Err(error) => Err(error),
        }
    }
    /// Writes what has changed since `before`, if the status is still that one's.
    pub async fn save(
        &self,
        before: Transaction,
        transaction: Transaction,
        attempts: Vec<Attempt>,
        now: Micros,
    ) -> Result<Saved, SqlError> {
        self.workers
            .write(move |connection| rows::save(connection, &before, &transaction, &attempts, now))
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
            .write(move |connection| history::operate(connection, &before, &after, &operated, now))
            .await
    }
    /// The last calls for a transaction, and all that operators did; the oldest first.
    pub async fn history(
        &self,
        gid: &str,
        limit: u64,
    ) -> Result<(Vec<Attempt>, Vec<Operated>), SqlError> {
        let gid = gid.to_owned();
        self.workers
            .read(move |connection| history::history(connection, &gid, limit))
            .await
    }
    /// See [`history::ended`].
    pub async fn ended(
        &self,
        after: u64,
        until: Micros,
        limit: u64,
    ) -> Result<(Option<u64>, Vec<String>), SqlError> {
        self.workers
            .read(move |connection| history::ended(connection, after, until, limit))
            .await
    }
    /// Removes transactions that have ended, with all that belongs to them.
    pub async fn remove(&self, gids: Vec<String>) -> Result<(), SqlError> {
        self.workers
            .write(move |connection| history::remove(connection, &gids))
            .await
    }
    /// Adds branches to a prepared transaction.
    pub async fn register(&self, gid: &str, branches: Vec<Branch>) -> Result<Registered, SqlError> {
        let gid = gid.to_owned();
        let registered = self
            .workers
            .write(move |connection| rows::register(connection, &gid, &branches))
            .await;
        match registered {
            Err(error) if error.code == DUPLICATE => Ok(Registered::Duplicate),
            other => other,
        }
    }
    /// Transactions, the newest first.
    pub async fn list(&self, filter: Filter) -> Result<Vec<Listed>, SqlError> {
        self.workers
            .read(move |connection| lists::list(connection, &filter))
            .await
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
            .write(move |connection| lists::subscribe(connection, &topic, now))
            .await
    }
    /// Removes a subscriber. False: it is none.
    pub async fn unsubscribe(&self, topic: String, url: String) -> Result<bool, SqlError> {
        self.workers
            .write(move |connection| lists::unsubscribe(connection, &topic, &url))
            .await
    }
    /// Removes a topic. False: there is none.
    pub async fn delete_topic(&self, topic: String) -> Result<bool, SqlError> {
        self.workers
            .write(move |connection| lists::delete_topic(connection, &topic))
            .await
    }
    /// Unfinished transactions whose time has come, and when it came, after this one in order.
    pub async fn due(
        &self,
        now: Micros,
        after: (Micros, String),
        limit: u64,
    ) -> Result<Vec<(Micros, String)>, SqlError> {
        self.workers
            .read(move |connection| rows::due(connection, now, &after, limit))
            .await
    }
}
