//! A login, packet by packet: it never waits, so that a client that stalls in the middle of one
//! holds no thread.

use super::{
    Account, Backend, Connection, End, Phase, auth, dialect, handshake,
    judge::{Claim, Way, judge, right_form},
};
use crate::{
    compression::{self, Algorithm, Compression},
    constants::capability,
    handshake::Login as Response,
    tls::Offer,
};
use cohort_engine::types::Collation;
use cohort_sql::{Allowed, Attributes, SqlError, session::Identity};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The longest response to the greeting: names, a proof, and up to 64 KiB of attributes.
const RESPONSE_MAX: usize = 128 * 1024;
/// The longest of the packets that follow: a password, far longer than any is.
const PASSWORD_MAX: usize = 4 * 1024;
/// How far a login has come.
pub(super) struct Login {
    /// When it is given up.
    pub until: Instant,
    stage: Stage,
    /// The TLS that the client was offered and has not asked for.
    offer: Option<Arc<Offer>>,
    request: Request,
    account: Option<Account>,
    /// How long its proof has waited before it was looked at.
    waited: Option<Duration>,
    /// The client was asked for the password, which tells that its proof was not right.
    pub was_asked: bool,
    /// The server was told how this ends.
    pub is_noted: bool,
    /// Why it was refused, if the error does not say that for good reason.
    reason: &'static str,
}

/// What the client's next packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The response to the greeting.
    Response,
    /// A proof made by the method that it was told.
    Proof,
    /// The password: in the clear if nobody can listen, else under RSA, or the wish to have the
    /// public key.
    Password,
    /// The password under RSA, after it was told the key.
    Encrypted,
}

/// What a client says about itself, out of the read buffer.
#[derive(Default)]
pub(super) struct Request {
    user: String,
    pub database: String,
    plugin: Vec<u8>,
    proof: Vec<u8>,
    pub capabilities: u32,
    /// In which it speaks, if that is known.
    pub collation: Option<Collation>,
    /// What it says of itself.
    pub attributes: Attributes,
}

/// The collation that a client names, if it is one of a character set that clients can have.
pub(super) fn client_collation(id: u16) -> Option<Collation> {
    Collation::from_id(id).filter(|collation| collation.charset().is_for_clients())
}

impl From<&Response<'_>> for Request {
    fn from(response: &Response<'_>) -> Request {
        Request {
            user: String::from_utf8_lossy(response.user).into_owned(),
            database: String::from_utf8_lossy(response.database).into_owned(),
            plugin: response.plugin.to_vec(),
            proof: response.proof.to_vec(),
            capabilities: response.capabilities,
            collation: client_collation(response.collation),
            attributes: Attributes::new(&response.attributes),
        }
    }
}

/// The capabilities that say how a connection can be compressed.
fn offered(allowed: Allowed) -> u32 {
    let if_so = |is_allowed, capability| if is_allowed { capability } else { 0 };
    if_so(allowed.zlib, capability::COMPRESS)
        | if_so(allowed.zstd, capability::ZSTD_COMPRESSION_ALGORITHM)
}

/// How the connection will be compressed. As in MySQL zlib comes first, and Zstandard's level counts
/// only if it is chosen.
fn agree(allowed: Allowed, response: &Response<'_>) -> Result<Option<Compression>, SqlError> {
    let wanted = response.capabilities & offered(allowed);
    if wanted & capability::COMPRESS != 0 {
        return Ok(Some(compression::ZLIB));
    }
    if wanted & capability::ZSTD_COMPRESSION_ALGORITHM == 0 {
        let none = SqlError::wrong_compression("uncompressed");
        return allowed.uncompressed.then_some(None).ok_or(none);
    }
    let (algorithm, level) = (Algorithm::Zstd, response.zstd_level);
    if !compression::ZSTD_LEVELS.contains(&level) {
        return Err(SqlError::wrong_compression_level(algorithm.name()));
    }
    Ok(Some(Compression { algorithm, level }))
}

/// A login that has succeeded.
pub(super) struct Granted {
    pub who: Identity,
    pub request: Request,
}

/// How a login goes on after a step.
pub(super) enum Progress {
    /// The client must send another packet.
    More,
    /// For so long its proof is not looked at; then [`Connection::check_proof`].
    Wait(Duration),
    /// It is over, and after so long the client is told how.
    Done(Duration, Box<Result<Granted, SqlError>>),
}

impl Progress {
    /// Whether the client may come in.
    pub fn is_success(&self) -> bool {
        matches!(self, Progress::Done(_, judged) if judged.is_ok())
    }
}

/// The end of a step.
type Step = Result<Progress, End>;

impl Login {
    /// A login that begins with the greeting.
    pub fn new(until: Instant, offer: Option<Arc<Offer>>) -> Login {
        Login {
            until,
            stage: Stage::Response,
            offer,
            request: Request::default(),
            account: None,
            waited: None,
            was_asked: false,
            is_noted: false,
            reason: "",
        }
    }

    /// Who wants to come in.
    pub fn user(&self) -> &str {
        &self.request.user
    }

    /// How long its proof was not looked at.
    pub fn has_waited(&self) -> Duration {
        self.waited.unwrap_or_default()
    }

    /// The longest packet that the client may send next.
    pub fn packet_max(&self) -> usize {
        match self.stage {
            Stage::Response => RESPONSE_MAX,
            Stage::Proof | Stage::Password | Stage::Encrypted => PASSWORD_MAX,
        }
    }
}

impl<B: Backend> Connection<B> {
    /// Puts the greeting into the write buffer.
    pub(super) fn put_greeting(&mut self) {
        const AUTOCOMMIT: u16 = 2;
        let tls = match &self.phase {
            Phase::Login(entering) if entering.login.offer.is_some() => capability::SSL,
            _ => 0,
        };
        let extra = tls | offered(self.shared.backend.compressions());
        let version = self.shared.backend.server_version();
        let writer = &mut self.wire.writer;
        writer.begin();
        let out = &mut writer.buffer;
        handshake::put_greeting(out, version, self.id as u32, &self.nonce, AUTOCOMMIT, extra);
        writer.end();
    }

    /// Deals with the packet in the read buffer; what the client must be told is put into the
    /// write buffer.
    pub(super) fn login_step(&mut self, login: &mut Login) -> Step {
        let payload = self.wire.reader.payload();
        match login.stage {
            Stage::Response => {
                if handshake::asks_for_tls(payload)
                    && let Some(offer) = login.offer.take()
                {
                    // What came with the request is the beginning of TLS.
                    let received = self.wire.reader.take_rest();
                    self.shared.tls.accept(&offer, &self.stream, &received)?;
                    return Ok(Progress::More);
                }
                let Some(response) = handshake::parse_response(payload) else {
                    return Err(End::Error(SqlError::bad_handshake()));
                };
                if self.stream.is_encrypted() {
                    self.shared.tls.note_finished();
                }
                let allowed = self.shared.backend.compressions();
                self.compression = agree(allowed, &response).map_err(End::Error)?;
                self.dialect = dialect(&response);
                self.multi = response.capabilities & capability::MULTI_STATEMENTS != 0;
                login.request = Request::from(&response);
                login.account = self.account_of(login);
                self.begin_login(login)
            }
            Stage::Proof => {
                login.request.proof = payload.to_vec();
                self.check_proof(login)
            }
            Stage::Password if self.stream.is_private() => {
                let password = payload.to_vec();
                self.check_password(login, password)
            }
            Stage::Password if payload == [auth::more::WANT_KEY] => {
                let shared = self.shared.clone();
                let Some(key) = shared.key.public() else {
                    return Ok(self.verdict(login, false));
                };
                self.put_more(key.as_bytes());
                login.stage = Stage::Encrypted;
                Ok(Progress::More)
            }
            Stage::Password | Stage::Encrypted => {
                // What cannot be decrypted is a wrong password: an answer that came sooner would
                // say more.
                let mut password = self.shared.key.decrypt(payload).unwrap_or_default();
                auth::mask(&mut password, &self.nonce);
                self.check_password(login, password)
            }
        }
    }

    /// COM_CHANGE_USER: a login in the middle of a connection, which begins with its packet. As MySQL does,
    /// the client is asked for its proof then: MySQL's own sends none before.
    pub(super) fn change_login(&mut self, response: &Response<'_>, login: &mut Login) -> Step {
        login.request = Request::from(response);
        login.account = self.account_of(login);
        match login.request.capabilities & capability::PLUGIN_AUTH {
            0 => self.begin_login(login),
            _ => Ok(self.ask_for_proof(login)),
        }
    }

    /// The account that a client says it is.
    fn account_of(&self, login: &Login) -> Option<Account> {
        self.shared.backend.account(&login.request.user, &self.peer)
    }

    /// Has the client prove its password, by the account's method.
    fn begin_login(&mut self, login: &mut Login) -> Step {
        let plugin = login.plugin().to_owned();
        // MariaDB's replicas know no caching_sha2_password, and have no nonce for their own method
        // in a greeting that is for that one: they send nothing, and wait to be asked.
        let stored = login
            .account
            .as_ref()
            .map(|account| &*account.authentication_string);
        let must_be_asked = plugin == auth::NATIVE
            && login.request.proof.is_empty()
            && stored.is_some_and(|stored| !stored.is_empty());
        if login.request.plugin == plugin.as_bytes() && !must_be_asked {
            return self.check_proof(login);
        }
        if login.request.capabilities & capability::PLUGIN_AUTH == 0 {
            let error = SqlError::unsupported_auth_mode();
            let backend = &self.shared.backend;
            backend.note_arrival(&login.request.user, &self.peer, Some((&error, "")));
            login.is_noted = true;
            return Err(End::Error(error));
        }
        Ok(self.ask_for_proof(login))
    }

    /// Has the client make a proof by the account's method: AuthSwitchRequest.
    fn ask_for_proof(&mut self, login: &mut Login) -> Progress {
        let writer = &mut self.wire.writer;
        writer.begin();
        let out = &mut writer.buffer;
        out.push(0xfe);
        out.extend_from_slice(login.plugin().as_bytes());
        out.push(0);
        out.extend_from_slice(&self.nonce);
        out.push(0);
        writer.end();
        login.stage = Stage::Proof;
        Progress::More
    }

    pub(super) fn check_proof(&mut self, login: &mut Login) -> Step {
        if login.request.proof == [0] {
            login.request.proof.clear(); // how some clients send no password
        }
        // Asking for the password, or not asking, tells already whether the proof was right.
        let user = &login.request.user;
        if login.waited.is_none() {
            let wait = self.shared.backend.delay_before(user, &self.peer);
            login.waited = Some(wait);
            if !wait.is_zero() {
                login.until += wait;
                return Ok(Progress::Wait(wait));
            }
        }
        let proof = &login.request.proof;
        let stored = login.account.iter().flat_map(Account::stored);
        let stored: Vec<&str> = stored.collect();
        let mut each = stored.iter();
        let right = if login.plugin() == auth::NATIVE {
            each.any(|stored| auth::check_native(stored, &self.nonce, proof))
        } else if proof.is_empty() {
            stored == [""]
        } else {
            let known = each.any(|stored| {
                let digest = self.shared.verified.digest(stored);
                digest.is_some_and(|digest| auth::check_sha2(&digest, &self.nonce, proof))
            });
            if !known {
                self.put_more(&[auth::more::FULL]);
                login.stage = Stage::Password;
                login.was_asked = true;
                return Ok(Progress::More);
            }
            self.put_more(&[auth::more::FAST_SUCCESS]);
            true
        };
        Ok(self.verdict(login, right))
    }

    /// Checks a password that was sent in full, with a zero at its end.
    fn check_password(&mut self, login: &mut Login, mut password: Vec<u8>) -> Step {
        let ended = password.pop() == Some(0);
        let right = right_form(login.account.as_ref(), &password).filter(|_| ended);
        if let Some(stored) = right {
            self.shared.verified.remember(stored, &password);
        }
        let right = right.is_some();
        Ok(self.verdict(login, right))
    }

    /// The end of a login, which the server is told at once, and the client when it has waited long
    /// enough.
    fn verdict(&self, login: &mut Login, right: bool) -> Progress {
        let backend = &self.shared.backend;
        let user = login.request.user.clone();
        let judged = self.judge(login, right);
        let waited = login.waited.unwrap_or_default();
        let wait = backend.note_proof(&user, &self.peer, (judged.is_ok(), waited));
        login.is_noted = true;
        if let Err(error) = &judged {
            backend.note_arrival(&user, &self.peer, Some((error, login.reason)));
        }
        Progress::Done(wait, Box::new(judged))
    }

    /// Whether somebody whose password was right, or wrong, may come in.
    fn judge(&self, login: &mut Login, right: bool) -> Result<Granted, SqlError> {
        let can_change = capability::CAN_HANDLE_EXPIRED_PASSWORDS;
        let claim = Claim {
            user: &login.request.user,
            peer: &self.peer,
            account: login.account.as_ref(),
            is_right: right,
            has_password: !login.request.proof.is_empty(),
            can_change_password: login.request.capabilities & can_change != 0,
        };
        let encryption = self.stream.encryption();
        let way = Way {
            is_encrypted: encryption.is_some(),
            is_private: self.stream.is_private(),
            encryption,
        };
        match judge(&self.shared.backend, &claim, &way) {
            Ok(who) => {
                login.account = None;
                let request = std::mem::take(&mut login.request);
                Ok(Granted { who, request })
            }
            Err((error, reason)) => {
                login.reason = reason;
                Err(error)
            }
        }
    }

    fn put_more(&mut self, data: &[u8]) {
        let writer = &mut self.wire.writer;
        writer.begin();
        writer.buffer.push(1);
        writer.buffer.extend_from_slice(data);
        writer.end();
    }
}

impl Login {
    /// How the account proves its password; an unknown one goes through the same exchange as one
    /// whose password is not remembered.
    fn plugin(&self) -> &str {
        let account = self.account.as_ref();
        account.map_or(auth::CACHING_SHA2, |account| &account.plugin)
    }
}
