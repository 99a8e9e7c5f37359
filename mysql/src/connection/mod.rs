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
pub use dump::Coaches;
pub use judge::{Claim, NOT_AS_REQUIRED, Way, is_right, judge};
use late::Late;
use login::{Login, Progress};
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
    /// Who follows the log.
    pub coaches: Coaches,
}

/// Why a connection ends.
enum End {
    /// The client has gone, or is to go.
    Quiet,
    /// The client has asked for it.
    Goodbye,
    /// After this last word to the client.
    Error(SqlError),
    /// It does not end: the client becomes another user, if this login succeeds.
    Change(Box<(Login, Progress, Dialect)>),
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
    /// To be served at this moment, to be told that its time is over: until then nothing that its
    /// client sends is looked at. If its client goes, it is to be served at once.
    Delay(Instant),
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
    /// For how long it has queued for a slot since its last command.
    queued: Duration,
}

/// How far a connection has come.
enum Phase<S> {
    Login(Box<Entering<S>>),
    Commands(Box<Commands<S>>),
    /// The last word was said; so many bytes that the client still sends are read away, for a
    /// closed socket with unread bytes would take it back.
    Leaving(usize, Instant),
    Over,
}

/// A client that says who it is.
struct Entering<S> {
    login: Login,
    /// What waits for this moment, if its answer is held back.
    delayed: Option<(Instant, Progress)>,
    /// The session that it has already, and how it speaks in another (COM_CHANGE_USER).
    before: Option<(Box<Commands<S>>, Dialect)>,
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
    /// Its client does not know yet that it is in: statements are to be run before.
    begins: bool,
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
            phase: Phase::Login(Box::new(Entering {
                login: Login::new(until, shared.tls.offer()),
                delayed: None,
                before: None,
            })),
            ahead: Arc::default(),
            late: None,
            queued: Duration::ZERO,
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
    /// It has queued for so long; what it queues for before it is in is no statement's time.
    pub fn has_queued(&mut self, waited: Duration) {
        if matches!(self.phase, Phase::Commands(_)) {
            self.queued += waited;
        }
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

    /// Whether the answer to its login is held back.
    pub fn is_delayed(&self) -> bool {
        matches!(&self.phase, Phase::Login(entering) if entering.delayed.is_some())
    }

    /// Whether its client is let in once its answer is not held back any more.
    pub fn would_be_let_in(&self) -> bool {
        match &self.phase {
            Phase::Login(entering) => {
                let delayed = entering.delayed.as_ref();
                delayed.is_some_and(|(_, progress)| progress.is_success())
            }
            _ => false,
        }
    }

    /// Tells a client whose answer was held back that there is no room for it any more.
    pub fn turn_away(&mut self) -> Next {
        self.phase = Phase::Over;
        self.end(End::Error(SqlError::too_many_connections()))
    }

    /// Deals with what the client has sent. The thread may hold a slot already.
    pub fn serve(&mut self) -> Next {
        let served = match std::mem::replace(&mut self.phase, Phase::Over) {
            // Nothing was waited for but its end: the client has gone.
            Phase::Login(entering) if entering.delayed.is_some() => {
                self.give_up(&entering, "the client did not wait for the answer");
                Err(End::Quiet)
            }
            Phase::Login(entering) => return self.go_on_entering(entering, Connection::log_in),
            Phase::Commands(mut commands) => match self.obey(&mut commands) {
                Ok(()) => {
                    self.phase = Phase::Commands(commands);
                    Ok(())
                }
                Err(End::Change(change)) => return self.begin_change(commands, *change),
                Err(end) => {
                    if !matches!(end, End::Goodbye) {
                        self.shared.backend.note_abort();
                    }
                    Err(end)
                }
            },
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
            Phase::Commands(commands) => {
                drop(commands);
                self.shared.backend.note_abort();
                self.end(match partial {
                    true => End::Quiet,
                    false => End::Error(SqlError::inactive_client()),
                })
            }
            Phase::Login(mut entering) => match entering.delayed.take() {
                Some((_, progress)) => self.go_on_entering(entering, |connection, entering| {
                    connection.after_delay(entering, progress)
                }),
                None => {
                    self.give_up(&entering, "it took too long");
                    self.end(End::Quiet)
                }
            },
            _ => self.end(End::Quiet),
        }
    }

    /// Puts the connection away: what it needs only while it is served is given back.
    fn rest(&mut self) -> Next {
        self.wire.reader.rest();
        self.wire.writer.rest();
        let now = Instant::now();
        match &mut self.phase {
            Phase::Login(entering) => match &entering.delayed {
                Some((until, _)) => Next::Delay(*until),
                None => Next::Wait(entering.login.until),
            },
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
mod entering;
mod judge;
pub(super) mod late;
mod login;
mod proxy;
