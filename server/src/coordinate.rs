//! The coordinator of global transactions: from settings to one that runs beside the server.

use crate::{config::Settings, connections};
use cohort_coordinator as coordinator;
use cohort_process::{Notice, notice};
use cohort_sql::Instance;
use std::{
    io,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Starts the coordinator, unless it is not wanted. If nobody asked for it, a port that is taken,
/// as by a second server on the machine, is no reason not to serve. `is_coordinated`: the tables have
/// the global transactions of a server that is followed.
pub fn start(
    settings: &Settings,
    instance: &Arc<Instance>,
    is_coordinated: bool,
) -> Result<Option<coordinator::Running>, String> {
    /// Connection ids of its sessions: clients' are far below.
    const FIRST_ID: u64 = 4_000_000_000;
    match settings.coordinator.as_deref() {
        None | Some("on") => {}
        Some("off") => return Ok(None),
        Some(other) => return Err(format!("coordinator: on or off is expected, not {other}")),
    }
    let place = place(settings)?;
    if is_coordinated && place.is_none() {
        let why = "this server follows a Cohort whose global transactions it has; to take them over, \
                   end that one, STOP REPLICA, and start again";
        if settings.coordinator.is_some() {
            return Err(format!(
                "coordinator: {why}; until then it starts with --coordinator off"
            ));
        }
        notice!(
            Notice::NoCoordinator,
            "no coordinator of global transactions: {why}"
        );
        return Ok(None);
    }
    let (http, grpc) = match ports(settings) {
        Ok(ports) => ports,
        Err(why) if settings.coordinator.is_none() && place.is_none() => {
            notice!(
                Notice::NoCoordinator,
                "no coordinator of global transactions: {why}"
            );
            return Ok(None);
        }
        Err(why) => return Err(why),
    };
    let tls = match (
        &settings.coordinator_ssl_cert,
        &settings.coordinator_ssl_key,
    ) {
        (Some(certificate), Some(key)) => Some(coordinator::Tls::load(certificate, key)?),
        (None, None) => None,
        _ => return Err("coordinator-ssl-cert and coordinator-ssl-key: give both".into()),
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let listeners = coordinator::Listeners { tls, http, grpc };
    let local = |listener: &TcpListener| listener.local_addr().map_err(|e| e.to_string());
    let (http, grpc) = (local(&listeners.http)?, local(&listeners.grpc)?);
    let is_loopback = connections::is_loopback(http.ip());
    if !is_loopback && settings.coordinator_token.is_none() {
        return Err(format!(
            "refusing to coordinate on {http} without a token: give --coordinator-token, or \
             COHORT_COORDINATOR_TOKEN, which no list of processes shows"
        ));
    }
    if !is_loopback && scheme == "http" {
        notice!(
            Notice::TokenInClear,
            "the coordinator's token travels unencrypted: --coordinator-ssl-cert helps"
        );
    }
    let hosts = settings.coordinator_branch_hosts.as_deref().unwrap_or("");
    let branch_hosts = coordinator::Guard::parse(hosts, is_loopback)
        .map_err(|error| format!("coordinator-branch-hosts: {error}"))?;
    let options = coordinator::Options {
        branch_hosts,
        collector: collector(settings)?,
        token: settings.coordinator_token.clone(),
        place: place.clone(),
        ..options(settings)
    };
    let next_id = AtomicU64::new(FIRST_ID);
    let next_id = || next_id.fetch_add(1, Ordering::Relaxed);
    let running = coordinator::Running::start(instance, listeners, options, &next_id)?;
    if let Some(place) = &place {
        let hosts = place.hosts.join(", ");
        notice!(
            Notice::CoordinatorReady,
            "the coordinator's state is in the schema {} on {hosts}",
            place.schema
        );
    }
    notice!(
        Notice::CoordinatorReady,
        "coordinating global transactions on {scheme}://{http}/api/dtmsvr and, for gRPC, {grpc}"
    );
    Ok(Some(running))
}

/// Where spans are sent, if anywhere. Variables that other programs on this machine obey are no
/// reason not to start.
fn collector(settings: &Settings) -> Result<Option<coordinator::Collector>, String> {
    let endpoint = settings.coordinator_otlp_endpoint.as_deref();
    match coordinator::Collector::find(endpoint, |name| std::env::var(name).ok()) {
        Err(why) if endpoint.is_none() => {
            notice!(Notice::NoSpans, "no spans are sent: {why}");
            Ok(None)
        }
        found => found,
    }
}

/// Where the coordinator's tables are, if not here.
fn place(settings: &Settings) -> Result<Option<coordinator::Place>, String> {
    let url = settings.coordinator_store.as_deref();
    let place = url.map(str::parse).transpose();
    place.map_err(|why: String| format!("coordinator-store: {why}"))
}

/// The coordinator's ports, for HTTP and for gRPC.
fn ports(settings: &Settings) -> Result<(TcpListener, TcpListener), String> {
    let address = settings.coordinator_address.as_deref();
    let address = address.unwrap_or("127.0.0.1");
    let listen = |name: &str, port: u16| {
        TcpListener::bind((address, port)).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => format!(
                "port {port} on {address} is in use, perhaps by another server: choose another \
                 with --{name}"
            ),
            _ => format!("{name} {port} on {address}: {error}"),
        })
    };
    Ok((
        listen(
            "coordinator-port",
            settings.coordinator_port.unwrap_or(36_789),
        )?,
        listen(
            "coordinator-grpc-port",
            settings.coordinator_grpc_port.unwrap_or(36_790),
        )?,
    ))
}

/// What the settings say; what they leave open is as usual.
fn options(settings: &Settings) -> coordinator::Options {
    const SECOND: u64 = 1_000_000;
    let mut options = coordinator::Options::default();
    let set = |option: &mut u64, seconds: Option<u64>| {
        if let Some(seconds) = seconds {
            *option = seconds.saturating_mul(SECOND);
        }
    };
    let rules = &mut options.rules;
    set(
        &mut rules.timeout_to_fail,
        settings.coordinator_timeout_to_fail,
    );
    set(
        &mut rules.retry_interval,
        settings.coordinator_retry_interval,
    );
    set(
        &mut rules.retry_interval_max,
        settings.coordinator_retry_interval_max,
    );
    set(
        &mut options.request_timeout,
        settings.coordinator_request_timeout,
    );
    if let Some(limit) = settings.coordinator_dead_letter_after {
        rules.dead_letter_after = limit;
    }
    set(
        &mut rules.dead_letter_age,
        settings.coordinator_dead_letter_age,
    );
    if let Some(url) = &settings.coordinator_alert_webhook {
        rules.alert_after = settings.coordinator_alert_retry_limit.unwrap_or(3);
        options.alert_webhook = Some(url.clone());
    }
    if let Some(age) = settings.coordinator_finished_data_expire {
        options.finished_expire = (age > 0).then(|| age.saturating_mul(SECOND));
    }
    options
}
