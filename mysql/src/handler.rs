//! What the protocol needs from the server behind it.

use cohort_engine::{
    txn::{Owner, Placed},
    types::{Collation, Value},
};
use cohort_scheduler::{Class, Standing};
use cohort_sql::{
    Allowed, Attributes, Compression, Encryption, Output, SqlError,
    session::{BackUp, BackupKind, Dump, DumpStart, Identity, Prepared},
    statements::LateNote,
    users::Requirement,
};
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

/// Where a client comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The host names and addresses accounts may give for it, best first; never empty for a
    /// socket of ours.
    pub hosts: Vec<String>,
    /// Its address and the port at its end; none for a Unix socket.
    pub address: Option<SocketAddr>,
}

impl Peer {
    /// One that a proxy tells of. A loopback address is one of the proxy's machine, and its client not
    /// at our `localhost`.
    #[must_use]
    pub fn behind_proxy(address: SocketAddr) -> Peer {
        Peer {
            hosts: vec![address.ip().to_canonical().to_string()],
            address: Some(address),
        }
    }
    /// Its address; none for a Unix socket.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.address.map(|address| address.ip().to_canonical())
    }
    /// The host as errors show it.
    #[must_use]
    pub fn host(&self) -> &str {
        self.hosts.first().map_or("", String::as_str)
    }
    /// Host and port, as the process list shows them.
    #[must_use]
    pub fn shown(&self) -> String {
        match self.address {
            Some(address) => format!("{}:{}", self.host(), address.port()),
            None => self.host().to_owned(),
        }
    }
}

/// How a user proves who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user part of the account, as CURRENT_USER() shows it.
    pub user: String,
    /// Its host pattern.
    pub host: String,
    /// `caching_sha2_password` or `mysql_native_password`.
    pub plugin: String,
    /// The stored form of the password, as in mysql.user; empty for none.
    pub authentication_string: String,
    /// The same of the password before, which is right as well; empty for none.
    pub second_string: String,
    /// What its connections must be like.
    pub requirement: Requirement,
    /// ACCOUNT LOCK: nobody logs in.
    pub locked: bool,
    /// The password has expired: who can says a new one first, others are sent away.
    pub expired: bool,
}

impl Account {
    /// The stored forms of the passwords that are right.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &str> {
        let second = Some(self.second_string.as_str()).filter(|second| !second.is_empty());
        [self.authentication_string.as_str()]
            .into_iter()
            .chain(second)
    }
}

/// One client's session.
pub trait Handler {
    /// COM_QUERY.
    fn query(&mut self, sql: &[u8], multi: bool, out: &mut dyn Output) -> Result<(), SqlError>;
    /// COM_STMT_PREPARE.
    fn prepare(&mut self, sql: &[u8]) -> Result<Prepared, SqlError>;
    /// COM_STMT_EXECUTE.
    fn execute(
        &mut self,
        id: u32,
        parameters: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError>;
    /// COM_REGISTER_SLAVE: the client is this server's replica.
    fn register_replica(&mut self, server_id: u32, host: String, port: u16)
    -> Result<(), SqlError>;
    /// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
    fn begin_dump(&mut self, start: DumpStart, server_id: u32) -> Result<Dump, SqlError>;
    /// `COHORT_BACKUP`.
    fn begin_backup(&mut self, kind: BackupKind) -> Result<BackUp, SqlError>;
    /// What is to be sent of a dump or a backup has been.
    fn end_dump(&mut self);
    /// COM_STMT_CLOSE.
    fn close(&mut self, id: u32);
    /// COM_INIT_DB.
    fn use_database(&mut self, name: &str) -> Result<(), SqlError>;
    /// COM_RESET_CONNECTION, and COM_CHANGE_USER with the new user.
    fn reset(&mut self, who: Option<Identity>);
    /// What the client has said of itself in its login.
    fn set_attributes(&mut self, attributes: Attributes);
    /// In which the client gets texts (character_set_results): none for each in its own.
    fn results_collation(&self) -> Option<Collation>;
    /// The status flags now.
    fn status(&self) -> u16;
    /// What the last command has committed and nobody knows to be durable yet: its reply, one
    /// packet, must not leave before.
    fn take_placed(&mut self) -> Option<Placed>;
    /// How long the client may stay silent: wait_timeout, or idle_transaction_timeout.
    fn idle_timeout(&self) -> Duration;
    /// How long it may take over the rest of a packet: net_read_timeout.
    fn read_timeout(&self) -> Duration;
    /// How long it may not take more of its result: net_write_timeout.
    fn write_timeout(&self) -> Duration;
    /// What the session's priority depends on.
    fn standing(&self) -> Standing;
    /// Who is told before and after the session waits, and knows whether it was killed.
    fn owner(&self) -> Arc<Owner>;
    /// The longest packet the client may send.
    fn max_allowed_packet(&self) -> usize;
    /// Whether the connection is to end (KILL CONNECTION, COMMIT RELEASE).
    fn is_over(&self) -> bool;
    /// Whether KILL CONNECTION ended it, perhaps in the middle of a statement.
    fn is_killed(&self) -> bool;
    /// Counts what went over the wire since the last call.
    fn count_bytes(&self, received: u64, sent: u64);
    /// The statement whose reply is held back, to be finished when the reply leaves.
    fn take_note(&mut self) -> Option<LateNote>;
    /// The reply to the last command has left.
    fn replied(&mut self);
    /// The client has logged in, over `Socket`, `TCP/IP` or `SSL/TLS`: the general log gets a line.
    /// An error if it may not come.
    fn connected(&self, means: &'static str, line: &str) -> Result<(), SqlError>;
    /// The client has become another user. An error if it may not.
    fn changed_user(&self, line: &str) -> Result<(), SqlError>;
    /// The client says something that is no statement: the general log's name of it, and what
    /// follows that.
    fn log_command(&self, command: &str, argument: &str);
    /// Whether statements are to be run before the client is told that it is in (init_connect).
    fn has_first_statements(&self) -> bool;
    /// Runs them. What the client is told if one fails, and what went wrong.
    fn run_first_statements(&mut self) -> Result<(), (SqlError, SqlError)>;
}

/// A client that has logged in.
#[derive(Debug)]
pub struct Arrival {
    /// The number of its connection.
    pub id: u64,
    /// Who it is.
    pub who: Identity,
    /// It has the capability CLIENT_FOUND_ROWS.
    pub found_rows: bool,
    /// It has the capability CLIENT_LOCAL_FILES.
    pub local_files: bool,
    /// It has the capability CLIENT_INTERACTIVE.
    pub interactive: bool,
    /// It came in by the administrators' door.
    pub admin: bool,
    /// In which it speaks.
    pub collation: Collation,
    /// The TLS it speaks through.
    pub encryption: Option<Encryption>,
    /// How what it says and hears is compressed.
    pub compression: Option<Compression>,
}

/// What all connections share.
pub trait Backend: Send + Sync + 'static {
    /// A client's session.
    type Session: Handler + Send;
    /// What the server calls itself in the handshake.
    fn server_version(&self) -> &str;
    /// The account a user from such a place logs in with.
    fn account(&self, user: &str, peer: &Peer) -> Option<Account>;
    /// Is told whether the password of a login was right. An error for an account that is blocked by
    /// now.
    fn note_login(&self, account: &Account, is_right: bool) -> Result<(), SqlError>;
    /// How long the password that somebody gives is not looked at, for wrong ones before it.
    fn delay_before(&self, user: &str, peer: &Peer) -> Duration;
    /// Is told whether somebody has proved who it is, and how long it has waited before; how long the
    /// answer is still held back.
    fn note_proof(&self, user: &str, peer: &Peer, proof: (bool, Duration)) -> Duration;
    /// Is told that a client is in, or with which error it was not let in, and what only the server
    /// may know of the reason.
    fn note_arrival(&self, user: &str, peer: &Peer, refused: Option<(&SqlError, &str)>);
    /// Is told that a client has not said who it is, and why.
    fn note_interruption(&self, peer: &Peer, why: &str);
    /// Is told that the statements of a new session have failed, what its client was told, and why.
    fn note_first_failure(&self, peer: &Peer, told: &SqlError, why: &SqlError);
    /// Is told that a session has ended otherwise than by COM_QUIT.
    fn note_abort(&self);
    /// Is called a few times a second.
    fn look(&self);
    /// Is told that a client was refused because there are too many.
    fn note_full(&self);
    /// Is told that the system did not give a connection out.
    fn note_accept_error(&self);
    /// Is told that there was no thread for a client.
    fn note_no_thread(&self);
    /// Begins the session of a client that has logged in, if it may.
    fn open(&self, arrival: Arrival) -> Result<Self::Session, SqlError>;
    /// Whether the client of a session may become another user.
    fn admit_again(&self, session: &Self::Session, who: &Identity) -> Result<(), SqlError>;
    /// Whether no password and no statement may travel in the clear (require_secure_transport).
    fn requires_secure_transport(&self) -> bool;
    /// Whether a proxy may be there that says who its client is (proxy_protocol_networks).
    fn may_be_proxy(&self, peer: &Peer) -> bool;
    /// How connections may be compressed (protocol_compression_algorithms).
    fn compressions(&self) -> Allowed;
    /// The line COM_STATISTICS asks for.
    fn statistics(&self) -> String;
    /// The connections whose statement has run for at least so long.
    fn long_running(&self, least: Duration) -> Vec<u64>;
    /// Ends a connection, and what it executes, as KILL CONNECTION does.
    fn kill(&self, id: u64);
    /// Whether the server is about to stop: no connection begins another command.
    fn is_stopping(&self) -> bool;
    /// How long a login may take.
    fn connect_timeout(&self) -> Duration;
    /// Takes the right to execute for a connection, unless this thread has it; `class` tells the
    /// queue, if it must. For how long it has queued.
    fn acquire_slot(&self, id: u64, class: impl FnOnce() -> Class) -> Duration;
    /// Gives it back, if this thread has it.
    fn release_slot(&self);
    /// Whether so many clients talk that a thread should not wait for one of them.
    fn is_crowded(&self) -> bool;
    /// Counts how long a reply has waited for the log.
    fn note_log_wait(&self, waited: Duration);
    /// Counts the time for which a client was waited for.
    fn note_client_wait(&self, waited: Duration);
}
