//! One client, from greeting to goodbye.

use super::{
    Backend, Handler, Peer,
    auth::{self, Verified},
    constants::{capability, command},
    handshake::{self, Login, Nonce},
    packet::{Cursor, ReadError, Reader, Writer},
    parameters::{BadParameters, Statement},
    reply::{self, Dialect, Kind, Reply},
    stream::Stream,
};
use cohort_engine::types::{Collation, Value};
use cohort_sql::{Done, Output, SqlError, session::Identity};
use rustc_hash::FxHashMap;
use std::{
    io::Read,
    net::Shutdown,
    time::{Duration, Instant},
};

/// What a client may send before it has logged in.
const PACKET_MAX_AT_LOGIN: usize = 128 * 1024;
/// net_write_timeout: a client that does not take its reply in so long is given up.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long, and how much, of a refused packet is read away, so that the client sees why.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_MAX: usize = 64 << 20;

/// What all connections share.
pub struct Shared<B> {
    /// The server behind the protocol.
    pub backend: B,
    /// Passwords seen in full.
    pub verified: Verified,
    /// The RSA key for passwords over plain TCP.
    pub key: auth::Key,
    /// How long a login may take.
    pub connect_timeout: Duration,
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
            ReadError::Closed | ReadError::Timeout => End::Quiet,
            ReadError::TooLarge => End::Error(SqlError::packet_too_large()),
            ReadError::OutOfOrder => End::Error(SqlError::packets_out_of_order()),
        }
    }
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> End {
        End::Quiet
    }
}

/// Serves a client until it goes.
pub fn serve<B: Backend>(shared: &Shared<B>, stream: &Stream, id: u64, peer: Peer) {
    let mut connection = Connection {
        shared,
        stream,
        id,
        peer,
        nonce: auth::nonce(),
        wire: Wire {
            reader: Reader::new(),
            writer: Writer::new(),
        },
        dialect: Dialect {
            capabilities: capability::SERVER,
            collation: u16::from(handshake::DEFAULT_COLLATION),
        },
        multi: false,
    };
    if let Err(End::Error(error)) = connection.run() {
        connection.last_word(&error);
    }
    stream.shutdown(Shutdown::Both);
}

/// Tells a client that is not let in why, instead of a greeting.
pub fn refuse(stream: &Stream, error: &SqlError) {
    let mut writer = Writer::new();
    reply::put_error(&mut writer, error);
    let _ = writer.flush(&mut &*stream); // it may have gone already
    stream.shutdown(Shutdown::Both);
}

struct Wire {
    reader: Reader,
    writer: Writer,
}

impl Wire {
    /// The next packet of an exchange; replies continue its numbering.
    fn receive(&mut self, stream: &Stream, max: usize) -> Result<&[u8], ReadError> {
        let received = self.reader.next(&mut &*stream, max);
        self.writer.sequence = self.reader.sequence;
        received.map(|()| self.reader.payload())
    }
    /// Sends what was written; the client's next packet continues its numbering.
    fn send(&mut self, stream: &Stream) -> Result<(), End> {
        self.reader.sequence = self.writer.sequence;
        Ok(self.writer.flush(&mut &*stream)?)
    }
}

/// A login, out of the read buffer.
struct Request {
    user: String,
    database: String,
    plugin: Vec<u8>,
    proof: Vec<u8>,
    capabilities: u32,
}

struct Connection<'a, B: Backend> {
    shared: &'a Shared<B>,
    stream: &'a Stream,
    id: u64,
    peer: Peer,
    nonce: Nonce,
    wire: Wire,
    dialect: Dialect,
    /// Whether COM_QUERY may hold several statements.
    multi: bool,
}

/// The right to execute, for as long as this lives.
struct Slot<'a, B: Backend>(&'a B);

impl<'a, B: Backend> Slot<'a, B> {
    fn take(backend: &'a B) -> Slot<'a, B> {
        backend.acquire_slot();
        Slot(backend)
    }
}

impl<B: Backend> Drop for Slot<'_, B> {
    fn drop(&mut self) {
        self.0.release_slot();
    }
}

impl<B: Backend> Connection<'_, B> {
    fn run(&mut self) -> Result<(), End> {
        self.stream
            .set_read_timeout(Some(self.shared.connect_timeout))?;
        self.stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let request = self.greet()?;
        let who = self.authenticate(&request)?;
        let found_rows = request.capabilities & capability::FOUND_ROWS != 0;
        let interactive = request.capabilities & capability::INTERACTIVE != 0;
        let session = self
            .shared
            .backend
            .open(self.id, who, found_rows, interactive);
        let mut commands = Commands {
            session,
            statements: FxHashMap::default(),
            parameters: Vec::new(),
            kinds: Vec::new(),
        };
        self.enter(&mut commands.session, &request.database)?;
        self.obey(&mut commands)
    }

    /// Greets the client and reads what it answers.
    fn greet(&mut self) -> Result<Request, End> {
        const AUTOCOMMIT: u16 = 2;
        let version = self.shared.backend.server_version();
        self.wire.writer.begin();
        let out = &mut self.wire.writer.buffer;
        handshake::put_greeting(out, version, self.id as u32, &self.nonce, AUTOCOMMIT);
        self.wire.writer.end();
        self.wire.send(self.stream)?;
        let payload = self.wire.receive(self.stream, PACKET_MAX_AT_LOGIN)?;
        let Some(login) = handshake::parse_response(payload) else {
            return Err(End::Error(SqlError::bad_handshake()));
        };
        self.dialect = dialect(&login);
        self.multi = login.capabilities & capability::MULTI_STATEMENTS != 0;
        Ok(request(&login))
    }

    /// Uses the database that came with the login, and says that all is well.
    fn enter(&mut self, session: &mut B::Session, database: &str) -> Result<(), End> {
        if !database.is_empty() {
            let slot = Slot::take(&self.shared.backend);
            let used = session.use_database(database);
            drop(slot);
            used.map_err(End::Error)?;
        }
        self.ok(session);
        self.wire.send(self.stream)
    }

    /// Has the client prove its password, by the account's method.
    fn authenticate(&mut self, request: &Request) -> Result<Identity, End> {
        let account = self.shared.backend.account(&request.user, &self.peer);
        let (plugin, stored) = account.as_ref().map_or((auth::CACHING_SHA2, None), |a| {
            (&*a.plugin, Some(&*a.authentication_string))
        });
        let mut proof = request.proof.clone();
        if request.plugin != plugin.as_bytes() {
            if request.capabilities & capability::PLUGIN_AUTH == 0 {
                return Err(End::Error(SqlError::unsupported_auth_mode()));
            }
            proof = self.switch_method(plugin)?;
        }
        if proof == [0] {
            proof.clear(); // how some clients send no password
        }
        let right = if plugin == auth::NATIVE {
            auth::check_native(stored.unwrap_or("*"), &self.nonce, &proof)
        } else {
            self.check_sha2(stored, &proof)?
        };
        if right {
            return Ok(Identity {
                user: request.user.clone(),
                host: self.peer.shown(),
                account: account.map(|account| (account.user, account.host)),
            });
        }
        let using = if proof.is_empty() { "NO" } else { "YES" };
        let error = SqlError::access_denied(&request.user, self.peer.host(), using);
        Err(End::Error(error))
    }

    /// Asks for a proof made by another method.
    fn switch_method(&mut self, plugin: &str) -> Result<Vec<u8>, End> {
        self.wire.writer.begin();
        let out = &mut self.wire.writer.buffer;
        out.push(0xfe);
        out.extend_from_slice(plugin.as_bytes());
        out.push(0);
        out.extend_from_slice(&self.nonce);
        out.push(0);
        self.wire.writer.end();
        self.wire.send(self.stream)?;
        let proof = self.wire.receive(self.stream, PACKET_MAX_AT_LOGIN)?;
        Ok(proof.to_vec())
    }

    fn check_sha2(&mut self, stored: Option<&str>, proof: &[u8]) -> Result<bool, End> {
        if proof.is_empty() {
            return Ok(stored == Some(""));
        }
        let digest = stored.and_then(|stored| self.shared.verified.digest(stored));
        if digest.is_some_and(|digest| auth::check_sha2(&digest, &self.nonce, proof)) {
            self.put_more(&[auth::more::FAST_SUCCESS]);
            return Ok(true);
        }
        self.put_more(&[auth::more::FULL]);
        let Some(password) = self.receive_password()? else {
            return Ok(false);
        };
        let Some(stored) =
            stored.filter(|s| cohort_sql::password::matches_caching_sha2(s, &password))
        else {
            return Ok(false);
        };
        self.shared.verified.remember(stored, &password);
        Ok(true)
    }

    /// The password itself: in the clear if nobody can listen, else under RSA.
    fn receive_password(&mut self) -> Result<Option<Vec<u8>>, End> {
        self.wire.send(self.stream)?;
        let mut sent = self
            .wire
            .receive(self.stream, PACKET_MAX_AT_LOGIN)?
            .to_vec();
        if !self.stream.is_private() {
            if sent == [auth::more::WANT_KEY] {
                let shared = self.shared;
                let Some(key) = shared.key.public() else {
                    return Ok(None);
                };
                self.put_more(key.as_bytes());
                self.wire.send(self.stream)?;
                sent = self
                    .wire
                    .receive(self.stream, PACKET_MAX_AT_LOGIN)?
                    .to_vec();
            }
            let Some(decrypted) = self.shared.key.decrypt(&sent) else {
                return Ok(None);
            };
            sent = decrypted;
            auth::mask(&mut sent, &self.nonce);
        }
        let ended = sent.pop() == Some(0);
        Ok(ended.then_some(sent))
    }

    fn put_more(&mut self, data: &[u8]) {
        self.wire.writer.begin();
        self.wire.writer.buffer.push(1);
        self.wire.writer.buffer.extend_from_slice(data);
        self.wire.writer.end();
    }

    fn ok(&mut self, session: &B::Session) {
        let done = Done {
            status: session.status(),
            ..Done::default()
        };
        reply::put_ok(&mut self.wire.writer, &done);
    }

    /// Ends the connection with an error; what the client is still sending is read away for a
    /// while, for a closed socket with unread bytes would take the error back.
    fn last_word(&mut self, error: &SqlError) {
        reply::put_error(&mut self.wire.writer, error);
        let sent = self.wire.send(self.stream).is_ok();
        self.stream.shutdown(Shutdown::Write);
        let limited = self.stream.set_read_timeout(Some(LINGER)).is_ok();
        let (until, mut left) = (Instant::now() + LINGER, LINGER_MAX);
        let mut buffer = [0; 4096];
        while sent && limited && left > 0 && Instant::now() < until {
            match (&*self.stream).read(&mut buffer) {
                Ok(n) if n > 0 => left = left.saturating_sub(n),
                _ => break,
            }
        }
    }
}

fn dialect(login: &Login<'_>) -> Dialect {
    let known = Collation::from_id(login.collation).filter(|c| !c.is_binary());
    Dialect {
        capabilities: login.capabilities,
        collation: known.map_or(u16::from(handshake::DEFAULT_COLLATION), Collation::id),
    }
}

fn request(login: &Login<'_>) -> Request {
    Request {
        user: String::from_utf8_lossy(login.user).into_owned(),
        database: String::from_utf8_lossy(login.database).into_owned(),
        plugin: login.plugin.to_vec(),
        proof: login.proof.to_vec(),
        capabilities: login.capabilities,
    }
}

/// What obeying commands needs besides the connection.
struct Commands<S> {
    session: S,
    statements: FxHashMap<u32, Statement>,
    parameters: Vec<Value>,
    kinds: Vec<Kind>,
}

mod commands;
