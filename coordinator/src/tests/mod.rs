//! The coordinator as a whole, over HTTP and gRPC: scenarios as golden scripts (see `play`), XA with real
//! sessions, crashes, and several coordinators on one store.
//!
//! The disk is in memory; the clock is the machine's, and all intervals are milliseconds.

mod asking;
mod crash;
pub(crate) mod grpc;
mod history;
mod ledger;
mod locks;
mod operators;
pub(crate) mod participant;
mod play;
mod refusals;
mod shared;
mod spans;
mod unsaved;
mod webhook;
mod xa;

use super::{Listeners, Options, Rules, Running, model::Micros};
use cohort_engine::{
    env::{Backend, Env, Handle, Mode, fake::Disk},
    txn::{Engine, EngineOptions},
};
use cohort_sql::Instance;
use participant::exchange;
use serde_json::{Value, json};
use std::{
    io,
    net::TcpListener,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Nothing in a test takes so long.
const PATIENCE: Duration = Duration::from_secs(20);
const MILLISECOND: Micros = 1_000;

/// A disk in memory with the machine's clocks, of which one can be set.
#[derive(Clone)]
struct Machine {
    disk: Disk,
    /// Microseconds that the wall clock is ahead.
    ahead: Arc<AtomicI64>,
}

impl Machine {
    fn new(disk: Disk) -> Machine {
        Machine {
            disk,
            ahead: Arc::default(),
        }
    }
}

impl Backend for Machine {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>> {
        self.disk.open(path, mode)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.disk.list(dir)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.disk.lock(path)
    }
    fn wall_micros(&self) -> u64 {
        let real = Env::real().wall_micros();
        real.saturating_add_signed(self.ahead.load(Ordering::Relaxed))
    }
    fn monotonic_nanos(&self) -> u64 {
        static BEGUN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        u64::try_from(BEGUN.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.disk.random(bytes)
    }
}

/// Intervals of milliseconds.
fn options() -> Options {
    Options {
        rules: Rules {
            retry_interval: 4 * MILLISECOND,
            ..Rules::default()
        },
        branch_hosts: super::Guard::parse("", true).expect("no list"),
        request_timeout: 3_000 * MILLISECOND,
        patience: Duration::from_millis(1_200),
        tick: Duration::from_millis(5),
        ..Options::default()
    }
}

/// What the machine's disk has.
fn engine(machine: &Machine) -> Result<Arc<Engine>, String> {
    let env = Env::new(Arc::new(machine.clone()));
    let options = EngineOptions {
        quiet_checkpoint_ms: u64::MAX,
        base_cache_bytes: 1 << 20,
        log_preallocate_bytes: 32 << 10,
        ..EngineOptions::default()
    };
    let engine = Engine::open(&env, Path::new("/data"), options, &mut |_| {});
    engine.map(Arc::new).map_err(|error| error.to_string())
}

/// A server with a coordinator.
struct Server {
    /// Ends first.
    _running: Running,
    instance: Arc<Instance>,
    port: u16,
    grpc_port: u16,
}

impl Server {
    fn start(machine: &Machine, options: Options) -> Result<Server, String> {
        let engine = engine(machine)?;
        cohort_sql::users::make_first(&engine).map_err(|error| error.message)?;
        let instance = Instance::new(engine);
        let listen = || TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string());
        let listeners = Listeners {
            http: listen()?,
            grpc: listen()?,
            tls: None,
        };
        let number = |listener: &TcpListener| {
            let address = listener.local_addr().map_err(|error| error.to_string());
            Ok::<_, String>(address?.port())
        };
        let (port, grpc_port) = (number(&listeners.http)?, number(&listeners.grpc)?);
        let ids = AtomicU64::new(1_000);
        let next_id = || ids.fetch_add(1, Ordering::Relaxed);
        let running = Running::start(&instance, listeners, options, &next_id)?;
        Ok(Server {
            _running: running,
            instance,
            port,
            grpc_port,
        })
    }
    fn post(&self, name: &str, body: &Value) -> (u16, String) {
        let path = format!("/api/dtmsvr/{name}");
        exchange(self.port, "POST", &path, &[], &body.to_string())
    }
    fn get(&self, path: &str) -> (u16, String) {
        exchange(self.port, "GET", path, &[], "")
    }
    /// A transaction with its branches, as the protocol shows it.
    fn query(&self, gid: &str) -> Value {
        let (_, body) = self.get(&format!("/api/dtmsvr/query?gid={gid}"));
        serde_json::from_str(&body).unwrap_or(json!({}))
    }
    fn status(&self, gid: &str) -> String {
        let status = &self.query(gid)["transaction"]["status"];
        status.as_str().unwrap_or("").to_owned()
    }
    /// Waits until the transaction has one of these statuses.
    fn wait_for(&self, gid: &str, wanted: &[&str]) -> Value {
        let begun = Instant::now();
        loop {
            let found = self.query(gid);
            let status = found["transaction"]["status"].as_str().unwrap_or("");
            if wanted.contains(&status) {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "{gid} never ends: {found}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

const ENDED: &[&str] = &["succeed", "failed"];
