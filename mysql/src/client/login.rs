//! Logging in, as a client: the answers to the server's greeting and to what it asks after it.

use super::wire::{CAPABILITIES, ServerError};
use crate::{
    auth::{CACHING_SHA2, NATIVE, mask, more},
    constants::capability,
    handshake::Nonce,
    packet::{Cursor, Writer, put_string},
    rsa,
    stream::Stream,
};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// utf8mb4_general_ci, which every server of the family knows.
const COLLATION: u8 = 45;
const PACKET_MAX: u32 = 1 << 24;

/// Who logs in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The user's name.
    pub user: String,
    /// The password; empty for none.
    pub password: String,
    /// The default database; empty for none.
    pub database: String,
    /// Whoever answers may have the password, encrypted under the key that he sends: a connection
    /// that is not encrypted does not tell who that is. (MySQL's `--get-server-public-key`.)
    pub trusts_key: bool,
}

/// How a password may travel, where a server wants more than a proof of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// As it is: nobody listens in, and the server is known as far as was asked for.
    Private,
    /// Encrypted under the key that the server sends.
    UnderKey,
    /// Not at all.
    Exposed,
}

impl Secrecy {
    /// Over this stream. Who answers on this machine is no stranger.
    #[must_use]
    pub fn of(stream: &Stream, account: &Account) -> Secrecy {
        match (
            stream.is_private(),
            stream.is_loopback() || account.trusts_key,
        ) {
            (true, _) => Secrecy::Private,
            (false, true) => Secrecy::UnderKey,
            (false, false) => Secrecy::Exposed,
        }
    }
}

/// What is said of [`Secrecy::Exposed`].
const EXPOSED: &str = "the server wants the password itself, and this connection is not encrypted: \
     use TLS (ssl-mode=REQUIRED), or trust whoever answers (get-server-public-key=1, \
     GET_SOURCE_PUBLIC_KEY = 1)";

/// A login under way.
#[derive(Debug, Default)]
pub struct Login {
    nonce: Nonce,
    /// What is asked for besides [`CAPABILITIES`].
    extra: u32,
    /// What both sides can do, known after the greeting.
    pub capabilities: u32,
    /// What the server says it is.
    pub version: String,
    greeted: bool,
    asked_for_key: bool,
    /// How the server would like a password to be proved.
    plugin: String,
}

/// What to do after a packet of the server.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Send what was written.
    Answer,
    /// Wait for the next packet.
    Wait,
    /// The server has let us in.
    In,
}

/// Why a login failed.
#[derive(Debug, PartialEq, Eq)]
pub enum LoginError {
    /// The server said no.
    Refused(ServerError),
    /// It asked for something we do not do.
    Unsupported(String),
}

fn malformed() -> LoginError {
    LoginError::Unsupported("the server does not speak MySQL's protocol".into())
}

impl Login {
    /// One that asks for these capabilities besides the usual ones.
    #[must_use]
    pub fn asking_for(extra: u32) -> Login {
        Login {
            extra,
            ..Login::default()
        }
    }

    /// Takes the server's greeting, and asks to go on with TLS before anything is said of who logs
    /// in. [`Login::secured`] comes next.
    pub fn ask_for_tls(
        &mut self,
        (sequence, payload): (u8, &[u8]),
        account: &Account,
        out: &mut Writer,
    ) -> Result<(), LoginError> {
        if let Some((0xff, rest)) = payload.split_first() {
            return Err(LoginError::Refused(ServerError::parse(rest)));
        }
        self.extra |= capability::SSL;
        self.greeted = true;
        self.plugin = self.greeting(payload).ok_or_else(malformed)?;
        if self.capabilities & capability::SSL == 0 {
            return Err(LoginError::Unsupported("the server has no TLS".into()));
        }
        self.leave_out_database(account);
        out.sequence = sequence.wrapping_add(1);
        out.begin();
        self.put_head(&mut out.buffer);
        out.end();
        Ok(())
    }

    /// The connection is encrypted now: says who logs in.
    pub fn secured(&mut self, account: &Account, out: &mut Writer) {
        let plugin = std::mem::take(&mut self.plugin);
        self.respond(&plugin, account, out);
    }

    /// Takes the server's next packet; what to answer is written to `out`. `secrecy` says
    /// how the password may travel.
    pub fn packet(
        &mut self,
        (sequence, payload): (u8, &[u8]),
        account: &Account,
        secrecy: Secrecy,
        out: &mut Writer,
    ) -> Result<Step, LoginError> {
        out.sequence = sequence.wrapping_add(1);
        let (&first, rest) = payload.split_first().ok_or_else(malformed)?;
        if first == 0xff {
            return Err(LoginError::Refused(ServerError::parse(rest)));
        }
        if !self.greeted {
            self.greeted = true;
            let plugin = self.greeting(payload).ok_or_else(malformed)?;
            self.respond(&plugin, account, out);
            return Ok(Step::Answer);
        }
        match first {
            0 => Ok(Step::In),
            0xfe => self.switch_method(rest, account, out),
            1 => self.more(rest, account, secrecy, out),
            _ => Err(malformed()),
        }
    }

    /// Reads the greeting; how the server would like a password to be proved.
    fn greeting(&mut self, payload: &[u8]) -> Option<String> {
        let mut cursor = Cursor(payload);
        cursor.u8().filter(|version| *version == 10)?;
        self.version = String::from_utf8_lossy(cursor.until_zero()?).into_owned();
        cursor.take(4)?; // the connection's number
        self.nonce[..8].copy_from_slice(cursor.take(8)?);
        cursor.take(1)?;
        let low = u32::from(cursor.u16()?);
        cursor.take(3)?; // collation, status
        let high = u32::from(cursor.u16()?);
        cursor.take(11)?; // the nonce's length, reserved
        self.nonce[8..].copy_from_slice(cursor.take(12)?);
        cursor.take(1)?;
        self.capabilities = (low | high << 16) & (CAPABILITIES | self.extra);
        let plugin = cursor.until_zero().unwrap_or(NATIVE.as_bytes());
        Some(String::from_utf8_lossy(plugin).into_owned())
    }

    /// Which must be known in a request for TLS already: servers keep what that says.
    fn leave_out_database(&mut self, account: &Account) {
        if account.database.is_empty() {
            self.capabilities &= !capability::CONNECT_WITH_DB;
        }
    }

    /// The head of a response, which is also a request for TLS.
    fn put_head(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.capabilities.to_le_bytes());
        bytes.extend_from_slice(&PACKET_MAX.to_le_bytes());
        bytes.push(COLLATION);
        bytes.extend_from_slice(&[0; 23]);
    }

    fn respond(&mut self, plugin: &str, account: &Account, out: &mut Writer) {
        self.leave_out_database(account);
        // A server whose method we do not know may still have the account use another.
        let (plugin, proof) = match self.proof(plugin, &account.password) {
            Some(proof) => (plugin, proof),
            None => (NATIVE, native_proof(&self.nonce, &account.password)),
        };
        out.begin();
        let bytes = &mut out.buffer;
        self.put_head(bytes);
        put_zero_ended(bytes, &account.user);
        put_string(bytes, &proof);
        if self.capabilities & capability::CONNECT_WITH_DB != 0 {
            put_zero_ended(bytes, &account.database);
        }
        put_zero_ended(bytes, plugin);
        out.end();
    }

    fn proof(&self, plugin: &str, password: &str) -> Option<Vec<u8>> {
        match plugin {
            NATIVE => Some(native_proof(&self.nonce, password)),
            CACHING_SHA2 => Some(sha2_proof(&self.nonce, password)),
            _ => None,
        }
    }

    fn switch_method(
        &mut self,
        rest: &[u8],
        account: &Account,
        out: &mut Writer,
    ) -> Result<Step, LoginError> {
        let mut cursor = Cursor(rest);
        let plugin = cursor.until_zero().ok_or_else(malformed)?;
        let plugin = String::from_utf8_lossy(plugin).into_owned();
        if let Some(nonce) = cursor.rest().first_chunk() {
            self.nonce = *nonce;
        }
        let Some(proof) = self.proof(&plugin, &account.password) else {
            let text = format!("the account uses {plugin}, which this client does not know");
            return Err(LoginError::Unsupported(text));
        };
        out.begin();
        out.buffer.extend_from_slice(&proof);
        out.end();
        Ok(Step::Answer)
    }

    /// The second act of caching_sha2_password.
    fn more(
        &mut self,
        data: &[u8],
        account: &Account,
        secrecy: Secrecy,
        out: &mut Writer,
    ) -> Result<Step, LoginError> {
        let mut password = account.password.clone().into_bytes();
        password.push(0);
        let answer = match data {
            [more::FAST_SUCCESS] => return Ok(Step::Wait),
            [more::FULL] => match secrecy {
                Secrecy::Private => password,
                Secrecy::UnderKey => {
                    self.asked_for_key = true;
                    vec![more::WANT_KEY]
                }
                Secrecy::Exposed => return Err(LoginError::Unsupported(EXPOSED.into())),
            },
            pem if self.asked_for_key => {
                let pem = String::from_utf8_lossy(pem);
                mask(&mut password, &self.nonce);
                rsa::encrypt(&pem, &password).ok_or_else(malformed)?
            }
            _ => return Err(malformed()),
        };
        out.begin();
        out.buffer.extend_from_slice(&answer);
        out.end();
        Ok(Step::Answer)
    }
}

fn put_zero_ended(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))).
fn native_proof(nonce: &Nonce, password: &str) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let stage1 = Sha1::digest(password);
    let stage2 = Sha1::digest(stage1);
    let nonced = Sha1::new()
        .chain_update(nonce)
        .chain_update(stage2)
        .finalize();
    xor(&stage1, &nonced)
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce).
fn sha2_proof(nonce: &Nonce, password: &str) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let stage1 = Sha256::digest(password);
    let stage2 = Sha256::digest(stage1);
    let nonced = Sha256::new()
        .chain_update(stage2)
        .chain_update(nonce)
        .finalize();
    xor(&stage1, &nonced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{auth, handshake};
    use cohort_sql::password;

    const NONCE: Nonce = *b"abcdefghijklmnopqrst";

    fn account() -> Account {
        Account {
            user: "sb".into(),
            password: "secret".into(),
            database: "sbtest".into(),
            ..Account::default()
        }
    }

    fn payload(out: &Writer) -> &[u8] {
        &out.buffer[4..]
    }

    /// A login that has seen the greeting of our own server, and what it answered.
    fn greeted() -> (Login, Writer) {
        let mut greeting = Vec::new();
        handshake::put_greeting(&mut greeting, "9.7.0", 7, &NONCE, 2, 0);
        let (mut login, mut out) = (Login::default(), Writer::new());
        let step = login.packet((0, &greeting), &account(), Secrecy::UnderKey, &mut out);
        assert_eq!(step, Ok(Step::Answer));
        assert_eq!(login.version, "9.7.0");
        (login, out)
    }

    #[test]
    fn the_response_is_what_the_server_reads() {
        let (login, out) = greeted();
        assert_eq!(out.buffer[3], 1, "continues the greeting's numbering");
        let response = handshake::parse_response(payload(&out)).unwrap();
        assert_eq!(response.capabilities, login.capabilities);
        assert_eq!(
            (response.user, response.database),
            (&b"sb"[..], &b"sbtest"[..])
        );
        assert_eq!(response.plugin, CACHING_SHA2.as_bytes());
        let digest = Sha256::digest(Sha256::digest("secret")).into();
        assert!(auth::check_sha2(&digest, &NONCE, response.proof));
    }

    #[test]
    fn nobody_is_named_before_tls() {
        let (mut greeting, mut out) = (Vec::new(), Writer::new());
        handshake::put_greeting(&mut greeting, "9.7.0", 7, &NONCE, 2, 0);
        let nowhere = Account {
            database: String::new(),
            ..account()
        };
        let asked = Login::default().ask_for_tls((0, &greeting), &nowhere, &mut out);
        let none = "the server has no TLS".into();
        assert_eq!(asked, Err(LoginError::Unsupported(none)));
        greeting.clear();
        handshake::put_greeting(&mut greeting, "9.7.0", 7, &NONCE, 2, capability::SSL);
        let mut login = Login::default();
        let asked = login.ask_for_tls((0, &greeting), &nowhere, &mut out);
        assert_eq!((asked, out.buffer.len()), (Ok(()), 4 + 32));
        let request = payload(&out).to_vec();
        out.buffer.clear();
        login.secured(&nowhere, &mut out);
        assert_eq!(out.buffer[3], 2, "continues the request's numbering");
        let response = handshake::parse_response(payload(&out)).unwrap();
        assert_eq!(response.user, b"sb");
        assert_ne!(request[1] & (capability::SSL >> 8) as u8, 0);
        assert_eq!(payload(&out)[..32], request, "begins as it was announced");
    }

    #[test]
    fn a_switch_to_the_old_method() {
        let (mut login, mut out) = greeted();
        out.buffer.clear();
        let switch = b"\xfemysql_native_password\0tsrqponmlkjihgfedcba\0";
        let step = login.packet((2, switch), &account(), Secrecy::UnderKey, &mut out);
        assert_eq!(step, Ok(Step::Answer));
        let stored = password::native(b"secret");
        assert!(auth::check_native(
            &stored,
            b"tsrqponmlkjihgfedcba",
            payload(&out)
        ));
        let unknown = b"\xfesha256_password\0tsrqponmlkjihgfedcba\0";
        assert!(
            login
                .packet((2, unknown), &account(), Secrecy::UnderKey, &mut out)
                .is_err()
        );
    }

    #[test]
    fn the_password_itself_under_rsa_and_in_the_clear() {
        let (mut login, mut out) = greeted();
        let key = rsa::Key::default();
        out.buffer.clear();
        login
            .packet(
                (2, &[1, more::FULL]),
                &account(),
                Secrecy::UnderKey,
                &mut out,
            )
            .unwrap();
        assert_eq!(payload(&out), [more::WANT_KEY]);
        out.buffer.clear();
        let mut pem = vec![1];
        pem.extend_from_slice(key.public().unwrap().as_bytes());
        login
            .packet((4, &pem), &account(), Secrecy::UnderKey, &mut out)
            .unwrap();
        let mut sent = key.decrypt(payload(&out)).unwrap();
        mask(&mut sent, &NONCE);
        assert_eq!(sent, b"secret\0");

        let (mut login, mut out) = greeted();
        out.buffer.clear();
        let exposed = login.packet(
            (2, &[1, more::FULL]),
            &account(),
            Secrecy::Exposed,
            &mut out,
        );
        assert_eq!(exposed, Err(LoginError::Unsupported(EXPOSED.into())));
        assert!(out.buffer.is_empty());

        let (mut login, mut out) = greeted();
        out.buffer.clear();
        login
            .packet(
                (2, &[1, more::FULL]),
                &account(),
                Secrecy::Private,
                &mut out,
            )
            .unwrap();
        assert_eq!(payload(&out), b"secret\0");
        let fast = login.packet(
            (2, &[1, more::FAST_SUCCESS]),
            &account(),
            Secrecy::Private,
            &mut out,
        );
        assert_eq!(fast, Ok(Step::Wait));
        let ok = login.packet(
            (3, &[0, 0, 0, 2, 0, 0, 0]),
            &account(),
            Secrecy::Private,
            &mut out,
        );
        assert_eq!(ok, Ok(Step::In));
    }

    #[test]
    fn refusals_and_nonsense() {
        let mut login = Login::default();
        let mut out = Writer::new();
        let full = b"\xff\x10\x04Too many connections";
        let Err(LoginError::Refused(error)) =
            login.packet((0, full), &account(), Secrecy::UnderKey, &mut out)
        else {
            panic!("a full server was taken for a greeting");
        };
        assert_eq!(
            (error.code, &*error.message),
            (1040, "Too many connections")
        );
        for nonsense in [&b"HTTP/1.1 400 Bad Request"[..], b"\x0a9", b""] {
            let found =
                Login::default().packet((0, nonsense), &account(), Secrecy::UnderKey, &mut out);
            assert_eq!(found, Err(malformed()));
        }
    }
}
