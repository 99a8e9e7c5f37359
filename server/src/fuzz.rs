//! A server for one connection at a time, fed with bytes: what the fuzz targets need.

use crate::{config::Settings, database::Database, serve, tls};
use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_mysql::{
    Peer,
    auth::Verified,
    connection::{Coaches, Connection, Next, Shared},
    constants::capability,
    rsa::Key,
    stream::Stream,
    tls::Tls,
};
use std::{
    fs,
    io::{Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::Path,
    process,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

/// How the answer to a statement begins that could not be executed by a mistake of ours.
const INTERNAL: &[u8] = b"#HY000Internal error";
/// A SELECT takes no longer, in milliseconds.
const SELECT_MS: u64 = 500;

/// A server on a disk in memory.
pub struct Server {
    shared: Arc<Shared<Database>>,
    last_id: u64,
}

impl Server {
    /// An empty one; root has no password.
    #[must_use]
    pub fn new() -> Server {
        let directory = Path::new("/data");
        let options = EngineOptions::default();
        let engine = Engine::open(&Disk::new(1).env(), directory, options, &mut |_| {})
            .expect("an empty disk is good for a new database");
        let database = serve::database(&Settings::default(), &Arc::new(engine), directory)
            .expect("the defaults are good settings");
        let limit = Value::UInt(SELECT_MS);
        let limited = database.instance.configure("max_execution_time", &limit);
        limited.expect("the variable exists");
        let anybody = Value::Bytes("*".into());
        let proxied = database
            .instance
            .configure("proxy_protocol_networks", &anybody);
        proxied.expect("the variable exists");
        let shared = Shared {
            backend: database,
            verified: Verified::default(),
            key: Key::default(),
            tls: Arc::new(tls_of_its_own()),
            coaches: Coaches::default(),
        };
        Server {
            shared: Arc::new(shared),
            last_id: 0,
        }
    }

    /// Serves a client that sends this and closes its side.
    pub fn before_login(&mut self, bytes: &[u8]) {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        self.last_id += 1;
        let peer = Peer {
            hosts: vec!["localhost".into()],
            address: None,
        };
        let answers = thread::scope(|scope| {
            let client = scope.spawn(|| talk(&ours, bytes));
            // It goes with this block, so that the client ends whatever happens.
            let stream = Arc::new(Stream::from(theirs));
            let mut connection = Connection::new(&self.shared, &stream, self.last_id, peer, false);
            let mut next = connection.greet();
            while next != Next::Over {
                next = connection.serve();
            }
            stream.shutdown(Shutdown::Both);
            client.join().expect("the client does nothing special")
        });
        let said = |bytes: &[u8]| bytes.windows(INTERNAL.len()).any(|part| part == INTERNAL);
        assert!(
            !said(&answers) || said(bytes),
            "a statement has failed by a bug"
        );
        let left = self.shared.backend.instance.sessions.list();
        assert!(left.is_empty(), "a session is left behind");
    }

    /// Serves a client that has logged in as root and sends these packets.
    pub fn after_login(&mut self, packets: &[u8]) {
        let capabilities = capability::SERVER & !capability::CONNECT_ATTRS;
        let mut response = capabilities.to_le_bytes().to_vec();
        response.extend_from_slice(&[0, 0, 0, 1, 255]);
        response.extend_from_slice(&[0; 23]);
        response.extend_from_slice(b"root\0\0\0caching_sha2_password\0");
        let mut bytes = vec![response.len() as u8, 0, 0, 1];
        bytes.extend_from_slice(&response);
        bytes.extend_from_slice(packets);
        self.before_login(&bytes);
    }
}

/// TLS, whose files are needed only until they are read.
fn tls_of_its_own() -> Tls {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let name = format!("cohort-fuzz-{}-{number}", process::id());
    let directory = std::env::temp_dir().join(name);
    fs::create_dir_all(&directory).expect("a directory for certificates");
    let tls = tls::with_new_certificate(&directory).expect("a certificate");
    let _ = fs::remove_dir_all(&directory);
    tls
}

impl Default for Server {
    fn default() -> Server {
        Server::new()
    }
}

/// The client: sends, closes its side, and takes what comes.
fn talk(mut stream: &UnixStream, bytes: &[u8]) -> Vec<u8> {
    // The server may hang up before it has read everything, as it should.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answers = Vec::new();
    // A reset is an end like others.
    let _ = stream.read_to_end(&mut answers);
    answers
}
