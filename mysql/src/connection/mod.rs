//! One client, from greeting to goodbye.
//!
//! A connection is a value that any thread can take up, serve for a while and put away again:
//! [`Connection::serve`] deals with what the client has sent and returns when it would have to
//! wait for more. What was only sent in part stays in the read buffer until then. So a silent
//! client costs no thread, nor does one that stalls in its login or sends a byte a second. While
//! few clients talk, though, a thread waits for its client a little while itself, for a thread
//! that is woken by its own client's packet is the fastest way to answer.

use super::{
    Account, Backend, Handler, Peer,
    auth::{self, Verified},
    compression::{Compression, Numbers},
    constants::{capability, command},
    handshake::{self, Nonce},
    packet::{Cursor, ReadError, Reader, Writer},
    parameters::{BadParameters, Statement},
    reply::{self, Dialect, Kind, Reply},
    rsa::Key,
    stream::{Prompt, Stream},
    tls::Tls,
};
use cohort_engine::{
    txn::Owner,
    types::{Collation, Value},
};
use cohort_scheduler::{Class, Tickets};
use cohort_sql::{Done, Output, SqlError};
use late::Late;
use login::{Granted, Login};
use rustc_hash::FxHashMap;
use std::{
    net::Shutdown,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// How long, and how much, of a refused packet is read away, so that the client sees why.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_MAX: usize = 64 << 20;
/// How long a thread waits for its client's next command, if not too many clients talk.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// What all connections share.
pub struct Shared<B> {
    /// The server behind the protocol.
    pub backend: B,
    /// Passwords seen in full.
    pub verified: Verified,
    /// The RSA key for passwords over plain TCP.
    pub key: Key,
    /// The TLS that clients are offered.
    pub tls: Arc<Tls>,
}

/// Why a connection ends.
enum End {
    /// The client has gone, or asked for it.
    Quiet,
    /// After this last word to the client.
    Error(SqlError),
}

impl From<ReadError> for End {
    fn from(error: ReadError) -> End {
        match error {
            ReadError::Closed | ReadError::Pending => End::Quiet,
            ReadError::TooLarge => End::Error(SqlError::packet_too_large()),
            ReadError::OutOfOrder => End::Error(SqlError::packets_out_of_order()),
            ReadError::Corrupt => End::Error(SqlError::packet_corrupt()),
        }
    }
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> End {
        End::Quiet
    }
}

/// What a connection needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// To be served again when its client has sent something; or at this moment, to be told
    /// that its time is over.
    Wait(Instant),
    /// To be served again, as its client has sent more already.
    Again,
    /// Nothing: it is over.
    Over,
}

/// Tells a client that is not let in why, instead of a greeting.
pub fn refuse(stream: &Stream, error: &SqlError) {
    let mut writer = Writer::new();
    reply::put_error(&mut writer, error);
    let _ = writer.flush_promptly(&mut Prompt(stream)); // it may have gone already
    stream.shutdown(Shutdown::Both);
}

struct Wire {
    reader: Reader,
    writer: Writer,
}

impl Wire {
    /// Both directions are compressed from here on.
    fn compress(&mut self, compression: Compression) {
        let numbers = Numbers::default();
        self.reader.unpack(compression.algorithm, numbers.clone());
        self.writer.pack(compression, numbers);
    }
}

/// A client's connection.
pub struct Connection<B: Backend> {
    shared: Arc<Shared<B>>,
    stream: Arc<Stream>,
    id: u64,
    peer: Peer,
    nonce: Nonce,
    wire: Wire,
    dialect: Dialect,
    /// The compression that was agreed on, until it begins with the first command.
    compression: Option<Compression>,
    /// A PROXY header may come before its first packet.
    may_be_proxied: bool,
    /// Whether COM_QUERY may hold several statements.
    multi: bool,
    /// It came in by the administrators' door, and never queues.
    admin: bool,
    phase: Phase<B::Session>,
    /// The client has sent more than the command that is obeyed now, and waits for the replies.
    ahead: Arc<AtomicBool>,
    /// The reply that waits for the log, of a connection that has committed something.
    late: Option<Arc<Late>>,
}

/// How far a connection has come.
enum Phase<S> {
    Login(Box<Login>),
    Commands(Box<Commands<S>>),
    /// The last word was said; so many bytes that the client still sends are read away, for a
    /// closed socket with unread bytes would take it back.
    Leaving(usize, Instant),
    Over,
}

/// What obeying commands needs besides the connection.
struct Commands<S> {
    session: S,
    owner: Arc<Owner>,
    tickets: Tickets,
    statements: FxHashMap<u32, Statement>,
    parameters: Vec<Value>,
    kinds: Vec<Kind>,
    /// net_write_timeout as the socket has it.
    write_timeout: Duration,
}

impl<B: Backend> Connection<B> {
    /// A connection that has just come in. It is to be greeted first.
    pub fn new(
        shared: &Arc<Shared<B>>,
        stream: &Arc<Stream>,
        id: u64,
        peer: Peer,
        admin: bool,
    ) -> Connection<B> {
        let until = Instant::now() + shared.backend.connect_timeout();
        Connection {
            shared: Arc::clone(shared),
            stream: Arc::clone(stream),
            id,
            nonce: auth::nonce(),
            wire: Wire {
                reader: Reader::new(),
                writer: Writer::new(),
            },
            dialect: Dialect {
                capabilities: capability::SERVER,
                results: Some(DEFAULT),
            },
            compression: None,
            may_be_proxied: shared.backend.may_be_proxy(&peer),
            peer,
            multi: false,
            admin,
            phase: Phase::Login(Box::new(Login::new(until, shared.tls.offer()))),
            ahead: Arc::default(),
            late: None,
        }
    }

    /// Greets the client.
    pub fn greet(&mut self) -> Next {
        let prepared = self.stream.set_read_timeout(Some(PATIENCE));
        self.put_greeting();
        match prepared
            .map_err(End::from)
            .and_then(|()| self.send_promptly())
        {
            Ok(()) => self.rest(),
            Err(end) => self.end(end),
        }
    }

    /// Its number.
    pub fn id(&self) -> u64 {
        self.id
    }
    /// Tells whether commands of its client were received that are not obeyed yet.
    pub fn ahead(&self) -> &Arc<AtomicBool> {
        &self.ahead
    }
    /// Its socket.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }
    /// Whether the client has not proved yet who it is.
    pub fn is_logging_in(&self) -> bool {
        !matches!(self.phase, Phase::Commands(_))
    }
    /// The queue for its next command.
    pub fn class(&mut self) -> Class {
        match &mut self.phase {
            Phase::Commands(commands) => commands.class(),
            _ => Class::Low,
        }
    }

    /// Whether others may wait for locks that it holds.
    pub fn holds_locks(&self) -> bool {
        match &self.phase {
            Phase::Commands(commands) => commands.session.standing().holds_locks,
            _ => false,
        }
    }

    /// Deals with what the client has sent. The thread may hold a slot already.
    pub fn serve(&mut self) -> Next {
        let served = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Login(login) => match self.log_in(login) {
                Ok(()) if self.has_begun_ahead() => return Next::Again,
                done => done,
            },
            Phase::Commands(mut commands) => self.obey(&mut commands).map(|()| {
                self.phase = Phase::Commands(commands);
            }),
            Phase::Leaving(left, until) => self.read_away(left, until),
            Phase::Over => Err(End::Quiet),
        };
        match served {
            Ok(()) => self.rest(),
            Err(end) => self.end(end),
        }
    }

    /// Whether the client has sent commands behind its login, before it was let in.
    fn has_begun_ahead(&self) -> bool {
        matches!(self.phase, Phase::Commands(_)) && self.has_sent_more()
    }

    /// Whether more has arrived than was looked at, and is where epoll does not see it.
    fn has_sent_more(&self) -> bool {
        !self.wire.reader.is_empty() || self.stream.holds_unread()
    }

    /// Tells the client that it was silent for too long.
    pub fn expire(&mut self) -> Next {
        let partial = !self.wire.reader.is_empty();
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Commands(commands) if !partial => {
                drop(commands);
                self.end(End::Error(SqlError::inactive_client()))
            }
            _ => self.end(End::Quiet),
        }
    }

    /// Puts the connection away: what it needs only while it is served is given back.
    fn rest(&mut self) -> Next {
        self.wire.reader.rest();
        self.wire.writer.rest();
        let now = Instant::now();
        match &mut self.phase {
            Phase::Login(login) => Next::Wait(login.until),
            Phase::Commands(commands) => {
                commands.parameters = Vec::new();
                commands.kinds = Vec::new();
                let session = &commands.session;
                let time = if self.wire.reader.is_empty() {
                    session.idle_timeout()
                } else {
                    session.read_timeout()
                };
                Next::Wait(now + time)
            }
            Phase::Leaving(_, until) => Next::Wait(*until),
            Phase::Over => Next::Over,
        }
    }

    /// Ends the connection, perhaps with an error as the last word.
    fn end(&mut self, end: End) -> Next {
        self.let_reply_go();
        self.shared.backend.release_slot();
        if let End::Error(error) = end {
            reply::put_error(&mut self.wire.writer, &error);
            if self.send_promptly().is_ok() {
                self.stream.shutdown(Shutdown::Write);
                self.phase = Phase::Leaving(LINGER_MAX, Instant::now() + LINGER);
                return self.rest();
            }
        }
        self.stream.shutdown(Shutdown::Both);
        self.phase = Phase::Over;
        Next::Over
    }

    /// Waits until the last reply is on its way, for what it told of is visible then: before the
    /// next command.
    fn wait_for_reply(&self) {
        self.wait_if(Late::is_pending);
    }

    /// Waits until the last reply has gone: before the next one, and before the end.
    fn let_reply_go(&self) {
        self.wait_if(|late| !late.has_gone());
    }

    fn wait_if(&self, must_wait: impl FnOnce(&Late) -> bool) {
        if let Some(late) = &self.late
            && must_wait(late)
        {
            self.shared.backend.release_slot();
            late.wait();
        }
    }

    fn read_away(&mut self, mut left: usize, until: Instant) -> Result<(), End> {
        let mut buffer = [0; 4096];
        while left > 0 {
            match self.stream.read_away(&mut buffer) {
                Ok(n) if n > 0 => left = left.saturating_sub(n),
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                    self.phase = Phase::Leaving(left, until);
                    return Ok(());
                }
                _ => break,
            }
        }
        Err(End::Quiet)
    }

    /// Goes on with a login as far as the client has sent its packets.
    fn log_in(&mut self, mut login: Box<Login>) -> Result<(), End> {
        loop {
            match self.receive_login(login.packet_max()) {
                Ok(()) => {}
                Err(ReadError::Pending) => {
                    self.phase = Phase::Login(login);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
            self.wire.writer.sequence = self.wire.reader.sequence;
            if let Some(granted) = self.login_step(&mut login)? {
                let commands = self.enter(granted)?;
                self.send_promptly()?;
                self.phase = Phase::Commands(Box::new(commands));
                return Ok(());
            }
            self.send_promptly()?;
        }
    }

    /// Receives the next packet of a login.
    fn receive_login(&mut self, max: usize) -> Result<(), ReadError> {
        if self.may_be_proxied {
            self.take_proxy_header()?;
            self.may_be_proxied = false;
        }
        self.wire.reader.next(&mut Prompt(&self.stream), max)
    }

    /// Begins the session, in the database that came with the login, and says that all is well.
    fn enter(&mut self, granted: Granted) -> Result<Commands<B::Session>, End> {
        let Granted { who, request } = granted;
        let arrival = super::Arrival {
            id: self.id,
            who,
            found_rows: request.capabilities & capability::FOUND_ROWS != 0,
            interactive: request.capabilities & capability::INTERACTIVE != 0,
            admin: self.admin,
            collation: request.collation.unwrap_or(DEFAULT),
            encryption: self.stream.encryption(),
            compression: self.compression,
        };
        let user = arrival.who.user.clone();
        let mut session = self.shared.backend.open(arrival).map_err(End::Error)?;
        let means = match (self.peer.port, self.stream.is_encrypted()) {
            (None, _) => "Socket",
            (Some(_), true) => "SSL/TLS",
            (Some(_), false) => "TCP/IP",
        };
        let (host, database) = (self.peer.host(), &request.database);
        let line = format!("{user}@{host} on {database} using {means}");
        session.connected(means, &line);
        session.set_attributes(request.attributes);
        self.use_first(&mut session, &request.database)?;
        Ok(Commands {
            owner: session.owner(),
            session,
            tickets: Tickets::default(),
            statements: FxHashMap::default(),
            parameters: Vec::new(),
            kinds: Vec::new(),
            write_timeout: Duration::ZERO,
        })
    }

    fn use_first(&mut self, session: &mut B::Session, database: &str) -> Result<(), End> {
        if !database.is_empty() {
            session.use_database(database).map_err(End::Error)?;
        }
        self.ok(session);
        Ok(())
    }

    fn ok(&mut self, session: &B::Session) {
        let done = Done {
            status: session.status(),
            ..Done::default()
        };
        reply::put_ok(&mut self.wire.writer, &done);
    }

    /// Sends what was written in a login: it is short, so that a client that cannot take it at
    /// once is not a client. Its next packet continues the numbering.
    fn send_promptly(&mut self) -> Result<(), End> {
        self.let_reply_go();
        self.wire.reader.sequence = self.wire.writer.sequence;
        let sent = self.wire.writer.flush_promptly(&mut Prompt(&self.stream))?;
        if sent { Ok(()) } else { Err(End::Quiet) }
    }
}

impl<S: Handler> Commands<S> {
    /// The queue for the next command.
    fn class(&mut self) -> Class {
        self.tickets.class(self.session.standing())
    }
}

/// The collation of clients that name none that is known.
const DEFAULT: Collation = Collation::Utf8mb40900AiCi;

fn dialect(login: &handshake::Login<'_>) -> Dialect {
    let collation = login::client_collation(login.collation).unwrap_or(DEFAULT);
    Dialect {
        capabilities: login.capabilities,
        // Who speaks binary gets each text in its own character set, as after SET NAMES.
        results: Some(collation).filter(|collation| !collation.is_binary()),
    }
}

mod backup;
mod commands;
mod dump;
pub(super) mod late;
mod login;
mod proxy;
