//! The database behind the wire protocol: `cohort_sql`'s instance and sessions.

use crate::refusals::{Refusals, with_name_quoted};
use cohort_engine::txn::Unattended;
use cohort_mysql::{Account, Arrival, Backend, Peer};
use cohort_process::Notice;
use cohort_scheduler::{
    Class, Scheduler, Seat,
    waits::{Wait, Waits},
};
use cohort_sql::{
    Allowed, Instance, Proxies, Session, SqlError, privileges::needed, session::Identity,
    status::Counter, users::Requirement,
};
use std::{
    net::IpAddr,
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
    pub scheduler: Arc<Scheduler>,
    /// What sessions waited for, and how long.
    pub waits: Arc<Waits>,
    /// What the handshake says.
    pub version: String,
    /// What the log says of those who were not let in.
    pub refusals: Refusals,
    /// Set once, when the server begins to stop.
    pub stopping: AtomicBool,
}

impl Database {
    /// The accounts that let in whoever names them, without a password or a certificate: those that
    /// other machines may come as, and root.
    #[must_use]
    pub fn open_accounts(&self) -> Vec<String> {
        let users = self.instance.users();
        let open = users.list().iter().filter(|account| {
            let is_here = ["localhost", "127.0.0.1", "::1"].contains(&account.host.as_str());
            let is_proven = !account.authentication.is_empty()
                || matches!(
                    account.requirement,
                    Requirement::X509 | Requirement::Specified(_)
                );
            !account.locked && !is_proven && (!is_here || account.user == "root")
        });
        open.map(|account| account.quoted()).collect()
    }
}

impl Database {
    /// The time, in seconds since 1970.
    fn seconds_now(&self) -> u64 {
        self.instance.env().wall_micros() / 1_000_000
    }
    /// 1203 if a user has more connections than max_user_connections, or would with so many more. 1226
    /// if it is the account whose own limit is reached.
    fn check_user(
        &self,
        (user, more): (&str, u64),
        (account, more_of_it): (&(String, String), u64),
    ) -> Result<(), SqlError> {
        let instance = &self.instance;
        let users = instance.users();
        let limited = users.get(&account.0, &account.1);
        let limited = limited.and_then(|account| instance.limited(account));
        if limited.as_ref().is_none_or(|one| one.limits().at_once == 0) {
            let max = instance.globals.values().number("max_user_connections");
            if max > 0 && instance.sessions.of_user(user) + more > max {
                return Err(SqlError::too_many_user_connections(user));
            }
        }
        match limited {
            Some(limited) => {
                let sessions = match limited.limits().at_once {
                    0 => 0,
                    _ => instance.sessions.of_account(account) + more_of_it,
                };
                limited.count_session(sessions, instance.env().wall_micros())
            }
            None => Ok(()),
        }
    }
}

impl Database {
    /// The session of somebody who has logged in to the console. It takes no slot, so that it answers
    /// when there is none, as an administrator's does; but it is let in as any other.
    ///
    /// # Errors
    /// The account has too many sessions.
    pub fn open_for_console(&self, id: u64, who: Identity) -> Result<Session, SqlError> {
        let user = who.user.clone();
        let waiting = Arc::new(Unattended);
        let session = Session::new(Arc::clone(&self.instance), id, who, waiting, false);
        self.check_user((&user, 0), (&session.state().account, 0))?;
        Ok(session)
    }
}

impl Backend for Database {
    type Session = Session;

    fn server_version(&self) -> &str {
        &self.version
    }
    fn account(&self, user: &str, peer: &Peer) -> Option<Account> {
        let hosts: Vec<&str> = peer.hosts.iter().map(String::as_str).collect();
        let users = self.instance.users();
        let account = users.find(user, &hosts)?;
        Some(Account {
            user: account.user.clone(),
            host: account.host.clone(),
            plugin: account.plugin.clone(),
            authentication_string: account.authentication.clone(),
            second_string: account.second.clone(),
            requirement: account.requirement.clone(),
            locked: account.locked,
            expired: self.instance.has_expired(account, self.seconds_now()),
        })
    }
    fn note_login(&self, account: &Account, is_right: bool) -> Result<(), SqlError> {
        let users = self.instance.users();
        match users.get(&account.user, &account.host) {
            Some(account) => self
                .instance
                .logins
                .note(account, is_right, self.seconds_now()),
            None => Ok(()),
        }
    }
    fn delay_before(&self, user: &str, peer: &Peer) -> Duration {
        self.instance.delay_before(user, peer.host())
    }
    fn note_proof(&self, user: &str, peer: &Peer, proof: (bool, Duration)) -> Duration {
        self.instance.delay_of(user, peer.host(), proof)
    }
    fn note_arrival(&self, user: &str, peer: &Peer, refused: Option<(&SqlError, &str)>) {
        let Some((error, why)) = refused else {
            return self.instance.let_in(ip(peer));
        };
        self.instance.not_let_in(ip(peer), error);
        let told = with_name_quoted(&error.message, user);
        self.instance.tell_refused(user, peer.host(), error);
        let told = match why.is_empty() {
            true => told,
            false => format!("{told}: {why}"),
        };
        self.refusals.say(Notice::LoginRefused, &told);
    }
    fn note_interruption(&self, peer: &Peer, why: &str) {
        self.instance.handshake_interrupted(ip(peer));
        let who = peer.host();
        let told = format!("A client of '{who}' has not said who it is: {why}");
        self.refusals.say(Notice::ClientLost, &told);
    }
    fn note_first_failure(&self, peer: &Peer, told: &SqlError, why: &SqlError) {
        self.instance.not_begun(ip(peer), told);
        let told = format!("{} ({}: {})", told.message, why.code, why.message);
        self.refusals.say(Notice::FirstStatementFailed, &told);
    }
    fn note_abort(&self) {
        self.instance.door.client_aborted();
    }
    fn look(&self) {
        self.refusals.look();
    }
    fn note_full(&self) {
        self.instance.door.was_full();
    }
    fn note_accept_error(&self) {
        self.instance.door.could_not_accept();
    }
    fn note_no_thread(&self) {
        self.instance.door.had_no_thread();
    }
    fn open(&self, arrival: Arrival) -> Result<Session, SqlError> {
        let Arrival {
            id,
            who,
            found_rows,
            local_files,
            interactive,
            admin,
            collation,
            encryption,
            compression,
        } = arrival;
        let user = who.user.clone();
        let seat = Seat::new(&self.scheduler, id, admin);
        let mut session = Session::new(Arc::clone(&self.instance), id, who, seat, found_rows);
        if admin {
            session.state().need(needed::SERVICE_CONNECTIONS)?;
        } else {
            // It counts itself already.
            self.check_user((&user, 0), (&session.state().account, 0))?;
        }
        session.leave_commits();
        session.set_client_collation(collation);
        session.set_encryption(encryption);
        session.set_compression(compression);
        if local_files {
            session.set_local_files();
        }
        if interactive {
            session.set_interactive();
        }
        Ok(session)
    }
    fn admit_again(&self, session: &Session, who: &Identity) -> Result<(), SqlError> {
        let state = session.state();
        let more = u64::from(state.who.user != who.user);
        let account = who.account.as_ref().unwrap_or(&state.account);
        let more_of_it = u64::from(state.account != *account);
        self.check_user((&who.user, more), (account, more_of_it))
    }
    fn requires_secure_transport(&self) -> bool {
        let globals = self.instance.globals.values();
        globals.number("require_secure_transport") != 0
    }
    fn may_be_proxy(&self, peer: &Peer) -> bool {
        let globals = self.instance.globals.values();
        let proxies = Proxies::parse(globals.text("proxy_protocol_networks"));
        proxies.is_some_and(|proxies| proxies.contain(peer.ip()))
    }
    fn compressions(&self) -> Allowed {
        let globals = self.instance.globals.values();
        Allowed::parse(globals.text("protocol_compression_algorithms")).unwrap_or(Allowed {
            zlib: false,
            zstd: false,
            uncompressed: true,
        })
    }
    fn statistics(&self) -> String {
        let instance = &self.instance;
        let now = instance.env().wall_micros();
        let uptime = now.saturating_sub(instance.started_micros) / 1_000_000;
        let (threads, ..) = instance.sessions.counts();
        let counters = instance.sessions.sum();
        let count = |counter| counters.get(counter as usize).copied().unwrap_or(0);
        let (questions, slow) = (count(Counter::Questions), count(Counter::SlowQueries));
        let average = questions as f64 / uptime.max(1) as f64;
        format!(
            "Uptime: {uptime}  Threads: {threads}  Questions: {questions}  Slow queries: {slow}  \
             Opens: 0  Flush tables: 0  Open tables: 0  Queries per second avg: {average:.3}"
        )
    }
    fn long_running(&self, least: Duration) -> Vec<u64> {
        let least = u64::try_from(least.as_micros()).unwrap_or(u64::MAX);
        let before = self.instance.env().wall_micros().saturating_sub(least);
        let running = self.instance.sessions.running_since(before);
        running.iter().map(|entry| entry.id).collect()
    }
    fn kill(&self, id: u64) {
        let sessions = &self.instance.sessions;
        if let Some(entry) = sessions.find(id) {
            sessions.kill(&entry, true);
        }
    }
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
    fn connect_timeout(&self) -> Duration {
        let seconds = self.instance.globals.values().number("connect_timeout");
        Duration::from_secs(seconds)
    }
    fn acquire_slot(&self, id: u64, class: impl FnOnce() -> Class) -> Duration {
        self.scheduler.acquire(id, class)
    }
    fn release_slot(&self) {
        self.scheduler.release();
    }
    fn is_crowded(&self) -> bool {
        self.scheduler.is_crowded()
    }
    fn note_log_wait(&self, waited: Duration) {
        self.waits.note(Wait::Log, waited);
    }
    fn note_client_wait(&self, waited: Duration) {
        self.waits.note(Wait::Client, waited);
    }
}

/// The address a client comes from, if it has one.
fn ip(peer: &Peer) -> Option<IpAddr> {
    peer.address.map(|address| address.ip())
}
