//! Who comes in, and who does not: what the server asks and tells for each client at its door.

use super::{
    Instance,
    delays::{Delays, Rule},
    hosts::{Hosts, Trouble},
};
use crate::error::SqlError;
use std::{
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// What is known of those who came.
#[derive(Default)]
pub struct Door {
    /// Wrong logins in a row.
    pub delays: Delays,
    /// Where clients come from.
    pub hosts: Hosts,
    /// Aborted_connects: clients that were not let in, or did not come in.
    aborted_connects: AtomicU64,
    /// Aborted_clients: connections that did not end with COM_QUIT.
    aborted_clients: AtomicU64,
    /// Connection_errors_max_connections.
    too_many: AtomicU64,
    /// Connection_errors_accept.
    not_accepted: AtomicU64,
    /// Connection_errors_internal: no thread for a client.
    no_thread: AtomicU64,
}

impl Door {
    /// A connection has ended otherwise than by COM_QUIT.
    pub fn client_aborted(&self) {
        self.aborted_clients.fetch_add(1, Relaxed);
    }
    /// A client was refused for max_connections.
    pub fn was_full(&self) {
        self.too_many.fetch_add(1, Relaxed);
    }
    /// The system did not give a connection out.
    pub fn could_not_accept(&self) {
        self.not_accepted.fetch_add(1, Relaxed);
    }
    /// There was no thread for a client.
    pub fn had_no_thread(&self) {
        self.no_thread.fetch_add(1, Relaxed);
    }
    /// As SHOW STATUS has them. What cannot go wrong here is 0.
    pub(crate) fn status(&self) -> [(&'static str, u64); 9] {
        let read = |count: &AtomicU64| count.load(Relaxed);
        [
            ("Aborted_clients", read(&self.aborted_clients)),
            ("Aborted_connects", read(&self.aborted_connects)),
            (
                "Connection_control_delay_generated",
                self.delays.generated(),
            ),
            ("Connection_errors_accept", read(&self.not_accepted)),
            ("Connection_errors_internal", read(&self.no_thread)),
            ("Connection_errors_max_connections", read(&self.too_many)),
            ("Connection_errors_peer_address", 0),
            ("Connection_errors_select", 0),
            ("Connection_errors_tcpwrap", 0),
        ]
    }
}

impl Instance {
    /// A client has come in from this address, if it has one.
    pub fn let_in(&self, address: Option<IpAddr>) {
        self.note_host(address, None);
    }
    /// A client was not let in for this error.
    pub fn not_let_in(&self, address: Option<IpAddr>, error: &SqlError) {
        self.door.aborted_connects.fetch_add(1, Relaxed);
        self.note_host(address, Some(Trouble::of(error)));
    }
    /// A client has gone before it had said who it is.
    pub fn handshake_interrupted(&self, address: Option<IpAddr>) {
        self.door.aborted_connects.fetch_add(1, Relaxed);
        self.note_host(address, Some(Trouble::Handshake));
    }
    fn note_host(&self, address: Option<IpAddr>, trouble: Option<Trouble>) {
        if let Some(address) = address {
            let size = self.globals.values().number("host_cache_size");
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let now = self.env().wall_micros() / 1_000_000;
            self.door.hosts.note(address, trouble, now, size);
        }
    }
    /// The statements that a session begins with have failed.
    pub fn not_begun(&self, address: Option<IpAddr>, error: &SqlError) {
        self.note_host(address, Some(Trouble::of(error)));
    }
    /// How long the password of a user's name from a place is not looked at.
    pub fn delay_before(&self, user: &str, host: &str) -> Duration {
        let rule = self.delay_rule();
        self.door.delays.before(user, host, rule)
    }
    /// How long the answer to a login still has to wait, by a user's name from a place; `proof`:
    /// whether the password was right, and how long it has waited.
    pub fn delay_of(&self, user: &str, host: &str, proof: (bool, Duration)) -> Duration {
        let rule = self.delay_rule();
        self.door.delays.note(user, host, proof, rule)
    }
    /// connection_control_….
    #[must_use]
    pub fn delay_rule(&self) -> Rule {
        let values = self.globals.values();
        Rule {
            threshold: values.number("connection_control_failed_connections_threshold"),
            min_ms: values.number("connection_control_min_connection_delay"),
            max_ms: values.number("connection_control_max_connection_delay"),
        }
    }
}
