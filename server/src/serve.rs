//! `cohort serve`: from settings to a running server, and from a signal to its end.

use crate::{
    config::{self, Settings},
    connections::{self, Connections},
    console, coordinate,
    database::Database,
    metrics, pool,
    refusals::Refusals,
    replica, scrub, supervisor, tls,
};
use cohort_engine::{
    env::{Env, processors},
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_mysql::{
    auth::Verified,
    connection::{Coaches, Shared},
    rsa::Key,
    tls::Tls,
};
use cohort_process::{Notice, limits, notice, service};
use cohort_scheduler::{Rules, Scheduler, waits::Waits};
use cohort_sql::{
    Instance, error_log,
    variables::{self, Kind, default_number},
};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    net::{TcpListener, ToSocketAddrs},
    os::unix::{
        fs::{DirBuilderExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// How long statements may still run after a signal, and then how long their end may take.
const DRAIN: Duration = Duration::from_secs(10);
const DRAIN_AFTER_KILL: Duration = Duration::from_secs(5);
/// Who may look into the data directory, and who may connect to the socket, as with MySQL.
const DIRECTORY_MODE: u32 = 0o750;
const SOCKET_MODE: u32 = 0o777;

/// Runs the server until a signal ends it; an error is why it does not start.
pub fn run(settings: &Settings) -> Result<(), String> {
    // First, so that a signal during recovery ends the process in the usual way only until here.
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(|e| format!("signals: {e}"))?;
    limits::raise_files();
    limits::keep_threads_small();
    let address = settings.bind_address.as_deref().unwrap_or("127.0.0.1");
    let port = port(settings.port, "port");
    // A port that is taken shall not cost a recovery; it is bound for good when all is ready.
    drop(bind(address, port)?);

    let directory = data_directory(settings)?;
    let engine = Arc::new(open(settings, &directory)?);
    let database = database(settings, &engine, &directory)?;
    let tcp = bind(address, port)?;
    refuse_open_door(&tcp, &database)?;
    let (unix, socket) = bind_unix(settings, &directory)?;

    let max = settings.max_connections.map_or_else(
        || default_number("max_connections") as usize,
        |max| max as usize,
    );
    if max > *limits::CLIENTS {
        notice!(
            Notice::MaxConnections,
            "max_connections is {max}, but the limit of open files (ulimit -n) lets {} in",
            *limits::CLIENTS
        );
    }
    let admins = bind_admin(settings)?;
    if let Some(listener) = &admins {
        refuse_open_door(listener, &database)?;
    }
    let tls = tls::start(&database.instance, &directory)?;
    let connections = connections(database, tls, max)?;
    let where_tcp = tcp.local_addr().map_err(|e| e.to_string())?;
    connections.accept_tcp(tcp).map_err(|e| e.to_string())?;
    if let Some(listener) = unix {
        connections
            .accept_unix(listener)
            .map_err(|e| e.to_string())?;
    }
    if let Some(listener) = admins {
        connections
            .accept_admins(listener)
            .map_err(|e| e.to_string())?;
    }
    scrub::start(&connections.shared.backend.instance).map_err(|e| e.to_string())?;
    let instance = &connections.shared.backend.instance;
    let who = (
        instance.globals.values().number("server_id") as u32,
        where_tcp.port(),
    );
    let replica = replica::open(instance, &directory, who)?;
    let coordinator = coordinate::start(settings, instance, replica.is_coordinated())?;
    let metrics = metrics::start(settings, instance, coordinator.as_ref())?;
    let console = console::start(settings, &connections.shared, coordinator.as_ref())?;
    if !settings.skip_replica_start.is_some_and(|skip| skip.0) {
        replica.resume();
    }
    let stops = stop_by_statement(instance);
    notice!(
        Notice::Ready,
        "ready on {where_tcp} and {}; connect with: mysql -h{} -P{} -uroot",
        socket.display(),
        where_tcp.ip(),
        where_tcp.port(),
    );
    supervisor::ready(&format!("ready on {where_tcp} and {}", socket.display()));

    let signal = signals.forever().next();
    stops.store(true, Ordering::Relaxed);
    supervisor::stopping();
    let hurry = move || {
        // A second signal: somebody is in a hurry. What was acknowledged is on disk.
        signals.forever().next();
        std::process::exit(130);
    };
    service::start("cohort-signals", "and a second signal is not heard", hurry)
        .map_err(|e| format!("signals: {e}"))?;
    // Replicas are let go, and cannot acknowledge any more: nobody waits for them.
    instance.engine.log().end_semi_sync();
    replica.shut_down();
    drop((console, metrics, coordinator));
    stop(
        &connections,
        if signal == Some(SIGINT) {
            "SIGINT"
        } else {
            "SIGTERM"
        },
    );
    // The file is ours; if it is gone already, so much the better.
    let _ = fs::remove_file(&socket);
    drop(connections);
    finish(engine)
}

/// Makes the data directory, which is nobody's business but the server's and its group's. One that
/// is there already stays as it is.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(path)
}

/// The data directory, which is made if it is not there. The error log may be in it, and is opened.
fn data_directory(settings: &Settings) -> Result<PathBuf, String> {
    let directory = settings
        .datadir
        .clone()
        .unwrap_or_else(|| PathBuf::from("./data"));
    make_directory(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    open_log(settings, &directory)?;
    Ok(directory)
}

/// Opens the error log, which obeys its settings from its first line on.
fn open_log(settings: &Settings, directory: &Path) -> Result<(), String> {
    let set = settings.variables.iter();
    for (name, value) in set.filter(|(name, _)| name.starts_with("log_error_")) {
        // What is wrong is said when all variables are set.
        if let (Ok(variable), Ok(value)) = (variables::find(name), toml_value(name, value.clone()))
            && let Ok((value, _)) = variable.convert(&value)
        {
            error_log::set(name, &value);
        }
    }
    let path = settings
        .log_error
        .as_deref()
        .filter(|path| *path != Path::new("stderr"));
    let path = path.map(|path| directory.join(path));
    error_log::open(path.as_deref()).map_err(|error| {
        let path = path.unwrap_or_default();
        format!("log-error {}: {error}", path.display())
    })
}

fn open(settings: &Settings, directory: &Path) -> Result<Engine, String> {
    let defaults = EngineOptions::default();
    let name = "innodb_buffer_pool_size";
    let kind = variables::find(name).map(|variable| variable.kind);
    if let (Some(pool), Ok(Kind::UInt { min, .. })) = (settings.innodb_buffer_pool_size, kind)
        && pool < min
    {
        return Err(format!(
            "{name} is {pool}, and {min} bytes are needed at least; leave it out for {}",
            defaults.base_cache_bytes
        ));
    }
    let options = EngineOptions {
        server_id: settings.server_id.unwrap_or(defaults.server_id),
        delta_bytes: bytes(settings.cohort_delta_size, defaults.delta_bytes),
        base_cache_bytes: bytes(settings.innodb_buffer_pool_size, defaults.base_cache_bytes),
        max_transaction_bytes: settings
            .max_binlog_cache_size
            .unwrap_or(defaults.max_transaction_bytes),
        sync_binlog: settings.sync_binlog.unwrap_or(defaults.sync_binlog),
        max_binlog_size: settings.max_binlog_size.unwrap_or(defaults.max_binlog_size),
        expire_logs_seconds: settings
            .binlog_expire_logs_seconds
            .unwrap_or(defaults.expire_logs_seconds),
        measures: settings
            .performance_schema
            .map_or(defaults.measures, |on| on.0),
        ..defaults
    };
    notice!(
        Notice::Starting,
        "starting {} on {}",
        options.server_version,
        directory.display()
    );
    let env = Env::real();
    env.on_notice(|notice, line| notice!(notice, "{line}"));
    open_engine(&env, options, directory)
}

/// Opens the engine, and tells how far recovery is if it takes long.
pub(crate) fn open_engine(
    env: &Env,
    options: EngineOptions,
    directory: &Path,
) -> Result<Engine, String> {
    let begun = Instant::now();
    let mut long = false;
    let engine = Engine::open(env, directory, options, &mut |progress| {
        if begun.elapsed() > Duration::from_secs(1) {
            let percent = progress.bytes * 100 / progress.bytes_total.max(1);
            notice!(
                Notice::Recovery,
                "recovery: {percent}% of the log, commit {}",
                progress.seq
            );
        }
        long = true;
    })
    .map_err(|error| error.to_string())?;
    if long {
        let (took, last) = (begun.elapsed(), engine.log().visible());
        notice!(
            Notice::Recovery,
            "recovered in {took:.1?}, up to commit {last}"
        );
    }
    Ok(engine)
}

fn bytes(setting: Option<u64>, default: usize) -> usize {
    setting.map_or(default, |n| usize::try_from(n).unwrap_or(usize::MAX))
}

/// The SQL instance, with the settings as its global variables.
pub(crate) fn database(
    settings: &Settings,
    engine: &Arc<Engine>,
    directory: &Path,
) -> Result<Database, String> {
    let made = cohort_sql::users::make_first(engine)
        .map_err(|error| format!("making the first account: {}", error.message))?;
    if made {
        notice!(
            Notice::FirstAccount,
            "new data directory: root@localhost may log in without a password (ALTER USER)"
        );
    }
    if let Some(record) = cohort_sql::users::Users::unreadable(&engine.dictionary()) {
        return Err(format!(
            "{record} cannot be read: it is damaged, or a later version has written it; start that \
             version, or restore a backup"
        ));
    }
    let instance = Instance::new(Arc::clone(engine));
    let configure = |name: &str, value: Value| {
        instance
            .configure(name, &value)
            .map_err(|e| format!("setting {name}: {}", e.message))
    };
    for (name, value) in settings.as_variables() {
        configure(&name, toml_value(&name, value)?)?;
    }
    for (name, value) in &settings.variables {
        let value = toml_value(name, value.clone())?;
        instance.configure_as_set(name, &value).map_err(|e| {
            format!(
                "setting {name}: {}; leave it out, or see docs/variables.md",
                e.message
            )
        })?;
    }
    let directory = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    let text = |path: &Path| Value::Bytes(path.display().to_string().into_bytes());
    configure("datadir", text(&directory.join("")))?;
    configure("socket", text(&socket_path(settings, &directory)))?;
    if let Some(path) = error_log::path() {
        configure("log_error", text(&path))?;
    }
    configure("port", Value::UInt(port(settings.port, "port").into()))?;
    if let Some(address) = &settings.bind_address {
        configure("bind_address", Value::Bytes(address.clone().into_bytes()))?;
    }
    if settings.thread_pool_size.is_none() {
        let slots = processors() * pool::SLOTS_PER_CORE;
        configure("thread_pool_size", Value::UInt(slots as u64))?;
    }
    if !settings.variables.contains_key("thread_pool_max_threads") {
        let threads = *limits::THREADS / 4 * 3;
        configure("thread_pool_max_threads", Value::UInt(threads as u64))?;
    }
    let globals = instance.globals.values();
    let (version, socket) = (instance.version.clone(), globals.text("socket"));
    instance
        .query_logs
        .set_heading(&version, globals.number("port"), socket);
    for told in instance.configure_as_persisted()? {
        notice!(Notice::PersistedVariable, "{told}");
    }
    for told in instance.turn_off_lost_logs() {
        notice!(Notice::QueryLogFailed, "{told}");
    }
    if instance.keep_restrictions() {
        notice!(
            Notice::PartialRevokes,
            "partial_revokes is turned on: there are partial revokes, which hold only with it"
        );
    }
    let waits = Arc::new(Waits::default());
    let rules = pool::rules(&instance);
    let crowd = processors() * pool::CROWD_PER_CORE;
    Ok(Database {
        scheduler: Scheduler::new(rules, crowd, Arc::clone(&waits), pool::threads("worker")),
        waits,
        instance,
        version: EngineOptions::default().server_version,
        refusals: Refusals::default(),
        stopping: AtomicBool::new(false),
    })
}

/// A port that was set, or that of the variable's default.
fn port(set: Option<u16>, variable: &str) -> u16 {
    set.unwrap_or_else(|| default_number(variable) as u16)
}

pub(crate) fn toml_value(name: &str, value: toml::Value) -> Result<Value, String> {
    match value {
        toml::Value::Integer(n) => Ok(Value::Int(n)),
        toml::Value::Float(x) => Ok(Value::Double(x)),
        toml::Value::Boolean(b) => Ok(Value::Int(i64::from(b))),
        toml::Value::String(text) => Ok(match config::integer(&text) {
            // `128M`, as in MySQL's option files.
            Some(number) if is_number(name) => Value::Int(number),
            _ => Value::Bytes(text.into_bytes()),
        }),
        _ => Err(format!(
            "setting {name}: a number, a string or true/false is expected"
        )),
    }
}

/// Whether the values of a variable are whole numbers.
fn is_number(name: &str) -> bool {
    variables::find(name).is_ok_and(|variable| matches!(variable.kind, Kind::UInt { .. }))
}

/// The connections, and what SQL and KILL need of them.
pub(crate) fn connections(
    database: Database,
    tls: Arc<Tls>,
    max: usize,
) -> Result<Arc<Connections<Database>>, String> {
    let (instance, scheduler) = (
        Arc::clone(&database.instance),
        Arc::clone(&database.scheduler),
    );
    let waits = Arc::clone(&database.waits);
    // Logins hash passwords: as many at once as there are cores, and nobody goes before others.
    let lane = Rules {
        size: processors(),
        oversubscribe: 0,
        kickup: 0,
        threads: usize::MAX,
    };
    let logins = Scheduler::new(lane, 0, Arc::default(), pool::threads("login"));
    let schedulers = [Arc::clone(&scheduler), Arc::clone(&logins)];
    let shared = Shared {
        backend: database,
        verified: Verified::default(),
        key: Key::default(),
        tls,
        coaches: Coaches::default(),
    };
    let connections =
        Connections::new(shared, scheduler, logins, max).map_err(|e| format!("epoll: {e}"))?;
    let weak = Arc::downgrade(&connections);
    instance.sessions.on_disconnect(Box::new(move |id| {
        if let Some(connections) = weak.upgrade() {
            connections.disconnect(id);
        }
    }));
    pool::obey_variables(&instance, &connections);
    instance.scheduled_by(Box::new(pool::View {
        schedulers,
        waits,
        connections: Arc::downgrade(&connections),
    }));
    let wait = instance.globals.values().number("cohort_admission_timeout");
    connections.admission_ms.store(wait, Ordering::Relaxed);
    Ok(connections)
}

/// The administrators' port, if there is an address for it.
fn bind_admin(settings: &Settings) -> Result<Option<TcpListener>, String> {
    let Some(address) = settings.admin_address.as_deref().filter(|a| !a.is_empty()) else {
        return Ok(None);
    };
    let listener = bind(address, port(settings.admin_port, "admin_port"))?;
    if let Ok(address) = listener.local_addr() {
        notice!(Notice::AdminReady, "administrators' port: {address}");
    }
    Ok(Some(listener))
}

fn bind(address: &str, port: u16) -> Result<TcpListener, String> {
    let addresses = (address, port)
        .to_socket_addrs()
        .map_err(|e| format!("bind-address {address}: {e}"))?
        .collect::<Vec<_>>();
    TcpListener::bind(&addresses[..]).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "port {port} on {address} is in use, perhaps by another MySQL server: stop it, or \
             choose another port, as in: cohort serve --port {}",
            port.checked_add(1).unwrap_or(3307)
        ),
        io::ErrorKind::PermissionDenied => {
            format!("port {port} is reserved for the superuser: choose one above 1023 with --port")
        }
        _ => format!("cannot listen on {address}:{port}: {error}"),
    })
}

/// Other machines may not come in while there are accounts without passwords.
fn refuse_open_door(listener: &TcpListener, database: &Database) -> Result<(), String> {
    let address = listener.local_addr().map_err(|e| e.to_string())?.ip();
    let open = database.open_accounts();
    let (Some(first), false) = (open.first(), connections::is_loopback(address)) else {
        return Ok(());
    };
    Err(format!(
        "refusing to listen on {address}: without a password anybody may log in as {}; start \
         without --bind-address, set passwords (ALTER USER {first} IDENTIFIED BY '…') and start again",
        open.join(", ")
    ))
}

fn socket_path(settings: &Settings, directory: &Path) -> PathBuf {
    settings
        .socket
        .clone()
        .unwrap_or_else(|| directory.join("mysql.sock"))
}

/// The Unix socket; one that cannot be had does not keep the server from starting unless it was
/// asked for.
fn bind_unix(
    settings: &Settings,
    directory: &Path,
) -> Result<(Option<UnixListener>, PathBuf), String> {
    let directory = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    let path = socket_path(settings, &directory);
    if path.exists() {
        if UnixStream::connect(&path).is_ok() {
            return Err(format!(
                "{} is in use: choose another with --socket",
                path.display()
            ));
        }
        // Left over by a server that was killed.
        let _ = fs::remove_file(&path);
    }
    let bound = UnixListener::bind(&path).and_then(|listener| {
        // Whoever is on this machine may ask to be let in, as by TCP.
        fs::set_permissions(&path, Permissions::from_mode(SOCKET_MODE))?;
        Ok(listener)
    });
    match bound {
        Ok(listener) => Ok((Some(listener), path)),
        Err(error) if settings.socket.is_some() => Err(format!("{}: {error}", path.display())),
        Err(error) => {
            notice!(
                Notice::NoUnixSocket,
                "no Unix socket: {}: {error}",
                path.display()
            );
            Ok((None, path))
        }
    }
}

/// Has SHUTDOWN stop the server as SIGTERM does, unless it stops already: a second signal would end the
/// process at once.
fn stop_by_statement(instance: &Instance) -> Arc<AtomicBool> {
    let stops = Arc::new(AtomicBool::new(false));
    let already = Arc::clone(&stops);
    instance.stopped_by(Box::new(move |user| {
        if already.swap(true, Ordering::Relaxed) {
            return;
        }
        notice!(Notice::Stopping, "SHUTDOWN by user {user}");
        if let Err(error) = signal_hook::low_level::raise(SIGTERM) {
            already.store(false, Ordering::Relaxed);
            notice!(Notice::Stopping, "SHUTDOWN could not be begun: {error}");
        }
    }));
    stops
}

/// Ends all connections: those that execute may finish their statement, for a while. What they have
/// said is in the logs then.
fn stop(connections: &Arc<Connections<Database>>, signal: &str) {
    let database = &connections.shared.backend;
    database.stopping.store(true, Ordering::Relaxed);
    notice!(
        Notice::Stopping,
        "{signal}: draining {} connections",
        connections.count()
    );
    if connections.drain(DRAIN) > 0 {
        let sessions = database.instance.sessions.list();
        notice!(
            Notice::StatementsKilled,
            "killing {} statements that still run",
            sessions.len()
        );
        for entry in sessions {
            database.instance.sessions.kill(&entry, true);
        }
        connections.drain(DRAIN_AFTER_KILL);
    }
    database.refusals.finish();
    database.instance.query_logs.settle();
}

/// Writes a last checkpoint, so that the next start has nothing to recover.
fn finish(mut engine: Arc<Engine>) -> Result<(), String> {
    /// The scrub lets go of it within this time.
    const PATIENCE: Duration = Duration::from_secs(1);
    let begun = Instant::now();
    let alone = loop {
        match Arc::try_unwrap(engine) {
            Err(shared) if begun.elapsed() < PATIENCE => engine = shared,
            result => break result,
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    match alone {
        Ok(engine) => engine.close(),
        // A statement that nothing could stop still uses it: its end is like a crash to it.
        Err(engine) => engine.checkpoint(),
    }
    .map_err(|error| format!("the last checkpoint failed: {error}"))?;
    notice!(Notice::Stopped, "stopped");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_where_numbers_are_wanted() {
        let text = |text: &str| toml::Value::String(text.into());
        let cases = [
            ("max_allowed_packet", "128M", Value::Int(128 << 20)),
            ("sort_buffer_size", "2k", Value::Int(2048)),
            ("wait_timeout", "60", Value::Int(60)),
            ("sql_mode", "ANSI", Value::Bytes(b"ANSI".to_vec())),
            ("version_comment", "7M", Value::Bytes(b"7M".to_vec())),
        ];
        for (name, given, expected) in cases {
            assert_eq!(toml_value(name, text(given)), Ok(expected), "{name}");
        }
    }
}
