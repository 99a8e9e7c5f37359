//! A replica of another server: MySQL, MariaDB or Cohort.
//!
//! | file | what is inside |
//! |---|---|
//! | `source` | where the source is, and how it is followed: CHANGE REPLICATION SOURCE, and its file |
//! | `receiver` | the connection to the source, kept up for ever |
//! | `reach` | a connection that is given up when it is not wanted any more |
//! | `pipe` | what has come and is not applied yet, of bounded size |
//! | `applier` | transactions of the source, made again here |
//! | `status` | what SHOW REPLICA STATUS says |
//!
//! There is no relay log. What is applied is in the log, with the source's GTIDs or its position in
//! the source's files, in the same transaction; so after a crash replication goes on exactly where
//! the data is, and what was received and not applied is asked for again.
//!
//! One thread applies, in the source's order. It does not wait for its commits to be durable, so
//! that many of them share an fsync, as the commits of many clients do.

mod applier;
mod pipe;
mod reach;
mod receiver;
mod source;
mod status;

use applier::Applier;
use cohort_process::{Notice, notice, service};
use cohort_sql::{FilterEntry, FilterRule, Instance, ReplicaStatus, Replication, SqlError, Until};
use parking_lot::Mutex;
use pipe::Pipe;
use receiver::Receiver;
use source::{Source, Sources, two_coordinators};
use status::Status;
use std::{
    path::Path,
    sync::{Arc, Weak},
    thread::JoinHandle,
};

/// The replica that this server is, or may become.
pub struct Replica {
    instance: Weak<Instance>,
    /// Who this server is, to the source.
    who: receiver::Who,
    sources: Arc<Sources>,
    /// One statement changes it at a time.
    running: Mutex<Option<Running>>,
    status: Arc<Status>,
}

/// The threads of a replica that has been started.
struct Running {
    /// Its sessions: the applier's may be waiting for a lock.
    instance: Arc<Instance>,
    pipe: Arc<Pipe>,
    threads: Vec<JoinHandle<()>>,
}

impl Running {
    /// Ends them.
    fn stop(self) {
        self.pipe.close();
        self.instance.sessions.kill_connection(applier::SESSION);
        for thread in self.threads {
            // A panic has been told, and has ended the process.
            let _ = thread.join();
        }
    }
}

/// Reads what the data directory says of a source. `server_id` and `port` are this server's.
pub fn open(
    instance: &Arc<Instance>,
    directory: &Path,
    (server_id, port): (u32, u16),
) -> Result<Arc<Replica>, String> {
    let replica = Arc::new(Replica {
        instance: Arc::downgrade(instance),
        who: receiver::Who {
            server_id,
            uuid: instance.engine.server_uuid().to_owned(),
            port,
        },
        sources: Arc::new(Sources::open(directory, instance.env().clone())?),
        running: Mutex::new(None),
        status: Arc::default(),
    });
    instance.set_replication(Arc::clone(&replica) as Arc<dyn Replication>);
    Ok(replica)
}

impl Replica {
    /// Goes on following the source that was followed when the server ended.
    pub fn resume(&self) {
        if self.sources.current().is_some_and(|source| source.runs)
            // Why it cannot is in its status, too.
            && let Err(error) = Replication::start(self, None)
        {
            notice!(
                Notice::ReplicaNotStarted,
                "replication does not start: {}",
                error.message
            );
        }
    }

    /// Whether the global transactions that are in the tables here are driven by the source.
    pub fn is_coordinated(&self) -> bool {
        let source = self.sources.current();
        source.is_some_and(|source| source.runs && source.coordinated)
    }

    /// Ends the threads, for the end of the server: it will go on when the server starts again.
    pub fn shut_down(&self) {
        if let Some(running) = self.running.lock().take() {
            running.stop();
        }
    }

    fn begin(&self, source: &Source, until: Option<&Until>) -> Result<Running, SqlError> {
        let gone = || SqlError::internal("the server is ending");
        let instance = self.instance.upgrade().ok_or_else(gone)?;
        let pipe = Arc::new(Pipe::default());
        let receiver = Receiver::new(&instance, source, &self.who, &pipe, &self.status)?;
        self.status.begin(until);
        let sources = (source, &self.sources);
        let mut applier = Applier::new(&instance, sources, &self.who, &pipe, &self.status);
        applier.stop_at(until);
        let failed = |error: std::io::Error| SqlError::internal(error.to_string());
        let receive = move || receiver.run();
        let apply = move || applier.run();
        let threads = vec![
            service::start("replica-receive", "to follow the source", receive).map_err(failed)?,
            service::start("replica-apply", "to apply the source's log", apply).map_err(failed)?,
        ];
        Ok(Running {
            instance,
            pipe,
            threads,
        })
    }
}

impl Replication for Replica {
    fn change(&self, options: &[(String, String)]) -> Result<(), SqlError> {
        let running = self.running.lock();
        if running.is_some() && self.status.runs() {
            return Err(SqlError::replica_io_runs());
        }
        self.sources.change(options)
    }

    fn filter(&self, rules: &[(FilterRule, Vec<FilterEntry>)]) -> Result<(), SqlError> {
        let running = self.running.lock();
        if running.is_some() && self.status.runs() {
            return Err(SqlError::replica_sql_runs());
        }
        self.sources.filter(rules)
    }

    fn start(&self, until: Option<&Until>) -> Result<bool, SqlError> {
        let mut running = self.running.lock();
        // If one of the two threads has ended, both begin again.
        if running.is_some() && self.status.runs_whole() {
            return Ok(false);
        }
        if let Some(ended) = running.take() {
            ended.stop();
        }
        let source = self.sources.current().ok_or_else(SqlError::no_replica)?;
        source.check()?;
        let coordinates = self.instance.upgrade().is_some_and(|now| now.coordinates());
        if source.coordinated && coordinates {
            return Err(two_coordinators());
        }
        *running = Some(self.begin(&source, until)?);
        // A server that starts again does not go beyond what was said.
        self.sources.note_runs(until.is_none())?;
        Ok(true)
    }

    fn stop(&self) -> Result<bool, SqlError> {
        let mut running = self.running.lock();
        let ran = running.is_some() && self.status.runs();
        if let Some(running) = running.take() {
            running.stop();
        }
        self.status.stopped();
        self.sources.note_runs(false)?;
        Ok(ran)
    }

    fn reset(&self, all: bool) -> Result<(), SqlError> {
        let mut running = self.running.lock();
        if running.is_some() && self.status.runs() {
            return Err(SqlError::replica_threads_run());
        }
        if let Some(ended) = running.take() {
            ended.stop();
        }
        self.status.begin(None);
        self.status.stopped();
        self.sources.reset(all)
    }

    fn status(&self) -> Option<ReplicaStatus> {
        let source = self.sources.current()?;
        Some(self.status.shown(&source))
    }
}
