//! The coordinator of global transactions: sagas, TCC, XA, two-phase messages and workflows, in
//! DTM's protocol, so that its clients work unmodified.
//!
//! | file | what is inside |
//! |---|---|
//! | `model` | global transactions and branches |
//! | `decide` | what to do next: pure, one function for each pattern |
//! | `driver` | does it, and takes up what is due |
//! | `call` | calls to branches, and what their answers mean |
//! | `store` | the rows in the schema `cohort` |
//! | `api` | the protocol's endpoints |
//! | `http` | bytes to requests, answers to bytes |

mod api;
mod call;
mod decide;
mod driver;
mod http;
mod model;
mod store;

use call::Caller;
use cohort_engine::env::Env;
use cohort_sql::{Instance, SqlError};
use model::Micros;
use std::{
    collections::HashMap,
    net::TcpListener,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use store::Store;
use tokio::{
    runtime::{Builder, Runtime},
    sync::Notify,
};

/// How the coordinator is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Hosts of branches that may be called; empty: all.
    pub branch_hosts: Vec<String>,
    /// What clients must present as a bearer token.
    pub token: Option<String>,
}

/// See the module.
pub(crate) struct Coordinator {
    store: Store,
    caller: Arc<Caller>,
    env: Env,
    token: Option<String>,
    /// Transactions that a task drives, with the way to tell it that something has changed.
    driven: Mutex<HashMap<String, Arc<Notify>>>,
    stopping: AtomicBool,
}

/// The right to drive a transaction: nobody else does as long as it lives.
struct Lease<'a> {
    coordinator: &'a Coordinator,
    gid: String,
    changed: Arc<Notify>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.coordinator.driven().remove(&self.gid);
    }
}

impl Coordinator {
    fn driven(&self) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// `None`: somebody has it.
    fn lease(&self, gid: &str) -> Option<Lease<'_>> {
        let mut driven = self.driven();
        if driven.contains_key(gid) {
            return None;
        }
        let changed = Arc::new(Notify::new());
        driven.insert(gid.to_owned(), Arc::clone(&changed));
        Some(Lease {
            coordinator: self,
            gid: gid.to_owned(),
            changed,
        })
    }
    fn is_driven(&self, gid: &str) -> bool {
        self.driven().contains_key(gid)
    }
    /// The transaction's row has changed: whoever drives it reads it again, or somebody begins to.
    fn kick(self: &Arc<Self>, gid: &str) {
        let task = self.driven().get(gid).cloned();
        match task {
            Some(changed) => changed.notify_one(),
            None => self.take_up(gid),
        }
    }
    fn now(&self) -> Micros {
        self.env.wall_micros()
    }
    fn clock(&self) -> Env {
        self.env.clone()
    }
    fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        // Without randomness there is no jitter, and nothing else is lost.
        let _ = self.env.random(&mut bytes);
        u64::from_le_bytes(bytes)
    }
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// The running coordinator. Dropping it drains it.
pub struct Running {
    coordinator: Arc<Coordinator>,
    runtime: Option<Runtime>,
}

/// How long transactions under way may take to reach a place where they can be let go.
const DRAIN: Duration = Duration::from_secs(10);

impl Running {
    /// Opens the tables and serves clients on `listener`. `next_id` numbers SQL sessions.
    pub fn start(
        instance: &Arc<Instance>,
        listener: TcpListener,
        options: Options,
        next_id: &dyn Fn() -> u64,
    ) -> Result<Running, String> {
        let failed = |error: SqlError| format!("the coordinator's tables: {}", error.message);
        let coordinator = Arc::new(Coordinator {
            store: Store::open(instance, next_id).map_err(failed)?,
            caller: Arc::new(Caller::new(options.branch_hosts)),
            env: instance.env().clone(),
            token: options.token,
            driven: Mutex::default(),
            stopping: AtomicBool::new(false),
        });
        let starting = |error: std::io::Error| format!("the coordinator: {error}");
        let runtime = Builder::new_multi_thread()
            .thread_name("coordinator-io")
            .enable_all()
            .build()
            .map_err(starting)?;
        listener.set_nonblocking(true).map_err(starting)?;
        let guard = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener).map_err(starting)?;
        drop(guard);
        runtime.spawn(http::serve(Arc::clone(&coordinator), listener));
        runtime.spawn(Arc::clone(&coordinator).tick());
        Ok(Running {
            coordinator,
            runtime: Some(runtime),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.coordinator.stopping.store(true, Ordering::Relaxed);
        let until = std::time::Instant::now() + DRAIN;
        for changed in self.coordinator.driven().values() {
            changed.notify_one();
        }
        while !self.coordinator.driven().is_empty() && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
    }
}
