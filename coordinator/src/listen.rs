//! Ports: connections come in, with TLS if there is a certificate.

use super::patient::{PATIENCE, Patient};
use cohort_process::{Notice, limits, notice};
use hyper_util::rt::TokioIo;
use std::{
    collections::VecDeque,
    future::Future,
    io,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{Notify, Semaphore},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

/// Connections that each port of the coordinator serves at once, if the limit of open files allows that.
const CONNECTIONS_MAX: usize = 10_000;
/// One of so many may belong to a client that has not yet sent a request that is answered.
const STRANGERS: usize = 4;
/// What is sent and not taken waits in buffers of the system, which tells of room only after a third
/// of them has been taken. They grow to megabytes if they may: then a client that reads at a fair
/// pace would seem to take nothing for as long as that needs; see `patient`.
const SEND_BUFFER_BYTES: usize = 128 << 10;
/// Such a client is not sent away before it was here for so long.
const GRACE: Duration = Duration::from_millis(100);
/// A client must have agreed on keys within so long.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Tls(ServerConfig);

impl Tls {
    /// Reads them, in PEM.
    ///
    /// # Errors
    ///
    /// What is wrong with which file.
    pub fn load(certificate: &Path, key: &Path) -> Result<Tls, String> {
        let wrong =
            |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect)
            .map_err(|error| wrong(certificate, &error))?;
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(|error| wrong(certificate, &error))?;
        Ok(Tls(config))
    }

    /// For connections that will speak this protocol, by its name in ALPN.
    pub fn acceptor(&self, protocol: &str) -> TlsAcceptor {
        let mut config = self.0.clone();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}

/// What a connection is, encrypted or not.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection, as hyper takes it.
pub type Connection = TokioIo<Box<dyn Stream>>;

/// A client that is connected.
pub struct Visitor {
    /// Where it comes from.
    pub address: SocketAddr,
    /// Of the answers to it so many bytes are not yet taken.
    pub(super) untaken: AtomicUsize,
    /// So many were it at most since it had taken all.
    most_untaken: AtomicUsize,
    came: Instant,
    is_welcome: AtomicBool,
    /// A request of it is being answered.
    is_served: AtomicBool,
    leave: Notify,
}

/// A request is being answered until this is dropped.
pub struct Served(Arc<Visitor>);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.is_served.store(false, Ordering::Relaxed);
    }
}

impl Visitor {
    pub(super) fn new(address: SocketAddr, came: Instant) -> Visitor {
        Visitor {
            address,
            untaken: AtomicUsize::new(0),
            most_untaken: AtomicUsize::new(0),
            came,
            is_welcome: AtomicBool::new(false),
            is_served: AtomicBool::new(false),
            leave: Notify::new(),
        }
    }
    /// A request of it is being answered: others are sent away before it.
    pub fn serve(self: &Arc<Visitor>) -> Served {
        self.is_served.store(true, Ordering::Relaxed);
        Served(Arc::clone(self))
    }
    /// An answer of so many bytes is there for it; how many it has to take now.
    pub(super) fn is_given(&self, bytes: usize) -> usize {
        let others = self.untaken.fetch_add(bytes, Ordering::Relaxed);
        match others {
            0 => self.most_untaken.store(bytes, Ordering::Relaxed),
            _ => {
                _ = self
                    .most_untaken
                    .fetch_max(others + bytes, Ordering::Relaxed)
            }
        }
        others + bytes
    }
    /// How much it had to take at most since it had taken all.
    pub(super) fn most_untaken(&self) -> usize {
        self.most_untaken.load(Ordering::Relaxed)
    }
    /// Its connection ends.
    pub fn send_away(&self) {
        self.leave.notify_one();
    }
    /// It has sent a request that is answered, with the token if there is one.
    pub fn is_welcome(&self) {
        self.is_welcome.store(true, Ordering::Relaxed);
    }
}

/// Clients that may be anybody, the first first: those who send nothing keep nobody out.
struct Strangers {
    queue: VecDeque<Weak<Visitor>>,
    most: usize,
}

impl Strangers {
    /// Lets one in. If there are too many, the first that is not being served has to leave, after so
    /// long a wait; the first of all if each is.
    fn let_in(
        &mut self,
        now: Instant,
        address: SocketAddr,
    ) -> (Arc<Visitor>, Option<(Arc<Visitor>, Duration)>) {
        let visitor = Arc::new(Visitor::new(address, now));
        self.queue.push_back(Arc::downgrade(&visitor));
        if self.queue.len() <= self.most {
            return (visitor, None);
        }
        let is_stranger = |known: &Weak<Visitor>| {
            let known = known.upgrade();
            known.is_some_and(|known| !known.is_welcome.load(Ordering::Relaxed))
        };
        self.queue.retain(is_stranger);
        let mut first = None;
        if self.queue.len() > self.most {
            let is_idle = |known: &Weak<Visitor>| {
                let known = known.upgrade();
                known.is_none_or(|known| !known.is_served.load(Ordering::Relaxed))
            };
            let idle = self.queue.iter().position(is_idle).unwrap_or(0);
            first = self.queue.remove(idle).and_then(|first| first.upgrade());
        }
        let leaving = first.map(|first| {
            let grace = GRACE.saturating_sub(now.saturating_duration_since(first.came));
            (first, grace)
        });
        (visitor, leaving)
    }
}

/// So many does a port of the coordinator serve at once.
pub fn connections_max() -> usize {
    CONNECTIONS_MAX.min(limits::share_of_files(8))
}

/// A port that is bound, and was not listened on.
pub fn listen(listener: std::net::TcpListener) -> io::Result<TcpListener> {
    // Those that come in inherit it.
    rustix::net::sockopt::set_socket_send_buffer_size(&listener, SEND_BUFFER_BYTES)?;
    rustix::net::listen(&listener, limits::BACKLOG)?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Accepts connections for ever, and lets `serve` have each; `most` at once. `whose` port it is, the log
/// says when something is wrong with it.
pub async fn accept<F>(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    (whose, most): (&'static str, usize),
    serve: impl Fn(Connection, Arc<Visitor>) -> F + Clone + Send + 'static,
) where
    F: Future<Output = hyper::Result<()>> + Send,
{
    let most = most.max(STRANGERS);
    let places = Arc::new(Semaphore::new(most));
    let mut strangers = Strangers {
        queue: VecDeque::new(),
        most: most / STRANGERS,
    };
    loop {
        // Who finds no place waits in the system's queue.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, address)) => {
                let (visitor, leaving) = strangers.let_in(Instant::now(), address);
                let (tls, serve) = (tls.clone(), serve.clone());
                tokio::spawn(async move {
                    let known = Arc::clone(&visitor);
                    let served = async move {
                        if let Some(connection) = open(stream, tls).await {
                            // The client went away, or sent what is no HTTP: its connection ends.
                            let _ = serve(connection, known).await;
                        }
                    };
                    tokio::select! {
                        () = served => {}
                        () = visitor.leave.notified() => {}
                    }
                    drop(place);
                });
                if let Some((first, grace)) = leaving {
                    if !grace.is_zero() {
                        tokio::time::sleep(grace).await;
                    }
                    if !first.is_welcome.load(Ordering::Relaxed) {
                        first.leave.notify_one();
                    }
                }
            }
            Err(error) => {
                notice!(
                    Notice::AcceptFailed,
                    "{whose}: accepting a connection: {error}"
                );
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// `None`: the client has not agreed on keys.
async fn open(stream: TcpStream, tls: Option<TlsAcceptor>) -> Option<Connection> {
    // Latency is what small answers need; without it they only come later.
    let _ = stream.set_nodelay(true);
    let stream: Box<dyn Stream> = match tls {
        None => Box::new(Patient::new(stream, PATIENCE)),
        Some(tls) => {
            let agreed = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream));
            Box::new(Patient::new(agreed.await.ok()?.ok()?, PATIENCE))
        }
    };
    Some(TokioIo::new(stream))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{
        AddressFamily, SocketType, bind, connect, socket, sockopt::set_socket_recv_buffer_size,
    };

    #[tokio::test]
    async fn little_waits_in_the_system_for_a_client_that_does_not_read() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let port = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&port, &any).expect("a port");
        let listener = listen(port.into()).expect("a listener");
        let client = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        set_socket_recv_buffer_size(&client, 4_096).expect("a buffer");
        connect(&client, &listener.local_addr().expect("a port")).expect("connected");
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.writable().await.expect("room");
        let (bytes, mut taken) = (vec![0; 64 << 10], 0);
        while let Ok(written) = stream.try_write(&bytes) {
            taken += written;
        }
        assert!(taken <= 4 * SEND_BUFFER_BYTES, "{taken} bytes");
    }
}
