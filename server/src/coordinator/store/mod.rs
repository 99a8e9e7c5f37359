//! The coordinator's state: rows in the schema `cohort`, written through SQL sessions of its own.
//!
//! Nothing is kept anywhere else, so the rows share their groups with everybody's commits, and
//! whoever may read tables can read them. A change of a global transaction's status names the old
//! one (compare and set): of two who change it at once, one learns that it came too late.
//!
//! Sessions block, so each lives on a thread of its own; who asks from tokio waits on a channel.
//! Their number bounds how many commits of the coordinator can be in one group.

mod lists;
mod rows;
mod schema;

pub use lists::{Filter, Listed, Topic};
pub use rows::{Attempt, Registered, Saved};

use super::{
    decide::Transaction,
    model::{Branch, Micros},
};
use cohort_engine::{txn::Unattended, types::Value};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, SqlError, session::Identity};
use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
};
use tokio::sync::oneshot;

/// Sessions, and with it the most commits of the coordinator in one group.
const SESSIONS: usize = 24;

/// What a statement returned.
#[derive(Default)]
pub(super) struct Answer {
    pub rows: Vec<Vec<Value>>,
    pub affected: u64,
}

impl Output for Answer {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.rows.push(row.to_vec());
        Ok(())
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        self.affected = done.affected_rows;
        Ok(())
    }
}

/// One session and its prepared statements.
pub(super) struct Connection {
    session: Session,
    statements: HashMap<&'static str, u32>,
}

impl Connection {
    fn new(instance: &Arc<Instance>, id: u64) -> Connection {
        let who = Identity {
            user: "cohort.coordinator".into(),
            host: "localhost".into(),
            account: Some(("root".into(), "localhost".into())),
        };
        let waiting = Arc::new(Unattended);
        let mut session = Session::new(Arc::clone(instance), id, who, waiting, true);
        session.set_internal();
        Connection {
            session,
            statements: HashMap::new(),
        }
    }
    /// Runs a statement, prepared the first time.
    pub fn run(&mut self, sql: &'static str, params: &[Value]) -> Result<Answer, SqlError> {
        let id = match self.statements.get(sql) {
            Some(id) => *id,
            None => {
                let id = self.session.prepare(sql.as_bytes())?.id;
                self.statements.insert(sql, id);
                id
            }
        };
        let mut answer = Answer::default();
        self.session.execute(id, params, &mut answer)?;
        Ok(answer)
    }
    /// Runs a statement of text.
    pub fn text(&mut self, sql: &str) -> Result<Answer, SqlError> {
        let mut answer = Answer::default();
        self.session.query(sql.as_bytes(), false, &mut answer)?;
        Ok(answer)
    }
    /// Runs statements in a transaction, which ends with them; once more after a deadlock.
    pub fn transaction<T>(
        &mut self,
        mut work: impl FnMut(&mut Connection) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        const ATTEMPTS: usize = 5;
        let mut attempt = 1;
        loop {
            self.text("BEGIN")?;
            let result = work(self).and_then(|done| self.text("COMMIT").map(|_| done));
            match result {
                Err(error) if matches!(error.code, 1213 | 1205) && attempt < ATTEMPTS => {
                    self.text("ROLLBACK")?;
                    attempt += 1;
                }
                Err(error) => {
                    // What it was is more than that the end failed as well.
                    let _ = self.text("ROLLBACK");
                    return Err(error);
                }
                done => return done,
            }
        }
    }
}

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The tables, for many to use at once.
pub struct Store {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Store {
    /// Opens the schema, making what is not there. `next_id` numbers the sessions.
    pub fn open(instance: &Arc<Instance>, next_id: &dyn Fn() -> u64) -> Result<Store, SqlError> {
        schema::create(&mut Connection::new(instance, next_id()))?;
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let mut threads = Vec::with_capacity(SESSIONS);
        for _ in 0..SESSIONS {
            let connection = Connection::new(instance, next_id());
            let queue = Arc::clone(&queue);
            let thread = thread::Builder::new()
                .name("coordinator".into())
                .spawn(move || work(connection, &queue))
                .map_err(SqlError::storage_failed)?;
            threads.push(thread);
        }
        Ok(Store {
            jobs: Some(jobs),
            threads,
        })
    }
    /// Runs `work` in one of the sessions.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, SqlError> + Send + 'static,
    ) -> Result<T, SqlError> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // Who asked may be gone.
            let _ = sender.send(work(connection));
        });
        let closed = || SqlError::shutdown_in_progress();
        let jobs = self.jobs.as_ref().ok_or_else(closed)?;
        jobs.send(job).map_err(|_| closed())?;
        receiver.await.map_err(|_| closed())?
    }
    /// A transaction by its name.
    pub async fn load(&self, gid: &str) -> Result<Option<Transaction>, SqlError> {
        let gid = gid.to_owned();
        self.run(move |connection| rows::load(connection, &gid))
            .await
    }
    /// Makes a new transaction known. False: there is one of this name.
    pub async fn insert(&self, transaction: Transaction) -> Result<bool, SqlError> {
        self.run(move |connection| rows::insert(connection, &transaction))
            .await
    }
    /// Writes what has changed since `before`, if the status is still that one's.
    pub async fn save(
        &self,
        before: Transaction,
        transaction: Transaction,
        attempts: Vec<Attempt>,
        now: Micros,
    ) -> Result<Saved, SqlError> {
        self.run(move |connection| rows::save(connection, &before, &transaction, &attempts, now))
            .await
    }
    /// Adds branches to a prepared transaction.
    pub async fn register(&self, gid: &str, branches: Vec<Branch>) -> Result<Registered, SqlError> {
        let gid = gid.to_owned();
        self.run(move |connection| rows::register(connection, &gid, &branches))
            .await
    }
    /// Transactions, the newest first.
    pub async fn list(&self, filter: Filter) -> Result<Vec<Listed>, SqlError> {
        self.run(move |connection| lists::list(connection, &filter))
            .await
    }
    /// Who wants the messages of a topic.
    pub async fn subscribers(&self, topic: &str) -> Result<Vec<Topic>, SqlError> {
        let topic = topic.to_owned();
        self.run(move |connection| lists::subscribers(connection, &topic))
            .await
    }
    /// Adds a subscriber. False: it is one.
    pub async fn subscribe(&self, topic: Topic, now: Micros) -> Result<bool, SqlError> {
        self.run(move |connection| lists::subscribe(connection, &topic, now))
            .await
    }
    /// Removes a subscriber. False: it is none.
    pub async fn unsubscribe(&self, topic: String, url: String) -> Result<bool, SqlError> {
        self.run(move |connection| lists::unsubscribe(connection, &topic, &url))
            .await
    }
    /// Removes a topic. False: there is none.
    pub async fn delete_topic(&self, topic: String) -> Result<bool, SqlError> {
        self.run(move |connection| lists::delete_topic(connection, &topic))
            .await
    }
    /// Unfinished transactions whose time has come, and when it came, after this one in order.
    pub async fn due(
        &self,
        now: Micros,
        after: (Micros, String),
        limit: u64,
    ) -> Result<Vec<(Micros, String)>, SqlError> {
        self.run(move |connection| rows::due(connection, now, &after, limit))
            .await
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A panic of the thread has been printed where it happened.
            let _ = thread.join();
        }
    }
}

fn work(mut connection: Connection, queue: &Mutex<Receiver<Job>>) {
    loop {
        let job = {
            let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.recv()
        };
        match job {
            Ok(job) => job(&mut connection),
            Err(_) => return,
        }
    }
}
