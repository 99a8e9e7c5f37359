//! The protocol against a canned session: what real clients do, and what hostile ones may do.

use super::{
    Account, Arrival, Backend, Handler, Peer,
    auth::Verified,
    connection::{Coaches, Connection, Next, Shared},
    constants::{capability, command},
    packet::{Cursor, PIECE, ReadError, Reader, Writer, put_string},
    rsa::Key,
    stream::Stream,
    tls::Tls,
};
use cohort_engine::txn::{Owner, Placed, Unattended};
use cohort_engine::types::{Collation, ColumnType, Value};
use cohort_scheduler::{Class, Standing};
use cohort_sql::variables::HighPriority;
use cohort_sql::{
    Allowed, Attributes, ColumnMeta, Done, Output, SqlError, password,
    session::{BackUp, BackupKind, Dump, DumpStart, Identity, Prepared},
    statements::LateNote,
    users::Requirement,
};
use rustix::event::{PollFd, PollFlags, poll};
use sha1::{Digest, Sha1};
use std::{
    io::{Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

mod tls;

const PACKET_MAX: usize = 40 << 20;

/// Answers `echo` with its own text, everything else with OK.
struct Canned {
    has_slot: Arc<AtomicBool>,
    crowded: bool,
}

struct CannedSession {
    id: u32,
}

fn column(name: &str) -> ColumnMeta {
    ColumnMeta {
        database: String::new(),
        table: String::new(),
        original_table: String::new(),
        name: name.into(),
        original_name: String::new(),
        ty: Some(ColumnType::VarChar(255)),
        unsigned: false,
        not_null: true,
        collation: Collation::Utf8mb40900AiCi,
        length: 1020,
        decimals: 0,
        flags: 0,
    }
}

fn gone<E>(_: E) -> SqlError {
    SqlError::unknown_error("gone")
}

impl Handler for CannedSession {
    fn register_replica(&mut self, _: u32, _: String, _: u16) -> Result<(), SqlError> {
        Ok(())
    }
    fn begin_dump(&mut self, _: DumpStart, _: u32) -> Result<Dump, SqlError> {
        Err(SqlError::log_cannot_be_read("there is none"))
    }
    fn begin_backup(&mut self, _: BackupKind) -> Result<BackUp, SqlError> {
        Err(SqlError::unknown_command())
    }
    fn end_dump(&mut self) {}
    fn query(&mut self, sql: &[u8], multi: bool, out: &mut dyn Output) -> Result<(), SqlError> {
        match sql.strip_prefix(b"echo ") {
            Some(text) => {
                out.columns(&[column("text"), column("nothing")])
                    .map_err(gone)?;
                out.row(&[Value::Bytes(text.to_vec()), Value::Null])
                    .map_err(gone)?;
            }
            None if sql == b"panic" => {
                out.columns(&[column("text")]).map_err(gone)?;
                panic!("a bug");
            }
            None if sql == b"fail" => return Err(SqlError::no_such_table("test", "t")),
            None => {}
        }
        let affected_rows = u64::from(multi);
        out.end(&Done {
            affected_rows,
            ..Done::default()
        })
        .map_err(gone)
    }
    fn prepare(&mut self, sql: &[u8]) -> Result<Prepared, SqlError> {
        self.id += 1;
        Ok(Prepared {
            id: self.id,
            parameters: sql.iter().filter(|b| **b == b'?').count() as u16,
            columns: Arc::from([column("first")]),
        })
    }
    fn execute(
        &mut self,
        _: u32,
        parameters: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        out.columns(&[column("first")]).map_err(gone)?;
        for value in parameters {
            let row = match value {
                Value::Bytes(_) | Value::Null => value.clone(),
                other => Value::Bytes(format!("{other:?}").into_bytes()),
            };
            out.row(&[row]).map_err(gone)?;
        }
        out.end(&Done::default()).map_err(gone)
    }
    fn close(&mut self, _: u32) {}
    fn set_attributes(&mut self, _: Attributes) {}
    fn use_database(&mut self, name: &str) -> Result<(), SqlError> {
        match name {
            "test" => Ok(()),
            _ => Err(SqlError::unknown_database(name)),
        }
    }
    fn reset(&mut self, _: Option<Identity>) {}
    fn results_collation(&self) -> Option<Collation> {
        Some(Collation::Utf8mb40900AiCi)
    }
    fn status(&self) -> u16 {
        2
    }
    fn take_placed(&mut self) -> Option<Placed> {
        None
    }
    fn idle_timeout(&self) -> Duration {
        Duration::from_secs(20)
    }
    fn max_allowed_packet(&self) -> usize {
        PACKET_MAX
    }
    fn read_timeout(&self) -> Duration {
        Duration::from_secs(20)
    }
    fn write_timeout(&self) -> Duration {
        Duration::from_secs(20)
    }
    fn standing(&self) -> Standing {
        Standing {
            mode: HighPriority::None,
            engaged: false,
            holds_locks: false,
            tickets: 0,
        }
    }
    fn owner(&self) -> Arc<Owner> {
        Owner::new(1, Arc::new(Unattended))
    }
    fn is_over(&self) -> bool {
        false
    }
    fn is_killed(&self) -> bool {
        false
    }
    fn count_bytes(&self, _: u64, _: u64) {}
    fn take_note(&mut self) -> Option<LateNote> {
        None
    }
    fn replied(&mut self) {}
    fn connected(&self, _: &'static str, _: &str) -> Result<(), SqlError> {
        Ok(())
    }
    fn changed_user(&self, _: &str) -> Result<(), SqlError> {
        Ok(())
    }
    fn log_command(&self, _: &str, _: &str) {}
    fn has_first_statements(&self) -> bool {
        false
    }
    fn run_first_statements(&mut self) -> Result<(), (SqlError, SqlError)> {
        Ok(())
    }
}

impl Backend for Canned {
    type Session = CannedSession;
    fn server_version(&self) -> &str {
        "9.7.0-test"
    }
    fn account(&self, user: &str, _: &Peer) -> Option<Account> {
        let (plugin, authentication_string) = match user {
            "open" | "slow" => ("caching_sha2_password", String::new()),
            "native" => ("mysql_native_password", password::native(b"secret")),
            "sha2" => (
                "caching_sha2_password",
                password::caching_sha2(b"secret", [7; 20]),
            ),
            _ => return None,
        };
        Some(Account {
            user: user.into(),
            host: "%".into(),
            plugin: plugin.into(),
            authentication_string,
            second_string: String::new(),
            requirement: Requirement::default(),
            locked: false,
            expired: false,
        })
    }
    fn note_login(&self, _: &Account, _: bool) -> Result<(), SqlError> {
        Ok(())
    }
    fn delay_before(&self, user: &str, _: &Peer) -> Duration {
        match user {
            "slow" => Duration::from_millis(300),
            _ => Duration::ZERO,
        }
    }
    fn note_proof(&self, _: &str, _: &Peer, _: (bool, Duration)) -> Duration {
        Duration::ZERO
    }
    fn note_arrival(&self, _: &str, _: &Peer, _: Option<(&SqlError, &str)>) {}
    fn look(&self) {}
    fn note_interruption(&self, _: &Peer, _: &str) {}
    fn note_first_failure(&self, _: &Peer, _: &SqlError, _: &SqlError) {}
    fn note_abort(&self) {}
    fn note_full(&self) {}
    fn note_accept_error(&self) {}
    fn note_no_thread(&self) {}
    fn open(&self, _: Arrival) -> Result<CannedSession, SqlError> {
        Ok(CannedSession { id: 0 })
    }
    fn admit_again(&self, _: &CannedSession, _: &Identity) -> Result<(), SqlError> {
        Ok(())
    }
    fn connect_timeout(&self) -> Duration {
        Duration::from_secs(20)
    }
    fn requires_secure_transport(&self) -> bool {
        false
    }
    fn may_be_proxy(&self, _: &Peer) -> bool {
        true
    }
    fn compressions(&self) -> Allowed {
        Allowed {
            zlib: true,
            zstd: true,
            uncompressed: true,
        }
    }
    fn is_crowded(&self) -> bool {
        self.crowded
    }
    fn note_client_wait(&self, _: Duration) {}
    fn note_log_wait(&self, _: Duration) {}
    fn statistics(&self) -> String {
        "Uptime: 1".into()
    }
    fn long_running(&self, _: Duration) -> Vec<u64> {
        Vec::new()
    }
    fn kill(&self, _: u64) {}
    fn is_stopping(&self) -> bool {
        false
    }
    fn acquire_slot(&self, _: u64, _: impl FnOnce() -> Class) -> Duration {
        self.has_slot.store(true, Ordering::SeqCst);
        Duration::ZERO
    }
    fn release_slot(&self) {
        self.has_slot.store(false, Ordering::SeqCst);
    }
}

/// The client's end of a connection.
struct Client {
    stream: Stream,
    reader: Reader,
    writer: Writer,
    server: Option<JoinHandle<()>>,
}

impl Client {
    /// Connects; the greeting is still to be read.
    fn connect() -> Client {
        Client::connect_to(false)
    }

    /// Connects to a server on which, perhaps, too many clients talk for each to keep a thread.
    fn connect_to(crowded: bool) -> Client {
        Client::connect_with(crowded, Arc::default())
    }

    /// The same to a server that offers this TLS.
    fn connect_with(crowded: bool, tls: Arc<Tls>) -> Client {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let has_slot = Arc::new(AtomicBool::new(false));
        let shared = Shared {
            backend: Canned {
                has_slot: Arc::clone(&has_slot),
                crowded,
            },
            verified: Verified::default(),
            key: Key::default(),
            tls,
            coaches: Coaches::default(),
        };
        let serving = move || {
            let peer = Peer {
                hosts: vec!["localhost".into()],
                address: None,
            };
            let stream = Arc::new(Stream::from(theirs));
            let mut connection = Connection::new(&Arc::new(shared), &stream, 1, peer, false);
            let mut next = connection.greet();
            while next != Next::Over {
                // In a crowd the thread takes its slot on to the next connection.
                assert!(crowded || !has_slot.load(Ordering::SeqCst));
                if let Next::Delay(until) = next {
                    thread::sleep(until.saturating_duration_since(Instant::now()));
                    next = connection.expire();
                    continue;
                }
                if next != Next::Again {
                    poll(&mut [PollFd::new(&*stream, PollFlags::IN)], None).unwrap();
                }
                next = connection.serve();
            }
        };
        ours.set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        Client {
            stream: Stream::from(ours),
            reader: Reader::new(),
            writer: Writer::new(),
            server: Some(thread::spawn(serving)),
        }
    }

    fn receive(&mut self) -> Result<Vec<u8>, ReadError> {
        self.reader.next(&mut &self.stream, usize::MAX)?;
        self.writer.sequence = self.reader.sequence;
        Ok(self.reader.payload().to_vec())
    }

    fn send(&mut self, payload: &[u8]) {
        self.writer.begin();
        self.writer.buffer.extend_from_slice(payload);
        self.writer.end();
        self.reader.sequence = self.writer.sequence;
        // The server may have hung up: then the next read says so.
        let _ = self.writer.flush(&mut &self.stream);
    }

    /// Sends a command and returns the first packet of its reply.
    fn command(&mut self, code: u8, rest: &[u8]) -> Vec<u8> {
        self.tell(code, rest);
        self.receive().unwrap()
    }

    fn tell(&mut self, code: u8, rest: &[u8]) {
        self.writer.sequence = 0;
        self.send(&[&[code], rest].concat());
    }

    /// Reads the greeting and sends the response; returns the server's nonce.
    fn respond(&mut self, user: &str, plugin: &str, database: &str) -> Vec<u8> {
        let greeting = self.receive().unwrap();
        let mut cursor = Cursor(&greeting[1..]);
        cursor.until_zero().unwrap();
        cursor.u32().unwrap();
        let mut nonce = cursor.take(8).unwrap().to_vec();
        cursor.take(19).unwrap();
        nonce.extend_from_slice(cursor.take(12).unwrap());
        self.send(&response(user, plugin, database));
        nonce
    }

    fn log_in(&mut self) {
        self.respond("open", "caching_sha2_password", "test");
        assert_eq!(self.receive().unwrap()[0], 0, "OK");
    }

    /// Hangs up, and makes sure that the server's thread ended well.
    fn finish(mut self) {
        self.stream.shutdown(Shutdown::Both);
        let ended = self.server.take().map(JoinHandle::join);
        assert!(
            matches!(ended, Some(Ok(()))),
            "the server's thread panicked"
        );
    }
}

fn response(user: &str, plugin: &str, database: &str) -> Vec<u8> {
    let capabilities = capability::SERVER & !capability::CONNECT_ATTRS;
    let mut out = capabilities.to_le_bytes().to_vec();
    out.extend_from_slice(&[0, 0, 0, 1, 255]);
    out.extend_from_slice(&[0; 23]);
    out.extend_from_slice(user.as_bytes());
    out.push(0);
    put_string(&mut out, b"");
    out.extend_from_slice(database.as_bytes());
    out.push(0);
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    out
}

fn error_code(packet: &[u8]) -> u16 {
    assert_eq!(packet[0], 0xff, "an error packet");
    u16::from_le_bytes([packet[1], packet[2]])
}

#[test]
fn a_bug_in_a_statement_ends_its_connection_only() {
    let mut client = Client::connect();
    client.log_in();
    assert_eq!(client.command(3, b"panic"), [1], "one column");
    // What was written when it happened is whole; the last word is the error.
    let last = loop {
        let packet = client.receive().unwrap();
        if packet[0] == 0xff {
            break packet;
        }
    };
    assert_eq!(error_code(&last), 1815);
    assert!(matches!(client.receive(), Err(ReadError::Closed)));
    client.finish();
}

#[test]
fn a_conversation() {
    let mut client = Client::connect();
    client.log_in();
    assert_eq!(client.command(command::PING, b""), [0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(client.command(command::QUERY, b"echo hello"), [2]);
    assert_eq!(client.receive().unwrap()[..4], *b"\x03def");
    client.receive().unwrap();
    assert_eq!(client.receive().unwrap(), b"\x05hello\xfb");
    assert_eq!(client.receive().unwrap()[0], 0xfe);
    assert_eq!(error_code(&client.command(command::QUERY, b"fail")), 1146);
    assert_eq!(client.command(command::STATISTICS, b""), b"Uptime: 1");
    assert_eq!(
        error_code(&client.command(command::INIT_DB, b"nowhere")),
        1049
    );
    assert_eq!(client.command(command::INIT_DB, b"test")[0], 0);
    assert_eq!(error_code(&client.command(0x77, b"")), 1047);
    // Multi-statements off and on: the canned session reports them as affected rows.
    assert_eq!(client.command(command::SET_OPTION, &[1, 0])[0], 0xfe);
    assert_eq!(client.command(command::QUERY, b"x")[1], 0);
    assert_eq!(client.command(command::SET_OPTION, &[0, 0])[0], 0xfe);
    assert_eq!(client.command(command::QUERY, b"x")[1], 1);
    client.tell(command::QUIT, b"");
    assert!(matches!(client.receive(), Err(ReadError::Closed)));
    client.finish();
}

/// Until a login that is held back has waited nothing is said, and nothing that was sent ahead is
/// lost.
#[test]
fn an_answer_that_is_held_back() {
    let held_back = Duration::from_millis(250);
    let mut client = Client::connect();
    client.respond("slow", "caching_sha2_password", "test");
    client.writer.sequence = 0;
    client.tell(command::PING, b"");
    let since = Instant::now();
    client.reader.sequence = 2;
    assert_eq!(client.receive().unwrap()[0], 0, "it is in");
    assert!(since.elapsed() > held_back);
    client.reader.sequence = 1;
    assert_eq!(client.receive().unwrap()[0], 0, "PING");
    // The same for who is in already, by COM_CHANGE_USER.
    let mut change = b"slow\0\0test\0\xff\0caching_sha2_password\0".to_vec();
    change.push(0);
    let since = Instant::now();
    let asked = client.command(command::CHANGE_USER, &change);
    assert_eq!(&asked[..23], b"\xfecaching_sha2_password\0");
    client.send(b"");
    assert_eq!(client.receive().unwrap()[0], 0);
    assert!(since.elapsed() > held_back);
    assert_eq!(client.command(command::PING, b"")[0], 0);
    client.tell(command::QUIT, b"");
    assert!(matches!(client.receive(), Err(ReadError::Closed)));
    client.finish();
}

/// What a client sends a byte at a time, even its login, is put together; what it sends ahead is
/// obeyed in order. Both whether or not it keeps a thread.
#[test]
fn slow_and_hasty_clients() {
    for crowded in [false, true] {
        let mut client = Client::connect_to(crowded);
        client.receive().unwrap();
        let mut bytes = Vec::new();
        let mut packet = |sequence, payload: &[u8]| {
            let mut writer = Writer::new();
            writer.sequence = sequence;
            writer.begin();
            writer.buffer.extend_from_slice(payload);
            writer.end();
            bytes.append(&mut writer.buffer);
        };
        packet(1, &response("open", "caching_sha2_password", "test"));
        packet(0, b"\x03echo slow");
        for byte in bytes {
            (&client.stream).write_all(&[byte]).unwrap();
            if byte == b'o' {
                thread::sleep(Duration::from_millis(2));
            }
        }
        client.reader.sequence = 2;
        assert_eq!(client.receive().unwrap()[0], 0, "OK");
        client.reader.sequence = 1;
        assert_eq!(client.receive().unwrap(), [2]);
        for _ in 0..4 {
            client.receive().unwrap();
        }
        let ping = [1, 0, 0, 0, command::PING];
        (&client.stream).write_all(&ping.repeat(100)).unwrap();
        for _ in 0..100 {
            client.reader.sequence = 1;
            assert_eq!(client.receive().unwrap()[0], 0);
        }
        client.finish();
    }
}

/// What comes behind a login, in one go with it, is obeyed when the client is in.
#[test]
fn commands_behind_a_login() {
    for crowded in [false, true] {
        let mut client = Client::connect_to(crowded);
        client.receive().unwrap();
        let login = response("open", "caching_sha2_password", "test");
        let mut writer = Writer::new();
        for (sequence, payload) in [(1, &login[..]), (0, b"\x0e"), (0, b"\x0e")] {
            writer.sequence = sequence;
            writer.begin();
            writer.buffer.extend_from_slice(payload);
            writer.end();
        }
        writer.flush(&mut &client.stream).unwrap();
        for sequence in [2, 1, 1] {
            client.reader.sequence = sequence;
            assert_eq!(client.receive().unwrap()[0], 0, "OK");
        }
        client.finish();
    }
}

#[test]
fn prepared_statements() {
    let mut client = Client::connect();
    client.log_in();
    let prepared = client.command(command::STMT_PREPARE, b"? ?");
    assert_eq!(prepared, [0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0]);
    for _ in 0..3 {
        client.receive().unwrap(); // two parameters and a column
    }
    client.tell(command::STMT_SEND_LONG_DATA, b"\x01\0\0\0\x01\0long");
    client.tell(command::STMT_SEND_LONG_DATA, b"\x01\0\0\0\x01\0 data");
    let execute = b"\x01\0\0\0\0\x01\0\0\0\x01\x01\x01\0\xfc\0";
    assert_eq!(client.command(command::STMT_EXECUTE, execute), [1]);
    client.receive().unwrap();
    assert_eq!(client.receive().unwrap(), b"\0\x04", "NULL");
    assert_eq!(client.receive().unwrap(), b"\0\0\x09long data");
    assert_eq!(client.receive().unwrap()[0], 0xfe);
    assert_eq!(client.command(command::STMT_RESET, &[1, 0, 0, 0])[0], 0);
    assert_eq!(
        error_code(&client.command(command::STMT_EXECUTE, &[1, 0, 0, 0, 9])),
        1210
    );
    client.tell(command::STMT_CLOSE, &[1, 0, 0, 0]);
    assert_eq!(
        error_code(&client.command(command::STMT_EXECUTE, execute)),
        1243
    );
    assert_eq!(client.command(command::RESET_CONNECTION, b"")[0], 0);
    client.finish();
}

#[test]
fn passwords() {
    // A method switch, and then the proof of mysql_native_password.
    let mut client = Client::connect();
    client.respond("native", "caching_sha2_password", "test");
    let switch = client.receive().unwrap();
    let mut cursor = Cursor(&switch);
    assert_eq!(cursor.u8(), Some(0xfe));
    assert_eq!(cursor.until_zero(), Some(&b"mysql_native_password"[..]));
    let nonce = cursor.until_zero().unwrap();
    let stage1 = Sha1::digest(b"secret");
    let mask = Sha1::new()
        .chain_update(nonce)
        .chain_update(Sha1::digest(stage1))
        .finalize();
    let proof: Vec<u8> = stage1.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    client.send(&proof);
    assert_eq!(client.receive().unwrap()[0], 0);
    client.finish();

    // caching_sha2_password without a remembered digest: the password in the clear, for this is
    // a Unix socket.
    for (password, right) in [(&b"secret\0"[..], true), (b"wrong\0", false), (b"", false)] {
        let mut client = Client::connect();
        client.respond("sha2", "mysql_native_password", "test");
        assert_eq!(client.receive().unwrap()[0], 0xfe);
        client.send(&[9; 32]);
        assert_eq!(client.receive().unwrap(), [1, 4]);
        client.send(password);
        let answer = client.receive().unwrap();
        assert_eq!(answer[0] == 0, right);
        client.finish();
    }

    for user in ["nobody", "sha2"] {
        let mut client = Client::connect();
        client.respond(user, "caching_sha2_password", "test");
        let answer = client.receive().unwrap();
        assert_eq!(error_code(&answer), 1045);
        let text = format!("Access denied for user '{user}'@'localhost' (using password: NO)");
        assert_eq!(answer[9..], *text.as_bytes());
        client.finish();
    }
    let mut client = Client::connect();
    client.respond("open", "caching_sha2_password", "nowhere");
    assert_eq!(error_code(&client.receive().unwrap()), 1049);
    client.finish();
}

#[test]
fn long_packets_come_whole_or_not_at_all() {
    let mut client = Client::connect();
    client.log_in();
    for length in [PIECE - 6, PIECE + 10] {
        let text = vec![b'x'; length];
        client.command(command::QUERY, &[b"echo ", &text[..]].concat());
        client.receive().unwrap();
        client.receive().unwrap();
        let row = client.receive().unwrap();
        assert!(Cursor(&row).string() == Some(&text));
        client.receive().unwrap();
    }
    let too_long = vec![b'x'; PACKET_MAX + 1];
    assert_eq!(error_code(&client.command(command::QUERY, &too_long)), 1153);
    assert!(client.receive().is_err(), "the connection ends");
    client.finish();
}

/// A small generator of its own: the same bytes on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
    /// Changes, inserts, removes or repeats some bytes.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            match self.below(4) {
                0 if at < bytes.len() => bytes[at] = self.below(256) as u8,
                1 => bytes.insert(at, [0, 1, 0xff, 0xfe, 0xfc, 0x7f][self.below(6)]),
                2 => bytes.truncate(at),
                _ => bytes.extend_from_within(at..),
            }
        }
    }
}

/// Valid packets with some bytes wrong, at login and as commands: whatever comes, the server
/// answers or hangs up, and its thread ends in good order.
#[test]
fn mutated_packets() {
    let commands: [&[u8]; 10] = [
        b"\x03echo hello",
        b"\x16? ? ?",
        b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x03\0\xfd\0\x0c\0\x05\0\0\0\x02hi\x07\xe8\x07\x01\x01\x01\x01\x01",
        b"\x18\x01\0\0\0\x01\0piece",
        b"\x19\x01\0\0\0",
        b"\x1a\x01\0\0\0",
        b"\x1b\0\0",
        b"\x0e",
        b"\x02test",
        b"\x11open\0\0test\0\xff\0caching_sha2_password\0",
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..300 {
        let mut client = Client::connect();
        if round % 3 == 0 {
            client.receive().unwrap();
            let mut bytes = response("open", "caching_sha2_password", "test");
            random.mutate(&mut bytes);
            client.send(&bytes);
        } else {
            client.log_in();
        }
        for _ in 0..10 {
            let mut bytes = commands[random.below(commands.len())].to_vec();
            if random.below(3) > 0 {
                random.mutate(&mut bytes);
            }
            client.writer.sequence = if random.below(50) == 0 { 3 } else { 0 };
            client.send(&bytes);
        }
        client.stream.shutdown(Shutdown::Write);
        let mut replies = Vec::new();
        // An error means that the server hung up with bytes of ours unread.
        let _ = (&client.stream).take(1 << 24).read_to_end(&mut replies);
        client.finish();
    }
}
