//! The coordinator of global transactions: sagas, TCC, XA, two-phase messages and workflows, in
//! DTM's protocol, so that its clients work unmodified.
//!
//! | file | what is inside |
//! |---|---|
//! | `outside` | what the core, which decides and drives, needs: tables, calls, the clock |
//! | `ticker` | takes up what is due |
//! | `clock` | what time it is |
//! | `peers` | meets other coordinators on the same tables |
//! | `extras` | what steps may ask for beyond the protocol |
//! | `metrics`, `census` | counters for Prometheus; how many transactions are unfinished |
//! | `exposition` | Prometheus' text format |
//! | `metrics_port` | a port that has nothing else, which the server uses for its own counters |
//! | `pages` | a port for web pages, which the server uses for its console |
//! | `operator` | what `cohort tx` asks over HTTP, asked within the process |
//! | `alert` | who is told that calls come to nothing |
//! | `spans` | traces for OpenTelemetry |
//! | `command_line` | `cohort tx` |
//! | `call` | calls to branches, and what their answers mean |
//! | `store` | the rows in the schema `cohort` |
//! | `api` | the protocol's endpoints |
//! | `listen` | ports, and TLS |
//! | `http` | bytes to requests, answers to bytes |
//! | `body` | what is read of requests, and what of answers is not taken yet |
//! | `patient` | connections whose other end takes what is written |
//! | `web` | that web pages are not answered |
//! | `webhook` | tells of ends |
//! | `when` | times as people write them |
//! | `grpc` | the same endpoints as methods, and calls to branches that speak it |

mod alert;
mod api;
mod body;
mod call;
mod census;
mod clock;
mod command_line;
mod exposition;
mod extras;
mod grpc;
mod http;
mod listen;
mod metrics;
mod metrics_port;
mod operator;
mod outside;
mod pages;
mod patient;
mod peers;
mod spans;
mod store;
mod ticker;
mod web;
mod webhook;
mod when;

// The core, under the names that its files have.
use cohort_coordinator_core::{clients, decide, drive, lease, model, plan};

#[cfg(test)]
mod tests;

pub use call::Guard;
pub use cohort_coordinator_core::decide::Rules;
pub use command_line::{Tx, run as run_tx};
pub use exposition::{Exposition, Kind};
pub use listen::Tls;
pub use metrics_port::MetricsPort;
pub use operator::Operator;
pub use pages::{Hosts, Knows, PageAnswer, PagePort, PageReply, PageRequest, Pages};
pub use spans::Collector;
pub use store::Place;

use call::Caller;
use cohort_engine::env::{Env, splitmix};
use cohort_process::service;
use cohort_sql::{Instance, SqlError};
use model::Micros;
use std::{
    net::TcpListener,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};
use store::Store;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::{Semaphore, oneshot},
};

/// How many long lists are made at once.
const LISTS_MAX: usize = 2;
/// And answers that tell all about one transaction that is large.
const TELLING_MAX: usize = 4;

/// How the coordinator is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whom branches may be.
    pub branch_hosts: Guard,
    /// What clients must present as a bearer token.
    pub token: Option<String>,
    /// What holds for transactions that do not say otherwise.
    pub rules: Rules,
    /// How long a call of a branch may take, in microseconds, unless the transaction says so.
    pub request_timeout: Micros,
    /// How long transactions stay after their end, in microseconds; `None`: for ever.
    pub finished_expire: Option<Micros>,
    /// Who is told of calls that come to nothing; see `alert`.
    pub alert_webhook: Option<String>,
    /// Where spans are sent; see `spans`.
    pub collector: Option<Collector>,
    /// How long an operator's change waits for calls under way.
    pub patience: Duration,
    /// How often to look for what is due.
    pub tick: Duration,
    /// Where the tables are; `None`: in this server.
    pub place: Option<Place>,
    /// How often a coordinator shows that it lives, if others may use its tables.
    pub beat: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            branch_hosts: Guard::default(),
            token: None,
            rules: Rules::default(),
            request_timeout: 3 * model::SECOND,
            finished_expire: Some(86_400 * model::SECOND),
            alert_webhook: None,
            collector: None,
            patience: Duration::from_secs(5),
            tick: ticker::TICK,
            place: None,
            beat: peers::BEAT,
        }
    }
}

/// Where the coordinator listens.
pub struct Listeners {
    /// For HTTP.
    pub http: TcpListener,
    /// For gRPC.
    pub grpc: TcpListener,
    /// With which certificate, if with any.
    pub tls: Option<Tls>,
}

/// See the module.
pub(crate) struct Coordinator {
    store: Store,
    caller: Caller,
    env: Env,
    clock: clock::Clock,
    options: Options,
    metrics: metrics::Metrics,
    alerts: Option<alert::Queue>,
    obituaries: alert::Lines,
    /// What the log says of transactions that the tables refuse.
    refusals: alert::Lines,
    spans: Option<spans::Spans>,
    /// For large requests.
    room: body::Room,
    /// For large answers.
    answers: body::Room,
    /// So many long lists are made at once: each is in memory more than once meanwhile.
    lists: Semaphore,
    /// So many answers that tell all about one transaction are made at once, for the same reason.
    telling: Semaphore,
    leases: lease::Leases,
    stopping: AtomicBool,
    jitter: AtomicU64,
    /// A transaction's rows could not be read or written since the ticker last looked.
    in_trouble: AtomicBool,
    peers: Mutex<cohort_coordinator_core::peers::Peers>,
    /// The monotonic clock in nanoseconds before the last beat that came through; see `peers`.
    beaten: AtomicU64,
}

impl Coordinator {
    /// The time of everything that is written, and waited for.
    fn now(&self) -> Micros {
        self.clock.at(self.env.monotonic_nanos())
    }
    fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        // Without randomness there is no jitter, and nothing else is lost.
        let _ = self.env.random(&mut bytes);
        u64::from_le_bytes(bytes)
    }
    /// A number that spreads, but is no secret.
    fn jitter(&self) -> u64 {
        splitmix::mix(self.jitter.fetch_add(splitmix::STEP, Ordering::Relaxed))
    }
    /// All counters.
    fn tell_metrics(&self, out: &mut Exposition) {
        self.metrics.tell(self.leases.count(), out);
    }
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
    /// Whether nothing new may be begun.
    fn is_halted(&self) -> bool {
        self.is_stopping() || self.is_cut_off()
    }
    /// Waits for the end, and takes leave of the other coordinators.
    async fn end(&self, ended: oneshot::Receiver<()>) {
        // An error is the sender's end, which is what is waited for.
        let _ = ended.await;
        if self.store.is_shared() {
            // Without that the others know some seconds later.
            let _ = tokio::time::timeout(LEAVE, self.store.leave()).await;
        }
    }
}

/// The running coordinator. Dropping it drains it.
pub struct Running {
    coordinator: Arc<Coordinator>,
    runtime: Handle,
    /// Dropped, it ends the thread.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// How long transactions under way may take to reach a place where they can be let go.
const DRAIN: Duration = Duration::from_secs(10);
/// How long taking leave of the other coordinators may take.
const LEAVE: Duration = Duration::from_secs(2);
/// And what is left after it to end.
const SHUTDOWN: Duration = Duration::from_secs(1);

impl Running {
    /// Opens the tables and serves clients. `next_id` numbers SQL sessions.
    pub fn start(
        instance: &Arc<Instance>,
        listeners: Listeners,
        options: Options,
        next_id: &dyn Fn() -> u64,
    ) -> Result<Running, String> {
        let failed = |error: SqlError| format!("the coordinator's tables: {}", error.message);
        let starting = |error: std::io::Error| format!("the coordinator: {error}");
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(starting)?;
        let handle = runtime.handle();
        let env = instance.env().clone();
        let store = match options.place.clone() {
            None => Store::open(instance, next_id, handle),
            Some(place) => {
                let name = listeners
                    .http
                    .local_addr()
                    .map(|address| address.to_string());
                Store::open_at(place, env.clone(), name.unwrap_or_default(), handle)
            }
        };
        let webhook = options.alert_webhook.as_deref();
        let (alerts, alerting) = webhook.map(alert::channel).transpose()?.unzip();
        let collector = options.collector.as_ref();
        let (spans, exporting) = collector.map(spans::channel).transpose()?.unzip();
        let coordinator = Arc::new(Coordinator {
            alerts,
            obituaries: alert::Lines::default(),
            refusals: alert::Lines::default(),
            spans,
            store: store.map_err(failed)?,
            caller: Caller::new(options.branch_hosts.clone())?,
            clock: clock::Clock::new(env.wall_micros(), env.monotonic_nanos()),
            env,
            options,
            metrics: metrics::Metrics::default(),
            room: body::Room::default(),
            answers: body::Room::default(),
            lists: Semaphore::new(LISTS_MAX),
            telling: Semaphore::new(TELLING_MAX),
            leases: lease::Leases::default(),
            stopping: AtomicBool::new(false),
            jitter: AtomicU64::new(instance.env().wall_micros()),
            in_trouble: AtomicBool::new(false),
            peers: Mutex::default(),
            beaten: AtomicU64::new(0),
        });
        let guard = runtime.enter();
        let http = listen::listen(listeners.http).map_err(starting)?;
        let grpc = listen::listen(listeners.grpc).map_err(starting)?;
        drop(guard);
        let tls = |protocol| Some(listeners.tls.as_ref()?.acceptor(protocol));
        let port = ("coordinator", listen::connections_max());
        let shared = Arc::clone(&coordinator);
        runtime.spawn(listen::accept(
            http,
            tls("http/1.1"),
            port,
            move |connection, visitor| http::serve_http(Arc::clone(&shared), connection, visitor),
        ));
        let shared = Arc::clone(&coordinator);
        runtime.spawn(listen::accept(
            grpc,
            tls("h2"),
            port,
            move |connection, visitor| http::serve_grpc(Arc::clone(&shared), connection, visitor),
        ));
        if coordinator.store.is_shared() {
            // Before anything is taken up.
            runtime.block_on(coordinator.meet()).map_err(failed)?;
        }
        keep_all(&runtime, &coordinator);
        if let Some(exporting) = exporting {
            runtime.spawn(exporting.send_all(Arc::clone(&coordinator)));
        }
        if let Some(alerting) = alerting {
            runtime.spawn(alerting.send_all(Arc::clone(&coordinator)));
        }
        let (end, ended) = oneshot::channel();
        let handle = runtime.handle().clone();
        let shared = Arc::clone(&coordinator);
        let work = move || {
            runtime.block_on(shared.end(ended));
            runtime.shutdown_timeout(SHUTDOWN);
        };
        let lost = "and global transactions do not go on";
        let thread = service::start("coordinator-io", lost, work);
        Ok(Running {
            coordinator,
            runtime: handle,
            end: Some(end),
            thread: Some(thread.map_err(starting)?),
        })
    }
}

impl Running {
    /// What tells the coordinator's counters; nothing, when it has ended.
    pub fn metrics(&self) -> impl Fn(&mut Exposition) + Send + Sync + use<> {
        let coordinator = Arc::downgrade(&self.coordinator);
        move |out| {
            if let Some(coordinator) = coordinator.upgrade() {
                coordinator.tell_metrics(out);
            }
        }
    }
}

impl Running {
    /// The way by which operators ask within the process.
    #[must_use]
    pub fn operator(&self) -> Operator {
        Operator::new(&self.coordinator, &self.runtime)
    }
}

/// Spawns all that goes on for as long as the coordinator.
fn keep_all(runtime: &Runtime, all: &Arc<Coordinator>) {
    if all.store.is_shared() {
        keep(runtime, all, "meeting peers", Coordinator::meet_peers);
        keep(runtime, all, "hearing news", Coordinator::hear_news);
    }
    keep(runtime, all, "looking for work", Coordinator::tick);
    keep(runtime, all, "removing what has ended", Coordinator::expire);
    keep(runtime, all, "telling of ends", Coordinator::tell_ends);
    keep(runtime, all, "counting", Coordinator::count_unfinished);
}

/// Spawns one of these.
fn keep<F: Future<Output = ()> + Send + 'static>(
    runtime: &Runtime,
    coordinator: &Arc<Coordinator>,
    what: &'static str,
    begin: fn(Arc<Coordinator>) -> F,
) {
    let coordinator = Arc::clone(coordinator);
    let begin = move || begin(Arc::clone(&coordinator));
    runtime.spawn(service::persist("coordinator", what, begin));
}

impl Drop for Running {
    fn drop(&mut self) {
        self.coordinator.stopping.store(true, Ordering::Relaxed);
        let until = std::time::Instant::now() + DRAIN;
        self.coordinator.leases.kick_all();
        while self.coordinator.leases.count() > 0 && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been printed where it happened.
            let _ = thread.join();
        }
    }
}
