//! The database behind the wire protocol: `cohort_sql`'s instance and sessions.

use crate::{
    mysql::{Account, Backend, Handler, Peer},
    slots::Slots,
};
use cohort_engine::types::Value;
use cohort_sql::{
    Instance, Output, Session, SqlError,
    session::{Identity, Prepared},
    status::Counter,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// What all connections share.
pub struct Database {
    /// The SQL instance.
    pub instance: Arc<Instance>,
    /// The right to execute.
    pub slots: Arc<Slots>,
    /// What the handshake says.
    pub version: String,
    /// Set once, when the server begins to stop.
    pub stopping: AtomicBool,
}

impl Database {
    /// Whether root may log in without a password.
    #[must_use]
    pub fn root_is_open(&self) -> bool {
        let peer = Peer {
            hosts: vec!["localhost".to_owned()],
            port: None,
        };
        self.account("root", &peer)
            .is_some_and(|root| root.authentication_string.is_empty())
    }
}

impl Backend for Database {
    type Session = Session;

    fn server_version(&self) -> &str {
        &self.version
    }
    fn account(&self, user: &str, peer: &Peer) -> Option<Account> {
        let hosts: Vec<&str> = peer.hosts.iter().map(String::as_str).collect();
        let account = self.instance.users().find(user, &hosts)?;
        Some(Account {
            user: account.user,
            host: account.host,
            plugin: account.plugin,
            authentication_string: account.authentication,
        })
    }
    fn open(&self, id: u64, who: Identity, found_rows: bool, interactive: bool) -> Session {
        let waiting = Arc::clone(&self.slots);
        let mut session = Session::new(Arc::clone(&self.instance), id, who, waiting, found_rows);
        if interactive {
            session.set_interactive();
        }
        session
    }
    fn statistics(&self) -> String {
        let instance = &self.instance;
        let now = instance.env().wall_micros();
        let uptime = now.saturating_sub(instance.started_micros) / 1_000_000;
        let (threads, ..) = instance.sessions.counts();
        let counters = instance.sessions.sum();
        let questions = counters
            .get(Counter::Questions as usize)
            .copied()
            .unwrap_or(0);
        let average = questions as f64 / uptime.max(1) as f64;
        format!(
            "Uptime: {uptime}  Threads: {threads}  Questions: {questions}  Slow queries: 0  \
             Opens: 0  Flush tables: 0  Open tables: 0  Queries per second avg: {average:.3}"
        )
    }
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
    fn acquire_slot(&self) {
        self.slots.acquire();
    }
    fn release_slot(&self) {
        self.slots.release();
    }
}

impl Handler for Session {
    fn query(&mut self, sql: &[u8], multi: bool, out: &mut dyn Output) -> Result<(), SqlError> {
        Session::query(self, sql, multi, out)
    }
    fn prepare(&mut self, sql: &[u8]) -> Result<Prepared, SqlError> {
        Session::prepare(self, sql)
    }
    fn execute(
        &mut self,
        id: u32,
        parameters: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        Session::execute(self, id, parameters, out)
    }
    fn close(&mut self, id: u32) {
        Session::close(self, id);
    }
    fn use_database(&mut self, name: &str) -> Result<(), SqlError> {
        Session::use_database(self, name)
    }
    fn reset(&mut self, who: Option<Identity>) {
        Session::reset(self, who);
    }
    fn status(&self) -> u16 {
        Session::status(self)
    }
    fn idle_timeout(&self) -> Duration {
        Duration::from_secs(self.state().settings().idle_s_max)
    }
    fn max_allowed_packet(&self) -> usize {
        usize::try_from(self.state().settings().packet_bytes_max).unwrap_or(usize::MAX)
    }
    fn is_over(&self) -> bool {
        self.is_closing()
    }
    fn is_killed(&self) -> bool {
        Session::is_killed(self)
    }
    fn count_bytes(&self, received: u64, sent: u64) {
        let counters = self.state().counters();
        counters.add(Counter::BytesReceived, received);
        counters.add(Counter::BytesSent, sent);
    }
}
